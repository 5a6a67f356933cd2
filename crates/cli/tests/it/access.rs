//! The same commands over a server and over the store itself; what nobody serves is not sent.

use serde_json::{Value, json};

use crate::support::{Bed, Folder, business};

/// Submit, join, ask, list, log and cancel while sends are held, whichever way the commands go.
fn round(folder: &Folder, prefix: &str) {
    let key = |name: &str| format!("{prefix}/{name}");
    let first = folder.submit("key.sync", &key("a"), &business("a"));
    assert_eq!(
        (first["state"].as_str(), first["joined"].as_bool()),
        (Some("pending"), Some(false)),
        "{first}"
    );
    let id = first["id"].as_str().unwrap();
    let joined = folder.submit("key.sync", &key("a"), &business("a"));
    assert_eq!(
        (joined["id"].as_str(), joined["joined"].as_bool()),
        (Some(id), Some(true))
    );

    let status = folder.json(&["status", id]);
    assert_eq!(status["statement"], first["statement"]);
    let listed = folder.json(&["list", "--key", &key("a")]);
    assert_eq!(listed["actions"][0]["id"], *id);
    assert_eq!(
        folder.json(&["list", "--state", "succeeded"])["actions"],
        json!([])
    );
    assert_eq!(folder.json(&["evidence", id])["evidence"], json!([]));

    let cancelled = folder.json(&["cancel", id, "--why", "not wanted"]);
    assert_eq!(cancelled["cancel"], "stopped", "{cancelled}");
    assert_eq!(cancelled["action"]["state"], "cancelled");
    let log = folder.json(&["evidence", id]);
    let facts: Vec<&str> = log["evidence"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|record| record["fact"].as_str())
        .collect();
    assert_eq!(facts, ["cancel_requested"], "{log}");

    for name in ["b", "c", "d"] {
        folder.submit("key.sync", &key(name), &business(name));
    }
    let newest = folder.json(&["list", "--state", "pending", "--limit", "2"]);
    assert_eq!(keys(&newest), [key("d"), key("c")]);
    let next = newest["next_before"].as_str().unwrap();
    let rest = folder.json(&[
        "list", "--state", "pending", "--limit", "2", "--before", next,
    ]);
    assert!(keys(&rest).starts_with(&[key("b")]), "{rest}");
}

fn keys(listed: &Value) -> Vec<String> {
    listed["actions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|action| action["key"].as_str().unwrap().to_owned())
        .collect()
}

/// The four kinds of failure that scripts tell apart, whichever way the command went.
fn refusals(folder: &Folder) {
    folder.submit("key.sync", "same", &business("one"));
    let submit = |words: &[&str]| folder.refused(&[&["submit"], words].concat());

    let (code, problem) = submit(&[
        "bed",
        "key.sync",
        "--key",
        "same",
        "--payload",
        r#"{"business":"secret-value"}"#,
    ]);
    assert_eq!(
        (code, problem["code"].as_str(), problem["member"].as_str()),
        (4, Some("F1007"), Some("/payload/business"))
    );
    assert!(!problem.to_string().contains("secret-value"), "{problem}");
    let (code, problem) = submit(&["bed", "key.sync", "--payload", "{}"]);
    assert_eq!((code, problem["code"].as_str()), (2, Some("F1004")));
    let (code, problem) = submit(&["nowhere", "key.sync", "--key", "k"]);
    assert_eq!((code, problem["code"].as_str()), (3, Some("F1005")));
    let (code, problem) = submit(&["bed", "key.sinc", "--key", "k"]);
    assert_eq!((code, problem["code"].as_str()), (3, Some("F1006")));
    let (code, problem) = submit(&[
        "bed",
        "key.sync",
        "--key",
        "k",
        "--deadline",
        "2020-01-01T00:00:00Z",
        "--payload",
        "{}",
    ]);
    assert_eq!((code, problem["code"].as_str()), (6, Some("F1008")));
    let (code, problem) = submit(&[
        "bed",
        "key.sync",
        "--key",
        "k",
        "--payload",
        "{\"n\": 1e999}",
    ]);
    assert_eq!((code, problem["code"].as_str()), (2, Some("F1010")));

    let (code, problem) = folder.refused(&["status", "act_00000000000000000000000000"]);
    assert_eq!((code, problem["code"].as_str()), (3, Some("F1020")));
    assert_eq!(folder.refused(&["evidence", "nonsense"]).0, 3);
    assert_eq!(
        folder.json(&["list"])["actions"].as_array().unwrap().len(),
        1,
        "what was refused is not recorded"
    );
}

#[test]
fn without_a_server_everything_is_recorded_and_nothing_is_sent() {
    let bed = Bed::start();
    let folder = Folder::with(&bed);
    round(&folder, "local");
    assert_eq!(bed.deliveries(), 0, "looking and recording send nothing");
    let told = folder.run(&["submit", "bed", "key.sync", "--key", "k", "--payload", "{}"]);
    assert!(told.err.contains("factum serve"), "{told:?}");
}

#[test]
fn with_a_server_the_same_commands_go_to_it() {
    let bed = Bed::start();
    let folder = Folder::with(&bed);
    let server = folder.serve();
    folder.json(&["admin", "pause"]);
    round(&folder, "remote");
    assert_eq!(bed.deliveries(), 0, "sends are held");
    server.stop();
}

#[test]
fn refusals_are_the_same_both_ways() {
    let bed = Bed::start();
    refusals(&Folder::with(&bed));
    let folder = Folder::with(&bed);
    let server = folder.serve();
    refusals(&folder);
    server.stop();
}

#[test]
fn a_submission_that_waits_is_carried_out_without_a_server() {
    let bed = Bed::start();
    let folder = Folder::with(&bed);
    let words = [
        "submit",
        "bed",
        "lookup.queued",
        "--key",
        "k",
        "--payload",
        r#"{"business":"b"}"#,
        "--wait",
        "50s",
    ];
    let done = folder.json(&words);
    assert_eq!(done["state"], "succeeded", "{done}");
    assert!(done["receipt"]["reference"].is_string(), "{done}");
    assert_eq!(folder.json(&words)["joined"], true);
    assert_eq!(bed.effects("b"), 1);
}

#[test]
fn a_lost_answer_is_settled_by_the_server_and_watched_on_the_way() {
    // The destination commits and the answer is lost; a watcher sees it unknown, then done, once.
    let bed = Bed::with(&["--faults", "close_fin,n=1,class=effect"]);
    let folder = Folder::with(&bed);
    let server = folder.serve();
    folder.json(&["admin", "pause"]);
    let id = folder.submit("key.sync", "k", &business("b"))["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let watch = crate::support::Child::start(folder.command(&["watch", &id, "--json"]));
    assert_eq!(watch.json()["state"], "pending");
    folder.json(&["admin", "resume"]);
    let mut last = watch.json();
    while last["next"]["do"] != "none" {
        assert_ne!(last["state"], "terminal_failure", "{last}");
        last = watch.json();
    }
    assert_eq!(last["state"], "succeeded");
    let all = folder.run(&["watch", "--all"]);
    assert_eq!((all.code, all.out.as_str()), (0, ""), "everything rests");
    assert_eq!(bed.effects("b"), 1);
    server.stop();
}

#[test]
fn every_way_to_nobody_is_told_apart() {
    let folder = Folder::new();
    let (code, problem) = folder.refused(&["list"]);
    assert_eq!(code, 5);
    assert!(
        problem["remedy"].as_str().unwrap().contains("factum serve"),
        "{problem}"
    );
    assert!(
        !folder.path("factum-data").exists(),
        "asking makes no store"
    );
    let with = |variables: &[(&str, &str)]| {
        let mut command = folder.command(&["list", "--json"]);
        command.envs(variables.iter().copied());
        crate::support::ended(command)
    };
    // A port that was free a moment ago and is nobody's now.
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let url = format!("http://{free}");
    assert_eq!(with(&[("FACTUM_URL", &url), ("FACTUM_TOKEN", "t")]).code, 5);
    assert_eq!(
        with(&[("FACTUM_URL", &url)]).code,
        2,
        "a token is never guessed for an address"
    );
    assert_eq!(
        with(&[
            ("FACTUM_URL", "ftp://example.invalid"),
            ("FACTUM_TOKEN", "t")
        ])
        .code,
        2
    );
}

#[test]
fn a_cancel_during_the_send_is_too_late_and_says_so() {
    // B188
    let bed = Bed::start();
    let folder = Folder::patient(&bed);
    let server = folder.serve();
    let payload = json!({"business": "b", "behave": "slow", "slow_ms": 10_000});
    let id = folder.submit("neither.sync", "k", &payload)["id"]
        .as_str()
        .unwrap()
        .to_owned();
    folder.status_when(&id, |status| status["state"] == "dispatching");
    let cancelled = folder.json(&["cancel", &id]);
    assert_eq!(cancelled["cancel"], "too_late", "{cancelled}");
    let status = folder.json(&["status", &id, "--wait", "30s"]);
    assert_eq!(
        (status["state"].as_str(), bed.effects("b")),
        (Some("succeeded"), 1),
        "{status}"
    );
    server.stop();
}

#[test]
fn a_repeat_joins_and_a_second_key_is_a_second_effect() {
    // B85, B68
    let bed = Bed::start();
    let folder = Folder::with(&bed);
    let server = folder.serve();
    let submit = |key: &str| {
        folder.run(&[
            "submit",
            "bed",
            "neither.sync",
            "--key",
            key,
            "--payload",
            r#"{"business":"b"}"#,
            "--wait",
            "30s",
        ])
    };
    assert!(!submit("first").err.contains("joined"));
    let repeated = submit("first");
    assert!(
        repeated.err.contains("nothing was sent for it again"),
        "{repeated:?}"
    );
    assert_eq!(bed.effects("b"), 1);
    assert!(submit("second").out.contains("succeeded"));
    assert_eq!(bed.effects("b"), 2);
    server.stop();
}
