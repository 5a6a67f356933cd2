//! Headers of a submission: `Idempotency-Key`, with or without the quotes of its draft, and `Prefer: wait`.

use std::time::Duration;

use axum::http::HeaderMap;
use factum::{Code, Submission};

use crate::app::WAIT_MAX;
use crate::reply::Failure;

/// The header's name, as problems show it.
pub(crate) const IDEMPOTENCY_KEY: &str = "Idempotency-Key";

/// The key in the header, if there is one: a string as RFC 8941 has it, or the bare text.
pub(crate) fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Failure> {
    let mut values = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(bad("the header occurs twice", "send it once"));
    }
    let Ok(text) = value.to_str().map(str::trim) else {
        return Err(bad(
            "the header holds bytes beyond ASCII",
            "send such a key as the member `key` of the body",
        ));
    };
    match text.strip_prefix('"') {
        Some(rest) => unquoted(rest).map(Some),
        None => Ok(Some(text.to_owned())),
    }
}

/// The string after its opening quotation mark. It has to be the whole value.
fn unquoted(rest: &str) -> Result<String, Failure> {
    let malformed = || {
        bad(
            "a value in quotation marks ends with one, and escapes only \\\" and \\\\ (RFC 8941)",
            "send the key in quotation marks, or bare",
        )
    };
    let mut key = String::with_capacity(rest.len());
    let mut characters = rest.chars();
    loop {
        match characters.next() {
            Some('"') if characters.as_str().is_empty() => return Ok(key),
            Some('\\') => match characters.next() {
                Some(escaped @ ('"' | '\\')) => key.push(escaped),
                Some(_) | None => return Err(malformed()),
            },
            Some('"') | None => return Err(malformed()),
            Some(character) => key.push(character),
        }
    }
}

fn bad(rule: &str, remedy: &str) -> Failure {
    Failure::new(Code::BadIdentity, IDEMPOTENCY_KEY, rule, remedy)
}

/// Puts the header's key into the submission. Answers whether the identity came from the header alone.
pub(crate) fn join_identity(
    submission: &mut Submission,
    header: Option<String>,
) -> Result<bool, Failure> {
    let Some(header) = header else {
        return Ok(false);
    };
    let remedy = "send one of the two, or the same in both";
    if submission.event.is_some() || submission.effect.is_some() {
        let rule = "the Idempotency-Key header and the member event name different identities";
        return Err(Failure::new(
            Code::IdentityTwice,
            "/event",
            rule,
            "send one of the two",
        ));
    }
    match &submission.key {
        Some(key) if *key != header => {
            let rule = "the Idempotency-Key header and the member key differ";
            Err(Failure::new(Code::IdentityTwice, "/key", rule, remedy))
        }
        Some(_) => Ok(false),
        None => {
            submission.key = Some(header);
            Ok(true)
        }
    }
}

/// How long the caller would like to wait (RFC 7240). A preference that is not understood is none.
pub(crate) fn prefer_wait(headers: &HeaderMap) -> Option<Duration> {
    let values = headers
        .get_all("prefer")
        .iter()
        .filter_map(|value| value.to_str().ok());
    let wait = values
        .flat_map(|value| value.split(','))
        .find_map(|preference| {
            let (name, value) = preference.split(';').next()?.split_once('=')?;
            let wanted = name.trim().eq_ignore_ascii_case("wait");
            wanted
                .then(|| value.trim().trim_matches('"').parse::<u64>().ok())
                .flatten()
        })?;
    Some(Duration::from_secs(wait).min(WAIT_MAX))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn headers(name: &'static str, values: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        headers
    }

    #[test]
    fn the_key_is_the_same_with_and_without_quotes() {
        let good = [
            ("order-77", "order-77"),
            ("\"order-77\"", "order-77"),
            ("  \"order-77\"  ", "order-77"),
            (r#""a\"b\\c""#, r#"a"b\c"#),
            ("a\"b", "a\"b"),
            ("\"\"", ""),
        ];
        for (value, key) in good {
            let read = idempotency_key(&headers("idempotency-key", &[value])).unwrap();
            assert_eq!(read.as_deref(), Some(key), "{value}");
        }
        for value in [
            "\"a",
            "\"a\" b",
            "\"a\\x\"",
            "\"a\";v=1",
            "\"",
            "schl\u{fc}ssel",
        ] {
            assert!(
                idempotency_key(&headers("idempotency-key", &[value])).is_err(),
                "{value}"
            );
        }
        assert!(idempotency_key(&headers("idempotency-key", &["a", "a"])).is_err());
        assert!(idempotency_key(&HeaderMap::new()).unwrap().is_none());
    }

    #[test]
    fn a_wait_is_found_among_preferences_and_bounded() {
        let cases: [(&[&str], Option<u64>); 8] = [
            (&["wait=4"], Some(4)),
            (&["respond-async, wait=4"], Some(4)),
            (&["respond-async", "Wait = \"7\"; x=1"], Some(7)),
            (&["wait=3600"], Some(60)),
            (&["wait=soon"], None),
            (&["wait=-1"], None),
            (&["waiting=4"], None),
            (&[], None),
        ];
        for (values, seconds) in cases {
            let wait = prefer_wait(&headers("prefer", values));
            assert_eq!(wait, seconds.map(Duration::from_secs), "{values:?}");
        }
    }
}
