//! Field cases that the core alone can express and that no rule's story covers.

use factum_core::evidence::{AnswerClass, Fact, LookupAnswer};
use factum_core::promise::Consequence;
use factum_core::statement::StatementKey;
use factum_core::{Happened, State, Step};

use crate::kit::{LEASE, Story, bare, found, keyed, lookable, rejected};

#[test]
fn a_server_error_after_the_act_is_unknown_and_then_found() {
    // B01, B07, B74: a 500 or 503 says nothing; the action stays bound to its identity and is looked up.
    let mut story = Story::new(lookable(Consequence::Costly));
    story.send();
    story.at(3).answer(1, AnswerClass::Unknown);
    let status = story.status();
    assert_eq!(
        (status.state, status.state.happened()),
        (State::OutcomeUnknown, Happened::Unknown)
    );
    assert_eq!(story.next().step, Step::LookUp);
    story.at(30).look(found("C-4"));
    let status = story.status();
    assert_eq!(status.state, State::Succeeded);
    assert_eq!(status.receipt.map(|r| r.reference).as_deref(), Some("C-4"));
}

#[test]
fn a_short_timeout_waits_for_the_late_answer() {
    // B02, B10, B40: no second send in between, and no absence before the provider's own maximum.
    let mut story = Story::new(lookable(Consequence::Costly));
    story.send();
    story.at(5).lose(1);
    story.at(6).look(LookupAnswer::Absent);
    assert_eq!(story.state(), State::OutcomeUnknown);
    assert_eq!(story.next().step, Step::LookUp);
    story.at(12).answer_with(1, AnswerClass::Done, Some("T-1"));
    assert_eq!(
        (story.state(), story.next().step),
        (State::Succeeded, Step::None)
    );
}

#[test]
fn a_failed_read_back_changes_nothing() {
    // B04, B05, B14: what comes after the answer is a note.
    let mut story = Story::new(keyed(Consequence::Costly));
    story.send();
    story.at(3).answer_with(1, AnswerClass::Done, Some("T-1"));
    let before = story.status();
    story.at(4).record(Fact::Noted {
        text: "the read-back was answered 429".to_owned(),
    });
    story.at(5).look(LookupAnswer::Inconclusive {
        why: "429".to_owned(),
    });
    assert_eq!(story.status(), before);
    assert_eq!(story.leave(), "none");
}

#[test]
fn queued_is_not_failed_and_not_done() {
    // B08, B17: 202 with an id; the wait for its completion runs out of patience, not of truth.
    let mut story = Story::new(keyed(Consequence::Costly));
    story.send();
    let object = Some("vol-1".to_owned());
    story.at(3).answer(1, AnswerClass::Accepted { object });
    for now in [10, LEASE, 86_400] {
        story.at(now).settle_due();
        let state = story.state();
        assert!(
            matches!(state, State::Accepted | State::OutcomeUnknown),
            "{state:?}"
        );
        assert_ne!(story.leave(), "same_key");
    }
}

#[test]
fn neither_key_nor_lookup_is_for_a_person() {
    // B11: 0 or 1, never 2.
    let mut story = Story::new(bare(Consequence::Costly));
    story.send();
    story.at(3).lose(1);
    story.settle_due();
    let key = StatementKey::of(&story.status(), &story.next());
    assert_eq!(key, StatementKey::UnknownCheckedByPerson);
    assert!(!key.claims_done() && !key.claims_not_done());
}

#[test]
fn a_definite_refusal_is_not_unknown() {
    // B25: over-caution is a defect too.
    let mut story = Story::new(bare(Consequence::Costly));
    story.send();
    story.at(3).answer(1, rejected(false));
    let status = story.status();
    assert_eq!(
        (status.state, status.state.happened()),
        (State::TerminalFailure, Happened::No)
    );
}

#[test]
fn no_word_says_done_for_what_is_not() {
    // B16, B22, B28: no statement claims more than the state.
    for class in [
        AnswerClass::Unknown,
        AnswerClass::InProgress,
        AnswerClass::Busy,
        AnswerClass::Mismatch,
        AnswerClass::Accepted { object: None },
        AnswerClass::AlreadyExists { ours: false },
        rejected(true),
    ] {
        let mut story = Story::new(keyed(Consequence::Costly));
        story.send();
        story.at(3).answer(1, class.clone());
        let key = StatementKey::of(&story.status(), &story.next());
        assert!(!key.claims_done(), "{}: {}", class.name(), key.name());
        let no = matches!(story.state().happened(), Happened::No | Happened::NotYet);
        assert_eq!(
            key.claims_not_done(),
            no,
            "{}: {}",
            class.name(),
            key.name()
        );
    }
}

#[test]
fn a_late_receipt_revises_a_failure() {
    let mut story = Story::new(keyed(Consequence::Costly));
    story.send();
    story.at(3).lose(1);
    story.send();
    story.at(5).answer(2, rejected(true));
    assert_eq!(story.state(), State::TerminalFailure);
    story.at(60).answer_with(1, AnswerClass::Done, Some("T-1"));
    let status = story.status();
    assert_eq!((status.state, status.revised), (State::Succeeded, true));
    assert_eq!(
        StatementKey::of(&status, &story.next()),
        StatementKey::DoneAfterAll
    );
}

#[test]
fn two_workers_never_hold_leave_at_once() {
    // B160, B161, B163: while a mark is within its lease nobody else gets leave; beyond it only by its own right.
    let mut story = Story::new(bare(Consequence::Costly));
    let mark = story.send();
    for now in [0, 1, LEASE - 1] {
        assert_eq!(story.at(now).leave(), "wait");
    }
    story.at(LEASE).settle_due();
    assert_eq!(story.leave(), "review");
    assert!(mark.valid_until < mark.lease_until);
}

#[test]
fn a_proven_connect_failure_is_sent_again_under_the_same_key() {
    let mut story = Story::new(keyed(Consequence::Irreversible));
    let first = story.send();
    story.at(3).not_sent(1);
    assert_eq!(story.state(), State::RetryableFailure);
    let second = story.send();
    assert_eq!(second.permission.name(), "proven_not_sent");
    assert_eq!(second.epoch, first.epoch);
}
