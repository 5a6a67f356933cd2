//! Looks at every row for `doctor`: checksums, counts, chains, orphans, and SQLite's own check of its pages and indexes.

use factum_core::ActionId;
use rusqlite::{Connection, params};

use super::fault::while_doing;
use super::readers::{Damaged, Reader};
use super::row;
use super::sums::Sums;
use crate::record::Record;
use crate::{StoreError, StoreErrorKind};

const DOING: &str = "verifying the store";

/// Actions that are read in one transaction, so that the log can be emptied in between.
const ROUND: i64 = 500;

/// Findings of one kind at the most.
const FINDINGS_MAX: i64 = 1_000;

/// What a look at every row came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Actions that were read.
    pub actions: u64,
    /// Pieces of evidence that were read, in actions that are not damaged.
    pub records: u64,
    /// Actions whose written state is not what their evidence says today, because another version wrote it. Nothing is lost;
    /// listings by state show the old one until the next record or decision.
    pub outdated: Vec<ActionId>,
    /// What is damaged, and how.
    pub damaged: Vec<(String, String)>,
}

impl Reader {
    /// Reads everything.
    pub(super) fn verify(&mut self) -> Result<Verified, StoreError> {
        let mut verified = Verified::default();
        let (conn, sums, damaged) = self.parts();
        check_pages(conn, &mut verified)?;
        let mut after = (-1, [0; 16]);
        while let Some(last) = round(conn, sums, damaged, after, &mut verified)? {
            after = last;
        }
        for (text, how) in [
            (
                include_str!("sql/standing_orphans.sql"),
                "its fixed row is missing",
            ),
            (
                include_str!("sql/evidence_orphans.sql"),
                "it has evidence, and its fixed row is missing",
            ),
        ] {
            orphans(conn, text, how, &mut verified)?;
        }
        let damaged = super::reports::damaged(conn, sums).map_err(while_doing(DOING))?;
        verified.damaged.extend(damaged);
        let damaged = super::kept::damaged(conn, sums).map_err(while_doing(DOING))?;
        verified.damaged.extend(damaged);
        let damaged = super::notices::damaged(conn, sums).map_err(while_doing(DOING))?;
        verified.damaged.extend(damaged);
        let damaged = super::twins::damaged(conn, sums).map_err(while_doing(DOING))?;
        verified.damaged.extend(damaged);
        let damaged = super::graves::damaged(conn, sums).map_err(while_doing(DOING))?;
        verified.damaged.extend(damaged);
        let damaged = super::register::all_damaged(conn, sums).map_err(while_doing(DOING))?;
        verified.damaged.extend(damaged);
        Ok(verified)
    }
}

/// SQLite's own look at pages and indexes.
fn check_pages(conn: &Connection, verified: &mut Verified) -> Result<(), StoreError> {
    let sql = while_doing(DOING);
    let mut statement = conn.prepare("PRAGMA integrity_check(100)").map_err(&sql)?;
    let lines = statement
        .query_map([], |row| row.get::<_, String>(0))
        .map_err(&sql)?;
    for line in lines {
        let line = line.map_err(&sql)?;
        if line != "ok" {
            verified
                .damaged
                .push(("the database file".to_owned(), line));
        }
    }
    Ok(())
}

/// Reads the next actions; gives the last of them, or `None` behind the end.
fn round(
    conn: &mut Connection,
    sums: &Sums,
    damaged: &Damaged,
    after: (i64, [u8; 16]),
    verified: &mut Verified,
) -> Result<Option<(i64, [u8; 16])>, StoreError> {
    let sql = while_doing(DOING);
    let transaction = conn.transaction().map_err(&sql)?;
    let keys: Vec<(i64, Vec<u8>)> = {
        let mut statement = transaction
            .prepare_cached(include_str!("sql/action_scan.sql"))
            .map_err(&sql)?;
        let rows = statement
            .query_map(params![after.0, after.1, ROUND], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .map_err(&sql)?;
        rows.collect::<Result<_, _>>().map_err(&sql)?
    };
    let mut last = None;
    for (lane, bytes) in keys {
        verified.actions += 1;
        let Ok(bytes) = <[u8; 16]>::try_from(bytes) else {
            let what = format!("an action in lane {lane}");
            verified
                .damaged
                .push((what, "its id is not 16 bytes long".to_owned()));
            continue;
        };
        last = Some((lane, bytes));
        let id = ActionId::from_bytes(bytes);
        match row::read_both(&transaction, sums, id, DOING) {
            Ok(Some((record, state))) => {
                verified.records += row::count(record.known.len());
                if record.status().state != state {
                    verified.outdated.push(id);
                }
                if let Some(how) = broken_chain(&transaction, sums, &record)? {
                    verified.damaged.push((format!("action {id}"), how));
                }
            }
            Ok(None) => verified.damaged.push((
                format!("action {id}"),
                format!("it stands in lane {lane}, which is not its own"),
            )),
            Err(error) => match error.kind {
                StoreErrorKind::Corrupt { what, how } => {
                    super::readers::note(damaged, id, how.clone());
                    verified.damaged.push((what, how));
                }
                _ => return Err(error),
            },
        }
    }
    Ok(last)
}

/// How an action's evidence is not what its chain says, where it has one: each row may be one that this store wrote, and they
/// still not belong together.
fn broken_chain(
    conn: &Connection,
    sums: &Sums,
    record: &Record,
) -> Result<Option<String>, StoreError> {
    let Some(end) = record.chain else {
        return Ok(None);
    };
    let mut link = sums.chains.begin(&record.action);
    for one in row::read_raw(conn, sums, record.id(), DOING)? {
        link = sums.chains.next_raw(&link, &one);
        if one.link != Some(link) {
            let how = format!(
                "record {} of its evidence does not follow on the one before",
                one.no
            );
            return Ok(Some(how));
        }
    }
    let how = "its evidence does not end where its chain does";
    Ok((link != end).then(|| how.to_owned()))
}

fn orphans(
    conn: &Connection,
    text: &str,
    how: &str,
    verified: &mut Verified,
) -> Result<(), StoreError> {
    let sql = while_doing(DOING);
    let mut statement = conn.prepare_cached(text).map_err(&sql)?;
    let ids = statement
        .query_map(params![FINDINGS_MAX], |row| row.get::<_, Vec<u8>>(0))
        .map_err(&sql)?;
    for bytes in ids {
        let bytes = bytes.map_err(&sql)?;
        let what = <[u8; 16]>::try_from(bytes).map_or_else(
            |_| "a row without an action".to_owned(),
            |bytes| format!("action {}", ActionId::from_bytes(bytes)),
        );
        verified.damaged.push((what, how.to_owned()));
    }
    Ok(())
}
