//! Work whose end stands only in a feed of events: read on from a cursor, hit by the faults of reports, and gone on with after a
//! restart. Effects and events handed out are counted in the testbed's ledger.

use std::path::Path;
use std::time::Duration;

use factum::view::StatusView;
use factum::{ActionId, Factum, callbacks};
use factum_faults::FaultPlan;
use factum_testbed::{Config as TestbedConfig, Filter, Handle, Testbed};
use serde_json::json;

use crate::support::{PATIENCE, Rig, config};

impl Rig {
    /// How the action stands once this holds. Nobody tells of the feed, so that it is looked at again and again.
    async fn seen(&self, id: ActionId, enough: impl Fn(&StatusView, usize) -> bool) -> StatusView {
        let looking = async {
            loop {
                let reported = self.facts(id).await;
                let reported = reported.iter().filter(|fact| **fact == "called_back");
                let reported = reported.count();
                let status = self.factum.status(id).await.unwrap();
                if enough(&status, reported) {
                    return status;
                }
                let _ = self.factum.wait_status(id, Duration::from_millis(50)).await;
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, looking).await.unwrap()
    }

    fn events(&self) -> u64 {
        events(&self.testbed)
    }

    async fn landed(&self, effects: u64) {
        landed(&self.testbed, effects).await;
    }
}

fn events(testbed: &Handle) -> u64 {
    testbed.ledger().counts(&Filter::default()).events
}

async fn landed(testbed: &Handle, effects: u64) {
    let ledger = testbed.ledger();
    let all = Filter::default();
    let waiting = ledger.wait_until(&all, |counts| counts.total_effects >= effects);
    tokio::time::timeout(PATIENCE, waiting).await.unwrap();
}

/// B08, B20: however the event comes, it is one fact about its own action.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_stands_only_in_a_feed_succeeds_once_however_it_comes() {
    for fault in [
        "",
        "callback_twice",
        "callback_reordered,n=1",
        "callback_late=300",
        // Pages that are lost on the way are asked for again.
        "close_rst,class=poll,n=1; cut_body,class=poll,n=2",
        // The answer to the effect request is lost: the event alone says that it exists.
        "close_rst,class=effect,n=1",
    ] {
        let rig = Rig::start(fault).await;
        let ids = [
            ("a", rig.submit("neither.fed", "a").await),
            ("b", rig.submit("neither.fed", "b").await),
        ];
        for (business, id) in ids {
            let status = rig.rested(id).await;
            assert_eq!(status.state, "succeeded", "{fault}: {status:?}");
            let facts = rig.facts(id).await;
            let reported = facts.iter().filter(|fact| **fact == "called_back").count();
            assert_eq!(reported, 1, "{fault}: {facts:?}");
            let polled = facts.contains(&"polled") || facts.contains(&"looked_up");
            assert!(!polled, "{fault}: {facts:?}");
            assert_eq!(
                (rig.effects(business), rig.deliveries(business)),
                (1, 1),
                "{fault}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_that_says_it_failed_ends_its_own_action_and_what_contradicts_it_undoes_nothing() {
    let rig = Rig::start("callback_contradictory,ref=done").await;
    let fails = json!({ "business": "fails", "behave": "complete_then_fail" });
    let fails = rig.submit_payload("neither.fed", "fails", fails).await;
    let done = rig.submit("neither.fed", "done").await;
    let status = rig.rested(fails).await;
    assert_eq!(
        (status.state, status.happened),
        ("terminal_failure", "no"),
        "{status:?}"
    );
    let status = rig.seen(done, |_, reported| reported == 2).await;
    assert_eq!(status.happened, "yes", "{status:?}");
    assert_eq!((rig.effects("fails"), rig.effects("done")), (0, 1));
}

/// That nothing is reported is no evidence (law 5).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_that_never_comes_is_waited_for() {
    let rig = Rig::start("callback_lost,ref=lost").await;
    let lost = rig.submit("neither.fed", "lost").await;
    rig.landed(1).await;
    let later = rig.submit("neither.fed", "later").await;
    assert_eq!(rig.rested(later).await.state, "succeeded");
    let status = rig.factum.status(lost).await.unwrap();
    assert_eq!(
        (status.state, status.next.step, status.happened),
        ("accepted", "wait", "unknown"),
        "{status:?}"
    );
}

/// What others do in the same account is kept and shown, and is about nobody's action here.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_about_nothing_of_ours_are_kept_and_shown() {
    let rig = Rig::start("").await;
    // An operation without events, at the same queue: it is polled, and what is said of it in the feed names no action.
    let other = rig.submit("neither.queued", "other").await;
    assert_eq!(rig.rested(other).await.state, "succeeded");
    let own = rig.submit("neither.fed", "own").await;
    assert_eq!(rig.rested(own).await.state, "succeeded");
    let engine = rig.factum.engine();
    let unmatched = callbacks::list(engine, factum::DEFAULT_TENANT, true, None, 10)
        .await
        .unwrap();
    assert_eq!(unmatched.len(), 1, "{unmatched:?}");
    assert!(!rig.facts(other).await.contains(&"called_back"));
    assert_eq!(rig.events(), 2, "each was handed out once");
}

/// A cursor that the destination does not know any more begins again, where the contract says how that is told.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cursor_that_is_too_old_begins_again() {
    let rig = Rig::start("").await;
    // Other work first, so that what comes after the reset has no name that came before it.
    for (operation, business) in [("neither.queued", "a"), ("neither.fed", "b")] {
        let id = rig.submit(operation, business).await;
        assert_eq!(rig.rested(id).await.state, "succeeded");
    }
    rig.testbed.ledger().reset().unwrap();
    let id = rig.submit("neither.fed", "c").await;
    assert_eq!(rig.rested(id).await.state, "succeeded");
}

async fn engine(folder: &Path, testbed: &Handle) -> Factum {
    Factum::sqlite(folder.join("factum.db"))
        .config(config(&testbed.base_url(), ""))
        .start()
        .await
        .unwrap()
}

async fn submit(factum: &Factum, business: &str) -> ActionId {
    let action = factum
        .action("bed", "neither.fed")
        .key(business)
        .payload(json!({ "business": business }));
    action.submit().await.unwrap().status.id.parse().unwrap()
}

/// The cursor is durable: after a stop between two pages the first of them is not asked for again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_feed_is_read_on_after_a_restart_from_where_it_was_left() {
    let folder = tempfile::tempdir().unwrap();
    let testbed = Testbed::start(TestbedConfig {
        faults: FaultPlan::parse(7, "close_rst,class=poll").unwrap(),
        ..TestbedConfig::default()
    })
    .await
    .unwrap();
    let factum = engine(folder.path(), &testbed).await;
    let mut ids = Vec::new();
    for business in ["a", "b", "c", "d"] {
        ids.push(submit(&factum, business).await);
        landed(&testbed, ids.len() as u64).await;
    }
    // One page of three gets through, and nothing behind it.
    testbed.set_faults(FaultPlan::parse(7, "none,class=poll,n=1; close_rst,class=poll").unwrap());
    for id in &ids[..3] {
        let status = factum.wait_status(*id, PATIENCE).await.unwrap();
        assert_eq!(status.state, "succeeded");
    }
    factum.shutdown(Duration::from_secs(5)).await;
    drop(factum);
    testbed.set_faults(FaultPlan::none());
    let before = events(&testbed);

    let factum = engine(folder.path(), &testbed).await;
    let status = factum.wait_status(ids[3], PATIENCE).await.unwrap();
    assert_eq!(status.state, "succeeded");
    assert_eq!(events(&testbed) - before, 1, "the fourth alone");
    factum.shutdown(Duration::from_secs(5)).await;
    let counts = testbed.ledger().counts(&Filter::default());
    assert_eq!((counts.total_effects, counts.deliveries), (4, 4));
}
