//! The hash chain over an action's evidence: each link is a keyed hash over the one before and one record, and the last one stands with
//! the action. A record that is changed, moved or taken out breaks it.
//!
//! The chain is over what the facts say, not over how they are sealed, so that it outlives a change of keys; being keyed, it confirms
//! no guess about a fact. It begins with what the action is: its id, its identity and its fingerprint.

use factum_core::Evidence;

use crate::keys::StoreKeys;
use crate::record::{Action, Record};

/// One link, as it is stored.
pub(crate) type Link = [u8; 32];

/// What stands in a chain for the text of a fact: made in the task that has the fact.
pub(crate) type FactHash = [u8; 32];

/// One record of evidence as it was read, not understood yet.
#[derive(Clone, Debug)]
pub(crate) struct RawRecord {
    pub(crate) no: u64,
    pub(crate) at: i64,
    pub(crate) kind: String,
    /// What it says, opened.
    pub(crate) text: String,
    pub(crate) link: Option<Link>,
}

/// Makes links.
#[derive(Clone)]
pub(crate) struct Chains {
    key: [u8; 32],
}

impl Chains {
    pub(crate) fn new(keys: &StoreKeys) -> Self {
        Self {
            key: blake3::derive_key("factum store 2026 evidence chain v1", &keys.0),
        }
    }

    /// The link that an action's evidence begins behind.
    pub(crate) fn begin(&self, action: &Action) -> Link {
        let mut hash = blake3::Hasher::new_keyed(&self.key);
        hash.update(b"action");
        hash.update(&action.intent.action.to_bytes());
        hash.update(&action.identity_hash.0);
        hash.update(&action.fingerprint.0);
        hash.update(&action.content.contract);
        *hash.finalize().as_bytes()
    }

    /// The link of one record behind another link.
    fn next(&self, before: &Link, evidence: &Evidence, fact: &FactHash) -> Link {
        let kind = evidence.fact.kind();
        self.link(
            before,
            (evidence.id.0, evidence.at.as_micros()),
            (kind, fact),
        )
    }

    /// The same, of a record as it was read.
    pub(crate) fn next_raw(&self, before: &Link, record: &RawRecord) -> Link {
        let fact = text_hash(&record.text);
        self.link(before, (record.no, record.at), (&record.kind, &fact))
    }

    fn link(&self, before: &Link, (no, at): (u64, i64), (kind, fact): (&str, &FactHash)) -> Link {
        let mut hash = blake3::Hasher::new_keyed(&self.key);
        hash.update(b"record");
        hash.update(before);
        hash.update(&no.to_be_bytes());
        hash.update(&at.to_be_bytes());
        hash.update(fact);
        hash.update(kind.as_bytes());
        *hash.finalize().as_bytes()
    }

    /// Lengthens a record's chain by new evidence; gives the links. An action of an earlier version has no chain, and gets none here.
    pub(crate) fn lengthen(
        &self,
        record: &mut Record,
        evidence: &[Evidence],
        facts: &[FactHash],
    ) -> Vec<Option<Link>> {
        let link = |(one, fact): (&Evidence, &FactHash)| {
            record.chain = record.chain.map(|before| self.next(&before, one, fact));
            record.chain
        };
        evidence.iter().zip(facts).map(link).collect()
    }
}

/// What stands in the chain for a fact's text.
pub(crate) fn text_hash(text: &str) -> FactHash {
    *blake3::hash(text.as_bytes()).as_bytes()
}
