//! Conditions over an answer: status, headers, members of a JSON body.
//!
//! What is not there fails every condition but absence, and a body that is not JSON, or was cut, fails absence too: it
//! says nothing.

use std::ops::RangeInclusive;

use serde_json::{Number, Value};

use crate::http::HttpAnswer;
use crate::pointer::{Pointer, text_of};

/// All of its parts have to hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct When {
    pub(crate) status: Option<StatusSet>,
    pub(crate) headers: Vec<HeaderTest>,
    pub(crate) json: Vec<JsonTest>,
    pub(crate) text: Vec<TextTest>,
    pub(crate) graphql: Option<Graphql>,
}

/// How a GraphQL answer stands, as its specification has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Graphql {
    /// There is `data`, and no error at all.
    Ok,
    /// There are errors and no member `data`: the request was refused before any field was run.
    RequestError,
    /// There are errors beside a member `data`, null included: fields were run.
    FieldError,
}

/// Something holds for a body that is read as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TextTest {
    Contains(String),
    StartsWith(String),
}

/// Status codes: any of the ranges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StatusSet(pub(crate) Vec<RangeInclusive<u16>>);

/// Something holds for a header. Names in lower case; values compared without regard to case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HeaderTest {
    pub(crate) name: String,
    /// One of the tests that a text can meet.
    pub(crate) test: Test,
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
    /// It is there, and it is none of these.
    NoneOf(Vec<Scalar>),
    /// It is a list of so many elements.
    Length(usize),
    /// It is a text, a list or an object with something in it.
    NotEmpty,
    /// It is a text that holds this one.
    Contains(String),
    /// It is a text that begins so.
    StartsWith(String),
    /// It is one of these statuses, as a number or as its digits: an item of a batch has one of its own.
    Status(StatusSet),
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

    /// The body as text, if it is one and was read to its end.
    pub(crate) fn body_text(&self) -> Option<&'a str> {
        let whole = !self.answer.truncated;
        whole
            .then(|| std::str::from_utf8(&self.answer.body).ok())
            .flatten()
    }
}

impl When {
    /// Whether it holds for this answer.
    pub(crate) fn holds(&self, seen: &Seen<'_>) -> bool {
        let status = self.status.as_ref();
        status.is_none_or(|set| set.contains(seen.answer.status))
            && self.headers.iter().all(|test| test.holds(seen.answer))
            && self.json_holds(seen.json.as_ref())
            && self.text_holds(seen)
            && self
                .graphql
                .is_none_or(|wanted| Graphql::of(seen) == Some(wanted))
    }

    fn text_holds(&self, seen: &Seen<'_>) -> bool {
        let holds = |text: &str| self.text.iter().all(|test| test.holds(text));
        self.text.is_empty() || seen.body_text().is_some_and(holds)
    }

    fn json_holds(&self, document: Option<&Value>) -> bool {
        let holds = |document| self.json.iter().all(|test| test.holds(document));
        self.json.is_empty() || document.is_some_and(holds)
    }

    /// Whether nothing but the status is looked at.
    pub(crate) fn by_status_alone(&self) -> bool {
        let unread = self.text.is_empty() && self.graphql.is_none();
        self.headers.is_empty() && self.json.is_empty() && unread
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
            && self.text.iter().all(|test| later.text.contains(test))
            && (self.graphql.is_none() || self.graphql == later.graphql)
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

impl Graphql {
    /// None where the answer is not GraphQL's: another body than an object, errors that are no list.
    fn of(seen: &Seen<'_>) -> Option<Self> {
        let Some(Value::Object(answer)) = &seen.json else {
            return None;
        };
        let errors = match answer.get("errors") {
            None | Some(Value::Null) => 0,
            Some(Value::Array(errors)) => errors.len(),
            Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_)) => {
                return None;
            }
        };
        match (answer.get("data"), errors) {
            (Some(Value::Object(_)), 0) => Some(Self::Ok),
            (_, 0) => None,
            (None, _) => Some(Self::RequestError),
            (Some(_), _) => Some(Self::FieldError),
        }
    }
}

impl TextTest {
    fn holds(&self, text: &str) -> bool {
        match self {
            Self::Contains(part) => text.contains(part.as_str()),
            Self::StartsWith(start) => text.starts_with(start.as_str()),
        }
    }
}

impl HeaderTest {
    pub(crate) fn holds(&self, answer: &HttpAnswer) -> bool {
        let values = answer.headers.iter();
        let mut values = values
            .filter(|(name, _)| *name == self.name)
            .map(|(_, value)| value.trim());
        match &self.test {
            Test::Absent => values.next().is_none(),
            Test::OneOf(wanted) => values.any(|value| {
                let equals =
                    |w: &Scalar| matches!(w, Scalar::Text(w) if value.eq_ignore_ascii_case(w));
                wanted.iter().any(equals)
            }),
            Test::StartsWith(start) => values.any(|value| {
                let head = value.get(..start.len());
                head.is_some_and(|head| head.eq_ignore_ascii_case(start))
            }),
            Test::Exists
            | Test::Type(_)
            | Test::NoneOf(_)
            | Test::Length(_)
            | Test::NotEmpty
            | Test::Contains(_)
            | Test::Status(_) => values.next().is_some(),
        }
    }
}

impl JsonTest {
    /// The same test with its texts passed through this.
    pub(crate) fn with_texts(&self, put: &dyn Fn(&str) -> String) -> Self {
        let scalars = |list: &[Scalar]| {
            let scalar = |scalar: &Scalar| match scalar {
                Scalar::Text(text) => Scalar::Text(put(text)),
                Scalar::Integer(_) | Scalar::Flag(_) => scalar.clone(),
            };
            list.iter().map(scalar).collect()
        };
        let test = match &self.test {
            Test::OneOf(list) => Test::OneOf(scalars(list)),
            Test::NoneOf(list) => Test::NoneOf(scalars(list)),
            Test::Contains(text) => Test::Contains(put(text)),
            Test::StartsWith(text) => Test::StartsWith(put(text)),
            Test::Exists
            | Test::Absent
            | Test::Type(_)
            | Test::Length(_)
            | Test::NotEmpty
            | Test::Status(_) => self.test.clone(),
        };
        Self {
            at: self.at.clone(),
            test,
        }
    }

    /// Whether it holds for this document. With `*` in the place, for any of the elements; absence, for all of them.
    pub(crate) fn holds(&self, document: &Value) -> bool {
        let found = self.at.all(document);
        let mut found = found.into_iter();
        match &self.test {
            Test::OneOf(wanted) => found.any(|value| wanted.iter().any(|w| w.equals(value))),
            Test::Exists => found.any(|value| !value.is_null()),
            Test::Absent => found.all(Value::is_null),
            Test::Type(wanted) => found.any(|value| wanted.is(value)),
            Test::NoneOf(unwanted) => {
                let values: Vec<&Value> = found.filter(|value| !value.is_null()).collect();
                let differs = |value: &&Value| !unwanted.iter().any(|w| w.equals(value));
                !values.is_empty() && values.iter().all(differs)
            }
            Test::Length(length) => found.any(|v| v.as_array().is_some_and(|l| l.len() == *length)),
            Test::NotEmpty => found.any(|value| match value {
                Value::String(text) => !text.is_empty(),
                Value::Array(items) => !items.is_empty(),
                Value::Object(members) => !members.is_empty(),
                Value::Null | Value::Bool(_) | Value::Number(_) => false,
            }),
            Test::Contains(part) => found.any(|v| v.as_str().is_some_and(|t| t.contains(part))),
            Test::StartsWith(start) => {
                found.any(|v| v.as_str().is_some_and(|t| t.starts_with(start.as_str())))
            }
            Test::Status(wanted) => found.any(|value| {
                let code = text_of(value).and_then(|text| text.parse().ok());
                code.is_some_and(|code| wanted.contains(code))
            }),
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
    pub(crate) fn is(self, value: &Value) -> bool {
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
