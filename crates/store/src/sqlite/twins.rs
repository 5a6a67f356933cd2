//! The rows of twins in the file (R16): which actions of equal content in one scope may still hold another one off.

use factum_core::ActionId;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::fault::while_doing;
use super::ops::ADMITTING;
use super::row;
use super::sums::Sums;
use super::writer::Work;
use crate::encoding::hex;
use crate::record::{Admission, Admitted, TwinGuard};
use crate::transfer::Twins;
use crate::{StoreError, StoreErrorKind, twins};

const COLUMNS: usize = 4;
const ID: usize = 16;

/// What holds a submission off. Whoever repeats an identity joins, whatever stands beside it.
pub(super) fn before(
    work: &mut Work,
    admission: &Admission,
) -> Result<Option<Admitted>, StoreError> {
    let Some(guard) = admission.twins.filter(|guard| !guard.another) else {
        return Ok(None);
    };
    let action = &admission.action;
    let known = row::find(&work.conn, action.identity_hash).map_err(while_doing(ADMITTING))?;
    if known.is_some() {
        return Ok(None);
    }
    let mut named = Vec::new();
    for id in read(&work.conn, &work.sums, twins::digest(action), ADMITTING)? {
        if let Some(record) = work.take(id, ADMITTING)? {
            work.keep(record.clone());
            named.push(record);
        }
    }
    let first = twins::holder(guard, named, work.now());
    Ok(first.map(|first| Admitted::HeldOff(Box::new(first))))
}

/// A submission under a guard was recorded.
pub(super) fn name(
    work: &mut Work,
    guard: Option<TwinGuard>,
    (digest, id): ([u8; 32], ActionId),
) -> Result<(), StoreError> {
    let Some(guard) = guard else { return Ok(()) };
    let before = match read(&work.conn, &work.sums, digest, ADMITTING) {
        // Whoever means another one gets past a damaged row, and mends it.
        Err(error) if guard.another && matches!(error.kind, StoreErrorKind::Corrupt { .. }) => {
            Vec::new()
        }
        read => read?,
    };
    let actions = twins::with(before, id);
    put(&work.conn, &work.sums, &Twins { digest, actions }).map_err(while_doing(ADMITTING))
}

fn read(
    conn: &Connection,
    sums: &Sums,
    digest: [u8; 32],
    doing: &'static str,
) -> Result<Vec<ActionId>, StoreError> {
    let read = conn
        .prepare_cached(include_str!("sql/twin_read.sql"))
        .and_then(|mut statement| {
            statement
                .query_row(params![digest[0], digest], |row| checked(sums, row))
                .optional()
        });
    match read.map_err(while_doing(doing))? {
        None => Ok(Vec::new()),
        Some(Some(row)) => Ok(row.actions),
        Some(None) => Err(damage(doing, &digest)),
    }
}

/// Writes a row, in place of an earlier one.
pub(super) fn put(conn: &Connection, sums: &Sums, row: &Twins) -> rusqlite::Result<()> {
    let actions: Vec<u8> = row.actions.iter().flat_map(|id| id.to_bytes()).collect();
    let (lane, digest) = (row.digest[0], row.digest);
    let cells = [
        ValueRef::Integer(i64::from(lane)),
        ValueRef::Blob(&digest),
        ValueRef::Blob(&actions),
    ];
    let sum = sums.of("twin", cells);
    conn.prepare_cached(include_str!("sql/twin_put.sql"))?
        .execute(params![lane, digest, actions, sum])?;
    Ok(())
}

/// A row of `twin`; `None` if it is not what was written.
fn checked(sums: &Sums, row: &Row) -> rusqlite::Result<Option<Twins>> {
    if !sums.holds("twin", row, COLUMNS)? {
        return Ok(None);
    }
    let actions: Vec<u8> = row.get(2)?;
    let ids = actions.chunks_exact(ID).filter_map(|id| id.try_into().ok());
    Ok(Some(Twins {
        digest: row.get(1)?,
        actions: ids.map(ActionId::from_bytes).collect(),
    }))
}

/// Every row. One that is not what was written is an error: an export is whole.
pub(super) fn all(
    conn: &Connection,
    sums: &Sums,
    doing: &'static str,
) -> Result<Vec<Twins>, StoreError> {
    let sql = while_doing(doing);
    let mut statement = conn
        .prepare(include_str!("sql/twin_scan.sql"))
        .map_err(&sql)?;
    let mut rows = statement.query([]).map_err(&sql)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().map_err(&sql)? {
        let digest: Vec<u8> = row.get(1).map_err(&sql)?;
        let checked = checked(sums, row).map_err(&sql)?;
        found.push(checked.ok_or_else(|| damage(doing, &digest))?);
    }
    Ok(found)
}

/// Rows that are not what was written.
pub(super) fn damaged(conn: &Connection, sums: &Sums) -> rusqlite::Result<Vec<(String, String)>> {
    let mut statement = conn.prepare(include_str!("sql/twin_scan.sql"))?;
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let digest: Vec<u8> = row.get(1)?;
        if checked(sums, row)?.is_none() {
            found.push((what(&digest), HOW.to_owned()));
        }
    }
    Ok(found)
}

const HOW: &str = "the row does not match its checksum";

fn what(digest: &[u8]) -> String {
    format!("the row of twins {}", hex(digest))
}

fn damage(doing: &'static str, digest: &[u8]) -> StoreError {
    let kind = StoreErrorKind::Corrupt {
        what: what(digest),
        how: HOW.to_owned(),
    };
    StoreError::new(doing, kind)
}
