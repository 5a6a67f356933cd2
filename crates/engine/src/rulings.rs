//! Whether what a person decides about an action could have any effect. Pure.

use factum_core::evidence::{RequestRef, Ruling};
use factum_core::{State, Status, Timestamp};
use factum_store::Record;

use crate::engine::retention::content_gone;
use crate::problem::{Code, Problem};
use crate::review::strong::Bare;

/// Whether asking the destination once more could tell anything.
///
/// # Errors
/// [`Code::DoesNotApply`] where the destination has no lookup, or the action is settled.
pub fn check_applies(record: &Record) -> Result<(), Problem> {
    let refuse = |rule: &str, remedy: &str| {
        Err(Problem::new(Code::DoesNotApply, "", rule, remedy).about(record.id()))
    };
    if record.action.intent.promises.lookup.is_none() {
        return refuse(
            "the destination offers no lookup",
            "look there by hand, and give a verdict",
        );
    }
    if record.status().state.is_final() {
        return refuse("the action is settled", "read its evidence");
    }
    Ok(())
}

fn cancel_in_flight(record: &Record) -> bool {
    let open = record.known.open_marks();
    open.iter()
        .any(|(request, _)| matches!(request, RequestRef::Cancel(_)))
}

/// Whether anything could follow from this ruling.
///
/// `bare` is how it stands without people's verdicts, where that is known: what only a person's word has settled may be ruled on anew.
///
/// # Errors
/// [`Code::AgainstEvidence`] where the destination's evidence has settled it; [`Code::DoesNotApply`] where nothing could follow.
pub fn verdict_applies(
    record: &Record,
    status: &Status,
    ruling: &Ruling,
    now: Timestamp,
    bare: Option<&Bare>,
) -> Result<(), Problem> {
    let id = record.id();
    if let (Ruling::SendAgain, Some(at)) = (ruling, record.action.content.purged_at) {
        return Err(content_gone(id, at));
    }
    let by_word_alone = status.state.is_final() && bare.is_some_and(Bare::is_open);
    let against = |rule: String| {
        let shown = bare.map_or_else(String::new, |bare| format!(" ({})", bare.shown()));
        let remedy = "read the evidence; a verdict is for what is not known";
        let rule = format!("{rule}{shown}");
        Err(Problem::new(Code::AgainstEvidence, "/verdict", rule, remedy).about(id))
    };
    let refuse = |rule: String, remedy: &str| {
        Err(Problem::new(Code::DoesNotApply, "/verdict", rule, remedy).about(id))
    };
    let open = matches!(status.state, State::OutcomeUnknown | State::Accepted);
    let disputed = status.contradicted || status.duplicate_suspected();
    let word = status.state.name();
    match ruling {
        // What a person has seen there may be what a cancel on its way takes back.
        _ if status.state == State::Dispatching || cancel_in_flight(record) => refuse(
            "a request is in flight".to_owned(),
            "wait until it ended; then give the verdict",
        ),
        Ruling::Happened { .. } | Ruling::DidNotHappen | Ruling::CannotBeKnown
            if !open && !disputed && !by_word_alone =>
        {
            against(format!(
                "the state is {word}, which the evidence already supports"
            ))
        }
        Ruling::SendAgain if status.state == State::Succeeded && !disputed && !by_word_alone => {
            against(
                "the effect exists; for a second one, submit again under another key".to_owned(),
            )
        }
        Ruling::SendAgain
            if record
                .action
                .intent
                .deadline
                .is_some_and(|deadline| now >= deadline) =>
        {
            refuse(
                "the deadline has passed, and nothing is sent after it".to_owned(),
                "submit again under another key, once it is certain that nothing happened",
            )
        }
        Ruling::SendAgain if record.known.is_withdrawn() => refuse(
            "the action was withdrawn, or its authority ended".to_owned(),
            "submit again under another key, once it is certain that nothing happened",
        ),
        Ruling::Happened { .. }
        | Ruling::DidNotHappen
        | Ruling::CannotBeKnown
        | Ruling::SendAgain => Ok(()),
    }
}
