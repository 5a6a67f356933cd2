//! Claims, decisions and evidence: two write paths, one of them fenced.

use factum_core::evidence::{AnswerClass, Receipt};
use factum_core::{EvidenceId, State, WorkerNonce};
use factum_store::{Admission, Claimed, Committed, Recorded};

use super::{Ready, on_each_store};
use crate::fixtures::{MINUTE, START, WORKER, admission, answered, lost, mark, next, refused};

on_each_store!(
    a_claim_excludes_everybody_until_its_lease_is_over,
    a_superseded_claim_can_do_nothing_and_its_evidence_counts,
    a_lease_that_is_over_fences_even_while_nobody_else_claims,
    recorded_evidence_makes_decisions_on_older_versions_stale,
    a_conclusion_from_an_older_version_is_not_recorded,
    late_evidence_settles_what_was_settled_otherwise,
    a_claim_commits_step_by_step,
    recording_nothing_changes_nothing,
    what_does_not_exist_is_told_apart,
    marks_in_a_batch_come_back_row_by_row,
    renewing_prolongs_and_never_shortens,
    a_decision_that_forgets_an_action_is_refused,
);

fn durable(committed: Committed) -> Recorded {
    match committed {
        Committed::Durable(recorded) => recorded,
        Committed::Stale => panic!("stale"),
    }
}

async fn a_claim_excludes_everybody_until_its_lease_is_over(at: Ready) {
    let record = at.create(admission(1)).await;
    let (claim, held) = at.hold(&record).await;
    assert_eq!((claim.version, held.version), (1, 1));
    for worker in [WORKER, WorkerNonce(2)] {
        // B175: recovery in the same process must not adopt a live claim either.
        let busy = at.store.claim(record.id(), worker, MINUTE).await.unwrap();
        assert!(matches!(busy, Claimed::Busy(until) if until == START + MINUTE));
    }
    at.store.release(claim).await.unwrap();
    let (claim, _) = at.hold(&record).await;
    at.clock.pass(MINUTE);
    let (second, _) = at.hold(&record).await;
    assert_ne!(claim.token, second.token);
}

// B160, B161: the same worker claims anew after its lease; its earlier claim can do nothing any more.
async fn a_superseded_claim_can_do_nothing_and_its_evidence_counts(at: Ready) {
    let record = at.create(admission(1)).await;
    let (first, _) = at.hold(&record).await;
    at.clock.pass(MINUTE);
    let (second, _) = at.hold(&record).await;

    let wait = || next("wait", Some(START + MINUTE));
    let marked = at.store.commit(&first, vec![mark(1, START)], wait()).await;
    assert!(matches!(marked.unwrap(), Committed::Stale));
    assert!(!at.store.renew(&first, MINUTE).await.unwrap());
    at.store.release(first).await.unwrap();
    assert!(
        at.store.renew(&second, MINUTE).await.unwrap(),
        "a stale release frees nothing"
    );
    let late = at.store.record(record.id(), vec![lost(1)]).await.unwrap();
    assert_eq!(late.map(|recorded| recorded.version), Some(2));
}

async fn a_lease_that_is_over_fences_even_while_nobody_else_claims(at: Ready) {
    let record = at.create(admission(1)).await;
    let (claim, _) = at.hold(&record).await;
    at.clock.pass(MINUTE);
    let wait = next("wait", Some(START));
    let marked = at.store.commit(&claim, vec![mark(1, START)], wait).await;
    assert!(matches!(marked.unwrap(), Committed::Stale));
    assert!(!at.store.renew(&claim, MINUTE).await.unwrap());
    assert!(at.read(&record).await.known.is_empty());
}

async fn recorded_evidence_makes_decisions_on_older_versions_stale(at: Ready) {
    let record = at.create(admission(1)).await;
    let (claim, _) = at.hold(&record).await;
    let recorded = at
        .store
        .record(
            record.id(),
            vec![factum_core::Fact::CancelRequested {
                by: "ana".to_owned(),
                why: "not needed".to_owned(),
            }],
        )
        .await
        .unwrap()
        .unwrap();
    assert_eq!(recorded.version, 2);
    assert_eq!(recorded.states, (State::Pending, State::Cancelled));
    let wait = next("wait", Some(START));
    let marked = at.store.commit(&claim, vec![mark(1, START)], wait).await;
    assert!(matches!(marked.unwrap(), Committed::Stale));

    let read = at.read(&record).await;
    assert_eq!((read.version, read.known.len()), (2, 1));
    assert_eq!(read.next.step, "wait");
    assert_eq!(
        read.next.at,
        Some(recorded.at),
        "it is decided anew at once"
    );
    // The hold itself is left alone: at the new version it decides again.
    let claim = claim.at_version(2);
    let none = at
        .store
        .commit(&claim, Vec::new(), next("none", None))
        .await;
    assert_eq!(durable(none.unwrap()).version, 3);
}

async fn a_conclusion_from_an_older_version_is_not_recorded(at: Ready) {
    let record = at.create(admission(1)).await;
    let (claim, held) = at.hold(&record).await;
    let decided = at
        .store
        .commit(&claim, Vec::new(), next("wait", Some(START)));
    assert_eq!(durable(decided.await.unwrap()).version, 2);
    let conclude = |version| at.store.record_at(record.id(), version, vec![lost(1)]);
    let stale = conclude(held.version).await.unwrap();
    assert!(matches!(stale, Some(Committed::Stale)));
    assert!(at.read(&record).await.known.is_empty());
    let fresh = conclude(2).await.unwrap().unwrap();
    assert_eq!(durable(fresh).version, 3, "whoever holds it");
    let absent = admission(2).action.intent.action;
    let gone = at.store.record_at(absent, 1, vec![lost(1)]).await.unwrap();
    assert!(gone.is_none());
}

async fn late_evidence_settles_what_was_settled_otherwise(at: Ready) {
    let record = at
        .create(Admission {
            facts: vec![mark(1, START), refused(1)],
            next: next("none", None),
            ..admission(1)
        })
        .await;
    assert_eq!(record.status().state, State::TerminalFailure);
    let late = at
        .store
        .record(record.id(), vec![answered(1, AnswerClass::Done)])
        .await
        .unwrap()
        .unwrap();
    assert_eq!(late.states, (State::TerminalFailure, State::Succeeded));
    assert_eq!(late.ids, [EvidenceId(3)]);
    let status = at.read(&record).await.status();
    assert!(status.revised);
    assert_eq!(status.receipt, Some(Receipt::new("T-4711")));
}

async fn a_claim_commits_step_by_step(at: Ready) {
    let record = at.create(admission(1)).await;
    let (claim, _) = at.hold(&record).await;
    let wait = next("wait", Some(START + MINUTE));
    let marked = durable(
        at.store
            .commit(&claim, vec![mark(1, START)], wait.clone())
            .await
            .unwrap(),
    );
    assert_eq!((marked.version, marked.at), (2, START));
    assert_eq!(marked.states, (State::Pending, State::Dispatching));
    let repeated = at.store.commit(&claim, vec![mark(1, START)], wait).await;
    assert!(
        matches!(repeated.unwrap(), Committed::Stale),
        "R12: a mark is given out once"
    );
    let claim = claim.at_version(marked.version);
    let done = vec![answered(1, AnswerClass::Done)];
    let settled = durable(
        at.store
            .commit(&claim, done, next("none", None))
            .await
            .unwrap(),
    );
    assert_eq!(settled.states, (State::Dispatching, State::Succeeded));
    let read = at.read(&record).await;
    assert_eq!((read.version, read.next), (3, next("none", None)));
    assert_eq!(at.store.history(record.id()).await.unwrap().len(), 2);
}

async fn recording_nothing_changes_nothing(at: Ready) {
    let record = at.create(admission(1)).await;
    let nothing = at.store.record(record.id(), Vec::new()).await.unwrap();
    assert_eq!(nothing.map(|recorded| recorded.version), Some(1));
    assert_eq!(at.read(&record).await.next, admission(1).next);
}

async fn what_does_not_exist_is_told_apart(at: Ready) {
    let absent = admission(1).action.intent.action;
    assert!(at.store.load(absent).await.unwrap().is_none());
    assert!(at.store.history(absent).await.unwrap().is_empty());
    assert!(
        at.store
            .record(absent, vec![lost(1)])
            .await
            .unwrap()
            .is_none()
    );
    let claimed = at.store.claim(absent, WORKER, MINUTE).await.unwrap();
    assert!(matches!(claimed, Claimed::Gone));
}

// R26: of several marks that are written together, only those that come back durable may be sent.
async fn marks_in_a_batch_come_back_row_by_row(at: Ready) {
    let mut claims = Vec::new();
    for n in 0..40 {
        let record = at.create(admission(n)).await;
        let (claim, _) = at.hold(&record).await;
        if n % 4 == 0 {
            at.store.record(record.id(), vec![lost(9)]).await.unwrap();
        }
        claims.push((n, claim));
    }
    let mut running = Vec::new();
    for (n, claim) in claims {
        let store = std::sync::Arc::clone(&at.store);
        running.push(tokio::spawn(async move {
            let wait = next("wait", Some(START + MINUTE));
            let committed = store.commit(&claim, vec![mark(1, START)], wait).await;
            (n, claim.action, committed.unwrap())
        }));
    }
    for task in running {
        let (n, id, committed) = task.await.unwrap();
        let record = at.store.load(id).await.unwrap().unwrap();
        match committed {
            Committed::Durable(_) => {
                assert_ne!(n % 4, 0);
                assert_eq!(record.known.attempts_marked(), 1);
            }
            Committed::Stale => {
                assert_eq!(n % 4, 0);
                assert_eq!(record.known.attempts_marked(), 0);
            }
        }
    }
}

async fn renewing_prolongs_and_never_shortens(at: Ready) {
    let record = at.create(admission(1)).await;
    let (claim, _) = at.hold(&record).await;
    let second = factum_core::Span::from_secs(1);
    assert!(at.store.renew(&claim, second).await.unwrap());
    at.clock.pass(second + second);
    assert!(
        at.store.renew(&claim, MINUTE).await.unwrap(),
        "not shortened"
    );
    at.clock.pass(factum_core::Span::from_secs(59));
    assert!(at.store.renew(&claim, MINUTE).await.unwrap(), "prolonged");
}

// Law 8: only what is settled may be left without a next step.
async fn a_decision_that_forgets_an_action_is_refused(at: Ready) {
    let record = at.create(admission(1)).await;
    let (claim, _) = at.hold(&record).await;
    for (step, time) in [
        ("none", None),
        ("send", None),
        ("review", Some(START)),
        ("retry", Some(START)),
    ] {
        let refused = at.store.commit(&claim, Vec::new(), next(step, time)).await;
        assert!(refused.is_err(), "{step}");
    }
    assert_eq!(at.read(&record).await.version, 1, "nothing was written");
    let facts = vec![mark(1, START), answered(1, AnswerClass::Done)];
    let settled = at.store.commit(&claim, facts, next("none", None)).await;
    assert_eq!(durable(settled.unwrap()).version, 2);
}
