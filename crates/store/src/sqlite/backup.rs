//! A copy of the whole file out of one moment, while its holder goes on: small, whole, and looked through before it counts.

use std::fs::File;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::fault::while_doing;
use super::schema::version_is_known;
use super::sums::Sums;
use super::{Options, meta, open};
use crate::{StoreError, StoreErrorKind};

const DOING: &str = "making a backup";

fn unsuitable(path: &Path, why: &str) -> StoreError {
    let (path, why) = (path.display().to_string(), why.to_owned());
    StoreError::new(DOING, StoreErrorKind::Unsuitable { path, why })
}

/// Copies the store into a file that is not there yet, and gives its size in bytes. Put back in the store's place it is known as an
/// older copy by the counter beside the file, or by that there is none.
///
/// # Errors
/// `Unsuitable` if there is no store, the keys are not its own, or the file is there already; `Corrupt` if the copy is not sound.
pub fn backup(options: &Options, to: &Path) -> Result<u64, StoreError> {
    let sql = while_doing(DOING);
    if !options.path.exists() {
        return Err(unsuitable(&options.path, "there is no store to back up"));
    }
    if to.exists() {
        return Err(unsuitable(to, "it is there already; name another file"));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(&options.path, flags).map_err(&sql)?;
    conn.busy_timeout(std::time::Duration::from_secs(5))
        .map_err(&sql)?;
    version_is_known(&conn)?;
    let meta = meta::read(&conn).map_err(&sql)?;
    let sums = Sums::new(&options.keys, &options.seals);
    if meta.is_none_or(|meta| meta.key_check != sums.key_check(&meta.store)) {
        return Err(unsuitable(
            &options.path,
            "it was written with other keys; bring back the folder `keys` that belongs to it",
        ));
    }
    // Only its owner may read it: the content of the store stands in it.
    open::create(to)?;
    let copied = copy(&conn, to);
    if copied.is_err() {
        // What is not whole is of no use; the error that is told is the first one.
        let _ = std::fs::remove_file(to);
    }
    copied
}

fn copy(conn: &Connection, to: &Path) -> Result<u64, StoreError> {
    let sql = while_doing(DOING);
    let Some(name) = to.to_str() else {
        return Err(unsuitable(to, "its name is not UTF-8"));
    };
    conn.execute("VACUUM INTO ?1", [name]).map_err(&sql)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let made = Connection::open_with_flags(to, flags).map_err(&sql)?;
    let how: String = made
        .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
        .map_err(&sql)?;
    if how != "ok" {
        let what = to.display().to_string();
        return Err(StoreError::new(
            DOING,
            StoreErrorKind::Corrupt { what, how },
        ));
    }
    let written = File::open(to).and_then(|file| {
        file.sync_all()?;
        Ok(file.metadata()?.len())
    });
    written.map_err(|error| {
        let kind = StoreErrorKind::Unavailable(error.to_string());
        StoreError::new(DOING, kind)
    })
}
