//! The library against the testbed: real HTTP, and every claim compared with the destination's own ledger.

mod seeds;
mod support;
