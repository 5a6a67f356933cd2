//! What makes two submissions the same action: scope, identity, fingerprint.

use crate::id::{EventId, Lane};
use crate::mistake::{Mistake, made};

/// Within what an identity is unique. Renewing a grant keeps the scope.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scope {
    /// The customer of the operator.
    pub tenant: String,
    /// For whom the action is carried out.
    pub principal: String,
    /// The configured account at an outside system.
    pub destination: String,
    /// What is to be done there.
    pub operation: String,
}

/// The caller's name for the intended effect.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Identity {
    /// The caller's own key; the `Idempotency-Key` header is the same thing.
    Key(String),
    /// One effect of an event. One event may cause several effects, each named.
    Event {
        /// The event.
        event: EventId,
        /// Which of its effects.
        effect: String,
    },
}

/// A keyed hash over scope and identity; its first byte is the lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdentityHash(pub [u8; 32]);

/// A keyed hash over everything that makes the effect: params, payload, attachments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(pub [u8; 32]);

impl IdentityHash {
    /// The unit of claiming and sharding.
    #[must_use]
    pub fn lane(self) -> Lane {
        Lane(self.0[0])
    }
}

/// What a submission comes to under its identity (law 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// No action has this identity: this submission makes it.
    New,
    /// The action that the identity names is what was submitted, whatever its state.
    Joins,
    /// The identity names an action with other content: refused.
    Conflicts,
}

impl Resolution {
    /// `first` is the fingerprint of the action that the identity names, looked for in the transaction that would record a new one.
    #[must_use]
    pub fn of(first: Option<Fingerprint>, submitted: Fingerprint) -> Self {
        match first {
            None => Self::New,
            Some(_) if made(Mistake::JoinMissed) => Self::New,
            Some(first) if first == submitted || made(Mistake::OtherContentJoins) => Self::Joins,
            Some(_) => Self::Conflicts,
        }
    }
}
