//! Served engines behind PgBouncer in transaction mode: an action's whole way, and the outbox, which is found by looking.
//!
//! The pooler is this test's own, by the scripts of `labs/pgbouncer`, before the server that `FACTUM_TEST_POSTGRES` names. Unlike
//! the one that the store's tests meet, it lets a client ask for time-outs at the beginning of its session, in vain.

use std::process::Command;

use serde_json::json;
use tempfile::TempDir;
use tokio_postgres::NoTls;

use crate::postgres::database::Database;
use crate::postgres::workers::{Workers, payload};
use crate::support::{Bed, ended};

/// A pooler until the end of the test.
struct Pooler {
    folder: TempDir,
}

impl Pooler {
    fn start() -> Self {
        let pooler = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        #[expect(
            clippy::disallowed_methods,
            reason = "the script that starts the server names it so"
        )]
        let server =
            std::env::var("FACTUM_TEST_POSTGRES").expect("FACTUM_TEST_POSTGRES names a server");
        let mut start = pooler.script("start.sh");
        start.env("SERVER", server).env("IGNORE", "options");
        let ran = ended(start);
        assert_eq!(ran.code, 0, "{ran:?}");
        pooler
    }

    fn script(&self, name: &str) -> Command {
        let mut command = Command::new("bash");
        let labs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../labs/pgbouncer");
        command.arg(format!("{labs}/{name}"));
        command.env("LAB_DIR", self.folder.path());
        command
    }

    /// The address of a database behind it.
    fn before(&self, database: &Database) -> String {
        let env = std::fs::read_to_string(self.folder.path().join("env")).unwrap();
        let url = env.lines().find_map(|line| line.strip_prefix("URL="));
        format!("{}/{}", url.unwrap(), database.name)
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.script("stop.sh").output();
    }
}

#[test]
#[ignore = "needs PgBouncer before PostgreSQL; ./test starts both"]
fn behind_a_pooler_actions_go_their_whole_way() {
    let pooler = Pooler::start();
    let database = Database::make();
    let bed = Bed::with(&["--loss", "0.3", "--seed", "7"]);
    let mut workers = Workers::at(&pooler.before(&database), &bed, 2);
    let mut asked = Vec::new();
    for n in 0..20 {
        let key = format!("order-{n}");
        let id = workers.submit(n % 2, "key.sync", &key).unwrap();
        asked.push((key, id));
        if n == 10 {
            workers.kill_and_start(0);
        }
    }
    for (key, id) in &asked {
        assert_eq!(workers.at_rest(1, id)["state"], "succeeded", "{key}");
        assert_eq!(bed.effects(key), 1, "{key}");
        assert_eq!(workers.submit(0, "key.sync", key).as_ref(), Some(id));
    }
}

// O: behind a pooler no notification comes through; rows are found all the same.
#[test]
#[ignore = "needs PgBouncer before PostgreSQL; ./test starts both"]
fn behind_a_pooler_the_outbox_is_picked_up() {
    let pooler = Pooler::start();
    let database = Database::make();
    let url = pooler.before(&database);
    let bed = Bed::start();
    let workers = Workers::at(&url, &bed, 1);
    let body = payload("key.sync", "from-the-outbox").to_string();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let (application, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
        tokio::spawn(connection);
        let submit = format!("BEGIN; SELECT factum.submit('{body}'::jsonb); COMMIT");
        application.batch_execute(&submit).await.unwrap();
    });
    let listed = workers.until(0, "GET", "/v1/actions", |answer| {
        answer.body["actions"][0]["state"] == json!("succeeded")
    });
    assert_eq!(listed.body["actions"].as_array().unwrap().len(), 1);
    assert_eq!(bed.effects("from-the-outbox"), 1);
}
