//! An engine whose one operation asks for approvals, at a place that counts.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use factum_contract::Catalogue;
use factum_core::evidence::Receipt;
use factum_core::promise::Consequence;
use factum_core::{Limits, Permission, Preference, Promises, Span, Timestamp};
use factum_engine::approval::{ApprovalPolicy, Required};
use factum_engine::directory::{PrincipalEntry, Scope, Standing, TenantEntry};
use factum_engine::driver::gate::GateSettings;
use factum_engine::proposal::Proposal;
use factum_engine::retention::Retention;
use factum_engine::{
    Ask, Caller, Carried, CarriedRequest, Code, Decision, Destination, Engine, Keys, Operation,
    OperationContract, Options, Proposed, Reach, Reason, Submission,
};
use factum_store::{EntryKey, Kind, MemoryStore, Store};
use factum_transport::HttpTransport;

/// Longer than anything here takes.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

pub(super) const REASON: Reason<'_> = Reason {
    by: "root",
    why: "the test says so",
};

/// How the place is configured.
#[derive(Clone, Debug)]
pub(super) struct Site {
    pub(super) account: Option<String>,
    /// Which edition of the contract, so that it has another digest.
    pub(super) contract: u32,
}

impl Default for Site {
    fn default() -> Self {
        Self {
            account: Some("ours".to_owned()),
            contract: 1,
        }
    }
}

/// A store, a clock, and the effects at the place: by payload, the edition of the contract that each was sent under.
pub(super) struct World {
    policy: ApprovalPolicy,
    store: Arc<MemoryStore>,
    clock: Arc<AtomicI64>,
    effects: Arc<Mutex<BTreeMap<String, Vec<u32>>>>,
}

impl World {
    pub(super) fn new(policy: ApprovalPolicy) -> Self {
        let clock = Arc::new(AtomicI64::new(1_800_000_000_000_000));
        let reading = clock.clone();
        let store = MemoryStore::new(Arc::new(move || {
            Timestamp::from_micros(reading.load(Ordering::SeqCst))
        }));
        Self {
            policy,
            store: Arc::new(store),
            clock,
            effects: Arc::default(),
        }
    }

    pub(super) async fn start(&self) -> Engine {
        self.start_at(Site::default()).await
    }

    pub(super) async fn start_at(&self, site: Site) -> Engine {
        let names = ["place", "acme/place"];
        let options = Options {
            store: self.store.clone(),
            transport: Box::new(|clock| Arc::new(HttpTransport::new(clock))),
            keys: Keys::new([7; 32]),
            destinations: names
                .iter()
                .map(|name| ((*name).to_owned(), self.destination(name, &site)))
                .collect(),
            unsettled_max: 1_000,
            held_max: 8,
            former_workers_gone_at: None,
            restore_grace: Span::ZERO,
            retention: Retention::default(),
            clock_in_doubt: false,
        };
        Engine::start(options).await.unwrap()
    }

    fn destination(&self, name: &str, site: &Site) -> Destination {
        let (effects, edition) = (self.effects.clone(), site.contract);
        let carrier = move |_: Permission, request: CarriedRequest| {
            let payload = request.payload.split('"').nth(3).unwrap();
            let mut effects = effects.lock().unwrap();
            effects.entry(payload.to_owned()).or_default().push(edition);
            std::future::ready(Carried::Done(Receipt::new("C-1".to_owned())))
        };
        let operation = Operation {
            twin_guard: None,
            contract: Some(contract(site.contract)),
            promises: Promises::none(Consequence::Costly),
            preference: Preference::Ask,
            finish: false,
            key_template: None,
            approval: Some(self.policy.clone()),
            limits: Limits::default(),
            by_workers: None,
            two_persons: false,
        };
        Destination {
            name: name.to_owned(),
            provider: "own code".to_owned(),
            account: site.account.clone(),
            reach: Reach::InProcess(Arc::new(carrier)),
            operations: BTreeMap::from([("do".to_owned(), operation)]),
            any_operation: None,
            gate: GateSettings::default(),
            sandbox: false,
            callback_secrets: Vec::new(),
        }
    }

    pub(super) fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.clock.load(Ordering::SeqCst))
    }

    pub(super) fn advance(&self, by: Span) {
        self.clock.fetch_add(by.as_micros(), Ordering::SeqCst);
    }

    /// The store is a copy of now, as everybody learns.
    pub(super) async fn restored(&self) {
        self.store.declare_restored(Some(self.now())).await.unwrap();
        self.store.release_restore("root".to_owned()).await.unwrap();
    }

    /// How many effects there were of this payload.
    pub(super) fn effects(&self, payload: &str) -> usize {
        self.all_effects().get(payload).map_or(0, Vec::len)
    }

    pub(super) fn all_effects(&self) -> BTreeMap<String, Vec<u32>> {
        self.effects.lock().unwrap().clone()
    }

    pub(super) async fn tenant(&self, engine: &Engine, name: &str) {
        let key = EntryKey::new(Kind::Tenant, name, name);
        engine
            .add_entry(key, TenantEntry::new(None).text(), REASON)
            .await
            .unwrap();
    }

    /// A principal counts, or does not, from now on.
    pub(super) async fn stand(&self, engine: &Engine, name: &str, standing: Standing) {
        let key = EntryKey::new(Kind::Principal, "default", name);
        let fresh = PrincipalEntry::new(None, None).text();
        if let Err(problem) = engine.add_entry(key.clone(), fresh, REASON).await {
            assert_eq!(problem.code, Code::NameTaken, "{problem}");
        }
        let changed = engine.change_entry(&key, REASON, |entry| {
            let mut body = PrincipalEntry::read(&entry.body).unwrap();
            body.standing = standing;
            Ok(Some(body.text()))
        });
        changed.await.unwrap();
    }
}

/// A contract of this edition: what was approved is pinned to its digest.
fn contract(edition: u32) -> OperationContract {
    let text = include_str!("../../../../../contracts/testbed/neither.sync.toml");
    let path = "testbed/neither.sync.toml";
    let title = format!("title = \"Edition {edition}. ");
    let edited = text.replace("title = \"", &title);
    let provider = include_str!("../../../../../contracts/testbed/provider.toml");
    let mut catalogue = Catalogue::default();
    let files = [("testbed/provider.toml", provider), (path, edited.as_str())];
    catalogue.load_overrides(files).unwrap();
    let contract = catalogue.get("testbed", "neither.sync").unwrap().clone();
    let kept = catalogue.kept_text("testbed", "neither.sync").unwrap();
    OperationContract {
        contract: Arc::new(contract),
        kept,
    }
}

/// Every submission needs one person who did not ask.
pub(super) fn always() -> ApprovalPolicy {
    ApprovalPolicy {
        required: Required::Always,
        own: false,
        ..ApprovalPolicy::default()
    }
}

pub(super) fn submission(key: &str, payload: &str) -> Submission {
    let text = format!(
        r#"{{"destination":"place","operation":"do","key":"{key}","payload":{{"business":"{payload}"}}}}"#
    );
    Submission::from_json(&text).unwrap()
}

/// Somebody who may submit and look.
pub(super) fn by(principal: &str) -> Caller {
    Caller {
        scopes: vec![Scope::Submit, Scope::Read],
        ..Caller::trusted("default", principal)
    }
}

/// Somebody who may approve.
pub(super) fn approver(principal: &str) -> Caller {
    Caller {
        scopes: vec![Scope::Approve],
        ..Caller::trusted("default", principal)
    }
}

/// A proposal of this principal.
pub(super) async fn propose(engine: &Engine, key: &str, payload: &str, who: &str) -> Proposed {
    let caller = by(who);
    let asked = engine.propose(submission(key, payload), &caller, Ask::default());
    asked.await.unwrap()
}

/// The decision to approve what this proposal shows.
pub(super) fn named(proposal: &Proposal) -> Decision<'_> {
    Decision {
        digest: &proposal.entry.digest,
        why: Some("it is right"),
        until: None,
    }
}
