//! What the store is asked, command by command.

use std::collections::{BTreeMap, BTreeSet};
use std::future::ready;
use std::ops::Bound::{Excluded, Unbounded};

use factum_core::{
    ActionId, Evidence, Fact, IdentityHash, Lane, Scope, Span, State, Timestamp, WorkerNonce,
};

use super::{MemoryStore, answer};
use crate::notice::Notices;
use crate::purge::{Purge, Purged, Remains, ScopeRow, SettledPage};
use crate::record::{
    Admission, Admitted, Claim, Claimed, Committed, Due, FOR_WORKERS, Filter, NextRow, Record,
    Recorded, Restore,
};
use crate::register::{Change, Entry, EntryFilter, EntryKey, EntryVersion, Kind, Registered};
use crate::report::{Delivered, KeptReport, Name, Report, ReportFilter};
use crate::{Answer, Store, shared};

impl Store for MemoryStore {
    fn now(&self) -> Answer<'_, Timestamp> {
        answer(self.clock.now())
    }

    fn admit(&self, admission: Admission) -> Answer<'_, Admitted> {
        Box::pin(ready(self.lock().admit(admission, self.clock.now())))
    }

    fn load(&self, id: ActionId) -> Answer<'_, Option<Record>> {
        answer(self.lock().row(id))
    }

    fn find(&self, identity: IdentityHash) -> Answer<'_, Option<Record>> {
        let inner = self.lock();
        answer(
            inner
                .identities
                .get(&identity)
                .and_then(|id| inner.row(*id)),
        )
    }

    fn list(&self, filter: Filter) -> Answer<'_, Vec<Record>> {
        let inner = self.lock();
        let newest_first = inner.rows.iter().rev();
        answer(
            newest_first
                .filter(|(id, _)| filter.before.is_none_or(|before| **id < before))
                .map(|(_, row)| &row.record)
                .filter(|record| shared::matches(&filter, record))
                .take(filter.limit)
                .map(|record| inner.fresh(record))
                .collect(),
        )
    }

    fn history(&self, id: ActionId) -> Answer<'_, Vec<Evidence>> {
        answer(
            self.lock()
                .rows
                .get(&id)
                .map(|row| row.evidence.clone())
                .unwrap_or_default(),
        )
    }

    fn due(&self, after: Option<(Timestamp, ActionId)>, limit: usize) -> Answer<'_, Vec<Due>> {
        let inner = self.lock();
        let rows = inner
            .due
            .range((after.map_or(Unbounded, Excluded), Unbounded));
        answer(
            rows.take(limit)
                .filter_map(|row| inner.due_row(row))
                .collect(),
        )
    }

    fn is_shared(&self) -> bool {
        self.shared
    }

    fn beat(&self, worker: WorkerNonce, lease: Span) -> Answer<'_, Vec<WorkerNonce>> {
        if !self.shared {
            return answer(vec![worker]);
        }
        answer(self.lock().beat(worker, lease, self.clock.now()))
    }

    fn room(&self, worker: WorkerNonce, unsettled_max: usize) -> Answer<'_, Option<usize>> {
        if !self.shared {
            return answer(None);
        }
        answer(Some(self.lock().room(
            worker,
            unsettled_max,
            self.clock.now(),
        )))
    }

    fn overdue(
        &self,
        lanes: Vec<Lane>,
        before: Timestamp,
        after: Option<(Timestamp, ActionId)>,
        limit: usize,
    ) -> Answer<'_, Vec<Due>> {
        if !self.shared {
            return answer(Vec::new());
        }
        let now = self.clock.now();
        let inner = self.lock();
        let left = inner
            .due
            .range((after.map_or(Unbounded, Excluded), Unbounded))
            .take_while(|(at, _)| *at < before)
            .filter(|(_, id)| lanes.contains(&id.lane()) && !inner.is_held(*id, now));
        answer(
            left.take(limit)
                .filter_map(|row| inner.due_row(row))
                .collect(),
        )
    }

    fn for_workers(
        &self,
        destination: String,
        after: Option<(Timestamp, ActionId)>,
        limit: usize,
    ) -> Answer<'_, Vec<Due>> {
        let inner = self.lock();
        let waits = |id: &ActionId| {
            inner
                .rows
                .get(id)
                .is_some_and(|row| row.record.next.why == FOR_WORKERS)
        };
        let rows = inner
            .due
            .range((after.map_or(Unbounded, Excluded), Unbounded))
            .filter(|(_, id)| waits(id))
            .filter_map(|row| inner.due_row(row))
            .filter(|row| row.destination == destination);
        answer(rows.take(limit).collect())
    }

    fn counts(&self) -> Answer<'_, BTreeMap<(String, String), u64>> {
        let mut counts = BTreeMap::new();
        for row in self.lock().rows.values() {
            let state = row.record.status().state.name().to_owned();
            *counts
                .entry((state, row.record.next.step.clone()))
                .or_default() += 1;
        }
        answer(counts)
    }

    fn claim(&self, id: ActionId, worker: WorkerNonce, lease: Span) -> Answer<'_, Claimed> {
        answer(self.lock().claim(id, worker, lease, self.clock.now()))
    }

    fn renew<'a>(&'a self, claim: &'a Claim, lease: Span) -> Answer<'a, bool> {
        let now = self.clock.now();
        answer(
            self.lock()
                .claims
                .renew(claim.action, claim.token, lease, now),
        )
    }

    fn release(&self, claim: Claim) -> Answer<'_, ()> {
        self.lock().claims.release(claim.action, claim.token);
        answer(())
    }

    fn record(&self, id: ActionId, facts: Vec<Fact>) -> Answer<'_, Option<Recorded>> {
        Box::pin(ready(self.lock().record(id, facts, self.clock.now())))
    }

    fn record_at(
        &self,
        id: ActionId,
        version: u64,
        facts: Vec<Fact>,
    ) -> Answer<'_, Option<Committed>> {
        let now = self.clock.now();
        Box::pin(ready(self.lock().record_at(id, version, facts, now)))
    }

    fn commit<'a>(
        &'a self,
        claim: &'a Claim,
        facts: Vec<Fact>,
        next: NextRow,
    ) -> Answer<'a, Committed> {
        let now = self.clock.now();
        Box::pin(ready(self.lock().commit(claim, facts, next, now)))
    }

    fn deliver(&self, report: Report, forget_before: Timestamp) -> Answer<'_, Delivered> {
        let now = self.clock.now();
        Box::pin(ready(self.lock().deliver(report, forget_before, now)))
    }

    fn reports(&self, filter: ReportFilter) -> Answer<'_, Vec<KeptReport>> {
        let inner = self.lock();
        let newest_first = inner.reports.values().rev();
        let wanted = newest_first.filter(|kept| {
            kept.report.site.tenant == filter.tenant
                && filter.before.is_none_or(|before| kept.no < before)
                && !(filter.unmatched && kept.action.is_some())
        });
        answer(wanted.take(filter.limit).cloned().collect())
    }

    fn know(&self, id: ActionId, names: Vec<Name>) -> Answer<'_, bool> {
        let now = self.clock.now();
        Box::pin(ready(self.lock().name(id, names, now)))
    }

    fn keep_contract(&self, digest: [u8; 32], text: String) -> Answer<'_, ()> {
        self.lock().contracts.entry(digest).or_insert(text);
        answer(())
    }

    fn contract(&self, digest: [u8; 32]) -> Answer<'_, Option<String>> {
        answer(self.lock().contracts.get(&digest).cloned())
    }

    fn entry(&self, key: EntryKey) -> Answer<'_, Option<Entry>> {
        answer(self.lock().register.entry(&key).cloned())
    }

    fn entries(&self, filter: EntryFilter) -> Answer<'_, Vec<Entry>> {
        answer(self.lock().register.list(&filter))
    }

    fn entries_due(&self, kind: Kind, until: Timestamp, limit: usize) -> Answer<'_, Vec<Entry>> {
        answer(self.lock().register.due(kind, until, limit))
    }

    fn entry_history(&self, key: EntryKey) -> Answer<'_, Vec<EntryVersion>> {
        answer(self.lock().register.history(&key))
    }

    fn change(&self, changes: Vec<Change>) -> Answer<'_, Registered> {
        let now = self.clock.now();
        answer(self.lock().change(changes, now))
    }

    fn forget_entries(&self, kind: Kind, before: Timestamp, limit: usize) -> Answer<'_, u64> {
        Box::pin(ready(self.lock().register.forget(kind, before, limit)))
    }

    fn forget_versions(&self, kind: Kind, before: Timestamp) -> Answer<'_, u64> {
        Box::pin(ready(self.lock().register.forget_versions(kind, before)))
    }

    fn edition(&self) -> Answer<'_, u64> {
        answer(self.lock().register.edition)
    }

    fn notices(&self, after: u64, limit: usize) -> Answer<'_, Notices> {
        answer(self.lock().notices.behind(after, limit))
    }

    fn forget_notices(&self, before: Timestamp, limit: usize) -> Answer<'_, u64> {
        answer(self.lock().notices.forget(before, limit))
    }

    fn settled(
        &self,
        after: Option<ActionId>,
        made_before: Timestamp,
        limit: usize,
    ) -> Answer<'_, SettledPage> {
        answer(self.lock().settled(after, made_before, limit))
    }

    fn purge(&self, wishes: Vec<Purge>, under: u64) -> Answer<'_, Purged> {
        let now = self.clock.now();
        answer(self.lock().purge(wishes, under, now))
    }

    fn remains(&self, id: ActionId) -> Answer<'_, Option<Remains>> {
        answer(self.lock().graveyard.remains(id).cloned())
    }

    fn scopes(&self) -> Answer<'_, Vec<ScopeRow>> {
        answer(self.lock().graveyard.scopes())
    }

    fn forget_identities(&self, scope: Scope, before: Timestamp, limit: usize) -> Answer<'_, u64> {
        answer(self.lock().graveyard.forget(&scope, before, limit))
    }

    fn who_waits(&self, destination: String) -> Answer<'_, Vec<String>> {
        let inner = self.lock();
        let records = inner.rows.values().map(|row| &row.record);
        let here = records.filter(|record| {
            let scope = &record.action.scope;
            scope.destination == destination
                && record.next.step == "wait"
                && matches!(
                    record.status().state,
                    State::Accepted | State::OutcomeUnknown
                )
        });
        let tenants: BTreeSet<_> = here.map(|r| r.action.scope.tenant.clone()).collect();
        answer(tenants.into_iter().collect())
    }

    fn setting(&self, name: &str) -> Answer<'_, Option<String>> {
        answer(self.lock().settings.get(name).cloned())
    }

    fn set_setting(&self, name: &str, value: Option<String>) -> Answer<'_, ()> {
        let mut inner = self.lock();
        match value {
            Some(value) => inner.settings.insert(name.to_owned(), value),
            None => inner.settings.remove(name),
        };
        answer(())
    }

    fn restore(&self) -> Answer<'_, Option<Restore>> {
        answer(self.lock().restore.clone())
    }

    fn declare_restored(&self, copy_until: Option<Timestamp>) -> Answer<'_, Restore> {
        let now = self.clock.now();
        let mut inner = self.lock();
        let until = copy_until.or(inner.stamped).unwrap_or(Timestamp::EARLIEST);
        let restore = shared::restored_again(inner.restore.as_ref(), until, now);
        inner.restore = Some(restore.clone());
        answer(restore)
    }

    fn release_restore(&self, by: String) -> Answer<'_, Option<Restore>> {
        let now = self.clock.now();
        let mut inner = self.lock();
        if let Some(restore) = &mut inner.restore {
            restore.released.get_or_insert((by, now));
        }
        answer(inner.restore.clone())
    }
}
