//! What the store is asked, command by command.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use factum_core::{ActionId, Evidence, Fact, IdentityHash, Scope, Span, Timestamp, WorkerNonce};
use tokio::sync::oneshot::channel;

use super::writer::Message;
use super::{
    Kind, SqliteStore, graves, heads, kept, notices, ops, purge, readers, register, reports,
    reseal, shrink, stopped,
};
use crate::head::{Census, Head};
use crate::meter::Meter;
use crate::notice::Notices;
use crate::purge::{Purge, Purged, Remains, ScopeRow, SettledPage};
use crate::record::{
    Admission, Admitted, Claim, Claimed, Committed, Due, Filter, NextRow, Record, Recorded, Reseal,
    Restore,
};
use crate::register::{Change, Entry, EntryFilter, EntryKey, EntryVersion, Registered};
use crate::report::{Delivered, KeptReport, Name, Report, ReportFilter};
use crate::shared::Fence;
use crate::texts::{Penned, sealed_change};
use crate::{Answer, Store, shared};

impl Store for SqliteStore {
    fn meter(&self) -> Option<&Meter> {
        Some(&self.progress.meter)
    }

    fn now(&self) -> Answer<'_, Timestamp> {
        Box::pin(std::future::ready(Ok(self.progress.clock.now())))
    }

    fn admit(&self, admission: Admission) -> Answer<'_, Admitted> {
        let prepared = ops::Prepared::of(&self.seals, admission);
        self.command(
            (ops::ADMITTING, Kind::Writes),
            move |work| ops::admit(work, prepared),
            |answer, claims| {
                if let Admitted::Created(_, Some(claim)) = answer {
                    claims.release(claim.action, claim.token);
                }
            },
        )
    }

    fn load(&self, id: ActionId) -> Answer<'_, Option<Record>> {
        self.readers
            .ask("loading an action", move |reader| reader.load(id))
    }

    fn find(&self, identity: IdentityHash) -> Answer<'_, Option<Record>> {
        self.readers
            .ask("finding an action", move |reader| reader.find(identity))
    }

    fn list(&self, filter: Filter) -> Answer<'_, Vec<Record>> {
        self.readers
            .ask("listing actions", move |reader| reader.list(&filter))
    }

    fn history(&self, id: ActionId) -> Answer<'_, Vec<Evidence>> {
        self.readers
            .ask("reading evidence", move |reader| reader.history(id))
    }

    fn due(&self, after: Option<(Timestamp, ActionId)>, limit: usize) -> Answer<'_, Vec<Due>> {
        self.readers.ask("listing what is due", move |reader| {
            reader.due(after, limit)
        })
    }

    fn for_workers(
        &self,
        destination: String,
        after: Option<(Timestamp, ActionId)>,
        limit: usize,
    ) -> Answer<'_, Vec<Due>> {
        self.readers
            .ask("listing what waits for workers", move |reader| {
                reader.for_workers(&destination, after, limit)
            })
    }

    fn counts(&self) -> Answer<'_, BTreeMap<(String, String), u64>> {
        self.readers
            .ask("counting actions", readers::Reader::counts)
    }

    fn claim(&self, id: ActionId, _worker: WorkerNonce, lease: Span) -> Answer<'_, Claimed> {
        self.command(
            (ops::CLAIMING, Kind::ForCaller),
            move |work| ops::claim(work, id, lease),
            |answer, claims| {
                if let Claimed::Held(claim, _) = answer {
                    claims.release(claim.action, claim.token);
                }
            },
        )
    }

    fn renew<'a>(&'a self, claim: &'a Claim, lease: Span) -> Answer<'a, bool> {
        let fence = Fence::of(claim);
        self.command(
            ("renewing a claim", Kind::Claims),
            move |work| {
                let now = work.now();
                Ok(work.claims.renew(fence.action, fence.token, lease, now))
            },
            |_, _| {},
        )
    }

    fn release(&self, claim: Claim) -> Answer<'_, ()> {
        self.command(
            ("releasing a claim", Kind::Claims),
            move |work| {
                work.claims.release(claim.action, claim.token);
                Ok(())
            },
            |(), _| {},
        )
    }

    fn record(&self, id: ActionId, facts: Vec<Fact>) -> Answer<'_, Option<Recorded>> {
        let facts = Penned::of(&self.seals, id, facts);
        self.command(
            (ops::RECORDING, Kind::Writes),
            move |work| ops::record(work, id, facts),
            |_, _| {},
        )
    }

    fn record_at(
        &self,
        id: ActionId,
        version: u64,
        facts: Vec<Fact>,
    ) -> Answer<'_, Option<Committed>> {
        let facts = Penned::of(&self.seals, id, facts);
        self.command(
            (ops::RECORDING, Kind::Writes),
            move |work| ops::record_at(work, id, version, facts),
            |_, _| {},
        )
    }

    fn commit<'a>(
        &'a self,
        claim: &'a Claim,
        facts: Vec<Fact>,
        next: NextRow,
    ) -> Answer<'a, Committed> {
        let fence = Fence::of(claim);
        let facts = Penned::of(&self.seals, fence.action, facts);
        self.command(
            (ops::COMMITTING, Kind::Writes),
            move |work| ops::commit(work, fence, facts, next),
            |_, _| {},
        )
    }

    fn deliver(&self, report: Report, forget_before: Timestamp) -> Answer<'_, Delivered> {
        self.command(
            (reports::DELIVERING, Kind::Writes),
            move |work| reports::deliver(work, report, forget_before),
            |_, _| {},
        )
    }

    fn reports(&self, filter: ReportFilter) -> Answer<'_, Vec<KeptReport>> {
        self.readers.ask("listing reports", move |reader| {
            let (conn, sums, _) = reader.parts();
            reports::list(conn, sums, &filter)
        })
    }

    fn know(&self, id: ActionId, names: Vec<Name>) -> Answer<'_, bool> {
        self.command(
            (ops::NAMING, Kind::Writes),
            move |work| ops::know(work, id, names),
            |_, _| {},
        )
    }

    fn keep_contract(&self, digest: [u8; 32], text: String) -> Answer<'_, ()> {
        self.command(
            (ops::KEEPING, Kind::Writes),
            move |work| ops::keep_contract(work, digest, &text),
            |(), _| {},
        )
    }

    fn contract(&self, digest: [u8; 32]) -> Answer<'_, Option<String>> {
        const DOING: &str = "reading a contract";
        self.readers.ask(DOING, move |reader| {
            let (conn, sums, _) = reader.parts();
            kept::contract(conn, sums, digest, DOING)
        })
    }

    fn entry(&self, key: EntryKey) -> Answer<'_, Option<Entry>> {
        self.readers
            .ask(register::READING, move |reader| reader.entry(&key))
    }

    fn entries(&self, filter: EntryFilter) -> Answer<'_, Vec<Entry>> {
        self.readers
            .ask(register::READING, move |reader| reader.entries(&filter))
    }

    fn entries_due(
        &self,
        kind: crate::Kind,
        until: Timestamp,
        limit: usize,
    ) -> Answer<'_, Vec<Entry>> {
        self.readers.ask(register::READING, move |reader| {
            reader.entries_due(kind, until, limit)
        })
    }

    fn entry_history(&self, key: EntryKey) -> Answer<'_, Vec<EntryVersion>> {
        self.readers
            .ask(register::READING, move |reader| reader.entry_history(&key))
    }

    fn change(&self, changes: Vec<Change>) -> Answer<'_, Registered> {
        let sealed = changes
            .iter()
            .map(|change| sealed_change(&self.seals, change));
        let changes: Vec<Change> = sealed.collect();
        self.command(
            (register::CHANGING, Kind::Writes),
            move |work| register::change(work, &changes),
            |_, _| {},
        )
    }

    fn forget_entries(
        &self,
        kind: crate::Kind,
        before: Timestamp,
        limit: usize,
    ) -> Answer<'_, u64> {
        self.command(
            (shared::FORGETTING, Kind::Writes),
            move |work| register::forget(work, kind, before, limit),
            |_, _| {},
        )
    }

    fn forget_versions(&self, kind: crate::Kind, before: Timestamp) -> Answer<'_, u64> {
        self.command(
            (shared::FORGETTING, Kind::Writes),
            move |work| register::forget_versions(work, kind, before),
            |_, _| {},
        )
    }

    fn edition(&self) -> Answer<'_, u64> {
        self.readers.ask(register::READING, |reader| {
            reader.plain(register::READING, register::edition)
        })
    }

    fn notices(&self, after: u64, limit: usize) -> Answer<'_, Notices> {
        self.readers
            .ask(notices::READING, move |reader| reader.notices(after, limit))
    }

    fn forget_notices(&self, before: Timestamp, limit: usize) -> Answer<'_, u64> {
        self.command(
            (notices::FORGETTING, Kind::Writes),
            move |work| notices::forget(work, before, limit),
            |_, _| {},
        )
    }

    fn settled(
        &self,
        after: Option<ActionId>,
        made_before: Timestamp,
        limit: usize,
    ) -> Answer<'_, SettledPage> {
        self.readers.ask(purge::READING, move |reader| {
            reader.settled(after, made_before, limit)
        })
    }

    fn purge(&self, wishes: Vec<Purge>, under: u64) -> Answer<'_, Purged> {
        self.command(
            (purge::PURGING, Kind::Writes),
            move |work| purge::purge(work, wishes, under),
            |_, _| {},
        )
    }

    fn remains(&self, id: ActionId) -> Answer<'_, Option<Remains>> {
        const DOING: &str = "reading what is left of an action";
        self.readers.ask(DOING, move |reader| {
            reader.at_once(DOING, |conn, sums, _| {
                graves::remains(conn, sums, id, DOING)
            })
        })
    }

    fn scopes(&self) -> Answer<'_, Vec<ScopeRow>> {
        self.readers.ask(purge::READING, |reader| {
            let (conn, sums, _) = reader.parts();
            purge::scopes(conn, sums)
        })
    }

    fn forget_identities(&self, scope: Scope, before: Timestamp, limit: usize) -> Answer<'_, u64> {
        self.command(
            (purge::PURGING, Kind::Writes),
            move |work| purge::forget_identities(work, &scope, before, limit),
            |_, _| {},
        )
    }

    fn compact(&self) -> Answer<'_, u64> {
        Box::pin(shrink::shrink(self))
    }

    fn who_waits(&self, destination: String) -> Answer<'_, Vec<String>> {
        const DOING: &str = "looking who waits";
        self.readers.ask(DOING, move |reader| {
            reader.plain(DOING, |conn| readers::who_waits(conn, &destination))
        })
    }

    fn sealed_rows(&self, key: Option<u32>) -> Answer<'_, u64> {
        const DOING: &str = "counting sealed rows";
        self.readers.ask(DOING, move |reader| {
            reader.plain(DOING, |conn| reseal::sealed_rows(conn, key))
        })
    }

    fn reseal(&self, from: Reseal, limit: usize) -> Answer<'_, Option<Reseal>> {
        self.command(
            (reseal::SEALING, Kind::Writes),
            move |work| reseal::reseal(work, from, limit),
            |_, _| {},
        )
    }

    fn scour(&self) -> Answer<'_, u64> {
        const DOING: &str = reseal::SCOURING;
        let (answer, answered) = channel();
        let sent = self.send(DOING, Message::Scour(answer));
        Box::pin(async move {
            sent?;
            answered.await.unwrap_or_else(|_| Err(stopped(DOING)))
        })
    }

    fn heads(&self, after: Option<ActionId>, limit: usize) -> Answer<'_, Vec<Head>> {
        self.readers.ask(heads::READING, move |reader| {
            reader.plain(heads::READING, |conn| heads::page(conn, after, limit))
        })
    }

    fn census(&self) -> Answer<'_, Census> {
        self.readers.ask(heads::READING, |reader| {
            reader.plain(heads::READING, heads::counted)
        })
    }

    fn setting(&self, name: &str) -> Answer<'_, Option<String>> {
        const DOING: &str = "reading a setting";
        let name = name.to_owned();
        self.readers.ask(DOING, move |reader| {
            let (conn, sums, _) = reader.parts();
            kept::setting(conn, sums, &name, DOING)
        })
    }

    fn set_setting(&self, name: &str, value: Option<String>) -> Answer<'_, ()> {
        let name = name.to_owned();
        self.command(
            (ops::SETTING, Kind::Writes),
            move |work| ops::put_setting(work, &name, value.as_deref()),
            |(), _| {},
        )
    }

    fn restore(&self) -> Answer<'_, Option<Restore>> {
        const DOING: &str = "reading the restore";
        if !self.restored.load(Ordering::Acquire) {
            return Box::pin(std::future::ready(Ok(None)));
        }
        self.readers.ask(DOING, |reader| {
            let (conn, sums, _) = reader.parts();
            kept::restore(conn, sums, DOING)
        })
    }

    fn declare_restored(&self, copy_until: Option<Timestamp>) -> Answer<'_, Restore> {
        self.restored.store(true, Ordering::Release);
        self.command(
            (ops::RESTORING, Kind::Writes),
            move |work| ops::declare_restored(work, copy_until),
            |_, _| {},
        )
    }

    fn release_restore(&self, by: String) -> Answer<'_, Option<Restore>> {
        self.command(
            (ops::RELEASING, Kind::Writes),
            move |work| ops::release_restore(work, by),
            |_, _| {},
        )
    }
}
