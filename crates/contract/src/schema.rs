//! The input schema of an operation: a small part of JSON Schema, checked when an action is submitted.
//!
//! It has the words that tell a caller what is wrong before anything is recorded. A word that it does not know is a
//! complaint about the contract, not a rule that is left out silently.

use serde_json::{Map, Value};
use toml::de::DeValue;

use crate::build_error::{BuildError, BuildErrorKind as Kind};
use crate::contract::Contract;
use crate::effect::EffectInput;
use crate::parts::optional;
use crate::source::{Node, Section, child};
use crate::when::JsonType;

/// The section `[input]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Input {
    params: Option<Schema>,
    payload: Option<Schema>,
}

/// What a value has to be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Schema {
    types: Vec<Type>,
    description: Option<String>,
    listed: Option<Vec<Value>>,
    required: Vec<String>,
    properties: Vec<(String, Schema)>,
    /// Members that `properties` does not name are refused.
    closed: bool,
    items: Option<Box<Schema>>,
    length: (Option<usize>, Option<usize>),
    count: (Option<usize>, Option<usize>),
    bounds: (Option<i64>, Option<i64>),
}

/// The types of JSON Schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    Integer,
    Of(JsonType),
}

impl crate::source::Word for Type {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("string", Self::Of(JsonType::Text)),
        ("integer", Self::Integer),
        ("number", Self::Of(JsonType::Number)),
        ("boolean", Self::Of(JsonType::Flag)),
        ("array", Self::Of(JsonType::List)),
        ("object", Self::Of(JsonType::Object)),
        ("null", Self::Of(JsonType::Null)),
    ];
}

/// Schemas nested deeper than this are refused, so that nothing that reads them runs out of stack.
const DEPTH_MAX: usize = 32;

impl Input {
    pub(crate) fn read(root: &Section<'_>) -> Option<Self> {
        let Some(node) = root.get("input") else {
            return Some(Self::default());
        };
        let section = node.section()?;
        let params = optional(section.get("params"), |node| Schema::read(node, DEPTH_MAX));
        let payload = optional(section.get("payload"), |node| Schema::read(node, DEPTH_MAX));
        section.end();
        Some(Self {
            params: params?,
            payload: payload?,
        })
    }
}

impl Schema {
    fn read(node: &Node<'_>, depth: usize) -> Option<Self> {
        if depth == 0 {
            let message = "is nested deeper than is read";
            node.error("schema", message, "describe the deeper parts in words");
            return None;
        }
        let section = node.section()?;
        let types = match section.get("type") {
            Some(node) => node.list(true)?.iter().map(Node::word).collect(),
            None => Some(Vec::new()),
        };
        let description = section.words("description");
        let listed = optional(section.get("enum"), |node| {
            node.list(false)?
                .iter()
                .map(plain)
                .collect::<Option<Vec<_>>>()
        });
        let required = match section.get("required") {
            Some(node) => texts(&node),
            None => Some(Vec::new()),
        };
        let properties = match section.get("properties") {
            Some(node) => properties(&node, depth),
            None => Some(Vec::new()),
        };
        let open = section.get("additionalProperties");
        let open = open.map_or(Some(true), |node| node.flag());
        let items = optional(section.get("items"), |node| Self::read(node, depth - 1));
        let size = |name| optional(section.get(name), size);
        let length = (size("minLength"), size("maxLength"));
        let count = (size("minItems"), size("maxItems"));
        let bound = |name| optional(section.get(name), Node::integer);
        let bounds = (bound("minimum"), bound("maximum"));
        section.end();
        Some(Self {
            types: types?,
            description,
            listed: listed?,
            required: required?,
            properties: properties?,
            closed: !open?,
            items: items?.map(Box::new),
            length: (length.0?, length.1?),
            count: (count.0?, count.1?),
            bounds: (bounds.0?, bounds.1?),
        })
    }

    /// The first thing that is wrong with a value.
    fn check(&self, value: &Value, path: &str) -> Result<(), BuildError> {
        let fail = |kind, wanted: String| Err(BuildError::new(path, kind).wanting(wanted));
        if !self.types.is_empty() && !self.types.iter().any(|wanted| wanted.is(value)) {
            let names: Vec<&str> = self.types.iter().map(|wanted| wanted.name()).collect();
            let wanted = format!("has to be of type {}", names.join(" or "));
            return fail(Kind::WrongType, wanted);
        }
        if let Some(list) = self.listed.as_ref().filter(|list| !list.contains(value)) {
            let listed = some_of(list.iter().map(ToString::to_string));
            return fail(Kind::NotListed, format!("has to be one of {listed}"));
        }
        match value {
            Value::String(text) => within(text.chars().count(), self.length, "characters", path),
            Value::Number(_) => self.check_number(value, path),
            Value::Array(items) => {
                within(items.len(), self.count, "items", path)?;
                let schema = self.items.as_deref();
                let mut items = items.iter().enumerate();
                items.try_for_each(|(index, item)| match schema {
                    Some(schema) => schema.check(item, &child(path, &index.to_string())),
                    None => Ok(()),
                })
            }
            Value::Object(members) => self.check_members(members, path),
            Value::Null | Value::Bool(_) => Ok(()),
        }
    }

    /// Numbers are compared as written where they are integers; others by their whole part, which bounds them well enough.
    fn check_number(&self, value: &Value, path: &str) -> Result<(), BuildError> {
        let text = value.to_string();
        let fails = |bound: Option<i64>, low: bool| {
            bound.is_some_and(|bound| match (text.parse::<i64>(), value.as_f64()) {
                (Ok(number), _) if low => number < bound,
                (Ok(number), _) => number > bound,
                #[expect(
                    clippy::cast_precision_loss,
                    reason = "a bound of a schema is a small number"
                )]
                (Err(_), Some(number)) if low => number < bound as f64,
                #[expect(
                    clippy::cast_precision_loss,
                    reason = "a bound of a schema is a small number"
                )]
                (Err(_), Some(number)) => number > bound as f64,
                (Err(_), None) => true,
            })
        };
        let bound = match self.bounds {
            (Some(least), _) if fails(Some(least), true) => format!("at least {least}"),
            (_, Some(most)) if fails(Some(most), false) => format!("at most {most}"),
            (_, _) => return Ok(()),
        };
        Err(BuildError::new(path, Kind::OutOfRange).wanting(format!("has to be {bound}")))
    }

    fn check_members(&self, members: &Map<String, Value>, path: &str) -> Result<(), BuildError> {
        let lacking = self
            .required
            .iter()
            .find(|name| !members.contains_key(*name));
        if let Some(name) = lacking {
            let wanted = "is needed by this operation";
            return Err(BuildError::new(child(path, name), Kind::Missing).wanting(wanted));
        }
        for (name, value) in members {
            let schema = self.properties.iter().find(|(known, _)| known == name);
            match schema {
                Some((_, schema)) => schema.check(value, &child(path, name))?,
                None if self.closed => {
                    let names = self.properties.iter().map(|(name, _)| name.clone());
                    let wanted = format!("is not one of what is taken there: {}", some_of(names));
                    let error = BuildError::new(child(path, name), Kind::Unknown);
                    return Err(error.wanting(wanted));
                }
                None => {}
            }
        }
        Ok(())
    }

    /// As JSON Schema writes it.
    fn as_json(&self) -> Value {
        let mut json = Map::new();
        let mut put = |name: &str, value: Value| json.insert(name.to_owned(), value);
        let types: Vec<&str> = self.types.iter().map(|wanted| wanted.name()).collect();
        match types.as_slice() {
            [] => None,
            [one] => put("type", Value::from(*one)),
            _ => put("type", Value::from(types)),
        };
        if let Some(text) = &self.description {
            put("description", Value::from(text.as_str()));
        }
        if let Some(list) = &self.listed {
            put("enum", Value::from(list.clone()));
        }
        if !self.required.is_empty() {
            put("required", Value::from(self.required.clone()));
        }
        if !self.properties.is_empty() {
            let members = self.properties.iter();
            let members = members.map(|(name, schema)| (name.clone(), schema.as_json()));
            put("properties", Value::Object(members.collect()));
        }
        if self.closed {
            put("additionalProperties", Value::Bool(false));
        }
        if let Some(items) = &self.items {
            put("items", items.as_json());
        }
        for (name, size) in [
            ("minLength", self.length.0),
            ("maxLength", self.length.1),
            ("minItems", self.count.0),
            ("maxItems", self.count.1),
        ] {
            if let Some(size) = size {
                put(name, Value::from(size));
            }
        }
        for (name, bound) in [("minimum", self.bounds.0), ("maximum", self.bounds.1)] {
            if let Some(bound) = bound {
                put(name, Value::from(bound));
            }
        }
        Value::Object(json)
    }
}

impl Type {
    fn is(self, value: &Value) -> bool {
        match self {
            Self::Integer => value.is_number() && !value.to_string().contains(['.', 'e', 'E']),
            Self::Of(json) => json.is(value),
        }
    }

    fn name(self) -> &'static str {
        let words = <Self as crate::source::Word>::WORDS.iter();
        words
            .clone()
            .find(|(_, t)| *t == self)
            .map_or("", |(word, _)| *word)
    }
}

fn within(
    size: usize,
    (least, most): (Option<usize>, Option<usize>),
    unit: &str,
    path: &str,
) -> Result<(), BuildError> {
    if let Some(least) = least.filter(|least| size < *least) {
        let wanted = format!("has to have at least {least} {unit}");
        return Err(BuildError::new(path, Kind::TooShort).wanting(wanted));
    }
    if let Some(most) = most.filter(|most| size > *most) {
        let wanted = format!("has to have at most {most} {unit}");
        return Err(BuildError::new(path, Kind::TooLong).wanting(wanted));
    }
    Ok(())
}

/// What is listed for people at the most.
const LISTED_MAX: usize = 20;

/// The first of these, with a sign where there are more.
fn some_of(names: impl ExactSizeIterator<Item = String>) -> String {
    let more = names.len() > LISTED_MAX;
    let mut shown: Vec<String> = names.take(LISTED_MAX).collect();
    if more {
        shown.push("…".to_owned());
    }
    shown.join(", ")
}

fn size(node: &Node<'_>) -> Option<usize> {
    usize::try_from(node.integer_in(0, 1_000_000_000)?).ok()
}

fn texts(node: &Node<'_>) -> Option<Vec<String>> {
    let list = node.list(false)?;
    list.iter()
        .map(|node| node.words().map(str::to_owned))
        .collect()
}

fn properties(node: &Node<'_>, depth: usize) -> Option<Vec<(String, Schema)>> {
    let entries = node.section()?.entries();
    let member = |(name, node): &(String, Node<'_>)| {
        Schema::read(node, depth - 1).map(|schema| (name.clone(), schema))
    };
    // All are read before the first that is wrong fails them.
    let members: Vec<_> = entries.iter().map(member).collect();
    members.into_iter().collect()
}

fn plain(node: &Node<'_>) -> Option<Value> {
    match node.value() {
        DeValue::String(text) => Some(Value::String(text.to_string())),
        DeValue::Integer(_) => node.integer().map(Value::from),
        DeValue::Boolean(flag) => Some(Value::Bool(*flag)),
        DeValue::Float(_) | DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => {
            node.wrong_type("a text, an integer, true or false");
            None
        }
    }
}

impl Contract {
    /// What params and payload of a submission have to be: an object with `params` and `payload` as JSON Schema, each where
    /// the contract describes it.
    #[must_use]
    pub fn input_schema(&self) -> Value {
        let parts = [
            ("params", &self.input.params),
            ("payload", &self.input.payload),
        ];
        let given = parts.into_iter().filter_map(|(name, schema)| {
            let schema = schema.as_ref()?;
            Some((name.to_owned(), schema.as_json()))
        });
        Value::Object(given.collect())
    }

    pub(crate) fn check_input(&self, input: &EffectInput<'_>) -> Result<(), BuildError> {
        if let Some(schema) = &self.input.params {
            schema.check(&Value::Object(input.params.clone()), "/params")?;
        }
        if let Some(schema) = &self.input.payload {
            let payload = match input.payload {
                [] => Value::Null,
                bytes => serde_json::from_slice(bytes)
                    .map_err(|_| BuildError::new("/payload", Kind::NotJson))?,
            };
            schema.check(&payload, "/payload")?;
        }
        Ok(())
    }
}
