//! What the bodies of authority's entries say: JSON, `"v":1`, unknown members are refused.

use factum_core::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::limits::{Amount, Limits};
use super::{Act, Missing};

/// The version that is written.
const VERSION: u32 = 1;

/// How something stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It counts.
    #[default]
    Active,
    /// It does not count until it is resumed.
    Suspended,
    /// It never counts again.
    Revoked,
}

impl Standing {
    /// The word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Suspended => "suspended",
            Self::Revoked => "revoked",
        }
    }

    pub(super) fn stands(self, what: &str) -> Result<(), Missing> {
        match self {
            Self::Active => Ok(()),
            Self::Suspended | Self::Revoked => {
                Err(Missing::Ended(format!("{what} is {}", self.word())))
            }
        }
    }
}

/// What a token may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Record, and withdraw.
    Submit,
    /// Look.
    Read,
    /// Decide on proposals.
    Approve,
    /// Give verdicts.
    Review,
    /// See callbacks, and the addresses that they come to.
    Callback,
    /// Carry operations out as a remote worker.
    Work,
    /// Everything, and who may do it.
    Admin,
}

impl Scope {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Submit,
        Self::Read,
        Self::Approve,
        Self::Review,
        Self::Callback,
        Self::Work,
        Self::Admin,
    ];

    /// The word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Submit => "submit",
            Self::Read => "read",
            Self::Approve => "approve",
            Self::Review => "review",
            Self::Callback => "callback",
            Self::Work => "work",
            Self::Admin => "admin",
        }
    }

    /// The one of this word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.word() == word)
    }
}

macro_rules! entry {
    ($(#[$doc:meta])* $name:ident { $($(#[$member_doc:meta])* $member:ident: $kind:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            /// The version of its encoding.
            pub v: u32,
            /// How it stands.
            pub standing: Standing,
            /// What it is, in its maker's words.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub about: Option<String>,
            $($(#[$member_doc])* pub $member: $kind,)*
        }

        impl $name {
            /// An active one.
            #[must_use]
            pub fn new(about: Option<String>, $($member: $kind),*) -> Self {
                Self { v: VERSION, standing: Standing::Active, about, $($member,)* }
            }

            /// As it is stored.
            #[must_use]
            pub fn text(&self) -> String {
                serde_json::to_string(self).expect("plain data serialises")
            }

            /// As it was stored.
            ///
            /// # Errors
            /// Why it cannot be read, for people.
            pub fn read(text: &str) -> Result<Self, String> {
                let read: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
                if read.v == VERSION {
                    return Ok(read);
                }
                Err(format!("its encoding has version {}, and this program reads version {VERSION}", read.v))
            }
        }

        impl Read for $name {
            fn read(text: &str) -> Result<Self, String> {
                Self::read(text)
            }
        }
    };
}

/// A body that can be read.
pub(super) trait Read: Sized + DeserializeOwned {
    fn read(text: &str) -> Result<Self, String>;
}

/// Reads any of them.
pub(super) fn read<T: Read>(text: &str) -> Result<T, String> {
    T::read(text)
}

entry! {
    /// A customer of the operator.
    TenantEntry {}
}

entry! {
    /// Who asks, or for whom.
    PrincipalEntry {
        /// It counts before this instant only, in microseconds since 1970.
        until: Option<i64>,
    }
}

entry! {
    /// Delegated authority: a principal may do a part of what the tenant may.
    GrantEntry {
        /// Who may act under it.
        principal: String,
        /// For whom besides themselves; `*` is everybody.
        acts_for: Vec<String>,
        /// Where; nothing is everywhere.
        destinations: Vec<String>,
        /// What; nothing is everything.
        operations: Vec<String>,
        /// It counts before this instant only.
        until: Option<i64>,
        /// How often, and how much.
        limits: Limits,
    }
}

entry! {
    /// What a caller shows to be let in. The token itself is not here, only its keyed hash.
    TokenEntry {
        /// Who shows it.
        principal: String,
        /// Under which grant.
        grant: Option<String>,
        /// For what.
        scopes: Vec<Scope>,
        /// The keyed hash of it, as hex digits.
        hash: String,
        /// It counts before this instant only.
        until: Option<i64>,
        /// The token that took its place.
        replaced_by: Option<String>,
    }
}

entry! {
    /// What is switched at a destination, beside its configuration.
    DestinationEntry {}
}

impl TokenEntry {
    /// The keyed hash as bytes.
    pub(super) fn hash_bytes(&self) -> Option<[u8; 32]> {
        blake3::Hash::from_hex(&self.hash)
            .ok()
            .map(|hash| *hash.as_bytes())
    }
}

impl GrantEntry {
    /// Whether it lets its holder act for this principal.
    #[must_use]
    pub fn is_for(&self, principal: &str) -> bool {
        self.principal == principal
            || self
                .acts_for
                .iter()
                .any(|name| name == "*" || name == principal)
    }

    /// Whether it covers an act.
    pub(super) fn covers(&self, id: &str, act: &Act<'_>) -> Result<(), Missing> {
        let beyond = |what: String| Err(Missing::Beyond(format!("the grant {id:?} {what}")));
        if self.principal != act.principal {
            return beyond(format!("is not {:?}'s", act.principal));
        }
        if !self.is_for(act.acts_for) {
            return beyond(format!("lets nobody act for {:?}", act.acts_for));
        }
        let in_list =
            |list: &[String], name: &str| list.is_empty() || list.iter().any(|one| one == name);
        if !in_list(&self.destinations, act.destination) {
            return beyond(format!(
                "does not cover the destination {:?}",
                act.destination
            ));
        }
        if !in_list(&self.operations, act.operation) {
            return beyond(format!("does not cover the operation {:?}", act.operation));
        }
        match &self.limits.amount {
            None => Ok(()),
            Some(limit) => {
                let Some((number, currency)) = act.amount else {
                    return beyond(
                        "limits an amount, and the contract says none for this".to_owned(),
                    );
                };
                let amount = Amount::parse(number);
                limit.takes(amount, currency.as_deref()).or_else(beyond)
            }
        }
    }
}

pub(super) fn not_over(what: &str, until: Option<i64>, now: Timestamp) -> Result<(), Missing> {
    if until.is_none_or(|until| now.as_micros() < until) {
        return Ok(());
    }
    Err(Missing::Ended(format!("{what} has expired")))
}
