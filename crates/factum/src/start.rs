//! Starting an embedded engine: store, keys, destinations, in that order; every refusal names member, rule and remedy.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use factum_core::{Limits, Preference, Promises, Timestamp};
use factum_engine::driver::gate::GateSettings;
use factum_engine::{Carrier, Code, Destination, Engine, Keys, Operation, Options, Problem, Reach};
use factum_store::Store;
use factum_transport::{HttpTransport, Transport};

use crate::checkpoints::Exporter;
use crate::config::Config;
use crate::conversations::watch::Watch;
use crate::events::follow::Feed;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
use crate::home::Home;
#[cfg(feature = "postgres")]
use crate::postgres::Pickup;
use crate::retention::{self, Purger};
#[cfg(any(feature = "sqlite", feature = "postgres"))]
use crate::seal_keys::{Custody, Keeper};
use crate::signing::SigningKeys;
use crate::teller::Teller;
use crate::webhooks::{Ways, Webhooks};
use crate::{Factum, Inner, setup};

/// An engine that is about to be started.
#[must_use]
pub struct Builder {
    place: Place,
    config: ConfigSource,
    carriers: BTreeMap<String, Carries>,
    keys: Option<Keys>,
}

/// An application's own code, and what it says of its operations.
struct Carries {
    carrier: Arc<dyn Carrier>,
    operations: BTreeMap<String, Operation>,
}

enum Place {
    #[cfg(feature = "sqlite")]
    Sqlite(PathBuf),
    #[cfg(feature = "postgres")]
    Postgres(String),
    Memory,
}

/// Where the configuration comes from.
pub enum ConfigSource {
    /// This file.
    File(PathBuf),
    /// This value.
    Value(Box<Config>),
}

impl From<&str> for ConfigSource {
    fn from(path: &str) -> Self {
        Self::File(PathBuf::from(path))
    }
}

impl From<&Path> for ConfigSource {
    fn from(path: &Path) -> Self {
        Self::File(path.to_owned())
    }
}

impl From<Config> for ConfigSource {
    fn from(config: Config) -> Self {
        Self::Value(Box::new(config))
    }
}

impl Builder {
    #[cfg(feature = "sqlite")]
    pub(crate) fn sqlite(path: PathBuf) -> Self {
        Self::at(Place::Sqlite(path))
    }

    #[cfg(feature = "postgres")]
    pub(crate) fn postgres(url: String) -> Self {
        Self::at(Place::Postgres(url))
    }

    pub(crate) fn memory() -> Self {
        Self::at(Place::Memory)
    }

    fn at(place: Place) -> Self {
        Self {
            place,
            config: Config::default().into(),
            carriers: BTreeMap::new(),
            keys: None,
        }
    }

    /// Runs with this configuration: a path to `factum.toml`, or a [`Config`]. The store is the builder's own.
    pub fn config(mut self, config: impl Into<ConfigSource>) -> Self {
        self.config = config.into();
        self
    }

    /// Carries every operation of this destination in the application's own code.
    pub fn carrier(self, destination: impl Into<String>, carrier: impl Carrier + 'static) -> Self {
        self.carries(destination, BTreeMap::new(), carrier)
    }

    /// The same, where something is promised of some of its operations: see [`WorkConfig::carried`]. Of the others nothing is.
    ///
    /// [`WorkConfig::carried`]: crate::config::WorkConfig::carried
    pub fn carries(
        mut self,
        destination: impl Into<String>,
        operations: BTreeMap<String, Operation>,
        carrier: impl Carrier + 'static,
    ) -> Self {
        let carrier = Arc::new(carrier);
        let carries = Carries {
            carrier,
            operations,
        };
        self.carriers.insert(destination.into(), carries);
        self
    }

    /// Starts the engine: recovers what a former process left, then carries out whatever is due.
    ///
    /// # Errors
    /// [`Problem`] names member, rule and remedy.
    pub async fn start(self) -> Result<Factum, Problem> {
        let config = match self.config {
            ConfigSource::File(path) => Config::read(&path)?,
            ConfigSource::Value(config) => *config,
        };
        let teller = Arc::new(Teller::of(&config)?);
        let destinations = destinations(&config, self.carriers)?;
        let opened = open(self.place, self.keys, &config).await?;
        let retention = retention::of(&config);
        #[cfg(any(feature = "sqlite", feature = "postgres"))]
        let keeper = (opened.custody).map(|custody| Keeper::start(opened.store.clone(), custody));
        let options = Options {
            store: opened.store,
            transport: Box::new(|clock| Arc::new(HttpTransport::new(clock)) as Arc<dyn Transport>),
            keys: opened.keys,
            destinations,
            unsettled_max: config.limits.unsettled_max,
            held_max: config.limits.held_max,
            former_workers_gone_at: opened.former_workers_gone_at,
            restore_grace: config.limits.restore_grace.0,
            retention: retention.clone(),
            clock_in_doubt: opened.clock_in_doubt,
        };
        let engine = Arc::new(Engine::start(options).await?);
        #[cfg(feature = "postgres")]
        let postgres = opened
            .postgres
            .map(|store| Pickup::start(engine.clone(), store, config.store.outbox_poll.duration()));
        let watch = Watch::start(engine.clone(), teller.clone());
        let feed = Arc::new(Feed::start(
            engine.clone(),
            teller.clone(),
            config.events.keep(),
        ));
        let ways = Ways {
            allow_private: config.webhooks.allow_private.clone(),
        };
        let webhooks = Webhooks::start(engine.clone(), teller.clone(), feed.clone(), ways.clone());
        let purger = Purger::start(&engine, &retention);
        let exporter = Exporter::start(&engine, &opened.signing, &config);
        let factum = Factum {
            inner: Arc::new(Inner {
                engine,
                teller,
                watch,
                feed,
                webhooks,
                purger,
                exporter,
                signing: opened.signing,
                ways,
                config,
                #[cfg(any(feature = "sqlite", feature = "postgres"))]
                keeper,
                #[cfg(feature = "sqlite")]
                pickups: std::sync::Mutex::new(Vec::new()),
                #[cfg(feature = "sqlite")]
                sqlite: opened.sqlite,
                #[cfg(feature = "postgres")]
                postgres: std::sync::Mutex::new(postgres),
            }),
        };
        #[cfg(feature = "sqlite")]
        for outbox in &factum.config().outbox {
            factum.outbox(&outbox.path).await?;
        }
        Ok(factum)
    }
}

/// What the configuration names, and what an application carries in its own code.
fn destinations(
    config: &Config,
    carriers: BTreeMap<String, Carries>,
) -> Result<BTreeMap<String, Destination>, Problem> {
    let catalogue = setup::catalogue(config)?;
    let mut destinations = setup::destinations(config, &catalogue)?;
    for (destination, kinds) in setup::without_auth(config, &catalogue) {
        tracing::warn!(%destination, %kinds, "no auth is configured, and the provider wants one of these");
    }
    carry(&mut destinations, carriers)?;
    Ok(destinations)
}

/// Adds the destinations that an application carries in its own code.
fn carry(
    destinations: &mut BTreeMap<String, Destination>,
    carriers: BTreeMap<String, Carries>,
) -> Result<(), Problem> {
    for (name, carries) in carriers {
        if destinations.contains_key(&name) {
            let rule = format!(
                "{name:?} is configured as a provider's account and carried in-process too"
            );
            let member = format!("/destinations/{name}");
            return Err(Problem::new(Code::BadConfig, member, rule, "use two names"));
        }
        destinations.insert(name.clone(), carried(name, carries));
    }
    Ok(())
}

struct Opened {
    store: Arc<dyn Store>,
    keys: Keys,
    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    custody: Option<Custody>,
    former_workers_gone_at: Option<Timestamp>,
    clock_in_doubt: bool,
    signing: SigningKeys,
    #[cfg(feature = "sqlite")]
    sqlite: Option<Arc<factum_store::sqlite::SqliteStore>>,
    #[cfg(feature = "postgres")]
    postgres: Option<Arc<factum_store::postgres::PostgresStore>>,
}

/// A start with the wall clock this far behind the last stamp is not trusted (R11).
#[cfg(feature = "sqlite")]
const CLOCK_BEHIND_MAX: factum_core::Span = factum_core::Span::from_secs(30);

async fn open(place: Place, keys: Option<Keys>, config: &Config) -> Result<Opened, Problem> {
    #[cfg(not(any(feature = "sqlite", feature = "postgres")))]
    let _ = config;
    match place {
        #[cfg(feature = "sqlite")]
        Place::Sqlite(path) => open_sqlite(&path, keys, config).await,
        #[cfg(feature = "postgres")]
        Place::Postgres(url) => open_postgres(url, keys, config).await,
        Place::Memory => Ok(Opened {
            store: Arc::new(factum_store::MemoryStore::new(factum_store::system_clock())),
            keys: keys.map_or_else(|| crate::home::random_bytes().map(Keys::new), Ok)?,
            #[cfg(any(feature = "sqlite", feature = "postgres"))]
            custody: None,
            former_workers_gone_at: None,
            clock_in_doubt: false,
            signing: SigningKeys::in_memory()?,
            #[cfg(feature = "sqlite")]
            sqlite: None,
            #[cfg(feature = "postgres")]
            postgres: None,
        }),
    }
}

/// Says that the store is a copy which was put back.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
fn tell_restored(because: Option<impl std::fmt::Display>) {
    if let Some(why) = because {
        tracing::warn!(%why, "nothing is sent until an operator has looked and runs `factum admin release`");
    }
}

#[cfg(feature = "sqlite")]
async fn open_sqlite(path: &Path, keys: Option<Keys>, config: &Config) -> Result<Opened, Problem> {
    use factum_store::sqlite::{Options as SqliteOptions, SqliteStore, StoreKeys};
    let home = Home::beside(path);
    home.create()?;
    let keys = keys.map_or_else(|| home.keys(path), Ok)?;
    let custody = Custody::of(&home, config.store.seal)?;
    let options = SqliteOptions {
        seals: custody.seals(),
        ..SqliteOptions::new(path, StoreKeys(keys.checksum()))
    };
    let opened = SqliteStore::open(options)?;
    custody.settle(&opened.store).await?;
    tell_restored(opened.restored_because.as_ref());
    let sqlite = Arc::new(opened.store);
    Ok(Opened {
        store: sqlite.clone(),
        keys,
        custody: Some(custody),
        former_workers_gone_at: Some(opened.former_workers_gone_at),
        clock_in_doubt: opened.clock_behind > CLOCK_BEHIND_MAX,
        signing: signing(&home)?,
        sqlite: Some(sqlite),
        #[cfg(feature = "postgres")]
        postgres: None,
    })
}

#[cfg(feature = "postgres")]
async fn open_postgres(
    url: String,
    keys: Option<Keys>,
    config: &Config,
) -> Result<Opened, Problem> {
    use factum_store::postgres::PostgresStore;
    let home = Home::at(&config.store.folder);
    home.create()?;
    // Whether these are the store's keys, the store itself knows.
    let keys = keys.map_or_else(|| home.keys(Path::new("")), Ok)?;
    let custody = Custody::of(&home, config.store.seal)?;
    let options = postgres_options(url, &keys, (&home, &custody), config);
    let postgres = Arc::new(PostgresStore::open(options).await?);
    custody.settle(postgres.as_ref()).await?;
    tell_restored(postgres.restored_because());
    if postgres.is_pooled() {
        tracing::info!(
            "a pooler stands before the database: nobody listens, and time-outs are those of the role"
        );
    }
    Ok(Opened {
        store: postgres.clone(),
        keys,
        custody: Some(custody),
        former_workers_gone_at: None,
        clock_in_doubt: false,
        signing: signing(&home)?,
        #[cfg(feature = "sqlite")]
        sqlite: None,
        postgres: Some(postgres),
    })
}

/// Which program this is: another one only where a test of upgrades says so.
#[cfg(feature = "postgres")]
#[must_use]
pub fn program() -> factum_store::postgres::Program {
    use factum_store::postgres::Program;
    factum_engine::failpoint::next_version().map_or_else(Program::default, Program::after_this)
}

#[cfg(feature = "postgres")]
fn postgres_options(
    url: String,
    keys: &Keys,
    (home, custody): (&Home, &Custody),
    config: &Config,
) -> factum_store::postgres::Options {
    use crate::config;
    use factum_store::postgres::{Flush, Options, Standby, StoreKeys};
    let store = &config.store;
    Options {
        program: program(),
        connections: store.connections,
        prepared: store.prepared,
        seen: Some(home.root().join("seen")),
        standby: match store.standby {
            config::Standby::Asynchronous => Standby::Asynchronous,
            config::Standby::Synchronous => Standby::Synchronous,
        },
        flush: match store.flush {
            config::Flush::All => Flush::All,
            config::Flush::Lane => Flush::Lane,
            config::Flush::Each => Flush::Each,
        },
        seals: custody.seals(),
        ..Options::new(url, StoreKeys(keys.checksum()))
    }
}

/// The keys that documents are signed with; the first start makes one.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
fn signing(home: &Home) -> Result<SigningKeys, Problem> {
    let keys = SigningKeys::of(home);
    keys.settle()?;
    Ok(keys)
}

/// A destination that an application carries in its own code: where nothing is promised, every unknown waits for a person.
fn carried(name: String, carries: Carries) -> Destination {
    let promises = Promises {
        path_is_direct: true,
        ..Promises::none(factum_core::promise::Consequence::Costly)
    };
    let operation = Operation {
        contract: None,
        promises,
        preference: Preference::Ask,
        finish: false,
        key_template: None,
        approval: None,
        twin_guard: None,
        limits: Limits::default(),
        by_workers: None,
        two_persons: false,
    };
    Destination {
        name,
        provider: "in-process".to_owned(),
        account: None,
        reach: Reach::InProcess(carries.carrier),
        operations: carries.operations,
        any_operation: Some(operation),
        gate: GateSettings::default(),
        sandbox: false,
        callback_secrets: Vec::new(),
    }
}
