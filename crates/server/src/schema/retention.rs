//! Schemas of purging, erasing and holding.

use serde_json::{Value, json};

use super::request::{body, found_by, name, spoken};
use super::{boolean, count, id, instant, list, nullable, object, said, text};

pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    let purge = [("dry_run", said(boolean(), "Only count."), false)];
    vec![
        ("PurgeRequest", body(&purge, "Whether to purge.")),
        ("PurgeReport", purge_report()),
        (
            "EraseRequest",
            body(
                &erase(),
                "Exactly one of `action`, `conversation` and `for`.",
            ),
        ),
        ("EraseReport", erase_report()),
        (
            "HoldRequest",
            body(
                &hold(),
                "Exactly one of `action`, `conversation` and `all`.",
            ),
        ),
        ("Hold", held()),
        (
            "Holds",
            object(&[("holds", list("Hold"), true)], "What is held."),
        ),
    ]
}

fn target() -> Vec<(&'static str, Value, bool)> {
    vec![
        ("tenant", said(name(), "Left out: `default`."), false),
        ("action", said(id(), "One action."), false),
        (
            "conversation",
            said(found_by(), "All that was asked for in it."),
            false,
        ),
        ("why", said(spoken(2_000), "It is kept."), true),
        ("by", said(spoken(200), "Who says so."), false),
    ]
}

fn erase() -> Vec<(&'static str, Value, bool)> {
    let mut members = target();
    members.push((
        "for",
        said(found_by(), "All that was carried out for a principal."),
        false,
    ));
    members.push(("dry_run", said(boolean(), "Only look."), false));
    members
}

fn hold() -> Vec<(&'static str, Value, bool)> {
    let mut members = target();
    members.push(("all", said(boolean(), "All of the tenant."), false));
    members.push(("release", said(boolean(), "Let go instead."), false));
    members
}

fn purge_report() -> Value {
    object(
        &[
            ("dry_run", boolean(), true),
            (
                "settled",
                said(count(), "Settled actions that were looked at."),
                true,
            ),
            (
                "content",
                said(count(), "Actions whose content was taken."),
                true,
            ),
            (
                "actions",
                said(count(), "Actions of which a tombstone stays."),
                true,
            ),
            (
                "identities",
                said(count(), "Identities that were forgotten."),
                true,
            ),
            ("held", said(count(), "What would go, and is held."), true),
        ],
        "What was purged, or would be.",
    )
}

fn erase_report() -> Value {
    let ids = json!({"type": "array", "items": id()});
    object(
        &[
            ("dry_run", boolean(), true),
            ("erased", ids.clone(), true),
            (
                "unsettled",
                said(
                    ids.clone(),
                    "Still needed: erase them once they are settled.",
                ),
                true,
            ),
            ("held", ids, true),
        ],
        "What was erased, or would be, and what was left.",
    )
}

fn held() -> Value {
    object(
        &[
            ("tenant", text(), true),
            ("all", said(boolean(), "All of the tenant."), true),
            ("action", nullable(id()), true),
            ("conversation", nullable(text()), true),
            ("by", text(), true),
            ("why", text(), true),
            ("at", instant(), true),
        ],
        "What is neither purged nor erased, who said so, and why.",
    )
}
