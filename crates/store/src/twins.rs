//! Twins: actions of equal content in one scope (R16). A row for each scope and content names those that may still hold another one
//! off. It lies in a lane of its own, the first byte of its digest, and is taken in the transaction that records the next one.
//!
//! Only submissions under a [`TwinGuard`] have rows. Whether an action holds its twin off, the core says.

use factum_core::{ActionId, Timestamp, twins};
use sha2::{Digest, Sha256};

use crate::record::{Action, Record, TwinGuard};

/// Actions that a row names at the most; older ones hold nothing off any more. One that holds nothing off now may do so later: a person
/// can order another send of what has failed, and late evidence can revise it.
const NAMED_MAX: usize = 16;

/// The digest over scope and fingerprint. The fingerprint is a keyed hash, so that it confirms no guessed content.
pub(crate) fn digest(action: &Action) -> [u8; 32] {
    let scope = &action.scope;
    let mut hash = Sha256::new();
    for part in [
        &scope.tenant,
        &scope.principal,
        &scope.destination,
        &scope.operation,
    ] {
        let length = u64::try_from(part.len()).unwrap_or(u64::MAX);
        hash.update(length.to_be_bytes());
        hash.update(part);
    }
    hash.update(action.fingerprint.0);
    hash.finalize().into()
}

/// The latest of these actions, which a row names oldest first, that holds another one of their content off.
pub(crate) fn holder(guard: TwinGuard, named: Vec<Record>, now: Timestamp) -> Option<Record> {
    let mut latest_first = named.into_iter().rev();
    latest_first.find(|one| twins::holds_off(&one.action.intent, &one.known, guard.within, now))
}

/// What a row names once an action is recorded beside those that it named.
pub(crate) fn with(mut named: Vec<ActionId>, id: ActionId) -> Vec<ActionId> {
    named.retain(|one| *one != id);
    named.push(id);
    let beyond = named.len().saturating_sub(NAMED_MAX);
    named.drain(..beyond);
    named
}
