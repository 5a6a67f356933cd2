//! A length of time as it is written on the command line: `4s`, `500ms`, `2min`.

use std::time::Duration;

/// Reads a length of time, with or without a space before its unit.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let unit = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(unit);
    let wrong = || "write a whole number and ms, s, min, h or d, as in 30s".to_owned();
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let millis = match unit.trim() {
        "ms" => 1,
        "s" => 1_000,
        "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(wrong()),
    };
    number
        .checked_mul(millis)
        .map(Duration::from_millis)
        .ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_a_unit() {
        assert_eq!(parse("4s"), Ok(Duration::from_secs(4)));
        assert_eq!(parse("500 ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse("2min"), Ok(Duration::from_secs(120)));
        assert_eq!(parse("0"), Ok(Duration::ZERO));
        for wrong in ["4", "s", "-1s", "1.5s", "4 weeks", "99999999999999999999s"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
