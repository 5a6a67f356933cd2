//! R4, R14 and R19: when a repeat by key, or because it is harmless, is allowed.

use factum_core::evidence::{AnswerClass, LookupAnswer, ReviewWhy};
use factum_core::permission::{first_mark_may_join, may_reuse_connection};
use factum_core::promise::{Consequence, ProcessingMax, Promises, Retention};
use factum_core::{Epoch, Span, State, Step};

use crate::kit::{LANDS_AFTER, LEASE, Story, at, bare, key, keyed, lookable, secs};

fn lost(promises: Promises) -> Story {
    let mut story = Story::new(promises);
    story.send();
    story.at(3).lose(1);
    story
}

#[test]
fn r4_a_repeat_beside_the_first_needs_a_stated_behaviour() {
    let mut silent = keyed(Consequence::Costly);
    if let Some(key) = &mut silent.key {
        key.concurrent_repeat_stated = false;
    }
    assert_eq!(lost(keyed(Consequence::Costly)).leave(), "same_key");
    let mut story = lost(silent.clone());
    assert_eq!(story.leave(), "send later");
    let over = 3 + 5 + 10 + 2;
    assert_eq!(
        story.at(over).leave(),
        "send later",
        "past lands_by, and not at it"
    );
    story.at(over + 1);
    assert_eq!(
        story.leave(),
        "same_key",
        "every earlier attempt can no longer land"
    );
    // Where nothing bounds the destination's work, that moment never comes.
    silent.processing_max = ProcessingMax::Unpublished;
    assert_eq!(lost(silent).at(80_000).leave(), "review");
}

#[test]
fn r4_arrival_and_not_the_start_lies_before_the_floor_less_its_margin() {
    // B79, B80: a window of 300 s; arrival before 270 s, so the first byte before 270 - 10 - 5 - 2.
    let mut promises = bare(Consequence::Costly);
    promises.key = Some(key(secs(300)));
    let story = lost(promises);
    for (now, leave) in [
        (200, "same_key"),
        (252, "same_key"),
        (253, "review"),
        (299, "review"),
        (9_999, "review"),
    ] {
        let mut then = story.clone();
        then.at(now);
        assert_eq!(then.leave(), leave, "at {now} s");
        if leave == "same_key" {
            let mark = then.send();
            assert!(
                mark.valid_until <= at(253),
                "valid until {:?}",
                mark.valid_until
            );
        }
    }
}

#[test]
fn r4_the_window_counts_from_the_first_attempt_of_the_epoch() {
    let mut promises = bare(Consequence::Costly);
    promises.key = Some(key(secs(300)));
    let mut story = lost(promises);
    for now in [100, 200] {
        story.at(now).send();
        story.lose(story.known().attempts_marked());
    }
    story.at(260);
    assert_eq!(
        story.leave(),
        "review",
        "a repeat does not renew the key's life"
    );
}

#[test]
fn r4_a_window_without_a_floor_carries_nothing() {
    for retention in [Retention::Approximate(secs(86_400)), Retention::Unpublished] {
        let mut promises = keyed(Consequence::Costly);
        promises.key = promises.key.map(|mut k| {
            k.retention = retention;
            k
        });
        assert_eq!(lost(promises).leave(), "review");
    }
}

#[test]
fn r4_the_same_key_is_sent_again() {
    // B77: an answer "still in progress" is waited out with the same key, and never a failure.
    let mut story = lost(keyed(Consequence::Irreversible));
    let repeat = story.send();
    assert_eq!(repeat.epoch, Epoch(0));
    story.at(5).answer(2, AnswerClass::InProgress);
    assert_eq!(story.state(), State::OutcomeUnknown);
    assert_eq!(story.leave(), "same_key");
    story.send();
    story.at(9).answer_with(3, AnswerClass::Done, Some("T-1"));
    assert_eq!(story.state(), State::Succeeded);
}

#[test]
fn the_stricter_of_the_pinned_and_the_current_contract_counts() {
    let mut story = lost(keyed(Consequence::Costly));
    story.current.key = Some(key(secs(40)));
    assert_eq!(story.leave(), "review");
    story.current = story.intent.promises.clone();
    story.intent.promises.key = None;
    assert_eq!(story.leave(), "review");
}

#[test]
fn r14_harmless_only_while_no_later_action_on_the_subject_exists() {
    let mut story = lost(bare(Consequence::Harmless));
    assert_eq!(story.leave(), "harmless");
    story.subject_overtaken = true;
    assert_eq!(
        story.leave(),
        "review",
        "a late repeat would undo newer work"
    );
    story.intent.promises.condition_checked = true;
    story.current.condition_checked = true;
    assert_eq!(
        story.leave(),
        "harmless",
        "the destination checks a condition"
    );
    let mut looks = lost(lookable(Consequence::Harmless));
    looks.subject_overtaken = true;
    assert_eq!(looks.next().step, Step::LookUp);
}

#[test]
fn r14_absence_of_what_newer_work_may_have_replaced_is_for_a_person() {
    let mut story = lost(lookable(Consequence::Harmless));
    story.subject_overtaken = true;
    story.at(LANDS_AFTER + 21).look(LookupAnswer::Absent);
    assert_eq!(story.leave(), "review");
    story.subject_overtaken = false;
    assert_eq!(story.leave(), "proven_absent");
    // What sets nothing that is there already stands beside newer work.
    let mut beside = lost(lookable(Consequence::Costly));
    beside.subject_overtaken = true;
    beside.at(LANDS_AFTER + 21).look(LookupAnswer::Absent);
    assert_eq!(beside.leave(), "proven_absent");
}

#[test]
fn r14_an_overtaken_repeat_looks_even_beside_a_cancel_by_key() {
    let mut promises = bare(Consequence::Harmless);
    promises.cancel = crate::kit::cancelable(Consequence::Harmless, true).cancel;
    promises.lookup = Some(crate::kit::lookup(
        factum_core::promise::Authority::Partial,
        20,
    ));
    let mut story = lost(promises);
    story.subject_overtaken = true;
    assert_eq!(story.next().step, Step::LookUp);
}

#[test]
fn r19_a_key_that_replays_a_stored_error_counts_as_absent() {
    // B76: repeating under the key can never succeed, a new key only after proven absence.
    let mut promises = lookable(Consequence::Costly);
    promises.key = key(secs(86_400)).into();
    if let Some(key) = &mut promises.key {
        key.stores_errors = true;
    }
    let mut story = Story::new(promises);
    story.send();
    story.at(3).answer(1, AnswerClass::Unknown);
    assert_eq!(story.next().step, Step::LookUp, "the next column applies");
    story.at(LANDS_AFTER + 21).look(LookupAnswer::Absent);
    let mark = story.send();
    assert_eq!(
        mark.epoch,
        Epoch(1),
        "a new key, after proof that nothing exists under the old one"
    );
    assert_eq!(mark.permission.name(), "proven_absent");
}

#[test]
fn a_key_that_is_bound_to_other_content_is_for_a_person() {
    let mut story = lost(keyed(Consequence::Costly));
    story.send();
    story.at(5).answer(2, AnswerClass::Mismatch);
    assert_eq!(story.next().step, Step::Review(ReviewWhy::KeyMismatch));
}

#[test]
fn connections_are_reused_only_where_a_lost_answer_could_be_asked_for_again() {
    // B31, B34, B35: reuse manufactures unknowns.
    let reuse = |promises: Promises, now: i64| {
        let story = Story::new(promises.clone());
        may_reuse_connection(&story.intent, &story.known(), &promises, at(now))
    };
    assert!(reuse(keyed(Consequence::Irreversible), 0));
    assert!(reuse(bare(Consequence::Harmless), 0));
    assert!(!reuse(lookable(Consequence::Costly), 0));
    let mut short = bare(Consequence::Costly);
    short.key = Some(key(secs(2 * LEASE)));
    assert!(!reuse(short, 0));
}

#[test]
fn the_first_mark_joins_the_submission_only_with_ten_times_the_limit_left() {
    let join =
        |promises: Promises| first_mark_may_join(&Story::new(promises.clone()).intent, &promises);
    assert!(join(keyed(Consequence::Irreversible)));
    assert!(join(lookable(Consequence::Irreversible)));
    assert!(!join(bare(Consequence::Costly)));
    let mut short = bare(Consequence::Costly);
    short.key = Some(key(secs(10 * LEASE)));
    assert!(!join(short), "the margin has to stay free");
    let mut for_ever = keyed(Consequence::Costly);
    for_ever.key = for_ever.key.map(|mut k| {
        k.retention = Retention::Unbounded;
        k
    });
    assert!(join(for_ever));
    assert_eq!(Span::FOREVER, Retention::Unbounded.floor().unwrap());
}
