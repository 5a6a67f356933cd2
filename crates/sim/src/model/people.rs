//! What people do: callers who withdraw, operators who restore and release, persons who rule, act by hand, or are wrong.

use factum_core::evidence::{AnswerClass, Fact, Ruling, Verdict};
use factum_core::mistake::{Mistake, made};
use factum_core::{Epoch, Timestamp};

use super::cases::Case;
use super::laws::law2;
use super::logs::{Log, LogId};
use super::moves::{Move, Said};
use super::setup::tick;
use super::worker::receipt;
use super::world::{NEVER, Run, Tag, World};

impl World {
    pub(crate) fn people(&mut self, step: Move, run: &Run) {
        match step {
            Move::Withdraw(act) => {
                self.left.withdrawals -= 1;
                run.note(Case::Withdrawn);
                let (by, why) = (ana(), "no longer wanted".to_owned());
                self.record(act, Fact::CancelRequested { by, why }, run);
            }
            Move::Revoke(act) => {
                self.left.revocations -= 1;
                run.note(Case::AuthorityLost);
                let why = "the grant was revoked".to_owned();
                self.record(act, Fact::AuthorityLost { why }, run);
            }
            Move::Rule(act, said) => self.rule(act, said, run),
            Move::Take(act) => {
                self.left.hands -= 1;
                run.note(Case::Taken);
                self.record(act, Fact::Taken { by: ana() }, run);
            }
            Move::Hand(act) => self.do_by_hand(act, run),
            Move::GiveBack(act) => {
                if let Some((supersedes, _)) = self.log(act, run).known.taken_by() {
                    self.record(act, Fact::Released { supersedes }, run);
                }
            }
            Move::CheckAgain(act) => {
                self.left.checks -= 1;
                run.note(Case::CheckedAgain);
                let (by, at) = (ana(), self.stamp());
                self.record(act, Fact::CheckAgain { by, at }, run);
            }
            Move::Correct(act, done) => self.correct(act, done, run),
            _ => unreachable!("only what people do about one action"),
        }
    }

    /// A person does at the destination, with their own hands, what the action was to do.
    fn do_by_hand(&mut self, act: u8, run: &Run) {
        run.note(Case::ByHand);
        self.act_mut(act).excuses.by_hand += 1;
        let tag = Tag {
            act,
            ..Tag::default()
        };
        let key = self.key(act, Epoch(0));
        self.add_effect(tag, key, true, run);
    }

    fn rule(&mut self, act: u8, said: Said, run: &Run) {
        self.left.verdicts -= 1;
        run.note(Case::Ruled);
        let exists = self.live_effects(act) > 0;
        let in_flight = self.may_still_land(act) || self.is_in_hands(act);
        let ruling = match said {
            Said::Happened => {
                if !exists {
                    run.note(Case::RuledWrongly);
                    self.act_mut(act).excuses.ruled_in = true;
                }
                let mut effects = self.there.effects.numbered();
                let theirs = effects.find(|(_, e)| e.by_hand && e.tag.act == act);
                let receipt = theirs.map(|(number, _)| receipt(number));
                Ruling::Happened { receipt }
            }
            Said::DidNotHappen => {
                if exists || in_flight {
                    let case = if exists {
                        Case::RuledWrongly
                    } else {
                        Case::RuledEarly
                    };
                    run.note(case);
                    self.act_mut(act).excuses.ruled_out = true;
                }
                Ruling::DidNotHappen
            }
            Said::SendAgain => {
                self.act_mut(act).excuses.orders += 1;
                Ruling::SendAgain
            }
            Said::CannotBeKnown => {
                run.note(Case::ClosedUnknown);
                Ruling::CannotBeKnown
            }
        };
        let supersedes = self.log(act, run).known.answered_by_a_verdict();
        let verdict = Verdict {
            ruling,
            by: ana(),
            why: String::new(),
            at: self.stamp(),
            supersedes,
        };
        self.record(act, Fact::Verdict(verdict), run);
        if self.judge(act, run).status.contradicted {
            run.note(Case::Contradicted);
        }
    }

    /// A corrected contract reads a stored answer as "done", wrongly, or as nothing that can be told.
    fn correct(&mut self, act: u8, done: bool, run: &Run) {
        self.left.corrections -= 1;
        run.note(Case::Corrected);
        let log = self.log(act, run);
        let Some(supersedes) = log.correctable(done).next() else {
            return;
        };
        let class = if done {
            AnswerClass::Done
        } else {
            AnswerClass::Unknown
        };
        let why = "the matcher was corrected".to_owned();
        self.record(
            act,
            Fact::Reread {
                supersedes,
                class,
                why,
            },
            run,
        );
    }

    // ---- around the actions

    pub(crate) fn around(&mut self, step: Move, run: &Run) {
        match step {
            Move::Submit(act) => self.submit(act, run),
            Move::SubmitAgain => {
                self.left.resubmissions -= 1;
                run.note(Case::SubmittedAgain);
                if made(Mistake::JoinMissed) {
                    self.acts[1].identity = 0;
                    self.submit(1, run);
                }
                run.hold(law2::resolved(self));
            }
            Move::CheckSubmission(caller) => self.check_submission(caller, run),
            Move::Admit(caller) | Move::Repeat(caller) => {
                let contents = run.setup.callers.unwrap_or_default();
                let content = contents[usize::from(caller)];
                if step == Move::Admit(caller) {
                    self.admit(caller, content, run);
                } else {
                    self.repeat(caller, content, run);
                }
            }
            Move::Restore(back) => self.restore(back, run),
            Move::Release => {
                run.note(Case::Released);
                self.store.held = false;
            }
            Move::StepBack => {
                self.left.steps -= 1;
                self.store.stepped_at = self.now;
            }
            Move::SetRight => {
                self.left.steps -= 1;
                self.store.stepped_at = NEVER;
            }
            Move::SwapBack => {
                self.left.swaps -= 1;
                self.store.swapped = false;
            }
            Move::Delete(effect) => {
                self.left.deletions -= 1;
                run.note(Case::Deleted);
                self.there.effects[usize::from(effect)].deleted = true;
            }
            Move::Swap => {
                self.left.swaps -= 1;
                run.note(Case::SecretSwapped);
                self.store.swapped = true;
            }
            _ => unreachable!("only what happens around the actions"),
        }
    }

    /// A submission is recorded. Where its intent is older than a restore, it is maybe sent.
    pub(crate) fn submit(&mut self, act: u8, run: &Run) {
        self.act_mut(act).log = LogId::EMPTY;
        if run.setup.twins.is_some() {
            self.act_mut(act).recorded_at = self.store_now();
        }
        if act == 1 && run.setup.one_subject {
            run.note(Case::Overtaken);
        }
        if self.store.restored_at == NEVER {
            return;
        }
        run.note(Case::Resubmitted);
        let copy_until = tick(self.store.copy_until);
        let first_arrival = run.setup.told.intent_at.map(|at| at.min(copy_until));
        let at = tick(self.store.restored_at);
        self.record(
            act,
            Fact::StoreRestored {
                copy_until,
                at,
                first_arrival,
            },
            run,
        );
    }

    /// A copy of the store comes back that ends so many records ago; one more, and it does not know the action at all. The
    /// processes end with the store that they worked on; their requests do not.
    fn restore(&mut self, back: u8, run: &Run) {
        self.left.restores -= 1;
        run.note(Case::Restored);
        for worker in 0..2 {
            self.die(worker, run);
        }
        let mut log = self.log(0, run);
        let mut id = self.acts[0].log;
        for _ in 0..back {
            id = log.before;
            if id == LogId::NONE {
                break;
            }
            log = run.logs.get(id);
        }
        let copied: Timestamp = log.stored.unwrap_or(tick(0));
        let ticks = (0..=self.now).rfind(|n| tick(*n) <= copied).unwrap_or(0);
        self.store.held = true;
        self.store.restored_at = self.store_now();
        self.store.copy_until = ticks;
        self.acts[0].log = id;
        if id == LogId::NONE {
            run.note(Case::LostSubmission);
            self.forget_callers();
            return;
        }
        if self.judge(0, run).status.is_settled() {
            return;
        }
        let told = &run.setup.told;
        let (copy_until, at) = (tick(ticks), self.stamp());
        let first_arrival = Some(told.intent_at.unwrap_or(told.submitted_at).min(copy_until));
        self.record(
            0,
            Fact::StoreRestored {
                copy_until,
                at,
                first_arrival,
            },
            run,
        );
    }
}

impl Log {
    /// Answers that a correction could read as "done", or as nothing that can be told.
    pub(crate) fn correctable(&self, done: bool) -> impl Iterator<Item = factum_core::EvidenceId> {
        let answers = self.answers.iter();
        answers
            .filter(move |(_, class)| (*class == AnswerClass::Done) != done)
            .map(|(id, _)| *id)
            .take(1)
    }
}

fn ana() -> String {
    "ana".to_owned()
}
