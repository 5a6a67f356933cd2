//! A small exhaustive model over the real core: one action, two workers, a network that delays and loses, a destination with
//! its own count of effects. It re-models nothing of the core: every decision, permission and state is the core's.
//!
//! Residuals that are beyond any engine are excused by name and only as far as they were given: a person's wrong or early
//! verdict, a send that somebody ordered, a repeat that the contract calls harmless. A pause longer than its margin is not
//! explored.

mod destination;
mod laws;
mod moves;
mod search;
mod seen;
mod setup;
mod world;

use factum_core::Preference;
use factum_core::promise::Consequence;

use self::search::explore;
use self::seen::{Case, Seen};
use self::setup::{Mistake, Offer, Setup, tick};

const KEY: Offer = Offer::Key {
    joins_running: true,
};
const SILENT_KEY: Offer = Offer::Key {
    joins_running: false,
};
const CANCEL: Offer = Offer::Cancel { for_good: false };
const CANCEL_FOR_GOOD: Offer = Offer::Cancel { for_good: true };

/// Explores all of them; none may break a law. Prints how large each was and gives the cases that were reached.
#[expect(
    clippy::print_stdout,
    reason = "the size of each exploration is its report"
)]
fn hold(setups: Vec<Setup>) -> Seen {
    let mut seen = Seen::default();
    for setup in setups {
        let started = std::time::Instant::now();
        let found = explore(&setup);
        println!(
            "{:<60} {:>8} states {:>9} transitions {:?}",
            setup.name,
            found.states,
            found.transitions,
            started.elapsed()
        );
        if let Some(broken) = found.broken {
            panic!("{}", broken.trace(&setup));
        }
        seen = seen.and(found.seen);
    }
    seen
}

fn reached(seen: Seen, cases: &[Case]) {
    let missing: Vec<_> = cases.iter().filter(|case| !seen.has(**case)).collect();
    assert!(missing.is_empty(), "never reached: {missing:?}");
}

fn costly(offer: Offer) -> Setup {
    Setup::new(Consequence::Costly, offer)
}

#[test]
fn laws_hold_for_every_consequence_and_offer() {
    let offers = |consequence| match consequence {
        // Its repeats are limited by nothing else, which makes a queue of them large and shows nothing more.
        Consequence::Harmless => [
            KEY,
            SILENT_KEY,
            Offer::Lookup,
            CANCEL_FOR_GOOD,
            CANCEL,
            Offer::Partial,
            Offer::Neither,
        ]
        .to_vec(),
        Consequence::Reversible | Consequence::Costly | Consequence::Irreversible => [
            KEY,
            SILENT_KEY,
            Offer::Lookup,
            CANCEL_FOR_GOOD,
            CANCEL,
            Offer::Partial,
            Offer::Neither,
            Offer::Queue,
        ]
        .to_vec(),
    };
    let setup = |c, offer| Setup::new(c, offer).tries(2, 1).until(3);
    let all = Consequence::ALL.into_iter();
    hold(
        all.flat_map(|c| offers(c).into_iter().map(move |offer| setup(c, offer)))
            .collect(),
    );
}

#[test]
fn laws_hold_by_key() {
    let key = || costly(KEY).floor(6);
    let seen = hold(vec![
        key().crashes(1).until(8),
        key().tries(3, 0).until(3),
        costly(SILENT_KEY).tries(3, 0).crashes(1).until(9),
        key().until(4).with("a refusal", |s| s.budget.refusals = 1),
        key().until(4).with("a stored refusal", |s| {
            s.budget.refusals = 1;
            s.real.stores_refusals = true;
        }),
        key()
            .until(4)
            .with("an unreadable answer", |s| s.budget.unreadable = 1),
        key()
            .until(4)
            .with("withdrawn", |s| s.budget.withdrawals = 1),
        key()
            .until(5)
            .with("a deadline", |s| s.told.deadline = Some(tick(2))),
        key().until(2).with("a race", |s| s.races = true),
        key()
            .until(1)
            .crashes(1)
            .tries(1, 0)
            .with("a race", |s| s.races = true),
    ]);
    reached(
        seen,
        &[
            Case::ResendJoinedByKey,
            Case::RepeatWhileRunning,
            Case::LateReplySettled,
            Case::LandedAfterLeaseOver,
            Case::PausedBetweenCheckAndWrite,
            Case::PermissionHadRunOut,
            Case::StaleCommitRefused,
            Case::CrashedBeforeMark,
            Case::CrashedBeforeWrite,
            Case::AnswerReadNotStored,
            Case::LaterRefusalBesideFlight,
            Case::Withdrawn,
            Case::Expired,
            Case::InReview,
        ],
    );
}

#[test]
fn laws_hold_by_lookup() {
    let lookup = || costly(Offer::Lookup).until(6);
    let seen = hold(vec![
        lookup().crashes(1),
        lookup().with("a failed lookup", |s| s.budget.failed_lookups = 1),
        lookup()
            .until(5)
            .with("slow lookups", |s| s.slow_lookups = true),
        lookup()
            .until(5)
            .with("withdrawn", |s| s.budget.withdrawals = 1),
        lookup()
            .until(5)
            .with("a refusal", |s| s.budget.refusals = 1),
        lookup().until(5).with("late records", |s| s.lazy = true),
        costly(Offer::Queue)
            .until(3)
            .with("a failure", |s| s.budget.refusals = 1),
        costly(Offer::Partial)
            .until(5)
            .with("a verdict", |s| s.budget.verdicts = 1),
    ]);
    reached(
        seen,
        &[
            Case::LateReplySettled,
            Case::LandedAfterLookup,
            Case::LandedAfterLeaseOver,
            Case::StaleLookup,
            Case::FoundByLookup,
            Case::SentAfterProvenAbsence,
            Case::QueuedThenDone,
            Case::QueuedThenFailed,
            Case::Ruled,
        ],
    );
}

#[test]
fn laws_hold_by_cancel() {
    let irreversible = || Setup::new(Consequence::Irreversible, CANCEL_FOR_GOOD).tries(1, 1);
    let seen = hold(vec![
        costly(CANCEL_FOR_GOOD).tries(2, 1).until(4),
        costly(CANCEL_FOR_GOOD).tries(1, 2).until(3),
        costly(CANCEL).tries(2, 1).until(6),
        costly(CANCEL).tries(1, 2).until(6),
        irreversible()
            .until(3)
            .with("withdrawn", |s| s.budget.withdrawals = 1),
        irreversible()
            .until(2)
            .with("a verdict", |s| s.budget.verdicts = 1),
    ]);
    reached(
        seen,
        &[
            Case::CancelWithdrew,
            Case::CancelCameTooLate,
            Case::CancelAnswerLost,
            Case::CancelBeforeArrival,
            Case::RefusedForGood,
            Case::SentAfterProvenAbsence,
            Case::LateReplySettled,
            Case::Withdrawn,
        ],
    );
}

#[test]
fn laws_hold_where_people_decide() {
    let neither = || costly(Offer::Neither).tries(2, 0);
    let reversible = |preference: Preference| {
        let setup = Setup::new(Consequence::Reversible, Offer::Neither);
        setup
            .until(4)
            .with("a preference", |s| s.told.preference = preference)
    };
    let by = || "ops, ticket 12".to_owned();
    let seen = hold(vec![
        neither()
            .until(3)
            .with("verdicts", |s| s.budget.verdicts = 2),
        // Long enough for an early verdict to take hold.
        neither()
            .tries(1, 0)
            .until(5)
            .with("a verdict", |s| s.budget.verdicts = 1),
        neither()
            .crashes(1)
            .until(3)
            .with("a verdict", |s| s.budget.verdicts = 1),
        neither().until(3).with("a race", |s| s.races = true),
        reversible(Preference::PreferMissing { by: by() }),
        reversible(Preference::PreferDuplicate { by: by() }),
    ]);
    reached(
        seen,
        &[
            Case::Ruled,
            Case::OrderedSend,
            Case::InReview,
            Case::ClosedUnknown,
            Case::StaleCommitRefused,
        ],
    );
}

/// A mistake, a world that shows it, and the law that breaks first there.
fn mistakes() -> Vec<(Mistake, Setup, &'static str)> {
    use Mistake as M;
    let lookup = || costly(Offer::Lookup);
    let neither = || costly(Offer::Neither);
    vec![
        (M::ConnectionEndIsOver, lookup(), "law 5"),
        (M::PauseLeftOut, lookup(), "law 5"),
        (M::NetworkLeftOut, lookup(), "law 5"),
        (M::ProcessingLeftOut, lookup(), "law 5"),
        (M::PermissionOutlivesLimit, neither(), "law 7"),
        (M::LeaseOverIsPending, neither(), "law 5"),
        (M::TimeoutIsFailure, neither(), "law 5"),
        (
            M::DatedWhenStored,
            lookup().with("slow", |s| s.slow_lookups = true),
            "law 5",
        ),
        (M::LagLeftOut, lookup(), "law 5"),
        (
            M::FailedLookupIsAbsence,
            lookup().with("failing", |s| s.budget.failed_lookups = 1),
            "law 5",
        ),
        (
            M::RepeatBesideTheFirst,
            costly(SILENT_KEY).until(6),
            "law 3",
        ),
        (M::WindowOver, costly(KEY).floor(6).until(6), "law 7"),
        (
            M::CancelUnmarked,
            costly(CANCEL_FOR_GOOD).tries(1, 1).until(3),
            "law 4",
        ),
        (M::CancelTakenForGood, costly(CANCEL).tries(1, 1), "law 5"),
        (
            M::RefusalClearsEarlier,
            costly(KEY)
                .until(3)
                .with("refusing", |s| s.budget.refusals = 1),
            "law 5",
        ),
        (M::PartialIsAuthoritative, costly(Offer::Partial), "law 5"),
        (
            M::VerdictIsProof,
            neither().with("a verdict", |s| s.budget.verdicts = 1),
            "law 3",
        ),
        (
            M::CommitNotFenced,
            neither().until(3).with("a race", |s| s.races = true),
            "law 3",
        ),
    ]
}

#[test]
fn every_deliberate_mistake_is_caught() {
    for (mistake, setup, law) in mistakes() {
        let setup = setup.mistaken(mistake);
        let found = explore(&setup);
        let Some(broken) = found.broken else {
            panic!("{mistake:?} was not caught in {} states", found.states)
        };
        let trace = broken.trace(&setup);
        println!("after {} states, {trace}\n", found.states);
        assert!(
            broken.law.starts_with(law),
            "{mistake:?} was to break {law}: {trace}"
        );
    }
}

#[test]
fn the_same_worlds_hold_without_the_mistake() {
    hold(mistakes().into_iter().map(|(_, setup, _)| setup).collect());
}
