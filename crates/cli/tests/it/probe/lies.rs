//! Stand-ins that break one promise of their contract each, and honest ones beside them.

use serde_json::Value;

use crate::support::{Bed, Folder, ended};

/// What a probe found at a stand-in: its exit code, and the claims that did not hold or held.
struct Found {
    operation: String,
    code: i32,
    broken: Vec<String>,
    held: Vec<String>,
    effects: u64,
    value: Value,
}

/// Probes a stand-in of `PROVIDER.OPERATION` with the content of its contract's examples.
fn found(name: &str, lie: Option<&str>, further: &[&str]) -> Found {
    let mut words = vec!["--stand-in", name, "--work", "150ms"];
    words.extend(lie.iter().flat_map(|lie| ["--lie", lie]));
    let bed = Bed::with(&words);
    let (provider, operation) = name.split_once('.').unwrap();
    let folder = Folder::new();
    let auth = match further.contains(&"--second-credential") {
        true => "auth = { bearer = \"env:ONE\" }\n",
        false => "",
    };
    folder.write(
        "factum.toml",
        &format!(
            "[destinations.bed]\nprovider = \"{provider}\"\nbase = \"{}\"\nsandbox = true\n{auth}",
            bed.base
        ),
    );
    let fixed = [
        "contract",
        "probe",
        "bed",
        operation,
        "--advance-url",
        &bed.admin,
        "--samples",
        "4",
        "--patience",
        "2s",
        "--read-every",
        "50ms",
        "--report",
        "p.probe.toml",
        "--yes",
        "--json",
    ];
    let mut command = folder.command(&[&fixed, further].concat());
    command.env("ONE", "one").env("TWO", "two");
    let ran = ended(command);
    assert!(!ran.out.is_empty(), "{name} {lie:?}: {ran:?}");
    let value = ran.json();
    let claims = |verdict: &str| {
        let claims = value["report"]["claims"].as_array().unwrap().iter();
        let claims = claims.filter(|claim| claim["verdict"] == verdict);
        let claims = claims.map(|claim| claim["about"].as_str().unwrap().to_owned());
        claims.collect::<Vec<_>>()
    };
    Found {
        operation: name.to_owned(),
        code: ran.code,
        broken: claims("did_not_hold"),
        held: claims("held"),
        effects: bed.counts()["total_effects"].as_u64().unwrap(),
        value: value.clone(),
    }
}

impl Found {
    #[track_caller]
    fn is_honest(&self, held: &[&str]) {
        let Self { operation, .. } = self;
        assert_eq!(self.code, 0, "{operation}: {:#}", self.value);
        assert_eq!(self.broken, [""; 0], "{operation}: {:#}", self.value);
        for about in held {
            let found = self.held.iter().any(|claim| claim == about);
            assert!(found, "{operation} {about}: {:#}", self.value);
        }
        // What it made is what the destination has.
        let made = self.value["report"]["effects"].as_u64().unwrap();
        let withdrawn = self.value["report"]["withdrawn"].as_u64().unwrap();
        assert!(
            self.effects >= made - withdrawn,
            "{operation}: {:#}",
            self.value
        );
    }

    #[track_caller]
    fn is_caught(&self, about: &str) {
        let Self { operation, .. } = self;
        assert_eq!(self.code, 1, "{operation}: {:#}", self.value);
        let found = self.broken.iter().any(|claim| claim == about);
        assert!(found, "{operation} {about}: {:#}", self.value);
    }
}

const SECOND: &[&str] = &["--second-credential", "env:TWO"];
const REFUND: &str = "stripe.refund.create";
const TICKET: &str = "zendesk.ticket.create";
const KEY: &str = "testbed.key.sync";

/// For operations whose contracts show no content.
const CONTENT: &[&str] = &["--payload", r#"{"business":"{unique}"}"#];

/// Content that the stand-in refuses, or at which it fails.
const REFUSED: &[&str] = &[
    "--payload",
    r#"{"business":"{unique}"}"#,
    "--refused-payload",
    r#"{"business":"stand-in:decline"}"#,
];
const FAILING: &[&str] = &[
    "--payload",
    r#"{"ticket":{"subject":"Printer offline","comment":{"body":"It is."}}}"#,
    "--failing-payload",
    r#"{"ticket":{"subject":"stand-in:fail","comment":{"body":"It is."}}}"#,
];

#[test]
fn honest_stand_ins_with_a_key_are_called_honest() {
    found(REFUND, None, SECOND).is_honest(&[
        "/key/repeat",
        "/key/repeat/replayed",
        "/key/repeat/other_content",
        "/key/repeat/concurrent",
        "/key/repeat/scope",
        "/key/repeat/retention",
        "/key/repeat/after",
        "/lookup/lag",
    ]);
    let held = ["/key/repeat", "/key/repeat/stored", "/key/repeat/retention"];
    found(TICKET, None, FAILING).is_honest(&held);
    found(KEY, None, REFUSED).is_honest(&held);
    found("matrix.message.send", None, SECOND).is_honest(&["/key/repeat", "/key/repeat/scope"]);
}

#[test]
fn honest_stand_ins_of_other_kinds_are_called_honest() {
    found("redmine.issue.create", None, &[]).is_honest(&["/lookup/lag", "/lookup/authority"]);
    found("testbed.cancel.sync", None, CONTENT).is_honest(&["/cancel/refuses_later_arrivals"]);
    found("gocardless.payment.create", None, &[]).is_honest(&["/key/repeat"]);
}

#[test]
fn lies_about_repeats_are_caught() {
    for (lie, about) in [
        ("short-window", "/key/repeat/retention"),
        ("ignores-key", "/key/repeat"),
        ("ignores-changed-body", "/key/repeat/other_content"),
        ("new-effect-on-changed-body", "/key/repeat/other_content"),
        ("no-replay-mark", "/key/repeat/replayed"),
        ("concurrent-pair-doubles", "/key/repeat"),
    ] {
        found(REFUND, Some(lie), &[]).is_caught(about);
    }
    // A name that the client chooses is a key as well.
    found("gocardless.payment.create", Some("ignores-key"), &[]).is_caught("/key/repeat");
}

#[test]
fn lies_about_what_is_stored_are_caught() {
    // The opposite lie, an error that is replayed without a mark, cannot be told from one that happened again.
    found(KEY, Some("forgets-errors"), REFUSED).is_caught("/key/repeat/stored");
}

#[test]
fn lies_about_the_scope_are_caught() {
    let scope = "/key/repeat/scope";
    found("matrix.message.send", Some("wider-scope"), SECOND).is_caught(scope);
    found(REFUND, Some("narrower-scope"), SECOND).is_caught(scope);
}

#[test]
fn lies_about_lookups_and_cancels_are_caught() {
    let issue = "redmine.issue.create";
    found(issue, Some("lagging-strong-lookup"), &[]).is_caught("/lookup/lag");
    found(issue, Some("incomplete-lookup"), &[]).is_caught("/lookup/authority");
    let later = "/cancel/refuses_later_arrivals";
    found("testbed.cancel.sync", Some("cancel-does-nothing"), CONTENT).is_caught(later);
    found(
        "testbed.cancel.queued",
        Some("cancel-does-nothing"),
        CONTENT,
    )
    .is_caught("/cancel");
}
