//! Lengths of time as contracts write them: `2 s`, `24 h`, `30 d`.

use factum_core::Span;

use crate::finding::Complaint;

const UNITS: [(&str, i64); 5] = [
    ("ms", 1_000),
    ("s", 1_000_000),
    ("min", 60_000_000),
    ("h", 3_600_000_000),
    ("d", 86_400_000_000),
];

/// A whole number and a unit. There is no default unit, and no length beyond what can be counted.
pub(crate) fn parse(text: &str) -> Result<Span, Complaint> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let micros = UNITS
        .iter()
        .find(|(name, _)| *name == unit.trim_start_matches(' '))
        .zip(number.parse::<i64>().ok())
        .and_then(|((_, size), number)| number.checked_mul(*size));
    micros.map(Span::from_micros).ok_or_else(|| {
        Complaint::error(
            "duration",
            format!("`{text}` is not a length of time"),
            "write a whole number and one of ms, s, min, h, d: \"24 h\"",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_a_unit() {
        let span = |text| parse(text).ok();
        assert_eq!(span("2 s"), Some(Span::from_secs(2)));
        assert_eq!(span("250ms"), Some(Span::from_millis(250)));
        assert_eq!(span("30 d"), Some(Span::from_secs(30 * 86_400)));
        assert_eq!(span("0 s"), Some(Span::ZERO));
        for wrong in [
            "",
            "s",
            "2",
            "-2 s",
            "2.5 s",
            "2 sec",
            "99999999999999999 d",
        ] {
            assert_eq!(span(wrong), None, "{wrong}");
        }
    }
}
