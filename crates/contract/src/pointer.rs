//! JSON pointers (RFC 6901), with `*` for "any element" where a contract reads, and `-` for "a new last element" where it writes.

use std::fmt;

use serde_json::Value;

use crate::finding::Complaint;
use crate::source::child;

/// A pointer into a JSON document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pointer(Vec<String>);

impl Pointer {
    /// From its text: empty, or parts that each begin with `/`.
    pub(crate) fn parse(text: &str) -> Result<Self, Complaint> {
        let wrong = |why: &str| {
            Complaint::error(
                "pointer",
                format!("`{text}` {why}"),
                "write a JSON pointer: \"/error/code\", with ~1 for / and ~0 for ~",
            )
        };
        if text.is_empty() {
            return Ok(Self(Vec::new()));
        }
        let Some(rest) = text.strip_prefix('/') else {
            return Err(wrong("does not begin with a slash"));
        };
        let part = |part: &str| {
            let escapes_end = part
                .split('~')
                .skip(1)
                .all(|after| after.starts_with(['0', '1']));
            escapes_end.then(|| part.replace("~1", "/").replace("~0", "~"))
        };
        let parts: Option<Vec<_>> = rest.split('/').map(part).collect();
        parts
            .map(Self)
            .ok_or_else(|| wrong("has a ~ that is neither ~0 nor ~1"))
    }

    /// To a member of the whole document.
    pub(crate) fn member(name: &str) -> Self {
        Self(vec![name.to_owned()])
    }

    /// Its parts, unescaped.
    pub(crate) fn parts(&self) -> &[String] {
        &self.0
    }

    /// The pointer to what holds its part of this number.
    pub(crate) fn parent_of(&self, part: usize) -> Self {
        Self(self.0.iter().take(part).cloned().collect())
    }

    /// Whether it means several places.
    pub(crate) fn has_wildcard(&self) -> bool {
        self.0.iter().any(|part| part == "*")
    }

    /// The values that it points at: at most one without `*`.
    pub(crate) fn all<'v>(&self, document: &'v Value) -> Vec<&'v Value> {
        let mut found = vec![document];
        for part in &self.0 {
            found = found.into_iter().flat_map(|at| step(at, part)).collect();
        }
        found
    }

    /// The value that it points at; the first one where it means several.
    pub(crate) fn get<'v>(&self, document: &'v Value) -> Option<&'v Value> {
        self.all(document).into_iter().next()
    }

    /// The text or number that it points at, as text; none where there is another thing, or an empty text.
    pub(crate) fn text(&self, document: &Value) -> Option<String> {
        self.get(document).and_then(text_of)
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self
            .0
            .iter()
            .fold(String::new(), |path, part| child(&path, part));
        f.write_str(&path)
    }
}

fn step<'v>(at: &'v Value, part: &str) -> Vec<&'v Value> {
    match at {
        Value::Array(items) if part == "*" => items.iter().collect(),
        Value::Array(items) => index(part)
            .and_then(|index| items.get(index))
            .into_iter()
            .collect(),
        Value::Object(members) => members.get(part).into_iter().collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

/// The index that a part means: digits without a leading zero.
pub(crate) fn index(part: &str) -> Option<usize> {
    let plain = part == "0" || !part.starts_with(['0', '+']);
    plain.then(|| part.parse().ok()).flatten()
}

/// A text that is not empty, or a number as it is written.
pub(crate) fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pointer: &str, document: &str) -> Vec<String> {
        let document: Value = serde_json::from_str(document).unwrap();
        let pointer = Pointer::parse(pointer).unwrap();
        let values = pointer.all(&document);
        values.into_iter().map(Value::to_string).collect()
    }

    #[test]
    fn parts_lead_to_values() {
        assert_eq!(found("", "1"), ["1"]);
        assert_eq!(found("/a/1", r#"{"a":[7,8]}"#), ["8"]);
        assert_eq!(found("/a/01", r#"{"a":[7,8]}"#), [""; 0]);
        assert_eq!(found("/a~1b/~0", r#"{"a/b":{"~":3}}"#), ["3"]);
        assert_eq!(found("/*/v", r#"[{"v":1},{"w":2},{"v":3}]"#), ["1", "3"]);
        assert_eq!(found("/a/b/c", r#"{"a":"text"}"#), [""; 0]);
        assert_eq!(found("/", r#"{"":5}"#), ["5"]);
    }

    #[test]
    fn malformed_pointers_are_refused() {
        for wrong in ["a", "/a~", "/~2", "#/a"] {
            assert!(Pointer::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn numbers_are_taken_as_written() {
        let document: Value = serde_json::from_str(r#"{"id":12345678901234567890123}"#).unwrap();
        let pointer = Pointer::parse("/id").unwrap();
        assert_eq!(
            pointer.text(&document).as_deref(),
            Some("12345678901234567890123")
        );
    }
}
