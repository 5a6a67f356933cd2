//! How each destination does: what became of requests since this process began, how long things took, and what stands open now. It is
//! read from what the engine counts and from its look at the store, which is a few seconds old at the most: a page costs no more with a
//! million actions than with ten.

use std::collections::BTreeMap;

use factum::core::Span;
use factum::metrics::standing::{AGES, Aged};
use factum::metrics::{Observed, Row, Tally};

use super::Visit;
use super::overview::{Bar, bars};
use super::words::length;
use crate::app::App;
use crate::reply::Failure;

/// How one destination does.
#[derive(Default)]
pub(super) struct Health {
    pub(super) name: String,
    /// `active`, or who knows what.
    pub(super) standing: &'static str,
    /// Nothing gets through lately.
    pub(super) circuit_open: bool,
    pub(super) waiting: usize,
    pub(super) unknown: u64,
    pub(super) review: u64,
    pub(super) closing: u64,
    /// Of a hundred requests whose end is known, the answers that were lost.
    pub(super) lost: Option<String>,
    pub(super) is_losing: bool,
    /// How attempts ended other than well, by where.
    pub(super) ends: Vec<(&'static str, u64)>,
    /// From a submission to its settlement: half of them, and nineteen of twenty.
    pub(super) took: Option<(String, String)>,
}

/// All of them, and what they come to.
pub(super) struct Together {
    pub(super) all: Vec<Health>,
    /// By what actions were settled.
    pub(super) settled: Vec<Share>,
    pub(super) unknown: Vec<Bar>,
    pub(super) review: Vec<Bar>,
    pub(super) oldest: Option<String>,
    pub(super) closing: u64,
    pub(super) lost: Option<String>,
}

/// One cause, with how much of all it is.
pub(super) struct Share {
    pub(super) word: &'static str,
    pub(super) count: u64,
    /// Of a hundred.
    pub(super) share: u64,
}

/// Ends of attempts that are no answer, or none that says anything: in which phase it went wrong.
const ENDS: [(&str, &str); 6] = [
    ("not_sent", "before a byte left"),
    ("lost", "answer lost"),
    ("unknown", "answer said nothing"),
    ("busy", "turned away"),
    ("lease_over", "no word in time"),
    ("process_gone", "our process ended"),
];

/// Words for what settles.
const CAUSES: [(&str, &str); 14] = [
    ("reply", "their answer"),
    ("same_key", "the same key"),
    ("lookup", "a lookup"),
    ("poll", "asking how it stands"),
    ("callback", "their callback"),
    ("cancel_by_key", "withdrawing by key"),
    ("harmless", "a harmless repeat"),
    ("person", "a person"),
    ("preference", "a policy"),
    ("withdrawal", "a withdrawal"),
    ("authority", "authority that ended"),
    ("time", "its deadline"),
    ("bound", "a bound"),
    ("our_side", "our side of the socket"),
];

#[derive(Default)]
struct Counted {
    attempts: BTreeMap<&'static str, u64>,
    settled: BTreeMap<&'static str, u64>,
    took: Option<Observed>,
}

impl Counted {
    fn add(&mut self, row: &Row) {
        let put = |into: &mut BTreeMap<&'static str, u64>, tally: &Tally| {
            for (word, count) in tally.each() {
                *into.entry(word).or_default() += count;
            }
        };
        put(&mut self.attempts, &row.attempts);
        for tally in &row.settled {
            put(&mut self.settled, tally);
        }
        let read = row.until_settled.read();
        self.took = Some(match self.took.take() {
            None => read,
            Some(before) => together(before, &read),
        });
    }

    /// What became of requests that may have arrived, and of how many of them the answer was lost.
    fn lost(&self) -> (u64, u64) {
        let of = |word: &str| self.attempts.get(word).copied().unwrap_or(0);
        let lost = of("lost") + of("lease_over") + of("process_gone");
        let all: u64 = self.attempts.values().sum();
        (lost, all - of("not_sent"))
    }
}

fn together(mut one: Observed, other: &Observed) -> Observed {
    for ((_, count), (_, more)) in one.up_to.iter_mut().zip(&other.up_to) {
        *count += more;
    }
    one.count += other.count;
    one.sum += other.sum;
    one
}

/// Up to what so many of a hundred values go; `over` the last end where they go further.
fn percentile(seen: &Observed, percent: u64) -> Option<String> {
    if seen.count == 0 {
        return None;
    }
    let wanted = (seen.count * percent).div_ceil(100);
    let end = seen.up_to.iter().find(|(_, count)| *count >= wanted);
    let words = |micros: u64| length(Span::from_micros(i64::try_from(micros).unwrap_or(i64::MAX)));
    Some(match (end, seen.up_to.last()) {
        (Some((end, _)), _) => format!("≤ {}", words(*end)),
        (None, Some((last, _))) => format!("> {}", words(*last)),
        (None, None) => return None,
    })
}

fn of_hundred((part, all): (u64, u64)) -> Option<String> {
    (all > 0).then(|| {
        let tenths = part * 1_000 / all;
        format!("{}.{} %", tenths / 10, tenths % 10)
    })
}

fn aged_bars(aged: &Aged) -> Vec<Bar> {
    let counts: Vec<(String, usize)> = AGES
        .iter()
        .zip(aged.by_age)
        .map(|((_, word), count)| {
            (
                (*word).to_owned(),
                usize::try_from(count).unwrap_or(usize::MAX),
            )
        })
        .collect();
    let most = counts.iter().map(|(_, count)| *count).max().unwrap_or(0);
    bars(&counts, most, 46)
}

fn add(all: &mut Aged, one: &Aged) {
    for (count, more) in all.by_age.iter_mut().zip(one.by_age) {
        *count += more;
    }
    all.oldest = all.oldest.max(one.oldest);
}

/// How the destinations of a tenant do. Nothing for whoever acts under a grant: it is about all of the tenant's.
pub(super) async fn health(app: &App, visit: &Visit) -> Result<Option<Together>, Failure> {
    if visit.caller.grant.is_some() {
        return Ok(None);
    }
    let engine = app.factum().engine();
    let tenant = &visit.caller.tenant;
    let look = engine.standing().await?;
    let queues = engine.queues().await.unwrap_or_default();
    let directory = engine.directory();
    let (mut whole, mut unknown, mut review) =
        (Counted::default(), Aged::default(), Aged::default());
    let (mut all, mut closing) = (Vec::new(), 0);
    for (name, destination) in engine.destinations_of(tenant) {
        let full = &destination.name;
        let mut counted = Counted::default();
        for row in engine
            .metrics()
            .rows()
            .filter(|row| row.destination == *full)
        {
            counted.add(row);
            whole.add(row);
        }
        let mut one = Health {
            name: name.to_owned(),
            standing: directory.destination(tenant, name).word(),
            ..Health::default()
        };
        for (_, stands) in look.iter().filter(|((at, _), _)| at == full) {
            add(&mut unknown, &stands.unknown);
            add(&mut review, &stands.review);
            one.unknown += stands.unknown.by_age.iter().sum::<u64>();
            one.review += stands.review.by_age.iter().sum::<u64>();
            one.closing += stands.closing;
        }
        closing += one.closing;
        if let Some(queue) = queues.get(full) {
            one.circuit_open = queue.circuit_open;
            one.waiting = queue.resting + queue.due + queue.at_gate + queue.held_back;
        }
        told(&mut one, &counted);
        all.push(one);
    }
    Ok(Some(Together {
        all,
        settled: shares(&whole),
        oldest: (unknown.oldest > Span::ZERO).then(|| length(unknown.oldest)),
        unknown: aged_bars(&unknown),
        review: aged_bars(&review),
        closing,
        lost: of_hundred(whole.lost()),
    }))
}

fn told(one: &mut Health, counted: &Counted) {
    let (lost, all) = counted.lost();
    one.lost = of_hundred((lost, all));
    // One in twenty is more than any network loses by itself.
    one.is_losing = lost * 20 > all;
    let ends = ENDS.iter().filter_map(|(word, said)| {
        let count = counted.attempts.get(word).copied().unwrap_or(0);
        (count > 0).then_some((*said, count))
    });
    one.ends = ends.collect();
    let took = counted.took.as_ref();
    one.took = took.and_then(|seen| Some((percentile(seen, 50)?, percentile(seen, 95)?)));
}

fn shares(whole: &Counted) -> Vec<Share> {
    let all: u64 = whole.settled.values().sum();
    let mut shares: Vec<Share> = CAUSES
        .iter()
        .filter_map(|(word, said)| {
            let count = whole.settled.get(word).copied().unwrap_or(0);
            (count > 0).then(|| Share {
                word: said,
                count,
                share: (count * 100).div_ceil(all.max(1)),
            })
        })
        .collect();
    shares.sort_by_key(|one| std::cmp::Reverse(one.count));
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_told_by_the_end_of_its_bucket() {
        let seen = Observed {
            up_to: vec![(5_000, 50), (100_000, 94), (1_000_000, 95)],
            count: 100,
            sum: 0,
        };
        assert_eq!(percentile(&seen, 50).as_deref(), Some("≤ 5 ms"));
        assert_eq!(percentile(&seen, 95).as_deref(), Some("≤ 1 s"));
        assert_eq!(percentile(&seen, 99).as_deref(), Some("> 1 s"));
        let none = Observed {
            up_to: vec![(5_000, 0)],
            count: 0,
            sum: 0,
        };
        assert_eq!(percentile(&none, 50), None);
    }

    #[test]
    fn what_never_left_is_not_lost() {
        let counted = Counted {
            attempts: BTreeMap::from([("done", 6), ("lost", 2), ("not_sent", 92)]),
            ..Counted::default()
        };
        assert_eq!(of_hundred(counted.lost()).as_deref(), Some("25.0 %"));
        assert_eq!(of_hundred((0, 0)), None);
        let mut one = Health::default();
        told(&mut one, &counted);
        assert!(one.is_losing);
        assert_eq!(one.ends, [("before a byte left", 92), ("answer lost", 2)]);
    }
}
