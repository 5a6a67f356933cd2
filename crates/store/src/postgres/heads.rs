//! How far the evidence of each action goes, page by page.

use factum_core::ActionId;
use tokio_postgres::Row;
use uuid::Uuid;

use super::Inner;
use super::bound::Value;
use super::pool::Does;
use super::row::{action_id, count, uuid};
use crate::head::{Census, Head};
use crate::{StoreError, StoreErrorKind};

const READING: &str = "reading how far evidence goes";

impl Inner {
    pub(super) async fn heads(
        &self,
        after: Option<ActionId>,
        limit: usize,
    ) -> Result<Vec<Head>, StoreError> {
        let values: [Value<'_>; 2] = [&after.map_or(Uuid::nil(), uuid), &count(limit)];
        let sql = include_str!("sql/heads.sql");
        let rows = (self.connections)
            .rows(READING, Does::Reads, sql, &values)
            .await?;
        let head = |row: &Row| Head {
            action: action_id(row.get(0)),
            records: u64::try_from(row.get::<_, i64>(1)).unwrap_or_default(),
            link: row
                .get::<_, Option<&[u8]>>(2)
                .and_then(|link| link.try_into().ok()),
        };
        Ok(rows.iter().map(head).collect())
    }

    pub(super) async fn census(&self) -> Result<Census, StoreError> {
        let sql = include_str!("sql/census.sql");
        let rows = (self.connections)
            .rows(READING, Does::Reads, sql, &[])
            .await?;
        rows.first().and_then(census).ok_or_else(|| {
            let text = "it does not say what it is called".to_owned();
            StoreError::new(READING, StoreErrorKind::Database(text))
        })
    }
}

/// A census, as its statement gives it.
pub(super) fn census(row: &Row) -> Option<Census> {
    Some(Census {
        store: row.get::<_, &[u8]>(0).try_into().ok()?,
        taken_away: u64::try_from(row.get::<_, i64>(1)).ok()?,
    })
}
