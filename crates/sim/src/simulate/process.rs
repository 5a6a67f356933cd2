//! Processes: each a driver with a clock of its own, and what goes on in it. A process that dies loses all of it; one that
//! stands still goes on later, as if nothing had been.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use factum_core::{ActionId, Fact, Limits, Span, Timestamp, WorkerNonce};
use factum_engine::clock::{self, AnchoredClock, LocalReading, STEP_MAX};
use factum_engine::driver::answers::due_at;
use factum_engine::driver::{Command, Driver, DriverLimits, Event};
use factum_engine::left_behind::{left_behind, restored};
use factum_engine::neighbours::{self, Heard};
use factum_store::{Admission, Filter, Restore, Store};

use super::options::Trouble;
use super::outside::Outside;
use super::wire::Wire;
use super::world::{Happening, World, ready, store_now};

/// Something that goes on in a process.
pub(super) enum Task {
    Hear(Event),
    Do(Command),
    /// A submission on its way into the store: whose, and whether its first mark goes with it.
    Admit(usize, Box<Admission>, bool),
    /// The last byte of a request leaves.
    Write(u64),
    /// What came back of a request.
    Brought(u64, Wire),
    /// Nothing came back of a request in time.
    GiveUp(u64),
    /// The clock is anchored anew.
    LookAround,
    /// The same, and again some time later: on a store that is shared, this is how a worker learns of the others.
    LookRegularly,
    /// The bound of a shutdown in good order.
    StopBound,
}

/// A process.
pub(super) struct Process {
    pub(super) nonce: WorkerNonce,
    pub(super) up: bool,
    pub(super) stopped: bool,
    pub(super) driver: Driver,
    /// The contracts that it was started with, by destination.
    pub(super) contracts: BTreeMap<String, [u8; 32]>,
    clock: AnchoredClock,
    /// How far its host's wall clock stands from true time.
    pub(super) wall_step: i64,
    pub(super) doubt: bool,
    doubt_written: AtomicBool,
    waits: Vec<Task>,
    wakes_at: Option<Timestamp>,
    paused: AtomicBool,
    released: AtomicBool,
    overdue_after: Mutex<Option<(Timestamp, ActionId)>>,
}

/// How often a worker looks after the others, as the shell does.
const LOOK_EVERY: Span = Span::from_secs(2);
/// The same once nothing fails any more, and the days that some destinations take have to pass in few steps.
const LOOK_IN_THE_CALM: Span = Span::from_secs(600);

impl Process {
    /// One that was never started.
    pub(super) fn down() -> Self {
        let nonce = WorkerNonce(0);
        let limits = DriverLimits {
            held_max: 1,
            claim_lease: Span::from_secs(60),
        };
        Self {
            nonce,
            up: false,
            stopped: false,
            driver: Driver::new(nonce, limits, BTreeMap::new(), true),
            contracts: BTreeMap::new(),
            clock: AnchoredClock::new(LocalReading { boot: 0, wall: 0 }, Timestamp::EARLIEST),
            wall_step: 0,
            doubt: false,
            doubt_written: AtomicBool::new(false),
            waits: Vec::new(),
            wakes_at: None,
            paused: AtomicBool::new(false),
            released: AtomicBool::new(true),
            overdue_after: Mutex::default(),
        }
    }
}

impl World {
    pub(super) fn local(&self, p: usize) -> LocalReading {
        let time = self.now.as_micros();
        let step = if self.alone() {
            self.wall_step()
        } else {
            self.processes[p].wall_step
        };
        LocalReading {
            boot: time,
            wall: time + step,
        }
    }

    /// The store's time as a process knows it.
    pub(super) fn process_now(&self, p: usize) -> Timestamp {
        self.processes[p].clock.read(self.local(p))
    }

    pub(super) fn place_of(&self, nonce: WorkerNonce) -> Option<usize> {
        self.processes.iter().position(|p| p.nonce == nonce && p.up)
    }

    /// A process that is up and goes on, by a draw.
    pub(super) fn somebody(&mut self) -> Option<usize> {
        let up = |p: &usize| self.processes[*p].up && !self.processes[*p].stopped;
        let up: Vec<usize> = (0..self.processes.len()).filter(up).collect();
        (!up.is_empty()).then(|| up[self.dice.callers.index(up.len())])
    }

    /// Something goes on in the process of this nonce, if that still lives.
    pub(super) fn go_on(&mut self, nonce: WorkerNonce, task: Task) {
        if nonce.is_elsewhere() {
            return self.go_on_elsewhere(nonce, task);
        }
        let Some(p) = self.place_of(nonce) else {
            return;
        };
        if self.processes[p].stopped {
            self.processes[p].waits.push(task);
            return;
        }
        match task {
            Task::Hear(event) => self.tell(p, event),
            Task::Do(command) => self.carry_out(p, command),
            Task::Admit(n, admission, marked) => self.admit(p, n, *admission, marked),
            Task::Write(send) => self.write(p, send),
            Task::Brought(send, wire) => self.brought(p, send, wire),
            Task::GiveUp(send) => self.brought(p, send, Wire::silence()),
            Task::LookAround => self.look_around(p),
            Task::LookRegularly => {
                self.look_around(p);
                let every = if self.calm {
                    LOOK_IN_THE_CALM
                } else {
                    LOOK_EVERY
                };
                self.task(p, every, Task::LookRegularly);
            }
            Task::StopBound => self.stop_bound(p),
        }
    }

    pub(super) fn task(&mut self, p: usize, after: Span, task: Task) {
        let nonce = self.processes[p].nonce;
        self.plan(after, Happening::In(nonce, task));
    }

    /// Something happened for a process.
    pub(super) fn tell(&mut self, p: usize, event: Event) {
        let now = self.process_now(p);
        let about = event.action();
        if matches!(event, Event::Woke) {
            self.processes[p].wakes_at = None;
        }
        if let Some(action) = about {
            self.touch(action);
            self.note(|world| {
                format!("p{p} hears {} of {}", variant(&event), world.called(action))
            });
        }
        let driver = &mut self.processes[p].driver;
        let handled = catch_unwind(AssertUnwindSafe(|| driver.handle(event, now)));
        let Ok(commands) = handled else {
            self.breaks(8, || "the driver broke off".to_owned());
            return;
        };
        for command in commands {
            let after = self.command_delay();
            self.task(p, after, Task::Do(command));
        }
        self.plan_wake(p, now);
    }

    fn command_delay(&mut self) -> Span {
        if self.has(Trouble::Delays) && self.dice.store.chance(5) {
            return Span::from_micros(self.dice.store.micros(8_000_000));
        }
        Span::from_micros(self.dice.store.micros(2_000))
    }

    fn plan_wake(&mut self, p: usize, now: Timestamp) {
        let Some(wake) = self.processes[p].driver.next_wake() else {
            return;
        };
        // A long sleep is cut, as the shell cuts it: its clock may step meanwhile.
        let longest = if self.options.has(Trouble::ClockSteps) {
            60
        } else {
            86_400
        };
        let after = wake
            .since(now)
            .max(Span::ZERO)
            .min(Span::from_secs(longest));
        let at = self.now + after;
        if self.processes[p]
            .wakes_at
            .is_none_or(|planned| planned > at)
        {
            self.processes[p].wakes_at = Some(at);
            self.task(p, after, Task::Hear(Event::Woke));
        }
    }

    // ---- beginning and ending

    /// Starts a process, which finds what a former one left.
    pub(super) fn start(&mut self, p: usize) {
        if self.processes[p].up {
            return;
        }
        if self.store_error(true).is_some() {
            self.plan(Span::from_secs(1), Happening::Outside(Outside::Start(p)));
            return;
        }
        self.nonces += 1;
        let nonce = WorkerNonce(self.nonces);
        let alone = self.alone();
        if alone {
            self.store.restart();
        }
        let local = self.local(p);
        let store = store_now(&self.store);
        let restore = ready(self.store.restore()).unwrap_or_default();
        let released = restore
            .as_ref()
            .is_none_or(|restore| restore.released.is_some());
        let limits = DriverLimits {
            held_max: self.held_max,
            claim_lease: Limits::default().lease() + Span::from_secs(30),
        };
        let behind = store.since(Timestamp::from_micros(local.wall));
        let contracts = self.contracts();
        let was_in_doubt = ready(clock::was_in_doubt(&self.store)).unwrap_or_default();
        let process = &mut self.processes[p];
        *process = Process {
            nonce,
            up: true,
            stopped: false,
            driver: Driver::new(nonce, limits, self.policies.clone(), released),
            contracts,
            clock: AnchoredClock::new(local, store),
            wall_step: process.wall_step,
            doubt: was_in_doubt || alone && behind > STEP_MAX,
            doubt_written: AtomicBool::new(was_in_doubt),
            waits: Vec::new(),
            wakes_at: None,
            paused: AtomicBool::new(self.paused),
            released: AtomicBool::new(released),
            overdue_after: Mutex::default(),
        };
        self.note(|_| format!("p{p} starts as {}", nonce.0));
        if self.paused {
            self.tell(p, Event::Paused(true));
        }
        if !alone {
            // Others go on with theirs, and leases tell when a mark is old: what nobody looks after is found by looking.
            return self.task(p, Span::ZERO, Task::LookRegularly);
        }
        if self.processes[p].doubt {
            self.task(p, Span::ZERO, Task::LookAround);
        }
        self.recover(p, restore.as_ref(), store);
    }

    /// A worker that is added while others work.
    pub(super) fn join_later(&mut self, p: usize) {
        let when = self.dice.fate.micros(self.options.wild_secs * 1_000_000);
        self.plan(
            Span::from_micros(when),
            Happening::Outside(Outside::Start(p)),
        );
    }

    /// What the engine's start does: the queue is rebuilt, and what former processes left is recorded.
    fn recover(&mut self, p: usize, restore: Option<&Restore>, gone_at: Timestamp) {
        let nonce = self.processes[p].nonce;
        let due = ready(self.store.due(None, 10_000)).unwrap_or_default();
        for row in due {
            let Ok(Some(record)) = ready(self.store.load(row.action)) else {
                continue;
            };
            let facts = left_behind(nonce, &record, restore, Some(gone_at));
            let at = if facts.is_empty() {
                row.at
            } else {
                let recorded = ready(self.store.record(row.action, facts));
                recorded
                    .ok()
                    .flatten()
                    .map_or(row.at, |recorded| recorded.at)
            };
            self.tell(p, due_at(&record, at));
        }
        let Some(restore) = restore else {
            return;
        };
        for record in ready(self.store.list(Filter {
            limit: 10_000,
            ..Filter::default()
        }))
        .unwrap_or_default()
        {
            // What is due was looked after above.
            let untimed = record.next.at.is_none();
            let fact = restored(&record, restore)
                .filter(|_| untimed)
                .into_iter()
                .collect::<Vec<_>>();
            if fact.is_empty() {
                continue;
            }
            if let Ok(Some(recorded)) = ready(self.store.record(record.id(), fact)) {
                self.tell(p, due_at(&record, recorded.at));
            }
        }
    }

    /// Kills a process, and has it started again some time later; of several, some never are.
    pub(super) fn kill(&mut self, p: usize, why: &str) {
        if !self.processes[p].up {
            return;
        }
        let nonce = self.processes[p].nonce;
        self.note(|_| format!("p{p} is killed, {why}"));
        self.tally.kills += 1;
        self.processes[p].up = false;
        self.handed.retain(|_, to| *to != nonce);
        self.let_go(nonce);
        let others = self.processes.iter().any(|process| process.up);
        if others && !self.calm && self.dice.fate.chance(30) {
            self.sometimes("a worker died for good");
            return;
        }
        let down = Span::from_micros(self.dice.fate.micros(40_000_000));
        self.plan(down, Happening::Outside(Outside::Start(p)));
    }

    /// A crash point is reached. Whether the process died of it.
    pub(super) fn reach(&mut self, p: usize, point: &'static str) -> bool {
        if !self.has(Trouble::Kills) || !self.dice.fate.chance(1) || !self.dice.fate.chance(60) {
            return false;
        }
        *self.tally.points.entry(point).or_default() += 1;
        self.kill(p, point);
        true
    }

    /// Stands still for so long, but never between check and write for longer than the margin that the bound counts with.
    pub(super) fn stop(&mut self, p: usize, wanted: Span) {
        if !self.processes[p].up || self.processes[p].stopped {
            return;
        }
        let nonce = self.processes[p].nonce;
        let ends = self
            .sends
            .values()
            .filter(|send| send.nonce == nonce && !send.written);
        let ends = ends.map(|send| send.write_by.since(self.now)).min();
        let span = ends.map_or(wanted, |ends| ends.min(wanted)).max(Span::ZERO);
        self.note(|_| format!("p{p} stands still for {span}"));
        self.processes[p].stopped = true;
        self.plan(span, Happening::Outside(Outside::GoOn(p, nonce)));
    }

    pub(super) fn resume(&mut self, p: usize) {
        if !self.processes[p].stopped {
            return;
        }
        self.processes[p].stopped = false;
        self.note(|_| format!("p{p} goes on"));
        let nonce = self.processes[p].nonce;
        for task in std::mem::take(&mut self.processes[p].waits) {
            self.go_on(nonce, task);
        }
        if self.place_of(nonce).is_none() {
            return;
        }
        self.task(p, Span::ZERO, Task::LookAround);
        self.tell(p, Event::Woke);
    }

    /// A shutdown in good order: what is in flight may end within a bound.
    pub(super) fn end(&mut self, p: usize) {
        if self.processes[p].up && !self.processes[p].stopped {
            self.note(|_| format!("p{p} is told to end"));
            self.tell(p, Event::Stopping);
            self.task(p, Span::from_secs(10), Task::StopBound);
        }
    }

    fn stop_bound(&mut self, p: usize) {
        let nonce = self.processes[p].nonce;
        let at = self.process_now(p);
        let in_flight = self.processes[p].driver.in_flight();
        // Ending the tasks closes their connections, so from here on nothing more of them can be written.
        self.let_unwritten_go(nonce);
        for (action, _) in in_flight {
            if self.store_error(true).is_none() {
                let fact = Fact::ProcessGone { worker: nonce, at };
                let _ = ready(self.store.record(action, vec![fact]));
                self.touch(action);
            }
        }
        self.kill(p, "having ended");
    }

    // ---- the clock

    fn look_around(&mut self, p: usize) {
        let local = self.local(p);
        let read = self.store_error(false).is_none();
        if read {
            let store = store_now(&self.store);
            let apart = self.processes[p].clock.anchor(local, store);
            self.processes[p].doubt |= apart > STEP_MAX;
            let process = &self.processes[p];
            let kept = clock::keep_doubt(&self.store, process.doubt, &process.doubt_written);
            let _ = ready(kept);
        }
        let clock = self.processes[p].doubt;
        self.look_after_others(p);
        self.tell(
            p,
            Event::InDoubt {
                clock,
                accounts: BTreeSet::new(),
            },
        );
        // Who shares a store looks regularly anyway.
        if self.alone() && (clock || !read) {
            self.task(p, Span::from_secs(10), Task::LookAround);
        }
    }
}

impl World {
    /// What a worker hears from a shared store about the others: who lives, what is held, what somebody left.
    fn look_after_others(&mut self, p: usize) {
        if self.alone() || self.store_error(true).is_some() {
            return;
        }
        let (process, now) = (&self.processes[p], self.process_now(p));
        let heard = Heard {
            paused: &process.paused,
            released: &process.released,
            overdue_after: &process.overdue_after,
        };
        let looked = neighbours::look_at(&self.store, process.nonce, now, heard);
        let events = ready(looked).map_or_else(|_| Vec::new(), |looked| looked.events);
        if events
            .iter()
            .any(|event| matches!(event, Event::Overdue(_)))
        {
            self.sometimes("what another worker left was found");
        }
        if !events.is_empty() {
            self.tell(p, Event::All(events));
        }
    }
}

/// The name of an enum's variant, without formatting what is in it.
pub(super) fn variant(value: &impl std::fmt::Debug) -> String {
    struct Name(String);
    impl std::fmt::Write for Name {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            let name = text.split([' ', '(']).next().unwrap_or_default();
            self.0.push_str(name);
            if name.len() == text.len() {
                Ok(())
            } else {
                Err(std::fmt::Error)
            }
        }
    }
    let mut name = Name(String::new());
    // The error is how formatting is broken off.
    let _ = std::fmt::write(&mut name, format_args!("{value:?}"));
    name.0
}
