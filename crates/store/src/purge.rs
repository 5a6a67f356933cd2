//! What is kept, and for how long: content is taken out of settled actions, actions are taken away and leave a tombstone, and
//! tombstones are forgotten behind a rising watermark (R24).
//!
//! The store takes away what it is told to, and only what is settled: each wish is fenced by the version that it was decided at and
//! by the edition of the register, so that a hold or late evidence that came first is never run over. When it is time, the engine says.

use std::collections::BTreeMap;

use factum_core::mistake::{Mistake, made};
use factum_core::{
    ActionId, Evidence, EvidenceId, Fact, Fingerprint, Identity, IdentityHash, Scope, State,
    Timestamp,
};
use sha2::{Digest, Sha256};

use crate::identity_digest;
use crate::record::{Action, Content, Conversation, Record};
use crate::register::EntryKey;

/// Wishes in one call of [`crate::Store::purge`] at the most: a transaction holds the store's writer no longer than these need.
pub const PURGED_MAX: usize = 100;

/// What is taken of a settled action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Take {
    /// Params, payload, summary and what was asked, in the asker's words. Identity, evidence and the hashes of what is compared stay.
    Content,
    /// All of it. A [`Tombstone`] stays.
    Action,
}

/// A wish to take something of a settled action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Purge {
    /// Which action.
    pub action: ActionId,
    /// The version that it was decided at: at another one nothing is taken.
    pub version: u64,
    /// What.
    pub take: Take,
    /// By whom and why, for the action's log. It goes with the log.
    pub note: String,
    /// Entries of the register that hold content of it, and go with it.
    pub entries: Vec<EntryKey>,
}

/// What became of wishes to take something away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purged {
    /// These were done; the others are not settled any more, or stand at another version.
    Done(Vec<ActionId>),
    /// The register is at another edition: somebody may have asked to hold one of them. Nothing was done.
    Stale,
}

/// A page of actions, in an order of the store's own.
#[derive(Clone, Debug, Default)]
pub struct SettledPage {
    /// Those that are settled, each with the stamp of the last word about it.
    pub settled: Vec<(Record, Timestamp)>,
    /// Where the next page begins; none behind the last action.
    pub last: Option<ActionId>,
}

/// What stays of an action that was taken away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tombstone {
    /// Its id.
    pub action: ActionId,
    /// Its identity, which stays taken.
    pub identity: IdentityHash,
    /// The keyed hash over its content, to tell another intent under the same identity.
    pub fingerprint: Fingerprint,
    /// The hash by which a database names its identity ([`identity_digest`]).
    pub digest: [u8; 32],
    /// Within what its identity is unique.
    pub scope: Scope,
    /// How it stood.
    pub state: State,
    /// When its intent was formed, where its caller said so ([`intent_time`]). Without, it is never forgotten.
    pub intent_at: Option<Timestamp>,
    /// The last word about it.
    pub settled_at: Timestamp,
    /// When it was taken away.
    pub purged_at: Timestamp,
}

/// What is left of an action: its tombstone, and evidence that came later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remains {
    /// What stayed.
    pub tombstone: Tombstone,
    /// What came since.
    pub late: Vec<Evidence>,
}

/// A scope of which actions were taken away, and how far its identities are forgotten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopeRow {
    /// Within what identities are unique.
    pub scope: Scope,
    /// Identities whose intent was formed before this are forgotten, and refused. It only rises.
    pub forgotten_before: Option<Timestamp>,
}

/// When the intent of an action was formed, as its caller says: `intent_at`, else the time in a key that is a UUIDv7.
#[must_use]
pub fn intent_time(identity: &Identity, intent_at: Option<Timestamp>) -> Option<Timestamp> {
    intent_at.or_else(|| match identity {
        Identity::Key(key) => uuid_time(key),
        Identity::Event { .. } => None,
    })
}

/// The time in a UUID of version 7, to the millisecond; none where the text is none (RFC 9562, in its usual form of 36 characters).
#[must_use]
pub fn uuid_time(text: &str) -> Option<Timestamp> {
    const DASHES: [usize; 4] = [8, 13, 18, 23];
    let bytes = text.as_bytes();
    let form = |(at, byte): (usize, &u8)| {
        if DASHES.contains(&at) {
            *byte == b'-'
        } else {
            byte.is_ascii_hexdigit()
        }
    };
    let is_uuid = bytes.len() == 36 && bytes.iter().enumerate().all(form);
    if !is_uuid || bytes[14] != b'7' || !b"89abAB".contains(&bytes[19]) {
        return None;
    }
    let millis = i64::from_str_radix(&format!("{}{}", &text[..8], &text[9..13]), 16).ok()?;
    Some(Timestamp::from_micros(millis.saturating_mul(1_000)))
}

impl Tombstone {
    /// Of an action as it stands, whose last word is `settled_at` old.
    pub(crate) fn of(record: &Record, settled_at: Timestamp, purged_at: Timestamp) -> Self {
        let action = &record.action;
        Self {
            action: record.id(),
            identity: action.identity_hash,
            fingerprint: action.fingerprint,
            digest: identity_digest(&action.scope, &action.identity),
            scope: action.scope.clone(),
            state: record.status().state,
            intent_at: intent_time(&action.identity, action.intent.intent_at),
            settled_at,
            purged_at,
        }
    }
}

/// From when on identities are known in this scope, where a submission is older: by what is forgotten, and by the horizon.
pub(crate) fn is_forgotten(
    row: Option<&ScopeRow>,
    oldest: Option<Timestamp>,
    action: &Action,
) -> Option<Timestamp> {
    let before = row.and_then(|row| row.forgotten_before).max(oldest)?;
    let at = intent_time(&action.identity, action.intent.intent_at)?;
    (at < before && !made(Mistake::ForgottenIsNew)).then_some(before)
}

/// By what a scope's row is found: 16 bytes of a hash over its parts.
pub(crate) fn scope_digest(scope: &Scope) -> [u8; 16] {
    let mut hash = Sha256::new();
    for part in [
        &scope.tenant,
        &scope.principal,
        &scope.destination,
        &scope.operation,
    ] {
        let length = u64::try_from(part.len()).unwrap_or(u64::MAX);
        hash.update(length.to_be_bytes());
        hash.update(part);
    }
    let mut digest = [0; 16];
    digest.copy_from_slice(&hash.finalize()[..16]);
    digest
}

/// The action without its content.
pub(crate) fn without_content(action: &Action, at: Timestamp) -> Action {
    let content = &action.content;
    let conversation = content.conversation.as_ref();
    Action {
        content: Content {
            params: String::new(),
            payload: String::new(),
            summary: None,
            conversation: conversation.map(|talk| Conversation {
                asked: None,
                ..talk.clone()
            }),
            purged_at: Some(at),
            ..content.clone()
        },
        ..action.clone()
    }
}

/// What is written into the log of an action whose content is taken.
pub(crate) fn noted(wish: &Purge) -> Fact {
    Fact::Noted {
        text: wish.note.clone(),
    }
}

/// Whether a wish fits an action as it stands.
pub(crate) fn fits(wish: &Purge, record: &Record) -> bool {
    let settled = record.next.step == "none" && record.status().is_settled();
    let taken = wish.take == Take::Content && record.action.content.purged_at.is_some();
    settled && record.version == wish.version && !taken
}

/// The stamp of the last word about an action.
pub(crate) fn last_word(evidence: &[Evidence], record: &Record) -> Timestamp {
    let stamps = evidence.iter().map(|one| one.at);
    stamps.max().unwrap_or(record.action.intent.submitted_at)
}

/// Adds what came after an action was taken away, under numbers of its own.
#[must_use]
pub(crate) fn late_evidence(known: usize, facts: Vec<Fact>, at: Timestamp) -> Vec<Evidence> {
    let first = u64::try_from(known).unwrap_or(u64::MAX).saturating_add(1);
    (first..)
        .zip(facts)
        .map(|(id, fact)| Evidence {
            id: EvidenceId(id),
            at,
            fact,
        })
        .collect()
}

/// The wishes that are taken up: so many, and each action once.
pub(crate) fn taken_up(wishes: Vec<Purge>) -> Vec<Purge> {
    let mut seen: BTreeMap<ActionId, ()> = BTreeMap::new();
    let first = |wish: &Purge| seen.insert(wish.action, ()).is_none();
    wishes.into_iter().filter(first).take(PURGED_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_of_version_7_says_when_it_was_made() {
        for (text, millis) in [
            (
                "017f22e2-79b0-7cc3-98c4-dc0c0c07398f",
                Some(1_645_557_742_000),
            ),
            (
                "017F22E2-79B0-7CC3-98C4-DC0C0C07398F",
                Some(1_645_557_742_000),
            ),
            // Another version, another variant, other forms.
            ("017f22e2-79b0-4cc3-98c4-dc0c0c07398f", None),
            ("017f22e2-79b0-7cc3-18c4-dc0c0c07398f", None),
            ("017f22e279b07cc398c4dc0c0c07398f", None),
            ("017f22e2-79b0-7cc3-98c4-dc0c0c07398é", None),
            ("order/77/refund", None),
        ] {
            let wanted = millis.map(|millis: i64| Timestamp::from_micros(millis * 1_000));
            assert_eq!(uuid_time(text), wanted, "{text}");
        }
    }
}
