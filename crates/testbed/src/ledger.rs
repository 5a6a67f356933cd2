//! The ledger: one row for everything that happened to a request, appended before anybody can see its effect.
//!
//! In a file it is one JSON object per line. A row is handed to the kernel before it is applied, so it survives the
//! death of the process; nothing is flushed to the disk, so it may not survive the death of the machine. A last line
//! without its end is what a killed process leaves behind and is dropped at the next start. The rows are the only
//! state: keys, jobs, effects and cancelled keys are rebuilt from them.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::Path;

use factum_faults::Fault;
use serde::{Deserialize, Serialize};

use crate::error::Error;

pub use operation::Operation;

mod operation;

/// A kind of destination. Written as its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Deduplicates by an idempotency key within a window.
    Key,
    /// Cancels by key; does not deduplicate.
    Cancel,
    /// Has a complete search.
    Lookup,
    /// Has a search that lags and may be cut.
    Lagging,
    /// Promises nothing.
    Neither,
    /// The place that redirects point to. Nothing is done there; it shows who follows.
    Elsewhere,
    /// Stands in for this operation of the catalogue.
    StandIn(Operation),
}

impl Serialize for Kind {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Kind, D::Error> {
        let name = String::deserialize(deserializer)?;
        let kind = match name.as_str() {
            "elsewhere" => Some(Kind::Elsewhere),
            name => Kind::from_name(name),
        };
        kind.ok_or_else(|| serde::de::Error::custom(format!("{name} is no kind")))
    }
}

impl Kind {
    /// The five kinds that carry out effects.
    pub const ALL: &[Kind] = &[
        Kind::Key,
        Kind::Cancel,
        Kind::Lookup,
        Kind::Lagging,
        Kind::Neither,
    ];

    /// The word in paths and rows.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Key => "key",
            Kind::Cancel => "cancel",
            Kind::Lookup => "lookup",
            Kind::Lagging => "lagging",
            Kind::Neither => "neither",
            Kind::Elsewhere => "elsewhere",
            Kind::StandIn(operation) => operation.name(),
        }
    }

    /// The kind of this name that carries out effects, if there is one: one of the five, or `provider.operation`.
    pub fn from_name(name: &str) -> Option<Kind> {
        let one = Kind::ALL.iter().copied().find(|kind| kind.name() == name);
        one.or_else(|| Operation::named(name).map(Kind::StandIn))
    }
}

/// Whether a destination acts before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The answer says that the effect exists.
    Sync,
    /// The answer says that a job was taken; the effect lands later.
    Queued,
}

impl Mode {
    /// Both modes.
    pub const ALL: &[Mode] = &[Mode::Sync, Mode::Queued];

    /// The word in paths and rows.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Sync => "sync",
            Mode::Queued => "queued",
        }
    }

    /// The mode of this name, if there is one.
    pub fn from_name(name: &str) -> Option<Mode> {
        Mode::ALL.iter().copied().find(|mode| mode.name() == name)
    }
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The effect landed. Counting these counts effects, less those in `cancelled` rows.
    Effect,
    /// A request was begun and lands at `due`: slow, or committed after its connection was closed.
    Begun,
    /// A job was taken; its effect lands at `due`.
    Queued,
    /// A job ended without effect.
    FailedJob,
    /// Rejected but recorded: no effect, `id` names the record.
    Declined,
    /// Answered without doing anything; `status` and `code` say how.
    Refused,
    /// The stored answer was given again under its key.
    Replayed,
    /// A key was cancelled, or an effect was undone by its id; `ids` are the effects and jobs that ended by it.
    Cancelled,
    /// A request arrived and was dropped without doing anything.
    Dropped,
    /// Somebody followed a redirect.
    Elsewhere,
}

/// How a scripted request wants to be treated; the body's member `behave`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Behave {
    Reject,
    Decline,
    CompleteThenFail,
    Slow,
    OkFalse,
}

/// One row of the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// The row's number, from 1, without gaps.
    pub seq: u64,
    /// When, by the testbed's clock: microseconds since 1970, UTC. Never falls.
    pub at: i64,
    /// The kind of destination.
    pub kind: Kind,
    /// Its mode.
    pub mode: Mode,
    /// What happened.
    pub event: Event,
    /// The effect's or record's id, such as `T-000123`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The job's id, such as `J-17`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// The text that effects are counted by.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub business: String,
    /// The caller's marker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// FNV-1a 64 over the body, in hexadecimal. It tells bodies apart by accident only: it is not cryptographic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// For what follows from an earlier row (`begun`, `queued`, `replayed`): that row's `seq`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<u64>,
    /// When it lands, in the unit of `at`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<i64>,
    /// The status of a refusal, or of the error that is stored under the key in place of the true answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The code of a refusal or the reason of a failed job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The ids that a cancel or an undoing ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<String>,
    /// The script of the request, where it still has to be played.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) behave: Option<Behave>,
    /// The fault that the request was hit by, as a rule names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// What happens to the report of this effect. Drawn when the request arrives; a restarted testbed has forgotten it.
    #[serde(skip)]
    pub(crate) callback: Option<Fault>,
    /// What arrived at a stand-in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<Box<Sent>>,
    /// Whether the row stands for one effect request that came over the wire. Counting these counts deliveries.
    #[serde(default, skip_serializing_if = "is_false")]
    pub wire: bool,
    /// Whether the true answer was lost, spoiled or held back by the fault.
    #[serde(default, skip_serializing_if = "is_false")]
    pub lost: bool,
}

/// An effect request as it arrived at a stand-in, without its credential.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// The method.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// The headers; names in lower case. The one that carries a credential is left out.
    pub headers: Vec<(String, String)>,
    /// The body; bytes that are no text are replaced.
    pub body: String,
    /// Where the key is known, and the key: two requests of one space and key are repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space: Option<String>,
    /// A hash of what is compared with other requests under the same key.
    pub compared: String,
    /// The condition that it was checked by, and what for: it is good for one effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// What became of it stays under its key.
    #[serde(default, skip_serializing_if = "is_false")]
    pub stored: bool,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes the member by reference"
)]
fn is_false(value: &bool) -> bool {
    !*value
}

/// Where rows are kept. Appending is all or nothing.
#[derive(Debug)]
pub(crate) struct Ledger {
    rows: Vec<Row>,
    file: Option<File>,
    length: u64,
}

impl Ledger {
    pub(crate) fn in_memory() -> Ledger {
        Ledger {
            rows: Vec::new(),
            file: None,
            length: 0,
        }
    }

    /// Opens or makes the file, locks it against a second testbed, reads its rows and drops a torn last line.
    pub(crate) fn open(path: &Path) -> Result<Ledger, Error> {
        let failed = |source| Error::Ledger {
            path: path.to_owned(),
            source,
        };
        let mut options = OpenOptions::new();
        let mut file = options
            .read(true)
            .append(true)
            .create(true)
            .open(path)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(Error::LedgerInUse(path.to_owned())),
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed)?;
        let whole = bytes
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |end| end + 1);
        let length = whole as u64;
        if whole < bytes.len() {
            file.set_len(length).map_err(failed)?;
        }
        let mut rows = Vec::new();
        let lines = bytes[..whole].split(|byte| *byte == b'\n').enumerate();
        for (index, line) in lines.filter(|(_, line)| !line.is_empty()) {
            let row: Row = serde_json::from_slice(line).map_err(|source| Error::LedgerDamaged {
                path: path.to_owned(),
                line: index + 1,
                source,
            })?;
            if row.seq != rows.len() as u64 + 1 {
                return Err(Error::LedgerGap {
                    path: path.to_owned(),
                    line: index + 1,
                    seq: row.seq,
                });
            }
            rows.push(row);
        }
        Ok(Ledger {
            rows,
            file: Some(file),
            length,
        })
    }

    pub(crate) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The row with this number.
    pub(crate) fn row(&self, seq: u64) -> Option<&Row> {
        let index = usize::try_from(seq.checked_sub(1)?).ok()?;
        self.rows.get(index)
    }

    /// Writes the row. After an error the ledger is as before, and what the row tells must not be done.
    pub(crate) fn append(&mut self, row: Row) -> io::Result<()> {
        if let Some(file) = &mut self.file {
            let mut line = serde_json::to_vec(&row)?;
            line.push(b'\n');
            if let Err(error) = file.write_all(&line) {
                // A part of the line would glue itself to the next row.
                file.set_len(self.length)?;
                return Err(error);
            }
            self.length += line.len() as u64;
        }
        self.rows.push(row);
        Ok(())
    }

    /// Lets go of the file.
    pub(crate) fn close(&mut self) {
        self.file = None;
    }

    /// Forgets every row.
    pub(crate) fn clear(&mut self) -> io::Result<()> {
        if let Some(file) = &mut self.file {
            file.set_len(0)?;
        }
        self.rows.clear();
        self.length = 0;
        Ok(())
    }
}
