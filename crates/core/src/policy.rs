//! The one table of what to do about an unknown outcome: consequence × what the destination offers.
//!
//! Columns are tried from the left; the first that applies decides. A key whose window is over, whose send is barred, or
//! that only replays a stored error counts as absent. There is no wildcard arm: a new consequence or column does not compile
//! until somebody has decided what it means.

use crate::promise::Consequence;

/// What a destination offers, for this action, now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Column {
    /// It recognises our key, and a resend would arrive inside the window.
    KeyWithinWindow,
    /// A complete lookup whose absence can be relied on.
    AuthoritativeLookup,
    /// Whatever exists under our key can be withdrawn.
    CancelByKey,
    /// A lookup that lags by no stated bound, or leaves things out.
    PartialLookup,
    /// None of these.
    Neither,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Policy {
    /// Send again: a repeat makes no second effect.
    Resend,
    /// The same, only so often.
    ResendBounded,
    /// Ask; if nothing is there, send again.
    LookUpThenResend,
    /// Withdraw whatever exists, then send under a new key.
    CancelThenResend,
    /// Withdraw whatever exists, then a person decides.
    CancelThenReview,
    /// Ask; if nothing is shown, a person decides.
    LookUpThenReview,
    /// As the operation's preference says; by default a person decides.
    Preference,
    /// A person decides.
    Review,
}

impl Column {
    /// All five, from the left.
    pub const ALL: [Self; 5] = [
        Self::KeyWithinWindow,
        Self::AuthoritativeLookup,
        Self::CancelByKey,
        Self::PartialLookup,
        Self::Neither,
    ];

    /// The heading in the table.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::KeyWithinWindow => "key within window",
            Self::AuthoritativeLookup => "authoritative lookup",
            Self::CancelByKey => "cancel by key",
            Self::PartialLookup => "lagging or partial lookup",
            Self::Neither => "neither",
        }
    }
}

impl Consequence {
    /// All four, mildest first.
    pub const ALL: [Self; 4] = [
        Self::Harmless,
        Self::Reversible,
        Self::Costly,
        Self::Irreversible,
    ];

    /// The design's word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Harmless => "harmless",
            Self::Reversible => "reversible",
            Self::Costly => "costly",
            Self::Irreversible => "irreversible",
        }
    }
}

impl Policy {
    /// The words in the table.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Resend => "resend",
            Self::ResendBounded => "resend, bounded",
            Self::LookUpThenResend => "look up; absent → resend",
            Self::CancelThenResend => "cancel, then resend",
            Self::CancelThenReview => "cancel, then review",
            Self::LookUpThenReview => "look up; absent → review",
            Self::Preference => "the operation's preference, default review",
            Self::Review => "review",
        }
    }
}

/// What to do about an unknown outcome.
#[must_use]
pub fn after_unknown(consequence: Consequence, column: Column) -> Policy {
    use {Column as C, Consequence as Q, Policy as P};
    match (consequence, column) {
        (
            Q::Harmless,
            C::KeyWithinWindow | C::AuthoritativeLookup | C::CancelByKey | C::PartialLookup,
        ) => P::Resend,
        (Q::Harmless, C::Neither) => P::ResendBounded,

        (Q::Reversible | Q::Costly | Q::Irreversible, C::KeyWithinWindow) => P::Resend,
        (Q::Reversible | Q::Costly | Q::Irreversible, C::AuthoritativeLookup) => {
            P::LookUpThenResend
        }

        (Q::Reversible | Q::Costly, C::CancelByKey) => P::CancelThenResend,
        (Q::Irreversible, C::CancelByKey) => P::CancelThenReview,

        (Q::Reversible | Q::Costly | Q::Irreversible, C::PartialLookup) => P::LookUpThenReview,

        (Q::Reversible, C::Neither) => P::Preference,
        (Q::Costly | Q::Irreversible, C::Neither) => P::Review,
    }
}
