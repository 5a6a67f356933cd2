//! What the store knows about itself: its id, its process instance, its counters. They are held against the counter beside the
//! file, which has a checksum.

use factum_core::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};

use super::row::unsigned;
use super::sums::Sums;

/// The one row of `meta`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meta {
    pub(super) store: [u8; 16],
    pub(super) incarnation: [u8; 16],
    pub(super) key_check: [u8; 16],
    pub(super) commits: u64,
    pub(super) stamp: Timestamp,
}

/// Reads it; `None` in a file that was made and not opened to the end.
pub(super) fn read(conn: &Connection) -> rusqlite::Result<Option<Meta>> {
    conn.query_row(include_str!("sql/meta_read.sql"), [], |row| {
        Ok(Meta {
            store: row.get(0)?,
            incarnation: row.get(1)?,
            key_check: row.get(2)?,
            commits: unsigned(row, 3)?,
            stamp: Timestamp::from_micros(row.get(4)?),
        })
    })
    .optional()
}

/// Writes it for a new store.
pub(super) fn first(
    conn: &Connection,
    sums: &Sums,
    store: [u8; 16],
    incarnation: [u8; 16],
    stamp: Timestamp,
) -> rusqlite::Result<Meta> {
    let key_check = sums.key_check(&store);
    conn.execute(
        include_str!("sql/meta_first.sql"),
        params![store, incarnation, key_check, stamp.as_micros()],
    )?;
    Ok(Meta {
        store,
        incarnation,
        key_check,
        commits: 0,
        stamp,
    })
}

/// Notes the process instance that opens the store now; gives the commit counter after it.
pub(super) fn opened(
    conn: &Connection,
    incarnation: [u8; 16],
    stamp: Timestamp,
) -> rusqlite::Result<u64> {
    conn.query_row(
        include_str!("sql/meta_open.sql"),
        params![incarnation, stamp.as_micros()],
        |row| unsigned(row, 0),
    )
}

/// Raises the commit counter, as every transaction that writes does last.
pub(super) fn count_commit(conn: &Connection, stamp: Timestamp) -> rusqlite::Result<u64> {
    conn.prepare_cached(include_str!("sql/meta_commit.sql"))?
        .query_row(params![stamp.as_micros()], |row| unsigned(row, 0))
}
