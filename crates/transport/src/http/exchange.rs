//! One request and its answer over one connection, within its limits. Reports how far it came; closes nothing itself.

use std::error::Error;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use factum_contract::http::HttpAnswer;
use factum_core::evidence::Phase;
use http::{HeaderMap, Request};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use tokio::time::{Instant, Sleep, sleep_until};

use super::line::Line;
use super::request::WholeBody;

/// How long the parts of an exchange may take.
#[derive(Clone, Copy, Debug)]
pub(super) enum Bounds {
    /// So long for writing, from now; then so long for the answer.
    Each {
        /// From the first byte to the last.
        write: Duration,
        /// From the last byte written to the last byte of the answer.
        answer: Duration,
    },
    /// All of it by then.
    Until(Instant),
}

/// An exchange that ended without a whole answer.
#[derive(Debug)]
pub(super) struct Broken {
    pub(super) phase: Phase,
    pub(super) status: Option<u16>,
    pub(super) detail: String,
}

/// Hands `message` over and reads the answer, its body up to `body_max` bytes.
pub(super) async fn exchange(
    line: &mut Line,
    message: Request<WholeBody>,
    bounds: Bounds,
    body_max: usize,
) -> Result<HttpAnswer, Broken> {
    let reply = line.sender.try_send_request(message);
    let mut driver = Driver::new(line, bounds);
    let head = driver.run(pin!(reply)).await;
    let response = match head {
        Ok(Ok(response)) => response,
        Ok(Err(refused)) => {
            let phase = driver.phase();
            return Err(broken(phase, None, &root_cause(refused.error())));
        }
        Err(limit) => return Err(broken(driver.phase(), None, limit.text())),
    };
    let (head, mut body) = response.into_parts();
    let status = head.status.as_u16();
    let mut answer = HttpAnswer {
        status,
        headers: plain_headers(&head.headers),
        body: Vec::new(),
        truncated: false,
    };
    loop {
        // An empty body is at its end before anything more is read.
        if body.is_end_stream() {
            return Ok(answer);
        }
        match driver.run(pin!(next_data(&mut body))).await {
            Ok(None) => return Ok(answer),
            Ok(Some(Ok(chunk))) => {
                let room = body_max - answer.body.len();
                answer
                    .body
                    .extend_from_slice(&chunk[..chunk.len().min(room)]);
                if chunk.len() > room {
                    answer.truncated = true;
                    return Ok(answer);
                }
            }
            Ok(Some(Err(e))) => {
                return Err(broken(Phase::Body, Some(status), &root_cause(&e)));
            }
            Err(limit) => return Err(broken(Phase::Body, Some(status), limit.text())),
        }
    }
}

fn broken(phase: Phase, status: Option<u16>, why: &str) -> Broken {
    let what = match phase {
        Phase::Write => "the request was not written whole",
        Phase::Body => "the answer was cut short",
        Phase::Prepare | Phase::Resolve | Phase::Connect | Phase::Tls | Phase::Head => {
            "no whole answer came"
        }
    };
    Broken {
        phase,
        status,
        detail: format!("{what}: {why}"),
    }
}

/// The next piece of data; trailers are passed over.
async fn next_data(body: &mut Incoming) -> Option<Result<Bytes, hyper::Error>> {
    loop {
        match body.frame().await? {
            Ok(frame) => {
                if let Ok(data) = frame.into_data() {
                    return Some(Ok(data));
                }
            }
            Err(e) => return Some(Err(e)),
        }
    }
}

fn plain_headers(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |bytes: &[u8]| {
        let plain = |b: u8| {
            if b.is_ascii() {
                char::from(b)
            } else {
                char::REPLACEMENT_CHARACTER
            }
        };
        bytes.iter().copied().map(plain).collect()
    };
    headers
        .iter()
        .map(|(name, value)| (name.as_str().to_owned(), text(value.as_bytes())))
        .collect()
}

/// Polls the connection beside whatever is waited for, under the limit of the part that it is in.
struct Driver<'a> {
    line: &'a mut Line,
    bounds: Bounds,
    timer: Pin<Box<Sleep>>,
    written: bool,
}

/// Which limit was reached.
#[derive(Clone, Copy, Debug)]
enum Limit {
    Write,
    Answer,
}

impl Limit {
    fn text(self) -> &'static str {
        match self {
            Self::Write => "the time for writing ran out",
            Self::Answer => "the time for the answer ran out",
        }
    }
}

impl<'a> Driver<'a> {
    fn new(line: &'a mut Line, bounds: Bounds) -> Self {
        let until = match bounds {
            Bounds::Each { write, .. } => Instant::now() + write,
            Bounds::Until(until) => until,
        };
        Self {
            line,
            bounds,
            timer: Box::pin(sleep_until(until)),
            written: false,
        }
    }

    /// How far it came, before a head was read.
    fn phase(&self) -> Phase {
        if self.written {
            Phase::Head
        } else {
            Phase::Write
        }
    }

    async fn run<F: Future>(&mut self, mut what: Pin<&mut F>) -> Result<F::Output, Limit> {
        poll_fn(|cx| {
            if let Poll::Ready(done) = what.as_mut().poll(cx) {
                return Poll::Ready(Ok(done));
            }
            self.line.poll_connection(cx);
            self.note_written();
            if let Poll::Ready(done) = what.as_mut().poll(cx) {
                return Poll::Ready(Ok(done));
            }
            self.poll_limit(cx).map(Err)
        })
        .await
    }

    /// From the last byte written on, the limit is the answer's.
    fn note_written(&mut self) {
        if self.written || !self.line.whole() {
            return;
        }
        self.written = true;
        if let Bounds::Each { answer, .. } = self.bounds {
            self.timer.as_mut().reset(Instant::now() + answer);
        }
    }

    fn poll_limit(&mut self, cx: &mut Context<'_>) -> Poll<Limit> {
        let limit = if self.written {
            Limit::Answer
        } else {
            Limit::Write
        };
        self.timer.as_mut().poll(cx).map(|()| limit)
    }
}

/// The innermost cause of an error, in a short line.
pub(super) fn root_cause(error: &(dyn Error + 'static)) -> String {
    let mut deepest = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    let text = deepest.to_string();
    // rustls adds the address of its manual.
    let text = text.split(": https://").next().unwrap_or_default();
    text.chars().filter(|c| !c.is_control()).take(160).collect()
}
