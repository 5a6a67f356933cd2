//! Signed checkpoints: what a store held at one time, kept where whoever can write the store cannot.
//!
//! A checkpoint is a small signed file that names, for each day, a list by its SHA-256; the list says of each action that was made on that
//! day how long its chain was and where it ended. Lists lie beside the checkpoints and are written once: a day on which nothing
//! changed keeps its list. Each checkpoint holds the digest of the one before.
//!
//! `lists` writes and reads the lists, `exporter` makes checkpoints by itself.

mod exporter;
mod lists;

use std::fs;
use std::path::{Path, PathBuf};

use factum_core::{ActionId, Timestamp};
use factum_engine::{Code, Problem};
use factum_store::{Census, Head};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::home::hex;
use crate::signing::{KeySet, PublicKey, SigningKeys, check, unreadable};
use crate::view::rfc3339;

pub(crate) use exporter::Exporter;
use lists::{DayList, Days};

/// The kind of document.
pub const KIND: &str = "factum.checkpoint.v1";

/// Actions that are read at once.
pub const PAGE: usize = 5_000;

/// What stands in a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Which document this is.
    kind: String,
    /// The store's own name, in hexadecimal.
    pub store: String,
    /// Counts the checkpoints of one folder, from 1.
    pub number: u64,
    /// When it was made, by the store's clock (RFC 3339).
    pub at: String,
    /// Actions that the store held.
    pub actions: u64,
    /// Actions that retention had taken away.
    pub taken_away: u64,
    /// The lists, by day.
    days: Vec<DayList>,
    /// The SHA-256 of the file of the checkpoint before; none in the first of a folder.
    pub previous: Option<String>,
    /// The name of the key that signed it.
    pub key: String,
}

/// A checkpoint that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// Its file.
    pub file: PathBuf,
    /// Its number.
    pub number: u64,
    /// Actions in it.
    pub actions: u64,
    /// Lists that had to be written.
    pub lists_written: u64,
}

/// A checkpoint that is being made.
pub struct Making {
    folder: PathBuf,
    days: Days,
}

impl Making {
    /// Begins one in a folder, which is made where it is not there.
    ///
    /// # Errors
    /// F1163 if the folder cannot be written.
    pub fn begin(folder: &Path) -> Result<Self, Problem> {
        Ok(Self {
            folder: folder.to_owned(),
            days: Days::begin(folder)?,
        })
    }

    /// Adds the next actions, in the order of their ids; gives the last one, behind which to go on, or none at the end.
    ///
    /// # Errors
    /// F1163 if a list cannot be written.
    pub fn add(&mut self, heads: &[Head]) -> Result<Option<ActionId>, Problem> {
        self.days.add(heads)?;
        Ok(heads.last().map(|head| head.action))
    }

    /// Signs it and puts it into its place.
    ///
    /// # Errors
    /// F1163 if it cannot be written, F1160 without a signing key.
    pub fn end(
        self,
        keys: &SigningKeys,
        census: Census,
        now: Timestamp,
    ) -> Result<Exported, Problem> {
        let (days, lists_written) = self.days.end()?;
        let before = newest(&self.folder)?;
        let previous = match &before {
            Some((_, file)) => Some(digest_of(file)?),
            None => None,
        };
        let number = before.map_or(1, |(number, _)| number + 1);
        let actions = days.iter().map(|day| day.actions).sum();
        let document = json!({
            "kind": KIND, "store": hex(&census.store), "number": number, "at": rfc3339(now),
            "actions": actions, "taken_away": census.taken_away, "days": days, "previous": previous,
        });
        let Value::Object(members) = document else {
            return Err(unreadable("", "a checkpoint is an object".to_owned()));
        };
        let text = format!("{:#}\n", keys.sign(members)?);
        let file = file_of(&self.folder, number);
        lists::put(&file, text.as_bytes())?;
        Ok(Exported {
            file,
            number,
            actions,
            lists_written,
        })
    }
}

/// A checkpoint whose signature was checked, and where its lists lie.
#[derive(Clone, Debug)]
pub struct Checked {
    /// What stands in it.
    pub checkpoint: Checkpoint,
    /// Whose signature it carries.
    pub key: PublicKey,
    file: PathBuf,
}

/// Reads a checkpoint and checks its signature.
///
/// # Errors
/// F1162 if it is none, F1161 if none of the keys has signed it.
pub fn read(file: &Path, keys: &KeySet) -> Result<Checked, Problem> {
    let text = fs::read_to_string(file)
        .map_err(|error| unreadable("", format!("cannot read {}: {error}", file.display())))?;
    let authentic = check(&text, KIND, keys)?;
    let checkpoint = serde_json::from_value(Value::Object(authentic.members))
        .map_err(|error| unreadable("", error.to_string()))?;
    Ok(Checked {
        checkpoint,
        key: authentic.key,
        file: file.to_owned(),
    })
}

impl Checked {
    /// What the store held, in the order of ids. An item says so where a list is not the one that was signed.
    pub fn heads(&self) -> impl Iterator<Item = Result<Head, String>> + Send + 'static {
        let folder = self.folder().to_owned();
        let days = self.checkpoint.days.clone();
        days.into_iter().flat_map(move |day| day.heads(&folder))
    }

    /// The store's own name; none where it is not 16 bytes in hexadecimal.
    #[must_use]
    pub fn store(&self) -> Option<[u8; 16]> {
        u128::from_str_radix(&self.checkpoint.store, 16)
            .ok()
            .map(u128::to_be_bytes)
    }

    /// Checks its lists, and those before it as far as their files lie beside it; gives how many checkpoints were checked.
    ///
    /// # Errors
    /// F1161 or F1162 for the first that is not what was signed.
    pub fn follow(&self, keys: &KeySet) -> Result<u64, Problem> {
        for head in self.heads() {
            head.map_err(|rule| not_signed("/days", rule))?;
        }
        let (mut later, mut followed) = (self.clone(), 1);
        while let Some(wanted) = &later.checkpoint.previous {
            let file = file_of(self.folder(), later.checkpoint.number.saturating_sub(1));
            if !file.exists() {
                break;
            }
            if digest_of(&file)? != *wanted {
                let rule = format!(
                    "{} is not the checkpoint that number {} follows on",
                    file.display(),
                    later.checkpoint.number
                );
                return Err(not_signed("/previous", rule));
            }
            later = read(&file, keys)?;
            followed += 1;
        }
        Ok(followed)
    }

    fn folder(&self) -> &Path {
        self.file.parent().unwrap_or(Path::new("."))
    }
}

fn not_signed(member: &str, rule: String) -> Problem {
    let remedy = "put the folder of checkpoints back from where it is kept apart from the store";
    Problem::new(Code::NotAuthentic, member, rule, remedy)
}

/// The newest checkpoint of a folder.
///
/// # Errors
/// F1163 if the folder cannot be read.
pub fn newest(folder: &Path) -> Result<Option<(u64, PathBuf)>, Problem> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(lists::cannot("read", folder, &error)),
    };
    let number = |entry: std::io::Result<fs::DirEntry>| {
        let name = entry.ok()?.file_name().to_string_lossy().into_owned();
        let digits = name.strip_prefix("checkpoint-")?.strip_suffix(".json")?;
        digits.parse::<u64>().ok()
    };
    let newest = entries.filter_map(number).max();
    Ok(newest.map(|number| (number, file_of(folder, number))))
}

fn file_of(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("checkpoint-{number:08}.json"))
}

fn digest_of(file: &Path) -> Result<String, Problem> {
    let bytes = fs::read(file).map_err(|error| lists::cannot("read", file, &error))?;
    Ok(hex(&Sha256::digest(bytes)))
}
