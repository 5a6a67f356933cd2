//! Release Desk: publishes release notes, and announces each of them in a channel that may lose its answer.
//!
//! The release and the intent to announce it are written in one transaction of the application's own SQLite file, or of its own
//! PostgreSQL database. An engine picks the intent up from there and carries it out; this crate never talks to the channel. What it shows about an
//! announcement is always true: [`status_line`] says no more than the engine knows.

mod notes;
mod postgres;

use std::path::Path;

use factum::Submission;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use serde_json::value::to_raw_value;

pub use notes::{Note, approved_notes};
pub use postgres::{DatabaseError, PostgresDesk};

const SCHEMA: &str = "create table if not exists releases (
    name   text primary key,
    date   text not null,
    note   text not null,
    intent integer not null
)";

/// Where announcements go: a configured destination and one of its operations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel {
    /// The destination's name in the engine's configuration.
    pub destination: String,
    /// What is done there.
    pub operation: String,
}

/// Why a note was not published. Nothing was written then.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// The application's file.
    #[error("the release could not be written: {0}")]
    File(#[from] rusqlite::Error),
    /// The announcement.
    #[error("the announcement could not be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// The application: its file, and the channel where it announces.
pub struct ReleaseDesk {
    file: Connection,
    channel: Channel,
}

/// A published release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// What it is called.
    pub name: String,
    /// The identity of its announcement: by this key the engine is asked.
    pub key: String,
    /// The problem, where the engine refused the intent. It was never sent then.
    pub refused: Option<String>,
}

/// What is known about the announcement at this moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The engine could not be asked.
    NotAsked,
    /// The engine has not picked the intent up yet.
    NotPickedUp,
    /// The engine's status object.
    Known {
        /// One of the nine states.
        state: String,
        /// What the engine does next.
        next: String,
        /// The channel's reference.
        reference: Option<String>,
        /// Why it ended as it did.
        because: Option<String>,
    },
}

impl ReleaseDesk {
    /// Opens the application's file, and makes its tables and the outbox where they are missing.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn open(path: &Path, channel: Channel) -> rusqlite::Result<Self> {
        let file = Connection::open(path)?;
        // The engine writes to the outbox of the same file; a writer waits for the other.
        file.busy_timeout(std::time::Duration::from_secs(5))?;
        file.pragma_update(None, "journal_mode", "wal")?;
        file.execute_batch(SCHEMA)?;
        factum::outbox::prepare(&file)?;
        Ok(Self { file, channel })
    }

    /// Publishes a note and records the intent to announce it: both, or nothing. False if it was published before;
    /// nothing is written then, so that publishing again announces nothing again.
    ///
    /// # Errors
    /// [`PublishError`]; nothing was written.
    pub fn publish(&mut self, note: &Note) -> Result<bool, PublishError> {
        let intent = serde_json::to_string(&announcement(&self.channel, note)?)?;
        // A transaction that reads first and writes then is refused, without a wait, if the engine wrote between: it begins as a writer.
        let transaction = self
            .file
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        let before = transaction
            .query_row(
                "select 1 from releases where name = ?1",
                [&note.name],
                |_| Ok(()),
            )
            .optional()?;
        if before.is_some() {
            return Ok(false);
        }
        let row = factum::outbox::insert(&transaction, &intent)?;
        transaction.execute(
            "insert into releases (name, date, note, intent) values (?1, ?2, ?3, ?4)",
            params![note.name, note.date, note.text, row],
        )?;
        transaction.commit()?;
        Ok(true)
    }

    /// Everything that is published, oldest first.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn releases(&self) -> rusqlite::Result<Vec<Release>> {
        let mut rows = self.file.prepare_cached(
            "select name, problem from releases join factum_outbox on factum_outbox.id = releases.intent order by intent",
        )?;
        let releases = rows.query_map([], |row| {
            let name: String = row.get(0)?;
            Ok(Release {
                key: key(&name),
                name,
                refused: row.get(1)?,
            })
        })?;
        releases.collect()
    }

    /// The channel where it announces.
    #[must_use]
    pub fn channel(&self) -> &Channel {
        &self.channel
    }
}

/// The intent: named by what causes it, never by the time, so that a repeat of the same release joins.
fn announcement(channel: &Channel, note: &Note) -> serde_json::Result<Submission> {
    let key = key(&note.name);
    let payload = serde_json::json!({
        "business": key,
        "title": format!("Release {}", note.name),
        "date": note.date,
        "text": note.text,
    });
    Ok(Submission {
        destination: channel.destination.clone(),
        operation: channel.operation.clone(),
        key: Some(key),
        payload: Some(to_raw_value(&payload)?),
        summary: Some(format!("Announce release {}", note.name)),
        ..Submission::default()
    })
}

fn key(name: &str) -> String {
    format!("release/{name}/announcement")
}

/// The line that is shown for a release. It claims nothing that is not known.
#[must_use]
pub fn status_line(release: &Release, standing: &Standing) -> String {
    if let Some(problem) = &release.refused {
        return format!("published; not announced, the intent was refused: {problem}");
    }
    let (state, next, reference, because) = match standing {
        Standing::NotAsked => {
            return "published; what became of the announcement cannot be asked just now"
                .to_owned();
        }
        Standing::NotPickedUp => return "published; announcement pending".to_owned(),
        Standing::Known {
            state,
            next,
            reference,
            because,
        } => (state.as_str(), next.as_str(), reference, because),
    };
    match state {
        "pending" | "retryable_failure" if next == "review" => {
            "published; a colleague decides about the announcement".to_owned()
        }
        "pending" | "retryable_failure" => "published; announcement pending".to_owned(),
        "dispatching" => "published; the announcement is on its way".to_owned(),
        "accepted" => {
            "published; the channel has taken the announcement and not confirmed it".to_owned()
        }
        "succeeded" => match reference {
            Some(reference) => format!("published; announced as {reference}"),
            None => "published; announced".to_owned(),
        },
        "terminal_failure" | "cancelled" | "expired" => match because {
            Some(because) => format!("published; not announced: {because}"),
            None => "published; not announced".to_owned(),
        },
        _ if next == "review" => {
            "published; whether it was announced is not known, a colleague is checking".to_owned()
        }
        _ if next == "none" => {
            "published; whether it was announced can no longer be found out".to_owned()
        }
        _ => "published; whether it was announced is being checked".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn desk(folder: &Path) -> ReleaseDesk {
        let channel = Channel {
            destination: "announcements".to_owned(),
            operation: "lagging.sync".to_owned(),
        };
        ReleaseDesk::open(&folder.join("app.db"), channel).unwrap()
    }

    fn note() -> Note {
        Note {
            name: "0.1.0".to_owned(),
            date: "2026-11-29".to_owned(),
            text: "first".to_owned(),
        }
    }

    #[test]
    fn a_release_and_its_intent_are_written_together_and_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut desk = desk(folder.path());
        assert!(desk.publish(&note()).unwrap());
        assert!(
            !desk.publish(&note()).unwrap(),
            "the second time nothing is written"
        );
        let intents: i64 = desk
            .file
            .query_row("select count(*) from factum_outbox", [], |row| row.get(0))
            .unwrap();
        assert_eq!(intents, 1);
        assert_eq!(
            desk.releases().unwrap()[0].key,
            "release/0.1.0/announcement"
        );
    }

    #[test]
    fn without_the_outbox_nothing_is_published() {
        let folder = tempfile::tempdir().unwrap();
        let mut desk = desk(folder.path());
        desk.file.execute_batch("drop table factum_outbox").unwrap();
        assert!(desk.publish(&note()).is_err());
        let releases: i64 = desk
            .file
            .query_row("select count(*) from releases", [], |row| row.get(0))
            .unwrap();
        assert_eq!(releases, 0, "the release rolls back with its intent");
    }

    #[test]
    fn the_line_claims_only_what_is_known() {
        let release = Release {
            name: "1".to_owned(),
            key: key("1"),
            refused: None,
        };
        let line = |state: &str, next: &str, reference: Option<&str>| {
            let known = Standing::Known {
                state: state.to_owned(),
                next: next.to_owned(),
                reference: reference.map(str::to_owned),
                because: None,
            };
            status_line(&release, &known)
        };
        assert_eq!(
            status_line(&release, &Standing::NotPickedUp),
            "published; announcement pending"
        );
        assert_eq!(
            line("succeeded", "none", Some("T-000012")),
            "published; announced as T-000012"
        );
        assert_eq!(
            line("outcome_unknown", "look_up", None),
            "published; whether it was announced is being checked"
        );
        assert_eq!(
            line("outcome_unknown", "review", None),
            "published; whether it was announced is not known, a colleague is checking"
        );
        for state in ["dispatching", "accepted", "outcome_unknown"] {
            for next in ["send", "look_up", "poll", "wait", "review", "none"] {
                let line = line(state, next, None);
                assert!(
                    !line.contains("announced as") && !line.contains("not announced"),
                    "{state}, {next}: {line}"
                );
            }
        }
    }
}
