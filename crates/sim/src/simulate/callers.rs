//! Callers who want effects and repeat themselves, and destinations that report on their own.

use factum_core::evidence::{Callback, Receipt};
use factum_core::{ActionId, Fact, Span};
use factum_engine::admission::Terms;
use factum_engine::driver::answers::due_at;
use factum_engine::{Code, Submission};
use factum_store::{Admitted, Record, Store, StoreError};
use serde_json::json;

use super::laws::Excused;
use super::options::Trouble;
use super::process::Task;
use super::world::{BEGIN, Happening, World, ready};

/// An effect that a caller wants.
#[derive(Clone)]
pub(super) struct Intent {
    /// The submission's text; a repeat is the same text.
    pub(super) text: String,
    /// The same identity with other content.
    pub(super) other: String,
    /// The intent whose content this one has; its own where it is nobody's twin.
    pub(super) content: usize,
    /// Somebody approved it, under the contract of then.
    pub(super) approved: bool,
    /// A second effect of that content is meant.
    pub(super) another: bool,
    pub(super) tenant: &'static str,
    pub(super) op: usize,
    /// What an answer with 2xx has named.
    pub(super) acknowledged: Option<ActionId>,
    /// The deadline had passed, or a restore took it and it came too late: nothing is wanted any more.
    pub(super) given_up: bool,
    pub(super) tried_other: bool,
    /// A person ordered a send.
    pub(super) ordered: bool,
    /// What of the laws does not hold it, and why.
    pub(super) excused: Excused,
}

impl World {
    // ---- what is planned

    /// The intents of this run, and when their callers first come.
    pub(super) fn intend(&mut self) {
        let mut times = Vec::new();
        for n in 0..self.options.actions {
            let intent = self.intent(n);
            self.intents.push(intent);
            times.push(self.dice.callers.micros(self.options.wild_secs * 500_000));
        }
        self.make_twins(&mut times);
        for (n, when) in times.into_iter().enumerate() {
            self.plan(Span::from_micros(when), Happening::Caller(n));
        }
    }

    fn intent(&mut self, n: usize) -> Intent {
        let deadlines = self.options.has(Trouble::Deadlines);
        let dice = &mut self.dice.callers;
        let op = dice.index(self.lines.len());
        let behave = dice.one_of(&[
            "",
            "",
            "",
            "",
            "",
            "",
            "reject",
            "decline",
            "ok_false",
            "complete_then_fail",
        ]);
        // Two tenants use the same words for different effects.
        let (tenant, key) = if dice.chance(50) {
            (["north", "south"][n % 2], format!("k{}", n / 2))
        } else {
            ("west", format!("k{n}"))
        };
        let at = |secs: i64| json!(jiff_text(BEGIN + secs * 1_000_000));
        let wild = self.options.wild_secs;
        let mut body = json!({
            "destination": self.lines[op].destination,
            "operation": "do",
            "payload": {"business": format!("b{n}"), "order": n},
        });
        if !behave.is_empty() {
            body["payload"]["behave"] = behave.into();
        }
        if dice.chance(70) {
            body["key"] = key.into();
        } else {
            body["event"] = json!({"source": "chat", "id": format!("e{n}")});
            body["effect"] = "one".into();
        }
        if deadlines && dice.chance(60) {
            body["deadline"] = at(wild / 2 + dice.micros(wild));
        }
        if deadlines && dice.chance(20) {
            body["not_before"] = at(dice.micros(wild / 2));
        }
        if dice.chance(50) {
            body["intent_at"] = at(0);
        }
        let text = body.to_string();
        body["payload"]["order"] = json!(n + 1_000);
        let preference = &self.lines[op].operation.preference;
        let twice = matches!(preference, factum_core::Preference::PreferDuplicate { .. });
        Intent {
            text,
            other: body.to_string(),
            content: n,
            approved: self.options.has(Trouble::Approvals) && self.dice.approvals.chance(60),
            another: false,
            tenant,
            op,
            acknowledged: None,
            given_up: false,
            tried_other: false,
            ordered: false,
            excused: if twice {
                Excused::Duplicates
            } else {
                Excused::Nothing
            },
        }
    }

    pub(super) fn stored(&self, id: ActionId) -> Option<Record> {
        ready(self.store.load(id)).ok().flatten()
    }

    // ---- callers

    pub(super) fn again(&mut self, n: usize) {
        let after = Span::from_micros(500_000 + self.dice.callers.micros(8_000_000));
        self.plan(after, Happening::Caller(n));
    }

    /// A caller submits, or repeats itself because nothing was answered.
    pub(super) fn submit(&mut self, n: usize) {
        if self.intents[n].given_up {
            return;
        }
        let Some(p) = self.somebody() else {
            return self.again(n);
        };
        let other = self.submits_other(n);
        let intent = &self.intents[n];
        let text = if other { &intent.other } else { &intent.text };
        let checked = Submission::from_json(text)
            .and_then(|submission| submission.check(intent.tenant, "ana"));
        let checked = match checked {
            Ok(checked) => checked,
            Err(problem) => {
                return self.breaks(0, || format!("a submission is refused: {problem}"));
            }
        };
        if self.store_error(false).is_some() {
            return self.again(n);
        }
        let now = super::world::store_now(&self.store);
        let restore = ready(self.store.restore()).unwrap_or_default();
        let terms = Terms {
            keys: &self.keys,
            operation: &self.lines[self.intents[n].op].operation,
            restore: restore.as_ref(),
            restore_grace: Span::from_secs(86_400),
        };
        let named = terms.fresh(&checked, now, self.dice.callers.next());
        let mut admission = match terms.admission(checked, now, named) {
            Ok(admission) => admission,
            Err(problem) if problem.code == Code::DeadlinePassed => {
                self.intents[n].given_up = true;
                return;
            }
            Err(problem) => return self.breaks(0, || format!("nothing is admitted: {problem}")),
        };
        self.approve(n, &mut admission.action);
        if self.reach(p, "C1") {
            return self.again(n);
        }
        let at = self.process_now(p);
        let first = if admission.facts.is_empty() {
            self.processes[p].driver.first_mark(&admission.action, at)
        } else {
            None
        };
        let marked = first.is_some();
        if let Some(first) = first {
            self.marked_under(p, &admission.action);
            admission.facts.push(first.fact);
            admission.next = first.next;
            admission.claim_for = Some((self.processes[p].nonce, first.lease));
        }
        self.task(
            p,
            Span::from_micros(300),
            Task::Admit(n, Box::new(admission), marked),
        );
        // Whoever is not answered comes again; what was answered meanwhile is not asked for twice, but for the joke of it.
        let patience = Span::from_micros(2_000_000 + self.dice.callers.micros(20_000_000));
        self.plan(patience, Happening::Caller(n));
        let tired = self.intents[n].acknowledged.is_some() && !self.dice.callers.chance(15);
        self.intents[n].given_up |= tired;
    }

    /// Whether the same identity is tried with other content this time: once, when the first is certain to be there.
    fn submits_other(&mut self, n: usize) -> bool {
        let intent = &mut self.intents[n];
        let may = !intent.tried_other
            && intent.acknowledged.is_some()
            && !self.options.has(Trouble::Restores);
        let other = may && self.options.has(Trouble::Conflicts) && !self.calm;
        intent.tried_other |= other;
        other
    }

    /// What a submission was answered.
    pub(super) fn answered(&mut self, n: usize, other: bool, answer: Result<Admitted, StoreError>) {
        let record = match answer {
            Ok(Admitted::Created(record, _) | Admitted::Joined(record)) => record,
            Ok(Admitted::Conflict { .. }) => {
                if !other {
                    self.breaks(2, || {
                        format!("b{n} is told that its own identity is another's")
                    });
                }
                return;
            }
            Ok(Admitted::HeldOff(first)) => return self.held_off(n, &first),
            // Nothing reserves an id here, and nothing is purged.
            Ok(
                Admitted::Reserved(_)
                | Admitted::Gone(_)
                | Admitted::Forgotten(_)
                | Admitted::Stale,
            )
            | Err(_) => return,
        };
        let id = record.id();
        if other {
            self.breaks(2, || {
                format!("b{n} is joined by other content under its identity")
            });
            return;
        }
        if self.dice.callers.chance(5) && !self.calm {
            self.note(|_| format!("the answer to the caller of a{n} is lost"));
            return;
        }
        self.acknowledge(n, id, &record);
    }

    // ---- reports of destinations

    pub(super) fn finish(&mut self, job: &str) {
        let now = self.now;
        let Some((business, said)) = self.place.finish(job, now, &mut self.dice.place) else {
            return;
        };
        self.note(|_| format!("       {job} of {business} ends: {said:?}"));
        if let Some(n) = self.intent_of(&business) {
            self.touched.insert(n);
        }
        if self.has(Trouble::Callbacks) {
            for _ in 0..self.dice.network.below(3) {
                let after = Span::from_micros(self.dice.network.micros(60_000_000));
                let called = Happening::Called(business.clone(), job.to_owned(), said.clone());
                self.plan(after, called);
            }
        }
    }

    pub(super) fn called_back(
        &mut self,
        business: &str,
        job: String,
        said: Result<String, String>,
    ) {
        let Some(id) = self
            .intent_of(business)
            .and_then(|n| self.intents[n].acknowledged)
        else {
            return;
        };
        let callback = match said {
            Ok(reference) => Callback::Positive(Receipt::new(reference)),
            Err(why) => Callback::Negative { object: job, why },
        };
        self.record_and_look(id, vec![Fact::CalledBack(callback)]);
    }

    /// Facts from outside: recorded, and looked at by some process, as the engine does.
    pub(super) fn record_and_look(
        &mut self,
        id: ActionId,
        facts: Vec<Fact>,
    ) -> Vec<factum_core::EvidenceId> {
        let Some(p) = self.somebody().filter(|_| self.store_error(true).is_none()) else {
            return Vec::new();
        };
        let recorded = ready(self.store.record(id, facts)).ok().flatten();
        let (Some(recorded), Some(record)) = (recorded, self.stored(id)) else {
            return Vec::new();
        };
        self.touch(id);
        self.task(
            p,
            Span::from_micros(900),
            Task::Hear(due_at(&record, recorded.at)),
        );
        recorded.ids
    }

    /// Everything that people and machines hold up is let go: from here on nothing fails.
    pub(super) fn calm_down(&mut self) {
        self.calm = true;
        self.note(|_| "from here on nothing fails".to_owned());
        self.disk_full = false;
        self.pause(false);
        if self.restores > 0 {
            self.release();
        }
        for p in 0..self.processes.len() {
            if self.processes[p].up {
                self.resume(p);
            } else if self.alone() {
                self.start(p);
            }
        }
        // Whoever lives looks after what the dead have left; somebody has to live.
        if self.processes.iter().all(|process| !process.up) {
            self.start(0);
        }
    }

    /// Whether everything rests, and nothing is on its way that could change that.
    pub(super) fn at_rest(&self) -> bool {
        self.restless().is_none()
    }

    /// What does not rest, or is on its way.
    pub(super) fn restless(&self) -> Option<String> {
        // What came back is written down before the action that it is about goes out of a process's hands.
        let mut working = self.processes.iter().filter(|process| process.up);
        if working.any(|process| process.driver.under_way() > 0) {
            return Some("a process has something in hand".to_owned());
        }
        if self.elsewhere.has_work() {
            return Some("a worker elsewhere has something in hand".to_owned());
        }
        (0..self.intents.len()).find_map(|n| {
            let why = if !self.rests(n) {
                "waits for something"
            } else if self.flying.get(&n).is_some_and(|count| *count > 0) {
                "has a request on its way"
            } else if self.place.working(&format!("b{n}")) {
                "is being worked on"
            } else {
                return None;
            };
            Some(format!("a{n} {why}"))
        })
    }

    /// Whether an intent needs nothing more that happens by itself.
    pub(super) fn rests(&self, n: usize) -> bool {
        let intent = &self.intents[n];
        let Some(id) = intent.acknowledged else {
            return intent.given_up;
        };
        let Some(record) = self.stored(id) else {
            return true;
        };
        let status = record.status();
        status.is_settled() || record.next.step == "review"
    }
}

/// An instant as submissions write it.
fn jiff_text(micros: i64) -> String {
    // The begin of a run is 2027-01-15T08:00:00Z; a run lasts hours.
    let secs = (micros - BEGIN) / 1_000_000 + 8 * 3_600;
    let (day, rest) = (15 + secs / 86_400, secs % 86_400);
    format!(
        "2027-01-{day:02}T{:02}:{:02}:{:02}Z",
        rest / 3_600,
        rest / 60 % 60,
        rest % 60
    )
}
