//! `factum doctor`: healthy, served, and broken in several ways; each finding with its remedy.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::support::{Bed, Folder, business};

fn examined(folder: &Folder) -> (i32, Value) {
    let ran = folder.run(&["doctor", "--json"]);
    (ran.code, ran.json())
}

/// The findings of a level, as `about: says`; each error and warning has a remedy.
fn findings(report: &Value, level: &str) -> Vec<String> {
    let found = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["level"] == level);
    found
        .map(|finding| {
            assert!(
                level == "ok"
                    || finding["remedy"]
                        .as_str()
                        .is_some_and(|remedy| !remedy.is_empty()),
                "{finding}"
            );
            format!(
                "{}: {}",
                finding["about"].as_str().unwrap(),
                finding["says"].as_str().unwrap()
            )
        })
        .collect()
}

fn one_error(folder: &Folder) -> String {
    let (code, report) = examined(folder);
    let errors = findings(&report, "error");
    assert_eq!(
        (code, report["healthy"].as_bool()),
        (1, Some(false)),
        "{report}"
    );
    assert_eq!(errors.len(), 1, "{errors:?}");
    errors.into_iter().next().unwrap()
}

/// A folder with one settled action in its store, and nobody serving.
fn used(bed: &Bed) -> Folder {
    let folder = Folder::with(bed);
    let server = folder.serve();
    let id = folder.submit("key.sync", "k", &business("b"))["id"]
        .as_str()
        .unwrap()
        .to_owned();
    folder.json(&["status", &id, "--wait", "30s"]);
    server.stop();
    folder
}

#[test]
fn a_healthy_folder_is_healthy_served_or_not() {
    let bed = Bed::start();
    let fresh = Folder::with(&bed);
    let (code, report) = examined(&fresh);
    assert_eq!(code, 0, "{report}");
    assert!(
        !fresh.path("factum-data").exists(),
        "a doctor makes nothing"
    );

    let folder = used(&bed);
    let (code, report) = examined(&folder);
    assert_eq!(code, 0, "{report}");
    assert!(
        findings(&report, "ok")
            .iter()
            .any(|says| says.contains("1 actions and")),
        "{report}"
    );
    let people = folder.run(&["doctor"]);
    assert!(
        people.out.lines().all(|line| line.starts_with("ok ")),
        "{people:?}"
    );

    let server = folder.serve();
    let (code, report) = examined(&folder);
    assert_eq!(code, 0, "{report}");
    assert!(
        findings(&report, "ok")
            .iter()
            .any(|says| says.contains(&server.address)),
        "{report}"
    );
    server.stop();
}

#[test]
fn missing_keys_are_found_and_not_made_anew() {
    let bed = Bed::start();
    let folder = used(&bed);
    std::fs::remove_file(folder.path("factum-data/keys/root")).unwrap();
    assert!(one_error(&folder).contains("keys/root is missing"));
    assert!(!folder.path("factum-data/keys/root").exists());
    let (code, problem) = folder.refused(&["list"]);
    assert_eq!(code, 2, "{problem}");
}

#[test]
fn a_token_that_others_can_read_is_found() {
    let bed = Bed::start();
    let folder = used(&bed);
    std::fs::set_permissions(
        folder.path("factum-data/admin.token"),
        PermissionsExt::from_mode(0o644),
    )
    .unwrap();
    assert!(one_error(&folder).contains("admin.token can be read by others"));
}

#[test]
fn a_store_that_was_cut_off_is_found_and_left_as_it_is() {
    let bed = Bed::start();
    let folder = used(&bed);
    let store = folder.path("factum-data/factum.db");
    let bytes = std::fs::read(&store).unwrap();
    std::fs::write(&store, &bytes[..bytes.len() / 2]).unwrap();
    assert!(one_error(&folder).contains("F1052"));
    assert_eq!(std::fs::read(&store).unwrap().len(), bytes.len() / 2);
    let (code, problem) = folder.refused(&["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!((code, problem["code"].as_str()), (1, Some("F1052")));
}

#[test]
fn errors_of_the_configuration_and_missing_secrets_are_found() {
    let folder = Folder::new();
    folder.write("factum.toml", "[server]\nlisen = 1\n");
    assert!(one_error(&folder).contains("line 2"));

    folder.write(
        "factum.toml",
        "[destinations.a]\nprovider = \"nobody\"\nbase = \"https://example.invalid\"\n",
    );
    assert!(one_error(&folder).contains("nobody"));

    let bed = Bed::start();
    let auth = "auth = { bearer = \"env:NO_SUCH_VARIABLE_HERE\" }\n";
    folder.write(
        "factum.toml",
        &(crate::support::configuration(&bed.base) + auth),
    );
    assert!(one_error(&folder).contains("NO_SUCH_VARIABLE_HERE"));

    folder.write("contracts/mine/note.add.toml", "provider = \"mine\"\n");
    folder.write("factum.toml", "contracts = \"contracts\"\n");
    assert!(one_error(&folder).contains("note.add.toml"));
}

// B67
#[test]
fn a_key_made_of_what_changes_on_every_call_is_a_warning() {
    let bed = Bed::start();
    let folder = Folder::with(&bed);
    let written = folder.read("factum.toml");
    let template = "[destinations.bed.operations.\"key.sync\"]\nkey_template = \"{args.order}/{args.created_at}\"\n";
    folder.write("factum.toml", &format!("{written}{template}"));
    let (code, report) = examined(&folder);
    assert_eq!(code, 0, "{report}");
    let warned = findings(&report, "warning");
    assert!(
        warned
            .iter()
            .any(|says| says.contains("`created_at` sounds like another value on every call")),
        "{report}"
    );
}

#[test]
fn a_destination_out_of_reach_is_a_warning() {
    let folder = Folder::new();
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    folder.write(
        "factum.toml",
        &crate::support::configuration(&format!("http://{free}")),
    );
    let (code, report) = examined(&folder);
    assert_eq!(code, 0, "{report}");
    assert_eq!(findings(&report, "warning").len(), 1, "{report}");
    assert_eq!(
        folder.run(&["doctor", "--offline", "--json"]).json()["findings"]
            .as_array()
            .unwrap()
            .len(),
        7
    );
}

// What a contract claims ages, and nobody notices by itself.
#[test]
fn a_contract_past_its_review_is_a_warning() {
    let folder = Folder::new();
    let catalogue = concat!(env!("CARGO_MANIFEST_DIR"), "/../../contracts/testbed");
    let contract = std::fs::read_to_string(format!("{catalogue}/key.sync.toml")).unwrap();
    let dated = contract.replacen(
        "\n[effect]",
        "verified_on = \"2020-01-01\"\nreview_by = \"2021-01-01\"\n\n[effect]",
        1,
    );
    folder.write("contracts/testbed/key.sync.toml", &dated);
    folder.write(
        "factum.toml",
        "contracts = \"contracts\"\n[destinations.bed]\nprovider = \"testbed\"\nbase = \"http://127.0.0.1:1\"\n",
    );
    let report = folder.run(&["doctor", "--offline", "--json"]).json();
    let warned = findings(&report, "warning");
    assert_eq!(
        warned,
        ["destination bed: the contract of key.sync was to be reviewed by 2021-01-01"],
        "{report}"
    );
}

#[test]
fn sends_that_an_operator_holds_are_found_while_it_is_served() {
    let bed = Bed::start();
    let folder = Folder::with(&bed);
    let server = folder.serve();
    folder.json(&["admin", "pause", "--by", "ben"]);
    let (code, report) = examined(&folder);
    assert_eq!(code, 0, "{report}");
    let held = "server: an operator holds all sends".to_owned();
    assert!(findings(&report, "warning").contains(&held), "{report}");
    server.stop();
}

// Without a secret no delivery is taken; where an operation has a feed of events, its word is waited for all the same.
#[test]
fn callbacks_without_a_secret_and_a_feed_of_events() {
    let folder = Folder::new();
    for (provider, says) in [
        ("stripe", "read from its feed of events"),
        ("github", "none waited for"),
    ] {
        let destination = format!(
            "[destinations.desk]\nprovider = \"{provider}\"\nbase = \"http://127.0.0.1:1\"\n"
        );
        folder.write("factum.toml", &destination);
        let report = folder.run(&["doctor", "--offline", "--json"]).json();
        let told = findings(&report, "ok");
        let told: Vec<_> = told
            .iter()
            .filter(|told| told.contains("describe callbacks"))
            .collect();
        assert_eq!(told.len(), 1, "{report}");
        assert!(told[0].contains(says), "{provider}: {told:?}");
    }
}

#[test]
fn an_older_copy_of_the_store_is_found_and_held() {
    let bed = Bed::start();
    let folder = used(&bed);
    let copy = std::fs::read(folder.path("factum-data/factum.db")).unwrap();
    let server = folder.serve();
    folder.submit("key.sync", "after the copy", &business("c"));
    server.stop();
    std::fs::write(folder.path("factum-data/factum.db"), copy).unwrap();
    let (code, report) = examined(&folder);
    assert_eq!(code, 0, "{report}");
    assert!(
        findings(&report, "warning")
            .iter()
            .any(|says| says.contains("came from a copy")),
        "{report}"
    );
}

#[test]
fn refused_rows_of_an_outbox_are_counted() {
    let bed = Bed::start();
    let folder = Folder::with(&bed);
    let plain = folder.read("factum.toml");
    folder.write(
        "factum.toml",
        &format!("{plain}\n[[outbox]]\npath = \"app.db\"\n"),
    );
    folder.serve().stop();
    let (code, report) = examined(&folder);
    assert_eq!(code, 0, "{report}");
    let quiet = "outbox app.db: 0 rows wait, none was refused".to_owned();
    assert!(findings(&report, "ok").contains(&quiet), "{report}");

    let file = rusqlite::Connection::open(folder.path("app.db")).unwrap();
    file.execute(
        "insert into factum_outbox (body, state, problem) values ('{', 'refused', '{}')",
        [],
    )
    .unwrap();
    let (code, report) = examined(&folder);
    assert_eq!(code, 0, "a refused row is a warning: {report}");
    let refused = "outbox app.db: 0 rows wait, 1 were refused and never sent".to_owned();
    assert_eq!(findings(&report, "warning"), [refused], "{report}");
}
