//! What every backend does alike: claims, joining, adding facts, declaring a restore. No I/O here; a backend writes down
//! what these functions return.

use std::collections::BTreeMap;
use std::sync::Arc;

use factum_core::evidence::PermissionKind;
use factum_core::{ActionId, Evidence, EvidenceId, Fact, Known, Resolution, Span, Timestamp};

use crate::notice::{Glance, Topic};
use crate::record::{
    Action, Admission, Admitted, Claim, Filter, NextRow, Record, Recorded, Restore, identity_text,
    name_facts,
};
use crate::register::{Kind, are_distinct, makes_edition};
use crate::{StoreError, StoreErrorKind};

/// One hold on an action, as the store knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    token: u64,
    until: Timestamp,
}

/// Who holds what. Kept in memory only: a claim ends with the process that holds the store, a mark does not.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    held: BTreeMap<ActionId, Held>,
    tokens: u64,
    undo: Option<Vec<(ActionId, Option<Held>)>>,
}

impl Claims {
    /// No claims; tokens are numbered onwards from `first_token`.
    pub(crate) fn new(first_token: u64) -> Self {
        Self {
            tokens: first_token,
            ..Self::default()
        }
    }

    /// Holds an action as it was read, or says until when another claim holds it. The holder's own live claim
    /// counts too: recovery inside one process must not adopt it.
    pub(crate) fn take(
        &mut self,
        read: &Record,
        lease: Span,
        now: Timestamp,
    ) -> Result<Claim, Timestamp> {
        let action = read.id();
        if let Some(held) = self.held.get(&action)
            && held.until > now
        {
            return Err(held.until);
        }
        self.tokens = self.tokens.wrapping_add(1);
        let held = Held {
            token: self.tokens,
            until: now + lease,
        };
        self.put(action, Some(held));
        Ok(Claim {
            action,
            token: held.token,
            version: read.version,
            overtaken: read.overtaken,
            until: held.until,
            under: None,
        })
    }

    /// Whether this token holds the action, within its lease.
    pub(crate) fn holds(&self, action: ActionId, token: u64, now: Timestamp) -> bool {
        self.held
            .get(&action)
            .is_some_and(|held| held.token == token && held.until > now)
    }

    /// Whether anybody holds the action, within a lease.
    pub(crate) fn is_held(&self, action: ActionId, now: Timestamp) -> bool {
        self.held.get(&action).is_some_and(|held| held.until > now)
    }

    /// Prolongs a hold until `lease` from now; false if it is not this token's any more. It never shortens one.
    pub(crate) fn renew(
        &mut self,
        action: ActionId,
        token: u64,
        lease: Span,
        now: Timestamp,
    ) -> bool {
        if !self.holds(action, token, now) {
            return false;
        }
        if let Some(held) = self.held.get(&action).copied() {
            let until = held.until.max(now + lease);
            self.put(action, Some(Held { until, ..held }));
        }
        true
    }

    /// Frees an action if this token holds it.
    pub(crate) fn release(&mut self, action: ActionId, token: u64) {
        if self
            .held
            .get(&action)
            .is_some_and(|held| held.token == token)
        {
            self.put(action, None);
        }
    }

    /// Frees an action, whoever holds it.
    pub(crate) fn free(&mut self, action: ActionId) {
        self.put(action, None);
    }

    /// The number of the last token that was handed out.
    pub(crate) fn tokens_given(&self) -> u64 {
        self.tokens
    }

    /// Frees everything, as the end of the process that holds the store does.
    pub(crate) fn clear(&mut self) {
        self.held.clear();
    }

    /// Forgets claims whose lease ran out, once they are many.
    pub(crate) fn sweep(&mut self, now: Timestamp) {
        const MANY: usize = 10_000;
        if self.held.len() > MANY {
            self.held.retain(|_, held| held.until > now);
        }
    }

    fn put(&mut self, action: ActionId, held: Option<Held>) {
        let before = match held {
            Some(held) => self.held.insert(action, held),
            None => self.held.remove(&action),
        };
        if let Some(undo) = &mut self.undo {
            undo.push((action, before));
        }
    }
}

#[cfg(feature = "sqlite")]
impl Claims {
    /// From here on every change can be taken back.
    pub(crate) fn begin(&mut self) {
        self.undo = Some(Vec::new());
    }

    /// A point to come back to with [`Self::undo_to`].
    pub(crate) fn savepoint(&self) -> usize {
        self.undo.as_ref().map_or(0, Vec::len)
    }

    /// Takes back every change since the savepoint, latest first.
    pub(crate) fn undo_to(&mut self, savepoint: usize) {
        let Some(undo) = &mut self.undo else { return };
        for (action, before) in undo.drain(savepoint..).rev() {
            match before {
                Some(held) => self.held.insert(action, held),
                None => self.held.remove(&action),
            };
        }
    }

    /// The changes stand.
    pub(crate) fn keep(&mut self) {
        self.undo = None;
    }
}

/// How long a worker that stopped saying that it lives is remembered: longer than any claim lasts.
pub(crate) const FORGOTTEN_AFTER: Span = Span::from_secs(86_400);

/// How many more actions one of several workers may record: half of its share of what is left, so that one that joins finds some.
/// `waiting` have a next step at a time, and the other workers may record `others` more.
pub(crate) fn room(unsettled_max: usize, waiting: usize, others: &[usize]) -> usize {
    let given = others
        .iter()
        .fold(waiting, |sum, room| sum.saturating_add(*room));
    let left = unsettled_max.saturating_sub(given);
    (left / (2 * (others.len() + 1))).max(left.min(1))
}

/// A claim as it is checked: which action, token and version, and how it stood with its subject.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
#[derive(Clone, Copy)]
pub(crate) struct Fence {
    pub(crate) action: ActionId,
    pub(crate) token: u64,
    pub(crate) version: u64,
    pub(crate) overtaken: bool,
    pub(crate) under: Option<u64>,
}

#[cfg(any(feature = "sqlite", feature = "postgres"))]
impl Fence {
    pub(crate) fn of(claim: &Claim) -> Self {
        Self {
            action: claim.action,
            token: claim.token,
            version: claim.version,
            overtaken: claim.overtaken,
            under: claim.under,
        }
    }
}

/// Refuses an action whose id was not made for its identity, and entries that are to change with it from elsewhere: every
/// index begins with the lane.
pub(crate) fn sound(admission: &Admission) -> Result<(), StoreError> {
    let action = &admission.action;
    let lane = action.intent.action.lane();
    let text = if lane != action.identity_hash.lane() {
        "the action's id carries another lane than its identity's first byte"
    } else if admission.entries.iter().any(|one| one.key.lane() != lane) {
        "an entry that is to change with the action lies in another lane"
    } else if makes_edition(&admission.entries) {
        "authority is changed by itself, not with an action"
    } else if admission
        .entries
        .iter()
        .any(|one| Topic::of_change(one).is_some())
    {
        "an entry that is news is changed by itself, not with an action"
    } else if !are_distinct(&admission.entries) {
        "an entry is changed once with an action"
    } else {
        return Ok(());
    };
    Err(StoreError::new(
        ADMITTING,
        StoreErrorKind::Database(text.to_owned()),
    ))
}

/// Another action has this id: the randomness that ids are made from is broken.
pub(crate) fn id_taken() -> StoreError {
    let text = "another identity's action has this id already; make a new one";
    StoreError::new(ADMITTING, StoreErrorKind::Database(text.to_owned()))
}

const ADMITTING: &str = "recording an action";

/// What a submission comes to under the action that its identity names, if there is one.
pub(crate) fn resolution(first: Option<&Record>, submitted: &Action) -> Resolution {
    let first = first.map(|record| record.action.fingerprint);
    Resolution::of(first, submitted.fingerprint)
}

/// The answer to a submission whose identity is known: the same intent joins, another one is a conflict.
pub(crate) fn join(first: Record, submitted: &Action) -> Admitted {
    match resolution(Some(&first), submitted) {
        Resolution::Joins | Resolution::New => return Admitted::Joined(Box::new(first)),
        Resolution::Conflicts => {}
    }
    let ours = &first.action.members;
    let theirs = &submitted.members;
    let members = ours
        .keys()
        .chain(theirs.keys().filter(|name| !ours.contains_key(*name)))
        .filter(|name| ours.get(*name) != theirs.get(*name))
        .cloned()
        .collect();
    Admitted::Conflict {
        first: Box::new(first),
        members,
    }
}

/// What is looked for to see whether a later action on the same subject exists.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Overtaker<'a> {
    pub(crate) tenant: &'a str,
    pub(crate) destination: &'a str,
    pub(crate) subject: &'a str,
    /// Ids from here on count: those of one millisecond have no order, so that each counts as later than the others.
    pub(crate) from: ActionId,
    /// All but this one.
    pub(crate) but: ActionId,
}

impl<'a> Overtaker<'a> {
    /// Of this action; none where it names no subject, so that nothing is known to overtake it.
    pub(crate) fn of(action: &'a Action) -> Option<Self> {
        let id = action.intent.action;
        Some(Self {
            tenant: &action.scope.tenant,
            destination: &action.scope.destination,
            subject: action.content.subject.as_deref()?,
            from: id.first_of_its_millisecond(),
            but: id,
        })
    }

    /// Whether this action is one.
    pub(crate) fn is(&self, action: &Action) -> bool {
        let id = action.intent.action;
        id >= self.from
            && id != self.but
            && action.content.subject.as_deref() == Some(self.subject)
            && action.scope.destination == self.destination
            && action.scope.tenant == self.tenant
    }
}

/// Whether a decision may hold only while no later action on the subject exists (R14): it marks a send that is not the first.
pub(crate) fn rests_on_subject(facts: &[Fact]) -> bool {
    facts
        .iter()
        .any(|fact| matches!(fact, Fact::Marked(mark) if mark.permission != PermissionKind::First))
}

/// Whether a decision may hold only under the edition that it was made under: it lets an effect request begin.
pub(crate) fn rests_on_authority(facts: &[Fact]) -> bool {
    facts
        .iter()
        .any(|fact| matches!(fact, Fact::Marked(_) | Fact::CancelMarked(_)))
}

/// Authority is kept for good.
pub(crate) fn may_be_forgotten(kind: Kind) -> Result<(), StoreError> {
    if kind.is_authority() {
        let text = format!("entries of the kind `{}` are never forgotten", kind.word());
        return Err(StoreError::new(FORGETTING, StoreErrorKind::Database(text)));
    }
    Ok(())
}

pub(crate) const FORGETTING: &str = "forgetting entries";

/// A new action as it stands right after its admission, its first records, and what is news of them.
pub(crate) fn admitted(
    admission: Admission,
    now: Timestamp,
) -> (Record, Vec<Evidence>, Vec<Topic>) {
    let evidence = name_facts(&Known::default(), now, admission.facts);
    let record = Record {
        known: Known::fold(&evidence),
        action: Arc::new(admission.action),
        version: 1,
        next: admission.next,
        overtaken: false,
        chain: None,
    };
    let news = Glance::news(None, Glance::of(&record));
    (record, evidence, news)
}

/// Adds facts to a record and raises its version; gives what is news then.
pub(crate) fn append(
    record: &mut Record,
    now: Timestamp,
    facts: Vec<Fact>,
    next: NextRow,
) -> (Recorded, Vec<Evidence>, Vec<Topic>) {
    let before = Glance::of(record);
    let evidence = name_facts(&record.known, now, facts);
    for one in &evidence {
        record.known.absorb(one);
    }
    record.version += 1;
    record.next = next;
    let after = Glance::of(record);
    let recorded = Recorded {
        version: record.version,
        ids: evidence
            .iter()
            .map(|one| one.id)
            .collect::<Vec<EvidenceId>>(),
        at: now,
        states: (before.state(), after.state()),
        behind: None,
    };
    (recorded, evidence, Glance::news(Some(before), after))
}

/// The answer to a call of `record` without facts: nothing changes.
pub(crate) fn nothing_recorded(record: &Record, now: Timestamp) -> Recorded {
    let state = record.status().state;
    Recorded {
        version: record.version,
        ids: Vec::new(),
        at: now,
        states: (state, state),
        behind: None,
    }
}

/// Evidence came in by itself: the engine decides anew, at once.
pub(crate) fn decide_anew(now: Timestamp) -> NextRow {
    NextRow {
        step: "wait".to_owned(),
        at: Some(now),
        why: "evidence arrived".to_owned(),
    }
}

/// A restore on top of an earlier one: the earliest copy counts, because what it lost may still be met.
pub(crate) fn restored_again(
    earlier: Option<&Restore>,
    copy_until: Timestamp,
    at: Timestamp,
) -> Restore {
    Restore {
        copy_until: earlier.map_or(copy_until, |restore| restore.copy_until.min(copy_until)),
        at,
        released: None,
    }
}

/// Whether a record is in a listing, the continuation aside.
pub(crate) fn matches(filter: &Filter, record: &Record) -> bool {
    let action = &record.action;
    let wanted = |wish: &Option<String>, is: &str| wish.as_deref().is_none_or(|wish| wish == is);
    let conversation = action.content.conversation.as_ref();
    wanted(&filter.tenant, &action.scope.tenant)
        && wanted(&filter.destination, &action.scope.destination)
        && wanted(&filter.next, &record.next.step)
        && filter
            .key
            .as_deref()
            .is_none_or(|key| key == identity_text(&action.identity))
        && filter
            .conversation
            .as_deref()
            .is_none_or(|id| conversation.is_some_and(|conversation| conversation.id == id))
        && filter
            .state
            .is_none_or(|state| state == record.status().state)
}
