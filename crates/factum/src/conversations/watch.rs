//! Notices, while an engine runs, that evidence contradicts what was told, and that a promised answer is late.
//!
//! Whatever it misses because a process dies is noticed at the next start, and whenever the conversation is read.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use factum_engine::{About, Engine, Problem};
use factum_store::{EntryFilter, Kind};
use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinHandle;

use super::Conversations;
use super::keep::named;
use super::late::{Known, escalate};
use crate::teller::Teller;

/// How often late answers are looked for.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// Entries that are looked through at once.
const PAGE: usize = 200;

/// The task; it ends with this.
pub(crate) struct Watch {
    task: JoinHandle<()>,
    /// Whether anything was ever told: until then, changes need no second look.
    told: Arc<AtomicBool>,
}

impl Watch {
    /// Begins to watch an engine.
    pub(crate) fn start(engine: Arc<Engine>, teller: Arc<Teller>) -> Self {
        let told = Arc::new(AtomicBool::new(false));
        let task = tokio::spawn(run(engine, teller, told.clone()));
        Self { task, told }
    }

    /// Something is told from now on.
    pub(crate) fn begins(&self) {
        self.told.store(true, Ordering::Relaxed);
    }

    /// Ends.
    pub(crate) fn stop(&self) {
        self.task.abort();
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop();
    }
}

async fn run(engine: Arc<Engine>, teller: Arc<Teller>, told: Arc<AtomicBool>) {
    let conversations = Conversations::new(&engine, &teller);
    // Subscribed before what there is is looked through, so that nothing falls between.
    let mut changes = engine.changes();
    let mut looking = tokio::time::interval(LOOK_EVERY);
    looking.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let (mut all, mut late) = (true, Known::new());
    loop {
        let done = tokio::select! {
            change = changes.recv() => match change {
                Ok(change) if change.about == About::Standing && told.load(Ordering::Relaxed) => {
                    conversations.notice(change.action).await
                }
                Ok(_) => Ok(()),
                Err(RecvError::Lagged(_)) => {
                    all = true;
                    Ok(())
                }
                Err(RecvError::Closed) => return,
            },
            _ = looking.tick() => look(&engine, &teller, &told, (&mut all, &mut late)).await,
        };
        if let Err(problem) = done {
            all = true;
            tracing::warn!(%problem, "could not look after what conversations were told; it is tried again");
        }
    }
}

async fn look(
    engine: &Engine,
    teller: &Teller,
    told: &AtomicBool,
    (all, late): (&mut bool, &mut Known),
) -> Result<(), Problem> {
    if teller.contacts.promise() {
        escalate(engine, teller, late).await?;
    }
    if !told.load(Ordering::Relaxed) && !any(engine).await? {
        return Ok(());
    }
    // Another worker on the same store may have been the first to tell something.
    *all |= !told.swap(true, Ordering::Relaxed);
    if *all {
        look_through(engine, teller).await?;
        *all = false;
    }
    Ok(())
}

async fn any(engine: &Engine) -> Result<bool, Problem> {
    let first = EntryFilter {
        limit: 1,
        ..EntryFilter::of(Kind::Told)
    };
    Ok(!engine.store().entries(first).await?.is_empty())
}

/// Each action that anybody was told of.
async fn look_through(engine: &Engine, teller: &Teller) -> Result<(), Problem> {
    let conversations = Conversations::new(engine, teller);
    let mut after = None;
    loop {
        let page = EntryFilter {
            after,
            limit: PAGE,
            ..EntryFilter::of(Kind::Told)
        };
        let entries = engine.store().entries(page).await?;
        let mut last = None;
        for entry in &entries {
            let (action, _) = named(&entry.key.id)?;
            if last.replace(action) != Some(action) {
                conversations.notice(action).await?;
            }
        }
        after = entries
            .last()
            .map(|entry| (entry.key.tenant.clone(), entry.key.id.clone()));
        if entries.len() < PAGE {
            return Ok(());
        }
    }
}
