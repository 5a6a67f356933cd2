//! The digest of an identity: what a database can work out by itself, without the secrets that live outside it.
//!
//! `factum.submit` computes the same in SQL, so that an application's own transaction and every other way of submitting agree on
//! which action an identity names, and on its lane. It confirms a guessed identity and nothing else: what makes the effect is never
//! hashed without a key.

use factum_core::identity::{Identity, Scope};
use sha2::{Digest, Sha256};

/// SHA-256 over scope and identity, each part after its length in bytes. The first byte is the lane.
#[must_use]
pub fn identity_digest(scope: &Scope, identity: &Identity) -> [u8; 32] {
    let mut hash = Sha256::new();
    let mut absorb = |part: &str| {
        let length = u64::try_from(part.len()).unwrap_or(u64::MAX);
        hash.update(length.to_be_bytes());
        hash.update(part);
    };
    absorb(&scope.tenant);
    absorb(&scope.principal);
    absorb(&scope.destination);
    absorb(&scope.operation);
    match identity {
        Identity::Key(key) => ["key", key].into_iter().for_each(absorb),
        Identity::Event { event, effect } => ["event", &event.source, &event.id, effect]
            .into_iter()
            .for_each(absorb),
    }
    hash.finalize().into()
}
