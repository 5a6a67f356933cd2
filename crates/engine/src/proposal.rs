//! A proposal as it is kept, the digest that names its content, and what would be sent. Pure.
//!
//! What is approved is a digest over everything that makes the effect: the request byte for byte as the contract writes it, without
//! secrets; the contract; the address and the account; for whom, what on, and when at the earliest and the latest (R23).

use std::fmt::Write as _;

use factum_contract::Contract;
use factum_contract::http::HttpRequest;
use factum_core::{ActionId, Epoch, ProposalDigest, ProposalId, Timestamp};
use factum_store::{Action, AskedBy, Entry, EntryKey, Kind};
use serde::{Deserialize, Serialize};

use crate::keys::Keys;
use crate::messages::effect_request;
use crate::problem::{Code, Problem};
use crate::submission::Submission;

/// The version that is written.
const VERSION: u32 = 1;

/// How a proposal stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProposalState {
    /// It waits for a decision.
    Pending,
    /// It was approved, and made its action.
    Approved,
    /// Somebody said no, or who asked has withdrawn it.
    Declined,
    /// Another content took its place.
    Superseded,
    /// Nobody decided in time.
    Expired,
}

impl ProposalState {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Pending,
        Self::Approved,
        Self::Declined,
        Self::Superseded,
        Self::Expired,
    ];

    /// The word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Declined => "declined",
            Self::Superseded => "superseded",
            Self::Expired => "expired",
        }
    }

    /// The one of this word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.word() == word)
    }
}

/// What a proposal's entry says.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProposalEntry {
    /// The version of its encoding.
    pub v: u32,
    /// How it stood when it was last written: a pending one may have expired since.
    pub state: ProposalState,
    /// The content, with its identity and for whom it is.
    pub submission: Submission,
    /// Who asks.
    pub principal: String,
    /// Under which grant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<String>,
    /// How much it moves, where the contract says: a number, and its currency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount: Option<(String, Option<String>)>,
    /// The digest, as hexadecimal digits.
    pub digest: String,
    /// The contract's digest, as hexadecimal digits.
    pub contract: String,
    /// The destination's base address, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The account at the destination.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// When it was made, in microseconds since 1970; it also stands in the request, where the contract writes an instant.
    pub made_at: i64,
    /// It may be decided on before this only, and nothing is sent from then on.
    pub until: i64,
    /// Approvals so far: as many as the operation asks for make the action.
    pub approvals: Vec<Approval>,
    /// The one whose place it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<String>,
    /// The one that took its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<String>,
    /// The action that its approval made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
}

/// One person's approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    /// Who; where the operation's policy did, in whose place.
    pub by: String,
    /// The operation's policy approved it, and no person.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub policy: bool,
    /// Under which grant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<String>,
    /// When, in microseconds since 1970.
    pub at: i64,
    /// Nothing is sent from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<i64>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// A proposal as it stands.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// Its name.
    pub id: ProposalId,
    /// Whose it is.
    pub tenant: String,
    /// What it says.
    pub entry: ProposalEntry,
    /// How it stands now.
    pub state: ProposalState,
    /// When it was last changed.
    pub changed_at: Timestamp,
    /// By whom.
    pub changed_by: String,
    /// Why, in their words.
    pub changed_why: String,
    pub(crate) version: u64,
}

/// What would be sent, without secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// `POST` and the like.
    pub method: String,
    /// The whole address.
    pub address: String,
    /// Headers but those of authentication, in order.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl ProposalEntry {
    /// As it is stored.
    #[must_use]
    pub fn text(&self) -> String {
        serde_json::to_string(self).expect("plain data serialises")
    }

    /// For whom it is.
    #[must_use]
    pub fn acts_for(&self) -> &str {
        let named = self.submission.on_behalf_of.as_deref();
        named.unwrap_or(&self.principal)
    }

    /// Under whose authority.
    #[must_use]
    pub fn asked_by(&self) -> AskedBy {
        AskedBy {
            principal: self.principal.clone(),
            grant: self.grant.clone(),
            amount: self.amount.clone(),
        }
    }

    /// The action that its approval made.
    #[must_use]
    pub fn action_id(&self) -> Option<ActionId> {
        self.action.as_deref().and_then(|text| text.parse().ok())
    }

    /// The contract's digest as bytes.
    pub(crate) fn contract_digest(&self) -> Option<[u8; 32]> {
        let hash = blake3::Hash::from_hex(&self.contract).ok()?;
        Some(*hash.as_bytes())
    }

    /// The version that is written now.
    pub(crate) const V: u32 = VERSION;

    fn state_at(&self, now: Timestamp) -> ProposalState {
        match self.state {
            ProposalState::Pending if now.as_micros() >= self.until => ProposalState::Expired,
            ProposalState::Pending
            | ProposalState::Approved
            | ProposalState::Declined
            | ProposalState::Superseded
            | ProposalState::Expired => self.state,
        }
    }
}

impl Proposal {
    /// Where it is kept: beside the action that its approval makes.
    #[must_use]
    pub fn key(tenant: &str, id: ProposalId) -> EntryKey {
        EntryKey::beside(id.lane(), Kind::Proposal, tenant, id.to_string())
    }

    /// As an entry of the register says, at this time.
    ///
    /// # Errors
    /// [`Code::StoreDamaged`] where it cannot be read.
    pub fn of(entry: Entry, now: Timestamp) -> Result<Self, Problem> {
        let damaged = |why: String| {
            let rule = format!("the proposal {}: {why}", entry.key.id);
            Problem::new(Code::StoreDamaged, "", rule, "run `factum doctor`")
        };
        let read: ProposalEntry =
            serde_json::from_str(&entry.body).map_err(|error| damaged(error.to_string()))?;
        if read.v != VERSION {
            return Err(damaged(format!(
                "its encoding has version {}, and this program reads version {VERSION}",
                read.v
            )));
        }
        let id: Result<ProposalId, _> = entry.key.id.parse();
        let id = id.map_err(|error| damaged(error.to_string()))?;
        Ok(Self {
            id,
            state: read.state_at(now),
            entry: read,
            changed_at: entry.changed.at,
            changed_by: entry.changed.by,
            changed_why: entry.changed.why,
            version: entry.version,
            tenant: entry.key.tenant,
        })
    }
}

/// What an action would send, as it is shown and as its digest covers it; `None` where an application's own code carries it out.
///
/// # Errors
/// It cannot be built.
pub(crate) fn request_of(
    keys: &Keys,
    action: &Action,
    contract: &Contract,
) -> Result<HttpRequest, factum_contract::BuildError> {
    // The first version of the key, whichever is used later: a new one begins only after proof that nothing exists under it.
    effect_request(keys, action, contract, Epoch::default())
}

/// What an approval of an action that a contract carries binds, at this account. None where its request cannot be built.
#[must_use]
pub fn approval_digest(
    keys: &Keys,
    action: &Action,
    contract: &Contract,
    account: Option<&str>,
) -> Option<ProposalDigest> {
    let request = request_of(keys, action, contract).ok()?;
    Some(digest_of(keys, action, Some(&request), account))
}

/// The digest of an action and of what it sends. It is keyed: from it alone no guess at the content can be confirmed.
pub(crate) fn digest_of(
    keys: &Keys,
    action: &Action,
    request: Option<&HttpRequest>,
    account: Option<&str>,
) -> ProposalDigest {
    let content = &action.content;
    let mut parts: Vec<Vec<u8>> = vec![
        action.identity_hash.0.to_vec(),
        content.contract.to_vec(),
        text(content.place.as_deref()),
        text(account),
        text(content.subject.as_deref()),
        instant(action.intent.not_before),
        instant(action.intent.deadline),
    ];
    match request {
        Some(request) => {
            parts.push(request.method.clone().into_bytes());
            parts.push(request.path_and_query.clone().into_bytes());
            for (name, value) in &request.headers {
                parts.push(name.clone().into_bytes());
                parts.push(value.clone().into_bytes());
            }
            parts.push(request.body.clone());
        }
        None => {
            parts.push(content.params.clone().into_bytes());
            parts.push(content.payload.clone().into_bytes());
        }
    }
    ProposalDigest(keys.proposal(&parts))
}

/// Something that may be missing: nothing and the empty text differ.
fn text(value: Option<&str>) -> Vec<u8> {
    value.map_or_else(Vec::new, |text| [b"=", text.as_bytes()].concat())
}

fn instant(at: Option<Timestamp>) -> Vec<u8> {
    at.map_or_else(Vec::new, |at| at.as_micros().to_be_bytes().to_vec())
}

/// Bytes as hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
