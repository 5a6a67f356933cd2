//! The tools for people's decisions: proposals and reviews. They are there only for a token that was made for that, and where the client
//! can ask a person, it is the person who decides: a model's confidence is never an input.

use factum::statements::{Audience, Reader};
use factum::{
    ActionId, Code, Decision, Filter, Person, Problem, ProposalFilter, ProposalId, ProposalState,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::ask::{self, Carried, QUESTION, Said};
use super::asked::{Asked, ToolCall, problem_of, rpc};
use super::wire::RpcError;
use super::words::{self, Told};
use crate::incoming::said;
use crate::review::ruling;

/// Rows at the most.
const LIMIT: usize = 50;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Verdict {
    id: String,
    verdict: Option<String>,
    why: Option<String>,
    receipt: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Deciding {
    id: String,
    digest: Option<String>,
    reason: Option<String>,
}

/// `list_review`: what waits for a person.
pub(crate) async fn review(asked: &Asked<'_>) -> Result<Told, Problem> {
    let filter = Filter {
        next: Some("review".to_owned()),
        limit: LIMIT,
        ..Filter::default()
    };
    let page = crate::actions::page(asked.app, asked.caller, filter)
        .await
        .map_err(problem_of)?;
    let view = |record| asked.app.factum().view(record, false, Audience::Operator);
    let items: Vec<_> = page.records.iter().map(view).collect();
    let lines = items.iter().map(|item| {
        format!(
            "{} {} at {}: {}",
            item.id, item.operation, item.destination, item.next.why
        )
    });
    let lines: Vec<String> = lines.collect();
    let text = if lines.is_empty() {
        "Nothing waits for a person.".to_owned()
    } else {
        lines.join("\n")
    };
    Ok(Told {
        text,
        is_error: false,
        structured: json!({ "items": items }),
    })
}

/// `give_verdict`.
pub(crate) async fn verdict(asked: &Asked<'_>, call: &ToolCall) -> Result<Value, RpcError> {
    let given: Verdict = match call.read() {
        Ok(given) => given,
        Err(problem) => return Ok(asked.told(words::of_question(&problem))),
    };
    let record = match asked.action(&given.id).await {
        Ok(record) => record,
        Err(problem) => return Ok(asked.told(words::of_question(&problem))),
    };
    if !asked.client.elicits {
        let form = json!({"verdict": given.verdict, "why": given.why, "receipt": given.receipt});
        return Ok(ruled(asked, record.id(), form.as_object().unwrap_or(&Map::new())).await);
    }
    let status = asked.view(&record, false);
    let Some(state) = &call.state else {
        let carried = Carried::new(asked, call, &given.id, &status.version.to_string());
        return Ok(ask::question(asked, &carried, ask::verdict_form(&status)));
    };
    let carried = Carried::opened(asked.app.factum().engine(), asked.caller, call, state)
        .map_err(|why| RpcError::params(format!("requestState does not count: {why}")))?;
    if carried.about != given.id {
        return Err(RpcError::params(
            "requestState does not count: it is about something else",
        ));
    }
    match ask::said(&call.answers, QUESTION) {
        // What was asked about has changed since: a second arrival of the same answer, or new evidence. It is told, and ruled on no more.
        Said::Content(_) if carried.digest != status.version.to_string() => Ok(asked.told(Told {
            is_error: false,
            ..words::of_status(&status)
        })),
        Said::Content(form) => Ok(ruled(asked, record.id(), &form).await),
        Said::Declined | Said::Nothing => {
            let text = format!(
                "The person gave no verdict; it stays as it is. Action {}.",
                given.id
            );
            let structured = words::of_status(&status).structured;
            Ok(asked.told(Told {
                text,
                is_error: false,
                structured,
            }))
        }
    }
}

async fn ruled(asked: &Asked<'_>, id: ActionId, form: &Map<String, Value>) -> Value {
    match rule(asked, id, form).await {
        Ok(told) => asked.told(told),
        Err(problem) => asked.told(words::of_question(&problem)),
    }
}

/// Records what a person found out.
pub(crate) async fn rule(
    asked: &Asked<'_>,
    id: ActionId,
    form: &Map<String, Value>,
) -> Result<Told, Problem> {
    let text = |name: &str| form.get(name).and_then(Value::as_str).map(str::to_owned);
    let word = text("verdict").unwrap_or_default();
    let receipt = text("receipt").filter(|text| !text.trim().is_empty());
    let ruling = ruling(&word, receipt).map_err(problem_of)?;
    let why = said("/why", text("why").unwrap_or_default(), 2_000).map_err(problem_of)?;
    let (factum, by) = (asked.app.factum().clone(), asked.caller.principal.clone());
    let change = async move {
        let person = Person { by: &by, who: &by };
        factum.engine().rule_by(id, ruling, person, &why).await
    };
    let ruled = asked.app.to_its_end(change).await.map_err(problem_of)?;
    let status = asked
        .app
        .factum()
        .view(ruled.record(), false, Audience::Operator);
    let told = words::of_status(&status);
    let text = match &ruled {
        factum::Ruled::Recorded(_) => format!("Recorded. {}", told.text),
        factum::Ruled::Proposed(..) => format!(
            "Recorded; a second person has to say the same. {}",
            told.text
        ),
    };
    Ok(Told {
        text,
        is_error: false,
        ..told
    })
}

/// `list_proposals`.
pub(crate) async fn proposals(asked: &Asked<'_>) -> Result<Told, Problem> {
    let filter = ProposalFilter {
        state: Some(ProposalState::Pending),
        limit: LIMIT,
        ..ProposalFilter::default()
    };
    let found = asked
        .app
        .factum()
        .proposals(asked.caller, filter, Reader::default())
        .await?;
    let lines = found.iter().map(|one| {
        format!(
            "{} {} at {} for {}, digest {}",
            one.id, one.operation, one.destination, one.on_behalf_of, one.digest
        )
    });
    let lines: Vec<String> = lines.collect();
    let text = if lines.is_empty() {
        "No proposal waits.".to_owned()
    } else {
        lines.join("\n")
    };
    Ok(Told {
        text,
        is_error: false,
        structured: json!({ "proposals": found }),
    })
}

/// `approve_proposal`.
pub(crate) async fn approve(asked: &Asked<'_>, call: &ToolCall) -> Result<Value, RpcError> {
    let given: Deciding = match call.read() {
        Ok(given) => given,
        Err(problem) => return Ok(asked.told(words::of_question(&problem))),
    };
    let id = proposal_id(&given.id)?;
    let found = asked
        .app
        .factum()
        .proposal(asked.caller, id, Reader::default())
        .await;
    let detail = found.map_err(|problem| rpc(&problem))?;
    let (digest, reason) = match (asked.client.elicits, &call.state) {
        (false, _) => (given.digest.unwrap_or_default(), given.reason),
        (true, None) => {
            let carried = Carried::new(asked, call, &given.id, &detail.proposal.digest);
            return Ok(ask::question(asked, &carried, ask::approval_form(&detail)));
        }
        (true, Some(state)) => {
            let carried = Carried::opened(asked.app.factum().engine(), asked.caller, call, state)
                .map_err(|why| {
                RpcError::params(format!("requestState does not count: {why}"))
            })?;
            match ask::said(&call.answers, QUESTION) {
                Said::Content(form) if form.get("approve") == Some(&Value::Bool(true)) => (
                    carried.digest,
                    form.get("reason")
                        .and_then(Value::as_str)
                        .map(str::to_owned),
                ),
                Said::Content(_) | Said::Declined | Said::Nothing => {
                    let text = format!(
                        "The person did not approve it. Proposal {} stays as it is.",
                        given.id
                    );
                    let structured = json!({"outcome": "waits_for_approval", "id": given.id});
                    return Ok(asked.told(Told {
                        text,
                        is_error: false,
                        structured,
                    }));
                }
            }
        }
    };
    let (factum, caller) = (asked.app.factum().clone(), asked.caller.clone());
    let change = async move {
        let decision = Decision {
            digest: &digest,
            why: reason.as_deref(),
            until: None,
        };
        factum
            .approve(&caller, id, decision, Reader::default())
            .await
    };
    Ok(asked.told(match asked.app.to_its_end(change).await {
        Ok(answer) => match &answer.action {
            Some(status) => words::of_status(status),
            None => Told {
                text: format!("Approved; more people have to approve proposal {}.", given.id),
                is_error: false,
                structured: json!({"outcome": "waits_for_approval", "id": given.id, "proposal": answer.proposal.proposal}),
            },
        },
        Err(failure) => words::of_question(&problem_of(failure)),
    }))
}

/// `decline_proposal`.
pub(crate) async fn decline(asked: &Asked<'_>, call: &ToolCall) -> Result<Told, Problem> {
    let given: Deciding = call.read()?;
    let id = given.id.parse().map_err(|error: factum::core::id::BadId| {
        Problem::new(
            Code::UnknownProposal,
            "/id",
            error.to_string(),
            "use an id of list_proposals",
        )
    })?;
    let why = said("/reason", given.reason.unwrap_or_default(), 2_000).map_err(problem_of)?;
    let (factum, caller) = (asked.app.factum().clone(), asked.caller.clone());
    let change = async move { factum.decline(&caller, id, &why, Reader::default()).await };
    let answer = asked.app.to_its_end(change).await.map_err(problem_of)?;
    let view = answer.proposal.proposal;
    let text = format!("Declined: nothing of proposal {} is ever sent.", view.id);
    Ok(Told {
        text,
        is_error: false,
        structured: json!({"outcome": "not_done", "proposal": view}),
    })
}

fn proposal_id(text: &str) -> Result<ProposalId, RpcError> {
    text.parse()
        .map_err(|error: factum::core::id::BadId| RpcError::params(error.to_string()))
}
