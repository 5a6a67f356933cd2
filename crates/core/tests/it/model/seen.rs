//! "Sometimes" marks: proof that the interesting cases were reached and not only allowed.

/// An interesting case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Case {
    ResendJoinedByKey,
    RepeatWhileRunning,
    LateReplySettled,
    LandedAfterLookup,
    LandedAfterLeaseOver,
    PausedBetweenCheckAndWrite,
    PermissionHadRunOut,
    StaleCommitRefused,
    AnswerReadNotStored,
    CrashedBeforeMark,
    CrashedBeforeWrite,
    SentAfterProvenAbsence,
    StaleLookup,
    FoundByLookup,
    CancelWithdrew,
    CancelCameTooLate,
    CancelAnswerLost,
    CancelBeforeArrival,
    RefusedForGood,
    LaterRefusalBesideFlight,
    QueuedThenDone,
    QueuedThenFailed,
    Withdrawn,
    Expired,
    Ruled,
    OrderedSend,
    InReview,
    ClosedUnknown,
}

/// Which cases were reached.
#[derive(Clone, Copy, Default)]
pub(crate) struct Seen(u32);

impl Seen {
    pub(crate) fn note(&mut self, case: Case) {
        self.0 |= 1 << (case as u32);
    }

    pub(crate) fn has(self, case: Case) -> bool {
        self.0 & (1 << (case as u32)) != 0
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
