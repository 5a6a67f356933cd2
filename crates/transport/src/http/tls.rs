//! TLS by rustls: whom to trust, and the handshake. Early data is off, so nothing of a request is in a handshake (R29).

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::{fmt, io};

use factum_core::evidence::Phase;
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, Error, RootCertStore};

use super::Unsent;
use super::connect::Shared;
use super::meter::Metered;
use crate::clock::duration;
use crate::error::Malformed;
use crate::target::Target;

/// Whose certificates are trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Trust {
    /// Those of the operating system.
    #[default]
    Platform,
    /// Those signed by one of these certificates, each in DER, and no others.
    Only(Vec<Vec<u8>>),
}

impl Trust {
    /// Those signed by one of the certificates in a PEM file, and no others.
    ///
    /// # Errors
    /// [`Malformed`] where it holds none, or one that cannot be read.
    pub fn from_pem(pem: &[u8]) -> Result<Self, Malformed> {
        let wrong = |rule: &str| {
            let remedy = "name a PEM file with one or more certificates of the authority";
            Malformed::new("ca", rule, remedy)
        };
        let mut certificates = Vec::new();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            let der = certificate.map_err(|_| wrong("a certificate in it cannot be read"))?;
            certificates.push(der.to_vec());
        }
        if certificates.is_empty() {
            return Err(wrong("it holds no certificate"));
        }
        let trust = Self::Only(certificates);
        config(&trust).map_err(|_| wrong("a certificate in it is no authority's"))?;
        Ok(trust)
    }

    /// What shakes hands with servers that are trusted so, for a client of somebody's own.
    ///
    /// # Errors
    /// [`Malformed`] where nobody can be trusted: the operating system names no authority, say.
    pub fn connector(&self) -> Result<TlsConnector, Malformed> {
        let config = config(self).map_err(|error| {
            let rule = format!("no certificate can be checked: {error}");
            Malformed::new("ca", rule, "name a PEM file with the server's authority")
        })?;
        Ok(TlsConnector::from(Arc::new(config)))
    }
}

/// What a handshake needs, for one trust.
type Made = Result<Arc<ClientConfig>, String>;

/// Makes TLS streams. Reads the trusted certificates when the first is needed.
pub(super) struct Tls {
    trust: Trust,
    made: Mutex<HashMap<Trust, Made>>,
}

impl Tls {
    pub(super) fn new(trust: Trust) -> Self {
        Self {
            trust,
            made: Mutex::default(),
        }
    }

    fn config(&self, trust: &Trust) -> Made {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = made.get(trust) {
            return made.clone();
        }
        let new = config(trust).map(Arc::new).map_err(|e| e.to_string());
        made.insert(trust.clone(), new.clone());
        new
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
            .config(target.trust.as_ref().unwrap_or(&self.trust))
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
