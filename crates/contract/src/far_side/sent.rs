//! The payload of a request that arrived: JSON, a form, parts or the variables of a GraphQL document, as one document.

use serde_json::{Map, Value};

use crate::body::{Body, FormStyle, Lists, Nested};
use crate::compare::form_document;
use crate::http::HttpRequest;

/// The payload as a document; none where there is none, or none of this kind.
pub(crate) fn payload(body: &Body, request: &HttpRequest) -> Option<Value> {
    match body {
        Body::Json => serde_json::from_slice(&request.body).ok(),
        Body::Graphql(_) => {
            let body: Value = serde_json::from_slice(&request.body).ok()?;
            Some(body.get("variables").cloned().unwrap_or_default())
        }
        Body::Form(style) => {
            let fields = form_document(&request.body)?;
            Some(nested(fields.as_object()?, *style))
        }
        Body::Multipart => parts(request),
        Body::Text(_) | Body::Bytes | Body::None => None,
    }
}

/// The fields of a form as the object that they were made from.
fn nested(fields: &Map<String, Value>, style: FormStyle) -> Value {
    let mut document = Value::Object(Map::new());
    for (name, value) in fields {
        let (path, list) = path(name, style);
        let value = match (list, value) {
            (true, Value::Array(_)) => value.clone(),
            (true, one) => Value::Array(vec![one.clone()]),
            (false, value) => value.clone(),
        };
        put(&mut document, &path, value);
    }
    document
}

/// `a[b][0]` as its parts, and whether it ends as a list.
fn path(name: &str, style: FormStyle) -> (Vec<String>, bool) {
    let mut parts: Vec<String> = match style.nested {
        Nested::Dots => name.split('.').map(str::to_owned).collect(),
        Nested::Brackets => name
            .split('[')
            .map(|part| part.strip_suffix(']').unwrap_or(part).to_owned())
            .collect(),
    };
    let list = style.lists == Lists::Brackets && parts.last().is_some_and(String::is_empty);
    if list {
        parts.pop();
    }
    (parts, list)
}

/// Puts a value at these parts; digits lead into lists.
pub(crate) fn put(document: &mut Value, path: &[String], value: Value) {
    let Some((part, rest)) = path.split_first() else {
        *document = value;
        return;
    };
    let index = part.parse::<usize>().ok();
    if let (Some(index), true) = (index, document.is_array() || is_empty(document)) {
        if !document.is_array() {
            *document = Value::Array(Vec::new());
        }
        if let Value::Array(items) = document {
            // Bounded, so that a field's name cannot ask for a list of any length.
            while items.len() <= index.min(PUT_MAX) {
                items.push(Value::Null);
            }
            if let Some(item) = items.get_mut(index) {
                put(item, rest, value);
            }
        }
        return;
    }
    if !document.is_object() {
        *document = Value::Object(Map::new());
    }
    if let Value::Object(members) = document {
        put(
            members.entry(part.clone()).or_insert(Value::Null),
            rest,
            value,
        );
    }
}

/// More items than any contract names.
const PUT_MAX: usize = 1000;

fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_object().is_some_and(Map::is_empty)
}

/// The parts of a body as an object: their texts by name.
fn parts(request: &HttpRequest) -> Option<Value> {
    let mut headers = request.headers.iter();
    let (_, kind) = headers.find(|(name, _)| name == "content-type")?;
    let (_, boundary) = kind.split_once("boundary=")?;
    let text = String::from_utf8_lossy(&request.body).into_owned();
    let mut document = Map::new();
    for part in text.split(&format!("--{}", boundary.trim_matches('"'))) {
        let Some((head, body)) = part.split_once("\r\n\r\n") else {
            continue;
        };
        let Some((_, after)) = head.split_once("name=\"") else {
            continue;
        };
        let name = after.split('"').next().unwrap_or_default();
        let body = body.strip_suffix("\r\n").unwrap_or(body);
        document.insert(name.to_owned(), Value::String(body.to_owned()));
    }
    Some(Value::Object(document))
}
