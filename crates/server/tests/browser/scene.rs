//! A server on a testbed that loses answers, with its console open to browsers. Effects are counted in the testbed's ledger.

use std::net::SocketAddr;
use std::time::Duration;

use factum::statements::Reader;
use factum::{Ask, Caller, Config, Factum, Submission};
use factum_faults::FaultPlan;
use factum_server::App;
use factum_testbed::{Config as TestbedConfig, Filter, Handle, Testbed};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// The token of the installation.
pub(crate) const TOKEN: &str = "sesame-4f1c";

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Scene {
    pub(crate) address: SocketAddr,
    pub(crate) factum: Factum,
    testbed: Handle,
}

impl Scene {
    /// With these faults, and more configuration.
    pub(crate) async fn start(faults: &str, more: &str) -> Self {
        Self::within("", faults, more).await
    }

    /// The same, within these limits too.
    pub(crate) async fn within(limits: &str, faults: &str, more: &str) -> Self {
        let testbed = Testbed::start(TestbedConfig {
            faults: FaultPlan::parse(7, faults).expect("faults"),
            ..TestbedConfig::default()
        })
        .await
        .expect("a testbed");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        // Some of it names where browsers find the console.
        let more = more.replace("{console}", &format!("http://{address}"));
        let text = format!(
            "{more}\n[contact]\nsay = \"Please call 555-0100.\"\nwithin = \"1 d\"\n[destinations.helpdesk]\nprovider = \"testbed\"\nbase = \"{}\"\n\
             account = \"acme\"\nlimits = {{ send_wait = \"2 s\", answer_wait = \"1200 ms\", linger = \"100 ms\", skew = \"50 ms\", \
             pause_margin = \"1 s\", backoff = \"50 ms\", backoff_max = \"1 s\"{limits} }}\ngate = {{ circuit_failures = 0 }}\n\
             operations.\"key.sync\".approval = {{ required = \"always\" }}\n",
            testbed.base_url()
        );
        let config = Config::parse("factum.toml", &text).expect("a right configuration");
        let factum = Factum::memory()
            .config(config)
            .start()
            .await
            .expect("the engine starts");
        let app = App::new(factum.clone(), [TOKEN.to_owned()]);
        tokio::spawn(factum_server::serve(listener, app, std::future::pending()));
        Self {
            address,
            factum,
            testbed,
        }
    }

    pub(crate) fn at(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Submits one effect, and waits until nothing more happens by itself; gives its id.
    pub(crate) async fn rested(&self, operation: &str, name: &str, summary: &str) -> String {
        let wish = json!({
            "destination": "helpdesk", "operation": operation, "key": format!("order/{name}"), "payload": {"business": name},
            "summary": summary, "conversation": {"id": "conv-91", "turn": 14, "asked": "please open a ticket"},
        });
        self.rested_as(&wish).await
    }

    /// The same, as it is written.
    pub(crate) async fn rested_as(&self, wish: &Value) -> String {
        let submission = Submission::from_json(&wish.to_string()).expect("a submission");
        let submitted = self
            .factum
            .submit(submission)
            .await
            .expect("it is recorded");
        let id: factum::ActionId = submitted.status.id.parse().expect("an id");
        let status = self
            .factum
            .wait_status(id, PATIENCE)
            .await
            .expect("it is read");
        assert!(status.rests(), "{status:?}");
        status.id
    }

    /// Proposes an effect, as an agent.
    pub(crate) async fn proposed(&self, name: &str, summary: &str) -> String {
        self.proposed_as(&proposal(name, name, summary), Ask::default())
            .await
    }

    /// Puts another content in a proposal's place.
    pub(crate) async fn superseded(&self, first: &str, name: &str, summary: &str) -> String {
        let ask = Ask {
            supersedes: Some(first.parse().expect("an id")),
            ..Ask::default()
        };
        let wish = proposal(name, &format!("{name}, and more"), summary);
        self.proposed_as(&wish, ask).await
    }

    /// The same, as it is written.
    pub(crate) async fn proposed_as(&self, wish: &Value, ask: Ask) -> String {
        let agent = Caller::trusted("default", "agent:desk");
        let submission = Submission::from_json(&wish.to_string()).expect("a submission");
        let asked = self
            .factum
            .propose_for(submission, &agent, ask, Reader::default());
        asked.await.expect("it is recorded").proposal.proposal.id
    }

    /// Effects of this name that exist at the destination, and requests that arrived there.
    pub(crate) fn effects(&self, name: &str) -> (u64, u64) {
        let counts = self.testbed.ledger().counts(&Filter::business(name));
        (counts.effects_of(name), counts.deliveries_of(name))
    }

    /// Waits until so many requests have arrived.
    pub(crate) async fn arrived(&self, name: &str, wanted: u64) {
        let enough = |counts: &factum_testbed::Counts| counts.deliveries_of(name) >= wanted;
        let (ledger, filter) = (self.testbed.ledger(), Filter::business(name));
        let waited = tokio::time::timeout(PATIENCE, ledger.wait_until(&filter, enough));
        waited.await.expect("it arrives");
    }

    pub(crate) async fn state(&self, id: &str) -> String {
        let id: factum::ActionId = id.parse().expect("an id");
        let status = self.factum.status(id).await.expect("it is read");
        status.state.to_owned()
    }

    /// The destination's own list of what exists there, as a person exports it: its number, our reference, and what it is about.
    pub(crate) fn export(&self) -> String {
        let rows = self.testbed.ledger().rows(&Filter::default());
        let mut lines: Vec<String> = rows
            .into_iter()
            .filter_map(|row| Some(format!("{};{};{}", row.id?, row.reference?, row.business)))
            .collect();
        lines.sort();
        lines.dedup();
        format!("Ticket;External reference;Subject\n{}\n", lines.join("\n"))
    }

    /// Requests that arrived in all.
    pub(crate) fn deliveries(&self) -> u64 {
        let counts = self.testbed.ledger().counts(&Filter::default());
        counts.deliveries
    }

    /// Waits until an action stands so.
    pub(crate) async fn comes_to(&self, id: &str, wanted: &str) {
        let until = tokio::time::Instant::now() + PATIENCE;
        loop {
            let state = self.state(id).await;
            if state == wanted {
                return;
            }
            assert!(tokio::time::Instant::now() < until, "{id} stays {state}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Makes a principal with a token.
    pub(crate) async fn token(
        &self,
        principal: &str,
        scopes: &[factum::directory::Scope],
    ) -> String {
        use factum::directory::TokenEntry;
        let reason = factum::Reason {
            by: "admin",
            why: "for a test",
        };
        let make = |hash: String| {
            let (principal, scopes) = (principal.to_owned(), scopes.to_vec());
            TokenEntry::new(None, principal, None, scopes, hash, None, None)
        };
        let made = self
            .factum
            .engine()
            .add_token("default", make, reason)
            .await;
        made.expect("a token").1
    }

    /// Something of each kind that is set.
    pub(crate) async fn furnish_settings(&self) {
        use factum::directory::{GrantEntry, PrincipalEntry};
        let engine = self.factum.engine();
        let reason = |why| factum::Reason { by: "admin", why };
        let ana = PrincipalEntry::new(Some("Ana of the support desk".to_owned()), None).text();
        let key = factum::EntryKey::new(factum::Kind::Principal, "default", "ana");
        let added = engine
            .add_entry(key, ana, reason("she joined the desk"))
            .await;
        added.expect("it is added");
        let grant = GrantEntry::new(
            Some("The agent answers at night".to_owned()),
            "ana".to_owned(),
            vec!["user:ben".to_owned()],
            vec!["helpdesk".to_owned()],
            Vec::new(),
            None,
            factum::directory::Limits::default(),
        );
        let key = factum::EntryKey::new(factum::Kind::Grant, "default", "nights");
        let added = engine
            .add_entry(key, grant.text(), reason("a trial until spring"))
            .await;
        added.expect("it is added");
        self.token("ana", &[factum::directory::Scope::Review]).await;
    }

    /// Ends everybody's sessions, as their time would.
    pub(crate) async fn end_sessions(&self) {
        let filter = factum::EntryFilter::of(factum::Kind::Session);
        let engine = self.factum.engine();
        for entry in engine.entries(filter).await.expect("they are read") {
            let ended = engine.close_session(&entry.key.id, "by a test").await;
            ended.expect("it ends");
        }
    }
}

fn proposal(name: &str, business: &str, summary: &str) -> Value {
    json!({
        "destination": "helpdesk", "operation": "key.sync", "key": format!("order/{name}"), "payload": {"business": business},
        "summary": summary,
    })
}
