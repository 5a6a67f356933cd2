//! What can happen next in a world, and what each move makes of it. The core decides; the moves only carry out, lose, delay.

use std::fmt;
use std::rc::Rc;

use factum_core::evidence::{
    Answer, AnswerClass, CancelAnswer, Capture, Fact, Lookup, LookupAnswer, Loss, PermissionKind,
    Phase as Stopped, PollAnswer, Receipt, RequestRef, Ruling, Verdict,
};
use factum_core::promise::LookupBy;
use factum_core::{AttemptNo, Epoch, Span, Step, WorkerNonce, permit};

use super::destination::{Deed, View};
use super::laws::Broken;
use super::seen::{Case, Seen};
use super::setup::{ANSWER_WAIT, LINGER, Mistake, PAUSE, PROCESSING, Setup, tick, ticks};
use super::world::{Flight, Held, Judge, Judged, Phase, Reply, Stage, World, conditions};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Move {
    Tick,
    Due,
    Decide(u8),
    Commit(u8),
    Pause(u8),
    Write(u8),
    Close(u8),
    Read(u8),
    Crash(u8),
    Ask(u8, View),
    Hear(u8),
    Poll,
    Arrive { flight: u8, too_late: bool },
    Act(u8, Deed),
    QueueEnds { queued: u8, done: bool },
    Withdraw,
    Rule(Said),
}

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
            Self::Due => "what time calls for is recorded".to_owned(),
            Self::Decide(w) => format!("worker {w} decides to send"),
            Self::Commit(w) => format!("worker {w} commits its mark"),
            Self::Pause(w) => format!("worker {w} checks, then pauses"),
            Self::Write(w) => format!("worker {w} checks and writes"),
            Self::Close(w) => format!("worker {w} closes its socket"),
            Self::Read(w) => format!("worker {w} reads the answer"),
            Self::Crash(w) => format!("worker {w} dies"),
            Self::Ask(w, view) => format!("worker {w} looks up, view {view:?}"),
            Self::Hear(w) => format!("worker {w} stores the lookup"),
            Self::Poll => "the queued work is polled".to_owned(),
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
            Self::Withdraw => "the caller withdraws".to_owned(),
            Self::Rule(said) => format!("a person rules {said:?}"),
        };
        f.pad(&text)
    }
}

impl World {
    /// Everything that can happen next.
    pub(crate) fn moves(&self, judged: &Judged, setup: &Setup) -> Vec<Move> {
        let mut moves = Vec::new();
        self.moves_of_the_idle(judged, setup, &mut moves);
        for worker in 0..2 {
            self.moves_of(worker, &mut moves);
        }
        self.moves_there(setup, &mut moves);
        let settled = judged.status.is_settled();
        if self.budget.withdrawals > 0 && !settled {
            moves.push(Move::Withdraw);
        }
        let in_review = matches!(judged.next.step, Step::Review(_)) && judged.due.is_none();
        if self.budget.verdicts > 0 && in_review {
            let all = [
                Said::Happened,
                Said::DidNotHappen,
                Said::SendAgain,
                Said::CannotBeKnown,
            ];
            moves.extend(all.map(Move::Rule));
        }
        if !self.is_quiet(judged) && self.may_tick(setup) {
            moves.push(Move::Tick);
        }
        moves
    }

    /// Two idle workers are alike, so the first of them acts.
    fn moves_of_the_idle(&self, judged: &Judged, setup: &Setup, moves: &mut Vec<Move>) {
        let Some(idle) = (0..2).find(|w| *self.phase(*w) == Phase::Idle) else {
            return;
        };
        if judged.due.is_some() {
            moves.push(Move::Due);
        }
        if judged.next.at > tick(self.now) {
            return;
        }
        let asking = (0..2).any(|w| matches!(self.phase(w), Phase::Asking { .. }));
        match judged.next.step {
            Step::Send(_) | Step::CancelByKey { .. } => moves.push(Move::Decide(idle)),
            Step::LookUp if !asking => {
                moves.extend(self.views(setup).map(|view| Move::Ask(idle, view)));
            }
            Step::Poll { .. } => moves.push(Move::Poll),
            Step::LookUp | Step::Wait | Step::Review(_) | Step::None => {}
        }
    }

    fn moves_of(&self, worker: u8, moves: &mut Vec<Move>) {
        let marked = match self.phase(worker) {
            Phase::Idle => return,
            Phase::Deciding { .. } => {
                moves.push(Move::Commit(worker));
                false
            }
            Phase::Marked(_) => {
                moves.push(Move::Write(worker));
                moves.push(Move::Pause(worker));
                true
            }
            // Without a tick between it would be the write that did not pause.
            Phase::Checked { at, .. } => {
                moves.extend((*at < self.now).then_some(Move::Write(worker)));
                true
            }
            // Closed with the write it shortens the bound most, later ever less; so the ends stand for what is between.
            Phase::Waiting { wrote, answer, .. } => {
                let at_once_or_late = *wrote == self.now || wrote + ANSWER_WAIT <= self.now;
                if at_once_or_late || answer.is_some() {
                    moves.push(Move::Close(worker));
                }
                moves.extend(answer.as_ref().map(|_| Move::Read(worker)));
                true
            }
            Phase::Asking { .. } => {
                moves.push(Move::Hear(worker));
                false
            }
        };
        // A process that dies unnoticed is one that never moves again, which is explored anyway.
        if self.budget.crashes > 0
            && (marked || matches!(self.phase(worker), Phase::Deciding { .. }))
        {
            moves.push(Move::Crash(worker));
        }
    }

    /// Time passes unless something has to happen within this tick: a write within the pause, work within its bound.
    fn may_tick(&self, setup: &Setup) -> bool {
        let pausing = (0..2)
            .any(|w| matches!(self.phase(w), Phase::Checked { at, .. } if at + PAUSE <= self.now));
        let working = self
            .flights
            .iter()
            .any(|f| matches!(f.stage, Stage::Work { until } if until <= self.now));
        let asking = (0..2).any(|w| matches!(self.phase(w), Phase::Asking { .. }));
        self.now < setup.horizon && !pausing && !working && (setup.slow_lookups || !asking)
    }

    /// Makes a move.
    ///
    /// # Errors
    /// The law that the move itself breaks.
    pub(crate) fn make(
        &mut self,
        step: Move,
        judge: &Judge,
        seen: &mut Seen,
    ) -> Result<(), Broken> {
        let setup = judge.setup;
        let before = (self.now, self.known.len());
        match step {
            Move::Tick => self.tick(setup),
            Move::Due => self.record_due(judge, seen),
            Move::Decide(worker) => {
                let at = self.now;
                let loaded = self.load();
                self.set(worker, Phase::Deciding { at, seen: loaded });
                if !setup.races {
                    self.commit(worker, setup, seen);
                }
            }
            Move::Commit(worker) => self.commit(worker, setup, seen),
            Move::Pause(worker) => self.check(worker, setup, seen),
            Move::Write(worker) => {
                self.check(worker, setup, seen);
                self.write(worker, setup, seen)?;
            }
            Move::Close(worker) => self.close(worker, setup, seen),
            Move::Read(worker) => self.read(worker, setup, seen),
            Move::Crash(worker) => self.crash(worker, seen),
            Move::Ask(worker, view) => self.ask(worker, view, setup, seen),
            Move::Hear(worker) => self.hear(worker, setup, seen),
            Move::Poll => self.poll(judge, seen),
            Move::Arrive { flight, too_late } => self.arrive(flight, too_late, setup, seen)?,
            Move::Act(flight, deed) => self.act(flight, deed, setup, seen),
            Move::QueueEnds { queued, done } => self.end_queued(queued, done, seen),
            Move::Withdraw => {
                self.budget.withdrawals -= 1;
                seen.note(Case::Withdrawn);
                self.record(Fact::CancelRequested {
                    by: "ana".to_owned(),
                    why: "no longer wanted".to_owned(),
                });
            }
            Move::Rule(said) => self.rule(said, setup, seen),
        }
        self.flights.sort();
        if !setup.lazy && before != (self.now, self.known.len()) {
            self.record_all_due(judge, seen);
        }
        Ok(())
    }

    /// Some process is awake and records what the passing of time calls for.
    fn record_all_due(&mut self, judge: &Judge, seen: &mut Seen) {
        // More than a few in a row break law 8, which is checked in the world that this leaves.
        for _ in 0..4 {
            if judge.judge(self).due.is_none() {
                return;
            }
            self.record_due(judge, seen);
        }
    }

    fn tick(&mut self, setup: &Setup) {
        self.flights.retain(|f| match f.stage {
            Stage::Net { until } | Stage::Underway { until } => until > self.now,
            Stage::Work { .. } => true,
        });
        self.now += 1;
        if let Some(floor) = setup.real.key {
            let (now, arrivals) = (self.now, &self.there.first_arrivals);
            self.there
                .keys
                .retain(|epoch, _| arrivals.get(epoch).is_none_or(|first| now < first + floor));
        }
    }

    fn record_due(&mut self, judge: &Judge, seen: &mut Seen) {
        let Some(fact) = judge.judge(self).due.clone() else {
            return;
        };
        match &fact {
            Fact::LeaseOver {
                request: RequestRef::Attempt(attempt),
                ..
            } => {
                self.lease_over = true;
                if judge.setup.makes(Mistake::LeaseOverIsPending) {
                    self.record(never_left(*attempt));
                    return;
                }
            }
            Fact::DeadlinePassed { .. } => seen.note(Case::Expired),
            Fact::ReviewOpened { .. } => seen.note(Case::InReview),
            Fact::SearchEnded { .. } => seen.note(Case::ClosedUnknown),
            _ => {}
        }
        self.record(fact);
    }

    fn commit(&mut self, worker: u8, setup: &Setup, seen: &mut Seen) {
        let Phase::Deciding { at, seen: loaded } = self.phase(worker).clone() else {
            return;
        };
        self.set(worker, Phase::Idle);
        if !self.is_unchanged(&loaded) && !setup.makes(Mistake::CommitNotFenced) {
            seen.note(Case::StaleCommitRefused);
            return;
        }
        let Ok(leave) = permit(&setup.told, &loaded.known, &conditions(setup, tick(at))) else {
            return;
        };
        let (fact, marked) = leave.mark(self.nonce(worker));
        if !(setup.makes(Mistake::CancelUnmarked) && matches!(fact, Fact::CancelMarked(_))) {
            self.record(fact);
        }
        let permission = marked.durable();
        match permission.kind() {
            Some(PermissionKind::Ordered(_)) => {
                self.excuses.ordered += 1;
                seen.note(Case::OrderedSend);
            }
            Some(PermissionKind::ProvenAbsent) => seen.note(Case::SentAfterProvenAbsence),
            _ => {}
        }
        self.set(worker, Phase::Marked(Held(Rc::new(permission))));
    }

    fn check(&mut self, worker: u8, setup: &Setup, seen: &mut Seen) {
        let Phase::Marked(held) = self.phase(worker).clone() else {
            return;
        };
        let at = self.now;
        if held.0.check(tick(at)).is_ok() || setup.makes(Mistake::PermissionOutlivesLimit) {
            self.set(worker, Phase::Checked { held, at });
            return;
        }
        seen.note(Case::PermissionHadRunOut);
        self.set(worker, Phase::Idle);
        let fact = match held.0.request() {
            RequestRef::Attempt(attempt) => never_left(attempt),
            RequestRef::Cancel(no) => Fact::CancelAnswered {
                no,
                answer: CancelAnswer::NotSent {
                    why: "the permission had run out".to_owned(),
                },
            },
        };
        self.record(fact);
    }

    fn write(&mut self, worker: u8, setup: &Setup, seen: &mut Seen) -> Result<(), Broken> {
        let Phase::Checked { held, at } = self.phase(worker).clone() else {
            return Ok(());
        };
        if self.now > at {
            seen.note(Case::PausedBetweenCheckAndWrite);
        }
        let permission = &held.0;
        let request = permission.request();
        self.flights.push(Flight {
            request,
            epoch: permission.epoch(),
            same_key: permission.kind() == Some(PermissionKind::SameKey),
            stage: setup.sent_at(self.now, matches!(request, RequestRef::Cancel(_))),
        });
        self.set(
            worker,
            Phase::Waiting {
                request,
                wrote: self.now,
                answer: None,
            },
        );
        if tick(self.now) > permission.valid_until() + ticks(PAUSE) {
            return Err("law 7: a byte left outside the permission and its pause".to_owned());
        }
        Ok(())
    }

    fn close(&mut self, worker: u8, setup: &Setup, seen: &mut Seen) {
        let Phase::Waiting { request, .. } = *self.phase(worker) else {
            return;
        };
        self.set(worker, Phase::Idle);
        let shortened = if setup.makes(Mistake::ConnectionEndIsOver) {
            ticks(LINGER + PROCESSING)
        } else {
            Span::ZERO
        };
        let closed_at = Some(tick(self.now) - shortened);
        let fact = match request {
            RequestRef::Attempt(attempt) if setup.makes(Mistake::TimeoutIsFailure) => {
                never_left(attempt)
            }
            RequestRef::Attempt(attempt) => Fact::Lost(Loss {
                attempt,
                phase: Stopped::Head,
                wrote: 1,
                read: 0,
                closed_at,
                detail: String::new(),
            }),
            RequestRef::Cancel(no) => {
                seen.note(Case::CancelAnswerLost);
                Fact::CancelAnswered {
                    no,
                    answer: CancelAnswer::Unknown { why: String::new() },
                }
            }
        };
        self.record(fact);
    }

    fn read(&mut self, worker: u8, setup: &Setup, seen: &mut Seen) {
        let Phase::Waiting {
            request,
            answer: Some(reply),
            ..
        } = self.phase(worker).clone()
        else {
            return;
        };
        self.set(worker, Phase::Idle);
        let fact = match (request, reply) {
            (RequestRef::Attempt(attempt), Reply::ToAttempt(class, effect)) => {
                if effect.is_some() && self.lease_over {
                    seen.note(Case::LateReplySettled);
                }
                let class = match class {
                    AnswerClass::Rejected { why, .. }
                        if setup.makes(Mistake::RefusalClearsEarlier) =>
                    {
                        AnswerClass::Rejected { stored: true, why }
                    }
                    other => other,
                };
                Fact::Answered(Answer {
                    attempt,
                    read_at: tick(self.now),
                    class,
                    receipt: effect.map(receipt),
                    replayed: false,
                    retry_after: None,
                    capture: Capture::default(),
                })
            }
            (RequestRef::Cancel(no), Reply::ToCancel(answer)) => {
                Fact::CancelAnswered { no, answer }
            }
            (RequestRef::Attempt(_), Reply::ToCancel(_))
            | (RequestRef::Cancel(_), Reply::ToAttempt(..)) => {
                unreachable!("an answer goes to its own request")
            }
        };
        self.record(fact);
    }

    /// A process dies, and that is noticed where it had marked something.
    fn crash(&mut self, worker: u8, seen: &mut Seen) {
        let marked = match self.phase(worker) {
            Phase::Deciding { .. } => {
                seen.note(Case::CrashedBeforeMark);
                false
            }
            Phase::Marked(_) | Phase::Checked { .. } => {
                seen.note(Case::CrashedBeforeWrite);
                true
            }
            Phase::Waiting { answer, .. } => {
                if answer.is_some() {
                    seen.note(Case::AnswerReadNotStored);
                }
                true
            }
            Phase::Asking { .. } | Phase::Idle => false,
        };
        self.budget.crashes -= 1;
        let gone: WorkerNonce = self.nonce(worker);
        self.workers[usize::from(worker)].nonce += 1;
        self.set(worker, Phase::Idle);
        if marked {
            let at = tick(self.now);
            self.record(Fact::ProcessGone { worker: gone, at });
        }
    }

    fn hear(&mut self, worker: u8, setup: &Setup, seen: &mut Seen) {
        let Phase::Asking {
            asked,
            heard: answer,
        } = self.phase(worker).clone()
        else {
            return;
        };
        self.set(worker, Phase::Idle);
        self.looked = true;
        if matches!(answer, LookupAnswer::Found(_)) {
            seen.note(Case::FoundByLookup);
        }
        let dated = if setup.makes(Mistake::DatedWhenStored) {
            self.now
        } else {
            asked
        };
        self.record(Fact::LookedUp(Lookup {
            asked_at: tick(dated),
            by: LookupBy::Reference,
            epoch: Epoch(0),
            answer,
        }));
    }

    fn poll(&mut self, judge: &Judge, seen: &mut Seen) {
        let Step::Poll { attempt } = judge.judge(self).next.step else {
            return;
        };
        let answer = self.poll_there(RequestRef::Attempt(attempt));
        match answer {
            PollAnswer::Completed(_) => seen.note(Case::QueuedThenDone),
            PollAnswer::Failed { .. } => seen.note(Case::QueuedThenFailed),
            PollAnswer::Working | PollAnswer::Inconclusive { .. } => {}
        }
        self.record(Fact::Polled {
            attempt,
            asked_at: tick(self.now),
            answer,
        });
    }

    fn rule(&mut self, said: Said, setup: &Setup, seen: &mut Seen) {
        self.budget.verdicts -= 1;
        seen.note(Case::Ruled);
        if said == Said::DidNotHappen && setup.makes(Mistake::VerdictIsProof) {
            for attempt in 1..=self.known.attempts_marked() {
                self.record(never_left(AttemptNo(attempt)));
            }
        }
        let ruling = match said {
            Said::Happened => {
                self.excuses.ruled_in = true;
                Ruling::Happened { receipt: None }
            }
            Said::DidNotHappen => {
                self.excuses.ruled_out = true;
                Ruling::DidNotHappen
            }
            Said::SendAgain => Ruling::SendAgain,
            Said::CannotBeKnown => {
                seen.note(Case::ClosedUnknown);
                Ruling::CannotBeKnown
            }
        };
        let supersedes = self.known.answered_by_a_verdict();
        // With the mistake, the person's word is only kept as the proof that it was taken for.
        if !(said == Said::DidNotHappen && setup.makes(Mistake::VerdictIsProof)) {
            self.record(Fact::Verdict(Verdict {
                ruling,
                by: "ana".to_owned(),
                why: String::new(),
                at: tick(self.now),
                supersedes,
            }));
        } else if let Some(first) = supersedes.first() {
            self.record(Fact::Verdict(Verdict {
                ruling: Ruling::CannotBeKnown,
                by: "ana".to_owned(),
                why: String::new(),
                at: tick(self.now),
                supersedes: vec![*first],
            }));
            let closing = self.known.answered_by_a_verdict();
            for supersedes in closing {
                self.record(Fact::Released { supersedes });
            }
        }
    }
}

pub(crate) fn receipt(effect: u8) -> Receipt {
    Receipt::new(format!("E{effect}"))
}

fn never_left(attempt: AttemptNo) -> Fact {
    Fact::NotSent {
        attempt,
        phase: Stopped::Prepare,
        detail: String::new(),
    }
}
