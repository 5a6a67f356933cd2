//! `/metrics`: what is counted, who may read it, and that nobody's data becomes a label.

use std::time::{Duration, Instant};

use factum_server::Limits;
use serde_json::json;

use crate::client::{Answer, exchange, request};
use crate::world::{TOKEN, World, submission};

async fn scrape_as(world: &World, token: Option<&str>) -> Answer {
    let authorization = token.map(|token| format!("Bearer {token}"));
    let headers: Vec<(&str, &str)> = (authorization.iter())
        .map(|value| ("Authorization", value.as_str()))
        .collect();
    exchange(world.address, &request("GET", "/metrics", &headers, b"")).await
}

async fn scrape(world: &World) -> String {
    let answer = scrape_as(world, None).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let kind = answer.header("content-type").unwrap();
    assert!(kind.starts_with("text/plain; version=0.0.4"), "{kind}");
    answer.text
}

/// The value of the line with this name and these labels.
fn value(page: &str, line: &str) -> f64 {
    let found = page
        .lines()
        .find_map(|own| own.strip_prefix(line)?.strip_prefix(' '));
    let found = found.unwrap_or_else(|| panic!("there is no {line} in\n{page}"));
    found.parse().expect("a number")
}

fn of(family: &str, more: &str) -> String {
    format!("{family}{{destination=\"crm\",operation=\"other\"{more}}}")
}

#[tokio::test]
async fn what_becomes_of_actions_is_counted() {
    let world = World::start().await;
    for (name, behave) in [("1", "done"), ("2", "reject"), ("3", "lose")] {
        world.settled(&submission(name, behave)).await;
    }
    world.post("/v1/actions", &submission("1", "done")).await;
    let other = json!({"destination": "crm", "operation": "contact.add", "key": "order/1", "payload": {"n": "9"}});
    assert_eq!(world.post("/v1/actions", &other).await.status, 422);

    let page = scrape(&world).await;
    let counts = [
        ("factum_submissions_total", ",result=\"created\"", 3.0),
        ("factum_submissions_total", ",result=\"joined\"", 1.0),
        ("factum_submissions_total", ",result=\"conflict\"", 1.0),
        ("factum_requests_marked_total", ",right=\"first\"", 3.0),
        ("factum_attempts_total", ",evidence=\"done\"", 1.0),
        ("factum_attempts_total", ",evidence=\"rejected\"", 1.0),
        ("factum_attempts_total", ",evidence=\"lost\"", 1.0),
        (
            "factum_settled_total",
            ",outcome=\"succeeded\",by=\"reply\"",
            1.0,
        ),
        (
            "factum_settled_total",
            ",outcome=\"terminal_failure\",by=\"reply\"",
            1.0,
        ),
        (
            "factum_reviews_opened_total",
            ",why=\"nothing_to_ask\"",
            1.0,
        ),
        ("factum_submit_to_send_seconds_count", "", 3.0),
        ("factum_submit_to_settle_seconds_count", "", 2.0),
        ("factum_review_actions", ",age=\"1m\"", 1.0),
        ("factum_unknown_actions", ",age=\"1m\"", 1.0),
        ("factum_windows_closing_actions", "", 0.0),
    ];
    for (family, labels, expected) in counts {
        assert_eq!(
            value(&page, &of(family, labels)),
            expected,
            "{family}{labels}\n{page}"
        );
    }
    for up in ["factum_engine_up", "factum_store_up"] {
        assert_eq!(value(&page, up), 1.0, "{up}");
    }
    assert_eq!(value(&page, "factum_paused"), 0.0);
}

#[tokio::test]
async fn a_verdict_counts_as_a_person() {
    let world = World::start().await;
    let status = world.settled(&submission("1", "lose")).await;
    let verdict = json!({"verdict": "happened", "by": "ana", "why": "it is there"});
    let ruled = format!("/v1/review/{}/verdict", status["id"].as_str().unwrap());
    assert_eq!(world.post(&ruled, &verdict).await.status, 200);
    let page = scrape(&world).await;
    let by = of(
        "factum_settled_total",
        ",outcome=\"succeeded\",by=\"person\"",
    );
    assert_eq!(value(&page, &by), 1.0);
}

#[tokio::test]
async fn a_correction_is_due_until_somebody_passes_it_on() {
    let world = World::start().await;
    let mut asked = submission("1", "lose");
    asked["conversation"] = json!({"id": "chat-1"});
    let id = world.settled(&asked).await["id"].clone();
    let id = id.as_str().unwrap();
    let told = world.get("/v1/conversations/chat-1").await;
    assert_eq!(
        told.status, 200,
        "what it was told is unknown: {}",
        told.text
    );
    let verdict = json!({"verdict": "happened", "by": "ana", "why": "it is there"});
    let path = format!("/v1/review/{id}/verdict");
    assert_eq!(world.post(&path, &verdict).await.status, 200);
    let corrections = world.get("/v1/corrections").await.json();
    let version = &corrections["corrections"][0]["version"];
    assert_eq!(
        value(&scrape(&world).await, &of("factum_corrections_due", "")),
        1.0
    );
    let passed_on = json!({"action": id, "version": version, "by": "bot"});
    let path = "/v1/conversations/chat-1/acknowledge";
    assert_eq!(world.post(path, &passed_on).await.status, 200);
    // The store is read anew when the last look is a few seconds old.
    let deadline = Instant::now() + Duration::from_secs(60);
    while value(&scrape(&world).await, &of("factum_corrections_due", "")) != 0.0 {
        assert!(Instant::now() < deadline, "it is still due");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test]
async fn an_operator_s_hold_and_what_waits_for_it_show() {
    let world = World::start().await;
    world.post("/v1/admin/pause", &json!({"by": "ana"})).await;
    world.post("/v1/actions", &submission("1", "done")).await;
    let held = "factum_queue_actions{destination=\"crm\",place=\"held_back\"}";
    // The hold is seen once the claim that found it is back.
    for _ in 0..100 {
        let page = scrape(&world).await;
        assert_eq!(value(&page, "factum_paused"), 1.0);
        if value(&page, held) == 1.0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("what waits for the operator does not show");
}

#[tokio::test]
async fn no_name_of_a_caller_becomes_a_label() {
    let world = World::start().await;
    for no in 0..50 {
        let mut made_up = submission(&no.to_string(), "done");
        made_up["operation"] = json!(format!("canary.operation.{no}"));
        made_up["subject"] = json!("canary-subject");
        world.settled(&made_up).await;
    }
    let page = scrape(&world).await;
    assert_eq!(
        value(
            &page,
            &of("factum_submissions_total", ",result=\"created\"")
        ),
        50.0
    );
    assert!(!page.contains("canary"), "{page}");
}

#[tokio::test]
async fn they_need_a_token_where_an_operator_says_so() {
    let world = World::with("[metrics]\naccess = \"token\"", |limits: Limits| limits).await;
    assert_eq!(scrape_as(&world, None).await.status, 401);
    assert_eq!(scrape_as(&world, Some("wrong")).await.status, 401);
    assert_eq!(scrape_as(&world, Some(TOKEN)).await.status, 200);
    let reads = world.token("default", "prometheus", &["read"]).await;
    assert_eq!(scrape_as(&world, Some(&reads)).await.status, 200);
    let submits = world.token("default", "shop", &["submit"]).await;
    assert_eq!(scrape_as(&world, Some(&submits)).await.status, 403);
    // Another tenant's administrator sees nobody else's destinations.
    let boss = world.tenant("acme").await;
    assert_eq!(scrape_as(&world, Some(&boss)).await.status, 403);

    let off = World::with("[metrics]\naccess = \"off\"", |limits: Limits| limits).await;
    assert_eq!(scrape_as(&off, Some(TOKEN)).await.status, 404);
}
