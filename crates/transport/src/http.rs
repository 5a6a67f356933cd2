//! HTTP/1.1 on hyper's connection API. One request, at most one connection that carries it, and what can be proven of it.
//!
//! The order of a send: secrets, a token where one is needed, name, socket, TLS, a ready connection; then the permission's check, a look at the socket, and
//! the request is handed over. A gate in the meter above TLS checks the permission once more at the first byte, and the write
//! limit at every later one. Whatever ends the exchange, the connection is dropped first and the meters are read afterwards.
//!
//! No redirects, no retries, no cookies, no decompression, no proxy, no `Expect`, no early data. A connection is fresh and
//! closed after its answer unless reuse is allowed; a reused one that turns out dead before any byte is replaced once.

mod connect;
mod exchange;
mod hide;
mod line;
mod meter;
mod pool;
mod request;
mod tls;
mod tokens;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use factum_contract::http::{HttpAnswer, HttpRequest};
use factum_core::evidence::Phase;
use factum_core::{Permission, Span, Timestamp};
use tokio::time::{Instant, timeout_at};

pub use connect::Resolve;
pub(crate) use request::{is_framing, percent_encoded};
pub use tls::Trust;

use crate::auth::Auth;
use crate::clock::{Clock, duration};
use crate::ended::{Asked, Boxed, Ended, Transport};
use crate::error::SecretError;
use crate::secret::Secret;
use crate::target::{CredentialGuard, Target};
use connect::SystemResolver;
use exchange::{Bounds, exchange, root_cause};
use line::{Line, Opened};
use meter::Gate;
use pool::Pool;
use request::Prepared;
use tls::{Stream, Tls};
use tokens::Tokens;

/// Carries requests over HTTP/1.1.
pub struct HttpTransport {
    clock: Arc<dyn Clock>,
    resolver: Arc<dyn Resolve>,
    tls: Tls,
    pool: Pool,
    tokens: Tokens,
}

/// Why nothing of a request left.
#[derive(Debug)]
struct Unsent {
    phase: Phase,
    detail: String,
}

impl Unsent {
    fn new(phase: Phase, detail: impl Into<String>) -> Self {
        Self {
            phase,
            detail: detail.into(),
        }
    }
}

impl From<Unsent> for Ended {
    fn from(unsent: Unsent) -> Self {
        Self::NotSent {
            phase: unsent.phase,
            detail: unsent.detail,
        }
    }
}

/// A message that can be handed over, and the token that it carries, if one was got for it.
struct Ready {
    prepared: Prepared,
    token: Option<Arc<Secret>>,
}

/// One send, as far as it does not depend on the connection.
struct Errand<'a> {
    permission: Arc<Permission>,
    target: &'a Target,
    prepared: Prepared,
    keep_open: bool,
    /// The end of the permission, by the runtime's timer.
    until: Instant,
}

impl HttpTransport {
    /// A transport that trusts the operating system's certificates and resolver.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            resolver: Arc::new(SystemResolver),
            tls: Tls::new(Trust::Platform),
            pool: Pool::default(),
            tokens: Tokens::default(),
        }
    }

    /// With other certificates to trust.
    #[must_use]
    pub fn with_trust(mut self, trust: Trust) -> Self {
        self.tls = Tls::new(trust);
        self
    }

    /// With another resolver.
    #[must_use]
    pub fn with_resolver(mut self, resolver: Arc<dyn Resolve>) -> Self {
        self.resolver = resolver;
        self
    }

    async fn try_send(
        &self,
        permission: Permission,
        target: &Target,
        request: HttpRequest,
        reuse: bool,
    ) -> Result<Ended, Unsent> {
        let now = self.clock.now();
        check(&permission, now)?;
        let until = Instant::now() + duration(permission.valid_until().since(now));
        let ready = self.prepare(target, request, until, target.guard.as_ref());
        let Ready { prepared, token } = ready.await?;
        // A token may have taken its time; the window is not lengthened by that.
        if token.is_some() {
            check(&permission, self.clock.now())?;
        }
        let errand = Errand {
            permission: Arc::new(permission),
            target,
            prepared,
            keep_open: reuse,
            until,
        };
        let linger = duration(errand.permission.linger());
        if reuse
            && let Some(line) = self.pool.take(target)
            && line.set_linger(linger)
        {
            match self.carry(line, &errand).await {
                // Not one byte left, counted after its end: a fresh connection may carry the same attempt.
                Ended::NotSent {
                    phase: Phase::Write,
                    ..
                } => {}
                ended => return Ok(self.heard(target, token.as_ref(), ended).await),
            }
        }
        let line = self.open(target, until, linger).await?;
        let ended = self.carry(line, &errand).await;
        Ok(self.heard(target, token.as_ref(), ended).await)
    }

    /// A token that was refused is not used again. What the refusal means is for others to say.
    async fn heard(&self, target: &Target, token: Option<&Arc<Secret>>, ended: Ended) -> Ended {
        if let Ended::Answered { answer, .. } = &ended {
            self.token_used(target, token, answer.status).await;
        }
        ended
    }

    async fn token_used(&self, target: &Target, token: Option<&Arc<Secret>>, status: u16) {
        if let (Auth::OAuth2(oauth2), Some(token), 401) = (&target.auth, token, status) {
            self.tokens.forget(oauth2, token).await;
        }
    }

    /// A fresh connection, by `until` at the latest.
    async fn open(
        &self,
        target: &Target,
        until: Instant,
        linger: Duration,
    ) -> Result<Line, Unsent> {
        let addresses = connect::addresses(&*self.resolver, target, until).await?;
        let tcp = connect::connect(&addresses, target, until, linger).await?;
        let (tcp, below, io) = line::wrap(tcp);
        let stream = if target.https {
            Stream::Tls(Box::new(self.tls.handshake(target, io, until).await?))
        } else {
            Stream::Plain(io)
        };
        let opened = Opened { stream, below, tcp };
        Line::open(opened, target.limits.head_max_bytes)
            .await
            .map_err(|e| Unsent::new(Phase::Write, root_cause(&e)))
    }

    async fn carry(&self, mut line: Line, errand: &Errand<'_>) -> Ended {
        let permission = &errand.permission;
        if !line.ready(errand.until).await {
            return closed_early();
        }
        if let Err(expired) = check(permission, self.clock.now()) {
            return expired.into();
        }
        if !line.quiet() {
            return closed_early();
        }
        let refused = line::flag();
        let taken = line::flag();
        let gate = Gate::new(
            Arc::clone(permission),
            Arc::clone(&self.clock),
            Arc::clone(&refused),
        );
        line.begin(Some(gate), Arc::clone(&taken));
        let bounds = Bounds::Each {
            write: duration(permission.write_limit()),
            answer: duration(permission.answer_wait()),
        };
        let message = errand.prepared.message(errand.keep_open, taken);
        let body_max = errand.target.limits.body_max_bytes;
        let broken = match exchange(&mut line, message, bounds, body_max).await {
            Ok(mut answer) if line.wrote() > 0 => {
                hide::hide(&mut answer, errand.prepared.secret());
                let (read_at, wrote) = (self.clock.now(), line.wrote());
                let complete = line.whole() && !answer.truncated;
                self.put_away(line, errand.target, complete, errand.keep_open)
                    .await;
                return Ended::Answered {
                    answer,
                    read_at,
                    wrote,
                };
            }
            Ok(answer) => exchange::Broken {
                phase: Phase::Write,
                status: Some(answer.status),
                detail: "the destination spoke before anything was asked".to_owned(),
            },
            Err(broken) => broken,
        };
        let counts = line.close(false);
        if counts.wrote == 0 && counts.sealed {
            let expired = check(permission, self.clock.now()).err();
            return expired
                .filter(|_| line::is_set(&refused))
                .unwrap_or_else(|| Unsent::new(Phase::Write, broken.detail))
                .into();
        }
        Ended::Lost {
            phase: broken.phase,
            wrote: counts.wrote,
            read: counts.read,
            closed_at: counts.sealed.then(|| self.clock.now()),
            status: broken.status,
            detail: broken.detail,
        }
    }

    /// Keeps a connection whose exchange is complete, where that is wanted and possible; else closes it.
    async fn put_away(&self, mut line: Line, target: &Target, complete: bool, keep_open: bool) {
        if complete && keep_open && line.idle().await {
            line.rest();
            self.pool.put(target, line);
        } else {
            line.close(complete);
        }
    }

    async fn try_ask(
        &self,
        target: &Target,
        request: HttpRequest,
        limit: Span,
    ) -> Result<HttpAnswer, Unsent> {
        let until = Instant::now() + duration(limit);
        let Ready { prepared, token } = self.prepare(target, request, until, None).await?;
        let answer = self.converse(target, &prepared, until).await?;
        self.token_used(target, token.as_ref(), answer.status).await;
        Ok(answer)
    }

    /// One question and its answer, over a connection of its own, by `until` at the latest.
    async fn converse(
        &self,
        target: &Target,
        prepared: &Prepared,
        until: Instant,
    ) -> Result<HttpAnswer, Unsent> {
        let linger = until.saturating_duration_since(Instant::now());
        let mut line = self.open(target, until, linger).await?;
        if !line.ready(until).await {
            return Err(Unsent::new(Phase::Write, CLOSED_EARLY));
        }
        let taken = line::flag();
        line.begin(None, Arc::clone(&taken));
        let message = prepared.message(false, taken);
        let body_max = target.limits.body_max_bytes;
        let asked = exchange(&mut line, message, Bounds::Until(until), body_max).await;
        let complete = asked.as_ref().is_ok_and(|answer| !answer.truncated);
        line.close(complete);
        let mut answer = asked.map_err(|broken| Unsent::new(broken.phase, broken.detail))?;
        hide::hide(&mut answer, prepared.secret());
        Ok(answer)
    }

    /// Resolves the secrets, gets a token where one is needed, and makes the message. Nothing of it goes to the destination.
    async fn prepare(
        &self,
        target: &Target,
        request: HttpRequest,
        until: Instant,
        guard: Option<&CredentialGuard>,
    ) -> Result<Ready, Unsent> {
        let unsent = |detail: String| Unsent::new(Phase::Prepare, detail);
        let secret = |e: SecretError| unsent(e.to_string());
        let credential = timeout_at(until, target.auth.resolve(target.limits.secret))
            .await
            .map_err(|_| unsent("the secret was not there in time".to_owned()))?
            .map_err(secret)?;
        if let (Some(confirmed), Some(identity)) = (guard, credential.identity(&target.auth))
            && !confirmed(&identity)
        {
            return Err(unsent(
                "the credential is not the one that was confirmed for this account".to_owned(),
            ));
        }
        let prepared = Prepared::new(target, request).map_err(|e| unsent(e.to_string()))?;
        let token = if let Auth::OAuth2(oauth2) = &target.auth {
            Some(self.token(target, oauth2, &credential, until).await?)
        } else {
            None
        };
        // Only a signature is dated.
        let at = if matches!(target.auth, Auth::SigV4(_) | Auth::Hmac(_)) {
            self.clock.now()
        } else {
            Timestamp::EARLIEST
        };
        let headers = prepared.plain_headers();
        let added = target
            .auth
            .apply(
                &credential,
                token.as_deref(),
                &prepared.signable(&headers, at),
            )
            .map_err(secret)?;
        let prepared = prepared
            .authenticated(added)
            .map_err(|e| unsent(e.to_string()))?;
        Ok(Ready { prepared, token })
    }
}

impl Transport for HttpTransport {
    fn send<'a>(
        &'a self,
        permission: Permission,
        target: &'a Target,
        request: HttpRequest,
        reuse: bool,
    ) -> Boxed<'a, Ended> {
        Box::pin(async move {
            self.try_send(permission, target, request, reuse)
                .await
                .unwrap_or_else(Ended::from)
        })
    }

    fn ask<'a>(
        &'a self,
        target: &'a Target,
        request: HttpRequest,
        limit: Span,
    ) -> Boxed<'a, Asked> {
        Box::pin(async move {
            match self.try_ask(target, request, limit).await {
                Ok(answer) => Asked::Answered(answer),
                Err(Unsent { phase, detail }) => Asked::Failed { phase, detail },
            }
        })
    }
}

impl fmt::Debug for HttpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpTransport")
            .field("tls", &self.tls)
            .finish_non_exhaustive()
    }
}

const CLOSED_EARLY: &str = "the connection was closed before anything was written";

fn closed_early() -> Ended {
    Unsent::new(Phase::Write, CLOSED_EARLY).into()
}

fn check(permission: &Permission, now: Timestamp) -> Result<(), Unsent> {
    permission
        .check(now)
        .map_err(|expired| Unsent::new(Phase::Prepare, expired.to_string()))
}
