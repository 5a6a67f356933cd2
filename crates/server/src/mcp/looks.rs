//! The tools that look, and the one that stops: what became of an action, what was asked for lately, what can be done here.

use std::time::Duration;

use factum::view::{EvidenceView, StatusView};
use factum::{Cancelled, Code, Filter, Problem, Record, State};
use serde::Deserialize;
use serde_json::{Value, json};

use super::asked::{Asked, ToolCall, problem_of};
use super::words::{self, Told};
use crate::actions::page;

/// Rows where nothing is said, and at the most.
const LIMIT: usize = 10;
const LIMIT_MAX: usize = 50;

/// By what an action is named.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Named {
    id: Option<String>,
    request_key: Option<String>,
    wait_s: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Lately {
    conversation: Option<String>,
    destination: Option<String>,
    state: Option<String>,
    limit: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Withdrawn {
    id: String,
    why: Option<String>,
}

/// `get_action`. Its answer is never an error: a question that was answered went well, whatever became of the action.
pub(crate) async fn get(asked: &Asked<'_>, call: &ToolCall) -> Result<Value, Problem> {
    let (record, wait) = named(asked, call).await?;
    let record = asked.app.at_rest(record.id(), wait).await?;
    let status = asked.view(&record, false);
    asked.handed_out(&status).await;
    let mut result = asked.rendered(&status).await;
    result["isError"] = false.into();
    Ok(asked.finished(result))
}

/// `explain_outcome`: the same, with the log in words.
pub(crate) async fn explain(asked: &Asked<'_>, call: &ToolCall) -> Result<Told, Problem> {
    let (record, _) = named(asked, call).await?;
    let evidence = asked.app.factum().evidence(record.id()).await?;
    let status = asked.view(&record, false);
    asked.handed_out(&status).await;
    let mut told = words::of_status(&status);
    told.is_error = false;
    told.text = format!("{}\n\n{}", told.text, story(&status, &evidence));
    told.structured["evidence"] = json!(evidence);
    Ok(told)
}

fn story(status: &StatusView, evidence: &[EvidenceView]) -> String {
    let mut lines = vec![format!("{} recorded", status.created_at)];
    lines.extend(
        evidence
            .iter()
            .map(|one| format!("{} {}", one.at, one.says)),
    );
    let next = &status.next;
    let at = next
        .at
        .as_ref()
        .map_or(String::new(), |at| format!(" at {at}"));
    lines.push(format!("next: {}{at}: {}", next.step, next.why));
    lines.join("\n")
}

async fn named(asked: &Asked<'_>, call: &ToolCall) -> Result<(Record, Duration), Problem> {
    let named: Named = call.read()?;
    let wait = asked.wait(Some(named.wait_s.unwrap_or(0)));
    let id = match (&named.id, named.request_key) {
        (Some(id), None) => id.clone(),
        (None, Some(key)) => return Ok((by_key(asked, key).await?, wait)),
        (Some(_), Some(_)) | (None, None) => {
            let rule = "an action is named by its id or by its request_key, by one of the two";
            let remedy = "send one; list_recent_actions shows both";
            return Err(Problem::new(Code::WrongType, "/id", rule, remedy));
        }
    };
    Ok((asked.action(&id).await?, wait))
}

/// The newest action of this key: one key may name an action at each of several operations.
async fn by_key(asked: &Asked<'_>, key: String) -> Result<Record, Problem> {
    let filter = Filter {
        key: Some(key),
        limit: 1,
        ..Filter::default()
    };
    let found = asked
        .app
        .factum()
        .engine()
        .list_for(asked.caller, filter)
        .await?;
    found.into_iter().next().ok_or_else(|| {
        let rule = "nothing was recorded under this request_key";
        let remedy =
            "if it was meant to be done, call perform_action with this request_key: that is safe";
        Problem::new(Code::UnknownAction, "/request_key", rule, remedy)
    })
}

/// `list_recent_actions`.
pub(crate) async fn list(asked: &Asked<'_>, call: &ToolCall) -> Result<Told, Problem> {
    let lately: Lately = call.read()?;
    let state = lately.state.as_deref().map(state).transpose()?;
    let filter = Filter {
        conversation: lately.conversation,
        destination: lately.destination,
        state,
        limit: lately.limit.unwrap_or(LIMIT).clamp(1, LIMIT_MAX),
        ..Filter::default()
    };
    let page = page(asked.app, asked.caller, filter)
        .await
        .map_err(problem_of)?;
    let found: Vec<StatusView> = page
        .records
        .iter()
        .map(|record| asked.view(record, false))
        .collect();
    let lines = found.iter().map(|status| {
        let what = status.summary.as_deref().unwrap_or(&status.operation);
        format!(
            "{} {} at {}: {} (request_key {:?}). {}",
            status.id, what, status.destination, status.state, status.key, status.statement.say
        )
    });
    let lines: Vec<String> = lines.collect();
    let text = if lines.is_empty() {
        "No action matches.".to_owned()
    } else {
        lines.join("\n")
    };
    Ok(Told {
        text,
        is_error: false,
        structured: json!({"actions": found, "more": page.next_before.is_some()}),
    })
}

fn state(word: &str) -> Result<State, Problem> {
    State::from_name(word).ok_or_else(|| {
        let known: Vec<&str> = State::ALL.iter().map(|state| state.name()).collect();
        let rule = format!("no state is called {word:?}");
        Problem::new(
            Code::WrongType,
            "/state",
            rule,
            format!("use one of: {}", known.join(", ")),
        )
    })
}

/// `cancel_action`.
pub(crate) async fn cancel(asked: &Asked<'_>, call: &ToolCall) -> Result<Told, Problem> {
    let wish: Withdrawn = call.read()?;
    let id = asked.action(&wish.id).await?.id();
    let why = wish
        .why
        .map(|why| crate::incoming::said("/why", why, 2_000));
    let why = why.transpose().map_err(problem_of)?;
    let why = why.unwrap_or_else(|| "a tool call withdrew it, and gave no reason".to_owned());
    let (factum, by) = (asked.app.factum().clone(), asked.caller.principal.clone());
    let change = async move { factum.cancel(id, &by, &why).await };
    let (cancelled, _) = asked.app.to_its_end(change).await.map_err(problem_of)?;
    let status = asked.view(&asked.app.factum().engine().load(id).await?, false);
    asked.handed_out(&status).await;
    let how = words::of_status(&status);
    let (word, text) = match cancelled {
        Cancelled::Stopped => (
            "stopped",
            format!("Withdrawn: nothing was sent, and nothing will be. Action {id}."),
        ),
        Cancelled::TooLate => (
            "too_late",
            format!(
                "Too late to withdraw it; nothing more is sent. How it stands: {}",
                how.text
            ),
        ),
    };
    let mut structured = how.structured;
    structured["cancel"] = word.into();
    Ok(Told {
        text,
        is_error: false,
        structured,
    })
}

/// `list_operations`: what can be done here, with what each takes.
pub(crate) fn operations(asked: &Asked<'_>) -> Told {
    let engine = asked.app.factum().engine();
    let mut known: Vec<Value> = Vec::new();
    for (name, destination) in engine.destinations_of(&asked.caller.tenant) {
        for (operation, own) in &destination.operations {
            let contract = own.contract.as_ref().map(|own| own.contract.input_schema());
            known.push(json!({
                "destination": name,
                "operation": operation,
                "consequence": own.promises.consequence.name(),
                "needs_approval": own.approval.is_some(),
                "request_key": if own.key_template.is_some() { "made from the arguments" } else { "yours" },
                "input": contract.unwrap_or_else(|| json!({})),
            }));
        }
        if destination.any_operation.is_some() {
            known.push(json!({"destination": name, "operation": "*", "input": {}}));
        }
    }
    let text = match known.as_slice() {
        [] => "No destination is configured.".to_owned(),
        known => known
            .iter()
            .map(Value::to_string)
            .collect::<Vec<_>>()
            .join("\n"),
    };
    Told {
        text,
        is_error: false,
        structured: json!({ "operations": known }),
    }
}
