//! The entries of `[[answers]]`: an ordered list of conditions, each with what an answer means for which it holds.
//!
//! A status alone never makes success where the contract wants a receipt, and never makes a refusal unless somebody stands
//! behind it: a refusal is proof that nothing happened.

use factum_core::promise::LookupBy;

use crate::claims::Claims;
use crate::compare::Same;
use crate::conditions;
use crate::key::Key;
use crate::parts::{self, Take, optional, receipt};
use crate::pointer::Pointer;
use crate::source::{Node, Section, Word};
use crate::when::{StatusSet, When};

/// One entry of `[[answers]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(crate) when: When,
    pub(crate) outcome: Outcome,
}

/// The entries of `[[answers]]` in one file.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    pub(crate) rules: Vec<Rule>,
    /// None of them was left out because of what is wrong with it.
    pub(crate) all_read: bool,
}

/// What a rule makes of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done {
        receipt: Option<Take>,
        aliases: Vec<Pointer>,
        ours: Option<Mark>,
        same: Vec<Same>,
    },
    Accepted {
        object: Option<Take>,
        receipt: Option<Take>,
    },
    Refused {
        declined: bool,
        stored: bool,
        why: Option<Pointer>,
    },
    AlreadyExists {
        receipt: Option<Take>,
        ours: Option<Mark>,
        same: Vec<Same>,
    },
    InProgress,
    Mismatch,
    Busy,
    /// `settled`: the destination says that the request is not in flight any more, whatever became of it.
    Unknown {
        settled: bool,
    },
}

/// A member that has to equal one of our marks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) take: Take,
    pub(crate) with: LookupBy,
}

/// The words for classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Done,
    Accepted,
    Rejected,
    Declined,
    InProgress,
    AlreadyExists,
    Mismatch,
    Busy,
    Unknown,
}

impl Word for Class {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("done", Self::Done),
        ("accepted", Self::Accepted),
        ("rejected", Self::Rejected),
        ("declined", Self::Declined),
        ("in_progress", Self::InProgress),
        ("already_exists", Self::AlreadyExists),
        ("mismatch", Self::Mismatch),
        ("busy", Self::Busy),
        ("unknown", Self::Unknown),
    ];
}

impl Word for LookupBy {
    const WORDS: &'static [(&'static str, Self)] =
        &[("reference", Self::Reference), ("key", Self::Key)];
}

/// The rules of a file, in order. `key` is the contract's, where it is known: a provider's own rules do not know it.
pub(crate) fn read(root: &Section<'_>, key: KeyIs<'_>, claims: &mut Claims) -> Rules {
    let list = root.get("answers").and_then(|node| node.list(false));
    let mut rules: Vec<Rule> = Vec::new();
    let mut all_read = true;
    for node in list.unwrap_or_default() {
        let Some(section) = node.section() else {
            all_read = false;
            continue;
        };
        claims.note(&section);
        let Some(rule) = Rule::read(&section, key, claims) else {
            all_read = false;
            continue;
        };
        if let Some(earlier) = rules.iter().position(|r| r.when.covers(&rule.when)) {
            let message = format!("is never reached: /answers/{earlier} holds for all of it");
            let remedy = "put it before that rule, or narrow that rule";
            node.error("matcher_unreachable", message, remedy);
        }
        rules.push(rule);
    }
    Rules { rules, all_read }
}

/// What a file's rules may rest on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum KeyIs<'a> {
    /// The operation's own key, or none.
    Known(Option<&'a Key>),
    /// There is one, and it could not be read: nothing that rests on it is complained about.
    Unreadable,
    /// Each operation has its own.
    PerOperation,
}

impl KeyIs<'_> {
    fn missing(self) -> bool {
        matches!(self, Self::Known(None))
    }

    fn is_only_a_name(self) -> bool {
        matches!(self, Self::Known(Some(key)) if key.repeat.is_none())
    }

    fn stores_refusals(self) -> bool {
        match self {
            Self::Known(Some(key)) => key.repeat.as_ref().is_some_and(|r| r.stored.refusals),
            Self::Known(None) | Self::Unreadable | Self::PerOperation => false,
        }
    }
}

impl Rule {
    fn read(section: &Section<'_>, key: KeyIs<'_>, claims: &Claims) -> Option<Self> {
        let when_node = section.need("when");
        let when = when_node.as_ref().and_then(conditions::when);
        let class_node = section.need("class");
        let class: Option<Class> = class_node.as_ref().and_then(Node::word);
        let outcome = class.map(|class| outcome(section, class, key, claims));
        if class.is_some() {
            section.end();
        }
        let (when, class, outcome) = (when?, class?, outcome??);
        if let (Some(when_node), Some(class_node)) = (when_node, class_node) {
            check_class(&class_node, class, key);
            check_proof(section, &when_node, &when, class, claims);
            check_stored(section, &when, class, key);
        }
        Some(Self { when, outcome })
    }

    pub(crate) fn accepts(&self) -> bool {
        matches!(self.outcome, Outcome::Accepted { .. })
    }

    pub(crate) fn accepts_without_object(&self) -> bool {
        matches!(self.outcome, Outcome::Accepted { object: None, .. })
    }

    pub(crate) fn is_in_progress(&self) -> bool {
        self.outcome == Outcome::InProgress
    }

    /// Whether success is read without comparing the answer with anything of ours.
    pub(crate) fn is_done_uncompared(&self) -> bool {
        match &self.outcome {
            Outcome::Done { ours, same, .. } => ours.is_none() && same.is_empty(),
            Outcome::Accepted { .. }
            | Outcome::Refused { .. }
            | Outcome::AlreadyExists { .. }
            | Outcome::InProgress
            | Outcome::Mismatch
            | Outcome::Busy
            | Outcome::Unknown { .. } => false,
        }
    }

    /// The word of its class.
    pub(crate) fn class_word(&self) -> &'static str {
        match &self.outcome {
            Outcome::Done { .. } => "done",
            Outcome::Accepted { .. } => "accepted",
            Outcome::Refused { declined, .. } => {
                if *declined {
                    "declined"
                } else {
                    "rejected"
                }
            }
            Outcome::AlreadyExists { .. } => "already_exists",
            Outcome::InProgress => "in_progress",
            Outcome::Mismatch => "mismatch",
            Outcome::Busy => "busy",
            Outcome::Unknown { .. } => "unknown",
        }
    }

    /// Whether the refusal that it reads is stored under the key; none if it reads no refusal of this kind.
    pub(crate) fn stores_refusal(&self, declines: bool) -> Option<bool> {
        match self.outcome {
            Outcome::Refused {
                declined, stored, ..
            } => (declined == declines).then_some(stored),
            Outcome::Done { .. }
            | Outcome::Accepted { .. }
            | Outcome::AlreadyExists { .. }
            | Outcome::InProgress
            | Outcome::Mismatch
            | Outcome::Busy
            | Outcome::Unknown { .. } => None,
        }
    }

    pub(crate) fn is_mismatch(&self) -> bool {
        self.outcome == Outcome::Mismatch
    }
}

fn outcome(
    section: &Section<'_>,
    class: Class,
    key: KeyIs<'_>,
    claims: &Claims,
) -> Option<Outcome> {
    Some(match class {
        Class::Done => {
            let (receipt, aliases, ours) = (receipt(section), aliases(section), ours(section));
            let same = Same::read(section);
            Outcome::Done {
                receipt: receipt?,
                aliases: aliases?,
                ours: ours?,
                same: same?,
            }
        }
        Class::Accepted => {
            let object = optional(section.get("object"), parts::take);
            let receipt = optional(section.get("receipt"), parts::take);
            Outcome::Accepted {
                object: object?,
                receipt: receipt?,
            }
        }
        Class::Rejected | Class::Declined => {
            let stored = stored(section, key, claims);
            let why = optional(section.get("why"), parts::exact_pointer);
            Outcome::Refused {
                declined: class == Class::Declined,
                stored: stored?,
                why: why?,
            }
        }
        Class::AlreadyExists => {
            let receipt = optional(section.get("receipt"), parts::take);
            let (ours, same) = (ours(section), Same::read(section));
            Outcome::AlreadyExists {
                receipt: receipt?,
                ours: ours?,
                same: same?,
            }
        }
        Class::InProgress => Outcome::InProgress,
        Class::Mismatch => Outcome::Mismatch,
        Class::Busy => Outcome::Busy,
        Class::Unknown => Outcome::Unknown {
            settled: section.flag("settled"),
        },
    })
}

fn aliases(section: &Section<'_>) -> Option<Vec<Pointer>> {
    match section.get("aliases") {
        Some(node) => node.list(true)?.iter().map(parts::exact_pointer).collect(),
        None => Some(Vec::new()),
    }
}

fn ours(section: &Section<'_>) -> Option<Option<Mark>> {
    optional(section.get("ours"), mark)
}

/// `{ in = take, with = "reference" }`
pub(crate) fn mark(node: &Node<'_>) -> Option<Mark> {
    let section = node.section()?;
    let take = section.need("in").and_then(|n| parts::take_any(&n));
    let with = section
        .get("with")
        .map_or(Some(LookupBy::Reference), |node| node.word());
    section.end();
    Some(Mark {
        take: take?,
        with: with?,
    })
}

/// Whether a refusal is stored under the key, so that it speaks for every request under it. What only hearsay says is not.
fn stored(section: &Section<'_>, key: KeyIs<'_>, claims: &Claims) -> Option<bool> {
    let relied = claims.relied_on("/key/repeat");
    let Some(node) = section.get("stored") else {
        return Some(key.stores_refusals() && relied);
    };
    let stored = node.flag()?;
    if stored && matches!(key, KeyIs::Known(None) | KeyIs::PerOperation) {
        let message = "needs a key to be stored under";
        node.error(
            "key_needed",
            message,
            "add [key] to this file, or write false",
        );
        return None;
    }
    // Elsewhere the promise that the key is recognised brings its own source.
    if stored && key.is_only_a_name() {
        claims.require(section, "", "that a refusal is stored");
    }
    Some(stored && (relied || claims.relied_on(section.path())))
}

fn check_class(node: &Node<'_>, class: Class, key: KeyIs<'_>) {
    if matches!(class, Class::InProgress | Class::Mismatch) && key.missing() {
        let message = "speaks of a key, and this operation sends none";
        node.error("key_needed", message, "add [key], or choose another class");
    }
}

/// Statuses that are also given after acting: too many requests, and every server error.
fn may_come_late(status: Option<&StatusSet>) -> bool {
    status.is_none_or(|set| set.meets(429, 429) || set.meets(500, 599))
}

/// Statuses that are usually given at the door, before a key is looked at.
fn before_the_key(status: Option<&StatusSet>) -> bool {
    let at_the_door = [
        (401, 401),
        (403, 408),
        (411, 411),
        (413, 415),
        (429, 431),
        (500, 599),
    ];
    let meets = |set: &StatusSet| at_the_door.iter().any(|(a, b)| set.meets(*a, *b));
    status.is_none_or(meets)
}

/// Where refusals are stored, one that is said at the door needs a word on whether it is.
fn check_stored(section: &Section<'_>, when: &When, class: Class, key: KeyIs<'_>) {
    let refuses = matches!(class, Class::Rejected | Class::Declined);
    let unclear = key.stores_refusals() && before_the_key(when.status.as_ref());
    if refuses && unclear && section.get("stored").is_none() {
        let message = "can be said before the key is looked at, so it may not be stored";
        let remedy = "write `stored = false`, or `stored = true` where that is known";
        section.error("stored", "stored_unclear", message, remedy);
    }
}

/// What success and refusal have to be read from.
fn check_proof(section: &Section<'_>, node: &Node<'_>, when: &When, class: Class, claims: &Claims) {
    let status = when.status.as_ref();
    match class {
        Class::Done | Class::Accepted => {
            if !status.is_some_and(|set| set.within(200, 299)) {
                let message = "reads success from a status that is not 2xx";
                let remedy = "name statuses within 2xx, or choose `already_exists` or `unknown`";
                node.error("success_status", message, remedy);
            }
        }
        Class::Rejected | Class::Declined | Class::Busy => {
            let by_status = when.by_status_alone();
            if by_status && status.is_some_and(|set| set.meets(200, 399)) {
                let message = "reads a refusal from a 2xx or 3xx alone";
                let remedy = "add a test of the body or of a header";
                node.error("refusal_proof", message, remedy);
            } else if by_status && !claims.relied_on(section.path()) {
                let message = "takes a status alone as proof that nothing happened";
                let remedy = "add a test of the body or of a header, or a source for it";
                node.error("refusal_proof", message, remedy);
            } else if may_come_late(status) && !claims.relied_on(section.path()) {
                let message = "takes an answer that can also follow the effect as proof of none";
                let remedy = "name statuses other than 429 and 5xx, or add a source for it";
                node.error("refusal_proof", message, remedy);
            } else if class != Class::Busy && !claims.relied_on(section.path()) {
                let message = "takes words of the answer as proof that nothing happened, and nobody stands behind them";
                let remedy = "add `source = …` to this rule or a [[claims]] about \"/answers\", or choose `unknown`";
                node.error("refusal_source", message, remedy);
            }
        }
        Class::InProgress | Class::AlreadyExists | Class::Mismatch | Class::Unknown => {}
    }
}
