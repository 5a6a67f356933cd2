//! Settings on the console, over plain HTTP: what is made there counts, who may make it, and who did.

use serde_json::json;

use crate::browsing::{Browser, send, unknown};
use crate::world::{TOKEN, World};

/// The secret that a page shows once.
fn secret(page: &str) -> String {
    let (_, after) = page.split_once("data-copy>").expect("a secret");
    after.split('<').next().expect("it ends").to_owned()
}

#[tokio::test]
async fn a_token_is_made_shown_once_used_and_revoked() {
    let world = World::start().await;
    let browser = Browser::signed_in(&world, TOKEN).await;
    let ana = [
        ("name", "ana"),
        ("about", "Ana of support"),
        ("why", "she joined"),
    ];
    let made = browser.post("/settings/principals", &ana).await;
    assert_eq!(
        made.header("location"),
        Some("/settings/principals/ana?said=made")
    );
    let token = [
        ("principal", "ana"),
        ("scopes", "review"),
        ("scopes", "read"),
        ("until", "2099-01-01T00:00"),
        ("why", "for the queue"),
    ];
    let made = browser.post("/settings/tokens", &token).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let token = secret(&made.text);
    let seen = world.call_as(&token, "GET", "/v1/review", &[], "").await;
    assert_eq!(seen.status, 200, "{}", seen.text);
    let id = token.split('_').nth(1).expect("an id");
    let page = browser.get(&format!("/settings/tokens/{id}")).await;
    assert!(
        page.text.contains("review, read") && !page.text.contains(&token),
        "{}",
        page.text
    );
    let revoked = [("standing", "revoked"), ("why", "she left")];
    let changed = browser
        .post(&format!("/settings/tokens/{id}"), &revoked)
        .await;
    assert_eq!(changed.status, 303, "{}", changed.text);
    let refused = world.call_as(&token, "GET", "/v1/review", &[], "").await;
    assert_eq!(refused.status, 401);
    let page = browser.get(&format!("/settings/tokens/{id}")).await;
    assert!(
        page.text.contains("she left") && page.text.contains("for the queue"),
        "{}",
        page.text
    );
    assert!(!page.text.contains("Resume"), "what was revoked stays so");
    let all = browser.get("/settings").await;
    for said in [
        "Ana of support",
        "she left",
        "signed in at the console",
        "for good",
    ] {
        assert!(all.text.contains(said), "{said}: {}", all.text);
    }
}

#[tokio::test]
async fn what_the_api_refuses_the_page_refuses_too() {
    let world = World::start().await;
    let browser = Browser::signed_in(&world, TOKEN).await;
    let ana = [("name", "ana"), ("why", "she joined")];
    let made = browser.post("/settings/principals", &ana).await;
    assert_eq!(made.status, 303, "{}", made.text);
    for (target, form) in [
        ("/settings/tokens", vec![("principal", "ana"), ("why", "x")]),
        (
            "/settings/tokens",
            vec![("principal", "nobody"), ("scopes", "read"), ("why", "x")],
        ),
        ("/settings/principals", vec![("name", "a b"), ("why", "x")]),
        ("/settings/principals", vec![("name", "ben")]),
        (
            "/settings/grants",
            vec![
                ("name", "g"),
                ("principal", "ana"),
                ("max", "many"),
                ("why", "x"),
            ],
        ),
        ("/settings/nothing", vec![("name", "ben"), ("why", "x")]),
    ] {
        let refused = browser.post(target, &form).await;
        assert!(
            (400..500).contains(&refused.status),
            "{target} {form:?}: {}",
            refused.status
        );
    }
}

#[tokio::test]
async fn a_grant_and_a_webhook_are_made_with_what_the_form_says() {
    let world = World::start().await;
    let browser = Browser::signed_in(&world, TOKEN).await;
    browser
        .post(
            "/settings/principals",
            &[("name", "agent"), ("why", "nights")],
        )
        .await;
    let grant = [
        ("name", "nights"),
        ("principal", "agent"),
        ("acts_for", "user:ana, user:ben"),
        ("destinations", "crm"),
        ("max", "20"),
        ("per_h", "24"),
        ("why", "a trial"),
    ];
    let made = browser.post("/settings/grants", &grant).await;
    assert_eq!(made.status, 303, "{}", made.text);
    let kept = world.get("/v1/grants/nights").await.json();
    assert_eq!(kept["acts_for"], json!(["user:ana", "user:ben"]));
    assert_eq!(kept["limits"]["count"], json!({"max": 20, "per_s": 86_400}));
    assert_eq!(kept["changed"]["why"], "a trial");
    let hook = [
        ("name", "ours"),
        ("url", "https://hooks.example.com/x"),
        ("types", ""),
        ("why", "news"),
    ];
    let made = browser.post("/settings/webhooks", &hook).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let first = secret(&made.text);
    assert!(first.starts_with("whsec_"), "{first}");
    let anew = [("standing", "rotate"), ("why", "it was in a mail")];
    let made = browser.post("/settings/webhooks/ours", &anew).await;
    assert!(
        made.status == 201 && secret(&made.text) != first,
        "{}",
        made.text
    );
}

#[tokio::test]
async fn settings_are_for_administrators_and_of_their_tenant_alone() {
    let world = World::start().await;
    let acme = world.tenant("acme").await;
    world.token("default", "ana", &["review"]).await;
    let reviewer = world.token("default", "rita", &["review", "read"]).await;
    let reviewer = Browser::signed_in(&world, &reviewer).await;
    assert_eq!(reviewer.get("/settings").await.status, 403);
    let wish = [("name", "eve"), ("why", "x")];
    assert_eq!(
        reviewer.post("/settings/principals", &wish).await.status,
        403
    );
    assert!(
        !reviewer
            .get("/actions")
            .await
            .text
            .contains("href=\"/settings\"")
    );
    let boss = Browser::signed_in(&world, &acme).await;
    let page = boss.get("/settings").await;
    assert_eq!(page.status, 200, "{}", page.text);
    assert!(
        !page.text.contains("rita") && !page.text.contains("id=\"tenants\""),
        "{}",
        page.text
    );
    assert_eq!(boss.get("/settings/principals/rita").await.status, 404);
    assert_eq!(boss.get("/settings/tenants/globex").await.status, 403);
    assert_eq!(boss.post("/settings/tenants", &wish).await.status, 403);
    assert_eq!(
        boss.post("/tenant", &[("tenant", "default")]).await.status,
        403
    );
}

#[tokio::test]
async fn whoever_runs_the_installation_looks_at_another_tenant_and_is_named_there() {
    let world = World::start().await;
    let ours = unknown(&world, "1").await;
    let acme = world.tenant("acme").await;
    let body = crate::world::submission("2", "lose").to_string();
    let wait = [("Prefer", "wait=30")];
    let theirs = world
        .call_as(&acme, "POST", "/v1/actions", &wait, &body)
        .await
        .json();
    let theirs = theirs["id"].as_str().expect("an id").to_owned();
    let browser = Browser::signed_in(&world, TOKEN).await;
    assert_eq!(
        browser
            .post("/tenant", &[("tenant", "nobody")])
            .await
            .status,
        404
    );
    let gone = browser.post("/tenant", &[("tenant", "acme")]).await;
    assert_eq!(gone.status, 303, "{}", gone.text);
    assert_eq!(
        browser.get("/review").await.status,
        303,
        "the session before is over"
    );
    let there = browser.after(&gone).await;
    let queue = there.get("/review").await;
    assert!(
        queue.text.contains(&theirs) && !queue.text.contains(&ours),
        "{}",
        queue.text
    );
    assert!(
        queue.text.contains("You look at the tenant"),
        "{}",
        queue.text
    );
    assert_eq!(there.get(&format!("/actions/{ours}")).await.status, 404);
    assert_eq!(
        there
            .post(&format!("/actions/{theirs}/take"), &[])
            .await
            .status,
        303
    );
    let items = world
        .call_as(&acme, "GET", "/v1/review", &[], "")
        .await
        .json();
    assert_eq!(items["items"][0]["taken_by"], "admin of default");
    let boss = Browser::signed_in(&world, &acme).await;
    assert!(
        boss.get("/settings")
            .await
            .text
            .contains("looks at the tenant acme")
    );
    let back = there.post("/tenant", &[("tenant", "default")]).await;
    let home = there.after(&back).await;
    let queue = home.get("/review").await;
    assert!(queue.text.contains(&ours) && !queue.text.contains("You look at the tenant"));
}

#[tokio::test]
async fn a_link_signs_in_once() {
    let world = World::start().await;
    let nobody = send(&world, "POST", "/sign-in/link", &[], "").await;
    assert_eq!(nobody.status, 401);
    let bearer = format!("Bearer {TOKEN}");
    let made = send(
        &world,
        "POST",
        "/sign-in/link",
        &[("Authorization", &bearer)],
        "",
    )
    .await;
    assert_eq!(made.status, 201, "{}", made.text);
    let path = made.json()["path"].as_str().expect("a path").to_owned();
    // Whatever fetches addresses before they are followed takes nothing away.
    for _ in 0..2 {
        assert_eq!(send(&world, "GET", &path, &[], "").await.status, 200);
    }
    let foreign = [("Origin", "http://evil.example")];
    assert_eq!(send(&world, "POST", &path, &foreign, "").await.status, 403);
    let own = [("Origin", "http://test")];
    let followed = send(&world, "POST", &path, &own, "").await;
    assert_eq!(followed.status, 303, "{}", followed.text);
    assert!(
        followed
            .header("set-cookie")
            .is_some_and(|set| set.contains("HttpOnly"))
    );
    let again = send(&world, "POST", &path, &own, "").await;
    assert_eq!((again.status, again.header("set-cookie")), (401, None));
}
