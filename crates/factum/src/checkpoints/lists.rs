//! The lists of checkpoints: one line for each action that was made on a day, in the order of their ids. Their digest is the SHA-256 of
//! the file, so that any tool can compare them.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use factum_core::ActionId;
use factum_engine::{Code, Problem};
use factum_store::Head;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::home::{hex, parse_key};
use crate::view::rfc3339;

/// What stands for the head of a chain that an action does not have.
const NO_CHAIN: &str = "-";

/// The list of one day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DayList {
    /// The day (UTC) on which its actions were made.
    day: String,
    /// Lines in it.
    pub(super) actions: u64,
    /// The SHA-256 of its file, in hexadecimal.
    sha256: String,
}

impl DayList {
    fn file(&self, folder: &Path) -> PathBuf {
        let short = self.sha256.get(..16).unwrap_or(&self.sha256);
        folder
            .join("lists")
            .join(format!("{}-{short}.txt", self.day))
    }

    /// Its lines. The digest is compared at the end; a list that is missing or another one is an item that says so.
    pub(super) fn heads(
        &self,
        folder: &Path,
    ) -> impl Iterator<Item = Result<Head, String>> + use<> {
        let path = self.file(folder);
        let (file, trouble) = match File::open(&path) {
            Ok(file) => (Some(BufReader::new(file)), None),
            Err(error) => (
                None,
                Some(format!("cannot read {}: {error}", path.display())),
            ),
        };
        Lines {
            file,
            trouble,
            hash: Sha256::new(),
            wanted: self.sha256.clone(),
            path,
        }
    }
}

/// The lines of a list.
struct Lines {
    file: Option<BufReader<File>>,
    trouble: Option<String>,
    hash: Sha256,
    wanted: String,
    path: PathBuf,
}

impl Lines {
    fn read(&mut self) -> Result<Option<Head>, String> {
        let Some(file) = &mut self.file else {
            return Ok(None);
        };
        let mut line = String::new();
        let read = file.read_line(&mut line);
        if read.map_err(|error| format!("cannot read {}: {error}", self.path.display()))? > 0 {
            self.hash.update(&line);
            let head = parse(line.trim_end());
            return head.map(Some).ok_or_else(|| {
                format!("{} holds a line that is none of ours", self.path.display())
            });
        }
        self.file = None;
        if hex(&self.hash.clone().finalize()) == self.wanted {
            return Ok(None);
        }
        Err(format!(
            "{} is not the list that was signed",
            self.path.display()
        ))
    }
}

impl Iterator for Lines {
    type Item = Result<Head, String>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(trouble) = self.trouble.take() {
            return Some(Err(trouble));
        }
        let read = self.read();
        if read.is_err() {
            self.file = None;
        }
        read.transpose()
    }
}

/// One line: the action, how many records its chain has, and where it ends.
fn line(head: &Head) -> String {
    let link = head
        .link
        .map_or_else(|| NO_CHAIN.to_owned(), |link| hex(&link));
    format!("{} {} {link}\n", head.action, head.records)
}

fn parse(line: &str) -> Option<Head> {
    let mut words = line.split(' ');
    let (action, records, link) = (words.next()?, words.next()?, words.next()?);
    let link = match link {
        NO_CHAIN => None,
        link => Some(parse_key(link)?),
    };
    let head = Head {
        action: action.parse().ok()?,
        records: records.parse().ok()?,
        link,
    };
    words.next().is_none().then_some(head)
}

/// Lists that are being written.
pub(super) struct Days {
    folder: PathBuf,
    /// The day that is being written.
    open: Option<(DayList, Sha256, BufWriter<File>)>,
    done: Vec<DayList>,
    written: u64,
}

impl Days {
    pub(super) fn begin(folder: &Path) -> Result<Self, Problem> {
        let lists = folder.join("lists");
        fs::create_dir_all(&lists).map_err(|error| cannot("make", &lists, &error))?;
        Ok(Self {
            folder: folder.to_owned(),
            open: None,
            done: Vec::new(),
            written: 0,
        })
    }

    /// Adds the next actions, in the order of their ids.
    pub(super) fn add(&mut self, heads: &[Head]) -> Result<(), Problem> {
        for head in heads {
            let day = day_of(head.action);
            if self.open.as_ref().is_some_and(|(list, ..)| list.day != day) {
                self.close()?;
            }
            if self.open.is_none() {
                let path = self.unfinished();
                let file = File::create(&path).map_err(|error| cannot("make", &path, &error))?;
                let list = DayList {
                    day,
                    actions: 0,
                    sha256: String::new(),
                };
                self.open = Some((list, Sha256::new(), BufWriter::new(file)));
            }
            let path = self.unfinished();
            if let Some((list, hash, file)) = &mut self.open {
                let line = line(head);
                list.actions += 1;
                hash.update(&line);
                file.write_all(line.as_bytes())
                    .map_err(|error| cannot("write", &path, &error))?;
            }
        }
        Ok(())
    }

    /// Ends the last day; gives all of them, and how many lists are new.
    pub(super) fn end(mut self) -> Result<(Vec<DayList>, u64), Problem> {
        self.close()?;
        Ok((self.done, self.written))
    }

    /// A list is in its place whole or not at all. One that is there already is the same.
    fn close(&mut self) -> Result<(), Problem> {
        let Some((mut list, hash, file)) = self.open.take() else {
            return Ok(());
        };
        list.sha256 = hex(&hash.finalize());
        let (from, to) = (self.unfinished(), list.file(&self.folder));
        file.into_inner()
            .map_err(std::io::IntoInnerError::into_error)
            .and_then(|file| file.sync_all())
            .map_err(|error| cannot("write", &from, &error))?;
        if to.exists() {
            fs::remove_file(&from).map_err(|error| cannot("remove", &from, &error))?;
        } else {
            fs::rename(&from, &to).map_err(|error| cannot("write", &to, &error))?;
            self.written += 1;
        }
        self.done.push(list);
        Ok(())
    }

    fn unfinished(&self) -> PathBuf {
        self.folder
            .join("lists")
            .join(format!("{}.part", std::process::id()))
    }
}

/// The day (UTC) on which an action was made, by its id.
fn day_of(action: ActionId) -> String {
    rfc3339(action.made_at()).chars().take(10).collect()
}

/// Puts a file into its place, whole, unless there is one of its name.
pub(super) fn put(path: &Path, bytes: &[u8]) -> Result<(), Problem> {
    let mut file = File::create_new(path).map_err(|error| cannot("make", path, &error))?;
    file.write_all(bytes)
        .and_then(|()| file.sync_all())
        .map_err(|error| cannot("write", path, &error))
}

pub(super) fn cannot(what: &str, path: &Path, error: &std::io::Error) -> Problem {
    let rule = format!("cannot {what} {}: {error}", path.display());
    let remedy = "name a folder that this user may write, outside of the store's own";
    Problem::new(Code::CheckpointFailed, "/checkpoints/folder", rule, remedy)
}
