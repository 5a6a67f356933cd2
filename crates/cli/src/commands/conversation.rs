//! `factum conversation`: what was asked, what may be said, what was said, and what has to be put right.

use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::access::{Access, Purpose};
use crate::failure::Failure;
use crate::out::Out;
use crate::{exit, render};

pub(crate) const HELP: &str = "\
What is shown here is for staff, and does not count as told. What was told is said with the version of the status that was read.\n\n\
Examples:\n  factum conversation show conv-91\n  factum conversation told conv-91 act_06f8t0c3k9sj3b6m1x2z7q4w5n --version 5\n  \
factum conversation corrections --json\n  factum conversation acknowledge conv-91 act_06f8t0c3k9sj3b6m1x2z7q4w5n --version 1";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// What was asked in a conversation, how it stands, and what was said
    #[command(after_help = HELP)]
    Show {
        /// The conversation, as the submissions name it
        #[arg(value_name = "CONVERSATION")]
        id: String,
    },
    /// Keep which statement was passed on
    #[command(after_help = HELP)]
    Told(ToldArgs),
    /// Corrections that are due
    #[command(after_help = HELP)]
    Corrections {
        /// Only those of this conversation
        #[arg(long, value_name = "CONVERSATION")]
        conversation: Option<String>,
        /// At most this many
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=500))]
        limit: u16,
    },
    /// Keep that a correction was passed on
    #[command(after_help = HELP)]
    Acknowledge {
        /// The conversation
        #[arg(value_name = "CONVERSATION")]
        id: String,
        /// The action
        #[arg(value_name = "ACTION")]
        action: String,
        /// The version of the correction that was read
        #[arg(long)]
        version: u64,
    },
}

#[derive(Debug, clap::Args)]
struct ToldArgs {
    /// The conversation
    #[arg(value_name = "CONVERSATION")]
    id: String,
    /// The action
    #[arg(value_name = "ACTION")]
    action: String,
    /// The version of the status that was read
    #[arg(long)]
    version: u64,
    /// The key of the statement; may be left out if that version was handed out, or is the present one
    #[arg(long, value_name = "KEY")]
    statement: Option<String>,
    /// The words that were used, if they were others
    #[arg(long, value_name = "TEXT")]
    said: Option<String>,
    /// It was handed out and not passed on
    #[arg(long)]
    denied: bool,
}

pub(crate) async fn run(args: Args, config: Option<&Path>, out: Out) -> Result<ExitCode, Failure> {
    let access = Access::open(config, Purpose::Look).await?;
    let found = asked(&access, &args.command).await;
    access.close().await?;
    let found = found?;
    if out.json {
        out.value(&found);
    } else {
        show(out, &args.command, &found);
    }
    Ok(exit::code(exit::OK))
}

async fn asked(access: &Access, command: &Command) -> Result<Value, Failure> {
    match command {
        Command::Show { id } => access.conversation(id).await,
        Command::Told(args) => {
            let mut body =
                json!({"action": args.action, "version": args.version, "told": !args.denied});
            for (member, text) in [("statement", &args.statement), ("said", &args.said)] {
                if let Some(text) = text {
                    body[member] = text.as_str().into();
                }
            }
            access.told(&args.id, "told", &body).await
        }
        Command::Corrections {
            conversation,
            limit,
        } => access.corrections(conversation.as_deref(), *limit).await,
        Command::Acknowledge {
            id,
            action,
            version,
        } => {
            let body = json!({"action": action, "version": version});
            access.told(id, "acknowledge", &body).await
        }
    }
}

fn show(out: Out, command: &Command, found: &Value) {
    match command {
        Command::Show { .. } => out.line(conversation(out, found)),
        Command::Told(_) => match found["correction"].as_object() {
            None => out.note("kept; nothing has to be put right"),
            Some(_) => out.line(correction(&found["correction"])),
        },
        Command::Corrections { .. } => {
            let due = found["corrections"].as_array().cloned().unwrap_or_default();
            if due.is_empty() {
                out.note("no correction is due");
            }
            for one in &due {
                out.line(correction(one));
            }
        }
        Command::Acknowledge { .. } => out.note("kept: the correction was passed on"),
    }
}

fn conversation(out: Out, found: &Value) -> String {
    let mut table = render::table(
        out,
        &[
            "action",
            "asked",
            "state",
            "may be said",
            "last told",
            "correction",
        ],
    );
    for one in found["actions"].as_array().into_iter().flatten() {
        let last = one["told"].as_array().and_then(|told| told.last());
        let last = last.map(|told| {
            format!(
                "{} ({})",
                render::text(told, "say"),
                render::text(told, "how")
            )
        });
        table.add_row([
            render::text(&one["status"], "id").to_owned(),
            one["asked"].as_str().unwrap_or_default().to_owned(),
            render::text(&one["status"], "state").to_owned(),
            render::text(&one["status"]["statement"], "say").to_owned(),
            last.unwrap_or_default(),
            one["correction"]["kind"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
        ]);
    }
    table.to_string()
}

fn correction(one: &Value) -> String {
    format!(
        "{} in {}, version {}, {}: {}",
        render::text(one, "action"),
        render::text(one, "conversation"),
        one["version"],
        render::text(one, "kind"),
        render::text(one, "say")
    )
}
