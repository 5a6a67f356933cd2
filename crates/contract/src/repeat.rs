//! What a repeat under the same key gets: the section `[key.repeat]`.
//!
//! Only a floor carries a permission. Whatever takes the floor away where it cannot be checked beforehand, such as a window
//! that each account sets for itself, makes of the promise a best effort.

use factum_core::Span;
use factum_core::promise::Retention;

use crate::claims::Claims;
use crate::conditions;
use crate::contract::Contract;
use crate::http::HttpRequest;
use crate::parts::{self, optional};
use crate::source::{Node, Section, Word};
use crate::when::When;

/// The promise that the key is recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Repeat {
    pub(crate) retention: Retention,
    /// The destination keeps so many keys, however old.
    pub(crate) count: Option<u32>,
    pub(crate) clock: Clock,
    pub(crate) after: After,
    /// Each account can set the window for itself.
    adjustable: bool,
    pub(crate) escapes: Vec<Escape>,
    pub(crate) concurrent: Concurrent,
    /// Between two requests under one key at the least.
    pub(crate) wait_min: Option<Span>,
    pub(crate) stored: Stored,
    pub(crate) failures: Failures,
    pub(crate) limits_checked: Option<Order>,
    /// What the key is known within; empty where that is not stated.
    pub(crate) scope: Vec<Scope>,
    pub(crate) other_content: OtherContent,
    pub(crate) compared: Vec<String>,
    /// How a stored answer looks that is played again.
    pub(crate) replayed: Option<When>,
    pub(crate) replays: Replays,
}

/// Which answers are stored under the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) success: bool,
    pub(crate) refusals: bool,
    pub(crate) errors: bool,
}

/// A request or an answer for which the promise does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Escape {
    /// The request's body is larger than this.
    BodyOver(u64),
    /// The request's content type begins so.
    ContentType(String),
    /// The answer's body is larger than this; nobody can tell beforehand.
    AnswerOver(u64),
    /// Something that only the destination knows, in words.
    Stated(String),
}

/// Declares a set of words and the values that they stand for.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$case:meta])* $value:ident = $word:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum $name {
            $($(#[$case])* $value,)*
        }
        impl $crate::source::Word for $name {
            const WORDS: &'static [(&'static str, Self)] = &[$(($word, Self::$value)),*];
        }
    };
}
words! {
    /// When the window begins. A later beginning only makes it longer.
    Clock {
        /// At the first request.
        FirstRequest = "first_request",
        /// When the first request has been carried out.
        Completion = "completion",
        /// When what was made ends.
        ObjectEnd = "object_end",
    }
}
words! {
    /// What the key gets once the window is over.
    After {
        /// A new effect.
        RunsAsNew = "runs_as_new",
        /// A refusal that says so.
        Refused = "refused",
        /// Nothing is stated.
        Unstated = "unstated",
    }
}
words! {
    /// What a repeat gets while the first is still running.
    Concurrent {
        /// An answer that says so.
        InProgress = "in_progress",
        /// The first one's answer, once it is there.
        Waits = "waits",
        /// Nothing is stated: both may run.
        Unstated = "unstated",
    }
}
words! {
    /// What a key gets whose first request failed.
    Failures {
        /// The stored failure.
        Replayed = "replayed",
        /// Another try.
        ExecutedAgain = "executed_again",
        /// A refusal, for ever: the key is spent.
        Poison = "poison",
        /// Nothing is stated.
        Unstated = "unstated",
    }
}
words! {
    /// Whether limits are checked before the key is looked at, or after.
    Order {
        Before = "before_key",
        After = "after_key",
    }
}
words! {
    /// What a key is known within.
    Scope {
        Account = "account",
        CompanyAccount = "company_account",
        App = "app",
        User = "user",
        UserApp = "user_app",
        Author = "author",
        Device = "device",
        Credential = "credential",
        Endpoint = "endpoint",
        Path = "path",
        Host = "host",
        Region = "region",
        Zone = "zone",
        Environment = "environment",
        Calendar = "calendar",
        Queue = "queue",
        Topic = "topic",
        MessageGroup = "message_group",
        Stream = "stream",
    }
}
words! {
    /// What the key of other content gets.
    OtherContent {
        /// A refusal that says so.
        Refused = "refused",
        /// The first content's answer.
        FirstResult = "first_result",
        /// An effect of its own.
        NewEffect = "new_effect",
        /// Nothing is stated.
        Unstated = "unstated",
    }
}
words! {
    /// What a repeat is answered with.
    Replays {
        /// The first answer, as it was.
        Original = "original",
        /// What the object has become since.
        CurrentState = "current_state",
        /// A refusal that shows that the thing exists.
        Conflict = "conflict",
        /// Nothing is stated.
        Unstated = "unstated",
    }
}

pub(crate) use words;

impl Repeat {
    pub(crate) fn read(section: Section<'_>, claims: &mut Claims) -> Option<Self> {
        claims.note(&section);
        claims.require(&section, "", "the promise that a key is recognised");
        let kept = section.need("retention").and_then(|node| kept(&node));
        let clock = word(&section, "clock", Clock::FirstRequest);
        let after = word(&section, "after", After::Unstated);
        let adjustable = section.flag("adjustable");
        let escapes = optional(section.get("escapes"), escapes);
        let concurrent = word(&section, "concurrent", Concurrent::Unstated);
        let wait_min = optional(section.get("wait_min"), parts::length);
        let stored = section.need("stored").and_then(|node| stored(&node));
        let failures = word(&section, "failures", Failures::Unstated);
        let limits_checked = optional(section.get("limits_checked"), Node::word);
        let scope = optional(section.get("scope"), scopes);
        let other_content = word(&section, "other_content", OtherContent::Unstated);
        let compared = optional(section.get("compared"), compared);
        let replayed = optional(section.get("replayed"), conditions::when);
        let replays = word(&section, "replays", Replays::Unstated);
        section.end();
        let (retention, count) = kept?;
        Some(Self {
            retention,
            count,
            clock: clock?,
            after: after?,
            adjustable,
            escapes: escapes?.unwrap_or_default(),
            concurrent: concurrent?,
            wait_min: wait_min?,
            stored: stored?,
            failures: failures?,
            limits_checked: limits_checked?,
            scope: scope?.unwrap_or_default(),
            other_content: other_content?,
            compared: compared?.unwrap_or_default(),
            replayed: replayed?,
            replays: replays?,
        })
    }

    /// Whether another credential is, or may be, another key space.
    pub(crate) fn scope_includes_credential(&self) -> bool {
        let per_credential = |scope: &Scope| {
            let words = [Scope::Credential, Scope::Device, Scope::UserApp, Scope::App];
            words.contains(scope)
        };
        self.scope.is_empty() || self.scope.iter().any(per_credential)
    }

    /// Whether another base address is, or may be, another key space.
    pub(crate) fn scope_includes_place(&self) -> bool {
        let per_place = |scope: &Scope| {
            let words = [Scope::Host, Scope::Region, Scope::Zone, Scope::Environment];
            words.contains(scope)
        };
        self.scope.is_empty() || self.scope.iter().any(per_place)
    }

    /// Whether an error under the key means that the key has nothing more to tell: it is spent, or the error may be a stored one
    /// that is repeated. Where a repeat carries a mark, the mark tells, and an error without one may be a gateway's (R19).
    pub(crate) fn errors_spend_it(&self) -> bool {
        self.failures == Failures::Poison || (self.stored.errors && self.replayed.is_none())
    }

    /// The window, without a floor where something can take it away that nobody sees beforehand.
    pub(crate) fn promised(&self) -> Retention {
        let unseen = |escape: &Escape| match escape {
            Escape::AnswerOver(_) | Escape::Stated(_) => true,
            Escape::BodyOver(_) | Escape::ContentType(_) => false,
        };
        if !self.adjustable && !self.escapes.iter().any(unseen) {
            return self.retention;
        }
        match self.retention {
            Retention::Floor(span) | Retention::AssumedFloor(span) => Retention::Approximate(span),
            Retention::Unbounded => Retention::Unpublished,
            other @ (Retention::Approximate(_) | Retention::Unpublished) => other,
        }
    }

    /// Whether the promise does not hold for this request (R4).
    pub(crate) fn escaped_by(&self, request: &HttpRequest) -> bool {
        let length = u64::try_from(request.body.len()).unwrap_or(u64::MAX);
        let mut headers = request.headers.iter();
        let content_type = headers.find(|(name, _)| name == "content-type");
        let content_type = content_type.map_or("", |(_, value)| value.as_str());
        self.escapes.iter().any(|escape| match escape {
            Escape::BodyOver(most) => length > *most,
            Escape::ContentType(start) => {
                let head = content_type.get(..start.len());
                head.is_some_and(|head| head.eq_ignore_ascii_case(start))
            }
            Escape::AnswerOver(_) | Escape::Stated(_) => false,
        })
    }
}

/// A word that may be missing.
fn word<T: Word>(section: &Section<'_>, name: &'static str, usual: T) -> Option<T> {
    section.get(name).map_or(Some(usual), |node| node.word())
}

/// The retention, which may be a number of keys: that is no length of time, so that nothing rests on it.
fn kept(node: &Node<'_>) -> Option<(Retention, Option<u32>)> {
    let counts = node.section_has("count");
    if !counts {
        return parts::retention(node).map(|retention| (retention, None));
    }
    let (_, value) = parts::choice(node, &["count"])?;
    let count = u32::try_from(value.integer_in(1, i64::from(u32::MAX))?).ok()?;
    Some((Retention::Unpublished, Some(count)))
}

fn escapes(node: &Node<'_>) -> Option<Vec<Escape>> {
    let bytes = |node: &Node<'_>| u64::try_from(node.integer_in(1, i64::MAX)?).ok();
    let escape = |node: &Node<'_>| {
        let forms = ["body_over", "content_type", "answer_over", "stated"];
        let (form, value) = parts::choice(node, &forms)?;
        match form.as_str() {
            "body_over" => bytes(&value).map(Escape::BodyOver),
            "answer_over" => bytes(&value).map(Escape::AnswerOver),
            "content_type" => Some(Escape::ContentType(value.words()?.to_owned())),
            _ => Some(Escape::Stated(value.words()?.to_owned())),
        }
    };
    node.list(true)?.iter().map(escape).collect()
}

fn stored(node: &Node<'_>) -> Option<Stored> {
    let section = node.section()?;
    let flag = |name| section.need(name).and_then(|node| node.flag());
    let (success, refusals, errors) = (flag("success"), flag("refusals"), flag("errors"));
    section.end();
    Some(Stored {
        success: success?,
        refusals: refusals?,
        errors: errors?,
    })
}

fn scopes(node: &Node<'_>) -> Option<Vec<Scope>> {
    let words = node.list(true)?;
    words.iter().map(|word| word.word()).collect()
}

/// `endpoint`, `headers`, `body`, or pointers to the members that are looked at.
fn compared(node: &Node<'_>) -> Option<Vec<String>> {
    let part = |node: &Node<'_>| {
        let text = node.text()?;
        if !["endpoint", "headers", "body"].contains(&text) {
            parts::pointer(node)?;
        }
        Some(text.to_owned())
    };
    node.list(true)?.iter().map(part).collect()
}

impl Contract {
    /// Between two requests under one key at the least, where the destination wants that.
    #[must_use]
    pub fn repeat_wait_min(&self) -> Option<Span> {
        self.key.as_ref()?.repeat.as_ref()?.wait_min
    }
}
