//! A store in memory that fails at chosen moments. What it is not told to fail at, it does as the memory store does.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use factum_core::identity::{IdentityHash, Scope};
use factum_core::{ActionId, Evidence, Fact, Span, Timestamp, WorkerNonce};
use factum_store::{
    Admission, Admitted, Answer, Change, Claim, Claimed, Committed, Delivered, Due, Entry,
    EntryFilter, EntryKey, EntryVersion, Filter, KeptReport, Kind, MemoryStore, Name, NextRow,
    Notices, Purge, Purged, Record, Recorded, Registered, Remains, Report, ReportFilter, Restore,
    ScopeRow, SettledPage, Store, StoreError, StoreErrorKind, system_clock,
};

/// A failure that is still to come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The next submission is written, and its caller does not get to know.
    AdmitInDoubt,
    /// What is recorded next at a version is written, and nobody gets to know.
    RecordInDoubt,
    /// This action's row is damaged, for as long as the fault stands.
    Damaged(ActionId),
    /// The next commit of an answer breaks off before anything is written.
    AnswerBreaksOff,
    /// This fact is recorded just before the next one that rests on a version.
    Meanwhile(Fact),
}

/// The store.
pub(crate) struct FaultyStore {
    inner: MemoryStore,
    faults: Mutex<Vec<Fault>>,
}

impl FaultyStore {
    pub(crate) fn new() -> Self {
        Self {
            inner: MemoryStore::new(system_clock()),
            faults: Mutex::default(),
        }
    }

    pub(crate) fn fail(&self, fault: Fault) {
        self.lock().push(fault);
    }

    /// A process that held it is gone, and its claims with it.
    pub(crate) fn restart(&self) {
        self.inner.restart();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Fault>> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Uses up a failure that was to come.
    fn strikes(&self, fault: Fault) -> bool {
        let mut faults = self.lock();
        let found = faults.iter().position(|other| *other == fault);
        found.map(|at| faults.remove(at)).is_some()
    }

    fn damage<T: Send + 'static>(&self, id: ActionId) -> Option<Answer<'_, T>> {
        let damaged = self.lock().contains(&Fault::Damaged(id));
        let (what, how) = (format!("the row of {id}"), "test".to_owned());
        let error = StoreError::new("reading", StoreErrorKind::Corrupt { what, how });
        damaged.then(|| -> Answer<'_, T> { Box::pin(std::future::ready(Err(error))) })
    }
}

/// It was written, and its caller cannot know.
fn in_doubt(doing: &'static str) -> StoreError {
    StoreError::new(doing, StoreErrorKind::InDoubt("test".to_owned()))
}

impl Store for FaultyStore {
    fn now(&self) -> Answer<'_, Timestamp> {
        self.inner.now()
    }

    fn admit(&self, admission: Admission) -> Answer<'_, Admitted> {
        let admitted = self.inner.admit(admission);
        if !self.strikes(Fault::AdmitInDoubt) {
            return admitted;
        }
        Box::pin(async move {
            admitted.await?;
            Err(in_doubt("recording a submission"))
        })
    }

    fn load(&self, id: ActionId) -> Answer<'_, Option<Record>> {
        self.damage(id).unwrap_or_else(|| self.inner.load(id))
    }

    fn find(&self, identity: IdentityHash) -> Answer<'_, Option<Record>> {
        self.inner.find(identity)
    }

    fn list(&self, filter: Filter) -> Answer<'_, Vec<Record>> {
        self.inner.list(filter)
    }

    fn history(&self, id: ActionId) -> Answer<'_, Vec<Evidence>> {
        self.inner.history(id)
    }

    fn due(&self, after: Option<(Timestamp, ActionId)>, limit: usize) -> Answer<'_, Vec<Due>> {
        self.inner.due(after, limit)
    }

    fn for_workers(
        &self,
        destination: String,
        after: Option<(Timestamp, ActionId)>,
        limit: usize,
    ) -> Answer<'_, Vec<Due>> {
        self.inner.for_workers(destination, after, limit)
    }

    fn counts(&self) -> Answer<'_, BTreeMap<(String, String), u64>> {
        self.inner.counts()
    }

    fn claim(&self, id: ActionId, worker: WorkerNonce, lease: Span) -> Answer<'_, Claimed> {
        self.damage(id)
            .unwrap_or_else(|| self.inner.claim(id, worker, lease))
    }

    fn renew<'a>(&'a self, claim: &'a Claim, lease: Span) -> Answer<'a, bool> {
        self.inner.renew(claim, lease)
    }

    fn release(&self, claim: Claim) -> Answer<'_, ()> {
        self.inner.release(claim)
    }

    fn record(&self, id: ActionId, facts: Vec<Fact>) -> Answer<'_, Option<Recorded>> {
        self.inner.record(id, facts)
    }

    fn record_at(
        &self,
        id: ActionId,
        version: u64,
        facts: Vec<Fact>,
    ) -> Answer<'_, Option<Committed>> {
        let meanwhile = self
            .lock()
            .pop_if(|fault| matches!(fault, Fault::Meanwhile(_)));
        if let Some(Fault::Meanwhile(fact)) = meanwhile {
            let recorded = crate::world::ready(self.inner.record(id, vec![fact]));
            assert!(matches!(recorded, Ok(Some(_))));
        }
        let recorded = self.inner.record_at(id, version, facts);
        if !self.strikes(Fault::RecordInDoubt) {
            return recorded;
        }
        Box::pin(async move {
            recorded.await?;
            Err(in_doubt("recording evidence"))
        })
    }

    fn commit<'a>(
        &'a self,
        claim: &'a Claim,
        facts: Vec<Fact>,
        next: NextRow,
    ) -> Answer<'a, Committed> {
        let answers = facts.iter().any(|fact| matches!(fact, Fact::Answered(_)));
        assert!(
            !(answers && self.strikes(Fault::AnswerBreaksOff)),
            "the commit breaks off, as the test wants it"
        );
        self.inner.commit(claim, facts, next)
    }

    fn deliver(&self, report: Report, forget_before: Timestamp) -> Answer<'_, Delivered> {
        self.inner.deliver(report, forget_before)
    }

    fn reports(&self, filter: ReportFilter) -> Answer<'_, Vec<KeptReport>> {
        self.inner.reports(filter)
    }

    fn know(&self, id: ActionId, names: Vec<Name>) -> Answer<'_, bool> {
        self.inner.know(id, names)
    }

    fn keep_contract(&self, digest: [u8; 32], text: String) -> Answer<'_, ()> {
        self.inner.keep_contract(digest, text)
    }

    fn contract(&self, digest: [u8; 32]) -> Answer<'_, Option<String>> {
        self.inner.contract(digest)
    }

    fn settled(
        &self,
        after: Option<ActionId>,
        made_before: Timestamp,
        limit: usize,
    ) -> Answer<'_, SettledPage> {
        self.inner.settled(after, made_before, limit)
    }

    fn purge(&self, wishes: Vec<Purge>, under: u64) -> Answer<'_, Purged> {
        self.inner.purge(wishes, under)
    }

    fn remains(&self, id: ActionId) -> Answer<'_, Option<Remains>> {
        self.inner.remains(id)
    }

    fn scopes(&self) -> Answer<'_, Vec<ScopeRow>> {
        self.inner.scopes()
    }

    fn forget_identities(&self, scope: Scope, before: Timestamp, limit: usize) -> Answer<'_, u64> {
        self.inner.forget_identities(scope, before, limit)
    }

    fn compact(&self) -> Answer<'_, u64> {
        self.inner.compact()
    }

    fn who_waits(&self, destination: String) -> Answer<'_, Vec<String>> {
        self.inner.who_waits(destination)
    }

    fn setting(&self, name: &str) -> Answer<'_, Option<String>> {
        self.inner.setting(name)
    }

    fn entry(&self, key: EntryKey) -> Answer<'_, Option<Entry>> {
        self.inner.entry(key)
    }

    fn entries(&self, filter: EntryFilter) -> Answer<'_, Vec<Entry>> {
        self.inner.entries(filter)
    }

    fn entries_due(&self, kind: Kind, until: Timestamp, limit: usize) -> Answer<'_, Vec<Entry>> {
        self.inner.entries_due(kind, until, limit)
    }

    fn entry_history(&self, key: EntryKey) -> Answer<'_, Vec<EntryVersion>> {
        self.inner.entry_history(key)
    }

    fn change(&self, changes: Vec<Change>) -> Answer<'_, Registered> {
        self.inner.change(changes)
    }

    fn forget_entries(&self, kind: Kind, before: Timestamp, limit: usize) -> Answer<'_, u64> {
        self.inner.forget_entries(kind, before, limit)
    }

    fn forget_versions(&self, kind: Kind, before: Timestamp) -> Answer<'_, u64> {
        self.inner.forget_versions(kind, before)
    }

    fn notices(&self, after: u64, limit: usize) -> Answer<'_, Notices> {
        self.inner.notices(after, limit)
    }

    fn forget_notices(&self, before: Timestamp, limit: usize) -> Answer<'_, u64> {
        self.inner.forget_notices(before, limit)
    }

    fn edition(&self) -> Answer<'_, u64> {
        self.inner.edition()
    }

    fn set_setting(&self, name: &str, value: Option<String>) -> Answer<'_, ()> {
        self.inner.set_setting(name, value)
    }

    fn restore(&self) -> Answer<'_, Option<Restore>> {
        self.inner.restore()
    }

    fn declare_restored(&self, copy_until: Option<Timestamp>) -> Answer<'_, Restore> {
        self.inner.declare_restored(copy_until)
    }

    fn release_restore(&self, by: String) -> Answer<'_, Option<Restore>> {
        self.inner.release_restore(by)
    }
}
