//! `factum list`: actions, newest first.

use std::path::Path;
use std::process::ExitCode;

use serde_json::json;

use crate::access::{Access, ListQuery, Purpose};
use crate::failure::Failure;
use crate::out::Out;
use crate::{exit, render};

pub(crate) const HELP: &str = "Examples:\n  factum list --state outcome_unknown\n  factum list --destination helpdesk --limit 20 --json";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only with this key
    #[arg(long)]
    key: Option<String>,
    /// Only in this state
    #[arg(long, value_parser = states())]
    state: Option<String>,
    /// Only at this destination
    #[arg(long, value_name = "NAME")]
    destination: Option<String>,
    /// Only in this conversation
    #[arg(long, value_name = "ID")]
    conversation: Option<String>,
    /// Only with this next step
    #[arg(long, value_name = "STEP", value_parser = ["send", "look_up", "poll", "cancel_by_key", "wait", "review", "none"])]
    next: Option<String>,
    /// Only those made before this action: goes on where a listing ended
    #[arg(long, value_name = "ID")]
    before: Option<String>,
    /// At most this many
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
}

fn states() -> clap::builder::PossibleValuesParser {
    factum::State::ALL
        .iter()
        .map(|state| state.name())
        .collect::<Vec<_>>()
        .into()
}

pub(crate) async fn run(args: Args, config: Option<&Path>, out: Out) -> Result<ExitCode, Failure> {
    let query = ListQuery {
        key: args.key,
        state: args.state,
        destination: args.destination,
        conversation: args.conversation,
        next: args.next,
        before: args.before,
        limit: args.limit as usize,
    };
    let access = Access::open(config, Purpose::Look).await?;
    let found = access.list(&query).await;
    access.close().await?;
    let found = found?;
    let more = (found.len() == query.limit)
        .then(|| found.last().map(|last| render::text(last, "id")))
        .flatten();
    if out.json {
        out.value(&json!({"actions": found, "next_before": more}));
    } else if found.is_empty() {
        out.note("no action matches");
    } else {
        out.line(render::statuses(out, &found));
        if let Some(last) = more {
            out.note(format_args!("there may be more: --before {last}"));
        }
    }
    Ok(exit::code(exit::OK))
}
