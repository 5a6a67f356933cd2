//! Workers: who says that it lives, what one that stopped saying so still holds, and how much more each may take on.

use std::time::Duration;

use factum_core::{ActionId, Lane, Span, Timestamp, WorkerNonce};
use tokio_postgres::Client;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::bound::Value;
use super::clock::Local;
use super::fault;
use super::pool::Does;
use super::read::due_row;
use super::row::{count, uuid};
use super::{Inner, PostgresStore};
use crate::record::Due;
use crate::shared::{self, FORGOTTEN_AFTER};
use crate::{StoreError, StoreErrorKind};

impl PostgresStore {
    /// Ends an upgrade now: programs that know less than this one are refused from here on, and rows are written as this one writes
    /// them. By itself that happens once no older one has worked on the store for a day.
    ///
    /// # Errors
    /// `OlderWorkers` while one lives; nothing was changed.
    pub async fn finish_upgrade(&self) -> Result<(), StoreError> {
        let now = self.inner.ask_now("ending an upgrade").await?;
        self.inner.raise_floor(now).await
    }
}

impl Inner {
    /// Says that a worker lives, and gives those that do.
    pub(super) async fn beat(
        &self,
        worker: WorkerNonce,
        lease: Span,
    ) -> Result<Vec<WorkerNonce>, StoreError> {
        const DOING: &str = "telling that a worker lives";
        // Where a pooler keeps the connection while the database behind it is another one, nothing else would notice.
        self.look(DOING).await?;
        let began = Local::take();
        let now = self.now(DOING).await?;
        let (nonce, known) = (worker.0.cast_signed(), self.floor.known());
        let (until, before) = (now + lease, now - FORGOTTEN_AFTER);
        let values: [Value<'_>; 5] = [
            &nonce,
            &until.as_micros(),
            &before.as_micros(),
            &known,
            &now.as_micros(),
        ];
        let sql = include_str!("sql/worker_beat.sql");
        // Repeating it changes nothing more.
        let rows = self
            .connections
            .rows(DOING, Does::Reads, sql, &values)
            .await?;
        self.floor
            .heard(DOING, rows.first().map(|row| row.get(0)))?;
        self.floor.hold(began, lease);
        self.upgrade_if_over(now).await?;
        let sql = include_str!("sql/worker_list.sql");
        let rows = self
            .connections
            .rows(DOING, Does::Reads, sql, &[&now.as_micros()])
            .await?;
        let mut living: Vec<_> = rows
            .iter()
            .map(|found| WorkerNonce(found.get::<_, i64>(0).cast_unsigned()))
            .collect();
        living.sort_unstable();
        Ok(living)
    }

    /// Ends an upgrade once nobody of before has worked on the store for a day: until then one may go back.
    async fn upgrade_if_over(&self, now: Timestamp) -> Result<(), StoreError> {
        const DOING: &str = "looking whether an upgrade is over";
        if !self.floor.is_below_ours() {
            return Ok(());
        }
        let since = now - FORGOTTEN_AFTER;
        let values: [Value<'_>; 2] = [&self.floor.known(), &since.as_micros()];
        let sql = include_str!("sql/worker_older.sql");
        let rows = self
            .connections
            .rows(DOING, Does::Reads, sql, &values)
            .await?;
        if rows.first().is_some_and(|row| row.get::<_, i64>(0) > 0) {
            return Ok(());
        }
        match self.raise_floor(since).await {
            // Somebody has just come.
            Err(error) if matches!(error.kind, StoreErrorKind::OlderWorkers { .. }) => Ok(()),
            raised => raised,
        }
    }

    /// From now on the store takes programs that know what this one knows, and no others, if no other one has lived since then. A
    /// worker that just says that it lives is counted, or refused: it shares the row that is locked here.
    pub(super) async fn raise_floor(&self, since: Timestamp) -> Result<(), StoreError> {
        const DOING: &str = "ending an upgrade";
        let known = self.floor.known();
        let mut connection = self.connections.one(DOING).await?;
        let raised = async {
            let transaction = connection.transaction().await?;
            let older = older_workers(transaction.client(), known, since).await?;
            if older == 0 {
                raise(transaction.client(), known).await?;
            }
            transaction.commit().await?;
            Ok(older)
        };
        let older = in_time(DOING, raised).await?;
        if older > 0 {
            let kind = StoreErrorKind::OlderWorkers { count: older };
            return Err(StoreError::new(DOING, kind));
        }
        self.floor.heard(DOING, Some(known))
    }

    pub(super) async fn overdue(
        &self,
        lanes: Vec<Lane>,
        before: Timestamp,
        after: Option<(Timestamp, ActionId)>,
        limit: usize,
    ) -> Result<Vec<Due>, StoreError> {
        const DOING: &str = "listing what is overdue";
        let now = self.now(DOING).await?;
        let lanes: Vec<i16> = lanes.into_iter().map(|lane| i16::from(lane.0)).collect();
        let (at, id) = after.map_or((i64::MIN, Uuid::nil()), |(at, id)| {
            (at.as_micros(), uuid(id))
        });
        let values: [Value<'_>; 6] = [
            &lanes,
            &before.as_micros(),
            &now.as_micros(),
            &count(limit),
            &at,
            &id,
        ];
        let sql = include_str!("sql/standing_overdue.sql");
        let rows = self
            .connections
            .rows(DOING, Does::Reads, sql, &values)
            .await?;
        Ok(rows.iter().map(due_row).collect())
    }

    /// How many more actions this worker may record until it asks again. More than one statement, because whoever asks has to
    /// see what the one before was given: the rows of the workers are locked in their order first, and only then is counted.
    pub(super) async fn room(
        &self,
        worker: WorkerNonce,
        unsettled_max: usize,
    ) -> Result<usize, StoreError> {
        const DOING: &str = "asking how many more actions may be recorded";
        let now = self.now(DOING).await?.as_micros();
        let mut connection = self.connections.one(DOING).await?;
        let asked = async {
            let transaction = connection.transaction().await?;
            let sql = include_str!("sql/worker_rooms.sql");
            let rooms = transaction.query_typed(sql, &[(&now, Type::INT8)]).await?;
            let sql = include_str!("sql/standing_waiting.sql");
            let most = count(unsettled_max);
            let waiting = transaction.query_typed(sql, &[(&most, Type::INT8)]).await?;
            let number = |given: i64| usize::try_from(given).unwrap_or_default();
            let waiting = waiting.first().map_or(0, |row| number(row.get(0)));
            let nonce = worker.0.cast_signed();
            let others = rooms.iter().filter(|row| row.get::<_, i64>(0) != nonce);
            let others: Vec<_> = others.map(|row| number(row.get(1))).collect();
            // Whoever does not count for the others is given nothing that they do not know of.
            let lives = others.len() < rooms.len();
            let room = if lives {
                shared::room(unsettled_max, waiting, &others)
            } else {
                0
            };
            let sql = include_str!("sql/worker_room.sql");
            let values = [(&nonce as _, Type::INT8), (&count(room) as _, Type::INT8)];
            transaction.query_typed(sql, &values).await?;
            transaction.commit().await?;
            Ok(room)
        };
        in_time(DOING, asked).await
    }
}

/// How many workers know less than this schema and have lived since then, with the floor locked until the transaction ends.
pub(super) async fn older_workers(
    client: &Client,
    schema: i64,
    since: Timestamp,
) -> Result<i64, tokio_postgres::Error> {
    let sql = include_str!("sql/floor_lock.sql");
    client.query_typed(sql, &[]).await?;
    let sql = include_str!("sql/worker_older.sql");
    let values = [
        (&schema as _, Type::INT8),
        (&since.as_micros() as _, Type::INT8),
    ];
    let rows = client.query_typed(sql, &values).await?;
    Ok(rows.first().map_or(0, |row| row.get(0)))
}

/// Raises the floor, in a transaction that has locked it.
pub(super) async fn raise(client: &Client, schema: i64) -> Result<(), tokio_postgres::Error> {
    let sql = include_str!("sql/floor_raise.sql");
    client.query_typed(sql, &[(&schema, Type::INT8)]).await?;
    Ok(())
}

/// The answer, if it comes within [`PATIENCE`].
async fn in_time<T>(
    doing: &'static str,
    asked: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, StoreError> {
    match tokio::time::timeout(PATIENCE, asked).await {
        Ok(answered) => answered.map_err(|error| fault::reading(doing, &error)),
        Err(_) => {
            let text = "it is silent".to_owned();
            Err(StoreError::new(doing, StoreErrorKind::Unavailable(text)))
        }
    }
}

/// How long all of it may take; what it locks, others need.
const PATIENCE: Duration = Duration::from_secs(5);
