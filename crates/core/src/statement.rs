//! Which statement may be made about an action: a key per state and reason. The words themselves live outside the core.

use crate::mistake::{Mistake, made};
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

/// Why somebody who was told something has to be told more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Correction {
    /// A claim was made that the evidence does not support.
    Contradicted,
    /// What was open then is settled.
    News,
}

/// What a statement comes down to for whoever heard it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    /// It goes on: nothing is claimed for good.
    Open,
    Done,
    PerhapsTwice,
    Undone,
    NotDone,
    NeverKnown,
}

impl Correction {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Contradicted => "contradicted",
            Self::News => "news",
        }
    }
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

    fn meaning(self) -> Meaning {
        match self {
            Self::Recorded
            | Self::BeingSent
            | Self::AcceptedByThem
            | Self::AcceptedCheckedByPerson
            | Self::WillBeTriedAgain
            | Self::Held
            | Self::UnknownBeingChecked
            | Self::UnknownCheckedByPerson => Meaning::Open,
            Self::Done | Self::DoneAfterAll => Meaning::Done,
            Self::DonePerhapsTwice => Meaning::PerhapsTwice,
            Self::DoneAndReversed => Meaning::Undone,
            Self::NotDone | Self::Withdrawn | Self::NotInTime => Meaning::NotDone,
            Self::UnknownForGood => Meaning::NeverKnown,
        }
    }

    /// What somebody who was told this has to be told, if `now` is what the evidence supports. What counts is what stood at the
    /// version that was read, however late word of it arrives (R22).
    #[must_use]
    pub fn corrected_by(self, now: Self) -> Option<Correction> {
        let told = if made(Mistake::ToldWhenItArrives) {
            now
        } else {
            self
        };
        match (told.meaning(), now.meaning()) {
            (told, now) if told == now => None,
            (Meaning::Open, _) => Some(Correction::News),
            _ => Some(Correction::Contradicted),
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

#[cfg(test)]
mod tests {
    use StatementKey as S;

    use super::*;

    #[test]
    fn what_was_told_is_corrected_by_what_is_so() {
        use Correction::{Contradicted, News};
        for (told, now, correction) in [
            (S::Recorded, S::BeingSent, None),
            (S::BeingSent, S::UnknownBeingChecked, None),
            (S::UnknownBeingChecked, S::UnknownCheckedByPerson, None),
            (S::UnknownBeingChecked, S::Done, Some(News)),
            (S::AcceptedByThem, S::NotDone, Some(News)),
            (S::UnknownCheckedByPerson, S::UnknownForGood, Some(News)),
            (S::Done, S::DoneAfterAll, None),
            (S::Done, S::DonePerhapsTwice, Some(Contradicted)),
            (S::Done, S::DoneAndReversed, Some(Contradicted)),
            (S::Done, S::UnknownBeingChecked, Some(Contradicted)),
            (S::NotDone, S::NotInTime, None),
            (S::NotDone, S::DoneAfterAll, Some(Contradicted)),
            (S::Withdrawn, S::DoneAfterAll, Some(Contradicted)),
            (S::UnknownForGood, S::Done, Some(Contradicted)),
        ] {
            assert_eq!(told.corrected_by(now), correction, "{told:?} {now:?}");
        }
        for key in S::ALL {
            assert_eq!(key.corrected_by(key), None, "{key:?}");
            assert_eq!(S::from_name(key.name()), Some(key));
        }
    }

    /// R22: whoever dates what was told by when word of it arrived sees no contradiction.
    #[cfg(feature = "proof")]
    #[test]
    fn the_mistake_of_r22_hides_the_race() {
        use crate::mistake::making;

        let race = || S::NotDone.corrected_by(S::DoneAfterAll);
        assert_eq!(race(), Some(Correction::Contradicted));
        assert_eq!(making(Some(Mistake::ToldWhenItArrives), race), None);
    }
}
