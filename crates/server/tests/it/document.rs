//! The documents that are kept are the ones that the code makes, and they describe what is really read and written.

use std::collections::BTreeSet;
use std::path::Path;

use factum::Submission;
use serde_json::{Value, json};

use crate::conforms::valid;
use crate::world::World;

fn is_fresh(path: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(path);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(&path, text).expect("written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == text,
        "{} is stale: run the tests with UPDATE_DOCS=1",
        path.display()
    );
}

#[test]
fn the_kept_documents_are_fresh() {
    is_fresh("openapi.json", &factum_server::openapi::text());
    is_fresh(
        "schema/submission.json",
        &factum_server::openapi::submission_text(),
    );
}

#[test]
fn names_are_unique_and_references_resolve() {
    let document = factum_server::openapi::document();
    let mut names = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for (method, call) in methods.as_object().expect("methods") {
            let name = call["operationId"].as_str().expect("a name");
            assert!(names.insert(name.to_owned()), "{name} occurs twice");
            assert!(
                call["summary"]
                    .as_str()
                    .is_some_and(|text| text.ends_with('.')),
                "{method} {path}"
            );
        }
    }
    fn references(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                found.extend(
                    members
                        .get("$ref")
                        .and_then(Value::as_str)
                        .map(str::to_owned),
                );
                members
                    .values()
                    .for_each(|member| references(member, found));
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let mut found = Vec::new();
    references(&document, &mut found);
    let used: BTreeSet<&str> = found
        .iter()
        .filter_map(|text| text.strip_prefix("#/components/schemas/"))
        .collect();
    let known: BTreeSet<&str> = document["components"]["schemas"]
        .as_object()
        .expect("schemas")
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(
        used, known,
        "every schema is used, and every one that is used exists"
    );
}

/// A submission with every member, in two halves for the two forms of identity.
fn full() -> Value {
    json!({
        "destination": "crm", "operation": "contact.add", "another": true, "params": {"brand": "acme"}, "payload": {"n": "1"},
        "summary": "one line", "subject": "ticket/77", "for": "user:ana", "conversation": {"id": "conv-91", "turn": 14, "asked": "please"}, "locale": "de-AT",
        "deadline": "2099-01-02T00:00:00Z", "not_before": "2099-01-01T00:00:00Z", "intent_at": "2026-01-01T00:00:00Z",
        "trace": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "key": "k", "event": {"source": "shop", "id": "e1"}, "effect": "ticket",
    })
}

#[tokio::test]
async fn the_schema_of_a_submission_is_what_is_read() {
    let schema = factum_server::schema::submission_document();
    let described: BTreeSet<String> = schema["properties"]
        .as_object()
        .expect("members")
        .keys()
        .cloned()
        .collect();
    let read = Submission::from_json(&full().to_string()).expect("every member is known");
    let written = serde_json::to_value(&read).expect("JSON");
    let members: BTreeSet<String> = written
        .as_object()
        .expect("an object")
        .keys()
        .cloned()
        .collect();
    assert_eq!(described, members);

    let world = World::start().await;
    let without = |names: &[&str]| {
        let mut body = full();
        names
            .iter()
            .for_each(|name| drop(body.as_object_mut().expect("an object").remove(*name)));
        body
    };
    let right = [without(&["event", "effect"]), without(&["key"])];
    for body in &right {
        assert_eq!(valid(&Value::Null, &schema, body, ""), Ok(()));
        assert_eq!(world.post("/v1/actions", body).await.status, 201);
    }
    for body in [
        full(),
        without(&["key", "effect"]),
        without(&["event", "effect", "operation"]),
    ] {
        assert!(valid(&Value::Null, &schema, &body, "").is_err(), "{body}");
        assert_eq!(world.post("/v1/actions", &body).await.status, 400);
    }
}

#[tokio::test]
async fn the_document_is_served_as_it_is_kept() {
    let world = World::start().await;
    let answer = world.get("/openapi.json").await;
    assert_eq!(answer.text, factum_server::openapi::text());
    assert_eq!(answer.json()["openapi"], "3.1.0");
}
