//! The schema of a submission.

use serde_json::{Value, json};

use super::request::{WHOLE_MAX, body, found_by, whole};
use super::{instant, object, said, text};

const TRACE: &str = "^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$";

const LOCALE: &str = "^[0-9A-Za-z]{1,8}(-[0-9A-Za-z]{1,8})*$";

const SUBJECT: &str = "What the action works on at its destination, the same in every action on it, as in `ticket/77`: while a later \
                       action on it exists, a harmless effect is not repeated unless the destination checks a condition. No part of \
                       the identity or of what is compared on a repeat.";

pub(super) fn schema() -> Value {
    let mut members = what();
    members.extend(which());
    members.extend(around());
    let mut schema = body(&members, "The wish for one effect.");
    // One identity: a key, or an event with the name of its effect, or the header alone.
    let (nothing, string) = (json!({"type": "null"}), json!({"type": "string"}));
    schema["anyOf"] = json!([
        {"required": ["key"], "properties": {"key": string, "event": nothing, "effect": nothing}},
        {"required": ["event", "effect"], "properties": {"key": nothing, "event": {"type": "object"}, "effect": string}},
        {"description": "With the header Idempotency-Key.", "properties": {"key": nothing, "event": nothing, "effect": nothing}},
    ]);
    schema
}

type Member = (&'static str, Value, bool);

fn what() -> Vec<Member> {
    let params = json!({"type": "object"});
    vec![
        (
            "destination",
            said(text(), "The configured account at an outside system."),
            true,
        ),
        (
            "operation",
            said(text(), "What is to be done there, as in `ticket.create`."),
            true,
        ),
        (
            "params",
            said(params, "Values for the operation's templates."),
            false,
        ),
        (
            "payload",
            json!({"description": "What is sent, as it is written here."}),
            false,
        ),
        (
            "summary",
            said(
                json!({"type": "string"}),
                "One line for people, safe to show.",
            ),
            false,
        ),
        ("subject", said(found_by(), SUBJECT), false),
    ]
}

fn which() -> Vec<Member> {
    let event = [("source", found_by(), true), ("id", found_by(), true)];
    let event = object(
        &event,
        "The event that causes the effect, named as in CloudEvents.",
    );
    let key = "The caller's name for this effect: the same for every repeat of the intent, another for a second one. Built from \
               what causes it, never from the time or at random. Instead: `event` with `effect`, or the header Idempotency-Key.";
    vec![
        ("key", said(found_by(), key), false),
        ("event", event, false),
        (
            "effect",
            said(found_by(), "Which of the event's effects this is."),
            false,
        ),
        (
            "for",
            said(
                found_by(),
                "For whom; part of what the identity is unique within.",
            ),
            false,
        ),
    ]
}

fn around() -> Vec<Member> {
    let conversation = [
        ("id", found_by(), true),
        ("turn", whole(0, WHOLE_MAX), false),
        ("asked", json!({"type": "string"}), false),
    ];
    let conversation = body(
        &conversation,
        "Where it was asked for, at which turn, in which words.",
    );
    let locale = "The language of whoever asked, as a BCP 47 tag: statements about the action are worded in it, where there are \
                  words in it.";
    let locale = said(
        json!({"type": "string", "maxLength": 35, "pattern": LOCALE}),
        locale,
    );
    let trace = json!({"type": "string", "pattern": TRACE});
    vec![
        ("conversation", conversation, false),
        ("locale", locale, false),
        (
            "deadline",
            said(instant(), "No effect request from this on."),
            false,
        ),
        ("not_before", said(instant(), "No send before this."), false),
        (
            "intent_at",
            said(instant(), "When the caller formed the intent."),
            false,
        ),
        (
            "trace",
            said(
                trace,
                "W3C traceparent; it correlates and never identifies.",
            ),
            false,
        ),
    ]
}
