//! Whether this is still the database that was written to: what a fail-over to a standby that lagged, or a restore, shows (R18).
//!
//! Two signs. The store remembers on which cluster and timeline it was last written: another one means that a copy took over. And
//! each worker remembers what it was told is durable, in memory and, at most a second behind, in a file of its folder: where that is
//! not there any more, commits were lost, whatever the cluster says of itself. Commits have one order, so the last ones stand
//! for all before them. Both are looked at on every new connection before anything else is, and with every beat.
//!
//! Either sign declares a restore: marks are refused from then on by the database itself, until an operator releases it.

mod file;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use factum_core::{ActionId, Timestamp};
use tokio::sync::Notify;
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use self::file::{Found, Seen};
use super::bound::{Value, typed};
use super::fault;
use super::row::{action_id, lane, signed, uuid};
use crate::clock::Clock;
use crate::{StoreError, StoreErrorKind};

/// How far the file may stay behind, with half of it left for writing.
const BEHIND: Duration = Duration::from_millis(500);

const DOING: &str = "looking whether the database is the one that it was";

/// What a standby that takes over may lack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Standby {
    /// Commits that were answered. A change of the timeline is taken for their loss.
    #[default]
    Asynchronous,
    /// Nothing: commits wait for whoever takes over. Then a change of the timeline alone says nothing.
    Synchronous,
}

/// What is remembered, and where.
pub(super) struct Continuity {
    keys: [u8; 32],
    file: Option<PathBuf>,
    standby: Standby,
    clock: Option<Clock>,
    /// As many writes as can be under way at once: of those that were answered last, one is the last in the database's order.
    width: usize,
    store: OnceLock<[u8; 16]>,
    seen: Mutex<VecDeque<(ActionId, u64)>>,
    because: Mutex<Option<String>>,
    news: Notify,
    ended: AtomicBool,
}

impl Continuity {
    pub(super) fn new(
        keys: [u8; 32],
        file: Option<PathBuf>,
        standby: Standby,
        clock: Option<Clock>,
        width: usize,
    ) -> Arc<Self> {
        Arc::new(Self {
            keys,
            file,
            standby,
            clock,
            width,
            store: OnceLock::new(),
            seen: Mutex::default(),
            because: Mutex::default(),
            news: Notify::new(),
            ended: AtomicBool::new(false),
        })
    }

    /// Takes up what an earlier process saw, looks, and from then on looks on every new connection.
    pub(super) async fn begin(
        self: &Arc<Self>,
        client: &Client,
        store: [u8; 16],
    ) -> Result<(), StoreError> {
        if let Some(path) = &self.file {
            let found = file::find(path, &self.keys).map_err(|error| {
                let text = format!("{}: {error}", path.display());
                StoreError::new(DOING, StoreErrorKind::Unavailable(text))
            })?;
            match found {
                Found::Seen(seen) if seen.store == store => *self.seen() = seen.writes.into(),
                Found::Seen(_) => {
                    let why = "the folder remembers another store than this database holds";
                    self.declare(client, why.to_owned()).await?;
                }
                // Made with other keys, which the store itself refuses, or never finished: it says nothing.
                Found::Garbled | Found::Nothing => {}
            }
        }
        let _ = self.store.set(store);
        self.look(client).await?;
        if self.file.is_some() {
            let this = Arc::downgrade(self);
            tokio::spawn(async move {
                while let Some(this) = this.upgrade().filter(|this| !this.has_ended()) {
                    this.news.notified().await;
                    tokio::time::sleep(BEHIND).await;
                    let _ = tokio::task::spawn_blocking(move || this.write()).await;
                }
            });
        }
        Ok(())
    }

    /// A write was answered: it is durable as far as the database promises.
    pub(super) fn saw(&self, id: ActionId, version: u64) {
        let mut seen = self.seen();
        seen.retain(|(other, _)| *other != id);
        seen.push_back((id, version));
        while seen.len() > self.width {
            seen.pop_front();
        }
        drop(seen);
        self.news.notify_one();
    }

    /// Why a restore was declared by this process, if one was.
    pub(super) fn because(&self) -> Option<String> {
        let because = self.because.lock();
        because.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Looks for both signs.
    pub(super) async fn look(&self, client: &Client) -> Result<(), StoreError> {
        if self.store.get().is_none() {
            return Ok(());
        }
        if let Some(id) = self.lost(client).await? {
            let why = format!("what was written about action {id} is not there any more");
            self.declare(client, why).await?;
        }
        self.look_at_origin(client).await
    }

    /// Declares a restore: something that was answered as durable is gone.
    pub(super) async fn declare(&self, client: &Client, why: String) -> Result<(), StoreError> {
        let (until, now) = self.times(client).await?;
        let sql = include_str!("sql/restore_put.sql");
        rows(client, sql, &[&until, &now]).await?;
        // What was seen is gone: what comes from now on is what counts.
        self.seen().clear();
        self.news.notify_one();
        self.noticed(why);
        Ok(())
    }

    /// One of the writes that were seen and are gone.
    async fn lost(&self, client: &Client) -> Result<Option<ActionId>, StoreError> {
        let seen: Vec<(ActionId, u64)> = self.seen().iter().copied().collect();
        if seen.is_empty() {
            return Ok(None);
        }
        let lanes: Vec<i16> = seen.iter().map(|(id, _)| lane(*id)).collect();
        let ids: Vec<uuid::Uuid> = seen.iter().map(|(id, _)| uuid(*id)).collect();
        let versions: Vec<i64> = seen.iter().map(|(_, version)| signed(*version)).collect();
        let sql = include_str!("sql/standing_lost.sql");
        let lost = rows(client, sql, &[&lanes, &ids, &versions]).await?;
        Ok(lost.first().map(|row| action_id(row.get(0))))
    }

    async fn look_at_origin(&self, client: &Client) -> Result<(), StoreError> {
        let Some(is) = origin(client).await? else {
            return Ok(());
        };
        let sql = include_str!("sql/origin_read.sql");
        let found = rows(client, sql, &[]).await?;
        let Some(was) = found.first().map(|row| row.get::<_, String>(0)) else {
            let sql = include_str!("sql/origin_put.sql");
            rows(client, sql, &[&is]).await?;
            return Ok(());
        };
        if was == is {
            return Ok(());
        }
        let cluster = |origin: &str| origin.split('/').next().map(str::to_owned);
        if self.standby == Standby::Synchronous && cluster(&was) == cluster(&is) {
            let sql = include_str!("sql/origin_follow.sql");
            rows(client, sql, &[&was, &is]).await?;
            return Ok(());
        }
        let (until, now) = self.times(client).await?;
        let sql = include_str!("sql/origin_move.sql");
        rows(client, sql, &[&was, &is, &until, &now]).await?;
        self.noticed(format!(
            "the store was written on cluster and timeline {was}, and this is {is}"
        ));
        Ok(())
    }

    fn noticed(&self, why: String) {
        *self.because.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
    }

    /// Until when the copy goes, at the least, and what time it is. The newest action is found by its index, and an earlier
    /// instant only makes less of a key's window.
    async fn times(&self, client: &Client) -> Result<(i64, i64), StoreError> {
        let now = match &self.clock {
            Some(clock) => clock().as_micros(),
            None => {
                let found = rows(client, include_str!("sql/now.sql"), &[]).await?;
                found.first().map(|row| row.get(0)).unwrap_or_default()
            }
        };
        let found = rows(client, include_str!("sql/action_newest.sql"), &[]).await?;
        let newest = found.first().map(|row| made_at(action_id(row.get(0))));
        Ok((newest.map_or(now, |at| at.as_micros().min(now)), now))
    }

    /// Writes the file for the last time.
    pub(super) fn end(&self) {
        if !self.ended.swap(true, Ordering::Relaxed) {
            self.write();
            self.news.notify_one();
        }
    }

    fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Writes the file. A failure leaves it behind, which weakens what it can tell and makes nothing wrong.
    fn write(&self) {
        let (Some(path), Some(store)) = (&self.file, self.store.get()) else {
            return;
        };
        let writes = self.seen().iter().copied().collect();
        let seen = Seen {
            store: *store,
            writes,
        };
        let _ = file::put(path, &seen, &self.keys);
    }

    fn seen(&self) -> MutexGuard<'_, VecDeque<(ActionId, u64)>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// When an id was made, to the millisecond.
fn made_at(id: ActionId) -> Timestamp {
    let mut millis = [0; 8];
    millis[2..].copy_from_slice(&id.to_bytes()[..6]);
    Timestamp::from_micros(i64::from_be_bytes(millis).saturating_mul(1_000))
}

/// The cluster and its timeline. `None` where the database does not say: a role that may not ask, or another make.
async fn origin(client: &Client) -> Result<Option<String>, StoreError> {
    let sql = include_str!("sql/origin_now.sql");
    match client.query_typed(sql, &[]).await {
        Ok(rows) => Ok(rows.first().map(|row| row.get(0))),
        Err(error) if fault::is_not_offered(&error) => Ok(None),
        Err(error) => Err(fault::reading(DOING, &error)),
    }
}

async fn rows(
    client: &Client,
    sql: &str,
    values: &[Value<'_>],
) -> Result<Vec<tokio_postgres::Row>, StoreError> {
    let typed: Vec<(&(dyn tokio_postgres::types::ToSql + Sync), Type)> = typed(values);
    client
        .query_typed(sql, &typed)
        .await
        .map_err(|error| fault::reading(DOING, &error))
}
