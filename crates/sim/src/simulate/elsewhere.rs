//! Workers elsewhere, who make a destination's call in their own code: they claim, begin, call and report. What they are handed, what
//! they may begin and what their reports mean is the engine's, as the server has it. They are slow, die at any moment, come back with
//! the name of a claim and no memory of what they did, and report late, twice, or never.

use std::collections::BTreeMap;

use factum_core::evidence::{LookupAnswer, Mark, PermissionKind, RequestRef};
use factum_core::mistake::{Mistake, made};
use factum_core::{Conditions, Epoch, Fact, Span, Timestamp, WorkerNonce};
use factum_engine::destination::ByWorkers;
use factum_engine::driver::answers::due_at;
use factum_engine::messages::Messages;
use factum_engine::work::{self, Doable, Reading, Report, Ticket, TicketKind, in_flight_row};
use factum_engine::{Code, Operation};
use factum_faults::{Class, Fault};
use factum_store::{Claimed, Committed, Due, Record, Store};

use super::dice::Dice;
use super::options::{Options, Trouble};
use super::process::Task;
use super::wire::Wire;
use super::world::{Happening, World, ready};

/// How often a worker asks for work.
const LOOK_EVERY: Span = Span::from_secs(10);
/// The same once nothing fails any more, and the days that some destinations take have to pass in few steps.
const LOOK_IN_THE_CALM: Span = Span::from_secs(120);
/// Claims that a worker holds at once.
const JOBS_MAX: usize = 2;
/// After how long a call of the engine is repeated that was not answered.
const AGAIN: Span = Span::from_secs(2);

/// The workers elsewhere, and what they have in hand.
#[derive(Default)]
pub(super) struct Elsewhere {
    jobs: BTreeMap<WorkerNonce, Job>,
    claims: u64,
}

/// What a worker has claimed.
#[derive(Clone)]
struct Job {
    worker: usize,
    /// The claim, as it was handed out.
    claim: String,
    /// How often the worker has died over it: what a dead one was about to do is not done.
    life: u32,
}

/// The permission of a begin, as a worker has it.
pub(super) struct Begun {
    record: Box<Record>,
    request: RequestRef,
    epoch: Epoch,
    kind: PermissionKind,
    /// In true time: the worker counts from when it sent its begin.
    ends: Timestamp,
    /// How often the store had come back from an older copy by then.
    restores: u32,
}

/// What a worker elsewhere does.
pub(super) enum Deed {
    /// It asks for work.
    Look(usize),
    /// It goes on with a claim: begins, or looks up. Whether it remembers what it did under it.
    GoOn(WorkerNonce, u32, bool),
    /// It has read the answer to its begin.
    Call(WorkerNonce, u32, Box<Begun>),
    /// It reports.
    Report(WorkerNonce, u32, Report),
    /// It dies, and comes back some time later.
    Die(usize),
}

impl Elsewhere {
    /// Whether a worker holds anything.
    pub(super) fn has_work(&self) -> bool {
        !self.jobs.is_empty()
    }

    fn held_by(&self, worker: usize) -> Vec<WorkerNonce> {
        let its = self.jobs.iter().filter(|(_, job)| job.worker == worker);
        its.map(|(nonce, _)| *nonce).collect()
    }
}

/// Whether workers elsewhere carry an operation of this run out, and how.
pub(super) fn by_workers(
    options: &Options,
    operation: &Operation,
    dice: &mut Dice,
) -> Option<ByWorkers> {
    let theirs = options.has(Trouble::Elsewhere) && dice.chance(60);
    let lease = Span::from_secs(dice.one_of(&[20, 60, 180]));
    let look_ups = operation.promises.lookup.is_some() && dice.chance(50);
    theirs.then_some(ByWorkers { lease, look_ups })
}

impl World {
    /// The workers of this run begin to ask, and are to die at some moments.
    pub(super) fn hire(&mut self) {
        if !self.options.has(Trouble::Elsewhere) {
            return;
        }
        for worker in 0..=self.dice.elsewhere.index(2) {
            self.plan(Span::from_secs(1), Happening::Elsewhere(Deed::Look(worker)));
            if !self.options.has(Trouble::Kills) {
                continue;
            }
            for _ in 0..self.dice.elsewhere.below(5) {
                let when = self
                    .dice
                    .elsewhere
                    .micros(self.options.wild_secs * 1_000_000);
                let dies = Happening::Elsewhere(Deed::Die(worker));
                self.plan(Span::from_micros(when), dies);
            }
        }
    }

    pub(super) fn elsewhere(&mut self, deed: Deed) {
        match deed {
            Deed::Look(worker) => self.look_for_work(worker),
            Deed::GoOn(nonce, life, remembers) => {
                let Some(ticket) = self.ticket(nonce, life) else {
                    return;
                };
                match ticket.kind {
                    TicketKind::Send => self.begin_elsewhere(&ticket, life, remembers),
                    TicketKind::LookUp => self.look_up_elsewhere(&ticket, life),
                }
            }
            Deed::Call(nonce, life, begun) => {
                if self.ticket(nonce, life).is_some() {
                    self.call(nonce, life, *begun);
                }
            }
            Deed::Report(nonce, life, report) => self.report(nonce, life, report),
            Deed::Die(worker) => self.die_elsewhere(worker),
        }
    }

    /// What goes on with a request that a worker elsewhere has written.
    pub(super) fn go_on_elsewhere(&mut self, nonce: WorkerNonce, task: Task) {
        match task {
            Task::Write(id) => {
                self.write_out(id);
            }
            Task::Brought(id, wire) => self.heard_elsewhere(nonce, id, wire),
            Task::GiveUp(id) => self.heard_elsewhere(nonce, id, Wire::silence()),
            Task::Hear(_)
            | Task::Do(_)
            | Task::Admit(..)
            | Task::LookAround
            | Task::LookRegularly
            | Task::StopBound => {}
        }
    }

    /// The claim of a job that is still in the hands of whoever was to do this.
    fn ticket(&self, nonce: WorkerNonce, life: u32) -> Option<Ticket> {
        let job = self.elsewhere.jobs.get(&nonce)?;
        let ticket = Ticket::read(&job.claim, &self.keys).ok();
        ticket.filter(|_| job.life == life)
    }

    fn drop_job(&mut self, nonce: WorkerNonce) {
        self.elsewhere.jobs.remove(&nonce);
    }

    /// How long a worker takes for its next step: longer than any lease, now and then.
    fn dawdles(&mut self) -> Span {
        if self.has(Trouble::Delays) && self.dice.elsewhere.chance(25) {
            return Span::from_micros(self.dice.elsewhere.micros(400_000_000));
        }
        Span::from_micros(1_000 + self.dice.elsewhere.micros(50_000))
    }

    fn does(&mut self, after: Span, deed: Deed) {
        self.plan(after, Happening::Elsewhere(deed));
    }

    // ---- claiming

    fn look_for_work(&mut self, worker: usize) {
        let every = if self.calm {
            LOOK_IN_THE_CALM
        } else {
            LOOK_EVERY
        };
        self.does(every, Deed::Look(worker));
        let busy = self.elsewhere.held_by(worker).len() >= JOBS_MAX;
        if busy || self.store_error(true).is_some() {
            return;
        }
        let Some(p) = self.somebody() else {
            return;
        };
        let theirs = self
            .lines
            .iter()
            .filter(|line| line.operation.by_workers.is_some());
        let names: Vec<String> = theirs.map(|line| line.destination.clone()).collect();
        let rows = names
            .into_iter()
            .flat_map(|name| ready(self.store.for_workers(name, None, 8)).unwrap_or_default());
        let rows: Vec<Due> = rows.collect();
        if !rows.is_empty() {
            let row = &rows[self.dice.elsewhere.index(rows.len())];
            self.claim_elsewhere(p, worker, row);
        }
    }

    fn claim_elsewhere(&mut self, p: usize, worker: usize, row: &Due) {
        let op = self.op_of(&row.destination);
        let Some(by) = self.lines[op].operation.by_workers else {
            return;
        };
        // Read before the claim: a lookup under it is asked later (R2).
        let at = ready(self.store.now()).unwrap_or(Timestamp::EARLIEST);
        self.elsewhere.claims += 1;
        let nonce = WorkerNonce::elsewhere(self.elsewhere.claims);
        let answer = ready(self.store.claim(row.action, nonce, by.lease));
        let Ok(Claimed::Held(claim, record)) = self.answer_lost(answer) else {
            return;
        };
        if self.reach(p, "C3") {
            return;
        }
        let (kind, epoch) = match self.doable(p, &record) {
            Doable::Send(leave) => (TicketKind::Send, leave.epoch()),
            Doable::LookUp(_) => (TicketKind::LookUp, work::epoch_of(&record)),
            Doable::Nothing(_) => {
                let _ = ready(self.store.release(claim));
                return self.look_at(p, &record);
            }
        };
        let ticket = Ticket {
            action: row.action,
            token: claim.token,
            nonce,
            kind,
            at,
            epoch,
        };
        self.note(|world| {
            let name = world.called(row.action);
            format!("w{worker} claims {name} to {}", kind.name())
        });
        let claim = ticket.text(&self.keys);
        let job = Job {
            worker,
            claim,
            life: 0,
        };
        self.elsewhere.jobs.insert(nonce, job);
        let after = self.dawdles();
        self.does(after, Deed::GoOn(nonce, 0, true));
    }

    /// What a worker could do, as the process that it asks has it.
    fn doable(&self, p: usize, record: &Record) -> Doable {
        let line = &self.lines[self.op_of(&record.action.scope.destination)];
        let restore = ready(self.store.restore()).unwrap_or_default();
        let conditions = Conditions {
            now: self.process_now(p),
            current: &line.operation.promises,
            restore_released: restore.is_none_or(|restore| restore.released.is_some()),
            clock_in_doubt: self.processes[p].doubt,
            account_in_doubt: false,
            credential_changed: false,
            place_changed: false,
            subject_overtaken: record.overtaken,
        };
        let contracts = &self.processes[p].contracts;
        let contract = contracts.get(&line.destination).copied();
        let rests = (contract.unwrap_or_default(), None, None);
        let look_ups = line.operation.by_workers.is_some_and(|by| by.look_ups);
        match work::doable(record, &conditions, None, rests, look_ups) {
            Doable::Send(_) if self.paused => {
                Doable::Nothing("sends are held by an operator".to_owned())
            }
            doable => doable,
        }
    }

    fn look_at(&mut self, p: usize, record: &Record) {
        let event = due_at(record, self.process_now(p));
        self.task(p, Span::from_micros(900), Task::Hear(event));
    }

    // ---- beginning

    fn begin_elsewhere(&mut self, ticket: &Ticket, life: u32, remembers: bool) {
        let nonce = ticket.nonce;
        let unanswered = self.store_error(true).is_some();
        let Some(p) = self.somebody().filter(|_| !unanswered) else {
            return self.does(AGAIN, Deed::GoOn(nonce, life, remembers));
        };
        let Some(record) = self.stored(ticket.action) else {
            return self.drop_job(nonce);
        };
        if let Some(mark) = record.known.marked_for(nonce) {
            self.sometimes("a begin was repeated");
            if made(Mistake::MarkReadBack) {
                let begun = self.begun(&record, mark);
                return self.does(Span::ZERO, Deed::Call(nonce, life, begun));
            }
            // Whoever lives has written nothing without a permission; whoever died does not know what it wrote.
            let report = if remembers {
                Report::NotSent("the answer to the begin was lost".to_owned())
            } else {
                Report::Unknown("it died, and does not know".to_owned())
            };
            return self.does(Span::ZERO, Deed::Report(nonce, life, report));
        }
        let restore = ready(self.store.restore()).unwrap_or_default();
        if ticket.is_before(restore.as_ref()) {
            self.sometimes("a begin found its claim older than a restore");
            return self.drop_job(nonce);
        }
        let op = self.op_of(&record.action.scope.destination);
        let leave = match (self.doable(p, &record), self.lines[op].operation.by_workers) {
            (Doable::Send(leave), Some(by)) => leave.leased_for(by.lease),
            _ => {
                self.sometimes("nothing was left to begin");
                let _ = ready(self.store.release(ticket.hold(&record, 0)));
                self.drop_job(nonce);
                return self.look_at(p, &record);
            }
        };
        let (mark, _) = leave.mark(nonce);
        self.mark_elsewhere(p, (ticket, life, remembers), &record, mark);
    }

    fn mark_elsewhere(
        &mut self,
        p: usize,
        (ticket, life, remembers): (&Ticket, u32, bool),
        record: &Record,
        fact: Fact,
    ) {
        let (nonce, held) = (ticket.nonce, ticket.hold(record, 0));
        self.marked_under(p, &record.action);
        let row = in_flight_row(&fact);
        let until = row.at.unwrap_or(Timestamp::NEVER);
        let answer = ready(self.store.commit(&held, vec![fact], row));
        let marked = matches!(answer, Ok(Committed::Durable(_)));
        if marked && self.reach(p, "C4") {
            return self.does(AGAIN, Deed::GoOn(nonce, life, remembers));
        }
        match self.answer_lost(answer) {
            Ok(Committed::Durable(_)) => {
                let _ = ready(self.store.release(held));
                self.task(p, Span::from_micros(900), Task::Hear(due_at(record, until)));
                self.touch(ticket.action);
                self.sometimes("a worker elsewhere began");
                let Some(record) = self.stored(ticket.action) else {
                    return;
                };
                let Some(mark) = record.known.marked_for(nonce) else {
                    return self.breaks(1, || "a mark that is durable is not there".to_owned());
                };
                let begun = self.begun(&record, mark);
                let after = self.travel(Span::from_secs(3)) + self.dawdles();
                self.does(after, Deed::Call(nonce, life, begun));
            }
            Ok(Committed::Stale)
                if !ready(self.store.renew(&held, Span::ZERO)).unwrap_or(false) =>
            {
                self.sometimes("a begin found its claim over");
                self.drop_job(nonce);
            }
            Ok(Committed::Stale) | Err(_) => {
                self.does(AGAIN, Deed::GoOn(nonce, life, remembers));
            }
        }
    }

    fn begun(&self, record: &Record, mark: &Mark) -> Box<Begun> {
        Box::new(Begun {
            record: Box::new(record.clone()),
            request: RequestRef::Attempt(mark.attempt),
            epoch: mark.epoch,
            kind: mark.permission,
            ends: self.now + mark.valid_until.since(mark.at),
            restores: self.restores,
        })
    }

    // ---- calling

    fn call(&mut self, nonce: WorkerNonce, life: u32, begun: Begun) {
        let Begun {
            record,
            request,
            epoch,
            kind,
            ends,
            restores,
        } = begun;
        let contract = self.contract(self.op_of(&record.action.scope.destination));
        let built = Messages::new(&self.keys, &record, &contract).effect(request, epoch);
        let Ok(http) = built else {
            let why = "the request cannot be built".to_owned();
            return self.report_in_time(nonce, life, Report::NotSent(why));
        };
        let business = self
            .ids
            .get(&record.id())
            .map_or(String::new(), |n| format!("b{n}"));
        let fault = self.fault(Class::Effect, &http, &business);
        if self.now >= ends || fault == Fault::Refuse {
            let why = "the permission was over, or nobody answered".to_owned();
            return self.report_in_time(nonce, life, Report::NotSent(why));
        }
        self.note(|world| {
            let name = world.called(record.id());
            format!("a worker elsewhere calls for {name} {request:?} by {kind:?}, fault {fault}")
        });
        if restores == self.restores {
            self.before_the_first_byte(nonce, &record, (request, Some(kind)));
        } else {
            // The mark was durable when the worker was let go; that the copy does not know it stops nobody outside.
            self.sometimes("a worker elsewhere called under a begin that a restore has lost");
        }
        self.set_out(nonce, record, (request, epoch, Some(kind)), (http, fault));
    }

    fn heard_elsewhere(&mut self, nonce: WorkerNonce, id: u64, wire: Wire) {
        if self.forget_send(id).is_none() {
            return;
        }
        let Some(life) = self.elsewhere.jobs.get(&nonce).map(|job| job.life) else {
            return;
        };
        let report = match wire {
            Wire::Whole(answer) => Report::Answered(answer),
            Wire::Lost(..) => Report::Unknown("the answer was lost".to_owned()),
            Wire::Nothing => Report::NotSent("nobody answered".to_owned()),
        };
        self.report_in_time(nonce, life, report);
    }

    fn look_up_elsewhere(&mut self, ticket: &Ticket, life: u32) {
        let Some(record) = self.stored(ticket.action) else {
            return self.drop_job(ticket.nonce);
        };
        let brought = self.look_up_there(&record, ticket.at);
        let heard = brought.facts.into_iter().find_map(|fact| match fact {
            Fact::LookedUp(lookup) => Some(lookup.answer),
            _ => None,
        });
        let report = match heard {
            Some(LookupAnswer::Found(receipts)) => Report::Found(receipts),
            Some(LookupAnswer::Queued { object }) => Report::Queued(object),
            Some(LookupAnswer::Absent) => Report::Absent,
            Some(LookupAnswer::Inconclusive { why }) => Report::Inconclusive(why),
            None => Report::Inconclusive("nothing could be asked".to_owned()),
        };
        self.sometimes("a worker elsewhere looked up");
        self.report_in_time(ticket.nonce, life, report);
    }

    // ---- reporting

    fn report_in_time(&mut self, nonce: WorkerNonce, life: u32, report: Report) {
        let after = self.dawdles();
        self.does(after, Deed::Report(nonce, life, report));
    }

    fn report(&mut self, nonce: WorkerNonce, life: u32, report: Report) {
        let Some(ticket) = self.ticket(nonce, life) else {
            return;
        };
        let unanswered = self.store_error(true).is_some();
        let Some(p) = self.somebody().filter(|_| !unanswered) else {
            return self.does(AGAIN, Deed::Report(nonce, life, report));
        };
        let Some(record) = self.stored(ticket.action) else {
            return self.drop_job(nonce);
        };
        let contract = self.contract(self.op_of(&record.action.scope.destination));
        let restore = ready(self.store.restore()).unwrap_or_default();
        let reading = Reading {
            by: "worker",
            keys: &self.keys,
            contract: Some(&contract),
            restore: restore.as_ref(),
            now: self.process_now(p),
        };
        let facts = match work::facts(&ticket, &record, report.clone(), &reading) {
            Ok(facts) => facts,
            // The copy of the store that came back does not know of the begin.
            Err(problem) if problem.code == Code::NotBegun && self.restores > 0 => {
                self.sometimes("a report spoke of a begin that a restore has lost");
                return self.drop_job(nonce);
            }
            Err(problem) => return self.breaks(0, || format!("a report is refused: {problem}")),
        };
        let began = record.known.marked_for(nonce).map(|mark| mark.attempt);
        if began.is_some_and(|attempt| record.known.attempt_leased_until(attempt).is_none()) {
            self.sometimes("a report came when its lease was over");
        }
        let history = ready(self.store.history(ticket.action)).unwrap_or_default();
        if work::is_recorded(&history, &facts) {
            self.sometimes("a report was repeated");
            self.look_at(p, &record);
        } else {
            self.note(|world| {
                let kinds: Vec<_> = facts.iter().map(Fact::kind).collect();
                format!(
                    "a worker elsewhere reports on {}: {kinds:?}",
                    world.called(ticket.action)
                )
            });
            let recorded = ready(self.store.record(ticket.action, facts));
            self.touch(ticket.action);
            if self.answer_lost(recorded).is_err() {
                self.look_at(p, &record);
                return self.does(AGAIN, Deed::Report(nonce, life, report));
            }
            if !ticket.is_before(restore.as_ref()) {
                let _ = ready(self.store.release(ticket.hold(&record, 0)));
            }
            self.look_at(p, &record);
        }
        if self.reach(p, "C7") {
            return self.does(AGAIN, Deed::Report(nonce, life, report));
        }
        if let Some(attempt) = began {
            let request = RequestRef::Attempt(attempt);
            self.handed.insert((ticket.action, request), nonce);
        }
        if !self.calm && self.dice.elsewhere.chance(15) {
            let after = Span::from_micros(self.dice.elsewhere.micros(300_000_000));
            return self.does(after, Deed::Report(nonce, life, report));
        }
        self.drop_job(nonce);
    }

    // ---- dying

    /// What it had not written may have left all the same, or never does. It comes back with what it wrote down: its claims, or
    /// not even those.
    fn die_elsewhere(&mut self, worker: usize) {
        if self.calm {
            return;
        }
        for nonce in self.elsewhere.held_by(worker) {
            self.sometimes("a worker elsewhere died");
            self.note(|_| format!("w{worker} dies over a claim"));
            self.let_go(nonce);
            if !self.dice.elsewhere.chance(60) {
                self.drop_job(nonce);
                continue;
            }
            let Some(job) = self.elsewhere.jobs.get_mut(&nonce) else {
                continue;
            };
            job.life += 1;
            let life = job.life;
            let down = Span::from_micros(self.dice.elsewhere.micros(200_000_000));
            self.does(down, Deed::GoOn(nonce, life, false));
        }
    }
}
