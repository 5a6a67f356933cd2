//! Submissions that are written down one after the other: one commit each.

use std::error::Error;
use std::hint::black_box;

use factum_core::promise::Consequence;
use factum_core::{
    ActionId, Fingerprint, Identity, IdentityHash, Intent, Limits, Preference, Promises, Scope,
    Timestamp,
};
use factum_store::memory::MemoryStore;
use factum_store::sqlite::{Options, SqliteStore, StoreKeys};
use factum_store::{Action, Admission, Content, NextRow, Store};
use tokio::runtime::{Builder, Runtime};

use crate::Work;

pub(crate) fn admit_in_memory() -> Result<Work, Box<dyn Error>> {
    admit_in(MemoryStore::new(factum_store::system_clock()), ())
}

pub(crate) fn admit_in_sqlite() -> Result<Work, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("factum.db");
    let store = SqliteStore::open(Options::new(path, StoreKeys([7; 32])))?.store;
    admit_in(store, folder)
}

/// `held` lives as long as the store.
fn admit_in<H: 'static>(store: impl Store + 'static, held: H) -> Result<Work, Box<dyn Error>> {
    let runtime: Runtime = Builder::new_current_thread().enable_all().build()?;
    let mut n = 0;
    Ok(Box::new(move || {
        let _ = &held;
        n += 1;
        // A refusal would show in the count, and is told by the store's own tests.
        let _ = black_box(runtime.block_on(store.admit(admission(n))));
    }))
}

/// The `n`th submission: half a kilobyte, under an identity of its own.
fn admission(n: u64) -> Admission {
    let key = format!("order-{n}");
    let identity_hash = IdentityHash(*blake3::hash(key.as_bytes()).as_bytes());
    let at = Timestamp::from_micros(1_764_400_000_000_000);
    Admission {
        action: Action {
            intent: Intent {
                action: ActionId::new(at, identity_hash.lane(), n),
                submitted_at: at,
                intent_at: None,
                not_before: None,
                deadline: None,
                approved_until: None,
                finish: false,
                preference: Preference::Ask,
                limits: Limits::default(),
                promises: Promises::none(Consequence::Costly),
            },
            scope: Scope {
                tenant: "default".to_owned(),
                principal: "user:ana".to_owned(),
                destination: "helpdesk".to_owned(),
                operation: "ticket.create".to_owned(),
            },
            identity: Identity::Key(key),
            identity_hash,
            fingerprint: Fingerprint([1; 32]),
            members: Default::default(),
            content: Content {
                contract: [2; 32],
                params: "{}".to_owned(),
                payload: format!("{{\"text\":\"{}\"}}", "x".repeat(480)),
                summary: None,
                subject: None,
                conversation: None,
                locale: None,
                trace: None,
                place: None,
                asked_by: None,
                approved: None,
                purged_at: None,
            },
        },
        facts: Vec::new(),
        next: NextRow {
            step: "send".to_owned(),
            at: Some(at),
            why: "recorded and not sent yet".to_owned(),
        },
        names: Vec::new(),
        claim_for: None,
        under: None,
        entries: Vec::new(),
        twins: None,
    }
}
