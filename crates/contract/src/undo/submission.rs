//! What the operation that undoes an effect is submitted with: written by the contract of the effect, filled from its
//! submission and its receipt.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::build_error::{BuildError, BuildErrorKind};
use crate::contract::Contract;
use crate::finding::Finding;
use crate::parts::{self, optional};
use crate::pointer::Pointer;
use crate::shape::Shape;
use crate::source::{Node, Report, Section, child};
use crate::template::Values;

/// The destination's own name for the effect.
const RECEIPT: &str = "receipt";
/// The reserved names that have a value here.
const MADE: [&str; 1] = ["reference"];

/// `params`, `payload` and `from_payload` of the section `[undo]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Submission {
    params: Vec<(String, Shape)>,
    payload: Option<Shape>,
    /// Values of the effect's own payload, by the names that they get here.
    from_payload: Vec<(String, Pointer)>,
}

/// The submission that undoes one effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoSubmission {
    /// The parameters.
    pub params: Map<String, Value>,
    /// The payload; empty for none.
    pub payload: Vec<u8>,
}

impl Submission {
    /// None where the section says nothing of a submission.
    pub(super) fn read(section: &Section<'_>) -> Option<Option<Self>> {
        let params = optional(section.get("params"), |node| entries(node, shape));
        let payload = optional(section.get("payload"), shape);
        let from_payload = optional(section.get("from_payload"), |node| {
            entries(node, parts::exact_pointer)
        });
        let (params, payload, from_payload) = (params?, payload?, from_payload?);
        if params.is_none() && payload.is_none() {
            if from_payload.is_some() {
                let message = "names values for a submission that is not there";
                section.error("from_payload", "undo", message, "add `params` or `payload`");
            }
            return Some(None);
        }
        Some(Some(Self {
            params: params.unwrap_or_default(),
            payload,
            from_payload: from_payload.unwrap_or_default(),
        }))
    }

    /// The names of its places that have no value: neither parameters of the effect, nor taken from its payload.
    pub(super) fn unknown<'a>(&'a self, known: &BTreeSet<String>) -> Vec<(String, &'a str)> {
        let has_value = |name: &str| {
            name == RECEIPT
                || MADE.contains(&name)
                || known.contains(name)
                || self.from_payload.iter().any(|(taken, _)| taken == name)
        };
        let params = self.params.iter();
        let params = params.map(|(name, shape)| (child("/params", name), shape));
        let payload = self
            .payload
            .iter()
            .map(|shape| ("/payload".to_owned(), shape));
        let places = params.chain(payload).flat_map(|(path, shape)| {
            let names = shape.names().into_iter();
            names.map(move |name| (path.clone(), name))
        });
        places.filter(|(_, name)| !has_value(name)).collect()
    }

    fn fill(
        &self,
        params: &Map<String, Value>,
        payload: &[u8],
        reference: &str,
        receipt: &str,
    ) -> Result<UndoSubmission, BuildError> {
        let mut named = params.clone();
        if !self.from_payload.is_empty() {
            let payload: Value = serde_json::from_slice(payload)
                .map_err(|_| BuildError::new("/payload", BuildErrorKind::NotJson))?;
            for (name, pointer) in &self.from_payload {
                let value = pointer.get(&payload).ok_or_else(|| {
                    BuildError::new(format!("/payload{pointer}"), BuildErrorKind::Missing)
                })?;
                named.insert(name.clone(), value.clone());
            }
        }
        named.insert(RECEIPT.to_owned(), Value::from(receipt));
        let values = Values {
            params: Some(&named),
            reference: Some(reference),
            ..Values::default()
        };
        let mut filled = Map::new();
        for (name, shape) in &self.params {
            filled.insert(name.clone(), shape.fill(&values)?);
        }
        let payload = match &self.payload {
            Some(shape) => shape.fill(&values)?.to_string().into_bytes(),
            None => Vec::new(),
        };
        Ok(UndoSubmission {
            params: filled,
            payload,
        })
    }
}

fn shape(node: &Node<'_>) -> Option<Shape> {
    Shape::read_known(node, &MADE)
}

fn entries<T>(node: &Node<'_>, read: impl Fn(&Node<'_>) -> Option<T>) -> Option<Vec<(String, T)>> {
    let entries = node.section()?.entries();
    // All are read before the first that is wrong fails the table.
    let read: Vec<_> = entries
        .into_iter()
        .map(|(name, node)| Some((name, read(&node)?)))
        .collect();
    read.into_iter().collect()
}

impl Contract {
    /// The operation that can be called to undo an effect of this one: the contract says what it is submitted with.
    #[must_use]
    pub fn undone_by(&self) -> Option<&str> {
        let undo = self.undo.as_ref()?;
        undo.submission.as_ref()?;
        undo.operation.as_deref()
    }

    /// What is wrong with the operation that is called to undo: the provider has to have it. `file` and `text` are the
    /// contract's own; `has` tells whether the provider has an operation of this name.
    #[must_use]
    pub fn check_undone_by(
        &self,
        file: &str,
        text: &str,
        has: &dyn Fn(&str) -> bool,
    ) -> Vec<Finding> {
        let Some(name) = self.undone_by().filter(|name| !has(name)) else {
            return Vec::new();
        };
        let report = Report::new(file, text);
        if let Some(tree) = report.tree() {
            let message = format!(
                "`{name}` is none of the operations of `{}`",
                self.provider()
            );
            let remedy = "name one whose contract stands beside this one, or leave `params` and `payload` out";
            let root = report.root(&tree);
            root.error_at("/undo/operation", "undo_operation", message, remedy);
        }
        report.into_findings()
    }

    /// What [`Contract::undone_by`] is submitted with to undo the effect of this submission that has this receipt. None where
    /// the contract does not say.
    ///
    /// # Errors
    /// A value is missing, or is not plain.
    #[must_use]
    pub fn undo_submission(
        &self,
        params: &Map<String, Value>,
        payload: &[u8],
        reference: &str,
        receipt: &str,
    ) -> Option<Result<UndoSubmission, BuildError>> {
        let submission = self.undo.as_ref()?.submission.as_ref()?;
        Some(submission.fill(params, payload, reference, receipt))
    }
}
