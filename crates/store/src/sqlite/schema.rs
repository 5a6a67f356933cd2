//! Connections and the schema: pragmas, numbered migrations forward only, and which files are refused.

use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::fault::while_doing;
use super::open::with_suffix;
use crate::{StoreError, StoreErrorKind};

const DOING: &str = "opening the database";
const MIGRATING: &str = "migrating the database";

/// `FACT`: tells our files from other programs' databases.
const APPLICATION: i64 = 0x4641_4354;

/// The first SQLite without the write-ahead log's reset race.
const SQLITE_LEAST: i32 = 3_051_003;

/// Migrations, in order; the index plus one is the schema version.
const MIGRATIONS: [&str; 12] = [
    include_str!("migrations/0001_first.sql"),
    include_str!("migrations/0002_reports.sql"),
    include_str!("migrations/0003_subject.sql"),
    include_str!("migrations/0004_register.sql"),
    include_str!("migrations/0005_sums.sql"),
    include_str!("migrations/0006_notices.sql"),
    include_str!("migrations/0007_workers.sql"),
    include_str!("migrations/0008_twins.sql"),
    include_str!("migrations/0009_retention.sql"),
    include_str!("migrations/0010_order.sql"),
    include_str!("migrations/0011_seal.sql"),
    include_str!("migrations/0012_forgotten.sql"),
];

/// The newest schema version known here.
pub(super) fn version_known() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

/// Refuses a SQLite that is known to damage files.
pub(super) fn check_library() -> Result<(), StoreError> {
    if rusqlite::version_number() >= SQLITE_LEAST {
        return Ok(());
    }
    let text = format!(
        "SQLite {} can damage a write-ahead log; build with 3.51.3 or newer",
        rusqlite::version()
    );
    Err(StoreError::new(DOING, StoreErrorKind::Database(text)))
}

/// The one connection that writes.
pub(super) fn connect_writer(
    path: &Path,
    bytes_max: Option<u64>,
) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags).map_err(while_doing(DOING))?;
    // A connection to a file that is refused must not empty the log into it when it closes; ours empties it on purpose.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
        .map_err(while_doing(DOING))?;
    refuse_foreign(&conn, path)?;
    // WAL is kept in the file, and so is that free pages can be given back, in a file that is new; everything else is set per
    // connection. What is deleted is overwritten.
    conn.execute_batch(
        "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA secure_delete = ON; \
         PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 67108864; PRAGMA wal_autocheckpoint = 4000; \
         PRAGMA cache_size = -16384;",
    )
    .map_err(while_doing(DOING))?;
    common(&conn)?;
    if let Some(bytes) = bytes_max {
        let size: i64 = conn
            .pragma_query_value(None, "page_size", |row| row.get(0))
            .map_err(while_doing(DOING))?;
        let pages = i64::try_from(bytes).unwrap_or(i64::MAX) / size.max(1);
        conn.pragma_update(None, "max_page_count", pages)
            .map_err(while_doing(DOING))?;
    }
    Ok(conn)
}

/// A connection that only reads.
pub(super) fn connect_reader(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags).map_err(while_doing(DOING))?;
    only_reads(&conn)?;
    Ok(conn)
}

fn only_reads(conn: &Connection) -> Result<(), StoreError> {
    common(conn)?;
    conn.execute_batch("PRAGMA query_only = ON; PRAGMA cache_size = -8192;")
        .map_err(while_doing(DOING))
}

/// A connection to a copy that nobody works on, in a folder that may be read-only: nothing is made beside it, unless its log came with it.
pub(super) fn connect_copy(path: &Path) -> Result<Connection, StoreError> {
    let has_log = std::fs::metadata(with_suffix(path, "-wal")).is_ok_and(|log| log.len() > 0);
    if has_log {
        return connect_reader(path);
    }
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let name: String = whole
        .to_string_lossy()
        .replace('%', "%25")
        .replace('?', "%3f")
        .replace('#', "%23");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let conn = Connection::open_with_flags(format!("file:{name}?immutable=1"), flags)
        .map_err(while_doing(DOING))?;
    only_reads(&conn)?;
    Ok(conn)
}

fn common(conn: &Connection) -> Result<(), StoreError> {
    conn.set_prepared_statement_cache_capacity(64);
    conn.busy_timeout(std::time::Duration::from_secs(5))
        .and_then(|()| {
            conn.execute_batch(
                "PRAGMA foreign_keys = ON; PRAGMA mmap_size = 0; PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY;",
            )
        })
        .map_err(while_doing(DOING))
}

/// Refuses a newer file and another program's file before anything is written.
fn refuse_foreign(conn: &Connection, path: &Path) -> Result<(), StoreError> {
    let number = |pragma: &str| -> Result<i64, StoreError> {
        conn.pragma_query_value(None, pragma, |row| row.get(0))
            .map_err(while_doing(DOING))
    };
    let tables: i64 = conn
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .map_err(while_doing(DOING))?;
    let (found, known) = (number("user_version")?, version_known());
    if tables > 0 && number("application_id")? != APPLICATION {
        let path = path.display().to_string();
        let why = "it is a database of another program; name another file".to_owned();
        return Err(StoreError::new(
            DOING,
            StoreErrorKind::Unsuitable { path, why },
        ));
    }
    if found > known {
        return Err(StoreError::new(
            DOING,
            StoreErrorKind::TooNew { found, known },
        ));
    }
    Ok(())
}

/// Refuses a file whose schema is not the one that is known here: it is only read, and so not brought up to date.
pub(super) fn version_is_known(conn: &Connection) -> Result<(), StoreError> {
    refuse_foreign(conn, Path::new(conn.path().unwrap_or_default()))?;
    let found: i64 = conn
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .map_err(while_doing(DOING))?;
    if found == version_known() {
        return Ok(());
    }
    let path = conn.path().unwrap_or_default().to_owned();
    let why = "an older program wrote it; open it once with this one".to_owned();
    Err(StoreError::new(
        DOING,
        StoreErrorKind::Unsuitable { path, why },
    ))
}

/// Brings the schema to the newest version, one transaction per step. On a schema that is there already it does nothing.
pub(super) fn migrate(conn: &Connection) -> Result<(), StoreError> {
    let found: i64 = conn
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .map_err(while_doing(MIGRATING))?;
    let done = usize::try_from(found).unwrap_or(0);
    if done >= MIGRATIONS.len() {
        return Ok(());
    }
    // A step that builds a table anew drops the old one, which its children still name. Each step is checked as a whole instead.
    let keys = |on: bool| {
        conn.pragma_update(None, "foreign_keys", on)
            .map_err(while_doing(MIGRATING))
    };
    keys(false)?;
    let stepped = steps(conn, done);
    keys(true)?;
    stepped
}

fn steps(conn: &Connection, done: usize) -> Result<(), StoreError> {
    for (index, text) in MIGRATIONS.iter().enumerate().skip(done) {
        let version = index + 1;
        let whole = format!(
            "BEGIN IMMEDIATE; {text}; PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {version}; COMMIT;"
        );
        if let Err(error) = conn.execute_batch(&whole) {
            if !conn.is_autocommit() {
                // The transaction ends with the connection in any case; the first error is the one to tell.
                let _ = conn.execute_batch("ROLLBACK");
            }
            return Err(super::fault::failed(MIGRATING, &error));
        }
    }
    Ok(())
}
