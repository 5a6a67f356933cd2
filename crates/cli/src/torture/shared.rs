//! What callers, blows and the judgement share.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::{RwLock, watch};

use crate::client::{Call, Client};
use crate::failure::Failure;
use crate::trial::judge::Broken;
use crate::trial::load::Wish;
use crate::trial::memory::Memory;

/// A way to one engine: none while it is down.
pub(super) type Way = watch::Receiver<Option<Arc<Client>>>;

/// Counts of what happened to callers.
#[derive(Debug, Default)]
pub(super) struct Tallies {
    /// Submissions that were answered with 2xx, repeats among them.
    pub(super) answered: AtomicU64,
    /// Calls that were refused because the disk was full.
    pub(super) refused_for_room: AtomicU64,
    /// Calls that were refused because a row or the file was damaged.
    pub(super) refused_for_damage: AtomicU64,
    /// Sends that a person ordered.
    pub(super) orders: AtomicU64,
    /// Searches that a person ended.
    pub(super) closed: AtomicU64,
    /// Withdrawals.
    pub(super) cancels: AtomicU64,
}

/// Shared by everybody. Cheap to clone.
pub(super) struct Shared {
    pub(super) seed: u64,
    pub(super) ways: Vec<Way>,
    pub(super) memory: Memory,
    /// Held for reading from the call to the memory of its answer. Whoever puts back a copy of the store holds it for writing, so
    /// that what was answered before is told from what was answered after.
    pub(super) calls: RwLock<()>,
    /// Everything that was asked for, by identity.
    pub(super) wishes: Mutex<BTreeMap<String, Wish>>,
    pub(super) tallies: Tallies,
    /// The store is damaged on purpose: refusals for that are right.
    pub(super) damaged: AtomicBool,
    /// No more is asked for.
    pub(super) over: AtomicBool,
    /// Ids that older copies of the store have lost, by identity.
    former: Mutex<BTreeMap<String, BTreeSet<String>>>,
    complaints: Mutex<Vec<Broken>>,
}

/// What came of one call.
pub(super) enum Answer {
    /// A 2xx answer.
    Yes(Value),
    /// Nobody answered, or only that it does not work now.
    NotNow,
    /// It was refused.
    No(Failure),
}

impl Shared {
    pub(super) fn new(seed: u64, ways: Vec<Way>) -> Self {
        Self {
            seed,
            ways,
            memory: Memory::default(),
            calls: RwLock::new(()),
            wishes: Mutex::default(),
            tallies: Tallies::default(),
            damaged: AtomicBool::new(false),
            over: AtomicBool::new(false),
            former: Mutex::default(),
            complaints: Mutex::default(),
        }
    }

    /// Makes one call, once, at this engine.
    pub(super) async fn call(&self, engine: usize, call: Call) -> Answer {
        let client = self
            .ways
            .get(engine % self.ways.len())
            .and_then(|way| way.borrow().clone());
        let Some(client) = client else {
            return Answer::NotNow;
        };
        match client.json(call).await {
            Ok(answer) => Answer::Yes(answer),
            Err(failure) => self.sort(failure),
        }
    }

    fn sort(&self, failure: Failure) -> Answer {
        match failure.code() {
            Some(factum::Code::DiskFull) => {
                self.tallies
                    .refused_for_room
                    .fetch_add(1, Ordering::Relaxed);
                Answer::NotNow
            }
            Some(factum::Code::StoreDamaged | factum::Code::StoreFailed)
                if self.damaged.load(Ordering::Relaxed) =>
            {
                self.tallies
                    .refused_for_damage
                    .fetch_add(1, Ordering::Relaxed);
                Answer::NotNow
            }
            _ if failure.passing().is_some() => Answer::NotNow,
            _ => Answer::No(failure),
        }
    }

    /// The store was put back to a copy that knows these actions.
    pub(super) fn put_back(&self, known: &BTreeSet<String>) {
        for (key, ids) in self.memory.restored(known) {
            lock(&self.former).entry(key).or_default().extend(ids);
        }
    }

    /// The ids of this identity that older copies have lost.
    pub(super) fn former(&self, key: &str) -> BTreeSet<String> {
        lock(&self.former).get(key).cloned().unwrap_or_default()
    }

    /// No more is asked for.
    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// A law did not hold.
    pub(super) fn complain(&self, law: u8, saw: impl Into<String>, keys: Vec<String>) {
        let broken = Broken {
            law,
            saw: saw.into(),
            keys,
        };
        lock(&self.complaints).push(broken);
    }

    /// Where laws did not hold so far.
    pub(super) fn complaints(&self) -> Vec<Broken> {
        lock(&self.complaints).clone()
    }

    pub(super) fn wishes(&self) -> MutexGuard<'_, BTreeMap<String, Wish>> {
        lock(&self.wishes)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
