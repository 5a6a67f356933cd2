//! R21 and the wait for a promised callback: how long, before what, and what a report that comes late or twice changes.

use factum_core::evidence::{AnswerClass, Callback, Fact, Receipt, ReviewWhy};
use factum_core::promise::{Authority, CompletionPromise, Consequence, Promises};
use factum_core::{Preference, State, Step, Timestamp};

use crate::kit::{Story, bare, found, keyed, lookup};

fn reporting(promises: Promises) -> Promises {
    Promises {
        completion: Some(CompletionPromise {
            poll: false,
            callback: true,
        }),
        ..promises
    }
}

fn positive(reference: &str) -> Fact {
    Fact::CalledBack(Callback::Positive(Receipt::new(reference)))
}

fn failed(object: &str) -> Fact {
    Fact::CalledBack(Callback::Negative {
        object: object.to_owned(),
        why: "no stock".to_owned(),
    })
}

fn reversed() -> Fact {
    Fact::CalledBack(Callback::Reversed {
        why: "returned".to_owned(),
    })
}

/// The story waits until this instant, and not a moment longer.
fn waits(story: &mut Story, until: Timestamp, then: Step) {
    let next = story.next();
    assert_eq!((next.step, next.at), (Step::Wait, until));
    story.now = until;
    assert_eq!(story.next().step, then);
}

#[test]
fn a_lost_answer_waits_for_the_report_before_a_person_is_asked() {
    let mut story = Story::new(reporting(bare(Consequence::Costly)));
    story.send();
    let lost = story.at(3).now;
    story.lose(1);
    let until = lost + story.intent.limits.callback_wait;
    let mut told = story.clone();
    waits(&mut story, until, Step::Review(ReviewWhy::NothingToAsk));
    told.record(positive("T-1"));
    assert_eq!(told.state(), State::Succeeded);
    assert_eq!(told.next().step, Step::None);
}

#[test]
fn a_preference_that_knows_nothing_waits_for_the_report_too() {
    let mut story = Story::new(reporting(bare(Consequence::Reversible)));
    story.intent.preference = Preference::PreferDuplicate {
        by: "ana".to_owned(),
    };
    story.send();
    let lost = story.at(3).now;
    story.lose(1);
    let until = lost + story.intent.limits.callback_wait;
    let next = story.next();
    assert_eq!((next.step, next.at), (Step::Wait, until));
    story.now = until;
    assert!(matches!(story.next().step, Step::Send(_)));
}

#[test]
fn what_can_be_resent_or_looked_up_does_not_wait_for_the_report() {
    let mut resent = Story::new(reporting(keyed(Consequence::Costly)));
    resent.send();
    resent.at(3).lose(1);
    assert!(matches!(resent.next().step, Step::Send(_)));
    let mut asked = Story::new(reporting(Promises {
        lookup: Some(lookup(Authority::Partial, 20)),
        ..bare(Consequence::Costly)
    }));
    asked.send();
    asked.at(3).lose(1);
    assert_eq!(asked.next().step, Step::LookUp);
    asked.at(60).look(found("T-1"));
    assert_eq!(asked.state(), State::Succeeded);
}

#[test]
fn a_failure_after_acceptance_and_a_reversal_after_success_come_from_reports() {
    let mut story = Story::new(reporting(keyed(Consequence::Costly)));
    story.send();
    let object = Some("job-1".to_owned());
    story.at(3).answer(1, AnswerClass::Accepted { object });
    assert_eq!(story.state(), State::Accepted);
    let mut other = story.clone();
    other.record(failed("job-2"));
    assert_eq!(other.state(), State::Accepted, "R21: only for its object");
    let mut late = story.clone();
    story.record(failed("job-1"));
    let status = story.status();
    assert_eq!(status.state, State::TerminalFailure);
    assert_eq!(status.because.as_deref(), Some("no stock"));

    late.record(positive("T-1"));
    late.record(reversed());
    let status = late.status();
    assert_eq!((status.state, status.reversed), (State::Succeeded, true));
}

// R9: reports may come in any order, and more than once.
#[test]
fn the_order_of_reports_never_matters() {
    let mut accepted = Story::new(reporting(keyed(Consequence::Costly)));
    accepted.send();
    let object = Some("job-1".to_owned());
    accepted.at(3).answer(1, AnswerClass::Accepted { object });
    let reports = [
        positive("T-1"),
        failed("job-1"),
        reversed(),
        positive("T-1"),
    ];
    let mut statuses = Vec::new();
    for first in 0..reports.len() {
        let mut story = accepted.clone();
        for step in 0..reports.len() {
            story.record(reports[(first + step) % reports.len()].clone());
        }
        statuses.push(story.status());
        assert_eq!(story.next().step, Step::None);
    }
    assert!(statuses.windows(2).all(|pair| pair[0] == pair[1]));
    assert_eq!(statuses[0].state, State::Succeeded, "positive wins");
    assert!(!statuses[0].duplicate_suspected());
}
