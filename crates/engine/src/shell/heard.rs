//! What is heard about an action beside the driver's own commands: told to whoever listens, and counted.

use factum_core::{ActionId, Known, Timestamp};
use factum_store::{Delivered, Record, Recorded, Site};

use super::{Change, Shared};
use crate::driver::Event;
use crate::metrics::Notes;

impl Shared {
    /// An action that was reported about is decided anew, at once. So is one that a repeated report is about: the first may have been
    /// written down by a store whose answer was lost, and then nobody has looked.
    pub(crate) async fn reported(
        &self,
        site: &Site,
        delivered: Delivered,
        at: Timestamp,
    ) -> Option<Event> {
        let (action, repeated) = match delivered {
            Delivered::Matched(action) => (action, false),
            Delivered::Repeated(Some(action)) => (action, true),
            Delivered::Unmatched | Delivered::Repeated(None) => {
                (self.metrics).called_back(&site.destination, delivered, None);
                return None;
            }
        };
        let record = self.store.load(action).await.ok().flatten();
        let looked_at = |record: &Record| record.next.at.is_none_or(|due| due > at);
        if repeated && record.as_ref().is_some_and(looked_at) {
            (self.metrics).called_back(&site.destination, delivered, None);
            return None;
        }
        (self.metrics).called_back(&site.destination, delivered, record.as_ref());
        if let Some(record) = record {
            self.count_report(&record).await;
            self.stands(&record);
        }
        let destination = site.destination.clone();
        Some(Event::Due {
            action,
            destination,
            at,
        })
    }

    /// Counts what was recorded about an action that nobody here holds.
    pub(crate) async fn count(&self, action: ActionId, notes: &Notes, recorded: &Recorded) {
        // What cannot be read is not counted.
        if let Ok(Some(record)) = self.store.load(action).await {
            (self.metrics).recorded(&record, notes, recorded.states.0, recorded.at);
        }
    }

    /// Counts a report that may have settled its action: that is told from the evidence before it.
    async fn count_report(&self, record: &Record) {
        if !record.status().is_settled() {
            return;
        }
        let Ok(history) = self.store.history(record.id()).await else {
            return;
        };
        if let Some((last, earlier)) = history.split_last() {
            let before = Known::fold(earlier).status(&record.action.intent).state;
            (self.metrics).recorded(record, &Notes::of_report(), before, last.at);
        }
    }

    /// Lets it be heard how an action stands.
    pub(crate) fn stands(&self, record: &Record) {
        let change = Change::standing(record.id(), record.status().state);
        // Nobody listening is no error.
        let _ = self.changes.send(change);
        self.waiters.stands(record);
    }
}
