//! The outbox of applications: rows are taken for a while, and settled once their actions are durable. It decides nothing, and
//! never holds a row over a wait.
//!
//! A worker that dies between the two leaves rows that another one takes later; the engine finds their actions by identity.

use std::future::{Future, poll_fn};
use std::task::{Poll, ready};

use factum_core::{ActionId, Span, Timestamp};
use tokio_postgres::AsyncMessage;
use uuid::Uuid;

use super::bound::Value;
use super::pool::Does;
use super::row::{action_id, count, uuid};
use super::{Inner, PostgresStore, fault};
use crate::record::Reserved;
use crate::{StoreError, StoreErrorKind};

/// A row that an application wrote.
#[derive(Clone, Debug)]
pub struct OutboxRow {
    /// Its id.
    pub id: OutboxId,
    /// The submission, as the body of `POST /v1/actions`.
    pub body: String,
    /// The tenant that it is of.
    pub tenant: String,
    /// Who submits it.
    pub principal: String,
}

impl OutboxRow {
    /// The id that the application was told. Rows of older programs have none.
    #[must_use]
    pub fn reserved(&self) -> Option<ActionId> {
        let OutboxId(id) = self.id;
        (id.get_version_num() == 7).then(|| action_id(id))
    }
}

/// The id of a row, which is that of its action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OutboxId(Uuid);

/// What became of a row.
#[derive(Clone, Debug)]
pub enum OutboxOutcome {
    /// It is this action's.
    Taken(ActionId),
    /// It is refused; the problem as JSON.
    Refused(String),
}

const TAKING: &str = "taking rows of the outbox";
const SETTLING: &str = "settling rows of the outbox";
const LISTENING: &str = "listening for the outbox";

impl Inner {
    /// What stands in the way of recording under another id than this.
    pub(super) async fn reserved(&self, action: ActionId) -> Result<Reserved, StoreError> {
        let sql = include_str!("sql/outbox_read.sql");
        let doing = "reading a row of the outbox";
        let rows = self
            .connections
            .rows(doing, Does::Reads, sql, &[&uuid(action)])
            .await?;
        let waiting = rows.first().map(|row| (row.get(0), row.get(1)));
        Ok(Reserved { action, waiting })
    }
}

impl PostgresStore {
    /// Takes rows that nobody holds, for so long.
    ///
    /// # Errors
    /// `InDoubt` too: then the rows are held by nobody who knows of it, and come again when the time is over.
    pub async fn outbox_take(
        &self,
        hold: Span,
        limit: usize,
    ) -> Result<Vec<OutboxRow>, StoreError> {
        let now = self.inner.now(TAKING).await?;
        let values: [Value<'_>; 3] = [&now.as_micros(), &(now + hold).as_micros(), &count(limit)];
        let sql = include_str!("sql/outbox_take.sql");
        let connections = &self.inner.connections;
        let rows = connections.rows(TAKING, Does::Writes, sql, &values).await?;
        let row = |row: &tokio_postgres::Row| OutboxRow {
            id: OutboxId(row.get(0)),
            body: row.get(1),
            tenant: row.get(2),
            principal: row.get(3),
        };
        Ok(rows.iter().map(row).collect())
    }

    /// Writes down what became of rows. Repeating it changes nothing.
    ///
    /// # Errors
    /// Where the database is not there; the rows come again.
    pub async fn outbox_settle(
        &self,
        outcomes: &[(OutboxId, OutboxOutcome)],
    ) -> Result<(), StoreError> {
        let now = self.inner.now(SETTLING).await?;
        let ids: Vec<Uuid> = outcomes.iter().map(|(id, _)| id.0).collect();
        let (mut actions, mut names, mut problems) = (Vec::new(), Vec::new(), Vec::new());
        for (_, outcome) in outcomes {
            let (action, problem) = match outcome {
                OutboxOutcome::Taken(action) => (Some(*action), None),
                OutboxOutcome::Refused(problem) => (None, Some(problem.as_str())),
            };
            actions.push(action.map(uuid));
            names.push(action.map(|action| action.to_string()));
            problems.push(problem);
        }
        let values: [Value<'_>; 5] = [&ids, &actions, &names, &problems, &now.as_micros()];
        let sql = include_str!("sql/outbox_settle.sql");
        let connections = &self.inner.connections;
        connections
            .rows(SETTLING, Does::Reads, sql, &values)
            .await?;
        Ok(())
    }

    /// Forgets some of the rows that were taken over before this instant.
    ///
    /// # Errors
    /// Where the database is not there.
    pub async fn outbox_forget(&self, before: Timestamp) -> Result<(), StoreError> {
        let sql = include_str!("sql/outbox_forget.sql");
        let connections = &self.inner.connections;
        let doing = "forgetting rows of the outbox";
        connections
            .rows(doing, Does::Reads, sql, &[&before.as_micros()])
            .await?;
        Ok(())
    }

    /// Listens on a connection of its own until that ends, and calls `heard` when it begins and with every notification.
    /// Whatever is lost meanwhile, nobody is told of: it is a wake-up, and looking is what counts.
    pub fn outbox_listen(
        &self,
        mut heard: impl FnMut() + Send,
    ) -> impl Future<Output = Result<(), StoreError>> + Send {
        let (config, tls) = self.inner.connections.config();
        async move {
            let failed = |error: tokio_postgres::Error| {
                let words = fault::words(&error);
                StoreError::new(LISTENING, StoreErrorKind::Unavailable(words))
            };
            let (client, mut connection) = config.connect(tls).await.map_err(failed)?;
            let (tell, mut told) = tokio::sync::mpsc::channel(1);
            let listening = async {
                client.batch_execute("LISTEN factum_outbox").await?;
                let _ = tell.try_send(());
                // The client lives as long as the connection is listened on.
                std::future::pending().await
            };
            let hearing = poll_fn(|context| {
                loop {
                    match ready!(connection.poll_message(context)) {
                        Some(Ok(AsyncMessage::Notification(_))) => {
                            let _ = tell.try_send(());
                        }
                        Some(Ok(_)) => {}
                        Some(Err(error)) => return Poll::Ready(Err(error)),
                        None => return Poll::Ready(Ok(())),
                    }
                }
            });
            let telling = async {
                while told.recv().await.is_some() {
                    heard();
                }
                std::future::pending().await
            };
            let ended: Result<(), tokio_postgres::Error> = tokio::select! {
                ended = listening => ended,
                ended = hearing => ended,
                ended = telling => ended,
            };
            ended.map_err(failed)
        }
    }
}
