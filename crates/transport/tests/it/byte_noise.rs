//! Answers with bytes changed, and bytes that resemble none: what `bytes` says has to hold for all of them.

use proptest::prelude::*;

use crate::bytes;

const ANSWERS: &[&str] = &[
    "HTTP/1.1 200 OK\r\ncontent-length: 12\r\ncontent-type: application/json\r\n\r\n{\"id\":\"T-1\"}",
    "HTTP/1.1 201 Created\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{\"id\"\r\n7;x=y\r\n:\"T-1\"}\r\n0\r\nx-t: 1\r\n\r\n",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 Busy\r\nretry-after: 3\r\ncontent-length: 0\r\n\r\n",
    "HTTP/1.0 200 OK\r\n\r\n{\"id\":\"T-1\"}",
    "HTTP/1.1 204 No Content\r\n\r\n",
];

/// What a reader of heads and frames stumbles over.
const PIECES: &[&[u8]] = &[
    b"",
    b"\r\n",
    b"\n",
    b"\r",
    b"\0",
    b" ",
    b"\t",
    b"\xff",
    b":",
    b"0",
    b"7",
    b"ffffffffffffffff",
    b"-1",
    b"+5",
    b"0x5",
    b"5, 5",
    b"content-length: 5\r\n",
    b"content-length: 99999999999999999999\r\n",
    b"transfer-encoding: chunked\r\n",
    b"transfer-encoding: identity\r\n",
    b"transfer-encoding: gzip, chunked\r\n",
    b"HTTP/1.1 200 OK\r\n\r\n",
    b"HTTP/2 ",
    b"101",
    b"304",
    b"999",
    b"1000",
    b" folded\r\n",
    b"0\r\n\r\n",
    b";",
    b"connection: upgrade\r\n",
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
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn an_answer_with_bytes_changed(
        seed in prop::sample::select(ANSWERS.to_vec()),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..20_usize, prop::sample::select(PIECES.to_vec())), 0..4),
    ) {
        bytes::answer(&edited(seed, &edits));
    }

    #[test]
    fn no_answer_at_all(noise in prop::collection::vec(any::<u8>(), 0..200)) {
        bytes::answer(&noise);
    }
}

#[test]
fn the_seeds_themselves() {
    for seed in ANSWERS {
        bytes::answer(seed.as_bytes());
    }
}
