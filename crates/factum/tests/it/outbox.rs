//! The outbox in an application's own file (cases, group O).

use std::path::Path;
use std::time::Duration;

use factum::{Factum, Outcome, outbox};
use factum_testbed::{Filter, Handle, Testbed};
use rusqlite::Connection;
use serde_json::json;

use crate::support::{APPROVED, PATIENCE, approve, config};

async fn testbed() -> Handle {
    Testbed::start(factum_testbed::Config::default())
        .await
        .unwrap()
}

async fn engine(folder: &Path, testbed: &Handle) -> Factum {
    engine_with(folder, testbed, "").await
}

async fn engine_with(folder: &Path, testbed: &Handle, more: &str) -> Factum {
    Factum::sqlite(folder.join("factum.db"))
        .config(config(&testbed.base_url(), more))
        .start()
        .await
        .unwrap()
}

fn application(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch("create table if not exists orders (n integer primary key)")
        .unwrap();
    outbox::prepare(&connection).unwrap();
    connection
}

fn row(connection: &Connection, id: i64) -> (String, Option<String>, Option<String>) {
    let sql = "select state, action, problem from factum_outbox where id = ?1";
    connection
        .query_row(sql, [id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .unwrap()
}

/// The intent commits with the application's data, or not at all.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_intent_commits_with_the_data_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let testbed = testbed().await;
    let factum = engine(folder.path(), &testbed).await;
    let file = folder.path().join("orders.db");
    let mut orders = application(&file);
    factum.outbox(&file).await.unwrap();

    let rolled_back = orders.transaction().unwrap();
    let action = factum
        .action("bed", "key.sync")
        .key("order/1")
        .payload(json!({ "business": "order-1" }));
    action.submit_in(&rolled_back).unwrap();
    rolled_back.rollback().unwrap();

    let committed = orders.transaction().unwrap();
    committed
        .execute("insert into orders values (2)", [])
        .unwrap();
    let action = factum
        .action("bed", "key.sync")
        .key("order/2")
        .payload(json!({ "business": "order-2" }));
    let ticket = action.submit_in(&committed).unwrap();
    committed.commit().unwrap();

    let outcome = factum.wait(ticket, PATIENCE).await.unwrap();
    assert!(matches!(outcome, Outcome::Done(Some(_))), "{outcome:?}");
    let counts = testbed.ledger().counts(&Filter::default());
    assert_eq!(
        (counts.effects_of("order-1"), counts.effects_of("order-2")),
        (0, 1)
    );
    factum.shutdown(Duration::from_secs(5)).await;
}

/// B178: any language inserts a row; what is refused is visible to the application and was never sent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plain_insert_is_picked_up_and_a_bad_one_is_refused_visibly() {
    let folder = tempfile::tempdir().unwrap();
    let testbed = testbed().await;
    let file = folder.path().join("app.db");
    let app = application(&file);
    let body = |key: &str| {
        json!({"destination": "bed", "operation": "key.sync", "key": key, "payload": {"business": key}}).to_string()
    };
    let good = outbox::insert(&app, &body("plain")).unwrap();
    let repeat = outbox::insert(&app, &body("plain")).unwrap();
    let bad = outbox::insert(&app, "{\"destination\":\"bed\"").unwrap();
    let factum = engine(folder.path(), &testbed).await;
    factum.outbox(&file).await.unwrap();
    testbed
        .ledger()
        .wait_until(&Filter::business("plain"), |counts| {
            counts.total_effects > 0
        })
        .await;
    let mut changes = factum.engine().changes();
    while [good, repeat, bad]
        .iter()
        .any(|id| row(&app, *id).0 == "waiting")
    {
        let _ = tokio::time::timeout(Duration::from_millis(50), changes.recv()).await;
    }
    assert_eq!(row(&app, good).0, "taken");
    assert_eq!(row(&app, good).1, row(&app, repeat).1, "the repeat joined");
    let (state, action, problem) = row(&app, bad);
    assert_eq!((state.as_str(), action), ("refused", None));
    assert!(problem.unwrap().contains("F1001"));
    assert_eq!(testbed.ledger().counts(&Filter::default()).total_effects, 1);
    factum.shutdown(Duration::from_secs(5)).await;
}

/// Decision 16: what asks for an approval does not come in by an outbox. Once it is approved, a row of the same identity joins.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_that_needs_an_approval_is_refused_and_joins_once_it_is_approved() {
    let folder = tempfile::tempdir().unwrap();
    let testbed = testbed().await;
    let factum = Factum::sqlite(folder.path().join("factum.db"))
        .config(config(&testbed.base_url(), APPROVED))
        .start()
        .await
        .unwrap();
    let file = folder.path().join("orders.db");
    let mut orders = application(&file);
    factum.outbox(&file).await.unwrap();
    let mut insert = || {
        let transaction = orders.transaction().unwrap();
        let action = factum.action("bed", "key.sync").key("order/1");
        let action = action.payload(json!({ "business": "order-1" }));
        action.submit_in(&transaction).unwrap();
        transaction.commit().unwrap();
    };
    let looked_at = async |id: i64| {
        let reading = Connection::open(&file).unwrap();
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let (state, action, problem) = row(&reading, id);
            if state != "waiting" {
                return (state, action, problem);
            }
            assert!(tokio::time::Instant::now() < deadline, "it still waits");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    insert();
    let (state, action, problem) = looked_at(1).await;
    assert_eq!((state.as_str(), action), ("refused", None));
    assert!(problem.unwrap().contains("F1080"));
    assert_eq!(testbed.ledger().counts(&Filter::default()).total_effects, 0);
    let id = approve(&factum, "order/1", "order-1").await;
    insert();
    let (state, action, _) = looked_at(2).await;
    assert_eq!((state.as_str(), action), ("taken", Some(id.to_string())));
    let outcome = factum.wait(id, PATIENCE).await.unwrap();
    assert!(matches!(outcome, Outcome::Done(Some(_))), "{outcome:?}");
    let counts = testbed.ledger().counts(&Filter::default());
    assert_eq!(counts.effects_of("order-1"), 1);
    factum.shutdown(Duration::from_secs(5)).await;
}

/// R16: a twin in the outbox does not break the application's transaction; its row is refused, and says beside which action.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_twin_is_refused_visibly_and_another_one_is_sent() {
    let folder = tempfile::tempdir().unwrap();
    let testbed = testbed().await;
    let file = folder.path().join("app.db");
    let app = application(&file);
    let body = |key: &str| json!({"destination": "bed", "operation": "key.sync", "key": key, "payload": {"business": "b"}});
    let factum = engine_with(folder.path(), &testbed, crate::twins::GUARDED).await;
    factum.outbox(&file).await.unwrap();
    let mut changes = factum.engine().changes();
    let mut done = Vec::new();
    let mut meant = body("third");
    meant["another"] = true.into();
    for body in [body("first"), body("second"), meant] {
        let id = outbox::insert(&app, &body.to_string()).unwrap();
        while row(&app, id).0 == "waiting" {
            let _ = tokio::time::timeout(Duration::from_millis(50), changes.recv()).await;
        }
        done.push(row(&app, id));
    }
    let states: Vec<&str> = done.iter().map(|(state, _, _)| state.as_str()).collect();
    assert_eq!(states, ["taken", "refused", "taken"]);
    let problem = done[1].2.clone().unwrap();
    assert!(problem.contains("F1018"), "{problem}");
    assert!(problem.contains(done[0].1.as_deref().unwrap()), "{problem}");
    let wanted = Filter::business("b");
    let ledger = testbed.ledger();
    let both = ledger.wait_until(&wanted, |counts| counts.total_effects == 2);
    tokio::time::timeout(PATIENCE, both).await.unwrap();
    factum.shutdown(Duration::from_secs(5)).await;
    assert_eq!(testbed.ledger().counts(&wanted).total_effects, 2);
}

/// R25: a copy of the file, and another file in its place, are refused until an operator says so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copied_file_is_refused_until_somebody_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let testbed = testbed().await;
    let file = folder.path().join("app.db");
    drop(application(&file));
    let factum = engine(folder.path(), &testbed).await;
    factum.outbox(&file).await.unwrap();
    let copy = folder.path().join("copy.db");
    std::fs::copy(&file, &copy).unwrap();
    let refused = factum.outbox(&copy).await.unwrap_err();
    assert!(
        refused.rule.contains("before") && refused.remedy.contains("outbox-accept"),
        "{refused}"
    );
    outbox::accept(factum.engine(), &copy).await.unwrap();
    factum.outbox(&copy).await.unwrap();
    // Another file where that one was: what it holds is nobody's word yet.
    let other = folder.path().join("other.db");
    let rows = application(&other);
    let body =
        r#"{"destination":"bed","operation":"key.sync","key":"x","payload":{"business":"x"}}"#;
    let id = outbox::insert(&rows, body).unwrap();
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let _ = std::fs::remove_file(folder.path().join(format!("copy.db{suffix}")));
    }
    std::fs::copy(&other, &copy).unwrap();
    let refused = factum.outbox(&copy).await.unwrap_err();
    assert!(refused.rule.contains("another file"), "{refused}");
    assert_eq!(row(&application(&copy), id).0, "waiting");
    let counts = testbed.ledger().counts(&Filter::default());
    assert_eq!(counts.deliveries, 0, "nothing of it was sent");
    factum.shutdown(Duration::from_secs(5)).await;
}

/// The check above would notice a copy that is picked up like the first file.
#[test]
fn a_copied_file_that_is_taken_is_noticed() {
    use factum_core::mistake::{Mistake, making};
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(1).enable_all().build().unwrap();
    let taken = making(Some(Mistake::CopiedOutboxTaken), || {
        runtime.block_on(async {
            let folder = tempfile::tempdir().unwrap();
            let testbed = testbed().await;
            let file = folder.path().join("app.db");
            drop(application(&file));
            let factum = engine(folder.path(), &testbed).await;
            factum.outbox(&file).await.unwrap();
            let copy = folder.path().join("copy.db");
            std::fs::copy(&file, &copy).unwrap();
            let taken = factum.outbox(&copy).await;
            factum.shutdown(Duration::from_secs(5)).await;
            taken
        })
    });
    assert!(taken.is_ok(), "the mistake is made: {taken:?}");
}
