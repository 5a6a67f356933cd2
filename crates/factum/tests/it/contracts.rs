//! What a contract says is acted on, for the very request that it is said of.

use factum_faults::FaultPlan;
use factum_testbed::{Config as TestbedConfig, Filter, Testbed};
use serde_json::json;

use crate::support::{PATIENCE, config};
use factum::Factum;

/// R4, B79: a destination that keeps no key for large bodies. The small request is sent again by its key, the large one is not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_escape_clause_takes_the_window_from_the_request_that_it_speaks_of() {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("testbed");
    std::fs::create_dir(&own).unwrap();
    let text = include_str!("../../../../contracts/testbed/key.sync.toml");
    let escaping = text.replace(
        "retention = { floor = \"24 h\" }",
        "retention = { floor = \"24 h\" }\nescapes = [{ body_over = 400 }]",
    );
    assert_ne!(text, escaping);
    std::fs::write(own.join("key.sync.toml"), escaping).unwrap();

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
