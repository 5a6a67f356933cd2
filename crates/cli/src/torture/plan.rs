//! What is done to the engine, and in which order. Everything follows from the seed.

use std::time::Duration;

use factum_faults::Chance;

/// One thing that is done to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blow {
    /// SIGKILL, whenever it comes.
    Kill,
    /// SIGKILL by itself, the n-th time that it comes to a named crash point.
    CrashPoint(&'static str, u64),
    /// SIGKILL while the destination holds the answer to a written request (C5).
    Unanswered,
    /// SIGSTOP for so long, then SIGCONT.
    Stop(Duration),
    /// SIGTERM, and a new start.
    Restart,
    /// An older copy of the store is put in place of the newer.
    OldCopy,
    /// An older copy with everything beside it, and an operator who says so.
    OldFolder,
    /// The disk is full for a while.
    FullDisk,
    /// The write-ahead log is cut off somewhere.
    CutLog,
    /// A byte of the write-ahead log is changed.
    SpoiltLog,
    /// A byte of a row is changed.
    SpoiltRow,
    /// A page of the file is overwritten.
    SpoiltPage,
    /// A byte of the counter beside the file is changed.
    SpoiltCounter,
}

/// The crash points that code of the engine's own reaches. C5 lies in the destination's time.
const CRASH_POINTS: [&str; 6] = ["C1", "C2", "C3", "C4", "C6", "C7"];
/// Between two blows at least, and at most, in milliseconds.
const BETWEEN: (u64, u64) = (200, 900);

/// What is possible in this run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Means {
    /// The build has crash points.
    pub(super) crash_points: bool,
    /// The store is a file of ours, which can be put back, broken, and left without room.
    pub(super) file: bool,
    /// The longest stop of a process.
    pub(super) stop_max: Duration,
}

/// One round: every kind of blow, shuffled. Of those that break the file, two take turns per round.
pub(super) fn round(seed: u64, number: u64, means: Means) -> Vec<Blow> {
    let mut chance = Chance::new(seed, "round", number);
    let mut blows = vec![Blow::Kill; 4];
    blows.push(Blow::Unanswered);
    blows.push(Blow::Restart);
    if means.crash_points {
        blows.extend(CRASH_POINTS.map(|point| Blow::CrashPoint(point, 1 + chance.below(4))));
    }
    let stops = if means.file { 2 } else { 4 };
    let longest = u64::try_from(means.stop_max.as_millis()).unwrap_or(u64::MAX);
    blows
        .extend((0..stops).map(|_| Blow::Stop(Duration::from_millis(100 + chance.below(longest)))));
    if means.file {
        let turn = |of: &[Blow]| {
            of.get(usize::try_from(number).unwrap_or(0) % of.len())
                .copied()
        };
        blows.push(Blow::FullDisk);
        blows.extend(turn(&[Blow::OldCopy, Blow::OldFolder]));
        blows.extend(turn(&[Blow::CutLog, Blow::SpoiltLog]));
        blows.extend(turn(&[
            Blow::SpoiltRow,
            Blow::SpoiltPage,
            Blow::SpoiltCounter,
        ]));
    }
    for last in (1..blows.len()).rev() {
        let with = usize::try_from(chance.below(last as u64 + 1)).unwrap_or(0);
        blows.swap(last, with);
    }
    blows
}

/// How long the load runs undisturbed after a blow.
pub(super) fn between(chance: &mut Chance) -> Duration {
    Duration::from_millis(BETWEEN.0 + chance.below(BETWEEN.1 - BETWEEN.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: Means = Means {
        crash_points: true,
        file: true,
        stop_max: Duration::from_secs(4),
    };

    #[test]
    fn a_round_follows_from_the_seed_and_has_every_kind_of_blow() {
        assert_eq!(round(7, 0, FILE), round(7, 0, FILE));
        assert_ne!(round(7, 0, FILE), round(8, 0, FILE));
        let first = round(7, 0, FILE);
        let kills =
            |blow: &&Blow| matches!(blow, Blow::Kill | Blow::CrashPoint(..) | Blow::Unanswered);
        assert!(first.iter().filter(kills).count() >= 10, "{first:?}");
        for one in [Blow::FullDisk, Blow::OldCopy, Blow::CutLog, Blow::SpoiltRow] {
            assert!(first.contains(&one), "{one:?} in {first:?}");
        }
        let later: Vec<Blow> = (1..3).flat_map(|no| round(7, no, FILE)).collect();
        for one in [
            Blow::OldFolder,
            Blow::SpoiltLog,
            Blow::SpoiltPage,
            Blow::SpoiltCounter,
        ] {
            assert!(later.contains(&one), "{one:?} in {later:?}");
        }
    }

    #[test]
    fn a_database_server_is_left_alone() {
        let blows = round(
            7,
            0,
            Means {
                file: false,
                ..FILE
            },
        );
        let files = [Blow::FullDisk, Blow::OldCopy, Blow::CutLog, Blow::SpoiltRow];
        assert!(!blows.iter().any(|blow| files.contains(blow)), "{blows:?}");
    }
}
