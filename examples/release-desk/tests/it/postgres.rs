//! The application on PostgreSQL: `FACTUM_TEST_POSTGRES` names a server whose user may make databases.

use factum_faults::FaultPlan;
use factum_testbed::{Config, Filter, Testbed};
use tokio_postgres::NoTls;

use super::{last_line_of, run_on};

async fn database() -> String {
    #[expect(
        clippy::disallowed_methods,
        reason = "the script that starts the server names it so"
    )]
    let server =
        std::env::var("FACTUM_TEST_POSTGRES").expect("FACTUM_TEST_POSTGRES names a server");
    let since = std::time::UNIX_EPOCH.elapsed().unwrap().as_micros();
    let name = format!("release_desk_{since}_{}", std::process::id());
    let (client, connection) = tokio_postgres::connect(&format!("{server}/postgres"), NoTls)
        .await
        .unwrap();
    tokio::spawn(connection);
    let sql = format!("CREATE DATABASE {name}");
    client.batch_execute(&sql).await.unwrap();
    format!("{server}/{name}")
}

// O: the release and its announcement commit together; a lost answer makes no second one, nor does whoever runs it again.
#[tokio::test]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn releases_are_announced_once_on_postgresql_though_answers_are_lost() {
    let (folder, database) = (tempfile::tempdir().unwrap(), database().await);
    let plan = FaultPlan::parse(1, "close_fin,class=effect,per=reference,times=1").unwrap();
    let testbed = Testbed::start(Config {
        faults: plan,
        ..Config::default()
    })
    .await
    .unwrap();
    for _ in 0..2 {
        let output = run_on(&testbed.base_url(), folder.path(), Some(&database)).await;
        for version in ["0.1.0", "0.2.0"] {
            let line = last_line_of(&output, version);
            assert!(line.contains("published; announced as T-"), "{output:?}");
        }
    }
    let counts = testbed.ledger().counts(&Filter::default());
    assert_eq!((counts.total_effects, counts.duplicates), (2, 0));
    testbed.shutdown().await;
}
