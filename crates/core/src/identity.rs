//! What makes two submissions the same action: scope, identity, fingerprint.

use crate::id::{EventId, Lane};

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
