//! AWS Signature Version 4, in the `Authorization` header. Pure: credentials and time are handed in, headers come out.
//!
//! The algorithm is that of the IAM user guide, "Create a signed AWS API request"; the tests run vectors of the published
//! suite. Query parameters that presign a request, chunked bodies and the asymmetric variant are not made here.

use factum_core::Timestamp;
use sha2::{Digest, Sha256};

use crate::date;
use crate::signing::{Signable, hex, sha256_mac};

/// What a signature is made with.
#[derive(Clone, Copy)]
pub struct SigV4Credentials<'a> {
    /// The access key's id; it goes along with every request.
    pub access_key: &'a str,
    /// The secret of the access key.
    pub secret_key: &'a [u8],
    /// The session's token, for credentials that end.
    pub session_token: Option<&'a str>,
}

/// For what the signature holds.
#[derive(Clone, Copy, Debug)]
pub struct SigV4Scope<'a> {
    /// As in `eu-west-1`.
    pub region: &'a str,
    /// As in `sqs`.
    pub service: &'a str,
}

/// Headers that somebody on the way may change or add, and the signature itself.
const UNSIGNED: [&str; 12] = [
    "accept-encoding",
    "authorization",
    "connection",
    "content-length",
    "expect",
    "te",
    "traceparent",
    "tracestate",
    "transfer-encoding",
    "user-agent",
    "x-amz-date",
    "x-amzn-trace-id",
];

/// The headers that are to be added: `x-amz-date`, the session's token, the body's hash where the service wants it, and
/// `authorization`.
#[must_use]
pub fn sign_v4(
    request: &Signable<'_>,
    scope: SigV4Scope<'_>,
    credentials: &SigV4Credentials<'_>,
) -> Vec<(String, String)> {
    let now = compact(request.at);
    let day = &now[..8];
    let body_hash = hex(&Sha256::digest(request.body));
    let mut added = vec![("x-amz-date".to_owned(), now.clone())];
    if let Some(token) = credentials.session_token {
        added.push(("x-amz-security-token".to_owned(), token.to_owned()));
    }
    // S3 takes each path as it is, and wants the body's hash beside it.
    let is_s3 = scope.service == "s3";
    if is_s3 {
        added.push(("x-amz-content-sha256".to_owned(), body_hash.clone()));
    }
    let (path, query) = request
        .path_and_query
        .split_once('?')
        .unwrap_or((request.path_and_query, ""));
    let (headers, signed_headers) = canonical_headers(request.headers, &added);
    let canonical = [
        request.method,
        &canonical_path(path, is_s3),
        &canonical_query(query),
        &headers,
        &signed_headers,
        &body_hash,
    ]
    .join("\n");
    let scope_text = format!("{day}/{}/{}/aws4_request", scope.region, scope.service);
    let canonical_hash = hex(&Sha256::digest(canonical.as_bytes()));
    let to_sign = format!("AWS4-HMAC-SHA256\n{now}\n{scope_text}\n{canonical_hash}");
    let start = [b"AWS4", credentials.secret_key].concat();
    let key = [
        day.as_bytes(),
        scope.region.as_bytes(),
        scope.service.as_bytes(),
        b"aws4_request",
    ]
    .iter()
    .fold(start, |key, part| sha256_mac(&key, part).to_vec());
    let signature = hex(&sha256_mac(&key, to_sign.as_bytes()));
    added.push((
        "authorization".to_owned(),
        format!(
            "AWS4-HMAC-SHA256 Credential={}/{scope_text}, SignedHeaders={signed_headers}, Signature={signature}",
            credentials.access_key
        ),
    ));
    added
}

/// `20150830T123600Z`.
fn compact(instant: Timestamp) -> String {
    let mut text = date::to_rfc3339(instant);
    text.retain(|c| c != '-' && c != ':');
    text
}

/// The headers line by line, and their names.
fn canonical_headers(own: &[(String, String)], added: &[(String, String)]) -> (String, String) {
    let own = own
        .iter()
        .filter(|(name, _)| !UNSIGNED.contains(&name.as_str()));
    let mut all: Vec<(&str, String)> = own
        .chain(added)
        .map(|(name, value)| {
            (
                name.as_str(),
                value.split_ascii_whitespace().collect::<Vec<_>>().join(" "),
            )
        })
        .collect();
    // Stable, so that the values of one name keep their order.
    all.sort_by_key(|(name, _)| *name);
    let mut lines: Vec<(&str, String)> = Vec::new();
    for (name, value) in all {
        match lines.last_mut() {
            Some((last, values)) if *last == name => {
                values.push(',');
                values.push_str(&value);
            }
            Some(_) | None => lines.push((name, value)),
        }
    }
    let text = lines.iter().fold(String::new(), |text, (name, value)| {
        text + name + ":" + value + "\n"
    });
    let names: Vec<&str> = lines.iter().map(|(name, _)| *name).collect();
    (text, names.join(";"))
}

/// Every segment is encoded once more than it is sent, with slashes that follow each other as one; for S3 as it is sent.
fn canonical_path(path: &str, is_s3: bool) -> String {
    if is_s3 {
        return path.to_owned();
    }
    let mut text = String::new();
    for segment in path.split('/').filter(|segment| !segment.is_empty()) {
        text.push('/');
        text.push_str(&encode(segment.as_bytes()));
    }
    if text.is_empty() || path.ends_with('/') {
        text.push('/');
    }
    text
}

/// The parameters, each encoded in the one strict way, sorted.
fn canonical_query(query: &str) -> String {
    let mut pairs: Vec<(String, String)> = query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (encode(&decode(name)), encode(&decode(value)))
        })
        .collect();
    pairs.sort();
    let pairs: Vec<String> = pairs
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    pairs.join("&")
}

fn decode(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let coded = text.get(at + 1..at + 3).filter(|_| byte == b'%');
        match coded.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(value) => {
                plain.push(value);
                at += 3;
            }
            None => {
                plain.push(byte);
                at += 1;
            }
        }
    }
    plain
}

fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}
