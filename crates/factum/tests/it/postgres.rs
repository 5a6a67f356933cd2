//! The outbox in an application's own PostgreSQL transaction (cases, group O).
//!
//! `FACTUM_TEST_POSTGRES` names a server whose user may make databases; each case has one of its own. Effects are counted in
//! the testbed's ledger.

mod agreement;
mod moving;
mod roles;

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use factum::{Factum, Outcome, Submission, postgres};
use factum_testbed::{Filter, Handle, Testbed};
use serde_json::{Value, json};
use tokio_postgres::{Client, NoTls};

use crate::support::{APPROVED, PATIENCE, approve, config};

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// A database of its own.
pub(crate) async fn database() -> String {
    static MADE: AtomicU32 = AtomicU32::new(0);
    #[expect(
        clippy::disallowed_methods,
        reason = "the script that starts the server names it so"
    )]
    let server =
        std::env::var("FACTUM_TEST_POSTGRES").expect("FACTUM_TEST_POSTGRES names a server");
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    let since = std::time::UNIX_EPOCH.elapsed().unwrap().as_micros();
    let name = format!("outbox_{since}_{}_{number}", std::process::id());
    let client = connect(&format!("{server}/postgres")).await;
    client
        .batch_execute(&format!("CREATE DATABASE {name}"))
        .await
        .unwrap();
    format!("{server}/{name}")
}

/// A testbed, a database, and engines on it.
struct Rig {
    testbed: Handle,
    url: String,
    folder: tempfile::TempDir,
}

impl Rig {
    async fn make() -> Self {
        Self {
            testbed: Testbed::start(factum_testbed::Config::default())
                .await
                .unwrap(),
            url: database().await,
            folder: tempfile::tempdir().unwrap(),
        }
    }

    async fn engine(&self, poll: &str) -> Factum {
        self.engine_with(poll, "").await
    }

    async fn guarded_engine(&self) -> Factum {
        self.engine_with("50 ms", crate::twins::GUARDED).await
    }

    async fn engine_with(&self, poll: &str, more: &str) -> Factum {
        let folder: &Path = self.folder.path();
        let store = format!(
            "[store]\nfolder = {folder:?}\nconnections = 4\noutbox_poll = \"{poll}\"\n{more}\n"
        );
        Factum::postgres(self.url.clone())
            .config(config(&self.testbed.base_url(), &store))
            .start()
            .await
            .unwrap()
    }

    fn effects(&self, business: &str) -> u64 {
        let counts = self.testbed.ledger().counts(&Filter::default());
        counts.effects_of(business)
    }

    async fn sent(&self, business: &str) {
        let wanted = Filter::business(business);
        let ledger = self.testbed.ledger();
        let waiting = ledger.wait_until(&wanted, |counts| counts.total_effects > 0);
        tokio::time::timeout(PATIENCE, waiting).await.unwrap();
    }
}

fn body(key: &str) -> Value {
    json!({"destination": "bed", "operation": "key.sync", "key": key, "payload": {"business": key}})
}

fn submission(key: &str) -> Submission {
    Submission::from_json(&body(key).to_string()).unwrap()
}

/// Plain SQL, as any language has it.
async fn submit(client: &Client, body: &Value) -> Result<Value, tokio_postgres::Error> {
    let sql = "SELECT factum.submit($1::text::jsonb)::text";
    let row = client.query_one(sql, &[&body.to_string()]).await?;
    Ok(serde_json::from_str(row.get(0)).unwrap())
}

/// The id of the action that a submission names.
fn id_of(submitted: &Value) -> String {
    submitted["id"].as_str().unwrap().to_owned()
}

/// What the application is told of an action, once an engine has looked at it.
async fn told(client: &Client, id: &str) -> Value {
    let sql = "SELECT factum.submitted($1)::text";
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        let row = client.query_one(sql, &[&id]).await.unwrap();
        let told: Value = serde_json::from_str(row.get(0)).unwrap();
        if told["recorded"] == true || told["state"] != "pending" {
            return told;
        }
        assert!(tokio::time::Instant::now() < deadline, "it still waits");
    }
}

fn state_of(error: &tokio_postgres::Error) -> String {
    error.code().unwrap().code().to_owned()
}

// O, B176: the intent commits with the application's data, or not at all, however often the step is tried before it commits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn the_intent_commits_with_the_data_or_not_at_all() {
    let rig = Rig::make().await;
    let factum = rig.engine("50 ms").await;
    let mut app = connect(&rig.url).await;
    app.batch_execute("CREATE TABLE orders (n int8)")
        .await
        .unwrap();
    let rolled_back = app.transaction().await.unwrap();
    postgres::submit(&rolled_back, &submission("order-1"))
        .await
        .unwrap();
    rolled_back.rollback().await.unwrap();
    for attempt in 1..=3 {
        let step = app.transaction().await.unwrap();
        let submitted = postgres::submit(&step, &submission("order-3")).await;
        assert!(
            !submitted.unwrap().joined,
            "what was rolled back is not there"
        );
        if attempt == 3 {
            step.commit().await.unwrap();
        }
    }
    rig.sent("order-3").await;
    let tx = app.transaction().await.unwrap();
    tx.execute("INSERT INTO orders VALUES (2)", &[])
        .await
        .unwrap();
    let action = factum.action("bed", "key.sync").key("order-2");
    let ticket = action
        .payload(json!({"business": "order-2"}))
        .submit_in_postgres(&tx)
        .await
        .unwrap();
    assert_eq!(rig.effects("order-2"), 0);
    tx.commit().await.unwrap();
    let outcome = factum.wait(ticket, PATIENCE).await.unwrap();
    assert!(matches!(outcome, Outcome::Done(Some(_))), "{outcome:?}");
    assert_eq!((rig.effects("order-1"), rig.effects("order-2")), (0, 1));
    assert_eq!(rig.effects("order-3"), 1);
    factum.shutdown(Duration::from_secs(5)).await;
}

// Decision 16: what asks for an approval does not come in by the outbox; the id that its application was told is that of the action
// once it is approved, by one of two workers at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn a_row_that_needs_an_approval_is_refused_and_has_its_id_once_it_is_approved() {
    let rig = Rig::make().await;
    let (one, two) = (
        rig.engine_with("50 ms", APPROVED).await,
        rig.engine_with("50 ms", APPROVED).await,
    );
    let app = connect(&rig.url).await;
    let id = id_of(&submit(&app, &body("order-1")).await.unwrap());
    let refused = told(&app, &id).await;
    assert_eq!(refused["state"], "terminal_failure", "{refused}");
    assert!(refused.to_string().contains("F1080"), "{refused}");
    assert_eq!(rig.effects("order-1"), 0);
    let (first, second) = tokio::join!(
        approve(&one, "order-1", "order-1"),
        approve(&two, "order-1", "order-1")
    );
    assert_eq!((first, first.to_string()), (second, id));
    rig.sent("order-1").await;
    assert_eq!(rig.effects("order-1"), 1);
    one.shutdown(Duration::from_secs(5)).await;
    two.shutdown(Duration::from_secs(5)).await;
}

// O, B178: a repeat joins, another intent under the same identity is refused by its code, and a row that the engine refuses says why.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn a_repeat_joins_another_intent_is_refused_and_a_bad_row_says_why() {
    let rig = Rig::make().await;
    let factum = rig.engine("50 ms").await;
    let app = connect(&rig.url).await;
    let first = submit(&app, &body("plain")).await.unwrap();
    let id = id_of(&first);
    let new = json!({"id": id, "joined": false, "state": "pending"});
    assert_eq!(first, new);
    let again = submit(&app, &body("plain")).await.unwrap();
    assert_eq!((&again["id"], &again["joined"]), (&json!(id), &json!(true)));
    let mut other = body("plain");
    other["payload"]["business"] = json!("other");
    let refused = submit(&app, &other).await.unwrap_err();
    assert_eq!(state_of(&refused), "F1007");
    assert_eq!(refused.as_db_error().unwrap().detail(), Some(&*id));
    assert_eq!(
        told(&app, &id).await["id"],
        json!(id),
        "recorded under that id"
    );
    // The same answer once it is taken over; and over HTTP's path it is the same action.
    let again = submit(&app, &body("plain")).await.unwrap();
    assert_eq!((&again["id"], &again["joined"]), (&json!(id), &json!(true)));
    assert_eq!(state_of(&submit(&app, &other).await.unwrap_err()), "F1007");
    let direct = factum.submit(submission("plain")).await.unwrap();
    assert_eq!(
        (direct.created, direct.status.id),
        (false, id),
        "one action by either way"
    );
    // And the other way round.
    let direct = factum.submit(submission("direct")).await.unwrap();
    let joined = submit(&app, &body("direct")).await.unwrap();
    assert_eq!(
        (id_of(&joined), &joined["joined"]),
        (direct.status.id, &json!(true))
    );
    rig.sent("plain").await;
    rig.sent("direct").await;
    assert_eq!((rig.effects("plain"), rig.effects("direct")), (1, 1));
    factum.shutdown(Duration::from_secs(5)).await;
}

// O: what is no submission is refused in the transaction, by its code; what only the engine can tell, at pick-up. Corrected, it may
// come again under the same key, and has the same id.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn a_bad_submission_says_why_and_may_come_again() {
    let rig = Rig::make().await;
    let factum = rig.engine("50 ms").await;
    let app = connect(&rig.url).await;
    let wrong = [
        (json!([]), "F1003"),
        (json!({"destination": "bed", "key": "1"}), "F1003"),
        (
            json!({"destination": "bed", "operation": 7, "key": "1"}),
            "F1003",
        ),
        (
            json!({"destination": "bed", "operation": "key.sync", "key": 1}),
            "F1003",
        ),
        (
            json!({"destination": "bed", "operation": "key.sync", "payload": {}}),
            "F1004",
        ),
        (
            json!({"destination": "bed", "operation": "key.sync", "event": {"source": "s", "id": "1"}}),
            "F1004",
        ),
        (
            json!({"destination": "bed", "operation": "key.sync", "key": "1", "effect": "e"}),
            "F1011",
        ),
    ];
    for (body, code) in wrong {
        assert_eq!(
            state_of(&submit(&app, &body).await.unwrap_err()),
            code,
            "{body}"
        );
    }
    let mut bad = body("bad");
    bad["surprise"] = json!(1);
    let id = id_of(&submit(&app, &bad).await.unwrap());
    let refused = told(&app, &id).await;
    assert_eq!(
        (&refused["state"], &refused["recorded"]),
        (&json!("terminal_failure"), &json!(false))
    );
    assert_eq!(refused["problem"]["code"], "F1002");
    let corrected = submit(&app, &body("bad")).await.unwrap();
    assert_eq!(
        corrected,
        json!({"id": id, "joined": false, "state": "pending"})
    );
    assert_eq!(told(&app, &id).await["recorded"], true);
    rig.sent("bad").await;
    assert_eq!(rig.effects("bad"), 1);
    factum.shutdown(Duration::from_secs(5)).await;
}

// R16: a twin does not abort the application's transaction; it is refused at pick-up, and may come again as another one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn a_twin_is_refused_after_the_transaction_and_may_come_again() {
    let rig = Rig::make().await;
    let factum = rig.guarded_engine().await;
    let mut app = connect(&rig.url).await;
    let twin = |key: &str| {
        let mut twin = body(key);
        twin["payload"]["business"] = json!("b");
        twin
    };
    let first = id_of(&submit(&app, &twin("first")).await.unwrap());
    assert_eq!(told(&app, &first).await["recorded"], true);
    let tx = app.transaction().await.unwrap();
    let sql = "SELECT factum.submit($1::text::jsonb)::text";
    let row = tx
        .query_one(sql, &[&twin("second").to_string()])
        .await
        .unwrap();
    let second: Value = serde_json::from_str(row.get(0)).unwrap();
    tx.commit().await.unwrap();
    let second = id_of(&second);
    let refused = told(&app, &second).await;
    assert_eq!(refused["state"], "terminal_failure");
    assert_eq!(refused["problem"]["code"], "F1018");
    assert_eq!(refused["problem"]["action"], json!(first));
    let mut meant = twin("second");
    meant["another"] = json!(true);
    let again = submit(&app, &meant).await.unwrap();
    assert_eq!(
        again,
        json!({"id": second, "joined": false, "state": "pending"})
    );
    assert_eq!(told(&app, &second).await["recorded"], true);
    let wanted = Filter::business("b");
    let ledger = rig.testbed.ledger();
    let both = ledger.wait_until(&wanted, |counts| counts.total_effects == 2);
    tokio::time::timeout(PATIENCE, both).await.unwrap();
    factum.shutdown(Duration::from_secs(5)).await;
    assert_eq!(rig.effects("b"), 2);
}

// O: the application's transaction was first. Whoever submits the same identity otherwise meanwhile joins it or is refused, and
// nothing stands under the id that the application was told but its own intent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn what_waits_in_the_outbox_was_first() {
    let rig = Rig::make().await;
    // It has looked already, and will not look again.
    let factum = rig.engine("1 h").await;
    let app = connect(&rig.url).await;
    let id = id_of(&submit(&app, &body("first")).await.unwrap());
    let mut other = body("first");
    other["payload"]["business"] = json!("other");
    let other = Submission::from_json(&other.to_string()).unwrap();
    let refused = factum.submit(other).await.unwrap_err();
    assert_eq!(refused.code, factum::Code::IdentityConflict, "{refused}");
    assert_eq!(refused.action.map(|id| id.to_string()), Some(id.clone()));
    let joined = factum.submit(submission("first")).await.unwrap();
    assert_eq!((joined.created, joined.status.id), (false, id));
    rig.sent("first").await;
    assert_eq!((rig.effects("first"), rig.effects("other")), (1, 0));
    factum.shutdown(Duration::from_secs(5)).await;
}

// O: with a notification nobody waits for the next look, and when every notification is lost it is sent all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn a_notification_wakes_and_a_lost_one_costs_a_look() {
    let rig = Rig::make().await;
    let app = connect(&rig.url).await;
    // Nobody would look again within the time of this test.
    let factum = rig.engine("1 h").await;
    let listens = "SELECT count(*) FROM pg_stat_activity WHERE query = 'LISTEN factum_outbox' AND state = 'idle' \
        AND datname = current_database()";
    while app.query_one(listens, &[]).await.unwrap().get::<_, i64>(0) == 0 {}
    submit(&app, &body("woken")).await.unwrap();
    postgres::wake(&app).await.unwrap();
    rig.sent("woken").await;
    factum.shutdown(Duration::from_secs(5)).await;
    // The listener's connection is cut, and nobody notifies.
    let factum = rig.engine("50 ms").await;
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = 'LISTEN factum_outbox' \
        AND datname = current_database()";
    app.query(cut, &[]).await.unwrap();
    submit(&app, &body("found")).await.unwrap();
    rig.sent("found").await;
    assert_eq!((rig.effects("woken"), rig.effects("found")), (1, 1));
    factum.shutdown(Duration::from_secs(5)).await;
}

// O: it works in a transaction that is prepared; until that is decided, nothing is sent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn a_prepared_transaction_may_submit() {
    let rig = Rig::make().await;
    let factum = rig.engine("20 ms").await;
    let (app, other) = (connect(&rig.url).await, connect(&rig.url).await);
    let name = rig.url.rsplit('/').next().unwrap();
    app.batch_execute("BEGIN").await.unwrap();
    submit(&app, &body("prepared")).await.unwrap();
    app.batch_execute(&format!("PREPARE TRANSACTION '{name}'"))
        .await
        .unwrap();
    // One that comes later is sent meanwhile.
    submit(&other, &body("beside")).await.unwrap();
    rig.sent("beside").await;
    assert_eq!(rig.effects("prepared"), 0);
    app.batch_execute(&format!("COMMIT PREPARED '{name}'"))
        .await
        .unwrap();
    rig.sent("prepared").await;
    factum.shutdown(Duration::from_secs(5)).await;
}

// B155: a worker took rows and died; another one takes them once the time is over, and where the action exists already, it joins.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn rows_that_a_dead_worker_held_are_picked_up_and_join() {
    let rig = Rig::make().await;
    rig.engine("1 h")
        .await
        .shutdown(Duration::from_secs(5))
        .await;
    let app = connect(&rig.url).await;
    let id = id_of(&submit(&app, &body("held")).await.unwrap());
    // As a worker leaves it that died after the action was durable: held for a moment still, and not settled.
    let hold = "UPDATE factum.outbox SET held_until = (extract(epoch FROM clock_timestamp()) * 1000000)::int8 + 500000";
    app.batch_execute(hold).await.unwrap();
    let factum = rig.engine("50 ms").await;
    let first = factum.submit(submission("held")).await.unwrap();
    assert_eq!(
        (told(&app, &id).await["id"].as_str(), &*first.status.id),
        (Some(&*id), &*id)
    );
    rig.sent("held").await;
    assert_eq!(rig.effects("held"), 1);
    factum.shutdown(Duration::from_secs(5)).await;
}

/// Several workers share one feed: one of them reads it, and what stands in it is handed out once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn a_feed_of_events_is_read_by_one_of_two_workers() {
    let rig = Rig::make().await;
    let engines = [rig.engine("1 s").await, rig.engine("1 s").await];
    let client = connect(&rig.url).await;
    let both = async {
        let sql = "SELECT count(*) FROM factum.worker";
        while client.query_one(sql, &[]).await.unwrap().get::<_, i64>(0) < 2 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, both).await.unwrap();
    for (n, engine) in engines.iter().cycle().take(6).enumerate() {
        let business = format!("fed-{n}");
        let action = engine
            .action("bed", "neither.fed")
            .key(&business)
            .payload(json!({ "business": business }));
        action.submit().await.unwrap();
    }
    for n in 0..6 {
        let key = format!("fed-{n}");
        let filter = factum::Filter {
            key: Some(key.clone()),
            limit: 1,
            ..factum::Filter::default()
        };
        let found = engines[0].list(filter).await.unwrap();
        let id = found[0].id.parse::<factum::ActionId>().unwrap();
        let status = engines[0].wait_status(id, PATIENCE).await.unwrap();
        assert_eq!(status.state, "succeeded", "{status:?}");
        assert_eq!(rig.effects(&key), 1);
    }
    assert_eq!(rig.testbed.ledger().counts(&Filter::default()).events, 6);
    for engine in engines {
        engine.shutdown(Duration::from_secs(5)).await;
    }
}
