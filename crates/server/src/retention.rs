//! What is kept: purging by hand, erasing somebody's content, and holding what must not go.

use axum::http::StatusCode;
use factum::Code;
use factum::retention::{self, PurgeWish, TargetWish};

use crate::app::App;
use crate::call::Doc;
use crate::incoming::{Incoming, person, said};
use crate::reply::{Failure, Reply, json_reply};

const BODY: &[Code] = &[
    Code::MalformedJson,
    Code::UnknownMember,
    Code::WrongType,
    Code::DuplicateMember,
    Code::TooLarge,
    Code::WrongMediaType,
];

pub(crate) const PURGE: Doc = Doc {
    name: "purge",
    summary: "Purges at once what was kept for as long as is configured.",
    says: "The server does the same by itself, step by step. With `dry_run` it only counts; identities are not counted then.",
    query: &[],
    headers: &[],
    body: Some(("PurgeRequest", false)),
    answers: &[(200, "What was purged, or would be.", "PurgeReport")],
    problems: BODY,
};

pub(crate) const ERASE: Doc = Doc {
    name: "erase",
    summary: "Erases the content of somebody's settled actions.",
    says: "Params, payload, summary and what was asked go; identity and evidence stay, and the log says by whom it was erased and why. What \
           is not settled or held is named, and left.",
    query: &[],
    headers: &[],
    body: Some(("EraseRequest", true)),
    answers: &[(
        200,
        "What was erased, or would be, and what was left.",
        "EraseReport",
    )],
    problems: &[
        Code::MalformedJson,
        Code::UnknownMember,
        Code::WrongType,
        Code::DuplicateMember,
        Code::TooLarge,
        Code::WrongMediaType,
        Code::UnknownAction,
        Code::Purged,
    ],
};

pub(crate) const HOLDS: Doc = Doc {
    name: "holds",
    summary: "What is held: neither purged nor erased.",
    says: "",
    query: &[],
    headers: &[],
    body: None,
    answers: &[(200, "The holds.", "Holds")],
    problems: &[],
};

pub(crate) const HOLD: Doc = Doc {
    name: "hold",
    summary: "Holds an action, a conversation or a whole tenant, or lets go of it.",
    says: "From the answer on nothing of it is purged or erased, until it is let go of with `release`.",
    query: &[],
    headers: &[],
    body: Some(("HoldRequest", true)),
    answers: &[(200, "The holds then.", "Holds")],
    problems: BODY,
};

pub(crate) async fn purge(app: &App, mut incoming: Incoming) -> Result<Reply, Failure> {
    let wish: PurgeWish = incoming.json_or_default().await?;
    let factum = app.factum().clone();
    let report = app
        .to_its_end(async move { retention::purge(factum.engine(), &wish).await })
        .await?;
    json_reply(StatusCode::OK, &report)
}

pub(crate) async fn erase(app: &App, mut incoming: Incoming) -> Result<Reply, Failure> {
    let (wish, by) = target(&mut incoming).await?;
    let factum = app.factum().clone();
    let report = app
        .to_its_end(async move { retention::erase(factum.engine(), &wish, &by).await })
        .await?;
    json_reply(StatusCode::OK, &report)
}

pub(crate) async fn hold(app: &App, mut incoming: Incoming) -> Result<Reply, Failure> {
    let (wish, by) = target(&mut incoming).await?;
    let factum = app.factum().clone();
    let held = app
        .to_its_end(async move { retention::hold(factum.engine(), &wish, &by).await })
        .await?;
    json_reply(StatusCode::OK, &held)
}

pub(crate) async fn holds(app: &App) -> Result<Reply, Failure> {
    let held = retention::holds(app.factum().engine()).await?;
    json_reply(StatusCode::OK, &held)
}

/// A body with what it is about, and who says so.
async fn target(incoming: &mut Incoming) -> Result<(TargetWish, String), Failure> {
    let mut wish: TargetWish = incoming.json().await?;
    let by = person(&incoming.caller, wish.by.take())?;
    wish.why = wish.why.map(|why| said("/why", why, 2_000)).transpose()?;
    Ok((wish, by))
}
