//! What holds at the edge: rates, headers for browsers, ids of requests, and callers that are slow on purpose.

use std::time::Duration;

use factum_server::{Limits, Rate};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;

use crate::client::{exchange, request};
use crate::world::{TOKEN, World, submission};

const SOON: Duration = Duration::from_millis(200);

// B193
#[tokio::test]
async fn a_token_that_asks_too_much_is_refused_before_anything_is_recorded() {
    let world = World::with("", |limits| Limits {
        rate: Some(Rate {
            per_second: 1,
            burst: 20,
        }),
        ..limits
    })
    .await;
    let other = world.tenant("acme").await;
    let mut callers = JoinSet::new();
    for n in 0..60 {
        let bearer = format!("Bearer {TOKEN}");
        let body = submission(&n.to_string(), "done").to_string();
        let headers: &[(&str, &str)] = &[("Authorization", &bearer)];
        let bytes = request("POST", "/v1/actions", headers, body.as_bytes());
        let address = world.address;
        callers.spawn(async move { exchange(address, &bytes).await });
    }
    let answers = callers.join_all().await;
    let taken = answers.iter().filter(|answer| answer.status == 201).count();
    let refused: Vec<_> = answers.iter().filter(|one| one.status != 201).collect();
    assert!((1..=30).contains(&taken), "{taken} of 60 were let through");
    for answer in refused {
        assert_eq!(
            (answer.status, &answer.json()["code"]),
            (429, &json!("F1150"))
        );
        let wait: u64 = answer.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=60).contains(&wait), "{wait}");
        assert_eq!(answer.json()["retry_after"], wait);
    }
    let theirs = world.call_as(&other, "GET", "/v1/actions", &[], "").await;
    assert_eq!(theirs.status, 200, "another token has its own rate");
    let mut recorded = None;
    while recorded.is_none() {
        let listed = world.get("/v1/actions?limit=100").await;
        recorded = listed.json()["actions"].as_array().map(Vec::len);
        tokio::time::sleep(SOON).await;
    }
    assert_eq!(recorded, Some(taken), "what was refused left no trace");
    let alive = exchange(world.address, &request("GET", "/healthz", &[], b"")).await;
    assert_eq!(alive.status, 200, "whoever needs no token has no rate");
}

// No page of another site gets to read an answer, or to send what it would have to ask for first.
#[tokio::test]
async fn browsers_of_other_sites_are_told_nothing() {
    let world = World::start().await;
    let origin = [
        ("Origin", "https://evil.example"),
        ("Access-Control-Request-Method", "POST"),
        ("Access-Control-Request-Headers", "authorization"),
    ];
    let bearer = format!("Bearer {TOKEN}");
    let mut answers = Vec::new();
    for (method, target, token) in [
        ("OPTIONS", "/v1/actions", true),
        ("OPTIONS", "/v1/actions", false),
        ("OPTIONS", "*", false),
        ("GET", "/v1/actions", true),
        ("GET", "/v1/actions", false),
        ("GET", "/healthz", false),
        ("GET", "/nowhere", true),
        ("GET", "/openapi.json", true),
        ("GET", "/v1/events?wait=0", true),
    ] {
        let mut headers = origin.to_vec();
        headers.extend(token.then_some(("Authorization", bearer.as_str())));
        let answer = exchange(world.address, &request(method, target, &headers, b"")).await;
        answers.push((method, target, answer));
    }
    for (method, target, answer) in &answers {
        let allows = |(name, _): &(String, String)| name.starts_with("access-control-");
        assert!(!answer.headers.iter().any(allows), "{method} {target}");
        if *method == "OPTIONS" {
            assert!(answer.status >= 400, "{method} {target}: {answer:?}");
        }
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            (
                "content-security-policy",
                "default-src 'none'; frame-ancestors 'none'",
            ),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{method} {target}");
        }
        assert!(answer.header("x-request-id").is_some());
        assert_eq!(
            answer.header("strict-transport-security"),
            None,
            "nothing is promised about TLS where there is none"
        );
    }
}

#[tokio::test]
async fn a_request_keeps_the_id_that_its_caller_gave_it() {
    let world = World::start().await;
    let headers = [("X-Request-Id", "order-77.try-2")];
    let answer = world.call("GET", "/v1/actions", &headers, "").await;
    assert_eq!(answer.header("x-request-id"), Some("order-77.try-2"));
    let answer = world
        .call("GET", "/v1/actions/nonsense", &headers, "")
        .await;
    assert_eq!(answer.status, 404);
    assert_eq!(answer.header("x-request-id"), Some("order-77.try-2"));
    let headers = [("X-Request-Id", "<script>")];
    let answer = world.call("GET", "/v1/actions", &headers, "").await;
    let id = answer.header("x-request-id").unwrap();
    assert!(id.starts_with("req_"), "{id}");
}

/// A few places, and little patience.
fn impatient(limits: Limits) -> Limits {
    Limits {
        head_wait: SOON,
        body_wait: SOON,
        write_wait: SOON,
        connections_max: 4,
        ..limits
    }
}

/// Reads until the other side ends it. Answers how much came.
async fn drained(stream: &mut TcpStream) -> usize {
    let mut rest = Vec::new();
    // A reset ends it as well.
    let _ = stream.read_to_end(&mut rest).await;
    rest.len()
}

// Slowloris: heads and bodies that never end hold no place for long.
#[tokio::test]
async fn callers_that_drip_are_let_go_and_others_get_their_places() {
    let world = World::with("", impatient).await;
    let head = format!(
        "POST /v1/actions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: 1000\r\n\r\n{{"
    );
    let mut dripping = JoinSet::new();
    for (begun, drop) in [
        ("G".to_owned(), "E"),
        ("GET /healthz HTTP/1.1\r\n".to_owned(), "X: y\r\n"),
        (head.clone(), " "),
        (head, " "),
    ] {
        let mut stream = TcpStream::connect(world.address).await.unwrap();
        dripping.spawn(async move {
            stream.write_all(begun.as_bytes()).await.unwrap();
            let (mut reads, mut writes) = stream.split();
            let mut answer = Vec::new();
            let dripped = async {
                while writes.write_all(drop.as_bytes()).await.is_ok() {
                    tokio::time::sleep(SOON / 20).await;
                }
                std::future::pending::<()>().await;
            };
            tokio::select! {
                _ = reads.read_to_end(&mut answer) => {}
                () = dripped => {}
            }
            String::from_utf8_lossy(&answer).into_owned()
        });
    }
    // All four places are held. Whoever comes now waits until one is let go, and is answered.
    let waiting = world
        .post("/v1/actions", &submission("waiting", "done"))
        .await;
    assert_eq!(waiting.status, 201);
    for answer in dripping.join_all().await {
        assert!(
            !answer.contains(" 200 ") && !answer.contains(" 201 "),
            "{answer}"
        );
    }
    assert_eq!(world.ledger.arrived_as("waiting"), 1);
}

/// Asks for far more than fits on the way, and takes nothing of it.
async fn takes_nothing(world: &World) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4_096).unwrap();
    let mut stream = socket.connect(world.address).await.unwrap();
    let one =
        format!("GET /openapi.json HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n\r\n");
    stream.write_all(one.repeat(100).as_bytes()).await.unwrap();
    stream
}

#[tokio::test]
async fn readers_that_do_not_read_are_let_go() {
    let world = World::with("", impatient).await;
    let mut held = Vec::new();
    for _ in 0..4 {
        held.push(takes_nothing(&world).await);
    }
    let next = world.get("/v1/actions").await;
    assert_eq!(next.status, 200, "a place was given up");
    let whole = world.get("/openapi.json").await.text.len();
    for mut stream in held {
        let came = drained(&mut stream).await;
        assert!(came < 100 * whole, "all of it came: {came}");
    }
}
