//! The world of the model: the record, two workers, the network, the destination with its own count of effects. Two worlds
//! that behave alike from here on are equal.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use factum_core::evidence::{AnswerClass, CancelAnswer, Evidence, Fact, LookupAnswer, RequestRef};
use factum_core::{
    Conditions, Epoch, Known, Next, Permission, Status, Step, Timestamp, WorkerNonce, decide,
    due_fact,
};

use super::setup::{Budget, Setup, tick};

#[derive(Clone)]
pub(crate) struct World {
    pub(crate) now: u8,
    pub(crate) known: Rc<Known>,
    /// The records that made `known`, as a sum of hashes: the fold does not depend on their order, so neither does the name
    /// of a world. When a record was stored is left out: no delay is set, so nothing rests on it.
    digest: u128,
    pub(crate) workers: [Worker; 2],
    pub(crate) flights: Vec<Flight>,
    pub(crate) there: Destination,
    pub(crate) budget: Budget,
    pub(crate) excuses: Excuses,
    /// A lookup was answered; a lease ran out. Only for the cases that are to be reached.
    pub(crate) looked: bool,
    pub(crate) lease_over: bool,
}

/// What is beyond the machine: named, and only as much as was given.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) struct Excuses {
    /// Sends that a person or a preference ordered: each may make one effect more.
    pub(crate) ordered: u8,
    /// A person said "it did not happen".
    pub(crate) ruled_out: bool,
    /// A person said "it happened".
    pub(crate) ruled_in: bool,
}

/// One process that carries out actions.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Worker {
    pub(crate) nonce: u8,
    pub(crate) phase: Phase,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) enum Phase {
    Idle,
    /// It loaded the record at this tick and decided to send; its commit is on the way.
    Deciding {
        at: u8,
        seen: Loaded,
    },
    /// The mark is durable; the permission has not been checked for the last time.
    Marked(Held),
    /// Checked at this tick; the write is the next thing that it does.
    Checked {
        held: Held,
        at: u8,
    },
    /// Written at this tick; the socket is open.
    Waiting {
        request: RequestRef,
        wrote: u8,
        answer: Option<Reply>,
    },
    /// The destination was asked, and looked, at this tick; what it saw is on its way.
    Asking {
        asked: u8,
        heard: LookupAnswer,
    },
}

/// The record as a worker loaded it; its version names it.
#[derive(Clone)]
pub(crate) struct Loaded {
    pub(crate) version: u128,
    pub(crate) known: Rc<Known>,
}

impl PartialEq for Loaded {
    fn eq(&self, other: &Self) -> bool {
        self.version == other.version
    }
}

impl Eq for Loaded {}

impl Hash for Loaded {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.version.hash(state);
    }
}

/// A permission in a worker's hands. It cannot be cloned; worlds that differ only in history share it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Held(pub(crate) Rc<Permission>);

impl Hash for Held {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.0.request(), self.0.epoch(), self.0.valid_until()).hash(state);
    }
}

/// What the destination answered, on its way to the worker.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) enum Reply {
    ToAttempt(AnswerClass, Option<u8>),
    ToCancel(CancelAnswer),
}

/// An effect request that has left.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Flight {
    pub(crate) request: RequestRef,
    pub(crate) epoch: Epoch,
    pub(crate) same_key: bool,
    pub(crate) stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Stage {
    /// On the network: it arrives by this tick, or never.
    Net { until: u8 },
    /// Received: it is carried out by this tick.
    Work { until: u8 },
    /// On the network or received, where the difference shows nowhere: carried out by this tick, or never.
    Underway { until: u8 },
}

/// The outside system and its own ledger.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Destination {
    pub(crate) effects: Vec<Effect>,
    pub(crate) keys: BTreeMap<Epoch, KeyRecord>,
    /// When anything arrived first under this epoch; never forgotten here, so that the window can be checked.
    pub(crate) first_arrivals: BTreeMap<Epoch, u8>,
    pub(crate) refused_for_good: BTreeSet<Epoch>,
    pub(crate) beyond_withdrawal: BTreeSet<Epoch>,
    /// Work that it queued at this tick and has not ended.
    pub(crate) queued: Vec<(RequestRef, Epoch, u8)>,
    /// When work left the queue last.
    pub(crate) left_queue: Option<u8>,
    pub(crate) queue_failed: BTreeSet<RequestRef>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Effect {
    pub(crate) by: RequestRef,
    pub(crate) epoch: Epoch,
    pub(crate) at: u8,
    pub(crate) withdrawn: Option<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum KeyRecord {
    Running,
    Done(u8),
    Refused,
}

/// What the core says of a world.
pub(crate) struct Judged {
    pub(crate) status: Status,
    pub(crate) next: Next,
    pub(crate) due: Option<Fact>,
}

/// Asks the core about a world, once per record and instant: the destination and the network are nothing to it.
pub(crate) struct Judge<'a> {
    pub(crate) setup: &'a Setup,
    known: RefCell<HashMap<(u128, u8), Rc<Judged>>>,
}

impl<'a> Judge<'a> {
    pub(crate) fn new(setup: &'a Setup) -> Self {
        Self {
            setup,
            known: RefCell::default(),
        }
    }

    pub(crate) fn judge(&self, world: &World) -> Rc<Judged> {
        let name = (world.digest, world.now);
        if let Some(judged) = self.known.borrow().get(&name) {
            return Rc::clone(judged);
        }
        let conditions = conditions(self.setup, tick(world.now));
        let told = &self.setup.told;
        let judged = Rc::new(Judged {
            status: world.known.status(told),
            next: decide(told, &world.known, &conditions),
            due: due_fact(told, &world.known, &conditions),
        });
        self.known.borrow_mut().insert(name, Rc::clone(&judged));
        judged
    }
}

impl World {
    pub(crate) fn start(setup: &Setup) -> Self {
        let idle = |nonce| Worker {
            nonce,
            phase: Phase::Idle,
        };
        Self {
            now: 0,
            known: Rc::new(Known::default()),
            digest: 0,
            workers: [idle(1), idle(101)],
            flights: Vec::new(),
            there: Destination::default(),
            budget: setup.budget,
            excuses: Excuses::default(),
            looked: false,
            lease_over: false,
        }
    }

    /// Writes a record; never refused.
    pub(crate) fn record(&mut self, fact: Fact) {
        self.digest = self.digest.wrapping_add(wide_hash(&fact));
        let id = self.known.next_id();
        Rc::make_mut(&mut self.known).absorb(&Evidence {
            id,
            at: tick(self.now),
            fact,
        });
    }

    /// Equal for worlds that behave alike from here on.
    pub(crate) fn name(&self) -> u128 {
        let state = (self.now, self.digest, &self.workers, &self.flights);
        wide_hash(&(state, &self.there, self.budget, self.excuses))
    }

    /// Nothing can happen any more but the passing of time, and time changes nothing either.
    pub(crate) fn is_quiet(&self, judged: &Judged) -> bool {
        let resting = matches!(judged.next.step, Step::None | Step::Review(_));
        let harmless = |worker: &Worker| match &worker.phase {
            Phase::Idle | Phase::Asking { .. } => true,
            Phase::Waiting { answer, .. } => answer.is_none(),
            Phase::Deciding { .. } | Phase::Marked(_) | Phase::Checked { .. } => false,
        };
        resting
            && judged.due.is_none()
            && self.flights.is_empty()
            && self.there.queued.is_empty()
            && self.workers.iter().all(harmless)
    }

    pub(crate) fn nonce(&self, worker: u8) -> WorkerNonce {
        WorkerNonce(u64::from(self.workers[usize::from(worker)].nonce))
    }

    pub(crate) fn phase(&self, worker: u8) -> &Phase {
        &self.workers[usize::from(worker)].phase
    }

    pub(crate) fn set(&mut self, worker: u8, phase: Phase) {
        self.workers[usize::from(worker)].phase = phase;
    }

    pub(crate) fn load(&self) -> Loaded {
        Loaded {
            version: self.digest,
            known: Rc::clone(&self.known),
        }
    }

    /// Whether the record is still as it was loaded: what every commit is fenced by.
    pub(crate) fn is_unchanged(&self, loaded: &Loaded) -> bool {
        self.digest == loaded.version
    }

    /// Effects that exist now: the oracle of every law.
    pub(crate) fn live_effects(&self) -> usize {
        let live = self.there.effects.iter().filter(|e| e.withdrawn.is_none());
        live.count()
    }
}

fn wide_hash(value: &impl Hash) -> u128 {
    let mut hasher = Wide(0x6a09_e667_f3bc_c908, 0xbb67_ae85_84ca_a73b);
    value.hash(&mut hasher);
    u128::from(hasher.0) << 64 | u128::from(hasher.1)
}

/// A hash of 128 bits that takes numbers whole. Two worlds of one hash would hide one of them; among millions that is as
/// likely as one in 10²⁵.
struct Wide(u64, u64);

impl Hasher for Wide {
    fn finish(&self) -> u64 {
        self.0 ^ self.1
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, n: u64) {
        let spread = |z: u64, by: u64| {
            let z = (z ^ (z >> 29)).wrapping_mul(by);
            z ^ (z >> 32)
        };
        self.0 = spread(self.0.rotate_left(23) ^ n, 0x9e37_79b9_7f4a_7c15);
        self.1 = spread(
            self.1.rotate_left(41).wrapping_add(n),
            0xd6e8_feb8_6659_fd93,
        );
    }

    fn write_u8(&mut self, n: u8) {
        self.write_u64(n.into());
    }

    fn write_u32(&mut self, n: u32) {
        self.write_u64(n.into());
    }

    fn write_i64(&mut self, n: i64) {
        self.write_u64(n.cast_unsigned());
    }

    fn write_usize(&mut self, n: usize) {
        self.write_u64(u64::try_from(n).unwrap_or(u64::MAX));
    }

    fn write_isize(&mut self, n: isize) {
        self.write_u64(u64::try_from(n).unwrap_or(u64::MAX));
    }
}

pub(crate) fn conditions(setup: &Setup, now: Timestamp) -> Conditions<'_> {
    Conditions {
        now,
        current: &setup.told.promises,
        restore_released: true,
        clock_in_doubt: false,
        account_in_doubt: false,
        subject_overtaken: false,
    }
}
