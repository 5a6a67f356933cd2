//! A testbed and an engine on it, for one test.

use std::time::Duration;

use factum::statements::Reader;
use factum::view::StatusView;
use factum::{ActionId, Ask, Caller, Config, Decision, Factum, Submission};
use factum_faults::FaultPlan;
use factum_testbed::{Config as TestbedConfig, Filter, Handle, Testbed};
use serde_json::json;

/// Long enough for anything that these tests wait for; none of them waits this long when it passes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A testbed and an engine on it.
pub(crate) struct Rig {
    pub(crate) testbed: Handle,
    pub(crate) factum: Factum,
}

/// Short limits, so that lost answers settle soon: late answers come later than `answer_wait`.
pub(crate) fn config(base: &str, more: &str) -> Config {
    let text = format!(
        r#"
        [contact]
        say = "call 555"

        [destinations.bed]
        provider = "testbed"
        base = "{base}"
        account = "testbed"

        [destinations.bed.limits]
        send_wait = "2 s"
        answer_wait = "1200 ms"
        linger = "100 ms"
        skew = "50 ms"
        pause_margin = "1 s"
        backoff = "50 ms"
        backoff_max = "1 s"

        [destinations.bed.gate]
        circuit_failures = 0

        {more}
        "#
    );
    Config::parse("test.toml", &text).unwrap()
}

/// The operation `key.sync` asks for an approval.
pub(crate) const APPROVED: &str =
    "[destinations.bed.operations.\"key.sync\".approval]\nrequired = \"always\"";

/// Proposes an effect as an agent and approves it as somebody else; gives the action.
pub(crate) async fn approve(factum: &Factum, key: &str, business: &str) -> ActionId {
    let (agent, boss) = (
        Caller::trusted("default", "agent"),
        Caller::trusted("default", "boss"),
    );
    let body = serde_json::json!({
        "destination": "bed", "operation": "key.sync", "key": key, "for": "admin", "payload": {"business": business},
    });
    let submission = Submission::from_json(&body.to_string()).unwrap();
    let reader = Reader::default();
    let asked = factum.propose_for(submission, &agent, Ask::default(), reader);
    let proposal = asked.await.unwrap().proposal.proposal;
    let decision = Decision {
        digest: &proposal.digest,
        why: None,
        until: None,
    };
    let id = proposal.id.parse().unwrap();
    let approved = factum.approve(&boss, id, decision, reader).await.unwrap();
    approved.action.unwrap().id.parse().unwrap()
}

impl Rig {
    /// With these faults, in the testbed's rule grammar.
    pub(crate) async fn start(faults: &str) -> Self {
        Self::start_with(faults, "").await
    }

    /// The same, with more configuration.
    pub(crate) async fn start_with(faults: &str, more: &str) -> Self {
        let faults = FaultPlan::parse(7, faults).unwrap();
        let testbed = Testbed::start(TestbedConfig {
            faults,
            ..TestbedConfig::default()
        })
        .await
        .unwrap();
        let factum = Factum::memory()
            .config(config(&testbed.base_url(), more))
            .start()
            .await
            .unwrap();
        Self { testbed, factum }
    }

    /// Submits one effect under its business reference as key.
    pub(crate) async fn submit(&self, operation: &str, business: &str) -> ActionId {
        self.submit_payload(operation, business, json!({ "business": business }))
            .await
    }

    /// The same, with this payload.
    pub(crate) async fn submit_payload(
        &self,
        operation: &str,
        key: &str,
        payload: serde_json::Value,
    ) -> ActionId {
        let submitted = self
            .factum
            .action("bed", operation)
            .key(key)
            .payload(payload)
            .submit()
            .await
            .unwrap();
        submitted.status.id.parse().unwrap()
    }

    /// How the action stands once nothing more happens by itself.
    pub(crate) async fn rested(&self, id: ActionId) -> StatusView {
        let status = self.factum.wait_status(id, PATIENCE).await.unwrap();
        assert!(status.rests(), "still going on: {status:?}");
        status
    }

    /// Effects of this business reference that exist at the destination.
    pub(crate) fn effects(&self, business: &str) -> u64 {
        self.testbed
            .ledger()
            .counts(&Filter::business(business))
            .effects_of(business)
    }

    /// Requests of this business reference that the destination received.
    pub(crate) fn deliveries(&self, business: &str) -> u64 {
        self.testbed
            .ledger()
            .counts(&Filter::business(business))
            .deliveries_of(business)
    }

    /// The kinds of facts recorded about an action, in order.
    pub(crate) async fn facts(&self, id: ActionId) -> Vec<&'static str> {
        self.factum
            .evidence(id)
            .await
            .unwrap()
            .iter()
            .map(|evidence| evidence.fact)
            .collect()
    }
}
