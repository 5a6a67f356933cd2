//! What a testbed is started with. Every member has a default; nothing is read from the environment.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use factum_faults::FaultPlan;

use crate::stand_in::StandIn;

/// Everything that [`Testbed::start`](crate::Testbed::start) needs.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where the destinations listen. Loopback only; port 0 takes a free one. Default `127.0.0.1:0`.
    pub listen: SocketAddr,
    /// Where the administration listens by itself, out of reach of every fault. `None`: only beside the destinations,
    /// where a rule that is decided per connection can hit it. Default `127.0.0.1:0`.
    pub admin_listen: Option<SocketAddr>,
    /// The ledger's file, made when missing and read when not. `None` keeps the ledger in memory.
    pub ledger: Option<PathBuf>,
    /// Which requests are hit by what. Default: none.
    pub faults: FaultPlan,
    /// The token that destinations ask for as `Authorization: Bearer …`; else 401. Default: none is asked for.
    pub bearer: Option<String>,
    /// Destinations of the catalogue that are stood in for, beside the five kinds. Default: none.
    pub stand_ins: Vec<StandIn>,
    /// Where effects are reported to, signed: those of queued work of the five kinds, and those of stand-ins whose contract
    /// describes such a report. Default: nowhere.
    pub callbacks: Option<CallbackTo>,
    /// How the destinations behave.
    pub settings: Settings,
    /// What is bounded.
    pub limits: Limits,
}

/// Where effects are reported to.
#[derive(Clone, PartialEq, Eq)]
pub struct CallbackTo {
    /// The address: `http://127.0.0.1:7420/v1/callbacks/…`. Loopback only, since reports are signed with a secret of tests.
    pub url: String,
    /// The secret, in the form that the contract's scheme wants.
    pub secret: Vec<u8>,
}

impl std::fmt::Debug for CallbackTo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallbackTo")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

impl Default for Config {
    fn default() -> Config {
        let free = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Config {
            listen: free,
            admin_listen: Some(free),
            ledger: None,
            faults: FaultPlan::none(),
            bearer: None,
            stand_ins: Vec::new(),
            callbacks: None,
            settings: Settings::default(),
            limits: Limits::default(),
        }
    }
}

/// How the destinations behave. Can be changed while the testbed runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// How long `key` remembers a key, from the key's first arrival. Default 24 h.
    pub key_retention: Duration,
    /// Whether `key` stores the error of a `status` fault and replays it, in place of the true answer. Default no.
    pub replay_errors: bool,
    /// How long a queued effect stays in the queue. Default 300 ms.
    pub queue_delay: Duration,
    /// How long after landing `lagging` shows an effect, and a stand-in that lies about its lookup. Default 3 s.
    pub search_lag: Duration,
    /// Whether `lagging` cuts its answer to the first page and calls it incomplete. Default no.
    pub truncate: bool,
    /// How long a request with `"behave":"slow"` takes, unless it brings its own `slow_ms`. Default 1 s.
    pub slow: Duration,
    /// How long a stand-in works on an effect request; meanwhile a repeat is a concurrent one. Default 20 ms.
    pub work: Duration,
    /// The `Retry-After` of 409, 429 and 503, in seconds. Default 1.
    pub retry_after_s: u32,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            key_retention: Duration::from_secs(24 * 3600),
            replay_errors: false,
            queue_delay: Duration::from_millis(300),
            search_lag: Duration::from_secs(3),
            truncate: false,
            slow: Duration::from_secs(1),
            work: Duration::from_millis(20),
            retry_after_s: 1,
        }
    }
}

/// What is bounded, so that a caller gone wrong cannot exhaust the process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a request's head. Default 64 KiB.
    pub head_max: usize,
    /// Bytes of a request's body. Default 16 MiB.
    pub body_max: usize,
    /// Connections served at once; further ones wait in the kernel's queue. Default 4096.
    pub connections_max: usize,
    /// How long a connection may stay silent within or between requests. Default 60 s.
    pub idle: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            head_max: 64 * 1024,
            body_max: 16 * 1024 * 1024,
            connections_max: 4096,
            idle: Duration::from_secs(60),
        }
    }
}
