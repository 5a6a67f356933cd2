//! The state: what the evidence so far supports. Derived, never asserted, and the same for any order of the same records.

mod positive;

use crate::evidence::{
    AnswerClass, Callback, LookupAnswer, Mark, Order, PermissionKind, Receipt, Ruling,
};
use crate::id::AttemptNo;
use crate::intent::Intent;
use crate::known::{Attempt, Known};
use crate::mistake::{Mistake, made};
use crate::promise::Promises;
use crate::proof::{Proof, Reader};
use crate::time::Timestamp;

use self::positive::{Positive, duplicates};

/// What the evidence supports about one action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// Recorded; nothing has been sent.
    ///
    /// Enter: the action is recorded. Evidence held: none of a send. Leave: a mark, a cancel, the deadline.
    Pending,
    /// The first unresolved attempt is open, within its lease.
    ///
    /// Enter: a mark. Evidence held: the mark. Leave: any word of the attempt, or its lease running out.
    Dispatching,
    /// The destination took it and has not confirmed its completion.
    ///
    /// Enter: an answer or lookup that says "queued". Leave: a poll, a callback or a lookup that says how it ended.
    Accepted,
    /// The effect exists.
    ///
    /// Enter: a receipt, a lookup that recognises it, or a person's verdict. Leave: only by a correction.
    Succeeded,
    /// Proven that nothing has happened so far; another attempt is due.
    ///
    /// Enter: every marked attempt is proven to have had no effect. Leave: the next mark, or an end.
    RetryableFailure,
    /// Declined, or given up, with proof that nothing happened.
    ///
    /// Enter: a refusal that is final, or the bound on attempts. Leave: only by later positive evidence (`revised`).
    TerminalFailure,
    /// A request may have taken effect.
    ///
    /// Enter: an attempt ended, or its lease did, without word. Leave: a receipt, a lookup, a callback, a verdict, proof.
    OutcomeUnknown,
    /// Withdrawn, with proof that nothing happened.
    ///
    /// Enter: a cancel or lost authority, while nothing has happened. Leave: only by later positive evidence.
    Cancelled,
    /// The deadline passed, with proof that nothing happened.
    ///
    /// Enter: `deadline_passed` or `approval_over`, while nothing has happened. Leave: only by later positive evidence.
    Expired,
}

/// Whether the effect exists, as far as is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Happened {
    /// It exists.
    Yes,
    /// It does not, and nothing more will be sent.
    No,
    /// It does not, so far.
    NotYet,
    /// That cannot be told.
    Unknown,
}

/// Who ended a search, and why.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Closed {
    /// A person, or the preference that was set before submission.
    pub by: String,
    /// In their words.
    pub why: String,
    /// When.
    pub at: Timestamp,
}

/// The state and what belongs to it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Status {
    /// What the evidence supports.
    pub state: State,
    /// The destination's reference, where there is one.
    pub receipt: Option<Receipt>,
    /// Every effect that was seen, if there is more than one.
    pub duplicates: Vec<Receipt>,
    /// It was settled otherwise before.
    pub revised: bool,
    /// The effect existed and was undone later.
    pub reversed: bool,
    /// A person's verdict and the destination's evidence disagree.
    pub contradicted: bool,
    /// A new identity cannot make a second effect.
    pub safe_to_call_again: bool,
    /// The search was ended without an answer.
    pub closed: Option<Closed>,
    /// Why it ended as it did, in the destination's or a person's words.
    pub because: Option<String>,
}

impl State {
    /// All nine.
    pub const ALL: [Self; 9] = [
        Self::Pending,
        Self::Dispatching,
        Self::Accepted,
        Self::Succeeded,
        Self::RetryableFailure,
        Self::TerminalFailure,
        Self::OutcomeUnknown,
        Self::Cancelled,
        Self::Expired,
    ];

    /// The word that every interface and both stores use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Dispatching => "dispatching",
            Self::Accepted => "accepted",
            Self::Succeeded => "succeeded",
            Self::RetryableFailure => "retryable_failure",
            Self::TerminalFailure => "terminal_failure",
            Self::OutcomeUnknown => "outcome_unknown",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
        }
    }

    /// The state of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

    /// Whether the effect exists, as far as this state tells.
    #[must_use]
    pub fn happened(self) -> Happened {
        match self {
            Self::Pending | Self::RetryableFailure => Happened::NotYet,
            Self::Dispatching | Self::Accepted | Self::OutcomeUnknown => Happened::Unknown,
            Self::Succeeded => Happened::Yes,
            Self::TerminalFailure | Self::Cancelled | Self::Expired => Happened::No,
        }
    }

    /// Final for now: nothing is scheduled. (A closed unknown is settled too; see [`Status::is_settled`].)
    #[must_use]
    pub fn is_final(self) -> bool {
        match self {
            Self::Succeeded | Self::TerminalFailure | Self::Cancelled | Self::Expired => true,
            Self::Pending
            | Self::Dispatching
            | Self::Accepted
            | Self::RetryableFailure
            | Self::OutcomeUnknown => false,
        }
    }
}

impl Happened {
    /// The word that every interface uses.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::NotYet => "not_yet",
            Self::Unknown => "unknown",
        }
    }
}

impl Status {
    /// Final for now, or a closed unknown.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.state.is_final() || self.closed.is_some()
    }

    /// More than one effect was seen.
    #[must_use]
    pub fn duplicate_suspected(&self) -> bool {
        !self.duplicates.is_empty()
    }
}

impl Known {
    /// What the evidence supports, under the contract that is pinned in the intent.
    #[must_use]
    pub fn status(&self, intent: &Intent) -> Status {
        self.status_under(intent, &intent.promises.clone().without(self.missing))
    }

    /// The same under other promises: permissions rest on the stricter of the pinned and the current contract.
    pub(crate) fn status_under(&self, intent: &Intent, promises: &Promises) -> Status {
        Reader {
            intent,
            known: self,
            promises,
        }
        .status()
    }
}

/// What follows as long as no positive evidence counts.
struct Negative {
    state: State,
    because: Option<String>,
    safe: bool,
}

impl<'a> Reader<'a> {
    fn status(&self) -> Status {
        let negative = self.negative();
        let (counted, blocked) = self.positives();
        let deaf = made(Mistake::SettledIsFinal) && negative.state.is_final();
        let destination: Vec<&Positive> =
            counted.iter().filter(|p| !p.by_person && !deaf).collect();
        let person = counted.iter().find(|p| p.by_person);
        let ruled_out = self
            .known
            .standing_verdicts()
            .any(|(_, v)| v.ruling == Ruling::DidNotHappen);
        let disproved =
            person.is_some() && destination.is_empty() && (ruled_out || self.all_disproved());

        let succeeded = !destination.is_empty() || (person.is_some() && !disproved);
        let state = match (succeeded, disproved || blocked) {
            (true, _) => State::Succeeded,
            (false, true) => State::OutcomeUnknown,
            (false, false) => negative.state,
        };
        let receipt = destination
            .iter()
            .find_map(|p| p.receipt)
            .or_else(|| person.and_then(|p| p.receipt));
        Status {
            state,
            receipt: receipt.filter(|_| succeeded).cloned(),
            duplicates: duplicates(&destination),
            revised: self.weakened() || (succeeded && negative.state.is_final()),
            reversed: self
                .known
                .callbacks
                .values()
                .any(|c| matches!(c, Callback::Reversed { .. })),
            contradicted: disproved || (ruled_out && !destination.is_empty()),
            safe_to_call_again: negative.safe && state == negative.state && state.is_final(),
            closed: if state.is_final() {
                None
            } else {
                self.closed()
            },
            because: if succeeded { None } else { negative.because },
        }
    }

    /// Whether an answer said "the effect exists" until a corrected contract read it as less (R17).
    fn weakened(&self) -> bool {
        let positive = |class: &AnswerClass| {
            matches!(
                class,
                AnswerClass::Done | AnswerClass::AlreadyExists { ours: true }
            )
        };
        self.known
            .attempts
            .values()
            .flat_map(|attempt| self.known.read_answers(attempt))
            .any(|(answer, class)| positive(&answer.class) && !positive(class))
    }

    /// Attempts that may have had an effect, as far as proof goes.
    pub(crate) fn uncleared(&self) -> Vec<(&'a Mark, &'a Attempt)> {
        self.known
            .marks()
            .filter(|(mark, attempt)| self.proof(mark, attempt).is_none())
            .collect()
    }

    /// Every attempt is disproved by evidence, a person's word aside.
    fn all_disproved(&self) -> bool {
        let proofs: Vec<_> = self
            .known
            .marks()
            .map(|(mark, attempt)| self.proof(mark, attempt))
            .collect();
        !proofs.is_empty()
            && !self.unrecorded_open()
            && proofs
                .into_iter()
                .all(|p| p.is_some_and(Proof::is_evidence))
    }

    fn negative(&self) -> Negative {
        let uncleared = self.uncleared();
        if uncleared.is_empty() && !self.unrecorded_open() {
            return self.nothing_happened();
        }
        let open = |state| Negative {
            state,
            because: None,
            safe: false,
        };
        if self.closed().is_some() {
            return open(State::OutcomeUnknown);
        }
        if self.accepted().is_some() {
            return open(State::Accepted);
        }
        match uncleared[..] {
            [(_, only)] if !self.unrecorded_open() && self.known.is_open(only) => {
                open(State::Dispatching)
            }
            _ => open(State::OutcomeUnknown),
        }
    }

    /// The state where it is certain that nothing has happened.
    fn nothing_happened(&self) -> Negative {
        let ends = &self.known.ends;
        let marked = self.known.attempts_marked() > 0;
        let recorded = self.known.marks().all(|(mark, attempt)| {
            self.proof(mark, attempt)
                .is_some_and(Proof::allows_calling_again)
        });
        let safe = recorded && (self.known.restored.is_none() || self.unrecorded_absent());
        let end = |state, because: Option<&str>| Negative {
            state,
            because: because.map(str::to_owned),
            safe,
        };
        if let Some((_, why)) = &ends.not_admitted {
            return end(State::TerminalFailure, Some(why));
        }
        if self.known.open_reviews().next().is_some() || self.closed().is_some() {
            return Negative {
                state: State::OutcomeUnknown,
                because: None,
                safe: false,
            };
        }
        if self.known.unused_order().is_none() {
            if let Some(why) = self.final_refusal() {
                return end(State::TerminalFailure, Some(why));
            }
            if self.is_ruled_out() {
                // What a reviewer wrote is for operators, who find it in the log.
                return end(State::TerminalFailure, None);
            }
        }
        if let Some((_, why)) = ends
            .cancel_requested
            .as_ref()
            .or(ends.authority_lost.as_ref())
        {
            return end(State::Cancelled, Some(why));
        }
        if ends.deadline_passed || ends.approval_over {
            let why = if ends.deadline_passed {
                "the deadline passed"
            } else {
                "the approval ran out"
            };
            return end(State::Expired, Some(why));
        }
        if ends.gave_up.is_some() {
            return end(
                State::TerminalFailure,
                Some("given up after as many attempts as are allowed"),
            );
        }
        end(
            if marked {
                State::RetryableFailure
            } else {
                State::Pending
            },
            None,
        )
    }

    /// The reason of a refusal for good by the destination, not older than a person's order to send again.
    fn final_refusal(&self) -> Option<&'a str> {
        let ordered = self
            .known
            .marks()
            .filter(|(mark, _)| {
                matches!(mark.permission, PermissionKind::Ordered(Order::Verdict(_)))
            })
            .map(|(mark, _)| mark.attempt)
            .max();
        self.known
            .attempts
            .iter()
            .filter(|(no, _)| ordered.is_none_or(|o| **no >= o))
            .find_map(|(_, attempt)| {
                let answered = self
                    .known
                    .read_answers(attempt)
                    .find_map(|(_, class)| class.refusal().map(|refusal| refusal.why));
                answered.or_else(|| self.queued_work_failed(attempt))
            })
    }

    /// Whether a person says that it did not happen.
    fn is_ruled_out(&self) -> bool {
        let mut verdicts = self.known.standing_verdicts();
        !made(Mistake::VerdictIsProof)
            && verdicts.any(|(_, verdict)| verdict.ruling == Ruling::DidNotHappen)
    }

    /// The attempt whose work is queued at the destination, and the name of that work there.
    pub(crate) fn accepted(&self) -> Option<(AttemptNo, Option<&'a str>)> {
        let answered = self.uncleared().into_iter().find_map(|(mark, attempt)| {
            self.known
                .read_answers(attempt)
                .find_map(|(_, class)| class.accepted().map(|object| (mark.attempt, object)))
        });
        answered.or_else(|| {
            let (_, latest) = self
                .known
                .lookups
                .values()
                .max_by_key(|(_, lookup)| lookup.asked_at)?;
            let LookupAnswer::Queued { object } = &latest.answer else {
                return None;
            };
            let (mark, _) = self.uncleared().into_iter().next_back()?;
            Some((mark.attempt, object.as_deref()))
        })
    }

    fn closed(&self) -> Option<Closed> {
        let person = self
            .known
            .standing_verdicts()
            .find(|(_, verdict)| verdict.ruling == Ruling::CannotBeKnown)
            .map(|(_, verdict)| Closed {
                by: verdict.by.clone(),
                why: verdict.why.clone(),
                at: verdict.at,
            });
        person.or_else(|| {
            let (_, why, at) = self.known.standing_ends().next()?;
            Some(Closed {
                by: "prefer_missing".to_owned(),
                why: why.to_owned(),
                at,
            })
        })
    }
}
