//! What waits for a person, and each verdict: those that apply and those that do not.

use serde_json::{Value, json};

use crate::world::{World, submission};

const CONTACT: &str = "[contact]\nsay = \"write to help@acme.example\"\nwithin = \"1 d\"\n";

async fn unknown(world: &World, behave: &str) -> String {
    let status = world.settled(&submission("1", behave)).await;
    assert_eq!(status["state"], "outcome_unknown");
    status["id"].as_str().expect("an id").to_owned()
}

async fn rule(world: &World, id: &str, body: Value) -> Value {
    world
        .post(&format!("/v1/review/{id}/verdict"), &body)
        .await
        .json()
}

async fn queue(world: &World) -> Vec<Value> {
    let review = world.get("/v1/review").await.json();
    review["items"].as_array().expect("a list").clone()
}

#[tokio::test]
async fn the_queue_says_why_since_when_and_where_the_customer_turns_to() {
    let world = World::with(CONTACT, |limits| limits).await;
    let id = unknown(&world, "lose").await;
    let items = queue(&world).await;
    assert_eq!(items.len(), 1);
    let item = &items[0];
    assert_eq!(item["id"], id);
    let contact = &item["contact"];
    let said = contact["say"].as_str().expect("a text");
    assert!(
        said.starts_with("write to help@acme.example You will have an answer by "),
        "{said}"
    );
    assert!(contact["by"].as_str() > item["since"].as_str(), "{item}");
    assert_eq!(contact["late"], false);
    assert_eq!(
        item["statement"]["say"],
        "A request may have taken effect; a person has to find out."
    );
    assert!(item["evidence_count"].as_u64() >= Some(2), "{item}");
    assert!(
        item["since"].as_str() >= item["created_at"].as_str(),
        "{item}"
    );
}

#[tokio::test]
async fn happened_settles_with_the_reference() {
    let world = World::start().await;
    let id = unknown(&world, "lose").await;
    let ruled = rule(
        &world,
        &id,
        json!({"verdict": "happened", "by": "ana", "why": "seen there", "receipt": "T-9"}),
    )
    .await;
    assert_eq!(
        (&ruled["state"], &ruled["receipt"]["reference"]),
        (&json!("succeeded"), &json!("T-9"))
    );
    assert!(queue(&world).await.is_empty());
    let log = world
        .get(&format!("/v1/actions/{id}/evidence"))
        .await
        .json();
    let last = log["evidence"]
        .as_array()
        .and_then(|log| log.iter().rfind(|e| e["fact"] == "verdict"))
        .expect("kept");
    assert_eq!(
        (&last["detail"]["by"], &last["detail"]["why"]),
        (&json!("ana"), &json!("seen there"))
    );
}

#[tokio::test]
async fn send_again_sends_once_more() {
    let world = World::start().await;
    let id = unknown(&world, "lose once").await;
    rule(
        &world,
        &id,
        json!({"verdict": "send_again", "why": "a second one would be deleted"}),
    )
    .await;
    let settled = world.get(&format!("/v1/actions/{id}?wait=30")).await.json();
    assert_eq!(
        (&settled["state"], &settled["attempts"]),
        (&json!("succeeded"), &json!(2))
    );
    assert_eq!(world.ledger.arrived(), 2);
    let log = world
        .get(&format!("/v1/actions/{id}/evidence"))
        .await
        .json();
    let by = log["evidence"]
        .as_array()
        .and_then(|log| log.iter().find(|e| e["fact"] == "verdict"))
        .expect("kept");
    assert_eq!(by["detail"]["by"], "admin", "whose token it was");
}

#[tokio::test]
async fn cannot_be_known_ends_the_search_and_claims_neither() {
    let world = World::start().await;
    let id = unknown(&world, "lose").await;
    let ruled = rule(
        &world,
        &id,
        json!({"verdict": "cannot_be_known", "by": "ana", "why": "their log is gone"}),
    )
    .await;
    assert_eq!(
        (&ruled["state"], &ruled["next"]["do"]),
        (&json!("outcome_unknown"), &json!("none"))
    );
    assert_eq!(
        (&ruled["closed"]["by"], &ruled["closed"]["why"]),
        (&json!("ana"), &json!("their log is gone"))
    );
    assert!(queue(&world).await.is_empty());
    // B23: unknown is where it stays, and a person may still learn better.
    let later = rule(
        &world,
        &id,
        json!({"verdict": "happened", "why": "the customer has it"}),
    )
    .await;
    assert_eq!(later["state"], "succeeded");
}

#[tokio::test]
async fn did_not_happen_waits_until_nothing_can_land() {
    let world = World::start().await;
    let id = unknown(&world, "lose").await;
    let ruled = rule(
        &world,
        &id,
        json!({"verdict": "did_not_happen", "why": "not in their list"}),
    )
    .await;
    assert_eq!(
        ruled["happened"], "unknown",
        "no processing time is published, so it may still land: {ruled}"
    );
    assert_eq!(world.ledger.arrived(), 1);
}

#[tokio::test]
async fn verdicts_that_do_not_apply_are_refused_and_change_nothing() {
    let world = World::start().await;
    let done = world.settled(&submission("done", "done")).await;
    let id = done["id"].as_str().expect("an id");
    for verdict in [
        "happened",
        "did_not_happen",
        "send_again",
        "cannot_be_known",
    ] {
        let problem = rule(&world, id, json!({"verdict": verdict, "why": "to see"})).await;
        assert_eq!(
            (&problem["code"], &problem["action"]),
            (&json!("F1112"), &done["id"]),
            "{verdict}"
        );
    }
    assert_eq!(
        world.get(&format!("/v1/actions/{id}")).await.json()["version"],
        done["version"]
    );

    let id = unknown(&world, "lose").await;
    let cases = [
        (json!({"verdict": "maybe", "why": "x"}), "F1003", "/verdict"),
        (json!({"verdict": "happened"}), "F1003", "/why"),
        (json!({"verdict": "happened", "why": " "}), "F1003", "/why"),
        (json!({"why": "x"}), "F1003", "/verdict"),
        (
            json!({"verdict": "send_again", "why": "x", "receipt": "T-1"}),
            "F1003",
            "/receipt",
        ),
        (
            json!({"verdict": "happened", "why": "x", "because": "y"}),
            "F1002",
            "/because",
        ),
    ];
    for (body, code, member) in cases {
        let problem = rule(&world, &id, body.clone()).await;
        assert_eq!(
            (&problem["code"], &problem["member"]),
            (&json!(code), &json!(member)),
            "{body}"
        );
    }
    let empty = world
        .call("POST", &format!("/v1/review/{id}/verdict"), &[], "")
        .await;
    assert_eq!(empty.json()["code"], "F1001");
    let again = world
        .post(
            &format!("/v1/review/{id}/check-again"),
            &json!({"by": "ana"}),
        )
        .await;
    assert_eq!(
        (again.status, &again.json()["code"]),
        (409, &json!("F1021")),
        "there is no lookup"
    );
    assert_eq!(queue(&world).await.len(), 1);
}

#[tokio::test]
async fn a_request_in_flight_takes_no_verdict() {
    let world = World::start().await;
    let status = world
        .post("/v1/actions", &submission("1", "hang"))
        .await
        .json();
    world.ledger.until(1).await;
    let id = status["id"].as_str().expect("an id");
    assert_eq!(
        rule(&world, id, json!({"verdict": "send_again", "why": "slow"})).await["code"],
        "F1021"
    );
    world.ledger.open();
}
