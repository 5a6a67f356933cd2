//! Takes secrets out of answers before anybody stores or shows them: some destinations repeat what they were sent.

use factum_contract::http::HttpAnswer;

use crate::secret::Secret;

/// What stands in the place of a secret.
const HIDDEN: &[u8] = b"[secret]";

/// Shorter ones are not looked for: they would be found where they are none.
const LENGTH_MIN: usize = 8;

/// Replaces every one of `secrets` in the headers and the body of an answer.
pub(super) fn hide(answer: &mut HttpAnswer, secrets: &[Secret]) {
    for secret in secrets {
        secret.with_exposed(|secret| {
            if secret.len() < LENGTH_MIN {
                return;
            }
            for (_, value) in &mut answer.headers {
                if let Some(without) = replaced(value.as_bytes(), secret) {
                    *value = String::from_utf8_lossy(&without).into_owned();
                }
            }
            if let Some(without) = replaced(&answer.body, secret) {
                answer.body = without;
            }
        });
    }
}

/// The text without the secret, if it holds it.
fn replaced(text: &[u8], secret: &[u8]) -> Option<Vec<u8>> {
    let first = *secret.first()?;
    let mut without = Vec::new();
    let mut rest = text;
    let mut found = false;
    while let Some(at) = rest.iter().position(|b| *b == first) {
        without.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix(secret) {
            without.extend_from_slice(HIDDEN);
            rest = after;
            found = true;
        } else {
            without.push(first);
            rest = &rest[1..];
        }
    }
    without.extend_from_slice(rest);
    found.then_some(without)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_taken_out_wherever_it_stands() {
        let mut answer = HttpAnswer {
            status: 302,
            headers: vec![("location".to_owned(), "/?k=s3cr3t-k3y&x=1".to_owned())],
            body: b"s3cr3t: no s3cr3t-k3y like s3cr3t-k3ys3cr3t-k3".to_vec(),
            truncated: false,
        };
        let secrets = [
            Secret::new(b"s3cr3t-k3y".to_vec()),
            Secret::new(b"no".to_vec()),
        ];
        hide(&mut answer, &secrets);
        assert_eq!(answer.headers[0].1, "/?k=[secret]&x=1");
        assert_eq!(answer.body, b"s3cr3t: no [secret] like [secret]s3cr3t-k3");
    }
}
