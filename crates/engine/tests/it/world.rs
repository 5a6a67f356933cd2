//! A small world around the driver: a store in memory, workers that can be stopped, and a destination that counts effects.
//!
//! Commands are carried out one after the other in the order in which they were given, each worker in turn, so every run of a
//! test is the same run.

use std::collections::{BTreeMap, VecDeque};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::task::{Context, Poll, Waker};

use factum_core::evidence::{
    Answer, AnswerClass, CancelAnswer, Capture, Lookup, LookupAnswer, Loss, Phase, Receipt,
    RequestRef,
};
use factum_core::identity::{Fingerprint, Identity, IdentityHash, Scope};
use factum_core::promise::{
    Authority, Consequence, KeyPromise, LookupBy, LookupPromise, ProcessingMax, Retention,
};
use factum_core::{
    ActionId, Evidence, Fact, Intent, Lane, Limits, Permission, Preference, Promises, Span, Status,
    Timestamp, WorkerNonce,
};
use factum_engine::driver::gate::{GateSettings, Heard};
use factum_engine::driver::{Command, DestinationPolicy, Driver, DriverLimits, Event};
use factum_store::{
    Action, Admission, Admitted, Claimed, Committed, Content, MemoryStore, NextRow, Record, Store,
};

/// What becomes of a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The destination acts and answers.
    Answered,
    /// The destination acts, and the answer is lost.
    AnswerLost,
    /// Nothing arrives, and the worker cannot tell.
    RequestLost,
    /// Nothing was written.
    NotSent,
}

/// One worker: a driver, and the commands that it has given and that are not carried out yet.
pub(crate) struct Worker {
    pub(crate) driver: Driver,
    pub(crate) commands: VecDeque<Command>,
    /// Stopped like by SIGSTOP: gives no command and carries none out.
    pub(crate) stopped: bool,
}

/// The world.
pub(crate) struct World {
    pub(crate) store: MemoryStore,
    clock: Arc<AtomicI64>,
    pub(crate) workers: Vec<Worker>,
    promises: Promises,
    /// Effects at the destination, by action.
    pub(crate) effects: BTreeMap<ActionId, u32>,
    /// What becomes of the next sends; answered where nothing is left.
    pub(crate) fates: VecDeque<Fate>,
    /// Sends that were carried out.
    pub(crate) sent: u32,
    /// Lookups that were carried out.
    pub(crate) lookups: u32,
    /// Claims that were asked for.
    pub(crate) claims: u32,
}

/// The other tenant's destination in this world.
pub(crate) const THEIRS: &str = "other/place";

/// Every destination.
const PLACES: [&str; 5] = [PLACE, THEIRS, "one", "two", "three"];

/// The destination's name in this world.
pub(crate) const PLACE: &str = "place";

/// A destination with this key window, and with or without a strong lookup.
pub(crate) fn promises(key_floor: Option<Span>, lookup: bool) -> Promises {
    Promises {
        key: key_floor.map(|floor| KeyPromise {
            retention: Retention::Floor(floor),
            concurrent_repeat_stated: true,
            stores_errors: false,
            scope_includes_credential: false,
            scope_includes_place: false,
            sets_again: false,
            wait_min: Span::ZERO,
        }),
        lookup: lookup.then_some(LookupPromise {
            authority: Authority::Authoritative,
            lag: Span::ZERO,
            by: LookupBy::Reference,
        }),
        processing_max: ProcessingMax::Stated(Span::from_secs(2)),
        path_is_direct: true,
        ..Promises::none(Consequence::Costly)
    }
}

impl World {
    /// With so many workers.
    pub(crate) fn new(workers: u64, promises: Promises) -> Self {
        Self::with_gate(workers, promises, GateSettings::default())
    }

    /// The same, with this gate at the destination.
    pub(crate) fn with_gate(workers: u64, promises: Promises, gate: GateSettings) -> Self {
        let clock = Arc::new(AtomicI64::new(1_800_000_000_000_000));
        let reading = clock.clone();
        let store = MemoryStore::new(Arc::new(move || {
            Timestamp::from_micros(reading.load(Ordering::SeqCst))
        }));
        let policy = DestinationPolicy {
            gate,
            place: None,
            account: None,
            contracts: BTreeMap::new(),
            operations: BTreeMap::from([("do".to_owned(), promises.clone())]),
            any_operation: None,
            by_workers: BTreeMap::new(),
        };
        let limits = DriverLimits {
            held_max: 8,
            claim_lease: Limits::default().lease() + Span::from_secs(30),
        };
        let worker = |nonce| Worker {
            driver: Driver::new(
                WorkerNonce(nonce),
                limits,
                BTreeMap::from(PLACES.map(|name| (name.to_owned(), policy.clone()))),
                true,
            ),
            commands: VecDeque::new(),
            stopped: false,
        };
        Self {
            store,
            clock,
            workers: (1..=workers).map(worker).collect(),
            promises,
            effects: BTreeMap::new(),
            fates: VecDeque::new(),
            sent: 0,
            lookups: 0,
            claims: 0,
        }
    }

    /// The same store, shared by the workers as on a server: they say that they live. Before anything is recorded.
    pub(crate) fn shared(self) -> Self {
        let reading = self.clock.clone();
        let clock = move || Timestamp::from_micros(reading.load(Ordering::SeqCst));
        Self {
            store: MemoryStore::shared(Arc::new(clock)),
            ..self
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.clock.load(Ordering::SeqCst))
    }

    /// Time passes; nobody does anything meanwhile.
    pub(crate) fn pass(&self, span: Span) {
        self.clock.fetch_add(span.as_micros(), Ordering::SeqCst);
    }

    /// Records an action, and tells every worker of it.
    pub(crate) fn submit(&mut self, n: u8) -> ActionId {
        self.submit_until(n, None)
    }

    /// The same with a deadline.
    pub(crate) fn submit_until(&mut self, n: u8, deadline: Option<Timestamp>) -> ActionId {
        let action = self.action(n, deadline);
        self.admit(action)
    }

    /// The same on this subject.
    pub(crate) fn submit_on(&mut self, n: u8, subject: &str) -> ActionId {
        let mut action = self.action(n, None);
        action.content.subject = Some(subject.to_owned());
        self.admit(action)
    }

    /// The same for this principal, at this destination; `n` may be large.
    pub(crate) fn submit_for(&mut self, n: u64, destination: &str, principal: &str) -> ActionId {
        let lane = u8::try_from(n % 256).unwrap();
        let mut action = self.action(lane, None);
        let mut hash = [lane; 32];
        hash[1..9].copy_from_slice(&n.to_be_bytes());
        action.identity_hash = IdentityHash(hash);
        action.intent.action = ActionId::new(self.now(), Lane(lane), n);
        action.identity = Identity::Key(format!("many-{n}"));
        let tenant = destination
            .split_once('/')
            .map_or("default", |(tenant, _)| tenant);
        action.scope.tenant = tenant.to_owned();
        action.scope.principal = principal.to_owned();
        action.scope.destination = destination.to_owned();
        self.admit(action)
    }

    /// Records this action, and tells every worker of it.
    pub(crate) fn admit(&mut self, action: Action) -> ActionId {
        let (id, now) = (action.intent.action, self.now());
        let destination = action.scope.destination.clone();
        let next = NextRow {
            step: "send".to_owned(),
            at: Some(now),
            why: "new".to_owned(),
        };
        let admission = Admission {
            action,
            facts: Vec::new(),
            next,
            names: Vec::new(),
            claim_for: None,
            under: None,
            entries: Vec::new(),
            oldest: None,
            twins: None,
        };
        assert!(matches!(
            ready(self.store.admit(admission)).unwrap(),
            Admitted::Created(..)
        ));
        for worker in 0..self.workers.len() {
            let destination = destination.clone();
            self.tell(
                worker,
                Event::Due {
                    action: id,
                    destination,
                    at: now,
                },
            );
        }
        id
    }

    /// An action as it is submitted.
    pub(crate) fn action(&self, n: u8, deadline: Option<Timestamp>) -> Action {
        let now = self.now();
        let hash = IdentityHash([n; 32]);
        let id = ActionId::new(now, Lane(n), u64::from(n));
        let intent = Intent {
            action: id,
            submitted_at: now,
            intent_at: None,
            not_before: None,
            deadline,
            approved_until: None,
            finish: false,
            preference: Preference::Ask,
            limits: Limits::default(),
            promises: self.promises.clone(),
        };
        Action {
            intent,
            scope: Scope {
                tenant: "default".to_owned(),
                principal: "admin".to_owned(),
                destination: PLACE.to_owned(),
                operation: "do".to_owned(),
            },
            identity: Identity::Key(format!("key-{n}")),
            identity_hash: hash,
            fingerprint: Fingerprint([n; 32]),
            members: BTreeMap::new(),
            content: Content {
                contract: [0; 32],
                params: "{}".to_owned(),
                payload: "null".to_owned(),
                summary: None,
                subject: None,
                conversation: None,
                locale: None,
                trace: None,
                place: None,
                asked_by: None,
                approved: None,
                purged_at: None,
            },
        }
    }

    /// Something happened for a worker.
    pub(crate) fn tell(&mut self, worker: usize, event: Event) {
        let now = self.now();
        let worker = &mut self.workers[worker];
        let commands = worker.driver.handle(event, now);
        worker.commands.extend(commands);
    }

    /// Carries out a worker's next command. False if it has none, or is stopped.
    pub(crate) fn step(&mut self, worker: usize) -> bool {
        if self.workers[worker].stopped {
            return false;
        }
        let Some(command) = self.workers[worker].commands.pop_front() else {
            return false;
        };
        let nonce = WorkerNonce(u64::try_from(worker).unwrap() + 1);
        let event = self.carry_out(command, nonce);
        self.tell(worker, event);
        true
    }

    /// Carries out a worker's next command, and keeps what came of it from the worker: its answer is on the way.
    pub(crate) fn carry_out_next(&mut self, worker: usize) -> Event {
        let command = self.workers[worker].commands.pop_front().unwrap();
        let nonce = WorkerNonce(u64::try_from(worker).unwrap() + 1);
        self.carry_out(command, nonce)
    }

    /// Lets everybody work, and time pass from one due step to the next, until nothing is due within `span`.
    pub(crate) fn run(&mut self, span: Span) {
        let end = self.now() + span;
        for _ in 0..100_000 {
            let mut worked = false;
            for worker in 0..self.workers.len() {
                worked |= self.step(worker);
            }
            if worked {
                continue;
            }
            let awake = self.workers.iter().filter(|worker| !worker.stopped);
            let Some(wake) = awake
                .filter_map(|worker| worker.driver.next_wake())
                .min()
                .filter(|wake| *wake <= end)
            else {
                self.pass(end.since(self.now()));
                return;
            };
            self.pass(wake.since(self.now()));
            for worker in 0..self.workers.len() {
                if !self.workers[worker].stopped {
                    self.tell(worker, Event::Woke);
                }
            }
        }
        panic!("the world does not come to rest");
    }

    pub(crate) fn record(&self, id: ActionId) -> Record {
        ready(self.store.load(id)).unwrap().unwrap()
    }

    pub(crate) fn status(&self, id: ActionId) -> Status {
        self.record(id).status()
    }

    pub(crate) fn kinds(&self, id: ActionId) -> Vec<&'static str> {
        ready(self.store.history(id))
            .unwrap()
            .iter()
            .map(|evidence| evidence.fact.kind())
            .collect()
    }

    fn claim(&mut self, action: ActionId, worker: WorkerNonce, lease: Span) -> Event {
        self.claims += 1;
        match ready(self.store.claim(action, worker, lease)).unwrap() {
            Claimed::Held(claim, record) => Event::Claimed(claim, record),
            Claimed::Busy(until) => Event::NotClaimed(action, Some(until)),
            Claimed::Gone => Event::NotClaimed(action, None),
        }
    }

    fn carry_out(&mut self, command: Command, worker: WorkerNonce) -> Event {
        match command {
            Command::Claim(action, lease) => self.claim(action, worker, lease),
            Command::Commit(commit) => {
                let mut record = commit.record;
                let action = record.id();
                let committed = ready(self.store.commit(
                    &commit.claim,
                    commit.facts.clone(),
                    commit.next.clone(),
                ));
                match committed.unwrap() {
                    Committed::Durable(recorded) => {
                        for (id, fact) in recorded.ids.iter().zip(commit.facts) {
                            record.known.absorb(&Evidence {
                                id: *id,
                                at: recorded.at,
                                fact,
                            });
                        }
                        record.version = recorded.version;
                        record.next = commit.next;
                        Event::Committed(commit.claim.at_version(recorded.version), record)
                    }
                    Committed::Stale => {
                        ready(self.store.release(commit.claim)).unwrap();
                        Event::NotCommitted(action, self.now())
                    }
                }
            }
            Command::Send(send) => self.send(&send.record, &send.permission),
            Command::LookUp(action, record) => {
                self.lookups += 1;
                let answer = match self.effects.get(&action) {
                    Some(count) if *count > 0 => LookupAnswer::Found(vec![receipt(action)]),
                    _ => LookupAnswer::Absent,
                };
                let epoch = record.known.current_epoch();
                let lookup = Lookup {
                    asked_at: self.now(),
                    by: LookupBy::Reference,
                    epoch,
                    answer,
                };
                Event::Ended {
                    action,
                    facts: vec![Fact::LookedUp(lookup)],
                    heard: Heard::Answer,
                }
            }
            Command::Poll(action, ..) => Event::Ended {
                action,
                facts: Vec::new(),
                heard: Heard::Answer,
            },
            Command::Record(action, facts) => {
                ready(self.store.record(action, facts)).unwrap();
                Event::Recorded(action)
            }
            Command::Release(claim) => {
                let action = claim.action;
                ready(self.store.release(claim)).unwrap();
                Event::Released(action)
            }
            Command::ReadFeed(feed) => Event::FeedRead {
                feed,
                heard: Heard::Answer,
            },
        }
    }

    fn send(&mut self, record: &Record, permission: &Permission) -> Event {
        let action = record.id();
        let attempt = match permission.request() {
            RequestRef::Attempt(attempt) => attempt,
            RequestRef::Cancel(no) => {
                let answer = CancelAnswer::Unknown {
                    why: "not in this world".to_owned(),
                };
                let facts = vec![Fact::CancelAnswered { no, answer }];
                return Event::Ended {
                    action,
                    facts,
                    heard: Heard::Nothing,
                };
            }
        };
        let now = self.now();
        let fate = match permission.check(now) {
            Ok(()) => self.fates.pop_front().unwrap_or(Fate::Answered),
            Err(_) => Fate::NotSent,
        };
        let fact = match fate {
            Fate::NotSent => Fact::NotSent {
                attempt,
                phase: Phase::Connect,
                detail: "test".to_owned(),
            },
            Fate::Answered => {
                self.act(action);
                Fact::Answered(Answer {
                    attempt,
                    read_at: now,
                    class: AnswerClass::Done,
                    receipt: Some(receipt(action)),
                    replayed: false,
                    retry_after: None,
                    capture: Capture::default(),
                })
            }
            Fate::AnswerLost | Fate::RequestLost => {
                self.sent += 1;
                if fate == Fate::AnswerLost {
                    self.act(action);
                }
                let detail = "test".to_owned();
                Fact::Lost(Loss {
                    attempt,
                    phase: Phase::Head,
                    wrote: 9,
                    read: 0,
                    closed_at: Some(now),
                    detail,
                })
            }
        };
        Event::Ended {
            action,
            facts: vec![fact],
            heard: Heard::Answer,
        }
    }

    /// The destination acts: once per key where it recognises one, each time where it does not.
    fn act(&mut self, action: ActionId) {
        let count = self.effects.entry(action).or_default();
        if self.promises.key.is_none() || *count == 0 {
            *count += 1;
        }
    }
}

fn receipt(action: ActionId) -> Receipt {
    Receipt::new(format!("R-{action}"))
}

/// There is something to do about an action.
pub(crate) fn due(action: ActionId, at: Timestamp) -> Event {
    Event::Due {
        action,
        destination: PLACE.to_owned(),
        at,
    }
}

/// The memory store's futures are ready at once.
pub(crate) fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the memory store's futures are ready at once"),
    }
}
