//! HTTP/1.1 on a socket, by hand, since answers have to be cut and connections reset on purpose.
//!
//! Requests are read within bounds; a body comes with its length or in chunks. Nothing here knows what a request means.

use std::io;
use std::net::Shutdown;
use std::time::Duration;

use socket2::SockRef;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::answer::{Answer, Body, reason};
use crate::config::Limits;

/// The head of a request.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) key: Option<String>,
    pub(crate) authorization: Option<String>,
    /// All headers; names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) keep_alive: bool,
    length: Length,
    expects_continue: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Length {
    Known(usize),
    Chunked,
}

impl Head {
    /// Whether the body is known to be longer than `bytes`.
    pub(crate) fn is_longer_than(&self, bytes: usize) -> bool {
        matches!(self.length, Length::Known(length) if length > bytes)
    }
}

/// Why a request could not be read.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The connection ended between requests or while an answer was written, or the ledger could not be written.
    Gone,
    /// The connection ended, or was silent for too long, before a request was complete.
    CutOff,
    /// What came is no request; it deserves this answer.
    Answer(Answer),
}

impl From<io::Error> for Trouble {
    fn from(_: io::Error) -> Trouble {
        Trouble::Gone
    }
}

/// One connection and what was read ahead of it.
#[derive(Debug)]
pub(crate) struct Wire {
    stream: TcpStream,
    buffer: Vec<u8>,
    limits: Limits,
    /// The testbed's clock for the header `Date`, in microseconds since 1970.
    pub(crate) now: i64,
}

/// More header lines than any caller of ours has use for.
const HEADERS_MAX: usize = 64;

impl Wire {
    pub(crate) fn new(stream: TcpStream, limits: Limits) -> Wire {
        // Without it small answers wait for the caller's acknowledgement. A socket that refuses the option still works.
        let _ = stream.set_nodelay(true);
        Wire {
            stream,
            buffer: Vec::with_capacity(4096),
            limits,
            now: 0,
        }
    }

    /// The next request's head; none when the caller has closed between requests.
    pub(crate) async fn head(&mut self) -> Result<Option<Head>, Trouble> {
        loop {
            let parsed = parse(&self.buffer)?;
            let length = parsed.as_ref().map_or(self.buffer.len(), |(_, used)| *used);
            if length > self.limits.head_max {
                let message = "the head is too long; shorten it";
                return Err(Trouble::Answer(Answer::error(
                    431,
                    "head_too_large",
                    message,
                )));
            }
            if let Some((head, used)) = parsed {
                self.buffer.drain(..used);
                return Ok(Some(head));
            }
            match self.fill().await {
                Ok(()) => {}
                Err(_) if self.buffer.is_empty() => return Ok(None),
                Err(_) => return Err(Trouble::CutOff),
            }
        }
    }

    /// The body that belongs to a head, as sent.
    pub(crate) async fn body(&mut self, head: &Head) -> Result<Vec<u8>, Trouble> {
        if head.is_longer_than(self.limits.body_max) {
            return Err(too_large());
        }
        if head.expects_continue && head.length != Length::Known(0) {
            self.write(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
        }
        match head.length {
            Length::Known(length) => self.take(length).await,
            Length::Chunked => self.chunks().await,
        }
    }

    async fn chunks(&mut self) -> Result<Vec<u8>, Trouble> {
        let mut body = Vec::new();
        loop {
            let line = self.line().await?;
            let digits = line.split(';').next().unwrap_or_default().trim();
            let size =
                usize::from_str_radix(digits, 16).map_err(|_| malformed("a chunk's size"))?;
            if body.len().saturating_add(size) > self.limits.body_max {
                return Err(too_large());
            }
            if size == 0 {
                while !self.line().await?.is_empty() {}
                return Ok(body);
            }
            body.extend(self.take(size).await?);
            if !self.line().await?.is_empty() {
                return Err(malformed("a chunk's end"));
            }
        }
    }

    async fn take(&mut self, length: usize) -> Result<Vec<u8>, Trouble> {
        while self.buffer.len() < length {
            self.fill().await.map_err(|_| Trouble::CutOff)?;
        }
        Ok(self.buffer.drain(..length).collect())
    }

    async fn line(&mut self) -> Result<String, Trouble> {
        loop {
            if let Some(end) = self.buffer.windows(2).position(|pair| pair == b"\r\n") {
                let line = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
                self.buffer.drain(..end + 2);
                return Ok(line);
            }
            if self.buffer.len() > self.limits.head_max {
                return Err(malformed("a line without end"));
            }
            self.fill().await.map_err(|_| Trouble::CutOff)?;
        }
    }

    async fn fill(&mut self) -> io::Result<()> {
        match timeout(self.limits.idle, self.stream.read_buf(&mut self.buffer)).await {
            Ok(Ok(0)) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match timeout(self.limits.idle, self.stream.write_all(bytes)).await {
            Ok(done) => done,
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    /// Sends the whole answer.
    pub(crate) async fn send(&mut self, answer: &Answer, keep_alive: bool) -> io::Result<()> {
        let (bytes, _) = encode(answer, keep_alive, self.now);
        self.write(&bytes).await
    }

    /// Sends half of the answer's head.
    pub(crate) async fn send_part_of_head(&mut self, answer: &Answer) -> io::Result<()> {
        let (bytes, head) = encode(answer, true, self.now);
        self.write(&bytes[..head / 2]).await
    }

    /// Sends the answer's head and half of its body; an answer without a body loses the end of its head instead.
    pub(crate) async fn send_part_of_body(&mut self, answer: &Answer) -> io::Result<()> {
        let (bytes, head) = encode(answer, true, self.now);
        let part = if bytes.len() > head {
            head + (bytes.len() - head) / 2
        } else {
            head - 2
        };
        self.write(&bytes[..part]).await
    }

    /// Closes in order, after reading for a moment what the caller is still sending: closing over unread bytes would
    /// reset the connection and could destroy an answer on its way.
    pub(crate) async fn close_gently(mut self) {
        if SockRef::from(&self.stream)
            .shutdown(Shutdown::Write)
            .is_err()
        {
            return;
        }
        let drain = async {
            let mut left = self.limits.body_max;
            while left > 0 {
                self.buffer.clear();
                match self.stream.read_buf(&mut self.buffer).await {
                    Ok(0) | Err(_) => return,
                    Ok(read) => left = left.saturating_sub(read),
                }
            }
        };
        // A caller that keeps sending for longer gets the reset.
        let _ = timeout(Duration::from_secs(1), drain).await;
    }

    /// Ends the connection with a reset.
    pub(crate) fn reset(self) {
        reset(self.stream);
    }
}

/// Ends a connection with a reset, whatever has been read of it.
pub(crate) fn reset(stream: TcpStream) {
    // Where the option is refused the connection is closed in order, and the caller sees another fault of the same
    // kind: no answer.
    let _ = SockRef::from(&stream).set_linger(Some(Duration::ZERO));
    drop(stream);
}

fn malformed(what: &str) -> Trouble {
    Trouble::Answer(Answer::error(
        400,
        "malformed",
        &format!("not HTTP/1.1: {what}"),
    ))
}

fn too_large() -> Trouble {
    Trouble::Answer(Answer::error(
        413,
        "too_large",
        "the body is too large; shorten it",
    ))
}

/// The head at the start of `bytes` and its length; none while it is incomplete.
fn parse(bytes: &[u8]) -> Result<Option<(Head, usize)>, Trouble> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    let used = match request.parse(bytes) {
        Ok(httparse::Status::Complete(used)) => used,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(error) => return Err(malformed(&error.to_string())),
    };
    let mut head = Head {
        method: request.method.unwrap_or_default().to_owned(),
        target: request.path.unwrap_or_default().to_owned(),
        key: None,
        authorization: None,
        headers: Vec::new(),
        keep_alive: request.version == Some(1),
        length: Length::Known(0),
        expects_continue: false,
    };
    for header in request.headers {
        let value = String::from_utf8_lossy(header.value);
        read_header(&mut head, header.name, &value)?;
        let value = value.trim().to_owned();
        head.headers.push((header.name.to_ascii_lowercase(), value));
    }
    Ok(Some((head, used)))
}

fn read_header(head: &mut Head, name: &str, value: &str) -> Result<(), Trouble> {
    if name.eq_ignore_ascii_case("content-length") {
        let length = value
            .trim()
            .parse()
            .map_err(|_| malformed("Content-Length is no number"))?;
        if head.length != Length::Chunked {
            head.length = Length::Known(length);
        }
    } else if name.eq_ignore_ascii_case("transfer-encoding") {
        if !value.trim().eq_ignore_ascii_case("chunked") {
            return Err(malformed("Transfer-Encoding is not chunked"));
        }
        head.length = Length::Chunked;
    } else if name.eq_ignore_ascii_case("connection") {
        let value = value.to_ascii_lowercase();
        head.keep_alive =
            (head.keep_alive || value.contains("keep-alive")) && !value.contains("close");
    } else if name.eq_ignore_ascii_case("expect") {
        head.expects_continue = value.trim().eq_ignore_ascii_case("100-continue");
    } else if name.eq_ignore_ascii_case("idempotency-key") {
        // The header's draft writes the key in quotes; both forms name the same key.
        head.key = Some(value.trim().trim_matches('"').to_owned());
    } else if name.eq_ignore_ascii_case("authorization") {
        head.authorization = Some(value.trim().to_owned());
    }
    Ok(())
}

/// The answer as bytes, and how many of them are its head.
fn encode(answer: &Answer, keep_alive: bool, now: i64) -> (Vec<u8>, usize) {
    let (kind, body) = match &answer.body {
        Body::Raw(bytes) => ("", bytes.clone()),
        Body::Json(value) => ("application/json", value.to_string().into_bytes()),
        Body::Text(text) => ("text/plain; charset=utf-8", text.clone().into_bytes()),
        Body::Html(text) => ("text/html; charset=utf-8", text.as_bytes().to_vec()),
        Body::Empty => ("", Vec::new()),
    };
    let mut head = format!("HTTP/1.1 {} {}\r\n", answer.status, reason(answer.status));
    if !kind.is_empty() {
        head.push_str(&format!("Content-Type: {kind}\r\n"));
    }
    head.push_str(&format!(
        "Content-Length: {}\r\nDate: {}\r\n",
        body.len(),
        date(now)
    ));
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if !keep_alive {
        head.push_str("Connection: close\r\n");
    }
    head.push_str("\r\n");
    let length = head.len();
    let mut bytes = head.into_bytes();
    bytes.extend(body);
    (bytes, length)
}

/// The form of the header `Date` (RFC 9110, IMF-fixdate) of a time in microseconds since 1970.
fn date(now: i64) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let seconds = u64::try_from(now).unwrap_or(0) / 1_000_000;
    let (mut days, of_day) = (seconds / 86_400, seconds % 86_400);
    let weekday = DAYS[usize::try_from(days % 7).unwrap_or(0)];
    let mut year = 1970;
    while days >= days_of(year) {
        days -= days_of(year);
        year += 1;
    }
    let lengths = [
        31,
        days_of(year) - 337,
        31,
        30,
        31,
        30,
        31,
        31,
        30,
        31,
        30,
        31,
    ];
    let mut month = 0;
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    let (day, month) = (days + 1, MONTHS[month]);
    format!("{weekday}, {day:02} {month} {year} {hour:02}:{minute:02}:{second:02} GMT")
}

fn days_of(year: u64) -> u64 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    365 + u64::from(leap)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_have_the_form_of_the_header() {
        let cases = [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (951_782_399, "Mon, 28 Feb 2000 23:59:59 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (1_798_761_599, "Thu, 31 Dec 2026 23:59:59 GMT"),
            (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
        ];
        for (seconds, expected) in cases {
            assert_eq!(date(seconds * 1_000_000), expected);
        }
    }
}
