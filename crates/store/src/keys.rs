//! The secret that a store's checks are made with.

/// The secret that checksums are made with. It lives outside the store and belongs into every backup.
#[derive(Clone)]
pub struct StoreKeys(pub [u8; 32]);

impl std::fmt::Debug for StoreKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StoreKeys(…)")
    }
}
