//! A credential that changes may open another account (R13).

use std::path::{Path, PathBuf};

use factum_faults::FaultPlan;
use factum_testbed::{Config as TestbedConfig, Testbed};
use serde_json::json;

use crate::support::{PATIENCE, config};
use factum::Factum;

/// After a rotation the account is confirmed by the destination's own answer, and the key is used again. Where it names another
/// account, nothing is sent by key.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rotated_credential_has_its_account_confirmed_first() {
    // In the last row the account is confirmed, and its keys are known per device: to the destination ours is a new one.
    for (account, scope, sent_again) in [
        ("testbed", "endpoint", true),
        ("somebody-else", "endpoint", false),
        ("testbed", "device", false),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let secret = folder.path().join("token");
        std::fs::write(&secret, "one").unwrap();
        let faults = FaultPlan::parse(7, "close_after_read,class=effect,n=1").unwrap();
        let testbed = Testbed::start(TestbedConfig {
            faults,
            ..TestbedConfig::default()
        })
        .await
        .unwrap();
        let text = format!("auth = {{ bearer = \"file:{}\" }}", secret.display());
        let written = config(&testbed.base_url(), "");
        let mut written = written;
        written.contracts = Some(contracts_with(scope, folder.path()));
        let bed = written.destinations.get_mut("bed").unwrap();
        bed.account = Some(account.to_owned());
        bed.auth = Some(
            toml::from_str::<toml::Table>(&text).unwrap()["auth"]
                .clone()
                .try_into()
                .unwrap(),
        );
        let factum = Factum::memory().config(written).start().await.unwrap();
        std::fs::write(&secret, "two").unwrap();
        let action = factum
            .action("bed", "key.sync")
            .key("k")
            .payload(json!({ "business": "k" }));
        let id: factum::ActionId = action.submit().await.unwrap().status.id.parse().unwrap();
        let status = factum.wait_status(id, PATIENCE).await.unwrap();
        let deliveries = testbed
            .ledger()
            .counts(&factum_testbed::Filter::business("k"))
            .deliveries_of("k");
        if sent_again {
            assert_eq!(
                (status.state, deliveries),
                ("succeeded", 2),
                "{:?}",
                factum.evidence(id).await
            );
            assert!(factum.engine().accounts_in_doubt().is_empty());
        } else {
            assert_eq!(
                (status.state, status.next.step, deliveries),
                ("outcome_unknown", "review", 1)
            );
            let in_doubt = factum.engine().accounts_in_doubt().contains("bed");
            assert_eq!(in_doubt, scope == "endpoint");
        }
    }
}

/// The testbed's contracts, where a key is known within this scope.
fn contracts_with(scope: &str, folder: &Path) -> PathBuf {
    let own = folder.join("contracts");
    std::fs::create_dir_all(own.join("testbed")).unwrap();
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contracts/testbed");
    for file in ["provider.toml", "key.sync.toml"] {
        let text = std::fs::read_to_string(ours.join(file)).unwrap();
        let text = text.replace("scope = \"endpoint\"", &format!("scope = \"{scope}\""));
        std::fs::write(own.join("testbed").join(file), text).unwrap();
    }
    own
}
