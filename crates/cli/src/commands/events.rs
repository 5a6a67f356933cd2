//! `factum events`: what has changed, and what changes while one waits. It asks a server, page by page.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::Value;

use crate::access::Access;
use crate::client::{Call, Client, with_query};
use crate::failure::Failure;
use crate::out::Out;
use crate::{exit, render};

pub(crate) const HELP: &str = "\
With --json each event is a line of its own. Whoever goes on from the `cursor` of the last one misses nothing.\n\n\
Examples:\n  factum events --follow\n  factum events --from start --type action.outcome_unknown --type review.entered\n  \
factum events --follow --from 4711 --json";

/// How long a page is waited for.
const WAIT_S: u64 = 30;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Go on with what comes, until it is stopped
    #[arg(long)]
    follow: bool,
    /// Behind this cursor, from the `start` of what is kept, or from `now` on [default: start; with --follow now]
    #[arg(long, value_name = "CURSOR")]
    from: Option<String>,
    /// Only of this type (may be repeated)
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<String>,
    /// Only about actions at this destination
    #[arg(long, value_name = "NAME")]
    destination: Option<String>,
    /// Only about actions of this conversation
    #[arg(long, value_name = "CONVERSATION")]
    conversation: Option<String>,
}

pub(crate) async fn run(args: Args, config: Option<&Path>, out: Out) -> Result<ExitCode, Failure> {
    let client = Access::server(config, "events are read from a server").await?;
    args.read(&client, out).await?;
    Ok(exit::code(exit::OK))
}

impl Args {
    async fn read(&self, client: &Client, out: Out) -> Result<(), Failure> {
        let begin = if self.follow { "now" } else { "start" };
        let mut from = self.from.clone().unwrap_or_else(|| begin.to_owned());
        let types = (!self.types.is_empty()).then(|| self.types.join(","));
        loop {
            let wait = self.follow.then(|| WAIT_S.to_string());
            let query = [
                ("from", Some(from)),
                ("types", types.clone()),
                ("destination", self.destination.clone()),
                ("conversation", self.conversation.clone()),
                ("wait", wait),
                ("limit", Some("200".to_owned())),
            ];
            let call = Call::get(with_query("/v1/events", &query));
            let page = client
                .json(call.waiting(Duration::from_secs(WAIT_S)))
                .await?;
            for event in page["events"].as_array().into_iter().flatten() {
                show(out, event);
            }
            from = render::text(&page, "next").to_owned();
            if !self.follow && page["more"] != true {
                return Ok(());
            }
        }
    }
}

fn show(out: Out, event: &Value) {
    if out.json {
        out.line(event);
        return;
    }
    let (at, kind) = (
        render::text(event, "timestamp"),
        render::text(event, "type"),
    );
    let data = &event["data"];
    let action = &data["action"];
    let mut line = format!("{at}  {kind}");
    for part in ["id", "destination", "operation", "summary"] {
        let text = render::text(action, part);
        if !text.is_empty() {
            line.push_str("  ");
            line.push_str(text);
        }
    }
    if let Some(waiting) = data["review"]["waiting"].as_u64() {
        let customers = &data["review"]["customers_waiting"];
        line.push_str(&format!("  waiting: {waiting}, conversations: {customers}"));
    }
    out.line(line);
}
