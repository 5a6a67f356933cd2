//! The lines of what is left of actions that were taken away, and of the scopes that they lie in.

use factum_core::{Evidence, EvidenceId, Fingerprint, IdentityHash, Scope, State, Timestamp};
use serde::{Deserialize, Serialize};

use super::{action_id, bytes};
use crate::encoding::{NEWEST, fact_text, hex, read_fact};
use crate::purge::{Remains, ScopeRow, Tombstone};

/// A scope of which actions were taken away.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScopeLine {
    tenant: String,
    principal: String,
    destination: String,
    operation: String,
    forgotten_before: Option<i64>,
}

impl ScopeLine {
    pub(crate) fn of(row: &ScopeRow) -> Self {
        let scope = row.scope.clone();
        Self {
            tenant: scope.tenant,
            principal: scope.principal,
            destination: scope.destination,
            operation: scope.operation,
            forgotten_before: row.forgotten_before.map(Timestamp::as_micros),
        }
    }

    pub(crate) fn read(self) -> ScopeRow {
        ScopeRow {
            scope: Scope {
                tenant: self.tenant,
                principal: self.principal,
                destination: self.destination,
                operation: self.operation,
            },
            forgotten_before: self.forgotten_before.map(Timestamp::from_micros),
        }
    }
}

/// What is left of an action that was taken away. Its scope's line stands before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TombstoneLine {
    action: String,
    identity: String,
    fingerprint: String,
    /// The hash by which a database names the identity.
    digest: String,
    scope: ScopeLine,
    state: String,
    intent_at: Option<i64>,
    settled_at: i64,
    purged_at: i64,
    /// Number, instant, fact.
    late: Vec<(u64, i64, String)>,
}

impl TombstoneLine {
    pub(crate) fn of(left: &Remains) -> Self {
        let stone = &left.tombstone;
        let log = |one: &Evidence| (one.id.0, one.at.as_micros(), fact_text(&NEWEST, &one.fact));
        Self {
            action: stone.action.to_string(),
            identity: hex(&stone.identity.0),
            fingerprint: hex(&stone.fingerprint.0),
            digest: hex(&stone.digest),
            scope: ScopeLine::of(&ScopeRow {
                scope: stone.scope.clone(),
                forgotten_before: None,
            }),
            state: stone.state.name().to_owned(),
            intent_at: stone.intent_at.map(Timestamp::as_micros),
            settled_at: stone.settled_at.as_micros(),
            purged_at: stone.purged_at.as_micros(),
            late: left.late.iter().map(log).collect(),
        }
    }

    /// What is left, or what is wrong with the line.
    pub(crate) fn read(self) -> Result<Remains, String> {
        let state = State::from_name(&self.state);
        let log = |(no, at, fact): (u64, i64, String)| {
            Ok::<_, String>(Evidence {
                id: EvidenceId(no),
                at: Timestamp::from_micros(at),
                fact: read_fact(&NEWEST, &fact)?,
            })
        };
        Ok(Remains {
            tombstone: Tombstone {
                action: action_id(&self.action)?,
                identity: IdentityHash(bytes(&self.identity)?),
                fingerprint: Fingerprint(bytes(&self.fingerprint)?),
                digest: bytes(&self.digest)?,
                scope: self.scope.read().scope,
                state: state.ok_or_else(|| format!("{:?} is no state", self.state))?,
                intent_at: self.intent_at.map(Timestamp::from_micros),
                settled_at: Timestamp::from_micros(self.settled_at),
                purged_at: Timestamp::from_micros(self.purged_at),
            },
            late: self.late.into_iter().map(log).collect::<Result<_, _>>()?,
        })
    }
}
