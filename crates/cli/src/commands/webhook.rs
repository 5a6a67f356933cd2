//! `factum webhook`: addresses that events are posted to. It talks to a server, which posts.

use std::path::Path;
use std::process::ExitCode;

use clap::Subcommand;
use serde_json::{Value, json};

use super::register::{Common, Ends, Named, Rotation, Wish, at, made, put, said};
use crate::failure::Failure;
use crate::out::Out;
use crate::{exit, render};

pub(crate) const HELP: &str = "\
The secret is printed once, when an endpoint is made or its secret is changed. Posts are signed as Standard Webhooks says; see docs/events.md.\n\n\
Examples:\n  factum webhook add crm --url https://crm.example.com/factum --type action.succeeded --type review.entered\n  \
factum webhook test crm\n  factum webhook log crm\n  factum webhook replay crm --since 2026-11-30T00:00:00Z\n  \
factum webhook rotate crm --overlap 2d\n  factum webhook disable crm --why \"it moves\"";

#[derive(Debug, Subcommand)]
pub(crate) enum Webhook {
    /// Make one: it hears of what happens from now on
    Add(Box<New>),
    /// List them
    List(Common),
    /// Show one, with how its posts go and everything that was changed about it
    Show(Named),
    /// Show its last posts, newest first
    Log(Named),
    /// Post a test event now, and say what came back
    Test(Named),
    /// Post nothing until it is enabled
    Disable(Ends),
    /// Post again, from where it stopped
    Enable(Ends),
    /// Give it a new secret; both sign for a while
    Rotate(Rotation),
    /// Post again what is kept since an instant, or one event
    Replay(Replay),
    /// Remove it for good; its name is not used again
    Remove(Ends),
}

/// A new endpoint.
#[derive(Debug, clap::Args)]
pub(crate) struct New {
    #[command(flatten)]
    named: Named,
    /// Where events are posted to: https://HOST[:PORT]/PATH
    #[arg(long)]
    url: String,
    /// Only events of this type [default: all] (may be repeated)
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<String>,
    /// What it is
    #[arg(long)]
    about: Option<String>,
}

/// What is posted again.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(crate) struct Replay {
    #[command(flatten)]
    named: Named,
    /// Everything since this instant
    #[arg(
        long,
        value_name = "INSTANT",
        conflicts_with = "cursor",
        required_unless_present = "cursor"
    )]
    since: Option<String>,
    /// The one event of this cursor
    #[arg(long)]
    cursor: Option<String>,
}

impl Webhook {
    pub(crate) async fn run(self, config: Option<&Path>, out: Out) -> Result<ExitCode, Failure> {
        let (logs, tests) = (matches!(self, Self::Log(_)), matches!(self, Self::Test(_)));
        let answered = self.wish().answered("webhooks", config).await?;
        if out.json {
            out.value(&answered);
        } else if tests {
            tested(out, &answered);
        } else if logs {
            out.line(log(out, &answered));
        } else if let Some(listed) = answered["webhooks"].as_array() {
            out.line(table(out, listed));
        } else {
            shown(out, &answered);
        }
        let failed = tests && answered["taken"] != true;
        Ok(exit::code(if failed { exit::FINDINGS } else { exit::OK }))
    }

    fn wish(self) -> Wish {
        const KIND: &str = "webhooks";
        match self {
            Self::Add(new) => {
                let mut body = made(&new.named.name, &[("about", new.about)]);
                body["url"] = new.url.into();
                body["types"] = new.types.into();
                said(&mut body, new.named.common.by, new.named.common.why);
                Wish::post(KIND, new.named.common.tenant, body)
            }
            Self::List(common) => Wish::get(KIND, common.tenant),
            Self::Show(named) | Self::Log(named) => {
                Wish::get(&at(KIND, &named.name), named.common.tenant)
            }
            Self::Test(named) => {
                let path = format!("{}/test", at(KIND, &named.name));
                let mut body = json!({});
                said(&mut body, named.common.by, None);
                Wish::post(&path, named.common.tenant, body)
            }
            Self::Disable(ends) => ends.wish(KIND, "suspended"),
            Self::Enable(ends) => ends.wish(KIND, "active"),
            Self::Remove(ends) => ends.wish(KIND, "revoked"),
            Self::Rotate(rotation) => rotation.wish(KIND),
            Self::Replay(replay) => {
                let mut body = json!({});
                put(&mut body, "since", replay.since);
                put(&mut body, "cursor", replay.cursor);
                said(&mut body, replay.named.common.by, replay.named.common.why);
                let path = format!("{}/replay", at(KIND, &replay.named.name));
                Wish::post(&path, replay.named.common.tenant, body)
            }
        }
    }
}

fn tested(out: Out, answered: &Value) {
    let status = answered["status"].as_u64().map_or_else(
        || "no answer".to_owned(),
        |status| format!("status {status}"),
    );
    match answered["error"].as_str() {
        None => out.line(format_args!("taken: {status}")),
        Some(error) => out.line(format_args!("not taken: {status}: {error}")),
    }
}

fn table(out: Out, listed: &[Value]) -> String {
    let mut table = render::table(out, &["name", "standing", "url", "types", "retrying"]);
    for one in listed {
        let types = one["types"].as_array().into_iter().flatten();
        let types: Vec<&str> = types.filter_map(Value::as_str).collect();
        table.add_row([
            render::text(one, "name").to_owned(),
            render::text(one, "standing").to_owned(),
            render::text(one, "url").to_owned(),
            types.join(" "),
            one["retrying"].to_string(),
        ]);
    }
    table.to_string()
}

fn log(out: Out, one: &Value) -> String {
    let mut table = render::table(
        out,
        &["at", "type", "try", "outcome", "status", "error", "event"],
    );
    for line in one["deliveries"].as_array().into_iter().flatten() {
        let status = line["status"].as_u64();
        table.add_row([
            render::text(line, "at").to_owned(),
            render::text(line, "type").to_owned(),
            line["try"].to_string(),
            render::text(line, "outcome").to_owned(),
            status.map(|status| status.to_string()).unwrap_or_default(),
            render::text(line, "error").to_owned(),
            render::text(line, "event").to_owned(),
        ]);
    }
    table.to_string()
}

fn shown(out: Out, one: &Value) {
    let part = |member: &str| render::text(one, member).to_owned();
    out.line(format_args!(
        "{}: {}  {}",
        part("name"),
        part("standing"),
        part("url")
    ));
    let (retrying, failures) = (&one["retrying"], &one["failures_in_a_row"]);
    out.line(format_args!(
        "  tried again: {retrying}, failures in a row: {failures}"
    ));
    for version in one["history"].as_array().into_iter().flatten() {
        let part = |member: &str| render::text(version, member).to_owned();
        let (at, standing, by, why) = (part("at"), part("standing"), part("by"), part("why"));
        out.line(format_args!("  {at}  {standing}  by {by}: {why}"));
    }
    if let Some(secret) = one["secret"].as_str() {
        out.note("this is shown once; keep it where secrets are kept");
        out.line(secret);
    }
}
