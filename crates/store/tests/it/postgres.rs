//! What only PostgreSQL has: a server, several workers on one store, answers that are lost on the way, plans.
//!
//! The server is not started here: `FACTUM_TEST_POSTGRES` names one whose user may make databases. Each case has its own.

mod batches;
pub(crate) mod checks;
mod doubt;
mod history;
mod notices;
mod proxy;
mod restored;
mod tamper;
mod tls;
mod upgrade;
mod workers;

use std::sync::atomic::{AtomicU32, Ordering};

use factum_store::Clock;
use factum_store::postgres::{Options, PostgresStore, StoreKeys};
use tokio_postgres::NoTls;

use crate::fixtures::seals;

/// The keys of every store in these tests.
pub(crate) const KEYS: StoreKeys = StoreKeys([42; 32]);

/// A database of its own.
pub(crate) struct Database {
    pub(crate) url: String,
}

impl Database {
    /// Makes an empty one.
    pub(crate) async fn make() -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        #[expect(
            clippy::disallowed_methods,
            reason = "the script that starts the server names it so"
        )]
        let server =
            std::env::var("FACTUM_TEST_POSTGRES").expect("FACTUM_TEST_POSTGRES names a server");
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let since = std::time::UNIX_EPOCH.elapsed().unwrap().as_micros();
        let name = format!("case_{since}_{}_{number}", std::process::id());
        let client = connect(&format!("{server}/postgres")).await;
        client
            .batch_execute(&format!("CREATE DATABASE {name}"))
            .await
            .unwrap();
        Self {
            url: format!("{server}/{name}"),
        }
    }

    /// A store on it, with the database's clock unless another one is given.
    pub(crate) async fn open(&self, clock: Option<Clock>) -> PostgresStore {
        let options = Options {
            clock,
            connections: 4,
            seals: seals(),
            ..Options::new(&self.url, KEYS)
        };
        PostgresStore::open(options).await.unwrap()
    }
}

/// A connection past the store.
pub(crate) async fn connect(url: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}
