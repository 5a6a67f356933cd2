//! `factum doctor`: looks for what is wrong here, and says what to do about each finding. It changes nothing and sends nothing.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use factum::{Code, setup};
use factum_engine::{Destination, Reach};
use factum_store::Store;
use factum_store::sqlite::Opened;
use serde_json::{Value, json};

use super::destination_test;
use crate::client::{Call, Client};
use crate::failure::Failure;
use crate::local::{CLOCK_BEHIND_MAX, open_store};
use crate::out::Out;
use crate::place::{self, Place};
use crate::{exit, render};

pub(crate) const HELP: &str = "\
Exits with 1 if anything is an error; warnings do not count. While a server holds the store, its rows are left to that \
server; --offline leaves out the destinations' networks.\n\n\
Example:\n  factum doctor";

/// The first SQLite line without the bug that can lose a part of the log (3.7.0 to 3.51.2 have it).
const SQLITE_LEAST: i32 = 3_051_003;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Do not connect to destinations
    #[arg(long)]
    offline: bool,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Ok,
    Warning,
    Error,
}

/// What was looked at, what was seen, and what to do.
struct Finding {
    level: Level,
    about: String,
    says: String,
    remedy: String,
}

/// The findings so far.
#[derive(Default)]
struct Report(Vec<Finding>);

impl Report {
    fn ok(&mut self, about: &str, says: impl Into<String>) {
        self.add(Level::Ok, about, says.into(), String::new());
    }

    fn warning(&mut self, about: &str, says: impl Into<String>, remedy: &str) {
        self.add(Level::Warning, about, says.into(), remedy.to_owned());
    }

    fn error(&mut self, about: &str, says: impl Into<String>, remedy: &str) {
        self.add(Level::Error, about, says.into(), remedy.to_owned());
    }

    fn failure(&mut self, about: &str, failure: &Failure) {
        let part = |name: &str| render::text(&failure.problem, name).to_owned();
        let says = match failure.code() {
            Some(code) => format!("{}: {}", code.code(), part("rule")),
            None => part("rule"),
        };
        self.add(Level::Error, about, says, part("remedy"));
    }

    fn add(&mut self, level: Level, about: &str, says: String, remedy: String) {
        self.0.push(Finding {
            level,
            about: about.to_owned(),
            says,
            remedy,
        });
    }

    fn has_errors(&self) -> bool {
        self.0.iter().any(|finding| finding.level == Level::Error)
    }
}

pub(crate) async fn run(args: Args, config: Option<&Path>, out: Out) -> Result<ExitCode, Failure> {
    let mut report = Report::default();
    match Place::read(config) {
        Err(failure) => report.failure("configuration", &failure),
        Ok(place) => {
            let there = if place.file.exists() {
                "is well formed"
            } else {
                "is not there; defaults hold"
            };
            report.ok("configuration", format!("{} {there}", place.file.display()));
            destinations(&place, args.offline, &mut report).await;
            if let Err(failure) = folder(&place, &mut report).await {
                report.failure("store", &failure);
            }
        }
    }
    sqlite(&mut report);
    show(&report, out);
    Ok(exit::code(if report.has_errors() {
        exit::FINDINGS
    } else {
        exit::OK
    }))
}

async fn destinations(place: &Place, offline: bool, report: &mut Report) {
    let catalogue = match setup::catalogue(&place.config) {
        Ok(catalogue) => {
            report.ok("contracts", "every contract of the catalogue parses");
            catalogue
        }
        Err(problem) => return report.failure("contracts", &problem.into()),
    };
    let made = match setup::destinations(&place.config, &catalogue) {
        Ok(made) => made,
        Err(problem) => return report.failure("destinations", &problem.into()),
    };
    if made.is_empty() {
        let remedy = "add one: factum destination add PROVIDER --name NAME --base URL";
        report.warning(
            "destinations",
            "none is configured, so nothing can be submitted",
            remedy,
        );
    }
    let bare: BTreeMap<String, String> = setup::without_auth(&place.config, &catalogue)
        .into_iter()
        .collect();
    for destination in made.values() {
        volatile_keys(destination, report);
        let Reach::Http(target) = &destination.reach else {
            continue;
        };
        let about = format!("destination {}", destination.name);
        match destination_test::secret(target).await {
            Err(rule) => {
                report.error(&about, rule, "make the secret available to the process that serves, where its reference points");
                continue;
            }
            Ok(true) => report.ok(&about, "its secret can be read"),
            Ok(false) => match bare.get(&destination.name) {
                Some(kinds) => report.warning(
                    &about,
                    format!("no auth is configured, and its provider takes: {kinds}"),
                    "write auth = { … }, unless it is a stand-in or a proxy adds the credentials",
                ),
                None => report.ok(&about, "it asks for no secret"),
            },
        }
        callbacks(destination, &about, report).await;
        if !offline {
            reach(destination, &about, report).await;
        }
    }
}

/// Callbacks are a choice: without a secret none is taken, and nothing waits for one. One that cannot be read is a mistake.
async fn callbacks(destination: &Destination, about: &str, report: &mut Report) {
    if !destination.takes_callbacks() {
        return;
    }
    if destination.callback_secrets.is_empty() {
        let mut contracts = destination
            .operations
            .values()
            .filter_map(|op| op.contract.as_ref());
        let waits = match contracts.any(|own| own.contract.feed().is_some()) {
            true => {
                "what is waited for is read from its feed of events, where an operation has one"
            }
            false => "none waited for",
        };
        report.ok(
            about,
            format!(
                "its contracts describe callbacks; without `callback = {{ secrets = [\"env:NAME\"] }}` none is taken, and {waits}"
            ),
        );
        return;
    }
    for secret in &destination.callback_secrets {
        if let Err(error) = secret.resolve(factum::core::Span::from_secs(5)).await {
            let says = format!("a callback secret cannot be read: {error}");
            let remedy = "make it available to the process that serves, where its reference points";
            report.error(about, says, remedy);
        }
    }
}

/// A key that changes from call to call makes every repeat a new effect.
fn volatile_keys(destination: &Destination, report: &mut Report) {
    for (name, operation) in &destination.operations {
        let Some(template) = &operation.key_template else {
            continue;
        };
        for part in template.volatile() {
            let about = format!("destination {}", destination.name);
            let says = format!(
                "the key of {name} is made as `{}`, and `{part}` sounds like another value on every call",
                template.text()
            );
            let remedy = "list only what names the intent: with a time or a random value in the key, a repeat is a second effect";
            report.warning(&about, says, remedy);
        }
    }
}

/// Out of reach is a warning: destinations come and go, and the engine waits for them.
async fn reach(destination: &Destination, about: &str, report: &mut Report) {
    let Reach::Http(target) = &destination.reach else {
        return;
    };
    let found = destination_test::ask(destination, target).await;
    if found.well {
        report.ok(about, found.says);
    } else {
        report.warning(about, found.says, found.remedy);
    }
}

async fn folder(place: &Place, report: &mut Report) -> Result<(), Failure> {
    let (store, home) = (place.store()?, place.home()?);
    for file in home.readable_by_others() {
        let remedy = format!("chmod 600 {}", file.display());
        report.error(
            "secrets",
            format!("{} can be read by others on this machine", file.display()),
            &remedy,
        );
    }
    if !store.exists() {
        let says = format!("there is none at {} yet", store.display());
        report.ok("store", says + "; the first `factum serve` makes it");
        return Ok(());
    }
    // Without its keys no store is opened, and none are made here.
    if !home.key_file().exists() {
        let says = format!(
            "{} is missing: with new keys no repeated submission would be recognised",
            home.key_file().display()
        );
        report.error(
            "keys",
            says,
            "put the file back from a backup; it belongs with the store",
        );
        return Ok(());
    }
    report.ok("keys", format!("{} is there", home.key_file().display()));
    match open_store(place) {
        Ok((opened, _)) => {
            rows(&opened, report).await?;
            restore(&opened, report).await?;
            outboxes(place, &opened, report).await?;
            Ok(opened.store.close().await?)
        }
        Err(failure) if failure.code() == Some(Code::StoreHeld) => {
            held(place, &failure, report).await
        }
        Err(failure) => {
            report.failure("store", &failure);
            Ok(())
        }
    }
}

async fn rows(opened: &Opened, report: &mut Report) -> Result<(), Failure> {
    let verified = opened.store.verify_all().await?;
    if verified.damaged.is_empty() {
        let says = format!(
            "{} actions and {} records of evidence are as they were written",
            verified.actions, verified.records
        );
        report.ok("store", says);
    }
    for (what, how) in &verified.damaged {
        let remedy = "actions that are damaged are held and the others go on; restore a backup, then `factum admin after-restore`";
        report.error("store", format!("{what} is damaged: {how}"), remedy);
    }
    if opened.clock_behind > CLOCK_BEHIND_MAX {
        let says = format!(
            "the clock of this machine is {} behind the last stamp in the store",
            opened.clock_behind
        );
        report.error(
            "clock",
            says,
            "set the clock; until then nothing is sent again by key",
        );
    } else {
        report.ok("clock", "it is not behind the store's last stamp");
    }
    if let Some(former) = &opened.former {
        report.ok(
            "store",
            format!(
                "{former} ended without closing it; the next start finds out what it left in flight"
            ),
        );
    }
    Ok(())
}

async fn restore(opened: &Opened, report: &mut Report) -> Result<(), Failure> {
    let held = opened
        .store
        .restore()
        .await?
        .is_some_and(|restore| restore.released.is_none());
    if held {
        let because = opened
            .restored_because
            .clone()
            .unwrap_or_else(|| "it was declared".to_owned());
        let remedy = "look at `factum admin would-send`, then run `factum admin release`";
        report.warning(
            "restore",
            format!("the store came from a copy ({because}); nothing is sent until it is released"),
            remedy,
        );
    }
    Ok(())
}

/// Outbox files: there, with an outbox, and bound to this store.
async fn outboxes(place: &Place, opened: &Opened, report: &mut Report) -> Result<(), Failure> {
    let bound: Value = match opened.store.setting("outbox_files").await? {
        Some(text) => serde_json::from_str(&text).unwrap_or_default(),
        None => Value::Null,
    };
    for outbox in &place.config.outbox {
        let about = format!("outbox {}", outbox.path.display());
        let here = outbox
            .path
            .canonicalize()
            .unwrap_or_else(|_| outbox.path.clone())
            .display()
            .to_string();
        if !outbox.path.exists() {
            report.warning(
                &about,
                "there is no such file; the next start makes it, with an empty outbox",
                "correct the path, unless the application has not made its file yet",
            );
            continue;
        }
        match outbox_uuid(&outbox.path) {
            Err(why) => report.error(
                &about,
                why,
                "name the application's SQLite file, and run the outbox's schema in it once",
            ),
            Ok(uuid) => {
                let path = outbox.path.display();
                binding(&about, &path, bound[&uuid].as_str(), &here, report);
                outbox_rows(&about, &outbox.path, report);
            }
        }
    }
    Ok(())
}

/// Whether the file is picked up where it was picked up before.
fn binding(
    about: &str,
    path: &impl std::fmt::Display,
    bound: Option<&str>,
    here: &str,
    report: &mut Report,
) {
    match bound {
        Some(before) if before == here => report.ok(about, "it is bound to this store"),
        Some(before) => report.error(
            about,
            format!("it was picked up at {before} before; a copy would send again"),
            &format!("if this is the right file: factum admin outbox-accept {path}"),
        ),
        None => report.ok(about, "it is new; the next start binds it to this store"),
    }
}

/// What waits in an outbox, and what was refused there: nobody else tells an operator of a refused row.
fn outbox_rows(about: &str, path: &Path, report: &mut Report) {
    let counted = outbox_open(path).and_then(|connection| {
        let count = "select count(*) from factum_outbox where state = ?1";
        let of = |state: &str| connection.query_row(count, [state], |row| row.get::<_, i64>(0));
        of("waiting")
            .and_then(|waiting| Ok((waiting, of("refused")?)))
            .map_err(|error| format!("its rows cannot be counted: {error}"))
    });
    match counted {
        Ok((waiting, 0)) => report.ok(about, format!("{waiting} rows wait, none was refused")),
        Ok((waiting, refused)) => report.warning(
            about,
            format!("{waiting} rows wait, {refused} were refused and never sent"),
            "read the column problem in factum_outbox, and insert a corrected row",
        ),
        Err(why) => report.error(about, why, "run the outbox's schema in the file once"),
    }
}

fn outbox_open(path: &Path) -> Result<rusqlite::Connection, String> {
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    rusqlite::Connection::open_with_flags(path, flags)
        .map_err(|error| format!("it cannot be opened: {error}"))
}

fn outbox_uuid(path: &Path) -> Result<String, String> {
    outbox_open(path)?
        .query_row(
            "select uuid from factum_outbox_file where one = 1",
            [],
            |row| row.get(0),
        )
        .map_err(|error| format!("it has no outbox: {error}"))
}

/// A server holds the store: it is asked, and its file is left alone.
async fn held(place: &Place, failure: &Failure, report: &mut Report) -> Result<(), Failure> {
    let says = render::text(&failure.problem, "rule").to_owned();
    let Some(address) = place::holder_address(&place.home()?) else {
        report.warning(
            "store",
            format!("{says}; it says no address, so its rows are not checked"),
            "stop that process to have them checked",
        );
        return Ok(());
    };
    let client = Client::new(&address, "none".to_owned())?;
    match client.json(Call::get("/readyz")).await {
        Ok(_) => report.ok(
            "store",
            format!(
                "a server holds it and is ready at {address}; stop it to have every row checked"
            ),
        ),
        Err(unready) => report.failure("server", &unready),
    }
    Ok(())
}

fn sqlite(report: &mut Report) {
    if rusqlite::version_number() >= SQLITE_LEAST {
        report.ok("sqlite", format!("version {}", rusqlite::version()));
    } else {
        let says = format!("version {} can lose a part of its log", rusqlite::version());
        report.error("sqlite", says, "build with SQLite 3.51.3 or newer");
    }
}

fn show(report: &Report, out: Out) {
    let word = |level: Level| match level {
        Level::Ok => "ok",
        Level::Warning => "warning",
        Level::Error => "error",
    };
    if out.json {
        let findings: Vec<Value> = report
            .0
            .iter()
            .map(|f| json!({"level": word(f.level), "about": f.about, "says": f.says, "remedy": f.remedy}))
            .collect();
        out.value(&json!({"healthy": !report.has_errors(), "findings": findings}));
        return;
    }
    for finding in &report.0 {
        out.line(format_args!(
            "{:<8} {}: {}",
            word(finding.level),
            finding.about,
            finding.says
        ));
        if !finding.remedy.is_empty() {
            out.line(format_args!("{:8}   remedy: {}", "", finding.remedy));
        }
    }
}
