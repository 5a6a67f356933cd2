//! Reading the JSON body of a request: what is wrong with it is said by member, rule and remedy.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::canonical::{canonical, escaped};
use crate::problem::{Code, Problem};

/// Reads one JSON object as what a call takes. The members named in `objects` have to be objects too, where they are there; those
/// deeper inside are named with `/` between, as in `limits/count`.
///
/// # Errors
/// F1001, F1002, F1003, F1010, F1013, F1014; each names the member.
pub fn read_object<T: DeserializeOwned>(text: &str, objects: &[&str]) -> Result<T, Problem> {
    objects_only(&canonical(text, "")?, objects)?;
    let mut deserializer = serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize(&mut deserializer).map_err(|error| shape_problem(&error))
}

/// A list in the order of an object's members would be read as that object; nobody means it so.
fn objects_only(canonical_text: &str, objects: &[&str]) -> Result<(), Problem> {
    let refuse = |at: &str| {
        let rule = "an object with named members is expected here";
        Err(Problem::new(Code::WrongType, at, rule, "send an object"))
    };
    if !canonical_text.starts_with('{') {
        return refuse("");
    }
    let whole: Value = serde_json::from_str(canonical_text).map_err(|error| {
        Problem::new(
            Code::MalformedJson,
            "",
            error.to_string(),
            "send one JSON object (RFC 8259)",
        )
    })?;
    for name in objects {
        let pointer = format!("/{name}");
        match whole.pointer(&pointer) {
            None | Some(Value::Object(_) | Value::Null) => {}
            Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
                return refuse(&pointer);
            }
        }
    }
    Ok(())
}

fn shape_problem(error: &serde_path_to_error::Error<serde_json::Error>) -> Problem {
    let text = error.inner().to_string();
    let member = pointer(error.path());
    if error.inner().is_syntax() || error.inner().is_eof() {
        return Problem::new(
            Code::MalformedJson,
            member,
            text,
            "send one JSON object (RFC 8259)",
        );
    }
    let quoted = |prefix: &str| {
        text.strip_prefix(prefix)
            .and_then(|rest| rest.split('`').next())
    };
    if let Some(name) = quoted("unknown field `") {
        let expected = text
            .split("expected ")
            .nth(1)
            .and_then(|rest| rest.split(" at line").next());
        return Problem::new(
            Code::UnknownMember,
            if member.ends_with(&format!("/{}", escaped(name))) {
                member
            } else {
                format!("{member}/{}", escaped(name))
            },
            format!("the member {name:?} is not known here"),
            format!(
                "remove it; known here: {}",
                expected.unwrap_or("others").trim_start_matches("one of ")
            ),
        );
    }
    if let Some(name) = quoted("missing field `") {
        let member = format!("{member}/{}", escaped(name));
        return Problem::new(
            Code::WrongType,
            member,
            format!("the member {name:?} is missing"),
            "add it",
        );
    }
    Problem::new(
        Code::WrongType,
        member,
        text,
        "send the member in the form that the API describes",
    )
}

/// Where an error stands, as a JSON pointer.
fn pointer(path: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment;
    path.iter()
        .map(|segment| match segment {
            Segment::Map { key } => format!("/{}", escaped(key)),
            Segment::Seq { index } => format!("/{index}"),
            Segment::Enum { .. } | Segment::Unknown => String::new(),
        })
        .collect()
}
