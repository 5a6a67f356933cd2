//! Counting the ledger: numbers for tests, a table for people. Counting never changes a row.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::ledger::{Event, Kind, Mode, Row};

/// Which rows to look at. Members that are `None` do not count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only rows of this business reference.
    pub business: Option<String>,
    /// Only rows of this kind of destination.
    pub kind: Option<Kind>,
    /// Only rows of this mode.
    pub mode: Option<Mode>,
}

impl Filter {
    /// Only rows of this business reference.
    pub fn business(business: impl Into<String>) -> Filter {
        Filter {
            business: Some(business.into()),
            ..Filter::default()
        }
    }

    /// Only rows of this kind and mode.
    pub fn destination(kind: Kind, mode: Mode) -> Filter {
        Filter {
            kind: Some(kind),
            mode: Some(mode),
            ..Filter::default()
        }
    }

    pub(crate) fn lets_pass(&self, row: &Row) -> bool {
        self.business
            .as_ref()
            .is_none_or(|business| *business == row.business)
            && self.kind.is_none_or(|kind| kind == row.kind)
            && self.mode.is_none_or(|mode| mode == row.mode)
    }
}

/// What the ledger adds up to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Effects that exist: landed and not cancelled.
    pub total_effects: u64,
    /// Those by business reference. Businesses without an effect are left out.
    pub by_business: BTreeMap<String, u64>,
    /// Effects beyond the first of their business reference at one destination.
    pub duplicates: u64,
    /// Effect requests that came over the wire, answered or not. What a proxy in front repeats is not counted.
    pub deliveries: u64,
    /// Those by business reference: what a sender's recorded attempts are compared with.
    pub deliveries_by_business: BTreeMap<String, u64>,
    /// Effect requests whose true answer was lost, spoiled or held back.
    pub answers_lost: u64,
    /// Effect requests answered from what was stored under their key.
    pub replayed: u64,
    /// Effect requests that were answered without doing anything.
    pub refused: u64,
    /// Effect requests that were dropped without doing anything or answering.
    pub dropped: u64,
    /// Requests rejected but recorded.
    pub declined: u64,
    /// Jobs that ended without an effect.
    pub failed_jobs: u64,
    /// Effects that landed and were cancelled.
    pub cancelled: u64,
    /// Requests begun or queued that have not landed yet.
    pub pending: u64,
    /// Requests that followed a redirect.
    pub elsewhere: u64,
    /// Searches that arrived since the start, whatever the filter; they leave no row.
    pub lookups: u64,
    /// Questions after jobs that arrived since the start, whatever the filter; they leave no row.
    pub polls: u64,
    /// Connections that a fault ended before anything was read, since the start, whatever the filter.
    pub refused_connections: u64,
    /// Connections that ended before a request was complete, since the start, whatever the filter.
    pub cut_off: u64,
    /// Reports that were taken with a 2xx since the start, whatever the filter; a forged one that was refused is none.
    #[serde(default)]
    pub callbacks: u64,
    /// Events that were handed out to whoever fetched them since the start, whatever the filter; each as often as it was.
    #[serde(default)]
    pub events: u64,
}

impl Counts {
    /// Effects of this business reference that exist.
    pub fn effects_of(&self, business: &str) -> u64 {
        self.by_business.get(business).copied().unwrap_or_default()
    }

    /// Effect requests of this business reference that came over the wire.
    pub fn deliveries_of(&self, business: &str) -> u64 {
        self.deliveries_by_business
            .get(business)
            .copied()
            .unwrap_or_default()
    }

    /// Adds up the rows that pass the filter. `open` says whether the row with a number has still to land, `cancelled`
    /// holds the ids of effects that were cancelled.
    pub(crate) fn of(
        rows: &[Row],
        filter: &Filter,
        open: impl Fn(u64) -> bool,
        cancelled: &HashSet<String>,
    ) -> Counts {
        let mut counts = Counts::default();
        let mut once = HashSet::new();
        for row in rows.iter().filter(|row| filter.lets_pass(row)) {
            if row.wire {
                counts.deliveries += 1;
                add(&mut counts.deliveries_by_business, &row.business);
                counts.answers_lost += u64::from(row.lost);
            }
            match row.event {
                Event::Effect if row.id.as_ref().is_some_and(|id| cancelled.contains(id)) => {
                    counts.cancelled += 1;
                }
                Event::Effect => {
                    counts.total_effects += 1;
                    add(&mut counts.by_business, &row.business);
                    once.insert((row.kind, row.mode, row.business.as_str()));
                }
                Event::Begun | Event::Queued => counts.pending += u64::from(open(row.seq)),
                Event::FailedJob => counts.failed_jobs += 1,
                Event::Declined => counts.declined += 1,
                Event::Refused => counts.refused += 1,
                Event::Replayed => counts.replayed += 1,
                Event::Dropped => counts.dropped += 1,
                Event::Elsewhere => counts.elsewhere += 1,
                Event::Cancelled => {}
            }
        }
        counts.duplicates = counts.total_effects - once.len() as u64;
        counts
    }
}

fn add(by: &mut BTreeMap<String, u64>, business: &str) {
    if let Some(count) = by.get_mut(business) {
        *count += 1;
    } else {
        by.insert(business.to_owned(), 1);
    }
}

/// How many business references with more than one effect a table names.
const NAMED_MAX: usize = 20;

/// A plain-text table, one line per destination that was used, and the business references with several effects.
pub(crate) fn table(stand_ins: &[Kind], of: impl Fn(&Filter) -> Counts) -> String {
    let mut text = format!(
        "{:<16}{:>11}{:>9}{:>12}{:>14}{:>10}{:>10}{:>10}{:>9}\n",
        "destination",
        "deliveries",
        "effects",
        "duplicates",
        "answers lost",
        "replayed",
        "declined",
        "cancelled",
        "pending"
    );
    for kind in Kind::ALL.iter().chain(stand_ins) {
        for mode in Mode::ALL {
            let counts = of(&Filter::destination(*kind, *mode));
            if counts.deliveries == 0 && counts.total_effects == 0 {
                continue;
            }
            line(
                &mut text,
                &format!("{}, {}", kind.name(), mode.name()),
                &counts,
            );
        }
    }
    let all = of(&Filter::default());
    line(&mut text, "all", &all);
    if all.elsewhere > 0 {
        push(
            &mut text,
            format_args!("\nredirects followed: {}\n", all.elsewhere),
        );
    }
    let several = all.by_business.iter().filter(|(_, effects)| **effects > 1);
    for (index, (business, effects)) in several.take(NAMED_MAX).enumerate() {
        if index == 0 {
            text.push_str("\nmore than one effect:\n");
        }
        push(&mut text, format_args!("  {business}: {effects}\n"));
    }
    text
}

fn line(text: &mut String, name: &str, counts: &Counts) {
    push(
        text,
        format_args!(
            "{name:<16}{:>11}{:>9}{:>12}{:>14}{:>10}{:>10}{:>10}{:>9}\n",
            counts.deliveries,
            counts.total_effects,
            counts.duplicates,
            counts.answers_lost,
            counts.replayed,
            counts.declined,
            counts.cancelled,
            counts.pending
        ),
    );
}

fn push(text: &mut String, part: std::fmt::Arguments<'_>) {
    text.write_fmt(part)
        .expect("writing to a string cannot fail");
}
