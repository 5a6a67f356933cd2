//! One effect request that a named person orders at a sandbox, outside of any store: what a probe sends.
//!
//! Each is an action of its own with a log of its own: the person's order, then the mark, both durable in the caller's
//! [`Journal`] before the permission exists (laws 1 and 6). The permission is `ordered` and built by the core like any other. A
//! destination that is not a sandbox gets none, whoever asks. Nothing here sends.

use std::io;

use factum_core::evidence::{Ruling, Verdict};
use factum_core::{
    ActionId, Conditions, Evidence, EvidenceId, Fact, Intent, Known, Limits, Next, Permission,
    Preference, Promises, Timestamp, WorkerNonce, permit,
};

use crate::destination::Destination;

/// Where the order and the mark are written down.
pub trait Journal {
    /// Makes these records of an action durable; only then returns.
    ///
    /// # Errors
    /// They may not be durable; nothing is sent.
    fn durable(&mut self, action: ActionId, records: &[Evidence]) -> io::Result<()>;
}

/// An order for one effect request.
#[derive(Clone, Copy, Debug)]
pub struct Order<'a> {
    /// The action that the request is.
    pub action: ActionId,
    /// Who orders it.
    pub by: &'a str,
    /// Why, in their words.
    pub why: &'a str,
    /// Times that bound the request.
    pub limits: Limits,
    /// What the contract promises.
    pub promises: &'a Promises,
    /// This process.
    pub worker: WorkerNonce,
    /// The time.
    pub now: Timestamp,
}

/// Why there is no permission.
#[derive(Debug, thiserror::Error)]
pub enum NotOrdered {
    /// The destination is not marked as a sandbox.
    #[error("the destination is not marked as a sandbox")]
    NoSandbox,
    /// The order or the mark could not be written down.
    #[error("the order could not be written down")]
    Journal(#[source] io::Error),
    /// The core gives none.
    #[error("the core gives no permission: the next step would be {}", .0.step.name())]
    Refused(Next),
}

/// The permission for one effect request at a sandbox, once the order and the mark are durable.
///
/// # Errors
/// [`NotOrdered`]: nothing may be sent.
pub fn order(
    destination: &Destination,
    order: &Order<'_>,
    journal: &mut dyn Journal,
) -> Result<Permission, NotOrdered> {
    if !destination.sandbox {
        return Err(NotOrdered::NoSandbox);
    }
    let intent = Intent {
        action: order.action,
        submitted_at: order.now,
        intent_at: None,
        not_before: None,
        deadline: None,
        approved_until: None,
        finish: false,
        preference: Preference::Ask,
        limits: order.limits,
        promises: order.promises.clone(),
    };
    let verdict = Evidence {
        id: EvidenceId(1),
        at: order.now,
        fact: Fact::Verdict(Verdict {
            ruling: Ruling::SendAgain,
            by: order.by.to_owned(),
            why: order.why.to_owned(),
            at: order.now,
            supersedes: Vec::new(),
        }),
    };
    let conditions = Conditions {
        now: order.now,
        current: order.promises,
        restore_released: true,
        clock_in_doubt: false,
        account_in_doubt: false,
        place_changed: false,
        credential_changed: false,
        subject_overtaken: false,
    };
    let known = Known::fold([&verdict]);
    let leave = permit(&intent, &known, &conditions).map_err(NotOrdered::Refused)?;
    let (fact, marked) = leave.mark(order.worker);
    let mark = Evidence {
        id: EvidenceId(2),
        at: order.now,
        fact,
    };
    journal
        .durable(order.action, &[verdict, mark])
        .map_err(NotOrdered::Journal)?;
    Ok(marked.durable())
}
