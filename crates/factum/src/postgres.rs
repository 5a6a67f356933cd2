//! The outbox in an application's own PostgreSQL transaction: the intent commits with the application's data, or not at all.
//!
//! An application calls the SQL function `factum.submit`, from any language; [`submit`] does it from Rust. Every worker looks for
//! rows now and then, which is what counts; a notification on the channel `factum_outbox` is a wake-up and may be lost.
//!
//! ```no_run
//! # async fn order(orders: &mut tokio_postgres::Client, n: i64) -> Result<(), Box<dyn std::error::Error>> {
//! let submission = factum::Submission {
//!     destination: "helpdesk".to_owned(),
//!     operation: "ticket.create".to_owned(),
//!     key: Some(format!("order/{n}/ticket")),
//!     ..factum::Submission::default()
//! };
//! let tx = orders.transaction().await?;
//! tx.execute("insert into orders (n) values ($1)", &[&n]).await?;
//! let action = factum::postgres::submit(&tx, &submission).await?.id;
//! tx.commit().await?;
//! factum::postgres::wake(orders).await?; // it would be found without that, a little later
//! # let _ = action;
//! # Ok(())
//! # }
//! ```

use std::sync::Arc;
use std::time::Duration;

use factum_core::{ActionId, Span, State};
use factum_engine::{Code, Engine, Problem, Submission};
use factum_store::postgres::{OutboxId, OutboxOutcome, OutboxRow, PostgresStore};
use factum_store::{Store, StoreError};
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::Instant;
use tokio_postgres::{Client, GenericClient};

use crate::pickup::{Row, passing, submit_all};
use crate::problem_json;

/// Rows that are submitted at once.
const BATCH: usize = 64;
/// For how long a worker holds the rows that it submits. One that dies with them leaves them to others then.
const HOLD: Span = Span::from_secs(5);
/// How long a row that was taken over says so.
const REMEMBERED: Span = Span::from_secs(24 * 3_600);
/// How often those are forgotten that have said so for long enough.
const FORGET_EVERY: Duration = Duration::from_secs(60);
/// After a failure.
const REST: Duration = Duration::from_secs(1);
/// Before a listener whose connection ended listens again.
const LISTEN_AGAIN: Duration = Duration::from_secs(5);

/// What `factum.submit` answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submitted {
    /// The action.
    pub id: ActionId,
    /// An earlier submission named it.
    pub joined: bool,
    /// How it stands.
    pub state: State,
}

/// Records a submission within the caller's transaction: once that commits, the action exists.
///
/// # Errors
/// The problem that the database names by its code (F1003, F1004, F1007, F1011), else F1053; the transaction has to be rolled back.
pub async fn submit(
    transaction: &impl GenericClient,
    submission: &Submission,
) -> Result<Submitted, Problem> {
    let body = crate::action::to_json(submission)?;
    let sql = "SELECT s ->> 'id', (s ->> 'joined')::bool, s ->> 'state' FROM factum.submit($1::text::jsonb) s";
    let row = transaction
        .query_one(sql, &[&body])
        .await
        .map_err(|error| refused(&error))?;
    let (id, state): (&str, &str) = (row.get(0), row.get(2));
    match (id.parse(), State::from_name(state)) {
        (Ok(id), Some(state)) => Ok(Submitted {
            id,
            joined: row.get(1),
            state,
        }),
        _ => {
            let rule = format!(
                "factum.submit answered {id} and {state}, which this version does not know"
            );
            let remedy = "roll back, and use the library of the version that the workers have";
            Err(Problem::new(Code::StoreFailed, "", rule, remedy))
        }
    }
}

fn refused(error: &tokio_postgres::Error) -> Problem {
    let Some(said) = error.as_db_error() else {
        let rule = format!("the outbox row could not be written: {error}");
        return Problem::new(
            Code::StoreFailed,
            "",
            rule,
            "roll back, and repeat the transaction",
        );
    };
    let code = Code::from_code(said.code().code()).unwrap_or(Code::StoreFailed);
    let rule = format!("{} ({})", said.message(), said.code().code());
    let remedy = said
        .hint()
        .unwrap_or("roll back, and repeat the transaction");
    let problem = Problem::new(code, "", rule, remedy.to_owned());
    match said.detail().and_then(|detail| detail.parse().ok()) {
        Some(first) => problem.about(first),
        None => problem,
    }
}

/// Wakes the workers, so that rows that were committed before are picked up at once.
///
/// # Errors
/// What the database says; the rows are picked up all the same.
pub async fn wake(client: &Client) -> Result<(), tokio_postgres::Error> {
    client.batch_execute("NOTIFY factum_outbox").await
}

/// The tasks that pick up. They end when this is dropped.
pub(crate) struct Pickup {
    tasks: Vec<AbortHandle>,
}

impl Pickup {
    /// Starts picking up.
    pub(crate) fn start(engine: Arc<Engine>, store: Arc<PostgresStore>, every: Duration) -> Self {
        let wake = Arc::new(Notify::new());
        // Behind a pooler nothing would be heard, and a connection be taken for it.
        let listening =
            (!store.is_pooled()).then(|| tokio::spawn(listen(store.clone(), wake.clone())));
        let looking = tokio::spawn(pick_up(engine, store, wake, every));
        let tasks = listening.iter().chain([&looking]);
        Self {
            tasks: tasks.map(tokio::task::JoinHandle::abort_handle).collect(),
        }
    }
}

impl Drop for Pickup {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

async fn listen(store: Arc<PostgresStore>, wake: Arc<Notify>) {
    loop {
        let heard = wake.clone();
        if let Err(error) = store.outbox_listen(move || heard.notify_one()).await {
            tracing::debug!(%error, "nobody listens for the outbox just now; it is looked at all the same");
        }
        tokio::time::sleep(LISTEN_AGAIN).await;
    }
}

async fn pick_up(
    engine: Arc<Engine>,
    store: Arc<PostgresStore>,
    wake: Arc<Notify>,
    every: Duration,
) {
    let mut forgot: Option<Instant> = None;
    loop {
        match one_round(&engine, &store).await {
            Ok(0) => {
                if forgot.is_none_or(|at| at.elapsed() > FORGET_EVERY) {
                    forgot = Some(Instant::now());
                    forget(&store).await;
                }
                // Whether it was woken or has waited: it looks.
                let _ = tokio::time::timeout(every, wake.notified()).await;
            }
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(%error, "the outbox could not be picked up; trying again");
                tokio::time::sleep(REST).await;
            }
        }
    }
}

/// Submits what waits, at most one batch. Returns how many rows were seen.
async fn one_round(engine: &Arc<Engine>, store: &PostgresStore) -> Result<usize, StoreError> {
    let rows = store.outbox_take(HOLD, BATCH).await?;
    let seen = rows.len();
    if seen == 0 {
        return Ok(0);
    }
    let row = |row: OutboxRow| Row {
        reserved: row.reserved(),
        id: row.id,
        body: row.body,
        tenant: row.tenant,
        principal: row.principal,
    };
    let waiting = rows.into_iter().map(row).collect();
    let mut outcomes: Vec<(OutboxId, OutboxOutcome)> = Vec::new();
    for (id, submitted) in submit_all(engine, waiting).await {
        match submitted {
            Ok(action) => outcomes.push((id, OutboxOutcome::Taken(action))),
            // It waits on, and is taken again when its time is over.
            Err(problem) if passing(&problem) => {
                tracing::warn!(%problem, "a row of the outbox has to wait");
            }
            Err(problem) => {
                let problem = problem_json(&problem).to_string();
                outcomes.push((id, OutboxOutcome::Refused(problem)));
            }
        }
    }
    if !outcomes.is_empty() {
        store.outbox_settle(&outcomes).await?;
    }
    Ok(seen)
}

async fn forget(store: &PostgresStore) {
    let forgotten = match store.now().await {
        Ok(now) => store.outbox_forget(now - REMEMBERED).await,
        Err(error) => Err(error),
    };
    if let Err(error) = forgotten {
        tracing::debug!(%error, "old rows of the outbox are forgotten later");
    }
}
