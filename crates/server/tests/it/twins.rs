//! The twin guard over HTTP (R16): what whoever is held off is told.

use serde_json::json;

use crate::world::World;

/// Nothing listens there: what is submitted stays under way.
const GUARDED: &str = r#"
    [destinations.desk]
    provider = "testbed"
    base = "http://127.0.0.1:9"
    [destinations.desk.operations."key.sync"]
    twin_guard = "10 min"
"#;

// B65
#[tokio::test]
async fn a_twin_is_told_how_the_first_one_stands_and_another_one_is_recorded() {
    let world = World::with(GUARDED, |limits| limits).await;
    let body = |key: &str| json!({"destination": "desk", "operation": "key.sync", "key": key, "payload": {"business": "b"}});
    let first = world.post("/v1/actions", &body("a")).await;
    assert_eq!(first.status, 201);
    let first = first.json();
    let held_off = world.post("/v1/actions", &body("b")).await;
    let problem = held_off.json();
    assert_eq!((held_off.status, &problem["code"]), (409, &json!("F1018")));
    assert_eq!(problem["type"], "urn:factum:problem:possible-duplicate");
    assert_eq!(
        (&problem["action"], &problem["earlier"]["id"]),
        (&first["id"], &first["id"])
    );
    assert_eq!(problem["earlier"]["happened"], "not_yet");
    assert!(problem["earlier"]["statement"]["say"].is_string());
    let listed = world.get("/v1/actions").await.json();
    assert_eq!(listed["actions"].as_array().map(Vec::len), Some(1));

    let joined = world.post("/v1/actions", &body("a")).await;
    assert_eq!(joined.status, 200, "whoever repeats an identity joins");
    let mut wrong = body("b");
    wrong["another"] = "yes".into();
    let refused = world.post("/v1/actions", &wrong).await;
    assert_eq!(
        (refused.status, &refused.json()["code"]),
        (400, &json!("F1003"))
    );
    let mut meant = body("b");
    meant["another"] = true.into();
    assert_eq!(world.post("/v1/actions", &meant).await.status, 201);
    let again = world.post("/v1/actions", &body("b")).await;
    assert_eq!(
        again.status, 200,
        "`another` is no part of what is compared"
    );
}
