//! What is signed for third parties: receipts of actions, and the keys that they are checked with.

use axum::http::StatusCode;
use factum::directory::Scope;
use factum::{Code, Problem};

use crate::actions::{ACCEPT_LANGUAGE, AUDIENCE, LOCALE};
use crate::app::App;
use crate::call::{Doc, Param};
use crate::incoming::Incoming;
use crate::query::Kind;
use crate::reply::{Failure, Reply, json_reply};

/// The parameter that asks for an action's content.
const CONTENT: &str = "content";
/// How it is asked for.
const INCLUDED: &str = "included";

pub(crate) const RECEIPT: Doc = Doc {
    name: "receipt",
    summary: "A signed receipt of an action as it stands, for somebody who has no access here.",
    says: "It says what is stated about the action and the evidence for it, and is checked with the keys of `GET /v1/keys`: `factum receipt verify`. \
           Params and payload are in it only where they are asked for, by a token that may submit.",
    query: &[
        Param::new(
            CONTENT,
            Kind::Words(|| vec![INCLUDED]),
            "`included`: with params and payload, as they were recorded",
        ),
        AUDIENCE,
        LOCALE,
    ],
    headers: &[ACCEPT_LANGUAGE],
    body: None,
    answers: &[(200, "The receipt.", "SignedReceipt")],
    problems: &[Code::UnknownAction, Code::Purged, Code::NoSigningKey],
};

pub(crate) const KEYS: Doc = Doc {
    name: "keys",
    summary: "The public keys of what is signed here, also of those that sign nothing any more.",
    says: "Needs no token. A JWK set (RFC 7517) of Ed25519 keys (RFC 8037), the one that signs first; `retired_at` says since when another \
           one signs.",
    query: &[],
    headers: &[],
    body: None,
    answers: &[(200, "The keys.", "KeySet")],
    problems: &[Code::NoSigningKey],
};

pub(crate) async fn receipt(app: &App, incoming: Incoming) -> Result<Reply, Failure> {
    let (id, reader) = (incoming.action()?, incoming.reader());
    let with_payload = incoming.query.text(CONTENT) == Some(INCLUDED);
    if with_payload && !incoming.caller.may(Scope::Submit) {
        let rule = "the content of an action is given to a token with the scope submit";
        let remedy = "ask without `content`, or show such a token";
        return Err(Problem::new(Code::Forbidden, CONTENT, rule, remedy).into());
    }
    let caller = &incoming.caller;
    let receipt = (app.factum())
        .receipt_for(caller, id, reader, with_payload)
        .await?;
    json_reply(StatusCode::OK, &receipt)
}

pub(crate) fn keys(app: &App) -> Result<Reply, Failure> {
    json_reply(StatusCode::OK, &app.factum().published_keys()?.to_json())
}
