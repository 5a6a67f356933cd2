//! The decision-relevant part of an action: what is fixed at submission and never changes.

use crate::bound::Bound;
use crate::id::ActionId;
use crate::mistake::{Mistake, made};
use crate::promise::Promises;
use crate::retry::Backoff;
use crate::time::{Span, Timestamp};

/// What decisions about an action rest on, fixed at submission. Content lives elsewhere; no decision reads it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Intent {
    /// The action.
    pub action: ActionId,
    /// When it was recorded.
    pub submitted_at: Timestamp,
    /// When the caller formed the intent, as the caller says.
    pub intent_at: Option<Timestamp>,
    /// No send before this.
    pub not_before: Option<Timestamp>,
    /// No effect request from this on (R10).
    pub deadline: Option<Timestamp>,
    /// The approval ends here; no effect request from then on.
    pub approved_until: Option<Timestamp>,
    /// The operation asks that a started action be finished by `same_key` even past the deadline (R10).
    pub finish: bool,
    /// What to do where nothing can be found out.
    pub preference: Preference,
    /// Times and counts.
    pub limits: Limits,
    /// The contract as it was at submission.
    pub promises: Promises,
}

impl Intent {
    /// No effect request from this instant on: the earlier of the deadline and the end of the approval (R10).
    #[must_use]
    pub fn sends_end_at(&self) -> Timestamp {
        let approval = self
            .approved_until
            .filter(|_| !made(Mistake::ApprovalEndIgnored));
        let ends = [self.deadline, approval];
        if made(Mistake::SentAfterDeadline) {
            return Timestamp::NEVER;
        }
        ends.into_iter().flatten().min().unwrap_or(Timestamp::NEVER)
    }
}

/// Set per operation by a person, recorded on the action: what to do about an unknown where nothing can be found out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Preference {
    /// A person decides.
    #[default]
    Ask,
    /// End the search: rather missing than twice.
    PreferMissing {
        /// Who set it, and why.
        by: String,
    },
    /// Send again: rather twice than missing.
    PreferDuplicate {
        /// Who set it, and why.
        by: String,
    },
}

/// Times and counts that bound one action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Limits {
    /// From the mark to the first byte at the longest.
    pub send_wait: Span,
    /// From the first byte written to the last byte of the answer read, at the longest.
    pub answer_wait: Span,
    /// Write limit, linger, pause margin, skew.
    pub bound: Bound,
    /// Delays between attempts and between questions.
    pub backoff: Backoff,
    /// Marked attempts at the most.
    pub attempts_max: u32,
    /// Questions (lookups) without a conclusive answer at the most.
    pub lookups_max: u32,
    /// Polls of one accepted attempt at the most.
    pub polls_max: u32,
    /// Cancels by key at the most.
    pub cancels_max: u32,
    /// How long a promised callback is waited for after the last word of an attempt; then the destination is asked, or a
    /// person.
    pub callback_wait: Span,
}

impl Limits {
    /// How long a mark is leased: everything an attempt may take, and a little for storing its evidence.
    #[must_use]
    pub fn lease(&self) -> Span {
        self.send_wait + self.bound.write_limit + self.answer_wait + Span::from_secs(5)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            send_wait: Span::from_secs(5),
            answer_wait: Span::from_secs(30),
            bound: Bound {
                write_limit: Span::from_secs(10),
                linger: Span::from_secs(5),
                pause_margin: Span::from_secs(30),
                skew: Span::from_secs(2),
            },
            backoff: Backoff {
                base: Span::from_secs(1),
                cap: Span::from_secs(300),
            },
            attempts_max: 20,
            lookups_max: 20,
            polls_max: 200,
            cancels_max: 5,
            callback_wait: Span::from_secs(86_400),
        }
    }
}
