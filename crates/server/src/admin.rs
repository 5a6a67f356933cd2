//! Operating the engine: hold sends and let them go on, say that the store came from a copy, see what a release would send.

use axum::http::StatusCode;
use factum::core::Timestamp;
use factum::statements::Audience;
use factum::view::{NextView, StatusView, rfc3339};
use factum::{Code, Restore, parse_instant};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::actions::LIMIT_PARAM;
use crate::app::App;
use crate::call::{Call, Doc};
use crate::incoming::{Incoming, person};
use crate::query::Query;
use crate::reply::{Failure, Reply, json_reply};
use crate::review::ByRequest;

const BODY: &[Code] = &[
    Code::MalformedJson,
    Code::UnknownMember,
    Code::WrongType,
    Code::DuplicateMember,
    Code::TooLarge,
    Code::WrongMediaType,
];

pub(crate) const STATE: Doc = Doc {
    name: "admin_state",
    summary: "How the engine stands: held or not, restored or not, how many actions in which state.",
    says: "",
    query: &[],
    headers: &[],
    body: None,
    answers: &[(200, "The state.", "AdminState")],
    problems: &[],
};

pub(crate) const PAUSE: Doc = Doc {
    name: "pause",
    summary: "Holds all sends; lookups go on.",
    says: "Kept over restarts.",
    query: &[],
    headers: &[],
    body: Some(("ByRequest", false)),
    answers: &[(200, "The state then.", "AdminState")],
    problems: BODY,
};

pub(crate) const RESUME: Doc = Doc {
    name: "resume",
    summary: "Lets sends go on.",
    says: "",
    ..PAUSE
};

pub(crate) const AFTER_RESTORE: Doc = Doc {
    name: "after_restore",
    summary: "Says that the store came from an older copy.",
    says: "Everything unsettled becomes maybe sent, and nothing is sent until it is released.",
    query: &[],
    headers: &[],
    body: Some(("AfterRestoreRequest", false)),
    answers: &[(200, "The state then.", "AdminState")],
    problems: BODY,
};

pub(crate) const RELEASE: Doc = Doc {
    name: "release",
    summary: "Lets effect requests go on after a restore.",
    says: "See first what it would send: GET /v1/admin/would-send.",
    query: &[],
    headers: &[],
    body: Some(("ByRequest", false)),
    answers: &[(200, "The state then.", "AdminState")],
    problems: BODY,
};

pub(crate) const WOULD_SEND: Doc = Doc {
    name: "would_send",
    summary: "Effect requests that a release, or an end of the pause, would let go out, soonest first.",
    says: "Each action with the step as it would be decided then. `complete` is false where there are more than were read.",
    query: &[LIMIT_PARAM],
    headers: &[],
    body: None,
    answers: &[(200, "The list.", "WouldSend")],
    problems: &[],
};

pub(crate) async fn state(app: &App) -> Result<Reply, Failure> {
    let engine = app.factum().engine();
    let counts = engine.counts().await?;
    let unsettled: u64 = counts
        .iter()
        .filter(|((_, next), _)| next != "none")
        .map(|(_, count)| count)
        .sum();
    let rows: Vec<Value> = counts
        .into_iter()
        .map(|((state, next), count)| json!({"state": state, "next": next, "count": count}))
        .collect();
    let answer = json!({
        "paused_by": engine.paused_by().await?,
        "restore": engine.restore().await?.map(|restore| restored(&restore)),
        "unsettled": unsettled,
        "counts": rows,
    });
    json_reply(StatusCode::OK, &answer)
}

fn restored(restore: &Restore) -> Value {
    let released = restore
        .released
        .as_ref()
        .map(|(by, at)| json!({"by": by, "at": rfc3339(*at)}));
    // A store that held nothing yet knows of no instant.
    let copy_until =
        (restore.copy_until != Timestamp::EARLIEST).then(|| rfc3339(restore.copy_until));
    json!({"copy_until": copy_until, "at": rfc3339(restore.at), "released": released})
}

pub(crate) async fn set_paused(app: &App, mut incoming: Incoming) -> Result<Reply, Failure> {
    let paused = incoming.call == Call::Pause;
    let caller = incoming.caller.clone();
    let by = person(&caller, incoming.json_or_default::<ByRequest>().await?.by)?;
    tracing::info!(by, paused, "sends are held, or go on");
    let factum = app.factum().clone();
    app.to_its_end(async move { factum.engine().set_paused(paused, &by).await })
        .await?;
    state(app).await
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct AfterRestoreRequest {
    copy_until: Option<String>,
    by: Option<String>,
}

pub(crate) async fn after_restore(app: &App, mut incoming: Incoming) -> Result<Reply, Failure> {
    let request: AfterRestoreRequest = incoming.json_or_default().await?;
    let by = person(&incoming.caller, request.by)?;
    let copy_until = request
        .copy_until
        .map(|text| parse_instant("/copy_until", &text))
        .transpose()?;
    tracing::warn!(
        by,
        "the store is said to come from a copy; nothing is sent until it is released"
    );
    let factum = app.factum().clone();
    app.to_its_end(async move { factum.engine().declare_restored(copy_until).await })
        .await?;
    state(app).await
}

pub(crate) async fn release(app: &App, mut incoming: Incoming) -> Result<Reply, Failure> {
    let caller = incoming.caller.clone();
    let by = person(&caller, incoming.json_or_default::<ByRequest>().await?.by)?;
    let factum = app.factum().clone();
    app.to_its_end(async move { factum.engine().release_restore(&by).await })
        .await?;
    state(app).await
}

pub(crate) async fn would_send(app: &App, query: &Query) -> Result<Reply, Failure> {
    let limit = query.parsed("limit").unwrap_or(crate::actions::LIMIT);
    let engine = app.factum().engine();
    let (found, complete) = engine.would_send(engine.store().as_ref(), limit).await?;
    let actions: Vec<StatusView> = found
        .iter()
        .map(|(record, next)| StatusView {
            next: NextView::of(next),
            ..app.factum().view(record, false, Audience::Operator)
        })
        .collect();
    json_reply(
        StatusCode::OK,
        &json!({"actions": actions, "complete": complete}),
    )
}
