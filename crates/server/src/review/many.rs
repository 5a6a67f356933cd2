//! Many items at once: asked again, matched with an export of the destination, ruled on row by row, or settled as one incident.

use axum::http::StatusCode;
use factum::core::Span;
use factum::core::Timestamp;
use factum::review::export::{Columns, Form, rows};
use factum::review::matching::{Matched, Unclear};
use factum::statements::Audience;
use factum::{
    ActionId, Caller, Code, Incident, Person, Problem, Record, parse_instant, problem_json,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::app::App;
use crate::call::Doc;
use crate::incoming::{Incoming, person, said, who};
use crate::reply::{Failure, Reply, json_reply};
use crate::review::{proposed_json, ruling};

const SAID: &[Code] = &[
    Code::MalformedJson,
    Code::UnknownMember,
    Code::WrongType,
    Code::DuplicateMember,
    Code::TooLarge,
    Code::WrongMediaType,
    Code::DiskFull,
];

pub(crate) const CHECK: Doc = Doc {
    name: "check_many_again",
    summary: "Has the destination asked once more about many items.",
    says: "Those that are named, or all that wait for a person at a destination. From review a lookup may settle, and never sends.",
    query: &[],
    headers: &[],
    body: Some(("CheckManyRequest", true)),
    answers: &[(200, "What became of each.", "ManyChecked")],
    problems: SAID,
};

pub(crate) const VERDICTS: Doc = Doc {
    name: "verdicts",
    summary: "Records verdicts on several actions.",
    says: "Each is a verdict of its own, as if it were given alone; one that is refused says why, and stops none of the others.",
    query: &[],
    headers: &[],
    body: Some(("VerdictsRequest", true)),
    answers: &[(200, "What became of each.", "ManyRuled")],
    problems: SAID,
};

pub(crate) const MATCH: Doc = Doc {
    name: "match_export",
    summary: "Matches an export of a destination with what waits for a person.",
    says: "By our mark in any cell, then by a reference, then by subject and time. Nothing is recorded: each proposal is confirmed by a person, \
           as a verdict. What no row belongs to is proposed as `did_not_happen` only where the person says that the export is complete.",
    query: &[],
    headers: &[],
    body: Some(("MatchRequest", true)),
    answers: &[(200, "Proposals, each with its reasons.", "Matched")],
    problems: SAID,
};

pub(crate) const INCIDENT: Doc = Doc {
    name: "rule_incident",
    summary: "Gives one verdict on everything that one incident left.",
    says: "Without `confirm` it shows the list and its digest, and records nothing. With that digest it rules on that very list; on another one it \
           is refused.",
    query: &[],
    headers: &[],
    body: Some(("IncidentRequest", true)),
    answers: &[(200, "The list, or what became of each.", "IncidentRuled")],
    problems: &[
        Code::ListChanged,
        Code::MalformedJson,
        Code::UnknownMember,
        Code::WrongType,
        Code::DuplicateMember,
        Code::TooLarge,
        Code::WrongMediaType,
        Code::DiskFull,
    ],
};

/// Verdicts of one call at the most.
pub(crate) const VERDICTS_MAX: usize = 500;

/// How far apart a destination's idea of when something was made may lie from ours, where nothing is said.
pub(crate) const WITHIN_S: u64 = 300;

/// The longest that a row may lie beside an action, in seconds: thirty days.
pub(crate) const WITHIN_MAX_S: u64 = 30 * 86_400;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckManyRequest {
    actions: Option<Vec<String>>,
    destination: Option<String>,
    operation: Option<String>,
    by: Option<String>,
}

pub(crate) async fn check(app: &App, mut incoming: Incoming) -> Result<Reply, Failure> {
    let request: CheckManyRequest = incoming.json().await?;
    let caller = incoming.caller.clone();
    let by = person(&caller, request.by)?;
    let named = request.actions.unwrap_or_default();
    let ids = if named.is_empty() {
        let incident = Incident {
            destination: name("/destination", request.destination)?,
            operation: name("/operation", request.operation)?,
            ..Incident::default()
        };
        let waiting = app
            .factum()
            .engine()
            .waiting_for_people(&caller, &incident)
            .await?;
        waiting.iter().map(Record::id).collect()
    } else {
        ids(&named)?
    };
    let factum = app.factum().clone();
    let results = app
        .to_its_end(async move {
            let mut results = Vec::with_capacity(ids.len());
            for id in ids {
                let checked = match factum.engine().load_for(&caller, id).await {
                    Ok(_) => factum.engine().check_again(id, &by).await,
                    Err(problem) => Err(problem),
                };
                results.push(outcome(id, checked.map(|_| json!({"asked": true}))));
            }
            Ok(results)
        })
        .await?;
    json_reply(StatusCode::OK, &json!({ "results": results }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct VerdictsRequest {
    verdicts: Vec<OneVerdict>,
    why: String,
    by: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OneVerdict {
    action: String,
    verdict: String,
    receipt: Option<String>,
    why: Option<String>,
}

pub(crate) async fn verdicts(app: &App, mut incoming: Incoming) -> Result<Reply, Failure> {
    // Lists would be read as objects in the order of their members.
    let places: Vec<String> = (0..VERDICTS_MAX).map(|n| format!("verdicts/{n}")).collect();
    let objects: Vec<&str> = places.iter().map(String::as_str).collect();
    let request: VerdictsRequest = incoming.json_with(&objects).await?;
    if request.verdicts.is_empty() || request.verdicts.len() > VERDICTS_MAX {
        let rule = format!("it holds {} verdicts", request.verdicts.len());
        return Err(wrong("/verdicts", rule, "send 1 to 500"));
    }
    let caller = incoming.caller.clone();
    let by = person(&caller, request.by)?;
    let why = said("/why", request.why, 2_000)?;
    let mut all = Vec::with_capacity(request.verdicts.len());
    for one in request.verdicts {
        let own = one
            .why
            .map(|text| said("/verdicts/why", text, 1_000))
            .transpose()?;
        let why = own.map_or_else(|| why.clone(), |own| format!("{why}: {own}"));
        all.push((id(&one.action)?, ruling(&one.verdict, one.receipt)?, why));
    }
    let results = rule_all(app, caller, by, all).await?;
    json_reply(StatusCode::OK, &json!({ "results": results }))
}

type Rulings = Vec<(ActionId, factum::Ruling, String)>;

async fn rule_all(
    app: &App,
    caller: Caller,
    by: String,
    all: Rulings,
) -> Result<Vec<Value>, Failure> {
    let factum = app.factum().clone();
    app.to_its_end(async move {
        let mut results = Vec::with_capacity(all.len());
        for (id, ruling, why) in all {
            let person = Person {
                by: &by,
                who: who(&caller, &by),
            };
            let engine = factum.engine();
            let ruled = match engine.load_for(&caller, id).await {
                Ok(_) => engine.rule_by(id, ruling, person, &why).await,
                Err(problem) => Err(problem),
            };
            results.push(outcome(
                id,
                ruled.map(|ruled| {
                    let status = factum.view(ruled.record(), false, Audience::Operator);
                    let proposed = match &ruled {
                        factum::Ruled::Recorded(_) => Value::Null,
                        factum::Ruled::Proposed(_, proposed) => proposed_json(proposed),
                    };
                    json!({"state": status.state, "proposed": proposed})
                }),
            ));
        }
        Ok(results)
    })
    .await
}

/// What became of one of many.
fn outcome(id: ActionId, result: Result<Value, Problem>) -> Value {
    let mut said = match result {
        Ok(said) => said,
        Err(problem) => json!({"problem": problem_json(&problem)}),
    };
    said["action"] = id.to_string().into();
    said
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MatchRequest {
    destination: String,
    operation: Option<String>,
    from: Option<String>,
    until: Option<String>,
    form: String,
    export: String,
    columns: ColumnNames,
    within_s: Option<u64>,
    complete: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ColumnNames {
    receipt: Option<String>,
    reference: Option<String>,
    subject: Option<String>,
    at: Option<String>,
}

pub(crate) async fn matched(app: &App, mut incoming: Incoming) -> Result<Reply, Failure> {
    let request: MatchRequest = incoming.json_with(&["columns"]).await?;
    let form = match request.form.as_str() {
        "csv" => Form::Csv,
        "json" => Form::Json,
        other => {
            let rule = format!("no form is called {other:?}");
            return Err(wrong("/form", rule, "use csv or json"));
        }
    };
    let columns = Columns {
        receipt: name("/columns/receipt", request.columns.receipt)?,
        reference: name("/columns/reference", request.columns.reference)?,
        subject: name("/columns/subject", request.columns.subject)?,
        at: name("/columns/at", request.columns.at)?,
    };
    let rows = rows(&request.export, form, &columns)?;
    let incident = Incident {
        destination: name("/destination", Some(request.destination))?,
        operation: name("/operation", request.operation)?,
        from: instant("/from", request.from)?,
        until: instant("/until", request.until)?,
    };
    let within = request.within_s.unwrap_or(WITHIN_S);
    if within > WITHIN_MAX_S {
        let rule = format!("it is more than {WITHIN_MAX_S} seconds");
        return Err(wrong("/within_s", rule, "name a shorter time"));
    }
    let within = Span::from_secs(i64::try_from(within).unwrap_or(0));
    let engine = app.factum().engine();
    let found = engine
        .match_export(&incoming.caller, &incident, &rows, within)
        .await?;
    json_reply(
        StatusCode::OK,
        &shown(&found, rows.len(), request.complete == Some(true)),
    )
}

/// What is proposed. A row that is not there says something only where all rows are.
fn shown(found: &Matched, rows: usize, complete: bool) -> Value {
    let happened = found.proposals.iter().map(|one| {
        let reasons = one.reasons.join("; ");
        json!({
            "action": one.action.to_string(), "verdict": "happened", "receipt": one.receipt, "row": one.row,
            "by": one.by.name(), "reasons": one.reasons, "why": format!("row {} of the export: {reasons}", one.row),
        })
    });
    let missing = found.not_found.iter().filter(|_| complete).map(|action| {
        let reason = "no row of the export, which is said to be complete, belongs to it";
        json!({
            "action": action.to_string(), "verdict": "did_not_happen", "receipt": null, "row": null,
            "by": "absence", "reasons": [reason], "why": reason,
        })
    });
    let ids =
        |actions: &[ActionId]| -> Vec<String> { actions.iter().map(ToString::to_string).collect() };
    let unclear = found.unclear.iter().map(|one: &Unclear| {
        json!({"actions": ids(&one.actions), "rows": one.rows, "by": one.by.name(), "why": one.why})
    });
    json!({
        "rows": rows,
        "proposals": happened.chain(missing).collect::<Vec<_>>(),
        "unclear": unclear.collect::<Vec<_>>(),
        "not_found": ids(&found.not_found),
        "rows_left": found.rows_left.len(),
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct IncidentRequest {
    destination: String,
    operation: Option<String>,
    from: String,
    until: String,
    verdict: String,
    why: String,
    by: Option<String>,
    confirm: Option<String>,
}

pub(crate) async fn incident(app: &App, mut incoming: Incoming) -> Result<Reply, Failure> {
    let request: IncidentRequest = incoming.json().await?;
    let caller = incoming.caller.clone();
    let by = person(&caller, request.by)?;
    let why = said("/why", request.why, 2_000)?;
    ruling(&request.verdict, None)?;
    let incident = Incident {
        destination: name("/destination", Some(request.destination))?,
        operation: name("/operation", request.operation)?,
        from: instant("/from", Some(request.from))?,
        until: instant("/until", Some(request.until))?,
    };
    let engine = app.factum().engine();
    let waiting = engine.waiting_for_people(&caller, &incident).await?;
    let ids: Vec<ActionId> = waiting.iter().map(Record::id).collect();
    let digest = engine.list_digest(&request.verdict, &ids);
    let Some(confirm) = name("/confirm", request.confirm)? else {
        let items: Vec<Value> = waiting.iter().map(line).collect();
        return json_reply(
            StatusCode::OK,
            &json!({"digest": digest, "confirmed": false, "items": items, "results": []}),
        );
    };
    if confirm != digest {
        let rule = "the list is another one than was shown: something was settled, or came to it, meanwhile";
        let remedy = "look at the list without `confirm`, and confirm that one";
        return Err(Failure::new(Code::ListChanged, "/confirm", rule, remedy));
    }
    let mut all = Vec::with_capacity(ids.len());
    for id in ids {
        all.push((id, ruling(&request.verdict, None)?, why.clone()));
    }
    let results = rule_all(app, caller, by, all).await?;
    json_reply(
        StatusCode::OK,
        &json!({"digest": digest, "confirmed": true, "items": [], "results": results}),
    )
}

/// An action in a list that is to be confirmed.
fn line(record: &Record) -> Value {
    let action = &record.action;
    json!({
        "action": record.id().to_string(), "operation": action.scope.operation, "summary": action.content.summary,
        "state": record.status().state.name(), "taken_by": record.known.taken_by().map(|(_, by)| by),
    })
}

fn ids(texts: &[String]) -> Result<Vec<ActionId>, Failure> {
    if texts.len() > factum::MANY_MAX {
        let rule = format!("it names {} actions", texts.len());
        return Err(wrong("/actions", rule, "send fewer at once"));
    }
    texts.iter().map(|text| id(text)).collect()
}

fn id(text: &str) -> Result<ActionId, Failure> {
    text.parse().map_err(|error: factum::core::id::BadId| {
        wrong("/actions", error.to_string(), "send ids of actions")
    })
}

fn name(member: &str, text: Option<String>) -> Result<Option<String>, Failure> {
    text.map(|text| said(member, text, 500)).transpose()
}

fn instant(member: &str, text: Option<String>) -> Result<Option<Timestamp>, Failure> {
    Ok(text.map(|text| parse_instant(member, &text)).transpose()?)
}

fn wrong(member: &str, rule: String, remedy: &str) -> Failure {
    Problem::new(Code::WrongType, member, rule, remedy).into()
}
