//! Hundreds of malformed requests, made from the document's own examples: each is refused with a problem, none with a 5xx, and all of them
//! together change nothing.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::client::{exchange, request};
use crate::world::{TOKEN, World, submission};

/// A call with its example: method, target and body; and the schema of the body.
struct Example {
    target: String,
    body: Value,
    schema: Value,
}

fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    match schema["$ref"].as_str() {
        Some(reference) => document.pointer(reference.trim_start_matches('#')).unwrap(),
        None => schema,
    }
}

/// What is there, by what the examples call it.
async fn furnished(world: &World, document: &Value) -> BTreeMap<String, String> {
    let example = |operation: &str| {
        let calls = document["paths"].as_object().unwrap().values();
        let mut calls = calls.flat_map(|methods| methods.as_object().unwrap().values());
        calls
            .find(|call| call["operationId"] == operation)
            .unwrap()
            .clone()
    };
    let body = |operation: &str| {
        example(operation)["requestBody"]["content"]["application/json"]["example"].clone()
    };
    let shown = |operation: &str| {
        example(operation)["parameters"][0]["example"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let mut known = BTreeMap::new();
    for (operation, path) in [
        ("add_tenant", "tenants"),
        ("add_principal", "principals"),
        ("add_grant", "grants"),
    ] {
        let made = world.post(&format!("/v1/{path}"), &body(operation)).await;
        assert_eq!(made.status, 201, "{}", made.text);
    }
    let token = world.post("/v1/tokens", &body("add_token")).await.json();
    known.insert(shown("token"), token["name"].as_str().unwrap().to_owned());
    let mut lost = submission("lost", "lose");
    lost["conversation"] = json!({"id": "conv-91"});
    let lost = world.settled(&lost).await;
    known.insert(shown("status"), lost["id"].as_str().unwrap().to_owned());
    let proposal = world.post("/v1/proposals", &body("propose")).await.json();
    known.insert(
        shown("proposal"),
        proposal["proposal"]["id"].as_str().unwrap().to_owned(),
    );
    known
}

/// Every call that takes a body.
fn examples(document: &Value, known: &BTreeMap<String, String>) -> Vec<Example> {
    let real = |text: String| {
        known
            .iter()
            .fold(text, |text, (shown, real)| text.replace(shown, real))
    };
    let mut found = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        let call = &methods["post"];
        let content = &call["requestBody"]["content"]["application/json"];
        if !content["example"].is_object() {
            continue;
        }
        let mut target = path.clone();
        for parameter in call["parameters"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|one| one["in"] == "path")
        {
            let name = parameter["name"].as_str().unwrap();
            let example = parameter["example"].as_str().unwrap_or("nothing");
            target = target.replace(&format!("{{{name}}}"), example);
        }
        found.push(Example {
            target: real(target),
            body: serde_json::from_str(&real(content["example"].to_string())).unwrap(),
            schema: resolved(document, &content["schema"]).clone(),
        });
    }
    found
}

/// Texts of a body that no call may take.
fn bodies(document: &Value, example: &Example) -> Vec<Vec<u8>> {
    let text = example.body.to_string();
    let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
    let inside = |more: &str| format!("{{{more},{}", &text[1..]);
    let mut texts = vec![
        "{".to_owned(),
        "null".to_owned(),
        "7".to_owned(),
        "\"text\"".to_owned(),
        format!("[{text}]"),
        format!("{text}{text}"),
        text[..text.len() / 2].to_owned(),
        text[..text.len() - 1].to_owned(),
        inside("\"surprise\":1"),
        inside(&format!("\"surprise\":{deep}")),
        inside("\"surprise\":1e999"),
        inside("\"a\":1,\"a\":2"),
        inside("\"a\":\"\u{1}\""),
        inside("\"a\":\"\\ud800\""),
        inside("'a':1"),
        inside("\"a\":01"),
        inside("\"a\":NaN"),
    ];
    // A body may have no member at all.
    let members = example.schema["properties"].as_object();
    for (name, schema) in members.into_iter().flatten() {
        let mut schema = resolved(document, schema);
        if let Some(either) = schema["anyOf"].as_array() {
            schema = resolved(document, &either[0]);
        }
        let wrong = match schema["type"].as_str() {
            Some("string") => json!([7, {"a": 1}, ["a"], true]),
            Some("integer") => json!(["7", 1.5, -1, {"a": 1}]),
            Some("object") => json!(["a", 7, [1], true]),
            Some("array") => json!(["a", 7, {"a": 1}]),
            Some("boolean") => json!(["true", 1, []]),
            Some(_) | None => continue,
        };
        for value in wrong.as_array().unwrap() {
            let mut body = example.body.clone();
            body[name] = value.clone();
            texts.push(body.to_string());
        }
        if example.schema["required"]
            .as_array()
            .unwrap()
            .contains(&json!(name))
        {
            let mut body = example.body.clone();
            body.as_object_mut().unwrap().remove(name);
            texts.push(body.to_string());
        }
    }
    let mut bodies: Vec<Vec<u8>> = texts.into_iter().map(String::into_bytes).collect();
    bodies.push(b"\xff\xfe{}".to_vec());
    bodies.push(text.replace('"', "\u{201c}").into_bytes());
    bodies.push(inside("\"a\":\"?\"").replace('?', "\u{0}").into_bytes());
    bodies.push([text.as_bytes(), b"\xc0\xa0"].concat());
    bodies
}

/// Everything that is listed, as it stands.
async fn listed(world: &World) -> Vec<String> {
    let mut all = Vec::new();
    for list in [
        "actions",
        "review",
        "tenants",
        "principals",
        "grants",
        "tokens",
        "proposals",
        "destinations",
        "callbacks",
        "corrections",
        "admin/state",
    ] {
        all.push(world.get(&format!("/v1/{list}")).await.text);
    }
    all
}

async fn refused(world: &World, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) {
    let authorization = format!("Bearer {TOKEN}");
    let mut all = vec![("Authorization", authorization.as_str())];
    all.extend_from_slice(headers);
    let answer = exchange(world.address, &request(method, target, &all, body)).await;
    let said = || {
        format!(
            "{method} {target} {headers:?} {}: {answer:?}",
            String::from_utf8_lossy(body)
        )
    };
    assert!((400..500).contains(&answer.status), "{}", said());
    if answer.text.is_empty() {
        // What is no HTTP is refused before there is a call.
        assert!(matches!(answer.status, 400 | 414 | 431), "{}", said());
    } else {
        assert_eq!(
            answer.header("content-type"),
            Some("application/problem+json"),
            "{}",
            said()
        );
        let problem = answer.json();
        assert!(
            problem["code"].is_string() && problem["remedy"].is_string(),
            "{}",
            said()
        );
    }
}

/// What is wrong beside the body. Answers how many requests it were.
async fn around(world: &World, example: &Example) -> usize {
    let json = [("Content-Type", "application/json")];
    let body = example.body.to_string().into_bytes();
    let kinds = [
        "text/plain",
        "application/json; charset=latin1",
        "application/xml",
        "json",
        ";",
    ];
    for kind in kinds {
        let headers = [("Content-Type", kind)];
        refused(world, "POST", &example.target, &headers, &body).await;
    }
    let queries = ["surprise=1", "limit=0", "tenant=%00", "%", "a=1&a=1"];
    for query in queries {
        let target = format!("{}?{query}", example.target);
        refused(world, "POST", &target, &json, &body).await;
    }
    let methods = ["PUT", "PATCH", "DELETE", "TRACE", "QUERY"];
    for method in methods {
        refused(world, method, &example.target, &json, &body).await;
    }
    kinds.len() + queries.len() + methods.len()
}

#[tokio::test]
async fn whatever_is_malformed_is_refused_and_changes_nothing() {
    let world = World::start().await;
    let document = factum_server::openapi::document();
    let known = furnished(&world, &document).await;
    let before = listed(&world).await;
    let mut sent = 0;
    for example in examples(&document, &known) {
        for body in bodies(&document, &example) {
            let json = [("Content-Type", "application/json")];
            refused(&world, "POST", &example.target, &json, &body).await;
            sent += 1;
        }
        sent += around(&world, &example).await;
    }
    for target in [
        "/v1/actions?limit=501",
        "/v1/actions?before=act_",
        "/v1/actions?state=",
        "/v1/nothing",
        "//v1/actions",
        "/v1/actions/%ff",
    ] {
        refused(&world, "GET", target, &[], b"").await;
    }
    let long = format!("/v1/actions?key={}", "k".repeat(100_000));
    refused(&world, "GET", &long, &[], b"").await;
    let header = "x".repeat(300_000);
    refused(&world, "GET", "/v1/actions", &[("X-Long", &header)], b"").await;
    assert!(sent > 400, "{sent} requests");
    assert_eq!(listed(&world).await, before, "something was recorded");
    assert_eq!(world.ledger.arrived(), 1);
}
