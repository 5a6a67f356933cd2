//! The register in memory: each entry with all its versions.

use std::collections::BTreeMap;

use factum_core::Timestamp;

use crate::StoreError;
use crate::register::{
    Change, Changed, Entry, EntryFilter, EntryKey, EntryVersion, Kind, Registered, are_distinct,
    makes_edition,
};
use crate::shared;

#[derive(Clone, Default)]
pub(super) struct Register {
    /// The last version of each is how it stands.
    entries: BTreeMap<EntryKey, Vec<Entry>>,
    pub(super) edition: u64,
}

impl Register {
    /// Whether all of these may be made: each entry is at the version that it was read at.
    pub(super) fn fits(&self, changes: &[Change]) -> bool {
        let at = |key| self.entry(key).map_or(0, |entry| entry.version);
        are_distinct(changes)
            && changes
                .iter()
                .all(|change| at(&change.key) == change.expected)
    }

    /// Makes changes that fit.
    pub(super) fn make(&mut self, changes: Vec<Change>, at: Timestamp) {
        self.edition += u64::from(makes_edition(&changes));
        for change in changes {
            let (by, why) = (change.by, change.why);
            let entry = Entry {
                key: change.key.clone(),
                version: change.expected + 1,
                body: change.body,
                label: change.label,
                due: change.due,
                changed: Changed { at, by, why },
            };
            self.entries.entry(change.key).or_default().push(entry);
        }
    }

    pub(super) fn change(&mut self, changes: Vec<Change>, at: Timestamp) -> Registered {
        if !self.fits(&changes) {
            return Registered::Stale;
        }
        self.make(changes, at);
        Registered::Durable {
            edition: self.edition,
        }
    }

    pub(super) fn entry(&self, key: &EntryKey) -> Option<&Entry> {
        self.entries.get(key)?.last()
    }

    fn all(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values().filter_map(|versions| versions.last())
    }

    pub(super) fn list(&self, filter: &EntryFilter) -> Vec<Entry> {
        let behind = |key: &EntryKey| {
            let after = filter.after.as_ref();
            after.is_none_or(|(tenant, id)| (&key.tenant, &key.id) > (tenant, id))
        };
        self.all()
            .filter(|entry| entry.key.kind == filter.kind && behind(&entry.key))
            .filter(|entry| {
                let tenant = filter.tenant.as_ref();
                let label = filter.label.as_ref();
                tenant.is_none_or(|tenant| *tenant == entry.key.tenant)
                    && label.is_none_or(|label| Some(label) == entry.label.as_ref())
            })
            .take(filter.limit)
            .cloned()
            .collect()
    }

    pub(super) fn due(&self, kind: Kind, until: Timestamp, limit: usize) -> Vec<Entry> {
        let mut due: Vec<Entry> = self
            .all()
            .filter(|entry| entry.key.kind == kind && entry.due.is_some_and(|due| due <= until))
            .cloned()
            .collect();
        due.sort_by(|a, b| (a.due, &a.key).cmp(&(b.due, &b.key)));
        due.truncate(limit);
        due
    }

    pub(super) fn history(&self, key: &EntryKey) -> Vec<EntryVersion> {
        let versions = self.entries.get(key).into_iter().flatten();
        versions
            .map(|entry| EntryVersion {
                version: entry.version,
                body: entry.body.clone(),
                changed: entry.changed.clone(),
            })
            .collect()
    }

    pub(super) fn forget_versions(
        &mut self,
        kind: Kind,
        before: Timestamp,
    ) -> Result<u64, StoreError> {
        shared::may_be_forgotten(kind)?;
        let mut gone = 0;
        for (_, versions) in self.entries.iter_mut().filter(|(key, _)| key.kind == kind) {
            let (stands, held) = (versions.last().map(|last| last.version), versions.len());
            versions.retain(|one| one.changed.at >= before || Some(one.version) == stands);
            gone += held - versions.len();
        }
        Ok(u64::try_from(gone).unwrap_or(u64::MAX))
    }

    /// Removes entries with all their versions; authority stays.
    pub(super) fn remove(&mut self, keys: &[EntryKey]) {
        for key in keys.iter().filter(|key| !key.kind.is_authority()) {
            self.entries.remove(key);
        }
    }

    pub(super) fn forget(
        &mut self,
        kind: Kind,
        before: Timestamp,
        limit: usize,
    ) -> Result<u64, StoreError> {
        shared::may_be_forgotten(kind)?;
        let old: Vec<EntryKey> = self
            .all()
            .filter(|entry| entry.key.kind == kind && entry.changed.at < before)
            .take(limit)
            .map(|entry| entry.key.clone())
            .collect();
        for key in &old {
            self.entries.remove(key);
        }
        Ok(u64::try_from(old.len()).unwrap_or(u64::MAX))
    }
}
