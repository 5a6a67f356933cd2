//! Submitting: created, joined, refused; and what a repeat is told.

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::client::{exchange, request};
use crate::world::{TOKEN, World, at, submission};

#[tokio::test]
async fn a_repeat_joins_and_looks_like_a_repeat() {
    // B85
    let world = World::start().await;
    let body = submission("77", "done");
    let first = world
        .call(
            "POST",
            "/v1/actions",
            &[("Prefer", "wait=30")],
            &body.to_string(),
        )
        .await;
    assert_eq!(first.status, 201);
    let status = first.json();
    assert_eq!(
        (&status["joined"], &status["state"]),
        (&json!(false), &json!("succeeded"))
    );
    assert_eq!(status["receipt"]["reference"], "T-77");
    assert_eq!(first.header("location"), Some(at(&status).as_str()));
    assert_eq!(first.header("cache-control"), Some("no-store"));
    assert!(status.get("note").is_none(), "nothing was joined: {status}");

    let again = world.post("/v1/actions", &body).await;
    let joined = again.json();
    assert_eq!(
        (again.status, &joined["joined"], &joined["id"]),
        (200, &json!(true), &status["id"])
    );
    assert_eq!(
        joined["created_at"], status["created_at"],
        "the original time"
    );
    assert!(
        joined["note"]
            .as_str()
            .is_some_and(|note| note.contains("nothing was sent again")),
        "{joined}"
    );
    assert_eq!(world.ledger.arrived(), 1);
    let read = world.get(&at(&status)).await.json();
    assert_eq!(
        (&read["joined"], &read["receipt"]),
        (&json!(false), &status["receipt"])
    );
}

#[tokio::test]
async fn the_same_identity_with_another_intent_names_members_and_no_values() {
    let world = World::start().await;
    let mut body = submission("9", "done");
    body["payload"]["card"] = "4111111111111111".into();
    body["payload"]["amount"] = 10.into();
    let first = world.settled(&body).await;
    body["payload"]["card"] = "5500000000000004".into();
    let answer = world.post("/v1/actions", &body).await;
    let problem = answer.json();
    assert_eq!((answer.status, &problem["code"]), (422, &json!("F1007")));
    assert_eq!(
        answer.header("content-type"),
        Some("application/problem+json")
    );
    assert_eq!(
        (&problem["action"], &problem["member"]),
        (&first["id"], &json!("/payload/card"))
    );
    assert_eq!(problem["type"], "urn:factum:problem:identity-conflict");
    assert!(
        !answer.text.contains("4111111") && !answer.text.contains("5500000"),
        "{}",
        answer.text
    );
    assert_eq!(world.ledger.arrived(), 1);
}

#[tokio::test]
async fn the_key_may_come_by_header_in_each_form() {
    let world = World::start().await;
    let mut body = submission("5", "done");
    let mut ids = vec![world.settled(&body).await["id"].clone()];
    let with_key = body.to_string();
    body.as_object_mut().expect("an object").remove("key");
    let without = body.to_string();
    for (header, body) in [
        ("order/5", &without),
        ("\"order/5\"", &without),
        ("\"order/5\"", &with_key),
    ] {
        let answer = world
            .call("POST", "/v1/actions", &[("Idempotency-Key", header)], body)
            .await;
        assert_eq!(answer.status, 200, "{header}: {}", answer.text);
        ids.push(answer.json()["id"].clone());
    }
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    assert_eq!(world.ledger.arrived(), 1);
}

#[tokio::test]
async fn header_and_body_may_not_disagree() {
    let world = World::start().await;
    let mut body = submission("5", "done");
    let differs = world
        .call(
            "POST",
            "/v1/actions",
            &[("Idempotency-Key", "other")],
            &body.to_string(),
        )
        .await;
    assert_eq!(
        (
            differs.status,
            &differs.json()["code"],
            &differs.json()["member"]
        ),
        (400, &json!("F1016"), &json!("/key"))
    );

    body.as_object_mut().expect("an object").remove("key");
    let keyless = body.to_string();
    let long = "k".repeat(256);
    for header in [long.as_str(), "\"\"", "\"open", ""] {
        let answer = world
            .call(
                "POST",
                "/v1/actions",
                &[("Idempotency-Key", header)],
                &keyless,
            )
            .await;
        let problem = answer.json();
        assert_eq!(
            (&problem["code"], &problem["member"]),
            (&json!("F1011"), &json!("Idempotency-Key")),
            "{header:?}"
        );
    }
    body["event"] = json!({"source": "shop", "id": "e1"});
    body["effect"] = "ticket".into();
    let twice = world
        .call(
            "POST",
            "/v1/actions",
            &[("Idempotency-Key", "k")],
            &body.to_string(),
        )
        .await;
    assert_eq!(
        (&twice.json()["code"], &twice.json()["member"]),
        (&json!("F1016"), &json!("/event"))
    );
    world.is_untouched().await;
    assert_eq!(
        world.post("/v1/actions", &body).await.status,
        201,
        "an event and its effect are an identity"
    );
}

#[tokio::test]
async fn after_a_refusal_the_same_key_tells_it_and_another_key_tries_anew() {
    // B86
    let world = World::start().await;
    let body = submission("3", "reject");
    let first = world.settled(&body).await;
    assert_eq!(
        (&first["state"], &first["happened"]),
        (&json!("terminal_failure"), &json!("no"))
    );
    assert!(
        first["because"]
            .as_str()
            .is_some_and(|why| why.contains("no such customer")),
        "{first}"
    );
    let again = world.post("/v1/actions", &body).await;
    let joined = again.json();
    assert_eq!(
        (again.status, &joined["id"], &joined["state"]),
        (200, &first["id"], &first["state"])
    );
    assert!(
        joined["note"]
            .as_str()
            .is_some_and(|note| note.contains("a new try needs a new key")),
        "{joined}"
    );
    assert_eq!(world.ledger.arrived(), 1, "the same key sends nothing");
    let mut anew = body.clone();
    anew["key"] = "order/3/second try".into();
    assert_eq!(world.settled(&anew).await["state"], "terminal_failure");
    assert_eq!(world.ledger.arrived(), 2);
}

#[tokio::test]
async fn an_unknown_outcome_is_a_status_and_never_an_error() {
    // B22
    let world = World::start().await;
    let body = submission("1", "lose");
    let status = world.settled(&body).await;
    assert_eq!(
        (&status["state"], &status["happened"]),
        (&json!("outcome_unknown"), &json!("unknown"))
    );
    assert_eq!(
        (&status["safe_to_call_again"], &status["receipt"]),
        (&json!(false), &Value::Null)
    );
    assert_eq!(status["next"]["do"], "review");
    let never = status["statement"]["never_say"].as_array().expect("a list");
    assert!(
        never.len() >= 4,
        "neither done nor failed may be said: {never:?}"
    );
    let again = world.post("/v1/actions", &body).await;
    assert_eq!(
        (again.status, &again.json()["state"]),
        (200, &json!("outcome_unknown"))
    );
    assert!(
        !again.json()["note"]
            .as_str()
            .expect("a note")
            .contains("new key"),
        "a new key could make a second effect"
    );
    assert_eq!(world.get(&at(&status)).await.status, 200);
    assert_eq!(world.ledger.arrived(), 1, "it is not sent again");
}

#[tokio::test]
async fn a_caller_that_hangs_up_repeats_and_makes_no_second_effect() {
    let world = World::start().await;
    let authorization = format!("Bearer {TOKEN}");
    let names: Vec<String> = (0..20).map(|n| n.to_string()).collect();
    for name in &names {
        let body = submission(name, "done").to_string();
        let headers = [("Authorization", authorization.as_str())];
        let bytes = request("POST", "/v1/actions", &headers, body.as_bytes());
        let mut stream = TcpStream::connect(world.address)
            .await
            .expect("the server listens");
        stream.write_all(&bytes).await.expect("written");
    }
    for name in &names {
        let answer = world.post("/v1/actions", &submission(name, "done")).await;
        assert!(
            answer.status == 200 || answer.status == 201,
            "{}",
            answer.text
        );
        let settled = world
            .get(&format!("{}?wait=30", at(&answer.json())))
            .await
            .json();
        assert_eq!(settled["state"], "succeeded");
        assert_eq!(world.ledger.arrived_as(name), 1);
    }
}

#[tokio::test]
async fn search_finds_by_each_member_and_in_pages() {
    let world = World::start().await;
    for (name, behave) in [("1", "done"), ("2", "reject"), ("3", "done")] {
        let mut body = submission(name, behave);
        body["conversation"] = json!({"id": format!("conv-{name}"), "turn": 4, "asked": "please"});
        world.settled(&body).await;
    }
    let keys = async |query: &str| -> Vec<String> {
        let answer = world.get(&format!("/v1/actions?{query}")).await.json();
        let actions = answer["actions"].as_array().expect("a list").clone();
        actions
            .iter()
            .map(|action| action["key"].as_str().expect("a key").to_owned())
            .collect()
    };
    assert_eq!(keys("key=order/2").await, ["order/2"]);
    assert_eq!(keys("key=order%2F2").await, ["order/2"]);
    assert_eq!(
        keys("state=succeeded").await,
        ["order/3", "order/1"],
        "newest first"
    );
    assert_eq!(
        keys("conversation=conv-3&destination=crm&next=none").await,
        ["order/3"]
    );
    assert_eq!(keys("destination=elsewhere").await, Vec::<String>::new());
    let page = world.get("/v1/actions?limit=2").await.json();
    assert_eq!(page["actions"].as_array().map(Vec::len), Some(2));
    let before = page["next_before"].as_str().expect("there is more");
    let rest = world
        .get(&format!("/v1/actions?limit=2&before={before}"))
        .await
        .json();
    assert_eq!(
        (&rest["actions"][0]["key"], &rest["next_before"]),
        (&json!("order/1"), &Value::Null)
    );
}

#[tokio::test]
async fn evidence_shows_the_way_of_an_action_without_its_payload() {
    let world = World::start().await;
    let mut body = submission("1", "done");
    body["payload"]["card"] = "4111111111111111".into();
    let status = world.settled(&body).await;
    let answer = world.get(&format!("{}/evidence", at(&status))).await;
    let log = answer.json();
    let facts: Vec<&str> = log["evidence"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|e| e["fact"].as_str())
        .collect();
    assert_eq!(log["action"], status["id"]);
    assert_eq!(facts, ["marked", "answered"]);
    assert!(!answer.text.contains("4111111"), "{}", answer.text);
}

#[tokio::test]
async fn one_connection_carries_one_request_after_the_other() {
    let world = World::start().await;
    let authorization = format!("Bearer {TOKEN}");
    let mut both = Vec::new();
    for last in [false, true] {
        let body = submission("1", "done").to_string();
        let bytes = request(
            "POST",
            "/v1/actions",
            &[("Authorization", &authorization)],
            body.as_bytes(),
        );
        let text = String::from_utf8(bytes).expect("text");
        both.extend(
            if last {
                text
            } else {
                text.replace("Connection: close", "Connection: keep-alive")
            }
            .into_bytes(),
        );
    }
    let answer = exchange(world.address, &both).await;
    assert_eq!(answer.status, 201);
    assert!(answer.text.contains("HTTP/1.1 200 OK"), "{}", answer.text);
}

/// Each reader in their language: the submission's, unless the address says another, or the reader is staff.
#[tokio::test]
async fn statements_are_in_the_language_of_whoever_reads_them() {
    let world = World::start().await;
    let mut body = submission("1", "done");
    body["locale"] = "de-AT".into();
    let created = world.post("/v1/actions", &body).await;
    let id = created.json()["id"].as_str().expect("an id").to_owned();
    let said = async |query: &str, header: Option<&str>| {
        let headers: Vec<(&str, &str)> = header
            .map(|value| ("accept-language", value))
            .into_iter()
            .collect();
        let path = format!("/v1/actions/{id}?wait=30{query}");
        let statement = world.call("GET", &path, &headers, "").await.json()["statement"].clone();
        let text = |member: &str| statement[member].as_str().unwrap_or_default().to_owned();
        (text("locale"), text("key"), text("say"))
    };
    let row = |locale: &str, say: &str| (locale.to_owned(), "done".to_owned(), say.to_owned());
    let german = row("de", "Erledigt. Die Referenz lautet T-1.");
    assert_eq!(said("", None).await, german);
    assert_eq!(said("", Some("fr")).await, german);
    let polish = row("pl", "Gotowe. Numer: T-1.");
    assert_eq!(said("&locale=pl", Some("fr")).await, polish);
    let staff = "L'effet existe chez le destinataire, référence T-1.";
    assert_eq!(
        said("&audience=operator", Some("nl, fr;q=0.7, en;q=0.2")).await,
        row("fr", staff)
    );
    let wrong = world.get(&format!("/v1/actions/{id}?locale=nl")).await;
    assert_eq!(wrong.json()["code"], "F1025");
    body["locale"] = "not a tag".into();
    body["key"] = "another".into();
    let wrong = world.post("/v1/actions", &body).await.json();
    assert_eq!(
        (&wrong["code"], &wrong["member"]),
        (&"F1003".into(), &"/locale".into())
    );
}
