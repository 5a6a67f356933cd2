//! Requests as contracts describe them, and as they are sent.

use std::collections::BTreeSet;

use crate::body::{self, FormStyle};
use crate::build_error::{BuildError, BuildErrorKind};
use crate::document::Query;
use crate::http::HttpRequest;
use crate::parts;
use crate::shape::Shape;
use crate::source::{Node, Section};
use crate::template::{RESERVED, Template, Values};

/// A request with places for values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: Template,
    pub(crate) headers: Vec<(String, Template)>,
    pub(crate) own: Own,
}

/// A body that the contract writes itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Own {
    None,
    Json(Shape),
    Form(Shape),
    Graphql(Query),
}

const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

impl Request {
    /// From a section with `method`, `path`, `headers` and `json`. `made` are the reserved names that have a value here.
    pub(crate) fn read(section: &Section<'_>, usual_method: &str, made: &[&str]) -> Option<Self> {
        let method = match section.get("method") {
            Some(node) => method(&node),
            None => Some(usual_method.to_owned()),
        };
        let headers = parts::headers(section, made);
        let own = Own::read(section, made);
        let path = section.need("path").and_then(|node| path(&node, made));
        Some(Self {
            method: method?,
            path: path?,
            headers,
            own: own.unwrap_or(Own::None),
        })
    }

    /// The names of all its places.
    pub(crate) fn names(&self) -> BTreeSet<&str> {
        let mut names = self.path.names();
        names.extend(self.headers.iter().flat_map(|(_, t)| t.names()));
        match &self.own {
            Own::None => {}
            Own::Json(shape) | Own::Form(shape) => names.extend(shape.names()),
            Own::Graphql(query) => names.extend(query.names()),
        }
        names
    }

    /// The request with these values, and the body that the contract writes itself.
    pub(crate) fn build(&self, values: &Values<'_>) -> Result<HttpRequest, BuildError> {
        let mut headers = Vec::with_capacity(self.headers.len() + 1);
        for (name, template) in &self.headers {
            headers.push((name.clone(), template.fill_header(values)?));
        }
        let (body, content_type) = self.own.fill(values)?;
        let mut request = HttpRequest {
            method: self.method.clone(),
            path_and_query: self.path.fill_path(values)?,
            headers,
            body: body.into_bytes(),
        };
        if !content_type.is_empty() {
            default_header(&mut request, "content-type", content_type);
        }
        default_header(&mut request, "accept", "application/json");
        Ok(request)
    }
}

impl Own {
    /// `json`, `form` or `graphql`: at most one. None where it could not be read.
    fn read(section: &Section<'_>, made: &[&str]) -> Option<Self> {
        let json = section.get("json");
        let form = section.get("form");
        let graphql = section.get("graphql");
        match (json, form, graphql) {
            (None, None, None) => Some(Self::None),
            (Some(node), None, None) => Shape::read_known(&node, made).map(Self::Json),
            (None, Some(node), None) => {
                node.section()?;
                Shape::read_known(&node, made).map(Self::Form)
            }
            (None, None, Some(node)) => Query::read(&node, made).map(Self::Graphql),
            (_, _, _) => {
                let message = "writes more than one body";
                let remedy = "keep one of `json`, `form` and `graphql`";
                section.error("", "body_form", message, remedy);
                None
            }
        }
    }

    /// The body and its content type; both empty where there is none.
    fn fill(&self, values: &Values<'_>) -> Result<(String, &'static str), BuildError> {
        Ok(match self {
            Self::None => (String::new(), ""),
            Self::Json(shape) => (shape.fill(values)?.to_string(), "application/json"),
            Self::Form(shape) => {
                let text = body::form(&shape.fill(values)?, FormStyle::default())?;
                (text, "application/x-www-form-urlencoded")
            }
            Self::Graphql(query) => (query.fill(values)?, "application/json"),
        })
    }
}

/// Adds a header unless the contract sets it.
pub(crate) fn default_header(request: &mut HttpRequest, name: &str, value: &str) {
    if !request.headers.iter().any(|(n, _)| n == name) {
        let header = (name.to_owned(), value.to_owned());
        request.headers.push(header);
    }
}

/// The error for a request that a contract does not have.
pub(crate) fn not_in_contract(section: &str) -> BuildError {
    BuildError::new(section, BuildErrorKind::NotInContract)
}

/// Complains about reserved names that have no value here.
pub(crate) fn known_names(node: &Node<'_>, names: &BTreeSet<&str>, made: &[&str]) -> bool {
    let wrong = names
        .iter()
        .find(|name| RESERVED.contains(name) && !made.contains(name));
    if let Some(name) = wrong {
        let usable: Vec<_> = made.iter().map(|name| format!("{{{name}}}")).collect();
        let remedy = match usable.as_slice() {
            [] => "use parameters only".to_owned(),
            usable => format!("use parameters, or {}", usable.join(", ")),
        };
        node.error("place", format!("{{{name}}} has no value here"), remedy);
    }
    wrong.is_none()
}

fn method(node: &Node<'_>) -> Option<String> {
    let text = node.text()?;
    if METHODS.contains(&text) {
        return Some(text.to_owned());
    }
    let message = format!("`{text}` is no method that can be sent");
    let remedy = format!("write one of {}", METHODS.join(", "));
    node.error("method", message, remedy);
    None
}

/// A path below the destination's base address, with its query.
pub(crate) fn path(node: &Node<'_>, made: &[&str]) -> Option<Template> {
    let text = node.text()?;
    if let Err(why) = path_form(text) {
        let remedy =
            "write it from its first slash, percent-encoded, without fragment: \"/a/{b}?c={d}\"";
        node.error("path_form", why, remedy);
        return None;
    }
    let template = node.checked(Template::parse(text))?;
    known_names(node, &template.names(), made).then_some(template)
}

fn path_form(text: &str) -> Result<(), String> {
    if !text.starts_with('/') {
        return Err("does not begin with a slash".to_owned());
    }
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-._~!$&'()*+,;=:@/?%{}".contains(c);
    if let Some(wrong) = text.chars().find(|c| !allowed(*c)) {
        return Err(format!("holds `{}`", wrong.escape_default()));
    }
    let escapes = text.split('%').skip(1);
    let is_escape = |after: &str| {
        let pair = after.get(..2);
        pair.is_some_and(|pair| pair.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    if !escapes.into_iter().all(is_escape) {
        return Err("has a % that begins no escape".to_owned());
    }
    let path = text.split('?').next().unwrap_or_default();
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    let inner = segments.len().saturating_sub(1);
    if segments[..inner].iter().any(|segment| segment.is_empty()) {
        return Err("has an empty segment".to_owned());
    }
    if segments.iter().any(|s| *s == "." || *s == "..") {
        return Err("has a dot segment".to_owned());
    }
    Ok(())
}
