//! The lies of a stand-in: each breaks one promise of its contract, so that whoever checks promises can be checked.

use factum_contract::{Contract, RepeatTerms};

/// A promise that a stand-in's contract makes and the stand-in does not keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lie {
    /// Keeps keys for a quarter of the time that it claims; for a quarter of an hour where it claims "for ever".
    ShortWindow,
    /// Does not look at the key: a repeat is a second effect.
    IgnoresKey,
    /// Says that it refuses the key of other content, and gives the first content's answer.
    IgnoresChangedBody,
    /// Says that it recognises the key whatever the content, and makes a new effect of other content.
    NewEffectOnChangedBody,
    /// Stores refusals and errors under the key, though it says that it does not.
    ReplaysErrors,
    /// Runs a request again that failed under its key, though it says that refusals or errors are stored.
    ForgetsErrors,
    /// Does not mark an answer that it plays again.
    NoReplayMark,
    /// A repeat that comes while the first is still running runs beside it.
    ConcurrentPairDoubles,
    /// Says that its lookup shows every effect at once, and shows them only after a while.
    LaggingStrongLookup,
    /// Leaves every second effect out of its lookups, the first one among them.
    IncompleteLookup,
    /// Says that each credential has keys of its own, and lets them share.
    WiderScope,
    /// Says that all credentials of the account share keys, and keeps them apart.
    NarrowerScope,
    /// Confirms a cancel by key, and does nothing.
    CancelDoesNothing,
}

impl Lie {
    /// Every lie once.
    pub const ALL: &[Lie] = &[
        Lie::ShortWindow,
        Lie::IgnoresKey,
        Lie::IgnoresChangedBody,
        Lie::NewEffectOnChangedBody,
        Lie::ReplaysErrors,
        Lie::ForgetsErrors,
        Lie::NoReplayMark,
        Lie::ConcurrentPairDoubles,
        Lie::LaggingStrongLookup,
        Lie::IncompleteLookup,
        Lie::WiderScope,
        Lie::NarrowerScope,
        Lie::CancelDoesNothing,
    ];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Lie::ShortWindow => "short-window",
            Lie::IgnoresKey => "ignores-key",
            Lie::IgnoresChangedBody => "ignores-changed-body",
            Lie::NewEffectOnChangedBody => "new-effect-on-changed-body",
            Lie::ReplaysErrors => "replays-errors",
            Lie::ForgetsErrors => "forgets-errors",
            Lie::NoReplayMark => "no-replay-mark",
            Lie::ConcurrentPairDoubles => "concurrent-pair-doubles",
            Lie::LaggingStrongLookup => "lagging-strong-lookup",
            Lie::IncompleteLookup => "incomplete-lookup",
            Lie::WiderScope => "wider-scope",
            Lie::NarrowerScope => "narrower-scope",
            Lie::CancelDoesNothing => "cancel-does-nothing",
        }
    }

    /// The lie of this name, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Lie> {
        Lie::ALL.iter().copied().find(|lie| lie.name() == name)
    }

    /// What it does, in one line for people.
    #[must_use]
    pub fn does(self) -> &'static str {
        match self {
            Lie::ShortWindow => "keeps keys for a quarter of the time that it claims",
            Lie::IgnoresKey => "does not look at the key",
            Lie::IgnoresChangedBody => {
                "gives the first answer to other content that it claims to refuse"
            }
            Lie::NewEffectOnChangedBody => "makes a new effect of other content under the same key",
            Lie::ReplaysErrors => "stores refusals and errors that it claims not to store",
            Lie::ForgetsErrors => "runs again what it claims to have stored as failed",
            Lie::NoReplayMark => "does not mark an answer that it plays again",
            Lie::ConcurrentPairDoubles => "runs a repeat beside the first request",
            Lie::LaggingStrongLookup => {
                "shows effects late in a lookup that it claims to be current"
            }
            Lie::IncompleteLookup => "leaves every second effect out of its lookups",
            Lie::WiderScope => "shares keys between credentials that it claims to keep apart",
            Lie::NarrowerScope => "keeps keys apart between credentials that it claims to share",
            Lie::CancelDoesNothing => "confirms a cancel by key, and does nothing",
        }
    }

    /// Whether the contract claims what the lie denies. A stand-in that tells any other lie behaves honestly.
    #[must_use]
    pub fn contradicts(self, contract: &Contract) -> bool {
        let terms = contract.key_terms();
        let repeat = terms.and_then(|terms| terms.repeat);
        let repeats = |holds: &dyn Fn(&RepeatTerms) -> bool| repeat.as_ref().is_some_and(holds);
        let apart = ["credential", "device", "user_app", "app", "user", "author"];
        let per_credential =
            |terms: &RepeatTerms| terms.scope.iter().any(|word| apart.contains(word));
        match self {
            Lie::ShortWindow | Lie::IgnoresKey => repeats(&|_| true),
            Lie::IgnoresChangedBody => repeats(&|terms| terms.other_content == "refused"),
            Lie::NewEffectOnChangedBody => {
                repeats(&|terms| ["refused", "first_result"].contains(&terms.other_content))
            }
            Lie::ReplaysErrors => repeats(&|terms| !terms.stored[1] || !terms.stored[2]),
            Lie::ForgetsErrors => repeats(&|terms| terms.stored[1] || terms.stored[2]),
            Lie::NoReplayMark => contract.far_side().marks_replays(),
            Lie::ConcurrentPairDoubles => repeats(&|terms| terms.concurrent != "unstated"),
            Lie::LaggingStrongLookup => contract.far_side().lookup_is_strong(),
            Lie::IncompleteLookup => contract.lookup_by().is_some(),
            Lie::WiderScope => repeats(&per_credential),
            Lie::NarrowerScope => {
                repeats(&|terms| !terms.scope.is_empty() && !per_credential(terms))
            }
            Lie::CancelDoesNothing => contract.promises().cancel.is_some(),
        }
    }
}
