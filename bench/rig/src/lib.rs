//! What the programs of the speed benchmark share: an HTTP/1.1 connection on loopback, and the wall clock.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// An address on loopback, as `127.0.0.1:7420`, and the path behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Where to connect to.
    pub address: String,
    /// What to ask for there.
    pub path: String,
}

impl Target {
    /// Reads `http://127.0.0.1:PORT/PATH`.
    ///
    /// # Errors
    ///
    /// Another scheme, or a host that is not loopback: the benchmark loads nobody else's machine.
    pub fn parse(url: &str) -> Result<Self> {
        let rest = url
            .strip_prefix("http://")
            .with_context(|| format!("{url}: only http:// addresses are loaded"))?;
        let (address, path) = match rest.find('/') {
            Some(at) => (&rest[..at], &rest[at..]),
            None => (rest, "/"),
        };
        if !address.starts_with("127.") && !address.starts_with("localhost:") {
            bail!("{url}: only addresses on loopback are loaded");
        }
        Ok(Self {
            address: address.to_owned(),
            path: path.to_owned(),
        })
    }

    /// Opens a connection that is kept alive. Its task ends with it.
    ///
    /// # Errors
    ///
    /// Nothing listens there, or it does not speak HTTP.
    pub async fn connect(&self) -> Result<SendRequest<Full<Bytes>>> {
        let stream = TcpStream::connect(&self.address)
            .await
            .with_context(|| format!("{} does not answer", self.address))?;
        stream.set_nodelay(true)?;
        let (sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(sender)
    }
}

/// Microseconds since the Unix epoch, to compare what different processes saw.
#[must_use]
pub fn unix_micros() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_on_loopback() {
        let target = Target::parse("http://127.0.0.1:7420/v1/actions").unwrap();
        assert_eq!(target.address, "127.0.0.1:7420");
        assert_eq!(target.path, "/v1/actions");
        assert_eq!(Target::parse("http://127.0.0.1:1").unwrap().path, "/");
        for refused in ["https://127.0.0.1/", "http://example.org/", "127.0.0.1:80"] {
            assert!(Target::parse(refused).is_err(), "{refused}");
        }
    }
}
