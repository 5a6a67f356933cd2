//! A rehearsal in words: each decision as a sentence, and as JSON.

use factum_contract::{Decision, Rehearsed};
use factum_core::Step;
use factum_core::evidence::PermissionKind;
use serde_json::{Value, json};

/// Each decision on lines of its own, and how it ends.
pub(super) fn lines(played: &Rehearsed) -> Vec<String> {
    let mut lines = Vec::new();
    for (number, decision) in (1..).zip(&played.decisions) {
        lines.push(format!("{number:>3}. {}", sentence(decision)));
        lines.push(format!("     because {}", decision.next.why));
        if let Step::Send(plan) = decision.next.step {
            lines.push(format!(
                "     permission {}: {}",
                plan.kind.name(),
                rests_on(plan.kind)
            ));
        }
    }
    lines.push(format!(
        "ends {}, happened: {}",
        played.end.state.name(),
        played.end.state.happened().name()
    ));
    lines
}

/// What is done, and when.
pub(super) fn sentence(decision: &Decision) -> String {
    let when = decision.due.map(|due| format!(" at +{due}"));
    let when = when.unwrap_or_default();
    let until = decision
        .not_after
        .map(|end| format!(", no later than +{end}"));
    let until = until.unwrap_or_default();
    let times = match decision.times {
        1 => String::new(),
        times => format!(", {times} times"),
    };
    let what = match decision.next.step {
        Step::Send(_) => "send again",
        Step::LookUp => "look up",
        Step::Poll { .. } => "ask how the queued work stands",
        Step::CancelByKey { .. } => "withdraw what exists under the key",
        Step::Wait => return format!("wait until +{}", decision.due.unwrap_or_default()),
        Step::Review(_) => "a person decides",
        Step::None => "nothing more",
    };
    format!("{what}{when}{until}{times}")
}

fn rests_on(kind: PermissionKind) -> &'static str {
    match kind {
        PermissionKind::First => "nothing was ever sent",
        PermissionKind::ProvenNotSent => "every earlier request is proven to have had no effect",
        PermissionKind::SameKey => "it arrives under the same key, inside its window",
        PermissionKind::ProvenAbsent => {
            "it was looked for late enough and is not there, or was withdrawn"
        }
        PermissionKind::Harmless => "a repeat has no further effect",
        PermissionKind::Ordered(_) => "the risk of a duplicate was accepted beforehand",
    }
}

/// The chain as JSON; times in milliseconds from the first send.
pub(super) fn value(played: &Rehearsed) -> Value {
    let steps: Vec<_> = played.decisions.iter().map(step).collect();
    json!({
        "decisions": steps,
        "state": played.end.state.name(),
        "happened": played.end.state.happened().name(),
    })
}

fn step(decision: &Decision) -> Value {
    let millis = |span: factum_core::Span| span.as_micros() / 1_000;
    let permission = match decision.next.step {
        Step::Send(plan) => Some(plan.kind.name()),
        Step::LookUp
        | Step::Poll { .. }
        | Step::CancelByKey { .. }
        | Step::Wait
        | Step::Review(_)
        | Step::None => None,
    };
    json!({
        "do": decision.next.step.name(),
        "permission": permission,
        "why": decision.next.why.to_string(),
        "state": decision.state.name(),
        "at_ms": decision.due.map(millis),
        "not_after_ms": decision.not_after.map(millis),
        "times": decision.times,
    })
}
