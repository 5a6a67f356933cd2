//! Connections, and one way of asking: a statement that stands alone and is its own transaction.
//!
//! Every statement is safe to repeat or says what it was written on top of, so that a lost answer can be resolved by asking
//! again. There are no explicit transactions here, and no session state that a pooler in between would lose.

use std::time::Duration;

use std::sync::Arc;

use deadpool_postgres::{
    Hook, HookError, Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime, Timeouts,
};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Config, Row};

use super::bound::{Value, typed};
use super::continuity::Continuity;
use super::fault::{self, Meaning};
use super::program::Floor;
use super::session;
use super::tls::Tls;
use crate::{StoreError, StoreErrorKind};

/// What becomes of a statement whose answer is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Does {
    /// Nothing: it is asked again.
    Reads,
    /// It may have taken effect.
    Writes,
}

/// Repeats of a statement that certainly did nothing.
const TRIES: u32 = 6;

/// Connections to the database.
pub(super) struct Connections {
    pool: Pool,
    config: Config,
    tls: Tls,
    /// A pooler stands in between: what belongs to a session is lost from one statement to the next.
    pooled: bool,
    /// Whether the database keeps statements under a name, for the next time.
    prepared: bool,
    /// How long the answer to one statement is waited for; the database gives up a little earlier.
    patience: Duration,
    floor: Arc<Floor>,
}

impl Connections {
    /// Connects once, to find out whether what is asked for at the beginning of a session is there in its statements.
    /// `prepared` is what the operator wants; by default statements are prepared where that is so. Each new connection has to
    /// pass `continuity` before it is used.
    pub(super) async fn open(
        (mut config, tls): (Config, Tls),
        size: usize,
        patience: Duration,
        prepared: Option<bool>,
        (continuity, floor): (Arc<Continuity>, Arc<Floor>),
    ) -> Result<Self, StoreError> {
        config.application_name("factum");
        config.connect_timeout(patience);
        config.tcp_user_timeout(patience);
        let session = session::Session::meet(config, &tls, patience).await?;
        let manager = ManagerConfig {
            recycling_method: RecyclingMethod::Fast,
        };
        let timeouts = Timeouts {
            wait: Some(patience),
            create: Some(patience),
            recycle: Some(patience),
        };
        let manager = Manager::from_config(session.config.clone(), tls.clone(), manager);
        let pool = Pool::builder(manager)
            .max_size(size)
            .timeouts(timeouts)
            .post_create(passes(continuity, patience))
            .runtime(Runtime::Tokio1)
            .build()
            .map_err(|error| {
                StoreError::new("connecting", StoreErrorKind::Database(error.to_string()))
            })?;
        Ok(Self {
            pool,
            config: session.config,
            tls,
            pooled: session.pooled,
            prepared: prepared.unwrap_or(!session.pooled),
            patience,
            floor,
        })
    }

    /// Whether a pooler stands in between, so that nothing may rest on a session.
    pub(super) fn is_pooled(&self) -> bool {
        self.pooled
    }

    /// A connection of its own, for what is more than one statement. There is none for a program that the store does not take.
    pub(super) async fn one(&self, doing: &'static str) -> Result<Object, StoreError> {
        let mut tried = 0;
        loop {
            tried += 1;
            let connection = self.pool.get().await.map_err(|error| {
                let cause = std::error::Error::source(&error);
                let text =
                    cause.map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"));
                StoreError::new(doing, StoreErrorKind::Unavailable(text))
            })?;
            match self.passed(doing, &connection).await {
                Ok(()) => return Ok(connection),
                // It may have been broken for long; the next one is another one.
                Err(error) if error.is_passing() && tried < TRIES => {
                    drop(Object::take(connection));
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn passed(&self, doing: &'static str, connection: &Object) -> Result<(), StoreError> {
        match tokio::time::timeout(self.patience, self.floor.pass(connection)).await {
            Ok(passed) => passed,
            Err(_) => {
                let text = format!("it is silent for {} ms", self.patience.as_millis());
                Err(StoreError::new(doing, StoreErrorKind::Unavailable(text)))
            }
        }
    }

    /// How a connection of one's own is made.
    pub(super) fn config(&self) -> (Config, Tls) {
        (self.config.clone(), self.tls.clone())
    }

    /// Gives them back.
    pub(super) fn close(&self) {
        self.pool.close();
    }

    /// The rows of a statement. What certainly did nothing is repeated; what may have taken effect is `InDoubt`.
    pub(super) async fn rows(
        &self,
        doing: &'static str,
        does: Does,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>, Unanswered> {
        let mut tried = 0;
        loop {
            tried += 1;
            let failed = match self.once(doing, sql, values).await? {
                // A process that stood still in between may have read what it does not know.
                Ok(rows) if does == Does::Writes || self.floor.is_held() => return Ok(rows),
                Ok(rows) => {
                    return self
                        .one(doing)
                        .await
                        .map(|_| rows)
                        .map_err(Unanswered::from);
                }
                Err(failed) => failed,
            };
            let again = match (failed.meaning(), does) {
                (Meaning::Again, _) | (Meaning::Unknown, Does::Reads) => tried < TRIES,
                (Meaning::Later | Meaning::Refused | Meaning::Unknown, _) => false,
            };
            if !again {
                return Err(failed.told(doing, does));
            }
            tokio::time::sleep(Duration::from_millis(1 << tried)).await;
        }
    }

    /// One try: an error of its own where no connection was to be had.
    async fn once(
        &self,
        doing: &'static str,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Result<Vec<Row>, Failed>, StoreError> {
        let connection = self.one(doing).await?;
        let typed = typed(values);
        if !self.prepared {
            let asked = connection.query_typed(sql, &typed);
            let answered = tokio::time::timeout(self.patience, asked).await;
            return Ok(self.answered(connection, answered));
        }
        let (values, types): (Vec<&(dyn ToSql + Sync)>, Vec<Type>) = typed.into_iter().unzip();
        let preparing = connection.prepare_typed_cached(sql, &types);
        let statement = match tokio::time::timeout(self.patience, preparing).await {
            Ok(Ok(statement)) => statement,
            // Nothing was sent yet but the text of the statement.
            Ok(Err(error)) => return Ok(Err(Failed::Before(error))),
            Err(_) => {
                drop(Object::take(connection));
                let text = format!("it is silent for {} ms", self.patience.as_millis());
                return Err(StoreError::new(doing, StoreErrorKind::Unavailable(text)));
            }
        };
        let asked = connection.query(&statement, &values);
        let answered = tokio::time::timeout(self.patience, asked).await;
        Ok(self.answered(connection, answered))
    }

    /// What came back on a connection. One that is silent is not used again: its answer may still come, and nobody else may read
    /// it as theirs.
    fn answered(
        &self,
        connection: Object,
        answered: Result<Result<Vec<Row>, tokio_postgres::Error>, tokio::time::error::Elapsed>,
    ) -> Result<Vec<Row>, Failed> {
        answered.map_or_else(
            |_| {
                drop(Object::take(connection));
                Err(Failed::Silent(self.patience))
            },
            |said| said.map_err(Failed::Said),
        )
    }
}

/// A new connection is used once it leads to the database that the store is in.
fn passes(continuity: Arc<Continuity>, patience: Duration) -> Hook {
    Hook::async_fn(move |client, _| {
        let continuity = Arc::clone(&continuity);
        Box::pin(async move {
            match tokio::time::timeout(patience, continuity.look(client)).await {
                Ok(Ok(())) => Ok(()),
                Ok(Err(error)) => Err(HookError::message(error.to_string())),
                Err(_) => Err(HookError::message("it is silent")),
            }
        })
    })
}

/// A statement that was not answered with rows.
#[derive(Clone)]
pub(super) struct Unanswered {
    /// What the caller is told.
    pub(super) error: StoreError,
    /// It was refused because a row with this key is there.
    pub(super) is_unique: bool,
}

impl From<StoreError> for Unanswered {
    fn from(error: StoreError) -> Self {
        Self {
            error,
            is_unique: false,
        }
    }
}

impl From<Unanswered> for StoreError {
    fn from(unanswered: Unanswered) -> Self {
        unanswered.error
    }
}

impl Unanswered {
    /// Whether the database took it for wrong: nothing was written, and nothing will be by repeating it.
    pub(super) fn was_refused(&self) -> bool {
        matches!(self.error.kind, StoreErrorKind::Database(_))
    }

    /// Whether it may have taken effect.
    pub(super) fn in_doubt(&self) -> bool {
        matches!(self.error.kind, StoreErrorKind::InDoubt(_))
    }
}

/// How a try failed.
enum Failed {
    /// Before the statement was sent.
    Before(tokio_postgres::Error),
    /// The database or the connection said so.
    Said(tokio_postgres::Error),
    /// No answer came.
    Silent(Duration),
}

impl Failed {
    fn meaning(&self) -> Meaning {
        match self {
            Self::Before(error) => match fault::meaning(error) {
                Meaning::Unknown => Meaning::Again,
                known => known,
            },
            Self::Said(error) => fault::meaning(error),
            Self::Silent(_) => Meaning::Unknown,
        }
    }

    fn told(self, doing: &'static str, does: Does) -> Unanswered {
        let (words, is_unique) = match &self {
            Self::Before(error) | Self::Said(error) => {
                (fault::words(error), fault::is_unique(error))
            }
            Self::Silent(patience) => (
                format!("no answer within {} ms", patience.as_millis()),
                false,
            ),
        };
        let kind = match (self.meaning(), does) {
            (Meaning::Unknown, Does::Writes) => StoreErrorKind::InDoubt(words),
            (Meaning::Refused, _) => StoreErrorKind::Database(words),
            (Meaning::Again | Meaning::Later | Meaning::Unknown, _) => {
                StoreErrorKind::Unavailable(words)
            }
        };
        let error = StoreError::new(doing, kind);
        Unanswered { error, is_unique }
    }
}
