//! The outbox in an application's own PostgreSQL transaction (cases, group O).
//!
//! `FACTUM_TEST_POSTGRES` names a server whose user may make databases; each case has one of its own. Effects are counted in
//! the testbed's ledger.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use factum::{Factum, Outcome, Submission, postgres};
use factum_testbed::{Filter, Handle, Testbed};
use serde_json::{Value, json};
use tokio_postgres::{Client, NoTls};

use crate::support::{PATIENCE, config};

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// A database of its own.
async fn database() -> String {
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
        let folder: &Path = self.folder.path();
        let store =
            format!("[store]\nfolder = {folder:?}\nconnections = 4\noutbox_poll = \"{poll}\"\n");
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
async fn submit(client: &Client, body: &Value) -> Result<String, tokio_postgres::Error> {
    let sql = "SELECT factum.submit($1::text::jsonb)::text";
    let row = client.query_one(sql, &[&body.to_string()]).await?;
    Ok(row.get(0))
}

/// What the application is told of a row, once it does not wait any more.
async fn told(client: &Client, id: &str) -> (String, Option<String>, Option<String>) {
    let sql = "SELECT state, action, problem::text FROM factum.submitted($1::text::uuid)";
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        let row = client.query_one(sql, &[&id]).await.unwrap();
        if row.get::<_, &str>(0) != "waiting" {
            return (row.get(0), row.get(1), row.get(2));
        }
        assert!(tokio::time::Instant::now() < deadline, "it still waits");
    }
}

fn state_of(error: &tokio_postgres::Error) -> String {
    error.code().unwrap().code().to_owned()
}

// O: the intent commits with the application's data, or not at all.
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
    factum.shutdown(Duration::from_secs(5)).await;
}

// O, B178: a repeat joins, another intent under the same identity is refused by its code, and a row that the engine refuses says why.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn a_repeat_joins_another_intent_is_refused_and_a_bad_row_says_why() {
    let rig = Rig::make().await;
    let factum = rig.engine("50 ms").await;
    let app = connect(&rig.url).await;
    let id = submit(&app, &body("plain")).await.unwrap();
    assert_eq!(submit(&app, &body("plain")).await.unwrap(), id);
    let mut other = body("plain");
    other["payload"]["business"] = json!("other");
    let refused = submit(&app, &other).await.unwrap_err();
    assert_eq!(state_of(&refused), "F1007");
    let nameless = json!({"destination": "bed", "operation": "key.sync", "payload": {}});
    assert_eq!(
        state_of(&submit(&app, &nameless).await.unwrap_err()),
        "F1004"
    );
    assert_eq!(
        state_of(&submit(&app, &json!([])).await.unwrap_err()),
        "F1003"
    );
    let (state, action, _) = told(&app, &id).await;
    assert_eq!(state, "taken");
    // The same answer once it is taken over; and over HTTP's path it is the same action.
    assert_eq!(submit(&app, &body("plain")).await.unwrap(), id);
    assert_eq!(state_of(&submit(&app, &other).await.unwrap_err()), "F1007");
    let direct = factum.submit(submission("plain")).await.unwrap();
    assert_eq!(
        (direct.created, Some(direct.status.id)),
        (false, action),
        "one action by either way"
    );
    let mut bad = body("bad");
    bad["surprise"] = json!(1);
    let bad = submit(&app, &bad).await.unwrap();
    let (state, action, problem) = told(&app, &bad).await;
    assert_eq!((state.as_str(), action), ("refused", None));
    assert!(problem.unwrap().contains("F1002"));
    // Nothing was recorded of it: corrected, it may come again under the same key.
    let corrected = submit(&app, &body("bad")).await.unwrap();
    assert_eq!(told(&app, &corrected).await.0, "taken");
    rig.sent("bad").await;
    assert_eq!((rig.effects("plain"), rig.effects("bad")), (1, 1));
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
    let id = submit(&app, &body("held")).await.unwrap();
    // As a worker leaves it that died after the action was durable: held for a moment still, and not settled.
    let hold = "UPDATE factum.outbox SET held_until = (extract(epoch FROM clock_timestamp()) * 1000000)::int8 + 500000";
    app.batch_execute(hold).await.unwrap();
    let factum = rig.engine("50 ms").await;
    let first = factum.submit(submission("held")).await.unwrap();
    let (state, action, _) = told(&app, &id).await;
    assert_eq!((state.as_str(), action), ("taken", Some(first.status.id)));
    rig.sent("held").await;
    assert_eq!(rig.effects("held"), 1);
    factum.shutdown(Duration::from_secs(5)).await;
}

// O: a role of an application may submit and read what became of its own rows, and nothing else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn a_role_may_submit_and_see_its_own_and_nothing_else() {
    let rig = Rig::make().await;
    let factum = rig.engine("50 ms").await;
    let owner = connect(&rig.url).await;
    let name = rig.url.rsplit('/').next().unwrap().to_owned();
    let (one, two, none) = (
        format!("{name}_1"),
        format!("{name}_2"),
        format!("{name}_0"),
    );
    for role in [&one, &two, &none] {
        owner
            .batch_execute(&format!("CREATE ROLE {role} LOGIN"))
            .await
            .unwrap();
    }
    for role in [&one, &two] {
        let grants = format!(
            "GRANT USAGE ON SCHEMA factum TO {role}; \
             GRANT EXECUTE ON FUNCTION factum.submit(jsonb), factum.submitted(uuid) TO {role}"
        );
        owner.batch_execute(&grants).await.unwrap();
    }
    let as_role = |role: &str| rig.url.replace("factum@", &format!("{role}@"));
    let app = connect(&as_role(&one)).await;
    let id = submit(&app, &body("mine")).await.unwrap();
    assert_eq!(told(&app, &id).await.0, "taken");
    for forbidden in [
        "SELECT * FROM factum.outbox",
        "SELECT * FROM factum.action",
        "SELECT * FROM factum.evidence",
        "UPDATE factum.standing SET state = 'succeeded'",
        "DELETE FROM factum.outbox",
        "INSERT INTO factum.setting VALUES ('paused', 'x')",
    ] {
        let refused = app.batch_execute(forbidden).await.unwrap_err();
        assert_eq!(state_of(&refused), "42501", "{forbidden}");
    }
    let neighbour = connect(&as_role(&two)).await;
    let sql = "SELECT state FROM factum.submitted($1::text::uuid)";
    assert!(
        neighbour.query(sql, &[&id]).await.unwrap().is_empty(),
        "another role's row is not shown"
    );
    let stranger = connect(&as_role(&none)).await;
    let refused = submit(&stranger, &body("theirs")).await.unwrap_err();
    assert_eq!(state_of(&refused), "42501");
    factum.shutdown(Duration::from_secs(5)).await;
}
