//! HTTP messages as plain data: what a contract builds and reads, and what the transport carries.

/// A request, complete but for authentication, `Host` and `Content-Length`, which the transport adds at send time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HttpRequest {
    /// `GET`, `POST`, …, upper case.
    pub method: String,
    /// Path and query below the destination's base address; begins with `/`.
    pub path_and_query: String,
    /// Further headers, in order; names in lower case, values printable ASCII.
    pub headers: Vec<(String, String)>,
    /// The body; the same bytes on every attempt.
    pub body: Vec<u8>,
}

/// A complete answer: its head was read whole, and its body to its end or to the transport's bound.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct HttpAnswer {
    /// The status code.
    pub status: u16,
    /// Headers in order; names in lower case, values with bytes outside ASCII replaced.
    pub headers: Vec<(String, String)>,
    /// The body, up to the transport's bound.
    pub body: Vec<u8>,
    /// The body went on beyond the bound.
    pub truncated: bool,
}

impl HttpAnswer {
    /// The first header of this name (lower case).
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, value)| value.as_str())
    }
}
