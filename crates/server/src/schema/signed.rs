//! Signed receipts, and the keys that they are checked with.

use serde_json::{Value, json};

use super::{boolean, count, id, instant, list, nullable, object, said, text, words};

pub(super) fn receipt() -> Value {
    let action = [
        ("id", id(), true),
        ("key", text(), true),
        ("tenant", text(), true),
        ("for", text(), true),
        ("destination", text(), true),
        ("operation", text(), true),
        ("created_at", instant(), true),
    ];
    let statement = [
        ("key", text(), true),
        ("say", text(), true),
        ("locale", text(), true),
    ];
    let chain = said(
        nullable(text()),
        "Where the chain over these records ends, in hexadecimal: the same as in a checkpoint.",
    );
    let evidence = [
        ("records", count(), true),
        ("chain", chain, true),
        ("log", list("Evidence"), true),
    ];
    let content = [
        ("params", json!({"type": "string"}), true),
        ("payload", json!({"type": "string"}), true),
    ];
    let signature = said(
        text(),
        "Ed25519 in base64url, over all other members in canonical form (RFC 8785).",
    );
    object(
        &[
            ("kind", words(&["factum.receipt.v1"]), true),
            (
                "issuer",
                said(text(), "The store that it comes from."),
                true,
            ),
            ("issued_at", instant(), true),
            ("action", object(&action, "Which action."), true),
            ("state", text(), true),
            ("happened", text(), true),
            ("statement", object(&statement, "What may be said."), true),
            ("receipt", nullable(json!({"type": "object"})), true),
            ("attempts", count(), true),
            ("revised", boolean(), true),
            ("reversed", boolean(), true),
            ("duplicate_suspected", boolean(), true),
            ("closed", nullable(json!({"type": "object"})), true),
            ("evidence", object(&evidence, "What is known."), true),
            (
                "content",
                object(&content, "As recorded; only where it was asked for."),
                false,
            ),
            ("key", said(text(), "The name of the key."), true),
            ("signature", signature, true),
        ],
        "What is stated about an action, signed.",
    )
}

pub(super) fn key_set() -> Value {
    let key = [
        ("kty", words(&["OKP"]), true),
        ("crv", words(&["Ed25519"]), true),
        ("alg", words(&["EdDSA"]), true),
        ("use", words(&["sig"]), true),
        ("kid", text(), true),
        ("x", text(), true),
        ("retired_at", instant(), false),
    ];
    let keys = json!({"type": "array", "items": object(&key, "One key.")});
    object(&[("keys", keys, true)], "Public keys.")
}
