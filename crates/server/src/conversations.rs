//! Conversations: what was asked, what may be said, what was said, and what has to be put right.

use axum::http::StatusCode;
use factum::conversations::{CorrectionFilter, Telling};
use factum::core::statement::StatementKey;
use factum::statements::Locale;
use factum::{ActionId, Code};
use serde::Deserialize;
use serde_json::json;

use crate::actions::{ACCEPT_LANGUAGE, AUDIENCE, LIMIT, LIMIT_PARAM, LOCALE, locale_words};
use crate::app::App;
use crate::call::{Doc, Param};
use crate::incoming::{Incoming, person, said};
use crate::query::Kind;
use crate::reply::{Failure, Reply, json_reply};

pub(crate) const SHOW: Doc = Doc {
    name: "conversation",
    summary: "What was asked in a conversation, what may be said now, and what has to be put right.",
    says: "What is shown to a customer or an agent here is handed out for the conversation, and counts as told until it is denied. \
           What an operator is shown does not.",
    query: &[AUDIENCE, LOCALE],
    headers: &[ACCEPT_LANGUAGE],
    body: None,
    answers: &[(200, "The conversation.", "Conversation")],
    problems: &[Code::UnknownConversation],
};

pub(crate) const TOLD: Doc = Doc {
    name: "told",
    summary: "Keeps which statement was passed on, or that one was not.",
    says: "`version` is that of the status that was read: where evidence came in meanwhile, the correction that is due is answered. \
           Words of one's own are read for claims; what they claim beyond the statement counts as told. A repeat changes nothing.",
    query: &[],
    headers: &[ACCEPT_LANGUAGE],
    body: Some(("ToldRequest", true)),
    answers: &[(
        200,
        "What is kept, and what has to be put right.",
        "ToldAnswer",
    )],
    problems: SAID,
};

pub(crate) const ACKNOWLEDGE: Doc = Doc {
    name: "acknowledge",
    summary: "Keeps that a correction was passed on.",
    says: "`version` is that of the correction that was read. One that says something else by now is still due.",
    query: &[],
    headers: &[],
    body: Some(("AcknowledgeRequest", true)),
    answers: &[(200, "The correction, which is no longer due.", "Correction")],
    problems: SAID,
};

pub(crate) const CORRECTIONS: Doc = Doc {
    name: "corrections",
    summary: "Corrections that are due, in the language that each was told in.",
    says: "They are listed until they are acknowledged, or the evidence supports again what was told.",
    query: &[
        Param::new("conversation", Kind::Text, "in this conversation"),
        Param::new(
            "after",
            Kind::Text,
            "continues a listing: `next_after` of the page before",
        ),
        LIMIT_PARAM,
        AUDIENCE,
    ],
    headers: &[],
    body: None,
    answers: &[(200, "A page of them.", "CorrectionList")],
    problems: &[],
};

const SAID: &[Code] = &[
    Code::UnknownAction,
    Code::Purged,
    Code::DoesNotApply,
    Code::MalformedJson,
    Code::UnknownMember,
    Code::WrongType,
    Code::DuplicateMember,
    Code::TooLarge,
    Code::WrongMediaType,
    Code::DiskFull,
];

pub(crate) async fn show(app: &App, incoming: Incoming) -> Result<Reply, Failure> {
    let (factum, id) = (app.factum().clone(), incoming.param("id").to_owned());
    let (tenant, reader) = (incoming.caller.tenant.clone(), incoming.reader());
    let shown = app
        .to_its_end(async move { factum.conversation(&tenant, &id, reader).await })
        .await?;
    json_reply(StatusCode::OK, &shown)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToldRequest {
    action: String,
    version: u64,
    statement: Option<String>,
    said: Option<String>,
    locale: Option<String>,
    told: Option<bool>,
    by: Option<String>,
}

pub(crate) async fn told(app: &App, mut incoming: Incoming) -> Result<Reply, Failure> {
    let conversation = conversation(&incoming)?;
    let reader = incoming.reader();
    let request: ToldRequest = incoming.json().await?;
    let action = action(&request.action)?;
    let telling = Telling {
        version: request.version,
        statement: request.statement.as_deref().map(statement).transpose()?,
        said: request
            .said
            .map(|text| said("/said", text, 10_000))
            .transpose()?,
        locale: request.locale.as_deref().map(locale).transpose()?,
        denied: request.told == Some(false),
        by: person(&incoming.caller, request.by)?,
    };
    let (factum, tenant) = (app.factum().clone(), incoming.caller.tenant.clone());
    let kept = app
        .to_its_end(async move {
            factum
                .told(&tenant, &conversation, action, telling, reader)
                .await
        })
        .await?;
    json_reply(StatusCode::OK, &kept)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AcknowledgeRequest {
    action: String,
    version: u64,
    by: Option<String>,
}

pub(crate) async fn acknowledge(app: &App, mut incoming: Incoming) -> Result<Reply, Failure> {
    let conversation = conversation(&incoming)?;
    let request: AcknowledgeRequest = incoming.json().await?;
    let (action, by) = (
        action(&request.action)?,
        person(&incoming.caller, request.by)?,
    );
    let (factum, tenant) = (app.factum().clone(), incoming.caller.tenant.clone());
    let correction = app
        .to_its_end(async move {
            factum
                .acknowledge(&tenant, &conversation, action, request.version, &by)
                .await
        })
        .await?;
    json_reply(StatusCode::OK, &correction)
}

pub(crate) async fn corrections(app: &App, incoming: Incoming) -> Result<Reply, Failure> {
    let (query, audience) = (&incoming.query, incoming.reader().audience);
    let limit = query.parsed("limit").unwrap_or(LIMIT);
    let filter = CorrectionFilter {
        conversation: query.text("conversation").map(str::to_owned),
        after: query.text("after").map(str::to_owned),
        limit: limit + 1,
    };
    let mut found = app
        .factum()
        .corrections(&incoming.caller.tenant, filter, audience)
        .await?;
    let more = found.len() > limit;
    found.truncate(limit);
    let last = found.last().filter(|_| more);
    let next_after = last.map(|last| format!("{} {}", last.action, last.conversation));
    json_reply(
        StatusCode::OK,
        &json!({"corrections": found, "next_after": next_after}),
    )
}

/// The conversation that the path names.
fn conversation(incoming: &Incoming) -> Result<String, Failure> {
    said("", incoming.param("id").to_owned(), factum::KEY_MAX)
}

fn action(text: &str) -> Result<ActionId, Failure> {
    text.parse().map_err(|error: factum::core::id::BadId| {
        let remedy = "send the `id` of the status that was read";
        Failure::new(Code::WrongType, "/action", error.to_string(), remedy)
    })
}

fn statement(name: &str) -> Result<StatementKey, Failure> {
    StatementKey::from_name(name).ok_or_else(|| {
        let names = StatementKey::ALL.map(StatementKey::name);
        let rule = format!("no statement is called {name:?}");
        let remedy = format!("use one of: {}", names.join(", "));
        Failure::new(Code::WrongType, "/statement", rule, remedy)
    })
}

fn locale(tag: &str) -> Result<Locale, Failure> {
    Locale::of(tag).ok_or_else(|| {
        let rule = format!("there are no words in {tag:?}");
        let remedy = format!("use one of: {}", locale_words().join(", "));
        Failure::new(Code::WrongType, "/locale", rule, remedy)
    })
}
