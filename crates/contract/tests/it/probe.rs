//! The probe against scripted destinations that speak as the testbed does: an honest one is called honest, each lie is caught.

mod far;

use factum_contract::Contract;
use factum_contract::probe::{
    Claim, Experiment, Probe, Report, ReportError, Second, Setup, Verdict,
};
use factum_core::Span;

use crate::support::{builtin, contract, testbed};
use far::{Far, Lie, drive};

fn setup() -> Setup {
    Setup {
        seed: [9; 32],
        params: serde_json::Map::new(),
        payload: br#"{"business":"{unique}"}"#.to_vec(),
        other: Some(br#"{"business":"{unique}","more":1}"#.to_vec()),
        refused: Some(br#"{"behave":"reject"}"#.to_vec()),
        failing: None,
        wait: None,
        moves_clock: true,
        second: Some(Second::SameAccount),
        samples: 4,
        pairs: 2,
        read_every: Span::from_millis(200),
        patience: Span::from_secs(20),
    }
}

fn probed(contract: &Contract, lies: &[Lie]) -> Report {
    let probe = Probe::new(contract, setup());
    let mut probe = probe.expect("the submission builds");
    drive(&mut probe, Far::new(contract, lies))
}

fn claim<'a>(report: &'a Report, experiment: Experiment, about: &str) -> &'a Claim {
    let mut claims = report.claims.iter();
    let found = claims.find(|claim| claim.experiment == experiment && claim.about == about);
    found.unwrap_or_else(|| panic!("no claim {about} of {experiment:?}: {report:#?}"))
}

/// A key contract with everything that can be claimed, in the testbed's wire format.
fn key_contract(change: impl Fn(&str) -> String) -> Contract {
    let text = include_str!("../../../../contracts/testbed/key.sync.toml");
    let text = text.replace(
        "retention = { floor = \"24 h\" }",
        "retention = { floor = \"24 h\" }\nafter = \"runs_as_new\"\nreplays = \"original\"",
    );
    let provider = include_str!("../../../../contracts/testbed/provider.toml");
    let text = change(&text);
    Contract::parse("key.sync.toml", Some(("provider.toml", provider)), &text)
        .unwrap_or_else(|findings| panic!("{}", crate::support::shown(&findings)))
}

fn plain() -> Contract {
    key_contract(str::to_owned)
}

fn per_credential() -> Contract {
    key_contract(|text| text.replace("scope = \"endpoint\"", "scope = \"credential\""))
}

fn forgetful() -> Contract {
    key_contract(|text| text.replace("refusals = true", "refusals = false"))
}

fn first_result() -> Contract {
    key_contract(|text| {
        text.replace(
            "other_content = \"refused\"",
            "other_content = \"first_result\"",
        )
    })
}

#[track_caller]
fn honest(contract: &Contract, held: &[(Experiment, &str)]) {
    let report = probed(contract, &[]);
    let broken: Vec<&Claim> = report.with(Verdict::DidNotHold).collect();
    assert!(broken.is_empty(), "{broken:#?}");
    for (experiment, about) in held {
        let claim = claim(&report, *experiment, about);
        assert_eq!(claim.verdict, Verdict::Held, "{claim:#?}");
    }
}

#[track_caller]
fn caught(contract: &Contract, lie: Lie, experiment: Experiment, about: &str) {
    let report = probed(contract, &[lie]);
    let claim = claim(&report, experiment, about);
    assert_eq!(claim.verdict, Verdict::DidNotHold, "{lie:?}: {claim:#?}");
}

#[test]
fn an_honest_destination_with_a_key_is_called_honest() {
    let all = [
        (Experiment::SameKeyTwice, "/key/repeat"),
        (Experiment::SameKeyTwice, "/key/repeat/replayed"),
        (Experiment::SameKeyTwice, "/key/repeat/replays"),
        (Experiment::OtherContent, "/key/repeat/other_content"),
        (Experiment::ConcurrentPair, "/key/repeat"),
        (Experiment::ConcurrentPair, "/key/repeat/concurrent"),
        (Experiment::Refusal, "/key/repeat/stored"),
        (Experiment::SecondCredential, "/key/repeat/scope"),
        (Experiment::InsideWindow, "/key/repeat/retention"),
        (Experiment::AfterWindow, "/key/repeat/after"),
        (Experiment::SameKeyTwice, "/answers"),
    ];
    honest(&plain(), &all);
    honest(
        &per_credential(),
        &[(Experiment::SecondCredential, "/key/repeat/scope")],
    );
    honest(&forgetful(), &[(Experiment::Refusal, "/key/repeat/stored")]);
    honest(
        &first_result(),
        &[(Experiment::OtherContent, "/key/repeat/other_content")],
    );
}

#[test]
fn honest_destinations_of_the_other_kinds_are_called_honest() {
    for operation in [
        "key.queued",
        "key_body.sync",
        "key_path.sync",
        "key_path.queued",
    ] {
        honest(
            testbed(operation),
            &[(Experiment::SameKeyTwice, "/key/repeat")],
        );
    }
    for operation in ["lookup.sync", "lookup.queued"] {
        let held = [
            (Experiment::LookupLag, "/lookup/lag"),
            (Experiment::LookupComplete, "/lookup/authority"),
        ];
        honest(testbed(operation), &held);
    }
    honest(
        testbed("lagging.sync"),
        &[(Experiment::LookupLag, "/lookup/lag")],
    );
    let later = (Experiment::CancelByKey, "/cancel/refuses_later_arrivals");
    honest(testbed("cancel.sync"), &[later]);
    honest(
        testbed("cancel.queued"),
        &[later, (Experiment::CancelByKey, "/cancel")],
    );
}

#[test]
fn every_lie_about_a_key_is_caught() {
    use Experiment as E;
    let (plain, first_result) = (plain(), first_result());
    let other = "/key/repeat/other_content";
    let rows: [(&Contract, Lie, E, &str); 10] = [
        (
            &plain,
            Lie::ShortWindow,
            E::InsideWindow,
            "/key/repeat/retention",
        ),
        (&plain, Lie::IgnoresKey, E::SameKeyTwice, "/key/repeat"),
        (&plain, Lie::IgnoresChangedBody, E::OtherContent, other),
        (&plain, Lie::NewEffectOnChangedBody, E::OtherContent, other),
        (
            &first_result,
            Lie::NewEffectOnChangedBody,
            E::OtherContent,
            other,
        ),
        (
            &forgetful(),
            Lie::ReplaysErrors,
            E::Refusal,
            "/key/repeat/stored",
        ),
        (&plain, Lie::ForgetsErrors, E::Refusal, "/key/repeat/stored"),
        (
            &plain,
            Lie::NoReplayMark,
            E::SameKeyTwice,
            "/key/repeat/replayed",
        ),
        (
            &plain,
            Lie::ConcurrentPairDoubles,
            E::ConcurrentPair,
            "/key/repeat",
        ),
        (
            &plain,
            Lie::NarrowerScope,
            E::SecondCredential,
            "/key/repeat/scope",
        ),
    ];
    for (contract, lie, experiment, about) in rows {
        caught(contract, lie, experiment, about);
    }
    caught(
        &per_credential(),
        Lie::WiderScope,
        E::SecondCredential,
        "/key/repeat/scope",
    );
    // The other places of a key are seen through as well.
    for operation in ["key.queued", "key_body.sync", "key_path.sync"] {
        caught(
            testbed(operation),
            Lie::IgnoresKey,
            E::SameKeyTwice,
            "/key/repeat",
        );
    }
}

#[test]
fn every_lie_about_a_lookup_or_a_cancel_is_caught() {
    use Experiment as E;
    let later = "/cancel/refuses_later_arrivals";
    for (operation, lie, experiment, about) in [
        (
            "lookup.sync",
            Lie::LaggingStrongLookup,
            E::LookupLag,
            "/lookup/lag",
        ),
        (
            "lookup.sync",
            Lie::IncompleteLookup,
            E::LookupComplete,
            "/lookup/authority",
        ),
        (
            "lookup.queued",
            Lie::IncompleteLookup,
            E::LookupComplete,
            "/lookup/authority",
        ),
        (
            "cancel.queued",
            Lie::CancelDoesNothing,
            E::CancelByKey,
            "/cancel",
        ),
        ("cancel.sync", Lie::CancelDoesNothing, E::CancelByKey, later),
    ] {
        caught(testbed(operation), lie, experiment, about);
    }
}

#[test]
fn a_lie_about_one_thing_is_no_accusation_of_another() {
    let report = probed(&plain(), &[Lie::NoReplayMark]);
    let broken: Vec<&str> = report
        .with(Verdict::DidNotHold)
        .map(|c| c.about.as_str())
        .collect();
    assert_eq!(broken, ["/key/repeat/replayed"], "{report:#?}");
    let report = probed(&plain(), &[Lie::ShortWindow]);
    let broken: Vec<&str> = report
        .with(Verdict::DidNotHold)
        .map(|c| c.about.as_str())
        .collect();
    assert_eq!(broken, ["/key/repeat/retention"], "{report:#?}");
}

#[test]
fn what_is_missing_is_said_and_not_tried() {
    let setup = Setup {
        other: None,
        refused: None,
        moves_clock: false,
        second: None,
        ..setup()
    };
    let contract = plain();
    let mut probe = Probe::new(&contract, setup).unwrap();
    let skipped: Vec<_> = probe
        .plan()
        .into_iter()
        .filter(|row| row.skipped.is_some())
        .collect();
    let report = drive(&mut probe, Far::new(&contract, &[]));
    for (experiment, word) in [
        (Experiment::OtherContent, "--other-payload"),
        (Experiment::Refusal, "--refused-payload"),
        (Experiment::OwnError, "--failing-payload"),
        (Experiment::SecondCredential, "--second-credential"),
        (Experiment::InsideWindow, "--wait"),
    ] {
        let row = skipped
            .iter()
            .find(|row| row.experiment == experiment)
            .unwrap();
        assert!(row.skipped.as_ref().unwrap().contains(word), "{row:?}");
        let mut claims = report
            .claims
            .iter()
            .filter(|claim| claim.experiment == experiment);
        assert!(claims.all(|claim| claim.verdict == Verdict::CouldNotBeTold));
    }
}

#[test]
fn never_more_is_made_than_was_said_before() {
    for operation in [
        "key.sync",
        "lookup.sync",
        "cancel.queued",
        "lagging.queued",
        "neither.sync",
    ] {
        for lies in [
            &[][..],
            &[Lie::IgnoresKey],
            &[Lie::Busy],
            &[Lie::CancelDoesNothing],
        ] {
            let contract = testbed(operation);
            let mut probe = Probe::new(contract, setup()).unwrap();
            let (effects, requests) = (probe.effects_max(), probe.requests_max());
            let mut far = Far::new(contract, lies);
            let report = far::drive_with(&mut probe, &mut far);
            assert!(
                far.effects() <= effects,
                "{operation} {lies:?}: {}",
                far.effects()
            );
            assert!(
                report.requests <= requests,
                "{operation} {lies:?}: {}",
                report.requests
            );
        }
    }
}

#[test]
fn what_can_be_withdrawn_is_and_the_rest_is_named() {
    let report = probed(testbed("cancel.queued"), &[]);
    assert!(
        report.left.is_empty() && report.withdrawn > 0,
        "{report:#?}"
    );
    let contract = plain();
    let mut probe = Probe::new(&contract, setup()).unwrap();
    let mut far = Far::new(&contract, &[]);
    let report = far::drive_with(&mut probe, &mut far);
    assert_eq!((report.withdrawn, report.effects), (0, far.effects()));
    let named: usize = report.left.iter().map(|left| left.names.len()).sum();
    assert_eq!(named, usize::try_from(far.effects()).unwrap());
    assert!(report.left.iter().all(|left| left.exists), "{report:#?}");
}

#[test]
fn answers_that_are_lost_tell_nothing() {
    let report = probed(&plain(), &[Lie::Silent]);
    assert_eq!(report.with(Verdict::DidNotHold).count(), 0, "{report:#?}");
    assert_eq!(report.with(Verdict::Held).count(), 0, "{report:#?}");
    assert!(report.left.iter().all(|left| !left.exists) && !report.left.is_empty());
}

#[test]
fn the_lookup_is_timed() {
    let report = probed(testbed("lagging.sync"), &[]);
    let lag = report.lookup.unwrap();
    assert_eq!(lag.samples, 4);
    // It shows effects after 2 s there, and is read every 200 ms.
    assert!((2000..=2200).contains(&lag.median_ms), "{lag:?}");
}

#[test]
fn a_report_is_read_back_and_stands_behind_what_held() {
    let contract = plain();
    let report = probed(&contract, &[Lie::NoReplayMark]);
    let text = report.to_toml();
    assert!(Report::is_meant_by(&text));
    assert_eq!(Report::parse("a.probe.toml", &text).unwrap(), report);
    assert_eq!(
        report.stands_behind(&contract, "/key/repeat/retention"),
        Ok(())
    );
    assert!(matches!(
        report.stands_behind(&contract, "/key/repeat"),
        Err(ReportError::Contradicts(_))
    ));
    assert_eq!(
        report.stands_behind(&contract, "/lookup"),
        Err(ReportError::Silent)
    );
    assert!(matches!(
        report.stands_behind(testbed("lookup.sync"), "/lookup"),
        Err(ReportError::Other(_))
    ));
    let page = report.to_markdown();
    assert!(
        page.contains("## Did not hold (1)") && page.contains("/key/repeat/replayed"),
        "{page}"
    );
    let wrong = Report::parse("a.probe.toml", &text.replace("verdict = ", "verdikt = "));
    assert!(wrong.unwrap_err().line > 5);
}

/// A contract whose claim about the window is a probe's.
fn citing(about: &str) -> (String, Contract) {
    let text = include_str!("../../../../contracts/testbed/key.sync.toml");
    let cited = format!(
        "{text}\n[[claims]]\nabout = \"{about}\"\nreport = \"a.probe.toml\"\ndate = \"2026-11-30\"\n"
    );
    let provider = include_str!("../../../../contracts/testbed/provider.toml");
    let parsed = Contract::parse("key.sync.toml", Some(("provider.toml", provider)), &cited);
    let contract = parsed.unwrap_or_else(|findings| panic!("{}", crate::support::shown(&findings)));
    (cited, contract)
}

#[test]
fn a_cited_report_has_to_be_there_and_to_say_so() {
    let report = probed(&plain(), &[Lie::NoReplayMark]).to_toml();
    let other = probed(testbed("lookup.sync"), &[]).to_toml();
    let rules = |about: &str, report: Option<&str>| -> Vec<&'static str> {
        let (text, contract) = citing(about);
        let found = contract.check_reports("key.sync.toml", &text, &|name| {
            assert_eq!(name, "a.probe.toml");
            report.map(str::to_owned)
        });
        found
            .iter()
            .for_each(|finding| assert!(finding.line > 1, "{finding}"));
        found.iter().map(|finding| finding.rule).collect()
    };
    let none: [&str; 0] = [];
    assert_eq!(rules("/key/repeat/retention", Some(&report)), none);
    assert_eq!(rules("/key/repeat/retention", None), ["report_missing"]);
    assert_eq!(rules("/key/repeat", Some(&report)), ["report_unsupported"]);
    assert_eq!(rules("/processing", Some(&report)), ["report_unsupported"]);
    assert_eq!(rules("/key/repeat", Some(&other)), ["report_unsupported"]);
    assert_eq!(
        rules("/key/repeat", Some("probe = 1\nx = 2\n")),
        ["probe_report"]
    );
}

#[test]
fn a_report_may_stand_in_a_folder_of_contracts() {
    let report = probed(&plain(), &[]).to_toml();
    let mut catalogue = factum_contract::Catalogue::builtin();
    let before = catalogue.operations("testbed").count();
    let files = [("contracts/testbed/a.probe.toml", report.as_str())];
    catalogue.load_overrides(files).unwrap();
    assert_eq!(catalogue.operations("testbed").count(), before);
}

#[test]
fn examples_give_the_content() {
    let content = builtin("stripe", "charge.create").probe_content();
    assert_eq!(
        content.payload.as_deref(),
        Some(&br#"{"amount":500,"currency":"eur","source":"tok_1"}"#[..])
    );
    assert_ne!(content.other, content.payload);
    assert!(content.other.is_some());
}

/// Whatever is in the catalogue can be planned with its own examples, and nothing panics on a destination that knows nothing.
#[test]
fn every_contract_of_the_catalogue_can_be_probed() {
    let catalogue = factum_contract::Catalogue::builtin();
    let mut planned = 0;
    for provider in catalogue.providers() {
        for contract in catalogue.operations(provider) {
            let content = contract.probe_content();
            let Some(payload) = content.payload else {
                continue;
            };
            let setup = Setup {
                params: content.params,
                payload,
                other: content.other,
                refused: content.refused,
                ..setup()
            };
            let Ok(mut probe) = Probe::new(contract, setup) else {
                continue;
            };
            planned += 1;
            let report = drive(&mut probe, Far::new(contract, &[Lie::Silent]));
            assert_eq!(report.with(Verdict::DidNotHold).count(), 0, "{report:#?}");
        }
    }
    assert!(planned > 60, "{planned}");
}

/// A natural key is part of the content: without a word that differs it is tried once.
#[test]
fn a_key_that_the_content_gives_needs_content_that_differs() {
    let text = r#"
provider = "acme"
operation = "contact.create"
title = "t"
consequence = "costly"
[effect]
path = "/contacts"
[key]
place = { given = ["/email"] }
role = "resource_id"
[key.repeat]
retention = "unbounded"
stored = { success = true, refusals = false, errors = false }
replays = "conflict"
source = { person = "ana", date = "2026-11-29" }
[[answers]]
when = { status = 201 }
class = "done"
receipt = { json = "/id" }
same = [{ sent = "/email", got = "/email" }]
"#;
    let contract = contract(text);
    let plan = |payload: &str| {
        let setup = Setup {
            payload: payload.as_bytes().to_vec(),
            other: None,
            refused: None,
            ..setup()
        };
        Probe::new(&contract, setup).unwrap().plan()
    };
    let tried = |rows: Vec<factum_contract::probe::PlanRow>| {
        rows.iter().filter(|row| row.skipped.is_none()).count()
    };
    assert_eq!(tried(plan(r#"{"email":"a@example.org"}"#)), 1);
    assert!(tried(plan(r#"{"email":"{unique}@example.org"}"#)) > 3);
}
