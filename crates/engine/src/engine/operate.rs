//! What operators decide: holding sends, and life after a restore.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use factum_core::{Conditions, Next, Step, Timestamp, decide};
use factum_store::{Record, Restore, Store};
use tokio::sync::oneshot;

use super::{Engine, PAUSED};
use crate::driver::Event;
use crate::driver::queues::Queue;
use crate::metrics::Metrics;
use crate::metrics::standing::Look;
use crate::problem::{Code, Problem};
use crate::recover;
use crate::shell::Message;

/// Due rows that are read at once, and in all, to see what would be sent.
const BATCH: usize = 500;
const READ_MAX: usize = 100_000;

/// The setting that is written to see that the store can be.
const WRITTEN: &str = "written_at";

/// What was written within this needs not be tried.
const WRITTEN_REST: Duration = Duration::from_secs(5);

/// The loop answers within this, whatever it has to do; else something is wrong with it.
const LOOP_WAIT: Duration = Duration::from_secs(2);

impl Engine {
    /// What this process counts.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.shared.metrics
    }

    /// What stands in the store, as of a moment ago: see [`crate::metrics::standing`].
    ///
    /// # Errors
    /// [`Problem`] if the store cannot be read.
    pub async fn standing(&self) -> Result<Arc<Look>, Problem> {
        Ok(self.standing.look(self).await?)
    }

    /// How the queues of this process stand, by destination; `None` where the engine's loop does not answer, because it has ended or
    /// stands still.
    pub async fn queues(&self) -> Option<BTreeMap<String, Queue>> {
        let (reply, answer) = oneshot::channel();
        let asked = async {
            self.messages.send(Message::Queues(reply)).await.ok()?;
            answer.await.ok()
        };
        tokio::time::timeout(LOOP_WAIT, asked).await.ok().flatten()
    }

    /// Whether the store can be written: tried at most every few seconds, and remembered meanwhile.
    ///
    /// # Errors
    /// [`Problem`] if it cannot, as of the last try.
    pub async fn check_writable(&self) -> Result<(), Problem> {
        let mut last = self.written.lock().await;
        if last.is_some_and(|at| at.elapsed() < WRITTEN_REST) {
            return Ok(());
        }
        let now = self.now().as_micros().to_string();
        (self.shared.store).set_setting(WRITTEN, Some(now)).await?;
        *last = Some(Instant::now());
        Ok(())
    }

    /// Whether the clock stepped, and no destination's time has agreed since.
    #[must_use]
    pub fn clock_in_doubt(&self) -> bool {
        self.shared.clock_in_doubt.load(Ordering::Relaxed)
    }

    /// Holds all sends, or lets them go on; lookups go on meanwhile. Kept over restarts.
    ///
    /// # Errors
    /// [`Problem`] if the store cannot be written.
    pub async fn set_paused(&self, paused: bool, by: &str) -> Result<(), Problem> {
        self.shared
            .store
            .set_setting(PAUSED, paused.then(|| by.to_owned()))
            .await?;
        self.shared.paused.store(paused, Ordering::Relaxed);
        self.tell(Event::Paused(paused)).await;
        Ok(())
    }

    /// Who holds all sends, if somebody does.
    ///
    /// # Errors
    /// [`Problem`] if the store cannot be read.
    pub async fn paused_by(&self) -> Result<Option<String>, Problem> {
        Ok(self.shared.store.setting(PAUSED).await?)
    }

    /// The last restore of the store from a copy.
    ///
    /// # Errors
    /// [`Problem`] if the store cannot be read.
    pub async fn restore(&self) -> Result<Option<Restore>, Problem> {
        Ok(self.shared.store.restore().await?)
    }

    /// Declares that the store came from a copy. Everything unsettled becomes maybe sent, and sends are held until
    /// [`Engine::release_restore`].
    ///
    /// # Errors
    /// [`Problem`] if the store cannot be written.
    pub async fn declare_restored(
        &self,
        copy_until: Option<Timestamp>,
    ) -> Result<Restore, Problem> {
        let restore = self.shared.store.declare_restored(copy_until).await?;
        self.hear_of(&restore).await;
        self.mark_maybe_sent(&restore).await?;
        Ok(restore)
    }

    /// A restore that somebody declared, or that the store noticed: sends are held until it is released.
    pub(super) async fn hear_of(&self, restore: &Restore) {
        if restore.released.is_none() && self.shared.restore_released.swap(false, Ordering::Relaxed)
        {
            self.tell(Event::RestoreReleased(false)).await;
        }
    }

    /// Everything unsettled is maybe sent, and looked at.
    async fn mark_maybe_sent(&self, restore: &Restore) -> Result<(), Problem> {
        for (action, destination) in
            recover::mark_maybe_sent(&self.shared, restore, |_| true).await?
        {
            self.tell(Event::Due {
                action,
                destination,
                at: restore.at,
            })
            .await;
        }
        Ok(())
    }

    /// Lets effect requests go on after a restore.
    ///
    /// # Errors
    /// [`Problem`] if the store cannot be written.
    pub async fn release_restore(&self, by: &str) -> Result<Option<Restore>, Problem> {
        // What another worker declared, or the store itself noticed, is recorded before anything of it may be sent.
        if let Some(restore) = self.shared.store.restore().await?
            && restore.released.is_none()
        {
            self.mark_maybe_sent(&restore).await?;
        }
        let restore = self.shared.store.release_restore(by.to_owned()).await?;
        self.shared.restore_released.store(true, Ordering::Relaxed);
        self.tell(Event::RestoreReleased(true)).await;
        Ok(restore)
    }

    /// Effect requests that would go out if nothing held them, soonest first: each action with the step as it would be decided
    /// then. `store` is where they are read, beside whatever hides due work from this engine. At most `limit`, and whether
    /// these are all.
    ///
    /// # Errors
    /// [`Problem`] if the store cannot be read.
    pub async fn would_send(
        &self,
        store: &dyn Store,
        limit: usize,
    ) -> Result<(Vec<(Record, Next)>, bool), Problem> {
        let (mut found, mut after, mut read) = (Vec::new(), None, 0);
        while read < READ_MAX && found.len() <= limit {
            let due = store.due(after, BATCH).await?;
            let Some(last) = due.last() else { break };
            after = Some((last.at, last.action));
            read += due.len();
            for row in due {
                if let Some(record) = store.load(row.action).await?
                    && let Some(next) = self.unheld(&record)
                {
                    found.push((record, next));
                }
            }
        }
        let complete = read < READ_MAX && found.len() <= limit;
        found.truncate(limit);
        Ok((found, complete))
    }

    /// The next step as it would be decided if nothing held it, where that is an effect request.
    fn unheld(&self, record: &Record) -> Option<Next> {
        let conditions = Conditions {
            restore_released: true,
            clock_in_doubt: false,
            account_in_doubt: false,
            ..self.conditions(record)
        };
        let next = decide(&record.action.intent, &record.known, &conditions);
        matches!(next.step, Step::Send(_) | Step::CancelByKey { .. }).then_some(next)
    }

    /// Confirms that the credential which a destination has now opens the pinned account (R13): a person's word.
    ///
    /// # Errors
    /// [`Code::UnknownDestination`], or [`Problem`] if the store cannot be written.
    pub async fn confirm_account(&self, destination: &str) -> Result<(), Problem> {
        if !self.shared.destinations.contains_key(destination) {
            let rule = format!("no destination {destination:?} is configured here");
            return Err(Problem::new(
                Code::UnknownDestination,
                "/destination",
                rule,
                "see `factum destination list`",
            ));
        }
        self.shared
            .accounts
            .confirm(destination, self.shared.store.as_ref())
            .await?;
        self.tell(Event::Credentials(self.shared.accounts.changed()))
            .await;
        let clock = self.shared.clock_in_doubt.load(Ordering::Relaxed);
        self.tell(Event::InDoubt {
            clock,
            accounts: self.shared.accounts.in_doubt(),
        })
        .await;
        Ok(())
    }

    /// The destinations whose credential changed and whose account is not confirmed.
    #[must_use]
    pub fn accounts_in_doubt(&self) -> std::collections::BTreeSet<String> {
        self.shared.accounts.in_doubt()
    }
}
