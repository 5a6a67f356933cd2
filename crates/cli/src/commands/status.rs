//! `factum status`: one action as it stands.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use crate::access::{Access, Purpose, rests};
use crate::failure::Failure;
use crate::out::Out;
use crate::{exit, render, wait};

pub(crate) const HELP: &str = "Example:\n  factum status act_06f8t0c3k9sj3b6m1x2z7q4w5n --wait 30s";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The action
    #[arg(value_name = "ID")]
    id: String,
    /// Wait until it is settled or a person is needed, for so long at the most
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = wait::parse)]
    wait: Duration,
}

pub(crate) async fn run(args: Args, config: Option<&Path>, out: Out) -> Result<ExitCode, Failure> {
    let access = Access::open(config, Purpose::Look).await?;
    let local = access.is_local();
    let status = access.status(&args.id, args.wait).await;
    access.close().await?;
    let status = status?;
    if out.json {
        out.value(&status);
    } else {
        out.line(render::status(out, &status));
    }
    if local && !rests(&status) {
        out.note(NOBODY_SERVES);
    }
    Ok(exit::code(exit::OK))
}

/// What a person has to know who looks at an engine that stands still.
pub(crate) const NOBODY_SERVES: &str =
    "note: no server is running here, so nothing goes on by itself; start one with `factum serve`";
