//! "Sometimes" marks: proof that the interesting cases were reached and not only allowed.

macro_rules! cases {
    ($($name:ident $words:literal)*) => {
        /// An interesting case.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Case {
            $(
                #[doc = $words]
                $name,
            )*
        }

        impl Case {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// What happened.
            #[must_use]
            pub fn words(self) -> &'static str {
                match self { $(Self::$name => $words,)* }
            }
        }
    };
}

cases! {
    ResendJoinedByKey "a resend was recognised by its key"
    RepeatWhileRunning "a repeat met the first one at work"
    KeyForgotten "a key was forgotten"
    LateReplySettled "an answer settled after the lease had run out"
    AnswerOfASuperseded "an answer of an attempt came after the next was marked"
    LandedAfterLookup "an effect landed after a lookup had been answered"
    LandedAfterLeaseOver "an effect landed after the lease had run out"
    LandedAfterClose "an effect landed after the socket was closed"
    PausedBetweenCheckAndWrite "a process paused between check and write"
    StoreAnswerReadLate "the store's answer was read late"
    PermissionHadRunOut "a permission had run out before the first byte"
    StaleCommitRefused "a commit was refused because the evidence had moved on"
    CrashedBeforeMark "C3: a process died between claim and mark"
    CrashedBeforeWrite "C4: a process died between mark and write"
    CrashedBeforeAnswer "C5: a process died between write and answer"
    CrashedBeforeStoring "C6: a process died between answer and record"
    SubmittedAgain "C1, C7: a caller submitted again, and joined"
    SentAfterProvenAbsence "a send followed a proven absence"
    SentAfterProvenRefusal "a send followed proof that nothing had left or been done"
    SentHarmlessly "a harmless request was repeated"
    StaleLookup "a lookup did not show what was there, within its lag"
    FailedLookup "a lookup failed"
    FoundByLookup "a lookup found the effect"
    CancelWithdrew "a cancel withdrew the effect"
    CancelCameTooLate "a cancel came too late"
    CancelAnswerLost "the answer to a cancel was lost"
    CancelBeforeArrival "a cancel overtook its request"
    CancelAfterForgetting "a cancel met a forgotten key"
    NewEpoch "a send opened a new version of the key"
    RefusedForGood "a request was refused because its key was cancelled"
    RefusalBesideFlight "a refusal was answered while another request was on its way"
    StoredRefusal "a refusal was stored under the key"
    StoredError "a stored error was replayed"
    ForeignObject "an object of somebody else was in the way"
    DeliveredTwice "a proxy delivered a request twice"
    Queued "work was queued"
    QueuedThenDone "queued work took effect"
    QueuedThenFailed "queued work ended without effect"
    CalledBack "the destination called back"
    CalledBackLate "the destination called back after the action had settled"
    RecordedTwice "a record was stored a second time"
    Withdrawn "the caller withdrew"
    AuthorityLost "the authority ended"
    Expired "the deadline passed"
    ApprovalOver "the approval ran out"
    InReview "a person was asked"
    Ruled "a person ruled"
    RuledWrongly "a person was wrong"
    RuledEarly "a person ruled while something could still land"
    Contradicted "the destination contradicted a person"
    OrderedSend "a send was ordered"
    Taken "a person took the item"
    ByHand "a person acted by hand"
    CheckedAgain "a person asked for another look"
    ClosedUnknown "the search was ended"
    Corrected "a corrected contract read an answer again"
    Restored "an older copy of the store came back"
    LostSubmission "a restore lost the action itself"
    Resubmitted "a caller submitted again what a restore had lost"
    Released "an operator released a restore"
    ClockStepped "the store's clock stepped back"
    SecretSwapped "the secret was swapped for another account's"
    Deleted "somebody deleted the effect before it was looked up"
    TwinLanded "a second action with the same content had its own effect"
    TwinHeldOff "equal content under another identity was held off"
    TwinAfterTheGuard "a twin was recorded once its guard had run out over an effect"
    TwinOfNothing "a twin was recorded beside what is proven to have done nothing"
    CallersAtOnce "C1: a submission was checked before another caller's was recorded, and admitted after it"
    Conflicted "the same identity came with other content, and was refused"
    Unsupported "an answer showed that a promise does not hold"
    Overtaken "newer work on the same subject exists"
}

/// Which cases were reached.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cases(u128);

impl Cases {
    pub(crate) fn note(&mut self, case: Case) {
        self.0 |= 1 << (case as u32);
    }

    /// Whether this one was.
    #[must_use]
    pub fn has(self, case: Case) -> bool {
        self.0 & (1 << (case as u32)) != 0
    }

    /// Reached here or there.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The cases that were not reached.
    #[must_use]
    pub fn missing(self) -> Vec<Case> {
        Case::ALL
            .iter()
            .copied()
            .filter(|case| !self.has(*case))
            .collect()
    }
}
