//! The seeds of this product: the stories that it exists for.

use serde_json::json;

use crate::support::Rig;

/// Nothing lost: one request, one effect, one receipt.
#[tokio::test]
async fn an_answered_request_is_done_with_its_reference() {
    let rig = Rig::start("").await;
    for operation in [
        "key.sync",
        "lookup.sync",
        "cancel.sync",
        "lagging.sync",
        "neither.sync",
        "key.queued",
    ] {
        let id = rig.submit(operation, operation).await;
        let status = rig.rested(id).await;
        assert_eq!(
            (status.state, status.happened),
            ("succeeded", "yes"),
            "{operation}: {status:?}"
        );
        assert_eq!(rig.effects(operation), 1, "{operation}");
        assert!(
            status
                .statement
                .say
                .contains(&status.receipt.unwrap().reference),
            "{operation}"
        );
        assert_eq!(
            (status.attempts, rig.deliveries(operation)),
            (1, 1),
            "{operation}"
        );
    }
}

/// B01, B22, B74: the destination commits and the answer is lost. Exactly one effect; nothing is claimed until it is known.
#[tokio::test]
async fn a_lost_answer_settles_by_what_the_destination_offers() {
    for (fault, acted) in [
        ("close_fin", true),
        ("status=500", true),
        ("close_after_read", false),
    ] {
        let rig = Rig::start(&format!("{fault},class=effect,n=1,per=reference")).await;
        for (operation, attempts) in [("key.sync", 2), ("lookup.sync", if acted { 1 } else { 2 })] {
            let id = rig.submit(operation, operation).await;
            let status = rig.rested(id).await;
            assert_eq!(status.state, "succeeded", "{fault} {operation}: {status:?}");
            assert_eq!(rig.effects(operation), 1, "{fault} {operation}");
            assert_eq!(
                status.attempts,
                attempts,
                "{fault} {operation}: {:?}",
                rig.facts(id).await
            );
        }
    }
}

/// B11: neither key nor lookup. Sent once, stays unknown, and the customer's route exists.
#[tokio::test]
async fn where_nothing_can_be_found_out_a_person_decides() {
    let rig = Rig::start("close_rst,class=effect").await;
    let id = rig.submit("neither.sync", "chat-1").await;
    let status = rig.rested(id).await;
    assert_eq!(
        (status.state, status.happened, status.next.step),
        ("outcome_unknown", "unknown", "review")
    );
    assert!(!status.safe_to_call_again);
    assert_eq!(status.contact.unwrap().say, "call 555");
    assert_eq!((rig.effects("chat-1"), rig.deliveries("chat-1")), (1, 1));
    assert!(
        status
            .statement
            .never_say
            .contains(&"It is done.".to_owned())
    );
}

/// An explicit rejection is not unknown.
#[tokio::test]
async fn an_explicit_rejection_is_not_unknown() {
    let rig = Rig::start("").await;
    for operation in ["key.sync", "lookup.sync", "neither.sync"] {
        let payload = json!({ "business": operation, "behave": "reject" });
        let id = rig.submit_payload(operation, operation, payload).await;
        let status = rig.rested(id).await;
        assert_eq!(
            (status.state, status.happened),
            ("terminal_failure", "no"),
            "{operation}: {status:?}"
        );
        assert_eq!(rig.effects(operation), 0);
    }
}
