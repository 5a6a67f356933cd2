//! The driver's commands, carried out as the shell does: the store's calls here, requests and questions in [`super::wire`].
//! The store fails before or after it has written, and the process dies at any of the crash points in between.

use factum_core::{Fact, Span};
use factum_engine::driver::answers::{self, STORE_REST, Submitted, Wrote, owner};
use factum_engine::driver::gate::Guest;
use factum_engine::driver::{Command, Commit, Event};
use factum_store::{Admission, Admitted, Claimed, Committed, Store, StoreError, StoreErrorKind};

use super::options::Trouble;
use super::process::{Task, variant};
use super::world::{World, ready};

impl World {
    /// How the store fails before anything is done, if it does.
    pub(super) fn store_error(&mut self, writes: bool) -> Option<StoreError> {
        let doing = "working in the simulator";
        if self.disk_full && writes && !self.calm {
            return Some(StoreError::new(doing, StoreErrorKind::Full));
        }
        if self.has(Trouble::StoreErrors) && self.dice.store.chance(8) {
            let kind = StoreErrorKind::Unavailable("as the simulator drew it".to_owned());
            return Some(StoreError::new(doing, kind));
        }
        None
    }

    /// Whether the store's answer is lost although it has written.
    pub(super) fn answer_lost<T>(
        &mut self,
        answer: Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if answer.is_ok() && self.has(Trouble::LostCommits) && self.dice.store.chance(8) {
            self.note(|_| "the store has written, and nobody knows it".to_owned());
            let kind = StoreErrorKind::InDoubt("as the simulator drew it".to_owned());
            return Err(StoreError::new("committing in the simulator", kind));
        }
        answer
    }

    /// How long an answer of the store takes.
    fn store_delay(&mut self) -> Span {
        if self.has(Trouble::Delays) && self.dice.store.chance(5) {
            return Span::from_micros(self.dice.store.micros(20_000_000));
        }
        Span::from_micros(200 + self.dice.store.micros(20_000))
    }

    fn hear(&mut self, p: usize, event: Event) {
        let after = self.store_delay();
        self.task(p, after, Task::Hear(event));
    }

    pub(super) fn carry_out(&mut self, p: usize, command: Command) {
        let Guest::Action(action) = owner(&command) else {
            // No destination of this world has a feed of events.
            return;
        };
        // Recording evidence is a loop around one call of the store: nothing in it can break off.
        let may_break = !matches!(command, Command::Record(..));
        if may_break && self.has(Trouble::Breaks) && self.dice.fate.chance(2) {
            self.note(|world| {
                format!(
                    "p{p} breaks off at {} of {}",
                    variant(&command),
                    world.called(action)
                )
            });
            self.tell(p, Event::Broken(action));
            return;
        }
        match command {
            Command::Claim(action, lease) => {
                if self.reach(p, "C2") {
                    return;
                }
                let worker = self.processes[p].nonce;
                let answer = match self.store_error(true) {
                    Some(error) => Err(error),
                    None => {
                        let answer = ready(self.store.claim(action, worker, lease));
                        self.answer_lost(answer)
                    }
                };
                if matches!(answer, Ok(Claimed::Held(..))) && self.reach(p, "C3") {
                    return;
                }
                let event = answers::claimed(action, answer, self.process_now(p));
                self.hear(p, event);
            }
            Command::Commit(commit) => self.commit(p, *commit),
            Command::Send(send) => self.send(p, *send),
            Command::LookUp(_, record) => self.ask(p, record, None),
            Command::Poll(_, record, attempt) => self.ask(p, record, Some(attempt)),
            Command::Record(action, facts) => {
                if self.store_error(true).is_some() {
                    // Evidence is not given up while the process lives.
                    let again = Task::Do(Command::Record(action, facts));
                    self.task(p, STORE_REST, again);
                    return;
                }
                let _ = ready(self.store.record(action, facts));
                self.note(|world| {
                    format!("       {} recorded without a claim", world.called(action))
                });
                self.touch(action);
                self.hear(p, Event::Recorded(action));
            }
            Command::Release(claim) => {
                if self.store_error(true).is_none() {
                    let _ = ready(self.store.release(claim));
                }
                self.hear(p, Event::Released(action));
            }
            Command::ReadFeed(_) => {}
        }
    }

    fn commit(&mut self, p: usize, commit: Commit) {
        let action = commit.record.id();
        let (facts, next) = (commit.facts.clone(), commit.next.clone());
        let (step, why) = (next.step.clone(), next.why.clone());
        let answer = match self.store_error(true) {
            Some(error) => Err(error),
            None => ready(self.store.commit(&commit.claim, facts, next)),
        };
        if let Err(error) = &answer
            && matches!(error.kind, StoreErrorKind::Database(_))
        {
            let text = error.to_string();
            self.breaks(8, || format!("a decision that cannot stand: {text}"));
        }
        self.touch(action);
        if commit
            .facts
            .iter()
            .any(|fact| matches!(fact, Fact::Marked(_)))
        {
            self.marked_under(p, &commit.record.action);
        }
        if let Ok(Committed::Durable(recorded)) = &answer {
            let states = recorded.states;
            let kinds: Vec<_> = commit.facts.iter().map(Fact::kind).collect();
            self.note(|world| {
                let name = world.called(action);
                let (from, to) = (states.0.name(), states.1.name());
                format!("       {name} {kinds:?}: {from} → {to}; next {step}: {why}")
            });
            let marks = |fact: &Fact| matches!(fact, Fact::Marked(_) | Fact::CancelMarked(_));
            let died = if commit.facts.iter().any(marks) {
                self.reach(p, "C4")
            } else {
                commit
                    .facts
                    .iter()
                    .any(|fact| matches!(fact, Fact::Answered(_)))
                    && self.reach(p, "C7")
            };
            if died {
                return;
            }
        }
        let answer = self.answer_lost(answer);
        match answers::wrote(commit, answer, self.process_now(p)) {
            Wrote::Durable(event, _) => self.hear(p, event),
            Wrote::Not(event, claim) => {
                if self.store_error(true).is_none() {
                    let _ = ready(self.store.release(claim));
                }
                self.hear(p, event);
            }
        }
    }

    /// Records a submission, and tells the driver and the caller what became of it.
    pub(super) fn admit(&mut self, p: usize, n: usize, admission: Admission, marked: bool) {
        let submitted = Submitted {
            action: admission.action.intent.action,
            destination: admission.action.scope.destination.clone(),
            marked,
        };
        let id = submitted.action;
        let other = admission
            .action
            .content
            .payload
            .contains(&format!(":{}", n + 1_000));
        let answer = match self.store_error(true) {
            Some(error) => Err(error),
            None => ready(self.store.admit(admission)),
        };
        if let Ok(Admitted::Created(record, _)) = &answer {
            self.recorded_beside_its_twins(n);
            self.ids.insert(record.id(), n);
            self.touched.insert(n);
            self.note(|_| format!("p{p} records a{n} as {id}, marked: {marked}"));
        }
        if marked && matches!(answer, Ok(Admitted::Created(..))) && self.reach(p, "C4") {
            return;
        }
        let answer = self.answer_lost(answer);
        let now = self.process_now(p);
        let (event, answer) = answers::admitted(submitted, answer, now);
        // The caller is told by the same task; a joined action that is not settled is looked at, as the engine does.
        if let Ok(Admitted::Joined(record)) = &answer
            && !record.status().is_settled()
        {
            self.hear(p, answers::due(record, now));
        }
        self.hear(p, event);
        if !self.reach(p, "C7") {
            self.answered(n, other, answer);
        }
    }
}
