//! The secrets that make identities, fingerprints and provider keys. They live outside the store and belong into every backup:
//! without them a restored store cannot recognise a repeated submission.

use std::fmt;

use factum_core::identity::{Fingerprint, Identity, IdentityHash, Scope};
use factum_core::mistake::{Mistake, made};
use factum_core::{Epoch, Lane};
use factum_store::{MemberHash, identity_digest};

/// One root secret, and the keys that are derived from it, each for one use only.
#[derive(Clone)]
pub struct Keys {
    root: [u8; 32],
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keys(..)")
    }
}

impl Keys {
    /// From a root secret of 32 random bytes.
    #[must_use]
    pub fn new(root: [u8; 32]) -> Self {
        Self { root }
    }

    /// The keyed hash over scope and identity. Its first byte, the lane, is that of [`identity_digest`], so that a database can
    /// tell it without the secrets.
    #[must_use]
    pub fn identity(&self, scope: &Scope, identity: &Identity) -> IdentityHash {
        let scope = &Scope {
            tenant: if made(Mistake::TenantLeftOut) {
                String::new()
            } else {
                scope.tenant.clone()
            },
            ..scope.clone()
        };
        let IdentityHash(mut hash) = self.identity_of_form_1(scope, identity);
        hash[0] = identity_digest(scope, identity)[0];
        IdentityHash(hash)
    }

    /// The identity hash as programs made it that could not tell a lane without the secrets: every byte is keyed. Actions of
    /// theirs are found by it.
    #[must_use]
    pub fn identity_of_form_1(&self, scope: &Scope, identity: &Identity) -> IdentityHash {
        let parts: [&str; 4] = [
            &scope.tenant,
            &scope.principal,
            &scope.destination,
            &scope.operation,
        ];
        let mut hash = self.hasher("factum 2026 identity");
        parts
            .iter()
            .for_each(|part| absorb(&mut hash, part.as_bytes()));
        match identity {
            Identity::Key(key) => {
                absorb(&mut hash, b"key");
                absorb(&mut hash, key.as_bytes());
            }
            Identity::Event { event, effect } => {
                absorb(&mut hash, b"event");
                [&event.source, &event.id, effect]
                    .iter()
                    .for_each(|part| absorb(&mut hash, part.as_bytes()));
            }
        }
        IdentityHash(*hash.finalize().as_bytes())
    }

    /// The keyed hash over everything that makes the effect: canonical params and payload.
    #[must_use]
    pub fn fingerprint(&self, params: &str, payload: &str) -> Fingerprint {
        let mut hash = self.hasher("factum 2026 fingerprint");
        absorb(&mut hash, params.as_bytes());
        absorb(&mut hash, payload.as_bytes());
        Fingerprint(*hash.finalize().as_bytes())
    }

    /// The keyed hash of one compared member. The identity is part of it, so that equal values of two actions do not show.
    #[must_use]
    pub fn member(&self, identity: IdentityHash, pointer: &str, canonical: &str) -> MemberHash {
        let mut hash = self.hasher("factum 2026 member");
        absorb(&mut hash, &identity.0);
        absorb(&mut hash, pointer.as_bytes());
        absorb(&mut hash, canonical.as_bytes());
        let mut short = [0; 16];
        short.copy_from_slice(&hash.finalize().as_bytes()[..16]);
        MemberHash(short)
    }

    /// The bytes of the provider key: equal on every attempt of an epoch and after every crash.
    #[must_use]
    pub fn provider_key(&self, identity: IdentityHash, epoch: Epoch) -> [u8; 32] {
        let mut hash = self.hasher("factum 2026 provider key");
        absorb(&mut hash, &identity.0);
        absorb(&mut hash, &epoch.0.to_be_bytes());
        *hash.finalize().as_bytes()
    }

    /// The bytes of the reference that is written into the destination for lookups. It carries no epoch.
    #[must_use]
    pub fn reference(&self, identity: IdentityHash) -> [u8; 32] {
        let mut hash = self.hasher("factum 2026 reference");
        if !made(Mistake::ReferenceShared) {
            absorb(&mut hash, &identity.0);
        }
        *hash.finalize().as_bytes()
    }

    /// The last part of the address that a destination's callbacks come to, as hex digits: nobody guesses it, and nothing
    /// needs to be stored for it.
    #[must_use]
    pub fn callback_path(&self, tenant: &str, destination: &str) -> String {
        let mut hash = self.hasher("factum 2026 callback path");
        absorb(&mut hash, tenant.as_bytes());
        absorb(&mut hash, destination.as_bytes());
        hash.finalize().to_hex()[..40].to_owned()
    }

    /// The secret by which events are signed for a tenant's endpoint: another one with each generation.
    #[must_use]
    pub fn webhook(&self, tenant: &str, endpoint: &str, generation: u32) -> [u8; 32] {
        let mut hash = self.hasher("factum 2026 webhook");
        absorb(&mut hash, tenant.as_bytes());
        absorb(&mut hash, endpoint.as_bytes());
        absorb(&mut hash, &generation.to_be_bytes());
        *hash.finalize().as_bytes()
    }

    /// The keyed hash of a destination's credential, as hex digits: shows that it changed, and nothing else.
    #[must_use]
    pub fn credential(&self, destination: &str, secret: &[u8]) -> String {
        let mut hash = self.hasher("factum 2026 credential");
        absorb(&mut hash, destination.as_bytes());
        absorb(&mut hash, secret);
        hash.finalize().to_hex()[..32].to_owned()
    }

    /// The keyed hash of a token's secret: what is kept of it.
    #[must_use]
    pub fn token(&self, id: &str, secret: &str) -> [u8; 32] {
        let mut hash = self.hasher("factum 2026 token");
        absorb(&mut hash, id.as_bytes());
        absorb(&mut hash, secret.as_bytes());
        *hash.finalize().as_bytes()
    }

    /// The keyed hash over everything that a proposal would do.
    #[must_use]
    pub(crate) fn proposal(&self, parts: &[Vec<u8>]) -> [u8; 32] {
        let mut hash = self.hasher("factum 2026 proposal");
        parts.iter().for_each(|part| absorb(&mut hash, part));
        *hash.finalize().as_bytes()
    }

    /// The seal over the name of a worker's claim: nobody else makes one.
    #[must_use]
    pub fn work(&self, said: &[u8]) -> [u8; 16] {
        let mut hash = self.hasher("factum 2026 work");
        absorb(&mut hash, said);
        let mut short = [0; 16];
        short.copy_from_slice(&hash.finalize().as_bytes()[..16]);
        short
    }

    /// The seal over what a question to a person carries to its answer: nobody else makes one.
    #[must_use]
    pub fn question(&self, said: &[u8]) -> [u8; 32] {
        let mut hash = self.hasher("factum 2026 question");
        absorb(&mut hash, said);
        *hash.finalize().as_bytes()
    }

    /// What names a list that was shown to somebody.
    #[must_use]
    pub fn list(&self, said: &[u8]) -> [u8; 16] {
        let mut hash = self.hasher("factum 2026 list");
        absorb(&mut hash, said);
        let mut short = [0; 16];
        short.copy_from_slice(&hash.finalize().as_bytes()[..16]);
        short
    }

    /// The key of the store's row checksums.
    #[must_use]
    pub fn checksum(&self) -> [u8; 32] {
        *self.hasher("factum 2026 checksum").finalize().as_bytes()
    }

    /// The lane of an identity.
    #[must_use]
    pub fn lane(&self, identity: IdentityHash) -> Lane {
        identity.lane()
    }

    fn hasher(&self, context: &str) -> blake3::Hasher {
        blake3::Hasher::new_keyed(&blake3::derive_key(context, &self.root))
    }
}

/// Length first, so that no two lists of parts hash alike.
fn absorb(hash: &mut blake3::Hasher, part: &[u8]) {
    hash.update(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
    hash.update(part);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(principal: &str, destination: &str) -> Scope {
        Scope {
            tenant: "default".to_owned(),
            principal: principal.to_owned(),
            destination: destination.to_owned(),
            operation: "ticket.create".to_owned(),
        }
    }

    #[test]
    fn neighbouring_parts_never_run_together() {
        let keys = Keys::new([7; 32]);
        let key = |text: &str| Identity::Key(text.to_owned());
        let hash =
            |principal, destination, k| keys.identity(&scope(principal, destination), &key(k));
        assert_ne!(hash("ab", "c", "k"), hash("a", "bc", "k"));
        assert_ne!(keys.fingerprint("{}", "1"), keys.fingerprint("{}1", ""));
        assert_eq!(hash("a", "b", "k"), hash("a", "b", "k"));
        assert_ne!(
            hash("a", "b", "k"),
            Keys::new([8; 32]).identity(&scope("a", "b"), &key("k")),
            "the secret matters"
        );
    }

    #[test]
    fn no_two_endpoints_and_no_two_generations_have_one_secret() {
        let keys = Keys::new([7; 32]);
        let secret = keys.webhook("acme", "crm", 1);
        assert_eq!(secret, Keys::new([7; 32]).webhook("acme", "crm", 1));
        assert_ne!(secret, keys.webhook("acme", "crm", 2));
        assert_ne!(secret, keys.webhook("acm", "ecrm", 1));
        assert_ne!(secret, Keys::new([8; 32]).webhook("acme", "crm", 1));
    }

    #[test]
    fn the_provider_key_changes_with_the_epoch_and_the_reference_does_not() {
        let keys = Keys::new([7; 32]);
        let id = keys.identity(&scope("a", "b"), &Identity::Key("k".to_owned()));
        assert_eq!(
            keys.provider_key(id, Epoch(0)),
            keys.provider_key(id, Epoch(0))
        );
        assert_ne!(
            keys.provider_key(id, Epoch(0)),
            keys.provider_key(id, Epoch(1))
        );
        assert_ne!(keys.provider_key(id, Epoch(0)), keys.reference(id));
    }
}
