//! The administration over HTTP, and that faults leave it alone.

use factum_faults::FaultPlan;
use factum_testbed::{Config, Counts, Error, Filter, Testbed};
use serde_json::json;

use crate::caller::{Ask, End, order, with_faults};

#[tokio::test]
async fn the_ledger_is_the_same_over_http_and_in_process() {
    let testbed = with_faults("close_fin,n=1,ref=a").await;
    for name in ["a", "a", "b"] {
        Ask::post("/neither/sync/effects", &order(name))
            .send(testbed.addr())
            .await;
    }
    let to = testbed.addr();
    let rows = Ask::get("/ledger?business=a").send(to).await.json();
    assert_eq!(rows["rows"].as_array().unwrap().len(), 2);
    assert_eq!(
        (&rows["rows"][0]["fault"], &rows["rows"][0]["lost"]),
        (&json!("close_fin"), &json!(true))
    );
    let text = Ask::get("/ledger/counts").send(to).await.text;
    let counts: Counts = serde_json::from_str(&text).unwrap();
    assert_eq!(counts, testbed.ledger().counts(&Filter::default()));
    assert_eq!(
        (counts.total_effects, counts.duplicates, counts.answers_lost),
        (3, 1, 1)
    );
    let none = Ask::get("/ledger/counts?kind=key&mode=sync")
        .send(to)
        .await
        .json();
    assert_eq!(none["total_effects"], 0);
    let bad = Ask::get("/ledger?kind=keys").send(to).await;
    assert_eq!((bad.status, bad.code().as_str()), (400, "filter"));

    let table = Ask::get("/ledger/table").send(to).await.text;
    assert_eq!(table, testbed.ledger().table());
    let line = table
        .lines()
        .find(|line| line.starts_with("neither, sync"))
        .unwrap();
    assert_eq!(
        line.split_whitespace().skip(2).take(4).collect::<Vec<_>>(),
        ["3", "3", "1", "1"]
    );
    assert!(table.contains("more than one effect:\n  a: 2\n"), "{table}");

    assert_eq!(Ask::new("DELETE", "/ledger").send(to).await.status, 200);
    assert_eq!(
        testbed.ledger().counts(&Filter::default()),
        Counts::default()
    );
}

#[tokio::test]
async fn faults_are_read_and_replaced_while_it_runs() {
    let testbed = with_faults("status=500,n=1").await;
    let to = testbed.addr();
    Ask::post("/neither/sync/effects", &order("a"))
        .send(to)
        .await;
    let now = Ask::get("/faults").send(to).await.json();
    assert_eq!(
        now,
        json!({"seed": 7, "rules": "status=500,n=1", "counts": [{"seen": 1, "fired": 1}]})
    );
    let set = Ask::new("PUT", "/faults?seed=9")
        .body("cut_head , times=2")
        .send(to)
        .await
        .json();
    assert_eq!(
        set,
        json!({"seed": 9, "rules": "cut_head,times=2", "counts": [{"seen": 0, "fired": 0}]})
    );
    assert_eq!(
        Ask::post("/neither/sync/effects", &order("a"))
            .send(to)
            .await
            .end,
        End::CutHead
    );
    let bad = Ask::new("PUT", "/faults").body("cut_tail").send(to).await;
    assert_eq!(bad.status, 400);
    assert!(
        bad.text.contains("cut_tail: is no fault; use one of"),
        "{}",
        bad.text
    );
    assert_eq!(testbed.fault_counts(), [(1, 1)]);
}

#[tokio::test]
async fn no_fault_hits_the_administration() {
    let testbed = with_faults("close_rst").await;
    for path in [
        "/healthz",
        "/ledger",
        "/ledger/counts",
        "/ledger/table",
        "/faults",
    ] {
        assert_eq!(
            Ask::get(path).send(testbed.addr()).await.status,
            200,
            "{path}"
        );
    }
    assert_eq!(
        Ask::get("/whoami").send(testbed.addr()).await.end,
        End::Reset
    );
    // Its own address is out of reach of what is decided per connection, too, and serves nothing else.
    testbed.set_faults(FaultPlan::parse(1, "refuse").unwrap());
    let admin = testbed.admin_addr();
    assert_eq!(
        Ask::get("/healthz").send(testbed.addr()).await.end,
        End::Reset
    );
    assert_eq!(Ask::get("/healthz").send(admin).await.status, 200);
    assert_eq!(
        Ask::post("/neither/sync/effects", &order("a"))
            .send(admin)
            .await
            .status,
        404
    );
    assert_eq!(Ask::get("/whoami").send(admin).await.status, 404);
}

#[tokio::test]
async fn the_clock_moves_over_http() {
    let testbed = with_faults("delayed_commit=3600000").await;
    Ask::post("/neither/sync/effects", &order("a"))
        .send(testbed.addr())
        .await;
    assert_eq!(
        Ask::new("PUT", "/clock").send(testbed.addr()).await.status,
        400
    );
    Ask::new("PUT", "/clock?advance_ms=3600000")
        .send(testbed.addr())
        .await;
    testbed
        .ledger()
        .wait_until(&Filter::default(), |counts| counts.total_effects == 1)
        .await;
}

#[tokio::test]
async fn it_listens_on_loopback_only() {
    let config = Config {
        listen: "0.0.0.0:0".parse().unwrap(),
        ..Config::default()
    };
    let error = Testbed::start(config).await.unwrap_err();
    assert!(matches!(error, Error::NotLoopback(_)), "{error}");
}

#[tokio::test]
async fn a_stopped_testbed_answers_nobody_and_keeps_its_ledger_readable() {
    let testbed = with_faults("").await;
    let to = testbed.addr();
    Ask::post("/neither/sync/effects", &order("a"))
        .send(to)
        .await;
    let ledger = testbed.ledger();
    testbed.shutdown().await;
    assert_eq!(Ask::get("/healthz").send(to).await.end, End::Refused);
    assert_eq!(ledger.counts(&Filter::default()).total_effects, 1);
}
