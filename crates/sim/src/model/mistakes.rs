//! Where each deliberate mistake shows: the smallest setting that we know of, and the law that breaks first there.

use factum_core::mistake::{Mistake, making};
use factum_core::promise::Consequence;

use super::catalogue::{
    CANCEL, CANCEL_FOR_GOOD, KEY, SILENT_KEY, aliases, approved, busy, by_the_key, callers,
    calling, correcting, costly, deleted, disproved, ending, errors, far, few_questions, foreign,
    forgetting, key_and_lookup, proxied, races, restored, slow_store, stricter, twins, unpublished,
};
use super::search::{Found, explore};
use super::setup::{Offer, Setup};

/// Within so many worlds each of them is found.
pub const STATES_MAX: u64 = 1_500_000;

/// A setting in which a mistake shows.
#[derive(Clone, Debug)]
pub struct Shown {
    /// The setting; without the mistake every world of it keeps the laws.
    pub setup: Setup,
    /// The law that breaks first: "law 5".
    pub law: &'static str,
}

impl Shown {
    /// Explores the setting while the mistake is made, up to [`STATES_MAX`]: what was found, and the way there as a trace.
    #[must_use]
    pub fn explore_with(&self, mistake: Mistake) -> (Found, Option<String>) {
        making(Some(mistake), || {
            let found = explore(&self.setup, STATES_MAX);
            let trace = found.broken.as_ref().map(|way| way.trace(&self.setup));
            (found, trace)
        })
    }
}

/// Where the model shows this mistake; `None` where it is for the simulator, or a test of processes, to show.
#[must_use]
#[expect(
    clippy::too_many_lines,
    reason = "one row per mistake, as a table is read"
)]
pub fn shown(mistake: Mistake) -> Option<Shown> {
    use Mistake as M;
    let lookup = || costly(Offer::Lookup);
    let neither = || costly(Offer::Neither).tries(2, 0);
    let key = || costly(KEY).floor(6).until(6);
    let cancel = || costly(CANCEL).tries(2, 1).until(7);
    let for_good = || costly(CANCEL_FOR_GOOD).tries(2, 1).until(4);
    let law = |law, setup| Some(Shown { setup, law });
    match mistake {
        M::PermissionOutlivesLimit => law("law 7", neither()),
        M::LimitCountedFromMark
        | M::NetworkLeftOut
        | M::ProcessingLeftOut
        | M::PauseLeftOut
        | M::ConnectionEndedIsOver
        | M::LagLeftOut
        | M::AbsenceBeforeItLands => law("law 5", lookup()),
        M::WriteLimitLeftOut => law("law 5", lookup().slow_writes().until(6)),
        M::SkewLeftOut => law("law 5", lookup().skewed().until(6)),
        M::UnboundedWorkIsOver => law("law 5", unpublished(lookup())),
        M::DatedWhenStored => law(
            "law 5",
            lookup().with("slow lookups", |s| {
                s.slow_lookups = true;
                s.dated = true;
            }),
        ),
        M::FailedLookupIsAbsence => law(
            "law 5",
            lookup().may("a failed lookup", |b| b.failed_lookups = 1),
        ),
        M::RepeatBesideTheFirst => law("law 3", costly(SILENT_KEY).floor(9).until(6)),
        M::MarginLeftOut => law("law 7", key().tries(3, 0).until(9)),
        M::ApproximateIsFloor => law(
            "law 7",
            key()
                .promising("about twice as long", |p| {
                    if let Some(key) = &mut p.key {
                        key.retention =
                            factum_core::promise::Retention::Approximate(super::setup::ticks(12));
                    }
                })
                .until(8),
        ),
        M::CancelUnmarked => law("law 1", for_good().tries(1, 1)),
        M::ReceiptBesideCancel | M::CancelDoesNotOutrank => law("law 4", for_good()),
        M::StartIsArrival => law("law 7", far(key()).until(8)),
        M::WindowFromTheLatest => law("law 7", costly(KEY).floor(9).tries(3, 0).until(11)),
        M::CancelledEpochUsedAgain => law("law 6", busy(for_good()).until(5)),
        M::DeletedIsAbsent => law("law 5", deleted(costly(Offer::Partial)).until(6)),
        M::CancelOfAForgottenKey => {
            law("law 5", forgetting(costly(CANCEL).tries(1, 2), 9).until(12))
        }
        M::CancelBeforeItLands => law("law 5", cancel()),
        M::MachineSendsInReview => law(
            "law 6",
            key().may("the secret is swapped and back", |b| b.swaps = 2),
        ),
        M::TakenIsTouched => law("law 6", key().may("a hand", |b| b.hands = 1)),
        M::RefusalClearsEarlier => law("law 5", key().may("a refusal", |b| b.refusals = 1)),
        M::ProxyBelieved => law(
            "law 5",
            proxied(neither()).may("a refusal", |b| b.refusals = 1),
        ),
        M::AnyProofAllowsCalling => law("law 5", neither().may("a verdict", |b| b.verdicts = 1)),
        M::PartialIsAuthoritative => law("law 5", costly(Offer::Partial)),
        M::AnyHitIsOurs => law(
            "law 9",
            lookup().tries(1, 0).with("two actions", |s| s.actions = 2),
        ),
        M::QueuedIsAbsent => law("law 5", costly(Offer::Queue)),
        M::PositionDecides => law("law 5", lookup()),
        M::SentAfterDeadline => law("law 6", ending(key(), 1)),
        M::SentAfterWithdrawal => law("law 6", key().may("withdrawn", |b| b.withdrawals = 1)),
        M::SentWithoutAuthority => law("law 6", key().may("revoked", |b| b.revocations = 1)),
        M::WithdrawnUnknownForgotten => {
            law("law 8", neither().may("withdrawn", |b| b.withdrawals = 1))
        }
        M::AuthorityLostForgotten => law("law 8", neither().may("revoked", |b| b.revocations = 1)),
        M::BoundWithoutReview => law("law 8", key()),
        M::AttemptsUnbounded => law("law 6", key()),
        M::ClockInDoubtIgnored => law("law 6", key().may("the clock steps", |b| b.steps = 1)),
        M::AnchorAfterAnswer => law("law 7", slow_store(neither())),
        M::SuspendNotCounted => law("law 7", neither()),
        M::MarkReadBack => law("law 1", neither().crashes(1)),
        M::AccountInDoubtIgnored => {
            law("law 6", key().may("the secret is swapped", |b| b.swaps = 1))
        }
        M::SubjectOvertakenIgnored => law(
            "law 6",
            Setup::new(Consequence::Harmless, Offer::Neither)
                .tries(2, 0)
                .with("two actions on one subject", |s| {
                    s.actions = 2;
                    s.one_subject = true;
                }),
        ),
        M::VerdictIsProof => law("law 6", neither().may("a verdict", |b| b.verdicts = 1)),
        M::VerdictTakenEarly => law("law 5", neither().may("a verdict", |b| b.verdicts = 1)),
        M::RereadStrengthens => law("law 4", correcting(key())),
        M::RestoredIsFirst => law("law 5", restored(lookup())),
        M::RestoreNotHeld => law("law 6", restored(key())),
        M::EpochsNotMissing => law(
            "law 3",
            restored(
                few_questions(key_and_lookup())
                    .may("the clock steps and is set right", |b| b.steps = 2),
            )
            .until(4),
        ),
        M::KeyProofAfterRestore => law(
            "law 5",
            restored(few_questions(by_the_key(lookup()))).until(11),
        ),
        M::ArrivalFromTheCopy => law("law 7", restored(costly(KEY).floor(9)).until(11)),
        M::StoredErrorTriedAgain => law("law 6", errors(key())),
        M::AliasIsAnother => law("law 4", aliases(calling(lookup()))),
        M::NegativeCallbackForAll => law(
            "law 5",
            calling(costly(Offer::Queue))
                .may("a failure", |b| b.refusals = 1)
                .until(6),
        ),
        M::ApprovalEndIgnored => law("law 6", approved(key(), 1)),
        M::ForeignIsOurs => law("law 4", foreign(neither())),
        M::LeaseOverIsPending | M::TimeoutIsFailure => law("law 5", neither()),
        M::GoneIsNotSent => law("law 5", neither().crashes(1)),
        M::SettledIsFinal => law(
            "law 5",
            calling(neither()).may("a verdict", |b| b.verdicts = 1),
        ),
        M::AcceptedIsDone => law("law 4", costly(Offer::Queue)),
        M::OrderUsedTwice => law("law 6", neither().may("a verdict", |b| b.verdicts = 1)),
        M::PinnedAlone => law("law 3", stricter(key())),
        M::CommitNotFenced => law("law 6", races(neither()).until(3)),
        M::WrittenBeforeDurable => law("law 1", neither()),
        M::JoinMissed => law(
            "law 2",
            neither().may("submitted twice", |b| b.resubmissions = 1),
        ),
        M::JoinOutsideTransaction => law("law 2", callers(neither(), [0, 0])),
        M::TwinsAtOnce => law("law 2", twins(neither())),
        M::TwinGuardLapses => law("law 2", twins(neither())),
        M::OtherContentJoins => law("law 2", callers(neither(), [0, 1])),
        M::ReplayIsNew => law(
            "law 2",
            restored(callers(neither(), [0, 0])).may("submitted again", |b| b.resubmissions = 1),
        ),
        M::MissingIgnored => law("law 6", disproved(key()).tries(3, 0)),
        M::KeyOfContent => law(
            "law 9",
            key()
                .tries(1, 0)
                .until(3)
                .with("two actions", |s| s.actions = 2),
        ),
        // Kept where the model has no hand: the simulator, or a test of processes, has to show these.
        _ => None,
    }
}
