//! A body of plain text, as of a calendar: the payload is a JSON string, and its characters are sent.
//!
//! Such a body has no members, so our mark is put in behind a text that has to be there. Nothing of the caller's is replaced.

use crate::build_error::{BuildError, BuildErrorKind};
use crate::request::known_names;
use crate::source::{Node, Section};
use crate::template::{Template, Values};

/// What is put into a text, and behind what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Insert {
    after: String,
    text: Template,
}

/// `insert`: a list of `{ after = "BEGIN:VEVENT\r\n", text = "…{reference}…" }`.
pub(crate) fn inserts(section: &Section<'_>, made: &[&str]) -> Option<Vec<Insert>> {
    let Some(node) = section.get("insert") else {
        return Some(Vec::new());
    };
    let insert = |node: &Node<'_>| {
        let entry = node.section()?;
        let after = entry.need_words("after");
        let text = entry.need("text").and_then(|text| {
            let template = text.checked(Template::parse(text.text()?))?;
            known_names(&text, &template.names(), made).then_some(template)
        });
        entry.end();
        Some(Insert {
            after: after?,
            text: text?,
        })
    };
    // All are read before the first that is wrong fails the list.
    let list: Vec<_> = node.list(true)?.iter().map(insert).collect();
    list.into_iter().collect()
}

impl Insert {
    /// The template of what is put in.
    pub(crate) fn template(&self) -> &Template {
        &self.text
    }
}

/// The characters of a payload that is one JSON string, with what the contract puts in.
pub(crate) fn body(
    payload: &[u8],
    inserts: &[Insert],
    values: &Values<'_>,
) -> Result<Vec<u8>, BuildError> {
    let fail = |kind| BuildError::new("/payload", kind);
    let mut text: String =
        serde_json::from_slice(payload).map_err(|_| fail(BuildErrorKind::NotText))?;
    for insert in inserts {
        let at = text
            .find(&insert.after)
            .ok_or(fail(BuildErrorKind::NoAnchor))?;
        text.insert_str(at + insert.after.len(), &insert.text.fill(values)?);
    }
    Ok(text.into_bytes())
}
