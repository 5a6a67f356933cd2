//! Whether what a person decides about an action could have any effect. Pure.

use factum_core::evidence::{RequestRef, Ruling};
use factum_core::{State, Status, Timestamp};
use factum_store::Record;

use crate::problem::{Code, Problem};

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
/// # Errors
/// [`Code::DoesNotApply`] where the evidence leaves nothing to rule on, or nothing could follow from it.
pub fn verdict_applies(
    record: &Record,
    status: &Status,
    ruling: &Ruling,
    now: Timestamp,
) -> Result<(), Problem> {
    let id = record.id();
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
            if !open && !disputed =>
        {
            refuse(
                format!("the state is {word}, which the evidence already supports"),
                "read the evidence; a verdict is for what is not known",
            )
        }
        Ruling::SendAgain if status.state == State::Succeeded && !disputed => refuse(
            "the effect exists".to_owned(),
            "for a second effect, submit again under another key",
        ),
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
