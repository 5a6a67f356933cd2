//! Whether an answer is as the OpenAPI document says: a validator of the few words of JSON Schema that the document uses.

use serde_json::Value;

use crate::pattern::matches;

/// Holds an answer against the document. `path` is the template.
pub(crate) fn check(document: &Value, method: &str, path: &str, status: u16, answer: &Value) {
    let responses = &document["paths"][path][method.to_lowercase()]["responses"];
    let response = &responses[status.to_string()];
    assert!(
        response.is_object(),
        "{method} {path} is not said to answer {status}: {answer}"
    );
    let kind = if status < 400 {
        "application/json"
    } else {
        "application/problem+json"
    };
    let schema = &response["content"][kind]["schema"];
    assert!(
        schema.is_object(),
        "{method} {path} {status} has no schema for {kind}"
    );
    if let Err(why) = valid(document, schema, answer, "") {
        panic!("{method} {path} {status}: {why}\n{answer:#}");
    }
}

/// The template of a path.
pub(crate) fn template(document: &Value, path: &str) -> String {
    let parts: Vec<&str> = path.split('/').collect();
    let fits = |template: &&String| {
        let wanted: Vec<&str> = template.split('/').collect();
        wanted.len() == parts.len()
            && wanted
                .iter()
                .zip(&parts)
                .all(|(wanted, part)| wanted == part || wanted.starts_with('{'))
    };
    let paths = document["paths"].as_object().expect("paths");
    paths
        .keys()
        .find(fits)
        .unwrap_or_else(|| panic!("{path} is not in the document"))
        .clone()
}

/// Whether a value is as a schema says.
pub(crate) fn valid(
    document: &Value,
    schema: &Value,
    value: &Value,
    at: &str,
) -> Result<(), String> {
    for (word, wanted) in schema.as_object().expect("a schema is an object") {
        let right = match word.as_str() {
            "$ref" => {
                let pointer = wanted
                    .as_str()
                    .and_then(|text| text.strip_prefix('#'))
                    .expect("a local reference");
                let target = document
                    .pointer(pointer)
                    .unwrap_or_else(|| panic!("no schema at {pointer}"));
                valid(document, target, value, at)?;
                true
            }
            "type" => is_of(wanted.as_str().expect("a type"), value),
            "enum" => wanted.as_array().expect("words").contains(value),
            "minLength" => length(value) >= wanted.as_u64(),
            "maxLength" => length(value) <= wanted.as_u64(),
            "minimum" => value.as_f64() >= wanted.as_f64(),
            "maximum" => value.as_f64() <= wanted.as_f64(),
            "pattern" => value
                .as_str()
                .is_some_and(|text| matches(wanted.as_str().expect("a pattern"), text)),
            "anyOf" => wanted
                .as_array()
                .expect("schemas")
                .iter()
                .any(|schema| valid(document, schema, value, at).is_ok()),
            "minItems" => value.as_array().map(|items| items.len() as u64) >= wanted.as_u64(),
            "not" => valid(document, wanted, value, at).is_err(),
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    valid(document, wanted, item, &format!("{at}/{index}"))?;
                }
                true
            }
            "required" => {
                let names = wanted
                    .as_array()
                    .expect("names")
                    .iter()
                    .filter_map(Value::as_str);
                names.into_iter().all(|name| value.get(name).is_some())
            }
            "properties" | "additionalProperties" => {
                members(document, schema, value, at)?;
                true
            }
            "format" => {
                assert_eq!(wanted, "date-time");
                value
                    .as_str()
                    .is_some_and(|text| factum::parse_instant("", text).is_ok())
            }
            "description" | "title" | "$id" | "$schema" => true,
            other => panic!("the validator does not know {other}"),
        };
        if !right {
            return Err(format!("{at}: {word} wants {wanted}, and it is {value}"));
        }
    }
    Ok(())
}

fn members(document: &Value, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    for (name, member) in value.as_object().into_iter().flatten() {
        let at = format!("{at}/{name}");
        match (
            schema["properties"].get(name),
            &schema["additionalProperties"],
        ) {
            (Some(known), _) => valid(document, known, member, &at)?,
            (None, Value::Bool(false)) => return Err(format!("{at} is not described")),
            (None, Value::Object(_)) => {
                valid(document, &schema["additionalProperties"], member, &at)?
            }
            (None, _) => {}
        }
    }
    Ok(())
}

fn length(value: &Value) -> Option<u64> {
    value.as_str().map(|text| text.chars().count() as u64)
}

fn is_of(kind: &str, value: &Value) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "null" => value.is_null(),
        other => panic!("the validator does not know the type {other}"),
    }
}

#[test]
fn the_validator_finds_what_does_not_conform() {
    let schema = serde_json::json!({
        "type": "object", "required": ["id"], "additionalProperties": false,
        "properties": {"id": {"type": "string", "pattern": "^a_[0-9a-c]{2}$"}, "n": {"anyOf": [{"type": "null"}, {"type": "integer", "minimum": 1}]}},
    });
    let right = |text: &str| {
        valid(
            &Value::Null,
            &schema,
            &serde_json::from_str(text).unwrap(),
            "",
        )
        .is_ok()
    };
    assert!(
        right(r#"{"id":"a_1b"}"#)
            && right(r#"{"id":"a_1b","n":null}"#)
            && right(r#"{"id":"a_1b","n":4}"#)
    );
    for text in [
        r#"{}"#,
        r#"{"id":"a_1d"}"#,
        r#"{"id":"a_1bb"}"#,
        r#"{"id":"a_1b","n":0}"#,
        r#"{"id":"a_1b","x":1}"#,
        "[]",
    ] {
        assert!(!right(text), "{text}");
    }
}
