//! Actions per second through the PostgreSQL store, each submitted with its first mark and then settled: two durable commits.
//!
//! `cargo run --release -p factum-store --features postgres --example postgres_rate -- SERVER [SECONDS]`. SERVER is
//! `postgresql://user@host:port`; a database is made there and left. Three ways take turns, so that whatever else the machine does hits
//! all: outcomes that share a statement, each in a statement of its own, and shared ones in statements without a name. Only ratios
//! within one run mean anything.

mod submission;

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, UNIX_EPOCH};

use factum_core::evidence::{Mark, PermissionKind};
use factum_core::{AttemptNo, Epoch, Fact, Limits, Span, Timestamp, WorkerNonce};
use factum_store::postgres::{Flush, Options, PostgresStore, StoreKeys};
use factum_store::{Admission, Admitted, Committed, NextRow, Store};

use submission::admission;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Callers that each wait for their answer.
const CALLERS: [u64; 4] = [1, 16, 64, 256];
const WORKER: WorkerNonce = WorkerNonce(1);
/// Rounds of each way.
const ROUNDS: usize = 3;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let server = arguments.next().ok_or("name a server")?;
    let seconds = arguments.next().map_or(Ok(2), |text| text.parse())?;
    let since = UNIX_EPOCH.elapsed()?.as_micros();
    let name = format!("rate_{since}");
    let (client, connection) =
        tokio_postgres::connect(&format!("{server}/postgres"), tokio_postgres::NoTls).await?;
    tokio::spawn(connection);
    client
        .batch_execute(&format!("CREATE DATABASE {name}"))
        .await?;
    let url = format!("{server}/{name}");
    let next = Arc::new(AtomicU64::new(0));
    let open = |flush, prepared| {
        PostgresStore::open(Options {
            flush,
            prepared: Some(prepared),
            ..Options::new(url.clone(), StoreKeys([7; 32]))
        })
    };
    let stores = [
        Arc::new(open(Flush::All, true).await?),
        Arc::new(open(Flush::Each, true).await?),
        Arc::new(open(Flush::All, false).await?),
    ];
    for callers in CALLERS {
        let mut done = [0u64; 3];
        for _ in 0..ROUNDS {
            for (store, done) in stores.iter().zip(&mut done) {
                *done += measure(store, &next, callers, Duration::from_secs(seconds)).await?;
            }
        }
        let per_second = |done: u64| done / (seconds * ROUNDS as u64).max(1);
        let [shared, alone, unnamed] = done.map(per_second);
        let percent = |of: u64| of * 100 / shared.max(1);
        writeln!(
            std::io::stdout().lock(),
            "{callers:>4} callers: {shared:>6} actions/s in shared statements; {} % of that with one each, {} % without names",
            percent(alone),
            percent(unnamed),
        )?;
    }
    Ok(())
}

/// How many actions were carried from their submission to their outcome.
async fn measure(
    store: &Arc<PostgresStore>,
    next: &Arc<AtomicU64>,
    callers: u64,
    time: Duration,
) -> Result<u64, Failure> {
    let begun = Instant::now();
    let mut running = Vec::new();
    for _ in 0..callers {
        let (store, next) = (Arc::clone(store), Arc::clone(next));
        running.push(tokio::spawn(async move {
            let mut done = 0u64;
            while begun.elapsed() < time {
                carry(&store, next.fetch_add(1, Ordering::Relaxed)).await?;
                done += 1;
            }
            Ok::<u64, Failure>(done)
        }));
    }
    let mut done = 0;
    for caller in running {
        done += caller.await??;
    }
    Ok(done)
}

/// One action: recorded, claimed and marked in one commit, settled in another.
async fn carry(store: &PostgresStore, n: u64) -> Result<(), Failure> {
    let until = Span::from_secs(60);
    let wish = admission(n);
    let at = wish.action.intent.submitted_at;
    let wish = Admission {
        facts: vec![marked(at)],
        claim_for: Some((WORKER, until)),
        ..wish
    };
    let Admitted::Created(_, Some(claim)) = store.admit(wish).await? else {
        return Err("it is new and free".into());
    };
    let facts = vec![Fact::Noted {
        text: "answered".to_owned(),
    }];
    let next = NextRow {
        step: "wait".to_owned(),
        at: Some(at),
        why: "measured".to_owned(),
    };
    match store.commit(&claim, facts, next).await? {
        Committed::Durable(_) => Ok(()),
        Committed::Stale => Err("nobody else writes to it".into()),
    }
}

fn marked(at: Timestamp) -> Fact {
    Fact::Marked(Mark {
        attempt: AttemptNo(1),
        epoch: Epoch(0),
        permission: PermissionKind::First,
        worker: WORKER,
        at,
        valid_until: at + Span::from_secs(5),
        lease_until: at + Span::from_secs(50),
        bound: Limits::default().bound,
    })
}
