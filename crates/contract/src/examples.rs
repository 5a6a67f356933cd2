//! The examples of a contract: submissions with the requests that they make, answers with what they mean.
//!
//! They are part of the contract's text, so that whoever writes down what a destination answers also writes down how it is
//! to be read. [`Contract::run_examples`](crate::Contract::run_examples) replays them; here they are read.

mod gaps;
mod run;

use std::ops::Range;
use std::sync::Arc;

use serde_json::{Map, Value};
use toml::de::DeValue;

use crate::conditions;
use crate::contract::Contract;
use crate::finding::{Complaint, Finding};
use crate::http::HttpAnswer;
use crate::parts::optional;
use crate::source::{Node, Section};
use crate::terms::ExampleAnswer;
use crate::when::JsonTest;

/// The entries of `[[examples]]` in one file, and the text that findings are placed in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Examples {
    file: String,
    text: Arc<str>,
    list: Vec<Example>,
}

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Example {
    spot: Spot,
    params: Map<String, Value>,
    payload: String,
    request: Option<Wanted>,
    answer: Option<(Given, Meaning)>,
    question: Option<Question>,
}

/// A place in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    pub(crate) span: Range<usize>,
    pub(crate) member: String,
}

/// What a request has to be.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wanted {
    spot: Spot,
    method: Option<String>,
    path: Option<String>,
    headers: Vec<(String, String)>,
    body: Vec<JsonTest>,
    contains: Vec<String>,
    /// It has to be refused, with this member named.
    refused: Option<String>,
}

/// An answer as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Given {
    spot: Spot,
    answer: HttpAnswer,
}

/// What an answer to the effect request has to mean.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Meaning {
    class: String,
    receipt: Option<String>,
    object: Option<String>,
    replayed: bool,
    ours: Option<bool>,
    stored: Option<bool>,
    why: Option<String>,
    retry_after: Option<String>,
}

/// An answer to something that was asked, or that came by itself, and what it has to show.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Question {
    kind: Kind,
    given: Given,
    asked: Option<Wanted>,
    /// What a poll asks for.
    object: Option<String>,
    /// The page of a lookup, or where events were read up to.
    cursor: Option<String>,
    shows: String,
    receipts: Vec<String>,
    next_page: Option<String>,
    /// The secret and the second at which a delivery's signature is checked.
    signed: Option<(String, i64)>,
}

/// What was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Lookup,
    Poll,
    Cancel,
    Whoami,
    Callback,
    Events,
}

/// The kinds by the member that holds the answer.
const KINDS: [(&str, Kind); 6] = [
    ("lookup", Kind::Lookup),
    ("poll", Kind::Poll),
    ("cancel", Kind::Cancel),
    ("whoami", Kind::Whoami),
    ("callback", Kind::Callback),
    ("event", Kind::Events),
];

/// The words for classes that an answer can have.
const CLASSES: [&str; 9] = [
    "done",
    "accepted",
    "rejected",
    "declined",
    "in_progress",
    "already_exists",
    "mismatch",
    "busy",
    "unknown",
];

impl Kind {
    /// What an answer of this kind can show; empty where it is a text of its own.
    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Lookup => &["found", "queued", "absent", "inconclusive"],
            Self::Poll => &["completed", "working", "failed", "inconclusive"],
            Self::Cancel => &["confirmed", "too_late", "unknown"],
            Self::Whoami => &[],
            Self::Callback | Self::Events => {
                &["positive", "negative", "reversed", "nothing", "refused"]
            }
        }
    }
}

impl Examples {
    pub(crate) fn read(root: &Section<'_>) -> Option<Self> {
        let Some(node) = root.get("examples") else {
            return Some(Self::default());
        };
        // All are read before the first that is wrong fails them.
        let list: Vec<_> = node.list(false)?.iter().map(Example::read).collect();
        let list: Option<Vec<_>> = list.into_iter().collect();
        Some(Self {
            list: list?,
            ..Self::default()
        })
    }

    /// Keeps the text that the examples stand in, so that what fails is shown at its place.
    pub(crate) fn place(&mut self, file: &str, text: &str) {
        file.clone_into(&mut self.file);
        self.text = Arc::from(text);
    }

    fn finding(&self, spot: &Spot, rule: &'static str, message: String, remedy: &str) -> Finding {
        let complaint = Complaint::error(rule, message, remedy);
        let span = spot.span.clone();
        Finding::at(&self.file, &self.text, span, spot.member.clone(), complaint)
    }
}

impl Contract {
    /// The answers of its examples, for stand-ins that answer as the destination does.
    #[must_use]
    pub fn example_answers(&self) -> Vec<ExampleAnswer> {
        self.examples.answers()
    }
}

impl Examples {
    /// The submissions of these examples: parameters and payload.
    pub(crate) fn submissions(&self) -> impl Iterator<Item = (&Map<String, Value>, &str)> {
        let list = self.list.iter();
        list.map(|example| (&example.params, example.payload.as_str()))
    }

    /// The answers of these examples.
    pub(crate) fn answers(&self) -> Vec<ExampleAnswer> {
        let mut answers = Vec::new();
        for example in &self.list {
            if let Some((given, meaning)) = &example.answer {
                answers.push(ExampleAnswer {
                    to: "effect",
                    means: meaning.class.clone(),
                    answer: given.answer.clone(),
                });
            }
            if let Some(question) = &example.question {
                let name = KINDS.iter().find(|(_, kind)| *kind == question.kind);
                answers.push(ExampleAnswer {
                    to: name.map_or("", |(name, _)| name),
                    means: question.shows.clone(),
                    answer: question.given.answer.clone(),
                });
            }
        }
        answers
    }
}

impl Contract {
    /// The submissions of its examples that are to be carried out as they stand, with the class of the answer beside each.
    pub(crate) fn example_submissions(
        &self,
    ) -> impl Iterator<Item = (&Map<String, Value>, &str, Option<&str>)> {
        let examples = self.examples.list.iter().filter(|example| {
            let given = !(example.payload.is_empty() && example.params.is_empty());
            let refused = example
                .request
                .as_ref()
                .is_some_and(|r| r.refused.is_some());
            let placed = ["{key}", "{reference}"]
                .iter()
                .any(|place| example.payload.contains(place));
            given && !refused && !placed
        });
        examples.map(|example| {
            let means = example.answer.as_ref().map(|(_, m)| m.class.as_str());
            (&example.params, example.payload.as_str(), means)
        })
    }
}

impl Example {
    fn read(node: &Node<'_>) -> Option<Self> {
        let section = node.section()?;
        section.words("title");
        let params = optional(section.get("params"), object);
        let payload = optional(section.get("payload"), payload);
        let request = optional(section.get("request"), Wanted::read);
        let answer = optional(section.get("answer"), Given::read);
        let kinds = KINDS.iter();
        let asked: Vec<_> = kinds
            .filter_map(|(name, kind)| section.get(name).map(|node| (*kind, node)))
            .collect();
        let (request, answer) = (request?, answer?);
        let alone = request.is_none() && answer.is_none();
        let question = match asked.as_slice() {
            [] if alone => {
                let message = "shows nothing";
                let remedy =
                    "add `request`, `answer`, `lookup`, `poll`, `cancel`, `whoami` or `callback`";
                node.error("example", message, remedy);
                return None;
            }
            [] => None,
            [(kind, given)] if answer.is_none() => Some(Question::read(&section, *kind, given)?),
            _ => {
                let message = "holds more than one answer";
                node.error("example", message, "write an example for each");
                return None;
            }
        };
        let answer = match answer {
            Some(given) => Some((given, Meaning::read(&section)?)),
            None => None,
        };
        section.end();
        Some(Self {
            spot: node.spot(),
            params: params?.unwrap_or_default(),
            payload: payload?.unwrap_or_default(),
            request,
            answer,
            question,
        })
    }
}

impl Wanted {
    fn read(node: &Node<'_>) -> Option<Self> {
        let section = node.section()?;
        let method = section.words("method");
        let path = section.words("path");
        let headers = section.sub("headers").map(|table| table.entries());
        let header = |(name, node): &(String, Node<'_>)| {
            node.text()
                .map(|text| (name.to_ascii_lowercase(), text.to_owned()))
        };
        let headers: Option<Vec<_>> = headers.iter().flatten().map(header).collect();
        let body = optional(section.get("body"), conditions::json_tests);
        let contains = optional(section.get("contains"), texts);
        let refused = section.words("refused");
        section.end();
        Some(Self {
            spot: node.spot(),
            method,
            path,
            headers: headers?,
            body: body?.unwrap_or_default(),
            contains: contains?.unwrap_or_default(),
            refused,
        })
    }
}

impl Given {
    fn read(node: &Node<'_>) -> Option<Self> {
        let section = node.section()?;
        let status = section.get("status");
        let status = status.map_or(Some(200), |node| node.integer_in(100, 599));
        let headers = section.sub("headers").map(|table| table.entries());
        let header = |(name, node): &(String, Node<'_>)| {
            node.text()
                .map(|text| (name.to_ascii_lowercase(), text.to_owned()))
        };
        let headers: Option<Vec<_>> = headers.iter().flatten().map(header).collect();
        let body = optional(section.get("body"), payload);
        let truncated = section.flag("truncated");
        section.end();
        Some(Self {
            spot: node.spot(),
            answer: HttpAnswer {
                status: u16::try_from(status?).ok()?,
                headers: headers?,
                body: body?.unwrap_or_default().into_bytes(),
                truncated,
            },
        })
    }
}

impl Meaning {
    fn read(section: &Section<'_>) -> Option<Self> {
        let class = section
            .need("class")
            .and_then(|node| one_of(&node, &CLASSES));
        let flag = |name| optional(section.get(name), |node| node.flag());
        let (ours, stored) = (flag("ours"), flag("stored"));
        Some(Self {
            receipt: section.words("receipt"),
            object: section.words("object"),
            replayed: section.flag("replayed"),
            why: section.words("why"),
            retry_after: section.words("retry_after"),
            class: class?,
            ours: ours?,
            stored: stored?,
        })
    }
}

impl Question {
    fn read(section: &Section<'_>, kind: Kind, given: &Node<'_>) -> Option<Self> {
        let given = Given::read(given);
        let asked = optional(section.get("asked"), Wanted::read);
        let object = section.words("object");
        let cursor = section.words("cursor");
        let shows = section.need("shows").and_then(|node| match kind.words() {
            [] => node.words().map(str::to_owned),
            words => one_of(&node, words),
        });
        let receipts = optional(section.get("receipt"), texts);
        let next_page = section.words("next_page");
        let secret = section.words("secret");
        let at = optional(section.get("at"), |node| {
            node.integer_in(0, i64::MAX / 1_000_000)
        });
        Some(Self {
            signed: secret.zip(at?),
            kind,
            given: given?,
            asked: asked?,
            object,
            cursor,
            shows: shows?,
            receipts: receipts?.unwrap_or_default(),
            next_page,
        })
    }
}

fn one_of(node: &Node<'_>, words: &[&str]) -> Option<String> {
    let text = node.text()?;
    if !words.contains(&text) {
        let remedy = format!("write one of {}", words.join(", "));
        node.error("unknown_word", format!("does not know `{text}`"), remedy);
        return None;
    }
    Some(text.to_owned())
}

fn texts(node: &Node<'_>) -> Option<Vec<String>> {
    let list = node.list(true)?;
    list.iter()
        .map(|node| node.words().map(str::to_owned))
        .collect()
}

/// A body or a payload: text as it is, or a table that stands for its JSON.
fn payload(node: &Node<'_>) -> Option<String> {
    if node.is_table() || node.value().is_array() {
        return json(node).map(|value| value.to_string());
    }
    node.text().map(str::to_owned)
}

fn object(node: &Node<'_>) -> Option<Map<String, Value>> {
    node.section()?;
    match json(node)? {
        Value::Object(members) => Some(members),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            None
        }
    }
}

fn json(node: &Node<'_>) -> Option<Value> {
    match node.value() {
        DeValue::String(text) => Some(Value::String(text.to_string())),
        DeValue::Integer(_) => node.integer().map(Value::from),
        DeValue::Boolean(flag) => Some(Value::Bool(*flag)),
        DeValue::Float(number) => serde_json::from_str(number.as_str()).ok(),
        DeValue::Array(_) => {
            let items: Option<Vec<_>> = node.list(false)?.iter().map(json).collect();
            items.map(Value::Array)
        }
        DeValue::Table(_) => {
            let entries = node.section()?.entries();
            let member = |(name, node): &(String, Node<'_>)| Some((name.clone(), json(node)?));
            let members: Option<Map<_, _>> = entries.iter().map(member).collect();
            members.map(Value::Object)
        }
        DeValue::Datetime(_) => {
            node.wrong_type("a value that JSON has");
            None
        }
    }
}
