//! The order in which the machine looks at what is known: final, closed, then by state. It only builds plans, never permissions.

use crate::evidence::{AnswerClass, Mark, Order, PermissionKind, ReviewWhy, Ruling};
use crate::id::Epoch;
use crate::intent::Intent;
use crate::known::Known;
use crate::mistake::{Mistake, made};
use crate::policy::{Column, Policy, after_unknown};
use crate::promise::{Authority, Consequence, Promises};
use crate::proof::{Proof, Reader};
use crate::status::{State, Status};
use crate::time::{Span, Timestamp};

use super::{Conditions, Next, SendPlan, Step, Why};

/// One decision in the making: the evidence read under the stricter promises, and the conditions of this instant.
pub(super) struct Decider<'a> {
    pub(super) reader: Reader<'a>,
    pub(super) conditions: &'a Conditions<'a>,
    pub(super) status: Status,
}

impl<'a> Decider<'a> {
    pub(super) fn new(
        intent: &'a Intent,
        known: &'a Known,
        conditions: &'a Conditions,
        promises: &'a Promises,
    ) -> Self {
        let reader = Reader {
            intent,
            known,
            promises,
        };
        Self {
            reader,
            conditions,
            status: known.status_under(intent, promises),
        }
    }

    pub(super) fn next(&self) -> Next {
        let known = self.reader.known;
        if let Some(why) = self.dispute() {
            return self.review(why);
        }
        if self.status.state.is_final() {
            return if self.is_left_open() {
                self.review(ReviewWhy::VerdictContradicted)
            } else {
                self.idle(Why::Settled)
            };
        }
        if self.status.closed.is_some() {
            return if self.can_look_up() && known.check_due() {
                self.step_now(Step::LookUp, Why::CheckAgain)
            } else {
                self.idle(Why::Closed)
            };
        }
        if let Some(next) = self.taken() {
            return next;
        }
        match self.status.state {
            State::Pending | State::RetryableFailure => self.send_or_wait(),
            State::Dispatching => self.wait(
                self.open_until().unwrap_or(self.conditions.now),
                Why::InFlight,
            ),
            State::Accepted => self.after_accepted(),
            State::OutcomeUnknown => self.after_unknown(),
            State::Succeeded | State::TerminalFailure | State::Cancelled | State::Expired => {
                self.idle(Why::Settled)
            }
        }
    }

    // ---- nothing has happened so far

    pub(super) fn send_or_wait(&self) -> Next {
        if self.held_by_restore() {
            return self.wait(self.conditions.now + Span::from_secs(60), Why::RestoreHeld);
        }
        let (kind, by_cancel) = self.right_to_send();
        let by_person = matches!(kind, PermissionKind::Ordered(Order::Verdict(_)));
        if self.past_deadline() || !(self.attempts_left() || by_person) {
            // The record of it is due, and ends the action.
            return self.wait(self.conditions.now, Why::NothingHappenedYet);
        }
        if kind == PermissionKind::ProvenAbsent && self.account_in_doubt() {
            return self.wait(
                self.conditions.now + Span::from_secs(60),
                Why::AbsenceCountsLater,
            );
        }
        if kind == PermissionKind::ProvenAbsent && self.overtaken() {
            return self.review(ReviewWhy::PolicyWantsPerson);
        }
        if by_cancel && self.reader.promises.consequence == Consequence::Irreversible {
            return self.review(ReviewWhy::PolicyWantsPerson);
        }
        let intent = self.reader.intent;
        // Only this right sends under the same key; the others have none yet, or begin a new one.
        let after = if kind == PermissionKind::ProvenNotSent {
            self.after_wait()
        } else {
            self.after_backoff()
        };
        let due = after.max(intent.not_before.unwrap_or(Timestamp::EARLIEST));
        let why = match (kind, intent.not_before) {
            (_, Some(not_before)) if not_before > self.conditions.now => Why::NotBefore,
            (PermissionKind::First, _) => Why::NeverSent,
            (PermissionKind::Ordered(_), _) => Why::RiskAccepted,
            (
                PermissionKind::ProvenNotSent
                | PermissionKind::ProvenAbsent
                | PermissionKind::SameKey
                | PermissionKind::Harmless,
                _,
            ) => Why::NothingHappenedYet,
        };
        self.send(kind, due, why)
    }

    /// By what right the next send would go, and whether that right rests on a confirmed cancel.
    pub(super) fn right_to_send(&self) -> (PermissionKind, bool) {
        let known = self.reader.known;
        if let Some(order) = known.unused_order() {
            return (PermissionKind::Ordered(Order::Verdict(order)), false);
        }
        let proofs: Vec<Proof> = known
            .marks()
            .filter_map(|(mark, attempt)| self.reader.proof(mark, attempt))
            .collect();
        let by_cancel = proofs
            .iter()
            .any(|p| matches!(p, Proof::Cancel | Proof::CancelForGood));
        let by_absence = by_cancel || proofs.contains(&Proof::Lookup) || known.restored.is_some();
        let kind = match (proofs.is_empty(), by_absence) {
            (true, false) => PermissionKind::First,
            (_, true) => PermissionKind::ProvenAbsent,
            (false, false) => PermissionKind::ProvenNotSent,
        };
        (kind, by_cancel)
    }

    // ---- it was accepted

    pub(super) fn after_accepted(&self) -> Next {
        let known = self.reader.known;
        if let Some(next) = self.person_first() {
            return next;
        }
        let Some((attempt, _)) = self.reader.accepted() else {
            return self.after_unknown();
        };
        let completion = self.reader.promises.completion;
        let polls = known.attempts.get(&attempt).map_or(0, |a| a.polls.len());
        let polls = u32::try_from(polls).unwrap_or(u32::MAX);
        if completion.is_some_and(|c| c.poll) && polls < self.reader.intent.limits.polls_max {
            let last = known
                .attempts
                .get(&attempt)
                .and_then(|a| a.last_at)
                .unwrap_or(self.conditions.now);
            return Next {
                step: Step::Poll { attempt },
                at: last + self.delay(polls + 1),
                why: Why::Queued,
            };
        }
        if let Some(until) = self.callback_due() {
            return self.wait(until, Why::CallbackExpected);
        }
        if self.can_look_up() && self.lookups_left() {
            return self.look_up();
        }
        self.review(ReviewWhy::CompletionUnknown)
    }

    // ---- the outcome is unknown

    pub(super) fn after_unknown(&self) -> Next {
        if self.held_by_restore() {
            return self.while_held();
        }
        let known = self.reader.known;
        if let Some(until) = self.open_until() {
            return self.wait(until, Why::InFlight);
        }
        if let Some(next) = self.person_first() {
            return next;
        }
        if let Some(until) = self.verdict_takes_hold_at() {
            return self.wait(until, Why::VerdictTakesHoldLater);
        }
        if let Some(order) = known.unused_order()
            && !self.barred()
        {
            return self.send(
                PermissionKind::Ordered(Order::Verdict(order)),
                self.conditions.now,
                Why::RiskAccepted,
            );
        }
        if known.unanswered_cancel().is_some() {
            return self.ask_cancel_again();
        }
        if self.current_epoch_answered(|class| *class == AnswerClass::Mismatch) {
            return self.review(ReviewWhy::KeyMismatch);
        }
        let column = self.column();
        let policy = after_unknown(self.reader.promises.consequence, column);
        let next = self.carry_out(policy, column);
        // Before a person is asked, or a preference counts that knows nothing, the destination may still say it by itself.
        let knows_nothing = policy == Policy::Preference || matches!(next.step, Step::Review(_));
        match self.callback_due().filter(|_| knows_nothing) {
            Some(until) => self.wait(until, Why::CallbackOfUnknown),
            None => next,
        }
    }

    /// What would come next if the restore were released, effect requests excepted: those wait for the release, which an
    /// operator gives, and are no reason to hand the action to a person for good.
    fn while_held(&self) -> Next {
        let released = Conditions {
            restore_released: true,
            ..*self.conditions
        };
        let reader = &self.reader;
        let next =
            Decider::new(reader.intent, reader.known, &released, reader.promises).after_unknown();
        match next.step {
            Step::Send(_) | Step::CancelByKey { .. } => {
                self.wait(self.conditions.now + Span::from_secs(60), Why::RestoreHeld)
            }
            Step::LookUp | Step::Poll { .. } | Step::Wait | Step::Review(_) | Step::None => next,
        }
    }

    pub(super) fn carry_out(&self, policy: Policy, column: Column) -> Next {
        match policy {
            Policy::Resend if column == Column::KeyWithinWindow => self.resend_by_key(),
            Policy::Resend | Policy::ResendBounded => self.resend_harmless(),
            Policy::LookUpThenResend | Policy::LookUpThenReview => self.look_up_or_review(),
            Policy::CancelThenResend | Policy::CancelThenReview => {
                let at = self.cancel_from().unwrap_or_else(|| self.after_backoff());
                Next {
                    step: Step::CancelByKey {
                        epoch: self.reader.known.epoch(),
                    },
                    at,
                    why: Why::WithdrawFirst,
                }
            }
            Policy::Preference => self.prefer(),
            Policy::Review => self.review(self.nothing_left()),
        }
    }

    /// The first column from the left that applies here and now.
    pub(super) fn column(&self) -> Column {
        let promises = self.reader.promises;
        let lookup = promises.lookup.filter(|_| self.lookups_left());
        let authoritative = lookup.is_some_and(|l| l.authority == Authority::Authoritative)
            && promises.processing_max.span().is_some()
            && !self.account_in_doubt()
            && !self.conditions.place_changed
            && !self.sent_by_another_credential();
        if self.key_window().is_some() {
            Column::KeyWithinWindow
        } else if authoritative {
            Column::AuthoritativeLookup
        } else if self.cancel_from().is_some() {
            Column::CancelByKey
        } else if lookup.is_some() {
            Column::PartialLookup
        } else {
            Column::Neither
        }
    }

    // ---- people

    /// While a person works on it nobody else touches it, unless by that person's order (R6).
    fn taken(&self) -> Option<Next> {
        let known = self.reader.known;
        known
            .taken_by()
            .filter(|_| !made(Mistake::TakenIsTouched))?;
        if self.status.state == State::Dispatching || known.unused_order().is_some() {
            return None;
        }
        let why = known
            .open_reviews()
            .next()
            .map_or(ReviewWhy::PolicyWantsPerson, |(_, _, why)| why);
        Some(Next {
            step: Step::Review(why),
            at: Timestamp::NEVER,
            why: Why::Taken,
        })
    }

    /// What people are doing about it comes before what the machine would do (R6).
    pub(super) fn person_first(&self) -> Option<Next> {
        let known = self.reader.known;
        if made(Mistake::MachineSendsInReview) {
            return None;
        }
        let (_, _, why) = known.open_reviews().next()?;
        if known.check_due() && self.can_look_up() {
            return Some(self.step_now(Step::LookUp, Why::CheckAgain));
        }
        Some(self.review(why))
    }

    /// Something that only a person can put right, until one has.
    pub(super) fn dispute(&self) -> Option<ReviewWhy> {
        let why = if self.status.contradicted {
            ReviewWhy::VerdictContradicted
        } else if self.status.duplicate_suspected() || self.repeated_without_key() {
            ReviewWhy::DuplicateSuspected
        } else {
            return None;
        };
        let known = self.reader.known;
        let answered = known.reviews.values().any(|(_, opened)| *opened == why)
            && !known.open_reviews().any(|(_, _, opened)| opened == why);
        (!answered).then_some(why)
    }

    /// A verdict stands under the stricter promises, and under the pinned ones, which say what the state is, evidence contradicts it: a
    /// lookup that the current contract does not rely on any more. Only a person settles that (R15, law 8).
    fn is_left_open(&self) -> bool {
        let Reader {
            intent,
            known,
            promises,
        } = &self.reader;
        **promises != intent.promises && !known.status(intent).is_settled()
    }

    /// It was done, more than one request may have done it, and the destination turned out not to look at our key (R27).
    fn repeated_without_key(&self) -> bool {
        self.reader.known.missing().key
            && self.status.state == State::Succeeded
            && self.reader.uncleared().len() > 1
    }

    /// When a standing `did_not_happen` takes hold, if a request can still land.
    pub(super) fn verdict_takes_hold_at(&self) -> Option<Timestamp> {
        let known = self.reader.known;
        known
            .standing_verdicts()
            .find(|(_, verdict)| verdict.ruling == Ruling::DidNotHappen)?;
        let covered = |mark: &Mark| {
            known
                .standing_verdicts()
                .any(|(_, v)| v.ruling == Ruling::DidNotHappen && v.at >= mark.at)
        };
        let marks = self
            .reader
            .uncleared()
            .into_iter()
            .filter(|(mark, _)| covered(mark))
            .map(|(mark, attempt)| self.reader.over_for_a_person(mark, attempt));
        let unrecorded = self
            .reader
            .unrecorded_over_for_a_person()
            .filter(|_| self.reader.unrecorded_open());
        // What the clock has already passed is not waited for again.
        marks
            .chain(unrecorded)
            .filter(|over| known.clock.is_none_or(|clock| clock <= *over))
            .max()
            .map(|over| over + Span::from_millis(1))
    }

    pub(super) fn nothing_left(&self) -> ReviewWhy {
        let promises = self.reader.promises;
        if self.barred() {
            ReviewWhy::SendBarred
        } else if self
            .current_epoch_answered(|class| *class == AnswerClass::AlreadyExists { ours: false })
        {
            ReviewWhy::NotRecognised
        } else if promises.lookup.is_some() || !self.attempts_left() || !self.cancels_left() {
            ReviewWhy::BoundReached
        } else {
            ReviewWhy::NothingToAsk
        }
    }

    pub(super) fn current_epoch_answered(&self, is: impl Fn(&AnswerClass) -> bool) -> bool {
        let known = self.reader.known;
        let epoch = known.epoch();
        known
            .marks()
            .filter(|(mark, _)| mark.epoch == epoch)
            .any(|(_, attempt)| known.read_answers(attempt).any(|(_, class)| is(class)))
    }

    // ---- building the answer

    pub(super) fn send(&self, kind: PermissionKind, at: Timestamp, why: Why) -> Next {
        let not_after = self.reader.intent.sends_end_at();
        Next {
            step: Step::Send(SendPlan {
                kind,
                epoch: self.epoch_for(kind),
                not_after,
            }),
            at,
            why,
        }
    }

    /// A new version of the key begins only after proof that nothing exists under the old one, or on somebody's order.
    pub(super) fn epoch_for(&self, kind: PermissionKind) -> Epoch {
        let known = self.reader.known;
        if known.attempts_marked() == 0 && known.restored.is_none() {
            return Epoch::default();
        }
        let epoch = known.epoch();
        let cancelled = known.is_cancelled(epoch);
        match kind {
            PermissionKind::ProvenAbsent | PermissionKind::Ordered(_) => epoch.next(),
            PermissionKind::First
            | PermissionKind::ProvenNotSent
            | PermissionKind::SameKey
            | PermissionKind::Harmless => {
                if cancelled {
                    epoch.next()
                } else {
                    epoch
                }
            }
        }
    }

    pub(super) fn step_now(&self, step: Step, why: Why) -> Next {
        Next {
            step,
            at: self.conditions.now,
            why,
        }
    }

    pub(super) fn wait(&self, until: Timestamp, why: Why) -> Next {
        Next {
            step: Step::Wait,
            at: until,
            why,
        }
    }

    /// What only a mistake leaves without a next step.
    fn forgets(&self, why: ReviewWhy) -> bool {
        let ends = &self.reader.known.ends;
        let withdrawn = ends.cancel_requested.is_some();
        match why {
            ReviewWhy::SendBarred => {
                withdrawn && made(Mistake::WithdrawnUnknownForgotten)
                    || ends.authority_lost.is_some() && made(Mistake::AuthorityLostForgotten)
            }
            ReviewWhy::BoundReached => made(Mistake::BoundWithoutReview),
            ReviewWhy::NothingToAsk
            | ReviewWhy::NotFoundByPartialLookup
            | ReviewWhy::PolicyWantsPerson
            | ReviewWhy::KeyMismatch
            | ReviewWhy::NotRecognised
            | ReviewWhy::DuplicateSuspected
            | ReviewWhy::VerdictContradicted
            | ReviewWhy::CompletionUnknown => false,
        }
    }

    pub(super) fn review(&self, why: ReviewWhy) -> Next {
        if self.forgets(why) {
            return self.idle(Why::Settled);
        }
        Next {
            step: Step::Review(why),
            at: Timestamp::NEVER,
            why: Why::Person(why),
        }
    }

    pub(super) fn idle(&self, why: Why) -> Next {
        Next {
            step: Step::None,
            at: Timestamp::NEVER,
            why,
        }
    }
}
