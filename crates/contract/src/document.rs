//! GraphQL documents with places for our marks: `@idempotent(key: "<key>")`.
//!
//! Braces are GraphQL's own, so that places are written in angle brackets, which it does not have. A place stands inside
//! of a quoted text; what is put there can never end that text.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::build_error::BuildError;
use crate::shape::Shape;
use crate::source::{Node, Section};
use crate::template::Values;

/// The names that can stand in a document.
const PLACES: [&str; 2] = ["key", "reference"];

/// A document, as it is sent but for its places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Document(String);

/// A GraphQL request that a contract writes itself: a document and its variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Query {
    pub(crate) document: Document,
    pub(crate) variables: Shape,
}

impl Document {
    pub(crate) fn read(node: &Node<'_>, made: &[&str]) -> Option<Self> {
        let text = node.words()?;
        let opening = text.matches('{').count();
        if opening == 0 || opening != text.matches('}').count() {
            let message = "is no GraphQL document: its braces do not pair";
            let remedy = "write the whole document: \"mutation($input: I!) { create(input: $input) { id } }\"";
            node.error("graphql", message, remedy);
            return None;
        }
        let document = Self(text.to_owned());
        for name in document.names() {
            if !made.contains(&name) {
                let message = format!("<{name}> has no value here");
                node.error("place", message, "leave it out, or add what makes it");
                return None;
            }
            // A name between quotes is a whole text, so that its value stays inside of it.
            if !text.contains(&format!("\"<{name}>\"")) {
                let message = format!("<{name}> does not stand between quotes");
                let remedy = format!("write \"<{name}>\", with the quotes");
                node.error("graphql", message, remedy);
                return None;
            }
        }
        Some(document)
    }

    /// The names of its places.
    pub(crate) fn names(&self) -> BTreeSet<&'static str> {
        let stands = |name: &&str| self.0.contains(&format!("<{name}>"));
        PLACES.into_iter().filter(stands).collect()
    }

    /// The document as it is written, with its places.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// Whether our key is the argument of this directive.
    pub(crate) fn has_directive(&self, name: &str) -> bool {
        let after = self.0.split_once(&format!("@{name}("));
        let arguments = after.and_then(|(_, rest)| rest.split_once(')'));
        arguments.is_some_and(|(arguments, _)| arguments.contains("\"<key>\""))
    }

    pub(crate) fn fill(&self, values: &Values<'_>) -> Result<String, BuildError> {
        let mut text = self.0.clone();
        for name in self.names() {
            let Value::String(value) = values.json(name)? else {
                continue;
            };
            // Texts of GraphQL are escaped like those of JSON.
            let quoted = Value::String(value).to_string();
            text = text.replace(&format!("\"<{name}>\""), &quoted);
        }
        Ok(text)
    }
}

impl Query {
    /// `graphql = { document = "…", variables = { … } }`
    pub(crate) fn read(node: &Node<'_>, made: &[&str]) -> Option<Self> {
        let section: Section<'_> = node.section()?;
        let document = section.need("document");
        let document = document.and_then(|node| Document::read(&node, made));
        let variables = match section.get("variables") {
            Some(node) => Shape::read_known(&node, made),
            None => Some(Shape::Object(Vec::new())),
        };
        section.end();
        Some(Self {
            document: document?,
            variables: variables?,
        })
    }

    pub(crate) fn names(&self) -> BTreeSet<&str> {
        let mut names = self.variables.names();
        names.extend(self.document.names());
        names
    }

    pub(crate) fn fill(&self, values: &Values<'_>) -> Result<String, BuildError> {
        let variables = self.variables.fill(values)?.to_string();
        Ok(body(&self.document.fill(values)?, &variables))
    }
}

/// The body of a GraphQL request; the variables stay as they are written.
pub(crate) fn body(document: &str, variables: &str) -> String {
    let document = Value::String(document.to_owned());
    format!("{{\"query\":{document},\"variables\":{variables}}}")
}
