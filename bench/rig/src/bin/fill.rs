//! Fills a store with many actions, through the store's own API: each is a copy of one that a server really carried out.
//!
//! The server must have been stopped, and its last action at the destination have succeeded. The copies are sealed and chained like any
//! other, under the keys of the data folder, so that a server that is started on it joins, carries out and purges them. Prints one line
//! of JSON.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::{Parser, ValueEnum};
use factum::config::Seal;
use factum::home::Home;
use factum::seal_keys::Custody;
use factum_core::evidence::{Answer, Loss, Mark, Phase};
use factum_core::identity::Identity;
use factum_core::{ActionId, Fact, Span, State, Timestamp};
use factum_engine::Keys;
use factum_store::sqlite::{Options as SqliteOptions, SqliteStore, StoreKeys};
use factum_store::{Action, Admission, Admitted, Filter, NextRow, Store};
use serde_json::json;

/// Admissions that are on their way to the store at once: enough to fill its batches.
const AT_ONCE: u64 = 512;

/// Copies the newest action of an operation that succeeded.
#[derive(Parser)]
struct Options {
    /// The data folder of a server that was stopped.
    #[arg(long)]
    data: PathBuf,
    /// How many.
    #[arg(long)]
    count: u64,
    /// How they stand.
    #[arg(long, value_enum)]
    stands: Stands,
    /// Begins each key; the number follows.
    #[arg(long)]
    prefix: String,
    /// The destination whose action is copied.
    #[arg(long, default_value = "sink")]
    destination: String,
    /// The operation whose action is copied.
    #[arg(long, default_value = "effect.perform")]
    operation: String,
    /// They go round so many tenants: t0, t1, …; with 1, all are the default tenant's.
    #[arg(long, default_value_t = 1)]
    tenants: u64,
    /// How long ago they were marked, in seconds.
    #[arg(long, default_value_t = 0)]
    marked_ago: i64,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Stands {
    /// Done, with the receipt of the one that is copied.
    Settled,
    /// Recorded and due, not sent.
    Pending,
    /// Sent, and the answer lost: due.
    Unknown,
}

/// What is copied, and what it is copied with.
struct Plan {
    keys: Keys,
    action: Action,
    mark: Mark,
    answer: Answer,
    options: Options,
    begins: Timestamp,
    next: AtomicU64,
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<()> {
    let options = Options::parse();
    if options.tenants == 0 {
        bail!("--tenants: at least 1");
    }
    let path = options.data.join("factum.db");
    let home = Home::at(&options.data);
    let keys = home.keys(&path).map_err(|problem| told(&problem))?;
    let custody = Custody::of(&home, Seal::On).map_err(|problem| told(&problem))?;
    let opened = SqliteStore::open(SqliteOptions {
        seals: custody.seals(),
        ..SqliteOptions::new(&path, StoreKeys(keys.checksum()))
    })?;
    let store = Arc::new(opened.store);
    let count = options.count;
    let plan = Arc::new(Plan::of(store.as_ref(), keys, options).await?);
    let began = Instant::now();
    let tasks: Vec<_> = (0..AT_ONCE.min(count))
        .map(|_| tokio::spawn(fill(Arc::clone(&plan), Arc::clone(&store))))
        .collect();
    for task in tasks {
        task.await??;
    }
    let seconds = began.elapsed().as_secs_f64();
    store.close().await?;
    report(count, seconds);
    Ok(())
}

fn told(problem: &factum_engine::Problem) -> anyhow::Error {
    anyhow::anyhow!("{}: {}", problem.member, problem.rule)
}

impl Plan {
    async fn of(store: &SqliteStore, keys: Keys, options: Options) -> Result<Self> {
        let filter = Filter {
            destination: Some(options.destination.clone()),
            state: Some(State::Succeeded),
            limit: 100,
            ..Filter::default()
        };
        let mut found = store.list(filter).await?.into_iter();
        let record = found.find(|record| record.action.scope.operation == options.operation);
        let record = record.context("no action of this operation has succeeded there lately")?;
        let (mut mark, mut answer) = (None, None);
        for evidence in store.history(record.id()).await? {
            match evidence.fact {
                Fact::Marked(found) => mark = Some(found),
                Fact::Answered(found) => answer = Some(found),
                _ => {}
            }
        }
        Ok(Self {
            keys,
            action: Arc::unwrap_or_clone(record.action),
            mark: mark.context("the action has no mark")?,
            answer: answer.context("the action has no answer")?,
            begins: store.now().await?,
            options,
            next: AtomicU64::new(0),
        })
    }

    /// The admission of the n-th copy.
    fn admission(&self, n: u64) -> Admission {
        let at = self.begins - Span::from_secs(self.options.marked_ago);
        let action = self.copy(n, at);
        let (facts, next) = match self.options.stands {
            Stands::Settled => (vec![self.marked(at), self.answered(at)], none()),
            Stands::Pending => (Vec::new(), due("send", self.begins)),
            Stands::Unknown => (
                vec![self.marked(at), self.lost(at)],
                due("look_up", self.begins),
            ),
        };
        Admission {
            action,
            facts,
            next,
            names: Vec::new(),
            claim_for: None,
            under: None,
            entries: Vec::new(),
            oldest: None,
            twins: None,
        }
    }

    fn copy(&self, n: u64, at: Timestamp) -> Action {
        let mut action = self.action.clone();
        let identity = Identity::Key(format!("{}-{n}", self.options.prefix));
        if self.options.tenants > 1 {
            action.scope.tenant = format!("t{}", n % self.options.tenants);
        }
        action.identity_hash = self.keys.identity(&action.scope, &identity);
        action.identity = identity;
        action.intent.submitted_at = at;
        // Some in each millisecond, so that ten million of them are not made in the future.
        let made = at + Span::from_millis(i64::try_from(n / 64).unwrap_or(0));
        let random = u64::from_be_bytes(first_eight(&action.identity_hash.0));
        action.intent.action = ActionId::new(made, action.identity_hash.lane(), random);
        action
    }

    fn marked(&self, at: Timestamp) -> Fact {
        let mark = &self.mark;
        Fact::Marked(Mark {
            at,
            valid_until: at + (mark.valid_until.since(mark.at)),
            lease_until: at + (mark.lease_until.since(mark.at)),
            ..mark.clone()
        })
    }

    fn answered(&self, at: Timestamp) -> Fact {
        Fact::Answered(Answer {
            read_at: at,
            ..self.answer.clone()
        })
    }

    fn lost(&self, at: Timestamp) -> Fact {
        Fact::Lost(Loss {
            attempt: self.mark.attempt,
            phase: Phase::Head,
            wrote: 512,
            read: 0,
            closed_at: Some(at),
            detail: "the filler says that the answer was lost".to_owned(),
        })
    }
}

fn first_eight(hash: &[u8; 32]) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&hash[8..16]);
    bytes
}

fn none() -> NextRow {
    NextRow {
        step: "none".to_owned(),
        at: None,
        why: String::new(),
    }
}

fn due(step: &str, at: Timestamp) -> NextRow {
    NextRow {
        step: step.to_owned(),
        at: Some(at),
        why: "filled".to_owned(),
    }
}

async fn fill(plan: Arc<Plan>, store: Arc<SqliteStore>) -> Result<()> {
    loop {
        let n = plan.next.fetch_add(1, Ordering::Relaxed);
        if n >= plan.options.count {
            return Ok(());
        }
        match store.admit(plan.admission(n)).await? {
            Admitted::Created(..) => {}
            other => bail!("the copy {n} is not new: {other:?}"),
        }
    }
}

#[expect(clippy::print_stdout, reason = "the line is what the program is for")]
fn report(count: u64, seconds: f64) {
    println!("{}", json!({ "count": count, "seconds": seconds }));
}
