//! Query parameters: known by name, each of one form, each at most once. A misspelt filter that is ignored would list
//! everything, so it is refused.

use axum::extract::Query as Pairs;
use axum::http::Uri;
use factum::{ActionId, Code, ProposalId};
use serde_json::{Value, json};

use crate::call::Param;
use crate::reply::Failure;

/// The form of a parameter.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    /// Any text that is not empty.
    Text,
    /// An action id.
    Id,
    /// A proposal's id.
    Proposal,
    /// A whole number within these bounds.
    Number(u64, u64),
    /// One of these words.
    Words(fn() -> Vec<&'static str>),
    /// Some of these words, with commas between.
    List(fn() -> Vec<&'static str>),
    /// A place among the events.
    Place,
}

/// The parameters of a request, each of its form.
pub(crate) struct Query(Vec<(&'static str, String)>);

impl Query {
    /// Reads the parameters of an address.
    pub(crate) fn read(uri: &Uri, known: &'static [Param]) -> Result<Self, Failure> {
        let Ok(Pairs(pairs)) = Pairs::<Vec<(String, String)>>::try_from_uri(uri) else {
            return Err(bad(
                "",
                "the query is no list of name=value",
                "write it as name=value&name=value",
            ));
        };
        let mut read: Vec<(&'static str, String)> = Vec::new();
        for (name, value) in pairs {
            let Some(param) = known.iter().find(|param| param.name == name) else {
                let names: Vec<&str> = known.iter().map(|param| param.name).collect();
                let remedy = if names.is_empty() {
                    "leave it out; this address takes none".to_owned()
                } else {
                    format!("use one of: {}", names.join(", "))
                };
                return Err(bad(
                    &name,
                    &format!("no parameter is called {name:?} here"),
                    &remedy,
                ));
            };
            if read.iter().any(|(earlier, _)| *earlier == param.name) {
                return Err(bad(
                    param.name,
                    "the parameter occurs twice",
                    "send it once",
                ));
            }
            param.kind.check(param.name, &value)?;
            read.push((param.name, value));
        }
        Ok(Self(read))
    }

    /// No parameters.
    pub(crate) fn none() -> Self {
        Self(Vec::new())
    }

    /// A parameter as text.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value.as_str())
    }

    /// A parameter as what it stands for.
    pub(crate) fn parsed<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.text(name).and_then(|value| value.parse().ok())
    }
}

impl Kind {
    fn check(self, name: &str, value: &str) -> Result<(), Failure> {
        match self {
            Self::Text if value.is_empty() => {
                Err(bad(name, "it is empty", "give it a value, or leave it out"))
            }
            Self::Text if value.contains(char::is_control) => Err(bad(
                name,
                "it holds control characters",
                "nothing is named so: send the name as it was given",
            )),
            Self::Text => Ok(()),
            Self::Id => value
                .parse::<ActionId>()
                .map(|_| ())
                .map_err(|error| bad(name, &error.to_string(), "send the id as it was answered")),
            Self::Proposal => value
                .parse::<ProposalId>()
                .map(|_| ())
                .map_err(|error| bad(name, &error.to_string(), "send the id as it was answered")),
            Self::Number(least, most) => match value.parse::<u64>() {
                Ok(number) if (least..=most).contains(&number) => Ok(()),
                Ok(_) | Err(_) => {
                    let rule = format!("it is a whole number from {least} to {most}");
                    Err(bad(name, &rule, "send such a number, or leave it out"))
                }
            },
            Self::Place => value
                .parse::<factum::events::From>()
                .map(|_| ())
                .map_err(|()| {
                    let rule = format!("{value:?} is no place among the events");
                    bad(
                        name,
                        &rule,
                        "send a cursor as it was answered, `start` or `now`",
                    )
                }),
            Self::List(words) => value
                .split(',')
                .try_for_each(|word| Self::Words(words).check(name, word)),
            Self::Words(words) => {
                let words = words();
                if words.contains(&value) {
                    return Ok(());
                }
                let rule = format!("no {name} is called {value:?}");
                Err(bad(
                    name,
                    &rule,
                    &format!("use one of: {}", words.join(", ")),
                ))
            }
        }
    }

    /// As a JSON Schema.
    pub(crate) fn schema(self) -> Value {
        match self {
            Self::Text => json!({"type": "string", "pattern": r"^[^\u0000-\u001f\u007f-\u009f]+$"}),
            Self::Id => json!({"type": "string", "pattern": crate::schema::ID_PATTERN}),
            Self::Proposal => {
                json!({"type": "string", "pattern": crate::schema::PROPOSAL_PATTERN})
            }
            Self::Number(least, most) => {
                json!({"type": "integer", "minimum": least, "maximum": most})
            }
            Self::Words(words) => json!({"type": "string", "enum": words()}),
            Self::Place => {
                json!({"type": "string", "pattern": crate::schema::PLACE_PATTERN})
            }
            Self::List(words) => {
                let one = words().join("|").replace('.', r"\.");
                json!({"type": "string", "pattern": format!("^({one})(,({one}))*$")})
            }
        }
    }
}

fn bad(name: &str, rule: &str, remedy: &str) -> Failure {
    Failure::new(Code::BadQuery, name, rule, remedy)
}
