//! What waits for a person, and what a person says about it. A verdict settles, and is recorded as what it is: no proof.

use axum::http::StatusCode;
use factum::core::Fact;
use factum::statements::Audience;
use factum::view::{StatusView, rfc3339};
use factum::{Code, Filter, Receipt, Ruling};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::actions::{BEFORE, LIMIT, LIMIT_PARAM, page};
use crate::app::App;
use crate::call::Doc;
use crate::incoming::{Incoming, person, said};
use crate::reply::{Failure, Reply, json_reply};

pub(crate) const LIST: Doc = Doc {
    name: "review",
    summary: "What waits for a person, newest first.",
    says: "Each with the reason in `next.why`, since when, how much evidence there is, and the customer's route in `contact`.",
    query: &[BEFORE, LIMIT_PARAM],
    headers: &[],
    body: None,
    answers: &[(200, "A page of the queue.", "ReviewList")],
    problems: &[],
};

const SAID: &[Code] = &[
    Code::UnknownAction,
    Code::DoesNotApply,
    Code::MalformedJson,
    Code::UnknownMember,
    Code::WrongType,
    Code::DuplicateMember,
    Code::TooLarge,
    Code::WrongMediaType,
];

pub(crate) const VERDICT: Doc = Doc {
    name: "verdict",
    summary: "Records what a person found out or orders.",
    says: "`happened` and `did_not_happen` settle; the latter takes hold once no request can land any more. `send_again` accepts \
           the risk of a duplicate, for one send. `cannot_be_known` ends the search: it stays unknown. A later verdict replaces \
           an earlier one; both are kept.",
    query: &[],
    headers: &[],
    body: Some(("VerdictRequest", true)),
    answers: &[(200, "The action as it stands then.", "Status")],
    problems: SAID,
};

pub(crate) const CHECK_AGAIN: Doc = Doc {
    name: "check_again",
    summary: "Has the destination asked once more.",
    says: "From review a lookup may settle an action; it never sends.",
    query: &[],
    headers: &[],
    body: Some(("ByRequest", false)),
    answers: &[(
        200,
        "The action as it stands now; the answer comes as evidence.",
        "Status",
    )],
    problems: SAID,
};

pub(crate) async fn list(app: &App, incoming: Incoming) -> Result<Reply, Failure> {
    let query = &incoming.query;
    let filter = Filter {
        next: Some("review".to_owned()),
        before: query.parsed("before"),
        limit: query.parsed("limit").unwrap_or(LIMIT),
        ..Filter::default()
    };
    let page = page(app, &incoming.caller, filter).await?;
    let mut items = Vec::with_capacity(page.records.len());
    for record in &page.records {
        items.push(
            item(
                app,
                app.factum().view(record, false, Audience::Operator),
                record.id(),
            )
            .await?,
        );
    }
    json_reply(
        StatusCode::OK,
        &json!({"items": items, "next_before": page.next_before}),
    )
}

async fn item(app: &App, status: StatusView, id: factum::ActionId) -> Result<Value, Failure> {
    let evidence = app.factum().engine().evidence(id).await?;
    // A review that rests on time alone was opened by a record; one that follows from an answer waits since that answer.
    let opened = evidence
        .iter()
        .rev()
        .find(|evidence| matches!(evidence.fact, Fact::ReviewOpened { .. }));
    let since = opened
        .or(evidence.last())
        .map(|evidence| rfc3339(evidence.at));
    let mut json = json!(status);
    json["evidence_count"] = evidence.len().into();
    json["since"] = since.into();
    Ok(json)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct VerdictRequest {
    verdict: String,
    why: String,
    by: Option<String>,
    receipt: Option<String>,
}

/// The words for verdicts.
pub(crate) const VERDICTS: [&str; 4] = [
    "happened",
    "did_not_happen",
    "send_again",
    "cannot_be_known",
];

pub(crate) async fn verdict(app: &App, mut incoming: Incoming) -> Result<Reply, Failure> {
    let id = incoming.visible(app).await?.id();
    let request: VerdictRequest = incoming.json().await?;
    let by = person(&incoming.caller, request.by)?;
    let why = said("/why", request.why, 2_000)?;
    let ruling = ruling(&request.verdict, request.receipt)?;
    let factum = app.factum().clone();
    let status = app
        .to_its_end(async move { factum.rule(id, ruling, &by, &why).await })
        .await?;
    json_reply(StatusCode::OK, &status)
}

fn ruling(word: &str, receipt: Option<String>) -> Result<Ruling, Failure> {
    let receipt = receipt
        .map(|reference| said("/receipt", reference, 500))
        .transpose()?;
    let ruling = match word {
        "happened" => {
            let receipt = receipt.map(|reference| Receipt {
                reference,
                aliases: Vec::new(),
            });
            return Ok(Ruling::Happened { receipt });
        }
        "did_not_happen" => Ruling::DidNotHappen,
        "send_again" => Ruling::SendAgain,
        "cannot_be_known" => Ruling::CannotBeKnown,
        _ => {
            let rule = format!("no verdict is called {word:?}");
            let remedy = format!("use one of: {}", VERDICTS.join(", "));
            return Err(Failure::new(Code::WrongType, "/verdict", rule, remedy));
        }
    };
    match receipt {
        None => Ok(ruling),
        Some(_) => {
            let rule =
                format!("the verdict {word} says nothing about an effect that has a receipt");
            Err(Failure::new(
                Code::WrongType,
                "/receipt",
                rule,
                "leave it out, or rule that it happened",
            ))
        }
    }
}

/// Who does it.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ByRequest {
    pub(crate) by: Option<String>,
}

pub(crate) async fn check_again(app: &App, mut incoming: Incoming) -> Result<Reply, Failure> {
    let id = incoming.visible(app).await?.id();
    let caller = incoming.caller.clone();
    let by = person(&caller, incoming.json_or_default::<ByRequest>().await?.by)?;
    let factum = app.factum().clone();
    let status = app
        .to_its_end(async move { factum.check_again(id, &by).await })
        .await?;
    json_reply(StatusCode::OK, &status)
}
