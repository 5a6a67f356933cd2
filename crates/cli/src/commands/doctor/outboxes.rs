//! Outbox files: there, with an outbox, bound to this store, and without refused rows.

use std::path::Path;

use factum_store::Store;
use factum_store::sqlite::Opened;
use serde_json::Value;

use super::report::Report;
use crate::failure::Failure;
use crate::place::Place;

/// Outbox files: there, with an outbox, and bound to this store.
pub(super) async fn look(
    place: &Place,
    opened: &Opened,
    report: &mut Report,
) -> Result<(), Failure> {
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
