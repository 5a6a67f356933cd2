//! The schema: numbered migrations, forward only, and which databases are refused.

use std::time::Duration;

use factum_core::Timestamp;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Transaction};

use super::fault;
use super::program::{FIRST, Program};
use super::workers::{older_workers, raise};
use crate::clock::Clock;
use crate::{StoreError, StoreErrorKind};

const DOING: &str = "migrating the database";

/// For how long workers are waited for whose program could not go on: one that died is taken to live for a while.
const WAITS: Duration = Duration::from_secs(30);

/// How often they are looked for.
const LOOKS: Duration = Duration::from_millis(500);

/// Where versions are written down. Workers that start at the same time make it one after another: the table is locked while
/// a version is being made.
const VERSIONS: &str = "SET LOCAL statement_timeout = 0; CREATE SCHEMA IF NOT EXISTS factum; \
    CREATE TABLE IF NOT EXISTS factum.version (version int8 NOT NULL, CONSTRAINT version_key PRIMARY KEY (version))";

/// Brings the schema to the newest version, one transaction per step. On a schema that is there already it changes nothing.
///
/// # Errors
/// `TooNew` if the store does not take this program; `OlderWorkers` if one still lives that could not go on beside it.
pub(super) async fn migrate(
    client: &mut Client,
    program: Program,
    clock: Option<&Clock>,
) -> Result<(), StoreError> {
    make_versions(client).await?;
    let since = tokio::time::Instant::now();
    for (version, text) in program.migrations() {
        while let Some(error) = step(client, program, (version, text), clock).await? {
            if since.elapsed() >= WAITS {
                return Err(error);
            }
            tokio::time::sleep(LOOKS).await;
        }
    }
    Ok(())
}

/// One step, unless it is done already; or which workers it has to wait for.
async fn step(
    client: &mut Client,
    program: Program,
    (version, text): (i64, &str),
    clock: Option<&Clock>,
) -> Result<Option<StoreError>, StoreError> {
    let transaction = client.transaction().await.map_err(failed)?;
    transaction
        // A step may take long on a large table, and the others wait for whoever takes it.
        .batch_execute(
            "SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0; \
             LOCK TABLE factum.version IN EXCLUSIVE MODE",
        )
        .await
        .map_err(failed)?;
    let found = found(&transaction).await?;
    if found > program.knows() {
        refuse_above(&transaction, program, found).await?;
    }
    if found < version {
        if version == FIRST {
            // Who lives is asked for by what this very step brings.
            transaction.batch_execute(text).await.map_err(failed)?;
        }
        if version >= FIRST {
            let older = leave_behind(&transaction, program, clock).await?;
            if older.is_some() {
                return Ok(older);
            }
        }
        if version != FIRST {
            transaction.batch_execute(text).await.map_err(failed)?;
        }
        transaction
            .query_typed(
                "INSERT INTO factum.version (version) VALUES ($1)",
                &[(&version, Type::INT8)],
            )
            .await
            .map_err(failed)?;
    }
    transaction.commit().await.map_err(failed)?;
    Ok(None)
}

async fn found(transaction: &Transaction<'_>) -> Result<i64, StoreError> {
    let row = transaction
        // Without a name: behind a pooler the name would outlive this transaction in somebody else's session.
        .query_typed_one(
            "SELECT coalesce(max(version), 0)::int8 FROM factum.version",
            &[],
        )
        .await
        .map_err(failed)?;
    Ok(row.get(0))
}

/// A newer schema takes this program as long as its floor allows it. One without a row of its own is only just being made.
async fn refuse_above(
    transaction: &Transaction<'_>,
    program: Program,
    found: i64,
) -> Result<(), StoreError> {
    let sql = include_str!("sql/floor_read.sql");
    let rows = transaction.query_typed(sql, &[]).await.map_err(failed)?;
    let found = rows.first().map_or(found, |row| row.get(0));
    let known = program.knows();
    if found <= known {
        return Ok(());
    }
    Err(StoreError::new(
        DOING,
        StoreErrorKind::TooNew { found, known },
    ))
}

/// Leaves behind the programs that cannot work beside this one, unless a worker of theirs lives.
async fn leave_behind(
    transaction: &Transaction<'_>,
    program: Program,
    clock: Option<&Clock>,
) -> Result<Option<StoreError>, StoreError> {
    let now = match clock {
        Some(clock) => clock(),
        None => {
            let sql = include_str!("sql/now.sql");
            let row = transaction.query_typed_one(sql, &[]).await;
            Timestamp::from_micros(row.map_err(failed)?.get(0))
        }
    };
    let least = program.back_to();
    let client = transaction.client();
    let count = older_workers(client, least, now).await.map_err(failed)?;
    if count > 0 {
        let kind = StoreErrorKind::OlderWorkers { count };
        return Ok(Some(StoreError::new(DOING, kind)));
    }
    raise(client, least).await.map_err(failed)?;
    Ok(None)
}

/// `IF NOT EXISTS` does not wait for another session that is just making the same name: the loser looks again.
async fn make_versions(client: &Client) -> Result<(), StoreError> {
    const TRIES: usize = 5;
    let mut last = None;
    for _ in 0..TRIES {
        match client.batch_execute(VERSIONS).await {
            Ok(()) => return Ok(()),
            Err(error) if fault::is_made_twice(&error) => last = Some(error),
            Err(error) => return Err(failed(error)),
        }
    }
    Err(last.map_or_else(
        || {
            StoreError::new(
                DOING,
                StoreErrorKind::Unavailable("another worker is migrating".to_owned()),
            )
        },
        failed,
    ))
}

fn failed(error: tokio_postgres::Error) -> StoreError {
    fault::reading(DOING, &error)
}
