//! Schemas of who may do what.

use factum::directory::{Scope, Standing};
use serde_json::{Value, json};

use super::{count, instant, list, nullable, object, said, text, words};

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
                object(&[(member, list(name), true)], "All of them."),
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

fn standings() -> Value {
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
    (
        "name",
        json!({"type": "string", "minLength": 1, "maxLength": 128}),
        true,
    )
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

fn limits() -> Value {
    let amount = || json!({"type": "string", "pattern": "^[0-9]{1,24}(\\.[0-9]{0,6})?$"});
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
    members.push(("about", text(), false));
    members.extend(who_and_why());
    object(&members, "What is to be made.")
}

fn who_and_why() -> Members {
    vec![
        (
            "by",
            said(
                text(),
                "Who makes it; the token's principal where nothing is said.",
            ),
            false,
        ),
        ("why", text(), false),
    ]
}

fn new_grant() -> Members {
    vec![
        name(),
        ("principal", text(), true),
        ("acts_for", texts(), false),
        ("destinations", texts(), false),
        ("operations", texts(), false),
        ("limits", limits(), false),
        until(),
    ]
}

fn new_token() -> Members {
    vec![
        ("principal", text(), true),
        ("scopes", scopes(), true),
        ("grant", text(), false),
        until(),
    ]
}

fn rotation() -> Value {
    let overlap = said(
        count(),
        "For how long the old one counts; a day where nothing is said.",
    );
    let mut members: Members = vec![("overlap_s", overlap, false)];
    members.extend(who_and_why());
    object(&members, "How it is replaced.")
}

fn state() -> Value {
    let members: Members = vec![
        ("standing", standings(), true),
        ("why", text(), true),
        ("by", text(), false),
    ];
    object(&members, "How it is to stand, and why.")
}
