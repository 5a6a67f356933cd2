//! The secrets of a way of authentication as they are now, and what of them names the account. Shows none of them.

use factum_core::Span;

use super::{Auth, Id};
use crate::error::{SecretError, SecretErrorKind};
use crate::secret::Secret;

/// The secrets of one way of authentication, as they are now.
pub(crate) struct Credential {
    /// The token, the header's value, `user:password`, the client's secret, the key.
    pub(crate) secret: Option<Secret>,
    /// Who it is, where that is told apart from the secret: the client, the access key, the key's id.
    pub(crate) id: Option<Secret>,
    /// The token of a session.
    pub(crate) session: Option<Secret>,
}

impl Auth {
    /// What a keyed hash is pinned of with the account (R13), read now together with all other secrets of this kind.
    ///
    /// Where a name stands beside the secret it is the name that tells the account: the access key's id, or the client with
    /// what its tokens are asked for. So a token that is renewed, and a secret that is rotated under the same name, change
    /// nothing. Elsewhere it is the secret itself: the token, the header's value, or `user:password`.
    ///
    /// # Errors
    /// [`SecretError`] if one of the secrets cannot be had within `limit`.
    pub async fn credential(&self, limit: Span) -> Result<Option<Secret>, SecretError> {
        Ok(self.resolve(limit).await?.identity(self))
    }

    /// All secrets of this kind, as they are now.
    pub(crate) async fn resolve(&self, limit: Span) -> Result<Credential, SecretError> {
        let mut found = Credential {
            secret: None,
            id: None,
            session: None,
        };
        match self {
            Self::None => {}
            Self::Bearer(secret)
            | Self::Header { value: secret, .. }
            | Self::Query { value: secret, .. } => {
                found.secret = Some(secret.resolve(limit).await?)
            }
            Self::Basic { user, password } => {
                let password = password.resolve(limit).await?;
                let pair = |password: &[u8]| [user.as_bytes(), b":", password].concat();
                found.secret = Some(Secret::new(password.with_exposed(pair)));
            }
            Self::BasicPair(reference) => {
                let pair = reference.resolve(limit).await?;
                if !pair.with_exposed(|pair| pair.contains(&b':')) {
                    return Err(reference.error(SecretErrorKind::NotAPair));
                }
                found.secret = Some(pair);
            }
            Self::OAuth2(oauth2) => {
                found.id = Some(oauth2.client_id.resolve(limit).await?);
                found.secret = Some(oauth2.client_secret.resolve(limit).await?);
            }
            Self::SigV4(sigv4) => {
                found.id = Some(sigv4.access_key.resolve(limit).await?);
                found.secret = Some(sigv4.secret_key.resolve(limit).await?);
                if let Some(token) = &sigv4.session_token {
                    found.session = Some(token.resolve(limit).await?);
                }
            }
            Self::Hmac(hmac) => {
                if let Some(id) = &hmac.key_id {
                    found.id = Some(id.resolve(limit).await?);
                }
                found.secret = Some(hmac.secret.resolve(limit).await?);
            }
        }
        Ok(found)
    }
}

impl Id {
    async fn resolve(&self, limit: Span) -> Result<Secret, SecretError> {
        match self {
            Self::Plain(text) => Ok(Secret::new(text.clone().into_bytes())),
            Self::Ref(reference) => reference.resolve(limit).await,
        }
    }
}

impl Credential {
    /// What names the account.
    pub(crate) fn identity(&self, auth: &Auth) -> Option<Secret> {
        let parts: Vec<Vec<u8>> = match auth {
            Auth::None => return None,
            Auth::Bearer(_)
            | Auth::Basic { .. }
            | Auth::BasicPair(_)
            | Auth::Header { .. }
            | Auth::Query { .. } => return self.secret.as_ref().map(copy),
            Auth::SigV4(_) => return self.id.as_ref().map(copy),
            Auth::OAuth2(oauth2) => vec![
                oauth2.token_url.clone().into_bytes(),
                oauth2.scopes.join(" ").into_bytes(),
                oauth2.audience.clone().unwrap_or_default().into_bytes(),
                bytes(self.id.as_ref()),
            ],
            Auth::Hmac(_) => vec![bytes(self.id.as_ref()), bytes(self.secret.as_ref())],
        };
        Some(Secret::new(framed(&parts)))
    }

    /// What a token was got with: another client or another secret gets a token of its own.
    pub(crate) fn whole(&self) -> Vec<u8> {
        framed(&[bytes(self.id.as_ref()), bytes(self.secret.as_ref())])
    }
}

fn bytes(secret: Option<&Secret>) -> Vec<u8> {
    secret.map_or_else(Vec::new, |secret| secret.with_exposed(<[u8]>::to_vec))
}

fn copy(secret: &Secret) -> Secret {
    Secret::new(bytes(Some(secret)))
}

/// A length before every part, so that no two lists are written alike.
fn framed(parts: &[Vec<u8>]) -> Vec<u8> {
    let mut whole = Vec::new();
    for part in parts {
        whole.extend_from_slice(format!("{}:", part.len()).as_bytes());
        whole.extend_from_slice(part);
    }
    whole
}
