//! Spans of what is done about an action, for whoever exports traces: submit, send, look up, poll, settle, and evidence that comes late.
//!
//! They say names, numbers and words of ours, and nothing of a payload, an answer or a secret. Where nobody listens to [`TARGET`] they cost
//! next to nothing. Whoever exports them makes one trace of all that belongs to an action, also over restarts and workers: the
//! caller's, whose context stands in `trace`, else one that is named after the action.

use factum_core::evidence::{Answer, RequestRef};
use factum_core::{Fact, Permission, State, Timestamp, TraceContext};
use factum_store::{Action, Admitted, Record};
use tracing::{Span, debug_span, field};

/// The target of every span here.
pub const TARGET: &str = "factum::trail";

/// The target of the lines about decisions.
pub const DECISIONS: &str = "factum::decisions";

fn context(action: &Action) -> &str {
    let trace = action.content.trace.as_ref();
    trace.map_or("", TraceContext::as_str)
}

/// A submission goes to the store.
pub(crate) fn submit(action: &Action) -> Span {
    debug_span!(
        target: TARGET,
        "submit",
        action = %action.intent.action,
        trace = context(action),
        destination = action.scope.destination,
        operation = action.scope.operation,
        result = field::Empty,
        link_action = field::Empty,
        link_trace = field::Empty,
    )
}

/// What became of it. One that joined leads to the action that it joined.
pub(crate) fn submitted(span: &Span, admitted: &Admitted) {
    if span.is_disabled() {
        return;
    }
    let (word, first) = match admitted {
        Admitted::Created(..) => ("created", None),
        Admitted::Joined(first) => ("joined", Some(first)),
        Admitted::Conflict { first, .. } => ("conflict", Some(first)),
        Admitted::HeldOff(first) => ("held_off", Some(first)),
        Admitted::Gone(_) | Admitted::Forgotten(_) => ("gone", None),
        Admitted::Stale | Admitted::Reserved(_) => ("again", None),
    };
    span.record("result", word);
    if let Some(first) = first {
        span.record("link_action", field::display(first.id()));
        span.record("link_trace", context(&first.action));
    }
}

/// An effect request goes out.
pub(crate) fn send(record: &Record, permission: &Permission) -> Span {
    let (attempt, right) = match permission.request() {
        RequestRef::Attempt(attempt) => (attempt.0, permission.kind().map(|kind| kind.name())),
        RequestRef::Cancel(no) => (no, Some("cancel_by_key")),
    };
    debug_span!(
        target: TARGET,
        "send",
        action = %record.id(),
        trace = context(&record.action),
        destination = record.action.scope.destination,
        operation = record.action.scope.operation,
        attempt,
        right,
        result = field::Empty,
    )
}

/// The destination is asked whether the effect exists, or how queued work stands.
pub(crate) fn question(record: &Record, polls: bool) -> Span {
    let (id, action) = (record.id(), &record.action);
    let (destination, operation) = (&action.scope.destination, &action.scope.operation);
    if polls {
        debug_span!(
            target: TARGET, "poll", action = %id, trace = context(action), destination, operation, result = field::Empty,
        )
    } else {
        debug_span!(
            target: TARGET, "look_up", action = %id, trace = context(action), destination, operation, result = field::Empty,
        )
    }
}

/// How a request or a question ended.
pub(crate) fn ended(span: &Span, facts: &[Fact]) {
    let word = facts.first().map_or("nothing", |fact| match fact {
        Fact::Answered(Answer { class, .. }) => class.name(),
        other => other.kind(),
    });
    span.record("result", word);
}

/// An action was settled: as what, and by what.
pub(crate) fn settle(record: &Record, outcome: &str, by: &str) {
    let _span = debug_span!(
        target: TARGET,
        "settle",
        action = %record.id(),
        trace = context(&record.action),
        destination = record.action.scope.destination,
        operation = record.action.scope.operation,
        result = outcome,
        by,
    );
}

/// Evidence came that was not waited for any more: a trace of its own, which leads to the action's.
pub(crate) fn late(record: &Record, by: &str) {
    let _span = debug_span!(
        target: TARGET,
        "late_evidence",
        destination = record.action.scope.destination,
        operation = record.action.scope.operation,
        result = record.status().state.name(),
        by,
        link_action = %record.id(),
        link_trace = context(&record.action),
    );
}

/// A decision about an action was written: one line in the log, with its why.
pub(crate) fn decided(record: &Record, before: State) {
    let next = &record.next;
    let instant = |at: Timestamp| jiff::Timestamp::from_microsecond(at.as_micros()).ok();
    tracing::debug!(
        target: DECISIONS,
        action = %record.id(),
        destination = record.action.scope.destination,
        before = before.name(),
        state = record.status().state.name(),
        next = next.step,
        at = next.at.and_then(instant).map(field::display),
        why = next.why,
        "decided"
    );
}
