//! Puts authentication on a request: headers and parameters from a credential. Pure; keeps nothing.

use factum_contract::{SigV4Credentials, SigV4Scope, Signable, sign_v4};
use http::{HeaderName, HeaderValue, header};

use super::{Auth, Credential, Hmac, SigV4};
use crate::error::{SecretError, SecretErrorKind};
use crate::secret::{Secret, SecretRef};

/// What authentication adds to a request.
#[derive(Default)]
pub(crate) struct Added {
    /// Marked as sensitive.
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    /// A parameter, as it is sent: its name, and name and value.
    pub(crate) query: Option<(String, String)>,
    /// What of it is secret, in every form in which a destination could repeat it.
    pub(crate) secret: Vec<Secret>,
}

impl Auth {
    /// What this adds to `request`. `token` is what was got with the credential, where the kind gets one.
    pub(crate) fn apply(
        &self,
        credential: &Credential,
        token: Option<&Secret>,
        request: &Signable<'_>,
    ) -> Result<Added, SecretError> {
        let secret = credential.secret.as_ref();
        let mut added = Added::default();
        match (self, secret) {
            (Self::None, _) | (_, None) => {}
            (Self::Bearer(reference), Some(secret)) => {
                added.bearer(secret, reference)?;
            }
            (Self::OAuth2(oauth2), Some(_)) => {
                if let Some(token) = token {
                    added.bearer(token, &oauth2.client_secret)?;
                }
            }
            (
                Self::Basic {
                    password: reference,
                    ..
                }
                | Self::BasicPair(reference),
                Some(pair),
            ) => added.basic(pair, reference)?,
            (Self::Header { name, value }, Some(secret)) => {
                let text = secret.with_exposed(<[u8]>::to_vec);
                // Some headers want a word before the secret.
                if let Some(space) = text.iter().rposition(|b| *b == b' ') {
                    added.hide(&text[space + 1..]);
                }
                added.hide(&text);
                added.header(name, text, value)?;
            }
            (Self::Query { name, .. }, Some(secret)) => {
                let (plain, coded) = secret
                    .with_exposed(|bytes| (bytes.to_vec(), crate::http::percent_encoded(bytes)));
                added.hide(&plain);
                added.hide(coded.as_bytes());
                added.query = Some((name.clone(), format!("{name}={coded}")));
            }
            (Self::SigV4(sigv4), Some(secret)) => {
                added.sign_v4(sigv4, credential, secret, request)?;
            }
            (Self::Hmac(hmac), Some(secret)) => added.sign(hmac, credential, secret, request)?,
        }
        Ok(added)
    }
}

impl Added {
    fn bearer(&mut self, token: &Secret, reference: &SecretRef) -> Result<(), SecretError> {
        let text = token.with_exposed(<[u8]>::to_vec);
        self.hide(&text);
        let value = [b"Bearer ", text.as_slice()].concat();
        self.header(header::AUTHORIZATION.as_str(), value, reference)
    }

    fn basic(&mut self, pair: &Secret, reference: &SecretRef) -> Result<(), SecretError> {
        let (coded, password) = pair.with_exposed(|pair| {
            let colon = pair.iter().position(|b| *b == b':').map_or(0, |at| at + 1);
            (base64(pair), pair[colon..].to_vec())
        });
        self.hide(coded.as_bytes());
        self.hide(&password);
        let value = [b"Basic ", coded.as_bytes()].concat();
        self.header(header::AUTHORIZATION.as_str(), value, reference)
    }

    fn sign_v4(
        &mut self,
        sigv4: &SigV4,
        credential: &Credential,
        secret: &Secret,
        request: &Signable<'_>,
    ) -> Result<(), SecretError> {
        let access_key = text(credential.id.as_ref(), &sigv4.access_key)?;
        let session = match (&credential.session, &sigv4.session_token) {
            (Some(token), Some(reference)) => Some(text(Some(token), reference)?),
            (Some(_), None) | (None, _) => None,
        };
        if let Some(token) = &session {
            self.hide(token.as_bytes());
        }
        let scope = SigV4Scope {
            region: &sigv4.region,
            service: &sigv4.service,
        };
        let headers = secret.with_exposed(|secret_key| {
            let credentials = SigV4Credentials {
                access_key: &access_key,
                secret_key,
                session_token: session.as_deref(),
            };
            sign_v4(request, scope, &credentials)
        });
        for (name, value) in headers {
            self.header(&name, value.into_bytes(), &sigv4.access_key)?;
        }
        Ok(())
    }

    fn sign(
        &mut self,
        hmac: &Hmac,
        credential: &Credential,
        secret: &Secret,
        request: &Signable<'_>,
    ) -> Result<(), SecretError> {
        let id = match &credential.id {
            Some(id) => Some(text(Some(id), &hmac.secret)?),
            None => None,
        };
        let signed =
            secret.with_exposed(|secret| hmac.signing.sign(request, id.as_deref(), secret));
        let headers = signed.map_err(|_| hmac.secret.error(SecretErrorKind::NotAKey))?;
        for (name, value) in headers {
            self.header(&name, value.into_bytes(), &hmac.secret)?;
        }
        Ok(())
    }

    fn hide(&mut self, secret: &[u8]) {
        self.secret.push(Secret::new(secret.to_vec()));
    }

    fn header(
        &mut self,
        name: &str,
        value: Vec<u8>,
        reference: &SecretRef,
    ) -> Result<(), SecretError> {
        let wrong = || reference.error(SecretErrorKind::NotAHeader);
        // Stricter than the type: a tab or a byte beyond ASCII in a token is a mistake in its storage.
        if !value.iter().all(|b| (b' '..=b'~').contains(b)) {
            return Err(wrong());
        }
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        let mut value = HeaderValue::from_bytes(&value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        self.headers.push((name, value));
        Ok(())
    }
}

/// A name that goes into a header.
fn text(secret: Option<&Secret>, reference: &SecretRef) -> Result<String, SecretError> {
    let wrong = || reference.error(SecretErrorKind::NotAHeader);
    let secret = secret.ok_or_else(wrong)?;
    let plain = secret.with_exposed(|bytes| {
        let plain = bytes.iter().all(|b| (b' '..=b'~').contains(b));
        plain.then(|| String::from_utf8_lossy(bytes).into_owned())
    });
    plain.ok_or_else(wrong)
}

/// Base64 with padding, as basic authentication wants it.
pub(crate) fn base64(bytes: &[u8]) -> String {
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
