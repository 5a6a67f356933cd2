//! The testbed over real sockets: every kind, mode and fault, seen from the caller and from the ledger.

mod admin;
mod caller;
mod faults;
mod kinds;
mod restart;
mod search;
