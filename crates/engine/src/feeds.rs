//! Feeds of events: which there are, when each is due, and reading one on from where it was left.
//!
//! A feed is read while somebody waits at its destination, by one worker: the one that looks after its lane. No correctness rests
//! on that: an event that is read twice joins, and the cursor moves on only after everything before it is stored.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use factum_contract::{Contract, EventsPage, Feed, HttpAnswer};
use factum_core::{Lane, Span, Timestamp};
use factum_store::{Site, StoreError, StoreErrorKind};
use factum_transport::Target;

use crate::callbacks::{KEPT, event_reports};
use crate::destination::{Destination, Reach};
use crate::driver::Event;
use crate::driver::feeds::FeedAt;
use crate::driver::gate::Heard;
use crate::messages::answered;
use crate::shell::Shared;

/// The feeds of all destinations.
pub(crate) struct Feeds {
    feeds: Vec<Fed>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// From when on each feed is looked at again, by its place in the list.
    rest_until: BTreeMap<usize, Timestamp>,
    /// Those that could not be read the last time; said once, and once more when it works again.
    failing: BTreeSet<FeedAt>,
}

/// A feed and the operations whose events stand in it.
struct Fed {
    destination: String,
    feed: Feed,
    operations: Vec<(String, Arc<Contract>)>,
    answer_wait: Span,
}

/// How reading a feed ended.
enum Read {
    /// There is nothing more in it now.
    ToTheEnd,
    /// There may be more than was read in one go.
    InPart,
    /// It could not be read.
    Failed(String),
}

impl Feeds {
    pub(crate) fn of(destinations: &BTreeMap<String, Destination>) -> Self {
        let mut feeds: Vec<Fed> = Vec::new();
        for destination in destinations.values() {
            for (operation, own) in &destination.operations {
                let Some(contract) = own.contract.as_ref().map(|own| own.contract.clone()) else {
                    continue;
                };
                let Some(feed) = contract.feed() else {
                    continue;
                };
                let operation = (operation.clone(), contract);
                let mut known = feeds.iter_mut();
                match known.find(|fed| fed.is(&destination.name, &feed.name)) {
                    Some(fed) => fed.operations.push(operation),
                    None => feeds.push(Fed {
                        destination: destination.name.clone(),
                        feed,
                        operations: vec![operation],
                        answer_wait: own.limits.answer_wait,
                    }),
                }
            }
        }
        Self {
            feeds,
            state: Mutex::default(),
        }
    }

    fn find(&self, at: &FeedAt) -> Option<(usize, &Fed)> {
        let mut all = self.feeds.iter().enumerate();
        all.find(|(_, fed)| fed.is(&at.destination, &at.feed))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Fed {
    fn is(&self, destination: &str, feed: &str) -> bool {
        self.destination == destination && self.feed.name == feed
    }

    /// Whoever looks after this lane reads the feed.
    fn lane(&self) -> Lane {
        let mut hasher = blake3::Hasher::new_derive_key("factum 2026 lane of an event feed");
        hasher.update(self.destination.as_bytes());
        hasher.update(self.feed.name.as_bytes());
        Lane(hasher.finalize().as_bytes()[0])
    }
}

/// The feeds that are due, among those of the lanes that this worker looks after.
pub(crate) async fn due(shared: &Shared, lanes: &[Lane]) -> Result<Vec<Event>, StoreError> {
    let mut due = Vec::new();
    for (place, fed) in shared.feeds.feeds.iter().enumerate() {
        let now = shared.now();
        let rests = |until: &Timestamp| *until > now;
        if !lanes.contains(&fed.lane())
            || shared
                .feeds
                .lock()
                .rest_until
                .get(&place)
                .is_some_and(rests)
        {
            continue;
        }
        let waiting = shared.store.who_waits(fed.destination.clone()).await?;
        if !waiting.is_empty() {
            let until = now + fed.feed.every;
            shared.feeds.lock().rest_until.insert(place, until);
        }
        due.extend(waiting.into_iter().map(|tenant| {
            Event::FeedDue(FeedAt {
                tenant,
                destination: fed.destination.clone(),
                feed: fed.feed.name.clone(),
            })
        }));
    }
    Ok(due)
}

/// Reads a feed on from its cursor: pages until its end, or as many as its contract allows in one go.
pub(crate) async fn read(shared: &Shared, at: FeedAt) -> Event {
    let mut events = Vec::new();
    let mut heard = Heard::NotBegun;
    let destination = shared.destinations.get(&at.destination);
    if let Some((place, fed)) = shared.feeds.find(&at)
        && let Some(Reach::Http(target)) = destination.map(|destination| &destination.reach)
    {
        // What another account's feed holds says nothing about our effects (R13).
        let target = shared.accounts.guarded(&at.destination, target, true);
        let read = pages(shared, fed, &at, &target, &mut heard, &mut events).await;
        ended(shared, (place, &at), read);
    }
    events.push(Event::FeedRead { feed: at, heard });
    Event::All(events)
}

/// What follows from how reading ended: when it goes on, and what people are told.
fn ended(shared: &Shared, (place, at): (usize, &FeedAt), read: Result<Read, StoreError>) {
    let read = read.unwrap_or_else(|error| Read::Failed(error.to_string()));
    let mut state = shared.feeds.lock();
    let (destination, tenant) = (&at.destination, &at.tenant);
    if let Read::InPart = read {
        state.rest_until.remove(&place);
    }
    match read {
        Read::Failed(why) => {
            if state.failing.insert(at.clone()) {
                tracing::warn!(%destination, %tenant, %why, "the events there could not be read; the same ones are asked for again");
            }
        }
        Read::ToTheEnd | Read::InPart => {
            if state.failing.remove(at) {
                tracing::info!(%destination, %tenant, "the events there can be read again");
            }
        }
    }
}

async fn pages(
    shared: &Shared,
    fed: &Fed,
    at: &FeedAt,
    target: &Target,
    heard: &mut Heard,
    events: &mut Vec<Event>,
) -> Result<Read, StoreError> {
    let setting = cursor_setting(at);
    let mut cursor = match shared.store.setting(&setting).await {
        Err(error) if matches!(error.kind, StoreErrorKind::Corrupt { .. }) => {
            tracing::error!(%error, "a cursor is damaged; the events there are read from the first again");
            None
        }
        read => read?,
    };
    for _ in 0..fed.feed.pages_max {
        let Some((_, contract)) = fed.operations.first() else {
            break;
        };
        let question = match contract.events_request(cursor.as_deref()) {
            Ok(question) => question,
            Err(error) => return Ok(Read::Failed(error.to_string())),
        };
        let asked = shared
            .transport
            .ask(target, question, fed.answer_wait)
            .await;
        let answer;
        (answer, *heard) = answered(asked);
        let answer = match answer {
            Ok(answer) => answer,
            Err(why) => return Ok(Read::Failed(why)),
        };
        if cursor.is_some() && contract.events_expired(&answer) {
            tracing::warn!(destination = %at.destination, tenant = %at.tenant, "the events there cannot be gone on with; they are read from the first again");
            shared.store.set_setting(&setting, None).await?;
            cursor = None;
            continue;
        }
        let Some(pages) = fed.read(&answer) else {
            let why = format!("the answer cannot be read (status {})", answer.status);
            return Ok(Read::Failed(why));
        };
        store(shared, at, &pages, events).await?;
        let page = pages.first().map(|(_, page)| page);
        let next = page.and_then(|page| page.next.clone());
        let moved = next.is_some() && next != cursor;
        if moved {
            // Everything before it is stored.
            shared.store.set_setting(&setting, next.clone()).await?;
        }
        if !moved || page.is_none_or(|page| page.items == 0) {
            return Ok(Read::ToTheEnd);
        }
        cursor = next;
    }
    Ok(Read::InPart)
}

impl Fed {
    /// A page as the contract of each operation reads it; none if one of them cannot, so that nothing is passed over.
    fn read(&self, answer: &HttpAnswer) -> Option<Vec<(&str, EventsPage)>> {
        let all = self.operations.iter();
        all.map(|(operation, contract)| Some((operation.as_str(), contract.read_events(answer)?)))
            .collect()
    }
}

/// Hands the events of a page to the store, as callbacks are.
async fn store(
    shared: &Shared,
    at: &FeedAt,
    pages: &[(&str, EventsPage)],
    events: &mut Vec<Event>,
) -> Result<(), StoreError> {
    let site = Site {
        tenant: at.tenant.clone(),
        destination: at.destination.clone(),
    };
    let now = shared.store.now().await?;
    for report in event_reports(&site, pages) {
        let delivered = shared.store.deliver(report, now - KEPT).await?;
        events.extend(shared.reported(&site, delivered, now).await);
    }
    Ok(())
}

/// Where a feed's cursor is kept.
fn cursor_setting(at: &FeedAt) -> String {
    format!("events/{}/{}/{}", at.tenant, at.destination, at.feed)
}
