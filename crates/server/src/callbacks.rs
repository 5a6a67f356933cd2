//! Callbacks in: what destinations deliver by themselves, and what is shown of it. Whoever delivers has no token: the address
//! is unguessable, and the signature is checked over the bytes as they came.

use axum::http::{HeaderMap, StatusCode};
use factum::Code;
use factum::callbacks;
use serde_json::json;

use crate::actions::{LIMIT, LIMIT_PARAM};
use crate::app::App;
use crate::call::{Doc, Param};
use crate::incoming::Incoming;
use crate::query::Kind;
use crate::reply::{Failure, Reply, json_reply};
use crate::run::no_such_address;

pub(crate) const DELIVER: Doc = Doc {
    name: "deliver_callback",
    summary: "Takes what a destination reports by itself.",
    says: "The address is a destination's own: `factum destination callback NAME` prints it. The body is taken as it is, and is \
           checked as the contract's signature scheme says. It is answered once it is durable; the same delivery may be sent \
           again at any time.",
    query: &[],
    headers: &[],
    body: None,
    answers: &[(200, "It is recorded.", "CallbackTaken")],
    problems: &[
        Code::UnknownRoute,
        Code::CallbackRefused,
        Code::CallbackUnchecked,
        Code::TooLarge,
        Code::RequestTimeout,
        Code::DiskFull,
    ],
};

pub(crate) const LIST: Doc = Doc {
    name: "list_callbacks",
    summary: "What destinations reported by themselves, newest first.",
    says: "A report that found no action is kept, and finds it once the action is known by its names.",
    query: &[
        Param::new(
            "unmatched",
            Kind::Words(|| vec!["true", "false"]),
            "only those that found no action, or more than one",
        ),
        Param::new(
            "before",
            Kind::Number(1, i64::MAX as u64),
            "continues a listing: `next_before` of the page before",
        ),
        LIMIT_PARAM,
    ],
    headers: &[],
    body: None,
    answers: &[(200, "A page of them.", "CallbackList")],
    problems: &[],
};

pub(crate) async fn deliver(app: &App, mut incoming: Incoming) -> Result<Reply, Failure> {
    let body = incoming.bytes().await?;
    let headers = texts(&incoming.parts.headers);
    let address = incoming.param("address").to_owned();
    let factum = app.factum().clone();
    let taken = async move { factum.deliver(&address, &headers, &body).await };
    match app.to_its_end(taken).await? {
        Some(_) => json_reply(StatusCode::OK, &json!({"taken": true})),
        None => Err(no_such_address()),
    }
}

pub(crate) async fn list(app: &App, incoming: Incoming) -> Result<Reply, Failure> {
    let query = &incoming.query;
    let unmatched = query.text("unmatched") == Some("true");
    let limit: usize = query.parsed("limit").unwrap_or(LIMIT);
    let engine = app.factum().engine();
    let before = query.parsed("before");
    let mut found = callbacks::list(
        engine,
        &incoming.caller.tenant,
        unmatched,
        before,
        limit + 1,
    )
    .await?;
    let more = found.len() > limit;
    found.truncate(limit);
    let next_before = found.last().filter(|_| more).map(|last| last.no);
    json_reply(
        StatusCode::OK,
        &json!({"callbacks": found, "next_before": next_before}),
    )
}

/// Headers as texts. A value that is none cannot be a signature.
fn texts(headers: &HeaderMap) -> Vec<(String, String)> {
    let pairs = headers.iter();
    let texts = pairs.filter_map(|(name, value)| {
        let value = value.to_str().ok()?;
        Some((name.as_str().to_owned(), value.to_owned()))
    });
    texts.collect()
}
