//! What is known about an action, and what may be done next.
//!
//! The log of evidence is the truth. [`Known`] is what it adds up to, in any order; [`Known::status`] is the state, a pure
//! function of (intent, evidence); [`decide`] is the next step and [`permit`] the leave to write an effect request, pure
//! functions of (intent, evidence, conditions), where the conditions carry the time. Nothing in this crate does I/O, reads a
//! clock, draws a random number or knows a serialisation; there is no async code in it.
//!
//! Read [`evidence`] for what can be known, [`status`] for what follows from it, [`policy`] for the one table of what to do
//! about an unknown outcome, and [`next`] for how it is applied.

mod asking;
pub mod bound;
pub mod evidence;
pub mod id;
pub mod identity;
pub mod intent;
pub mod known;
pub mod mistake;
pub mod next;
pub mod permission;
pub mod policy;
pub mod promise;
mod proof;
pub mod retry;
pub mod statement;
pub mod status;
pub mod time;
pub mod twins;

pub use bound::Bound;
pub use evidence::{Evidence, Fact};
pub use id::{
    ActionId, AttemptId, AttemptNo, Epoch, EventId, EvidenceId, Lane, ProposalDigest, ProposalId,
    TraceContext, WorkerNonce,
};
pub use identity::{Fingerprint, Identity, IdentityHash, Resolution, Scope};
pub use intent::{Intent, Limits, Preference};
pub use known::Known;
pub use next::{Conditions, Next, Step, decide, due_fact};
pub use permission::{Leave, Permission, permit};
pub use promise::Promises;
pub use status::{Happened, State, Status};
pub use time::{Span, Timestamp};
