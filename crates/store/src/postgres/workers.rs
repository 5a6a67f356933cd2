//! Workers: who says that it lives, what one that stopped saying so still holds, and how much more each may take on.

use std::time::Duration;

use factum_core::{ActionId, Lane, Span, Timestamp, WorkerNonce};
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::Inner;
use super::bound::Value;
use super::fault;
use super::pool::Does;
use super::read::due_row;
use super::row::{count, uuid};
use crate::record::Due;
use crate::shared::{self, FORGOTTEN_AFTER};
use crate::{StoreError, StoreErrorKind};

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
        let now = self.now(DOING).await?;
        let nonce = worker.0.cast_signed();
        let (until, before) = (now + lease, now - FORGOTTEN_AFTER);
        let values: [Value<'_>; 3] = [&nonce, &until.as_micros(), &before.as_micros()];
        let sql = include_str!("sql/worker_beat.sql");
        // Repeating it changes nothing more.
        self.connections
            .rows(DOING, Does::Reads, sql, &values)
            .await?;
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
        match tokio::time::timeout(PATIENCE, asked).await {
            Ok(answered) => answered.map_err(|error| fault::reading(DOING, &error)),
            Err(_) => {
                let text = "it is silent".to_owned();
                Err(StoreError::new(DOING, StoreErrorKind::Unavailable(text)))
            }
        }
    }
}

/// How long all of it may take; what it locks, others need.
const PATIENCE: Duration = Duration::from_secs(5);
