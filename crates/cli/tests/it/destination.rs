//! `factum destination`: adding, listing and testing, without an effect and without a secret on disk.

use crate::support::{Bed, Folder, business};

#[test]
fn what_is_added_is_listed_tested_and_usable() {
    let bed = Bed::start();
    let folder = Folder::new();
    folder.write("factum.toml", "# ours\nlimits.held_max = 64 # few\n");
    let added = folder.json(&[
        "destination",
        "add",
        "testbed",
        "--name",
        "bed",
        "--base",
        &bed.base,
        "--account",
        "testbed",
    ]);
    assert!(
        added["operations"]
            .as_array()
            .unwrap()
            .iter()
            .any(|operation| operation == "key.sync"),
        "{added}"
    );
    let text = folder.read("factum.toml");
    assert!(
        text.starts_with("# ours\nlimits.held_max = 64 # few\n")
            && text.contains("[destinations.bed]"),
        "{text}"
    );

    let listed = folder.json(&["destination", "list"]);
    assert_eq!(listed["destinations"][0]["name"], "bed");
    assert_eq!(listed["destinations"][0]["auth"], "none");
    assert!(folder.run(&["destination", "list"]).out.contains(&bed.base));
    let tested = folder.json(&["destination", "test", "bed"]);
    assert_eq!(tested["well"], true, "{tested}");
    assert!(
        tested["answer"].as_str().unwrap().contains("testbed"),
        "it says who we are: {tested}"
    );
    assert_eq!(bed.deliveries(), 0, "a test has no effect");

    let server = folder.serve();
    let done = folder.json(&[
        "submit",
        "bed",
        "key.sync",
        "--key",
        "k",
        "--payload",
        r#"{"business":"b"}"#,
        "--wait",
        "30s",
    ]);
    assert_eq!(done["state"], "succeeded");
    server.stop();
}

#[test]
fn the_file_is_made_where_there_is_none_and_where_config_says() {
    let folder = Folder::new();
    let add = [
        "destination",
        "add",
        "testbed",
        "--name",
        "a.b",
        "--base",
        "http://127.0.0.1:1",
        "--config",
        "other.toml",
    ];
    folder.json(&add);
    assert!(!folder.path("factum.toml").exists());
    assert!(folder.read("other.toml").contains("a.b"));
    let (code, problem) = folder.refused(&add);
    assert_eq!(code, 2, "once is enough: {problem}");
}

#[test]
fn secrets_themselves_are_refused_and_nothing_is_written() {
    let folder = Folder::new();
    let add = |words: &[&str]| {
        let first = [
            "destination",
            "add",
            "testbed",
            "--name",
            "bed",
            "--base",
            "http://127.0.0.1:1",
        ];
        folder.refused(&[&first, words].concat())
    };
    for words in [
        &["--bearer", "hunter2-live"][..],
        &["--basic", "me:hunter2-live"],
        &["--header", "x-key=hunter2-live"],
    ] {
        let (code, problem) = add(words);
        assert_eq!(
            (code, problem["code"].as_str()),
            (2, Some("F1040")),
            "{words:?}"
        );
        assert!(!problem.to_string().contains("hunter2-live"), "{problem}");
    }
    assert_eq!(
        add(&["--bearer", "env:A", "--basic", "env:B"]).0,
        2,
        "one form"
    );
    let remote = [
        "destination",
        "add",
        "testbed",
        "--name",
        "x",
        "--base",
        "http://example.invalid",
    ];
    assert_eq!(
        folder.refused(&remote).0,
        2,
        "plain http beyond this machine"
    );
    assert!(!folder.path("factum.toml").exists());
}

#[test]
fn a_test_tells_a_missing_secret_a_refused_one_and_a_wrong_account_apart() {
    let bed = Bed::with(&["--bearer", "right"]);
    let folder = Folder::new();
    let add = |name: &str, words: &[&str]| {
        let first = [
            "destination",
            "add",
            "testbed",
            "--name",
            name,
            "--base",
            &bed.base,
        ];
        folder.json(&[&first, words].concat());
    };
    folder.write("right", "right\n");
    folder.write("wrong", "wrong\n");
    let reference = |name: &str| format!("file:{}", folder.path(name).display());
    add("right", &["--bearer", &reference("right")]);
    add("wrong", &["--bearer", &reference("wrong")]);
    add("none", &["--bearer", &reference("nowhere")]);
    add(
        "other",
        &[
            "--bearer",
            &reference("right"),
            "--account",
            "somebody-else",
        ],
    );
    let test = |name: &str| {
        let ran = folder.run(&["destination", "test", name, "--json"]);
        (ran.code, ran.json())
    };
    assert_eq!(test("right").0, 0);
    let (code, report) = test("wrong");
    assert_eq!(code, 1);
    assert!(
        report["answer"].as_str().unwrap().contains("401"),
        "{report}"
    );
    let (code, report) = test("none");
    assert_eq!(code, 1);
    assert!(
        report["secret"].as_str().unwrap().contains("nowhere"),
        "{report}"
    );
    let (code, report) = test("other");
    assert_eq!(code, 1);
    assert!(
        report["answer"].as_str().unwrap().contains("somebody-else"),
        "{report}"
    );
    assert_eq!(folder.refused(&["destination", "test", "unknown"]).0, 3);
    let shown = folder.run(&["destination", "list"]).out;
    assert!(shown.contains("bearer file:"), "{shown}");
}

/// What is switched off sends nothing, and goes on once it is on again.
#[test]
fn a_destination_is_disabled_and_enabled_by_name() {
    let bed = Bed::start();
    let folder = Folder::with(&bed);
    let _server = folder.serve();
    let off = folder.json(&[
        "destination",
        "disable",
        "bed",
        "--why",
        "they asked us to stop",
    ]);
    assert_eq!(off["standing"], "suspended");
    let payload = business("order-77").to_string();
    let words = [
        "submit",
        "bed",
        "key.sync",
        "--key",
        "k",
        "--payload",
        &payload,
        "--wait",
        "30s",
    ];
    let (_, refused) = folder.refused(&words);
    assert_eq!(refused["code"], "F1061", "{refused}");
    assert_eq!(bed.effects("order-77"), 0);
    folder.json(&["destination", "enable", "bed", "--why", "they are back"]);
    assert_eq!(folder.json(&words)["state"], "succeeded");
    assert_eq!(bed.effects("order-77"), 1);
}
