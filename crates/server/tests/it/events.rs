//! Submissions that come as CloudEvents: one event is one event, in whichever mode and however often it is delivered.

use serde_json::{Value, json};

use crate::world::World;

const STRUCTURED: [(&str, &str); 2] = [
    (
        "Content-Type",
        "application/cloudevents+json; charset=utf-8",
    ),
    ("Prefer", "wait=30"),
];

fn data() -> Value {
    json!({
        "destination": "crm", "operation": "contact.add", "effect": "contact", "payload": {"n": "e1", "behave": "done"},
    })
}

fn event(id: &str) -> Value {
    json!({
        "specversion": "1.0", "id": id, "source": "//shop/kasse\u{df}", "type": "shop.order.paid", "time": "2026-01-01T00:00:00Z",
        "subject": "order/77", "orderkind": "web", "data": data(),
    })
}

/// The same event in binary mode.
fn binary(id: &str) -> Vec<(&str, &str)> {
    vec![
        ("Content-Type", "application/json"),
        ("ce-specversion", "1.0"),
        ("ce-id", id),
        ("Ce-Source", "//shop/kasse%C3%9F"),
        ("ce-type", "shop.order.paid"),
        ("ce-time", "2026-01-01T00:00:00Z"),
        ("ce-orderkind", "web"),
    ]
}

async fn deliver(world: &World, event: &Value) -> crate::client::Answer {
    let target = "/v1/actions";
    world
        .call("POST", target, &STRUCTURED, &event.to_string())
        .await
}

#[tokio::test]
async fn an_event_is_one_action_however_often_and_in_whichever_mode_it_comes() {
    // B182
    let world = World::start().await;
    let first = deliver(&world, &event("e 1")).await;
    assert_eq!(first.status, 201, "{}", first.text);
    let first = first.json();
    assert_eq!(first["state"], "succeeded");
    let again = deliver(&world, &event("e 1")).await;
    assert_eq!((again.status, &again.json()["id"]), (200, &first["id"]));
    let by_headers = world
        .call("POST", "/v1/actions", &binary("e%201"), &data().to_string())
        .await;
    assert_eq!(by_headers.status, 200, "{}", by_headers.text);
    assert_eq!(by_headers.json()["id"], first["id"]);
    let mut plain = data();
    plain["event"] = json!({"source": "//shop/kasse\u{df}", "id": "e 1"});
    plain["intent_at"] = json!("2026-01-01T00:00:00Z");
    let plain = world.post("/v1/actions", &plain).await;
    assert_eq!((plain.status, &plain.json()["id"]), (200, &first["id"]));
    assert_eq!(world.ledger.arrived(), 1);

    // Another effect of the event, and another event, are others.
    let mut other = event("e 1");
    other["data"]["effect"] = json!("mail");
    assert_eq!(deliver(&world, &other).await.status, 201);
    assert_eq!(deliver(&world, &event("e 2")).await.status, 201);
    world.ledger.until(3).await;
    // The same event with other content is a conflict, and says where the difference stands.
    let mut changed = event("e 1");
    changed["data"]["payload"]["behave"] = json!("lose");
    let refused = deliver(&world, &changed).await;
    assert_eq!(
        (refused.status, &refused.json()["action"]),
        (422, &first["id"])
    );
    assert_eq!(world.ledger.arrived(), 3);
}

#[tokio::test]
async fn what_is_no_event_is_refused_by_its_place_and_records_nothing() {
    let world = World::start().await;
    let rows: [(&str, Value, u16, &str, &str); 12] = [
        ("/specversion", json!("0.3"), 400, "F1003", "/specversion"),
        ("/id", Value::Null, 400, "F1003", "/id"),
        ("/id", json!("x".repeat(256)), 400, "F1011", "/id"),
        ("/source", json!("x".repeat(256)), 400, "F1011", "/source"),
        ("/type", json!("a\u{0}"), 400, "F1003", "/type"),
        ("/time", json!("soon"), 400, "F1003", "/time"),
        (
            "/datacontenttype",
            json!("text/plain"),
            415,
            "F1026",
            "/datacontenttype",
        ),
        ("/data_base64", json!("e30="), 400, "F1003", "/data_base64"),
        ("/data/key", json!("k"), 400, "F1016", "/data/key"),
        ("/data/effect", Value::Null, 400, "F1004", "/data/effect"),
        (
            "/data/destination",
            json!("crn"),
            404,
            "F1005",
            "/data/destination",
        ),
        ("/data/for", json!("a\u{0}"), 400, "F1003", "/data/for"),
    ];
    for (at, value, status, code, member) in rows {
        let mut event = event("e");
        let (parent, name) = at.rsplit_once('/').unwrap();
        event.pointer_mut(parent).unwrap()[name] = value;
        let refused = deliver(&world, &event).await;
        let problem = refused.json();
        assert_eq!(
            (refused.status, &problem["code"], &problem["member"]),
            (status, &json!(code), &json!(member)),
            "{problem}"
        );
    }
    world.is_untouched().await;
}

#[tokio::test]
async fn attributes_in_headers_are_read_whole_and_strictly() {
    let world = World::start().await;
    let body = data().to_string();
    let post = async |headers: &[(&str, &str)]| {
        let refused = world.call("POST", "/v1/actions", headers, &body).await;
        (refused.status, refused.json()["member"].clone())
    };
    // One that lost an attribute on its way is no plain submission.
    for lost in ["ce-specversion", "ce-id", "Ce-Source", "ce-type"] {
        let headers: Vec<_> = binary("e")
            .into_iter()
            .filter(|(name, _)| *name != lost)
            .collect();
        assert_eq!(post(&headers).await, (400, json!(lost.to_lowercase())));
    }
    for (name, value) in [
        ("ce-id", "%C0%A0"),
        ("ce-time", "50%"),
        ("ce-datacontenttype", "application/json"),
        ("ce-type", ""),
    ] {
        let mut headers: Vec<_> = binary("e")
            .into_iter()
            .filter(|(other, _)| *other != name)
            .collect();
        headers.push((name, value));
        assert_eq!(post(&headers).await, (400, json!(name)), "{name}: {value}");
    }
    let mut twice = binary("e");
    twice.push(("ce-id", "f"));
    assert_eq!(post(&twice).await, (400, json!("ce-id")));
    let mut with_key = binary("e");
    with_key.push(("Idempotency-Key", "k"));
    assert_eq!(post(&with_key).await.0, 400);
    for kind in [
        "application/cloudevents-batch+json",
        "application/cloudevents+avro",
        "application/cloudevents",
    ] {
        assert_eq!(
            post(&[("Content-Type", kind)]).await,
            (415, json!("Content-Type"))
        );
    }
    world.is_untouched().await;
}

#[tokio::test]
async fn the_time_of_an_event_is_when_the_intent_was_formed() {
    let world = World::start().await;
    let mut timed = event("e");
    let formed = async |event: &Value| {
        let made = deliver(&world, event).await;
        assert_eq!(made.status, 201, "{}", made.text);
        let id = made.json()["id"].as_str().unwrap().parse().unwrap();
        let record = world.engine().load(id).await.unwrap();
        record.action.intent.intent_at.map(factum::view::rfc3339)
    };
    assert_eq!(
        formed(&timed).await.as_deref(),
        Some("2026-01-01T00:00:00Z")
    );
    // What stands in the data is the caller's own word.
    timed["id"] = json!("f");
    timed["data"]["intent_at"] = json!("2026-02-02T00:00:00Z");
    assert_eq!(
        formed(&timed).await.as_deref(),
        Some("2026-02-02T00:00:00Z")
    );
}
