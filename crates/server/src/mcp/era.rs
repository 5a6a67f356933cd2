//! The two eras of the protocol. Up to 2025-11-25 a client begins with `initialize`; from 2026-07-28 on every request says by itself which
//! version it speaks and what its client can do, and nothing is inferred from an earlier one. Both are served side by side, and both without
//! a session: what has to outlive a request has a name in the store.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::wire::{RpcError, UNSUPPORTED_VERSION};

/// The version in which every request speaks for itself.
pub(crate) const MODERN: &str = "2026-07-28";
/// The versions that begin with `initialize`, newest first.
pub(crate) const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// The extension by which a tool call is answered with a handle.
pub(crate) const TASKS: &str = "io.modelcontextprotocol/tasks";

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// Which rules a request follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// After `initialize`.
    Legacy,
    /// By its own metadata.
    Modern,
}

/// What is known of a request's client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Client {
    pub(crate) era: Era,
    /// It can ask a person, by a form.
    pub(crate) elicits: bool,
    /// It takes a task for an answer.
    pub(crate) tasks: bool,
}

/// `_meta` of a request's members.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Meta {
    #[serde(rename = "_meta")]
    pub(crate) meta: Map<String, Value>,
}

impl Meta {
    /// `_meta` of these members, empty where it has none.
    pub(crate) fn of(params: &str) -> Result<Self, RpcError> {
        serde_json::from_str(params).map_err(|error| RpcError::params(error.to_string()))
    }

    /// The version that the request itself says it speaks.
    pub(crate) fn version(&self) -> Option<&str> {
        self.meta.get(VERSION)?.as_str()
    }

    /// A text of ours, or of a host that is known.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.meta.get(name)?.as_str()
    }

    /// The client, as far as its request tells. One of the older era has said at its beginning what it can do.
    ///
    /// # Errors
    /// A version that is not spoken here, or metadata without the client's capabilities.
    pub(crate) fn client(&self) -> Result<Client, RpcError> {
        let Some(version) = self.version() else {
            let era = Era::Legacy;
            return Ok(Client {
                era,
                elicits: false,
                tasks: false,
            });
        };
        if version != MODERN {
            return Err(unsupported(version));
        }
        let Some(Value::Object(capabilities)) = self.meta.get(CAPABILITIES) else {
            let why = format!("`_meta` has to say what the client can do: {CAPABILITIES}");
            return Err(RpcError::params(why));
        };
        Ok(Client {
            era: Era::Modern,
            elicits: asks_by_form(capabilities),
            tasks: capabilities
                .get("extensions")
                .and_then(|known| known.get(TASKS))
                .is_some_and(Value::is_object),
        })
    }
}

/// Whether a client that declares this can ask a person by a form. An empty object is the form alone.
pub(crate) fn asks_by_form(capabilities: &Map<String, Value>) -> bool {
    let form = capabilities.get("elicitation").and_then(Value::as_object);
    form.is_some_and(|modes| modes.is_empty() || modes.contains_key("form"))
}

/// The version that is spoken with a client of the older era: its own where it is known, else our newest.
pub(crate) fn negotiated(asked: &str) -> &'static str {
    let known = LEGACY.iter().find(|version| **version == asked);
    known.copied().unwrap_or(LEGACY[0])
}

/// A version that is not spoken here.
pub(crate) fn unsupported(version: &str) -> RpcError {
    let error = RpcError::new(
        UNSUPPORTED_VERSION,
        "this version of the protocol is not spoken here",
    );
    error.with(json!({"supported": supported(), "requested": version}))
}

/// All versions, newest first.
pub(crate) fn supported() -> Vec<&'static str> {
    std::iter::once(MODERN).chain(LEGACY).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(meta: &Value) -> Result<Client, RpcError> {
        Meta::of(&json!({ "_meta": meta }).to_string())
            .unwrap()
            .client()
    }

    #[test]
    fn a_client_can_what_it_declares_on_this_very_request() {
        let rows = [
            (json!({}), false, false),
            (json!({"elicitation": {}}), true, false),
            (json!({"elicitation": {"form": {}}}), true, false),
            (json!({"elicitation": {"url": {}}}), false, false),
            (json!({"extensions": {TASKS: {}}}), false, true),
        ];
        for (capabilities, elicits, tasks) in rows {
            let known = client(&json!({VERSION: MODERN, CAPABILITIES: capabilities})).unwrap();
            assert_eq!(
                (known.era, known.elicits, known.tasks),
                (Era::Modern, elicits, tasks)
            );
        }
        assert_eq!(client(&json!({})).unwrap().era, Era::Legacy);
        assert!(
            client(&json!({VERSION: MODERN})).is_err(),
            "capabilities are required"
        );
    }

    #[test]
    fn a_version_that_nobody_speaks_is_refused_with_those_that_are() {
        let error = client(&json!({VERSION: "1900-01-01", CAPABILITIES: {}})).unwrap_err();
        assert_eq!(error.code, UNSUPPORTED_VERSION);
        let data = error.data.unwrap();
        assert_eq!(
            (&data["requested"], &data["supported"][0]),
            (&json!("1900-01-01"), &json!(MODERN))
        );
        assert_eq!(
            (negotiated("2025-03-26"), negotiated("2099-01-01")),
            ("2025-03-26", "2025-11-25")
        );
    }
}
