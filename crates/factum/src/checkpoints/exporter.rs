//! Makes a checkpoint every so often, for as long as an engine runs.

use std::sync::Arc;
use std::time::Duration;

use factum_engine::{Code, Engine, Problem};
use factum_store::Store;
use tokio::task::JoinHandle;

use super::{Exported, Making, PAGE};
use crate::config::{CheckpointsConfig, Config};
use crate::signing::SigningKeys;

/// Never more often than this.
const LEAST: Duration = Duration::from_secs(1);

/// The task; it ends with this.
pub(crate) struct Exporter(Option<JoinHandle<()>>);

impl Exporter {
    /// Begins; where no folder is named there is no task.
    pub(crate) fn start(engine: &Engine, keys: &SigningKeys, config: &Config) -> Self {
        let config = &config.checkpoints;
        let run = || run(engine.store().clone(), keys.clone(), config.clone());
        Self(config.folder.is_some().then(|| tokio::spawn(run())))
    }

    /// Ends.
    pub(crate) fn stop(&self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        self.stop();
    }
}

async fn run(store: Arc<dyn Store>, keys: SigningKeys, config: CheckpointsConfig) {
    let mut times = tokio::time::interval(config.every.duration().max(LEAST));
    times.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        times.tick().await;
        match once(store.as_ref(), &keys, &config).await {
            Ok(Some(done)) => tracing::info!(
                number = done.number,
                actions = done.actions,
                "exported a checkpoint"
            ),
            Ok(None) => {}
            Err(problem) => {
                tracing::warn!(%problem, "could not export a checkpoint; it is tried again");
            }
        }
    }
}

async fn once(
    store: &dyn Store,
    keys: &SigningKeys,
    config: &CheckpointsConfig,
) -> Result<Option<Exported>, Problem> {
    let Some(folder) = &config.folder else {
        return Ok(None);
    };
    let (census, now) = (store.census().await?, store.now().await?);
    let folder = folder.clone();
    let mut making = on_files(move || Making::begin(&folder)).await?;
    let mut after = None;
    loop {
        let heads = store.heads(after, PAGE).await?;
        (making, after) = on_files(move || {
            let after = making.add(&heads)?;
            Ok((making, after))
        })
        .await?;
        if after.is_none() {
            let keys = keys.clone();
            let end = on_files(move || making.end(&keys, census, now));
            return end.await.map(Some);
        }
    }
}

/// Works on files where that holds up no task: they may lie on a slow disk, or on another machine's.
async fn on_files<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| {
            let rule = format!("making a checkpoint broke off: {error}");
            Err(Problem::new(
                Code::CheckpointFailed,
                "",
                rule,
                "see the log",
            ))
        })
}
