//! The register: small named records beside the actions, such as tenants, grants and tokens.
//!
//! One shape for all of them. The store knows who an entry belongs to, its name, its version, and by what else it is listed; its
//! body is text that its owner encodes, with a version of its own. Every change says by whom and why, and is kept.

use std::collections::BTreeSet;

use factum_core::{Lane, Timestamp};

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A customer of the operator.
    Tenant,
    /// Who asks, or for whom.
    Principal,
    /// Delegated authority of a principal.
    Grant,
    /// What a caller shows to be let in.
    Token,
    /// What is switched at a destination, beside its configuration.
    Destination,
    /// What was taken of a grant's limit.
    Usage,
    /// What a conversation was told about an action.
    Told,
    /// What a conversation has to be told, to put that right.
    Correction,
    /// A promised answer that did not come, announced.
    Escalation,
    /// A verdict that waits for a second person.
    Verdict,
    /// What waits for a person, as it was last announced.
    Digest,
    /// Where a tenant's events are posted to.
    Endpoint,
    /// How far that has got.
    Delivery,
    /// Content under consideration, and what was decided on it.
    Proposal,
    /// Which proposal an identity is at.
    Proposed,
    /// What is not to be purged, whatever its age.
    Hold,
    /// Somebody who signed in at the console.
    Session,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 17] = [
        Self::Tenant,
        Self::Principal,
        Self::Grant,
        Self::Token,
        Self::Destination,
        Self::Usage,
        Self::Told,
        Self::Correction,
        Self::Escalation,
        Self::Verdict,
        Self::Digest,
        Self::Endpoint,
        Self::Delivery,
        Self::Proposal,
        Self::Proposed,
        Self::Hold,
        Self::Session,
    ];

    /// The word that is stored.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Tenant => "tenant",
            Self::Principal => "principal",
            Self::Grant => "grant",
            Self::Token => "token",
            Self::Destination => "destination",
            Self::Usage => "usage",
            Self::Told => "told",
            Self::Correction => "correction",
            Self::Escalation => "escalation",
            Self::Verdict => "verdict",
            Self::Digest => "digest",
            Self::Endpoint => "endpoint",
            Self::Delivery => "delivery",
            Self::Proposal => "proposal",
            Self::Proposed => "proposed",
            Self::Hold => "hold",
            Self::Session => "session",
        }
    }

    /// Whether decisions to act, or to purge, rest on it: then each change makes a new [edition](crate::Store::edition).
    #[must_use]
    pub fn is_authority(self) -> bool {
        match self {
            Self::Tenant
            | Self::Principal
            | Self::Grant
            | Self::Token
            | Self::Destination
            | Self::Hold => true,
            Self::Usage
            | Self::Told
            | Self::Correction
            | Self::Escalation
            | Self::Verdict
            | Self::Digest
            | Self::Endpoint
            | Self::Delivery
            | Self::Proposal
            | Self::Proposed
            | Self::Session => false,
        }
    }
}

/// The name of an entry. No two tenants' entries have the same one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryKey {
    /// What it is.
    pub kind: Kind,
    /// Whose it is.
    pub tenant: String,
    /// Its name among those of its kind and tenant.
    pub id: String,
    lane: Lane,
}

impl EntryKey {
    /// An entry that stands for itself: its lane follows from its name.
    #[must_use]
    pub fn new(kind: Kind, tenant: impl Into<String>, id: impl Into<String>) -> Self {
        let (tenant, id) = (tenant.into(), id.into());
        // FNV-1a, folded into a byte: it only has to spread.
        let parts = [kind.word(), &tenant, &id];
        let bytes = parts.iter().flat_map(|part| part.bytes().chain([0]));
        let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let lane = Lane(hash.to_be_bytes().iter().fold(0, |all, byte| all ^ byte));
        Self {
            kind,
            tenant,
            id,
            lane,
        }
    }

    /// An entry that is changed together with an action of this lane ([`crate::Admission::entries`]). Whoever reads it has to
    /// know the lane: its id tells it.
    #[must_use]
    pub fn beside(
        lane: Lane,
        kind: Kind,
        tenant: impl Into<String>,
        id: impl Into<String>,
    ) -> Self {
        Self {
            lane,
            ..Self::new(kind, tenant, id)
        }
    }

    /// Where it lies.
    #[must_use]
    pub fn lane(&self) -> Lane {
        self.lane
    }
}

/// An entry as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub key: EntryKey,
    /// Raised by each change, from 1.
    pub version: u64,
    /// What it says, in its owner's encoding.
    pub body: String,
    /// By what it is listed beside its name, such as a state or a conversation.
    pub label: Option<String>,
    /// When somebody has to look at it.
    pub due: Option<Timestamp>,
    /// Its last change.
    pub changed: Changed,
}

/// Who changed an entry, when and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// When.
    pub at: Timestamp,
    /// Who.
    pub by: String,
    /// Why.
    pub why: String,
}

/// One version of an entry, as it is kept for good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryVersion {
    /// Which.
    pub version: u64,
    /// What it said.
    pub body: String,
    /// Who wrote it, when and why.
    pub changed: Changed,
}

/// A wish to change an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Which.
    pub key: EntryKey,
    /// The version that it was read at; 0 makes it.
    pub expected: u64,
    /// What it says from now on.
    pub body: String,
    /// Its label from now on.
    pub label: Option<String>,
    /// When somebody has to look at it.
    pub due: Option<Timestamp>,
    /// Who changes it.
    pub by: String,
    /// Why.
    pub why: String,
}

/// What became of changes that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Registered {
    /// All are durable. The edition of the register now.
    Durable {
        /// See [`crate::Store::edition`].
        edition: u64,
    },
    /// One of the entries is at another version, or there already. Nothing was written.
    Stale,
}

/// Which entries to list, by tenant and id. `None` matches everything.
#[derive(Clone, Debug)]
pub struct EntryFilter {
    /// Of this kind.
    pub kind: Kind,
    /// Of this tenant.
    pub tenant: Option<String>,
    /// With this label.
    pub label: Option<String>,
    /// Behind this tenant and id: continues a listing.
    pub after: Option<(String, String)>,
    /// At most this many.
    pub limit: usize,
}

impl EntryFilter {
    /// All of a kind.
    #[must_use]
    pub fn of(kind: Kind) -> Self {
        Self {
            kind,
            tenant: None,
            label: None,
            after: None,
            limit: usize::MAX,
        }
    }
}

/// Whether one of these makes a new edition.
pub(crate) fn makes_edition(changes: &[Change]) -> bool {
    changes.iter().any(|change| change.key.kind.is_authority())
}

/// Whether each of these is about another entry: one entry is changed once at a time.
pub(crate) fn are_distinct(changes: &[Change]) -> bool {
    let keys: BTreeSet<&EntryKey> = changes.iter().map(|change| &change.key).collect();
    keys.len() == changes.len()
}
