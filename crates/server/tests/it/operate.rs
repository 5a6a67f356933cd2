//! Operating: pause, restore, release, health, destinations.

use factum_testbed::{Filter, Testbed};
use serde_json::{Value, json};

use crate::world::{World, at, submission};

#[tokio::test]
async fn a_pause_holds_sends_until_it_ends() {
    let world = World::start().await;
    let paused = world
        .post("/v1/admin/pause", &json!({"by": "ana"}))
        .await
        .json();
    assert_eq!(paused["paused_by"], "ana");
    let status = world.post("/v1/actions", &submission("1", "done")).await;
    assert_eq!(status.status, 201, "submissions are taken on meanwhile");
    let held = world
        .get(&format!("{}?wait=1", at(&status.json())))
        .await
        .json();
    assert_eq!(
        (&held["state"], world.ledger.arrived()),
        (&json!("pending"), 0)
    );
    let would = world.get("/v1/admin/would-send").await.json();
    assert_eq!(
        (&would["actions"][0]["id"], &would["complete"]),
        (&status.json()["id"], &json!(true))
    );
    assert_eq!(world.get("/readyz").await.json()["paused"], true);
    let state = world.get("/v1/admin/state").await.json();
    assert_eq!(
        (&state["unsettled"], &state["counts"][0]["count"]),
        (&json!(1), &json!(1))
    );

    let resumed = world.call("POST", "/v1/admin/resume", &[], "").await.json();
    assert_eq!(resumed["paused_by"], Value::Null);
    let settled = world
        .get(&format!("{}?wait=30", at(&status.json())))
        .await
        .json();
    assert_eq!(
        (&settled["state"], world.ledger.arrived()),
        (&json!("succeeded"), 1)
    );
    assert_eq!(
        world.get("/v1/admin/would-send").await.json()["actions"],
        json!([])
    );
}

/// Nothing can land long after it was sent, so that an absence counts soon.
const SHORT: &str = "limits = { send_wait = \"50 ms\", write = \"50 ms\", answer_wait = \"1 s\", linger = \"10 ms\", \
                     pause_margin = \"50 ms\", skew = \"0 ms\", backoff = \"100 ms\", backoff_max = \"500 ms\" }";

#[tokio::test]
async fn after_a_restore_nothing_is_sent_until_it_is_released() {
    // B190
    let testbed = Testbed::start(Default::default()).await.expect("it starts");
    let base = testbed.base_url();
    let config =
        format!("[destinations.desk]\nprovider = \"testbed\"\nbase = \"{base}\"\n{SHORT}\n");
    let world = World::with(&config, |limits| limits).await;
    world.post("/v1/admin/pause", &json!({"by": "ana"})).await;
    let mut found_out = submission("1", "done");
    found_out["destination"] = "desk".into();
    found_out["operation"] = "lookup.sync".into();
    found_out["payload"] = json!({"business": "order-1"});
    let found_out = world.post("/v1/actions", &found_out).await.json();
    let bare = world
        .post("/v1/actions", &submission("bare", "done"))
        .await
        .json();

    let restored = world
        .post("/v1/admin/after-restore", &json!({"by": "ana"}))
        .await
        .json();
    assert_eq!(restored["restore"]["released"], Value::Null);
    world.post("/v1/admin/resume", &json!({})).await;
    // Nothing can tell whether it was sent after the copy was made, so a person is asked.
    let bare = world.get(&format!("{}?wait=30", at(&bare))).await.json();
    assert_eq!(
        (&bare["state"], &bare["next"]["do"]),
        (&json!("outcome_unknown"), &json!("review"))
    );
    // The other is looked up meanwhile, and is not there; that it may be sent now is shown, and it is not sent.
    let would = loop {
        let would = world.get("/v1/admin/would-send").await.json();
        if would["actions"] != json!([]) {
            break would;
        }
        world.get(&format!("{}?wait=1", at(&found_out))).await;
    };
    assert_eq!(
        would["actions"].as_array().map(Vec::len),
        Some(1),
        "{would:#}"
    );
    let action = &would["actions"][0];
    assert_eq!(
        (&action["id"], &action["next"]["do"]),
        (&found_out["id"], &json!("send"))
    );
    assert_eq!(world.get("/readyz").await.json()["held_by_restore"], true);
    let held = world
        .get(&format!("{}?wait=1", at(&found_out)))
        .await
        .json();
    assert_eq!(
        (&held["happened"], &held["attempts"]),
        (&json!("not_yet"), &json!(0))
    );
    assert_eq!(testbed.ledger().counts(&Filter::default()).total_effects, 0);

    let released = world
        .post("/v1/admin/release", &json!({"by": "ben"}))
        .await
        .json();
    assert_eq!(released["restore"]["released"]["by"], "ben");
    let settled = world
        .get(&format!("{}?wait=30", at(&found_out)))
        .await
        .json();
    assert_eq!(settled["state"], "succeeded");
    assert_eq!(testbed.ledger().counts(&Filter::default()).total_effects, 1);
    assert_eq!(
        world.ledger.arrived(),
        0,
        "what a person has to decide is not released with it"
    );
}

#[tokio::test]
async fn a_restore_needs_a_right_time() {
    let world = World::start().await;
    let problem = world
        .post(
            "/v1/admin/after-restore",
            &json!({"copy_until": "yesterday"}),
        )
        .await
        .json();
    assert_eq!(
        (&problem["code"], &problem["member"]),
        (&json!("F1003"), &json!("/copy_until"))
    );
    assert_eq!(
        world.get("/v1/admin/state").await.json()["restore"],
        Value::Null
    );
    for call in ["pause", "resume", "release", "after-restore"] {
        let problem = world
            .post(&format!("/v1/admin/{call}"), &json!({"who": "ana"}))
            .await
            .json();
        assert_eq!(
            (&problem["code"], &problem["member"]),
            (&json!("F1002"), &json!("/who")),
            "{call}"
        );
    }
    assert_eq!(
        world.get("/v1/admin/state").await.json()["paused_by"],
        Value::Null
    );
}

#[tokio::test]
async fn health_tells_life_from_readiness() {
    let world = World::start().await;
    assert_eq!(world.get("/healthz").await.json(), json!({"alive": true}));
    let ready = world.get("/readyz").await.json();
    assert_eq!(
        (&ready["ready"], &ready["overdue_s"]),
        (&json!(true), &json!(0))
    );
}

#[tokio::test]
async fn destinations_are_shown_without_secrets() {
    let config = "[destinations.helpdesk]\nprovider = \"testbed\"\nbase = \"http://127.0.0.1:9/desk\"\naccount = \"acme\"\n\
                  auth = { bearer = \"env:HELPDESK_SECRET_NAME\" }\ngate = { per_second = 5 }\n";
    let world = World::with(config, |limits| limits).await;
    let answer = world.get("/v1/destinations").await;
    assert!(
        !answer.text.contains("HELPDESK_SECRET_NAME"),
        "{}",
        answer.text
    );
    let all = answer.json();
    let names: Vec<&str> = all["destinations"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|d| d["name"].as_str())
        .collect();
    assert_eq!(names, ["crm", "helpdesk"]);
    let helpdesk = world.get("/v1/destinations/helpdesk").await.json();
    assert_eq!(helpdesk, all["destinations"][1]);
    assert_eq!(
        (&helpdesk["base"], &helpdesk["account"]),
        (&json!("http://127.0.0.1:9/desk"), &json!("acme"))
    );
    assert_eq!(helpdesk["gate"]["per_second"], 5);
    let operations = &helpdesk["operations"];
    assert_eq!(operations["key.sync"]["offers"][0], "key");
    assert_eq!(
        operations["key.sync"]["when_unknown"],
        json!({"offer": "key within window", "then": "resend"})
    );
    assert_eq!(operations["neither.sync"]["offers"], json!([]));
    assert_eq!(operations["cancel.sync"]["consequence"], "costly");
    let crm = world.get("/v1/destinations/crm").await.json();
    assert_eq!(
        (&crm["base"], &crm["any_operation"]["when_unknown"]["then"]),
        (&Value::Null, &json!("review"))
    );
    let unknown = world.get("/v1/destinations/crn").await;
    assert_eq!(
        (unknown.status, &unknown.json()["code"]),
        (404, &json!("F1005"))
    );
}
