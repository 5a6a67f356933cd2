//! The permission and its limits at the socket: no byte after its end, none after the write limit, none after a cancel.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use factum_core::Span;
use factum_core::evidence::Phase;
use factum_transport::{Boxed, HttpTransport, Resolve, Target, Transport};

use crate::rig::{
    AMPLE, Conn, FIRST_WRITE, HAND_OVER, HandClock, ScriptClock, Server, Times, assert_not_sent,
    lost, permission, post, target, transport,
};

async fn listener() -> Server {
    Server::start(|mut conn: Conn| async {
        conn.read_to_end().await;
        conn.close()
    })
    .await
}

#[tokio::test]
async fn an_expired_permission_does_not_even_connect() {
    let server = listener().await;
    let clock = HandClock::new();
    let permission = permission(AMPLE);
    clock.advance(AMPLE.send_wait);
    let ended = HttpTransport::new(clock)
        .send(permission, &target(server.addr), post("/", "{}"), false)
        .await;
    assert_not_sent(&ended, Phase::Prepare);
    assert_eq!(server.accepted(), 0);
}

#[tokio::test]
async fn a_permission_that_ends_while_connecting_writes_nothing() {
    for (at, jump) in [(HAND_OVER, AMPLE.send_wait), (FIRST_WRITE, AMPLE.send_wait)] {
        let mut server = listener().await;
        let clock = ScriptClock::new(move |n| if n >= at { jump } else { Span::ZERO });
        let ended = HttpTransport::new(clock)
            .send(
                permission(AMPLE),
                &target(server.addr),
                post("/", "{}"),
                false,
            )
            .await;
        assert_not_sent(&ended, Phase::Prepare);
        assert_eq!(server.seen().await.bytes, b"");
        assert_eq!(server.accepted(), 1);
    }
}

/// Answers after a script has run.
struct Scripted<F>(F);

impl<F> Resolve for Scripted<F>
where
    F: Fn() -> Boxed<'static, io::Result<Vec<SocketAddr>>> + Send + Sync,
{
    fn resolve<'a>(&'a self, _: &'a str, _: u16) -> Boxed<'a, io::Result<Vec<SocketAddr>>> {
        (self.0)()
    }
}

#[tokio::test]
async fn a_clock_that_jumps_while_resolving_ends_the_permission() {
    let mut server = listener().await;
    let addr = server.addr;
    let clock = HandClock::new();
    let moved = Arc::clone(&clock);
    let resolver = Scripted(move || {
        moved.advance(AMPLE.send_wait);
        Box::pin(async move { Ok(vec![addr]) }) as Boxed<'static, _>
    });
    let to = Target::parse(&format!("http://localhost:{}", addr.port()), false).unwrap();
    let ended = HttpTransport::new(clock)
        .with_resolver(Arc::new(resolver))
        .send(permission(AMPLE), &to, post("/", "{}"), false)
        .await;
    assert_not_sent(&ended, Phase::Prepare);
    assert_eq!(server.seen().await.bytes, b"");
}

// B58
#[tokio::test]
async fn a_resolver_that_hangs_or_fails_is_proof() {
    let times = Times {
        send_wait: Span::from_millis(80),
        ..AMPLE
    };
    let to = Target::parse("http://localhost:9", false).unwrap();
    let hanging = Scripted(|| Box::pin(std::future::pending()) as Boxed<'static, _>);
    let ended = transport()
        .with_resolver(Arc::new(hanging))
        .send(permission(times), &to, post("/", "{}"), false)
        .await;
    assert_not_sent(&ended, Phase::Resolve);
    let failing =
        Scripted(|| Box::pin(async { Err(io::Error::other("no such host")) }) as Boxed<'static, _>);
    let ended = transport()
        .with_resolver(Arc::new(failing))
        .send(permission(AMPLE), &to, post("/", "{}"), false)
        .await;
    assert_not_sent(&ended, Phase::Resolve);
}

#[tokio::test]
async fn plain_http_does_not_leave_the_machine_by_a_name_that_moved() {
    let far: SocketAddr = "192.0.2.1:80".parse().unwrap();
    let resolver = Scripted(move || Box::pin(async move { Ok(vec![far]) }) as Boxed<'static, _>);
    let to = Target::parse("http://localhost", false).unwrap();
    let ended = transport()
        .with_resolver(Arc::new(resolver))
        .send(permission(AMPLE), &to, post("/", "{}"), false)
        .await;
    assert_not_sent(&ended, Phase::Resolve);
}

#[tokio::test]
async fn addresses_are_tried_in_turn_and_only_one_carries_bytes() {
    let dead = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let closed = dead.local_addr().unwrap();
    drop(dead);
    let mut server = Server::start(|mut conn: Conn| async {
        conn.read_request().await;
        conn.write(crate::rig::ok("{}")).await;
        conn.close()
    })
    .await;
    let open = server.addr;
    let resolver =
        Scripted(move || Box::pin(async move { Ok(vec![closed, open]) }) as Boxed<'static, _>);
    let to = Target::parse("http://localhost", false).unwrap();
    let ended = transport()
        .with_resolver(Arc::new(resolver))
        .send(permission(AMPLE), &to, post("/", "{}"), false)
        .await;
    assert_eq!(crate::rig::answered(ended).status, 200);
    assert_eq!(server.seen().await.requests(), 1);
}

/// The other side takes nothing, so that writing cannot end.
async fn deaf() -> (Server, tokio::sync::watch::Sender<bool>) {
    let (release, wait) = tokio::sync::watch::channel(false);
    let server = Server::start(move |mut conn: Conn| {
        let mut wait = wait.clone();
        async move {
            wait.wait_for(|released| *released).await.unwrap();
            conn.read_to_end().await;
            conn.close()
        }
    })
    .await;
    (server, release)
}

const LARGE: usize = 16 * 1024 * 1024;

#[tokio::test]
async fn at_the_write_limit_the_rest_is_never_sent() {
    let (mut server, release) = deaf().await;
    let times = Times {
        write: Span::from_millis(120),
        ..AMPLE
    };
    let ended = transport()
        .send(
            permission(times),
            &target(server.addr),
            post("/", vec![b'x'; LARGE]),
            false,
        )
        .await;
    let (phase, wrote, read, _) = lost(ended);
    assert_eq!((phase, read), (Phase::Write, 0));
    assert!(wrote < LARGE as u64);
    release.send(true).unwrap();
    let seen = server.seen().await;
    assert!(seen.reset, "what the kernel still held was discarded");
    assert!(seen.bytes.len() as u64 <= wrote);
}

#[tokio::test]
async fn a_pause_beyond_the_write_limit_ends_the_writing() {
    let (mut server, release) = deaf().await;
    let late = AMPLE.write + Span::from_millis(1);
    let clock = ScriptClock::new(move |n| if n > FIRST_WRITE { late } else { Span::ZERO });
    release.send(true).unwrap();
    let ended = HttpTransport::new(clock)
        .send(
            permission(AMPLE),
            &target(server.addr),
            post("/", vec![b'x'; LARGE]),
            false,
        )
        .await;
    let (phase, wrote, ..) = lost(ended);
    assert_eq!(phase, Phase::Write);
    assert!(wrote < LARGE as u64);
    assert!(server.seen().await.bytes.len() as u64 <= wrote);
}

#[tokio::test]
async fn a_send_that_is_dropped_resets_its_connection() {
    let (tell, mut begun) = tokio::sync::mpsc::unbounded_channel();
    let mut server = Server::start(move |mut conn: Conn| {
        let tell = tell.clone();
        async move {
            conn.read_request().await;
            tell.send(()).unwrap();
            conn.read_to_end().await;
            conn.close()
        }
    })
    .await;
    let transport = transport();
    let to = target(server.addr);
    let sending = transport.send(permission(AMPLE), &to, post("/", "{}"), false);
    tokio::select! {
        ended = sending => panic!("nobody answers: {ended:?}"),
        begun = begun.recv() => begun.unwrap(),
    }
    assert!(server.seen().await.reset);
}
