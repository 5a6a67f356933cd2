//! The rows of what stays: tombstones, the scopes that they lie in, and evidence that came later. Every one is checked when it is read.

use factum_core::{
    ActionId, Evidence, EvidenceId, Fingerprint, IdentityHash, Scope, State, Timestamp,
};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::fault::while_doing;
use super::row::{count, signed, unsigned};
use super::sums::{Sum, Sums};
use crate::encoding::hex;
use crate::purge::{Remains, ScopeRow, Tombstone, scope_digest};
use crate::texts::{opened_fact, opened_fact_text, sealed_fact, sealed_facts};
use crate::{StoreError, StoreErrorKind};

const STONE_COLUMNS: usize = 11;
const SCOPE_COLUMNS: usize = 7;
const LATE_COLUMNS: usize = 8;
const FORGOTTEN_COLUMNS: usize = 3;

const HOW: &str = "the row does not match its checksum";

fn text(value: &str) -> ValueRef<'_> {
    ValueRef::Text(value.as_bytes())
}

fn instant(at: Option<Timestamp>) -> ValueRef<'static> {
    at.map_or(ValueRef::Null, |at| ValueRef::Integer(at.as_micros()))
}

/// A row that is not what was written.
fn damage(doing: &'static str, what: String) -> StoreError {
    let how = HOW.to_owned();
    StoreError::new(doing, StoreErrorKind::Corrupt { what, how })
}

/// Writes a tombstone.
pub(super) fn put(conn: &Connection, sums: &Sums, stone: &Tombstone) -> rusqlite::Result<()> {
    let (lane, scope) = (stone.identity.lane().0, scope_digest(&stone.scope));
    let action = stone.action.to_bytes();
    let state = stone.state.name();
    let cells = [
        ValueRef::Integer(i64::from(lane)),
        ValueRef::Blob(&stone.identity.0),
        ValueRef::Blob(&action),
        ValueRef::Blob(&stone.fingerprint.0),
        ValueRef::Blob(&stone.digest),
        ValueRef::Blob(&scope),
        text(state),
        instant(stone.intent_at),
        instant(Some(stone.settled_at)),
        instant(Some(stone.purged_at)),
    ];
    let sum = sums.of("tombstone", cells);
    conn.prepare_cached(include_str!("sql/tombstone_insert.sql"))?
        .execute(params![
            lane,
            stone.identity.0,
            action,
            stone.fingerprint.0,
            stone.digest,
            scope,
            state,
            stone.intent_at.map(Timestamp::as_micros),
            stone.settled_at.as_micros(),
            stone.purged_at.as_micros(),
            sum,
        ])?;
    Ok(())
}

/// Writes what is left of an action.
pub(super) fn put_remains(conn: &Connection, sums: &Sums, left: &Remains) -> rusqlite::Result<()> {
    put(conn, sums, &left.tombstone)?;
    let id = left.tombstone.action;
    let facts = sealed_facts(&sums.seals, id, &left.late);
    let mut late = left.late.iter().zip(&facts);
    late.try_for_each(|one| put_late(conn, sums, id, one))
}

/// Removes a tombstone, and what came after it; that the action is forgotten stays.
pub(super) fn remove(conn: &Connection, sums: &Sums, stone: &Tombstone) -> rusqlite::Result<()> {
    let lane = stone.identity.lane().0;
    let (place, action) = (stone.action.lane().0, stone.action.to_bytes());
    let cells = [ValueRef::Integer(i64::from(place)), ValueRef::Blob(&action)];
    let sum = sums.of("forgotten", cells);
    conn.prepare_cached(include_str!("sql/forgotten_insert.sql"))?
        .execute(params![place, action, sum])?;
    conn.prepare_cached(include_str!("sql/late_remove.sql"))?
        .execute(params![stone.action.lane().0, stone.action.to_bytes()])?;
    conn.prepare_cached(include_str!("sql/tombstone_remove.sql"))?
        .execute(params![lane, stone.identity.0])?;
    Ok(())
}

/// Whether an action is known to be forgotten.
pub(super) fn is_forgotten(conn: &Connection, sums: &Sums, id: ActionId) -> rusqlite::Result<bool> {
    let found = conn
        .prepare_cached(include_str!("sql/forgotten_read.sql"))?
        .query_row(params![id.lane().0, id.to_bytes()], |row| {
            sums.holds("forgotten", row, FORGOTTEN_COLUMNS)
        })
        .optional()?;
    Ok(found == Some(true))
}

/// A tombstone without its scope, whose digest is in the row.
type Read = (Tombstone, [u8; 16]);

fn stone(sums: &Sums, row: &Row) -> rusqlite::Result<Result<Read, String>> {
    let named =
        || Ok::<_, rusqlite::Error>(format!("the tombstone {}", hex(row.get_ref(1)?.as_blob()?)));
    if !sums.holds("tombstone", row, STONE_COLUMNS)? {
        return Ok(Err(named()?));
    }
    let Some(state) = State::from_name(&row.get::<_, String>(6)?) else {
        return Ok(Err(named()?));
    };
    let nowhere = Scope {
        tenant: String::new(),
        principal: String::new(),
        destination: String::new(),
        operation: String::new(),
    };
    let stone = Tombstone {
        identity: IdentityHash(row.get(1)?),
        action: ActionId::from_bytes(row.get(2)?),
        fingerprint: Fingerprint(row.get(3)?),
        digest: row.get(4)?,
        scope: nowhere,
        state,
        intent_at: row.get::<_, Option<i64>>(7)?.map(Timestamp::from_micros),
        settled_at: Timestamp::from_micros(row.get(8)?),
        purged_at: Timestamp::from_micros(row.get(9)?),
    };
    Ok(Ok((stone, row.get(5)?)))
}

/// Tombstones that a statement finds, each with its scope.
fn stones(
    conn: &Connection,
    sums: &Sums,
    statement: &str,
    values: impl rusqlite::Params,
    doing: &'static str,
) -> Result<Vec<Tombstone>, StoreError> {
    let sql = while_doing(doing);
    let mut statement = conn.prepare_cached(statement).map_err(&sql)?;
    let rows = statement
        .query_map(values, |row| stone(sums, row))
        .map_err(&sql)?;
    let mut found = Vec::new();
    for row in rows {
        let (stone, digest) = (row.map_err(&sql)?).map_err(|what| damage(doing, what))?;
        let scope = scope_row(conn, sums, &digest, doing)?;
        let gone = || damage(doing, format!("the scope {}", hex(&digest)));
        let scope = scope.ok_or_else(gone)?.scope;
        found.push(Tombstone { scope, ..stone });
    }
    Ok(found)
}

/// The tombstone of an identity.
pub(super) fn find(
    conn: &Connection,
    sums: &Sums,
    identity: IdentityHash,
    doing: &'static str,
) -> Result<Option<Tombstone>, StoreError> {
    let values = params![identity.lane().0, identity.0];
    let found = stones(
        conn,
        sums,
        include_str!("sql/tombstone_find.sql"),
        values,
        doing,
    )?;
    Ok(found.into_iter().next())
}

/// What is left of an action.
pub(super) fn remains(
    conn: &Connection,
    sums: &Sums,
    id: ActionId,
    doing: &'static str,
) -> Result<Option<Remains>, StoreError> {
    let values = params![id.lane().0, id.to_bytes()];
    let found = stones(
        conn,
        sums,
        include_str!("sql/tombstone_read.sql"),
        values,
        doing,
    )?;
    let Some(tombstone) = found.into_iter().next() else {
        return Ok(None);
    };
    let late = late_of(conn, sums, id, doing)?;
    Ok(Some(Remains { tombstone, late }))
}

/// Tombstones of a scope whose intent is older than this.
pub(super) fn old(
    conn: &Connection,
    sums: &Sums,
    scope: &Scope,
    before: Timestamp,
    limit: usize,
    doing: &'static str,
) -> Result<Vec<Tombstone>, StoreError> {
    let values = params![
        scope_digest(scope),
        before.as_micros(),
        signed(count(limit))
    ];
    stones(
        conn,
        sums,
        include_str!("sql/tombstone_old.sql"),
        values,
        doing,
    )
}

/// What is left of every action that was taken away. A row that is not what was written is an error: an export is whole.
pub(super) fn all(
    conn: &Connection,
    sums: &Sums,
    doing: &'static str,
) -> Result<Vec<Remains>, StoreError> {
    let scan = include_str!("sql/tombstone_scan.sql");
    let found = stones(conn, sums, scan, [], doing)?;
    let with_late = |tombstone: Tombstone| {
        let late = late_of(conn, sums, tombstone.action, doing)?;
        Ok(Remains { tombstone, late })
    };
    found.into_iter().map(with_late).collect()
}

fn scope_sum(sums: &Sums, digest: &[u8; 16], row: &ScopeRow) -> Sum {
    let scope = &row.scope;
    let cells = [
        ValueRef::Blob(digest),
        text(&scope.tenant),
        text(&scope.principal),
        text(&scope.destination),
        text(&scope.operation),
        instant(row.forgotten_before),
    ];
    sums.of("scope", cells)
}

/// Writes a scope's row, or raises its watermark.
pub(super) fn put_scope(
    conn: &Connection,
    sums: &Sums,
    scope: &Scope,
    before: Option<Timestamp>,
    doing: &'static str,
) -> Result<(), StoreError> {
    let digest = scope_digest(scope);
    let was = scope_row(conn, sums, &digest, doing)?.and_then(|row| row.forgotten_before);
    let row = ScopeRow {
        scope: scope.clone(),
        forgotten_before: was.max(before),
    };
    let sum = scope_sum(sums, &digest, &row);
    conn.prepare_cached(include_str!("sql/scope_put.sql"))
        .and_then(|mut statement| {
            statement.execute(params![
                digest,
                scope.tenant,
                scope.principal,
                scope.destination,
                scope.operation,
                row.forgotten_before.map(Timestamp::as_micros),
                sum,
            ])
        })
        .map_err(while_doing(doing))?;
    Ok(())
}

/// The row of a scope.
pub(super) fn scope(
    conn: &Connection,
    sums: &Sums,
    scope: &Scope,
    doing: &'static str,
) -> Result<Option<ScopeRow>, StoreError> {
    scope_row(conn, sums, &scope_digest(scope), doing)
}

fn scope_row(
    conn: &Connection,
    sums: &Sums,
    digest: &[u8; 16],
    doing: &'static str,
) -> Result<Option<ScopeRow>, StoreError> {
    let read = conn
        .prepare_cached(include_str!("sql/scope_read.sql"))
        .and_then(|mut statement| {
            statement
                .query_row(params![digest], |row| read_scope(sums, row))
                .optional()
        });
    match read.map_err(while_doing(doing))? {
        None => Ok(None),
        Some(Some(row)) => Ok(Some(row)),
        Some(None) => Err(damage(doing, format!("the scope {}", hex(digest)))),
    }
}

fn read_scope(sums: &Sums, row: &Row) -> rusqlite::Result<Option<ScopeRow>> {
    if !sums.holds("scope", row, SCOPE_COLUMNS)? {
        return Ok(None);
    }
    Ok(Some(ScopeRow {
        scope: Scope {
            tenant: row.get(1)?,
            principal: row.get(2)?,
            destination: row.get(3)?,
            operation: row.get(4)?,
        },
        forgotten_before: row.get::<_, Option<i64>>(5)?.map(Timestamp::from_micros),
    }))
}

/// Every scope's row.
pub(super) fn scopes(
    conn: &Connection,
    sums: &Sums,
    doing: &'static str,
) -> Result<Vec<ScopeRow>, StoreError> {
    let sql = while_doing(doing);
    let mut statement = conn
        .prepare_cached(include_str!("sql/scope_scan.sql"))
        .map_err(&sql)?;
    let rows = statement
        .query_map([], |row| read_scope(sums, row))
        .map_err(&sql)?;
    rows.map(|row| {
        let row = row.map_err(while_doing(doing))?;
        row.ok_or_else(|| damage(doing, "the row of a scope".to_owned()))
    })
    .collect()
}

/// Writes evidence that came after its action was taken away.
pub(super) fn put_late(
    conn: &Connection,
    sums: &Sums,
    id: ActionId,
    (evidence, fact): (&Evidence, &String),
) -> rusqlite::Result<()> {
    let (lane, bytes) = (id.lane().0, id.to_bytes());
    let (no, at) = (signed(evidence.id.0), evidence.at.as_micros());
    let kind = evidence.fact.kind();
    let cells = [
        ValueRef::Integer(i64::from(lane)),
        ValueRef::Blob(&bytes),
        ValueRef::Integer(no),
        ValueRef::Integer(at),
        text(kind),
        text(fact),
        ValueRef::Null,
    ];
    let sum = sums.of("late_evidence", cells);
    conn.prepare_cached(include_str!("sql/late_insert.sql"))?
        .execute(params![lane, bytes, no, at, kind, fact, sum])?;
    Ok(())
}

/// Seals all late evidence anew; damaged rows are left as they are.
pub(super) fn reseal(conn: &Connection, sums: &Sums) -> rusqlite::Result<()> {
    let mut sealed = Vec::new();
    let mut statement = conn.prepare_cached(include_str!("sql/late_scan.sql"))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let id = ActionId::from_bytes(row.get(1)?);
        if !sums.holds("late_evidence", row, LATE_COLUMNS)? {
            continue;
        }
        if let Ok(fact) = opened_fact_text(&sums.seals, id, row.get(5)?) {
            let fact = sealed_fact(&sums.seals, id, &fact);
            let sum = sums.of_row_with("late_evidence", row, LATE_COLUMNS, &[(5, text(&fact))])?;
            sealed.push((id, row.get::<_, i64>(2)?, fact, sum));
        }
    }
    for (id, no, fact, sum) in sealed {
        conn.prepare_cached(include_str!("sql/reseal_late.sql"))?
            .execute(params![id.lane().0, id.to_bytes(), no, fact, sum])?;
    }
    Ok(())
}

fn late_of(
    conn: &Connection,
    sums: &Sums,
    id: ActionId,
    doing: &'static str,
) -> Result<Vec<Evidence>, StoreError> {
    let sql = while_doing(doing);
    let mut statement = conn
        .prepare_cached(include_str!("sql/late_read.sql"))
        .map_err(&sql)?;
    let rows = statement
        .query_map(params![id.lane().0, id.to_bytes()], |row| {
            if !sums.holds("late_evidence", row, LATE_COLUMNS)? {
                return Ok(Err(HOW.to_owned()));
            }
            let (no, at) = (unsigned(row, 2)?, row.get(3)?);
            Ok(
                opened_fact(&sums.seals, id, row.get(5)?).map(|fact| Evidence {
                    id: EvidenceId(no),
                    at: Timestamp::from_micros(at),
                    fact,
                }),
            )
        })
        .map_err(&sql)?;
    rows.map(|row| {
        let what = format!("late evidence of action {id}");
        let corrupt = |how| StoreError::new(doing, StoreErrorKind::Corrupt { what, how });
        row.map_err(while_doing(doing))?.map_err(corrupt)
    })
    .collect()
}

/// Rows that are not what was written.
pub(super) fn damaged(conn: &Connection, sums: &Sums) -> rusqlite::Result<Vec<(String, String)>> {
    let tables = [
        (
            "tombstone",
            STONE_COLUMNS,
            include_str!("sql/tombstone_scan.sql"),
        ),
        ("scope", SCOPE_COLUMNS, include_str!("sql/scope_scan.sql")),
        (
            "late_evidence",
            LATE_COLUMNS,
            include_str!("sql/late_scan.sql"),
        ),
        (
            "forgotten",
            FORGOTTEN_COLUMNS,
            include_str!("sql/forgotten_scan.sql"),
        ),
    ];
    let mut found = Vec::new();
    for (table, columns, scan) in tables {
        let mut statement = conn.prepare(scan)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            if !sums.holds(table, row, columns)? {
                found.push((format!("a row of {table}"), HOW.to_owned()));
            }
        }
    }
    Ok(found)
}
