//! The schemas of remote work.

use serde_json::{Value, json};

use super::request::{WHOLE_MAX, body, spoken, whole};
use super::{boolean, count, id, instant, list, named, nullable, object, said, text, words};
use crate::work::{ITEMS_MAX, LEASE_MAX_S, OUTCOMES, SHORT};

pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    let items = [("items", list("Work"), true)];
    let lease = [("leased_until", instant(), true)];
    let reported = [
        ("repeated", said(boolean(), "It was recorded before."), true),
        ("action", named("Status"), true),
    ];
    let returned = [("returned", boolean(), true)];
    vec![
        ("WorkWish", wish()),
        ("Work", work()),
        ("WorkList", object(&items, "What was claimed.")),
        ("WorkBegun", begun()),
        (
            "WorkLease",
            object(&lease, "Until when word of it is waited for."),
        ),
        ("WorkReport", report()),
        ("WorkReported", object(&reported, "What is known then.")),
        ("WorkReturned", object(&returned, "It is free for others.")),
        ("Empty", body(&[], "Nothing has to be said.")),
    ]
}

fn texts() -> Value {
    json!({"type": "array", "items": spoken(SHORT)})
}

fn wish() -> Value {
    body(
        &[
            (
                "destinations",
                said(texts(), "Of these; of all where there are none."),
                false,
            ),
            (
                "operations",
                said(texts(), "Of these; of all where there are none."),
                false,
            ),
            (
                "actions",
                said(
                    json!({"type": "array", "items": id(), "maxItems": 100}),
                    "Only these, by their ids, 100 at the most; all where there are none.",
                ),
                false,
            ),
            ("kind", words(&["send", "look_up"]), false),
            (
                "max",
                said(
                    whole(1, ITEMS_MAX),
                    "As many at the most; one where nothing is said.",
                ),
                false,
            ),
            (
                "lease_s",
                said(
                    whole(1, LEASE_MAX_S),
                    "Seconds until it is free for others.",
                ),
                false,
            ),
        ],
        "What a worker wants to do.",
    )
}

fn work() -> Value {
    let permission = object(
        &[("kind", text(), true), ("until", instant(), true)],
        "By what right it would be sent now; the begin decides anew.",
    );
    object(
        &[
            (
                "claim",
                said(text(), "What names the claim from now on."),
                true,
            ),
            ("kind", words(&["send", "look_up"]), true),
            ("action", id(), true),
            ("destination", text(), true),
            ("operation", text(), true),
            ("for", said(text(), "For whom."), true),
            ("summary", nullable(text()), true),
            ("subject", nullable(text()), true),
            ("params", json!({"type": "object"}), true),
            ("payload", said(json!({}), "As it was submitted."), true),
            (
                "key",
                said(
                    text(),
                    "The key that the destination recognises repeats by; a send's is final with its begin.",
                ),
                true,
            ),
            (
                "reference",
                said(
                    text(),
                    "To be written into the destination's record, so that it is found again; equal on every attempt.",
                ),
                true,
            ),
            ("trace", nullable(text()), true),
            ("attempts", said(count(), "Begun so far."), true),
            ("permission", nullable(permission), true),
            (
                "by",
                said(
                    nullable(words(&["reference", "key"])),
                    "What a lookup asks by; null for a send.",
                ),
                true,
            ),
            ("leased_until", instant(), true),
        ],
        "Something for a worker to do.",
    )
}

fn begun() -> Value {
    object(
        &[
            ("action", id(), true),
            ("attempt", count(), true),
            (
                "permission",
                said(text(), "By what right it is sent."),
                true,
            ),
            ("key", text(), true),
            ("reference", text(), true),
            (
                "valid_until",
                said(instant(), "No first byte from then on."),
                true,
            ),
            (
                "valid_for_ms",
                said(count(), "The same, counted from before the begin was sent."),
                true,
            ),
            (
                "limit_ms",
                said(
                    count(),
                    "How long the call may take from its first byte on.",
                ),
                true,
            ),
            (
                "leased_until",
                said(instant(), "Without word by then, it is maybe sent."),
                true,
            ),
        ],
        "The permission to make one call.",
    )
}

fn report() -> Value {
    let status = whole(100, 999);
    let headers = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let answer = body(
        &[
            ("status", status, true),
            ("headers", headers, false),
            ("body", json!({"type": "string"}), false),
            ("truncated", boolean(), false),
        ],
        "The destination's answer, kept with the action.",
    );
    body(
        &[
            ("outcome", words(&OUTCOMES), true),
            (
                "receipt",
                said(
                    spoken(SHORT),
                    "The destination's own reference, with `done` and `found`.",
                ),
                false,
            ),
            (
                "aliases",
                said(texts(), "Other names of the same effect."),
                false,
            ),
            (
                "receipts",
                said(
                    texts(),
                    "With `found`, where there is more than one effect.",
                ),
                false,
            ),
            (
                "object",
                said(
                    spoken(SHORT),
                    "The destination's name for queued work, with `accepted` and `queued`.",
                ),
                false,
            ),
            ("why", spoken(2_000), false),
            ("retry_after_s", whole(0, WHOLE_MAX), false),
            ("answer", answer, false),
        ],
        "What became of a worker's call.",
    )
}
