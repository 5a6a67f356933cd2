//! The next step: what the engine will do about an action, when, and why. A pure function of (intent, evidence, conditions).

use std::fmt;

use crate::bound::window_margin;
use crate::evidence::{
    AnswerClass, Fact, LookupAnswer, Order, PermissionKind, RequestRef, ReviewWhy, Ruling,
};
use crate::id::{AttemptNo, Epoch};
use crate::intent::{Intent, Preference};
use crate::known::Known;
use crate::policy::{Column, Policy, after_unknown};
use crate::promise::{Authority, Consequence, Promises};
use crate::proof::{Proof, Reader};
use crate::retry::Draw;
use crate::status::{State, Status};
use crate::time::{Span, Timestamp};

/// What decisions rest on beside the intent and the evidence.
#[derive(Clone, Copy, Debug)]
pub struct Conditions<'a> {
    /// The store's time.
    pub now: Timestamp,
    /// The contract as it is now; the stricter of it and the pinned one counts for permissions.
    pub current: &'a Promises,
    /// An operator released the last restore of this store (R18); true where there was none.
    pub restore_released: bool,
    /// The clock stepped, or was never synchronised: no `same_key` (R11).
    pub clock_in_doubt: bool,
    /// The credential changed and the account is not confirmed: no `same_key` and no absence (R13).
    pub account_in_doubt: bool,
    /// A later action on the same subject exists: a repeat could undo newer work (R14).
    pub subject_overtaken: bool,
}

/// What the engine will do, when, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Next {
    /// What.
    pub step: Step,
    /// When; for [`Step::None`] and [`Step::Review`] the time means nothing.
    pub at: Timestamp,
    /// Why.
    pub why: Why,
}

/// What the engine can do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Send an effect request.
    Send(SendPlan),
    /// Ask the destination whether the effect exists.
    LookUp,
    /// Ask how the queued work of this attempt stands.
    Poll {
        /// The attempt that was accepted.
        attempt: AttemptNo,
    },
    /// Withdraw whatever exists under the key of this epoch.
    CancelByKey {
        /// The key's version.
        epoch: Epoch,
    },
    /// Wait for word of a request, a callback or an instant.
    Wait,
    /// A person decides.
    Review(ReviewWhy),
    /// Nothing.
    None,
}

/// How the next effect request would be sent. A plan is no permission: see [`crate::permit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendPlan {
    /// By what right.
    pub kind: PermissionKind,
    /// Under which version of the provider key.
    pub epoch: Epoch,
    /// The first byte must leave before this.
    pub not_after: Timestamp,
}

/// Why the next step is what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Nothing was ever sent.
    NeverSent,
    /// The caller asked not to send before this.
    NotBefore,
    /// It is proven that nothing has happened so far.
    NothingHappenedYet,
    /// The destination recognises the key, so a repeat makes no second effect.
    KeyRecognised,
    /// A repeat has no further effect.
    RepeatIsHarmless,
    /// A person or a preference accepted the risk of a duplicate.
    RiskAccepted,
    /// The answer was lost; the destination is asked whether the effect exists.
    AnswerLost,
    /// Absence counts once the request can no longer land and the lookup's lag is over.
    AbsenceCountsLater,
    /// A person asked for another look.
    CheckAgain,
    /// The destination queued it.
    Queued,
    /// The destination queued it and will call back.
    CallbackExpected,
    /// Whatever exists under the key is withdrawn first.
    WithdrawFirst,
    /// An earlier cancel was not answered.
    CancelUnanswered,
    /// A request is in flight.
    InFlight,
    /// A person said that it did not happen, and a request could still land.
    VerdictTakesHoldLater,
    /// The store was restored from a copy; an operator has to release it.
    RestoreHeld,
    /// A person is needed.
    Person(ReviewWhy),
    /// A person works on it.
    Taken,
    /// It is settled.
    Settled,
    /// The search was ended without an answer.
    Closed,
    /// The preference `prefer_missing` ends the search.
    PreferMissing,
}

impl Step {
    /// The word that every interface uses.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Send(_) => "send",
            Self::LookUp => "look_up",
            Self::Poll { .. } => "poll",
            Self::CancelByKey { .. } => "cancel_by_key",
            Self::Wait => "wait",
            Self::Review(_) => "review",
            Self::None => "none",
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NeverSent => "recorded and not sent yet",
            Self::NotBefore => "not to be sent before the time that the caller set",
            Self::NothingHappenedYet => "it is proven that nothing has happened so far",
            Self::KeyRecognised => "the destination recognises the key, so a repeat makes no second effect",
            Self::RepeatIsHarmless => "a repeat has no further effect",
            Self::RiskAccepted => "the risk of a duplicate was accepted for this action",
            Self::AnswerLost => "the answer was lost; the destination is asked whether the effect exists",
            Self::AbsenceCountsLater => {
                "not finding it counts only once the request can no longer land and the lookup's lag is over"
            }
            Self::CheckAgain => "a person asked for another look",
            Self::Queued => "the destination queued it and is asked how it stands",
            Self::CallbackExpected => "the destination queued it and will call back",
            Self::WithdrawFirst => "whatever exists under the key is withdrawn before anything is sent again",
            Self::CancelUnanswered => "the withdrawal was not answered and is asked for again",
            Self::InFlight => "a request is in flight",
            Self::VerdictTakesHoldLater => {
                "a person said that it did not happen; that takes hold once no request can land any more"
            }
            Self::RestoreHeld => "the store was restored from a copy; an operator has to release it before anything is sent",
            Self::Person(why) => why.sentence(),
            Self::Taken => "a person works on it",
            Self::Settled => "it is settled",
            Self::Closed => "the search was ended without an answer",
            Self::PreferMissing => "nothing can be found out, and a missing effect is preferred to a second one",
        })
    }
}

/// What to do next, when, and why.
#[must_use]
pub fn decide(intent: &Intent, known: &Known, conditions: &Conditions) -> Next {
    let promises = intent.promises.stricter(conditions.current);
    Decider::new(intent, known, conditions, &promises).next()
}

/// The record that the passing of time calls for now, if any: a lease over, a deadline passed, a bound reached, a review to
/// be opened. Time enters the state only through these.
#[must_use]
pub fn due_fact(intent: &Intent, known: &Known, conditions: &Conditions) -> Option<Fact> {
    let promises = intent.promises.stricter(conditions.current);
    Decider::new(intent, known, conditions, &promises).due_fact()
}

struct Decider<'a> {
    reader: Reader<'a>,
    conditions: &'a Conditions<'a>,
    status: Status,
}

impl<'a> Decider<'a> {
    fn new(
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

    fn next(&self) -> Next {
        let known = self.reader.known;
        if let Some(why) = self.dispute() {
            return self.review(why);
        }
        if self.status.state.is_final() {
            return self.idle(Why::Settled);
        }
        if self.status.closed.is_some() {
            return if self.can_look_up() && known.check_due() {
                self.step_now(Step::LookUp, Why::CheckAgain)
            } else {
                self.idle(Why::Closed)
            };
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

    fn send_or_wait(&self) -> Next {
        if self.held_by_restore() {
            return self.wait(self.conditions.now + Span::from_secs(60), Why::RestoreHeld);
        }
        let (kind, by_cancel) = self.right_to_send();
        if by_cancel && self.reader.promises.consequence == Consequence::Irreversible {
            return self.review(ReviewWhy::PolicyWantsPerson);
        }
        let intent = self.reader.intent;
        let due = self
            .after_backoff()
            .max(intent.not_before.unwrap_or(Timestamp::EARLIEST));
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
    fn right_to_send(&self) -> (PermissionKind, bool) {
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

    fn after_accepted(&self) -> Next {
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
        if completion.is_some_and(|c| c.callback) {
            return self.wait(
                self.conditions.now + Span::from_secs(3_600),
                Why::CallbackExpected,
            );
        }
        if self.can_look_up() && self.lookups_left() {
            return self.look_up();
        }
        self.review(ReviewWhy::CompletionUnknown)
    }

    // ---- the outcome is unknown

    fn after_unknown(&self) -> Next {
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
        if known.cancels.values().any(|cancel| !cancel.is_decided()) {
            return self.ask_cancel_again();
        }
        if self.current_epoch_answered(|class| *class == AnswerClass::Mismatch) {
            return self.review(ReviewWhy::KeyMismatch);
        }
        let column = self.column();
        self.carry_out(
            after_unknown(self.reader.promises.consequence, column),
            column,
        )
    }

    fn carry_out(&self, policy: Policy, column: Column) -> Next {
        match policy {
            Policy::Resend if column == Column::KeyWithinWindow => self.resend_by_key(),
            Policy::Resend | Policy::ResendBounded => self.resend_harmless(column),
            Policy::LookUpThenResend | Policy::LookUpThenReview => self.look_up_or_review(),
            Policy::CancelThenResend | Policy::CancelThenReview => {
                let at = self.after_backoff();
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
    fn column(&self) -> Column {
        let promises = self.reader.promises;
        let lookup = promises.lookup.filter(|_| self.lookups_left());
        let authoritative = lookup.is_some_and(|l| l.authority == Authority::Authoritative)
            && promises.processing_max.span().is_some()
            && !self.conditions.account_in_doubt;
        if self.key_window().is_some() {
            Column::KeyWithinWindow
        } else if authoritative {
            Column::AuthoritativeLookup
        } else if self.cancel_applies() {
            Column::CancelByKey
        } else if lookup.is_some() {
            Column::PartialLookup
        } else {
            Column::Neither
        }
    }

    /// If a resend under the current key is allowed: when it may start, and by when it must have started (R4, R19).
    fn key_window(&self) -> Option<(Timestamp, Timestamp)> {
        let (intent, known) = (self.reader.intent, self.reader.known);
        let key = self.reader.promises.key?;
        let floor = key.retention.floor()?;
        let conditions = self.conditions;
        let barred = if intent.finish {
            self.barred_past_deadline()
        } else {
            self.barred()
        };
        if barred
            || conditions.clock_in_doubt
            || conditions.account_in_doubt
            || !self.attempts_left()
        {
            return None;
        }
        let epoch = known.epoch();
        let cancelled = known
            .cancels
            .values()
            .filter_map(|c| c.mark.as_ref())
            .any(|m| m.epoch == epoch);
        if cancelled || self.key_is_spent(key.stores_errors) || self.epochs_may_be_missing() {
            return None;
        }
        let first = self.reader.first_arrival(epoch)?;
        let not_after = intent
            .limits
            .bound
            .latest_start(first + floor - window_margin(floor));
        let not_before = if key.concurrent_repeat_stated {
            Timestamp::EARLIEST
        } else {
            self.all_over_by()?
        };
        let start = self.after_backoff().max(not_before).max(conditions.now);
        (start < not_after).then_some((start, not_after))
    }

    /// Resending under this key can bring nothing new: it replays a stored error, or was refused without a trace.
    fn key_is_spent(&self, stores_errors: bool) -> bool {
        let known = self.reader.known;
        let epoch = known.epoch();
        known
            .marks()
            .filter(|(mark, _)| mark.epoch == epoch)
            .any(|(_, attempt)| {
                known
                    .read_answers(attempt)
                    .any(|(answer, class)| match class {
                        AnswerClass::Unknown => stores_errors || answer.replayed,
                        AnswerClass::Rejected { stored, .. }
                        | AnswerClass::Declined { stored, .. } => !stored,
                        AnswerClass::AlreadyExists { ours } => !ours,
                        AnswerClass::Mismatch => true,
                        AnswerClass::Done
                        | AnswerClass::Accepted { .. }
                        | AnswerClass::InProgress
                        | AnswerClass::Busy => false,
                    })
            })
    }

    /// After a restore, an epoch that the copy does not know of may hold the effect. Where the engine could have begun one by
    /// itself (after a lookup or a cancel), the key alone is no longer safe.
    fn epochs_may_be_missing(&self) -> bool {
        let promises = self.reader.promises;
        self.reader.known.restored.is_some()
            && (promises.lookup.is_some() || promises.cancel.is_some())
    }

    fn resend_by_key(&self) -> Next {
        match self.key_window() {
            Some((start, not_after)) => {
                let plan = SendPlan {
                    kind: PermissionKind::SameKey,
                    epoch: self.reader.known.epoch(),
                    not_after,
                };
                Next {
                    step: Step::Send(plan),
                    at: start,
                    why: Why::KeyRecognised,
                }
            }
            None => self.review(self.nothing_left()),
        }
    }

    fn resend_harmless(&self, column: Column) -> Next {
        let harmless = self.reader.promises.condition_checked || !self.conditions.subject_overtaken;
        if harmless && !self.barred() && self.attempts_left() {
            return self.send(
                PermissionKind::Harmless,
                self.after_backoff(),
                Why::RepeatIsHarmless,
            );
        }
        match column {
            Column::AuthoritativeLookup | Column::PartialLookup => self.look_up_or_review(),
            Column::KeyWithinWindow | Column::CancelByKey | Column::Neither => {
                self.review(self.nothing_left())
            }
        }
    }

    fn prefer(&self) -> Next {
        match self.reader.intent.preference {
            Preference::Ask => self.review(self.nothing_left()),
            Preference::PreferMissing { .. } => self.wait(self.conditions.now, Why::PreferMissing),
            Preference::PreferDuplicate { .. } if !self.barred() && self.attempts_left() => self
                .send(
                    PermissionKind::Ordered(Order::Preference),
                    self.after_backoff(),
                    Why::RiskAccepted,
                ),
            Preference::PreferDuplicate { .. } => self.review(self.nothing_left()),
        }
    }

    // ---- questions

    fn can_look_up(&self) -> bool {
        self.reader.promises.lookup.is_some()
    }

    fn lookups_left(&self) -> bool {
        self.reader.known.fruitless_lookups() < self.reader.intent.limits.lookups_max
    }

    fn look_up_or_review(&self) -> Next {
        let partial = self
            .reader
            .promises
            .lookup
            .is_some_and(|l| l.authority == Authority::Partial);
        if partial && self.shown_absent_in_time() {
            return self.review(ReviewWhy::NotFoundByPartialLookup);
        }
        self.look_up()
    }

    /// A partial lookup was asked late enough that an effect should have been shown.
    fn shown_absent_in_time(&self) -> bool {
        let Some(lookup) = self.reader.promises.lookup else {
            return false;
        };
        let settles = self
            .all_over_by()
            .unwrap_or_else(|| self.last_word() + self.reader.intent.limits.lease());
        self.reader.known.lookups.values().any(|(_, asked)| {
            asked.answer == LookupAnswer::Absent && asked.asked_at > settles + lookup.lag
        })
    }

    /// Early questions may find the effect; once half of them are spent, the next waits until absence counts.
    fn look_up(&self) -> Next {
        let (intent, known) = (self.reader.intent, self.reader.known);
        if known.check_due() {
            return self.step_now(Step::LookUp, Why::CheckAgain);
        }
        let asked = known.fruitless_lookups();
        let by_backoff = known
            .last_lookup()
            .map_or_else(|| self.last_word(), |last| last.max(self.last_word()))
            + self.delay(asked + 1);
        let lag = self.reader.promises.lookup.map_or(Span::ZERO, |l| l.lag);
        let counts_from = self
            .all_over_by()
            .map(|over| over + lag + Span::from_millis(1));
        match counts_from {
            Some(from)
                if asked >= 2 && asked >= intent.limits.lookups_max / 2 && from > by_backoff =>
            {
                Next {
                    step: Step::LookUp,
                    at: from,
                    why: Why::AbsenceCountsLater,
                }
            }
            // The delay would step over the instant from which absence counts: ask right then.
            Some(from) if asked >= 1 && by_backoff > from && from > self.conditions.now => Next {
                step: Step::LookUp,
                at: from,
                why: Why::AbsenceCountsLater,
            },
            Some(_) | None => Next {
                step: Step::LookUp,
                at: by_backoff,
                why: Why::AnswerLost,
            },
        }
    }

    // ---- cancel by key

    fn cancel_applies(&self) -> bool {
        let (intent, known) = (self.reader.intent, self.reader.known);
        let Some(promise) = self.reader.promises.cancel else {
            return false;
        };
        if self.cancel_barred() || known.restored.is_some() || !self.cancels_left() {
            return false;
        }
        let epoch = known.epoch();
        if known
            .cancels
            .values()
            .filter_map(|c| c.mark.as_ref())
            .any(|m| m.epoch == epoch)
        {
            return false;
        }
        let Some(first) = self.reader.first_arrival(epoch) else {
            return false;
        };
        let in_time = promise.retention.floor().is_some_and(|floor| {
            let last = intent
                .limits
                .bound
                .latest_start(first + floor - window_margin(floor));
            self.after_backoff().max(self.conditions.now) + intent.limits.send_wait < last
        });
        promise.refuses_later_arrivals || in_time
    }

    fn ask_cancel_again(&self) -> Next {
        let known = self.reader.known;
        let open = known
            .cancels
            .values()
            .filter(|c| !c.is_decided())
            .filter_map(|c| c.mark.as_ref())
            .next_back();
        match open {
            Some(mark) if !self.cancel_barred() && self.cancels_left() => Next {
                step: Step::CancelByKey { epoch: mark.epoch },
                at: self.last_word()
                    + self.delay(u32::try_from(known.cancels.len()).unwrap_or(u32::MAX)),
                why: Why::CancelUnanswered,
            },
            Some(_) | None if self.can_look_up() && self.lookups_left() => self.look_up(),
            Some(_) | None => self.review(self.nothing_left()),
        }
    }

    fn cancels_left(&self) -> bool {
        u32::try_from(self.reader.known.cancels.len()).unwrap_or(u32::MAX)
            < self.reader.intent.limits.cancels_max
    }

    /// A cancel withdraws, so the caller's own withdrawal does not bar it; everything else that bars sends does.
    fn cancel_barred(&self) -> bool {
        self.reader.known.ends.authority_lost.is_some()
            || self.past_deadline()
            || self.held_by_restore()
    }

    // ---- people

    /// What people are doing about it comes before what the machine would do (R6).
    fn person_first(&self) -> Option<Next> {
        let known = self.reader.known;
        let (_, _, why) = known.open_reviews().next()?;
        if known.taken_by().is_some() {
            return Some(Next {
                step: Step::Review(why),
                at: Timestamp::NEVER,
                why: Why::Taken,
            });
        }
        if known.check_due() && self.can_look_up() {
            return Some(self.step_now(Step::LookUp, Why::CheckAgain));
        }
        Some(self.review(why))
    }

    /// Something that only a person can put right, until one has.
    fn dispute(&self) -> Option<ReviewWhy> {
        let why = if self.status.contradicted {
            ReviewWhy::VerdictContradicted
        } else if self.status.duplicate_suspected() {
            ReviewWhy::DuplicateSuspected
        } else {
            return None;
        };
        let known = self.reader.known;
        let answered = known.reviews.values().any(|(_, opened)| *opened == why)
            && !known.open_reviews().any(|(_, _, opened)| opened == why);
        (!answered).then_some(why)
    }

    /// When a standing `did_not_happen` takes hold, if a request can still land.
    fn verdict_takes_hold_at(&self) -> Option<Timestamp> {
        let known = self.reader.known;
        known
            .standing_verdicts()
            .find(|(_, verdict)| verdict.ruling == Ruling::DidNotHappen)?;
        let marks = self.reader.uncleared().into_iter().map(|(mark, attempt)| {
            self.reader.lands_by(mark, attempt).unwrap_or(
                mark.valid_until
                    + mark.bound.write_limit
                    + mark.bound.pause_margin
                    + mark.bound.linger
                    + mark.bound.skew,
            )
        });
        let unrecorded = known
            .restored
            .map(|r| r.at + self.reader.intent.limits.lease() + Span::from_secs(60));
        marks
            .chain(unrecorded)
            .max()
            .map(|over| over + Span::from_millis(1))
    }

    fn nothing_left(&self) -> ReviewWhy {
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

    fn current_epoch_answered(&self, is: impl Fn(&AnswerClass) -> bool) -> bool {
        let known = self.reader.known;
        let epoch = known.epoch();
        known
            .marks()
            .filter(|(mark, _)| mark.epoch == epoch)
            .any(|(_, attempt)| known.read_answers(attempt).any(|(_, class)| is(class)))
    }

    // ---- what bars sends

    fn barred(&self) -> bool {
        self.barred_past_deadline() || self.past_deadline()
    }

    /// What bars even an action that is to be finished.
    fn barred_past_deadline(&self) -> bool {
        let ends = &self.reader.known.ends;
        ends.cancel_requested.is_some() || ends.authority_lost.is_some() || self.held_by_restore()
    }

    fn past_deadline(&self) -> bool {
        let (intent, ends) = (self.reader.intent, &self.reader.known.ends);
        let passed = |at: Option<Timestamp>| at.is_some_and(|at| self.conditions.now >= at);
        ends.deadline_passed
            || ends.approval_over
            || passed(intent.deadline)
            || passed(intent.approved_until)
    }

    fn held_by_restore(&self) -> bool {
        self.reader.known.restored.is_some() && !self.conditions.restore_released
    }

    fn attempts_left(&self) -> bool {
        self.reader.known.attempts_marked() < self.reader.intent.limits.attempts_max
    }

    // ---- times

    fn delay(&self, n: u32) -> Span {
        self.reader
            .intent
            .limits
            .backoff
            .delay(n, Draw::of(self.reader.intent.action, n))
    }

    /// When the last word of any effect request was stored.
    fn last_word(&self) -> Timestamp {
        let known = self.reader.known;
        let attempts = known.attempts.values().filter_map(|a| a.last_at);
        let cancels = known.cancels.values().filter_map(|c| c.last_at);
        attempts
            .chain(cancels)
            .max()
            .unwrap_or(self.reader.intent.submitted_at)
    }

    /// The delay after the last attempt is over, and what the destination advised too.
    fn after_backoff(&self) -> Timestamp {
        let known = self.reader.known;
        let marked = known.attempts_marked();
        if marked == 0 {
            return self.reader.intent.submitted_at;
        }
        let advised = known
            .attempts
            .values()
            .flat_map(|attempt| attempt.answers.values())
            .filter_map(|(_, answer)| answer.retry_after.map(|after| answer.read_at + after))
            .max();
        (self.last_word() + self.delay(marked)).max(advised.unwrap_or(Timestamp::EARLIEST))
    }

    /// From when on no marked request, and nothing unrecorded, can land any more; `None` if that is never certain.
    fn all_over_by(&self) -> Option<Timestamp> {
        let mut over = self.reader.intent.submitted_at;
        for (mark, attempt) in self.reader.uncleared() {
            over = over.max(self.reader.lands_by(mark, attempt)?);
        }
        if self.reader.known.restored.is_some() {
            over = over.max(self.reader.unrecorded_lands_by()?);
        }
        Some(over)
    }

    /// Until when a request in flight may still report, if one is.
    fn open_until(&self) -> Option<Timestamp> {
        let known = self.reader.known;
        let attempts = known
            .marks()
            .filter(|(_, attempt)| known.is_open(attempt))
            .map(|(mark, _)| mark.lease_until);
        let cancels = known
            .cancels
            .values()
            .filter(|cancel| known.is_cancel_open(cancel))
            .filter_map(|cancel| cancel.mark.as_ref().map(|mark| mark.lease_until));
        attempts.chain(cancels).min()
    }

    // ---- building the answer

    fn send(&self, kind: PermissionKind, at: Timestamp, why: Why) -> Next {
        let intent = self.reader.intent;
        let not_after = [intent.deadline, intent.approved_until]
            .into_iter()
            .flatten()
            .min()
            .unwrap_or(Timestamp::NEVER);
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
    fn epoch_for(&self, kind: PermissionKind) -> Epoch {
        let known = self.reader.known;
        if known.attempts_marked() == 0 && known.restored.is_none() {
            return Epoch::default();
        }
        let epoch = known.epoch();
        let cancelled = known
            .cancels
            .values()
            .filter_map(|c| c.mark.as_ref())
            .any(|m| m.epoch == epoch);
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

    fn step_now(&self, step: Step, why: Why) -> Next {
        Next {
            step,
            at: self.conditions.now,
            why,
        }
    }

    fn wait(&self, until: Timestamp, why: Why) -> Next {
        Next {
            step: Step::Wait,
            at: until,
            why,
        }
    }

    fn review(&self, why: ReviewWhy) -> Next {
        Next {
            step: Step::Review(why),
            at: Timestamp::NEVER,
            why: Why::Person(why),
        }
    }

    fn idle(&self, why: Why) -> Next {
        Next {
            step: Step::None,
            at: Timestamp::NEVER,
            why,
        }
    }

    // ---- time as evidence

    fn due_fact(&self) -> Option<Fact> {
        let now = self.conditions.now;
        if let Some(request) = self.lease_over() {
            return Some(Fact::LeaseOver { request, at: now });
        }
        if self.status.is_settled() {
            return self.review_to_open();
        }
        let intent = self.reader.intent;
        let ends = &self.reader.known.ends;
        if intent.deadline.is_some_and(|at| now >= at) && !ends.deadline_passed {
            return Some(Fact::DeadlinePassed { at: now });
        }
        if intent.approved_until.is_some_and(|at| now >= at) && !ends.approval_over {
            return Some(Fact::ApprovalOver { at: now });
        }
        let attempts = self.reader.known.attempts_marked();
        let exhausted =
            matches!(self.status.state, State::RetryableFailure) && !self.attempts_left();
        if exhausted && self.reader.known.unused_order().is_none() {
            return Some(Fact::GaveUp { attempts });
        }
        let next = self.next();
        match next.why {
            Why::VerdictTakesHoldLater if next.at <= now => Some(Fact::ClockRead { at: now }),
            Why::PreferMissing => {
                let Preference::PreferMissing { by } = &intent.preference else {
                    return None;
                };
                Some(Fact::SearchEnded {
                    why: by.clone(),
                    at: now,
                })
            }
            _ => self.review_to_open(),
        }
    }

    fn lease_over(&self) -> Option<RequestRef> {
        let known = self.reader.known;
        let now = self.conditions.now;
        let attempt = known
            .marks()
            .find(|(mark, attempt)| known.is_open(attempt) && now >= mark.lease_until)
            .map(|(mark, _)| RequestRef::Attempt(mark.attempt));
        attempt.or_else(|| {
            let open = known
                .cancels
                .values()
                .filter(|cancel| known.is_cancel_open(cancel));
            open.filter_map(|cancel| cancel.mark.as_ref())
                .find(|mark| now >= mark.lease_until)
                .map(|mark| RequestRef::Cancel(mark.no))
        })
    }

    /// From the moment that a person is needed, only a person opens a send; that is itself a record.
    fn review_to_open(&self) -> Option<Fact> {
        let Step::Review(why) = self.next().step else {
            return None;
        };
        let open = self
            .reader
            .known
            .open_reviews()
            .any(|(_, _, opened)| opened == why);
        let taken = self.reader.known.open_reviews().next().is_some();
        (!open && (!taken || self.dispute().is_some())).then_some(Fact::ReviewOpened { why })
    }
}
