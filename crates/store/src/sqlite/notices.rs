//! Notices in the file: written with the change that they are of, numbered by the one writer.

use factum_core::Timestamp;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, params};

use super::fault::while_doing;
use super::readers::Reader;
use super::row::{count, signed, unsigned};
use super::sums::{Sum, Sums};
use super::writer::Work;
use crate::StoreError;
use crate::notice::{Notice, Notices, Topic};
use crate::record::Record;
use crate::register::Change;

pub(super) const READING: &str = "reading notices";
pub(super) const FORGETTING: &str = "forgetting notices";

const COLUMNS: usize = 8;

/// Writes what is news of an action as it stands.
pub(super) fn of_action(
    work: &Work,
    record: &Record,
    news: &[Topic],
    at: Timestamp,
) -> rusqlite::Result<()> {
    for topic in news {
        let notice = Notice {
            no: 0,
            at,
            tenant: record.action.scope.tenant.clone(),
            topic: *topic,
            about: record.id().to_string(),
            version: record.version,
            records: count(record.known.len()),
        };
        put(&work.conn, &work.sums, notice)?;
    }
    Ok(())
}

/// Writes what is news of a change of the register.
pub(super) fn of_change(
    conn: &Connection,
    sums: &Sums,
    change: &Change,
    at: Timestamp,
) -> rusqlite::Result<()> {
    let Some(topic) = Topic::of_change(change) else {
        return Ok(());
    };
    let notice = Notice {
        no: 0,
        at,
        tenant: change.key.tenant.clone(),
        topic,
        about: change.key.id.clone(),
        version: change.expected + 1,
        records: 0,
    };
    put(conn, sums, notice)
}

fn put(conn: &Connection, sums: &Sums, notice: Notice) -> rusqlite::Result<()> {
    let (_, last) = ends(conn)?;
    write(
        conn,
        sums,
        &Notice {
            no: last + 1,
            ..notice
        },
    )
}

/// Writes a notice under its number.
pub(super) fn write(conn: &Connection, sums: &Sums, notice: &Notice) -> rusqlite::Result<()> {
    conn.prepare_cached(include_str!("sql/notice_insert.sql"))?
        .execute(params![
            signed(notice.no),
            notice.at.as_micros(),
            notice.tenant,
            notice.topic.word(),
            notice.about,
            signed(notice.version),
            signed(notice.records),
            sum(sums, notice),
        ])?;
    Ok(())
}

fn sum(sums: &Sums, notice: &Notice) -> Sum {
    let text = |text| ValueRef::Text(str::as_bytes(text));
    sums.of(
        "notice",
        [
            ValueRef::Integer(signed(notice.no)),
            ValueRef::Integer(notice.at.as_micros()),
            text(&notice.tenant),
            text(notice.topic.word()),
            text(&notice.about),
            ValueRef::Integer(signed(notice.version)),
            ValueRef::Integer(signed(notice.records)),
        ],
    )
}

/// The number before the oldest that is kept, and the last that was given.
fn ends(conn: &Connection) -> rusqlite::Result<(u64, u64)> {
    conn.prepare_cached(include_str!("sql/notice_ends.sql"))?
        .query_row([], |row| {
            if row.get_ref(0)? == ValueRef::Null {
                return Ok((0, 0));
            }
            Ok((unsigned(row, 0)?.saturating_sub(1), unsigned(row, 1)?))
        })
}

/// Forgets old ones.
pub(super) fn forget(work: &mut Work, before: Timestamp, limit: usize) -> Result<u64, StoreError> {
    let rows = work
        .conn
        .prepare_cached(include_str!("sql/notice_forget.sql"))
        .and_then(|mut statement| {
            statement.execute(params![before.as_micros(), signed(count(limit))])
        })
        .map_err(while_doing(FORGETTING))?;
    if rows > 0 {
        work.write();
    }
    Ok(count(rows))
}

impl Reader {
    /// Those of the next numbers, of one moment of the file.
    pub(super) fn notices(&mut self, after: u64, limit: usize) -> Result<Notices, StoreError> {
        self.at_once(READING, |conn, sums, _| {
            let sql = while_doing(READING);
            let (forgotten, last) = ends(conn).map_err(&sql)?;
            let through = after.saturating_add(count(limit)).min(last).max(after);
            let notices = read(conn, sums, after, through).map_err(sql)?;
            Ok(Notices {
                notices: notices.into_iter().flatten().collect(),
                through,
                forgotten,
                last,
            })
        })
    }
}

/// Notices of these numbers; `None` for one that is not what was written.
pub(super) fn read(
    conn: &Connection,
    sums: &Sums,
    after: u64,
    through: u64,
) -> rusqlite::Result<Vec<Option<Notice>>> {
    conn.prepare_cached(include_str!("sql/notice_read.sql"))?
        .query_map(params![signed(after), signed(through)], |row| {
            notice(sums, row)
        })?
        .collect()
}

fn notice(sums: &Sums, row: &Row) -> rusqlite::Result<Option<Notice>> {
    let topic = Topic::from_word(&row.get::<_, String>(3)?);
    let (Some(topic), true) = (topic, sums.holds("notice", row, COLUMNS)?) else {
        return Ok(None);
    };
    Ok(Some(Notice {
        no: unsigned(row, 0)?,
        at: Timestamp::from_micros(row.get(1)?),
        tenant: row.get(2)?,
        topic,
        about: row.get(4)?,
        version: unsigned(row, 5)?,
        records: unsigned(row, 6)?,
    }))
}

/// Rows that are not what was written.
pub(super) fn damaged(conn: &Connection, sums: &Sums) -> rusqlite::Result<Vec<(String, String)>> {
    let mut statement = conn.prepare(include_str!("sql/notice_scan.sql"))?;
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        if !sums.holds("notice", row, COLUMNS)? {
            let how = "the row does not match its checksum".to_owned();
            found.push((format!("notice {}", row.get::<_, i64>(0)?), how));
        }
    }
    Ok(found)
}
