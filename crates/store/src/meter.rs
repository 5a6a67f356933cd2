//! Counters that are cheap to add to: atomics, no lock, no allocation. Whoever shows them reads them; nothing decides by them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Microseconds in a second.
const SECOND: u64 = 1_000_000;

/// Upper ends for times from a fast request to a day, in microseconds.
pub const TIMES: &[u64] = &[
    5_000,
    25_000,
    100_000,
    500_000,
    SECOND,
    5 * SECOND,
    30 * SECOND,
    60 * SECOND,
    600 * SECOND,
    3_600 * SECOND,
    21_600 * SECOND,
    86_400 * SECOND,
];

/// Upper ends for a write to a disk or a database, in microseconds.
const WRITES: &[u64] = &[
    250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 500_000, SECOND,
];

/// Upper ends for how many commands share a transaction.
const BATCHES: &[u64] = &[1, 2, 4, 8, 16, 32, 64, 128, 256];

/// How often something was.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Once more.
    pub fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// So far.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// How often each of a few words was said. The words are fixed, so that nobody's data becomes a label.
#[derive(Debug)]
pub struct Tally {
    words: &'static [&'static str],
    counts: Box<[Counter]>,
}

impl Tally {
    /// Nothing said yet.
    #[must_use]
    pub fn of(words: &'static [&'static str]) -> Self {
        Self {
            words,
            counts: words.iter().map(|_| Counter::default()).collect(),
        }
    }

    /// Counts a word. One that is not among the words counts as the last of them.
    pub fn add(&self, word: &str) {
        let known = self.words.iter().position(|own| *own == word);
        let at = known.unwrap_or(self.words.len().saturating_sub(1));
        if let Some(count) = self.counts.get(at) {
            count.add();
        }
    }

    /// Every word and how often it was said.
    pub fn each(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = self.counts.iter().map(Counter::get);
        self.words.iter().copied().zip(counts)
    }
}

/// How large the values were: how many up to each of some ends.
#[derive(Debug)]
pub struct Histogram {
    ends: &'static [u64],
    counts: Box<[Counter]>,
    sum: AtomicU64,
}

/// A histogram as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// Upper ends, with how many values were no larger.
    pub up_to: Vec<(u64, u64)>,
    /// How many values there were.
    pub count: u64,
    /// Their sum.
    pub sum: u64,
}

impl Histogram {
    /// No value yet. `ends` rise.
    #[must_use]
    pub fn new(ends: &'static [u64]) -> Self {
        Self {
            ends,
            counts: (0..=ends.len()).map(|_| Counter::default()).collect(),
            sum: AtomicU64::new(0),
        }
    }

    /// Adds a value.
    pub fn observe(&self, value: u64) {
        let at = self.ends.partition_point(|end| *end < value);
        if let Some(count) = self.counts.get(at) {
            count.add();
        }
        self.sum.fetch_add(value, Ordering::Relaxed);
    }

    /// What was added so far.
    #[must_use]
    pub fn read(&self) -> Observed {
        let mut count = 0;
        let mut up_to = Vec::with_capacity(self.ends.len());
        for (place, counted) in self.counts.iter().enumerate() {
            count += counted.get();
            if let Some(end) = self.ends.get(place) {
                up_to.push((*end, count));
            }
        }
        Observed {
            up_to,
            count,
            sum: self.sum.load(Ordering::Relaxed),
        }
    }
}

/// What a store counts about its own writing, in this process.
#[derive(Debug)]
pub struct Meter {
    /// How many commands shared each transaction.
    pub batches: Histogram,
    /// How long each transaction took, in microseconds.
    pub writes: Histogram,
    /// Transactions that could not be made durable.
    pub failed: Counter,
}

impl Default for Meter {
    fn default() -> Self {
        Self {
            batches: Histogram::new(BATCHES),
            writes: Histogram::new(WRITES),
            failed: Counter::default(),
        }
    }
}

impl Meter {
    /// Counts a transaction of so many commands.
    pub fn wrote(&self, commands: usize, took: Duration, durable: bool) {
        self.batches
            .observe(u64::try_from(commands).unwrap_or(u64::MAX));
        self.writes
            .observe(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
        if !durable {
            self.failed.add();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_counts_for_every_end_that_it_does_not_pass() {
        let histogram = Histogram::new(&[10, 20]);
        for value in [0, 10, 11, 20, 21, 1_000] {
            histogram.observe(value);
        }
        let expected = Observed {
            up_to: vec![(10, 2), (20, 4)],
            count: 6,
            sum: 1_062,
        };
        assert_eq!(histogram.read(), expected);
    }

    #[test]
    fn a_word_that_is_not_known_counts_as_the_last() {
        let tally = Tally::of(&["done", "other"]);
        for word in ["done", "other", "4111 1111 1111 1111"] {
            tally.add(word);
        }
        assert_eq!(
            tally.each().collect::<Vec<_>>(),
            [("done", 1), ("other", 2)]
        );
    }
}
