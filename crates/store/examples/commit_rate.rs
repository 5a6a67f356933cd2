//! Durable submissions per second through the SQLite store, at 16, 64 and 256 callers that each wait for their answer.
//!
//! `cargo run --release -p factum-store --example commit_rate [-- FOLDER [SECONDS]]`. The folder decides which disk is measured.

mod submission;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use factum_store::Store;
use factum_store::sqlite::{Options, SqliteStore, StoreKeys};

use submission::admission;

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
