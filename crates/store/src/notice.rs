//! Notices: what outsiders are told has changed, numbered in one order that no reader can miss anything of.
//!
//! A notice is written in the transaction of the change itself. It says what changed and at which version, and nothing of how it
//! stands: whoever reads it looks that up. What lasts no longer than a request (`dispatching`), and what the submission's own answer
//! says (`pending`), is no news: an action that simply succeeds has one notice.

use factum_core::{State, Timestamp};

use crate::record::Record;
use crate::register::{Change, Kind};

/// What a notice is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Topic {
    /// An action came to this state.
    Stands(State),
    /// An action's state is the same, and something that belongs to it is not: revised, reversed, contradicted, a duplicate
    /// suspected, the search for it ended.
    Updated,
    /// A person is needed about an action.
    ReviewEntered,
    /// No person is needed any more.
    ReviewLeft,
    /// A conversation has to be told something, or something else than before.
    CorrectionDue,
    /// It has not any more: it was passed on, or the evidence supports what was told again.
    CorrectionOver,
    /// The time by which a customer was promised an answer has passed.
    AnswerLate,
    /// What waits for a person, at times.
    ReviewDigest,
}

/// The states whose coming is news.
const NEWS: [(State, &str); 7] = [
    (State::Accepted, "action.accepted"),
    (State::Succeeded, "action.succeeded"),
    (State::RetryableFailure, "action.retryable_failure"),
    (State::TerminalFailure, "action.terminal_failure"),
    (State::OutcomeUnknown, "action.outcome_unknown"),
    (State::Cancelled, "action.cancelled"),
    (State::Expired, "action.expired"),
];

/// The others.
const OTHERS: [(Topic, &str); 7] = [
    (Topic::Updated, "action.updated"),
    (Topic::ReviewEntered, "review.entered"),
    (Topic::ReviewLeft, "review.left"),
    (Topic::CorrectionDue, "correction.due"),
    (Topic::CorrectionOver, "correction.over"),
    (Topic::AnswerLate, "contact.late"),
    (Topic::ReviewDigest, "review.digest"),
];

/// The label of corrections that are due.
pub const CORRECTION_DUE: &str = "due";

impl Topic {
    /// All that there can be in a feed.
    pub fn all() -> impl Iterator<Item = Self> {
        let states = NEWS.iter().map(|(state, _)| Self::Stands(*state));
        states.chain(OTHERS.iter().map(|(topic, _)| *topic))
    }

    /// The word that is stored and shown.
    #[must_use]
    pub fn word(self) -> &'static str {
        let states = NEWS
            .iter()
            .map(|(state, word)| (Self::Stands(*state), *word));
        let mut all = states.chain(OTHERS);
        // A state that is no news has no word, and is never written.
        all.find(|(topic, _)| *topic == self)
            .map_or("", |(_, word)| word)
    }

    /// The topic of a word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::all().find(|topic| topic.word() == word)
    }

    /// Whether it is about an action itself, and its version is the action's.
    #[must_use]
    pub fn is_of_action(self) -> bool {
        match self {
            Self::Stands(_) | Self::Updated | Self::ReviewEntered | Self::ReviewLeft => true,
            Self::CorrectionDue | Self::CorrectionOver | Self::AnswerLate | Self::ReviewDigest => {
                false
            }
        }
    }

    /// What a change of the register is news of, if it is.
    pub(crate) fn of_change(change: &Change) -> Option<Self> {
        let due = || change.label.as_deref() == Some(CORRECTION_DUE);
        match change.key.kind {
            Kind::Correction if due() => Some(Self::CorrectionDue),
            Kind::Correction => Some(Self::CorrectionOver),
            Kind::Escalation => Some(Self::AnswerLate),
            Kind::Digest => Some(Self::ReviewDigest),
            Kind::Tenant
            | Kind::Principal
            | Kind::Grant
            | Kind::Token
            | Kind::Destination
            | Kind::Usage
            | Kind::Told
            | Kind::Verdict
            | Kind::Endpoint
            | Kind::Delivery
            | Kind::Proposal
            | Kind::Proposed
            | Kind::Hold
            | Kind::Session => None,
        }
    }
}

/// One change that outsiders are told about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Its number: from 1, without gaps, in an order in which an action's versions rise.
    pub no: u64,
    /// When.
    pub at: Timestamp,
    /// Whose.
    pub tenant: String,
    /// What it is.
    pub topic: Topic,
    /// What it is about: an action's id, or the id of an entry of the register.
    pub about: String,
    /// The version of the action or the entry that it speaks of.
    pub version: u64,
    /// How much evidence the action had at that version; 0 of an entry.
    pub records: u64,
}

/// Notices behind a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notices {
    /// Oldest first. Damaged ones are left out.
    pub notices: Vec<Notice>,
    /// Everything up to this number was looked at: what comes next lies behind it.
    pub through: u64,
    /// The number before the oldest that is kept. Whoever has read less has missed something.
    pub forgotten: u64,
    /// The last number that is given.
    pub last: u64,
}

/// What can be told apart about an action by looking at its status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Glance {
    state: State,
    marks: (bool, bool, bool, bool, bool),
    waits: bool,
}

impl Glance {
    pub(crate) fn of(record: &Record) -> Self {
        let status = record.status();
        Self {
            state: status.state,
            marks: (
                status.revised,
                status.reversed,
                status.contradicted,
                !status.duplicates.is_empty(),
                status.closed.is_some(),
            ),
            waits: record.known.waits_for_a_person_since().is_some(),
        }
    }

    pub(crate) fn state(self) -> State {
        self.state
    }

    /// What is news after this, or in a new action.
    pub(crate) fn news(before: Option<Self>, after: Self) -> Vec<Topic> {
        let mut news = Vec::new();
        let is_news = NEWS.iter().any(|(state, _)| *state == after.state);
        if before.is_none_or(|before| before.state != after.state) {
            news.extend(is_news.then_some(Topic::Stands(after.state)));
        } else if before.is_some_and(|before| before.marks != after.marks) {
            news.push(Topic::Updated);
        }
        let waited = before.is_some_and(|before| before.waits);
        match (waited, after.waits) {
            (false, true) => news.push(Topic::ReviewEntered),
            (true, false) => news.push(Topic::ReviewLeft),
            (true, true) | (false, false) => {}
        }
        news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_name_their_topics() {
        for topic in Topic::all() {
            assert_eq!(Topic::from_word(topic.word()), Some(topic), "{topic:?}");
        }
        assert_eq!(Topic::all().count(), 14);
        for silent in [State::Pending, State::Dispatching] {
            assert_eq!(Topic::Stands(silent).word(), "");
        }
        assert_eq!(Topic::from_word(""), None);
    }

    #[test]
    fn news_is_what_lasts() {
        let plain = |state| Glance {
            state,
            marks: (false, false, false, false, false),
            waits: false,
        };
        let (pending, sending) = (plain(State::Pending), plain(State::Dispatching));
        let (done, unknown) = (plain(State::Succeeded), plain(State::OutcomeUnknown));
        let revised = Glance {
            marks: (true, false, false, false, false),
            ..done
        };
        let waits = Glance {
            waits: true,
            ..unknown
        };
        for (before, after, wanted) in [
            (None, pending, vec![]),
            (Some(pending), sending, vec![]),
            (Some(sending), done, vec![Topic::Stands(State::Succeeded)]),
            (Some(done), done, vec![]),
            (Some(done), revised, vec![Topic::Updated]),
            (
                Some(sending),
                waits,
                vec![Topic::Stands(State::OutcomeUnknown), Topic::ReviewEntered],
            ),
            (Some(waits), unknown, vec![Topic::ReviewLeft]),
            (
                None,
                plain(State::TerminalFailure),
                vec![Topic::Stands(State::TerminalFailure)],
            ),
        ] {
            assert_eq!(Glance::news(before, after), wanted, "{before:?} {after:?}");
        }
    }
}
