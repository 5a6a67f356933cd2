//! Giving room back to the disk: free pages go off the end of the file, a bounded number at a time, and the log is emptied into the
//! file, so that what was deleted is nowhere any more. Other commands go in between.

use rusqlite::Connection;
use tokio::sync::oneshot::channel;

use super::fault::while_doing;
use super::writer::Message;
use super::{SqliteStore, stopped};
use crate::StoreError;

const DOING: &str = "giving room back";

/// Pages that are given back in one step: what the writer is held for.
const PAGES: u64 = 500;

/// Gives back all free pages; gives how many bytes that were. A file of an earlier version has its pages overwritten, and keeps its size.
pub(super) async fn shrink(store: &SqliteStore) -> Result<u64, StoreError> {
    let (mut first, mut left) = (None, u64::MAX);
    loop {
        let (answer, answered) = channel();
        store.send(DOING, Message::Shrink(answer))?;
        let now = answered.await.unwrap_or_else(|_| Err(stopped(DOING)))?;
        let begun = *first.get_or_insert(now);
        if now == 0 || now >= left {
            return Ok(begun.saturating_sub(now));
        }
        left = now;
    }
}

/// One step; gives the bytes in free pages, before the first step's pages went as they were then.
pub(super) fn step(conn: &Connection) -> Result<u64, StoreError> {
    let sql = while_doing(DOING);
    let free = free_bytes(conn).map_err(&sql)?;
    let mut statement = conn
        .prepare(&format!("PRAGMA incremental_vacuum({PAGES})"))
        .map_err(&sql)?;
    let mut rows = statement.query([]).map_err(&sql)?;
    while rows.next().map_err(&sql)?.is_some() {}
    drop(rows);
    // A reader that is still at work only keeps the log from being emptied; the next step, or the end, does it.
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .map_err(&sql)?;
    Ok(free)
}

fn free_bytes(conn: &Connection) -> rusqlite::Result<u64> {
    let number = |pragma| conn.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let bytes = number("freelist_count")?.saturating_mul(number("page_size")?);
    Ok(u64::try_from(bytes).unwrap_or_default())
}
