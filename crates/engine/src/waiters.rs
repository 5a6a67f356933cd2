//! Who waits for an action to come to rest, each told of its own action alone: with a hundred callers waiting, a change wakes one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use factum_core::ActionId;
use factum_store::Record;
use tokio::sync::mpsc;

/// What somebody who waits is told.
#[derive(Debug)]
pub(crate) enum News {
    /// It rests: this is how it stands.
    Rests(Box<Record>),
    /// Something changed; what it is has to be read.
    Look,
}

#[derive(Debug, Default)]
struct Waiting {
    by_action: HashMap<ActionId, Vec<(u64, mpsc::UnboundedSender<News>)>>,
    next: u64,
}

/// All who wait at this engine.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waiters(Arc<Mutex<Waiting>>);

impl Waiters {
    /// From now on nothing about this action is missed.
    pub(crate) fn watch(&self, action: ActionId) -> Listener {
        let (sender, news) = mpsc::unbounded_channel();
        let mut waiting = self.lock();
        let number = waiting.next;
        waiting.next += 1;
        let watching = waiting.by_action.entry(action).or_default();
        watching.push((number, sender));
        drop(waiting);
        Listener {
            action,
            number,
            news,
            waiters: self.clone(),
        }
    }

    /// An action stands so now. Only one that rests is handed out; of others there is more to come.
    pub(crate) fn stands(&self, record: &Record) {
        if !rests(record) {
            return;
        }
        if let Some(watching) = self.lock().by_action.get(&record.id()) {
            for (_, sender) in watching {
                // Who went away meanwhile needs no news.
                let _ = sender.send(News::Rests(Box::new(record.clone())));
            }
        }
    }

    /// Something changed about an action.
    pub(crate) fn changed(&self, action: ActionId) {
        if let Some(watching) = self.lock().by_action.get(&action) {
            for (_, sender) in watching {
                let _ = sender.send(News::Look);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Nothing happens by itself any more, or not before a person decides.
pub(crate) fn rests(record: &Record) -> bool {
    record.next.step == "review" || record.status().is_settled()
}

/// An ear for one action, from the moment it was made until it is dropped.
#[derive(Debug)]
pub struct Listener {
    action: ActionId,
    number: u64,
    news: mpsc::UnboundedReceiver<News>,
    waiters: Waiters,
}

impl Listener {
    /// Which action it is for.
    #[must_use]
    pub fn action(&self) -> ActionId {
        self.action
    }

    /// The next news.
    pub(crate) async fn next(&mut self) -> News {
        // The sender lives in the registry as long as this does.
        self.news.recv().await.unwrap_or(News::Look)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut waiting = self.waiters.lock();
        if let Some(watching) = waiting.by_action.get_mut(&self.action) {
            watching.retain(|(number, _)| *number != self.number);
            if watching.is_empty() {
                waiting.by_action.remove(&self.action);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn action(number: u64) -> ActionId {
        ActionId::new(
            factum_core::Timestamp::EARLIEST,
            factum_core::Lane(1),
            number,
        )
    }

    #[tokio::test]
    async fn news_go_to_those_who_watch_the_action_and_nothing_is_kept_of_who_left() {
        let waiters = Waiters::default();
        let (mut first, mut second) = (waiters.watch(action(1)), waiters.watch(action(1)));
        let mut other = waiters.watch(action(2));
        waiters.changed(action(1));
        assert!(matches!(first.next().await, News::Look));
        assert!(matches!(second.next().await, News::Look));
        assert!(other.news.try_recv().is_err());
        drop(first);
        waiters.changed(action(1));
        assert!(matches!(second.next().await, News::Look));
        drop((second, other));
        assert!(waiters.lock().by_action.is_empty());
    }
}
