//! Submissions that are written down one after the other: one commit each.

use std::error::Error;
use std::hint::black_box;

use factum_store::Store;
use factum_store::memory::MemoryStore;
use factum_store::sqlite::{Options, SqliteStore, StoreKeys};
use tokio::runtime::{Builder, Runtime};

use crate::Work;

/// What the store's own measurements submit.
#[path = "../../../crates/store/examples/submission/mod.rs"]
mod submission;

use submission::admission;

pub(crate) fn admit_in_memory() -> Result<Work, Box<dyn Error>> {
    admit_in(MemoryStore::new(factum_store::system_clock()), ())
}

pub(crate) fn admit_in_sqlite() -> Result<Work, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("factum.db");
    let store = SqliteStore::open(Options::new(path, StoreKeys([7; 32])))?.store;
    admit_in(store, folder)
}

/// `held` lives as long as the store.
fn admit_in<H: 'static>(store: impl Store + 'static, held: H) -> Result<Work, Box<dyn Error>> {
    let runtime: Runtime = Builder::new_current_thread().enable_all().build()?;
    let mut n = 0;
    Ok(Box::new(move || {
        let _ = &held;
        n += 1;
        // A refusal would show in the count, and is told by the store's own tests.
        let _ = black_box(runtime.block_on(store.admit(admission(n))));
    }))
}
