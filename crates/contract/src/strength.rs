//! How strong a contract is, as people sort them: what a lost answer comes to. No decision is made from it.

use std::fmt;

use factum_core::promise::{KeyPromise, ProcessingMax};

use crate::claims::Grade;
use crate::contract::Contract;
use crate::key::Role;

/// What a lost answer comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Strength {
    /// Safe to repeat within a published window, and the repeat answers.
    A,
    /// A repeat is recognised, but the window cannot be counted on, or nothing is stated about a repeat beside the first.
    B,
    /// A repeat meets what is there under a name of ours: a conflict, or the same record.
    C,
    /// The effect can be looked up by a mark of ours; then it is decided.
    D,
    /// Sent once: what is unknown stays unknown, or a person settles it.
    E,
}

impl fmt::Display for Strength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::A => "A",
            Self::B => "B",
            Self::C => "C",
            Self::D => "D",
            Self::E => "E",
        })
    }
}

impl Contract {
    /// How strong it is, by what may be relied on.
    #[must_use]
    pub fn strength(&self) -> Strength {
        let promises = self.promises();
        let named = self.key.as_ref().is_some_and(|key| key.role != Role::Key);
        if self.effect.upsert || (named && promises.key.is_some()) {
            return Strength::C;
        }
        match promises.key {
            Some(key) if repeats(key, promises.processing_max) => Strength::A,
            Some(_) => Strength::B,
            None if self.lookup.is_some() => Strength::D,
            None => Strength::E,
        }
    }

    /// The weakest of the grades that its sections have, each by its best source; none where nothing has one.
    #[must_use]
    pub fn grade(&self) -> Option<Grade> {
        let sections = self.claiming_sections().into_iter();
        sections.filter_map(|path| self.claims.grade(path)).max()
    }
}

/// Whether a lost answer can be followed by a repeat at all: the window has a floor, and either the behaviour of a repeat beside
/// the first is stated, or there is a time after which the first no longer runs (R4).
fn repeats(key: KeyPromise, processing_max: ProcessingMax) -> bool {
    key.retention.floor().is_some()
        && (key.concurrent_repeat_stated || processing_max.span().is_some())
}

impl Grade {
    /// The language's word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        crate::lookup::word(self)
    }
}
