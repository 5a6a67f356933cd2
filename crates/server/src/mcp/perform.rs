//! The tools that do something: `perform_action`, and one for each operation where the operator turns that on.
//!
//! The action is recorded first and carried out by the engine; what becomes of the request, whether its client waits, cancels, times out
//! or goes away, changes nothing about it. The answer comes early, from the record.

use std::time::Duration;

use factum::proposals::ProposalAnswer;
use factum::statements::Reader;
use factum::view::StatusView;
use factum::{
    ActionId, Ask, Code, ConversationRef, Decision, Listener, Problem, ProposalId, Submission,
};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::ask::{self, Carried, QUESTION, Said};
use super::asked::{Asked, META_KEY, ToolCall, problem_of};
use super::sessions::random_name;
use super::tasks;
use super::wire::RpcError;
use super::words::{self, Told};
use crate::reply::Failure;

/// The arguments of `perform_action`. A typed tool has the same, without the first two.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Wish {
    destination: String,
    operation: String,
    params: Option<Box<RawValue>>,
    payload: Option<Box<RawValue>>,
    request_key: Option<String>,
    another: Option<bool>,
    summary: Option<String>,
    conversation: Option<String>,
    #[serde(rename = "for")]
    on_behalf_of: Option<String>,
    wait_s: Option<u64>,
}

/// What became of recording it.
enum Recorded {
    /// It stands so.
    Stands(Box<StatusView>, Option<Listener>),
    /// A person has to approve it first.
    Proposed(Box<ProposalAnswer>),
    /// It does not stand at all.
    Not(Told),
}

/// Carries out `perform_action`; of a typed tool `named` says destination and operation.
pub(crate) async fn perform(
    asked: &Asked<'_>,
    call: &ToolCall,
    named: Option<(&str, &str)>,
) -> Result<Value, RpcError> {
    let mut wish: Wish = match call.read() {
        Ok(wish) => wish,
        Err(problem) => return Ok(asked.told(words::of_problem(&problem, None))),
    };
    if let Some((destination, operation)) = named {
        wish.destination = destination.to_owned();
        wish.operation = operation.to_owned();
    }
    let wait = asked.wait(wish.wait_s);
    if let Some(state) = &call.state {
        return decided(asked, call, state, wait).await;
    }
    let submission = match submission(asked, call, wish) {
        Ok(submission) => submission,
        Err(problem) => return Ok(asked.told(words::of_problem(&problem, None))),
    };
    carried_out(asked, call, submission, wait).await
}

/// Records a submission, and answers with what becomes of it within the wait.
pub(crate) async fn carried_out(
    asked: &Asked<'_>,
    call: &ToolCall,
    submission: Submission,
    wait: Duration,
) -> Result<Value, RpcError> {
    match record(asked, submission).await {
        Recorded::Stands(status, watch) => Ok(stands(asked, *status, watch, wait).await),
        Recorded::Proposed(proposed) => Ok(ask_for(asked, call, &proposed)),
        Recorded::Not(told) => Ok(asked.told(told)),
    }
}

fn submission(asked: &Asked<'_>, call: &ToolCall, wish: Wish) -> Result<Submission, Problem> {
    let engine = asked.app.factum().engine();
    let destination = engine.destination(&asked.caller.tenant, &wish.destination);
    let operation = destination.and_then(|found| found.operation(&wish.operation));
    let key = match operation.and_then(|known| known.key_template.as_ref()) {
        // The operator has said what names the intent.
        Some(_) => None,
        None => Some(key_of(asked, call, wish.request_key)?),
    };
    Ok(Submission {
        destination: wish.destination,
        operation: wish.operation,
        key,
        another: wish.another,
        guard: asked.config().guard(),
        params: wish.params,
        payload: wish.payload,
        summary: wish.summary,
        on_behalf_of: wish.on_behalf_of,
        conversation: wish.conversation.map(|id| ConversationRef {
            id,
            turn: None,
            asked: None,
        }),
        ..Submission::default()
    })
}

/// What names the intent: the caller's key; else what the host calls this very call, which tells a repeat on the way but not a model that
/// tries again; else a name of our own, and then only the twin guard tells one.
pub(crate) fn key_of(
    asked: &Asked<'_>,
    call: &ToolCall,
    given: Option<String>,
) -> Result<String, Problem> {
    let hidden = asked.meta.text(META_KEY).map(str::to_owned);
    if let Some(key) = given.or(hidden) {
        return Ok(key);
    }
    if let Some(id) = asked.call_id() {
        return Ok(format!("call/{}/{id}", call.name));
    }
    let random = random_name().map_err(|error| {
        let rule = format!("the operating system gives no random bytes: {error}");
        Problem::new(
            Code::Internal,
            "",
            rule,
            "name the intent yourself, by request_key",
        )
    })?;
    Ok(format!("mcp/{random}"))
}

/// Records it, to the end even if the client goes away, or asks for the approval that it needs.
async fn record(asked: &Asked<'_>, submission: Submission) -> Recorded {
    let (factum, caller) = (asked.app.factum().clone(), asked.caller.clone());
    let reader = Reader::default();
    let key = submission.key.clone();
    let change = async move {
        let again = submission.clone();
        match factum.submit_watched(submission, &caller, reader).await {
            Ok((submitted, watch)) => Ok(Recorded::Stands(Box::new(submitted.status), watch)),
            Err(problem) if problem.code == Code::ApprovalRequired => {
                let proposed = factum
                    .propose_for(again, &caller, Ask::default(), reader)
                    .await?;
                Ok(Recorded::Proposed(Box::new(proposed)))
            }
            Err(problem) => Err(problem),
        }
    };
    match asked.app.to_its_end(change).await {
        Ok(recorded) => recorded,
        Err(failure) => Recorded::Not(refused(asked, failure, key.as_deref()).await),
    }
}

async fn refused(asked: &Asked<'_>, failure: Failure, key: Option<&str>) -> Told {
    let reader = Reader::default();
    match crate::actions::with_earlier(asked.app, asked.caller, reader, failure).await {
        Failure::HeldOff(problem, earlier) => words::of_twin(&problem, &earlier),
        other => words::of_problem(&problem_of(other), key),
    }
}

/// The answer, once it is settled or a person is needed, or as it stands after the wait.
async fn stands(
    asked: &Asked<'_>,
    mut status: StatusView,
    watch: Option<Listener>,
    wait: Duration,
) -> Value {
    let joined = status.joined;
    if !status.rests()
        && let Ok(id) = status.id.parse::<ActionId>()
    {
        let record = match watch {
            Some(watch) if !wait.is_zero() => asked.app.comes_to_rest(watch, wait).await,
            Some(_) | None => asked.app.at_rest(id, wait).await,
        };
        // What is recorded is never answered with an error: if it cannot be read now, it is answered as it was recorded.
        match record {
            Ok(record) => status = asked.view(&record, joined),
            Err(problem) => {
                tracing::warn!(%problem, "the status cannot be read while a tool call waits")
            }
        }
    }
    asked.handed_out(&status).await;
    if asked.client.tasks && !status.rests() {
        return asked.finished(tasks::created(&status));
    }
    asked.finished(asked.rendered(&status).await)
}

/// Asks the person at the client's side, where the caller may approve; else says who has to.
fn ask_for(asked: &Asked<'_>, call: &ToolCall, proposed: &ProposalAnswer) -> Value {
    let view = &proposed.proposal.proposal;
    if let Some(action) = &proposed.action {
        return asked.told(words::of_status(action));
    }
    if asked.client.elicits && asked.person_may_approve() {
        let carried = Carried::new(asked, call, &view.id, &view.digest);
        return ask::question(asked, &carried, ask::approval_form(&proposed.proposal));
    }
    asked.told(waits(proposed))
}

fn waits(proposed: &ProposalAnswer) -> Told {
    let view = &proposed.proposal.proposal;
    let text = match view.state {
        "pending" => format!(
            "Not sent: a person has to approve it first. Do not call this tool again for the same request. It is proposal {}, and may be \
             decided on until {}. Do not say that it is done. You may say: {}",
            view.id, view.expires_at, view.statement.say
        ),
        state => format!(
            "Not sent: proposal {} is {state}. You may say: {}",
            view.id, view.statement.say
        ),
    };
    let structured = json!({
        "outcome": "waits_for_approval",
        "id": view.id,
        "request_key": view.key,
        "happened": "not_yet",
        "safe_to_call_again": false,
        "say": view.statement.say,
        "never_say": view.statement.never_say,
        "proposal": view,
    });
    Told {
        text,
        // Declined, superseded or expired: nothing of it is ever sent.
        is_error: !matches!(view.state, "pending" | "approved"),
        structured,
    }
}

/// A person has answered. What is approved is what they were shown: the proposal's digest came with the question.
pub(crate) async fn decided(
    asked: &Asked<'_>,
    call: &ToolCall,
    state: &str,
    wait: Duration,
) -> Result<Value, RpcError> {
    let engine = asked.app.factum().engine();
    let carried = Carried::opened(engine, asked.caller, call, state)
        .map_err(|why| RpcError::params(format!("requestState does not count: {why}")))?;
    let id: ProposalId = (carried.about.parse())
        .map_err(|_| RpcError::params("requestState does not count: it is about no proposal"))?;
    if !asked.person_may_approve() {
        return Err(RpcError::params(
            "the token does not allow an approval any more",
        ));
    }
    let (factum, caller, reader) = (
        asked.app.factum().clone(),
        asked.caller.clone(),
        Reader::default(),
    );
    let digest = carried.digest.clone();
    let said = ask::said(&call.answers, QUESTION);
    let change = async move {
        match said {
            Said::Content(form) if form.get("approve") == Some(&Value::Bool(true)) => {
                let why = form.get("reason").and_then(Value::as_str);
                let decision = Decision {
                    digest: &digest,
                    why,
                    until: None,
                };
                factum
                    .approve(&caller, id, decision, reader)
                    .await
                    .map(Some)
            }
            Said::Content(_) | Said::Declined => {
                let why = "the person who was asked does not want it";
                factum.decline(&caller, id, why, reader).await.map(Some)
            }
            Said::Nothing => Ok(None),
        }
    };
    match asked.app.to_its_end(change).await {
        Ok(Some(ProposalAnswer {
            action: Some(status),
            ..
        })) => Ok(stands(asked, status, None, wait).await),
        Ok(Some(proposed)) => Ok(asked.told(waits(&proposed))),
        Ok(None) => ask_again(asked, carried, id).await,
        Err(failure) => Ok(asked.told(words::of_problem(&problem_of(failure), None))),
    }
}

/// The question was closed without an answer: in the newer era it is asked again, and whoever does not answer it leaves the proposal as it is.
async fn ask_again(asked: &Asked<'_>, carried: Carried, id: ProposalId) -> Result<Value, RpcError> {
    let found = asked
        .app
        .factum()
        .proposal(asked.caller, id, Reader::default())
        .await;
    let detail = found.map_err(|problem| super::asked::rpc(&problem))?;
    let pending = detail.proposal.state == "pending";
    let proposed = ProposalAnswer {
        proposal: detail,
        action: None,
        created: false,
    };
    if pending && asked.client.elicits && !asked.is_legacy() {
        return Ok(ask::question(
            asked,
            &carried,
            ask::approval_form(&proposed.proposal),
        ));
    }
    Ok(asked.told(waits(&proposed)))
}
