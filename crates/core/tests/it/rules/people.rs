//! R6, R15 and the preferences: what only a person opens, and what a person's word is worth.

use factum_core::evidence::{AnswerClass, Fact, LookupAnswer, Receipt, ReviewWhy, Ruling, Verdict};
use factum_core::promise::{Consequence, ProcessingMax};
use factum_core::{Preference, State, Step};

use crate::kit::{LANDS_AFTER, Story, at, bare, found, lookable};

const COUNTS: i64 = LANDS_AFTER + 21;

/// Nothing can be found out, so it stands in review.
fn in_review() -> Story {
    let mut story = Story::new(bare(Consequence::Costly));
    story.send();
    story.at(3).lose(1);
    story.settle_due();
    story
}

/// A partial lookup did not show it, so it stands in review with a lookup to repeat.
fn in_review_with_lookup() -> Story {
    let mut story = Story::new(lookable(Consequence::Costly));
    story.send();
    story.at(3).lose(1);
    story.record(Fact::ReviewOpened {
        why: ReviewWhy::PolicyWantsPerson,
    });
    story
}

#[test]
fn r6_from_review_only_a_person_opens_a_send() {
    let mut story = in_review_with_lookup();
    story.at(COUNTS).look(LookupAnswer::Absent);
    assert_eq!(
        story.leave(),
        "review",
        "proven absent, and still no send by the machine"
    );
    let mut settled = story.clone();
    settled.at(COUNTS + 1).look(found("T-1"));
    assert_eq!(settled.state(), State::Succeeded, "but it may settle");
    story.rule(Ruling::SendAgain);
    assert_eq!(story.leave(), "ordered");
}

#[test]
fn r6_a_check_again_asks_once_and_never_sends() {
    let mut story = in_review_with_lookup();
    story.at(COUNTS);
    assert!(matches!(story.next().step, Step::Review(_)));
    let check = Fact::CheckAgain {
        by: "ana".to_owned(),
        at: story.now,
    };
    story.record(check);
    assert_eq!(story.next().step, Step::LookUp);
    story.look(LookupAnswer::Absent);
    assert_eq!(story.leave(), "review");
}

#[test]
fn r6_taken_items_are_not_touched() {
    let mut story = in_review_with_lookup();
    let check = Fact::CheckAgain {
        by: "ana".to_owned(),
        at: story.now,
    };
    let taken = story.record(Fact::Taken {
        by: "ben".to_owned(),
    });
    story.record(check);
    assert!(
        matches!(story.next().step, Step::Review(_)),
        "ben works on it"
    );
    story.record(Fact::Released { supersedes: taken });
    assert_eq!(story.next().step, Step::LookUp);
}

#[test]
fn r6_closed_by_a_person_is_settled_and_lookups_may_still_settle_it() {
    let mut story = in_review_with_lookup();
    story.at(10).rule(Ruling::CannotBeKnown);
    let status = story.status();
    assert_eq!(status.state, State::OutcomeUnknown);
    assert!(status.is_settled());
    assert_eq!(status.closed.as_ref().map(|c| c.by.as_str()), Some("ana"));
    assert_eq!(story.next().step, Step::None);
    story.at(COUNTS).look(LookupAnswer::Absent);
    assert_eq!(story.leave(), "none", "absent: still no send");
    story.look(found("T-1"));
    assert_eq!(story.state(), State::Succeeded);
}

#[test]
fn r6_a_person_opens_a_send_from_every_kind_of_closed() {
    let mut by_person = in_review();
    by_person.at(10).rule(Ruling::CannotBeKnown);
    by_person.at(20).rule(Ruling::SendAgain);
    assert_eq!(by_person.leave(), "ordered");

    let mut by_preference = preferring(Preference::PreferMissing {
        by: "ops: rather missing".to_owned(),
    });
    by_preference.settle_due();
    assert!(by_preference.status().closed.is_some());
    by_preference.at(20).rule(Ruling::SendAgain);
    assert_eq!(by_preference.leave(), "ordered");
    by_preference.send();
    by_preference.at(30).lose(2);
    by_preference.settle_due();
    assert!(
        by_preference.status().closed.is_some(),
        "the preference holds for the new send too"
    );
    by_preference.at(40).rule(Ruling::DidNotHappen);
    by_preference.at(40 + COUNTS).settle_due();
    assert_eq!(
        by_preference.state(),
        State::TerminalFailure,
        "and a verdict settles it"
    );
}

fn preferring(preference: Preference) -> Story {
    let mut story = Story::new(bare(Consequence::Reversible));
    story.intent.preference = preference;
    story.send();
    story.at(3).lose(1);
    story
}

#[test]
fn preferences_apply_where_nothing_can_be_found_out_and_only_to_the_reversible() {
    let by = || "ops, ticket 12".to_owned();
    let duplicate = Preference::PreferDuplicate { by: by() };
    assert_eq!(preferring(duplicate.clone()).leave(), "ordered");
    assert_eq!(preferring(Preference::Ask).leave(), "review");
    let mut missing = preferring(Preference::PreferMissing { by: by() });
    missing.settle_due();
    assert_eq!(missing.state(), State::OutcomeUnknown);
    assert_eq!(missing.next().step, Step::None);
    let mut costly = Story::new(bare(Consequence::Costly));
    costly.intent.preference = duplicate;
    costly.send();
    costly.at(3).lose(1);
    assert_eq!(costly.leave(), "review");
}

#[test]
fn r15_an_early_did_not_happen_takes_hold_at_lands_by() {
    let mut story = in_review();
    story.at(4).rule(Ruling::DidNotHappen);
    assert_eq!(
        story.state(),
        State::OutcomeUnknown,
        "the request could still land"
    );
    let next = story.next();
    assert_eq!(next.step, Step::Wait);
    let mut landed = story.clone();
    landed.at(5).answer_with(1, AnswerClass::Done, Some("T-1"));
    assert_eq!(landed.state(), State::Succeeded);
    story.now = next.at;
    story.settle_due();
    assert_eq!(story.state(), State::TerminalFailure);
    let status = story.status();
    assert!(
        !status.safe_to_call_again,
        "R7: a person's word is no proof"
    );
    assert_eq!(status.because, None, "a reviewer's reason is for operators");
}

#[test]
fn r15_a_verdict_holds_even_where_nothing_bounds_the_destinations_work() {
    let mut story = in_review();
    story.intent.promises.processing_max = ProcessingMax::Unpublished;
    story.current = story.intent.promises.clone();
    story.at(100).rule(Ruling::DidNotHappen);
    story.settle_due();
    assert_eq!(story.state(), State::TerminalFailure);
}

#[test]
fn r15_a_send_after_did_not_happen_is_ordered_and_good_for_one() {
    let mut story = in_review();
    story.at(100).rule(Ruling::DidNotHappen);
    story.settle_due();
    story.at(101).rule(Ruling::SendAgain);
    assert_eq!(story.leave(), "ordered");
    story.send();
    story.at(105).lose(2);
    assert_eq!(story.leave(), "review", "the order was good for one send");
}

#[test]
fn r15_destination_evidence_against_a_verdict_opens_review() {
    let mut story = in_review();
    story.at(100).rule(Ruling::DidNotHappen);
    story.settle_due();
    story.at(200).answer_with(1, AnswerClass::Done, Some("T-1"));
    let status = story.status();
    assert_eq!(status.state, State::Succeeded);
    assert!(status.revised && status.contradicted);
    assert_eq!(
        story.next().step,
        Step::Review(ReviewWhy::VerdictContradicted)
    );
    story.settle_due();
    assert!(matches!(story.next().step, Step::Review(_)));
    // Somebody looks at it and rules; that ends the dispute.
    story.at(300).rule(Ruling::Happened { receipt: None });
    assert_eq!(
        (story.state(), story.next().step),
        (State::Succeeded, Step::None)
    );

    // The other way round: "it happened", and a complete lookup shows nothing.
    let mut gone = in_review_with_lookup();
    gone.at(10).rule(Ruling::Happened {
        receipt: Some(Receipt::new("T-1")),
    });
    assert_eq!(gone.state(), State::Succeeded);
    gone.at(COUNTS).look(LookupAnswer::Absent);
    assert_eq!(gone.state(), State::OutcomeUnknown);
    assert_eq!(
        gone.next().step,
        Step::Review(ReviewWhy::VerdictContradicted)
    );
}

#[test]
fn r15_a_contradiction_under_the_pinned_contract_is_not_settled_by_a_weaker_one() {
    let mut story = Story::new(lookable(Consequence::Costly));
    story.send();
    story.at(3).lose(1);
    story.rule(Ruling::Happened { receipt: None });
    assert_eq!(story.state(), State::Succeeded);
    story.at(COUNTS).look(LookupAnswer::Absent);
    let contradicted = Step::Review(ReviewWhy::VerdictContradicted);
    assert_eq!(
        (story.state(), story.next().step),
        (State::OutcomeUnknown, contradicted)
    );
    // A corrected contract does not rely on that lookup. What the state says is open then is forgotten by nobody (law 8).
    story.current.lookup = None;
    assert_eq!(
        (story.state(), story.next().step),
        (State::OutcomeUnknown, contradicted)
    );
    assert_eq!(
        story.due(),
        Some(Fact::ReviewOpened {
            why: ReviewWhy::VerdictContradicted
        }),
        "it comes to stand in the queue"
    );
    story.settle_due();
    story.rule(Ruling::CannotBeKnown);
    assert!(story.status().is_settled());
    assert_eq!(story.next().step, Step::None);
}

#[test]
fn r15_a_verdict_that_does_not_speak_for_a_later_attempt_is_not_waited_for() {
    // Two people rule at once, so neither verdict replaces the other.
    let mut story = in_review();
    let one_sided = |ruling, supersedes| Verdict {
        ruling,
        by: "ben".to_owned(),
        why: "saw nothing".to_owned(),
        at: at(100),
        supersedes,
    };
    let review = story.known().answered_by_a_verdict();
    story.at(100);
    story.record(Fact::Verdict(one_sided(Ruling::DidNotHappen, review)));
    story.settle_due();
    story.record(Fact::Verdict(one_sided(Ruling::SendAgain, Vec::new())));
    story.at(101).send();
    story.at(105).lose(2);
    story.at(105 + COUNTS).settle_due();
    assert_eq!(story.state(), State::OutcomeUnknown);
    assert!(
        matches!(story.next().step, Step::Review(_)),
        "{:?}",
        story.next()
    );
}

#[test]
fn r6_whoever_takes_an_item_keeps_the_machine_off_it() {
    // Also where no review was open: nothing is sent and nothing asked until it is given back or ruled on.
    for promises in [
        crate::kit::keyed(Consequence::Costly),
        lookable(Consequence::Costly),
    ] {
        let mut story = Story::new(promises);
        story.send();
        story.at(3).lose(1);
        assert_ne!(story.leave(), "review");
        let taken = story.record(Fact::Taken {
            by: "ben".to_owned(),
        });
        story.settle_due();
        assert_eq!(story.leave(), "review");
        let mut ruled = story.clone();
        ruled.at(10).rule(Ruling::SendAgain);
        assert_eq!(ruled.leave(), "ordered", "by a person's order");
        assert!(
            ruled.known().taken_by().is_none(),
            "a verdict ends the taking"
        );
        story.record(Fact::Released { supersedes: taken });
        assert_eq!(story.leave(), "review", "and it stands in review");
    }
}

#[test]
fn closed_is_said_of_an_unknown_outcome_only() {
    let mut story = Story::new(crate::kit::keyed(Consequence::Costly));
    story.send();
    let object = Some("job-1".to_owned());
    story.at(3).answer(1, AnswerClass::Accepted { object });
    assert_eq!(story.state(), State::Accepted);
    story.at(9).rule(Ruling::CannotBeKnown);
    assert_eq!(story.state(), State::OutcomeUnknown);
    assert!(story.status().closed.is_some());
}

#[test]
fn r6_giving_an_item_back_ends_no_review() {
    let mut story = Story::new(bare(Consequence::Costly));
    story.send();
    story.at(3).lose(1);
    let review = story.record(Fact::ReviewOpened {
        why: ReviewWhy::NothingToAsk,
    });
    let taken = story.record(Fact::Taken {
        by: "ana".to_owned(),
    });
    assert!(story.known().taken_by().is_some());
    for supersedes in [taken, review] {
        story.record(Fact::Released { supersedes });
        assert!(story.known().taken_by().is_none());
        assert_eq!(story.leave(), "review", "the machine asked for a person");
    }
    assert_eq!(story.known().answered_by_a_verdict(), [review]);
}
