//! `factum evidence`: the log of an action.

use std::path::Path;
use std::process::ExitCode;

use crate::access::{Access, Purpose};
use crate::failure::Failure;
use crate::out::Out;
use crate::{exit, render};

pub(crate) const HELP: &str = "Example:\n  factum evidence act_06f8t0c3k9sj3b6m1x2z7q4w5n";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The action
    #[arg(value_name = "ID")]
    id: String,
}

pub(crate) async fn run(args: Args, config: Option<&Path>, out: Out) -> Result<ExitCode, Failure> {
    let access = Access::open(config, Purpose::Look).await?;
    let log = access.evidence(&args.id).await;
    access.close().await?;
    let log = log?;
    if out.json {
        out.value(&log);
    } else if log["evidence"].as_array().is_none_or(Vec::is_empty) {
        out.note("nothing was sent, and nothing is known beyond the submission");
    } else {
        out.line(render::evidence(out, &log));
    }
    Ok(exit::code(exit::OK))
}
