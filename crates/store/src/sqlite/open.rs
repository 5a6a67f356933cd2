//! Opening: the place, the lock, the file, the schema, and whether the file is the one that was written last. Nothing is
//! written to a file that is refused.

use std::fs::OpenOptions;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};

use factum_core::mistake::carried;
use factum_core::{Span, Timestamp};
use rusqlite::Connection;

use super::fault::while_doing;
use super::kept;
use super::lock::Lock;
use super::meta::{self, Meta};
use super::readers::{Damaged, Readers};
use super::sums::Sums;
use super::tail::{self, Found, Keeper, Progress, Tail};
use super::writer::{Work, Writer};
use super::{Opened, Options, SqliteStore, place, schema};
use crate::clock::RisingClock;
use crate::meter::Meter;
use crate::record::RETIRED;
use crate::transfer::check_in_use;
use crate::{StoreError, StoreErrorKind, shared};

const DOING: &str = "opening the store";

/// Commands that may wait for the writer at the most; past it a caller is told to come again.
const QUEUE_MAX: usize = 4_096;

/// What is known once the file is open.
struct Files {
    conn: Connection,
    meta: Meta,
    beside: Found,
}

/// A file that is ours now: schema up to date, process instance noted, restore declared if there was one.
struct Taken {
    conn: Connection,
    sums: Sums,
    /// The last stamp in the file before it was opened.
    stamp: Timestamp,
    clock: RisingClock,
    clock_behind: Span,
    /// By what it is known to be a copy, if it is one.
    sign: Option<String>,
    /// Where the counter is, and what stands in it.
    counter: (PathBuf, Tail),
}

pub(super) fn open(options: Options) -> Result<Opened, StoreError> {
    schema::check_library()?;
    let folder = folder(&options.path)?;
    place::check(&folder)?;
    let lock = Lock::take(&folder, (options.clock)())?;
    match take(&options, &folder) {
        Ok(taken) => start(&options, lock, taken),
        Err(error) => {
            lock.release();
            Err(error)
        }
    }
}

/// Checks the files and makes them ours.
fn take(options: &Options, folder: &Path) -> Result<Taken, StoreError> {
    let sums = Sums::new(&options.keys, &options.seals);
    let beside_path = tail::path(folder);
    let Files { conn, meta, beside } = read_files(options, &sums, &beside_path)?;
    let last = match beside {
        Found::Tail(tail) => meta.stamp.max(tail.stamp),
        Found::Nothing | Found::Garbled => meta.stamp,
    };
    let clock = RisingClock::new(Arc::clone(&options.clock), last);
    let clock_behind = last.since(clock.wall());
    let sign = judge(&meta, beside);
    let incarnation = random()?;
    let next = Tail {
        store: meta.store,
        incarnation: meta.incarnation,
        next: incarnation,
        commits: meta.commits,
        stamp: last,
    };
    let commits = take_over(&conn, &sums, &beside_path, (next, sign.is_some()), &clock)?;
    let tail = Tail {
        incarnation,
        commits,
        ..next
    };
    put_tail(&beside_path, &tail, &sums)?;
    Ok(Taken {
        conn,
        sums,
        stamp: meta.stamp,
        clock,
        clock_behind,
        sign,
        counter: (beside_path, tail),
    })
}

/// Starts the threads that work on the file.
fn start(options: &Options, lock: Lock, taken: Taken) -> Result<Opened, StoreError> {
    let former = lock.former().map(str::to_owned);
    let former_workers_gone_at = taken.clock.now();
    let (path, tail) = taken.counter;
    let progress = Arc::new(Progress {
        commits: AtomicU64::new(tail.commits),
        failures: AtomicU64::new(0),
        clock: taken.clock,
        meter: Meter::default(),
    });
    let damaged = Damaged::default();
    let sums = taken.sums;
    // One that cannot be read is there: whoever asks for it is told so.
    let restored = kept::restore(&taken.conn, &sums, DOING).map_or(true, |found| found.is_some());
    let readers = Readers::start(&options.path, &sums, &damaged, options.readers)?;
    let keeper = Keeper::new(path, sums.clone(), tail, Arc::clone(&progress));
    let lock = Arc::new(Mutex::new(Some(lock)));
    let shared = (Arc::clone(&progress), Arc::clone(&damaged));
    let token = u64::from_be_bytes(random()?);
    let writer = Writer {
        work: Work::new(taken.conn, sums, shared, token, taken.stamp),
        teller: keeper.start().map_err(|error| no_thread(&error))?,
        lock: Arc::clone(&lock),
    };
    let (queue, commands) = sync_channel(QUEUE_MAX);
    let thread = std::thread::Builder::new()
        .name("factum-store-write".to_owned())
        .spawn(carried(move || writer.run(&commands)))
        .map_err(|error| no_thread(&error))?;
    Ok(Opened {
        store: SqliteStore {
            queue: Mutex::new(Some(queue)),
            thread: Mutex::new(Some(thread)),
            readers,
            progress,
            damaged,
            lock,
            restored: AtomicBool::new(restored),
            seals: options.seals.clone(),
        },
        restored: taken.sign.is_some(),
        restored_because: taken.sign,
        former,
        former_workers_gone_at,
        clock_behind: taken.clock_behind,
    })
}

fn no_thread(error: &std::io::Error) -> StoreError {
    StoreError::new(DOING, StoreErrorKind::Unavailable(error.to_string()))
}

fn unsuitable(path: &Path, why: String) -> StoreError {
    let path = path.display().to_string();
    StoreError::new(DOING, StoreErrorKind::Unsuitable { path, why })
}

fn corrupt(path: &Path, how: &str) -> StoreError {
    let what = path.display().to_string();
    let how = how.to_owned();
    StoreError::new(DOING, StoreErrorKind::Corrupt { what, how })
}

/// The folder that holds the database and what stands beside it; made if it is not there.
fn folder(path: &Path) -> Result<PathBuf, StoreError> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        Some(_) | None => PathBuf::from("."),
    };
    std::fs::create_dir_all(&folder)
        .map_err(|error| unsuitable(&folder, format!("the folder cannot be made: {error}")))?;
    Ok(folder)
}

/// Checks the files, opens the database, brings its schema up to date and reads what it knows about itself.
fn read_files(options: &Options, sums: &Sums, beside_path: &Path) -> Result<Files, StoreError> {
    let path = &options.path;
    let beside = tail::find(beside_path, sums)
        .map_err(|error| unsuitable(beside_path, format!("it cannot be read: {error}")))?;
    let log = with_suffix(path, "-wal");
    let log_bytes = std::fs::metadata(&log).map_or(0, |meta| meta.len());
    let bytes = match std::fs::metadata(path) {
        Ok(meta) => meta.len(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => 0,
        Err(error) => return Err(unsuitable(path, format!("it cannot be read: {error}"))),
    };
    if bytes == 0 {
        refuse_lost_file(path, beside, log_bytes)?;
        create(path)?;
    } else {
        check_header(path, log_bytes == 0)?;
    }
    let conn = schema::connect_writer(path, options.bytes_max)?;
    if log_bytes > 0 {
        // The log may hold pages that the main file lacks; once they are in it, its length can be judged.
        conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            .map_err(while_doing(DOING))?;
        check_header(path, true)?;
    }
    schema::migrate(&conn)?;
    let sql = while_doing(DOING);
    let meta = match meta::read(&conn).map_err(&sql)? {
        Some(meta) => meta,
        None => {
            let stamp = Timestamp::EARLIEST;
            meta::first(&conn, sums, random()?, random()?, stamp).map_err(&sql)?
        }
    };
    if meta.key_check != sums.key_check(&meta.store) {
        let why = "it was written with other keys; bring back the folder `keys` that belongs to it";
        return Err(unsuitable(path, why.to_owned()));
    }
    kept::seal(&conn, sums).map_err(&sql)?;
    if let Some((what, how)) = kept::decisive(&conn, sums)
        .map_err(&sql)?
        .into_iter()
        .next()
    {
        let how =
            format!("{how}, and what it decides is not known; put a backup in the file's place");
        return Err(StoreError::new(
            DOING,
            StoreErrorKind::Corrupt { what, how },
        ));
    }
    check_in_use(kept::setting(&conn, sums, RETIRED, DOING)?)?;
    Ok(Files { conn, meta, beside })
}

/// A file that is gone, while what stands beside it says that it was there.
fn refuse_lost_file(path: &Path, beside: Found, log_bytes: u64) -> Result<(), StoreError> {
    let used = match beside {
        Found::Nothing => false,
        Found::Garbled => true,
        Found::Tail(tail) => tail.commits > 0,
    };
    if !used && log_bytes == 0 {
        return Ok(());
    }
    Err(corrupt(
        path,
        "it is missing or empty, and the files beside it say that it was in use; put a backup in its place, or move the \
         whole folder away to begin anew",
    ))
}

/// Makes an empty file that only its owner can read, before SQLite would make one that others can.
pub(super) fn create(path: &Path) -> Result<(), StoreError> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
        .open(path)
        .map(|_| ())
        .map_err(|error| unsuitable(path, format!("it cannot be made: {error}")))
}

/// Refuses what is no database, and, where the log is empty, a database that lost its end.
fn check_header(path: &Path, whole: bool) -> Result<(), StoreError> {
    const REMEDY: &str = "nothing was changed; keep this file, and put a backup in its place";
    let mut header = [0; 100];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut header));
    if read.is_err() || !header.starts_with(b"SQLite format 3\0") {
        return Err(corrupt(
            path,
            &format!("it is no SQLite database; {REMEDY}"),
        ));
    }
    let page = match u16::from_be_bytes([header[16], header[17]]) {
        1 => 65_536,
        size => u64::from(size),
    };
    let pages = u32::from_be_bytes([header[28], header[29], header[30], header[31]]);
    let wanted = page * u64::from(pages);
    let bytes = std::fs::metadata(path).map_or(0, |meta| meta.len());
    if whole && bytes < wanted {
        let how = format!("it is cut off: {bytes} bytes where {wanted} were written; {REMEDY}");
        return Err(corrupt(path, &how));
    }
    Ok(())
}

/// The file beside another one, whose name goes on with `suffix`.
pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// By what the file is known to be an older or foreign copy, if it is one.
fn judge(meta: &Meta, beside: Found) -> Option<String> {
    let tail = match beside {
        // A file that no process has opened to the end holds nothing yet.
        Found::Nothing if meta.commits == 0 => return None,
        Found::Nothing => return Some("there is no commit counter beside the file".to_owned()),
        Found::Garbled => return Some("the commit counter beside the file is damaged".to_owned()),
        Found::Tail(tail) => tail,
    };
    if tail.store != meta.store {
        return Some("the commit counter beside the file belongs to another store".to_owned());
    }
    if ![tail.incarnation, tail.next].contains(&meta.incarnation) {
        return Some("the file was last opened by an earlier process than the folder".to_owned());
    }
    (tail.commits > meta.commits).then(|| {
        format!(
            "the file holds {} commits, and {} were durable",
            meta.commits, tail.commits
        )
    })
}

/// Notes the new process instance, first beside the file and then in it, and declares the restore if there was one. A crash
/// in between leaves both instances beside the file, and either in it is right.
fn take_over(
    conn: &Connection,
    sums: &Sums,
    beside_path: &Path,
    (next, restored): (Tail, bool),
    clock: &RisingClock,
) -> Result<u64, StoreError> {
    let sql = while_doing(DOING);
    if restored {
        let earlier = kept::restore(conn, sums, DOING)?;
        let stamp = meta::read(conn)
            .map_err(&sql)?
            .map_or(Timestamp::EARLIEST, |meta| meta.stamp);
        let restore = shared::restored_again(earlier.as_ref(), stamp, clock.now());
        kept::put_restore(conn, sums, &restore).map_err(&sql)?;
    }
    put_tail(beside_path, &next, sums)?;
    meta::opened(conn, next.next, clock.last()).map_err(&sql)
}

fn put_tail(path: &Path, tail: &Tail, sums: &Sums) -> Result<(), StoreError> {
    tail::put(path, tail, sums, true)
        .map_err(|error| unsuitable(path, format!("it cannot be written: {error}")))
}

fn random<const N: usize>() -> Result<[u8; N], StoreError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| {
        let text = format!("the system gives no random numbers: {error}");
        StoreError::new(DOING, StoreErrorKind::Unavailable(text))
    })?;
    Ok(bytes)
}
