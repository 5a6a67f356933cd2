//! How far a request came: every way of failing over plain HTTP/1.1, and what may be said of it.

use std::net::Ipv4Addr;
use std::sync::Mutex;
use std::sync::mpsc::channel;

use factum_core::Span;
use factum_core::evidence::Phase;
use factum_transport::{Ended, HttpTransport, Transport};
use tokio::net::TcpListener;

use crate::rig::{
    AMPLE, Conn, FIRST_WRITE, HAND_OVER, ScriptClock, Server, answered, assert_not_sent, lost, ok,
    permission, post, send, target, transport,
};

#[tokio::test]
async fn a_closed_port_is_proof() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let addr = listener.local_addr().unwrap();
    drop(listener);
    let ended = transport()
        .send(permission(AMPLE), &target(addr), post("/", "{}"), false)
        .await;
    assert_not_sent(&ended, Phase::Connect);
}

// B34
#[tokio::test]
async fn a_reset_on_accept_is_proven_or_unknown_and_never_repeated() {
    let mut server = Server::start(|conn: Conn| async { conn.reset() }).await;
    for turn in 1..=60 {
        let ended = send(&server, post("/", "{}")).await;
        match ended {
            Ended::NotSent { phase, .. } => {
                assert!(matches!(phase, Phase::Connect | Phase::Write), "{phase:?}");
            }
            Ended::Lost { wrote, read, .. } => assert!(wrote > 0 && read == 0),
            Ended::Answered { .. } => panic!("nobody answered"),
        }
        assert_eq!(server.seen().await.bytes, b"");
        assert_eq!(server.accepted(), turn, "one connection for one attempt");
    }
}

// B32 (a)
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closed_unread_before_the_first_byte_is_proof() {
    let (tell, closed) = channel();
    let mut server = Server::start(move |conn: Conn| {
        let tell = tell.clone();
        async move {
            let seen = conn.close();
            // Who saw the close by other means waits no more.
            let _ = tell.send(());
            seen
        }
    })
    .await;
    let closed = Mutex::new(closed);
    let clock = ScriptClock::new(move |reading| {
        if reading == HAND_OVER {
            closed.lock().unwrap().recv().unwrap();
        }
        Span::ZERO
    });
    let ended = HttpTransport::new(clock)
        .send(
            permission(AMPLE),
            &target(server.addr),
            post("/", "{}"),
            false,
        )
        .await;
    assert_not_sent(&ended, Phase::Write);
    assert_eq!(server.seen().await.bytes, b"");
    assert_eq!(server.accepted(), 1);
}

// B32 (c): the kernel took the bytes, the server closed without reading them; our side cannot tell this from a lost answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closed_unread_between_the_last_look_and_the_write_is_unknown() {
    let (tell, closed) = channel();
    let mut server = Server::start(move |conn: Conn| {
        let tell = tell.clone();
        async move {
            let seen = conn.close();
            // Who saw the close by other means waits no more.
            let _ = tell.send(());
            seen
        }
    })
    .await;
    let closed = Mutex::new(closed);
    let clock = ScriptClock::new(move |reading| {
        if reading == FIRST_WRITE {
            closed.lock().unwrap().recv().unwrap();
        }
        Span::ZERO
    });
    let ended = HttpTransport::new(clock)
        .send(
            permission(AMPLE),
            &target(server.addr),
            post("/", "{}"),
            false,
        )
        .await;
    match ended {
        // The runtime may see the close before hyper writes.
        Ended::NotSent { phase, .. } => assert!(matches!(phase, Phase::Write)),
        Ended::Lost { .. } => assert_eq!(lost(ended).2, 0),
        Ended::Answered { .. } => panic!("nobody answered"),
    }
    assert_eq!(server.seen().await.bytes, b"");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_the_kernel_refuses_is_proof() {
    let (tell, reset) = channel();
    let server = Server::start(move |conn: Conn| {
        let tell = tell.clone();
        async move {
            let seen = conn.reset();
            // Who saw the reset by other means waits no more.
            let _ = tell.send(());
            seen
        }
    })
    .await;
    let reset = Mutex::new(reset);
    let clock = ScriptClock::new(move |reading| {
        if reading == FIRST_WRITE {
            reset.lock().unwrap().recv().unwrap();
        }
        Span::ZERO
    });
    let to = target(server.addr);
    let ended = HttpTransport::new(clock)
        .send(permission(AMPLE), &to, post("/", "{}"), false)
        .await;
    match ended {
        // The reset may overtake the connecting itself.
        Ended::NotSent { phase, .. } => {
            assert!(matches!(phase, Phase::Connect | Phase::Write), "{phase:?}");
        }
        Ended::Lost { .. } | Ended::Answered { .. } => panic!("{ended:?}"),
    }
}

#[tokio::test]
async fn read_whole_and_closed_is_unknown() {
    let mut server = Server::start(|mut conn: Conn| async {
        conn.read_request().await;
        conn.close()
    })
    .await;
    let (phase, wrote, read, status) = lost(send(&server, post("/", "{}")).await);
    let seen = server.seen().await;
    assert_eq!((phase, read, status), (Phase::Head, 0, None));
    assert_eq!(wrote, seen.bytes.len() as u64);
    assert_eq!(server.accepted(), 1);
}

// B37
#[tokio::test]
async fn read_whole_and_reset_is_unknown_and_sent_once() {
    let mut server = Server::start(|mut conn: Conn| async {
        conn.read_request().await;
        conn.reset()
    })
    .await;
    let (phase, wrote, read, _) = lost(send(&server, post("/", "{}")).await);
    let seen = server.seen().await;
    assert_eq!((phase, read), (Phase::Head, 0));
    assert_eq!(wrote, seen.bytes.len() as u64);
    assert_eq!((seen.requests(), server.accepted()), (1, 1));
}

// B32 (b)
#[tokio::test]
async fn one_byte_read_is_unknown() {
    let mut server = Server::start(|mut conn: Conn| async {
        conn.read_exactly(1).await;
        conn.reset()
    })
    .await;
    let (_, wrote, read, _) = lost(send(&server, post("/", "{}")).await);
    assert!(wrote >= 1 && read == 0);
    assert_eq!(server.seen().await.bytes, b"P");
    assert_eq!(server.accepted(), 1);
}

#[tokio::test]
async fn half_a_head_is_unknown_with_the_bytes_that_came() {
    let mut server = Server::start(|mut conn: Conn| async {
        conn.read_request().await;
        conn.write("HTTP/1.1 200 OK\r\ncontent-").await;
        conn.close()
    })
    .await;
    let (phase, wrote, read, status) = lost(send(&server, post("/", "{}")).await);
    assert_eq!((phase, read, status), (Phase::Head, 25, None));
    assert_eq!(wrote, server.seen().await.bytes.len() as u64);
}

#[tokio::test]
async fn half_a_body_is_unknown_with_its_status() {
    for cut in [
        "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"id\":",
        "HTTP/1.1 201 Created\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{\"id\"\r\n",
    ] {
        let server = Server::start(move |mut conn: Conn| async move {
            conn.read_request().await;
            conn.write(cut).await;
            conn.close()
        })
        .await;
        let (phase, _, read, status) = lost(send(&server, post("/", "{}")).await);
        assert_eq!(phase, Phase::Body);
        assert_eq!(read, cut.len() as u64);
        assert!(matches!(status, Some(200 | 201)));
    }
}

#[tokio::test]
async fn a_body_that_was_written_in_part_is_unknown() {
    const WHOLE: usize = 8 * 1024 * 1024;
    let mut server = Server::start(|mut conn: Conn| async {
        conn.read_exactly(200).await;
        conn.close()
    })
    .await;
    let (phase, wrote, _, _) = lost(send(&server, post("/", vec![b'x'; WHOLE])).await);
    assert_eq!(phase, Phase::Write);
    assert!(wrote >= 200 && wrote < WHOLE as u64, "{wrote}");
    assert_eq!(server.seen().await.bytes.len(), 200);
}

// B19
#[tokio::test]
async fn a_redirect_is_an_answer_and_the_second_host_gets_nothing() {
    let second = Server::start(|mut conn: Conn| async {
        conn.read_to_end().await;
        conn.close()
    })
    .await;
    for status in [301, 302, 303, 307, 308] {
        let location = format!("http://{}/other", second.addr);
        let mut first = Server::start(move |mut conn: Conn| {
            let location = location.clone();
            async move {
                conn.read_request().await;
                conn.write(format!(
                    "HTTP/1.1 {status} Moved\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n"
                ))
                .await;
                conn.close()
            }
        })
        .await;
        let answer = answered(send(&first, post("/", "{}")).await);
        assert_eq!(answer.status, status);
        assert!(answer.header("location").is_some());
        assert_eq!(first.seen().await.requests(), 1);
        assert_eq!(first.accepted(), 1);
    }
    assert_eq!(second.accepted(), 0);
}

#[tokio::test]
async fn the_request_goes_over_the_wire_as_it_was_built() {
    let mut server = Server::start(|mut conn: Conn| async {
        conn.read_request().await;
        conn.write(ok("{}")).await;
        conn.close()
    })
    .await;
    let base = format!("http://localhost:{}/api/v2/", server.addr.port());
    let to = factum_transport::Target::parse(&base, false).unwrap();
    let mut request = post("/tickets?notify=no", "{\"a\":1}");
    request
        .headers
        .push(("idempotency-key".to_owned(), "k-1".to_owned()));
    let ended = transport()
        .send(permission(AMPLE), &to, request, false)
        .await;
    let Ended::Answered { wrote, .. } = ended else {
        panic!("{ended:?}")
    };
    let seen = server.seen().await;
    assert_eq!(wrote, seen.bytes.len() as u64);
    let text = seen.text();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let mut lines: Vec<_> = head.lines().collect();
    assert_eq!(lines.remove(0), "POST /api/v2/tickets?notify=no HTTP/1.1");
    lines.sort_unstable();
    let host = format!("host: localhost:{}", server.addr.port());
    assert_eq!(
        lines,
        [
            "connection: close",
            "content-length: 7",
            "content-type: application/json",
            host.as_str(),
            "idempotency-key: k-1",
            concat!("user-agent: factum/", env!("CARGO_PKG_VERSION")),
        ]
    );
    assert_eq!(body, "{\"a\":1}");
}

#[tokio::test]
async fn what_cannot_be_a_request_is_not_sent() {
    let server = Server::start(|conn: Conn| async { conn.close() }).await;
    let with = |name: &str, value: &str| {
        let mut request = post("/", "");
        request.headers = vec![(name.to_owned(), value.to_owned())];
        request
    };
    let mut connect = post("/", "");
    connect.method = "CONNECT".to_owned();
    let mut lower = post("/", "");
    lower.method = "post".to_owned();
    let bad = [
        post("no-slash", ""),
        post("/a b", ""),
        post("/a#b", ""),
        post("/a/../b", ""),
        post("/a/%2E%2e/b", ""),
        with("host", "other"),
        with("content-length", "3"),
        with("transfer-encoding", "chunked"),
        with("expect", "100-continue"),
        with("x-a", "b\r\nx-c: d"),
        with("x a", "b"),
        connect,
        lower,
    ];
    for request in bad {
        let ended = send(&server, request).await;
        assert_not_sent(&ended, Phase::Prepare);
    }
    assert_eq!(server.accepted(), 0);
}
