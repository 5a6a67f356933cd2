//! The testbed over real sockets: every kind, mode and fault, seen from the caller and from the ledger.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod admin;
mod callbacks;
mod caller;
mod faults;
mod kinds;
mod lies;
mod restart;
mod search;
mod stand_ins;
