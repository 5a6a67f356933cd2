//! Tokens that are got with a client's credentials (RFC 6749, section 4.4): kept in memory, renewed before they end, never stored.
//!
//! A token request is no effect request: it needs no permission, but has its bounds. One is under way at a time for each
//! client, and after a failure the address is left alone for a moment. Whatever becomes of it, nothing of an action was sent.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use factum_contract::http::{HttpAnswer, HttpRequest};
use factum_core::evidence::Phase;
use factum_core::{Span, Timestamp};
use http::{HeaderName, HeaderValue, header};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::request::{Prepared, percent_encoded};
use super::{HttpTransport, Unsent};
use crate::auth::{Added, Credential, OAuth2, base64};
use crate::clock::duration;
use crate::secret::Secret;
use crate::target::Target;

/// A token that does not say how long it lives is taken to live so long.
const LIFE_UNSTATED: i64 = 300;
/// None is kept for longer.
const LIFE_MAX: i64 = 86_400;
/// Before its end a token is renewed: so long, or a tenth of its life, and never more than the half of it.
const MARGIN_MIN: i64 = 30;
/// The margin at the most.
const MARGIN_MAX: i64 = 300;
/// No token's answer is longer.
const ANSWER_MAX: usize = 64 * 1024;
/// No token is longer.
const TOKEN_MAX: usize = 16 * 1024;
/// After a first failure the address is left alone for so long, then twice as long, and so on.
const REST: Span = Span::from_secs(1);
/// The rest at the most, unless the address itself asks for more.
const REST_MAX: Span = Span::from_secs(60);
/// What the address may ask for at the most.
const ASKED_REST_MAX: Span = Span::from_secs(300);

/// The tokens of one transport.
#[derive(Default)]
pub(super) struct Tokens {
    slots: Mutex<HashMap<OAuth2, Arc<tokio::sync::Mutex<Slot>>>>,
}

/// What is known of one client's token. Whoever holds its lock is the one that renews it.
#[derive(Default)]
struct Slot {
    token: Option<Token>,
    failed: Option<Failed>,
}

struct Token {
    value: Arc<Secret>,
    /// The client and secret that it was got with.
    whose: Vec<u8>,
    renew_at: Timestamp,
    ends_at: Timestamp,
}

struct Failed {
    whose: Vec<u8>,
    why: String,
    until: Timestamp,
    rest: Span,
}

/// Why there is no token, for people: no secret, nothing that the address wrote but a code of the standard.
struct NoToken {
    why: String,
    /// It may be otherwise in a moment; a token that has not ended can be used meanwhile.
    passing: bool,
    rest: Option<Span>,
}

impl NoToken {
    fn passing(why: impl Into<String>) -> Self {
        Self {
            why: why.into(),
            passing: true,
            rest: None,
        }
    }

    fn lasting(why: impl Into<String>) -> Self {
        Self {
            passing: false,
            ..Self::passing(why)
        }
    }
}

impl Tokens {
    fn slot(&self, oauth2: &OAuth2) -> Arc<tokio::sync::Mutex<Slot>> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(slots.entry(oauth2.clone()).or_default())
    }

    /// Forgets a token that the destination refused, so that the next request gets a new one.
    pub(super) async fn forget(&self, oauth2: &OAuth2, token: &Arc<Secret>) {
        let slot = self.slot(oauth2);
        let mut slot = slot.lock().await;
        let same = |kept: &Token| Arc::ptr_eq(&kept.value, token);
        if slot.token.as_ref().is_some_and(same) {
            slot.token = None;
        }
    }
}

impl HttpTransport {
    /// A token of this client, by `until` at the latest: the one that is kept, or a new one.
    pub(super) async fn token(
        &self,
        target: &Target,
        oauth2: &OAuth2,
        credential: &Credential,
        until: Instant,
    ) -> Result<Arc<Secret>, Unsent> {
        let unsent = |why: String| Unsent::new(Phase::Prepare, format!("no token was got: {why}"));
        let until = until.min(Instant::now() + duration(target.limits.token));
        let slot = self.tokens.slot(oauth2);
        let mut slot = timeout_at(until, slot.lock())
            .await
            .map_err(|_| unsent("another request was still asking for one".to_owned()))?;
        let now = self.clock.now();
        let whose = credential.whole();
        // Another client, or another secret: its token is another one.
        slot.token = slot.token.take().filter(|token| token.whose == whose);
        slot.failed = slot.failed.take().filter(|failed| failed.whose == whose);
        if let Some(token) = slot.token.as_ref().filter(|token| now < token.renew_at) {
            return Ok(Arc::clone(&token.value));
        }
        let usable = |slot: &Slot| {
            let token = slot.token.as_ref().filter(|token| now < token.ends_at)?;
            Some(Arc::clone(&token.value))
        };
        if let Some(failed) = slot.failed.as_ref().filter(|failed| now < failed.until) {
            let left = failed.until.since(now);
            let why = format!("{}; it is asked again in {left}", failed.why);
            return usable(&slot).ok_or_else(|| unsent(why));
        }
        match self.fetch(target, oauth2, credential, until).await {
            Ok((value, life)) => {
                let value = Arc::new(value);
                let margin = MARGIN_MIN.max(life / 10).min(MARGIN_MAX) * 1000;
                let margin = Span::from_millis(margin.min(life * 1000 / 2));
                // Counted from before it was asked for: it ends too early rather than too late.
                let ends_at = now + Span::from_secs(life);
                slot.failed = None;
                slot.token = Some(Token {
                    value: Arc::clone(&value),
                    whose,
                    renew_at: now + (Span::from_secs(life) - margin),
                    ends_at,
                });
                Ok(value)
            }
            Err(no_token) => {
                let before = slot.failed.as_ref().map(|failed| failed.rest);
                let rest = before.map_or(REST, |rest| (rest + rest).min(REST_MAX));
                let asked = no_token.rest.unwrap_or(Span::ZERO).min(ASKED_REST_MAX);
                slot.failed = Some(Failed {
                    whose,
                    why: no_token.why.clone(),
                    until: self.clock.now() + rest.max(asked),
                    rest,
                });
                if !no_token.passing {
                    slot.token = None;
                }
                usable(&slot).ok_or_else(|| unsent(no_token.why))
            }
        }
    }

    /// Asks for a token: what it is, and for how many seconds.
    async fn fetch(
        &self,
        target: &Target,
        oauth2: &OAuth2,
        credential: &Credential,
        until: Instant,
    ) -> Result<(Secret, i64), NoToken> {
        let Some((endpoint, path)) = target.token_endpoint() else {
            return Err(NoToken::lasting("the token's address is not known"));
        };
        let prepared = request(&endpoint, path, oauth2, credential)
            .map_err(|why| NoToken::lasting(why.to_owned()))?;
        let endpoint = endpoint.with_limits(crate::target::HttpLimits {
            body_max_bytes: ANSWER_MAX,
            ..target.limits
        });
        let answer = self.converse(&endpoint, &prepared, until).await;
        let answer = answer.map_err(|unsent| {
            NoToken::passing(format!(
                "the token's address gave no answer: {}",
                unsent.detail
            ))
        })?;
        read(&answer)
    }
}

/// The token request (RFC 6749, sections 2.3.1 and 4.4.2).
fn request(
    endpoint: &Target,
    path: &str,
    oauth2: &OAuth2,
    credential: &Credential,
) -> Result<Prepared, &'static str> {
    let form = |secret: &Option<Secret>| {
        let secret = secret.as_ref();
        secret.map_or_else(String::new, |secret| secret.with_exposed(percent_encoded))
    };
    let (id, secret) = (form(&credential.id), form(&credential.secret));
    let mut body = "grant_type=client_credentials".to_owned();
    if !oauth2.scopes.is_empty() {
        let scopes = percent_encoded(oauth2.scopes.join(" ").as_bytes());
        body += &format!("&scope={scopes}");
    }
    if let Some(audience) = &oauth2.audience {
        body += &format!("&audience={}", percent_encoded(audience.as_bytes()));
    }
    let mut added = Added::default();
    if oauth2.in_body {
        body += &format!("&client_id={id}&client_secret={secret}");
    } else {
        let pair = base64(format!("{id}:{secret}").as_bytes());
        let mut value = HeaderValue::from_str(&format!("Basic {pair}"))
            .map_err(|_| "the client's credentials cannot stand in a header")?;
        value.set_sensitive(true);
        added.headers.push((header::AUTHORIZATION, value));
    }
    let plain = |name: HeaderName, value: &str| (name.as_str().to_owned(), value.to_owned());
    let request = HttpRequest {
        method: "POST".to_owned(),
        path_and_query: path.to_owned(),
        headers: vec![
            plain(header::CONTENT_TYPE, "application/x-www-form-urlencoded"),
            plain(header::ACCEPT, "application/json"),
        ],
        body: body.into_bytes(),
    };
    Prepared::new(endpoint, request)
        .and_then(|prepared| prepared.authenticated(added))
        .map_err(|_| "the token's address cannot be asked")
}

/// The token in an answer, and how many seconds it lives.
fn read(answer: &HttpAnswer) -> Result<(Secret, i64), NoToken> {
    let json: Option<Value> = serde_json::from_slice(&answer.body).ok();
    if !(200..300).contains(&answer.status) {
        return Err(refusal(answer, json.as_ref()));
    }
    let no_token = |why: &str| NoToken::passing(format!("the answer of the token's address {why}"));
    let json = json.filter(|_| !answer.truncated);
    let Some(Value::Object(members)) = json else {
        return Err(no_token("is no JSON object"));
    };
    let kind = members.get("token_type").and_then(Value::as_str);
    if kind.is_some_and(|kind| !kind.eq_ignore_ascii_case("bearer")) {
        return Err(no_token("holds a token that is no bearer token"));
    }
    let token = members.get("access_token").and_then(Value::as_str);
    let visible = |token: &&str| {
        !token.is_empty() && token.len() <= TOKEN_MAX && token.bytes().all(|b| b.is_ascii_graphic())
    };
    let Some(token) = token.filter(visible) else {
        return Err(no_token("holds no token that a header can carry"));
    };
    // Some write the number as text.
    let life = members.get("expires_in").and_then(|life| match life {
        Value::String(text) => text.parse().ok(),
        Value::Number(number) => number
            .as_i64()
            .or_else(|| number.as_f64().map(|n| n as i64)),
        _ => None,
    });
    let life = life.unwrap_or(LIFE_UNSTATED).clamp(0, LIFE_MAX);
    Ok((Secret::new(token.as_bytes().to_vec()), life))
}

/// A refusal, with its code where that is one of the standard's (section 5.2): anything else might be a secret.
fn refusal(answer: &HttpAnswer, json: Option<&Value>) -> NoToken {
    const CODES: [&str; 8] = [
        "invalid_request",
        "invalid_client",
        "invalid_grant",
        "unauthorized_client",
        "unsupported_grant_type",
        "invalid_scope",
        "temporarily_unavailable",
        "server_error",
    ];
    let said = json.and_then(|json| json.get("error")?.as_str());
    let code = CODES.iter().find(|code| said == Some(code));
    let code = code.map_or_else(String::new, |code| format!(" ({code})"));
    let rest = answer
        .header("retry-after")
        .and_then(|text| text.trim().parse().ok());
    NoToken {
        why: format!("the token's address answered {}{code}", answer.status),
        passing: answer.status == 429 || answer.status >= 500,
        rest: rest.filter(|seconds| *seconds >= 0).map(Span::from_secs),
    }
}
