//! Tenants, principals, grants and tokens: what they let, and when it ends. Effects are counted where they happen.

use serde_json::{Value, json};

use crate::client::Answer;
use crate::world::{World, at, submission};

async fn post_as(world: &World, token: &str, target: &str, body: &Value) -> Answer {
    world
        .call_as(token, "POST", target, &[], &body.to_string())
        .await
}

async fn get_as(world: &World, token: &str, target: &str) -> Answer {
    world.call_as(token, "GET", target, &[], "").await
}

fn code(answer: &Answer) -> String {
    answer.json()["code"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

#[tokio::test]
async fn a_token_is_shown_once_and_kept_as_a_hash() {
    let world = World::start().await;
    world.post("/v1/principals", &json!({"name": "desk"})).await;
    let wish = json!({"principal": "desk", "scopes": ["read"], "why": "the desk looks"});
    let made = world.post("/v1/tokens", &wish).await.json();
    let (name, token) = (
        made["name"].as_str().unwrap(),
        made["token"].as_str().unwrap(),
    );
    assert!(get_as(&world, token, "/v1/actions").await.status == 200);
    let secret = token.rsplit('_').next().unwrap();
    for target in [format!("/v1/tokens/{name}"), "/v1/tokens".to_owned()] {
        let shown = world.get(&target).await.text;
        assert!(!shown.contains(secret), "{shown}");
        assert!(!shown.contains("hash"), "{shown}");
    }
    let shown = world.get(&format!("/v1/tokens/{name}")).await.json();
    assert_eq!(shown["history"][0]["why"], "the desk looks");
    assert_eq!(shown["history"][0]["by"], "admin");
    // One wrong digit, another id, no secret: all the same nobody.
    let (kept, last) = token.split_at(token.len() - 1);
    let other = if last == "0" { "1" } else { "0" };
    for wrong in [
        format!("{kept}{other}"),
        format!("fct_0000000000000000_{secret}"),
        format!("fct_{name}_"),
    ] {
        assert_eq!(
            get_as(&world, &wrong, "/v1/actions").await.status,
            401,
            "{wrong}"
        );
    }
}

#[tokio::test]
async fn a_token_ends_when_it_is_revoked_or_over_or_its_principal_is() {
    let world = World::start().await;
    let token = world.token("default", "desk", &["read"]).await;
    let name = token.split('_').nth(1).unwrap().to_owned();
    let look = || get_as(&world, &token, "/v1/actions");
    let stand = |target: String, standing: &'static str| {
        let body = json!({"standing": standing, "why": "the test says so"});
        let world = &world;
        async move { world.post(&target, &body).await }
    };
    for target in [
        format!("/v1/tokens/{name}/state"),
        "/v1/principals/desk/state".to_owned(),
    ] {
        assert_eq!(stand(target.clone(), "suspended").await.status, 200);
        assert_eq!(look().await.status, 401, "{target}");
        assert_eq!(stand(target, "active").await.status, 200);
        assert_eq!(look().await.status, 200);
    }
    let revoked = stand(format!("/v1/tokens/{name}/state"), "revoked").await;
    assert_eq!(revoked.json()["standing"], "revoked");
    assert_eq!(look().await.status, 401);
    let again = stand(format!("/v1/tokens/{name}/state"), "active").await;
    assert_eq!((again.status, code(&again).as_str()), (409, "F1021"));

    let over = json!({"principal": "desk", "scopes": ["read"], "until": "2001-01-01T00:00:00Z"});
    let over = world.post("/v1/tokens", &over).await.json();
    let over = over["token"].as_str().unwrap().to_owned();
    assert_eq!(get_as(&world, &over, "/v1/actions").await.status, 401);
}

#[tokio::test]
async fn a_rotated_token_counts_beside_its_successor_for_a_while() {
    let world = World::start().await;
    let old = world.token("default", "desk", &["read"]).await;
    let name = old.split('_').nth(1).unwrap();
    let rotate = format!("/v1/tokens/{name}/rotate");
    let made = world
        .post(&rotate, &json!({"overlap_s": 3_600}))
        .await
        .json();
    let new = made["token"].as_str().unwrap().to_owned();
    for token in [&old, &new] {
        assert_eq!(get_as(&world, token, "/v1/actions").await.status, 200);
    }
    let shown = world.get(&format!("/v1/tokens/{name}")).await.json();
    assert_eq!(shown["replaced_by"], made["name"]);
    let twice = world.post(&rotate, &json!({})).await;
    assert_eq!((twice.status, code(&twice).as_str()), (409, "F1021"));

    let next = format!("/v1/tokens/{}/rotate", made["name"].as_str().unwrap());
    let last = world.post(&next, &json!({"overlap_s": 0})).await;
    assert_eq!(last.status, 201);
    assert_eq!(
        get_as(&world, &new, "/v1/actions").await.status,
        401,
        "without overlap"
    );
}

/// Each limit holds, and what it refuses is recorded nowhere.
#[tokio::test]
async fn a_grant_lets_what_it_covers_and_no_more() {
    let world = World::start().await;
    let boss = world.tenant("acme").await;
    let principal = json!({"name": "agent"});
    assert_eq!(
        post_as(&world, &boss, "/v1/principals", &principal)
            .await
            .status,
        201
    );
    let grant = json!({
        "name": "night", "principal": "agent", "acts_for": ["user:ana"], "destinations": ["crm"],
        "operations": ["contact.add"], "limits": {"count": {"max": 2, "per_s": 31_536_000}},
    });
    assert_eq!(
        post_as(&world, &boss, "/v1/grants", &grant).await.status,
        201
    );
    let wish = json!({"principal": "agent", "grant": "night", "scopes": ["submit", "read"]});
    let token = post_as(&world, &boss, "/v1/tokens", &wish).await.json();
    let token = token["token"].as_str().unwrap().to_owned();

    let with = |name: &str, more: Value| {
        let mut body = submission(name, "done");
        for (member, value) in more.as_object().unwrap() {
            body[member] = value.clone();
        }
        body
    };
    for (name, more, says) in [
        ("a", json!({"operation": "contact.remove"}), "operation"),
        ("b", json!({"for": "user:bo"}), "user:bo"),
    ] {
        let refused = post_as(&world, &token, "/v1/actions", &with(name, more)).await;
        assert_eq!(
            (refused.status, code(&refused).as_str()),
            (403, "F1062"),
            "{}",
            refused.text
        );
        assert!(refused.text.contains(says), "{}", refused.text);
    }
    for name in ["c", "d"] {
        let body = with(name, json!({"for": "user:ana"}));
        let made = post_as(&world, &token, "/v1/actions", &body).await;
        assert_eq!(made.status, 201, "{}", made.text);
        let repeat = post_as(&world, &token, "/v1/actions", &body).await;
        assert_eq!(repeat.status, 200, "a repeat counts once: {}", repeat.text);
    }
    let third = post_as(&world, &token, "/v1/actions", &with("e", json!({}))).await;
    assert_eq!(
        (third.status, code(&third).as_str()),
        (403, "F1062"),
        "{}",
        third.text
    );

    // It sees what is for those whom it may act for, and nothing else of its own tenant.
    let own = post_as(&world, &boss, "/v1/actions", &with("f", json!({})))
        .await
        .json();
    assert_eq!(get_as(&world, &boss, &at(&own)).await.status, 200);
    assert_eq!(get_as(&world, &token, &at(&own)).await.status, 404);
    let listed = get_as(&world, &token, "/v1/actions").await.json();
    assert_eq!(listed["actions"].as_array().unwrap().len(), 2);
    for target in ["/v1/tokens", "/v1/review", "/v1/admin/state"] {
        assert_eq!(get_as(&world, &token, target).await.status, 403, "{target}");
    }
    world.ledger.until(3).await;
    assert_eq!(world.ledger.arrived(), 3);
}

/// What waits when its authority ends is withdrawn with that reason, and nothing of it is sent. R10.
#[tokio::test]
async fn what_waits_is_not_sent_once_its_authority_ends() {
    let world = World::start().await;
    let boss = world.tenant("acme").await;
    world.post("/v1/admin/pause", &json!({})).await;
    let mut waiting = Vec::new();
    for (n, end) in [
        "/v1/tenants/acme/state",
        "/v1/principals/boss/state?tenant=acme",
        "/v1/destinations/crm/state?tenant=acme",
    ]
    .into_iter()
    .enumerate()
    {
        let body = submission(&format!("w{n}"), "done");
        let made = post_as(&world, &boss, "/v1/actions", &body).await;
        assert_eq!(made.status, 201, "{}", made.text);
        let suspend = json!({"standing": "suspended", "why": "the test says so"});
        assert_eq!(world.post(end, &suspend).await.status, 200, "{end}");
        let refused = post_as(&world, &boss, "/v1/actions", &submission("late", "done")).await;
        assert!(
            matches!(refused.status, 401 | 403),
            "{end}: {}",
            refused.text
        );
        // Resumed only once the end was noticed: an end that nobody noticed ends nothing.
        let id = made.json()["id"].as_str().unwrap().parse().unwrap();
        let record = world
            .engine()
            .wait(id, std::time::Duration::from_secs(60))
            .await
            .unwrap();
        assert_eq!(record.status().state.name(), "cancelled", "{end}");
        let resume = json!({"standing": "active", "why": "the test goes on"});
        assert_eq!(world.post(end, &resume).await.status, 200, "{end}");
        waiting.push(made.json());
    }
    world.post("/v1/admin/resume", &json!({})).await;
    for action in &waiting {
        let log = get_as(&world, &boss, &format!("{}/evidence", at(action)))
            .await
            .json();
        let facts = log["evidence"].as_array().unwrap();
        assert!(
            facts.iter().any(|one| one["fact"] == "authority_lost"),
            "{log}"
        );
    }
    let free = world.settled(&submission("free", "done")).await;
    assert_eq!(free["state"], "succeeded");
    assert_eq!(
        world.ledger.arrived(),
        1,
        "nothing that lost its authority was sent"
    );
}

#[tokio::test]
async fn whoever_says_who_did_it_is_named_too() {
    let world = World::start().await;
    let token = world.token("default", "desk", &["submit"]).await;
    world.post("/v1/admin/pause", &json!({})).await;
    let made = post_as(&world, &token, "/v1/actions", &submission("x", "done"))
        .await
        .json();
    let cancel = format!("{}/cancel", at(&made));
    post_as(
        &world,
        &token,
        &cancel,
        &json!({"by": "ana", "why": "by phone"}),
    )
    .await;
    let log = world.get(&format!("{}/evidence", at(&made))).await.text;
    assert!(log.contains("ana, as desk says"), "{log}");
}
