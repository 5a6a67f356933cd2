//! What this process counts about its work, for whoever shows it: nothing is decided by it, and nothing of a payload is in it.
//!
//! Every destination and operation of the configuration has a row of its own, made at the start and never added to: so no lock is
//! taken where something is counted, and whatever callers send, the number of rows stays. What has no row, because there are more
//! than [`ROWS_MAX`] or because it is not configured any more, counts in the row [`OTHER`]. What stands in the store at a moment,
//! and not what happened, is read by [`standing`].

mod note;
pub mod standing;

use std::collections::BTreeMap;

use factum_core::{Scope, State, Timestamp};
use factum_store::meter::{Counter, Histogram, TIMES, Tally};
use factum_store::{Admitted, Delivered, Record};

use crate::destination::Destination;
use crate::trail;

pub(crate) use note::Notes;

/// The name of the row for what has none, and of an operation that the configuration does not name.
pub const OTHER: &str = "other";

/// Rows at the most, beside the one for everything else.
pub const ROWS_MAX: usize = 300;

/// What became of submissions.
const SUBMISSIONS: &[&str] = &["created", "joined", "conflict", "held_off", "gone", "again"];

/// By what right requests were marked: [`factum_core::evidence::PermissionKind::name`].
const MARKS: &[&str] = &[
    "first",
    "proven_not_sent",
    "same_key",
    "proven_absent",
    "harmless",
    "ordered",
];

/// What is known of attempts: [`factum_core::evidence::AnswerClass::name`], and the ends without an answer.
const EVIDENCE: &[&str] = &[
    "done",
    "accepted",
    "rejected",
    "declined",
    "in_progress",
    "already_exists",
    "mismatch",
    "busy",
    "unknown",
    "not_sent",
    "lost",
    "process_gone",
    "lease_over",
];

/// What questions brought.
const QUESTIONS: &[&str] = &[
    "found",
    "queued",
    "absent",
    "ended",
    "working",
    "inconclusive",
];

/// Why a person was needed: [`factum_core::evidence::ReviewWhy::name`].
const REVIEWS: &[&str] = &[
    "nothing_to_ask",
    "not_found_by_partial_lookup",
    "policy_wants_person",
    "bound_reached",
    "key_mismatch",
    "not_recognised",
    "duplicate_suspected",
    "verdict_contradicted",
    "send_barred",
    "completion_unknown",
];

/// What became of callbacks and of events from a feed.
const CALLBACKS: &[&str] = &["matched", "unmatched", "repeated", "refused"];

/// How actions were settled, by the state that they came to.
pub const OUTCOMES: &[&str] = &[
    "succeeded",
    "terminal_failure",
    "cancelled",
    "expired",
    "closed",
];

/// By what they were settled.
const SETTLED_BY: &[&str] = &[
    "reply",
    "same_key",
    "lookup",
    "poll",
    "callback",
    "cancel_by_key",
    "harmless",
    "person",
    "preference",
    "withdrawal",
    "authority",
    "time",
    "bound",
    "our_side",
];

/// What is counted for one operation at one destination.
#[derive(Debug)]
pub struct Row {
    /// The destination's full name.
    pub destination: String,
    /// The operation.
    pub operation: String,
    /// What became of submissions.
    pub submissions: Tally,
    /// By what right requests were marked.
    pub marks: Tally,
    /// What is known of attempts.
    pub attempts: Tally,
    /// What lookups and polls brought.
    pub questions: Tally,
    /// What became of callbacks; those that found no action count under [`OTHER`].
    pub callbacks: Tally,
    /// By what actions were settled, for each of [`OUTCOMES`].
    pub settled: Box<[Tally]>,
    /// Why a person was needed.
    pub reviews: Tally,
    /// Answers that showed that something promised is not in force there.
    pub missed: Counter,
    /// Corrections that fell due.
    pub corrections: Counter,
    /// From the submission to the first mark, in microseconds.
    pub until_sent: Histogram,
    /// From the submission to the settlement, in microseconds.
    pub until_settled: Histogram,
}

impl Row {
    /// Whether anything was counted in it: rows that never were are not shown.
    #[must_use]
    pub fn is_used(&self) -> bool {
        let tallies = [
            &self.submissions,
            &self.marks,
            &self.attempts,
            &self.questions,
            &self.callbacks,
            &self.reviews,
        ];
        let mut words = tallies.into_iter().flat_map(Tally::each);
        words.any(|(_, count)| count > 0) || self.corrections.get() > 0
    }

    fn new(destination: &str, operation: &str) -> Self {
        Self {
            destination: destination.to_owned(),
            operation: operation.to_owned(),
            submissions: Tally::of(SUBMISSIONS),
            marks: Tally::of(MARKS),
            attempts: Tally::of(EVIDENCE),
            questions: Tally::of(QUESTIONS),
            callbacks: Tally::of(CALLBACKS),
            settled: OUTCOMES.iter().map(|_| Tally::of(SETTLED_BY)).collect(),
            reviews: Tally::of(REVIEWS),
            missed: Counter::default(),
            corrections: Counter::default(),
            until_sent: Histogram::new(TIMES),
            until_settled: Histogram::new(TIMES),
        }
    }
}

/// Everything that is counted.
#[derive(Debug)]
pub struct Metrics {
    rows: BTreeMap<String, BTreeMap<String, Row>>,
    other: Row,
}

impl Metrics {
    /// A row for each operation of these destinations.
    #[must_use]
    pub(crate) fn of(destinations: &BTreeMap<String, Destination>) -> Self {
        let mut rows: BTreeMap<String, BTreeMap<String, Row>> = BTreeMap::new();
        let names = destinations.iter().flat_map(|(name, destination)| {
            let named = destination.operations.keys().map(String::as_str);
            named
                .chain([OTHER])
                .map(move |operation| (name.as_str(), operation))
        });
        for (destination, operation) in names.take(ROWS_MAX) {
            let of_one = rows.entry(destination.to_owned()).or_default();
            of_one.insert(operation.to_owned(), Row::new(destination, operation));
        }
        Self {
            rows,
            other: Row::new(OTHER, OTHER),
        }
    }

    /// The row of an operation at a destination.
    #[must_use]
    pub fn row(&self, destination: &str, operation: &str) -> &Row {
        let of_one = self.rows.get(destination);
        of_one
            .and_then(|rows| rows.get(operation).or_else(|| rows.get(OTHER)))
            .unwrap_or(&self.other)
    }

    /// Every row, the one for everything else last.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        let named = self.rows.values().flat_map(BTreeMap::values);
        named.chain([&self.other])
    }

    fn of_scope(&self, scope: &Scope) -> &Row {
        self.row(&scope.destination, &scope.operation)
    }

    /// A submission was answered.
    pub(crate) fn admitted(&self, scope: &Scope, admitted: &Admitted) {
        let word = match admitted {
            Admitted::Created(..) => "created",
            Admitted::Joined(_) => "joined",
            Admitted::Conflict { .. } => "conflict",
            Admitted::HeldOff(_) => "held_off",
            Admitted::Gone(_) | Admitted::Forgotten(_) => "gone",
            Admitted::Stale | Admitted::Reserved(_) => "again",
        };
        self.of_scope(scope).submissions.add(word);
    }

    /// What was recorded about an action is durable; `record` is how it stands now, and `before` its state until then.
    pub(crate) fn recorded(&self, record: &Record, notes: &Notes, before: State, at: Timestamp) {
        let row = self.of_scope(&record.action.scope);
        let submitted_at = record.action.intent.submitted_at;
        notes.count(row, submitted_at);
        if !notes.may_settle() {
            return;
        }
        if before.is_final() {
            trail::late(record, notes.settled_by(record));
            return;
        }
        let status = record.status();
        if !status.is_settled() {
            return;
        }
        let outcome = if status.state.is_final() {
            status.state.name()
        } else {
            "closed"
        };
        let place = OUTCOMES.iter().position(|known| *known == outcome);
        if let Some(tally) = place.and_then(|place| row.settled.get(place)) {
            tally.add(notes.settled_by(record));
            trail::settle(record, outcome, notes.settled_by(record));
        }
        row.until_settled.observe(micros(submitted_at, at));
    }

    /// A callback came, or an event in a feed. `about` is the action that it found, and how that stands now.
    pub(crate) fn called_back(
        &self,
        destination: &str,
        delivered: Delivered,
        about: Option<&Record>,
    ) {
        let word = match delivered {
            Delivered::Matched(_) => "matched",
            Delivered::Unmatched => "unmatched",
            Delivered::Repeated(_) => "repeated",
        };
        let operation = about.map_or(OTHER, |record| &record.action.scope.operation);
        self.row(destination, operation).callbacks.add(word);
    }

    /// A callback was not the destination's, or nobody could tell.
    pub(crate) fn callback_refused(&self, destination: &str) {
        self.row(destination, OTHER).callbacks.add("refused");
    }

    /// A correction fell due.
    pub(crate) fn correction_due(&self, record: &Record) {
        self.of_scope(&record.action.scope).corrections.add();
    }
}

/// From one instant to a later one; none where a clock stood still.
fn micros(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from(to.since(from).as_micros()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn destination(name: &str, operations: usize) -> (String, Destination) {
        let operation = |no: usize| {
            (
                format!("op.{no:03}"),
                crate::destination::Operation {
                    contract: None,
                    promises: factum_core::Promises::none(
                        factum_core::promise::Consequence::Harmless,
                    ),
                    preference: factum_core::Preference::default(),
                    finish: false,
                    key_template: None,
                    approval: None,
                    twin_guard: None,
                    limits: factum_core::Limits::default(),
                    by_workers: None,
                    two_persons: false,
                },
            )
        };
        let made = Destination {
            name: name.to_owned(),
            provider: "work".to_owned(),
            account: None,
            reach: crate::destination::Reach::Elsewhere,
            operations: (0..operations).map(operation).collect(),
            any_operation: None,
            gate: crate::driver::gate::GateSettings::default(),
            sandbox: false,
            callback_secrets: Vec::new(),
        };
        (name.to_owned(), made)
    }

    #[test]
    fn whatever_callers_name_no_row_is_added() {
        let metrics = Metrics::of(&[destination("desk", 2)].into_iter().collect());
        let rows = metrics.rows().count();
        for no in 0..1_000 {
            metrics
                .row("desk", &format!("made.up.{no}"))
                .corrections
                .add();
            metrics.row(&format!("made-up-{no}"), "x").corrections.add();
        }
        assert_eq!(metrics.rows().count(), rows);
        assert_eq!(metrics.row("desk", "op.001").corrections.get(), 0);
        assert_eq!(metrics.row("desk", OTHER).corrections.get(), 1_000);
        assert_eq!(metrics.row(OTHER, OTHER).corrections.get(), 1_000);
    }

    #[test]
    fn beyond_the_bound_everything_counts_in_one_row() {
        let many = (0..10).map(|no| destination(&format!("desk-{no}"), 100));
        let metrics = Metrics::of(&many.collect());
        assert_eq!(metrics.rows().count(), ROWS_MAX + 1);
        assert_eq!(metrics.row("desk-0", "op.000").destination, "desk-0");
        assert_eq!(metrics.row("desk-9", "op.000").destination, OTHER);
    }
}
