//! How the small types are written: instants and lengths as integers, bytes as text or hexadecimal, names as what they wrap.

use factum_core::bound::Bound;
use factum_core::evidence::Receipt;
use factum_core::{AttemptNo, Epoch, EvidenceId, Span, Timestamp, WorkerNonce};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// Defines how an optional value of a mirrored type is written.
macro_rules! optional {
    ($name:ident, $core:ty, $mirror:ty) => {
        #[doc = concat!("`Option<", stringify!($core), ">`.")]
        pub(super) struct $name;

        impl $name {
            pub(super) fn serialize<S: serde::Serializer>(
                value: &Option<$core>,
                out: S,
            ) -> Result<S::Ok, S::Error> {
                struct Out<'a>(&'a $core);
                impl serde::Serialize for Out<'_> {
                    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
                        <$mirror>::serialize(self.0, out)
                    }
                }
                serde::Serialize::serialize(&value.as_ref().map(Out), out)
            }

            pub(super) fn deserialize<'de, D: serde::Deserializer<'de>>(
                from: D,
            ) -> Result<Option<$core>, D::Error> {
                struct In($core);
                impl<'de> serde::Deserialize<'de> for In {
                    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                        <$mirror>::deserialize(from).map(In)
                    }
                }
                let read: Option<In> = serde::Deserialize::deserialize(from)?;
                Ok(read.map(|read| read.0))
            }
        }
    };
}

/// Defines how repeated values of a mirrored type are written.
macro_rules! repeated {
    ($name:ident, $core:ty, $mirror:ty) => {
        #[doc = concat!("`Vec<", stringify!($core), ">`.")]
        pub(super) struct $name;

        impl $name {
            pub(super) fn serialize<S: serde::Serializer>(
                values: &[$core],
                out: S,
            ) -> Result<S::Ok, S::Error> {
                struct Out<'a>(&'a $core);
                impl serde::Serialize for Out<'_> {
                    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
                        <$mirror>::serialize(self.0, out)
                    }
                }
                out.collect_seq(values.iter().map(Out))
            }

            pub(super) fn deserialize<'de, D: serde::Deserializer<'de>>(
                from: D,
            ) -> Result<Vec<$core>, D::Error> {
                struct In($core);
                impl<'de> serde::Deserialize<'de> for In {
                    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                        <$mirror>::deserialize(from).map(In)
                    }
                }
                let read: Vec<In> = serde::Deserialize::deserialize(from)?;
                Ok(read.into_iter().map(|read| read.0).collect())
            }
        }
    };
}

pub(super) use optional;

/// An instant: microseconds since the epoch.
pub(super) struct Instant;

impl Instant {
    pub(super) fn serialize<S: Serializer>(value: &Timestamp, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_i64(value.as_micros())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
        i64::deserialize(from).map(Timestamp::from_micros)
    }
}

/// A length of time: microseconds, never negative.
pub(super) struct Length;

impl Length {
    pub(super) fn serialize<S: Serializer>(value: &Span, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_i64(value.as_micros())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Span, D::Error> {
        let micros = i64::deserialize(from)?;
        if micros < 0 {
            return Err(D::Error::custom("a length of time is negative"));
        }
        Ok(Span::from_micros(micros))
    }
}

/// Bytes: `t` and the text where they are UTF-8, otherwise `x` and hexadecimal digits.
pub(super) struct Bytes;

impl Bytes {
    pub(super) fn serialize<S: Serializer>(value: &[u8], out: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(value) {
            Ok(text) => out.collect_str(&format_args!("t{text}")),
            Err(_) => out.collect_str(&format_args!("x{}", hex(value))),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        let mut text = String::deserialize(from)?;
        let bytes = match text.as_bytes().first() {
            Some(b't') => Some(text.split_off(1).into_bytes()),
            Some(b'x') => unhex(&text[1..]),
            Some(_) | None => None,
        };
        bytes.ok_or_else(|| D::Error::custom("bytes are neither text nor hexadecimal"))
    }
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

/// The bytes that lower-case hexadecimal digits stand for.
pub(crate) fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| match pair {
            [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
            _ => None,
        })
        .collect()
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "AttemptNo")]
pub(super) struct AttemptDef(u32);

#[derive(Serialize, Deserialize)]
#[serde(remote = "Epoch")]
pub(super) struct EpochDef(u32);

#[derive(Serialize, Deserialize)]
#[serde(remote = "EvidenceId")]
pub(super) struct EvidenceDef(u64);

#[derive(Serialize, Deserialize)]
#[serde(remote = "WorkerNonce")]
pub(super) struct WorkerDef(u64);

#[derive(Serialize, Deserialize)]
#[serde(remote = "Bound", deny_unknown_fields)]
pub(super) struct BoundDef {
    #[serde(with = "Length")]
    write_limit: Span,
    #[serde(with = "Length")]
    linger: Span,
    #[serde(with = "Length")]
    pause_margin: Span,
    #[serde(with = "Length")]
    skew: Span,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Receipt", deny_unknown_fields)]
pub(super) struct ReceiptDef {
    reference: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    aliases: Vec<String>,
}

optional!(MaybeInstant, Timestamp, Instant);
optional!(MaybeLength, Span, Length);
optional!(MaybeReceipt, Receipt, ReceiptDef);
repeated!(Receipts, Receipt, ReceiptDef);
repeated!(EvidenceIds, EvidenceId, EvidenceDef);
