//! Submissions for tests, also of those inside the crate.

use std::collections::BTreeMap;

use factum_core::promise::{Consequence, Promises};
use factum_core::{
    ActionId, Fingerprint, Identity, IdentityHash, Intent, Limits, Preference, Scope, Span,
    Timestamp,
};
use factum_store::{Action, Admission, Content, Conversation, MemberHash, NextRow};

/// When tests begin.
pub(crate) const START: Timestamp = Timestamp::from_micros(1_764_400_000_000_000);

fn hash(parts: &[&str]) -> [u8; 32] {
    *blake3::hash(parts.join("\u{0}").as_bytes()).as_bytes()
}

fn short(text: &str) -> MemberHash {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash(&[text])[..16]);
    MemberHash(bytes)
}

/// An action with this key and body. The same key and `made` give the same id.
pub(crate) fn action(key: &str, body: &str, made: u64) -> Action {
    let identity_hash = IdentityHash(hash(&["identity", key]));
    let at = START + Span::from_millis(i64::try_from(made).expect("a small number"));
    Action {
        intent: Intent {
            action: ActionId::new(at, identity_hash.lane(), made),
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
        identity: Identity::Key(key.to_owned()),
        identity_hash,
        fingerprint: Fingerprint(hash(&["content", body])),
        members: BTreeMap::from([
            ("/payload/subject".to_owned(), short(body)),
            ("/params/brand".to_owned(), short("acme")),
        ]),
        content: Content {
            contract: hash(&["contract"]),
            params: r#"{"brand":"acme"}"#.to_owned(),
            payload: format!(r#"{{"subject":"{body}"}}"#),
            summary: Some(format!("Ticket for {key}")),
            subject: None,
            conversation: Some(Conversation {
                id: "conv-91".to_owned(),
                turn: Some(14),
                asked: Some("please open a ticket".to_owned()),
            }),
            locale: Some("de-AT".to_owned()),
            trace: None,
            place: None,
            asked_by: None,
            approved: None,
            purged_at: None,
        },
    }
}

/// A submission of the `n`-th action, to be sent at once.
pub(crate) fn admission(n: u64) -> Admission {
    submission(action(&format!("key-{n}"), "broken", n))
}

/// A submission of this action, to be sent at once.
pub(crate) fn submission(action: Action) -> Admission {
    Admission {
        facts: Vec::new(),
        next: next("send", Some(action.intent.submitted_at)),
        names: Vec::new(),
        claim_for: None,
        under: None,
        entries: Vec::new(),
        oldest: None,
        twins: None,
        action,
    }
}

/// A next step.
pub(crate) fn next(step: &str, at: Option<Timestamp>) -> NextRow {
    NextRow {
        step: step.to_owned(),
        at,
        why: format!("the test says {step}"),
    }
}
