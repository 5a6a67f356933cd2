//! Authority over several engines and tenants: an end holds on every worker, and no interleaving crosses or does anything twice. Effects
//! are counted by the carriers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use factum_core::evidence::{Receipt, Ruling};
use factum_core::promise::{Consequence, ProcessingMax};
use factum_core::{ActionId, Bound, Fact, Limits, Permission, Preference, Promises, Span, State};
use factum_engine::directory::{DestinationEntry, PrincipalEntry, Standing, TenantEntry};
use factum_engine::driver::gate::GateSettings;
use factum_engine::proposal::Proposal;
use factum_engine::retention::Retention;
use factum_engine::{
    Ask, Caller, Carried, CarriedRequest, Code, Decision, Destination, Engine, Keys, Operation,
    Options, Problem, Reach, Reason, Submission,
};
use factum_store::{EntryKey, Kind, MemoryStore, Store, system_clock};
use factum_transport::HttpTransport;
use proptest::prelude::*;

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// Nothing can land any more so soon after it was sent that all that is going to settle does while a case is watched.
fn soon() -> Limits {
    let short = Span::from_millis(20);
    Limits {
        send_wait: short,
        answer_wait: short,
        bound: Bound {
            write_limit: short,
            linger: short,
            pause_margin: short,
            skew: short,
        },
        ..Limits::default()
    }
}

const REASON: Reason<'_> = Reason {
    by: "ana",
    why: "the test says so",
};

/// Effects by the destination that had them, and the payload that they came with.
type Ledger = Arc<Mutex<BTreeMap<(String, String), u32>>>;

fn destination(name: &str, ledger: &Ledger) -> Destination {
    let (place, ledger) = (name.to_owned(), ledger.clone());
    let carrier = move |_: Permission, request: CarriedRequest| {
        let counted = (place.clone(), request.payload.clone());
        *ledger.lock().unwrap().entry(counted).or_default() += 1;
        std::future::ready(if request.payload.contains("lose") {
            Carried::Unknown("the answer was lost".to_owned())
        } else {
            Carried::Done(Receipt::new("C-1".to_owned()))
        })
    };
    let operation = Operation {
        contract: None,
        promises: Promises {
            processing_max: ProcessingMax::Stated(Span::from_millis(20)),
            ..Promises::none(Consequence::Costly)
        },
        preference: Preference::Ask,
        finish: false,
        key_template: None,
        approval: None,
        twin_guard: None,
        limits: soon(),
        by_workers: None,
        two_persons: false,
    };
    Destination {
        name: name.to_owned(),
        provider: "own code".to_owned(),
        account: None,
        reach: Reach::InProcess(Arc::new(carrier)),
        operations: BTreeMap::from([("do".to_owned(), operation)]),
        any_operation: None,
        gate: GateSettings::default(),
        sandbox: false,
        callback_secrets: Vec::new(),
    }
}

async fn start(store: &Arc<MemoryStore>, ledger: &Ledger) -> Engine {
    let names = ["place", "acme/place", "globex/place"];
    let options = Options {
        store: store.clone(),
        transport: Box::new(|clock| Arc::new(HttpTransport::new(clock))),
        keys: Keys::new([7; 32]),
        destinations: names
            .iter()
            .map(|name| ((*name).to_owned(), destination(name, ledger)))
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

fn memory() -> Arc<MemoryStore> {
    Arc::new(MemoryStore::new(system_clock()))
}

fn submission(key: &str, payload: &str) -> Submission {
    let text = format!(
        r#"{{"destination":"place","operation":"do","key":"{key}","payload":"{payload}"}}"#
    );
    Submission::from_json(&text).unwrap()
}

/// Law 9: another worker's revocation holds for a mark here, whatever this one still remembers.
#[tokio::test]
async fn a_revocation_at_another_worker_holds_before_the_next_send() {
    let (store, ledger) = (memory(), Ledger::default());
    let other = start(&store, &ledger).await;
    let key = EntryKey::new(Kind::Principal, "default", "agent");
    let body = PrincipalEntry::new(None, None).text();
    other.add_entry(key.clone(), body, REASON).await.unwrap();
    let ours = start(&store, &ledger).await;
    ours.set_paused(true, "ana").await.unwrap();
    let agent = Caller::trusted("default", "agent");
    let waits = ours.submit_as(submission("a", "x"), &agent).await.unwrap();
    let revoked = other.change_entry(&key, REASON, |entry| {
        let mut body = PrincipalEntry::read(&entry.body).unwrap();
        body.standing = Standing::Revoked;
        Ok(Some(body.text()))
    });
    revoked.await.unwrap();
    // From here on the answer to the revocation is there: nothing of the agent's may be sent or recorded.
    ours.set_paused(false, "ana").await.unwrap();
    let late = ours.submit_as(submission("b", "y"), &agent).await;
    assert_eq!(late.unwrap_err().code, Code::AuthorityEnded);
    let id = waits.record.id();
    let rested = ours.wait(id, PATIENCE).await.unwrap();
    assert_eq!(rested.status().state, State::Cancelled);
    let log = ours.evidence(id).await.unwrap();
    assert!(
        log.iter()
            .any(|one| matches!(one.fact, Fact::AuthorityLost { .. }))
    );
    assert!(ledger.lock().unwrap().is_empty(), "nothing was sent");
    let free = ours.submit(submission("c", "z"), "default", "admin").await;
    let free = ours
        .wait(free.unwrap().record.id(), PATIENCE)
        .await
        .unwrap();
    assert_eq!(free.status().state, State::Succeeded, "others go on");
}

/// What one of two tenants does.
#[derive(Clone, Debug)]
enum Does {
    /// Submits under one of a few keys, for the first time or again.
    Submit { key: u8 },
    /// The same as an event's effect.
    Event { id: u8 },
    /// Proposes what a key stands for, for the first time or again.
    Propose { key: u8 },
    /// Approves a proposal, its own or, by its id, the other's; twice at once.
    Approve { nth: u8, foreign: bool },
    /// Withdraws an action, its own or, by its id, the other's.
    Cancel { nth: u8, foreign: bool },
    /// Says that it happened, or did not.
    Rule {
        nth: u8,
        happened: bool,
        foreign: bool,
    },
    /// Whoever asks is suspended or resumed, or revoked for good.
    Who { standing: Standing },
    /// Everything of the tenant is suspended, or resumed.
    Tenant { active: bool },
    /// The destination is switched off, or on.
    Place { active: bool },
}

fn switched(active: bool) -> Standing {
    if active {
        Standing::Active
    } else {
        Standing::Suspended
    }
}

fn does() -> impl Strategy<Value = (bool, Does)> {
    let one = prop_oneof![
        4 => (0u8..4).prop_map(|key| Does::Submit { key }),
        2 => (0u8..3).prop_map(|id| Does::Event { id }),
        2 => (any::<u8>(), any::<bool>()).prop_map(|(nth, foreign)| Does::Cancel { nth, foreign }),
        2 => (any::<u8>(), any::<bool>(), any::<bool>())
            .prop_map(|(nth, happened, foreign)| Does::Rule { nth, happened, foreign }),
        2 => (0u8..4).prop_map(|key| Does::Propose { key }),
        3 => (any::<u8>(), any::<bool>()).prop_map(|(nth, foreign)| Does::Approve { nth, foreign }),
        1 => prop_oneof![
            3 => any::<bool>().prop_map(switched),
            1 => Just(Standing::Revoked),
        ].prop_map(|standing| Does::Who { standing }),
        1 => any::<bool>().prop_map(|active| Does::Tenant { active }),
        1 => any::<bool>().prop_map(|active| Does::Place { active }),
    ];
    (any::<bool>(), one)
}

/// Two tenants on one engine, and what each was answered.
struct Two {
    store: Arc<MemoryStore>,
    engine: Engine,
    /// What was proposed, by tenant.
    proposals: Vec<(&'static str, Proposal)>,
    ledger: Ledger,
    /// By tenant and identity: one identity, one action.
    actions: BTreeMap<(String, String), ActionId>,
}

impl Two {
    async fn start() -> Self {
        let ledger = Ledger::default();
        let store = memory();
        let engine = start(&store, &ledger).await;
        for tenant in ["acme", "globex"] {
            for (kind, name, body) in [
                (Kind::Tenant, tenant, TenantEntry::new(None).text()),
                (
                    Kind::Principal,
                    "boss",
                    PrincipalEntry::new(None, None).text(),
                ),
                (
                    Kind::Destination,
                    "place",
                    DestinationEntry::new(None).text(),
                ),
            ] {
                let key = EntryKey::new(kind, tenant, name);
                engine.add_entry(key, body, REASON).await.unwrap();
            }
        }
        Self {
            store,
            engine,
            proposals: Vec::new(),
            ledger,
            actions: BTreeMap::new(),
        }
    }

    /// The nth action of this tenant, or none.
    fn nth(&self, tenant: &str, nth: u8) -> Option<ActionId> {
        let own: Vec<ActionId> = (self.actions.iter())
            .filter(|((whose, _), _)| whose == tenant)
            .map(|(_, id)| *id)
            .collect();
        (!own.is_empty()).then(|| own[usize::from(nth) % own.len()])
    }

    async fn submit(&mut self, tenant: &str, identity: &str, text: &str) {
        let caller = Caller::trusted(tenant, "boss");
        let submission = Submission::from_json(text).unwrap();
        match self.engine.submit_as(submission, &caller).await {
            Ok(submitted) => {
                let id = submitted.record.id();
                let key = (tenant.to_owned(), identity.to_owned());
                let first = *self.actions.entry(key).or_insert(id);
                assert_eq!(first, id, "law 2: one identity, one action");
                assert_eq!(submitted.record.action.scope.tenant, tenant);
            }
            Err(problem) => assert_eq!(problem.code, Code::AuthorityEnded, "{problem}"),
        }
    }

    /// The id as an interface would take it: only what the caller may see.
    async fn seen(&self, tenant: &str, id: ActionId) -> Result<ActionId, Problem> {
        let caller = Caller::trusted(tenant, "boss");
        let seen = self.engine.load_for(&caller, id).await?;
        assert_eq!(seen.action.scope.tenant, tenant, "law 9");
        Ok(id)
    }

    async fn stand(&self, kind: Kind, tenant: &str, name: &str, standing: Standing) {
        let key = EntryKey::new(kind, tenant, name);
        let changed = self.engine.change_entry(&key, REASON, |entry| {
            Ok(Some(if kind == Kind::Tenant {
                let mut body = TenantEntry::read(&entry.body).unwrap();
                body.standing = standing;
                body.text()
            } else if kind == Kind::Principal {
                let mut body = PrincipalEntry::read(&entry.body).unwrap();
                if body.standing == Standing::Revoked {
                    return Ok(None);
                }
                body.standing = standing;
                body.text()
            } else {
                let mut body = DestinationEntry::read(&entry.body).unwrap();
                body.standing = standing;
                body.text()
            }))
        });
        changed.await.unwrap();
    }

    async fn propose(&mut self, tenant: &'static str, key: u8) {
        // Keys of their own: what was submitted without an approval needs none.
        let text = format!(
            r#"{{"destination":"place","operation":"do","key":"idea-{key}","payload":"{tenant} idea-{key} do"}}"#
        );
        let wish = Submission::from_json(&text).unwrap();
        let caller = Caller::trusted(tenant, "boss");
        match self.engine.propose(wish, &caller, Ask::default()).await {
            Ok(proposed) => self.proposals.push((tenant, proposed.proposal)),
            Err(problem) => assert!(
                matches!(problem.code, Code::AuthorityEnded | Code::ProposalClosed),
                "{problem}"
            ),
        }
    }

    async fn approve(&mut self, tenant: &'static str, whose: &str, nth: u8) {
        let own = self.proposals.iter().filter(|(other, _)| *other == whose);
        let own: Vec<Proposal> = own.map(|(_, proposal)| proposal.clone()).collect();
        if own.is_empty() {
            return;
        }
        let proposal = &own[usize::from(nth) % own.len()];
        let decision = || Decision {
            digest: &proposal.entry.digest,
            why: Some("it is right"),
            until: None,
        };
        let caller = Caller::trusted(tenant, "boss");
        let (one, two) = tokio::join!(
            self.engine.approve(&caller, proposal.id, decision()),
            self.engine.approve(&caller, proposal.id, decision()),
        );
        let created = [&one, &two].map(|one| one.as_ref().is_ok_and(|one| one.created));
        assert!(created != [true, true], "two approvals, two actions");
        for decided in [one, two] {
            match decided {
                Ok(decided) => {
                    assert_eq!(tenant, whose, "law 9: the other's proposal");
                    let id = decided.action.unwrap().id();
                    let identity = proposal.entry.submission.key.clone().unwrap();
                    let key = (tenant.to_owned(), identity);
                    assert_eq!(*self.actions.entry(key).or_insert(id), id, "law 2");
                }
                Err(problem) if tenant != whose => {
                    assert!(
                        matches!(problem.code, Code::UnknownProposal | Code::AuthorityEnded),
                        "{problem}"
                    );
                }
                Err(problem) => assert_eq!(problem.code, Code::AuthorityEnded, "{problem}"),
            }
        }
    }

    async fn step(&mut self, tenant: &'static str, other: &'static str, does: &Does) {
        match does {
            Does::Propose { key } => self.propose(tenant, *key).await,
            Does::Approve { nth, foreign } => {
                let whose = if *foreign { other } else { tenant };
                self.approve(tenant, whose, *nth).await;
            }
            Does::Who { standing } => {
                self.stand(Kind::Principal, tenant, "boss", *standing).await;
            }
            Does::Submit { key } => {
                // What a key stands for never changes; the answers to half of them are lost.
                let word = if key % 2 == 0 { "lose" } else { "do" };
                let payload = format!("{tenant} key-{key} {word}");
                let text = format!(
                    r#"{{"destination":"place","operation":"do","key":"key-{key}","payload":"{payload}"}}"#
                );
                self.submit(tenant, &format!("key-{key}"), &text).await;
            }
            Does::Event { id } => {
                let text = format!(
                    r#"{{"destination":"place","operation":"do","event":{{"source":"//shop","id":"{id}"}},"effect":"e","payload":"{tenant} event-{id}"}}"#
                );
                self.submit(tenant, &format!("event-{id}"), &text).await;
            }
            Does::Cancel { nth, foreign } => {
                let whose = if *foreign { other } else { tenant };
                let Some(id) = self.nth(whose, *nth) else {
                    return;
                };
                let seen = self.seen(tenant, id).await;
                assert_eq!(seen.is_err(), *foreign, "law 9");
                if let Ok(id) = seen {
                    self.engine.cancel(id, "boss", "withdrawn").await.unwrap();
                }
            }
            Does::Rule {
                nth,
                happened,
                foreign,
            } => {
                let whose = if *foreign { other } else { tenant };
                let Some(id) = self.nth(whose, *nth) else {
                    return;
                };
                let seen = self.seen(tenant, id).await;
                assert_eq!(seen.is_err(), *foreign, "law 9");
                let ruling = if *happened {
                    Ruling::Happened { receipt: None }
                } else {
                    Ruling::DidNotHappen
                };
                if let Ok(id) = seen
                    && let Err(problem) = self.engine.rule(id, ruling, "boss", "seen").await
                {
                    let refused = [Code::DoesNotApply, Code::AgainstEvidence];
                    assert!(refused.contains(&problem.code), "{problem}");
                }
            }
            Does::Tenant { active } => {
                self.stand(Kind::Tenant, tenant, tenant, switched(*active))
                    .await;
            }
            Does::Place { active } => {
                self.stand(Kind::Destination, tenant, "place", switched(*active))
                    .await;
            }
        }
    }

    /// Watches until nothing is due any more: each action is settled, or waits for a person.
    async fn end(self) {
        for id in self.actions.values() {
            let record = self.engine.wait(*id, PATIENCE).await.unwrap();
            assert!(
                record.status().is_settled() || record.next.step == "review",
                "law 8: {record:?}"
            );
            let log = self.engine.evidence(*id).await.unwrap();
            let lost = log
                .iter()
                .position(|one| matches!(one.fact, Fact::AuthorityLost { .. }));
            let marked = log
                .iter()
                .rposition(|one| matches!(one.fact, Fact::Marked(_)));
            assert!(
                lost.is_none() || marked.is_none() || marked < lost,
                "R10: sent after its authority was gone: {log:?}"
            );
        }
        self.engine.shutdown(PATIENCE).await;
        let due = self.store.due(None, 1).await.unwrap();
        assert!(due.is_empty(), "something was still due: {due:?}");
        for ((place, payload), times) in self.ledger.lock().unwrap().iter() {
            assert_eq!(*times, 1, "a second effect of {payload} at {place}");
            let tenant = place.split('/').next().unwrap();
            assert!(payload.contains(tenant), "law 9: {payload} at {place}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 0, ..ProptestConfig::default() })]

    /// Laws 2, 6 and 9 over what two tenants do at once.
    #[test]
    fn no_interleaving_of_two_tenants_crosses_or_does_anything_twice(
        steps in prop::collection::vec(does(), 1..24),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut two = Two::start().await;
            for (first, does) in &steps {
                let (tenant, other) = if *first { ("acme", "globex") } else { ("globex", "acme") };
                two.step(tenant, other, does).await;
            }
            two.end().await;
        });
    }
}

#[tokio::test]
async fn every_change_of_authority_is_another_edition() {
    let (store, ledger) = (memory(), Ledger::default());
    let engine = start(&store, &ledger).await;
    let before = engine.directory().edition();
    let key = EntryKey::new(Kind::Tenant, "acme", "acme");
    engine
        .add_entry(key, TenantEntry::new(None).text(), REASON)
        .await
        .unwrap();
    assert_eq!(store.edition().await.unwrap(), before + 1);
    assert_eq!(engine.directory().edition(), before + 1);
}
