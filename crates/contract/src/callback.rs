//! What a destination reports by itself: deliveries to us. Events that are fetched from it, in [`crate::events`], are read alike.
//!
//! A report is matched by marks that it carries; what it means is read by conditions of which exactly one may hold. A
//! report about nothing that is known, or that contradicts itself, says nothing.

use factum_core::evidence::{Callback as Fact, Receipt};
use serde_json::Value;

use crate::claims::Claims;
use crate::compare::form_document;
use crate::conditions;
use crate::contract::Contract;
use crate::events::Events;
use crate::parts::{self, optional};
use crate::pointer::Pointer;
use crate::repeat::words;
use crate::signature::Signature;
use crate::source::{Node, Section};
use crate::when::JsonTest;

/// The section `[callback]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Callback {
    pub(crate) signature: Signature,
    pub(crate) body: BodyKind,
    pub(crate) reports: Reports,
}

/// How reports are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reports {
    /// Where they stand; none where the whole document is one.
    pub(crate) items: Option<Pointer>,
    pub(crate) id: Option<Pointer>,
    pub(crate) matches: Vec<(By, Pointer)>,
    pub(crate) positive: Vec<JsonTest>,
    pub(crate) negative: Vec<JsonTest>,
    pub(crate) reversed: Vec<JsonTest>,
    pub(crate) receipt: Option<Pointer>,
    pub(crate) object: Option<Pointer>,
    pub(crate) why: Option<Pointer>,
}

words! {
    /// How the body of a delivery is written.
    BodyKind {
        Json = "json",
        Form = "form",
    }
}
words! {
    /// By what a report is matched with an action.
    By {
        Reference = "reference",
        Key = "key",
        Object = "object",
        Receipt = "receipt",
    }
}

/// A mark in a report, by which it is matched with an action.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CallbackMatch {
    /// The reference that we wrote into the request.
    Reference(String),
    /// The provider key that we sent.
    Key(String),
    /// The destination's name for queued work, as an answer named it.
    Object(String),
    /// The destination's reference for the effect.
    Receipt(String),
}

/// One report, in the core's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallbackReading {
    /// The report's own name: the same in every repetition.
    pub id: Option<String>,
    /// What it is matched by, best first.
    pub matches: Vec<CallbackMatch>,
    /// What it says.
    pub callback: Fact,
}

impl Callback {
    pub(crate) fn read(section: &Section<'_>, claims: &mut Claims) -> Option<Self> {
        claims.note(section);
        claims.require(section, "", "what a destination reports by itself");
        let signature = section.need("signature");
        let signature = signature.and_then(|node| Signature::read(&node));
        let body = section
            .get("body")
            .map_or(Some(BodyKind::Json), |n| n.word());
        let reports = Reports::read(section);
        Some(Self {
            signature: signature?,
            body: body?,
            reports: reports?,
        })
    }

    pub(crate) fn reports(&self) -> &Reports {
        &self.reports
    }

    fn document(&self, body: &[u8]) -> Option<Value> {
        match self.body {
            BodyKind::Json => serde_json::from_slice(body).ok(),
            BodyKind::Form => form_document(body),
        }
    }
}

impl Reports {
    pub(crate) fn read(section: &Section<'_>) -> Option<Self> {
        let pointer = |name| optional(section.get(name), parts::exact_pointer);
        let (items, id) = (pointer("items"), pointer("id"));
        let (receipt, object, why) = (pointer("receipt"), pointer("object"), pointer("why"));
        let matches = section.need("matches").and_then(|node| matches(&node));
        let tests = |name| {
            let tests = optional(section.get(name), conditions::json_tests);
            tests.map(Option::unwrap_or_default)
        };
        let positive = tests("positive");
        let (negative, reversed) = (tests("negative"), tests("reversed"));
        let reports = Self {
            items: items?,
            id: id?,
            matches: matches?,
            positive: positive?,
            negative: negative?,
            reversed: reversed?,
            receipt: receipt?,
            object: object?,
            why: why?,
        };
        reports.check(section);
        Some(reports)
    }

    fn check(&self, section: &Section<'_>) {
        if self.positive.is_empty() && self.negative.is_empty() && self.reversed.is_empty() {
            let message = "does not say what any report means";
            let remedy = "add `positive = { at = …, equals = … }`";
            section.error("positive", "reports", message, remedy);
        }
        let named = |wanted| self.matches.iter().any(|(by, _)| *by == wanted);
        if !self.positive.is_empty() && self.receipt.is_none() && !named(By::Receipt) {
            let message = "reports an effect, and does not say where its receipt stands";
            section.error(
                "receipt",
                "receipt_missing",
                message,
                "add `receipt = \"/id\"`",
            );
        }
        if !self.negative.is_empty() && self.object.is_none() && !named(By::Object) {
            let message = "reports a failure, and does not say of which object (R21)";
            section.error("object", "reports", message, "add `object = \"/id\"`");
        }
    }

    /// Whether they say what became of a request, and not only what was undone later.
    pub(crate) fn tell_the_end(&self) -> bool {
        !(self.positive.is_empty() && self.negative.is_empty())
    }

    /// The reports of a document.
    fn all(&self, document: &Value) -> Vec<CallbackReading> {
        let items = self.items_in(document).unwrap_or_default();
        items
            .into_iter()
            .filter_map(|item| self.one(item))
            .collect()
    }

    /// Where reports may stand in a document; none where it has no such list.
    pub(crate) fn items_in<'a>(&self, document: &'a Value) -> Option<Vec<&'a Value>> {
        match &self.items {
            None => Some(vec![document]),
            Some(at) => Some(at.get(document)?.as_array()?.iter().collect()),
        }
    }

    /// What one item reports, if anything.
    pub(crate) fn one(&self, item: &Value) -> Option<CallbackReading> {
        let text = |at: &Option<Pointer>| at.as_ref().and_then(|at| at.text(item));
        let matches: Vec<_> = self
            .matches
            .iter()
            .filter_map(|(by, at)| Some(by.matched(at.text(item)?)))
            .collect();
        let named = |by: By| {
            let mut places = self
                .matches
                .iter()
                .filter(|(candidate, _)| *candidate == by);
            places.find_map(|(_, at)| at.text(item))
        };
        let holds =
            |tests: &[JsonTest]| !tests.is_empty() && tests.iter().all(|test| test.holds(item));
        let why = || text(&self.why).unwrap_or_else(|| "no reason is given".to_owned());
        let meaning = [&self.positive, &self.negative, &self.reversed].map(|t| holds(t));
        let callback = match meaning {
            [true, false, false] => {
                let receipt = text(&self.receipt).or_else(|| named(By::Receipt));
                Fact::Positive(Receipt::new(receipt?))
            }
            [false, true, false] => Fact::Negative {
                object: text(&self.object).or_else(|| named(By::Object))?,
                why: why(),
            },
            [false, false, true] => Fact::Reversed { why: why() },
            _ => return None,
        };
        if matches.is_empty() {
            return None;
        }
        Some(CallbackReading {
            id: text(&self.id),
            matches,
            callback,
        })
    }
}

impl By {
    fn matched(self, value: String) -> CallbackMatch {
        match self {
            Self::Reference => CallbackMatch::Reference(value),
            Self::Key => CallbackMatch::Key(value),
            Self::Object => CallbackMatch::Object(value),
            Self::Receipt => CallbackMatch::Receipt(value),
        }
    }
}

fn matches(node: &Node<'_>) -> Option<Vec<(By, Pointer)>> {
    let one = |node: &Node<'_>| {
        let section = node.section()?;
        let by = section.need("by").and_then(|node| node.word());
        let at = section.need("at").and_then(|n| parts::exact_pointer(&n));
        section.end();
        by.zip(at)
    };
    let list = node.list(true)?;
    if list.is_empty() {
        let message = "lists nothing";
        node.error(
            "reports",
            message,
            "name a mark: { by = \"reference\", at = … }",
        );
        return None;
    }
    // All are read before the first that is wrong fails the list.
    let list: Vec<_> = list.iter().map(one).collect();
    list.into_iter().collect()
}

impl Contract {
    /// The reports in the body of a delivery, after [`Contract::verify_callback`]. Those that say nothing are left out; a
    /// body that holds none is kept and shown by whoever took it. Where only hearsay says how reports look, none is read.
    #[must_use]
    pub fn read_callbacks(&self, body: &[u8]) -> Vec<CallbackReading> {
        if !self.claims.relied_on("/callback") {
            return Vec::new();
        }
        self.reports_of(body)
    }

    /// The reports in a body, whoever describes them.
    pub(crate) fn reports_of(&self, body: &[u8]) -> Vec<CallbackReading> {
        let Some(callback) = &self.callback else {
            return Vec::new();
        };
        let document = callback.document(body);
        document.map_or_else(Vec::new, |document| callback.reports.all(&document))
    }

    /// Whether reports name the reference that we write into the destination.
    #[must_use]
    pub fn reports_by_reference(&self) -> bool {
        self.reports_name(By::Reference)
    }

    /// Whether reports name the provider key that we send.
    #[must_use]
    pub fn reports_by_key(&self) -> bool {
        self.reports_name(By::Key)
    }

    fn reports_name(&self, by: By) -> bool {
        let callback = self.callback.as_ref().map(|callback| &callback.reports);
        let events = self.events.as_ref().map(Events::reports);
        let mut all = callback.into_iter().chain(events);
        all.any(|reports| reports.matches.iter().any(|(other, _)| *other == by))
    }

    /// The first report in the body of a delivery, for destinations that send one at a time.
    #[must_use]
    pub fn read_callback(&self, body: &[u8]) -> Option<CallbackReading> {
        self.read_callbacks(body).into_iter().next()
    }
}
