//! What the callers remember: every identity, every id that was answered for it, and whether it was ever said to be done.
//!
//! It outlives the engine, so that what the engine forgot is noticed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use factum_testbed::{Kind, Mode};
use serde_json::Value;

/// What is remembered of one identity.
#[derive(Clone, Debug)]
pub(crate) struct Remembered {
    pub(crate) kind: Kind,
    pub(crate) mode: Mode,
    pub(crate) ids: BTreeSet<String>,
    pub(crate) said_done: bool,
    pub(crate) said_undone: bool,
    /// How often a person ordered it to be sent again, as far as the orders may have arrived.
    pub(crate) ordered: u64,
    /// It was submitted before a restore of the store.
    pub(crate) restored: bool,
}

/// The callers' memory. Cheap to clone; all clones are one.
#[derive(Clone, Default)]
pub(crate) struct Memory {
    identities: Arc<Mutex<BTreeMap<String, Remembered>>>,
}

impl Memory {
    /// An identity that is about to be submitted.
    pub(crate) fn expect(&self, key: &str, kind: Kind, mode: Mode) {
        let fresh = Remembered {
            kind,
            mode,
            ids: BTreeSet::new(),
            said_done: false,
            said_undone: false,
            ordered: 0,
            restored: false,
        };
        self.lock().entry(key.to_owned()).or_insert(fresh);
    }

    /// A status that was answered with 2xx.
    pub(crate) fn saw(&self, key: &str, status: &Value) {
        if let Some(remembered) = self.lock().get_mut(key) {
            remembered
                .ids
                .extend(status["id"].as_str().map(str::to_owned));
            remembered.said_done |= status["state"] == "succeeded";
            let undone = ["terminal_failure", "cancelled", "expired"];
            remembered.said_undone |= status["state"]
                .as_str()
                .is_some_and(|state| undone.contains(&state));
        }
    }

    /// The ids that were answered for this identity, and that are not lost.
    #[cfg(feature = "proof")]
    pub(crate) fn ids(&self, key: &str) -> BTreeSet<String> {
        self.lock()
            .get(key)
            .map_or_else(BTreeSet::new, |remembered| remembered.ids.clone())
    }

    /// A person is about to order a send.
    #[cfg(feature = "proof")]
    pub(crate) fn order(&self, key: &str) {
        if let Some(remembered) = self.lock().get_mut(key) {
            remembered.ordered += 1;
        }
    }

    /// The store was put back to a copy that knows these actions: what was answered for others is lost with the newer file, and
    /// given back.
    #[cfg(feature = "proof")]
    pub(crate) fn restored(&self, known: &BTreeSet<String>) -> BTreeMap<String, BTreeSet<String>> {
        let mut all_lost = BTreeMap::new();
        for (key, remembered) in self.lock().iter_mut() {
            remembered.restored = true;
            let ids = std::mem::take(&mut remembered.ids);
            let (kept, lost): (BTreeSet<_>, BTreeSet<_>) =
                ids.into_iter().partition(|id| known.contains(id));
            remembered.ids = kept;
            if !lost.is_empty() {
                all_lost.insert(key.clone(), lost);
            }
        }
        all_lost
    }

    /// Everything.
    pub(crate) fn all(&self) -> BTreeMap<String, Remembered> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Remembered>> {
        self.identities
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
