//! `factum work`: what a worker elsewhere does, from the terminal: claim, begin, heartbeat, report, give back. These talk to a server: a
//! claim is held by it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};

use crate::access::Access;
use crate::client::{Call, Client, encoded, with_query};
use crate::failure::Failure;
use crate::out::Out;
use crate::{exit, render, wait};

pub(crate) const HELP: &str = "\
A worker makes the call in its own code: it claims, begins, calls, and reports. No byte before `begin` has succeeded, and one call for each.\n\n\
Examples:\n  factum work claim --destination crm --wait 30s --json\n  factum work begin wrk_…\n  \
factum work report wrk_… done --receipt C-17\n  factum work report wrk_… unknown --why \"the connection was reset\"";

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Work {
    /// Take what waits for workers
    #[command(after_help = HELP)]
    Claim(ClaimArgs),
    /// Mark the attempt: the answer is the only permission to make the call
    #[command(after_help = HELP)]
    Begin(Named),
    /// Say that the work goes on
    #[command(after_help = HELP)]
    Heartbeat(Named),
    /// Say what became of it
    #[command(after_help = HELP)]
    Report(Box<ReportArgs>),
    /// Give back what was not begun
    #[command(after_help = HELP)]
    Return(Named),
}

#[derive(Debug, clap::Args)]
pub(crate) struct ClaimArgs {
    /// Only of this destination; may be given several times
    #[arg(long = "destination", value_name = "NAME")]
    destinations: Vec<String>,
    /// Only of this operation; may be given several times
    #[arg(long = "operation", value_name = "NAME")]
    operations: Vec<String>,
    /// Only of this kind
    #[arg(long, value_parser = ["send", "look_up"])]
    kind: Option<String>,
    /// At most this many
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=100))]
    max: u16,
    /// Hold it for so long [default: as long as the destination says]
    #[arg(long, value_name = "TIME", value_parser = wait::parse)]
    lease: Option<Duration>,
    /// Wait until there is something
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = wait::parse)]
    wait: Duration,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Named {
    /// The claim, as it was handed out
    #[arg(value_name = "CLAIM")]
    claim: String,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ReportArgs {
    /// The claim, as it was handed out
    #[arg(value_name = "CLAIM")]
    claim: String,
    /// What became of it
    #[arg(value_name = "OUTCOME", value_parser = factum_server::WORK_OUTCOMES)]
    outcome: String,
    /// The destination's own reference, with done and found
    #[arg(long, value_name = "REFERENCE")]
    receipt: Option<String>,
    /// Another name of the same effect; may be given several times
    #[arg(long = "alias", value_name = "REFERENCE")]
    aliases: Vec<String>,
    /// The destination's name for queued work, with accepted and queued
    #[arg(long, value_name = "NAME")]
    object: Option<String>,
    /// Why, or how it was lost
    #[arg(long)]
    why: Option<String>,
    /// Not before so long, with busy
    #[arg(long, value_name = "TIME", value_parser = wait::parse)]
    retry_after: Option<Duration>,
    /// The destination's answer, as JSON with status, headers and body
    #[arg(long, value_name = "FILE")]
    answer: Option<PathBuf>,
}

impl Work {
    pub(crate) async fn run(self, config: Option<&Path>, out: Out) -> Result<ExitCode, Failure> {
        let client = Access::server(config, "a claim is held by a running server").await?;
        let found = self.ask(&client).await?;
        if out.json {
            out.value(&found);
        } else {
            self.show(&found, out);
        }
        Ok(exit::code(exit::OK))
    }

    async fn ask(&self, client: &Client) -> Result<Value, Failure> {
        match self {
            Self::Claim(args) => args.ask(client).await,
            // Repeated by nobody but the caller: a second begin hands out nothing (R12).
            Self::Begin(named) => client.json(step(&named.claim, "begin", &json!({}))).await,
            Self::Heartbeat(named) => {
                let call = step(&named.claim, "heartbeat", &json!({}));
                client.json(call.repeatable()).await
            }
            Self::Return(named) => {
                let call = step(&named.claim, "return", &json!({}));
                client.json(call.repeatable()).await
            }
            Self::Report(args) => {
                let call = step(&args.claim, "report", &args.body()?);
                client.json(call.repeatable()).await
            }
        }
    }

    fn show(&self, found: &Value, out: Out) {
        match self {
            Self::Claim(_) => {
                let items = found["items"].as_array().cloned().unwrap_or_default();
                if items.is_empty() {
                    out.note("nothing waits for a worker");
                }
                for item in &items {
                    out.line(format!(
                        "{} {} at {}: {}\n  key {}\n  reference {}\n  held until {}\n  {}",
                        render::text(item, "kind"),
                        render::text(item, "operation"),
                        render::text(item, "destination"),
                        item["payload"],
                        render::text(item, "key"),
                        render::text(item, "reference"),
                        render::text(item, "leased_until"),
                        render::text(item, "claim"),
                    ));
                }
            }
            Self::Begin(_) => out.line(format!(
                "attempt {}: the first byte within {} ms, by `{}`, with the key {}",
                found["attempt"],
                found["valid_for_ms"],
                render::text(found, "permission"),
                render::text(found, "key"),
            )),
            Self::Heartbeat(_) => out.line(format!(
                "word of it is waited for until {}",
                render::text(found, "leased_until")
            )),
            Self::Report(_) => out.line(render::status_for_operators(out, &found["action"])),
            Self::Return(_) => out.note("given back"),
        }
    }
}

fn step(claim: &str, step: &str, body: &Value) -> Call {
    Call::post(
        format!("/v1/work/{}/{step}", encoded(claim)),
        body.to_string(),
    )
}

impl ClaimArgs {
    async fn ask(&self, client: &Client) -> Result<Value, Failure> {
        let mut body = json!({"destinations": self.destinations, "operations": self.operations, "max": self.max});
        if let Some(kind) = &self.kind {
            body["kind"] = kind.as_str().into();
        }
        if let Some(lease) = self.lease {
            body["lease_s"] = lease.as_secs().max(1).into();
        }
        let wait = self.wait.min(Duration::from_secs(60));
        let seconds = Some(wait.as_secs().to_string());
        let path = with_query("/v1/work/claim", &[("wait", seconds)]);
        client
            .json(Call::post(path, body.to_string()).waiting(wait))
            .await
    }
}

impl ReportArgs {
    fn body(&self) -> Result<Value, Failure> {
        let mut body = json!({"outcome": self.outcome});
        for (member, text) in [
            ("receipt", &self.receipt),
            ("object", &self.object),
            ("why", &self.why),
        ] {
            if let Some(text) = text {
                body[member] = text.as_str().into();
            }
        }
        if !self.aliases.is_empty() {
            body["aliases"] = json!(self.aliases);
        }
        if let Some(wait) = self.retry_after {
            body["retry_after_s"] = wait.as_secs().into();
        }
        if let Some(path) = &self.answer {
            let name = path.display();
            let text = std::fs::read_to_string(path).map_err(|error| {
                Failure::usage(format!("cannot read {name}: {error}"), "name a file")
            })?;
            body["answer"] = serde_json::from_str(&text).map_err(|error| {
                let remedy = "write {\"status\": 201, \"headers\": {}, \"body\": \"…\"}";
                Failure::usage(format!("{name} is no JSON: {error}"), remedy)
            })?;
        }
        Ok(body)
    }
}
