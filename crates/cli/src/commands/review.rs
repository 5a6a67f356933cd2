//! `factum review`, `verdict` and `check-again`: what waits for a person, and what that person says.

use std::path::Path;
use std::process::ExitCode;

use comfy_table::Cell;
use serde_json::{Value, json};

use super::status::NOBODY_SERVES;
use crate::access::{Access, Purpose, Ruled, VerdictWord, rests};
use crate::failure::Failure;
use crate::out::Out;
use crate::{exit, place, render};

pub(crate) const VERDICT_HELP: &str = "\
happened         the effect exists; name its receipt if you can\n\
did_not_happen   it does not; nothing more is sent\n\
send_again       send once more, at the risk of a second effect\n\
cannot_be_known  end the search; the outcome stays unknown for good\n\n\
Example:\n  factum verdict act_06f8t0c3k9sj3b6m1x2z7q4w5n did_not_happen --why \"searched their list by subject\"";
pub(crate) const CHECK_HELP: &str = "Example:\n  factum check-again act_06f8t0c3k9sj3b6m1x2z7q4w5n";

#[derive(Debug, clap::Args)]
pub(crate) struct ReviewArgs {
    /// At most this many
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=500))]
    limit: u16,
    /// What comes first: `urgent` is by consequence, time left, and age
    #[arg(long, value_parser = ["newest", "urgent"])]
    order: Option<String>,
    /// Only at this destination
    #[arg(long, value_name = "NAME")]
    destination: Option<String>,
}

impl CheckArgs {
    /// The action.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Who does it.
    pub(crate) fn person(&self) -> String {
        self.by.clone().unwrap_or_else(place::user)
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct VerdictArgs {
    /// The action
    #[arg(value_name = "ID")]
    id: String,
    /// What you found out
    #[arg(value_enum)]
    verdict: VerdictWord,
    /// How you know
    #[arg(long)]
    why: String,
    /// The destination's reference, where the effect exists
    #[arg(long, value_name = "REFERENCE")]
    receipt: Option<String>,
    /// Who says it [default: the user of this terminal]
    #[arg(long)]
    by: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CheckArgs {
    /// The action
    #[arg(value_name = "ID")]
    id: String,
    /// Who wants to know [default: the user of this terminal]
    #[arg(long)]
    by: Option<String>,
}

pub(crate) async fn list(
    args: ReviewArgs,
    config: Option<&Path>,
    out: Out,
) -> Result<ExitCode, Failure> {
    let access = Access::open(config, Purpose::Look).await?;
    let items = access
        .review(
            args.limit,
            args.order.as_deref(),
            args.destination.as_deref(),
        )
        .await;
    access.close().await?;
    let items = items?;
    if out.json {
        out.value(&json!({"items": items}));
    } else if items.is_empty() {
        out.note("nothing waits for a person");
    } else {
        out.line(table(out, &items));
    }
    Ok(exit::code(exit::OK))
}

fn table(out: Out, items: &[Value]) -> String {
    let mut table = render::table(
        out,
        &["action", "state", "what", "key", "why a person is needed"],
    );
    for item in items {
        table.add_row(vec![
            Cell::new(render::text(item, "id")),
            render::state_cell(out, render::text(item, "state")),
            Cell::new(format!(
                "{} at {}",
                render::text(item, "operation"),
                render::text(item, "destination")
            )),
            Cell::new(render::text(item, "key")),
            Cell::new(render::text(&item["next"], "why")),
        ]);
    }
    table.to_string()
}

pub(crate) async fn verdict(
    args: VerdictArgs,
    config: Option<&Path>,
    out: Out,
) -> Result<ExitCode, Failure> {
    if args.receipt.is_some() && args.verdict != VerdictWord::Happened {
        return Err(Failure::usage(
            "a receipt goes with `happened` only",
            "leave --receipt out",
        ));
    }
    let by = args.by.unwrap_or_else(place::user);
    let ruled = Ruled {
        verdict: args.verdict,
        by,
        why: args.why,
        receipt: args.receipt,
    };
    let access = Access::open(config, Purpose::Look).await?;
    let local = access.is_local();
    let status = access.rule(&args.id, &ruled).await;
    access.close().await?;
    Ok(show(&status?, local, out))
}

pub(crate) async fn check_again(
    args: CheckArgs,
    config: Option<&Path>,
    out: Out,
) -> Result<ExitCode, Failure> {
    let by = args.by.unwrap_or_else(place::user);
    let access = Access::open(config, Purpose::Look).await?;
    let local = access.is_local();
    let status = access.check_again(&args.id, &by).await;
    access.close().await?;
    Ok(show(&status?, local, out))
}

fn show(status: &Value, local: bool, out: Out) -> ExitCode {
    if out.json {
        out.value(status);
    } else {
        out.line(render::status_for_operators(out, status));
    }
    if local && !rests(status) {
        out.note(NOBODY_SERVES);
    }
    exit::code(exit::OK)
}
