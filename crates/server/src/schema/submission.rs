//! The schema of a submission.

use serde_json::{Value, json};

use super::request::{WHOLE_MAX, body, found_by, whole};
use super::{instant, object, said, text};

const TRACE: &str = "^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$";

const LOCALE: &str = "^[0-9A-Za-z]{1,8}(-[0-9A-Za-z]{1,8})*$";

const EFFECT: &str = "Which of the event's effects this is.";

const SUBJECT: &str = "What the action works on at its destination, the same in every action on it, as in `ticket/77`: while a later \
                       action on it exists, a harmless effect is not repeated unless the destination checks a condition. No part of \
                       the identity or of what is compared on a repeat.";

const ANOTHER: &str = "Equal content under another identity is meant to be a second effect, although one was submitted a moment ago or \
                       is not settled: overrides the operation's twin guard (F1018). No part of what is compared on a repeat.";

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

/// A CloudEvent in the JSON format, whose data is a submission without an identity of its own.
pub(super) fn event() -> Value {
    let mut data = what();
    data.push(("effect", said(found_by(), EFFECT), true));
    let named = |name: &str| matches!(name, "key" | "event" | "effect");
    data.extend(which().into_iter().filter(|(name, _, _)| !named(name)));
    data.extend(around());
    let data = body(&data, "The wish for one effect of the event.");
    let members = [
        (
            "specversion",
            json!({"type": "string", "enum": ["1.0"]}),
            true,
        ),
        (
            "id",
            said(found_by(), "The event's name at its source."),
            true,
        ),
        ("source", said(found_by(), "Who reports it."), true),
        ("type", unbounded(), true),
        (
            "time",
            said(instant(), "Taken as `intent_at` where the data has none."),
            false,
        ),
        ("subject", unbounded(), false),
        (
            "datacontenttype",
            json!({"type": "string", "pattern": "^application/json(; ?charset=utf-8)?$"}),
            false,
        ),
        (
            "traceparent",
            json!({"type": "string", "pattern": TRACE}),
            false,
        ),
        ("data", data, true),
    ];
    let mut schema = body(
        &members,
        "A CloudEvent (1.0). `source`, `id` and the `effect` in its data are the identity: delivered again, it joins.",
    );
    // Extensions belong to whoever defined them.
    schema["additionalProperties"] = true.into();
    schema["properties"]["data_base64"] = json!({"type": "null"});
    schema
}

/// What is not blank and holds no control characters, of any length.
fn unbounded() -> Value {
    let mut schema = found_by();
    schema
        .as_object_mut()
        .map(|words| words.remove("maxLength"));
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
        ("another", said(json!({"type": "boolean"}), ANOTHER), false),
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
        ("effect", said(found_by(), EFFECT), false),
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
