//! The effect request: what is sent to make the thing happen.
//!
//! The payload goes out as it came in. A contract may set members in it that only the engine knows; the rest of the bytes
//! stays untouched.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::build_error::{BuildError, BuildErrorKind};
use crate::claims::Claims;
use crate::contract::Contract;
use crate::http::HttpRequest;
use crate::key::Place;
use crate::parts;
use crate::pointer::Pointer;
use crate::request::{Request, default_header, known_names};
use crate::shape::Shape;
use crate::source::{Section, Word};
use crate::splice;
use crate::template::{Template, Values, is_header_text, member};

/// What an effect request is made of, beside the contract.
#[derive(Clone, Copy, Debug)]
pub struct EffectInput<'a> {
    /// The submission's parameters, by name: texts, numbers, booleans.
    pub params: &'a Map<String, Value>,
    /// The submission's payload, byte for byte; empty for none.
    pub payload: &'a [u8],
    /// The provider key of the attempt's epoch, as [`Contract::encode_key`] writes it.
    pub key: Option<&'a str>,
    /// The reference that carries no epoch, as [`Contract::encode_reference`] writes it.
    pub reference: &'a str,
}

/// The section `[effect]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Effect {
    pub(crate) request: Request,
    body: Body,
    set: Vec<(Pointer, Shape)>,
    pub(crate) direct: bool,
    pub(crate) condition_checked: bool,
}

/// What becomes of the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Body {
    /// It has to be JSON, and is sent as it is written.
    Json,
    /// It is sent as it is.
    Bytes,
    /// There is none.
    None,
}

impl Word for Body {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("json", Self::Json),
        ("bytes", Self::Bytes),
        ("none", Self::None),
    ];
}

impl Effect {
    pub(crate) fn read(section: &Section<'_>, has_key: bool, claims: &mut Claims) -> Option<Self> {
        claims.note(section);
        let made: &[&str] = if has_key {
            &["key", "reference"]
        } else {
            &["reference"]
        };
        let request = Request::read(section, "POST", made);
        let body = match section.get("body") {
            Some(node) => node.word(),
            None => Some(Body::Json),
        };
        let set = set(section, made);
        let direct = section.flag("direct");
        let condition_checked = section.flag("condition_checked");
        for (name, given) in [("direct", direct), ("condition_checked", condition_checked)] {
            if given {
                claims.require(section, name, &format!("`{name}`"));
            }
        }
        let (request, body, set) = (request?, body?, set?);
        if !set.is_empty() && body != Body::Json {
            let remedy = "write `body = \"json\"`, or leave `set` out";
            let message = "sets members in a body that is not JSON";
            section.error("set", "body_form", message, remedy);
        }
        if request.json.is_some() && (body != Body::None || section.get("body").is_none()) {
            let remedy = "write `body = \"none\"` beside `json`";
            let message = "writes a body beside the payload";
            section.error("json", "body_form", message, remedy);
        }
        Some(Self {
            request,
            body,
            set,
            direct,
            condition_checked,
        })
    }

    /// The names of all places.
    pub(crate) fn names(&self) -> BTreeSet<&str> {
        let mut names = self.request.names();
        names.extend(self.set.iter().flat_map(|(_, shape)| shape.names()));
        names
    }
}

/// `set`: a list of `{ at = "/pointer", to = … }`.
fn set(section: &Section<'_>, made: &[&str]) -> Option<Vec<(Pointer, Shape)>> {
    let Some(node) = section.get("set") else {
        return Some(Vec::new());
    };
    let member = |node: &crate::source::Node<'_>| {
        let entry = node.section()?;
        let at = entry.need("at").and_then(|at| {
            let pointer = parts::exact_pointer(&at)?;
            if pointer.parts().is_empty() {
                let message = "is the whole payload";
                at.error("pointer", message, "name a member in it");
                return None;
            }
            Some(pointer)
        });
        let to = entry.need("to").and_then(|to| {
            let shape = Shape::read(&to)?;
            known_names(&to, &shape.names(), made).then_some(shape)
        });
        entry.end();
        at.zip(to)
    };
    // All are read before the first that is wrong fails the list, so that each is complained about.
    let members: Vec<_> = node.list(false)?.iter().map(member).collect();
    members.into_iter().collect()
}

impl Contract {
    /// The request that makes the effect. Equal input gives equal bytes, on every attempt and after every crash.
    ///
    /// # Errors
    /// The submission lacks a parameter, has one too many, or a value that cannot stand where the contract puts it; or the
    /// payload is not what the operation sends. Checked are the parameters of the lookup as well, so that nothing is sent
    /// that could not be looked up.
    pub fn effect_request(&self, input: &EffectInput<'_>) -> Result<HttpRequest, BuildError> {
        self.check_params(input.params)?;
        let key = match (&self.key, input.key) {
            (None, _) => None,
            (Some(_), Some(key)) => Some(key),
            (Some(_), None) => return Err(BuildError::new("/key", BuildErrorKind::Missing)),
        };
        let values = Values {
            params: Some(input.params),
            key,
            reference: Some(input.reference),
            ..Values::default()
        };
        let mut request = self.effect.request.build(&values)?;
        self.put_body(&mut request, input.payload, &values)?;
        if let (Some(contract_key), Some(key)) = (&self.key, key)
            && let Place::Header { name, quoted } = &contract_key.place
        {
            request
                .headers
                .push((name.clone(), header_value(key, *quoted)?));
        }
        let body_max = self.provider.limits.body_max;
        let length = u64::try_from(request.body.len()).unwrap_or(u64::MAX);
        if body_max.is_some_and(|max| length > max) {
            return Err(BuildError::new("/payload", BuildErrorKind::TooLarge));
        }
        Ok(request)
    }

    fn put_body(
        &self,
        request: &mut HttpRequest,
        payload: &[u8],
        values: &Values<'_>,
    ) -> Result<(), BuildError> {
        let not_json = || BuildError::new("/payload", BuildErrorKind::NotJson);
        match self.effect.body {
            Body::None if payload.is_empty() => return Ok(()),
            Body::None => {
                let kind = BuildErrorKind::NotWanted;
                return Err(BuildError::new("/payload", kind));
            }
            Body::Bytes => payload.clone_into(&mut request.body),
            Body::Json => {
                if !splice::is_json(payload) {
                    return Err(not_json());
                }
                let text = std::str::from_utf8(payload).map_err(|_| not_json())?;
                let mut text = text.to_owned();
                for (at, shape) in &self.effect.set {
                    text = splice::set(&text, at, &shape.fill(values)?.to_string())?;
                }
                if let Some(Place::Member(at)) = self.key.as_ref().map(|key| &key.place) {
                    text = splice::set(&text, at, &values.json("key")?.to_string())?;
                }
                request.body = text.into_bytes();
                default_header(request, "content-type", "application/json");
            }
        }
        Ok(())
    }

    /// Every parameter that the contract names is there and plain, and there is no other.
    fn check_params(&self, params: &Map<String, Value>) -> Result<(), BuildError> {
        if let Some(name) = params.keys().find(|name| !self.params.contains(*name)) {
            let path = crate::source::child("/params", name);
            return Err(BuildError::new(path, BuildErrorKind::Unknown));
        }
        let values = Values {
            params: Some(params),
            ..Values::default()
        };
        let mut names = self.params.iter();
        names.try_for_each(|name| values.json(name).map(drop))?;
        // The lookup's own path is filled with a stand-in for what only the engine knows, to try the parameters in it.
        let stand_in = Some("x");
        let trial = Values {
            key: stand_in,
            reference: stand_in,
            cursor: stand_in,
            object: stand_in,
            ..values
        };
        let mut questions = self.questions();
        questions.try_for_each(|question| question.build(&trial).map(drop))
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

impl Effect {
    /// Whether the path has this place.
    pub(crate) fn path_names(&self, name: &str) -> bool {
        let path: &Template = &self.request.path;
        path.names().contains(name)
    }

    /// Whether the payload is sent as JSON, so that members can be set in it.
    pub(crate) fn is_json(&self) -> bool {
        self.body == Body::Json
    }
}
