//! The text of a column of a store.

#![no_main]

use factum_store::encoding::bytes;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| bytes::column(data));
