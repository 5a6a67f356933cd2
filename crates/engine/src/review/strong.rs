//! What stands against a verdict. A verdict settles and is no proof (R15): it may be replaced by a later one. What the destination's own
//! evidence has settled, no verdict unsettles. Pure.

use factum_core::evidence::{AnswerClass, Callback, LookupAnswer, PollAnswer, Receipt};
use factum_core::{Evidence, Fact, Intent, Known, State, Status};

/// How an action stands by its evidence, people's verdicts left out.
#[derive(Clone, Debug)]
pub struct Bare {
    /// The state and what belongs to it.
    pub status: Status,
    /// The evidence that decides it, for people: each with its name.
    pub decided_by: Vec<String>,
}

impl Bare {
    /// Of a log.
    #[must_use]
    pub fn of(intent: &Intent, evidence: &[Evidence]) -> Self {
        let others = evidence
            .iter()
            .filter(|one| !matches!(one.fact, Fact::Verdict(_)));
        let known = Known::fold(others.clone());
        let decided_by = others
            .filter_map(|one| Some(format!("evidence {}: {}", one.id.0, deciding(&one.fact)?)));
        Self {
            status: known.status(intent),
            decided_by: decided_by.collect(),
        }
    }

    /// Whether a person's word is all that settles it.
    #[must_use]
    pub fn is_open(&self) -> bool {
        matches!(self.status.state, State::OutcomeUnknown | State::Accepted)
    }

    /// What stands against a verdict, in words.
    #[must_use]
    pub fn shown(&self) -> String {
        if self.decided_by.is_empty() {
            return "no request was sent that could have had an effect".to_owned();
        }
        self.decided_by.join("; ")
    }
}

/// What decides whether the effect exists, in a few words.
fn deciding(fact: &Fact) -> Option<String> {
    let with = |word: &str, receipt: Option<&Receipt>| match receipt {
        Some(receipt) => format!("{word}, receipt {}", receipt.reference),
        None => word.to_owned(),
    };
    match fact {
        Fact::Answered(answer) => match &answer.class {
            AnswerClass::Unknown | AnswerClass::InProgress | AnswerClass::Busy => None,
            class => Some(with(
                &format!("attempt {} was answered: {}", answer.attempt, class.name()),
                answer.receipt.as_ref(),
            )),
        },
        Fact::LookedUp(lookup) => match &lookup.answer {
            LookupAnswer::Found(receipts) => Some(with("a lookup found it", receipts.first())),
            LookupAnswer::Absent => Some("a lookup found nothing".to_owned()),
            LookupAnswer::Queued { .. } => Some("a lookup found it queued".to_owned()),
            LookupAnswer::Inconclusive { .. } => None,
        },
        Fact::Polled { answer, .. } => match answer {
            PollAnswer::Completed(receipt) => Some(with("it was completed", receipt.as_ref())),
            PollAnswer::Failed { why } => Some(format!("it failed there: {why}")),
            PollAnswer::Working | PollAnswer::Inconclusive { .. } => None,
        },
        Fact::CalledBack(callback) => match callback {
            Callback::Positive(receipt) => Some(with("the destination reported it", Some(receipt))),
            Callback::Negative { why, .. } => {
                Some(format!("the destination reported a failure: {why}"))
            }
            Callback::Reversed { why } => Some(format!("the destination undid it: {why}")),
        },
        Fact::NotSent { attempt, .. } => Some(format!("of attempt {attempt} nothing was sent")),
        Fact::Marked(_)
        | Fact::Lost(_)
        | Fact::ProcessGone { .. }
        | Fact::LeaseOver { .. }
        | Fact::LeaseExtended { .. }
        | Fact::CancelMarked(_)
        | Fact::CancelAnswered { .. }
        | Fact::Verdict(_)
        | Fact::Taken { .. }
        | Fact::Released { .. }
        | Fact::CheckAgain { .. }
        | Fact::CancelRequested { .. }
        | Fact::AuthorityLost { .. }
        | Fact::DeadlinePassed { .. }
        | Fact::ApprovalOver { .. }
        | Fact::GaveUp { .. }
        | Fact::SearchEnded { .. }
        | Fact::ClockRead { .. }
        | Fact::ReviewOpened { .. }
        | Fact::StoreRestored { .. }
        | Fact::NotAdmitted { .. }
        | Fact::Reread { .. }
        | Fact::Unsupported { .. }
        | Fact::Noted { .. } => None,
    }
}
