//! What has to hold whatever bytes a peer answers with. `byte_noise` calls this with drawn bytes, `fuzz/` with bytes that a fuzzer
//! finds; it uses nothing but the crate's own interface, so that both can include this file.

use std::net::Ipv4Addr;
use std::sync::{Arc, LazyLock};

use factum_contract::http::{HttpAnswer, HttpRequest};
use factum_core::{Span, Timestamp};
use factum_transport::{Asked, Clock, HttpTransport, Target, Transport};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

/// Long enough that no case reaches it: the peer always ends its connection.
const AMPLE: Span = Span::from_secs(60);

struct StandsStill;

impl Clock for StandsStill {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(1_000_000_000)
    }
}

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().expect("a runtime starts")
});

/// Bytes that a peer answers a question with before it ends its connection. No answer is made up, and none is taken for whole
/// that is not: where the answer says its own length, bytes that arrive in two parts make the same answer, and a part of them
/// makes the same answer or none.
pub(crate) fn answer(bytes: &[u8]) {
    let half = bytes.len() / 2;
    let (whole, parted, part) = RUNTIME.block_on(async {
        let whole = asked(&[bytes]).await;
        let parted = asked(&[&bytes[..half], &bytes[half..]]).await;
        (whole, parted, asked(&[&bytes[..half]]).await)
    });
    assert_eq!(whole, parted, "how bytes arrive is no part of an answer");
    for (answer, bytes) in [(&whole, bytes), (&part, &bytes[..half])] {
        if let Some(answer) = answer {
            check(answer, bytes);
        }
    }
    if let Some(part) = part
        && says_its_length(&part)
    {
        assert_eq!(Some(part), whole, "a part was taken for whole");
    }
}

/// Whether the answer's own end shows where it ends. A coding that is not chunked at last ends with the connection (RFC 9112,
/// section 6.3), as an answer without any length does.
fn says_its_length(answer: &HttpAnswer) -> bool {
    let last = |codings: &str| {
        codings
            .rsplit(',')
            .next()
            .unwrap_or_default()
            .trim()
            .to_lowercase()
    };
    match answer.header("transfer-encoding") {
        Some(codings) => last(codings) == "chunked",
        None => answer.header("content-length").is_some() || matches!(answer.status, 204 | 304),
    }
}

fn check(answer: &HttpAnswer, bytes: &[u8]) {
    assert!((100..1000).contains(&answer.status), "{answer:?}");
    let line = format!(" {}", answer.status);
    let told = bytes
        .windows(line.len())
        .any(|part| part == line.as_bytes());
    assert!(told, "nobody said {}: {answer:?}", answer.status);
    for (name, value) in &answer.headers {
        assert!(
            !name.bytes().any(|byte| byte.is_ascii_uppercase()),
            "{name:?}"
        );
        assert!(!value.contains(['\r', '\n', '\0']), "{name}: {value:?}");
    }
    assert!(answer.body.len() <= bytes.len(), "a body of more than came");
    let chunked = answer.header("transfer-encoding").is_some();
    if !chunked {
        let stands =
            answer.body.is_empty() || bytes.ends_with(&answer.body) || holds(bytes, &answer.body);
        assert!(stands, "a body that nobody sent: {answer:?}");
        if let Some(length) = answer.header("content-length")
            && !matches!(answer.status, 204 | 304)
            && !answer.truncated
        {
            let length = length
                .split(',')
                .next()
                .and_then(|text| text.trim().parse().ok());
            assert_eq!(length, Some(answer.body.len()), "cut short: {answer:?}");
        }
    }
}

fn holds(bytes: &[u8], body: &[u8]) -> bool {
    bytes.windows(body.len()).any(|part| part == body)
}

/// What is read from a peer that answers with these parts, one after the other, and ends its connection.
async fn asked(parts: &[&[u8]]) -> Option<HttpAnswer> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
    let listener = listener.expect("loopback has a free port");
    let address = listener.local_addr().expect("it is bound");
    let target = Target::parse(&format!("http://{address}"), false).expect("loopback is a target");
    let peer = async {
        let (mut peer, _) = listener.accept().await.expect("somebody asks");
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") && matches!(peer.read_buf(&mut head).await, Ok(1..)) {}
        for part in parts {
            // Whoever asks may have read enough, and be gone.
            if peer.write_all(part).await.is_err() || peer.flush().await.is_err() {
                return;
            }
            tokio::task::yield_now().await;
        }
        let _ = peer.shutdown().await;
        let _ = peer.read_to_end(&mut head).await;
    };
    let request = HttpRequest {
        method: "GET".to_owned(),
        path_and_query: "/".to_owned(),
        headers: Vec::new(),
        body: Vec::new(),
    };
    let transport = HttpTransport::new(Arc::new(StandsStill));
    let (asked, ()) = tokio::join!(transport.ask(&target, request, AMPLE), peer);
    match asked {
        Asked::Answered(answer) => Some(answer),
        Asked::Failed { detail, .. } => {
            assert!(!detail.is_empty());
            None
        }
    }
}
