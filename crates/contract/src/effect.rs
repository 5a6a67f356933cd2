//! The effect request: what is sent to make the thing happen.
//!
//! The payload goes out as it came in. A contract may set members in it that only the engine knows; the rest of the bytes
//! stays untouched.

use std::collections::BTreeSet;

use factum_core::Timestamp;
use serde_json::{Map, Value};

use crate::body::Body;
use crate::build_error::{BuildError, BuildErrorKind};
use crate::claims::Claims;
use crate::condition::{self, Condition};
use crate::contract::Contract;
use crate::http::HttpRequest;
use crate::parts::{self, optional};
use crate::pointer::Pointer;
use crate::request::{Own, Request, default_header, known_names};
use crate::shape::Shape;
use crate::source::Section;
use crate::splice;
use crate::template::{Template, Values};
use crate::text;

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
    pub(crate) body: Body,
    pub(crate) set: Vec<(Pointer, Shape)>,
    pub(crate) direct: bool,
    pub(crate) condition_checked: bool,
    pub(crate) condition: Option<Condition>,
    /// What exists under the name is changed, not made again.
    pub(crate) upsert: bool,
    /// What a repeat sets off beside the effect: `none`, or what it is.
    pub(crate) side_effects: Option<String>,
}

impl Effect {
    pub(crate) fn read(section: &Section<'_>, has_key: bool, claims: &mut Claims) -> Option<Self> {
        claims.note(section);
        let made: &[&str] = if has_key {
            &["key", "reference", "first_sent", "first_sent_iso"]
        } else {
            &["reference", "first_sent", "first_sent_iso"]
        };
        let request = Request::read(section, "POST", made);
        let body = Body::read(section, made);
        let set = set(section, made);
        let direct = section.flag("direct");
        let condition_checked = section.flag("condition_checked");
        for (name, given) in [("direct", direct), ("condition_checked", condition_checked)] {
            if given {
                claims.require(section, name, &format!("`{name}`"));
            }
        }
        let condition = optional(section.get("condition"), |node| {
            Condition::read(&node.section()?, claims)
        });
        let upsert = section.flag("upsert");
        let side_effects = section.words("side_effects");
        let effect = Self {
            request: request?,
            body: body?,
            set: set?,
            direct,
            condition_checked,
            condition: condition?,
            upsert,
            side_effects,
        };
        effect.check(section);
        Some(effect)
    }

    fn check(&self, section: &Section<'_>) {
        if !self.set.is_empty() && !self.body.is_structured() {
            let remedy = "write `body = \"json\"`, or leave `set` out";
            let message = "sets members in a body that is not JSON";
            section.error("set", "body_form", message, remedy);
        }
        if self.request.own != Own::None && (self.body != Body::None) {
            let remedy = "write `body = \"none\"` beside `json`";
            let message = "writes a body beside the payload";
            section.error("json", "body_form", message, remedy);
        }
        let mut headers = self.request.headers.iter();
        if self.body == Body::Multipart && headers.any(|(name, _)| name == "content-type") {
            let message = "sets the content type of parts, which names their boundary";
            section.error("headers", "body_form", message, "leave the header out");
        }
        let member = self.condition.as_ref().map(|condition| &condition.place);
        if matches!(member, Some(condition::Place::Member(_))) && !self.body.is_structured() {
            let message = "is a member of a body that is not JSON";
            section.error("condition", "condition", message, "write `header = …`");
        }
    }

    /// The names of all places.
    pub(crate) fn names(&self) -> BTreeSet<&str> {
        let mut names = self.request.names();
        names.extend(self.set.iter().flat_map(|(_, shape)| shape.names()));
        if let Some(document) = self.body.document() {
            names.extend(document.names());
        }
        let inserts = self.body.inserts().iter();
        names.extend(inserts.flat_map(|insert| insert.template().names()));
        names
    }
}

/// `set`: a list of `{ at = "/pointer", to = … }`.
pub(crate) fn set(section: &Section<'_>, made: &[&str]) -> Option<Vec<(Pointer, Shape)>> {
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
        self.build_effect(input, None)
    }

    /// The same for a contract that [asks for](Contract::needs_first_sent) the instant at which the action was recorded: equal
    /// on every attempt, and not later than the first of them.
    ///
    /// # Errors
    /// As for [`Contract::effect_request`].
    pub fn effect_request_recorded_at(
        &self,
        input: &EffectInput<'_>,
        recorded_at: Timestamp,
    ) -> Result<HttpRequest, BuildError> {
        self.build_effect(input, Some(recorded_at))
    }

    /// Whether the effect request names the instant of its first sending.
    #[must_use]
    pub fn needs_first_sent(&self) -> bool {
        let names = self.effect_names();
        names.contains("first_sent") || names.contains("first_sent_iso")
    }

    fn build_effect(
        &self,
        input: &EffectInput<'_>,
        first_sent: Option<Timestamp>,
    ) -> Result<HttpRequest, BuildError> {
        self.check_params(input.params)?;
        self.check_input(input)?;
        let key = match (self.sends_key(), input.key) {
            (false, _) => None,
            (true, Some(key)) => Some(key),
            (true, None) => return Err(BuildError::new("/key", BuildErrorKind::Missing)),
        };
        let values = Values {
            params: Some(input.params),
            key,
            reference: Some(input.reference),
            first_sent,
            ..Values::default()
        };
        let mut request = self.effect.request.build(&values)?;
        self.put_body(&mut request, input.payload, &values)?;
        if let Some(condition) = &self.effect.condition {
            condition.put_header(&mut request, &values)?;
        }
        if let Some(contract_key) = &self.key {
            contract_key.put_outside(&mut request, &values)?;
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
        match &self.effect.body {
            Body::None if payload.is_empty() => {}
            Body::None => {
                let kind = BuildErrorKind::NotWanted;
                return Err(BuildError::new("/payload", kind));
            }
            Body::Bytes => payload.clone_into(&mut request.body),
            Body::Text(inserts) => {
                request.body = text::body(payload, inserts, values)?;
                default_header(request, "content-type", "text/plain; charset=utf-8");
            }
            // What is made of an object's members may have none of the caller's.
            Body::Form(_) | Body::Multipart | Body::Graphql(_) if payload.is_empty() => {
                self.put_structured(request, b"{}", values)?;
            }
            Body::Json | Body::Form(_) | Body::Multipart | Body::Graphql(_) => {
                self.put_structured(request, payload, values)?;
            }
        }
        Ok(())
    }

    /// Sets what the contract sets in the payload, and encodes it.
    fn put_structured(
        &self,
        request: &mut HttpRequest,
        payload: &[u8],
        values: &Values<'_>,
    ) -> Result<(), BuildError> {
        let not_json = || BuildError::new("/payload", BuildErrorKind::NotJson);
        if !splice::is_json(payload) {
            return Err(not_json());
        }
        let text = std::str::from_utf8(payload).map_err(|_| not_json())?;
        let mut text = text.to_owned();
        for (at, shape) in &self.effect.set {
            text = splice::set(&text, at, &shape.fill(values)?.to_string())?;
        }
        if let Some(condition) = &self.effect.condition
            && let condition::Place::Member(at) = &condition.place
            && let Some(value) = condition.json(values)?
        {
            text = splice::set(&text, at, &value.to_string())?;
        }
        if let Some(key) = &self.key {
            text = key.put_inside(text, values)?;
        }
        let (body, content_type) = self.effect.body.encode(text, values)?;
        request.body = body;
        default_header(request, "content-type", &content_type);
        Ok(())
    }

    /// The names of all places of the effect request.
    pub(crate) fn effect_names(&self) -> BTreeSet<&str> {
        let mut names = self.effect.names();
        if let Some(key) = &self.key {
            names.extend(key.companion_names());
        }
        names
    }

    /// Every parameter that the contract names is there and plain, and there is no other.
    fn check_params(&self, params: &Map<String, Value>) -> Result<(), BuildError> {
        let optional = self.effect.optional_param();
        let known = |name: &str| self.params.contains(name) || optional == Some(name);
        if let Some(name) = params.keys().find(|name| !known(name)) {
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
            since: Some(Timestamp::from_micros(0)),
            ..values
        };
        let mut questions = self.questions();
        questions.try_for_each(|question| question.build(&trial).map(drop))
    }
}

impl Effect {
    /// Whether the path has this place.
    pub(crate) fn path_names(&self, name: &str) -> bool {
        let path: &Template = &self.request.path;
        path.names().contains(name)
    }

    /// The parameter that a submission may give, and need not.
    pub(crate) fn optional_param(&self) -> Option<&str> {
        let condition = self.condition.as_ref()?;
        match &condition.from {
            condition::From::Param(name) if !condition.required => Some(name),
            condition::From::Param(_) | condition::From::Fixed(_) => None,
        }
    }

    /// The parameter of the condition that every submission has to give.
    pub(crate) fn required_param(&self) -> Option<&str> {
        let condition = self.condition.as_ref()?;
        match &condition.from {
            condition::From::Param(name) if condition.required => Some(name),
            condition::From::Param(_) | condition::From::Fixed(_) => None,
        }
    }
}
