//! R2, R3, R8, R13 and R31: what a lookup or a comparison is worth.

use factum_core::evidence::{AnswerClass, LookupAnswer, ReviewWhy};
use factum_core::promise::{Authority, Consequence, LookupBy};
use factum_core::{State, Step};

use crate::kit::{LANDS_AFTER, Story, at, bare, found, keyed, lookable, lookup};

const COUNTS: i64 = LANDS_AFTER + 20 + 1;

fn lost(consequence: Consequence) -> Story {
    let mut story = Story::new(lookable(consequence));
    story.send();
    story.at(3).lose(1);
    story
}

#[test]
fn r2_a_lookup_is_dated_by_when_it_was_asked() {
    // Asked at once, stored a day later: still an early question.
    let mut story = lost(Consequence::Costly);
    story.at(86_400).look_asked(at(4), LookupAnswer::Absent);
    assert_eq!(story.state(), State::OutcomeUnknown);
}

#[test]
fn r3_absence_counts_only_after_the_lag() {
    // B89: the search lags by minutes, and every question before its lag is over finds nothing.
    let mut promises = lookable(Consequence::Costly);
    promises.lookup = Some(lookup(Authority::Authoritative, 600));
    let mut story = Story::new(promises);
    story.send();
    story.at(3).lose(1);
    for asked in [5, 60, 300, 600] {
        story.at(asked).look(LookupAnswer::Absent);
        assert_eq!(story.state(), State::OutcomeUnknown, "asked at {asked} s");
        assert_ne!(story.leave(), "proven_absent");
    }
    story.at(600 + LANDS_AFTER + 1).look(LookupAnswer::Absent);
    assert_eq!(story.leave(), "proven_absent");
}

#[test]
fn r3_a_failed_lookup_is_not_absence() {
    // B91, B92, B95, B98: a 500, an HTML page, a truncated list, a match by content alone.
    let mut story = lost(Consequence::Costly);
    for n in 0..4 {
        story.at(COUNTS + n).look(LookupAnswer::Inconclusive {
            why: "page 4 of the list could not be read".to_owned(),
        });
        assert_eq!(story.state(), State::OutcomeUnknown);
        assert_eq!(story.next().step, Step::LookUp, "it is asked again");
    }
}

#[test]
fn r3_an_absence_speaks_for_every_attempt_only_if_asked_after_all_of_them() {
    let mut story = lost(Consequence::Costly);
    story.at(COUNTS).look(LookupAnswer::Absent);
    story.send();
    story.at(COUNTS + 3).lose(2);
    assert_eq!(
        story.state(),
        State::OutcomeUnknown,
        "attempt 2 was marked since"
    );
    story.at(COUNTS + 4).look(LookupAnswer::Absent);
    assert_eq!(story.state(), State::OutcomeUnknown);
    story.at(2 * COUNTS + 3).look(LookupAnswer::Absent);
    assert_eq!(story.state(), State::RetryableFailure);
}

#[test]
fn r3_the_last_question_waits_until_its_answer_counts() {
    for most in 1..=6 {
        let mut story = lost(Consequence::Costly);
        story.intent.limits.lookups_max = most;
        for _ in 0..most {
            if story.state() == State::RetryableFailure {
                break;
            }
            let next = story.next();
            assert_eq!(next.step, Step::LookUp, "of {most}");
            story.now = story.now.max(next.at);
            story.look(LookupAnswer::Absent);
        }
        assert_eq!(
            story.state(),
            State::RetryableFailure,
            "{most} questions, and none of them late enough"
        );
    }
}

#[test]
fn r8_a_lookup_that_leaves_things_out_proves_no_absence() {
    // B94: a cached or partial list. The question was late enough, and still a person decides.
    for consequence in [
        Consequence::Reversible,
        Consequence::Costly,
        Consequence::Irreversible,
    ] {
        let mut promises = bare(consequence);
        promises.lookup = Some(lookup(Authority::Partial, 20));
        let mut story = Story::new(promises);
        story.send();
        story.at(3).lose(1);
        story.at(COUNTS).look(LookupAnswer::Absent);
        assert_eq!(story.state(), State::OutcomeUnknown);
        assert_eq!(
            story.next().step,
            Step::Review(ReviewWhy::NotFoundByPartialLookup)
        );
        story.at(COUNTS + 60).look(found("T-1"));
        assert_eq!(story.state(), State::Succeeded, "a hit counts");
    }
}

#[test]
fn r8_queued_work_is_seen_and_is_neither_done_nor_absent() {
    let mut story = lost(Consequence::Costly);
    story.at(COUNTS).look(LookupAnswer::Queued {
        object: Some("job-1".to_owned()),
    });
    assert_eq!(story.state(), State::Accepted);
    assert!(!story.status().safe_to_call_again);
}

#[test]
fn r8_a_queued_answer_does_not_end_the_request_early() {
    // The lookup does not see queued work, so the queue's time lies in `processing_max`; the 202 shortens nothing.
    let mut story = Story::new(lookable(Consequence::Costly));
    story.send();
    let queued = AnswerClass::Accepted { object: None };
    story.at(1).answer(1, queued);
    story.at(1 + 20 + 1).look(LookupAnswer::Absent);
    assert_eq!(story.state(), State::Accepted);
    story.at(COUNTS).look(LookupAnswer::Absent);
    assert_eq!(story.state(), State::RetryableFailure);
}

#[test]
fn r13_a_changed_credential_gives_no_same_key_and_no_absence() {
    let mut by_key = Story::new(keyed(Consequence::Costly));
    by_key.send();
    by_key.at(3).lose(1);
    by_key.account_in_doubt = true;
    assert_eq!(by_key.leave(), "review");

    let mut by_lookup = lost(Consequence::Costly);
    by_lookup.account_in_doubt = true;
    by_lookup.at(COUNTS);
    let heard = LookupAnswer::Absent.unless_in_doubt(by_lookup.account_in_doubt);
    assert!(matches!(heard, LookupAnswer::Inconclusive { .. }));
    assert_eq!(
        found("T-1").unless_in_doubt(true),
        found("T-1"),
        "what carries our reference is ours in any account"
    );
    // An absence from before the change gives no send either until the account is confirmed.
    by_lookup.look(LookupAnswer::Absent);
    assert_eq!(by_lookup.leave(), "wait");
    by_lookup.account_in_doubt = false;
    assert_eq!(by_lookup.leave(), "proven_absent");
}

#[test]
fn r31_what_is_not_recognised_as_ours_is_not_done() {
    // B88: "already exists" settles only where the answer shows that it is our intent.
    let mut ours = Story::new(keyed(Consequence::Costly));
    ours.send();
    ours.at(3).lose(1);
    let mut other = ours.clone();
    ours.send();
    ours.at(5)
        .answer_with(2, AnswerClass::AlreadyExists { ours: true }, Some("T-1"));
    assert_eq!(ours.state(), State::Succeeded);
    other.send();
    other
        .at(5)
        .answer_with(2, AnswerClass::AlreadyExists { ours: false }, Some("T-9"));
    assert_eq!(other.state(), State::OutcomeUnknown);
    assert_eq!(other.status().receipt, None, "not shown as our receipt");
    assert_eq!(other.next().step, Step::Review(ReviewWhy::NotRecognised));
}

#[test]
fn a_lookup_by_key_speaks_for_its_own_epoch_only() {
    let mut promises = lookable(Consequence::Costly);
    promises.lookup = promises.lookup.map(|mut l| {
        l.by = LookupBy::Key;
        l
    });
    let mut story = Story::new(promises);
    story.send();
    story.at(3).lose(1);
    story.now = at(COUNTS);
    let other_epoch = factum_core::evidence::Fact::LookedUp(factum_core::evidence::Lookup {
        asked_at: at(COUNTS),
        by: LookupBy::Key,
        epoch: factum_core::Epoch(1),
        answer: LookupAnswer::Absent,
    });
    story.record(other_epoch);
    assert_eq!(story.state(), State::OutcomeUnknown);
}
