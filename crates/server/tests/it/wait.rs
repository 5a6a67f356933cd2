//! Waiting: `Prefer: wait`, long polls, and what a stop makes of both.

use std::sync::Arc;

use crate::world::{World, at, hasty, submission};

#[tokio::test]
async fn a_preference_is_applied_and_said_so() {
    let world = World::start().await;
    let prefer = async |name: &str, wait: &str| {
        let body = submission(name, "done").to_string();
        world
            .call("POST", "/v1/actions", &[("Prefer", wait)], &body)
            .await
    };
    let waited = prefer("1", "respond-async, wait=30").await;
    assert_eq!(
        (waited.status, waited.header("preference-applied")),
        (201, Some("wait=30"))
    );
    assert_eq!(waited.json()["state"], "succeeded");
    assert_eq!(
        prefer("2", "wait=600").await.header("preference-applied"),
        Some("wait=60")
    );
    assert_eq!(
        prefer("3", "wait=soon").await.header("preference-applied"),
        None
    );
}

#[tokio::test]
async fn a_wait_ends_after_its_time_with_what_is_known_then() {
    let world = World::start().await;
    let submission = submission("1", "hang");
    world.post("/v1/actions", &submission).await;
    let body = submission.to_string();
    world.ledger.until(1).await;
    let answer = world
        .call("POST", "/v1/actions", &[("Prefer", "wait=1")], &body)
        .await;
    assert_eq!(
        (answer.status, answer.json()["state"].as_str()),
        (200, Some("dispatching"))
    );
    world.ledger.open();
    let joined = world
        .call("POST", "/v1/actions", &[("Prefer", "wait=30")], &body)
        .await;
    assert_eq!(
        (joined.status, joined.json()["state"].as_str()),
        (200, Some("succeeded")),
        "a repeat waits too"
    );
    assert_eq!(world.ledger.arrived(), 1);
}

// B64: a caller whose own policy repeats whatever takes long. Under a key its repeats join, and one request goes out; without one
// nothing is taken at all.
#[tokio::test]
async fn a_caller_that_repeats_what_is_slow_joins_itself() {
    let world = Arc::new(World::start().await);
    let ticket = submission("1", "hang");
    let mut nameless = ticket.clone();
    nameless.as_object_mut().expect("an object").remove("key");
    for _ in 0..3 {
        let refused = world.post("/v1/actions", &nameless).await;
        assert_eq!(
            (refused.status, &refused.json()["code"]),
            (400, &"F1004".into())
        );
    }
    world.is_untouched().await;
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..3 {
        let (world, body) = (world.clone(), ticket.to_string());
        let headers = [("Prefer", "wait=60")];
        calls.spawn(async move { world.call("POST", "/v1/actions", &headers, &body).await });
    }
    world.ledger.until(1).await;
    // One more, while the first are still waited for.
    let joined = world.post("/v1/actions", &ticket).await;
    assert_eq!(
        (joined.status, &joined.json()["joined"]),
        (200, &true.into())
    );
    world.ledger.open();
    let answers = calls.join_all().await;
    assert_eq!(
        answers.iter().filter(|answer| answer.status == 201).count(),
        1
    );
    for answer in &answers {
        assert_eq!(answer.json()["state"], "succeeded", "{}", answer.text);
    }
    assert_eq!(world.ledger.arrived(), 1);
}

#[tokio::test]
async fn a_long_poll_is_answered_when_the_action_settles() {
    let world = Arc::new(World::start().await);
    let status = world
        .post("/v1/actions", &submission("1", "hang"))
        .await
        .json();
    world.ledger.until(1).await;
    let polling = tokio::spawn({
        let (world, target) = (
            world.clone(),
            format!("{}?wait=60&audience=agent", at(&status)),
        );
        async move { world.get(&target).await.json() }
    });
    let now = world.get(&at(&status)).await.json();
    assert_eq!(
        now["state"], "dispatching",
        "without a wait it is answered at once"
    );
    world.ledger.open();
    let then = polling.await.expect("answered");
    assert_eq!(
        (then["state"].as_str(), then["statement"]["say"].as_str()),
        (Some("succeeded"), Some("Done, reference T-1."))
    );
}

#[tokio::test]
async fn a_stop_answers_those_who_wait_and_takes_nothing_more_on() {
    let mut world = World::with("", hasty).await;
    let status = world
        .post("/v1/actions", &submission("1", "hang"))
        .await
        .json();
    world.ledger.until(1).await;
    let address = world.address;
    let polling = {
        let authorization = format!("Bearer {}", crate::world::TOKEN);
        let target = format!("{}?wait=60", at(&status));
        let bytes =
            crate::client::request("GET", &target, &[("Authorization", &authorization)], b"");
        let mut stream = tokio::net::TcpStream::connect(address)
            .await
            .expect("the server listens");
        tokio::io::AsyncWriteExt::write_all(&mut stream, &bytes)
            .await
            .expect("written");
        stream
    };
    // The server takes connections on in order, so the poll's is taken on once a later one is answered.
    assert_eq!(world.get("/healthz").await.status, 200);
    world.stop();
    let mut polling = polling;
    let mut answer = String::new();
    tokio::io::AsyncReadExt::read_to_string(&mut polling, &mut answer)
        .await
        .expect("answered");
    assert!(
        answer.starts_with("HTTP/1.1 200") && answer.contains("\"dispatching\""),
        "{answer}"
    );
    assert_eq!(world.ended().await, 1, "the hanging send could not end");
    assert!(
        tokio::net::TcpStream::connect(address).await.is_err(),
        "nobody listens any more"
    );
}

#[tokio::test]
async fn a_stop_lets_sends_in_flight_end() {
    let mut world = World::start().await;
    world.post("/v1/actions", &submission("1", "hang")).await;
    world.ledger.until(1).await;
    world.stop();
    world.ledger.open();
    assert_eq!(world.ended().await, 0);
}
