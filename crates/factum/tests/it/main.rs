//! The library against the testbed: real HTTP, and every claim compared with the destination's own ledger.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod seeds;
mod support;
