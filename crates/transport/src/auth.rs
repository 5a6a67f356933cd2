//! How a request is authenticated: a kind, what it needs to know, and its secrets by reference.
//!
//! Secrets are read at send time ([`credential`]) and put on the request ([`apply`]); none is kept here.

mod apply;
mod credential;

use factum_contract::HmacSigning;
use http::HeaderName;

use crate::error::Malformed;
use crate::http::Trust;
use crate::secret::SecretRef;

pub(crate) use apply::{Added, base64};
pub(crate) use credential::Credential;

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
    /// A parameter of the query. Servers and proxies write queries into their logs; we do not.
    Query {
        /// Its name.
        name: String,
        /// Its value.
        value: SecretRef,
    },
    /// A bearer token that is got with a client's credentials, kept in memory and renewed before it ends.
    OAuth2(Box<OAuth2>),
    /// AWS Signature Version 4, made anew for each attempt.
    SigV4(Box<SigV4>),
    /// A MAC over parts of the request, made anew for each attempt.
    Hmac(Box<Hmac>),
}

/// A text that is no secret, or a reference to one that names somebody.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Id {
    /// As it is.
    Plain(String),
    /// Read when it is needed.
    Ref(SecretRef),
}

impl Id {
    /// A reference where the text is one, else the text itself.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        SecretRef::parse(text).map_or_else(|_| Self::Plain(text.to_owned()), Self::Ref)
    }
}

/// Getting tokens with a client's credentials (RFC 6749, section 4.4).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OAuth2 {
    /// Where tokens are got: `https://host[:port]/path`, or `http://` to this machine.
    pub token_url: String,
    /// Plain HTTP beyond this machine, in a network that the operator answers for.
    pub allow_plain_http: bool,
    /// The client.
    pub client_id: Id,
    /// Its secret.
    pub client_secret: SecretRef,
    /// The scopes that are asked for.
    pub scopes: Vec<String>,
    /// The audience that is asked for, where the provider wants one.
    pub audience: Option<String>,
    /// The client's credentials go into the body of the token request, not into its `Authorization`.
    pub in_body: bool,
    /// Whose certificates are trusted at the token's address.
    pub trust: Option<Trust>,
}

/// AWS Signature Version 4.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SigV4 {
    /// The access key's id.
    pub access_key: SecretRef,
    /// Its secret.
    pub secret_key: SecretRef,
    /// The session's token, for credentials that end.
    pub session_token: Option<SecretRef>,
    /// As in `eu-west-1`.
    pub region: String,
    /// As in `sqs`.
    pub service: String,
}

/// A MAC over parts of the request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Hmac {
    /// What is signed, and how.
    pub signing: HmacSigning,
    /// The key's id, where it goes along.
    pub key_id: Option<Id>,
    /// The key.
    pub secret: SecretRef,
}

impl Auth {
    /// The same way of authenticating with another secret; none where one reference is not all that it takes.
    #[must_use]
    pub fn with_reference(&self, secret: SecretRef) -> Option<Self> {
        Some(match self {
            Self::None | Self::OAuth2(_) | Self::SigV4(_) | Self::Hmac(_) => return None,
            Self::Bearer(_) => Self::Bearer(secret),
            Self::Basic { user, .. } => Self::Basic {
                user: user.clone(),
                password: secret,
            },
            Self::BasicPair(_) => Self::BasicPair(secret),
            Self::Header { name, .. } => Self::Header {
                name: name.clone(),
                value: secret,
            },
            Self::Query { name, .. } => Self::Query {
                name: name.clone(),
                value: secret,
            },
        })
    }

    pub(crate) fn check(&self) -> Result<(), Malformed> {
        let wrong = |rule: &str, remedy: &str| Err(Malformed::new("auth", rule, remedy));
        match self {
            Self::Basic { user, .. } if user.contains(':') || user.is_empty() => wrong(
                "the user of basic authentication is not empty and holds no colon",
                "give user and password as two members",
            ),
            Self::Header { name, .. } => {
                let own = match HeaderName::from_bytes(name.as_bytes()) {
                    Ok(parsed) => !crate::http::is_framing(&parsed),
                    Err(_) => false,
                };
                if own {
                    Ok(())
                } else {
                    wrong(
                        "the header for authentication must be one that may be chosen freely",
                        "name the header that the destination documents, such as x-api-key",
                    )
                }
            }
            Self::Query { name, .. } => {
                let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
                if !name.is_empty() && name.bytes().all(plain) {
                    Ok(())
                } else {
                    wrong(
                        "the name of a parameter has letters, digits, -, ., _ and ~ only",
                        "name the parameter that the destination documents, such as api_key",
                    )
                }
            }
            Self::SigV4(sigv4) => {
                let plain = |text: &str| {
                    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
                };
                if plain(&sigv4.region) && plain(&sigv4.service) {
                    Ok(())
                } else {
                    wrong(
                        "region and service of a signature have letters, digits and hyphens only",
                        "write them as in eu-west-1 and sqs",
                    )
                }
            }
            Self::Hmac(hmac) if hmac.signing.wants_key_id() && hmac.key_id.is_none() => wrong(
                "the provider wants the id of the key beside the signature",
                "add key_id",
            ),
            Self::None
            | Self::Bearer(_)
            | Self::Basic { .. }
            | Self::BasicPair(_)
            | Self::OAuth2(_)
            | Self::Hmac(_) => Ok(()),
        }
    }
}
