//! What a destination answers, as a value. Writing it to a socket, whole or in pieces, is the wire's part.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::ledger::{Event, Row};

/// An answer before it meets its fault.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(Cow<'static, str>, String)>,
    pub(crate) body: Body,
}

/// The body of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Body {
    Json(Value),
    Text(String),
    Html(&'static str),
    /// As it is; its content type is among the headers.
    Raw(Vec<u8>),
    Empty,
}

impl Answer {
    pub(crate) fn json(status: u16, body: Value) -> Answer {
        Answer {
            status,
            headers: Vec::new(),
            body: Body::Json(body),
        }
    }

    /// The error form that all destinations share.
    pub(crate) fn error(status: u16, code: &str, message: &str) -> Answer {
        Answer::json(status, json!({"error": {"code": code, "message": message}}))
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Answer {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// The answer that a row stands for: given when the row is written, and given again under its key.
    pub(crate) fn of(row: &Row) -> Answer {
        if let (Event::Effect | Event::Queued, Some(status)) = (row.event, row.status) {
            return Answer::server_error(status);
        }
        match row.event {
            Event::Effect => Answer::json(
                201,
                json!({"ok": true, "id": row.id, "reference": row.reference}),
            ),
            Event::Queued => Answer::taken(row),
            Event::Declined => {
                let message = "the request was recorded and declined";
                Answer::json(
                    402,
                    json!({"error": {"code": "declined", "message": message, "id": row.id}}),
                )
            }
            Event::Refused => Answer::refusal(row),
            // None of these is stored under a key; each has an answer of its own where it is made.
            Event::Begun
            | Event::FailedJob
            | Event::Replayed
            | Event::Cancelled
            | Event::Dropped
            | Event::Elsewhere => Answer::server_error(500),
        }
    }

    fn taken(row: &Row) -> Answer {
        let job = row.job.clone().unwrap_or_default();
        let place = format!("/{}/{}/jobs/{job}", row.kind.name(), row.mode.name());
        Answer::json(202, json!({"ok": true, "job": job, "status": "queued"}))
            .with("Location", place)
    }

    fn refusal(row: &Row) -> Answer {
        let status = row.status.unwrap_or(422);
        let code = row.code.as_deref().unwrap_or("refused");
        if code == "ok_false" {
            return Answer::json(200, json!({"ok": false, "error": "nothing was done"}));
        }
        Answer::error(status, code, message(code))
    }

    /// A server error that says nothing about the request: from the application (500) or from a gateway.
    pub(crate) fn server_error(status: u16) -> Answer {
        let body = match status {
            502 => Body::Html("<html><body><h1>502 Bad Gateway</h1></body></html>\n"),
            503 => Body::Html("<html><body><h1>503 Service Unavailable</h1></body></html>\n"),
            504 => Body::Html("<html><body><h1>504 Gateway Timeout</h1></body></html>\n"),
            _ => return Answer::error(status, "internal", "something went wrong"),
        };
        Answer {
            status,
            headers: Vec::new(),
            body,
        }
    }
}

/// The words beside a code.
fn message(code: &str) -> &'static str {
    match code {
        "invalid" => "the request is not valid; nothing was done",
        "refused" => "the request is refused; nothing was done",
        "busy" => "too busy to take the request; nothing was done",
        "key_reuse" => {
            "this key was used with another body; use a key of its own for other content"
        }
        "key_in_progress" => "a request with this key is still running; ask again later",
        "key_missing" => "this destination needs a key; send the header Idempotency-Key",
        "key_cancelled" => "this key was cancelled; nothing was done",
        "unauthorized" => "the bearer token is missing or wrong; nothing was done",
        "malformed" => "the body is not a JSON object with text members; nothing was done",
        _ => "nothing was done",
    }
}

/// The reason phrase of a status line.
pub(crate) fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        301 => "Moved Permanently",
        204 => "No Content",
        207 => "Multi-Status",
        302 => "Found",
        303 => "See Other",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        409 => "Conflict",
        410 => "Gone",
        412 => "Precondition Failed",
        413 => "Content Too Large",
        422 => "Unprocessable Content",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Status",
    }
}
