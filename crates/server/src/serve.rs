//! Connections: taken on within bounds, answered, and let end when the server is stopped.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use factum::{Code, Problem};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::app::App;
use crate::run::router;

/// A head that has not ended within this much is refused; twice as much may be held until that is seen.
const BUFFER_MAX: usize = 64 * 1024;
/// Requests are answered within this at the end, so that a slow caller takes no time from sends in flight.
const ANSWER_WAIT: Duration = Duration::from_secs(5);
/// When no connection can be taken on (too many open files, say), the next try comes after this.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Whether the API may be reached at an address. Whoever can reach it holds the token's power over every destination, and
/// the connection is not encrypted, so other machines are let in only where an operator says so.
///
/// # Errors
/// F1040 for an address that other machines reach, unless `allow_remote`.
pub fn check_listen(address: SocketAddr, allow_remote: bool) -> Result<(), Problem> {
    if allow_remote || address.ip().to_canonical().is_loopback() {
        return Ok(());
    }
    let rule =
        format!("{address} can be reached from other machines, and the API is not encrypted");
    let remedy = "listen on 127.0.0.1 behind a proxy that speaks TLS, or allow it expressly";
    Err(Problem::new(
        Code::BadConfig,
        "/server/listen",
        rule,
        remedy,
    ))
}

/// Answers requests until `shutdown`; then takes none on, answers those that there are, and lets sends in flight end within
/// the bound of [`crate::Limits::shutdown`]. Answers how many sends could not end.
pub async fn serve(listener: TcpListener, app: App, shutdown: impl Future<Output = ()>) -> usize {
    let limits = app.limits();
    if let Ok(address) = listener.local_addr() {
        app.listens_at(address);
    }
    let slots = Arc::new(Semaphore::new(limits.connections_max));
    let router = router(app.clone());
    let mut connections = JoinSet::new();
    tokio::pin!(shutdown);
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            (stream, slot) = accepted(&listener, &slots) => {
                connections.spawn(connection(stream, router.clone(), app.clone(), slot));
            }
            Some(_) = connections.join_next() => {}
        }
    }
    drop(listener);
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

async fn accepted(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
) -> (TcpStream, Option<OwnedSemaphorePermit>) {
    // The semaphore is never closed, so there always is a permit.
    let slot = slots.clone().acquire_owned().await.ok();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return (stream, slot),
            Err(error) => {
                tracing::warn!(%error, "no connection can be taken on");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn connection(
    stream: TcpStream,
    router: Router,
    app: App,
    _slot: Option<OwnedSemaphorePermit>,
) {
    // Answers are small and whole; waiting to fill a packet only delays them. Where it cannot be set, they are a little late.
    let _ = stream.set_nodelay(true);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(app.limits().head_wait)
        .max_buf_size(BUFFER_MAX)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
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
