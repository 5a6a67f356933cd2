//! Answers that are lost between a worker and the database: resolved by repeating and reading back, never assumed (R32).

use factum_core::Fact;
use factum_store::postgres::{Options, PostgresStore};
use factum_store::{Admission, Admitted, Claimed, Committed, Store, StoreErrorKind};

use super::proxy::{Cut, Proxy};
use super::{Database, KEYS, connect};
use crate::fixtures::{MINUTE, START, WORKER, admission, mark, next};

/// A worker with one connection, through a proxy, whose statements are prepared already.
async fn worker(database: &Database, proxy: &Proxy) -> PostgresStore {
    let options = Options {
        connections: 1,
        ..Options::new(proxy.url(&database.url), KEYS)
    };
    let store = PostgresStore::open(options).await.unwrap();
    let Admitted::Created(record, _) = store.admit(admission(0)).await.unwrap() else {
        panic!("the first is new");
    };
    let Claimed::Held(claim, _) = store.claim(record.id(), WORKER, MINUTE).await.unwrap() else {
        panic!("a new action is free");
    };
    store.record(record.id(), vec![note("warm")]).await.unwrap();
    store
        .commit(&claim, Vec::new(), next("wait", Some(START)))
        .await
        .unwrap();
    store
}

fn note(text: &str) -> Fact {
    Fact::Noted {
        text: text.to_owned(),
    }
}

async fn actions(database: &Database) -> i64 {
    let client = connect(&database.url).await;
    client
        .query_one("SELECT count(*) FROM factum.action", &[])
        .await
        .unwrap()
        .get(0)
}

const LOSSES: [Cut; 2] = [Cut::Request, Cut::Answer];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn a_submission_whose_answer_is_lost_is_one_action() {
    for loss in LOSSES {
        let database = Database::make().await;
        let proxy = Proxy::before(&database.url).await;
        let store = worker(&database, &proxy).await;
        proxy.cut(loss);
        let wish = Admission {
            claim_for: Some((WORKER, MINUTE)),
            ..admission(1)
        };
        let admitted = store.admit(wish).await.unwrap();
        assert!(proxy.was_cut());
        let Admitted::Created(record, Some(claim)) = admitted else {
            panic!("it is ours: {admitted:?}");
        };
        assert_eq!(actions(&database).await, 2, "the one before, and this one");
        let committed = store
            .commit(&claim, vec![note("held")], next("wait", Some(START)))
            .await
            .unwrap();
        assert!(matches!(committed, Committed::Durable(_)));
        assert_eq!(store.history(record.id()).await.unwrap().len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn evidence_whose_answer_is_lost_is_written_once() {
    for loss in LOSSES {
        let database = Database::make().await;
        let proxy = Proxy::before(&database.url).await;
        let store = worker(&database, &proxy).await;
        let Admitted::Created(record, _) = store.admit(admission(1)).await.unwrap() else {
            panic!("it is new");
        };
        // The reading comes first; what is lost is the writing that follows.
        store
            .record(record.id(), vec![note("first")])
            .await
            .unwrap();
        let Claimed::Held(claim, held) = store.claim(record.id(), WORKER, MINUTE).await.unwrap()
        else {
            panic!("it is free");
        };
        proxy.cut(loss);
        let committed = store
            .commit(&claim, vec![note("second")], next("wait", Some(START)))
            .await;
        assert!(proxy.was_cut());
        let log = store.history(record.id()).await.unwrap();
        match loss {
            Cut::Answer => {
                assert!(
                    matches!(committed, Ok(Committed::Durable(_))),
                    "{committed:?}"
                );
                assert_eq!(log.len(), 2);
            }
            Cut::Request | Cut::Nothing | Cut::Everything => {
                assert!(
                    matches!(committed, Ok(Committed::Stale)),
                    "nothing was written: {committed:?}"
                );
                assert_eq!(log.len(), 1);
            }
        }
        assert_eq!(
            held.version + u64::from(log.len() == 2),
            store.load(record.id()).await.unwrap().unwrap().version
        );
    }
}

// R32: a claim whose answer is lost is its worker's, and not busy for it until the lease is over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn a_claim_whose_answer_is_lost_is_held_once() {
    for loss in LOSSES {
        let database = Database::make().await;
        let proxy = Proxy::before(&database.url).await;
        let store = worker(&database, &proxy).await;
        let Admitted::Created(record, _) = store.admit(admission(1)).await.unwrap() else {
            panic!("it is new");
        };
        proxy.cut(loss);
        let claimed = store.claim(record.id(), WORKER, MINUTE).await.unwrap();
        assert!(proxy.was_cut());
        let Claimed::Held(claim, _) = claimed else {
            panic!("nobody else wants it: {claimed:?}");
        };
        let committed = store
            .commit(&claim, vec![mark(1, START)], next("wait", Some(START)))
            .await
            .unwrap();
        assert!(matches!(committed, Committed::Durable(_)));
        let other = database.open(None).await;
        let claimed = other.claim(record.id(), WORKER, MINUTE).await.unwrap();
        assert!(matches!(claimed, Claimed::Busy(_)), "{claimed:?}");
    }
}

// A doubt that cannot be resolved stays one: nobody is told that nothing was written.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn a_doubt_that_cannot_be_resolved_stays_one() {
    let database = Database::make().await;
    let proxy = Proxy::before(&database.url).await;
    let store = worker(&database, &proxy).await;
    proxy.cut(Cut::Everything);
    let doubt = store.admit(admission(1)).await.map(|_| ()).unwrap_err();
    assert!(matches!(doubt.kind, StoreErrorKind::InDoubt(_)), "{doubt}");
    assert_eq!(actions(&database).await, 2, "it was written");
    // Nothing was sent of this one: that is no doubt.
    let refused = store.admit(admission(2)).await.map(|_| ()).unwrap_err();
    assert!(
        matches!(refused.kind, StoreErrorKind::Unavailable(_)),
        "{refused}"
    );
}

// R12: nobody writes a byte for a mark that may not be there; and if it is there, everybody sees "maybe sent".
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn a_mark_whose_answer_is_lost_is_no_leave() {
    for loss in LOSSES {
        let database = Database::make().await;
        let proxy = Proxy::before(&database.url).await;
        let store = worker(&database, &proxy).await;
        let Admitted::Created(record, _) = store.admit(admission(1)).await.unwrap() else {
            panic!("it is new");
        };
        let Claimed::Held(claim, _) = store.claim(record.id(), WORKER, MINUTE).await.unwrap()
        else {
            panic!("it is free");
        };
        proxy.cut(loss);
        let committed = store
            .commit(&claim, vec![mark(1, START)], next("wait", Some(START)))
            .await;
        let doubt = committed.map(|_| ()).unwrap_err();
        assert!(matches!(doubt.kind, StoreErrorKind::InDoubt(_)), "{doubt}");
        let marked = store.history(record.id()).await.unwrap().len();
        assert_eq!(marked, usize::from(matches!(loss, Cut::Answer)));
    }
}

// The state in doubt itself: an identity that another transaction has prepared and not decided.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn an_identity_in_doubt_is_waited_for_and_never_called_absent() {
    let database = Database::make().await;
    database.open(None).await.close();
    let options = Options {
        patience: std::time::Duration::from_secs(2),
        ..Options::new(&database.url, KEYS)
    };
    let store = PostgresStore::open(options).await.unwrap();
    let Admitted::Created(first, _) = store.admit(admission(1)).await.unwrap() else {
        panic!("it is new");
    };
    // The same rows, as a transaction that is prepared: what a coordinator leaves behind when it dies.
    let client = connect(&database.url).await;
    client
        .batch_execute(
            "BEGIN; CREATE TEMP TABLE was ON COMMIT DROP AS SELECT 1; COMMIT; \
             CREATE TABLE public.saved_action AS TABLE factum.action; CREATE TABLE public.saved_standing AS TABLE factum.standing; \
             DELETE FROM factum.standing; DELETE FROM factum.action; \
             BEGIN; INSERT INTO factum.action SELECT * FROM public.saved_action; \
             INSERT INTO factum.standing SELECT * FROM public.saved_standing; PREPARE TRANSACTION 'in doubt'",
        )
        .await
        .unwrap();
    let waited = store.admit(admission(1)).await.map(|_| ()).unwrap_err();
    assert!(waited.is_passing(), "the caller may repeat: {waited}");
    client
        .batch_execute("COMMIT PREPARED 'in doubt'")
        .await
        .unwrap();
    let admitted = store.admit(admission(1)).await.unwrap();
    assert!(
        matches!(&admitted, Admitted::Joined(record) if record.id() == first.id()),
        "{admitted:?}"
    );
    assert_eq!(actions(&database).await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn a_database_that_is_away_refuses_before_anything_is_recorded() {
    let gone = Options {
        patience: std::time::Duration::from_millis(300),
        ..Options::new("postgresql://factum@127.0.0.1:1/none", KEYS)
    };
    let error = PostgresStore::open(gone).await.map(|_| ()).unwrap_err();
    assert!(
        matches!(error.kind, StoreErrorKind::Unavailable(_)),
        "{error}"
    );
    // Every connection is taken.
    let database = Database::make().await;
    let narrow = Options {
        connections: 1,
        patience: std::time::Duration::from_secs(2),
        ..Options::new(&database.url, KEYS)
    };
    let store = PostgresStore::open(narrow).await.unwrap();
    let locking = connect(&database.url).await;
    locking
        .batch_execute("BEGIN; LOCK TABLE factum.action IN ACCESS EXCLUSIVE MODE")
        .await
        .unwrap();
    let (one, two) = tokio::join!(store.admit(admission(1)), store.admit(admission(2)));
    for answer in [one, two] {
        let error = answer.map(|_| ()).unwrap_err();
        assert!(error.is_passing(), "{error}");
    }
    locking.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(actions(&database).await, 0);
    assert!(matches!(
        store.admit(admission(1)).await.unwrap(),
        Admitted::Created(..)
    ));
}
