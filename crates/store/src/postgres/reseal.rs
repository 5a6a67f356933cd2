//! Sealing rows anew with the newest key, action by action, so that an older key can be removed; and taking what was overwritten out of
//! the tables. Rows that an earlier version wrote in clear are sealed on the way, and settled actions get the chain that they lack.
//!
//! The texts of facts are written as they were: nothing is read into values and written from them again.

use factum_core::ActionId;
use uuid::Uuid;

use super::Inner;
use super::bound::Value;
use super::pool::Does;
use super::register::version;
use super::reports::kept;
use super::row::{self, action_id, count, lane, signed, uuid};
use crate::effect::effect_check;
use crate::record::Reseal;
use crate::register::{EntryKey, Kind};
use crate::seal::{KeyNumber, pattern};
use crate::texts::{ActionTexts, opened_fact_text, sealed_body, sealed_fact, sealed_report};
use crate::{StoreError, StoreErrorKind};

const SEALING: &str = "sealing rows anew";
const SCOURING: &str = "scouring the tables";

/// The tables that hold sealed texts.
const TABLES: [&str; 6] = [
    "action",
    "evidence",
    "late_evidence",
    "entry",
    "entry_version",
    "report",
];

impl Inner {
    /// How many rows are sealed with a key, or stand in clear.
    pub(super) async fn sealed_rows(&self, key: Option<KeyNumber>) -> Result<u64, StoreError> {
        let (pattern, like) = pattern(key);
        let sql = include_str!("sql/sealed_rows.sql");
        let rows = self
            .connections
            .rows(SEALING, Does::Reads, sql, &[&pattern, &like])
            .await?;
        let count: i64 = rows.first().map_or(0, |row| row.get(0));
        Ok(u64::try_from(count).unwrap_or_default())
    }

    /// Seals the next rows; gives where to go on, or `None` at the end. Damaged rows are left as they are.
    pub(super) async fn reseal(
        &self,
        from: Reseal,
        limit: usize,
    ) -> Result<Option<Reseal>, StoreError> {
        match from {
            Reseal::Actions(after) => {
                let values: [Value<'_>; 2] = [&after.map_or(Uuid::nil(), uuid), &count(limit)];
                let sql = include_str!("sql/reseal_actions.sql");
                let rows = self
                    .connections
                    .rows(SEALING, Does::Reads, sql, &values)
                    .await?;
                let ids: Vec<ActionId> = rows.iter().map(|row| action_id(row.get(0))).collect();
                for id in &ids {
                    match self.reseal_action(*id).await {
                        Err(error) if matches!(error.kind, StoreErrorKind::Corrupt { .. }) => {}
                        done => done?,
                    }
                }
                Ok(Some(ids.last().map_or(Reseal::Entries(None), |id| {
                    Reseal::Actions(Some(*id))
                })))
            }
            Reseal::Entries(after) => {
                let last = self.reseal_entries(after, limit).await?;
                Ok(Some(last.map_or(Reseal::Reports(0), |last| {
                    Reseal::Entries(Some(last))
                })))
            }
            Reseal::Reports(after) => {
                let last = self.reseal_reports(after, limit).await?;
                Ok(Some(last.map_or(Reseal::Late, Reseal::Reports)))
            }
            Reseal::Late => {
                self.reseal_late().await?;
                Ok(None)
            }
        }
    }

    async fn reseal_action(&self, id: ActionId) -> Result<(), StoreError> {
        let Some(record) = self.read(SEALING, id).await? else {
            return Ok(());
        };
        let values: [Value<'_>; 2] = [&lane(id), &uuid(id)];
        let sql = include_str!("sql/reseal_log.sql");
        let rows = self
            .connections
            .rows(SEALING, Does::Reads, sql, &values)
            .await?;
        let mut link = self.chains.begin(&record.action);
        let (mut nos, mut facts, mut links) = (Vec::new(), Vec::new(), Vec::new());
        for found in &rows {
            let raw = row::raw(SEALING, id, &self.seals, found)?;
            link = self.chains.next_raw(&link, &raw);
            nos.push(signed(raw.no));
            facts.push(sealed_fact(&self.seals, id, &raw.text));
            links.push(Some(link.to_vec()));
        }
        let texts = ActionTexts::of(&self.seals, &record.action);
        let check = self
            .seals
            .is_sealing()
            .then(|| effect_check(&record.action));
        let chain = record.chain.is_none().then(|| link.to_vec());
        let values: [Value<'_>; 11] = [
            &lane(id),
            &uuid(id),
            &texts.params,
            &texts.payload,
            &texts.head,
            &check.flatten(),
            &nos,
            &facts,
            &links,
            &chain,
            &signed(record.version),
        ];
        let sql = include_str!("sql/reseal_action.sql");
        // Repeating it changes nothing more.
        self.connections
            .rows(SEALING, Does::Reads, sql, &values)
            .await?;
        Ok(())
    }

    async fn reseal_entries(
        &self,
        after: Option<(String, String, String)>,
        limit: usize,
    ) -> Result<Option<(String, String, String)>, StoreError> {
        let (kind, tenant, id) = after.unwrap_or_default();
        let values: [Value<'_>; 4] = [&kind, &tenant, &id, &count(limit)];
        let sql = include_str!("sql/reseal_entries.sql");
        let rows = self
            .connections
            .rows(SEALING, Does::Reads, sql, &values)
            .await?;
        for found in &rows {
            let (kind, tenant, id): (&str, &str, &str) = (found.get(0), found.get(1), found.get(2));
            if let Some(kind) = Kind::ALL.into_iter().find(|known| known.word() == kind) {
                self.reseal_entry(&EntryKey::new(kind, tenant, id), found.get(3))
                    .await?;
            }
        }
        let last = rows.last();
        Ok(last.map(|row| (row.get(0), row.get(1), row.get(2))))
    }

    async fn reseal_entry(&self, key: &EntryKey, lane: i16) -> Result<(), StoreError> {
        let values: [Value<'_>; 4] = [&lane, &key.kind.word(), &key.tenant, &key.id];
        let sql = include_str!("sql/entry_history.sql");
        let rows = self
            .connections
            .rows(SEALING, Does::Reads, sql, &values)
            .await?;
        for found in &rows {
            let Ok(read) = version(&self.seals, key, found) else {
                continue;
            };
            let body = sealed_body(&self.seals, key, &read.body);
            let values: [Value<'_>; 6] = [
                &lane,
                &key.kind.word(),
                &key.tenant,
                &key.id,
                &signed(read.version),
                &body,
            ];
            let sql = include_str!("sql/reseal_entry.sql");
            self.connections
                .rows(SEALING, Does::Reads, sql, &values)
                .await?;
        }
        Ok(())
    }

    async fn reseal_reports(&self, after: u64, limit: usize) -> Result<Option<u64>, StoreError> {
        let values: [Value<'_>; 2] = [&signed(after), &count(limit)];
        let sql = include_str!("sql/reseal_reports.sql");
        let rows = self
            .connections
            .rows(SEALING, Does::Reads, sql, &values)
            .await?;
        for kept in rows.iter().filter_map(|row| kept(&self.seals, row)) {
            let (readings, body) = sealed_report(&self.seals, &kept.report);
            let id = kept.report.id.0;
            let values: [Value<'_>; 4] = [&i16::from(id[0]), &id.as_slice(), &readings, &body];
            let sql = include_str!("sql/reseal_report.sql");
            self.connections
                .rows(SEALING, Does::Reads, sql, &values)
                .await?;
        }
        let last = rows.last().map(|row| row.get::<_, i64>(0));
        Ok(last.and_then(|last| u64::try_from(last).ok()))
    }

    /// What came after actions were taken away.
    async fn reseal_late(&self) -> Result<(), StoreError> {
        let sql = include_str!("sql/reseal_late_rows.sql");
        let rows = self
            .connections
            .rows(SEALING, Does::Reads, sql, &[])
            .await?;
        for found in &rows {
            let id = action_id(found.get(0));
            let Ok(fact) = opened_fact_text(&self.seals, id, found.get(2)) else {
                continue;
            };
            let fact = sealed_fact(&self.seals, id, &fact);
            let no: i64 = found.get(1);
            let values: [Value<'_>; 4] = [&lane(id), &uuid(id), &no, &fact];
            let sql = include_str!("sql/reseal_late.sql");
            self.connections
                .rows(SEALING, Does::Reads, sql, &values)
                .await?;
        }
        Ok(())
    }

    /// Writes the tables anew, each under its own lock: nobody reads or writes one while it is at it.
    pub(super) async fn scour(&self) -> Result<u64, StoreError> {
        let before = self.size().await?;
        let connection = self.connections.one(SCOURING).await?;
        for table in TABLES {
            let sql = format!("VACUUM (FULL, ANALYZE) factum.{table}");
            let done = connection.batch_execute(&sql).await;
            done.map_err(|error| super::fault::reading(SCOURING, &error))?;
        }
        drop(connection);
        Ok(before.saturating_sub(self.size().await?))
    }

    /// What the database takes on the disk, in bytes.
    async fn size(&self) -> Result<u64, StoreError> {
        let sql = include_str!("sql/database_size.sql");
        let rows = self
            .connections
            .rows(SCOURING, Does::Reads, sql, &[])
            .await?;
        let bytes: i64 = rows.first().map_or(0, |row| row.get(0));
        Ok(u64::try_from(bytes).unwrap_or_default())
    }
}
