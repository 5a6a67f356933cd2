//! Examples in the document: for each call that takes a body, one, and for each parameter of a path, one. A test sends all of them to a
//! running server and finds them answered as is described; what only a running server knows (ids, versions) stands for itself there.

use serde_json::{Value, json};

/// The id that examples show.
pub(crate) const ID: &str = "act_01m8pgz133em6s2wb1kb9ew5mg";

/// The id of a proposal that examples show, and the digest of what it would do.
pub(crate) const PROPOSAL: &str = "pro_01m8pgz133em6s2wb1kb9ew5mg";
pub(crate) const DIGEST: &str = "8a1f5c0e9b7d3a2f8a1f5c0e9b7d3a2f8a1f5c0e9b7d3a2f8a1f5c0e9b7d3a2f";

/// The name of a token that examples show.
const TOKEN: &str = "5f0c9a17b2e4d638";

/// The claim that examples show; a real one is longer.
const CLAIM: &str = "wrk_01958b4fe0238ca6ab2c4ddd88ab92f41f9c2a7710e4";

/// The body of an operation's example, by the operation's name.
pub(super) fn body(operation: &str) -> Option<Value> {
    let body = match operation {
        "submit" => json!({
            "destination": "crm", "operation": "contact.add", "key": "conv-91/turn-14/contact", "payload": {"n": "Ana", "mail": "ana@example.com"},
            "summary": "Add Ana to the contacts", "conversation": {"id": "conv-91", "turn": 14, "asked": "please keep my address"},
        }),
        "propose" => json!({
            "destination": "crm", "operation": "contact.add", "key": "conv-92/turn-3/contact", "payload": {"n": "Ben"},
            "summary": "Add Ben to the contacts", "expires_at": "2099-12-24T12:00:00Z",
        }),
        "supersede" => {
            json!({"destination": "crm", "operation": "contact.add", "payload": {"n": "Benjamin"}})
        }
        "approve" => json!({"digest": DIGEST, "reason": "he asked for it in writing"}),
        "decline" => json!({"reason": "he is in the contacts already"}),
        "cancel" => json!({"by": "ana", "why": "she changed her mind"}),
        "told" => json!({"action": ID, "version": 3, "statement": "not-done", "locale": "en"}),
        "acknowledge" => json!({"action": ID, "version": 3}),
        "verdict" => {
            json!({"verdict": "happened", "why": "it stands in their books", "by": "ben", "receipt": "T-77"})
        }
        "claim_work" => json!({"destinations": ["crm"], "max": 10, "lease_s": 120}),
        "begin_work" | "heartbeat_work" | "return_work" => json!({}),
        "report_work" => {
            json!({"outcome": "done", "receipt": "C-17", "answer": {"status": 201, "body": "{\"id\":\"C-17\"}"}})
        }
        "note_review_item" => json!({"text": "asked their support, ticket 4711", "by": "ben"}),
        "check_many_again" => json!({"destination": "crm", "by": "ben"}),
        "verdicts" => json!({
            "verdicts": [{"action": ID, "verdict": "happened", "receipt": "T-77", "why": "row 1 of the export"}],
            "why": "their export of today", "by": "ben",
        }),
        "match_export" => json!({
            "destination": "crm", "form": "csv", "export": "id,external\nT-77,order/lost\n",
            "columns": {"receipt": "id", "reference": "external"}, "complete": false,
        }),
        "rule_incident" => json!({
            "destination": "crm", "from": "2026-01-01T00:00:00Z", "until": "2099-01-01T00:00:00Z", "verdict": "did_not_happen",
            "why": "their incident 4711", "by": "ben",
        }),
        "check_again"
        | "take_review_item"
        | "release_review_item"
        | "pause"
        | "resume"
        | "release" => json!({"by": "ben"}),
        "purge" => json!({"dry_run": true}),
        "erase" => {
            json!({"conversation": "conv-91", "why": "she asked for it", "by": "ben", "dry_run": true})
        }
        "hold" => json!({"conversation": "conv-91", "why": "their lawyer wrote", "by": "ben"}),
        "after_restore" => json!({"copy_until": "2026-11-29T03:00:00Z", "by": "ben"}),
        _ => return of_the_register(operation),
    };
    Some(body)
}

/// The same for what stands beside actions.
fn of_the_register(operation: &str) -> Option<Value> {
    let body = match operation {
        "add_tenant" => json!({"name": "acme", "about": "Acme Ltd.", "why": "a new customer"}),
        "add_principal" => json!({"name": "night-agent", "until": "2099-06-30T00:00:00Z"}),
        "add_grant" => json!({
            "name": "night-desk", "principal": "night-agent", "acts_for": ["user:ana"], "destinations": ["crm"], "operations": ["contact.add"],
            "limits": {"count": {"max": 20, "per_s": 86_400}},
        }),
        "add_token" => {
            json!({"principal": "night-agent", "grant": "night-desk", "scopes": ["submit", "read"]})
        }
        "add_webhook" => json!({
            "name": "crm-feed", "url": "https://crm.example.com/factum", "types": ["contact.late"], "about": "late answers",
        }),
        "replay_webhook" => json!({"since": "2026-11-29T12:00:00Z", "why": "it was down"}),
        "test_webhook" => json!({"by": "ben"}),
        "rotate_token" | "rotate_webhook" => json!({"overlap_s": 7_200, "why": "once a month"}),
        "set_tenant_state"
        | "set_principal_state"
        | "set_grant_state"
        | "set_token_state"
        | "set_destination_state"
        | "set_webhook_state" => {
            json!({"standing": "suspended", "why": "until it is clear what happened"})
        }
        _ => return None,
    };
    Some(body)
}

/// A submission as a CloudEvent.
pub(super) fn event() -> Value {
    json!({
        "specversion": "1.0", "id": "order-77-paid", "source": "//shop.example/orders", "type": "example.shop.order.paid",
        "time": "2026-11-29T12:00:00Z", "data": {
            "destination": "crm", "operation": "contact.add", "effect": "contact", "payload": {"n": "Ben", "mail": "ben@example.com"},
        },
    })
}

/// What stands in the path of an operation's example.
pub(super) fn path(operation: &str, parameter: &str) -> Option<&'static str> {
    let example = match (operation, parameter) {
        ("conversation" | "told" | "acknowledge", "id") => "conv-91",
        ("proposal" | "supersede" | "approve" | "decline", "id") => PROPOSAL,
        ("status" | "evidence" | "receipt" | "cancel" | "verdict" | "check_again", "id")
        | ("take_review_item" | "release_review_item" | "note_review_item", "id") => ID,
        ("begin_work" | "heartbeat_work" | "report_work" | "return_work", "claim") => CLAIM,
        ("destination" | "set_destination_state", "name") => "crm",
        (
            "webhook" | "set_webhook_state" | "rotate_webhook" | "replay_webhook" | "test_webhook",
            "name",
        ) => "crm-feed",
        ("tenant" | "set_tenant_state", "name") => "acme",
        ("principal" | "set_principal_state", "name") => "night-agent",
        ("grant" | "set_grant_state", "name") => "night-desk",
        ("token" | "set_token_state" | "rotate_token", "name") => TOKEN,
        _ => return None,
    };
    Some(example)
}
