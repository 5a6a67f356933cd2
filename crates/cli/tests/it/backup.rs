//! The drill: back up, act on, lose the store, put the backup back. Effects are counted at the destination.

use serde_json::{Value, json};

use crate::support::{Bed, Folder, business, mode};

/// Puts a backup in the place of the store's file, as an operator does.
fn put_back(folder: &Folder, backup: &str) {
    let file = folder.path("factum-data/factum.db");
    for log in ["factum-data/factum.db-wal", "factum-data/factum.db-shm"] {
        let _ = std::fs::remove_file(folder.path(log));
    }
    std::fs::copy(folder.path(backup), file).unwrap();
}

// B190: what was done after the backup is met again as maybe sent: no duplicate, and nothing said that is not so.
#[test]
fn a_backup_put_back_repeats_nothing_and_says_nothing_false() {
    let bed = Bed::start();
    let folder = Folder::with(&bed);
    let server = folder.serve();
    let before = folder.submit("lookup.sync", "before", &business("before"));
    let before = before["id"].as_str().unwrap().to_owned();
    assert_eq!(
        folder.json(&["status", &before, "--wait", "30s"])["state"],
        "succeeded"
    );
    folder.json(&["admin", "pause"]);
    let waiting = folder.submit("lookup.sync", "waiting", &business("waiting"));
    let waiting = waiting["id"].as_str().unwrap().to_owned();

    let told = folder.json(&["backup", "backup.db"]);
    assert!(told["bytes"].as_u64().unwrap() > 0, "{told}");
    assert_eq!(mode(&folder.path("backup.db")), 0o600);
    let (_, again) = folder.refused(&["backup", "backup.db"]);
    assert!(again.to_string().contains("is there already"), "{again}");

    // After the backup: what waited is done, and something new is.
    folder.json(&["admin", "resume"]);
    let after = folder.submit("lookup.sync", "after", &business("after"));
    let after = after["id"].as_str().unwrap().to_owned();
    for id in [&waiting, &after] {
        let done = folder.json(&["status", id, "--wait", "30s"]);
        assert_eq!(done["state"], "succeeded", "{done}");
    }
    server.stop();
    put_back(&folder, "backup.db");

    let server = folder.serve();
    folder.json(&["admin", "resume"]);
    let state = folder.json(&["admin", "state"]);
    assert_eq!(state["restore"]["released"], Value::Null, "{state}");
    // What was settled before the backup stands; what waited may have been sent, and is looked for.
    assert_eq!(folder.json(&["status", &before])["state"], "succeeded");
    let found = folder.json(&["status", &waiting, "--wait", "30s"]);
    assert_eq!(
        found["state"], "succeeded",
        "found by its reference: {found}"
    );
    // What the backup does not know is unknown, whoever asks, and not new.
    let repeated = folder.submit("lookup.sync", "after", &business("after"));
    assert_eq!(
        (&repeated["state"], &repeated["safe_to_call_again"]),
        (&json!("outcome_unknown"), &json!(false)),
        "{repeated}"
    );
    let repeated = repeated["id"].as_str().unwrap().to_owned();
    let found = folder.json(&["status", &repeated, "--wait", "30s"]);
    assert_eq!(found["state"], "succeeded", "{found}");
    folder.json(&["admin", "release"]);
    for business in ["before", "waiting", "after"] {
        assert_eq!(bed.effects(business), 1, "{business}");
    }
    server.stop();
}
