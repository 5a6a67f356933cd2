//! One colour, one icon and one word for each state, wherever people see it: on the console's pages and in the terminal.
//!
//! A colour never stands alone: who cannot tell them apart reads the icon and the word.

use factum_core::State;

/// A colour by what it is, not by its value: the terminal has its own, and pages have two sets of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tone {
    /// Nothing has begun.
    Grey,
    /// It is under way.
    Blue,
    /// They have it.
    Cyan,
    /// It is done.
    Green,
    /// It comes again.
    Yellow,
    /// It is not done.
    Red,
    /// Nobody knows.
    Magenta,
    /// It is over, and nothing came of it.
    Dim,
}

/// How a state is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sign {
    /// The state's word, as every interface has it.
    pub word: &'static str,
    /// Its colour.
    pub tone: Tone,
    /// Its icon in a line of text: one column wide.
    pub glyph: char,
    /// The same icon as the path of a drawing of 16 by 16, to be stroked.
    pub path: &'static str,
}

impl Tone {
    /// The name in style sheets.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Grey => "grey",
            Self::Blue => "blue",
            Self::Cyan => "cyan",
            Self::Green => "green",
            Self::Yellow => "yellow",
            Self::Red => "red",
            Self::Magenta => "magenta",
            Self::Dim => "dim",
        }
    }
}

impl Sign {
    /// Of a state.
    #[must_use]
    pub fn of(state: State) -> Self {
        let (tone, glyph, path) = match state {
            State::Pending => (
                Tone::Grey,
                '○',
                "M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 0 0 0-11",
            ),
            State::Dispatching => (Tone::Blue, '→', "M2.5 8h10M8.5 4l4 4l-4 4"),
            State::Accepted => (
                Tone::Cyan,
                '◐',
                "M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 0 0 0-11M8 2.5v11M5.5 4v8M6.8 3v10",
            ),
            State::Succeeded => (Tone::Green, '✓', "M3 8.5l3.5 3.5L13 4.5"),
            State::RetryableFailure => (Tone::Yellow, '↻', "M13 8a5 5 0 1 1-1.6-3.7M13 2.5v3h-3"),
            State::TerminalFailure => (Tone::Red, '✕', "M4 4l8 8M12 4l-8 8"),
            State::OutcomeUnknown => (
                Tone::Magenta,
                '?',
                "M5.5 6a2.5 2.5 0 1 1 3.6 2.3c-.8.4-1.1.8-1.1 1.7M8 12.6v.4",
            ),
            State::Cancelled => (
                Tone::Dim,
                '⊘',
                "M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 0 0 0-11M4.2 4.2l7.6 7.6",
            ),
            State::Expired => (
                Tone::Dim,
                '◷',
                "M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 0 0 0-11M8 5v3.2l2.2 1.4",
            ),
        };
        Self {
            word: state.name(),
            tone,
            glyph,
            path,
        }
    }

    /// Of the state of this word; none for a word that is no state.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        State::from_name(word).map(Self::of)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_states_have_one_icon() {
        let glyphs: BTreeSet<char> = State::ALL.map(|state| Sign::of(state).glyph).into();
        let paths: BTreeSet<&str> = State::ALL.map(|state| Sign::of(state).path).into();
        assert_eq!((glyphs.len(), paths.len()), (9, 9));
        assert_eq!(
            Sign::of_word("outcome_unknown").map(|sign| sign.glyph),
            Some('?')
        );
        assert_eq!(Sign::of_word("a file"), None);
    }
}
