//! Schemas of events and webhooks.

use factum::directory::Standing;
use serde_json::{Value, json};

use super::request::{body, name, spoken};
use super::{boolean, count, instant, list, named, nullable, object, said, text, words};
use crate::events::type_words;

/// The form of a place among the events.
pub(crate) const PLACE_PATTERN: &str = "^(start|now|(0|[1-9][0-9]{0,17})(-[0-9a-f]{1,15})?)$";

type Members = Vec<(&'static str, Value, bool)>;

pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        ("Event", event()),
        ("EventData", data()),
        ("EventPage", page()),
        ("CorrectionEvent", correction()),
        ("ReviewEvent", review()),
        ("WebhookSummary", object(&webhook(), "An endpoint.")),
        (
            "Webhook",
            object(&whole(), "An endpoint, with how its posts go."),
        ),
        ("WebhookDelivery", delivery()),
        (
            "WebhookList",
            object(
                &[("webhooks", list("WebhookSummary"), true)],
                "All of them.",
            ),
        ),
        ("MadeWebhook", made()),
        ("NewWebhook", new()),
        ("ReplayRequest", replay()),
        ("WebhookTest", test()),
    ]
}

fn event() -> Value {
    let members = [
        (
            "id",
            said(
                json!({"type": "string", "pattern": "^evt_[0-9a-f]{32}$"}),
                "The same however often it comes: what to know a repeat by.",
            ),
            true,
        ),
        ("cursor", said(text(), "The place behind it."), true),
        ("type", words(&type_words()), true),
        ("timestamp", said(instant(), "When it was."), true),
        ("tenant", text(), true),
        ("data", named("EventData"), true),
    ];
    object(&members, "Something has changed.")
}

fn data() -> Value {
    let members = [
        (
            "action",
            said(
                named("Status"),
                "State, receipt and version as they were at the change; words and next step as they are.",
            ),
            false,
        ),
        ("correction", named("CorrectionEvent"), false),
        ("review", named("ReviewEvent"), false),
    ];
    object(&members, "What it is about.")
}

fn page() -> Value {
    let members = [
        ("events", list("Event"), true),
        ("next", said(text(), "From where to go on."), true),
        ("more", said(boolean(), "There may be more already."), true),
    ];
    object(&members, "Events, oldest first.")
}

fn correction() -> Value {
    let members = [
        ("conversation", text(), true),
        ("version", count(), true),
        (
            "due",
            said(
                nullable(named("Correction")),
                "What has to be said, if it still has.",
            ),
            true,
        ),
    ];
    object(
        &members,
        "A correction that became due, or is not any more.",
    )
}

fn review() -> Value {
    let members = [
        (
            "waiting",
            said(count(), "Actions that wait for a person."),
            true,
        ),
        (
            "customers_waiting",
            said(count(), "Conversations that wait for one of them."),
            true,
        ),
        ("more", said(boolean(), "There may be more of both."), true),
    ];
    object(&members, "What waits for a person, when the event is read.")
}

fn standings() -> Value {
    let all = [Standing::Active, Standing::Suspended, Standing::Revoked];
    words(&all.map(Standing::word))
}

fn types() -> Value {
    let one = words(&type_words());
    said(
        json!({"type": "array", "items": one}),
        "Which events; nothing is all.",
    )
}

fn webhook() -> Members {
    let changed = [
        ("at", instant(), true),
        ("by", text(), true),
        ("why", text(), true),
    ];
    vec![
        ("name", text(), true),
        ("tenant", text(), true),
        ("version", count(), true),
        ("about", nullable(text()), true),
        ("url", text(), true),
        ("types", types(), true),
        ("standing", standings(), true),
        (
            "generation",
            said(count(), "Which of its secrets signs."),
            true,
        ),
        (
            "previous_secret_until",
            said(nullable(instant()), "Until when the one before signs too."),
            true,
        ),
        (
            "cursor",
            said(
                count(),
                "Up to here everything is delivered, or is tried again.",
            ),
            true,
        ),
        (
            "retrying",
            said(count(), "Events that are tried again."),
            true,
        ),
        ("failures_in_a_row", count(), true),
        ("changed", object(&changed, "Its last change."), true),
    ]
}

fn whole() -> Members {
    let version = [
        ("version", count(), true),
        ("standing", standings(), true),
        ("at", instant(), true),
        ("by", text(), true),
        ("why", text(), true),
    ];
    let history = json!({"type": "array", "items": object(&version, "One change.")});
    let mut members = webhook();
    members.push(("history", history, true));
    members.push((
        "deliveries",
        said(
            list("WebhookDelivery"),
            "The last fifty posts, newest first.",
        ),
        true,
    ));
    members
}

fn delivery() -> Value {
    let outcomes = words(&["delivered", "retry", "given_up", "missed"]);
    let members = [
        (
            "event",
            said(
                json!({"type": "string"}),
                "Its `webhook-id`; empty where it is not kept.",
            ),
            true,
        ),
        ("cursor", count(), true),
        ("type", json!({"type": "string"}), true),
        ("at", instant(), true),
        ("try", count(), true),
        ("outcome", outcomes, true),
        ("status", nullable(count()), true),
        ("error", nullable(text()), true),
        (
            "next",
            said(nullable(instant()), "When it is tried again."),
            true,
        ),
    ];
    object(&members, "One post.")
}

fn made() -> Value {
    let mut members = whole();
    members.push((
        "secret",
        said(
            json!({"type": "string", "pattern": "^whsec_[A-Za-z0-9+/]+=*$"}),
            "What signatures are checked with. Shown once.",
        ),
        true,
    ));
    object(&members, "An endpoint, with its secret.")
}

fn new() -> Value {
    let url = said(
        json!({"type": "string"}),
        "`https://host[:port]/path`, on the public internet.",
    );
    let members = [
        ("name", name(), true),
        ("url", url, true),
        ("types", types(), false),
        ("about", spoken(500), false),
        ("by", spoken(200), false),
        ("why", spoken(2_000), false),
    ];
    body(&members, "Where events are posted to.")
}

fn replay() -> Value {
    let place = PLACE_PATTERN.replace("start|now|(0|[1-9][0-9]{0,17})", "[1-9][0-9]{0,17}");
    let cursor = json!({"type": "string", "pattern": place});
    let by = || [("by", spoken(200), false), ("why", spoken(2_000), false)];
    let either = |member: (&'static str, Value, bool), says: &str| {
        let members: Vec<_> = std::iter::once(member).chain(by()).collect();
        body(&members, says)
    };
    json!({"anyOf": [
        either(("since", instant(), true), "What is kept since an instant."),
        either(("cursor", cursor, true), "One event."),
    ]})
}

fn test() -> Value {
    let members = [
        ("taken", said(boolean(), "It was answered with 2xx."), true),
        ("status", nullable(count()), true),
        ("error", nullable(text()), true),
    ];
    object(&members, "What came back.")
}
