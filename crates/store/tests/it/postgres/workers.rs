//! Several workers on one store.

use std::sync::Arc;

use factum_core::evidence::AnswerClass;
use factum_core::{Span, WorkerNonce};
use factum_store::postgres::{Options, PostgresStore, StoreKeys};
use factum_store::{Admitted, Claimed, Committed, Store, StoreErrorKind};

use super::{Database, KEYS};
use crate::fixtures::{MINUTE, START, TestClock, admission, answered, mark, next};

const OTHER: WorkerNonce = WorkerNonce(0xfeed_0000_0000_0002);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn of_many_claims_at_once_one_is_held() {
    let database = Database::make().await;
    let store = Arc::new(database.open(None).await);
    let Admitted::Created(record, _) = store.admit(admission(1)).await.unwrap() else {
        panic!("it is new");
    };
    let second = Arc::new(database.open(None).await);
    let claims = (0..8u64).map(|n| {
        let (store, id) = (
            if n % 2 == 0 {
                Arc::clone(&store)
            } else {
                Arc::clone(&second)
            },
            record.id(),
        );
        tokio::spawn(async move { store.claim(id, WorkerNonce(n), MINUTE).await.unwrap() })
    });
    let mut held = 0;
    for claim in claims.collect::<Vec<_>>() {
        held += u32::from(matches!(claim.await.unwrap(), Claimed::Held(..)));
    }
    assert_eq!(held, 1);
}

// A worker that was stopped and resumes cannot write a decision, and can still add facts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn a_worker_that_was_stopped_decides_nothing_and_adds_facts() {
    let database = Database::make().await;
    let clock = TestClock::new();
    let (stopped, other) = (
        database.open(Some(clock.clock())).await,
        database.open(Some(clock.clock())).await,
    );
    let Admitted::Created(record, _) = stopped.admit(admission(1)).await.unwrap() else {
        panic!("it is new");
    };
    let Claimed::Held(old, _) = stopped
        .claim(record.id(), WorkerNonce(1), MINUTE)
        .await
        .unwrap()
    else {
        panic!("it is free");
    };
    let committed = stopped
        .commit(&old, vec![mark(1, START)], next("wait", Some(START)))
        .await
        .unwrap();
    let Committed::Durable(recorded) = committed else {
        panic!("it is held")
    };
    let old = old.at_version(recorded.version);
    assert!(
        matches!(other.claim(record.id(), OTHER, MINUTE).await.unwrap(), Claimed::Busy(until) if until == START + MINUTE)
    );
    clock.pass(MINUTE + Span::from_secs(1));
    let Claimed::Held(new, _) = other.claim(record.id(), OTHER, MINUTE).await.unwrap() else {
        panic!("the lease is over");
    };
    let late = stopped
        .commit(&old, Vec::new(), next("send", Some(START)))
        .await
        .unwrap();
    assert!(matches!(late, Committed::Stale));
    assert!(!stopped.renew(&old, MINUTE).await.unwrap());
    stopped
        .record(record.id(), vec![answered(1, AnswerClass::Done)])
        .await
        .unwrap()
        .unwrap();
    // What arrived makes the other one's decision stale too: it decides anew, on what is known now.
    assert!(matches!(
        other
            .commit(&new, Vec::new(), next("send", Some(START)))
            .await
            .unwrap(),
        Committed::Stale
    ));
    let seen = other.load(record.id()).await.unwrap().unwrap();
    assert_eq!(seen.status().state, factum_core::State::Succeeded);
    // Giving back a claim that is not held any more frees nobody else's.
    stopped.release(old).await.unwrap();
    assert!(matches!(
        stopped
            .claim(record.id(), WorkerNonce(1), MINUTE)
            .await
            .unwrap(),
        Claimed::Busy(_)
    ));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn workers_that_start_together_make_one_schema_and_need_the_same_keys() {
    let database = Database::make().await;
    let starting = (0..4).map(|_| {
        let options = Options::new(&database.url, KEYS);
        tokio::spawn(async move { PostgresStore::open(options).await.map(|_| ()) })
    });
    for started in starting.collect::<Vec<_>>() {
        started.await.unwrap().unwrap();
    }
    let other = Options::new(&database.url, StoreKeys([7; 32]));
    let error = PostgresStore::open(other).await.map(|_| ()).unwrap_err();
    assert!(
        matches!(error.kind, StoreErrorKind::Unsuitable { .. }),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn a_newer_schema_is_refused() {
    let database = Database::make().await;
    database.open(None).await.close();
    let client = super::connect(&database.url).await;
    client
        .batch_execute("INSERT INTO factum.version VALUES (99); UPDATE factum.meta SET floor = 99")
        .await
        .unwrap();
    let error = PostgresStore::open(Options::new(&database.url, KEYS))
        .await
        .map(|_| ())
        .unwrap_err();
    assert!(
        matches!(error.kind, StoreErrorKind::TooNew { found: 99, .. }),
        "{error}"
    );
}

// Many that have to wait hide nobody else's: a listing of what is overdue goes on behind its last row.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn what_is_overdue_is_listed_page_by_page_and_whole() {
    let database = Database::make().await;
    let clock = TestClock::new();
    let store = database.open(Some(clock.clock())).await;
    let mut left = std::collections::BTreeSet::new();
    for n in 0..7 {
        let Admitted::Created(record, _) = store.admit(admission(n)).await.unwrap() else {
            panic!("it is new");
        };
        left.insert(record.id());
    }
    let held = *left.first().unwrap();
    store.claim(held, OTHER, MINUTE).await.unwrap();
    let lanes: Vec<_> = (0..=u8::MAX).map(factum_core::Lane).collect();
    let (before, mut after) = (START + MINUTE, None);
    let mut listed = std::collections::BTreeSet::new();
    loop {
        let page = store
            .overdue(lanes.clone(), before, after, 2)
            .await
            .unwrap();
        listed.extend(page.iter().map(|row| row.action));
        let Some(last) = page.last().filter(|_| page.len() == 2) else {
            break;
        };
        after = Some((last.at, last.action));
    }
    left.remove(&held);
    assert_eq!(listed, left, "all but the one that somebody holds");
}
