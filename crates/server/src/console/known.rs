//! What is known about an action and how, and what is not: the sentences that a person decides by. They follow from the log alone.

use factum::core::evidence::{Answer, AnswerClass, LookupAnswer, Loss, ReviewWhy};
use factum::core::{Evidence, Fact, State, Status, Timestamp};
use factum::view::EvidenceView;
use factum::{Record, Whereabouts};

use super::words::{When, done_word, length, permission};

/// One thing that is known.
pub(super) struct Line {
    /// Of the record in the log that says so.
    pub(super) id: u64,
    pub(super) at: When,
    pub(super) text: String,
    /// Who says so.
    pub(super) source: String,
    /// How it weighs: `plain`, `good`, `bad`, `lost`.
    pub(super) weight: &'static str,
}

/// The question, in one sentence.
pub(super) fn question(record: &Record, status: &Status, place: &Whereabouts, at: &str) -> String {
    let action = &record.action;
    let title = action.content.summary.as_deref();
    let title = title.or(action.content.subject.as_deref());
    let named = match (place.kind.as_deref(), title) {
        (Some(kind), Some(title)) => format!("the {kind} “{title}”"),
        (None, Some(title)) => format!("“{title}”"),
        (kind, None) => {
            let (kind, operation) = (kind.unwrap_or("effect"), &action.scope.operation);
            format!("the {kind} of {operation}")
        }
    };
    if status.duplicate_suspected() {
        return format!("Is {named} at {at} there twice?");
    }
    if status.contradicted {
        return format!("A person and {at} disagree about {named}. Which of them is right?");
    }
    format!(
        "Was {named} {} at {at}?",
        done_word(&action.scope.operation)
    )
}

/// What is known, oldest first. What changes nothing for a decision is left to the log.
pub(super) fn known(evidence: &[Evidence], destination: &str) -> Vec<Line> {
    let told = evidence.iter().filter(|one| {
        !matches!(
            one.fact,
            Fact::ClockRead { .. }
                | Fact::LeaseExtended { .. }
                | Fact::ReviewOpened { .. }
                | Fact::Released { .. }
        )
    });
    told.map(|one| line(one, destination)).collect()
}

/// One record as a sentence.
pub(super) fn line(one: &Evidence, destination: &str) -> Line {
    let (text, weight) = match &one.fact {
        Fact::Marked(mark) => (
            format!(
                "Request {} was allowed to leave, because {}.",
                mark.attempt,
                permission(mark.permission)
            ),
            "plain",
        ),
        Fact::NotSent {
            attempt, detail, ..
        } => (
            format!("Request {attempt} did not leave: no byte was written ({detail})."),
            "good",
        ),
        Fact::Lost(loss) => (lost(loss), "lost"),
        Fact::Answered(answer) => answered(answer),
        Fact::LookedUp(lookup) => match &lookup.answer {
            LookupAnswer::Found(_) => (sentence(one), "good"),
            LookupAnswer::Absent => (
                "Asked whether they have it: nothing of ours is shown.".to_owned(),
                "plain",
            ),
            LookupAnswer::Queued { .. } | LookupAnswer::Inconclusive { .. } => {
                (sentence(one), "plain")
            }
        },
        Fact::LeaseOver { .. } => (
            "Whoever carried it out gave no word in time; the request may have left.".to_owned(),
            "lost",
        ),
        Fact::ProcessGone { .. } => (
            "The process that was sending it ended; the request may have left.".to_owned(),
            "lost",
        ),
        _ => (sentence(one), "plain"),
    };
    Line {
        id: one.id.0,
        at: When::of(one.at),
        text,
        source: source(&one.fact, destination),
        weight,
    }
}

fn sentence(one: &Evidence) -> String {
    let said = EvidenceView::of(one).says;
    let mut letters = said.chars();
    let first = letters
        .next()
        .map(|letter| letter.to_uppercase().to_string());
    format!(
        "{}{}.",
        first.unwrap_or_default(),
        letters.as_str().trim_end_matches('.')
    )
}

fn lost(loss: &Loss) -> String {
    let came = match loss.read {
        0 => "no answer came back".to_owned(),
        read => format!("the answer broke off after {read} bytes"),
    };
    format!(
        "{} bytes of request {} left, and {came}: {}.",
        loss.wrote, loss.attempt, loss.detail
    )
}

fn answered(answer: &Answer) -> (String, &'static str) {
    let status = answer.capture.status;
    let receipt = answer
        .receipt
        .as_ref()
        .map(|receipt| receipt.reference.as_str());
    let (means, weight) = match (&answer.class, receipt) {
        (AnswerClass::Done, Some(receipt)) => (format!("done, as {receipt}"), "good"),
        (AnswerClass::Done, None) => ("done".to_owned(), "good"),
        (AnswerClass::Accepted { .. }, _) => ("taken, and not completed yet".to_owned(), "plain"),
        (AnswerClass::Rejected { why, .. }, _) => (format!("refused ({why})"), "bad"),
        (AnswerClass::Declined { why, .. }, _) => (format!("declined ({why})"), "bad"),
        (AnswerClass::InProgress, _) => ("an earlier one is still running".to_owned(), "plain"),
        (AnswerClass::AlreadyExists { ours: true }, _) => {
            ("it is there already".to_owned(), "good")
        }
        (AnswerClass::AlreadyExists { ours: false }, _) => (
            "something of this name is there, perhaps not ours".to_owned(),
            "plain",
        ),
        (AnswerClass::Mismatch, _) => ("they hold other content under our key".to_owned(), "bad"),
        (AnswerClass::Busy, _) => ("not now, and nothing was done".to_owned(), "plain"),
        (AnswerClass::Unknown, _) => ("nothing that says whether it was done".to_owned(), "lost"),
    };
    let text = format!(
        "Request {} was answered with {status}: {means}.",
        answer.attempt
    );
    (text, weight)
}

/// Who says what a record says.
fn source(fact: &Fact, destination: &str) -> String {
    match fact {
        Fact::Answered(_)
        | Fact::LookedUp(_)
        | Fact::Polled { .. }
        | Fact::CancelAnswered { .. } => {
            format!("{destination}, when asked")
        }
        Fact::CalledBack(_) => format!("{destination}, by itself"),
        Fact::NotSent { .. } | Fact::Lost(_) => "our side of the connection".to_owned(),
        Fact::Verdict(verdict) => verdict.by.clone(),
        Fact::Taken { by } | Fact::CheckAgain { by, .. } | Fact::CancelRequested { by, .. } => {
            by.clone()
        }
        Fact::Noted { .. } => "a note".to_owned(),
        _ => "this engine".to_owned(),
    }
}

/// What is not known, and why the machine does not go on by itself.
pub(super) fn unknown(
    record: &Record,
    status: &Status,
    why: ReviewWhy,
    destination: &str,
    now: Timestamp,
) -> Vec<String> {
    let mut lines = Vec::new();
    match status.state {
        State::OutcomeUnknown => {
            lines.push(format!(
                "Whether {destination} carried it out before the answer was lost."
            ));
            lines.extend(on_the_way(record, destination, now));
        }
        State::Accepted => lines.push(format!("Whether {destination} completed what it took.")),
        State::Pending
        | State::Dispatching
        | State::Succeeded
        | State::RetryableFailure
        | State::TerminalFailure
        | State::Cancelled
        | State::Expired => {}
    }
    lines.push(match why {
        ReviewWhy::NothingToAsk => format!(
            "How to find out: {destination} offers nothing to ask by, so the machine cannot."
        ),
        ReviewWhy::NotFoundByPartialLookup => format!(
            "What {destination} does not show when asked: it lags or leaves things out, so not finding it proves nothing."
        ),
        why => {
            let sentence = why.sentence();
            let mut letters = sentence.chars();
            let first = letters.next().map(|letter| letter.to_uppercase().to_string());
            format!("{}{}.", first.unwrap_or_default(), letters.as_str())
        }
    });
    lines
}

/// Whether a request could still take effect, and until when. Nothing where it cannot any more.
fn on_the_way(record: &Record, destination: &str, now: Timestamp) -> Option<String> {
    let intent = &record.action.intent;
    let processing = intent.promises.processing_max;
    let last = record.known.marked_at().max()? + intent.limits.send_wait;
    match intent.limits.bound.lands_by(last, None, processing) {
        None => Some(format!(
            "Until when it could still take effect: {destination} says nowhere how long it may work on a request."
        )),
        Some(lands) if lands > now => Some(format!(
            "Whether it is still on the way: it could take effect for up to {} more.",
            length(lands.since(now))
        )),
        Some(_) => None,
    }
}
