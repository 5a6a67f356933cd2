//! Claims: leases in the row of the action, fenced by a token that is new with every one.

use factum_core::{ActionId, Span, Timestamp, WorkerNonce};

use super::Inner;
use super::bound::Value;
use super::pool::{Does, Unanswered};
use super::row::{lane, signed, uuid};
use crate::StoreError;
use crate::record::{Claim, Claimed};
use crate::shared::Fence;

const CLAIMING: &str = "claiming an action";

impl Inner {
    /// Claims an action.
    pub(super) async fn claim(
        &self,
        id: ActionId,
        worker: WorkerNonce,
        lease: Span,
    ) -> Result<Claimed, StoreError> {
        let now = self.now(CLAIMING).await?;
        let until = now + lease;
        let sql = include_str!("sql/claim_take.sql");
        let by = worker.0.cast_signed();
        let values: [Value<'_>; 5] = [
            &lane(id),
            &uuid(id),
            &by,
            &until.as_micros(),
            &now.as_micros(),
        ];
        let mut taken = self
            .connections
            .rows(CLAIMING, Does::Writes, sql, &values)
            .await;
        if taken.as_ref().is_err_and(Unanswered::in_doubt) {
            // Taken once more if the first try took it: else it would be busy for its own holder until the lease is over.
            let sql = include_str!("sql/claim_retake.sql");
            taken = self
                .connections
                .rows(CLAIMING, Does::Writes, sql, &values)
                .await;
        }
        let mut taken = taken?;
        if taken.is_empty() {
            let sql = include_str!("sql/claim_inherit.sql");
            taken = self
                .connections
                .rows(CLAIMING, Does::Writes, sql, &values)
                .await?;
        }
        let Some(row) = taken.first() else {
            return self.busy(id, now).await;
        };
        let token = u64::try_from(row.get::<_, i64>(0)).unwrap_or_default();
        let Some(record) = self.read(CLAIMING, id).await? else {
            return Ok(Claimed::Gone);
        };
        self.keep(record.clone());
        let claim = Claim {
            action: id,
            token,
            version: record.version,
            overtaken: record.overtaken,
            until,
            under: None,
        };
        Ok(Claimed::Held(claim, Box::new(record)))
    }

    async fn busy(&self, id: ActionId, now: Timestamp) -> Result<Claimed, StoreError> {
        let sql = include_str!("sql/claim_read.sql");
        let values: [Value<'_>; 2] = [&lane(id), &uuid(id)];
        let rows = self
            .connections
            .rows(CLAIMING, Does::Reads, sql, &values)
            .await?;
        Ok(match rows.first() {
            None => Claimed::Gone,
            // Freed between the two questions: it may be tried again at once.
            Some(row) => Claimed::Busy(
                row.get::<_, Option<i64>>(0)
                    .map_or(now, Timestamp::from_micros),
            ),
        })
    }

    pub(super) async fn renew(&self, fence: Fence, lease: Span) -> Result<bool, StoreError> {
        const DOING: &str = "prolonging a claim";
        let now = self.now(DOING).await?;
        let until = (now + lease).as_micros();
        let (lane, id, token) = (lane(fence.action), uuid(fence.action), signed(fence.token));
        let values: [Value<'_>; 5] = [&lane, &id, &token, &until, &now.as_micros()];
        let sql = include_str!("sql/claim_renew.sql");
        let rows = self
            .connections
            .rows(DOING, Does::Reads, sql, &values)
            .await?;
        Ok(!rows.is_empty())
    }

    pub(super) async fn release(&self, fence: Fence) -> Result<(), StoreError> {
        const DOING: &str = "giving a claim back";
        let (lane, id, token) = (lane(fence.action), uuid(fence.action), signed(fence.token));
        let values: [Value<'_>; 3] = [&lane, &id, &token];
        let sql = include_str!("sql/claim_release.sql");
        // Repeating it changes nothing more, so a lost answer is asked for again.
        self.connections
            .rows(DOING, Does::Reads, sql, &values)
            .await?;
        Ok(())
    }
}
