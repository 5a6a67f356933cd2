//! A store that came from an older copy: noticed by what this worker wrote, and by the cluster and timeline that it wrote on (R18).

use std::path::Path;

use factum_core::ActionId;
use factum_store::postgres::{Options, PostgresStore, Standby};
use factum_store::{Admitted, Claimed, Committed, Store, StoreErrorKind};

use super::{Database, KEYS, connect};
use crate::fixtures::{MINUTE, START, WORKER, admission, mark, next};

/// A store that remembers in this folder.
async fn open(database: &Database, folder: &Path, standby: Standby) -> PostgresStore {
    let options = Options {
        connections: 2,
        seen: Some(folder.join("seen")),
        standby,
        ..Options::new(&database.url, KEYS)
    };
    PostgresStore::open(options).await.unwrap()
}

async fn admit(store: &PostgresStore, n: u64) -> ActionId {
    match store.admit(admission(n)).await.unwrap() {
        Admitted::Created(record, _) => record.id(),
        other => panic!("{n} is new: {other:?}"),
    }
}

/// A copy of a database, as a backup makes it.
struct Copy {
    server: tokio_postgres::Client,
    name: String,
}

impl Copy {
    /// Of a database that nobody is connected to.
    async fn make(database: &Database) -> Self {
        let (server, name) = database.url.rsplit_once('/').unwrap();
        let server = connect(&format!("{server}/postgres")).await;
        let copy = Self {
            server,
            name: name.to_owned(),
        };
        let made = format!("CREATE DATABASE {name}_copy TEMPLATE {name}");
        copy.until_alone(&made).await;
        copy
    }

    /// Puts it in the place of what it was made of, whoever is connected there.
    async fn put_back(&self) {
        let name = &self.name;
        let drop = format!("DROP DATABASE {name} WITH (FORCE)");
        self.server.batch_execute(&drop).await.unwrap();
        let rename = format!("ALTER DATABASE {name}_copy RENAME TO {name}");
        self.server.batch_execute(&rename).await.unwrap();
    }

    /// Connections that were given back end a little later.
    async fn until_alone(&self, sql: &str) {
        let deadline = tokio::time::Instant::now() + std::time::Duration::from_secs(20);
        while let Err(error) = self.server.batch_execute(sql).await {
            assert!(tokio::time::Instant::now() < deadline, "{error:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn an_older_copy_is_noticed_at_the_next_opening() {
    let (database, folder) = (Database::make().await, tempfile::tempdir().unwrap());
    let store = open(&database, folder.path(), Standby::Synchronous).await;
    let kept = admit(&store, 1).await;
    store.close();
    let copy = Copy::make(&database).await;
    // Nothing happened to it: nothing is noticed.
    let store = open(&database, folder.path(), Standby::Synchronous).await;
    assert_eq!(store.restore().await.unwrap(), None);
    let lost = admit(&store, 2).await;
    store.close();
    copy.put_back().await;
    let store = open(&database, folder.path(), Standby::Synchronous).await;
    let restore = store.restore().await.unwrap().unwrap();
    assert_eq!(restore.released, None);
    let because = store.restored_because().unwrap();
    assert!(because.contains(&lost.to_string()), "{because}");
    // No effect request is marked until an operator releases it, whatever a worker believes.
    let Claimed::Held(claim, _) = store.claim(kept, WORKER, MINUTE).await.unwrap() else {
        panic!("it is free");
    };
    let marks = || vec![mark(1, START)];
    let refused = store
        .commit(&claim, marks(), next("wait", Some(START)))
        .await
        .map(|_| ())
        .unwrap_err();
    assert!(
        matches!(refused.kind, StoreErrorKind::Unavailable(_)),
        "{refused}"
    );
    assert_eq!(store.history(kept).await.unwrap(), []);
    let released = store.release_restore("ana".to_owned()).await.unwrap();
    assert_eq!(released.unwrap().released.unwrap().0, "ana");
    let committed = store
        .commit(&claim, marks(), next("wait", Some(START)))
        .await
        .unwrap();
    assert!(matches!(committed, Committed::Durable(_)));
    store.close();
    // What was noticed once is not noticed again.
    let store = open(&database, folder.path(), Standby::Synchronous).await;
    assert!(store.restore().await.unwrap().unwrap().released.is_some());
    assert_eq!(store.restored_because(), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn an_older_copy_is_noticed_by_a_worker_that_lives_before_it_does_anything_else() {
    let (database, folder) = (Database::make().await, tempfile::tempdir().unwrap());
    database.open(None).await.close();
    let copy = Copy::make(&database).await;
    let store = open(&database, folder.path(), Standby::Synchronous).await;
    admit(&store, 1).await;
    copy.put_back().await;
    // Whatever it does first, it has looked before.
    let mut answered = store.load(admission(1).action.intent.action).await;
    while answered.is_err() {
        answered = store.load(admission(1).action.intent.action).await;
    }
    assert!(answered.unwrap().is_none(), "it is lost");
    assert!(store.restore().await.unwrap().is_some());
}

// Behind a pooler a connection outlives the database: a claim shows that the action was further.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn an_action_that_went_back_is_noticed_by_its_claim() {
    let (database, folder) = (Database::make().await, tempfile::tempdir().unwrap());
    let store = open(&database, folder.path(), Standby::Synchronous).await;
    let id = admit(&store, 1).await;
    let Claimed::Held(claim, _) = store.claim(id, WORKER, MINUTE).await.unwrap() else {
        panic!("it is free");
    };
    let committed = store
        .commit(&claim, vec![mark(1, START)], next("wait", Some(START)))
        .await
        .unwrap();
    let Committed::Durable(recorded) = committed else {
        panic!("it is held");
    };
    let claim = claim.at_version(recorded.version);
    let older = "UPDATE factum.standing SET version = 1, records = 0, state = 'pending', next_step = 'send', next_at = 0; \
                 DELETE FROM factum.evidence";
    connect(&database.url)
        .await
        .batch_execute(older)
        .await
        .unwrap();
    let late = store
        .commit(&claim, Vec::new(), next("wait", Some(START)))
        .await
        .unwrap();
    assert!(matches!(late, Committed::Stale));
    assert!(store.restore().await.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn another_cluster_or_timeline_is_noticed_unless_a_standby_lacks_nothing() {
    // What the store remembers, what a standby may lack, and whether it is a restore.
    let cases = [
        ("the same", Standby::Asynchronous, false),
        ("timeline", Standby::Asynchronous, true),
        ("timeline", Standby::Synchronous, false),
        ("cluster", Standby::Synchronous, true),
    ];
    for (remembered, standby, noticed) in cases {
        let (database, folder) = (Database::make().await, tempfile::tempdir().unwrap());
        let store = open(&database, folder.path(), standby).await;
        admit(&store, 1).await;
        store.close();
        let was = match remembered {
            "timeline" => "regexp_replace(value, '/.*', '/00000000')",
            "cluster" => "'17' || value",
            _ => "value",
        };
        let client = connect(&database.url).await;
        let changed = client
            .execute(
                &format!("UPDATE factum.setting SET value = {was} WHERE name = 'origin'"),
                &[],
            )
            .await
            .unwrap();
        assert_eq!(changed, 1, "it is remembered");
        for _ in 0..2 {
            let store = open(&database, folder.path(), standby).await;
            let restore = store.restore().await.unwrap();
            let told = format!("{remembered} {standby:?}: {restore:?}");
            assert_eq!(restore.is_some(), noticed, "{told}");
            if let Some(restore) = restore {
                assert!(restore.copy_until <= restore.at, "{told}");
            }
            store.close();
        }
    }
}

// A role that may not ask for the cluster still notices what it wrote and does not find.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn a_role_that_may_not_ask_goes_by_what_it_wrote() {
    let (database, folder) = (Database::make().await, tempfile::tempdir().unwrap());
    let client = connect(&database.url).await;
    let role = format!("plain_{}", database.url.rsplit('/').next().unwrap());
    let narrow = format!(
        "CREATE ROLE {role} LOGIN; GRANT CREATE ON DATABASE {} TO {role}; \
         REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC",
        database.url.rsplit('/').next().unwrap()
    );
    client.batch_execute(&narrow).await.unwrap();
    let database = Database {
        url: database.url.replace("factum@", &format!("{role}@")),
    };
    let store = open(&database, folder.path(), Standby::Asynchronous).await;
    admit(&store, 1).await;
    store.close();
    client
        .batch_execute(
            "DELETE FROM factum.standing; DELETE FROM factum.evidence; DELETE FROM factum.action",
        )
        .await
        .unwrap();
    let store = open(&database, folder.path(), Standby::Asynchronous).await;
    assert!(
        store
            .restored_because()
            .unwrap()
            .contains("not there any more")
    );
}
