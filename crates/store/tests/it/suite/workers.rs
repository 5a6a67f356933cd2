//! Several workers on one store: what one that stopped saying that it lives still holds, and how much more each may record. For stores
//! that workers share.

use std::sync::Arc;

use factum_core::{Lane, Span, WorkerNonce};
use factum_store::{Claimed, Committed, MemoryStore};

use super::Ready;
use crate::fixtures::{MINUTE, START, TestClock, WORKER, admission, lost, mark, next};

/// For how long a worker says that it lives.
const LIVES: Span = Span::from_secs(10);

const OTHER: WorkerNonce = WorkerNonce(0xfeed_0000_0000_0002);
const THIRD: WorkerNonce = WorkerNonce(0xfeed_0000_0000_0003);

fn memory() -> Ready {
    let clock = TestClock::new();
    Ready {
        store: Arc::new(MemoryStore::shared(clock.clock())),
        clock,
        _files: None,
    }
}

macro_rules! on_each_shared_store {
    ($($case:ident),+ $(,)?) => {
        mod memory {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() { super::$case(super::memory()).await; })+
        }
        #[cfg(feature = "postgres")]
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            #[ignore = "needs PostgreSQL; ./test starts one"]
            async fn $case() { super::$case($crate::suite::postgres().await).await; })+
        }
        #[cfg(feature = "postgres")]
        mod pgbouncer {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            #[ignore = "needs PgBouncer before PostgreSQL; ./test starts both"]
            async fn $case() { super::$case($crate::suite::pgbouncer().await).await; })+
        }
    };
}

on_each_shared_store!(
    what_was_not_marked_is_free_one_period_of_life_after_its_worker_stopped,
    what_was_marked_is_due_when_its_mark_is_over_and_no_claim_stands_in_the_way,
    a_worker_that_never_said_that_it_lives_keeps_its_claims_until_their_lease,
    a_worker_that_ends_leaves_everything_at_once,
    the_rooms_of_all_keep_to_the_bound,
    a_room_is_others_once_its_worker_is_gone,
);

async fn overdue(at: &Ready) -> usize {
    let lanes = (0..=u8::MAX).map(Lane).collect();
    let before = at.store.now().await.unwrap() + Span::from_micros(1);
    at.store
        .overdue(lanes, before, None, 99)
        .await
        .unwrap()
        .len()
}

// B157, B163: the claim of a minute does not matter; and if its worker only stood still, it decides nothing by it.
async fn what_was_not_marked_is_free_one_period_of_life_after_its_worker_stopped(at: Ready) {
    at.store.beat(WORKER, LIVES).await.unwrap();
    let record = at.create(admission(1)).await;
    let (old, _) = at.hold(&record).await;
    let mut periods = 0;
    let new = loop {
        let living = at.store.beat(OTHER, LIVES).await.unwrap();
        let claimed = at.store.claim(record.id(), OTHER, MINUTE).await.unwrap();
        if let Claimed::Held(claim, _) = claimed {
            assert_eq!(living, [OTHER]);
            break claim;
        }
        assert_eq!((overdue(&at).await, living), (0, vec![WORKER, OTHER]));
        at.clock.pass(LIVES);
        periods += 1;
        assert!(periods < 6, "that is the whole lease");
        at.store.beat(OTHER, LIVES).await.unwrap();
        assert_eq!(overdue(&at).await, 1);
    };
    assert_eq!(periods, 1);
    // It resumes, says that it lives again, and has lost the claim for good.
    at.store.beat(WORKER, LIVES).await.unwrap();
    let facts = vec![mark(1, START)];
    let marked = at
        .store
        .commit(&old, facts, next("wait", Some(START)))
        .await;
    assert!(matches!(marked, Ok(Committed::Stale)));
    assert!(!at.store.renew(&old, MINUTE).await.unwrap());
    at.store.release(old).await.unwrap();
    let busy = at.store.claim(record.id(), WORKER, MINUTE).await.unwrap();
    assert!(matches!(busy, Claimed::Busy(_)), "{busy:?}");
    at.store.record(record.id(), vec![lost(1)]).await.unwrap();
    drop(new);
}

// C4: what was marked may be on its way, whether its worker is dead or stands still. Nothing is due before the mark's own lease is over.
async fn what_was_marked_is_due_when_its_mark_is_over_and_no_claim_stands_in_the_way(at: Ready) {
    at.store.beat(WORKER, LIVES).await.unwrap();
    let record = at.create(admission(1)).await;
    let (claim, _) = at.hold(&record).await;
    let over = START + Span::from_secs(50);
    let marked = at
        .store
        .commit(&claim, vec![mark(1, START)], next("wait", Some(over)));
    assert!(matches!(marked.await, Ok(Committed::Durable(_))));
    for _ in 0..5 {
        assert_eq!(overdue(&at).await, 0);
        at.clock.pass(LIVES);
        at.store.beat(OTHER, LIVES).await.unwrap();
    }
    assert!(
        claim.until > at.store.now().await.unwrap(),
        "its claim lasts"
    );
    assert_eq!(overdue(&at).await, 1);
    let claimed = at.store.claim(record.id(), OTHER, MINUTE).await.unwrap();
    assert!(matches!(claimed, Claimed::Held(..)));
}

// Between its start and its first word, and with one version before.
async fn a_worker_that_never_said_that_it_lives_keeps_its_claims_until_their_lease(at: Ready) {
    let record = at.create(admission(1)).await;
    drop(at.hold(&record).await);
    for _ in 0..6 {
        let busy = at.store.claim(record.id(), OTHER, MINUTE).await.unwrap();
        assert!(matches!(busy, Claimed::Busy(until) if until == START + MINUTE));
        assert_eq!(overdue(&at).await, 0);
        at.clock.pass(LIVES);
        at.store.beat(OTHER, LIVES).await.unwrap();
    }
    let claimed = at.store.claim(record.id(), OTHER, MINUTE).await.unwrap();
    assert!(matches!(claimed, Claimed::Held(..)));
}

async fn a_worker_that_ends_leaves_everything_at_once(at: Ready) {
    at.store.beat(WORKER, LIVES).await.unwrap();
    let record = at.create(admission(1)).await;
    drop(at.hold(&record).await);
    at.clock.pass(Span::from_secs(1));
    assert_eq!(overdue(&at).await, 0);
    at.store.beat(WORKER, Span::ZERO).await.unwrap();
    assert_eq!(at.store.beat(OTHER, LIVES).await.unwrap(), [OTHER]);
    assert_eq!(overdue(&at).await, 1);
    let claimed = at.store.claim(record.id(), OTHER, MINUTE).await.unwrap();
    assert!(matches!(claimed, Claimed::Held(..)));
}

// Whoever asks whenever, and records as many as it was given: never more than the bound, and all of it is used in the end.
async fn the_rooms_of_all_keep_to_the_bound(at: Ready) {
    const MAX: usize = 40;
    let workers = [WORKER, OTHER, THIRD];
    for worker in workers {
        at.store.beat(worker, LIVES).await.unwrap();
    }
    let (mut rooms, mut recorded, mut draw) = ([0usize; 3], 0usize, 7u64);
    for _ in 0..400 {
        draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let one = usize::try_from(draw >> 33).unwrap() % 3;
        if draw >> 40 & 3 == 0 {
            let room = at.store.room(workers[one], MAX).await.unwrap();
            rooms[one] = room.expect("workers share it");
        } else if rooms[one] > 0 {
            rooms[one] -= 1;
            at.create(admission(u64::try_from(recorded).unwrap())).await;
            recorded += 1;
        }
        let given: usize = rooms.iter().sum();
        assert!(recorded + given <= MAX, "{recorded} and {rooms:?} more");
    }
    assert_eq!(recorded, MAX);
    assert_eq!(at.store.room(WORKER, MAX).await.unwrap(), Some(0));
}

async fn a_room_is_others_once_its_worker_is_gone(at: Ready) {
    const MAX: usize = 40;
    for worker in [WORKER, OTHER] {
        at.store.beat(worker, LIVES).await.unwrap();
    }
    let first = at.store.room(WORKER, MAX).await.unwrap();
    assert_eq!(first, Some(10), "half of its share");
    // One that joins finds some, and what the first one was given is not given twice.
    assert_eq!(at.store.room(OTHER, MAX).await.unwrap(), Some(7));
    at.clock.pass(LIVES);
    at.store.beat(OTHER, LIVES).await.unwrap();
    assert_eq!(at.store.room(OTHER, MAX).await.unwrap(), Some(20));
    assert_eq!(at.store.room(WORKER, MAX).await.unwrap(), Some(0));
}
