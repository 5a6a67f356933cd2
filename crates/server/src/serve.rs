//! Connections: taken on within bounds, answered, and let end when the server is stopped.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use factum::{Code, Problem};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_io_timeout::TimeoutStream;

use crate::app::App;
use crate::edge::Peer;
use crate::peers::Peers;
use crate::run::router;
use crate::tls::Tls;

/// A head that has not ended within this much is refused; twice as much may be held until that is seen.
const BUFFER_MAX: usize = 64 * 1024;
/// Requests are answered within this at the end, so that a slow caller takes no time from sends in flight.
const ANSWER_WAIT: Duration = Duration::from_secs(5);
/// When no connection can be taken on (too many open files, say), the next try comes after this.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Whether the API may be reached unencrypted at an address. Whoever listens on the way holds the token's power over every
/// destination, so other machines are let in only where an operator says so.
///
/// # Errors
/// F1040 for an address that other machines reach, unless `allow_remote`.
pub fn check_listen(address: SocketAddr, allow_remote: bool) -> Result<(), Problem> {
    if allow_remote || address.ip().to_canonical().is_loopback() {
        return Ok(());
    }
    let rule = format!("{address} can be reached from other machines, and is not encrypted");
    let remedy = "listen on 127.0.0.1, and on [server.tls] for other machines; or say server.behind_proxy = true where a proxy speaks TLS";
    Err(Problem::new(
        Code::BadConfig,
        "/server/listen",
        rule,
        remedy,
    ))
}

/// Where callers come in.
#[derive(Debug)]
pub struct Doors {
    plain: TcpListener,
    tls: Option<(TcpListener, Tls)>,
}

impl From<TcpListener> for Doors {
    fn from(plain: TcpListener) -> Self {
        Self { plain, tls: None }
    }
}

impl Doors {
    /// With a second door, for other machines, by TLS.
    #[must_use]
    pub fn with_tls(self, listener: TcpListener, tls: Tls) -> Self {
        Self {
            tls: Some((listener, tls)),
            ..self
        }
    }

    async fn accept(&self) -> io::Result<(TcpStream, SocketAddr, Option<&Tls>)> {
        let encrypted = async {
            match &self.tls {
                Some((listener, tls)) => (listener.accept().await, Some(tls)),
                None => std::future::pending().await,
            }
        };
        let (accepted, tls) = tokio::select! {
            accepted = self.plain.accept() => (accepted, None),
            accepted = encrypted => accepted,
        };
        accepted.map(|(stream, peer)| (stream, peer, tls))
    }

    /// Sees to the certificate as long as this is waited on.
    async fn keep(&self) {
        match &self.tls {
            Some((_, tls)) => tls.watch().await,
            None => std::future::pending().await,
        }
    }
}

/// Answers requests until `shutdown`; then takes none on, answers those that there are, and lets sends in flight end within
/// the bound of [`crate::Limits::shutdown`]. Answers how many sends could not end.
pub async fn serve(doors: impl Into<Doors>, app: App, shutdown: impl Future<Output = ()>) -> usize {
    let (doors, limits, peers) = (doors.into(), app.limits(), Peers::default());
    if let Ok(address) = doors.plain.local_addr() {
        app.listens_at(address);
    }
    let slots = Arc::new(Semaphore::new(limits.connections_max));
    let router = router(app.clone());
    let mut connections = JoinSet::new();
    {
        let kept = doors.keep();
        tokio::pin!(shutdown, kept);
        loop {
            tokio::select! {
                () = &mut shutdown => break,
                () = &mut kept => {}
                arrived = arrived(&doors, &slots) => {
                    if let Some(held) = peers.hold(arrived.address.ip(), limits.connections_per_peer_max) {
                        let (router, app) = (router.clone(), app.clone());
                        connections.spawn(async move {
                            let _held = held;
                            connection(arrived, router, app).await;
                        });
                    }
                }
                Some(_) = connections.join_next() => {}
            }
        }
    }
    drop(doors);
    app.end();
    let answered = async {
        while connections.join_next().await.is_some() {}
        app.changes_made().await;
    };
    if timeout(ANSWER_WAIT.min(limits.shutdown), answered)
        .await
        .is_err()
    {
        tracing::warn!(
            connections = connections.len(),
            "requests were still unanswered when the server ended"
        );
    }
    connections.shutdown().await;
    app.factum().shutdown(limits.shutdown).await
}

/// A connection that was taken on.
struct Arrived {
    stream: TcpStream,
    address: SocketAddr,
    tls: Option<Tls>,
    _slot: Option<OwnedSemaphorePermit>,
}

async fn arrived(doors: &Doors, slots: &Arc<Semaphore>) -> Arrived {
    // The semaphore is never closed, so there always is a permit.
    let slot = slots.clone().acquire_owned().await.ok();
    loop {
        match doors.accept().await {
            Ok((stream, address, tls)) => {
                return Arrived {
                    stream,
                    address,
                    tls: tls.cloned(),
                    _slot: slot,
                };
            }
            Err(error) => {
                tracing::warn!(%error, "no connection can be taken on");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn connection(arrived: Arrived, router: Router, app: App) {
    let limits = app.limits();
    // Answers are small and whole; waiting to fill a packet only delays them. Where it cannot be set, they are a little late.
    let _ = arrived.stream.set_nodelay(true);
    // A caller that takes nothing of its answer holds its connection no longer than this.
    let mut stream = TimeoutStream::new(arrived.stream);
    stream.set_write_timeout(Some(limits.write_wait));
    let stream = Box::pin(stream);
    let mut peer = Peer {
        address: arrived.address,
        encrypted: arrived.tls.is_some(),
        machine: None,
    };
    let Some(tls) = &arrived.tls else {
        return conversation(stream, peer, router, app).await;
    };
    match timeout(limits.head_wait, tls.acceptor().accept(stream)).await {
        Ok(Ok(stream)) => {
            let shown = stream.get_ref().1.peer_certificates();
            peer.machine = shown
                .and_then(<[_]>::first)
                .and_then(|certificate| tls.machine(certificate));
            conversation(stream, peer, router, app).await;
        }
        Ok(Err(error)) => {
            tracing::debug!(%error, peer = %arrived.address, "a handshake failed");
        }
        Err(_) => tracing::debug!(peer = %arrived.address, "a handshake took too long"),
    }
}

/// Requests and their answers, until one side ends it.
async fn conversation<S>(stream: S, peer: Peer, router: Router, app: App)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let known = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(peer.clone());
        let router = router.clone();
        async move { TowerToHyperService::new(router).call(request).await }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(app.limits().head_wait)
        .max_buf_size(BUFFER_MAX)
        .serve_connection(TokioIo::new(stream), known);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = app.ended() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_machines_are_let_in_only_expressly() {
        for address in [
            "127.0.0.1:7420",
            "[::1]:0",
            "127.8.8.8:1",
            "[::ffff:127.0.0.1]:1",
        ] {
            assert!(
                check_listen(address.parse().unwrap(), false).is_ok(),
                "{address}"
            );
        }
        for address in ["0.0.0.0:7420", "[::]:7420", "192.168.1.4:7420"] {
            let problem = check_listen(address.parse().unwrap(), false).unwrap_err();
            assert_eq!(
                (problem.code, &*problem.member),
                (Code::BadConfig, "/server/listen")
            );
            assert!(
                check_listen(address.parse().unwrap(), true).is_ok(),
                "{address}"
            );
        }
    }
}
