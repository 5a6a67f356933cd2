//! Makes the message that goes over the wire from a contract's request: address, `Host`, length, and what authentication adds. Pure.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use factum_contract::Signable;
use factum_contract::http::HttpRequest;
use factum_core::Timestamp;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, header};
use hyper::body::{Body, Frame, SizeHint};

use crate::auth::Added;
use crate::secret::Secret;
use crate::target::{Target, has_dot_segment};

/// Sent where the contract names no `User-Agent`: some providers refuse a request without one.
const USER_AGENT: &str = concat!("factum/", env!("CARGO_PKG_VERSION"));

/// Whether a header frames the message or speaks for one hop: these are the transport's, never the contract's.
pub(crate) fn is_framing(name: &HeaderName) -> bool {
    const OWN: [&str; 12] = [
        "host",
        "content-length",
        "transfer-encoding",
        "connection",
        "keep-alive",
        "proxy-connection",
        "proxy-authorization",
        "expect",
        "upgrade",
        "te",
        "trailer",
        "http2-settings",
    ];
    OWN.contains(&name.as_str())
}

/// A request, checked and complete, that can be put on a connection more than once as long as no byte of it has left.
pub(super) struct Prepared {
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
    secret: Vec<Secret>,
}

/// Why a request cannot be put on the wire; for people, without any value.
#[derive(Debug, thiserror::Error)]
pub(super) enum BadRequest {
    #[error("the method is not one that can be sent")]
    Method,
    #[error("the path must begin with / and hold no space, no fragment and no dot segment")]
    Path,
    #[error("a header has an impossible name")]
    HeaderName,
    #[error("the header {0} has a value that cannot be sent")]
    HeaderValue(HeaderName),
    #[error("the header {0} is the transport's own")]
    Framing(HeaderName),
    #[error("the header {0} is the one that authentication sets")]
    TwiceAuthenticated(HeaderName),
    #[error("the parameter {0} of the query is the one that authentication sets")]
    TwiceInQuery(String),
}

impl Prepared {
    /// Checks `request` and completes it for `target`.
    pub(super) fn new(target: &Target, request: HttpRequest) -> Result<Self, BadRequest> {
        let method = method(&request.method)?;
        let uri = join(&target.base_path, &request.path_and_query)?;
        let mut headers = HeaderMap::new();
        let host = HeaderValue::from_str(&target.host_header())
            .map_err(|_| BadRequest::HeaderValue(header::HOST))?;
        headers.insert(header::HOST, host);
        for (name, value) in &request.headers {
            let name =
                HeaderName::from_bytes(name.as_bytes()).map_err(|_| BadRequest::HeaderName)?;
            if is_framing(&name) {
                return Err(BadRequest::Framing(name));
            }
            let value =
                HeaderValue::from_str(value).map_err(|_| BadRequest::HeaderValue(name.clone()))?;
            headers.append(name, value);
        }
        headers
            .entry(header::USER_AGENT)
            .or_insert(HeaderValue::from_static(USER_AGENT));
        // A GET without a body has no length to state; some filters refuse one that states zero.
        let bodiless = request.body.is_empty() && (method == Method::GET || method == Method::HEAD);
        if !bodiless {
            headers.insert(
                header::CONTENT_LENGTH,
                HeaderValue::from(request.body.len()),
            );
        }
        Ok(Self {
            method,
            uri,
            headers,
            body: Bytes::from(request.body),
            secret: Vec::new(),
        })
    }

    /// The headers as they are signed.
    pub(super) fn plain_headers(&self) -> Vec<(String, String)> {
        let plain = |(name, value): (&HeaderName, &HeaderValue)| {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            (name.as_str().to_owned(), value)
        };
        self.headers.iter().map(plain).collect()
    }

    /// The request as it is signed.
    pub(super) fn signable<'a>(
        &'a self,
        headers: &'a [(String, String)],
        at: Timestamp,
    ) -> Signable<'a> {
        Signable {
            method: self.method.as_str(),
            path_and_query: self.uri.path_and_query().map_or("/", PathAndQuery::as_str),
            headers,
            body: &self.body,
            at,
        }
    }

    /// With what authentication adds.
    pub(super) fn authenticated(mut self, added: Added) -> Result<Self, BadRequest> {
        for (name, value) in added.headers {
            if self.headers.contains_key(&name) {
                return Err(BadRequest::TwiceAuthenticated(name));
            }
            self.headers.insert(name, value);
        }
        if let Some((name, pair)) = added.query {
            let whole = self.uri.path_and_query().map_or("/", PathAndQuery::as_str);
            let (path, query) = whole.split_once('?').unwrap_or((whole, ""));
            let mut pairs = query.split('&').filter(|pair| !pair.is_empty());
            if pairs.any(|pair| pair.split('=').next() == Some(&name)) {
                return Err(BadRequest::TwiceInQuery(name));
            }
            let between = if query.is_empty() { "" } else { "&" };
            let whole: PathAndQuery = format!("{path}?{query}{between}{pair}")
                .parse()
                .map_err(|_| BadRequest::Path)?;
            self.uri = Uri::from(whole);
        }
        self.secret = added.secret;
        Ok(self)
    }

    /// What of it is secret, in every form in which a destination could repeat it.
    pub(super) fn secret(&self) -> &[Secret] {
        &self.secret
    }

    /// The message for one connection; `keep_open` says whether that is to be used again. `taken` is set once the whole body
    /// has been handed over.
    pub(super) fn message(&self, keep_open: bool, taken: Arc<AtomicBool>) -> Request<WholeBody> {
        taken.store(self.body.is_empty(), Ordering::Relaxed);
        let mut message = Request::new(WholeBody {
            bytes: self.body.clone(),
            taken,
        });
        *message.method_mut() = self.method.clone();
        *message.uri_mut() = self.uri.clone();
        *message.headers_mut() = self.headers.clone();
        if !keep_open {
            message
                .headers_mut()
                .insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        message
    }
}

/// Percent-encoded, all but the unreserved.
pub(crate) fn percent_encoded(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(bytes.len());
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            write!(text, "%{byte:02X}").expect("writing to a string does not fail");
        }
    }
    text
}

fn method(text: &str) -> Result<Method, BadRequest> {
    let upper = !text.is_empty() && text.bytes().all(|b| b.is_ascii_uppercase() || b == b'-');
    // CONNECT makes a tunnel, in which nothing that is counted would be a request.
    if !upper || text == "CONNECT" {
        return Err(BadRequest::Method);
    }
    Method::from_bytes(text.as_bytes()).map_err(|_| BadRequest::Method)
}

fn join(base: &str, path_and_query: &str) -> Result<Uri, BadRequest> {
    let path = path_and_query.split('?').next().unwrap_or_default();
    let visible = path_and_query.bytes().all(|b| b.is_ascii_graphic());
    if !path.starts_with('/') || !visible || path_and_query.contains('#') || has_dot_segment(path) {
        return Err(BadRequest::Path);
    }
    let whole: PathAndQuery = format!("{base}{path_and_query}")
        .parse()
        .map_err(|_| BadRequest::Path)?;
    Ok(Uri::from(whole))
}

/// A body that is handed over in one piece, and says so.
pub(super) struct WholeBody {
    bytes: Bytes,
    taken: Arc<AtomicBool>,
}

impl Body for WholeBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.bytes.is_empty() {
            return Poll::Ready(None);
        }
        self.taken.store(true, Ordering::Relaxed);
        Poll::Ready(Some(Ok(Frame::data(std::mem::take(&mut self.bytes)))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.len() as u64)
    }
}
