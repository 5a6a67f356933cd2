//! Workers that share a store in memory: who says that it lives, and what one that stopped saying so still holds.

use factum_core::{ActionId, Span, Timestamp, WorkerNonce};

use super::Inner;
use crate::record::Claimed;
use crate::shared::{self, FORGOTTEN_AFTER};

impl Inner {
    /// A worker lives for so long from now; those that do.
    pub(super) fn beat(
        &mut self,
        worker: WorkerNonce,
        lease: Span,
        now: Timestamp,
    ) -> Vec<WorkerNonce> {
        self.workers
            .retain(|_, until| *until > now - FORGOTTEN_AFTER);
        self.workers.insert(worker, now + lease);
        let living = self.workers.iter().filter(|(_, until)| **until > now);
        living.map(|(worker, _)| *worker).collect()
    }

    /// How many more actions a worker may record until it asks again.
    pub(super) fn room(
        &mut self,
        worker: WorkerNonce,
        unsettled_max: usize,
        now: Timestamp,
    ) -> usize {
        // Whoever does not count for the others is given nothing that they do not know of.
        if self.workers.get(&worker).is_none_or(|until| *until <= now) {
            return 0;
        }
        let others = self.workers.iter();
        let others = others.filter(|(other, until)| **other != worker && **until > now);
        let given = |other| self.rooms.get(other).copied().unwrap_or_default();
        let others: Vec<_> = others.map(|(other, _)| given(other)).collect();
        let room = shared::room(unsettled_max, self.due.len(), &others);
        self.rooms.insert(worker, room);
        room
    }

    /// Whether somebody holds an action who has not stopped saying that it lives.
    pub(super) fn is_held(&self, id: ActionId, now: Timestamp) -> bool {
        self.claims.is_held(id, now) && !self.is_left(id, now)
    }

    fn is_left(&self, id: ActionId, now: Timestamp) -> bool {
        let holder = self.holders.get(&id);
        let until = holder.and_then(|holder| self.workers.get(holder));
        until.is_some_and(|until| *until <= now)
    }

    pub(super) fn claim(
        &mut self,
        id: ActionId,
        worker: WorkerNonce,
        lease: Span,
        now: Timestamp,
    ) -> Claimed {
        let Some(record) = self.row(id) else {
            return Claimed::Gone;
        };
        self.claims.sweep(now);
        if self.is_left(id, now) && self.holders.get(&id) != Some(&worker) {
            self.claims.free(id);
        }
        match self.claims.take(&record, lease, now) {
            Ok(claim) => {
                self.holders.insert(id, worker);
                Claimed::Held(claim, Box::new(record))
            }
            Err(until) => Claimed::Busy(until),
        }
    }
}
