//! What is kept: purging, erasing, holding, and identities that are older than they are kept.

use serde_json::{Value, json};

use crate::world::{World, at, submission};

/// Everything is old at once, and nothing is purged by itself while a case runs: a sweep rests for a minute first.
const SHORT: &str = "[retention]\noperations.\"contact.add\" = { payload = \"1 ms\" }\n";
const GONE: &str = "[retention]\naction = \"1 ms\"\n";

async fn done(world: &World, key: &str) -> Value {
    let made = world.post("/v1/actions", &submission(key, "done")).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let settled = world.get(&format!("{}?wait=30", at(&made.json()))).await;
    let settled = settled.json();
    assert_eq!(settled["state"], "succeeded");
    settled
}

async fn purge(world: &World, dry: bool) -> Value {
    let report = world
        .post("/v1/admin/purge", &json!({"dry_run": dry}))
        .await;
    assert_eq!(report.status, 200, "{}", report.text);
    report.json()
}

#[tokio::test]
async fn what_is_purged_is_answered_as_gone_and_never_done_again() {
    let world = World::with(GONE, |limits| limits).await;
    let action = done(&world, "1").await;
    assert_eq!(purge(&world, true).await["actions"], 1);
    world.get(&at(&action)).await.json();
    assert_eq!(purge(&world, false).await["actions"], 1);
    let gone = world.get(&at(&action)).await;
    assert_eq!((gone.status, &gone.json()["code"]), (410, &json!("F1130")));
    let evidence = world.get(&format!("{}/evidence", at(&action))).await;
    assert_eq!(evidence.status, 410);
    // The same intent is not carried out again, and another one is not taken for it.
    let again = world.post("/v1/actions", &submission("1", "done")).await;
    assert_eq!(
        (again.status, &again.json()["code"]),
        (410, &json!("F1130"))
    );
    let other = world.post("/v1/actions", &submission("1", "lose")).await;
    assert_eq!(
        (other.status, &other.json()["code"]),
        (422, &json!("F1007"))
    );
    assert_eq!(world.ledger.arrived(), 1);
}

#[tokio::test]
async fn what_is_erased_leaves_identity_and_evidence() {
    let world = World::start().await;
    let mut wish = submission("1", "done");
    wish["conversation"] = json!({"id": "conv-1", "asked": "my secret wish"});
    wish["summary"] = "about my secret".into();
    let action = world.post("/v1/actions", &wish).await.json();
    world.get(&format!("{}?wait=30", at(&action))).await;
    let held = json!({"conversation": "conv-1", "why": "a law suit", "by": "ana"});
    let holds = world.post("/v1/admin/holds", &held).await;
    assert_eq!(holds.status, 200, "{}", holds.text);
    let erase = json!({"conversation": "conv-1", "why": "she asked for it", "by": "ben"});
    let report = world.post("/v1/admin/erase", &erase).await.json();
    assert_eq!(
        (&report["held"][0], &report["erased"]),
        (&action["id"], &json!([]))
    );
    let mut release = held.clone();
    release["release"] = true.into();
    let holds = world.post("/v1/admin/holds", &release).await.json();
    assert_eq!(holds["holds"], json!([]));
    let report = world.post("/v1/admin/erase", &erase).await.json();
    assert_eq!(report["erased"][0], action["id"], "{report:#}");
    let left = world.get(&at(&action)).await;
    assert!(!left.text.contains("secret"), "{}", left.text);
    assert_eq!(left.json()["state"], "succeeded");
    let evidence = world.get(&format!("{}/evidence", at(&action))).await.text;
    assert!(evidence.contains("erased by ben") && evidence.contains("she asked for it"));
    // The intent joins as before.
    let joined = world.post("/v1/actions", &wish).await;
    assert_eq!((joined.status, &joined.json()["id"]), (200, &action["id"]));
    let nothing = world
        .post("/v1/admin/erase", &json!({"why": "no target"}))
        .await;
    assert_eq!(
        (nothing.status, &nothing.json()["code"]),
        (400, &json!("F1003"))
    );
}

#[tokio::test]
async fn an_operation_may_be_kept_for_another_time() {
    let world = World::with(SHORT, |limits| limits).await;
    let action = done(&world, "1").await;
    let report = purge(&world, false).await;
    assert_eq!(
        (&report["content"], &report["actions"]),
        (&json!(1), &json!(0))
    );
    let left = world.get(&at(&action)).await.json();
    assert_eq!(
        (&left["summary"], &left["state"]),
        (&Value::Null, &json!("succeeded"))
    );
}

// R24: where identities are kept for a limited time, a submission says when its intent was formed.
#[tokio::test]
async fn an_identity_says_how_old_it_is() {
    let world = World::with("[retention]\nidentity = \"1 d\"\n", |limits| limits).await;
    let submit = async |key: &str, at: Option<&str>| {
        let mut wish = submission("1", "done");
        wish["key"] = key.into();
        if let Some(at) = at {
            wish["intent_at"] = at.into();
        }
        let answer = world.post("/v1/actions", &wish).await;
        (
            answer.status,
            answer.json()["code"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
        )
    };
    let code = |status: u16, code: &str| (status, code.to_owned());
    assert_eq!(submit("1", None).await, code(400, "F1132"));
    assert_eq!(
        submit("1", Some("2020-01-01T00:00:00Z")).await,
        code(410, "F1131")
    );
    assert_eq!(
        submit("1", Some("2099-01-01T00:00:00Z")).await,
        code(422, "F1015")
    );
    let old = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f";
    assert_eq!(submit(old, None).await, code(410, "F1131"));
    let future = "0ed0e2e2-79b0-7cc3-98c4-dc0c0c07398f";
    assert_eq!(submit(future, None).await, code(400, "F1011"));
    let ready = world.get("/readyz").await.json();
    let now = ready["now"].as_str().unwrap();
    assert_eq!(submit("1", Some(now)).await, code(201, ""));
    assert_eq!(submit("1", Some(now)).await, code(200, ""));
}
