//! `factum export`, `factum import`, `factum migrate`: beside a server, and in its place.

use serde_json::json;

use crate::support::{Bed, Folder, business, mode};

/// A folder with the keys of another one, and nothing else of it.
fn beside(bed: &Bed, other: &Folder) -> Folder {
    let folder = Folder::with(bed);
    std::fs::create_dir_all(folder.path("factum-data")).unwrap();
    let copied = std::process::Command::new("cp")
        .arg("-a")
        .args([
            other.path("factum-data/keys"),
            folder.path("factum-data/keys"),
        ])
        .status();
    assert!(copied.unwrap().success());
    folder
}

// R18, B190: a copy that was made while a server went on sends nothing before it is released.
#[test]
fn an_export_beside_a_server_is_a_copy_that_waits_for_its_release() {
    let bed = Bed::start();
    let folder = Folder::with(&bed);
    let server = folder.serve();
    folder.json(&["admin", "pause"]);
    let id = folder.submit("key.sync", "k", &business("b"))["id"].clone();
    let told = folder.json(&["export", "copy.jsonl"]);
    assert_eq!(told["counts"]["actions"], 1, "{told}");
    assert_eq!(mode(&folder.path("copy.jsonl")), 0o600);
    let again = folder.refused(&["export", "copy.jsonl"]).1;
    assert!(again.to_string().contains("is there already"), "{again}");
    let copy = beside(&bed, &folder);
    let file = folder.path("copy.jsonl").display().to_string();
    let told = copy.json(&["import", &file]);
    assert_eq!(told["counts"]["actions"], 1, "{told}");
    let again = copy.refused(&["import", &file]).1;
    assert!(again.to_string().contains("empty store only"), "{again}");
    copy.json(&["admin", "resume"]);
    let state = copy.json(&["admin", "state"]);
    assert_eq!(state["restore"]["released"], json!(null), "{state}");
    assert!(state["restore"].is_object(), "{state}");
    let second = copy.serve();
    folder.json(&["admin", "resume"]);
    let id = id.as_str().unwrap();
    assert_eq!(
        folder.json(&["status", id, "--wait", "30s"])["state"],
        "succeeded"
    );
    assert_ne!(copy.json(&["status", id])["state"], "succeeded");
    assert_eq!(bed.effects("b"), 1);
    second.stop();
    server.stop();
}

#[test]
fn a_retired_store_is_opened_for_nothing_more_and_its_export_goes_on() {
    let bed = Bed::start();
    let folder = Folder::with(&bed);
    folder.json(&["migrate"]);
    let id = folder.submit("key.sync", "k", &business("b"))["id"].clone();
    let server = folder.serve();
    let held = folder.refused(&["export", "moved.jsonl", "--retire"]).1;
    assert_eq!(held["code"], "F1050", "{held}");
    server.stop();
    folder.json(&["export", "moved.jsonl", "--retire", "--by", "ana"]);
    let refused = folder.refused(&["status", id.as_str().unwrap()]).1;
    assert!(refused.to_string().contains("moved by ana"), "{refused}");
    let there = beside(&bed, &folder);
    let file = folder.path("moved.jsonl").display().to_string();
    there.json(&["import", &file]);
    let joined = there.submit("key.sync", "k", &business("b"));
    assert_eq!((&joined["id"], &joined["joined"]), (&id, &json!(true)));
    let server = there.serve();
    let status = there.json(&["status", id.as_str().unwrap(), "--wait", "30s"]);
    assert_eq!(status["state"], "succeeded");
    server.stop();
    assert_eq!(bed.effects("b"), 1);
    let none = Folder::with(&bed);
    let keyless = none.refused(&["import", &file]).1;
    assert!(keyless.to_string().contains("keys folder"), "{keyless}");
}
