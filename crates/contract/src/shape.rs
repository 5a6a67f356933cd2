//! JSON that a contract writes itself, with places for values: `{ id = "{field_id}", value = "{reference}" }`.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use toml::de::DeValue;

use crate::build_error::BuildError;
use crate::request::known_names;
use crate::source::Node;
use crate::template::{Template, Values};

/// A JSON value with places. A text that is nothing but one place takes the value with its JSON type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Text(Template),
    Integer(i64),
    Flag(bool),
    List(Vec<Shape>),
    Object(Vec<(String, Shape)>),
}

impl Shape {
    /// From the contract's text.
    pub(crate) fn read(node: &Node<'_>) -> Option<Self> {
        match node.value() {
            DeValue::String(text) => node.checked(Template::parse(text)).map(Self::Text),
            DeValue::Integer(_) => node.integer().map(Self::Integer),
            DeValue::Boolean(flag) => Some(Self::Flag(*flag)),
            DeValue::Array(_) => {
                let items = node.list(false)?;
                let items: Option<Vec<_>> = items.iter().map(Self::read).collect();
                items.map(Self::List)
            }
            DeValue::Table(_) => {
                let entries = node.section()?.entries();
                let member = |(name, node): &(String, Node<'_>)| {
                    Self::read(node).map(|shape| (name.clone(), shape))
                };
                let members: Option<Vec<_>> = entries.iter().map(member).collect();
                members.map(Self::Object)
            }
            DeValue::Float(_) | DeValue::Datetime(_) => {
                node.wrong_type("a text, an integer, true, false, a list or a table");
                None
            }
        }
    }

    /// From the contract's text, where only these of the reserved names have a value.
    pub(crate) fn read_known(node: &Node<'_>, made: &[&str]) -> Option<Self> {
        let shape = Self::read(node)?;
        known_names(node, &shape.names(), made).then_some(shape)
    }

    /// The names of all its places.
    pub(crate) fn names(&self) -> BTreeSet<&str> {
        match self {
            Self::Text(template) => template.names(),
            Self::Integer(_) | Self::Flag(_) => BTreeSet::new(),
            Self::List(items) => items.iter().flat_map(Self::names).collect(),
            Self::Object(members) => members.iter().flat_map(|(_, s)| s.names()).collect(),
        }
    }

    /// The JSON value.
    pub(crate) fn fill(&self, values: &Values<'_>) -> Result<Value, BuildError> {
        Ok(match self {
            Self::Text(template) => match template.only_place() {
                Some(name) => values.json(name)?,
                None => Value::String(template.fill(values)?),
            },
            Self::Integer(number) => Value::from(*number),
            Self::Flag(flag) => Value::Bool(*flag),
            Self::List(items) => {
                let items: Result<_, _> = items.iter().map(|item| item.fill(values)).collect();
                Value::Array(items?)
            }
            Self::Object(members) => {
                let mut object = Map::new();
                for (name, shape) in members {
                    object.insert(name.clone(), shape.fill(values)?);
                }
                Value::Object(object)
            }
        })
    }
}
