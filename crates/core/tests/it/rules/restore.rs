//! R18 and C1 to C6: what an older copy of the store, a crash or a second worker leaves open.

use factum_core::evidence::{AnswerClass, Fact, LookupAnswer, Ruling};
use factum_core::promise::{Consequence, LookupBy};
use factum_core::{Epoch, State, Step, Timestamp, WorkerNonce};

use crate::kit::{LANDS_AFTER, LEASE, Story, at, bare, cancelable, keyed, lookable};

fn restored(story: &mut Story, first_arrival: Option<Timestamp>) {
    let at = story.now;
    story.restore_released = false;
    story.record(Fact::StoreRestored {
        copy_until: at,
        at,
        first_arrival,
    });
}

const COUNTS: i64 = LANDS_AFTER + 21;

#[test]
fn r18_after_a_restore_even_the_unsent_is_maybe_sent() {
    // B190: recorded in the copy, perhaps sent since; it does not count as `first`.
    let mut story = Story::new(lookable(Consequence::Costly));
    restored(&mut story, None);
    assert_eq!(story.state(), State::OutcomeUnknown);
    assert_eq!(story.next().step, Step::LookUp, "look first");
    story.at(COUNTS).look(LookupAnswer::Absent);
    assert_eq!(
        story.leave(),
        "wait",
        "then send, once an operator has released it"
    );
    story.restore_released = true;
    assert_eq!(story.leave(), "proven_absent");
}

#[test]
fn r18_nothing_is_sent_until_the_restore_is_released() {
    for promises in [keyed(Consequence::Costly), bare(Consequence::Harmless)] {
        let mut story = Story::new(promises);
        story.send();
        story.at(3).lose(1);
        restored(&mut story, Some(at(0)));
        assert_eq!(
            story.leave(),
            "wait",
            "held, and not handed to a person for good"
        );
        assert_eq!(story.due(), None);
        story.rule(Ruling::SendAgain);
        assert_ne!(story.leave(), "ordered", "not even by a person's order");
    }
    // Where a release would let nothing out, a person is asked at once: after a restore a cancel by key is no proof.
    let mut stuck = Story::new(cancelable(Consequence::Costly, true));
    stuck.send();
    stuck.at(3).lose(1);
    restored(&mut stuck, Some(at(0)));
    assert_eq!(stuck.leave(), "review");
    // What is submitted meanwhile waits too.
    let mut new = Story::new(keyed(Consequence::Costly));
    new.restore_released = false;
    assert_eq!(new.leave(), "wait");
}

#[test]
fn r18_by_key_only_from_the_first_possible_arrival_and_without_missing_epochs() {
    let sent_before = |first_arrival| {
        let mut story = Story::new(keyed(Consequence::Costly));
        story.send();
        story.at(3).lose(1);
        restored(&mut story, first_arrival);
        story.restore_released = true;
        story
    };
    assert_eq!(sent_before(Some(at(0))).leave(), "same_key");
    assert_eq!(
        sent_before(None).leave(),
        "review",
        "unknown arrival: no same_key"
    );
    assert_eq!(
        sent_before(Some(at(-86_400))).leave(),
        "review",
        "the window may be over"
    );
    // A destination with a lookup may have got a newer epoch that the copy does not know of.
    let mut with_lookup = sent_before(Some(at(0)));
    with_lookup.intent.promises.lookup = lookable(Consequence::Costly).lookup;
    with_lookup.current = with_lookup.intent.promises.clone();
    assert_eq!(with_lookup.next().step, Step::LookUp);
}

#[test]
fn r18_a_lookup_by_key_is_no_proof_after_a_restore() {
    let mut promises = lookable(Consequence::Costly);
    promises.lookup = promises.lookup.map(|mut l| {
        l.by = LookupBy::Key;
        l
    });
    let mut story = Story::new(promises);
    story.send();
    story.at(3).lose(1);
    let ask = |story: &mut Story| {
        let asked_at = story.at(COUNTS).now;
        story.record(Fact::LookedUp(factum_core::evidence::Lookup {
            asked_at,
            by: LookupBy::Key,
            epoch: Epoch(0),
            answer: LookupAnswer::Absent,
        }));
    };
    let mut without = story.clone();
    ask(&mut without);
    assert_eq!(without.state(), State::RetryableFailure);
    restored(&mut story, Some(at(0)));
    ask(&mut story);
    assert_eq!(story.state(), State::OutcomeUnknown);
}

#[test]
fn r18_a_persons_word_after_a_restore_is_not_safe_to_call_again() {
    let mut story = Story::new(bare(Consequence::Costly));
    restored(&mut story, None);
    story.restore_released = true;
    story.settle_due();
    story.at(4).rule(Ruling::DidNotHappen);
    assert_eq!(
        story.state(),
        State::OutcomeUnknown,
        "what was lost could still land"
    );
    let next = story.next();
    assert_eq!(next.step, Step::Wait);
    story.now = next.at;
    story.settle_due();
    let status = story.status();
    assert_eq!(status.state, State::TerminalFailure);
    assert!(!status.safe_to_call_again);
}

#[test]
fn crash_points_come_back_as_the_design_says() {
    // C2, C3: nothing was marked. B152, B155: it is simply free again.
    let mut unmarked = Story::new(bare(Consequence::Costly));
    assert_eq!(unmarked.at(9_999).leave(), "first");
    // C4, C5: a mark without a word of it, also at the restart of its own process.
    let mut marked = Story::new(bare(Consequence::Costly));
    marked.send();
    marked.at(2).record(Fact::ProcessGone {
        worker: WorkerNonce(1),
        at: at(2),
    });
    assert_eq!(marked.state(), State::OutcomeUnknown);
    assert_ne!(marked.leave(), "first");
    // C6: the answer was read and not stored; its late record settles after all.
    let mut unstored = Story::new(keyed(Consequence::Costly));
    unstored.send();
    unstored.at(LEASE).settle_due();
    assert_eq!(unstored.state(), State::OutcomeUnknown);
    unstored.send();
    unstored
        .at(LEASE + 2)
        .answer_with(1, AnswerClass::Done, Some("T-1"));
    assert_eq!(
        unstored.state(),
        State::Succeeded,
        "a superseded attempt's reply is evidence"
    );
}
