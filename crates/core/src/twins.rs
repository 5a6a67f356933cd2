//! The twin guard (R16): whether equal content in one scope, under another identity, may be the same intent once more.
//!
//! Two identities are two intents; that stays so. But a caller who makes its keys anew with every try says the same intent under
//! two, and a guard that an operator sets asks before the second one is recorded.

use crate::intent::Intent;
use crate::known::Known;
use crate::mistake::{Mistake, made};
use crate::time::{Span, Timestamp};

/// Whether an action holds off another one of equal content: as long as it may still take effect or may have (unsettled, or closed
/// unknown), and `within` from the last word about it. One that is proven to have done nothing, so that a new identity is safe, holds
/// nothing off.
#[must_use]
pub fn holds_off(intent: &Intent, known: &Known, within: Span, now: Timestamp) -> bool {
    let status = known.status(intent);
    if made(Mistake::TwinGuardLapses) {
        return now < intent.submitted_at + within;
    }
    if !status.is_settled() || status.closed.is_some() {
        return true;
    }
    let last = known.last_at().unwrap_or(intent.submitted_at);
    !status.safe_to_call_again && now < last + within
}
