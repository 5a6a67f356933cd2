//! A few threads with read-only connections. They see what is committed and never wait for the writer.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use factum_core::{ActionId, Evidence, State, Timestamp};
use rusqlite::{Connection, params};
use tokio::sync::oneshot::channel;

use super::fault::{failed, while_doing};
use super::row;
use super::schema::connect_reader;
use super::sums::Sums;
use crate::record::{Due, Filter, Record};
use crate::{Answer, StoreError, StoreErrorKind};

/// Questions that may wait at the most.
const QUEUE_MAX: usize = 1_024;

/// Actions whose rows were found damaged, with how.
pub(super) type Damaged = Arc<Mutex<BTreeMap<ActionId, String>>>;

type Question = Box<dyn FnOnce(&mut Reader) + Send>;

/// One read-only connection.
pub(super) struct Reader {
    conn: Connection,
    sums: Sums,
    damaged: Damaged,
}

/// The pool.
pub(super) struct Readers {
    queue: Mutex<Option<SyncSender<Question>>>,
}

impl Readers {
    /// Starts `count` threads on this file.
    pub(super) fn start(
        path: &Path,
        sums: &Sums,
        damaged: &Damaged,
        count: usize,
    ) -> Result<Self, StoreError> {
        let (queue, questions) = sync_channel::<Question>(QUEUE_MAX);
        let questions = Arc::new(Mutex::new(questions));
        for _ in 0..count.max(1) {
            let mut reader = Reader {
                conn: connect_reader(path)?,
                sums: sums.clone(),
                damaged: Arc::clone(damaged),
            };
            let questions = Arc::clone(&questions);
            std::thread::Builder::new()
                .name("factum-store-read".to_owned())
                .spawn(move || {
                    while let Some(question) = next(&questions) {
                        question(&mut reader);
                    }
                })
                .map_err(|error| {
                    let kind = StoreErrorKind::Unavailable(error.to_string());
                    StoreError::new("starting readers", kind)
                })?;
        }
        Ok(Self {
            queue: Mutex::new(Some(queue)),
        })
    }

    /// Asks one question.
    pub(super) fn ask<'a, T, F>(&self, doing: &'static str, question: F) -> Answer<'a, T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Reader) -> Result<T, StoreError> + Send + 'static,
    {
        let (answer, answered) = channel();
        let question: Question = Box::new(move |reader| {
            // A caller that went away needs no answer.
            let _ = answer.send(question(reader));
        });
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let sent = match &*queue {
            None => Err("the store is closed"),
            Some(queue) => queue.try_send(question).map_err(|error| match error {
                TrySendError::Full(_) => "too many questions wait already",
                TrySendError::Disconnected(_) => "the readers have stopped",
            }),
        };
        Box::pin(async move {
            let unavailable =
                |why: &str| StoreError::new(doing, StoreErrorKind::Unavailable(why.to_owned()));
            sent.map_err(unavailable)?;
            answered
                .await
                .unwrap_or_else(|_| Err(unavailable("the reader has stopped")))
        })
    }

    /// Lets the threads end once they have answered what waits.
    pub(super) fn close(&self) {
        self.queue
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
    }
}

/// The next question, or `None` when nobody can ask any more.
fn next(questions: &Mutex<Receiver<Question>>) -> Option<Question> {
    questions
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .recv()
        .ok()
}

impl Reader {
    /// Several statements on one state of the file.
    pub(super) fn at_once<T>(
        &mut self,
        doing: &'static str,
        read: impl FnOnce(&Connection, &Sums, &Damaged) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let transaction = self.conn.transaction().map_err(while_doing(doing))?;
        read(&transaction, &self.sums, &self.damaged)
    }

    /// One connection, for questions that look at the whole file.
    pub(super) fn parts(&mut self) -> (&mut Connection, &Sums, &Damaged) {
        (&mut self.conn, &self.sums, &self.damaged)
    }

    pub(super) fn load(&mut self, id: ActionId) -> Result<Option<Record>, StoreError> {
        const DOING: &str = "loading an action";
        self.at_once(DOING, |conn, sums, damaged| {
            noted(row::read_record(conn, sums, id, DOING), id, damaged)
        })
    }

    pub(super) fn find(
        &mut self,
        identity: factum_core::IdentityHash,
    ) -> Result<Option<Record>, StoreError> {
        const DOING: &str = "finding an action";
        self.at_once(DOING, |conn, sums, damaged| {
            let id = row::find(conn, identity).map_err(while_doing(DOING))?;
            let Some(id) = id else { return Ok(None) };
            let read = row::read_record(conn, sums, id, DOING).and_then(|record| match record {
                Some(record) if record.action.identity_hash == identity => Ok(Some(record)),
                Some(_) | None => {
                    let how = "the index of identities leads to it wrongly".to_owned();
                    Err(row::damaged(DOING, id, how))
                }
            });
            noted(read, id, damaged)
        })
    }

    pub(super) fn history(&mut self, id: ActionId) -> Result<Vec<Evidence>, StoreError> {
        const DOING: &str = "reading evidence";
        self.at_once(DOING, |conn, sums, damaged| {
            // The record is read too: it knows how many pieces of evidence there have to be.
            if noted(row::read_record(conn, sums, id, DOING), id, damaged)?.is_none() {
                return Ok(Vec::new());
            }
            row::read_evidence(conn, sums, id, DOING)
        })
    }

    /// Damaged actions are left out, and noted; the listing goes on behind them.
    pub(super) fn list(&mut self, filter: &Filter) -> Result<Vec<Record>, StoreError> {
        const DOING: &str = "listing actions";
        self.at_once(DOING, |conn, sums, damaged| {
            let mut records = Vec::new();
            let mut before = filter.before;
            loop {
                let wanted = filter.limit - records.len();
                let ids = listed(conn, filter, before, wanted).map_err(while_doing(DOING))?;
                for id in &ids {
                    let read = row::read_record(conn, sums, *id, DOING);
                    if let Some(record) = unless_damaged(noted(read, *id, damaged))? {
                        records.push(record);
                    }
                }
                if ids.len() < wanted || records.len() == filter.limit {
                    return Ok(records);
                }
                before = ids.last().copied();
            }
        })
    }

    /// Damaged rows are left out, and noted; the listing goes on behind them.
    pub(super) fn due(
        &mut self,
        after: Option<(Timestamp, ActionId)>,
        limit: usize,
    ) -> Result<Vec<Due>, StoreError> {
        self.due_pages(
            "listing what is due",
            after,
            limit,
            |conn, after, wanted| {
                let sql = include_str!("sql/standing_due.sql");
                let statement = conn.prepare_cached(sql)?;
                let (at, id) = after;
                Ok((
                    statement,
                    vec![Box::new(at), Box::new(id), Box::new(wanted)],
                ))
            },
        )
    }

    /// The same for what waits for workers at a destination.
    pub(super) fn for_workers(
        &mut self,
        destination: &str,
        after: Option<(Timestamp, ActionId)>,
        limit: usize,
    ) -> Result<Vec<Due>, StoreError> {
        const DOING: &str = "listing what waits for workers";
        let place = destination.to_owned();
        self.due_pages(DOING, after, limit, |conn, after, wanted| {
            let sql = include_str!("sql/standing_for_workers.sql");
            let statement = conn.prepare_cached(sql)?;
            let (at, id) = after;
            let place = Box::new(place.clone());
            Ok((
                statement,
                vec![place, Box::new(at), Box::new(id), Box::new(wanted)],
            ))
        })
    }

    fn due_pages(
        &mut self,
        doing: &'static str,
        after: Option<(Timestamp, ActionId)>,
        limit: usize,
        page: impl for<'c> Fn(&'c Connection, After, i64) -> rusqlite::Result<Page<'c>>,
    ) -> Result<Vec<Due>, StoreError> {
        self.at_once(doing, |conn, sums, damaged| {
            let mut due = Vec::new();
            let mut after = after.map_or((i64::MIN, [0; 16]), |(at, id)| {
                (at.as_micros(), id.to_bytes())
            });
            loop {
                let wanted = limit - due.len();
                let seen = page(conn, after, row::signed(row::count(wanted)))
                    .and_then(|page| due_rows(page, sums, damaged, &mut due))
                    .map_err(while_doing(doing))?;
                match seen.last {
                    Some(last) if seen.rows == wanted && due.len() < limit => after = last,
                    Some(_) | None => return Ok(due),
                }
            }
        })
    }

    pub(super) fn counts(&mut self) -> Result<BTreeMap<(String, String), u64>, StoreError> {
        let sql = while_doing("counting actions");
        let mut statement = self
            .conn
            .prepare_cached(include_str!("sql/standing_counts.sql"))
            .map_err(&sql)?;
        let rows = statement
            .query_map([], |row| {
                Ok(((row.get(0)?, row.get(1)?), row::unsigned(row, 2)?))
            })
            .map_err(&sql)?;
        rows.collect::<Result<_, _>>().map_err(sql)
    }

    /// Anything small that needs one connection.
    pub(super) fn plain<T>(
        &mut self,
        doing: &'static str,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        read(&self.conn).map_err(|error| failed(doing, &error))
    }
}

/// What one round over the due rows came to.
struct Seen {
    rows: usize,
    last: Option<After>,
}

/// Behind which row a page begins.
type After = (i64, [u8; 16]);

/// A statement for a page of rows of `standing`, with its values.
type Page<'c> = (rusqlite::CachedStatement<'c>, Vec<Box<dyn rusqlite::ToSql>>);

fn due_rows(
    (mut statement, values): Page<'_>,
    sums: &Sums,
    damaged: &Damaged,
    due: &mut Vec<Due>,
) -> rusqlite::Result<Seen> {
    let mut rows = statement.query(rusqlite::params_from_iter(values))?;
    let mut seen = Seen {
        rows: 0,
        last: None,
    };
    while let Some(read) = rows.next()? {
        seen.rows += 1;
        seen.last = Some((read.get(7)?, read.get(1)?));
        match row::standing(sums, read)? {
            Ok(standing) => due.extend(standing.next.at.map(|at| Due {
                at,
                action: standing.id,
                destination: standing.destination,
            })),
            Err(how) => note(damaged, ActionId::from_bytes(read.get(1)?), how),
        }
    }
    Ok(seen)
}

/// See [`crate::Store::who_waits`].
pub(super) fn who_waits(conn: &Connection, destination: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = conn.prepare_cached(include_str!("sql/standing_waits.sql"))?;
    let rows = statement.query_map(params![destination], |row| row.get(0))?;
    rows.collect()
}

/// Which statement lists by this filter: the one with the narrowest index.
pub(super) fn list_statement(filter: &Filter) -> &'static str {
    match filter {
        Filter { key: Some(_), .. } => include_str!("sql/list_by_name.sql"),
        Filter {
            conversation: Some(_),
            ..
        } => include_str!("sql/list_by_conversation.sql"),
        Filter {
            next: Some(next), ..
        } if next == "review" => include_str!("sql/list_review.sql"),
        Filter { state: Some(_), .. } => include_str!("sql/list_by_state.sql"),
        Filter { .. } => include_str!("sql/list_newest.sql"),
    }
}

fn listed(
    conn: &Connection,
    filter: &Filter,
    before: Option<ActionId>,
    limit: usize,
) -> rusqlite::Result<Vec<ActionId>> {
    /// Behind every id: 17 bytes sort after any 16.
    const BEHIND_ALL: [u8; 17] = [0xff; 17];
    let before = before.map_or(BEHIND_ALL.to_vec(), |id| id.to_bytes().to_vec());
    let mut statement = conn.prepare_cached(list_statement(filter))?;
    let rows = statement.query_map(
        params![
            row::signed(row::count(limit)),
            before,
            filter.tenant,
            filter.key,
            filter.state.map(State::name),
            filter.next,
            filter.destination,
            filter.conversation,
        ],
        |row| row.get(0).map(ActionId::from_bytes),
    )?;
    rows.collect()
}

/// Remembers that an action is damaged.
pub(super) fn note(damaged: &Damaged, id: ActionId, how: String) {
    damaged
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(id, how);
}

/// Remembers damage for `doctor`, and passes the result on.
pub(super) fn noted<T>(
    result: Result<T, StoreError>,
    id: ActionId,
    damaged: &Damaged,
) -> Result<T, StoreError> {
    if let Err(error) = &result
        && let StoreErrorKind::Corrupt { how, .. } = &error.kind
    {
        note(damaged, id, how.clone());
    }
    result
}

/// A damaged row counts as absent in a listing; every other error stays one.
fn unless_damaged(
    result: Result<Option<Record>, StoreError>,
) -> Result<Option<Record>, StoreError> {
    match result {
        Err(error) if matches!(error.kind, StoreErrorKind::Corrupt { .. }) => Ok(None),
        other => other,
    }
}
