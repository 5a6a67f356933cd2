//! Seeds of this product that the other files do not tell with real processes: a rejection, an event twice, an old copy.

use serde_json::{Value, json};

use crate::support::{Bed, Folder, business};

fn at_rest(status: &Value) -> bool {
    matches!(status["next"]["do"].as_str(), Some("none" | "review"))
}

/// An explicit rejection is not unknown.
#[test]
fn a_rejection_is_a_failure_and_not_unknown() {
    let bed = Bed::start();
    let folder = Folder::with(&bed);
    let server = folder.serve();
    let payload = json!({"business": "order-1", "behave": "reject"});
    let status = folder.submit("neither.sync", "order-1", &payload);
    let rested = folder.status_when(status["id"].as_str().unwrap(), at_rest);
    assert_eq!(
        (&rested["state"], &rested["happened"]),
        (&json!("terminal_failure"), &json!("no"))
    );
    assert_eq!((bed.effects("order-1"), bed.deliveries()), (0, 1));
    server.stop();
}

/// An event that is delivered twice is one event; another of its effects is another action.
#[test]
fn an_event_delivered_twice_is_one_effect() {
    let bed = Bed::start();
    let folder = Folder::with(&bed);
    let server = folder.serve();
    let submit = |effect: &str| {
        let payload = business(effect).to_string();
        let event = ["--event-source", "shop", "--event-id", "e-1", "--effect"];
        let tail = [effect, "--payload", &payload];
        folder.json(&[&["submit", "bed", "key.sync"][..], &event, &tail].concat())
    };
    let (first, again, other) = (submit("mail"), submit("mail"), submit("ticket"));
    assert_eq!(first["id"], again["id"]);
    assert_eq!(again["joined"], true);
    for status in [&first, &other] {
        let rested = folder.status_when(status["id"].as_str().unwrap(), at_rest);
        assert_eq!(rested["state"], "succeeded");
    }
    assert_eq!((bed.effects("mail"), bed.effects("ticket")), (1, 1));
    server.stop();
}

/// B190: an old copy of the file is put back. It is noticed, nothing is sent before the release, and no effect is made twice.
#[test]
fn an_old_copy_of_the_file_repeats_nothing() {
    let bed = Bed::start();
    let folder = Folder::with(&bed);
    let server = folder.serve();
    folder.run(&["admin", "pause"]);
    let status = folder.submit("lookup.sync", "order-1", &business("order-1"));
    let id = status["id"].as_str().unwrap();
    server.stop();
    let (file, copy) = (folder.path("factum-data/factum.db"), folder.path("copy.db"));
    std::fs::copy(&file, &copy).unwrap();

    let server = folder.serve();
    folder.run(&["admin", "resume"]);
    folder.status_when(id, |status| status["state"] == "succeeded");
    server.stop();
    for log in ["factum-data/factum.db-wal", "factum-data/factum.db-shm"] {
        let _ = std::fs::remove_file(folder.path(log));
    }
    std::fs::copy(&copy, &file).unwrap();

    let server = folder.serve();
    folder.run(&["admin", "resume"]);
    let found = folder.status_when(id, at_rest);
    assert_eq!(
        found["state"], "succeeded",
        "found by its reference: {found}"
    );
    let state = folder.json(&["admin", "state"]);
    assert_eq!(state["restore"]["released"], Value::Null, "{state}");
    folder.run(&["admin", "release"]);
    assert_eq!((bed.effects("order-1"), bed.deliveries()), (1, 1));
    server.stop();
}
