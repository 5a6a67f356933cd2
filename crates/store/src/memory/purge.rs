//! Retention in memory: pages of what is settled, what is taken away, tombstones and what came after them.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::Arc;

use factum_core::{ActionId, Fact, IdentityHash, Lane, Scope, Timestamp};

use super::Inner;
use crate::purge::{self, Purge, Purged, Remains, ScopeRow, SettledPage, Take, Tombstone};
use crate::record::{Admission, Admitted, Record};
use crate::shared;

/// What is left of actions that were taken away.
#[derive(Clone, Default)]
pub(super) struct Graveyard {
    stones: BTreeMap<IdentityHash, Remains>,
    by_action: BTreeMap<ActionId, IdentityHash>,
    scopes: BTreeMap<[u8; 16], ScopeRow>,
}

impl Graveyard {
    /// What is left of an action.
    pub(super) fn remains(&self, id: ActionId) -> Option<&Remains> {
        self.stones.get(self.by_action.get(&id)?)
    }

    /// What an identity comes to that no action has: its tombstone, or that it is forgotten.
    pub(super) fn answer(&self, admission: &Admission) -> Option<Admitted> {
        let action = &admission.action;
        if let Some(left) = self.stones.get(&action.identity_hash) {
            return Some(Admitted::Gone(Box::new(left.tombstone.clone())));
        }
        let row = self.scopes.get(&purge::scope_digest(&action.scope));
        purge::is_forgotten(row, admission.oldest, action).map(Admitted::Forgotten)
    }

    /// Keeps what came after an action was taken away.
    pub(super) fn late(&mut self, id: ActionId, facts: Vec<Fact>, at: Timestamp) {
        let Some(left) = (self.by_action.get(&id)).and_then(|hash| self.stones.get_mut(hash))
        else {
            return;
        };
        let late = purge::late_evidence(left.late.len(), facts, at);
        left.late.extend(late);
    }

    pub(super) fn scopes(&self) -> Vec<ScopeRow> {
        self.scopes.values().cloned().collect()
    }

    fn bury(&mut self, tombstone: Tombstone) {
        let row = ScopeRow {
            scope: tombstone.scope.clone(),
            forgotten_before: None,
        };
        let digest = purge::scope_digest(&tombstone.scope);
        self.scopes.entry(digest).or_insert(row);
        self.by_action.insert(tombstone.action, tombstone.identity);
        let left = Remains {
            tombstone,
            late: Vec::new(),
        };
        self.stones.insert(left.tombstone.identity, left);
    }

    /// Forgets tombstones of a scope, and raises its watermark.
    pub(super) fn forget(&mut self, scope: &Scope, before: Timestamp, limit: usize) -> u64 {
        let Some(row) = self.scopes.get_mut(&purge::scope_digest(scope)) else {
            return 0;
        };
        let old = |left: &&Remains| {
            left.tombstone.scope == *scope && left.tombstone.intent_at.is_some_and(|at| at < before)
        };
        let gone: Vec<(IdentityHash, ActionId)> = (self.stones.values().filter(old))
            .map(|left| (left.tombstone.identity, left.tombstone.action))
            .take(limit)
            .collect();
        if !gone.is_empty() {
            row.forgotten_before = row.forgotten_before.max(Some(before));
        }
        for (identity, action) in &gone {
            self.stones.remove(identity);
            self.by_action.remove(action);
        }
        u64::try_from(gone.len()).unwrap_or(u64::MAX)
    }
}

impl Inner {
    pub(super) fn settled(
        &self,
        after: Option<ActionId>,
        made_before: Timestamp,
        limit: usize,
    ) -> SettledPage {
        let end = ActionId::new(made_before, Lane(0), 0).first_of_its_millisecond();
        let mut found: Vec<(Lane, ActionId)> = Vec::new();
        let place = after.map(|id| (id.lane(), id));
        let all = (self.rows.range((Unbounded, Excluded(end)))).map(|(id, _)| (id.lane(), *id));
        found.extend(all.filter(|one| place.is_none_or(|place| *one > place)));
        found.sort_unstable();
        found.truncate(limit);
        let settled = found.iter().filter_map(|(_, id)| self.rows.get(id));
        let settled = settled.filter(|row| row.record.next.step == "none");
        SettledPage {
            settled: settled
                .map(|row| {
                    (
                        self.fresh(&row.record),
                        purge::last_word(&row.evidence, &row.record),
                    )
                })
                .collect(),
            last: found.last().map(|(_, id)| *id),
        }
    }

    pub(super) fn purge(&mut self, wishes: Vec<Purge>, under: u64, now: Timestamp) -> Purged {
        if !self.is_under(Some(under)) {
            return Purged::Stale;
        }
        let mut done = Vec::new();
        for wish in purge::taken_up(wishes) {
            let fits = (self.rows.get(&wish.action)).is_some_and(|row| {
                purge::fits(&wish, &row.record)
                    && (wish.take == Take::Content || !self.keeps_an_earlier_one(&row.record))
            });
            if !fits {
                continue;
            }
            match wish.take {
                Take::Content => self.empty(&wish, now),
                Take::Action => self.take_away(wish.action, now),
            }
            self.register.remove(&wish.entries);
            done.push(wish.action);
        }
        Purged::Done(done)
    }

    /// Whether it is what an earlier action on its subject would be overtaken by, while that may still be sent (R14).
    fn keeps_an_earlier_one(&self, record: &Record) -> bool {
        let action = &record.action;
        let Some(subject) = action.content.subject.as_deref() else {
            return false;
        };
        self.rows.values().any(|row| {
            let other = &row.record.action;
            row.record.next.step != "none"
                && other.content.subject.as_deref() == Some(subject)
                && other.scope.destination == action.scope.destination
                && other.scope.tenant == action.scope.tenant
        })
    }

    fn empty(&mut self, wish: &Purge, now: Timestamp) {
        let Some(row) = self.rows.get_mut(&wish.action) else {
            return;
        };
        row.record.action = Arc::new(purge::without_content(&row.record.action, now));
        let next = row.record.next.clone();
        let (_, evidence, _) = shared::append(&mut row.record, now, vec![purge::noted(wish)], next);
        row.evidence.extend(evidence);
        self.stamped = Some(now);
    }

    fn take_away(&mut self, id: ActionId, now: Timestamp) {
        let Some(row) = self.rows.remove(&id) else {
            return;
        };
        self.identities.remove(&row.record.action.identity_hash);
        for known in self.known_by.values_mut() {
            known.remove(&id);
        }
        self.known_by.retain(|_, ids| !ids.is_empty());
        self.reports.retain(|_, kept| kept.action != Some(id));
        let settled_at = purge::last_word(&row.evidence, &row.record);
        self.graveyard
            .bury(Tombstone::of(&row.record, settled_at, now));
        self.stamped = Some(now);
    }
}
