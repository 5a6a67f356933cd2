//! `factum backup`: a copy of the store's file, beside whoever works on it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use factum_store::sqlite::backup;
use serde_json::json;

use super::transfer::Stored;
use crate::exit;
use crate::failure::Failure;
use crate::out::Out;

pub(crate) const HELP: &str = "\
A server that holds the store goes on meanwhile. The keys are not in the file: without the folder `keys` beside the store it is of no \
use, so keep both, in two places.\n\n\
To put it back: stop the server, put the file in the store's place, remove the files `-wal` and `-shm` beside it, start the server. \
It sends nothing until you have looked at `factum admin would-send` and run `factum admin release`.\n\n\
Example:\n  factum backup /backups/factum-$(date +%F).db";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The file to make
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub(crate) fn run(args: &Args, config: Option<&Path>, out: Out) -> Result<ExitCode, Failure> {
    let store = Stored::find(config, false)?;
    if store.place.is_postgres() {
        return Err(Failure::usage(
            "the store is a database server, which has tools of its own for this",
            "use pg_dump, or a base backup with an archive of the log: see docs/backup.md",
        ));
    }
    let bytes = backup(&store.sqlite()?, &args.file)?;
    let keys = store.place.home()?.key_file();
    let keys = keys.parent().unwrap_or(Path::new(".")).to_owned();
    if out.json {
        out.value(&json!({"backup": args.file, "bytes": bytes, "keys": keys}));
    } else {
        out.line(format_args!(
            "{} holds the whole store, {bytes} bytes; it is of use only with {}, which belongs into a backup too",
            args.file.display(),
            keys.display()
        ));
    }
    Ok(exit::code(exit::OK))
}
