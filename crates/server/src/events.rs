//! Events: a page of them, or a stream that goes on (`text/event-stream`). Both begin behind a cursor, and lead to the next one.
//!
//! Whoever listens is served at their own pace: the next events are read once the last ones were taken. One that takes nothing for
//! long is let go, and comes back with the cursor that it has.

mod stream;

pub(crate) use stream::Pieces;

use std::time::Duration;

use axum::http::{StatusCode, header};
use factum::events::{Cursor, EventFilter, From, Topic};
use factum::statements::Reader;
use factum::{Caller, Code};
use serde_json::json;

use crate::actions::{ACCEPT_LANGUAGE, AUDIENCE, LIMIT, LIMIT_PARAM, LOCALE};
use crate::app::{App, WAIT_MAX};
use crate::call::{Doc, Param};
use crate::incoming::Incoming;
use crate::query::Kind;
use crate::reply::{Failure, Reply, json_reply};

/// The header by which a stream is gone on with.
const LAST_EVENT_ID: &str = "Last-Event-ID";

/// The media type of a stream.
pub(crate) const STREAM: &str = "text/event-stream";

pub(crate) const EVENTS: Doc = Doc {
    name: "events",
    summary: "What has changed, in one order, behind a place.",
    says: "With `Accept: text/event-stream` a stream that goes on: each event has its place as `id`, its type as `event` and an Event as \
           `data`; every 15 seconds a comment and the place reached so far. It is resumed by `Last-Event-ID`. Otherwise a page: `next` \
           is the place to go on from, also where nothing was found. Without `from` a stream begins with what happens next, and a page \
           with the oldest that is kept. Nothing is missed between two places, and an event may come twice: its `id` stays the same. \
           Events are kept for 14 days unless configured otherwise; a place from before is answered with 410.",
    query: &[
        Param::new(
            "from",
            Kind::Place,
            "behind this place: a cursor; `start` is the oldest that is kept, `now` what happens next",
        ),
        Param::new(
            "types",
            Kind::List(type_words),
            "only of these types, with commas between",
        ),
        Param::new(
            "destination",
            Kind::Text,
            "only about actions at this destination",
        ),
        Param::new(
            "conversation",
            Kind::Text,
            "only about actions of this conversation",
        ),
        Param::new(
            "wait",
            Kind::Number(0, 60),
            "of a page: answer once there is an event, after so many seconds at the latest",
        ),
        LIMIT_PARAM,
        AUDIENCE,
        LOCALE,
    ],
    headers: &[
        Param::new(
            LAST_EVENT_ID,
            Kind::Text,
            "of a stream: the place that was reached; counts before `from`",
        ),
        ACCEPT_LANGUAGE,
    ],
    body: None,
    answers: &[(200, "A page of them, or the stream.", "EventPage")],
    problems: &[
        Code::EventsForgotten,
        Code::TooManyStreams,
        Code::ShuttingDown,
    ],
};

pub(crate) fn type_words() -> Vec<&'static str> {
    Topic::all().map(Topic::word).collect()
}

pub(crate) async fn events(app: &App, incoming: Incoming) -> Result<Reply, Failure> {
    let accepts = incoming.parts.headers.get(header::ACCEPT);
    let streams = accepts
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.to_ascii_lowercase().contains(STREAM));
    let filter = filter(&incoming);
    if streams {
        let last = incoming.parts.headers.get(LAST_EVENT_ID);
        let last = last.and_then(|value| value.to_str().ok()).map(str::trim);
        let from = match last.filter(|text| !text.is_empty()) {
            Some(text) => place(LAST_EVENT_ID, text)?,
            None => from(&incoming)?.unwrap_or(From::Now),
        };
        let cursor = app.factum().cursor(from).await?;
        return stream::open(app, &incoming, filter, cursor);
    }
    let from = from(&incoming)?.unwrap_or(From::Start);
    let cursor = app.factum().cursor(from).await?;
    let query = &incoming.query;
    let wanted = Wanted {
        reader: incoming.reader(),
        limit: query.parsed("limit").unwrap_or(LIMIT),
        wait: Duration::from_secs(query.parsed("wait").unwrap_or(0)),
        caller: incoming.caller,
        filter,
    };
    page(app, wanted, cursor).await
}

/// What is asked of a page.
struct Wanted {
    caller: Caller,
    filter: EventFilter,
    reader: Reader,
    limit: usize,
    wait: Duration,
}

async fn page(app: &App, wanted: Wanted, mut cursor: Cursor) -> Result<Reply, Failure> {
    let Wanted {
        caller,
        filter,
        reader,
        limit,
        wait,
    } = wanted;
    let until = tokio::time::Instant::now() + wait.min(WAIT_MAX);
    let mut heard = app.factum().heard();
    loop {
        let page = app
            .factum()
            .events(&caller, &filter, cursor, limit, reader)
            .await?;
        cursor = page.next;
        let is_late = tokio::time::Instant::now() >= until || app.is_ending();
        if !page.events.is_empty() || is_late {
            let body =
                json!({"events": page.events, "next": cursor.to_string(), "more": page.more});
            return json_reply(StatusCode::OK, &body);
        }
        if page.more {
            continue;
        }
        tokio::select! {
            _ = heard.changed() => {}
            () = tokio::time::sleep_until(until) => {}
            () = app.ended() => {}
        }
    }
}

fn from(incoming: &Incoming) -> Result<Option<From>, Failure> {
    let text = incoming.query.text("from");
    text.map(|text| place("from", text)).transpose()
}

fn place(name: &str, text: &str) -> Result<From, Failure> {
    text.parse().map_err(|()| {
        let rule = format!("{text:?} is no place among the events");
        let remedy = "send a cursor as it was answered, `start` or `now`";
        Failure::new(Code::BadQuery, name, rule, remedy)
    })
}

fn filter(incoming: &Incoming) -> EventFilter {
    let query = &incoming.query;
    let types = query.text("types").unwrap_or_default();
    EventFilter {
        types: types.split(',').filter_map(Topic::from_word).collect(),
        destination: query.text("destination").map(str::to_owned),
        conversation: query.text("conversation").map(str::to_owned),
    }
}
