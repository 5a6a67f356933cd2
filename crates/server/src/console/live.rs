//! Word that something has changed, for a page that is open: which, the page finds out by asking for itself anew.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{StatusCode, header};
use factum::events::{Cursor, EventFilter, From};
use factum::statements::Reader;
use factum::{Code, Problem};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::{sleep, timeout};
use tracing::Instrument;

use super::Visit;
use super::door::acting;
use crate::app::App;
use crate::events::Pieces;
use crate::reply::{Failure, Reply, with_header};

/// Events that are read at once.
const PAGE: usize = 200;
/// What comes within this is told together.
const TOGETHER: Duration = Duration::from_millis(500);
/// A page says so often that it is still there, and it is looked whether its session is.
const BEAT: Duration = Duration::from_secs(15);
/// A browser that takes nothing for so long is let go.
const PATIENCE: Duration = Duration::from_secs(30);

/// Opens the stream.
pub(super) async fn open(app: &App, visit: &Visit) -> Result<Reply, Failure> {
    let Some(slot) = app.stream_slot() else {
        let rule = "as many streams are open as `events.streams_max` allows";
        let problem = Problem::new(Code::TooManyStreams, "", rule, "close a page");
        return Err(problem.after(Duration::from_secs(10)).into());
    };
    let (pieces, taken) = mpsc::channel(1);
    let page = OpenPage {
        app: app.clone(),
        caller: visit.caller.clone(),
        session: visit.session.clone(),
        cursor: app.factum().cursor(From::Now).await?,
        pieces,
        _slot: slot,
    };
    tokio::spawn(page.follow().in_current_span());
    let mut reply = Reply::new(Body::new(Pieces(taken)));
    *reply.status_mut() = StatusCode::OK;
    let reply = with_header(reply, header::CONTENT_TYPE, "text/event-stream");
    let reply = with_header(reply, header::CACHE_CONTROL, "no-store");
    let unbuffered = header::HeaderName::from_static("x-accel-buffering");
    Ok(with_header(reply, unbuffered, "no"))
}

/// Somebody's page.
struct OpenPage {
    app: App,
    caller: factum::Caller,
    session: factum::Session,
    cursor: Cursor,
    pieces: mpsc::Sender<Bytes>,
    _slot: OwnedSemaphorePermit,
}

impl OpenPage {
    async fn follow(mut self) {
        let mut heard = self.app.factum().heard();
        loop {
            let told = match self.has_changed().await {
                Ok(true) => self.tell("event: changed\ndata: \n\n").await,
                Ok(false) => self.tell(": still here\n\n").await,
                Err(problem) => return tracing::warn!(%problem, "a page is not kept up to date"),
            };
            // A session's end by time is seen when the page asks for itself anew; a token's end is seen here.
            if !told || acting(&self.app, &self.session).as_ref() != Some(&self.caller) {
                return;
            }
            tokio::select! {
                _ = heard.changed() => sleep(TOGETHER).await,
                () = sleep(BEAT) => {}
                () = self.app.ended() => return,
                () = self.pieces.closed() => return,
            }
        }
    }

    /// Whether anything came that they may see.
    async fn has_changed(&mut self) -> Result<bool, Problem> {
        let (filter, reader) = (EventFilter::default(), Reader::default());
        let mut any = false;
        loop {
            let page = self
                .app
                .factum()
                .events(&self.caller, &filter, self.cursor, PAGE, reader)
                .await?;
            any |= !page.events.is_empty();
            self.cursor = page.next;
            if !page.more {
                return Ok(any);
            }
        }
    }

    async fn tell(&self, text: &'static str) -> bool {
        let sent = timeout(
            PATIENCE,
            self.pieces.send(Bytes::from_static(text.as_bytes())),
        );
        matches!(sent.await, Ok(Ok(())))
    }
}
