//! Reading the answer to an effect request: an ordered list of rules, the first that holds decides, and unknown is what is left.
//!
//! A status alone never makes success where the contract wants a receipt, and never makes a refusal unless somebody stands
//! behind it: a refusal is proof that nothing happened.

use factum_core::Span;
use factum_core::evidence::{AnswerClass, Receipt};
use factum_core::promise::LookupBy;

use crate::claims::Claims;
use crate::contract::Contract;
use crate::http::HttpAnswer;
use crate::key::Key;
use crate::parts::{self, Take};
use crate::pointer::Pointer;
use crate::source::{Node, Section, Word};
use crate::when::{Seen, When};

/// What an answer says, in the contract's own terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// What it means.
    pub class: AnswerClass,
    /// The destination's own reference, where the answer carries one.
    pub receipt: Option<Receipt>,
    /// A stored answer, played again.
    pub replayed: bool,
    /// Not before this long, as the destination advises. Only seconds are read: an HTTP date needs a clock.
    pub retry_after: Option<Span>,
}

/// Our own marks, by which an answer is recognised as ours (R31).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ours<'a> {
    /// The reference that was written into the request.
    pub reference: Option<&'a str>,
    /// The key that was sent.
    pub key: Option<&'a str>,
}

/// One entry of `[[answers]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    when: When,
    outcome: Outcome,
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
enum Outcome {
    Done {
        receipt: Option<Take>,
        aliases: Vec<Pointer>,
        ours: Option<Same>,
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
        ours: Option<Same>,
    },
    InProgress,
    Mismatch,
    Busy,
    Unknown,
}

/// A member that has to equal one of our marks.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Same {
    take: Take,
    with: LookupBy,
}

/// The words for classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
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

/// For people; longer texts of a destination are cut.
const WHY_MAX: usize = 500;
/// Advice beyond this is not followed: 30 days.
const RETRY_AFTER_MAX: i64 = 30 * 86_400;

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
        let when = when_node.as_ref().and_then(parts::when);
        let class_node = section.need("class");
        let class: Option<Class> = class_node.as_ref().and_then(Node::word);
        let outcome = class.map(|class| outcome(section, class, key));
        if class.is_some() {
            section.end();
        }
        let (when, class, outcome) = (when?, class?, outcome??);
        if let (Some(when_node), Some(class_node)) = (when_node, class_node) {
            check_class(&class_node, class, key);
            check_proof(section, &when_node, &when, class, claims);
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

    pub(crate) fn is_mismatch(&self) -> bool {
        self.outcome == Outcome::Mismatch
    }
}

fn outcome(section: &Section<'_>, class: Class, key: KeyIs<'_>) -> Option<Outcome> {
    Some(match class {
        Class::Done => {
            let (receipt, aliases, ours) = (receipt(section), aliases(section), ours(section));
            Outcome::Done {
                receipt: receipt?,
                aliases: aliases?,
                ours: ours?,
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
            let stored = stored(section, key);
            let why = optional(section.get("why"), parts::exact_pointer);
            Outcome::Refused {
                declined: class == Class::Declined,
                stored: stored?,
                why: why?,
            }
        }
        Class::AlreadyExists => {
            let receipt = optional(section.get("receipt"), parts::take);
            let ours = ours(section);
            Outcome::AlreadyExists {
                receipt: receipt?,
                ours: ours?,
            }
        }
        Class::InProgress => Outcome::InProgress,
        Class::Mismatch => Outcome::Mismatch,
        Class::Busy => Outcome::Busy,
        Class::Unknown => Outcome::Unknown,
    })
}

/// A member that may be missing, and has to be right if it is there.
pub(crate) fn optional<'a, T>(
    node: Option<Node<'a>>,
    read: impl FnOnce(&Node<'a>) -> Option<T>,
) -> Option<Option<T>> {
    match node {
        Some(node) => read(&node).map(Some),
        None => Some(None),
    }
}

/// `receipt`: where it stands, or "none" where the destination gives none. It has to be said.
pub(crate) fn receipt(section: &Section<'_>) -> Option<Option<Take>> {
    let Some(node) = section.get("receipt") else {
        let remedy = "add `receipt = { json = \"/id\" }`, or `receipt = \"none\"` if there is none";
        let message = "does not say where the receipt stands";
        section.error("receipt", "receipt_missing", message, remedy);
        return None;
    };
    if node.value().as_str() == Some("none") {
        return Some(None);
    }
    parts::take(&node).map(Some)
}

fn aliases(section: &Section<'_>) -> Option<Vec<Pointer>> {
    match section.get("aliases") {
        Some(node) => node.list(true)?.iter().map(parts::exact_pointer).collect(),
        None => Some(Vec::new()),
    }
}

fn ours(section: &Section<'_>) -> Option<Option<Same>> {
    optional(section.get("ours"), |node| {
        let section = node.section()?;
        let take = section.need("in").and_then(|node| parts::take(&node));
        let with = section
            .get("with")
            .map_or(Some(LookupBy::Reference), |node| node.word());
        section.end();
        Some(Same {
            take: take?,
            with: with?,
        })
    })
}

fn stored(section: &Section<'_>, key: KeyIs<'_>) -> Option<bool> {
    let Some(node) = section.get("stored") else {
        return Some(key.stores_refusals());
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
    Some(stored)
}

fn check_class(node: &Node<'_>, class: Class, key: KeyIs<'_>) {
    if matches!(class, Class::InProgress | Class::Mismatch) && key.missing() {
        let message = "speaks of a key, and this operation sends none";
        node.error("key_needed", message, "add [key], or choose another class");
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
            if when.by_status_alone() && status.is_some_and(|set| set.meets(200, 399)) {
                let message = "reads a refusal from a 2xx or 3xx alone";
                let remedy = "add a test of the body or of a header";
                node.error("refusal_proof", message, remedy);
            } else if when.by_status_alone() && !claims.relied_on(section.path()) {
                let message = "takes a status alone as proof that nothing happened";
                let remedy = "add a test of the body or of a header, or a source for it";
                node.error("refusal_proof", message, remedy);
            }
        }
        Class::InProgress | Class::AlreadyExists | Class::Mismatch | Class::Unknown => {}
    }
}

impl Take {
    /// The value, if the answer has it.
    pub(crate) fn from(&self, seen: &Seen<'_>) -> Option<String> {
        let header = |name: &str| {
            let value = seen.answer.header(name).map(str::trim);
            value.filter(|value| !value.is_empty())
        };
        match self {
            Self::Json(pointer) => seen.text(pointer),
            Self::Header(name) => header(name).map(str::to_owned),
            Self::LastSegment(name) => {
                let path = header(name)?.split(['?', '#']).next()?;
                let (_, last) = path.trim_end_matches('/').rsplit_once('/')?;
                (!last.is_empty()).then(|| last.to_owned())
            }
        }
    }
}

impl Same {
    fn holds(&self, seen: &Seen<'_>, ours: &Ours<'_>) -> bool {
        let mark = match self.with {
            LookupBy::Reference => ours.reference,
            LookupBy::Key => ours.key,
        };
        mark.is_some_and(|mark| self.take.from(seen).as_deref() == Some(mark))
    }
}

impl Outcome {
    /// What the answer means; unknown where a required member is missing.
    fn apply(&self, seen: &Seen<'_>, marks: &Ours<'_>) -> (AnswerClass, Option<Receipt>) {
        let take = |take: &Option<Take>| take.as_ref().and_then(|take| take.from(seen));
        let unknown = (AnswerClass::Unknown, None);
        match self {
            Self::Done {
                receipt,
                aliases,
                ours,
            } => {
                let found = take(receipt);
                let lacks_receipt = receipt.is_some() && found.is_none();
                if lacks_receipt || ours.as_ref().is_some_and(|ours| !ours.holds(seen, marks)) {
                    return unknown;
                }
                let aliases = aliases.iter().filter_map(|at| seen.text(at)).collect();
                let receipt = found.map(|reference| Receipt { reference, aliases });
                (AnswerClass::Done, receipt)
            }
            Self::Accepted { object, receipt } => {
                let found = take(object);
                if object.is_some() && found.is_none() {
                    return unknown;
                }
                let receipt = take(receipt).map(Receipt::new);
                (AnswerClass::Accepted { object: found }, receipt)
            }
            Self::Refused {
                declined,
                stored,
                why,
            } => {
                let (stored, why) = (*stored, self::why(why.as_ref(), seen));
                let class = if *declined {
                    AnswerClass::Declined { stored, why }
                } else {
                    AnswerClass::Rejected { stored, why }
                };
                (class, None)
            }
            Self::AlreadyExists { receipt, ours } => {
                let ours = ours.as_ref().is_some_and(|ours| ours.holds(seen, marks));
                let receipt = take(receipt).map(Receipt::new);
                (AnswerClass::AlreadyExists { ours }, receipt)
            }
            Self::InProgress => (AnswerClass::InProgress, None),
            Self::Mismatch => (AnswerClass::Mismatch, None),
            Self::Busy => (AnswerClass::Busy, None),
            Self::Unknown => unknown,
        }
    }
}

/// The destination's words, or its status where it has none.
pub(crate) fn why(at: Option<&Pointer>, seen: &Seen<'_>) -> String {
    let words = at.and_then(|at| seen.text(at));
    let words = words.unwrap_or_else(|| format!("status {}", seen.answer.status));
    words.chars().take(WHY_MAX).collect()
}

impl Contract {
    /// What an answer to the effect request means, without our marks: an answer that the contract compares with our intent
    /// is then not recognised as ours.
    #[must_use]
    pub fn read_answer(&self, answer: &HttpAnswer) -> Reading {
        self.read_answer_to(answer, &Ours::default())
    }

    /// What an answer to the effect request that carried these marks means.
    #[must_use]
    pub fn read_answer_to(&self, answer: &HttpAnswer, ours: &Ours<'_>) -> Reading {
        let seen = Seen::new(answer);
        let mut rules = self.answers.iter().chain(&self.provider.answers);
        let rule = rules.find(|rule| rule.when.holds(&seen));
        let (class, receipt) = match rule {
            Some(rule) => rule.outcome.apply(&seen, ours),
            None => (AnswerClass::Unknown, None),
        };
        let repeat = self.key.as_ref().and_then(|key| key.repeat.as_ref());
        let replayed = repeat.and_then(|repeat| repeat.replayed.as_ref());
        Reading {
            class,
            receipt,
            replayed: replayed.is_some_and(|when| when.holds(&seen)),
            retry_after: retry_after(self.provider.retry_after.as_ref(), &seen),
        }
    }
}

/// Whole seconds, as RFC 9110 has them in `Retry-After`; in a member of the body a fraction is rounded up.
fn retry_after(take: Option<&Take>, seen: &Seen<'_>) -> Option<Span> {
    let text = match take {
        Some(take) => take.from(seen)?,
        None => seen.answer.header("retry-after")?.trim().to_owned(),
    };
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return None;
    }
    let up = i64::from(fraction.bytes().any(|byte| byte != b'0'));
    let seconds = whole.parse::<i64>().ok()?.saturating_add(up);
    Some(Span::from_secs(seconds.min(RETRY_AFTER_MAX)))
}
