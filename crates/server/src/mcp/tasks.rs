//! The tasks extension, answered from our own store: a task is an action. Nothing times out and nothing is aborted; unknown is `working`
//! as long as it is being found out, and never `failed`.

use factum::view::StatusView;
use factum::{ActionId, Record};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::ask;
use super::asked::{Asked, rpc};
use super::era::TASKS;
use super::people;
use super::wire::{MISSING_CAPABILITY, RpcError};

/// How often it is worth asking, in milliseconds.
const POLL_MS: u64 = 5_000;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Named {
    task_id: String,
    #[serde(default, rename = "inputResponses")]
    answers: Map<String, Value>,
}

/// The answer to a tool call whose action does not rest yet. The action is durable, so the task is.
pub(crate) fn created(status: &StatusView) -> Value {
    let mut task = seed(status, "working");
    task["resultType"] = "task".into();
    task
}

/// How a task stands, as `tasks/get` and notifications tell it.
pub(crate) async fn detail(asked: &Asked<'_>, record: &Record) -> Value {
    let status = asked.view(record, false);
    let asks = status.next.step == "review"
        && status.closed.is_none()
        && asked.client.elicits
        && super::tools::may_review(asked.caller);
    if asks {
        let mut task = seed(&status, "input_required");
        let form = json!({"method": "elicitation/create", "params": ask::verdict_form(&status)});
        task["inputRequests"] = json!({question_name(&status): form});
        return task;
    }
    if !status.rests() {
        return seed(&status, "working");
    }
    if status.state == "cancelled" {
        return seed(&status, "cancelled");
    }
    let mut task = seed(&status, "completed");
    task["result"] = asked.rendered(&status).await;
    task
}

/// Every question has a name of its own: an answer that comes late is an answer to an older one.
fn question_name(status: &StatusView) -> String {
    format!("verdict-{}", status.version)
}

fn seed(status: &StatusView, word: &str) -> Value {
    json!({
        "taskId": status.id,
        "status": word,
        "statusMessage": status.statement.say,
        "createdAt": status.created_at,
        "lastUpdatedAt": status.created_at,
        "ttlMs": null,
        "pollIntervalMs": POLL_MS,
    })
}

/// `tasks/get`, `tasks/update`, `tasks/cancel`.
pub(crate) async fn answer(asked: &Asked<'_>, method: &str) -> Result<Value, RpcError> {
    if !asked.client.tasks {
        let error = RpcError::new(
            MISSING_CAPABILITY,
            "the client did not declare the tasks extension",
        );
        return Err(error.with(json!({"requiredCapabilities": {"extensions": {TASKS: {}}}})));
    }
    let named: Named = asked.read()?;
    let record = asked
        .action(&named.task_id)
        .await
        .map_err(|problem| rpc(&problem))?;
    match method {
        "tasks/get" => Ok(asked.finished(dated(detail(asked, &record).await, &record))),
        "tasks/update" => {
            let status = asked.view(&record, false);
            if let ask::Said::Content(form) = ask::said(&named.answers, &question_name(&status))
                && super::tools::may_review(asked.caller)
            {
                people::rule(asked, record.id(), &form)
                    .await
                    .map_err(|problem| rpc(&problem))?;
            }
            Ok(asked.finished(json!({})))
        }
        _ => {
            cancel(asked, record.id()).await?;
            Ok(asked.finished(json!({})))
        }
    }
}

/// Stops sends. Something that may have been sent stays unknown, and the task goes on until that is found out.
async fn cancel(asked: &Asked<'_>, id: ActionId) -> Result<(), RpcError> {
    if !super::tools::may_submit(asked.caller) {
        return Err(RpcError::params(
            "the token does not allow that it is withdrawn",
        ));
    }
    let (factum, by) = (asked.app.factum().clone(), asked.caller.principal.clone());
    let change = async move { factum.cancel(id, &by, "its task was cancelled").await };
    let done = asked.app.to_its_end(change).await;
    done.map(|_| ())
        .map_err(|failure| rpc(&super::asked::problem_of(failure)))
}

/// With when the last word about it came.
fn dated(mut task: Value, record: &Record) -> Value {
    if let Some(at) = record.known.last_at() {
        task["lastUpdatedAt"] = factum::view::rfc3339(at).into();
    }
    task
}
