//! Whether a delivery is the destination's: signatures over its bytes, shared secrets.
//!
//! The schemes differ in where they write what; the check is one. Comparisons take the same time whatever they compare.
//! Nothing here remembers deliveries: that one is not taken twice is for whoever stores them, by the id that is returned.

mod published;

use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1, ParsedPublicKey, UnparsedPublicKey};
use factum_core::{Span, Timestamp};
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::{Sha256, Sha512};

use crate::base64;
use crate::contract::Contract;
use crate::date;
use crate::parts::{self, optional};
use crate::repeat::words;
use crate::source::{Node, Section, Word};

/// `signature` of `[callback]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Signature {
    pub(crate) scheme: Scheme,
    pub(crate) header: String,
    pub(crate) algorithm: Algorithm,
    pub(crate) encoding: Encoding,
    /// Written before the signature, or before the secret.
    pub(crate) prefix: String,
    /// What is signed: text with `{body}`, `{url}`, `{timestamp}` and `{id}`.
    pub(crate) signed: String,
    pub(crate) timestamp: Option<String>,
    pub(crate) tolerance: Span,
    pub(crate) id: Option<String>,
}

words! {
    /// The schemes that destinations use.
    Scheme {
        /// `t=…,v1=…` over `{timestamp}.{body}`.
        Stripe = "stripe",
        /// `sha256=…` over the body.
        Github = "github",
        /// `v0=…` over `v0:{timestamp}:{body}`.
        Slack = "slack",
        /// `v1,…` over `{id}.{timestamp}.{body}`.
        StandardWebhooks = "standard_webhooks",
        /// A MAC in a header, as its members say.
        Hmac = "hmac",
        /// The secret itself in a header.
        SharedSecret = "shared_secret",
        /// `Authorization: Basic …`; the secret is `user:password`.
        Basic = "basic",
        /// SHA-1 over the address and the form.
        Twilio = "twilio",
        /// In the body, over time and token.
        Mailgun = "mailgun",
        /// Over the address and the body.
        Square = "square",
        /// In each item of the body, over eight members.
        Adyen = "adyen",
        /// An elliptic-curve signature over `{timestamp}{body}`; the secret is the public key.
        Sendgrid = "sendgrid",
    }
}
words! {
    /// The hash within the MAC.
    Algorithm {
        Sha1 = "sha1",
        Sha256 = "sha256",
        Sha512 = "sha512",
    }
}
words! {
    /// How the MAC is written.
    Encoding {
        Hex = "hex",
        Base64 = "base64",
    }
}

/// Where a contract does not say how old a delivery may be.
const TOLERANCE: Span = Span::from_secs(300);

/// A delivery that is the destination's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedCallback {
    /// The delivery's own name, where the scheme has one: the same in every repetition.
    pub id: Option<String>,
    /// The name is part of what was signed, so that nobody else can give a repetition a new one.
    pub id_is_signed: bool,
    /// When it was signed, where the scheme says so.
    pub sent_at: Option<Timestamp>,
}

/// Why a delivery is refused. Nothing of it may be believed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallbackRefused {
    /// The contract describes no signature, so that nobody's deliveries are taken.
    #[error("the contract describes no signature")]
    NoSignature,
    /// A header is missing.
    #[error("the header {0} is missing")]
    Missing(String),
    /// A header cannot be read.
    #[error("the header {0} cannot be read")]
    Malformed(String),
    /// The address that it was sent to is signed, and nobody said what that is.
    #[error("the address that it was sent to is signed, and is not known here")]
    NoAddress,
    /// The secret has not the form that the scheme wants.
    #[error("the secret has not the form of this scheme")]
    Secret,
    /// It is somebody else's, or was changed on the way.
    #[error("the signature does not fit")]
    Wrong,
    /// It was signed too long ago, or lies in the future: a repetition by somebody else.
    #[error("it was signed outside of the time that is tolerated")]
    OutOfTime,
}

impl Signature {
    pub(crate) fn read(node: &Node<'_>) -> Option<Self> {
        let section = node.section()?;
        let scheme: Option<Scheme> = section.need("scheme").and_then(|node| node.word());
        let header = optional(section.get("header"), parts::header_name);
        let algorithm = optional(section.get("algorithm"), Node::word);
        let encoding = optional(section.get("encoding"), Node::word);
        let prefix = optional(section.get("prefix"), |n| n.text().map(str::to_owned));
        let signed = optional(section.get("signed"), signed);
        let timestamp = optional(section.get("timestamp"), parts::header_name);
        let tolerance = optional(section.get("tolerance"), parts::length);
        let id = optional(section.get("id"), parts::header_name);
        section.end();
        let usual = Self::usual(scheme?);
        let header = header?.unwrap_or(usual.header);
        if header.is_empty() && !scheme?.is_in_body() {
            let message = "does not say in which header";
            section.error("header", "signature", message, "add `header = …`");
            return None;
        }
        let signature = Self {
            scheme: scheme?,
            header,
            algorithm: algorithm?.unwrap_or(usual.algorithm),
            encoding: encoding?.unwrap_or(usual.encoding),
            prefix: prefix?.unwrap_or(usual.prefix),
            signed: signed?.unwrap_or(usual.signed),
            timestamp: timestamp?.or(usual.timestamp),
            tolerance: tolerance?.unwrap_or(TOLERANCE),
            id: id?.or(usual.id),
        };
        signature.check(&section).then_some(signature)
    }

    /// What is signed needs a header to come from.
    fn check(&self, section: &Section<'_>) -> bool {
        let timed = self.timestamp.is_some() || self.scheme == Scheme::Stripe;
        if self.signed.contains("{timestamp}") && !timed {
            let message = "signs {timestamp}, and does not say in which header it stands";
            section.error("signed", "signature", message, "add `timestamp = …`");
            return false;
        }
        if self.signed.contains("{id}") && self.id.is_none() {
            let message = "signs {id}, and does not say in which header it stands";
            section.error("signed", "signature", message, "add `id = …`");
            return false;
        }
        true
    }

    /// The scheme as it is published.
    fn usual(scheme: Scheme) -> Self {
        let plain = Self {
            scheme,
            header: String::new(),
            algorithm: Algorithm::Sha256,
            encoding: Encoding::Hex,
            prefix: String::new(),
            signed: "{body}".to_owned(),
            timestamp: None,
            tolerance: TOLERANCE,
            id: None,
        };
        let text = str::to_owned;
        match scheme {
            Scheme::Stripe => Self {
                header: text("stripe-signature"),
                signed: text("{timestamp}.{body}"),
                ..plain
            },
            Scheme::Github => Self {
                header: text("x-hub-signature-256"),
                prefix: text("sha256="),
                id: Some(text("x-github-delivery")),
                ..plain
            },
            Scheme::Slack => Self {
                header: text("x-slack-signature"),
                prefix: text("v0="),
                signed: text("v0:{timestamp}:{body}"),
                timestamp: Some(text("x-slack-request-timestamp")),
                ..plain
            },
            Scheme::StandardWebhooks => Self {
                header: text("webhook-signature"),
                encoding: Encoding::Base64,
                prefix: text("v1,"),
                signed: text("{id}.{timestamp}.{body}"),
                timestamp: Some(text("webhook-timestamp")),
                id: Some(text("webhook-id")),
                ..plain
            },
            Scheme::Hmac | Scheme::SharedSecret | Scheme::Mailgun | Scheme::Adyen => plain,
            Scheme::Twilio => Self {
                header: text("x-twilio-signature"),
                algorithm: Algorithm::Sha1,
                encoding: Encoding::Base64,
                ..plain
            },
            // developer.squareup.com/docs/webhooks/step3validate, read 2026-11-30
            Scheme::Square => Self {
                header: text("x-square-hmacsha256-signature"),
                encoding: Encoding::Base64,
                signed: text("{url}{body}"),
                ..plain
            },
            // twilio.com/docs/sendgrid, "Event Webhook Security Features", read 2026-11-30
            Scheme::Sendgrid => Self {
                header: text("x-twilio-email-event-webhook-signature"),
                encoding: Encoding::Base64,
                signed: text("{timestamp}{body}"),
                timestamp: Some(text("x-twilio-email-event-webhook-timestamp")),
                ..plain
            },
            Scheme::Basic => Self {
                header: text("authorization"),
                prefix: text("Basic "),
                ..plain
            },
        }
    }

    fn verify(
        &self,
        delivery: &Delivery<'_>,
        secret: &[u8],
    ) -> Result<VerifiedCallback, CallbackRefused> {
        if secret.is_empty() {
            return Err(CallbackRefused::Secret);
        }
        match self.scheme {
            Scheme::Twilio => return self.verify_twilio(delivery, secret),
            Scheme::Mailgun => return self.verify_mailgun(delivery, secret),
            Scheme::Adyen => return Self::verify_adyen(delivery, secret),
            _ if self.signed.contains("{url}") && delivery.url.is_none() => {
                return Err(CallbackRefused::NoAddress);
            }
            _ => {}
        }
        let written = delivery.header(&self.header)?;
        let id = match &self.id {
            Some(name) if self.signed.contains("{id}") => Some(delivery.header(name)?.to_owned()),
            Some(name) => delivery.header(name).ok().map(str::to_owned),
            None => None,
        };
        let (timestamp, candidates) = self.candidates(delivery, written)?;
        match self.scheme {
            Scheme::SharedSecret | Scheme::Basic => {
                let wanted = match self.scheme {
                    Scheme::Basic => base64::encode(secret).into_bytes(),
                    _ => secret.to_vec(),
                };
                let fits = |given: &&str| same(given.as_bytes(), &wanted);
                if !candidates.iter().any(fits) {
                    return Err(CallbackRefused::Wrong);
                }
            }
            Scheme::Stripe
            | Scheme::Github
            | Scheme::Slack
            | Scheme::StandardWebhooks
            | Scheme::Square
            | Scheme::Sendgrid
            | Scheme::Twilio
            | Scheme::Mailgun
            | Scheme::Adyen
            | Scheme::Hmac => {
                let secret = self.secret(secret)?;
                let (time, name) = (timestamp.unwrap_or_default(), id.as_deref());
                let (url, name) = (delivery.url.unwrap_or_default(), name.unwrap_or_default());
                let text = self.text_to_sign(delivery.body, url, time, name);
                let fits = |given: &&str| {
                    let signature = match self.encoding {
                        Encoding::Hex => unhex(given),
                        Encoding::Base64 => base64::decode(given),
                    };
                    signature.is_some_and(|signature| match self.scheme {
                        Scheme::Sendgrid => ecdsa_fits(&secret, &text, &signature),
                        _ => self.algorithm.fits(&secret, &text, &signature),
                    })
                };
                if !candidates.iter().any(fits) {
                    return Err(CallbackRefused::Wrong);
                }
            }
        }
        let sent_at = match timestamp {
            Some(text) => Some(self.in_time(text, delivery.now)?),
            None => None,
        };
        Ok(VerifiedCallback {
            id_is_signed: id.is_some() && self.signed.contains("{id}"),
            id,
            sent_at,
        })
    }

    /// When it says that it was signed, and every signature that it carries: several while a secret is changed.
    fn candidates<'a>(
        &self,
        delivery: &Delivery<'a>,
        written: &'a str,
    ) -> Result<(Option<&'a str>, Vec<&'a str>), CallbackRefused> {
        let malformed = || CallbackRefused::Malformed(self.header.clone());
        if self.scheme == Scheme::Stripe {
            let parts = written
                .split(',')
                .filter_map(|part| part.trim().split_once('='));
            let parts: Vec<_> = parts.collect();
            let time = parts.iter().find(|(name, _)| *name == "t");
            let (_, time) = time.ok_or_else(malformed)?;
            let macs = parts.iter().filter(|(name, _)| *name == "v1");
            return Ok((Some(time), macs.map(|(_, mac)| *mac).collect()));
        }
        let time = match &self.timestamp {
            Some(name) => Some(delivery.header(name)?),
            None => None,
        };
        let given: Vec<&str> = match self.scheme {
            Scheme::StandardWebhooks => written.split(' ').collect(),
            Scheme::Stripe
            | Scheme::Github
            | Scheme::Slack
            | Scheme::Hmac
            | Scheme::SharedSecret
            | Scheme::Twilio
            | Scheme::Mailgun
            | Scheme::Square
            | Scheme::Sendgrid
            | Scheme::Adyen
            | Scheme::Basic => vec![written],
        };
        let stripped = given.into_iter().filter_map(|text| {
            let head = text.get(..self.prefix.len())?;
            head.eq_ignore_ascii_case(&self.prefix)
                .then(|| &text[self.prefix.len()..])
        });
        let stripped: Vec<&str> = stripped.collect();
        if stripped.is_empty() {
            return Err(malformed());
        }
        Ok((time, stripped))
    }

    /// The key in the secret as the scheme writes it: a MAC's, or the public one of whoever signs.
    pub(crate) fn secret(&self, secret: &[u8]) -> Result<Vec<u8>, CallbackRefused> {
        let prefix = match self.scheme {
            Scheme::StandardWebhooks => "whsec_",
            Scheme::Sendgrid => "",
            _ => return Ok(secret.to_vec()),
        };
        let text = std::str::from_utf8(secret).map_err(|_| CallbackRefused::Secret)?;
        let coded = text.trim().strip_prefix(prefix).unwrap_or(text.trim());
        let key = base64::decode(coded).ok_or(CallbackRefused::Secret)?;
        if self.scheme == Scheme::Sendgrid {
            let parsed = ParsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, &key);
            parsed.map_err(|_| CallbackRefused::Secret)?;
        }
        Ok(key)
    }

    /// The bytes that are signed. The body stands in them as it came, whatever it holds.
    pub(crate) fn text_to_sign(
        &self,
        body: &[u8],
        url: &str,
        timestamp: &str,
        id: &str,
    ) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut rest = self.signed.as_str();
        while let Some(at) = rest.find('{') {
            let (before, after) = rest.split_at(at);
            bytes.extend(before.as_bytes());
            let (name, after) = after[1..].split_once('}').unwrap_or((&after[1..], ""));
            match name {
                "body" => bytes.extend(body),
                "url" => bytes.extend(url.as_bytes()),
                "timestamp" => bytes.extend(timestamp.as_bytes()),
                _ => bytes.extend(id.as_bytes()),
            }
            rest = after;
        }
        bytes.extend(rest.as_bytes());
        bytes
    }

    fn in_time(&self, text: &str, now: Timestamp) -> Result<Timestamp, CallbackRefused> {
        let seconds = text.trim().parse::<i64>().ok();
        let sent_at = seconds.and_then(date::from_seconds);
        let sent_at = sent_at.ok_or(CallbackRefused::OutOfTime)?;
        let apart = now.since(sent_at).max(sent_at.since(now));
        if apart > self.tolerance {
            return Err(CallbackRefused::OutOfTime);
        }
        Ok(sent_at)
    }
}

/// One delivery as it came.
struct Delivery<'a> {
    /// The address that it was sent to, as the destination knows it.
    url: Option<&'a str>,
    headers: &'a [(String, String)],
    body: &'a [u8],
    now: Timestamp,
}

impl<'a> Delivery<'a> {
    /// The one header of this name: of two nobody knows which was signed.
    fn header(&self, name: &str) -> Result<&'a str, CallbackRefused> {
        let mut values = self
            .headers
            .iter()
            .filter(|(n, _)| n.eq_ignore_ascii_case(name));
        let (_, value) = values
            .next()
            .ok_or_else(|| CallbackRefused::Missing(name.to_owned()))?;
        if values.next().is_some() {
            return Err(CallbackRefused::Malformed(name.to_owned()));
        }
        Ok(value.trim())
    }
}

impl Algorithm {
    fn fits(self, secret: &[u8], text: &[u8], mac: &[u8]) -> bool {
        // A key of any length is taken, so that there is nothing to refuse here.
        match self {
            Self::Sha1 => Hmac::<Sha1>::new_from_slice(secret)
                .is_ok_and(|hmac| hmac.chain_update(text).verify_slice(mac).is_ok()),
            Self::Sha256 => Hmac::<Sha256>::new_from_slice(secret)
                .is_ok_and(|hmac| hmac.chain_update(text).verify_slice(mac).is_ok()),
            Self::Sha512 => Hmac::<Sha512>::new_from_slice(secret)
                .is_ok_and(|hmac| hmac.chain_update(text).verify_slice(mac).is_ok()),
        }
    }
}

/// ECDSA on P-256 over SHA-256; the key as a `SubjectPublicKeyInfo`, the signature in DER.
fn ecdsa_fits(public_key: &[u8], text: &[u8], signature: &[u8]) -> bool {
    let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, public_key);
    key.verify(text, signature).is_ok()
}

/// Equality that takes the same time wherever two texts differ: hashes are compared, and they without haste.
fn same(given: &[u8], wanted: &[u8]) -> bool {
    blake3::hash(given) == blake3::hash(wanted)
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text
        .chars()
        .map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect();
    let digits = digits.filter(|digits| digits.len().is_multiple_of(2))?;
    Some(
        digits
            .chunks(2)
            .map(|pair| pair[0] << 4 | pair[1])
            .collect(),
    )
}

fn signed(node: &Node<'_>) -> Option<String> {
    let text = node.words()?;
    let mut places = text.split('{').skip(1);
    let known = |place: &str| {
        let name = place.split_once('}').map(|(name, _)| name);
        matches!(name, Some("body" | "url" | "timestamp" | "id"))
    };
    if !text.contains("{body}") || !places.all(known) {
        let message = format!("`{text}` is nothing that could be signed");
        let remedy = "write {body}, and around it {url}, {timestamp} and {id}";
        node.error("signature", message, remedy);
        return None;
    }
    Some(text.to_owned())
}

impl Contract {
    /// How deliveries show that they are the destination's, by the contract's word for it; none where it takes no deliveries,
    /// or where only hearsay describes them.
    #[must_use]
    pub fn callback_scheme(&self) -> Option<&'static str> {
        let callback = self.callback.as_ref()?;
        let mut words = <Scheme as Word>::WORDS.iter();
        let (word, _) = words.find(|(_, scheme)| *scheme == callback.signature.scheme)?;
        self.claims.relied_on("/callback").then_some(*word)
    }

    /// Whether a delivery is the destination's, where the scheme does not sign the address that it was sent to. Headers in any
    /// case; the body as it came, byte for byte.
    ///
    /// # Errors
    /// [`CallbackRefused`]: nothing of the delivery may be believed.
    pub fn verify_callback(
        &self,
        headers: &[(String, String)],
        body: &[u8],
        secret: &[u8],
        now: Timestamp,
    ) -> Result<VerifiedCallback, CallbackRefused> {
        self.verify_callback_at(None, headers, body, secret, now)
    }

    /// The same for every scheme: `url` is the public address, with its query, that the destination was told to deliver to.
    ///
    /// # Errors
    /// [`CallbackRefused`]: nothing of the delivery may be believed.
    pub fn verify_callback_at(
        &self,
        url: Option<&str>,
        headers: &[(String, String)],
        body: &[u8],
        secret: &[u8],
        now: Timestamp,
    ) -> Result<VerifiedCallback, CallbackRefused> {
        let callback = self.callback.as_ref().ok_or(CallbackRefused::NoSignature)?;
        let delivery = Delivery {
            url,
            headers,
            body,
            now,
        };
        callback.signature.verify(&delivery, secret)
    }
}
