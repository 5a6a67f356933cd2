//! Schemes that sign more, or less, than a body under headers: the address that a delivery was sent to, or members of the body.

use std::collections::BTreeSet;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{
    Algorithm, CallbackRefused, Delivery, Scheme, Signature, VerifiedCallback, same, unhex,
};
use crate::base64;
use crate::signing::hex;

impl Signature {
    /// `X-Twilio-Signature`: SHA-1 over the address and, for a form, every name with its value, sorted. Of another body the
    /// hash stands in the address (twilio.com/docs/usage/security, read 2026-11-30).
    pub(super) fn verify_twilio(
        &self,
        delivery: &Delivery<'_>,
        secret: &[u8],
    ) -> Result<VerifiedCallback, CallbackRefused> {
        let written = delivery.header(&self.header)?;
        let url = delivery.url.ok_or(CallbackRefused::NoAddress)?;
        let mut text = url.as_bytes().to_vec();
        let query = url.split_once('?').map_or("", |(_, query)| query);
        let body_hash = query
            .split('&')
            .find_map(|pair| pair.strip_prefix("bodySHA256="));
        match body_hash {
            Some(hash) => {
                let own = hex(&Sha256::digest(delivery.body));
                if !same(hash.to_ascii_lowercase().as_bytes(), own.as_bytes()) {
                    return Err(CallbackRefused::Wrong);
                }
            }
            None => {
                let form = std::str::from_utf8(delivery.body);
                let form = form.map_err(|_| CallbackRefused::Malformed("body".to_owned()))?;
                // A set, as Twilio's own libraries make it: sorted, and a pair that comes twice is one.
                let pairs: BTreeSet<(Vec<u8>, Vec<u8>)> = form
                    .split('&')
                    .filter(|pair| !pair.is_empty())
                    .map(|pair| {
                        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                        (form_decoded(name), form_decoded(value))
                    })
                    .collect();
                for (name, value) in pairs {
                    text.extend(name);
                    text.extend(value);
                }
            }
        }
        let mac = base64::decode(written)
            .ok_or_else(|| CallbackRefused::Malformed(self.header.clone()))?;
        if !Algorithm::Sha1.fits(secret, &text, &mac) {
            return Err(CallbackRefused::Wrong);
        }
        Ok(VerifiedCallback {
            id: None,
            id_is_signed: false,
            sent_at: None,
        })
    }

    /// Mailgun's `signature` member: SHA-256 over time and token (documentation.mailgun.com, "Securing Webhooks", read 2026-11-30).
    /// It does not cover the event: who has seen one delivery can send another under it, until it is too old. The token is
    /// its id, so that whoever stores deliveries takes it once.
    pub(super) fn verify_mailgun(
        &self,
        delivery: &Delivery<'_>,
        secret: &[u8],
    ) -> Result<VerifiedCallback, CallbackRefused> {
        let malformed = || CallbackRefused::Malformed("body".to_owned());
        let json: Value = serde_json::from_slice(delivery.body).map_err(|_| malformed())?;
        let signature = json.get("signature").ok_or_else(malformed)?;
        let member = |name: &str| match signature.get(name) {
            Some(Value::String(text)) => Ok(text.clone()),
            Some(Value::Number(number)) => Ok(number.to_string()),
            _ => Err(malformed()),
        };
        let (time, token) = (member("timestamp")?, member("token")?);
        let mac = unhex(&member("signature")?).ok_or_else(malformed)?;
        let text = format!("{time}{token}");
        if !Algorithm::Sha256.fits(secret, text.as_bytes(), &mac) {
            return Err(CallbackRefused::Wrong);
        }
        Ok(VerifiedCallback {
            id: Some(token),
            id_is_signed: true,
            sent_at: Some(self.in_time(&time, delivery.now)?),
        })
    }

    /// Adyen's `hmacSignature` of each item: SHA-256 over eight members, under a key that is written in hex (docs.adyen.com,
    /// "Verify HMAC signatures", read 2026-11-30). Every item of a delivery has to fit. The time and the reason are not covered.
    pub(super) fn verify_adyen(
        delivery: &Delivery<'_>,
        secret: &[u8],
    ) -> Result<VerifiedCallback, CallbackRefused> {
        let malformed = || CallbackRefused::Malformed("body".to_owned());
        let key = std::str::from_utf8(secret).ok();
        let key = key
            .and_then(|text| unhex(text.trim()))
            .filter(|key| !key.is_empty());
        let key = key.ok_or(CallbackRefused::Secret)?;
        let json: Value = serde_json::from_slice(delivery.body).map_err(|_| malformed())?;
        let items = json.get("notificationItems").and_then(Value::as_array);
        let items = items
            .filter(|items| !items.is_empty())
            .ok_or_else(malformed)?;
        for item in items {
            let item = item.get("NotificationRequestItem").ok_or_else(malformed)?;
            let member = |pointer: &str| match item.pointer(pointer) {
                Some(Value::String(text)) => text.clone(),
                Some(Value::Number(number)) => number.to_string(),
                _ => String::new(),
            };
            let signed = [
                "/pspReference",
                "/originalReference",
                "/merchantAccountCode",
                "/merchantReference",
                "/amount/value",
                "/amount/currency",
                "/eventCode",
                "/success",
            ];
            let text = signed.map(member).join(":");
            let mac = base64::decode(&member("/additionalData/hmacSignature"));
            let mac = mac.ok_or_else(malformed)?;
            if !Algorithm::Sha256.fits(&key, text.as_bytes(), &mac) {
                return Err(CallbackRefused::Wrong);
            }
        }
        Ok(VerifiedCallback {
            id: None,
            id_is_signed: false,
            sent_at: None,
        })
    }
}

impl Scheme {
    /// Its signature stands in the body, so that there is no header to name.
    pub(super) fn is_in_body(self) -> bool {
        matches!(self, Self::Mailgun | Self::Adyen)
    }
}

/// One part of a form, decoded.
fn form_decoded(text: &str) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        let digits = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match (
            byte,
            digits.and_then(|two| u8::from_str_radix(two, 16).ok()),
        ) {
            (b'%', Some(value)) => {
                plain.push(value);
                rest = &after[2..];
            }
            (b'+', _) => plain.push(b' '),
            (byte, _) => plain.push(byte),
        }
    }
    plain
}
