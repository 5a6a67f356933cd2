//! The destination of the model: what arrives, what it does about it, what it answers, what its lookup shows. Its own count
//! of effects is the oracle; nothing here asks the core.

use factum_core::evidence::{Callback, Fact, PollAnswer};
use factum_core::mistake::{Mistake, made};
use factum_core::promise::LookupBy;

use super::cases::Case;
use super::laws::law7;
use super::moves::Move;
use super::setup::PROCESSING;
use super::setup::Setup;
use super::worker::receipt;
use super::world::{
    Effect, Entry, Flight, Heard, Holds, Key, Phase, Queued, Reply, Report, Run, Stage, Tag, World,
};

/// What it does with a request that it works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    Effect,
    /// The effect, and an answer that the contract cannot read.
    EffectUnreadable,
    /// No effect, and an error that is stored under the key.
    Error,
    Refusal,
    Busy,
    /// Somebody else's object is in the way.
    Foreign,
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
        for (number, flight) in self.flights.numbered() {
            match flight.stage {
                Stage::Net { .. } if !flight.tag.cancel => moves.push(arrive(number, false)),
                Stage::Net { .. } => {
                    if !self.entry(&flight.key).is_some_and(|e| e.beyond_withdrawal) {
                        moves.push(arrive(number, false));
                    }
                    if self.live_under(&flight.key).is_some()
                        && !self.is_forgotten(&flight.key, setup)
                    {
                        moves.push(arrive(number, true));
                    }
                }
                Stage::Work { .. } | Stage::Underway { .. } => {
                    moves.extend(self.deeds(setup).map(|deed| Move::Act(number, deed)));
                }
            }
        }
        for (queued, _) in self.there.queued.numbered() {
            moves.push(Move::QueueEnds { queued, done: true });
            if self.left.refusals > 0 {
                moves.push(Move::QueueEnds {
                    queued,
                    done: false,
                });
            }
        }
        for (effect, made) in self.there.effects.numbered() {
            if self.left.deletions > 0 && made.withdrawn.is_none() && !made.deleted {
                moves.push(Move::Delete(effect));
            }
        }
        for (number, _) in self.there.reports.numbered() {
            moves.push(Move::Report(number));
            if self.left.repeats > 0 {
                moves.push(Move::ReportTwice(number));
            }
        }
    }

    fn deeds(&self, setup: &Setup) -> impl Iterator<Item = Deed> + use<> {
        let (real, left) = (setup.real, self.left);
        let refuses = left.refusals > 0 && !real.queues;
        let all = [
            (Deed::Queue, real.queues),
            (Deed::Effect, !real.queues),
            (Deed::EffectUnreadable, left.unreadable > 0 && !real.queues),
            (Deed::Error, left.unreadable > 0 && real.stores_errors),
            (Deed::Refusal, refuses),
            (Deed::Busy, refuses && real.busy),
            (Deed::Foreign, refuses && real.foreign),
        ];
        all.into_iter()
            .filter(|(_, may)| *may)
            .map(|(deed, _)| deed)
    }

    fn entry(&self, key: &Key) -> Option<&Entry> {
        self.there.keys.iter().find(|entry| entry.key == *key)
    }

    /// What is kept about a key, from now on if nothing was.
    fn entry_mut(&mut self, key: Key) -> &mut Entry {
        let at = self.there.keys.iter().position(|entry| entry.key == key);
        let at = at.unwrap_or_else(|| {
            let first = self.now;
            self.there.keys.push(Entry {
                key,
                first,
                ..Entry::default()
            });
            self.there.keys.len() - 1
        });
        &mut self.there.keys[at]
    }

    fn live_under(&self, key: &Key) -> Option<u8> {
        let mut effects = self.there.effects.numbered();
        effects
            .find(|(_, e)| e.key == *key && e.withdrawn.is_none() && !e.by_hand)
            .map(|(number, _)| number)
    }

    /// Whether a cancel would meet a key that is not known any more.
    fn is_forgotten(&self, key: &Key, setup: &Setup) -> bool {
        setup.real.cancel_known.is_some_and(|known| {
            self.entry(key)
                .is_some_and(|entry| self.now >= entry.first + known)
        })
    }

    /// The end of the window, where there is one.
    pub(crate) fn forget_keys(&mut self, run: &Run) {
        let Some(floor) = run.setup.real.key else {
            return;
        };
        let now = self.now;
        for entry in self.there.keys.iter_mut() {
            if now >= entry.first + floor && entry.holds != Holds::Nothing {
                run.note(Case::KeyForgotten);
                entry.holds = Holds::Nothing;
            }
        }
    }

    /// A request arrives.
    pub(crate) fn arrive(&mut self, number: u8, too_late: bool, run: &Run) {
        let flight = self.flights.remove(number);
        if flight.tag.cancel {
            self.cancel_there(&flight, too_late, run);
            return;
        }
        let entry = *self.entry_mut(flight.key);
        run.hold(law7::arrived(self, &flight, entry.first, run.setup));
        if entry.refused_for_good {
            run.note(Case::RefusedForGood);
            self.answer_to(flight.tag, Reply::Refused { stored: true }, run);
            return;
        }
        match entry.holds {
            Holds::Done(effect) => {
                run.note(Case::ResendJoinedByKey);
                self.answer_to(flight.tag, Reply::Done(effect), run);
            }
            Holds::Refused => self.answer_to(flight.tag, Reply::Refused { stored: true }, run),
            Holds::Error => {
                run.note(Case::StoredError);
                self.answer_to(flight.tag, Reply::Unreadable { replayed: true }, run);
            }
            Holds::Running if run.setup.real.joins_running => {
                run.note(Case::RepeatWhileRunning);
                self.answer_to(flight.tag, Reply::InProgress, run);
            }
            Holds::Running | Holds::Nothing => {
                if run.setup.real.key.is_some() {
                    self.entry_mut(flight.key).holds = Holds::Running;
                }
                let until = self.now + PROCESSING;
                self.flights.push(Flight {
                    stage: Stage::Work { until },
                    ..flight
                });
            }
        }
    }

    fn cancel_there(&mut self, flight: &Flight, too_late: bool, run: &Run) {
        let now = self.now;
        if self.is_forgotten(&flight.key, run.setup) {
            run.note(Case::CancelAfterForgetting);
            self.answer_to(flight.tag, Reply::Confirmed(None), run);
            return;
        }
        let live = self.live_under(&flight.key);
        if too_late {
            run.note(Case::CancelCameTooLate);
            self.entry_mut(flight.key).beyond_withdrawal = true;
            self.answer_to(flight.tag, Reply::TooLate(live), run);
            return;
        }
        run.note(match live {
            Some(_) => Case::CancelWithdrew,
            None => Case::CancelBeforeArrival,
        });
        for effect in self.there.effects.iter_mut() {
            if effect.key == flight.key && effect.withdrawn.is_none() && !effect.by_hand {
                effect.withdrawn = Some(now);
            }
        }
        if run.setup.real.cancel_for_good {
            self.entry_mut(flight.key).refused_for_good = true;
            let key = flight.key;
            self.flights
                .retain(|f| f.key != key || !matches!(f.stage, Stage::Work { .. }));
        }
        self.answer_to(flight.tag, Reply::Confirmed(live), run);
    }

    /// A request that was received is carried out, refused or queued.
    pub(crate) fn carry_out(&mut self, number: u8, deed: Deed, run: &Run) {
        let flight = self.flights.remove(number);
        let (tag, key) = (flight.tag, flight.key);
        if self.entry_mut(key).refused_for_good {
            run.note(Case::RefusedForGood);
            self.answer_to(tag, Reply::Refused { stored: true }, run);
            return;
        }
        let keyed = run.setup.real.key.is_some();
        let reply = match deed {
            Deed::Effect | Deed::EffectUnreadable => {
                let effect = self.make_effect(&flight, run);
                if keyed {
                    self.entry_mut(key).holds = Holds::Done(effect);
                }
                if deed == Deed::Effect {
                    Reply::Done(effect)
                } else {
                    self.left.unreadable -= 1;
                    Reply::Unreadable { replayed: false }
                }
            }
            Deed::Error => {
                self.left.unreadable -= 1;
                self.entry_mut(key).holds = Holds::Error;
                Reply::Unreadable { replayed: false }
            }
            Deed::Refusal => self.refuse(&flight, run),
            Deed::Busy | Deed::Foreign => {
                self.left.refusals -= 1;
                self.drop_running(&flight);
                if deed == Deed::Busy {
                    Reply::Busy
                } else {
                    run.note(Case::ForeignObject);
                    Reply::Foreign
                }
            }
            Deed::Queue => {
                run.note(Case::Queued);
                let since = self.now;
                self.there.queued.push(Queued { tag, key, since });
                Reply::Accepted(tag)
            }
        };
        self.answer_to(tag, reply, run);
    }

    fn refuse(&mut self, flight: &Flight, run: &Run) -> Reply {
        self.left.refusals -= 1;
        if self.flights.iter().any(|f| f.tag.act == flight.tag.act) {
            run.note(Case::RefusalBesideFlight);
        }
        let stored = run.setup.real.stores_refusals && run.setup.real.key.is_some();
        if stored {
            run.note(Case::StoredRefusal);
            self.entry_mut(flight.key).holds = Holds::Refused;
        } else {
            self.drop_running(flight);
        }
        Reply::Refused { stored }
    }

    /// The key is free again, unless another request runs under it. A proxy's second delivery of the same bytes under the
    /// same key gets what the first one got.
    fn drop_running(&mut self, flight: &Flight) {
        let key = flight.key;
        if !self.entry_mut(key).holds.is_running() {
            return;
        }
        self.flights.retain(|f| f.tag != flight.tag);
        let runs = |f: &Flight| f.key == key && matches!(f.stage, Stage::Work { .. });
        if !self.flights.iter().any(runs) {
            self.entry_mut(key).holds = Holds::Nothing;
        }
    }

    fn make_effect(&mut self, flight: &Flight, run: &Run) -> u8 {
        let hints = *self.hints();
        for (met, case) in [
            (hints.looked, Case::LandedAfterLookup),
            (hints.lease_over, Case::LandedAfterLeaseOver),
            (hints.closed, Case::LandedAfterClose),
            (flight.tag.act == 1, Case::TwinLanded),
        ] {
            if met {
                run.note(case);
            }
        }
        self.add_effect(flight.tag, flight.key, false, run)
    }

    /// Puts an effect into the ledger.
    pub(crate) fn add_effect(&mut self, tag: Tag, key: Key, by_hand: bool, run: &Run) -> u8 {
        let number = u8::try_from(self.there.effects.len()).expect("few effects");
        self.there.effects.push(Effect {
            tag,
            key,
            at: self.now,
            withdrawn: None,
            by_hand,
            deleted: false,
        });
        if run.setup.real.calls_back && !by_hand {
            let effect = Some(number);
            self.there.reports.push(Report { tag, effect });
        }
        number
    }

    pub(crate) fn end_queued(&mut self, queued: u8, done: bool, run: &Run) {
        let work = self.there.queued.remove(queued);
        self.there.left_queue = self.now + 1;
        if done {
            let flight = Flight {
                tag: work.tag,
                key: work.key,
                ..Flight::default()
            };
            self.make_effect(&flight, run);
            return;
        }
        self.left.refusals -= 1;
        self.there.failed.push(work.tag);
        if run.setup.real.calls_back {
            self.there.reports.push(Report {
                tag: work.tag,
                effect: None,
            });
        }
    }

    pub(crate) fn poll_there(&self, act: u8, object: Option<&str>) -> PollAnswer {
        let named = |tag: &Tag| tag.act == act && object.is_some_and(|name| name == tag.object());
        let mut effects = self.there.effects.numbered();
        if let Some((number, _)) = effects.find(|(_, e)| named(&e.tag)) {
            PollAnswer::Completed(Some(receipt(number)))
        } else if self.there.failed.iter().any(named) {
            PollAnswer::Failed { why: String::new() }
        } else if self.there.queued.iter().any(|q| named(&q.tag)) {
            PollAnswer::Working
        } else {
            PollAnswer::Inconclusive { why: String::new() }
        }
    }

    /// The destination reports by itself. What it reports it may report again.
    pub(crate) fn report(&mut self, number: u8, again: bool, run: &Run) {
        let report = self.there.reports[usize::from(number)];
        if again {
            self.left.repeats -= 1;
        } else {
            self.there.reports.remove(number);
        }
        let act = report.tag.act;
        if self.act(act).log == super::logs::LogId::NONE {
            return;
        }
        run.note(Case::CalledBack);
        if self.judge(act, run).status.is_settled() {
            run.note(Case::CalledBackLate);
        }
        let callback = match report.effect {
            Some(effect) => Callback::Positive(receipt(effect)),
            None => Callback::Negative {
                object: report.tag.object(),
                why: String::new(),
            },
        };
        self.record(act, Fact::CalledBack(callback), run);
    }

    /// The answer goes to the socket that waits for it, if one still does.
    fn answer_to(&mut self, to: Tag, reply: Reply, run: &Run) {
        for worker in 0..2 {
            let nonce = self.nonce(worker);
            if let Phase::Waiting {
                act,
                held,
                wrote,
                answer: None,
            } = self.phase(worker)
                && Self::waits_for(held, act, nonce, run) == to
            {
                let answer = Some(reply);
                self.set(
                    worker,
                    Phase::Waiting {
                        act,
                        held,
                        wrote,
                        answer,
                    },
                );
                return;
            }
        }
    }

    /// The views that differ here.
    pub(crate) fn views(&self, run: &Run) -> impl Iterator<Item = View> + use<> {
        let changes = !self.there.effects.is_empty() || !self.there.queued.is_empty();
        let all = [
            (View::Current, true),
            (View::Stale, changes),
            (View::Nothing, changes && run.setup.real.partial),
            (View::Fails, self.left.failed_lookups > 0),
        ];
        all.into_iter()
            .filter(|(_, may)| *may)
            .map(|(view, _)| view)
    }

    /// A question arrives and is looked into at once: any later would only show more. The answer may take its time. Effects
    /// of a twin carry another reference, and those made by hand carry none.
    pub(crate) fn ask(&mut self, worker: u8, act: u8, view: View, run: &Run) {
        let (now, lag) = (self.now, run.setup.real.lag);
        // Something from within this tick and the lag before it may not be shown yet.
        let old = |at: u8| at + lag < now;
        let account = u8::from(self.store.swapped);
        let shown = |e: &Effect| match view {
            View::Current => e.withdrawn.is_none(),
            View::Stale => old(e.at) && !e.withdrawn.is_some_and(old),
            View::Nothing | View::Fails => false,
        };
        let told = &run.setup.told.promises;
        let by_key = told.lookup.is_some_and(|l| l.by == LookupBy::Key);
        let epoch = self.log(act, run).known.current_epoch();
        let asked_for = |e: &Effect| !by_key || u32::from(e.key.epoch) == epoch.0;
        let ours = |e: &Effect| {
            (e.tag.act == act && !e.by_hand && !e.deleted && asked_for(e))
                || made(Mistake::AnyHitIsOurs)
        };
        let effects = self.there.effects.numbered();
        let bits = effects
            .filter(|(_, e)| shown(e) && ours(e) && e.key.account == account)
            .fold(0u8, |bits, (number, _)| bits | 1 << number);
        let mine = |q: &&Queued| q.tag.act == act && q.key.account == account;
        let mut queue = self.there.queued.iter().filter(mine);
        let queued = match view {
            View::Current => queue.next().is_some(),
            View::Stale => {
                queue.any(|q| old(q.since))
                    || self.there.left_queue != 0 && !old(self.there.left_queue - 1)
            }
            View::Nothing | View::Fails => false,
        };
        let heard = match (view, bits, queued) {
            (View::Fails, ..) => {
                self.left.failed_lookups -= 1;
                run.note(Case::FailedLookup);
                Heard::Inconclusive
            }
            (_, 0, true) => Heard::Queued,
            (_, 0, false) => {
                if view == View::Stale {
                    run.note(Case::StaleLookup);
                }
                Heard::Absent
            }
            (_, bits, _) => Heard::Found(bits),
        };
        let asked = self.store_now();
        self.set(worker, Phase::Asking { act, asked, heard });
    }
}

impl Holds {
    fn is_running(self) -> bool {
        self == Self::Running
    }
}

fn arrive(flight: u8, too_late: bool) -> Move {
    Move::Arrive { flight, too_late }
}
