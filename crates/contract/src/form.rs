//! The form in which a key or a reference is written, so that it fits the destination.
//!
//! The 32 bytes of a key are hashed together with the form and encoded to as many characters as there may be: equal input
//! gives equal text after every crash, and a shorter form is a shorter hash, never the beginning of a longer text.

use crate::source::Word;

/// How a key or a reference is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    pub(crate) alphabet: Alphabet,
    /// Characters after the prefix.
    pub(crate) length: usize,
    /// Written before it, so that people recognise it.
    pub(crate) prefix: String,
}

/// The characters that a text may consist of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alphabet {
    /// `0-9a-f`
    Hex,
    /// `a-z2-7`
    Base32,
    /// `0-9a-v`
    Base32Hex,
    /// `A-Za-z0-9-_`
    Base64Url,
    /// `A-Za-z0-9`
    Alphanumeric,
    /// `0-9`, a whole number without a leading zero.
    Digits,
    /// A UUID in lower case with hyphens.
    Uuid,
}

impl Word for Alphabet {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("hex", Self::Hex),
        ("base32", Self::Base32),
        ("base32hex", Self::Base32Hex),
        ("base64url", Self::Base64Url),
        ("alphanumeric", Self::Alphanumeric),
        ("digits", Self::Digits),
        ("uuid", Self::Uuid),
    ];
}

/// What a text is derived for: a key and a reference of equal bytes have nothing in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Key,
    Reference,
}

/// Longer texts than this add nothing: the input has 256 bits.
const BITS_MAX: usize = 256;

impl Alphabet {
    fn characters(self) -> &'static [u8] {
        match self {
            Self::Hex | Self::Uuid => b"0123456789abcdef",
            Self::Base32 => b"abcdefghijklmnopqrstuvwxyz234567",
            Self::Base32Hex => b"0123456789abcdefghijklmnopqrstuv",
            Self::Base64Url => b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
            Self::Alphanumeric => b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
            Self::Digits => b"0123456789",
        }
    }

    /// Hundredths of a bit in one character, rounded down.
    fn centibits(self) -> usize {
        match self {
            Self::Hex | Self::Uuid => 400,
            Self::Base32 | Self::Base32Hex => 500,
            Self::Base64Url => 600,
            Self::Alphanumeric => 595,
            Self::Digits => 332,
        }
    }

    /// Whether a character is a whole number of bits.
    fn is_power_of_two(self) -> bool {
        self.characters().len().is_power_of_two()
    }

    /// Characters that hold at least this many bits.
    pub(crate) fn length_for(self, bits: usize) -> usize {
        if self == Self::Uuid {
            36
        } else {
            (bits * 100).div_ceil(self.centibits())
        }
    }

    /// The longest text that is worth writing, within `length_max` characters.
    pub(crate) fn longest(self, length_max: usize) -> usize {
        length_max.min(self.length_for(BITS_MAX))
    }
}

impl Form {
    /// What tells two intents apart, in bits. A UUID holds 122.
    pub(crate) fn bits(&self) -> usize {
        if self.alphabet == Alphabet::Uuid {
            122
        } else {
            self.alphabet.centibits() * self.length / 100
        }
    }

    /// The text for these bytes.
    pub(crate) fn encode(&self, bytes: &[u8; 32], purpose: Purpose) -> String {
        let context = match purpose {
            Purpose::Key => "factum contract 2026-11 key",
            Purpose::Reference => "factum contract 2026-11 reference",
        };
        let mut hasher = blake3::Hasher::new_derive_key(context);
        hasher.update(self.alphabet.characters());
        hasher.update(&[u8::from(self.alphabet == Alphabet::Uuid)]);
        hasher.update(&u64::try_from(self.length).unwrap_or(u64::MAX).to_le_bytes());
        hasher.update(bytes);
        let text = if self.alphabet == Alphabet::Uuid {
            uuid(hasher.finalize().as_bytes())
        } else if self.alphabet.is_power_of_two() {
            self.digits(hasher.finalize().as_bytes())
        } else {
            self.drawn(hasher.finalize_xof())
        };
        format!("{}{text}", self.prefix)
    }

    fn digits(&self, hash: &[u8; 32]) -> String {
        let (characters, width) = (self.alphabet.characters(), self.alphabet.centibits() / 100);
        let bit = |at: usize| {
            let byte = hash.get(at / 8).copied().unwrap_or(0);
            usize::from(byte >> (7 - at % 8) & 1)
        };
        (0..self.length)
            .map(|place| {
                let first = place * width;
                let digit = (first..first + width).fold(0, |digit, at| digit << 1 | bit(at));
                char::from(characters[digit])
            })
            .collect()
    }
}

impl Form {
    /// For alphabets that bits do not divide into: 64 bits of the hash for each character, so that none is seen more often
    /// than another by more than one in 2^57.
    fn drawn(&self, mut hash: blake3::OutputReader) -> String {
        let characters = self.alphabet.characters();
        (0..self.length)
            .map(|place| {
                let mut bytes = [0; 8];
                hash.fill(&mut bytes);
                // A number has no zero in front, so that writing it as a number loses nothing.
                let from = usize::from(self.alphabet == Alphabet::Digits && place == 0);
                let choices = u64::try_from(characters.len() - from).unwrap_or(1);
                let drawn = u64::from_le_bytes(bytes) % choices;
                char::from(characters[from + usize::try_from(drawn).unwrap_or_default()])
            })
            .collect()
    }
}

/// The version nibble says 5, made from a name, because many validators refuse the later versions; the hash is BLAKE3.
fn uuid(hash: &[u8; 32]) -> String {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash[..16]);
    bytes[6] = bytes[6] & 0x0f | 0x50;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let parts = [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ];
    parts.join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(alphabet: Alphabet, length: usize, purpose: Purpose) -> String {
        let form = Form {
            alphabet,
            length,
            prefix: String::new(),
        };
        form.encode(&[7; 32], purpose)
    }

    #[test]
    fn texts_fit_their_form() {
        for (alphabet, length) in [
            (Alphabet::Hex, 64),
            (Alphabet::Base32, 52),
            (Alphabet::Base32Hex, 25),
            (Alphabet::Base64Url, 43),
            (Alphabet::Alphanumeric, 44),
            (Alphabet::Digits, 19),
        ] {
            let text = encode(alphabet, length, Purpose::Key);
            assert_eq!(text.len(), length, "{alphabet:?}");
            let allowed = alphabet.characters();
            assert!(text.bytes().all(|byte| allowed.contains(&byte)), "{text}");
        }
        assert_eq!(Alphabet::Base64Url.longest(100), 43);
        assert_eq!(Alphabet::Hex.longest(20), 20);
        assert_eq!(Alphabet::Base32.length_for(128), 26);
    }

    #[test]
    fn a_shorter_text_is_no_cut_one() {
        let long = encode(Alphabet::Hex, 64, Purpose::Key);
        let short = encode(Alphabet::Hex, 32, Purpose::Key);
        assert!(!long.starts_with(&short));
        assert_ne!(
            encode(Alphabet::Hex, 32, Purpose::Key),
            encode(Alphabet::Hex, 32, Purpose::Reference)
        );
    }

    #[test]
    fn a_uuid_has_its_version_and_variant() {
        let text = encode(Alphabet::Uuid, 36, Purpose::Key);
        assert_eq!(text.len(), 36);
        assert_eq!(text.as_bytes()[14], b'5');
        assert!(b"89ab".contains(&text.as_bytes()[19]), "{text}");
        let hyphens: Vec<_> = text.match_indices('-').map(|(at, _)| at).collect();
        assert_eq!(hyphens, [8, 13, 18, 23]);
    }

    #[test]
    fn the_encoding_never_changes() {
        // A key that came out otherwise after an upgrade would be a new key, and its resend a duplicate.
        assert_eq!(
            encode(Alphabet::Base32, 26, Purpose::Reference),
            "26xjnzwafbewekw56pnspdnpys"
        );
        assert_eq!(
            encode(Alphabet::Digits, 19, Purpose::Key),
            "9596924894736783890"
        );
        assert_eq!(
            encode(Alphabet::Alphanumeric, 25, Purpose::Key),
            "2TiNHQQHHz1MW0yQB7jEhEQt7"
        );
    }
}
