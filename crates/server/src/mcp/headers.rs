//! What the headers of an HTTP request repeat of its body, compared before anything is recorded: a client that is refused here repeats
//! the call, and nothing may have come of the first.

use axum::http::HeaderMap;
use serde_json::Value;

use super::era::{MODERN, Meta, supported, unsupported};
use super::wire::{HEADER_MISMATCH, Request, RpcError};

const VERSION: &str = "mcp-protocol-version";
const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";

/// Whether the headers fit the request.
///
/// # Errors
/// What differs, or which version is not spoken here.
pub(crate) fn check(headers: &HeaderMap, request: &Request) -> Result<(), RpcError> {
    let meta = Meta::of(&request.params)?;
    let version = one(headers, VERSION)?;
    if meta.version().is_none() && version.as_deref() != Some(MODERN) {
        return match version {
            Some(version) if !supported().contains(&version.as_str()) => Err(unsupported(&version)),
            Some(_) | None => Ok(()),
        };
    }
    let said = meta.version().unwrap_or_default();
    same("MCP-Protocol-Version", version.as_deref(), said)?;
    let method = one(headers, METHOD)?;
    same("Mcp-Method", method.as_deref(), &request.method)?;
    let Some(named) = named(request) else {
        return Ok(());
    };
    let name = one(headers, NAME)?.map(decoded).transpose()?;
    same("Mcp-Name", name.as_deref(), &named)
}

/// What the header `Mcp-Name` repeats, where the method has such a thing.
pub(crate) fn named(request: &Request) -> Option<String> {
    let member = match request.method.as_str() {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        _ => return None,
    };
    let params: Value = serde_json::from_str(&request.params).ok()?;
    Some(
        params
            .get(member)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned(),
    )
}

fn one(headers: &HeaderMap, name: &'static str) -> Result<Option<String>, RpcError> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    match value.to_str() {
        Ok(text) if values.next().is_none() => Ok(Some(text.to_owned())),
        Ok(_) | Err(_) => {
            let why = format!("the header {name} occurs twice, or holds bytes that no header has");
            Err(RpcError::new(HEADER_MISMATCH, why))
        }
    }
}

fn same(name: &str, header: Option<&str>, body: &str) -> Result<(), RpcError> {
    let why = match header {
        Some(header) if header == body => return Ok(()),
        Some(header) => format!("the header {name} says {header:?}, and the body {body:?}"),
        None => format!("the header {name} is missing"),
    };
    Err(RpcError::new(HEADER_MISMATCH, why))
}

/// A value as it was before it was made fit for a header.
fn decoded(value: String) -> Result<String, RpcError> {
    let Some(inner) = value
        .strip_prefix("=?base64?")
        .and_then(|rest| rest.strip_suffix("?="))
    else {
        return Ok(value);
    };
    let bytes = factum::base64::decode(inner);
    bytes
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .ok_or_else(|| RpcError::new(HEADER_MISMATCH, "the header Mcp-Name is no text in Base64"))
}
