//! The schemas of what people do with what waits for them.

use serde_json::{Value, json};

use super::request::{body, spoken, whole};
use super::{boolean, count, id, instant, list, named, nullable, object, said, text, words};
use crate::review::{VERDICTS, VERDICTS_MAX, WITHIN_MAX_S};

pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    let proposed = [
        ("proposed", proposed(), true),
        ("action", named("Status"), true),
    ];
    let results = |row: &str| [("results", list(row), true)];
    vec![
        ("NoteRequest", note()),
        (
            "VerdictProposed",
            object(&proposed, "A second person has to say the same."),
        ),
        ("CheckManyRequest", check_many()),
        ("OneChecked", one(("asked", boolean(), false))),
        (
            "ManyChecked",
            object(&results("OneChecked"), "What became of each."),
        ),
        ("VerdictsRequest", verdicts()),
        ("OneRuled", one_ruled()),
        (
            "ManyRuled",
            object(&results("OneRuled"), "What became of each."),
        ),
        ("MatchRequest", match_request()),
        ("MatchProposal", match_proposal()),
        ("Matched", matched()),
        ("IncidentRequest", incident()),
        ("IncidentRuled", incident_ruled()),
    ]
}

/// A verdict that waits for a second person.
pub(super) fn proposed() -> Value {
    object(
        &[
            ("verdict", words(&VERDICTS), true),
            ("receipt", nullable(text()), true),
            ("by", text(), true),
            ("why", text(), true),
            ("at", instant(), true),
        ],
        "A verdict that counts once a second person says the same.",
    )
}

fn by() -> (&'static str, Value, bool) {
    ("by", said(spoken(200), "Who does it."), false)
}

fn why() -> (&'static str, Value, bool) {
    ("why", said(spoken(2_000), "What it rests on."), true)
}

fn note() -> Value {
    body(
        &[("text", spoken(2_000), true), by()],
        "What is worth keeping.",
    )
}

fn check_many() -> Value {
    body(
        &[
            (
                "actions",
                said(
                    json!({"type": "array", "items": id(), "maxItems": factum::MANY_MAX}),
                    "These; all that wait where there are none.",
                ),
                false,
            ),
            ("destination", spoken(500), false),
            ("operation", spoken(500), false),
            by(),
        ],
        "About which actions the destination is asked once more.",
    )
}

fn one(own: (&str, Value, bool)) -> Value {
    object(
        &[
            ("action", id(), true),
            own,
            ("problem", named("Problem"), false),
        ],
        "What became of one of them: `problem` where it was refused.",
    )
}

fn one_ruled() -> Value {
    object(
        &[
            ("action", id(), true),
            ("state", text(), false),
            ("proposed", nullable(proposed()), false),
            ("problem", named("Problem"), false),
        ],
        "What became of one of them: `problem` where it was refused.",
    )
}

fn verdicts() -> Value {
    let one = body(
        &[
            ("action", id(), true),
            ("verdict", words(&VERDICTS), true),
            ("receipt", spoken(500), false),
            (
                "why",
                said(spoken(1_000), "What this one rests on, beside what all do."),
                false,
            ),
        ],
        "A verdict.",
    );
    let all = json!({"type": "array", "minItems": 1, "maxItems": VERDICTS_MAX, "items": one});
    body(&[("verdicts", all, true), why(), by()], "Several verdicts.")
}

fn match_request() -> Value {
    let column = |says: &str| said(spoken(500), says);
    let columns = body(
        &[
            (
                "receipt",
                column("The destination's own reference: what becomes the receipt."),
                false,
            ),
            (
                "reference",
                column("Where it keeps somebody else's reference."),
                false,
            ),
            ("subject", column("What a row is about."), false),
            ("at", column("When it was made there."), false),
        ],
        "Which column holds what; in JSON a member, or a pointer to one.",
    );
    body(
        &[
            ("destination", spoken(500), true),
            ("operation", spoken(500), false),
            (
                "from",
                said(instant(), "Only actions with a request from then on."),
                false,
            ),
            ("until", said(instant(), "And before then."), false),
            ("form", words(&["csv", "json"]), true),
            (
                "export",
                said(text(), "The export, as the destination wrote it."),
                true,
            ),
            ("columns", columns, true),
            (
                "within_s",
                said(
                    whole(0, WITHIN_MAX_S),
                    "How many seconds a row's time may lie beside the action's; 300 where nothing is said.",
                ),
                false,
            ),
            (
                "complete",
                said(
                    boolean(),
                    "The person says that the export leaves nothing out: what is not in it did not happen.",
                ),
                false,
            ),
        ],
        "An export of a destination.",
    )
}

fn match_proposal() -> Value {
    let by = ["mark", "reference", "subject_and_time", "absence"];
    object(
        &[
            ("action", id(), true),
            ("verdict", words(&["happened", "did_not_happen"]), true),
            ("receipt", nullable(text()), true),
            (
                "row",
                said(nullable(count()), "From 1; a header is not counted."),
                true,
            ),
            ("by", words(&by), true),
            ("reasons", json!({"type": "array", "items": text()}), true),
            ("why", said(text(), "The same, for the verdict."), true),
        ],
        "A verdict that a person may give.",
    )
}

fn matched() -> Value {
    let ids = json!({"type": "array", "items": id()});
    let unclear = object(
        &[
            ("actions", ids.clone(), true),
            ("rows", json!({"type": "array", "items": count()}), true),
            (
                "by",
                words(&["mark", "reference", "subject_and_time"]),
                true,
            ),
            ("why", text(), true),
        ],
        "What cannot be told apart.",
    );
    object(
        &[
            ("rows", count(), true),
            ("proposals", list("MatchProposal"), true),
            ("unclear", json!({"type": "array", "items": unclear}), true),
            (
                "not_found",
                said(ids, "Actions that no row belongs to."),
                true,
            ),
            (
                "rows_left",
                said(count(), "Rows that belong to no action."),
                true,
            ),
        ],
        "What an export says about what waits. Nothing was recorded.",
    )
}

fn incident() -> Value {
    body(
        &[
            ("destination", spoken(500), true),
            ("operation", spoken(500), false),
            (
                "from",
                said(instant(), "Actions with a request from then on."),
                true,
            ),
            ("until", said(instant(), "And before then."), true),
            ("verdict", words(&VERDICTS), true),
            why(),
            by(),
            (
                "confirm",
                said(spoken(500), "The digest of the list that was shown."),
                false,
            ),
        ],
        "One verdict on everything that one incident left.",
    )
}

fn incident_ruled() -> Value {
    let item = object(
        &[
            ("action", id(), true),
            ("operation", text(), true),
            ("summary", nullable(text()), true),
            ("state", text(), true),
            ("taken_by", nullable(text()), true),
        ],
        "An action that the verdict would be about.",
    );
    object(
        &[
            (
                "digest",
                said(text(), "What names this list under this verdict."),
                true,
            ),
            ("confirmed", boolean(), true),
            ("items", json!({"type": "array", "items": item}), true),
            ("results", list("OneRuled"), true),
        ],
        "The list, or what became of each.",
    )
}
