//! Keys that are made from a submission's arguments (R28): `ticket/{conversation}/{args.order}`.
//!
//! Only what the template lists enters the key. Each part is escaped, so that no value reaches into the next one, and a part
//! that is missing or empty is refused: a key with a blank in it would be shared by unrelated effects.

use std::fmt::Write as _;

use factum_core::mistake::{Mistake, made};
use serde_json::value::RawValue;

use crate::canonical::{Members, canonical};
use crate::problem::{Code, Problem};
use crate::submission::Submission;

/// How the key of an operation's submissions is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyTemplate {
    text: String,
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Part(Part),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Conversation,
    EventSource,
    EventId,
    /// Names, from the outermost member inwards.
    Argument(Vec<String>),
}

/// Why a template cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{rule}; {remedy}")]
pub struct BadTemplate {
    /// The rule that it breaks.
    pub rule: String,
    /// What to do about it.
    pub remedy: &'static str,
}

const PARTS: &str = "write {conversation}, {event.source}, {event.id} or {args.NAME}";

/// What a name says whose value is another on every call.
const VOLATILE: [&str; 14] = [
    "at",
    "attempt",
    "clock",
    "date",
    "datetime",
    "guid",
    "nonce",
    "now",
    "rand",
    "random",
    "time",
    "timestamp",
    "ts",
    "uuid",
];

impl KeyTemplate {
    /// From its text.
    ///
    /// # Errors
    /// A brace has no partner, a part has an unknown name, or no part distinguishes one effect from another.
    pub fn parse(text: &str) -> Result<Self, BadTemplate> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, after) = rest.split_at(at);
            if !before.is_empty() {
                pieces.push(Piece::Text(before.to_owned()));
            }
            let inside = after.strip_prefix('{').and_then(|t| t.split_once('}'));
            let (name, after) = inside.ok_or_else(|| BadTemplate {
                rule: format!("the key template `{text}` has a brace without its partner"),
                remedy: PARTS,
            })?;
            pieces.push(Piece::Part(Part::named(name)?));
            rest = after;
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest.to_owned()));
        }
        if !pieces.iter().any(|piece| matches!(piece, Piece::Part(_))) {
            return Err(BadTemplate {
                rule: format!("the key template `{text}` makes one key for all submissions"),
                remedy: PARTS,
            });
        }
        let text = text.to_owned();
        Ok(Self { text, pieces })
    }

    /// As it is written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Parts that by their name are another on every call, so that a repeat would be a second effect.
    #[must_use]
    pub fn volatile(&self) -> Vec<String> {
        let parts = self.pieces.iter().filter_map(|piece| match piece {
            Piece::Part(Part::Argument(names)) => names.last(),
            Piece::Part(_) | Piece::Text(_) => None,
        });
        let volatile = |name: &&String| {
            let words = name.split(['_', '-']).map(str::to_ascii_lowercase);
            words
                .into_iter()
                .any(|word| VOLATILE.contains(&word.as_str()))
        };
        parts.filter(volatile).cloned().collect()
    }

    /// The submission under its key. One that has a key already has this one, or is refused.
    ///
    /// # Errors
    /// F1004: a part is missing or empty. F1011: the submission names another identity.
    pub fn name(&self, submission: Submission) -> Result<Submission, Problem> {
        let key = self.key(&submission)?;
        let another = if submission.key.as_ref().is_some_and(|given| *given != key) {
            "/key"
        } else if submission.effect.is_some() {
            "/effect"
        } else {
            return Ok(Submission {
                key: Some(key),
                event: None,
                ..submission
            });
        };
        let rule = format!(
            "the operation's key is made as `{}`, here `{key}`",
            self.text
        );
        let remedy = "leave `key`, `effect` and the Idempotency-Key header out: another name would make a second effect of the \
                      same intent";
        Err(Problem::new(Code::BadIdentity, another, rule, remedy))
    }

    fn key(&self, submission: &Submission) -> Result<String, Problem> {
        let mut key = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => key.push_str(text),
                Piece::Part(part) => escape_into(&mut key, &self.value(part, submission)?),
            }
        }
        Ok(key)
    }

    fn value(&self, part: &Part, submission: &Submission) -> Result<String, Problem> {
        let event = submission.event.as_ref();
        let (member, value) = match part {
            Part::Conversation => {
                let conversation = submission.conversation.as_ref();
                (
                    "/conversation/id".to_owned(),
                    conversation.map(|c| c.id.clone()),
                )
            }
            Part::EventSource => ("/event/source".to_owned(), event.map(|e| e.source.clone())),
            Part::EventId => ("/event/id".to_owned(), event.map(|e| e.id.clone())),
            Part::Argument(names) => argument(names, submission)?,
        };
        value
            .filter(|value| !value.trim().is_empty())
            .ok_or_else(|| {
                let rule = format!(
                    "the operation's key is made as `{}`, and this part of it is missing or empty",
                    self.text
                );
                let remedy =
                    "give it a value: a key with a blank part would be shared by unrelated effects";
                Problem::new(Code::MissingIdentity, member, rule, remedy)
            })
    }
}

impl Part {
    fn named(name: &str) -> Result<Self, BadTemplate> {
        let names = name.strip_prefix("args.").map(|rest| rest.split('.'));
        match (name, names) {
            ("conversation", _) => Ok(Self::Conversation),
            ("event.source", _) => Ok(Self::EventSource),
            ("event.id", _) => Ok(Self::EventId),
            (_, Some(names)) if names.clone().all(|name| !name.is_empty()) => {
                Ok(Self::Argument(names.map(str::to_owned).collect()))
            }
            _ => Err(BadTemplate {
                rule: format!("`{{{name}}}` is no part of a key"),
                remedy: PARTS,
            }),
        }
    }
}

/// A member of the params, or else of the payload, and where it stands. A text stands for itself, a number and a truth value
/// as they are written.
fn argument(
    names: &[String],
    submission: &Submission,
) -> Result<(String, Option<String>), Problem> {
    let path = names.join("/");
    let inside = |raw: &Option<Box<RawValue>>, at: &str| {
        let Some(raw) = raw else { return Ok(None) };
        member(&canonical(raw.get(), at)?, names)
    };
    let (in_params, in_payload) = (
        inside(&submission.params, "/params")?,
        inside(&submission.payload, "/payload")?,
    );
    match (in_params, in_payload) {
        (Some(_), Some(_)) => {
            let rule = format!("`{path}` is part of the key, and stands in params and in payload");
            let member = format!("/payload/{path}");
            let remedy = "leave one of the two out: it has to be plain which one names the effect";
            Err(Problem::new(Code::BadIdentity, member, rule, remedy))
        }
        (Some(value), None) => scalar(&value, format!("/params/{path}")),
        (None, Some(value)) => scalar(&value, format!("/payload/{path}")),
        (None, None) => Ok((format!("/payload/{path}"), None)),
    }
}

/// The member under these names, in canonical form.
fn member(canonical_text: &str, names: &[String]) -> Result<Option<String>, Problem> {
    let Some((name, inner)) = names.split_first() else {
        return Ok(Some(canonical_text.to_owned()));
    };
    if !canonical_text.starts_with('{') {
        return Ok(None);
    }
    let Members(members) = read(canonical_text)?;
    let found = members.into_iter().find(|(known, _)| known == name);
    found.map_or(Ok(None), |(_, value)| member(value.get(), inner))
}

fn scalar(text: &str, at: String) -> Result<(String, Option<String>), Problem> {
    match text.as_bytes().first() {
        Some(b'{' | b'[') => {
            let rule = "it is part of the key, and no text, number or truth value";
            let remedy = "name one member inside it in the operation's key template";
            Err(Problem::new(Code::BadIdentity, at, rule, remedy))
        }
        Some(b'n') => Ok((at, None)),
        Some(b'"') => Ok((at, Some(read(text)?))),
        Some(_) | None => Ok((at, Some(text.to_owned()))),
    }
}

fn read<'a, T: serde::Deserialize<'a>>(canonical_text: &'a str) -> Result<T, Problem> {
    serde_json::from_str(canonical_text).map_err(|error| {
        let remedy = "send one JSON value (RFC 8259)";
        Problem::new(Code::MalformedJson, "", error.to_string(), remedy)
    })
}

/// Whatever has a meaning between parts is written as %XX, and so is what is not plain to read.
fn escape_into(key: &mut String, value: &str) {
    for byte in value.bytes() {
        let plain = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~');
        if plain || made(Mistake::PartsUnescaped) {
            key.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(key, "%{byte:02X}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(template: &str, body: &str) -> Result<String, (Code, String)> {
        let template = KeyTemplate::parse(template).unwrap();
        let submission = Submission::from_json(body).unwrap();
        template
            .name(submission)
            .map(|named| named.key.unwrap())
            .map_err(|problem| (problem.code, problem.member.into()))
    }

    fn of(rest: &str) -> String {
        format!("{{\"destination\":\"d\",\"operation\":\"o\",{rest}}}")
    }

    // R28: two intents never share a key, however their parts are cut.
    #[test]
    fn parts_do_not_reach_into_each_other() {
        let two = "{args.a}/{args.b}";
        let cut = |a: &str, b: &str| {
            let payload = serde_json::json!({"a": a, "b": b});
            key(two, &of(&format!("\"payload\":{payload}"))).unwrap()
        };
        assert_eq!(cut("a/b", "c"), "a%2Fb/c");
        assert_ne!(cut("a/b", "c"), cut("a", "b/c"));
        assert_ne!(cut("a%2Fb", "c"), cut("a/b", "c"));
        assert_ne!(cut("é", "c"), cut("e\u{301}", "c"));
    }

    #[test]
    fn parts_that_are_joined_as_they_are_are_noticed() {
        let joined = factum_core::mistake::making(Some(Mistake::PartsUnescaped), || {
            let cut = |body: &str| key("{args.a}/{args.b}", &of(body)).unwrap();
            cut(r#""payload":{"a":"a/b","b":"c"}"#) == cut(r#""payload":{"a":"a","b":"b/c"}"#)
        });
        assert!(joined);
    }

    #[test]
    fn a_key_is_made_of_what_is_listed_and_of_nothing_else() {
        let template = "ticket/{conversation}/{args.order}";
        let with = |order: &str, at: &str| {
            let body = of(&format!(
                "\"conversation\":{{\"id\":\"conv 91\"}},\"params\":{{\"order\":{order}}},\"payload\":{{\"at\":\"{at}\"}}"
            ));
            key(template, &body).unwrap()
        };
        assert_eq!(with("77", "10:00"), "ticket/conv%2091/77");
        // B67: what changes from call to call is no part of it.
        assert_eq!(with("77", "10:00"), with("77", "10:01"));
        assert_eq!(with("\"77\"", ""), with("77", ""), "as it is written");
        assert_ne!(with("77.0", ""), with("77", ""));
        assert_eq!(with("true", ""), "ticket/conv%2091/true");
        let event = of("\"event\":{\"source\":\"chat\",\"id\":\"e/1\"}");
        assert_eq!(
            key("{event.source}:{event.id}", &event).unwrap(),
            "chat:e%2F1"
        );
        let deep = of("\"payload\":{\"ticket\":{\"order\":\"7\"}}");
        assert_eq!(key("{args.ticket.order}", &deep).unwrap(), "7");
    }

    // B70: a key with a blank part would be shared by unrelated effects.
    #[test]
    fn a_missing_or_empty_part_is_refused_and_named() {
        let missing = |rest: &str| key("t/{conversation}/{args.order}", &of(rest)).unwrap_err();
        let conversation = "\"conversation\":{\"id\":\"c\"}";
        for payload in [
            "{}",
            "{\"order\":null}",
            "{\"order\":\"\"}",
            "{\"order\":\" \"}",
            "[]",
            "7",
        ] {
            let (code, member) = missing(&format!("{conversation},\"payload\":{payload}"));
            assert_eq!(
                (code, member.as_str()),
                (Code::MissingIdentity, "/payload/order"),
                "{payload}"
            );
        }
        let (code, member) = missing("\"payload\":{\"order\":7}");
        assert_eq!(
            (code, member.as_str()),
            (Code::MissingIdentity, "/conversation/id")
        );
        let (code, member) = missing(&format!("{conversation},\"params\":{{\"order\":[7]}}"));
        assert_eq!(
            (code, member.as_str()),
            (Code::BadIdentity, "/params/order")
        );
        let both = format!("{conversation},\"params\":{{\"order\":7}},\"payload\":{{\"order\":8}}");
        assert_eq!(missing(&both).0, Code::BadIdentity);
    }

    #[test]
    fn another_name_beside_the_template_is_refused() {
        let same = of("\"key\":\"7\",\"payload\":{\"order\":7}");
        assert_eq!(key("{args.order}", &same).unwrap(), "7");
        for own in [
            "\"key\":\"k\"",
            "\"effect\":\"one\",\"event\":{\"source\":\"s\",\"id\":\"i\"}",
        ] {
            let (code, _) = key(
                "{args.order}",
                &of(&format!("{own},\"payload\":{{\"order\":7}}")),
            )
            .unwrap_err();
            assert_eq!(code, Code::BadIdentity, "{own}");
        }
    }

    #[test]
    fn a_template_that_cannot_be_filled_is_no_template() {
        for text in [
            "",
            "ticket",
            "{",
            "}",
            "{}",
            "{order}",
            "{args}",
            "{args.}",
            "{args.a..b}",
            "a{args.b",
            "{{args.b}}",
        ] {
            assert!(KeyTemplate::parse(text).is_err(), "{text}");
        }
    }

    // B67
    #[test]
    fn a_part_that_changes_by_its_name_is_noticed() {
        let volatile = |text: &str| KeyTemplate::parse(text).unwrap().volatile();
        assert_eq!(volatile("{args.order}/{args.created_at}"), ["created_at"]);
        assert_eq!(volatile("{args.meta.request-uuid}"), ["request-uuid"]);
        assert!(volatile("{args.candidate}/{event.id}/{conversation}").is_empty());
    }
}
