//! When the engine is killed. Everything follows from the seed.

use factum_faults::Chance;

/// When the engine is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// Once so many submissions have been answered.
    Answered(usize),
    /// Once so many actions rest, or so long after the last kill, in milliseconds.
    Resting(usize, u64),
}

/// The moments at which it is killed: at least three, seven for two thousand actions, during submission and afterwards.
pub(super) fn moments(actions: usize, seed: u64) -> Vec<Moment> {
    let kills = (3 + actions / 500).min(10);
    let early = kills.div_ceil(2).max(2);
    let mut chance = Chance::new(seed, "kills", 0);
    let mut answered: Vec<usize> = (0..early)
        .map(|n| {
            // One within each slice of the submissions, so that they lie apart.
            let slice = (actions / early).max(1);
            n * slice + below(&mut chance, slice)
        })
        .collect();
    answered.sort_unstable();
    let late = (0..kills - early)
        .map(|_| Moment::Resting(below(&mut chance, actions.max(1)), 700 + chance.below(900)));
    let late: Vec<Moment> = late.collect();
    answered
        .into_iter()
        .map(Moment::Answered)
        .chain(late)
        .collect()
}

fn below(chance: &mut Chance, bound: usize) -> usize {
    usize::try_from(chance.below(bound as u64)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kills_hit_the_submission_and_what_follows() {
        for (actions, least) in [(60, 3), (200, 3), (2000, 7)] {
            let moments = moments(actions, 1);
            let early = moments
                .iter()
                .filter(|moment| matches!(moment, Moment::Answered(n) if *n < actions))
                .count();
            assert!(
                moments.len() >= least && early >= 2 && early < moments.len(),
                "{actions}: {moments:?}"
            );
        }
    }
}
