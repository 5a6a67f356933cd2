//! An answer in the making: conditions are made to hold for it one by one.
//!
//! Whoever drafts reads the result back with the contract's own readers: nothing here has to be right for every contract.

use serde_json::{Map, Value, json};

use super::sent;
use crate::http::HttpAnswer;
use crate::parts::Take;
use crate::pointer::Pointer;
use crate::when::{Graphql, JsonTest, JsonType, Scalar, Seen, StatusSet, Test, TextTest, When};

/// Status, headers, and a body that is JSON or not.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) json: Option<Value>,
    text: String,
}

impl Draft {
    /// An answer that says nothing yet.
    pub(crate) fn blank() -> Self {
        Self {
            status: 200,
            headers: Vec::new(),
            json: None,
            text: String::new(),
        }
    }

    /// From an example, with these texts in place of its marks.
    pub(crate) fn of(example: &HttpAnswer, put: &dyn Fn(&str) -> String) -> Self {
        let text = put(&String::from_utf8_lossy(&example.body));
        let headers = example.headers.iter();
        Self {
            status: example.status,
            headers: headers.map(|(n, v)| (n.clone(), put(v))).collect(),
            json: serde_json::from_str(&text).ok(),
            text,
        }
    }

    pub(crate) fn answer(&self) -> HttpAnswer {
        let body = match &self.json {
            Some(json) => json.to_string(),
            None => self.text.clone(),
        };
        HttpAnswer {
            status: self.status,
            headers: self.headers.clone(),
            body: body.into_bytes(),
            truncated: false,
        }
    }

    /// Whether a condition holds as it stands.
    pub(crate) fn meets(&self, when: &When) -> bool {
        when.holds(&Seen::new(&self.answer()))
    }

    pub(crate) fn set_header(&mut self, name: &str, value: &str) {
        self.headers.retain(|(n, _)| n != name);
        self.headers.push((name.to_owned(), value.to_owned()));
    }

    /// The JSON body; an empty object where there is none.
    pub(crate) fn document(&mut self) -> &mut Value {
        self.json.get_or_insert_with(|| Value::Object(Map::new()))
    }

    /// What is taken from here, as it stands.
    pub(crate) fn taken(&self, take: &Take) -> Option<String> {
        take.from(&Seen::new(&self.answer()))
    }

    /// Puts a text where it is taken from. Numbers stay numbers.
    pub(crate) fn put(&mut self, take: &Take, value: &str) {
        match take {
            Take::Json(at) => self.put_json(at, value),
            Take::Header(name) => self.set_header(name, value),
            Take::LastSegment(name) => {
                let known = self.headers.iter().find(|(n, _)| n == name);
                let before = known.and_then(|(_, v)| v.rsplit_once('/')).map(|(b, _)| b);
                let place = format!("{}/{value}", before.unwrap_or_default());
                self.set_header(name, &place);
            }
            Take::Between(before, after) => {
                let new = format!("{before}{value}{after}");
                let text = match &self.json {
                    Some(json) => json.to_string(),
                    None => std::mem::take(&mut self.text),
                };
                let parts = text.split_once(before.as_str());
                let parts = parts.and_then(|(head, rest)| {
                    let (_, tail) = rest.split_once(after.as_str())?;
                    Some((head, tail))
                });
                self.text = match parts {
                    Some((head, tail)) => format!("{head}{new}{tail}"),
                    None => format!("{text}{new}"),
                };
                self.json = serde_json::from_str(&self.text).ok();
            }
        }
    }

    pub(crate) fn put_json(&mut self, at: &Pointer, value: &str) {
        let number = at.get(self.document()).is_some_and(Value::is_number);
        let number = value.parse::<u64>().ok().filter(|_| number);
        let value = number.map_or_else(|| Value::from(value), Value::from);
        set(self.document(), at, value);
    }

    /// Makes a condition hold.
    pub(crate) fn satisfy(&mut self, when: &When) {
        // Twice: what a later part sets can undo what an earlier one has set.
        for _ in 0..2 {
            if let Some(status) = &when.status
                && !status.contains(self.status)
            {
                self.status = first(status);
            }
            for test in &when.headers {
                if !test.holds(&self.answer()) {
                    match &test.test {
                        Test::Absent => self.headers.retain(|(n, _)| *n != test.name),
                        other => self.set_header(&test.name, &header_value(other)),
                    }
                }
            }
            if let Some(graphql) = when.graphql {
                self.satisfy_graphql(graphql);
            }
            self.satisfy_json(&when.json);
            for test in &when.text {
                self.satisfy_text(test);
            }
        }
    }

    pub(crate) fn satisfy_json(&mut self, tests: &[JsonTest]) {
        for test in tests {
            if !test.holds(self.document()) {
                satisfy(self.document(), test);
            }
        }
    }

    fn satisfy_graphql(&mut self, graphql: Graphql) {
        let error = json!([{"message": "the request is refused"}]);
        let document = self.document();
        if !document.is_object() {
            *document = Value::Object(Map::new());
        }
        let Some(members) = document.as_object_mut() else {
            return;
        };
        match graphql {
            Graphql::Ok => {
                members.remove("errors");
                members.entry("data").or_insert_with(|| json!({}));
            }
            Graphql::RequestError => {
                members.remove("data");
                members.entry("errors").or_insert(error);
            }
            Graphql::FieldError => {
                members.entry("data").or_insert(Value::Null);
                members.entry("errors").or_insert(error);
            }
        }
    }

    fn satisfy_text(&mut self, test: &TextTest) {
        let holds = match (test, &self.json) {
            (TextTest::Contains(part), None) => self.text.contains(part.as_str()),
            (TextTest::StartsWith(start), None) => self.text.starts_with(start.as_str()),
            (_, Some(_)) => false,
        };
        if holds {
            return;
        }
        self.json = None;
        match test {
            TextTest::Contains(part) => self.text.push_str(part),
            TextTest::StartsWith(start) => self.text = format!("{start}{}", self.text),
        }
    }

    /// Every draft in which one part of a condition that holds is made not to.
    pub(crate) fn without(&self, when: &When) -> Vec<Self> {
        let mut drafts = Vec::new();
        for test in &when.headers {
            let mut draft = self.clone();
            draft.headers.retain(|(n, _)| *n != test.name);
            drafts.push(draft);
        }
        for test in &when.json {
            let mut draft = self.clone();
            contradict(draft.document(), test);
            drafts.push(draft);
        }
        drafts
    }
}

/// The least status of a set.
pub(crate) fn first(set: &StatusSet) -> u16 {
    set.0.first().map_or(200, |range| *range.start())
}

/// Sets what stands at a place; a `*` means the first element.
pub(crate) fn set(document: &mut Value, at: &Pointer, value: Value) {
    let first = |part: &String| match part.as_str() {
        "*" => "0".to_owned(),
        _ => part.clone(),
    };
    let path: Vec<String> = at.parts().iter().map(first).collect();
    sent::put(document, &path, value);
}

/// Removes what stands at a place.
pub(crate) fn remove(document: &mut Value, at: &Pointer) {
    let Some((last, before)) = at.parts().split_last() else {
        *document = Value::Null;
        return;
    };
    let mut here = Some(document);
    for part in before {
        here = here.and_then(|value| match value {
            Value::Object(members) => members.get_mut(part),
            Value::Array(items) => part.parse::<usize>().ok().and_then(|i| items.get_mut(i)),
            _ => None,
        });
    }
    match here {
        Some(Value::Object(members)) => {
            members.remove(last);
        }
        Some(Value::Array(items)) => items.clear(),
        _ => {}
    }
}

/// Makes one test of a document hold.
pub(crate) fn satisfy(document: &mut Value, test: &JsonTest) {
    let at = &test.at;
    let value = match &test.test {
        Test::Absent => return remove(document, at),
        Test::OneOf(scalars) => scalars.first().map_or(Value::Null, scalar),
        Test::Exists => json!("1"),
        Test::Type(kind) => of_type(*kind),
        Test::NoneOf(_) => json!("another"),
        Test::Length(length) => {
            let items = at.get(document).and_then(Value::as_array).cloned();
            let mut items = items.unwrap_or_default();
            items.resize(*length, json!({}));
            Value::Array(items)
        }
        Test::NotEmpty => json!(["1"]),
        Test::Contains(part) => json!(part),
        Test::StartsWith(start) => json!(format!("{start}1")),
        Test::Status(status) => json!(first(status)),
    };
    set(document, at, value);
}

/// Makes one test of a document fail.
pub(crate) fn contradict(document: &mut Value, test: &JsonTest) {
    let at = &test.at;
    match &test.test {
        Test::Absent => set(document, at, json!("1")),
        Test::OneOf(scalars) => match scalars.first() {
            Some(Scalar::Flag(flag)) => set(document, at, json!(!flag)),
            _ => remove(document, at),
        },
        Test::NoneOf(scalars) => {
            let unwanted = scalars.first().map_or(Value::Null, scalar);
            set(document, at, unwanted);
        }
        Test::Exists
        | Test::Type(_)
        | Test::Length(_)
        | Test::NotEmpty
        | Test::Contains(_)
        | Test::StartsWith(_)
        | Test::Status(_) => remove(document, at),
    }
}

fn scalar(scalar: &Scalar) -> Value {
    match scalar {
        Scalar::Text(text) => json!(text),
        Scalar::Integer(number) => json!(number),
        Scalar::Flag(flag) => json!(flag),
    }
}

fn of_type(kind: JsonType) -> Value {
    match kind {
        JsonType::Text => json!("1"),
        JsonType::Number => json!(1),
        JsonType::Flag => json!(true),
        JsonType::List => json!([]),
        JsonType::Object => json!({}),
        JsonType::Null => Value::Null,
    }
}

fn header_value(test: &Test) -> String {
    match test {
        Test::OneOf(scalars) => scalars.iter().find_map(|scalar| match scalar {
            Scalar::Text(text) => Some(text.clone()),
            Scalar::Integer(_) | Scalar::Flag(_) => None,
        }),
        Test::StartsWith(start) => Some(format!("{start}1")),
        Test::Exists
        | Test::Absent
        | Test::Type(_)
        | Test::NoneOf(_)
        | Test::Length(_)
        | Test::NotEmpty
        | Test::Contains(_)
        | Test::Status(_) => None,
    }
    .unwrap_or_else(|| "true".to_owned())
}

/// A name of the same kind as this one: a number stays a number, what people know by its beginning keeps that.
pub(crate) fn another_name(like: &str, number: u64) -> String {
    let number = 1_000 + number;
    if like.is_empty() || like.bytes().all(|byte| byte.is_ascii_digit()) {
        return number.to_string();
    }
    let after = like.rfind(|c: char| !c.is_alphanumeric());
    let prefix = match after {
        Some(at) => {
            let end = at + like[at..].chars().next().map_or(1, char::len_utf8);
            &like[..end]
        }
        None => {
            let letters = like.find(|c: char| !c.is_alphabetic());
            letters.map_or("", |end| &like[..end])
        }
    };
    format!("{prefix}{number}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_of_the_kind_that_is_known() {
        let rows = [
            ("35436", "1007"),
            ("re_1", "re_1007"),
            ("DESK-7", "DESK-1007"),
            ("PM123", "PM1007"),
            ("0a129aee", "1007"),
            (
                "spaces/AAA/messages/BBB.BBB",
                "spaces/AAA/messages/BBB.1007",
            ),
            ("", "1007"),
        ];
        for (like, expected) in rows {
            assert_eq!(another_name(like, 7), expected, "{like}");
        }
    }
}
