//! How it is carried: one request in, evidence out.
//!
//! A [`Transport`] takes a [`Permission`](factum_core::Permission) and one request, and says how that ended: nothing left
//! the machine ([`Ended::NotSent`], with proof from our side of the socket), something left and no whole answer came
//! ([`Ended::Lost`]), or a whole answer was read ([`Ended::Answered`]). It draws no conclusions: what an answer means is the
//! contract's business, what may be done next is the core's.
//!
//! Nothing here retries, follows a redirect, keeps a cookie, reads a proxy from the environment, or reads a clock other than
//! the [`Clock`] it was given and the runtime's timers. Read [`ended`] first, then [`http`].

mod auth;
mod clock;
pub mod ended;
pub mod error;
pub mod http;
#[cfg(feature = "mcp")]
pub mod mcp;
mod networks;
mod secret;
mod target;

pub use auth::{Auth, Hmac, Id, OAuth2, SigV4};
pub use clock::Clock;
pub use ended::{Asked, Boxed, Ended, Transport};
pub use error::{Malformed, SecretError, SecretErrorKind};
pub use http::{HttpTransport, Resolve, Trust};
pub use networks::{Networks, is_public};
pub use secret::{Secret, SecretRef};
pub use target::{CredentialGuard, HttpLimits, Target};
