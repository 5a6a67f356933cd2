//! What only reads: an action, its log, listings, what is due.

use std::collections::BTreeMap;

use factum_core::{ActionId, Evidence, IdentityHash, State, Timestamp};
use tokio_postgres::Row;
use uuid::Uuid;

use super::Inner;
use super::bound::Value;
use super::pool::Does;
use super::row::{self, action_id, count, lane, uuid};
use crate::StoreError;
use crate::record::{Action, Due, Filter, Record};
use crate::shared::Overtaker;

impl Inner {
    /// One action, of one moment.
    pub(super) async fn read(
        &self,
        doing: &'static str,
        id: ActionId,
    ) -> Result<Option<Record>, StoreError> {
        let values: [Value<'_>; 2] = [&lane(id), &uuid(id)];
        let sql = include_str!("sql/record_read.sql");
        let rows = self
            .connections
            .rows(doing, Does::Reads, sql, &values)
            .await?;
        self.with_its_subject(doing, rows.first()).await
    }

    /// The action that an identity names, of one moment.
    pub(super) async fn read_by_identity(
        &self,
        doing: &'static str,
        identity: IdentityHash,
    ) -> Result<Option<Record>, StoreError> {
        let lane = i16::from(identity.lane().0);
        let values: [Value<'_>; 2] = [&lane, &identity.0.as_slice()];
        let sql = include_str!("sql/record_find.sql");
        let rows = self
            .connections
            .rows(doing, Does::Reads, sql, &values)
            .await?;
        self.with_its_subject(doing, rows.first()).await
    }

    /// The record in a row, with whether a later action on its subject exists: that is asked only where it names one.
    async fn with_its_subject(
        &self,
        doing: &'static str,
        found: Option<&Row>,
    ) -> Result<Option<Record>, StoreError> {
        let Some(found) = found else {
            return Ok(None);
        };
        let mut record = row::record(doing, &self.seals, found)?;
        record.overtaken = self.overtaken(doing, &record.action).await?;
        Ok(Some(record))
    }

    /// Whether a later action on the subject of this one exists.
    pub(super) async fn overtaken(
        &self,
        doing: &'static str,
        action: &Action,
    ) -> Result<bool, StoreError> {
        let Some(wanted) = Overtaker::of(action) else {
            return Ok(false);
        };
        let values: [Value<'_>; 5] = [
            &wanted.tenant,
            &wanted.destination,
            &wanted.subject,
            &uuid(wanted.from),
            &uuid(wanted.but),
        ];
        let sql = include_str!("sql/action_overtaken.sql");
        let rows = self
            .connections
            .rows(doing, Does::Reads, sql, &values)
            .await?;
        Ok(!rows.is_empty())
    }

    pub(super) async fn history(&self, id: ActionId) -> Result<Vec<Evidence>, StoreError> {
        const DOING: &str = "reading evidence";
        let values: [Value<'_>; 2] = [&lane(id), &uuid(id)];
        let sql = include_str!("sql/evidence_read.sql");
        let rows = self
            .connections
            .rows(DOING, Does::Reads, sql, &values)
            .await?;
        rows.iter()
            .map(|found| row::one_evidence(DOING, id, &self.seals, found))
            .collect()
    }

    /// Damaged actions are left out, and logged; the listing goes on behind them.
    pub(super) async fn list(&self, filter: Filter) -> Result<Vec<Record>, StoreError> {
        const DOING: &str = "listing actions";
        let mut records = Vec::new();
        let mut before = filter.before.map_or(Uuid::max(), uuid);
        while records.len() < filter.limit {
            let wanted = filter.limit - records.len();
            let values: [Value<'_>; 8] = [
                &count(wanted),
                &before,
                &filter.tenant,
                &filter.key,
                &filter.state.map(State::name),
                &filter.next,
                &filter.destination,
                &filter.conversation,
            ];
            let ids = self
                .connections
                .rows(DOING, Does::Reads, list_statement(&filter), &values)
                .await?;
            for found in &ids {
                before = found.get(1);
                match self.read(DOING, action_id(before)).await {
                    Ok(record) => records.extend(record),
                    Err(error) if matches!(error.kind, crate::StoreErrorKind::Corrupt { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            if ids.len() < wanted {
                break;
            }
        }
        Ok(records)
    }

    pub(super) async fn due(
        &self,
        after: Option<(Timestamp, ActionId)>,
        limit: usize,
    ) -> Result<Vec<Due>, StoreError> {
        const DOING: &str = "listing what is due";
        let (at, id) = after.map_or((i64::MIN, Uuid::nil()), |(at, id)| {
            (at.as_micros(), uuid(id))
        });
        let values: [Value<'_>; 3] = [&at, &id, &count(limit)];
        let sql = include_str!("sql/standing_due.sql");
        let rows = self
            .connections
            .rows(DOING, Does::Reads, sql, &values)
            .await?;
        Ok(rows.iter().map(due_row).collect())
    }

    pub(super) async fn for_workers(
        &self,
        destination: String,
        after: Option<(Timestamp, ActionId)>,
        limit: usize,
    ) -> Result<Vec<Due>, StoreError> {
        const DOING: &str = "listing what waits for workers";
        let now = self.now(DOING).await?;
        let (at, id) = after.map_or((i64::MIN, Uuid::nil()), |(at, id)| {
            (at.as_micros(), uuid(id))
        });
        let values: [Value<'_>; 5] = [&destination, &now.as_micros(), &at, &id, &count(limit)];
        let sql = include_str!("sql/standing_for_workers.sql");
        let rows = self
            .connections
            .rows(DOING, Does::Reads, sql, &values)
            .await?;
        Ok(rows.iter().map(due_row).collect())
    }

    pub(super) async fn counts(&self) -> Result<BTreeMap<(String, String), u64>, StoreError> {
        let sql = include_str!("sql/standing_counts.sql");
        let rows = self
            .connections
            .rows("counting actions", Does::Reads, sql, &[])
            .await?;
        let counts = rows.iter().map(|found| {
            let number: i64 = found.get(2);
            (
                (found.get(0), found.get(1)),
                u64::try_from(number).unwrap_or_default(),
            )
        });
        Ok(counts.collect())
    }
}

pub(super) fn due_row(row: &Row) -> Due {
    Due {
        at: Timestamp::from_micros(row.get(0)),
        action: action_id(row.get(1)),
        destination: row.get(2),
    }
}

/// Which statement lists by this filter: the one with the narrowest index.
fn list_statement(filter: &Filter) -> &'static str {
    match filter {
        Filter { key: Some(_), .. } => include_str!("sql/list_by_name.sql"),
        Filter {
            conversation: Some(_),
            ..
        } => include_str!("sql/list_by_conversation.sql"),
        Filter {
            next: Some(next), ..
        } if next == "review" => include_str!("sql/list_review.sql"),
        Filter { state: Some(_), .. } => include_str!("sql/list_by_state.sql"),
        Filter { .. } => include_str!("sql/list_newest.sql"),
    }
}
