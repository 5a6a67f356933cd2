//! The rows of twins (R16): which actions of equal content in one scope may still hold another one off.
//!
//! They are looked at before the statement that records a submission, and fenced in it: where the row has moved on, nothing is
//! written, and the submission is decided anew.

use factum_core::{ActionId, Timestamp};
use uuid::Uuid;

use super::Inner;
use super::bound::Value;
use super::pool::Does;
use super::row::{action_id, uuid};
use super::write::ADMITTING;
use crate::record::{Action, Admission, Admitted, TwinGuard};
use crate::{StoreError, identity_digest, shared, twins};

/// A row as it is to be, on top of the version that was looked at.
pub(super) struct TwinRow {
    pub(super) lane: i16,
    pub(super) digest: Vec<u8>,
    /// None is 0.
    pub(super) before: i64,
    pub(super) actions: Vec<Uuid>,
}

/// What a look at the row comes to.
pub(super) enum Look {
    /// The answer to the submission, of which nothing is to be recorded.
    Answered(Admitted),
    /// What is to be written with it; none without a guard.
    Free(Option<TwinRow>),
}

impl Inner {
    /// Looks for what holds a submission off.
    pub(super) async fn look_for_twins(
        &self,
        admission: &Admission,
        now: Timestamp,
    ) -> Result<Look, StoreError> {
        let Some(guard) = admission.twins else {
            return Ok(Look::Free(None));
        };
        let action = &admission.action;
        let digest = twins::digest(action);
        let lane = i16::from(digest[0]);
        let values: [Value<'_>; 2] = [&lane, &digest.as_slice()];
        let sql = include_str!("sql/twin_read.sql");
        let rows = self
            .connections
            .rows(ADMITTING, Does::Reads, sql, &values)
            .await?;
        let (before, named) = rows.first().map_or((0, Vec::new()), |row| {
            let ids: Vec<Uuid> = row.get(1);
            (row.get(0), ids.into_iter().map(action_id).collect())
        });
        if !guard.another
            && let Some(answered) = self.held_off(guard, &named, action, now).await?
        {
            return Ok(Look::Answered(answered));
        }
        let actions = twins::with(named, action.intent.action);
        Ok(Look::Free(Some(TwinRow {
            lane,
            digest: digest.to_vec(),
            before,
            actions: actions.into_iter().map(uuid).collect(),
        })))
    }

    /// The answer to a submission beside which one of these holds. Whoever repeats an identity joins, whatever stands beside it.
    async fn held_off(
        &self,
        guard: TwinGuard,
        named: &[ActionId],
        action: &Action,
        now: Timestamp,
    ) -> Result<Option<Admitted>, StoreError> {
        let mut records = Vec::new();
        for id in named {
            records.extend(self.read(ADMITTING, *id).await?);
        }
        let Some(first) = twins::holder(guard, records, now) else {
            return Ok(None);
        };
        if let Some(known) = self
            .read_by_identity(ADMITTING, action.identity_hash)
            .await?
        {
            return Ok(Some(shared::join(known, action)));
        }
        match self.named_by_identity(action).await? {
            Some(reserved) if reserved != action.intent.action => {
                let answer = self.gone_or_reserved(ADMITTING, action, reserved).await?;
                Ok(Some(answer))
            }
            Some(_) | None => Ok(Some(Admitted::HeldOff(Box::new(first)))),
        }
    }

    /// The action that an identity names, be it recorded or not.
    pub(super) async fn named_by_identity(
        &self,
        action: &Action,
    ) -> Result<Option<ActionId>, StoreError> {
        let digest = identity_digest(&action.scope, &action.identity);
        let lane = i16::from(digest[0]);
        let values: [Value<'_>; 2] = [&lane, &digest.as_slice()];
        let sql = include_str!("sql/identity_read.sql");
        let rows = self
            .connections
            .rows(ADMITTING, Does::Reads, sql, &values)
            .await?;
        Ok(rows.first().map(|row| action_id(row.get(0))))
    }
}
