//! R5 and R20 as far as they concern a cancel by key: what it holds back, when it is proof, what it outranks.

use factum_core::evidence::{AnswerClass, Callback, CancelAnswer, Fact, Receipt};
use factum_core::promise::{Consequence, ProcessingMax};
use factum_core::{Epoch, State, Step};

use crate::kit::{LANDS_AFTER, LEASE, Story, at, cancelable, found, secs};

fn lost_and_to_be_cancelled(refuses_later_arrivals: bool) -> Story {
    let mut story = Story::new(cancelable(Consequence::Costly, refuses_later_arrivals));
    story.send();
    story.at(3).lose(1);
    story
}

const CONFIRMED: CancelAnswer = CancelAnswer::Confirmed { object: None };

#[test]
fn r5_a_confirmed_cancel_outranks_every_receipt_of_its_epoch() {
    let mut story = lost_and_to_be_cancelled(true);
    let no = story.send_cancel();
    story.at(5).cancel_answer(no, CONFIRMED);
    // The reply that was written before the cancel arrives after it: what it reports was withdrawn since.
    story.at(6).answer_with(1, AnswerClass::Done, Some("T-1"));
    assert_eq!(story.state(), State::RetryableFailure);

    // The same where the confirmation is no proof of absence: not done either, but unknown.
    let mut weak = lost_and_to_be_cancelled(true);
    weak.intent.promises.cancel = cancelable(Consequence::Costly, false).cancel;
    weak.current = weak.intent.promises.clone();
    let mut strong = lost_and_to_be_cancelled(true);
    let no = strong.send_cancel();
    weak.log = strong.log;
    weak.at(5).cancel_answer(no, CONFIRMED);
    weak.at(6).answer_with(1, AnswerClass::Done, Some("T-1"));
    assert_eq!(weak.state(), State::OutcomeUnknown);
}

#[test]
fn r5_receipts_of_a_marked_cancel_do_not_settle_until_it_is_answered() {
    let mut story = lost_and_to_be_cancelled(true);
    let first = story.send_cancel();
    story.at(5).answer_with(1, AnswerClass::Done, Some("T-1"));
    assert_eq!(
        story.state(),
        State::OutcomeUnknown,
        "the cancel is in flight"
    );
    // Its answer is lost: it is asked again, and until then the receipt still does not settle.
    let unknown = CancelAnswer::Unknown {
        why: "reset".to_owned(),
    };
    story.at(6).cancel_answer(first, unknown);
    assert_eq!(story.state(), State::OutcomeUnknown);
    assert_eq!(story.next().step, Step::CancelByKey { epoch: Epoch(0) });
    // The second answer speaks for the first question too.
    let second = story.at(7).send_cancel();
    let too_late = CancelAnswer::TooLate {
        receipt: Some(Receipt::new("T-1")),
    };
    story.at(8).cancel_answer(second, too_late);
    assert_eq!(story.state(), State::Succeeded);
}

#[test]
fn r5_no_send_uses_a_cancelled_epoch_again() {
    let mut story = lost_and_to_be_cancelled(true);
    let no = story.send_cancel();
    story.at(5).cancel_answer(no, CONFIRMED);
    assert_eq!(story.leave(), "proven_absent");
    assert_eq!(story.send().epoch, Epoch(1), "the old key stays cancelled");
    // A stale receipt of the first epoch is not taken for the second attempt's effect; only a lookup asked since is.
    story.at(9).lose(2);
    story.record(Fact::CalledBack(Callback::Positive(Receipt::new("T-1"))));
    assert_eq!(story.state(), State::OutcomeUnknown);
    story.at(10).look(found("T-2"));
    assert_eq!(story.state(), State::Succeeded);
}

#[test]
fn r5_a_callback_counts_where_it_is_not_what_was_withdrawn() {
    let mut story = lost_and_to_be_cancelled(true);
    let no = story.send_cancel();
    let object = Some("T-1".to_owned());
    story
        .at(5)
        .cancel_answer(no, CancelAnswer::Confirmed { object });
    story.send();
    story.at(9).lose(2);
    let mut stale = story.clone();
    stale.record(Fact::CalledBack(Callback::Positive(Receipt::new("T-1"))));
    assert_eq!(stale.state(), State::OutcomeUnknown);
    story.record(Fact::CalledBack(Callback::Positive(Receipt::new("T-2"))));
    assert_eq!(story.state(), State::Succeeded);
}

#[test]
fn r5_a_cancel_waits_until_its_confirmation_is_proof() {
    // "Nothing there, ok" while the request is still on its way would spend the epoch's only cancel and prove nothing.
    let story = lost_and_to_be_cancelled(false);
    let next = story.next();
    assert_eq!(next.step, Step::CancelByKey { epoch: Epoch(0) });
    let over = at(3 + 5 + 10 + 2);
    assert!(next.at > over, "closed at 3 s, so it lands within 20 s");
    let mut late = story;
    let no = late.at(LANDS_AFTER).send_cancel();
    late.cancel_answer(no, CONFIRMED);
    assert_eq!(late.leave(), "proven_absent");
}

#[test]
fn r5_a_cancel_that_could_never_be_proof_is_not_sent() {
    // The key is forgotten before the request can no longer land, or nothing bounds the destination's work.
    let mut forgets = lost_and_to_be_cancelled(false);
    forgets.at(86_400);
    assert!(matches!(forgets.next().step, Step::Review(_)));
    let mut unbounded = lost_and_to_be_cancelled(false);
    unbounded.intent.promises.processing_max = ProcessingMax::Unpublished;
    unbounded.current = unbounded.intent.promises.clone();
    assert!(matches!(unbounded.next().step, Step::Review(_)));
}

#[test]
fn r5_a_cancel_after_the_window_is_no_proof() {
    // Asked again late, "nothing there, ok" only says that the key was forgotten.
    let mut story = lost_and_to_be_cancelled(false);
    let first = story.at(LANDS_AFTER).send_cancel();
    let unknown = CancelAnswer::Unknown {
        why: "reset".to_owned(),
    };
    story.at(LANDS_AFTER + 1).cancel_answer(first, unknown);
    let second = story.at(86_400).send_cancel();
    story.cancel_answer(second, CONFIRMED);
    assert_eq!(story.state(), State::OutcomeUnknown);
    // Named, the object that was withdrawn is proof at any time.
    let named = CancelAnswer::Confirmed {
        object: Some("T-1".to_owned()),
    };
    story.cancel_answer(second, named);
    assert_eq!(story.state(), State::RetryableFailure);
}

#[test]
fn r5_an_unanswered_cancel_is_fenced_and_bounded_like_an_attempt() {
    let mut story = lost_and_to_be_cancelled(true);
    story.send_cancel();
    assert_eq!(
        story.next().step,
        Step::Wait,
        "in flight: nobody else writes"
    );
    story.at(3 + LEASE).settle_due();
    for _ in 1..story.intent.limits.cancels_max {
        assert_eq!(story.leave(), "cancel");
        story.send_cancel();
        story.now = story.now + secs(LEASE);
        story.settle_due();
    }
    assert!(
        matches!(story.next().step, Step::Review(_)),
        "R10: every bound ends in review"
    );
}

#[test]
fn r5_a_cancel_is_asked_again_only_while_it_is_promised() {
    let mut story = lost_and_to_be_cancelled(true);
    let no = story.send_cancel();
    let unknown = CancelAnswer::Unknown {
        why: "reset".to_owned(),
    };
    story.at(5).cancel_answer(no, unknown);
    assert_eq!(story.leave(), "cancel");
    // The contract was corrected since: the stricter of the two counts.
    let mut corrected = story.clone();
    corrected.current.cancel = None;
    assert_eq!(corrected.leave(), "review");
    // R18: after a restore a cancel by key proves nothing.
    let at = story.now;
    story.record(Fact::StoreRestored {
        copy_until: at,
        at,
        first_arrival: None,
    });
    assert_eq!(story.leave(), "review");
}

#[test]
fn r5_a_cancel_that_never_left_cancels_nothing() {
    let mut story = lost_and_to_be_cancelled(true);
    let no = story.send_cancel();
    let never_left = CancelAnswer::NotSent {
        why: "refused".to_owned(),
    };
    story.at(5).cancel_answer(no, never_left);
    assert_eq!(
        story.leave(),
        "cancel",
        "a connection refused is no reason for a person"
    );
    let mut receipt = story.clone();
    receipt.at(6).answer_with(1, AnswerClass::Done, Some("T-1"));
    assert_eq!(receipt.state(), State::Succeeded);
}

#[test]
fn r5_a_persons_word_does_not_settle_while_a_cancel_may_still_land() {
    let mut story = lost_and_to_be_cancelled(true);
    let no = story.send_cancel();
    let lost = CancelAnswer::Unknown {
        why: "reset".to_owned(),
    };
    story.at(5).cancel_answer(no, lost);
    story
        .at(6)
        .rule(factum_core::evidence::Ruling::Happened { receipt: None });
    assert_eq!(
        story.state(),
        State::OutcomeUnknown,
        "the effect may just be withdrawn"
    );
    assert_eq!(story.next().step, Step::CancelByKey { epoch: Epoch(0) });
    let again = story.at(8).send_cancel();
    let too_late = CancelAnswer::TooLate { receipt: None };
    story.at(9).cancel_answer(again, too_late);
    assert_eq!(story.state(), State::Succeeded, "it stands after all");
}

#[test]
fn r5_what_a_person_saw_before_a_withdrawal_was_over_may_be_what_it_withdrew() {
    use factum_core::evidence::Ruling;
    let mut story = lost_and_to_be_cancelled(true);
    story.intent.limits.cancels_max = 1;
    let no = story.send_cancel();
    story.at(LANDS_AFTER + 60).settle_due();
    story.rule(Ruling::SendAgain);
    story.send();
    story.at(LANDS_AFTER + 62).lose(2);
    story.rule(Ruling::Happened { receipt: None });
    story.at(LANDS_AFTER + 63).cancel_answer(no, CONFIRMED);
    assert_eq!(
        story.state(),
        State::OutcomeUnknown,
        "attempt 1 is withdrawn, and nobody knows of attempt 2"
    );
    story
        .at(LANDS_AFTER + 70)
        .rule(Ruling::Happened { receipt: None });
    assert_eq!(story.state(), State::Succeeded, "they looked again");
}

#[test]
fn r11_r13_no_cancel_whose_nothing_there_would_prove_nothing() {
    // By a clock in doubt it cannot be told whether the key is still known there.
    let mut story = lost_and_to_be_cancelled(false);
    story.at(3 + LANDS_AFTER);
    assert_eq!(story.next().step, Step::CancelByKey { epoch: Epoch(0) });
    story.clock_in_doubt = true;
    assert_eq!(story.next().step.name(), "review");
    let mut refusing = lost_and_to_be_cancelled(true);
    refusing.clock_in_doubt = true;
    assert_eq!(
        refusing.at(4).next().step,
        Step::CancelByKey { epoch: Epoch(0) },
        "it refuses later arrivals, whatever the time is"
    );
    // In another account nothing of ours exists that could be withdrawn.
    refusing.account_in_doubt = true;
    assert_eq!(refusing.next().step.name(), "review");
    // And what was asked before and not answered is not asked again there.
    let mut asked = lost_and_to_be_cancelled(true);
    let no = asked.send_cancel();
    let lost = CancelAnswer::Unknown {
        why: "reset".to_owned(),
    };
    asked.at(5).cancel_answer(no, lost);
    assert_eq!(asked.next().step, Step::CancelByKey { epoch: Epoch(0) });
    asked.account_in_doubt = true;
    assert_eq!(asked.next().step.name(), "review");
}
