//! Answers: JSON, or a problem in the sense of RFC 9457. A problem never shows a value that only the server knows.

use std::time::Duration;

use axum::body::Body;
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::{Response, StatusCode};
use factum::view::StatusView;
use factum::{Code, Problem, problem_json};
use serde::Serialize;
use serde_json::{Value, json};

/// An answer on its way out.
pub(crate) type Reply = Response<Body>;

/// Why a request is not answered as it was meant.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A problem with a code and a page.
    Problem(Box<Problem>),
    /// The address does not take the method; it takes these.
    WrongMethod(Box<Problem>, String),
    /// An action of equal content holds it off, and stands like this.
    HeldOff(Box<Problem>, Box<StatusView>),
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self::Problem(Box::new(problem))
    }
}

impl Failure {
    /// A new problem.
    pub(crate) fn new(
        code: Code,
        member: &str,
        rule: impl Into<Box<str>>,
        remedy: impl Into<Box<str>>,
    ) -> Self {
        Problem::new(code, member, rule, remedy).into()
    }

    /// The server itself went wrong. What exactly stands in its log and is not told.
    pub(crate) fn broken() -> Self {
        Self::new(
            Code::Internal,
            "",
            "the server went wrong while it answered; what was recorded before that is kept",
            "see the server's log; a submission may be repeated with the same identity, and joins",
        )
    }

    /// The body did not arrive in time.
    pub(crate) fn too_slow() -> Self {
        Self::new(
            Code::RequestTimeout,
            "",
            "the body did not arrive in time; nothing was recorded",
            "send it again, without a pause",
        )
    }

    /// Nothing is known of what was asked for.
    pub(crate) fn too_long() -> Self {
        Self::new(
            Code::AnswerTimeout,
            "",
            "the answer took longer than server.answer_wait; what was asked for may have been done",
            "look, or ask again; a submission may be repeated with the same identity, and joins",
        )
    }

    /// As an answer to the request of this id.
    pub(crate) fn into_reply(self, request_id: &str) -> Reply {
        match self {
            Self::Problem(problem) => problem_reply(&problem, None, request_id),
            Self::HeldOff(problem, earlier) => problem_reply(&problem, Some(&earlier), request_id),
            Self::WrongMethod(problem, allow) => {
                let reply = problem_reply(&problem, None, request_id);
                with_header(reply, header::ALLOW, &allow)
            }
        }
    }
}

fn problem_reply(problem: &Problem, earlier: Option<&StatusView>, request_id: &str) -> Reply {
    let status =
        StatusCode::from_u16(problem.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut json = problem_json(problem);
    if let Some(earlier) = earlier {
        json["earlier"] = json!(earlier);
    }
    json["request_id"] = request_id.into();
    let mut reply = problem_body(status, &json);
    if let Some(wait) = problem.retry_after {
        reply = with_header(reply, header::RETRY_AFTER, &whole_seconds(wait).to_string());
    }
    if problem.code == Code::Unauthorized {
        reply = with_header(reply, header::WWW_AUTHENTICATE, "Bearer realm=\"factum\"");
    }
    reply
}

/// Not less than it is, and at least one, so that nobody repeats too early.
fn whole_seconds(wait: Duration) -> u64 {
    (wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1)
}

fn problem_body(status: StatusCode, json: &Value) -> Reply {
    let reply = with_status(status, json.to_string());
    with_header(reply, header::CONTENT_TYPE, "application/problem+json")
}

/// A JSON answer.
pub(crate) fn json_reply(status: StatusCode, value: &impl Serialize) -> Result<Reply, Failure> {
    match serde_json::to_string(value) {
        Ok(text) => Ok(json_text(status, text)),
        Err(error) => {
            tracing::error!(%error, "an answer cannot be written as JSON");
            Err(Failure::broken())
        }
    }
}

/// A JSON answer whose text stands already.
pub(crate) fn json_text(status: StatusCode, text: impl Into<Body>) -> Reply {
    with_header(
        with_status(status, text),
        header::CONTENT_TYPE,
        "application/json",
    )
}

/// An answer of this status and body.
pub(crate) fn with_status(status: StatusCode, body: impl Into<Body>) -> Reply {
    let mut reply = Response::new(body.into());
    *reply.status_mut() = status;
    // Statuses change; nothing on the way may keep one.
    reply
        .headers_mut()
        .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    reply
}

/// The answer with one more header. A value that cannot stand in a header is left out.
pub(crate) fn with_header(mut reply: Reply, name: HeaderName, value: &str) -> Reply {
    if let Ok(value) = HeaderValue::from_str(value) {
        reply.headers_mut().insert(name, value);
    }
    reply
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_of_less_than_a_second_is_not_answered_as_none() {
        let problem =
            Problem::new(Code::QueueFull, "", "full", "wait").after(Duration::from_millis(20));
        let reply = Failure::from(problem).into_reply("");
        assert_eq!(reply.status(), 429);
        assert_eq!(reply.headers()[header::RETRY_AFTER], "1");
        assert_eq!(whole_seconds(Duration::from_millis(1_900)), 2);
        assert_eq!(whole_seconds(Duration::from_secs(3)), 3);
    }

    #[test]
    fn every_problem_has_a_status_that_http_knows() {
        for code in Code::ALL {
            let reply = Failure::new(*code, "/x", "rule", "remedy").into_reply("");
            assert_eq!(reply.status().as_u16(), code.status(), "{}", code.code());
            assert!(!reply.status().is_success(), "{}", code.code());
        }
    }
}
