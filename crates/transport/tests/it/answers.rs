//! Answers that are whole, in every framing, and answers that are not.

use factum_contract::http::HttpRequest;
use factum_core::Span;
use factum_core::evidence::Phase;
use factum_transport::{Asked, HttpLimits, Transport};
use tokio::sync::oneshot;

use crate::rig::{
    AMPLE, Conn, Server, Times, answered, lost, ok, permission, post, send, target, transport,
};

async fn replies(text: impl Into<String>) -> Server {
    let text = text.into();
    Server::start(move |mut conn: Conn| {
        let text = text.clone();
        async move {
            conn.read_request().await;
            conn.write(&text).await;
            conn.close()
        }
    })
    .await
}

// B17
#[tokio::test]
async fn every_framing_of_a_whole_answer_is_read() {
    let rows = [
        (ok("{\"id\":1}"), 200, "{\"id\":1}"),
        ("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_owned(), 200, ""),
        ("HTTP/1.1 204 No Content\r\n\r\n".to_owned(), 204, ""),
        (
            "HTTP/1.1 201 Created\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\nx-trailer: 1\r\n\r\n".to_owned(),
            201,
            "abcde",
        ),
        ("HTTP/1.1 202 Accepted\r\n\r\nuntil the end".to_owned(), 202, "until the end"),
        (format!("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n{}", ok("late")), 200, "late"),
        ("HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok".to_owned(), 200, "ok"),
        ("HTTP/1.1 500 Oops\r\ncontent-length: 4\r\n\r\noops".to_owned(), 500, "oops"),
        ("HTTP/1.1 429 Slow\r\nretry-after: 7\r\ncontent-length: 0\r\n\r\n".to_owned(), 429, ""),
    ];
    for (text, status, body) in rows {
        let server = replies(text).await;
        let answer = answered(send(&server, post("/", "{}")).await);
        assert_eq!(answer.status, status);
        assert_eq!(answer.body, body.as_bytes());
        assert!(!answer.truncated);
    }
}

#[tokio::test]
async fn headers_are_kept_in_lower_case_and_foreign_bytes_are_replaced() {
    let text = b"HTTP/1.1 200 OK\r\nX-Id: 7\r\nX-Odd: caf\xc3\xa9\r\ncontent-length: 0\r\n\r\n";
    let server = Server::start(move |mut conn: Conn| async move {
        conn.read_request().await;
        conn.write(text).await;
        conn.close()
    })
    .await;
    let answer = answered(send(&server, post("/", "{}")).await);
    assert_eq!(answer.header("x-id"), Some("7"));
    assert_eq!(answer.header("x-odd"), Some("caf\u{fffd}\u{fffd}"));
}

#[tokio::test]
async fn an_answer_that_is_none_is_a_loss() {
    let long = format!(
        "HTTP/1.1 200 OK\r\nx-long: {}\r\ncontent-length: 0\r\n\r\n",
        "y".repeat(200_000)
    );
    for text in [
        "SMTP ready\r\n",
        "HTTP/1.1 2x0 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
        "HTTP/2 200\r\n\r\n",
        &long,
    ] {
        let server = replies(text).await;
        let (phase, _, read, status) = lost(send(&server, post("/", "{}")).await);
        assert_eq!((phase, status), (Phase::Head, None));
        assert!(read > 0);
    }
}

#[tokio::test]
async fn a_body_beyond_the_bound_is_cut_and_says_so() {
    let server = replies(ok(&"z".repeat(5_000))).await;
    for (bound, kept, truncated) in [(1_000, 1_000, true), (5_000, 5_000, false), (0, 0, true)] {
        let limits = HttpLimits {
            body_max_bytes: bound,
            ..HttpLimits::default()
        };
        let to = target(server.addr).with_limits(limits);
        let ended = transport()
            .send(permission(AMPLE), &to, post("/", "{}"), false)
            .await;
        let answer = answered(ended);
        assert_eq!((answer.body.len(), answer.truncated), (kept, truncated));
    }
}

#[tokio::test]
async fn an_answer_before_the_whole_request_was_read_is_an_answer() {
    let server = Server::start(|mut conn: Conn| async {
        conn.read_exactly(100).await;
        conn.write("HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            .await;
        conn.read_to_end().await;
        conn.close()
    })
    .await;
    let answer = answered(send(&server, post("/", vec![b'x'; 4 * 1024 * 1024])).await);
    assert_eq!(answer.status, 413);
}

// B40
#[tokio::test]
async fn a_late_answer_within_the_limit_is_an_answer() {
    let (release, wait) = oneshot::channel::<()>();
    let wait = std::sync::Mutex::new(Some(wait));
    let (tell, mut read_whole) = tokio::sync::mpsc::unbounded_channel();
    let server = Server::start(move |mut conn: Conn| {
        let wait = wait.lock().unwrap().take();
        let tell = tell.clone();
        async move {
            conn.read_request().await;
            tell.send(()).unwrap();
            wait.expect("one connection").await.unwrap();
            conn.write(ok("done")).await;
            conn.close()
        }
    })
    .await;
    let transport = transport();
    let to = target(server.addr);
    let sending = transport.send(permission(AMPLE), &to, post("/", "{}"), false);
    let answering = async {
        read_whole.recv().await.unwrap();
        release.send(()).unwrap();
    };
    let (ended, ()) = tokio::join!(sending, answering);
    assert_eq!(answered(ended).body, b"done");
}

#[tokio::test]
async fn head_and_get_have_no_length_to_state() {
    for method in ["GET", "HEAD"] {
        let mut server =
            replies("HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await;
        let request = HttpRequest {
            method: method.to_owned(),
            path_and_query: "/x".to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
        };
        let asked = transport()
            .ask(&target(server.addr), request, Span::from_secs(60))
            .await;
        assert!(matches!(asked, Asked::Answered(answer) if answer.status == 200));
        let seen = server.seen().await.text();
        assert!(
            seen.starts_with(&format!("{method} /x HTTP/1.1\r\n")),
            "{seen}"
        );
        assert!(!seen.contains("content-length"), "{seen}");
    }
}

#[tokio::test]
async fn a_question_that_fails_says_how_far_it_came() {
    let cut = replies("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n[]").await;
    let silent = Server::start(|mut conn: Conn| async {
        conn.read_to_end().await;
        conn.close()
    })
    .await;
    for (server, limit, at) in [
        (&cut, Span::from_secs(60), Phase::Body),
        (&silent, Span::from_millis(100), Phase::Head),
    ] {
        let asked = transport()
            .ask(&target(server.addr), post("/search", "{}"), limit)
            .await;
        match asked {
            Asked::Failed { phase, .. } => assert_eq!(phase, at),
            Asked::Answered(answer) => panic!("{answer:?}"),
        }
    }
}

// B38
#[tokio::test]
async fn an_answer_slower_than_the_limit_is_lost_and_nothing_is_repeated() {
    let mut server = Server::start(|mut conn: Conn| async {
        conn.read_request().await;
        conn.read_to_end().await;
        conn.close()
    })
    .await;
    let times = Times {
        answer: Span::from_millis(120),
        ..AMPLE
    };
    let ended = transport()
        .send(
            permission(times),
            &target(server.addr),
            post("/", "{}"),
            false,
        )
        .await;
    let (phase, wrote, read, _) = lost(ended);
    let seen = server.seen().await;
    assert_eq!((phase, read), (Phase::Head, 0));
    assert_eq!(wrote, seen.bytes.len() as u64);
    assert!(
        seen.reset,
        "at the limit the connection is closed abortively"
    );
    assert_eq!((seen.requests(), server.accepted()), (1, 1));
}
