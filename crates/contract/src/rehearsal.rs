//! What the core would decide about an operation, step by step, when its answers go missing: played on a clock of its own.
//!
//! Nothing is sent and no clock is read. The decisions are the core's own, on a constructed intent and evidence, under what
//! the contract promises; delays between tries are left out, so that every instant shown comes from a rule.

use factum_core::evidence::{
    Answer, AnswerClass, CancelAnswer, Capture, Evidence, Fact, Lookup, LookupAnswer, Loss, Phase,
    PollAnswer, Receipt, RequestRef,
};
use factum_core::promise::{Consequence, Promises};
use factum_core::retry::Backoff;
use factum_core::{
    ActionId, AttemptNo, Conditions, Epoch, Intent, Known, Lane, Limits, Next, Span, State, Status,
    Step, Timestamp, WorkerNonce, decide, due_fact, permit,
};

use crate::contract::Contract;
use crate::rules::Rule;

/// The instant of the first send; every time that is shown is counted from it.
const START: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

/// More decisions than any bound of [`Limits`] allows: a chain that is longer does not end.
const DECISIONS_MAX: u32 = 2_000;

/// What comes of one send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// No byte left.
    NotSent,
    /// Bytes were written, the socket was closed, and no answer was read.
    Lost,
    /// An answer was read whole, and means this.
    Answered(AnswerClass),
}

/// What happens between the first send and the decisions that are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meanwhile {
    /// Time passes, and nobody looks.
    Pass(Span),
    /// The destination was asked, and showed nothing of ours.
    ShownAbsent,
}

/// What a question would be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// The effect.
    Found,
    /// The work, still queued.
    Queued,
    /// Nothing of ours.
    Absent,
}

/// How the destination behaves in a rehearsal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// What comes of the sends, one after another; those after the last are answered with the effect.
    pub sends: Vec<Outcome>,
    /// What happens after the first of them.
    pub meanwhile: Vec<Meanwhile>,
    /// What lookups show. Polls show work that never ends; cancels by key are confirmed.
    pub shown: Shown,
    /// Another consequence than the contract's.
    pub consequence: Option<Consequence>,
}

/// One decision, and how often it was taken in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// When it was taken the first time, from the first send on.
    pub taken: Span,
    /// The state then.
    pub state: State,
    /// What was decided.
    pub next: Next,
    /// When its step is due, from the first send on; none where it has no instant.
    pub due: Option<Span>,
    /// By when a send has to have begun, from the first send on; none where nothing ends it.
    pub not_after: Option<Span>,
    /// In a row.
    pub times: u32,
}

/// What was decided after the first send and what happened meanwhile, to the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rehearsed {
    /// The decisions, in order.
    pub decisions: Vec<Decision>,
    /// The state at the end.
    pub end: Status,
    /// It came to rest: settled, closed, or with a person.
    pub rests: bool,
    /// The promises that it was decided under.
    pub promises: Promises,
}

struct Play<'a> {
    intent: Intent,
    script: &'a Script,
    known: Known,
    now: Timestamp,
    epoch: Epoch,
    sent: usize,
    decisions: Vec<Decision>,
}

impl Script {
    /// The first send comes to this; later ones succeed and lookups find what there is.
    #[must_use]
    pub fn after(first: Outcome) -> Self {
        Self {
            sends: vec![first],
            meanwhile: Vec::new(),
            shown: Shown::Found,
            consequence: None,
        }
    }

    /// The same, with so much time passing before anybody decides.
    #[must_use]
    pub fn at(mut self, later: Span) -> Self {
        self.meanwhile.push(Meanwhile::Pass(later));
        self
    }

    /// The same, with lookups that show nothing.
    #[must_use]
    pub fn showing_nothing(mut self) -> Self {
        self.shown = Shown::Absent;
        self
    }
}

impl Contract {
    /// Whether a refusal is stored under the key, as a rehearsal plays it: `declined` or rejected. The operation's own rules say
    /// so, the provider's where it has none; of several the weakest counts, and where nothing reads as one it is not.
    #[must_use]
    pub fn refusal_is_stored(&self, declined: bool) -> bool {
        let all = |rules: &[Rule]| {
            let stored = rules
                .iter()
                .filter_map(|rule| rule.stores_refusal(declined));
            stored.reduce(|all, one| all && one)
        };
        let own = all(&self.answers).or_else(|| all(&self.provider.answers));
        own.unwrap_or(false)
    }

    /// The chain of decisions after a first send, under what this contract promises and its preference.
    #[must_use]
    pub fn rehearse(&self, script: &Script) -> Rehearsed {
        let mut promises = self.promises();
        promises.consequence = script.consequence.unwrap_or(promises.consequence);
        let limits = Limits {
            backoff: Backoff {
                base: Span::ZERO,
                cap: Span::ZERO,
            },
            ..Limits::default()
        };
        let intent = Intent {
            action: ActionId::new(START, Lane(0), 1),
            submitted_at: START,
            intent_at: None,
            not_before: None,
            deadline: None,
            approved_until: None,
            finish: self.finish(),
            preference: self.preference().clone(),
            limits,
            promises: promises.clone(),
        };
        let mut play = Play {
            intent,
            script,
            known: Known::default(),
            now: START,
            epoch: Epoch::default(),
            sent: 0,
            decisions: Vec::new(),
        };
        play.send();
        play.meanwhile();
        let rests = play.play();
        Rehearsed {
            end: play.known.status(&play.intent),
            decisions: play.decisions,
            rests,
            promises,
        }
    }
}

impl Play<'_> {
    fn conditions(&self) -> Conditions<'_> {
        Conditions {
            now: self.now,
            current: &self.intent.promises,
            restore_released: true,
            clock_in_doubt: false,
            account_in_doubt: false,
            place_changed: false,
            credential_changed: false,
            subject_overtaken: false,
        }
    }

    fn record(&mut self, fact: Fact) {
        let record = Evidence {
            id: self.known.next_id(),
            at: self.now,
            fact,
        };
        self.known.absorb(&record);
    }

    fn meanwhile(&mut self) {
        for event in &self.script.meanwhile {
            match event {
                Meanwhile::Pass(span) => self.now = self.now + *span,
                Meanwhile::ShownAbsent => self.look(LookupAnswer::Absent),
            }
        }
    }

    /// Decides and carries out until nothing is left to do; whether it came to rest.
    fn play(&mut self) -> bool {
        for _ in 0..DECISIONS_MAX {
            while let Some(fact) = due_fact(&self.intent, &self.known, &self.conditions()) {
                self.record(fact);
            }
            let next = decide(&self.intent, &self.known, &self.conditions());
            self.note(next.clone());
            match next.step {
                Step::None | Step::Review(_) => return true,
                Step::Wait if next.at <= self.now => return false,
                Step::Wait => self.now = next.at,
                Step::LookUp | Step::Poll { .. } | Step::Send(_) | Step::CancelByKey { .. } => {
                    self.now = self.now.max(next.at);
                    if !self.carry_out(next.step) {
                        return false;
                    }
                }
            }
        }
        false
    }

    fn carry_out(&mut self, step: Step) -> bool {
        match step {
            Step::LookUp => {
                let answer = match self.script.shown {
                    Shown::Found => LookupAnswer::Found(vec![Receipt::new("found")]),
                    Shown::Queued => LookupAnswer::Queued {
                        object: Some("queued".to_owned()),
                    },
                    Shown::Absent => LookupAnswer::Absent,
                };
                self.look(answer);
                true
            }
            Step::Poll { attempt } => {
                let asked_at = self.now;
                self.record(Fact::Polled {
                    attempt,
                    asked_at,
                    answer: PollAnswer::Working,
                });
                true
            }
            Step::Send(_) | Step::CancelByKey { .. } => self.send(),
            Step::Wait | Step::Review(_) | Step::None => false,
        }
    }

    fn look(&mut self, answer: LookupAnswer) {
        let Some(lookup) = self.intent.promises.lookup else {
            return;
        };
        self.record(Fact::LookedUp(Lookup {
            asked_at: self.now,
            by: lookup.by,
            epoch: self.epoch,
            answer,
        }));
    }

    /// Marks the effect request that is due and records what comes of it; whether one was due.
    fn send(&mut self) -> bool {
        let leave = permit(&self.intent, &self.known, &self.conditions());
        let Ok(leave) = leave else {
            return false;
        };
        let (mark, marked) = leave.mark(WorkerNonce(1));
        self.record(mark);
        let permission = marked.durable();
        self.epoch = permission.epoch();
        match permission.request() {
            RequestRef::Attempt(attempt) => {
                let outcome = self.script.sends.get(self.sent).cloned();
                self.sent += 1;
                self.outcome(
                    attempt,
                    outcome.unwrap_or(Outcome::Answered(AnswerClass::Done)),
                );
            }
            RequestRef::Cancel(no) => self.record(Fact::CancelAnswered {
                no,
                answer: CancelAnswer::Confirmed { object: None },
            }),
        }
        true
    }

    fn outcome(&mut self, attempt: AttemptNo, outcome: Outcome) {
        let fact = match outcome {
            Outcome::NotSent => Fact::NotSent {
                attempt,
                phase: Phase::Connect,
                detail: "connection refused".to_owned(),
            },
            Outcome::Lost => Fact::Lost(Loss {
                attempt,
                phase: Phase::Head,
                wrote: 412,
                read: 0,
                closed_at: Some(self.now),
                detail: "connection reset".to_owned(),
            }),
            Outcome::Answered(class) => {
                let receipt = (class == AnswerClass::Done).then(|| Receipt::new("done"));
                Fact::Answered(Answer {
                    attempt,
                    read_at: self.now,
                    class,
                    receipt,
                    replayed: false,
                    retry_after: None,
                    capture: Capture::default(),
                })
            }
        };
        self.record(fact);
    }

    fn note(&mut self, next: Next) {
        let timeless = matches!(next.step, Step::None | Step::Review(_));
        let since = |at: Timestamp| (at != Timestamp::NEVER).then(|| at.since(START));
        let due = since(next.at.max(self.now)).filter(|_| !timeless);
        if let Some(last) = self.decisions.last_mut()
            && (last.next.step, last.next.why, last.due) == (next.step, next.why, due)
        {
            last.times += 1;
            return;
        }
        let not_after = match next.step {
            Step::Send(plan) => since(plan.not_after),
            Step::LookUp
            | Step::Poll { .. }
            | Step::CancelByKey { .. }
            | Step::Wait
            | Step::Review(_)
            | Step::None => None,
        };
        self.decisions.push(Decision {
            taken: self.now.since(START),
            state: self.known.status(&self.intent).state,
            next,
            due,
            not_after,
            times: 1,
        });
    }
}
