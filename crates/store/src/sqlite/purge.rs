//! Retention in the file: pages of what is settled, what is taken away, and what stays of it. `graves` has the rows.

use std::sync::Arc;

use factum_core::{ActionId, Lane, Scope, Timestamp};
use rusqlite::{Connection, params};

use super::fault::while_doing;
use super::graves;
use super::ops;
use super::readers::{Damaged, Reader, noted};
use super::register;
use super::row::{self, count, signed};
use super::sums::Sums;
use super::writer::Work;
use crate::purge::{self, Purge, Purged, ScopeRow, SettledPage, Take, Tombstone};
use crate::record::{Action, Admission, Admitted, Record};
use crate::register::EntryKey;
use crate::texts::Penned;
use crate::{StoreError, StoreErrorKind};

pub(super) const READING: &str = "looking what is settled";
pub(super) const PURGING: &str = "purging";

impl Reader {
    /// The settled actions among the next ones.
    pub(super) fn settled(
        &mut self,
        after: Option<ActionId>,
        made_before: Timestamp,
        limit: usize,
    ) -> Result<SettledPage, StoreError> {
        self.at_once(READING, |conn, sums, damaged| {
            let ids = page(conn, after, made_before, limit).map_err(while_doing(READING))?;
            let mut found = SettledPage {
                settled: Vec::new(),
                last: ids.last().map(|(id, _)| *id),
            };
            for (id, _) in ids.into_iter().filter(|(_, settled)| *settled) {
                found.settled.extend(whole(conn, sums, damaged, id)?);
            }
            Ok(found)
        })
    }
}

fn page(
    conn: &Connection,
    after: Option<ActionId>,
    made_before: Timestamp,
    limit: usize,
) -> rusqlite::Result<Vec<(ActionId, bool)>> {
    let end = ActionId::new(made_before, Lane(0), 0).first_of_its_millisecond();
    let after = after.map_or([0; 16], ActionId::to_bytes);
    conn.prepare_cached(include_str!("sql/settled_page.sql"))?
        .query_map(
            params![after, end.to_bytes(), signed(count(limit))],
            |row| Ok((ActionId::from_bytes(row.get(0)?), row.get(1)?)),
        )?
        .collect()
}

/// An action with the stamp of the last word about it; none where it is damaged, which is noted.
fn whole(
    conn: &Connection,
    sums: &Sums,
    damaged: &Damaged,
    id: ActionId,
) -> Result<Option<(Record, Timestamp)>, StoreError> {
    let read = row::read_record(conn, sums, id, READING);
    let record = match noted(read, id, damaged) {
        Err(error) if matches!(error.kind, StoreErrorKind::Corrupt { .. }) => return Ok(None),
        read => read?,
    };
    let Some(record) = record else {
        return Ok(None);
    };
    let evidence = row::read_evidence(conn, sums, id, READING)?;
    let last = purge::last_word(&evidence, &record);
    Ok(Some((record, last)))
}

/// What an identity comes to that no action has: its tombstone, or that it is forgotten.
pub(super) fn answer(work: &Work, admission: &Admission) -> Result<Option<Admitted>, StoreError> {
    let action = &admission.action;
    let (conn, sums) = (&work.conn, &work.sums);
    if let Some(stone) = graves::find(conn, sums, action.identity_hash, ops::ADMITTING)? {
        return Ok(Some(Admitted::Gone(Box::new(stone))));
    }
    let row = graves::scope(conn, sums, &action.scope, ops::ADMITTING)?;
    let Some(before) = purge::is_forgotten(row.as_ref(), admission.oldest, action) else {
        return Ok(None);
    };
    // Whoever repeats an identity that is kept joins, however old it is.
    let known = row::find(conn, action.identity_hash).map_err(while_doing(ops::ADMITTING))?;
    Ok(known.is_none().then_some(Admitted::Forgotten(before)))
}

/// Takes away what may be taken, in this one transaction.
pub(super) fn purge(work: &mut Work, wishes: Vec<Purge>, under: u64) -> Result<Purged, StoreError> {
    let sql = while_doing(PURGING);
    if !register::is_under(&work.conn, Some(under)).map_err(&sql)? {
        return Ok(Purged::Stale);
    }
    let mut done = Vec::new();
    for wish in purge::taken_up(wishes) {
        let record = match work.take(wish.action, PURGING) {
            // A damaged action is held as it is.
            Err(error) if matches!(error.kind, StoreErrorKind::Corrupt { .. }) => continue,
            taken => taken?,
        };
        let Some(record) = record else { continue };
        let fits = purge::fits(&wish, &record)
            && (wish.take == Take::Content
                || !is_needed(&work.conn, &record.action).map_err(&sql)?);
        if !fits {
            work.keep(record);
            continue;
        }
        work.touch(wish.action);
        match wish.take {
            Take::Content => empty(work, &wish, record)?,
            Take::Action => take_away(work, &record)?,
        }
        remove_entries(&work.conn, &wish.entries).map_err(&sql)?;
        done.push(wish.action);
    }
    Ok(Purged::Done(done))
}

/// Whether an earlier action on its subject, which may still be sent, has to know that it was there (R14).
fn is_needed(conn: &Connection, action: &Action) -> rusqlite::Result<bool> {
    let Some(subject) = &action.content.subject else {
        return Ok(false);
    };
    conn.prepare_cached(include_str!("sql/subject_open.sql"))?
        .exists(params![
            action.scope.tenant,
            action.scope.destination,
            subject
        ])
}

fn empty(work: &mut Work, wish: &Purge, mut record: Record) -> Result<(), StoreError> {
    let now = work.now();
    record.action = Arc::new(purge::without_content(&record.action, now));
    row::rewrite_action(&work.conn, &work.sums, &record.action).map_err(while_doing(PURGING))?;
    let next = record.next.clone();
    let note = Penned::of(&work.sums.seals, record.id(), vec![purge::noted(wish)]);
    ops::append_only(work, record, now, note, next, PURGING).map(|_| ())
}

fn take_away(work: &mut Work, record: &Record) -> Result<(), StoreError> {
    const ROWS: [&str; 5] = [
        include_str!("sql/evidence_remove.sql"),
        include_str!("sql/known_by_remove.sql"),
        include_str!("sql/report_remove.sql"),
        include_str!("sql/standing_remove.sql"),
        include_str!("sql/action_remove.sql"),
    ];
    let sql = while_doing(PURGING);
    let id = record.id();
    let evidence = row::read_evidence(&work.conn, &work.sums, id, PURGING)?;
    let settled_at = purge::last_word(&evidence, record);
    let stone = Tombstone::of(record, settled_at, work.now());
    // The tombstone first: without it the log cannot be removed.
    graves::put_scope(&work.conn, &work.sums, &stone.scope, None, PURGING)?;
    graves::put(&work.conn, &work.sums, &stone).map_err(&sql)?;
    for statement in ROWS {
        work.conn
            .prepare_cached(statement)
            .and_then(|mut statement| statement.execute(params![id.lane().0, id.to_bytes()]))
            .map_err(&sql)?;
    }
    work.claims.free(id);
    Ok(())
}

fn remove_entries(conn: &Connection, keys: &[EntryKey]) -> rusqlite::Result<()> {
    let mut statement = conn.prepare_cached(include_str!("sql/entry_remove.sql"))?;
    for key in keys.iter().filter(|key| !key.kind.is_authority()) {
        statement.execute(params![key.kind.word(), key.tenant, key.id])?;
    }
    Ok(())
}

/// Keeps what came after an action was taken away.
pub(super) fn late(work: &mut Work, id: ActionId, facts: Penned) -> Result<(), StoreError> {
    let (conn, sums) = (&work.conn, &work.sums);
    let Some(left) = graves::remains(conn, sums, id, ops::RECORDING)? else {
        return Ok(());
    };
    let evidence = purge::late_evidence(left.late.len(), facts.facts, work.now());
    for one in evidence.iter().zip(&facts.texts) {
        graves::put_late(conn, sums, id, one).map_err(while_doing(ops::RECORDING))?;
    }
    work.write();
    Ok(())
}

/// Forgets tombstones of a scope, and raises its watermark.
pub(super) fn forget_identities(
    work: &mut Work,
    scope: &Scope,
    before: Timestamp,
    limit: usize,
) -> Result<u64, StoreError> {
    let (conn, sums) = (&work.conn, &work.sums);
    let old = graves::old(conn, sums, scope, before, limit, PURGING)?;
    if old.is_empty() {
        return Ok(0);
    }
    graves::put_scope(conn, sums, scope, Some(before), PURGING)?;
    for stone in &old {
        graves::remove(conn, sums, stone).map_err(while_doing(PURGING))?;
    }
    work.write();
    Ok(count(old.len()))
}

/// The scopes of which something was taken away.
pub(super) fn scopes(conn: &Connection, sums: &Sums) -> Result<Vec<ScopeRow>, StoreError> {
    graves::scopes(conn, sums, READING)
}
