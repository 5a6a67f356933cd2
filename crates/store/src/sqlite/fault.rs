//! What SQLite's error codes mean for a caller of the store.

use rusqlite::ErrorCode;

use crate::{StoreError, StoreErrorKind};

/// The store's error for one that came from SQLite before a commit: nothing of it is written.
pub(super) fn failed(doing: &'static str, error: &rusqlite::Error) -> StoreError {
    StoreError::new(doing, kind(error))
}

/// A closure for `map_err`.
pub(super) fn while_doing(doing: &'static str) -> impl Fn(rusqlite::Error) -> StoreError {
    move |error| failed(doing, &error)
}

fn kind(error: &rusqlite::Error) -> StoreErrorKind {
    let text = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreErrorKind::Full,
        Some(
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::OutOfMemory
            | ErrorCode::OperationInterrupted
            | ErrorCode::SystemIoFailure
            | ErrorCode::CannotOpen,
        ) => StoreErrorKind::Unavailable(text),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreErrorKind::Corrupt {
            what: "the database file".to_owned(),
            how: format!(
                "{text}; stop the engine, keep this file as it is, and put a backup in its place"
            ),
        },
        Some(_) | None => StoreErrorKind::Database(text),
    }
}

/// The store's error for a commit that failed. SQLite has taken it back in this process, but a write that reached the disk
/// can come back after a loss of power, so nothing is claimed about it.
pub(super) fn commit_failed(error: &rusqlite::Error) -> StoreErrorKind {
    match kind(error) {
        StoreErrorKind::Full => StoreErrorKind::Full,
        other => StoreErrorKind::InDoubt(other.to_string()),
    }
}

/// Whether it was refused because the row's primary key is taken.
pub(super) fn is_primary_key(error: &rusqlite::Error) -> bool {
    const SQLITE_CONSTRAINT_PRIMARYKEY: i32 = 1555;
    const SQLITE_CONSTRAINT_UNIQUE: i32 = 2067;
    error.sqlite_error().is_some_and(|e| {
        e.extended_code == SQLITE_CONSTRAINT_PRIMARYKEY
            || e.extended_code == SQLITE_CONSTRAINT_UNIQUE
    })
}
