//! The bounds of the server, as numbers.

use std::time::Duration;

use factum::Factum;

/// Bounds of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest body of a request, in bytes.
    pub body_max: usize,
    /// Longest time for a body to arrive.
    pub body_wait: Duration,
    /// Longest time for the head of a request to arrive, and for a handshake; an idle connection is closed after it, too.
    pub head_wait: Duration,
    /// Longest time without a caller taking any byte of its answer.
    pub write_wait: Duration,
    /// Longest time until a request is answered.
    pub answer_wait: Duration,
    /// Connections at once; more wait until one ends.
    pub connections_max: usize,
    /// Connections at once from one other machine; more are closed.
    pub connections_per_peer_max: usize,
    /// Requests per token, where they are limited.
    pub rate: Option<Rate>,
    /// Longest time for requests to be answered, and then for sends in flight to end, once the server is stopped.
    pub shutdown: Duration,
}

/// Requests of one token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// On average per second; at least one.
    pub per_second: u32,
    /// At once after a quiet time; at least one.
    pub burst: u32,
}

impl Limits {
    /// The bounds that an engine's configuration sets.
    #[must_use]
    pub fn of(factum: &Factum) -> Self {
        let server = &factum.config().server;
        let rate = server.rate;
        Self {
            body_max: server.body_max_bytes,
            body_wait: server.body_wait.duration(),
            head_wait: server.head_wait.duration(),
            write_wait: server.write_wait.duration(),
            answer_wait: server.answer_wait.duration(),
            connections_max: server.connections_max,
            connections_per_peer_max: server.connections_per_peer_max,
            rate: (rate.per_second > 0).then_some(Rate {
                per_second: rate.per_second,
                burst: rate.burst.max(1),
            }),
            shutdown: server.shutdown.duration(),
        }
    }
}
