//! Looks after the keys of the seals while an engine runs: adopts a new one, seals every row anew with it, and lets go of those that are
//! to go. What it was at when the process ended it begins again at the next start.

use std::sync::Arc;
use std::time::Duration;

use factum_store::Store;
use tokio::task::JoinHandle;

use super::Custody;

/// How often the folder is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// The task; it ends with this.
pub(crate) struct Keeper {
    task: JoinHandle<()>,
}

impl Keeper {
    /// Begins to look after the keys of a store.
    pub(crate) fn start(store: Arc<dyn Store>, custody: Custody) -> Self {
        let task = tokio::spawn(async move {
            let mut looking = tokio::time::interval(LOOK_EVERY);
            looking.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                looking.tick().await;
                if let Err(problem) = custody.look_after(store.as_ref()).await {
                    tracing::warn!(%problem, "could not look after the keys of the seals; it is tried again");
                }
            }
        });
        Self { task }
    }

    /// Ends.
    pub(crate) fn stop(&self) {
        self.task.abort();
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.stop();
    }
}
