//! TLS by rustls: whom to trust, and the handshake. Early data is off, so nothing of a request is in a handshake (R29).

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::{fmt, io};

use factum_core::evidence::Phase;
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, Error, RootCertStore};

use super::Unsent;
use super::connect::Shared;
use super::meter::Metered;
use crate::clock::duration;
use crate::target::Target;

/// Whose certificates are trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// Those of the operating system.
    #[default]
    Platform,
    /// Those signed by one of these certificates, each in DER, and no others.
    Only(Vec<Vec<u8>>),
}

/// Makes TLS streams. Reads the trusted certificates when the first is needed.
pub(super) struct Tls {
    trust: Trust,
    config: OnceLock<Result<Arc<ClientConfig>, String>>,
}

impl Tls {
    pub(super) fn new(trust: Trust) -> Self {
        Self {
            trust,
            config: OnceLock::new(),
        }
    }

    /// Shakes hands over `io`, by `until` at the latest.
    pub(super) async fn handshake(
        &self,
        target: &Target,
        io: Metered<Shared>,
        until: Instant,
    ) -> Result<TlsStream<Metered<Shared>>, Unsent> {
        let unsent = |detail: String| Unsent::new(Phase::Tls, detail);
        let config = self
            .config
            .get_or_init(|| config(&self.trust).map(Arc::new).map_err(|e| e.to_string()))
            .clone()
            .map_err(|e| unsent(format!("no TLS: {e}")))?;
        let name = ServerName::try_from(target.host.clone())
            .map_err(|_| unsent("the host's name cannot stand in a certificate".to_owned()))?;
        let until = until.min(Instant::now() + duration(target.limits.tls));
        timeout_at(until, TlsConnector::from(config).connect(name, io))
            .await
            .map_err(|_| unsent("no TLS handshake in time".to_owned()))?
            .map_err(|e| unsent(format!("no TLS handshake: {}", super::root_cause(&e))))
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("trust", &self.trust).finish()
    }
}

fn config(trust: &Trust) -> Result<ClientConfig, Error> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let builder = match trust {
        Trust::Platform => builder.with_platform_verifier()?,
        Trust::Only(certificates) => {
            let mut roots = RootCertStore::empty();
            for der in certificates {
                roots.add(CertificateDer::from(der.clone()))?;
            }
            builder.with_root_certificates(roots)
        }
    };
    let mut config = builder.with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// The stream below HTTP: plain or TLS.
pub(super) enum Stream {
    Plain(Metered<Shared>),
    Tls(Box<TlsStream<Metered<Shared>>>),
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(io) => Pin::new(io).poll_read(cx, buf),
            Self::Tls(io) => Pin::new(io).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(io) => Pin::new(io).poll_write(cx, buf),
            Self::Tls(io) => Pin::new(io).poll_write(cx, buf),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(io) => Pin::new(io).poll_write_vectored(cx, bufs),
            Self::Tls(io) => Pin::new(io).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(io) => io.is_write_vectored(),
            Self::Tls(io) => io.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(io) => Pin::new(io).poll_flush(cx),
            Self::Tls(io) => Pin::new(io).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(io) => Pin::new(io).poll_shutdown(cx),
            Self::Tls(io) => Pin::new(io).poll_shutdown(cx),
        }
    }
}
