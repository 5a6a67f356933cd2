//! The destination of the model: what arrives, what it does about it, what it answers, what its lookup shows. Its own count
//! of effects is the oracle; nothing here asks the core.

use factum_core::Epoch;
use factum_core::evidence::{AnswerClass, CancelAnswer, LookupAnswer, PollAnswer, RequestRef};

use super::laws::Broken;
use super::moves::{Move, receipt};
use super::seen::{Case, Seen};
use super::setup::{Mistake, PROCESSING, Setup};
use super::world::{Effect, Flight, KeyRecord, Phase, Reply, Stage, World};

/// What it does with a request that it works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    Effect,
    /// The effect, and an answer that the contract cannot read.
    EffectUnreadable,
    Refusal,
    Queue,
}

/// What a lookup shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    /// Everything as it is.
    Current,
    /// As it was before the lag.
    Stale,
    /// Nothing, though something is there: a lookup that leaves things out.
    Nothing,
    /// The question failed.
    Fails,
}

impl World {
    pub(crate) fn moves_there(&self, setup: &Setup, moves: &mut Vec<Move>) {
        for (flight, number) in self.flights.iter().zip(0u8..) {
            match (flight.stage, flight.request) {
                (Stage::Net { .. }, RequestRef::Attempt(_)) => moves.push(arrive(number, false)),
                (Stage::Net { .. }, RequestRef::Cancel(_)) => {
                    if !self.there.beyond_withdrawal.contains(&flight.epoch) {
                        moves.push(arrive(number, false));
                    }
                    if self.live_in(flight.epoch).is_some() {
                        moves.push(arrive(number, true));
                    }
                }
                (Stage::Work { .. } | Stage::Underway { .. }, _) => {
                    let deed = if setup.real.queues {
                        Deed::Queue
                    } else {
                        Deed::Effect
                    };
                    moves.push(Move::Act(number, deed));
                    if self.budget.refusals > 0 && !setup.real.queues {
                        moves.push(Move::Act(number, Deed::Refusal));
                    }
                    if self.budget.unreadable > 0 {
                        moves.push(Move::Act(number, Deed::EffectUnreadable));
                    }
                }
            }
        }
        for (_, queued) in self.there.queued.iter().zip(0u8..) {
            let end = |done| Move::QueueEnds { queued, done };
            moves.push(end(true));
            if self.budget.refusals > 0 {
                moves.push(end(false));
            }
        }
    }

    fn live_in(&self, epoch: Epoch) -> Option<u8> {
        self.there
            .effects
            .iter()
            .zip(0u8..)
            .find(|(e, _)| e.epoch == epoch && e.withdrawn.is_none())
            .map(|(_, number)| number)
    }

    /// A request arrives.
    pub(crate) fn arrive(
        &mut self,
        number: u8,
        too_late: bool,
        setup: &Setup,
        seen: &mut Seen,
    ) -> Result<(), Broken> {
        let flight = self.flights.remove(usize::from(number));
        if let RequestRef::Cancel(_) = flight.request {
            self.cancel_there(&flight, too_late, setup, seen);
            return Ok(());
        }
        let (now, epoch) = (self.now, flight.epoch);
        let first = *self.there.first_arrivals.entry(epoch).or_insert(now);
        let forgotten = setup.real.key.is_some_and(|floor| now >= first + floor);
        if flight.same_key && forgotten {
            return Err("law 7: a repeat by key arrived after the key was forgotten".to_owned());
        }
        let refused = refused_for_good();
        if self.there.refused_for_good.contains(&epoch) {
            seen.note(Case::RefusedForGood);
            self.answer(flight.request, Reply::ToAttempt(refused, None));
            return Ok(());
        }
        let record = setup.real.key.and(self.there.keys.get(&epoch).copied());
        match record {
            Some(KeyRecord::Done(effect)) => {
                seen.note(Case::ResendJoinedByKey);
                self.answer(
                    flight.request,
                    Reply::ToAttempt(AnswerClass::Done, Some(effect)),
                );
            }
            Some(KeyRecord::Refused) => {
                self.answer(flight.request, Reply::ToAttempt(refused, None))
            }
            Some(KeyRecord::Running) if setup.real.joins_running => {
                seen.note(Case::RepeatWhileRunning);
                self.answer(
                    flight.request,
                    Reply::ToAttempt(AnswerClass::InProgress, None),
                );
            }
            Some(KeyRecord::Running) | None => {
                if setup.real.key.is_some() {
                    self.there.keys.insert(epoch, KeyRecord::Running);
                }
                let stage = Stage::Work {
                    until: now + PROCESSING,
                };
                self.flights.push(Flight { stage, ..flight });
            }
        }
        Ok(())
    }

    fn cancel_there(&mut self, flight: &Flight, too_late: bool, setup: &Setup, seen: &mut Seen) {
        let (now, epoch) = (self.now, flight.epoch);
        let live = self.live_in(epoch);
        let answer = if too_late {
            seen.note(Case::CancelCameTooLate);
            self.there.beyond_withdrawal.insert(epoch);
            CancelAnswer::TooLate {
                receipt: live.map(receipt),
            }
        } else {
            seen.note(match live {
                Some(_) => Case::CancelWithdrew,
                None => Case::CancelBeforeArrival,
            });
            for effect in &mut self.there.effects {
                if effect.epoch == epoch && effect.withdrawn.is_none() {
                    effect.withdrawn = Some(now);
                }
            }
            if setup.real.cancel_for_good {
                self.there.refused_for_good.insert(epoch);
                self.flights
                    .retain(|f| f.epoch != epoch || !matches!(f.stage, Stage::Work { .. }));
            }
            CancelAnswer::Confirmed {
                object: live.map(|effect| receipt(effect).reference),
            }
        };
        self.answer(flight.request, Reply::ToCancel(answer));
    }

    /// A request that was received is carried out, refused or queued.
    pub(crate) fn act(&mut self, number: u8, deed: Deed, setup: &Setup, seen: &mut Seen) {
        let flight = self.flights.remove(usize::from(number));
        let (request, epoch) = (flight.request, flight.epoch);
        self.there.first_arrivals.entry(epoch).or_insert(self.now);
        if self.there.refused_for_good.contains(&epoch) {
            seen.note(Case::RefusedForGood);
            self.answer(request, Reply::ToAttempt(refused_for_good(), None));
            return;
        }
        let reply = match deed {
            Deed::Effect => {
                let effect = self.make_effect(request, epoch, seen);
                if setup.real.key.is_some() {
                    self.there.keys.insert(epoch, KeyRecord::Done(effect));
                }
                Reply::ToAttempt(AnswerClass::Done, Some(effect))
            }
            Deed::EffectUnreadable => {
                self.budget.unreadable -= 1;
                let effect = self.make_effect(request, epoch, seen);
                if setup.real.key.is_some() {
                    self.there.keys.insert(epoch, KeyRecord::Done(effect));
                }
                Reply::ToAttempt(AnswerClass::Unknown, None)
            }
            Deed::Refusal => {
                self.budget.refusals -= 1;
                if !self.flights.is_empty() {
                    seen.note(Case::LaterRefusalBesideFlight);
                }
                let stored = setup.real.stores_refusals && setup.real.key.is_some();
                if stored {
                    self.there.keys.insert(epoch, KeyRecord::Refused);
                } else if !self.works_on(epoch) {
                    self.there.keys.remove(&epoch);
                }
                let why = String::new();
                Reply::ToAttempt(AnswerClass::Rejected { stored, why }, None)
            }
            Deed::Queue => {
                self.there.queued.push((request, epoch, self.now));
                let object = Some(format!("{request:?}"));
                Reply::ToAttempt(AnswerClass::Accepted { object }, None)
            }
        };
        self.answer(request, reply);
    }

    fn works_on(&self, epoch: Epoch) -> bool {
        let works = |f: &Flight| f.epoch == epoch && matches!(f.stage, Stage::Work { .. });
        self.flights.iter().any(works)
    }

    fn make_effect(&mut self, by: RequestRef, epoch: Epoch, seen: &mut Seen) -> u8 {
        if self.looked {
            seen.note(Case::LandedAfterLookup);
        }
        if self.lease_over {
            seen.note(Case::LandedAfterLeaseOver);
        }
        let number = u8::try_from(self.there.effects.len()).expect("few effects");
        self.there.effects.push(Effect {
            by,
            epoch,
            at: self.now,
            withdrawn: None,
        });
        number
    }

    pub(crate) fn end_queued(&mut self, queued: u8, done: bool, seen: &mut Seen) {
        let (request, epoch, _) = self.there.queued.remove(usize::from(queued));
        self.there.left_queue = Some(self.now);
        if done {
            self.make_effect(request, epoch, seen);
        } else {
            self.budget.refusals -= 1;
            self.there.queue_failed.insert(request);
        }
    }

    pub(crate) fn poll_there(&self, request: RequestRef) -> PollAnswer {
        let effect = self
            .there
            .effects
            .iter()
            .zip(0u8..)
            .find(|(e, _)| e.by == request);
        if let Some((_, number)) = effect {
            PollAnswer::Completed(Some(receipt(number)))
        } else if self.there.queue_failed.contains(&request) {
            PollAnswer::Failed { why: String::new() }
        } else if self.there.queued.iter().any(|(r, ..)| *r == request) {
            PollAnswer::Working
        } else {
            PollAnswer::Inconclusive { why: String::new() }
        }
    }

    /// The answer goes to the socket that waits for it, if one still does.
    fn answer(&mut self, to: RequestRef, reply: Reply) {
        for worker in &mut self.workers {
            if let Phase::Waiting {
                request, answer, ..
            } = &mut worker.phase
                && *request == to
                && answer.is_none()
            {
                *answer = Some(reply);
                return;
            }
        }
    }

    /// The views that differ here.
    pub(crate) fn views(&self, setup: &Setup) -> impl Iterator<Item = View> + use<> {
        let changes = !self.there.effects.is_empty() || !self.there.queued.is_empty();
        let fails = self.budget.failed_lookups > 0;
        [
            Some(View::Current),
            changes.then_some(View::Stale),
            (changes && setup.real.partial).then_some(View::Nothing),
            fails.then_some(View::Fails),
        ]
        .into_iter()
        .flatten()
    }

    /// A question arrives and is looked into at once: any later would only show more. The answer may take its time.
    pub(crate) fn ask(&mut self, worker: u8, view: View, setup: &Setup, seen: &mut Seen) {
        let lag = setup.real.lag;
        // Something from within this tick and the lag before it may not be shown yet.
        let old = |at: u8| at + lag < self.now;
        let shown = |e: &Effect| match view {
            View::Current => e.withdrawn.is_none(),
            View::Stale => old(e.at) && !e.withdrawn.is_some_and(old),
            View::Nothing => !setup.real.partial && e.withdrawn.is_none(),
            View::Fails => false,
        };
        let receipts: Vec<_> = self
            .there
            .effects
            .iter()
            .zip(0u8..)
            .filter(|(e, _)| shown(e))
            .map(|(_, number)| receipt(number))
            .collect();
        let queued = match view {
            View::Current => !self.there.queued.is_empty(),
            View::Stale => {
                self.there.queued.iter().any(|(.., since)| old(*since))
                    || self.there.left_queue.is_some_and(|left| !old(left))
            }
            View::Nothing | View::Fails => false,
        };
        if view == View::Stale && receipts.is_empty() {
            seen.note(Case::StaleLookup);
        }
        let heard = if view == View::Fails {
            self.budget.failed_lookups -= 1;
            if setup.makes(Mistake::FailedLookupIsAbsence) {
                LookupAnswer::Absent
            } else {
                LookupAnswer::Inconclusive { why: String::new() }
            }
        } else if !receipts.is_empty() {
            LookupAnswer::Found(receipts)
        } else if queued {
            LookupAnswer::Queued { object: None }
        } else {
            LookupAnswer::Absent
        };
        let asked = self.now;
        self.set(worker, Phase::Asking { asked, heard });
    }
}

fn arrive(flight: u8, too_late: bool) -> Move {
    Move::Arrive { flight, too_late }
}

fn refused_for_good() -> AnswerClass {
    AnswerClass::Rejected {
        stored: true,
        why: String::new(),
    }
}
