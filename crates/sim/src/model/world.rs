//! The world of the model: the record, two workers, the network, the destination with its own count of effects. A world is
//! plain data and copied whole; two worlds that behave alike from here on have one fingerprint.

use std::cell::{Cell, RefCell};
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use factum_core::evidence::{Fact, RequestRef};
use factum_core::{Step, Timestamp, WorkerNonce};

use super::callers::Caller;
use super::cases::{Case, Cases};
use super::few::Few;
use super::fingerprint;
use super::laws::{self, Broken};
use super::logs::{Doubts, HeldId, Judged, Log, LogId, Logs};
use super::setup::{Budget, STEP, Setup, tick};

/// Stands for "never happened" among ticks.
pub(crate) const NEVER: u8 = u8::MAX;

/// Everything that there is at one moment.
#[derive(Clone, Copy, Hash)]
pub(crate) struct World {
    /// The true time.
    pub(crate) now: u8,
    pub(crate) acts: [Act; 2],
    pub(crate) workers: [Worker; 2],
    pub(crate) flights: Few<Flight, 8>,
    pub(crate) there: There,
    pub(crate) left: Budget,
    pub(crate) store: Keeping,
    /// Where a setting has callers who submit at once.
    pub(crate) callers: [Caller; 2],
    hints: Hints,
}

/// One action: its log in the store, and what is beyond the machine about it.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Act {
    pub(crate) log: LogId,
    pub(crate) excuses: Excuses,
    /// Whether any byte of it ever left, whatever the store knows.
    pub(crate) left: bool,
    /// The identity that it was submitted under.
    pub(crate) identity: u8,
    /// What it is to bring about.
    pub(crate) content: u8,
    /// When it was recorded, where twins are held off; else it tells nothing apart.
    pub(crate) recorded_at: u8,
}

/// What is beyond the machine: named, and only as much as was given.
#[derive(Clone, Copy, Debug, Default, Hash)]
pub(crate) struct Excuses {
    /// Sends that a person or a preference ordered: each may make one effect more.
    pub(crate) ordered: u8,
    /// Orders to send again that a person gave.
    pub(crate) orders: u8,
    /// Effects that a person made by hand.
    pub(crate) by_hand: u8,
    /// Requests that a proxy delivered twice, and no key tells the second from the first.
    pub(crate) proxied: u8,
    /// A person said "it did not happen".
    pub(crate) ruled_out: bool,
    /// A person said "it happened".
    pub(crate) ruled_in: bool,
}

/// One process that carries out actions.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Worker {
    pub(crate) nonce: u8,
    pub(crate) phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Phase {
    Idle,
    /// It loaded the log at this instant of the store and decided to send; its commit is on the way.
    Deciding {
        act: u8,
        at: u8,
        log: LogId,
        doubts: Doubts,
    },
    /// The mark is durable since this tick; the store's answer has not been read.
    Stored {
        act: u8,
        held: HeldId,
        at: u8,
    },
    /// The permission is in its hands, and has not been checked for the last time.
    Marked {
        act: u8,
        held: HeldId,
        clock: Clock,
    },
    /// Checked at this tick; the write is the next thing that it does.
    Checked {
        act: u8,
        held: HeldId,
        at: u8,
        clock: Clock,
        /// The account of the credential that it read then, and will use.
        account: u8,
    },
    /// Written at this tick; the socket is open.
    Waiting {
        act: u8,
        held: HeldId,
        wrote: u8,
        answer: Option<Reply>,
    },
    /// The destination was asked, and looked, at this tick; what it saw is on its way.
    Asking {
        act: u8,
        asked: u8,
        heard: Heard,
    },
}

/// How a process's idea of the store's time stands to the true time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Clock {
    /// The store's own clock was this far behind at the mark, so that both count alike.
    pub(crate) scale: u8,
    /// And the process is this far behind the store.
    pub(crate) behind: u8,
}

/// What the destination answered, on its way to the worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Reply {
    Done(u8),
    Accepted(Tag),
    Refused { stored: bool },
    Busy,
    InProgress,
    Foreign,
    Unreadable { replayed: bool },
    Confirmed(Option<u8>),
    TooLate(Option<u8>),
}

/// What a lookup saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Heard {
    /// The effects of these bits.
    Found(u8),
    Queued,
    Absent,
    Inconclusive,
}

/// A request as its process wrote it. After a restore, numbers of attempts are given again; processes are not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Tag {
    pub(crate) act: u8,
    pub(crate) nonce: u8,
    pub(crate) cancel: bool,
    pub(crate) no: u8,
}

/// An effect request that has left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Flight {
    pub(crate) tag: Tag,
    pub(crate) key: Key,
    /// It was sent because the destination would recognise the key.
    pub(crate) same_key: bool,
    /// A proxy's second delivery.
    pub(crate) copy: bool,
    pub(crate) stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Stage {
    /// On the network: it arrives by this tick, or never.
    Net { until: u8 },
    /// Received: it is carried out by this tick.
    Work { until: u8 },
    /// On the network or received, where the difference shows nowhere: carried out by this tick, or never.
    Underway { until: u8 },
}

impl Default for Stage {
    fn default() -> Self {
        Self::Net { until: 0 }
    }
}

/// A provider key as the destination sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    /// What it was made from: the action's identity.
    pub(crate) of: u8,
    pub(crate) epoch: u8,
    /// The account that the credential belongs to.
    pub(crate) account: u8,
}

/// The outside system and its own ledger.
#[derive(Clone, Copy, Debug, Default, Hash)]
pub(crate) struct There {
    pub(crate) effects: Few<Effect, 8>,
    pub(crate) keys: Few<Entry, 6>,
    pub(crate) queued: Few<Queued, 4>,
    /// Queued work that ended without effect.
    pub(crate) failed: Few<Tag, 4>,
    /// Reports on their way to us.
    pub(crate) reports: Few<Report, 4>,
    /// When work left the queue last, counted from one.
    pub(crate) left_queue: u8,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Effect {
    pub(crate) tag: Tag,
    pub(crate) key: Key,
    pub(crate) at: u8,
    pub(crate) withdrawn: Option<u8>,
    pub(crate) by_hand: bool,
    /// Deleted since: it happened, and no lookup shows it.
    pub(crate) deleted: bool,
}

/// What it keeps about a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Entry {
    pub(crate) key: Key,
    /// When anything arrived first under it; never forgotten here, so that windows can be checked.
    pub(crate) first: u8,
    pub(crate) holds: Holds,
    pub(crate) refused_for_good: bool,
    pub(crate) beyond_withdrawal: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Holds {
    #[default]
    Nothing,
    Running,
    Done(u8),
    Refused,
    Error,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Queued {
    pub(crate) tag: Tag,
    pub(crate) key: Key,
    pub(crate) since: u8,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Report {
    pub(crate) tag: Tag,
    pub(crate) effect: Option<u8>,
}

/// How it stands with the store, its clock and its secrets.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Keeping {
    /// Restored, and not released.
    pub(crate) held: bool,
    pub(crate) restored_at: u8,
    pub(crate) copy_until: u8,
    /// When its clock stepped back.
    pub(crate) stepped_at: u8,
    /// The secret belongs to another account.
    pub(crate) swapped: bool,
}

/// Only for the cases that are to be reached; no part of what tells worlds apart.
#[derive(Clone, Copy, Default)]
pub(crate) struct Hints {
    pub(crate) looked: bool,
    pub(crate) lease_over: bool,
    pub(crate) closed: bool,
}

impl Hash for Hints {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// One exploration: its setting, its logs, and what was met on the way.
pub(crate) struct Run<'a> {
    pub(crate) setup: &'a Setup,
    pub(crate) logs: Logs,
    cases: Cell<Cases>,
    broken: RefCell<Option<Broken>>,
}

impl<'a> Run<'a> {
    pub(crate) fn new(setup: &'a Setup) -> Self {
        let ordered = setup.budget.restores > 0;
        Self {
            setup,
            logs: Logs::new(
                setup.told.clone(),
                setup.current.clone(),
                ordered,
                setup.dated,
            ),
            cases: Cell::default(),
            broken: RefCell::default(),
        }
    }

    pub(crate) fn note(&self, case: Case) {
        let mut cases = self.cases.get();
        cases.note(case);
        self.cases.set(cases);
    }

    pub(crate) fn cases(&self) -> Cases {
        self.cases.get()
    }

    /// What a law says about a step; the first that breaks counts.
    pub(crate) fn hold(&self, law: Result<(), Broken>) {
        if let Err(broken) = law {
            self.broken.borrow_mut().get_or_insert(broken);
        }
    }

    pub(crate) fn take_broken(&self) -> Result<(), Broken> {
        self.broken.borrow_mut().take().map_or(Ok(()), Err)
    }
}

impl World {
    pub(crate) fn start(setup: &Setup) -> Self {
        let idle = |nonce| Worker {
            nonce,
            phase: Phase::Idle,
        };
        let act = |log, identity| Act {
            log,
            excuses: Excuses::default(),
            left: false,
            identity,
            content: 0,
            recorded_at: NEVER,
        };
        let first = match setup.callers {
            None => LogId::EMPTY,
            Some(_) => LogId::NONE,
        };
        Self {
            now: 0,
            acts: [act(first, 0), act(LogId::NONE, 1)],
            workers: [idle(1), idle(101)],
            flights: Few::default(),
            there: There::default(),
            left: setup.budget,
            store: Keeping {
                held: false,
                restored_at: NEVER,
                copy_until: NEVER,
                stepped_at: NEVER,
                swapped: false,
            },
            callers: [Caller::Away; 2],
            hints: Hints::default(),
        }
    }

    /// Equal for worlds that behave alike from here on.
    pub(crate) fn name(&self) -> u128 {
        fingerprint::of(self)
    }

    /// The store's time: it never goes back, and stands still after its clock stepped back.
    pub(crate) fn store_now(&self) -> u8 {
        if self.store.stepped_at == NEVER {
            self.now
        } else {
            self.store.stepped_at.max(self.now.saturating_sub(STEP))
        }
    }

    pub(crate) fn stamp(&self) -> Timestamp {
        tick(self.store_now())
    }

    pub(crate) fn act(&self, act: u8) -> &Act {
        &self.acts[usize::from(act)]
    }

    pub(crate) fn act_mut(&mut self, act: u8) -> &mut Act {
        &mut self.acts[usize::from(act)]
    }

    pub(crate) fn hints(&mut self) -> &mut Hints {
        &mut self.hints
    }

    /// The actions that are recorded.
    pub(crate) fn recorded(&self) -> impl Iterator<Item = u8> + use<> {
        let acts = self.acts;
        (0..2u8).filter(move |act| acts[usize::from(*act)].log != LogId::NONE)
    }

    pub(crate) fn log(&self, act: u8, run: &Run) -> Rc<Log> {
        run.logs.get(self.act(act).log)
    }

    /// What decisions about this action rest on beside its log.
    pub(crate) fn doubts(&self, act: u8, run: &Run) -> Doubts {
        Doubts {
            held: self.store.held,
            clock: self.store.stepped_at != NEVER,
            account: self.store.swapped,
            overtaken: run.setup.one_subject && act == 0 && self.acts[1].log != LogId::NONE,
        }
    }

    pub(crate) fn judge(&self, act: u8, run: &Run) -> Rc<Judged> {
        let doubts = self.doubts(act, run);
        run.logs.judge(self.act(act).log, self.stamp(), doubts)
    }

    /// Writes a record; never refused.
    pub(crate) fn record(&mut self, act: u8, fact: Fact, run: &Run) {
        run.hold(laws::law9::recorded(self, act, &fact));
        let at = self.stamp();
        let log = run.logs.record(self.act(act).log, fact, at);
        self.act_mut(act).log = log;
    }

    /// Nothing can happen any more but the passing of time, and time changes nothing either.
    pub(crate) fn is_quiet(&self, run: &Run) -> bool {
        let harmless = |worker: &Worker| match &worker.phase {
            Phase::Idle | Phase::Asking { .. } => true,
            Phase::Waiting { answer, .. } => answer.is_none(),
            Phase::Deciding { .. }
            | Phase::Stored { .. }
            | Phase::Marked { .. }
            | Phase::Checked { .. } => false,
        };
        let rests = |act| {
            let judged = self.judge(act, run);
            matches!(judged.next.step, Step::None | Step::Review(_)) && judged.due.is_none()
        };
        self.flights.is_empty()
            && self.there.queued.is_empty()
            && self.workers.iter().all(harmless)
            && self.recorded().count() == usize::from(run.setup.actions)
            && (run.setup.callers.is_none() || self.callers.iter().all(Caller::is_answered))
            && self.recorded().all(rests)
    }

    pub(crate) fn nonce(&self, worker: u8) -> WorkerNonce {
        WorkerNonce(u64::from(self.workers[usize::from(worker)].nonce))
    }

    pub(crate) fn phase(&self, worker: u8) -> Phase {
        self.workers[usize::from(worker)].phase
    }

    pub(crate) fn set(&mut self, worker: u8, phase: Phase) {
        self.workers[usize::from(worker)].phase = phase;
    }

    /// Effects of this action that exist now: the oracle of every law.
    pub(crate) fn live_effects(&self, act: u8) -> usize {
        self.live(act).count()
    }

    /// The same without those that a person made.
    pub(crate) fn live_by_us(&self, act: u8) -> usize {
        self.live(act).filter(|effect| !effect.by_hand).count()
    }

    pub(crate) fn live(&self, act: u8) -> impl Iterator<Item = &Effect> {
        let effects = self.there.effects.iter();
        effects.filter(move |e| e.tag.act == act && e.withdrawn.is_none())
    }

    /// Whether some process holds a permission for this action that it may still use.
    pub(crate) fn is_in_hands(&self, act: u8) -> bool {
        let holds = |worker: &Worker| match worker.phase {
            Phase::Stored { act: of, .. }
            | Phase::Marked { act: of, .. }
            | Phase::Checked { act: of, .. } => of == act,
            Phase::Idle | Phase::Deciding { .. } | Phase::Waiting { .. } | Phase::Asking { .. } => {
                false
            }
        };
        self.workers.iter().any(holds)
    }

    /// Whether something of this action is on its way that can still become an effect.
    pub(crate) fn may_still_land(&self, act: u8) -> bool {
        let entry = |key: &Key| self.there.keys.iter().find(|entry| entry.key == *key);
        let refused =
            |key: &Key| entry(key).is_some_and(|e| e.refused_for_good || e.holds == Holds::Refused);
        let flying = self
            .flights
            .iter()
            .any(|flight| flight.tag.act == act && !flight.tag.cancel && !refused(&flight.key));
        flying || self.there.queued.iter().any(|queued| queued.tag.act == act)
    }
}

impl Tag {
    pub(crate) fn of(act: u8, worker: WorkerNonce, request: RequestRef) -> Self {
        let small = |n: u64| u8::try_from(n).expect("few of them");
        let (cancel, no) = match request {
            RequestRef::Attempt(attempt) => (false, attempt.0),
            RequestRef::Cancel(no) => (true, no),
        };
        Self {
            act,
            nonce: small(worker.0),
            cancel,
            no: small(no.into()),
        }
    }

    /// The destination's name for the work that this request queued.
    pub(crate) fn object(self) -> String {
        format!("{}-{}-{}", self.act, self.nonce, self.no)
    }
}
