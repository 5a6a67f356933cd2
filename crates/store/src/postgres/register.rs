//! The register here: each change is one statement, for all of its entries or none.

use factum_core::{Lane, Timestamp};
use tokio_postgres::Row;

use super::Inner;
use super::bound::Value;
use super::pool::{Does, Unanswered};
use super::row::{count, signed};
use crate::notice::Topic;
use crate::register::{
    Change, Changed, Entry, EntryFilter, EntryKey, EntryVersion, Kind, Registered, are_distinct,
    makes_edition,
};
use crate::seal::Seals;
use crate::texts::{opened_body, sealed_change};
use crate::{StoreError, StoreErrorKind, shared};

const CHANGING: &str = "changing the register";
const READING: &str = "reading the register";

/// Changes, as columns of a batch.
#[derive(Default)]
pub(super) struct Wishes<'a> {
    pub(super) lanes: Vec<i16>,
    pub(super) kinds: Vec<&'static str>,
    pub(super) tenants: Vec<&'a str>,
    pub(super) ids: Vec<&'a str>,
    pub(super) versions: Vec<i64>,
    pub(super) bodies: Vec<&'a str>,
    pub(super) labels: Vec<Option<&'a str>>,
    pub(super) dues: Vec<Option<i64>>,
    pub(super) whos: Vec<&'a str>,
    pub(super) whys: Vec<&'a str>,
    topics: Vec<Option<&'static str>>,
}

impl<'a> Wishes<'a> {
    pub(super) fn of(changes: &'a [Change]) -> Self {
        let mut wishes = Self::default();
        for change in changes {
            wishes.lanes.push(lane(&change.key));
            wishes.kinds.push(change.key.kind.word());
            wishes.tenants.push(&change.key.tenant);
            wishes.ids.push(&change.key.id);
            wishes.versions.push(signed(change.expected + 1));
            wishes.bodies.push(&change.body);
            wishes.labels.push(change.label.as_deref());
            wishes.dues.push(change.due.map(Timestamp::as_micros));
            wishes.whos.push(&change.by);
            wishes.whys.push(&change.why);
            wishes
                .topics
                .push(Topic::of_change(change).map(Topic::word));
        }
        wishes
    }
}

impl Inner {
    /// Changes with their bodies as they are written.
    pub(super) fn sealed(&self, changes: &[Change]) -> Vec<Change> {
        let seal = |change| sealed_change(&self.seals, change);
        changes.iter().map(seal).collect()
    }

    /// Changes entries, all or none.
    pub(super) async fn change(&self, changes: Vec<Change>) -> Result<Registered, StoreError> {
        if !are_distinct(&changes) {
            return Ok(Registered::Stale);
        }
        let at = self.now(CHANGING).await?;
        let mut changed = self.write_entries(&changes, at).await;
        let repeated = changed.as_ref().is_err_and(Unanswered::in_doubt);
        if repeated {
            // It waits for what the first one may still be writing, and is refused by it then.
            changed = self.write_entries(&changes, at).await;
        }
        let rows = match changed {
            Ok(rows) => rows,
            Err(unanswered) if unanswered.is_unique => Vec::new(),
            Err(unanswered) => return Err(unanswered.error),
        };
        if let Some(row) = rows.first() {
            let edition = number(row);
            return Ok(Registered::Durable { edition });
        }
        if repeated && self.stand(&changes, at).await? {
            let edition = self.edition().await?;
            return Ok(Registered::Durable { edition });
        }
        Ok(Registered::Stale)
    }

    async fn write_entries(
        &self,
        changes: &[Change],
        at: Timestamp,
    ) -> Result<Vec<Row>, Unanswered> {
        let changes = &self.sealed(changes);
        let wishes = Wishes::of(changes);
        let values: [Value<'_>; 13] = [
            &wishes.lanes,
            &wishes.kinds,
            &wishes.tenants,
            &wishes.ids,
            &wishes.versions,
            &wishes.bodies,
            &wishes.labels,
            &wishes.dues,
            &wishes.whos,
            &wishes.whys,
            &at.as_micros(),
            &makes_edition(changes),
            &wishes.topics,
        ];
        let sql = include_str!("sql/entry_change.sql");
        self.connections
            .rows(CHANGING, Does::Writes, sql, &values)
            .await
    }

    /// Whether changes whose answer was lost were made: their versions say the same, by the same, at the same instant.
    async fn stand(&self, changes: &[Change], at: Timestamp) -> Result<bool, StoreError> {
        for change in changes {
            let wanted = EntryVersion {
                version: change.expected + 1,
                body: change.body.clone(),
                changed: Changed {
                    at,
                    by: change.by.clone(),
                    why: change.why.clone(),
                },
            };
            if !self.entry_history(&change.key).await?.contains(&wanted) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// One entry.
    pub(super) async fn entry(&self, key: &EntryKey) -> Result<Option<Entry>, StoreError> {
        let values: [Value<'_>; 4] = [&lane(key), &key.kind.word(), &key.tenant, &key.id];
        let sql = include_str!("sql/entry_read.sql");
        let rows = self
            .connections
            .rows(READING, Does::Reads, sql, &values)
            .await?;
        rows.first()
            .map(|row| entry(&self.seals, key.kind, row))
            .transpose()
    }

    /// Entries by tenant and id.
    pub(super) async fn entries(&self, filter: &EntryFilter) -> Result<Vec<Entry>, StoreError> {
        let (tenant, id) = filter.after.clone().unwrap_or_default();
        let values: [Value<'_>; 6] = [
            &filter.kind.word(),
            &tenant,
            &id,
            &filter.tenant,
            &filter.label,
            &count(filter.limit),
        ];
        let sql = include_str!("sql/entry_list.sql");
        let rows = self
            .connections
            .rows(READING, Does::Reads, sql, &values)
            .await?;
        rows.iter()
            .map(|row| entry(&self.seals, filter.kind, row))
            .collect()
    }

    /// Entries whose time has come.
    pub(super) async fn entries_due(
        &self,
        kind: Kind,
        until: Timestamp,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        let values: [Value<'_>; 3] = [&kind.word(), &until.as_micros(), &count(limit)];
        let sql = include_str!("sql/entry_due.sql");
        let rows = self
            .connections
            .rows(READING, Does::Reads, sql, &values)
            .await?;
        rows.iter()
            .map(|row| entry(&self.seals, kind, row))
            .collect()
    }

    /// All versions of an entry.
    pub(super) async fn entry_history(
        &self,
        key: &EntryKey,
    ) -> Result<Vec<EntryVersion>, StoreError> {
        let values: [Value<'_>; 4] = [&lane(key), &key.kind.word(), &key.tenant, &key.id];
        let sql = include_str!("sql/entry_history.sql");
        let rows = self
            .connections
            .rows(READING, Does::Reads, sql, &values)
            .await?;
        rows.iter()
            .map(|row| version(&self.seals, key, row))
            .collect()
    }

    /// Forgets old entries of a kind.
    pub(super) async fn forget_entries(
        &self,
        kind: Kind,
        before: Timestamp,
        limit: usize,
    ) -> Result<u64, StoreError> {
        shared::may_be_forgotten(kind)?;
        let values: [Value<'_>; 3] = [&kind.word(), &before.as_micros(), &count(limit)];
        let sql = include_str!("sql/entry_forget.sql");
        let rows = self
            .connections
            .rows(shared::FORGETTING, Does::Writes, sql, &values)
            .await?;
        Ok(rows.first().map_or(0, number))
    }

    /// Forgets old versions of a kind, all but those that stand.
    pub(super) async fn forget_versions(
        &self,
        kind: Kind,
        before: Timestamp,
    ) -> Result<u64, StoreError> {
        shared::may_be_forgotten(kind)?;
        let values: [Value<'_>; 2] = [&kind.word(), &before.as_micros()];
        let sql = include_str!("sql/entry_version_forget.sql");
        let rows = self
            .connections
            .rows(shared::FORGETTING, Does::Writes, sql, &values)
            .await?;
        Ok(rows.first().map_or(0, number))
    }

    /// How often authority has changed.
    pub(super) async fn edition(&self) -> Result<u64, StoreError> {
        let sql = include_str!("sql/edition_read.sql");
        let rows = self
            .connections
            .rows(READING, Does::Reads, sql, &[])
            .await?;
        rows.first().map(number).ok_or_else(|| {
            let text = "the row of the edition is gone".to_owned();
            StoreError::new(READING, StoreErrorKind::Database(text))
        })
    }
}

pub(super) fn lane(key: &EntryKey) -> i16 {
    i16::from(key.lane().0)
}

fn number(row: &Row) -> u64 {
    u64::try_from(row.get::<_, i64>(0)).unwrap_or_default()
}

fn changed(row: &Row, from: usize) -> Changed {
    Changed {
        at: Timestamp::from_micros(row.get(from)),
        by: row.get(from + 1),
        why: row.get(from + 2),
    }
}

/// A row of `entry_version`.
pub(super) fn version(
    seals: &Seals,
    key: &EntryKey,
    row: &Row,
) -> Result<EntryVersion, StoreError> {
    Ok(EntryVersion {
        version: number(row),
        body: body(seals, key, row.get(1))?,
        changed: changed(row, 2),
    })
}

/// What an entry says.
fn body(seals: &Seals, key: &EntryKey, written: String) -> Result<String, StoreError> {
    opened_body(seals, key, written).map_err(|how| {
        let EntryKey { tenant, id, .. } = key;
        let what = format!("{} {id} of tenant {tenant}", key.kind.word());
        StoreError::new(READING, StoreErrorKind::Corrupt { what, how })
    })
}

/// A row of `entry`.
pub(super) fn entry(seals: &Seals, kind: Kind, row: &Row) -> Result<Entry, StoreError> {
    let (tenant, id): (String, String) = (row.get(2), row.get(3));
    let lane = u8::try_from(row.get::<_, i16>(0)).map(Lane);
    let version = u64::try_from(row.get::<_, i64>(4));
    let (Ok(lane), Ok(version)) = (lane, version) else {
        let what = format!("{} {id} of tenant {tenant}", kind.word());
        let how = "its lane or its version is out of range".to_owned();
        return Err(StoreError::new(
            READING,
            StoreErrorKind::Corrupt { what, how },
        ));
    };
    let key = EntryKey::beside(lane, kind, tenant, id);
    Ok(Entry {
        body: body(seals, &key, row.get(5))?,
        key,
        version,
        label: row.get(6),
        due: row.get::<_, Option<i64>>(7).map(Timestamp::from_micros),
        changed: changed(row, 8),
    })
}
