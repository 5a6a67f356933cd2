//! What a stop, a start and an old copy of the file leave (cases, groups L and Q).

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use factum::config::Wait;
use factum::core::Span;
use factum::{ActionId, Code, Factum};
use factum_faults::FaultPlan;
use factum_testbed::{Config as TestbedConfig, Filter, Handle, Testbed};
use serde_json::json;

use crate::support::{PATIENCE, config};

async fn testbed(faults: &str) -> Handle {
    let faults = FaultPlan::parse(7, faults).unwrap();
    Testbed::start(TestbedConfig {
        faults,
        ..TestbedConfig::default()
    })
    .await
    .unwrap()
}

async fn engine(folder: &Path, testbed: &Handle) -> Factum {
    let file = folder.join("factum.db");
    Factum::sqlite(file)
        .config(config(&testbed.base_url(), ""))
        .start()
        .await
        .unwrap()
}

async fn submit(factum: &Factum, operation: &str, business: &str) -> ActionId {
    let action = factum
        .action("bed", operation)
        .key(business)
        .payload(json!({ "business": business }));
    action.submit().await.unwrap().status.id.parse().unwrap()
}

fn effects(testbed: &Handle, business: &str) -> u64 {
    testbed
        .ledger()
        .counts(&Filter::business(business))
        .effects_of(business)
}

/// B152: fifty recorded and unsent actions survive a stop, and each is carried out once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_recorded_survives_a_stop() {
    let folder = tempfile::tempdir().unwrap();
    let testbed = testbed("").await;
    let factum = engine(folder.path(), &testbed).await;
    factum.engine().set_paused(true, "test").await.unwrap();
    let mut ids = Vec::new();
    for n in 0..50 {
        ids.push((n, submit(&factum, "key.sync", &format!("kept-{n}")).await));
    }
    assert_eq!(factum.shutdown(Duration::from_secs(5)).await, 0);
    drop(factum);
    assert_eq!(testbed.ledger().counts(&Filter::default()).total_effects, 0);

    let factum = engine(folder.path(), &testbed).await;
    assert_eq!(
        factum.engine().paused_by().await.unwrap().as_deref(),
        Some("test"),
        "a pause outlives a restart"
    );
    factum.engine().set_paused(false, "test").await.unwrap();
    for (n, id) in ids {
        assert_eq!(
            factum.wait_status(id, PATIENCE).await.unwrap().state,
            "succeeded"
        );
        assert_eq!(effects(&testbed, &format!("kept-{n}")), 1);
    }
    factum.shutdown(Duration::from_secs(5)).await;
}

/// A stop with a request in flight: it is recorded as maybe sent, and settled after the next start.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_in_flight_at_a_stop_is_maybe_sent() {
    let folder = tempfile::tempdir().unwrap();
    // Neither the answer nor the end of the wait for it comes before the stop.
    let testbed = testbed("late_answer=60000,class=effect,n=1").await;
    let mut patient = config(&testbed.base_url(), "");
    let bed = patient.destinations.get_mut("bed").unwrap();
    bed.limits.answer_wait = Some(Wait(Span::from_secs(60)));
    let factum = Factum::sqlite(folder.path().join("factum.db"))
        .config(patient)
        .start()
        .await
        .unwrap();
    let id = submit(&factum, "lookup.sync", "slow").await;
    testbed
        .ledger()
        .wait_until(&Filter::business("slow"), |counts| counts.deliveries > 0)
        .await;
    assert_eq!(
        factum.shutdown(Duration::ZERO).await,
        1,
        "one request could not end"
    );
    drop(factum);

    let factum = engine(folder.path(), &testbed).await;
    let status = factum.wait_status(id, PATIENCE).await.unwrap();
    assert_eq!(
        (status.state, status.attempts),
        ("succeeded", 1),
        "{:?}",
        factum.evidence(id).await
    );
    assert_eq!(effects(&testbed, "slow"), 1);
    factum.shutdown(Duration::from_secs(5)).await;
}

/// B62: the key belongs to the action and not to the call. The engine that comes after sends the same one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_is_the_same_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let testbed = testbed("late_answer=60000,class=effect,n=1").await;
    let factum = engine(folder.path(), &testbed).await;
    let id = submit(&factum, "key.sync", "kept").await;
    testbed
        .ledger()
        .wait_until(&Filter::business("kept"), |counts| counts.deliveries > 0)
        .await;
    factum.shutdown(Duration::ZERO).await;
    drop(factum);

    let factum = engine(folder.path(), &testbed).await;
    let status = factum.wait_status(id, PATIENCE).await.unwrap();
    assert_eq!(status.state, "succeeded", "{:?}", factum.evidence(id).await);
    let rows = testbed.ledger().rows(&Filter::business("kept"));
    let keys: BTreeSet<_> = rows.iter().filter_map(|row| row.key.as_deref()).collect();
    assert_eq!(keys.len(), 1, "{rows:?}");
    let counts = testbed.ledger().counts(&Filter::business("kept"));
    assert!(counts.deliveries > 1, "it was sent again: {rows:?}");
    assert_eq!(effects(&testbed, "kept"), 1);
    factum.shutdown(Duration::from_secs(5)).await;
}

/// Puts the file of a closed store over another's.
fn copy_store(from: &Path, to: &Path) {
    for wal in ["factum.db-wal", "factum.db-shm"] {
        let _ = std::fs::remove_file(to.join(wal));
    }
    std::fs::copy(from.join("factum.db"), to.join("factum.db")).unwrap();
}

/// B190, R18: an old copy of the file is noticed. What it does not know of is maybe sent: nothing is sent until an operator
/// releases it, lookups go on, and then each effect exists once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_copy_is_noticed_and_repeats_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let testbed = testbed("").await;
    let factum = engine(folder.path(), &testbed).await;
    factum.engine().set_paused(true, "test").await.unwrap();
    let caught = submit(&factum, "lookup.sync", "caught").await;
    let unlucky = submit(&factum, "neither.sync", "unlucky").await;
    let unsent = submit(&factum, "lookup.sync", "unsent").await;
    factum.shutdown(Duration::from_secs(5)).await;
    drop(factum);
    let copy = tempfile::tempdir().unwrap();
    copy_store(folder.path(), copy.path());

    let factum = engine(folder.path(), &testbed).await;
    factum.cancel(unsent, "test", "not yet").await.unwrap();
    factum.engine().set_paused(false, "test").await.unwrap();
    for id in [caught, unlucky] {
        assert_eq!(
            factum.wait_status(id, PATIENCE).await.unwrap().state,
            "succeeded"
        );
    }
    factum.shutdown(Duration::from_secs(5)).await;
    drop(factum);
    copy_store(copy.path(), folder.path());

    let factum = engine(folder.path(), &testbed).await;
    let restore = factum.engine().restore().await.unwrap();
    assert!(restore.is_some_and(|restore| restore.released.is_none()));
    factum.engine().set_paused(false, "test").await.unwrap();
    // Submitted again by a caller whose first answer was lost with the tail: maybe sent, not new.
    let again = submit(&factum, "lookup.sync", "resubmitted").await;
    let found = factum.wait_status(caught, PATIENCE).await.unwrap();
    assert_eq!(
        found.state,
        "succeeded",
        "found by its reference: {:?}",
        factum.evidence(caught).await
    );
    assert_eq!(
        testbed.ledger().counts(&Filter::default()).total_effects,
        2,
        "nothing was sent before the release"
    );
    factum.engine().release_restore("test").await.unwrap();
    let status = factum.wait_status(unlucky, PATIENCE).await.unwrap();
    assert_eq!(
        (status.state, status.next.step),
        ("outcome_unknown", "review"),
        "{status:?}"
    );
    for (id, business) in [(again, "resubmitted"), (unsent, "unsent")] {
        let status = factum.wait_status(id, PATIENCE).await.unwrap();
        assert_eq!(
            status.state,
            "succeeded",
            "{business}: {:?}",
            factum.evidence(id).await
        );
    }
    for business in ["caught", "unlucky", "resubmitted", "unsent"] {
        assert_eq!(effects(&testbed, business), 1, "{business}");
    }
    factum.shutdown(Duration::from_secs(5)).await;
}

/// One process at a time: the second is told who holds the file.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_held_file_is_refused_with_its_holder() {
    let folder = tempfile::tempdir().unwrap();
    let testbed = testbed("").await;
    let factum = engine(folder.path(), &testbed).await;
    let second = Factum::sqlite(folder.path().join("factum.db"))
        .start()
        .await;
    let refused = second.err().unwrap();
    assert_eq!(refused.code, Code::StoreHeld);
    assert!(
        refused.rule.contains(&std::process::id().to_string()),
        "{refused}"
    );
    factum.shutdown(Duration::from_secs(5)).await;
}
