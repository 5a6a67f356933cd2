//! Sealing rows anew with the newest key, a few at a time, so that an older key can be removed; and taking what was overwritten out of
//! the file. Rows that an earlier version wrote in clear are sealed on the way, and their actions get the chain that they lack.
//!
//! The texts themselves are written as they were: nothing is read into values and written from them again.

use std::path::Path;

use factum_core::ActionId;
use rusqlite::{Connection, params};

use super::fault::while_doing;
use super::register;
use super::row::{self, signed, unsigned};
use super::schema::{connect_reader, version_is_known};
use super::sums::Sums;
use super::writer::Work;
use crate::record::Reseal;
use crate::register::{EntryKey, Kind};
use crate::seal::{KeyNumber, pattern};
use crate::{StoreError, StoreErrorKind};

pub(super) const SEALING: &str = "sealing rows anew";

pub(super) const SCOURING: &str = "scouring the file";

/// Seals the next rows; gives where to go on, or `None` at the end. Damaged rows are left as they are.
pub(super) fn reseal(
    work: &mut Work,
    from: Reseal,
    limit: usize,
) -> Result<Option<Reseal>, StoreError> {
    work.write();
    let sql = while_doing(SEALING);
    match from {
        Reseal::Actions(after) => {
            let after = after.map_or([0; 16], ActionId::to_bytes);
            let ids = super::transfer::ids(&work.conn, after, limit).map_err(&sql)?;
            for id in &ids {
                match action(work, *id) {
                    Err(error) if matches!(error.kind, StoreErrorKind::Corrupt { .. }) => {}
                    done => done?,
                }
            }
            Ok(Some(ids.last().map_or(Reseal::Entries(None), |id| {
                Reseal::Actions(Some(*id))
            })))
        }
        Reseal::Entries(after) => {
            let last = entries(&work.conn, &work.sums, after, limit).map_err(sql)?;
            Ok(Some(last.map_or(Reseal::Reports(0), |last| {
                Reseal::Entries(Some(last))
            })))
        }
        Reseal::Reports(after) => {
            let last = reports(&work.conn, &work.sums, after, limit).map_err(sql)?;
            Ok(Some(last.map_or(Reseal::Late, Reseal::Reports)))
        }
        Reseal::Late => {
            super::graves::reseal(&work.conn, &work.sums).map_err(sql)?;
            Ok(None)
        }
    }
}

/// One action with its evidence.
fn action(work: &mut Work, id: ActionId) -> Result<(), StoreError> {
    let sql = while_doing(SEALING);
    // The record in memory may lack the chain that the action gets here.
    let Some(mut record) = work.take(id, SEALING)? else {
        return Ok(());
    };
    let (conn, sums) = (&work.conn, &work.sums);
    let log = row::read_raw(conn, sums, id, SEALING)?;
    row::rewrite_action(conn, sums, &record.action).map_err(&sql)?;
    let mut link = sums.chains.begin(&record.action);
    for mut one in log {
        link = sums.chains.next_raw(&link, &one);
        if record.chain.is_none() {
            one.link = Some(link);
        }
        row::rewrite_evidence(conn, sums, id, &one).map_err(&sql)?;
    }
    if record.chain.is_none() {
        record.chain = Some(link);
        row::rewrite_chain(conn, sums, id, link, SEALING)?;
    }
    work.touch(id);
    work.keep(record);
    Ok(())
}

/// The next entries with their versions; gives the last one's name.
fn entries(
    conn: &Connection,
    sums: &Sums,
    after: Option<(String, String, String)>,
    limit: usize,
) -> rusqlite::Result<Option<(String, String, String)>> {
    let (kind, tenant, id) = after.unwrap_or_default();
    let mut statement = conn.prepare_cached(include_str!("sql/reseal_entries.sql"))?;
    let mut rows = statement.query(params![kind, tenant, id, signed(row::count(limit))])?;
    let mut last = None;
    while let Some(row) = rows.next()? {
        let name: (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        if let Some(kind) = Kind::ALL.into_iter().find(|kind| kind.word() == name.0) {
            let key = EntryKey::new(kind, &name.1, &name.2);
            register::reseal(conn, sums, &key, row)?;
        }
        last = Some(name);
    }
    Ok(last)
}

/// The next reports; gives the last one's number.
fn reports(
    conn: &Connection,
    sums: &Sums,
    after: u64,
    limit: usize,
) -> rusqlite::Result<Option<u64>> {
    let mut statement = conn.prepare_cached(include_str!("sql/reseal_reports.sql"))?;
    let mut rows = statement.query(params![signed(after), signed(row::count(limit))])?;
    let mut last = None;
    while let Some(row) = rows.next()? {
        last = Some(unsigned(row, 9)?);
        super::reports::reseal(conn, sums, row)?;
    }
    Ok(last)
}

/// How many rows of a file are sealed with a key, or with `None` stand in clear. Whoever holds the store goes on meanwhile.
///
/// # Errors
/// Where there is no store, or it cannot be read.
pub fn count_sealed_rows(path: &Path, key: Option<KeyNumber>) -> Result<u64, StoreError> {
    let conn = connect_reader(path)?;
    version_is_known(&conn)?;
    sealed_rows(&conn, key).map_err(while_doing(SEALING))
}

/// How many rows are sealed with a key, or stand in clear.
pub(super) fn sealed_rows(conn: &Connection, key: Option<KeyNumber>) -> rusqlite::Result<u64> {
    let (pattern, like) = pattern(key);
    conn.prepare_cached(include_str!("sql/sealed_rows.sql"))?
        .query_row(params![pattern, like], |row| unsigned(row, 0))
}

/// Takes what was overwritten or deleted out of the file and out of its log.
pub(super) fn scour(conn: &Connection) -> Result<u64, StoreError> {
    let sql = while_doing(SCOURING);
    let number = |pragma: &str| {
        conn.pragma_query_value(None, pragma, |row| unsigned(row, 0))
            .map_err(&sql)
    };
    let before = number("page_count")?;
    conn.execute_batch("VACUUM").map_err(&sql)?;
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .map_err(&sql)?;
    let gone = before.saturating_sub(number("page_count")?);
    Ok(gone * number("page_size")?)
}
