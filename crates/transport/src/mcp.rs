//! MCP servers as destinations: a tool call is carried once, under a permission, and how it ended is said as it is for HTTP. A server
//! that we started ends with us, is started again by us, and what was under way when it died is lost, not failed.
//!
//! Nothing here repeats a call, cancels one, answers a server's question to a person, or begins anew in the middle of one. The version of the
//! protocol is found out by harmless requests alone.

mod http;
mod pipe;
mod speech;

use std::sync::Arc;
use std::time::Duration;

use factum_core::{Permission, Span, Timestamp};
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::auth::Auth;
use crate::clock::{Clock, duration};
use crate::ended::Transport;
use crate::error::Malformed;
use crate::target::{HttpLimits, Target};
use http::Posts;
use pipe::Pipe;
use speech::Speech;

pub use pipe::Command;

/// A longer message is none: it is not read to its end, in bytes.
const ANSWER_MAX: usize = 16 * 1024 * 1024;
/// A server has this long to say which version it speaks.
const GREETING: Duration = Duration::from_secs(60);
/// A server that died is started again after this at the earliest.
const REST: Duration = Duration::from_millis(500);

/// How a tool call ended.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub enum CallEnded {
    /// No byte of it left our hands.
    NotSent {
        /// Why.
        detail: String,
    },
    /// At least one byte left, and no whole answer came.
    Lost {
        /// Bytes of the message that left our hands.
        wrote: u64,
        /// When the server, or the connection to it, was known to be gone.
        closed_at: Option<Timestamp>,
        /// What went wrong, for people.
        detail: String,
    },
    /// A response was read: `Ok` holds its result, `Err` its error, as they were written.
    Answered(Result<Value, Value>),
}

/// Why a harmless request has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unasked(pub String);

/// One MCP server. Cheap to clone; it ends with the last clone.
#[derive(Clone)]
pub struct Upstream(Arc<Inner>);

struct Inner {
    place: Place,
    clock: Arc<dyn Clock>,
    now: Mutex<Now>,
}

/// Where it is.
enum Place {
    Command(Command),
    Http(Posts),
}

/// The server as it runs now.
#[derive(Default)]
struct Now {
    session: Option<Session>,
    /// It was started last.
    started: Option<Instant>,
}

/// A server that has said which version it speaks.
#[derive(Clone)]
struct Session {
    line: Line,
    speech: Speech,
}

#[derive(Clone)]
enum Line {
    Pipe(Arc<Pipe>),
    Http(Posts),
}

impl Upstream {
    /// A server that is started by us, and ends with us.
    #[must_use]
    pub fn command(command: Command, clock: Arc<dyn Clock>) -> Self {
        Self::at(Place::Command(command), clock)
    }

    /// A server that is reached over HTTP, at exactly this address.
    ///
    /// # Errors
    /// The address is none, or the authentication cannot work.
    pub fn http(
        url: &str,
        auth: Auth,
        transport: Arc<dyn Transport>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, Malformed> {
        let path_at = url.find("://").map_or(0, |at| at + 3);
        let path_at = url[path_at..]
            .find('/')
            .map_or(url.len(), |at| path_at + at);
        let (base, path) = url.split_at(path_at);
        let limits = HttpLimits {
            body_max_bytes: ANSWER_MAX,
            ..HttpLimits::default()
        };
        let target = Target::parse(base, false)?
            .with_limits(limits)
            .with_auth(auth)?;
        let path = if path.is_empty() { "/" } else { path };
        Ok(Self::at(
            Place::Http(Posts::new(target, path, transport)),
            clock,
        ))
    }

    fn at(place: Place, clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(Inner {
            place,
            clock,
            now: Mutex::new(Now::default()),
        }))
    }

    /// Asks for something that has no effect, within `limit`.
    ///
    /// # Errors
    /// The server is not there, did not answer in time, or answered with an error.
    pub async fn ask(&self, method: &str, params: Value, limit: Span) -> Result<Value, Unasked> {
        let until = Instant::now() + duration(limit);
        let session = tokio::time::timeout_at(until, self.session()).await;
        let session = session.map_err(|_| late())?.map_err(Unasked)?;
        let params = session.speech.params(params);
        match session
            .line
            .ask(&session.speech, method, params, until)
            .await?
        {
            Ok(result) => Ok(result),
            Err(error) => Err(Unasked(said(&error))),
        }
    }

    /// Calls a tool, once, under a permission that this uses up (law 6).
    pub async fn call(&self, permission: Permission, params: Value) -> CallEnded {
        let left = permission.valid_until().since(self.0.clock.now());
        let until = Instant::now() + duration(left);
        let session = match tokio::time::timeout_at(until, self.session()).await {
            Ok(Ok(session)) => session,
            Ok(Err(detail)) => return CallEnded::NotSent { detail },
            Err(_) => {
                let detail = "the server was not ready while the permission held".to_owned();
                return CallEnded::NotSent { detail };
            }
        };
        let params = session.speech.params(params);
        let (speech, clock) = (&session.speech, self.0.clock.as_ref());
        match &session.line {
            Line::Pipe(pipe) => pipe.call(permission, clock, until, params).await,
            Line::Http(posts) => posts.call(permission, speech, params).await,
        }
    }

    /// The server, started and greeted; the one that runs where it still does. A start goes on where nobody waits for it any more.
    async fn session(&self) -> Result<Session, String> {
        let inner = self.0.clone();
        let started = tokio::spawn(async move { inner.session().await });
        started
            .await
            .map_err(|error| format!("the start broke: {error}"))?
    }
}

impl Inner {
    async fn session(&self) -> Result<Session, String> {
        let mut now = self.now.lock().await;
        if let Some(session) = now
            .session
            .as_ref()
            .filter(|session| session.line.is_open())
        {
            return Ok(session.clone());
        }
        now.session = None;
        if let Some(started) = now.started {
            tokio::time::sleep_until(started + REST).await;
        }
        now.started = Some(Instant::now());
        let line = match &self.place {
            Place::Command(command) => {
                Line::Pipe(Arc::new(Pipe::start(command, self.clock.clone())?))
            }
            Place::Http(posts) => Line::Http(posts.clone()),
        };
        let speech = line.greet(Instant::now() + GREETING).await?;
        let session = Session { line, speech };
        now.session = Some(session.clone());
        Ok(session)
    }
}

impl Line {
    fn is_open(&self) -> bool {
        match self {
            Self::Pipe(pipe) => pipe.is_open(),
            Self::Http(posts) => posts.is_open(),
        }
    }

    async fn ask(
        &self,
        speech: &Speech,
        method: &str,
        params: Value,
        until: Instant,
    ) -> Result<Result<Value, Value>, Unasked> {
        match self {
            Self::Pipe(pipe) => pipe.ask(method, params, until).await,
            Self::Http(posts) => posts.ask(speech, method, params, until).await,
        }
    }

    /// Finds out which version the server speaks: most know the older beginning; one that refuses it speaks the newer version alone.
    async fn greet(&self, until: Instant) -> Result<Speech, String> {
        let unsaid = Speech::Unsaid;
        let hello = speech::hello();
        let begun = self.ask(&unsaid, "initialize", hello, until).await;
        match begun.map_err(|Unasked(why)| why)? {
            Ok(result) => {
                let speech = Speech::legacy(&result);
                match self {
                    Self::Pipe(pipe) => pipe.tell("notifications/initialized", until).await,
                    Self::Http(posts) => {
                        posts
                            .tell(&speech, "notifications/initialized", until)
                            .await
                    }
                }
                .map_err(|Unasked(why)| why)?;
                Ok(speech)
            }
            Err(refused) => {
                let params = Speech::Modern.params(json!({}));
                let found = self
                    .ask(&Speech::Modern, "server/discover", params, until)
                    .await;
                match found.map_err(|Unasked(why)| why)? {
                    Ok(_) => Ok(Speech::Modern),
                    Err(_) => Err(format!("it refused to begin: {}", said(&refused))),
                }
            }
        }
    }
}

/// An error of JSON-RPC in words.
#[must_use]
pub fn said(error: &Value) -> String {
    let message = error["message"].as_str().unwrap_or("no reason was given");
    format!("{message} ({})", error["code"])
}

fn late() -> Unasked {
    Unasked("no answer came in time".to_owned())
}
