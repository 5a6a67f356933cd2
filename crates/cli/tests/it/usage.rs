//! The words of the command line: help, wrong usage, exit codes.

use crate::support::Folder;

#[test]
fn every_command_has_help_with_an_example() {
    let folder = Folder::new();
    let help = folder.run(&["--help"]);
    assert_eq!(help.code, 0);
    for (code, _) in [
        (0, ""),
        (1, ""),
        (2, ""),
        (3, ""),
        (4, ""),
        (5, ""),
        (6, ""),
        (10, ""),
    ] {
        assert!(
            help.out.contains(&format!("\n  {code:>2}  ")),
            "exit code {code} is documented: {}",
            help.out
        );
    }
    let commands = [
        "serve",
        "demo",
        "testbed",
        "destination",
        "submit",
        "status",
        "list",
        "watch",
        "evidence",
        "conversation",
        "review",
        "verdict",
        "check-again",
        "cancel",
        "admin",
        "contract",
        "doctor",
        "explain",
    ];
    for command in commands {
        assert!(
            help.out.contains(&format!("\n  {command} ")),
            "{command} is listed"
        );
        let ran = folder.run(&[command, "--help"]);
        assert_eq!(ran.code, 0, "{command}");
        assert!(ran.out.contains("Example"), "{command}: {}", ran.out);
    }
}

#[test]
fn wrong_usage_exits_with_2_and_is_json_where_that_is_wanted() {
    let folder = Folder::new();
    for words in [
        &["nonsense"][..],
        &["submit"],
        &["status"],
        &["verdict", "act_1", "perhaps", "--why", "x"],
        &["watch"],
    ] {
        assert_eq!(folder.run(words).code, 2, "{words:?}");
        let (code, problem) = folder.refused(words);
        assert_eq!(code, 2);
        assert!(
            !problem["rule"].as_str().unwrap().is_empty(),
            "{words:?}: {problem}"
        );
    }
    let (code, problem) = folder.refused(&["submit", "a", "b", "--key", "k", "--payload", "{"]);
    assert_eq!(code, 2);
    assert!(
        problem["rule"].as_str().unwrap().contains("JSON"),
        "{problem}"
    );
    assert_eq!(
        folder.run(&["status", "act_1", "--wait", "4"]).code,
        2,
        "a length of time has a unit"
    );
    assert_eq!(folder.run(&["list", "--limit", "0"]).code, 2);
}

#[test]
fn a_missing_argument_is_named_in_json_too() {
    let (_, problem) = Folder::new().refused(&["verdict", "act_1"]);
    let rule = problem["rule"].as_str().unwrap();
    assert!(
        rule.contains("<VERDICT>") && rule.contains("--why"),
        "{problem}"
    );
    assert!(!rule.contains("Usage"), "{problem}");
}

#[test]
fn a_key_and_parts_of_an_event_exclude_each_other() {
    let folder = Folder::new();
    let keyed = ["submit", "bed", "key.sync", "--key", "k"];
    for part in ["--event-source", "--event-id", "--effect"] {
        let words = [&keyed[..], &[part, "x"]].concat();
        let ran = folder.run(&words);
        assert_eq!(ran.code, 2, "{part}: {ran:?}");
        assert!(ran.err.contains("cannot be used with"), "{part}: {ran:?}");
    }
}

#[test]
fn a_wrong_address_of_a_server_names_the_variable() {
    let folder = Folder::new();
    let mut command = folder.command(&["list", "--json"]);
    command
        .env("FACTUM_URL", "nowhere")
        .env("FACTUM_TOKEN", "t");
    let ran = crate::support::ended(command);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.err.contains("FACTUM_URL"), "{ran:?}");
}

#[test]
fn problems_for_people_name_rule_and_remedy() {
    let ran = Folder::new().run(&["list"]);
    assert!(
        ran.err.starts_with("error") && ran.err.contains("\n  remedy: "),
        "{ran:?}"
    );
}
