//! Putting the key, and what goes with it, into a request.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::build_error::{BuildError, BuildErrorKind};
use crate::http::HttpRequest;
use crate::key::{Key, Place};
use crate::shape::Shape;
use crate::source::child;
use crate::splice;
use crate::template::{Values, encode_into, is_header_text, member};

impl Key {
    /// Sets the key and its companions in a payload. What the payload itself has to be is checked here.
    pub(crate) fn put_inside(
        &self,
        mut text: String,
        values: &Values<'_>,
    ) -> Result<String, BuildError> {
        for (at, shape) in &self.companions.set {
            text = splice::set(&text, at, &shape.fill(values)?.to_string())?;
        }
        match &self.place {
            Place::Member { at, .. } => {
                text = splice::set(&text, at, &values.json("key")?.to_string())?;
            }
            Place::Item { list, at } => {
                let document: Value = serde_json::from_str(&text).unwrap_or_default();
                let items = list.get(&document).and_then(Value::as_array);
                if items.is_none_or(|items| items.len() != 1) {
                    let path = list
                        .parts()
                        .iter()
                        .fold("/payload".to_owned(), |p, n| child(&p, n));
                    return Err(BuildError::new(path, BuildErrorKind::NotSingle));
                }
                text = splice::set(&text, at, &values.json("key")?.to_string())?;
            }
            Place::Given(members) => {
                let document: Value = serde_json::from_str(&text).unwrap_or_default();
                let lacking = members.iter().find(|at| at.text(&document).is_none());
                if let Some(at) = lacking {
                    let path = at
                        .parts()
                        .iter()
                        .fold("/payload".to_owned(), |p, n| child(&p, n));
                    return Err(BuildError::new(path, BuildErrorKind::Missing));
                }
            }
            Place::Header { .. } | Place::Query(_) | Place::Directive(_) | Place::Path => {}
        }
        Ok(text)
    }

    /// Puts the key and its companions into headers or the query.
    pub(crate) fn put_outside(
        &self,
        request: &mut HttpRequest,
        values: &Values<'_>,
    ) -> Result<(), BuildError> {
        for (name, template) in &self.companions.headers {
            let value = template.fill_header(values)?;
            request.headers.push((name.clone(), value));
        }
        match &self.place {
            Place::Header { name, quoted } => {
                let value = header_value(values.key.unwrap_or_default(), *quoted)?;
                request.headers.push((name.clone(), value));
            }
            Place::Query(name) => {
                let path = &mut request.path_and_query;
                path.push(if path.contains('?') { '&' } else { '?' });
                path.push_str(name);
                path.push('=');
                encode_into(path, &values.text("key")?);
            }
            Place::Member { .. }
            | Place::Item { .. }
            | Place::Directive(_)
            | Place::Path
            | Place::Given(_) => {}
        }
        Ok(())
    }

    pub(crate) fn companion_names(&self) -> BTreeSet<&str> {
        let headers = self.companions.headers.iter();
        let mut names: BTreeSet<&str> =
            headers.flat_map(|(_, template)| template.names()).collect();
        names.extend(
            self.companions
                .set
                .iter()
                .flat_map(|(_, shape): &(_, Shape)| shape.names()),
        );
        names
    }
}

fn header_value(key: &str, quoted: bool) -> Result<String, BuildError> {
    let breaks_quotes = quoted && key.contains(['"', '\\']);
    if key.is_empty() || !is_header_text(key) || breaks_quotes {
        let kind = BuildErrorKind::NotHeaderText;
        return Err(BuildError::new(member("key"), kind));
    }
    Ok(if quoted {
        format!("\"{key}\"")
    } else {
        key.to_owned()
    })
}
