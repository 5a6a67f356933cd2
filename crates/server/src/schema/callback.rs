//! The schemas of callbacks in.

use serde_json::Value;

use super::{boolean, count, id, instant, list, nullable, object, said, text, words};

pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    let page = [
        ("callbacks", list("Callback"), true),
        ("next_before", nullable(count()), true),
    ];
    let taken = [("taken", boolean(), true)];
    vec![
        ("Callback", callback()),
        ("CallbackReading", reading()),
        (
            "CallbackList",
            object(&page, "A page, newest first; `next_before` continues it."),
        ),
        ("CallbackTaken", object(&taken, "It is recorded.")),
    ]
}

/// Where a destination's callbacks come to.
pub(super) fn door() -> Value {
    let path = said(
        text(),
        "Behind the address at which the outside reaches this server.",
    );
    let checked = said(boolean(), "A secret is configured to check them with.");
    object(
        &[("path", path, true), ("can_be_checked", checked, true)],
        "Where its callbacks come to.",
    )
}

fn callback() -> Value {
    let action = said(
        nullable(id()),
        "The action that it was about; null as long as its names find none, or more than one.",
    );
    object(
        &[
            ("no", said(count(), "Later ones have higher numbers."), true),
            ("at", said(instant(), "When it was stored."), true),
            ("destination", text(), true),
            ("action", action, true),
            ("readings", list("CallbackReading"), true),
            ("body", said(text(), "The beginning of its body."), true),
        ],
        "What a destination reported by itself.",
    )
}

fn reading() -> Value {
    let by = words(&["reference", "key", "object", "receipt"]);
    let name = object(
        &[("by", by, true), ("name", text(), true)],
        "A name by which it finds an action.",
    );
    let names = serde_json::json!({"type": "array", "items": name});
    object(
        &[
            ("operation", text(), true),
            ("says", said(text(), "What it says, for people."), true),
            ("names", names, true),
        ],
        "What it says, as the contract of one operation reads it.",
    )
}
