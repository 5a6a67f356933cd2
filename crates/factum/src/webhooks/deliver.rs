//! One endpoint is served: in the feed's order, one event after the other, and what failed beside that when its time has come.
//!
//! Of several workers one serves an endpoint: it holds a lease in the endpoint's state, and every save of that is made at the version
//! that was read. Progress is saved now and then; what was posted since the last save comes again after a crash.

use std::sync::Arc;

use factum_core::{Span, Timestamp};
use factum_engine::Problem;
use factum_engine::directory::{Caller, Standing};
use factum_store::{EntryKey, Notice, Registered};

use super::endpoint::Endpoint;
use super::post::{self, Posted};
use super::run::Context;
use super::state::{Delivered, DeliveryState, Outcome};
use super::state_key;
use crate::events::show::Shower;
use crate::events::{EventFilter, EventView, PAGE, event_id};
use crate::statements::Reader;

/// How long nobody else serves an endpoint after a save.
const LEASE: Span = Span::from_secs(90);
/// A save comes so long before that at the latest. One post takes less.
const LEAST: Span = Span::from_secs(45);
/// Posts between two saves.
const UNSAVED: usize = 20;

/// How far an endpoint was looked after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Left {
    /// The version of its state.
    pub(super) version: u64,
    /// Up to here there is nothing that it wants.
    pub(super) seen: u64,
}

/// One endpoint, while it is served.
pub(super) struct Errand {
    context: Arc<Context>,
    key: EntryKey,
    state: DeliveryState,
    version: u64,
    /// Up to here the feed was looked through.
    seen: u64,
    /// The state says that it is ours.
    held: bool,
    unsaved: usize,
}

/// What is to be posted next.
enum Work {
    New(Notice),
    Again(Option<Notice>, u64, u32),
    /// Nothing of these numbers is kept any more.
    Missed(u64),
}

impl Errand {
    pub(super) fn new(context: Arc<Context>, key: EntryKey, seen: u64) -> Self {
        Self {
            context,
            key,
            state: DeliveryState::at(seen),
            version: 0,
            seen,
            held: false,
            unsaved: 0,
        }
    }

    /// Posts until there is nothing more to post now.
    pub(super) async fn deliver(mut self) -> Result<Left, Problem> {
        self.load().await?;
        loop {
            let Some(endpoint) = self.endpoint().await? else {
                break;
            };
            let Some(work) = self.next(&endpoint).await? else {
                break;
            };
            if !self.hold().await? {
                return Ok(self.left());
            }
            self.work(&endpoint, work).await?;
            if self.unsaved >= UNSAVED && !self.save(true).await? {
                return Ok(self.left());
            }
        }
        if self.held {
            self.save(false).await?;
        }
        Ok(self.left())
    }

    fn left(&self) -> Left {
        Left {
            version: self.version,
            seen: self.seen,
        }
    }

    fn now(&self) -> Timestamp {
        self.context.engine.now()
    }

    async fn load(&mut self) -> Result<(), Problem> {
        let key = state_key(&self.key.tenant, &self.key.id);
        let entry = self.context.engine.store().entry(key).await?;
        self.state = DeliveryState::of(entry.as_ref())?;
        self.version = entry.map_or(0, |entry| entry.version);
        // Where the store was moved, or lost its last commits, numbers are given anew: it begins with the oldest that is kept.
        let last = self.context.engine.store().notices(0, 0).await?.last;
        if self.state.cursor > last {
            self.state.begin_anew();
            self.seen = 0;
        }
        Ok(())
    }

    /// The endpoint, while something is to be posted to it.
    async fn endpoint(&self) -> Result<Option<Endpoint>, Problem> {
        let entry = self.context.engine.store().entry(self.key.clone()).await?;
        let endpoint = entry.as_ref().map(Endpoint::of).transpose()?;
        Ok(endpoint.filter(|endpoint| endpoint.standing == Standing::Active))
    }

    async fn next(&mut self, endpoint: &Endpoint) -> Result<Option<Work>, Problem> {
        let store = self.context.engine.store();
        let now = self.now();
        if let Some(due) = self.state.due(now) {
            let (no, tries) = (due.no, due.tries);
            let page = store.notices(no.saturating_sub(1), 1).await?;
            return Ok(Some(Work::Again(
                page.notices.into_iter().next(),
                no,
                tries,
            )));
        }
        if !self.state.goes_on(now) {
            return Ok(None);
        }
        self.seen = self.seen.max(self.state.cursor);
        loop {
            let page = store.notices(self.seen, PAGE).await?;
            if page.forgotten > self.seen {
                self.seen = page.forgotten;
                return Ok(Some(Work::Missed(page.forgotten)));
            }
            let mut wanted = page
                .notices
                .into_iter()
                .filter(|notice| notice.tenant == self.key.tenant && endpoint.wants(notice.topic));
            if let Some(notice) = wanted.next() {
                self.seen = notice.no;
                return Ok(Some(Work::New(notice)));
            }
            self.seen = page.through;
            if page.through >= page.last {
                return Ok(None);
            }
        }
    }

    /// Makes sure that nobody else serves this endpoint; false where somebody does.
    async fn hold(&mut self) -> Result<bool, Problem> {
        let now = self.now();
        let ours = self.context.engine.worker();
        match self.state.holder {
            Some((worker, until)) if worker == ours && self.held => {
                if Timestamp::from_micros(until) > now + LEAST {
                    return Ok(true);
                }
            }
            // Where one process holds the store, another holder is dead.
            Some((worker, until))
                if worker != ours
                    && until > now.as_micros()
                    && self.context.engine.store().is_shared() =>
            {
                // Should the other one die, this is found again from where it stood.
                self.seen = self.state.cursor;
                return Ok(false);
            }
            Some(_) | None => {}
        }
        self.save(true).await
    }

    /// Writes the progress down, holding on or letting go. False where another one was faster: then what stands is read, and this
    /// goes on only if it still holds it.
    async fn save(&mut self, hold: bool) -> Result<bool, Problem> {
        let (now, ours) = (self.now(), self.context.engine.worker());
        self.state.holder = hold.then(|| (ours, (now + LEASE).as_micros()));
        let key = state_key(&self.key.tenant, &self.key.id);
        let change = self.state.change(key, self.version, "factum", "delivered");
        if self.context.engine.store().change(vec![change]).await? != Registered::Stale {
            (self.version, self.unsaved, self.held) = (self.version + 1, 0, hold);
            return Ok(true);
        }
        let held = std::mem::replace(&mut self.held, false);
        self.load().await?;
        self.seen = self.state.cursor;
        let still = self.state.holder.is_some_and(|(worker, _)| worker == ours);
        self.held = held && still;
        Ok(self.held)
    }

    async fn work(&mut self, endpoint: &Endpoint, work: Work) -> Result<(), Problem> {
        self.unsaved += 1;
        let (notice, tries) = match work {
            Work::New(notice) => (notice, 0),
            Work::Again(Some(notice), _, tries) => (notice, tries),
            Work::Again(None, no, tries) => {
                self.missed(no, tries);
                return Ok(());
            }
            Work::Missed(no) => {
                self.missed(no, 0);
                return Ok(());
            }
        };
        let Some(event) = self.event(&notice).await? else {
            // What it was about is gone.
            self.missed(notice.no, tries);
            return Ok(());
        };
        let body = serde_json::to_string(&event).unwrap_or_default();
        let Context { engine, ways, .. } = &*self.context;
        let posted = post::post(engine, ways, &self.key, endpoint, &event.id, body).await;
        self.keep(&notice, tries + 1, &posted);
        if posted.status == Some(GONE) {
            self.switch_off().await?;
        }
        Ok(())
    }

    async fn event(&self, notice: &Notice) -> Result<Option<EventView>, Problem> {
        let Context { engine, teller, .. } = &*self.context;
        // An endpoint is the whole tenant's.
        let caller = Caller::trusted(&self.key.tenant, "factum");
        let restore = engine.store().restore().await?;
        let era = restore.map_or(0, |restore| restore.at.as_micros());
        let all = EventFilter::default();
        Shower::new(engine, teller)
            .show(&caller, &all, notice, era, Reader::default())
            .await
    }

    fn missed(&mut self, no: u64, tries: u32) {
        let line = Delivered {
            event: String::new(),
            no,
            topic: String::new(),
            at: self.now().as_micros(),
            tries,
            outcome: Outcome::Missed,
            status: None,
            error: Some("it is not kept any more".to_owned()),
            next: None,
        };
        self.state.tried(line, self.now(), 0.5);
    }

    fn keep(&mut self, notice: &Notice, tries: u32, posted: &Posted) {
        let now = self.now();
        let outcome = if posted.is_taken() {
            Outcome::Delivered
        } else {
            Outcome::Retry
        };
        let line = Delivered {
            event: event_id(notice),
            no: notice.no,
            topic: notice.topic.word().to_owned(),
            at: now.as_micros(),
            tries,
            outcome,
            status: posted.status,
            error: posted.error.clone(),
            next: None,
        };
        self.state.tried(line, now, post::draw());
    }

    /// The receiver says that the endpoint is gone for good.
    async fn switch_off(&self) -> Result<(), Problem> {
        let store = self.context.engine.store();
        let Some(entry) = store.entry(self.key.clone()).await? else {
            return Ok(());
        };
        let mut endpoint = Endpoint::of(&entry)?;
        endpoint.standing = Standing::Suspended;
        let change = factum_store::Change {
            key: self.key.clone(),
            expected: entry.version,
            body: endpoint.text(),
            label: entry.label,
            due: None,
            by: "factum".to_owned(),
            why: "it answered 410 Gone".to_owned(),
        };
        // Where somebody else changed it meanwhile, they know better.
        store.change(vec![change]).await?;
        Ok(())
    }
}

/// The status by which a receiver says so.
const GONE: u16 = 410;
