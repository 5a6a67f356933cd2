//! `factum testbed mcp`: an MCP server whose tool makes effects at a testbed, and misbehaves on request. What really happened stands in the
//! testbed's ledger. It speaks the older era of the protocol over a pipe, one message at a time for each call.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;

use crate::client::{Call, Client, with_query};
use crate::exit;
use crate::failure::Failure;

/// The ways in which its tool can behave, beside doing what it is asked for.
const BEHAVIOURS: [&str; 12] = [
    "done",
    "die_before",
    "die_after",
    "error_after",
    "twice",
    "ask",
    "garbage",
    "both",
    "silent",
    "long",
    "endless",
    "slow",
];

/// How long a `long` result is, in bytes: longer than a gateway keeps, and short enough to be read.
const LONG: usize = 2 * 1024 * 1024;
/// How long the message of `endless` is, in bytes: longer than anybody reads.
const ENDLESS: usize = 20 * 1024 * 1024;

/// How long `slow` takes.
const SLOW: Duration = Duration::from_secs(2);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where the testbed's destinations listen
    #[arg(value_name = "URL")]
    base: String,
}

/// The server.
struct Server {
    bed: Client,
    output: Mutex<tokio::io::Stdout>,
}

/// Serves until its input ends.
pub(crate) async fn run(args: &Args) -> Result<ExitCode, Failure> {
    let server = Arc::new(Server {
        bed: Client::new(&args.base, "none".to_owned())?,
        output: Mutex::new(tokio::io::stdout()),
    });
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let Ok(message) = serde_json::from_str::<Value>(&line) else {
            continue;
        };
        let server = server.clone();
        tokio::spawn(async move { server.answer(message).await });
    }
    Ok(exit::code(exit::OK))
}

impl Server {
    async fn answer(&self, message: Value) {
        let (id, params) = (&message["id"], &message["params"]);
        if id.is_null() {
            return;
        }
        let outcome = match message["method"].as_str() {
            Some("initialize") => Ok(json!({
                "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "testbed", "version": env!("CARGO_PKG_VERSION")},
            })),
            Some("tools/list") => Ok(json!({"tools": tools()})),
            Some("tools/call") if params["name"] == "find" => self.find(&params["arguments"]).await,
            Some("tools/call") if params["name"] == "variables" => Ok(variables()),
            Some("tools/call") if is(params, "silent") || is(params, "both") => {
                self.answer_badly(&message).await;
                return;
            }
            Some("tools/call") => self.make(&params["arguments"]).await,
            _ => Err(json!({"code": -32_601, "message": "no such method"})),
        };
        self.write(&match outcome {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": error}),
        })
        .await;
    }

    /// Makes an effect, and answers with nothing, or with what is no response.
    async fn answer_badly(&self, message: &Value) {
        let arguments = &message["params"]["arguments"];
        let made = self.act(arguments).await;
        if is(&message["params"], "both") {
            let both = json!({"jsonrpc": "2.0", "id": message["id"], "result": made.ok(), "error": {"code": 1, "message": "no"}});
            self.write(&both).await;
        }
    }

    /// Makes an effect, and behaves as the call says.
    async fn make(&self, arguments: &Value) -> Result<Value, Value> {
        let behave = arguments["behave"].as_str().unwrap_or("done");
        if behave == "die_before" {
            std::process::exit(1);
        }
        let id = self.act(arguments).await?;
        match behave {
            "die_after" => std::process::exit(1),
            "error_after" => Ok(
                json!({"content": [{"type": "text", "text": "something broke"}], "isError": true}),
            ),
            "twice" => {
                self.act(arguments).await?;
                Ok(made(&id))
            }
            "ask" => {
                self.write(&json!({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": {"message": "sure?"}}))
                    .await;
                Ok(json!({"resultType": "input_required", "inputRequests": {}}))
            }
            "garbage" => {
                self.write_line("this is no message").await;
                Ok(json!({"content": "nobody's"}))
            }
            "long" => Ok(
                json!({"content": [{"type": "text", "text": "x".repeat(LONG)}], "structuredContent": {"id": id}}),
            ),
            "endless" => Ok(json!({"content": [{"type": "text", "text": "x".repeat(ENDLESS)}]})),
            "slow" => {
                tokio::time::sleep(SLOW).await;
                Ok(made(&id))
            }
            _ => Ok(made(&id)),
        }
    }

    async fn act(&self, arguments: &Value) -> Result<String, Value> {
        let note = arguments["note"].as_str().unwrap_or_default();
        let mark = note
            .split_whitespace()
            .find(|word| word.starts_with("factum:"));
        let body = json!({"business": arguments["business"], "reference": mark.unwrap_or("none")});
        let made = self
            .bed
            .json(Call::post("/lookup/sync/effects", body.to_string()))
            .await;
        let made = made.map_err(|failure| json!({"code": -32_603, "message": failure.text()}))?;
        Ok(made["id"].as_str().unwrap_or_default().to_owned())
    }

    async fn find(&self, arguments: &Value) -> Result<Value, Value> {
        let reference = arguments["reference"].as_str().map(str::to_owned);
        let path = with_query(
            "/lookup/sync/effects",
            &[("reference", reference), ("limit", Some("50".to_owned()))],
        );
        let found = self.bed.json(Call::get(path)).await;
        let found = found.map_err(|failure| json!({"code": -32_603, "message": failure.text()}))?;
        Ok(json!({"content": [{"type": "text", "text": found.to_string()}]}))
    }

    async fn write(&self, message: &Value) {
        self.write_line(&message.to_string()).await;
    }

    async fn write_line(&self, line: &str) {
        let mut output = self.output.lock().await;
        // A client that went away has no use for it.
        let _ = output.write_all(format!("{line}\n").as_bytes()).await;
        let _ = output.flush().await;
    }
}

fn is(params: &Value, behave: &str) -> bool {
    params["name"] == "make" && params["arguments"]["behave"] == behave
}

/// The names of what this process was told by variables.
fn variables() -> Value {
    let names = std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned());
    let names: Vec<String> = names.collect();
    json!({"content": [{"type": "text", "text": names.join("\n")}]})
}

fn made(id: &str) -> Value {
    let text = json!({"id": id}).to_string();
    json!({"content": [{"type": "text", "text": text}], "structuredContent": {"id": id}})
}

fn tools() -> Value {
    json!([
        {
            "name": "make", "description": "Makes an effect at the testbed.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "business": {"type": "string"}, "note": {"type": "string"},
                    "behave": {"type": "string", "enum": BEHAVIOURS},
                },
                "required": ["business"],
            },
            "outputSchema": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
        },
        {
            "name": "find", "description": "Finds effects by their reference.",
            "inputSchema": {"type": "object", "properties": {"reference": {"type": "string"}}, "required": ["reference"]},
            "annotations": {"readOnlyHint": true},
        },
        {
            "name": "variables", "description": "Names the variables that it was started with.",
            "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true},
        },
    ])
}
