//! All pairs of state and kind of fact: what one more record makes of an action. `states_page` shows them in the docs.

use std::collections::BTreeSet;

use factum_core::evidence::{
    AnswerClass, Callback, CancelAnswer, CancelMark, Evidence, Fact, LookupAnswer, Mark,
    PermissionKind, PollAnswer, Receipt, RequestRef, ReviewWhy, Ruling,
};
use factum_core::promise::{CompletionPromise, Consequence, Missing, Promises};
use factum_core::statement::StatementKey;
use factum_core::{AttemptNo, Epoch, EvidenceId, Happened, State, Step, WorkerNonce};

use crate::kit::{LANDS_AFTER, LEASE, Story, at, bare, found, keyed, lookable, rejected, secs};

/// The instant of every fact: late enough that nothing of the first attempt can land any more and absence counts.
const NOW: i64 = 200;

/// A situation, and how a story comes into it.
pub(crate) type Situation = (&'static str, State, fn(&mut Story));

/// At least one situation per state; what is marked is attempt 1, at the time of the submission.
pub(crate) const SITUATIONS: [Situation; 12] = [
    ("recorded, never sent", State::Pending, |_| {}),
    ("being sent, within its lease", State::Dispatching, |s| {
        s.at(NOW - 10);
        sent(s);
    }),
    ("queued by the destination", State::Accepted, |s| {
        sent(s);
        let object = Some("job-1".to_owned());
        s.at(3).answer(1, AnswerClass::Accepted { object });
    }),
    ("done, with a receipt", State::Succeeded, |s| {
        sent(s);
        s.at(3).answer_with(1, AnswerClass::Done, Some("T-1"));
    }),
    ("happened, by a person's verdict", State::Succeeded, |s| {
        lost(s);
        s.at(20).rule(Ruling::Happened { receipt: None });
    }),
    (
        "proven not sent, another attempt is due",
        State::RetryableFailure,
        |s| {
            sent(s);
            s.at(3).not_sent(1);
        },
    ),
    (
        "refused, stored under the key",
        State::TerminalFailure,
        |s| {
            sent(s);
            s.at(3).answer(1, rejected(true));
        },
    ),
    ("the answer was lost", State::OutcomeUnknown, lost),
    (
        "the answer was lost, in review",
        State::OutcomeUnknown,
        |s| {
            lost(s);
            let why = ReviewWhy::NothingToAsk;
            s.at(20).record(Fact::ReviewOpened { why });
        },
    ),
    (
        "the answer was lost, closed by a person",
        State::OutcomeUnknown,
        |s| {
            lost(s);
            s.at(20).rule(Ruling::CannotBeKnown);
        },
    ),
    ("withdrawn before it was sent", State::Cancelled, |s| {
        s.withdraw();
    }),
    (
        "the deadline passed before it was sent",
        State::Expired,
        |s| {
            let at = at(60);
            s.record(Fact::DeadlinePassed { at });
        },
    ),
];

fn sent(story: &mut Story) {
    let (now, bound) = (story.now, story.intent.limits.bound);
    story.record(Fact::Marked(Mark {
        attempt: AttemptNo(1),
        epoch: Epoch(0),
        permission: PermissionKind::First,
        worker: WorkerNonce(1),
        at: now,
        valid_until: now + secs(5),
        lease_until: now + secs(LEASE),
        bound,
    }));
}

fn lost(story: &mut Story) {
    sent(story);
    story.at(3).lose(1);
}

/// What is recorded, in words, and how.
pub(crate) type Row = (&'static str, fn(&mut Story));

const BY_OUR_SIDE: [Row; 6] = [
    ("marked: attempt 2", |s| {
        let (now, bound) = (s.now, s.intent.limits.bound);
        s.record(Fact::Marked(Mark {
            attempt: AttemptNo(2),
            epoch: Epoch(0),
            permission: PermissionKind::ProvenNotSent,
            worker: WorkerNonce(2),
            at: now,
            valid_until: now + secs(5),
            lease_until: now + secs(LEASE),
            bound,
        }));
    }),
    ("not_sent", |s| {
        s.not_sent(1);
    }),
    ("lost", |s| {
        s.lose(1);
    }),
    ("process_gone", |s| {
        let (worker, at) = (WorkerNonce(1), s.now);
        s.record(Fact::ProcessGone { worker, at });
    }),
    ("lease_over", |s| {
        let (request, at) = (RequestRef::Attempt(AttemptNo(1)), s.now);
        s.record(Fact::LeaseOver { request, at });
    }),
    ("lease_extended", |s| {
        let (request, until) = (RequestRef::Attempt(AttemptNo(1)), s.now + secs(LEASE));
        s.record(Fact::LeaseExtended { request, until });
    }),
];

const BY_ANSWER: [Row; 13] = [
    ("answered: done", |s| {
        s.answer_with(1, AnswerClass::Done, Some("T-1"));
    }),
    ("answered: done, another receipt", |s| {
        s.answer_with(1, AnswerClass::Done, Some("T-2"));
    }),
    ("answered: accepted", |s| {
        let object = Some("job-1".to_owned());
        s.answer(1, AnswerClass::Accepted { object });
    }),
    ("answered: rejected, stored", |s| {
        s.answer(1, rejected(true));
    }),
    ("answered: rejected", |s| {
        s.answer(1, rejected(false));
    }),
    ("answered: declined", |s| {
        let why = "insufficient funds".to_owned();
        s.answer(1, AnswerClass::Declined { stored: true, why });
    }),
    ("answered: in_progress", |s| {
        s.answer(1, AnswerClass::InProgress);
    }),
    ("answered: already_exists, ours", |s| {
        s.answer_with(1, AnswerClass::AlreadyExists { ours: true }, Some("T-1"));
    }),
    ("answered: already_exists, not ours", |s| {
        s.answer(1, AnswerClass::AlreadyExists { ours: false });
    }),
    ("answered: mismatch", |s| {
        s.answer(1, AnswerClass::Mismatch);
    }),
    ("answered: busy", |s| {
        s.answer(1, AnswerClass::Busy);
    }),
    ("answered: unknown", |s| {
        s.answer(1, AnswerClass::Unknown);
    }),
    ("reread: the last answer, as unknown", |s| {
        let answered = s
            .log
            .iter()
            .rev()
            .find(|r| matches!(r.fact, Fact::Answered(_)));
        let supersedes = answered.map_or(EvidenceId(999), |record| record.id);
        s.record(Fact::Reread {
            supersedes,
            class: AnswerClass::Unknown,
            why: "the matcher took every 200 for done".to_owned(),
        });
    }),
];

const BY_QUESTION: [Row; 12] = [
    ("looked_up: found", |s| {
        s.look(found("T-1"));
    }),
    ("looked_up: queued", |s| {
        s.look(LookupAnswer::Queued { object: None });
    }),
    ("looked_up: absent, asked too early", |s| {
        s.look_asked(at(4), LookupAnswer::Absent);
    }),
    ("looked_up: absent, asked late enough", |s| {
        s.look(LookupAnswer::Absent);
    }),
    ("looked_up: inconclusive", |s| {
        let why = "the list could not be read".to_owned();
        s.look(LookupAnswer::Inconclusive { why });
    }),
    ("polled: completed", |s| {
        polled(s, PollAnswer::Completed(Some(Receipt::new("T-1"))));
    }),
    ("polled: working", |s| {
        polled(s, PollAnswer::Working);
    }),
    ("polled: failed", |s| {
        let why = "card expired".to_owned();
        polled(s, PollAnswer::Failed { why });
    }),
    ("polled: inconclusive", |s| {
        let why = "429".to_owned();
        polled(s, PollAnswer::Inconclusive { why });
    }),
    ("called_back: positive", |s| {
        s.record(Fact::CalledBack(Callback::Positive(Receipt::new("T-1"))));
    }),
    ("called_back: negative, for what it queued", |s| {
        let (object, why) = ("job-1".to_owned(), "card expired".to_owned());
        s.record(Fact::CalledBack(Callback::Negative { object, why }));
    }),
    ("called_back: reversed", |s| {
        let why = "returned".to_owned();
        s.record(Fact::CalledBack(Callback::Reversed { why }));
    }),
];

const BY_CANCEL: [Row; 5] = [
    ("cancel_marked", cancel_marked),
    ("cancel_answered: confirmed", |s| {
        cancel_answered(s, CancelAnswer::Confirmed { object: None });
    }),
    ("cancel_answered: too late", |s| {
        let receipt = Some(Receipt::new("T-1"));
        cancel_answered(s, CancelAnswer::TooLate { receipt });
    }),
    ("cancel_answered: not sent", |s| {
        let why = "refused".to_owned();
        cancel_answered(s, CancelAnswer::NotSent { why });
    }),
    ("cancel_answered: unknown", |s| {
        let why = "reset".to_owned();
        cancel_answered(s, CancelAnswer::Unknown { why });
    }),
];

const BY_PEOPLE: [Row; 12] = [
    ("verdict: happened", |s| {
        s.rule(Ruling::Happened { receipt: None });
    }),
    ("verdict: did_not_happen", |s| {
        s.rule(Ruling::DidNotHappen);
    }),
    ("verdict: send_again", |s| {
        s.rule(Ruling::SendAgain);
    }),
    ("verdict: cannot_be_known", |s| {
        s.rule(Ruling::CannotBeKnown);
    }),
    ("review_opened", |s| {
        let why = ReviewWhy::PolicyWantsPerson;
        s.record(Fact::ReviewOpened { why });
    }),
    ("taken", |s| {
        let by = "ben".to_owned();
        s.record(Fact::Taken { by });
    }),
    ("released", |s| {
        let by = "ben".to_owned();
        let supersedes = s.record(Fact::Taken { by });
        s.record(Fact::Released { supersedes });
    }),
    ("check_again", |s| {
        let (by, at) = ("ben".to_owned(), s.now);
        s.record(Fact::CheckAgain { by, at });
    }),
    ("cancel_requested", |s| {
        s.withdraw();
    }),
    ("authority_lost", |s| {
        let why = "the grant ran out".to_owned();
        s.record(Fact::AuthorityLost { why });
    }),
    ("unsupported", |s| {
        let (key, mark) = (true, true);
        s.record(Fact::Unsupported {
            attempt: AttemptNo(1),
            missing: Missing { key, mark },
        });
    }),
    ("noted", |s| {
        let text = "a hook failed".to_owned();
        s.record(Fact::Noted { text });
    }),
];

const BY_TIME_AND_STORE: [Row; 7] = [
    ("deadline_passed", |s| {
        let at = s.now;
        s.record(Fact::DeadlinePassed { at });
    }),
    ("approval_over", |s| {
        let at = s.now;
        s.record(Fact::ApprovalOver { at });
    }),
    ("clock_read", |s| {
        let at = s.now;
        s.record(Fact::ClockRead { at });
    }),
    ("gave_up", |s| {
        s.record(Fact::GaveUp { attempts: 4 });
    }),
    ("search_ended", |s| {
        let (why, at) = ("rather missing than twice".to_owned(), s.now);
        s.record(Fact::SearchEnded { why, at });
    }),
    ("store_restored", |s| {
        s.restore_released = false;
        let at = s.now;
        s.record(Fact::StoreRestored {
            copy_until: at,
            at,
            first_arrival: None,
        });
    }),
    ("not_admitted", |s| {
        let why = "no such operation".to_owned();
        s.record(Fact::NotAdmitted { why });
    }),
];

fn polled(story: &mut Story, answer: PollAnswer) {
    let (attempt, asked_at) = (AttemptNo(1), story.now);
    story.record(Fact::Polled {
        attempt,
        asked_at,
        answer,
    });
}

fn cancel_marked(story: &mut Story) {
    let (now, bound) = (story.now, story.intent.limits.bound);
    story.record(Fact::CancelMarked(CancelMark {
        no: 1,
        epoch: Epoch(0),
        worker: WorkerNonce(1),
        at: now,
        valid_until: now + secs(5),
        lease_until: now + secs(LEASE),
        bound,
    }));
}

fn cancel_answered(story: &mut Story, answer: CancelAnswer) {
    cancel_marked(story);
    story.cancel_answer(1, answer);
}

/// The contracts of the three columns: each can be polled and cancelled by key, so that every fact means something.
pub(crate) fn contracts() -> [(&'static str, Promises); 3] {
    let full = |promises: Promises| Promises {
        completion: Some(CompletionPromise {
            poll: true,
            callback: true,
        }),
        cancel: crate::kit::cancelable(Consequence::Costly, true).cancel,
        ..promises
    };
    let without_cancel = |promises: Promises| Promises {
        cancel: None,
        ..full(promises)
    };
    [
        ("key", full(keyed(Consequence::Costly))),
        ("authoritative lookup", full(lookable(Consequence::Costly))),
        ("neither", without_cancel(bare(Consequence::Costly))),
    ]
}

pub(crate) fn story_in(situation: &Situation, promises: &Promises) -> Story {
    let mut story = Story::new(promises.clone());
    situation.2(&mut story);
    story.at(NOW);
    story
}

pub(crate) fn rows() -> impl Iterator<Item = Row> {
    [
        &BY_OUR_SIDE[..],
        &BY_ANSWER,
        &BY_QUESTION,
        &BY_CANCEL,
        &BY_PEOPLE,
        &BY_TIME_AND_STORE,
    ]
    .into_iter()
    .flatten()
    .copied()
}

#[test]
fn every_state_and_every_kind_of_fact_stands_in_the_table() {
    for (_, promises) in contracts() {
        let mut states = BTreeSet::new();
        for situation in &SITUATIONS {
            let story = story_in(situation, &promises);
            assert_eq!(story.state(), situation.1, "{}", situation.0);
            states.insert(situation.1);
        }
        assert_eq!(states.len(), State::ALL.len());
    }
    let mut kinds = BTreeSet::new();
    for (name, record) in rows() {
        let mut story = story_in(&SITUATIONS[2], &contracts()[0].1);
        let before = story.log.len();
        record(&mut story);
        let added = &story.log[before..];
        let last = added.last().map(|record| record.fact.kind());
        assert!(
            last.is_some_and(|kind| name.starts_with(kind)),
            "{name}: {last:?}"
        );
        kinds.extend(added.iter().map(|record| record.fact.kind()));
    }
    assert_eq!(
        kinds.len(),
        29,
        "a kind of fact is missing in the table: {kinds:?}"
    );
}

#[test]
fn in_every_pair_claims_stand_on_what_was_recorded() {
    for (contract, promises) in contracts() {
        for situation in &SITUATIONS {
            for (name, record) in rows() {
                let mut story = story_in(situation, &promises);
                record(&mut story);
                let pair = format!("{} + {name}, {contract}", situation.0);
                claims_stand(&story, &pair);
            }
        }
    }
}

fn claims_stand(story: &Story, pair: &str) {
    let (status, next) = (story.status(), story.next());
    let says = |says: fn(&Evidence) -> bool| story.log.iter().any(says);
    match status.state.happened() {
        Happened::Yes => assert!(says(exists), "{pair}: no record says that it exists"),
        Happened::No | Happened::NotYet => {
            let marked = says(|r| matches!(r.fact, Fact::Marked(_)));
            assert!(
                !marked || says(speaks_against),
                "{pair}: nothing speaks against it"
            );
        }
        Happened::Unknown => assert!(!status.safe_to_call_again, "{pair}"),
    }
    let key = StatementKey::of(&status, &next);
    let yes = status.state.happened() == Happened::Yes;
    assert_eq!(key.claims_done(), yes, "{pair}: {}", key.name());
    if matches!(next.step, Step::Send(_)) {
        assert!(!status.is_settled(), "{pair}: settled, and a send is next");
    }
}

fn exists(record: &Evidence) -> bool {
    match &record.fact {
        Fact::Answered(answer) => matches!(
            answer.class,
            AnswerClass::Done | AnswerClass::AlreadyExists { ours: true }
        ),
        Fact::Polled { answer, .. } => matches!(answer, PollAnswer::Completed(_)),
        Fact::LookedUp(lookup) => matches!(lookup.answer, LookupAnswer::Found(_)),
        Fact::CalledBack(callback) => matches!(callback, Callback::Positive(_)),
        Fact::CancelAnswered { answer, .. } => matches!(answer, CancelAnswer::TooLate { .. }),
        Fact::Verdict(verdict) => matches!(verdict.ruling, Ruling::Happened { .. }),
        _ => false,
    }
}

fn speaks_against(record: &Evidence) -> bool {
    match &record.fact {
        Fact::NotSent { .. } => true,
        Fact::Answered(answer) => matches!(
            answer.class,
            AnswerClass::Rejected { .. } | AnswerClass::Declined { .. } | AnswerClass::Busy
        ),
        Fact::Polled { answer, .. } => matches!(answer, PollAnswer::Failed { .. }),
        Fact::LookedUp(lookup) => {
            lookup.answer == LookupAnswer::Absent && lookup.asked_at > at(LANDS_AFTER)
        }
        Fact::CalledBack(callback) => matches!(callback, Callback::Negative { .. }),
        Fact::CancelAnswered { answer, .. } => matches!(answer, CancelAnswer::Confirmed { .. }),
        Fact::Verdict(verdict) => verdict.ruling == Ruling::DidNotHappen,
        _ => false,
    }
}
