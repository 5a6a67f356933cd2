//! Reports and names in the file: their rows, and the backend's side of how they find each other.

use factum_core::evidence::Callback;
use factum_core::{ActionId, Fact, Lane, Timestamp};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::fault::while_doing;
use super::ops;
use super::row::{signed, unsigned};
use super::sums::{Sum, Sums};
use super::writer::Work;
use crate::matching::{self, Known, REPORTS_MAX, Shelf};
use crate::report::{Delivered, KeptReport, Report, ReportFilter, ReportId, Site};
use crate::texts::{Penned, opened_report, sealed_report};
use crate::{StoreError, StoreErrorKind, shared};

pub(super) const DELIVERING: &str = "keeping a report";

const READING_ALL: &str = "exporting reports";

const REPORT_COLUMNS: usize = 9;
const KNOWN_COLUMNS: usize = 4;

/// The store's file while reports and actions find each other, inside one job.
pub(super) struct OnFile<'a> {
    pub(super) work: &'a mut Work,
    pub(super) doing: &'static str,
}

/// Keeps a report, and gives it to the action that it names.
pub(super) fn deliver(
    work: &mut Work,
    report: Report,
    forget_before: Timestamp,
) -> Result<Delivered, StoreError> {
    let sql = while_doing(DELIVERING);
    if let Some(action) = find(&work.conn, &report.id).map_err(&sql)? {
        return Ok(Delivered::Repeated(action));
    }
    let at = work.now();
    work.write();
    let kept = insert(&work.conn, &work.sums, at, report).map_err(&sql)?;
    forget(&work.conn, forget_before, kept.no).map_err(&sql)?;
    let shelf = &mut OnFile {
        work,
        doing: DELIVERING,
    };
    matching::deliver(shelf, &kept)
}

impl Shelf for OnFile<'_> {
    fn known_by(&mut self, known: &Known) -> Result<Vec<ActionId>, StoreError> {
        known_by(&self.work.conn, &self.work.sums, &known.hash()).map_err(while_doing(self.doing))
    }

    fn know(&mut self, id: ActionId, known: &Known) -> Result<(), StoreError> {
        know(&self.work.conn, &self.work.sums, id, &known.hash()).map_err(while_doing(self.doing))
    }

    fn waiting(&mut self, known: &Known) -> Result<Vec<KeptReport>, StoreError> {
        waiting(&self.work.conn, &self.work.sums, &known.hash()).map_err(while_doing(self.doing))
    }

    fn settle(&mut self, report: &KeptReport, id: ActionId) -> Result<(), StoreError> {
        let settled = KeptReport {
            action: Some(id),
            ..report.clone()
        };
        let work = &mut self.work;
        work.write();
        update(&work.conn, &work.sums, &settled).map_err(while_doing(self.doing))
    }

    fn has(&mut self, id: ActionId, callback: &Callback) -> Result<bool, StoreError> {
        let record = ops::held(self.work, id, self.doing)?;
        Ok(record.known.has_called_back(callback))
    }

    fn add(&mut self, id: ActionId, facts: Vec<Fact>) -> Result<(), StoreError> {
        let record = ops::held(self.work, id, self.doing)?;
        let now = self.work.now();
        let next = shared::decide_anew(now);
        let facts = Penned::of(&self.work.sums.seals, id, facts);
        ops::append_only(self.work, record, now, facts, next, self.doing).map(|_| ())
    }
}

fn lane(id: ActionId) -> i64 {
    let Lane(lane) = id.lane();
    i64::from(lane)
}

fn known_sum(sums: &Sums, name: &[u8], id: ActionId) -> Sum {
    sums.of(
        "known_by",
        [
            ValueRef::Blob(name),
            ValueRef::Integer(lane(id)),
            ValueRef::Blob(&id.to_bytes()),
        ],
    )
}

pub(super) fn know(
    conn: &Connection,
    sums: &Sums,
    id: ActionId,
    name: &[u8; 32],
) -> rusqlite::Result<()> {
    conn.prepare_cached(include_str!("sql/known_by_insert.sql"))?
        .execute(params![
            name,
            lane(id),
            id.to_bytes(),
            known_sum(sums, name, id)
        ])?;
    Ok(())
}

/// Rows that are not what was written lead nowhere.
fn known_by(conn: &Connection, sums: &Sums, name: &[u8; 32]) -> rusqlite::Result<Vec<ActionId>> {
    let mut statement = conn.prepare_cached(include_str!("sql/known_by_read.sql"))?;
    let mut rows = statement.query(params![name])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        if sums.holds("known_by", row, KNOWN_COLUMNS)? {
            found.push(ActionId::from_bytes(row.get(2)?));
        }
    }
    Ok(found)
}

fn report_sum(sums: &Sums, kept: &KeptReport, (readings, body): &(String, Vec<u8>)) -> Sum {
    let report = &kept.report;
    let action = kept.action.map(|id| (lane(id), id.to_bytes()));
    fn text(text: &str) -> ValueRef<'_> {
        ValueRef::Text(text.as_bytes())
    }
    sums.of(
        "report",
        [
            ValueRef::Blob(&report.id.0),
            ValueRef::Integer(kept.at.as_micros()),
            text(&report.site.tenant),
            text(&report.site.destination),
            text(readings),
            ValueRef::Blob(body),
            action.map_or(ValueRef::Null, |(lane, _)| ValueRef::Integer(lane)),
            action
                .as_ref()
                .map_or(ValueRef::Null, |(_, id)| ValueRef::Blob(id)),
        ],
    )
}

fn insert(
    conn: &Connection,
    sums: &Sums,
    at: Timestamp,
    report: Report,
) -> rusqlite::Result<KeptReport> {
    let texts = sealed_report(&sums.seals, &report);
    let mut kept = KeptReport {
        no: 0,
        at,
        report,
        action: None,
    };
    let report = &kept.report;
    let no = conn
        .prepare_cached(include_str!("sql/report_insert.sql"))?
        .query_row(
            params![
                report.id.0,
                at.as_micros(),
                report.site.tenant,
                report.site.destination,
                texts.0,
                texts.1,
                report_sum(sums, &kept, &texts),
            ],
            |row| unsigned(row, 0),
        )?;
    let mut name_insert = conn.prepare_cached(include_str!("sql/report_name_insert.sql"))?;
    for known in matching::names_on(report) {
        name_insert.execute(params![known.hash(), signed(no)])?;
    }
    kept.no = no;
    Ok(kept)
}

fn update(conn: &Connection, sums: &Sums, kept: &KeptReport) -> rusqlite::Result<()> {
    let texts = sealed_report(&sums.seals, &kept.report);
    conn.prepare_cached(include_str!("sql/report_match.sql"))?
        .execute(params![
            signed(kept.no),
            kept.action.map(lane),
            kept.action.map(ActionId::to_bytes),
            report_sum(sums, kept, &texts),
            texts.0,
            texts.1,
        ])?;
    Ok(())
}

/// Forgets the oldest reports: a few with each new one, so that no single one waits long.
fn forget(conn: &Connection, before: Timestamp, newest: u64) -> rusqlite::Result<()> {
    let surplus = signed(newest) - signed(REPORTS_MAX);
    conn.prepare_cached(include_str!("sql/report_forget.sql"))?
        .execute(params![before.as_micros(), surplus, signed(newest)])?;
    Ok(())
}

/// The action of a report that came before, if it did come.
fn find(conn: &Connection, id: &ReportId) -> rusqlite::Result<Option<Option<ActionId>>> {
    conn.prepare_cached(include_str!("sql/report_find.sql"))?
        .query_row(params![id.0], |row| {
            let action: Option<[u8; 16]> = row.get(7)?;
            Ok(action.map(ActionId::from_bytes))
        })
        .optional()
}

fn waiting(conn: &Connection, sums: &Sums, name: &[u8; 32]) -> rusqlite::Result<Vec<KeptReport>> {
    let mut statement = conn.prepare_cached(include_str!("sql/report_waiting.sql"))?;
    let rows = statement.query_map(params![name], |row| kept(sums, row))?;
    rows.filter_map(Result::transpose).collect()
}

/// Reports of a tenant, newest first.
pub(super) fn list(
    conn: &Connection,
    sums: &Sums,
    filter: &ReportFilter,
) -> Result<Vec<KeptReport>, StoreError> {
    let sql = while_doing("listing reports");
    let statement = if filter.unmatched {
        include_str!("sql/report_list_unmatched.sql")
    } else {
        include_str!("sql/report_list.sql")
    };
    let mut statement = conn.prepare_cached(statement).map_err(&sql)?;
    let before = filter.before.map_or(i64::MAX, signed);
    // All rows are gone through until enough are whole: damaged ones make a page no shorter.
    let rows = statement
        .query_map(params![filter.tenant, before, -1], |row| kept(sums, row))
        .map_err(&sql)?;
    rows.filter_map(Result::transpose)
        .take(filter.limit)
        .collect::<Result<_, _>>()
        .map_err(sql)
}

/// A row of `report`; `None` if it is not what was written.
fn kept(sums: &Sums, row: &Row) -> rusqlite::Result<Option<KeptReport>> {
    if !sums.holds("report", row, REPORT_COLUMNS)? {
        return Ok(None);
    }
    let id = ReportId(row.get(0)?);
    let texts = (row.get(4)?, row.get(5)?);
    let Ok((readings, body)) = opened_report(&sums.seals, &id, texts) else {
        return Ok(None);
    };
    let action: Option<[u8; 16]> = row.get(7)?;
    Ok(Some(KeptReport {
        no: unsigned(row, 9)?,
        at: Timestamp::from_micros(row.get(1)?),
        report: Report {
            id,
            site: Site {
                tenant: row.get(2)?,
                destination: row.get(3)?,
            },
            readings,
            body,
        },
        action: action.map(ActionId::from_bytes),
    }))
}

/// Seals a report anew; a damaged one is left as it is.
pub(super) fn reseal(conn: &Connection, sums: &Sums, row: &Row) -> rusqlite::Result<()> {
    let Some(kept) = kept(sums, row)? else {
        return Ok(());
    };
    let texts = sealed_report(&sums.seals, &kept.report);
    let sum = report_sum(sums, &kept, &texts);
    conn.prepare_cached(include_str!("sql/reseal_report.sql"))?
        .execute(params![kept.report.id.0, texts.0, texts.1, sum])?;
    Ok(())
}

/// Every report, oldest first. One that is not what was written is an error: an export is whole.
pub(super) fn all(conn: &Connection, sums: &Sums) -> Result<Vec<KeptReport>, StoreError> {
    let sql = while_doing(READING_ALL);
    let mut statement = conn
        .prepare(include_str!("sql/report_scan.sql"))
        .map_err(&sql)?;
    let mut rows = statement.query([]).map_err(&sql)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().map_err(&sql)? {
        match kept(sums, row).map_err(&sql)? {
            Some(kept) => found.push(kept),
            None => {
                let what = format!("report {}", unsigned(row, 9).map_err(&sql)?);
                let how = "the row does not match its checksum".to_owned();
                let kind = StoreErrorKind::Corrupt { what, how };
                return Err(StoreError::new(READING_ALL, kind));
            }
        }
    }
    found.sort_by_key(|kept| kept.no);
    Ok(found)
}

/// Writes a report as it was kept elsewhere.
pub(super) fn put(conn: &Connection, sums: &Sums, kept: &KeptReport) -> rusqlite::Result<()> {
    let report = &kept.report;
    let texts = sealed_report(&sums.seals, report);
    conn.prepare_cached(include_str!("sql/report_import.sql"))?
        .execute(params![
            signed(kept.no),
            report.id.0,
            kept.at.as_micros(),
            report.site.tenant,
            report.site.destination,
            texts.0,
            texts.1,
            kept.action.map(lane),
            kept.action.map(ActionId::to_bytes),
            report_sum(sums, kept, &texts),
        ])?;
    let mut name_insert = conn.prepare_cached(include_str!("sql/report_name_insert.sql"))?;
    for known in matching::names_on(report) {
        name_insert.execute(params![known.hash(), signed(kept.no)])?;
    }
    Ok(())
}

/// The names of an action, as they are indexed.
pub(super) fn names_of(
    conn: &Connection,
    sums: &Sums,
    id: ActionId,
) -> rusqlite::Result<Vec<[u8; 32]>> {
    let mut statement = conn.prepare_cached(include_str!("sql/known_by_of.sql"))?;
    let mut rows = statement.query(params![lane(id), id.to_bytes()])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        if sums.holds("known_by", row, KNOWN_COLUMNS)? {
            found.push(row.get(0)?);
        }
    }
    Ok(found)
}

/// Reports and names that are not what was written.
pub(super) fn damaged(conn: &Connection, sums: &Sums) -> rusqlite::Result<Vec<(String, String)>> {
    let how = || "the row does not match its checksum".to_owned();
    let mut found = Vec::new();
    let mut statement = conn.prepare(include_str!("sql/report_scan.sql"))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if kept(sums, row)?.is_none() {
            found.push((format!("report {}", unsigned(row, 9)?), how()));
        }
    }
    let mut statement = conn.prepare(include_str!("sql/known_by_scan.sql"))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if !sums.holds("known_by", row, KNOWN_COLUMNS)? {
            let what = row.get(2).map_or("an action".to_owned(), |id| {
                format!("action {}", ActionId::from_bytes(id))
            });
            found.push((format!("a name of {what}"), how()));
        }
    }
    Ok(found)
}
