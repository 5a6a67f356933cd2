//! Everybody else outside the engine: people who withdraw and rule, operators who hold, restore and release, and the machine's
//! own troubles.

use factum_core::evidence::{Ruling, Verdict};
use factum_core::{Fact, Span};
use factum_engine::driver::Event;
use factum_engine::left_behind::with_the_order;
use factum_engine::neighbours::PAUSED;
use factum_engine::rulings::{check_applies, verdict_applies};
use factum_store::{Record, Store};

use super::laws::Excused;
use super::options::Trouble;
use super::process::Task;
use super::world::{Happening, World, ready};

/// What somebody outside does.
pub(super) enum Outside {
    Start(usize),
    GoOn(usize, factum_core::WorkerNonce),
    Kill,
    Stop,
    End,
    Step,
    DiskFull(bool),
    Pause(bool),
    Person,
    Correct,
    Backup,
    Restore,
    Release,
}

/// How somebody outside comes to do something.
type Make = fn() -> Outside;

/// What happens of each kind of trouble, and one less than how often at the most.
const OFTEN: &[(Trouble, u64, Make)] = &[
    (Trouble::Kills, 6, || Outside::Kill),
    (Trouble::Kills, 2, || Outside::End),
    (Trouble::Stops, 4, || Outside::Stop),
    (Trouble::ClockSteps, 2, || Outside::Step),
    (Trouble::DiskFull, 1, || Outside::DiskFull(true)),
    (Trouble::Pauses, 2, || Outside::Pause(true)),
    (Trouble::Approvals, 3, || Outside::Correct),
    (Trouble::Withdrawals, 4, || Outside::Person),
    (Trouble::Verdicts, 8, || Outside::Person),
    (Trouble::WrongVerdicts, 4, || Outside::Person),
];

impl World {
    /// What troubles there are, and when.
    pub(super) fn trouble(&mut self) {
        let secs = self.options.wild_secs;
        for (trouble, most, make) in OFTEN {
            if !self.options.has(*trouble) {
                continue;
            }
            for _ in 0..=self.dice.fate.below(*most) {
                let when = self.dice.fate.micros(secs * 1_000_000);
                self.plan(Span::from_micros(when), Happening::Outside(make()));
            }
        }
        if self.options.has(Trouble::Restores) && self.alone() {
            let backup = self.dice.fate.micros(secs * 500_000);
            let restore = backup + self.dice.fate.micros(secs * 500_000);
            self.plan(
                Span::from_micros(backup),
                Happening::Outside(Outside::Backup),
            );
            self.plan(
                Span::from_micros(restore),
                Happening::Outside(Outside::Restore),
            );
        }
    }

    pub(super) fn outside(&mut self, outside: Outside) {
        match outside {
            Outside::Start(p) => self.start(p),
            Outside::GoOn(p, nonce) => {
                if self.processes[p].nonce == nonce {
                    self.resume(p);
                }
            }
            _ if self.calm => {}
            Outside::Kill | Outside::Stop | Outside::End => {
                let p = self.dice.fate.index(self.processes.len());
                match outside {
                    Outside::Kill => self.kill(p, "at any moment"),
                    Outside::End => self.end(p),
                    _ => {
                        let secs = self.dice.fate.one_of(&[1, 10, 60, 200]);
                        let span = Span::from_micros(self.dice.fate.micros(secs * 1_000_000));
                        self.stop(p, span);
                    }
                }
            }
            Outside::Step => self.step_clock(),
            Outside::DiskFull(full) => {
                self.disk_full = full;
                self.note(|_| format!("the disk is full: {full}"));
                if full {
                    let span = Span::from_micros(self.dice.fate.micros(60_000_000));
                    self.plan(span, Happening::Outside(Outside::DiskFull(false)));
                }
            }
            Outside::Pause(paused) => self.pause(paused),
            Outside::Person => self.person(),
            Outside::Correct => self.correct_a_contract(),
            Outside::Backup => {
                self.note(|_| "the store is copied".to_owned());
                self.backup = Some(self.store.copy());
            }
            Outside::Restore => self.restore(),
            Outside::Release => self.release(),
        }
    }

    pub(super) fn pause(&mut self, paused: bool) {
        self.paused = paused;
        self.note(|_| format!("an operator holds all sends: {paused}"));
        let by = paused.then(|| "ana".to_owned());
        let _ = ready(self.store.set_setting(PAUSED, by));
        // On a shared store each worker sees it when it looks; the one that is asked, at once.
        for p in 0..self.processes.len() {
            if self.processes[p].up && (p == 0 || self.alone()) {
                self.task(p, Span::ZERO, Task::Hear(Event::Paused(paused)));
            }
        }
        if paused {
            let span = Span::from_micros(self.dice.fate.micros(90_000_000));
            self.plan(span, Happening::Outside(Outside::Pause(false)));
        }
    }

    /// The wall clock steps: where there is one host, under the store too.
    fn step_clock(&mut self) {
        // A restore is dated by the same clock: one that is wrong by more than a margin then is beyond every rule.
        let most = if self.options.has(Trouble::Restores) {
            20
        } else {
            120
        };
        let step = self.dice.fate.one_of(&[-most, -20, -1, 1]) * 1_000_000;
        if self.alone() {
            let to = self.wall_step() + step;
            self.step_store_clock(to);
            self.note(|_| format!("the wall clock steps to {} s", to / 1_000_000));
            self.task(0, Span::from_secs(2), Task::LookAround);
            return;
        }
        let p = self.dice.fate.index(self.processes.len());
        self.processes[p].wall_step += step;
        self.note(|_| format!("the wall clock of p{p} steps by {} s", step / 1_000_000));
        self.task(p, Span::from_secs(2), Task::LookAround);
    }

    // ---- a copy of the store comes back

    fn restore(&mut self) {
        let Some(backup) = self.backup.take() else {
            return;
        };
        self.kill(0, "its disk is gone");
        self.store = backup;
        self.handed.clear();
        let declared = ready(self.store.declare_restored(None));
        self.restores += 1;
        self.note(|_| format!("an older copy of the store is put in place: {declared:?}"));
        for n in 0..self.intents.len() {
            let kept = self.intents[n]
                .acknowledged
                .is_some_and(|id| self.stored(id).is_some());
            self.touched.insert(n);
            if self.intents[n].ordered {
                // The copy may know the failure that a person then sent again for, and not the order: nobody can tell.
                self.intents[n].excused.raise(Excused::Words);
            }
            if !kept {
                self.intents[n].acknowledged = None;
                let after = Span::from_micros(self.dice.fate.micros(90_000_000));
                self.plan(after, Happening::Caller(n));
            }
        }
        let after = Span::from_micros(self.dice.fate.micros(120_000_000));
        self.plan(after, Happening::Outside(Outside::Release));
    }

    pub(super) fn release(&mut self) {
        self.note(|_| "an operator releases the restore".to_owned());
        let _ = ready(self.store.release_restore("ana".to_owned()));
        for p in 0..self.processes.len() {
            if self.processes[p].up {
                self.task(p, Span::ZERO, Task::Hear(Event::RestoreReleased(true)));
            }
        }
    }

    // ---- people

    fn person(&mut self) {
        let acknowledged = |n: &usize| self.intents[*n].acknowledged.is_some();
        let known: Vec<usize> = (0..self.intents.len()).filter(acknowledged).collect();
        if known.is_empty() {
            return;
        }
        let n = known[self.dice.people.index(known.len())];
        let Some(record) = self.intents[n].acknowledged.and_then(|id| self.stored(id)) else {
            return;
        };
        let (by, why) = ("ana".to_owned(), "seen".to_owned());
        match self.dice.people.below(4) {
            0 if self.has(Trouble::Withdrawals) && !record.status().state.is_final() => {
                self.note(|_| format!("ana withdraws a{n}"));
                self.record_and_look(record.id(), vec![Fact::CancelRequested { by, why }]);
            }
            1 if check_applies(&record).is_ok() => {
                let at = super::world::store_now(&self.store);
                self.note(|_| format!("ana has a{n} looked up again"));
                self.record_and_look(record.id(), vec![Fact::CheckAgain { by, at }]);
            }
            _ if self.has(Trouble::Verdicts) || self.has(Trouble::WrongVerdicts) => {
                self.rule(n, &record);
            }
            _ => {}
        }
    }

    fn rule(&mut self, n: usize, record: &Record) {
        let careless = self.has(Trouble::WrongVerdicts)
            && (!self.has(Trouble::Verdicts) || self.dice.people.chance(30));
        let ruling = self.ruling(n, careless);
        let now = super::world::store_now(&self.store);
        if verdict_applies(record, &record.status(), &ruling, now, None).is_err() {
            return;
        }
        self.note(|_| format!("ana rules on a{n}: {ruling:?}"));
        if ruling == Ruling::SendAgain {
            self.intents[n].ordered = true;
            self.intents[n].excused.raise(Excused::Duplicates);
        }
        if careless {
            self.intents[n].excused.raise(Excused::Words);
        }
        let verdict = Verdict {
            ruling,
            by: "ana".to_owned(),
            why: "seen".to_owned(),
            at: now,
            supersedes: record.known.answered_by_a_verdict(),
        };
        let restore = ready(self.store.restore()).unwrap_or_default();
        let mut facts: Vec<Fact> = with_the_order(record, &verdict, restore.as_ref())
            .into_iter()
            .collect();
        facts.push(Fact::Verdict(verdict));
        self.record_and_look(record.id(), facts);
    }

    /// A person who looks there says what is true; one who orders a send takes the risk.
    fn ruling(&mut self, n: usize, careless: bool) -> Ruling {
        let business = format!("b{n}");
        let there = self.place.count(&business) > 0;
        let over =
            self.flying.get(&n).is_none_or(|count| *count == 0) && !self.place.working(&business);
        match (self.dice.people.below(4), there) {
            (0, _) => Ruling::CannotBeKnown,
            (1, _) => Ruling::SendAgain,
            (_, true) if !careless => Ruling::Happened { receipt: None },
            (_, false) if !careless && over => Ruling::DidNotHappen,
            (2, _) if careless => Ruling::Happened { receipt: None },
            (_, _) if careless => Ruling::DidNotHappen,
            _ => Ruling::CannotBeKnown,
        }
    }
}
