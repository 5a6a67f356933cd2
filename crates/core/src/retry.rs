//! Delays between attempts and questions: exponential, with full jitter, and no randomness of its own.

use crate::id::ActionId;
use crate::time::Span;

/// The shape of the delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Backoff {
    /// The first delay at the longest.
    pub base: Span,
    /// Any delay at the longest.
    pub cap: Span,
}

/// A random draw as data, uniform over all values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Draw(pub u64);

impl Draw {
    /// The draw for the `n`-th delay of an action. A pure function, so that the same evidence always schedules the same
    /// instant; different actions spread, because the action id carries 64 random bits.
    #[must_use]
    pub fn of(action: ActionId, n: u32) -> Self {
        let bytes = action.to_bytes();
        let low = u64::from_be_bytes([
            bytes[8], bytes[9], bytes[10], bytes[11], bytes[12], bytes[13], bytes[14], bytes[15],
        ]);
        // SplitMix64's finaliser: spreads neighbouring inputs over the whole range.
        let mut z = low.wrapping_add(u64::from(n).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Self(z ^ (z >> 31))
    }
}

impl Backoff {
    /// The delay after the `n`-th try (from 1), full jitter: anything from nothing to `min(cap, base·2ⁿ⁻¹)`, by the draw.
    #[must_use]
    pub fn delay(self, n: u32, draw: Draw) -> Span {
        let doublings = n.saturating_sub(1).min(40);
        let ceiling = self.base.times(1i64 << doublings).min(self.cap).as_micros();
        let drawn = (u128::from(draw.0) * u128::from(ceiling.unsigned_abs() + 1)) >> 64;
        Span::from_micros(i64::try_from(drawn).unwrap_or(ceiling))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Lane;
    use crate::time::Timestamp;

    const BACKOFF: Backoff = Backoff {
        base: Span::from_secs(1),
        cap: Span::from_secs(60),
    };

    #[test]
    fn ceilings_double_up_to_the_cap_and_the_draw_covers_all_below() {
        for (n, ceiling) in [(1, 1), (2, 2), (3, 4), (6, 32), (7, 60), (200, 60)] {
            assert_eq!(BACKOFF.delay(n, Draw(0)), Span::ZERO, "after try {n}");
            assert_eq!(
                BACKOFF.delay(n, Draw(u64::MAX)),
                Span::from_secs(ceiling),
                "after try {n}"
            );
            assert_eq!(
                BACKOFF.delay(n, Draw(1 << 63)),
                Span::from_secs(ceiling).fraction(1, 2),
                "after try {n}"
            );
        }
    }

    #[test]
    fn neighbouring_actions_and_tries_draw_apart() {
        let draws: std::collections::BTreeSet<_> = (0..64u64)
            .flat_map(|random| (1..5).map(move |n| (random, n)))
            .map(|(random, n)| {
                Draw::of(ActionId::new(Timestamp::from_micros(0), Lane(3), random), n).0 >> 48
            })
            .collect();
        assert!(draws.len() > 240, "{} different draws of 256", draws.len());
    }
}
