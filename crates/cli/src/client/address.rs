//! Where a server is, and how a connection to it is made: plainly, or by TLS, with the authority that the operator names.

use std::io;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use factum_transport::Trust;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{AlertDescription, CertificateError, Error as TlsError};

use super::chain;
use crate::failure::Failure;
use crate::place;

/// How long a connection, and then a handshake, may take.
const CONNECT: Duration = Duration::from_secs(5);

const START: &str = "start the server (`factum serve`), or correct the address (FACTUM_URL)";
const SHAPE: &str = "write http://HOST:PORT, or https://HOST:PORT where the server speaks TLS";
const UNTRUSTED: &str =
    "name the authority that signed the server's certificate: --ca FILE, or FACTUM_CA=FILE";

/// A connection that speaks HTTP.
pub(super) struct Line {
    sender: SendRequest<Full<Bytes>>,
    /// Why it ended, until somebody has asked.
    ended: Option<JoinHandle<hyper::Result<()>>>,
}

impl Line {
    /// Whether it takes another request.
    pub(super) async fn is_ready(&mut self) -> bool {
        self.sender.ready().await.is_ok()
    }

    /// One request; its answer.
    pub(super) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> hyper::Result<Response<Incoming>> {
        let canceled = match self.sender.send_request(request).await {
            Err(error) if error.is_canceled() => error,
            answered => return answered,
        };
        // The connection had ended before, and knows why.
        let ended = match self.ended.take() {
            Some(ended) => ended.await,
            None => return Err(canceled),
        };
        Err(ended.ok().and_then(Result::err).unwrap_or(canceled))
    }
}

/// The address of a server.
pub(super) struct Address {
    /// Host and port.
    pub(super) authority: String,
    /// What stands before each path; empty, or `/path`.
    pub(super) path: String,
    host: String,
    tls: Option<TlsConnector>,
}

impl Address {
    /// Reads `http://host[:port][/path]` or the same with `https`. Nothing is asked yet.
    pub(super) fn parse(url: &str) -> Result<Self, Failure> {
        let wrong = || Failure::usage(format!("{url:?} is no address of a server"), SHAPE);
        let (scheme, rest) = url
            .trim_end_matches('/')
            .split_once("://")
            .ok_or_else(wrong)?;
        let (encrypted, usual) = match scheme {
            "http" => (false, 80),
            "https" => (true, 443),
            _ => return Err(wrong()),
        };
        let (authority, path) = match rest.split_once('/') {
            Some((authority, path)) => (authority, format!("/{path}")),
            None => (rest, String::new()),
        };
        if authority.is_empty() || authority.contains(['@', '?', '#', ' ']) {
            return Err(wrong());
        }
        let port = authority
            .rsplit_once(':')
            .filter(|(_, port)| port.parse::<u16>().is_ok());
        let host = port.map_or(authority, |(host, _)| host);
        Ok(Self {
            authority: match port {
                Some(_) => authority.to_owned(),
                None => format!("{authority}:{usual}"),
            },
            path,
            host: host.trim_matches(['[', ']']).to_owned(),
            tls: encrypted.then(connector).transpose()?,
        })
    }

    /// Connects, and begins to speak HTTP.
    pub(super) async fn connect(&self) -> Result<Line, Failure> {
        let stream = match timeout(CONNECT, TcpStream::connect(&self.authority)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return Err(self.unreachable(&error.to_string(), START)),
            Err(_) => return Err(self.unreachable("no connection within 5 s", START)),
        };
        let Some(tls) = &self.tls else {
            return self.speak(stream).await;
        };
        let name = ServerName::try_from(self.host.clone()).map_err(|_| {
            let rule = format!("{:?} cannot stand in a certificate", self.host);
            Failure::usage(rule, SHAPE)
        })?;
        match timeout(CONNECT, tls.connect(name, stream)).await {
            Ok(Ok(stream)) => self.speak(stream).await,
            Ok(Err(error)) => Err(self.unreachable(&error.to_string(), remedy_for(&error))),
            Err(_) => Err(self.unreachable("no TLS handshake within 5 s", NO_TLS)),
        }
    }

    async fn speak<S>(&self, stream: S) -> Result<Line, Failure>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (sender, connection) = handshake(TokioIo::new(stream))
            .await
            .map_err(|error| self.unreachable(&chain(&error), START))?;
        let ended = Some(tokio::spawn(connection));
        Ok(Line { sender, ended })
    }

    /// What to do about a connection that broke, where its end says that asking again does not help.
    pub(super) fn remedy(&self, error: &hyper::Error) -> Option<&'static str> {
        if self.tls.is_none() {
            return error.is_parse().then_some(NO_HTTP);
        }
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
        while let Some(error) = cause {
            // With TLS 1.3 a server refuses a certificate, or the lack of one, after the client's handshake.
            if let Some(refused @ (WANTS_CERTIFICATE | NO_TLS | UNTRUSTED)) =
                error.downcast_ref().map(remedy_for)
            {
                return Some(refused);
            }
            cause = error.source();
        }
        None
    }

    fn unreachable(&self, why: &str, remedy: &str) -> Failure {
        Failure::unavailable(format!("cannot connect to {self}: {why}"), remedy)
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority, self.path)
    }
}

const NO_HTTP: &str = "what answers there speaks no HTTP; where it speaks TLS, write https://";
const NO_TLS: &str =
    "what answers there speaks no TLS; write http://, or the port of [server.tls] listen";
const WANTS_CERTIFICATE: &str = "the server wants a machine's certificate; run this on the server's own machine, at server.listen";

/// What a failed handshake calls for.
fn remedy_for(error: &io::Error) -> &'static str {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref());
    match cause {
        Some(TlsError::InvalidCertificate(certificate)) => match certificate {
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "write the name that stands in the server's certificate"
            }
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. } => {
                "renew the server's certificate, or set this machine's clock"
            }
            _ => UNTRUSTED,
        },
        Some(TlsError::InvalidMessage(_)) => NO_TLS,
        Some(TlsError::AlertReceived(AlertDescription::CertificateRequired)) => WANTS_CERTIFICATE,
        _ => "see what answers there: its log says why it ended the handshake",
    }
}

/// Trusts the authority that is named, or else those of this machine.
fn connector() -> Result<TlsConnector, Failure> {
    let trust = match place::ca() {
        None => Trust::Platform,
        Some(file) => authority(&file)?,
    };
    trust.connector().map_err(|error| {
        let failure = Failure::usage(error.rule, UNTRUSTED);
        failure.about("--ca, FACTUM_CA")
    })
}

fn authority(file: &Path) -> Result<Trust, Failure> {
    let about = |rule: String, remedy: &str| Failure::usage(rule, remedy).about("--ca, FACTUM_CA");
    let pem = std::fs::read(file).map_err(|error| {
        let rule = format!("cannot read {}: {error}", file.display());
        about(rule, "name a file that you may read")
    })?;
    Trust::from_pem(&pem).map_err(|error| {
        let rule = format!("{}: {}", file.display(), error.rule);
        about(rule, &error.remedy)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_whole_or_refused() {
        for (url, read) in [
            ("http://127.0.0.1:7420", "http://127.0.0.1:7420"),
            ("http://localhost/api/", "http://localhost:80/api"),
            ("http://[::1]:7", "http://[::1]:7"),
            ("https://factum.internal", "https://factum.internal:443"),
            ("https://[::1]:7443/api", "https://[::1]:7443/api"),
        ] {
            assert_eq!(Address::parse(url).unwrap().to_string(), read);
        }
        assert_eq!(Address::parse("https://[::1]:7").unwrap().host, "::1");
        for wrong in [
            "127.0.0.1:7420",
            "ftp://x",
            "http://",
            "http://user:pass@x",
            "https://x?y",
        ] {
            let refused = Address::parse(wrong).err().map(|failure| failure.exit);
            assert_eq!(refused, Some(crate::exit::USAGE), "{wrong}");
        }
    }

    #[test]
    fn a_handshake_that_fails_has_the_remedy_of_its_cause() {
        let failed = |error: TlsError| remedy_for(&io::Error::other(error));
        let certificate = |error| failed(TlsError::InvalidCertificate(error));
        assert_eq!(certificate(CertificateError::UnknownIssuer), UNTRUSTED);
        assert!(certificate(CertificateError::NotValidForName).contains("name that stands"));
        assert!(certificate(CertificateError::Expired).contains("renew"));
        let alert = TlsError::AlertReceived(AlertDescription::CertificateRequired);
        assert_eq!(failed(alert), WANTS_CERTIFICATE);
        assert!(remedy_for(&io::Error::other("gone")).contains("log"));
    }
}
