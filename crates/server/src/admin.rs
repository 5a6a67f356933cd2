//! Operating the engine: hold sends and let them go on, say that the store came from a copy, see what a release would send.

use axum::http::StatusCode;
use factum::core::{Conditions, Step, decide};
use factum::statements::Audience;
use factum::view::rfc3339;
use factum::{Code, Record, Restore, parse_instant};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::actions::LIMIT_PARAM;
use crate::app::App;
use crate::call::Doc;
use crate::incoming::{Incoming, person};
use crate::query::Query;
use crate::reply::{Failure, Reply, json_reply};
use crate::review::ByRequest;

/// Unsettled actions that one call reads through at the most.
const READ_MAX: usize = 20_000;
/// Rows that are read at once.
const BATCH: usize = 500;

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
    json!({"copy_until": rfc3339(restore.copy_until), "at": rfc3339(restore.at), "released": released})
}

pub(crate) async fn set_paused(
    app: &App,
    mut incoming: Incoming,
    paused: bool,
) -> Result<Reply, Failure> {
    let by = person(incoming.json_or_default::<ByRequest>().await?.by)?;
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
    let by = person(request.by)?;
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
    let by = person(incoming.json_or_default::<ByRequest>().await?.by)?;
    let factum = app.factum().clone();
    app.to_its_end(async move { factum.engine().release_restore(&by).await })
        .await?;
    state(app).await
}

pub(crate) async fn would_send(app: &App, query: &Query) -> Result<Reply, Failure> {
    let limit = query.parsed("limit").unwrap_or(crate::actions::LIMIT);
    let store = app.factum().engine().store().clone();
    let (mut actions, mut after, mut read) = (Vec::new(), None, 0);
    let complete = loop {
        let due = store
            .due(after, BATCH)
            .await
            .map_err(factum::Problem::from)?;
        let Some(last) = due.last() else { break true };
        after = Some((last.at, last.action));
        read += due.len();
        for row in due {
            if let Some(record) = store
                .load(row.action)
                .await
                .map_err(factum::Problem::from)?
                && let Some(action) = if_released(app, &record).await?
            {
                actions.push(action);
            }
        }
        if actions.len() > limit || read >= READ_MAX {
            break false;
        }
    };
    let complete = complete && actions.len() <= limit;
    actions.truncate(limit);
    json_reply(
        StatusCode::OK,
        &json!({"actions": actions, "complete": complete}),
    )
}

/// The action with its next step as it would be decided if nothing held it, where that is an effect request.
async fn if_released(app: &App, record: &Record) -> Result<Option<Value>, Failure> {
    let engine = app.factum().engine();
    let scope = &record.action.scope;
    let intent = &record.action.intent;
    let current = engine
        .destinations()
        .get(&scope.destination)
        .and_then(|d| d.operation(&scope.operation));
    let now = engine.store().now().await.map_err(factum::Problem::from)?;
    let conditions = Conditions {
        now,
        current: current.map_or(&intent.promises, |operation| &operation.promises),
        restore_released: true,
        clock_in_doubt: false,
        account_in_doubt: false,
        subject_overtaken: false,
    };
    let next = decide(intent, &record.known, &conditions);
    if !matches!(next.step, Step::Send(_) | Step::CancelByKey { .. }) {
        return Ok(None);
    }
    let mut json = json!(app.factum().view(record, false, Audience::Operator));
    json["next"] =
        json!({"do": next.step.name(), "at": rfc3339(next.at), "why": next.why.to_string()});
    Ok(Some(json))
}
