//! The runner: where a probe stands, what is next, and what came of the last thing. No I/O, no clock, no chance.
//!
//! It keeps to the plan, with these turns: a destination that is busy is asked again, a bounded number of times; an experiment
//! ends early where its first request already did not do what the rest builds on; and what can be withdrawn or undone is so at
//! the end.

use factum_core::evidence::{AnswerClass, CancelAnswer, PollAnswer};
use factum_core::{Span, Timestamp};

use super::build::Mark;
use super::clean::{Cleaning, Undid};
use super::look::{Follower, Onward, Reader, Subject};
use super::plan::{Content, Planned, Planner, Step, Try, Wanted};
use super::sight::{Sent, Sight};
use super::{Came, Do, Experiment, Pause, Setup};
use crate::BuildError;
use crate::answers::Ours;
use crate::contract::Contract;
use crate::http::HttpAnswer;

/// How often a request is sent again that the destination was too busy for.
pub(super) const REPEATS_MAX: u32 = 3;
/// A pause that a destination advises is kept up to here.
const PAUSE_MAX: Span = Span::from_secs(60);

/// A probe under way.
#[derive(Debug)]
pub(super) struct Run<'a> {
    pub(super) contract: &'a Contract,
    pub(super) setup: Setup,
    pub(super) planned: Vec<Planned>,
    pub(super) marks: Vec<Mark>,
    /// What was seen, per experiment.
    pub(super) sights: Vec<Vec<Sight>>,
    /// Requests that went out, and those of them that say that they made something.
    pub(super) requests: u32,
    pub(super) experiment: usize,
    step: usize,
    phase: Phase,
    /// How far the destination's clock was moved ahead.
    ahead: Span,
    /// None before the experiments are over.
    pub(super) cleaning: Option<Cleaning>,
    /// The contract of the operation that undoes what was made, where it can be called.
    pub(super) undo: Option<&'a Contract>,
    /// How undoing ended, effect by effect.
    pub(super) undid: Vec<Undid>,
}

#[derive(Clone, Debug)]
enum Phase {
    /// The step has not begun.
    Before,
    /// Requests go out, after a pause where there is one.
    Sending {
        sent: u32,
        pause: Option<Span>,
    },
    Reading {
        reader: Reader,
        pause: bool,
        moved: bool,
        /// By how much the clock is to be moved before the next read.
        moving: Option<Span>,
    },
    Following {
        follower: Follower,
        pause: bool,
    },
    Waiting,
}

impl<'a> Run<'a> {
    pub(super) fn new(contract: &'a Contract, setup: Setup) -> Result<Self, BuildError> {
        let (planned, marks) = Planner::new(contract, &setup).plan();
        let marks = (0..=marks).map(|n| Mark::new(contract, &setup.seed, n));
        let run = Self {
            contract,
            marks: marks.collect(),
            sights: vec![Vec::new(); planned.len()],
            planned,
            setup,
            requests: 0,
            experiment: 0,
            step: 0,
            phase: Phase::Before,
            ahead: Span::ZERO,
            cleaning: None,
            undo: None,
            undid: Vec::new(),
        };
        // What does not build is found before anything is sent.
        for content in [
            Content::Usual,
            Content::Other,
            Content::Refused,
            Content::Failing,
        ] {
            if content == Content::Usual || run.setup.content(content).is_some() {
                run.build(0, content, Timestamp::from_micros(0))?;
            }
        }
        Ok(run)
    }

    pub(super) fn requests_max(&self) -> u32 {
        let planned = self.planned.iter().map(|p| p.requests_max(REPEATS_MAX));
        let withdrawals = if self.contract.cancel.is_some() {
            u32::try_from(self.marks.len()).unwrap_or(u32::MAX)
        } else {
            0
        };
        let effects = self.planned.iter().map(Planned::tries).sum::<u32>();
        let undoings = if self.undo.is_some() { effects } else { 0 };
        planned.sum::<u32>() + (withdrawals + undoings) * (1 + REPEATS_MAX)
    }

    /// The mark under which nothing is ever made.
    pub(super) fn unused(&self) -> usize {
        self.marks.len() - 1
    }

    fn at(&self, now: Timestamp) -> Timestamp {
        now + self.ahead
    }

    // ---- what is next

    pub(super) fn next(&mut self, now: Timestamp) -> Do {
        let now = self.at(now);
        loop {
            if self.cleaning.is_some() {
                return self.next_of_cleaning(now);
            }
            let Some(planned) = self.planned.get(self.experiment) else {
                self.begin_cleaning();
                self.phase = Phase::Before;
                continue;
            };
            if planned.experiment == Experiment::LookupComplete && planned.steps.is_empty() {
                let steps = self.completeness();
                self.planned[self.experiment].steps = steps;
            }
            let Some(step) = self.planned[self.experiment].steps.get(self.step).cloned() else {
                self.end_experiment();
                continue;
            };
            if matches!(self.phase, Phase::Before) && !self.begin(&step, now) {
                self.step += 1;
                continue;
            }
            match self.now_due(&step, now) {
                Some(due) => return due,
                None => self.end_step(),
            }
        }
    }

    /// Begins a step; false where there is nothing in it to do.
    fn begin(&mut self, step: &Step, now: Timestamp) -> bool {
        self.phase = match step {
            Step::Send(_) | Step::Cancel { .. } => Phase::Sending {
                sent: 0,
                pause: None,
            },
            Step::Wait(_) => Phase::Waiting,
            Step::Follow { mark } => {
                let mark = &self.marks[*mark];
                let open = mark.landed.is_none() || mark.withdrawn;
                let Some(object) = mark.names.objects.iter().next_back().filter(|_| open) else {
                    return false;
                };
                Phase::Following {
                    follower: Follower::new(object.clone(), now),
                    pause: false,
                }
            }
            Step::Look { mark, wanted } => {
                let landed = self.marks[*mark].landed;
                let patience = self.setup.patience;
                Phase::Reading {
                    reader: Reader::new(*mark, *wanted, landed, now, patience),
                    pause: false,
                    moved: false,
                    moving: None,
                }
            }
        };
        true
    }

    /// What the phase of this step wants; none where it cannot be built.
    fn now_due(&mut self, step: &Step, now: Timestamp) -> Option<Do> {
        match (&self.phase, step) {
            (
                Phase::Sending {
                    pause: Some(span), ..
                },
                _,
            ) => Some(Do::Wait(Pause {
                span: *span,
                by_clock: false,
                why: "the destination is busy".to_owned(),
            })),
            (Phase::Sending { .. }, Step::Send(tries)) => {
                let experiment = self.planned[self.experiment].experiment;
                let built: Result<Vec<_>, _> = tries
                    .iter()
                    .map(|one| self.effect(one, experiment, now))
                    .collect();
                built.ok().map(Do::Send)
            }
            (Phase::Sending { .. }, Step::Cancel { mark }) => {
                let experiment = self.planned[self.experiment].experiment;
                let why = "withdraws what was made under the key";
                self.cancel(*mark, Some(experiment), why).map(Do::Send)
            }
            (Phase::Waiting, Step::Wait(span)) => Some(Do::Wait(Pause {
                span: *span,
                by_clock: true,
                why: "the key is repeated after this".to_owned(),
            })),
            (
                Phase::Reading {
                    moving: Some(span), ..
                },
                _,
            ) => Some(Do::Wait(Pause {
                span: *span,
                by_clock: true,
                why: "the lookup's lag".to_owned(),
            })),
            (Phase::Reading { pause: true, .. } | Phase::Following { pause: true, .. }, _) => {
                Some(Do::Wait(Pause {
                    span: self.setup.read_every,
                    by_clock: false,
                    why: "it is read again after this".to_owned(),
                }))
            }
            (Phase::Reading { reader, .. }, Step::Look { mark, .. }) => {
                let question = reader.question(self.contract, &self.subject(*mark, now));
                question.ok().map(Do::Ask)
            }
            (Phase::Following { follower, .. }, _) => {
                let params = &self.setup.params;
                let question = self.contract.poll_request(params, &follower.object);
                question.ok().map(Do::Ask)
            }
            (_, _) => None,
        }
    }

    fn subject(&self, mark: usize, now: Timestamp) -> Subject<'_> {
        let mark = &self.marks[mark];
        Subject {
            params: &self.setup.params,
            key: &mark.key,
            reference: &mark.reference,
            since: mark.begun.unwrap_or(now),
        }
    }

    // ---- what came

    pub(super) fn sent(&mut self, came: Vec<Came>) {
        if self.cleaning.is_some() {
            return self.cleaned(came);
        }
        let step = self.planned[self.experiment].steps.get(self.step).cloned();
        match step {
            Some(Step::Send(tries)) => self.sent_tries(&tries, came),
            Some(Step::Cancel { mark }) => {
                let answer = came.into_iter().next().map(|came| self.read_cancel(came));
                if let Some(answer) = answer {
                    self.requests += 1;
                    self.note_cancel(mark, &answer);
                    self.see(Sight::Cancelled { mark, answer });
                }
                self.end_step();
            }
            Some(Step::Follow { .. } | Step::Wait(_) | Step::Look { .. }) | None => {}
        }
    }

    fn sent_tries(&mut self, tries: &[Try], came: Vec<Came>) {
        let alone = tries.len() == 1;
        let mut again = None;
        for (one, came) in tries.iter().zip(came) {
            self.requests += 1;
            let (outcome, at) = self.read(one, came);
            if alone {
                again = pause_after(&outcome);
            }
            self.note(one, &outcome, at);
            let last = match &self.phase {
                Phase::Sending { sent, .. } => *sent >= REPEATS_MAX,
                _ => true,
            };
            if again.is_none() || last {
                again = None;
                let (mark, what) = (one.mark, one.content.word());
                self.see(Sight::Sent {
                    mark,
                    what,
                    outcome,
                });
            }
        }
        if let (Some(span), Phase::Sending { sent, pause }) = (again, &mut self.phase) {
            *sent += 1;
            *pause = Some(span);
            return;
        }
        self.end_step();
        if self.builds_on_nothing() {
            self.step = usize::MAX;
        }
    }

    /// Whether the first request did not do what the rest of the experiment builds on.
    fn builds_on_nothing(&self) -> bool {
        let mut sent = self.sights[self.experiment]
            .iter()
            .filter_map(|sight| match sight {
                Sight::Sent { outcome, .. } => Some(outcome),
                Sight::Cancelled { .. }
                | Sight::Followed { .. }
                | Sight::Looked(_)
                | Sight::Waited(_)
                | Sight::Declined => None,
            });
        let (Some(first), None) = (sent.next(), sent.next()) else {
            return false;
        };
        match self.planned[self.experiment].experiment {
            Experiment::Refusal | Experiment::OwnError => {
                first.answered().is_none() || first.made()
            }
            Experiment::ConcurrentPair => false,
            _ => !first.made(),
        }
    }

    fn read(&self, one: &Try, came: Came) -> (Sent, Option<Timestamp>) {
        let mark = &self.marks[one.mark];
        let ours = Ours {
            reference: Some(&mark.reference),
            key: self.contract.sends_key().then_some(mark.key.as_str()),
        };
        match came {
            Came::Answer(answer, at) => {
                let request = self.build(one.mark, one.content, at);
                let reading = match request {
                    Ok(request) => self.contract.read_answer_of(&answer, &ours, &request),
                    Err(_) => self.contract.read_answer_to(&answer, &ours),
                };
                (Sent::of(&answer, reading), Some(self.at(at)))
            }
            Came::Lost(why) => (Sent::Lost(why), None),
            Came::NotSent(why) => (Sent::Unsent(why), None),
        }
    }

    /// What an outcome says of its mark.
    fn note(&mut self, one: &Try, outcome: &Sent, at: Option<Timestamp>) {
        let mark = &mut self.marks[one.mark];
        match outcome {
            Sent::Unsent(_) => {}
            Sent::Lost(_) => mark.may_exist = true,
            Sent::Answered(answered) => {
                let class = &answered.reading.class;
                mark.may_exist |= outcome.made() || *class == AnswerClass::Unknown;
                mark.exists |= outcome.made();
                if outcome.made() {
                    mark.made_of = one.content;
                }
                mark.names.add(answered.names());
                if *class == AnswerClass::Done && mark.landed.is_none() {
                    mark.landed = at;
                }
            }
        }
    }

    pub(super) fn read_cancel(&self, came: Came) -> CancelAnswer {
        match came {
            Came::Answer(answer, _) => self.contract.read_cancel(&answer),
            Came::Lost(why) => CancelAnswer::Unknown { why },
            Came::NotSent(why) => CancelAnswer::NotSent { why },
        }
    }

    pub(super) fn note_cancel(&mut self, mark: usize, answer: &CancelAnswer) {
        let confirmed = matches!(answer, CancelAnswer::Confirmed { .. });
        self.marks[mark].withdrawn |= confirmed;
    }

    pub(super) fn declined(&mut self) {
        if self.cleaning.is_some() {
            return self.cleaning_declined();
        }
        self.see(Sight::Declined);
        self.step = usize::MAX;
        self.phase = Phase::Before;
    }

    pub(super) fn asked(&mut self, answer: Result<HttpAnswer, String>, asked_at: Timestamp) {
        let asked_at = self.at(asked_at);
        let phase = std::mem::replace(&mut self.phase, Phase::Before);
        match phase {
            Phase::Reading { reader, moved, .. } => {
                self.read_lookup(reader, moved, answer, asked_at)
            }
            Phase::Following { mut follower, .. } => {
                let patience = self.setup.patience;
                let onward = follower.asked(self.contract, answer, asked_at, patience);
                if matches!(onward, Onward::Pause | Onward::Page) {
                    self.phase = Phase::Following {
                        follower,
                        pause: true,
                    };
                    return;
                }
                self.followed(follower, asked_at);
            }
            other @ (Phase::Before | Phase::Sending { .. } | Phase::Waiting) => self.phase = other,
        }
    }

    fn read_lookup(
        &mut self,
        mut reader: Reader,
        moved: bool,
        answer: Result<HttpAnswer, String>,
        asked_at: Timestamp,
    ) {
        let mark = reader.seen.mark;
        let onward = {
            let subject = self.subject(mark, asked_at);
            reader.asked(self.contract, &subject, answer, asked_at)
        };
        let lag = self.contract.lookup.as_ref().map_or(Span::ZERO, |l| l.lag);
        let worth_moving = self.setup.moves_clock && lag > self.setup.patience && !moved;
        let (pause, moving) = match onward {
            Onward::Page => (false, None),
            Onward::Pause => (true, None),
            Onward::GivenUp if reader.wanted == Wanted::Present && worth_moving => {
                (false, Some(reader.until(lag, asked_at)))
            }
            Onward::GivenUp | Onward::Enough => {
                self.see(Sight::Looked(reader.seen));
                return self.end_step();
            }
        };
        self.phase = Phase::Reading {
            reader,
            pause,
            moved,
            moving,
        };
    }

    fn followed(&mut self, follower: Follower, at: Timestamp) {
        let step = self.planned[self.experiment].steps.get(self.step);
        let Some(Step::Follow { mark }) = step else {
            return self.end_step();
        };
        let mark = *mark;
        if let Some(PollAnswer::Completed(receipt)) = &follower.last {
            let state = &mut self.marks[mark];
            state.landed.get_or_insert(at);
            let receipts = receipt.iter().map(|receipt| receipt.reference.clone());
            state.names.receipts.extend(receipts);
        }
        self.see(Sight::Followed {
            mark,
            answer: follower.last,
        });
        self.end_step();
    }

    /// `moved`: the destination's clock was moved ahead instead.
    pub(super) fn waited(&mut self, now: Timestamp, moved: bool) {
        if self.cleaning.is_some() {
            return self.cleaning_waited();
        }
        let due = match &self.phase {
            Phase::Waiting => match self.planned[self.experiment].steps.get(self.step) {
                Some(Step::Wait(span)) => *span,
                _ => Span::ZERO,
            },
            Phase::Reading {
                moving: Some(span), ..
            } => *span,
            Phase::Before
            | Phase::Sending { .. }
            | Phase::Reading { .. }
            | Phase::Following { .. } => Span::ZERO,
        };
        if moved {
            self.ahead = self.ahead + due;
        }
        let now = self.at(now);
        match &mut self.phase {
            Phase::Waiting => {
                self.see(Sight::Waited(due));
                self.end_step();
            }
            Phase::Sending { pause, .. } => *pause = None,
            Phase::Reading {
                reader,
                pause,
                moved,
                moving,
            } => {
                if moving.take().is_some() {
                    reader.once_more(now);
                    *moved = true;
                }
                *pause = false;
            }
            Phase::Following { pause, .. } => *pause = false,
            Phase::Before => {}
        }
    }

    // ---- moving on

    fn see(&mut self, sight: Sight) {
        if let Some(sights) = self.sights.get_mut(self.experiment) {
            sights.push(sight);
        }
    }

    fn end_step(&mut self) {
        self.phase = Phase::Before;
        self.step = self.step.saturating_add(1);
    }

    fn end_experiment(&mut self) {
        self.phase = Phase::Before;
        self.step = 0;
        self.experiment += 1;
    }
}

/// How long to wait before the request is sent again that the destination was too busy for.
pub(super) fn pause_after(outcome: &Sent) -> Option<Span> {
    let reading = &outcome.answered()?.reading;
    let again = matches!(reading.class, AnswerClass::Busy | AnswerClass::InProgress);
    let advised = reading.retry_after.unwrap_or(Span::from_secs(1));
    again.then(|| advised.min(PAUSE_MAX))
}
