//! What every call shares: the engine, the tokens, the bounds, and the word that the server is ending.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::Bytes;
use factum::{
    ActionId, Caller, DEFAULT_PRINCIPAL, DEFAULT_TENANT, Factum, Holder, Listener, Problem, Record,
};
use subtle::ConstantTimeEq;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tracing::Instrument;

use crate::console::{self, Links};
use crate::limits::Limits;
use crate::mcp::gateway::Gateway;
use crate::mcp::questions::Questions;
use crate::metrics;
use crate::openapi;
use crate::rates::Rates;
use crate::reply::Failure;

/// The longest wait that one request may ask for.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(60);

/// A running engine, made reachable. Cheap to clone.
#[derive(Clone)]
pub struct App {
    inner: Arc<Inner>,
}

struct Inner {
    factum: Factum,
    tokens: Vec<String>,
    limits: Limits,
    rates: Rates,
    document: Bytes,
    /// True once no new request is taken on; waits end then.
    ending: watch::Sender<bool>,
    /// Changes that are being made, whether or not their caller still listens.
    under_way: watch::Sender<usize>,
    /// Streams of events that may still be opened.
    streams: Arc<Semaphore>,
    /// Metrics are open without a token, at the address that the server listens on.
    open_metrics: AtomicBool,
    /// Other MCP servers whose tools are carried.
    gateway: Option<Gateway>,
    /// What people at MCP clients are asked just now.
    questions: Questions,
    /// Links that sign somebody in once.
    links: Links,
}

impl App {
    /// Makes an engine reachable for whoever holds one of these tokens, as `admin` of the tenant `default`, or a token that was made
    /// since. Bounds come from the engine's configuration.
    #[must_use]
    pub fn new(factum: Factum, tokens: impl IntoIterator<Item = String>) -> Self {
        let limits = Limits::of(&factum);
        Self::with_limits(factum, tokens, limits)
    }

    /// The same, as a gateway: its `/mcp` has the tools of the servers behind it, which the engine carries.
    #[must_use]
    pub fn gateway_of(
        factum: Factum,
        tokens: impl IntoIterator<Item = String>,
        gateway: Gateway,
    ) -> Self {
        let limits = Limits::of(&factum);
        gateway.serve_for(&factum);
        Self::made(factum, tokens, limits, Some(gateway))
    }

    /// The same, within these bounds.
    #[must_use]
    pub fn with_limits(
        factum: Factum,
        tokens: impl IntoIterator<Item = String>,
        limits: Limits,
    ) -> Self {
        Self::made(factum, tokens, limits, None)
    }

    fn made(
        factum: Factum,
        tokens: impl IntoIterator<Item = String>,
        limits: Limits,
        gateway: Option<Gateway>,
    ) -> Self {
        let streams = factum.config().events.streams_max;
        let inner = Inner {
            factum,
            // An empty token would open the server to everybody.
            tokens: tokens
                .into_iter()
                .filter(|token| !token.is_empty())
                .collect(),
            limits,
            rates: Rates::new(limits.rate),
            document: Bytes::from(openapi::text()),
            ending: watch::Sender::new(false),
            under_way: watch::Sender::new(0),
            streams: Arc::new(Semaphore::new(streams)),
            open_metrics: AtomicBool::new(false),
            gateway,
            questions: Questions::default(),
            links: Links::default(),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// The engine.
    #[must_use]
    pub fn factum(&self) -> &Factum {
        &self.inner.factum
    }

    /// The servers whose tools are carried, where this is a gateway.
    pub(crate) fn gateway(&self) -> Option<&Gateway> {
        self.inner.gateway.as_ref()
    }

    /// What people at MCP clients are asked just now.
    pub(crate) fn questions(&self) -> &Questions {
        &self.inner.questions
    }

    /// Links that sign somebody in once.
    pub(crate) fn links(&self) -> &Links {
        &self.inner.links
    }

    /// The bounds.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.inner.limits
    }

    /// Says where the server listens: metrics may be open there.
    pub(crate) fn listens_at(&self, address: SocketAddr) {
        let open = metrics::open_at(self.inner.factum.config().metrics.access, address);
        self.inner.open_metrics.store(open, Ordering::Relaxed);
    }

    pub(crate) fn has_open_metrics(&self) -> bool {
        self.inner.open_metrics.load(Ordering::Relaxed)
    }

    pub(crate) fn document(&self) -> Bytes {
        self.inner.document.clone()
    }

    pub(crate) fn rates(&self) -> &Rates {
        &self.inner.rates
    }

    /// Whose this is.
    pub(crate) fn caller(&self, shown: &Shown) -> Option<Caller> {
        match shown {
            Shown::Nothing => None,
            Shown::Token(token) => self.holder(token),
            Shown::Certificate(token) => self.inner.factum.engine().caller_of(token),
        }
    }

    /// Whose token this is, and as what a session that is opened with it is known.
    pub(crate) fn signs_in(&self, token: &str) -> Option<(Caller, Holder)> {
        let caller = self.holder(token)?;
        let holder = match &caller.token {
            Some(id) => Holder::Token(id.clone()),
            None => Holder::Installation(self.inner.factum.engine().fingerprint_of(token)),
        };
        Some((caller, holder))
    }

    /// Who holds what a session was opened with, if it still counts.
    pub(crate) fn holder_of(&self, holder: &Holder) -> Option<Caller> {
        let engine = self.inner.factum.engine();
        match holder {
            Holder::Token(id) => engine.caller_of(id),
            Holder::Person { .. } => console::caller_of(self, holder),
            Holder::Installation(name) => {
                let mut tokens = self.inner.tokens.iter();
                tokens
                    .any(|token| engine.fingerprint_of(token) == *name)
                    .then(|| Caller::trusted(DEFAULT_TENANT, DEFAULT_PRINCIPAL))
            }
        }
    }

    /// Whose token this is. How long this takes tells nothing about how much of it was right.
    fn holder(&self, token: &str) -> Option<Caller> {
        let tokens = self.inner.tokens.iter();
        let hits = tokens.map(|known| known.as_bytes().ct_eq(token.as_bytes()));
        let trusted = bool::from(hits.fold(subtle::Choice::from(0), |any, hit| any | hit));
        let known = self.inner.factum.engine().caller(token);
        if trusted {
            Some(Caller::trusted(DEFAULT_TENANT, DEFAULT_PRINCIPAL))
        } else {
            known
        }
    }

    /// Makes a change to its end, even if the caller goes away meanwhile: a recorded action has to be looked at.
    pub(crate) async fn to_its_end<T: Send + 'static>(
        &self,
        change: impl Future<Output = Result<T, Problem>> + Send + 'static,
    ) -> Result<T, Failure> {
        self.inner.under_way.send_modify(|count| *count += 1);
        let ends = Ends(self.inner.clone());
        let change = async move {
            let _ends = ends;
            change.await
        };
        let task = tokio::spawn(change.in_current_span());
        match task.await {
            Ok(outcome) => outcome.map_err(Failure::from),
            Err(_) => Err(Failure::broken()),
        }
    }

    /// An action once it is settled or a person is needed, or as it stands after so long, or when the server ends.
    pub(crate) async fn at_rest(&self, id: ActionId, wait: Duration) -> Result<Record, Problem> {
        let engine = self.inner.factum.engine();
        if wait.is_zero() {
            return engine.load(id).await;
        }
        tokio::select! {
            record = engine.wait(id, wait.min(WAIT_MAX)) => record,
            () = self.ended() => engine.load(id).await,
        }
    }

    /// Leave to open one more stream of events, while there is room.
    pub(crate) fn stream_slot(&self) -> Option<OwnedSemaphorePermit> {
        self.inner.streams.clone().try_acquire_owned().ok()
    }

    /// The same for an action that is listened to already.
    pub(crate) async fn comes_to_rest(
        &self,
        listener: Listener,
        wait: Duration,
    ) -> Result<Record, Problem> {
        let (engine, id) = (self.inner.factum.engine(), listener.action());
        tokio::select! {
            record = engine.wait_on(listener, wait.min(WAIT_MAX)) => record,
            () = self.ended() => engine.load(id).await,
        }
    }

    pub(crate) fn is_ending(&self) -> bool {
        *self.inner.ending.borrow()
    }

    /// Ready once the server is ending.
    pub(crate) async fn ended(&self) {
        // The sender lives in `self`, so this ends with the word alone.
        let _ = self
            .inner
            .ending
            .subscribe()
            .wait_for(|ending| *ending)
            .await;
    }

    pub(crate) fn end(&self) {
        self.inner.ending.send_replace(true);
    }

    /// Ready once no change is being made any more.
    pub(crate) async fn changes_made(&self) {
        // The sender lives in `self`, so this ends with the count alone.
        let _ = self
            .inner
            .under_way
            .subscribe()
            .wait_for(|count| *count == 0)
            .await;
    }
}

/// What a request shows for whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// Nothing.
    Nothing,
    /// A token.
    Token(String),
    /// A certificate that counts as the token of this name.
    Certificate(String),
}

/// Counts a change as made, however it ends.
struct Ends(Arc<Inner>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.under_way.send_modify(|count| *count -= 1);
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn a_change_is_made_to_its_end_without_its_caller() {
        let factum = Factum::memory().start().await.unwrap();
        let app = App::new(factum, []);
        let (begun, begins) = oneshot::channel();
        let (go, goes) = oneshot::channel::<()>();
        let (made, making) = oneshot::channel();
        let caller = tokio::spawn({
            let app = app.clone();
            async move {
                let change = async move {
                    begun.send(()).unwrap();
                    goes.await.unwrap();
                    made.send(()).unwrap();
                    Ok(())
                };
                app.to_its_end(change).await
            }
        });
        begins.await.unwrap();
        caller.abort();
        assert!(caller.await.unwrap_err().is_cancelled());
        go.send(()).unwrap();
        making.await.expect("the change went on");
        app.changes_made().await;
    }

    #[tokio::test]
    async fn a_change_that_panics_is_answered_as_broken_and_counts_as_made() {
        let factum = Factum::memory().start().await.unwrap();
        let app = App::new(factum, []);
        let outcome = app.to_its_end::<()>(async { panic!("in a change") }).await;
        assert_eq!(outcome.unwrap_err().into_reply("").status(), 500);
        app.changes_made().await;
    }

    #[tokio::test]
    async fn an_empty_token_opens_nothing() {
        let factum = Factum::memory().start().await.unwrap();
        let app = App::new(factum, ["right".to_owned(), String::new()]);
        let caller = Caller::trusted(DEFAULT_TENANT, DEFAULT_PRINCIPAL);
        assert_eq!(app.holder("right"), Some(caller));
        for token in ["", "righ", "rightt", "Right"] {
            assert_eq!(app.holder(token), None, "{token:?}");
        }
    }
}
