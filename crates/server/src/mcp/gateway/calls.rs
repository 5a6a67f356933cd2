//! Calls through the gateway: a read is passed on, everything else is an action whose answer comes from its record.

use factum::core::evidence::AnswerClass;
use factum::core::{Fact, Span};
use factum::upstream::Unasked;
use factum::view::StatusView;
use factum::{ActionId, Code, Problem, Submission};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::Server;
use super::config::Mode;
use super::tools::own_name;
use crate::mcp::asked::{Asked, META_KEY, ToolCall, tool_result};
use crate::mcp::perform::{self, key_of};
use crate::mcp::wire::RpcError;
use crate::mcp::words::{self, Told};

/// A read that is passed on has this long.
const READ: Span = Span::from_secs(60);

/// Our own members beside a tool's.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Beside {
    request_key: Option<String>,
    another: Option<bool>,
}

/// Carries out a tool of a server behind the gateway.
pub(crate) async fn call(
    asked: &Asked<'_>,
    call: &ToolCall,
    (destination, server, name): (&str, &Server, &str),
) -> Result<Value, RpcError> {
    let listed = server.tools();
    let tool = listed
        .iter()
        .find(|tool| tool["name"] == *name)
        .cloned()
        .unwrap_or_default();
    match server.config.mode(name, &tool) {
        Mode::Read => read(asked, server, name, call).await,
        Mode::Block => Err(RpcError::params(format!(
            "the operator has blocked the tool {name:?}"
        ))),
        Mode::Action if !crate::mcp::tools::may_submit(asked.caller) => Err(RpcError::params(
            format!("the token does not allow the tool {name:?}, which does something"),
        )),
        Mode::Action if call.state.is_some() => {
            let state = call.state.as_deref().unwrap_or_default();
            perform::decided(asked, call, state, asked.wait(None)).await
        }
        Mode::Action => match submission(asked, call, (destination, server, name), &tool) {
            Ok(submission) => perform::carried_out(asked, call, submission, asked.wait(None)).await,
            Err(problem) => Ok(asked.told(words::of_problem(&problem, None))),
        },
    }
}

/// Passes a read on, as it is.
async fn read(
    asked: &Asked<'_>,
    server: &Server,
    name: &str,
    call: &ToolCall,
) -> Result<Value, RpcError> {
    let arguments: Value = serde_json::from_str(call.arguments())
        .map_err(|error| RpcError::params(error.to_string()))?;
    let params = json!({"name": name, "arguments": arguments});
    match server.upstream.ask("tools/call", params, READ).await {
        Ok(Value::Object(mut result)) => {
            // Which era a result is in is between each two that speak with each other.
            result.remove("resultType");
            Ok(asked.finished(Value::Object(result)))
        }
        Ok(_) => Err(RpcError::new(
            crate::mcp::wire::INTERNAL_ERROR,
            "the server's result is none",
        )),
        Err(Unasked(why)) => Ok(asked.told(Told {
            text: format!("The read failed: {why}. It changes nothing, and may be made again."),
            is_error: true,
            structured: json!({"outcome": "refused"}),
        })),
    }
}

/// The arguments are the content; our own members are none of it.
fn submission(
    asked: &Asked<'_>,
    call: &ToolCall,
    (destination, server, name): (&str, &Server, &str),
    tool: &Value,
) -> Result<Submission, Problem> {
    let mut arguments: Map<String, Value> = call.read()?;
    let mut beside = Map::new();
    for own in ["request_key", "another"] {
        if let Some(value) = arguments.remove(&own_name(tool, own)) {
            beside.insert(own.to_owned(), value);
        }
    }
    let beside: Beside = factum::read_object(&Value::Object(beside).to_string(), &[])?;
    let own = server.config.tool(name);
    let key = match own.key {
        Some(_) => None,
        None if own.require_key
            && beside.request_key.is_none()
            && asked.meta.text(META_KEY).is_none() =>
        {
            let rule = "the operator wants every call of this tool to name its intent";
            let remedy =
                "send request_key: the same for every repeat, another one only for a second effect";
            return Err(Problem::new(
                Code::MissingIdentity,
                "/request_key",
                rule,
                remedy,
            ));
        }
        None => Some(key_of(asked, call, beside.request_key)?),
    };
    let text = Value::Object(arguments).to_string();
    let payload = RawValue::from_string(text).map_err(|error| {
        Problem::new(
            Code::MalformedJson,
            "/arguments",
            error.to_string(),
            "send JSON",
        )
    })?;
    Ok(Submission {
        destination: destination.to_owned(),
        operation: name.to_owned(),
        key,
        another: beside.another,
        guard: asked.config().guard(),
        payload: Some(payload),
        ..Submission::default()
    })
}

/// How an action through the gateway is told: the tool's own result where that is what showed it done, the same at every repeat; else our
/// words, with what the tool answered behind them as long as nothing is known.
pub(crate) async fn result(asked: &Asked<'_>, status: &StatusView) -> Value {
    let told = words::of_status(status);
    let answers = answers(asked, status).await;
    let done = |means: &AnswerClass| *means == AnswerClass::Done;
    if status.state == "succeeded" {
        let own = answers.into_iter().find(|(means, _)| done(means));
        return match own {
            Some((_, Value::Object(own))) => replayed(asked, own, told),
            // A lookup, or a person, has shown it; whatever the tool answered says nothing about that.
            Some(_) | None => tool_result(told),
        };
    }
    let mut result = tool_result(told);
    let said = answers
        .iter()
        .find_map(|(_, said)| said["content"].as_array());
    if let (Some(items), Some(content)) = (said, result["content"].as_array_mut()) {
        content.push(json!({"type": "text", "text": "What the tool itself answered:"}));
        content.extend(items.iter().cloned());
    }
    result
}

fn replayed(asked: &Asked<'_>, mut own: Map<String, Value>, told: Told) -> Value {
    own.remove("resultType");
    // An older client takes an object for structured content, or none (B125).
    let structured = own.get("structuredContent");
    if asked.is_legacy() && structured.is_some_and(|content| !content.is_object()) {
        own.remove("structuredContent");
    }
    let mut about = told.structured;
    if let Some(about) = about.as_object_mut() {
        // The whole status is one question away, and a tool's result is read by a model.
        about.remove("action");
    }
    let mut result = Value::Object(own);
    result["_meta"]["dev.factum/action"] = about;
    result
}

/// The server's answers, newest first, and what each was taken to mean; none where their time is over.
async fn answers(asked: &Asked<'_>, status: &StatusView) -> Vec<(AnswerClass, Value)> {
    let Ok(id) = status.id.parse::<ActionId>() else {
        return Vec::new();
    };
    let evidence = asked.app.factum().engine().evidence(id).await;
    let evidence = evidence.unwrap_or_default();
    let answers = evidence.iter().rev().filter_map(|one| match &one.fact {
        Fact::Answered(answer) => {
            let said = serde_json::from_slice(&answer.capture.body).ok()?;
            Some((answer.class.clone(), said))
        }
        _ => None,
    });
    answers.collect()
}
