//! What an answer states, read in one place each.

use crate::mistake::{Mistake, made};

use super::{AnswerClass, LookupAnswer};

/// A refusal for good, as an answer states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusal<'a> {
    /// It is stored under the key, and answers every later arrival too.
    pub(crate) stored: bool,
    /// In the destination's words.
    pub(crate) why: &'a str,
}

impl AnswerClass {
    const NOTHING: Self = Self::Unknown;
    const QUEUED_UNNAMED: Self = Self::Accepted { object: None };

    /// What two readings of one answer have in common: never more than either says (R17). Associative and commutative, so
    /// that any number of corrections in any order read the same.
    #[must_use]
    pub fn weaker<'a>(&'a self, other: &'a Self) -> &'a Self {
        use AnswerClass as C;
        match (self, other) {
            (C::Done, C::Done) => self,
            (C::Done, C::Accepted { .. }) => other,
            (C::Accepted { .. }, C::Done) => self,
            (C::Accepted { object: a }, C::Accepted { object: b }) if a == b => self,
            (C::Accepted { .. }, C::Accepted { .. }) => &Self::QUEUED_UNNAMED,
            // `stored: false` sorts before `stored: true`, and is the weaker claim.
            (C::Rejected { .. }, C::Rejected { .. })
            | (C::Declined { .. }, C::Declined { .. })
            | (C::AlreadyExists { .. }, C::AlreadyExists { .. }) => self.min(other),
            (C::InProgress, C::InProgress)
            | (C::Mismatch, C::Mismatch)
            | (C::Busy, C::Busy)
            | (C::Unknown, C::Unknown) => self,
            (
                C::Done
                | C::Accepted { .. }
                | C::Rejected { .. }
                | C::Declined { .. }
                | C::InProgress
                | C::AlreadyExists { .. }
                | C::Mismatch
                | C::Busy
                | C::Unknown,
                _,
            ) => &Self::NOTHING,
        }
    }

    /// The refusal that it states, declined or rejected.
    pub(crate) fn refusal(&self) -> Option<Refusal<'_>> {
        match self {
            Self::Rejected { stored, why } | Self::Declined { stored, why } => Some(Refusal {
                stored: *stored,
                why,
            }),
            Self::Done
            | Self::Accepted { .. }
            | Self::InProgress
            | Self::AlreadyExists { .. }
            | Self::Mismatch
            | Self::Busy
            | Self::Unknown => None,
        }
    }

    /// If it was accepted: the destination's name for the queued work, where it gave one.
    pub(crate) fn accepted(&self) -> Option<Option<&str>> {
        match self {
            Self::Accepted { object } => Some(object.as_deref()),
            Self::Done
            | Self::Rejected { .. }
            | Self::Declined { .. }
            | Self::InProgress
            | Self::AlreadyExists { .. }
            | Self::Mismatch
            | Self::Busy
            | Self::Unknown => None,
        }
    }
}

impl LookupAnswer {
    /// As it is to be recorded: while the account behind the credential is in doubt, absence says nothing (R13). Whoever
    /// records a lookup passes its answer through here.
    #[must_use]
    pub fn unless_in_doubt(self, account_in_doubt: bool) -> Self {
        match self {
            Self::Absent if account_in_doubt && !made(Mistake::AccountInDoubtIgnored) => {
                Self::Inconclusive {
                    why: "the credential changed and the account is not confirmed".to_owned(),
                }
            }
            Self::Absent | Self::Found(_) | Self::Queued { .. } | Self::Inconclusive { .. } => self,
        }
    }
}
