//! `factum contract probe` with real processes: what it may touch, what it asks, what it makes, and what it catches.
//!
//! Effects are counted in the testbed's own ledger.

mod lies;

use serde_json::Value;

use crate::support::{Bed, Folder, Ran, configuration, ended_with_input};

const PAYLOAD: &str = r#"{"business":"{unique}"}"#;

/// A folder whose destination `bed` is marked as a sandbox.
fn sandbox(bed: &Bed) -> Folder {
    let folder = Folder::new();
    // The member stands in the destination's own table, which begins the text.
    let text = configuration(&bed.base).replacen("account =", "sandbox = true\naccount =", 1);
    folder.write("factum.toml", &text);
    folder
}

/// The words of a probe that does not ask.
fn words<'a>(operation: &'a str, further: &[&'a str]) -> Vec<&'a str> {
    let fixed = [
        "contract",
        "probe",
        "bed",
        operation,
        "--payload",
        PAYLOAD,
        "--report",
        "p.probe.toml",
        "--yes",
    ];
    [&fixed, further].concat()
}

fn probed(folder: &Folder, operation: &str, further: &[&str]) -> (i32, Value) {
    let ran = folder.run(&[words(operation, further), vec!["--json"]].concat());
    assert!(!ran.out.is_empty(), "{ran:?}");
    (ran.code, ran.json())
}

fn verdict<'a>(value: &'a Value, experiment: &str, about: &str) -> &'a str {
    let claims = value["report"]["claims"].as_array().unwrap();
    let claim = claims
        .iter()
        .find(|claim| claim["experiment"] == experiment && claim["about"] == about);
    let claim = claim.unwrap_or_else(|| panic!("no claim {about}: {value:#}"));
    claim["verdict"].as_str().unwrap()
}

#[test]
fn what_is_no_sandbox_is_not_touched() {
    let bed = Bed::start();
    let folder = Folder::with(&bed);
    let (code, problem) = folder.refused(&words("key.sync", &[]));
    assert_eq!(code, 2);
    assert_eq!(problem["member"], "/destinations/bed/sandbox");
    assert!(
        problem["remedy"]
            .as_str()
            .unwrap()
            .contains("sandbox = true"),
        "{problem}"
    );
    assert_eq!(bed.deliveries(), 0);
    assert!(!folder.path("p.probe.toml").exists());
}

#[test]
fn an_honest_destination_is_called_honest_and_its_report_can_be_cited() {
    let bed = Bed::start();
    let folder = sandbox(&bed);
    let refused = ["--refused-payload", r#"{"behave":"reject"}"#];
    let clock = ["--advance-url", bed.admin.as_str()];
    let (code, value) = probed(&folder, "key.sync", &[refused, clock].concat());
    assert_eq!(code, 0, "{value:#}");
    assert_eq!(value["did_not_hold"], 0);
    for (experiment, about) in [
        ("same_key_twice", "/key/repeat"),
        ("same_key_twice", "/key/repeat/replayed"),
        ("other_content", "/key/repeat/other_content"),
        ("refusal", "/key/repeat/stored"),
        ("inside_window", "/key/repeat/retention"),
    ] {
        assert_eq!(verdict(&value, experiment, about), "held", "{value:#}");
    }
    // As many as it says were made, none of them twice, and all of them are named.
    let made = value["report"]["effects"].as_u64().unwrap();
    assert_eq!(bed.counts()["total_effects"], made);
    let left = value["report"]["left"].as_array().unwrap();
    assert_eq!(u64::try_from(left.len()).unwrap(), made);
    let journal = folder.read("p.probe.journal");
    assert_eq!(
        u64::try_from(journal.matches("\"permission\":\"ordered\"").count()).unwrap(),
        value["report"]["requests"].as_u64().unwrap()
    );
    assert!(journal.contains("\"by\":\"ana\""), "{journal}");
    assert!(folder.read("p.probe.md").contains("## Held"));
    cited(&folder);
}

/// A contract of one's own cites the report, and lint takes both.
fn cited(folder: &Folder) {
    let report = folder.read("p.probe.toml");
    let date = report.split("date = \"").nth(1).unwrap().get(..10).unwrap();
    let text = include_str!("../../../../contracts/testbed/key.sync.toml");
    let claim = |about: &str| {
        format!(
            "{text}\n[[claims]]\nabout = \"{about}\"\nreport = \"p.probe.toml\"\ndate = \"{date}\"\n"
        )
    };
    let provider = include_str!("../../../../contracts/testbed/provider.toml");
    folder.write("contracts/testbed/provider.toml", provider);
    folder.write("contracts/testbed/p.probe.toml", &report);
    folder.write("contracts/testbed/key.sync.toml", &claim("/key/repeat"));
    let linted = folder.json(&["contract", "lint", "contracts"]);
    assert_eq!(linted["errors"], 0, "{linted}");
    let config = folder.read("factum.toml");
    folder.write(
        "factum.toml",
        &format!("contracts = \"contracts\"\n{config}"),
    );
    let shown = folder.run(&["contract", "show", "testbed.key.sync"]);
    assert!(
        shown
            .out
            .contains("/key/repeat rests on a probe: p.probe.toml"),
        "{shown:?}"
    );
    // What the report does not say cannot be cited from it.
    folder.write("contracts/testbed/key.sync.toml", &claim("/processing"));
    let linted = folder.run(&["contract", "lint", "contracts"]);
    assert_eq!(linted.code, 1);
    assert!(linted.out.contains("report_unsupported"), "{linted:?}");
}

#[test]
fn a_window_that_is_shorter_than_it_says_is_caught() {
    let bed = Bed::with(&["--key-retention", "1h"]);
    let folder = sandbox(&bed);
    let (code, value) = probed(&folder, "key.sync", &["--advance-url", &bed.admin]);
    assert_eq!(code, 1);
    assert_eq!(
        verdict(&value, "inside_window", "/key/repeat/retention"),
        "did_not_hold"
    );
    assert_eq!(value["did_not_hold"], 1, "{value:#}");
}

#[test]
fn a_search_that_lags_more_than_it_says_is_caught_and_timed() {
    let bed = Bed::with(&["--search-lag", "4s"]);
    let folder = sandbox(&bed);
    let further = ["--samples", "2", "--read-every", "100ms"];
    let (code, value) = probed(&folder, "lagging.sync", &further);
    assert_eq!(code, 1);
    assert_eq!(verdict(&value, "lookup_lag", "/lookup/lag"), "did_not_hold");
    let lag = &value["report"]["lookup"];
    assert_eq!(lag["samples"], 2);
    assert!(lag["min_ms"].as_u64().unwrap() >= 4000, "{lag}");
}

#[test]
fn what_was_made_is_withdrawn_where_that_can_be_done() {
    let bed = Bed::start();
    let folder = sandbox(&bed);
    let (code, value) = probed(&folder, "cancel.queued", &[]);
    assert_eq!(code, 0, "{value:#}");
    assert_eq!(verdict(&value, "cancel_by_key", "/cancel"), "held");
    assert_eq!(value["report"]["left"], Value::Array(Vec::new()));
    assert_eq!(bed.counts()["total_effects"], 0);
}

#[test]
fn what_was_made_is_undone_where_the_contract_says_how() {
    let bed = Bed::start();
    let folder = sandbox(&bed);
    let (code, value) = probed(&folder, "key_body.sync", &[]);
    assert_eq!(code, 0, "{value:#}");
    let made = value["report"]["effects"].as_u64().unwrap();
    let undone = value["report"]["undone"].as_array().unwrap();
    assert!(made > 0, "{value:#}");
    assert_eq!(u64::try_from(undone.len()).unwrap(), made, "{value:#}");
    assert!(undone.iter().all(|undone| undone["by"] == "key.undo"));
    assert_eq!(value["report"]["left"], Value::Array(Vec::new()));
    assert_eq!(bed.counts()["total_effects"], 0);
    assert_eq!(bed.counts()["cancelled"], made);
    // Undoing is ordered as every other request is.
    let journal = folder.read("p.probe.journal");
    assert_eq!(
        u64::try_from(journal.matches("\"permission\":\"ordered\"").count()).unwrap(),
        value["report"]["requests"].as_u64().unwrap()
    );
    assert_eq!(journal.matches("\"undoes\":true").count(), undone.len());
    assert!(folder.read("p.probe.md").contains("## Undone"));
}

#[test]
fn what_is_not_undone_is_left_with_its_reason() {
    let bed = Bed::start();
    let folder = sandbox(&bed);
    let asking: Vec<&str> = words("key_body.sync", &["--pairs", "0"])
        .into_iter()
        .filter(|word| *word != "--yes")
        .collect();
    // Both requests of each of two experiments, the undoing of the first effect, and then nobody answers any more.
    let ran = ended_with_input(folder.command(&asking), "y\ny\ny\ny\ny\n");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains("/key/sync/undo"), "{ran:?}");
    assert_eq!(bed.counts()["cancelled"], 1, "{ran:?}");
    assert_eq!(bed.counts()["total_effects"], 1, "{ran:?}");
    assert!(ran.out.contains("its undoing was not wanted"), "{ran:?}");
}

#[test]
fn an_undoing_that_is_refused_undoes_nothing() {
    let bed = Bed::start();
    let folder = sandbox(&bed);
    // The contract names something that the destination does not know.
    for name in ["provider", "key.undo", "key_body.sync"] {
        let file = format!(
            "{}/../../contracts/testbed/{name}.toml",
            env!("CARGO_MANIFEST_DIR")
        );
        let text = std::fs::read_to_string(file).unwrap();
        let text = text.replace("id = \"{receipt}\"", "id = \"not-{receipt}\"");
        folder.write(&format!("contracts/testbed/{name}.toml"), &text);
    }
    let config = folder.read("factum.toml");
    folder.write(
        "factum.toml",
        &format!("contracts = \"contracts\"\n{config}"),
    );
    let (code, value) = probed(&folder, "key_body.sync", &[]);
    assert_eq!(code, 0, "{value:#}");
    assert_eq!(value["report"]["undone"], Value::Array(Vec::new()));
    assert_eq!(bed.counts()["cancelled"], 0);
    let left = value["report"]["left"].as_array().unwrap();
    let made = value["report"]["effects"].as_u64().unwrap();
    assert_eq!(u64::try_from(left.len()).unwrap(), made);
    for left in left {
        let why = left["why"].as_str().unwrap();
        assert!(why.contains("rejected (status 404)"), "{why}");
    }
    // Without the operation the contract is refused, at its place.
    std::fs::remove_file(folder.path("contracts/testbed/key.undo.toml")).unwrap();
    folder.write(
        "contracts/testbed/key_body.sync.toml",
        &folder
            .read("contracts/testbed/key_body.sync.toml")
            .replace("\"key.undo\"", "\"key.elsewhere\""),
    );
    let linted = folder.run(&["contract", "lint", "contracts"]);
    assert_eq!(linted.code, 1);
    assert!(linted.out.contains("/undo/operation"), "{linted:?}");
    assert!(linted.out.contains("undo_operation"), "{linted:?}");
}

#[test]
fn it_asks_before_each_effect_and_takes_a_no() {
    let bed = Bed::start();
    let folder = sandbox(&bed);
    let asking: Vec<&str> = words("key.sync", &[])
        .into_iter()
        .filter(|word| *word != "--yes")
        .collect();
    let ran: Ran = ended_with_input(folder.command(&asking), "y\nn\n");
    assert_eq!(ran.code, 0, "{ran:?}");
    // The first was wanted, the second was not, and then nobody answered any more.
    assert_eq!(bed.deliveries(), 1);
    assert!(ran.err.contains("idempotency-key: "), "{ran:?}");
    assert!(ran.err.contains("at most 10 effects"), "{ran:?}");
    assert!(ran.out.contains("could not be told"), "{ran:?}");
    // A report is never written over.
    let (code, problem) = folder.refused(&words("key.sync", &[]));
    assert_eq!(code, 2, "{problem}");
    assert_eq!(bed.deliveries(), 1);
}

#[test]
fn a_probe_that_cannot_go_on_says_what_it_made() {
    let bed = Bed::start();
    let folder = sandbox(&bed);
    // Nobody moves a clock there.
    let ran = folder.run(&words("key.sync", &["--advance-url", "http://127.0.0.1:1"]));
    assert_ne!(ran.code, 0);
    let report = folder.read("p.probe.toml");
    assert!(report.contains("[[left]]"), "{report}");
}

#[test]
fn where_nothing_is_claimed_nothing_is_sent() {
    let bed = Bed::start();
    let folder = sandbox(&bed);
    let (code, problem) = folder.refused(&words("neither.sync", &[]));
    assert_eq!(code, 2, "{problem}");
    assert_eq!(folder.refused(&words("key.nowhere", &[])).0, 3);
    assert_eq!(bed.deliveries(), 0);
}
