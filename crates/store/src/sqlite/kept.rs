//! The small tables beside the actions: kept contracts, settings, the restore. Every row carries a checksum; what does not match
//! it is never read as what was written. Rows that an earlier version wrote have none until [`seal`] gives it to them.

use factum_core::Timestamp;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::fault::while_doing;
use super::sums::{Sum, Sums};
use crate::encoding::hex;
use crate::record::Restore;
use crate::{StoreError, StoreErrorKind};

const HOW: &str = "the row does not match its checksum";

/// A table, and the columns of its reading statement.
type Table = (&'static str, usize);
const CONTRACT: Table = ("contract", 3);
const SETTING: Table = ("setting", 3);
const RESTORE: Table = ("restore", 5);

/// Whether a read row is what was written: its value, or `None` where it is damaged.
fn sound<T>(
    sums: &Sums,
    (table, columns): Table,
    row: &Row,
    read: impl FnOnce(&Row) -> rusqlite::Result<T>,
) -> rusqlite::Result<Option<T>> {
    let unsealed = row.get_ref(columns - 1)? == ValueRef::Null;
    if unsealed || sums.holds(table, row, columns)? {
        read(row).map(Some)
    } else {
        Ok(None)
    }
}

/// What a row says, or that it is damaged.
fn checked<T>(
    doing: &'static str,
    what: impl FnOnce() -> String,
    row: rusqlite::Result<Option<Option<T>>>,
) -> Result<Option<T>, StoreError> {
    match row.map_err(while_doing(doing))? {
        None => Ok(None),
        Some(Some(value)) => Ok(Some(value)),
        Some(None) => Err(StoreError::new(
            doing,
            StoreErrorKind::Corrupt {
                what: what(),
                how: HOW.to_owned(),
            },
        )),
    }
}

fn contract_name(digest: &[u8]) -> String {
    format!("the kept contract {}", hex(digest))
}

fn setting_name(name: &str) -> String {
    format!("the setting {name}")
}

const RESTORE_NAME: &str = "the row of the last restore";

fn contract_sum(sums: &Sums, digest: &[u8], text: &str) -> Sum {
    let cells = [ValueRef::Blob(digest), ValueRef::Text(text.as_bytes())];
    sums.of(CONTRACT.0, cells)
}

fn setting_sum(sums: &Sums, name: &str, value: &str) -> Sum {
    let cells = [name, value].map(|text| ValueRef::Text(text.as_bytes()));
    sums.of(SETTING.0, cells)
}

fn restore_sum(sums: &Sums, restore: &Restore) -> Sum {
    let released = restore.released.as_ref();
    let cells = [
        ValueRef::Integer(restore.copy_until.as_micros()),
        ValueRef::Integer(restore.at.as_micros()),
        released.map_or(ValueRef::Null, |(by, _)| ValueRef::Text(by.as_bytes())),
        released.map_or(ValueRef::Null, |(_, at)| ValueRef::Integer(at.as_micros())),
    ];
    sums.of(RESTORE.0, cells)
}

/// The last restore from a copy.
pub(super) fn restore(
    conn: &Connection,
    sums: &Sums,
    doing: &'static str,
) -> Result<Option<Restore>, StoreError> {
    let row = conn
        .query_row(include_str!("sql/restore_read.sql"), [], |row| {
            sound(sums, RESTORE, row, read_restore)
        })
        .optional();
    checked(doing, || RESTORE_NAME.to_owned(), row)
}

fn read_restore(row: &Row) -> rusqlite::Result<Restore> {
    let by: Option<String> = row.get(2)?;
    let at: Option<i64> = row.get(3)?;
    Ok(Restore {
        copy_until: Timestamp::from_micros(row.get(0)?),
        at: Timestamp::from_micros(row.get(1)?),
        released: by.zip(at.map(Timestamp::from_micros)),
    })
}

/// Writes a restore, in place of an earlier one.
pub(super) fn put_restore(
    conn: &Connection,
    sums: &Sums,
    restore: &Restore,
) -> rusqlite::Result<()> {
    let released = restore.released.as_ref();
    conn.execute(
        include_str!("sql/restore_put.sql"),
        params![
            restore.copy_until.as_micros(),
            restore.at.as_micros(),
            released.map(|(by, _)| by),
            released.map(|(_, at)| at.as_micros()),
            restore_sum(sums, restore),
        ],
    )?;
    Ok(())
}

/// The text of a contract.
pub(super) fn contract(
    conn: &Connection,
    sums: &Sums,
    digest: [u8; 32],
    doing: &'static str,
) -> Result<Option<String>, StoreError> {
    let row = conn
        .prepare_cached(include_str!("sql/contract_read.sql"))
        .and_then(|mut statement| {
            let read = |row: &Row| sound(sums, CONTRACT, row, |row| row.get(1));
            statement.query_row(params![digest], read).optional()
        });
    checked(doing, || contract_name(&digest), row)
}

/// Keeps the text of a contract; false if it was there.
pub(super) fn keep_contract(
    conn: &Connection,
    sums: &Sums,
    digest: [u8; 32],
    text: &str,
) -> rusqlite::Result<bool> {
    let sum = contract_sum(sums, &digest, text);
    let rows = conn
        .prepare_cached(include_str!("sql/contract_insert.sql"))?
        .execute(params![digest, text, sum])?;
    Ok(rows == 1)
}

/// A setting.
pub(super) fn setting(
    conn: &Connection,
    sums: &Sums,
    name: &str,
    doing: &'static str,
) -> Result<Option<String>, StoreError> {
    let row = conn
        .prepare_cached(include_str!("sql/setting_read.sql"))
        .and_then(|mut statement| {
            let read = |row: &Row| sound(sums, SETTING, row, |row| row.get(1));
            statement.query_row(params![name], read).optional()
        });
    checked(doing, || setting_name(name), row)
}

/// Sets or removes a setting.
pub(super) fn put_setting(
    conn: &Connection,
    sums: &Sums,
    name: &str,
    value: Option<&str>,
) -> rusqlite::Result<()> {
    match value {
        Some(value) => {
            let sum = setting_sum(sums, name, value);
            conn.execute(
                include_str!("sql/setting_put.sql"),
                params![name, value, sum],
            )
        }
        None => conn.execute(include_str!("sql/setting_remove.sql"), params![name]),
    }?;
    Ok(())
}

/// All rows of a table, and the statement that gives one its checksum. The number of the row stands behind the checksum.
const TABLES: [(Table, &str, &str); 3] = [
    (
        CONTRACT,
        include_str!("sql/contract_scan.sql"),
        include_str!("sql/contract_seal.sql"),
    ),
    (
        SETTING,
        include_str!("sql/setting_scan.sql"),
        include_str!("sql/setting_seal.sql"),
    ),
    (
        RESTORE,
        include_str!("sql/restore_read.sql"),
        include_str!("sql/restore_seal.sql"),
    ),
];

/// Gives a checksum to each row that an earlier version wrote without one.
pub(super) fn seal(conn: &Connection, sums: &Sums) -> rusqlite::Result<()> {
    for ((table, columns), scan, seal) in TABLES {
        let mut unsealed: Vec<(i64, Sum)> = Vec::new();
        let mut statement = conn.prepare(scan)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            if row.get_ref(columns - 1)? == ValueRef::Null {
                unsealed.push((row.get(columns)?, sums.of_row(table, row, columns)?));
            }
        }
        for (number, sum) in unsealed {
            conn.execute(seal, params![number, sum])?;
        }
    }
    Ok(())
}

/// The rows that are not what was written, for `doctor`.
pub(super) fn damaged(conn: &Connection, sums: &Sums) -> rusqlite::Result<Vec<(String, String)>> {
    damaged_in(&TABLES, conn, sums)
}

/// The damaged rows without which nothing is opened: a damaged setting may be the one that holds all sends, and a damaged restore the
/// one that is not released.
pub(super) fn decisive(conn: &Connection, sums: &Sums) -> rusqlite::Result<Vec<(String, String)>> {
    damaged_in(&TABLES[1..], conn, sums)
}

fn damaged_in(
    tables: &[(Table, &str, &str)],
    conn: &Connection,
    sums: &Sums,
) -> rusqlite::Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    for (table, scan, _) in tables {
        let mut statement = conn.prepare(scan)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            if sound(sums, *table, row, |_| Ok(()))?.is_none() {
                found.push((name(*table, row), HOW.to_owned()));
            }
        }
    }
    Ok(found)
}

fn name(table: Table, row: &Row) -> String {
    if table == CONTRACT {
        contract_name(
            row.get_ref(0)
                .and_then(|cell| Ok(cell.as_blob()?))
                .unwrap_or_default(),
        )
    } else if table == SETTING {
        setting_name(&row.get::<_, String>(0).unwrap_or_default())
    } else {
        RESTORE_NAME.to_owned()
    }
}
