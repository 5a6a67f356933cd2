//! Where it is written down: one trait, with memory, SQLite and PostgreSQL behind it.
//!
//! A store keeps actions and their evidence, and holds two write paths apart. [`Store::record`] adds facts and is never refused
//! as stale. [`Store::commit`] writes a decision, fenced by a claim and by the version that every recorded fact raises.
//! A store never decides anything: the state in a row is the core's fold of the row's evidence, and the next step is handed in.

#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod cache;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod chain;
pub mod clock;
mod digest;
#[cfg(feature = "postgres")]
mod effect;
#[cfg(all(any(feature = "sqlite", feature = "postgres"), not(fuzzing)))]
mod encoding;
// A fuzzer has to reach what is nobody else's business.
#[cfg(all(any(feature = "sqlite", feature = "postgres"), fuzzing))]
pub mod encoding;
mod error;
pub mod head;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod keys;
mod matching;
pub mod memory;
pub mod meter;
pub mod notice;
#[cfg(feature = "postgres")]
pub mod postgres;
pub mod purge;
pub mod record;
pub mod register;
pub mod report;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub mod seal;
mod shared;
#[cfg(feature = "sqlite")]
pub mod sqlite;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod texts;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub mod transfer;
mod twins;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub mod verify;

// The submissions are shared with the integration tests, which know the crate by this name.
#[cfg(all(test, feature = "sqlite"))]
extern crate self as factum_store;
#[cfg(all(test, feature = "sqlite"))]
#[path = "../tests/it/actions.rs"]
mod actions;

use std::future::Future;
use std::pin::Pin;

pub use clock::{Clock, system_clock};
pub use digest::identity_digest;
pub use error::{StoreError, StoreErrorKind};
use factum_core::{
    ActionId, Evidence, Fact, IdentityHash, Lane, Scope, Span, Timestamp, WorkerNonce,
};
pub use head::{Census, Head};
pub use memory::MemoryStore;
pub use meter::Meter;
pub use notice::{Notice, Notices, Topic};
pub use purge::{
    PURGED_MAX, Purge, Purged, Remains, ScopeRow, SettledPage, Take, Tombstone, intent_time,
};
pub use record::{
    Action, Admission, Admitted, Approved, AskedBy, Claim, Claimed, Committed, Content,
    Conversation, Due, FOR_WORKERS, Filter, IMPORTED_AT, MemberHash, NextRow, RETIRED, Record,
    Recorded, Reseal, Reserved, Restore, TwinGuard,
};
pub use register::{Change, Changed, Entry, EntryFilter, EntryKey, EntryVersion, Kind, Registered};
pub use report::{Delivered, KeptReport, Name, Reading, Report, ReportFilter, ReportId, Site};

/// A store's answer, some time later. The memory store's futures are ready at once.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// Where actions and evidence are written down.
///
/// Every method that writes has committed with the store's full durability when its future is ready. A crash before that
/// leaves either all of it or nothing; a caller that lost the answer repeats the call (each says how).
pub trait Store: Send + Sync + 'static {
    /// The store's clock, read before anything that is asked for afterwards.
    fn now(&self) -> Answer<'_, Timestamp>;

    /// Records a new action, or finds the one that its identity names, in one transaction.
    ///
    /// Repeating it joins. With `claim_for`, a new action is claimed in the same transaction, and the facts may hold its
    /// first mark. Where an application's transaction has reserved an id for the identity, nothing is recorded under another one:
    /// see [`Admitted::Reserved`]. With a [`TwinGuard`], nothing is recorded beside an action of equal content that holds it off: of
    /// two that come at once, one is ([`Admitted::HeldOff`] for the other).
    fn admit(&self, admission: Admission) -> Answer<'_, Admitted>;

    /// One action with all its evidence.
    fn load(&self, id: ActionId) -> Answer<'_, Option<Record>>;

    /// The action that an identity names.
    fn find(&self, identity: IdentityHash) -> Answer<'_, Option<Record>>;

    /// Actions that match, newest first, at most `filter.limit`. Fewer than that are all there are; damaged ones are left out.
    fn list(&self, filter: Filter) -> Answer<'_, Vec<Record>>;

    /// The evidence of an action, in the order of storing.
    fn history(&self, id: ActionId) -> Answer<'_, Vec<Evidence>>;

    /// Actions with a next step at a time, soonest first; `after` continues a listing behind its last row.
    fn due(&self, after: Option<(Timestamp, ActionId)>, limit: usize) -> Answer<'_, Vec<Due>>;

    /// What it counts about its own writing in this process; none where nothing is written to a disk.
    fn meter(&self) -> Option<&Meter> {
        None
    }

    /// Whether several processes work on this store at the same time.
    fn is_shared(&self) -> bool {
        false
    }

    /// Says that a worker lives until `lease` from now, and gives the workers that live, in order. A store that one process
    /// holds knows of that one alone. What a worker holds that has stopped saying so, or that said so for no time at all because
    /// it ends, is free for others at once: if it only stood still, its claims are refused by their tokens. What it marked is
    /// due when the mark's own lease is over, and not before.
    fn beat(&self, worker: WorkerNonce, lease: Span) -> Answer<'_, Vec<WorkerNonce>> {
        let _ = lease;
        Box::pin(std::future::ready(Ok(vec![worker])))
    }

    /// How many more actions this worker may record until it asks again, for as long as it is taken to live: over all workers no
    /// more than `unsettled_max` then have a next step at a time. Given out on the safe side: what one was given counts until it
    /// asks again, and one that is not taken to live is given nothing. `None` where one process holds the store, and knows how many there are.
    fn room(&self, worker: WorkerNonce, unsettled_max: usize) -> Answer<'_, Option<usize>> {
        let _ = (worker, unsettled_max);
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Actions of these lanes that were due before `before` and that nobody holds who lives: what a worker that died, or an application's
    /// own transaction, has left. Soonest first; `after` continues a listing behind its last row. A store that one process holds
    /// has none: that process knows what is due.
    fn overdue(
        &self,
        lanes: Vec<Lane>,
        before: Timestamp,
        after: Option<(Timestamp, ActionId)>,
        limit: usize,
    ) -> Answer<'_, Vec<Due>> {
        let _ = (lanes, before, after, limit);
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    /// Actions at a destination whose next step waits for a worker of an application's own ([`FOR_WORKERS`]), soonest first;
    /// `after` continues a listing behind its last row. Some of them may be held by somebody.
    fn for_workers(
        &self,
        destination: String,
        after: Option<(Timestamp, ActionId)>,
        limit: usize,
    ) -> Answer<'_, Vec<Due>>;

    /// How many actions stand in each state and for each next step, by the store's own words for them.
    fn counts(&self) -> Answer<'_, std::collections::BTreeMap<(String, String), u64>>;

    /// Claims an action for a worker until `lease` from now. A claim whose lease ran out is free again; a live one is busy
    /// for everybody, its own worker included, so that recovery never adopts it.
    fn claim(&self, id: ActionId, worker: WorkerNonce, lease: Span) -> Answer<'_, Claimed>;

    /// Prolongs a claim until `lease` from now; it never shortens one. False if it is no longer this claim's: the holder has to stop.
    fn renew<'a>(&'a self, claim: &'a Claim, lease: Span) -> Answer<'a, bool>;

    /// Gives a claim back without a decision. A claim that is no longer held is left alone.
    fn release(&self, claim: Claim) -> Answer<'_, ()>;

    /// Adds facts. Never refused as stale: late evidence is evidence. The row becomes due at once, its version rises, and
    /// claims on an older version can commit nothing any more. `None` if there is no such action. No facts change nothing.
    fn record(&self, id: ActionId, facts: Vec<Fact>) -> Answer<'_, Option<Recorded>>;

    /// The same, if nothing was recorded or decided since this version was read: for what somebody concluded from the action as
    /// it stood then. [`Committed::Stale`] has written nothing.
    fn record_at(
        &self,
        id: ActionId,
        version: u64,
        facts: Vec<Fact>,
    ) -> Answer<'_, Option<Committed>>;

    /// Writes a decision: facts (a mark, an opened review, …) and the next step. Fenced by the claim's token, its lease and
    /// its version. The claim stays held at the new version. A next step that forgets what is not settled is an error (law 8).
    ///
    /// The mark of a send that is not the first is fenced by its subject too (R14): where a later action on it was recorded since the
    /// claim was read, the commit is stale.
    fn commit<'a>(
        &'a self,
        claim: &'a Claim,
        facts: Vec<Fact>,
        next: NextRow,
    ) -> Answer<'a, Committed>;

    /// Keeps a destination's report and, if its names find one action, records it there as evidence, in one transaction. One
    /// that finds none waits: the transaction that brings its name ([`Store::admit`], [`Store::record`], [`Store::commit`],
    /// [`Store::know`]) records it. Of two such transactions at once the later one sees what the earlier one wrote. Equal
    /// reports are one; a report whose fact the action holds already adds nothing. Those stored before `forget_before` are
    /// forgotten little by little, and beyond a fixed number the oldest. Repeating it changes nothing.
    fn deliver(&self, report: Report, forget_before: Timestamp) -> Answer<'_, Delivered>;

    /// Reports, newest first, at most `filter.limit`. Fewer than that are all there are; damaged ones are left out.
    fn reports(&self, filter: ReportFilter) -> Answer<'_, Vec<KeptReport>>;

    /// Adds names by which reports find an action: those that no fact brings. Gives whether a report had waited for one.
    /// Repeating it changes nothing.
    fn know(&self, id: ActionId, names: Vec<Name>) -> Answer<'_, bool>;

    /// Keeps the text of a contract under its digest, so that an action's pinned contract can be read for as long as the
    /// action. Repeating it changes nothing.
    fn keep_contract(&self, digest: [u8; 32], text: String) -> Answer<'_, ()>;

    /// The text of the contract with this digest.
    fn contract(&self, digest: [u8; 32]) -> Answer<'_, Option<String>>;

    /// One entry of the register.
    fn entry(&self, key: EntryKey) -> Answer<'_, Option<Entry>>;

    /// Entries that match, by tenant and id, at most `filter.limit`. Fewer than that are all there are; damaged ones are left out.
    fn entries(&self, filter: EntryFilter) -> Answer<'_, Vec<Entry>>;

    /// Entries of a kind whose time has come, soonest first.
    fn entries_due(&self, kind: Kind, until: Timestamp, limit: usize) -> Answer<'_, Vec<Entry>>;

    /// All versions of an entry, oldest first.
    fn entry_history(&self, key: EntryKey) -> Answer<'_, Vec<EntryVersion>>;

    /// Changes entries, all or none, each at the version that it was read at. Repeating it after a lost answer is
    /// [`Registered::Stale`], or durable where the store can tell that the first try was.
    fn change(&self, changes: Vec<Change>) -> Answer<'_, Registered>;

    /// Forgets entries of a kind, with their versions, that were last changed before an instant; gives how many of at most
    /// `limit`. Authority is never forgotten: that is an error.
    fn forget_entries(&self, kind: Kind, before: Timestamp, limit: usize) -> Answer<'_, u64>;

    /// Forgets the versions of a kind's entries from before an instant, all but the one that stands; gives how many. For what is
    /// changed all the time, and of which nobody asks how it was. Authority is never forgotten: that is an error.
    fn forget_versions(&self, kind: Kind, before: Timestamp) -> Answer<'_, u64>;

    /// How often authority has changed ([`Kind::is_authority`]). Decisions are made under an edition, and a submission
    /// ([`Admission::under`]) or a mark ([`Claim::under`]) that was decided under another one is not written: what was changed
    /// before it, by whichever worker, holds for it.
    fn edition(&self) -> Answer<'_, u64>;

    /// Notices behind a number, oldest first: of the next `limit` numbers, of all tenants. What is committed with a later number is
    /// there at every later look; nothing is ever added before a number that was given out, whichever transactions are still open.
    /// Damaged ones are left out.
    fn notices(&self, after: u64, limit: usize) -> Answer<'_, Notices>;

    /// Forgets notices from before an instant, oldest first, at most `limit`; gives how many. The last one stays, so that numbers
    /// go on behind it.
    fn forget_notices(&self, before: Timestamp, limit: usize) -> Answer<'_, u64>;

    /// The settled actions among the next `limit` ones that were made before an instant, in an order of the store's own; `after`
    /// continues behind a page's last one. Damaged ones are left out.
    fn settled(
        &self,
        after: Option<ActionId>,
        made_before: Timestamp,
        limit: usize,
    ) -> Answer<'_, SettledPage>;

    /// Takes content out of settled actions, or whole actions away, in one transaction (on PostgreSQL: one for each lane); at most
    /// [`PURGED_MAX`]. Nothing is taken of what is not settled, stands at another version, or is the later action on a subject of which
    /// an earlier one is not settled (R14). Where the register is not at this edition, nothing is done. Repeating it changes nothing.
    fn purge(&self, wishes: Vec<Purge>, under: u64) -> Answer<'_, Purged>;

    /// What is left of an action that was taken away.
    fn remains(&self, id: ActionId) -> Answer<'_, Option<Remains>>;

    /// The scopes of which actions were taken away.
    fn scopes(&self) -> Answer<'_, Vec<ScopeRow>>;

    /// Forgets tombstones of a scope whose intent was formed before an instant, at most `limit`, and raises the scope's watermark to
    /// it, in one transaction; gives how many. Those without such a time stay.
    fn forget_identities(&self, scope: Scope, before: Timestamp, limit: usize) -> Answer<'_, u64>;

    /// Gives the room of what was taken away back to the disk, as far as the store can; gives how many bytes.
    fn compact(&self) -> Answer<'_, u64> {
        Box::pin(std::future::ready(Ok(0)))
    }

    /// Takes what was overwritten or taken away out of the store's files, so that no copy of them holds it any more; gives how many bytes
    /// they are smaller. Takes as long as the store is large, and nothing is written meanwhile.
    fn scour(&self) -> Answer<'_, u64> {
        Box::pin(std::future::ready(Ok(0)))
    }

    /// The tenants that wait at a destination for it to say what became of an action of theirs: accepted or unknown, with the
    /// next step `wait`. In order, each once.
    fn who_waits(&self, destination: String) -> Answer<'_, Vec<String>>;

    /// How many rows are sealed with this key; with `None`, how many stand in clear. Reads every row. A store in memory has none.
    fn sealed_rows(&self, key: Option<u32>) -> Answer<'_, u64> {
        let _ = key;
        Box::pin(std::future::ready(Ok(0)))
    }

    /// Seals the next rows anew with the newest key, at most about `limit` of one kind; gives where to go on, `None` at the end.
    /// Damaged rows are left as they are.
    fn reseal(&self, from: Reseal, limit: usize) -> Answer<'_, Option<Reseal>> {
        let _ = (from, limit);
        Box::pin(std::future::ready(Ok(None)))
    }

    /// The next actions in the order of their ids, and how far the evidence of each goes. A store in memory has no chains, and none.
    fn heads(&self, after: Option<ActionId>, limit: usize) -> Answer<'_, Vec<Head>> {
        let _ = (after, limit);
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    /// What the store is called, and how much of it was taken away.
    fn census(&self) -> Answer<'_, Census> {
        Box::pin(std::future::ready(Ok(Census::default())))
    }

    /// A store-wide setting, such as `paused`.
    fn setting(&self, name: &str) -> Answer<'_, Option<String>>;

    /// Sets or removes a store-wide setting.
    fn set_setting(&self, name: &str, value: Option<String>) -> Answer<'_, ()>;

    /// The last restore of this store from a copy, if it was ever noticed or declared.
    fn restore(&self) -> Answer<'_, Option<Restore>>;

    /// Declares that this store came from a copy whose last instant was `copy_until` (the last stamp in it where `None`).
    fn declare_restored(&self, copy_until: Option<Timestamp>) -> Answer<'_, Restore>;

    /// Allows effect requests again after a restore. `by` names the operator.
    fn release_restore(&self, by: String) -> Answer<'_, Option<Restore>>;
}
