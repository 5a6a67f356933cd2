//! `[server]`: where the HTTP API listens, whom it lets in, and how much of what it takes.

use std::collections::BTreeMap;
use std::path::PathBuf;

use factum_core::Span;
use serde::Deserialize;

use super::Wait;

/// `[server]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerConfig {
    /// Address and port; port 0 takes a free one. What is said there is not encrypted.
    pub listen: String,
    /// Other machines may reach `listen`: a proxy in front of it speaks TLS, or the network is one that the operator answers for.
    pub behind_proxy: bool,
    /// Where the outside reaches the API, for the addresses that are given to destinations: `https://factum.example.com`.
    pub public_url: Option<String>,
    /// A second address, for other machines, by TLS.
    pub tls: Option<TlsConfig>,
    /// The longest body of a request, in bytes.
    pub body_max_bytes: usize,
    /// Longest time for the head of a request to arrive, and for a handshake; an idle connection is closed after it, too.
    pub head_wait: Wait,
    /// Longest time for the body of a request to arrive.
    pub body_wait: Wait,
    /// Longest time without a caller taking any byte of its answer.
    pub write_wait: Wait,
    /// Longest time until a request is answered. Callers may ask to be kept waiting for a minute.
    pub answer_wait: Wait,
    /// Connections at once; more wait until one ends.
    pub connections_max: usize,
    /// Connections at once from one other machine; more are closed.
    pub connections_per_peer_max: usize,
    /// Requests per token.
    pub rate: RateConfig,
    /// Longest time for requests in flight to end at shutdown.
    pub shutdown: Wait,
}

/// `[server.tls]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsConfig {
    /// Address and port; port 0 takes a free one.
    pub listen: String,
    /// The server's certificate and those that lead to its authority, as PEM. Read anew when the file changes.
    pub certificate: PathBuf,
    /// The certificate's key, as PEM.
    pub key: PathBuf,
    /// The authorities whose certificates machines may show, as PEM. Without it, none are asked for.
    #[serde(default)]
    pub client_ca: Option<PathBuf>,
    /// Nobody gets in without such a certificate, whatever token they have.
    #[serde(default)]
    pub require_certificate: bool,
    /// What a machine may do that shows a certificate and no token: the DNS name in it, and the name of the token that it counts as.
    #[serde(default)]
    pub machines: BTreeMap<String, String>,
}

/// `[server.rate]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RateConfig {
    /// Requests per second for each token; zero means no limit.
    pub per_second: u32,
    /// Requests that may come at once after a quiet time.
    pub burst: u32,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:7420".to_owned(),
            behind_proxy: false,
            public_url: None,
            tls: None,
            body_max_bytes: 1024 * 1024,
            head_wait: Wait(Span::from_secs(30)),
            body_wait: Wait(Span::from_secs(30)),
            write_wait: Wait(Span::from_secs(30)),
            answer_wait: Wait(Span::from_secs(120)),
            connections_max: 1_024,
            connections_per_peer_max: 256,
            rate: RateConfig::default(),
            shutdown: Wait(Span::from_secs(20)),
        }
    }
}

impl Default for RateConfig {
    fn default() -> Self {
        Self {
            per_second: 0,
            burst: 100,
        }
    }
}
