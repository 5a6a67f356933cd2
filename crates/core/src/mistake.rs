//! Deliberate mistakes: plausible misreadings of the rules, each made in one place in builds with the feature `proof`, so that
//! the model and the simulator can show that they would notice. Without the feature [`made`] is a constant `false`, and
//! nothing of this is built.
//!
//! The line `made(Mistake::…)` stands where the rule is kept, in whichever crate keeps it.

/// Names a mistake, the rule that forbids it, and what it says in the words of that rule.
macro_rules! mistakes {
    ($($name:ident $rule:literal $words:literal)*) => {
        /// A plausible misreading of a rule. At most one is made at a time.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Mistake {
            $(
                #[doc = concat!($rule, ": ", $words, ".")]
                $name,
            )*
        }

        impl Mistake {
            /// All of them, by rule.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The mistake of this name, if there is one.
            #[must_use]
            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|mistake| mistake.name() == name)
            }

            /// Its name in reports.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)* }
            }

            /// The rule or law that it breaks.
            #[must_use]
            pub fn rule(self) -> &'static str {
                match self { $(Self::$name => $rule,)* }
            }

            /// What it does, in the rule's words.
            #[must_use]
            pub fn words(self) -> &'static str {
                match self { $(Self::$name => $words,)* }
            }
        }
    };
}

mistakes! {
    PermissionOutlivesLimit "R1" "the permission is not checked again before the first byte"
    LimitCountedFromMark "R1" "the limit is counted from the mark and not from the end of the permission"
    NetworkLeftOut "R1" "no time on the network in the bound"
    ProcessingLeftOut "R1" "no time of the destination's work in the bound"
    WriteLimitLeftOut "R1" "no time of writing in the bound"
    PauseLeftOut "R1" "the pause between check and write is not in the bound"
    SkewLeftOut "R1" "the difference between clocks is not in the bound"
    ConnectionEndedIsOver "R1" "the connection ended, so the request is taken to be over"
    UnboundedWorkIsOver "R1" "where no processing time is published, none is taken"
    DatedWhenStored "R2" "a lookup is dated when its answer is stored"
    LagLeftOut "R3" "the lookup's lag is left out"
    AbsenceBeforeItLands "R3" "absence counts although an attempt may still land"
    FailedLookupIsAbsence "R3" "a failed or cut lookup counts as an empty one"
    RepeatBesideTheFirst "R4" "a repeat runs beside the first although nothing is said about that"
    MarginLeftOut "R4" "the margin is smaller than the way from check to arrival"
    StartIsArrival "R4" "the window bounds the start of the request and not its arrival"
    WindowFromTheLatest "R4" "the window counts from the latest attempt and not from the first possible arrival"
    ApproximateIsFloor "R4" "an approximate retention is relied on as a floor"
    CancelUnmarked "R5" "a cancel by key leaves without its durable mark"
    ReceiptBesideCancel "R5" "a receipt settles while a cancel of its epoch is unanswered"
    CancelDoesNotOutrank "R5" "a receipt of a cancelled epoch counts"
    CancelledEpochUsedAgain "R5" "a resend goes under the cancelled epoch"
    CancelOfAForgottenKey "R5" "the window is over, the key forgotten, and `nothing there` is taken as proof"
    CancelBeforeItLands "R5" "a confirmed cancel is proof although an attempt may still land"
    MachineSendsInReview "R6" "the machine goes on while a person has been asked"
    TakenIsTouched "R6" "the machine sends while a person acts by hand"
    RefusalClearsEarlier "R7" "a refusal clears an attempt in flight"
    ProxyBelieved "R7" "a refusal is believed although the path may have delivered twice"
    AnyProofAllowsCalling "R7" "a weak proof says that a new identity is safe"
    PartialIsAuthoritative "R8" "a lookup that leaves things out is relied on for absence"
    AnyHitIsOurs "R8" "a hit counts that is not recognised as ours"
    DeletedIsAbsent "R8" "an object that was deleted before the lookup is taken for absence"
    QueuedIsAbsent "R8" "work that is still queued is taken for absence"
    PositionDecides "R9" "what was stored later is taken to have happened later"
    SentAfterDeadline "R10" "an effect request after the deadline"
    SentAfterWithdrawal "R10" "an effect request after the caller withdrew"
    SentWithoutAuthority "R10" "an effect request after the authority for it ended"
    WithdrawnUnknownForgotten "R10" "a withdrawn unknown that nothing can be asked about has no next step"
    AuthorityLostForgotten "R10" "an unknown whose authority ended has no next step"
    BoundWithoutReview "R10" "a bound is reached and nobody is asked"
    AttemptsUnbounded "R10" "the bound on attempts is not kept"
    ClockInDoubtIgnored "R11" "the key is relied on although the clock stepped"
    AnchorAfterAnswer "R11" "the store's time is anchored when its answer is read, however late"
    SuspendNotCounted "R11" "the time of a suspend is not counted"
    MarkReadBack "R12" "a mark that is read back is written for again"
    AccountInDoubtIgnored "R13" "key and absence are relied on although the secret was swapped"
    SubjectOvertakenIgnored "R14" "a late repeat undoes newer work"
    VerdictIsProof "R15" "a verdict is taken as proof, so that the machine sends again by itself"
    VerdictTakenEarly "R15" "a verdict is taken at once although an attempt may still land"
    RereadStrengthens "R17" "a corrected contract reads a stored answer as more than it was"
    RestoredIsFirst "R18" "what was submitted again after a restore is sent as new"
    EpochsNotMissing "R18" "an epoch that the copy does not know of is not reckoned with"
    KeyProofAfterRestore "R18" "after a restore, a cancel or lookup by key is proof"
    RestoreNotHeld "R18" "a restored store sends before an operator has released it"
    ArrivalFromTheCopy "R18" "the window counts from what the copy recorded"
    StoredErrorTriedAgain "R19" "a stored error is asked for again until the window ends"
    AliasIsAnother "R20" "two names of one effect are taken for two effects"
    NegativeCallbackForAll "R21" "a negative callback speaks for other work than it names"
    ToldWhenItArrives "R22" "what was told is taken for what stood when word of it arrived"
    MissingIgnored "R27" "a promise that an answer has disproved is relied on"
    ApprovalEndIgnored "R23" "an effect request after the approval ran out"
    DeclinedIsDone "R30" "what was declined, and recorded there, is taken as done"
    ForeignIsOurs "R31" "somebody else's content counts as ours"
    LeaseOverIsPending "law 5" "a lease that ran out over a mark is taken as never sent"
    TimeoutIsFailure "law 5" "a time-out is taken as a failure to send"
    GoneIsNotSent "law 5" "a mark of a dead process is taken as never sent"
    SettledIsFinal "law 5" "a receipt that comes after the failure was said is dropped"
    AcceptedIsDone "law 4" "accepted is taken as done"
    OrderUsedTwice "law 6" "a person's order is good for more than one send"
    PinnedAlone "law 6" "the contract's current, stricter form is not looked at"
    CommitNotFenced "law 6" "a decision is committed although the evidence has moved on"
    WrittenBeforeDurable "law 1" "bytes leave before the mark is durable"
    JoinMissed "law 2" "a submission that is repeated makes a second action"
    JoinOutsideTransaction "law 2" "whether an identity is known is asked before the transaction that records, and not in it"
    ReplayIsNew "law 2" "what comes again after a restore is recorded beside the action that the copy knows"
    KeyOfContent "law 9" "the provider key is made from the content and not from the identity"
    DoubtfulMarkSent "R32" "a mark whose commit was not confirmed is written for"
    EvidenceDroppedWhenStale "law 8" "evidence whose commit is refused as stale is dropped"
    ErrorForgets "law 8" "an action that the store could not hand out is never asked for again"
    PlaceKept "law 8" "a place at the gate is not given back when the mark is refused"
    RestoreForgotten "R18" "what a restore left is not said to be maybe sent"
    TenantLeftOut "law 9" "the tenant is not part of the identity"
    ReferenceShared "law 9" "two actions write one reference"
    KeyPerAttempt "law 3" "every attempt has a provider key of its own"
    OtherContentJoins "law 2" "the same identity joins whatever its content"
    AcknowledgedUnwritten "law 10" "a submission is answered before it is written"
    FirstPageIsAll "R3" "a lookup ends with its first page"
    EvidenceDoesNotFence "law 6" "recorded evidence does not raise the version that decisions are fenced by"
    LeftByTheDeadForgotten "law 8" "what a worker that died has left is not looked for"
    PartsUnescaped "R28" "the parts of a key that is made from a template are joined as they are"
    CopiedOutboxTaken "R25" "a copy of an outbox file is picked up like the first"
    BatchAnsweredAsWritten "R26" "what a batch was to write is handed out as durable although the batch was taken back"
    TwinsAtOnce "R16" "whether equal content is under way is asked before the transaction that records, and not in it"
    TwinGuardLapses "R16" "equal content holds its twin off for a time from its submission, also while it is unknown"
    ApprovalCoversEveryContract "R23" "an approval covers what is sent, whatever contract it was given under"
    ReportSpeaksForTheLatest "R9" "a worker's report speaks for the attempt that was marked last, and not for the one that its claim began"
    LateReportDropped "law 8" "a worker's report that comes after its lease ran out is dropped"
    BytesCountedByAnAnswer "R29" "bytes of a request count as written once something of an answer was read"
    ForgottenIsNew "R24" "an intent older than identities are kept is taken as new"
}

/// Whether this mistake is made here.
#[cfg(not(feature = "proof"))]
#[inline]
#[must_use]
pub const fn made(_: Mistake) -> bool {
    false
}

/// What a thread that is begun here is to do: it makes the mistakes of whoever began it.
#[cfg(not(feature = "proof"))]
pub fn carried<R>(deed: impl FnOnce() -> R) -> impl FnOnce() -> R {
    deed
}

#[cfg(feature = "proof")]
pub use self::switch::{carried, made, make_everywhere, making};

#[cfg(feature = "proof")]
mod switch {
    //! The switch: one per thread, and one for a process that is to make a mistake as long as it lives.

    use std::cell::Cell;
    use std::sync::OnceLock;

    use super::Mistake;

    thread_local! {
        static MADE: Cell<Option<Mistake>> = const { Cell::new(None) };
    }

    static EVERYWHERE: OnceLock<Mistake> = OnceLock::new();

    /// Whether this mistake is made on this thread, or in this process.
    #[inline]
    #[must_use]
    pub fn made(mistake: Mistake) -> bool {
        MADE.get() == Some(mistake) || EVERYWHERE.get() == Some(&mistake)
    }

    /// From now on this process makes this mistake, on every thread. Only the first one counts.
    pub fn make_everywhere(mistake: Mistake) {
        EVERYWHERE.get_or_init(|| mistake);
    }

    /// What a thread that is begun here is to do: it makes the mistakes of whoever began it.
    pub fn carried<R>(deed: impl FnOnce() -> R) -> impl FnOnce() -> R {
        let mistake = MADE.get();
        move || making(mistake, deed)
    }

    /// Does something while this mistake is made on this thread, or none.
    pub fn making<R>(mistake: Option<Mistake>, deed: impl FnOnce() -> R) -> R {
        struct Restore(Option<Mistake>);
        impl Drop for Restore {
            fn drop(&mut self) {
                MADE.set(self.0);
            }
        }
        let _restore = Restore(MADE.replace(mistake));
        deed()
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_mistake_is_made_inside_and_nowhere_else() {
            let here = || made(Mistake::LagLeftOut);
            assert!(!here());
            assert!(making(Some(Mistake::LagLeftOut), here));
            assert!(!making(Some(Mistake::PauseLeftOut), here));
            let begun = making(Some(Mistake::LagLeftOut), || carried(here));
            assert!(begun(), "in what was begun meanwhile");
            let _ = std::panic::catch_unwind(|| {
                making(Some(Mistake::LagLeftOut), || panic!("on purpose"))
            });
            assert!(!here(), "it ends with the deed, however that ends");
        }
    }
}
