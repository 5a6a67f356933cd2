//! What only SQLite has: files, a lock, checks, damage, kills.

mod checks;
mod damage;
mod group;
mod kill;
mod open;
mod purge;
mod seals;
mod tamper;

use std::path::{Path, PathBuf};

use factum_store::StoreError;
use factum_store::sqlite::{Opened, Options, SqliteStore, StoreKeys};

use crate::fixtures::{TestClock, seals};

/// The keys of every store in these tests.
pub(crate) const KEYS: StoreKeys = StoreKeys([42; 32]);

/// Where the database of a folder is.
pub(crate) fn database(folder: &Path) -> PathBuf {
    folder.join("factum.db")
}

/// How the store of a folder is opened.
pub(crate) fn options(folder: &Path, clock: &TestClock) -> Options {
    Options {
        clock: clock.clock(),
        seals: seals(),
        ..Options::new(database(folder), KEYS)
    }
}

/// How the store of a folder is opened whose content is written as it is.
pub(crate) fn plain_options(folder: &Path, clock: &TestClock) -> Options {
    Options {
        seals: factum_store::seal::Seals::off(),
        ..options(folder, clock)
    }
}

/// Opens or makes the store of a folder.
pub(crate) fn open_in(folder: &Path, clock: &TestClock) -> Result<Opened, StoreError> {
    SqliteStore::open(options(folder, clock))
}
