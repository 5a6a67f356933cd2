//! How a request is authenticated. Builds the header at send time from secrets by reference; keeps none of them.

use factum_core::Span;
use http::{HeaderName, HeaderValue, header};

use crate::error::{Malformed, SecretError, SecretErrorKind};
use crate::secret::{Secret, SecretRef};

/// How a request is authenticated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Auth {
    /// Not at all.
    #[default]
    None,
    /// `Authorization: Bearer …`.
    Bearer(SecretRef),
    /// `Authorization: Basic …` from a name and a secret.
    Basic {
        /// The user, without a colon.
        user: String,
        /// The password or token.
        password: SecretRef,
    },
    /// `Authorization: Basic …` from one secret of the form `user:password`.
    BasicPair(SecretRef),
    /// A header of the destination's own.
    Header {
        /// Its name, lower case.
        name: String,
        /// Its value.
        value: SecretRef,
    },
}

impl Auth {
    /// Where the secret is kept, if there is one.
    #[must_use]
    pub fn reference(&self) -> Option<&SecretRef> {
        match self {
            Self::None => None,
            Self::Bearer(secret)
            | Self::BasicPair(secret)
            | Self::Basic {
                password: secret, ..
            }
            | Self::Header { value: secret, .. } => Some(secret),
        }
    }

    /// The credential as it is now: the token, the header's value, or `user:password`. A keyed hash of it is what is pinned
    /// with the account (R13).
    ///
    /// # Errors
    /// [`SecretError`] if the secret cannot be had within `limit`.
    pub async fn credential(&self, limit: Span) -> Result<Option<Secret>, SecretError> {
        let Some(reference) = self.reference() else {
            return Ok(None);
        };
        let secret = reference.resolve(limit).await?;
        Ok(Some(match self {
            Self::Basic { user, .. } => secret
                .with_exposed(|password| Secret::new([user.as_bytes(), b":", password].concat())),
            Self::BasicPair(_) if !secret.with_exposed(|pair| pair.contains(&b':')) => {
                return Err(reference.error(SecretErrorKind::NotAPair));
            }
            Self::None | Self::Bearer(_) | Self::BasicPair(_) | Self::Header { .. } => secret,
        }))
    }

    pub(crate) fn check(&self) -> Result<(), Malformed> {
        match self {
            Self::Basic { user, .. } if user.contains(':') || user.is_empty() => {
                Err(Malformed::new(
                    "auth",
                    "the user of basic authentication is not empty and holds no colon",
                    "give user and password as two members",
                ))
            }
            Self::Header { name, .. } => {
                let own = match HeaderName::from_bytes(name.as_bytes()) {
                    Ok(parsed) => !crate::http::is_framing(&parsed),
                    Err(_) => false,
                };
                if own {
                    Ok(())
                } else {
                    Err(Malformed::new(
                        "auth",
                        "the header for authentication must be one that may be chosen freely",
                        "name the header that the destination documents, such as x-api-key",
                    ))
                }
            }
            Self::None | Self::Bearer(_) | Self::Basic { .. } | Self::BasicPair(_) => Ok(()),
        }
    }

    /// The header that carries `credential`, marked as sensitive.
    pub(crate) fn header(
        &self,
        credential: &Secret,
    ) -> Result<Option<(HeaderName, HeaderValue)>, SecretError> {
        let (reference, name, value) = match self {
            Self::None => return Ok(None),
            Self::Bearer(reference) => (
                reference,
                header::AUTHORIZATION,
                credential.with_exposed(|token| [b"Bearer ", token].concat()),
            ),
            Self::Basic {
                password: reference,
                ..
            }
            | Self::BasicPair(reference) => (
                reference,
                header::AUTHORIZATION,
                credential.with_exposed(|pair| [b"Basic ", base64(pair).as_bytes()].concat()),
            ),
            Self::Header { name, value } => {
                let name = HeaderName::from_bytes(name.as_bytes())
                    .map_err(|_| value.error(SecretErrorKind::NotAHeader))?;
                (value, name, credential.with_exposed(<[u8]>::to_vec))
            }
        };
        // Stricter than the type: a tab or a byte beyond ASCII in a token is a mistake in its storage.
        if !value.iter().all(|b| (b' '..=b'~').contains(b)) {
            return Err(reference.error(SecretErrorKind::NotAHeader));
        }
        let mut value = HeaderValue::from_bytes(&value)
            .map_err(|_| reference.error(SecretErrorKind::NotAHeader))?;
        value.set_sensitive(true);
        Ok(Some((name, value)))
    }
}

/// Base64 with padding, as basic authentication wants it.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = chunk
            .iter()
            .enumerate()
            .fold(0_u32, |word, (i, b)| word | u32::from(*b) << (16 - 8 * i));
        for place in 0..4 {
            if place <= chunk.len() {
                let six = (word >> (18 - 6 * place)) & 0x3f;
                text.push(char::from(ALPHABET[six as usize]));
            } else {
                text.push('=');
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn base64_follows_the_vectors_of_the_standard() {
        let rows = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ];
        for (plain, coded) in rows {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
        assert_eq!(base64(&[0xff, 0xfe, 0xfb]), "//77");
    }
}
