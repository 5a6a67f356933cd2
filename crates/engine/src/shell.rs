//! The thin tokio shell around the driver: carries out its commands, and feeds it with what happened.
//!
//! Nothing is decided here. One loop owns the driver; every command runs as a task of the loop's own set, and its event comes
//! back as the task's result, so that no task outlives the loop unnoticed.

mod guard;
mod heard;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, RwLock};
use std::time::Duration;

use factum_contract::Contract;
use factum_core::evidence::PermissionKind;
use factum_core::{ActionId, Epoch, Fact, Span, State, Timestamp, WorkerNonce};
use factum_store::{Admission, Admitted, Claimed, Committed, Record, Recorded, Store, StoreError};
use factum_transport::{Clock, Transport};
use tokio::sync::{broadcast, mpsc, oneshot};
use tokio::task::{Id, JoinSet};

use crate::accounts::Accounts;
use crate::authority;
use crate::carry::Carrying;
use crate::clock::{AnchoredClock, LocalReading, STEP_MAX, confirms, duration, keep_doubt};
use crate::destination::{Destination, Reach};
use crate::directory::Directory;
use crate::driver::answers::{self, STORE_REST, Submitted, Wrote, owner};
use crate::driver::gate::{Guest, Heard};
use crate::driver::queues::Queue;
use crate::driver::{Command, Commit, Driver, Event, SendOut};
use crate::failpoint::{CrashPoint, reach};
use crate::feeds::{self, Feeds};
use crate::keys::Keys;
use crate::messages::{Brought, report_names};
use crate::metrics::{Metrics, Notes};
use crate::neighbours;
use crate::room::Room;
use crate::trail;
use crate::waiters::Waiters;
use guard::{ended_event, first_mark, handle};

/// How often the clock is anchored anew, and doubts are seen after.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// An action's state changed, or may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Which action.
    pub action: ActionId,
    /// Its state now.
    pub state: State,
    /// What is to be heard.
    pub about: About,
}

/// What a change is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// How the action stands.
    Standing,
    /// A conversation was told what the evidence does not support any more: a correction is due.
    CorrectionDue,
    /// The time by which an answer was promised to a customer has passed.
    AnswerLate,
}

impl Change {
    /// An action stands so now.
    pub(crate) fn standing(action: ActionId, state: State) -> Self {
        Self {
            action,
            state,
            about: About::Standing,
        }
    }
}

/// What the shell's tasks share.
pub(crate) struct Shared {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) clock: Arc<AnchoredClock>,
    pub(crate) keys: Keys,
    pub(crate) worker: WorkerNonce,
    pub(crate) destinations: BTreeMap<String, Destination>,
    pub(crate) contracts: RwLock<HashMap<[u8; 32], Arc<Contract>>>,
    pub(crate) changes: broadcast::Sender<Change>,
    pub(crate) waiters: Waiters,
    pub(crate) unsettled: AtomicUsize,
    /// How many more may be recorded.
    pub(crate) room: Room,
    pub(crate) clock_in_doubt: AtomicBool,
    /// Whether the store knows that the clock is in doubt.
    pub(crate) doubt_written: AtomicBool,
    pub(crate) restore_released: AtomicBool,
    pub(crate) paused: AtomicBool,
    pub(crate) accounts: Arc<Accounts>,
    /// Up to which restore this worker has recorded that actions of its lanes are maybe sent.
    pub(crate) restore_marked: std::sync::Mutex<Option<Timestamp>>,
    pub(crate) feeds: Feeds,
    /// Who may do what, as far as it is known here.
    pub(crate) directory: RwLock<Arc<Directory>>,
    /// When tokens were used last in this process, by tenant and id.
    pub(crate) tokens_used: std::sync::Mutex<BTreeMap<(String, String), authority::TokenUse>>,
    /// What is counted.
    pub(crate) metrics: Metrics,
    /// How far the listing of what others left has come.
    pub(crate) overdue_after: std::sync::Mutex<Option<(Timestamp, ActionId)>>,
}

/// A message to the loop from outside.
pub(crate) enum Message {
    /// Something for the driver.
    Event(Event),
    /// A submission. Where it may, its first mark joins its commit.
    Admit(
        Box<Admission>,
        oneshot::Sender<Result<Admitted, StoreError>>,
    ),
    /// How do the queues stand?
    Queues(oneshot::Sender<BTreeMap<String, Queue>>),
    /// Stop: begin nothing, let what is in flight end within this time, answer when done.
    Stop(Duration, oneshot::Sender<usize>),
}

/// Runs the driver until it is told to stop.
pub(crate) async fn run(
    shared: Arc<Shared>,
    mut driver: Driver,
    mut messages: mpsc::Receiver<Message>,
) {
    let mut tasks: JoinSet<Event> = JoinSet::new();
    let mut owners: HashMap<Id, Guest> = HashMap::new();
    let mut looking = tokio::time::interval(LOOK_EVERY);
    looking.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut watch: Option<tokio::task::AbortHandle> = None;
    loop {
        let wake = driver
            .next_wake()
            .map(|at| duration(at.since(shared.clock.now())));
        let event = tokio::select! {
            message = messages.recv() => match message {
                Some(Message::Event(event)) => event,
                Some(Message::Admit(mut admission, reply)) => {
                    let id = admission.action.intent.action;
                    let first = first_mark(&mut driver, &admission, &shared);
                    let marked = first.is_some();
                    if let Some(first) = first {
                        admission.facts.push(first.fact);
                        admission.next = first.next;
                        admission.claim_for = Some((shared.worker, first.lease));
                    }
                    let handle = tasks.spawn(admit(shared.clone(), *admission, marked, reply));
                    owners.insert(handle.id(), id.into());
                    continue;
                }
                Some(Message::Queues(reply)) => {
                    let _ = reply.send(driver.queues(shared.clock.now()));
                    continue;
                }
                Some(Message::Stop(bound, done)) => {
                    let left = stop(&shared, &mut driver, &mut tasks, owners, bound).await;
                    let _ = done.send(left);
                    return;
                }
                None => {
                    stop(&shared, &mut driver, &mut tasks, owners, Duration::ZERO).await;
                    return;
                }
            },
            Some(ended) = tasks.join_next_with_id() => ended_event(ended, &mut owners),
            () = sleep_for(wake) => Event::Woke,
            _ = looking.tick() => {
                if watch.as_ref().is_none_or(tokio::task::AbortHandle::is_finished) {
                    let shared = shared.clone();
                    watch = Some(tasks.spawn(async move { look_around(&shared).await }));
                }
                continue;
            }
        };
        let commands = handle(&mut driver, event, &shared);
        shared
            .unsettled
            .store(driver.waiting() + driver.under_way(), Ordering::Relaxed);
        for command in commands {
            let action = owner(&command);
            let handle = tasks.spawn(carry_out(shared.clone(), command));
            owners.insert(handle.id(), action);
        }
    }
}

async fn sleep_for(wake: Option<Duration>) {
    match wake {
        // A long sleep is cut, so that a suspended machine does not oversleep by its suspended time.
        Some(wake) => tokio::time::sleep(wake.min(Duration::from_secs(5))).await,
        None => std::future::pending().await,
    }
}

/// Lets what is in flight end within the bound; records of what could not that this process writes nothing more.
async fn stop(
    shared: &Arc<Shared>,
    driver: &mut Driver,
    tasks: &mut JoinSet<Event>,
    mut owners: HashMap<Id, Guest>,
    bound: Duration,
) -> usize {
    let deadline = tokio::time::Instant::now() + bound;
    let mut commands = handle(driver, Event::Stopping, shared);
    loop {
        for command in commands.drain(..) {
            let action = owner(&command);
            let handle = tasks.spawn(carry_out(shared.clone(), command));
            owners.insert(handle.id(), action);
        }
        if driver.under_way() == 0 {
            neighbours::farewell(shared).await;
            return 0;
        }
        match tokio::time::timeout_at(deadline, tasks.join_next_with_id()).await {
            Ok(Some(ended)) => commands = handle(driver, ended_event(ended, &mut owners), shared),
            Ok(None) | Err(_) => break,
        }
    }
    // Ending the tasks closes their connections abortively, so from here on nothing more of them can be written.
    tasks.shutdown().await;
    let in_flight = driver.in_flight();
    let at = shared.clock.now();
    for (action, _) in &in_flight {
        let fact = Fact::ProcessGone {
            worker: shared.worker,
            at,
        };
        if let Err(error) = shared.store.record(*action, vec![fact]).await {
            tracing::warn!(%action, %error, "could not record that its request was broken off; it is maybe sent");
        }
    }
    neighbours::farewell(shared).await;
    in_flight.len()
}

/// Anchors the clock anew, and sees after other workers and what is in doubt. A step of the wall clock puts it in doubt until a destination's
/// own time agrees; a changed credential, until its account is confirmed.
async fn look_around(shared: &Shared) -> Event {
    let local = LocalReading::take();
    if let Ok(store) = shared.store.now().await {
        let apart = shared.clock.anchor(local, store);
        if apart > STEP_MAX && !shared.clock_in_doubt.swap(true, Ordering::Relaxed) {
            tracing::warn!(step = %apart, "the clock stepped; nothing is sent again by key until a destination's time agrees");
        }
    }
    let in_doubt = shared.clock_in_doubt.load(Ordering::Relaxed);
    if let Err(error) = keep_doubt(shared.store.as_ref(), in_doubt, &shared.doubt_written).await {
        tracing::warn!(%error, "could not write down whether the clock is in doubt; it is tried again");
    }
    for name in shared.accounts.in_doubt() {
        if let Some(destination) = shared.destinations.get(&name) {
            shared
                .accounts
                .ask(
                    destination,
                    shared.transport.as_ref(),
                    shared.store.as_ref(),
                )
                .await;
        }
    }
    let mut events = match look_after(shared).await {
        Ok(events) => events,
        Err(error) => {
            tracing::warn!(%error, "could not look after other workers and feeds; it is tried again");
            Vec::new()
        }
    };
    events.extend(authority::refreshed(shared).await);
    authority::write_down_use(shared).await;
    events.push(Event::Credentials(shared.accounts.changed()));
    events.push(Event::InDoubt {
        clock: shared.clock_in_doubt.load(Ordering::Relaxed),
        accounts: shared.accounts.in_doubt(),
    });
    Event::All(events)
}

/// What other workers left, and the feeds that are due, as far as they are this worker's.
async fn look_after(shared: &Shared) -> Result<Vec<Event>, StoreError> {
    let (mut events, lanes) = neighbours::look(shared).await?;
    events.extend(feeds::due(shared, &lanes).await?);
    Ok(events)
}

async fn carry_out(shared: Arc<Shared>, command: Command) -> Event {
    match command {
        Command::Claim(action, lease) => claim(&shared, action, lease).await,
        Command::Commit(commit) => write(&shared, *commit).await,
        Command::Send(send) => send_out(&shared, *send).await,
        Command::LookUp(action, record) => ask(&shared, action, &record, None).await,
        Command::Poll(action, record, attempt) => {
            ask(&shared, action, &record, Some(attempt)).await
        }
        Command::Record(action, facts) => record_facts(&shared, action, facts).await,
        Command::Release(claim) => {
            let action = claim.action;
            if let Err(error) = shared.store.release(claim).await {
                tracing::debug!(%error, "a claim could not be given back; its lease ends it");
            }
            Event::Released(action)
        }
        Command::ReadFeed(feed) => feeds::read(&shared, feed).await,
    }
}

/// Records a submission, and tells both its caller and the driver what became of it.
async fn admit(
    shared: Arc<Shared>,
    admission: Admission,
    marked: bool,
    reply: oneshot::Sender<Result<Admitted, StoreError>>,
) -> Event {
    let submitted = Submitted {
        action: admission.action.intent.action,
        destination: admission.action.scope.destination.clone(),
        marked,
    };
    let notes = Notes::of(&admission.facts);
    let (scope, span) = (
        admission.action.scope.clone(),
        trail::submit(&admission.action),
    );
    let answer = shared.store.admit(admission).await;
    if let Ok(admitted) = &answer {
        shared.metrics.admitted(&scope, admitted);
        trail::submitted(&span, admitted);
        if let Admitted::Created(record, _) = admitted {
            let before = State::Pending;
            (shared.metrics).recorded(record, &notes, before, record.action.intent.submitted_at);
        }
    }
    if marked && matches!(answer, Ok(Admitted::Created(_, Some(_)))) {
        reach(CrashPoint::C4);
    }
    let (event, answer) = answers::admitted(submitted, answer, shared.now());
    // A caller that went away meanwhile repeats its submission, and joins.
    let _ = reply.send(answer);
    event
}

async fn claim(shared: &Shared, action: ActionId, lease: Span) -> Event {
    reach(CrashPoint::C2);
    let answer = shared.store.claim(action, shared.worker, lease).await;
    match &answer {
        Ok(Claimed::Held(..)) => reach(CrashPoint::C3),
        Ok(Claimed::Busy(_) | Claimed::Gone) => {}
        Err(error) => tracing::warn!(%action, %error, "could not claim"),
    }
    answers::claimed(action, answer, shared.now())
}

async fn write(shared: &Shared, commit: Commit) -> Event {
    let action = commit.record.id();
    let (facts, next) = (commit.facts.clone(), commit.next.clone());
    let answer = match name_key(shared, &commit.record, &commit.facts).await {
        Ok(()) => shared.store.commit(&commit.claim, facts, next).await,
        Err(error) => Err(error),
    };
    match &answer {
        Ok(Committed::Durable(_)) => reach_written(&commit.facts),
        Ok(Committed::Stale) => {}
        Err(error) => tracing::warn!(%action, %error, "could not commit"),
    }
    let notes = Notes::of(&commit.facts);
    let stale_mark = matches!(answer, Ok(Committed::Stale)) && marks(&commit.facts);
    match answers::wrote(commit, answer, shared.now()) {
        Wrote::Durable(event, recorded) => {
            announce(shared, action, &recorded);
            if let Event::Committed(_, record) = &event {
                (shared.metrics).recorded(record, &notes, recorded.states.0, recorded.at);
                trail::decided(record, recorded.states.0);
                shared.waiters.stands(record);
            }
            event
        }
        Wrote::Not(event, claim) => {
            let _ = shared.store.release(claim).await;
            if !stale_mark {
                return event;
            }
            // It may be stale because somebody may do less than is known here: that is read before it is decided anew.
            authority::refreshed(shared).await;
            Event::All(vec![Event::Directory(shared.directory()), event])
        }
    }
}

/// Before a request under a new version of the key is marked, reports that name this key find the action.
pub(crate) async fn name_key(
    shared: &Shared,
    record: &Record,
    facts: &[Fact],
) -> Result<(), StoreError> {
    let new = facts.iter().find_map(|fact| match fact {
        Fact::Marked(mark) if mark.epoch > Epoch::default() => Some(mark.epoch),
        _ => None,
    });
    let Some(epoch) = new else { return Ok(()) };
    let Some(contract) = shared.pinned_contract(record).await else {
        return Ok(());
    };
    let identity = record.action.identity_hash;
    let names = report_names(&shared.keys, &contract, identity, epoch);
    if !names.is_empty() {
        shared.store.know(record.id(), names).await?;
    }
    Ok(())
}

fn marks(facts: &[Fact]) -> bool {
    facts
        .iter()
        .any(|fact| matches!(fact, Fact::Marked(_) | Fact::CancelMarked(_)))
}

fn reach_written(facts: &[Fact]) {
    if marks(facts) {
        reach(CrashPoint::C4);
    } else if facts.iter().any(|fact| matches!(fact, Fact::Answered(_))) {
        reach(CrashPoint::C7);
    }
}

pub(crate) fn announce(shared: &Shared, action: ActionId, recorded: &Recorded) {
    let (before, state) = recorded.states;
    let state = (recorded.behind.as_ref()).map_or(state, |behind| behind.status().state);
    if before != state {
        tracing::debug!(%action, from = before.name(), to = state.name(), "state");
    }
    // Nobody listening is no error.
    let _ = shared.changes.send(Change::standing(action, state));
}

async fn send_out(shared: &Shared, send: SendOut) -> Event {
    let SendOut {
        record,
        permission,
        reuse,
    } = send;
    let (action, span) = (record.id(), trail::send(&record, &permission));
    let carrying = shared.carrying();
    let name = &record.action.scope.destination;
    let purged = record.action.content.purged_at.is_some();
    let brought = match shared.destinations.get(name).map(|d| &d.reach) {
        _ if purged => not_carried(&permission, "its content was purged"),
        Some(Reach::Http(target)) => match shared.pinned_contract(&record).await {
            Some(contract) => {
                // Where the right to send rests on what the account holds, the credential has to be the confirmed one; and so
                // it has for a cancel by key, which has no kind: elsewhere "nothing there" says nothing about our effect.
                let rests_on_account = matches!(
                    permission.kind(),
                    None | Some(PermissionKind::SameKey | PermissionKind::ProvenAbsent)
                );
                let target = shared.accounts.guarded(name, target, rests_on_account);
                carrying
                    .send(&record, &contract, &target, permission, reuse)
                    .await
            }
            None => not_carried(
                &permission,
                "the contract that is pinned in the action cannot be read",
            ),
        },
        Some(Reach::InProcess(carrier)) => {
            carrying.carry(&record, carrier.as_ref(), permission).await
        }
        Some(Reach::Elsewhere) => not_carried(&permission, "only workers elsewhere speak with it"),
        None => not_carried(&permission, "the destination is not configured any more"),
    };
    // A destination that answers shows its own time; where that agrees with ours, a clock in doubt is trusted again.
    let local = (!shared.store.is_shared()).then(LocalReading::take);
    let confirmed = |date| confirms(date, shared.now(), local);
    if brought.date.is_some_and(confirmed) {
        shared.clock_in_doubt.store(false, Ordering::Relaxed);
    }
    trail::ended(&span, &brought.facts);
    Event::Ended {
        action,
        facts: brought.facts,
        heard: brought.heard,
    }
}

/// Nothing could be sent, for a reason on our side.
fn not_carried(permission: &factum_core::Permission, why: &str) -> Brought {
    use factum_core::evidence::{CancelAnswer, Phase, RequestRef};
    let fact = match permission.request() {
        RequestRef::Attempt(attempt) => Fact::NotSent {
            attempt,
            phase: Phase::Prepare,
            detail: why.to_owned(),
        },
        RequestRef::Cancel(no) => Fact::CancelAnswered {
            no,
            answer: CancelAnswer::NotSent {
                why: why.to_owned(),
            },
        },
    };
    Brought::new(vec![fact], Heard::NotBegun)
}

async fn ask(
    shared: &Shared,
    action: ActionId,
    record: &Record,
    poll: Option<factum_core::AttemptNo>,
) -> Event {
    // The store's time is read before the question is sent (R2).
    let span = trail::question(record, poll.is_some());
    let ended = |brought: Brought| {
        trail::ended(&span, &brought.facts);
        Event::Ended {
            action,
            facts: brought.facts,
            heard: brought.heard,
        }
    };
    let destination = shared.destinations.get(&record.action.scope.destination);
    let target = match destination.map(|known| &known.reach) {
        Some(Reach::Http(target)) => target,
        Some(Reach::InProcess(carrier)) if poll.is_none() => {
            let Ok(asked_at) = shared.store.now().await else {
                return Event::Broken(action);
            };
            let carrying = shared.carrying();
            return ended(
                carrying
                    .carrier_looks(record, carrier.as_ref(), asked_at)
                    .await,
            );
        }
        Some(Reach::InProcess(_) | Reach::Elsewhere) | None => {
            return ended(Brought::new(Vec::new(), Heard::NotBegun));
        }
    };
    let (Ok(asked_at), Some(contract)) = (
        shared.store.now().await,
        shared.pinned_contract(record).await,
    ) else {
        return Event::Broken(action);
    };
    let carrying = shared.carrying();
    ended(match poll {
        None => {
            // What is not found elsewhere may be where it was sent to (R13).
            let pinned = record.action.content.place.as_ref();
            let moved = pinned.is_some_and(|place| *place != target.base());
            let scoped = record.action.intent.promises.key;
            let scoped = scoped.is_some_and(|key| key.scope_includes_credential);
            let in_doubt = shared
                .accounts
                .look(&record.action.scope.destination, target)
                .await
                || moved
                || (scoped && shared.accounts.was_sent_before(record));
            carrying
                .look_up(record, &contract, target, asked_at, in_doubt)
                .await
        }
        Some(attempt) => {
            carrying
                .poll(record, &contract, target, attempt, asked_at)
                .await
        }
    })
}

/// Evidence is not given up while the process lives: it is offered again until the store takes it.
async fn record_facts(shared: &Shared, action: ActionId, facts: Vec<Fact>) -> Event {
    loop {
        match shared.store.record(action, facts.clone()).await {
            Ok(Some(recorded)) => {
                announce(shared, action, &recorded);
                shared.waiters.changed(action);
                shared.count(action, &Notes::of(&facts), &recorded).await;
                return Event::Recorded(action);
            }
            Ok(None) => return Event::Recorded(action),
            Err(error) => {
                tracing::warn!(%action, %error, "could not record evidence; it is kept and offered again");
                tokio::time::sleep(duration(STORE_REST)).await;
            }
        }
    }
}

impl Shared {
    pub(crate) fn carrying(&self) -> Carrying<'_> {
        Carrying {
            keys: &self.keys,
            transport: self.transport.as_ref(),
            clock: self.clock.as_ref(),
        }
    }

    /// The contract that is pinned in an action.
    pub(crate) async fn pinned_contract(&self, record: &Record) -> Option<Arc<Contract>> {
        self.contract(record.action.content.contract).await
    }

    /// The contract of this digest: a current one, one that was read before, or the text that was kept.
    pub(crate) async fn contract(&self, digest: [u8; 32]) -> Option<Arc<Contract>> {
        let known = self
            .contracts
            .read()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .get(&digest)
            .cloned();
        if known.is_some() {
            return known;
        }
        let text = match self.store.contract(digest).await {
            Ok(text) => text?,
            Err(error) => {
                tracing::error!(%error, "a pinned contract cannot be read");
                return None;
            }
        };
        let contract = match Contract::from_kept(&text) {
            Ok(contract) => Arc::new(contract),
            Err(error) => {
                tracing::error!(?error, "a pinned contract cannot be read by this version");
                return None;
            }
        };
        self.contracts
            .write()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .insert(digest, contract.clone());
        Some(contract)
    }

    /// The store's time as this process knows it.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }
}
