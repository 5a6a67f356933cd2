//! `factum cancel`: no more sends of an action. What may have been sent stays unknown until there is evidence.

use std::path::Path;
use std::process::ExitCode;

use crate::access::{Access, Purpose};
use crate::failure::Failure;
use crate::out::Out;
use crate::{exit, place, render};

pub(crate) const HELP: &str = "\
What may have been sent before stays unknown until there is evidence; the answer says so: stopped or too_late.\n\n\
Example:\n  factum cancel act_06f8t0c3k9sj3b6m1x2z7q4w5n --why \"the customer withdrew\"";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The action
    #[arg(value_name = "ID")]
    id: String,
    /// Why
    #[arg(long, default_value = "withdrawn on the command line")]
    why: String,
    /// Who withdraws it [default: the user of this terminal]
    #[arg(long)]
    by: Option<String>,
}

pub(crate) async fn run(args: Args, config: Option<&Path>, out: Out) -> Result<ExitCode, Failure> {
    let by = args.by.unwrap_or_else(place::user);
    let access = Access::open(config, Purpose::Look).await?;
    let cancelled = access.cancel(&args.id, &by, &args.why).await;
    access.close().await?;
    let cancelled = cancelled?;
    if out.json {
        out.value(&cancelled);
        return Ok(exit::code(exit::OK));
    }
    let happened = render::text(&cancelled["action"], "happened");
    out.line(match (render::text(&cancelled, "cancel"), happened) {
        ("stopped", _) => "stopped: nothing was sent, and nothing will be",
        (_, "yes") => "too late: it is done",
        (_, "no") => "nothing to stop: it is settled, and nothing was done",
        _ => "too late to be sure: nothing more is sent, and what was sent counts as it turns out",
    });
    out.line(render::status(out, &cancelled["action"]));
    Ok(exit::code(exit::OK))
}
