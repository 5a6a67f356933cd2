//! R10: whenever nothing has happened and sending is barred, it ends; and no effect request goes out after an end.

use factum_core::evidence::{Fact, LookupAnswer, ReviewWhy};
use factum_core::promise::{Consequence, Promises};
use factum_core::{State, Step, Timestamp};

use crate::kit::{LEASE, Story, at, bare, cancelable, keyed, lookable};

fn with_deadline(promises: Promises, secs: i64) -> Story {
    let mut story = Story::new(promises);
    story.intent.deadline = Some(at(secs));
    story
}

fn authority_lost() -> Fact {
    Fact::AuthorityLost {
        why: "the grant ran out".to_owned(),
    }
}

#[test]
fn r10_what_was_never_sent_ends_at_once() {
    let mut withdrawn = Story::new(bare(Consequence::Costly));
    withdrawn.withdraw();
    assert_eq!(withdrawn.state(), State::Cancelled);
    assert!(withdrawn.status().safe_to_call_again);
    let mut late = with_deadline(bare(Consequence::Costly), 60);
    late.at(60).settle_due();
    assert_eq!(late.state(), State::Expired);
    let mut revoked = Story::new(bare(Consequence::Costly));
    revoked.record(authority_lost());
    let status = revoked.status();
    assert_eq!(status.state, State::Cancelled);
    assert_eq!(status.because.as_deref(), Some("the grant ran out"));
    let mut approval = Story::new(bare(Consequence::Costly));
    approval.intent.approved_until = Some(at(60));
    approval.at(60).settle_due();
    assert_eq!(approval.state(), State::Expired);
}

#[test]
fn r10_no_send_after_the_deadline_even_before_its_record() {
    // A worker that asks for leave without having recorded the deadline does not get it.
    let mut first = with_deadline(bare(Consequence::Costly), 60);
    assert_eq!(first.at(60).leave(), "wait");
    let mut repeat = with_deadline(keyed(Consequence::Costly), 60);
    repeat.send();
    repeat.at(3).lose(1);
    assert_eq!(repeat.at(59).leave(), "same_key");
    assert_eq!(repeat.at(60).leave(), "review", "same_key included");
}

#[test]
fn r10_no_permission_reaches_beyond_the_deadline() {
    let until = |story: &mut Story| story.send().valid_until;
    let mut first = with_deadline(keyed(Consequence::Costly), 60);
    assert_eq!(until(first.at(58)), at(60));
    let mut repeat = with_deadline(keyed(Consequence::Costly), 60);
    repeat.send();
    repeat.at(3).lose(1);
    assert_eq!(until(repeat.at(58)), at(60));
    let mut approval = with_deadline(keyed(Consequence::Costly), 60);
    approval.intent.approved_until = Some(at(50));
    assert_eq!(until(approval.at(48)), at(50));
    let mut cancel = with_deadline(cancelable(Consequence::Costly, true), 60);
    cancel.send();
    cancel.at(3).lose(1);
    cancel.at(58).send_cancel();
    let Some(Fact::CancelMarked(mark)) = cancel.log.last().map(|record| record.fact.clone()) else {
        panic!("no cancel was marked")
    };
    assert_eq!(
        mark.valid_until,
        at(60),
        "a cancel by key is an effect request"
    );
}

#[test]
fn r10_finish_lets_a_started_action_be_finished_by_key() {
    let mut story = with_deadline(keyed(Consequence::Costly), 60);
    story.intent.finish = true;
    story.send();
    story.at(3).lose(1);
    story.at(70).settle_due();
    assert_eq!(story.leave(), "same_key");
    assert!(story.send().valid_until > at(60));
    let mut never_started = with_deadline(keyed(Consequence::Costly), 60);
    never_started.intent.finish = true;
    never_started.at(70).settle_due();
    assert_eq!(never_started.state(), State::Expired);
}

#[test]
fn r10_time_passing_is_not_evidence_that_nothing_happened() {
    // B23: no age turns an unknown into a failure.
    let mut story = with_deadline(bare(Consequence::Costly), 60);
    story.send();
    story.at(LEASE).settle_due();
    for day in [1, 2, 30, 3_650] {
        story.at(day * 86_400).settle_due();
        assert_eq!(story.state(), State::OutcomeUnknown);
        assert!(matches!(story.next().step, Step::Review(_)));
    }
}

#[test]
fn r10_a_withdrawn_unknown_stays_unknown_and_keeps_a_next_step() {
    // B188: cancelled while sending. Sends stop; it is looked up, and is never `cancelled` without proof.
    let mut key_only = Story::new(keyed(Consequence::Costly));
    key_only.send();
    key_only.withdraw();
    assert_eq!(key_only.state(), State::Dispatching);
    key_only.at(LEASE).settle_due();
    assert_eq!(key_only.state(), State::OutcomeUnknown);
    assert_eq!(key_only.next().step, Step::Review(ReviewWhy::SendBarred));

    let mut asks = Story::new(lookable(Consequence::Costly));
    asks.send();
    asks.record(authority_lost());
    asks.at(3).lose(1);
    assert_eq!(
        asks.next().step,
        Step::LookUp,
        "losing authority stops sends, not lookups"
    );
    asks.at(100).look(LookupAnswer::Absent);
    assert_eq!(asks.state(), State::Cancelled);
}

#[test]
fn r10_the_bound_on_attempts_ends_it() {
    let mut story = Story::new(bare(Consequence::Costly));
    for attempt in 1..=story.intent.limits.attempts_max {
        story.send();
        story.not_sent(attempt);
    }
    assert_eq!(
        story.leave(),
        "wait",
        "no leave beyond the bound, even before its record"
    );
    story.settle_due();
    assert_eq!(story.state(), State::TerminalFailure);
    assert!(story.status().safe_to_call_again);

    let mut by_key = Story::new(keyed(Consequence::Costly));
    for attempt in 1..=by_key.intent.limits.attempts_max {
        by_key.send();
        by_key.lose(attempt);
    }
    assert_eq!(by_key.next().step, Step::Review(ReviewWhy::BoundReached));
}

#[test]
fn r10_lookups_that_keep_failing_end_in_review() {
    let mut story = Story::new(lookable(Consequence::Costly));
    story.send();
    story.at(3).lose(1);
    for _ in 0..story.intent.limits.lookups_max {
        let next = story.next();
        assert_eq!(next.step, Step::LookUp);
        story.now = story.now.max(next.at);
        story.look(LookupAnswer::Inconclusive {
            why: "500".to_owned(),
        });
    }
    assert_eq!(story.next().step, Step::Review(ReviewWhy::BoundReached));
    assert_eq!(story.next().at, Timestamp::NEVER);
}

#[test]
fn nothing_is_sent_before_its_time() {
    // B158: the schedule lives in the record.
    let mut story = Story::new(bare(Consequence::Costly));
    story.intent.not_before = Some(at(86_400));
    assert_eq!((story.leave(), story.next().at), ("send later", at(86_400)));
    assert_eq!(story.at(86_400).leave(), "first");
}
