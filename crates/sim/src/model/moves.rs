//! What can happen next in a world. The core decides; the moves only carry out, lose, delay, and let people act.

use std::fmt;

use factum_core::mistake::{Mistake, made};
use factum_core::{State, Step};

use super::callers::Caller;
use super::cases::Case;
use super::destination::{Deed, View};
use super::logs::LogId;
use super::setup::{ANSWER_WAIT, PAUSE};
use super::world::{NEVER, Phase, Run, Stage, World};

/// One thing that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Move {
    Tick,
    Due(u8),
    Decide(u8, u8),
    Commit(u8),
    Learn(u8),
    Pause(u8),
    Write(u8),
    WriteTwice(u8),
    Close(u8),
    Read(u8),
    ReadTwice(u8),
    Crash(u8),
    Ask(u8, u8, View),
    Hear(u8),
    Poll(u8),
    Arrive { flight: u8, too_late: bool },
    Act(u8, Deed),
    QueueEnds { queued: u8, done: bool },
    Report(u8),
    ReportTwice(u8),
    Withdraw(u8),
    Revoke(u8),
    Rule(u8, Said),
    Take(u8),
    Hand(u8),
    GiveBack(u8),
    CheckAgain(u8),
    Correct(u8, bool),
    Submit(u8),
    SubmitAgain,
    CheckSubmission(u8),
    Admit(u8),
    Repeat(u8),
    Restore(u8),
    Release,
    StepBack,
    SetRight,
    Swap,
    SwapBack,
    Delete(u8),
}

/// What a person can say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Happened,
    DidNotHappen,
    SendAgain,
    CannotBeKnown,
}

impl fmt::Display for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Tick => "time passes".to_owned(),
            Self::Due(a) => format!("action {a}: what time calls for is recorded"),
            Self::Decide(w, a) => format!("worker {w} decides to send action {a}"),
            Self::Commit(w) => format!("worker {w} commits its mark"),
            Self::Learn(w) => format!("worker {w} reads the store's answer"),
            Self::Pause(w) => format!("worker {w} checks, then pauses"),
            Self::Write(w) => format!("worker {w} checks and writes"),
            Self::WriteTwice(w) => format!("worker {w} writes, a proxy doubles it"),
            Self::Close(w) => format!("worker {w} closes its socket"),
            Self::Read(w) => format!("worker {w} reads the answer"),
            Self::ReadTwice(w) => format!("worker {w} stores the answer twice"),
            Self::Crash(w) => format!("worker {w} dies"),
            Self::Ask(w, a, view) => format!("worker {w} looks up action {a}, view {view:?}"),
            Self::Hear(w) => format!("worker {w} stores the lookup"),
            Self::Poll(a) => format!("action {a}: the queued work is polled"),
            Self::Arrive {
                flight,
                too_late: false,
            } => format!("request {flight} arrives"),
            Self::Arrive {
                flight,
                too_late: true,
            } => format!("cancel {flight} arrives too late"),
            Self::Act(flight, deed) => format!("request {flight} brings {deed:?}"),
            Self::QueueEnds { queued, done } => format!("queued {queued} ends, done {done}"),
            Self::Report(n) => format!("report {n} comes in"),
            Self::ReportTwice(n) => format!("report {n} comes in, and will again"),
            Self::Withdraw(a) => format!("the caller withdraws action {a}"),
            Self::Revoke(a) => format!("the authority for action {a} ends"),
            Self::Rule(a, said) => format!("a person rules {said:?} on action {a}"),
            Self::Take(a) => format!("a person takes action {a}"),
            Self::Hand(a) => format!("the person does action {a} by hand"),
            Self::GiveBack(a) => format!("the person gives action {a} back"),
            Self::CheckAgain(a) => format!("a person wants another look at action {a}"),
            Self::Correct(a, true) => format!("a correction reads an answer to {a} as done"),
            Self::Correct(a, false) => format!("a correction reads an answer to {a} as nothing"),
            Self::Submit(a) => format!("action {a} is submitted"),
            Self::SubmitAgain => "the submission is repeated".to_owned(),
            Self::CheckSubmission(c) => format!("caller {c}'s submission is checked"),
            Self::Admit(c) => format!("caller {c}'s submission is recorded, or joins"),
            Self::Repeat(c) => format!("caller {c} submits again"),
            Self::Restore(back) => format!("a copy, {back} records old, is restored"),
            Self::Release => "an operator releases the restore".to_owned(),
            Self::StepBack => "the store's clock steps back".to_owned(),
            Self::SetRight => "the store's clock is set right".to_owned(),
            Self::Swap => "the secret is swapped".to_owned(),
            Self::SwapBack => "the right secret is back".to_owned(),
            Self::Delete(effect) => format!("somebody deletes effect {effect}"),
        };
        f.pad(&text)
    }
}

impl World {
    /// Everything that can happen next.
    pub(crate) fn moves(&self, run: &Run, moves: &mut Vec<Move>) {
        moves.clear();
        for act in self.recorded() {
            self.moves_of_the_idle(act, run, moves);
            self.moves_of_people(act, run, moves);
        }
        for worker in 0..2 {
            self.moves_of(worker, moves);
        }
        self.moves_there(run.setup, moves);
        self.moves_around(run, moves);
        if !self.is_quiet(run) && self.may_tick(run) {
            moves.push(Move::Tick);
        }
    }

    /// Two idle workers are alike, so the first of them acts.
    fn moves_of_the_idle(&self, act: u8, run: &Run, moves: &mut Vec<Move>) {
        let Some(idle) = (0..2).find(|w| self.phase(*w) == Phase::Idle) else {
            return;
        };
        let judged = self.judge(act, run);
        if judged.due.is_some() {
            moves.push(Move::Due(act));
        }
        if judged.next.at > self.stamp() {
            return;
        }
        match judged.next.step {
            Step::Send(_) | Step::CancelByKey { .. } => moves.push(Move::Decide(idle, act)),
            Step::LookUp if !self.is_asking() => {
                moves.extend(self.views(run).map(|view| Move::Ask(idle, act, view)));
            }
            Step::Poll { .. } => moves.push(Move::Poll(act)),
            Step::LookUp | Step::Wait | Step::Review(_) | Step::None => {}
        }
    }

    fn is_asking(&self) -> bool {
        (0..2).any(|w| matches!(self.phase(w), Phase::Asking { .. }))
    }

    fn moves_of(&self, worker: u8, moves: &mut Vec<Move>) {
        let mut may_die = true;
        match self.phase(worker) {
            Phase::Idle => return,
            Phase::Deciding { .. } => moves.push(Move::Commit(worker)),
            Phase::Stored { .. } => moves.push(Move::Learn(worker)),
            Phase::Marked { .. } => {
                moves.push(Move::Write(worker));
                moves.push(Move::Pause(worker));
                if self.left.proxied > 0 {
                    moves.push(Move::WriteTwice(worker));
                }
            }
            // Without a tick between it would be the write that did not pause.
            Phase::Checked { at, .. } => {
                moves.extend((at < self.now).then_some(Move::Write(worker)));
            }
            // Closed with the write it shortens the bound most, later ever less; so the ends stand for what is between.
            Phase::Waiting { wrote, answer, .. } => {
                let at_once_or_late = wrote == self.now || wrote + ANSWER_WAIT <= self.now;
                if at_once_or_late || answer.is_some() {
                    moves.push(Move::Close(worker));
                }
                if answer.is_some() {
                    moves.push(Move::Read(worker));
                    moves.extend((self.left.repeats > 0).then_some(Move::ReadTwice(worker)));
                }
            }
            Phase::Asking { .. } => {
                moves.push(Move::Hear(worker));
                may_die = false;
            }
        }
        // A process that dies unnoticed is one that never moves again, which is explored anyway.
        if self.left.crashes > 0 && may_die {
            moves.push(Move::Crash(worker));
        }
    }

    fn moves_of_people(&self, act: u8, run: &Run, moves: &mut Vec<Move>) {
        let left = &self.left;
        let judged = self.judge(act, run);
        let log = self.log(act, run);
        let settled = judged.status.is_settled();
        let final_now = judged.status.state.is_final();
        if left.withdrawals > 0 && !settled && !log.withdrawn {
            moves.push(Move::Withdraw(act));
        }
        if left.revocations > 0 && !settled && !log.unauthorised {
            moves.push(Move::Revoke(act));
        }
        let taken = log.known.taken_by().is_some();
        let in_review = matches!(judged.next.step, Step::Review(_)) && judged.due.is_none();
        let closed = judged.status.closed.is_some();
        if left.verdicts > 0 && (in_review || closed) {
            let all = [
                Said::Happened,
                Said::DidNotHappen,
                Said::SendAgain,
                Said::CannotBeKnown,
            ];
            moves.extend(all.map(|said| Move::Rule(act, said)));
        }
        if left.checks > 0 && (in_review || closed) && run.setup.told.promises.lookup.is_some() {
            moves.push(Move::CheckAgain(act));
        }
        if left.hands > 0 && !settled && !taken && judged.status.state != State::Dispatching {
            moves.push(Move::Take(act));
        }
        if taken {
            moves.push(Move::GiveBack(act));
            if self.act(act).excuses.by_hand == 0 && !final_now {
                moves.push(Move::Hand(act));
            }
        }
        if left.corrections > 0 {
            moves.extend(log.correctable(true).map(|_| Move::Correct(act, true)));
            moves.extend(log.correctable(false).map(|_| Move::Correct(act, false)));
        }
    }

    fn moves_of_callers(&self, run: &Run, moves: &mut Vec<Move>) {
        let again = self.left.resubmissions > 0;
        if run.setup.callers.is_some() {
            for (caller, state) in (0..2).zip(self.callers) {
                match state {
                    Caller::Away | Caller::HeldOff(_) => moves.push(Move::CheckSubmission(caller)),
                    Caller::Checked(_) => moves.push(Move::Admit(caller)),
                    Caller::Told(_) | Caller::Refused(_) if again => {
                        moves.push(Move::Repeat(caller));
                    }
                    Caller::Told(_) | Caller::Refused(_) => {}
                }
            }
            return;
        }
        if run.setup.actions == 2 && self.acts[1].log == LogId::NONE {
            moves.push(Move::Submit(1));
        }
        if self.acts[0].log == LogId::NONE {
            moves.push(Move::Submit(0));
        } else if again {
            moves.push(Move::SubmitAgain);
        }
    }

    /// What happens to the store, its clock and its secrets, and what callers do.
    fn moves_around(&self, run: &Run, moves: &mut Vec<Move>) {
        let left = &self.left;
        self.moves_of_callers(run, moves);
        if left.restores > 0 && self.acts[0].log != LogId::NONE {
            let len = self.log(0, run).len;
            moves.extend((0..=len + 1).map(Move::Restore));
        }
        if self.store.held {
            moves.push(Move::Release);
        }
        if left.steps > 0 {
            let stepped = self.store.stepped_at != NEVER;
            // A clock that is set forward while a request is under way, or within the lag of a lookup after it, is a residual: what
            // was bounded by it is not.
            let shown = |at: u8| at + run.setup.real.lag < self.now;
            let at_rest = self.flights.is_empty()
                && self.there.effects.iter().all(|effect| shown(effect.at))
                && (0..2).all(|w| self.phase(w) == Phase::Idle)
                && self.there.queued.is_empty();
            if !stepped {
                moves.push(Move::StepBack);
            } else if at_rest {
                moves.push(Move::SetRight);
            }
        }
        if left.swaps > 0 {
            let swapped = self.store.swapped;
            // What a first send did in the other account is a residual: nobody looks for it there afterwards.
            let untouched = self.flights.iter().all(|f| f.key.account == 0)
                && self.there.effects.iter().all(|e| e.key.account == 0)
                && (0..2).all(|w| !matches!(self.phase(w), Phase::Checked { account: 1, .. }));
            if !swapped {
                moves.push(Move::Swap);
            } else if untouched {
                moves.push(Move::SwapBack);
            }
        }
    }

    /// Time passes unless something has to happen within this tick: a write within the pause, work within its bound.
    fn may_tick(&self, run: &Run) -> bool {
        let pausing = (0..2)
            .any(|w| matches!(self.phase(w), Phase::Checked { at, .. } if at + PAUSE <= self.now));
        let working = self
            .flights
            .iter()
            .any(|f| matches!(f.stage, Stage::Work { until } if until <= self.now));
        self.now < run.setup.horizon
            && !pausing
            && !working
            && (run.setup.slow_lookups || !self.is_asking())
    }

    /// Makes a move.
    pub(crate) fn make(&mut self, step: Move, run: &Run) {
        let before = (
            self.now,
            self.acts[0].log,
            self.acts[1].log,
            self.store.held,
        );
        match step {
            Move::Tick => self.tick(run),
            Move::Due(act) => self.record_due(act, run),
            Move::Decide(worker, act) => self.decide(worker, act, run),
            Move::Commit(worker) => self.commit(worker, run),
            Move::Learn(worker) => self.learn(worker, run),
            Move::Pause(worker) => self.check(worker, run),
            Move::Write(worker) => {
                self.check(worker, run);
                self.write(worker, false, run);
            }
            Move::WriteTwice(worker) => {
                self.check(worker, run);
                self.write(worker, true, run);
            }
            Move::Close(worker) => self.close(worker, run),
            Move::Read(worker) => self.read(worker, false, run),
            Move::ReadTwice(worker) => self.read(worker, true, run),
            Move::Crash(worker) => self.crash(worker, run),
            Move::Ask(worker, act, view) => self.ask(worker, act, view, run),
            Move::Hear(worker) => self.hear(worker, run),
            Move::Poll(act) => self.poll(act, run),
            Move::Arrive { flight, too_late } => self.arrive(flight, too_late, run),
            Move::Act(flight, deed) => self.carry_out(flight, deed, run),
            Move::QueueEnds { queued, done } => self.end_queued(queued, done, run),
            Move::Report(number) => self.report(number, false, run),
            Move::ReportTwice(number) => self.report(number, true, run),
            Move::Withdraw(_)
            | Move::Revoke(_)
            | Move::Rule(..)
            | Move::Take(_)
            | Move::Hand(_)
            | Move::GiveBack(_)
            | Move::CheckAgain(_)
            | Move::Correct(..) => self.people(step, run),
            Move::Submit(_)
            | Move::SubmitAgain
            | Move::CheckSubmission(_)
            | Move::Admit(_)
            | Move::Repeat(_)
            | Move::Restore(_)
            | Move::Release
            | Move::StepBack
            | Move::SetRight
            | Move::Swap
            | Move::SwapBack
            | Move::Delete(_) => self.around(step, run),
        }
        self.flights.sort_unstable();
        let after = (
            self.now,
            self.acts[0].log,
            self.acts[1].log,
            self.store.held,
        );
        if !run.setup.lazy && before != after {
            self.record_all_due(run);
        }
    }

    /// Some process is awake and records what the passing of time calls for.
    fn record_all_due(&mut self, run: &Run) {
        for act in self.recorded() {
            // More than a few in a row break law 8, which is checked in the world that this leaves.
            for _ in 0..4 {
                if self.judge(act, run).due.is_none() {
                    break;
                }
                self.record_due(act, run);
            }
        }
    }

    fn tick(&mut self, run: &Run) {
        let now = self.now;
        self.flights.retain(|f| match f.stage {
            Stage::Net { until } | Stage::Underway { until } => until > now,
            Stage::Work { .. } => true,
        });
        self.now += 1;
        self.forget_keys(run);
        if made(Mistake::SuspendNotCounted) {
            for worker in &mut self.workers {
                if let Phase::Marked { clock, .. } = &mut worker.phase {
                    clock.behind += 1;
                }
            }
        }
        if self.store.stepped_at != NEVER {
            run.note(Case::ClockStepped);
        }
    }
}
