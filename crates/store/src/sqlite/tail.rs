//! The commit counter beside the database: by it an opening tells that the file is an older or a foreign copy.
//!
//! It is written at once after a commit that comes after a pause, half a second apart while commits keep coming, and at a graceful
//! end. What it cannot see: a copy of the whole folder put back as a whole, and a tail that was lost within that half second. The
//! operator declares those.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use factum_core::Timestamp;

use super::sums::Sums;
use crate::clock::RisingClock;
use crate::encoding::{hex, unhex};
use crate::meter::Meter;

/// How far the file may stay behind, beside the time that writing it takes.
const BEHIND: Duration = Duration::from_millis(500);
const HEADING: &str = "factum commit counter 1";

/// What the file beside the database says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tail {
    /// Which store.
    pub(super) store: [u8; 16],
    /// The process instance that the database was last opened by.
    pub(super) incarnation: [u8; 16],
    /// The instance that is taking over; equal to the one before unless an opening was cut short.
    pub(super) next: [u8; 16],
    /// Commits that were durable when it was written.
    pub(super) commits: u64,
    /// The store's clock then.
    pub(super) stamp: Timestamp,
}

/// What was found beside the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// No such file.
    Nothing,
    /// A file that is not what was written, or not with these keys.
    Garbled,
    /// This.
    Tail(Tail),
}

/// Where the file is.
pub(super) fn path(folder: &Path) -> PathBuf {
    folder.join("commits")
}

/// Reads the file.
pub(super) fn find(path: &Path, sums: &Sums) -> std::io::Result<Found> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(std::str::from_utf8(&bytes)
            .ok()
            .and_then(|text| parse(text, sums))
            .map_or(Found::Garbled, Found::Tail)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Found::Nothing),
        Err(error) => Err(error),
    }
}

/// Writes the file whole: a reader sees the old one or the new one. `firmly` also makes its name durable.
pub(super) fn put(path: &Path, tail: &Tail, sums: &Sums, firmly: bool) -> std::io::Result<()> {
    let body = body(tail);
    let sum = hex(&check(&body, sums));
    let beside = path.with_extension("new");
    let mut file = File::create(&beside)?;
    file.write_all(format!("{body}check {sum}\n").as_bytes())?;
    file.sync_data()?;
    std::fs::rename(&beside, path)?;
    match path.parent() {
        Some(folder) if firmly => File::open(folder)?.sync_all(),
        Some(_) | None => Ok(()),
    }
}

fn body(tail: &Tail) -> String {
    format!(
        "{HEADING}\nstore {}\nincarnation {}\nnext {}\ncommits {}\nstamp {}\n",
        hex(&tail.store),
        hex(&tail.incarnation),
        hex(&tail.next),
        tail.commits,
        tail.stamp.as_micros()
    )
}

fn check(body: &str, sums: &Sums) -> [u8; 16] {
    sums.of(
        "commits",
        [rusqlite::types::ValueRef::Text(body.as_bytes())],
    )
}

fn parse(text: &str, sums: &Sums) -> Option<Tail> {
    let mut lines = text.lines();
    let mut member = |name: &str| lines.next()?.strip_prefix(name);
    member(HEADING)?;
    let bytes = |text: &str| unhex(text).and_then(|bytes| <[u8; 16]>::try_from(bytes).ok());
    let tail = Tail {
        store: bytes(member("store ")?)?,
        incarnation: bytes(member("incarnation ")?)?,
        next: bytes(member("next ")?)?,
        commits: member("commits ")?.parse().ok()?,
        stamp: Timestamp::from_micros(member("stamp ")?.parse().ok()?),
    };
    let sum = bytes(member("check ")?)?;
    (sum == check(&body(&tail), sums)).then_some(tail)
}

/// Writes the file after commits, on a thread of its own.
pub(super) struct Keeper {
    path: PathBuf,
    sums: Sums,
    tail: Tail,
    progress: Arc<Progress>,
    behind: Duration,
}

/// What the writer and the keeper share.
pub(super) struct Progress {
    /// Durable commits.
    pub(super) commits: AtomicU64,
    /// How often the file could not be written.
    pub(super) failures: AtomicU64,
    /// The store's clock.
    pub(super) clock: RisingClock,
    /// What the writer counts.
    pub(super) meter: Meter,
}

/// The writer's end: tells of commits, and ends the thread by letting go.
pub(super) struct Teller {
    news: SyncSender<()>,
    thread: JoinHandle<Keeper>,
}

/// What was heard while the file was left alone.
enum Meanwhile {
    Commits,
    Nothing,
    End,
}

impl Keeper {
    /// A keeper for this file. `tail` is what stands in it.
    pub(super) fn new(path: PathBuf, sums: Sums, tail: Tail, progress: Arc<Progress>) -> Self {
        Self {
            path,
            sums,
            tail,
            progress,
            behind: BEHIND,
        }
    }

    /// Starts the thread.
    pub(super) fn start(self) -> std::io::Result<Teller> {
        let (news, heard) = sync_channel(1);
        let thread = std::thread::Builder::new()
            .name("factum-store-tail".to_owned())
            .spawn(move || self.run(&heard))?;
        Ok(Teller { news, thread })
    }

    fn run(mut self, heard: &Receiver<()>) -> Self {
        while heard.recv().is_ok() {
            loop {
                self.write(false);
                match self.rest(heard) {
                    Meanwhile::Commits => {}
                    Meanwhile::Nothing => break,
                    Meanwhile::End => return self,
                }
            }
        }
        self
    }

    /// Writes no more for a while: what is committed meanwhile shares the next time.
    fn rest(&self, heard: &Receiver<()>) -> Meanwhile {
        let due = Instant::now() + self.behind;
        let mut meanwhile = Meanwhile::Nothing;
        loop {
            match heard.recv_timeout(due.saturating_duration_since(Instant::now())) {
                Ok(()) => meanwhile = Meanwhile::Commits,
                Err(RecvTimeoutError::Timeout) => return meanwhile,
                Err(RecvTimeoutError::Disconnected) => return Meanwhile::End,
            }
        }
    }

    /// Writes what is durable now. A failure is counted and made good by the next commit: the file then stays behind, which
    /// weakens what it can tell and makes nothing wrong.
    fn write(&mut self, firmly: bool) {
        self.tail.commits = self.progress.commits.load(Ordering::Acquire);
        self.tail.stamp = self.progress.clock.last();
        if put(&self.path, &self.tail, &self.sums, firmly).is_err() {
            self.progress.failures.fetch_add(1, Ordering::AcqRel);
        }
    }
}

impl Teller {
    /// A commit is durable.
    pub(super) fn committed(&self) {
        // A full channel says the same thing already.
        let _ = self.news.try_send(());
    }

    /// Ends the thread and writes the last count.
    pub(super) fn finish(self) {
        drop(self.news);
        if let Ok(mut keeper) = self.thread.join() {
            keeper.write(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seal::Seals;
    use crate::sqlite::StoreKeys;

    /// A keeper of a new folder that rests for so long between two times, and the count in its file.
    fn kept(behind: Duration) -> (Arc<Progress>, Teller, impl Fn() -> Option<u64>) {
        let folder = tempfile::tempdir().unwrap();
        let path = path(folder.path());
        let sums = Sums::new(&StoreKeys([7; 32]), &Seals::off());
        let progress = Arc::new(Progress {
            commits: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            clock: RisingClock::new(Arc::new(|| TAIL.stamp), TAIL.stamp),
            meter: Meter::default(),
        });
        let keeper = Keeper::new(path.clone(), sums.clone(), TAIL, Arc::clone(&progress));
        let teller = Keeper { behind, ..keeper }.start().unwrap();
        let count = move || match find(&path, &sums).unwrap() {
            Found::Tail(tail) => Some(tail.commits),
            Found::Nothing | Found::Garbled => {
                assert!(folder.path().exists());
                None
            }
        };
        (progress, teller, count)
    }

    fn until(count: &impl Fn() -> Option<u64>, wanted: u64) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while count() != Some(wanted) {
            assert!(Instant::now() < deadline, "{:?}, not {wanted}", count());
            std::thread::yield_now();
        }
    }

    #[test]
    fn the_first_commit_after_a_pause_is_written_at_once_and_those_behind_it_together() {
        let (progress, teller, count) = kept(Duration::from_secs(3_600));
        for commits in 1..=3 {
            progress.commits.store(commits, Ordering::Release);
            teller.committed();
            until(&count, 1);
        }
        teller.finish();
        assert_eq!(count(), Some(3), "an end does not wait for the hour");

        let (progress, teller, count) = kept(Duration::from_millis(1));
        for commits in 1..=3 {
            progress.commits.store(commits, Ordering::Release);
            teller.committed();
            until(&count, commits);
        }
        teller.finish();
    }

    const TAIL: Tail = Tail {
        store: [1; 16],
        incarnation: [2; 16],
        next: [3; 16],
        commits: 0,
        stamp: Timestamp::from_micros(-5),
    };

    #[test]
    fn a_count_reads_back_and_no_changed_byte_passes() {
        let folder = tempfile::tempdir().unwrap();
        let path = path(folder.path());
        let sums = Sums::new(&StoreKeys([7; 32]), &Seals::off());
        assert_eq!(find(&path, &sums).unwrap(), Found::Nothing);
        let tail = Tail { commits: 4, ..TAIL };
        put(&path, &tail, &sums, true).unwrap();
        assert_eq!(find(&path, &sums).unwrap(), Found::Tail(tail));
        let bytes = std::fs::read(&path).unwrap();
        for at in 0..bytes.len() - 1 {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            std::fs::write(&path, &changed).unwrap();
            assert_eq!(find(&path, &sums).unwrap(), Found::Garbled, "byte {at}");
        }
        std::fs::write(&path, &bytes).unwrap();
        let others = Sums::new(&StoreKeys([8; 32]), &Seals::off());
        assert_eq!(find(&path, &others).unwrap(), Found::Garbled);
    }
}
