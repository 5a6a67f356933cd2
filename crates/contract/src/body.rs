//! What becomes of a payload: JSON as it is written, a form, parts, the variables of a GraphQL document, plain text or bytes.
//!
//! Equal payloads give equal bytes: members of a form or of parts stand in the order of their names, and the boundary
//! between parts is a hash of what stands between them.

use serde_json::Value;

use crate::base64;
use crate::build_error::{BuildError, BuildErrorKind};
use crate::document::{self, Document};
use crate::source::{Section, Word, child};
use crate::template::{Values, encode_into, is_header_text};
use crate::text::{self, Insert};

/// What becomes of the payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// It has to be JSON, and is sent as it is written.
    Json,
    /// It has to be a JSON object, and is sent as a form.
    Form(FormStyle),
    /// It has to be a JSON object, and each member is sent as a part.
    Multipart,
    /// It has to be a JSON object, and is sent as the variables of this document.
    Graphql(Document),
    /// It has to be a JSON string, and its characters are sent.
    Text(Vec<Insert>),
    /// It is sent as it is.
    Bytes,
    /// There is none.
    None,
}

/// How nested values are named in a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FormStyle {
    pub(crate) nested: Nested,
    pub(crate) lists: Lists,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nested {
    /// `a[b]`
    Brackets,
    /// `a.b`
    Dots,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lists {
    /// `a[0]`, `a[1]`, or `a.0`
    Indices,
    /// `a[]`, several times
    Brackets,
    /// `a`, several times
    Repeat,
}

/// The words for bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Json,
    Form,
    Multipart,
    Graphql,
    Text,
    Bytes,
    None,
}

impl Word for Kind {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("json", Self::Json),
        ("form", Self::Form),
        ("multipart", Self::Multipart),
        ("graphql", Self::Graphql),
        ("text", Self::Text),
        ("bytes", Self::Bytes),
        ("none", Self::None),
    ];
}

impl Word for Nested {
    const WORDS: &'static [(&'static str, Self)] =
        &[("brackets", Self::Brackets), ("dots", Self::Dots)];
}

impl Word for Lists {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("indices", Self::Indices),
        ("brackets", Self::Brackets),
        ("repeat", Self::Repeat),
    ];
}

impl Default for FormStyle {
    fn default() -> Self {
        Self {
            nested: Nested::Brackets,
            lists: Lists::Indices,
        }
    }
}

impl Body {
    /// `body`, and what belongs to it: `form_style`, `document`, `insert`.
    pub(crate) fn read(section: &Section<'_>, made: &[&str]) -> Option<Self> {
        let form = match section.get("body") {
            Some(node) => node.word(),
            None => Some(Kind::Json),
        };
        let style = match section.get("form_style") {
            Some(node) => FormStyle::read(&node.section()?),
            None => Some(FormStyle::default()),
        };
        let document = section.get("document");
        let inserts = text::inserts(section, made);
        let form = form?;
        if form != Kind::Form && section.get("form_style").is_some() {
            let message = "belongs to a form";
            section.error(
                "form_style",
                "body_form",
                message,
                "write `body = \"form\"`",
            );
        }
        if form != Kind::Text && section.get("insert").is_some() {
            let message = "puts text into a body that is not plain text";
            section.error("insert", "body_form", message, "write `body = \"text\"`");
        }
        if (form == Kind::Graphql) != document.is_some() {
            let message = "knows only one of the body \"graphql\" and its document";
            let remedy = "write `body = \"graphql\"` and `document = \"…\"`";
            section.error("document", "body_form", message, remedy);
            return None;
        }
        Some(match form {
            Kind::Json => Self::Json,
            Kind::Form => Self::Form(style?),
            Kind::Multipart => Self::Multipart,
            Kind::Graphql => Self::Graphql(Document::read(&document?, made)?),
            Kind::Text => Self::Text(inserts?),
            Kind::Bytes => Self::Bytes,
            Kind::None => Self::None,
        })
    }

    /// Whether the payload is JSON, so that members can be set in it before it is encoded.
    pub(crate) fn is_structured(&self) -> bool {
        match self {
            Self::Json | Self::Form(_) | Self::Multipart | Self::Graphql(_) => true,
            Self::Text(_) | Self::Bytes | Self::None => false,
        }
    }

    /// The word of the language for the places in it: what a key placed there is called.
    pub(crate) fn member_word(&self) -> Option<&'static str> {
        match self {
            Self::Json => Some("member"),
            Self::Form(_) | Self::Multipart => Some("field"),
            Self::Graphql(_) => Some("variable"),
            Self::Text(_) | Self::Bytes | Self::None => None,
        }
    }

    /// The names of the places in the document.
    pub(crate) fn document(&self) -> Option<&Document> {
        match self {
            Self::Graphql(document) => Some(document),
            Self::Json
            | Self::Form(_)
            | Self::Multipart
            | Self::Text(_)
            | Self::Bytes
            | Self::None => None,
        }
    }

    /// What is put into a plain text.
    pub(crate) fn inserts(&self) -> &[Insert] {
        match self {
            Self::Text(inserts) => inserts,
            Self::Json
            | Self::Form(_)
            | Self::Multipart
            | Self::Graphql(_)
            | Self::Bytes
            | Self::None => &[],
        }
    }

    /// The body of a structured payload, and its content type.
    pub(crate) fn encode(
        &self,
        text: String,
        values: &Values<'_>,
    ) -> Result<(Vec<u8>, String), BuildError> {
        let body = match self {
            Self::Json | Self::Text(_) | Self::Bytes | Self::None => {
                (text.into_bytes(), "application/json")
            }
            Self::Graphql(document) => {
                object(&text)?;
                let body = document::body(&document.fill(values)?, &text);
                (body.into_bytes(), "application/json")
            }
            Self::Form(style) => {
                let body = form(&object(&text)?, *style)?;
                (body.into_bytes(), "application/x-www-form-urlencoded")
            }
            Self::Multipart => return multipart(&object(&text)?),
        };
        Ok((body.0, body.1.to_owned()))
    }
}

impl FormStyle {
    fn read(section: &Section<'_>) -> Option<Self> {
        let usual = Self::default();
        let nested = section.get("nested").map(|node| node.word());
        let lists = section.get("lists").map(|node| node.word());
        section.end();
        Some(Self {
            nested: nested.unwrap_or(Some(usual.nested))?,
            lists: lists.unwrap_or(Some(usual.lists))?,
        })
    }
}

fn object(text: &str) -> Result<Value, BuildError> {
    let fail = |kind| BuildError::new("/payload", kind);
    let value: Value = serde_json::from_str(text).map_err(|_| fail(BuildErrorKind::NotJson))?;
    value
        .is_object()
        .then_some(value)
        .ok_or(fail(BuildErrorKind::NotObject))
}

/// An object as a form.
pub(crate) fn form(value: &Value, style: FormStyle) -> Result<String, BuildError> {
    let mut fields = Vec::new();
    fields_of(value, style, String::new(), "/payload", &mut fields)?;
    let mut text = String::new();
    for (name, value) in &fields {
        if !text.is_empty() {
            text.push('&');
        }
        encode_into(&mut text, name);
        text.push('=');
        encode_into(&mut text, value);
    }
    Ok(text)
}

fn fields_of(
    value: &Value,
    style: FormStyle,
    name: String,
    path: &str,
    fields: &mut Vec<(String, String)>,
) -> Result<(), BuildError> {
    match value {
        Value::Object(members) => {
            // Sorted here, whatever order the map has: equal payloads give equal bytes.
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(member, _)| *member);
            for (member, value) in members {
                let inner = match (name.is_empty(), style.nested) {
                    (true, _) => member.clone(),
                    (false, Nested::Brackets) => format!("{name}[{member}]"),
                    (false, Nested::Dots) => format!("{name}.{member}"),
                };
                fields_of(value, style, inner, &child(path, member), fields)?;
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                let inner = match (style.lists, style.nested) {
                    (Lists::Indices, Nested::Brackets) => format!("{name}[{index}]"),
                    (Lists::Indices, Nested::Dots) => format!("{name}.{index}"),
                    (Lists::Brackets, _) => format!("{name}[]"),
                    (Lists::Repeat, _) => name.clone(),
                };
                fields_of(item, style, inner, &child(path, &index.to_string()), fields)?;
            }
        }
        Value::Null => return Err(BuildError::new(path, BuildErrorKind::NotScalar)),
        Value::String(text) => fields.push((name, text.clone())),
        Value::Bool(_) | Value::Number(_) => fields.push((name, value.to_string())),
    }
    Ok(())
}

/// One part of a body: its headers beside the name, and its bytes.
struct Part {
    name: String,
    filename: Option<String>,
    content_type: Option<String>,
    bytes: Vec<u8>,
}

/// An object as parts. `{ filename, content_type, base64 or text }` is a file; other objects are parts of JSON.
fn multipart(value: &Value) -> Result<(Vec<u8>, String), BuildError> {
    let mut members: Vec<_> = value.as_object().into_iter().flatten().collect();
    members.sort_by_key(|(name, _)| *name);
    let mut parts = Vec::new();
    for (name, value) in members {
        let path = child("/payload", name);
        match value {
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    parts.push(Part::of(name, item, &child(&path, &index.to_string()))?);
                }
            }
            value => parts.push(Part::of(name, value, &path)?),
        }
    }
    let mut hasher = blake3::Hasher::new_derive_key("factum contract 2026-11 boundary");
    for part in &parts {
        hasher.update(part.head().as_bytes());
        hasher.update(&part.bytes);
    }
    let boundary = format!("factum-{}", &hasher.finalize().to_hex()[..40]);
    let mut body = Vec::new();
    for part in &parts {
        body.extend(format!("--{boundary}\r\n{}\r\n", part.head()).into_bytes());
        body.extend(&part.bytes);
        body.extend(b"\r\n");
    }
    body.extend(format!("--{boundary}--\r\n").into_bytes());
    Ok((body, format!("multipart/form-data; boundary={boundary}")))
}

impl Part {
    fn of(name: &str, value: &Value, path: &str) -> Result<Self, BuildError> {
        let part = |bytes: Vec<u8>, content_type: Option<&str>| Self {
            name: name.to_owned(),
            filename: None,
            content_type: content_type.map(str::to_owned),
            bytes,
        };
        let part = match value {
            Value::Null => return Err(BuildError::new(path, BuildErrorKind::NotScalar)),
            Value::String(text) => part(text.clone().into_bytes(), None),
            Value::Bool(_) | Value::Number(_) => part(value.to_string().into_bytes(), None),
            Value::Object(members) if members.contains_key("filename") => {
                let text = |member: &str| members.get(member).and_then(Value::as_str);
                let coded = text("base64").map(base64::decode);
                let bytes = match (coded, text("text")) {
                    (Some(bytes), None) => bytes,
                    (None, Some(text)) => Some(text.as_bytes().to_vec()),
                    (Some(_), Some(_)) | (None, None) => None,
                };
                let bytes = bytes.ok_or_else(|| BuildError::new(path, BuildErrorKind::NotFile))?;
                Self {
                    filename: text("filename").map(str::to_owned),
                    ..part(bytes, text("content_type"))
                }
            }
            Value::Object(_) | Value::Array(_) => {
                part(value.to_string().into_bytes(), Some("application/json"))
            }
        };
        let filename = part.filename.as_deref().unwrap_or_default();
        let content_type = part.content_type.as_deref().unwrap_or_default();
        if [name, filename]
            .iter()
            .any(|text| text.contains(char::is_control))
            || !is_header_text(content_type)
        {
            return Err(BuildError::new(path, BuildErrorKind::NotHeaderText));
        }
        Ok(part)
    }

    fn head(&self) -> String {
        // As browsers do it: a quote in a name is written as its escape.
        let quoted = |text: &str| text.replace('"', "%22");
        let mut head = format!(
            "content-disposition: form-data; name=\"{}\"",
            quoted(&self.name)
        );
        if let Some(filename) = &self.filename {
            head.push_str(&format!("; filename=\"{}\"", quoted(filename)));
        }
        head.push_str("\r\n");
        if let Some(content_type) = &self.content_type {
            head.push_str(&format!("content-type: {content_type}\r\n"));
        }
        head
    }
}
