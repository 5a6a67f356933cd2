//! Reports and names in memory, and the backend's side of how they find each other.

use factum_core::evidence::Callback;
use factum_core::{ActionId, Fact, Timestamp};

use super::Inner;
use crate::matching::{self, Known, REPORTS_MAX, Shelf};
use crate::report::{Delivered, KeptReport, Report};
use crate::{StoreError, shared};

impl Inner {
    pub(super) fn deliver(
        &mut self,
        report: Report,
        forget_before: Timestamp,
        now: Timestamp,
    ) -> Result<Delivered, StoreError> {
        let mut kept = self.reports.values();
        if let Some(known) = kept.find(|kept| kept.report.id == report.id) {
            return Ok(Delivered::Repeated(known.action));
        }
        let no = self.reports.last_key_value().map_or(1, |(no, _)| no + 1);
        let kept = KeptReport {
            no,
            at: now,
            report,
            action: None,
        };
        self.reports.insert(no, kept.clone());
        self.reports.retain(|old, kept| {
            *old + REPORTS_MAX > no && (kept.at >= forget_before || *old == no)
        });
        self.stamped = Some(now);
        matching::deliver(&mut OnShelf { inner: self, now }, &kept)
    }
}

/// The store while reports and actions find each other.
pub(super) struct OnShelf<'a> {
    pub(super) inner: &'a mut Inner,
    pub(super) now: Timestamp,
}

impl Shelf for OnShelf<'_> {
    fn known_by(&mut self, known: &Known) -> Result<Vec<ActionId>, StoreError> {
        let named = self.inner.known_by.get(known);
        Ok(named.into_iter().flatten().copied().collect())
    }

    fn know(&mut self, id: ActionId, known: &Known) -> Result<(), StoreError> {
        self.inner
            .known_by
            .entry(known.clone())
            .or_default()
            .insert(id);
        Ok(())
    }

    fn waiting(&mut self, known: &Known) -> Result<Vec<KeptReport>, StoreError> {
        let carries = |kept: &&KeptReport| {
            let readings = &kept.report.readings;
            kept.action.is_none()
                && kept.report.site == known.site
                && readings.iter().any(|reading| {
                    reading.operation == known.operation && reading.names.contains(&known.name)
                })
        };
        Ok(self
            .inner
            .reports
            .values()
            .filter(carries)
            .cloned()
            .collect())
    }

    fn settle(&mut self, report: &KeptReport, id: ActionId) -> Result<(), StoreError> {
        if let Some(kept) = self.inner.reports.get_mut(&report.no) {
            kept.action = Some(id);
        }
        Ok(())
    }

    fn has(&mut self, id: ActionId, callback: &Callback) -> Result<bool, StoreError> {
        let row = self.inner.rows.get(&id);
        Ok(row.is_some_and(|row| row.record.known.has_called_back(callback)))
    }

    fn add(&mut self, id: ActionId, facts: Vec<Fact>) -> Result<(), StoreError> {
        let next = shared::decide_anew(self.now);
        self.inner
            .append_only(id, self.now, facts, next)
            .map(|_| ())
    }
}
