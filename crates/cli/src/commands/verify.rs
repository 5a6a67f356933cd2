//! `factum verify`: whether the evidence in a store, or in a copy of one, is what was written.
//!
//! It opens the store itself, beside whoever works on it, only to read.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use factum::checkpoints;
use factum::signing::KeySet;
use factum_store::Census;
use factum_store::sqlite::Subject;
use factum_store::verify::{Finding, Listed, Verified};
use serde_json::{Value, json};

use super::transfer::Stored;
use super::trusted::Trusted;
use crate::exit;
use crate::failure::Failure;
use crate::out::Out;

pub(crate) const HELP: &str = "\
Nothing is written, and a server goes on meanwhile. The keys of the store have to be there: the chain is made with them, and what is \
sealed is opened. Exits with 1 if anything is not as it was written; each finding names the action and the record.\n\n\
What it finds, and what only a checkpoint kept elsewhere adds: docs/tamper.md.\n\n\
Examples:\n  factum verify\n  factum verify --checkpoint /mnt/elsewhere/checkpoints/checkpoint-00000012.json\n  factum verify /backups/factum-2026-11-29.db";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A copy of the store's file [default: the store that the configuration names]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// A signed checkpoint, kept elsewhere: whatever it lists has to be there
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
    #[command(flatten)]
    trusted: Trusted,
}

pub(crate) async fn run(args: Args, config: Option<&Path>, out: Out) -> Result<ExitCode, Failure> {
    let store = Stored::find(config, false)?;
    let listed = match &args.checkpoint {
        Some(file) => Some(listed(file, &args.trusted.keys(config).await?)?),
        None => None,
    };
    let verified = match args.file {
        None if store.place.is_postgres() => {
            factum_store::postgres::verify(&store.postgres_options(), listed).await?
        }
        None => factum_store::sqlite::verify(&store.sqlite()?, Subject::Store, listed)?,
        Some(path) => factum_store::sqlite::verify(&store.sqlite_at(path), Subject::Copy, listed)?,
    };
    show(&verified, out);
    Ok(exit::code(if verified.is_sound() {
        exit::OK
    } else {
        exit::FINDINGS
    }))
}

/// What a checkpoint lists, once its signature is checked.
fn listed(file: &Path, keys: &KeySet) -> Result<Listed, Failure> {
    let checked = checkpoints::read(file, keys)?;
    let census = Census {
        store: checked.store().unwrap_or_default(),
        taken_away: checked.checkpoint.taken_away,
    };
    Ok(Listed::new(census, checked.heads()))
}

fn show(verified: &Verified, out: Out) {
    if out.json {
        out.value(&as_json(verified));
        return;
    }
    for found in &verified.findings {
        out.line(format_args!("{}: {}", found.what, found.how));
    }
    if verified.untold > 0 {
        out.line(format_args!("and {} more", verified.untold));
    }
    if verified.is_sound() {
        out.line(format_args!(
            "{} actions and {} records of evidence are as they were written",
            verified.actions, verified.records
        ));
        if verified.taken_away + verified.forgotten > 0 {
            out.line(format_args!(
                "of what the checkpoint lists, {} actions were purged, and {} are forgotten",
                verified.taken_away, verified.forgotten
            ));
        }
    } else {
        out.note(
            "keep this store as it is, find out who could write to it, and compare with a backup: docs/tamper.md says how",
        );
    }
}

fn as_json(verified: &Verified) -> Value {
    let finding = |found: &Finding| {
        json!({
            "what": found.what,
            "action": found.action.map(|id| id.to_string()),
            "record": found.record,
            "how": found.how,
        })
    };
    json!({
        "sound": verified.is_sound(),
        "actions": verified.actions,
        "records": verified.records,
        "taken_away": verified.taken_away,
        "forgotten": verified.forgotten,
        "findings": verified.findings.iter().map(finding).collect::<Vec<_>>(),
        "untold": verified.untold,
    })
}
