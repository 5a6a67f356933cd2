//! Worlds are remembered by fingerprints of 128 bits in one flat set. Two worlds of one fingerprint would hide one of them:
//! among n worlds that is as likely as n² / 2¹²⁹, one in 10²² for two hundred million.

use std::hash::{Hash, Hasher};

/// The fingerprint of a value.
pub(crate) fn of(value: &impl Hash) -> u128 {
    let mut wide = Wide::default();
    value.hash(&mut wide);
    wide.whole()
}

/// A hash of 128 bits that takes numbers whole.
#[derive(Clone, Copy)]
pub(crate) struct Wide(u64, u64);

impl Default for Wide {
    fn default() -> Self {
        Self(0x6a09_e667_f3bc_c908, 0xbb67_ae85_84ca_a73b)
    }
}

impl Wide {
    pub(crate) fn whole(self) -> u128 {
        let spread = |z: u64| {
            let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        u128::from(spread(self.0)) << 64 | u128::from(spread(self.1 ^ self.0.rotate_left(32)))
    }
}

impl Hasher for Wide {
    fn finish(&self) -> u64 {
        self.0 ^ self.1
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, n: u64) {
        let spread = |z: u64, by: u64| {
            let z = (z ^ (z >> 29)).wrapping_mul(by);
            z ^ (z >> 32)
        };
        self.0 = spread(self.0.rotate_left(23) ^ n, 0x9e37_79b9_7f4a_7c15);
        self.1 = spread(
            self.1.rotate_left(41).wrapping_add(n),
            0xd6e8_feb8_6659_fd93,
        );
    }

    fn write_u8(&mut self, n: u8) {
        self.write_u64(n.into());
    }

    fn write_u32(&mut self, n: u32) {
        self.write_u64(n.into());
    }

    fn write_i64(&mut self, n: i64) {
        self.write_u64(n.cast_unsigned());
    }

    fn write_usize(&mut self, n: usize) {
        self.write_u64(u64::try_from(n).unwrap_or(u64::MAX));
    }

    fn write_isize(&mut self, n: isize) {
        self.write_u64(u64::try_from(n).unwrap_or(u64::MAX));
    }
}

/// A flat set of fingerprints with open addressing: sixteen bytes a place, at most three quarters full.
pub(crate) struct Fingerprints {
    places: Vec<u128>,
    len: usize,
}

impl Fingerprints {
    pub(crate) fn new() -> Self {
        Self {
            places: vec![0; 1 << 12],
            len: 0,
        }
    }

    /// Adds it; false if it was there.
    pub(crate) fn insert(&mut self, fingerprint: u128) -> bool {
        // Zero marks a free place.
        let fingerprint = fingerprint.max(1);
        if (self.len + 1) * 4 > self.places.len() * 3 {
            self.grow();
        }
        let added = put(&mut self.places, fingerprint);
        self.len += usize::from(added);
        added
    }

    fn grow(&mut self) {
        let mut wider = vec![0; self.places.len() * 2];
        for fingerprint in self.places.iter().filter(|f| **f != 0) {
            put(&mut wider, *fingerprint);
        }
        self.places = wider;
    }
}

fn put(places: &mut [u128], fingerprint: u128) -> bool {
    let mask = places.len() - 1;
    let low = usize::try_from(fingerprint & u128::from(u32::MAX)).unwrap_or(0);
    let mut at = low & mask;
    loop {
        match places[at] {
            0 => {
                places[at] = fingerprint;
                return true;
            }
            there if there == fingerprint => return false,
            _ => at = (at + 1) & mask,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_added_once() {
        let mut set = Fingerprints::new();
        let print = |n: u32| of(&n);
        assert!((0..20_000).all(|n| set.insert(print(n))));
        assert!((0..20_000).all(|n| !set.insert(print(n))));
    }
}
