//! The engine as its users hold it: submit, ask, decide; the shell carries out the rest.

mod callbacks;
pub(crate) mod looking;
mod operate;
mod people;
pub(crate) mod proposals;
pub(crate) mod register;
pub(crate) mod retention;
pub(crate) mod review;
pub(crate) mod sessions;
mod submit;
pub(crate) mod work;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, RwLock};
use std::time::Duration;

use factum_core::{ActionId, Conditions, Next, Span, Status, Timestamp, WorkerNonce, decide};
use factum_store::{Filter, Record, Restore, Store};
use factum_transport::{Clock, Transport};
use tokio::sync::{broadcast, mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::accounts::Accounts;
use crate::authority;
use crate::clock::{self, AnchoredClock, LocalReading};
use crate::destination::{Destination, full_name};
use crate::directory::{Caller, Directory};
use crate::driver::answers::due_at;
use crate::driver::{DestinationPolicy, Driver, DriverLimits, Event};
use crate::feeds::Feeds;
use crate::keys::Keys;
use crate::metrics::Metrics;
use crate::metrics::standing::Standing;
use crate::problem::Problem;
use crate::recover;
use crate::retention::Retention;
use crate::room::Room;
use crate::shell::{self, About, Change, Message, Shared};
use crate::waiters::{self, Listener, News, Waiters};

/// How often an action is looked at that another worker may carry, while somebody waits for it.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// The setting under which "sends are held" is kept.
pub(crate) use crate::neighbours::PAUSED;

/// The setting that says of which forms the identity hashes in a store may be.
const IDENTITY_FORM: &str = "identity_form";

/// What an engine is started with.
pub struct Options {
    /// Where everything is written down.
    pub store: Arc<dyn Store>,
    /// What carries requests.
    pub transport: TransportMaker,
    /// The secrets that make identities and provider keys.
    pub keys: Keys,
    /// Where actions can go.
    pub destinations: BTreeMap<String, Destination>,
    /// Unsettled actions at the most; beyond, submissions are refused before anything is recorded.
    pub unsettled_max: usize,
    /// Requests, questions and commits under way at once.
    pub held_max: usize,
    /// Since when every former process that held this store is known to be dead; `None` where that cannot be told.
    pub former_workers_gone_at: Option<Timestamp>,
    /// How long after a restore a new identity without `intent_at` counts as maybe sent (R18).
    pub restore_grace: Span,
    /// How long what is kept.
    pub retention: Retention,
    /// The clock is not to be trusted until a destination's time agrees with it (R11).
    pub clock_in_doubt: bool,
}

/// Makes the transport once the store's clock is known.
pub type TransportMaker = Box<dyn FnOnce(Arc<dyn Clock>) -> Arc<dyn Transport> + Send>;

/// A running engine.
pub struct Engine {
    shared: Arc<Shared>,
    messages: mpsc::Sender<Message>,
    restore_grace: Span,
    retention: Retention,
    older_identities: bool,
    stopping: AtomicBool,
    pub(crate) standing: Standing,
    /// When the store was last seen to be writable.
    pub(crate) written: tokio::sync::Mutex<Option<std::time::Instant>>,
    loop_task: tokio::sync::Mutex<Option<JoinHandle<()>>>,
}

/// What became of a submission.
#[derive(Debug)]
pub struct Submitted {
    /// The action.
    pub record: Box<Record>,
    /// It was recorded by this very call.
    pub created: bool,
    /// For [`Engine::wait_on`], where it was asked for.
    pub watch: Option<Listener>,
}

/// What became of a wish to cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancelled {
    /// Nothing was sent and nothing will be.
    Stopped,
    /// Something may have been sent before: it stays unknown until there is evidence; no more is sent.
    TooLate,
}

impl Engine {
    /// Starts an engine: recovers what a former process left, then carries out whatever is due.
    ///
    /// # Errors
    /// [`Problem`] if the store cannot be read.
    pub async fn start(options: Options) -> Result<Self, Problem> {
        let local = LocalReading::take();
        let clock = Arc::new(AnchoredClock::new(local, options.store.now().await?));
        let worker = WorkerNonce::here(random_u64());
        let transport = (options.transport)(clock.clone());
        let policies = policies(&options.destinations);
        let metrics = Metrics::of(&options.destinations);
        let contracts = keep_contracts(options.store.as_ref(), &options.destinations).await?;
        let older_identities = older_identities(options.store.as_ref()).await?;
        let restore = options.store.restore().await?;
        let held = |restore: &Restore| restore.released.is_none();
        let released = !restore.as_ref().is_some_and(held);
        let paused = options.store.setting(PAUSED).await?.is_some();
        let was_in_doubt = clock::was_in_doubt(options.store.as_ref()).await?;
        let in_doubt = options.clock_in_doubt || was_in_doubt;
        let accounts = Accounts::load(
            options.keys.clone(),
            options.store.as_ref(),
            &options.destinations,
        )
        .await?;
        let accounts = Arc::new(accounts);
        let directory = Arc::new(authority::load(options.store.as_ref()).await?);
        let shared = Arc::new(Shared {
            store: options.store,
            transport,
            clock,
            keys: options.keys,
            worker,
            feeds: Feeds::of(&options.destinations),
            destinations: options.destinations,
            contracts: RwLock::new(contracts),
            changes: broadcast::channel(4_096).0,
            waiters: Waiters::default(),
            unsettled: AtomicUsize::new(0),
            room: Room::new(options.unsettled_max),
            clock_in_doubt: AtomicBool::new(in_doubt),
            doubt_written: AtomicBool::new(was_in_doubt),
            restore_released: AtomicBool::new(released),
            paused: AtomicBool::new(paused),
            accounts,
            restore_marked: std::sync::Mutex::default(),
            directory: RwLock::new(directory.clone()),
            tokens_used: std::sync::Mutex::default(),
            metrics,
            overdue_after: std::sync::Mutex::default(),
        });
        let limits = DriverLimits {
            held_max: options.held_max,
            claim_lease: claim_lease(&shared.destinations),
        };
        let mut driver = Driver::new(worker, limits, policies, released);
        tell_how_it_stands(&mut driver, &shared, directory);
        let gone_at = options.former_workers_gone_at;
        recover::recover(&shared, &mut driver, restore.as_ref(), gone_at).await?;
        let (messages, receiver) = mpsc::channel(4_096);
        let loop_task = tokio::spawn(shell::run(shared.clone(), driver, receiver));
        Ok(Self {
            shared,
            messages,
            restore_grace: options.restore_grace,
            retention: options.retention,
            older_identities,
            stopping: AtomicBool::new(false),
            standing: Standing::default(),
            written: tokio::sync::Mutex::default(),
            loop_task: tokio::sync::Mutex::new(Some(loop_task)),
        })
    }

    /// One action as it stands.
    ///
    /// # Errors
    /// [`Problem`] if there is none, or the store cannot be read.
    pub async fn load(&self, id: ActionId) -> Result<Record, Problem> {
        match self.shared.store.load(id).await? {
            Some(record) => Ok(record),
            None => Err(self.absent(id).await?),
        }
    }

    /// One action as it stands, if a caller may see it. One of somebody else is answered like one that there is not.
    ///
    /// # Errors
    /// [`Problem`] if there is none for them, or the store cannot be read.
    pub async fn load_for(&self, caller: &Caller, id: ActionId) -> Result<Record, Problem> {
        let Some(record) = self.shared.store.load(id).await? else {
            return Err(self.absent_for(caller, id).await?);
        };
        if self.may_see(caller, &record) {
            Ok(record)
        } else {
            Err(Problem::unknown_action(id))
        }
    }

    /// Actions that match and that a caller may see, newest first.
    ///
    /// # Errors
    /// [`Problem`] if the store cannot be read.
    pub async fn list_for(&self, caller: &Caller, filter: Filter) -> Result<Vec<Record>, Problem> {
        let (limit, mut before) = (filter.limit, filter.before);
        let place = |name: &String| full_name(&caller.tenant, name);
        let destination = filter.destination.as_ref().map(place);
        let mut found = Vec::new();
        loop {
            let page = Filter {
                tenant: Some(caller.tenant.clone()),
                destination: destination.clone(),
                before,
                ..filter.clone()
            };
            let page = self.list(page).await?;
            let more = page.len() == limit;
            before = page.last().map(Record::id);
            found.extend(
                page.into_iter()
                    .filter(|record| self.may_see(caller, record)),
            );
            if !more || found.len() >= limit {
                found.truncate(limit);
                return Ok(found);
            }
        }
    }

    /// Whether a caller may see an action: it is their tenant's, and for somebody for whom they act.
    #[must_use]
    pub fn may_see(&self, caller: &Caller, record: &Record) -> bool {
        let scope = &record.action.scope;
        scope.tenant == caller.tenant && self.shared.directory().acts_for(caller, &scope.principal)
    }

    /// Actions that match, newest first.
    ///
    /// # Errors
    /// [`Problem`] if the store cannot be read.
    pub async fn list(&self, filter: Filter) -> Result<Vec<Record>, Problem> {
        Ok(self.shared.store.list(filter).await?)
    }

    /// The evidence of an action, in the order of storing.
    ///
    /// # Errors
    /// [`Problem`] if there is no such action, or the store cannot be read.
    pub async fn evidence(&self, id: ActionId) -> Result<Vec<factum_core::Evidence>, Problem> {
        match self.load(id).await {
            Ok(_) => Ok(self.shared.store.history(id).await?),
            Err(problem) => self.late(id, problem).await,
        }
    }

    /// The store's time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.shared.now()
    }

    /// The state and the next step of an action, decided anew.
    #[must_use]
    pub fn assess(&self, record: &Record) -> (Status, Next) {
        let conditions = self.conditions(record);
        (
            record.status(),
            decide(&record.action.intent, &record.known, &conditions),
        )
    }

    /// What of an action's payload may be shown to people who may not see all of it, by JSON pointers: the members that the
    /// contract in use lists under `shown`. Nothing where there is no contract, or the content is gone.
    #[must_use]
    pub fn shown_of(&self, record: &Record) -> Vec<(String, serde_json::Value)> {
        let scope = &record.action.scope;
        let destination = self.shared.destinations.get(&scope.destination);
        let operation = destination.and_then(|d| d.operation(&scope.operation));
        let own = operation.and_then(|operation| operation.contract.as_ref());
        let payload = serde_json::from_str(&record.action.content.payload);
        own.zip(payload.ok())
            .map_or_else(Vec::new, |(own, payload)| own.contract.shown_of(&payload))
    }

    /// What decisions about an action rest on now, beside its evidence.
    fn conditions<'a>(&'a self, record: &'a Record) -> Conditions<'a> {
        let scope = &record.action.scope;
        let destination = self.shared.destinations.get(&scope.destination);
        let current = destination.and_then(|d| d.operation(&scope.operation));
        let pinned = &record.action.intent.promises;
        let place = destination.and_then(Destination::place);
        let pinned_place = record.action.content.place.as_ref();
        Conditions {
            now: self.shared.now(),
            current: current.map_or(pinned, |operation| &operation.promises),
            restore_released: self.shared.restore_released.load(Ordering::Relaxed),
            clock_in_doubt: self.shared.clock_in_doubt.load(Ordering::Relaxed),
            account_in_doubt: self.shared.accounts.in_doubt().contains(&scope.destination),
            place_changed: pinned_place.is_some_and(|pinned| place.as_ref() != Some(pinned)),
            credential_changed: self.shared.accounts.was_sent_before(record),
            subject_overtaken: record.overtaken,
        }
    }

    /// Changes of state from now on.
    #[must_use]
    pub fn changes(&self) -> broadcast::Receiver<Change> {
        self.shared.changes.subscribe()
    }

    /// Waits until an action is settled or waits for a person, for so long at the most, and says how it stands then.
    ///
    /// # Errors
    /// [`Problem`] if there is no such action, or the store cannot be read.
    pub async fn wait(&self, id: ActionId, at_most: Duration) -> Result<Record, Problem> {
        let watch = self.shared.waiters.watch(id);
        let record = self.load(id).await?;
        if waiters::rests(&record) {
            return Ok(record);
        }
        self.wait_on(watch, at_most).await
    }

    /// The same with a watch that was begun before: what happened since then is not missed, and is not read again.
    ///
    /// # Errors
    /// As [`Engine::wait`].
    pub async fn wait_on(&self, mut watch: Listener, at_most: Duration) -> Result<Record, Problem> {
        let id = watch.action();
        let deadline = tokio::time::Instant::now() + at_most;
        loop {
            // Another worker may carry it, and tells nobody here: then it is looked at now and then.
            let look = tokio::time::Instant::now() + LOOK_AGAIN;
            let until = if self.shared.store.is_shared() {
                deadline.min(look)
            } else {
                deadline
            };
            match tokio::time::timeout_at(until, watch.next()).await {
                Ok(News::Rests(record)) => return Ok(*record),
                Ok(News::Look) => {}
                Err(_) if until < deadline => {}
                Err(_) => return self.load(id).await,
            }
            let record = self.load(id).await?;
            if waiters::rests(&record) {
                return Ok(record);
            }
        }
    }

    /// How many actions stand in each state and for each next step.
    ///
    /// # Errors
    /// [`Problem`] if the store cannot be read.
    pub async fn counts(&self) -> Result<BTreeMap<(String, String), u64>, Problem> {
        Ok(self.shared.store.counts().await?)
    }

    /// A tenant's destination, by the tenant's own name for it.
    #[must_use]
    pub fn destination(&self, tenant: &str, name: &str) -> Option<&Destination> {
        let found = self.shared.destinations.get(&full_name(tenant, name))?;
        (found.tenant() == tenant).then_some(found)
    }

    /// A tenant's destinations, by the tenant's own names for them.
    pub fn destinations_of(&self, tenant: &str) -> impl Iterator<Item = (&str, &Destination)> {
        let all = self.shared.destinations.values();
        all.filter(move |found| found.tenant() == tenant)
            .map(|found| (found.own_name(), found))
    }

    /// The configured destinations of all tenants, by full name.
    #[must_use]
    pub fn destinations(&self) -> &BTreeMap<String, Destination> {
        &self.shared.destinations
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.shared.store
    }

    /// What carries requests: for questions, and for what is told to others.
    #[must_use]
    pub fn transport(&self) -> &Arc<dyn Transport> {
        &self.shared.transport
    }

    /// This process among the workers on the store.
    #[must_use]
    pub fn worker(&self) -> u64 {
        self.shared.worker.0
    }

    /// The secret by which events are signed for a tenant's endpoint. It is made anew whenever it is needed, and never stored.
    #[must_use]
    pub fn webhook_secret(&self, tenant: &str, endpoint: &str, generation: u32) -> [u8; 32] {
        self.shared.keys.webhook(tenant, endpoint, generation)
    }

    /// The seal over what a question to a person carries to its answer. Whoever brings the answer cannot change what it is about.
    #[must_use]
    pub fn question_seal(&self, said: &[u8]) -> [u8; 32] {
        self.shared.keys.question(said)
    }

    /// The keyed hash by which an identity is found.
    #[must_use]
    pub fn identity_hash(
        &self,
        scope: &factum_core::Scope,
        identity: &factum_core::Identity,
    ) -> factum_core::IdentityHash {
        self.shared.keys.identity(scope, identity)
    }

    /// Begins nothing more, lets requests in flight end within `bound`, and records of the others that this process writes
    /// nothing more. Answers how many those were. A second call does nothing.
    pub async fn shutdown(&self, bound: Duration) -> usize {
        self.stopping.store(true, Ordering::Relaxed);
        let (done, left) = oneshot::channel();
        let told = self.messages.send(Message::Stop(bound, done)).await.is_ok();
        let left = if told { left.await.unwrap_or(0) } else { 0 };
        if let Some(task) = self.loop_task.lock().await.take() {
            let _ = task.await;
        }
        left
    }

    /// Lets it be heard that something is so about an action, beside its state.
    pub fn announce_that(&self, record: &Record, about: About) {
        if about == About::CorrectionDue {
            self.shared.metrics.correction_due(record);
        }
        // Nobody listening is no error.
        let _ = self.shared.changes.send(Change {
            about,
            ..Change::standing(record.id(), record.status().state)
        });
        self.shared.waiters.stands(record);
    }

    async fn look_at(&self, record: &Record, at: Timestamp) {
        self.tell(due_at(record, at)).await;
    }

    /// The loop may be gone while the engine shuts down; what is recorded is found again at the next start.
    async fn tell(&self, event: Event) {
        let _ = self.messages.send(Message::Event(event)).await;
    }
}

/// What a driver has to know before it decides anything.
fn tell_how_it_stands(driver: &mut Driver, shared: &Shared, directory: Arc<Directory>) {
    let stands = [
        Event::Credentials(shared.accounts.changed()),
        Event::Directory(directory),
        Event::Paused(shared.paused.load(Ordering::Relaxed)),
        Event::InDoubt {
            clock: shared.clock_in_doubt.load(Ordering::Relaxed),
            accounts: shared.accounts.in_doubt(),
        },
    ];
    driver.handle(Event::All(stands.into()), shared.now());
}

/// What the driver has to know about each destination.
fn policies(destinations: &BTreeMap<String, Destination>) -> BTreeMap<String, DestinationPolicy> {
    let all = destinations.iter();
    all.map(|(name, destination)| (name.clone(), destination.policy()))
        .collect()
}

/// Long enough for the longest request that a claim has to cover.
fn claim_lease(destinations: &BTreeMap<String, Destination>) -> Span {
    let operations = destinations
        .values()
        .flat_map(|d| d.operations.values().chain(d.any_operation.as_ref()));
    operations
        .map(|op| op.limits.lease())
        .max()
        .unwrap_or(Span::from_secs(60))
        + Span::from_secs(30)
}

/// Whether an older program has begun the store, so that an identity may stand there under the hash that it made (form 1).
async fn older_identities(store: &dyn Store) -> Result<bool, Problem> {
    if let Some(form) = store.setting(IDENTITY_FORM).await? {
        return Ok(form == "1");
    }
    let one = Filter {
        limit: 1,
        ..Filter::default()
    };
    let older = !store.list(one).await?.is_empty();
    let form = if older { "1" } else { "2" };
    store
        .set_setting(IDENTITY_FORM, Some(form.to_owned()))
        .await?;
    Ok(older)
}

async fn keep_contracts(
    store: &dyn Store,
    destinations: &BTreeMap<String, Destination>,
) -> Result<HashMap<[u8; 32], Arc<factum_contract::Contract>>, Problem> {
    let mut kept = HashMap::new();
    for operation in destinations.values().flat_map(|d| d.operations.values()) {
        if let Some(own) = &operation.contract {
            store
                .keep_contract(own.contract.digest(), own.kept.clone())
                .await?;
            kept.insert(own.contract.digest(), own.contract.clone());
        }
    }
    Ok(kept)
}

fn random_u64() -> u64 {
    // Without randomness no id can be made at all; there is nothing sensible to go on with.
    getrandom::u64().expect("the operating system gives random bytes")
}
