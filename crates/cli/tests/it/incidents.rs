//! Ten incidents, each prepared as it happens, and found with what an operator has: metrics, doctor, and the commands. What each
//! test finds stands in the runbook that it names, so that whoever reads only the documents finds it too.

mod scene;

use serde_json::json;

use self::scene::{Refusing, doctor, metrics, runbook, served_config, value};
use crate::support::{Bed, Folder, business};

#[test]
fn a_destination_that_is_down() {
    let words = [
        "FactumDestinationDown",
        "factum_circuit_open",
        "factum destination test",
    ];
    runbook("destination-down", &words);
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", free.local_addr().unwrap());
    drop(free);
    let folder = Folder::new();
    folder.write(
        "factum.toml",
        &served_config(&base, "gate.circuit_failures = 1\n"),
    );
    let server = folder.serve();
    folder.submit("lookup.sync", "k", &business("b"));
    metrics(&server, |page| {
        value(page, "factum_circuit_open{destination=\"bed\"}") == 1.0
    });
    let found = doctor(&folder);
    assert!(
        found.contains("destination bed: cannot be asked"),
        "{found}"
    );
    let asked = folder.run(&["destination", "test", "bed"]);
    assert!(
        asked.out.contains("remedy: check the base address"),
        "{asked:?}"
    );
    server.stop();
}

#[test]
fn a_window_that_closes() {
    runbook(
        "window-closing",
        &[
            "FactumWindowClosing",
            "factum_windows_closing_actions",
            "factum admin resume",
        ],
    );
    let bed = Bed::with(&["--faults", "close_fin,class=effect"]);
    let folder = Folder::with(&bed);
    let contract = scene::contract("key.sync");
    let short = contract.replacen("floor = \"24 h\"", "floor = \"20 min\"", 1);
    assert_ne!(contract, short);
    folder.write("contracts/testbed/key.sync.toml", &short);
    let config = folder.read("factum.toml");
    folder.write(
        "factum.toml",
        &format!("contracts = \"contracts\"\n{config}"),
    );
    let server = folder.serve();
    let id = folder.submit("key.sync", "k", &business("b"))["id"].clone();
    folder.status_when(id.as_str().unwrap(), |status| {
        status["state"] == "outcome_unknown"
    });
    // An operator's hold is what bars the repeat.
    folder.json(&["admin", "pause", "--by", "ben"]);
    let closing = "factum_windows_closing_actions{destination=\"bed\",operation=\"key.sync\"}";
    metrics(&server, |page| {
        page.contains(closing) && value(page, closing) == 1.0
    });
    let state = folder.run(&["admin", "state"]);
    assert!(state.out.contains("held by ben"), "{state:?}");
    server.stop();
}

#[test]
fn a_lane_that_is_stuck() {
    runbook(
        "stuck-lane",
        &[
            "FactumQueueStuck",
            "factum_queue_actions",
            "at_gate",
            "gate.in_flight_max",
        ],
    );
    let bed = Bed::with(&["--faults", "hang_in_accept=20000,class=effect"]);
    let folder = Folder::new();
    folder.write(
        "factum.toml",
        &served_config(
            &bed.base,
            "gate.in_flight_max = 1\nlimits.answer_wait = \"20 s\"\n",
        ),
    );
    let server = folder.serve();
    for no in 0..3 {
        folder.submit("lookup.sync", &format!("k{no}"), &business("b"));
    }
    let at_gate = "factum_queue_actions{destination=\"bed\",place=\"at_gate\"}";
    let in_flight = "factum_requests_in_flight{destination=\"bed\"}";
    metrics(&server, |page| {
        value(page, at_gate) == 2.0 && value(page, in_flight) == 1.0
    });
    metrics(&server, |page| {
        value(page, "factum_queue_oldest_seconds{destination=\"bed\"}") > 0.5
    });
}

#[test]
fn a_clock_that_is_wrong() {
    runbook(
        "wrong-clock",
        &["FactumClockInDoubt", "factum doctor", "`Date`"],
    );
    let there = Refusing::start();
    let folder = Folder::new();
    folder.write("factum.toml", &served_config(&there.base, ""));
    let found = doctor(&folder);
    assert!(
        found.contains("clock: the clock of bed and this machine's are"),
        "{found}"
    );
    assert!(found.contains("by NTP"), "{found}");
}

#[test]
fn a_contract_that_lies() {
    runbook(
        "lying-contract",
        &[
            "FactumContractLies",
            "holds other content under our key",
            "factum destination disable",
        ],
    );
    let bed = Bed::start();
    let folder = Folder::with(&bed);
    let other = Folder::with(&bed);
    // Another store with the same keys uses the same provider key for another intent, which no contract foresees.
    other.serve().stop();
    let key = std::fs::read(other.path("factum-data/keys/root")).unwrap();
    folder.write("factum-data/keys/.made", "");
    std::fs::write(folder.path("factum-data/keys/root"), key).unwrap();
    let server = other.serve();
    let id = other.submit("key.sync", "k", &business("first"))["id"].clone();
    other.status_when(id.as_str().unwrap(), |status| {
        status["state"] == "succeeded"
    });
    server.stop();

    let server = folder.serve();
    let id = folder.submit("key.sync", "k", &business("second"))["id"].clone();
    let id = id.as_str().unwrap();
    let status = folder.status_when(id, |status| status["next"]["do"] == "review");
    let why = "the destination holds other content under our key";
    assert_eq!(status["next"]["why"], why, "{status}");
    let opened = "factum_reviews_opened_total{destination=\"bed\",operation=\"key.sync\",why=\"key_mismatch\"}";
    metrics(&server, |page| value(page, opened) == 1.0);
    let shown = folder.run(&["review", "show", id]);
    assert!(shown.out.contains(why), "{shown:?}");
    server.stop();
}

#[test]
fn a_disk_that_is_full() {
    runbook(
        "full-disk",
        &[
            "FactumStoreCannotWrite",
            "F1032",
            "factum_store_writes_failed_total",
            "`/readyz` answers 507",
        ],
    );
    let bed = Bed::start();
    let folder = Folder::with(&bed);
    let server = folder.serve();
    scene::fill(&server);
    let payload = json!({"business": "b", "text": "x".repeat(100_000)}).to_string();
    let words = [
        "submit",
        "bed",
        "key.sync",
        "--key",
        "k",
        "--payload",
        &payload,
    ];
    let (_, problem) = folder.refused(&words);
    // A limit on the size of files stands in for a disk without room, and the system calls that by another name.
    assert_eq!(problem["code"], "F1031", "{problem}");
    let page = metrics(&server, |page| {
        value(page, "factum_store_writes_failed_total") > 0.0
    });
    assert_eq!(
        value(&page, "factum_store_up"),
        1.0,
        "what is there can be read"
    );
    let ready = server.ask("GET", "/readyz", &json!(null)).unwrap();
    assert_eq!(ready.status, 503, "{:?}", ready.body);
    let found = doctor(&folder);
    assert!(found.contains("server: F1031"), "{found}");
    assert_eq!(bed.deliveries(), 0, "what is not recorded is not sent");
}

#[test]
fn a_key_that_is_lost() {
    runbook("lost-key", &["FactumDown", "keys/root", "chmod 600"]);
    let bed = Bed::start();
    let folder = Folder::with(&bed);
    folder.serve().stop();
    std::fs::remove_file(folder.path("factum-data/keys/root")).unwrap();
    let found = doctor(&folder);
    assert!(found.contains("keys/root is missing"), "{found}");
    assert!(found.contains("from a backup"), "{found}");
    let (code, _) = folder.refused(&["serve", "--listen", "127.0.0.1:0"]);
    assert_ne!(code, 0, "no server runs without its keys");
}

#[test]
fn a_review_queue_that_grows() {
    runbook(
        "review-grows",
        &[
            "FactumReviewGrows",
            "factum_review_actions",
            "factum review match",
        ],
    );
    let bed = Bed::with(&["--faults", "close_fin,class=effect"]);
    let folder = Folder::with(&bed);
    let server = folder.serve();
    for no in 0..3 {
        folder.submit("neither.sync", &format!("k{no}"), &business("b"));
    }
    let waits = "factum_review_actions{destination=\"bed\",operation=\"neither.sync\",age=\"1m\"}";
    let why = "factum_reviews_opened_total{destination=\"bed\",operation=\"neither.sync\",why=\"nothing_to_ask\"}";
    // The one is read from the store, the other counted after the commit: a page may fall between them.
    metrics(&server, |page| {
        [waits, why]
            .iter()
            .all(|name| page.contains(name) && value(page, name) == 3.0)
    });
    let listed = folder.json(&["review", "list", "--order", "urgent"]);
    assert_eq!(listed["items"].as_array().unwrap().len(), 3, "{listed}");
    server.stop();
    let found = doctor(&folder);
    assert!(
        found.contains("review: 3 actions wait for a person"),
        "{found}"
    );
}

#[test]
fn a_store_that_came_from_a_copy() {
    runbook(
        "restored-copy",
        &[
            "FactumRestoreHeld",
            "factum admin would-send",
            "factum admin release",
        ],
    );
    let bed = Bed::start();
    let folder = Folder::with(&bed);
    folder.serve().stop();
    let copy = std::fs::read(folder.path("factum-data/factum.db")).unwrap();
    let server = folder.serve();
    folder.submit("key.sync", "after the copy", &business("c"));
    server.stop();
    std::fs::write(folder.path("factum-data/factum.db"), copy).unwrap();
    let server = folder.serve();
    metrics(&server, |page| value(page, "factum_restore_held") == 1.0);
    let found = doctor(&folder);
    assert!(
        found.contains("restore: the store came from a copy"),
        "{found}"
    );
    let state = folder.run(&["admin", "state"]);
    assert!(
        state.out.contains("see `factum admin would-send`"),
        "{state:?}"
    );
    server.stop();
}

#[test]
fn a_credential_that_was_revoked() {
    runbook(
        "revoked-credential",
        &[
            "FactumRefused",
            "the credential is refused",
            "factum destination enable",
        ],
    );
    let there = Refusing::start();
    let folder = Folder::new();
    folder.write("factum.toml", &served_config(&there.base, ""));
    let server = folder.serve();
    let id = folder.submit("key.sync", "k", &business("b"))["id"].clone();
    folder.status_when(id.as_str().unwrap(), |status| {
        status["state"] == "terminal_failure"
    });
    let refused =
        "factum_attempts_total{destination=\"bed\",operation=\"key.sync\",evidence=\"rejected\"}";
    metrics(&server, |page| value(page, refused) == 1.0);
    let found = doctor(&folder);
    assert!(
        found.contains("it answered 401: the credential is refused"),
        "{found}"
    );
    server.stop();
}

/// Rules, dashboard and runbooks rest on the page of metrics, and that on what a server answers.
#[test]
fn every_metric_of_the_documents_is_scraped() {
    let bed = Bed::start();
    let folder = Folder::with(&bed);
    let server = folder.serve();
    let page = scene::scrape(&server);
    let families = scene::families(&page);
    let named = scene::documented();
    assert!(named.len() > 20, "{named:?}");
    assert_eq!(
        named, families,
        "docs/metrics.md names what is scraped, and all of it"
    );
    server.stop();
}
