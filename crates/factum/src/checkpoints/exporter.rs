//! Makes a checkpoint every so often, for as long as an engine runs.

use std::sync::Arc;
use std::time::Duration;

use factum_engine::{Engine, Problem};
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
    let (mut making, mut after) = (Making::begin(folder)?, None);
    loop {
        after = making.add(&store.heads(after, PAGE).await?)?;
        if after.is_none() {
            return making.end(keys, census, now).map(Some);
        }
    }
}
