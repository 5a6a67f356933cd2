//! The schemas of conversations and corrections.

use factum::core::statement::StatementKey;
use serde_json::{Value, json};

use super::request::{WHOLE_MAX, body, spoken, whole};
use super::{
    boolean, count, id, instant, list, named, nullable, object, said, status, text, words,
};
use crate::actions::locale_words;

pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        ("Conversation", conversation()),
        ("Told", told()),
        ("ToldRequest", told_request()),
        ("ToldAnswer", told_answer()),
        ("Correction", correction()),
        ("CorrectionList", correction_list()),
        ("AcknowledgeRequest", acknowledge_request()),
    ]
}

fn keys() -> Value {
    words(&StatementKey::ALL.map(StatementKey::name))
}

fn conversation() -> Value {
    let action = [
        ("turn", nullable(count()), true),
        ("asked", nullable(json!({"type": "string"})), true),
        ("status", named("Status"), true),
        ("told", list("Told"), true),
        ("correction", nullable(named("Correction")), true),
    ];
    let action = object(&action, "One action, in the order of asking.");
    object(
        &[
            ("id", text(), true),
            ("actions", json!({"type": "array", "items": action}), true),
            (
                "proposals",
                said(
                    list("ProposalRow"),
                    "What was asked for and people decide on first: what waits, and what came to nothing.",
                ),
                true,
            ),
            ("corrections_due", count(), true),
            (
                "complete",
                said(boolean(), "These are all; else the newest."),
                true,
            ),
        ],
        "What was asked in a conversation, what may be said, and what was.",
    )
}

fn told() -> Value {
    let counts_as = "The statement that its words amount to, where they claim more than it does.";
    object(
        &[
            (
                "version",
                said(count(), "The version of the status that was read."),
                true,
            ),
            ("statement", keys(), true),
            ("counts_as", said(nullable(keys()), counts_as), true),
            ("say", text(), true),
            ("locale", text(), true),
            ("how", words(&["handed_out", "told", "denied"]), true),
            ("at", instant(), true),
            ("by", text(), true),
        ],
        "One statement that was told, or counts as told.",
    )
}

fn told_request() -> Value {
    let statement = "`statement.key` of the status; may be left out if that version was handed out here, or is the present one.";
    body(
        &[
            ("action", id(), true),
            (
                "version",
                said(
                    whole(0, WHOLE_MAX),
                    "`version` of the status that was read.",
                ),
                true,
            ),
            ("statement", said(keys(), statement), false),
            (
                "said",
                said(
                    spoken(10_000),
                    "The words that were used, if they were others.",
                ),
                false,
            ),
            (
                "locale",
                said(words(&locale_words()), "In which language."),
                false,
            ),
            (
                "told",
                said(boolean(), "False: it was handed out and not passed on."),
                false,
            ),
            ("by", spoken(200), false),
        ],
        "What was passed on.",
    )
}

fn told_answer() -> Value {
    object(
        &[
            ("told", nullable(named("Told")), true),
            ("correction", nullable(named("Correction")), true),
        ],
        "What is kept, and what has to be put right if evidence came in meanwhile.",
    )
}

fn correction() -> Value {
    let kind = "`contradicted`: a claim that the evidence does not support. `news`: what was open then is settled.";
    object(
        &[
            ("conversation", text(), true),
            ("action", id(), true),
            ("kind", said(words(&["contradicted", "news"]), kind), true),
            (
                "version",
                said(count(), "What an acknowledgement names."),
                true,
            ),
            ("told", named("Told"), true),
            ("say", said(text(), "The words of the correction."), true),
            ("statement", status::statement(), true),
            ("status_version", count(), true),
            ("due", boolean(), true),
        ],
        "What has to be put right with whoever was told something.",
    )
}

fn correction_list() -> Value {
    object(
        &[
            ("corrections", list("Correction"), true),
            ("next_after", nullable(text()), true),
        ],
        "A page of corrections that are due; `next_after` continues it.",
    )
}

fn acknowledge_request() -> Value {
    body(
        &[
            ("action", id(), true),
            (
                "version",
                said(
                    whole(0, WHOLE_MAX),
                    "`version` of the correction that was read.",
                ),
                true,
            ),
            ("by", spoken(200), false),
        ],
        "Which correction was passed on.",
    )
}
