//! What can be wrong with configuration and with secrets. How a request went wrong is no error but a fact: see `ended`.

use factum_core::Span;

/// A piece of configuration that cannot be used. Never shows the value: it may be a secret in the wrong place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{member}: {rule}; {remedy}")]
pub struct Malformed {
    /// Which member: `base`, `auth`.
    pub member: &'static str,
    /// The rule that it breaks.
    pub rule: String,
    /// What to write instead.
    pub remedy: String,
}

impl Malformed {
    pub(crate) fn new(
        member: &'static str,
        rule: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            member,
            rule: rule.into(),
            remedy: remedy.into(),
        }
    }
}

/// A secret could not be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the secret {reference} {kind}")]
pub struct SecretError {
    /// Where it was looked for, without a command's arguments.
    pub reference: String,
    /// What went wrong.
    pub kind: SecretErrorKind,
}

/// Why a secret could not be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretErrorKind {
    /// The environment has no such variable.
    #[error("is not set in the environment")]
    NotSet,
    /// The file could not be read.
    #[error("cannot be read: {0}")]
    Unreadable(std::io::ErrorKind),
    /// The path names a folder, a pipe or a device.
    #[error("is not a regular file")]
    NotAFile,
    /// The program could not be started or read from.
    #[error("cannot be run: {0}")]
    NotRun(std::io::ErrorKind),
    /// The program ended with an error; its output is not used.
    #[error("ended with {0}")]
    Failed(String),
    /// It took too long.
    #[error("was not there after {0}")]
    TooSlow(Span),
    /// There is nothing in it.
    #[error("is empty")]
    Empty,
    /// No secret is this long.
    #[error("is longer than {0} bytes")]
    TooLong(usize),
    /// It cannot stand in the header that it is for.
    #[error("holds characters that a header cannot carry")]
    NotAHeader,
    /// It is not of the form that the way of authentication needs.
    #[error("is not of the form user:password")]
    NotAPair,
    /// Nothing can be signed with it.
    #[error("is not written as the provider writes its keys")]
    NotAKey,
}
