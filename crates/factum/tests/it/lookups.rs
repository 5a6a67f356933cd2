//! Absence of evidence: lag, truncation, broken lookups (cases, group H).

use std::time::Duration;

use factum_testbed::Filter;
use serde_json::json;

use crate::support::Rig;

/// B91, B95: a lookup that fails says nothing; the outcome stays unknown, and is found once the lookup works.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_lookup_is_not_an_empty_one() {
    for broken in [
        "status=500",
        "too_many_429",
        "garbage",
        "cut_body",
        "close_fin",
        "empty_2xx",
    ] {
        let faults = format!("close_fin,class=effect,n=1; {broken},class=lookup,n=1-3");
        let rig = Rig::start(&faults).await;
        let id = rig.submit("lookup.sync", "kept").await;
        let status = rig.rested(id).await;
        assert_eq!(
            (status.state, status.attempts),
            ("succeeded", 1),
            "{broken}: {:?}",
            rig.facts(id).await
        );
        assert_eq!(
            (rig.effects("kept"), rig.deliveries("kept")),
            (1, 1),
            "{broken}"
        );
    }
}

/// B89: a lookup that lags shows nothing at first. Nothing is sent again, and the effect is found when it shows.
#[tokio::test]
async fn a_lagging_lookup_never_leads_to_a_resend() {
    let rig = Rig::start("close_fin,class=effect,n=1").await;
    rig.testbed
        .change_settings(|settings| settings.search_lag = Duration::from_millis(800));
    let id = rig.submit("lagging.sync", "lags").await;
    let status = rig.rested(id).await;
    assert_eq!(
        (status.state, status.attempts),
        ("succeeded", 1),
        "{:?}",
        rig.facts(id).await
    );
    assert_eq!((rig.effects("lags"), rig.deliveries("lags")), (1, 1));
}

/// The lookup lags by no bound, and the request never arrived: a person decides, and the machine sends nothing.
#[tokio::test]
async fn absence_in_a_lagging_lookup_is_for_a_person() {
    let rig = Rig::start("close_after_read,class=effect,n=1").await;
    rig.testbed
        .change_settings(|settings| settings.search_lag = Duration::from_millis(100));
    let id = rig.submit("lagging.sync", "gone").await;
    let status = rig.rested(id).await;
    assert_eq!(
        (status.state, status.next.step),
        ("outcome_unknown", "review"),
        "{:?}",
        rig.facts(id).await
    );
    assert_eq!((rig.effects("gone"), rig.deliveries("gone")), (0, 1));
}

/// B92: a truncated lookup is no complete one.
#[tokio::test]
async fn a_truncated_lookup_is_not_absence() {
    let rig = Rig::start("close_after_read,class=effect,n=1").await;
    rig.testbed.change_settings(|settings| {
        settings.truncate = true;
        settings.search_lag = Duration::ZERO;
    });
    let id = rig.submit("lagging.sync", "cut").await;
    let status = rig.rested(id).await;
    assert_eq!(
        (status.state, status.next.step),
        ("outcome_unknown", "review"),
        "{:?}",
        rig.facts(id).await
    );
    assert_eq!((rig.effects("cut"), rig.deliveries("cut")), (0, 1));
}

/// B98: somebody else's object with equal visible content is not ours. Ours is sent once absence is proven.
#[tokio::test]
async fn a_look_alike_is_not_ours() {
    let rig = Rig::start("close_after_read,class=effect,n=2").await;
    let twin = json!({ "business": "same", "title": "the printer is on fire" });
    let theirs = rig
        .submit_payload("lookup.sync", "theirs", twin.clone())
        .await;
    assert_eq!(rig.rested(theirs).await.state, "succeeded");
    let ours = rig.submit_payload("lookup.sync", "ours", twin).await;
    let status = rig.rested(ours).await;
    assert_eq!(
        (status.state, status.attempts),
        ("succeeded", 2),
        "{:?}",
        rig.facts(ours).await
    );
    assert_ne!(
        status.receipt,
        rig.factum.status(theirs).await.unwrap().receipt
    );
    assert_eq!(rig.effects("same"), 2);
}

/// B89, R3: absence counts only once the request can no longer land; until then nothing is sent.
#[tokio::test]
async fn absence_counts_only_after_the_request_can_no_longer_land() {
    let rig = Rig::start("delayed_commit=1500,class=effect,n=1").await;
    let id = rig.submit("lookup.sync", "lands").await;
    let status = rig.rested(id).await;
    assert_eq!(
        (status.state, status.attempts),
        ("succeeded", 1),
        "{:?}",
        rig.facts(id).await
    );
    assert_eq!((rig.effects("lands"), rig.deliveries("lands")), (1, 1));
}

/// B04: a read-back is none of our business: a success stays a success though every lookup is refused.
#[tokio::test]
async fn a_success_needs_no_lookup() {
    let rig = Rig::start("too_many_429,class=lookup").await;
    let id = rig.submit("lookup.sync", "done").await;
    assert_eq!(rig.rested(id).await.state, "succeeded");
    assert_eq!(rig.testbed.ledger().counts(&Filter::default()).lookups, 0);
}
