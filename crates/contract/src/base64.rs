//! Base64 (RFC 4648, the usual alphabet): for files in payloads and for signatures.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The bytes of a padded text, or of one whose padding was left out. Nothing else is forgiven.
#[must_use]
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let body = text.trim_end_matches('=');
    let padding = text.len() - body.len();
    let padded = padding > 0;
    if padding > 2 || body.len() % 4 == 1 || (padded && !text.len().is_multiple_of(4)) {
        return None;
    }
    let mut bytes = Vec::with_capacity(body.len() * 3 / 4);
    let (mut held, mut bits) = (0_u32, 0_u32);
    for character in body.bytes() {
        let digit = ALPHABET.iter().position(|a| *a == character)?;
        held = held << 6 | u32::try_from(digit).ok()?;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(held >> bits & 0xff).ok()?);
        }
    }
    // Bits that are left over belong to no byte, and have to be zero.
    (held & ((1 << bits) - 1) == 0).then_some(bytes)
}

/// The padded text of these bytes.
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    let digit = |held: u32, at: u32| char::from(ALPHABET[(held >> (18 - 6 * at) & 63) as usize]);
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let held = byte(0) << 16 | byte(1) << 8 | byte(2);
        text.push(digit(held, 0));
        text.push(digit(held, 1));
        text.push(if chunk.len() > 1 { digit(held, 2) } else { '=' });
        text.push(if chunk.len() > 2 { digit(held, 3) } else { '=' });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vectors_of_the_rfc() {
        for (plain, coded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(encode(plain.as_bytes()), coded);
            assert_eq!(decode(coded).as_deref(), Some(plain.as_bytes()), "{coded}");
        }
        assert_eq!(decode("Zg").as_deref(), Some(&b"f"[..]));
    }

    #[test]
    fn what_is_not_base64_is_refused() {
        for wrong in ["Z", "Zg=", "Zh==", "Zm9v=", "Zm 9v", "Zm-v", "====", "=Zg="] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
    }
}
