//! What a peer answers on the wire: heads, frames, and where they end.

#![no_main]

use libfuzzer_sys::fuzz_target;

// The tests of the crate call the same functions.
#[path = "../../crates/transport/tests/it/bytes.rs"]
mod bytes;

fuzz_target!(|data: &[u8]| bytes::answer(data));
