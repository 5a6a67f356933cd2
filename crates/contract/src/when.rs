//! Conditions over an answer: status, headers, members of a JSON body.
//!
//! What is not there fails every condition but absence, and a body that is not JSON, or was cut, fails absence too: it
//! says nothing.

use std::ops::RangeInclusive;

use serde_json::{Number, Value};

use crate::http::HttpAnswer;
use crate::pointer::Pointer;

/// All of its parts have to hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct When {
    pub(crate) status: Option<StatusSet>,
    pub(crate) headers: Vec<HeaderTest>,
    pub(crate) json: Vec<JsonTest>,
}

/// Status codes: any of the ranges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StatusSet(pub(crate) Vec<RangeInclusive<u16>>);

/// A header is there, and has this value if one is named. Names in lower case; values compared without regard to case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HeaderTest {
    pub(crate) name: String,
    pub(crate) equals: Option<String>,
}

/// Something holds at a place of a JSON document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JsonTest {
    pub(crate) at: Pointer,
    pub(crate) test: Test,
}

/// What can hold at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Test {
    /// It is one of these.
    OneOf(Vec<Scalar>),
    /// It is there and not null.
    Exists,
    /// It is not there, or null.
    Absent,
    /// It is of this type.
    Type(JsonType),
}

/// A plain value to compare with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Scalar {
    Text(String),
    Integer(i64),
    Flag(bool),
}

/// The types of JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JsonType {
    Text,
    Number,
    Flag,
    List,
    Object,
    Null,
}

/// An answer whose body was read as JSON, once.
#[derive(Debug)]
pub(crate) struct Seen<'a> {
    pub(crate) answer: &'a HttpAnswer,
    pub(crate) json: Option<Value>,
}

impl<'a> Seen<'a> {
    pub(crate) fn new(answer: &'a HttpAnswer) -> Self {
        let whole = !answer.truncated;
        let json = whole.then(|| serde_json::from_slice(&answer.body).ok());
        Self {
            answer,
            json: json.flatten(),
        }
    }

    pub(crate) fn text(&self, at: &Pointer) -> Option<String> {
        at.text(self.json.as_ref()?)
    }
}

impl When {
    /// Whether it holds for this answer.
    pub(crate) fn holds(&self, seen: &Seen<'_>) -> bool {
        let status = self.status.as_ref();
        status.is_none_or(|set| set.contains(seen.answer.status))
            && self.headers.iter().all(|test| test.holds(seen.answer))
            && self.json_holds(seen.json.as_ref())
    }

    fn json_holds(&self, document: Option<&Value>) -> bool {
        let holds = |document| self.json.iter().all(|test| test.holds(document));
        self.json.is_empty() || document.is_some_and(holds)
    }

    /// Whether nothing but the status is looked at.
    pub(crate) fn by_status_alone(&self) -> bool {
        self.headers.is_empty() && self.json.is_empty()
    }

    /// Whether it is certain that whatever `later` holds for, this holds for too.
    pub(crate) fn covers(&self, later: &When) -> bool {
        let status = match (&self.status, &later.status) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(mine), Some(theirs)) => theirs.0.iter().all(|part| mine.contains_all(part)),
        };
        status
            && self.headers.iter().all(|test| later.headers.contains(test))
            && self.json.iter().all(|test| later.json.contains(test))
    }
}

impl StatusSet {
    pub(crate) fn contains(&self, status: u16) -> bool {
        self.0.iter().any(|range| range.contains(&status))
    }

    fn contains_all(&self, part: &RangeInclusive<u16>) -> bool {
        let within = |r: &RangeInclusive<u16>| r.start() <= part.start() && part.end() <= r.end();
        self.0.iter().any(within)
    }

    /// Whether every code lies within these bounds.
    pub(crate) fn within(&self, least: u16, most: u16) -> bool {
        let inside = |r: &RangeInclusive<u16>| *r.start() >= least && *r.end() <= most;
        self.0.iter().all(inside)
    }

    /// Whether any code lies within these bounds.
    pub(crate) fn meets(&self, least: u16, most: u16) -> bool {
        let touches = |r: &RangeInclusive<u16>| *r.start() <= most && *r.end() >= least;
        self.0.iter().any(touches)
    }
}

impl HeaderTest {
    fn holds(&self, answer: &HttpAnswer) -> bool {
        let mut values = answer
            .headers
            .iter()
            .filter(|(name, _)| *name == self.name)
            .map(|(_, value)| value.trim());
        match &self.equals {
            Some(wanted) => values.any(|value| value.eq_ignore_ascii_case(wanted)),
            None => values.next().is_some(),
        }
    }
}

impl JsonTest {
    /// Whether it holds for this document. With `*` in the place, for any of the elements; absence, for all of them.
    pub(crate) fn holds(&self, document: &Value) -> bool {
        let found = self.at.all(document);
        let mut found = found.into_iter();
        match &self.test {
            Test::OneOf(wanted) => found.any(|value| wanted.iter().any(|w| w.equals(value))),
            Test::Exists => found.any(|value| !value.is_null()),
            Test::Absent => found.all(Value::is_null),
            Test::Type(wanted) => found.any(|value| wanted.is(value)),
        }
    }
}

impl Scalar {
    /// Equality by value; a number has to be written as an integer to equal one.
    fn equals(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Text(wanted), Value::String(text)) => wanted == text,
            (Self::Integer(wanted), Value::Number(number)) => integer(number) == Some(*wanted),
            (Self::Flag(wanted), Value::Bool(flag)) => wanted == flag,
            (Self::Text(_) | Self::Integer(_) | Self::Flag(_), _) => false,
        }
    }
}

fn integer(number: &Number) -> Option<i64> {
    number.to_string().parse().ok()
}

impl JsonType {
    fn is(self, value: &Value) -> bool {
        match self {
            Self::Text => value.is_string(),
            Self::Number => value.is_number(),
            Self::Flag => value.is_boolean(),
            Self::List => value.is_array(),
            Self::Object => value.is_object(),
            Self::Null => value.is_null(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(test: Test, at: &str, document: &str) -> bool {
        let at = Pointer::parse(at).unwrap();
        JsonTest { at, test }.holds(&serde_json::from_str(document).unwrap())
    }

    #[test]
    fn tests_look_at_values_of_their_own_type() {
        let one_of = |scalar| Test::OneOf(vec![scalar]);
        let rows = [
            (one_of(Scalar::Flag(true)), "/ok", r#"{"ok":true}"#, true),
            (one_of(Scalar::Flag(true)), "/ok", r#"{"ok":"true"}"#, false),
            (one_of(Scalar::Integer(1)), "/n", r#"{"n":1}"#, true),
            (one_of(Scalar::Integer(1)), "/n", r#"{"n":1.0}"#, false),
            (one_of(Scalar::Integer(1)), "/n", r#"{"n":"1"}"#, false),
            (
                one_of(Scalar::Text("a".to_owned())),
                "/l/*",
                r#"{"l":["b","a"]}"#,
                true,
            ),
            (Test::Exists, "/e", r#"{"e":null}"#, false),
            (Test::Exists, "/e", r#"{"e":0}"#, true),
            (Test::Absent, "/e", r#"{"e":null}"#, true),
            (Test::Absent, "/e", "[]", true),
            (Test::Absent, "/l/*/e", r#"{"l":[{"e":1},{}]}"#, false),
            (Test::Type(JsonType::Null), "/e", r#"{"e":null}"#, true),
            (Test::Type(JsonType::List), "", "[]", true),
        ];
        for (test, at, document, expected) in rows {
            let shown = format!("{test:?} {at} {document}");
            assert_eq!(holds(test, at, document), expected, "{shown}");
        }
    }

    #[test]
    fn a_cut_or_foreign_body_fails_even_absence() {
        let when = When {
            json: vec![JsonTest {
                at: Pointer::parse("/error").unwrap(),
                test: Test::Absent,
            }],
            ..When::default()
        };
        let answer = |body: &str, truncated| HttpAnswer {
            status: 200,
            body: body.as_bytes().to_vec(),
            truncated,
            ..HttpAnswer::default()
        };
        assert!(when.holds(&Seen::new(&answer("{}", false))));
        assert!(!when.holds(&Seen::new(&answer("{}", true))));
        assert!(!when.holds(&Seen::new(&answer("<html>", false))));
        assert!(!when.holds(&Seen::new(&answer("", false))));
    }
}
