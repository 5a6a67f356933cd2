//! The register in the file: how entries stand, all their versions, and the edition.

use factum_core::{Lane, Timestamp};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::fault::{is_primary_key, while_doing};
use super::notices;
use super::readers::Reader;
use super::row::{count, signed, unsigned};
use super::sums::{Sum, Sums};
use super::writer::Work;
use crate::register::{
    Change, Changed, Entry, EntryFilter, EntryKey, EntryVersion, Kind, Registered, are_distinct,
    makes_edition,
};
use crate::texts::{opened_body, sealed_body, sealed_change};
use crate::{StoreError, StoreErrorKind, shared};

pub(super) const CHANGING: &str = "changing the register";
pub(super) const READING: &str = "reading the register";

const ENTRY_COLUMNS: usize = 12;
const VERSION_COLUMNS: usize = 9;

/// Changes entries, all or none. Their bodies are as they are written.
pub(super) fn change(work: &mut Work, changes: &[Change]) -> Result<Registered, StoreError> {
    let sql = while_doing(CHANGING);
    if !fit(&work.conn, changes).map_err(&sql)? {
        return Ok(Registered::Stale);
    }
    let at = work.now();
    make(work, changes, at)?;
    let edition = edition(&work.conn).map_err(sql)?;
    Ok(Registered::Durable { edition })
}

/// Whether each entry is at the version that it was read at.
pub(super) fn fit(conn: &Connection, changes: &[Change]) -> rusqlite::Result<bool> {
    if !are_distinct(changes) {
        return Ok(false);
    }
    for change in changes {
        let found = conn
            .prepare_cached(include_str!("sql/entry_read.sql"))?
            .query_row(name(&change.key), |row| unsigned(row, 4))
            .optional()?;
        if found.unwrap_or(0) != change.expected {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Writes changes that fit.
pub(super) fn make(work: &mut Work, changes: &[Change], at: Timestamp) -> Result<(), StoreError> {
    work.write();
    for change in changes {
        write(&work.conn, &work.sums, change, at).map_err(|error| {
            if is_primary_key(&error) {
                let text = format!(
                    "{} has a version that it should not have yet",
                    what(&change.key)
                );
                return StoreError::new(CHANGING, StoreErrorKind::Database(text));
            }
            while_doing(CHANGING)(error)
        })?;
        notices::of_change(&work.conn, &work.sums, change, at).map_err(while_doing(CHANGING))?;
    }
    if makes_edition(changes) {
        work.conn
            .prepare_cached(include_str!("sql/edition_next.sql"))
            .and_then(|mut statement| statement.execute([]))
            .map_err(while_doing(CHANGING))?;
    }
    Ok(())
}

/// Forgets old entries of a kind.
pub(super) fn forget(
    work: &mut Work,
    kind: Kind,
    before: Timestamp,
    limit: usize,
) -> Result<u64, StoreError> {
    shared::may_be_forgotten(kind)?;
    let rows = work
        .conn
        .prepare_cached(include_str!("sql/entry_forget.sql"))
        .and_then(|mut statement| {
            statement.execute(params![
                kind.word(),
                before.as_micros(),
                signed(count(limit))
            ])
        })
        .map_err(while_doing(shared::FORGETTING))?;
    if rows > 0 {
        work.write();
    }
    Ok(count(rows))
}

/// Forgets old versions of a kind, all but those that stand.
pub(super) fn forget_versions(
    work: &mut Work,
    kind: Kind,
    before: Timestamp,
) -> Result<u64, StoreError> {
    shared::may_be_forgotten(kind)?;
    let rows = work
        .conn
        .prepare_cached(include_str!("sql/entry_version_forget.sql"))
        .and_then(|mut statement| statement.execute(params![kind.word(), before.as_micros()]))
        .map_err(while_doing(shared::FORGETTING))?;
    if rows > 0 {
        work.write();
    }
    Ok(count(rows))
}

/// How often authority has changed.
pub(super) fn edition(conn: &Connection) -> rusqlite::Result<u64> {
    conn.prepare_cached(include_str!("sql/edition_read.sql"))?
        .query_row([], |row| unsigned(row, 0))
}

/// Whether the register is at this edition, where it has to be.
pub(super) fn is_under(conn: &Connection, wanted: Option<u64>) -> rusqlite::Result<bool> {
    match wanted {
        None => Ok(true),
        Some(wanted) => edition(conn).map(|edition| edition == wanted),
    }
}

impl Reader {
    /// One entry.
    pub(super) fn entry(&mut self, key: &EntryKey) -> Result<Option<Entry>, StoreError> {
        let (conn, sums, _) = self.parts();
        let sql = while_doing(READING);
        let mut statement = conn
            .prepare_cached(include_str!("sql/entry_read.sql"))
            .map_err(&sql)?;
        let mut rows = statement.query(name(key)).map_err(&sql)?;
        match rows.next().map_err(&sql)? {
            Some(row) => entry(sums, key.kind, row).map_err(&sql)?.map(Some),
            None => Ok(None),
        }
    }

    /// Entries by tenant and id.
    pub(super) fn entries(&mut self, filter: &EntryFilter) -> Result<Vec<Entry>, StoreError> {
        let statement = match filter {
            EntryFilter { label: Some(_), .. } => include_str!("sql/entry_list_by_label.sql"),
            EntryFilter {
                tenant: Some(_), ..
            } => include_str!("sql/entry_list_of_tenant.sql"),
            EntryFilter { .. } => include_str!("sql/entry_list.sql"),
        };
        let (tenant, id) = filter.after.clone().unwrap_or_default();
        let values: [&dyn rusqlite::ToSql; 5] = [
            &filter.kind.word(),
            &tenant,
            &id,
            &filter.tenant,
            &filter.label,
        ];
        self.entry_rows(filter.kind, statement, &values, filter.limit)
    }

    /// Entries whose time has come.
    pub(super) fn entries_due(
        &mut self,
        kind: Kind,
        until: Timestamp,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        let values: [&dyn rusqlite::ToSql; 2] = [&kind.word(), &until.as_micros()];
        self.entry_rows(kind, include_str!("sql/entry_due.sql"), &values, limit)
    }

    fn entry_rows(
        &mut self,
        kind: Kind,
        statement: &str,
        values: &[&dyn rusqlite::ToSql],
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        let (conn, sums, _) = self.parts();
        let sql = while_doing(READING);
        let mut statement = conn.prepare_cached(statement).map_err(&sql)?;
        // A statement takes as many of them as it has places for.
        let values = &values[..statement.parameter_count().min(values.len())];
        let mut rows = statement.query(values).map_err(&sql)?;
        let mut found = Vec::new();
        while found.len() < limit {
            let Some(row) = rows.next().map_err(&sql)? else {
                break;
            };
            match entry(sums, kind, row).map_err(&sql)? {
                Ok(whole) => found.push(whole),
                // Authority that cannot be read must not look like authority that is not there.
                Err(damaged) if kind.is_authority() => return Err(damaged),
                Err(_) => {}
            }
        }
        Ok(found)
    }

    /// All versions of an entry.
    pub(super) fn entry_history(
        &mut self,
        key: &EntryKey,
    ) -> Result<Vec<EntryVersion>, StoreError> {
        let (conn, sums, _) = self.parts();
        versions(conn, sums, key)
    }
}

/// All versions of an entry, in their order.
fn versions(
    conn: &Connection,
    sums: &Sums,
    key: &EntryKey,
) -> Result<Vec<EntryVersion>, StoreError> {
    let sql = while_doing(READING);
    let mut statement = conn
        .prepare_cached(include_str!("sql/entry_history.sql"))
        .map_err(&sql)?;
    let mut rows = statement
        .query(params![key.kind.word(), key.tenant, key.id])
        .map_err(&sql)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().map_err(&sql)? {
        if !sums
            .holds("entry_version", row, VERSION_COLUMNS)
            .map_err(&sql)?
        {
            return Err(damaged(format!("a version of {}", what(key))));
        }
        found.push(version(sums, key, row).map_err(&sql)??);
    }
    Ok(found)
}

/// Every entry of a kind with all its versions, in the order of their names.
pub(super) fn all(
    conn: &Connection,
    sums: &Sums,
    kind: Kind,
) -> Result<Vec<(Entry, Vec<EntryVersion>)>, StoreError> {
    let sql = while_doing(READING);
    let mut statement = conn
        .prepare_cached(include_str!("sql/entry_list.sql"))
        .map_err(&sql)?;
    let mut rows = statement
        .query(params![kind.word(), "", ""])
        .map_err(&sql)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().map_err(&sql)? {
        let entry = entry(sums, kind, row).map_err(&sql)??;
        let versions = versions(conn, sums, &entry.key)?;
        found.push((entry, versions));
    }
    Ok(found)
}

/// Writes an entry as it stood elsewhere: its versions, one after the other.
pub(super) fn put(
    conn: &Connection,
    sums: &Sums,
    entry: &Entry,
    versions: Vec<EntryVersion>,
) -> rusqlite::Result<()> {
    for version in versions {
        let change = Change {
            key: entry.key.clone(),
            expected: version.version - 1,
            body: version.body,
            label: entry.label.clone(),
            due: entry.due,
            by: version.changed.by,
            why: version.changed.why,
        };
        let change = sealed_change(&sums.seals, &change);
        write(conn, sums, &change, version.changed.at)?;
    }
    Ok(())
}

/// Entries and versions that are not what was written.
pub(super) fn all_damaged(
    conn: &Connection,
    sums: &Sums,
) -> rusqlite::Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    for (table, text, columns) in [
        ("entry", include_str!("sql/entry_scan.sql"), ENTRY_COLUMNS),
        (
            "entry_version",
            include_str!("sql/entry_version_scan.sql"),
            VERSION_COLUMNS,
        ),
    ] {
        let mut statement = conn.prepare(text)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            if !sums.holds(table, row, columns)? {
                let parts: [String; 3] = [row.get(0)?, row.get(1)?, row.get(2)?];
                found.push((format!("{table} {}", parts.join(" ")), HOW.to_owned()));
            }
        }
    }
    Ok(found)
}

/// Seals an entry and its versions anew; `read` is the entry's row. What is damaged is left as it is.
pub(super) fn reseal(
    conn: &Connection,
    sums: &Sums,
    key: &EntryKey,
    read: &Row,
) -> rusqlite::Result<()> {
    if let Some((body, sum)) = resealed(sums, ("entry", ENTRY_COLUMNS, 5), key, read)? {
        conn.prepare_cached(include_str!("sql/reseal_entry.sql"))?
            .execute(params![key.kind.word(), key.tenant, key.id, body, sum])?;
    }
    let mut versions = Vec::new();
    {
        let mut statement = conn.prepare_cached(include_str!("sql/entry_history.sql"))?;
        let mut rows = statement.query(params![key.kind.word(), key.tenant, key.id])?;
        while let Some(row) = rows.next()? {
            let number: i64 = row.get(3)?;
            let new = resealed(sums, ("entry_version", VERSION_COLUMNS, 4), key, row)?;
            versions.extend(new.map(|(body, sum)| (number, body, sum)));
        }
    }
    for (number, body, sum) in versions {
        conn.prepare_cached(include_str!("sql/reseal_version.sql"))?
            .execute(params![
                key.kind.word(),
                key.tenant,
                key.id,
                number,
                body,
                sum
            ])?;
    }
    Ok(())
}

/// The body of a row, sealed anew, and the row's checksum then; `None` for a damaged one.
fn resealed(
    sums: &Sums,
    (table, columns, at): (&str, usize, usize),
    key: &EntryKey,
    row: &Row,
) -> rusqlite::Result<Option<(String, Sum)>> {
    if !sums.holds(table, row, columns)? {
        return Ok(None);
    }
    let Ok(body) = opened_body(&sums.seals, key, row.get(at)?) else {
        return Ok(None);
    };
    let body = sealed_body(&sums.seals, key, &body);
    let sum = sums.of_row_with(table, row, columns, &[(at, text(&body))])?;
    Ok(Some((body, sum)))
}

const HOW: &str = "the row does not match its checksum";

fn what(key: &EntryKey) -> String {
    format!("{} {} of tenant {}", key.kind.word(), key.id, key.tenant)
}

fn damaged(what: String) -> StoreError {
    unreadable(what, HOW.to_owned())
}

fn unreadable(what: String, how: String) -> StoreError {
    StoreError::new(READING, StoreErrorKind::Corrupt { what, how })
}

fn name(key: &EntryKey) -> (&'static str, &str, &str, i64) {
    (key.kind.word(), &key.tenant, &key.id, lane(key))
}

fn lane(key: &EntryKey) -> i64 {
    i64::from(key.lane().0)
}

fn write(conn: &Connection, sums: &Sums, change: &Change, at: Timestamp) -> rusqlite::Result<()> {
    let key = &change.key;
    let version = signed(change.expected + 1);
    let due = change.due.map(Timestamp::as_micros);
    let sum = entry_sum(sums, change, at);
    conn.prepare_cached(include_str!("sql/entry_put.sql"))?
        .execute(params![
            key.kind.word(),
            key.tenant,
            key.id,
            lane(key),
            version,
            change.body,
            change.label,
            due,
            at.as_micros(),
            change.by,
            change.why,
            sum
        ])?;
    let sum = version_sum(sums, change, at);
    conn.prepare_cached(include_str!("sql/entry_version_insert.sql"))?
        .execute(params![
            key.kind.word(),
            key.tenant,
            key.id,
            version,
            change.body,
            at.as_micros(),
            change.by,
            change.why,
            sum
        ])?;
    Ok(())
}

fn text(text: &str) -> ValueRef<'_> {
    ValueRef::Text(text.as_bytes())
}

fn entry_sum(sums: &Sums, change: &Change, at: Timestamp) -> Sum {
    let key = &change.key;
    let due = change.due.map(Timestamp::as_micros);
    sums.of(
        "entry",
        [
            text(key.kind.word()),
            text(&key.tenant),
            text(&key.id),
            ValueRef::Integer(lane(key)),
            ValueRef::Integer(signed(change.expected + 1)),
            text(&change.body),
            change.label.as_deref().map_or(ValueRef::Null, text),
            due.map_or(ValueRef::Null, ValueRef::Integer),
            ValueRef::Integer(at.as_micros()),
            text(&change.by),
            text(&change.why),
        ],
    )
}

fn version_sum(sums: &Sums, change: &Change, at: Timestamp) -> Sum {
    let key = &change.key;
    sums.of(
        "entry_version",
        [
            text(key.kind.word()),
            text(&key.tenant),
            text(&key.id),
            ValueRef::Integer(signed(change.expected + 1)),
            text(&change.body),
            ValueRef::Integer(at.as_micros()),
            text(&change.by),
            text(&change.why),
        ],
    )
}

/// A row of `entry`, or that it is not what was written.
fn entry(sums: &Sums, kind: Kind, row: &Row) -> rusqlite::Result<Result<Entry, StoreError>> {
    let (tenant, id): (String, String) = (row.get(1)?, row.get(2)?);
    let lane = u8::try_from(row.get::<_, i64>(3)?).map(Lane);
    let whole = sums.holds("entry", row, ENTRY_COLUMNS)?;
    let (Ok(lane), true) = (lane, whole) else {
        return Ok(Err(damaged(what(&EntryKey::new(kind, tenant, id)))));
    };
    let key = EntryKey::beside(lane, kind, tenant, id);
    let body = match opened_body(&sums.seals, &key, row.get(5)?) {
        Ok(body) => body,
        Err(how) => return Ok(Err(unreadable(what(&key), how))),
    };
    Ok(Ok(Entry {
        key,
        version: unsigned(row, 4)?,
        body,
        label: row.get(6)?,
        due: row.get::<_, Option<i64>>(7)?.map(Timestamp::from_micros),
        changed: changed(row, 8)?,
    }))
}

fn version(
    sums: &Sums,
    key: &EntryKey,
    row: &Row,
) -> rusqlite::Result<Result<EntryVersion, StoreError>> {
    let body = match opened_body(&sums.seals, key, row.get(4)?) {
        Ok(body) => body,
        Err(how) => return Ok(Err(unreadable(format!("a version of {}", what(key)), how))),
    };
    Ok(Ok(EntryVersion {
        version: unsigned(row, 3)?,
        body,
        changed: changed(row, 5)?,
    }))
}

fn changed(row: &Row, from: usize) -> rusqlite::Result<Changed> {
    Ok(Changed {
        at: Timestamp::from_micros(row.get(from)?),
        by: row.get(from + 1)?,
        why: row.get(from + 2)?,
    })
}
