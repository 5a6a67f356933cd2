//! Deliveries that a destination sends by itself: their bodies, and the signatures over them.

use serde_json::{Map, Value};

use factum_core::Timestamp;
use factum_core::evidence::Callback as Fact;

use super::FarSide;
use super::draft::{self, Draft};
use crate::base64;
use crate::body::{self, FormStyle};
use crate::callback::{BodyKind, By, Callback};
use crate::date;
use crate::pointer::Pointer;
use crate::signature::{Encoding, Scheme};
use crate::when::JsonTest;

/// What a delivery says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reported {
    /// The effect exists.
    Positive,
    /// The object ended without an effect.
    Negative,
    /// An effect that existed was undone.
    Reversed,
}

/// What a delivery is about.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReportOf<'a> {
    /// The delivery's own name: the same in every repetition.
    pub id: &'a str,
    /// The mark that was written into the request.
    pub reference: Option<&'a str>,
    /// The key.
    pub key: Option<&'a str>,
    /// The name of the queued work.
    pub object: Option<&'a str>,
    /// The name of the effect.
    pub receipt: Option<&'a str>,
}

/// A delivery: headers beside the usual ones, and a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Headers; names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, byte for byte as it is signed.
    pub body: Vec<u8>,
}

impl FarSide<'_> {
    /// The body of a delivery. None where the contract describes none that says this.
    #[must_use]
    pub fn report(&self, reported: Reported, of: &ReportOf<'_>) -> Option<Report> {
        let callback = self.contract.callback.as_ref()?;
        let reports = &callback.reports;
        let (word, tests) = match reported {
            Reported::Positive => ("positive", &reports.positive),
            Reported::Negative => ("negative", &reports.negative),
            Reported::Reversed => ("reversed", &reports.reversed),
        };
        if tests.is_empty() {
            return None;
        }
        let put = |text: &str| {
            text.replace("{key}", of.key.unwrap_or("none"))
                .replace("{reference}", of.reference.unwrap_or("none"))
        };
        let examples = self.examples("callback");
        let examples = examples.iter().filter(|example| example.means == word);
        let mut bases: Vec<Value> = examples
            .filter_map(|example| Draft::of(&example.answer, &put).json)
            .collect();
        bases.push(Value::Object(Map::new()));
        let bodies = bases.into_iter().filter_map(|base| {
            let document = callback.filled(base, reported, tests, of);
            match callback.body {
                BodyKind::Json => Some(document.to_string()),
                BodyKind::Form => body::form(&document, FormStyle::default()).ok(),
            }
        });
        let mut bodies = bodies.filter(|body| {
            let read = self.contract.reports_of(body.as_bytes());
            let says = read.first().map(|report| match &report.callback {
                Fact::Positive(_) => Reported::Positive,
                Fact::Negative { .. } => Reported::Negative,
                Fact::Reversed { .. } => Reported::Reversed,
            });
            says == Some(reported)
        });
        let kind = match callback.body {
            BodyKind::Json => "application/json",
            BodyKind::Form => "application/x-www-form-urlencoded",
        };
        Some(Report {
            headers: vec![("content-type".to_owned(), kind.to_owned())],
            body: bodies.next()?.into_bytes(),
        })
    }

    /// Signs a delivery to this address as the contract's scheme wants it: `id` is its name, `now` the sender's time in microseconds since
    /// 1970. A delivery of another secret is a forged one. None where the contract describes no signature, or one that a
    /// stand-in cannot write (of members of the body), or the secret has not the form of the scheme.
    #[must_use]
    pub fn sign(
        &self,
        report: &Report,
        url: &str,
        id: &str,
        secret: &[u8],
        now: i64,
    ) -> Option<Report> {
        let signature = &self.contract.callback.as_ref()?.signature;
        let seconds = date::to_seconds(Timestamp::from_micros(now)).to_string();
        let mac = || {
            let text = signature.text_to_sign(&report.body, url, &seconds, id);
            let key = signature.secret(secret).ok()?;
            let mac = signature.algorithm.mac(&key, &text);
            Some(match signature.encoding {
                Encoding::Hex => mac.iter().map(|byte| format!("{byte:02x}")).collect(),
                Encoding::Base64 => base64::encode(&mac),
            })
        };
        let value: String = match signature.scheme {
            Scheme::SharedSecret => String::from_utf8(secret.to_vec()).ok()?,
            Scheme::Basic => base64::encode(secret),
            Scheme::Stripe => format!("t={seconds},v1={}", mac()?),
            Scheme::Github
            | Scheme::Slack
            | Scheme::StandardWebhooks
            | Scheme::Square
            | Scheme::Hmac => mac()?,
            // These sign members of the body, or its fields in an order of their own; or with a key that only the sender has.
            Scheme::Twilio | Scheme::Mailgun | Scheme::Adyen | Scheme::Sendgrid => return None,
        };
        let mut report = report.clone();
        if let Some(name) = &signature.id {
            report.headers.push((name.clone(), id.to_owned()));
        }
        if let Some(name) = &signature.timestamp {
            report.headers.push((name.clone(), seconds.clone()));
        }
        let value = format!("{}{value}", signature.prefix);
        report.headers.push((signature.header.clone(), value));
        Some(report)
    }

    /// Whether a delivery is of this secret, as whoever receives it finds out.
    #[must_use]
    pub fn is_signed(&self, report: &Report, secret: &[u8], now: i64) -> bool {
        let now = Timestamp::from_micros(now);
        let verified = self
            .contract
            .verify_callback(&report.headers, &report.body, secret, now);
        verified.is_ok()
    }
}

impl Callback {
    /// A delivery's document: marks and names where they are read from, and what it is to say.
    fn filled(
        &self,
        base: Value,
        reported: Reported,
        tests: &[JsonTest],
        of: &ReportOf<'_>,
    ) -> Value {
        let reports = &self.reports;
        let mut item = match &reports.items {
            Some(at) => {
                let items = at.get(&base).and_then(Value::as_array);
                let first = items.and_then(|items| items.first().cloned());
                first.unwrap_or_else(|| Value::Object(Map::new()))
            }
            None => base.clone(),
        };
        let mut write = |at: &Pointer, text: Option<&str>| {
            if let Some(text) = text {
                let number = at.get(&item).is_some_and(Value::is_number);
                let number = text.parse::<u64>().ok().filter(|_| number);
                let value = number.map_or_else(|| Value::from(text), Value::from);
                draft::set(&mut item, at, value);
            }
        };
        if let Some(at) = &reports.id {
            write(at, Some(of.id));
        }
        if let Some(at) = &reports.object {
            write(at, of.object.or(of.receipt));
        }
        for (by, at) in &reports.matches {
            let mark = match by {
                By::Reference => of.reference,
                By::Key => of.key,
                By::Object => of.object.or(of.receipt),
                By::Receipt => of.receipt,
            };
            write(at, mark);
        }
        if let (Some(at), Reported::Positive) = (&reports.receipt, reported) {
            write(at, of.receipt);
        }
        for test in tests {
            if !test.holds(&item) {
                draft::satisfy(&mut item, test);
            }
        }
        match &reports.items {
            Some(at) => {
                let mut document = base;
                draft::set(&mut document, at, Value::Array(vec![item]));
                document
            }
            None => item,
        }
    }
}
