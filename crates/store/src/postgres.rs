//! The store for several workers on several hosts: PostgreSQL 15 or newer.
//!
//! Every write is one statement on one lane, so it is its own transaction; claims are leases in the row of the action, by the
//! database's clock, fenced by a token and by the version. There are no triggers, no advisory locks, no session state and no
//! clock in any statement, so the tables distribute by lane, and a pooler in transaction mode may stand in between. What was answered is durable as far as `synchronous_commit` and the standbys promise. Rows carry
//! no checksums of ours: the cluster's own (`initdb --data-checksums`) are for that.
//!
//! Read `pool` for what becomes of a lost answer, and `write` for how it is resolved.

mod append;
mod bound;
mod claims;
mod clock;
mod commands;
mod continuity;
mod fault;
mod heads;
mod notices;
mod outbox;
mod pool;
mod program;
mod purge;
mod read;
mod register;
mod reports;
mod reseal;
mod row;
mod schema;
mod session;
mod tls;
mod transfer;
mod twins;
mod verify;
mod workers;
mod write;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use factum_core::{ActionId, Timestamp};

use self::append::Flusher;
use self::bound::Value;
use self::clock::{Anchored, Local};
use self::continuity::Continuity;
use self::pool::{Connections, Does};
use self::program::Floor;
use crate::cache::Cache;
use crate::chain::Chains;
use crate::clock::{Clock, RisingClock};
use crate::record::{Record, Restore};
use crate::seal::Seals;
use crate::{StoreError, StoreErrorKind};

pub use self::append::Flush;
pub use self::continuity::Standby;
pub use self::outbox::{OutboxId, OutboxOutcome, OutboxRow};
pub use self::program::Program;
pub use self::verify::verify;
pub use crate::keys::StoreKeys;

/// How to open a store.
#[derive(Clone)]
pub struct Options {
    /// A connection string: `postgresql://user@host:port/database`, several hosts and `target_session_attrs` included. With
    /// `sslmode=verify-full` it is by TLS, with `sslrootcert`, `sslcert` and `sslkey` as libpq has them.
    pub url: String,
    /// The secret that the store's keys are recognised by: the same for all workers.
    pub keys: StoreKeys,
    /// Seals content before it is written; the same ring for all workers.
    pub seals: Seals,
    /// Connections at the most.
    pub connections: usize,
    /// How long a connection and an answer are waited for.
    pub patience: Duration,
    /// Whether the database keeps statements under a name between two uses, which saves it the planning. Where `None`, it does so
    /// unless a pooler stands in between.
    pub prepared: Option<bool>,
    /// Which rows may go into one statement.
    pub flush: Flush,
    /// Where this worker remembers what it was told is durable; it is made. Without it, only a living worker remembers.
    pub seen: Option<PathBuf>,
    /// What a standby that takes over may lack.
    pub standby: Standby,
    /// In place of the database's clock, for tests.
    pub clock: Option<Clock>,
    /// Which program this is; another one only in tests of upgrades.
    pub program: Program,
}

impl Options {
    /// The defaults: ten connections, five seconds, the database's clock, nothing sealed.
    #[must_use]
    pub fn new(url: impl Into<String>, keys: StoreKeys) -> Self {
        Self {
            url: url.into(),
            keys,
            seals: Seals::off(),
            connections: 10,
            patience: Duration::from_secs(5),
            prepared: None,
            flush: Flush::default(),
            seen: None,
            standby: Standby::default(),
            clock: None,
            program: Program::default(),
        }
    }
}

/// A store in PostgreSQL. See the module's documentation.
pub struct PostgresStore {
    inner: Arc<Inner>,
}

struct Inner {
    connections: Arc<Connections>,
    flusher: Arc<Flusher>,
    continuity: Arc<Continuity>,
    floor: Arc<Floor>,
    anchored: Anchored,
    given: Option<RisingClock>,
    cache: Mutex<Cache>,
    seals: Seals,
    chains: Chains,
}

/// What the cache may take, in bytes.
const CACHE: usize = 64 << 20;

const OPENING: &str = "opening the database";

impl PostgresStore {
    /// Connects, brings the schema to the newest version, and checks that the keys are the store's own.
    ///
    /// # Errors
    /// `Database` for a connection string that cannot be read; `Unavailable` if the database is not there; `TooNew`;
    /// `Unsuitable` if the store was made with other keys, or was moved.
    pub async fn open(options: Options) -> Result<Self, StoreError> {
        let store = Self::open_to_move(options).await?;
        store.check_in_use().await?;
        Ok(store)
    }

    /// The same for a store that is to be exported or filled: it may have been moved before. Nothing else is to be done with it.
    ///
    /// # Errors
    /// As [`PostgresStore::open`].
    pub async fn open_to_move(options: Options) -> Result<Self, StoreError> {
        let (config, tls) = tls::read(&options.url)?;
        let size = options.connections.max(1);
        let continuity = Continuity::new(
            options.keys.0,
            options.seen,
            options.standby,
            options.clock.clone(),
            size,
        );
        let form = Arc::new(options.program.form());
        let floor = Floor::new(options.program, Arc::clone(&form));
        let connections = Connections::open(
            (config, tls),
            size,
            options.patience,
            options.prepared,
            (Arc::clone(&continuity), Arc::clone(&floor)),
        )
        .await?;
        let connections = Arc::new(connections);
        let mut connection = connections.one(OPENING).await?;
        schema::migrate(&mut connection, options.program, options.clock.as_ref()).await?;
        drop(connection);
        let inner = Inner {
            flusher: Flusher::new(Arc::clone(&connections), options.flush),
            connections,
            continuity,
            floor,
            anchored: Anchored::default(),
            given: options
                .clock
                .map(|clock| RisingClock::new(clock, Timestamp::EARLIEST)),
            cache: Mutex::new(Cache::new(CACHE)),
            seals: options.seals.in_form(form),
            chains: Chains::new(&options.keys),
        };
        let store = inner.check_keys(&options.keys).await?;
        let connection = inner.connections.one(OPENING).await?;
        inner.floor.begin(&connection).await?;
        inner.continuity.begin(&connection, store).await?;
        drop(connection);
        inner.take_up_reports().await?;
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// Whether a pooler stands between this worker and the database, as found out at the opening: then nobody can listen, and
    /// time-outs are those of the role.
    #[must_use]
    pub fn is_pooled(&self) -> bool {
        self.inner.connections.is_pooled()
    }

    /// Why this process declared a restore, if it did: at its opening, or later (R18).
    #[must_use]
    pub fn restored_because(&self) -> Option<String> {
        self.inner.continuity.because()
    }

    /// Gives the connections back; later calls answer that the store is unavailable.
    pub fn close(&self) {
        self.inner.connections.close();
        self.inner.continuity.end();
    }
}

impl Drop for PostgresStore {
    fn drop(&mut self) {
        self.inner.continuity.end();
    }
}

impl Inner {
    /// Looks whether the database is the one that it was.
    async fn look(&self, doing: &'static str) -> Result<(), StoreError> {
        let connection = self.connections.one(doing).await?;
        self.continuity.look(&connection).await
    }

    /// The store's time: the database's answer, or its last one extended.
    async fn now(&self, doing: &'static str) -> Result<Timestamp, StoreError> {
        if let Some(given) = &self.given {
            return Ok(given.now());
        }
        match self.anchored.now() {
            Some(now) => Ok(now),
            None => self.ask_now(doing).await,
        }
    }

    async fn ask_now(&self, doing: &'static str) -> Result<Timestamp, StoreError> {
        if let Some(given) = &self.given {
            return Ok(given.now());
        }
        let local = Local::take();
        let sql = include_str!("postgres/sql/now.sql");
        let rows = self.connections.rows(doing, Does::Reads, sql, &[]).await?;
        let micros = rows
            .first()
            .map(|row| row.get::<_, i64>(0))
            .unwrap_or_default();
        Ok(self.anchored.anchor(local, micros))
    }

    /// The store's own name, if the keys are its own.
    async fn check_keys(&self, keys: &StoreKeys) -> Result<[u8; 16], StoreError> {
        let mut fresh = [0u8; 16];
        getrandom::fill(&mut fresh).map_err(|error| {
            StoreError::new(OPENING, StoreErrorKind::Database(error.to_string()))
        })?;
        let check = key_check(keys, &fresh);
        let known = self.floor.known();
        let values: [Value<'_>; 3] = [&fresh.as_slice(), &check.as_slice(), &known];
        let sql = include_str!("postgres/sql/meta_first.sql");
        // Repeating it changes nothing more.
        self.connections
            .rows(OPENING, Does::Reads, sql, &values)
            .await?;
        let sql = include_str!("postgres/sql/meta_read.sql");
        let rows = self
            .connections
            .rows(OPENING, Does::Reads, sql, &[])
            .await?;
        let ours = rows.first().and_then(|row| {
            let (store, check): (&[u8], &[u8]) = (row.get(0), row.get(1));
            (check == key_check(keys, store)).then(|| store.try_into().ok())?
        });
        if let Some(store) = ours {
            return Ok(store);
        }
        let why = "it was made with other keys; every worker needs the same keys folder".to_owned();
        let path = "the database".to_owned();
        Err(StoreError::new(
            OPENING,
            StoreErrorKind::Unsuitable { path, why },
        ))
    }

    /// What was read or written, and is durable.
    fn keep(&self, record: Record) {
        self.continuity.saw(record.id(), record.version);
        self.cache
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .put(record);
    }

    fn kept(&self, id: ActionId) -> Option<Record> {
        self.cache
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take(id)
    }

    async fn contract(&self, digest: [u8; 32]) -> Result<Option<String>, StoreError> {
        let values: [Value<'_>; 1] = [&digest.as_slice()];
        let sql = include_str!("postgres/sql/contract_read.sql");
        let rows = self
            .connections
            .rows("reading a contract", Does::Reads, sql, &values)
            .await?;
        Ok(rows.first().map(|row| row.get(0)))
    }

    async fn keep_contract(&self, digest: [u8; 32], text: String) -> Result<(), StoreError> {
        let values: [Value<'_>; 2] = [&digest.as_slice(), &text];
        let sql = include_str!("postgres/sql/contract_insert.sql");
        // Repeating it changes nothing more.
        self.connections
            .rows("keeping a contract", Does::Reads, sql, &values)
            .await?;
        Ok(())
    }

    async fn who_waits(&self, destination: String) -> Result<Vec<String>, StoreError> {
        let values: [Value<'_>; 1] = [&destination];
        let sql = include_str!("postgres/sql/standing_waits.sql");
        let rows = self
            .connections
            .rows("looking who waits", Does::Reads, sql, &values)
            .await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    async fn setting(&self, name: String) -> Result<Option<String>, StoreError> {
        let values: [Value<'_>; 1] = [&name];
        let sql = include_str!("postgres/sql/setting_read.sql");
        let rows = self
            .connections
            .rows("reading a setting", Does::Reads, sql, &values)
            .await?;
        Ok(rows.first().map(|row| row.get(0)))
    }

    async fn set_setting(&self, name: String, value: Option<String>) -> Result<(), StoreError> {
        const DOING: &str = "changing a setting";
        let asked = match &value {
            Some(value) => {
                let values: [Value<'_>; 2] = [&name, value];
                let sql = include_str!("postgres/sql/setting_put.sql");
                self.connections
                    .rows(DOING, Does::Writes, sql, &values)
                    .await
            }
            None => {
                let values: [Value<'_>; 1] = [&name];
                let sql = include_str!("postgres/sql/setting_remove.sql");
                self.connections
                    .rows(DOING, Does::Writes, sql, &values)
                    .await
            }
        };
        asked?;
        Ok(())
    }

    async fn restore(&self) -> Result<Option<Restore>, StoreError> {
        let sql = include_str!("postgres/sql/restore_read.sql");
        let rows = self
            .connections
            .rows("reading the restore", Does::Reads, sql, &[])
            .await?;
        Ok(rows.first().map(row::restore))
    }

    async fn declare_restored(&self, copy_until: Option<Timestamp>) -> Result<Restore, StoreError> {
        const DOING: &str = "declaring a restore";
        let now = self.now(DOING).await?;
        let until = match copy_until {
            Some(until) => until,
            None => {
                let sql = include_str!("postgres/sql/stamp_last.sql");
                let rows = self.connections.rows(DOING, Does::Reads, sql, &[]).await?;
                let last: Option<i64> = rows.first().and_then(|row| row.get(0));
                last.map_or(now, Timestamp::from_micros)
            }
        };
        let values: [Value<'_>; 2] = [&until.as_micros(), &now.as_micros()];
        let sql = include_str!("postgres/sql/restore_put.sql");
        let rows = self
            .connections
            .rows(DOING, Does::Writes, sql, &values)
            .await?;
        rows.first().map(row::restore).ok_or_else(|| {
            StoreError::new(
                DOING,
                StoreErrorKind::Database("the row of the restore is gone".to_owned()),
            )
        })
    }

    async fn release_restore(&self, by: String) -> Result<Option<Restore>, StoreError> {
        const DOING: &str = "releasing a restore";
        let now = self.now(DOING).await?;
        let values: [Value<'_>; 2] = [&by, &now.as_micros()];
        let sql = include_str!("postgres/sql/restore_release.sql");
        let rows = self
            .connections
            .rows(DOING, Does::Writes, sql, &values)
            .await?;
        Ok(rows.first().map(row::restore))
    }
}

/// What a store remembers of its keys, to tell at the next opening that they are the same.
fn key_check(keys: &StoreKeys, store: &[u8]) -> [u8; 16] {
    let key = blake3::derive_key("factum store 2026 postgres key check v1", &keys.0);
    let mut check = [0; 16];
    check.copy_from_slice(&blake3::keyed_hash(&key, store).as_bytes()[..16]);
    check
}
