//! The SQLite store in its own file: its lock, its mark of commits, and what a crash leaves there.

use super::*;
use crate::actions::admission;
use crate::{Admission, Admitted, Claimed, Store};

use factum_core::WorkerNonce;

/// Breaks the batch that it is in: its violation is found by the commit only.
fn broken_at_commit(work: &mut Work) -> Result<(), StoreError> {
    work.conn
        .execute_batch(
            "PRAGMA defer_foreign_keys = ON;
             INSERT INTO evidence (lane, action, no, at, kind, fact, sum)
             VALUES (0, zeroblob(16), 1, 1, 'noted', '', zeroblob(16));",
        )
        .map_err(fault::while_doing("breaking the batch"))
}

/// Keeps the writer busy until it is told to go on, so that what queues meanwhile is one batch.
fn keep_busy(store: &SqliteStore) -> (std::sync::mpsc::Sender<()>, Answer<'_, ()>) {
    let (begun, has_begun) = std::sync::mpsc::channel();
    let (go, may_go) = std::sync::mpsc::channel::<()>();
    let busy = store.command(
        ("keeping the writer busy", Kind::Claims),
        move |_| {
            begun.send(()).unwrap();
            may_go.recv().unwrap();
            Ok(())
        },
        |(), _| {},
    );
    has_begun.recv().unwrap();
    (go, busy)
}

// R26: what a failed command takes back with it, each caller is told of, and may repeat; what came behind it goes on.
#[tokio::test]
async fn a_command_that_fails_after_it_wrote_takes_its_batch_back() {
    let worker = (WorkerNonce(1), Span::from_secs(60));
    let files = tempfile::tempdir().unwrap();
    let path = files.path().join("factum.db");
    let opened = SqliteStore::open(Options::new(&path, StoreKeys([1; 32]))).unwrap();
    let store = opened.store;
    let wish = |n| Admission {
        claim_for: Some(worker),
        ..admission(n)
    };
    // `none` for what is not settled breaks law 8, and the file refuses it.
    let mut forgotten = wish(2);
    forgotten.next.step = "none".to_owned();
    forgotten.next.at = None;
    let (go, busy) = keep_busy(&store);
    let (first, second) = (store.admit(wish(1)), store.admit(forgotten));
    let third = store.admit(wish(3));
    go.send(()).unwrap();
    busy.await.unwrap();
    let error = first.await.unwrap_err();
    assert!(error.is_passing(), "{error}");
    let error = second.await.unwrap_err().to_string();
    assert!(error.contains("standing_none_is_settled"), "{error}");
    assert!(matches!(third.await.unwrap(), Admitted::Created(..)));
    for n in [1, 2] {
        let id = admission(n).action.intent.action;
        assert!(store.load(id).await.unwrap().is_none());
        // Its claim went with it: repeated, it is claimed.
        let created = store.admit(wish(n)).await.unwrap();
        assert!(matches!(created, Admitted::Created(_, Some(_))));
    }
}

// R32: a commit that failed leaves nothing behind, in the file or in memory, and everybody in it is told.
#[tokio::test]
async fn a_commit_that_fails_takes_its_whole_batch_back() {
    let worker = (WorkerNonce(1), Span::from_secs(60));
    let files = tempfile::tempdir().unwrap();
    let path = files.path().join("factum.db");
    let opened = SqliteStore::open(Options::new(&path, StoreKeys([1; 32]))).unwrap();
    let store = opened.store;
    let (go, busy) = keep_busy(&store);
    let wish = || Admission {
        claim_for: Some(worker),
        ..admission(1)
    };
    let before = store.commits();
    let admitted = store.admit(wish());
    let broken = store.command(
        ("breaking the batch", Kind::Writes),
        broken_at_commit,
        |(), _| {},
    );
    go.send(()).unwrap();
    busy.await.unwrap();
    let errors = [admitted.await.unwrap_err(), broken.await.unwrap_err()];
    for error in errors {
        assert!(matches!(error.kind, StoreErrorKind::InDoubt(_)), "{error}");
        assert!(error.is_passing());
    }
    let id = admission(1).action.intent.action;
    assert!(store.load(id).await.unwrap().is_none());
    let claimed = store.claim(id, worker.0, worker.1).await.unwrap();
    assert!(matches!(claimed, Claimed::Gone), "not in memory either");
    // Repeating it is safe, and it is claimed as if for the first time.
    let repeated = store.admit(wish()).await.unwrap();
    assert!(matches!(repeated, Admitted::Created(_, Some(_))));
    assert_eq!(store.commits() - before, 1);
}
// An upgrade may read the same evidence otherwise; that is no damage.
#[tokio::test]
async fn a_state_that_another_version_wrote_is_outdated_and_not_damaged() {
    let files = tempfile::tempdir().unwrap();
    let path = files.path().join("factum.db");
    let opened = SqliteStore::open(Options::new(&path, StoreKeys([1; 32]))).unwrap();
    let store = opened.store;
    let Admitted::Created(record, _) = store.admit(admission(1)).await.unwrap() else {
        panic!("new")
    };
    let id = record.id();
    let other = row::Standing {
        state: factum_core::State::OutcomeUnknown,
        version: 2,
        ..row::Standing::of(&record)
    };
    let rewrite = store.command(
        ("writing as another version", Kind::Writes),
        move |work| {
            work.touch(id);
            row::update_standing(&work.conn, &work.sums, &other)
                .map_err(fault::while_doing("writing as another version"))
        },
        |_, _| {},
    );
    assert!(rewrite.await.unwrap());
    let loaded = store.load(id).await.unwrap().unwrap();
    assert_eq!(loaded.status().state, factum_core::State::Pending);
    let verified = store.verify_all().await.unwrap();
    assert_eq!((verified.outdated, verified.findings), (vec![id], vec![]));
}
