//! What bars sends, and from when on what may be done. All times come from the evidence, the intent and the conditions.

use crate::known::Known;
use crate::mistake::{Mistake, made};
use crate::retry::Draw;
use crate::time::{Span, Timestamp};

use super::decider::Decider;

impl Decider<'_> {
    // ---- what bars sends

    pub(super) fn barred(&self) -> bool {
        self.barred_past_deadline() || self.past_deadline()
    }

    /// What bars even an action that is to be finished.
    pub(super) fn barred_past_deadline(&self) -> bool {
        let ends = &self.reader.known.ends;
        ends.cancel_requested.is_some() && !made(Mistake::SentAfterWithdrawal)
            || ends.authority_lost.is_some() && !made(Mistake::SentWithoutAuthority)
            || self.held_by_restore()
    }

    pub(super) fn past_deadline(&self) -> bool {
        let (intent, ends) = (self.reader.intent, &self.reader.known.ends);
        if made(Mistake::SentAfterDeadline) {
            return false;
        }
        ends.deadline_passed
            || ends.approval_over && !made(Mistake::ApprovalEndIgnored)
            || self.conditions.now >= intent.sends_end_at()
    }

    /// No effect request at all until an operator releases the restore, for new actions neither (R18).
    pub(super) fn held_by_restore(&self) -> bool {
        !self.conditions.restore_released && !made(Mistake::RestoreNotHeld)
    }

    /// The clock stepped: no window can be told from it (R11).
    pub(super) fn clock_in_doubt(&self) -> bool {
        self.conditions.clock_in_doubt && !made(Mistake::ClockInDoubtIgnored)
    }

    /// The account behind the credential is not confirmed: neither key nor absence counts (R13).
    pub(super) fn account_in_doubt(&self) -> bool {
        self.conditions.account_in_doubt && !made(Mistake::AccountInDoubtIgnored)
    }

    /// Keys are known per credential there, and some request was sent under another one: the key is new under the present one,
    /// and what exists may not be seen (R13).
    pub(super) fn sent_by_another_credential(&self) -> bool {
        let key = self.reader.promises.key;
        self.conditions.credential_changed && key.is_some_and(|key| key.scope_includes_credential)
    }

    pub(super) fn attempts_left(&self) -> bool {
        self.reader.known.attempts_marked() < self.reader.intent.limits.attempts_max
            || made(Mistake::AttemptsUnbounded)
    }

    // ---- times

    pub(super) fn delay(&self, n: u32) -> Span {
        self.reader
            .intent
            .limits
            .backoff
            .delay(n, Draw::of(self.reader.intent.action, n))
    }

    /// When the last word of any effect request was stored.
    pub(super) fn last_word(&self) -> Timestamp {
        let known = self.reader.known;
        let attempts = known.attempts.values().filter_map(|a| a.last_at);
        let cancels = known.cancels.values().filter_map(|c| c.last_at);
        attempts
            .chain(cancels)
            .max()
            .unwrap_or(self.reader.intent.submitted_at)
    }

    /// Until when a promised callback is waited for, while it is.
    pub(super) fn callback_due(&self) -> Option<Timestamp> {
        self.reader.promises.completion.filter(|c| c.callback)?;
        let until = self.last_word() + self.reader.intent.limits.callback_wait;
        Some(until).filter(|until| *until > self.conditions.now)
    }

    /// The delay after the last attempt is over, and what the destination advised too.
    pub(super) fn after_backoff(&self) -> Timestamp {
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

    /// The same, and what the destination wants between two requests under one key is over too.
    pub(super) fn after_wait(&self) -> Timestamp {
        let promised = self.reader.promises.key;
        let between = promised.map_or(Span::ZERO, |key| key.wait_min);
        if self.reader.known.attempts_marked() == 0 {
            return self.after_backoff();
        }
        self.after_backoff().max(self.last_word() + between)
    }

    /// From when on no marked request, and nothing unrecorded, can land any more; `None` if that is never certain.
    pub(super) fn all_over_by(&self) -> Option<Timestamp> {
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
    pub(super) fn open_until(&self) -> Option<Timestamp> {
        let known = self.reader.known;
        let attempts = known
            .marks()
            .filter(|(_, attempt)| known.is_open(attempt))
            .map(|(mark, attempt)| Known::leased_until(mark, attempt));
        let cancels = known
            .cancels
            .values()
            .filter(|cancel| known.is_cancel_open(cancel))
            .filter_map(|cancel| cancel.mark.as_ref().map(|mark| mark.lease_until));
        attempts.chain(cancels).min()
    }
}
