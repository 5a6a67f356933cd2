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
    let text = text.trim_matches([' ', '\t', '\n', '\r']);
    let _whole: &RawValue = parse(text, at)?;
    let mut reader = Reader {
        text,
        next: 0,
        at,
        path: Vec::new(),
    };
    let tree = reader.value()?;
    let mut out = String::with_capacity(text.len());
    write(&tree, &mut out);
    Ok(out)
}

/// A value of a text, in its canonical order.
enum Node<'a> {
    /// A number, `true`, `false` or `null`, as it stands there.
    Plain(&'a str),
    Text(Text<'a>),
    Array(Vec<Node<'a>>),
    Object(Vec<(Text<'a>, Node<'a>)>),
}

/// A string of a text.
enum Text<'a> {
    /// Between its quotes it stands for itself.
    AsWritten(&'a str),
    /// It had escapes.
    Decoded(String),
}

impl Text<'_> {
    fn as_str(&self) -> &str {
        match self {
            Self::AsWritten(text) => text,
            Self::Decoded(text) => text,
        }
    }
}

/// Where a value stands within the one that holds it.
enum Step<'a> {
    Index(usize),
    Member(Text<'a>),
}

/// Reads a text that is known to be JSON, once, from its beginning to its end.
struct Reader<'a> {
    text: &'a str,
    next: usize,
    at: &'a str,
    path: Vec<Step<'a>>,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.next).copied()
    }

    /// The next byte that is no white space.
    fn ahead(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.next += 1;
        }
        self.peek()
    }

    fn value(&mut self) -> Result<Node<'a>, Problem> {
        if self.path.len() > DEPTH_MAX {
            let rule = format!("values may be nested {DEPTH_MAX} deep");
            let remedy = "flatten the value, or send it as a string";
            return Err(Problem::new(Code::TooDeep, self.pointer(), rule, remedy));
        }
        match self.ahead() {
            Some(b'{') => self.object(),
            Some(b'[') => self.array(),
            Some(b'"') => self.string().map(Node::Text),
            Some(_) | None => self.plain(),
        }
    }

    fn object(&mut self) -> Result<Node<'a>, Problem> {
        self.next += 1; // the brace
        let mut members = Vec::new();
        while self.ahead() == Some(b'"') {
            let name = self.string()?;
            self.ahead();
            self.next += 1; // the colon
            self.path.push(Step::Member(name));
            let value = self.value()?;
            if let Some(Step::Member(name)) = self.path.pop() {
                members.push((name, value));
            }
            if self.ahead() == Some(b',') {
                self.next += 1;
            }
        }
        self.next += 1; // the brace
        members.sort_by(|(a, _), (b, _)| a.as_str().cmp(b.as_str()));
        let mut pairs = members.windows(2);
        match pairs.find(|pair| pair[0].0.as_str() == pair[1].0.as_str()) {
            None => Ok(Node::Object(members)),
            Some(pair) => {
                let name = pair[0].0.as_str();
                let member = format!("{}/{}", self.pointer(), escaped(name));
                let rule =
                    format!("the member {name:?} occurs twice, so readers would disagree about it");
                Err(Problem::new(
                    Code::DuplicateMember,
                    member,
                    rule,
                    "send it once",
                ))
            }
        }
    }

    fn array(&mut self) -> Result<Node<'a>, Problem> {
        self.next += 1; // the bracket
        let mut items = Vec::new();
        while self.ahead().is_some_and(|byte| byte != b']') {
            self.path.push(Step::Index(items.len()));
            items.push(self.value()?);
            self.path.pop();
            if self.ahead() == Some(b',') {
                self.next += 1;
            }
        }
        self.next += 1; // the bracket
        Ok(Node::Array(items))
    }

    fn string(&mut self) -> Result<Text<'a>, Problem> {
        let from = self.next;
        let mut has_escapes = false;
        self.next += 1;
        while let Some(byte) = self.peek() {
            self.next += 1;
            match byte {
                b'"' => break,
                b'\\' => {
                    has_escapes = true;
                    self.next += 1;
                }
                _ => {}
            }
        }
        let quoted = self.text.get(from..self.next).unwrap_or_default();
        if has_escapes {
            return parse(quoted, &self.pointer()).map(Text::Decoded);
        }
        let inner = quoted
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'));
        Ok(Text::AsWritten(inner.unwrap_or_default()))
    }

    fn plain(&mut self) -> Result<Node<'a>, Problem> {
        let from = self.next;
        while self
            .peek()
            .is_some_and(|byte| !matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r'))
        {
            self.next += 1;
        }
        let text = self.text.get(from..self.next).unwrap_or_default();
        if !text.starts_with(['-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
            || in_range(text)
        {
            return Ok(Node::Plain(text));
        }
        let rule =
            format!("{text} is beyond the range of a double, so readers would disagree about it");
        let remedy = "send it as a string, or in a smaller unit";
        Err(Problem::new(
            Code::NumberRange,
            self.pointer(),
            rule,
            remedy,
        ))
    }

    /// Where the value that is being read stands.
    fn pointer(&self) -> String {
        let mut pointer = self.at.to_owned();
        for step in &self.path {
            pointer.push('/');
            match step {
                Step::Index(index) => pointer.push_str(&index.to_string()),
                Step::Member(name) => pointer.push_str(&escaped(name.as_str())),
            }
        }
        pointer
    }
}

/// Whether a double holds the number. A few digits without an exponent always fit.
fn in_range(number: &str) -> bool {
    const ALWAYS: usize = 300;
    (number.len() < ALWAYS && !number.contains(['e', 'E']))
        || number.parse::<f64>().is_ok_and(f64::is_finite)
}

fn write(node: &Node<'_>, out: &mut String) {
    match node {
        Node::Plain(text) => out.push_str(text),
        Node::Text(text) => write_text(text, out),
        Node::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Node::Object(members) => {
            out.push('{');
            for (index, (name, value)) in members.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_text(name, out);
                out.push(':');
                write(value, out);
            }
            out.push('}');
        }
    }
}

/// A string in quotes, with the escapes that it needs and no other.
fn write_text(text: &Text<'_>, out: &mut String) {
    match text {
        Text::AsWritten(text) => {
            out.push('"');
            out.push_str(text);
            out.push('"');
        }
        Text::Decoded(text) => out.push_str(&serde_json::Value::from(text.as_str()).to_string()),
    }
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
            ("{\"\\u0061\":1,\"a\":2}", Code::DuplicateMember, "/a"),
            ("[[\"\\ud800\"]]", Code::MalformedJson, "/0/0"),
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
