//! The explorer's world: one store, processes that die and come back under a new nonce, and requests that are on their way.
//!
//! Nothing here happens at once. A command is carried out at some moment, its event is heard at a later one, a request
//! arrives when it likes within its bound, and the store fails before or after it has written.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use factum_core::evidence::{
    Answer, AnswerClass, Capture, Lookup, LookupAnswer, PollAnswer, RequestRef,
};
use factum_core::promise::LookupBy;
use factum_core::{
    ActionId, AttemptNo, Epoch, Evidence, Fact, Limits, Permission, Promises, Span, Timestamp,
    WorkerNonce,
};
use factum_engine::driver::gate::{GateSettings, Heard};
use factum_engine::driver::{
    Command, Commit, DestinationPolicy, Driver, DriverLimits, Event, heard_of,
};
use factum_store::{Admission, Admitted, Claimed, Committed, MemoryStore, Record, Store};

use super::dice::Dice;
use super::place::{PROCESSING, Place};
use super::words::{due, loss, not_sent, owner, variant};
use crate::world::{PLACE, ready};

/// How long a process waits before it bothers the store again.
const STORE_REST: Span = Span::from_secs(1);

/// A process: its driver, and what is under way in it.
pub(super) struct Process {
    pub(super) driver: Driver,
    pub(super) nonce: WorkerNonce,
    pub(super) under_way: Vec<Task>,
    pub(super) stopped: bool,
}

/// Something under way in a process, not before a time.
pub(super) struct Task {
    pub(super) at: Timestamp,
    pub(super) doing: Doing,
}

pub(super) enum Doing {
    Command(Command),
    /// A submission, with its first mark or without.
    Admit(Box<Admission>, bool),
    Hear(Event),
}

/// A request on its way to the destination.
struct Flight {
    arrives: Timestamp,
    nonce: WorkerNonce,
    action: ActionId,
    request: RequestRef,
    epoch: Epoch,
    answered: bool,
}

/// The world.
pub(super) struct Sea {
    pub(super) dice: Dice,
    pub(super) store: Arc<MemoryStore>,
    clock: Arc<AtomicI64>,
    pub(super) processes: Vec<Process>,
    pub(super) place: Place,
    pub(super) promises: Promises,
    flights: Vec<Flight>,
    written: BTreeSet<(ActionId, RequestRef)>,
    /// Percent of calls that the store fails.
    pub(super) store_fails: u32,
    /// Percent of commands whose carrying out breaks off before it has done anything.
    pub(super) breaks_off: u32,
    /// Percent of requests whose answer or whose self is lost.
    pub(super) losses: u32,
    gate: GateSettings,
    held_max: usize,
    next_nonce: u64,
    pub(super) trace: String,
    /// Actions that something happened to since the laws were last held against them.
    pub(super) touched: BTreeSet<ActionId>,
}

impl Sea {
    pub(super) fn new(seed: u64, place: Place, promises: Promises, processes: usize) -> Self {
        let mut dice = Dice::new(seed);
        let clock = Arc::new(AtomicI64::new(1_800_000_000_000_000));
        let reading = clock.clone();
        let store = Arc::new(MemoryStore::new(Arc::new(move || {
            Timestamp::from_micros(reading.load(Ordering::SeqCst))
        })));
        let gate = GateSettings {
            in_flight_max: 1 + dice.below(3),
            per_second: dice.below(3),
            burst: 1 + dice.below(2),
            circuit_failures: dice.below(4),
            circuit_cooldown: Span::from_secs(15),
        };
        let held_max = [1, 2, 8][dice.index(3)];
        let mut sea = Self {
            store_fails: [0, 5, 25][dice.index(3)],
            breaks_off: [0, 0, 3][dice.index(3)],
            losses: [10, 40, 70][dice.index(3)],
            dice,
            store,
            clock,
            processes: Vec::new(),
            place,
            promises,
            flights: Vec::new(),
            written: BTreeSet::new(),
            gate,
            held_max,
            next_nonce: 0,
            trace: String::new(),
            touched: BTreeSet::new(),
        };
        for _ in 0..processes {
            let process = sea.process();
            sea.processes.push(process);
        }
        sea
    }

    fn process(&mut self) -> Process {
        self.next_nonce += 1;
        let policy = DestinationPolicy {
            gate: self.gate,
            place: None,
            operations: BTreeMap::from([("do".to_owned(), self.promises.clone())]),
            any_operation: None,
        };
        let limits = DriverLimits {
            held_max: self.held_max,
            claim_lease: Limits::default().lease() + Span::from_secs(30),
        };
        let nonce = WorkerNonce(self.next_nonce);
        let destinations = BTreeMap::from([(PLACE.to_owned(), policy)]);
        Process {
            driver: Driver::new(nonce, limits, destinations, true),
            nonce,
            under_way: Vec::new(),
            stopped: false,
        }
    }

    pub(super) fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.clock.load(Ordering::SeqCst))
    }

    pub(super) fn note(&mut self, text: impl std::fmt::Display) {
        let at = self.clock.load(Ordering::SeqCst) - 1_800_000_000_000_000;
        let (whole, millis) = (at / 1_000_000, at / 1_000 % 1_000);
        let _ = writeln!(self.trace, "{whole:>8}.{millis:03} {text}");
    }

    /// Time passes, and what was on its way arrives in order.
    pub(super) fn pass_to(&mut self, to: Timestamp) {
        while let Some(next) = (0..self.flights.len())
            .min_by_key(|n| self.flights[*n].arrives)
            .filter(|n| self.flights[*n].arrives <= to)
        {
            let flight = self.flights.swap_remove(next);
            self.set_clock(flight.arrives);
            self.arrive(&flight);
        }
        self.set_clock(to);
        let worked = self.place.work(to);
        self.touched.extend(worked);
    }

    fn set_clock(&self, to: Timestamp) {
        self.clock.fetch_max(
            to.since(Timestamp::from_micros(0)).as_micros(),
            Ordering::SeqCst,
        );
    }

    /// Whether something of this action may still arrive or be done.
    pub(super) fn may_still_act(&self, action: ActionId) -> bool {
        self.flights.iter().any(|flight| flight.action == action)
            || self.place.working(action, self.now())
    }

    /// When the next request arrives.
    pub(super) fn next_arrival(&self) -> Option<Timestamp> {
        self.flights.iter().map(|flight| flight.arrives).min()
    }

    fn arrive(&mut self, flight: &Flight) {
        let (action, now) = (flight.action, self.now());
        self.touched.insert(action);
        let (fact, heard) = match flight.request {
            RequestRef::Attempt(attempt) => {
                let (class, receipt, replayed) =
                    self.place.arrive(action, flight.epoch, now, &mut self.dice);
                self.note(format!(
                    "       {action} attempt {} arrives: {class:?}",
                    attempt.0
                ));
                let retry_after = (class == AnswerClass::Busy)
                    .then(|| Span::from_secs(i64::from(self.dice.below(90))));
                let heard = heard_of(&class, 500, retry_after);
                let answer = Answer {
                    attempt,
                    read_at: now,
                    class,
                    receipt,
                    replayed,
                    retry_after,
                    capture: Capture::default(),
                };
                (Fact::Answered(answer), heard)
            }
            RequestRef::Cancel(no) => {
                let answer = self.place.cancel(action, flight.epoch);
                self.note(format!("       {action} cancel {no} arrives: {answer:?}"));
                (Fact::CancelAnswered { no, answer }, Heard::Answer)
            }
        };
        if flight.answered {
            let facts = vec![fact];
            self.hear(
                flight.nonce,
                now,
                Event::Ended {
                    action,
                    facts,
                    heard,
                },
            );
        }
    }

    fn hear(&mut self, nonce: WorkerNonce, at: Timestamp, event: Event) {
        if let Some(process) = self.processes.iter_mut().find(|p| p.nonce == nonce) {
            let doing = Doing::Hear(event);
            process.under_way.push(Task { at, doing });
        }
    }

    /// Something happened for a process.
    pub(super) fn tell(&mut self, process: usize, event: Event) {
        let now = self.now();
        if let Some(action) = event.action() {
            self.touched.insert(action);
            let name = variant(&event);
            self.note(format!("  p{process} hears {name} {action}"));
        }
        let process = &mut self.processes[process];
        let commands = process.driver.handle(event, now);
        process
            .under_way
            .extend(commands.into_iter().map(|command| Task {
                at: now,
                doing: Doing::Command(command),
            }));
    }

    /// Carries out one thing that is under way in a process.
    pub(super) fn do_one(&mut self, process: usize, task: usize) {
        let task = self.processes[process].under_way.remove(task);
        match task.doing {
            Doing::Hear(event) => self.tell(process, event),
            Doing::Admit(admission, marked) => self.admit(process, *admission, marked),
            Doing::Command(command) => {
                let (name, percent) = (variant(&command), self.breaks_off);
                if self.dice.chance(percent) {
                    let action = owner(&command);
                    self.note(format!("  p{process} breaks off at {name} {action}"));
                    self.tell(process, Event::Broken(action));
                    return;
                }
                self.note(format!("  p{process} does {name}"));
                self.carry_out(process, command);
            }
        }
    }

    fn later(&mut self, process: usize, at: Timestamp, event: Event) {
        let doing = Doing::Hear(event);
        self.processes[process].under_way.push(Task { at, doing });
    }

    fn store_fails(&mut self) -> bool {
        let percent = self.store_fails;
        self.dice.chance(percent)
    }

    fn admit(&mut self, process: usize, admission: Admission, marked: bool) {
        let id = admission.action.intent.action;
        let now = self.now();
        let failed = |again: Option<Timestamp>| match again {
            Some(at) if !marked => Event::Due {
                action: id,
                destination: PLACE.to_owned(),
                at,
            },
            _ => Event::NotAdmitted(id, again),
        };
        if self.store_fails() {
            self.note(format!("  p{process} could not admit {id}"));
            return self.later(process, now, failed(Some(now + STORE_REST)));
        }
        let admitted = ready(self.store.admit(admission)).expect("the memory store admits");
        if self.store_fails() {
            self.note(format!("  p{process} admits {id}, and does not know it"));
            return self.later(process, now, failed(Some(now + STORE_REST)));
        }
        let event = match admitted {
            Admitted::Created(record, Some(claim)) if marked => Event::Admitted(claim, record),
            Admitted::Created(record, _) | Admitted::Joined(record) => {
                if marked {
                    self.later(process, now, failed(None));
                }
                due(&record, now)
            }
            Admitted::Conflict { .. } => failed(None),
        };
        self.later(process, now, event);
    }

    fn carry_out(&mut self, process: usize, command: Command) {
        let now = self.now();
        let event = match command {
            Command::Claim(action, lease) => self.claim(process, action, lease),
            Command::Commit(commit) => self.commit(*commit),
            Command::Send(send) => {
                return self.send(process, &send.record, &send.permission);
            }
            Command::LookUp(action, record) => {
                let answer = self.place.look_up(action, now, &mut self.dice);
                self.note(format!("       {action} looked up: {answer:?}"));
                let heard = match answer {
                    LookupAnswer::Inconclusive { .. } => Heard::Nothing,
                    LookupAnswer::Found(_) | LookupAnswer::Queued { .. } | LookupAnswer::Absent => {
                        Heard::Answer
                    }
                };
                let lookup = Lookup {
                    asked_at: now,
                    by: LookupBy::Reference,
                    epoch: record.known.current_epoch(),
                    answer,
                };
                let facts = vec![Fact::LookedUp(lookup)];
                Event::Ended {
                    action,
                    facts,
                    heard,
                }
            }
            Command::Poll(action, record, attempt) => self.poll(action, &record, attempt),
            Command::Record(action, facts) => {
                if self.store_fails() {
                    let doing = Doing::Command(Command::Record(action, facts));
                    let at = now + STORE_REST;
                    self.processes[process].under_way.push(Task { at, doing });
                    return;
                }
                ready(self.store.record(action, facts)).expect("the memory store records");
                Event::Recorded(action)
            }
            Command::Release(claim) => {
                let action = claim.action;
                if !self.store_fails() {
                    ready(self.store.release(claim)).expect("the memory store releases");
                }
                Event::Released(action)
            }
        };
        let delay = Span::from_millis(i64::from(self.dice.below(3)) * 10);
        self.later(process, now + delay, event);
    }

    fn claim(&mut self, process: usize, action: ActionId, lease: Span) -> Event {
        let nonce = self.processes[process].nonce;
        if self.store_fails() {
            return Event::NotClaimed(action, Some(self.now() + STORE_REST));
        }
        match ready(self.store.claim(action, nonce, lease)).expect("the memory store claims") {
            Claimed::Held(claim, record) => Event::Claimed(claim, record),
            Claimed::Busy(until) => Event::NotClaimed(action, Some(until)),
            Claimed::Gone => Event::NotClaimed(action, None),
        }
    }

    fn commit(&mut self, commit: Commit) -> Event {
        let Commit {
            claim,
            mut record,
            facts,
            next,
        } = commit;
        let action = record.id();
        self.touched.insert(action);
        let again = self.now() + STORE_REST;
        if self.store_fails() {
            ready(self.store.release(claim)).expect("the memory store releases");
            return Event::NotCommitted(action, again);
        }
        let committed = ready(self.store.commit(&claim, facts.clone(), next.clone()));
        match committed.expect("what the driver commits can stand") {
            Committed::Durable(_) if self.store_fails() => {
                self.note(format!("       {action} committed, and nobody knows it"));
                ready(self.store.release(claim)).expect("the memory store releases");
                Event::NotCommitted(action, again)
            }
            Committed::Durable(recorded) => {
                let kinds: Vec<_> = facts.iter().map(Fact::kind).collect();
                self.note(format!(
                    "       {action} {kinds:?}, {} → {}, next {}: {}",
                    recorded.states.0.name(),
                    recorded.states.1.name(),
                    next.step,
                    next.why
                ));
                for (id, fact) in recorded.ids.iter().zip(facts) {
                    let at = recorded.at;
                    record.known.absorb(&Evidence { id: *id, at, fact });
                }
                record.version = recorded.version;
                record.next = next;
                Event::Committed(claim.at_version(recorded.version), record)
            }
            Committed::Stale => {
                ready(self.store.release(claim)).expect("the memory store releases");
                Event::NotCommitted(action, self.now())
            }
        }
    }

    fn poll(&mut self, action: ActionId, record: &Record, attempt: AttemptNo) -> Event {
        let now = self.now();
        let object = record.known.queued_object(&record.action.intent, attempt);
        let answer = match object {
            Some(object) => self.place.poll(&object, now, &mut self.dice),
            None => PollAnswer::Inconclusive {
                why: "it has no name".to_owned(),
            },
        };
        self.note(format!("       {action} polled: {answer:?}"));
        let fact = Fact::Polled {
            attempt,
            asked_at: now,
            answer,
        };
        Event::Ended {
            action,
            facts: vec![fact],
            heard: Heard::Answer,
        }
    }

    /// Writes an effect request. Laws 1, 6 and 7 are checked right here.
    fn send(&mut self, process: usize, record: &Record, permission: &Permission) {
        let (action, request, now) = (record.id(), permission.request(), self.now());
        let nonce = self.processes[process].nonce;
        if permission.check(now).is_err() || self.dice.chance(8) {
            let (facts, heard) = (vec![not_sent(request)], Heard::Nothing);
            return self.later(
                process,
                now,
                Event::Ended {
                    action,
                    facts,
                    heard,
                },
            );
        }
        assert!(
            self.is_marked(action, request, nonce),
            "law 1: no durable mark"
        );
        assert!(
            self.written.insert((action, request)),
            "law 6: two requests under one permission"
        );
        let bound = record.action.intent.limits.bound;
        let write = self.dice.below(40);
        let closed_at = now + Span::from_secs(i64::from(write));
        let travels = Span::from_millis(i64::from(self.dice.below(7_000)));
        let lost = self.dice.chance(self.losses);
        let arrives = if lost {
            closed_at + travels
        } else {
            now + travels
        };
        let latest = closed_at + bound.linger + PROCESSING;
        self.note(format!(
            "  p{process} writes {action} {request:?} by {:?}, lost: {lost}",
            permission.kind()
        ));
        if !(lost && self.dice.chance(50)) {
            self.flights.push(Flight {
                arrives: arrives.min(latest),
                nonce,
                action,
                request,
                epoch: permission.epoch(),
                answered: !lost,
            });
        }
        if lost {
            let (facts, heard) = (vec![loss(request, closed_at)], Heard::Nothing);
            self.later(
                process,
                closed_at,
                Event::Ended {
                    action,
                    facts,
                    heard,
                },
            );
        }
    }

    fn is_marked(&self, action: ActionId, request: RequestRef, nonce: WorkerNonce) -> bool {
        let history = ready(self.store.history(action)).expect("the memory store reads");
        history.iter().any(|evidence| match &evidence.fact {
            Fact::Marked(mark) => {
                RequestRef::Attempt(mark.attempt) == request && mark.worker == nonce
            }
            Fact::CancelMarked(mark) => {
                RequestRef::Cancel(mark.no) == request && mark.worker == nonce
            }
            _ => false,
        })
    }

    /// Kills a process and starts it anew. What it had written is on its way; what it had not is gone.
    pub(super) fn restart(&mut self, process: usize) {
        let (now, alone) = (self.now(), self.processes.len() == 1);
        let nonce = self.processes[process].nonce;
        self.note(format!("  p{process} is killed and comes back"));
        let linger = Limits::default().bound.linger + PROCESSING;
        for flight in self.flights.iter_mut().filter(|f| f.nonce == nonce) {
            flight.arrives = flight.arrives.min(now + linger);
            flight.answered = false;
        }
        self.processes[process] = self.process();
        if alone {
            self.store.restart();
        }
        let due = ready(self.store.due(None, 1_000)).expect("the memory store reads");
        for row in due {
            let record = self.record(row.action);
            let gone: BTreeSet<_> = record.known.open_marks().into_iter().map(|m| m.1).collect();
            if alone && !gone.is_empty() {
                let facts = gone
                    .into_iter()
                    .map(|worker| Fact::ProcessGone { worker, at: now });
                ready(self.store.record(row.action, facts.collect()))
                    .expect("the memory store records");
            }
            let at = self.record(row.action).next.at.unwrap_or(now);
            let destination = row.destination;
            let action = row.action;
            self.tell(
                process,
                Event::Due {
                    action,
                    destination,
                    at,
                },
            );
        }
    }

    pub(super) fn record(&self, id: ActionId) -> Record {
        let record = ready(self.store.load(id)).expect("the memory store reads");
        record.expect("it was admitted")
    }
}
