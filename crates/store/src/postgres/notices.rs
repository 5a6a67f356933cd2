//! Notices here: news is written without a number beside the change, and numbered by whoever reads, once it is committed.

use factum_core::Timestamp;
use tokio_postgres::Row;

use super::Inner;
use super::bound::Value;
use super::pool::Does;
use super::row::{count, signed};
use crate::StoreError;
use crate::notice::{Notice, Notices, Topic};

const READING: &str = "reading notices";

/// What is numbered in one transaction at the most.
const AT_ONCE: i64 = 1_000;

impl Inner {
    /// Notices of the next numbers, after what is new was numbered.
    pub(super) async fn notices(&self, after: u64, limit: usize) -> Result<Notices, StoreError> {
        let (from, to) = (signed(after), signed(after).saturating_add(count(limit)));
        self.number_news().await?;
        let values: [Value<'_>; 2] = [&from, &to];
        let sql = include_str!("sql/notice_read.sql");
        let rows = self
            .connections
            .rows(READING, Does::Reads, sql, &values)
            .await?;
        let (forgotten, last) = rows
            .first()
            .map_or((0, 0), |row| (number(row.get(0)), number(row.get(1))));
        Ok(Notices {
            notices: rows.iter().filter_map(notice).collect(),
            through: number(to).min(last).max(after),
            forgotten,
            last,
        })
    }

    /// Gives numbers to all that is committed, unless another worker is doing that.
    async fn number_news(&self) -> Result<(), StoreError> {
        loop {
            let sql = include_str!("sql/news_number.sql");
            let values: [Value<'_>; 1] = [&AT_ONCE];
            // With a lost answer it may have been done; asked again, it goes on behind that.
            let rows = self
                .connections
                .rows(READING, Does::Reads, sql, &values)
                .await?;
            if rows
                .first()
                .is_none_or(|row| row.get::<_, i64>(0) < AT_ONCE)
            {
                return Ok(());
            }
        }
    }

    /// Forgets old ones.
    pub(super) async fn forget_notices(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<u64, StoreError> {
        let values: [Value<'_>; 2] = [&before.as_micros(), &count(limit)];
        let sql = include_str!("sql/notice_forget.sql");
        let rows = self
            .connections
            .rows("forgetting notices", Does::Writes, sql, &values)
            .await?;
        Ok(rows.first().map_or(0, |row| number(row.get(0))))
    }
}

fn number(value: i64) -> u64 {
    u64::try_from(value).unwrap_or_default()
}

/// A row of `notice`; `None` for the row that says the ends alone, and for a topic of another version.
fn notice(row: &Row) -> Option<Notice> {
    let no: i64 = row.get::<_, Option<i64>>(2)?;
    Some(Notice {
        no: number(no),
        at: Timestamp::from_micros(row.get(3)),
        tenant: row.get(4),
        topic: Topic::from_word(row.get(5))?,
        about: row.get(6),
        version: number(row.get(7)),
        records: number(row.get(8)),
    })
}
