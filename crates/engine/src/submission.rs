//! A submission as it comes in, and the rules that it has to keep before anything is recorded.

use std::collections::BTreeMap;

use factum_core::identity::{Identity, Scope};
use factum_core::{EventId, Span, Timestamp, TraceContext};
use factum_store::Conversation;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::canonical::{Members, canonical, escaped};
use crate::problem::{Code, Problem};
use crate::reading::read_object;

/// The longest key, in bytes.
pub const KEY_MAX: usize = 255;

/// The largest whole number that is taken in a request: beyond it, readers of JSON disagree about what was meant (RFC 8259).
pub const WHOLE_MAX: u64 = 9_007_199_254_740_991;

/// The wish for one effect, as the caller states it: the body of `POST /v1/actions`.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Submission {
    /// The configured account at an outside system.
    pub destination: String,
    /// What is to be done there, as in `ticket.create`.
    pub operation: String,
    /// The caller's name for this effect; or `event` and `effect` together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The event that causes the effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<EventRef>,
    /// Which of the event's effects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<String>,
    /// Equal content under another identity is meant to be a second effect (R16).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub another: Option<bool>,
    /// For how long the interface that took it in wants equal content held off, even where its operation has no twin guard; no caller
    /// says this.
    #[serde(skip)]
    pub guard: Option<Span>,
    /// Values for the contract's templates: a JSON object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Box<RawValue>>,
    /// The payload, sent as it is written here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Box<RawValue>>,
    /// One line for people, safe to show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// What the action works on at its destination, as in `ticket/77`: actions on one subject know of each other (R14).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// For whom it is carried out; part of the identity's scope.
    #[serde(default, rename = "for", skip_serializing_if = "Option::is_none")]
    pub on_behalf_of: Option<String>,
    /// In which conversation it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationRef>,
    /// The language of whoever asked, as a BCP 47 tag: statements about the action are worded in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
    /// No effect request from this on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<jiff::Timestamp>,
    /// No send before this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<jiff::Timestamp>,
    /// When the caller formed the intent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent_at: Option<jiff::Timestamp>,
    /// W3C trace context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
}

/// An event's name.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct EventRef {
    /// Who reports it.
    pub source: String,
    /// Its name there.
    pub id: String,
}

/// Where it was asked for.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ConversationRef {
    /// Its name at the caller.
    pub id: String,
    /// Which turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u64>,
    /// What was asked, in the asker's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
}

/// A submission that keeps the rules which can be checked without knowing the destination.
#[derive(Clone, Debug)]
pub struct Checked {
    /// Within what its identity is unique.
    pub scope: Scope,
    /// Its identity.
    pub identity: Identity,
    /// Equal content under another identity is meant to be a second effect (R16).
    pub another: bool,
    /// For how long the interface wants equal content held off.
    pub guard: Option<Span>,
    /// Params as written.
    pub params: String,
    /// Params in canonical form.
    pub params_canonical: String,
    /// Payload as written.
    pub payload: String,
    /// Payload in canonical form.
    pub payload_canonical: String,
    /// The canonical forms of what is compared and named on a conflict, by JSON pointer.
    pub compared: BTreeMap<String, String>,
    /// One line for people.
    pub summary: Option<String>,
    /// What it works on.
    pub subject: Option<String>,
    /// Where it was asked for.
    pub conversation: Option<Conversation>,
    /// The language of whoever asked.
    pub locale: Option<String>,
    /// No effect request from this on.
    pub deadline: Option<Timestamp>,
    /// No send before this.
    pub not_before: Option<Timestamp>,
    /// When the caller formed the intent.
    pub intent_at: Option<Timestamp>,
    /// The caller's trace.
    pub trace: Option<TraceContext>,
}

impl Submission {
    /// Reads the JSON body of a submission.
    ///
    /// # Errors
    /// F1001, F1002, F1003, F1010, F1013, F1014; each names the member.
    pub fn from_json(text: &str) -> Result<Self, Problem> {
        read_object(text, &["event", "conversation"])
    }

    /// Checks every rule that needs neither clock nor destination. `principal` is for whom it is where the submission does
    /// not say.
    ///
    /// # Errors
    /// F1003, F1004, F1010, F1011, F1013, F1014, F1015; each names the member.
    pub fn check(self, tenant: &str, principal: &str) -> Result<Checked, Problem> {
        let identity = self.identity()?;
        named("/destination", &self.destination)?;
        named("/operation", &self.operation)?;
        let params = self
            .params
            .as_ref()
            .map_or("{}", |raw| raw.get())
            .to_owned();
        let payload = self
            .payload
            .as_ref()
            .map_or("null", |raw| raw.get())
            .to_owned();
        if !params.starts_with('{') {
            return Err(wrong(
                "/params",
                "params is an object of values for the operation's templates",
                "send an object",
            ));
        }
        let params_canonical = canonical(&params, "/params")?;
        let payload_canonical = canonical(&payload, "/payload")?;
        let mut compared = compared_members("/params", &params_canonical)?;
        compared.extend(compared_members("/payload", &payload_canonical)?);
        let trace = self.trace()?;
        let (deadline, not_before) = self.times()?;
        self.names()?;
        Ok(Checked {
            scope: Scope {
                tenant: tenant.to_owned(),
                principal: self.on_behalf_of.unwrap_or_else(|| principal.to_owned()),
                destination: self.destination,
                operation: self.operation,
            },
            identity,
            another: self.another.unwrap_or(false),
            guard: self.guard,
            params,
            params_canonical,
            payload,
            payload_canonical,
            compared,
            summary: self.summary,
            subject: self.subject,
            conversation: self.conversation.map(|c| Conversation {
                id: c.id,
                turn: c.turn,
                asked: c.asked,
            }),
            locale: self.locale,
            deadline,
            not_before,
            intent_at: self.intent_at.map(instant),
            trace,
        })
    }

    fn trace(&self) -> Result<Option<TraceContext>, Problem> {
        let trace = self.trace.as_deref().map(TraceContext::parse);
        trace.transpose().map_err(|error| {
            wrong(
                "/trace",
                &error.to_string(),
                "send the traceparent header's value, or leave it out",
            )
        })
    }

    /// What it is about and where it was asked for are found by their names.
    fn names(&self) -> Result<(), Problem> {
        if let Some(principal) = &self.on_behalf_of {
            bounded_principal(principal)?;
        }
        if let Some(subject) = &self.subject {
            bounded_subject(subject)?;
        }
        if let Some(conversation) = &self.conversation {
            bounded_conversation(&conversation.id)?;
            if conversation.turn.is_some_and(|turn| turn > WHOLE_MAX) {
                let rule = format!("a turn is a whole number up to {WHOLE_MAX}");
                return Err(wrong("/conversation/turn", &rule, "count the turns from 1"));
            }
        }
        if let Some(locale) = &self.locale {
            language_tag(locale)?;
        }
        Ok(())
    }

    fn times(&self) -> Result<(Option<Timestamp>, Option<Timestamp>), Problem> {
        let (deadline, not_before) = (self.deadline.map(instant), self.not_before.map(instant));
        match (deadline, not_before) {
            (Some(deadline), Some(not_before)) if not_before >= deadline => {
                let rule =
                    "not_before has to be earlier than deadline, else nothing could ever be sent";
                Err(Problem::new(
                    Code::BadTimes,
                    "/not_before",
                    rule,
                    "move one of them",
                ))
            }
            times => Ok(times),
        }
    }

    fn identity(&self) -> Result<Identity, Problem> {
        match (&self.key, &self.event, &self.effect) {
            (Some(key), None, None) => {
                bounded("/key", key)?;
                Ok(Identity::Key(key.clone()))
            }
            (None, Some(event), Some(effect)) => {
                bounded("/event/source", &event.source)?;
                bounded("/event/id", &event.id)?;
                bounded("/effect", effect)?;
                let event = EventId {
                    source: event.source.clone(),
                    id: event.id.clone(),
                };
                Ok(Identity::Event {
                    event,
                    effect: effect.clone(),
                })
            }
            (None, Some(_), None) => Err(Problem::new(
                Code::MissingIdentity,
                "/effect",
                "one event may cause several effects, so each has a name",
                "add `effect`, as in \"announcement\"",
            )),
            (Some(_), _, _) => Err(Problem::new(
                Code::BadIdentity,
                "/key",
                "an identity is either `key`, or `event` with `effect`",
                "send one of the two",
            )),
            (None, None, _) => Err(Problem::new(
                Code::MissingIdentity,
                "/key",
                "every submission names the effect that it wants, so that a repeat joins and makes no second effect",
                "add `key`: the same for every repeat of this intent and another for a second one, built from what causes \
                 it (`order-77/refund-ticket`), never from the time or at random per call; or send the Idempotency-Key header",
            )),
        }
    }
}

/// The members that are compared one by one and named on a conflict: the first level, so that no value shows in the name.
fn compared_members(at: &str, canonical_text: &str) -> Result<BTreeMap<String, String>, Problem> {
    if !canonical_text.starts_with('{') {
        return Ok(BTreeMap::from([(at.to_owned(), canonical_text.to_owned())]));
    }
    let Members(members) = serde_json::from_str(canonical_text).map_err(|error| {
        Problem::new(
            Code::MalformedJson,
            at,
            error.to_string(),
            "send one JSON value (RFC 8259)",
        )
    })?;
    Ok(members
        .into_iter()
        .map(|(name, value)| (format!("{at}/{}", escaped(&name)), value.get().to_owned()))
        .collect())
}

fn bounded(member: &str, text: &str) -> Result<(), Problem> {
    let Some(why) = out_of_form(text, "unrelated effects") else {
        return Ok(());
    };
    let rule = format!("an identity has 1 to {KEY_MAX} bytes without control characters; {why}");
    Err(Problem::new(
        Code::BadIdentity,
        member,
        rule,
        "build it from what causes the effect, as in `order-77/refund-ticket`",
    ))
}

/// For whom it is: part of what an identity is unique within, so it has the form of one.
fn bounded_principal(text: &str) -> Result<(), Problem> {
    let Some(why) = out_of_form(text, "unrelated people") else {
        return Ok(());
    };
    let rule = format!("for whom it is has 1 to {KEY_MAX} bytes without control characters; {why}");
    let remedy = "name who it is carried out for, as in `user:ana`, or leave it out";
    Err(wrong("/for", &rule, remedy))
}

/// A subject is found by its text, so it has the form of an identity.
fn bounded_subject(text: &str) -> Result<(), Problem> {
    let Some(why) = out_of_form(text, "actions on unrelated things") else {
        return Ok(());
    };
    let rule = format!("a subject has 1 to {KEY_MAX} bytes without control characters; {why}");
    let remedy = "name what the action works on, the same in every action on it, as in `ticket/77`";
    Err(wrong("/subject", &rule, remedy))
}

/// A conversation is found by its name, so that has the form of an identity.
fn bounded_conversation(text: &str) -> Result<(), Problem> {
    let Some(why) = out_of_form(text, "unrelated conversations") else {
        return Ok(());
    };
    let rule =
        format!("a conversation's name has 1 to {KEY_MAX} bytes without control characters; {why}");
    Err(wrong(
        "/conversation/id",
        &rule,
        "send its name at your side, as in `conv-91`",
    ))
}

/// Only the form is looked at: a language without words of its own here is answered in another one, and refused to nobody.
fn language_tag(text: &str) -> Result<(), Problem> {
    let of_form = |part: &str| {
        (1..=8).contains(&part.len()) && part.chars().all(|c| c.is_ascii_alphanumeric())
    };
    if text.len() <= 35 && text.split('-').all(of_form) {
        return Ok(());
    }
    let rule = format!("{text:?} is no language tag (BCP 47)");
    Err(wrong(
        "/locale",
        &rule,
        "send one as in `de` or `pt-BR`, or leave it out",
    ))
}

fn out_of_form(text: &str, sharing: &str) -> Option<String> {
    if text.trim().is_empty() {
        Some(format!("it is empty, so {sharing} would share it"))
    } else if text.len() > KEY_MAX {
        Some(format!("it is longer than {KEY_MAX} bytes"))
    } else if text.chars().any(char::is_control) {
        Some("it holds control characters".to_owned())
    } else {
        None
    }
}

fn named(member: &str, text: &str) -> Result<(), Problem> {
    if text.is_empty() {
        Err(wrong(member, "it is empty", "name it"))
    } else {
        Ok(())
    }
}

fn wrong(member: &str, rule: &str, remedy: &str) -> Problem {
    Problem::new(Code::WrongType, member, rule, remedy)
}

/// An instant as the core has it.
#[must_use]
pub fn instant(at: jiff::Timestamp) -> Timestamp {
    Timestamp::from_micros(at.as_microsecond())
}
