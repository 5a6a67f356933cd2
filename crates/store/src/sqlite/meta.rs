//! What the store knows about itself: its id, its process instance, its counters, its restore, settings and contracts.

use factum_core::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};

use super::row::unsigned;
use super::sums::Sums;
use crate::record::Restore;

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

/// The last restore from a copy.
pub(super) fn restore(conn: &Connection) -> rusqlite::Result<Option<Restore>> {
    conn.query_row(include_str!("sql/restore_read.sql"), [], |row| {
        let by: Option<String> = row.get(2)?;
        let at: Option<i64> = row.get(3)?;
        Ok(Restore {
            copy_until: Timestamp::from_micros(row.get(0)?),
            at: Timestamp::from_micros(row.get(1)?),
            released: by.zip(at.map(Timestamp::from_micros)),
        })
    })
    .optional()
}

/// Writes a restore, in place of an earlier one.
pub(super) fn put_restore(conn: &Connection, restore: &Restore) -> rusqlite::Result<()> {
    let released = restore.released.as_ref();
    conn.execute(
        include_str!("sql/restore_put.sql"),
        params![
            restore.copy_until.as_micros(),
            restore.at.as_micros(),
            released.map(|(by, _)| by),
            released.map(|(_, at)| at.as_micros()),
        ],
    )?;
    Ok(())
}

/// The text of a contract.
pub(super) fn contract(conn: &Connection, digest: [u8; 32]) -> rusqlite::Result<Option<String>> {
    conn.prepare_cached(include_str!("sql/contract_read.sql"))?
        .query_row(params![digest], |row| row.get(0))
        .optional()
}

/// Keeps the text of a contract; false if it was there.
pub(super) fn keep_contract(
    conn: &Connection,
    digest: [u8; 32],
    text: &str,
) -> rusqlite::Result<bool> {
    let rows = conn
        .prepare_cached(include_str!("sql/contract_insert.sql"))?
        .execute(params![digest, text])?;
    Ok(rows == 1)
}

/// A setting.
pub(super) fn setting(conn: &Connection, name: &str) -> rusqlite::Result<Option<String>> {
    conn.prepare_cached(include_str!("sql/setting_read.sql"))?
        .query_row(params![name], |row| row.get(0))
        .optional()
}

/// Sets or removes a setting.
pub(super) fn put_setting(
    conn: &Connection,
    name: &str,
    value: Option<&str>,
) -> rusqlite::Result<()> {
    match value {
        Some(value) => conn.execute(include_str!("sql/setting_put.sql"), params![name, value]),
        None => conn.execute(include_str!("sql/setting_remove.sql"), params![name]),
    }?;
    Ok(())
}
