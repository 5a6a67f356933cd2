//! MCP servers that are spoken with from here: for a gateway that carries their tools.

use std::sync::{Arc, OnceLock};

use factum_core::Timestamp;
use factum_engine::{Code, Problem};
pub use factum_transport::mcp::{CallEnded, Command, Unasked, Upstream, said};
use factum_transport::{Auth, Clock, HttpTransport, SecretRef};

use crate::Factum;

/// The store's time for what carries in this process, which is there before the engine is.
#[derive(Clone, Default)]
pub struct EngineClock(Arc<OnceLock<Factum>>);

impl EngineClock {
    /// From now on it tells this engine's time.
    pub fn set(&self, factum: &Factum) {
        // The first one stays.
        let _ = self.0.set(factum.clone());
    }
}

impl Clock for EngineClock {
    /// Before there is an engine, no permission counts.
    fn now(&self) -> Timestamp {
        let engine = self.0.get();
        engine.map_or(Timestamp::NEVER, |factum| factum.engine().now())
    }
}

/// A server over HTTP, with a token by reference where it wants one.
///
/// # Errors
/// F1040: the address or the reference is none.
pub fn http(url: &str, bearer: Option<&str>, clock: &EngineClock) -> Result<Upstream, Problem> {
    let clock: Arc<dyn Clock> = Arc::new(clock.clone());
    let malformed = |error: factum_transport::Malformed| {
        Problem::new(
            Code::BadConfig,
            "/url",
            error.rule.to_string(),
            error.remedy.to_string(),
        )
    };
    let bearer = bearer
        .map(SecretRef::parse)
        .transpose()
        .map_err(malformed)?;
    let auth = bearer.map_or(Auth::None, Auth::Bearer);
    let transport = Arc::new(HttpTransport::new(clock.clone()));
    Upstream::http(url, auth, transport, clock).map_err(malformed)
}

/// A server that is started here, and ends with us.
#[must_use]
pub fn command(command: Command, clock: &EngineClock) -> Upstream {
    Upstream::command(command, Arc::new(clock.clone()))
}
