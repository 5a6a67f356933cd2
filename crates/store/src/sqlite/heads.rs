//! How far the evidence of each action goes, read beside whoever works on the file.

use factum_core::ActionId;
use rusqlite::{Connection, params};

use super::fault::while_doing;
use super::schema::{connect_reader, version_is_known};
use super::{Options, meta, row};
use crate::head::{Census, Head};
use crate::{StoreError, StoreErrorKind};

pub(super) const READING: &str = "reading how far evidence goes";

/// The next actions of a file in the order of their ids. Whoever holds the store goes on meanwhile.
///
/// # Errors
/// Where there is no store, or it cannot be read.
pub fn heads(
    options: &Options,
    after: Option<ActionId>,
    limit: usize,
) -> Result<Vec<Head>, StoreError> {
    page(&read_only(options)?, after, limit).map_err(while_doing(READING))
}

/// What a file's store is called, and how much was taken away.
///
/// # Errors
/// Where there is no store, or it cannot be read.
pub fn census(options: &Options) -> Result<Census, StoreError> {
    counted(&read_only(options)?).map_err(while_doing(READING))
}

fn read_only(options: &Options) -> Result<Connection, StoreError> {
    if !options.path.exists() {
        let path = options.path.display().to_string();
        let why = "there is no store".to_owned();
        let kind = StoreErrorKind::Unsuitable { path, why };
        return Err(StoreError::new(READING, kind));
    }
    let conn = connect_reader(&options.path)?;
    version_is_known(&conn)?;
    Ok(conn)
}

pub(super) fn page(
    conn: &Connection,
    after: Option<ActionId>,
    limit: usize,
) -> rusqlite::Result<Vec<Head>> {
    let after = after.map_or([0; 16], ActionId::to_bytes);
    let mut statement = conn.prepare_cached(include_str!("sql/heads.sql"))?;
    let rows = statement.query_map(params![after, row::signed(row::count(limit))], |found| {
        Ok(Head {
            action: ActionId::from_bytes(found.get(0)?),
            records: row::unsigned(found, 1)?,
            link: found.get(2)?,
        })
    })?;
    rows.collect()
}

pub(super) fn counted(conn: &Connection) -> rusqlite::Result<Census> {
    let store = meta::read(conn)?.map_or([0; 16], |meta| meta.store);
    let taken_away = conn.query_row(include_str!("sql/tombstone_count.sql"), [], |found| {
        row::unsigned(found, 0)
    })?;
    Ok(Census { store, taken_away })
}
