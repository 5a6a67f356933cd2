//! What the measurements of this folder submit: half a kilobyte, under an identity of its own.

use factum_core::promise::{Consequence, Promises};
use factum_core::{
    ActionId, Fingerprint, Identity, IdentityHash, Intent, Limits, Preference, Scope, Timestamp,
};
use factum_store::{Action, Admission, Content, NextRow};

/// The `n`th submission.
pub(crate) fn admission(n: u64) -> Admission {
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
        oldest: None,
        twins: None,
    }
}
