//! What people decide, and what stays theirs to decide.

use factum::{Cancelled, Code, Ruling};
use serde_json::json;

use crate::support::Rig;

async fn unknown(rig: &Rig, business: &str) -> factum::ActionId {
    let id = rig.submit("neither.sync", business).await;
    let status = rig.rested(id).await;
    assert_eq!(
        (status.state, status.next.step),
        ("outcome_unknown", "review")
    );
    id
}

/// Happened, with the reference that the person found.
#[tokio::test]
async fn a_person_who_saw_it_settles_it() {
    let rig = Rig::start("close_fin,class=effect").await;
    let id = unknown(&rig, "seen").await;
    let receipt = factum::Receipt::new("T-000001");
    let ruling = Ruling::Happened {
        receipt: Some(receipt),
    };
    rig.factum
        .rule(id, ruling, "ben", "I see it in their console")
        .await
        .unwrap();
    let status = rig.rested(id).await;
    assert_eq!(
        (status.state, status.receipt.unwrap().reference.as_str()),
        ("succeeded", "T-000001")
    );
    assert_eq!((rig.effects("seen"), rig.deliveries("seen")), (1, 1));
    assert_eq!(rig.factum.review(10).await.unwrap(), []);
}

/// R15: did_not_happen takes hold once the request can no longer land, and sends nothing by itself.
#[tokio::test]
async fn did_not_happen_settles_without_a_send() {
    let rig = Rig::start("close_after_read,class=effect").await;
    let id = unknown(&rig, "unseen").await;
    rig.factum
        .rule(id, Ruling::DidNotHappen, "ben", "their log has nothing")
        .await
        .unwrap();
    let status = rig.rested(id).await;
    assert_eq!(
        (status.state, status.happened),
        ("terminal_failure", "no"),
        "{:?}",
        rig.facts(id).await
    );
    assert!(!status.safe_to_call_again, "a person's word is no proof");
    // A reviewer's reason is for operators: the log has it, and whoever is told about the action does not.
    let log = rig.factum.evidence(id).await.unwrap();
    let (told, log) = (format!("{status:?}"), format!("{log:?}"));
    assert_eq!((status.statement.key, status.because), ("not-done", None));
    assert!(!told.contains("their log has nothing"), "{told}");
    assert!(log.contains("their log has nothing"), "{log}");
    assert_eq!(rig.deliveries("unseen"), 1);
}

/// send_again: one send, by that person's order, recorded with the attempt.
#[tokio::test]
async fn send_again_is_good_for_one_send() {
    let rig = Rig::start("close_after_read,class=effect").await;
    let id = unknown(&rig, "again").await;
    rig.factum
        .rule(id, Ruling::SendAgain, "ben", "the customer waits")
        .await
        .unwrap();
    let status = rig.rested(id).await;
    assert_eq!(
        (status.state, status.next.step, status.attempts),
        ("outcome_unknown", "review", 2)
    );
    rig.testbed.set_faults(factum_faults::FaultPlan::none());
    rig.factum
        .rule(id, Ruling::SendAgain, "ben", "once more")
        .await
        .unwrap();
    let status = rig.rested(id).await;
    assert_eq!(
        (status.state, status.attempts),
        ("succeeded", 3),
        "{:?}",
        rig.facts(id).await
    );
    assert_eq!(rig.effects("again"), 1);
    let orders = rig.factum.evidence(id).await.unwrap();
    let ordered = orders
        .iter()
        .filter(|e| e.detail["permission"] == json!("ordered"))
        .count();
    assert_eq!(ordered, 2);
}

/// cannot_be_known ends the search and claims neither.
#[tokio::test]
async fn a_closed_unknown_claims_neither() {
    let rig = Rig::start("close_fin,class=effect").await;
    let id = unknown(&rig, "closed").await;
    rig.factum
        .rule(id, Ruling::CannotBeKnown, "ben", "they delete after a day")
        .await
        .unwrap();
    let status = rig.rested(id).await;
    assert_eq!(
        (status.state, status.next.step, status.happened),
        ("outcome_unknown", "none", "unknown")
    );
    assert_eq!(status.closed.unwrap().by, "ben");
    assert!(status.statement.never_say.len() >= 4);
    assert_eq!(rig.deliveries("closed"), 1);
}

/// A verdict where the evidence already decides, or nothing could follow, is refused.
#[tokio::test]
async fn verdicts_that_do_not_apply_are_refused() {
    let rig = Rig::start("").await;
    let id = rig.submit("key.sync", "done").await;
    rig.rested(id).await;
    for ruling in [
        Ruling::DidNotHappen,
        Ruling::CannotBeKnown,
        Ruling::SendAgain,
    ] {
        let refused = rig
            .factum
            .rule(id, ruling, "ben", "no reason")
            .await
            .unwrap_err();
        assert_eq!(
            (refused.code, refused.action),
            (Code::AgainstEvidence, Some(id))
        );
    }
    let missing = "act_00000000000000000000000000".parse().unwrap();
    let refused = rig
        .factum
        .rule(missing, Ruling::DidNotHappen, "ben", "x")
        .await
        .unwrap_err();
    assert_eq!(refused.code, Code::UnknownAction);
}

/// B188: withdrawn before anything was sent is stopped; withdrawn after is too late, and stays true.
#[tokio::test]
async fn a_cancel_says_whether_it_came_in_time() {
    let rig = Rig::start("close_fin,class=effect").await;
    let at = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(600);
    let early = rig
        .factum
        .action("bed", "neither.sync")
        .key("early")
        .payload(json!({ "business": "early" }));
    let early = early
        .not_before(at)
        .submit()
        .await
        .unwrap()
        .status
        .id
        .parse()
        .unwrap();
    let (cancelled, status) = rig
        .factum
        .cancel(early, "ana", "changed her mind")
        .await
        .unwrap();
    assert_eq!(
        (cancelled, status.state, status.safe_to_call_again),
        (Cancelled::Stopped, "cancelled", true)
    );
    let late = unknown(&rig, "late").await;
    let (cancelled, status) = rig
        .factum
        .cancel(late, "ana", "changed her mind")
        .await
        .unwrap();
    assert_eq!(
        (cancelled, status.state),
        (Cancelled::TooLate, "outcome_unknown")
    );
    assert_eq!((rig.effects("early"), rig.effects("late")), (0, 1));
}

/// The operation's preference, fixed before submission by name and reason.
#[tokio::test]
async fn preferences_end_or_repeat_where_nothing_can_be_found_out() {
    let more = |neither: &str| {
        format!(
            "[destinations.bed.operations.\"neither.sync\"]\nneither = \"{neither}\"\nconsequence = \"reversible\"\n\
             by = \"ops\"\nreason = \"agreed with support\"\n"
        )
    };
    let rig = Rig::start_with("close_after_read,class=effect,n=1", &more("prefer_missing")).await;
    let id = rig.submit("neither.sync", "missing").await;
    let status = rig.rested(id).await;
    assert_eq!(
        (status.state, status.closed.map(|c| c.by)),
        ("outcome_unknown", Some("prefer_missing".to_owned()))
    );
    assert_eq!(rig.deliveries("missing"), 1);

    let rig = Rig::start_with("close_fin,class=effect,n=1", &more("prefer_duplicate")).await;
    let id = rig.submit("neither.sync", "twice").await;
    let status = rig.rested(id).await;
    assert_eq!(
        (status.state, status.attempts),
        ("succeeded", 2),
        "{:?}",
        rig.facts(id).await
    );
    assert_eq!(
        rig.effects("twice"),
        2,
        "that is what was accepted, by name and reason"
    );
}
