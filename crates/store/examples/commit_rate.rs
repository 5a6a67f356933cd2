//! Durable submissions per second through the SQLite store, at 16, 64 and 256 callers that each wait for their answer.
//!
//! `cargo run --release -p factum-store --example commit_rate [-- FOLDER [SECONDS]]`. The folder decides which disk is measured.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use factum_core::promise::{Consequence, Promises};
use factum_core::{
    ActionId, Fingerprint, Identity, IdentityHash, Intent, Limits, Preference, Scope, Timestamp,
};
use factum_store::sqlite::{Options, SqliteStore, StoreKeys};
use factum_store::{Action, Admission, Content, NextRow, Store};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let place = arguments.next().map(PathBuf::from);
    let seconds = arguments.next().map_or(Ok(5), |text| text.parse())?;
    let folder = match &place {
        Some(place) => tempfile::tempdir_in(place)?,
        None => tempfile::tempdir()?,
    };
    for callers in [1, 16, 64, 256] {
        let line = measure(folder.path(), callers, Duration::from_secs(seconds)).await?;
        write(&line)?;
    }
    Ok(())
}

fn write(line: &str) -> std::io::Result<()> {
    use std::io::Write;
    writeln!(std::io::stdout().lock(), "{line}")
}

async fn measure(
    folder: &Path,
    callers: u64,
    time: Duration,
) -> Result<String, Box<dyn std::error::Error>> {
    let path = folder.join(format!("with-{callers}")).join("factum.db");
    let store = Arc::new(SqliteStore::open(Options::new(path, StoreKeys([7; 32])))?.store);
    let next = Arc::new(AtomicU64::new(0));
    let before = store.commits();
    let begun = Instant::now();
    let mut running = Vec::new();
    for _ in 0..callers {
        let (store, next) = (Arc::clone(&store), Arc::clone(&next));
        running.push(tokio::spawn(async move {
            let mut done = 0u64;
            while begun.elapsed() < time {
                let n = next.fetch_add(1, Ordering::Relaxed);
                store.admit(admission(n)).await?;
                done += 1;
            }
            Ok::<u64, factum_store::StoreError>(done)
        }));
    }
    let mut rows = 0;
    for caller in running {
        rows += caller.await??;
    }
    let taken = begun.elapsed();
    let commits = store.commits() - before;
    store.close().await?;
    let per_second = u128::from(rows) * 1_000 / taken.as_millis().max(1);
    Ok(format!(
        "{callers:>4} callers: {per_second:>7} submissions/s, {} per commit",
        rows / commits.max(1)
    ))
}

fn admission(n: u64) -> Admission {
    let key = format!("order-{n}");
    let identity_hash = IdentityHash(*blake3::hash(key.as_bytes()).as_bytes());
    let at = Timestamp::from_micros(1_764_400_000_000_000);
    Admission {
        action: Action {
            intent: Intent {
                action: ActionId::new(at, identity_hash.lane(), n),
                submitted_at: at,
                intent_at: None,
                not_before: None,
                deadline: None,
                approved_until: None,
                finish: false,
                preference: Preference::Ask,
                limits: Limits::default(),
                promises: Promises::none(Consequence::Costly),
            },
            scope: Scope {
                tenant: "default".to_owned(),
                principal: "user:ana".to_owned(),
                destination: "helpdesk".to_owned(),
                operation: "ticket.create".to_owned(),
            },
            identity: Identity::Key(key),
            identity_hash,
            fingerprint: Fingerprint([1; 32]),
            members: Default::default(),
            content: Content {
                contract: [2; 32],
                params: "{}".to_owned(),
                payload: format!("{{\"text\":\"{}\"}}", "x".repeat(480)),
                summary: None,
                subject: None,
                conversation: None,
                trace: None,
                place: None,
            },
        },
        facts: Vec::new(),
        next: NextRow {
            step: "send".to_owned(),
            at: Some(at),
            why: "recorded and not sent yet".to_owned(),
        },
        names: Vec::new(),
        claim_for: None,
    }
}
