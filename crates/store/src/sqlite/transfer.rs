//! The whole file out of one moment, while its holder goes on; and an export into an empty file, in one transaction.

use std::io::Write;

use factum_core::{ActionId, Evidence, Timestamp};
use rusqlite::types::FromSql;
use rusqlite::{Connection, params};

use super::fault::while_doing;
use super::register;
use super::row::{self, Standing, signed};
use super::schema::{connect_reader, version_is_known};
use super::sums::Sums;
use super::writer::Work;
use super::{Options, SqliteStore, graves, kept, reports, twins};
use crate::encoding::hex;
use crate::record::{IMPORTED_AT, RETIRED, Record, Restore};
use crate::register::Kind;
use crate::texts::{ActionTexts, penned_log};
use crate::transfer::{
    ActionLine, Counts, EntryLine, Import, Line, Newest, RestoreLine, ScopeLine, TombstoneLine,
    TwinLine, Writer, bytes, check_empty, is_moved, kept_report, report_line,
};
use crate::{StoreError, StoreErrorKind, shared};

const EXPORTING: &str = "exporting the store";
pub(super) const IMPORTING: &str = "importing a store";

/// Actions that are looked up at once.
const PAGE: usize = 500;

/// Writes everything of one moment. Whoever holds the store goes on meanwhile.
///
/// # Errors
/// `Unsuitable` if there is no store, `Corrupt` for a row that is not what was written, or what the disk says.
pub fn export(options: &Options, out: &mut (dyn Write + Send)) -> Result<Counts, StoreError> {
    let sql = while_doing(EXPORTING);
    if !options.path.exists() {
        let path = options.path.display().to_string();
        let why = "there is no store to export".to_owned();
        let kind = StoreErrorKind::Unsuitable { path, why };
        return Err(StoreError::new(EXPORTING, kind));
    }
    let conn = connect_reader(&options.path)?;
    version_is_known(&conn)?;
    // One snapshot from the first read on.
    conn.execute_batch("BEGIN").map_err(&sql)?;
    let sums = Sums::new(&options.keys, &options.seals);
    let retired = kept::setting(&conn, &sums, RETIRED, EXPORTING)?.is_some();
    let mut writer = Writer::begin(out, &options.keys, retired)?;
    head(&conn, &sums, &mut writer)?;
    for kind in Kind::ALL {
        for entry in register::all(&conn, &sums, kind)? {
            writer.line(&Line::Entry(EntryLine::of(&entry.0, entry.1)))?;
        }
    }
    let mut after = [0; 16];
    loop {
        let ids = ids(&conn, after, PAGE).map_err(&sql)?;
        let Some(last) = ids.last() else { break };
        after = last.to_bytes();
        for id in ids {
            writer.line(&Line::Action(Box::new(action(&conn, &sums, id)?)))?;
        }
    }
    for row in twins::all(&conn, &sums, EXPORTING)? {
        writer.line(&Line::Twin(TwinLine::of(&row)))?;
    }
    for row in graves::scopes(&conn, &sums, EXPORTING)? {
        writer.line(&Line::Scope(ScopeLine::of(&row)))?;
    }
    for left in graves::all(&conn, &sums, EXPORTING)? {
        writer.line(&Line::Tombstone(Box::new(TombstoneLine::of(&left))))?;
    }
    for kept in reports::all(&conn, &sums)? {
        writer.line(&Line::Report(report_line(&kept)))?;
    }
    writer.end()
}

/// Contracts, settings, the last restore, the edition.
fn head(conn: &Connection, sums: &Sums, writer: &mut Writer<'_>) -> Result<(), StoreError> {
    let sql = while_doing(EXPORTING);
    for digest in names::<[u8; 32]>(conn, include_str!("sql/contract_all.sql")).map_err(&sql)? {
        if let Some(text) = kept::contract(conn, sums, digest, EXPORTING)? {
            let digest = hex(&digest);
            writer.line(&Line::Contract { digest, text })?;
        }
    }
    for name in names::<String>(conn, include_str!("sql/setting_all.sql")).map_err(&sql)? {
        if is_moved(&name)
            && let Some(value) = kept::setting(conn, sums, &name, EXPORTING)?
        {
            writer.line(&Line::Setting { name, value })?;
        }
    }
    if let Some(restore) = kept::restore(conn, sums, EXPORTING)? {
        writer.line(&Line::Restore(RestoreLine::of(&restore)))?;
    }
    writer.line(&Line::Edition(register::edition(conn).map_err(sql)?))
}

fn names<T: FromSql>(conn: &Connection, statement: &str) -> rusqlite::Result<Vec<T>> {
    conn.prepare(statement)?
        .query_map([], |row| row.get(0))?
        .collect()
}

pub(super) fn ids(
    conn: &Connection,
    after: [u8; 16],
    limit: usize,
) -> rusqlite::Result<Vec<ActionId>> {
    conn.prepare_cached(include_str!("sql/action_ids.sql"))?
        .query_map(params![after, signed(row::count(limit))], |row| {
            Ok(ActionId::from_bytes(row.get(0)?))
        })?
        .collect()
}

fn action(conn: &Connection, sums: &Sums, id: ActionId) -> Result<ActionLine, StoreError> {
    let record = row::read_record(conn, sums, id, EXPORTING)?;
    let gone = || row::damaged(EXPORTING, id, "its rows are missing".to_owned());
    let record = record.ok_or_else(gone)?;
    let evidence = row::read_evidence(conn, sums, id, EXPORTING)?;
    let names = reports::names_of(conn, sums, id).map_err(while_doing(EXPORTING))?;
    Ok(ActionLine::of(&record, &evidence, &names))
}

impl SqliteStore {
    /// Takes the store out of use: nothing opens it for work any more, and its exports say so.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub async fn retire(&self, by: String) -> Result<(), StoreError> {
        crate::Store::set_setting(self, RETIRED, Some(by)).await
    }

    /// Puts an export into this empty store, all or nothing. Where the exported store was still in use, this one stands under a
    /// restore: nothing is sent before an operator releases it (R18).
    ///
    /// # Errors
    /// `Unsuitable` if something is recorded here, or for what is wrong with the export; nothing was written.
    pub async fn import(&self, import: Import) -> Result<Counts, StoreError> {
        self.command(
            (IMPORTING, super::Kind::Writes),
            move |work| take_in(work, import),
            |_, _| {},
        )
        .await
    }
}

fn take_in(work: &mut Work, mut import: Import) -> Result<Counts, StoreError> {
    let sql = while_doing(IMPORTING);
    let (actions, reports, entries) = work
        .conn
        .query_row(include_str!("sql/store_filled.sql"), [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .map_err(&sql)?;
    check_empty(actions, reports, entries)?;
    work.write();
    let mut newest = Newest::new();
    while let Some(line) = import.next()? {
        take_line(work, &import, line, &mut newest)?;
    }
    let now = work.now();
    newest.check(now)?;
    if !import.is_retired() {
        let earlier = kept::restore(&work.conn, &work.sums, IMPORTING)?;
        let restore = shared::restored_again(earlier.as_ref(), newest.last(), now);
        kept::put_restore(&work.conn, &work.sums, &restore).map_err(&sql)?;
    }
    let at = now.as_micros().to_string();
    kept::put_setting(&work.conn, &work.sums, IMPORTED_AT, Some(&at)).map_err(sql)?;
    Ok(import.counts())
}

fn take_line(
    work: &mut Work,
    import: &Import,
    line: Line,
    newest: &mut Newest,
) -> Result<(), StoreError> {
    let wrong = |why: String| import.wrong(&why);
    let sql = while_doing(IMPORTING);
    match line {
        Line::Factum { .. } | Line::End { .. } => Ok(()),
        Line::Contract { digest, text } => {
            let digest = bytes(&digest).map_err(wrong)?;
            kept::keep_contract(&work.conn, &work.sums, digest, &text)
                .map(|_| ())
                .map_err(sql)
        }
        Line::Setting { name, value } => {
            kept::put_setting(&work.conn, &work.sums, &name, Some(&value)).map_err(sql)
        }
        Line::Restore(restore) => {
            let restore: Restore = restore.read();
            newest.see(restore.at);
            kept::put_restore(&work.conn, &work.sums, &restore).map_err(sql)
        }
        Line::Edition(number) => work
            .conn
            .execute(include_str!("sql/edition_put.sql"), [signed(number)])
            .map(|_| ())
            .map_err(sql),
        Line::Entry(entry) => {
            let (entry, versions) = entry.read().map_err(wrong)?;
            newest.see(entry.changed.at);
            register::put(&work.conn, &work.sums, &entry, versions).map_err(sql)
        }
        Line::Action(action) => {
            let (record, evidence, names) = action.read().map_err(wrong)?;
            let submitted = record.action.intent.submitted_at;
            let times = evidence.iter().map(|one| one.at).chain([submitted]);
            times.for_each(|at| newest.see(at));
            if put_action(&work.conn, &work.sums, record, &evidence, &names).map_err(&sql)? {
                Ok(())
            } else {
                Err(wrong("its identity was there before".to_owned()))
            }
        }
        Line::Twin(twin) => {
            let row = twin.read().map_err(wrong)?;
            twins::put(&work.conn, &work.sums, &row).map_err(sql)
        }
        Line::Scope(scope) => {
            let row = scope.read();
            let before = row.forgotten_before;
            graves::put_scope(&work.conn, &work.sums, &row.scope, before, IMPORTING)
        }
        Line::Tombstone(left) => {
            let left = left.read().map_err(wrong)?;
            newest.see(left.tombstone.purged_at);
            graves::put_remains(&work.conn, &work.sums, &left).map_err(sql)
        }
        Line::Report(report) => {
            newest.see(Timestamp::from_micros(report.at));
            let kept = kept_report(report).map_err(wrong)?;
            reports::put(&work.conn, &work.sums, &kept).map_err(sql)
        }
    }
}

/// Writes an action as it stood elsewhere; false if its identity is here already.
fn put_action(
    conn: &Connection,
    sums: &Sums,
    mut record: Record,
    evidence: &[Evidence],
    names: &[[u8; 32]],
) -> rusqlite::Result<bool> {
    let id = record.id();
    let texts = ActionTexts::of(&sums.seals, &record.action);
    if !row::insert_action(conn, sums, &record.action, &texts)? {
        return Ok(false);
    }
    let log = penned_log(&sums.seals, id, evidence);
    record.chain = Some(sums.chains.begin(&record.action));
    let links = sums.chains.lengthen(&mut record, evidence, &log.hashes);
    row::insert_standing(conn, sums, &Standing::of(&record))?;
    row::insert_log(conn, sums, id, (evidence, &log.texts, &links))?;
    for name in names {
        reports::know(conn, sums, id, name)?;
    }
    Ok(true)
}
