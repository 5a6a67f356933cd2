//! A database of a test's own, and the ways in which it goes away.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::runtime::Runtime;
use tokio_postgres::{Client, NoTls};

use crate::support::ended;

/// A database until the end of the test.
pub(crate) struct Database {
    /// Where it is.
    pub(crate) url: String,
    /// What it is called there.
    pub(crate) name: String,
    runtime: Runtime,
    server: Client,
}

impl Database {
    /// Makes an empty one on the server that the environment names.
    pub(crate) fn make() -> Self {
        #[expect(
            clippy::disallowed_methods,
            reason = "the script that starts the server names it so"
        )]
        let server =
            std::env::var("FACTUM_TEST_POSTGRES").expect("FACTUM_TEST_POSTGRES names a server");
        Self::on(&server)
    }

    /// Makes an empty one on this server.
    pub(crate) fn on(server: &str) -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let since = std::time::UNIX_EPOCH.elapsed().unwrap().as_micros();
        let name = format!("served_{since}_{}_{number}", std::process::id());
        let runtime = Runtime::new().unwrap();
        let (client, connection) = runtime
            .block_on(tokio_postgres::connect(
                &format!("{server}/postgres"),
                NoTls,
            ))
            .unwrap();
        runtime.spawn(connection);
        let made = Self {
            url: format!("{server}/{name}"),
            name,
            runtime,
            server: client,
        };
        made.run(&format!("CREATE DATABASE {}", made.name));
        made
    }

    /// Empty again.
    pub(crate) fn make_anew(&self) {
        let name = &self.name;
        self.run(&format!("DROP DATABASE {name} WITH (FORCE)"));
        self.run(&format!("CREATE DATABASE {name}"));
    }

    /// From now on nobody gets in, and whoever is in is thrown out.
    pub(crate) fn refuse_connections(&self) {
        let name = &self.name;
        self.run(&format!("ALTER DATABASE {name} ALLOW_CONNECTIONS false"));
        self.run(&format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
        ));
    }

    /// They get in again.
    pub(crate) fn accept_connections(&self) {
        self.run(&format!(
            "ALTER DATABASE {} ALLOW_CONNECTIONS true",
            self.name
        ));
    }

    /// Everything in the engines' schema, as text.
    pub(crate) fn dumped(&self) -> String {
        let mut dump = Command::new("pg_dump");
        dump.args(["--schema=factum", "--data-only"]).arg(&self.url);
        let ran = ended(dump);
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.out
    }

    fn run(&self, sql: &str) {
        self.runtime
            .block_on(self.server.batch_execute(sql))
            .unwrap();
    }
}
