//! Seeded fault plans, sans-I/O, shared by the testbed and the simulator.
//!
//! A [`FaultPlan`] is a seed and a list of rules. [`Draws`] keeps the counters that the rules need and hands out one
//! [`Fault`] per [`Request`]. What chance decides is a pure function of (seed, rule, stream, n): the stream is the kind
//! of the request and a stable text that names it (its business reference), and n counts the requests of that stream
//! alone. The order in which concurrent requests arrive therefore does not change who is hit.
//!
//! This crate opens no socket, reads no clock, starts no thread and depends on nothing. It decides; the testbed and the
//! simulator carry out. Read [`Fault`] first, then the grammar at [`FaultPlan::parse`].

mod chance;
mod fault;
mod loss;
mod parse;
mod plan;

pub use chance::Chance;
pub use fault::{Acted, BUSY_CODES, Fault, REDIRECT_CODES, REJECT_CODES, STATUS_CODES};
pub use loss::{DELAYED_COMMIT_MS, HANG_MS, LATE_ANSWER_MS};
pub use parse::RuleError;
pub use plan::{Class, Draws, FaultPlan, Request};
