//! The OpenAPI document, made from the table of calls and the schemas. `docs/openapi.json` is this document; a test holds both
//! together.

mod examples;

use std::collections::BTreeMap;

use factum::Code;
use serde_json::{Map, Value, json};

use crate::call::{Call, Doc, Need, Param};
use crate::events::STREAM;
use crate::schema;

/// Problems that any call behind the token may answer with.
const OF_EVERY_CALL: &[Code] = &[
    Code::Unauthorized,
    Code::Forbidden,
    Code::BadQuery,
    Code::StoreUnavailable,
    Code::StoreDamaged,
    Code::StoreFailed,
    Code::RateLimited,
    Code::AnswerTimeout,
];

/// The document.
#[must_use]
pub fn document() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for call in Call::ALL {
        let path = paths.entry(call.path()).or_insert_with(|| json!({}));
        path[call.method().as_str().to_lowercase()] = described(*call);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Factum",
            "summary": "Carries out actions in other people's systems, and knows what can be proved about each of them.",
            "version": env!("CARGO_PKG_VERSION"),
            "license": {"name": "Apache-2.0 OR MIT", "identifier": "Apache-2.0 OR MIT"},
        },
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": schema::components(),
        },
    })
}

/// The document as it is served and kept.
#[must_use]
pub fn text() -> String {
    format!("{:#}\n", document())
}

/// The schema of a submission, as it is kept.
#[must_use]
pub fn submission_text() -> String {
    format!("{:#}\n", schema::submission_document())
}

fn described(call: Call) -> Value {
    let doc = call.doc();
    let mut operation = json!({
        "operationId": doc.name,
        "summary": doc.summary,
        "parameters": parameters(call, doc),
        "responses": responses(call, doc),
    });
    if !doc.says.is_empty() {
        operation["description"] = doc.says.into();
    }
    if let Some((schema, required)) = doc.body {
        let mut content = json!({"schema": reference(schema)});
        if let Some(example) = examples::body(doc.name) {
            content["example"] = example;
        }
        operation["requestBody"] =
            json!({"required": required, "content": {"application/json": content}});
        if call == Call::Submit {
            let event = json!({"schema": reference("CloudEvent"), "example": examples::event()});
            operation["requestBody"]["content"][crate::event::STRUCTURED] = event;
        }
    }
    if call.is_open() {
        operation["security"] = json!([]);
    }
    operation
}

fn reference(schema: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{schema}")})
}

fn parameters(call: Call, doc: &Doc) -> Value {
    let in_path = call
        .path()
        .split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
        .map(|name| {
            // A conversation's id is its caller's; every other is an action's.
            let is_action = name == "id" && !call.path().starts_with("/v1/conversations/");
            let schema = if is_action {
                json!({"type": "string", "pattern": schema::ID_PATTERN})
            } else {
                json!({"type": "string", "minLength": 1})
            };
            let mut parameter =
                json!({"name": name, "in": "path", "required": true, "schema": schema});
            if let Some(example) = examples::path(doc.name, name) {
                parameter["example"] = example.into();
            }
            parameter
        });
    let given = |place: &'static str| {
        move |param: &Param| {
            // What a header says is taken where it is understood, and is no reason to refuse a request.
            let schema = if place == "header" {
                json!({"type": "string"})
            } else {
                param.kind.schema()
            };
            json!({"name": param.name, "in": place, "required": false, "description": param.says, "schema": schema})
        }
    };
    in_path
        .chain(doc.query.iter().map(given("query")))
        .chain(doc.headers.iter().map(given("header")))
        .collect()
}

fn responses(call: Call, doc: &Doc) -> Value {
    let mut responses: Map<String, Value> = Map::new();
    for (status, says, schema) in doc.answers {
        let mut content = json!({"application/json": {"schema": reference(schema)}});
        if call == Call::Events {
            content[STREAM] = json!({"schema": {"type": "string"}});
        }
        responses.insert(
            status.to_string(),
            json!({"description": says, "content": content}),
        );
    }
    let mut by_status: BTreeMap<u16, Vec<Code>> = BTreeMap::new();
    let common = OF_EVERY_CALL.iter().filter(|code| match code {
        Code::Unauthorized | Code::RateLimited => !call.is_open(),
        Code::Forbidden => !matches!(call.need(), Need::Nothing | Need::Token),
        _ => true,
    });
    for code in common.chain(doc.problems) {
        by_status.entry(code.status()).or_default().push(*code);
    }
    for (status, mut codes) in by_status {
        codes.sort_by_key(|code| code.code());
        let says: Vec<String> = codes
            .iter()
            .map(|code| format!("{}: {}", code.code(), code.title()))
            .collect();
        let content = json!({"application/problem+json": {"schema": reference("Problem")}});
        responses.insert(
            status.to_string(),
            json!({"description": says.join("; "), "content": content}),
        );
    }
    responses.into()
}
