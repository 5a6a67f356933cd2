//! The engine's logic without I/O: events in, commands out, time and randomness as data.
//!
//! A shell feeds [`Driver::handle`] with what happened and carries out the [`Command`]s that come back, in any order and with any
//! delay; each command is answered by exactly one event. The driver holds at most one claim per action. Everything it knows can
//! be lost at any moment: the queue is rebuilt from the store.
//!
//! The way of an action through here: due → claim → the facts that time calls for, and the decision, in one commit → where
//! that was a mark, one send → evidence, in one commit with the next decision → the next step, or the claim given back.

mod admit;
pub mod answers;
mod exchange;
pub mod feeds;
pub mod gate;
pub(crate) mod held;
pub mod queues;
mod returns;
mod turns;
mod waiting;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use factum_core::evidence::{AnswerClass, RequestRef};
use factum_core::{ActionId, Fact, Promises, Scope, Span, Timestamp, WorkerNonce};
use factum_store::{Due, NextRow, Record};

use admit::Admitting;
pub use admit::FirstMark;
pub use exchange::{Command, Commit, Event, SendOut};
use feeds::FeedAt;
use gate::{Gate, GateSettings, Heard};
use held::{Decision, Doing, Held, View, decide_held};
use waiting::{After, Asks, Waiting};

use crate::destination::ByWorkers;
use crate::directory::Directory;

/// What the driver has to know about a destination.
#[derive(Clone, Debug)]
pub struct DestinationPolicy {
    /// How much it is given at a time.
    pub gate: GateSettings,
    /// Its base address, where it has one: see [`factum_store::Content::place`].
    pub place: Option<String>,
    /// The configured account there.
    pub account: Option<String>,
    /// The digests of its operations' contracts, by name: what was approved under another one is not sent (R23).
    pub contracts: BTreeMap<String, [u8; 32]>,
    /// The current promises of its operations, by name.
    pub operations: BTreeMap<String, Promises>,
    /// What counts for operations that are not named.
    pub any_operation: Option<Promises>,
    /// The operations that workers elsewhere carry out.
    pub by_workers: BTreeMap<String, ByWorkers>,
}

impl DestinationPolicy {
    fn promises(&self, operation: &str) -> Option<&Promises> {
        self.operations
            .get(operation)
            .or(self.any_operation.as_ref())
    }
}

/// The driver's own bounds.
#[derive(Clone, Copy, Debug)]
pub struct DriverLimits {
    /// Claims held at once.
    pub held_max: usize,
    /// How long a claim is held for; longer than any request's lease.
    pub claim_lease: Span,
}

impl DriverLimits {
    /// A gate's settings, so that requests to one destination that never answers leave a quarter of what may be under way to others.
    fn within(&self, gate: GateSettings) -> GateSettings {
        let most = (self.held_max - self.held_max / 4).max(1);
        GateSettings {
            in_flight_max: gate
                .in_flight_max
                .min(u32::try_from(most).unwrap_or(u32::MAX)),
            ..gate
        }
    }
}

/// An action whose claim is on its way to us.
#[derive(Debug)]
struct Claiming {
    destination: String,
    /// Something was heard about it meanwhile, which the record that the claim brings may not hold yet.
    look_again: bool,
}

/// The engine's logic.
#[derive(Debug)]
pub struct Driver {
    worker: WorkerNonce,
    limits: DriverLimits,
    policies: BTreeMap<String, DestinationPolicy>,
    gates: BTreeMap<String, Gate>,
    waiting: Waiting,
    held: BTreeMap<ActionId, Held>,
    claiming: BTreeMap<ActionId, Claiming>,
    admitting: BTreeMap<ActionId, Admitting>,
    feeds: BTreeMap<FeedAt, feeds::Reading>,
    paused: bool,
    restore_released: bool,
    clock_in_doubt: bool,
    accounts_in_doubt: BTreeSet<String>,
    credentials_since: BTreeMap<String, Timestamp>,
    /// Who may do what. None where nobody says: then everybody may everything.
    directory: Option<Arc<Directory>>,
    stopping: bool,
}

impl Driver {
    /// A driver for this process instance.
    #[must_use]
    pub fn new(
        worker: WorkerNonce,
        limits: DriverLimits,
        policies: BTreeMap<String, DestinationPolicy>,
        restore_released: bool,
    ) -> Self {
        let gates = policies
            .iter()
            .map(|(name, policy)| (name.clone(), Gate::new(limits.within(policy.gate))))
            .collect();
        Self {
            worker,
            limits,
            policies,
            gates,
            waiting: Waiting::default(),
            held: BTreeMap::new(),
            claiming: BTreeMap::new(),
            admitting: BTreeMap::new(),
            feeds: BTreeMap::new(),
            paused: false,
            restore_released,
            clock_in_doubt: false,
            accounts_in_doubt: BTreeSet::new(),
            credentials_since: BTreeMap::new(),
            directory: None,
            stopping: false,
        }
    }

    /// Takes in what happened, and says what is to be done. `now` is the store's time.
    pub fn handle(&mut self, event: Event, now: Timestamp) -> Vec<Command> {
        let mut out = Vec::new();
        self.take_in(event, now, &mut out);
        self.begin_feeds(now, &mut out);
        self.call_from_gates(now);
        self.begin_due(now, &mut out);
        out
    }

    fn take_in(&mut self, event: Event, now: Timestamp, out: &mut Vec<Command>) {
        match event {
            Event::Woke => {}
            Event::All(events) => {
                for event in events {
                    self.take_in(event, now, out);
                }
            }
            Event::Due {
                action,
                destination,
                at,
            } => self.due(action, destination, at, now),
            Event::Overdue(rows) => self.overdue(rows),
            Event::Claimed(claim, record) => {
                let claiming = self.claiming.remove(&record.id());
                let mut held = Held::new(claim, record);
                held.look_again = claiming.is_some_and(|claiming| claiming.look_again);
                self.advance(held, now, out);
            }
            Event::NotClaimed(action, free_at) => self.not_claimed(action, free_at, now),
            Event::Admitted(claim, record) => self.admitted(claim, record, out),
            Event::NotAdmitted(action, again) => self.not_admitted(action, again, now),
            Event::Committed(claim, record) => self.committed(claim, record, now, out),
            Event::NotCommitted(action, again) => self.not_committed(action, again, now, out),
            Event::Ended {
                action,
                facts,
                heard,
            } => self.ended(action, facts, heard, now, out),
            Event::Recorded(action) => self.recorded(action, now),
            Event::Released(action) => self.released(action),
            Event::Broken(action) => self.broken(action, now, out),
            Event::FeedDue(feed) => self.feed_due(feed),
            Event::FeedRead { feed, heard } => self.feed_read(feed, heard, now),
            Event::Paused(paused) => {
                self.paused = paused;
                self.waiting.look_at_all(now);
            }
            Event::RestoreReleased(released) => {
                self.restore_released = released;
                self.waiting.look_at_all(now);
            }
            Event::InDoubt { clock, accounts } => self.doubt(clock, accounts, now),
            Event::Credentials(since) if since != self.credentials_since => {
                self.credentials_since = since;
                self.waiting.look_at_all(now);
            }
            Event::Credentials(_) => {}
            Event::Directory(directory) => self.directed(directory, now),
            Event::Living(share) => {
                for gate in self.gates.values_mut() {
                    gate.share(share, now, self.limits.claim_lease);
                }
            }
            Event::Stopping => self.stopping = true,
        }
    }

    /// When to wake up if nothing happens before.
    #[must_use]
    pub fn next_wake(&self) -> Option<Timestamp> {
        if self.stopping || self.full() {
            None
        } else {
            self.waiting.next_due()
        }
    }

    /// Requests and commits under way; a stopping engine is done when there are none.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.held.len() + self.claiming.len() + self.admitting.len() + self.waiting.releasing()
    }

    /// The actions whose effect requests are in flight: what a shutdown could not wait for.
    #[must_use]
    pub fn in_flight(&self) -> Vec<(ActionId, RequestRef)> {
        self.held
            .iter()
            .filter_map(|(action, held)| held.in_flight().map(|request| (*action, request)))
            .collect()
    }

    /// How many actions wait for their time or for a place at a gate.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// The gate of a destination, for people.
    #[must_use]
    pub fn gate(&self, destination: &str) -> Option<&Gate> {
        self.gates.get(destination)
    }

    fn full(&self) -> bool {
        self.under_way() >= self.limits.held_max
    }

    /// Whether a destination has as many requests in flight as it may for the sake of the others, whatever its gate says. Half of what
    /// may be under way is for whoever comes. Past that, of what is left a sixteenth for each, and one in any case: many destinations
    /// that never answer come to a rest at their few, and leave places to those that do. Where hardly anybody else is there, nothing
    /// is kept back.
    fn crowds(&self, destination: &str) -> bool {
        let in_flight = self.gates.get(destination).map_or(0, Gate::in_flight);
        let own = in_flight + self.waiting.kept(destination);
        let (all, most) = (
            self.under_way() + self.waiting.coming(),
            self.limits.held_max,
        );
        let many = all >= most / 2 && all.saturating_sub(own) >= most / 4;
        many && own >= (most.saturating_sub(all) / 16).max(1)
    }

    // ---- the queue

    /// What is in our hands, or on its way there, is decided anew before it rests.
    fn due(&mut self, action: ActionId, destination: String, at: Timestamp, now: Timestamp) {
        if let Some(held) = self.held.get_mut(&action) {
            held.look_again = true;
        } else if let Some(claiming) = self.claiming.get_mut(&action) {
            claiming.look_again = true;
        } else if let Some(admitting) = self.admitting.get_mut(&action) {
            admitting.look_again = true;
        } else {
            self.waiting.heard(action, destination, at, now);
        }
    }

    /// What is in our hands, or on its way there, is decided anew in any case.
    fn overdue(&mut self, rows: Vec<Due>) {
        for row in rows {
            let ours = self.held.contains_key(&row.action)
                || self.claiming.contains_key(&row.action)
                || self.admitting.contains_key(&row.action);
            if !ours {
                self.waiting.overdue(row.action, row.destination, row.at);
            }
        }
    }

    fn doubt(&mut self, clock: bool, accounts: BTreeSet<String>, now: Timestamp) {
        if (clock, &accounts) != (self.clock_in_doubt, &self.accounts_in_doubt) {
            self.clock_in_doubt = clock;
            self.accounts_in_doubt = accounts;
            self.waiting.look_at_all(now);
        }
    }

    /// Where somebody may do less than before, that is found out at once; and so it is where they may do more.
    fn directed(&mut self, directory: Arc<Directory>, now: Timestamp) {
        let before = self.directory.replace(directory.clone());
        let same = before.is_some_and(|before| {
            Arc::ptr_eq(&before, &directory) || before.lets_the_same_act(&directory)
        });
        if !same {
            self.waiting.look_at_all(now);
        }
    }

    /// The edition of the register that decisions are made under.
    #[must_use]
    pub fn edition(&self) -> Option<u64> {
        self.directory.as_ref().map(|directory| directory.edition())
    }

    fn begin_due(&mut self, now: Timestamp, out: &mut Vec<Command>) {
        while !self.stopping && !self.full() {
            let Some((action, destination)) = self.waiting.pop_due(now) else {
                break;
            };
            self.claiming.insert(
                action,
                Claiming {
                    destination,
                    look_again: false,
                },
            );
            out.push(Command::Claim(action, self.limits.claim_lease));
        }
    }

    // ---- one held action

    /// Decides what comes next for an action that is held, and does it. While that is decided the action stands among those
    /// that are held, so that [`Event::Broken`] finds it should the decision break off.
    fn advance(&mut self, held: Held, now: Timestamp, out: &mut Vec<Command>) {
        let action = held.record.id();
        self.held.insert(action, held);
        let decided = self
            .held
            .get(&action)
            .map(|held| decide_held(&held.record, &self.view(&held.record, now)));
        let Some((decision, held)) = decided.zip(self.held.remove(&action)) else {
            return;
        };
        match decision {
            Decision::Send { .. } | Decision::LookUp | Decision::Poll(_) => {
                self.begin(held, decision, now, out)
            }
            Decision::Write { facts, next } => self.commit(held, facts, next, Doing::Deciding, out),
            Decision::Rest { at } => {
                self.give_back(held, at.map_or(After::Rest, After::Queue), now, out);
            }
            Decision::HoldBack => self.give_back(held, After::HeldBack, now, out),
        }
    }

    fn view(&self, record: &Record, now: Timestamp) -> View<'_> {
        self.view_of(&record.action.scope, now)
    }

    fn view_of(&self, scope: &Scope, now: Timestamp) -> View<'_> {
        let policy = self.policies.get(&scope.destination);
        View {
            now,
            current: policy.and_then(|policy| policy.promises(&scope.operation)),
            restore_released: self.restore_released,
            clock_in_doubt: self.clock_in_doubt,
            account_in_doubt: self.accounts_in_doubt.contains(&scope.destination),
            credential_since: self.credentials_since.get(&scope.destination).copied(),
            place: policy.and_then(|policy| policy.place.as_deref()),
            account: policy.and_then(|policy| policy.account.as_deref()),
            contract: policy
                .and_then(|policy| policy.contracts.get(&scope.operation).copied())
                .unwrap_or_default(),
            by_workers: policy.and_then(|policy| policy.by_workers.get(&scope.operation)),
            directory: self.directory.as_deref(),
            no_sends: self.paused || self.stopping,
            no_questions: self.stopping,
        }
    }

    /// Begins a request or a question, if the destination's gate lets it.
    fn begin(&mut self, held: Held, decision: Decision, now: Timestamp, out: &mut Vec<Command>) {
        let action = held.record.id();
        let destination = held.record.action.scope.destination.clone();
        if let Err(since) = self.enter_gate(action, &destination, now) {
            let asks = Asks {
                since,
                principal: held.record.action.scope.principal.clone(),
                closes: Some(decision.closes())
                    .filter(|at| *at > now)
                    .unwrap_or(Timestamp::NEVER),
            };
            self.give_back(held, After::AtGate(asks), now, out);
            return;
        }
        match decision {
            Decision::Send {
                leave,
                mut facts,
                reuse,
            } => {
                let (mark, marked) = leave.mark(self.worker);
                let next = held::in_flight_row(&mark);
                facts.push(mark);
                self.commit(held, facts, next, Doing::Marked { marked, reuse }, out);
            }
            Decision::LookUp => {
                out.push(Command::LookUp(action, held.record.clone()));
                self.held.insert(
                    action,
                    Held {
                        doing: Doing::Asking,
                        ..held
                    },
                );
            }
            Decision::Poll(attempt) => {
                out.push(Command::Poll(action, held.record.clone(), attempt));
                self.held.insert(
                    action,
                    Held {
                        doing: Doing::Asking,
                        ..held
                    },
                );
            }
            Decision::Write { .. } | Decision::Rest { .. } | Decision::HoldBack => {
                unreachable!("only requests and questions pass a gate")
            }
        }
    }

    fn commit(
        &mut self,
        held: Held,
        facts: Vec<Fact>,
        next: NextRow,
        doing: Doing,
        out: &mut Vec<Command>,
    ) {
        let action = held.record.id();
        let Held {
            claim,
            record,
            look_again,
            ..
        } = held;
        let Some(claim) = claim else {
            // The claim is gone, and a decision without one is not written: look at the action again later.
            self.waiting.enqueue(
                action,
                record.action.scope.destination.clone(),
                Timestamp::EARLIEST,
            );
            return;
        };
        let claim = match self.edition() {
            Some(edition) => claim.under(edition),
            None => claim,
        };
        out.push(Command::Commit(Box::new(Commit {
            claim,
            record: record.clone(),
            facts,
            next,
        })));
        self.held.insert(
            action,
            Held {
                claim: None,
                record,
                doing,
                look_again,
            },
        );
    }
}

/// What a complete answer tells the gate.
#[must_use]
pub fn heard_of(class: &AnswerClass, status: u16, retry_after: Option<Span>) -> Heard {
    match class {
        AnswerClass::Busy => Heard::Busy(retry_after),
        AnswerClass::Unknown if status >= 500 => Heard::Nothing,
        AnswerClass::Unknown if status == 429 => Heard::Busy(retry_after),
        AnswerClass::Done
        | AnswerClass::Accepted { .. }
        | AnswerClass::Rejected { .. }
        | AnswerClass::Declined { .. }
        | AnswerClass::InProgress
        | AnswerClass::AlreadyExists { .. }
        | AnswerClass::Mismatch
        | AnswerClass::Unknown => Heard::Answer,
    }
}
