//! Real inputs with bytes changed, and bytes that resemble nothing: what `bytes` says has to hold for all of them.

use factum_contract::Catalogue;
use proptest::prelude::*;

use crate::bytes;

/// A change of a real input: from where, how many bytes, and what stands there instead.
type Edit = (prop::sample::Index, usize, Vec<u8>);

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let piece = prop_oneof![
        3 => prop::collection::vec(any::<u8>(), 0..4),
        2 => prop::sample::select(PIECES.to_vec()).prop_map(<[u8]>::to_vec),
    ];
    prop::collection::vec((any::<prop::sample::Index>(), 0..40_usize, piece), 0..6)
}

/// What readers stumble over.
const PIECES: &[&[u8]] = &[
    b"\0",
    b"\n",
    b"\n\n",
    b"\"",
    b"'''",
    b"\\u0000",
    b"\\ud800",
    b"\xff",
    b"\xc3",
    b"{",
    b"}",
    b"[",
    b"]",
    b"=",
    b"#",
    b"1e999",
    b"-0",
    b"9223372036854775808",
    b"null",
    b"true",
    b"{}",
    b"[[[[[[[[[[[[[[[[",
    b"%00",
    b"../",
    b"=?utf-8?",
];

fn edited(mut bytes: Vec<u8>, edits: &[Edit]) -> Vec<u8> {
    for (at, length, piece) in edits {
        let from = at.index(bytes.len() + 1);
        let to = (from + length).min(bytes.len());
        bytes.splice(from..to, piece.iter().copied());
    }
    bytes
}

/// Bytes with nothing in mind.
fn noise() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..300)
}

/// The examples of the catalogue in the form of `bytes::answer_from`.
fn example() -> impl Strategy<Value = Vec<u8>> {
    let all: Vec<Vec<u8>> = bytes::every_contract()
        .flat_map(factum_contract::Contract::example_answers)
        .map(|example| {
            let status = (example.answer.status - 100).to_be_bytes();
            let headers = example.answer.headers.iter();
            let headers: Vec<_> = headers
                .map(|(name, value)| format!("{name}: {value}"))
                .collect();
            let headers = headers.join("\n") + "\n\n";
            [&status, &[0][..], headers.as_bytes(), &example.answer.body].concat()
        })
        .collect();
    prop::sample::select(all)
}

/// A delivery's headers, near to those that the schemes want.
fn delivery_head() -> impl Strategy<Value = Vec<u8>> {
    let names = [
        "stripe-signature",
        "x-hub-signature-256",
        "x-slack-signature",
        "x-slack-request-timestamp",
        "webhook-signature",
        "webhook-id",
        "webhook-timestamp",
        "x-mac",
        "x-at",
        "x-id",
        "x-token",
        "authorization",
        "x-twilio-signature",
        "x-square-hmacsha256-signature",
    ];
    let values = [
        "t=1767323045,v1=",
        "sha256=",
        "v0=",
        "v1,",
        "1767323045",
        "Bearer ",
        "Basic ",
        "Bearer opensesame-7",
        "Basic dXNlcjpwYXNzd29yZA==",
        "AAAA",
        "00",
        "=",
        ",",
        " ",
        "99999999999999999999",
        "-1",
        "é",
    ];
    let value = prop::collection::vec(prop::sample::select(values.to_vec()), 0..4);
    let line = (prop::sample::select(names.to_vec()), value)
        .prop_map(|(name, value)| format!("{name}: {}", value.concat()));
    prop::collection::vec(line, 0..6)
        .prop_map(|lines| format!("\0\0\0{}\n\n", lines.join("\n")).into_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn a_contract_with_bytes_changed(
        file in prop::sample::select(Catalogue::builtin_files().to_vec()),
        edits in edits(),
        split in any::<bool>(),
    ) {
        let (path, text) = file;
        let (folder, _) = path.rsplit_once('/').unwrap();
        let provider = format!("{folder}/provider.toml");
        let provider = Catalogue::builtin_files().iter().find(|(path, _)| *path == provider);
        let whole = match provider {
            Some((_, provider)) if split => [provider.as_bytes(), b"\0", text.as_bytes()].concat(),
            _ => text.as_bytes().to_vec(),
        };
        bytes::contract_text(&edited(whole, &edits));
    }

    #[test]
    fn no_contract_at_all(noise in noise()) {
        bytes::contract_text(&noise);
    }
}

proptest! {
    // Each case is read by every contract there is.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) })]

    #[test]
    fn an_answer_with_bytes_changed(example in example(), edits in edits()) {
        bytes::answer(&edited(example, &edits));
    }

    #[test]
    fn no_answer_at_all(noise in noise()) {
        bytes::answer(&noise);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn a_delivery_that_nobody_signed(head in delivery_head(), body in noise(), edits in edits()) {
        bytes::delivery(&edited([head, body].concat(), &edits));
    }
}

/// The functions see what they are given: a secret that is named is taken, so that "refused" is no constant.
#[test]
fn a_secret_that_is_named_is_taken() {
    bytes::delivery(b"\0\0\0x-token: Bearer opensesame-7\n\n{}");
    bytes::delivery(b"\0\0\0authorization: Basic dXNlcjpwYXNzd29yZA==\n\n{}");
    let answer = bytes::answer_from(b"\0\x64\x01Retry-After: 3\n\n{}");
    assert_eq!((answer.status, answer.truncated), (200, true));
    assert_eq!(answer.header("retry-after"), Some("3"));
    assert_eq!(answer.body, b"{}");
}
