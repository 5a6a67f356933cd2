//! What every store has to do. Each case is written once and run against each backend.

mod admit;
mod claims;
mod listing;
mod notices;
mod others;
pub(crate) mod register;
mod reports;
mod retention;
mod subject;
mod twins;
mod workers;

use std::sync::Arc;

use factum_store::{Admission, Admitted, Claim, Claimed, MemoryStore, Record, Store};

use crate::fixtures::{MINUTE, TestClock, WORKER};

/// One backend, ready to be used.
pub(crate) struct Ready {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: TestClock,
    /// Files that live as long as the case.
    _files: Option<tempfile::TempDir>,
}

/// A memory store.
pub(crate) fn memory() -> Ready {
    let clock = TestClock::new();
    Ready {
        store: Arc::new(MemoryStore::new(clock.clock())),
        clock,
        _files: None,
    }
}

/// A SQLite store in a folder of its own.
#[cfg(feature = "sqlite")]
pub(crate) fn sqlite() -> Ready {
    let clock = TestClock::new();
    let files = tempfile::tempdir().unwrap();
    let opened = crate::sqlite::open_in(files.path(), &clock).unwrap();
    Ready {
        store: Arc::new(opened.store),
        clock,
        _files: Some(files),
    }
}

/// A PostgreSQL store in a database of its own.
#[cfg(feature = "postgres")]
pub(crate) async fn postgres() -> Ready {
    let clock = TestClock::new();
    let database = crate::postgres::Database::make().await;
    Ready {
        store: Arc::new(database.open(Some(clock.clock())).await),
        clock,
        _files: None,
    }
}

/// A PostgreSQL store in a database of its own, through a pooler in transaction mode.
#[cfg(feature = "postgres")]
pub(crate) async fn pgbouncer() -> Ready {
    let clock = TestClock::new();
    let database = crate::pgbouncer::behind(&crate::postgres::Database::make().await);
    Ready {
        store: Arc::new(database.open(Some(clock.clock())).await),
        clock,
        _files: None,
    }
}

/// Runs cases of one module against each backend.
macro_rules! on_each_store {
    ($($case:ident),+ $(,)?) => {
        mod memory {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() { super::$case($crate::suite::memory()).await; })+
        }
        #[cfg(feature = "sqlite")]
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() { super::$case($crate::suite::sqlite()).await; })+
        }
        #[cfg(feature = "postgres")]
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            #[ignore = "needs PostgreSQL; ./test starts one"]
            async fn $case() { super::$case($crate::suite::postgres().await).await; })+
        }
        #[cfg(feature = "postgres")]
        mod pgbouncer {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            #[ignore = "needs PgBouncer before PostgreSQL; ./test starts both"]
            async fn $case() { super::$case($crate::suite::pgbouncer().await).await; })+
        }
    };
}
pub(crate) use on_each_store;

impl Ready {
    /// Admits what has to be new.
    pub(crate) async fn create(&self, admission: Admission) -> Record {
        match self.store.admit(admission).await.unwrap() {
            Admitted::Created(record, _) => *record,
            other => panic!("not created: {other:?}"),
        }
    }

    /// Claims what has to be free, for a minute.
    pub(crate) async fn hold(&self, record: &Record) -> (Claim, Record) {
        match self.store.claim(record.id(), WORKER, MINUTE).await.unwrap() {
            Claimed::Held(claim, record) => (claim, *record),
            other => panic!("not held: {other:?}"),
        }
    }

    /// Loads what has to be there.
    pub(crate) async fn read(&self, record: &Record) -> Record {
        self.store.load(record.id()).await.unwrap().unwrap()
    }
}
