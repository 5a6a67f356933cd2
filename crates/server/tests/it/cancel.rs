//! Withdrawing: before anything is sent it stops, afterwards it is too late and says so.

use serde_json::json;

use crate::world::{World, at, submission};

#[tokio::test]
async fn before_anything_is_sent_it_is_stopped() {
    let world = World::start().await;
    let mut body = submission("1", "done");
    body["not_before"] = "2099-01-01T00:00:00Z".into();
    let status = world.post("/v1/actions", &body).await.json();
    assert_eq!(
        (&status["state"], &status["next"]["at"]),
        (&json!("pending"), &json!("2099-01-01T00:00:00Z"))
    );
    let cancel = format!("{}/cancel", at(&status));
    let answer = world
        .post(&cancel, &json!({"by": "ana", "why": "ordered twice"}))
        .await;
    let cancelled = answer.json();
    assert_eq!(
        (answer.status, &cancelled["cancel"]),
        (200, &json!("stopped"))
    );
    assert_eq!(
        (
            &cancelled["action"]["state"],
            &cancelled["action"]["happened"]
        ),
        (&json!("cancelled"), &json!("no"))
    );
    let log = world.get(&format!("{}/evidence", at(&status))).await.json();
    assert_eq!(
        log["evidence"][0]["says"],
        "ana withdrew it (ordered twice)"
    );
    let again = world.call("POST", &cancel, &[], "").await;
    assert_eq!(
        again.json()["cancel"],
        "stopped",
        "a repeat without a body says the same"
    );
    assert_eq!(world.ledger.arrived(), 0);
}

#[tokio::test]
async fn after_the_first_byte_it_is_too_late_and_never_called_cancelled() {
    // B188
    let world = World::start().await;
    let status = world
        .post("/v1/actions", &submission("1", "hang"))
        .await
        .json();
    world.ledger.until(1).await;
    let answer = world
        .post(&format!("{}/cancel", at(&status)), &json!({}))
        .await
        .json();
    assert_eq!(answer["cancel"], "too_late");
    assert_ne!(answer["action"]["state"], "cancelled");
    assert_eq!(answer["action"]["happened"], "unknown");
    world.ledger.open();
    let settled = world.get(&format!("{}?wait=30", at(&status))).await.json();
    assert_eq!(
        (&settled["state"], &settled["receipt"]["reference"]),
        (&json!("succeeded"), &json!("T-1"))
    );
}

#[tokio::test]
async fn an_unknown_outcome_stays_unknown_when_it_is_withdrawn() {
    let world = World::start().await;
    let status = world.settled(&submission("1", "lose")).await;
    let answer = world
        .post(&format!("{}/cancel", at(&status)), &json!({"by": "ana"}))
        .await
        .json();
    assert_eq!(
        (&answer["cancel"], &answer["action"]["state"]),
        (&json!("too_late"), &json!("outcome_unknown"))
    );
    assert_eq!(world.ledger.arrived(), 1);
}

#[tokio::test]
async fn a_malformed_wish_withdraws_nothing() {
    let world = World::start().await;
    let mut body = submission("1", "done");
    body["not_before"] = "2099-01-01T00:00:00Z".into();
    let status = world.post("/v1/actions", &body).await.json();
    let cancel = format!("{}/cancel", at(&status));
    let cases = [
        (r#"{"reason":"x"}"#, "F1002", "/reason"),
        (r#"{"by":7}"#, "F1003", "/by"),
        (r#"{"by":"a","by":"b"}"#, "F1013", "/by"),
        (r#"{"by":" "}"#, "F1003", "/by"),
        (r#"{"why":"a\u0000b"}"#, "F1003", "/why"),
        (r#"{"by":"#, "F1001", ""),
        ("[]", "F1003", ""),
        (r#"{} {}"#, "F1001", ""),
    ];
    for (text, code, member) in cases {
        let problem = world.call("POST", &cancel, &[], text).await.json();
        let named = problem["member"].as_str().unwrap_or_default();
        assert_eq!(
            (problem["code"].as_str(), named),
            (Some(code), member),
            "{text}: {problem}"
        );
    }
    assert_eq!(world.get(&at(&status)).await.json()["state"], "pending");
    let nobody = "act_00000000000000000000000000";
    assert_eq!(
        world
            .call("POST", &format!("/v1/actions/{nobody}/cancel"), &[], "")
            .await
            .json()["code"],
        "F1020"
    );
}
