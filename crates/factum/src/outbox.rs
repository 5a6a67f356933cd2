//! The outbox in an application's own SQLite file: the intent commits with the application's data, or not at all.
//!
//! One thread per file reads what waits there and submits it; never one transaction over two files. A crash between the two
//! is harmless, because a row is picked up by its identity and joins. The file's uuid is bound once to this store (R25).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use factum_core::mistake::{Mistake, made};
use factum_engine::{Code, Engine, Problem};
use rusqlite::{Connection, OptionalExtension, params};
use tokio::runtime::Handle;

use crate::pickup::{Row, passing, submit_all};
use crate::{DEFAULT_TENANT, problem_json};

/// The statements that make the outbox's tables; harmless to repeat.
pub const SCHEMA: &str = include_str!("../outbox.sql");

/// The setting that binds outbox files to the store: a JSON object of uuid to path.
const BOUND: &str = "outbox_files";
/// Rows that are submitted at once.
const BATCH: usize = 64;
/// How often an idle file is looked at. The look costs no read of the file unless it changed.
const IDLE: Duration = Duration::from_millis(50);

/// Makes the outbox's tables in an application's file.
///
/// # Errors
/// What SQLite says.
pub fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(SCHEMA)
}

/// Writes a submission into the outbox, within the caller's transaction. Returns the row's id.
///
/// # Errors
/// What SQLite says; the caller rolls back.
pub fn insert(connection: &Connection, body: &str) -> rusqlite::Result<i64> {
    connection
        .prepare_cached("insert into factum_outbox (body) values (?1)")?
        .execute([body])?;
    Ok(connection.last_insert_rowid())
}

/// A thread that picks up one file.
pub(crate) struct Pickup {
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Pickup {
    /// Binds the file to the store and starts picking up.
    ///
    /// # Errors
    /// F1040 if the file cannot be opened, or is bound elsewhere.
    pub(crate) async fn start(
        engine: Arc<Engine>,
        path: PathBuf,
        principal: String,
    ) -> Result<Self, Problem> {
        let connection = open(&path)?;
        bind(&engine, &connection, &path, false).await?;
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, runtime) = (stop.clone(), Handle::current());
        let thread = std::thread::Builder::new()
            .name("factum-outbox".to_owned())
            .spawn(move || pick_up(&engine, &connection, &path, &principal, &runtime, &stopped))
            .map_err(|error| bad(&error.to_string(), "let this process start threads"))?;
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for Pickup {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
        }
    }
}

/// Lets a file that is unknown, or was seen elsewhere, be picked up from now on: an operator's word.
///
/// # Errors
/// [`Problem`] if the file cannot be opened, or the store cannot be written.
pub async fn accept(engine: &Engine, path: &Path) -> Result<(), Problem> {
    bind(engine, &open(path)?, path, true).await
}

fn open(path: &Path) -> Result<Connection, Problem> {
    let connection = Connection::open(path).map_err(|error| {
        bad(
            &format!("cannot open the outbox file {}: {error}", path.display()),
            "name an existing SQLite file",
        )
    })?;
    let prepared = connection
        .busy_timeout(Duration::from_secs(5))
        .and_then(|()| prepare(&connection));
    prepared.map_err(|error| {
        bad(
            &format!("cannot prepare the outbox in {}: {error}", path.display()),
            "make the file writable for the engine",
        )
    })?;
    Ok(connection)
}

async fn bind(
    engine: &Engine,
    connection: &Connection,
    path: &Path,
    accept: bool,
) -> Result<(), Problem> {
    let uuid: String = connection
        .query_row(
            "select uuid from factum_outbox_file where one = 1",
            [],
            |row| row.get(0),
        )
        .map_err(|error| {
            bad(
                &format!("{} has no outbox: {error}", path.display()),
                "run its schema once",
            )
        })?;
    let place = path
        .canonicalize()
        .unwrap_or_else(|_| path.to_owned())
        .display()
        .to_string();
    let kept = engine
        .store()
        .setting(BOUND)
        .await?
        .unwrap_or_else(|| "{}".to_owned());
    let mut bound: BTreeMap<String, String> = serde_json::from_str(&kept).map_err(|error| {
        bad(
            &format!("the setting {BOUND} is damaged: {error}"),
            "run `factum doctor`",
        )
    })?;
    if bound.get(&uuid) == Some(&place) {
        return Ok(());
    }
    let moved = bound.get(&uuid).cloned();
    let replaced = bound
        .iter()
        .find(|(_, bound_place)| **bound_place == place)
        .map(|(other, _)| other.clone());
    if !(accept || made(Mistake::CopiedOutboxTaken))
        && let Some(why) = moved
            .map(|from| format!("was picked up at {from} before"))
            .or_else(|| {
                replaced.clone().map(|_| {
                    "is another file than the one that was picked up there before".to_owned()
                })
            })
    {
        return Err(bad(
            &format!(
                "the outbox file {place} {why}; a copy would send again what the first one sent"
            ),
            "if it is the right file, say so: `factum admin outbox-accept PATH`",
        ));
    }
    if let Some(other) = replaced {
        bound.remove(&other);
    }
    bound.insert(uuid, place);
    let text = serde_json::to_string(&bound).unwrap_or(kept);
    Ok(engine.store().set_setting(BOUND, Some(text)).await?)
}

fn pick_up(
    engine: &Arc<Engine>,
    connection: &Connection,
    path: &Path,
    principal: &str,
    runtime: &Handle,
    stop: &AtomicBool,
) {
    let mut seen: Option<i64> = None;
    while !stop.load(Ordering::Relaxed) {
        // The version changes when another connection commits; without a change there is nothing to read.
        let version = connection
            .query_row("pragma data_version", [], |row| row.get::<_, i64>(0))
            .optional()
            .ok()
            .flatten();
        if version.is_some() && version == seen {
            std::thread::park_timeout(IDLE);
            continue;
        }
        match one_round(engine, connection, principal, runtime) {
            Ok(0) => seen = version,
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(file = %path.display(), %error, "the outbox could not be picked up; trying again");
                std::thread::park_timeout(Duration::from_secs(1));
            }
        }
    }
}

/// Submits what waits, at most one batch. Returns how many rows were seen.
fn one_round(
    engine: &Arc<Engine>,
    connection: &Connection,
    principal: &str,
    runtime: &Handle,
) -> Result<usize, Box<dyn std::error::Error>> {
    let row = |row: &rusqlite::Row<'_>| {
        Ok(Row {
            id: row.get(0)?,
            body: row.get(1)?,
            tenant: DEFAULT_TENANT.to_owned(),
            principal: principal.to_owned(),
            reserved: None,
        })
    };
    let waiting: Vec<Row<i64>> = connection
        .prepare_cached(
            "select id, body from factum_outbox where state = 'waiting' order by id limit ?1",
        )?
        .query_map([i64::try_from(BATCH)?], row)?
        .collect::<Result<_, _>>()?;
    let rows = waiting.len();
    let outcomes = runtime.block_on(submit_all(engine, waiting));
    let transaction = connection.unchecked_transaction()?;
    for (id, outcome) in outcomes {
        let (state, action, problem) = match outcome {
            Ok(action) => ("taken", Some(action.to_string()), None),
            Err(problem) if passing(&problem) => return Err(Box::new(problem)),
            Err(problem) => ("refused", None, Some(problem_json(&problem).to_string())),
        };
        transaction
            .prepare_cached(
                "update factum_outbox set state = ?2, action = ?3, problem = ?4 where id = ?1",
            )?
            .execute(params![id, state, action, problem])?;
    }
    transaction.commit()?;
    Ok(rows)
}

fn bad(rule: &str, remedy: &str) -> Problem {
    Problem::new(Code::BadConfig, "/outbox", rule, remedy)
}
