//! The one status object that every interface shows, and the views of evidence and review beside it.
//!
//! These are the only types of the product that are serialised for users; the core knows no serialisation.

use std::collections::BTreeMap;

use factum_core::evidence::{
    AnswerClass, Callback, CancelAnswer, Fact, LookupAnswer, PollAnswer, Receipt, ReviewWhy, Ruling,
};
use factum_core::statement::StatementKey;
use factum_core::{Evidence, Next, Status, Step, Timestamp};
use factum_engine::destination::own_name;
use factum_store::record::identity_text;
use factum_store::{FOR_WORKERS, Record};
use serde::Serialize;
use serde_json::{Value, json};

use crate::statements::Words;

/// One action as it stands.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StatusView {
    /// `act_…`.
    pub id: String,
    /// The submission that is answered joined an earlier one.
    pub joined: bool,
    /// When it was recorded.
    pub created_at: String,
    /// The caller's name for the effect.
    pub key: String,
    /// Where it goes.
    pub destination: String,
    /// What is done there.
    pub operation: String,
    /// For whom.
    #[serde(rename = "for")]
    pub on_behalf_of: String,
    /// One line for people.
    pub summary: Option<String>,
    /// Members of the payload that its contract lets be shown, by JSON pointers; for staff alone.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub shown: BTreeMap<String, Value>,
    /// What it works on at its destination, as its caller named it.
    pub subject: Option<String>,
    /// In which conversation it was asked for.
    pub conversation: Option<String>,
    /// One of the nine words.
    pub state: &'static str,
    /// `yes`, `no`, `not_yet`, `unknown`.
    pub happened: &'static str,
    /// A new identity cannot make a second effect.
    pub safe_to_call_again: bool,
    /// What the engine will do, when, and why.
    pub next: NextView,
    /// What may be said.
    pub statement: StatementView,
    /// The destination's reference, where there is one.
    pub receipt: Option<ReceiptView>,
    /// How many attempts were marked.
    pub attempts: u32,
    /// It was settled otherwise before.
    pub revised: bool,
    /// The effect existed and was undone later.
    pub reversed: bool,
    /// More than one effect was seen.
    pub duplicate_suspected: bool,
    /// All effects that were seen, where they are more than one.
    pub duplicates: Vec<ReceiptView>,
    /// The search was ended without an answer.
    pub closed: Option<ClosedView>,
    /// Why it ended as it did.
    pub because: Option<String>,
    /// The customer's route while a person has to decide.
    pub contact: Option<ContactView>,
    /// The caller's trace.
    pub trace: Option<String>,
    /// Raised by every change.
    pub version: u64,
}

/// What the engine will do.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NextView {
    /// `send`, `look_up`, `poll`, `cancel_by_key`, `wait`, `review`, `none`.
    #[serde(rename = "do")]
    pub step: &'static str,
    /// When; not for review and none.
    pub at: Option<String>,
    /// Why.
    pub why: String,
}

impl NextView {
    /// Of a decision, where it may wait for a worker.
    fn standing(next: &Next, record: &Record) -> Self {
        let mut view = Self::of(next);
        if record.next.why == FOR_WORKERS && record.next.step == view.step {
            view.why = format!("{FOR_WORKERS}: {}", view.why);
        }
        view
    }

    /// Of a decision.
    #[must_use]
    pub fn of(next: &Next) -> Self {
        let timed = !matches!(next.step, Step::Review(_) | Step::None);
        Self {
            step: next.step.name(),
            at: timed.then(|| rfc3339(next.at)),
            why: next.why.to_string(),
        }
    }
}

/// What may be said about an action.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StatementView {
    /// Which statement it is: what a conversation says that it passed on.
    pub key: &'static str,
    /// May be said as it stands.
    pub say: String,
    /// May not be said, nor anything of the same meaning.
    pub never_say: Vec<String>,
    /// The language.
    pub locale: &'static str,
}

/// The destination's reference for an effect.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReceiptView {
    /// The canonical one.
    pub reference: String,
    /// Other names of the same effect.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
}

/// An ended search.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClosedView {
    /// Who ended it.
    pub by: String,
    /// Why.
    pub why: String,
    /// When.
    pub at: String,
}

/// The customer's route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ContactView {
    /// Where to turn to, and by when an answer is promised, where it is.
    pub say: String,
    /// That time.
    pub by: Option<String>,
    /// It has passed.
    pub late: bool,
}

/// One record of evidence.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EvidenceView {
    /// Its name within the action.
    pub id: u64,
    /// When it was stored.
    pub at: String,
    /// What kind of fact it is.
    pub fact: &'static str,
    /// What it says, for people.
    pub says: String,
    /// Its members.
    pub detail: Value,
}

impl StatusView {
    /// The view of a record, assessed as `status` and `next`.
    #[must_use]
    pub fn of(
        record: &Record,
        status: &Status,
        next: &Next,
        joined: bool,
        words: &Words,
        contact: Option<ContactView>,
    ) -> Self {
        let action = &record.action;
        let by_person = matches!(next.step, Step::Review(_));
        Self {
            id: record.id().to_string(),
            joined,
            created_at: rfc3339(action.intent.submitted_at),
            key: identity_text(&action.identity),
            destination: own_name(&action.scope.tenant, &action.scope.destination).to_owned(),
            operation: action.scope.operation.clone(),
            on_behalf_of: action.scope.principal.clone(),
            summary: action.content.summary.clone(),
            shown: BTreeMap::new(),
            subject: action.content.subject.clone(),
            conversation: action
                .content
                .conversation
                .as_ref()
                .map(|conversation| conversation.id.clone()),
            state: status.state.name(),
            happened: status.state.happened().name(),
            safe_to_call_again: status.safe_to_call_again,
            next: NextView::standing(next, record),
            statement: words.statement(StatementKey::of(status, next), status),
            receipt: status.receipt.as_ref().map(ReceiptView::of),
            attempts: record.known.attempts_marked(),
            revised: status.revised,
            reversed: status.reversed,
            duplicate_suspected: status.duplicate_suspected(),
            duplicates: status.duplicates.iter().map(ReceiptView::of).collect(),
            closed: status.closed.as_ref().map(|closed| ClosedView {
                by: closed.by.clone(),
                why: closed.why.clone(),
                at: rfc3339(closed.at),
            }),
            because: status.because.clone(),
            contact: contact.filter(|_| by_person || status.closed.is_some()),
            trace: action
                .content
                .trace
                .as_ref()
                .map(|trace| trace.as_str().to_owned()),
            version: record.version,
        }
    }

    /// Nothing more will happen by itself: it is settled, or waits for a person.
    #[must_use]
    pub fn rests(&self) -> bool {
        matches!(self.next.step, "none" | "review")
    }
}

impl ReceiptView {
    fn of(receipt: &Receipt) -> Self {
        Self {
            reference: receipt.reference.clone(),
            aliases: receipt.aliases.clone(),
        }
    }
}

impl EvidenceView {
    /// The view of a record of evidence. Payloads and captured answers are not shown.
    #[must_use]
    pub fn of(evidence: &Evidence) -> Self {
        Self {
            id: evidence.id.0,
            at: rfc3339(evidence.at),
            fact: evidence.fact.kind(),
            says: says(&evidence.fact),
            detail: detail(&evidence.fact),
        }
    }
}

/// An instant as RFC 3339, to the microsecond.
#[must_use]
pub fn rfc3339(at: Timestamp) -> String {
    jiff::Timestamp::from_microsecond(at.as_micros())
        .map_or_else(|_| "never".to_owned(), |at| at.to_string())
}

fn says(fact: &Fact) -> String {
    match fact {
        Fact::Marked(mark) => format!(
            "attempt {} may now write, by `{}`, until {}",
            mark.attempt,
            mark.permission.name(),
            rfc3339(mark.valid_until)
        ),
        Fact::NotSent {
            attempt, detail, ..
        } => format!("attempt {attempt}: no byte left this machine ({detail})"),
        Fact::Lost(loss) => format!(
            "attempt {}: {} bytes were written and {} read: {}",
            loss.attempt, loss.wrote, loss.read, loss.detail
        ),
        Fact::Answered(answer) => format!(
            "attempt {}: answered with status {}, which means {}",
            answer.attempt,
            answer.capture.status,
            class_says(&answer.class)
        ),
        Fact::ProcessGone { .. } => {
            "the process that held the request is gone and writes nothing more".to_owned()
        }
        Fact::LeaseOver { .. } => "the lease ran out without word of the request".to_owned(),
        Fact::LeaseExtended { until, .. } => format!(
            "whoever carries it out is at work; word of it is waited for until {}",
            rfc3339(*until)
        ),
        Fact::LookedUp(lookup) => lookup_says(&lookup.answer),
        Fact::Polled { answer, .. } => poll_says(answer),
        Fact::CancelMarked(mark) => format!("cancel {} by key may now write", mark.no),
        Fact::CancelAnswered { answer, .. } => cancel_says(answer),
        Fact::CalledBack(callback) => callback_says(callback),
        Fact::Verdict(verdict) => format!(
            "{} ruled: {} ({})",
            verdict.by,
            ruling_name(&verdict.ruling),
            verdict.why
        ),
        Fact::Taken { by } => format!("{by} works on it"),
        Fact::Released { .. } => "given back".to_owned(),
        Fact::CheckAgain { by, .. } => format!("{by} wants the destination asked once more"),
        Fact::CancelRequested { by, why } => format!("{by} withdrew it ({why})"),
        Fact::AuthorityLost { why } => format!("the authority to act ended ({why})"),
        Fact::DeadlinePassed { .. } => "the deadline passed".to_owned(),
        Fact::ApprovalOver { .. } => "the approval ran out".to_owned(),
        Fact::GaveUp { attempts } => {
            format!("given up after {attempts} attempts, none of which had an effect")
        }
        Fact::SearchEnded { why, .. } => format!("the search ended: {why}"),
        Fact::ClockRead { .. } => "the clock was read".to_owned(),
        Fact::ReviewOpened { why } => format!("a person is needed: {}", why.sentence()),
        Fact::StoreRestored { copy_until, .. } => {
            format!(
                "the store came from a copy of {}; more may have been sent since",
                rfc3339(*copy_until)
            )
        }
        Fact::NotAdmitted { why } => format!("not taken on: {why}"),
        Fact::Reread { why, .. } => format!("an answer was read again: {why}"),
        Fact::Unsupported { missing, .. } => match (missing.key, missing.mark) {
            (true, true) => "the answer shows that neither our key nor our mark is kept there",
            (true, false) => "the answer shows that our key is not looked at",
            (false, _) => "the answer shows that our mark was not kept",
        }
        .to_owned(),
        Fact::Noted { text } => text.clone(),
    }
}

fn class_says(class: &AnswerClass) -> String {
    match class {
        AnswerClass::Done => "done".to_owned(),
        AnswerClass::Accepted { .. } => "accepted, not completed yet".to_owned(),
        AnswerClass::Rejected { why, .. } => format!("refused, nothing happened ({why})"),
        AnswerClass::Declined { why, .. } => format!("declined and recorded there ({why})"),
        AnswerClass::InProgress => "an earlier request is still running".to_owned(),
        AnswerClass::AlreadyExists { ours: true } => "it exists already and is ours".to_owned(),
        AnswerClass::AlreadyExists { ours: false } => {
            "something of this name exists and is not known to be ours".to_owned()
        }
        AnswerClass::Mismatch => "our key is bound there to other content".to_owned(),
        AnswerClass::Busy => "refused for now, nothing happened".to_owned(),
        AnswerClass::Unknown => "nothing certain".to_owned(),
    }
}

fn lookup_says(answer: &LookupAnswer) -> String {
    match answer {
        LookupAnswer::Found(receipts) => {
            let names: Vec<&str> = receipts
                .iter()
                .map(|receipt| receipt.reference.as_str())
                .collect();
            format!("looked up: found {}", names.join(", "))
        }
        LookupAnswer::Queued { .. } => "looked up: still queued there".to_owned(),
        LookupAnswer::Absent => "looked up: nothing of ours is shown".to_owned(),
        LookupAnswer::Inconclusive { why } => format!("looked up without a result ({why})"),
    }
}

fn poll_says(answer: &PollAnswer) -> String {
    match answer {
        PollAnswer::Completed(Some(receipt)) => {
            format!("asked: completed as {}", receipt.reference)
        }
        PollAnswer::Completed(None) => "asked: completed".to_owned(),
        PollAnswer::Working => "asked: not completed yet".to_owned(),
        PollAnswer::Failed { why } => format!("asked: it failed there ({why})"),
        PollAnswer::Inconclusive { why } => format!("asked without a result ({why})"),
    }
}

fn cancel_says(answer: &CancelAnswer) -> String {
    match answer {
        CancelAnswer::Confirmed {
            object: Some(object),
        } => format!("withdrawn by key: {object}"),
        CancelAnswer::Confirmed { object: None } => "withdrawn by key; nothing existed".to_owned(),
        CancelAnswer::TooLate { .. } => "it cannot be withdrawn any more".to_owned(),
        CancelAnswer::NotSent { why } => format!("the cancel did not leave this machine ({why})"),
        CancelAnswer::Unknown { why } => format!("the cancel was not answered ({why})"),
    }
}

pub(crate) fn callback_says(callback: &Callback) -> String {
    match callback {
        Callback::Positive(receipt) => {
            format!("the destination reported it done as {}", receipt.reference)
        }
        Callback::Negative { object, why } => {
            format!("the destination reported {object} as failed ({why})")
        }
        Callback::Reversed { why } => format!("the destination reported it undone ({why})"),
    }
}

/// The word for a ruling.
#[must_use]
pub fn ruling_name(ruling: &Ruling) -> &'static str {
    match ruling {
        Ruling::Happened { .. } => "happened",
        Ruling::DidNotHappen => "did_not_happen",
        Ruling::SendAgain => "send_again",
        Ruling::CannotBeKnown => "cannot_be_known",
    }
}

fn detail(fact: &Fact) -> Value {
    match fact {
        Fact::Marked(mark) => json!({
            "attempt": mark.attempt.0, "epoch": mark.epoch.0, "permission": mark.permission.name(),
            "at": rfc3339(mark.at), "valid_until": rfc3339(mark.valid_until), "lease_until": rfc3339(mark.lease_until),
        }),
        Fact::NotSent {
            attempt,
            detail,
            phase,
        } => {
            json!({"attempt": attempt.0, "phase": format!("{phase:?}").to_lowercase(), "detail": detail})
        }
        Fact::Lost(loss) => json!({
            "attempt": loss.attempt.0, "phase": format!("{:?}", loss.phase).to_lowercase(), "wrote": loss.wrote,
            "read": loss.read, "closed_at": loss.closed_at.map(rfc3339), "detail": loss.detail,
        }),
        Fact::Answered(answer) => json!({
            "attempt": answer.attempt.0, "status": answer.capture.status, "class": answer.class.name(),
            "read_at": rfc3339(answer.read_at), "receipt": answer.receipt.as_ref().map(ReceiptView::of),
            "replayed": answer.replayed,
        }),
        Fact::LookedUp(lookup) => {
            json!({"asked_at": rfc3339(lookup.asked_at), "epoch": lookup.epoch.0})
        }
        Fact::Polled {
            attempt, asked_at, ..
        } => json!({"attempt": attempt.0, "asked_at": rfc3339(*asked_at)}),
        Fact::CancelMarked(mark) => {
            json!({"cancel": mark.no, "epoch": mark.epoch.0, "at": rfc3339(mark.at)})
        }
        Fact::CancelAnswered { no, .. } => json!({"cancel": no}),
        Fact::Verdict(verdict) => json!({
            "ruling": ruling_name(&verdict.ruling), "by": verdict.by, "why": verdict.why, "at": rfc3339(verdict.at),
            "supersedes": verdict.supersedes.iter().map(|id| id.0).collect::<Vec<_>>(),
        }),
        Fact::ReviewOpened { why } => json!({"why": review_why(*why)}),
        Fact::StoreRestored { copy_until, at, .. } => {
            json!({"copy_until": rfc3339(*copy_until), "at": rfc3339(*at)})
        }
        Fact::ProcessGone { at, .. }
        | Fact::LeaseOver { at, .. }
        | Fact::CheckAgain { at, .. }
        | Fact::DeadlinePassed { at }
        | Fact::ApprovalOver { at }
        | Fact::SearchEnded { at, .. }
        | Fact::ClockRead { at } => json!({"at": rfc3339(*at)}),
        Fact::LeaseExtended { until, .. } => json!({"until": rfc3339(*until)}),
        Fact::Released { supersedes } | Fact::Reread { supersedes, .. } => {
            json!({"supersedes": supersedes.0})
        }
        Fact::Unsupported { attempt, missing } => {
            json!({"attempt": attempt.0, "key": missing.key, "mark": missing.mark})
        }
        Fact::CalledBack(_)
        | Fact::Taken { .. }
        | Fact::CancelRequested { .. }
        | Fact::AuthorityLost { .. }
        | Fact::GaveUp { .. }
        | Fact::NotAdmitted { .. }
        | Fact::Noted { .. } => json!({}),
    }
}

/// The word for a reason to need a person.
#[must_use]
pub fn review_why(why: ReviewWhy) -> &'static str {
    match why {
        ReviewWhy::NothingToAsk => "nothing_to_ask",
        ReviewWhy::NotFoundByPartialLookup => "not_found_by_partial_lookup",
        ReviewWhy::PolicyWantsPerson => "policy_wants_person",
        ReviewWhy::BoundReached => "bound_reached",
        ReviewWhy::KeyMismatch => "key_mismatch",
        ReviewWhy::NotRecognised => "not_recognised",
        ReviewWhy::DuplicateSuspected => "duplicate_suspected",
        ReviewWhy::VerdictContradicted => "verdict_contradicted",
        ReviewWhy::SendBarred => "send_barred",
        ReviewWhy::CompletionUnknown => "completion_unknown",
    }
}
