//! `factum callbacks`: what destinations reported by themselves, and which action each report was about.

use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::access::{Access, Purpose};
use crate::failure::Failure;
use crate::out::Out;
use crate::{exit, render};

pub(crate) const HELP: &str = "\
A report that found no action is kept for 30 days, and finds it once the action is known by its names.\n\n\
Examples:\n  factum callbacks --unmatched\n  factum callbacks --limit 20 --json";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only those that found no action, or more than one
    #[arg(long)]
    unmatched: bool,
    /// Only those with a lower number: goes on where a listing ended
    #[arg(long, value_name = "NO")]
    before: Option<u64>,
    /// At most this many
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=100))]
    limit: u16,
}

pub(crate) async fn run(args: Args, config: Option<&Path>, out: Out) -> Result<ExitCode, Failure> {
    let access = Access::open(config, Purpose::Look).await?;
    let limit = usize::from(args.limit);
    let found = access.callbacks(args.unmatched, args.before, limit).await;
    access.close().await?;
    let found = found?;
    if out.json {
        out.value(&json!({"callbacks": found}));
    } else if found.is_empty() {
        out.note("no destination reported anything of this kind");
    } else {
        out.line(table(out, &found));
    }
    Ok(exit::code(exit::OK))
}

fn table(out: Out, found: &[Value]) -> String {
    let mut table = render::table(out, &["no", "at", "destination", "action", "says", "names"]);
    for one in found {
        let readings = one["readings"].as_array().cloned().unwrap_or_default();
        let first = readings.first().cloned().unwrap_or_default();
        let says = first["says"]
            .as_str()
            .unwrap_or("nothing that a contract reads");
        let names = first["names"].as_array().cloned().unwrap_or_default();
        let names = names.iter().map(|name| {
            let part = |member: &str| render::text(name, member).to_owned();
            format!("{} {}", part("by"), part("name"))
        });
        let names: Vec<String> = names.collect();
        table.add_row([
            one["no"].to_string(),
            render::text(one, "at").to_owned(),
            render::text(one, "destination").to_owned(),
            one["action"].as_str().unwrap_or("none").to_owned(),
            says.to_owned(),
            names.join(", "),
        ]);
    }
    table.to_string()
}
