//! The one versioned encoding of what a store keeps: evidence, and the fixed part of an action.
//!
//! JSON text, `"v":2` first, every variant by the core's own word for it, members in one order: equal values make equal bytes,
//! so that checksums, seals and chains can rest on them. The definitions mirror the core's types from outside (serde's
//! `remote`), so that the core knows no serialisation and the compiler finds every member that is missing here.
//! Any change of form raises the version; a reader refuses versions and members that it does not know. Version 2 leaves out the
//! lengths of time and the counts that are the usual ones ([`usual`]), which were half of a row; version 1 wrote them all, and is read.

mod action;
#[cfg(any(test, fuzzing))]
#[cfg_attr(
    not(fuzzing),
    expect(unreachable_pub, reason = "a fuzzer's build makes this module public")
)]
pub mod bytes;
mod fact;
mod plain;
mod report;
#[cfg(test)]
mod strategies;
#[cfg(test)]
mod tests;
mod usual;

use std::sync::atomic::{AtomicU32, Ordering};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub(crate) use action::{Fixed, head_text, read_head};
pub(crate) use fact::{fact_text, read_fact};
pub(crate) use plain::{hex, unhex};
pub(crate) use report::{read_readings, readings_text};

/// The newest version.
const VERSION: u32 = 2;

/// In which version texts are written, and up to which they are read: on a store that several programs work on, what is written is
/// what all of them read.
#[derive(Debug)]
pub(crate) struct Form {
    writes: AtomicU32,
    reads: u32,
}

/// The newest: for a store that one process holds, and for exports.
pub(crate) static NEWEST: Form = Form::new(VERSION, VERSION);

impl Default for Form {
    fn default() -> Self {
        Self::new(VERSION, VERSION)
    }
}

impl Form {
    /// Such a one.
    pub(crate) const fn new(writes: u32, reads: u32) -> Self {
        Self {
            writes: AtomicU32::new(writes),
            reads,
        }
    }

    /// From now on this version is written.
    #[cfg(feature = "postgres")]
    pub(crate) fn write(&self, version: u32) {
        self.writes.store(version, Ordering::Relaxed);
    }

    /// The version that is written.
    pub(crate) fn writes(&self) -> u32 {
        self.writes.load(Ordering::Relaxed)
    }

    /// The newest version that is read.
    #[cfg(all(test, feature = "postgres"))]
    pub(crate) fn reads(&self) -> u32 {
        self.reads
    }
}

/// Writes plain data. Nothing in these types can fail to serialise: no maps with other keys than texts, no foreign types.
fn write(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain data serialises")
}

/// Reads a text of a known version, or says for people why it cannot be read.
fn read<T: DeserializeOwned>(form: &Form, text: &str) -> Result<T, String> {
    #[derive(Deserialize)]
    struct Version {
        v: u32,
    }
    serde_json::from_str(text).map_err(|error| match serde_json::from_str(text) {
        Ok(Version { v }) if form.lacks(v) => form.refusal(v),
        Ok(_) | Err(_) => format!("its text cannot be read: {error}"),
    })
}

impl Form {
    /// Refuses a text that happens to parse and says another version.
    fn known(&self, v: u32) -> Result<(), String> {
        if self.lacks(v) {
            Err(self.refusal(v))
        } else {
            Ok(())
        }
    }

    fn lacks(&self, v: u32) -> bool {
        !(1..=self.reads).contains(&v)
    }

    fn refusal(&self, v: u32) -> String {
        let reads = self.reads;
        format!(
            "its encoding has version {v}, and this program reads versions up to {reads}; use the program that wrote it"
        )
    }
}
