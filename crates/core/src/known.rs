//! What the evidence adds up to: an index over the records of one action.
//!
//! Absorbing is commutative and idempotent: the same records in any order, and any record twice, make the same `Known`.
//! Nothing is concluded here; see [`crate::status`].

use std::collections::{BTreeMap, BTreeSet};

use crate::evidence::{
    Answer, AnswerClass, Callback, CancelAnswer, CancelMark, Evidence, Fact, Lookup, Loss, Mark,
    PermissionKind, PollAnswer, RequestRef, ReviewWhy, Ruling, Verdict,
};
use crate::id::{AttemptNo, Epoch, EvidenceId, WorkerNonce};
use crate::mistake::{Mistake, made};
use crate::promise::Missing;
use crate::time::Timestamp;

/// All that the evidence says about one action, by what it speaks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Known {
    pub(crate) attempts: BTreeMap<AttemptNo, Attempt>,
    pub(crate) cancels: BTreeMap<u32, Cancel>,
    pub(crate) lookups: BTreeMap<EvidenceId, (Timestamp, Lookup)>,
    pub(crate) callbacks: BTreeMap<EvidenceId, Callback>,
    pub(crate) verdicts: BTreeMap<EvidenceId, Verdict>,
    pub(crate) superseded: BTreeSet<EvidenceId>,
    pub(crate) reread: BTreeMap<EvidenceId, BTreeMap<EvidenceId, AnswerClass>>,
    pub(crate) reviews: BTreeMap<EvidenceId, (Timestamp, ReviewWhy)>,
    pub(crate) taken: BTreeMap<EvidenceId, String>,
    pub(crate) released: BTreeSet<EvidenceId>,
    pub(crate) checks: BTreeMap<EvidenceId, Timestamp>,
    pub(crate) gone: BTreeMap<WorkerNonce, Timestamp>,
    pub(crate) missing: Missing,
    pub(crate) ends: Ends,
    pub(crate) restored: Option<Restored>,
    pub(crate) clock: Option<Timestamp>,
    pub(crate) last_at: Option<Timestamp>,
    pub(crate) records: BTreeSet<EvidenceId>,
}

/// What is known about one attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Attempt {
    pub(crate) mark: Option<Mark>,
    pub(crate) not_sent: bool,
    pub(crate) losses: BTreeMap<EvidenceId, (Timestamp, Loss)>,
    pub(crate) answers: BTreeMap<EvidenceId, (Timestamp, Answer)>,
    pub(crate) polls: BTreeMap<EvidenceId, (Timestamp, PollAnswer)>,
    pub(crate) lease_over: bool,
    /// Until when its lease was extended at the latest.
    pub(crate) extended_until: Option<Timestamp>,
    pub(crate) last_at: Option<Timestamp>,
}

/// What is known about one cancel by key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Cancel {
    pub(crate) mark: Option<CancelMark>,
    pub(crate) answers: BTreeMap<EvidenceId, (Timestamp, CancelAnswer)>,
    pub(crate) lease_over: bool,
    pub(crate) last_at: Option<Timestamp>,
}

/// How it stands with withdrawing what exists under the key of one epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Withdrawal {
    /// No cancel of it has left.
    NotAsked,
    /// A cancel of it may have left and was not answered.
    Unanswered,
    /// A cancel of it was confirmed; this is when the last confirmation was stored.
    Confirmed(Timestamp),
    /// It can no longer be withdrawn.
    TooLate,
}

/// What ends or bars sends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Ends {
    pub(crate) cancel_requested: Option<(EvidenceId, String)>,
    pub(crate) authority_lost: Option<(EvidenceId, String)>,
    pub(crate) deadline_passed: bool,
    pub(crate) approval_over: bool,
    pub(crate) gave_up: Option<u32>,
    pub(crate) search_ended: BTreeMap<EvidenceId, (String, Timestamp)>,
    pub(crate) not_admitted: Option<(EvidenceId, String)>,
}

/// The store came from an older copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Restored {
    pub(crate) at: Timestamp,
    pub(crate) first_arrival: Option<Timestamp>,
}

impl Known {
    /// What these records add up to, in whatever order they come.
    pub fn fold<'a>(evidence: impl IntoIterator<Item = &'a Evidence>) -> Self {
        let mut known = Self::default();
        for record in evidence {
            known.absorb(record);
        }
        known
    }

    /// Adds one record. A record that was absorbed before changes nothing.
    pub fn absorb(&mut self, record: &Evidence) {
        if !self.records.insert(record.id) {
            return;
        }
        self.last_at = self.last_at.max(Some(record.at));
        let (id, at) = (record.id, record.at);
        match &record.fact {
            Fact::Marked(mark) => {
                let known = &mut self.attempt(mark.attempt, at).mark;
                *known = known.take().max(Some(mark.clone()));
            }
            Fact::NotSent { attempt, .. } => self.attempt(*attempt, at).not_sent = true,
            Fact::Lost(loss) => {
                self.attempt(loss.attempt, at)
                    .losses
                    .insert(id, (at, loss.clone()));
            }
            Fact::Answered(answer) => {
                self.attempt(answer.attempt, at)
                    .answers
                    .insert(id, (at, answer.clone()));
            }
            Fact::Polled {
                attempt, answer, ..
            } => {
                self.attempt(*attempt, at)
                    .polls
                    .insert(id, (at, answer.clone()));
            }
            Fact::LeaseOver {
                request: RequestRef::Attempt(no),
                ..
            } => self.attempt(*no, at).lease_over = true,
            Fact::LeaseOver {
                request: RequestRef::Cancel(no),
                ..
            } => self.cancel(*no, at).lease_over = true,
            Fact::LeaseExtended { request, until } => self.extend(*request, *until, at),
            Fact::CancelMarked(_) if made(Mistake::CancelUnmarked) => {}
            Fact::CancelMarked(mark) => {
                let known = &mut self.cancel(mark.no, at).mark;
                *known = known.take().max(Some(mark.clone()));
            }
            Fact::CancelAnswered { no, answer } => {
                self.cancel(*no, at)
                    .answers
                    .insert(id, (at, answer.clone()));
            }
            Fact::LookedUp(lookup) => {
                self.lookups.insert(id, (at, lookup.clone()));
            }
            Fact::CalledBack(callback) => {
                self.callbacks.insert(id, callback.clone());
            }
            Fact::ProcessGone { worker, at } => {
                self.gone
                    .entry(*worker)
                    .and_modify(|t| *t = (*t).min(*at))
                    .or_insert(*at);
            }
            Fact::ClockRead { at } => self.read_clock(*at),
            other => self.absorb_decision(id, at, other),
        }
    }

    /// The records by people, by the clock and by the store itself.
    fn absorb_decision(&mut self, id: EvidenceId, at: Timestamp, fact: &Fact) {
        match fact {
            Fact::Verdict(verdict) => {
                self.superseded.extend(&verdict.supersedes);
                self.read_clock(verdict.at);
                self.verdicts.insert(id, verdict.clone());
            }
            Fact::Taken { by } => {
                self.taken.insert(id, by.clone());
            }
            Fact::Released { supersedes } => {
                self.released.insert(*supersedes);
            }
            Fact::CheckAgain { at, .. } => {
                self.checks.insert(id, *at);
            }
            Fact::CancelRequested { why, .. } => {
                keep_first(&mut self.ends.cancel_requested, id, why)
            }
            Fact::AuthorityLost { why } => keep_first(&mut self.ends.authority_lost, id, why),
            Fact::NotAdmitted { why } => keep_first(&mut self.ends.not_admitted, id, why),
            Fact::DeadlinePassed { at } => {
                self.ends.deadline_passed = true;
                self.read_clock(*at);
            }
            Fact::ApprovalOver { at } => {
                self.ends.approval_over = true;
                self.read_clock(*at);
            }
            Fact::GaveUp { attempts } => self.ends.gave_up = self.ends.gave_up.max(Some(*attempts)),
            Fact::SearchEnded { why, at } => {
                self.ends.search_ended.insert(id, (why.clone(), *at));
            }
            Fact::ReviewOpened { why } => {
                self.reviews.insert(id, (at, *why));
            }
            Fact::StoreRestored {
                at, first_arrival, ..
            } => self.restore(*at, *first_arrival),
            Fact::Reread {
                supersedes, class, ..
            } => {
                self.reread
                    .entry(*supersedes)
                    .or_default()
                    .insert(id, class.clone());
            }
            Fact::Unsupported { missing, .. } => self.missing = self.missing.or(*missing),
            Fact::Noted { .. } => {}
            Fact::Marked(_)
            | Fact::NotSent { .. }
            | Fact::Lost(_)
            | Fact::Answered(_)
            | Fact::ProcessGone { .. }
            | Fact::LeaseOver { .. }
            | Fact::LeaseExtended { .. }
            | Fact::LookedUp(_)
            | Fact::Polled { .. }
            | Fact::CancelMarked(_)
            | Fact::CancelAnswered { .. }
            | Fact::CalledBack(_)
            | Fact::ClockRead { .. } => unreachable!("absorbed by kind before"),
        }
    }

    /// What answers have shown to be missing of what was promised.
    #[must_use]
    pub fn missing(&self) -> Missing {
        self.missing
    }

    fn attempt(&mut self, no: AttemptNo, at: Timestamp) -> &mut Attempt {
        let attempt = self.attempts.entry(no).or_default();
        attempt.last_at = attempt.last_at.max(Some(at));
        attempt
    }

    fn cancel(&mut self, no: u32, at: Timestamp) -> &mut Cancel {
        let cancel = self.cancels.entry(no).or_default();
        cancel.last_at = cancel.last_at.max(Some(at));
        cancel
    }

    /// A cancel by key is carried out here, and never for so long: nothing extends its lease.
    fn extend(&mut self, request: RequestRef, until: Timestamp, at: Timestamp) {
        if let RequestRef::Attempt(no) = request {
            let extended = &mut self.attempt(no, at).extended_until;
            *extended = (*extended).max(Some(until));
        }
    }

    fn read_clock(&mut self, at: Timestamp) {
        self.clock = self.clock.max(Some(at));
    }

    /// Several restores count as the latest of them, with the earliest arrival that any of them allows.
    fn restore(&mut self, at: Timestamp, first_arrival: Option<Timestamp>) {
        self.restored = Some(match self.restored {
            None => Restored { at, first_arrival },
            Some(known) => Restored {
                at: known.at.max(at),
                first_arrival: known
                    .first_arrival
                    .zip(first_arrival)
                    .map(|(a, b)| a.min(b)),
            },
        });
    }

    /// How many records there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether nothing is known at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// How many attempts were marked.
    #[must_use]
    pub fn attempts_marked(&self) -> u32 {
        u32::try_from(self.marks().count()).unwrap_or(u32::MAX)
    }

    /// Whether the destination reported exactly this already.
    #[must_use]
    pub fn has_called_back(&self, callback: &Callback) -> bool {
        self.callbacks.values().any(|known| known == callback)
    }

    /// When the last record was stored.
    #[must_use]
    pub fn last_at(&self) -> Option<Timestamp> {
        self.last_at
    }

    /// The name for the next record, unused so far.
    #[must_use]
    pub fn next_id(&self) -> EvidenceId {
        EvidenceId(
            self.records
                .last()
                .map_or(1, |last| last.0.saturating_add(1)),
        )
    }

    /// The marks of this process that have no end recorded: requests that it is carrying out, or lost track of.
    #[must_use]
    pub fn open_marks(&self) -> Vec<(RequestRef, WorkerNonce)> {
        let attempts = self
            .attempts
            .values()
            .filter(|a| self.is_open(a))
            .filter_map(|a| {
                a.mark
                    .as_ref()
                    .map(|m| (RequestRef::Attempt(m.attempt), m.worker))
            });
        let cancels = self
            .cancels
            .values()
            .filter(|c| self.is_cancel_open(c))
            .filter_map(|c| {
                c.mark
                    .as_ref()
                    .map(|m| (RequestRef::Cancel(m.no), m.worker))
            });
        attempts.chain(cancels).collect()
    }

    pub(crate) fn marks(&self) -> impl Iterator<Item = (&Mark, &Attempt)> {
        self.attempts
            .values()
            .filter_map(|attempt| attempt.mark.as_ref().map(|mark| (mark, attempt)))
    }

    /// The key's version that attempts stand under now, before any new one begins.
    pub(crate) fn epoch(&self) -> Epoch {
        self.marks()
            .map(|(mark, _)| mark.epoch)
            .max()
            .unwrap_or_default()
    }

    /// Marked, within its lease, its process not known to be gone, and nothing says how it ended.
    pub(crate) fn is_open(&self, attempt: &Attempt) -> bool {
        attempt
            .mark
            .as_ref()
            .is_some_and(|mark| !self.gone.contains_key(&mark.worker))
            && !attempt.not_sent
            && !attempt.lease_over
            && attempt.losses.is_empty()
            && attempt.answers.is_empty()
    }

    /// Until when word of a marked attempt is waited for: the end of its lease, or what that was extended to.
    pub(crate) fn leased_until(mark: &Mark, attempt: &Attempt) -> Timestamp {
        let extended = attempt.extended_until.unwrap_or(mark.lease_until);
        mark.lease_until.max(extended)
    }

    /// The attempt that was marked for this process, or for this claim of a worker elsewhere.
    #[must_use]
    pub fn marked_for(&self, worker: WorkerNonce) -> Option<&Mark> {
        self.marks()
            .map(|(mark, _)| mark)
            .find(|mark| mark.worker == worker)
    }

    /// By what right this attempt was marked.
    #[must_use]
    pub fn permission_of(&self, no: AttemptNo) -> Option<PermissionKind> {
        let mark = self.attempts.get(&no)?.mark.as_ref()?;
        Some(mark.permission)
    }

    /// Until when word of this attempt is waited for; none where something says how it ended, or its lease is over.
    #[must_use]
    pub fn attempt_leased_until(&self, no: AttemptNo) -> Option<Timestamp> {
        let attempt = self.attempts.get(&no)?;
        let mark = attempt.mark.as_ref()?;
        (self.is_open(attempt)).then(|| Self::leased_until(mark, attempt))
    }

    /// The same for a cancel by key.
    pub(crate) fn is_cancel_open(&self, cancel: &Cancel) -> bool {
        cancel
            .mark
            .as_ref()
            .is_some_and(|mark| !self.gone.contains_key(&mark.worker))
            && cancel.answers.is_empty()
            && !cancel.lease_over
    }

    /// How it stands with withdrawing this epoch. A later answer speaks for an earlier cancel that was not answered: both
    /// asked for the same thing.
    pub(crate) fn withdrawal(&self, epoch: Epoch) -> Withdrawal {
        let mut unanswered = false;
        let mut too_late = false;
        let mut confirmed = None;
        for cancel in self.cancels.values() {
            if cancel.mark.as_ref().is_none_or(|m| m.epoch != epoch) {
                continue;
            }
            let mut never_left = false;
            for (at, answer) in cancel.answers.values() {
                match answer {
                    CancelAnswer::Confirmed { .. } => confirmed = confirmed.max(Some(*at)),
                    CancelAnswer::TooLate { .. } => too_late = true,
                    CancelAnswer::NotSent { .. } => never_left = true,
                    CancelAnswer::Unknown { .. } => {}
                }
            }
            unanswered |= !never_left;
        }
        match confirmed {
            Some(at) => Withdrawal::Confirmed(at),
            None if too_late => Withdrawal::TooLate,
            None if unanswered => Withdrawal::Unanswered,
            None => Withdrawal::NotAsked,
        }
    }

    /// A cancel of this epoch may have left: nothing is sent under it any more.
    pub(crate) fn is_cancelled(&self, epoch: Epoch) -> bool {
        self.withdrawal(epoch) != Withdrawal::NotAsked && !made(Mistake::CancelledEpochUsedAgain)
    }

    /// The latest cancel whose epoch still waits for an answer.
    pub(crate) fn unanswered_cancel(&self) -> Option<&CancelMark> {
        self.cancels
            .values()
            .filter_map(|cancel| cancel.mark.as_ref())
            .rfind(|mark| self.withdrawal(mark.epoch) == Withdrawal::Unanswered)
    }

    /// When the writing end of a marked request was closed for good, if its process said so or is gone.
    pub(crate) fn closed_at(&self, attempt: &Attempt) -> Option<Timestamp> {
        let own = attempt
            .losses
            .values()
            .filter_map(|(_, loss)| loss.closed_at)
            .min();
        let gone = attempt
            .mark
            .as_ref()
            .and_then(|mark| self.gone.get(&mark.worker))
            .copied();
        match (own, gone) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// The answers to an attempt as they are read today: a correction only ever weakens what was read before (R17).
    pub(crate) fn read_answers<'a>(
        &'a self,
        attempt: &'a Attempt,
    ) -> impl Iterator<Item = (&'a Answer, &'a AnswerClass)> {
        attempt.answers.iter().map(|(id, (_, answer))| {
            let corrections = self.reread.get(id).into_iter().flat_map(BTreeMap::values);
            let read_as = if made(Mistake::RereadStrengthens) {
                corrections.last().unwrap_or(&answer.class)
            } else {
                corrections.fold(&answer.class, AnswerClass::weaker)
            };
            (answer, read_as)
        })
    }

    /// Verdicts that no later one replaces.
    pub(crate) fn standing_verdicts(&self) -> impl Iterator<Item = (EvidenceId, &Verdict)> {
        self.verdicts
            .iter()
            .filter(|(id, _)| !self.superseded.contains(id))
            .map(|(id, verdict)| (*id, verdict))
    }

    /// Reviews that nobody has answered. A verdict answers those it names.
    pub(crate) fn open_reviews(&self) -> impl Iterator<Item = (EvidenceId, Timestamp, ReviewWhy)> {
        self.reviews
            .iter()
            .filter(|(id, _)| !self.superseded.contains(id))
            .map(|(id, (at, why))| (*id, *at, *why))
    }

    /// Since when a person is needed, without a verdict since.
    #[must_use]
    pub fn waits_for_a_person_since(&self) -> Option<Timestamp> {
        self.open_reviews().map(|(_, at, _)| at).min()
    }

    /// Ends of the search that no verdict has replaced.
    pub(crate) fn standing_ends(&self) -> impl Iterator<Item = (EvidenceId, &str, Timestamp)> {
        self.ends
            .search_ended
            .iter()
            .filter(|(id, _)| !self.superseded.contains(id))
            .map(|(id, (why, at))| (*id, why.as_str(), *at))
    }

    /// The names of the verdicts, reviews and ends of the search that a new verdict replaces; who had taken the item is done
    /// with it.
    #[must_use]
    pub fn answered_by_a_verdict(&self) -> Vec<EvidenceId> {
        self.open_reviews()
            .map(|(id, ..)| id)
            .chain(self.standing_verdicts().map(|(id, _)| id))
            .chain(self.standing_ends().map(|(id, ..)| id))
            .chain(self.taken_by().map(|(id, _)| id))
            .collect()
    }

    /// The person who works on it, with the name of the record that says so.
    #[must_use]
    pub fn taken_by(&self) -> Option<(EvidenceId, &str)> {
        self.taken
            .iter()
            .find(|(id, _)| !self.superseded.contains(id) && !self.released.contains(id))
            .map(|(id, by)| (*id, by.as_str()))
    }

    /// A person's order to send again that no mark has used.
    pub(crate) fn unused_order(&self) -> Option<EvidenceId> {
        self.standing_verdicts().filter(|(_, verdict)| verdict.ruling == Ruling::SendAgain).map(|(id, _)| id).find(|id| {
            !self.marks().any(|(mark, _)| {
                matches!(mark.permission, PermissionKind::Ordered(crate::evidence::Order::Verdict(used)) if used == *id)
            }) || made(Mistake::OrderUsedTwice)
        })
    }

    /// Lookups since a person last asked for another look. A hit counts too: where it settled, nobody asks again.
    pub(crate) fn fruitless_lookups(&self) -> u32 {
        let since = self.checks.values().max();
        let count = self
            .lookups
            .values()
            .filter(|(_, lookup)| since.is_none_or(|check| lookup.asked_at >= *check))
            .count();
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// When the last lookup was asked.
    pub(crate) fn last_lookup(&self) -> Option<Timestamp> {
        self.lookups
            .values()
            .map(|(_, lookup)| lookup.asked_at)
            .max()
    }

    /// A person asked for another look, and none has been asked since.
    pub(crate) fn check_due(&self) -> bool {
        let asked = self.checks.values().max();
        asked.is_some_and(|check| self.last_lookup().is_none_or(|last| last < *check))
    }
}

fn keep_first(slot: &mut Option<(EvidenceId, String)>, id: EvidenceId, why: &str) {
    if slot.as_ref().is_none_or(|(kept, _)| id < *kept) {
        *slot = Some((id, why.to_owned()));
    }
}
