//! Limits and clocks that somebody lost count of: repeats without an end, a limit of one attempt and a crash, a clock that jumps. And
//! identities that an older program has named.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use factum_core::{ActionId, IdentityHash, Permission, Span, State, Timestamp};
use factum_engine::driver::{Command, Event};
use factum_engine::{Carried, CarriedRequest, Code, Keys};
use factum_store::{Admission, MemoryStore, NextRow, Store};

use crate::running::{done, start_on, submission};
use crate::world::{World, promises, ready};

fn store() -> Arc<MemoryStore> {
    let clock = || {
        let since = std::time::UNIX_EPOCH.elapsed().unwrap();
        Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap())
    };
    Arc::new(MemoryStore::new(Arc::new(clock)))
}

/// B172: a workflow engine repeats its step a thousand times while the answer is lost: each repeat joins, is answered with the unknown as a
/// value, and the destination hears of one.
#[tokio::test]
async fn a_thousand_repeats_of_a_lost_answer_join_and_touch_nothing() {
    let reached = Arc::new(AtomicU32::new(0));
    let counts = reached.clone();
    let lose = move |_: Permission, _: CarriedRequest| {
        counts.fetch_add(1, Ordering::Relaxed);
        std::future::ready(Carried::Unknown("the answer was lost".to_owned()))
    };
    let engine = start_on(store(), lose, 100).await;
    let first = engine.submit(submission("step"), "default", "admin").await;
    let id = first.unwrap().record.id();
    let rested = engine.wait(id, Duration::from_secs(60)).await.unwrap();
    assert_eq!(rested.status().state, State::OutcomeUnknown);
    for _ in 0..1_000 {
        let again = engine.submit(submission("step"), "default", "admin").await;
        let again = again.unwrap();
        assert!(!again.created && again.record.id() == id);
        assert_eq!(again.record.status().state, State::OutcomeUnknown);
    }
    assert_eq!(reached.load(Ordering::Relaxed), 1);
}

/// B173, C5: one attempt is allowed, and the worker dies in it. The number stands in the log before the first byte, so that a restart
/// grants no other one.
#[test]
fn a_crash_in_the_only_attempt_grants_no_other() {
    // A resend by key would be right, were there one left.
    let mut world = World::new(2, promises(Some(Span::from_secs(86_400)), false));
    let mut action = world.action(1, None);
    action.intent.limits.attempts_max = 1;
    let id = action.intent.action;
    world.workers[1].stopped = true;
    world.admit(action);
    while !matches!(world.workers[0].commands.front(), Some(Command::Send(_))) {
        world.step(0);
    }
    // The request acts, and the worker dies with its answer.
    let _ = world.carry_out_next(0);
    world.workers[0].stopped = true;
    world.workers[1].stopped = false;
    world.store.restart();
    let now = world.now();
    world.tell(1, crate::world::due(id, now));
    world.run(Span::from_secs(3_600));
    let record = world.record(id);
    let marks = world
        .kinds(id)
        .iter()
        .filter(|kind| **kind == "marked")
        .count();
    assert_eq!((marks, world.effects[&id]), (1, 1));
    assert_eq!(record.status().state, State::OutcomeUnknown);
    assert_eq!(record.next.step, "review", "{}", record.next.why);
}

/// B170: the wall clock jumps a day ahead, and a day back. What is due then is carried out once, and what was carried out is not again: an
/// action is named by its identity and not by a time.
#[test]
fn a_clock_that_jumps_carries_nothing_out_twice() {
    let mut world = World::new(1, promises(None, true));
    let ids: Vec<ActionId> = (1..=20)
        .map(|n| {
            let mut action = world.action(n, None);
            let hours = i64::from(n) * 3_600;
            action.intent.not_before = Some(world.now() + Span::from_secs(hours));
            world.admit(action)
        })
        .collect();
    let effects = |world: &World| {
        ids.iter()
            .filter(|id| world.effects.contains_key(id))
            .count()
    };
    world.run(Span::from_secs(3 * 3_600 + 60));
    assert_eq!(effects(&world), 3);
    for hours in [5, -24, 24, -1, 1, 30] {
        let jump = Span::from_secs(hours * 3_600);
        world.pass(jump);
        world.tell(0, Event::Woke);
        world.run(Span::from_secs(60));
        assert!(world.effects.values().all(|count| *count == 1));
    }
    world.run(Span::from_secs(86_400));
    assert_eq!(effects(&world), ids.len());
    assert!(world.effects.values().all(|count| *count == 1));
}

/// Law 2: an identity that an older program named under the hash of its time is found by it, for as long as that store is used.
#[tokio::test]
async fn an_identity_of_an_older_program_is_joined() {
    let (keys, store) = (Keys::new([7; 32]), store());
    let world = World::new(1, promises(None, true));
    let mut action = world.action(1, None);
    let identity = factum_core::identity::Identity::Key("old".to_owned());
    let hash: IdentityHash = keys.identity_of_form_1(&action.scope, &identity);
    assert_ne!(hash, keys.identity(&action.scope, &identity));
    action.identity = identity;
    action.identity_hash = hash;
    action.fingerprint = keys.fingerprint("{}", "null");
    action.intent.action = ActionId::new(Timestamp::from_micros(0), hash.lane(), 1);
    let id = action.intent.action;
    let admission = Admission {
        action,
        facts: Vec::new(),
        next: NextRow {
            step: "send".to_owned(),
            at: Some(Timestamp::from_micros(i64::MAX / 2)),
            why: "an older program".to_owned(),
        },
        names: Vec::new(),
        claim_for: None,
        under: None,
        entries: Vec::new(),
        oldest: None,
        twins: None,
    };
    ready(store.admit(admission)).unwrap();
    for _ in 0..2 {
        // It is remembered, and not only found out, that the store is an older one.
        let engine = start_on(store.clone(), done, 100).await;
        let joined = engine.submit(submission("old"), "default", "admin").await;
        let joined = joined.unwrap();
        assert!(!joined.created && joined.record.id() == id);
        let other = r#"{"destination":"place","operation":"do","key":"old","payload":{"n":2}}"#;
        let other = factum_engine::Submission::from_json(other).unwrap();
        let refused = engine.submit(other, "default", "admin").await.unwrap_err();
        assert_eq!(refused.code, Code::IdentityConflict, "{refused:?}");
        let new = engine.submit(submission("new"), "default", "admin").await;
        let new = new.unwrap().record;
        assert_eq!(
            new.action.identity_hash,
            keys.identity(&new.action.scope, &new.action.identity)
        );
        engine.shutdown(Duration::from_secs(60)).await;
    }
}
