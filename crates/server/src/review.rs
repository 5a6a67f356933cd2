//! What waits for a person, and what a person says about it. A verdict settles, and is recorded as what it is: no proof.

mod items;
mod many;

use axum::http::StatusCode;
use factum::core::promise::Consequence;
use factum::core::{Fact, Timestamp};
use factum::statements::Audience;
use factum::view::rfc3339;
use factum::{
    Caller, Code, Filter, Incident, Person, ProposedVerdict, Receipt, Record, Ruled, Ruling,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::actions::{BEFORE, LIMIT, LIMIT_PARAM, page};
use crate::app::App;
use crate::call::{Doc, Param};
use crate::incoming::{Incoming, person, said, who};
use crate::query::Kind;
use crate::reply::{Failure, Reply, json_reply};

pub(crate) use self::items::{NOTE, RELEASE, TAKE, answer as item_call};
pub(crate) use self::many::{
    CHECK, INCIDENT, MATCH, VERDICTS as VERDICTS_DOC, VERDICTS_MAX, WITHIN_MAX_S, WITHIN_S, check,
    incident, matched, verdicts,
};

pub(crate) const LIST: Doc = Doc {
    name: "review",
    summary: "What waits for a person.",
    says: "Each with the reason in `next.why`, since when, how much evidence there is, who has taken it, and the customer's route in \
           `contact`. Newest first, page by page; with `order=urgent` those of the gravest consequence first, then those whose time is \
           nearest its end, then the oldest.",
    query: &[
        BEFORE,
        LIMIT_PARAM,
        Param::new(
            "order",
            Kind::Words(|| vec!["newest", "urgent"]),
            "what comes first; `before` continues `newest` alone",
        ),
        Param::new("destination", Kind::Text, "at this destination"),
        Param::new("tenant", Kind::Text, "of this tenant: for operators"),
    ],
    headers: &[],
    body: None,
    answers: &[(200, "A page of the queue.", "ReviewList")],
    problems: &[Code::UnknownName],
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
];

const RULED: &[Code] = &[
    Code::UnknownAction,
    Code::Purged,
    Code::DoesNotApply,
    Code::TakenByOther,
    Code::SecondPerson,
    Code::AgainstEvidence,
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
           an earlier one; both are kept. What the destination's own evidence has settled is refused, with that evidence. Where the \
           operation wants two people, the first verdict is a proposal.",
    query: &[],
    headers: &[],
    body: Some(("VerdictRequest", true)),
    answers: &[
        (200, "The action as it stands then.", "Status"),
        (
            202,
            "A second person has to say the same.",
            "VerdictProposed",
        ),
    ],
    problems: RULED,
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
    let (query, caller) = (&incoming.query, seen_by(app, &incoming)?);
    let destination = query.text("destination").map(str::to_owned);
    let limit = query.parsed("limit").unwrap_or(LIMIT);
    let (records, next_before) = if query.text("order") == Some("urgent") {
        let incident = Incident {
            destination,
            ..Incident::default()
        };
        let mut found = app
            .factum()
            .engine()
            .waiting_for_people(&caller, &incident)
            .await?;
        found.sort_by_key(|record| urgency(app, record));
        found.truncate(limit);
        (found, None)
    } else {
        let filter = Filter {
            next: Some("review".to_owned()),
            before: query.parsed("before"),
            destination,
            limit,
            ..Filter::default()
        };
        let page = page(app, &caller, filter).await?;
        (page.records, page.next_before)
    };
    let mut items = Vec::with_capacity(records.len());
    for record in &records {
        items.push(item(app, record).await?);
    }
    json_reply(
        StatusCode::OK,
        &json!({"items": items, "next_before": next_before}),
    )
}

/// Whoever asks; an operator may look at another tenant's.
fn seen_by(app: &App, incoming: &Incoming) -> Result<Caller, Failure> {
    let caller = incoming.caller.clone();
    match incoming.query.text("tenant") {
        None => Ok(caller),
        Some(named) if named == caller.tenant => Ok(caller),
        Some(named)
            if caller.is_operator() && app.factum().engine().directory().has_tenant(named) =>
        {
            Ok(Caller {
                tenant: named.to_owned(),
                ..caller
            })
        }
        Some(named) => {
            let rule = format!("no tenant {named:?} is registered here");
            let remedy = "leave `tenant` out: it is the token's";
            Err(Failure::new(Code::UnknownName, "tenant", rule, remedy))
        }
    }
}

/// What is first: the gravest, then what has the least time left, then what waits longest.
pub(crate) fn urgency(
    app: &App,
    record: &Record,
) -> (std::cmp::Reverse<Consequence>, Timestamp, Option<Timestamp>) {
    let window = app.factum().engine().window_ends(record);
    (
        std::cmp::Reverse(record.action.intent.promises.consequence),
        window.unwrap_or(Timestamp::NEVER),
        record.known.waits_for_a_person_since(),
    )
}

async fn item(app: &App, record: &Record) -> Result<Value, Failure> {
    let engine = app.factum().engine();
    let evidence = engine.evidence(record.id()).await?;
    // A review that rests on time alone was opened by a record; one that follows from an answer waits since that answer.
    let opened = evidence
        .iter()
        .rev()
        .find(|evidence| matches!(evidence.fact, Fact::ReviewOpened { .. }));
    let since = opened
        .or(evidence.last())
        .map(|evidence| rfc3339(evidence.at));
    let proposed = engine.proposed_verdict(record).await?;
    let mut json = json!(app.factum().view(record, false, Audience::Operator));
    json["evidence_count"] = evidence.len().into();
    json["since"] = since.into();
    json["consequence"] = record.action.intent.promises.consequence.name().into();
    json["window_until"] = engine.window_ends(record).map(rfc3339).into();
    json["taken_by"] = record.known.taken_by().map(|(_, by)| by).into();
    json["proposed"] = proposed.as_ref().map(proposed_json).into();
    Ok(json)
}

/// A verdict that waits for a second person.
pub(crate) fn proposed_json(proposed: &ProposedVerdict) -> Value {
    json!({
        "verdict": proposed.verdict, "receipt": proposed.receipt, "by": proposed.by, "why": proposed.why,
        "at": rfc3339(Timestamp::from_micros(proposed.at)),
    })
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
    let (factum, caller) = (app.factum().clone(), incoming.caller.clone());
    let ruled = app
        .to_its_end(async move {
            let person = Person {
                by: &by,
                who: who(&caller, &by),
            };
            factum.engine().rule_by(id, ruling, person, &why).await
        })
        .await?;
    let status = app.factum().view(ruled.record(), false, Audience::Operator);
    match &ruled {
        Ruled::Recorded(_) => json_reply(StatusCode::OK, &status),
        Ruled::Proposed(_, proposed) => json_reply(
            StatusCode::ACCEPTED,
            &json!({"proposed": proposed_json(proposed), "action": status}),
        ),
    }
}

pub(crate) fn ruling(word: &str, receipt: Option<String>) -> Result<Ruling, Failure> {
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
