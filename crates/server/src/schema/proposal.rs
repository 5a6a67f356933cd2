//! The schemas of proposals and of what is decided on them.

use serde_json::{Value, json};

use super::request::{body, spoken};
use super::{
    count, id, instant, list, named, nullable, object, proposal_id, said, submission, text, words,
};
use crate::actions::locale_words;
use crate::proposals::state_words;

type Member = (&'static str, Value, bool);

pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    let page = [
        ("proposals", list("ProposalRow"), true),
        ("next_after", nullable(proposal_id()), true),
    ];
    vec![
        ("ProposalRequest", request()),
        ("ProposalRow", row()),
        ("Proposal", detail()),
        ("ProposalAnswer", answer()),
        (
            "ProposalList",
            object(&page, "A page of them; `next_after` continues it."),
        ),
        ("ApproveRequest", approve()),
        ("DeclineRequest", decline()),
    ]
}

fn request() -> Value {
    let mut schema = submission::schema();
    schema["description"] = "The wish for one effect, to be decided on first.".into();
    let expires = "It may be decided on before this, and nothing is sent from then on; as long as the operation's policy says where \
                   nothing is said.";
    let supersedes = "The proposal whose place it takes.";
    for (name, form, says) in [
        ("expires_at", instant(), expires),
        ("supersedes", proposal_id(), supersedes),
    ] {
        schema["properties"][name] = said(nullable(form), says);
    }
    schema
}

fn row() -> Value {
    object(&members(), "A proposal as it stands.")
}

fn detail() -> Value {
    let mut members = members();
    members.extend(shown());
    object(&members, "A proposal, with what it would send.")
}

fn members() -> Vec<Member> {
    let mut members = asked();
    members.extend(decided());
    members
}

fn asked() -> Vec<Member> {
    let digest = "What an approval names: the request, the contract, the account, for whom, what it works on, and when.";
    let amount = [
        ("number", text(), true),
        ("currency", nullable(text()), true),
    ];
    let amount = object(&amount, "As it is written in the payload.");
    let talk = [
        ("id", text(), true),
        ("turn", nullable(count()), true),
        ("asked", nullable(json!({"type": "string"})), true),
    ];
    let talk = object(&talk, "Where it was asked for.");
    vec![
        ("id", proposal_id(), true),
        ("state", words(&state_words()), true),
        ("digest", said(digest_text(), digest), true),
        ("key", text(), true),
        ("destination", text(), true),
        ("operation", text(), true),
        (
            "kind",
            said(
                nullable(text()),
                "What the effect is called, in the contract's word.",
            ),
            true,
        ),
        ("amount", nullable(amount), true),
        ("for", text(), true),
        ("asked_by", text(), true),
        ("grant", nullable(text()), true),
        ("summary", nullable(json!({"type": "string"})), true),
        ("subject", nullable(text()), true),
        ("conversation", nullable(talk), true),
        ("created_at", instant(), true),
        ("expires_at", instant(), true),
    ]
}

fn decided() -> Vec<Member> {
    let approval = [
        (
            "by",
            said(
                nullable(text()),
                "Who; null where the operation's policy did.",
            ),
            true,
        ),
        ("at", instant(), true),
        ("until", nullable(instant()), true),
        ("reason", nullable(text()), true),
    ];
    let approval = object(&approval, "One approval.");
    let changed = [
        ("at", instant(), true),
        ("by", text(), true),
        ("why", text(), true),
    ];
    let statement = [
        ("key", text(), true),
        ("say", text(), true),
        ("never_say", json!({"type": "array", "items": text()}), true),
        ("locale", words(&locale_words()), true),
    ];
    vec![
        ("people", said(count(), "How many have to approve."), true),
        (
            "approvals",
            json!({"type": "array", "items": approval}),
            true,
        ),
        ("supersedes", nullable(proposal_id()), true),
        ("superseded_by", nullable(proposal_id()), true),
        ("changed", object(&changed, "The last change."), true),
        ("action", nullable(id()), true),
        (
            "statement",
            object(&statement, "What may be said about it."),
            true,
        ),
    ]
}

fn shown() -> Vec<Member> {
    let header = [
        ("name", text(), true),
        ("value", json!({"type": "string"}), true),
    ];
    let header = object(&header, "A header.");
    let request = [
        ("method", text(), true),
        ("address", text(), true),
        ("headers", json!({"type": "array", "items": header}), true),
        (
            "body",
            said(
                nullable(json!({"type": "string"})),
                "Null where it is no text.",
            ),
            true,
        ),
        ("body_bytes", count(), true),
    ];
    let request = object(&request, "The request byte for byte, without secrets.");
    let difference = [
        ("member", json!({"type": "string"}), true),
        ("was", json!({}), true),
        ("is", json!({}), true),
    ];
    let difference = object(
        &difference,
        "One member that differs; null where it is missing.",
    );
    let stale =
        "Why it cannot be approved as it is: something else would be sent than what was proposed.";
    vec![
        (
            "content",
            said(json!({"type": "object"}), "As it was handed in."),
            true,
        ),
        (
            "request",
            said(
                nullable(request),
                "Null where an application carries it in its own code.",
            ),
            true,
        ),
        ("stale", said(nullable(text()), stale), true),
        (
            "differences",
            said(
                json!({"type": "array", "items": difference}),
                "From the one whose place it took.",
            ),
            true,
        ),
    ]
}

fn digest_text() -> Value {
    json!({"type": "string", "pattern": "^[0-9a-f]{64}$"})
}

fn answer() -> Value {
    object(
        &[
            ("proposal", named("Proposal"), true),
            (
                "action",
                said(nullable(named("Status")), "Its action, once there is one."),
                true,
            ),
        ],
        "What became of a proposal, or of a decision on one.",
    )
}

fn reason(says: &str) -> Value {
    said(spoken(2_000), says)
}

fn approve() -> Value {
    let until =
        "Nothing is sent from then on, if that is earlier than the proposal's `expires_at`.";
    body(
        &[
            (
                "digest",
                said(json!({"type": "string"}), "The digest that was looked at."),
                true,
            ),
            (
                "reason",
                reason("Why; asked for where the operation says so."),
                false,
            ),
            ("until", said(instant(), until), false),
        ],
        "An approval.",
    )
}

fn decline() -> Value {
    body(&[("reason", reason("Why."), true)], "A no.")
}
