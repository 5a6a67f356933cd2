//! The same application on PostgreSQL: one transaction of its own database, which the engines work on too.

use tokio_postgres::{Client, NoTls};

use crate::{Channel, Note, Release, announcement, key};

const SCHEMA: &str = "create table if not exists releases (
    name   text primary key,
    date   text not null,
    note   text not null,
    action text not null
)";

/// Why a note was not published. Nothing was written then.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// The application's database.
    #[error("the release could not be written: {0}")]
    Database(#[from] tokio_postgres::Error),
    /// The announcement.
    #[error("the announcement could not be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// The announcement is refused.
    #[error("the announcement is refused: {0}")]
    Refused(#[from] factum::Problem),
}

/// The application: its database, and the channel where it announces.
pub struct PostgresDesk {
    database: Client,
    channel: Channel,
}

impl PostgresDesk {
    /// Connects, and makes the application's table where it is missing. The outbox is the engines'.
    ///
    /// # Errors
    /// What the database says.
    pub async fn open(url: &str, channel: Channel) -> Result<Self, DatabaseError> {
        let (database, connection) = tokio_postgres::connect(url, NoTls).await?;
        tokio::spawn(connection);
        database.batch_execute(SCHEMA).await?;
        Ok(Self { database, channel })
    }

    /// Publishes a note and records the intent to announce it: both, or nothing. False if it was published before; nothing is
    /// written then, so that publishing again announces nothing again.
    ///
    /// # Errors
    /// [`DatabaseError`]; nothing was written.
    pub async fn publish(&mut self, note: &Note) -> Result<bool, DatabaseError> {
        let intent = announcement(&self.channel, note)?;
        let transaction = self.database.transaction().await?;
        let before = "select 1 from releases where name = $1";
        if transaction
            .query_opt(before, &[&note.name])
            .await?
            .is_some()
        {
            return Ok(false);
        }
        let action = factum::postgres::submit(&transaction, &intent).await?.id;
        let sql = "insert into releases (name, date, note, action) values ($1, $2, $3, $4)";
        let release: [&(dyn tokio_postgres::types::ToSql + Sync); 4] =
            [&note.name, &note.date, &note.text, &action.to_string()];
        transaction.execute(sql, &release).await?;
        transaction.commit().await?;
        factum::postgres::wake(&self.database).await?;
        Ok(true)
    }

    /// Everything that is published, in the order in which it was.
    ///
    /// # Errors
    /// What the database says.
    pub async fn releases(&self) -> Result<Vec<Release>, DatabaseError> {
        let sql =
            "select name, factum.submitted(action) ->> 'problem' from releases order by action";
        let rows = self.database.query(sql, &[]).await?;
        let release = |row: &tokio_postgres::Row| {
            let name: String = row.get(0);
            Release {
                key: key(&name),
                name,
                refused: row.get(1),
            }
        };
        Ok(rows.iter().map(release).collect())
    }
}
