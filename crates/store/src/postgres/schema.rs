//! The schema: numbered migrations, forward only, and which databases are refused.

use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::fault;
use crate::{StoreError, StoreErrorKind};

const DOING: &str = "migrating the database";

/// Migrations, in order; the index plus one is the schema version.
const MIGRATIONS: [&str; 11] = [
    include_str!("migrations/0001_first.sql"),
    include_str!("migrations/0002_subject.sql"),
    include_str!("migrations/0003_outbox.sql"),
    include_str!("migrations/0004_register.sql"),
    include_str!("migrations/0005_identity.sql"),
    include_str!("migrations/0006_notices.sql"),
    include_str!("migrations/0007_workers.sql"),
    include_str!("migrations/0008_room.sql"),
    include_str!("migrations/0009_twins.sql"),
    include_str!("migrations/0010_retention.sql"),
    include_str!("migrations/0011_seal.sql"),
];

/// The newest schema version known here.
pub(super) fn version_known() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

/// Where versions are written down. Workers that start at the same time make it one after another: the table is locked while
/// a version is being made.
const VERSIONS: &str = "SET LOCAL statement_timeout = 0; CREATE SCHEMA IF NOT EXISTS factum; \
    CREATE TABLE IF NOT EXISTS factum.version (version int8 NOT NULL, CONSTRAINT version_key PRIMARY KEY (version))";

/// Brings the schema to the newest version, one transaction per step. On a schema that is there already it changes nothing.
pub(super) async fn migrate(client: &mut Client) -> Result<(), StoreError> {
    make_versions(client).await?;
    let known = version_known();
    for (text, version) in MIGRATIONS.iter().zip(1i64..) {
        let transaction = client.transaction().await.map_err(failed)?;
        transaction
            // A step may take long on a large table, and the others wait for whoever takes it.
            .batch_execute(
                "SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0; \
                 LOCK TABLE factum.version IN EXCLUSIVE MODE",
            )
            .await
            .map_err(failed)?;
        let found = transaction
            // Without a name: behind a pooler the name would outlive this transaction in somebody else's session.
            .query_typed_one(
                "SELECT coalesce(max(version), 0)::int8 FROM factum.version",
                &[],
            )
            .await
            .map_err(failed)?
            .get::<_, i64>(0);
        if found > known {
            return Err(StoreError::new(
                DOING,
                StoreErrorKind::TooNew { found, known },
            ));
        }
        if found < version {
            transaction.batch_execute(text).await.map_err(failed)?;
            transaction
                .query_typed(
                    "INSERT INTO factum.version (version) VALUES ($1)",
                    &[(&version, Type::INT8)],
                )
                .await
                .map_err(failed)?;
        }
        transaction.commit().await.map_err(failed)?;
    }
    Ok(())
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
