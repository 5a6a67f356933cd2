//! Chance without state: numbers that follow from a seed and a name.
//!
//! The generator is splitmix64, keyed by FNV-1a over the name. It is meant to be reproducible on every machine, not to
//! withstand an opponent: never use it for secrets.

/// A reproducible source of numbers for one named decision.
#[derive(Debug, Clone)]
pub struct Chance {
    state: u64,
}

impl Chance {
    /// The source for the `n`-th decision of the stream `name` under `seed`. Equal arguments give equal numbers.
    pub fn new(seed: u64, name: &str, n: u64) -> Chance {
        let mut chance = Chance { state: seed };
        let keyed = chance.next() ^ fnv1a(name.as_bytes());
        chance.state = keyed;
        let numbered = chance.next() ^ n.wrapping_mul(GOLDEN);
        chance.state = numbered;
        chance
    }

    /// The next 64 bits.
    #[expect(
        clippy::should_implement_trait,
        reason = "an endless source is no iterator: `for` over it would never end"
    )]
    pub fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number in `0..bound`; 0 where `bound` is 0. The bias of the multiplication is below 2^-32 for small bounds.
    pub fn below(&mut self, bound: u64) -> u64 {
        u64::try_from((u128::from(self.next()) * u128::from(bound)) >> 64).unwrap_or(0)
    }

    /// True with the probability `millionths` / 1 000 000.
    pub fn hits(&mut self, millionths: u32) -> bool {
        self.below(1_000_000) < u64::from(millionths)
    }
}

/// The step of splitmix64: 2^64 divided by the golden ratio, so that seeds close together give numbers far apart.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_give_equal_numbers_and_other_names_give_others() {
        let first = Chance::new(7, "order-1", 1).next();
        assert_eq!(first, Chance::new(7, "order-1", 1).next());
        assert_ne!(first, Chance::new(8, "order-1", 1).next());
        assert_ne!(first, Chance::new(7, "order-2", 1).next());
        assert_ne!(first, Chance::new(7, "order-1", 2).next());
    }

    #[test]
    fn the_numbers_are_the_same_on_every_machine() {
        let mut chance = Chance { state: 0 };
        // The published first outputs of splitmix64 from state 0.
        assert_eq!(chance.next(), 0xE220_A839_7B1D_CDAF);
        assert_eq!(chance.next(), 0x6E78_9E6A_A1B9_65F4);
    }

    #[test]
    fn a_probability_is_met_roughly_and_its_ends_exactly() {
        let hits = |millionths| {
            (0..10_000)
                .filter(|n| Chance::new(3, "s", *n).hits(millionths))
                .count()
        };
        assert_eq!(hits(0), 0);
        assert_eq!(hits(1_000_000), 10_000);
        assert!((2_850..3_150).contains(&hits(300_000)));
    }
}
