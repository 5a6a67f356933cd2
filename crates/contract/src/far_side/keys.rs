//! What the contract says about repeats, in plain numbers and flags, and what of a request is compared.

use std::fmt::Write as _;

use factum_core::promise::Retention;
use serde_json::Value;

use super::FarSide;
use super::fit::plain;
use super::sent;
use crate::http::HttpRequest;
use crate::key::Role;
use crate::pointer::Pointer;
use crate::repeat::{
    After, Clock, Concurrent as Beside, Failures, OtherContent as Content, Repeat,
    Replays as Plays, Scope,
};

/// What a repeat under the same key gets, as the contract states it. Lengths of time in microseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeats {
    /// How long a key is kept; none for ever.
    pub window: Option<i64>,
    /// The destination keeps so many keys, and forgets the oldest.
    pub count: Option<usize>,
    /// The window begins when the first request has been carried out, and not when it arrives.
    pub from_completion: bool,
    /// After the window the key is refused; otherwise it is new.
    pub refused_after: bool,
    /// What a repeat gets while the first is still running.
    pub concurrent: Concurrent,
    /// Whether successes stay under the key.
    pub stores_success: bool,
    /// Whether refusals do.
    pub stores_refusals: bool,
    /// Whether errors do.
    pub stores_errors: bool,
    /// A key whose first request failed is spent.
    pub poisoned: bool,
    /// Each credential has keys of its own.
    pub per_credential: bool,
    /// Each path has keys of its own.
    pub per_path: bool,
    /// The key of another operation of the provider is known as well, and compared.
    pub across_operations: bool,
    /// What the key of other content gets.
    pub other_content: OtherContent,
    /// What a repeat is answered with.
    pub replays: Replays,
}

/// What a repeat gets while the first is still running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concurrent {
    /// An answer that says so.
    InProgress,
    /// The first one's answer, once it is there.
    Waits,
    /// Nothing is promised: it runs beside the first.
    Runs,
}

/// What the key of other content gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherContent {
    /// A refusal that says so.
    Refused,
    /// The first content's answer; also where nothing is promised.
    FirstResult,
    /// An effect of its own.
    NewEffect,
}

/// What a repeat is answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replays {
    /// The first answer; also where nothing is promised.
    Original,
    /// What the object has become since.
    CurrentState,
    /// A refusal that shows that it exists.
    Conflict,
}

/// What is kept where nobody publishes for how long: an hour, in microseconds.
const UNPUBLISHED: i64 = 3_600_000_000;

impl FarSide<'_> {
    /// What the contract promises about repeats; none where its key is only a name, or it has none.
    #[must_use]
    pub fn repeats(&self) -> Option<Repeats> {
        let repeat = self.contract.key.as_ref()?.repeat.as_ref()?;
        let has = |words: &[Scope]| repeat.scope.iter().any(|scope| words.contains(scope));
        let per_path = has(&[
            Scope::Endpoint,
            Scope::Path,
            Scope::Calendar,
            Scope::Queue,
            Scope::Topic,
            Scope::Stream,
            Scope::MessageGroup,
            Scope::Zone,
        ]);
        let compares_endpoint = repeat.compared.iter().any(|part| part == "endpoint");
        Some(Repeats {
            window: window(repeat),
            count: repeat.count.and_then(|count| usize::try_from(count).ok()),
            from_completion: repeat.clock != Clock::FirstRequest,
            refused_after: repeat.after == After::Refused,
            concurrent: match repeat.concurrent {
                Beside::InProgress => Concurrent::InProgress,
                Beside::Waits => Concurrent::Waits,
                Beside::Unstated => Concurrent::Runs,
            },
            stores_success: repeat.stored.success,
            stores_refusals: repeat.stored.refusals,
            stores_errors: repeat.stored.errors,
            poisoned: repeat.failures == Failures::Poison,
            per_credential: repeat.scope.is_empty()
                || has(&[
                    Scope::Credential,
                    Scope::Device,
                    Scope::UserApp,
                    Scope::App,
                    Scope::User,
                    Scope::Author,
                ]),
            per_path: per_path || repeat.scope.is_empty(),
            across_operations: compares_endpoint && !per_path && !repeat.scope.is_empty(),
            other_content: match repeat.other_content {
                Content::Refused => OtherContent::Refused,
                Content::FirstResult | Content::Unstated => OtherContent::FirstResult,
                Content::NewEffect => OtherContent::NewEffect,
            },
            replays: match repeat.replays {
                Plays::Original | Plays::Unstated => Replays::Original,
                Plays::CurrentState => Replays::CurrentState,
                Plays::Conflict => Replays::Conflict,
            },
        })
    }

    /// Whether the key names what is made, so that there cannot be two of it.
    #[must_use]
    pub fn key_names_object(&self) -> bool {
        let key = self.contract.key.as_ref();
        key.is_some_and(|key| key.role == Role::ResourceId)
    }

    /// Whether the request sets what exists under a name, so that equal content changes nothing.
    #[must_use]
    pub fn sets(&self) -> bool {
        let key = self.contract.key.as_ref();
        self.contract.effect.upsert || key.is_some_and(|key| key.role == Role::Upsert)
    }

    /// Whether this request carries a condition that its own effect makes fail: a repeat has none.
    #[must_use]
    pub fn is_conditional(&self, request: &HttpRequest) -> bool {
        let condition = self.contract.effect.condition.as_ref();
        condition.is_some_and(|condition| condition.stands_in(request))
    }

    /// Whether what is promised about the key does not hold for this request (R4).
    #[must_use]
    pub fn escapes(&self, request: &HttpRequest) -> bool {
        let repeat = self
            .contract
            .key
            .as_ref()
            .and_then(|key| key.repeat.as_ref());
        repeat.is_some_and(|repeat| repeat.escaped_by(request))
    }

    /// What of a request is compared with the first one under its key: as the contract lists it, and its whole content where
    /// it lists nothing.
    #[must_use]
    pub fn compared(&self, request: &HttpRequest) -> String {
        let repeat = self
            .contract
            .key
            .as_ref()
            .and_then(|key| key.repeat.as_ref());
        let listed = repeat
            .map(|repeat| repeat.compared.clone())
            .unwrap_or_default();
        let listed = match listed.is_empty() {
            true => vec!["endpoint".to_owned(), "body".to_owned()],
            false => listed,
        };
        let payload = sent::payload(&self.contract.effect.body, request);
        let mut compared = String::new();
        for part in listed {
            let value = match part.as_str() {
                "endpoint" => format!("{} {}", request.method, request.path_and_query),
                "body" => match serde_json::from_slice::<Value>(&request.body) {
                    Ok(json) => json.to_string(),
                    Err(_) => String::from_utf8_lossy(&request.body).into_owned(),
                },
                "headers" => own_headers(request),
                place => {
                    let at = Pointer::parse(place).ok();
                    let found = at.and_then(|at| payload.as_ref().and_then(|p| at.get(p).cloned()));
                    found
                        .map(|value| plain(&value).unwrap_or_else(|| value.to_string()))
                        .unwrap_or_default()
                }
            };
            // Writing to a String cannot fail.
            let _ = writeln!(compared, "{part}: {value}");
        }
        compared
    }
}

/// The headers that say something of the content; those of the carriage and of credentials do not.
fn own_headers(request: &HttpRequest) -> String {
    let own = ["content-type", "accept", "prefer"];
    let headers = request
        .headers
        .iter()
        .filter(|(name, _)| own.contains(&name.as_str()));
    let lines: Vec<String> = headers
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    lines.join(";")
}

fn window(repeat: &Repeat) -> Option<i64> {
    match repeat.retention {
        Retention::Floor(span) | Retention::AssumedFloor(span) | Retention::Approximate(span) => {
            Some(span.as_micros())
        }
        Retention::Unpublished if repeat.count.is_some() => None,
        Retention::Unpublished => Some(UNPUBLISHED),
        Retention::Unbounded => None,
    }
}
