//! What survives: a stop, a kill, a torn last line. What does not: damage before the last line, a second testbed.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use factum_faults::FaultPlan;
use factum_testbed::{Config, Counts, Error, Filter, Handle, Settings, Testbed};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::caller::{Ask, End, order, started};

fn config(ledger: &Path) -> Config {
    Config {
        ledger: Some(ledger.to_owned()),
        settings: Settings {
            queue_delay: Duration::from_secs(1_000),
            ..Settings::default()
        },
        ..Config::default()
    }
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder can be made")
}

fn counts(testbed: &Handle) -> Counts {
    testbed.ledger().counts(&Filter::default())
}

async fn scripted(to: SocketAddr, path: &str, key: &str, behave: &str) -> (u16, Value) {
    let mut body = order(key);
    if !behave.is_empty() {
        body["behave"] = behave.into();
    }
    let reply = Ask::post(path, &body).key(key).send(to).await;
    (reply.status, reply.json())
}

const ASKED: &[(&str, &str, &str)] = &[
    ("/key/sync/effects", "done", ""),
    ("/key/sync/effects", "rejected", "reject"),
    ("/key/sync/effects", "declined", "decline"),
    ("/key/queued/effects", "queued", ""),
    ("/key/queued/effects", "fails", "complete_then_fail"),
];

#[tokio::test]
async fn keys_jobs_effects_and_cancels_are_rebuilt() {
    let folder = folder();
    let file = folder.path().join("ledger.jsonl");
    let testbed = started(config(&file)).await;
    let to = testbed.addr();
    let mut answers = Vec::new();
    for (path, key, behave) in ASKED {
        answers.push(scripted(to, path, key, behave).await);
    }
    Ask::post("/lookup/queued/effects", &order("found"))
        .send(to)
        .await;
    Ask::post("/cancel/sync/effects", &order("gone"))
        .key("k")
        .send(to)
        .await;
    Ask::post("/cancel/sync/cancel", &json!({"key": "k"}))
        .send(to)
        .await;
    testbed.set_faults(FaultPlan::parse(1, "delayed_commit=1000000").unwrap());
    let (begun, _) = scripted(to, "/key/sync/effects", "begun", "").await;
    assert_eq!(begun, 0);
    let before = (counts(&testbed), testbed.ledger().rows(&Filter::default()));
    testbed.shutdown().await;

    let testbed = started(config(&file)).await;
    let to = testbed.addr();
    assert_eq!(
        (counts(&testbed), testbed.ledger().rows(&Filter::default())),
        before
    );
    for ((path, key, behave), answer) in ASKED.iter().zip(answers) {
        assert_eq!(scripted(to, path, key, behave).await, answer, "{key}");
    }
    let (in_progress, _) = scripted(to, "/key/sync/effects", "begun", "").await;
    let late = Ask::post("/cancel/sync/effects", &order("gone"))
        .key("k")
        .send(to)
        .await;
    assert_eq!((in_progress, late.status), (409, 409));
    let found = Ask::get("/lookup/queued/effects?reference=ref-found")
        .send(to)
        .await
        .json();
    assert_eq!(found["items"][0]["state"], "queued");

    testbed.advance(Duration::from_secs(1_000));
    let landed = testbed
        .ledger()
        .wait_until(&Filter::default(), |counts| counts.pending == 0)
        .await;
    assert_eq!(
        (landed.total_effects, landed.failed_jobs, landed.cancelled),
        (4, 1, 1)
    );
    let next = Ask::post("/neither/sync/effects", &order("n"))
        .send(to)
        .await
        .json();
    assert_eq!(
        next["id"],
        format!("T-{:06}", 4 + 1 + 1 + 1),
        "ids go on after what was used"
    );
}

#[tokio::test]
async fn a_clock_that_was_moved_ahead_goes_on_from_there() {
    let folder = folder();
    let file = folder.path().join("ledger.jsonl");
    let testbed = started(config(&file)).await;
    testbed.advance(Duration::from_secs(86_400));
    Ask::post("/key/queued/effects", &order("a"))
        .key("k")
        .send(testbed.addr())
        .await;
    testbed.shutdown().await;
    let testbed = started(config(&file)).await;
    testbed.advance(Duration::from_secs(1_000));
    testbed
        .ledger()
        .wait_until(&Filter::default(), |counts| counts.total_effects == 1)
        .await;
    let rows = testbed.ledger().rows(&Filter::default());
    assert!(rows[1].at - rows[0].at >= 1_000 * 1_000_000);
    let answer = Ask::get("/whoami").send(testbed.addr()).await;
    assert!(
        answer
            .header("Date")
            .is_some_and(|date| date.ends_with(" GMT"))
    );
}

#[tokio::test]
async fn a_torn_last_line_is_dropped_and_the_ledger_goes_on() {
    let folder = folder();
    let file = folder.path().join("ledger.jsonl");
    let testbed = started(config(&file)).await;
    for name in ["a", "b"] {
        Ask::post("/neither/sync/effects", &order(name))
            .send(testbed.addr())
            .await;
    }
    testbed.shutdown().await;
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..whole.len() - 9]).unwrap();

    let testbed = started(config(&file)).await;
    assert_eq!(
        counts(&testbed).by_business.keys().collect::<Vec<_>>(),
        ["a"]
    );
    Ask::post("/neither/sync/effects", &order("c"))
        .send(testbed.addr())
        .await;
    testbed.shutdown().await;
    let testbed = started(config(&file)).await;
    assert_eq!(
        counts(&testbed).by_business.keys().collect::<Vec<_>>(),
        ["a", "c"]
    );
    let numbers: Vec<_> = testbed
        .ledger()
        .rows(&Filter::default())
        .iter()
        .map(|row| row.seq)
        .collect();
    assert_eq!(numbers, [1, 2]);
}

#[tokio::test]
async fn damage_before_the_last_line_is_refused_with_its_place() {
    let folder = folder();
    let file = folder.path().join("ledger.jsonl");
    let testbed = started(config(&file)).await;
    for name in ["a", "b", "c"] {
        Ask::post("/neither/sync/effects", &order(name))
            .send(testbed.addr())
            .await;
    }
    testbed.shutdown().await;
    let text = fs::read_to_string(&file).unwrap();
    let damaged = [
        (text.replacen("\"business\":\"b\"", "\"business\":b", 1), 2),
        (
            text.lines()
                .skip(1)
                .map(|line| format!("{line}\n"))
                .collect(),
            1,
        ),
    ];
    for (text, place) in damaged {
        fs::write(&file, text).unwrap();
        let error = Testbed::start(config(&file)).await.unwrap_err();
        assert!(
            error
                .to_string()
                .contains(&format!("is damaged at line {place}")),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_second_testbed_on_the_same_ledger_is_refused() {
    let folder = folder();
    let file = folder.path().join("ledger.jsonl");
    let first = started(config(&file)).await;
    let error = Testbed::start(config(&file)).await.unwrap_err();
    assert!(matches!(error, Error::LedgerInUse(_)), "{error}");
    let view = first.ledger();
    first.shutdown().await;
    // Stopping lets go of the file even while somebody still reads the old ledger.
    started(config(&file)).await;
    assert_eq!(view.counts(&Filter::default()).deliveries, 0);
}

#[tokio::test]
async fn a_killed_testbed_has_lost_nothing_that_it_answered() {
    let folder = folder();
    let file = folder.path().join("ledger.jsonl");
    let (mut child, to) = child(&file).await;
    let mut answered = 0;
    for n in 0..50 {
        let reply = Ask::post("/lookup/sync/effects", &order(&n.to_string()))
            .send(to)
            .await;
        answered += u64::from(reply.status == 201);
    }
    assert_eq!(answered, 50);
    Ask::new("PUT", "/faults")
        .body("delayed_commit=1000000")
        .send(to)
        .await;
    assert_eq!(scripted(to, "/key/sync/effects", "k", "").await.0, 0);
    child.kill().await.unwrap();
    assert_eq!(Ask::get("/healthz").send(to).await.end, End::Refused);

    let testbed = started(config(&file)).await;
    assert_eq!(
        (counts(&testbed).total_effects, counts(&testbed).pending),
        (50, 1)
    );
    let found = Ask::get("/lookup/sync/effects?reference=ref-49")
        .send(testbed.addr())
        .await
        .json();
    assert_eq!(found["items"].as_array().map(Vec::len), Some(1));
    // What had not landed when the process died may still land.
    testbed.advance(Duration::from_secs(1_000));
    let landed = testbed
        .ledger()
        .wait_until(&Filter::default(), |counts| counts.pending == 0)
        .await;
    assert_eq!((landed.total_effects, landed.effects_of("k")), (51, 1));
}

const CHILD_LEDGER: &str = "FACTUM_TESTBED_CHILD_LEDGER";

/// This test program once more, as a testbed in a process of its own.
async fn child(ledger: &Path) -> (Child, SocketAddr) {
    let program = std::env::current_exe().expect("a running program has a path");
    let mut child = Command::new(program)
        .args([
            "restart::a_testbed_in_a_process_of_its_own",
            "--exact",
            "--ignored",
            "--nocapture",
        ])
        .env(CHILD_LEDGER, ledger)
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("this program can be started once more");
    let mut lines = BufReader::new(child.stdout.take().expect("its output is piped")).lines();
    while let Some(line) = lines.next_line().await.expect("its output is text") {
        if let Some((_, addr)) = line.split_once("listening on ") {
            return (child, addr.parse().expect("an address follows"));
        }
    }
    panic!("the testbed ended before it said where it listens");
}

#[tokio::test]
#[ignore = "serves until it is killed; started by the test above"]
async fn a_testbed_in_a_process_of_its_own() {
    let ledger = std::env::var_os(CHILD_LEDGER).expect("the parent names the ledger");
    let testbed = started(config(Path::new(&ledger))).await;
    println!("listening on {}", testbed.addr());
    std::future::pending::<()>().await;
}
