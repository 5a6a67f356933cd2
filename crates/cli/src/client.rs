//! A small HTTP client for the API: one request, one JSON answer. It follows no redirect and reads no proxy.
//!
//! Connections are kept only for calls that may be repeated (questions, and submissions, which join): there a connection that
//! turned out to be dead is replaced once. Whoever wants more patience asks again.

mod address;

use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{HeaderMap, Method, Request};
use serde_json::{Value, json};

use crate::failure::Failure;
use address::{Address, Line};

/// The longest answer that is read.
const ANSWER_MAX: usize = 64 * 1024 * 1024;
/// How long an answer may take beyond what the call itself waits.
const ANSWER: Duration = Duration::from_secs(30);

/// A connection to one server's API.
pub(crate) struct Client {
    address: Address,
    token: String,
    idle: Mutex<Vec<Line>>,
}

/// One call.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    method: Method,
    path: String,
    headers: Vec<(&'static str, String)>,
    body: Option<Bytes>,
    /// Making it twice is as good as making it once.
    repeatable: bool,
    /// How long the server may wait before it answers.
    waits: Duration,
}

/// Why a call has no answer.
#[derive(Debug)]
pub(crate) enum Unanswered {
    /// Nobody was there to take it.
    NotSent(Failure),
    /// It may have been taken.
    MaybeTaken(Failure),
}

/// An answer with its status.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The HTTP status.
    pub(crate) status: u16,
    /// The body; null where there is none.
    pub(crate) body: Bytes,
    /// The headers.
    pub(crate) headers: HeaderMap,
}

impl Call {
    /// A question.
    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self {
            method: Method::GET,
            path: path.into(),
            headers: Vec::new(),
            body: None,
            repeatable: true,
            waits: Duration::ZERO,
        }
    }

    /// A change.
    pub(crate) fn post(path: impl Into<String>, body: impl Into<Bytes>) -> Self {
        Self {
            method: Method::POST,
            body: Some(body.into()),
            repeatable: false,
            ..Self::get(path)
        }
    }

    /// A setting.
    pub(crate) fn put(path: impl Into<String>, body: impl Into<Bytes>) -> Self {
        Self {
            method: Method::PUT,
            ..Self::post(path, body)
        }
    }

    /// A change whose repeat joins the first.
    pub(crate) fn repeatable(self) -> Self {
        Self {
            repeatable: true,
            ..self
        }
    }

    /// The server may take this long before it answers.
    pub(crate) fn waiting(self, waits: Duration) -> Self {
        Self { waits, ..self }
    }

    /// With this header.
    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

impl Client {
    /// A client for `http://host:port[/path]`, or the same with `https`. Nothing is sent yet.
    pub(crate) fn new(url: &str, token: String) -> Result<Self, Failure> {
        if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Failure::usage(
                "the token has characters that no token has",
                "write the token as it was shown, and nothing beside it",
            ));
        }
        Ok(Self {
            address: Address::parse(url)?,
            token,
            idle: Mutex::new(Vec::new()),
        })
    }

    /// Where it asks, for people.
    pub(crate) fn address(&self) -> String {
        self.address.to_string()
    }

    /// Makes the call; a 2xx answer as JSON, any other as the problem that it holds.
    pub(crate) async fn json(&self, call: Call) -> Result<Value, Failure> {
        let answer = self.call(call).await?;
        let parsed = serde_json::from_slice(&answer.body);
        match (answer.status, parsed) {
            (200..=299, Ok(value)) => Ok(value),
            (_, Ok(problem @ Value::Object(_))) => {
                Err(Failure::from_server(self.whole(problem, answer.status)))
            }
            (status, _) => {
                let rule = format!("{} answered {status} and no JSON", self.address());
                let problem = json!({"title": "no server of this program", "status": status, "rule": rule, "remedy": "check FACTUM_URL"});
                Err(Failure::from_server(problem))
            }
        }
    }

    /// Makes the call; the answer as it is.
    pub(crate) async fn call(&self, call: Call) -> Result<Answer, Failure> {
        let limit = call.waits + ANSWER;
        let timeout = tokio::time::timeout(limit, self.exchange(call));
        timeout
            .await
            .unwrap_or_else(|_| Err(self.lost(&format!("no answer within {} s", limit.as_secs()))))
    }

    /// Makes the call once, on a connection of its own; what is read of the answer is handed on piece by piece, however long that goes on.
    /// Answers with the status, and the body where it was no stream.
    pub(crate) async fn once(
        &self,
        call: &Call,
        mut piece: impl FnMut(&[u8]),
    ) -> Result<Answer, Unanswered> {
        let mut fresh = self.address.connect().await.map_err(Unanswered::NotSent)?;
        let request = self.request(call).map_err(Unanswered::NotSent)?;
        let lost = |why: &hyper::Error| Unanswered::MaybeTaken(self.broken(why));
        let answer = fresh.send(request).await.map_err(|error| lost(&error))?;
        let status = answer.status().as_u16();
        let headers = answer.headers().clone();
        let kind = headers.get(CONTENT_TYPE);
        let streams = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        let mut body = answer.into_body();
        let mut whole = Vec::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| lost(&error))?;
            let Some(data) = frame.data_ref() else {
                continue;
            };
            if streams {
                piece(data);
            } else if whole.len() + data.len() <= ANSWER_MAX {
                whole.extend_from_slice(data);
            } else {
                return Err(Unanswered::MaybeTaken(self.lost("the answer is too long")));
            }
        }
        let body = Bytes::from(whole);
        Ok(Answer {
            status,
            body,
            headers,
        })
    }

    async fn exchange(&self, call: Call) -> Result<Answer, Failure> {
        if let Some(mut kept) = call.repeatable.then(|| self.idle()).flatten()
            && kept.is_ready().await
            && let Ok(answer) = self.send(kept, &call).await
        {
            return Ok(answer);
        }
        let fresh = self.address.connect().await?;
        self.send(fresh, &call).await
    }

    async fn send(&self, mut line: Line, call: &Call) -> Result<Answer, Failure> {
        let request = self.request(call)?;
        let answer = line
            .send(request)
            .await
            .map_err(|error| self.broken(&error))?;
        let status = answer.status().as_u16();
        let headers = answer.headers().clone();
        let body = Limited::new(answer.into_body(), ANSWER_MAX).collect().await;
        let body = body
            .map_err(|error| self.lost(&error.to_string()))?
            .to_bytes();
        if call.repeatable {
            self.idle
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
                .push(line);
        }
        Ok(Answer {
            status,
            body,
            headers,
        })
    }

    fn request(&self, call: &Call) -> Result<Request<Full<Bytes>>, Failure> {
        let mut request = Request::builder()
            .method(call.method.clone())
            .uri(format!("{}{}", self.address.path, call.path))
            .header(HOST, &self.address.authority)
            .header(AUTHORIZATION, format!("Bearer {}", self.token));
        if call.body.is_some() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        for (name, value) in &call.headers {
            request = request.header(*name, value);
        }
        let body = Full::new(call.body.clone().unwrap_or_default());
        request.body(body).map_err(|error| {
            Failure::usage(
                format!("the request cannot be written: {error}"),
                "leave out control characters",
            )
        })
    }

    fn idle(&self) -> Option<Line> {
        self.idle
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .pop()
    }

    /// A connection that broke before the whole answer was there.
    fn broken(&self, error: &hyper::Error) -> Failure {
        let lost = self.lost(&chain(error));
        match self.address.remedy(error) {
            Some(remedy) => lost.remedied(remedy),
            None => lost,
        }
    }

    fn lost(&self, why: &str) -> Failure {
        let rule = format!("{} gave no whole answer: {why}", self.address());
        Failure::unavailable(rule, "ask again; a submission with the same identity joins")
    }

    /// A problem always says its status, also where a proxy in front wrote the body.
    fn whole(&self, mut problem: Value, status: u16) -> Value {
        if !problem["status"].is_u64() {
            problem["status"] = status.into();
        }
        if problem["rule"].is_null() && problem["title"].is_null() {
            problem["rule"] = format!("{} answered {status}", self.address()).into();
        }
        problem
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}

/// A path with a query; parameters without a value are left out.
pub(crate) fn with_query(path: &str, parameters: &[(&str, Option<String>)]) -> String {
    let given = parameters
        .iter()
        .filter_map(|(name, value)| Some((name, value.as_ref()?)));
    let pairs: Vec<String> = given
        .map(|(name, value)| format!("{name}={}", encoded(value)))
        .collect();
    if pairs.is_empty() {
        path.to_owned()
    } else {
        format!("{path}?{}", pairs.join("&"))
    }
}

/// Text as one part of a path or query.
pub(crate) fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_cannot_smuggle_a_header() {
        assert!(Client::new("http://x", "a\nb".to_owned()).is_err());
    }

    #[test]
    fn parameters_are_escaped() {
        let query = with_query(
            "/v1/actions",
            &[("key", Some("a/b c&d=ü".to_owned())), ("state", None)],
        );
        assert_eq!(query, "/v1/actions?key=a%2Fb%20c%26d%3D%C3%BC");
        assert_eq!(with_query("/x", &[("a", None)]), "/x");
    }
}
