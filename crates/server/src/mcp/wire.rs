//! Messages of JSON-RPC 2.0 as MCP uses it: read strictly, written in one place. No I/O.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// The text is not JSON.
pub(crate) const PARSE_ERROR: i64 = -32_700;
/// It is JSON, and no request.
pub(crate) const INVALID_REQUEST: i64 = -32_600;
/// No method is called that, or none that was offered.
pub(crate) const METHOD_NOT_FOUND: i64 = -32_601;
/// The method's members are wrong.
pub(crate) const INVALID_PARAMS: i64 = -32_602;
/// Something broke on our side.
pub(crate) const INTERNAL_ERROR: i64 = -32_603;
/// Headers and body of a request say different things.
pub(crate) const HEADER_MISMATCH: i64 = -32_020;
/// The request needs something that its client did not declare.
pub(crate) const MISSING_CAPABILITY: i64 = -32_021;
/// The version of the protocol is not spoken here.
pub(crate) const UNSUPPORTED_VERSION: i64 = -32_022;

/// What a client sends.
#[derive(Debug)]
pub(crate) enum Message {
    /// It waits for a response.
    Request(Request),
    /// It does not.
    Notification,
    /// A response to a question of ours.
    Response(Response),
}

/// What a client answers.
#[derive(Debug)]
pub(crate) struct Response {
    /// The question's name.
    pub(crate) id: Value,
    /// Its result; null where it is an error.
    pub(crate) result: Value,
}

/// A request, with its members as they were written.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// A string or a number, given back as it is.
    pub(crate) id: Value,
    /// What is asked.
    pub(crate) method: String,
    /// One JSON object, as text: numbers stay as they were written.
    pub(crate) params: String,
}

/// Why a request has no result.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    pub(crate) message: String,
    pub(crate) data: Option<Value>,
}

#[derive(Deserialize)]
struct Envelope {
    jsonrpc: Option<Value>,
    id: Option<Value>,
    method: Option<Value>,
    params: Option<Box<RawValue>>,
    result: Option<Value>,
}

impl RpcError {
    pub(crate) fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    pub(crate) fn with(self, data: Value) -> Self {
        Self {
            data: Some(data),
            ..self
        }
    }

    pub(crate) fn params(message: impl Into<String>) -> Self {
        Self::new(INVALID_PARAMS, message)
    }
}

impl Message {
    /// Reads one message. An error comes with the id that it has to be answered under, null where there is none.
    pub(crate) fn read(text: &str) -> Result<Self, (Value, RpcError)> {
        let invalid = |id: &Value, why: &str| (id.clone(), RpcError::new(INVALID_REQUEST, why));
        if text.trim_start().starts_with('[') {
            let why = "batches are not taken: send each message by itself";
            return Err(invalid(&Value::Null, why));
        }
        let envelope: Envelope = serde_json::from_str(text).map_err(|error| {
            let code = if error.is_data() {
                INVALID_REQUEST
            } else {
                PARSE_ERROR
            };
            (Value::Null, RpcError::new(code, error.to_string()))
        })?;
        let id = envelope.id.unwrap_or(Value::Null);
        if envelope.jsonrpc != Some(json!("2.0")) {
            return Err(invalid(&id, "the member `jsonrpc` has to be \"2.0\""));
        }
        let Some(method) = envelope.method else {
            let result = envelope.result.unwrap_or_default();
            return Ok(Self::Response(Response { id, result }));
        };
        let Value::String(method) = method else {
            return Err(invalid(&id, "the member `method` has to be a string"));
        };
        match id {
            Value::Null => Ok(Self::Notification),
            id @ (Value::String(_) | Value::Number(_)) => {
                let params = envelope
                    .params
                    .map_or("{}".to_owned(), |raw| raw.get().to_owned());
                if !params.starts_with('{') {
                    return Err((
                        id,
                        RpcError::params("the member `params` has to be an object"),
                    ));
                }
                Ok(Self::Request(Request { id, method, params }))
            }
            Value::Bool(_) | Value::Array(_) | Value::Object(_) => Err(invalid(
                &Value::Null,
                "the member `id` has to be a string or a number",
            )),
        }
    }
}

/// A response, one way or the other.
pub(crate) fn response(id: &Value, outcome: Result<Value, RpcError>) -> Value {
    match outcome {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(error) => {
            let mut inner = json!({"code": error.code, "message": error.message});
            if let Some(data) = error.data {
                inner["data"] = data;
            }
            let mut outer = json!({"jsonrpc": "2.0", "error": inner});
            // What could not be read has no id; the newest version wants it left out then, and older ones take that.
            if !id.is_null() {
                outer["id"] = id.clone();
            }
            outer
        }
    }
}

/// A notification.
pub(crate) fn notification(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_request_is_answered_under_the_id_that_it_has() {
        let rows = [
            ("{", PARSE_ERROR, Value::Null),
            ("[]", INVALID_REQUEST, Value::Null),
            ("7", INVALID_REQUEST, Value::Null),
            (r#"{"id":3,"method":"x"}"#, INVALID_REQUEST, json!(3)),
            (
                r#"{"jsonrpc":"2.0","id":3,"method":4}"#,
                INVALID_REQUEST,
                json!(3),
            ),
            (
                r#"{"jsonrpc":"2.0","id":[],"method":"x"}"#,
                INVALID_REQUEST,
                Value::Null,
            ),
            (
                r#"{"jsonrpc":"2.0","id":"a","method":"x","params":[1]}"#,
                INVALID_PARAMS,
                json!("a"),
            ),
        ];
        for (text, code, under) in rows {
            let (id, error) = Message::read(text).unwrap_err();
            assert_eq!((error.code, id), (code, under), "{text}");
        }
    }

    #[test]
    fn members_stay_as_they_were_written() {
        let text =
            r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":1.10,"b":12345678901234567890}}"#;
        let Ok(Message::Request(request)) = Message::read(text) else {
            panic!("a request");
        };
        assert_eq!(request.params, r#"{"a":1.10,"b":12345678901234567890}"#);
        let error = response(&Value::Null, Err(RpcError::new(PARSE_ERROR, "x")));
        assert!(error.get("id").is_none(), "{error}");
    }
}
