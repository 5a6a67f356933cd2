//! The engine as an MCP server: tools, resources and tasks over the same calls that HTTP has, in both eras of the protocol.
//!
//! What a request asks for is recorded before it is answered and carried out by the engine, never by the request: a client that goes away,
//! cancels or times out has stopped listening, and nothing else. Read [`tools`] first, then [`perform`]; [`words`] holds what models are
//! told. [`http`] is the one door; the command line carries its messages to it for hosts that speak over a pipe.

mod ask;
mod asked;
mod era;
pub mod gateway;
mod headers;
pub(crate) mod http;
mod listen;
mod looks;
mod people;
mod perform;
pub(crate) mod questions;
mod resources;
mod sessions;
mod tasks;
mod tools;
mod wire;
mod words;

use std::time::Duration;

use factum::Caller;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::app::{App, Shown};
use asked::{Asked, server_info};
use era::{Client, Era, MODERN, Meta, TASKS, negotiated, supported};
use listen::Listening;
use questions::Asking;
use wire::{METHOD_NOT_FOUND, Request, RpcError};

/// What a model is told about all of it.
const INSTRUCTIONS: &str = "Factum carries out actions in other people's systems and always knows what it can prove about each. Give every \
                            intended action one request_key and keep it for every repeat. A result that says pending or unknown is no \
                            failure: do not perform the action again, look it up with get_action. Say to the user only what `say` allows.";

/// What a request comes back with.
pub(crate) enum Answer {
    /// One result.
    Result(Value),
    /// Notifications, until it ends.
    Stream(Box<Listening>),
    /// A question to a person, and then the result.
    Asking(Box<Asking>),
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Initialize {
    protocol_version: String,
}

/// Answers one request.
pub(crate) async fn answer(
    app: &App,
    caller: &Caller,
    client: Client,
    shown: &Shown,
    request: &Request,
) -> Result<Answer, RpcError> {
    let asked = Asked {
        app,
        caller,
        client,
        meta: Meta::of(&request.params)?,
        params: &request.params,
    };
    let result = match (client.era, request.method.as_str()) {
        (Era::Legacy, "initialize") => initialized(&asked.read::<Initialize>()?),
        (Era::Legacy, "ping") => json!({}),
        (Era::Modern, "server/discover") => discovered(&asked),
        (Era::Modern, "subscriptions/listen") => {
            let listening = Listening::new(&asked, &request.id, shown).await?;
            return Ok(Answer::Stream(Box::new(listening)));
        }
        (Era::Modern, method @ ("tasks/get" | "tasks/update" | "tasks/cancel")) => {
            tasks::answer(&asked, method).await?
        }
        (_, "tools/list") => tools::list(&asked).await,
        (_, "tools/call") => {
            let result = tools::call(&asked).await?;
            if questions::asks(client, &result) {
                return Asking::answered(app, (caller, client, shown), request, result).await;
            }
            result
        }
        (_, "resources/list") => resources::list(&asked).await?,
        (_, "resources/templates/list") => resources::templates(&asked),
        (_, "resources/read") => resources::read(&asked).await?,
        (Era::Legacy, "server/discover") => {
            let why =
                format!("server/discover says its version in `_meta`; {MODERN} is spoken here");
            return Err(RpcError::params(why).with(json!({"supported": supported()})));
        }
        (_, method) => {
            return Err(RpcError::new(
                METHOD_NOT_FOUND,
                format!("no method is called {method:?} here"),
            ));
        }
    };
    Ok(Answer::Result(result))
}

fn initialized(asked: &Initialize) -> Value {
    json!({
        "protocolVersion": negotiated(&asked.protocol_version),
        "capabilities": {"tools": {}, "resources": {}},
        "serverInfo": server_info(),
        "instructions": INSTRUCTIONS,
    })
}

fn discovered(asked: &Asked<'_>) -> Value {
    let result = json!({
        "supportedVersions": supported(),
        "capabilities": {"tools": {}, "resources": {"subscribe": true}, "extensions": {TASKS: {}}},
        "instructions": INSTRUCTIONS,
    });
    asked.kept(result, Duration::from_secs(3_600))
}
