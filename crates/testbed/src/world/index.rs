//! What follows from the rows: keys, jobs, what can be found, what has still to land.
//!
//! [`Index::apply`] is the only place that changes it, row by row, in the running testbed and at a restart alike.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::ledger::{Event, Kind, Ledger, Mode, Row};

use super::stand_in::Stands;

/// A key or reference at one destination.
pub(super) type Scope = (Kind, Mode, String);

/// What `key` remembers of a key.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) since: i64,
    pub(super) digest: String,
    /// The row that holds the answer; none while the first request still runs.
    pub(super) answer: Option<u64>,
}

/// Everything that follows from the rows.
#[derive(Debug, Default)]
pub(super) struct Index {
    pub(super) keys: HashMap<Scope, Held>,
    pub(super) cancelled_keys: HashSet<Scope>,
    pub(super) cancelled_ids: HashSet<String>,
    /// The rows under a key of `cancel`: effects and queued jobs.
    pub(super) named: HashMap<Scope, Vec<u64>>,
    /// The rows that a search can find: effects of `sync`, jobs of `queued`.
    pub(super) findable: HashMap<(Kind, Mode), Vec<u64>>,
    pub(super) by_reference: HashMap<Scope, Vec<u64>>,
    pub(super) jobs: HashMap<String, u64>,
    /// What has still to land, by due time and number.
    pub(super) pending: BTreeSet<(i64, u64)>,
    /// Which row ended a begun or queued one.
    pub(super) ended: HashMap<u64, u64>,
    pub(super) ids: u64,
    pub(super) stands: Stands,
}

impl Index {
    /// Makes everything follow from one more row, which is the last of the ledger or was so once.
    pub(super) fn apply(&mut self, ledger: &Ledger, seq: u64) {
        let Some(row) = ledger.row(seq) else { return };
        let first = row
            .of
            .and_then(|of| ledger.row(of))
            .filter(|_| row.event != Event::Replayed);
        if let Some(first) = first {
            self.pending
                .remove(&(first.due.unwrap_or_default(), first.seq));
            self.ended.insert(first.seq, seq);
        }
        if let (Event::Begun | Event::Queued, Some(due)) = (row.event, row.due) {
            self.pending.insert((due, seq));
        }
        if let (Event::Queued, Some(job)) = (row.event, &row.job) {
            self.jobs.insert(job.clone(), seq);
        }
        self.ids += u64::from(matches!(row.event, Event::Effect | Event::Declined));
        self.hold_key(row, first);
        self.hold_reference(row, first);
        self.hold_cancel(row, ledger);
        self.stands.apply(row, first);
    }

    /// `key`: a key is held from its first arrival, with the answer as soon as there is one.
    fn hold_key(&mut self, row: &Row, first: Option<&Row>) {
        let (Kind::Key, Some(key), Some(digest)) = (row.kind, &row.key, &row.digest) else {
            return;
        };
        let stored = match row.event {
            Event::Begun | Event::Effect | Event::Queued | Event::Declined => true,
            Event::Refused => matches!(row.code.as_deref(), Some("invalid" | "ok_false")),
            Event::FailedJob
            | Event::Replayed
            | Event::Cancelled
            | Event::Dropped
            | Event::Elsewhere => false,
        };
        // A job that completes changes nothing about the answer that its key has got already.
        if !stored || first.is_some_and(|first| first.event == Event::Queued) {
            return;
        }
        let answer = (row.event != Event::Begun).then_some(row.seq);
        let since = first.map_or(row.at, |first| first.at);
        let held = Held {
            since,
            digest: digest.clone(),
            answer,
        };
        self.keys.insert((row.kind, row.mode, key.clone()), held);
    }

    /// `lookup` and `lagging`: what a search can find.
    fn hold_reference(&mut self, row: &Row, first: Option<&Row>) {
        let of_a_job = first.is_some_and(|first| first.event == Event::Queued);
        let searched = matches!(row.kind, Kind::Lookup | Kind::Lagging);
        if !searched || of_a_job || !matches!(row.event, Event::Effect | Event::Queued) {
            return;
        }
        self.findable
            .entry((row.kind, row.mode))
            .or_default()
            .push(row.seq);
        if let Some(reference) = &row.reference {
            let scope = (row.kind, row.mode, reference.clone());
            self.by_reference.entry(scope).or_default().push(row.seq);
        }
    }

    /// `cancel`: what stands under a key, and what a cancel ends. `key`: what was undone by its id.
    fn hold_cancel(&mut self, row: &Row, ledger: &Ledger) {
        if row.kind == Kind::Key && row.event == Event::Cancelled {
            self.cancelled_ids.extend(row.ids.iter().cloned());
        }
        let (Kind::Cancel | Kind::StandIn(_), Some(key)) = (row.kind, &row.key) else {
            return;
        };
        let scope = (row.kind, row.mode, key.clone());
        if matches!(row.event, Event::Effect | Event::Queued) {
            self.named.entry(scope).or_default().push(row.seq);
            return;
        }
        if row.event != Event::Cancelled {
            return;
        }
        for id in &row.ids {
            if let Some(job) = self.jobs.get(id).and_then(|seq| ledger.row(*seq)) {
                self.pending.remove(&(job.due.unwrap_or_default(), job.seq));
                self.ended.insert(job.seq, row.seq);
            } else {
                self.cancelled_ids.insert(id.clone());
            }
        }
        self.cancelled_keys.insert(scope);
    }
}
