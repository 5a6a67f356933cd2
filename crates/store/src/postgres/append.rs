//! What is written on top of an action as it stood, of many actions in one statement.
//!
//! Whoever comes first is written at once. What queues up meanwhile goes together into the next statement, so that nothing waits
//! for company, and under load a commit is shared. The answer comes back row by row: what is not returned was not written (R26). A row
//! that the database refuses fails alone, because then each is written by itself; a lost answer is in doubt for each, and resolved
//! for each.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use factum_core::{Evidence, Fact, Timestamp};
use tokio::sync::oneshot;
use uuid::Uuid;

use super::bound::Value;
use super::pool::{Connections, Does, Unanswered};
use super::row::{count, lane, signed, uuid};
use crate::chain::Link;
use crate::meter::Meter;
use crate::notice::Topic;
use crate::record::Record;
use crate::shared::Fence;
use crate::{StoreError, StoreErrorKind};

/// Rows in one statement at the most.
const ROWS: usize = 256;

/// Statements of one line that are under way at once: while one waits for the disk, the next one is being worked on.
const UNDER_WAY: usize = 2;

/// Which rows may go into one statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flush {
    /// Those of all lanes: one server.
    #[default]
    All,
    /// Those of one lane: where lanes lie on several servers, a statement stays on one of them.
    Lane,
    /// None: each row has a statement of its own.
    Each,
}

/// New evidence of an action: itself, its texts and links as they are written, in one order, and what is news of it.
pub(super) struct Written {
    pub(super) evidence: Vec<Evidence>,
    pub(super) texts: Vec<String>,
    pub(super) links: Vec<Option<Link>>,
    pub(super) news: Vec<Topic>,
}

/// One action's new facts and next step, on top of a version, as columns.
pub(super) struct Append {
    lane: i16,
    id: Uuid,
    version: i64,
    records: i64,
    state: &'static str,
    closed: bool,
    step: String,
    due: Option<i64>,
    why: String,
    before: i64,
    at: i64,
    token: Option<i64>,
    under: Option<i64>,
    marks: bool,
    nos: Vec<i64>,
    kinds: Vec<&'static str>,
    facts: Vec<String>,
    links: Vec<Option<Vec<u8>>>,
    chain: Option<Vec<u8>>,
    names: Vec<Vec<u8>>,
    /// Of what is news: the tenant, the action, the topic.
    tenants: Vec<String>,
    abouts: Vec<String>,
    topics: Vec<&'static str>,
}

impl Append {
    /// What `written` holds on top of version `before`; with a claim, if that still holds.
    pub(super) fn of(
        record: &Record,
        before: u64,
        written: &Written,
        names: Vec<Vec<u8>>,
        at: Timestamp,
        fence: Option<Fence>,
    ) -> Self {
        let (id, status) = (record.id(), record.status());
        let Written {
            evidence,
            texts,
            links,
            news,
        } = written;
        let marks = evidence.iter().any(|one| is_mark(&one.fact));
        Self {
            lane: lane(id),
            id: uuid(id),
            version: signed(record.version),
            records: count(record.known.len()),
            state: status.state.name(),
            closed: status.closed.is_some(),
            step: record.next.step.clone(),
            due: record.next.at.map(Timestamp::as_micros),
            why: record.next.why.clone(),
            before: signed(before),
            at: at.as_micros(),
            token: fence.map(|fence| signed(fence.token)),
            under: fence
                .and_then(|fence| fence.under)
                .filter(|_| marks)
                .map(signed),
            marks,
            nos: evidence.iter().map(|one| signed(one.id.0)).collect(),
            kinds: evidence.iter().map(|one| one.fact.kind()).collect(),
            facts: texts.clone(),
            links: links.iter().map(|link| link.map(Vec::from)).collect(),
            chain: record.chain.map(Vec::from),
            names,
            tenants: vec![record.action.scope.tenant.clone(); news.len()],
            abouts: vec![id.to_string(); news.len()],
            topics: news.iter().map(|topic| topic.word()).collect(),
        }
    }

    /// In the order of the statements that write one action.
    pub(super) fn values(&self) -> [Value<'_>; 24] {
        [
            &self.lane,
            &self.id,
            &self.version,
            &self.records,
            &self.state,
            &self.closed,
            &self.step,
            &self.due,
            &self.why,
            &self.before,
            &self.at,
            &self.token,
            &self.at,
            &self.nos,
            &self.kinds,
            &self.facts,
            &self.names,
            &self.under,
            &self.marks,
            &self.tenants,
            &self.abouts,
            &self.topics,
            &self.links,
            &self.chain,
        ]
    }
}

/// A row that waits to be written, and who waits for its answer.
struct Waiting {
    doing: &'static str,
    row: Append,
    reply: oneshot::Sender<Result<bool, Unanswered>>,
}

/// Rows that may go together.
#[derive(Default)]
struct Line {
    waiting: VecDeque<Waiting>,
    under_way: usize,
}

/// Writes what queues up.
pub(super) struct Flusher {
    connections: Arc<Connections>,
    flush: Flush,
    lines: Mutex<BTreeMap<i16, Line>>,
    meter: Meter,
}

impl Flusher {
    pub(super) fn new(connections: Arc<Connections>, flush: Flush) -> Arc<Self> {
        Arc::new(Self {
            connections,
            flush,
            lines: Mutex::default(),
            meter: Meter::default(),
        })
    }

    /// What is counted about the rows that are written on top of an action. New actions have statements of their own.
    pub(super) fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Writes a row, alone or in company; false if its action is not at the version before, or its claim not held.
    pub(super) async fn append(
        self: &Arc<Self>,
        doing: &'static str,
        row: Append,
    ) -> Result<bool, Unanswered> {
        let line = match self.flush {
            Flush::All => 0,
            Flush::Lane => row.lane,
            Flush::Each => return self.one(doing, &row).await,
        };
        let (reply, answer) = oneshot::channel();
        if self.queue(line, Waiting { doing, row, reply }) {
            let this = Arc::clone(self);
            // Whoever waits may be dropped: the others' rows are written all the same.
            tokio::spawn(async move {
                while let Some(rows) = this.take(line) {
                    this.write(rows).await;
                }
            });
        }
        answer.await.unwrap_or_else(|_| {
            let text = "this process ends".to_owned();
            Err(StoreError::new(doing, StoreErrorKind::InDoubt(text)).into())
        })
    }

    fn lines(&self) -> MutexGuard<'_, BTreeMap<i16, Line>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether somebody has to begin writing.
    fn queue(&self, line: i16, waiting: Waiting) -> bool {
        let mut lines = self.lines();
        let line = lines.entry(line).or_default();
        line.waiting.push_back(waiting);
        let begins = line.under_way < UNDER_WAY;
        if begins {
            line.under_way += 1;
        }
        begins
    }

    /// What has queued up, in its order; of each action one row. `None` once there is nothing more.
    fn take(&self, number: i16) -> Option<Vec<Waiting>> {
        let mut lines = self.lines();
        let line = lines.get_mut(&number)?;
        let (mut taken, mut left, mut ids) = (Vec::new(), VecDeque::new(), BTreeSet::new());
        for waiting in line.waiting.drain(..) {
            if taken.len() < ROWS && ids.insert(waiting.row.id) {
                taken.push(waiting);
            } else {
                left.push_back(waiting);
            }
        }
        line.waiting = left;
        if !taken.is_empty() {
            return Some(taken);
        }
        line.under_way -= 1;
        if line.under_way == 0 {
            lines.remove(&number);
        }
        None
    }

    async fn write(&self, rows: Vec<Waiting>) {
        let began = Instant::now();
        let together = match rows.as_slice() {
            [_, _, ..] => Some(self.many(&rows).await),
            _ => None,
        };
        match together {
            Some(Ok(written)) => {
                self.meter.wrote(rows.len(), began.elapsed(), true);
                for one in rows {
                    let is_written = written.contains(&one.row.id);
                    let _ = one.reply.send(Ok(is_written));
                }
            }
            // Nothing was written, because of one of them: each is written by itself.
            Some(Err(unanswered)) if unanswered.was_refused() => self.each(rows).await,
            Some(Err(unanswered)) => {
                self.meter.wrote(rows.len(), began.elapsed(), false);
                for one in rows {
                    let _ = one.reply.send(Err(unanswered.clone()));
                }
            }
            None => self.each(rows).await,
        }
    }

    async fn each(&self, rows: Vec<Waiting>) {
        for one in rows {
            let began = Instant::now();
            let answer = self.one(one.doing, &one.row).await;
            self.meter.wrote(1, began.elapsed(), answer.is_ok());
            // Nobody may wait for it any more.
            let _ = one.reply.send(answer);
        }
    }

    async fn one(&self, doing: &'static str, row: &Append) -> Result<bool, Unanswered> {
        let sql = include_str!("sql/standing_append.sql");
        let rows = self
            .connections
            .rows(doing, Does::Writes, sql, &row.values())
            .await?;
        Ok(!rows.is_empty())
    }

    /// The ids of those that were written.
    async fn many(&self, rows: &[Waiting]) -> Result<BTreeSet<Uuid>, Unanswered> {
        fn all<T>(rows: &[Waiting], of: impl Fn(&Append) -> T) -> Vec<T> {
            rows.iter().map(|one| of(&one.row)).collect()
        }
        let lanes: BTreeSet<i16> = rows.iter().map(|one| one.row.lane).collect();
        let logged = || {
            rows.iter()
                .flat_map(|one| one.row.nos.iter().map(|_| &one.row))
        };
        let named = || {
            rows.iter()
                .flat_map(|one| one.row.names.iter().map(|_| &one.row))
        };
        let told = || {
            rows.iter()
                .flat_map(|one| one.row.topics.iter().map(|_| &one.row))
        };
        let values: [Value<'_>; 31] = [
            &lanes.into_iter().collect::<Vec<_>>(),
            &all(rows, |row| row.lane),
            &all(rows, |row| row.id),
            &all(rows, |row| row.version),
            &all(rows, |row| row.records),
            &all(rows, |row| row.state),
            &all(rows, |row| row.closed),
            &all(rows, |row| row.step.clone()),
            &all(rows, |row| row.due),
            &all(rows, |row| row.why.clone()),
            &all(rows, |row| row.before),
            &all(rows, |row| row.at),
            &all(rows, |row| row.token),
            &all(rows, |row| row.under),
            &all(rows, |row| row.marks),
            &logged().map(|row| row.lane).collect::<Vec<_>>(),
            &logged().map(|row| row.id).collect::<Vec<_>>(),
            &logged().map(|row| row.at).collect::<Vec<_>>(),
            &all(rows, |row| row.nos.clone()).concat(),
            &all(rows, |row| row.kinds.clone()).concat(),
            &all(rows, |row| row.facts.clone()).concat(),
            &named().map(|row| row.lane).collect::<Vec<_>>(),
            &named().map(|row| row.id).collect::<Vec<_>>(),
            &all(rows, |row| row.names.clone()).concat(),
            &told().map(|row| row.lane).collect::<Vec<_>>(),
            &told().map(|row| row.id).collect::<Vec<_>>(),
            &all(rows, |row| row.tenants.clone()).concat(),
            &all(rows, |row| row.abouts.clone()).concat(),
            &all(rows, |row| row.topics.clone()).concat(),
            &all(rows, |row| row.links.clone()).concat(),
            &all(rows, |row| row.chain.clone()),
        ];
        let doing = rows.first().map_or("writing decisions", |one| one.doing);
        let sql = include_str!("sql/standing_append_many.sql");
        let written = self
            .connections
            .rows(doing, Does::Writes, sql, &values)
            .await?;
        Ok(written.iter().map(|row| row.get(0)).collect())
    }
}

/// Whether a mark is among these: then a doubt about them is no leave to write.
pub(super) fn marks(evidence: &[Evidence]) -> bool {
    evidence.iter().any(|one| is_mark(&one.fact))
}

pub(super) fn is_mark(fact: &Fact) -> bool {
    matches!(fact, Fact::Marked(_) | Fact::CancelMarked(_))
}
