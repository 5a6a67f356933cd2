//! What an operator may lay over a contract, and what for.

use factum_contract::{Assumption, Contract, OperatorSettings, SettingsError};
use factum_core::Span;
use factum_core::intent::Preference;
use factum_core::promise::{Consequence, ProcessingMax, Retention};

use crate::support::{builtin, contract, testbed};

fn settings(text: &str) -> OperatorSettings {
    // As a configuration writes them.
    toml::from_str(text).expect("the settings can be read")
}

fn laid(contract: &Contract, text: &str) -> Result<Contract, SettingsError> {
    contract.clone().with_operator(settings(text))
}

fn member(contract: &Contract, text: &str) -> String {
    let error = laid(contract, text).expect_err("the settings are refused");
    assert!(error.to_string().contains("; "), "{error}");
    error.member
}

#[test]
fn consequence_is_raised_freely_and_lowered_with_a_name() {
    let contract = testbed("neither.sync");
    let raised = laid(contract, "consequence = \"irreversible\"").unwrap();
    assert_eq!(raised.promises().consequence, Consequence::Irreversible);
    assert_eq!(
        member(contract, "consequence = \"reversible\""),
        "/consequence"
    );
    assert_eq!(
        member(contract, "consequence = \"reversible\"\nby = \"ana\""),
        "/consequence"
    );
    assert_eq!(
        member(
            contract,
            "consequence = \"reversible\"\nby = \"ana\"\nreason = \" \""
        ),
        "/consequence"
    );
    let text = "consequence = \"reversible\"\nby = \"ana\"\nreason = \"a test system\"";
    let lowered = laid(contract, text).unwrap();
    assert_eq!(lowered.promises().consequence, Consequence::Reversible);
    assert_eq!(member(contract, "consequence = \"cheap\""), "/consequence");
}

#[test]
fn a_risk_has_an_author() {
    let contract = testbed("neither.sync");
    assert_eq!(*contract.preference(), Preference::Ask);
    assert_eq!(
        *laid(contract, "neither = \"ask\"").unwrap().preference(),
        Preference::Ask
    );
    assert_eq!(
        member(contract, "neither = \"prefer_duplicate\""),
        "/neither"
    );
    let text = "neither = \"prefer_missing\"\nby = \"ana\"\nreason = \"only a hint\"";
    let by = "ana: only a hint".to_owned();
    assert_eq!(
        *laid(contract, text).unwrap().preference(),
        Preference::PreferMissing { by }
    );
    assert_eq!(member(contract, "neither = \"maybe\""), "/neither");
}

#[test]
fn a_direct_path_that_the_contract_does_not_state_has_an_author() {
    let redmine = builtin("redmine", "issue.create");
    assert!(!redmine.promises().path_is_direct);
    assert_eq!(member(redmine, "direct = true"), "/direct");
    let text = "direct = true\nby = \"ana\"\nreason = \"same machine\"";
    assert!(laid(redmine, text).unwrap().promises().path_is_direct);
    let testbed = testbed("key.sync");
    assert!(
        !laid(testbed, "direct = false")
            .unwrap()
            .promises()
            .path_is_direct
    );
}

#[test]
fn assumptions_fill_what_is_not_published() {
    let redmine = builtin("redmine", "issue.create");
    let text = "assume.processing_max = { value = \"2 min\", by = \"ana\", reason = \"puma's own limit\" }";
    let laid_over = laid(redmine, text).unwrap();
    assert_eq!(
        laid_over.promises().processing_max,
        ProcessingMax::Assumed(Span::from_secs(120))
    );
    assert_ne!(
        laid_over.digest(),
        redmine.digest(),
        "what was assumed is pinned with the action"
    );
    let shown = laid_over.operator().assume.processing_max.as_ref().unwrap();
    assert_eq!(
        (shown.by.as_str(), shown.reason.as_str()),
        ("ana", "puma's own limit")
    );
    let rows = [
        (
            "assume.processing_max = { value = \"2\", by = \"a\", reason = \"r\" }",
            "/assume/processing_max/value",
        ),
        (
            "assume.processing_max = { value = \"0 s\", by = \"a\", reason = \"r\" }",
            "/assume/processing_max/value",
        ),
        (
            "assume.processing_max = { value = \"2 s\", by = \"\", reason = \"r\" }",
            "/assume/processing_max/by",
        ),
        (
            "assume.processing_max = { value = \"2 s\", by = \"a\", reason = \"\" }",
            "/assume/processing_max/reason",
        ),
        (
            "assume.key_floor = { value = \"2 h\", by = \"a\", reason = \"r\" }",
            "/assume/key_floor",
        ),
    ];
    for (text, expected) in rows {
        assert_eq!(member(redmine, text), expected, "{text}");
    }
}

#[test]
fn assumptions_never_stretch_what_is_stated() {
    let testbed = testbed("key.sync");
    let floor = |value: &str| {
        format!("assume.key_floor = {{ value = \"{value}\", by = \"a\", reason = \"r\" }}")
    };
    assert_eq!(member(testbed, &floor("25 h")), "/assume/key_floor");
    let shorter = laid(testbed, &floor("2 h"))
        .unwrap()
        .promises()
        .key
        .unwrap();
    assert_eq!(
        shorter.retention,
        Retention::AssumedFloor(Span::from_secs(7_200))
    );
    let max = |value: &str| {
        format!("assume.processing_max = {{ value = \"{value}\", by = \"a\", reason = \"r\" }}")
    };
    assert_eq!(member(testbed, &max("1 s")), "/assume/processing_max");
    let longer = laid(testbed, &max("1 min"))
        .unwrap()
        .promises()
        .processing_max;
    assert_eq!(longer, ProcessingMax::Assumed(Span::from_secs(60)));
}

#[test]
fn a_floor_can_be_assumed_where_only_an_estimate_is_published() {
    let text = r#"
provider = "p"
operation = "o"
title = "t"
consequence = "costly"
neither = { prefer = "prefer_missing", by = "ana", reason = "only a hint" }
finish = true
[effect]
path = "/"
[key]
place = { header = "K" }
[key.repeat]
retention = { approximate = "5 min" }
stored = { success = true, refusals = false, errors = false }
source = { url = "https://a.example", read = "2026-11-29", grade = "GRADE" }
"#;
    let published = contract(&text.replace("GRADE", "stated"));
    assert!(published.finish());
    let by = "ana: only a hint".to_owned();
    assert_eq!(*published.preference(), Preference::PreferMissing { by });
    assert_eq!(published.promises().key.unwrap().retention.floor(), None);
    let mut settings = OperatorSettings::default();
    settings.assume.key_floor = Some(Assumption {
        value: "3 min".to_owned(),
        by: "ana".to_owned(),
        reason: "measured".to_owned(),
    });
    let assumed = published.with_operator(settings.clone()).unwrap();
    assert_eq!(
        assumed.promises().key.unwrap().retention,
        Retention::AssumedFloor(Span::from_secs(180))
    );
    // Hearsay that a key is recognised at all is not made a promise by assuming for how long.
    let hearsay = contract(&text.replace("GRADE", "second_hand"));
    assert_eq!(
        hearsay.with_operator(settings).unwrap_err().member,
        "/assume/key_floor"
    );
}

#[test]
fn unknown_settings_are_errors() {
    for text in [
        "consequense = \"costly\"",
        "assume.processing = \"2 s\"",
        "assume.key_floor = { value = \"2 s\" }",
    ] {
        assert!(toml::from_str::<OperatorSettings>(text).is_err(), "{text}");
    }
}
