//! A store as an engine sees it that may send nothing: sends are held for as long as this process lives.
//!
//! Commands that only look, decide or record while nobody serves must not carry anything out on the way. Nothing of this is
//! written down: whoever opens the store next finds it as it was.

use std::collections::BTreeMap;
use std::sync::Arc;

use factum_core::{ActionId, Evidence, Fact, IdentityHash, Scope, Span, Timestamp, WorkerNonce};
use factum_store::{
    Admission, Admitted, Answer, Census, Change, Claim, Claimed, Committed, Delivered, Due, Entry,
    EntryFilter, EntryKey, EntryVersion, Filter, Head, KeptReport, Kind, Name, NextRow, Notices,
    Purge, Purged, Record, Recorded, Registered, Remains, Report, ReportFilter, Restore, ScopeRow,
    SettledPage, Store,
};

/// The engine's setting by which sends are held.
pub(crate) const PAUSED: &str = "paused";

/// A store behind which everything is as it is, but for `paused`.
pub(crate) struct Held(pub(crate) Arc<dyn Store>);

impl Store for Held {
    fn setting(&self, name: &str) -> Answer<'_, Option<String>> {
        let name = name.to_owned();
        Box::pin(async move {
            let kept = self.0.setting(&name).await?;
            Ok(if name == PAUSED {
                kept.or_else(|| Some("a command".to_owned()))
            } else {
                kept
            })
        })
    }

    fn settled(
        &self,
        after: Option<ActionId>,
        made_before: Timestamp,
        limit: usize,
    ) -> Answer<'_, SettledPage> {
        self.0.settled(after, made_before, limit)
    }

    fn purge(&self, wishes: Vec<Purge>, under: u64) -> Answer<'_, Purged> {
        self.0.purge(wishes, under)
    }

    fn remains(&self, id: ActionId) -> Answer<'_, Option<Remains>> {
        self.0.remains(id)
    }

    fn heads(&self, after: Option<ActionId>, limit: usize) -> Answer<'_, Vec<Head>> {
        self.0.heads(after, limit)
    }

    fn census(&self) -> Answer<'_, Census> {
        self.0.census()
    }

    fn scopes(&self) -> Answer<'_, Vec<ScopeRow>> {
        self.0.scopes()
    }

    fn forget_identities(&self, scope: Scope, before: Timestamp, limit: usize) -> Answer<'_, u64> {
        self.0.forget_identities(scope, before, limit)
    }

    fn compact(&self) -> Answer<'_, u64> {
        self.0.compact()
    }

    fn who_waits(&self, destination: String) -> Answer<'_, Vec<String>> {
        self.0.who_waits(destination)
    }

    fn now(&self) -> Answer<'_, Timestamp> {
        self.0.now()
    }

    fn admit(&self, admission: Admission) -> Answer<'_, Admitted> {
        self.0.admit(admission)
    }

    fn load(&self, id: ActionId) -> Answer<'_, Option<Record>> {
        self.0.load(id)
    }

    fn find(&self, identity: IdentityHash) -> Answer<'_, Option<Record>> {
        self.0.find(identity)
    }

    fn list(&self, filter: Filter) -> Answer<'_, Vec<Record>> {
        self.0.list(filter)
    }

    fn history(&self, id: ActionId) -> Answer<'_, Vec<Evidence>> {
        self.0.history(id)
    }

    fn due(&self, after: Option<(Timestamp, ActionId)>, limit: usize) -> Answer<'_, Vec<Due>> {
        self.0.due(after, limit)
    }

    fn for_workers(
        &self,
        destination: String,
        after: Option<(Timestamp, ActionId)>,
        limit: usize,
    ) -> Answer<'_, Vec<Due>> {
        self.0.for_workers(destination, after, limit)
    }

    fn counts(&self) -> Answer<'_, BTreeMap<(String, String), u64>> {
        self.0.counts()
    }

    fn claim(&self, id: ActionId, worker: WorkerNonce, lease: Span) -> Answer<'_, Claimed> {
        self.0.claim(id, worker, lease)
    }

    fn renew<'a>(&'a self, claim: &'a Claim, lease: Span) -> Answer<'a, bool> {
        self.0.renew(claim, lease)
    }

    fn release(&self, claim: Claim) -> Answer<'_, ()> {
        self.0.release(claim)
    }

    fn record(&self, id: ActionId, facts: Vec<Fact>) -> Answer<'_, Option<Recorded>> {
        self.0.record(id, facts)
    }

    fn record_at(
        &self,
        id: ActionId,
        version: u64,
        facts: Vec<Fact>,
    ) -> Answer<'_, Option<Committed>> {
        self.0.record_at(id, version, facts)
    }

    fn commit<'a>(
        &'a self,
        claim: &'a Claim,
        facts: Vec<Fact>,
        next: NextRow,
    ) -> Answer<'a, Committed> {
        self.0.commit(claim, facts, next)
    }

    fn deliver(&self, report: Report, forget_before: Timestamp) -> Answer<'_, Delivered> {
        self.0.deliver(report, forget_before)
    }

    fn reports(&self, filter: ReportFilter) -> Answer<'_, Vec<KeptReport>> {
        self.0.reports(filter)
    }

    fn know(&self, id: ActionId, names: Vec<Name>) -> Answer<'_, bool> {
        self.0.know(id, names)
    }

    fn keep_contract(&self, digest: [u8; 32], text: String) -> Answer<'_, ()> {
        self.0.keep_contract(digest, text)
    }

    fn contract(&self, digest: [u8; 32]) -> Answer<'_, Option<String>> {
        self.0.contract(digest)
    }

    fn entry(&self, key: EntryKey) -> Answer<'_, Option<Entry>> {
        self.0.entry(key)
    }

    fn entries(&self, filter: EntryFilter) -> Answer<'_, Vec<Entry>> {
        self.0.entries(filter)
    }

    fn entries_due(&self, kind: Kind, until: Timestamp, limit: usize) -> Answer<'_, Vec<Entry>> {
        self.0.entries_due(kind, until, limit)
    }

    fn entry_history(&self, key: EntryKey) -> Answer<'_, Vec<EntryVersion>> {
        self.0.entry_history(key)
    }

    fn change(&self, changes: Vec<Change>) -> Answer<'_, Registered> {
        self.0.change(changes)
    }

    fn forget_entries(&self, kind: Kind, before: Timestamp, limit: usize) -> Answer<'_, u64> {
        self.0.forget_entries(kind, before, limit)
    }

    fn forget_versions(&self, kind: Kind, before: Timestamp) -> Answer<'_, u64> {
        self.0.forget_versions(kind, before)
    }

    fn notices(&self, after: u64, limit: usize) -> Answer<'_, Notices> {
        self.0.notices(after, limit)
    }

    fn forget_notices(&self, before: Timestamp, limit: usize) -> Answer<'_, u64> {
        self.0.forget_notices(before, limit)
    }

    fn edition(&self) -> Answer<'_, u64> {
        self.0.edition()
    }

    fn set_setting(&self, name: &str, value: Option<String>) -> Answer<'_, ()> {
        self.0.set_setting(name, value)
    }

    fn restore(&self) -> Answer<'_, Option<Restore>> {
        self.0.restore()
    }

    fn declare_restored(&self, copy_until: Option<Timestamp>) -> Answer<'_, Restore> {
        self.0.declare_restored(copy_until)
    }

    fn release_restore(&self, by: String) -> Answer<'_, Option<Restore>> {
        self.0.release_restore(by)
    }
}
