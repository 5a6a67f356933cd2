//! R13, R27 and the waits of a contract: what an answer, another base address or the destination's own times take away.

use factum_core::evidence::{AnswerClass, Fact, LookupAnswer, Receipt, ReviewWhy, Ruling};
use factum_core::promise::{Authority, Consequence, LookupBy, Missing, Promises};
use factum_core::{AttemptNo, State, Step};

use crate::kit::{LANDS_AFTER, Story, bare, cancelable, key, keyed, lookable, lookup, secs};

fn lost(promises: Promises) -> Story {
    let mut story = Story::new(promises);
    story.send();
    story.at(3).lose(1);
    story
}

fn unsupported(story: &mut Story, attempt: u32, key: bool, mark: bool) {
    story.record(Fact::Unsupported {
        attempt: AttemptNo(attempt),
        missing: Missing { key, mark },
    });
}

#[test]
fn r27_a_key_that_is_not_looked_at_carries_nothing_any_more() {
    let mut story = lost(keyed(Consequence::Costly));
    assert_eq!(story.leave(), "same_key");
    story.send();
    story.at(5).answer(2, AnswerClass::Unknown);
    assert_eq!(story.leave(), "same_key");
    unsupported(&mut story, 2, true, false);
    assert_eq!(story.leave(), "review");
    // Nothing gives it back.
    unsupported(&mut story, 2, false, false);
    assert_eq!(story.leave(), "review");
}

#[test]
fn r27_nor_does_a_cancel_or_a_lookup_by_it() {
    let mut cancels = lost(cancelable(Consequence::Costly, true));
    cancels.at(LANDS_AFTER + 1);
    assert_eq!(cancels.leave(), "cancel");
    unsupported(&mut cancels, 1, true, false);
    assert_eq!(cancels.leave(), "review");

    let mut by_key = bare(Consequence::Costly);
    by_key.lookup = Some(lookup(Authority::Authoritative, 0));
    if let Some(lookup) = &mut by_key.lookup {
        lookup.by = LookupBy::Key;
    }
    let mut looks = lost(by_key);
    unsupported(&mut looks, 1, true, false);
    looks.at(LANDS_AFTER + 30).look(LookupAnswer::Absent);
    assert_ne!(looks.state(), State::RetryableFailure);
}

#[test]
fn r27_a_mark_that_was_not_kept_is_not_missed() {
    let mut story = lost(lookable(Consequence::Costly));
    let mut kept = story.clone();
    unsupported(&mut story, 1, false, true);
    for story in [&mut story, &mut kept] {
        story.at(LANDS_AFTER + 21).look(LookupAnswer::Absent);
    }
    assert_eq!(kept.leave(), "proven_absent");
    assert_eq!(
        (story.state(), story.leave()),
        (State::OutcomeUnknown, "review")
    );
}

#[test]
fn r27_what_was_repeated_under_a_key_that_is_not_looked_at_may_exist_twice() {
    let mut story = lost(keyed(Consequence::Costly));
    story.send();
    story.at(5).answer_with(2, AnswerClass::Done, Some("T-1"));
    assert_eq!(story.next().step, Step::None);
    unsupported(&mut story, 2, true, false);
    assert_eq!(story.state(), State::Succeeded);
    assert_eq!(
        story.next().step,
        Step::Review(ReviewWhy::DuplicateSuspected)
    );
    story.settle_due();
    story.rule(Ruling::Happened { receipt: None });
    assert_eq!(story.next().step, Step::None, "a person has looked");
    // A single request is no repeat.
    let mut once = Story::new(keyed(Consequence::Costly));
    once.send();
    once.at(3).answer_with(1, AnswerClass::Done, Some("T-1"));
    unsupported(&mut once, 1, true, false);
    assert_eq!(once.next().step, Step::None);
}

#[test]
fn a_repeat_waits_as_long_as_the_destination_wants_between_two_under_one_key() {
    let mut promises = bare(Consequence::Costly);
    promises.key = Some(factum_core::promise::KeyPromise {
        wait_min: secs(60),
        ..key(secs(86_400))
    });
    let mut story = lost(promises);
    for (now, leave) in [(4, "send later"), (62, "send later"), (63, "same_key")] {
        assert_eq!(story.at(now).leave(), leave, "at {now} s");
    }
    story.send();
    story.at(70).answer(2, AnswerClass::InProgress);
    assert_eq!(story.at(129).leave(), "send later");
    assert_eq!(story.at(130).leave(), "same_key");
    let mut window = story.clone();
    window.current.key = Some(factum_core::promise::KeyPromise {
        wait_min: secs(86_400),
        ..key(secs(86_400))
    });
    assert_eq!(window.leave(), "review", "the wait outlasts the window");
}

#[test]
fn r13_another_base_address_ends_a_key_that_is_known_per_host() {
    for (per_place, leave) in [(true, "review"), (false, "same_key")] {
        let mut promises = keyed(Consequence::Costly);
        if let Some(key) = &mut promises.key {
            key.scope_includes_place = per_place;
        }
        let mut story = lost(promises);
        assert_eq!(story.leave(), "same_key");
        story.place_changed = true;
        assert_eq!(story.leave(), leave);
    }
    // Nothing was sent yet: it goes where the destination is now.
    let mut fresh = Story::new(keyed(Consequence::Costly));
    fresh.place_changed = true;
    assert_eq!(fresh.leave(), "first");
}

// Another login of the same user: the account is confirmed, and to the destination it is another key space all the same.
#[test]
fn r13_another_credential_ends_a_key_that_is_known_per_credential() {
    for (per_credential, leave) in [(true, "review"), (false, "same_key")] {
        let mut promises = keyed(Consequence::Costly);
        if let Some(key) = &mut promises.key {
            key.scope_includes_credential = per_credential;
        }
        let mut story = lost(promises);
        assert_eq!(story.leave(), "same_key");
        story.credential_changed = true;
        assert_eq!(story.leave(), leave);
    }
    let mut fresh = Story::new(keyed(Consequence::Costly));
    fresh.credential_changed = true;
    assert_eq!(fresh.leave(), "first");
}

#[test]
fn r13_nothing_is_missed_or_withdrawn_at_another_base_address() {
    let mut looks = lost(lookable(Consequence::Costly));
    looks.place_changed = true;
    let unheard = LookupAnswer::Absent.unless_in_doubt(looks.place_changed);
    looks.at(LANDS_AFTER + 21).look(unheard);
    assert_eq!(looks.state(), State::OutcomeUnknown);
    looks.look(LookupAnswer::Found(vec![Receipt::new("T-1")]));
    assert_eq!(looks.state(), State::Succeeded, "what is found is ours");

    let mut cancels = lost(cancelable(Consequence::Costly, true));
    cancels.place_changed = true;
    assert_eq!(cancels.at(LANDS_AFTER + 1).leave(), "review");
}

#[test]
fn r14_a_key_whose_repeat_sets_once_more_undoes_newer_work_too() {
    for (sets_again, leave) in [(true, "review"), (false, "same_key")] {
        let mut promises = keyed(Consequence::Reversible);
        if let Some(key) = &mut promises.key {
            key.sets_again = sets_again;
        }
        let mut story = lost(promises);
        assert_eq!(story.leave(), "same_key");
        story.subject_overtaken = true;
        assert_eq!(story.leave(), leave);
    }
}
