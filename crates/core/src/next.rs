//! The next step: what the engine will do about an action, when, and why. A pure function of (intent, evidence, conditions).

mod decider;
mod due;
mod offers;
mod times;

use std::fmt;

use crate::evidence::{Fact, PermissionKind, ReviewWhy};
use crate::id::{AttemptNo, Epoch};
use crate::intent::Intent;
use crate::known::Known;
use crate::promise::Promises;
use crate::time::Timestamp;

use self::decider::Decider;

/// What decisions rest on beside the intent and the evidence.
#[derive(Clone, Copy, Debug)]
pub struct Conditions<'a> {
    /// The store's time.
    pub now: Timestamp,
    /// The contract as it is now; the stricter of it and the pinned one counts for permissions.
    pub current: &'a Promises,
    /// An operator released the last restore of this store (R18); true where there was none.
    pub restore_released: bool,
    /// The clock stepped, or was never synchronised: no `same_key` (R11).
    pub clock_in_doubt: bool,
    /// The credential changed and the account is not confirmed: no `same_key` and no absence (R13).
    pub account_in_doubt: bool,
    /// A request was marked before the credential changed. Where a key is known per credential, it lies in another key space, and
    /// under the present credential what exists may not be seen (R13).
    pub credential_changed: bool,
    /// The destination has another base address than when the action was recorded: no absence and no cancel by key, and no
    /// `same_key` where the key is known per host (R13).
    pub place_changed: bool,
    /// A later action on the same subject exists: a repeat could undo newer work (R14).
    pub subject_overtaken: bool,
}

/// What the engine will do, when, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Next {
    /// What.
    pub step: Step,
    /// When; for [`Step::None`] and [`Step::Review`] the time means nothing.
    pub at: Timestamp,
    /// Why.
    pub why: Why,
}

/// What the engine can do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Send an effect request.
    Send(SendPlan),
    /// Ask the destination whether the effect exists.
    LookUp,
    /// Ask how the queued work of this attempt stands.
    Poll {
        /// The attempt that was accepted.
        attempt: AttemptNo,
    },
    /// Withdraw whatever exists under the key of this epoch.
    CancelByKey {
        /// The key's version.
        epoch: Epoch,
    },
    /// Wait for word of a request, a callback or an instant.
    Wait,
    /// A person decides.
    Review(ReviewWhy),
    /// Nothing.
    None,
}

/// How the next effect request would be sent. A plan is no permission: see [`crate::permit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendPlan {
    /// By what right.
    pub kind: PermissionKind,
    /// Under which version of the provider key.
    pub epoch: Epoch,
    /// The first byte must leave before this.
    pub not_after: Timestamp,
}

/// Why the next step is what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Nothing was ever sent.
    NeverSent,
    /// The caller asked not to send before this.
    NotBefore,
    /// It is proven that nothing has happened so far.
    NothingHappenedYet,
    /// The destination recognises the key, so a repeat makes no second effect.
    KeyRecognised,
    /// A repeat has no further effect.
    RepeatIsHarmless,
    /// A person or a preference accepted the risk of a duplicate.
    RiskAccepted,
    /// The answer was lost; the destination is asked whether the effect exists.
    AnswerLost,
    /// Absence counts once the request can no longer land and the lookup's lag is over.
    AbsenceCountsLater,
    /// A person asked for another look.
    CheckAgain,
    /// The destination queued it.
    Queued,
    /// The destination queued it and will call back.
    CallbackExpected,
    /// It may have happened, and the destination promises to report it by itself.
    CallbackOfUnknown,
    /// Whatever exists under the key is withdrawn first.
    WithdrawFirst,
    /// An earlier cancel was not answered.
    CancelUnanswered,
    /// A request is in flight.
    InFlight,
    /// A person said that it did not happen, and a request could still land.
    VerdictTakesHoldLater,
    /// The store was restored from a copy; an operator has to release it.
    RestoreHeld,
    /// A person is needed.
    Person(ReviewWhy),
    /// A person works on it.
    Taken,
    /// It is settled.
    Settled,
    /// The search was ended without an answer.
    Closed,
    /// The preference `prefer_missing` ends the search.
    PreferMissing,
}

impl Step {
    /// The word that every interface uses.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Send(_) => "send",
            Self::LookUp => "look_up",
            Self::Poll { .. } => "poll",
            Self::CancelByKey { .. } => "cancel_by_key",
            Self::Wait => "wait",
            Self::Review(_) => "review",
            Self::None => "none",
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NeverSent => "recorded and not sent yet",
            Self::NotBefore => "not to be sent before the time that the caller set",
            Self::NothingHappenedYet => "it is proven that nothing has happened so far",
            Self::KeyRecognised => "the destination recognises the key, so a repeat makes no second effect",
            Self::RepeatIsHarmless => "a repeat has no further effect",
            Self::RiskAccepted => "the risk of a duplicate was accepted for this action",
            Self::AnswerLost => "the answer was lost; the destination is asked whether the effect exists",
            Self::AbsenceCountsLater => {
                "not finding it counts only once the request can no longer land and the lookup's lag is over"
            }
            Self::CheckAgain => "a person asked for another look",
            Self::Queued => "the destination queued it and is asked how it stands",
            Self::CallbackExpected => "the destination queued it and will call back",
            Self::CallbackOfUnknown => "the destination is to report by itself whether it happened",
            Self::WithdrawFirst => "whatever exists under the key is withdrawn before anything is sent again",
            Self::CancelUnanswered => "the withdrawal was not answered and is asked for again",
            Self::InFlight => "a request is in flight",
            Self::VerdictTakesHoldLater => {
                "a person said that it did not happen; that takes hold once no request can land any more"
            }
            Self::RestoreHeld => "the store was restored from a copy; an operator has to release it before anything is sent",
            Self::Person(why) => why.sentence(),
            Self::Taken => "a person works on it",
            Self::Settled => "it is settled",
            Self::Closed => "the search was ended without an answer",
            Self::PreferMissing => "nothing can be found out, and a missing effect is preferred to a second one",
        })
    }
}

/// The promises that decisions rest on: the stricter of the pinned and the current contract, less what answers have shown to
/// be missing.
fn under(intent: &Intent, known: &Known, current: &Promises) -> Promises {
    intent.promises.stricter(current).without(known.missing())
}

/// What to do next, when, and why.
#[must_use]
pub fn decide(intent: &Intent, known: &Known, conditions: &Conditions) -> Next {
    let promises = under(intent, known, conditions.current);
    Decider::new(intent, known, conditions, &promises).next()
}

/// The record that the passing of time calls for now, if any: a lease over, a deadline passed, a bound reached, a review to
/// be opened. Time enters the state only through these.
#[must_use]
pub fn due_fact(intent: &Intent, known: &Known, conditions: &Conditions) -> Option<Fact> {
    let promises = under(intent, known, conditions.current);
    Decider::new(intent, known, conditions, &promises).due_fact()
}
