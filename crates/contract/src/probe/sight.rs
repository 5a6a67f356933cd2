//! What was seen in an experiment: answers as the contract reads them, what lookups showed and when.

use std::collections::BTreeSet;

use factum_core::Span;
use factum_core::evidence::{AnswerClass, CancelAnswer, PollAnswer};

use crate::answers::Reading;
use crate::http::HttpAnswer;

/// One thing that was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sight {
    /// An effect request that makes something, under this mark.
    Sent {
        mark: usize,
        what: &'static str,
        outcome: Sent,
    },
    /// A cancel by the key of this mark.
    Cancelled { mark: usize, answer: CancelAnswer },
    /// How queued work ended, as far as it was followed.
    Followed {
        mark: usize,
        answer: Option<PollAnswer>,
    },
    /// What the lookup showed of this mark.
    Looked(Looked),
    /// This time passed.
    Waited(Span),
    /// The person did not want a request sent.
    Declined,
}

/// How an effect request ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// It was answered.
    Answered(Box<Answered>),
    /// No whole answer came.
    Lost(String),
    /// Nothing left.
    Unsent(String),
}

/// An answer, as far as the judgement needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answered {
    pub(super) status: u16,
    pub(super) reading: Reading,
    pub(super) body: Vec<u8>,
}

/// Repeated reads of one mark.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Looked {
    pub(super) mark: usize,
    /// How long after the effect's answer the read was asked that showed it; zero where the first one did.
    pub(super) shown_after: Option<Span>,
    /// How long after the effect's answer the last read was asked that conclusively did not show it.
    pub(super) absent_at: Option<Span>,
    /// What it shows: receipts.
    pub(super) receipts: Vec<String>,
    /// It showed that work is queued.
    pub(super) queued: bool,
    pub(super) reads: u32,
    /// Why the last read said nothing, where it did.
    pub(super) inconclusive: Option<String>,
}

impl Sent {
    pub(super) fn of(answer: &HttpAnswer, reading: Reading) -> Self {
        Self::Answered(Box::new(Answered {
            status: answer.status,
            reading,
            body: answer.body.clone(),
        }))
    }

    pub(super) fn answered(&self) -> Option<&Answered> {
        match self {
            Self::Answered(answered) => Some(answered),
            Self::Lost(_) | Self::Unsent(_) => None,
        }
    }

    pub(super) fn class(&self) -> Option<&AnswerClass> {
        self.answered().map(|answered| &answered.reading.class)
    }

    /// Whether it says that something was made, or will be.
    pub(super) fn made(&self) -> bool {
        matches!(
            self.class(),
            Some(AnswerClass::Done | AnswerClass::Accepted { .. })
        )
    }

    /// For people.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Lost(why) => format!("no answer ({why})"),
            Self::Unsent(why) => format!("not sent ({why})"),
            Self::Answered(answered) => answered.shown(),
        }
    }
}

impl Answered {
    /// The names of what it tells of: `receipt` and `object` are different kinds of names.
    pub(super) fn names(&self) -> Names {
        let object = match &self.reading.class {
            AnswerClass::Accepted { object } => object.clone(),
            AnswerClass::Done
            | AnswerClass::Rejected { .. }
            | AnswerClass::Declined { .. }
            | AnswerClass::InProgress
            | AnswerClass::AlreadyExists { .. }
            | AnswerClass::Mismatch
            | AnswerClass::Busy
            | AnswerClass::Unknown => None,
        };
        let receipt = self.reading.receipt.as_ref().map(|r| r.reference.clone());
        Names {
            receipts: receipt.into_iter().collect(),
            objects: object.into_iter().collect(),
        }
    }

    pub(super) fn shown(&self) -> String {
        let mark = if self.reading.replayed {
            ", marked as played again"
        } else {
            ""
        };
        let names = self.names();
        let named = names.receipts.iter().chain(&names.objects).next();
        let named = named.map_or_else(String::new, |name| format!(" {name}"));
        format!(
            "{}{named} (status {}{mark})",
            self.reading.class.name(),
            self.status
        )
    }
}

/// The names by which effects are told apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Names {
    pub(super) receipts: BTreeSet<String>,
    pub(super) objects: BTreeSet<String>,
}

/// Whether two answers tell of one effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Same {
    Yes,
    No,
    /// They have no kind of name in common.
    Unclear,
}

impl Names {
    pub(super) fn same(&self, other: &Self) -> Same {
        let meets = |a: &BTreeSet<String>, b: &BTreeSet<String>| !a.is_disjoint(b);
        let both = |a: &BTreeSet<String>, b: &BTreeSet<String>| !a.is_empty() && !b.is_empty();
        if meets(&self.receipts, &other.receipts) || meets(&self.objects, &other.objects) {
            Same::Yes
        } else if both(&self.receipts, &other.receipts) || both(&self.objects, &other.objects) {
            Same::No
        } else {
            Same::Unclear
        }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.receipts.extend(other.receipts);
        self.objects.extend(other.objects);
    }
}
