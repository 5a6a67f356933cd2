//! The embedded store: one SQLite file, one thread that writes with group commit, readers beside it, one process at a time.
//!
//! What is answered has been committed with `synchronous=FULL`. Claims live in the writer's memory: the end of the process
//! frees them, while marks stay what they are. Rows carry keyed checksums that are verified whenever they are read; a
//! commit counter beside the file tells an older copy. What neither can see: a lost index page between two checks (`doctor`
//! looks for it), a tail that was lost within the last second, and a copy of the whole folder put back as a whole.
//! Read `writer` for the way of a command and `open` for what is refused at start.

mod backup;
mod commands;
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
#[cfg(test)]
mod tests;
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

use factum_core::{ActionId, Span, Timestamp};
use tokio::sync::oneshot::channel;

use self::job::Call;
use self::lock::Lock;
use self::readers::{Damaged, Readers};
use self::tail::Progress;
use self::writer::{Message, Work};
use crate::clock::{Clock, system_clock};
use crate::seal::Seals;
use crate::shared::Claims;
use crate::{Answer, StoreError, StoreErrorKind};

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
