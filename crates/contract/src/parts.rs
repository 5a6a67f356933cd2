//! The small parts that every section of a contract is written with: lengths of time, places, statuses, headers.

use factum_core::Span;
use factum_core::promise::{Consequence, Retention};
use toml::de::DeValue;

use crate::duration;
use crate::finding::Complaint;
use crate::pointer::Pointer;
use crate::request::known_names;
use crate::source::{Node, Section, Word};
use crate::template::{Template, is_header_text};
use crate::when::StatusSet;

impl Word for Consequence {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("harmless", Self::Harmless),
        ("reversible", Self::Reversible),
        ("costly", Self::Costly),
        ("irreversible", Self::Irreversible),
    ];
}

/// Where a value is taken from an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Take {
    /// A member of the body.
    Json(Pointer),
    /// A header, whole.
    Header(String),
    /// The last segment of the path in a header, as in `Location`.
    LastSegment(String),
    /// What stands between two texts of a body that is not JSON.
    Between(String, String),
}

/// A member that may be missing, and has to be right if it is there.
pub(crate) fn optional<'a, T>(
    node: Option<Node<'a>>,
    read: impl FnOnce(&Node<'a>) -> Option<T>,
) -> Option<Option<T>> {
    match node {
        Some(node) => read(&node).map(Some),
        None => Some(None),
    }
}

/// `receipt`: where it stands, or "none" where the destination gives none. It has to be said.
pub(crate) fn receipt(section: &Section<'_>) -> Option<Option<Take>> {
    let Some(node) = section.get("receipt") else {
        let remedy = "add `receipt = { json = \"/id\" }`, or `receipt = \"none\"` if there is none";
        let message = "does not say where the receipt stands";
        section.error("receipt", "receipt_missing", message, remedy);
        return None;
    };
    if node.value().as_str() == Some("none") {
        return Some(None);
    }
    take(&node).map(Some)
}

pub(crate) fn span(node: &Node<'_>) -> Option<Span> {
    node.checked(duration::parse(node.text()?))
}

/// A length of time that is not zero.
pub(crate) fn length(node: &Node<'_>) -> Option<Span> {
    let length = span(node)?;
    if length == Span::ZERO {
        node.error("duration", "is no time at all", "write how long it is");
        return None;
    }
    Some(length)
}

pub(crate) fn pointer(node: &Node<'_>) -> Option<Pointer> {
    node.checked(Pointer::parse(node.text()?))
}

/// A pointer to exactly one place.
pub(crate) fn exact_pointer(node: &Node<'_>) -> Option<Pointer> {
    let pointer = pointer(node)?;
    if pointer.has_wildcard() {
        let message = "has a `*`, and one place is meant here";
        node.error("pointer", message, "name the one member");
        return None;
    }
    Some(pointer)
}

/// The one member of a table that chooses between forms, as in `{ floor = "24 h" }`.
pub(crate) fn choice<'a>(node: &Node<'a>, names: &[&'static str]) -> Option<(String, Node<'a>)> {
    let section = node.section()?;
    let chosen: Vec<_> = names.iter().filter_map(|n| section.get(n)).collect();
    let entry = match (chosen.as_slice(), section.entries().as_slice()) {
        ([_], [entry]) => Some(entry.clone()),
        ([], [(_, _), ..]) | ([_], _) => {
            section.end();
            return None;
        }
        _ => None,
    };
    if entry.is_none() {
        let remedy = format!("write exactly one of {}", names.join(", "));
        node.error("one_form", "has to choose one form", remedy);
    }
    entry
}

pub(crate) fn retention(node: &Node<'_>) -> Option<Retention> {
    if node.is_table() {
        let (form, value) = choice(node, &["floor", "approximate"])?;
        let span = length(&value)?;
        return Some(match form.as_str() {
            "floor" => Retention::Floor(span),
            _ => Retention::Approximate(span),
        });
    }
    match node.text()? {
        "unbounded" => Some(Retention::Unbounded),
        "unpublished" => Some(Retention::Unpublished),
        other => {
            let message = format!("does not know `{other}`");
            let remedy =
                "write { floor = … }, { approximate = … }, \"unbounded\" or \"unpublished\"";
            node.error("unknown_word", message, remedy);
            None
        }
    }
}

pub(crate) fn take(node: &Node<'_>) -> Option<Take> {
    let taken = take_any(node)?;
    if let Take::Json(at) = &taken
        && at.has_wildcard()
    {
        let message = "has a `*`, and one place is meant here";
        node.error("pointer", message, "name the one member");
        return None;
    }
    Some(taken)
}

/// The same where any of several places will do.
pub(crate) fn take_any(node: &Node<'_>) -> Option<Take> {
    let (form, value) = choice(node, &["json", "header", "last_segment", "between"])?;
    match form.as_str() {
        "between" => between(&value),
        "json" => pointer(&value).map(Take::Json),
        "header" => header_name(&value).map(Take::Header),
        _ => header_name(&value).map(Take::LastSegment),
    }
}

fn between(node: &Node<'_>) -> Option<Take> {
    let ends = node.list(false)?;
    let [before, after] = ends.as_slice() else {
        let message = "does not name two texts";
        node.error("between", message, "write [\"<Id>\", \"</Id>\"]");
        return None;
    };
    let (before, after) = (before.words(), after.words());
    Some(Take::Between(before?.to_owned(), after?.to_owned()))
}

/// The name of a parameter of the submission.
pub(crate) fn param_name(node: &Node<'_>) -> Option<String> {
    let name = node.text()?;
    let template = node.checked(Template::parse(&format!("{{{name}}}")))?;
    known_names(node, &template.names(), &[]).then(|| name.to_owned())
}

/// A header's name in lower case.
pub(crate) fn header_name(node: &Node<'_>) -> Option<String> {
    let name = node.text()?;
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(token) {
        let message = format!("`{name}` cannot be the name of a header");
        node.error("header_name", message, "use letters, digits and hyphens");
        return None;
    }
    Some(name.to_ascii_lowercase())
}

/// Headers that the transport alone sets: they frame the message, name the host or carry a secret.
const NOT_OURS: [&str; 14] = [
    "authorization",
    "connection",
    "content-length",
    "cookie",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "accept-encoding",
];

/// The name of a header that a contract may set.
pub(crate) fn own_header_name(node: &Node<'_>) -> Option<String> {
    let name = header_name(node)?;
    reserved(node, &name).then_some(name)
}

fn reserved(node: &Node<'_>, name: &str) -> bool {
    let free = !NOT_OURS.contains(&name);
    if !free {
        let message = format!("`{name}` is set by the transport alone");
        node.error("header_reserved", message, "leave it out");
    }
    free
}

/// A table of headers to send; names in lower case.
pub(crate) fn headers(section: &Section<'_>, made: &[&str]) -> Vec<(String, Template)> {
    let table = section.sub("headers");
    let entries = table.map(|table| table.entries()).unwrap_or_default();
    let header = |(name, node): &(String, Node<'_>)| {
        let token = name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
        if !token {
            let message = format!("`{name}` cannot be the name of a header");
            node.error("header_name", message, "use letters, digits and hyphens");
            return None;
        }
        let name = name.to_ascii_lowercase();
        let text = node.text()?;
        if !is_header_text(text) {
            let message = "holds a character that no header can carry";
            node.error("header_value", message, "use printable ASCII on one line");
            return None;
        }
        let template = node.checked(Template::parse(text))?;
        let fine = known_names(node, &template.names(), made) && reserved(node, &name);
        fine.then_some((name, template))
    };
    entries.iter().filter_map(header).collect()
}

/// `201`, `"4xx"`, `"500-599"`, or a list of these.
pub(crate) fn status(node: &Node<'_>) -> Option<StatusSet> {
    let parts = node.list(true)?;
    if parts.is_empty() {
        node.error("status", "names no status", "name one, or leave it out");
        return None;
    }
    let range = |part: &Node<'_>| match part.value() {
        DeValue::Integer(_) => {
            let code = part.integer_in(100, 599)?;
            let code = u16::try_from(code).ok()?;
            Some(code..=code)
        }
        DeValue::String(text) => part.checked(status_range(text)),
        _ => {
            part.wrong_type("a status");
            None
        }
    };
    let ranges: Option<Vec<_>> = parts.iter().map(range).collect();
    ranges.map(StatusSet)
}

fn status_range(text: &str) -> Result<std::ops::RangeInclusive<u16>, Complaint> {
    let code = |text: &str| {
        let code = text.parse::<u16>().ok();
        code.filter(|code| text.len() == 3 && (100..=599).contains(code))
    };
    let class = text.strip_suffix("xx").filter(|digit| digit.len() == 1);
    let range = match (class, text.split_once('-')) {
        (Some(class), _) => code(&format!("{class}00")).map(|first| first..=first + 99),
        (None, Some((first, last))) => code(first)
            .zip(code(last))
            .filter(|(first, last)| first < last)
            .map(|(first, last)| first..=last),
        (None, None) => None,
    };
    range.ok_or_else(|| {
        Complaint::error(
            "status",
            format!("`{text}` is no status, class or range of statuses"),
            "write 201, \"4xx\" or \"500-599\"",
        )
    })
}
