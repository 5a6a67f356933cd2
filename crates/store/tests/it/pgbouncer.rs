//! Behind a pooler in transaction mode: statements of one worker run in sessions of others, and nothing of a session is left.
//!
//! `FACTUM_TEST_PGBOUNCER` names a PgBouncer before the server of `FACTUM_TEST_POSTGRES`. The whole suite runs through it too.

use std::sync::Arc;

use factum_core::{Fact, WorkerNonce};
use factum_store::{Admitted, Claimed, Committed, Store};

use crate::fixtures::{MINUTE, START, admission, mark, next};
use crate::postgres::Database;

/// The same database, through the pooler.
pub(crate) fn behind(database: &Database) -> Database {
    #[expect(
        clippy::disallowed_methods,
        reason = "the script that starts the pooler names it so"
    )]
    let pooler =
        std::env::var("FACTUM_TEST_PGBOUNCER").expect("FACTUM_TEST_PGBOUNCER names a pooler");
    let name = database.url.rsplit('/').next().unwrap();
    Database {
        url: format!("{pooler}/{name}"),
    }
}

// Each worker has twice as many connections as the pooler has sessions: what one prepares, or sets, another one meets.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PgBouncer before PostgreSQL; ./test starts both"]
async fn workers_that_share_sessions_carry_actions_their_whole_way() {
    let database = Database::make().await;
    let pooled = behind(&database);
    let workers = [pooled.open(None).await, pooled.open(None).await].map(Arc::new);
    assert!(workers.iter().all(|worker| worker.is_pooled()));
    assert!(!database.open(None).await.is_pooled(), "nor is this one");
    let actions = (0..40usize).map(|n| {
        let (one, other) = (
            Arc::clone(&workers[n % 2]),
            Arc::clone(&workers[(n + 1) % 2]),
        );
        tokio::spawn(async move {
            let n = u64::try_from(n).unwrap();
            let Admitted::Created(record, _) = one.admit(admission(n)).await.unwrap() else {
                panic!("{n} is new");
            };
            let id = record.id();
            let Claimed::Held(claim, _) = other.claim(id, WorkerNonce(n), MINUTE).await.unwrap()
            else {
                panic!("{n} is free");
            };
            let marks = vec![mark(1, START)];
            let Committed::Durable(marked) = other
                .commit(&claim, marks, next("wait", Some(START)))
                .await
                .unwrap()
            else {
                panic!("{n} is held");
            };
            let note = Fact::Noted {
                text: format!("of {n}"),
            };
            let noted = one.record(id, vec![note]).await.unwrap().unwrap();
            assert_eq!(noted.version, marked.version + 1);
            other.release(claim).await.unwrap();
            assert_eq!(one.history(id).await.unwrap().len(), 2, "{n}");
        })
    });
    for action in actions.collect::<Vec<_>>() {
        action.await.unwrap();
    }
}
