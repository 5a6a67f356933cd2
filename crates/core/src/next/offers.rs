//! What the destination offers for this action, here and now, and how each offer is used: key, harmless repeat, preference,
//! lookup, cancel by key.

use crate::evidence::{AnswerClass, LookupAnswer, Order, PermissionKind, ReviewWhy};
use crate::intent::Preference;
use crate::mistake::{Mistake, made};
use crate::promise::{Authority, Consequence};
use crate::time::{Span, Timestamp};

use super::decider::Decider;
use super::{Next, SendPlan, Step, Why};

impl Decider<'_> {
    /// If a resend under the current key is allowed: when it may start, and by when it must have started (R4, R19).
    pub(super) fn key_window(&self) -> Option<(Timestamp, Timestamp)> {
        let (intent, known) = (self.reader.intent, self.reader.known);
        let key = self.reader.promises.key?;
        let floor = key.retention.floor()?;
        let conditions = self.conditions;
        let barred = if intent.finish {
            self.barred_past_deadline()
        } else {
            self.barred()
        };
        if barred || self.clock_in_doubt() || self.account_in_doubt() || !self.attempts_left() {
            return None;
        }
        let epoch = known.epoch();
        let cancelled = known.is_cancelled(epoch);
        if cancelled || self.key_is_spent(key.stores_errors) || self.epochs_may_be_missing() {
            return None;
        }
        if (conditions.place_changed && key.scope_includes_place)
            || self.sent_by_another_credential()
            || (key.sets_again && self.overtaken())
        {
            return None;
        }
        let first = self.reader.first_arrival(epoch)?;
        let not_after = intent
            .limits
            .bound
            .latest_start(first + floor - intent.limits.bound.margin_inside(floor));
        let not_before = if key.concurrent_repeat_stated || made(Mistake::RepeatBesideTheFirst) {
            Timestamp::EARLIEST
        } else {
            // Past it, and not at it.
            self.all_over_by()? + Span::from_micros(1)
        };
        let start = self.after_wait().max(not_before).max(conditions.now);
        (start < not_after).then_some((start, not_after))
    }

    /// Resending under this key can bring nothing new: it replays a stored error, or was refused without a trace.
    pub(super) fn key_is_spent(&self, stores_errors: bool) -> bool {
        let known = self.reader.known;
        let epoch = known.epoch();
        known
            .marks()
            .filter(|(mark, _)| mark.epoch == epoch)
            .any(|(_, attempt)| {
                known
                    .read_answers(attempt)
                    .any(|(answer, class)| match class {
                        AnswerClass::Unknown => {
                            (stores_errors || answer.replayed)
                                && !made(Mistake::StoredErrorTriedAgain)
                        }
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
    pub(super) fn epochs_may_be_missing(&self) -> bool {
        let promises = self.reader.promises;
        self.reader.known.restored.is_some()
            && !made(Mistake::EpochsNotMissing)
            && (promises.lookup.is_some() || promises.cancel.is_some())
    }

    pub(super) fn resend_by_key(&self) -> Next {
        match self.key_window() {
            Some((start, not_after)) => {
                let intent = self.reader.intent;
                let ends = if intent.finish {
                    Timestamp::NEVER
                } else {
                    intent.sends_end_at()
                };
                let plan = SendPlan {
                    kind: PermissionKind::SameKey,
                    epoch: self.reader.known.epoch(),
                    not_after: not_after.min(ends),
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

    /// Newer work on the same subject may be undone by sending this once more (R14). What is harmless to repeat sets what is
    /// there, so that not finding it any more is what the newer work would look like.
    pub(super) fn overtaken(&self) -> bool {
        let promises = self.reader.promises;
        let sets_again = promises.consequence == Consequence::Harmless
            || promises.key.is_some_and(|key| key.sets_again);
        sets_again && self.conditions.subject_overtaken && !promises.condition_checked
    }

    pub(super) fn resend_harmless(&self) -> Next {
        let undoes = self.conditions.subject_overtaken
            && !self.reader.promises.condition_checked
            && !made(Mistake::SubjectOvertakenIgnored);
        if !undoes && !self.barred() && self.attempts_left() {
            return self.send(
                PermissionKind::Harmless,
                self.after_backoff(),
                Why::RepeatIsHarmless,
            );
        }
        if self.can_look_up() && self.lookups_left() {
            self.look_up_or_review()
        } else {
            self.review(self.nothing_left())
        }
    }

    pub(super) fn prefer(&self) -> Next {
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

    pub(super) fn can_look_up(&self) -> bool {
        self.reader.promises.lookup.is_some()
    }

    pub(super) fn lookups_left(&self) -> bool {
        self.reader.known.fruitless_lookups() < self.reader.intent.limits.lookups_max
    }

    pub(super) fn look_up_or_review(&self) -> Next {
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
    pub(super) fn shown_absent_in_time(&self) -> bool {
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

    /// Early questions may find the effect; once half of them are spent, or all but one, the next waits until absence counts.
    pub(super) fn look_up(&self) -> Next {
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
                if from > by_backoff
                    && (asked >= 2 && asked >= intent.limits.lookups_max / 2
                        || asked + 1 >= intent.limits.lookups_max) =>
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

    /// From when on a cancel by key may be sent so that its confirmation is proof (R5): at once where the destination
    /// refuses later arrivals; else once no request of the epoch can land any more, and while the key is still known there.
    /// `None` if no cancel can prove anything here.
    pub(super) fn cancel_from(&self) -> Option<Timestamp> {
        let known = self.reader.known;
        let promise = self.reader.promises.cancel?;
        if !self.may_cancel() {
            return None;
        }
        let epoch = known.epoch();
        if known.is_cancelled(epoch) {
            return None;
        }
        if promise.refuses_later_arrivals {
            return Some(self.after_backoff());
        }
        let limits = &self.reader.intent.limits;
        let first = self.reader.first_arrival(epoch)?;
        let floor = promise.retention.floor()?;
        let over = self.all_over_by()? + Span::from_millis(1);
        let from = if made(Mistake::CancelBeforeItLands) {
            self.after_backoff()
        } else {
            self.after_backoff().max(over)
        };
        let last = limits
            .bound
            .latest_start(first + floor - limits.bound.margin_inside(floor));
        (from.max(self.conditions.now) + limits.send_wait < last).then_some(from)
    }

    /// A cancel by key is promised, would prove something after it, and nothing bars it. By a clock in doubt it cannot be told
    /// whether the key is still known there, and in another account nothing of ours is.
    pub(super) fn may_cancel(&self) -> bool {
        let Some(promise) = self.reader.promises.cancel else {
            return false;
        };
        (promise.refuses_later_arrivals || !self.clock_in_doubt())
            && self.reader.known.restored.is_none()
            && !self.account_in_doubt()
            && !self.conditions.place_changed
            && !self.sent_by_another_credential()
            && !self.cancel_barred()
            && self.cancels_left()
    }

    pub(super) fn ask_cancel_again(&self) -> Next {
        let known = self.reader.known;
        match known.unanswered_cancel() {
            Some(mark) if self.may_cancel() => Next {
                step: Step::CancelByKey { epoch: mark.epoch },
                at: self.last_word()
                    + self.delay(u32::try_from(known.cancels.len()).unwrap_or(u32::MAX)),
                why: Why::CancelUnanswered,
            },
            Some(_) | None if self.can_look_up() && self.lookups_left() => self.look_up(),
            Some(_) | None => self.review(self.nothing_left()),
        }
    }

    pub(super) fn cancels_left(&self) -> bool {
        u32::try_from(self.reader.known.cancels.len()).unwrap_or(u32::MAX)
            < self.reader.intent.limits.cancels_max
    }

    /// A cancel withdraws, so the caller's own withdrawal does not bar it; everything else that bars sends does.
    pub(super) fn cancel_barred(&self) -> bool {
        self.reader.known.ends.authority_lost.is_some()
            || self.past_deadline()
            || self.held_by_restore()
    }
}
