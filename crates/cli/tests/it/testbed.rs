//! `factum testbed`: a destination in a process of its own, and its ledger.

use crate::support::{Bed, Child, Folder};

#[test]
fn its_ledger_is_read_as_a_table_and_as_json_and_survives_a_restart() {
    let folder = Folder::new();
    let ledger = folder.path("ledger.jsonl");
    let words = ["--ledger", ledger.to_str().unwrap()];
    let mut bed = Bed::with(&words);
    let client = Folder::with(&bed);
    let submit = [
        "submit",
        "bed",
        "key.sync",
        "--key",
        "k",
        "--payload",
        r#"{"business":"b"}"#,
        "--wait",
        "30s",
    ];
    assert_eq!(client.json(&submit)["state"], "succeeded");
    assert_eq!(bed.effects("b"), 1);
    let table = folder.run(&["testbed", "ledger", &bed.admin]);
    assert!(
        table.out.contains("key, sync") && table.out.contains("duplicates"),
        "{table:?}"
    );
    bed.child.terminate();
    assert!(bed.child.ended().success());
    assert_eq!(Bed::with(&words).effects("b"), 1);
}

#[test]
fn people_are_told_how_to_go_on() {
    let folder = Folder::new();
    let child = Child::start(folder.command(&[
        "testbed",
        "--listen",
        "127.0.0.1:0",
        "--admin-listen",
        "127.0.0.1:0",
    ]));
    assert!(child.line().starts_with("testbed at http://127.0.0.1:"));
    assert!(child.line().contains("factum destination add testbed"));
    assert!(child.line().contains("factum testbed ledger"));
}

#[test]
fn wrong_words_are_refused_with_their_remedy() {
    let folder = Folder::new();
    let bed = Bed::start();
    let taken = bed.base.trim_start_matches("http://");
    for words in [
        &["--faults", "explode"][..],
        &["--loss", "7"],
        &["--listen", "0.0.0.0:0"],
        &["--listen", taken],
        &[
            "--ledger",
            "no/such/folder/ledger.jsonl",
            "--listen",
            "127.0.0.1:0",
            "--admin-listen",
            "127.0.0.1:0",
        ],
    ] {
        let (code, problem) = folder.refused(&[&["testbed"], words].concat());
        assert_eq!(code, 2, "{words:?}: {problem}");
        assert!(problem["remedy"].is_string(), "{problem}");
    }
    assert_eq!(
        folder
            .refused(&["testbed", "ledger", &bed.base.replace("http", "ftp")])
            .0,
        2
    );
}
