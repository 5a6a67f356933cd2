//! JSON Schemas of what goes in and out. Tests hold them against the types that are really read and written.

mod callback;
mod conversation;
mod event;
mod proposal;
mod register;
mod request;
mod retention;
mod review;
mod signed;
mod status;
mod submission;
mod work;

pub(crate) use self::event::PLACE_PATTERN;
use factum::Code;
use serde_json::{Map, Value, json};

use crate::actions::{next_words, state_words};
use crate::review::VERDICTS;
use request::{body, spoken};

/// The form of an action id.
pub const ID_PATTERN: &str = "^act_[0-7][0-9a-hjkmnp-tv-z]{25}$";

/// The form of a proposal id.
pub const PROPOSAL_PATTERN: &str = "^pro_[0-9a-hjkmnp-tv-z]{26}$";

/// All schemas by name, as the OpenAPI document's components.
#[must_use]
pub fn components() -> Map<String, Value> {
    let all = about_actions()
        .into_iter()
        .chain(about_operating())
        .chain(callback::schemas())
        .chain(conversation::schemas())
        .chain(event::schemas())
        .chain(proposal::schemas())
        .chain(register::schemas())
        .chain(retention::schemas())
        .chain(review::schemas())
        .chain(work::schemas());
    all.map(|(name, schema)| (name.to_owned(), schema))
        .collect()
}

fn about_actions() -> Vec<(&'static str, Value)> {
    let log = [("action", id(), true), ("evidence", list("Evidence"), true)];
    let by = ("by", spoken(200), false);
    let withdrawn = [by.clone(), ("why", spoken(2_000), false)];
    vec![
        ("Submission", submission::schema()),
        ("CloudEvent", submission::event()),
        ("Status", status::schema()),
        ("Problem", problem()),
        ("Evidence", evidence()),
        ("ActionList", page("actions", "Status")),
        ("SignedReceipt", signed::receipt()),
        ("KeySet", signed::key_set()),
        ("EvidenceList", object(&log, "The log of an action.")),
        (
            "CancelRequest",
            body(&withdrawn, "Who withdraws it, and why."),
        ),
        ("CancelAnswer", cancel_answer()),
        ("ReviewItem", status::review_item()),
        ("ReviewList", page("items", "ReviewItem")),
        ("VerdictRequest", verdict_request()),
        ("ByRequest", body(&[by], "Who does it.")),
    ]
}

fn about_operating() -> Vec<(&'static str, Value)> {
    let until = said(
        instant(),
        "The last instant that the copy knows of; else its last stamp.",
    );
    let after_restore = [("copy_until", until, false), ("by", spoken(200), false)];
    let destinations = [
        ("destinations", list("Destination"), true),
        ("next_after", nullable(text()), true),
    ];
    let would_send = [
        ("actions", list("Status"), true),
        ("complete", boolean(), true),
    ];
    vec![
        ("Operation", operation()),
        ("Destination", destination()),
        (
            "DestinationList",
            object(
                &destinations,
                "A page of the configured destinations, by name; `next_after` continues it.",
            ),
        ),
        ("Restore", restore()),
        ("AdminState", admin_state()),
        (
            "AfterRestoreRequest",
            body(&after_restore, "What is known of the copy."),
        ),
        ("WouldSend", object(&would_send, "What would be sent.")),
        (
            "Health",
            object(&[("alive", boolean(), true)], "The process lives."),
        ),
        ("Ready", ready()),
        (
            "Document",
            json!({"type": "object", "description": "An OpenAPI document."}),
        ),
    ]
}

fn page(name: &str, row: &str) -> Value {
    let members = [
        (name, list(row), true),
        ("next_before", nullable(id()), true),
    ];
    object(
        &members,
        "A page, newest first; `next_before` continues it.",
    )
}

/// The schema of a submission by itself: the body of `POST /v1/actions`, and what an outbox row holds.
#[must_use]
pub fn submission_document() -> Value {
    let mut schema = submission::schema();
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["$id"] = "urn:factum:schema:submission".into();
    schema["title"] = "Submission".into();
    schema
}

fn text() -> Value {
    json!({"type": "string", "minLength": 1})
}

fn boolean() -> Value {
    json!({"type": "boolean"})
}

fn count() -> Value {
    json!({"type": "integer", "minimum": 0})
}

fn instant() -> Value {
    json!({"type": "string", "format": "date-time"})
}

fn id() -> Value {
    json!({"type": "string", "pattern": ID_PATTERN})
}

fn proposal_id() -> Value {
    json!({"type": "string", "pattern": PROPOSAL_PATTERN})
}

fn words(words: &[&str]) -> Value {
    json!({"type": "string", "enum": words})
}

fn named(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

fn list(name: &str) -> Value {
    json!({"type": "array", "items": named(name)})
}

fn nullable(schema: Value) -> Value {
    json!({"anyOf": [schema, {"type": "null"}]})
}

fn said(mut schema: Value, says: &str) -> Value {
    schema["description"] = says.into();
    schema
}

/// An object with these members: name, schema, and whether it is always there. There are no others.
fn object(members: &[(&str, Value, bool)], says: &str) -> Value {
    let properties: Map<String, Value> = members
        .iter()
        .map(|(name, schema, _)| ((*name).to_owned(), schema.clone()))
        .collect();
    let required: Vec<&str> = members
        .iter()
        .filter(|(_, _, always)| *always)
        .map(|(name, _, _)| *name)
        .collect();
    json!({
        "type": "object", "description": says, "properties": properties, "required": required, "additionalProperties": false,
    })
}

fn problem() -> Value {
    let codes: Vec<&str> = Code::ALL.iter().map(|code| code.code()).collect();
    object(
        &[
            ("type", said(text(), "`urn:factum:problem:…`"), true),
            ("title", text(), true),
            (
                "status",
                json!({"type": "integer", "minimum": 400, "maximum": 599}),
                true,
            ),
            (
                "code",
                said(
                    words(&codes),
                    "Stable; `factum explain` has a page for each.",
                ),
                false,
            ),
            (
                "member",
                said(
                    text(),
                    "JSON pointer into the body, or the name of the query parameter or header.",
                ),
                false,
            ),
            ("rule", said(text(), "What was broken."), true),
            ("remedy", said(text(), "What to do about it."), true),
            ("action", said(id(), "The action that it is about."), false),
            (
                "proposal",
                said(proposal_id(), "The proposal that it is about."),
                false,
            ),
            (
                "earlier",
                json!({"$ref": "#/components/schemas/Status"}),
                false,
            ),
            (
                "request_id",
                said(
                    text(),
                    "The request's `X-Request-Id`, as it stands in the log.",
                ),
                false,
            ),
            (
                "retry_after",
                said(count(), "Seconds; as in the Retry-After header."),
                false,
            ),
        ],
        "Why a request was not carried out (RFC 9457). It never tells that an earlier submission failed.",
    )
}

fn evidence() -> Value {
    object(
        &[
            (
                "id",
                said(
                    count(),
                    "Its name within the action; it names, it does not order.",
                ),
                true,
            ),
            ("at", said(instant(), "When it was stored."), true),
            ("fact", said(text(), "What kind of fact it is."), true),
            ("says", said(text(), "What it says, for people."), true),
            ("detail", json!({"type": "object"}), true),
        ],
        "One fact about an action; they are only ever added.",
    )
}

fn cancel_answer() -> Value {
    object(
        &[
            ("cancel", words(&["stopped", "too_late"]), true),
            ("action", named("Status"), true),
        ],
        "What came of a withdrawal.",
    )
}

fn verdict_request() -> Value {
    let receipt = "The destination's reference, with `happened`.";
    let by = "Who says it; the token's principal where nothing is said.";
    body(
        &[
            ("verdict", words(&VERDICTS), true),
            ("why", said(spoken(2_000), "What it rests on."), true),
            ("by", said(spoken(200), by), false),
            ("receipt", said(spoken(500), receipt), false),
        ],
        "What a person found out or orders.",
    )
}

fn operation() -> Value {
    let unknown = object(
        &[("offer", text(), true), ("then", text(), true)],
        "What is done about an unknown outcome first, and by which offer of the destination.",
    );
    let offers = words(&[
        "key",
        "authoritative_lookup",
        "partial_lookup",
        "cancel_by_key",
        "poll",
        "callback",
    ]);
    object(
        &[
            (
                "consequence",
                words(&["harmless", "reversible", "costly", "irreversible"]),
                true,
            ),
            ("offers", json!({"type": "array", "items": offers}), true),
            ("when_unknown", unknown, true),
            ("key_retention", nullable(text()), true),
            ("lookup_lag", nullable(text()), true),
            ("processing_max", text(), true),
            (
                "neither",
                words(&["ask", "prefer_missing", "prefer_duplicate"]),
                true,
            ),
            ("finish", boolean(), true),
            ("attempts_max", count(), true),
            (
                "carried_by",
                said(
                    words(&["factum", "work"]),
                    "`work`: workers elsewhere carry it out.",
                ),
                true,
            ),
        ],
        "What an operation promises, as the engine relies on it.",
    )
}

fn destination() -> Value {
    let gate = object(
        &[
            ("in_flight_max", count(), true),
            ("per_second", said(count(), "Zero: no limit."), true),
            ("burst", count(), true),
            (
                "circuit_failures",
                said(count(), "Zero: never opens."),
                true,
            ),
            ("circuit_cooldown", text(), true),
        ],
        "How much it is given at a time.",
    );
    object(
        &[
            ("name", text(), true),
            ("provider", text(), true),
            ("account", nullable(text()), true),
            (
                "standing",
                said(
                    register::standings(),
                    "Whether it is switched off: nothing is sent there unless it is `active`.",
                ),
                true,
            ),
            (
                "base",
                said(
                    nullable(text()),
                    "Its address; null where an application carries it in its own code.",
                ),
                true,
            ),
            ("callback", nullable(callback::door()), true),
            (
                "operations",
                json!({"type": "object", "additionalProperties": named("Operation")}),
                true,
            ),
            ("any_operation", nullable(named("Operation")), true),
            ("gate", gate, true),
        ],
        "A configured account at an outside system. Secrets are never shown.",
    )
}

fn restore() -> Value {
    let released = object(
        &[("by", text(), true), ("at", instant(), true)],
        "Who released it.",
    );
    object(
        &[
            (
                "copy_until",
                said(
                    nullable(instant()),
                    "The last instant that the copy knows of; null where it holds nothing.",
                ),
                true,
            ),
            ("at", instant(), true),
            ("released", nullable(released), true),
        ],
        "The store came from a copy.",
    )
}

fn admin_state() -> Value {
    let row = object(
        &[
            ("state", words(&state_words()), true),
            ("next", words(&next_words()), true),
            ("count", count(), true),
        ],
        "How many actions stand so.",
    );
    object(
        &[
            (
                "paused_by",
                said(nullable(text()), "Who holds all sends."),
                true,
            ),
            ("restore", nullable(named("Restore")), true),
            ("unsettled", count(), true),
            ("counts", json!({"type": "array", "items": row}), true),
        ],
        "How the engine stands.",
    )
}

fn ready() -> Value {
    object(
        &[
            ("ready", boolean(), true),
            ("now", said(instant(), "The store's clock."), true),
            ("paused", boolean(), true),
            ("held_by_restore", boolean(), true),
            (
                "clock_in_doubt",
                said(
                    boolean(),
                    "The clock stepped, and no destination's time has agreed since.",
                ),
                false,
            ),
            (
                "overdue_s",
                said(count(), "How long the oldest due work waits, in seconds."),
                true,
            ),
        ],
        "Submissions can be recorded.",
    )
}
