//! `factum admin`: holding sends, looking after a restore, purging and erasing, binding outbox files.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use comfy_table::Cell;
use serde_json::{Value, json};

use super::{keys, retention};
use crate::access::{Access, Purpose};
use crate::failure::Failure;
use crate::out::Out;
use crate::{exit, place, render};

pub(crate) const HELP: &str = "\
While sends are held, lookups go on. After a restore sends are held until an operator releases it: look at what would be \
sent first.\n\n\
Examples:\n  factum admin pause\n  factum admin state\n  \
factum admin after-restore --copy-until 2026-11-29T12:00:00Z\n  factum admin would-send\n  factum admin release\n  factum admin purge --dry-run\n  factum admin erase --conversation conv-91 --why 'she asked for it'";

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Admin {
    /// Hold all sends; lookups go on. Kept over restarts
    Pause(By),
    /// Let sends go on
    Resume(By),
    /// Show how the engine is doing
    State,
    /// Say that the store was put back from a copy: everything unsettled counts as maybe sent
    AfterRestore {
        /// The last instant that the copy knows of (RFC 3339) [default: its last stamp]
        #[arg(long, value_name = "INSTANT")]
        copy_until: Option<String>,
        #[command(flatten)]
        by: By,
    },
    /// Let effect requests go on after a restore
    Release(By),
    /// List what would be sent if nothing held it, soonest first
    WouldSend {
        /// At most this many
        #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=500))]
        limit: u16,
    },
    /// Purge at once what was kept for as long as is configured; a server does the same by itself
    Purge {
        /// Only count what would go
        #[arg(long)]
        dry_run: bool,
    },
    /// Erase the content of somebody's settled actions; identity and evidence stay
    Erase(retention::EraseArgs),
    /// The keys that content is sealed with: list, rotate, retire
    #[command(subcommand, after_help = keys::HELP)]
    Keys(keys::Keys),
    /// Bind an application's outbox file to this store, also in place of another one
    OutboxAccept {
        /// The application's SQLite file
        #[arg(value_name = "PATH")]
        path: PathBuf,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct By {
    /// Who decides it [default: the user of this terminal]
    #[arg(long)]
    by: Option<String>,
}

impl By {
    fn name(&self) -> String {
        self.by.clone().unwrap_or_else(place::user)
    }
}

pub(crate) async fn run(
    command: Admin,
    config: Option<&Path>,
    out: Out,
) -> Result<ExitCode, Failure> {
    if let Admin::Keys(command) = &command {
        return keys::run(command, config, out).await;
    }
    let access = Access::open(config, Purpose::Look).await?;
    let done = carry_out(&access, &command, out).await;
    access.close().await?;
    done?;
    Ok(exit::code(exit::OK))
}

async fn carry_out(access: &Access, command: &Admin, out: Out) -> Result<(), Failure> {
    let state = match command {
        Admin::Pause(by) => access.pause(true, &by.name()).await?,
        Admin::Resume(by) => access.pause(false, &by.name()).await?,
        Admin::State => access.state().await?,
        Admin::AfterRestore { copy_until, by } => {
            access
                .after_restore(copy_until.as_deref(), &by.name())
                .await?
        }
        Admin::Release(by) => access.release(&by.name()).await?,
        Admin::WouldSend { limit } => return would_send(access, usize::from(*limit), out).await,
        Admin::Purge { dry_run } => return retention::purge(access, *dry_run, out).await,
        Admin::Erase(args) => return retention::erase(access, args, out).await,
        Admin::OutboxAccept { path } => return accept_outbox(access, path, out).await,
        // Handled before anything was opened.
        Admin::Keys(_) => return Ok(()),
    };
    if out.json {
        out.value(&state);
    } else {
        out.line(words(&state, out));
    }
    Ok(())
}

fn words(state: &Value, out: Out) -> String {
    let mut lines = Vec::new();
    let restore = &state["restore"];
    let unreleased = restore.is_object() && restore["released"].is_null();
    lines.push(match state["paused_by"].as_str() {
        Some(by) => format!("sends     held by {by}; let them go on with `factum admin resume`"),
        None if unreleased => "sends     held until the restore is released".to_owned(),
        None => "sends     go on".to_owned(),
    });
    if restore.is_object() {
        let copy = render::text(restore, "copy_until");
        lines.push(match restore["released"]["by"].as_str() {
            Some(by) => format!("restore   from a copy of {copy}, released by {by}"),
            None => format!(
                "restore   from a copy of {copy}; nothing is sent until `factum admin release`, see `factum admin would-send`"
            ),
        });
    }
    lines.push(format!("unsettled {}", state["unsettled"]));
    let counts: Vec<&Value> = state["counts"].as_array().into_iter().flatten().collect();
    if !counts.is_empty() {
        let mut table = render::table(out, &["state", "next", "actions"]);
        for count in counts {
            table.add_row(vec![
                render::state_cell(out, render::text(count, "state")),
                Cell::new(render::text(count, "next")),
                Cell::new(&count["count"]),
            ]);
        }
        lines.push(table.to_string());
    }
    lines.join("\n")
}

async fn would_send(access: &Access, limit: usize, out: Out) -> Result<(), Failure> {
    let found = access.would_send(limit).await?;
    let actions = found["actions"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    if out.json {
        out.value(&found);
    } else if actions.is_empty() {
        out.note("nothing would be sent");
    } else {
        out.line(render::statuses(out, actions));
        if found["complete"].as_bool() == Some(false) {
            out.note("there are more; see --limit");
        }
    }
    Ok(())
}

async fn accept_outbox(access: &Access, path: &Path, out: Out) -> Result<(), Failure> {
    let Access::Local(local) = access else {
        let rule = "the server that holds the store binds outbox files at its start only";
        return Err(Failure::unavailable(
            rule,
            "stop the server, run this again, then start it",
        ));
    };
    if !path.exists() {
        return Err(Failure::not_found(
            format!("there is no file {}", path.display()),
            "name the application's SQLite file",
        ));
    }
    local.accept_outbox(path).await?;
    if out.json {
        out.value(&json!({"outbox": path, "bound": true}));
    } else {
        out.line(format_args!(
            "{} is bound to this store and picked up from the next start on",
            path.display()
        ));
    }
    Ok(())
}
