//! Other workers on the same store: who lives, whose lanes are whose, and what somebody left.
//!
//! Whoever records an action carries it out. What a worker that died has left, and what an application recorded in its own
//! transaction, is found by looking: each lane is looked after by one living worker. No correctness rests on this: two workers
//! that want the same action meet at its claim.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use factum_core::mistake::{Mistake, made};
use factum_core::{ActionId, Lane, Span, Timestamp, WorkerNonce};
use factum_store::{Restore, Store, StoreError};

use crate::driver::{Driver, Event};
use crate::recover;
use crate::shell::Shared;

/// The setting of a store that holds all sends.
pub const PAUSED: &str = "paused";

/// For how long a worker is taken to live after it said so: a few rounds of looking.
pub const LIVES: Span = Span::from_secs(10);

/// How long a due action is left to whoever recorded it.
const GRACE: Span = Span::from_secs(1);

/// Actions that are read at once.
const PAGE: usize = 512;

/// Pages that are read in one round. The next round goes on behind them, so that many that have to wait, for a slow destination or
/// while sends are held, hide nobody else's.
const PAGES: usize = 8;

/// What a worker heard the last time that it looked.
pub struct Heard<'a> {
    /// All sends were held.
    pub paused: &'a AtomicBool,
    /// No restore waited for its release.
    pub released: &'a AtomicBool,
    /// Behind which row the listing of what others left goes on; from the start where there is none.
    pub overdue_after: &'a Mutex<Option<(Timestamp, ActionId)>>,
}

/// A worker starts: the others count with it from here on, and it with them.
pub(crate) async fn arrive(shared: &Shared, driver: &mut Driver) -> Result<(), StoreError> {
    let (store, worker) = (shared.store.as_ref(), shared.worker);
    let living = store.beat(worker, LIVES).await?;
    shared.room.ask(store, worker, shared.now()).await?;
    let share = Share::of(worker, &living);
    driver.handle(Event::Living(share), shared.now());
    Ok(())
}

/// Where others share the store, they go on at once with what this worker leaves.
pub(crate) async fn farewell(shared: &Shared) {
    if shared.store.is_shared()
        && let Err(error) = shared.store.beat(shared.worker, Span::ZERO).await
    {
        tracing::debug!(%error, "could not say that this worker ends; the others find out");
    }
}

/// What is heard from the store about others, as events for the driver, and the lanes that this worker looks after. On a store
/// that one process holds it hears nothing, and looks after all.
pub(crate) async fn look(shared: &Shared) -> Result<(Vec<Event>, Vec<Lane>), StoreError> {
    let heard = Heard {
        paused: &shared.paused,
        released: &shared.restore_released,
        overdue_after: &shared.overdue_after,
    };
    let store = shared.store.as_ref();
    let mut looked = look_at(store, shared.worker, shared.now(), heard).await?;
    shared.room.ask(store, shared.worker, shared.now()).await?;
    if let Some(restore) = looked.held {
        let found = look_first(shared, &restore, &looked.lanes).await?;
        looked.events.extend(found);
    }
    Ok((looked.events, looked.lanes))
}

/// What a look at a shared store brings.
pub struct Looked {
    /// For the driver.
    pub events: Vec<Event>,
    lanes: Vec<Lane>,
    /// A restore that nobody has released.
    held: Option<Restore>,
}

/// The same, by a worker that knows the store's time to be `now`.
///
/// # Errors
/// What the store says; it is tried again with the next look.
pub async fn look_at(
    store: &dyn Store,
    worker: WorkerNonce,
    now: Timestamp,
    heard: Heard<'_>,
) -> Result<Looked, StoreError> {
    if !store.is_shared() {
        return Ok(Looked {
            events: Vec::new(),
            lanes: (0..=u8::MAX).map(Lane).collect(),
            held: None,
        });
    }
    let mut events = Vec::new();
    let paused = store.setting(PAUSED).await?.is_some();
    if heard.paused.swap(paused, Ordering::Relaxed) != paused {
        events.push(Event::Paused(paused));
    }
    // With a beat the store looks whether it came from a copy; then what it says of a restore counts.
    let living = store.beat(worker, LIVES).await?;
    let lanes = lanes_of(worker, &living);
    events.push(Event::Living(Share::of(worker, &living)));
    let restore = store.restore().await?;
    let held = restore.filter(|restore| restore.released.is_none());
    let released = held.is_none();
    if heard.released.swap(released, Ordering::Relaxed) != released {
        events.push(Event::RestoreReleased(released));
    }
    if made(Mistake::LeftByTheDeadForgotten) {
        return Ok(Looked {
            events,
            lanes,
            held,
        });
    }
    for _ in 0..PAGES {
        let after = *lock(heard.overdue_after);
        let before = now - GRACE;
        let rows = store.overdue(lanes.clone(), before, after, PAGE).await?;
        let last = rows.last().map(|row| (row.at, row.action));
        let more = rows.len() == PAGE;
        *lock(heard.overdue_after) = last.filter(|_| more);
        if !rows.is_empty() {
            events.push(Event::Overdue(rows));
        }
        if !more {
            break;
        }
    }
    Ok(Looked {
        events,
        lanes,
        held,
    })
}

/// After a restore that nobody has released, whoever declared it: what is unsettled in these lanes may have been sent, and is looked
/// for (R18). Done once for each restore; a release does it again, for all lanes.
async fn look_first(
    shared: &Shared,
    restore: &Restore,
    lanes: &[Lane],
) -> Result<Vec<Event>, StoreError> {
    let marked_at = || lock(&shared.restore_marked);
    if marked_at().is_some_and(|at| at >= restore.at) {
        return Ok(Vec::new());
    }
    tracing::warn!(
        "the store came from a copy; nothing is sent until an operator has looked and runs `factum admin release`"
    );
    let ours = |lane: Lane| lanes.contains(&lane);
    let marked = recover::mark_maybe_sent(shared, restore, ours).await?;
    *marked_at() = Some(restore.at);
    let due = marked.into_iter().map(|(action, destination)| Event::Due {
        action,
        destination,
        at: restore.at,
    });
    Ok(due.collect())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Which part of what a destination is given is one worker's, among those that live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// So many live.
    pub workers: u32,
    /// So many of them come before this one.
    pub before: u32,
}

impl Share {
    /// All of it.
    pub const WHOLE: Self = Self {
        workers: 1,
        before: 0,
    };

    /// Of this worker. One that does not stand among the living yet counts as one more.
    #[must_use]
    pub fn of(worker: WorkerNonce, living: &[WorkerNonce]) -> Self {
        let others = living.iter().filter(|other| **other != worker);
        let before = others.clone().filter(|other| **other < worker);
        let number = |count| u32::try_from(count).unwrap_or(u32::MAX);
        Self {
            workers: number(others.count()).saturating_add(1),
            before: number(before.count()),
        }
    }

    /// This worker's part of a number: the parts of all are the number. Never nothing, so that whatever a worker recorded can be
    /// carried out; with more workers than the number has, there are as many as workers.
    #[must_use]
    pub fn part(self, whole: u32) -> u32 {
        let more = u32::from(self.before < whole % self.workers);
        (whole / self.workers + more).max(1)
    }
}

/// The lanes that a worker looks after among those that live: each lane goes to the worker that draws highest for it, so that
/// a death or a birth moves the lanes of that one worker and no others.
fn lanes_of(worker: WorkerNonce, living: &[WorkerNonce]) -> Vec<Lane> {
    let highest = |lane: Lane| living.iter().max_by_key(|other| draw(lane, **other));
    (0..=u8::MAX)
        .map(Lane)
        .filter(|lane| highest(*lane).is_none_or(|highest| *highest == worker))
        .collect()
}

/// Equal on every worker, and without a pattern over lanes and nonces.
fn draw(lane: Lane, worker: WorkerNonce) -> (u64, u64) {
    // The finalizer of SplitMix64.
    let mut mixed = worker.0 ^ u64::from(lane.0).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ (mixed >> 31), worker.0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn owners(living: &[WorkerNonce]) -> BTreeMap<Lane, WorkerNonce> {
        let mut owners = BTreeMap::new();
        for worker in living {
            for lane in lanes_of(*worker, living) {
                assert_eq!(owners.insert(lane, *worker), None, "a lane has one owner");
            }
        }
        owners
    }

    #[test]
    fn every_lane_has_one_owner_and_a_death_moves_only_the_lanes_of_the_dead() {
        let living: Vec<WorkerNonce> = (1..=4u64)
            .map(|n| WorkerNonce(n * 0x1234_5678_9abc))
            .collect();
        let before = owners(&living);
        assert_eq!(before.len(), 256);
        for worker in &living {
            let share = before.values().filter(|owner| *owner == worker).count();
            assert!(
                (30..=110).contains(&share),
                "{share} of 256 lanes go to one of four"
            );
        }
        let after = owners(&living[1..]);
        assert_eq!(after.len(), 256);
        for (lane, owner) in &before {
            assert!(
                *owner == living[0] || after[lane] == *owner,
                "a lane of the living moved"
            );
        }
    }

    #[test]
    fn the_parts_of_all_workers_are_the_whole() {
        for count in 1..=9u64 {
            let living: Vec<_> = (1..=count).map(WorkerNonce).collect();
            let shares = living.iter().map(|worker| Share::of(*worker, &living));
            for whole in 1..=64 {
                let parts: u32 = shares.clone().map(|share| share.part(whole)).sum();
                assert_eq!(parts, whole.max(u32::try_from(count).unwrap()));
            }
        }
        assert_eq!(Share::of(WorkerNonce(7), &[WorkerNonce(7)]), Share::WHOLE);
        assert_eq!(Share::of(WorkerNonce(7), &[WorkerNonce(3)]).part(8), 4);
    }

    #[test]
    fn a_worker_alone_looks_after_everything() {
        let alone = WorkerNonce(7);
        assert_eq!(lanes_of(alone, &[alone]).len(), 256);
        assert_eq!(lanes_of(alone, &[]).len(), 256);
    }
}
