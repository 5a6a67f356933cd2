//! Record what you want done in other people's systems within your own sqlx transaction: both commit, or neither does.
//!
//! An engine of Factum (`factum serve`, or the library) on the same database picks it up, carries it out once, and finds out what
//! became of it. This crate is two SQL functions with types; it holds no connection and starts nothing.
//!
//! ```no_run
//! # async fn order(orders: &sqlx::PgPool, n: i64) -> Result<String, Box<dyn std::error::Error>> {
//! let mut tx = orders.begin().await?;
//! sqlx::query("insert into orders (n) values ($1)").bind(n).execute(&mut *tx).await?;
//! let submitted = factum_sqlx::submit(&mut *tx, &serde_json::json!({
//!     "destination": "helpdesk", "operation": "ticket.create", "key": format!("order/{n}/ticket"),
//!     "payload": {"ticket": {"subject": format!("Order {n}")}},
//! })).await?;
//! tx.commit().await?;
//! factum_sqlx::wake(orders).await?; // it would be found without that, a little later
//! # Ok(submitted.id)
//! # }
//! ```

use serde::{Deserialize, Serialize};
use sqlx::types::Json;
use sqlx::{PgExecutor, Postgres};

/// What `factum.submit` answers.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub struct Submitted {
    /// The action's id, good from the commit on.
    pub id: String,
    /// An earlier submission named the same identity.
    pub joined: bool,
    /// How the action stands, in Factum's words: `pending`, `succeeded`, `outcome_unknown`, …
    pub state: String,
}

/// How an action stands.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct Status {
    /// The action's id.
    pub id: String,
    /// An engine has taken it over.
    pub recorded: bool,
    /// Its state, in Factum's words.
    pub state: String,
    /// What the engine does next: `send`, `look_up`, `poll`, `cancel_by_key`, `wait`, `review` or `none`.
    pub next: String,
    /// Why an engine refused it, as the problem that HTTP answers.
    pub problem: Option<serde_json::Value>,
}

impl Status {
    /// Nothing more happens by itself.
    #[must_use]
    pub fn rests(&self) -> bool {
        matches!(&*self.next, "none" | "review")
    }
}

/// Why a submission was not recorded. The transaction has to be rolled back, to a savepoint before the call at least.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database refused it by the code of a problem, such as `F1007`.
    #[error("{code}: {rule}")]
    Refused {
        /// The code, as in `factum explain F1007`.
        code: String,
        /// The rule that was broken.
        rule: String,
        /// What to do about it.
        remedy: Option<String>,
        /// The action that the identity names, on a conflict.
        action: Option<String>,
    },
    /// Everything else that the database or the connection says.
    #[error(transparent)]
    Database(sqlx::Error),
}

/// Records a submission, the body of `POST /v1/actions`, within the caller's transaction.
///
/// # Errors
/// [`Error::Refused`] for what the database can tell is wrong with it.
pub async fn submit<'e>(
    transaction: impl PgExecutor<'e>,
    submission: &(impl Serialize + Sync),
) -> Result<Submitted, Error> {
    let asked = sqlx::query_scalar::<Postgres, Json<Submitted>>("select factum.submit($1)")
        .bind(Json(submission))
        .fetch_one(transaction);
    Ok(asked.await.map_err(refused)?.0)
}

/// How an action of one's own tenant stands; `None` where there is none of this id.
///
/// # Errors
/// What the database says.
pub async fn submitted<'e>(
    executor: impl PgExecutor<'e>,
    id: &str,
) -> Result<Option<Status>, sqlx::Error> {
    let asked = sqlx::query_scalar::<Postgres, Option<Json<Status>>>("select factum.submitted($1)")
        .bind(id)
        .fetch_one(executor);
    Ok(asked.await?.map(|Json(status)| status))
}

/// Wakes the engines, so that what was committed before is picked up at once.
///
/// # Errors
/// What the database says; it is picked up all the same.
pub async fn wake<'e>(executor: impl PgExecutor<'e>) -> Result<(), sqlx::Error> {
    sqlx::query("notify factum_outbox")
        .execute(executor)
        .await?;
    Ok(())
}

fn refused(error: sqlx::Error) -> Error {
    let said = error
        .as_database_error()
        .and_then(|error| error.try_downcast_ref::<sqlx::postgres::PgDatabaseError>());
    match said {
        Some(said) if said.code().starts_with("F1") => Error::Refused {
            code: said.code().to_owned(),
            rule: said.message().to_owned(),
            remedy: said.hint().map(str::to_owned),
            action: said.detail().map(str::to_owned),
        },
        _ => Error::Database(error),
    }
}
