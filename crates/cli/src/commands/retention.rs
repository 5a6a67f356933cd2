//! `factum admin purge`, `factum admin erase` and `factum hold`: what is kept, what goes, and what must not.

use std::path::Path;
use std::process::ExitCode;

use comfy_table::Cell;
use factum::retention::{self, PurgeWish, TargetWish};
use serde_json::{Value, json};

use crate::access::{Access, Purpose};
use crate::client::Call;
use crate::failure::Failure;
use crate::out::Out;
use crate::{exit, place, render};

pub(crate) const HELP: &str = "\
What is held is neither purged nor erased, until it is let go of.\n\n\
Examples:\n  factum hold add --conversation conv-91 --why 'their lawyer wrote'\n  factum hold list\n  \
factum hold remove --conversation conv-91 --why 'it is settled'";

/// What is about one tenant.
#[derive(Debug, clap::Args)]
pub(crate) struct Said {
    /// The tenant [default: default]
    #[arg(long)]
    tenant: Option<String>,
    /// Why: it is kept
    #[arg(long)]
    why: String,
    /// Who says so [default: the user of this terminal]
    #[arg(long)]
    by: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct EraseArgs {
    #[command(flatten)]
    whose: Whose,
    #[command(flatten)]
    said: Said,
    /// Only show what would be erased
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Whose {
    /// One action
    #[arg(long, value_name = "ID")]
    action: Option<String>,
    /// All that was asked for in a conversation
    #[arg(long, value_name = "ID")]
    conversation: Option<String>,
    /// All that was carried out for a principal
    #[arg(long = "for", value_name = "PRINCIPAL")]
    principal: Option<String>,
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Held {
    /// One action
    #[arg(long, value_name = "ID")]
    action: Option<String>,
    /// All that was asked for in a conversation
    #[arg(long, value_name = "ID")]
    conversation: Option<String>,
    /// All of the tenant
    #[arg(long)]
    all: bool,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Hold {
    /// Hold something: it is neither purged nor erased from now on
    Add {
        #[command(flatten)]
        held: Held,
        #[command(flatten)]
        said: Said,
    },
    /// Let go of it
    Remove {
        #[command(flatten)]
        held: Held,
        #[command(flatten)]
        said: Said,
    },
    /// Show what is held
    List,
}

/// Purges at once, or counts what would go.
pub(crate) async fn purge(access: &Access, dry_run: bool, out: Out) -> Result<(), Failure> {
    let wish = PurgeWish {
        dry_run: Some(dry_run),
    };
    let report = match access {
        Access::Local(local) => retention::purge(local.engine(), &wish).await?,
        Access::Remote(client) => {
            let call = Call::post("/v1/admin/purge", json!(wish).to_string());
            client.json(call).await?
        }
    };
    if out.json {
        out.value(&report);
        return Ok(());
    }
    let verb = if dry_run { "would be" } else { "were" };
    out.line(format_args!(
        "{} settled actions looked at: the content of {} {verb} purged, {} {verb} taken away, {} identities forgotten, {} held",
        report["settled"], report["content"], report["actions"], report["identities"], report["held"]
    ));
    Ok(())
}

/// Erases somebody's content, or shows what would be erased.
pub(crate) async fn erase(access: &Access, args: &EraseArgs, out: Out) -> Result<(), Failure> {
    let wish = TargetWish {
        action: args.whose.action.clone(),
        conversation: args.whose.conversation.clone(),
        principal: args.whose.principal.clone(),
        dry_run: Some(args.dry_run),
        ..args.said.wish()
    };
    let report = match access {
        Access::Local(local) => retention::erase(local.engine(), &wish, &args.said.name()).await?,
        Access::Remote(client) => {
            let call = Call::post("/v1/admin/erase", json!(wish).to_string());
            client.json(call).await?
        }
    };
    if out.json {
        out.value(&report);
        return Ok(());
    }
    let verb = if args.dry_run { "would be" } else { "is" };
    for (part, words) in [
        ("erased", format!("its content {verb} gone")),
        ("unsettled", "not settled: erase it once it is".to_owned()),
        ("held", "held: see `factum hold list`".to_owned()),
    ] {
        for id in report[part].as_array().into_iter().flatten() {
            out.line(format_args!("{}  {words}", id.as_str().unwrap_or_default()));
        }
    }
    Ok(())
}

impl Said {
    fn name(&self) -> String {
        self.by.clone().unwrap_or_else(place::user)
    }

    fn wish(&self) -> TargetWish {
        TargetWish {
            tenant: self.tenant.clone(),
            why: Some(self.why.clone()),
            by: Some(self.name()),
            ..TargetWish::default()
        }
    }
}

pub(crate) async fn hold(
    command: Hold,
    config: Option<&Path>,
    out: Out,
) -> Result<ExitCode, Failure> {
    let access = Access::open(config, Purpose::Look).await?;
    let held = match &command {
        Hold::Add { held, said } => set(&access, held, said, false).await,
        Hold::Remove { held, said } => set(&access, held, said, true).await,
        Hold::List => list(&access).await,
    };
    access.close().await?;
    show(&held?, out);
    Ok(exit::code(exit::OK))
}

async fn set(access: &Access, held: &Held, said: &Said, release: bool) -> Result<Value, Failure> {
    let wish = TargetWish {
        action: held.action.clone(),
        conversation: held.conversation.clone(),
        all: held.all.then_some(true),
        release: release.then_some(true),
        ..said.wish()
    };
    match access {
        Access::Local(local) => Ok(retention::hold(local.engine(), &wish, &said.name()).await?),
        Access::Remote(client) => {
            let call = Call::post("/v1/admin/holds", json!(wish).to_string());
            client.json(call).await
        }
    }
}

async fn list(access: &Access) -> Result<Value, Failure> {
    match access {
        Access::Local(local) => Ok(retention::holds(local.engine()).await?),
        Access::Remote(client) => client.json(Call::get("/v1/admin/holds")).await,
    }
}

fn show(held: &Value, out: Out) {
    let rows = held["holds"].as_array().cloned().unwrap_or_default();
    if out.json {
        out.value(held);
    } else if rows.is_empty() {
        out.note("nothing is held");
    } else {
        let mut table = render::table(out, &["tenant", "what", "by", "why", "since"]);
        for row in &rows {
            let what = match (row["action"].as_str(), row["conversation"].as_str()) {
                (Some(id), _) => id.to_owned(),
                (None, Some(id)) => format!("conversation {id}"),
                (None, None) => "all of it".to_owned(),
            };
            table.add_row(vec![
                Cell::new(render::text(row, "tenant")),
                Cell::new(what),
                Cell::new(render::text(row, "by")),
                Cell::new(render::text(row, "why")),
                Cell::new(render::text(row, "at")),
            ]);
        }
        out.line(table);
    }
}
