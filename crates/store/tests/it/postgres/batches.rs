//! Decisions of many actions that are written at once: in one statement, answered row by row (R26).

use std::collections::BTreeSet;
use std::sync::Arc;

use factum_core::{ActionId, Fact};
use factum_store::postgres::{Flush, Options, PostgresStore};
use factum_store::{
    Admitted, Claim, Claimed, Committed, NextRow, Store, StoreError, StoreErrorKind,
};
use tokio::task::JoinHandle;

use super::proxy::{Cut, Proxy};
use super::{Database, KEYS, connect};
use crate::fixtures::{MINUTE, START, TestClock, WORKER, admission, mark, next};

type Answer = JoinHandle<Result<Committed, StoreError>>;

/// A worker whose first statements wait for a lock, so that whatever comes next queues up.
struct Rig {
    store: Arc<PostgresStore>,
    locking: tokio_postgres::Client,
    first: Vec<Answer>,
}

impl Rig {
    /// At this address of the database.
    async fn make(database: &Database, url: String, flush: Flush) -> Self {
        let options = Options {
            connections: 4,
            // A statement without a name is one message, which is what a proxy cuts.
            prepared: Some(false),
            clock: Some(TestClock::new().clock()),
            flush,
            ..Options::new(url, KEYS)
        };
        Self {
            store: Arc::new(PostgresStore::open(options).await.unwrap()),
            locking: connect(&database.url).await,
            first: Vec::new(),
        }
    }

    async fn held(&self, n: u64) -> Claim {
        let Admitted::Created(record, _) = self.store.admit(admission(n)).await.unwrap() else {
            panic!("{n} is new");
        };
        match self.store.claim(record.id(), WORKER, MINUTE).await.unwrap() {
            Claimed::Held(claim, _) => claim,
            other => panic!("{n} is free: {other:?}"),
        }
    }

    fn commit(&self, claim: Claim, facts: Vec<Fact>, next: NextRow) -> Answer {
        let store = Arc::clone(&self.store);
        tokio::spawn(async move { store.commit(&claim, facts, next).await })
    }

    /// As many statements as can be under way are, and wait.
    async fn lock(&mut self, claims: [Claim; 2]) {
        // Connections that are made first look at the table too.
        let look = || self.store.load(claims[0].action);
        let (one, two, three, four) = tokio::join!(look(), look(), look(), look());
        assert!([one, two, three, four].iter().all(Result::is_ok));
        let lock = "BEGIN; LOCK TABLE factum.standing IN ACCESS EXCLUSIVE MODE";
        self.locking.batch_execute(lock).await.unwrap();
        let sql = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'factum.standing'::regclass";
        for (claim, waiting) in claims.into_iter().zip(1i64..) {
            let answer = self.commit(claim, vec![note()], next("wait", Some(START)));
            self.first.push(answer);
            while self
                .locking
                .query_one(sql, &[])
                .await
                .unwrap()
                .get::<_, i64>(0)
                < waiting
            {}
        }
    }

    /// Everybody who was asked has come as far as it gets; then the statements go on.
    async fn unlock(&mut self) {
        for _ in 0..64 {
            tokio::task::yield_now().await;
        }
        self.locking.batch_execute("COMMIT").await.unwrap();
        for answer in self.first.drain(..) {
            let answer = answer.await.unwrap();
            assert!(matches!(answer, Ok(Committed::Durable(_))), "{answer:?}");
        }
    }

    /// In how many transactions these were written last.
    async fn transactions(&self, ids: &[ActionId]) -> usize {
        let mut written = BTreeSet::new();
        for id in ids {
            let sql = format!(
                "SELECT xmin::text FROM factum.standing WHERE encode(uuid_send(id), 'hex') = '{}'",
                id.to_bytes().map(|byte| format!("{byte:02x}")).concat()
            );
            let row = self.locking.query_one(&sql, &[]).await.unwrap();
            written.insert(row.get::<_, String>(0));
        }
        written.len()
    }
}

fn note() -> Fact {
    Fact::Noted {
        text: "decided".to_owned(),
    }
}

// A claim that is not held any more is found stale alone: the others of its statement are durable.
#[tokio::test]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn what_queues_up_is_written_together_and_answered_row_by_row() {
    let database = Database::make().await;
    let mut rig = Rig::make(&database, database.url.clone(), Flush::All).await;
    let first = [rig.held(1).await, rig.held(2).await];
    let mut held = Vec::new();
    for n in 3..9 {
        held.push(rig.held(n).await);
    }
    let stale = rig.held(9).await;
    let lost = stale.action;
    let stale = Claim {
        token: stale.token + 1,
        ..stale
    };
    let ids: Vec<ActionId> = held.iter().map(|claim| claim.action).collect();
    rig.lock(first).await;
    let mark = |claim| rig.commit(claim, vec![mark(1, START)], next("wait", Some(START)));
    let commits: Vec<Answer> = held.into_iter().map(mark).collect();
    let stale = mark(stale);
    rig.unlock().await;
    for commit in commits {
        assert!(matches!(commit.await.unwrap(), Ok(Committed::Durable(_))));
    }
    assert!(matches!(stale.await.unwrap(), Ok(Committed::Stale)));
    assert_eq!(rig.store.history(lost).await.unwrap(), [], "no mark of it");
    assert_eq!(
        rig.transactions(&ids).await,
        1,
        "the others shared a statement"
    );
    for id in ids {
        assert_eq!(rig.store.history(id).await.unwrap().len(), 1);
        assert_eq!(rig.store.load(id).await.unwrap().unwrap().version, 2);
    }
}

#[tokio::test]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn a_row_that_is_refused_fails_alone() {
    let database = Database::make().await;
    let mut rig = Rig::make(&database, database.url.clone(), Flush::All).await;
    let first = [rig.held(1).await, rig.held(2).await];
    let (good, bad, other) = (rig.held(3).await, rig.held(4).await, rig.held(5).await);
    let id = bad.action;
    rig.lock(first).await;
    let good = rig.commit(good, vec![note()], next("wait", Some(START)));
    let bad = rig.commit(bad, vec![mark(1, START)], next("no such step", Some(START)));
    let other = rig.commit(other, vec![note()], next("wait", Some(START)));
    rig.unlock().await;
    for commit in [good, other] {
        assert!(matches!(commit.await.unwrap(), Ok(Committed::Durable(_))));
    }
    let error = bad.await.unwrap().map(|_| ()).unwrap_err();
    assert!(matches!(error.kind, StoreErrorKind::Database(_)), "{error}");
    assert_eq!(rig.store.history(id).await.unwrap(), []);
}

// R12, R32: each row's doubt is its own. A mark in doubt is no leave; what else was decided is read back.
#[tokio::test]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn a_statement_whose_answer_is_lost_is_resolved_row_by_row() {
    for loss in [Cut::Request, Cut::Answer] {
        let database = Database::make().await;
        let proxy = Proxy::before(&database.url).await;
        let mut rig = Rig::make(&database, proxy.url(&database.url), Flush::All).await;
        let first = [rig.held(1).await, rig.held(2).await];
        let (marked, decided) = (rig.held(3).await, rig.held(4).await);
        let ids = [marked.action, decided.action];
        rig.lock(first).await;
        let marked = rig.commit(marked, vec![mark(1, START)], next("wait", Some(START)));
        let decided = rig.commit(decided, vec![note()], next("wait", Some(START)));
        proxy.cut(loss);
        rig.unlock().await;
        let doubt = marked.await.unwrap().map(|_| ()).unwrap_err();
        assert!(matches!(doubt.kind, StoreErrorKind::InDoubt(_)), "{doubt}");
        let decided = decided.await.unwrap().unwrap();
        assert!(proxy.was_cut());
        let is_written = matches!(loss, Cut::Answer);
        assert_eq!(
            matches!(decided, Committed::Durable(_)),
            is_written,
            "{decided:?}"
        );
        for id in ids {
            let log = rig.store.history(id).await.unwrap();
            assert_eq!(log.len(), usize::from(is_written));
        }
    }
}

// Where lanes lie on several servers, a statement stays on one of them.
#[tokio::test]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn a_flush_for_each_lane_keeps_lanes_apart() {
    let database = Database::make().await;
    let mut rig = Rig::make(&database, database.url.clone(), Flush::Lane).await;
    let mut claims = Vec::new();
    for n in 0..12 {
        claims.push(rig.held(n).await);
    }
    let ids: Vec<ActionId> = claims.iter().map(|claim| claim.action).collect();
    let lanes: BTreeSet<_> = ids.iter().map(|id| id.lane()).collect();
    let note = |claim| rig.commit(claim, vec![note()], next("wait", Some(START)));
    let commits: Vec<Answer> = claims.into_iter().map(note).collect();
    rig.unlock().await;
    for commit in commits {
        assert!(matches!(commit.await.unwrap(), Ok(Committed::Durable(_))));
    }
    assert!(rig.transactions(&ids).await >= lanes.len());
}
