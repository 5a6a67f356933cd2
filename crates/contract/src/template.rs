//! Texts with places for values: `/issues/{id}.json`. Level 1 of RFC 6570, and strict: a value never changes the structure
//! of what it is put into.
//!
//! In a path every value is percent-encoded, and refused where a server that decodes too early or too often would see
//! another path. In a header only printable ASCII passes.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use factum_core::Timestamp;
use serde_json::{Map, Value};

use crate::build_error::{BuildError, BuildErrorKind};
use crate::date;
use crate::finding::Complaint;

/// A text with places for values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Place(String),
}

/// The names that never stand for a parameter.
pub(crate) const RESERVED: [&str; 9] = [
    "key",
    "reference",
    "object",
    "cursor",
    "first_sent",
    "first_sent_iso",
    "since",
    "since_unix",
    "since_ms",
];

/// What the places are filled with.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Values<'a> {
    pub(crate) params: Option<&'a Map<String, Value>>,
    pub(crate) key: Option<&'a str>,
    pub(crate) reference: Option<&'a str>,
    pub(crate) object: Option<&'a str>,
    pub(crate) cursor: Option<&'a str>,
    /// When the action was recorded: equal on every attempt, and not later than the first send.
    pub(crate) first_sent: Option<Timestamp>,
    /// Nothing of the action can have arrived before.
    pub(crate) since: Option<Timestamp>,
}

impl Template {
    /// From its text. Braces are always places; there is no way to write a brace itself.
    pub(crate) fn parse(text: &str) -> Result<Self, Complaint> {
        let wrong = |why: &str| {
            let remedy = "write a place as {name}, with a name of a-z, 0-9 and _";
            Complaint::error("template", format!("`{text}` {why}"), remedy)
        };
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, after) = rest.split_at(at);
            if !before.is_empty() {
                pieces.push(Piece::Text(before.to_owned()));
            }
            let inside = after.strip_prefix('{').and_then(|t| t.split_once('}'));
            let (name, after) = inside.ok_or_else(|| wrong("has a brace without its partner"))?;
            if !is_name(name) {
                return Err(wrong("has a place without a proper name"));
            }
            pieces.push(Piece::Place(name.to_owned()));
            rest = after;
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest.to_owned()));
        }
        Ok(Self(pieces))
    }

    /// The names of its places.
    pub(crate) fn names<'a>(&'a self) -> BTreeSet<&'a str> {
        let name = |piece: &'a Piece| match piece {
            Piece::Place(name) => Some(name.as_str()),
            Piece::Text(_) => None,
        };
        self.0.iter().filter_map(name).collect()
    }

    /// Whether it is nothing but one place: then a value can keep its JSON type.
    pub(crate) fn only_place(&self) -> Option<&str> {
        match self.0.as_slice() {
            [Piece::Place(name)] => Some(name),
            _ => None,
        }
    }

    /// What stands between its places, and their names, in order: the one where the other is none.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = (Option<&str>, Option<&str>)> {
        self.0.iter().map(|piece| match piece {
            Piece::Text(text) => (Some(text.as_str()), None),
            Piece::Place(name) => (None, Some(name.as_str())),
        })
    }

    /// Filled as plain text.
    pub(crate) fn fill(&self, values: &Values<'_>) -> Result<String, BuildError> {
        let mut filled = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => filled.push_str(text),
                Piece::Place(name) => filled.push_str(&values.text(name)?),
            }
        }
        Ok(filled)
    }

    /// Filled as the value of a header.
    pub(crate) fn fill_header(&self, values: &Values<'_>) -> Result<String, BuildError> {
        let mut filled = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => filled.push_str(text),
                Piece::Place(name) => {
                    let value = values.text(name)?;
                    if !is_header_text(&value) {
                        let kind = BuildErrorKind::NotHeaderText;
                        return Err(BuildError::new(member(name), kind));
                    }
                    filled.push_str(&value);
                }
            }
        }
        Ok(filled)
    }

    /// Filled as path and query: the query begins at the first `?` of the contract's own text.
    pub(crate) fn fill_path(&self, values: &Values<'_>) -> Result<String, BuildError> {
        let mut filled = String::new();
        let mut in_query = false;
        let mut last_name = None;
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => {
                    in_query |= text.contains('?');
                    filled.push_str(text);
                }
                Piece::Place(name) => {
                    let value = values.text(name)?;
                    if !in_query {
                        if leaves_segment(&value) {
                            return Err(leaves(name));
                        }
                        last_name = Some(name);
                    }
                    encode_into(&mut filled, &value);
                }
            }
        }
        let path = filled.split('?').next().unwrap_or_default();
        // Several places in one segment can add up to a dot segment that none of them is.
        let dots = |segment: &str| segment == "." || segment == "..";
        match last_name {
            Some(name) if path.split('/').any(dots) => Err(leaves(name)),
            _ => Ok(filled),
        }
    }
}

impl Values<'_> {
    /// The value of this name as JSON: parameters keep their type.
    pub(crate) fn json(&self, name: &str) -> Result<Value, BuildError> {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let made = match name {
            "key" => owned(self.key),
            "reference" => owned(self.reference),
            "object" => owned(self.object),
            "cursor" => owned(self.cursor),
            "first_sent" => self.first_sent.map(date::to_http),
            "first_sent_iso" => self.first_sent.map(date::to_rfc3339),
            "since" => self.since.map(date::to_rfc3339),
            "since_unix" => self.since.map(|t| date::to_seconds(t).to_string()),
            "since_ms" => self.since.map(|t| format!("{}000", date::to_seconds(t))),
            _ => {
                let value = self.params.and_then(|params| params.get(name));
                return match value {
                    Some(Value::Null | Value::Array(_) | Value::Object(_)) => {
                        Err(BuildError::new(member(name), BuildErrorKind::NotScalar))
                    }
                    Some(Value::String(text)) if text.is_empty() => {
                        Err(BuildError::new(member(name), BuildErrorKind::Empty))
                    }
                    Some(value) => Ok(value.clone()),
                    None => Err(BuildError::new(member(name), BuildErrorKind::Missing)),
                };
            }
        };
        match made {
            Some(text) if text.is_empty() => {
                Err(BuildError::new(member(name), BuildErrorKind::Empty))
            }
            Some(text) => Ok(Value::String(text)),
            None => Err(BuildError::new(member(name), BuildErrorKind::Missing)),
        }
    }

    /// The value of this name as plain text.
    pub(crate) fn text(&self, name: &str) -> Result<String, BuildError> {
        Ok(match self.json(name)? {
            Value::String(text) => text,
            other => other.to_string(),
        })
    }
}

/// Where a value of this name stands, for errors.
pub(crate) fn member(name: &str) -> String {
    if RESERVED.contains(&name) {
        format!("/{name}")
    } else {
        format!("/params/{name}")
    }
}

fn leaves(name: &str) -> BuildError {
    BuildError::new(member(name), BuildErrorKind::LeavesPath)
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

/// Printable ASCII with no white space at its ends.
pub(crate) fn is_header_text(text: &str) -> bool {
    text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) && text.trim() == text
}

/// Whether a server that decodes the path once, or once more than it should, would see more than one segment, or a dot segment.
fn leaves_segment(value: &str) -> bool {
    let mut text = value.to_owned();
    for _ in 0..3 {
        let breaks = |c: char| c == '/' || c == '\\' || c.is_control();
        if text.is_empty() || text == "." || text == ".." || text.contains(breaks) {
            return true;
        }
        text = decoded(&text);
    }
    false
}

pub(crate) fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let pair = after
            .get(..2)
            .and_then(|pair| std::str::from_utf8(pair).ok());
        let byte = pair
            .filter(|pair| *first == b'%' && pair.bytes().all(|b| b.is_ascii_hexdigit()))
            .and_then(|pair| u8::from_str_radix(pair, 16).ok());
        match byte {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Percent-encodes everything but the unreserved characters of RFC 3986.
pub(crate) fn encode_into(out: &mut String, value: &str) {
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn path(template: &str, value: &str) -> Result<String, BuildErrorKind> {
        let params = Map::from_iter([("a".to_owned(), json!(value))]);
        let values = Values {
            params: Some(&params),
            ..Values::default()
        };
        let template = Template::parse(template).unwrap();
        template.fill_path(&values).map_err(|error| error.kind)
    }

    #[test]
    fn values_stay_in_their_segment() {
        assert_eq!(
            path("/x/{a}/y", "ü b%"),
            Ok("/x/%C3%BC%20b%25/y".to_owned())
        );
        assert_eq!(path("/x/{a}.json", "..."), Ok("/x/....json".to_owned()));
        for value in [
            ".",
            "..",
            "a/b",
            "a\\b",
            "/",
            "%2f",
            "a%2Fb",
            "%2e%2e",
            "%252e",
            "%252F",
            "a\r\nb",
            "\0",
            "%00",
            "%25252e%25252e",
        ] {
            let expected = if value == "%25252e%25252e" {
                // Three times too often is beyond any server that we have heard of.
                Ok("/x/%2525252e%2525252e".to_owned())
            } else {
                Err(BuildErrorKind::LeavesPath)
            };
            assert_eq!(path("/x/{a}", value), expected, "{value:?}");
        }
        assert_eq!(path("/x/{a}", ""), Err(BuildErrorKind::Empty));
        assert_eq!(path("/x/{a}{a}", "."), Err(BuildErrorKind::LeavesPath));
        assert_eq!(path("/x/.{a}", "."), Err(BuildErrorKind::LeavesPath));
    }

    #[test]
    fn a_query_takes_any_value() {
        assert_eq!(
            path("/x?q={a}&r=1", "a/b&c=d#e?f../"),
            Ok("/x?q=a%2Fb%26c%3Dd%23e%3Ff..%2F&r=1".to_owned())
        );
    }

    #[test]
    fn malformed_templates_are_refused() {
        for wrong in [
            "{", "}", "{}", "{a", "a}", "{A}", "{+a}", "{a,b}", "{1}", "{{a}}",
        ] {
            assert!(Template::parse(wrong).is_err(), "{wrong}");
        }
    }
}
