//! What operators decide: holding sends, and life after a restore.

use std::sync::atomic::Ordering;

use factum_core::{Conditions, Next, Step, Timestamp, decide};
use factum_store::{Record, Restore, Store};

use super::{Engine, PAUSED};
use crate::driver::Event;
use crate::problem::{Code, Problem};
use crate::recover;

/// Due rows that are read at once, and in all, to see what would be sent.
const BATCH: usize = 500;
const READ_MAX: usize = 100_000;

impl Engine {
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
