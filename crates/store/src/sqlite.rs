//! The embedded store: one SQLite file, one thread that writes with group commit, readers beside it, one process at a time.
//!
//! What is answered has been committed with `synchronous=FULL`. Claims live in the writer's memory: the end of the process
//! frees them, while marks stay what they are. Rows carry keyed checksums that are verified whenever they are read; a
//! commit counter beside the file tells an older copy. What neither can see: a lost index page between two checks (`doctor`
//! looks for it), a tail that was lost within the last second, and a copy of the whole folder put back as a whole.
//! Read `writer` for the way of a command and `open` for what is refused at start.

mod backup;
mod fault;
mod graves;
mod heads;
mod job;
mod kept;
mod lock;
mod meta;
mod notices;
mod open;
mod ops;
mod place;
mod purge;
mod readers;
mod register;
mod reports;
mod reseal;
mod row;
mod schema;
mod shrink;
mod sums;
mod tail;
mod transfer;
mod twins;
mod verify;
mod writer;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use factum_core::{ActionId, Evidence, Fact, IdentityHash, Scope, Span, Timestamp, WorkerNonce};
use tokio::sync::oneshot::channel;

use self::job::Call;
use self::lock::Lock;
use self::readers::{Damaged, Readers};
use self::tail::Progress;
use self::writer::{Message, Work};
use crate::clock::{Clock, system_clock};
use crate::head::{Census, Head};
use crate::meter::Meter;
use crate::notice::Notices;
use crate::purge::{Purge, Purged, Remains, ScopeRow, SettledPage};
use crate::record::{
    Admission, Admitted, Claim, Claimed, Committed, Due, Filter, NextRow, Record, Recorded, Reseal,
    Restore,
};
use crate::register::{Change, Entry, EntryFilter, EntryKey, EntryVersion, Registered};
use crate::report::{Delivered, KeptReport, Name, Report, ReportFilter};
use crate::seal::Seals;
use crate::shared::{self, Claims, Fence};
use crate::texts::{Penned, sealed_change};
use crate::{Answer, Store, StoreError, StoreErrorKind};

pub use self::backup::backup;
pub use self::heads::{census, heads};
pub use self::reseal::count_sealed_rows;
pub use self::transfer::export;
pub use self::verify::{Subject, verify};
pub use crate::keys::StoreKeys;
pub use crate::verify::Verified;

/// How to open a store.
#[derive(Clone)]
pub struct Options {
    /// The database file. Its folder also holds `lock` and `commits`, so it holds one store.
    pub path: PathBuf,
    /// The secret that checksums are made with.
    pub keys: StoreKeys,
    /// Seals content before it is written.
    pub seals: Seals,
    /// The wall clock.
    pub clock: Clock,
    /// Threads that read.
    pub readers: usize,
    /// The file's size at the most, in bytes, or as large as the disk allows. Past it, writes answer `Full`.
    pub bytes_max: Option<u64>,
}

impl Options {
    /// The defaults for this file: the system's clock, two readers, no bound, nothing sealed.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>, keys: StoreKeys) -> Self {
        Self {
            path: path.into(),
            keys,
            seals: Seals::off(),
            clock: system_clock(),
            readers: 2,
            bytes_max: None,
        }
    }
}

/// An opened store, and what was noticed on the way.
pub struct Opened {
    /// The store.
    pub store: SqliteStore,
    /// The file is an older or a foreign copy. The restore is declared already; effect requests wait for its release.
    pub restored: bool,
    /// By what that was seen, for people.
    pub restored_because: Option<String>,
    /// Who held the store before and ended without closing it.
    pub former: Option<String>,
    /// The lock is held since then: every process that held it before is dead, and will write nothing more.
    pub former_workers_gone_at: Timestamp,
    /// How far the wall clock runs behind the last stamp in the file. The store's clock stands still for that long.
    pub clock_behind: Span,
}

/// A store in one SQLite file. See the module's documentation.
pub struct SqliteStore {
    queue: Mutex<Option<SyncSender<Message>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    readers: Readers,
    progress: Arc<Progress>,
    damaged: Damaged,
    lock: Arc<Mutex<Option<Lock>>>,
    /// A restore is in the file, or may be. Most stores never see one, and every submission asks.
    restored: AtomicBool,
    seals: Seals,
}

impl SqliteStore {
    /// Opens or makes a store. Blocks while it reads and writes files.
    ///
    /// # Errors
    /// `Held` with the holder's words, `TooNew`, `Unsuitable` (network file system, another program's file, other keys),
    /// `Corrupt` (no database, cut off, or gone while it was in use). Nothing is written to a file that is refused.
    pub fn open(options: Options) -> Result<Opened, StoreError> {
        open::open(options)
    }

    /// Does what has queued, empties the log into the file, writes the last count and frees the lock. Later calls answer
    /// that the store is closed; closing twice changes nothing.
    pub fn close(&self) -> Answer<'_, ()> {
        const DOING: &str = "closing the store";
        self.readers.close();
        let queue = self.take_queue();
        let (answer, answered) = channel();
        let sent = queue.map(|queue| queue.send(Message::Close(answer)).is_ok());
        Box::pin(async move {
            match sent {
                None => Ok(()),
                Some(false) => Err(stopped(DOING)),
                Some(true) => answered.await.unwrap_or_else(|_| Err(stopped(DOING))),
            }
        })
    }

    /// Adds the address to what the lock says about its holder.
    ///
    /// # Errors
    /// `Unavailable` if the lock's text cannot be written; the lock itself is not touched by that.
    pub fn set_address(&self, address: &str) -> Result<(), StoreError> {
        match &mut *self.lock.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(lock) => lock.set_address(address),
            None => Ok(()),
        }
    }

    /// Reads and checks every row. Takes as long as the file is large; writers go on beside it.
    pub fn verify_all(&self) -> Answer<'_, Verified> {
        self.readers
            .ask("verifying the store", readers::Reader::verify)
    }

    /// Actions that were found damaged since the store was opened, with how. They are held; the others go on.
    #[must_use]
    pub fn damaged(&self) -> BTreeMap<ActionId, String> {
        self.damaged
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Durable commits so far, over the whole life of the store: fewer than what was written, because commits are shared.
    #[must_use]
    pub fn commits(&self) -> u64 {
        self.progress.commits.load(Ordering::Acquire)
    }

    /// How often the commit counter beside the file could not be written. It then stays behind, and tells less.
    #[must_use]
    pub fn counter_failures(&self) -> u64 {
        self.progress.failures.load(Ordering::Acquire)
    }

    /// Sends a message to the writer.
    fn send(&self, doing: &'static str, message: Message) -> Result<(), StoreError> {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let sent = match &*queue {
            None => Err("the store is closed"),
            Some(queue) => queue.try_send(message).map_err(|error| match error {
                TrySendError::Full(_) => "too many commands wait already",
                TrySendError::Disconnected(_) => "the writer has stopped",
            }),
        };
        sent.map_err(|why| StoreError::new(doing, StoreErrorKind::Unavailable(why.to_owned())))
    }

    fn take_queue(&self) -> Option<SyncSender<Message>> {
        self.queue
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    /// Sends one command to the writer. It is done even if nobody waits for the answer.
    fn command<'a, T, F>(
        &self,
        (doing, kind): (&'static str, Kind),
        op: F,
        lost: fn(T, &mut Claims),
    ) -> Answer<'a, T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Work) -> Result<T, StoreError> + Send + 'static,
    {
        let (answer, answered) = channel();
        let call = Message::Job(Box::new(Call {
            doing,
            writes: kind == Kind::Writes,
            for_caller: kind == Kind::ForCaller,
            op,
            answer,
            lost,
        }));
        let sent = self.send(doing, call);
        Box::pin(async move {
            sent?;
            answered.await.unwrap_or_else(|_| Err(stopped(doing)))
        })
    }
}

/// The writer went away with the command in its hands.
fn stopped(doing: &'static str) -> StoreError {
    let text = "the writer stopped before it answered".to_owned();
    StoreError::new(doing, StoreErrorKind::InDoubt(text))
}

impl Drop for SqliteStore {
    /// Ends as [`SqliteStore::close`] does, and waits for it, so that the lock is free afterwards.
    fn drop(&mut self) {
        self.readers.close();
        drop(self.take_queue());
        let thread = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(thread) = thread {
            // A writer that panicked has told its callers already.
            let _ = thread.join();
        }
    }
}

/// What a command does beside answering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// It writes to the file.
    Writes,
    /// It changes claims only.
    Claims,
    /// It takes a claim for whoever waits for the answer.
    ForCaller,
}

impl Store for SqliteStore {
    fn meter(&self) -> Option<&Meter> {
        Some(&self.progress.meter)
    }

    fn now(&self) -> Answer<'_, Timestamp> {
        Box::pin(std::future::ready(Ok(self.progress.clock.now())))
    }

    fn admit(&self, admission: Admission) -> Answer<'_, Admitted> {
        let prepared = ops::Prepared::of(&self.seals, admission);
        self.command(
            (ops::ADMITTING, Kind::Writes),
            move |work| ops::admit(work, prepared),
            |answer, claims| {
                if let Admitted::Created(_, Some(claim)) = answer {
                    claims.release(claim.action, claim.token);
                }
            },
        )
    }

    fn load(&self, id: ActionId) -> Answer<'_, Option<Record>> {
        self.readers
            .ask("loading an action", move |reader| reader.load(id))
    }

    fn find(&self, identity: IdentityHash) -> Answer<'_, Option<Record>> {
        self.readers
            .ask("finding an action", move |reader| reader.find(identity))
    }

    fn list(&self, filter: Filter) -> Answer<'_, Vec<Record>> {
        self.readers
            .ask("listing actions", move |reader| reader.list(&filter))
    }

    fn history(&self, id: ActionId) -> Answer<'_, Vec<Evidence>> {
        self.readers
            .ask("reading evidence", move |reader| reader.history(id))
    }

    fn due(&self, after: Option<(Timestamp, ActionId)>, limit: usize) -> Answer<'_, Vec<Due>> {
        self.readers.ask("listing what is due", move |reader| {
            reader.due(after, limit)
        })
    }

    fn for_workers(
        &self,
        destination: String,
        after: Option<(Timestamp, ActionId)>,
        limit: usize,
    ) -> Answer<'_, Vec<Due>> {
        self.readers
            .ask("listing what waits for workers", move |reader| {
                reader.for_workers(&destination, after, limit)
            })
    }

    fn counts(&self) -> Answer<'_, BTreeMap<(String, String), u64>> {
        self.readers
            .ask("counting actions", readers::Reader::counts)
    }

    fn claim(&self, id: ActionId, _worker: WorkerNonce, lease: Span) -> Answer<'_, Claimed> {
        self.command(
            (ops::CLAIMING, Kind::ForCaller),
            move |work| ops::claim(work, id, lease),
            |answer, claims| {
                if let Claimed::Held(claim, _) = answer {
                    claims.release(claim.action, claim.token);
                }
            },
        )
    }

    fn renew<'a>(&'a self, claim: &'a Claim, lease: Span) -> Answer<'a, bool> {
        let fence = Fence::of(claim);
        self.command(
            ("renewing a claim", Kind::Claims),
            move |work| {
                let now = work.now();
                Ok(work.claims.renew(fence.action, fence.token, lease, now))
            },
            |_, _| {},
        )
    }

    fn release(&self, claim: Claim) -> Answer<'_, ()> {
        self.command(
            ("releasing a claim", Kind::Claims),
            move |work| {
                work.claims.release(claim.action, claim.token);
                Ok(())
            },
            |(), _| {},
        )
    }

    fn record(&self, id: ActionId, facts: Vec<Fact>) -> Answer<'_, Option<Recorded>> {
        let facts = Penned::of(&self.seals, id, facts);
        self.command(
            (ops::RECORDING, Kind::Writes),
            move |work| ops::record(work, id, facts),
            |_, _| {},
        )
    }

    fn record_at(
        &self,
        id: ActionId,
        version: u64,
        facts: Vec<Fact>,
    ) -> Answer<'_, Option<Committed>> {
        let facts = Penned::of(&self.seals, id, facts);
        self.command(
            (ops::RECORDING, Kind::Writes),
            move |work| ops::record_at(work, id, version, facts),
            |_, _| {},
        )
    }

    fn commit<'a>(
        &'a self,
        claim: &'a Claim,
        facts: Vec<Fact>,
        next: NextRow,
    ) -> Answer<'a, Committed> {
        let fence = Fence::of(claim);
        let facts = Penned::of(&self.seals, fence.action, facts);
        self.command(
            (ops::COMMITTING, Kind::Writes),
            move |work| ops::commit(work, fence, facts, next),
            |_, _| {},
        )
    }

    fn deliver(&self, report: Report, forget_before: Timestamp) -> Answer<'_, Delivered> {
        self.command(
            (reports::DELIVERING, Kind::Writes),
            move |work| reports::deliver(work, report, forget_before),
            |_, _| {},
        )
    }

    fn reports(&self, filter: ReportFilter) -> Answer<'_, Vec<KeptReport>> {
        self.readers.ask("listing reports", move |reader| {
            let (conn, sums, _) = reader.parts();
            reports::list(conn, sums, &filter)
        })
    }

    fn know(&self, id: ActionId, names: Vec<Name>) -> Answer<'_, bool> {
        self.command(
            (ops::NAMING, Kind::Writes),
            move |work| ops::know(work, id, names),
            |_, _| {},
        )
    }

    fn keep_contract(&self, digest: [u8; 32], text: String) -> Answer<'_, ()> {
        self.command(
            (ops::KEEPING, Kind::Writes),
            move |work| ops::keep_contract(work, digest, &text),
            |(), _| {},
        )
    }

    fn contract(&self, digest: [u8; 32]) -> Answer<'_, Option<String>> {
        const DOING: &str = "reading a contract";
        self.readers.ask(DOING, move |reader| {
            let (conn, sums, _) = reader.parts();
            kept::contract(conn, sums, digest, DOING)
        })
    }

    fn entry(&self, key: EntryKey) -> Answer<'_, Option<Entry>> {
        self.readers
            .ask(register::READING, move |reader| reader.entry(&key))
    }

    fn entries(&self, filter: EntryFilter) -> Answer<'_, Vec<Entry>> {
        self.readers
            .ask(register::READING, move |reader| reader.entries(&filter))
    }

    fn entries_due(
        &self,
        kind: crate::Kind,
        until: Timestamp,
        limit: usize,
    ) -> Answer<'_, Vec<Entry>> {
        self.readers.ask(register::READING, move |reader| {
            reader.entries_due(kind, until, limit)
        })
    }

    fn entry_history(&self, key: EntryKey) -> Answer<'_, Vec<EntryVersion>> {
        self.readers
            .ask(register::READING, move |reader| reader.entry_history(&key))
    }

    fn change(&self, changes: Vec<Change>) -> Answer<'_, Registered> {
        let sealed = changes
            .iter()
            .map(|change| sealed_change(&self.seals, change));
        let changes: Vec<Change> = sealed.collect();
        self.command(
            (register::CHANGING, Kind::Writes),
            move |work| register::change(work, &changes),
            |_, _| {},
        )
    }

    fn forget_entries(
        &self,
        kind: crate::Kind,
        before: Timestamp,
        limit: usize,
    ) -> Answer<'_, u64> {
        self.command(
            (shared::FORGETTING, Kind::Writes),
            move |work| register::forget(work, kind, before, limit),
            |_, _| {},
        )
    }

    fn forget_versions(&self, kind: crate::Kind, before: Timestamp) -> Answer<'_, u64> {
        self.command(
            (shared::FORGETTING, Kind::Writes),
            move |work| register::forget_versions(work, kind, before),
            |_, _| {},
        )
    }

    fn edition(&self) -> Answer<'_, u64> {
        self.readers.ask(register::READING, |reader| {
            reader.plain(register::READING, register::edition)
        })
    }

    fn notices(&self, after: u64, limit: usize) -> Answer<'_, Notices> {
        self.readers
            .ask(notices::READING, move |reader| reader.notices(after, limit))
    }

    fn forget_notices(&self, before: Timestamp, limit: usize) -> Answer<'_, u64> {
        self.command(
            (notices::FORGETTING, Kind::Writes),
            move |work| notices::forget(work, before, limit),
            |_, _| {},
        )
    }

    fn settled(
        &self,
        after: Option<ActionId>,
        made_before: Timestamp,
        limit: usize,
    ) -> Answer<'_, SettledPage> {
        self.readers.ask(purge::READING, move |reader| {
            reader.settled(after, made_before, limit)
        })
    }

    fn purge(&self, wishes: Vec<Purge>, under: u64) -> Answer<'_, Purged> {
        self.command(
            (purge::PURGING, Kind::Writes),
            move |work| purge::purge(work, wishes, under),
            |_, _| {},
        )
    }

    fn remains(&self, id: ActionId) -> Answer<'_, Option<Remains>> {
        const DOING: &str = "reading what is left of an action";
        self.readers.ask(DOING, move |reader| {
            reader.at_once(DOING, |conn, sums, _| {
                graves::remains(conn, sums, id, DOING)
            })
        })
    }

    fn scopes(&self) -> Answer<'_, Vec<ScopeRow>> {
        self.readers.ask(purge::READING, |reader| {
            let (conn, sums, _) = reader.parts();
            purge::scopes(conn, sums)
        })
    }

    fn forget_identities(&self, scope: Scope, before: Timestamp, limit: usize) -> Answer<'_, u64> {
        self.command(
            (purge::PURGING, Kind::Writes),
            move |work| purge::forget_identities(work, &scope, before, limit),
            |_, _| {},
        )
    }

    fn compact(&self) -> Answer<'_, u64> {
        Box::pin(shrink::shrink(self))
    }

    fn who_waits(&self, destination: String) -> Answer<'_, Vec<String>> {
        const DOING: &str = "looking who waits";
        self.readers.ask(DOING, move |reader| {
            reader.plain(DOING, |conn| readers::who_waits(conn, &destination))
        })
    }

    fn sealed_rows(&self, key: Option<u32>) -> Answer<'_, u64> {
        const DOING: &str = "counting sealed rows";
        self.readers.ask(DOING, move |reader| {
            reader.plain(DOING, |conn| reseal::sealed_rows(conn, key))
        })
    }

    fn reseal(&self, from: Reseal, limit: usize) -> Answer<'_, Option<Reseal>> {
        self.command(
            (reseal::SEALING, Kind::Writes),
            move |work| reseal::reseal(work, from, limit),
            |_, _| {},
        )
    }

    fn scour(&self) -> Answer<'_, u64> {
        const DOING: &str = reseal::SCOURING;
        let (answer, answered) = channel();
        let sent = self.send(DOING, Message::Scour(answer));
        Box::pin(async move {
            sent?;
            answered.await.unwrap_or_else(|_| Err(stopped(DOING)))
        })
    }

    fn heads(&self, after: Option<ActionId>, limit: usize) -> Answer<'_, Vec<Head>> {
        self.readers.ask(heads::READING, move |reader| {
            reader.plain(heads::READING, |conn| heads::page(conn, after, limit))
        })
    }

    fn census(&self) -> Answer<'_, Census> {
        self.readers.ask(heads::READING, |reader| {
            reader.plain(heads::READING, heads::counted)
        })
    }

    fn setting(&self, name: &str) -> Answer<'_, Option<String>> {
        const DOING: &str = "reading a setting";
        let name = name.to_owned();
        self.readers.ask(DOING, move |reader| {
            let (conn, sums, _) = reader.parts();
            kept::setting(conn, sums, &name, DOING)
        })
    }

    fn set_setting(&self, name: &str, value: Option<String>) -> Answer<'_, ()> {
        let name = name.to_owned();
        self.command(
            (ops::SETTING, Kind::Writes),
            move |work| ops::put_setting(work, &name, value.as_deref()),
            |(), _| {},
        )
    }

    fn restore(&self) -> Answer<'_, Option<Restore>> {
        const DOING: &str = "reading the restore";
        if !self.restored.load(Ordering::Acquire) {
            return Box::pin(std::future::ready(Ok(None)));
        }
        self.readers.ask(DOING, |reader| {
            let (conn, sums, _) = reader.parts();
            kept::restore(conn, sums, DOING)
        })
    }

    fn declare_restored(&self, copy_until: Option<Timestamp>) -> Answer<'_, Restore> {
        self.restored.store(true, Ordering::Release);
        self.command(
            (ops::RESTORING, Kind::Writes),
            move |work| ops::declare_restored(work, copy_until),
            |_, _| {},
        )
    }

    fn release_restore(&self, by: String) -> Answer<'_, Option<Restore>> {
        self.command(
            (ops::RELEASING, Kind::Writes),
            move |work| ops::release_restore(work, by),
            |_, _| {},
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actions::admission;

    /// Breaks the batch that it is in: its violation is found by the commit only.
    fn broken_at_commit(work: &mut Work) -> Result<(), StoreError> {
        work.conn
            .execute_batch(
                "PRAGMA defer_foreign_keys = ON;
                 INSERT INTO evidence (lane, action, no, at, kind, fact, sum)
                 VALUES (0, zeroblob(16), 1, 1, 'noted', '', zeroblob(16));",
            )
            .map_err(fault::while_doing("breaking the batch"))
    }

    /// Keeps the writer busy until it is told to go on, so that what queues meanwhile is one batch.
    fn keep_busy(store: &SqliteStore) -> (std::sync::mpsc::Sender<()>, Answer<'_, ()>) {
        let (begun, has_begun) = std::sync::mpsc::channel();
        let (go, may_go) = std::sync::mpsc::channel::<()>();
        let busy = store.command(
            ("keeping the writer busy", Kind::Claims),
            move |_| {
                begun.send(()).unwrap();
                may_go.recv().unwrap();
                Ok(())
            },
            |(), _| {},
        );
        has_begun.recv().unwrap();
        (go, busy)
    }

    // R26: what a failed command takes back with it, each caller is told of, and may repeat; what came behind it goes on.
    #[tokio::test]
    async fn a_command_that_fails_after_it_wrote_takes_its_batch_back() {
        let worker = (WorkerNonce(1), Span::from_secs(60));
        let files = tempfile::tempdir().unwrap();
        let path = files.path().join("factum.db");
        let opened = SqliteStore::open(Options::new(&path, StoreKeys([1; 32]))).unwrap();
        let store = opened.store;
        let wish = |n| Admission {
            claim_for: Some(worker),
            ..admission(n)
        };
        // `none` for what is not settled breaks law 8, and the file refuses it.
        let mut forgotten = wish(2);
        forgotten.next.step = "none".to_owned();
        forgotten.next.at = None;
        let (go, busy) = keep_busy(&store);
        let (first, second) = (store.admit(wish(1)), store.admit(forgotten));
        let third = store.admit(wish(3));
        go.send(()).unwrap();
        busy.await.unwrap();
        let error = first.await.unwrap_err();
        assert!(error.is_passing(), "{error}");
        let error = second.await.unwrap_err().to_string();
        assert!(error.contains("standing_none_is_settled"), "{error}");
        assert!(matches!(third.await.unwrap(), Admitted::Created(..)));
        for n in [1, 2] {
            let id = admission(n).action.intent.action;
            assert!(store.load(id).await.unwrap().is_none());
            // Its claim went with it: repeated, it is claimed.
            let created = store.admit(wish(n)).await.unwrap();
            assert!(matches!(created, Admitted::Created(_, Some(_))));
        }
    }

    // R32: a commit that failed leaves nothing behind, in the file or in memory, and everybody in it is told.
    #[tokio::test]
    async fn a_commit_that_fails_takes_its_whole_batch_back() {
        let worker = (WorkerNonce(1), Span::from_secs(60));
        let files = tempfile::tempdir().unwrap();
        let path = files.path().join("factum.db");
        let opened = SqliteStore::open(Options::new(&path, StoreKeys([1; 32]))).unwrap();
        let store = opened.store;
        let (go, busy) = keep_busy(&store);
        let wish = || Admission {
            claim_for: Some(worker),
            ..admission(1)
        };
        let before = store.commits();
        let admitted = store.admit(wish());
        let broken = store.command(
            ("breaking the batch", Kind::Writes),
            broken_at_commit,
            |(), _| {},
        );
        go.send(()).unwrap();
        busy.await.unwrap();
        let errors = [admitted.await.unwrap_err(), broken.await.unwrap_err()];
        for error in errors {
            assert!(matches!(error.kind, StoreErrorKind::InDoubt(_)), "{error}");
            assert!(error.is_passing());
        }
        let id = admission(1).action.intent.action;
        assert!(store.load(id).await.unwrap().is_none());
        let claimed = store.claim(id, worker.0, worker.1).await.unwrap();
        assert!(matches!(claimed, Claimed::Gone), "not in memory either");
        // Repeating it is safe, and it is claimed as if for the first time.
        let repeated = store.admit(wish()).await.unwrap();
        assert!(matches!(repeated, Admitted::Created(_, Some(_))));
        assert_eq!(store.commits() - before, 1);
    }
    // An upgrade may read the same evidence otherwise; that is no damage.
    #[tokio::test]
    async fn a_state_that_another_version_wrote_is_outdated_and_not_damaged() {
        let files = tempfile::tempdir().unwrap();
        let path = files.path().join("factum.db");
        let opened = SqliteStore::open(Options::new(&path, StoreKeys([1; 32]))).unwrap();
        let store = opened.store;
        let Admitted::Created(record, _) = store.admit(admission(1)).await.unwrap() else {
            panic!("new")
        };
        let id = record.id();
        let other = row::Standing {
            state: factum_core::State::OutcomeUnknown,
            version: 2,
            ..row::Standing::of(&record)
        };
        let rewrite = store.command(
            ("writing as another version", Kind::Writes),
            move |work| {
                work.touch(id);
                row::update_standing(&work.conn, &work.sums, &other)
                    .map_err(fault::while_doing("writing as another version"))
            },
            |_, _| {},
        );
        assert!(rewrite.await.unwrap());
        let loaded = store.load(id).await.unwrap().unwrap();
        assert_eq!(loaded.status().state, factum_core::State::Pending);
        let verified = store.verify_all().await.unwrap();
        assert_eq!((verified.outdated, verified.findings), (vec![id], vec![]));
    }
}
