//! The rows of twins in memory.

use factum_core::mistake::{Mistake, made};
use factum_core::{ActionId, Timestamp};

use super::Inner;
use crate::record::{Admission, Record, TwinGuard};
use crate::twins;

/// A row: the actions of one content, and when each was recorded.
pub(super) type Row = Vec<(ActionId, Timestamp)>;

impl Inner {
    /// The action that holds this submission off.
    pub(super) fn twin_before(&self, admission: &Admission, now: Timestamp) -> Option<Record> {
        let guard = admission.twins.filter(|guard| !guard.another)?;
        let row = self.twins.get(&twins::digest(&admission.action))?;
        let submitted = admission.action.intent.submitted_at;
        let seen = |at: Timestamp| !made(Mistake::TwinsAtOnce) || at <= submitted;
        let named = row.iter().filter(|(_, at)| seen(*at));
        let named = named.filter_map(|(id, _)| self.row(*id)).collect();
        twins::holder(guard, named, now)
    }

    /// A submission under a guard was recorded.
    pub(super) fn name_twin(&mut self, guard: Option<TwinGuard>, record: &Record, now: Timestamp) {
        if guard.is_none() {
            return;
        }
        let row = self.twins.entry(twins::digest(&record.action)).or_default();
        let named = twins::with(row.iter().map(|(id, _)| *id).collect(), record.id());
        row.retain(|(id, _)| named.contains(id));
        row.push((record.id(), now));
    }
}
