//! `factum export`, `factum import` and `factum migrate`: a whole store as JSON Lines, into another backend and back.
//!
//! They open the store itself, beside whoever works on it, and never ask a server.

use std::fs::{File, OpenOptions};
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use factum::seal_keys::Custody;
use factum_store::postgres::{Options as PostgresOptions, PostgresStore};
use factum_store::sqlite::{Options as SqliteOptions, SqliteStore, StoreKeys};
use factum_store::transfer::{Counts, Import};
use serde_json::json;

use crate::exit;
use crate::failure::Failure;
use crate::out::Out;
use crate::place::{self, Place};

pub(crate) const EXPORT_HELP: &str = "\
The file holds everything but the keys folder: contents and evidence of every action, in clear. Only its owner can read it.\n\n\
Without --retire the store goes on, and what is made of the file sends nothing before an operator releases it: two stores must not \
act on the same intents. With --retire the store is taken out of use for good, and the file takes its place.\n\n\
Examples:\n  factum export backup.jsonl\n  factum export moved.jsonl --retire";

pub(crate) const IMPORT_HELP: &str = "\
The store that the configuration names has to be empty, and nobody may be at work on it. The keys folder of the exported store has to \
be beside it first. All of the file is taken in, or nothing.\n\n\
Example:\n  FACTUM_STORE__URL=postgresql://factum@db/factum factum import moved.jsonl";

pub(crate) const MIGRATE_HELP: &str = "\
`factum serve` does this too. Migrations go forward only. On PostgreSQL, workers of the version before go on beside newer ones, until \
none of them has worked on the store for a day; --finish ends that at once, and from then on they are refused.\n\n\
Examples:\n  factum migrate\n  factum migrate --finish";

#[derive(Debug, clap::Args)]
pub(crate) struct MigrateArgs {
    /// End an upgrade now: the version before is refused from here on
    #[arg(long)]
    finish: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ExportArgs {
    /// The file to make
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Take the store out of use: nothing opens it for work any more
    #[arg(long)]
    retire: bool,
    /// Who decides it [default: the user of this terminal]
    #[arg(long, requires = "retire")]
    by: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ImportArgs {
    /// What `factum export` made
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Where the store is, and its keys.
pub(crate) struct Stored {
    pub(crate) place: Place,
    keys: StoreKeys,
    pub(crate) custody: Custody,
}

impl Stored {
    /// `may_make` the keys of a new store.
    pub(crate) fn find(config: Option<&Path>, may_make: bool) -> Result<Self, Failure> {
        if place::url().is_some() {
            return Err(Failure::usage(
                "FACTUM_URL names a server, and this command opens the store itself",
                "run it where the store is, without FACTUM_URL",
            ));
        }
        let place = Place::read(config)?;
        let home = place.home()?;
        if !may_make && !home.key_file().exists() {
            let rule = format!("there are no keys at {}", home.key_file().display());
            return Err(Failure::unavailable(
                rule,
                "put the keys folder of the exported store there first",
            ));
        }
        home.create()?;
        let path = if place.is_postgres() {
            PathBuf::new()
        } else {
            place.store()?
        };
        let keys = StoreKeys(home.keys(&path)?.checksum());
        let custody = Custody::of(&home, place.config.store.seal)?;
        Ok(Self {
            place,
            keys,
            custody,
        })
    }

    pub(super) fn sqlite(&self) -> Result<SqliteOptions, Failure> {
        Ok(self.sqlite_at(self.place.store()?))
    }

    /// How a file that was written with this store's keys is opened.
    pub(super) fn sqlite_at(&self, path: PathBuf) -> SqliteOptions {
        SqliteOptions {
            seals: self.custody.seals(),
            ..SqliteOptions::new(path, self.keys.clone())
        }
    }

    /// What is taken in is sealed as what is submitted.
    async fn settle(&self, store: &dyn factum_store::Store) -> Result<(), Failure> {
        Ok(self.custody.settle(store).await?)
    }

    pub(crate) async fn postgres(&self) -> Result<PostgresStore, Failure> {
        Ok(PostgresStore::open_to_move(self.postgres_options()).await?)
    }

    pub(super) fn postgres_options(&self) -> PostgresOptions {
        let store = &self.place.config.store;
        PostgresOptions {
            connections: 2,
            prepared: store.prepared,
            seals: self.custody.seals(),
            program: factum::start::program(),
            ..PostgresOptions::new(&store.url, self.keys.clone())
        }
    }
}

/// Writes the store into a file, which is there whole or not at all.
pub(crate) async fn export(
    args: ExportArgs,
    config: Option<&Path>,
    out: Out,
) -> Result<ExitCode, Failure> {
    let store = Stored::find(config, false)?;
    if args.file.exists() {
        let rule = format!("{} is there already", args.file.display());
        return Err(Failure::usage(rule, "name a file that is not there yet"));
    }
    let unfinished = args.file.with_added_extension("part");
    let by = args.by.unwrap_or_else(place::user);
    let retire = args.retire.then_some(by.as_str());
    let written = write(&store, retire, &unfinished).await;
    if written.is_err() {
        // What is not whole is of no use; the error that is told is the first one.
        let _ = std::fs::remove_file(&unfinished);
    }
    let counts = written?;
    std::fs::rename(&unfinished, &args.file).map_err(|error| unwritable(&args.file, &error))?;
    tell(out, "exported", &args.file, counts);
    if retire.is_some() && !out.json {
        out.line("the store takes nothing any more; import the file where it is to go on");
    }
    Ok(exit::code(exit::OK))
}

/// Writes everything, down to the disk.
async fn write(store: &Stored, retire: Option<&str>, path: &Path) -> Result<Counts, Failure> {
    let mut file = BufWriter::new(private(path)?);
    let counts = if store.place.is_postgres() {
        let postgres = store.postgres().await?;
        postgres.export(&store.keys, retire, &mut file).await?
    } else {
        let options = store.sqlite()?;
        if let Some(by) = retire {
            let opened = SqliteStore::open(options.clone())?;
            opened.store.retire(by.to_owned()).await?;
            opened.store.close().await?;
        }
        factum_store::sqlite::export(&options, &mut file)?
    };
    let file = file.into_inner();
    file.map_err(std::io::IntoInnerError::into_error)
        .and_then(|file| file.sync_all())
        .map_err(|error| unwritable(path, &error))?;
    Ok(counts)
}

/// Puts a file into an empty store.
pub(crate) async fn import(
    args: ImportArgs,
    config: Option<&Path>,
    out: Out,
) -> Result<ExitCode, Failure> {
    let store = Stored::find(config, false)?;
    let file = File::open(&args.file).map_err(|error| {
        let rule = format!("cannot read {}: {error}", args.file.display());
        Failure::not_found(rule, "name what `factum export` made")
    })?;
    let import = Import::begin(Box::new(BufReader::new(file)), &store.keys)?;
    let retired = import.is_retired();
    let counts = if store.place.is_postgres() {
        let postgres = store.postgres().await?;
        store.settle(&postgres).await?;
        postgres.import(import).await?
    } else {
        let opened = SqliteStore::open(store.sqlite()?)?;
        store.settle(&opened.store).await?;
        let counts = opened.store.import(import).await;
        opened.store.close().await?;
        counts?
    };
    tell(out, "imported", &args.file, counts);
    if !retired && !out.json {
        out.line(
            "the exported store was still in use: nothing is sent from here until you have stopped that one, looked at \
             `factum admin would-send`, and run `factum admin release`",
        );
    }
    Ok(exit::code(exit::OK))
}

/// Brings the schema to the newest version.
pub(crate) async fn migrate(
    args: MigrateArgs,
    config: Option<&Path>,
    out: Out,
) -> Result<ExitCode, Failure> {
    let store = Stored::find(config, true)?;
    if store.place.is_postgres() {
        let postgres = store.postgres().await?;
        if args.finish {
            postgres.finish_upgrade().await?;
        }
        postgres.close();
    } else {
        let opened = SqliteStore::open(store.sqlite()?)?;
        opened.store.close().await?;
    }
    if out.json {
        out.value(&json!({"migrated": store.place.config.store.url, "finished": args.finish}));
        return Ok(exit::code(exit::OK));
    }
    out.line("the schema is the newest that this program knows");
    if args.finish {
        out.line("the upgrade is over: the version before is refused from here on");
    }
    Ok(exit::code(exit::OK))
}

fn tell(out: Out, done: &str, file: &Path, counts: Counts) {
    if out.json {
        out.value(&json!({done: file, "counts": counts}));
        return;
    }
    out.line(format_args!(
        "{done} {}: {} actions with {} pieces of evidence, {} reports, {} entries of the register, {} settings, {} contracts",
        file.display(),
        counts.actions,
        counts.evidence,
        counts.reports,
        counts.entries,
        counts.settings,
        counts.contracts
    ));
}

/// A new file that only its owner can read: contents stand in it in clear.
fn private(path: &Path) -> Result<File, Failure> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options.open(path).map_err(|error| unwritable(path, &error))
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    let rule = format!("cannot write {}: {error}", path.display());
    Failure::other(rule, "name a place that can be written")
}
