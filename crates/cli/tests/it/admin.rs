//! `factum admin`: holding sends, releasing a restore, binding outbox files, both ways.

use serde_json::{Value, json};

use crate::support::{Bed, Folder, business};

#[test]
fn a_pause_is_kept_over_restarts_and_by_commands_without_a_server() {
    let bed = Bed::start();
    let folder = Folder::with(&bed);
    let server = folder.serve();
    assert_eq!(
        folder.json(&["admin", "pause", "--by", "ben"])["paused_by"],
        "ben"
    );
    let id = folder.submit("key.sync", "k", &business("b"))["id"]
        .as_str()
        .unwrap()
        .to_owned();
    server.stop();
    let state = folder.json(&["admin", "state"]);
    assert_eq!(
        (state["paused_by"].as_str(), state["unsettled"].as_u64()),
        (Some("ben"), Some(1)),
        "{state}"
    );
    let server = folder.serve();
    assert_eq!(
        folder.json(&["status", &id, "--wait", "1s"])["state"],
        "pending"
    );
    assert_eq!(bed.deliveries(), 0);
    server.stop();
    let resumed = folder.json(&["admin", "resume"]);
    assert_eq!(resumed["paused_by"], json!(null), "{resumed}");
    assert_eq!(
        bed.deliveries(),
        0,
        "resuming without a server sends nothing yet"
    );
    let server = folder.serve();
    assert_eq!(
        folder.json(&["status", &id, "--wait", "30s"])["state"],
        "succeeded"
    );
    assert_eq!(bed.effects("b"), 1);
    server.stop();
}

/// Whether the list of what would be sent, complete, names this action.
fn would_send(folder: &Folder, id: &Value) -> bool {
    let would = folder.json(&["admin", "would-send"]);
    assert_eq!(would["complete"], true, "{would}");
    would["actions"]
        .as_array()
        .unwrap()
        .iter()
        .any(|action| action["id"] == *id)
}

fn released(folder: &Folder) {
    assert!(
        folder
            .run(&["admin", "state"])
            .out
            .contains("nothing is sent until `factum admin release`")
    );
    let state = folder.json(&["admin", "release", "--by", "ben"]);
    assert_eq!(state["restore"]["released"]["by"], "ben", "{state}");
}

#[test]
fn after_a_restore_nothing_is_sent_until_it_is_released() {
    // R18: what may have been sent before the restore is looked up, found absent, and still not sent.
    let bed = Bed::start();
    let folder = Folder::with(&bed);
    let action = folder.submit("lookup.sync", "before", &business("before"));
    folder.json(&["admin", "pause"]);
    let server = folder.serve();
    let state = folder.json(&["admin", "after-restore"]);
    assert_eq!(state["restore"]["released"], json!(null), "{state}");
    folder.json(&["admin", "resume"]);
    while !would_send(&folder, &action["id"]) {}
    assert_eq!(bed.deliveries(), 0);
    released(&folder);
    let status = folder.json(&["status", action["id"].as_str().unwrap(), "--wait", "50s"]);
    assert_eq!(status["state"], "succeeded", "{status}");
    assert_eq!(bed.effects("before"), 1);
    server.stop();
}

#[test]
fn an_older_copy_put_back_repeats_nothing() {
    // B190: what the copy does not know of is met again as maybe sent, never as new.
    let bed = Bed::start();
    let folder = Folder::with(&bed);
    folder.submit("lookup.sync", "unsent", &business("unsent"));
    let copy = std::fs::read(folder.path("factum-data/factum.db")).unwrap();
    let lost = [
        "submit",
        "bed",
        "lookup.sync",
        "--key",
        "lost",
        "--payload",
        r#"{"business":"lost"}"#,
        "--wait",
        "30s",
    ];
    assert_eq!(folder.json(&lost)["state"], "succeeded");
    // The same engine carried out what was recorded before.
    let all = folder.json(&["list", "--state", "succeeded"]);
    assert_eq!(all["actions"].as_array().unwrap().len(), 2, "{all}");
    std::fs::write(folder.path("factum-data/factum.db"), copy).unwrap();
    let server = folder.serve();
    assert_eq!(
        folder.json(&["admin", "state"])["restore"]["released"],
        json!(null)
    );
    let again = folder.json(&lost[..7]);
    assert_eq!(
        (again["joined"].as_bool(), again["state"].as_str()),
        (Some(false), Some("outcome_unknown")),
        "{again}"
    );
    released(&folder);
    let watched = folder.run(&["watch", "--all"]);
    assert_eq!(watched.code, 0, "{watched:?}");
    assert_eq!(
        folder.json(&["list", "--state", "succeeded"])["actions"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    assert_eq!((bed.effects("lost"), bed.effects("unsent")), (1, 1));
    server.stop();
}

#[test]
fn a_restore_is_declared_and_released_without_a_server_too() {
    let bed = Bed::start();
    let folder = Folder::with(&bed);
    folder.submit("lookup.sync", "before", &business("before"));
    folder.json(&[
        "admin",
        "after-restore",
        "--copy-until",
        "2026-01-01T00:00:00Z",
    ]);
    // An intent that was formed after the restore, whatever the clocks say, cannot have been sent before it.
    let later = jiff::SignedDuration::from_secs(60);
    let now = (jiff::Timestamp::now() + later).to_string();
    let words = [
        "submit",
        "bed",
        "key.sync",
        "--key",
        "after",
        "--payload",
        r#"{"business":"after"}"#,
        "--intent-at",
        &now,
    ];
    let after = folder.json(&words);
    assert_eq!(after["state"], "pending", "{after}");
    assert!(would_send(&folder, &after["id"]));
    released(&folder);
    assert_eq!(
        bed.deliveries(),
        0,
        "a release without a server sends nothing yet"
    );
    let (code, problem) = folder.refused(&["admin", "after-restore", "--copy-until", "yesterday"]);
    assert_eq!((code, problem["member"].as_str()), (2, Some("/copy_until")));
}

#[test]
fn a_copied_outbox_file_is_refused_until_somebody_says_so() {
    let bed = Bed::start();
    let folder = Folder::with(&bed);
    let connection = rusqlite::Connection::open(folder.path("app.db")).unwrap();
    factum::outbox::prepare(&connection).unwrap();
    let body = json!({"destination": "bed", "operation": "key.sync", "key": "o1", "payload": {"business": "o1"}});
    factum::outbox::insert(&connection, &body.to_string()).unwrap();
    drop(connection);
    let plain = folder.read("factum.toml");
    let with = |path: &str| format!("{plain}\n[[outbox]]\npath = \"{path}\"\n");
    folder.write("factum.toml", &with("app.db"));
    let server = folder.serve();
    let listed = loop {
        let listed = folder.json(&["list", "--key", "o1"]);
        if listed["actions"][0].is_object() {
            break listed;
        }
    };
    folder.json(&[
        "status",
        listed["actions"][0]["id"].as_str().unwrap(),
        "--wait",
        "30s",
    ]);
    server.stop();
    assert_eq!(bed.effects("o1"), 1);

    std::fs::copy(folder.path("app.db"), folder.path("copy.db")).unwrap();
    folder.write("factum.toml", &with("copy.db"));
    let (code, problem) = folder.refused(&["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(code, 2, "{problem}");
    let doctor = folder.run(&["doctor"]);
    assert_eq!(doctor.code, 1, "{doctor:?}");
    assert!(
        doctor.out.contains("factum admin outbox-accept copy.db"),
        "{doctor:?}"
    );
    folder.json(&["admin", "outbox-accept", "copy.db"]);
    let server = folder.serve();
    let (code, _) = folder.refused(&["admin", "outbox-accept", "copy.db"]);
    assert_eq!(code, 5, "a server binds at its start only");
    server.stop();
    assert_eq!(
        folder.refused(&["admin", "outbox-accept", "nowhere.db"]).0,
        3
    );
}
