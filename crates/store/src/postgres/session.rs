//! What a session gives, found out at the start: behind a pooler that hands each transaction to another session, nothing.
//!
//! A session of one's own has what was asked for at its beginning: here, a setting without a meaning and with a value that nobody
//! else has. Behind a pooler the beginning is refused, or it is the beginning of somebody else's session.

use std::time::Duration;

use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Config};

use super::fault;
use super::tls::Tls;
use crate::encoding::hex;
use crate::{StoreError, StoreErrorKind};

const DOING: &str = "connecting";

/// How connections are made from now on, and what they can be relied on for.
pub(super) struct Session {
    pub(super) config: Config,
    /// A pooler stands in between.
    pub(super) pooled: bool,
}

impl Session {
    /// Connects and looks.
    pub(super) async fn meet(
        config: Config,
        tls: &Tls,
        patience: Duration,
    ) -> Result<Self, StoreError> {
        let mut nonce = [0; 16];
        getrandom::fill(&mut nonce)
            .map_err(|error| StoreError::new(DOING, StoreErrorKind::Database(error.to_string())))?;
        let nonce = hex(&nonce);
        let own = with_options(&config, patience, &nonce);
        let met = match connect(&own, tls, patience).await {
            Ok(client) => found(&client, patience, &nonce).await,
            Err(error) => Err(error),
        };
        match met {
            Ok(true) => Ok(Self {
                config: with_options(&config, patience, ""),
                pooled: false,
            }),
            // It came through as it was asked for, and is not there.
            Ok(false) => Ok(Self {
                config: own,
                pooled: true,
            }),
            // PgBouncer refuses what it does not hand on. Without it, either it is there or the error is another one.
            Err(Refused::Beginning) => {
                connect(&config, tls, patience)
                    .await
                    .map_err(Refused::told)?;
                Ok(Self {
                    config,
                    pooled: true,
                })
            }
            Err(refused) => Err(refused.told()),
        }
    }
}

/// The database gives up a little earlier than we do, so that what is said to have failed has.
fn with_options(config: &Config, patience: Duration, nonce: &str) -> Config {
    let limit = patience.as_millis();
    let earlier = limit.saturating_sub(limit / 10).max(1);
    let given = config.get_options().unwrap_or_default().to_owned();
    let mut config = config.clone();
    config.options(format!(
        "{given} -c default_transaction_isolation=read\\ committed -c statement_timeout={earlier} \
         -c lock_timeout={earlier} -c idle_in_transaction_session_timeout={limit}{}",
        if nonce.is_empty() {
            String::new()
        } else {
            format!(" -c factum.session={nonce}")
        }
    ));
    config
}

enum Refused {
    /// What was asked for at the beginning of the session.
    Beginning,
    /// Something else.
    Other(StoreError),
}

impl Refused {
    fn told(self) -> StoreError {
        match self {
            Self::Beginning => {
                let text = "what stands in between refuses a connection that asks for nothing";
                StoreError::new(DOING, StoreErrorKind::Database(text.to_owned()))
            }
            Self::Other(error) => error,
        }
    }

    fn of(error: &tokio_postgres::Error) -> Self {
        if error.code() == Some(&SqlState::PROTOCOL_VIOLATION) {
            return Self::Beginning;
        }
        Self::Other(fault::reading(DOING, error))
    }

    fn silent(patience: Duration) -> Self {
        let text = format!("it is silent for {} ms", patience.as_millis());
        Self::Other(StoreError::new(DOING, StoreErrorKind::Unavailable(text)))
    }
}

async fn connect(config: &Config, tls: &Tls, patience: Duration) -> Result<Client, Refused> {
    match tokio::time::timeout(patience, config.connect(tls.clone())).await {
        Ok(Ok((client, connection))) => {
            tokio::spawn(connection);
            Ok(client)
        }
        Ok(Err(error)) => Err(Refused::of(&error)),
        Err(_) => Err(Refused::silent(patience)),
    }
}

/// Whether the session has the setting that it began with.
async fn found(client: &Client, patience: Duration, nonce: &str) -> Result<bool, Refused> {
    let sql = include_str!("sql/session_read.sql");
    let asked = client.query_typed_one(sql, &[(&"factum.session", Type::TEXT)]);
    match tokio::time::timeout(patience, asked).await {
        Ok(Ok(row)) => Ok(row.get::<_, Option<&str>>(0) == Some(nonce)),
        Ok(Err(error)) => Err(Refused::of(&error)),
        Err(_) => Err(Refused::silent(patience)),
    }
}
