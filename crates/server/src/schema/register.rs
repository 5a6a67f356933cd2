//! Schemas of who may do what.

use factum::directory::{Scope, Standing};
use serde_json::{Value, json};

use super::request::{WHOLE_MAX, body, name as sound, spoken, whole};
use super::{count, instant, list, nullable, object, said, text, words};
use crate::register::{OVERLAP_MAX_S, PERIOD_MAX_S};

type Members = Vec<(&'static str, Value, bool)>;

pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    let mut all = Vec::new();
    for (name, list_name, member, own) in [
        ("Tenant", "TenantList", "tenants", Vec::new()),
        ("Principal", "PrincipalList", "principals", principal()),
        ("Grant", "GrantList", "grants", grant()),
        ("Token", "TokenList", "tokens", token()),
        ("DestinationSwitch", "", "", Vec::new()),
    ] {
        all.push((name, entry(own)));
        if !list_name.is_empty() {
            all.push((
                list_name,
                object(
                    &[
                        (member, list(name), true),
                        ("next_after", nullable(text()), true),
                    ],
                    "A page of them, by name; `next_after` continues it.",
                ),
            ));
        }
    }
    let mut made = token();
    made.push((
        "token",
        said(text(), "What the holder shows. Shown once."),
        true,
    ));
    all.push(("MadeToken", entry(made)));
    all.push(("NewTenant", new(vec![name()])));
    all.push(("NewPrincipal", new(vec![name(), until()])));
    all.push(("NewGrant", new(new_grant())));
    all.push(("NewToken", new(new_token())));
    all.push(("RotationRequest", rotation()));
    all.push(("StateRequest", state()));
    all
}

pub(super) fn standings() -> Value {
    let all = [Standing::Active, Standing::Suspended, Standing::Revoked];
    words(&all.map(Standing::word))
}

fn texts() -> Value {
    json!({"type": "array", "items": text()})
}

fn scopes() -> Value {
    json!({"type": "array", "items": words(&Scope::ALL.map(Scope::word))})
}

fn name() -> (&'static str, Value, bool) {
    ("name", sound(), true)
}

fn until() -> (&'static str, Value, bool) {
    (
        "until",
        said(instant(), "It counts before this instant only."),
        false,
    )
}

fn principal() -> Members {
    vec![("until", nullable(instant()), true)]
}

fn grant() -> Members {
    vec![
        ("principal", said(text(), "Who may act under it."), true),
        (
            "acts_for",
            said(texts(), "For whom besides themselves; `*` is everybody."),
            true,
        ),
        (
            "destinations",
            said(texts(), "Where; nothing is everywhere."),
            true,
        ),
        (
            "operations",
            said(texts(), "What; nothing is everything."),
            true,
        ),
        ("until", nullable(instant()), true),
        ("limits", limits(), true),
    ]
}

fn token() -> Members {
    vec![
        ("principal", said(text(), "Who shows it."), true),
        (
            "grant",
            said(
                nullable(text()),
                "Under which grant; null: under their own authority.",
            ),
            true,
        ),
        ("scopes", scopes(), true),
        ("until", nullable(instant()), true),
        ("replaced_by", nullable(text()), true),
        (
            "last_used",
            said(nullable(instant()), "Within an hour."),
            false,
        ),
    ]
}

fn amount() -> Value {
    json!({"type": "string", "pattern": "^[0-9]{1,24}(\\.[0-9]{0,6})?$"})
}

fn limits() -> Value {
    let how_often = object(
        &[("max", count(), true), ("per_s", count(), true)],
        "So many actions in each period of so many seconds.",
    );
    let how_much = object(
        &[
            ("currency", text(), false),
            ("each", said(amount(), "By one action at the most."), false),
            (
                "total",
                said(amount(), "In each period at the most."),
                false,
            ),
            ("per_s", count(), true),
        ],
        "So much, in the unit of the contract's amount.",
    );
    object(
        &[("count", how_often, false), ("amount", how_much, false)],
        "What is not set is not limited.",
    )
}

fn changed() -> Value {
    object(
        &[
            ("at", instant(), true),
            ("by", text(), true),
            ("why", text(), true),
        ],
        "Its last change.",
    )
}

fn entry(own: Members) -> Value {
    let version = object(
        &[
            ("version", count(), true),
            ("standing", standings(), true),
            ("at", instant(), true),
            ("by", text(), true),
            ("why", text(), true),
        ],
        "One version of it.",
    );
    let mut members: Members = vec![
        ("name", text(), true),
        ("tenant", text(), true),
        ("standing", standings(), true),
        ("about", nullable(text()), true),
        ("version", count(), true),
        ("changed", changed(), true),
        (
            "history",
            said(
                json!({"type": "array", "items": version}),
                "Oldest first; not in listings.",
            ),
            false,
        ),
    ];
    members.extend(own);
    object(&members, "As it stands.")
}

fn new(own: Members) -> Value {
    let mut members = own;
    members.push(("about", spoken(500), false));
    members.extend(who_and_why());
    body(&members, "What is to be made.")
}

fn who_and_why() -> Members {
    let by = "Who makes it; the token's principal where nothing is said.";
    vec![
        ("by", said(spoken(200), by), false),
        ("why", spoken(2_000), false),
    ]
}

fn names() -> Value {
    json!({"type": "array", "items": spoken(255)})
}

fn new_limits() -> Value {
    let period = || whole(1, PERIOD_MAX_S);
    let how_often = object(
        &[
            ("max", whole(0, WHOLE_MAX), true),
            ("per_s", period(), true),
        ],
        "So many actions in each period of so many seconds.",
    );
    let each = said(amount(), "By one action at the most.");
    let total = said(amount(), "In each period at the most.");
    let how_much = body(
        &[
            ("currency", spoken(20), false),
            ("each", each, false),
            ("total", total, false),
            ("per_s", period(), true),
        ],
        "So much, in the unit of the contract's amount.",
    );
    body(
        &[("count", how_often, false), ("amount", how_much, false)],
        "What is not set is not limited.",
    )
}

fn new_grant() -> Members {
    vec![
        name(),
        ("principal", spoken(128), true),
        ("acts_for", names(), false),
        ("destinations", names(), false),
        ("operations", names(), false),
        ("limits", new_limits(), false),
        until(),
    ]
}

fn new_token() -> Members {
    let mut scopes = scopes();
    scopes["minItems"] = 1.into();
    vec![
        ("principal", spoken(128), true),
        ("scopes", scopes, true),
        ("grant", spoken(128), false),
        until(),
    ]
}

fn rotation() -> Value {
    let overlap = said(
        whole(0, OVERLAP_MAX_S),
        "For how long the old one counts; a day where nothing is said.",
    );
    let mut members: Members = vec![("overlap_s", overlap, false)];
    members.extend(who_and_why());
    body(&members, "How it is replaced.")
}

fn state() -> Value {
    let members: Members = vec![
        ("standing", standings(), true),
        ("why", spoken(2_000), true),
        ("by", spoken(200), false),
    ];
    body(&members, "How it is to stand, and why.")
}
