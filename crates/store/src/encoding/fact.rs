//! How evidence is written. Every definition mirrors a type of the core, variant by variant and member by member.

use factum_core::evidence::{
    Answer, AnswerClass, Callback, CancelAnswer, CancelMark, Capture, Lookup, LookupAnswer, Loss,
    Mark, Order, PermissionKind, Phase, PollAnswer, Receipt, RequestRef, ReviewWhy, Ruling,
    Verdict,
};
use factum_core::promise::{LookupBy, Missing};
use factum_core::{AttemptNo, Bound, Epoch, EvidenceId, Fact, Span, Timestamp, WorkerNonce};
use serde::{Deserialize, Serialize};

use super::Form;
use super::plain::{
    AttemptDef, BoundDef, Bytes, EpochDef, EvidenceDef, EvidenceIds, Instant, MaybeInstant,
    MaybeLength, MaybeReceipt, ReceiptDef, Receipts, WorkerDef,
};
use super::usual;

/// The text of one fact.
pub(crate) fn fact_text(form: &Form, fact: &Fact) -> String {
    struct Out<'a>(&'a Fact);
    impl Serialize for Out<'_> {
        fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
            FactDef::serialize(self.0, out)
        }
    }
    #[derive(Serialize)]
    struct Envelope<'a> {
        v: u32,
        f: Out<'a>,
    }
    super::write(&Envelope {
        v: form.writes(),
        f: Out(fact),
    })
}

/// The fact that a text says, or for people why it cannot be read.
pub(crate) fn read_fact(form: &Form, text: &str) -> Result<Fact, String> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Envelope {
        v: u32,
        #[serde(with = "FactDef")]
        f: Fact,
    }
    let envelope: Envelope = super::read(form, text)?;
    form.known(envelope.v)?;
    Ok(envelope.f)
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Fact", rename_all = "snake_case", deny_unknown_fields)]
enum FactDef {
    Marked(#[serde(with = "MarkDef")] Mark),
    NotSent {
        #[serde(with = "AttemptDef")]
        attempt: AttemptNo,
        #[serde(with = "PhaseDef")]
        phase: Phase,
        detail: String,
    },
    Lost(#[serde(with = "LossDef")] Loss),
    Answered(#[serde(with = "AnswerDef")] Answer),
    ProcessGone {
        #[serde(with = "WorkerDef")]
        worker: WorkerNonce,
        #[serde(with = "Instant")]
        at: Timestamp,
    },
    LeaseOver {
        #[serde(with = "RequestDef")]
        request: RequestRef,
        #[serde(with = "Instant")]
        at: Timestamp,
    },
    LeaseExtended {
        #[serde(with = "RequestDef")]
        request: RequestRef,
        #[serde(with = "Instant")]
        until: Timestamp,
    },
    LookedUp(#[serde(with = "LookupDef")] Lookup),
    Polled {
        #[serde(with = "AttemptDef")]
        attempt: AttemptNo,
        #[serde(with = "Instant")]
        asked_at: Timestamp,
        #[serde(with = "PollAnswerDef")]
        answer: PollAnswer,
    },
    CancelMarked(#[serde(with = "CancelMarkDef")] CancelMark),
    CancelAnswered {
        no: u32,
        #[serde(with = "CancelAnswerDef")]
        answer: CancelAnswer,
    },
    CalledBack(#[serde(with = "CallbackDef")] Callback),
    Verdict(#[serde(with = "VerdictDef")] Verdict),
    Taken {
        by: String,
    },
    Released {
        #[serde(with = "EvidenceDef")]
        supersedes: EvidenceId,
    },
    CheckAgain {
        by: String,
        #[serde(with = "Instant")]
        at: Timestamp,
    },
    CancelRequested {
        by: String,
        why: String,
    },
    AuthorityLost {
        why: String,
    },
    DeadlinePassed {
        #[serde(with = "Instant")]
        at: Timestamp,
    },
    ApprovalOver {
        #[serde(with = "Instant")]
        at: Timestamp,
    },
    GaveUp {
        attempts: u32,
    },
    SearchEnded {
        why: String,
        #[serde(with = "Instant")]
        at: Timestamp,
    },
    ClockRead {
        #[serde(with = "Instant")]
        at: Timestamp,
    },
    ReviewOpened {
        #[serde(with = "ReviewWhyDef")]
        why: ReviewWhy,
    },
    StoreRestored {
        #[serde(with = "Instant")]
        copy_until: Timestamp,
        #[serde(with = "Instant")]
        at: Timestamp,
        #[serde(
            default,
            with = "MaybeInstant",
            skip_serializing_if = "Option::is_none"
        )]
        first_arrival: Option<Timestamp>,
    },
    NotAdmitted {
        why: String,
    },
    Reread {
        #[serde(with = "EvidenceDef")]
        supersedes: EvidenceId,
        #[serde(with = "AnswerClassDef")]
        class: AnswerClass,
        why: String,
    },
    Unsupported {
        #[serde(with = "AttemptDef")]
        attempt: AttemptNo,
        #[serde(with = "MissingDef")]
        missing: Missing,
    },
    Noted {
        text: String,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Missing", deny_unknown_fields)]
struct MissingDef {
    key: bool,
    mark: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Mark", deny_unknown_fields)]
struct MarkDef {
    #[serde(with = "AttemptDef")]
    attempt: AttemptNo,
    #[serde(with = "EpochDef")]
    epoch: Epoch,
    #[serde(with = "PermissionDef")]
    permission: PermissionKind,
    #[serde(with = "WorkerDef")]
    worker: WorkerNonce,
    #[serde(with = "Instant")]
    at: Timestamp,
    #[serde(with = "Instant")]
    valid_until: Timestamp,
    #[serde(with = "Instant")]
    lease_until: Timestamp,
    #[serde(
        with = "BoundDef",
        default = "usual::bound::value",
        skip_serializing_if = "usual::bound::is"
    )]
    bound: Bound,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "CancelMark", deny_unknown_fields)]
struct CancelMarkDef {
    no: u32,
    #[serde(with = "EpochDef")]
    epoch: Epoch,
    #[serde(with = "WorkerDef")]
    worker: WorkerNonce,
    #[serde(with = "Instant")]
    at: Timestamp,
    #[serde(with = "Instant")]
    valid_until: Timestamp,
    #[serde(with = "Instant")]
    lease_until: Timestamp,
    #[serde(
        with = "BoundDef",
        default = "usual::bound::value",
        skip_serializing_if = "usual::bound::is"
    )]
    bound: Bound,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "RequestRef", rename_all = "snake_case")]
enum RequestDef {
    Attempt(#[serde(with = "AttemptDef")] AttemptNo),
    Cancel(u32),
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "PermissionKind", rename_all = "snake_case")]
enum PermissionDef {
    First,
    ProvenNotSent,
    SameKey,
    ProvenAbsent,
    Harmless,
    Ordered(#[serde(with = "OrderDef")] Order),
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Order", rename_all = "snake_case")]
enum OrderDef {
    Preference,
    Verdict(#[serde(with = "EvidenceDef")] EvidenceId),
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Phase", rename_all = "snake_case")]
enum PhaseDef {
    Prepare,
    Resolve,
    Connect,
    Tls,
    Write,
    Head,
    Body,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Loss", deny_unknown_fields)]
struct LossDef {
    #[serde(with = "AttemptDef")]
    attempt: AttemptNo,
    #[serde(with = "PhaseDef")]
    phase: Phase,
    wrote: u64,
    read: u64,
    #[serde(
        default,
        with = "MaybeInstant",
        skip_serializing_if = "Option::is_none"
    )]
    closed_at: Option<Timestamp>,
    detail: String,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Answer", deny_unknown_fields)]
struct AnswerDef {
    #[serde(with = "AttemptDef")]
    attempt: AttemptNo,
    #[serde(with = "Instant")]
    read_at: Timestamp,
    #[serde(with = "AnswerClassDef")]
    class: AnswerClass,
    #[serde(
        default,
        with = "MaybeReceipt",
        skip_serializing_if = "Option::is_none"
    )]
    receipt: Option<Receipt>,
    replayed: bool,
    #[serde(default, with = "MaybeLength", skip_serializing_if = "Option::is_none")]
    retry_after: Option<Span>,
    #[serde(with = "CaptureDef")]
    capture: Capture,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "AnswerClass", rename_all = "snake_case", deny_unknown_fields)]
enum AnswerClassDef {
    Done,
    Accepted { object: Option<String> },
    Rejected { stored: bool, why: String },
    Declined { stored: bool, why: String },
    InProgress,
    AlreadyExists { ours: bool },
    Mismatch,
    Busy,
    Unknown,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Capture", deny_unknown_fields)]
struct CaptureDef {
    status: u16,
    #[serde(with = "Bytes")]
    body: Vec<u8>,
    truncated: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Lookup", deny_unknown_fields)]
struct LookupDef {
    #[serde(with = "Instant")]
    asked_at: Timestamp,
    #[serde(with = "LookupByDef")]
    by: LookupBy,
    #[serde(with = "EpochDef")]
    epoch: Epoch,
    #[serde(with = "LookupAnswerDef")]
    answer: LookupAnswer,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "LookupBy", rename_all = "snake_case")]
pub(super) enum LookupByDef {
    Reference,
    Key,
}

#[derive(Serialize, Deserialize)]
#[serde(
    remote = "LookupAnswer",
    rename_all = "snake_case",
    deny_unknown_fields
)]
enum LookupAnswerDef {
    Found(#[serde(with = "Receipts")] Vec<Receipt>),
    Queued { object: Option<String> },
    Absent,
    Inconclusive { why: String },
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "PollAnswer", rename_all = "snake_case", deny_unknown_fields)]
enum PollAnswerDef {
    Completed(#[serde(with = "MaybeReceipt")] Option<Receipt>),
    Working,
    Failed { why: String },
    Inconclusive { why: String },
}

#[derive(Serialize, Deserialize)]
#[serde(
    remote = "CancelAnswer",
    rename_all = "snake_case",
    deny_unknown_fields
)]
enum CancelAnswerDef {
    Confirmed {
        object: Option<String>,
    },
    TooLate {
        #[serde(
            default,
            with = "MaybeReceipt",
            skip_serializing_if = "Option::is_none"
        )]
        receipt: Option<Receipt>,
    },
    NotSent {
        why: String,
    },
    Unknown {
        why: String,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Callback", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum CallbackDef {
    Positive(#[serde(with = "ReceiptDef")] Receipt),
    Negative { object: String, why: String },
    Reversed { why: String },
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Verdict", deny_unknown_fields)]
struct VerdictDef {
    #[serde(with = "RulingDef")]
    ruling: Ruling,
    by: String,
    why: String,
    #[serde(with = "Instant")]
    at: Timestamp,
    #[serde(default, with = "EvidenceIds", skip_serializing_if = "Vec::is_empty")]
    supersedes: Vec<EvidenceId>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Ruling", rename_all = "snake_case", deny_unknown_fields)]
enum RulingDef {
    Happened {
        #[serde(
            default,
            with = "MaybeReceipt",
            skip_serializing_if = "Option::is_none"
        )]
        receipt: Option<Receipt>,
    },
    DidNotHappen,
    SendAgain,
    CannotBeKnown,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "ReviewWhy", rename_all = "snake_case")]
enum ReviewWhyDef {
    NothingToAsk,
    NotFoundByPartialLookup,
    PolicyWantsPerson,
    BoundReached,
    KeyMismatch,
    NotRecognised,
    DuplicateSuspected,
    VerdictContradicted,
    SendBarred,
    CompletionUnknown,
}
