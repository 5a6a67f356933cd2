//! Setting members in a JSON text without rewriting the rest of it.
//!
//! The caller's bytes are the intent: numbers stay as they are written, members stay in their order, white space stays.
//! Only the new member's text is inserted, at the end of its object or list. Objects that are missing on the way are
//! made; nothing that is there is ever replaced.

use std::collections::BTreeSet;
use std::fmt;

use serde::Deserializer as _;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::build_error::{BuildError, BuildErrorKind as Kind};
use crate::pointer::{Pointer, index};
use crate::source::child;

/// Whether this is one JSON value, and nothing else, in UTF-8.
pub(crate) fn is_json(bytes: &[u8]) -> bool {
    serde_json::from_slice::<&RawValue>(bytes).is_ok()
}

/// The text with `value` (a JSON text) set at `at`.
///
/// # Errors
/// The text is not JSON, or there is no free and unambiguous place for the member.
pub(crate) fn set(text: &str, at: &Pointer, value: &str) -> Result<String, BuildError> {
    let not_json = || BuildError::new("/payload", Kind::NotJson);
    let root: &RawValue = serde_json::from_str(text).map_err(|_| not_json())?;
    let mut here = root;
    let mut path = String::from("/payload");
    let mut parts = at.parts();
    while let [part, rest @ ..] = parts {
        path = child(&path, part);
        let fail = |kind| Err(BuildError::new(path.clone(), kind));
        let found = match Inside::of(here).ok_or_else(not_json)? {
            Inside::Plain => return fail(Kind::NoPlace),
            Inside::List(items) if part == "-" => {
                let empty = items.is_empty();
                return Ok(insert(text, here, empty, &nested(rest, value)));
            }
            Inside::List(items) => index(part).and_then(|index| items.get(index).copied()),
            Inside::Object { repeated, .. } if repeated.contains(part) => {
                return fail(Kind::Ambiguous);
            }
            Inside::Object { members, .. } => {
                let member = members.iter().find(|(name, _)| name == part);
                if member.is_none() {
                    let member = format!("{}:{}", quoted(part), nested(rest, value));
                    return Ok(insert(text, here, members.is_empty(), &member));
                }
                member.map(|(_, value)| *value)
            }
        };
        match found {
            Some(value) => here = value,
            None => return fail(Kind::NoPlace),
        }
        parts = rest;
    }
    Err(BuildError::new(path, Kind::Taken))
}

/// The value within the objects and lists that are missing around it.
fn nested(parts: &[String], value: &str) -> String {
    parts.iter().rev().fold(value.to_owned(), |inner, part| {
        if part == "-" {
            format!("[{inner}]")
        } else {
            format!("{{{}:{inner}}}", quoted(part))
        }
    })
}

/// Inserts before the closing bracket of `container`, which is a part of `text`.
fn insert(text: &str, container: &RawValue, empty: bool, member: &str) -> String {
    let inner = container.get();
    // `container` was read from `text` without copying, so the distance of their beginnings is its place in it.
    let start = inner.as_ptr().addr() - text.as_ptr().addr();
    let end = start + inner.len() - 1;
    // White space before the bracket stays after the new member.
    let at = start + inner[..inner.len() - 1].trim_end().len();
    let comma = if empty { "" } else { "," };
    debug_assert!(at <= end, "the closing bracket is never white space");
    format!("{}{comma}{member}{}", &text[..at], &text[at..])
}

fn quoted(text: &str) -> String {
    serde_json::Value::String(text.to_owned()).to_string()
}

/// What a JSON value is made of, one level deep.
enum Inside<'a> {
    Object {
        members: Vec<(String, &'a RawValue)>,
        repeated: BTreeSet<String>,
    },
    List(Vec<&'a RawValue>),
    Plain,
}

impl<'a> Inside<'a> {
    fn of(value: &'a RawValue) -> Option<Self> {
        if !value.get().starts_with(['{', '[']) {
            return Some(Self::Plain);
        }
        let mut reader = serde_json::Deserializer::from_str(value.get());
        reader.deserialize_any(InsideVisitor).ok()
    }
}

struct InsideVisitor;

impl<'de> Visitor<'de> for InsideVisitor {
    type Value = Inside<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or a list")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members: Vec<(String, &'de RawValue)> = Vec::new();
        let mut names = BTreeSet::new();
        let mut repeated = BTreeSet::new();
        while let Some((name, value)) = map.next_entry::<String, &'de RawValue>()? {
            if !names.insert(name.clone()) {
                repeated.insert(name.clone());
            }
            members.push((name, value));
        }
        Ok(Inside::Object { members, repeated })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element::<&'de RawValue>()? {
            items.push(item);
        }
        Ok(Inside::List(items))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set_at(text: &str, at: &str, value: &str) -> Result<String, (String, Kind)> {
        let at = Pointer::parse(at).unwrap();
        set(text, &at, value).map_err(|error| (error.member, error.kind))
    }

    #[test]
    fn the_rest_stays_as_it_is_written() {
        let rows = [
            ("{}", "/a", "{\"a\":1}"),
            (" { } ", "/a", " {\"a\":1 } "),
            (
                "{\"n\": 1.10e+400,\n  \"m\":9007199254740993\n}",
                "/a",
                "{\"n\": 1.10e+400,\n  \"m\":9007199254740993,\"a\":1\n}",
            ),
            ("{\"t\":{\"x\":0}}", "/t/a", "{\"t\":{\"x\":0,\"a\":1}}"),
            ("{}", "/t/l/-", "{\"t\":{\"l\":[1]}}"),
            ("{\"l\":[]}", "/l/-", "{\"l\":[1]}"),
            ("{\"l\":[ {\"z\":2} ]}", "/l/-", "{\"l\":[ {\"z\":2},1 ]}"),
            ("{\"l\":[{}]}", "/l/0/a", "{\"l\":[{\"a\":1}]}"),
            ("{\"a}\":\"}\"}", "/b", "{\"a}\":\"}\",\"b\":1}"),
            ("{}", "/a~1\"", "{\"a/\\\"\":1}"),
        ];
        for (text, at, expected) in rows {
            assert_eq!(
                set_at(text, at, "1"),
                Ok(expected.to_owned()),
                "{text} {at}"
            );
        }
    }

    #[test]
    fn nothing_is_replaced_or_guessed() {
        let rows = [
            ("{\"a\":null}", "/a", "/payload/a", Kind::Taken),
            ("{\"\\u0061\":2}", "/a", "/payload/a", Kind::Taken),
            ("{\"t\":3}", "/t/a", "/payload/t/a", Kind::NoPlace),
            ("[]", "/a", "/payload/a", Kind::NoPlace),
            ("[]", "/0/a", "/payload/0", Kind::NoPlace),
            ("\"text\"", "/a", "/payload/a", Kind::NoPlace),
            ("{\"t\":{},\"t\":{}}", "/t/a", "/payload/t", Kind::Ambiguous),
            ("{\"a\":1", "/b", "/payload", Kind::NotJson),
            ("", "/b", "/payload", Kind::NotJson),
            ("{} {}", "/b", "/payload", Kind::NotJson),
        ];
        for (text, at, member, kind) in rows {
            let expected = Err((member.to_owned(), kind));
            assert_eq!(set_at(text, at, "1"), expected, "{text} {at}");
        }
    }

    #[test]
    fn json_is_one_value_in_utf8() {
        assert!(is_json(b" {\"a\":1} "));
        for wrong in [&b""[..], b"{", b"1 2", b"\"\xff\"", b"{'a':1}", b"NaN"] {
            assert!(!is_json(wrong), "{wrong:?}");
        }
    }
}
