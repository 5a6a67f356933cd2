//! Group commit, and what happens to a group whose commit fails.

use factum_core::evidence::AnswerClass;
use factum_core::mistake::{Mistake, making};
use factum_store::sqlite::{Options, SqliteStore};
use factum_store::{Admitted, Claimed, Committed, Filter, Store, StoreErrorKind};
use rusqlite::Connection;

use super::{database, open_in, options};
use crate::fixtures::{
    MINUTE, START, TestClock, WORKER, action, admission, answered, mark, next, submission,
};

#[tokio::test]
async fn commands_that_queue_share_their_commit() {
    let files = tempfile::tempdir().unwrap();
    let store = open_in(files.path(), &TestClock::new()).unwrap().store;
    let before = store.commits();
    // Somebody else's transaction keeps the first batch waiting, so that the others queue behind it for certain.
    let other = Connection::open(database(files.path())).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    // A command is sent when the call is made, not when its answer is awaited.
    let running: Vec<_> = (0..300).map(|n| store.admit(admission(n))).collect();
    other.execute_batch("ROLLBACK").unwrap();
    for admitted in running {
        assert!(matches!(admitted.await.unwrap(), Admitted::Created(..)));
    }
    let commits = store.commits() - before;
    assert!(
        (2..=3).contains(&commits),
        "300 submissions in {commits} commits of at most 256"
    );
}

#[tokio::test]
async fn what_writes_nothing_commits_nothing() {
    let files = tempfile::tempdir().unwrap();
    let store = open_in(files.path(), &TestClock::new()).unwrap().store;
    store.admit(admission(1)).await.unwrap();
    let id = admission(1).action.intent.action;
    let before = store.commits();
    let Claimed::Held(claim, _) = store.claim(id, WORKER, MINUTE).await.unwrap() else {
        panic!("free")
    };
    assert!(store.renew(&claim, MINUTE).await.unwrap());
    assert!(matches!(
        store.admit(admission(1)).await.unwrap(),
        Admitted::Joined(_)
    ));
    let other = submission(action("key-1", "whole", 1));
    assert!(matches!(
        store.admit(other).await.unwrap(),
        Admitted::Conflict { .. }
    ));
    assert!(store.record(id, Vec::new()).await.unwrap().is_some());
    let stale = claim.at_version(7);
    let refused = store
        .commit(&stale, vec![mark(1, START)], next("wait", Some(START)))
        .await;
    assert!(matches!(refused.unwrap(), Committed::Stale));
    store.release(stale).await.unwrap();
    assert_eq!(store.commits(), before);
}

#[tokio::test]
async fn a_writer_that_cannot_begin_says_so_and_goes_on_later() {
    let files = tempfile::tempdir().unwrap();
    let store = open_in(files.path(), &TestClock::new()).unwrap().store;
    let other = Connection::open(database(files.path())).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = store.admit(admission(1)).await.unwrap_err();
    assert!(
        matches!(error.kind, StoreErrorKind::Unavailable(_)),
        "{error}"
    );
    assert!(error.is_passing());
    other.execute_batch("ROLLBACK").unwrap();
    assert!(matches!(
        store.admit(admission(1)).await.unwrap(),
        Admitted::Created(..)
    ));
}

#[tokio::test]
async fn a_full_disk_writes_nothing_by_halves_and_the_writer_survives() {
    let files = tempfile::tempdir().unwrap();
    let clock = TestClock::new();
    let small = Options {
        bytes_max: Some(400_000),
        ..options(files.path(), &clock)
    };
    let store = SqliteStore::open(small).unwrap().store;
    let mut written = 0;
    let large = |n: u64| {
        let mut action = action(&format!("key-{n}"), "broken", n);
        action.content.payload = "x".repeat(20_000);
        let mut wish = submission(action);
        wish.facts = vec![mark(1, START)];
        wish.next = next("wait", Some(START));
        wish
    };
    let error = loop {
        match store.admit(large(written)).await {
            Ok(Admitted::Created(..)) => written += 1,
            Ok(other) => panic!("{other:?}"),
            Err(error) => break error,
        }
    };
    assert!(matches!(error.kind, StoreErrorKind::Full), "{error}");
    assert!(error.is_passing());
    assert!(written > 5, "{written}");
    let half = large(written).action.intent.action;
    assert!(store.load(half).await.unwrap().is_none());
    assert!(
        store.admit(large(written)).await.is_err(),
        "it is still full"
    );
    // What is there can be read, and claimed.
    let id = large(0).action.intent.action;
    assert!(matches!(
        store.claim(id, WORKER, MINUTE).await.unwrap(),
        Claimed::Held(..)
    ));
    let all = Filter {
        limit: 1_000,
        ..Filter::default()
    };
    assert_eq!(store.list(all).await.unwrap().len() as u64, written);
    assert!(store.verify_all().await.unwrap().findings.is_empty());
    store.close().await.unwrap();
    drop(store);
    let store = open_in(files.path(), &clock).unwrap().store;
    assert!(matches!(
        store.admit(large(written)).await.unwrap(),
        Admitted::Created(..)
    ));
}

#[tokio::test]
async fn a_claim_whose_caller_went_away_holds_nothing() {
    let files = tempfile::tempdir().unwrap();
    let store = open_in(files.path(), &TestClock::new()).unwrap().store;
    store.admit(admission(1)).await.unwrap();
    let id = admission(1).action.intent.action;
    // The writer is kept busy until the caller has gone.
    let other = Connection::open(database(files.path())).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let busy = store.admit(admission(2));
    drop(store.claim(id, WORKER, MINUTE));
    let mut claimed = admission(3);
    claimed.claim_for = Some((WORKER, MINUTE));
    drop(store.admit(claimed));
    other.execute_batch("ROLLBACK").unwrap();
    busy.await.unwrap();
    for n in [1, 3] {
        let id = admission(n).action.intent.action;
        let held = store.claim(id, WORKER, MINUTE).await.unwrap();
        assert!(matches!(held, Claimed::Held(..)), "{n}: {held:?}");
    }
}

#[tokio::test]
async fn a_restart_frees_claims_and_keeps_marks() {
    let files = tempfile::tempdir().unwrap();
    let clock = TestClock::new();
    let store = open_in(files.path(), &clock).unwrap().store;
    let mut tokens = Vec::new();
    for n in 1..3 {
        store.admit(admission(n)).await.unwrap();
        let id = admission(n).action.intent.action;
        let Claimed::Held(claim, _) = store.claim(id, WORKER, MINUTE).await.unwrap() else {
            panic!("free")
        };
        if n == 2 {
            let wait = next("wait", Some(START + MINUTE));
            store
                .commit(&claim, vec![mark(1, START)], wait)
                .await
                .unwrap();
        }
        tokens.push(claim);
    }
    drop(store);
    let store = open_in(files.path(), &clock).unwrap().store;
    for (n, old) in (1..3).zip(tokens) {
        let id = admission(n).action.intent.action;
        let Claimed::Held(claim, record) = store.claim(id, WORKER, MINUTE).await.unwrap() else {
            panic!("free")
        };
        assert_ne!(claim.token, old.token);
        assert_eq!(record.known.open_marks().len(), usize::from(n == 2));
        let done = vec![answered(1, AnswerClass::Done)];
        let refused = store.commit(&old, done, next("none", None)).await.unwrap();
        assert!(
            matches!(refused, Committed::Stale),
            "a claim of the former process"
        );
    }
}

/// More than there is room for, sent at once: which of them were said to be recorded, and which are.
async fn more_than_fits_at_once() -> (usize, usize) {
    let files = tempfile::tempdir().unwrap();
    let clock = TestClock::new();
    let small = Options {
        bytes_max: Some(400_000),
        ..options(files.path(), &clock)
    };
    let store = SqliteStore::open(small).unwrap().store;
    let large = |n: u64| {
        let mut action = action(&format!("key-{n}"), "broken", n);
        action.content.payload = "x".repeat(20_000);
        submission(action)
    };
    let other = Connection::open(database(files.path())).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let running: Vec<_> = (0..60).map(|n| store.admit(large(n))).collect();
    other.execute_batch("ROLLBACK").unwrap();
    let (mut said, mut there) = (0, 0);
    for (n, admitted) in (0..).zip(running) {
        if matches!(admitted.await, Ok(Admitted::Created(..))) {
            said += 1;
            let id = large(n).action.intent.action;
            there += usize::from(store.load(id).await.unwrap().is_some());
        }
    }
    (said, there)
}

// R26: a batch that is taken back is taken back from everybody in it.
#[tokio::test]
async fn what_is_said_to_be_recorded_is_there_though_the_disk_is_full() {
    let (said, there) = more_than_fits_at_once().await;
    assert_eq!(said, there);
}

#[test]
fn a_batch_that_is_answered_as_written_is_noticed() {
    let (said, there) = making(Some(Mistake::BatchAnsweredAsWritten), || {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.unwrap().block_on(more_than_fits_at_once())
    });
    assert!(
        said > there,
        "{said} are said to be recorded, and {there} are"
    );
}
