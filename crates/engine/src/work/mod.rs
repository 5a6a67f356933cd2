//! Work for workers elsewhere, who make a destination's call in their own code: what they are handed, what they may say, and what
//! follows from it. Pure; [`crate::Engine`] holds the calls.
//!
//! A worker *claims* what waits for it, *begins* (the mark of the attempt, durable before its first byte: laws 1, 6 and 7 hold up
//! to there), makes its call and *reports*. A mark is the claim's own, by the nonce in it, so that no second begin hands out the
//! permission again (R12). A report is a fact: it is recorded however late it comes.

mod claim;
mod report;

use factum_core::evidence::{PermissionKind, RequestRef};
use factum_core::promise::LookupBy;
use factum_core::{
    ActionId, AttemptNo, Conditions, Epoch, Leave, Span, Step, Timestamp, due_fact, permit,
};
use factum_store::Record;

pub use claim::{Ticket, TicketKind};
pub use factum_contract::http::HttpAnswer;
pub use report::{Reading, Report, facts, is_recorded};

use crate::directory::Directory;
pub use crate::driver::held::in_flight_row;
use crate::driver::held::{Rests, approval_void};

/// What a worker asks for.
#[derive(Clone, Debug, Default)]
pub struct Wish {
    /// Of these destinations, by the tenant's own names; of all where there are none.
    pub destinations: Vec<String>,
    /// Of these operations; of all where there are none.
    pub operations: Vec<String>,
    /// Of these actions; of all where there are none.
    pub actions: Vec<ActionId>,
    /// Only of this kind.
    pub kind: Option<TicketKind>,
    /// As many at the most.
    pub limit: usize,
    /// Leased for this long; as long as the destination says where it is not said.
    pub lease: Option<Span>,
}

/// Something for a worker to do.
#[derive(Debug)]
pub struct Work {
    /// What names the claim from now on.
    pub claim: String,
    /// What is to be done.
    pub kind: TicketKind,
    /// The action.
    pub record: Box<Record>,
    /// The provider key, as the destination takes it. A send's is final only with its begin.
    pub key: String,
    /// The reference for the destination's records, equal in every epoch.
    pub reference: String,
    /// By what right it would be sent now, and until when it may begin.
    pub permission: Option<(PermissionKind, Timestamp)>,
    /// By what a lookup asks.
    pub by: Option<LookupBy>,
    /// Without word by then, the claim is free for others.
    pub until: Timestamp,
}

/// The leave to write, for one worker.
#[derive(Debug)]
pub struct Begun {
    /// The action, with the mark in its evidence.
    pub record: Box<Record>,
    /// Which attempt.
    pub attempt: AttemptNo,
    /// By what right.
    pub permission: PermissionKind,
    /// When it was marked.
    pub at: Timestamp,
    /// The first byte must leave before this.
    pub valid_until: Timestamp,
    /// Longest time from the first byte to the last.
    pub limit: Span,
    /// Without word by then, it is maybe sent.
    pub leased_until: Timestamp,
    /// The provider key, as the destination takes it.
    pub key: String,
    /// The reference for the destination's records.
    pub reference: String,
}

/// What a worker could do about an action now.
#[derive(Debug)]
pub enum Doable {
    /// Send: the core's leave for it.
    Send(Leave),
    /// Ask whether the effect exists.
    LookUp(LookupBy),
    /// Nothing, and in words why.
    Nothing(String),
}

/// What a worker could do about an action now. Records that time calls for come first, and are the engine's to write. An approval has
/// to cover what it `rests` on: the contract's digest, the destination's address, and the account there. Without a `directory` nobody
/// says who may do what.
#[must_use]
pub fn doable(
    record: &Record,
    conditions: &Conditions<'_>,
    directory: Option<&Directory>,
    rests: Rests<'_>,
    look_ups: bool,
) -> Doable {
    let intent = &record.action.intent;
    if due_fact(intent, &record.known, conditions).is_some() {
        return Doable::Nothing("time has passed that changes what may be done".to_owned());
    }
    match permit(intent, &record.known, conditions) {
        Ok(leave) => match leave.request() {
            RequestRef::Attempt(_) => barred(record, conditions.now, directory, rests)
                .map_or(Doable::Send(leave), Doable::Nothing),
            RequestRef::Cancel(_) => Doable::Nothing("its key is being cancelled".to_owned()),
        },
        Err(next) => match next.step {
            Step::LookUp if look_ups && next.at <= conditions.now => {
                let lookup = conditions.current.lookup.or(intent.promises.lookup);
                Doable::LookUp(lookup.map_or(LookupBy::Reference, |lookup| lookup.by))
            }
            Step::Send(_)
            | Step::LookUp
            | Step::Poll { .. }
            | Step::CancelByKey { .. }
            | Step::Wait
            | Step::Review(_)
            | Step::None => Doable::Nothing(next.why.to_string()),
        },
    }
}

/// Why nothing may be sent, though the core would let it: an authority or an approval that is gone. What may have been sent before is asked
/// for all the same.
fn barred(
    record: &Record,
    now: Timestamp,
    directory: Option<&Directory>,
    rests: Rests<'_>,
) -> Option<String> {
    let missing = directory.and_then(|known| known.still_lets(&record.action, now).err());
    missing
        .map(|missing| missing.why().to_owned())
        .or_else(|| approval_void(&record.action, rests))
}

/// The epoch that a lookup of this action speaks for.
#[must_use]
pub fn epoch_of(record: &Record) -> Epoch {
    record.known.current_epoch()
}
