//! Runs the application as a reader would: against a testbed, one that loses answers too, and twice on the same folder.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::Path;

use factum_faults::FaultPlan;
use factum_testbed::{Config, Filter, Handle, Testbed};
use support_desk::script;

async fn run(testbed: &str, folder: &Path) -> String {
    let output = tokio::process::Command::new(env!("CARGO_BIN_EXE_support-desk"))
        .args([testbed.as_ref(), folder.as_os_str()])
        .output()
        .await
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

fn each_turn_is_held_once(testbed: &Handle) {
    for turn in script() {
        let held = testbed
            .ledger()
            .counts(&Filter::business(&turn.ticket.key))
            .total_effects;
        assert_eq!(held, 1, "{}", turn.ticket.key);
    }
}

// A double click is one ticket; the same words at another turn are a second ticket.
#[tokio::test]
async fn each_turn_opens_one_ticket_and_a_second_run_opens_none() {
    let folder = tempfile::tempdir().unwrap();
    let testbed = Testbed::start(Config::default()).await.unwrap();
    let text = run(&testbed.base_url(), folder.path()).await;
    assert!(text.contains("bot: Done. The reference is T-"), "{text}");
    each_turn_is_held_once(&testbed);
    run(&testbed.base_url(), folder.path()).await;
    each_turn_is_held_once(&testbed);
    assert_eq!(
        testbed.ledger().counts(&Filter::default()).deliveries,
        script().len() as u64
    );
    testbed.shutdown().await;
}

#[tokio::test]
async fn while_an_answer_is_lost_the_bot_claims_neither_done_nor_failed() {
    let folder = tempfile::tempdir().unwrap();
    let plan = FaultPlan::parse(1, "close_rst,class=effect,per=reference,times=1").unwrap();
    let testbed = Testbed::start(Config {
        faults: plan,
        ..Config::default()
    })
    .await
    .unwrap();
    let text = run(&testbed.base_url(), folder.path()).await;
    assert!(
        text.contains("bot: It is not known yet whether it went through. This is being checked."),
        "{text}"
    );
    assert!(!text.contains("not done"), "{text}");
    for line in text.lines().filter(|line| line.contains("bot: Done.")) {
        assert!(line.contains("1 ticket]"), "{line}");
    }
    each_turn_is_held_once(&testbed);
    testbed.shutdown().await;
}
