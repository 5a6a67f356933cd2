//! Proof that a marked request had no effect: which records speak for which attempts, and from when on.

use crate::evidence::{
    AnswerClass, Callback, CancelAnswer, LookupAnswer, Mark, PollAnswer, Ruling,
};
use crate::id::Epoch;
use crate::intent::Intent;
use crate::known::{Attempt, Cancel, Known};
use crate::mistake::{Mistake, made};
use crate::promise::{Authority, LookupBy, Promises};
use crate::time::Timestamp;

/// Why it is certain that an attempt had no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Proof {
    /// No byte of it left, counted on our side of the socket.
    OurSide,
    /// A refusal that is stored under the key answers every arrival of it.
    StoredRefusal,
    /// A complete, authoritative lookup, asked late enough, found nothing.
    Lookup,
    /// A confirmed cancel by key, after which later arrivals are refused.
    CancelForGood,
    /// A confirmed cancel by key, asked late enough and while the key was known.
    Cancel,
    /// The destination refused this very attempt.
    OwnRefusal,
    /// The queued work of this attempt ended without effect.
    QueuedWorkFailed,
    /// A person's word. It settles, and it is no proof (R15).
    Verdict,
}

impl Proof {
    /// Strong enough to call again under a new identity (R7).
    pub(crate) fn allows_calling_again(self) -> bool {
        match self {
            Self::OurSide | Self::StoredRefusal | Self::Lookup | Self::CancelForGood => true,
            Self::Cancel | Self::OwnRefusal | Self::QueuedWorkFailed | Self::Verdict => {
                made(Mistake::AnyProofAllowsCalling)
            }
        }
    }

    /// Stands on the destination's or our own evidence, not on a person's word.
    pub(crate) fn is_evidence(self) -> bool {
        self != Self::Verdict
    }
}

/// The evidence of one action, read under one set of promises.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    pub(crate) intent: &'a Intent,
    pub(crate) known: &'a Known,
    pub(crate) promises: &'a Promises,
}

impl<'a> Reader<'a> {
    /// The best proof that this attempt had no effect.
    pub(crate) fn proof(&self, mark: &Mark, attempt: &Attempt) -> Option<Proof> {
        if attempt.not_sent || self.taken_as_not_sent(mark, attempt) {
            return Some(Proof::OurSide);
        }
        let proofs = [
            self.stored_refusal_in(mark.epoch)
                .then_some(Proof::StoredRefusal),
            self.absent_after(mark, attempt).then_some(Proof::Lookup),
            self.cancelled(mark, attempt),
            self.refused(attempt).then_some(Proof::OwnRefusal),
            self.queued_work_failed(attempt)
                .filter(|_| self.speaks_for_every_delivery())
                .map(|_| Proof::QueuedWorkFailed),
            self.ruled_out(mark, attempt).then_some(Proof::Verdict),
        ];
        proofs.into_iter().flatten().min()
    }

    /// What only a mistake takes as proof that nothing left.
    fn taken_as_not_sent(&self, mark: &Mark, attempt: &Attempt) -> bool {
        (attempt.lease_over && made(Mistake::LeaseOverIsPending))
            || (!attempt.losses.is_empty() && made(Mistake::TimeoutIsFailure))
            || (self.known.gone.contains_key(&mark.worker) && made(Mistake::GoneIsNotSent))
    }

    /// From when on the attempt can no longer take effect. A complete answer that the contract can read ends it, unless it
    /// says that the work is queued; an unreadable one (a gateway's 504) does not, since the destination may still be
    /// working behind it. Where the path may have delivered it twice, an answer only says that our own side is done with it.
    pub(crate) fn lands_by(&self, mark: &Mark, attempt: &Attempt) -> Option<Timestamp> {
        let read = self
            .known
            .read_answers(attempt)
            .filter(|(_, class)| ends_the_request(class))
            .map(|(answer, _)| answer.read_at)
            .min();
        let closed = self.known.closed_at(attempt);
        let (read, closed) = if self.speaks_for_every_delivery() {
            (read, closed)
        } else {
            (None, [read, closed].into_iter().flatten().min())
        };
        let counted_from = if made(Mistake::LimitCountedFromMark) {
            mark.at
        } else {
            mark.valid_until
        };
        let bound = mark
            .bound
            .lands_by(counted_from, closed, self.promises.processing_max);
        let over = match (read, bound) {
            (Some(read), Some(bound)) => Some(read.min(bound)),
            (read, bound) => read.or(bound),
        };
        // Instants of a worker's own clock never date the end of a request before its mark.
        over.map(|over| over.max(mark.at))
    }

    /// From when on nothing that the restored copy does not know of can take effect any more.
    pub(crate) fn unrecorded_lands_by(&self) -> Option<Timestamp> {
        let limits = &self.intent.limits;
        let restored = self.known.restored?;
        limits.bound.lands_by(
            restored.at + limits.send_wait,
            None,
            self.promises.processing_max,
        )
    }

    /// Whether a restore left open that more was sent than is recorded.
    pub(crate) fn unrecorded_open(&self) -> bool {
        if made(Mistake::RestoredIsFirst) {
            return false;
        }
        let Some(over) = self.unrecorded_over_for_a_person() else {
            return false;
        };
        let by_person = self.known.clock.is_some_and(|clock| clock > over)
            && self
                .known
                .standing_verdicts()
                .any(|(_, verdict)| verdict.ruling == Ruling::DidNotHappen);
        !self.unrecorded_absent() && !by_person
    }

    /// A lookup by the epoch-free reference showed that nothing unrecorded exists.
    pub(crate) fn unrecorded_absent(&self) -> bool {
        self.unrecorded_lands_by()
            .is_some_and(|lands| self.absent_by_reference(lands))
    }

    /// From when on a person's word counts for what a restored copy does not know of; `None` without a restore.
    pub(crate) fn unrecorded_over_for_a_person(&self) -> Option<Timestamp> {
        let limits = &self.intent.limits;
        let restored = self.known.restored?;
        Some(self.unrecorded_lands_by().unwrap_or(
            restored.at
                + limits.send_wait
                + limits.bound.write_limit
                + limits.bound.pause_margin
                + limits.bound.linger
                + limits.bound.skew,
        ))
    }

    /// From when on a person's word counts for this attempt: once it can no longer land, or, where nothing bounds the
    /// destination's work, once no byte of it can still be on its way (R15).
    pub(crate) fn over_for_a_person(&self, mark: &Mark, attempt: &Attempt) -> Timestamp {
        self.lands_by(mark, attempt).unwrap_or(
            mark.valid_until
                + mark.bound.write_limit
                + mark.bound.pause_margin
                + mark.bound.linger
                + mark.bound.skew,
        )
    }

    /// The earliest instant at which a request of this epoch may have arrived.
    pub(crate) fn first_arrival(&self, epoch: Epoch) -> Option<Timestamp> {
        let marked = self
            .known
            .marks()
            .filter(|(mark, _)| mark.epoch == epoch)
            .map(|(mark, _)| mark.at);
        let marked = if made(Mistake::WindowFromTheLatest) {
            marked.max()
        } else {
            marked.min()
        };
        match self.known.restored {
            None => marked,
            Some(_) if made(Mistake::ArrivalFromTheCopy) && marked.is_some() => marked,
            Some(restored) => {
                let unrecorded = restored.first_arrival?;
                Some(marked.map_or(unrecorded, |at| at.min(unrecorded)))
            }
        }
    }

    /// A refusal stored under the key of this epoch: whatever arrives under it gets this answer, so nothing exists there.
    fn stored_refusal_in(&self, epoch: Epoch) -> bool {
        let in_epoch = self.known.marks().filter(|(mark, _)| mark.epoch == epoch);
        let mut answers = in_epoch.flat_map(|(_, attempt)| self.known.read_answers(attempt));
        answers.any(|(_, class)| {
            class
                .refusal()
                .is_some_and(|refusal| refusal.stored || made(Mistake::RefusalClearsEarlier))
        })
    }

    /// Refused before doing anything. Where the path may repeat a request, the refusal of an unkeyed one proves nothing:
    /// an earlier delivery may have been carried out (R7).
    fn refused(&self, attempt: &Attempt) -> bool {
        let speaks = self.speaks_for_every_delivery();
        self.known
            .read_answers(attempt)
            .any(|(_, class)| match class.refusal() {
                Some(refusal) => refusal.stored || speaks,
                None => *class == AnswerClass::Busy && speaks,
            })
    }

    /// Whether an answer speaks for all that became of its request. Where the path may deliver a request twice, it does so
    /// only if a key tells the second from the first.
    fn speaks_for_every_delivery(&self) -> bool {
        self.promises.path_is_direct || self.promises.key.is_some() || made(Mistake::ProxyBelieved)
    }

    /// Why the work that this attempt queued ended without effect, if it did.
    pub(crate) fn queued_work_failed(&self, attempt: &'a Attempt) -> Option<&'a str> {
        let polled = attempt.polls.values().find_map(|(_, poll)| match poll {
            PollAnswer::Failed { why } => Some(why.as_str()),
            PollAnswer::Completed(_) | PollAnswer::Working | PollAnswer::Inconclusive { .. } => {
                None
            }
        });
        polled.or_else(|| {
            let accepted = self
                .known
                .read_answers(attempt)
                .find_map(|(_, class)| class.accepted().flatten())?;
            self.known
                .callbacks
                .values()
                .find_map(|callback| match callback {
                    Callback::Negative { object, why }
                        if object == accepted || made(Mistake::NegativeCallbackForAll) =>
                    {
                        Some(why.as_str())
                    }
                    Callback::Negative { .. }
                    | Callback::Positive(_)
                    | Callback::Reversed { .. } => None,
                })
        })
    }

    /// A complete, authoritative lookup that found nothing was asked later than `lands_by` and the lag (R3).
    fn absent_after(&self, mark: &Mark, attempt: &Attempt) -> bool {
        let Some(lands) = self.lands_by(mark, attempt) else {
            return false;
        };
        self.absent_by_reference(lands)
            || made(Mistake::PositionDecides) && self.absent_stored_after_the_end(attempt)
            || (self.known.restored.is_none() || made(Mistake::KeyProofAfterRestore))
                && self.absences().any(|(by, epoch, asked)| {
                    by == LookupBy::Key && epoch == mark.epoch && self.after_lag(asked, lands)
                })
    }

    /// What only a mistake concludes from: an empty lookup that stands behind the attempt's end in the log.
    fn absent_stored_after_the_end(&self, attempt: &Attempt) -> bool {
        let end = attempt.losses.keys().min();
        let mut lookups = self.known.lookups.iter();
        lookups.any(|(id, (_, lookup))| {
            lookup.answer == LookupAnswer::Absent && end.is_some_and(|end| id > end)
        })
    }

    fn absent_by_reference(&self, lands: Timestamp) -> bool {
        self.absences()
            .any(|(by, _, asked)| self.is_epoch_free(by) && self.after_lag(asked, lands))
    }

    /// Asked for by the reference, which carries no epoch.
    fn is_epoch_free(&self, by: LookupBy) -> bool {
        by == LookupBy::Reference || made(Mistake::KeyProofAfterRestore)
    }

    fn after_lag(&self, asked: Timestamp, lands: Timestamp) -> bool {
        self.promises.lookup.is_some_and(|lookup| {
            asked > lands + lookup.lag
                || asked > lands && made(Mistake::LagLeftOut)
                || made(Mistake::AbsenceBeforeItLands)
        })
    }

    /// Absences that count: from an authoritative lookup.
    fn absences(&self) -> impl Iterator<Item = (LookupBy, Epoch, Timestamp)> {
        let authoritative = self
            .promises
            .lookup
            .is_some_and(|l| l.authority == Authority::Authoritative)
            || made(Mistake::PartialIsAuthoritative)
            || made(Mistake::DeletedIsAbsent);
        self.known
            .lookups
            .values()
            .filter(move |_| authoritative)
            .filter(|(_, lookup)| shows_absence(&lookup.answer))
            .map(|(stored, lookup)| {
                let dated = if made(Mistake::DatedWhenStored) {
                    *stored
                } else {
                    lookup.asked_at
                };
                (lookup.by, lookup.epoch, dated)
            })
    }

    /// A confirmed cancel of this attempt's epoch, where it is proof (R5).
    pub(crate) fn cancelled(&self, mark: &Mark, attempt: &Attempt) -> Option<Proof> {
        let promise = self.promises.cancel?;
        if self.known.restored.is_some() && !made(Mistake::KeyProofAfterRestore) {
            return None;
        }
        self.known
            .cancels
            .values()
            .filter_map(|cancel| cancel.mark.as_ref().map(|m| (m, cancel)))
            .filter(|(cancel_mark, _)| cancel_mark.epoch == mark.epoch)
            .filter_map(|(cancel_mark, cancel)| {
                let names_object = confirmed(cancel)?;
                if promise.refuses_later_arrivals {
                    return Some(Proof::CancelForGood);
                }
                let late_enough = self
                    .lands_by(mark, attempt)
                    .is_some_and(|lands| cancel_mark.at > lands)
                    || made(Mistake::CancelBeforeItLands);
                let arrives_by = cancel_mark.valid_until
                    + cancel_mark.bound.write_limit
                    + cancel_mark.bound.linger
                    + cancel_mark.bound.skew;
                let known_there = promise.retention.floor().is_some_and(|floor| {
                    self.first_arrival(mark.epoch).is_some_and(|first| {
                        arrives_by <= first + floor - cancel_mark.bound.margin_inside(floor)
                    })
                }) || made(Mistake::CancelOfAForgottenKey);
                (late_enough && (names_object || known_there)).then_some(Proof::Cancel)
            })
            .min()
    }

    /// A person said that it did not happen, and by now the attempt can no longer land (R15).
    fn ruled_out(&self, mark: &Mark, attempt: &Attempt) -> bool {
        let over = self.over_for_a_person(mark, attempt);
        let clock_passed =
            self.known.clock.is_some_and(|clock| clock > over) || made(Mistake::VerdictTakenEarly);
        clock_passed
            && self
                .known
                .standing_verdicts()
                .any(|(_, verdict)| verdict.ruling == Ruling::DidNotHappen && verdict.at >= mark.at)
    }
}

/// Whether a lookup's answer says that nothing of ours exists.
fn shows_absence(answer: &LookupAnswer) -> bool {
    match answer {
        LookupAnswer::Absent => true,
        LookupAnswer::Queued { .. } => made(Mistake::QueuedIsAbsent),
        LookupAnswer::Inconclusive { .. } => made(Mistake::FailedLookupIsAbsence),
        LookupAnswer::Found(_) => false,
    }
}

/// Whether a cancel was confirmed; if so, whether the answer names the object that was withdrawn.
fn confirmed(cancel: &Cancel) -> Option<bool> {
    cancel
        .answers
        .values()
        .filter_map(|(_, answer)| match answer {
            CancelAnswer::Confirmed { object } => Some(object.is_some()),
            CancelAnswer::TooLate { .. }
            | CancelAnswer::NotSent { .. }
            | CancelAnswer::Unknown { .. } => None,
        })
        .max()
}

/// Whether nothing more can come of a request that got this answer.
fn ends_the_request(class: &AnswerClass) -> bool {
    match class {
        AnswerClass::Unknown | AnswerClass::Accepted { .. } => false,
        AnswerClass::Done
        | AnswerClass::Rejected { .. }
        | AnswerClass::Declined { .. }
        | AnswerClass::InProgress
        | AnswerClass::AlreadyExists { .. }
        | AnswerClass::Mismatch
        | AnswerClass::Busy => true,
    }
}
