//! Comparing an answer with what was sent (R31): a destination that ignores a changed body, or answers with what the object
//! has become, can answer 200 about somebody else's content.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::http::HttpRequest;
use crate::parts;
use crate::pointer::{Pointer, text_of};
use crate::source::{Node, Section};
use crate::when::Seen;

/// A member of the request's body, and the member of the answer that has to equal it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Same {
    sent: Pointer,
    got: Pointer,
}

impl Same {
    /// `same = [{ sent = "/amount", got = "/payment/amount" }]`
    pub(crate) fn read(section: &Section<'_>) -> Option<Vec<Self>> {
        let Some(node) = section.get("same") else {
            return Some(Vec::new());
        };
        let same = |node: &Node<'_>| {
            let section = node.section()?;
            let sent = section.need("sent").and_then(|n| parts::exact_pointer(&n));
            let got = section.need("got").and_then(|n| parts::exact_pointer(&n));
            section.end();
            Some(Self {
                sent: sent?,
                got: got?,
            })
        };
        // All are read before the first that is wrong fails the list.
        let list: Vec<_> = node.list(true)?.iter().map(same).collect();
        list.into_iter().collect()
    }

    /// Where it stands in what was sent, and in the answer.
    pub(crate) fn places(&self) -> (&Pointer, &Pointer) {
        (&self.sent, &self.got)
    }

    /// Equal texts, numbers as written, and flags. What was not sent is not compared; what was sent has to come back.
    pub(crate) fn holds(&self, sent: Option<&Value>, seen: &Seen<'_>) -> bool {
        // Without the request at hand nothing can be recognised by it.
        let Some(sent) = sent else {
            return false;
        };
        let plain =
            |value: &Value| text_of(value).or_else(|| value.as_bool().map(|f| f.to_string()));
        let Some(wanted) = self.sent.get(sent).and_then(plain) else {
            return true;
        };
        let document = seen.json.as_ref();
        let got = document
            .and_then(|document| self.got.get(document))
            .and_then(plain);
        got == Some(wanted)
    }
}

/// The body of a request as a document: JSON as it is, a form as an object of its fields.
pub(crate) fn document(request: &HttpRequest) -> Option<Value> {
    let mut headers = request.headers.iter();
    let content_type = headers.find(|(name, _)| name == "content-type");
    let is_form =
        content_type.is_some_and(|(_, v)| v.starts_with("application/x-www-form-urlencoded"));
    if is_form {
        return form_document(&request.body);
    }
    serde_json::from_slice(&request.body).ok()
}

/// A form as an object: each field under its whole name, several of one name as a list.
pub(crate) fn form_document(body: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(body).ok()?;
    let mut fields: Map<String, Value> = Map::new();
    for pair in text.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (name, value) = (decoded(name)?, Value::String(decoded(value)?));
        match fields.get_mut(&name) {
            None => {
                fields.insert(name, value);
            }
            Some(Value::Array(values)) => values.push(value),
            Some(first) => *first = Value::Array(vec![first.take(), value]),
        }
    }
    Some(Value::Object(fields))
}

/// A name or value of a form; none where it is not UTF-8 or has a broken escape.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut pair = String::new();
                for digit in [rest.next()?, rest.next()?] {
                    // Writing to a String cannot fail.
                    let _ = write!(pair, "{}", char::from(digit));
                }
                u8::from_str_radix(&pair, 16).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_form_is_read_by_the_names_of_its_fields() {
        let read = |text: &str| form_document(text.as_bytes());
        assert_eq!(
            read("a%5Bb%5D=1+2&c=%C3%BC&d&c=x"),
            Some(json!({"a[b]": "1 2", "c": ["ü", "x"], "d": ""}))
        );
        assert_eq!(read(""), Some(json!({})));
        for wrong in ["a=%", "a=%f", "a=%ff", "%zz=1"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
