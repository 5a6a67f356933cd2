//! Reading backwards what templates and shapes write: which values stand in a text that was made from one.
//!
//! Nothing is guessed: a text that the template cannot have made gives no values, and one name has one value.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::document::{Document, Query};
use crate::pointer::text_of;
use crate::shape::Shape;
use crate::template::{Template, decoded};

/// The values of places, by name.
pub(crate) type Found = BTreeMap<String, String>;

/// A piece of a pattern: a text, or the name of a place.
type Part<'a> = (Option<&'a str>, Option<&'a str>);

/// Adds a value; false where the name has another one already.
fn note(found: &mut Found, name: &str, value: String) -> bool {
    match found.get(name) {
        Some(known) => *known == value,
        None => {
            found.insert(name.to_owned(), value);
            true
        }
    }
}

/// The values that make this text of these parts; a value is never empty, and holds none of the stops.
fn fit(parts: &[Part<'_>], text: &str, stops: &[char], found: &mut Found) -> bool {
    let Some(((fixed, name), rest)) = parts.split_first() else {
        return text.is_empty();
    };
    if let Some(fixed) = fixed {
        return text
            .strip_prefix(fixed)
            .is_some_and(|after| fit(rest, after, stops, found));
    }
    let name = name.unwrap_or_default();
    let end = text.find(stops).unwrap_or(text.len());
    // The longest value first: what follows a place is short, and often stands in values too.
    let cuts: Vec<usize> = text
        .char_indices()
        .map(|(at, c)| at + c.len_utf8())
        .take_while(|cut| *cut <= end)
        .collect();
    for cut in cuts.into_iter().rev() {
        let mut trial = found.clone();
        let value = text[..cut].to_owned();
        if note(&mut trial, name, value) && fit(rest, &text[cut..], stops, &mut trial) {
            *found = trial;
            return true;
        }
    }
    false
}

impl Template {
    /// The values that make this plain text.
    pub(crate) fn fits(&self, text: &str, found: &mut Found) -> bool {
        let parts: Vec<Part<'_>> = self.pieces().collect();
        fit(&parts, text, &[], found)
    }

    /// The values that make this path and query. Parameters of the query may stand in any order, and further ones beside
    /// them.
    pub(crate) fn fits_path(&self, target: &str, found: &mut Found) -> bool {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut sections = self.sections().into_iter();
        let mut raw = Found::new();
        let first = sections.next().unwrap_or_default();
        if !fit(&first, path, &['/'], &mut raw) {
            return false;
        }
        for section in sections {
            let pair = |pair: &&str| fit(&section, pair, &[], &mut raw.clone());
            let Some(pair) = query.split('&').find(pair) else {
                return false;
            };
            if !fit(&section, pair, &[], &mut raw) {
                return false;
            }
        }
        raw.into_iter()
            .all(|(name, value)| note(found, &name, decoded(&value.replace('+', " "))))
    }

    /// The path, and each parameter of the query.
    fn sections(&self) -> Vec<Vec<Part<'_>>> {
        let mut sections: Vec<Vec<Part<'_>>> = vec![Vec::new()];
        for (text, name) in self.pieces() {
            let Some(text) = text else {
                sections
                    .last_mut()
                    .into_iter()
                    .for_each(|s| s.push((None, name)));
                continue;
            };
            for (index, piece) in text.split(['?', '&']).enumerate() {
                if index > 0 {
                    sections.push(Vec::new());
                }
                if !piece.is_empty() {
                    sections
                        .last_mut()
                        .into_iter()
                        .for_each(|s| s.push((Some(piece), None)));
                }
            }
        }
        sections
    }
}

impl Shape {
    /// The values that make this JSON, which may have further members.
    pub(crate) fn fits(&self, value: &Value, found: &mut Found) -> bool {
        match (self, value) {
            (Self::Text(template), value) => match template.only_place() {
                Some(name) => plain(value).is_some_and(|text| note(found, name, text)),
                None => plain(value).is_some_and(|text| template.fits(&text, found)),
            },
            (Self::Integer(number), value) => plain(value) == Some(number.to_string()),
            (Self::Flag(flag), value) => plain(value) == Some(flag.to_string()),
            (Self::List(shapes), Value::Array(items)) => {
                let pairs = shapes.iter().zip(items);
                shapes.len() == items.len() && pairs.into_iter().all(|(s, v)| s.fits(v, found))
            }
            (Self::Object(shapes), Value::Object(members)) => shapes.iter().all(|(name, shape)| {
                members
                    .get(name)
                    .is_some_and(|value| shape.fits(value, found))
            }),
            (Self::List(_) | Self::Object(_), _) => false,
        }
    }

    /// Whether nothing in it is a place: then it tells requests of one path apart.
    pub(crate) fn is_fixed(&self) -> bool {
        self.names().is_empty()
    }
}

/// A text, a number or a flag as text: a form has nothing but texts.
pub(crate) fn plain(value: &Value) -> Option<String> {
    text_of(value).or_else(|| value.as_bool().map(|flag| flag.to_string()))
}

impl Document {
    /// The marks that stand in this document, if it is made from this one.
    pub(crate) fn fits(&self, text: &str, found: &mut Found) -> bool {
        let mut parts: Vec<Part<'_>> = Vec::new();
        let mut rest = self.text();
        while let Some((before, after)) = rest.split_once("\"<") {
            let Some((name, after)) = after.split_once(">\"") else {
                break;
            };
            parts.extend([
                (Some(before), None),
                (Some("\""), None),
                (None, Some(name)),
                (Some("\""), None),
            ]);
            rest = after;
        }
        parts.push((Some(rest), None));
        fit(&parts, text, &['"'], found)
    }
}

impl Query {
    /// The values that make this GraphQL request.
    pub(crate) fn fits(&self, body: &Value, found: &mut Found) -> bool {
        let nothing = Value::Object(serde_json::Map::new());
        let text = body.get("query").and_then(Value::as_str);
        let variables = body.get("variables").unwrap_or(&nothing);
        text.is_some_and(|text| self.document.fits(text, found))
            && self.variables.fits(variables, found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(template: &str, target: &str) -> Option<Vec<(String, String)>> {
        let mut found = Found::new();
        let template = Template::parse(template).unwrap();
        template
            .fits_path(target, &mut found)
            .then(|| found.into_iter().collect())
    }

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn paths_give_their_values_back() {
        assert_eq!(
            path("/a/{x}.json", "/a/1%20b.json"),
            Some(vec![pair("x", "1 b")])
        );
        assert_eq!(path("/a/{x}", "/a/b/c"), None);
        assert_eq!(path("/a/{x}/{x}", "/a/1/2"), None);
        assert_eq!(
            path("/a?q={x}&limit=2", "/a?limit=2&api_key=s&q=t%26u"),
            Some(vec![pair("x", "t&u")])
        );
        assert_eq!(path("/a?q={x}&limit=2", "/a?q=t"), None);
        assert_eq!(path("/a", "/a?further=1"), Some(Vec::new()));
    }

    #[test]
    fn shapes_give_their_values_back() {
        let document = serde_json::json!({"field": "7", "value": "r-1", "more": true});
        let text = |text| Shape::Text(Template::parse(text).unwrap());
        let shape = Shape::Object(vec![
            ("field".to_owned(), Shape::Integer(7)),
            ("value".to_owned(), text("r-{x}")),
        ]);
        let mut found = Found::new();
        assert!(shape.fits(&document, &mut found));
        assert_eq!(found.get("x").map(String::as_str), Some("1"));
        assert!(!text("other").fits(&document, &mut Found::new()));
    }
}
