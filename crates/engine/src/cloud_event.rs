//! A submission that comes as a CloudEvent (version 1.0 of the specification): `source` and `id` name the event, and its data is the
//! submission, which names the effect. Delivered twice, it is one event, and joins.
//!
//! Read are the JSON format, and the attributes of the HTTP binding's binary mode. `subject`, `type` and extensions say something about
//! the event at its source and nothing about the action, so they are checked and left. Batches are not taken.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::problem::{Code, Problem};
use crate::reading::read_object;
use crate::submission::{EventRef, Submission};

/// The attributes that every event has.
pub const REQUIRED: [&str; 4] = ["specversion", "id", "source", "type"];

/// The attributes that mean something here, as text. What is null is not there.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Attributes {
    specversion: Option<String>,
    id: Option<String>,
    source: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    time: Option<String>,
    subject: Option<String>,
    datacontenttype: Option<String>,
    traceparent: Option<String>,
}

/// What the JSON format adds: the event's data.
#[derive(Deserialize)]
struct Structured {
    data: Option<Box<RawValue>>,
    data_base64: Option<serde::de::IgnoredAny>,
}

/// The submission of an event in the JSON format. Problems point into that.
///
/// # Errors
/// F1001, F1003, F1004, F1010, F1013, F1014, F1016 and F1032, as of the event and of the submission in it.
pub fn of_json(text: &str) -> Result<Submission, Problem> {
    let attributes: Attributes = read_object(text, &["data"])?;
    let Structured { data, data_base64 } = read_object(text, &[])?;
    if data_base64.is_some() {
        let rule = "the data of the event is the submission, as a JSON object";
        let remedy = "send `data` in place of `data_base64`";
        return Err(wrong("/data_base64", rule, remedy));
    }
    let Some(data) = data else {
        let remedy = "add `data`: the body of POST /v1/actions without `key` and `event`";
        return Err(wrong("/data", "the event carries no submission", remedy));
    };
    attributes.submission("/", data.get(), "/data")
}

/// The submission of an event whose attributes came by header, each decoded already, and whose data is the body. Problems about an
/// attribute name its header, `ce-id` and the like; others point into the body.
///
/// # Errors
/// As [`of_json`].
pub fn of_headers(headers: &[(String, String)], data: &str) -> Result<Submission, Problem> {
    let mut attributes = Attributes::default();
    for (name, value) in headers {
        let place = match name.as_str() {
            "specversion" => &mut attributes.specversion,
            "id" => &mut attributes.id,
            "source" => &mut attributes.source,
            "type" => &mut attributes.kind,
            "time" => &mut attributes.time,
            "subject" => &mut attributes.subject,
            "traceparent" => &mut attributes.traceparent,
            "datacontenttype" => {
                let rule = "in binary mode the type of the data stands in Content-Type alone";
                return Err(wrong("ce-datacontenttype", rule, "leave it out"));
            }
            _ => continue,
        };
        if place.replace(value.clone()).is_some() {
            let rule = "the header occurs twice";
            return Err(wrong(&format!("ce-{name}"), rule, "send it once"));
        }
    }
    attributes.submission("ce-", data, "")
}

impl Attributes {
    /// `before` stands before the name of an attribute in problems, `inside` before a member of the data.
    fn submission(self, before: &str, data: &str, inside: &str) -> Result<Submission, Problem> {
        let at = |name: &str| format!("{before}{name}");
        let values = [&self.specversion, &self.id, &self.source, &self.kind];
        for (name, value) in REQUIRED.into_iter().zip(values) {
            if value.is_none() {
                let rule = format!("every CloudEvent has the attribute {name:?}");
                return Err(wrong(&at(name), &rule, "add it"));
            }
        }
        for (name, value) in REQUIRED
            .into_iter()
            .zip(values)
            .chain([("subject", &self.subject)])
        {
            let odd = |text: &str| text.trim().is_empty() || text.contains(char::is_control);
            if value.as_deref().is_some_and(odd) {
                let rule = "an attribute is not empty and holds no control characters";
                return Err(wrong(&at(name), rule, "say what it is"));
            }
        }
        if self.specversion.as_deref() != Some("1.0") {
            let rule = "events of version 1.0 of the specification are read here";
            return Err(wrong(&at("specversion"), rule, "send \"1.0\""));
        }
        if let Some(kind) = self.datacontenttype.filter(|kind| !is_json(kind)) {
            let rule = format!("the event says that its data is {kind:?}");
            let remedy = "send the submission as JSON";
            return Err(Problem::new(
                Code::WrongMediaType,
                at("datacontenttype"),
                rule,
                remedy,
            ));
        }
        let mut submission = Submission::from_json(data).map_err(|problem| Problem {
            member: format!("{inside}{}", problem.member).into(),
            ..problem
        })?;
        if submission.key.is_some() || submission.event.is_some() {
            let member = if submission.key.is_some() {
                "key"
            } else {
                "event"
            };
            return Err(Problem::new(
                Code::IdentityTwice,
                format!("{inside}/{member}"),
                "the event's source and id are the identity, with `effect` in its data",
                "leave it out of the data",
            ));
        }
        if submission.intent_at.is_none() {
            submission.intent_at = self
                .time
                .as_deref()
                .map(instant)
                .transpose()
                .map_err(|why| wrong(&at("time"), &why, "write it as RFC 3339, or leave it out"))?;
        }
        submission.trace = submission.trace.or(self.traceparent);
        submission.event = Some(EventRef {
            source: self.source.unwrap_or_default(),
            id: self.id.unwrap_or_default(),
        });
        Ok(submission)
    }
}

/// A problem that was found in the submission, as the sender of the event has to read it: what is said of the event's names is said of its
/// attributes, and everything else is inside the data.
#[must_use]
pub fn within_event(problem: Problem, structured: bool) -> Problem {
    let (attribute, data) = if structured {
        ("/", "/data")
    } else {
        ("ce-", "")
    };
    let member = match &*problem.member {
        "/event/source" => format!("{attribute}source"),
        "/event/id" => format!("{attribute}id"),
        inside if inside.starts_with('/') => format!("{data}{inside}"),
        other => other.to_owned(),
    };
    Problem {
        member: member.into(),
        ..problem
    }
}

/// Reads a header's value as the binding has it: a text in double quotes is unescaped, then percent-encoding is undone once.
///
/// # Errors
/// Why it cannot be read, for people.
pub fn header_value(text: &str) -> Result<String, &'static str> {
    let unquoted = match text.trim().strip_prefix('"') {
        None => text.trim().to_owned(),
        Some(rest) => {
            let inner = rest
                .strip_suffix('"')
                .ok_or("its quotation mark is not closed")?;
            let mut plain = String::with_capacity(inner.len());
            let mut letters = inner.chars();
            while let Some(letter) = letters.next() {
                match letter {
                    '\\' => plain.push(letters.next().ok_or("it ends within an escape")?),
                    '"' => return Err("a quotation mark stands within it"),
                    letter => plain.push(letter),
                }
            }
            plain
        }
    };
    let mut bytes = Vec::with_capacity(unquoted.len());
    let mut rest = unquoted.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let hex = rest.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        let hex = hex.filter(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let byte = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        bytes.push(byte.ok_or("a percent sign is not followed by two hexadecimal digits")?);
        rest = &rest[2..];
    }
    String::from_utf8(bytes).map_err(|_| "its percent-encoding is no UTF-8")
}

fn is_json(kind: &str) -> bool {
    let kind = kind.to_ascii_lowercase();
    let mut parts = kind.split(';').map(str::trim);
    parts.next() == Some("application/json") && parts.all(|part| part == "charset=utf-8")
}

fn instant(text: &str) -> Result<jiff::Timestamp, String> {
    text.parse()
        .map_err(|error| format!("{text:?} is no instant: {error}"))
}

fn wrong(member: &str, rule: &str, remedy: &str) -> Problem {
    Problem::new(Code::WrongType, member, rule, remedy)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn event() -> Value {
        json!({
            "specversion": "1.0", "id": "e-1", "source": "//shop/orders", "type": "shop.order.refunded", "time": "2026-11-29T12:00:00Z",
            "subject": "order/77", "datacontenttype": "application/json", "custom": 7, "data": {
                "destination": "helpdesk", "operation": "ticket.create", "effect": "ticket", "payload": {"amount": 10.00},
            },
        })
    }

    #[test]
    fn an_event_names_the_submission_in_its_data() {
        let text = event().to_string().replace("10.0", "10.00");
        let read = of_json(&text).unwrap();
        let named = read.event.as_ref().unwrap();
        assert_eq!(
            (named.source.as_str(), named.id.as_str()),
            ("//shop/orders", "e-1")
        );
        assert_eq!(read.effect.as_deref(), Some("ticket"));
        assert_eq!(read.payload.as_ref().unwrap().get(), r#"{"amount":10.00}"#);
        assert_eq!(read.intent_at.unwrap().to_string(), "2026-11-29T12:00:00Z");
        assert_eq!(
            read.subject, None,
            "an event's subject is its source's, and no thing at the destination"
        );

        let headers = [
            ("specversion", "1.0"),
            ("id", "e-1"),
            ("source", "//shop/orders"),
            ("type", "t"),
            ("custom", "x"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let same = of_headers(&headers, &event()["data"].to_string()).unwrap();
        assert_eq!(same.event.unwrap().id, "e-1");
        assert_eq!(same.intent_at, None);
    }

    #[test]
    fn what_is_no_event_or_no_submission_is_said_by_its_place() {
        let rows = [
            ("/specversion", json!(null), Code::WrongType, "/specversion"),
            (
                "/specversion",
                json!("0.3"),
                Code::WrongType,
                "/specversion",
            ),
            ("/id", json!(""), Code::WrongType, "/id"),
            ("/id", json!(7), Code::WrongType, "/id"),
            ("/source", json!(null), Code::WrongType, "/source"),
            ("/type", json!(" "), Code::WrongType, "/type"),
            ("/time", json!("yesterday"), Code::WrongType, "/time"),
            ("/subject", json!(""), Code::WrongType, "/subject"),
            (
                "/datacontenttype",
                json!("text/xml"),
                Code::WrongMediaType,
                "/datacontenttype",
            ),
            ("/data", json!(null), Code::WrongType, "/data"),
            ("/data", json!("text"), Code::WrongType, "/data"),
            (
                "/data",
                json!({"operation": "x"}),
                Code::WrongType,
                "/data/destination",
            ),
            ("/data/key", json!("k"), Code::IdentityTwice, "/data/key"),
            (
                "/data/event",
                json!({"source": "s", "id": "i"}),
                Code::IdentityTwice,
                "/data/event",
            ),
            (
                "/data/payloads",
                json!(1),
                Code::UnknownMember,
                "/data/payloads",
            ),
            (
                "/data_base64",
                json!("e30="),
                Code::WrongType,
                "/data_base64",
            ),
        ];
        for (at, value, code, member) in rows {
            let mut event = event();
            let (parent, name) = at.rsplit_once('/').unwrap();
            event.pointer_mut(parent).unwrap()[name] = value;
            let problem = of_json(&event.to_string()).unwrap_err();
            assert_eq!((problem.code, &*problem.member), (code, member), "{event}");
        }
        let twice = event().to_string().replacen('{', r#"{"id":"other","#, 1);
        assert_eq!(of_json(&twice).unwrap_err().code, Code::DuplicateMember);
    }

    #[test]
    fn headers_are_decoded_once_and_strictly() {
        let right = [
            ("plain", "plain"),
            ("Euro%20%E2%82%AC%20%F0%9F%98%80", "Euro \u{20ac} \u{1f600}"),
            ("%e2%82%ac", "\u{20ac}"),
            ("%2541", "%41"),
            (" a ", "a"),
            (r#""a \"b\" %41""#, "a \"b\" A"),
        ];
        for (text, value) in right {
            assert_eq!(header_value(text).as_deref(), Ok(value), "{text}");
        }
        for text in [
            "%C0%A0", "%FF", "%4", "%zz", "50%", "\"open", "\"a\"b\"", "%+1",
        ] {
            assert!(header_value(text).is_err(), "{text}");
        }
    }
}
