//! What an answer advises about sending again: after how long, at which instant, whether at all.
//!
//! An instant is compared with the answer's own `Date`, so that no clock of ours is needed: what is advised is a distance
//! between two readings of the same clock.

use factum_core::{Span, Timestamp};

use crate::conditions;
use crate::date;
use crate::parts::{self, Take, optional};
use crate::repeat::words;
use crate::source::Section;
use crate::when::{Seen, When};

/// The section `[advice]` of a provider.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Advice {
    after: Option<Take>,
    after_unit: Unit,
    at: Option<Take>,
    at_unit: Unit,
    again: Option<When>,
    never: Option<When>,
}

words! {
    /// What numbers count.
    #[derive(Default)]
    Unit {
        #[default]
        Seconds = "s",
        Millis = "ms",
    }
}

/// What one answer advises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Advised {
    pub(crate) after: Option<Span>,
    pub(crate) at: Option<Timestamp>,
    pub(crate) again: Option<bool>,
}

/// Advice beyond this is not followed: 30 days.
const AFTER_MAX: Span = Span::from_secs(30 * 86_400);

impl Advice {
    pub(crate) fn read(section: &Section<'_>) -> Option<Self> {
        let after = optional(section.get("after"), parts::take);
        let after_unit = optional(section.get("after_unit"), |node| node.word());
        let at = optional(section.get("at"), parts::take);
        let at_unit = optional(section.get("at_unit"), |node| node.word());
        let again = optional(section.get("again"), conditions::when);
        let never = optional(section.get("never"), conditions::when);
        section.end();
        Some(Self {
            after: after?,
            after_unit: after_unit?.unwrap_or_default(),
            at: at?,
            at_unit: at_unit?.unwrap_or_default(),
            again: again?,
            never: never?,
        })
    }

    /// What an answer advises. `usual` is where a provider writes seconds, if it is not in `[advice]`.
    pub(crate) fn of(&self, usual: Option<&Take>, seen: &Seen<'_>) -> Advised {
        let own = self.after.as_ref().or(usual);
        let header = || {
            seen.answer
                .header("retry-after")
                .map(|t| t.trim().to_owned())
        };
        // The header of RFC 9110 counts beside a provider's own members.
        let text = own.and_then(|take| take.from(seen)).or_else(header);
        let after = text
            .as_deref()
            .and_then(|text| number(text, self.after_unit));
        let instant = |text: &str| {
            let micros = number(text, self.at_unit).map(Span::as_micros);
            micros
                .map(Timestamp::from_micros)
                .or_else(|| date::from_http(text))
        };
        let stated = self.at.as_ref().and_then(|take| take.from(seen));
        let at = stated.as_deref().and_then(instant);
        let at = at.or_else(|| text.as_deref().and_then(date::from_http));
        let read_at = seen.answer.header("date").and_then(date::from_http);
        // Of several the longest is kept: an answer that names two limits means both.
        let until = at.zip(read_at).map(|(at, read_at)| at.since(read_at));
        let holds = |when: &Option<When>| when.as_ref().is_some_and(|when| when.holds(seen));
        let again = match (holds(&self.again), holds(&self.never)) {
            (true, false) => Some(true),
            (false, true) => Some(false),
            (true, true) | (false, false) => None,
        };
        Advised {
            after: after.max(until).map(|after| after.min(AFTER_MAX)),
            at,
            again,
        }
    }
}

/// A number that is not negative, as digits with a fraction or without; fractions of the smallest unit are rounded up.
fn number(text: &str, unit: Unit) -> Option<Span> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return None;
    }
    let up = i64::from(fraction.bytes().any(|byte| byte != b'0'));
    let count = whole.parse::<i64>().ok()?.saturating_add(up);
    Some(match unit {
        Unit::Seconds => Span::from_secs(count),
        Unit::Millis => Span::from_millis(count),
    })
}
