//! Whether the simulator would notice: every mistake of the list made on purpose, and within how many seeds a law breaks.

use factum_core::mistake::{Mistake, making};

use super::{Options, Simulator};

/// The mistakes in the engine, the store and the keys that the simulator has to notice, and within how many seeds. Those in
/// the core are the model's; the simulator notices many of them too.
pub const MISTAKES: &[(Mistake, u64)] = &[
    (Mistake::DoubtfulMarkSent, 300),
    (Mistake::EvidenceDroppedWhenStale, 300),
    (Mistake::ErrorForgets, 300),
    (Mistake::PlaceKept, 1_000),
    (Mistake::RestoreForgotten, 2_000),
    (Mistake::TenantLeftOut, 300),
    (Mistake::ReferenceShared, 300),
    (Mistake::KeyPerAttempt, 1_000),
    (Mistake::OtherContentJoins, 300),
    (Mistake::AcknowledgedUnwritten, 100),
    (Mistake::FirstPageIsAll, 2_000),
    (Mistake::EvidenceDoesNotFence, 2_000),
];

/// What became of one mistake.
#[derive(Clone, Debug)]
pub struct Noticed {
    /// Which.
    pub mistake: Mistake,
    /// How many seeds were tried at the most.
    pub within: u64,
    /// The first seed in which a law broke, and how.
    pub by: Option<(u64, super::Broken)>,
}

impl Simulator {
    /// Makes one mistake and runs seeds until a law breaks.
    #[must_use]
    pub fn notices(&self, mistake: Mistake, within: u64) -> Noticed {
        let found = (0..within).find_map(|seed| {
            let outcome = making(Some(mistake), || self.run(&Options::drawn(seed)));
            Some((seed, outcome.broken?))
        });
        Noticed {
            mistake,
            within,
            by: found,
        }
    }

    /// Makes every mistake of the list, one after the other.
    #[must_use]
    pub fn self_test(&self) -> Vec<Noticed> {
        let mistakes = MISTAKES.iter();
        mistakes
            .map(|(mistake, within)| self.notices(*mistake, *within))
            .collect()
    }
}
