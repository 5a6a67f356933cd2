//! `factum submit --file`: good and bad lines, repeats, lost answers, both ways.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::support::{Bed, Child, Folder, ended_with_input};

/// Lines of the file with lost answers.
const MANY: usize = 90;

fn line(operation: &str, key: &str) -> String {
    json!({"destination": "bed", "operation": operation, "key": key, "payload": {"business": key}})
        .to_string()
}

/// Five lines that are good, two of them the same, and four that are not.
fn mixed() -> String {
    [
        line("key.sync", "f1"),
        "{\"destination\": ".to_owned(),
        line("key.sync", "f2"),
        String::new(),
        line("key.sync", "f2"),
        line("key.sink", "f3"),
        json!({"destination": "bed", "operation": "key.sync", "payload": {}}).to_string(),
        line("lookup.sync", "f4"),
        json!({"destination": "bed", "operation": "key.sync", "key": "f5", "colour": "red"})
            .to_string(),
        line("neither.sync", "f6"),
    ]
    .join("\n")
}

fn refused_lines(summary: &Value) -> Vec<(u64, String)> {
    let refused = summary["refusals"].as_array().unwrap().iter();
    refused
        .map(|r| {
            (
                r["line"].as_u64().unwrap(),
                r["problem"]["code"].as_str().unwrap().to_owned(),
            )
        })
        .collect()
}

/// B106: a batch that comes again is answered line by line, as joined, and not as a conflict.
fn check(folder: &Folder, bed: &Bed) {
    folder.write("actions.jsonl", &mixed());
    let ran = folder.run(&[
        "submit",
        "--file",
        "actions.jsonl",
        "--wait",
        "50s",
        "--json",
    ]);
    assert_eq!(ran.code, 6, "{ran:?}");
    let summary = ran.json();
    assert_eq!(summary["lines"], 9);
    assert_eq!(
        (summary["submitted"].as_u64(), summary["joined"].as_u64()),
        (Some(4), Some(1)),
        "{summary}"
    );
    let expected = [(2, "F1001"), (6, "F1006"), (7, "F1004"), (9, "F1002")]
        .map(|(line, code)| (line, code.to_owned()));
    assert_eq!(refused_lines(&summary), expected);
    assert_eq!(summary["states"], json!({"succeeded": 5}), "{summary}");
    for key in ["f1", "f2", "f4", "f6"] {
        assert_eq!(bed.effects(key), 1, "{key}");
    }
    let again = folder.run(&["submit", "--file", "actions.jsonl", "--json"]);
    assert_eq!(
        (
            again.json()["submitted"].as_u64(),
            again.json()["joined"].as_u64()
        ),
        (Some(0), Some(5))
    );
    let people = folder.run(&["submit", "--file", "actions.jsonl"]);
    assert!(
        people.out.contains("line 2: error F1001") && people.out.contains("joined"),
        "{people:?}"
    );
    assert_eq!(bed.counts()["total_effects"], 4);
}

#[test]
fn bad_lines_are_named_and_do_not_stop_the_others() {
    let bed = Bed::start();
    let folder = Folder::with(&bed);
    let server = folder.serve();
    check(&folder, &bed);
    server.stop();
}

#[test]
fn without_a_server_the_result_is_the_same() {
    let bed = Bed::start();
    check(&Folder::with(&bed), &bed);
}

#[test]
fn many_lines_with_lost_answers_have_one_effect_each() {
    let bed = Bed::with(&["--loss", "0.3", "--seed", "5"]);
    let folder = Folder::with(&bed);
    // Answers that never come are given up sooner, so that the test ends sooner.
    folder.write(
        "factum.toml",
        &folder
            .read("factum.toml")
            .replace("answer_wait = \"5 s\"", "answer_wait = \"1800 ms\""),
    );
    let server = folder.serve();
    let mut lines = String::new();
    for n in 0..MANY {
        let operation = ["key.sync", "key.queued", "lookup.sync"][n % 3];
        writeln!(lines, "{}", line(operation, &format!("many-{n}"))).unwrap();
    }
    let mut command = folder.command(&["submit", "--file", "-", "--wait", "110s", "--json"]);
    command.env("FACTUM_LOG", "error");
    let ran = ended_with_input(command, &lines);
    assert_eq!(ran.code, 0, "{ran:?}");
    let summary = ran.json();
    assert_eq!(
        (summary["submitted"].as_u64(), summary["refused"].as_u64()),
        (Some(MANY as u64), Some(0)),
        "{summary}"
    );
    assert_eq!(summary["states"], json!({"succeeded": MANY}), "{summary}");
    let counts = bed.counts();
    assert_eq!(
        (
            counts["total_effects"].as_u64(),
            counts["duplicates"].as_u64()
        ),
        (Some(MANY as u64), Some(0)),
        "{counts}"
    );
    assert!(counts["answers_lost"].as_u64() > Some(5), "{counts}");
    server.stop();
}

#[test]
fn a_file_that_cannot_be_read_and_an_engine_that_is_gone_are_told_apart() {
    let bed = Bed::start();
    let folder = Folder::with(&bed);
    let (code, problem) = folder.refused(&["submit", "--file", "nowhere.jsonl"]);
    assert_eq!(code, 2);
    assert!(problem["rule"].as_str().unwrap().contains("nowhere.jsonl"));
    folder.write("actions.jsonl", &line("key.sync", "k"));
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let mut command = folder.command(&[
        "submit",
        "--file",
        "actions.jsonl",
        "--retry-for",
        "500ms",
        "--json",
    ]);
    command
        .env("FACTUM_URL", format!("http://{free}"))
        .env("FACTUM_TOKEN", "t");
    let ran = crate::support::ended(command);
    assert_eq!(ran.code, 5, "{ran:?}");
    assert_eq!(ran.json()["refused"], 1);
}

#[test]
fn a_server_that_is_killed_during_the_wait_takes_no_summary_with_it() {
    let bed = Bed::start();
    let folder = Folder::with(&bed);
    folder.write("actions.jsonl", &line("key.sync", "k"));
    let server = folder.serve();
    folder.json(&["admin", "pause"]);
    let mut submitting = Child::start(folder.command(&[
        "submit",
        "--file",
        "actions.jsonl",
        "--wait",
        "5s",
        "--json",
    ]));
    while folder.json(&["list", "--key", "k"])["actions"][0].is_null() {}
    server.child.kill();
    let summary = submitting.json();
    assert_eq!(summary["submitted"], 1, "{summary}");
    assert_eq!(summary["not_waited_for"], 1, "{summary}");
    assert_eq!(submitting.ended().code(), Some(5));
}
