//! Laws over any evidence: the order of records and their repetition mean nothing, nothing panics, and states, next steps and
//! leaves hold what the design says, derived here from the records themselves and not by the core's own reading of them.

use std::collections::BTreeSet;

use factum_core::evidence::{
    AnswerClass, Callback, CancelAnswer, Evidence, Fact, LookupAnswer, Mark, Order, PermissionKind,
    PollAnswer, Ruling,
};
use factum_core::promise::{Authority, Consequence};
use factum_core::statement::StatementKey;
use factum_core::{
    Epoch, EvidenceId, Known, Promises, Span, State, Step, Timestamp, WorkerNonce, permit,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use crate::arbitrary::{at_the_ends_of_time, class, nonsense, walks};
use crate::kit::{Story, secs};

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn stories() -> impl Strategy<Value = Story> {
    prop_oneof![nonsense(), walks()]
}

/// A story, and its records in another order with some of them repeated.
fn shuffled() -> impl Strategy<Value = (Story, Vec<Evidence>)> {
    stories().prop_flat_map(|story| {
        let twice: Vec<Evidence> = story.log.iter().chain(&story.log).cloned().collect();
        (Just(story), Just(twice).prop_shuffle())
    })
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn any_order_of_the_same_records_folds_to_the_same((story, other) in shuffled()) {
        let forward = Known::fold(&story.log);
        let shuffled = Known::fold(&other);
        prop_assert_eq!(&forward, &shuffled);
        prop_assert_eq!(forward.status(&story.intent), shuffled.status(&story.intent));
        // One by one is the same as all at once.
        let mut grown = Known::default();
        for record in &other {
            grown.absorb(record);
        }
        prop_assert_eq!(&forward, &grown);
    }

    #[test]
    fn states_rest_on_evidence(story in stories()) {
        let status = story.status();
        let log = Log(&story);
        match status.state {
            State::Succeeded => prop_assert!(log.something_says_it_exists()),
            State::TerminalFailure | State::Cancelled | State::Expired | State::RetryableFailure => {
                for mark in log.marks() {
                    prop_assert!(log.disproves(mark), "{:?} is not disproved", mark);
                }
                if status.state == State::RetryableFailure {
                    prop_assert!(log.marks().count() > 0 || log.restored());
                }
            }
            State::Pending => prop_assert_eq!(log.marks().count(), 0),
            State::Dispatching => prop_assert!(log.marks().count() > 0),
            State::Accepted | State::OutcomeUnknown => {}
        }
        let no = matches!(status.state, State::TerminalFailure | State::Cancelled | State::Expired);
        prop_assert!(no || !status.safe_to_call_again);
        prop_assert_eq!(status.receipt.is_some() && status.state != State::Succeeded, false);
    }

    #[test]
    fn nothing_is_forgotten(story in stories()) {
        let (status, next) = (story.status(), story.next());
        let _ = StatementKey::of(&status, &next);
        let _ = story.due();
        let waits_for_a_person = matches!(next.step, Step::Review(_));
        prop_assert!(status.is_settled() || waits_for_a_person || next.at != Timestamp::NEVER, "{:?}", next);
        prop_assert!(status.is_settled() || next.step != Step::None, "{:?}", next);
    }

    #[test]
    fn no_instant_is_too_far_away(story in at_the_ends_of_time()) {
        let status = story.status();
        let _ = (StatementKey::of(&status, &story.next()), story.due());
        // What is checked is that none of it panics.
        let _ = permit(&story.intent, &story.known(), &story.conditions());
    }

    #[test]
    fn records_of_time_come_to_rest(mut story in walks()) {
        story.settle_due();
        let next = story.next();
        if next.step == Step::Wait {
            prop_assert!(next.at > story.now, "{:?}", next);
        }
    }

    #[test]
    fn a_leave_is_given_only_where_its_rule_holds(story in stories()) {
        if let Ok(leave) = permit(&story.intent, &story.known(), &story.conditions()) {
            let (fact, _) = leave.mark(WorkerNonce(9));
            Log(&story).check_leave(&fact)?;
        }
    }

    #[test]
    fn readings_of_an_answer_only_weaken_in_any_order(a in class(), b in class(), c in class()) {
        prop_assert_eq!(a.weaker(&b), b.weaker(&a));
        prop_assert_eq!(a.weaker(&b).weaker(&c), a.weaker(b.weaker(&c)));
        prop_assert_eq!(a.weaker(&a), &a);
        prop_assert_eq!(a.weaker(&b).weaker(&a), a.weaker(&b));
    }
}

#[test]
fn walks_come_by_every_kind_of_leave() {
    // The property about leaves would say little if some kind were never given.
    let mut runner = TestRunner::deterministic();
    let mut given = BTreeSet::new();
    for _ in 0..1_500 {
        let story = walks().new_tree(&mut runner).unwrap().current();
        given.insert(story.leave());
    }
    for kind in [
        "first",
        "proven_not_sent",
        "same_key",
        "proven_absent",
        "harmless",
        "ordered",
        "cancel",
    ] {
        assert!(given.contains(kind), "no walk was given {kind}: {given:?}");
    }
}

/// The records of a story, read once more and in another way than the core reads them.
struct Log<'a>(&'a Story);

impl<'a> Log<'a> {
    fn facts(&self) -> impl Iterator<Item = (EvidenceId, &'a Fact)> + use<'a> {
        self.0.log.iter().map(|record| (record.id, &record.fact))
    }

    fn any(&self, says: impl Fn(&Fact) -> bool) -> bool {
        self.facts().any(|(_, fact)| says(fact))
    }

    /// The mark that counts for each attempt: the fold keeps one per number.
    fn marks(&self) -> impl Iterator<Item = &'a Mark> + use<'a> {
        let mut marks: Vec<&Mark> = self
            .facts()
            .filter_map(|(_, fact)| match fact {
                Fact::Marked(mark) => Some(mark),
                _ => None,
            })
            .collect();
        marks.sort();
        marks.reverse();
        marks.dedup_by_key(|mark| mark.attempt);
        marks.into_iter()
    }

    fn restored(&self) -> bool {
        self.any(|fact| matches!(fact, Fact::StoreRestored { .. }))
    }

    fn superseded(&self, id: EvidenceId) -> bool {
        self.any(|fact| match fact {
            Fact::Verdict(verdict) => verdict.supersedes.contains(&id),
            Fact::Released { supersedes } => *supersedes == id,
            _ => false,
        })
    }

    fn standing(&self, ruling: &Ruling) -> bool {
        self.facts().any(|(id, fact)| {
            matches!(fact, Fact::Verdict(v) if v.ruling == *ruling) && !self.superseded(id)
        })
    }

    fn something_says_it_exists(&self) -> bool {
        self.any(|fact| match fact {
            Fact::Answered(answer) => matches!(
                answer.class,
                AnswerClass::Done | AnswerClass::AlreadyExists { ours: true }
            ),
            Fact::Polled { answer, .. } => matches!(answer, PollAnswer::Completed(_)),
            Fact::LookedUp(lookup) => matches!(lookup.answer, LookupAnswer::Found(_)),
            Fact::CalledBack(callback) => matches!(callback, Callback::Positive(_)),
            Fact::CancelAnswered { answer, .. } => {
                matches!(answer, CancelAnswer::TooLate { receipt: Some(_) })
            }
            Fact::Verdict(verdict) => matches!(verdict.ruling, Ruling::Happened { .. }),
            _ => false,
        })
    }

    /// Some record could speak against this attempt. Where nothing shortened its bound, a lookup has to be asked after all
    /// of it.
    fn disproves(&self, mark: &Mark) -> bool {
        self.any(|fact| match fact {
            Fact::NotSent { attempt, .. } => *attempt == mark.attempt,
            Fact::Answered(answer) => match &answer.class {
                AnswerClass::Rejected { stored, .. } | AnswerClass::Declined { stored, .. } => {
                    answer.attempt == mark.attempt || *stored
                }
                AnswerClass::Busy => answer.attempt == mark.attempt,
                _ => false,
            },
            Fact::Polled {
                attempt, answer, ..
            } => *attempt == mark.attempt && matches!(answer, PollAnswer::Failed { .. }),
            Fact::CalledBack(callback) => matches!(callback, Callback::Negative { .. }),
            Fact::LookedUp(lookup) => {
                lookup.answer == LookupAnswer::Absent
                    && lookup.asked_at > self.earliest_end(mark)
                    && self.promises().any(|p| {
                        p.lookup
                            .is_some_and(|l| l.authority == Authority::Authoritative)
                    })
            }
            Fact::CancelAnswered { no, answer } => {
                matches!(answer, CancelAnswer::Confirmed { .. }) && self.cancels(*no, mark.epoch)
            }
            Fact::Verdict(verdict) => verdict.ruling == Ruling::DidNotHappen,
            _ => false,
        })
    }

    /// No earlier than this can the attempt be over, whatever the processing time.
    fn earliest_end(&self, mark: &Mark) -> Timestamp {
        let shortened = self.any(|fact| match fact {
            Fact::Lost(loss) => loss.attempt == mark.attempt && loss.closed_at.is_some(),
            Fact::Answered(answer) => answer.attempt == mark.attempt,
            Fact::ProcessGone { worker, .. } => *worker == mark.worker,
            _ => false,
        });
        if shortened {
            mark.at
        } else {
            let bound = mark.bound;
            mark.valid_until + bound.write_limit + bound.pause_margin + bound.linger + bound.skew
        }
    }

    fn cancels(&self, no: u32, epoch: Epoch) -> bool {
        self.any(|fact| matches!(fact, Fact::CancelMarked(m) if m.no == no && m.epoch == epoch))
    }

    fn promises(&self) -> impl Iterator<Item = &'a Promises> {
        [&self.0.intent.promises, &self.0.current].into_iter()
    }

    /// Both the pinned and the current contract.
    fn both(&self, says: impl Fn(&Promises) -> bool) -> bool {
        self.promises().all(says)
    }

    fn withdrawn_or_revoked(&self) -> bool {
        self.any(|f| matches!(f, Fact::CancelRequested { .. } | Fact::AuthorityLost { .. }))
    }

    fn check_leave(&self, fact: &Fact) -> Result<(), TestCaseError> {
        let story = self.0;
        let now = story.now;
        let released = !self.restored() || story.restore_released;
        prop_assert!(released, "R18: before the restore is released");
        let review = self
            .facts()
            .any(|(id, fact)| matches!(fact, Fact::ReviewOpened { .. }) && !self.superseded(id));
        prop_assert!(!review, "R6: from review");
        prop_assert!(!self.standing(&Ruling::CannotBeKnown), "R6: from closed");
        let refused = self.any(|f| matches!(f, Fact::NotAdmitted { .. }));
        prop_assert!(!refused || self.marks().count() > 0, "not admitted");
        let ends = [story.intent.deadline, story.intent.approved_until];
        let over = ends.into_iter().flatten().any(|end| end <= now)
            || self.any(|f| matches!(f, Fact::DeadlinePassed { .. } | Fact::ApprovalOver { .. }));
        match fact {
            Fact::Marked(mark) => {
                prop_assert!(!self.withdrawn_or_revoked(), "R10: withdrawn or revoked");
                let finishing = story.intent.finish && mark.permission == PermissionKind::SameKey;
                prop_assert!(!over || finishing, "R10: past its end");
                prop_assert!(mark.valid_until <= now + story.intent.limits.send_wait);
                prop_assert!(mark.valid_until <= mark.lease_until);
                let early = ends
                    .into_iter()
                    .flatten()
                    .all(|end| mark.valid_until <= end);
                prop_assert!(early || finishing, "R10: reaches beyond its end");
                self.check_kind(mark)
            }
            Fact::CancelMarked(mark) => {
                prop_assert!(self.both(|p| p.cancel.is_some()), "R5: not promised");
                prop_assert!(!over, "R10: a cancel is an effect request");
                prop_assert!(!self.restored(), "R18");
                prop_assert!(self.marks().any(|m| m.epoch == mark.epoch));
                Ok(())
            }
            other => Err(TestCaseError::fail(format!("no mark: {other:?}"))),
        }
    }

    fn check_kind(&self, new: &Mark) -> Result<(), TestCaseError> {
        let story = self.0;
        match new.permission {
            PermissionKind::First => {
                prop_assert_eq!(self.marks().count(), 0);
                prop_assert!(!self.restored(), "R18: maybe sent, even when unmarked");
            }
            PermissionKind::ProvenNotSent => {
                prop_assert!(self.marks().count() > 0 && !self.restored());
                prop_assert!(self.marks().all(|mark| self.disproves(mark)));
            }
            PermissionKind::ProvenAbsent => {
                prop_assert!(self.marks().all(|mark| self.disproves(mark)));
                prop_assert!(!story.account_in_doubt, "R13");
                prop_assert!(
                    self.marks().all(|mark| mark.epoch < new.epoch) || new.epoch == Epoch(u32::MAX)
                );
            }
            PermissionKind::SameKey => self.check_same_key(new)?,
            PermissionKind::Harmless => {
                prop_assert!(self.both(|p| p.consequence == Consequence::Harmless));
                let condition = self.both(|p| p.condition_checked);
                prop_assert!(condition || !story.subject_overtaken, "R14");
            }
            PermissionKind::Ordered(Order::Preference) => {
                let prefers = matches!(
                    story.intent.preference,
                    factum_core::Preference::PreferDuplicate { .. }
                );
                prop_assert!(prefers);
                prop_assert!(story.intent.promises.consequence <= Consequence::Reversible);
            }
            PermissionKind::Ordered(Order::Verdict(id)) => {
                let ordered = self.facts().any(|(verdict, fact)| {
                    verdict == id
                        && matches!(fact, Fact::Verdict(v) if v.ruling == Ruling::SendAgain)
                });
                prop_assert!(ordered && !self.superseded(id), "no such order stands");
                let used = self.marks().any(|mark| mark.permission == new.permission);
                prop_assert!(!used, "an order is good for one send");
            }
        }
        Ok(())
    }

    fn check_same_key(&self, new: &Mark) -> Result<(), TestCaseError> {
        let story = self.0;
        prop_assert!(!story.clock_in_doubt && !story.account_in_doubt, "R11, R13");
        let cancelled = self.any(|f| matches!(f, Fact::CancelMarked(m) if m.epoch == new.epoch));
        prop_assert!(!cancelled, "R5: the epoch is to be cancelled");
        let mut first = self
            .marks()
            .filter(|m| m.epoch == new.epoch)
            .map(|m| m.at)
            .min();
        for (_, fact) in self.facts() {
            if let Fact::StoreRestored { first_arrival, .. } = fact {
                prop_assert!(first_arrival.is_some(), "R18: unknown first arrival");
                first = [first, *first_arrival].into_iter().flatten().min();
            }
        }
        let first = first.expect("a repeat has a first");
        for promises in self.promises() {
            let Some(key) = promises.key else {
                return Err(TestCaseError::fail("no key is promised"));
            };
            let Some(floor) = key.retention.floor() else {
                return Err(TestCaseError::fail("R4: no floor"));
            };
            if floor == Span::FOREVER {
                continue;
            }
            let margin = secs(30).as_micros().max(floor.as_micros() / 10);
            let bound = new.bound;
            let arrives = new.valid_until + bound.write_limit + bound.linger + bound.skew;
            prop_assert!(
                arrives <= first + (floor - Span::from_micros(margin)),
                "R4: arrives after the window less its margin"
            );
        }
        Ok(())
    }
}
