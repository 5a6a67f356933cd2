//! What a contract says is acted on, for the very request that it is said of.

use factum_faults::FaultPlan;
use factum_testbed::{Config as TestbedConfig, Filter, Testbed};
use serde_json::json;

use crate::support::{PATIENCE, config};
use factum::Factum;

/// A folder of contracts for the testbed: file, text, what stands there, and what stands in its place.
fn contracts(changed: &[(&str, &str, &str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("testbed");
    std::fs::create_dir(&own).unwrap();
    for (file, text, was, is) in changed {
        let written = text.replace(was, is);
        assert_ne!(*text, written, "{file}");
        std::fs::write(own.join(file), written).unwrap();
    }
    folder
}

/// R4, B79: a destination that keeps no key for large bodies. The small request is sent again by its key, the large one is not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_escape_clause_takes_the_window_from_the_request_that_it_speaks_of() {
    let folder = contracts(&[(
        "key.sync.toml",
        include_str!("../../../../contracts/testbed/key.sync.toml"),
        "retention = { floor = \"24 h\" }",
        "retention = { floor = \"24 h\" }\nescapes = [{ body_over = 400 }]",
    )]);

    let faults = FaultPlan::parse(7, "close_fin,class=effect,n=1,per=reference").unwrap();
    let testbed = Testbed::start(TestbedConfig {
        faults,
        ..TestbedConfig::default()
    })
    .await
    .unwrap();
    let mut written = config(&testbed.base_url(), "");
    written.contracts = Some(folder.path().to_owned());
    let factum = Factum::memory().config(written).start().await.unwrap();
    for (business, filler, state, deliveries) in [
        ("small", 10, "succeeded", 2),
        ("large", 500, "outcome_unknown", 1),
    ] {
        let payload = json!({ "business": business, "filler": "x".repeat(filler) });
        let submitted = factum
            .action("bed", "key.sync")
            .key(business)
            .payload(payload)
            .submit()
            .await
            .unwrap();
        let id: factum::ActionId = submitted.status.id.parse().unwrap();
        let status = factum.wait_status(id, PATIENCE).await.unwrap();
        assert_eq!(
            status.state,
            state,
            "{business}: {:?}",
            factum.evidence(id).await
        );
        let counts = testbed.ledger().counts(&Filter::business(business));
        assert_eq!(
            (counts.effects_of(business), counts.deliveries_of(business)),
            (1, deliveries),
            "{business}"
        );
    }
}

/// R14: what is harmless is repeated after a lost answer, unless a later action on the same subject was recorded meanwhile: then
/// its repeat would undo newer work, and a person decides.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_harmless_effect_is_not_repeated_over_newer_work_on_its_subject() {
    let folder = contracts(&[(
        "neither.sync.toml",
        include_str!("../../../../contracts/testbed/neither.sync.toml"),
        "consequence = \"costly\"",
        "consequence = \"harmless\"\n\
         claims = [{ about = \"/consequence\", person = \"the testbed's own code\", date = \"2026-11-29\" }]",
    )]);
    for (subject, state, deliveries) in [
        ("ticket/77", "outcome_unknown", 1),
        ("ticket/78", "succeeded", 2),
    ] {
        let faults = FaultPlan::parse(7, "delayed_commit=1500,class=effect,n=1").unwrap();
        let testbed = Testbed::start(TestbedConfig {
            faults,
            ..TestbedConfig::default()
        })
        .await
        .unwrap();
        let mut written = config(&testbed.base_url(), "");
        written.contracts = Some(folder.path().to_owned());
        let factum = Factum::memory().config(written).start().await.unwrap();
        // The first answer comes later than is waited for, and sends are held meanwhile: the later action is recorded before any
        // repeat.
        let mut changes = factum.engine().changes();
        let first = submit(&factum, "first", "ticket/77").await;
        loop {
            let change = changes.recv().await.unwrap();
            if change.action == first && change.state == factum::State::Dispatching {
                break;
            }
        }
        factum.engine().set_paused(true, "test").await.unwrap();
        let second = submit(&factum, "second", subject).await;
        factum.engine().set_paused(false, "test").await.unwrap();
        let status = factum.wait_status(first, PATIENCE).await.unwrap();
        assert_eq!(status.state, state, "{:?}", factum.evidence(first).await);
        assert_eq!(status.subject.as_deref(), Some("ticket/77"));
        let newer = factum.wait_status(second, PATIENCE).await.unwrap();
        assert_eq!(newer.state, "succeeded");
        let counts = testbed.ledger().counts(&Filter::default());
        assert_eq!(
            (
                counts.deliveries_of("first"),
                counts.deliveries_of("second")
            ),
            (deliveries, 1)
        );
    }
}

async fn submit(factum: &Factum, key: &str, subject: &str) -> factum::ActionId {
    let submitted = factum
        .action("bed", "neither.sync")
        .key(key)
        .subject(subject)
        .payload(json!({ "business": key }))
        .submit()
        .await
        .unwrap();
    submitted.status.id.parse().unwrap()
}
