//! What a client says: requests of one era or the other, and what every one of them carries.

use serde_json::{Value, json};

/// The newest version, in which every request speaks for itself.
pub(super) const MODERN: &str = "2026-07-28";
/// The newest version that begins with `initialize`.
const LEGACY: &str = "2025-11-25";

/// Which version is spoken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Speech {
    /// None yet.
    Unsaid,
    /// After `initialize`: this one.
    Legacy(String),
    /// The newest.
    Modern,
}

impl Speech {
    /// As a server answered `initialize`.
    pub(super) fn legacy(result: &Value) -> Self {
        Self::Legacy(
            result["protocolVersion"]
                .as_str()
                .unwrap_or(LEGACY)
                .to_owned(),
        )
    }

    /// The version as a header has it.
    pub(super) fn version(&self) -> Option<&str> {
        match self {
            Self::Unsaid => None,
            Self::Legacy(version) => Some(version),
            Self::Modern => Some(MODERN),
        }
    }

    /// Members with what the version wants beside them. Nothing is declared: no question of a server's is answered here.
    pub(super) fn params(&self, mut params: Value) -> Value {
        if *self == Self::Modern {
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = MODERN.into();
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
            params["_meta"]["io.modelcontextprotocol/clientInfo"] = who();
        }
        params
    }
}

/// The members of `initialize`.
pub(super) fn hello() -> Value {
    json!({"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": who()})
}

/// A request.
pub(super) fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// A notification.
pub(super) fn notification(method: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": method})
}

/// The answer to something that a server asks of its client: none of it is offered, but that we are there.
pub(super) fn answer(message: &Value) -> Value {
    let id = &message["id"];
    if message["method"] == "ping" {
        return json!({"jsonrpc": "2.0", "id": id, "result": {}});
    }
    let why = "a gateway carries the call, and asks nobody";
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32_601, "message": why}})
}

/// A response's outcome; none where the message is none.
pub(super) fn outcome(message: &mut Value) -> Option<Result<Value, Value>> {
    if message.get("method").is_some() {
        return None;
    }
    match (
        message.get("result").is_some(),
        message.get("error").is_some(),
    ) {
        (true, false) => Some(Ok(message["result"].take())),
        (false, true) => Some(Err(message["error"].take())),
        _ => None,
    }
}

fn who() -> Value {
    json!({"name": "factum", "version": env!("CARGO_PKG_VERSION")})
}
