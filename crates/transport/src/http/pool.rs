//! Idle connections, few and for a moment. Hands one out only to the same destination with the same authentication.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::Trust;
use super::line::Line;
use crate::auth::Auth;
use crate::networks::Networks;
use crate::target::Target;

/// Longer than this, a server may be closing it just as we write; and a reused connection manufactures unknowns.
const IDLE_MAX: Duration = Duration::from_millis(900);

/// Idle connections per destination: answers come in bursts, as commits do, and so do the next sends.
const PER_TARGET_MAX: usize = 64;

/// Idle connections in all.
const IN_ALL_MAX: usize = 256;

#[derive(Clone, PartialEq, Eq, Hash)]
struct Whose {
    https: bool,
    host: String,
    port: u16,
    auth: Auth,
    trust: Option<Trust>,
    /// A connection is no way around what another target may not reach.
    networks: Networks,
    base_is_trusted: bool,
}

#[derive(Default)]
struct Idle {
    lines: HashMap<Whose, Vec<(Instant, Line)>>,
    /// How many there are in all.
    count: usize,
    sweeping: bool,
}

/// The idle connections of one transport.
#[derive(Default)]
pub(super) struct Pool {
    idle: Arc<Mutex<Idle>>,
}

impl Pool {
    /// The connection that has been idle for the shortest time, if there is one. It may have been closed meanwhile.
    pub(super) fn take(&self, target: &Target) -> Option<Line> {
        let mut idle = lock(&self.idle);
        let (since, line) = idle.lines.get_mut(&whose(target))?.pop()?;
        idle.count -= 1;
        (since.elapsed() < IDLE_MAX).then_some(line)
    }

    /// Keeps a connection for a moment, unless there are enough.
    pub(super) fn put(&self, target: &Target, line: Line) {
        let mut idle = lock(&self.idle);
        if idle.count >= IN_ALL_MAX {
            return;
        }
        let lines = idle.lines.entry(whose(target)).or_default();
        if lines.len() >= PER_TARGET_MAX {
            return;
        }
        lines.push((Instant::now(), line));
        idle.count += 1;
        if !idle.sweeping {
            idle.sweeping = true;
            tokio::spawn(sweep(Arc::downgrade(&self.idle)));
        }
    }
}

/// Closes what has been idle for too long, and ends when nothing is idle or the pool is gone.
async fn sweep(pool: Weak<Mutex<Idle>>) {
    loop {
        sleep(IDLE_MAX).await;
        let Some(pool) = pool.upgrade() else { return };
        let mut idle = lock(&pool);
        for lines in idle.lines.values_mut() {
            lines.retain(|(since, _)| since.elapsed() < IDLE_MAX);
        }
        idle.lines.retain(|_, lines| !lines.is_empty());
        idle.count = idle.lines.values().map(Vec::len).sum();
        if idle.lines.is_empty() {
            idle.sweeping = false;
            return;
        }
    }
}

fn lock(idle: &Mutex<Idle>) -> MutexGuard<'_, Idle> {
    idle.lock().unwrap_or_else(PoisonError::into_inner)
}

fn whose(target: &Target) -> Whose {
    Whose {
        https: target.https,
        host: target.host.clone(),
        port: target.port,
        auth: target.auth.clone(),
        trust: target.trust.clone(),
        networks: target.networks.clone(),
        base_is_trusted: target.base_is_trusted,
    }
}
