//! TLS to the database, by rustls: what the connection string asks for, whom to trust, and the handshake.
//!
//! There are two kinds of connections, plain and verified. What encrypts without knowing to whom is not offered: `sslmode` is
//! `disable`, which counts where it is left out, or `verify-full`. The other three names are those of libpq: `sslrootcert` (a PEM file of
//! authorities, or `system`, which counts where it is left out), and `sslcert` with `sslkey` for a certificate of our own.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::{fmt, io};

use rustls_platform_verifier::BuilderVerifierExt;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::config::SslMode;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect};
use tokio_postgres::{Config, Socket};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{CertificateError, ClientConfig, Error, RootCertStore};

use crate::{StoreError, StoreErrorKind};

const DOING: &str = "reading the connection string";

/// Connects plainly, or by TLS to whom is trusted.
#[derive(Clone)]
pub(super) struct Tls {
    /// None where connections are plain.
    config: Option<Arc<ClientConfig>>,
}

/// What the connection string says of TLS.
#[derive(Debug, Default, PartialEq, Eq)]
struct Asked {
    mode: Option<String>,
    roots: Option<String>,
    certificate: Option<String>,
    key: Option<String>,
}

/// How to connect by this connection string.
pub(super) fn read(url: &str) -> Result<(Config, Tls), StoreError> {
    let (rest, asked) = take_out(url);
    let mut config: Config = rest
        .parse()
        .map_err(|error: tokio_postgres::Error| wrong(super::fault::words(&error)))?;
    let tls = Tls::asked(&asked).map_err(wrong)?;
    config.ssl_mode(match tls.config {
        Some(_) => SslMode::Require,
        None => SslMode::Disable,
    });
    Ok((config, tls))
}

fn wrong(why: String) -> StoreError {
    let text = format!("the connection string: {why}");
    StoreError::new(DOING, StoreErrorKind::Database(text))
}

/// The connection string without what it says of TLS, and that.
fn take_out(url: &str) -> (String, Asked) {
    let mut asked = Asked::default();
    let Some((place, query)) = url.split_once('?') else {
        return (url.to_owned(), asked);
    };
    let mut rest = Vec::new();
    for pair in query.split('&') {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let member = match name {
            "sslmode" => &mut asked.mode,
            "sslrootcert" => &mut asked.roots,
            "sslcert" => &mut asked.certificate,
            "sslkey" => &mut asked.key,
            _ => {
                rest.push(pair);
                continue;
            }
        };
        *member = Some(unescaped(value));
    }
    let mark = if rest.is_empty() { "" } else { "?" };
    (format!("{place}{mark}{}", rest.join("&")), asked)
}

/// Text of a query, without its escapes. What is none stays as it is.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        let escaped = (*first == b'%')
            .then(|| behind.get(..2))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() {
            &behind[2..]
        } else {
            behind
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

impl Tls {
    fn asked(asked: &Asked) -> Result<Self, String> {
        let Asked {
            mode,
            roots,
            certificate,
            key,
        } = asked;
        match mode.as_deref() {
            None | Some("disable") => {
                if roots.is_some() || certificate.is_some() || key.is_some() {
                    return Err(
                        "a certificate is named, and without sslmode=verify-full there is no TLS"
                            .to_owned(),
                    );
                }
                return Ok(Self { config: None });
            }
            Some("verify-full") => {}
            Some(other) => {
                return Err(format!(
                    "sslmode={other} does not say to whom a connection leads; write verify-full, or disable for plain ones"
                ));
            }
        }
        let own = match (certificate, key) {
            (None, None) => None,
            (Some(certificate), Some(key)) => Some((certificate.as_str(), key.as_str())),
            (Some(_), None) | (None, Some(_)) => {
                return Err("sslcert and sslkey go together".to_owned());
            }
        };
        let roots = roots.as_deref().filter(|roots| *roots != "system");
        Ok(Self {
            config: Some(Arc::new(made(roots, own)?)),
        })
    }
}

/// Verifies the chain and the name, always.
fn made(roots: Option<&str>, own: Option<(&str, &str)>) -> Result<ClientConfig, String> {
    let told = |error: Error| format!("no TLS: {error}");
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(told)?;
    let builder = match roots {
        None => builder.with_platform_verifier().map_err(told)?,
        Some(path) => {
            let mut trusted = RootCertStore::empty();
            for certificate in certificates("sslrootcert", path)? {
                let is_none = |_| format!("sslrootcert: a certificate in {path} is no authority's");
                trusted.add(certificate).map_err(is_none)?;
            }
            builder.with_root_certificates(trusted)
        }
    };
    let mut config = match own {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            let chain = certificates("sslcert", certificate)?;
            let pem = file("sslkey", key)?;
            let unread = |_| format!("sslkey: there is no key in {key} that can be read");
            let secret = PrivateKeyDer::from_pem_slice(&pem).map_err(unread)?;
            let unfit = |error| format!("sslkey: {key} does not go with the certificate: {error}");
            builder
                .with_client_auth_cert(chain, secret)
                .map_err(unfit)?
        }
    };
    config.alpn_protocols = vec![b"postgresql".to_vec()];
    Ok(config)
}

fn file(member: &str, path: &str) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("{member}: {path}: {error}"))
}

fn certificates(member: &str, path: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let pem = file(member, path)?;
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    match all {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) => Err(format!("{member}: {path} holds no certificate")),
        Err(_) => Err(format!("{member}: a certificate in {path} cannot be read")),
    }
}

/// One connection's handshake.
pub(super) struct Handshake {
    config: Option<Arc<ClientConfig>>,
    host: String,
}

/// Why there is no TLS to a server.
#[derive(Debug)]
pub(super) struct Refused {
    why: String,
    /// It will be no other one by trying again.
    pub(super) for_good: bool,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for Refused {}

impl Refused {
    fn of(host: &str, error: &io::Error) -> Self {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
        let Some(Error::InvalidCertificate(certificate)) = inner else {
            return Self {
                why: error.to_string(),
                for_good: false,
            };
        };
        let why = match certificate {
            CertificateError::UnknownIssuer => {
                format!(
                    "the certificate of {host} is from no authority that is trusted here (sslrootcert)"
                )
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                format!("the certificate of the server is not for the host {host}")
            }
            other => format!("the certificate of {host} is not accepted: {other}"),
        };
        Self {
            why,
            for_good: true,
        }
    }
}

impl MakeTlsConnect<Socket> for Tls {
    type Stream = Encrypted;
    type TlsConnect = Handshake;
    type Error = Refused;

    fn make_tls_connect(&mut self, host: &str) -> Result<Handshake, Refused> {
        Ok(Handshake {
            config: self.config.clone(),
            host: host.to_owned(),
        })
    }
}

impl TlsConnect<Socket> for Handshake {
    type Stream = Encrypted;
    type Error = Refused;
    type Future = Pin<Box<dyn Future<Output = Result<Encrypted, Refused>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        let Self { config, host } = self;
        Box::pin(async move {
            let refused = |why: String| Refused {
                why,
                for_good: true,
            };
            let config = config.ok_or_else(|| refused("connections are plain here".to_owned()))?;
            let name = ServerName::try_from(host.clone())
                .map_err(|_| refused(format!("{host:?} cannot stand in a certificate")))?;
            let shaken = TlsConnector::from(config).connect(name, socket).await;
            shaken
                .map(|stream| Encrypted(Box::new(stream)))
                .map_err(|error| Refused::of(&host, &error))
        })
    }
}

/// An encrypted connection.
pub(super) struct Encrypted(Box<tokio_rustls::client::TlsStream<Socket>>);

impl tokio_postgres::tls::TlsStream for Encrypted {
    fn channel_binding(&self) -> ChannelBinding {
        // The name and the chain are verified in any case.
        ChannelBinding::none()
    }
}

impl AsyncRead for Encrypted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for Encrypted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, buffer)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_tls_is_taken_out_and_the_rest_stays() {
        let (rest, asked) = take_out(
            "postgresql://f@a,b/d?target_session_attrs=read-write&sslmode=verify-full&sslrootcert=%2Fa%20b%2fca.pem&x=1",
        );
        assert_eq!(
            rest,
            "postgresql://f@a,b/d?target_session_attrs=read-write&x=1"
        );
        assert_eq!(asked.mode.as_deref(), Some("verify-full"));
        assert_eq!(asked.roots.as_deref(), Some("/a b/ca.pem"));
        let (rest, asked) = take_out("postgresql://f@a/d?sslmode=disable");
        assert_eq!(
            (rest.as_str(), asked.mode.as_deref()),
            ("postgresql://f@a/d", Some("disable"))
        );
        assert_eq!(take_out("postgresql://f@a/d").0, "postgresql://f@a/d");
    }

    #[test]
    fn what_does_not_say_to_whom_it_leads_is_refused() {
        let error = |query: &str| match read(&format!("postgresql://f@a/d?{query}")) {
            Ok(_) => panic!("{query} is taken"),
            Err(error) => error.to_string(),
        };
        for mode in ["allow", "prefer", "require", "verify-ca", ""] {
            let told = error(&format!("sslmode={mode}"));
            assert!(told.contains("write verify-full"), "{told}");
        }
        for (query, part) in [
            ("sslrootcert=/none", "without sslmode=verify-full"),
            (
                "sslmode=disable&sslcert=/none&sslkey=/none",
                "without sslmode=verify-full",
            ),
            ("sslmode=verify-full&sslcert=/none", "go together"),
            (
                "sslmode=verify-full&sslrootcert=/none/ca.pem",
                "sslrootcert: /none/ca.pem",
            ),
        ] {
            let told = error(query);
            assert!(told.contains(part), "{told}");
        }
    }

    #[test]
    fn plain_connections_and_verified_ones_are_asked_for_as_they_are_meant() {
        for (query, mode) in [
            ("", SslMode::Disable),
            ("?sslmode=disable", SslMode::Disable),
        ] {
            let (config, tls) = read(&format!("postgresql://f@a/d{query}")).unwrap();
            assert_eq!((config.get_ssl_mode(), tls.config.is_some()), (mode, false));
        }
        let (config, tls) = read("postgresql://f@a/d?sslmode=verify-full").unwrap();
        assert_eq!(config.get_ssl_mode(), SslMode::Require);
        assert!(tls.config.is_some());
    }
}
