//! `factum checkpoint`: what the store holds, signed, to be kept where whoever can write the store cannot.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use factum::checkpoints::{self, Exported, Making, PAGE};
use factum::signing::SigningKeys;
use factum_store::{Store, sqlite, system_clock};
use serde_json::json;

use super::transfer::Stored;
use super::trusted::Trusted;
use crate::exit;
use crate::failure::Failure;
use crate::out::Out;

pub(crate) const HELP: &str = "\
A checkpoint says of every action how long its evidence was, and where its chain ended. Compare a store with it by `factum verify \
--checkpoint FILE`: whatever was removed or changed since is found, however well it was hidden in the store. With [checkpoints] in \
factum.toml a server makes one by itself every so often.\n\n\
Keep the folder on another machine: whoever can write it and the store can remove both.\n\n\
Examples:\n  factum checkpoint export /mnt/elsewhere/checkpoints\n  factum checkpoint verify /mnt/elsewhere/checkpoints/checkpoint-00000012.json --keys keys.json";

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Checkpoint {
    /// Make a checkpoint; a server that holds the store goes on meanwhile
    Export {
        /// The folder to put it into [default: checkpoints.folder]
        #[arg(value_name = "FOLDER")]
        folder: Option<PathBuf>,
    },
    /// Check a checkpoint, its lists, and those before it in its folder, with the signer's public keys alone
    Verify {
        /// What `factum checkpoint export` made
        #[arg(value_name = "FILE")]
        file: PathBuf,
        #[command(flatten)]
        trusted: Trusted,
    },
}

impl Checkpoint {
    pub(crate) async fn run(self, config: Option<&Path>, out: Out) -> Result<ExitCode, Failure> {
        match self {
            Self::Export { folder } => {
                let stored = Stored::find(config, false)?;
                let configured = stored.place.config.checkpoints.folder.clone();
                let folder = folder.or(configured).ok_or_else(|| {
                    Failure::usage(
                        "no folder is named",
                        "name one, or set checkpoints.folder in factum.toml",
                    )
                })?;
                show(&export(&stored, &folder).await?, out);
            }
            Self::Verify { file, trusted } => {
                let keys = trusted.keys(config).await?;
                let checked = checkpoints::read(&file, &keys)?;
                let followed = checked.follow(&keys)?;
                let stands = &checked.checkpoint;
                if out.json {
                    out.value(&json!({
                        "authentic": true, "store": stands.store, "number": stands.number, "at": stands.at,
                        "actions": stands.actions, "taken_away": stands.taken_away, "key": checked.key.id(), "followed": followed,
                    }));
                } else {
                    out.line(format_args!(
                        "checkpoint {} of {}: {} actions, {} taken away before; {followed} checkpoints follow on each other",
                        stands.number, stands.at, stands.actions, stands.taken_away
                    ));
                    out.line(format_args!("signed with {}", checked.key.id()));
                }
            }
        }
        Ok(exit::code(exit::OK))
    }
}

async fn export(stored: &Stored, folder: &Path) -> Result<Exported, Failure> {
    let keys = SigningKeys::of(&stored.place.home()?);
    keys.settle()?;
    let (mut making, mut after) = (Making::begin(folder)?, None);
    if stored.place.is_postgres() {
        let store = stored.postgres().await?;
        let (census, now) = (store.census().await?, store.now().await?);
        loop {
            after = making.add(&store.heads(after, PAGE).await?)?;
            if after.is_none() {
                return Ok(making.end(&keys, census, now)?);
            }
        }
    }
    let options = stored.sqlite()?;
    let (census, now) = (sqlite::census(&options)?, system_clock()());
    loop {
        after = making.add(&sqlite::heads(&options, after, PAGE)?)?;
        if after.is_none() {
            return Ok(making.end(&keys, census, now)?);
        }
    }
}

fn show(made: &Exported, out: Out) {
    if out.json {
        out.value(&json!({
            "checkpoint": made.file, "number": made.number, "actions": made.actions, "lists_written": made.lists_written,
        }));
    } else {
        out.line(format_args!(
            "{} holds checkpoint {}, {} actions; {} lists are new",
            made.file.display(),
            made.number,
            made.actions,
            made.lists_written
        ));
    }
}
