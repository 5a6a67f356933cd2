//! Reading the conditions of a contract: what has to hold for an answer. What they mean is in [`crate::when`].

use toml::de::DeValue;

use crate::parts;
use crate::source::{Node, Section, Word};
use crate::when::{Graphql, HeaderTest, JsonTest, JsonType, Scalar, Test, TextTest, When};

impl Word for JsonType {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("string", Self::Text),
        ("number", Self::Number),
        ("boolean", Self::Flag),
        ("array", Self::List),
        ("object", Self::Object),
        ("null", Self::Null),
    ];
}

impl Word for Graphql {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("ok", Self::Ok),
        ("request_error", Self::RequestError),
        ("field_error", Self::FieldError),
    ];
}

/// The tests of a JSON document, one of which stands beside `at`.
const JSON_TESTS: [&str; 11] = [
    "equals",
    "one_of",
    "none_of",
    "exists",
    "absent",
    "type",
    "length",
    "not_empty",
    "contains",
    "starts_with",
    "status",
];
/// The tests of a header, at most one of which stands beside `name`.
const HEADER_TESTS: [&str; 4] = ["equals", "one_of", "starts_with", "absent"];

/// A condition over an answer; at least one part.
pub(crate) fn when(node: &Node<'_>) -> Option<When> {
    let section = node.section()?;
    let status = section.get("status");
    let headers = section.get("headers");
    let json = section.get("json");
    let text = section.get("text");
    let graphql = section.get("graphql");
    section.end();
    let parts = [&status, &headers, &json, &text, &graphql];
    if parts.into_iter().all(Option::is_none) {
        let remedy = "name a status, headers or json";
        node.error("matcher_empty", "holds for every answer", remedy);
        return None;
    }
    Some(When {
        status: parts::optional(status, parts::status)?,
        headers: parts::optional(headers, |node| tests(node, header_test))?.unwrap_or_default(),
        json: parts::optional(json, |node| tests(node, json_test))?.unwrap_or_default(),
        text: parts::optional(text, |node| tests(node, text_test))?.unwrap_or_default(),
        graphql: parts::optional(graphql, Node::word)?,
    })
}

/// A list of tests, or one test.
fn tests<T>(node: &Node<'_>, read: impl Fn(&Node<'_>) -> Option<T>) -> Option<Vec<T>> {
    let list = node.list(true)?;
    if list.is_empty() {
        let message = "holds for every answer";
        node.error("matcher_empty", message, "name a test, or leave it out");
        return None;
    }
    list.iter().map(read).collect()
}

/// Conditions on a JSON document.
pub(crate) fn json_tests(node: &Node<'_>) -> Option<Vec<JsonTest>> {
    tests(node, json_test)
}

/// The tests that a table has, of those that it may have.
fn given<'a>(section: &Section<'a>, forms: &[&'static str]) -> Vec<(&'static str, Node<'a>)> {
    let given = |form: &&'static str| section.get(form).map(|node| (*form, node));
    forms.iter().filter_map(given).collect()
}

fn header_test(node: &Node<'_>) -> Option<HeaderTest> {
    let section = node.section()?;
    let name = section.need("name");
    let name = name.and_then(|node| parts::header_name(&node));
    let given = given(&section, &HEADER_TESTS);
    section.end();
    let test = match given.as_slice() {
        [] => Test::Exists,
        [("absent", value)] => only_true(value, "leave it out")?.then_some(Test::Absent)?,
        [("one_of", value)] => {
            let values = value.list(false)?;
            let texts: Option<Vec<_>> = values.iter().map(Node::text).collect();
            let texts = texts?.into_iter().map(|t| Scalar::Text(t.to_owned()));
            Test::OneOf(texts.collect())
        }
        [("starts_with", value)] => Test::StartsWith(value.words()?.to_owned()),
        [(_, value)] => Test::OneOf(vec![Scalar::Text(value.text()?.to_owned())]),
        several => {
            let message = format!("has {} tests of one header", several.len());
            let remedy = format!("write at most one of {}", HEADER_TESTS.join(", "));
            node.error("predicate", message, remedy);
            return None;
        }
    };
    name.map(|name| HeaderTest { name, test })
}

fn json_test(node: &Node<'_>) -> Option<JsonTest> {
    let section = node.section()?;
    let at = section.need("at").and_then(|node| parts::pointer(&node));
    let given = given(&section, &JSON_TESTS);
    section.end();
    let [(form, value)] = given.as_slice() else {
        let message = format!("has {} tests at one place", given.len());
        let remedy = format!("write exactly one of {}", JSON_TESTS.join(", "));
        node.error("predicate", message, remedy);
        return None;
    };
    let test = json_test_of(form, value)?;
    at.map(|at| JsonTest { at, test })
}

fn json_test_of(form: &str, value: &Node<'_>) -> Option<Test> {
    Some(match form {
        "equals" => Test::OneOf(vec![scalar(value)?]),
        "one_of" => Test::OneOf(scalars(value)?),
        "none_of" => Test::NoneOf(scalars(value)?),
        "type" => Test::Type(value.word()?),
        "length" => {
            let length = value.integer_in(0, 1_000_000)?;
            Test::Length(usize::try_from(length).ok()?)
        }
        "contains" => Test::Contains(value.words()?.to_owned()),
        "starts_with" => Test::StartsWith(value.words()?.to_owned()),
        "status" => Test::Status(parts::status(value)?),
        "not_empty" => only_true(value, "write `length = 0`")?.then_some(Test::NotEmpty)?,
        "exists" => only_true(value, "write `absent = true`")?.then_some(Test::Exists)?,
        _ => only_true(value, "write `exists = true`")?.then_some(Test::Absent)?,
    })
}

fn text_test(node: &Node<'_>) -> Option<TextTest> {
    let (form, value) = parts::choice(node, &["contains", "starts_with"])?;
    let text = value.words()?.to_owned();
    Some(match form.as_str() {
        "contains" => TextTest::Contains(text),
        _ => TextTest::StartsWith(text),
    })
}

/// A flag that says nothing when it is false.
fn only_true(node: &Node<'_>, remedy: &str) -> Option<bool> {
    if node.flag()? {
        return Some(true);
    }
    node.error("predicate", "can only be true", remedy);
    None
}

fn scalars(node: &Node<'_>) -> Option<Vec<Scalar>> {
    let values = node.list(false)?;
    if values.is_empty() {
        node.error("predicate", "lists nothing", "list the values");
        return None;
    }
    values.iter().map(scalar).collect()
}

fn scalar(node: &Node<'_>) -> Option<Scalar> {
    match node.value() {
        DeValue::String(text) => Some(Scalar::Text(text.to_string())),
        DeValue::Integer(_) => node.integer().map(Scalar::Integer),
        DeValue::Boolean(flag) => Some(Scalar::Flag(*flag)),
        DeValue::Float(_) | DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => {
            node.wrong_type("a text, an integer, true or false");
            None
        }
    }
}
