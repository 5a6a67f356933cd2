//! Submissions with bytes changed, and bytes that resemble nothing: what `bytes` says has to hold for all of them.

use proptest::prelude::*;

use crate::bytes;

const SUBMISSIONS: &[&str] = &[
    r#"{"destination":"helpdesk","operation":"ticket.create","key":"conv-91/order-77","params":{"brand":"acme"},"payload":{"a":[1,2.50,-0e5,"é\u0000"]},"summary":"s","for":"user:ana","conversation":{"id":"conv-91","turn":14,"asked":"x"},"deadline":"2026-11-30T12:00:00Z","not_before":"2026-11-30T11:00:00+01:00","intent_at":"2026-11-30T10:00:00Z","trace":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}"#,
    r#"{"destination":"d","operation":"o","event":{"source":"shop","id":"7"},"effect":"mail","payload":null}"#,
    r#"{"destination":"d","operation":"o","key":"k","payload":"a text"}"#,
];

/// What readers stumble over.
const PIECES: &[&[u8]] = &[
    b"",
    b"\0",
    b"\"",
    b"\\",
    b"\\ud800",
    b"\\u00e9",
    b"\xff",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"1e999",
    b"-0",
    b"-",
    b"01",
    b"1E+2",
    b"null",
    b"true",
    b"{}",
    b"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
    b" ",
    b"\n",
    b"\xef\xbb\xbf",
    b"\"key\":\"k\",",
    b"\"event\":[\"a\",\"b\"],",
    b"12345678901234567890.5",
    b"/",
    b"~",
];

fn edited(seed: &str, edits: &[(prop::sample::Index, usize, &[u8])]) -> Vec<u8> {
    let mut bytes = seed.as_bytes().to_vec();
    for (at, length, piece) in edits {
        let from = at.index(bytes.len() + 1);
        let to = (from + length).min(bytes.len());
        bytes.splice(from..to, piece.iter().copied());
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1500) })]

    #[test]
    fn a_submission_with_bytes_changed(
        seed in prop::sample::select(SUBMISSIONS.to_vec()),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..20_usize, prop::sample::select(PIECES.to_vec())), 0..5),
    ) {
        let bytes = edited(seed, &edits);
        bytes::submission(&bytes);
        bytes::canonical_json(&bytes);
    }

    #[test]
    fn no_submission_at_all(noise in prop::collection::vec(any::<u8>(), 0..200)) {
        bytes::submission(&noise);
        bytes::canonical_json(&noise);
    }

    #[test]
    fn pieces_of_json(pieces in prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..12)) {
        bytes::canonical_json(&pieces.concat());
    }
}

/// The seeds are read, so that "refused" is no constant.
#[test]
fn the_seeds_are_submissions() {
    for seed in SUBMISSIONS {
        let submission = factum_engine::Submission::from_json(seed).unwrap();
        submission.check("t", "user:ana").unwrap();
        bytes::submission(seed.as_bytes());
    }
}
