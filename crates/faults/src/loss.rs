//! The mix behind `loss`: answers that go missing in all the ways that the field reports know.
//!
//! Per effect request the sum of all faults drawn here has the probability p, in these shares (of 100):
//!
//! | share | fault | share | fault |
//! | --- | --- | --- | --- |
//! | 12 | `close_fin` | 5 each | `status` 500, 502, 503, 504 |
//! | 12 | `close_rst` | 6 | `delayed_commit` |
//! | 8 | `cut_head` | 6 | `close_after_read` |
//! | 8 | `cut_body` | 4 | `close_unread` |
//! | 6 | `late_answer` | 2 | `hang_in_accept` |
//! | 6 | `empty_2xx` | 2 each | `busy_before` 503, 429 |
//! | 6 | `garbage` | | |
//!
//! Besides, each new connection is refused (`refuse`) with p / 20. Lookups, polls and cancels are hit with p / 4, by
//! faults that only lose, spoil or postpone their answer. Duplicate deliveries, redirects and definite refusals are not
//! part of the mix: they are no lost answers; rules of their own bring them in.

use crate::chance::Chance;
use crate::fault::Fault;
use crate::plan::Class;

/// Default of the mix for [`Fault::LateAnswer`]: longer than the patience of the demonstration's contracts.
pub const LATE_ANSWER_MS: u64 = 1_500;
/// Default of the mix for [`Fault::HangInAccept`].
pub const HANG_MS: u64 = 1_500;
/// Default of the mix for [`Fault::DelayedCommit`]: contracts used with the mix state a longer processing time.
pub const DELAYED_COMMIT_MS: u64 = 400;

/// The durations inside the mix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Durations {
    pub(crate) late: u64,
    pub(crate) hang: u64,
    pub(crate) delay: u64,
}

impl Durations {
    pub(crate) const DEFAULT: Durations = Durations {
        late: LATE_ANSWER_MS,
        hang: HANG_MS,
        delay: DELAYED_COMMIT_MS,
    };
}

/// The probability in millionths that the mix hits a request of `class`, where effects are hit with `p`.
pub(crate) fn probability(class: Class, p: u32) -> u32 {
    match class {
        Class::Effect => p,
        Class::Lookup | Class::Poll | Class::Cancel => p / 4,
        Class::Connection => p / 20,
        // Reports are lost by rules of their own: the mix is of answers.
        Class::Callback | Class::Other => 0,
    }
}

/// One fault of the mix for a request of `class` that is hit.
pub(crate) fn pick(class: Class, durations: Durations, chance: &mut Chance) -> Fault {
    match class {
        Class::Effect => weighted(&effect_mix(durations), chance),
        Class::Lookup | Class::Poll | Class::Cancel => weighted(READ_MIX, chance),
        Class::Connection => Fault::Refuse,
        Class::Callback | Class::Other => Fault::None,
    }
}

fn effect_mix(durations: Durations) -> [(u64, Fault); 17] {
    [
        (12, Fault::CloseFin),
        (12, Fault::CloseRst),
        (8, Fault::CutHead),
        (8, Fault::CutBody),
        (6, Fault::LateAnswer { ms: durations.late }),
        (6, Fault::Empty2xx),
        (6, Fault::Garbage),
        (5, Fault::Status { code: 500 }),
        (5, Fault::Status { code: 502 }),
        (5, Fault::Status { code: 503 }),
        (5, Fault::Status { code: 504 }),
        (
            6,
            Fault::DelayedCommit {
                ms: durations.delay,
            },
        ),
        (6, Fault::CloseAfterRead),
        (4, Fault::CloseUnread),
        (2, Fault::HangInAccept { ms: durations.hang }),
        (2, Fault::BusyBefore { code: 503 }),
        (2, Fault::BusyBefore { code: 429 }),
    ]
}

const READ_MIX: &[(u64, Fault)] = &[
    (20, Fault::CloseFin),
    (10, Fault::CloseRst),
    (10, Fault::CutHead),
    (15, Fault::CutBody),
    (20, Fault::Status { code: 500 }),
    (10, Fault::Status { code: 503 }),
    (15, Fault::TooMany429),
];

fn weighted(mix: &[(u64, Fault)], chance: &mut Chance) -> Fault {
    let total = mix.iter().map(|(weight, _)| weight).sum();
    let mut drawn = chance.below(total);
    for (weight, fault) in mix {
        if drawn < *weight {
            return *fault;
        }
        drawn -= weight;
    }
    Fault::None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn the_shares_add_up_to_a_hundred() {
        let sum = |mix: &[(u64, Fault)]| mix.iter().map(|(weight, _)| weight).sum::<u64>();
        assert_eq!(sum(&effect_mix(Durations::DEFAULT)), 100);
        assert_eq!(sum(READ_MIX), 100);
    }

    #[test]
    fn every_fault_of_the_mix_comes_up_roughly_in_its_share() {
        let mut seen: BTreeMap<Fault, u64> = BTreeMap::new();
        for n in 0..10_000 {
            let mut chance = Chance::new(1, "mix", n);
            *seen
                .entry(pick(Class::Effect, Durations::DEFAULT, &mut chance))
                .or_default() += 1;
        }
        for (weight, fault) in effect_mix(Durations::DEFAULT) {
            let count = seen[&fault];
            let expected = weight * 100;
            assert!(
                count.abs_diff(expected) < expected / 4,
                "{fault}: {count} of about {expected}"
            );
        }
    }

    #[test]
    fn reads_are_never_hit_by_a_fault_that_changes_whether_something_happens() {
        for (_, fault) in READ_MIX {
            assert_eq!(fault.acted(), crate::Acted::Yes, "{fault}");
        }
    }
}
