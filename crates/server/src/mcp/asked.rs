//! One request that may be answered: who asks, what their client can do, and what every answer of its era carries.

use std::time::Duration;

use factum::config::McpConfig;
use factum::statements::Reader;
use factum::view::StatusView;
use factum::{ActionId, Caller, Code, Problem, Record};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::era::{Client, Era, Meta};
use super::wire::{INTERNAL_ERROR, RpcError};
use super::words::Told;
use super::{gateway, words};
use crate::app::App;
use crate::reply::Failure;

/// Our own key in `_meta`: the same as the argument `request_key`, for hosts that keep it from the model.
pub(crate) const META_KEY: &str = "dev.factum/requestKey";
/// What hosts call a tool call by: a hint that tells a repeat on the way, and no more. A model that tries again has another one.
const CALL_IDS: [&str; 2] = ["claudecode/toolUseId", "dev.factum/toolCallId"];

/// A request and its asker.
pub(crate) struct Asked<'a> {
    pub(crate) app: &'a App,
    pub(crate) caller: &'a Caller,
    pub(crate) client: Client,
    pub(crate) meta: Meta,
    pub(crate) params: &'a str,
}

/// The members of `tools/call`.
#[derive(Deserialize)]
pub(crate) struct ToolCall {
    pub(crate) name: String,
    arguments: Option<Box<RawValue>>,
    /// What people answered, by the names of our questions.
    #[serde(default, rename = "inputResponses")]
    pub(crate) answers: Map<String, Value>,
    /// What a question carried to its answer.
    #[serde(rename = "requestState")]
    pub(crate) state: Option<String>,
}

impl ToolCall {
    /// The arguments as they were written.
    pub(crate) fn arguments(&self) -> &str {
        self.arguments.as_ref().map_or("{}", |raw| raw.get())
    }

    /// The arguments, read as what the tool takes.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        factum::read_object(self.arguments(), &[])
    }
}

impl Asked<'_> {
    /// The members, read as what the method takes.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, RpcError> {
        serde_json::from_str(self.params).map_err(|error| RpcError::params(error.to_string()))
    }

    pub(crate) fn config(&self) -> &McpConfig {
        &self.app.factum().config().mcp
    }

    /// How long a call waits: as long as it asks for, within what clients put up with.
    pub(crate) fn wait(&self, asked: Option<u64>) -> Duration {
        let asked = asked.map_or(self.config().wait.duration(), Duration::from_secs);
        asked.min(McpConfig::wait_max())
    }

    /// Whether a person at the client's side may approve: by a token that was made for it, or because their host has started this gateway.
    pub(crate) fn person_may_approve(&self) -> bool {
        self.app.gateway().is_some() || super::tools::may_approve(self.caller)
    }

    /// By what the host calls this very call.
    pub(crate) fn call_id(&self) -> Option<&str> {
        CALL_IDS.iter().find_map(|name| self.meta.text(name))
    }

    /// An action that the caller may see.
    pub(crate) async fn action(&self, id: &str) -> Result<Record, Problem> {
        let id: ActionId = id.parse().map_err(|error: factum::core::id::BadId| {
            let remedy = "use an id as a tool answered it, or list_recent_actions";
            Problem::new(Code::UnknownAction, "/id", error.to_string(), remedy)
        })?;
        self.app.factum().engine().load_for(self.caller, id).await
    }

    /// How a record is told to whoever asks.
    pub(crate) fn view(&self, record: &Record, joined: bool) -> StatusView {
        self.app.factum().view(record, joined, Reader::default())
    }

    /// Notes what is handed out for a conversation.
    pub(crate) async fn handed_out(&self, status: &StatusView) {
        self.app
            .factum()
            .handed_out(&self.caller.tenant, status)
            .await;
    }

    /// Whether the client follows the older rules.
    pub(crate) fn is_legacy(&self) -> bool {
        self.client.era == Era::Legacy
    }

    /// How an action is told as a tool's result.
    pub(crate) async fn rendered(&self, status: &StatusView) -> Value {
        let behind = self
            .app
            .gateway()
            .and_then(|gateway| gateway.server(&status.destination));
        match behind {
            Some(_) => gateway::calls::result(self, status).await,
            None => tool_result(words::of_status(status)),
        }
    }

    /// A result with what its era wants beside it.
    pub(crate) fn finished(&self, mut result: Value) -> Value {
        if self.client.era == Era::Legacy {
            return result;
        }
        if result.get("resultType").is_none() {
            result["resultType"] = "complete".into();
        }
        result["_meta"]["io.modelcontextprotocol/serverInfo"] = server_info();
        result
    }

    /// The same for what a client may keep: what we answer is its caller's alone.
    pub(crate) fn kept(&self, mut result: Value, ttl: Duration) -> Value {
        if self.client.era == Era::Modern {
            result["ttlMs"] = u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX).into();
            result["cacheScope"] = "private".into();
        }
        self.finished(result)
    }

    /// A tool's answer.
    pub(crate) fn told(&self, told: Told) -> Value {
        self.finished(tool_result(told))
    }
}

/// A tool's answer as both eras have it.
pub(crate) fn tool_result(told: Told) -> Value {
    json!({
        "content": [{"type": "text", "text": told.text}],
        "structuredContent": told.structured,
        "isError": told.is_error,
    })
}

/// Who answers.
pub(crate) fn server_info() -> Value {
    json!({"name": "factum", "title": "Factum", "version": env!("CARGO_PKG_VERSION")})
}

/// The problem behind a failure of the API.
pub(crate) fn problem_of(failure: Failure) -> Problem {
    match failure {
        Failure::Problem(problem)
        | Failure::WrongMethod(problem, _)
        | Failure::HeldOff(problem, _) => *problem,
    }
}

/// A problem where a method has no result that could carry it.
pub(crate) fn rpc(problem: &Problem) -> RpcError {
    let code = if problem.code.status() >= 500 {
        INTERNAL_ERROR
    } else {
        super::wire::INVALID_PARAMS
    };
    RpcError::new(code, format!("{}: {}", problem.rule, problem.remedy))
        .with(factum::problem_json(problem))
}
