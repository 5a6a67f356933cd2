//! A whole store as JSON Lines: to move it to another backend, and back. Both backends write the same bytes for the same contents.
//!
//! The first line says what it is and proves the keys; the last counts what came before it, and carries a keyed digest over it. A file that
//! was cut, changed, or made with other keys is refused whole. What is not moved: claims and workers, which belong to processes; the
//! rows of an outbox and the roles of applications, which belong to a database.

mod graves;

use std::io::{BufRead, Write};
use std::sync::Arc;

use factum_core::{
    ActionId, Evidence, EvidenceId, Fingerprint, IdentityHash, Known, Lane, Span, Timestamp,
};
use serde::{Deserialize, Serialize};

pub(crate) use self::graves::{ScopeLine, TombstoneLine};
use crate::encoding::{
    Fixed, NEWEST, fact_text, head_text, hex, read_fact, read_head, read_readings, readings_text,
    unhex,
};
use crate::keys::StoreKeys;
use crate::record::{IMPORTED_AT, NextRow, RETIRED, Record, Restore};
use crate::register::{Changed, Entry, EntryKey, EntryVersion, Kind};
use crate::report::{KeptReport, Report, ReportId, Site};
use crate::seal::SEALED_WITH;
use crate::{StoreError, StoreErrorKind};

/// The form of the lines.
const FORMAT: u32 = 1;

/// Settings that belong to a place, and are not moved: `origin` is the cluster that a database is on. What is moved is sealed anew where
/// it comes to.
const LEFT_BEHIND: [&str; 4] = [RETIRED, IMPORTED_AT, SEALED_WITH, "origin"];

/// How far the clock here may run behind the last instant of what is moved (R11).
const BEHIND_MAX: Span = Span::from_secs(30);

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Line {
    Factum {
        format: u32,
        /// A keyed check: whether these are the keys that the hashes inside were made with.
        keys: String,
        /// The store takes nothing any more, so that nobody else acts on the same intents.
        retired: bool,
    },
    Contract {
        digest: String,
        text: String,
    },
    Setting {
        name: String,
        value: String,
    },
    Restore(RestoreLine),
    Edition(u64),
    Entry(EntryLine),
    Action(Box<ActionLine>),
    Twin(TwinLine),
    Scope(ScopeLine),
    Tombstone(Box<TombstoneLine>),
    Report(ReportLine),
    End {
        counts: Counts,
        digest: String,
    },
}

/// The last restore.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RestoreLine {
    pub(crate) copy_until: i64,
    pub(crate) at: i64,
    pub(crate) released_by: Option<String>,
    pub(crate) released_at: Option<i64>,
}

/// An entry of the register with all its versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EntryLine {
    lane: u8,
    kind: String,
    tenant: String,
    id: String,
    label: Option<String>,
    due: Option<i64>,
    /// Body, when, by whom, why: from the first version to the one that stands.
    versions: Vec<(String, i64, String, String)>,
}

/// An action, how it stands, and its log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ActionLine {
    pub(crate) id: String,
    identity: String,
    fingerprint: String,
    contract: String,
    params: String,
    payload: String,
    head: String,
    version: u64,
    next: (String, Option<i64>, String),
    /// Number, instant, fact.
    evidence: Vec<(u64, i64, String)>,
    /// Names by which reports find it.
    names: Vec<String>,
}

/// An action, its log, and its names as they are indexed.
pub(crate) type WholeAction = (Record, Vec<Evidence>, Vec<[u8; 32]>);

/// Actions of equal content in one scope that may hold another one off (R16).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TwinLine {
    digest: String,
    actions: Vec<String>,
}

/// The same as values.
pub(crate) struct Twins {
    pub(crate) digest: [u8; 32],
    pub(crate) actions: Vec<ActionId>,
}

impl TwinLine {
    pub(crate) fn of(row: &Twins) -> Self {
        Self {
            digest: hex(&row.digest),
            actions: row.actions.iter().map(ToString::to_string).collect(),
        }
    }

    /// The row, or what is wrong with it.
    pub(crate) fn read(self) -> Result<Twins, String> {
        let actions = self.actions.iter().map(|id| action_id(id));
        Ok(Twins {
            digest: bytes(&self.digest)?,
            actions: actions.collect::<Result<_, _>>()?,
        })
    }
}

/// A destination's report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReportLine {
    pub(crate) no: u64,
    pub(crate) id: String,
    pub(crate) at: i64,
    pub(crate) tenant: String,
    pub(crate) destination: String,
    pub(crate) readings: String,
    pub(crate) body: String,
    pub(crate) action: Option<String>,
}

/// What was moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counts {
    /// Actions.
    pub actions: u64,
    /// Pieces of evidence.
    pub evidence: u64,
    /// Reports of destinations.
    pub reports: u64,
    /// Entries of the register.
    pub entries: u64,
    /// Settings.
    pub settings: u64,
    /// Texts of contracts.
    pub contracts: u64,
    /// Rows of the twin guard; an older export has none.
    #[serde(default)]
    pub twins: u64,
    /// Actions of which only a tombstone is left; an older export has none.
    #[serde(default)]
    pub tombstones: u64,
}

impl Counts {
    fn add(&mut self, line: &Line) {
        match line {
            Line::Factum { .. } | Line::Restore(_) | Line::Edition(_) | Line::End { .. } => {}
            Line::Twin(_) => self.twins += 1,
            Line::Scope(_) => {}
            Line::Tombstone(_) => self.tombstones += 1,
            Line::Contract { .. } => self.contracts += 1,
            Line::Setting { .. } => self.settings += 1,
            Line::Entry(_) => self.entries += 1,
            Line::Action(action) => {
                self.actions += 1;
                self.evidence += u64::try_from(action.evidence.len()).unwrap_or(u64::MAX);
            }
            Line::Report(_) => self.reports += 1,
        }
    }
}

impl ActionLine {
    pub(crate) fn of(record: &Record, evidence: &[Evidence], names: &[[u8; 32]]) -> Self {
        let (action, next) = (&record.action, &record.next);
        let log = |one: &Evidence| (one.id.0, one.at.as_micros(), fact_text(&NEWEST, &one.fact));
        Self {
            id: record.id().to_string(),
            identity: hex(&action.identity_hash.0),
            fingerprint: hex(&action.fingerprint.0),
            contract: hex(&action.content.contract),
            params: action.content.params.clone(),
            payload: action.content.payload.clone(),
            head: head_text(&NEWEST, action),
            version: record.version,
            next: (
                next.step.clone(),
                next.at.map(Timestamp::as_micros),
                next.why.clone(),
            ),
            evidence: evidence.iter().map(log).collect(),
            names: names.iter().map(|name| hex(name)).collect(),
        }
    }

    /// The action, its log and its names, or what is wrong with them.
    pub(crate) fn read(self) -> Result<WholeAction, String> {
        let fixed = Fixed {
            id: action_id(&self.id)?,
            identity: IdentityHash(bytes(&self.identity)?),
            fingerprint: Fingerprint(bytes(&self.fingerprint)?),
            contract: bytes(&self.contract)?,
            params: self.params,
            payload: self.payload,
        };
        let action = read_head(&NEWEST, &self.head, fixed)?;
        let log = |(no, at, fact): (u64, i64, String)| {
            Ok::<_, String>(Evidence {
                id: EvidenceId(no),
                at: Timestamp::from_micros(at),
                fact: read_fact(&NEWEST, &fact)?,
            })
        };
        let evidence: Vec<Evidence> = self
            .evidence
            .into_iter()
            .map(log)
            .collect::<Result<_, _>>()?;
        let names = self.names.iter().map(|name| bytes(name));
        let record = Record {
            known: Known::fold(&evidence),
            overtaken: false,
            chain: None,
            action: Arc::new(action),
            version: self.version,
            next: NextRow {
                step: self.next.0,
                at: self.next.1.map(Timestamp::from_micros),
                why: self.next.2,
            },
        };
        Ok((record, evidence, names.collect::<Result<_, _>>()?))
    }
}

impl EntryLine {
    pub(crate) fn of(entry: &Entry, versions: Vec<EntryVersion>) -> Self {
        let key = &entry.key;
        let version = |one: EntryVersion| {
            let changed = one.changed;
            (one.body, changed.at.as_micros(), changed.by, changed.why)
        };
        Self {
            lane: key.lane().0,
            kind: key.kind.word().to_owned(),
            tenant: key.tenant.clone(),
            id: key.id.clone(),
            label: entry.label.clone(),
            due: entry.due.map(Timestamp::as_micros),
            versions: versions.into_iter().map(version).collect(),
        }
    }

    /// The entry and its versions, or what is wrong with them.
    pub(crate) fn read(self) -> Result<(Entry, Vec<EntryVersion>), String> {
        let kind = Kind::ALL.into_iter().find(|kind| kind.word() == self.kind);
        let kind = kind.ok_or_else(|| format!("{:?} is no kind of entry", self.kind))?;
        let version = |(number, (body, at, by, why))| EntryVersion {
            version: number,
            body,
            changed: Changed {
                at: Timestamp::from_micros(at),
                by,
                why,
            },
        };
        let versions: Vec<EntryVersion> = (1..).zip(self.versions).map(version).collect();
        let last = versions.last().cloned().ok_or("it has no version")?;
        let entry = Entry {
            key: EntryKey::beside(Lane(self.lane), kind, self.tenant, self.id),
            version: last.version,
            body: last.body,
            label: self.label,
            due: self.due.map(Timestamp::from_micros),
            changed: last.changed,
        };
        Ok((entry, versions))
    }
}

impl RestoreLine {
    pub(crate) fn of(restore: &Restore) -> Self {
        let released = restore.released.as_ref();
        Self {
            copy_until: restore.copy_until.as_micros(),
            at: restore.at.as_micros(),
            released_by: released.map(|(by, _)| by.clone()),
            released_at: released.map(|(_, at)| at.as_micros()),
        }
    }

    pub(crate) fn read(self) -> Restore {
        Restore {
            copy_until: Timestamp::from_micros(self.copy_until),
            at: Timestamp::from_micros(self.at),
            released: self
                .released_by
                .zip(self.released_at.map(Timestamp::from_micros)),
        }
    }
}

/// A report as it is kept, or what is wrong with the line.
pub(crate) fn kept_report(line: ReportLine) -> Result<KeptReport, String> {
    Ok(KeptReport {
        no: line.no,
        at: Timestamp::from_micros(line.at),
        report: Report {
            id: ReportId(bytes(&line.id)?),
            site: Site {
                tenant: line.tenant,
                destination: line.destination,
            },
            readings: read_readings(&NEWEST, &line.readings)?,
            body: unhex(&line.body).ok_or("its body is not hexadecimal")?,
        },
        action: line.action.as_deref().map(action_id).transpose()?,
    })
}

/// A report's line.
pub(crate) fn report_line(kept: &KeptReport) -> ReportLine {
    let report = &kept.report;
    ReportLine {
        no: kept.no,
        id: hex(&report.id.0),
        at: kept.at.as_micros(),
        tenant: report.site.tenant.clone(),
        destination: report.site.destination.clone(),
        readings: readings_text(&NEWEST, &report.readings),
        body: hex(&report.body),
        action: kept.action.map(|id| id.to_string()),
    }
}

pub(crate) fn action_id(text: &str) -> Result<ActionId, String> {
    text.parse().map_err(|error| format!("{text:?}: {error}"))
}

pub(crate) fn bytes<const N: usize>(text: &str) -> Result<[u8; N], String> {
    let bytes = unhex(text).and_then(|bytes| bytes.try_into().ok());
    bytes.ok_or_else(|| format!("{text:?} is not {N} bytes in hexadecimal"))
}

/// The last instant that a store of these lines knows of, and so the least that its clock may show.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Newest(Timestamp);

impl Newest {
    pub(crate) fn new() -> Self {
        Self(Timestamp::EARLIEST)
    }

    pub(crate) fn see(&mut self, at: Timestamp) {
        self.0 = self.0.max(at);
    }

    pub(crate) fn last(self) -> Timestamp {
        self.0
    }

    /// Refuses a clock that runs behind what is moved: bounds would be too short by it (R11).
    pub(crate) fn check(self, now: Timestamp) -> Result<(), StoreError> {
        if self.0 <= now + BEHIND_MAX {
            return Ok(());
        }
        let behind = self.0.since(now);
        Err(refused(format!(
            "the clock here runs {behind} behind the last instant in the export; set it first"
        )))
    }
}

const DOING: &str = "moving a store";

pub(crate) fn refused(why: String) -> StoreError {
    let path = "the store".to_owned();
    StoreError::new(DOING, StoreErrorKind::Unsuitable { path, why })
}

/// Refuses a store that is in use already.
pub(crate) fn check_empty(actions: bool, reports: bool, entries: bool) -> Result<(), StoreError> {
    if !(actions || reports || entries) {
        return Ok(());
    }
    let why = "something is recorded in it already; an export is put into an empty store only";
    Err(refused(why.to_owned()))
}

/// Refuses to open a store for work that was moved.
pub(crate) fn check_in_use(retired: Option<String>) -> Result<(), StoreError> {
    match retired {
        None => Ok(()),
        Some(by) => Err(refused(format!(
            "it was moved by {by}, and takes nothing any more; use the store that it was moved to, or export it again"
        ))),
    }
}

pub(crate) fn failed(error: &std::io::Error) -> StoreError {
    let kind = StoreErrorKind::Unavailable(format!("the export's file: {error}"));
    StoreError::new(DOING, kind)
}

pub(crate) fn is_moved(setting: &str) -> bool {
    !LEFT_BEHIND.contains(&setting)
}

fn hasher(keys: &StoreKeys) -> blake3::Hasher {
    blake3::Hasher::new_keyed(&blake3::derive_key("factum store 2026 export v1", &keys.0))
}

/// Writes lines.
pub(crate) struct Writer<'a> {
    out: &'a mut (dyn Write + Send),
    hasher: blake3::Hasher,
    counts: Counts,
}

impl<'a> Writer<'a> {
    pub(crate) fn begin(
        out: &'a mut (dyn Write + Send),
        keys: &StoreKeys,
        retired: bool,
    ) -> Result<Self, StoreError> {
        let mut writer = Self {
            out,
            hasher: hasher(keys),
            counts: Counts::default(),
        };
        writer.line(&Line::Factum {
            format: FORMAT,
            keys: hex(&hasher(keys).finalize().as_bytes()[..16]),
            retired,
        })?;
        Ok(writer)
    }

    pub(crate) fn line(&mut self, line: &Line) -> Result<(), StoreError> {
        let text = serde_json::to_string(line).map_err(|error| failed(&error.into()))? + "\n";
        self.counts.add(line);
        self.hasher.update(text.as_bytes());
        self.out
            .write_all(text.as_bytes())
            .map_err(|error| failed(&error))
    }

    pub(crate) fn end(mut self) -> Result<Counts, StoreError> {
        let digest = self.hasher.finalize().to_hex().to_string();
        let counts = self.counts;
        self.line(&Line::End { counts, digest })?;
        self.out.flush().map_err(|error| failed(&error))?;
        Ok(counts)
    }
}

/// An export that is read, line by line. What is wrong with it is an error in its place; the end is checked before the last item.
pub struct Import {
    lines: Box<dyn BufRead + Send>,
    hasher: blake3::Hasher,
    counts: Counts,
    number: u64,
    retired: bool,
    ended: bool,
}

impl Import {
    /// Begins to read an export.
    ///
    /// # Errors
    /// `Unsuitable` if it is none, of another form, or made with other keys.
    pub fn begin(lines: Box<dyn BufRead + Send>, keys: &StoreKeys) -> Result<Self, StoreError> {
        let mut import = Self {
            lines,
            hasher: hasher(keys),
            counts: Counts::default(),
            number: 0,
            retired: false,
            ended: false,
        };
        let wanted = hex(&hasher(keys).finalize().as_bytes()[..16]);
        match import.read()? {
            Some(Line::Factum { format, .. }) if format != FORMAT => Err(import.wrong(&format!(
                "it has form {format}, and this program reads form {FORMAT}"
            ))),
            Some(Line::Factum { keys, .. }) if keys != wanted => Err(import.wrong(
                "it was made with other keys; put the keys folder of that store beside this one first",
            )),
            Some(Line::Factum { retired, .. }) => {
                import.retired = retired;
                Ok(import)
            }
            _ => Err(import.wrong("it does not begin as an export of a store does")),
        }
    }

    /// Whether the exported store takes nothing any more.
    #[must_use]
    pub fn is_retired(&self) -> bool {
        self.retired
    }

    /// What was read so far; all of it once there are no more lines.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The next line; none behind the last one, which is checked.
    pub(crate) fn next(&mut self) -> Result<Option<Line>, StoreError> {
        let digest = self.hasher.finalize().to_hex().to_string();
        match self.read()? {
            None if self.ended => Ok(None),
            None => Err(self.wrong("it ends before its last line: it was cut off")),
            Some(_) if self.ended => Err(self.wrong("something stands behind its last line")),
            Some(Line::End { counts, .. }) if counts != self.counts => {
                Err(self.wrong("it does not hold as many lines as its last line counts"))
            }
            Some(Line::End { digest: said, .. }) if said != digest => {
                Err(self.wrong("it is not what was written: its digest is another one"))
            }
            Some(Line::End { .. }) => {
                self.ended = true;
                self.next()
            }
            Some(Line::Factum { .. }) => Err(self.wrong("a second export begins")),
            Some(line) => {
                self.counts.add(&line);
                Ok(Some(line))
            }
        }
    }

    fn read(&mut self) -> Result<Option<Line>, StoreError> {
        let mut text = String::new();
        let read = self.lines.read_line(&mut text);
        if read.map_err(|error| failed(&error))? == 0 {
            return Ok(None);
        }
        self.number += 1;
        self.hasher.update(text.as_bytes());
        serde_json::from_str(&text)
            .map(Some)
            .map_err(|error| self.wrong(&format!("it cannot be read: {error}")))
    }

    /// The error for what is wrong at the line that was read last.
    pub(crate) fn wrong(&self, why: &str) -> StoreError {
        refused(format!("line {} of the export: {why}", self.number))
    }
}
