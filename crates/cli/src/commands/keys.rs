//! `factum admin keys`: the keys that content is sealed with. It works on the folder of keys; whoever serves the store does the rest, and
//! where nobody serves, this does.

use std::path::Path;
use std::process::ExitCode;

use factum::seal_keys::{Custody, KeysView};
use factum::signing::SigningKeys;
use factum_store::sqlite::count_sealed_rows;
use factum_store::{Store, system_clock};
use serde_json::json;

use super::transfer::Stored;
use crate::failure::Failure;
use crate::local::open_store;
use crate::out::Out;
use crate::{exit, render};

pub(crate) const HELP: &str = "\
The keys stand in keys/seal/ of the data folder, one file for each, and belong into every backup. A running server adopts a new \
one within seconds, and seals every row anew with it while it goes on. A retired key goes once no row names it; backups from before \
are not opened without it. With workers on several hosts the folder is shared, or a new key is copied to all of them at once.\n\n\
Examples:\n  factum admin keys list\n  factum admin keys rotate\n  factum admin keys rotate --signing\n  factum admin keys retire 1";

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Keys {
    /// Show each key, and how many rows are sealed with it. Reads every row
    List,
    /// Make a new key; everything is sealed anew with it
    Rotate {
        /// Make a new key for receipts and checkpoints instead; what the one before signed is still checked by its public part
        #[arg(long)]
        signing: bool,
    },
    /// Let an older key go, once nothing is sealed with it
    Retire {
        /// Its number
        #[arg(value_name = "NUMBER")]
        number: u32,
    },
}

pub(crate) async fn run(
    command: &Keys,
    config: Option<&Path>,
    out: Out,
) -> Result<ExitCode, Failure> {
    let stored = Stored::find(config, false)?;
    match command {
        Keys::List => {}
        Keys::Rotate { signing: true } => return rotate_signing(&stored, out),
        Keys::Rotate { signing: false } => {
            let number = stored.custody.rotate()?;
            tell(
                out,
                format_args!("key {number} is made; back up keys/ before anything else"),
            );
            look_after(&stored, out).await?;
        }
        Keys::Retire { number } => {
            stored.custody.retire(*number)?;
            look_after(&stored, out).await?;
        }
    }
    show(&list(&stored).await?, out);
    Ok(exit::code(exit::OK))
}

fn rotate_signing(stored: &Stored, out: Out) -> Result<ExitCode, Failure> {
    let keys = SigningKeys::of(&stored.place.home()?);
    let key = keys.rotate(system_clock()())?;
    if out.json {
        out.value(&json!({"signing": key, "published": keys.published()?.to_json()}));
    } else {
        out.line(format_args!(
            "{key} signs from now on; back up keys/, and give GET /v1/keys to those who check"
        ));
    }
    Ok(exit::code(exit::OK))
}

fn tell(out: Out, words: impl std::fmt::Display) {
    if !out.json {
        out.line(words);
    }
}

/// Does what a server would do within seconds, unless one is there.
async fn look_after(stored: &Stored, out: Out) -> Result<(), Failure> {
    if stored.place.is_postgres() {
        let store = stored.postgres().await?;
        return Ok(stored.custody.look_after(&store).await?);
    }
    match open_store(&stored.place) {
        Ok((opened, _, custody)) => {
            custody.settle(&opened.store).await?;
            let done = custody.look_after(&opened.store).await;
            opened.store.close().await?;
            Ok(done?)
        }
        Err(failure) if failure.code() == Some(factum::Code::StoreHeld) => {
            tell(
                out,
                "a server holds the store, and does the rest within seconds: see `factum admin keys list`",
            );
            Ok(())
        }
        Err(failure) => Err(failure),
    }
}

async fn list(stored: &Stored) -> Result<KeysView, Failure> {
    // Read anew: keys may have come or gone since.
    let custody = Custody::of(&stored.place.home()?, stored.place.config.store.seal)?;
    if stored.place.is_postgres() {
        let store = stored.postgres().await?;
        let rows = async |key| store.sealed_rows(key).await;
        return Ok(custody.list(rows).await?);
    }
    let path = stored.place.store()?;
    if !path.exists() {
        return custody.list(async |_| Ok::<_, Failure>(0)).await;
    }
    Ok(custody
        .list(async |key| count_sealed_rows(&path, key))
        .await?)
}

fn show(view: &KeysView, out: Out) {
    if out.json {
        out.value(&json!(view));
        return;
    }
    match view.sealing {
        Some(number) => out.line(format_args!("sealing   with key {number}")),
        None => out.line("sealing   nothing: content is written in clear; set store.seal = \"on\""),
    }
    out.line(format_args!("in clear  {} rows", view.in_clear));
    let mut table = render::table(out, &["key", "rows", ""]);
    for key in &view.keys {
        let word = if key.retired { "to go" } else { "" };
        table.add_row([
            key.number.to_string(),
            key.rows.to_string(),
            word.to_owned(),
        ]);
    }
    out.line(table);
}
