//! Whether the simulator would notice: every mistake of the list made on purpose, and within how many seeds a law breaks.

use factum_core::mistake::{Mistake, making};

use super::{Options, Simulator};

/// The mistakes that the simulator has to notice, and within how many seeds: those in the engine, the store and the keys, which the
/// model has no hand in, and of the core's those that show in the engine within few seeds.
const MISTAKES: &[(Mistake, u64)] = &[
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
    (Mistake::LeftByTheDeadForgotten, 2_000),
    (Mistake::DeclinedIsDone, 300),
    (Mistake::JoinMissed, 300),
    (Mistake::AcceptedIsDone, 300),
    (Mistake::TimeoutIsFailure, 300),
    (Mistake::GoneIsNotSent, 1_000),
    (Mistake::RestoreNotHeld, 1_000),
    (Mistake::RestoredIsFirst, 1_000),
    (Mistake::DeletedIsAbsent, 500),
    (Mistake::PartialIsAuthoritative, 500),
    (Mistake::QueuedIsAbsent, 1_000),
    (Mistake::RefusalClearsEarlier, 1_000),
    (Mistake::SentAfterWithdrawal, 1_000),
    (Mistake::AbsenceBeforeItLands, 1_000),
    (Mistake::PositionDecides, 1_000),
    (Mistake::TwinsAtOnce, 1_000),
    (Mistake::TwinGuardLapses, 1_000),
    (Mistake::ApprovalCoversEveryContract, 2_000),
    (Mistake::MarkReadBack, 2_000),
    (Mistake::ReportSpeaksForTheLatest, 2_000),
    (Mistake::LateReportDropped, 1_000),
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

/// Within how many seeds the simulator has to notice this one; `None` where it need not.
#[must_use]
pub fn seeds_for(mistake: Mistake) -> Option<u64> {
    let row = MISTAKES.iter().find(|(named, _)| *named == mistake);
    row.map(|(_, within)| *within)
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
}
