//! What the store is asked, command by command.

use std::collections::BTreeMap;

use factum_core::{
    ActionId, Evidence, Fact, IdentityHash, Lane, Scope, Span, Timestamp, WorkerNonce,
};

use super::PostgresStore;
use crate::head::{Census, Head};
use crate::meter::Meter;
use crate::notice::Notices;
use crate::purge::{Purge, Purged, Remains, ScopeRow, SettledPage};
use crate::record::{
    Admission, Admitted, Claim, Claimed, Committed, Due, Filter, NextRow, Record, Recorded, Reseal,
    Restore,
};
use crate::register::{Change, Entry, EntryFilter, EntryKey, EntryVersion, Kind, Registered};
use crate::report::{Delivered, KeptReport, Name, Report, ReportFilter};
use crate::shared::Fence;
use crate::{Answer, Store};

impl Store for PostgresStore {
    fn meter(&self) -> Option<&Meter> {
        Some(self.inner.flusher.meter())
    }

    fn now(&self) -> Answer<'_, Timestamp> {
        Box::pin(self.inner.ask_now("asking for the time"))
    }

    fn admit(&self, admission: Admission) -> Answer<'_, Admitted> {
        Box::pin(self.inner.admit(admission))
    }

    fn load(&self, id: ActionId) -> Answer<'_, Option<Record>> {
        Box::pin(self.inner.read("loading an action", id))
    }

    fn find(&self, identity: IdentityHash) -> Answer<'_, Option<Record>> {
        Box::pin(self.inner.read_by_identity("finding an action", identity))
    }

    fn list(&self, filter: Filter) -> Answer<'_, Vec<Record>> {
        Box::pin(self.inner.list(filter))
    }

    fn history(&self, id: ActionId) -> Answer<'_, Vec<Evidence>> {
        Box::pin(self.inner.history(id))
    }

    fn due(&self, after: Option<(Timestamp, ActionId)>, limit: usize) -> Answer<'_, Vec<Due>> {
        Box::pin(self.inner.due(after, limit))
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn beat(&self, worker: WorkerNonce, lease: Span) -> Answer<'_, Vec<WorkerNonce>> {
        Box::pin(self.inner.beat(worker, lease))
    }

    fn room(&self, worker: WorkerNonce, unsettled_max: usize) -> Answer<'_, Option<usize>> {
        Box::pin(async move { self.inner.room(worker, unsettled_max).await.map(Some) })
    }

    fn overdue(
        &self,
        lanes: Vec<Lane>,
        before: Timestamp,
        after: Option<(Timestamp, ActionId)>,
        limit: usize,
    ) -> Answer<'_, Vec<Due>> {
        Box::pin(self.inner.overdue(lanes, before, after, limit))
    }

    fn for_workers(
        &self,
        destination: String,
        after: Option<(Timestamp, ActionId)>,
        limit: usize,
    ) -> Answer<'_, Vec<Due>> {
        Box::pin(self.inner.for_workers(destination, after, limit))
    }

    fn counts(&self) -> Answer<'_, BTreeMap<(String, String), u64>> {
        Box::pin(self.inner.counts())
    }

    fn claim(&self, id: ActionId, worker: WorkerNonce, lease: Span) -> Answer<'_, Claimed> {
        Box::pin(self.inner.claim(id, worker, lease))
    }

    fn renew<'a>(&'a self, claim: &'a Claim, lease: Span) -> Answer<'a, bool> {
        Box::pin(self.inner.renew(Fence::of(claim), lease))
    }

    fn release(&self, claim: Claim) -> Answer<'_, ()> {
        Box::pin(async move { self.inner.release(Fence::of(&claim)).await })
    }

    fn record(&self, id: ActionId, facts: Vec<Fact>) -> Answer<'_, Option<Recorded>> {
        Box::pin(self.inner.record(id, facts))
    }

    fn record_at(
        &self,
        id: ActionId,
        version: u64,
        facts: Vec<Fact>,
    ) -> Answer<'_, Option<Committed>> {
        Box::pin(self.inner.record_at(id, version, facts))
    }

    fn commit<'a>(
        &'a self,
        claim: &'a Claim,
        facts: Vec<Fact>,
        next: NextRow,
    ) -> Answer<'a, Committed> {
        Box::pin(self.inner.commit(Fence::of(claim), facts, next))
    }

    fn deliver(&self, report: Report, forget_before: Timestamp) -> Answer<'_, Delivered> {
        Box::pin(self.inner.deliver(report, forget_before))
    }

    fn reports(&self, filter: ReportFilter) -> Answer<'_, Vec<KeptReport>> {
        Box::pin(self.inner.reports(filter))
    }

    fn know(&self, id: ActionId, names: Vec<Name>) -> Answer<'_, bool> {
        Box::pin(self.inner.know(id, names))
    }

    fn keep_contract(&self, digest: [u8; 32], text: String) -> Answer<'_, ()> {
        Box::pin(self.inner.keep_contract(digest, text))
    }

    fn contract(&self, digest: [u8; 32]) -> Answer<'_, Option<String>> {
        Box::pin(self.inner.contract(digest))
    }

    fn entry(&self, key: EntryKey) -> Answer<'_, Option<Entry>> {
        Box::pin(async move { self.inner.entry(&key).await })
    }

    fn entries(&self, filter: EntryFilter) -> Answer<'_, Vec<Entry>> {
        Box::pin(async move { self.inner.entries(&filter).await })
    }

    fn entries_due(&self, kind: Kind, until: Timestamp, limit: usize) -> Answer<'_, Vec<Entry>> {
        Box::pin(self.inner.entries_due(kind, until, limit))
    }

    fn entry_history(&self, key: EntryKey) -> Answer<'_, Vec<EntryVersion>> {
        Box::pin(async move { self.inner.entry_history(&key).await })
    }

    fn change(&self, changes: Vec<Change>) -> Answer<'_, Registered> {
        Box::pin(self.inner.change(changes))
    }

    fn forget_entries(&self, kind: Kind, before: Timestamp, limit: usize) -> Answer<'_, u64> {
        Box::pin(self.inner.forget_entries(kind, before, limit))
    }

    fn forget_versions(&self, kind: Kind, before: Timestamp) -> Answer<'_, u64> {
        Box::pin(self.inner.forget_versions(kind, before))
    }

    fn edition(&self) -> Answer<'_, u64> {
        Box::pin(self.inner.edition())
    }

    fn notices(&self, after: u64, limit: usize) -> Answer<'_, Notices> {
        Box::pin(self.inner.notices(after, limit))
    }

    fn forget_notices(&self, before: Timestamp, limit: usize) -> Answer<'_, u64> {
        Box::pin(self.inner.forget_notices(before, limit))
    }

    fn settled(
        &self,
        after: Option<ActionId>,
        made_before: Timestamp,
        limit: usize,
    ) -> Answer<'_, SettledPage> {
        Box::pin(self.inner.settled(after, made_before, limit))
    }

    fn purge(&self, wishes: Vec<Purge>, under: u64) -> Answer<'_, Purged> {
        Box::pin(self.inner.purge(wishes, under))
    }

    fn remains(&self, id: ActionId) -> Answer<'_, Option<Remains>> {
        Box::pin(self.inner.remains(id))
    }

    fn heads(&self, after: Option<ActionId>, limit: usize) -> Answer<'_, Vec<Head>> {
        Box::pin(self.inner.heads(after, limit))
    }

    fn census(&self) -> Answer<'_, Census> {
        Box::pin(self.inner.census())
    }

    fn scopes(&self) -> Answer<'_, Vec<ScopeRow>> {
        Box::pin(self.inner.scopes())
    }

    fn forget_identities(&self, scope: Scope, before: Timestamp, limit: usize) -> Answer<'_, u64> {
        Box::pin(self.inner.forget_identities(scope, before, limit))
    }

    fn who_waits(&self, destination: String) -> Answer<'_, Vec<String>> {
        Box::pin(self.inner.who_waits(destination))
    }

    fn sealed_rows(&self, key: Option<u32>) -> Answer<'_, u64> {
        Box::pin(self.inner.sealed_rows(key))
    }

    fn reseal(&self, from: Reseal, limit: usize) -> Answer<'_, Option<Reseal>> {
        Box::pin(self.inner.reseal(from, limit))
    }

    fn scour(&self) -> Answer<'_, u64> {
        Box::pin(self.inner.scour())
    }

    fn setting(&self, name: &str) -> Answer<'_, Option<String>> {
        Box::pin(self.inner.setting(name.to_owned()))
    }

    fn set_setting(&self, name: &str, value: Option<String>) -> Answer<'_, ()> {
        Box::pin(self.inner.set_setting(name.to_owned(), value))
    }

    fn restore(&self) -> Answer<'_, Option<Restore>> {
        Box::pin(self.inner.restore())
    }

    fn declare_restored(&self, copy_until: Option<Timestamp>) -> Answer<'_, Restore> {
        Box::pin(self.inner.declare_restored(copy_until))
    }

    fn release_restore(&self, by: String) -> Answer<'_, Option<Restore>> {
        Box::pin(self.inner.release_restore(by))
    }
}
