//! Kept connections: one connection at most carries bytes of an attempt, and a reused one proves nothing.

use std::collections::BTreeSet;

use factum_core::evidence::Phase;
use factum_transport::{Auth, Ended, HttpTransport, SecretRef, Target, Transport};
use tokio::sync::mpsc;

use crate::rig::{AMPLE, Conn, Server, answered, lost, ok, permission, post, target, transport};

async fn send(transport: &HttpTransport, to: &Target, path: &str) -> Ended {
    transport
        .send(permission(AMPLE), to, post(path, "{}"), true)
        .await
}

/// Answers `answers` requests on each connection, then reads whatever comes and closes.
async fn answers(answers: usize) -> Server {
    Server::start(move |mut conn: Conn| async move {
        for _ in 0..answers {
            if !conn.read_request().await {
                return conn.close();
            }
            conn.write(ok("{}")).await;
        }
        conn.read_request().await;
        conn.close()
    })
    .await
}

#[tokio::test]
async fn a_connection_is_used_again_where_that_is_allowed() {
    let mut server = answers(3).await;
    let transport = transport();
    let to = target(server.addr);
    for path in ["/1", "/2", "/3"] {
        assert_eq!(answered(send(&transport, &to, path).await).status, 200);
    }
    assert_eq!(server.accepted(), 1);
    drop(transport);
    let seen = server.seen().await;
    assert_eq!(seen.requests(), 3);
    assert!(!seen.text().contains("connection: close"));
}

#[tokio::test]
async fn without_leave_every_send_has_its_own_connection() {
    let server = answers(3).await;
    let transport = transport();
    let to = target(server.addr);
    answered(send(&transport, &to, "/kept").await);
    for turn in 2..=4 {
        let ended = transport
            .send(permission(AMPLE), &to, post("/own", "{}"), false)
            .await;
        answered(ended);
        assert_eq!(server.accepted(), turn);
    }
}

#[tokio::test]
async fn another_credential_has_another_connection() {
    let server = answers(3).await;
    let transport = transport();
    let to = target(server.addr);
    let other = to
        .clone()
        .with_auth(Auth::Bearer(SecretRef::parse("cmd:echo t").unwrap()))
        .unwrap();
    answered(send(&transport, &to, "/1").await);
    answered(send(&transport, &other, "/2").await);
    assert_eq!(server.accepted(), 2);
    answered(send(&transport, &to, "/3").await);
    assert_eq!(server.accepted(), 2);
}

#[tokio::test]
async fn an_answer_that_closes_or_is_cut_is_not_kept() {
    for text in [
        "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n".to_owned(),
        ok(&"z".repeat(3_000_000)),
    ] {
        let server = Server::start(move |mut conn: Conn| {
            let text = text.clone();
            async move {
                while conn.read_request().await {
                    conn.write(&text).await;
                }
                conn.close()
            }
        })
        .await;
        let transport = transport();
        let to = target(server.addr);
        answered(send(&transport, &to, "/1").await);
        answered(send(&transport, &to, "/2").await);
        assert_eq!(server.accepted(), 2);
    }
}

// B31, B35
#[tokio::test]
async fn read_on_a_reused_connection_and_closed_is_unknown_and_not_repeated() {
    for reset in [false, true] {
        let mut server = Server::start(move |mut conn: Conn| async move {
            conn.read_request().await;
            conn.write(ok("{}")).await;
            conn.read_request().await;
            if reset { conn.reset() } else { conn.close() }
        })
        .await;
        let transport = transport();
        let to = target(server.addr);
        answered(send(&transport, &to, "/first").await);
        let (phase, wrote, read, _) = lost(send(&transport, &to, "/second").await);
        assert_eq!((phase, read), (Phase::Head, 0));
        let seen = server.seen().await;
        assert_eq!((seen.requests(), server.accepted()), (2, 1));
        let second = seen.text().find("POST /second").unwrap();
        assert_eq!(
            wrote,
            (seen.bytes.len() - second) as u64,
            "counts are per request"
        );
    }
}

// B32 (a)
#[tokio::test]
async fn a_kept_connection_that_was_closed_unread_is_replaced_once() {
    let (tell, mut closed) = mpsc::unbounded_channel();
    let mut server = Server::start(move |mut conn: Conn| {
        let tell = tell.clone();
        async move {
            conn.read_request().await;
            conn.write(ok("{}")).await;
            let seen = conn.close();
            tell.send(()).unwrap();
            seen
        }
    })
    .await;
    let transport = transport();
    let to = target(server.addr);
    answered(send(&transport, &to, "/first").await);
    closed.recv().await.unwrap();
    answered(send(&transport, &to, "/second").await);
    assert_eq!(server.accepted(), 2);
    assert!(server.seen().await.text().contains("/first"));
    let second = server.seen().await;
    assert_eq!(second.requests(), 1);
    assert!(second.text().contains("/second"));
}

// B34
#[tokio::test]
async fn connections_that_die_at_once_are_not_tried_without_end() {
    let (tell, mut closed) = mpsc::unbounded_channel();
    let server = Server::start(move |mut conn: Conn| {
        let tell = tell.clone();
        async move {
            if conn.number == 0 {
                conn.read_request().await;
                conn.write(ok("{}")).await;
            }
            let seen = conn.close();
            tell.send(()).unwrap();
            seen
        }
    })
    .await;
    let transport = transport();
    let to = target(server.addr);
    answered(send(&transport, &to, "/first").await);
    closed.recv().await.unwrap();
    let ended = send(&transport, &to, "/second").await;
    assert!(!matches!(ended, Ended::Answered { .. }));
    closed.recv().await.unwrap();
    assert_eq!(server.accepted(), 2, "the kept one, and one fresh one");
}

// B31, B32, B34, B35, B37: the race of a server that closes right after each answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_the_keep_alive_race_no_attempt_arrives_twice_and_proof_never_lies() {
    const SENDS: usize = 300;
    let mut server = Server::start(|mut conn: Conn| async {
        conn.read_request().await;
        conn.write(ok("{}")).await;
        if conn.number.is_multiple_of(2) {
            conn.reset()
        } else {
            conn.close()
        }
    })
    .await;
    let transport = transport();
    let to = target(server.addr);
    let mut outcomes = Vec::new();
    for n in 0..SENDS {
        outcomes.push(send(&transport, &to, &format!("/n{n}/")).await);
    }
    drop(transport);
    let mut arrived = BTreeSet::new();
    for _ in 0..server.accepted() {
        let text = server.seen().await.text();
        for line in text.lines().filter(|line| line.starts_with("POST ")) {
            assert!(arrived.insert(line.to_owned()), "arrived twice: {line}");
        }
    }
    for (n, ended) in outcomes.iter().enumerate() {
        let there = arrived.contains(&format!("POST /n{n}/ HTTP/1.1"));
        match ended {
            Ended::Answered { .. } => assert!(there),
            Ended::NotSent { .. } => assert!(!there, "{n}: {ended:?}"),
            Ended::Lost { wrote, .. } => assert!(*wrote > 0),
        }
    }
}
