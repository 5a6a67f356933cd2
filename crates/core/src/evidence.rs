//! Evidence: append-only facts about an action. Each names what it speaks for; none depends on its position among the others (R9).

mod answers;
mod words;

use crate::bound::Bound;
use crate::id::{AttemptNo, Epoch, EvidenceId, WorkerNonce};
use crate::mistake::{Mistake, made};
use crate::promise::{LookupBy, Missing};
use crate::time::Timestamp;

/// One record in the log of an action.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Evidence {
    /// Its name within the action.
    pub id: EvidenceId,
    /// When it was stored. For people and for scheduling; never proof of anything (R2).
    pub at: Timestamp,
    /// What it says.
    pub fact: Fact,
}

/// What a record says.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fact {
    /// Attempt n may now write: durable before its first byte (law 1).
    Marked(Mark),
    /// Proof from our side of the socket that no byte of the attempt left.
    NotSent {
        /// The attempt.
        attempt: AttemptNo,
        /// How far it came.
        phase: Phase,
        /// What went wrong, for people.
        detail: String,
    },
    /// The attempt ended without an answer that could be read whole; it may have taken effect.
    Lost(Loss),
    /// A complete answer was read.
    Answered(Answer),
    /// The process that wrote this mark is known to be dead, so it will write nothing more.
    ProcessGone {
        /// Whose marks it speaks for.
        worker: WorkerNonce,
        /// When that was known.
        at: Timestamp,
    },
    /// The lease over a marked request ran out without any word of it.
    LeaseOver {
        /// What was leased.
        request: RequestRef,
        /// The store's time then.
        at: Timestamp,
    },
    /// Whoever carries out a marked request in their own code is still at work: its lease ends later. It says nothing about the
    /// permission, nor about when the request can no longer land (R1).
    LeaseExtended {
        /// What is leased.
        request: RequestRef,
        /// Without word by then, it is maybe sent.
        until: Timestamp,
    },
    /// A lookup was answered, or failed.
    LookedUp(Lookup),
    /// The completion of queued work was asked for.
    Polled {
        /// The attempt whose acceptance is followed.
        attempt: AttemptNo,
        /// The store's time, read before the question was sent.
        asked_at: Timestamp,
        /// What came back.
        answer: PollAnswer,
    },
    /// A cancel by key may now write. It is an effect request: marked, bounded and fenced like an attempt (R5).
    CancelMarked(CancelMark),
    /// A cancel by key was answered, or its answer lost.
    CancelAnswered {
        /// Which cancel.
        no: u32,
        /// What came back.
        answer: CancelAnswer,
    },
    /// The destination reported something by itself.
    CalledBack(Callback),
    /// A person's decision.
    Verdict(Verdict),
    /// A person works on this item; nobody else touches it (R6).
    Taken {
        /// Who.
        by: String,
    },
    /// The person is done with it, or gave it back; or a review was opened while its answer was on the way.
    Released {
        /// The `Taken` or `ReviewOpened` record that ends.
        supersedes: EvidenceId,
    },
    /// A person wants the destination asked once more.
    CheckAgain {
        /// Who.
        by: String,
        /// The store's time then.
        at: Timestamp,
    },
    /// The caller withdraws the action: no more sends.
    CancelRequested {
        /// Who.
        by: String,
        /// In their words.
        why: String,
    },
    /// The authority to act ended: no more sends, lookups go on.
    AuthorityLost {
        /// What ended it.
        why: String,
    },
    /// The store's clock passed the deadline.
    DeadlinePassed {
        /// Its reading.
        at: Timestamp,
    },
    /// The store's clock passed the end of the approval.
    ApprovalOver {
        /// Its reading.
        at: Timestamp,
    },
    /// The bound on attempts was reached while nothing had happened.
    GaveUp {
        /// How many attempts there were.
        attempts: u32,
    },
    /// A preference fixed before submission (`prefer_missing`) ended the search.
    SearchEnded {
        /// Which preference, set by whom and why.
        why: String,
        /// The store's time then.
        at: Timestamp,
    },
    /// The store's clock stood at this instant; by it, bounds that lie before are known to have passed.
    ClockRead {
        /// Its reading.
        at: Timestamp,
    },
    /// It was handed to people; from here on only a person opens a send (R6).
    ReviewOpened {
        /// Why the machine cannot go on.
        why: ReviewWhy,
    },
    /// The store was restored from an older copy: more may have been sent than is recorded (R18).
    StoreRestored {
        /// The last instant that the copy knows of.
        copy_until: Timestamp,
        /// When the restore was noticed.
        at: Timestamp,
        /// The earliest instant at which an unrecorded request may have arrived, if it can be told.
        first_arrival: Option<Timestamp>,
    },
    /// The engine could not admit what was recorded (an outbox row with a bad body); nothing was sent.
    NotAdmitted {
        /// Member, rule and remedy.
        why: String,
    },
    /// A corrected contract reads a stored answer again, only ever as something weaker (R17).
    Reread {
        /// The record that was read again.
        supersedes: EvidenceId,
        /// What it counts as from now on.
        class: AnswerClass,
        /// Which correction.
        why: String,
    },
    /// The answer to an attempt showed that something promised is not in force there: our key was not looked at, or our mark was
    /// not kept. It speaks for the action: what rests on it is off, for the attempts before it too.
    Unsupported {
        /// The attempt that was answered.
        attempt: AttemptNo,
        /// What is missing.
        missing: Missing,
    },
    /// Something worth keeping that changes nothing (a failed read-back, a hook's error).
    Noted {
        /// For people.
        text: String,
    },
}

/// "Attempt n may now write", with everything its bound is computed from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mark {
    /// Which attempt.
    pub attempt: AttemptNo,
    /// Under which version of the provider key.
    pub epoch: Epoch,
    /// By what right.
    pub permission: PermissionKind,
    /// The process that may write, and no other (R12).
    pub worker: WorkerNonce,
    /// When it was marked: nothing of it can have arrived earlier.
    pub at: Timestamp,
    /// The first byte must leave before this.
    pub valid_until: Timestamp,
    /// Without word by then, it is maybe sent.
    pub lease_until: Timestamp,
    /// The limits in force.
    pub bound: Bound,
}

/// A cancel by key that may now write.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CancelMark {
    /// Its number within the action, from 1.
    pub no: u32,
    /// The key's version that is to be cancelled; no send uses it again.
    pub epoch: Epoch,
    /// The process that may write.
    pub worker: WorkerNonce,
    /// When it was marked.
    pub at: Timestamp,
    /// The first byte must leave before this.
    pub valid_until: Timestamp,
    /// Without word by then, it is unanswered.
    pub lease_until: Timestamp,
    /// The limits in force.
    pub bound: Bound,
}

/// A marked request: an attempt or a cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RequestRef {
    /// An attempt, by number.
    Attempt(AttemptNo),
    /// A cancel by key, by number.
    Cancel(u32),
}

/// The six kinds of leave to write an effect request (law 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PermissionKind {
    /// No attempt was ever marked, and the identity is not older than a restore.
    First,
    /// Every marked attempt is proven to have had no effect: never left, or refused before doing anything.
    ProvenNotSent,
    /// The destination recognises our key, and the request arrives inside its window.
    SameKey,
    /// A complete, authoritative lookup found nothing, or a cancel by key was confirmed, asked late enough.
    ProvenAbsent,
    /// A repeat has no further effect.
    Harmless,
    /// The risk of a duplicate was accepted for this action.
    Ordered(Order),
}

/// Who accepted the risk of a duplicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Order {
    /// The operation's preference, fixed before submission.
    Preference,
    /// The person of this verdict; good for one send.
    Verdict(EvidenceId),
}

/// How far a request came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Before any work: the permission had run out, or a secret could not be read.
    Prepare,
    /// Resolving the host's name.
    Resolve,
    /// Connecting.
    Connect,
    /// The TLS handshake.
    Tls,
    /// Writing the request.
    Write,
    /// Waiting for the head of the answer.
    Head,
    /// Reading the body of the answer.
    Body,
}

/// An attempt that ended without a whole answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Loss {
    /// The attempt.
    pub attempt: AttemptNo,
    /// How far it came.
    pub phase: Phase,
    /// Bytes of the request that the kernel took.
    pub wrote: u64,
    /// Bytes of an answer that were read.
    pub read: u64,
    /// When the attempt's own worker closed the socket, by the store's clock.
    pub closed_at: Option<Timestamp>,
    /// What went wrong, for people.
    pub detail: String,
}

/// A complete answer, as the pinned contract reads it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Answer {
    /// The attempt that it answers.
    pub attempt: AttemptNo,
    /// When it had been read whole, by the store's clock.
    pub read_at: Timestamp,
    /// What it means.
    pub class: AnswerClass,
    /// The destination's own reference, where the answer carried one.
    pub receipt: Option<Receipt>,
    /// The destination says that this is a stored answer played again.
    pub replayed: bool,
    /// Not before this long, as the destination advises.
    pub retry_after: Option<crate::time::Span>,
    /// The answer itself, kept as long as the action (R17).
    pub capture: Capture,
}

/// What an answer means in the contract's own terms. `Unknown` is the default of every contract.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AnswerClass {
    /// The effect exists.
    Done,
    /// Taken, not completed; `object` is what completion is asked by.
    Accepted {
        /// The destination's name for the queued work.
        object: Option<String>,
    },
    /// Refused before doing anything, for good.
    Rejected {
        /// The refusal is stored under our key, so that it answers every later arrival too.
        stored: bool,
        /// In the destination's words.
        why: String,
    },
    /// Refused and recorded there (a declined charge): no effect in the contract's meaning (R30).
    Declined {
        /// The refusal is stored under our key.
        stored: bool,
        /// In the destination's words.
        why: String,
    },
    /// An earlier request under our key is still running: unknown, wait, same key.
    InProgress,
    /// Something of this name exists; `ours` says whether the answer shows that it is our intent (R31).
    AlreadyExists {
        /// Recognised as ours.
        ours: bool,
    },
    /// Our key is bound there to other content.
    Mismatch,
    /// Refused for now, before doing anything.
    Busy,
    /// Nothing can be concluded.
    Unknown,
}

/// An answer as it came, bounded in size.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Capture {
    /// The status code; 0 never stands for "none", there is always one.
    pub status: u16,
    /// The body, up to the transport's bound.
    pub body: Vec<u8>,
    /// The body went on.
    pub truncated: bool,
}

/// The destination's own reference for an effect.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Receipt {
    /// The contract's one canonical member (R20).
    pub reference: String,
    /// Other names of the same effect.
    pub aliases: Vec<String>,
}

/// A lookup and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lookup {
    /// The store's time, read before the question was sent (R2).
    pub asked_at: Timestamp,
    /// What was asked for, and for a key of which epoch.
    pub by: LookupBy,
    /// The epoch of the key that was asked for; the current one where the question was by reference.
    pub epoch: Epoch,
    /// What came back.
    pub answer: LookupAnswer,
}

/// What a lookup showed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LookupAnswer {
    /// Recognised as ours; more than one if the destination holds more.
    Found(Vec<Receipt>),
    /// Ours, still queued there.
    Queued {
        /// The destination's name for the queued work.
        object: Option<String>,
    },
    /// A complete answer without anything of ours.
    Absent,
    /// Failed, cut, paged out or not recognisable: it says nothing (R3).
    Inconclusive {
        /// Why.
        why: String,
    },
}

/// What a poll showed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PollAnswer {
    /// The queued work took effect.
    Completed(Option<Receipt>),
    /// Still queued or running.
    Working,
    /// The queued work ended without effect.
    Failed {
        /// In the destination's words.
        why: String,
    },
    /// The question failed; it says nothing.
    Inconclusive {
        /// Why.
        why: String,
    },
}

/// What a cancel by key brought.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CancelAnswer {
    /// Whatever existed under the key is withdrawn.
    Confirmed {
        /// The object that was withdrawn, where the answer names it.
        object: Option<String>,
    },
    /// It cannot be withdrawn any more; the effect stays.
    TooLate {
        /// The effect, where the answer names it.
        receipt: Option<Receipt>,
    },
    /// Proof from our side of the socket that the cancel did not leave.
    NotSent {
        /// What went wrong.
        why: String,
    },
    /// Lost or unreadable: it is asked again.
    Unknown {
        /// Why.
        why: String,
    },
}

/// A report by the destination (R21).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Callback {
    /// The effect exists; it speaks for the action.
    Positive(Receipt),
    /// The named queued work ended without effect; it speaks for that object only.
    Negative {
        /// The destination's name for the queued work.
        object: String,
        /// In the destination's words.
        why: String,
    },
    /// An effect that existed was undone later (returned, disputed).
    Reversed {
        /// In the destination's words.
        why: String,
    },
}

/// A person's decision. It settles, and it is no proof (R15).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Verdict {
    /// What they say.
    pub ruling: Ruling,
    /// Who.
    pub by: String,
    /// Why, in their words.
    pub why: String,
    /// The store's time then.
    pub at: Timestamp,
    /// Earlier verdicts and open reviews that it replaces.
    pub supersedes: Vec<EvidenceId>,
}

/// What a person can rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ruling {
    /// The effect exists.
    Happened {
        /// The destination's reference, if they know it.
        receipt: Option<Receipt>,
    },
    /// No effect exists; it takes hold once no marked attempt can land any more.
    DidNotHappen,
    /// Send once more, accepting the risk of a duplicate.
    SendAgain,
    /// It can no longer be found out; the search ends.
    CannotBeKnown,
}

/// Why the machine cannot go on without a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReviewWhy {
    /// The destination offers nothing to find out by.
    NothingToAsk,
    /// Only a lagging or partial lookup exists, and it did not find the effect.
    NotFoundByPartialLookup,
    /// The policy for this consequence wants a person here.
    PolicyWantsPerson,
    /// The bound on attempts, lookups, cancels or polls is reached.
    BoundReached,
    /// Our key is bound at the destination to other content.
    KeyMismatch,
    /// Something of this name exists and is not recognised as ours.
    NotRecognised,
    /// More than one effect was seen.
    DuplicateSuspected,
    /// The destination's evidence contradicts a person's verdict.
    VerdictContradicted,
    /// Sends are barred (withdrawn, past the deadline, authority lost) and nothing can be asked.
    SendBarred,
    /// Queued work was accepted and its end cannot be learned.
    CompletionUnknown,
}

impl Receipt {
    /// A receipt known by one name.
    #[must_use]
    pub fn new(reference: impl Into<String>) -> Self {
        Self {
            reference: reference.into(),
            aliases: Vec::new(),
        }
    }

    /// Whether both name one effect: by the canonical member, or one's canonical member among the other's aliases.
    #[must_use]
    pub fn same_effect(&self, other: &Self) -> bool {
        self.reference == other.reference
            || !made(Mistake::AliasIsAnother) && self.shares_a_name(other)
    }

    fn shares_a_name(&self, other: &Self) -> bool {
        self.aliases.contains(&other.reference) || other.aliases.contains(&self.reference)
    }
}
