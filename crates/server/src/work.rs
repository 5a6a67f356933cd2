//! Remote work: workers elsewhere claim what waits for them, begin, make the call in their own code, and report.

use std::time::Duration;

use axum::http::StatusCode;
use factum::core::Span;
use factum::core::evidence::Capture;
use factum::destination::own_name;
use factum::view::rfc3339;
use factum::work::{HttpAnswer, Report, TicketKind, Wish, Work};
use factum::{ActionId, Code, Problem, Receipt, by_word};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::app::{App, WAIT_MAX};
use crate::call::{Doc, Param};
use crate::incoming::{Incoming, said};
use crate::query::Kind;
use crate::reply::{Failure, Reply, json_reply};

pub(crate) const CLAIM: Doc = Doc {
    name: "claim_work",
    summary: "Hands out what waits for workers.",
    says: "Each item is held for this caller until `leased_until`, and for nobody else. What is to be sent has to be begun before its \
           first byte; a lookup is asked and reported.",
    query: &[Param::new(
        "wait",
        Kind::Number(0, 60),
        "seconds to wait until there is something",
    )],
    headers: &[],
    body: Some(("WorkWish", false)),
    answers: &[(
        200,
        "What was claimed; nothing where nothing waits.",
        "WorkList",
    )],
    problems: &[
        Code::UnknownDestination,
        Code::MalformedJson,
        Code::UnknownMember,
        Code::WrongType,
        Code::DuplicateMember,
        Code::TooLarge,
        Code::WrongMediaType,
    ],
};

const HELD: &[Code] = &[
    Code::UnknownClaim,
    Code::ClaimOver,
    Code::MalformedJson,
    Code::UnknownMember,
    Code::WrongType,
    Code::DuplicateMember,
    Code::TooLarge,
    Code::WrongMediaType,
];

pub(crate) const BEGIN: Doc = Doc {
    name: "begin_work",
    summary: "Begins an attempt: it is durable before the first byte of the worker's call.",
    says: "The answer is the only permission, and it ends at `valid_until`, which is `valid_for_ms` after the begin was sent: no byte \
           before the answer, and none after that. A repeated begin hands out nothing (F1102): whoever lost the answer reports \
           `not_sent`.",
    query: &[],
    headers: &[],
    body: Some(("Empty", false)),
    answers: &[(200, "The permission.", "WorkBegun")],
    problems: &[
        Code::UnknownClaim,
        Code::ClaimOver,
        Code::AlreadyBegun,
        Code::NothingToBegin,
        Code::MalformedJson,
        Code::UnknownMember,
        Code::WrongType,
        Code::DuplicateMember,
        Code::TooLarge,
        Code::WrongMediaType,
        Code::DiskFull,
    ],
};

pub(crate) const HEARTBEAT: Doc = Doc {
    name: "heartbeat_work",
    summary: "Says that the worker is still at it.",
    says: "The claim, or the lease of what was begun, ends later; the permission does not.",
    query: &[],
    headers: &[],
    body: Some(("Empty", false)),
    answers: &[(200, "Until when word of it is waited for.", "WorkLease")],
    problems: HELD,
};

pub(crate) const REPORT: Doc = Doc {
    name: "report_work",
    summary: "Says what became of it.",
    says: "A report is a fact: it is recorded however late it comes, and a repeated one joins. `done` speaks of an effect that exists, \
           `rejected`, `declined`, `busy` and `not_sent` of one that does not; whoever cannot tell says `unknown`. With `answered` the \
           operation's contract reads the destination's answer.",
    query: &[],
    headers: &[],
    body: Some(("WorkReport", true)),
    answers: &[(200, "The action as it stands then.", "WorkReported")],
    problems: &[
        Code::UnknownClaim,
        Code::NotBegun,
        Code::MalformedJson,
        Code::UnknownMember,
        Code::WrongType,
        Code::DuplicateMember,
        Code::TooLarge,
        Code::WrongMediaType,
        Code::DiskFull,
    ],
};

pub(crate) const RETURN: Doc = Doc {
    name: "return_work",
    summary: "Gives a claim back under which nothing was begun.",
    says: "It is free for others at once.",
    query: &[],
    headers: &[],
    body: Some(("Empty", false)),
    answers: &[(200, "It is free.", "WorkReturned")],
    problems: &[
        Code::UnknownClaim,
        Code::AlreadyBegun,
        Code::MalformedJson,
        Code::UnknownMember,
        Code::WrongType,
        Code::DuplicateMember,
        Code::TooLarge,
        Code::WrongMediaType,
    ],
};

/// The words in which a worker reports what came of a send or a lookup, sends first.
pub const OUTCOMES: [&str; 12] = [
    "done",
    "accepted",
    "rejected",
    "declined",
    "busy",
    "not_sent",
    "unknown",
    "answered",
    "found",
    "queued",
    "absent",
    "inconclusive",
];

/// Items of one claim at the most.
pub(crate) const ITEMS_MAX: u64 = 100;
/// The longest lease that may be asked for, in seconds.
pub(crate) const LEASE_MAX_S: u64 = 3_600;

/// The longest name, in characters.
pub(crate) const SHORT: usize = 500;

/// How often a worker's wish is looked at anew, where another server may have been told.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct WishRequest {
    destinations: Option<Vec<String>>,
    operations: Option<Vec<String>>,
    actions: Option<Vec<String>>,
    kind: Option<String>,
    max: Option<u64>,
    lease_s: Option<u64>,
}

pub(crate) async fn claim(app: &App, mut incoming: Incoming) -> Result<Reply, Failure> {
    let wait = Duration::from_secs(incoming.query.parsed("wait").unwrap_or(0));
    let wish = wish(incoming.json_or_default::<WishRequest>().await?)?;
    let until = tokio::time::Instant::now() + wait.min(WAIT_MAX);
    let mut changes = app.factum().engine().changes();
    loop {
        let (factum, caller, own) = (app.factum().clone(), incoming.caller.clone(), wish.clone());
        let claimed = app
            .to_its_end(async move { factum.engine().claim_work(&caller, &own).await })
            .await?;
        if !claimed.is_empty() || tokio::time::Instant::now() >= until {
            let items: Vec<_> = claimed.iter().map(item).collect::<Result<_, _>>()?;
            return json_reply(StatusCode::OK, &json!({ "items": items }));
        }
        let look = until.min(tokio::time::Instant::now() + LOOK_AGAIN);
        tokio::select! {
            // What changed may be what is waited for; so it may be after a while.
            _ = changes.recv() => {}
            () = tokio::time::sleep_until(look) => {}
            () = app.ended() => {
                return json_reply(StatusCode::OK, &json!({"items": []}));
            }
        }
    }
}

fn wish(request: WishRequest) -> Result<Wish, Failure> {
    let kind = match request.kind.as_deref() {
        None => None,
        Some("send") => Some(TicketKind::Send),
        Some("look_up") => Some(TicketKind::LookUp),
        Some(other) => {
            let rule = format!("no work is called {other:?}");
            return Err(wrong(
                "/kind",
                &rule,
                "use send or look_up, or leave it out",
            ));
        }
    };
    let max = request.max.unwrap_or(1);
    if max == 0 || max > ITEMS_MAX {
        return Err(wrong("/max", "it is out of bounds", "ask for 1 to 100"));
    }
    if request.lease_s.is_some_and(|s| s == 0 || s > LEASE_MAX_S) {
        return Err(wrong(
            "/lease_s",
            "it is out of bounds",
            "ask for 1 to 3600",
        ));
    }
    let seconds = |s: u64| Span::from_secs(i64::try_from(s).unwrap_or(i64::MAX));
    Ok(Wish {
        destinations: names("/destinations", request.destinations)?,
        operations: names("/operations", request.operations)?,
        actions: actions(request.actions)?,
        kind,
        limit: usize::try_from(max).unwrap_or(1),
        lease: request.lease_s.map(seconds),
    })
}

/// Actions, by their ids; null is none.
fn actions(ids: Option<Vec<String>>) -> Result<Vec<ActionId>, Failure> {
    let ids = ids.unwrap_or_default();
    if ids.len() as u64 > ITEMS_MAX {
        return Err(wrong("/actions", "it is too long", "name 100 at the most"));
    }
    let read = ids.iter().map(|id| {
        let read = id.parse::<ActionId>();
        let remedy = "use ids as submissions are answered with";
        read.map_err(|error| wrong("/actions", &error.to_string(), remedy))
    });
    read.collect()
}

/// Names, each within bounds; null is none.
fn names(member: &str, names: Option<Vec<String>>) -> Result<Vec<String>, Failure> {
    let names = names.unwrap_or_default().into_iter();
    names.map(|name| said(member, name, SHORT)).collect()
}

/// What a worker is handed. Params and payload are the submission's own bytes.
fn item(work: &Work) -> Result<Map<String, Value>, Failure> {
    let action = &work.record.action;
    let (scope, content) = (&action.scope, &action.content);
    let permission = work
        .permission
        .map(|(kind, until)| json!({"kind": kind.name(), "until": rfc3339(until)}));
    let trace = content
        .trace
        .as_ref()
        .map(|trace| trace.as_str().to_owned());
    let all = [
        ("claim", json!(work.claim)),
        ("kind", json!(work.kind.name())),
        ("action", json!(work.record.id().to_string())),
        (
            "destination",
            json!(own_name(&scope.tenant, &scope.destination)),
        ),
        ("operation", json!(scope.operation)),
        ("for", json!(scope.principal)),
        ("summary", json!(content.summary)),
        ("subject", json!(content.subject)),
        ("params", as_written(&content.params)?),
        ("payload", as_written(&content.payload)?),
        ("key", json!(work.key)),
        ("reference", json!(work.reference)),
        ("trace", json!(trace)),
        ("attempts", json!(work.record.known.attempts_marked())),
        ("permission", json!(permission)),
        ("by", json!(work.by.map(by_word))),
        ("leased_until", json!(rfc3339(work.until))),
    ];
    Ok(all
        .map(|(name, value)| (name.to_owned(), value))
        .into_iter()
        .collect())
}

/// Numbers stay as they were written: the value keeps their text.
fn as_written(text: &str) -> Result<Value, Failure> {
    serde_json::from_str(text).map_err(|error| {
        tracing::error!(%error, "a recorded payload is no JSON");
        Failure::broken()
    })
}

pub(crate) async fn begin(app: &App, mut incoming: Incoming) -> Result<Reply, Failure> {
    incoming.json_or_default::<Empty>().await?;
    let (factum, caller) = (app.factum().clone(), incoming.caller.clone());
    let claim = incoming.param("claim").to_owned();
    let begun = app
        .to_its_end(async move { factum.engine().begin_work(&caller, &claim).await })
        .await?;
    let left = |until: factum::core::Timestamp| until.since(begun.at).as_micros() / 1_000;
    json_reply(
        StatusCode::OK,
        &json!({
            "action": begun.record.id().to_string(),
            "attempt": begun.attempt.0,
            "permission": begun.permission.name(),
            "key": begun.key,
            "reference": begun.reference,
            "valid_until": rfc3339(begun.valid_until),
            "valid_for_ms": left(begun.valid_until).max(0),
            "limit_ms": begun.limit.as_micros() / 1_000,
            "leased_until": rfc3339(begun.leased_until),
        }),
    )
}

pub(crate) async fn heartbeat(app: &App, mut incoming: Incoming) -> Result<Reply, Failure> {
    incoming.json_or_default::<Empty>().await?;
    let (factum, caller) = (app.factum().clone(), incoming.caller.clone());
    let claim = incoming.param("claim").to_owned();
    let until = app
        .to_its_end(async move { factum.engine().extend_work(&caller, &claim).await })
        .await?;
    json_reply(StatusCode::OK, &json!({"leased_until": rfc3339(until)}))
}

pub(crate) async fn give_back(app: &App, mut incoming: Incoming) -> Result<Reply, Failure> {
    incoming.json_or_default::<Empty>().await?;
    let (factum, caller) = (app.factum().clone(), incoming.caller.clone());
    let claim = incoming.param("claim").to_owned();
    app.to_its_end(async move { factum.engine().return_work(&caller, &claim).await })
        .await?;
    json_reply(StatusCode::OK, &json!({"returned": true}))
}

/// Nothing has to be said.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Empty {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReportRequest {
    outcome: String,
    receipt: Option<String>,
    aliases: Option<Vec<String>>,
    receipts: Option<Vec<String>>,
    object: Option<String>,
    why: Option<String>,
    retry_after_s: Option<u64>,
    answer: Option<AnswerRequest>,
}

/// The destination's answer, as the worker got it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerRequest {
    status: u16,
    headers: Option<Map<String, Value>>,
    body: Option<String>,
    truncated: Option<bool>,
}

pub(crate) async fn report(app: &App, mut incoming: Incoming) -> Result<Reply, Failure> {
    let request: ReportRequest = incoming.json_with(&["answer", "answer/headers"]).await?;
    let report = request.report()?;
    let (factum, caller, reader) = (
        app.factum().clone(),
        incoming.caller.clone(),
        incoming.reader(),
    );
    let claim = incoming.param("claim").to_owned();
    let (status, repeated) = app
        .to_its_end(async move {
            let (record, repeated) = factum.engine().report_work(&caller, &claim, report).await?;
            Ok((factum.view(&record, false, reader), repeated))
        })
        .await?;
    json_reply(
        StatusCode::OK,
        &json!({"repeated": repeated, "action": status}),
    )
}

impl ReportRequest {
    fn report(self) -> Result<Report, Failure> {
        let capture = capture(self.answer.as_ref())?;
        let receipt = self
            .receipt
            .map(|text| said("/receipt", text, SHORT))
            .transpose()?;
        let object = self
            .object
            .map(|text| said("/object", text, SHORT))
            .transpose()?;
        let why = self.why.map(|text| said("/why", text, 2_000)).transpose()?;
        let why = |needed: &str| why.clone().ok_or_else(|| missing("/why", needed));
        let seconds = |s: u64| Span::from_secs(i64::try_from(s.min(86_400)).unwrap_or(0));
        Ok(match self.outcome.as_str() {
            "done" => {
                let reference = receipt.ok_or_else(|| {
                    missing("/receipt", "the destination's own reference for the effect")
                })?;
                let aliases = names("/aliases", self.aliases)?;
                Report::Done(Receipt { reference, aliases }, capture)
            }
            "accepted" => Report::Accepted(object, capture),
            "rejected" => Report::Rejected(why("in the destination's words")?, capture),
            "declined" => Report::Declined(why("in the destination's words")?, capture),
            "busy" => Report::Busy(self.retry_after_s.map(seconds), capture),
            "not_sent" => Report::NotSent(why("what kept it back")?),
            "unknown" => Report::Unknown(why("how it was lost")?),
            "answered" => {
                let answer = self
                    .answer
                    .ok_or_else(|| missing("/answer", "the answer"))?;
                Report::Answered(answer.into_http()?)
            }
            "found" => Report::Found(receipts(
                receipt,
                names("/aliases", self.aliases)?,
                names("/receipts", self.receipts)?,
            )?),
            "queued" => Report::Queued(object),
            "absent" => Report::Absent,
            "inconclusive" => Report::Inconclusive(why("what kept the lookup from telling")?),
            other => {
                let rule = format!("no outcome is called {other:?}");
                let remedy = format!("use one of: {}", OUTCOMES.join(", "));
                return Err(Failure::new(Code::WrongType, "/outcome", rule, remedy));
            }
        })
    }
}

/// What a lookup found: one effect with its other names, or several.
fn receipts(
    one: Option<String>,
    aliases: Vec<String>,
    several: Vec<String>,
) -> Result<Vec<Receipt>, Failure> {
    let own = one.map(|reference| Receipt { reference, aliases });
    let others = several.into_iter().map(Receipt::new);
    let all: Vec<Receipt> = own.into_iter().chain(others).collect();
    if all.is_empty() {
        return Err(missing(
            "/receipt",
            "the destination's own reference for the effect",
        ));
    }
    Ok(all)
}

fn capture(answer: Option<&AnswerRequest>) -> Result<Capture, Failure> {
    let Some(answer) = answer else {
        return Ok(Capture::default());
    };
    Ok(Capture {
        status: status(answer.status)?,
        body: answer.body.clone().unwrap_or_default().into_bytes(),
        truncated: answer.truncated.unwrap_or_default(),
    })
}

fn status(status: u16) -> Result<u16, Failure> {
    if (100..1_000).contains(&status) {
        return Ok(status);
    }
    Err(wrong(
        "/answer/status",
        "it is no status code of HTTP",
        "send three digits",
    ))
}

impl AnswerRequest {
    fn into_http(self) -> Result<HttpAnswer, Failure> {
        let headers =
            self.headers
                .unwrap_or_default()
                .into_iter()
                .map(|(name, value)| match value {
                    Value::String(value) => Ok((name.to_ascii_lowercase(), value)),
                    _ => Err(wrong("/answer/headers", "a value is no text", "send texts")),
                });
        Ok(HttpAnswer {
            status: status(self.status)?,
            headers: headers.collect::<Result<_, _>>()?,
            body: self.body.unwrap_or_default().into_bytes(),
            truncated: self.truncated.unwrap_or_default(),
        })
    }
}

fn missing(member: &str, what: &str) -> Failure {
    wrong(member, "it is missing", &format!("say {what}"))
}

fn wrong(member: &str, rule: &str, remedy: &str) -> Failure {
    Problem::new(Code::WrongType, member, rule, remedy).into()
}
