//! R1, R9, R11 and R12: when a request is over, in which order evidence may come, whose clock counts, and who may write.

use factum_core::evidence::{AnswerClass, Evidence, Fact, Loss, Mark, Phase, RequestRef};
use factum_core::promise::{Consequence, ProcessingMax};
use factum_core::{AttemptNo, Known, State, Step, WorkerNonce, permit};

use crate::kit::{LANDS_AFTER, LEASE, Story, at, bare, keyed, lookable, secs};
use factum_core::evidence::LookupAnswer;

const LAG: i64 = 20;

#[test]
fn r1_absence_counts_from_lands_by_and_not_from_the_end_of_the_connection() {
    let mut story = Story::new(lookable(Consequence::Costly));
    story.send();
    story.at(LEASE).settle_due();
    // The margin is waited out: nobody saw the attempt's socket close.
    for (asked, state) in [
        (LANDS_AFTER, State::OutcomeUnknown),
        (LANDS_AFTER + LAG, State::OutcomeUnknown),
        (LANDS_AFTER + LAG + 1, State::RetryableFailure),
    ] {
        let mut asked_then = story.clone();
        asked_then.at(asked).look(LookupAnswer::Absent);
        assert_eq!(asked_then.state(), state, "asked at {asked} s");
    }
}

#[test]
fn r1_only_the_attempts_own_worker_shortens_the_bound() {
    // Closed at 3 s by its own worker: linger, processing and skew remain.
    let mut story = Story::new(lookable(Consequence::Costly));
    story.send();
    story.at(3).lose(1);
    let over = 3 + 5 + 10 + 2;
    for (asked, state) in [
        (4, State::OutcomeUnknown),
        (over + LAG, State::OutcomeUnknown),
        (over + LAG + 1, State::RetryableFailure),
    ] {
        let mut asked_then = story.clone();
        asked_then.at(asked).look(LookupAnswer::Absent);
        assert_eq!(asked_then.state(), state, "asked at {asked} s");
    }
    // A loss that somebody else reports, without a close, shortens nothing.
    let mut reported = Story::new(lookable(Consequence::Costly));
    reported.send();
    reported.record(Fact::Lost(Loss {
        attempt: AttemptNo(1),
        phase: Phase::Write,
        wrote: 10,
        read: 0,
        closed_at: None,
        detail: "no word".to_owned(),
    }));
    reported.at(over + LAG + 1).look(LookupAnswer::Absent);
    assert_eq!(reported.state(), State::OutcomeUnknown);
    // Its process known to be dead is as good as a close.
    let mut dead = Story::new(lookable(Consequence::Costly));
    dead.send();
    dead.at(3).record(Fact::ProcessGone {
        worker: WorkerNonce(1),
        at: at(3),
    });
    dead.at(over + LAG + 1).look(LookupAnswer::Absent);
    assert_eq!(dead.state(), State::RetryableFailure);
}

#[test]
fn r1_without_a_processing_time_nothing_is_ever_over() {
    let mut promises = lookable(Consequence::Costly);
    promises.processing_max = ProcessingMax::Unpublished;
    let mut story = Story::new(promises);
    story.send();
    story.at(3).lose(1);
    story.at(30 * 86_400).look(LookupAnswer::Absent);
    assert_eq!(story.state(), State::OutcomeUnknown);
}

#[test]
fn r1_a_gateways_answer_that_cannot_be_read_does_not_end_the_request() {
    let mut story = Story::new(lookable(Consequence::Costly));
    story.send();
    story.at(4).answer(1, AnswerClass::Unknown);
    story.at(5 + LAG).look(LookupAnswer::Absent);
    assert_eq!(
        story.state(),
        State::OutcomeUnknown,
        "a 504: they may still be working"
    );
}

#[test]
fn r1_a_permission_never_outlives_its_lease_or_its_send_wait() {
    let mut story = Story::new(keyed(Consequence::Costly));
    let mark = story.send();
    assert_eq!(mark.valid_until, at(5));
    assert!(mark.valid_until <= mark.lease_until);
    assert_eq!(mark.lease_until, at(LEASE));
    // Law 7: the check right before the first byte.
    let story = Story::new(keyed(Consequence::Costly));
    let leave = permit(&story.intent, &story.known(), &story.conditions()).unwrap();
    let permission = leave.mark(WorkerNonce(1)).1.durable();
    assert!(permission.check(at(4)).is_ok());
    assert_eq!(permission.check(at(5)).unwrap_err().late, secs(0));
    assert_eq!(permission.check(at(9)).unwrap_err().late, secs(4));
}

#[test]
fn r1_a_lease_over_a_mark_is_maybe_sent_and_never_pending() {
    // B149, B151: also without any loss being reported.
    let mut story = Story::new(bare(Consequence::Costly));
    story.send();
    assert_eq!(story.state(), State::Dispatching);
    story.at(LEASE).settle_due();
    assert_eq!(story.state(), State::OutcomeUnknown);
    assert!(matches!(story.next().step, Step::Review(_)));
    assert_eq!(story.leave(), "review");
}

#[test]
fn r9_the_fold_uses_what_records_name_and_never_their_position() {
    let mut story = Story::new(lookable(Consequence::Costly));
    story.send();
    story.at(3).lose(1);
    story.at(LANDS_AFTER + LAG + 1).look(LookupAnswer::Absent);
    story.send();
    story.at(200).answer_with(2, AnswerClass::Done, Some("T-1"));
    let forward = Known::fold(&story.log);
    let backward = Known::fold(story.log.iter().rev());
    assert_eq!(forward, backward);
    assert_eq!(backward.status(&story.intent).state, State::Succeeded);
}

#[test]
fn r9_two_marks_of_one_number_fold_the_same_in_any_order() {
    // The fence never lets this happen; what a damaged log holds must still not depend on the order of reading.
    let mut story = Story::new(keyed(Consequence::Costly));
    let mark = story.send();
    story.record(Fact::Marked(Mark {
        worker: WorkerNonce(2),
        at: at(2),
        valid_until: at(7),
        ..mark
    }));
    let backward: Vec<&Evidence> = story.log.iter().rev().collect();
    assert_eq!(Known::fold(&story.log), Known::fold(backward));
}

#[test]
fn r11_a_clock_in_doubt_gives_no_same_key() {
    let mut story = Story::new(keyed(Consequence::Costly));
    story.send();
    story.at(3).lose(1);
    assert_eq!(story.leave(), "same_key");
    story.clock_in_doubt = true;
    assert_eq!(story.leave(), "review");
    let mut promises = lookable(Consequence::Costly);
    promises.key = keyed(Consequence::Costly).key;
    let mut asks = Story::new(promises);
    asks.send();
    asks.at(3).lose(1);
    asks.clock_in_doubt = true;
    assert_eq!(asks.next().step, Step::LookUp);
}

#[test]
fn r11_an_answer_dated_before_its_mark_does_not_end_the_attempt_earlier() {
    // The worker's clock lags: it dates the queued answer before the mark. An absence from before the mark proves nothing.
    let mut story = Story::new(lookable(Consequence::Costly));
    story.at(60).look(LookupAnswer::Absent);
    story.send();
    story.now = at(30);
    story.answer(1, AnswerClass::InProgress);
    story.now = at(62);
    assert_eq!(story.state(), State::OutcomeUnknown);
}

#[test]
fn r12_a_permission_names_the_process_that_may_write() {
    let story = Story::new(keyed(Consequence::Costly));
    let leave = permit(&story.intent, &story.known(), &story.conditions()).unwrap();
    let (fact, marked) = leave.mark(WorkerNonce(9));
    let Fact::Marked(mark) = fact.clone() else {
        panic!("{fact:?}")
    };
    let permission = marked.durable();
    assert_eq!(
        (mark.worker, permission.worker()),
        (WorkerNonce(9), WorkerNonce(9))
    );
    assert_eq!(permission.request(), RequestRef::Attempt(AttemptNo(1)));
    // Any other reader of the mark sees "maybe sent", not a permission.
    let mut reader = story;
    reader.record(fact);
    assert_eq!(reader.leave(), "wait");
    reader.at(LEASE).settle_due();
    assert_eq!(
        reader.leave(),
        "same_key",
        "only as a repeat by its own right"
    );
}
