//! Runs the application as a reader would: against a testbed that loses answers, twice on the same folder.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod postgres;

use std::path::Path;
use std::process::Output;

use factum_faults::FaultPlan;
use factum_testbed::{Config, Filter, Testbed};

const CHANGELOG: &str = "# Changelog\n\n## [Unreleased]\n- not approved\n\n## [0.2.0] - 2026-12-01\n- second\n\n## [0.1.0] - 2026-11-29\n- first\n";

async fn run(testbed: &str, folder: &Path) -> Output {
    run_on(testbed, folder, None).await
}

async fn run_on(testbed: &str, folder: &Path, database: Option<&str>) -> Output {
    let changelog = folder.join("CHANGELOG.md");
    std::fs::write(&changelog, CHANGELOG).unwrap();
    tokio::process::Command::new(env!("CARGO_BIN_EXE_release-desk"))
        .args([
            testbed.as_ref(),
            changelog.as_os_str(),
            folder.join("data").as_os_str(),
        ])
        .args(database)
        .output()
        .await
        .unwrap()
}

fn last_line_of(output: &Output, version: &str) -> String {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    text.lines()
        .rfind(|line| line.starts_with(version))
        .unwrap_or_else(|| panic!("no line for {version}: {text}"))
        .to_owned()
}

#[tokio::test]
async fn approved_releases_are_announced_once_whoever_runs_it_again() {
    let folder = tempfile::tempdir().unwrap();
    let testbed = Testbed::start(Config::default()).await.unwrap();
    for _ in 0..2 {
        let output = run(&testbed.base_url(), folder.path()).await;
        for version in ["0.1.0", "0.2.0"] {
            assert!(
                last_line_of(&output, version).contains("published; announced as T-"),
                "{output:?}"
            );
        }
    }
    let counts = testbed.ledger().counts(&Filter::default());
    assert_eq!((counts.total_effects, counts.deliveries), (2, 2));
    testbed.shutdown().await;
}

#[tokio::test]
async fn a_lost_answer_is_said_to_be_unknown_until_the_search_shows_it() {
    let folder = tempfile::tempdir().unwrap();
    let plan = FaultPlan::parse(1, "close_fin,class=effect,per=reference,times=1").unwrap();
    let testbed = Testbed::start(Config {
        faults: plan,
        ..Config::default()
    })
    .await
    .unwrap();
    let output = run(&testbed.base_url(), folder.path()).await;
    assert!(
        last_line_of(&output, "0.1.0").contains("published; announced as T-"),
        "{output:?}"
    );
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("0.1.0: published; whether it was announced is being checked"),
        "{text}"
    );
    assert_eq!(testbed.ledger().counts(&Filter::default()).duplicates, 0);
    assert_eq!(testbed.ledger().counts(&Filter::default()).total_effects, 2);
    testbed.shutdown().await;
}
