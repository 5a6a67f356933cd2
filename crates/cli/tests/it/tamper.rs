//! `factum verify`: beside a server, and on a copy in which somebody changed something.

use rusqlite::Connection;
use serde_json::Value;

use crate::support::{Bed, Folder, business};

/// Triggers that would stop an honest hand.
const OFF: &str = "PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF; DROP TRIGGER evidence_is_never_changed; \
    DROP TRIGGER evidence_is_never_removed; DROP TRIGGER evidence_keeps_its_chain; DROP TRIGGER evidence_stays_sealed;";

/// A served folder with one settled action; its id.
fn settled(folder: &Folder) -> String {
    let id = folder.submit("key.sync", "k", &business("b"))["id"].clone();
    let id = id.as_str().unwrap().to_owned();
    let done = folder.json(&["status", &id, "--wait", "30s"]);
    assert_eq!(done["state"], "succeeded", "{done}");
    id
}

/// Verifies this file; whether it is sound, and the findings.
fn verified(folder: &Folder, file: &str) -> (bool, Vec<Value>) {
    let ran = folder.run(&["verify", file, "--json"]);
    let told = ran.json();
    let sound = told["sound"].as_bool().unwrap();
    assert_eq!(ran.code, i32::from(!sound), "{told}");
    (sound, told["findings"].as_array().unwrap().clone())
}

#[test]
fn a_store_is_verified_beside_its_server_and_a_copy_without_one() {
    let bed = Bed::start();
    let folder = Folder::with(&bed);
    let server = folder.serve();
    settled(&folder);
    let told = folder.json(&["verify"]);
    assert_eq!(
        (&told["sound"], &told["actions"]),
        (&true.into(), &1.into()),
        "{told}"
    );
    assert!(told["records"].as_u64().unwrap() >= 2, "{told}");
    folder.json(&["backup", "copy.db"]);
    assert_eq!(verified(&folder, "copy.db"), (true, Vec::new()));
    assert!(!folder.path("copy.db-wal").exists() && !folder.path("copy.db-shm").exists());
    let (_, problem) = folder.refused(&["verify", "nothing.db"]);
    assert!(
        problem.to_string().contains("no store to verify"),
        "{problem}"
    );
    server.stop();
    assert_eq!(folder.json(&["verify"])["sound"], true);
}

#[test]
fn what_was_changed_in_a_copy_is_named_with_its_action_and_record() {
    let bed = Bed::start();
    let folder = Folder::with(&bed);
    let server = folder.serve();
    let id = settled(&folder);
    folder.json(&["backup", "copy.db"]);
    for (change, record) in [
        ("UPDATE evidence SET at = at + 1 WHERE no = 1", Some(1)),
        ("UPDATE evidence SET kind = 'noted' WHERE no = 2", Some(2)),
        (
            "UPDATE evidence SET fact = substr(fact, 1, 20) || 'A' || substr(fact, 22) WHERE no = 1",
            Some(1),
        ),
        (
            "UPDATE evidence SET chain = randomblob(32) WHERE no = 2",
            Some(2),
        ),
        (
            "UPDATE evidence SET sum = randomblob(16) WHERE no = 2",
            Some(2),
        ),
        ("DELETE FROM evidence WHERE no = 2", None),
        ("DELETE FROM action", None),
    ] {
        std::fs::copy(folder.path("copy.db"), folder.path("changed.db")).unwrap();
        let hand = Connection::open(folder.path("changed.db")).unwrap();
        hand.execute_batch(OFF).unwrap();
        assert_eq!(hand.execute(change, []).unwrap(), 1, "{change}");
        drop(hand);
        let (sound, findings) = verified(&folder, "changed.db");
        assert!(!sound, "{change}");
        let about = |one: &&Value| one["what"] == format!("action {id}");
        let found = findings
            .iter()
            .find(about)
            .unwrap_or_else(|| panic!("{change}: {findings:?}"));
        assert_eq!(found["record"].as_u64(), record, "{change}: {found}");
    }
    assert_eq!(verified(&folder, "copy.db"), (true, Vec::new()));
    server.stop();
}

/// What `verify --checkpoint` says of a file.
fn against(folder: &Folder, file: &str, checkpoint: &str) -> Value {
    folder
        .run(&["verify", file, "--checkpoint", checkpoint, "--json"])
        .json()
}

#[test]
fn what_was_removed_with_all_its_traces_is_found_by_a_checkpoint_that_a_server_made() {
    let bed = Bed::start();
    let folder = Folder::with(&bed);
    let configured =
        folder.read("factum.toml") + "\n[checkpoints]\nfolder = \"elsewhere\"\nevery = \"1 h\"\n";
    folder.write("factum.toml", &configured);
    let server = folder.serve();
    let id = settled(&folder);
    // One was made at the start, this one after it.
    let told = folder.json(&["checkpoint", "export"]);
    assert_eq!(
        (&told["actions"], &told["lists_written"]),
        (&1.into(), &1.into()),
        "{told}"
    );
    let again = folder.json(&["checkpoint", "export"]);
    assert_eq!(again["lists_written"], 0, "nothing changed: {again}");
    let file = again["checkpoint"].as_str().unwrap().to_owned();
    let keys = server.ask("GET", "/v1/keys", &Value::Null).unwrap();
    folder.write("keys.json", &keys.body.to_string());
    let checked = folder.json(&["checkpoint", "verify", &file, "--keys", "keys.json"]);
    assert!(checked["followed"].as_u64() >= Some(2), "{checked}");
    folder.json(&["backup", "copy.db"]);
    assert_eq!(against(&folder, "copy.db", &file)["sound"], true);

    // An action goes with everything that is known of it: nothing in the file tells.
    let hand = Connection::open(folder.path("copy.db")).unwrap();
    hand.execute_batch(OFF).unwrap();
    hand.execute_batch(
        "DELETE FROM evidence; DELETE FROM standing; DELETE FROM known_by; DELETE FROM action;",
    )
    .unwrap();
    drop(hand);
    assert_eq!(verified(&folder, "copy.db"), (true, Vec::new()));
    let told = against(&folder, "copy.db", &file);
    assert_eq!(told["findings"][0]["action"], id.as_str(), "{told}");

    // A list that somebody changed is not the one that was signed.
    let lists = folder.path("elsewhere/lists");
    let list = std::fs::read_dir(&lists)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    std::fs::write(
        &list,
        std::fs::read_to_string(&list).unwrap().replace(" ", "  "),
    )
    .unwrap();
    let (_, problem) = folder.refused(&["checkpoint", "verify", &file, "--keys", "keys.json"]);
    assert_eq!(problem["code"], "F1161", "{problem}");
    server.stop();
}

#[test]
fn a_receipt_is_checked_by_whoever_has_the_keys_alone() {
    let bed = Bed::start();
    let folder = Folder::with(&bed);
    let server = folder.serve();
    let id = settled(&folder);
    folder.run(&["receipt", "export", &id, "--output", "receipt.json"]);
    folder.run(&[
        "receipt",
        "export",
        &id,
        "--with-payload",
        "--output",
        "whole.json",
    ]);
    assert!(!folder.read("receipt.json").contains("\"content\""));
    assert!(folder.read("whole.json").contains("business"));
    let address = format!("http://{}", server.address.trim_start_matches("http://"));
    let keys = server.ask("GET", "/v1/keys", &Value::Null).unwrap().body;

    // Somebody else, who has no store.
    let theirs = Folder::new();
    for name in ["receipt.json", "whole.json"] {
        theirs.write(name, &folder.read(name));
    }
    theirs.write("keys.json", &keys.to_string());
    let x = keys["keys"][0]["x"].as_str().unwrap();
    for trusted in [
        ["--keys", "keys.json"],
        ["--keys", address.as_str()],
        ["--key", x],
    ] {
        let told = theirs.json(&[&["receipt", "verify", "receipt.json"][..], &trusted].concat());
        assert_eq!(
            (&told["authentic"], &told["receipt"]["state"]),
            (&true.into(), &"succeeded".into()),
            "{told}"
        );
        assert_eq!(told["receipt"]["action"]["id"], id.as_str());
    }
    let changed = folder
        .read("receipt.json")
        .replace("succeeded", "cancelled");
    theirs.write("receipt.json", &changed);
    let (_, problem) =
        theirs.refused(&["receipt", "verify", "receipt.json", "--keys", "keys.json"]);
    assert_eq!(problem["code"], "F1161", "{problem}");

    // Another key signs; what the one before signed is still checked.
    folder.json(&["admin", "keys", "rotate", "--signing"]);
    let both = server.ask("GET", "/v1/keys", &Value::Null).unwrap().body;
    assert_eq!(both["keys"].as_array().unwrap().len(), 2, "{both}");
    assert_eq!(both["keys"][1]["x"], x);
    assert!(both["keys"][1]["retired_at"].is_string(), "{both}");
    folder.run(&["receipt", "export", &id, "--output", "later.json"]);
    theirs.write("later.json", &folder.read("later.json"));
    theirs.write("both.json", &both.to_string());
    let (_, problem) = theirs.refused(&["receipt", "verify", "later.json", "--keys", "keys.json"]);
    assert_eq!(
        (&problem["code"], &problem["member"]),
        (&"F1161".into(), &"/key".into())
    );
    for name in ["whole.json", "later.json"] {
        theirs.json(&["receipt", "verify", name, "--keys", "both.json"]);
    }
    server.stop();
    // The store itself signs too, where nobody serves it.
    let told = folder.json(&["receipt", "export", &id]);
    assert_eq!(
        told["evidence"]["records"].as_u64(),
        told["evidence"]["log"]
            .as_array()
            .map(|log| log.len() as u64)
    );
}
