//! One event is posted: signed, to the checked address, without following anything.

use factum_contract::http::HttpRequest;
use factum_core::Span;
use factum_engine::Engine;
use factum_store::EntryKey;
use factum_transport::Asked;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::endpoint::Endpoint;
use super::run::Ways;
use crate::view::rfc3339;

/// Longest time for a post, in all.
const LIMIT: Span = Span::from_secs(15);

/// What came of a post.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Posted {
    /// The status that came back.
    pub status: Option<u16>,
    /// Why it does not count as delivered.
    pub error: Option<String>,
}

impl Posted {
    /// Whether the receiver took it.
    #[must_use]
    pub fn is_taken(&self) -> bool {
        self.error.is_none()
    }

    fn failed(error: String) -> Self {
        Self {
            status: None,
            error: Some(error),
        }
    }
}

/// Posts a body under an id.
pub(super) async fn post(
    engine: &Engine,
    ways: &Ways,
    key: &EntryKey,
    endpoint: &Endpoint,
    id: &str,
    body: String,
) -> Posted {
    let (target, path_and_query) = match endpoint.target(ways) {
        Ok(target) => target,
        Err(problem) => return Posted::failed(problem.rule.to_string()),
    };
    let now = engine.now();
    let seconds = (now.as_micros() / 1_000_000).to_string();
    let signatures: Vec<String> = endpoint
        .signing(now)
        .into_iter()
        .map(|generation| engine.webhook_secret(&key.tenant, &key.id, generation))
        .map(|secret| sign(&secret, id, &seconds, &body))
        .collect();
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let request = HttpRequest {
        method: "POST".to_owned(),
        path_and_query,
        headers: vec![
            header("content-type", "application/json"),
            header("webhook-id", id),
            header("webhook-timestamp", &seconds),
            header("webhook-signature", &signatures.join(" ")),
        ],
        body: body.into_bytes(),
    };
    match engine.transport().ask(&target, request, LIMIT).await {
        Asked::Answered(answer) => Posted {
            status: Some(answer.status),
            error: refused(answer.status),
        },
        Asked::Failed { detail, .. } => Posted::failed(detail),
    }
}

fn refused(status: u16) -> Option<String> {
    match status {
        200..=299 => None,
        300..=399 => Some(format!("answered {status}; redirects are not followed")),
        _ => Some(format!("answered {status}")),
    }
}

/// Posts an event that says only that it is a test.
pub(super) async fn test(
    engine: &Engine,
    ways: &Ways,
    key: &EntryKey,
    endpoint: &Endpoint,
) -> Posted {
    let now = engine.now();
    let id = format!("evt_test_{}", now.as_micros());
    let body = serde_json::json!({
        "id": id, "type": "webhook.test", "timestamp": rfc3339(now), "tenant": key.tenant, "data": {},
    });
    post(engine, ways, key, endpoint, &id, body.to_string()).await
}

/// The signature of Standard Webhooks, version 1.
fn sign(secret: &[u8; 32], id: &str, seconds: &str, body: &str) -> String {
    // A key of any length is taken.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret) else {
        return String::new();
    };
    for part in [id, ".", seconds, ".", body] {
        mac.update(part.as_bytes());
    }
    let signature = mac.finalize().into_bytes();
    format!("v1,{}", factum_contract::base64::encode(&signature))
}

/// A draw between 0 and 1; in the middle where the system gives no randomness.
pub(super) fn draw() -> f64 {
    getrandom::u32().map_or(0.5, |drawn| f64::from(drawn) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Made with another program: `printf … | openssl dgst -sha256 -mac HMAC -macopt hexkey:… -binary | base64`.
    #[test]
    fn a_signature_is_what_another_program_makes() {
        let secret = *b"0123456789abcdef0123456789abcdef";
        let signed = sign(&secret, "evt_1", "1700000000", r#"{"type":"webhook.test"}"#);
        assert_eq!(signed, "v1,SPd4PhnzRoFwbbQ43N7HcCxIfHVsYfSBCNrnXa/RrN8=");
    }
}
