//! The keys that content is sealed with: one file for each in `keys/seal/` of the data folder, named by its number.
//!
//! A file holds 64 hex digits, or says where they are: `file:PATH` or `env:NAME`, so that a key may come from a secret store that
//! mounts files or sets variables. The highest number seals; all open. The store remembers by a hash which keys it was sealed with,
//! so that a missing or a wrong one is noticed when it is opened, not when a row is needed.
//!
//! The folder is the one interface: a new file is adopted by whoever works on the store, and every row is sealed anew with it; a file
//! with `.retired` behind its number is a wish that the key go, which is granted once no row names it any more.

mod keeper;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use factum_engine::{Code, Problem};
use factum_store::seal::{KeyNumber, Ring, SEALED_WITH, Seals};
use factum_store::{Reseal, Store};
use serde::Serialize;

use crate::config::Seal;
use crate::home::{Home, cannot, hex, key_in, random_bytes, write_new};

pub(crate) use keeper::Keeper;

/// Actions that are sealed anew in one transaction: a few, so that nobody waits long behind them.
const AT_ONCE: usize = 20;

/// The setting that says with which key every row is sealed.
const SEALED_ALL: &str = "sealed_all";

/// Behind the number of a key that is to go.
const RETIRED: &str = ".retired";

/// How the keys of a store stand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeysView {
    /// The key that seals; none where nothing is sealed.
    pub sealing: Option<KeyNumber>,
    /// Rows that stand in clear.
    pub in_clear: u64,
    /// Every key of the folder.
    pub keys: Vec<KeyView>,
}

/// One key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeyView {
    /// Its number.
    pub number: KeyNumber,
    /// Rows that are sealed with it.
    pub rows: u64,
    /// It is to go.
    pub retired: bool,
}

/// The keys of a data folder, and the seals that a store makes with them. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Custody {
    home: Home,
    seals: Seals,
}

impl Custody {
    /// Of a data folder. Nothing is made here: see [`Self::settle`].
    ///
    /// # Errors
    /// F1040 for a key that cannot be read.
    pub fn of(home: &Home, wanted: Seal) -> Result<Self, Problem> {
        let folder = folder(home);
        let seals = Seals::from_source(move || read(&folder)).map_err(unreadable)?;
        Ok(Self {
            home: home.clone(),
            seals: match wanted {
                Seal::On => seals,
                Seal::Off => seals.only_opening(),
            },
        })
    }

    /// What the store seals and opens with.
    #[must_use]
    pub fn seals(&self) -> Seals {
        self.seals.clone()
    }

    /// Compares the keys with what the store remembers of those that it was sealed with, makes the first one where there is none yet,
    /// and has the store remember.
    ///
    /// # Errors
    /// F1040 for a key that is missing or another one; what the store says.
    pub async fn settle(&self, store: &dyn Store) -> Result<(), Problem> {
        let known = remembered(&store.setting(SEALED_WITH).await?.unwrap_or_default());
        let ring = self.seals.ring();
        for (number, check) in &known {
            let file = key_file(&self.home, *number);
            match ring.check(*number) {
                Some(found) if found == *check => {}
                Some(_) => {
                    let rule = format!(
                        "{} is another key than the one that the store was sealed with",
                        file.display()
                    );
                    let remedy = "copy keys/ from the host that made it, or from a backup";
                    return Err(bad(rule, remedy));
                }
                None => {
                    let rule = format!(
                        "the store is sealed with key {number}, and {} is missing",
                        file.display()
                    );
                    return Err(bad(rule, "put the file back from a backup"));
                }
            }
        }
        if !self.seals.seals() {
            tracing::warn!("content is written in clear: store.seal is off");
        }
        if self.seals.seals() && ring.newest().is_none() {
            make(&self.home)?;
            self.seals.reload().map_err(unreadable)?;
        }
        self.remember(store).await
    }

    /// Has the store remember the keys of the ring.
    async fn remember(&self, store: &dyn Store) -> Result<(), Problem> {
        let ring = self.seals.ring();
        let checks = ring.numbers().into_iter().filter_map(|number| {
            let check = ring.check(number)?;
            Some(format!("{number}:{check}"))
        });
        let checks = checks.collect::<Vec<_>>().join(",");
        let known = store.setting(SEALED_WITH).await?.unwrap_or_default();
        if known != checks && self.seals.seals() {
            store.set_setting(SEALED_WITH, Some(checks)).await?;
        }
        Ok(())
    }

    /// How the keys stand, where `rows` tells how many rows are sealed with one, or with `None` stand in clear.
    ///
    /// # Errors
    /// What `rows` says.
    pub async fn list<E>(
        &self,
        rows: impl AsyncFn(Option<KeyNumber>) -> Result<u64, E>,
    ) -> Result<KeysView, E> {
        let (ring, retired) = (self.seals.ring(), self.retired());
        let mut keys = Vec::new();
        for number in ring.numbers() {
            keys.push(KeyView {
                number,
                rows: rows(Some(number)).await?,
                retired: retired.contains(&number),
            });
        }
        Ok(KeysView {
            sealing: ring.newest().filter(|_| self.seals.seals()),
            in_clear: rows(None).await?,
            keys,
        })
    }

    /// Adopts what has come into the folder; gives whether another key seals than before.
    ///
    /// # Errors
    /// What the store or the folder says.
    pub async fn adopt(&self, store: &dyn Store) -> Result<bool, Problem> {
        let before = self.seals.ring().newest();
        let after = self.seals.reload().map_err(unreadable)?.newest();
        self.remember(store).await?;
        Ok(before != after)
    }

    /// Seals every row anew with the newest key, a few at a time, while others go on. Rows in clear are sealed too.
    ///
    /// # Errors
    /// What the store says; what was sealed anew stays so.
    pub async fn reseal(&self, store: &dyn Store) -> Result<(), Problem> {
        let mut from = Some(Reseal::default());
        while let Some(next) = from.filter(|_| self.seals.seals()) {
            from = store.reseal(next, AT_ONCE).await?;
        }
        Ok(())
    }

    /// Does what has to be done about the keys: adopts, seals anew, lets go.
    ///
    /// # Errors
    /// What the store or the folder says.
    pub async fn look_after(&self, store: &dyn Store) -> Result<(), Problem> {
        let adopted = self.adopt(store).await?;
        if adopted {
            tracing::info!("a newer key seals from now on, and every row is sealed anew with it");
        }
        let newest = self.seals.ring().newest().map(|number| number.to_string());
        // Another worker may have sealed every row anew while this one still wrote with the older key.
        let sealed_all = !adopted && store.setting(SEALED_ALL).await? == newest;
        if self.seals.seals() && !sealed_all {
            self.reseal(store).await?;
            store.set_setting(SEALED_ALL, newest).await?;
        }
        for number in self.retired() {
            if !self.let_go(store, number).await? {
                tracing::info!(number, "a key that is to go still seals rows");
            }
        }
        Ok(())
    }

    /// Lets a key go that is to go: takes what it sealed out of the store's files, has the store forget it, and removes its file.
    /// Gives whether it is gone; it stays while a row names it, or while it is the one that seals.
    ///
    /// # Errors
    /// What the store or the folder says.
    pub async fn let_go(&self, store: &dyn Store, number: KeyNumber) -> Result<bool, Problem> {
        if self.seals.ring().newest() == Some(number) {
            return Ok(false);
        }
        if store.sealed_rows(Some(number)).await? > 0 {
            // What was under way when the newer key was adopted.
            self.reseal(store).await?;
            if store.sealed_rows(Some(number)).await? > 0 {
                return Ok(false);
            }
        }
        store.scour().await?;
        let file = key_file(&self.home, number).with_added_extension("retired");
        fs::remove_file(&file).map_err(|error| cannot("remove", &file, &error))?;
        self.adopt(store).await?;
        tracing::warn!(
            number,
            "a key of the seals is gone: older backups are not opened without it"
        );
        Ok(true)
    }

    /// The keys that are to go.
    #[must_use]
    pub fn retired(&self) -> Vec<KeyNumber> {
        retired(&folder(&self.home))
    }

    /// Makes the next key, readable by its owner only. Whoever works on the store adopts it.
    ///
    /// # Errors
    /// F1040 if the file cannot be made.
    pub fn rotate(&self) -> Result<KeyNumber, Problem> {
        make(&self.home)
    }

    /// Marks a key as one that is to go.
    ///
    /// # Errors
    /// F1040 for one that is not there, or that is the newest.
    pub fn retire(&self, number: KeyNumber) -> Result<(), Problem> {
        let newest = read(&folder(&self.home)).map_err(unreadable)?.newest();
        if newest == Some(number) {
            let rule = format!("key {number} is the newest: it is the one that seals");
            return Err(bad(rule, "make another one first: factum keys rotate"));
        }
        let file = key_file(&self.home, number);
        fs::rename(&file, file.with_added_extension("retired"))
            .map_err(|error| cannot("rename", &file, &error))
    }
}

fn remembered(text: &str) -> BTreeMap<KeyNumber, String> {
    text.split(',')
        .filter_map(|word| {
            let (number, check) = word.split_once(':')?;
            Some((number.parse().ok()?, check.to_owned()))
        })
        .collect()
}

fn make(home: &Home) -> Result<KeyNumber, Problem> {
    let folder = folder(home);
    let number = read(&folder).map_err(unreadable)?.newest().unwrap_or(0) + 1;
    home.make(&folder)?;
    let secret = hex(&random_bytes()?);
    write_new(&key_file(home, number), &format!("{secret}\n"))?;
    Ok(number)
}

/// The file of a key.
#[must_use]
pub fn key_file(home: &Home, number: KeyNumber) -> PathBuf {
    folder(home).join(number.to_string())
}

fn folder(home: &Home) -> PathBuf {
    home.root().join("keys").join("seal")
}

fn unreadable(rule: String) -> Problem {
    bad(rule, "put the file back from a backup")
}

/// The numbers of the keys of a folder that are to go.
fn retired(folder: &Path) -> Vec<KeyNumber> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names
        .filter_map(|name| name.strip_suffix(RETIRED)?.parse().ok())
        .collect()
}

fn bad(rule: String, remedy: &str) -> Problem {
    Problem::new(Code::BadConfig, "/keys/seal", rule, remedy)
}

/// Reads every key of a folder; files with other names are left alone.
fn read(folder: &Path) -> Result<Ring, String> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Ring::default()),
        Err(error) => return Err(cannot("read", folder, &error).rule.into_string()),
    };
    let mut keys = BTreeMap::new();
    for entry in entries {
        let path = entry.map_err(|error| error.to_string())?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let number = name.map(|name| name.strip_suffix(RETIRED).unwrap_or(name));
        if let Some(number) = number.and_then(|name| name.parse().ok()) {
            keys.insert(number, key_in(&path)?);
        }
    }
    Ok(Ring::new(keys))
}
