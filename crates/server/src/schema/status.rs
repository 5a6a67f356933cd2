//! The schema of the one status object, and of the review queue's rows.

use factum::core::statement::StatementKey;
use serde_json::{Value, json};

use super::{boolean, count, id, instant, nullable, object, said, text, words};
use crate::actions::{next_words, state_words};

type Member = (&'static str, Value, bool);

pub(super) fn schema() -> Value {
    object(
        &members(),
        "One action as it stands. Every interface shows this object.",
    )
}

pub(super) fn review_item() -> Value {
    let mut members = members();
    members.push(("evidence_count", count(), true));
    members.push(("since", nullable(instant()), true));
    members.push((
        "consequence",
        words(&["harmless", "reversible", "costly", "irreversible"]),
        true,
    ));
    let window =
        "Until when it can still be settled by sending under the same key, where that is promised.";
    members.push(("window_until", said(nullable(instant()), window), true));
    members.push(("taken_by", said(nullable(text()), "Who works on it."), true));
    members.push(("proposed", nullable(super::review::proposed()), true));
    object(&members, "An action that waits for a person.")
}

fn members() -> Vec<Member> {
    let mut members = submitted();
    members.extend(known());
    members.extend(beside());
    members
}

fn submitted() -> Vec<Member> {
    let note = "Where it joined: that nothing was sent again, and what to do for a new try.";
    vec![
        ("id", id(), true),
        (
            "joined",
            said(
                boolean(),
                "The submission that is answered joined an earlier one.",
            ),
            true,
        ),
        ("note", said(text(), note), false),
        ("created_at", instant(), true),
        (
            "key",
            said(text(), "The caller's name for the effect."),
            true,
        ),
        ("destination", text(), true),
        ("operation", text(), true),
        ("for", text(), true),
        ("summary", nullable(json!({"type": "string"})), true),
        (
            "shown",
            json!({
                "type": "object", "additionalProperties": {},
                "description": "Members of the payload that its contract lets be shown, by JSON pointers; for the audience `operator` alone.",
            }),
            false,
        ),
        ("subject", nullable(text()), true),
        ("conversation", nullable(text()), true),
        ("trace", nullable(text()), true),
    ]
}

fn known() -> Vec<Member> {
    let again = "A new identity cannot make a second effect. The same identity always joins and is always safe.";
    let next = [
        ("do", words(&next_words()), true),
        ("at", nullable(instant()), true),
        ("why", text(), true),
    ];
    vec![
        (
            "state",
            said(words(&state_words()), "What the evidence so far supports."),
            true,
        ),
        (
            "happened",
            words(&["yes", "no", "not_yet", "unknown"]),
            true,
        ),
        ("safe_to_call_again", said(boolean(), again), true),
        (
            "next",
            object(&next, "What the engine will do, when, and why."),
            true,
        ),
        ("statement", statement(), true),
        ("receipt", nullable(receipt()), true),
        (
            "because",
            said(nullable(text()), "Why it ended as it did."),
            true,
        ),
        ("version", said(count(), "Raised by every change."), true),
    ]
}

/// What may be said, and what may not.
pub(super) fn statement() -> Value {
    let keys = StatementKey::ALL.map(StatementKey::name);
    let key = "Which statement it is: what a conversation says that it passed on.";
    let statement = [
        ("key", said(words(&keys), key), true),
        ("say", text(), true),
        (
            "never_say",
            json!({"type": "array", "items": {"type": "string"}}),
            true,
        ),
        ("locale", text(), true),
    ];
    object(
        &statement,
        "What may be said as it stands, and what may not.",
    )
}

fn beside() -> Vec<Member> {
    let closed = [
        ("by", text(), true),
        ("why", text(), true),
        ("at", instant(), true),
    ];
    let by = "By when an answer is promised, counted from when a person was first needed.";
    let contact = [
        ("say", text(), true),
        ("by", said(nullable(instant()), by), true),
        ("late", said(boolean(), "That time has passed."), true),
    ];
    let contact = object(
        &contact,
        "The customer's route while a person has to decide.",
    );
    vec![
        (
            "attempts",
            said(
                count(),
                "Attempts that may have written to the destination.",
            ),
            true,
        ),
        (
            "revised",
            said(
                boolean(),
                "It was settled otherwise before: correct what was said.",
            ),
            true,
        ),
        (
            "reversed",
            said(boolean(), "The effect existed and was undone later."),
            true,
        ),
        (
            "duplicate_suspected",
            said(boolean(), "More than one effect was seen."),
            true,
        ),
        (
            "duplicates",
            json!({"type": "array", "items": receipt()}),
            true,
        ),
        (
            "closed",
            nullable(object(&closed, "Who ended the search.")),
            true,
        ),
        ("contact", nullable(contact), true),
    ]
}

fn receipt() -> Value {
    let aliases = json!({"type": "array", "items": {"type": "string"}});
    let receipt = [("reference", text(), true), ("aliases", aliases, false)];
    object(&receipt, "The destination's reference for the effect.")
}
