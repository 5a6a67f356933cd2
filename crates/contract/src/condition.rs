//! A condition that the destination checks before it acts: `If-Match`, an expected version, a fence.
//!
//! A repeat of a request that carries one cannot undo newer work (R14).

use serde_json::Value;

use crate::build_error::{BuildError, BuildErrorKind};
use crate::claims::Claims;
use crate::http::HttpRequest;
use crate::parts::{self, optional};
use crate::pointer::{Pointer, text_of};
use crate::source::Section;
use crate::template::{Values, is_header_text, member};

/// The section `[effect.condition]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Condition {
    pub(crate) place: Place,
    pub(crate) from: From,
    /// Every submission has to give it.
    pub(crate) required: bool,
    quoted: bool,
}

/// Where it stands in the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Header(String),
    Member(Pointer),
}

/// What it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum From {
    /// The same in every request: `*`.
    Fixed(String),
    /// What the submission gives under this name.
    Param(String),
}

impl Condition {
    pub(crate) fn read(section: &Section<'_>, claims: &mut Claims) -> Option<Self> {
        claims.note(section);
        claims.require(section, "", "a condition that is checked");
        let header = optional(section.get("header"), parts::own_header_name);
        let member = optional(section.get("member"), parts::exact_pointer);
        let value = section.words("value");
        let param = optional(section.get("param"), |node| parts::param_name(node));
        let required = section.get("required");
        let required_given = required.is_some();
        let required = required.map_or(Some(true), |node| node.flag());
        let quoted = section.flag("quoted");
        section.end();
        let place = match (header?, member?) {
            (Some(name), None) => Place::Header(name),
            (None, Some(at)) => Place::Member(at),
            (_, _) => {
                let message = "does not name the one place where it stands";
                section.error("", "condition", message, "write `header` or `member`");
                return None;
            }
        };
        let from = match (value, param?) {
            (Some(text), None) if !required_given => From::Fixed(text),
            (None, Some(name)) => From::Param(name),
            (_, _) => {
                let message = "does not say what it is compared with";
                let remedy = "write `value`, or `param` and whether it is `required`";
                section.error("", "condition", message, remedy);
                return None;
            }
        };
        Some(Self {
            place,
            from,
            required: required?,
            quoted,
        })
    }

    /// Whether every request carries it.
    pub(crate) fn always(&self) -> bool {
        self.required || matches!(self.from, From::Fixed(_))
    }

    /// What it says for this submission; none where the submission says nothing. A parameter keeps its JSON type.
    pub(crate) fn json(&self, values: &Values<'_>) -> Result<Option<Value>, BuildError> {
        Ok(match &self.from {
            From::Fixed(text) => Some(Value::from(text.as_str())),
            From::Param(name) => {
                let given = values
                    .params
                    .is_some_and(|params| params.contains_key(name));
                if !given && !self.required {
                    return Ok(None);
                }
                Some(values.json(name)?)
            }
        })
    }

    /// Adds the header, if it is one.
    pub(crate) fn put_header(
        &self,
        request: &mut HttpRequest,
        values: &Values<'_>,
    ) -> Result<(), BuildError> {
        let (Place::Header(name), Some(value)) = (&self.place, self.json(values)?) else {
            return Ok(());
        };
        let text = text_of(&value).unwrap_or_else(|| value.to_string());
        let breaks = self.quoted && text.contains(['"', '\\']);
        if !is_header_text(&text) || breaks {
            let place = match &self.from {
                From::Param(param) => member(param),
                From::Fixed(_) => "/effect/condition".to_owned(),
            };
            return Err(BuildError::new(place, BuildErrorKind::NotHeaderText));
        }
        let text = if self.quoted {
            format!("\"{text}\"")
        } else {
            text
        };
        request.headers.push((name.clone(), text));
        Ok(())
    }

    /// Whether this request carries it.
    pub(crate) fn stands_in(&self, request: &HttpRequest) -> bool {
        match &self.place {
            Place::Header(name) => request.headers.iter().any(|(n, _)| n == name),
            Place::Member(at) => serde_json::from_slice(&request.body)
                .is_ok_and(|body| at.get(&body).is_some_and(|value| !value.is_null())),
        }
    }
}
