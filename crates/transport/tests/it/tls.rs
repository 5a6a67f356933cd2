//! TLS: what fails in the handshake is proof; what fails after it is careful.

use std::future::Future;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};

use factum_core::Span;
use factum_core::evidence::Phase;
use factum_transport::{Ended, HttpTransport, Target, Transport, Trust};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{RootCertStore, ServerConfig, SupportedProtocolVersion};
use tokio_rustls::server::TlsStream;

use crate::rig::{
    AMPLE, Conn, Dice, FIRST_WRITE, HAND_OVER, HandClock, ScriptClock, Seen, Server, Times,
    answered, assert_not_sent, lost, ok, permission, post,
};

/// An authority, and a certificate of it for `localhost`.
pub(crate) struct Pki {
    authority: CertifiedIssuer<'static, KeyPair>,
    server: rcgen::Certificate,
    key: KeyPair,
}

impl Pki {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let server = CertificateParams::new(vec!["localhost".to_owned()])
            .unwrap()
            .signed_by(&key, &authority)
            .unwrap();
        Self {
            authority,
            server,
            key,
        }
    }

    pub(crate) fn trust(&self) -> Trust {
        Trust::Only(vec![self.authority.der().to_vec()])
    }

    /// The authority's certificate as a file holds it.
    pub(crate) fn pem(&self) -> String {
        self.authority.pem()
    }

    fn config(
        &self,
        versions: &[&'static SupportedProtocolVersion],
        wants_client_certificate: bool,
    ) -> ServerConfig {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions)
            .unwrap();
        let builder = if wants_client_certificate {
            let mut roots = RootCertStore::empty();
            roots.add(self.authority.der().clone()).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                .build()
                .unwrap();
            builder.with_client_cert_verifier(verifier)
        } else {
            builder.with_no_client_auth()
        };
        let key = PrivateKeyDer::try_from(self.key.serialize_der()).unwrap();
        builder
            .with_single_cert(vec![self.server.der().clone()], key)
            .unwrap()
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::new(self.config(&[&TLS12, &TLS13], false)))
    }
}

/// A server that shakes hands first; a handshake that fails ends the connection with nothing seen.
pub(crate) async fn start<F, Fut>(acceptor: TlsAcceptor, handler: F) -> Server
where
    F: Fn(Conn<TlsStream<TcpStream>>) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Seen> + Send + 'static,
{
    Server::start(move |conn: Conn| {
        let (acceptor, handler) = (acceptor.clone(), handler.clone());
        async move {
            match acceptor.accept(conn.io).await {
                Ok(io) => handler(Conn::new(io, conn.number)).await,
                Err(_) => Seen::default(),
            }
        }
    })
    .await
}

pub(crate) fn https(server: &Server) -> Target {
    let port = server.addr.port();
    Target::parse(&format!("https://localhost:{port}"), false).unwrap()
}

async fn send(server: &Server, trust: Trust) -> Ended {
    HttpTransport::new(HandClock::new())
        .with_trust(trust)
        .send(permission(AMPLE), &https(server), post("/", "{}"), false)
        .await
}

pub(crate) async fn echo(mut conn: Conn<TlsStream<TcpStream>>) -> Seen {
    while conn.read_request().await {
        conn.write(ok("{}")).await;
    }
    conn.close()
}

#[tokio::test]
async fn a_trusted_server_answers() {
    let pki = Pki::new();
    for version in [&TLS12, &TLS13] {
        let acceptor = TlsAcceptor::from(Arc::new(pki.config(&[version], false)));
        let mut server = start(acceptor, echo).await;
        let ended = send(&server, pki.trust()).await;
        let Ended::Answered { wrote, .. } = ended else {
            panic!("{ended:?}")
        };
        let seen = server.seen().await;
        assert_eq!(wrote, seen.bytes.len() as u64, "counted above TLS");
    }
}

#[tokio::test]
async fn an_untrusted_server_is_sent_nothing() {
    let mut server = start(Pki::new().acceptor(), echo).await;
    assert_not_sent(&send(&server, Pki::new().trust()).await, Phase::Tls);
    assert_eq!(server.seen().await.bytes, b"");
}

#[tokio::test]
async fn a_server_of_another_name_is_sent_nothing() {
    let pki = Pki::new();
    let mut server = start(pki.acceptor(), echo).await;
    let to = Target::parse(&format!("https://{}", server.addr), false).unwrap();
    let ended = HttpTransport::new(HandClock::new())
        .with_trust(pki.trust())
        .send(permission(AMPLE), &to, post("/", "{}"), false)
        .await;
    assert_not_sent(&ended, Phase::Tls);
    assert_eq!(server.seen().await.bytes, b"");
}

#[tokio::test]
async fn a_handshake_that_hangs_or_is_no_tls_is_proof() {
    let pki = Pki::new();
    let hanging = Server::start(|mut conn: Conn| async {
        conn.read_to_end().await;
        conn.close()
    })
    .await;
    let times = Times {
        send_wait: Span::from_millis(120),
        ..AMPLE
    };
    let ended = HttpTransport::new(HandClock::new())
        .with_trust(pki.trust())
        .send(permission(times), &https(&hanging), post("/", "{}"), false)
        .await;
    assert_not_sent(&ended, Phase::Tls);
    let plain = Server::start(|mut conn: Conn| async {
        conn.write("HTTP/1.1 400 Bad Request\r\n\r\n").await;
        conn.close()
    })
    .await;
    assert_not_sent(&send(&plain, pki.trust()).await, Phase::Tls);
}

fn blocks_at(reading: usize, event: Receiver<()>) -> Arc<impl factum_transport::Clock> {
    let event = Mutex::new(event);
    ScriptClock::new(move |n| {
        if n == reading {
            event.lock().unwrap().recv().unwrap();
        }
        Span::ZERO
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closed_after_the_handshake_and_before_the_first_byte_is_proof() {
    let pki = Pki::new();
    let mut config = pki.config(&[&TLS13], false);
    // Unread tickets would hide the close from a look at the socket.
    config.send_tls13_tickets = 0;
    let (tell, closed) = channel();
    let mut server = start(TlsAcceptor::from(Arc::new(config)), move |conn| {
        let tell = tell.clone();
        async move {
            let seen = conn.close();
            // Who saw the close by other means waits no more.
            let _ = tell.send(());
            seen
        }
    })
    .await;
    let ended = HttpTransport::new(blocks_at(HAND_OVER, closed))
        .with_trust(pki.trust())
        .send(permission(AMPLE), &https(&server), post("/", "{}"), false)
        .await;
    assert_not_sent(&ended, Phase::Write);
    assert_eq!(server.seen().await.bytes, b"");
}

// rustls takes the request, and the kernel takes nothing of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_the_kernel_refuses_is_proof_under_tls_too() {
    let pki = Pki::new();
    let (tell, reset) = channel();
    let server = start(pki.acceptor(), move |conn| {
        let tell = tell.clone();
        async move {
            conn.io.get_ref().0.set_zero_linger().unwrap();
            let seen = conn.close();
            // Who saw the reset by other means waits no more.
            let _ = tell.send(());
            seen
        }
    })
    .await;
    let ended = HttpTransport::new(blocks_at(FIRST_WRITE, reset))
        .with_trust(pki.trust())
        .send(permission(AMPLE), &https(&server), post("/", "{}"), false)
        .await;
    assert_not_sent(&ended, Phase::Write);
}

#[tokio::test]
async fn a_client_certificate_demanded_by_tls_1_2_is_proof() {
    let pki = Pki::new();
    let acceptor = TlsAcceptor::from(Arc::new(pki.config(&[&TLS12], true)));
    let mut server = start(acceptor, echo).await;
    assert_not_sent(&send(&server, pki.trust()).await, Phase::Tls);
    assert_eq!(server.seen().await.bytes, b"");
}

// In TLS 1.3 our handshake is done before the server refuses us: what was written by then is not zero bytes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_certificate_demanded_by_tls_1_3_is_careful() {
    let pki = Pki::new();
    let acceptor = TlsAcceptor::from(Arc::new(pki.config(&[&TLS13], true)));
    let (tell, refused) = channel();
    let server = Server::start(move |conn: Conn| {
        let (acceptor, tell) = (acceptor.clone(), tell.clone());
        async move {
            assert!(acceptor.accept(conn.io).await.is_err());
            // Who saw the close by other means waits no more.
            let _ = tell.send(());
            Seen::default()
        }
    })
    .await;
    let ended = HttpTransport::new(blocks_at(FIRST_WRITE, refused))
        .with_trust(pki.trust())
        .send(permission(AMPLE), &https(&server), post("/", "{}"), false)
        .await;
    match &ended {
        Ended::NotSent { phase, detail } => {
            assert_eq!(*phase, Phase::Write, "{detail}");
        }
        Ended::Lost { .. } => {
            let (phase, _, read, status) = lost(ended);
            assert!(matches!(phase, Phase::Write | Phase::Head), "{phase:?}");
            assert_eq!((read, status), (0, None));
        }
        Ended::Answered { .. } => panic!("nobody answered"),
    }
}

#[tokio::test]
async fn a_body_cut_under_tls_is_a_loss_even_where_the_end_is_the_end_of_the_stream() {
    let pki = Pki::new();
    let server = start(pki.acceptor(), |mut conn| async move {
        conn.read_request().await;
        conn.write("HTTP/1.1 200 OK\r\n\r\n{\"id\":1}").await;
        // Without a close_notify nobody can tell an end from a cut.
        conn.close()
    })
    .await;
    let (phase, _, _, status) = lost(send(&server, pki.trust()).await);
    assert_eq!((phase, status), (Phase::Body, Some(200)));
}

#[tokio::test]
async fn a_kept_tls_connection_is_used_again() {
    let pki = Pki::new();
    let server = start(pki.acceptor(), echo).await;
    let transport = HttpTransport::new(HandClock::new()).with_trust(pki.trust());
    let to = https(&server);
    for _ in 0..3 {
        let ended = transport
            .send(permission(AMPLE), &to, post("/", "{}"), true)
            .await;
        assert_eq!(answered(ended).status, 200);
    }
    assert_eq!(server.accepted(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cut_at_random_points_under_tls_proof_never_lies() {
    let pki = Pki::new();
    let mut server = start(pki.acceptor(), |mut conn| async move {
        let mut dice = Dice(conn.number as u64);
        let n = [0, 1, 100, 20_000, 70_000][usize::try_from(dice.below(5)).unwrap()];
        if n > 0 {
            conn.read_exactly(n).await;
        }
        if dice.below(2) == 0 {
            conn.io.get_ref().0.set_zero_linger().unwrap();
        }
        conn.close()
    })
    .await;
    let transport = HttpTransport::new(HandClock::new()).with_trust(pki.trust());
    let to = https(&server);
    let mut dice = Dice(4);
    // Where the server wants more than there is, both wait: then the limit cuts it.
    let times = Times {
        answer: Span::from_millis(20),
        ..AMPLE
    };
    for turn in 0..200 {
        let size = [2, 5_000, 100_000, 1_000_000][usize::try_from(dice.below(4)).unwrap()];
        let ended = transport
            .send(permission(times), &to, post("/", vec![b'x'; size]), false)
            .await;
        let seen = server.seen().await.bytes.len() as u64;
        match ended {
            Ended::NotSent { .. } => assert_eq!(seen, 0, "turn {turn}"),
            Ended::Lost { wrote, .. } => assert!(wrote > 0, "turn {turn}"),
            Ended::Answered { .. } => panic!("nobody answered"),
        }
    }
}

#[tokio::test]
async fn the_system_trusts_no_certificate_of_ours() {
    let mut server = start(Pki::new().acceptor(), echo).await;
    let ended = send(&server, Trust::Platform).await;
    assert_not_sent(&ended, Phase::Tls);
    // Without any certificates on the machine there is no handshake at all.
    if server.accepted() > 0 {
        assert_eq!(server.seen().await.bytes, b"");
    }
}

// B41, B43: what GOAWAY and REFUSED_STREAM say of a request is only as good as the peer, and nobody here hears it: HTTP/2 is not
// offered, and a server that speaks nothing else is not written to.
#[tokio::test]
async fn http_2_is_not_spoken_even_where_it_is_preferred() {
    let pki = Pki::new();
    let speaking = |protocols: &[&[u8]]| {
        let mut config = pki.config(&[&TLS12, &TLS13], false);
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        start(TlsAcceptor::from(Arc::new(config)), echo)
    };
    let mut both = speaking(&[b"h2", b"http/1.1"]).await;
    answered(send(&both, pki.trust()).await);
    let said = both.seen().await.text();
    assert!(said.starts_with("POST / HTTP/1.1\r\n"), "{said}");
    let mut only = speaking(&[b"h2"]).await;
    assert_not_sent(&send(&only, pki.trust()).await, Phase::Tls);
    assert_eq!(only.seen().await.bytes, b"");
    assert_eq!(only.accepted(), 1);
}

// B44: whatever carries it, a connection that ends behind a request leaves it unknown, and makes no second one.
#[tokio::test]
async fn a_connection_that_ends_behind_a_request_is_unknown_however_it_is_carried() {
    let pki = Pki::new();
    let mut secure = start(
        pki.acceptor(),
        |mut conn: Conn<TlsStream<TcpStream>>| async {
            conn.read_request().await;
            conn.close()
        },
    )
    .await;
    let mut plain = Server::start(|mut conn: Conn| async {
        conn.read_request().await;
        conn.close()
    })
    .await;
    let ends = [
        send(&secure, pki.trust()).await,
        crate::rig::send(&plain, post("/", "{}")).await,
    ];
    for (ended, server) in ends.into_iter().zip([&mut secure, &mut plain]) {
        assert!(
            matches!(&ended, Ended::Lost { wrote, read: 0, .. } if *wrote > 0),
            "{ended:?}"
        );
        assert!(server.seen().await.text().starts_with("POST / "));
        assert_eq!(server.accepted(), 1);
    }
}
