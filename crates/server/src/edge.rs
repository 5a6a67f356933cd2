//! What every request and answer has, whichever call it is: an id, headers for browsers, and a line in the log. No call can leave a
//! connection unanswered.
//!
//! The line names the call's template, not its address: neither a query nor an id, and nothing of a body or a token, is logged. What
//! else is logged while a request is answered stands in a span with its id.

use std::future::Future;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::extract::Request;
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::{HeaderMap, Method};
use factum::Caller;
use tokio::time::timeout;
use tracing::Instrument;

use crate::reply::{Failure, Reply};

/// Under which a caller names its request, and is told the name.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The longest id of a caller's own.
const REQUEST_ID_MAX: usize = 64;

/// Answers are data for programs: no browser is to show, frame or keep one, or hand it to another site.
const FOR_BROWSERS: [(HeaderName, HeaderValue); 4] = [
    (
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    ),
    (
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"),
    ),
    (
        header::REFERRER_POLICY,
        HeaderValue::from_static("no-referrer"),
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("same-origin"),
    ),
];

/// Who is at the other end, as the connection knows it. Nothing of it is taken from a header.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    /// Whether what is said stays between the two.
    pub(crate) encrypted: bool,
    /// The token that a machine's certificate counts as.
    pub(crate) machine: Option<Arc<str>>,
}

/// One request, for the log and for whoever answers it. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    id: String,
    peer: Option<Peer>,
    caller: OnceLock<String>,
}

impl Asked {
    fn of(request: &Request) -> Self {
        let inner = Inner {
            id: named(request.headers()).unwrap_or_else(made),
            peer: request.extensions().get::<Peer>().cloned(),
            caller: OnceLock::new(),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// The token that the connection's certificate counts as.
    pub(crate) fn machine(&self) -> Option<&str> {
        self.inner.peer.as_ref()?.machine.as_deref()
    }

    /// Keeps for the log who it turned out to be.
    pub(crate) fn is_from(&self, caller: &Caller) {
        let Caller {
            tenant,
            principal,
            token,
            ..
        } = caller;
        let token = token.as_deref().unwrap_or("admin");
        // A request is one caller's.
        let _ = (self.inner.caller).set(format!("{tenant}/{principal} by {token}"));
    }

    /// Whether it came from this very machine.
    pub(crate) fn is_local(&self) -> bool {
        let peer = self.inner.peer.as_ref();
        peer.is_some_and(|peer| peer.address.ip().to_canonical().is_loopback())
    }

    /// Whether it came in by the door for other machines.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.inner.peer.as_ref().is_some_and(|peer| peer.encrypted)
    }
}

/// The id that a caller gave its request, if it is one that may stand in a log.
fn named(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(REQUEST_ID)?.to_str().ok()?;
    let sound = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let fits = (1..=REQUEST_ID_MAX).contains(&text.len()) && text.bytes().all(sound);
    fits.then(|| text.to_owned())
}

/// An id of our own.
fn made() -> String {
    let mut bytes = [0; 12];
    // Where there is no randomness, ids are alike, and the log is a little harder to read.
    let _ = getrandom::fill(&mut bytes);
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("req_{digits}")
}

/// Answers in any case and within `wait`, and writes one line: what was asked by whom, how it was answered, how long it took.
pub(crate) async fn answered<F>(
    request: Request,
    path: &'static str,
    wait: Duration,
    answer: impl FnOnce(Request, Asked) -> F,
) -> Reply
where
    F: Future<Output = Result<Reply, Failure>>,
{
    let begun = Instant::now();
    let asked = Asked::of(&request);
    let method = request.method().clone();
    // An error's level, so that the id is there whatever is logged.
    let span = tracing::error_span!("request", request_id = asked.inner.id);
    let answer = async {
        let answer = timeout(wait, answer(request, asked.clone()));
        let answered = Caught(Box::pin(answer))
            .await
            .unwrap_or_else(|Panicked| {
                tracing::error!(%method, path, "answering a request panicked");
                Ok(Err(Failure::broken()))
            })
            .unwrap_or_else(|_| Err(Failure::too_long()));
        answered.unwrap_or_else(|failure| failure.into_reply(&asked.inner.id))
    };
    let reply = answer.instrument(span).await;
    logged(&method, path, &asked, &reply, begun);
    dressed(reply, &asked)
}

fn logged(method: &Method, path: &str, asked: &Asked, reply: &Reply, begun: Instant) {
    let ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    let Inner { id, peer, caller } = &*asked.inner;
    tracing::info!(
        %method,
        path,
        status = reply.status().as_u16(),
        ms,
        request_id = id,
        peer = peer.as_ref().map(|peer| tracing::field::display(peer.address)),
        caller = caller.get(),
        "request"
    );
}

/// The answer with what every answer carries. There is no header that would let a page of another site read it.
fn dressed(mut reply: Reply, asked: &Asked) -> Reply {
    let headers = reply.headers_mut();
    for (name, value) in FOR_BROWSERS {
        // Pages for people say for themselves what a browser may do with them.
        headers.entry(name).or_insert(value);
    }
    if asked.is_encrypted() {
        let year = HeaderValue::from_static("max-age=31536000");
        headers.insert(header::STRICT_TRANSPORT_SECURITY, year);
    }
    if let Ok(id) = HeaderValue::from_str(&asked.inner.id) {
        headers.insert(REQUEST_ID, id);
    }
    reply
}

/// A future whose panic is an outcome.
struct Caught<F>(Pin<Box<F>>);

/// It panicked. With what is in the panic hook's output, and is not told to the caller.
#[derive(Debug)]
struct Panicked;

impl<F: Future> Future for Caught<F> {
    type Output = Result<F::Output, Panicked>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // After a panic the future is never polled again, so nobody sees what it may have left half done.
        match catch_unwind(AssertUnwindSafe(|| self.0.as_mut().poll(context))) {
            Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
            Ok(Poll::Pending) => Poll::Pending,
            Err(_) => Poll::Ready(Err(Panicked)),
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use http_body_util::BodyExt;
    use serde_json::Value;

    use super::*;

    const WAIT: Duration = Duration::from_secs(60);

    fn request(id: Option<&[u8]>) -> Request {
        let mut request = Request::new(Body::empty());
        if let Some(id) = id {
            let value = HeaderValue::from_bytes(id).unwrap();
            request.headers_mut().insert(REQUEST_ID, value);
        }
        request
    }

    async fn problem(reply: Reply) -> Value {
        let body = reply.into_body().collect().await.unwrap().to_bytes();
        serde_json::from_slice(&body).unwrap()
    }

    #[tokio::test]
    async fn a_panic_is_answered_without_what_it_said() {
        let reply = answered(request(None), "/x", WAIT, |_, _| async {
            panic!("card 4111111111111111")
        });
        let reply = reply.await;
        assert_eq!(reply.status(), 500);
        let kind = &reply.headers()[header::CONTENT_TYPE];
        assert_eq!(kind, "application/problem+json");
        let told = problem(reply).await;
        assert!(told["remedy"].is_string() && !told.to_string().contains("4111"));
    }

    #[tokio::test]
    async fn an_answer_that_does_not_come_is_said_to_be_unknown() {
        let reply = answered(
            request(Some(b"r-1")),
            "/x",
            Duration::from_millis(1),
            |_, _| std::future::pending(),
        );
        let reply = reply.await;
        assert_eq!(reply.status(), 504);
        let told = problem(reply).await;
        assert_eq!(
            (&told["code"], &told["request_id"]),
            (&"F1151".into(), &"r-1".into())
        );
    }

    #[tokio::test]
    async fn an_id_that_may_stand_in_a_log_is_kept_and_any_other_replaced() {
        let long = "x".repeat(65);
        for (given, kept) in [
            (Some(&b"order-77_a.B"[..]), true),
            (Some(&b""[..]), false),
            (Some(&b"a b"[..]), false),
            (Some(&b"a\tb"[..]), false),
            (Some(&b"\xff"[..]), false),
            (Some(&b"</script>"[..]), false),
            (Some(long.as_bytes()), false),
            (None, false),
        ] {
            let reply = answered(request(given), "/x", WAIT, |_, _| async {
                Err(Failure::broken())
            });
            let reply = reply.await;
            let id = reply.headers()[&REQUEST_ID].to_str().unwrap().to_owned();
            if kept {
                assert_eq!(Some(id.as_bytes()), given);
            } else {
                assert!(id.starts_with("req_") && id.len() == 28, "{id}");
            }
            assert_eq!(problem(reply).await["request_id"], *id);
        }
        assert_ne!(made(), made());
    }
}
