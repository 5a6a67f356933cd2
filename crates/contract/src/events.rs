//! Events that are fetched from a destination: a feed that is read on from a cursor. What an event means is read as in a
//! delivery, by [`Reports`].

use factum_core::Span;
use serde_json::Map;

use crate::build_error::BuildError;
use crate::callback::{CallbackReading, Reports};
use crate::claims::Claims;
use crate::conditions;
use crate::contract::Contract;
use crate::http::{HttpAnswer, HttpRequest};
use crate::lookup::success;
use crate::parts::{self, optional};
use crate::pointer::Pointer;
use crate::request::{Request, not_in_contract, path};
use crate::source::Section;
use crate::template::{Template, Values};
use crate::when::{Seen, StatusSet, When};

/// Where the contract does not say how often a feed is read while something waits there.
const EVERY: Span = Span::from_secs(10);
/// Where the contract does not say how many pages are read in one go.
const PAGES_MAX: i64 = 20;

/// The section `[events]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Events {
    request: Request,
    /// The path where nothing was read yet.
    first: Option<Template>,
    success: StatusSet,
    next: Pointer,
    /// The cursor is too old to go on from.
    expired: Option<When>,
    every: Option<Span>,
    pages_max: u32,
    reports: Reports,
}

/// A feed of events, as whoever reads it has to know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feed {
    /// Equal for every operation whose events are asked for alike: these share one cursor.
    pub name: String,
    /// How long it rests after its end was reached.
    pub every: Span,
    /// Pages that are read in one go.
    pub pages_max: u32,
}

/// A page of events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventsPage {
    /// The events that say something, in their order.
    pub events: Vec<EventReading>,
    /// How many items there are, those included that say nothing.
    pub items: usize,
    /// The cursor to go on with; none where the page names none.
    pub next: Option<String>,
}

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventReading {
    /// Its place among the page's items.
    pub place: usize,
    /// The item, as JSON text.
    pub text: String,
    /// What it says.
    pub reading: CallbackReading,
}

impl Events {
    pub(crate) fn reports(&self) -> &Reports {
        &self.reports
    }

    pub(crate) fn read(section: &Section<'_>, claims: &mut Claims) -> Option<Self> {
        claims.note(section);
        claims.require(section, "", "what a destination reports by itself");
        let request = Request::read(section, "GET", &["cursor"]);
        let first = optional(section.get("first"), |node| path(node, &[]));
        let success = success(section);
        let next = section.need("next").and_then(|n| parts::exact_pointer(&n));
        let expired = optional(section.get("expired"), conditions::when);
        let every = optional(section.get("every"), parts::length);
        let pages_max = section
            .get("pages_max")
            .map_or(Some(PAGES_MAX), |node| node.integer_in(1, 1000));
        let reports = Reports::read(section);
        let request = request?;
        if !request.names().contains("cursor") {
            let message = "reads on without {cursor}";
            let remedy = "write {cursor} where the name of the last event goes";
            section.error("path", "events_cursor", message, remedy);
        }
        if let Some(name) = request.names().iter().find(|name| **name != "cursor") {
            let message =
                format!("asks with {{{name}}}, and there is no submission to take it from");
            section.error("path", "place", message, "write it out");
        }
        let events = Self {
            request,
            first: first?,
            success: success?,
            next: next?,
            expired: expired?,
            every: every?,
            pages_max: u32::try_from(pages_max?).ok()?,
            reports: reports?,
        };
        if events.first.is_none() {
            let message = "cannot be asked for its first events";
            let remedy = "add `first`, the path that is asked for where nothing was read yet";
            section.error("first", "events_first", message, remedy);
        }
        Some(events)
    }

    fn name(&self) -> Option<String> {
        let none = Map::new();
        let request = |cursor| {
            let values = Values {
                params: Some(&none),
                cursor,
                ..Values::default()
            };
            self.request_with(&values).ok()
        };
        let (first, further) = (request(None)?, request(Some("{cursor}"))?);
        let mut hasher = blake3::Hasher::new_derive_key("factum contract 2026-11 event feed");
        let mut add = |part: &[u8]| {
            // Length first, so that no two lists of parts hash alike.
            hasher.update(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
            hasher.update(part);
        };
        for request in [first, further] {
            add(request.method.as_bytes());
            add(request.path_and_query.as_bytes());
            for (name, value) in &request.headers {
                add(name.as_bytes());
                add(value.as_bytes());
            }
            add(&request.body);
        }
        for part in self.next.parts() {
            add(part.as_bytes());
        }
        Some(hasher.finalize().to_hex()[..16].to_owned())
    }

    fn request_with(&self, values: &Values<'_>) -> Result<HttpRequest, BuildError> {
        match (&self.first, values.cursor) {
            (Some(first), None) => {
                let request = Request {
                    path: first.clone(),
                    ..self.request.clone()
                };
                request.build(values)
            }
            (_, _) => self.request.build(values),
        }
    }
}

impl Contract {
    /// The feed that the operation's events are read from, if somebody who may be relied on describes it and its events tell
    /// what became of a request.
    #[must_use]
    pub fn feed(&self) -> Option<Feed> {
        let events = self.events.as_ref().filter(|_| self.told_by_events())?;
        Some(Feed {
            name: events.name()?,
            every: events.every.unwrap_or(EVERY),
            pages_max: events.pages_max,
        })
    }

    /// The question for events after this cursor; none where nothing was read yet.
    ///
    /// # Errors
    /// The contract has no events.
    pub fn events_request(&self, cursor: Option<&str>) -> Result<HttpRequest, BuildError> {
        let events = self
            .events
            .as_ref()
            .ok_or_else(|| not_in_contract("/events"))?;
        let none = Map::new();
        events.request_with(&Values {
            params: Some(&none),
            cursor,
            ..Values::default()
        })
    }

    /// The events of a page, and the cursor to go on with. None where the answer cannot be read: then the same cursor is
    /// asked again, so that nothing is passed over. Where only hearsay says how events look, none is read.
    #[must_use]
    pub fn read_events(&self, answer: &HttpAnswer) -> Option<EventsPage> {
        if !self.claims.relied_on("/events") {
            return None;
        }
        self.events_in(answer)
    }

    /// Whether the answer says that the cursor is too old to go on from: the feed is begun again.
    #[must_use]
    pub fn events_expired(&self, answer: &HttpAnswer) -> bool {
        let expired = (self.events.as_ref()).and_then(|events| events.expired.as_ref());
        expired.is_some_and(|when| when.holds(&Seen::new(answer)))
    }

    /// The events in an answer, whoever describes them.
    pub(crate) fn events_in(&self, answer: &HttpAnswer) -> Option<EventsPage> {
        let events = self.events.as_ref()?;
        let seen = Seen::new(answer);
        let document = seen.json.as_ref()?;
        if !events.success.contains(answer.status) {
            return None;
        }
        let items = events.reports.items_in(document)?;
        let read = items.iter().enumerate().filter_map(|(place, item)| {
            Some(EventReading {
                place,
                text: item.to_string(),
                reading: events.reports.one(item)?,
            })
        });
        Some(EventsPage {
            events: read.collect(),
            items: items.len(),
            next: events.next.text(document),
        })
    }
}
