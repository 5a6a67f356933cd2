//! A server over HTTP: each message is a request of its own, carried as every effect request is. No session is begun anew under a call, no
//! redirect is followed, nothing is sent twice; an answer that says the session is over says nothing about the call.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use factum_contract::http::{HttpAnswer, HttpRequest};
use factum_core::{Permission, Span};
use serde_json::Value;
use tokio::time::Instant;

use super::speech::{Speech, notification, outcome, request};
use super::{ANSWER_MAX, CallEnded, Unasked};
use crate::ended::{Asked, Ended, Transport};
use crate::target::Target;

const SESSION: &str = "mcp-session-id";

/// The address of a server.
#[derive(Clone)]
pub(super) struct Posts {
    target: Arc<Target>,
    path: Arc<str>,
    transport: Arc<dyn Transport>,
    next: Arc<AtomicU64>,
    /// The session that the server gave us, in the older era.
    session: Arc<Mutex<Option<String>>>,
    /// The session is over: the next one begins with a harmless request.
    over: Arc<AtomicBool>,
}

impl Posts {
    pub(super) fn new(target: Target, path: &str, transport: Arc<dyn Transport>) -> Self {
        Self {
            target: Arc::new(target),
            path: path.into(),
            transport,
            next: Arc::new(AtomicU64::new(1)),
            session: Arc::default(),
            over: Arc::default(),
        }
    }

    pub(super) fn is_open(&self) -> bool {
        !self.over.load(Ordering::Relaxed)
    }

    /// Asks for something that has no effect.
    pub(super) async fn ask(
        &self,
        speech: &Speech,
        method: &str,
        params: Value,
        until: Instant,
    ) -> Result<Result<Value, Value>, Unasked> {
        if method == "initialize" {
            *self.session() = None;
            self.over.store(false, Ordering::Relaxed);
        }
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let message = request(id, method, &params);
        let answer = self
            .exchange(speech, method, &params, &message, until)
            .await?;
        if method == "initialize" {
            *self.session() = answer.header(SESSION).map(str::to_owned);
        }
        self.look(&answer);
        response(&answer, id).ok_or_else(|| Unasked(no_response(&answer)))
    }

    /// Tells something that is not answered.
    pub(super) async fn tell(
        &self,
        speech: &Speech,
        method: &str,
        until: Instant,
    ) -> Result<(), Unasked> {
        let message = notification(method);
        self.exchange(speech, method, &Value::Null, &message, until)
            .await?;
        Ok(())
    }

    /// Calls a tool.
    pub(super) async fn call(
        &self,
        permission: Permission,
        speech: &Speech,
        params: Value,
    ) -> CallEnded {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let message = request(id, "tools/call", &params);
        let carried = self.carried(speech, "tools/call", &params, &message);
        match self
            .transport
            .send(permission, &self.target, carried, false)
            .await
        {
            Ended::NotSent { detail, .. } => CallEnded::NotSent { detail },
            Ended::Lost {
                wrote,
                closed_at,
                detail,
                ..
            } => CallEnded::Lost {
                wrote,
                closed_at,
                detail,
            },
            Ended::Answered {
                answer,
                wrote,
                read_at,
            } => {
                self.look(&answer);
                match response(&answer, id) {
                    Some(outcome) => CallEnded::Answered(outcome),
                    None => CallEnded::Lost {
                        wrote,
                        closed_at: Some(read_at),
                        detail: no_response(&answer),
                    },
                }
            }
        }
    }

    async fn exchange(
        &self,
        speech: &Speech,
        method: &str,
        params: &Value,
        message: &Value,
        until: Instant,
    ) -> Result<HttpAnswer, Unasked> {
        let left = until.saturating_duration_since(Instant::now());
        let limit = Span::from_millis(i64::try_from(left.as_millis()).unwrap_or(i64::MAX / 2));
        let carried = self.carried(speech, method, params, message);
        match self.transport.ask(&self.target, carried, limit).await {
            Asked::Answered(answer) => Ok(answer),
            Asked::Failed { detail, .. } => Err(Unasked(detail)),
        }
    }

    fn carried(
        &self,
        speech: &Speech,
        method: &str,
        params: &Value,
        message: &Value,
    ) -> HttpRequest {
        let mut headers = vec![
            ("content-type".to_owned(), "application/json".to_owned()),
            (
                "accept".to_owned(),
                "application/json, text/event-stream".to_owned(),
            ),
        ];
        headers.extend(
            speech
                .version()
                .map(|version| ("mcp-protocol-version".to_owned(), version.to_owned())),
        );
        if *speech == Speech::Modern {
            headers.push(("mcp-method".to_owned(), method.to_owned()));
            let name = params["name"].as_str().map(header_value);
            headers.extend(name.map(|name| ("mcp-name".to_owned(), name)));
        }
        headers.extend(
            self.session()
                .clone()
                .map(|session| (SESSION.to_owned(), session)),
        );
        HttpRequest {
            method: "POST".to_owned(),
            path_and_query: self.path.to_string(),
            headers,
            body: message.to_string().into_bytes(),
        }
    }

    /// An answer that speaks of a session that is over.
    fn look(&self, answer: &HttpAnswer) {
        if self.session().is_some() && matches!(answer.status, 400 | 401 | 404) {
            self.over.store(true, Ordering::Relaxed);
        }
    }

    fn session(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What was answered instead of a response.
fn no_response(answer: &HttpAnswer) -> String {
    if answer.truncated {
        return format!(
            "it answered {} with more than {ANSWER_MAX} bytes, which are not read",
            answer.status
        );
    }
    format!("it answered {} and no response", answer.status)
}

/// The response under this id, in a body of JSON or of events.
fn response(answer: &HttpAnswer, id: u64) -> Option<Result<Value, Value>> {
    if answer.truncated {
        return None;
    }
    let body = std::str::from_utf8(&answer.body).ok()?;
    let streams = answer
        .header("content-type")
        .is_some_and(|kind| kind.starts_with("text/event-stream"));
    let messages: Vec<String> = if streams {
        let body = body.replace("\r\n", "\n");
        let events = body.split("\n\n").map(|event| {
            let data = event.lines().filter_map(|line| line.strip_prefix("data:"));
            data.map(str::trim_start).collect::<Vec<_>>().join("\n")
        });
        events.collect()
    } else {
        vec![body.to_owned()]
    };
    messages.iter().find_map(|text| {
        let mut message: Value = serde_json::from_str(text).ok()?;
        (message["id"].as_u64() == Some(id))
            .then(|| outcome(&mut message))
            .flatten()
    })
}

/// A name as a header can carry it.
fn header_value(text: &str) -> String {
    let plain = text.bytes().all(|byte| (0x21..0x7f).contains(&byte));
    if plain && !text.starts_with("=?base64?") {
        text.to_owned()
    } else {
        format!(
            "=?base64?{}?=",
            factum_contract::base64::encode(text.as_bytes())
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(kind: &str, body: &str) -> HttpAnswer {
        HttpAnswer {
            status: 200,
            headers: vec![("content-type".to_owned(), kind.to_owned())],
            body: body.as_bytes().to_vec(),
            truncated: false,
        }
    }

    #[test]
    fn only_a_response_under_our_id_is_one() {
        let rows = [
            (
                "application/json",
                r#"{"jsonrpc":"2.0","id":7,"result":{}}"#,
                true,
            ),
            (
                "application/json",
                r#"{"jsonrpc":"2.0","id":8,"result":{}}"#,
                false,
            ),
            (
                "application/json",
                r#"{"jsonrpc":"2.0","id":7,"result":{},"error":{}}"#,
                false,
            ),
            ("application/json", "<html>", false),
            (
                "text/event-stream",
                "event: message\ndata: {\"method\":\"x\"}\n\ndata: {\"id\":7,\"error\":{}}\n\n",
                true,
            ),
            (
                "text/event-stream; charset=utf-8",
                "data: {\"id\":7,\r\ndata: \"result\":{}}\r\n\r\n",
                true,
            ),
            ("text/event-stream", ": nothing\n\n", false),
        ];
        for (kind, body, found) in rows {
            assert_eq!(response(&answer(kind, body), 7).is_some(), found, "{body}");
        }
    }
}
