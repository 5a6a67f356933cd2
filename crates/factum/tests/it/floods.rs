//! More than a destination takes at a time, and as large as a submission may be (cases, group Q).

use std::collections::BTreeSet;

use factum::Factum;
use factum_faults::FaultPlan;
use factum_testbed::{Config as TestbedConfig, Filter, Testbed};
use serde_json::json;

use crate::support::{Rig, config};

/// What may be in flight at once; ten times as many actions come at once.
const IN_FLIGHT: u32 = 4;

/// B193: payloads at the size limit, ten times the load, and every first answer comes too late. Each has one effect, every repeat
/// carries the same key, and attempts are counted as they were made.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_payloads_under_load_are_repeated_under_one_key() {
    let faults = FaultPlan::parse(7, "late_answer=20000,class=effect,n=1,per=reference").unwrap();
    let testbed = Testbed::start(TestbedConfig {
        faults,
        ..TestbedConfig::default()
    })
    .await
    .unwrap();
    let mut config = config(&testbed.base_url(), "");
    let bed = config.destinations.get_mut("bed").unwrap();
    bed.gate.in_flight_max = Some(IN_FLIGHT);
    let filler = "x".repeat(config.server.body_max_bytes - 512);
    let factum = Factum::memory().config(config).start().await.unwrap();
    let rig = Rig { testbed, factum };
    let mut ids = Vec::new();
    for n in 0..10 * IN_FLIGHT {
        let business = format!("large-{n}");
        let payload = json!({"business": business, "filler": filler});
        ids.push((
            rig.submit_payload("key.sync", &business, payload).await,
            business,
        ));
    }
    for (id, business) in ids {
        let status = rig.rested(id).await;
        assert_eq!(status.state, "succeeded", "{status:?}");
        assert_eq!(rig.effects(&business), 1, "{business}");
        let rows = rig.testbed.ledger().rows(&Filter::business(&business));
        let keys: BTreeSet<_> = rows.iter().map(|row| row.key.clone()).collect();
        assert!(rows.len() >= 2, "its first answer was lost: {rows:?}");
        assert!(
            keys.len() == 1 && !keys.contains(&None),
            "{business}: {keys:?}"
        );
        assert_eq!(rig.deliveries(&business), u64::from(status.attempts));
    }
}
