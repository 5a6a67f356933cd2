//! R7, R17, R20, R21 and R30: what answers, refusals, callbacks and corrections say, and for what.

use factum_core::evidence::{
    AnswerClass, Callback, Fact, LookupAnswer, PollAnswer, Receipt, ReviewWhy,
};
use factum_core::promise::{CompletionPromise, Consequence};
use factum_core::{AttemptNo, Span, State, Step};

use crate::kit::{Story, bare, found, keyed, lookable, rejected};

#[test]
fn r7_a_refusal_speaks_for_its_own_attempt() {
    let mut story = Story::new(keyed(Consequence::Costly));
    story.send();
    story.at(3).lose(1);
    story.send();
    let mut stored = story.clone();
    story.at(5).answer(2, rejected(false));
    assert_eq!(
        story.state(),
        State::OutcomeUnknown,
        "attempt 1 may still land"
    );
    stored.at(5).answer(2, rejected(true));
    let status = stored.status();
    assert_eq!(status.state, State::TerminalFailure);
    assert!(status.safe_to_call_again);
    assert_eq!(status.because.as_deref(), Some("subject missing"));
}

#[test]
fn r7_where_the_path_may_repeat_an_unkeyed_refusal_is_unknown() {
    // B46, B50: a proxy delivered it twice; the second delivery was refused because the first was carried out.
    let mut promises = bare(Consequence::Costly);
    promises.path_is_direct = false;
    for class in [rejected(false), AnswerClass::Busy] {
        let mut story = Story::new(promises.clone());
        story.send();
        story.at(3).answer(1, class.clone());
        assert_eq!(story.state(), State::OutcomeUnknown, "{}", class.name());
        let mut direct = Story::new(bare(Consequence::Costly));
        direct.send();
        direct.at(3).answer(1, class);
        assert_ne!(direct.state(), State::OutcomeUnknown);
    }
}

#[test]
fn r7_safe_to_call_again_needs_the_three_proofs() {
    let mut own_refusal = Story::new(bare(Consequence::Costly));
    own_refusal.send();
    own_refusal.at(3).answer(1, rejected(false));
    let status = own_refusal.status();
    assert_eq!(
        (status.state, status.safe_to_call_again),
        (State::TerminalFailure, false)
    );

    let mut our_side = Story::new(bare(Consequence::Costly));
    our_side.send();
    our_side.at(3).not_sent(1);
    assert!(
        !our_side.status().safe_to_call_again,
        "not while another attempt is due"
    );
    our_side.withdraw();
    let status = our_side.status();
    assert_eq!(
        (status.state, status.safe_to_call_again),
        (State::Cancelled, true)
    );

    let mut by_lookup = Story::new(lookable(Consequence::Costly));
    by_lookup.send();
    by_lookup.at(3).lose(1);
    by_lookup.withdraw();
    by_lookup.at(100).look(LookupAnswer::Absent);
    let status = by_lookup.status();
    assert_eq!(
        (status.state, status.safe_to_call_again),
        (State::Cancelled, true)
    );
}

#[test]
fn r7_a_busy_answer_is_tried_again_after_the_advised_time() {
    let mut story = Story::new(bare(Consequence::Costly));
    story.send();
    let id = story.at(3).answer(1, AnswerClass::Busy);
    if let Some(Fact::Answered(answer)) = story
        .log
        .iter_mut()
        .find(|record| record.id == id)
        .map(|record| &mut record.fact)
    {
        answer.retry_after = Some(Span::from_secs(60));
    }
    assert_eq!(story.state(), State::RetryableFailure);
    assert_eq!(story.leave(), "send later");
    assert_eq!(story.at(63).leave(), "proven_not_sent");
}

#[test]
fn r17_a_corrected_contract_only_ever_weakens_an_answer() {
    let mut story = Story::new(keyed(Consequence::Costly));
    story.send();
    let answered = story.at(3).answer_with(1, AnswerClass::Done, Some("T-1"));
    let reread = |class| Fact::Reread {
        supersedes: answered,
        class,
        why: "the matcher took every 200 for done".to_owned(),
    };
    let mut weaker = story.clone();
    weaker.record(reread(AnswerClass::Unknown));
    let status = weaker.status();
    assert_eq!(
        (status.state, status.revised),
        (State::OutcomeUnknown, true)
    );
    // A later, wrong correction does not bring it back.
    weaker.record(reread(AnswerClass::Done));
    assert_eq!(weaker.state(), State::OutcomeUnknown);
    // "Done" read again as "refused" is two readings of one answer: neither counts.
    story.record(reread(rejected(true)));
    assert_eq!(story.state(), State::OutcomeUnknown);

    let mut unknown = Story::new(keyed(Consequence::Costly));
    unknown.send();
    let answered = unknown.at(3).answer(1, AnswerClass::Unknown);
    unknown.record(Fact::Reread {
        supersedes: answered,
        class: AnswerClass::Done,
        why: "wishful".to_owned(),
    });
    assert_eq!(unknown.state(), State::OutcomeUnknown, "never stronger");
}

#[test]
fn r20_receipts_are_compared_by_the_canonical_member_and_aliases_are_one_effect() {
    let mut story = Story::new(lookable(Consequence::Costly));
    story.send();
    story.at(3).answer_with(1, AnswerClass::Done, Some("T-1"));
    story.at(4).look(LookupAnswer::Found(vec![Receipt {
        reference: "https://desk/T-1".to_owned(),
        aliases: vec!["T-1".to_owned()],
    }]));
    assert!(!story.status().duplicate_suspected());
    // B97: two different ones are shown, both, to a person; nothing is deleted.
    story.at(5).look(found("T-2"));
    let status = story.status();
    assert_eq!(status.state, State::Succeeded);
    assert_eq!(status.duplicates.len(), 2);
    assert_eq!(
        story.next().step,
        Step::Review(ReviewWhy::DuplicateSuspected)
    );
}

#[test]
fn r21_a_negative_callback_speaks_for_the_object_it_names() {
    let mut promises = keyed(Consequence::Costly);
    promises.completion = Some(CompletionPromise {
        poll: false,
        callback: true,
    });
    let mut story = Story::new(promises);
    story.send();
    let object = Some("job-1".to_owned());
    story.at(3).answer(1, AnswerClass::Accepted { object });
    let failed = |object: &str| {
        Fact::CalledBack(Callback::Negative {
            object: object.to_owned(),
            why: "card expired".to_owned(),
        })
    };
    story.record(failed("job-9"));
    assert_eq!(story.state(), State::Accepted);
    let mut done = story.clone();
    done.record(Fact::CalledBack(Callback::Positive(Receipt::new("T-1"))));
    assert_eq!(done.state(), State::Succeeded, "positive: for the action");
    // B20: accepted, then failed there, with their reason.
    story.record(failed("job-1"));
    let status = story.status();
    assert_eq!(status.state, State::TerminalFailure);
    assert_eq!(status.because.as_deref(), Some("card expired"));
}

#[test]
fn r21_a_reversal_is_a_mark_and_not_a_state() {
    let mut story = Story::new(keyed(Consequence::Costly));
    story.send();
    story.at(3).answer_with(1, AnswerClass::Done, Some("T-1"));
    story.record(Fact::CalledBack(Callback::Reversed {
        why: "returned".to_owned(),
    }));
    let status = story.status();
    assert_eq!((status.state, status.reversed), (State::Succeeded, true));
}

#[test]
fn r21_a_callback_that_never_comes_ends_in_a_question_or_a_person() {
    let mut promises = lookable(Consequence::Costly);
    promises.completion = Some(CompletionPromise {
        poll: false,
        callback: true,
    });
    let mut story = Story::new(promises.clone());
    story.send();
    story
        .at(3)
        .answer(1, AnswerClass::Accepted { object: None });
    let next = story.next();
    assert_eq!(next.step, Step::Wait);
    story.now = next.at;
    assert_eq!(story.next().step, Step::LookUp, "R10: every bound ends");
    promises.lookup = None;
    story.intent.promises = promises.clone();
    story.current = promises;
    assert_eq!(
        story.next().step,
        Step::Review(ReviewWhy::CompletionUnknown)
    );
}

#[test]
fn queued_work_is_polled_and_then_handed_to_a_person() {
    let mut promises = keyed(Consequence::Costly);
    promises.completion = Some(CompletionPromise {
        poll: true,
        callback: false,
    });
    let mut story = Story::new(promises);
    story.send();
    story
        .at(3)
        .answer(1, AnswerClass::Accepted { object: None });
    for n in 0..story.intent.limits.polls_max {
        assert_eq!(
            story.next().step,
            Step::Poll {
                attempt: AttemptNo(1)
            }
        );
        let asked_at = story.at(10 + i64::from(n)).now;
        story.record(Fact::Polled {
            attempt: AttemptNo(1),
            asked_at,
            answer: PollAnswer::Working,
        });
        assert_eq!(story.state(), State::Accepted);
    }
    assert_eq!(
        story.next().step,
        Step::Review(ReviewWhy::CompletionUnknown)
    );
}

#[test]
fn r30_a_decline_is_a_failure_in_the_contracts_meaning() {
    let mut story = Story::new(keyed(Consequence::Costly));
    story.send();
    let declined = AnswerClass::Declined {
        stored: true,
        why: "insufficient funds".to_owned(),
    };
    story.at(3).answer(1, declined);
    let status = story.status();
    assert_eq!(status.state, State::TerminalFailure);
    assert_eq!(status.because.as_deref(), Some("insufficient funds"));
}

#[test]
fn r7_where_the_path_may_repeat_an_answer_does_not_end_an_unkeyed_request() {
    // The first delivery was refused and its refusal read; the second is still on its way.
    let mut promises = lookable(Consequence::Costly);
    promises.path_is_direct = false;
    let mut story = Story::new(promises);
    story.send();
    story.at(3).answer(1, rejected(false));
    // Linger, work, skew and the lookup's lag after the answer was read.
    let counts = 3 + 5 + 10 + 2 + 20;
    story.at(counts).look(LookupAnswer::Absent);
    assert_eq!(story.state(), State::OutcomeUnknown, "it may still land");
    story.at(counts + 1).look(LookupAnswer::Absent);
    assert_eq!(story.state(), State::TerminalFailure);
    let mut direct = Story::new(lookable(Consequence::Costly));
    direct.send();
    direct.at(3).answer(1, rejected(false));
    assert_eq!(direct.state(), State::TerminalFailure);
}

/// R7: the failure of one job does not clear a request that a proxy may have delivered twice: another may be queued.
#[test]
fn r7_a_failed_job_speaks_for_every_delivery_only_where_there_is_one() {
    let failed = |path_is_direct| {
        let mut promises = bare(Consequence::Costly);
        promises.completion = Some(CompletionPromise {
            poll: true,
            callback: false,
        });
        promises.path_is_direct = path_is_direct;
        let mut story = Story::new(promises);
        story.send();
        let object = Some("J-1".to_owned());
        story.at(3).answer(1, AnswerClass::Accepted { object });
        let asked_at = story.at(5).now;
        story.record(Fact::Polled {
            attempt: AttemptNo(1),
            asked_at,
            answer: PollAnswer::Failed { why: String::new() },
        });
        story.state()
    };
    assert_eq!(failed(true), State::TerminalFailure);
    assert_ne!(failed(false), State::TerminalFailure);
}
