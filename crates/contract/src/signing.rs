//! Signs requests: a MAC over parts of a request, as a provider's `[auth]` names them.
//!
//! Pure: the secret and the time are handed in, and headers come out. Nothing here keeps a secret or shows one.

use factum_core::Timestamp;
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::{Sha256, Sha512};

use crate::parts::{self, optional};
use crate::repeat::words;
use crate::signature::{Algorithm, Encoding};
use crate::source::{Node, Section};
use crate::{base64, date};

/// A request as it will go over the wire, but for what a signature adds.
#[derive(Clone, Copy, Debug)]
pub struct Signable<'a> {
    /// `GET`, `POST`, …
    pub method: &'a str,
    /// Path and query, the destination's base path among them, as they are sent.
    pub path_and_query: &'a str,
    /// All headers that are known before it is sent, `host` among them; names in lower case.
    pub headers: &'a [(String, String)],
    /// The body.
    pub body: &'a [u8],
    /// When it is signed.
    pub at: Timestamp,
}

/// Why a request cannot be signed. Shows no secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SigningError {
    /// The secret is not written as the provider writes secrets.
    #[error("the secret is not base64, as the provider writes its secrets")]
    Secret,
    /// The provider wants the key's id beside the signature.
    #[error("the id of the key is missing")]
    KeyId,
}

/// A MAC over parts of the request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HmacSigning {
    header: String,
    algorithm: Algorithm,
    encoding: Encoding,
    signed: Vec<Piece>,
    value: Vec<Piece>,
    timestamp: Option<String>,
    timestamp_form: TimeForm,
    key_header: Option<String>,
    secret_form: SecretForm,
}

words! {
    /// How the time is written where it is signed.
    TimeForm {
        /// Whole seconds since 1970.
        Unix = "unix",
        /// Milliseconds since 1970.
        UnixMs = "unix_ms",
        /// `Sun, 06 Nov 1994 08:49:37 GMT`.
        Http = "http_date",
        /// `1994-11-06T08:49:37Z`.
        Rfc3339 = "rfc3339",
    }
}
words! {
    /// How the secret is to be taken.
    SecretForm {
        /// Its bytes are the key.
        Text = "text",
        /// It is the key in base64.
        Base64 = "base64",
    }
}

/// A piece of what is signed, or of the header that carries the signature.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Piece {
    Text(String),
    Method,
    /// Path and query.
    Path,
    Timestamp,
    Body,
    /// The value of one header; nothing where the request has none.
    Header(String),
    /// `name:value` and a newline for each header whose name begins so, sorted by name.
    Headers(String),
    KeyId,
    Signature,
}

impl HmacSigning {
    pub(crate) fn read(node: &Node<'_>) -> Option<Self> {
        let section = node.section()?;
        let header = section.need("header").and_then(|n| parts::header_name(&n));
        let algorithm = optional(section.get("algorithm"), Node::word);
        let encoding = optional(section.get("encoding"), Node::word);
        let signed = section
            .need("signed")
            .and_then(|node| pieces(&node, Piece::signed));
        let value = optional(section.get("value"), |node| pieces(node, Piece::shown));
        let timestamp = optional(section.get("timestamp"), parts::header_name);
        let timestamp_form = optional(section.get("timestamp_form"), Node::word);
        let key_header = optional(section.get("key_header"), parts::header_name);
        let secret_form = optional(section.get("secret_form"), Node::word);
        section.end();
        let signing = Self {
            header: header?,
            algorithm: algorithm?.unwrap_or(Algorithm::Sha256),
            encoding: encoding?.unwrap_or(Encoding::Hex),
            signed: signed?,
            value: value?.unwrap_or_else(|| vec![Piece::Signature]),
            timestamp: timestamp?,
            timestamp_form: timestamp_form?.unwrap_or(TimeForm::Unix),
            key_header: key_header?,
            secret_form: secret_form?.unwrap_or(SecretForm::Text),
        };
        signing.check(&section).then_some(signing)
    }

    fn check(&self, section: &Section<'_>) -> bool {
        if self.signed.contains(&Piece::Timestamp) != self.timestamp.is_some() {
            let message = "a time is signed and sent, or neither";
            let remedy = "write {timestamp} into `signed` and name its header in `timestamp`";
            section.error("timestamp", "signing", message, remedy);
            return false;
        }
        if !self.value.contains(&Piece::Signature) {
            let message = "the header does not carry the signature";
            section.error("value", "signing", message, "write {signature} into it");
            return false;
        }
        true
    }

    /// Whether the key's id goes along, so that it has to be configured.
    #[must_use]
    pub fn wants_key_id(&self) -> bool {
        self.key_header.is_some()
            || self.value.contains(&Piece::KeyId)
            || self.signed.contains(&Piece::KeyId)
    }

    /// The headers that are to be added, the signature last.
    ///
    /// # Errors
    /// [`SigningError`]; nothing may be sent then.
    pub fn sign(
        &self,
        request: &Signable<'_>,
        key_id: Option<&str>,
        secret: &[u8],
    ) -> Result<Vec<(String, String)>, SigningError> {
        let time = match self.timestamp_form {
            TimeForm::Unix => date::to_seconds(request.at).to_string(),
            TimeForm::UnixMs => request.at.as_micros().div_euclid(1000).to_string(),
            TimeForm::Http => date::to_http(request.at),
            TimeForm::Rfc3339 => date::to_rfc3339(request.at),
        };
        let key = match self.secret_form {
            SecretForm::Text => secret.to_vec(),
            SecretForm::Base64 => std::str::from_utf8(secret)
                .ok()
                .and_then(base64::decode)
                .ok_or(SigningError::Secret)?,
        };
        let ingredients = Ingredients {
            request,
            key_id,
            time: &time,
        };
        let text = ingredients.put_together(&self.signed, "")?;
        let mac = self.algorithm.mac(&key, &text);
        let signature = match self.encoding {
            Encoding::Hex => hex(&mac),
            Encoding::Base64 => base64::encode(&mac),
        };
        let value = ingredients.put_together(&self.value, &signature)?;
        let mut headers = Vec::new();
        if let Some(name) = &self.timestamp {
            headers.push((name.clone(), time.clone()));
        }
        if let Some(name) = &self.key_header {
            let id = key_id.ok_or(SigningError::KeyId)?;
            headers.push((name.clone(), id.to_owned()));
        }
        let value = String::from_utf8_lossy(&value).into_owned();
        headers.push((self.header.clone(), value));
        Ok(headers)
    }
}

/// What the pieces stand for in one request.
struct Ingredients<'a> {
    request: &'a Signable<'a>,
    key_id: Option<&'a str>,
    time: &'a str,
}

impl Ingredients<'_> {
    fn put_together(&self, pieces: &[Piece], signature: &str) -> Result<Vec<u8>, SigningError> {
        let mut text = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Text(plain) => text.extend_from_slice(plain.as_bytes()),
                Piece::Method => text.extend_from_slice(self.request.method.as_bytes()),
                Piece::Path => text.extend_from_slice(self.request.path_and_query.as_bytes()),
                Piece::Timestamp => text.extend_from_slice(self.time.as_bytes()),
                Piece::Body => text.extend_from_slice(self.request.body),
                Piece::Header(name) => {
                    let mut all = self.request.headers.iter();
                    if let Some((_, value)) = all.find(|(own, _)| own == name) {
                        text.extend_from_slice(value.trim().as_bytes());
                    }
                }
                Piece::Headers(prefix) => {
                    let all = self.request.headers.iter();
                    let mut named: Vec<_> =
                        all.filter(|(own, _)| own.starts_with(prefix)).collect();
                    named.sort();
                    for (name, value) in named {
                        text.extend_from_slice(format!("{name}:{}\n", value.trim()).as_bytes());
                    }
                }
                Piece::KeyId => {
                    text.extend_from_slice(self.key_id.ok_or(SigningError::KeyId)?.as_bytes());
                }
                Piece::Signature => text.extend_from_slice(signature.as_bytes()),
            }
        }
        Ok(text)
    }
}

impl Piece {
    /// What may be signed.
    fn signed(name: &str) -> Option<Self> {
        Some(match name {
            "method" => Self::Method,
            "path" => Self::Path,
            "timestamp" => Self::Timestamp,
            "body" => Self::Body,
            "key_id" => Self::KeyId,
            _ => {
                let (kind, rest) = name.split_once('.')?;
                let rest = rest.to_ascii_lowercase();
                match kind {
                    "header" if !rest.is_empty() => Self::Header(rest),
                    "headers" if !rest.is_empty() => Self::Headers(rest),
                    _ => return None,
                }
            }
        })
    }

    /// What may stand in the header that carries the signature.
    fn shown(name: &str) -> Option<Self> {
        match name {
            "signature" => Some(Self::Signature),
            "key_id" => Some(Self::KeyId),
            "timestamp" => Some(Self::Timestamp),
            _ => None,
        }
    }
}

/// Text with names in braces, each of which `known` knows.
fn pieces(node: &Node<'_>, known: impl Fn(&str) -> Option<Piece>) -> Option<Vec<Piece>> {
    let text = node.words()?;
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((plain, after)) = rest.split_once('{') {
        let piece = after
            .split_once('}')
            .and_then(|(name, after)| Some((known(name)?, after)));
        let Some((piece, after)) = piece else {
            let message = format!("`{text}` names something that is not known here");
            let remedy = "in `signed` write {method}, {path}, {timestamp}, {body}, {key_id}, {header.NAME} or {headers.PREFIX}; \
                in `value` {signature}, {key_id} or {timestamp}";
            node.error("signing", message, remedy);
            return None;
        };
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain.to_owned()));
        }
        pieces.push(piece);
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest.to_owned()));
    }
    Some(pieces)
}

impl Algorithm {
    /// The MAC of `text` under `key`.
    pub(crate) fn mac(self, key: &[u8], text: &[u8]) -> Vec<u8> {
        const ANY: &str = "a key of any length is taken";
        match self {
            Self::Sha1 => Hmac::<Sha1>::new_from_slice(key)
                .expect(ANY)
                .chain_update(text)
                .finalize()
                .into_bytes()
                .to_vec(),
            Self::Sha256 => sha256_mac(key, text).to_vec(),
            Self::Sha512 => Hmac::<Sha512>::new_from_slice(key)
                .expect(ANY)
                .chain_update(text)
                .finalize()
                .into_bytes()
                .to_vec(),
        }
    }
}

/// HMAC-SHA256.
pub(crate) fn sha256_mac(key: &[u8], text: &[u8]) -> [u8; 32] {
    Hmac::<Sha256>::new_from_slice(key)
        .expect("a key of any length is taken")
        .chain_update(text)
        .finalize()
        .into_bytes()
        .into()
}

/// Hex digits in lower case.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        write!(text, "{byte:02x}").expect("writing to a string does not fail");
    }
    text
}
