//! The one thread that writes: it takes what has queued, runs it as one transaction, commits, and only then answers (group
//! commit). While one flush to disk runs, the next batch collects.
//!
//! A job that fails before it writes leaves nothing behind, and the others go on. A job that fails later, or a commit that fails,
//! takes all jobs of its batch back, in the file and in memory, and each of their callers is told so.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use factum_core::mistake::{Mistake, made};
use factum_core::{ActionId, Timestamp};
use rusqlite::Connection;
use tokio::sync::oneshot::Sender;

use super::fault::{commit_failed, failed};
use super::job::{Deliver, Job, Outcome};
use super::lock::Lock;
use super::meta;
use super::readers::{Damaged, noted};
use super::shrink;
use super::sums::Sums;
use super::tail::{Progress, Teller};
use crate::cache::Cache;
use crate::record::Record;
use crate::shared::Claims;
use crate::{StoreError, StoreErrorKind};

/// Jobs in one transaction at the most.
const BATCH_MAX: usize = 256;

/// What is sent to the writer.
pub(super) enum Message {
    /// Something to do.
    Job(Box<dyn Job>),
    /// Give free pages back to the disk, so many of them; the answer is how many are left.
    Shrink(Sender<Result<u64, StoreError>>),
    /// Do what has queued before, then scour the file, which no transaction may hold open.
    Scour(Sender<Result<u64, StoreError>>),
    /// Do what has queued before, then end; the answer comes when the files are in order.
    Close(Sender<Result<(), StoreError>>),
}

/// What jobs work on.
pub(super) struct Work {
    pub(super) conn: Connection,
    pub(super) sums: Sums,
    pub(super) progress: Arc<Progress>,
    pub(super) claims: Claims,
    cache: Cache,
    damaged: Damaged,
    /// The last stamp in the file when it was opened.
    pub(super) stamp_at_open: Timestamp,
    touched: Vec<ActionId>,
    wrote: bool,
}

/// The thread's own things.
pub(super) struct Writer {
    pub(super) work: Work,
    pub(super) teller: Teller,
    pub(super) lock: Arc<Mutex<Option<Lock>>>,
}

impl Writer {
    /// Works until it is told to close, or until nobody can send any more.
    pub(super) fn run(mut self, queue: &Receiver<Message>) {
        let (mut closing, mut shrinking) = (None, Vec::new());
        while closing.is_none() {
            let Ok(first) = queue.recv() else { break };
            let mut jobs = VecDeque::new();
            let mut scour = None;
            let mut message = Some(first);
            while let Some(next) = message {
                match next {
                    Message::Job(job) => jobs.push_back(job),
                    Message::Shrink(answer) => {
                        shrinking.push(answer);
                        break;
                    }
                    Message::Scour(answer) => {
                        scour = Some(answer);
                        break;
                    }
                    Message::Close(answer) => {
                        closing = Some(answer);
                        break;
                    }
                }
                let room = jobs.len() < BATCH_MAX;
                message = room.then(|| queue.try_recv().ok()).flatten();
            }
            while !jobs.is_empty() {
                self.batch(&mut jobs);
            }
            for answer in shrinking.drain(..) {
                // A caller that went away needs no answer.
                let _ = answer.send(shrink::step(&self.work.conn));
            }
            if let Some(answer) = scour {
                let _ = answer.send(super::reseal::scour(&self.work.conn));
            }
        }
        let ended = self.end();
        if let Some(answer) = closing {
            // A caller that went away needs no answer.
            let _ = answer.send(ended);
        }
    }

    /// Runs jobs as one transaction and answers them. Jobs behind one that broke the transaction stay for the next.
    fn batch(&mut self, jobs: &mut VecDeque<Box<dyn Job>>) {
        let began = Instant::now();
        let work = &mut self.work;
        let writes = jobs.iter().any(|job| job.writes());
        if writes && let Err(error) = work.conn.execute_batch("BEGIN IMMEDIATE") {
            let kind = failed("writing", &error).kind;
            for job in jobs.drain(..) {
                job.refuse(kind.clone());
            }
            return;
        }
        work.claims.begin();
        work.touched.clear();
        work.wrote = false;
        let mut delivers: Vec<Deliver> = Vec::with_capacity(jobs.len());
        let mut failure = None;
        while let Some(job) = jobs.pop_front() {
            let outcome = work.one(job);
            delivers.push(outcome.deliver);
            // Some errors make SQLite take the whole transaction back by itself.
            if writes && work.conn.is_autocommit() {
                failure = Some(taken_back_by(outcome.failed));
                break;
            }
        }
        if writes && failure.is_none() {
            failure = work.commit().err();
        }
        match &failure {
            None => work.claims.keep(),
            Some(_) => work.take_back(),
        }
        if failure.is_none() && work.wrote {
            self.teller.committed();
        }
        if writes {
            let meter = &work.progress.meter;
            meter.wrote(delivers.len(), began.elapsed(), failure.is_none());
        }
        let told = failure.filter(|_| !made(Mistake::BatchAnsweredAsWritten));
        for deliver in delivers {
            deliver(told.clone(), &mut work.claims);
        }
    }

    /// Brings the files into order: everything in the main file, the last count beside it, the lock free.
    fn end(self) -> Result<(), StoreError> {
        const DOING: &str = "closing the store";
        let Self { work, teller, lock } = self;
        // The log's contents are safe where they are; a reader that is still at work only keeps the log from being emptied.
        let checkpoint = work
            .conn
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            .map_err(|error| failed(DOING, &error));
        teller.finish();
        let closed = work
            .conn
            .close()
            .map_err(|(_, error)| failed(DOING, &error));
        let lock = lock.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(lock) = lock {
            lock.release();
        }
        checkpoint.and(closed)
    }
}

/// What the other commands of a batch are told that one took back. Its own error is its own caller's.
fn taken_back_by(failed: Option<StoreErrorKind>) -> StoreErrorKind {
    match failed {
        Some(StoreErrorKind::Full) => StoreErrorKind::Full,
        Some(_) | None => StoreErrorKind::Unavailable(
            "another command of the same transaction failed, and all were taken back".to_owned(),
        ),
    }
}

impl Work {
    pub(super) fn new(
        conn: Connection,
        sums: Sums,
        (progress, damaged): (Arc<Progress>, Damaged),
        first_token: u64,
        stamp_at_open: Timestamp,
    ) -> Self {
        const CACHE_BYTES: usize = 16 << 20;
        Self {
            conn,
            sums,
            progress,
            claims: Claims::new(first_token),
            cache: Cache::new(CACHE_BYTES),
            damaged,
            stamp_at_open,
            touched: Vec::new(),
            wrote: false,
        }
    }

    /// The store's time.
    pub(super) fn now(&self) -> Timestamp {
        self.progress.clock.now()
    }

    /// Whatever is changed from here on belongs to this action; should it not become durable, it is read anew.
    pub(super) fn touch(&mut self, id: ActionId) {
        self.touched.push(id);
        self.wrote = true;
    }

    /// Something else than an action is changed.
    pub(super) fn write(&mut self) {
        self.wrote = true;
    }

    /// Takes a record out of the cache, or reads it. Who holds it puts it back with [`Self::keep`] once it is as in the file.
    pub(super) fn take(
        &mut self,
        id: ActionId,
        doing: &'static str,
    ) -> Result<Option<Record>, StoreError> {
        match self.cache.take(id) {
            Some(record) => Ok(Some(record)),
            None => {
                let read = super::row::read_record(&self.conn, &self.sums, id, doing);
                noted(read, id, &self.damaged)
            }
        }
    }

    /// Holds a record for the next command on it.
    pub(super) fn keep(&mut self, record: Record) {
        self.cache.put(record);
    }

    /// Runs one job. One that failed before it wrote leaves nothing behind. One that failed later takes the whole batch back with
    /// it: every command checks before it writes, so that is rare, and a savepoint around each command would copy every page that it
    /// touches.
    fn one(&mut self, job: Box<dyn Job>) -> Outcome {
        let claims = self.claims.savepoint();
        let (touched, wrote) = (self.touched.len(), self.wrote);
        let rows = self.conn.total_changes();
        let outcome = job.run(self);
        if outcome.failed.is_some() {
            self.claims.undo_to(claims);
            for id in self.touched.drain(touched..) {
                self.cache.forget(id);
            }
            self.wrote = wrote;
            if self.conn.total_changes() != rows {
                self.roll_back();
            }
        }
        outcome
    }

    fn statement(&self, text: &str) -> rusqlite::Result<()> {
        self.conn.prepare_cached(text)?.execute([]).map(|_| ())
    }

    /// Ends the open transaction without writing. SQLite takes an open transaction back with the connection at the latest.
    fn roll_back(&self) {
        if !self.conn.is_autocommit() {
            let _ = self.conn.execute_batch("ROLLBACK");
        }
    }

    /// Makes the batch durable, and counts it if it wrote anything.
    fn commit(&mut self) -> Result<(), StoreErrorKind> {
        let counted = if self.wrote {
            meta::count_commit(&self.conn, self.progress.clock.last()).map(Some)
        } else {
            Ok(None)
        };
        let done = counted.and_then(|count| self.statement("COMMIT").map(|()| count));
        match done {
            Ok(Some(count)) => self.progress.commits.store(count, Ordering::Release),
            Ok(None) => {}
            Err(error) => {
                self.roll_back();
                return Err(commit_failed(&error));
            }
        }
        Ok(())
    }

    /// The batch does not stand: memory goes back to what the file holds.
    fn take_back(&mut self) {
        self.roll_back();
        self.claims.undo_to(0);
        self.claims.keep();
        for id in self.touched.drain(..) {
            self.cache.forget(id);
        }
        self.wrote = false;
    }
}
