//! Signs in an answer that a promise was in force: that the key was looked at, that our mark was kept.
//!
//! Support can be missing without any error: an old version ignores the header, a form drops a field that it does not know.
//! Then what rests on it is off.

use factum_core::promise::{Authority, LookupBy, Missing, Promises, Retention};

use crate::answers::{Ours, Reading};
use crate::claims::Claims;
use crate::conditions;
use crate::contract::Contract;
use crate::parts::optional;
use crate::rules::{Mark, mark};
use crate::source::Section;
use crate::when::{Seen, When};

/// The section `[support]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Support {
    key_honoured: Option<When>,
    key_ignored: Option<When>,
    marker_kept: Option<Mark>,
}

impl Support {
    pub(crate) fn read(section: &Section<'_>, claims: &mut Claims) -> Option<Self> {
        claims.note(section);
        let honoured = optional(section.get("key_honoured"), conditions::when);
        let ignored = optional(section.get("key_ignored"), conditions::when);
        let kept = optional(section.get("marker_kept"), mark);
        Some(Self {
            key_honoured: honoured?,
            key_ignored: ignored?,
            marker_kept: kept?,
        })
    }

    /// Whether the key was looked at; none where nothing shows it.
    pub(crate) fn key(&self, seen: &Seen<'_>) -> Option<bool> {
        let holds = |when: &Option<When>| when.as_ref().map(|when| when.holds(seen));
        if holds(&self.key_ignored) == Some(true) {
            return Some(false);
        }
        match holds(&self.key_honoured) {
            // The sign belongs to an answer that succeeded: others need not carry it.
            Some(false) if !(200..300).contains(&seen.answer.status) => None,
            honoured => honoured,
        }
    }

    /// Whether our mark is in the answer; none where it need not be.
    pub(crate) fn marker(&self, seen: &Seen<'_>, ours: &Ours<'_>) -> Option<bool> {
        let mark = self.marker_kept.as_ref()?;
        let shown = (200..300).contains(&seen.answer.status) && seen.json.is_some();
        shown.then(|| mark.holds(seen, ours))
    }

    /// How an answer looks whose key was looked at.
    pub(crate) fn honoured(&self) -> Option<&When> {
        self.key_honoured.as_ref()
    }

    /// The conditions that show whether the key was looked at.
    pub(crate) fn signs(&self) -> impl Iterator<Item = &When> {
        self.key_honoured.iter().chain(&self.key_ignored)
    }

    /// Where our mark stands in what was made.
    pub(crate) fn kept(&self) -> Option<&Mark> {
        self.marker_kept.as_ref()
    }

    fn marks_reference(&self) -> bool {
        let mark = self.marker_kept.as_ref();
        mark.is_some_and(|mark| mark.with == LookupBy::Reference)
    }
}

impl Contract {
    /// What an answer has shown to be missing of what is promised: see [`Contract::promises_after`].
    #[must_use]
    pub fn missing_after(&self, reading: &Reading) -> Missing {
        Missing {
            key: reading.key_honoured == Some(false),
            mark: self.promises_after(reading).lookup != self.promises().lookup,
        }
    }

    /// The promises that are left after an answer has shown that support is missing: a key that was ignored carries nothing,
    /// and what was written without our mark cannot be looked up by it, so that absence says nothing.
    #[must_use]
    pub fn promises_after(&self, reading: &Reading) -> Promises {
        let mut promises = self.promises();
        if reading.key_honoured == Some(false)
            && let Some(key) = &mut promises.key
        {
            key.retention = Retention::Unpublished;
        }
        let by = match self.support.marks_reference() {
            true => LookupBy::Reference,
            false => LookupBy::Key,
        };
        if reading.marker_kept == Some(false)
            && let Some(lookup) = &mut promises.lookup
            && lookup.by == by
        {
            lookup.authority = Authority::Partial;
        }
        promises
    }
}
