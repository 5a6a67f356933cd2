//! JSON as it was written, in one order: sorted members, no white space, numbers untouched.
//!
//! The fingerprint of a submission is taken over this form, so that the same intent written with other spacing or member order
//! is the same intent, and `1.0` is not silently made `1`. Everything that two readers could understand differently (a member
//! twice, a number that no double holds) is refused here, by JSON pointer.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::problem::{Code, Problem};

/// Deepest nesting of a body.
pub const DEPTH_MAX: usize = 64;

/// The members of a JSON object in the order of writing.
pub struct Members<'a>(pub Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

/// The canonical form of a JSON text.
///
/// # Errors
/// F1001 if it is not JSON, F1010 for a number that no finite double holds, F1013 for a member that occurs twice, F1014 for
/// nesting beyond [`DEPTH_MAX`]; each with the JSON pointer below `at`.
pub fn canonical(text: &str, at: &str) -> Result<String, Problem> {
    let mut out = String::with_capacity(text.len());
    write_canonical(text.trim_matches([' ', '\t', '\n', '\r']), at, 0, &mut out)?;
    Ok(out)
}

fn write_canonical(text: &str, at: &str, depth: usize, out: &mut String) -> Result<(), Problem> {
    if depth > DEPTH_MAX {
        let rule = format!("values may be nested {DEPTH_MAX} deep");
        return Err(Problem::new(
            Code::TooDeep,
            at,
            rule,
            "flatten the value, or send it as a string",
        ));
    }
    match text.as_bytes().first() {
        Some(b'{') => write_object(text, at, depth, out),
        Some(b'[') => {
            let items: Vec<&RawValue> = parse(text, at)?;
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_canonical(item.get(), &format!("{at}/{index}"), depth + 1, out)?;
            }
            out.push(']');
            Ok(())
        }
        Some(b'"') => {
            let string: String = parse(text, at)?;
            out.push_str(&quoted(&string));
            Ok(())
        }
        Some(b'-' | b'0'..=b'9') => {
            let _: &RawValue = parse(text, at)?;
            if text.parse::<f64>().is_ok_and(f64::is_finite) {
                out.push_str(text);
                return Ok(());
            }
            let rule = format!(
                "{text} is beyond the range of a double, so readers would disagree about it"
            );
            Err(Problem::new(
                Code::NumberRange,
                at,
                rule,
                "send it as a string, or in a smaller unit",
            ))
        }
        Some(_) | None => {
            let raw: &RawValue = parse(text, at)?;
            out.push_str(raw.get());
            Ok(())
        }
    }
}

fn write_object(text: &str, at: &str, depth: usize, out: &mut String) -> Result<(), Problem> {
    let Members(mut members) = parse(text, at)?;
    members.sort_by(|(a, _), (b, _)| a.cmp(b));
    if let Some(pair) = members.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        let member = format!("{at}/{}", escaped(&pair[0].0));
        return Err(Problem::new(
            Code::DuplicateMember,
            member,
            format!(
                "the member {:?} occurs twice, so readers would disagree about it",
                pair[0].0
            ),
            "send it once",
        ));
    }
    out.push('{');
    for (index, (name, value)) in members.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        out.push_str(&quoted(name));
        out.push(':');
        write_canonical(
            value.get(),
            &format!("{at}/{}", escaped(name)),
            depth + 1,
            out,
        )?;
    }
    out.push('}');
    Ok(())
}

fn parse<'a, T: Deserialize<'a>>(text: &'a str, at: &str) -> Result<T, Problem> {
    serde_json::from_str(text).map_err(|error| malformed(&error, at))
}

fn malformed(error: &serde_json::Error, at: &str) -> Problem {
    Problem::new(
        Code::MalformedJson,
        at,
        format!("the text is not JSON: {error}"),
        "send one JSON value (RFC 8259)",
    )
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// One part of a JSON pointer (RFC 6901).
#[must_use]
pub fn escaped(member: &str) -> String {
    member.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_space_do_not_matter_and_numbers_stay_as_written() {
        let a = canonical(
            " {\"b\" : [1, 2.0,\t-0e5], \"a\":{\"y\":null,\"x\":\"\\u00e9\"} }\n",
            "",
        )
        .unwrap();
        assert_eq!(a, r#"{"a":{"x":"é","y":null},"b":[1,2.0,-0e5]}"#);
        assert_eq!(
            a,
            canonical(&a, "").unwrap(),
            "the canonical form is its own"
        );
        assert_ne!(canonical("1", "").unwrap(), canonical("1.0", "").unwrap());
        assert_eq!(
            canonical("123456789012345678901234567890", "").unwrap(),
            "123456789012345678901234567890"
        );
    }

    #[test]
    fn what_readers_could_take_differently_is_refused_by_pointer() {
        let deep = "[".repeat(70) + &"]".repeat(70);
        let cases = [
            ("{\"a\":{\"b\":1,\"b\":1}}", Code::DuplicateMember, "/a/b"),
            ("{\"a\":[0,1e400]}", Code::NumberRange, "/a/1"),
            ("{\"a/b\":{\"x\":1e999}}", Code::NumberRange, "/a~1b/x"),
            ("{\"a\":1", Code::MalformedJson, ""),
            ("{\"a\":01}", Code::MalformedJson, ""),
            ("nul", Code::MalformedJson, ""),
            ("", Code::MalformedJson, ""),
        ];
        for (text, code, member) in cases {
            let problem = canonical(text, "").unwrap_err();
            assert_eq!((problem.code, &*problem.member), (code, member), "{text}");
        }
        assert_eq!(canonical(&deep, "").unwrap_err().code, Code::TooDeep);
    }
}
