//! Whether the server lives and can do its work, and the document that describes it.

use axum::http::StatusCode;
use factum::view::rfc3339;
use factum::{Code, Problem};
use serde_json::json;

use crate::app::App;
use crate::call::Doc;
use crate::reply::{Failure, Reply, json_reply, json_text};

pub(crate) const HEALTHZ: Doc = Doc {
    name: "healthz",
    summary: "The process lives.",
    says: "Needs no token. Says nothing about store or destinations, so that nobody restarts a server over them.",
    query: &[],
    headers: &[],
    body: None,
    answers: &[(200, "It lives.", "Health")],
    problems: &[],
};

pub(crate) const READYZ: Doc = Doc {
    name: "readyz",
    summary: "Submissions can be recorded.",
    says: "Needs no token. The store is written and the engine's loop is asked; where either does not answer, the server is not ready. \
           `overdue_s` is how long the oldest due work waits: destinations that are slow or held count in, so it is told and \
           does not make the server unready; nor does a clock in doubt, under which nothing is sent again by key until a \
           destination's time agrees.",
    query: &[],
    headers: &[],
    body: None,
    answers: &[(200, "They can.", "Ready")],
    problems: &[Code::ShuttingDown, Code::StoreUnavailable, Code::DiskFull],
};

pub(crate) const DOCUMENT: Doc = Doc {
    name: "document",
    summary: "This document.",
    says: "",
    query: &[],
    headers: &[],
    body: None,
    answers: &[(200, "OpenAPI 3.1.", "Document")],
    problems: &[],
};

pub(crate) fn alive() -> Result<Reply, Failure> {
    json_reply(StatusCode::OK, &json!({"alive": true}))
}

pub(crate) async fn ready(app: &App) -> Result<Reply, Failure> {
    if app.is_ending() {
        return Err(Problem::new(
            Code::ShuttingDown,
            "",
            "the server is ending",
            "use another one, or wait",
        )
        .into());
    }
    let engine = app.factum().engine();
    let now = engine.store().now().await.map_err(Problem::from)?;
    engine.check_writable().await?;
    if engine.queues().await.is_none() {
        let rule = "the engine's loop does not answer, so that nothing that is due is carried out";
        let remedy = "see the log; start the server again, which finds out what was in flight";
        return Err(Problem::new(Code::Internal, "", rule, remedy).into());
    }
    let paused = engine.paused_by().await?.is_some();
    let held = engine
        .restore()
        .await?
        .is_some_and(|restore| restore.released.is_none());
    let due = engine.store().due(None, 1).await.map_err(Problem::from)?;
    let overdue_s = due
        .first()
        .map_or(0, |row| now.since(row.at).as_micros().max(0) / 1_000_000);
    let answer = json!({
        "ready": true, "now": rfc3339(now), "paused": paused, "held_by_restore": held,
        "clock_in_doubt": engine.clock_in_doubt(), "overdue_s": overdue_s,
    });
    json_reply(StatusCode::OK, &answer)
}

pub(crate) fn document(app: &App) -> Reply {
    json_text(StatusCode::OK, app.document())
}
