//! R16: equal content under another identity waits for as long as the first one may be the same intent.

use factum_core::evidence::{AnswerClass, Ruling};
use factum_core::promise::Consequence;
use factum_core::{Known, Timestamp, twins};

use crate::kit::{Story, at, bare, secs};

fn holds_off(story: &Story, now: Timestamp) -> bool {
    let known = Known::fold(&story.log);
    twins::holds_off(&story.intent, &known, secs(600), now)
}

#[test]
fn r16_the_guard_does_not_lapse_while_the_first_is_unknown() {
    let mut story = Story::new(bare(Consequence::Costly));
    assert!(holds_off(&story, at(100_000)), "it may be sent yet");
    story.send();
    story.at(3).lose(1);
    assert!(holds_off(&story, at(100_000)), "nobody knows");
    story.at(100_000).rule(Ruling::CannotBeKnown);
    assert!(story.status().closed.is_some());
    assert!(holds_off(&story, at(1_000_000)), "and nobody ever will");
}

#[test]
fn r16_it_holds_for_the_set_time_after_the_last_word() {
    let mut story = Story::new(bare(Consequence::Costly));
    story.send();
    story.at(90);
    story.answer_with(1, AnswerClass::Done, Some("T-1"));
    assert!(holds_off(&story, at(689)));
    assert!(!holds_off(&story, at(690)));
}

#[test]
fn r16_it_lets_go_where_a_new_identity_is_safe() {
    let mut story = Story::new(bare(Consequence::Costly));
    story.withdraw();
    assert!(story.status().safe_to_call_again);
    assert!(!holds_off(&story, at(0)));
}
