//! What the simulated destinations read from a request's bytes and write into an answer's: the testbed's forms.

use factum_contract::http::{HttpAnswer, HttpRequest};
use serde_json::{Value, json};

use super::operations::KeyAt;

/// An effect request as the application gets it.
#[derive(Clone, Debug)]
pub(super) struct Wish {
    /// What effects are counted by: the caller's own word for its intent.
    pub(super) business: String,
    pub(super) reference: Option<String>,
    pub(super) key: Option<String>,
    /// How it wants to be treated.
    pub(super) behave: Option<String>,
    pub(super) body: Vec<u8>,
}

/// Reads an effect request, or answers why it cannot be read.
pub(super) fn wish(request: &HttpRequest, key_at: KeyAt) -> Result<Wish, HttpAnswer> {
    let Ok(Value::Object(body)) = serde_json::from_slice(&request.body) else {
        return Err(error(400, "malformed"));
    };
    let text = |name: &str| body.get(name).and_then(Value::as_str).map(str::to_owned);
    let key = match key_at {
        KeyAt::Nowhere => None,
        KeyAt::Header => {
            let header = |(name, _): &&(String, String)| name == "idempotency-key";
            (request.headers.iter().find(header)).map(|(_, value)| value.clone())
        }
        KeyAt::Body => text("idempotency_key"),
        KeyAt::Path => request.path_and_query.rsplit('/').next().map(str::to_owned),
    };
    let Some(business) = text("business") else {
        return Err(error(400, "malformed"));
    };
    if key_at != KeyAt::Nowhere && key.as_deref().unwrap_or_default().is_empty() {
        return Err(error(400, "key_missing"));
    }
    Ok(Wish {
        business,
        reference: text("reference"),
        key,
        behave: text("behave"),
        body: request.body.clone(),
    })
}

/// A text member of a JSON body.
pub(super) fn member(request: &HttpRequest, name: &str) -> Option<String> {
    let body: Value = serde_json::from_slice(&request.body).ok()?;
    body.get(name)?.as_str().map(str::to_owned)
}

/// A member of the query; references and cursors need no escapes.
pub(super) fn query(target: &str, name: &str) -> Option<String> {
    let (_, query) = target.split_once('?')?;
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs
        .find(|(given, _)| *given == name)
        .map(|(_, value)| value.to_owned())
}

/// An answer with this JSON.
pub(super) fn answer(status: u16, body: &Value) -> HttpAnswer {
    HttpAnswer {
        status,
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        body: body.to_string().into_bytes(),
        truncated: false,
    }
}

/// The form of errors that the application knows the reason of.
pub(super) fn error(status: u16, code: &str) -> HttpAnswer {
    answer(
        status,
        &json!({"error": {"code": code, "message": "as the simulator drew it"}}),
    )
}

/// An error that says nothing about the request.
pub(super) fn server_error(status: u16) -> HttpAnswer {
    match status {
        500 => error(500, "internal"),
        _ => page(status, "<html><body><h1>Bad Gateway</h1></body></html>"),
    }
}

/// A page that has nothing to do with the question.
pub(super) fn page(status: u16, text: &str) -> HttpAnswer {
    HttpAnswer {
        status,
        headers: vec![("content-type".to_owned(), "text/html".to_owned())],
        body: text.as_bytes().to_vec(),
        truncated: false,
    }
}

/// A stored answer, played again.
pub(super) fn replayed(stored: &HttpAnswer) -> HttpAnswer {
    let mut answer = stored.clone();
    answer
        .headers
        .push(("idempotent-replayed".to_owned(), "true".to_owned()));
    answer
}
