//! `factum watch`: prints what changes until it rests. It asks again and again; it changes nothing.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::Value;

use super::status::NOBODY_SERVES;
use crate::access::{Access, ListQuery, Purpose, rests};
use crate::failure::Failure;
use crate::out::Out;
use crate::{exit, render};

pub(crate) const HELP: &str = "\
With --json, one status per line for each change.\n\n\
Examples:\n  factum watch act_06f8t0c3k9sj3b6m1x2z7q4w5n\n  factum watch --all";

/// How long the server may wait for the rest of one action; changes on the way there show after this.
const ROUND: Duration = Duration::from_secs(1);
/// How often everything is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// The next steps of what does not rest.
const MOVING: [&str; 5] = ["send", "look_up", "poll", "cancel_by_key", "wait"];

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The action
    #[arg(
        value_name = "ID",
        required_unless_present = "all",
        conflicts_with = "all"
    )]
    id: Option<String>,
    /// Everything that does not rest
    #[arg(long)]
    all: bool,
}

pub(crate) async fn run(args: Args, config: Option<&Path>, out: Out) -> Result<ExitCode, Failure> {
    let access = Access::open(config, Purpose::Look).await?;
    let watched = match &args.id {
        Some(id) => one(&access, id, out).await,
        None => all(&access, out).await,
    };
    access.close().await?;
    watched?;
    Ok(exit::code(exit::OK))
}

async fn one(access: &Access, id: &str, out: Out) -> Result<(), Failure> {
    let mut wait = Duration::ZERO;
    let mut seen = None;
    loop {
        let status = access.status(id, wait).await?;
        wait = ROUND;
        if seen.as_ref() != Some(&status["version"]) {
            show(&status, out);
            seen = Some(status["version"].clone());
        }
        if rests(&status) {
            return Ok(());
        }
        if access.is_local() {
            out.note(NOBODY_SERVES);
            return Ok(());
        }
    }
}

async fn all(access: &Access, out: Out) -> Result<(), Failure> {
    let mut seen: BTreeMap<String, Value> = BTreeMap::new();
    let mut ticks = tokio::time::interval(LOOK_EVERY);
    loop {
        ticks.tick().await;
        let mut moving = BTreeMap::new();
        for step in MOVING {
            let query = ListQuery {
                next: Some(step.to_owned()),
                limit: usize::MAX,
                ..ListQuery::default()
            };
            for status in access.list(&query).await? {
                moving.insert(render::text(&status, "id").to_owned(), status);
            }
        }
        // What was moving and is no longer listed has come to rest, or was between two steps.
        for id in seen
            .keys()
            .filter(|id| !moving.contains_key(*id))
            .cloned()
            .collect::<Vec<_>>()
        {
            moving.insert(id.clone(), access.status(&id, Duration::ZERO).await?);
        }
        for (id, status) in &moving {
            if seen.get(id) != Some(&status["version"]) {
                show(status, out);
            }
        }
        seen = moving
            .into_iter()
            .filter(|(_, status)| !rests(status))
            .map(|(id, mut status)| (id, status["version"].take()))
            .collect();
        if seen.is_empty() {
            out.note("everything rests");
            return Ok(());
        }
        if access.is_local() {
            out.note(NOBODY_SERVES);
            return Ok(());
        }
    }
}

fn show(status: &Value, out: Out) {
    if out.json {
        out.line(status);
    } else {
        out.line(render::change(out, status));
    }
}
