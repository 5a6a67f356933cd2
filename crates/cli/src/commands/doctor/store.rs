//! The data folder and the store in it: its keys, its rows, its clock, where it came from, and who holds it.

use factum::Code;
use factum_store::Store;
use factum_store::sqlite::Opened;

use super::outboxes;
use super::report::Report;
use super::{disk, seals, served, waiting};
use crate::failure::Failure;
use crate::local::{CLOCK_BEHIND_MAX, open_store};
use crate::place::{self, Place};
use crate::render;

/// The first SQLite line without the bug that can lose a part of the log (3.7.0 to 3.51.2 have it).
const SQLITE_LEAST: i32 = 3_051_003;

pub(super) async fn look(place: &Place, report: &mut Report) -> Result<(), Failure> {
    if place.is_postgres() {
        return database(place, report).await;
    }
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
    disk::look(&store, report);
    match open_store(place) {
        Ok((opened, _, custody)) => {
            rows(&opened, report).await?;
            seals::look(place, &opened, &custody, report).await?;
            restore(&opened, report).await?;
            waiting::look(&opened, report).await?;
            outboxes::look(place, &opened, report).await?;
            Ok(opened.store.close().await?)
        }
        Err(failure) if failure.code() == Some(Code::StoreHeld) => {
            seals::look_aside(place, report)?;
            match place::holder_address(&place.home()?) {
                Some(address) => served::look(&address, report).await,
                None => {
                    let says = render::text(&failure.problem, "rule");
                    let says = format!("{says}; it says no address, so its rows are not checked");
                    let remedy = "stop that process to have them checked";
                    report.warning("store", says, remedy);
                    Ok(())
                }
            }
        }
        Err(failure) => {
            report.failure("store", &failure);
            Ok(())
        }
    }
}

/// A store in PostgreSQL has no file here: its keys are looked for, and the server that `FACTUM_URL` names is asked.
async fn database(place: &Place, report: &mut Report) -> Result<(), Failure> {
    let keys = place.home()?.key_file();
    if keys.exists() {
        report.ok("keys", format!("{} is there", keys.display()));
        seals::look_aside(place, report)?;
    } else {
        let says = format!("{} is not there", keys.display());
        let remedy = "every worker needs the same keys: copy store.folder from another one, unless this is the first";
        report.warning("keys", says, remedy);
    }
    match place::url() {
        Some(address) => served::look(&address, report).await,
        None => {
            let says =
                "the store is a database server, and FACTUM_URL names no worker to ask about it";
            let remedy = "set FACTUM_URL to a worker's address";
            report.warning("store", says, remedy);
            Ok(())
        }
    }
}

async fn rows(opened: &Opened, report: &mut Report) -> Result<(), Failure> {
    let verified = opened.store.verify_all().await?;
    if verified.is_sound() {
        let says = format!(
            "{} actions and {} records of evidence are as they were written",
            verified.actions, verified.records
        );
        report.ok("store", says);
    }
    for found in &verified.findings {
        let remedy = "actions that are damaged are held and the others go on; restore a backup, then `factum admin after-restore`";
        let says = format!("{} is damaged: {}", found.what, found.how);
        report.error("store", says, remedy);
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

pub(super) fn sqlite(report: &mut Report) {
    if rusqlite::version_number() >= SQLITE_LEAST {
        report.ok("sqlite", format!("version {}", rusqlite::version()));
    } else {
        let says = format!("version {} can lose a part of its log", rusqlite::version());
        report.error("sqlite", says, "build with SQLite 3.51.3 or newer");
    }
}
