//! A stream of events, as `EventSource` reads it.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{StatusCode, header};
use factum::events::{Cursor, EventFilter, EventView};
use factum::statements::Reader;
use factum::{Caller, Code, Problem};
use hyper::body::{Body as HttpBody, Frame};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::{Instant, timeout};
use tracing::Instrument;

use super::STREAM;
use crate::app::{App, Shown};
use crate::incoming::Incoming;
use crate::reply::{Failure, Reply, with_header};

/// Events that are read at once.
const PAGE: usize = 50;
/// A stream says so often that it lives, and up to where it has come.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// It is looked so often whether the token still counts.
const CHECK_EVERY: Duration = Duration::from_secs(1);
/// A reader that takes nothing for so long is let go.
const PATIENCE: Duration = Duration::from_secs(30);
/// A reader that was let go comes back after so long, in milliseconds.
const RETRY_MS: u64 = 2_000;

/// What is written, piece by piece, as it is taken.
pub(crate) struct Pieces(pub(crate) mpsc::Receiver<Bytes>);

impl HttpBody for Pieces {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let next = self.0.poll_recv(context);
        next.map(|piece| piece.map(|bytes| Ok(Frame::data(bytes))))
    }
}

/// One reader.
struct Listener {
    app: App,
    caller: Caller,
    shown: Shown,
    filter: EventFilter,
    reader: Reader,
    cursor: Cursor,
    pieces: mpsc::Sender<Bytes>,
    _slot: OwnedSemaphorePermit,
}

/// Why a stream ends.
enum End {
    /// The reader went away, or takes nothing.
    Gone,
    /// The server ends, or the token counts no more.
    Over,
    /// What comes next cannot be read.
    Problem(Problem),
}

/// Opens a stream behind a place.
pub(super) fn open(
    app: &App,
    incoming: &Incoming,
    filter: EventFilter,
    cursor: Cursor,
) -> Result<Reply, Failure> {
    let Some(slot) = app.stream_slot() else {
        let rule = "as many streams are open as `events.streams_max` allows";
        let remedy = "close one, or ask for pages: GET /v1/events?wait=30";
        let problem = Problem::new(Code::TooManyStreams, "", rule, remedy);
        return Err(problem.after(Duration::from_secs(10)).into());
    };
    let (pieces, taken) = mpsc::channel(1);
    let listener = Listener {
        app: app.clone(),
        caller: incoming.caller.clone(),
        shown: incoming.shown.clone(),
        filter,
        reader: incoming.reader(),
        cursor,
        pieces,
        _slot: slot,
    };
    tokio::spawn(listener.run().in_current_span());
    let mut reply = Reply::new(Body::new(Pieces(taken)));
    *reply.status_mut() = StatusCode::OK;
    let reply = with_header(reply, header::CONTENT_TYPE, STREAM);
    let reply = with_header(reply, header::CACHE_CONTROL, "no-store");
    // Proxies that collect answers would hold events back.
    let unbuffered = header::HeaderName::from_static("x-accel-buffering");
    Ok(with_header(reply, unbuffered, "no"))
}

impl Listener {
    async fn run(mut self) {
        let end = self.serve().await;
        if let Err(End::Problem(problem)) = end {
            tracing::warn!(%problem, "a stream of events ends");
            let json = factum::problem_json(&problem);
            // Whoever went away needs no reason.
            let _ = self
                .write(format!("event: problem\ndata: {json}\n\n"))
                .await;
        }
    }

    async fn serve(&mut self) -> Result<(), End> {
        let mut heard = self.app.factum().heard();
        self.write(format!("retry: {RETRY_MS}\n\n")).await?;
        let mut beat = Instant::now() + HEARTBEAT;
        loop {
            self.check()?;
            let more = self.catch_up().await?;
            if more {
                continue;
            }
            loop {
                let look = tokio::time::sleep(CHECK_EVERY);
                tokio::select! {
                    _ = heard.changed() => break,
                    () = self.app.ended() => return Err(End::Over),
                    () = self.pieces.closed() => return Err(End::Gone),
                    () = look => self.check()?,
                }
                if Instant::now() >= beat {
                    beat = Instant::now() + HEARTBEAT;
                    self.write(format!(": still here\nid: {}\n\n", self.cursor))
                        .await?;
                    break;
                }
            }
        }
    }

    /// Writes what there is; gives whether there is more.
    async fn catch_up(&mut self) -> Result<bool, End> {
        let page = self
            .app
            .factum()
            .events(&self.caller, &self.filter, self.cursor, PAGE, self.reader)
            .await
            .map_err(End::Problem)?;
        for event in &page.events {
            self.check()?;
            self.write(written(event)?).await?;
        }
        self.cursor = page.next;
        Ok(page.more)
    }

    /// Whether the token still counts, for the same as before.
    fn check(&self) -> Result<(), End> {
        if self.app.is_ending() || self.app.caller(&self.shown).as_ref() != Some(&self.caller) {
            return Err(End::Over);
        }
        Ok(())
    }

    async fn write(&self, text: String) -> Result<(), End> {
        match timeout(PATIENCE, self.pieces.send(Bytes::from(text))).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(End::Gone),
        }
    }
}

fn written(event: &EventView) -> Result<String, End> {
    let data = serde_json::to_string(event).map_err(|error| {
        tracing::error!(%error, "an event cannot be written as JSON");
        End::Gone
    })?;
    Ok(format!(
        "id: {}\nevent: {}\ndata: {data}\n\n",
        event.cursor, event.topic
    ))
}
