//! `factum admin purge`, `erase` and `factum hold` on a running server: what goes, what stays, and what the files hold afterwards.

use serde_json::json;

use crate::support::{Bed, Folder};

/// An effect that was asked for in a conversation, with a text of its own; its id.
fn asked(folder: &Folder, name: &str) -> String {
    let payload = json!({"business": name, "note": format!("private-{name}")}).to_string();
    let words = [
        "submit",
        "bed",
        "key.sync",
        "--key",
        name,
        "--payload",
        &payload,
        "--conversation",
        name,
    ];
    let id = folder.json(&words)["id"].as_str().unwrap().to_owned();
    folder.status_when(&id, |status| status["state"] == "succeeded");
    id
}

/// An engine that keeps content for no time, and whose rows are written in clear, so that what is gone can be seen.
fn forgetful(bed: &Bed) -> Folder {
    let folder = Folder::with(bed);
    let config = folder.read("factum.toml");
    let keeps = "store.seal = \"off\"\nretention.payload = \"1 ms\"\n";
    folder.write("factum.toml", &format!("{keeps}{config}"));
    folder
}

fn holds(folder: &Folder, text: &str) -> bool {
    ["factum-data/factum.db", "factum-data/factum.db-wal"]
        .iter()
        .any(|name| {
            let bytes = std::fs::read(folder.path(name)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).contains(text)
        })
}

#[test]
fn what_is_purged_leaves_the_files_and_what_is_held_stays() {
    let bed = Bed::start();
    let folder = forgetful(&bed);
    let server = folder.serve();
    let hold = folder.json(&[
        "hold",
        "add",
        "--conversation",
        "held",
        "--why",
        "their lawyer wrote",
    ]);
    assert_eq!(hold["holds"].as_array().map(Vec::len), Some(1), "{hold}");
    let [gone, held] = ["gone", "held"].map(|name| asked(&folder, name));
    let would = folder.json(&["admin", "purge", "--dry-run"]);
    assert_eq!(would["dry_run"], true, "{would}");
    let purged = folder.json(&["admin", "purge"]);
    assert_eq!(purged["held"], 1, "{purged}");
    assert!(
        !holds(&folder, "private-gone"),
        "its content has left the files"
    );
    assert!(holds(&folder, "private-held"));
    // Identity and evidence stay: a repeat joins, and is sent nowhere.
    let again = asked(&folder, "gone");
    assert_eq!(again, gone);
    assert_eq!((bed.effects("gone"), bed.deliveries()), (1, 2));

    folder.json(&[
        "hold",
        "remove",
        "--conversation",
        "held",
        "--why",
        "it is settled",
    ]);
    folder.json(&["admin", "purge"]);
    assert!(!holds(&folder, "private-held"));
    assert_eq!(folder.json(&["status", &held])["state"], "succeeded");
    server.stop();
}

#[test]
fn what_is_erased_for_somebody_leaves_the_files_and_its_evidence_stays() {
    let bed = Bed::start();
    let folder = Folder::with(&bed);
    let config = folder.read("factum.toml");
    folder.write("factum.toml", &format!("store.seal = \"off\"\n{config}"));
    let server = folder.serve();
    let [ana, ben] = ["ana", "ben"].map(|name| asked(&folder, name));
    let wish = [
        "admin",
        "erase",
        "--conversation",
        "ana",
        "--why",
        "she asked for it",
    ];
    let would = folder.json(&[&wish[..], &["--dry-run"]].concat());
    assert_eq!(
        (&would["dry_run"], &would["erased"]),
        (&json!(true), &json!([ana]))
    );
    assert!(holds(&folder, "private-ana"), "nothing is gone yet");
    let erased = folder.json(&wish);
    assert_eq!(erased["erased"], json!([ana]), "{erased}");
    assert!(!holds(&folder, "private-ana") && holds(&folder, "private-ben"));
    let evidence = folder.json(&["evidence", &ana]).to_string();
    assert!(
        evidence.contains("she asked for it") && evidence.contains("answered"),
        "{evidence}"
    );
    folder.json(&["hold", "add", "--action", &ben, "--why", "a dispute"]);
    let held = folder.json(&["admin", "erase", "--action", &ben, "--why", "he asked too"]);
    assert_eq!(
        (&held["erased"], &held["held"]),
        (&json!([]), &json!([ben])),
        "{held}"
    );
    assert!(holds(&folder, "private-ben"));
    assert_eq!(bed.counts()["total_effects"], 2);
    server.stop();
}
