//! What an answer means, and what it does not (cases, groups A to C).

use factum_testbed::Filter;
use serde_json::json;

use crate::support::Rig;

/// B50, B07, B16: nothing is concluded from a status alone. Every one of these follows the effect.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_concluded_from_a_status_alone() {
    let faults = [
        "status=500",
        "status=502",
        "status=503",
        "status=504",
        "too_many_429",
        "redirect=301",
        "redirect=307",
        "redirect=308",
        "garbage",
        "cut_head",
        "cut_body",
        "empty_2xx",
        "close_rst",
    ];
    for fault in faults {
        let rig = Rig::start(&format!("{fault},class=effect,n=1,per=reference")).await;
        let unsure = rig.submit("neither.sync", "unsure").await;
        let unsure = rig.rested(unsure).await;
        assert_eq!(
            (unsure.state, unsure.next.step),
            ("outcome_unknown", "review"),
            "{fault}: {unsure:?}"
        );
        let found = rig.submit("lookup.sync", "found").await;
        let found = rig.rested(found).await;
        assert_eq!(
            (found.state, found.attempts),
            ("succeeded", 1),
            "{fault}: {found:?}"
        );
        for business in ["unsure", "found"] {
            assert_eq!(
                (rig.effects(business), rig.deliveries(business)),
                (1, 1),
                "{fault} {business}"
            );
        }
        // B19: nobody followed the redirect.
        assert_eq!(
            rig.testbed.ledger().counts(&Filter::default()).elsewhere,
            0,
            "{fault}"
        );
    }
}

/// B16: a failure that hides in a 200 is a failure where the contract says how to see it.
#[tokio::test]
async fn a_failure_that_hides_in_a_200_is_seen() {
    let rig = Rig::start("").await;
    let id = rig
        .submit_payload(
            "neither.sync",
            "hid",
            json!({ "business": "hid", "behave": "ok_false" }),
        )
        .await;
    let status = rig.rested(id).await;
    assert_eq!(
        (status.state, status.happened),
        ("terminal_failure", "no"),
        "{status:?}"
    );
    assert!(status.because.is_some());
    assert_eq!(rig.effects("hid"), 0);
}

/// R30: declined and recorded there is no effect in the contract's meaning, and says so.
#[tokio::test]
async fn a_decline_is_no_effect() {
    let rig = Rig::start("").await;
    let id = rig
        .submit_payload(
            "key.sync",
            "card",
            json!({ "business": "card", "behave": "decline" }),
        )
        .await;
    let status = rig.rested(id).await;
    assert_eq!(
        (status.state, status.happened),
        ("terminal_failure", "no"),
        "{status:?}"
    );
    assert_eq!(rig.effects("card"), 0);
}

/// B20, B08: accepted is not done; what is accepted and then fails is not done either.
#[tokio::test]
async fn accepted_is_followed_to_its_end() {
    let rig = Rig::start("").await;
    let fails = json!({ "business": "fails", "behave": "complete_then_fail" });
    let fails = rig.submit_payload("neither.queued", "fails", fails).await;
    let works = rig.submit("neither.queued", "works").await;
    let status = rig.rested(fails).await;
    assert_eq!(
        (status.state, status.happened),
        ("terminal_failure", "no"),
        "{status:?}"
    );
    assert_eq!(rig.rested(works).await.state, "succeeded");
    assert_eq!((rig.effects("fails"), rig.effects("works")), (0, 1));
    assert!(rig.facts(works).await.contains(&"polled"));
}

/// B02, B10, B38, B53, B55, B59: slower than we wait. One request on the wire; unknown at first, then found.
#[tokio::test]
async fn a_slow_destination_is_not_asked_twice() {
    let rig = Rig::start("").await;
    let payload = json!({ "business": "slow", "behave": "slow", "slow_ms": 1_600 });
    let id = rig.submit_payload("lookup.sync", "slow", payload).await;
    let status = rig.rested(id).await;
    assert_eq!(
        (status.state, status.attempts),
        ("succeeded", 1),
        "{:?}",
        rig.facts(id).await
    );
    assert_eq!((rig.effects("slow"), rig.deliveries("slow")), (1, 1));
}

/// B53, B55, B56, B59: whatever ends the wait, nothing below the engine tries again by itself. The wire shows as many requests as
/// attempts were recorded: one where nothing can be found out, and none behind an effect that is found.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_layer_below_tries_again_by_itself() {
    let network = [
        "late_answer=20000",
        "close_fin",
        "close_rst",
        "cut_head",
        "cut_body",
    ];
    for fault in network {
        let rig = Rig::start(&format!("{fault},class=effect")).await;
        let sms = rig.submit("neither.sync", "sms").await;
        let document = rig.submit("lookup.sync", "document").await;
        let sms = rig.rested(sms).await;
        assert_eq!(
            (sms.state, sms.attempts),
            ("outcome_unknown", 1),
            "{fault}: {sms:?}"
        );
        let document = rig.rested(document).await;
        assert_eq!(
            (document.state, document.attempts),
            ("succeeded", 1),
            "{fault}: {document:?}"
        );
        for business in ["sms", "document"] {
            let there = (rig.effects(business), rig.deliveries(business));
            assert_eq!(there, (1, 1), "{fault} {business}");
        }
    }
}

/// R1: an effect that lands after its connection is gone is waited for, and made once.
#[tokio::test]
async fn a_delayed_commit_is_waited_for() {
    let rig = Rig::start("delayed_commit=900,class=effect,n=1,per=reference").await;
    let id = rig.submit("lookup.sync", "late").await;
    let status = rig.rested(id).await;
    assert_eq!(
        (status.state, status.attempts),
        ("succeeded", 1),
        "{:?}",
        rig.facts(id).await
    );
    assert_eq!(rig.effects("late"), 1);
}

/// B77: "an earlier one is still running" is wait and repeat, never a failure.
#[tokio::test]
async fn in_progress_is_waited_out() {
    let rig = Rig::start("").await;
    let payload = json!({ "business": "busy", "behave": "slow", "slow_ms": 2_500 });
    let id = rig.submit_payload("key.sync", "busy", payload).await;
    let status = rig.rested(id).await;
    assert_eq!(status.state, "succeeded", "{:?}", rig.facts(id).await);
    assert_eq!(rig.effects("busy"), 1);
    assert!(status.attempts > 1);
}

/// B76, R19: a 500 that is stored under the key and replayed for ever ends the key's use; nothing loops.
#[tokio::test]
async fn a_replayed_500_does_not_loop() {
    let rig = Rig::start("status=500,class=effect,n=1,per=reference").await;
    rig.testbed
        .change_settings(|settings| settings.replay_errors = true);
    let id = rig.submit("key.sync", "poison").await;
    let status = rig.rested(id).await;
    assert_eq!(
        (status.state, status.next.step),
        ("outcome_unknown", "review"),
        "{:?}",
        rig.facts(id).await
    );
    assert_eq!(rig.effects("poison"), 1);
    assert!(
        rig.deliveries("poison") <= 3,
        "{} deliveries",
        rig.deliveries("poison")
    );
}

/// B32, B34, B179: nothing left this machine, so it is tried again by itself, and the wire shows one request.
#[tokio::test]
async fn what_never_left_is_tried_again() {
    let rig = Rig::start("").await;
    rig.testbed.shut_door().await;
    let id = rig.submit("neither.sync", "door").await;
    let mut changes = rig.factum.engine().changes();
    while !rig.facts(id).await.contains(&"not_sent") {
        changes.recv().await.unwrap();
    }
    let status = rig.factum.status(id).await.unwrap();
    assert!(
        matches!(
            status.state,
            "retryable_failure" | "dispatching" | "pending"
        ),
        "{status:?}"
    );
    rig.testbed.open_door().await.unwrap();
    let status = rig.rested(id).await;
    assert_eq!(status.state, "succeeded", "{:?}", rig.facts(id).await);
    assert_eq!((rig.effects("door"), rig.deliveries("door")), (1, 1));
}

/// B46, R7: a proxy in front delivers twice. Where the key is honoured that is one effect.
#[tokio::test]
async fn a_proxy_that_delivers_twice_makes_one_effect_under_a_key() {
    let rig = Rig::start("duplicate_delivery,class=effect").await;
    let id = rig.submit("key.sync", "twice").await;
    assert_eq!(rig.rested(id).await.state, "succeeded");
    assert_eq!(rig.effects("twice"), 1);
}

/// Cancel by key: whatever exists is withdrawn first, then sent under a new key.
#[tokio::test]
async fn what_may_exist_is_withdrawn_before_it_is_sent_again() {
    for fault in ["close_fin", "close_after_read", "status=500"] {
        let rig = Rig::start(&format!("{fault},class=effect,n=1,per=reference")).await;
        let id = rig.submit("cancel.sync", "withdrawn").await;
        let status = rig.rested(id).await;
        assert_eq!(
            (status.state, status.attempts),
            ("succeeded", 2),
            "{fault}: {:?}",
            rig.facts(id).await
        );
        assert_eq!(rig.effects("withdrawn"), 1, "{fault}");
        assert!(rig.facts(id).await.contains(&"cancel_answered"), "{fault}");
    }
}

/// B31, B35, B37: keep-alive connections that the destination closes between requests make no second request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wire_attempts_equal_recorded_attempts() {
    let rig = Rig::start("close_rst,p=0.3,class=effect").await;
    let mut ids = Vec::new();
    for n in 0..60 {
        ids.push((n, rig.submit("key.sync", &format!("wire-{n}")).await));
    }
    for (n, id) in ids {
        let status = rig.rested(id).await;
        let business = format!("wire-{n}");
        assert_eq!(status.state, "succeeded");
        assert_eq!(rig.effects(&business), 1);
        let not_sent = rig
            .facts(id)
            .await
            .iter()
            .filter(|fact| **fact == "not_sent")
            .count();
        assert_eq!(
            u64::from(status.attempts),
            rig.deliveries(&business) + u64::try_from(not_sent).unwrap(),
            "{business}: {:?}",
            rig.facts(id).await
        );
    }
}
