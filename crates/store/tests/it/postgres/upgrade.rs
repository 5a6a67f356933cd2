//! Two versions of the program on one store: today's, and one that would come after it, with a migration and an encoding of its own.

use std::collections::{BTreeMap, BTreeSet};

use factum_core::evidence::AnswerClass;
use factum_core::{ActionId, Span, Timestamp, WorkerNonce};
use factum_store::postgres::{Options, PostgresStore, Program};
use factum_store::{
    Admitted, Claimed, Clock, Committed, Name, Purge, Purged, Record, Store, StoreError,
    StoreErrorKind, Take,
};
use tokio_postgres::Client;

use super::{Database, KEYS, connect};
use crate::fixtures::{
    MINUTE, START, TestClock, WORKER, admission, answered, mark, next, report, reversed,
};

/// It adds, and changes nothing that is there.
const NEXT: Program = Program::after_this("ALTER TABLE factum.action ADD COLUMN next_thing text");

const OTHER: WorkerNonce = WorkerNonce(0xfeed_0000_0000_0002);

const DAY: Span = Span::from_secs(86_400);

/// Nothing is sealed, so that the texts can be looked at.
async fn open(
    database: &Database,
    program: Program,
    clock: &TestClock,
) -> Result<PostgresStore, StoreError> {
    let options = Options {
        clock: Some(clock.clock()),
        connections: 4,
        program,
        ..Options::new(&database.url, KEYS)
    };
    PostgresStore::open(options).await
}

/// Both versions, and the worker of each lives.
async fn side_by_side(database: &Database, clock: &TestClock) -> (PostgresStore, PostgresStore) {
    let older = open(database, Program::default(), clock).await.unwrap();
    older.beat(WORKER, MINUTE).await.unwrap();
    let newer = open(database, NEXT, clock).await.unwrap();
    let living = newer.beat(OTHER, MINUTE).await.unwrap();
    assert_eq!(living.len(), 2);
    (older, newer)
}

async fn admit(store: &PostgresStore, n: u64) -> Record {
    match store.admit(admission(n)).await.unwrap() {
        Admitted::Created(record, _) => *record,
        other => panic!("{n} is new: {other:?}"),
    }
}

/// An action that is done, and of which nothing more is to be decided.
async fn done(store: &PostgresStore, n: u64) -> Record {
    let id = admit(store, n).await.id();
    decide(store, id, vec![mark(1, START)], next("wait", Some(START))).await;
    let facts = vec![answered(1, AnswerClass::Done)];
    store.record(id, facts).await.unwrap().unwrap();
    decide(store, id, Vec::new(), next("none", None)).await;
    store.load(id).await.unwrap().unwrap()
}

async fn decide(
    store: &PostgresStore,
    id: ActionId,
    facts: Vec<factum_core::Fact>,
    step: factum_store::NextRow,
) {
    let claimed = store.claim(id, WORKER, MINUTE).await.unwrap();
    let Claimed::Held(claim, _) = claimed else {
        panic!("it is free: {claimed:?}")
    };
    let committed = store.commit(&claim, facts, step).await.unwrap();
    assert!(matches!(committed, Committed::Durable(_)), "{committed:?}");
    store.release(claim).await.unwrap();
}

async fn take(store: &PostgresStore, record: &Record, take: Take) {
    let wish = Purge {
        action: record.id(),
        version: record.version,
        take,
        note: "kept for a day".to_owned(),
        entries: Vec::new(),
    };
    let edition = store.edition().await.unwrap();
    let purged = store.purge(vec![wish], edition).await.unwrap();
    assert!(
        matches!(&purged, Purged::Done(done) if done.len() == 1),
        "{purged:?}"
    );
}

/// Something in every column that holds a text of the store's own encoding.
async fn fill(store: &PostgresStore, n: u64) -> [ActionId; 2] {
    let (kept, gone) = (done(store, n).await, done(store, n + 1).await);
    take(store, &kept, Take::Content).await;
    take(store, &gone, Take::Action).await;
    let late = vec![answered(1, AnswerClass::Done)];
    assert!(store.record(gone.id(), late).await.unwrap().is_none());
    let number = u8::try_from(n).unwrap();
    let names = vec![Name::Reference(format!("nobody's {n}"))];
    let told = report(number, names, reversed());
    store.deliver(told, Timestamp::EARLIEST).await.unwrap();
    [kept.id(), gone.id()]
}

/// Which versions of the encoding stand in which tables.
async fn versions(client: &Client) -> BTreeMap<String, BTreeSet<u32>> {
    let sql = "SELECT tablename::text FROM pg_tables WHERE schemaname = 'factum'";
    let mut found = BTreeMap::<String, BTreeSet<u32>>::new();
    for row in client.query(sql, &[]).await.unwrap() {
        let table: String = row.get(0);
        let sql = format!("SELECT to_jsonb(t)::text FROM factum.{table} t");
        for row in client.query(&sql, &[]).await.unwrap() {
            let text = row.get::<_, String>(0).replace(['\\', ' '], "");
            for (at, begin) in text.match_indices("\"v\":") {
                let rest = &text[at + begin.len()..];
                let digits = rest.split(|it: char| !it.is_ascii_digit()).next();
                let version = digits.unwrap().parse().unwrap();
                found.entry(table.clone()).or_default().insert(version);
            }
        }
    }
    found
}

fn is_too_new<T: std::fmt::Debug>(answer: Result<T, StoreError>) {
    let error = answer.unwrap_err();
    assert!(
        matches!(error.kind, StoreErrorKind::TooNew { found, known } if found == known + 1),
        "{error}"
    );
}

fn is_held_up(answer: Result<(), StoreError>) -> bool {
    match answer {
        Ok(()) => false,
        Err(error) => {
            let kind = &error.kind;
            assert!(
                matches!(kind, StoreErrorKind::OlderWorkers { .. }),
                "{error}"
            );
            true
        }
    }
}

// While the older version may come back, whatever is written is what it reads, in every column; afterwards it is what the newer one
// writes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn a_newer_version_writes_every_column_as_the_older_one_reads_it_until_the_upgrade_is_over() {
    let (database, clock) = (Database::make().await, TestClock::new());
    let (older, newer) = side_by_side(&database, &clock).await;
    let client = connect(&database.url).await;
    let [kept, gone] = fill(&newer, 1).await;
    let before = versions(&client).await;
    let tables: Vec<&str> = before.keys().map(String::as_str).collect();
    assert_eq!(tables, ["action", "evidence", "late_evidence", "report"]);
    assert!(
        before
            .values()
            .all(|found| found.len() == 1 && found.contains(&2)),
        "{before:?}"
    );
    assert!(older.load(kept).await.unwrap().is_some());
    assert_eq!(older.remains(gone).await.unwrap().unwrap().late.len(), 1);
    fill(&older, 3).await;

    older.beat(WORKER, Span::ZERO).await.unwrap();
    // Whoever opens the store counts for half a minute.
    clock.pass(MINUTE);
    newer.finish_upgrade().await.unwrap();
    fill(&newer, 5).await;
    let after = versions(&client).await;
    for table in tables {
        assert_eq!(after[table], BTreeSet::from([2, 3]), "{table}");
    }
    // What is written in either form is read, by the one that reads both.
    assert!(newer.load(kept).await.unwrap().is_some());
    let filter = factum_store::Filter {
        tenant: Some("default".to_owned()),
        limit: 100,
        ..factum_store::Filter::default()
    };
    assert_eq!(newer.list(filter).await.unwrap().len(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn an_upgrade_does_not_end_under_an_older_worker_and_ends_by_itself_a_day_after_the_last() {
    let (database, clock) = (Database::make().await, TestClock::new());
    let (older, newer) = side_by_side(&database, &clock).await;
    assert!(is_held_up(newer.finish_upgrade().await));
    older.beat(WORKER, Span::ZERO).await.unwrap();
    clock.pass(DAY - MINUTE);
    newer.beat(OTHER, MINUTE).await.unwrap();
    // One may still go back.
    older.beat(WORKER, MINUTE).await.unwrap();
    older
        .load(admit(&newer, 1).await.id())
        .await
        .unwrap()
        .unwrap();
    drop(open(&database, Program::default(), &clock).await.unwrap());

    clock.pass(DAY + MINUTE + MINUTE);
    newer.beat(OTHER, MINUTE).await.unwrap();
    is_too_new(older.beat(WORKER, MINUTE).await);
    is_too_new(
        open(&database, Program::default(), &clock)
            .await
            .map(|_| ()),
    );
    newer
        .load(admit(&newer, 2).await.id())
        .await
        .unwrap()
        .unwrap();
}

// One that was stopped, and resumes after the upgrade was ended, refuses: it never takes for damage what it cannot read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn an_older_worker_that_stood_still_reads_and_writes_nothing_afterwards() {
    let (database, clock) = (Database::make().await, TestClock::new());
    let (older, newer) = side_by_side(&database, &clock).await;
    let old = admit(&older, 1).await;
    let Claimed::Held(claim, _) = older.claim(old.id(), WORKER, MINUTE).await.unwrap() else {
        panic!("it is free");
    };
    // It says for the last time that it lives, for no longer than what follows takes.
    older.beat(WORKER, Span::from_micros(1)).await.unwrap();
    clock.pass(MINUTE);
    newer.finish_upgrade().await.unwrap();
    let new = admit(&newer, 2).await;
    is_too_new(older.load(new.id()).await);
    is_too_new(older.find(new.action.identity_hash).await);
    is_too_new(older.admit(admission(3)).await);
    let wait = next("wait", Some(START));
    is_too_new(older.commit(&claim, vec![mark(1, START)], wait).await);
    is_too_new(
        older
            .record(old.id(), vec![answered(1, AnswerClass::Done)])
            .await,
    );
    let log = newer.history(old.id()).await.unwrap();
    assert_eq!(log, Vec::new(), "nothing came through");
}

// Of a beat and the end of an upgrade at once one is refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn a_beat_and_the_end_of_an_upgrade_never_both_succeed() {
    let (database, clock) = (Database::make().await, TestClock::new());
    let (older, newer) = side_by_side(&database, &clock).await;
    let client = connect(&database.url).await;
    let (mut ended, mut held_up) = (0, 0);
    for round in 0..60 {
        let anew = "UPDATE factum.meta SET floor = 12; DELETE FROM factum.worker";
        client.batch_execute(anew).await.unwrap();
        let ending = async {
            // Whoever comes first is not always the same one.
            for _ in 0..round % 4 {
                newer.now().await.unwrap();
            }
            newer.finish_upgrade().await
        };
        let (beat, ending) = tokio::join!(older.beat(WORKER, MINUTE), ending);
        if is_held_up(ending) {
            beat.unwrap();
            held_up += 1;
        } else {
            is_too_new(beat);
            ended += 1;
        }
    }
    assert_eq!(ended + held_up, 60);
}

// Who could not go on beside the new schema is waited for: one that died is taken to live for a while.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn a_migration_waits_for_workers_that_it_would_leave_behind() {
    let (database, clock) = (Database::make().await, TestClock::new());
    drop(open(&database, Program::default(), &clock).await.unwrap());
    let client = connect(&database.url).await;
    // As a program of before the first that says what it knows.
    let until = (START + DAY).as_micros();
    let lives = format!("INSERT INTO factum.worker (nonce, until) VALUES (7, {until})");
    client.batch_execute(&lives).await.unwrap();
    let opening = tokio::spawn({
        let (url, clock): (String, Clock) = (database.url.clone(), clock.clock());
        let options = Options {
            clock: Some(clock),
            program: NEXT,
            ..Options::new(url, KEYS)
        };
        async move { PostgresStore::open(options).await.map(|_| ()) }
    });
    let rolled_back =
        "SELECT xact_rollback FROM pg_stat_database WHERE datname = current_database()";
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while client
        .query_one(rolled_back, &[])
        .await
        .unwrap()
        .get::<_, i64>(0)
        == 0
    {
        assert!(std::time::Instant::now() < deadline, "it did not wait");
        tokio::task::yield_now().await;
    }
    let gone = "DELETE FROM factum.worker WHERE nonce = 7";
    client.batch_execute(gone).await.unwrap();
    opening.await.unwrap().unwrap();
}
