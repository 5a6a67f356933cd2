//! Signed receipts: what this engine states about one action and the evidence that it has for it, for somebody who has neither its store
//! nor a reason to believe it unsigned.
//!
//! A receipt says what was known when it was issued. What comes later is in a later receipt; the chain's head and length say which of
//! two is the earlier one.

use factum_core::{ActionId, Evidence};
use factum_engine::{Caller, Code, Engine, Problem};
use factum_store::{Record, Store};
use serde_json::{Map, Value, json};

use crate::home::hex;
use crate::signing::{Authentic, KeySet, SigningKeys, check, unreadable};
use crate::view::{EvidenceView, StatusView, rfc3339};

/// The kind of document.
pub const KIND: &str = "factum.receipt.v1";

/// Tries to read an action and its log of one moment, while evidence comes in.
const TRIES: usize = 8;

/// An action with its log, of one moment, as it is to be shown.
pub struct Stands {
    /// The action.
    pub record: Record,
    /// Its log.
    pub evidence: Vec<Evidence>,
    /// How it is shown.
    pub view: StatusView,
}

/// Reads an action and its log of one moment: one that this caller may see, or whichever it is.
///
/// # Errors
/// [`Problem`] if there is none for them, or the store cannot be read; F1031 while evidence comes in without an end.
pub async fn read(
    engine: &Engine,
    caller: Option<&Caller>,
    id: ActionId,
    view: impl Fn(&Record) -> StatusView,
) -> Result<Stands, Problem> {
    for _ in 0..TRIES {
        let record = match caller {
            Some(caller) => engine.load_for(caller, id).await?,
            None => engine.load(id).await?,
        };
        let evidence = engine.evidence(id).await?;
        if evidence.len() == record.known.len() {
            let view = view(&record);
            return Ok(Stands {
                record,
                evidence,
                view,
            });
        }
    }
    let rule = "evidence of this action comes in faster than it is read";
    let remedy = "ask again in a moment";
    Err(Problem::new(Code::StoreUnavailable, "", rule, remedy))
}

/// Issues a receipt. Its content is in it only `with_payload`, as the text that was recorded; an action whose content was purged has none.
///
/// # Errors
/// F1160 without a signing key; what the store says.
pub async fn issue(
    store: &dyn Store,
    keys: &SigningKeys,
    stands: &Stands,
    with_payload: bool,
) -> Result<Value, Problem> {
    let Stands {
        record,
        evidence,
        view,
    } = stands;
    let action = &record.action;
    let log: Vec<EvidenceView> = evidence.iter().map(EvidenceView::of).collect();
    let census = store.census().await?;
    let mut document = json!({
        "kind": KIND,
        "issuer": format!("urn:factum:store:{}", hex(&census.store)),
        "issued_at": rfc3339(store.now().await?),
        "action": {
            "id": view.id,
            "key": view.key,
            "tenant": action.scope.tenant,
            "for": view.on_behalf_of,
            "destination": view.destination,
            "operation": view.operation,
            "created_at": view.created_at,
        },
        "state": view.state,
        "happened": view.happened,
        "statement": {"key": view.statement.key, "say": view.statement.say, "locale": view.statement.locale},
        "receipt": view.receipt,
        "attempts": view.attempts,
        "revised": view.revised,
        "reversed": view.reversed,
        "duplicate_suspected": view.duplicate_suspected,
        "closed": view.closed,
        "evidence": {
            "records": log.len(),
            "chain": record.chain.map(|link| hex(&link)),
            "log": log,
        },
    });
    if with_payload && action.content.purged_at.is_none() {
        document["content"] =
            json!({"params": action.content.params, "payload": action.content.payload});
    }
    match document {
        Value::Object(members) => keys.sign(members),
        other => Err(unreadable("", format!("{other} is no object"))),
    }
}

/// Checks a receipt; gives its members.
///
/// # Errors
/// F1162 if it is none, F1161 if none of the keys has signed it.
pub fn verify(text: &str, keys: &KeySet) -> Result<Authentic, Problem> {
    check(text, KIND, keys)
}

/// One line about a receipt, for people.
#[must_use]
pub fn summary(members: &Map<String, Value>) -> String {
    let text = |pointer: &str| {
        let document = members.get(pointer.split('/').next().unwrap_or_default());
        let rest = pointer.split_once('/').map_or("", |(_, rest)| rest);
        let found = document.and_then(|value| match rest {
            "" => Some(value),
            name => value.get(name),
        });
        found.and_then(Value::as_str).unwrap_or("?").to_owned()
    };
    format!(
        "{} ({} at {}, key {}) was {} on {}: {}",
        text("action/id"),
        text("action/operation"),
        text("action/destination"),
        text("action/key"),
        text("state"),
        text("issued_at"),
        text("statement/say"),
    )
}
