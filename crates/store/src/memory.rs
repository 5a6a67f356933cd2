//! A store in memory, for tests and the simulator: its futures are ready at once, its clock is handed in, and it iterates in
//! the order of its keys only. It keeps the same promises as the others except that nothing survives the process.

mod commands;
mod notices;
mod purge;
mod register;
mod reports;
mod sound;
mod twins;
mod workers;

use std::collections::{BTreeMap, BTreeSet};
use std::future::ready;
use std::sync::{Mutex, MutexGuard, PoisonError};

use factum_core::mistake::{Mistake, made};
use factum_core::{ActionId, Evidence, Fact, IdentityHash, Resolution, Timestamp, WorkerNonce};

use self::sound::{ADMITTING, COMMITTING, sound_step};
use crate::clock::{Clock, RisingClock};
use crate::matching::Known;
use crate::record::{
    Admission, Admitted, Claim, Committed, Due, NextRow, Record, Recorded, Restore,
};
use crate::register::{Change, Registered};
use crate::report::{KeptReport, Name};
use crate::shared::{Claims, Overtaker};
use crate::{Answer, StoreError, matching, shared};

/// A store in memory. See the module's documentation.
pub struct MemoryStore {
    clock: RisingClock,
    /// Several workers work on it at the same time, as on a server.
    shared: bool,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    rows: BTreeMap<ActionId, Row>,
    identities: BTreeMap<IdentityHash, ActionId>,
    due: BTreeSet<(Timestamp, ActionId)>,
    claims: Claims,
    known_by: BTreeMap<Known, BTreeSet<ActionId>>,
    reports: BTreeMap<u64, KeptReport>,
    contracts: BTreeMap<[u8; 32], String>,
    settings: BTreeMap<String, String>,
    register: register::Register,
    notices: notices::Shelf,
    twins: BTreeMap<[u8; 32], twins::Row>,
    graveyard: purge::Graveyard,
    restore: Option<Restore>,
    stamped: Option<Timestamp>,
    /// Until when each worker that said so lives.
    workers: BTreeMap<WorkerNonce, Timestamp>,
    /// How many more actions each may record until it asks again.
    rooms: BTreeMap<WorkerNonce, usize>,
    /// Who claimed an action last.
    holders: BTreeMap<ActionId, WorkerNonce>,
}

#[derive(Clone)]
struct Row {
    record: Record,
    evidence: Vec<Evidence>,
}

impl MemoryStore {
    /// An empty store on this clock.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        Self {
            clock: RisingClock::new(clock, Timestamp::EARLIEST),
            shared: false,
            inner: Mutex::default(),
        }
    }

    /// An empty store on this clock that several workers share: they tell each other that they live, and find what those that
    /// died have left.
    #[must_use]
    pub fn shared(clock: Clock) -> Self {
        Self {
            shared: true,
            ..Self::new(clock)
        }
    }

    /// Frees every claim, as the end of the process that holds the store does. Marks stay what they are.
    pub fn restart(&self) {
        self.lock().claims.clear();
    }

    /// A second store with the same rows, as a copy of a file is one. Claims are not in it, and it does not know that it
    /// is a copy: see [`crate::Store::declare_restored`].
    #[must_use]
    pub fn copy(&self) -> Self {
        let inner = self.lock();
        Self {
            clock: RisingClock::new(self.clock.wall_clock(), self.clock.last()),
            shared: self.shared,
            inner: Mutex::new(Inner {
                rows: inner.rows.clone(),
                identities: inner.identities.clone(),
                due: inner.due.clone(),
                claims: Claims::new(inner.claims.tokens_given()),
                known_by: inner.known_by.clone(),
                reports: inner.reports.clone(),
                contracts: inner.contracts.clone(),
                settings: inner.settings.clone(),
                register: inner.register.clone(),
                notices: inner.notices.clone(),
                twins: inner.twins.clone(),
                graveyard: inner.graveyard.clone(),
                restore: inner.restore.clone(),
                stamped: inner.stamped,
                workers: BTreeMap::new(),
                rooms: BTreeMap::new(),
                holders: BTreeMap::new(),
            }),
        }
    }

    /// A panic between two writes cannot happen: every method computes first and writes last.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn answer<'a, T: Send + 'a>(value: T) -> Answer<'a, T> {
    Box::pin(ready(Ok(value)))
}

impl Inner {
    fn row(&self, id: ActionId) -> Option<Record> {
        self.rows.get(&id).map(|row| self.fresh(&row.record))
    }

    /// The record, with what is known now about its subject.
    fn fresh(&self, record: &Record) -> Record {
        Record {
            overtaken: self.is_overtaken(record),
            ..record.clone()
        }
    }

    fn due_row(&self, (at, id): &(Timestamp, ActionId)) -> Option<Due> {
        let row = self.rows.get(id)?;
        Some(Due {
            at: *at,
            action: *id,
            destination: row.record.action.scope.destination.clone(),
        })
    }

    fn is_overtaken(&self, record: &Record) -> bool {
        let Some(wanted) = Overtaker::of(&record.action) else {
            return false;
        };
        let mut later = self.rows.range(wanted.from..);
        later.any(|(_, row)| wanted.is(&row.record.action))
    }

    /// Whether the register is still at this edition, where it has to be.
    fn is_under(&self, edition: Option<u64>) -> bool {
        edition.is_none_or(|edition| edition == self.register.edition)
    }

    fn admit(&mut self, admission: Admission, now: Timestamp) -> Result<Admitted, StoreError> {
        shared::sound(&admission)?;
        let identity = admission.action.identity_hash;
        let first = self.identities.get(&identity).and_then(|id| self.row(*id));
        let resolution = shared::resolution(first.as_ref(), &admission.action);
        if let Some(first) = first
            && resolution != Resolution::New
        {
            return Ok(shared::join(first, &admission.action));
        }
        if let Some(answer) = self.graveyard.answer(&admission) {
            return Ok(answer);
        }
        if !self.is_under(admission.under) || !self.register.fits(&admission.entries) {
            return Ok(Admitted::Stale);
        }
        if let Some(first) = self.twin_before(&admission, now) {
            return Ok(Admitted::HeldOff(Box::new(first)));
        }
        let entries = admission.entries.clone();
        let (wish, mut names) = (admission.claim_for, admission.names.clone());
        names.extend(matching::names_of(&admission.facts));
        let guard = admission.twins;
        let (mut record, evidence, news) = shared::admitted(admission, now);
        record.overtaken = self.is_overtaken(&record);
        let id = record.id();
        if self.rows.contains_key(&id) {
            return Err(shared::id_taken());
        }
        sound_step(&record, ADMITTING)?;
        if made(Mistake::AcknowledgedUnwritten) {
            return Ok(Admitted::Created(Box::new(record), None));
        }
        self.identities.insert(identity, id);
        self.name_twin(guard, &record, now);
        self.due.extend(record.next.at.map(|at| (at, id)));
        let row = Row {
            record: record.clone(),
            evidence,
        };
        let place = matching::place(&record);
        self.rows.insert(id, row);
        self.stamped = Some(now);
        self.register.make(entries, now);
        self.notices.of_action(&record, &news, now);
        let shelf = &mut reports::OnShelf { inner: self, now };
        if matching::name_action(shelf, id, place, names)? {
            let record = self.row(id).unwrap_or(record);
            return Ok(Admitted::Created(Box::new(record), None));
        }
        let claim = wish.and_then(|(worker, lease)| {
            self.holders.insert(id, worker);
            self.claims.take(&record, lease, now).ok()
        });
        Ok(Admitted::Created(Box::new(record), claim))
    }

    fn append(
        &mut self,
        id: ActionId,
        now: Timestamp,
        facts: Vec<Fact>,
        next: NextRow,
    ) -> Result<Option<Recorded>, StoreError> {
        let names = matching::names_of(&facts);
        let Some(mut recorded) = self.append_only(id, now, facts, next)? else {
            return Ok(None);
        };
        if self.name(id, names, now)? {
            recorded.behind = self.row(id).map(Box::new);
        }
        Ok(Some(recorded))
    }

    fn name(&mut self, id: ActionId, names: Vec<Name>, now: Timestamp) -> Result<bool, StoreError> {
        let Some(place) = self.rows.get(&id).map(|row| matching::place(&row.record)) else {
            return Ok(false);
        };
        matching::name_action(&mut reports::OnShelf { inner: self, now }, id, place, names)
    }

    fn append_only(
        &mut self,
        id: ActionId,
        now: Timestamp,
        facts: Vec<Fact>,
        next: NextRow,
    ) -> Result<Option<Recorded>, StoreError> {
        let Some(row) = self.rows.get_mut(&id) else {
            return Ok(None);
        };
        let was = row.record.next.at;
        let mut record = row.record.clone();
        let (recorded, evidence, news) = shared::append(&mut record, now, facts, next);
        sound_step(&record, COMMITTING)?;
        self.notices.of_action(&record, &news, now);
        row.record = record;
        row.evidence.extend(evidence);
        let is = row.record.next.at;
        if let Some(at) = was {
            self.due.remove(&(at, id));
        }
        self.due.extend(is.map(|at| (at, id)));
        self.stamped = Some(now);
        Ok(Some(recorded))
    }

    fn record(
        &mut self,
        id: ActionId,
        facts: Vec<Fact>,
        now: Timestamp,
    ) -> Result<Option<Recorded>, StoreError> {
        if facts.is_empty() {
            let row = self.rows.get(&id);
            return Ok(row.map(|row| shared::nothing_recorded(&row.record, now)));
        }
        if !self.rows.contains_key(&id) {
            self.graveyard.late(id, facts, now);
            return Ok(None);
        }
        let before = self.rows.get(&id).map(|row| row.record.version);
        let recorded = self.append(id, now, facts, shared::decide_anew(now));
        if let (Some(version), Some(row)) = (before, self.rows.get_mut(&id))
            && made(Mistake::EvidenceDoesNotFence)
        {
            row.record.version = version;
        }
        recorded
    }

    fn record_at(
        &mut self,
        id: ActionId,
        version: u64,
        facts: Vec<Fact>,
        now: Timestamp,
    ) -> Result<Option<Committed>, StoreError> {
        match self.rows.get(&id) {
            Some(row) if row.record.version != version => Ok(Some(Committed::Stale)),
            Some(_) | None => Ok(self.record(id, facts, now)?.map(Committed::Durable)),
        }
    }

    fn commit(
        &mut self,
        claim: &Claim,
        facts: Vec<Fact>,
        next: NextRow,
        now: Timestamp,
    ) -> Result<Committed, StoreError> {
        let current = self.rows.get(&claim.action).is_some_and(|row| {
            let unmoved = || self.is_overtaken(&row.record) == claim.overtaken;
            row.record.version == claim.version
                && (!shared::rests_on_subject(&facts) || unmoved())
                && (!shared::rests_on_authority(&facts) || self.is_under(claim.under))
        }) || made(Mistake::CommitNotFenced);
        if !current || !self.claims.holds(claim.action, claim.token, now) {
            return Ok(Committed::Stale);
        }
        let recorded = self.append(claim.action, now, facts, next)?;
        Ok(recorded.map_or(Committed::Stale, Committed::Durable))
    }

    fn change(&mut self, changes: Vec<Change>, now: Timestamp) -> Registered {
        let made = changes.clone();
        let changed = self.register.change(changes, now);
        if changed != Registered::Stale {
            self.notices.of_changes(&made, now);
        }
        changed
    }
}
