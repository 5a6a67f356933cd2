//! A contract's text: refused with findings that stand in it, or a contract that can be used.

#![no_main]

use libfuzzer_sys::fuzz_target;

// The tests of the crate call the same functions.
#[expect(dead_code, reason = "each target calls one of them")]
#[path = "../../crates/contract/tests/it/bytes.rs"]
mod bytes;

fuzz_target!(|data: &[u8]| bytes::contract_text(data));
