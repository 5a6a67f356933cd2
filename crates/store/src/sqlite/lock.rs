//! The lock beside the database: held by the kernel for the life of the process, with a text that names the holder.
//!
//! The kernel frees it when the process ends, however it ends. The text is for people; only the kernel's lock counts.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use factum_core::Timestamp;

use crate::{StoreError, StoreErrorKind};

const DOING: &str = "locking the store";

/// The held lock. Dropping it frees the store for others.
pub(super) struct Lock {
    file: File,
    path: PathBuf,
    started: Timestamp,
    former: Option<String>,
}

impl Lock {
    /// Takes the lock in this folder.
    ///
    /// # Errors
    /// `Held` with the holder's own words if another process has it; `Unsuitable` if the folder cannot be written to.
    pub(super) fn take(folder: &Path, now: Timestamp) -> Result<Self, StoreError> {
        let path = folder.join("lock");
        let unsuitable = |error: &std::io::Error| {
            let path = path.display().to_string();
            let why = format!("the lock file cannot be used: {error}");
            StoreError::new(DOING, StoreErrorKind::Unsuitable { path, why })
        };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(|error| unsuitable(&error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let by = read(&mut file)
                    .unwrap_or_else(|| "another process that has not said its name yet".to_owned());
                return Err(StoreError::new(DOING, StoreErrorKind::Held { by }));
            }
            Err(TryLockError::Error(error)) => return Err(unsuitable(&error)),
        }
        let mut lock = Self {
            former: read(&mut file),
            file,
            path: path.clone(),
            started: now,
        };
        lock.sign(None).map_err(|error| unsuitable(&error))?;
        Ok(lock)
    }

    /// Who held it before and did not let go of it in good order.
    pub(super) fn former(&self) -> Option<&str> {
        self.former.as_deref()
    }

    /// Adds under which address the holder can be reached.
    pub(super) fn set_address(&mut self, address: &str) -> Result<(), StoreError> {
        self.sign(Some(address)).map_err(|error| {
            let text = format!("{}: {error}", self.path.display());
            StoreError::new(DOING, StoreErrorKind::Unavailable(text))
        })
    }

    /// Lets go in good order: the next holder finds no name.
    pub(super) fn release(self) {
        // The name is for people only; the kernel's lock goes with the file in any case.
        let _ = self.file.set_len(0);
    }

    fn sign(&mut self, address: Option<&str>) -> std::io::Result<()> {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let host = match host.trim() {
            "" => "this host",
            name => name,
        };
        let mut text = format!(
            "process {} on {host} since {}",
            std::process::id(),
            utc(self.started)
        );
        if let Some(address) = address {
            text.push_str(" at ");
            text.push_str(address);
        }
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.file.write_all(text.as_bytes())
    }
}

/// The holder's words, if there are any that can be read.
fn read(file: &mut File) -> Option<String> {
    const LONGEST: u64 = 1_000;
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(LONGEST).read_to_string(&mut text).ok()?;
    let line = text.lines().next().unwrap_or_default().trim();
    (!line.is_empty()).then(|| line.to_owned())
}

/// An instant for people: `2026-11-29T17:40:00Z`.
pub(super) fn utc(at: Timestamp) -> String {
    let seconds = at.as_micros().div_euclid(1_000_000);
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Civil date from days, counted in eras of 400 years that begin on 1 March.
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, over) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    format!(
        "{:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z",
        year + era * 400 + over,
        second / 3_600,
        second / 60 % 60,
        second % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_read_as_people_write_them() {
        let shown = [0, 951_826_142, 1_764_438_000, 4_107_542_399, -1]
            .map(|seconds| utc(Timestamp::from_micros(seconds * 1_000_000)));
        assert_eq!(
            shown,
            [
                "1970-01-01T00:00:00Z",
                "2000-02-29T12:09:02Z",
                "2025-11-29T17:40:00Z",
                "2100-02-28T23:59:59Z",
                "1969-12-31T23:59:59Z"
            ]
        );
    }

    #[test]
    fn the_second_is_told_who_holds_it() {
        let folder = tempfile::tempdir().unwrap();
        let at = Timestamp::from_micros(0);
        let mut first = Lock::take(folder.path(), at).unwrap();
        first.set_address("127.0.0.1:7420").unwrap();
        let Err(error) = Lock::take(folder.path(), at) else {
            panic!("taken twice")
        };
        let text = error.to_string();
        let process = format!("process {} on ", std::process::id());
        assert!(text.contains(&process), "{text}");
        assert!(text.contains("at 127.0.0.1:7420"), "{text}");
        drop(first);
        let second = Lock::take(folder.path(), at).unwrap();
        assert!(second.former().is_some_and(|by| by.contains(&process)));
        second.release();
        let third = Lock::take(folder.path(), at).unwrap();
        assert_eq!(third.former(), None, "the second let go in good order");
    }
}
