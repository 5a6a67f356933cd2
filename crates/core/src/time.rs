//! Instants and durations as plain integers: microseconds, UTC. The core never reads a clock; every instant is handed in.

use std::fmt;
use std::ops::{Add, Sub};

/// An instant: microseconds since 1970-01-01T00:00:00Z, by the store's clock unless a doc says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// A length of time in microseconds, never negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(i64);

impl Timestamp {
    /// Earlier than anything that was ever stamped; stands for "no lower bound is known".
    pub const EARLIEST: Self = Self(i64::MIN);
    /// Later than anything that will ever be stamped; stands for "never".
    pub const NEVER: Self = Self(i64::MAX);

    /// From microseconds since the epoch.
    #[must_use]
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since the epoch.
    #[must_use]
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// How long after `earlier` this instant is; zero if it is not after it.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Span {
        let micros = self.0.saturating_sub(earlier.0);
        Span(if micros < 0 { 0 } else { micros })
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// Longer than any bound; a deadline computed with it never comes.
    pub const FOREVER: Self = Self(i64::MAX);

    /// From microseconds; negative input counts as zero.
    #[must_use]
    pub const fn from_micros(micros: i64) -> Self {
        Self(if micros < 0 { 0 } else { micros })
    }

    /// From milliseconds.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self::from_micros(millis.saturating_mul(1_000))
    }

    /// From seconds.
    #[must_use]
    pub const fn from_secs(secs: i64) -> Self {
        Self::from_micros(secs.saturating_mul(1_000_000))
    }

    /// Microseconds.
    #[must_use]
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// This length `times` times over, saturating.
    #[must_use]
    pub const fn times(self, times: i64) -> Self {
        Self::from_micros(self.0.saturating_mul(times))
    }

    /// `numerator/denominator` of this length, rounded down.
    ///
    /// # Panics
    /// If `denominator` is zero.
    #[must_use]
    pub const fn fraction(self, numerator: i64, denominator: i64) -> Self {
        Self::from_micros((self.0 / denominator).saturating_mul(numerator))
    }
}

impl Add<Span> for Timestamp {
    type Output = Self;
    /// Saturates: [`Timestamp::NEVER`] and [`Timestamp::EARLIEST`] stay what they are.
    fn add(self, span: Span) -> Self {
        if self == Self::EARLIEST {
            self
        } else {
            Self(self.0.saturating_add(span.0))
        }
    }
}

impl Sub<Span> for Timestamp {
    type Output = Self;
    /// Saturates: [`Timestamp::NEVER`] and [`Timestamp::EARLIEST`] stay what they are.
    fn sub(self, span: Span) -> Self {
        if self == Self::NEVER {
            self
        } else {
            Self(self.0.saturating_sub(span.0))
        }
    }
}

impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Span {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self::from_micros(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for Span {
    /// The two largest units, as people say it: `1 d 2 h`, `30 s`, `250 ms`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::FOREVER {
            return f.write_str("for ever");
        }
        const UNITS: [(i64, &str); 6] = [
            (86_400_000_000, "d"),
            (3_600_000_000, "h"),
            (60_000_000, "min"),
            (1_000_000, "s"),
            (1_000, "ms"),
            (1, "µs"),
        ];
        let Some(first) = UNITS.iter().position(|(size, _)| self.0 >= *size) else {
            return f.write_str("0 s");
        };
        let (size, unit) = UNITS[first];
        write!(f, "{} {unit}", self.0 / size)?;
        if let Some((next, unit)) = UNITS.get(first + 1)
            && first < 4
            && self.0 % size >= *next
        {
            write!(f, " {} {unit}", self.0 % size / next)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_saturate_at_both_ends() {
        assert_eq!(Timestamp::NEVER - Span::from_secs(5), Timestamp::NEVER);
        assert_eq!(
            Timestamp::EARLIEST + Span::from_secs(5),
            Timestamp::EARLIEST
        );
        assert_eq!(
            Timestamp::from_micros(i64::MAX - 1) + Span::from_secs(5),
            Timestamp::NEVER
        );
        assert_eq!(
            Timestamp::from_micros(5).since(Timestamp::from_micros(9)),
            Span::ZERO
        );
        assert_eq!(Span::from_secs(1) - Span::from_secs(2), Span::ZERO);
    }

    #[test]
    fn spans_read_as_people_say_them() {
        let shown = [
            Span::from_secs(93_600),
            Span::from_secs(30),
            Span::from_millis(1_250),
            Span::ZERO,
            Span::FOREVER,
        ]
        .map(|span| span.to_string());
        assert_eq!(shown, ["1 d 2 h", "30 s", "1 s 250 ms", "0 s", "for ever"]);
    }
}
