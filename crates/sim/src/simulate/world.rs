//! The world of a run: true time, what is to happen and when, the store, the processes and the destinations.
//!
//! Happenings are taken in the order of their instants. Whatever is random was drawn when a happening was planned, from the
//! stream of its own concern.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use factum_core::evidence::RequestRef;
use factum_core::{ActionId, Limits, Span, Timestamp, WorkerNonce};
use factum_engine::driver::DestinationPolicy;
use factum_engine::driver::gate::GateSettings;
use factum_engine::{Keys, Operation};
use factum_faults::Draws;
use factum_store::{MemoryStore, Store};

use super::callers::Intent;
use super::dice::Dice;
use super::elsewhere::{self, Deed, Elsewhere};
use super::laws::{Broken, Tally};
use super::operations::{self, Served, Setting};
use super::options::{Options, Trouble};
use super::outside::Outside;
use super::place::{Op, Place};
use super::process::{Process, Task};
use super::twins;
use super::wire::{Flight, Question, Sending, plan};

/// When a run begins: any instant would do.
pub(super) const BEGIN: i64 = 1_800_000_000_000_000;

/// What is to happen.
pub(super) enum Happening {
    /// A caller submits its intent, or repeats that.
    Caller(usize),
    /// Something goes on in a process.
    In(WorkerNonce, Task),
    /// An effect request arrives.
    Arrives(Flight),
    /// The work on it ends.
    Lands(u64, Flight),
    /// A job ends.
    Finishes(String),
    /// A question arrives.
    Asked(Question),
    /// A report of a destination arrives: whose intent, of which job, and what it says.
    Called(String, String, Result<String, String>),
    /// Somebody outside does something.
    Outside(Outside),
    /// A worker elsewhere does something.
    Elsewhere(Deed),
}

/// One operation of this run, at a destination of its own.
pub(super) struct Line {
    pub(super) served: Served,
    pub(super) operation: Operation,
    pub(super) destination: String,
}

impl Line {
    /// The digest of its contract, as it is at the begin of the run.
    fn digest(&self) -> [u8; 32] {
        let contract = self.operation.contract.as_ref();
        contract.map_or([0; 32], |own| own.contract.digest())
    }
}

/// The streams of draws.
pub(super) struct Streams {
    pub(super) callers: Dice,
    pub(super) network: Dice,
    pub(super) place: Dice,
    pub(super) store: Dice,
    pub(super) fate: Dice,
    pub(super) people: Dice,
    pub(super) twins: Dice,
    pub(super) elsewhere: Dice,
    pub(super) approvals: Dice,
}

impl Streams {
    fn new(seed: u64) -> Self {
        let stream = |name| Dice::new(seed, name);
        Self {
            callers: stream("callers"),
            network: stream("network"),
            place: stream("place"),
            store: stream("store"),
            fate: stream("fate"),
            people: stream("people"),
            twins: stream("twins"),
            elsewhere: stream("elsewhere"),
            approvals: stream("approvals"),
        }
    }
}

/// The world.
pub(super) struct World {
    pub(super) options: Options,
    pub(super) dice: Streams,
    pub(super) now: Timestamp,
    /// True time and the wall clock's step, as the store's clock reads them.
    reading: Arc<(AtomicI64, AtomicI64)>,
    queue: BTreeMap<(Timestamp, u64), Happening>,
    planned: u64,
    pub(super) store: MemoryStore,
    pub(super) backup: Option<MemoryStore>,
    pub(super) keys: Keys,
    pub(super) lines: Vec<Line>,
    /// What a process that starts now is told of each destination.
    pub(super) policies: BTreeMap<String, DestinationPolicy>,
    pub(super) processes: Vec<Process>,
    pub(super) nonces: u64,
    pub(super) held_max: usize,
    pub(super) place: Place,
    pub(super) faults: Draws,
    pub(super) elsewhere: Elsewhere,
    pub(super) sends: BTreeMap<u64, Sending>,
    pub(super) flying: BTreeMap<usize, u32>,
    /// What was written, and by whom: a permission is for one request.
    pub(super) written: BTreeSet<(ActionId, RequestRef, WorkerNonce)>,
    /// Evidence that a process has been handed, and which process that was.
    pub(super) handed: BTreeMap<(ActionId, RequestRef), WorkerNonce>,
    pub(super) intents: Vec<Intent>,
    pub(super) ids: BTreeMap<ActionId, usize>,
    pub(super) paused: bool,
    pub(super) disk_full: bool,
    pub(super) calm: bool,
    pub(super) restores: u32,
    pub(super) touched: BTreeSet<usize>,
    pub(super) broken: Option<Broken>,
    pub(super) tally: Tally,
    trace: Option<String>,
}

impl World {
    pub(super) fn new(options: &Options, served: &[Served], traced: bool) -> Self {
        let seed = options.seed;
        let mut dice = Dice::new(seed, "setting");
        let reading = Arc::new((AtomicI64::new(BEGIN), AtomicI64::new(0)));
        let store = store(options, reading.clone());
        let lines = lines(options, served, &mut dice);
        let gate = gate(options, &mut dice);
        let policies = lines.iter().map(|line| {
            let promises = line.operation.promises.clone();
            let policy = DestinationPolicy {
                place: None,
                account: None,
                contracts: BTreeMap::from([("do".to_owned(), line.digest())]),
                gate,
                operations: BTreeMap::from([("do".to_owned(), promises)]),
                any_operation: None,
                by_workers: (line.operation.by_workers.iter())
                    .map(|by| ("do".to_owned(), *by))
                    .collect(),
            };
            (line.destination.clone(), policy)
        });
        let held_max = if options.has(Trouble::Tight) {
            dice.one_of(&[1, 2])
        } else {
            8
        };
        let faults = Draws::new(plan(options, &mut dice));
        let mut world = Self {
            options: options.clone(),
            dice: Streams::new(seed),
            now: Timestamp::from_micros(BEGIN),
            reading,
            queue: BTreeMap::new(),
            planned: 0,
            store,
            backup: None,
            keys: Keys::new([7; 32]),
            policies: policies.collect(),
            lines,
            processes: Vec::new(),
            nonces: 0,
            held_max,
            place: Place::default(),
            faults,
            elsewhere: Elsewhere::default(),
            sends: BTreeMap::new(),
            flying: BTreeMap::new(),
            written: BTreeSet::new(),
            handed: BTreeMap::new(),
            intents: Vec::new(),
            ids: BTreeMap::new(),
            paused: false,
            disk_full: false,
            calm: false,
            restores: 0,
            touched: BTreeSet::new(),
            broken: None,
            tally: Tally::default(),
            trace: traced.then(String::new),
        };
        world.begin();
        world
    }

    fn begin(&mut self) {
        self.note(|world| world.setting());
        // How many there are decides whether one of them knows its store to be its own.
        let places = self.options.workers.max(1);
        self.processes = (0..places).map(|_| Process::down()).collect();
        for place in 0..places {
            if place > 0 && self.dice.fate.chance(30) {
                self.join_later(place);
            } else {
                self.start(place);
            }
        }
        self.intend();
        self.trouble();
        self.hire();
    }

    fn setting(&self) -> String {
        let lines = self.lines.iter().map(|line| {
            let intent = &line.operation;
            let consequence = intent.promises.consequence;
            let (name, preference) = (line.served.name, &intent.preference);
            format!(
                "{} is {name}, {consequence:?}, {preference:?}",
                line.destination
            )
        });
        let lines: Vec<String> = lines.collect();
        let troubles: Vec<&str> = self.options.troubles.iter().map(|t| t.name()).collect();
        format!(
            "{}; troubles: {}; {}",
            lines.join("; "),
            troubles.join(" "),
            self.faults.plan()
        )
    }

    /// Whether there is this kind of trouble now.
    pub(super) fn has(&self, trouble: Trouble) -> bool {
        !self.calm && self.options.has(trouble)
    }

    /// One process that knows its store to be its own.
    pub(super) fn alone(&self) -> bool {
        self.processes.len() == 1
    }

    // ---- time

    /// Plans a happening.
    pub(super) fn plan(&mut self, after: Span, happening: Happening) {
        self.planned += 1;
        let at = self.now + after.max(Span::ZERO);
        self.queue.insert((at, self.planned), happening);
    }

    /// The next happening, with time gone on to it.
    pub(super) fn next(&mut self) -> Option<Happening> {
        let ((at, _), happening) = self.queue.pop_first()?;
        self.now = self.now.max(at);
        let time = self.now.as_micros();
        self.reading.0.store(time, Ordering::Relaxed);
        Some(happening)
    }

    /// When the next happening is due.
    pub(super) fn next_at(&self) -> Option<Timestamp> {
        self.queue.first_key_value().map(|((at, _), _)| *at)
    }

    /// How far the wall clock of this host stands from true time.
    pub(super) fn wall_step(&self) -> i64 {
        self.reading.1.load(Ordering::Relaxed)
    }

    /// Steps the wall clock that the store reads.
    pub(super) fn step_store_clock(&mut self, to: i64) {
        self.reading.1.store(to, Ordering::Relaxed);
    }

    // ---- one happening

    pub(super) fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Caller(n) => self.submit(n),
            Happening::In(nonce, task) => self.go_on(nonce, task),
            Happening::Arrives(flight) => self.arrive(flight),
            Happening::Lands(work, flight) => self.land(work, flight),
            Happening::Finishes(job) => self.finish(&job),
            Happening::Asked(question) => self.asked(question),
            Happening::Called(business, job, said) => self.called_back(&business, job, said),
            Happening::Outside(outside) => self.outside(outside),
            Happening::Elsewhere(deed) => self.elsewhere(deed),
        }
        self.hold_against_the_laws();
    }

    // ---- names

    pub(super) fn intent_of(&self, business: &str) -> Option<usize> {
        business.strip_prefix('b')?.parse().ok()
    }

    pub(super) fn op_of(&self, destination: &str) -> Op {
        let line = self
            .lines
            .iter()
            .position(|line| line.destination == destination);
        line.unwrap_or(0)
    }

    pub(super) fn touch(&mut self, action: ActionId) {
        if let Some(n) = self.ids.get(&action) {
            self.touched.insert(*n);
        }
    }

    // ---- the trace

    /// One line of the trace; its words are only made where somebody reads them.
    pub(super) fn note(&mut self, words: impl FnOnce(&Self) -> String) {
        if self.trace.is_none() {
            return;
        }
        let words = words(self);
        let at = self.now.as_micros() - BEGIN;
        let (whole, millis) = (at / 1_000_000, at / 1_000 % 1_000);
        if let Some(trace) = &mut self.trace {
            let _ = writeln!(trace, "{whole:>7}.{millis:03}  {words}");
        }
    }

    pub(super) fn take_trace(&mut self) -> String {
        self.trace.take().unwrap_or_default()
    }

    /// Short names for the trace.
    pub(super) fn called(&self, action: ActionId) -> String {
        match self.ids.get(&action) {
            Some(n) => format!("a{n}"),
            None => action.to_string(),
        }
    }
}

/// A store that reads this clock: true time and the wall clock's step. Several workers share theirs, as on a server.
fn store(options: &Options, reading: Arc<(AtomicI64, AtomicI64)>) -> MemoryStore {
    let clock: factum_store::Clock = Arc::new(move || {
        let (time, step) = (
            reading.0.load(Ordering::Relaxed),
            reading.1.load(Ordering::Relaxed),
        );
        Timestamp::from_micros(time + step)
    });
    if options.workers > 1 {
        MemoryStore::shared(clock)
    } else {
        MemoryStore::new(clock)
    }
}

/// What a future of the memory store holds.
pub(super) fn ready<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match future.as_mut().poll(&mut context) {
        std::task::Poll::Ready(value) => value,
        std::task::Poll::Pending => unreachable!("the memory store's futures are ready at once"),
    }
}

fn lines(options: &Options, served: &[Served], dice: &mut Dice) -> Vec<Line> {
    let count = 1 + dice.index(3);
    let tight = options.has(Trouble::Tight);
    let twins = twins::guard(options);
    let mut workers = Dice::new(options.seed, "by workers");
    (0..count)
        .map(|n| {
            let served = served[dice.index(served.len())].clone();
            let setting = Setting {
                irreversible: !served.behaves.upsert && dice.chance(25),
                neither: match dice.below(8) {
                    0 => "prefer_missing",
                    1 => "prefer_duplicate",
                    _ => "ask",
                },
                finish: dice.chance(15),
                limits: limits(tight, dice),
            };
            let operation = served.operation(setting);
            Line {
                operation: Operation {
                    twin_guard: twins,
                    by_workers: elsewhere::by_workers(options, &operation, &mut workers),
                    ..operation
                },
                served,
                destination: format!("d{n}"),
            }
        })
        .collect()
}

fn limits(tight: bool, dice: &mut Dice) -> Limits {
    let usual = Limits::default();
    if !tight {
        return usual;
    }
    Limits {
        attempts_max: dice.one_of(&[1, 2, 5]),
        lookups_max: dice.one_of(&[1, 3, 8]),
        polls_max: dice.one_of(&[1, 2, 20]),
        cancels_max: dice.one_of(&[1, 2]),
        ..usual
    }
}

fn gate(options: &Options, dice: &mut Dice) -> GateSettings {
    if !options.has(Trouble::Tight) {
        return GateSettings::default();
    }
    GateSettings {
        in_flight_max: dice.one_of(&[1, 2, 3]),
        per_second: dice.one_of(&[0, 1, 2]),
        burst: dice.one_of(&[1, 2]),
        circuit_failures: dice.one_of(&[0, 1, 3]),
        circuit_cooldown: Span::from_secs(15),
    }
}

/// The operations, read once.
pub(super) fn served() -> Vec<Served> {
    operations::all()
}

/// The store's own time, which is what facts are dated by.
pub(super) fn store_now(store: &MemoryStore) -> Timestamp {
    ready(store.now()).unwrap_or(Timestamp::EARLIEST)
}
