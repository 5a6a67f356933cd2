//! What can be done about an effect afterwards, and what "done" means to the destination. For people and for pages, and for a
//! probe that cleans up: the engine decides nothing from it.

mod submission;

use std::collections::BTreeSet;

use factum_core::Span;

use crate::claims::Claims;
use crate::contract::Contract;
use crate::lookup::word;
use crate::parts::{self, optional};
use crate::provider;
use crate::repeat::words;
use crate::source::Section;

use submission::Submission;
pub use submission::UndoSubmission;

/// The section `[undo]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Undo {
    pub(crate) how: How,
    operation: Option<String>,
    within: Option<Span>,
    only_while: Option<String>,
    restorable_for: Option<Span>,
    leaves: Option<String>,
    /// What the operation is submitted with.
    submission: Option<Submission>,
}

words! {
    /// How an effect is undone.
    How {
        /// Not at all.
        None = "none",
        Cancel = "cancel",
        CancelByKey = "cancel_by_key",
        Refund = "refund",
        Reverse = "reverse",
        Delete = "delete",
        Close = "close",
        Archive = "archive",
        Redact = "redact",
    }
}

/// The section `[completion]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Completion {
    done_means: DoneMeans,
    then: Option<String>,
    reversible: Option<String>,
}

words! {
    /// What a destination's success stands for.
    DoneMeans {
        /// The effect has been carried out.
        Final = "final",
        /// It has been queued, and a completion follows.
        Queued = "queued",
        /// It has been taken down, and takes a further step to have any effect.
        Recorded = "recorded",
    }
}

/// How an effect can be undone, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoWay<'a> {
    /// The language's word: `none`, `cancel`, `refund`, …
    pub how: &'static str,
    /// The operation that does it, with a contract of its own.
    pub operation: Option<&'a str>,
    /// No later than this after the effect.
    pub within: Option<Span>,
    /// Only in this state of the object.
    pub only_while: Option<&'a str>,
    /// For this long it can be taken back again.
    pub restorable_for: Option<Span>,
    /// What stays visible.
    pub leaves: Option<&'a str>,
}

impl Undo {
    pub(crate) fn read(section: &Section<'_>, claims: &mut Claims) -> Option<Self> {
        claims.note(section);
        claims.require(section, "", "a way to undo");
        let how = section.need("how").and_then(|node| node.word());
        let operation = optional(section.get("operation"), provider::name);
        let within = optional(section.get("within"), parts::length);
        let only_while = section.words("only_while");
        let restorable_for = optional(section.get("restorable_for"), parts::length);
        let leaves = section.words("leaves");
        let submission = Submission::read(section);
        let undo = Self {
            how: how?,
            operation: operation?,
            within: within?,
            only_while,
            restorable_for: restorable_for?,
            leaves,
            submission: submission?,
        };
        if undo.how == How::None && undo.operation.is_some() {
            let message = "cannot be undone, and names an operation for it";
            section.error("operation", "undo", message, "leave it out, or say how");
        }
        if undo.operation.is_none() && undo.submission.is_some() {
            let message = "says what is submitted, and not to which operation";
            let remedy = "add `operation = …`, or leave `params` and `payload` out";
            section.error("", "undo", message, remedy);
        }
        Some(undo)
    }

    /// Places in the submission that nothing gives a value: the path of each, and its name.
    pub(crate) fn unknown_places(&self, params: &BTreeSet<String>) -> Vec<(String, &str)> {
        let submission = self.submission.as_ref();
        submission.map_or_else(Vec::new, |submission| submission.unknown(params))
    }
}

impl Completion {
    pub(crate) fn read(section: &Section<'_>, claims: &mut Claims) -> Option<Self> {
        claims.note(section);
        claims.require(section, "", "what success stands for");
        let done_means = section.need("done_means").and_then(|node| node.word());
        let then = optional(section.get("then"), provider::name);
        let reversible = section.words("reversible");
        let completion = Self {
            done_means: done_means?,
            then: then?,
            reversible,
        };
        if completion.done_means == DoneMeans::Recorded && completion.then.is_none() {
            let message = "takes a further step, and does not name it";
            let remedy = "add `then = …`, the operation that takes it";
            section.error("done_means", "completion", message, remedy);
        }
        Some(completion)
    }

    /// Whether what the destination calls success is only queued work.
    pub(crate) fn is_queued(&self) -> bool {
        self.done_means == DoneMeans::Queued
    }
}

impl Contract {
    /// How the effect can be undone, if the contract says so.
    #[must_use]
    pub fn undo(&self) -> Option<UndoWay<'_>> {
        self.undo.as_ref().map(|undo| UndoWay {
            how: word(undo.how),
            operation: undo.operation.as_deref(),
            within: undo.within,
            only_while: undo.only_while.as_deref(),
            restorable_for: undo.restorable_for,
            leaves: undo.leaves.as_deref(),
        })
    }

    /// What success stands for, in the language's word: `final`, `queued`, `recorded`; none where that is not stated.
    #[must_use]
    pub fn done_means(&self) -> Option<&'static str> {
        self.completion
            .as_ref()
            .map(|completion| word(completion.done_means))
    }

    /// The operation of the further step that gives what was recorded its effect.
    #[must_use]
    pub fn then(&self) -> Option<&str> {
        self.completion.as_ref()?.then.as_deref()
    }

    /// How an effect that exists can be undone later by others, in words: returns, disputes.
    #[must_use]
    pub fn reversible_after_done(&self) -> Option<&str> {
        self.completion.as_ref()?.reversible.as_deref()
    }
}
