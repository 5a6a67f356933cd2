//! Webhooks: a tenant's own addresses to which events are posted, and how that goes.

use axum::http::StatusCode;
use factum::core::{Span, Timestamp};
use factum::directory::Standing;
use factum::events::{Cursor, Topic};
use factum::view::rfc3339;
use factum::webhooks::{Delivered, Endpoint, NewEndpoint, Replay, Shown};
use factum::{Code, Problem, Reason, parse_instant};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::app::App;
use crate::call::{Call, Doc};
use crate::incoming::Incoming;
use crate::register::{
    CHANGES, OVERLAP_MAX_S, OVERLAP_S, READS, about, reason, sound_name, standing_history, tenant,
};
use crate::reply::{Failure, Reply, json_reply};

pub(crate) const LIST: Doc = Doc {
    name: "list_webhooks",
    summary: "The addresses that events are posted to.",
    answers: &[(200, "All of them, by name.", "WebhookList")],
    ..READS
};

pub(crate) const ADD: Doc = Doc {
    name: "add_webhook",
    summary: "Makes an endpoint, which hears of what happens from now on.",
    says: "Posts are signed as Standard Webhooks says: `webhook-id`, `webhook-timestamp`, `webhook-signature`. What is not answered with \
           2xx within 15 seconds comes again, ten times within some three days; 410 switches the endpoint off. Events come in their \
           order, but for those that come again, and at least once: the same event has the same `webhook-id`. Only addresses of the \
           public internet are posted to unless the operator allows others, and redirects are not followed.",
    body: Some(("NewWebhook", true)),
    answers: &[(
        201,
        "It, with its secret, which is shown this once.",
        "MadeWebhook",
    )],
    problems: WITH_ADDRESS,
    ..CHANGES
};

pub(crate) const ONE: Doc = Doc {
    name: "webhook",
    summary: "One endpoint, with how its posts go.",
    answers: &[(200, "It.", "Webhook")],
    ..READS
};

pub(crate) const STATE: Doc = Doc {
    name: "set_webhook_state",
    summary: "Switches an endpoint off or on, or removes it.",
    says: "`suspended`: nothing is posted until it is `active` again; then it goes on where it stopped, as far as events are kept. \
           `revoked`: it is removed; its name is not used again.",
    answers: &[(200, "It.", "Webhook")],
    ..CHANGES
};

pub(crate) const ROTATE: Doc = Doc {
    name: "rotate_webhook",
    summary: "Gives an endpoint a new secret. For a while both sign.",
    body: Some(("RotationRequest", false)),
    answers: &[(
        201,
        "It, with its new secret, which is shown this once.",
        "MadeWebhook",
    )],
    ..CHANGES
};

pub(crate) const REPLAY: Doc = Doc {
    name: "replay_webhook",
    summary: "Posts again what is kept since an instant, or one event.",
    says: "`since` goes back to the first event of that instant: everything from there comes again, in order. `cursor` is the place of one event.",
    body: Some(("ReplayRequest", true)),
    answers: &[(200, "It.", "Webhook")],
    problems: REPLAYED,
    ..CHANGES
};

pub(crate) const TEST: Doc = Doc {
    name: "test_webhook",
    summary: "Posts a test event now, and says what came back.",
    body: Some(("ByRequest", false)),
    answers: &[(200, "What came back.", "WebhookTest")],
    ..CHANGES
};

const WITH_ADDRESS: &[Code] = &[
    Code::BadWebhook,
    Code::UnknownName,
    Code::NameTaken,
    Code::MalformedJson,
    Code::UnknownMember,
    Code::WrongType,
    Code::DuplicateMember,
    Code::TooLarge,
    Code::WrongMediaType,
    Code::DiskFull,
];

const REPLAYED: &[Code] = &[
    Code::EventsForgotten,
    Code::UnknownName,
    Code::DoesNotApply,
    Code::MalformedJson,
    Code::UnknownMember,
    Code::WrongType,
    Code::DuplicateMember,
    Code::TooLarge,
    Code::WrongMediaType,
    Code::DiskFull,
];

pub(crate) async fn answer(app: &App, mut incoming: Incoming) -> Result<Reply, Failure> {
    let tenant = tenant(app, &incoming)?;
    let name = incoming.param("name").to_owned();
    if !name.is_empty() {
        // One that there is not, or is another tenant's, is answered so whatever the body says.
        app.factum().webhook(&tenant, &name).await?;
    }
    match incoming.call {
        Call::Webhooks => list(app, &tenant).await,
        Call::AddWebhook => add(app, &mut incoming, tenant).await,
        Call::WebhookState => state(app, &mut incoming, tenant, name).await,
        Call::RotateWebhook => rotate(app, &mut incoming, tenant, name).await,
        Call::ReplayWebhook => replay(app, &mut incoming, tenant, name).await,
        Call::TestWebhook => test(app, &mut incoming, tenant, name).await,
        _ => json_reply(StatusCode::OK, &detail(app, &tenant, &name).await?),
    }
}

async fn list(app: &App, tenant: &str) -> Result<Reply, Failure> {
    let shown = app.factum().webhooks(tenant).await?;
    let shown: Vec<Value> = shown.iter().map(view).collect();
    json_reply(StatusCode::OK, &json!({"webhooks": shown}))
}

/// An endpoint with its history and its last posts.
async fn detail(app: &App, tenant: &str, name: &str) -> Result<Value, Failure> {
    let shown = app.factum().webhook(tenant, name).await?;
    let mut view = view(&shown);
    let history = app.factum().webhook_history(tenant, name).await?;
    view["history"] = standing_history(&history);
    let log = shown.state.log.iter().rev();
    view["deliveries"] = log.map(delivered).collect();
    Ok(view)
}

fn view(shown: &Shown) -> Value {
    let Shown {
        entry,
        endpoint,
        state,
    } = shown;
    let previous = endpoint.previous_until.map(instant);
    json!({
        "name": entry.key.id, "tenant": entry.key.tenant, "version": entry.version, "about": endpoint.about,
        "url": endpoint.url, "types": endpoint.types, "standing": endpoint.standing, "generation": endpoint.generation,
        "previous_secret_until": previous, "cursor": state.cursor, "retrying": state.retrying(),
        "failures_in_a_row": state.failures,
        "changed": {"at": rfc3339(entry.changed.at), "by": entry.changed.by, "why": entry.changed.why},
    })
}

fn delivered(line: &Delivered) -> Value {
    json!({
        "event": line.event, "cursor": line.no, "type": line.topic, "at": instant(line.at), "try": line.tries,
        "outcome": line.outcome, "status": line.status, "error": line.error, "next": line.next.map(instant),
    })
}

fn instant(micros: i64) -> String {
    rfc3339(Timestamp::from_micros(micros))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewWebhook {
    name: String,
    url: String,
    types: Option<Vec<String>>,
    about: Option<String>,
    by: Option<String>,
    why: Option<String>,
}

async fn add(app: &App, incoming: &mut Incoming, tenant: String) -> Result<Reply, Failure> {
    let new: NewWebhook = incoming.json().await?;
    let name = sound_name(new.name)?;
    let (by, why) = reason(&incoming.caller, new.by, new.why)?;
    let endpoint = NewEndpoint {
        url: new.url,
        types: types(new.types.unwrap_or_default())?,
        about: about(new.about)?,
    };
    let (factum, of, named) = (app.factum().clone(), tenant.clone(), name.clone());
    let secret = app
        .to_its_end(async move {
            let reason = Reason { by: &by, why: &why };
            factum.add_webhook(&of, &named, endpoint, reason).await
        })
        .await?;
    shown_once(app, &tenant, &name, &secret).await
}

fn types(words: Vec<String>) -> Result<Vec<Topic>, Failure> {
    let topics: Option<Vec<Topic>> = words.iter().map(|word| Topic::from_word(word)).collect();
    topics.ok_or_else(|| {
        let all: Vec<&str> = Topic::all().map(Topic::word).collect();
        let rule = "each type is that of an event";
        let remedy = format!("use some of: {}", all.join(", "));
        Failure::new(Code::WrongType, "/types", rule, remedy)
    })
}

async fn shown_once(app: &App, tenant: &str, name: &str, secret: &str) -> Result<Reply, Failure> {
    let mut shown = detail(app, tenant, name).await?;
    shown["secret"] = secret.into();
    json_reply(StatusCode::CREATED, &shown)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StateRequest {
    standing: Standing,
    why: String,
    by: Option<String>,
}

async fn state(
    app: &App,
    incoming: &mut Incoming,
    tenant: String,
    name: String,
) -> Result<Reply, Failure> {
    let request: StateRequest = incoming.json().await?;
    let (by, why) = reason(&incoming.caller, request.by, Some(request.why))?;
    let standing = request.standing;
    let (factum, of, named) = (app.factum().clone(), tenant.clone(), name.clone());
    app.to_its_end(async move {
        let reason = Reason { by: &by, why: &why };
        let set = |endpoint: &mut Endpoint| -> Result<(), Problem> {
            endpoint.standing = standing;
            Ok(())
        };
        factum.change_webhook(&of, &named, reason, set).await
    })
    .await?;
    json_reply(StatusCode::OK, &detail(app, &tenant, &name).await?)
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rotation {
    overlap_s: Option<u64>,
    by: Option<String>,
    why: Option<String>,
}

async fn rotate(
    app: &App,
    incoming: &mut Incoming,
    tenant: String,
    name: String,
) -> Result<Reply, Failure> {
    let request: Rotation = incoming.json_or_default().await?;
    let (by, why) = reason(&incoming.caller, request.by, request.why)?;
    let seconds = request.overlap_s.unwrap_or(OVERLAP_S);
    if seconds > OVERLAP_MAX_S {
        let rule = format!("both secrets sign for {OVERLAP_MAX_S} seconds at the most");
        let remedy = "say less, and rotate it again later";
        return Err(Failure::new(Code::WrongType, "/overlap_s", rule, remedy));
    }
    let overlap = Span::from_secs(i64::try_from(seconds).unwrap_or_default());
    let (factum, of, named) = (app.factum().clone(), tenant.clone(), name.clone());
    let secret = app
        .to_its_end(async move {
            let reason = Reason { by: &by, why: &why };
            factum.rotate_webhook(&of, &named, overlap, reason).await
        })
        .await?;
    shown_once(app, &tenant, &name, &secret).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReplayRequest {
    since: Option<String>,
    cursor: Option<String>,
    by: Option<String>,
    why: Option<String>,
}

async fn replay(
    app: &App,
    incoming: &mut Incoming,
    tenant: String,
    name: String,
) -> Result<Reply, Failure> {
    let request: ReplayRequest = incoming.json().await?;
    let (by, why) = reason(&incoming.caller, request.by, request.why)?;
    let replay = match (request.since, request.cursor) {
        (Some(since), None) => Replay::Since(parse_instant("/since", &since)?),
        (None, Some(cursor)) => Replay::One(place(&cursor)?),
        (Some(_), Some(_)) | (None, None) => {
            let rule = "it is replayed since an instant, or one event is";
            let remedy = "send one of `since` and `cursor`";
            return Err(Failure::new(Code::WrongType, "", rule, remedy));
        }
    };
    let (factum, of, named) = (app.factum().clone(), tenant.clone(), name.clone());
    app.to_its_end(async move {
        let reason = Reason { by: &by, why: &why };
        factum.replay_webhook(&of, &named, replay, reason).await
    })
    .await?;
    json_reply(StatusCode::OK, &detail(app, &tenant, &name).await?)
}

fn place(text: &str) -> Result<Cursor, Failure> {
    let found: Option<Cursor> = text.parse().ok();
    found.filter(|cursor| cursor.no > 0).ok_or_else(|| {
        let rule = format!("{text:?} is the place of no event");
        let remedy = "send an event's `cursor`";
        Failure::new(Code::WrongType, "/cursor", rule, remedy)
    })
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ByRequest {
    by: Option<String>,
}

async fn test(
    app: &App,
    incoming: &mut Incoming,
    tenant: String,
    name: String,
) -> Result<Reply, Failure> {
    let request: ByRequest = incoming.json_or_default().await?;
    reason(&incoming.caller, request.by, None)?;
    let factum = app.factum().clone();
    let posted = app
        .to_its_end(async move { factum.test_webhook(&tenant, &name).await })
        .await?;
    let body = json!({"taken": posted.is_taken(), "status": posted.status, "error": posted.error});
    json_reply(StatusCode::OK, &body)
}
