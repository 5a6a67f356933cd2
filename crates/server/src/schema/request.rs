//! The forms of what is asked: texts of people, names, whole numbers, and bodies whose optional members may be null.

pub(super) use factum::WHOLE_MAX;
use serde_json::{Map, Value, json};

use super::{nullable, object};

/// A character that is neither control nor white space, in a class of a regular expression.
const SEEN: &str =
    r"[^\u0000-\u0020\u007f-\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]";

/// A text in a person's words: not blank, no control characters but line breaks.
pub(super) fn spoken(characters_max: usize) -> Value {
    let any = r"[^\u0000-\u0009\u000b-\u001f\u007f-\u009f]*";
    json!({"type": "string", "minLength": 1, "maxLength": characters_max, "pattern": format!("^{any}{SEEN}{any}$")})
}

/// A name that something is found by: not blank, no control characters. Its length is counted in bytes.
pub(super) fn found_by() -> Value {
    let any = r"[^\u0000-\u001f\u007f-\u009f]*";
    json!({"type": "string", "minLength": 1, "maxLength": factum::KEY_MAX, "pattern": format!("^{any}{SEEN}{any}$")})
}

/// A name that can stand in a path, a configuration and a log.
pub(super) fn name() -> Value {
    let letter = SEEN.trim_end_matches(']');
    let pattern = format!("^{letter}/?#%*]+$");
    json!({
        "type": "string", "minLength": 1, "maxLength": factum::directory::NAME_MAX, "pattern": pattern, "not": {"enum": [".", ".."]},
    })
}

/// A whole number within these bounds.
pub(super) fn whole(least: u64, most: u64) -> Value {
    json!({"type": "integer", "minimum": least, "maximum": most})
}

/// A body: what may be left out may be null too, and means the same.
pub(super) fn body(members: &[(&str, Value, bool)], says: &str) -> Value {
    let members: Vec<(&str, Value, bool)> = members
        .iter()
        .map(|(name, schema, always)| {
            let schema = if *always {
                schema.clone()
            } else {
                or_null(schema.clone())
            };
            (*name, schema, *always)
        })
        .collect();
    object(&members, says)
}

/// The schema with null beside it; its description stays outside, where it is read.
fn or_null(mut schema: Value) -> Value {
    let description = schema
        .as_object_mut()
        .and_then(|members: &mut Map<String, Value>| members.remove("description"));
    let is_object = schema["type"] == "object";
    let mut either = nullable(schema);
    if let Some(description) = description {
        // An object keeps what it says of itself.
        if is_object {
            either["anyOf"][0]["description"] = description.clone();
        }
        either["description"] = description;
    }
    either
}
