//! An answer to each request of each contract of the catalogue.

#![no_main]

use libfuzzer_sys::fuzz_target;

// The tests of the crate call the same functions.
#[expect(dead_code, reason = "each target calls one of them")]
#[path = "../../crates/contract/tests/it/bytes.rs"]
mod bytes;

fuzz_target!(|data: &[u8]| bytes::answer(data));
