//! What is done to the store's file: an older copy, a disk without room, bytes that are not what was written.
//!
//! Every damage is compared with what a plain look at the file finds changed. Where nothing is, it is harmless; where neither
//! checksum nor counter can see it, it is put back and counted as beyond them; in all other cases it has to be named, and nothing may
//! be done about a damaged action.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::Context;
use factum_testbed::Filter;
use serde_json::Value;
use tokio::sync::RwLockWriteGuard;
use tokio::time::sleep;

use super::field::Field;
use super::sight::{self, Sight};
use crate::client::{Call, encoded};
use crate::trial::engine::Rose;

/// Nobody makes a call while this is held.
pub(super) type Held<'a> = RwLockWriteGuard<'a, ()>;

/// What a copy of the store consists of: the file, and its log where it has one.
const LOG: &str = "-wal";
const INDEX: &str = "-shm";
/// The counter beside the file is at most so far behind.
const COUNTED: Duration = Duration::from_secs(1);

/// A copy of the store, made while nobody had it open.
struct Copy {
    file: PathBuf,
    log: Option<PathBuf>,
    counter: PathBuf,
}

fn beside(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

impl Copy {
    fn of(store: &Path, to: &Path) -> anyhow::Result<Self> {
        std::fs::create_dir_all(to)?;
        let copy = Self {
            file: to.join("factum.db"),
            log: beside(store, LOG)
                .exists()
                .then(|| to.join("factum.db-wal")),
            counter: to.join("commits"),
        };
        std::fs::copy(store, &copy.file)?;
        if let Some(log) = &copy.log {
            std::fs::copy(beside(store, LOG), log)?;
        }
        std::fs::copy(counter(store), &copy.counter)?;
        Ok(copy)
    }

    /// Puts it in place of whatever is there; with the counter only where the whole folder comes from the copy.
    fn put_back(&self, store: &Path, counter_too: bool) -> anyhow::Result<()> {
        for suffix in [LOG, INDEX] {
            let gone = std::fs::remove_file(beside(store, suffix));
            gone.or_else(|error| {
                if error.kind() == std::io::ErrorKind::NotFound {
                    Ok(())
                } else {
                    Err(error)
                }
            })?;
        }
        std::fs::copy(&self.file, store)?;
        if let Some(log) = &self.log {
            std::fs::copy(log, beside(store, LOG))?;
        }
        if counter_too {
            std::fs::copy(&self.counter, counter(store))?;
        }
        Ok(())
    }
}

fn counter(store: &Path) -> PathBuf {
    store.with_file_name("commits")
}

impl Field {
    fn copies(&self, name: &str) -> PathBuf {
        self.ground.path().join("copies").join(name)
    }

    fn look(&self) -> anyhow::Result<Sight> {
        Sight::of(&self.ground.store(), &self.copies("look"))
    }

    /// An older copy is put in place; with `whole`, everything beside it too, which only an operator can tell.
    pub(super) async fn old_copy(&mut self, whole: bool) -> anyhow::Result<()> {
        self.engines[0].stop().await?;
        let store = self.ground.store();
        let copy = Copy::of(&store, &self.copies("old"))?;
        self.up(0).await?;
        let lives = Duration::from_millis(1_500 + self.chance.below(1_500));
        sleep(lives).await;
        self.engines[0].stop().await?;
        let shared = self.shared.clone();
        let held = shared.calls.write().await;
        copy.put_back(&store, whole)?;
        shared.put_back(&self.look()?.actions);
        if whole {
            let (good, said) = self
                .factum(&["admin", "after-restore", "--by", "operator"])
                .await?;
            anyhow::ensure!(good, "the restore could not be declared: {said}");
        }
        self.after_restore(Some("an older copy of the file was put back"), held)
            .await
    }

    /// There is no room for a while, over a kill in half of the cases. Afterwards it goes on by itself.
    pub(super) async fn full_disk(&mut self) -> anyhow::Result<()> {
        let Some(disk) = self.ground.disk() else {
            return Ok(());
        };
        disk.fill(self.engines[0].pid())?;
        sleep(Duration::from_millis(1_000 + self.chance.below(1_500))).await;
        if self.chance.below(2) == 0 {
            self.engines[0].fell().await?;
            // It may be refused until there is room.
            if let Rose::Ended(words) = self.engines[0].rise(None).await? {
                self.out
                    .note(format_args!("    no start without room: {words}"));
            }
            sleep(Duration::from_millis(500)).await;
        }
        if let Some(disk) = self.ground.disk() {
            disk.free(self.engines[0].pid())?;
        }
        self.done.disk_full += 1;
        if !self.engines[0].is_up() {
            self.up(0).await?;
        }
        Ok(())
    }

    /// The write-ahead log of a killed process loses its end, or a byte of it is changed.
    pub(super) async fn hurt_log(&mut self, cut: bool) -> anyhow::Result<()> {
        // The log begins with the process, and the counter is up to a second behind.
        sleep(COUNTED * 2).await;
        self.engines[0].fell().await?;
        let (store, shared) = (self.ground.store(), self.shared.clone());
        let held = shared.calls.write().await;
        let copy = Copy::of(&store, &self.copies("log"))?;
        let before = self.look()?;
        let log = beside(&store, LOG);
        let bytes = std::fs::metadata(&log).map_or(0, |log| log.len());
        if bytes == 0 {
            drop(held);
            return self.up(0).await;
        }
        let at = self.chance.below(bytes / 2);
        if cut {
            std::fs::OpenOptions::new()
                .write(true)
                .open(&log)?
                .set_len(at)?;
        } else {
            flip(&log, at)?;
        }
        // The log's index belongs to the log as it was.
        let _ = std::fs::remove_file(beside(&store, INDEX));
        let after = self.look()?;
        let lost = before.commits > after.commits;
        let visible = sight::counted(&copy.counter)? > after.commits;
        if lost && !visible {
            self.done.beyond += 1;
            copy.put_back(&store, false)?;
            drop(held);
            return self.up(0).await;
        }
        if !lost {
            self.done.harmless += 1;
        }
        shared.put_back(&after.actions);
        let kind = if cut { "log_cut" } else { "log_spoilt" };
        let restores = self.done.restores;
        self.after_restore(lost.then_some("the log lost its end"), held)
            .await?;
        self.seen(kind, self.done.restores > restores);
        Ok(())
    }

    /// A byte of the counter is changed: the file is as it was, and the engine cannot know it.
    pub(super) async fn hurt_counter(&mut self) -> anyhow::Result<()> {
        self.engines[0].stop().await?;
        let (store, shared) = (self.ground.store(), self.shared.clone());
        let held = shared.calls.write().await;
        let bytes = std::fs::metadata(counter(&store))?.len();
        // The last byte is the end of the last line, which says nothing.
        flip(&counter(&store), self.chance.below(bytes - 1))?;
        shared.put_back(&self.look()?.actions);
        let restores = self.done.restores;
        self.after_restore(Some("the counter beside the file was changed"), held)
            .await?;
        self.seen("counter", self.done.restores > restores);
        Ok(())
    }

    /// A byte of a row, or a whole page, is not what was written. Then the copy from before is put back.
    pub(super) async fn hurt_file(&mut self, page: bool) -> anyhow::Result<()> {
        self.engines[0].stop().await?;
        let (store, shared) = (self.ground.store(), self.shared.clone());
        let held = shared.calls.write().await;
        let copy = Copy::of(&store, &self.copies("file"))?;
        let before = self.look()?;
        let what = if page {
            sight::spoil_page(&store, &mut self.chance)?
        } else {
            sight::spoil_row(&store, &before, &mut self.chance)?
        };
        let Some(what) = what else {
            drop(held);
            return self.up(0).await;
        };
        if self
            .look()
            .is_ok_and(|after| after.whole && after.rows == before.rows)
        {
            self.done.harmless += 1;
            copy.put_back(&store, false)?;
            drop(held);
            return self.up(0).await;
        }
        let (_, report) = self.factum(&["doctor", "--offline"]).await?;
        let named = damage(&report);
        let kind = if page { "page" } else { "row" };
        self.seen(kind, !named.is_empty());
        if named.is_empty() {
            shared.complain(
                10,
                format!("{what}, and `factum doctor` names nothing: {report}"),
                Vec::new(),
            );
        }
        drop(held);
        self.live_damaged(&named).await?;
        self.engines[0].stop().await?;
        let held = shared.calls.write().await;
        copy.put_back(&store, false)?;
        shared.damaged.store(false, Ordering::Relaxed);
        shared.put_back(&self.look()?.actions);
        self.after_restore(Some("the copy from before a damage was put back"), held)
            .await
    }

    /// The engine serves the damaged file, or refuses to: nothing is sent for the actions that are named, and nothing is said of them.
    async fn live_damaged(&mut self, named: &[String]) -> anyhow::Result<()> {
        self.shared.damaged.store(true, Ordering::Relaxed);
        let ids: BTreeSet<&str> = named.iter().filter_map(|says| action(says)).collect();
        let keys: Vec<String> = self
            .shared
            .memory
            .all()
            .into_iter()
            .filter(|(_, one)| one.ids.iter().any(|id| ids.contains(id.as_str())))
            .map(|(key, _)| key)
            .collect();
        let before = self.arrived_for(&keys);
        if let Rose::Ended(words) = self.engines[0].rise(None).await? {
            self.out.note(format_args!(
                "    it does not serve a damaged file: {words}"
            ));
            return Ok(());
        }
        sleep(Duration::from_millis(1_500)).await;
        for id in &ids {
            let path = format!("/v1/actions/{}", encoded(id));
            if let super::shared::Answer::Yes(status) = self.shared.call(0, Call::get(path)).await {
                self.shared.complain(
                    10,
                    format!("a damaged action is spoken of: {status}"),
                    keys.clone(),
                );
            }
        }
        if self.arrived_for(&keys) > before {
            self.shared.complain(6, "a damaged action was sent", keys);
        }
        Ok(())
    }

    fn arrived_for(&self, keys: &[String]) -> u64 {
        let ledger = self.testbed.ledger();
        let of = |key: &String| ledger.counts(&Filter::business(key.clone())).deliveries;
        keys.iter().map(of).sum()
    }

    fn seen(&mut self, kind: &'static str, seen: bool) {
        if seen {
            *self.done.damages.entry(kind).or_default() += 1;
        }
    }
}

/// What `factum doctor` names as damaged: its errors about the store.
fn damage(report: &Value) -> Vec<String> {
    let findings = report["findings"].as_array().into_iter().flatten();
    findings
        .filter(|finding| finding["level"] == "error" && finding["about"] == "store")
        .filter_map(|finding| finding["says"].as_str().map(str::to_owned))
        .collect()
}

/// The action that a finding is about.
fn action(says: &str) -> Option<&str> {
    says.strip_prefix("action ")?.split(' ').next()
}

fn flip(file: &Path, at: u64) -> anyhow::Result<()> {
    let mut bytes = std::fs::read(file)?;
    let byte = usize::try_from(at).ok().and_then(|at| bytes.get_mut(at));
    *byte.context("the file is shorter than it was")? ^= 0x04;
    Ok(std::fs::write(file, bytes)?)
}
