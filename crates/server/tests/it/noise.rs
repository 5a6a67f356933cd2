//! Ten thousand requests with bytes changed at random, from one seed, over few connections: each is answered or closed, nothing stays
//! behind, and what is recorded is exactly what was answered as recorded.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use factum_server::Limits;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::client::{exchange, request};
use crate::world::{TOKEN, World, submission};

const REQUESTS: usize = 10_000;
const AT_ONCE: usize = 32;
const SEED: u64 = 0x05EE_D0F1_0ADE;
/// Nobody waits longer than this for the server to let go of a connection.
const LONGEST: Duration = Duration::from_secs(20);

/// The next of a sequence of numbers that only the seed decides (splitmix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.roll() % (end.max(1) as u64)).unwrap()
    }
}

/// Right requests, of every kind that a caller makes.
fn right(n: usize) -> Vec<u8> {
    let bearer = format!("Bearer {TOKEN}");
    let json = [
        ("Authorization", bearer.as_str()),
        ("Content-Type", "application/json"),
    ];
    let submit = submission(&n.to_string(), "done").to_string();
    let tenant = json!({"name": format!("tenant-{n}")}).to_string();
    let (method, target, body) = match n % 8 {
        0..=2 => ("POST", "/v1/actions", submit),
        3 => ("GET", "/v1/actions?limit=3", String::new()),
        4 => ("POST", "/v1/tenants", tenant),
        5 => ("POST", "/v1/callbacks/nobody", submit),
        6 => ("POST", "/v1/proposals", submit),
        _ => ("GET", "/v1/events?wait=0", String::new()),
    };
    request(method, target, &json, body.as_bytes())
}

/// The same with something broken: one place, or several.
fn broken(mut bytes: Vec<u8>, dice: &mut Dice) -> Vec<u8> {
    const PIECES: [&[u8]; 12] = [
        b"\r\n",
        b"\r\n\r\n",
        b"\0",
        b"\n",
        b" ",
        b"Transfer-Encoding: chunked\r\n",
        b"Content-Length: 99999999999999999999\r\n",
        b"Expect: 100-continue\r\n",
        b"\xff\xfe",
        b"%00",
        b"{\"a\":",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ];
    for _ in 0..=dice.below(3) {
        let at = dice.below(bytes.len());
        match dice.below(7) {
            0 => bytes[at] ^= 1 << dice.below(8),
            1 => bytes[at] = dice.roll().to_le_bytes()[0],
            2 => bytes.truncate(at + 1),
            3 => drop(bytes.remove(at)),
            4 => {
                let piece = PIECES[dice.below(PIECES.len())];
                bytes.splice(at..at, piece.iter().copied());
            }
            5 => {
                let end = at + dice.below(bytes.len() - at);
                let copy = bytes[at..end].to_vec();
                bytes.splice(at..at, copy);
            }
            _ => {
                let end = bytes.len().min(at + 1 + dice.below(40));
                bytes[at..end].reverse();
            }
        }
    }
    if bytes.is_empty() { vec![0] } else { bytes }
}

/// What came of one request before its connection ended.
async fn sent(world: &World, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(world.address).await.unwrap();
    let mut answer = Vec::new();
    let conversation = async {
        let _ = stream.write_all(bytes).await;
        let _ = stream.read_to_end(&mut answer).await;
    };
    timeout(LONGEST, conversation)
        .await
        .unwrap_or_else(|_| panic!("held for ever: {}", bytes.escape_ascii()));
    answer
}

/// The answers that one connection carried: of each its status and body. Chunked bodies are none of ours.
fn answers(bytes: &[u8]) -> Vec<(u16, Vec<u8>)> {
    let mut rest = bytes;
    let mut found = Vec::new();
    while let Some(end) = rest.windows(4).position(|four| four == b"\r\n\r\n") {
        let head = std::str::from_utf8(&rest[..end]).expect("heads are ASCII");
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1));
        let status: u16 = status.and_then(|text| text.parse().ok()).expect("a status");
        let length = lines.find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            let is_length = name.eq_ignore_ascii_case("content-length");
            is_length.then(|| value.parse::<usize>().unwrap())
        });
        let body = &rest[end + 4..];
        let length = length.unwrap_or(0).min(body.len());
        found.push((status, body[..length].to_vec()));
        rest = &body[length..];
    }
    assert!(rest.is_empty(), "half an answer: {}", rest.escape_ascii());
    found
}

/// Holds one answer against what an answer may be. The id of the action, if one was recorded.
fn judged(status: u16, body: &[u8], asked: &[u8]) -> Option<String> {
    let said = || {
        format!(
            "{status} {} to {}",
            body.escape_ascii(),
            asked.escape_ascii()
        )
    };
    assert!(status < 500, "{}", said());
    // What a caller wrote elsewhere than where a token belongs may be repeated to it; the token itself is not.
    if occurrences(asked) < 2 {
        assert_eq!(occurrences(body), 0, "{}", said());
    }
    if status < 200 || body.is_empty() {
        // Leave to go on, or what is no HTTP, which is refused before there is a call.
        assert!(
            matches!(status, 100 | 400 | 408 | 414 | 431 | 505),
            "{}",
            said()
        );
        return None;
    }
    let Ok(json) = serde_json::from_slice::<Value>(body) else {
        assert!(status < 400, "{}", said());
        return None;
    };
    if status >= 400 {
        let whole = ["type", "code", "rule", "remedy", "request_id"];
        assert!(
            whole.iter().all(|member| json[member].is_string()),
            "{}",
            said()
        );
        return None;
    }
    let id = json["id"].as_str().filter(|id| id.starts_with("act_"));
    id.map(str::to_owned)
}

/// How often the token stands in these bytes.
fn occurrences(bytes: &[u8]) -> usize {
    let lower = bytes.to_ascii_lowercase();
    let parts = lower.windows(TOKEN.len());
    parts.filter(|part| *part == TOKEN.as_bytes()).count()
}

async fn recorded(world: &World) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    let mut from = String::new();
    loop {
        let page = world
            .get(&format!("/v1/actions?limit=500{from}"))
            .await
            .json();
        let actions = page["actions"].as_array().unwrap();
        all.extend(
            actions
                .iter()
                .map(|one| one["id"].as_str().unwrap().to_owned()),
        );
        match page["next_before"].as_str() {
            Some(next) => from = format!("&before={next}"),
            None => return all,
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_malformed_requests_leave_what_was_answered_and_nothing_else() {
    let limits = |limits| Limits {
        head_wait: Duration::from_millis(300),
        body_wait: Duration::from_millis(300),
        connections_max: AT_ONCE,
        ..limits
    };
    let world = Arc::new(World::with("", limits).await);
    let mut callers = JoinSet::new();
    for first in 0..AT_ONCE {
        let world = world.clone();
        callers.spawn(async move {
            let mut dice = Dice(SEED + first as u64);
            let mut made = BTreeSet::new();
            let (mut refused, mut closed) = (0, 0);
            for n in (first..REQUESTS).step_by(AT_ONCE) {
                let bytes = broken(right(n), &mut dice);
                let answers = answers(&sent(&world, &bytes).await);
                closed += usize::from(answers.is_empty());
                for (status, body) in answers {
                    refused += usize::from(status >= 400);
                    made.extend(judged(status, &body, &bytes));
                }
            }
            (made, refused, closed)
        });
    }
    let (mut answered, mut refused, mut closed) = (BTreeSet::new(), 0, 0);
    while let Some(done) = callers.join_next().await {
        let (made, no, end) = done.unwrap();
        answered.extend(made);
        refused += no;
        closed += end;
    }
    assert!(refused > REQUESTS / 2, "{refused} refused, {closed} closed");
    assert_eq!(
        recorded(&world).await,
        answered,
        "of {refused} refused and {closed} closed"
    );
    let effects = world.ledger.arrived() as usize;
    assert!(
        effects <= answered.len(),
        "{effects} effects of {}",
        answered.len()
    );
    // Every place is free again: as many as there are can be taken at once, and one more request is answered meanwhile.
    let whole = world
        .post("/v1/actions", &submission("after all", "done"))
        .await;
    assert_eq!(whole.status, 201);
    let alive = exchange(world.address, &request("GET", "/healthz", &[], b"")).await;
    assert_eq!(alive.status, 200);
}
