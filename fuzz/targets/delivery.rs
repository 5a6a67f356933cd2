//! A delivery of reports, under every scheme of signatures.

#![no_main]

use libfuzzer_sys::fuzz_target;

// The tests of the crate call the same functions.
#[expect(dead_code, reason = "each target calls one of them")]
#[path = "../../crates/contract/tests/it/bytes.rs"]
mod bytes;

fuzz_target!(|data: &[u8]| bytes::delivery(data));
