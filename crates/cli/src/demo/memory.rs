//! What the callers remember: every identity, every id that was answered for it, and whether it was ever said to be done.
//!
//! It outlives the engine, so that what the engine forgot is noticed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use factum_testbed::{Kind, Mode};
use serde_json::Value;

/// What is remembered of one identity.
#[derive(Clone, Debug)]
pub(super) struct Remembered {
    pub(super) kind: Kind,
    pub(super) mode: Mode,
    pub(super) ids: BTreeSet<String>,
    pub(super) said_done: bool,
}

/// The callers' memory. Cheap to clone; all clones are one.
#[derive(Clone, Default)]
pub(super) struct Memory {
    identities: Arc<Mutex<BTreeMap<String, Remembered>>>,
}

impl Memory {
    /// An identity that is about to be submitted.
    pub(super) fn expect(&self, key: &str, kind: Kind, mode: Mode) {
        let fresh = Remembered {
            kind,
            mode,
            ids: BTreeSet::new(),
            said_done: false,
        };
        self.lock().entry(key.to_owned()).or_insert(fresh);
    }

    /// A status that was answered with 2xx.
    pub(super) fn saw(&self, key: &str, status: &Value) {
        if let Some(remembered) = self.lock().get_mut(key) {
            remembered
                .ids
                .extend(status["id"].as_str().map(str::to_owned));
            remembered.said_done |= status["state"] == "succeeded";
        }
    }

    /// Everything.
    pub(super) fn all(&self) -> BTreeMap<String, Remembered> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Remembered>> {
        self.identities
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
