//! Which statement may be made about an action: a key per state and reason. The words themselves live outside the core.

use crate::next::{Next, Step};
use crate::status::{State, Status};

/// What may be said, as a key into the message files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StatementKey {
    /// Recorded, not yet sent.
    Recorded,
    /// Being sent now.
    BeingSent,
    /// Accepted by them, not completed yet.
    AcceptedByThem,
    /// Accepted by them; a person finds out whether it was completed.
    AcceptedCheckedByPerson,
    /// Done.
    Done,
    /// Done, against what was said before.
    DoneAfterAll,
    /// Done, and perhaps twice.
    DonePerhapsTwice,
    /// Done, and undone since.
    DoneAndReversed,
    /// Not done yet, will be tried again.
    WillBeTriedAgain,
    /// Not done yet, and held until an operator or a person releases it.
    Held,
    /// Not done.
    NotDone,
    /// Not known yet; being checked by the system.
    UnknownBeingChecked,
    /// Not known yet; a person checks.
    UnknownCheckedByPerson,
    /// Can no longer be found out.
    UnknownForGood,
    /// Withdrawn; nothing was done.
    Withdrawn,
    /// Not done in time; nothing was done.
    NotInTime,
}

impl StatementKey {
    /// All of them.
    pub const ALL: [Self; 16] = [
        Self::Recorded,
        Self::BeingSent,
        Self::AcceptedByThem,
        Self::AcceptedCheckedByPerson,
        Self::Done,
        Self::DoneAfterAll,
        Self::DonePerhapsTwice,
        Self::DoneAndReversed,
        Self::WillBeTriedAgain,
        Self::Held,
        Self::NotDone,
        Self::UnknownBeingChecked,
        Self::UnknownCheckedByPerson,
        Self::UnknownForGood,
        Self::Withdrawn,
        Self::NotInTime,
    ];

    /// The statement that the evidence supports.
    #[must_use]
    pub fn of(status: &Status, next: &Next) -> Self {
        let by_person = matches!(next.step, Step::Review(_));
        match status.state {
            State::Pending if by_person => Self::Held,
            State::Pending => Self::Recorded,
            State::Dispatching => Self::BeingSent,
            State::Accepted if by_person => Self::AcceptedCheckedByPerson,
            State::Accepted => Self::AcceptedByThem,
            State::Succeeded if status.reversed => Self::DoneAndReversed,
            State::Succeeded if status.duplicate_suspected() => Self::DonePerhapsTwice,
            State::Succeeded if status.revised => Self::DoneAfterAll,
            State::Succeeded => Self::Done,
            State::RetryableFailure if by_person => Self::Held,
            State::RetryableFailure => Self::WillBeTriedAgain,
            State::TerminalFailure => Self::NotDone,
            State::OutcomeUnknown if status.closed.is_some() => Self::UnknownForGood,
            State::OutcomeUnknown if by_person => Self::UnknownCheckedByPerson,
            State::OutcomeUnknown => Self::UnknownBeingChecked,
            State::Cancelled => Self::Withdrawn,
            State::Expired => Self::NotInTime,
        }
    }

    /// The key of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|key| key.name() == name)
    }

    /// The name of the message.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Recorded => "recorded",
            Self::BeingSent => "being-sent",
            Self::AcceptedByThem => "accepted-by-them",
            Self::AcceptedCheckedByPerson => "accepted-checked-by-person",
            Self::Done => "done",
            Self::DoneAfterAll => "done-after-all",
            Self::DonePerhapsTwice => "done-perhaps-twice",
            Self::DoneAndReversed => "done-and-reversed",
            Self::WillBeTriedAgain => "will-be-tried-again",
            Self::Held => "held",
            Self::NotDone => "not-done",
            Self::UnknownBeingChecked => "unknown-being-checked",
            Self::UnknownCheckedByPerson => "unknown-checked-by-person",
            Self::UnknownForGood => "unknown-for-good",
            Self::Withdrawn => "withdrawn",
            Self::NotInTime => "not-in-time",
        }
    }

    /// Whether it may claim that the effect exists.
    #[must_use]
    pub fn claims_done(self) -> bool {
        match self {
            Self::Done | Self::DoneAfterAll | Self::DonePerhapsTwice | Self::DoneAndReversed => {
                true
            }
            Self::Recorded
            | Self::BeingSent
            | Self::AcceptedByThem
            | Self::AcceptedCheckedByPerson
            | Self::WillBeTriedAgain
            | Self::Held
            | Self::NotDone
            | Self::UnknownBeingChecked
            | Self::UnknownCheckedByPerson
            | Self::UnknownForGood
            | Self::Withdrawn
            | Self::NotInTime => false,
        }
    }

    /// Whether it may claim that nothing was done.
    #[must_use]
    pub fn claims_not_done(self) -> bool {
        match self {
            Self::Recorded
            | Self::WillBeTriedAgain
            | Self::Held
            | Self::NotDone
            | Self::Withdrawn
            | Self::NotInTime => true,
            Self::BeingSent
            | Self::AcceptedByThem
            | Self::AcceptedCheckedByPerson
            | Self::Done
            | Self::DoneAfterAll
            | Self::DonePerhapsTwice
            | Self::DoneAndReversed
            | Self::UnknownBeingChecked
            | Self::UnknownCheckedByPerson
            | Self::UnknownForGood => false,
        }
    }
}
