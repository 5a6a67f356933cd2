//! Approvals as callers meet them: given once, bound to what was approved, and answered again without a second effect.

use serde_json::{Value, json};

use crate::world::{World, submission};

fn of_amount(amount: u64) -> Value {
    let mut body = submission("refund", "done");
    body["payload"]["amount"] = amount.into();
    body
}

async fn proposed(world: &World, body: &Value) -> Value {
    let made = world.post("/v1/proposals", body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    made.json()["proposal"].clone()
}

fn approve_at(proposal: &Value) -> (String, Value) {
    let id = proposal["id"].as_str().unwrap();
    (
        format!("/v1/proposals/{id}/approve"),
        json!({"digest": proposal["digest"], "reason": "it is right"}),
    )
}

#[tokio::test]
async fn an_approval_is_of_these_arguments_and_no_others() {
    // B140
    let world = World::start().await;
    let proposal = proposed(&world, &of_amount(10)).await;
    let (target, approval) = approve_at(&proposal);
    // Edited before it is approved: the digest that was looked at is of another content.
    let id = proposal["id"].as_str().unwrap();
    let edited = world
        .post(&format!("/v1/proposals/{id}/supersede"), &of_amount(100))
        .await;
    assert_eq!(edited.status, 201, "{}", edited.text);
    let late = world.post(&target, &approval).await;
    assert_eq!((late.status, &late.json()["code"]), (409, &json!("F1082")));
    let edited = edited.json()["proposal"].clone();
    let (newer, right) = approve_at(&edited);
    let foreign = world.post(&newer, &approval).await;
    assert!(
        matches!(foreign.status, 409 | 422),
        "the digest is of another proposal: {}",
        foreign.text
    );
    assert_eq!(world.ledger.arrived(), 0, "nothing was approved yet");
    assert_eq!(world.post(&newer, &right).await.status, 201);
    world.ledger.until(1).await;
    // Afterwards, under the same identity: refused, and the difference is named without its values.
    let changed = world.post("/v1/actions", &of_amount(1_000)).await;
    let problem = changed.json();
    assert_eq!((changed.status, &problem["code"]), (422, &json!("F1007")));
    assert!(
        problem["rule"]
            .as_str()
            .unwrap()
            .contains("/payload/amount"),
        "{problem}"
    );
    assert_eq!(world.ledger.arrived(), 1);
}

#[tokio::test]
async fn an_approval_that_comes_twice_makes_one_action_and_no_error() {
    // B142, B143, B145
    let world = World::start().await;
    let proposal = proposed(&world, &of_amount(10)).await;
    let (target, approval) = approve_at(&proposal);
    let (one, two) = tokio::join!(
        world.post(&target, &approval),
        world.post(&target, &approval)
    );
    let mut statuses = [one.status, two.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 201], "{} {}", one.text, two.text);
    let action = one.json()["action"]["id"].clone();
    assert_eq!(two.json()["action"]["id"], action);
    let settled = world
        .get(&format!("/v1/actions/{}?wait=30", action.as_str().unwrap()))
        .await;
    assert_eq!(settled.json()["state"], "succeeded");
    // Turns later, from a stored conversation: by the proposal, and by the submission itself.
    for _ in 0..3 {
        let replayed = world.post(&target, &approval).await;
        assert_eq!(
            (replayed.status, &replayed.json()["action"]["id"]),
            (200, &action)
        );
        assert_eq!(replayed.json()["action"]["state"], "succeeded");
        let joined = world.post("/v1/actions", &of_amount(10)).await;
        assert_eq!((joined.status, &joined.json()["id"]), (200, &action));
    }
    assert_eq!(world.ledger.arrived(), 1);
}

#[tokio::test]
async fn steps_before_an_approval_join_when_the_flow_is_run_again() {
    // B139, B136, B137: a flow of three steps of which the last waits for a person, and three calls beside each other.
    let world = World::start().await;
    let step = |n: &str| submission(n, "done");
    let proposal = proposed(&world, &of_amount(10)).await;
    let (target, approval) = approve_at(&proposal);
    for _ in 0..3 {
        for n in ["one", "two"] {
            let answer = world.post("/v1/actions", &step(n)).await;
            assert!(matches!(answer.status, 200 | 201), "{}", answer.text);
        }
        let siblings = ["a", "b", "c"].map(step);
        let (a, b, c) = tokio::join!(
            world.post("/v1/actions", &siblings[0]),
            world.post("/v1/actions", &siblings[1]),
            world.post("/v1/actions", &siblings[2]),
        );
        assert!(
            [a, b, c]
                .iter()
                .all(|answer| matches!(answer.status, 200 | 201))
        );
        assert!(matches!(
            world.post(&target, &approval).await.status,
            200 | 201
        ));
    }
    world.ledger.until(6).await;
    for n in ["one", "two", "a", "b", "c", "refund"] {
        assert_eq!(world.ledger.arrived_as(n), 1, "{n}");
    }
}

#[tokio::test]
async fn what_waits_for_a_person_and_is_declined_never_counts_as_done() {
    // B26
    let world = World::start().await;
    let mut body = of_amount(10);
    body["conversation"] = json!({"id": "conv-1"});
    let proposal = proposed(&world, &body).await;
    assert_eq!(
        (&proposal["state"], &proposal["action"]),
        (&json!("pending"), &Value::Null)
    );
    let id = proposal["id"].as_str().unwrap();
    let declined = world
        .post(
            &format!("/v1/proposals/{id}/decline"),
            &json!({"reason": "not now"}),
        )
        .await;
    assert_eq!(
        (declined.status, &declined.json()["proposal"]["state"]),
        (200, &json!("declined"))
    );
    let shown = world.get("/v1/conversations/conv-1").await.json();
    assert_eq!(shown["actions"], json!([]), "{shown}");
    let (target, approval) = approve_at(&proposal);
    assert_eq!(world.post(&target, &approval).await.status, 409);
    assert_eq!(world.ledger.arrived(), 0);
}
