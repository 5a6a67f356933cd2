//! What can go wrong in a store, by what the caller can do about it.

/// A store could not do what it was asked to.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{doing}: {kind}")]
pub struct StoreError {
    /// What was being done, as in "recording evidence".
    pub doing: &'static str,
    /// What went wrong.
    pub kind: StoreErrorKind,
}

/// What went wrong.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreErrorKind {
    /// It may work again later: busy, out of connections, shutting down. Nothing was written.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
    /// A commit was not confirmed. Nothing of it counts in this process; after a loss of power it may turn out to be written.
    /// The same call may be repeated: a submission joins, a decision is made anew.
    #[error("the commit was not confirmed: {0}")]
    InDoubt(String),
    /// The disk is full. Nothing was written.
    #[error("the disk that holds the store is full")]
    Full,
    /// A row is not what was written. It is held; the others go on.
    #[error("{what} is damaged: {how}")]
    Corrupt {
        /// Which row or file.
        what: String,
        /// What is wrong with it.
        how: String,
    },
    /// The store was written by a newer version, in a way that this one does not know.
    #[error(
        "the store takes programs that know schema version {found}, and this program knows versions up to {known}; use the newer program"
    )]
    TooNew {
        /// The version that a program has to know.
        found: i64,
        /// The newest version known here.
        known: i64,
    },
    /// Workers of an older version work on the store, and could not go on beside what was to be done. Nothing was changed.
    #[error("{count} workers of an older version still work on the store")]
    OlderWorkers {
        /// So many.
        count: i64,
    },
    /// Another process holds the store.
    #[error("the store is held by {by}; stop that process, or talk to it over its address")]
    Held {
        /// Process and host, as the lock says.
        by: String,
    },
    /// The place cannot hold a store.
    #[error("{path} cannot hold a store: {why}")]
    Unsuitable {
        /// Where.
        path: String,
        /// Why not, and what to do.
        why: String,
    },
    /// Anything else that the database said.
    #[error("the database says: {0}")]
    Database(String),
}

impl StoreError {
    /// A new error.
    #[must_use]
    pub fn new(doing: &'static str, kind: StoreErrorKind) -> Self {
        Self { doing, kind }
    }

    /// Whether the same call may work later without anybody's help.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        matches!(
            self.kind,
            StoreErrorKind::Unavailable(_) | StoreErrorKind::InDoubt(_) | StoreErrorKind::Full
        )
    }
}
