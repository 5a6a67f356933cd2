//! The rows of a store as values: what is handed in and what comes back.

use std::collections::BTreeMap;
use std::sync::Arc;

use factum_core::identity::{Fingerprint, Identity, IdentityHash, Scope};
use factum_core::{
    ActionId, Evidence, EvidenceId, Fact, Intent, Known, ProposalDigest, ProposalId, Span, State,
    Status, Timestamp, TraceContext, WorkerNonce,
};

use crate::purge::Tombstone;
use crate::register::Change;
use crate::report::Name;

/// The setting of a store that was moved, with who said so: nothing opens it for work any more.
pub const RETIRED: &str = "retired";

/// The setting that says since when a moved store is where it is. Of the processes that worked on it before, nobody here knows that
/// they are dead.
pub const IMPORTED_AT: &str = "imported_at";

/// Why a next step waits, in its row ([`NextRow::why`]), where a worker of an application's own carries it out.
/// [`crate::Store::for_workers`] finds it by these words.
pub const FOR_WORKERS: &str = "a worker carries it out in its own code";

/// Everything about an action that is fixed at submission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// What decisions rest on; its `action` is the id.
    pub intent: Intent,
    /// Within what the identity is unique.
    pub scope: Scope,
    /// The caller's name for the effect.
    pub identity: Identity,
    /// The keyed hash over scope and identity. Its first byte is the lane.
    pub identity_hash: IdentityHash,
    /// The keyed hash over everything that makes the effect.
    pub fingerprint: Fingerprint,
    /// Keyed hashes of the members that are compared on a join, by JSON pointer; they outlive the content.
    pub members: BTreeMap<String, MemberHash>,
    /// What is sent, and what belongs to it.
    pub content: Content,
}

/// A keyed hash of one compared member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemberHash(pub [u8; 16]);

/// What is sent and what it is about. No decision reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// The digest of the pinned contract.
    pub contract: [u8; 32],
    /// Values for the contract's templates: a JSON object, numbers as written.
    pub params: String,
    /// The payload as it was handed in: JSON text.
    pub payload: String,
    /// One line for people, safe to show.
    pub summary: Option<String>,
    /// What the action works on at its destination, as the caller names it: `ticket/77` (R14).
    pub subject: Option<String>,
    /// In which conversation it was asked for.
    pub conversation: Option<Conversation>,
    /// The language of whoever asked: a BCP 47 tag.
    pub locale: Option<String>,
    /// The caller's trace; correlates only.
    pub trace: Option<TraceContext>,
    /// The destination's base address at submission: what a key can be known within (R13). None where there is none.
    pub place: Option<String>,
    /// Under whose authority it was submitted: checked again before every send. None where nobody is named.
    pub asked_by: Option<AskedBy>,
    /// The approval that it rests on: compared again before every send (R23). None where it was submitted without one.
    pub approved: Option<Approved>,
    /// When params, payload, summary and what was asked were taken out of it. None while they are there.
    pub purged_at: Option<Timestamp>,
}

/// The approval that an action was made by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approved {
    /// What was approved.
    pub proposal: ProposalId,
    /// The digest of what would be sent, as it was shown.
    pub digest: ProposalDigest,
    /// The instant that stands in the request where the contract writes one: the proposal's own, so that what was shown is sent.
    pub as_of: Timestamp,
    /// The account at the destination then.
    pub account: Option<String>,
    /// Who approved it; nobody where a policy did.
    pub by: Vec<String>,
}

/// Under whose authority an action was submitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedBy {
    /// The principal who asked; for whom it is carried out stands in the scope.
    pub principal: String,
    /// The grant that lets them, if they need one.
    pub grant: Option<String>,
    /// The amount that it moves, where the contract says: a decimal number, and its currency.
    pub amount: Option<(String, Option<String>)>,
}

/// Where an action was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversation {
    /// Its name at the caller.
    pub id: String,
    /// Which turn.
    pub turn: Option<u64>,
    /// What was asked, in the asker's words.
    pub asked: Option<String>,
}

/// A submission on its way into the store.
#[derive(Clone, Debug)]
pub struct Admission {
    /// The action, should it be new.
    pub action: Action,
    /// Facts that are recorded with it: a first mark, a restore that it is older than, a refusal of the engine.
    pub facts: Vec<Fact>,
    /// Its next step.
    pub next: NextRow,
    /// Names by which the destination's reports find it: its reference and its key, where the contract matches by them.
    pub names: Vec<Name>,
    /// Claim it for this worker, for this long. There is no claim if a report had waited for it.
    pub claim_for: Option<(WorkerNonce, Span)>,
    /// The edition of the register that it was decided under. Under another one nothing is recorded: [`Admitted::Stale`].
    pub under: Option<u64>,
    /// Entries that are changed if the action is new, in its own transaction: both or neither. They lie in the action's lane
    /// ([`crate::EntryKey::beside`]). One that is at another version leaves everything as it is: [`Admitted::Stale`].
    pub entries: Vec<Change>,
    /// Identities whose intent was formed before this are refused unless they are kept (R24). None where they are kept for good.
    pub oldest: Option<Timestamp>,
    /// Equal content in its scope, under another identity, is looked for in its own transaction (R16).
    pub twins: Option<TwinGuard>,
}

/// What is to happen where equal content was submitted in one scope under another identity (R16).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TwinGuard {
    /// For how long after the last word about it an action that is done holds its twins off.
    pub within: Span,
    /// A second one is meant: it is recorded, and holds others off as the first one does.
    pub another: bool,
}

/// What became of a submission.
#[derive(Debug)]
pub enum Admitted {
    /// It was new. The claim is there if one was asked for.
    Created(Box<Record>, Option<Claim>),
    /// The identity named this action, with the same fingerprint.
    Joined(Box<Record>),
    /// The identity named this action, with another intent. Nothing was recorded.
    Conflict {
        /// The action that the identity names.
        first: Box<Record>,
        /// JSON pointers of the members that differ.
        members: Vec<String>,
    },
    /// What it was decided on is not so any more: the edition, or an entry that was to change with it. Nothing was recorded.
    Stale,
    /// An action of equal content in the same scope holds it off ([`TwinGuard`]). Nothing was recorded.
    HeldOff(Box<Record>),
    /// The identity names an action that was taken away, and of which this stayed. Nothing was recorded.
    Gone(Box<Tombstone>),
    /// The identities of this scope from before this instant are forgotten, and this one may be among them (R24). Nothing was recorded.
    Forgotten(Timestamp),
    /// An application's own transaction came first, and its action is not recorded yet. Nothing was recorded.
    Reserved(Reserved),
}

/// What an application's own transaction has committed, and no engine has taken over yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reserved {
    /// The id of the action, should it be recorded.
    pub action: ActionId,
    /// The submission, and the principal who makes it. None where an engine has refused it: then another one may come.
    pub waiting: Option<(String, String)>,
}

/// One action as it stands.
#[derive(Clone, Debug)]
pub struct Record {
    /// What is fixed. Shared by everybody who has the record in hand.
    pub action: Arc<Action>,
    /// What its evidence adds up to.
    pub known: Known,
    /// Raised by every recorded fact and every decision.
    pub version: u64,
    /// The next step as last decided.
    pub next: NextRow,
    /// A later action on the same subject was recorded, as of reading this (R14).
    pub overtaken: bool,
    /// The last link of the hash chain over its evidence. None in memory, and for actions of versions that made none.
    pub chain: Option<[u8; 32]>,
}

impl Record {
    /// The action's id.
    #[must_use]
    pub fn id(&self) -> ActionId {
        self.action.intent.action
    }

    /// The state and what belongs to it.
    #[must_use]
    pub fn status(&self) -> Status {
        self.known.status(&self.action.intent)
    }
}

/// A next step as it is written down: for listings and for waking up. Decisions are always made anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextRow {
    /// `send`, `look_up`, `poll`, `cancel_by_key`, `wait`, `review` or `none`.
    pub step: String,
    /// When; `None` for review and none.
    pub at: Option<Timestamp>,
    /// Why, for people.
    pub why: String,
}

/// A worker's hold on an action. It cannot be cloned, and without it no decision can be written.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub struct Claim {
    /// What is held.
    pub action: ActionId,
    /// New with every claim: a fence, also against the same worker's earlier claim.
    pub token: u64,
    /// The version that decisions are made on; the store raises it with each commit.
    pub version: u64,
    /// Whether a later action on the same subject existed when the action was read. Where that has changed, no mark that
    /// rests on it is written: see [`crate::Store::commit`].
    pub overtaken: bool,
    /// Free for others from then on.
    pub until: Timestamp,
    /// The edition of the register that decisions are made under. Under another one no mark is written.
    pub under: Option<u64>,
}

/// What became of a wish to claim.
#[derive(Debug)]
pub enum Claimed {
    /// It is held, and this is how it stands.
    Held(Claim, Box<Record>),
    /// Another claim holds it until then.
    Busy(Timestamp),
    /// There is no such action.
    Gone,
}

/// Facts were added.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The version now.
    pub version: u64,
    /// The names that the facts got, in their order.
    pub ids: Vec<EvidenceId>,
    /// The stamp that they got.
    pub at: Timestamp,
    /// The state before and after.
    pub states: (State, State),
    /// How the action stands after reports that had waited for a name in these facts, if any had. It is past `version`.
    pub behind: Option<Box<Record>>,
}

/// What became of a decision.
#[derive(Clone, Debug)]
pub enum Committed {
    /// It is durable. The claim's version is now this one (the caller carries it over with [`Claim::at_version`]).
    Durable(Recorded),
    /// The claim was superseded, had run out, or evidence arrived meanwhile. Nothing was written.
    Stale,
}

impl Claim {
    /// The same hold, at the version that a commit brought.
    pub fn at_version(self, version: u64) -> Self {
        Self { version, ..self }
    }

    /// The same hold, with decisions made under this edition of the register.
    pub fn under(self, edition: u64) -> Self {
        Self {
            under: Some(edition),
            ..self
        }
    }
}

/// A row of the work that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    /// When.
    pub at: Timestamp,
    /// What.
    pub action: ActionId,
    /// Where it goes, for limits per destination.
    pub destination: String,
}

/// Which actions to list. `None` matches everything.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Of this tenant.
    pub tenant: Option<String>,
    /// With this key (the caller's identity as text).
    pub key: Option<String>,
    /// In this state.
    pub state: Option<State>,
    /// With this next step, by its word.
    pub next: Option<String>,
    /// At this destination.
    pub destination: Option<String>,
    /// In this conversation.
    pub conversation: Option<String>,
    /// Made before this id: continues a listing.
    pub before: Option<ActionId>,
    /// At most this many.
    pub limit: usize,
}

/// The store came from an older copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restore {
    /// The last instant that the copy knows of.
    pub copy_until: Timestamp,
    /// When the restore was noticed or declared.
    pub at: Timestamp,
    /// Who released it, and when; effect requests are held until then.
    pub released: Option<(String, Timestamp)>,
}

/// Where sealing rows anew goes on: behind an action, an entry (kind, tenant, id) or a report's number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reseal {
    /// Behind this action, or at the first.
    Actions(Option<ActionId>),
    /// Behind this entry, or at the first.
    Entries(Option<(String, String, String)>),
    /// Behind the report with this number.
    Reports(u64),
    /// At what came after actions were taken away.
    Late,
}

impl Default for Reseal {
    fn default() -> Self {
        Self::Actions(None)
    }
}

/// The text of an identity in listings: the key itself, or source, id and effect of an event.
#[must_use]
pub fn identity_text(identity: &Identity) -> String {
    match identity {
        Identity::Key(key) => key.clone(),
        Identity::Event { event, effect } => format!("{} {} {effect}", event.source, event.id),
    }
}

/// Names the evidence that facts become: consecutive from the first unused name, all with one stamp.
#[must_use]
pub fn name_facts(known: &Known, at: Timestamp, facts: Vec<Fact>) -> Vec<Evidence> {
    let first = known.next_id().0;
    (first..)
        .zip(facts)
        .map(|(id, fact)| Evidence {
            id: EvidenceId(id),
            at,
            fact,
        })
        .collect()
}
