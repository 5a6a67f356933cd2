//! Every fault at every kind and mode: what the caller sees, and what happened.

use std::time::Duration;

use factum_faults::{Acted, Fault, FaultPlan};
use factum_testbed::{Event, Filter, Handle, Kind, Mode};

use crate::caller::{Ask, End, Reply, order, started, with_faults};

/// What the caller sees of a fault: how the exchange ends, and with which status where there is one.
fn seen(fault: Fault, mode: Mode) -> (End, u16) {
    let true_status = if mode == Mode::Sync { 201 } else { 202 };
    match fault {
        Fault::None | Fault::LateAnswer { .. } | Fault::DuplicateDelivery => {
            (End::Whole, true_status)
        }
        Fault::Refuse | Fault::CloseUnread | Fault::HangInAccept { .. } | Fault::CloseRst => {
            (End::Reset, 0)
        }
        Fault::CloseAfterRead | Fault::CloseFin | Fault::DelayedCommit { .. } => {
            (End::ClosedEmpty, 0)
        }
        Fault::CutHead => (End::CutHead, 0),
        Fault::CutBody => (End::CutBody, 0),
        Fault::Empty2xx | Fault::Garbage => (End::Whole, 200),
        Fault::TooMany429 => (End::Whole, 429),
        Fault::Reject4xx { code }
        | Fault::BusyBefore { code }
        | Fault::Status { code }
        | Fault::Redirect { code } => (End::Whole, code),
        _ => unreachable!("{fault} happens to reports"),
    }
}

/// Effects that exist in the end.
fn effects(fault: Fault, kind: Kind) -> u64 {
    match fault.acted() {
        Acted::No => 0,
        Acted::Yes | Acted::Later => 1,
        Acted::Twice if kind == Kind::Key => 1,
        Acted::Twice => 2,
    }
}

/// Every kind of fault, those with codes once per code, with waits that a test can afford.
fn every_fault() -> Vec<Fault> {
    let mut faults = Vec::new();
    // What happens to reports is in `callbacks`.
    for fault in Fault::ALL.iter().filter(|fault| !fault.is_of_callback()) {
        match *fault {
            Fault::Status { .. } => faults.extend(
                factum_faults::STATUS_CODES
                    .iter()
                    .map(|code| Fault::Status { code: *code }),
            ),
            Fault::Redirect { .. } => faults.extend(
                factum_faults::REDIRECT_CODES
                    .iter()
                    .map(|code| Fault::Redirect { code: *code }),
            ),
            Fault::BusyBefore { .. } => faults.extend(
                factum_faults::BUSY_CODES
                    .iter()
                    .map(|code| Fault::BusyBefore { code: *code }),
            ),
            Fault::Reject4xx { .. } => faults.extend(
                factum_faults::REJECT_CODES
                    .iter()
                    .map(|code| Fault::Reject4xx { code: *code }),
            ),
            Fault::HangInAccept { .. } => faults.push(Fault::HangInAccept { ms: 20 }),
            Fault::LateAnswer { .. } => faults.push(Fault::LateAnswer { ms: 20 }),
            Fault::DelayedCommit { .. } => faults.push(Fault::DelayedCommit { ms: 20 }),
            other => faults.push(other),
        }
    }
    faults
}

async fn one(testbed: &Handle, kind: Kind, mode: Mode, name: &str) -> Reply {
    let path = format!("/{}/{}/effects", kind.name(), mode.name());
    Ask::post(path, &order(name))
        .key(name)
        .send(testbed.addr())
        .await
}

#[tokio::test]
async fn every_kind_mode_and_fault() {
    let testbed = with_faults("").await;
    testbed.change_settings(|settings| settings.queue_delay = Duration::from_millis(5));
    for kind in Kind::ALL {
        for mode in Mode::ALL {
            for fault in every_fault() {
                let name = format!("{}-{}-{fault}", kind.name(), mode.name());
                let rule = format!("{fault},class=effect");
                testbed.set_faults(FaultPlan::parse(1, &rule).unwrap());
                let reply = one(&testbed, *kind, *mode, &name).await;
                assert_eq!((reply.end, reply.status), seen(fault, *mode), "{name}");

                let expected = effects(fault, *kind);
                let filter = Filter::business(&name);
                let settled = testbed
                    .ledger()
                    .wait_until(&filter, |counts| {
                        counts.pending == 0 && counts.total_effects >= expected
                    })
                    .await;
                assert_eq!(settled.total_effects, expected, "{name}");
                assert_eq!(settled.deliveries, 1, "{name}");
                assert_eq!(
                    settled.answers_lost,
                    u64::from(fault.loses_answer()),
                    "{name}"
                );
                let named = (fault != Fault::None).then(|| fault.to_string());
                assert_eq!(testbed.ledger().rows(&filter)[0].fault, named, "{name}");
            }
        }
    }
}

// B19
#[tokio::test]
async fn a_redirect_points_elsewhere_and_the_ledger_shows_who_follows() {
    let testbed = with_faults("redirect=308,n=1").await;
    let reply = one(&testbed, Kind::Neither, Mode::Sync, "a").await;
    assert_eq!(reply.header("Location"), Some("/elsewhere"));
    assert_eq!(testbed.ledger().counts(&Filter::default()).elsewhere, 0);

    Ask::post("/elsewhere", &order("a"))
        .send(testbed.addr())
        .await;
    let counts = testbed.ledger().counts(&Filter::default());
    assert_eq!(
        (counts.elsewhere, counts.total_effects, counts.deliveries),
        (1, 1, 1)
    );
}

#[tokio::test]
async fn a_delayed_commit_lands_after_the_connection_is_gone() {
    let testbed = with_faults("delayed_commit=60000,n=1").await;
    let reply = one(&testbed, Kind::Lookup, Mode::Sync, "a").await;
    assert_eq!(reply.end, End::ClosedEmpty);
    let before = testbed.ledger().counts(&Filter::default());
    assert_eq!((before.total_effects, before.pending), (0, 1));
    // A search asked now finds nothing, although the effect will land.
    let search = Ask::get("/lookup/sync/effects?reference=ref-a")
        .send(testbed.addr())
        .await;
    assert_eq!(search.json()["items"].as_array().unwrap().len(), 0);

    testbed.advance(Duration::from_secs(60));
    let after = testbed
        .ledger()
        .wait_until(&Filter::default(), |counts| counts.total_effects == 1)
        .await;
    assert_eq!(after.pending, 0);
}

#[tokio::test]
async fn a_refused_connection_and_a_shut_door_never_reach_a_destination() {
    let testbed = with_faults("refuse,n=1").await;
    assert_eq!(
        one(&testbed, Kind::Neither, Mode::Sync, "a").await.end,
        End::Reset
    );
    testbed.shut_door().await;
    assert_eq!(
        one(&testbed, Kind::Neither, Mode::Sync, "a").await.end,
        End::Refused
    );
    assert!(testbed.ledger().rows(&Filter::default()).is_empty());
    assert_eq!(
        testbed
            .ledger()
            .counts(&Filter::default())
            .refused_connections,
        1
    );

    testbed.open_door().await.unwrap();
    assert_eq!(
        one(&testbed, Kind::Neither, Mode::Sync, "a").await.status,
        201
    );
}

// B91
#[tokio::test]
async fn searches_polls_and_cancels_lose_their_answers_too() {
    let testbed = with_faults("").await;
    one(&testbed, Kind::Lookup, Mode::Sync, "a").await;
    one(&testbed, Kind::Key, Mode::Queued, "b").await;
    let asks = [
        Ask::get("/lookup/sync/effects?reference=ref-a"),
        Ask::get("/key/queued/jobs/J-1"),
        Ask::post("/cancel/sync/cancel", &serde_json::json!({"key": "c"})),
    ];
    for ask in asks {
        for fault in every_fault() {
            testbed.set_faults(FaultPlan::parse(1, &format!("{fault},path=/")).unwrap());
            let reply = ask.send(testbed.addr()).await;
            let (end, status) = seen(fault, Mode::Sync);
            let status = if status == 201 { 200 } else { status };
            assert_eq!((reply.end, reply.status), (end, status), "{ask:?} {fault}");
        }
    }
    let cancels = testbed.ledger().rows(&Filter::default());
    assert!(cancels.iter().any(|row| row.event == Event::Cancelled));
}

#[tokio::test]
async fn a_long_body_can_stay_unread() {
    let testbed = with_faults("close_unread,n=1,path=/neither/").await;
    let mut body = order("a");
    body["filler"] = "x".repeat(8 << 20).into();
    let ask = Ask::post("/neither/sync/effects", &body);
    assert_eq!(ask.send(testbed.addr()).await.end, End::Reset);
    let counts = testbed.ledger().counts(&Filter::default());
    assert_eq!((counts.total_effects, counts.dropped), (0, 1));

    assert_eq!(ask.send(testbed.addr()).await.status, 201);
    assert_eq!(
        testbed.ledger().counts(&Filter::default()).effects_of("a"),
        1
    );
}

// B37
#[tokio::test]
async fn deliveries_are_counted_per_business_reference_whatever_becomes_of_them() {
    let testbed =
        with_faults("close_fin,n=1; busy_before,n=1; close_after_read,n=1; duplicate_delivery,n=1")
            .await;
    for _ in 0..5 {
        one(&testbed, Kind::Lookup, Mode::Sync, "a").await;
    }
    one(&testbed, Kind::Lookup, Mode::Sync, "b").await;
    let counts = testbed.ledger().counts(&Filter::default());
    assert_eq!(
        (counts.deliveries_of("a"), counts.deliveries_of("b")),
        (5, 1)
    );
    assert_eq!(
        (
            counts.effects_of("a"),
            counts.duplicates,
            counts.answers_lost
        ),
        (4, 3, 2)
    );
}

#[tokio::test]
async fn the_mix_of_lost_answers_is_played_in_full() {
    let testbed = started(factum_testbed::Config {
        faults: FaultPlan::parse(3, "loss,p=0.9,late=1,hang=1,delay=1").unwrap(),
        ..Default::default()
    })
    .await;
    for n in 0..200 {
        one(&testbed, Kind::Neither, Mode::Sync, &format!("o{n}")).await;
    }
    let counts = testbed
        .ledger()
        .wait_until(&Filter::default(), |counts| counts.pending == 0)
        .await;
    // Whoever was refused at the connection left no row; all others have exactly one delivery.
    assert!(counts.refused_connections > 0, "{counts:?}");
    assert_eq!(counts.deliveries + counts.refused_connections, 200);
    assert_eq!(
        counts.deliveries,
        counts.total_effects + counts.dropped + counts.refused
    );
    assert!(counts.answers_lost > 130, "{counts:?}");
    assert_eq!(counts.duplicates, 0);
}
