//! How many more actions may be recorded, where several workers share a store: counted there, and given out in parts.
//!
//! Within one process the loop knows how many are unsettled. Over several, each is given a number at every look, and takes one away
//! with each submission; so the sum keeps to the bound, and no submission costs a question.

use std::sync::{Mutex, MutexGuard, PoisonError};

use factum_core::{Span, Timestamp, WorkerNonce};
use factum_store::{Store, StoreError};

use crate::neighbours::LIVES;

/// How long nobody asks again who was given nothing.
const PAUSE: Span = Span::from_millis(100);

/// What is left of what this worker was given.
#[derive(Debug)]
pub(crate) struct Room {
    unsettled_max: usize,
    given: Mutex<Given>,
}

#[derive(Clone, Copy, Debug)]
enum Given {
    /// One process holds the store, and counts by itself.
    ByCount,
    /// So many, by the store, when it was asked. It counts for [`LIVES`]: then others may take this worker for dead.
    Asked { room: usize, at: Timestamp },
}

impl Room {
    pub(crate) fn new(unsettled_max: usize) -> Self {
        Self {
            unsettled_max,
            given: Mutex::new(Given::ByCount),
        }
    }

    /// Asks the store. `now` was read before.
    pub(crate) async fn ask(
        &self,
        store: &dyn Store,
        worker: WorkerNonce,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if let Some(room) = store.room(worker, self.unsettled_max).await? {
            *self.given() = Given::Asked { room, at: now };
        }
        Ok(())
    }

    /// Takes a place for a new action, where `unsettled` are known in this process.
    pub(crate) fn take(&self, unsettled: usize, now: Timestamp) -> bool {
        match &mut *self.given() {
            Given::ByCount => unsettled < self.unsettled_max,
            Given::Asked { room, at } => {
                let has = *room > 0 && now < *at + LIVES;
                if has {
                    *room -= 1;
                }
                has
            }
        }
    }

    /// Whether the store is to be asked again, because what it gave is used up: of many who find that, one a while.
    pub(crate) fn asks_again(&self, now: Timestamp) -> bool {
        match &mut *self.given() {
            Given::ByCount => false,
            Given::Asked { at, .. } if now < *at + PAUSE => false,
            Given::Asked { room, at } => {
                (*room, *at) = (0, now);
                true
            }
        }
    }

    fn given(&self) -> MutexGuard<'_, Given> {
        self.given.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_given_is_used_up_and_does_not_outlast_the_worker() {
        let room = Room::new(10);
        assert!(room.take(9, Timestamp::EARLIEST) && !room.take(10, Timestamp::EARLIEST));
        assert!(!room.asks_again(Timestamp::EARLIEST));
        let at = Timestamp::from_micros(1_000_000);
        *room.given() = Given::Asked { room: 2, at };
        assert!(!room.take(0, at + LIVES), "it may count as dead by now");
        assert!(room.take(99, at) && room.take(99, at));
        assert!(!room.take(0, at), "there is no more");
        assert!(!room.asks_again(at), "it was just asked");
        let later = at + PAUSE;
        assert!(
            room.asks_again(later) && !room.asks_again(later),
            "one asks"
        );
    }
}
