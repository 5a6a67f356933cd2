//! A destination's reports as values: what they say, by which names they find an action, and how they are kept.

use factum_core::evidence::{
    AnswerClass, Callback, CancelAnswer, LookupAnswer, PollAnswer, Receipt,
};
use factum_core::{ActionId, Fact, Timestamp};

/// Where reports come in. Nothing that is read here finds an action of another tenant or destination (law 9).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Site {
    /// Whose.
    pub tenant: String,
    /// From which destination.
    pub destination: String,
}

/// A name by which a report finds an action of the same site and operation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Name {
    /// The reference that we write into the destination.
    Reference(String),
    /// The provider key that we sent, of any epoch.
    Key(String),
    /// The destination's name for queued work, as an answer gave it.
    Object(String),
    /// The destination's reference for the effect, or an alias of it.
    Receipt(String),
}

/// A report as the contract of one operation reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The operation.
    pub operation: String,
    /// What it is about. All names that find something have to find the same action.
    pub names: Vec<Name>,
    /// What it says.
    pub callback: Callback,
}

/// The name of a report, equal in every repetition of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReportId(pub [u8; 16]);

/// A report on its way into the store. It was verified: nothing forged comes here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Its name.
    pub id: ReportId,
    /// Where it came in.
    pub site: Site,
    /// What the contracts of the destination's operations read in it; nothing if none of them does.
    pub readings: Vec<Reading>,
    /// The beginning of the delivery's body, for people.
    pub body: Vec<u8>,
}

/// A report as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptReport {
    /// Its number: later ones have higher numbers.
    pub no: u64,
    /// When it was stored.
    pub at: Timestamp,
    /// The report.
    pub report: Report,
    /// The action that it was about; `None` as long as none is known by its names, or more than one.
    pub action: Option<ActionId>,
}

/// What became of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivered {
    /// It is evidence about this action now.
    Matched(ActionId),
    /// It is kept, and becomes evidence once an action is known by its names.
    Unmatched,
    /// It had come before; nothing changed.
    Repeated(Option<ActionId>),
}

/// Which reports to list, newest first.
#[derive(Clone, Debug)]
pub struct ReportFilter {
    /// Of this tenant.
    pub tenant: String,
    /// Only those that found no action.
    pub unmatched: bool,
    /// With a lower number than this: continues a listing.
    pub before: Option<u64>,
    /// At most this many.
    pub limit: usize,
}

/// The names that a fact gives to its action. Only what the destination itself said is ours counts: not a person's word, and
/// not an object that it showed and that is not ours.
#[must_use]
pub fn names_in(fact: &Fact) -> Vec<Name> {
    match fact {
        Fact::Answered(answer) => {
            let ours = match &answer.class {
                AnswerClass::Done
                | AnswerClass::Accepted { .. }
                | AnswerClass::AlreadyExists { ours: true } => answer.receipt.as_ref(),
                AnswerClass::AlreadyExists { ours: false }
                | AnswerClass::Rejected { .. }
                | AnswerClass::Declined { .. }
                | AnswerClass::InProgress
                | AnswerClass::Mismatch
                | AnswerClass::Busy
                | AnswerClass::Unknown => None,
            };
            let object = match &answer.class {
                AnswerClass::Accepted { object } => object.clone(),
                _ => None,
            };
            let object = object.map(Name::Object);
            ours.into_iter().flat_map(receipt).chain(object).collect()
        }
        Fact::LookedUp(lookup) => match &lookup.answer {
            LookupAnswer::Found(receipts) => receipts.iter().flat_map(receipt).collect(),
            LookupAnswer::Queued { object } => {
                object.clone().map(Name::Object).into_iter().collect()
            }
            LookupAnswer::Absent | LookupAnswer::Inconclusive { .. } => Vec::new(),
        },
        Fact::Polled {
            answer: PollAnswer::Completed(Some(found)),
            ..
        }
        | Fact::CancelAnswered {
            answer: CancelAnswer::TooLate {
                receipt: Some(found),
            },
            ..
        }
        | Fact::CalledBack(Callback::Positive(found)) => receipt(found),
        _ => Vec::new(),
    }
}

/// A receipt goes by its reference and by each alias.
fn receipt(receipt: &Receipt) -> Vec<Name> {
    let references = std::iter::once(&receipt.reference).chain(&receipt.aliases);
    references.cloned().map(Name::Receipt).collect()
}
