//! Webhooks: events are posted to a tenant's own addresses, signed as Standard Webhooks says.
//!
//! An endpoint is an entry of the register, and beside it stands where it has got to. What was not answered with 2xx comes again, for
//! days, so that a crash between sending and keeping that sends twice and loses nothing: receivers know a repeat by its `webhook-id`.
//! No secret is stored: each is made from the installation's keys, the endpoint's name and its generation.

mod deliver;
mod endpoint;
mod post;
mod run;
mod state;

use factum_core::{Span, Timestamp};
use factum_engine::{Code, Problem, Reason};
use factum_store::{Change, Entry, EntryFilter, EntryKey, EntryVersion, Kind, Registered};

pub use self::endpoint::{Endpoint, NewEndpoint};
pub use self::post::Posted;
pub(crate) use self::run::{Ways, Webhooks};
pub use self::state::{Delivered, DeliveryState, Outcome};

use self::state::Aside;
use crate::Factum;
use crate::events::{Cursor, From, PAGE};

/// How often a change is made anew that somebody else was faster with.
const TRIES: usize = 16;

/// What an endpoint is replayed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replay {
    /// Everything since an instant that is still kept.
    Since(Timestamp),
    /// One event, by its place.
    One(Cursor),
}

/// An endpoint with all that is known about it.
#[derive(Clone, Debug)]
pub struct Shown {
    /// Its entry.
    pub entry: Entry,
    /// What it says.
    pub endpoint: Endpoint,
    /// Where it has got to.
    pub state: DeliveryState,
}

impl Factum {
    /// A tenant's endpoints, by name.
    ///
    /// # Errors
    /// [`Problem`] of the store.
    pub async fn webhooks(&self, tenant: &str) -> Result<Vec<Shown>, Problem> {
        let store = self.engine().store();
        let of = |kind| EntryFilter {
            tenant: Some(tenant.to_owned()),
            ..EntryFilter::of(kind)
        };
        let entries = store.entries(of(Kind::Endpoint)).await?;
        let states = store.entries(of(Kind::Delivery)).await?;
        let mut found = Vec::new();
        for entry in entries {
            let state = states.iter().find(|state| state.key.id == entry.key.id);
            found.push(Shown {
                endpoint: Endpoint::of(&entry)?,
                state: DeliveryState::of(state)?,
                entry,
            });
        }
        Ok(found)
    }

    /// One endpoint.
    ///
    /// # Errors
    /// [`Code::UnknownName`], or [`Problem`] of the store.
    pub async fn webhook(&self, tenant: &str, name: &str) -> Result<Shown, Problem> {
        let entry = self.engine().entry(&key(tenant, name)).await?;
        let state = self.engine().store().entry(state_key(tenant, name)).await?;
        Ok(Shown {
            endpoint: Endpoint::of(&entry)?,
            state: DeliveryState::of(state.as_ref())?,
            entry,
        })
    }

    /// Every change of an endpoint, oldest first.
    ///
    /// # Errors
    /// [`Problem`] of the store.
    pub async fn webhook_history(
        &self,
        tenant: &str,
        name: &str,
    ) -> Result<Vec<EntryVersion>, Problem> {
        self.engine().entry_history(&key(tenant, name)).await
    }

    /// Makes an endpoint, which hears of what happens from now on. Gives its secret, which is told this once.
    ///
    /// # Errors
    /// [`Code::NameTaken`], [`Code::BadWebhook`] for an address that nothing is posted to.
    pub async fn add_webhook(
        &self,
        tenant: &str,
        name: &str,
        new: NewEndpoint,
        reason: Reason<'_>,
    ) -> Result<String, Problem> {
        let endpoint = Endpoint::new(new, &self.inner.ways)?;
        let now = self.cursor(From::Now).await?;
        let change = |key, body| Change {
            key,
            expected: 0,
            body,
            label: None,
            due: None,
            by: reason.by.to_owned(),
            why: reason.why.to_owned(),
        };
        let state = DeliveryState::at(now.no);
        let changes = vec![
            change(key(tenant, name), endpoint.text()),
            change(state_key(tenant, name), state.text()),
        ];
        match self.engine().store().change(changes).await? {
            Registered::Durable { .. } => {}
            Registered::Stale => {
                let rule = format!("a webhook {name:?} is registered already, or was once");
                let remedy = "use another name, or change the one that is there";
                return Err(Problem::new(Code::NameTaken, "/name", rule, remedy));
            }
        }
        self.inner.webhooks.look();
        Ok(self.secret(tenant, name, endpoint.generation))
    }

    /// Changes an endpoint: what is switched off is posted nothing to, and goes on where it stopped once it is switched on again.
    ///
    /// # Errors
    /// [`Code::UnknownName`], or what `change` says.
    pub async fn change_webhook(
        &self,
        tenant: &str,
        name: &str,
        reason: Reason<'_>,
        change: impl Fn(&mut Endpoint) -> Result<(), Problem>,
    ) -> Result<Endpoint, Problem> {
        let key = key(tenant, name);
        let store = self.engine().store();
        for _ in 0..TRIES {
            let entry = self.engine().entry(&key).await?;
            let was = Endpoint::of(&entry)?;
            let mut endpoint = was.clone();
            change(&mut endpoint)?;
            if was == endpoint {
                return Ok(endpoint);
            }
            endpoint.may_follow(&was)?;
            let wish = Change {
                key: key.clone(),
                expected: entry.version,
                body: endpoint.text(),
                label: entry.label,
                due: None,
                by: reason.by.to_owned(),
                why: reason.why.to_owned(),
            };
            if store.change(vec![wish]).await? != Registered::Stale {
                self.inner.webhooks.look();
                return Ok(endpoint);
            }
        }
        Err(busy())
    }

    /// Gives an endpoint a new secret, which is told this once. For so long both sign, so that the receiver can be changed meanwhile.
    ///
    /// # Errors
    /// [`Code::UnknownName`], or [`Problem`] of the store.
    pub async fn rotate_webhook(
        &self,
        tenant: &str,
        name: &str,
        overlap: Span,
        reason: Reason<'_>,
    ) -> Result<String, Problem> {
        let until = self.engine().now() + overlap;
        let endpoint = self
            .change_webhook(tenant, name, reason, |endpoint| {
                endpoint.rotate(until);
                Ok(())
            })
            .await?;
        Ok(self.secret(tenant, name, endpoint.generation))
    }

    /// Posts again: what is kept since an instant, or one event.
    ///
    /// # Errors
    /// [`Code::UnknownName`], [`Code::EventsForgotten`] for an event that is not kept.
    pub async fn replay_webhook(
        &self,
        tenant: &str,
        name: &str,
        replay: Replay,
        reason: Reason<'_>,
    ) -> Result<DeliveryState, Problem> {
        self.webhook(tenant, name).await?;
        let from = match replay {
            Replay::One(cursor) => {
                // The place before it is where somebody reads from who is to hear it.
                let before = Cursor {
                    no: cursor.no.saturating_sub(1),
                    ..cursor
                };
                self.cursor(From::Behind(cursor)).await?;
                self.cursor(From::Behind(before)).await?.no + 1
            }
            Replay::Since(since) => self.first_since(since).await?,
        };
        let now = self.engine().now();
        let state = self
            .change_state(tenant, name, reason, |state| match replay {
                // What was not yet posted comes anyway.
                Replay::One(_) if from > state.cursor => true,
                Replay::One(_) => state.put_aside(Aside::again(from, now)),
                Replay::Since(_) => {
                    state.cursor = state.cursor.min(from);
                    true
                }
            })
            .await?;
        self.inner.webhooks.look();
        Ok(state)
    }

    /// The place before the first event of an instant or later.
    async fn first_since(&self, since: Timestamp) -> Result<u64, Problem> {
        let store = self.engine().store();
        let ends = store.notices(0, 0).await?;
        let (mut low, mut high) = (ends.forgotten, ends.last);
        while low < high {
            let middle = low + (high - low) / 2;
            let page = store.notices(middle, PAGE).await?;
            match page.notices.first() {
                Some(first) if first.at < since => low = middle + 1,
                Some(_) => high = middle,
                None => high = middle,
            }
        }
        Ok(low)
    }

    async fn change_state(
        &self,
        tenant: &str,
        name: &str,
        reason: Reason<'_>,
        change: impl Fn(&mut DeliveryState) -> bool,
    ) -> Result<DeliveryState, Problem> {
        let store = self.engine().store();
        for _ in 0..TRIES {
            let entry = store.entry(state_key(tenant, name)).await?;
            let mut state = DeliveryState::of(entry.as_ref())?;
            if !change(&mut state) {
                let rule = "as many events as can be wait to be posted again already";
                let remedy = "wait until some are delivered";
                return Err(Problem::new(Code::DoesNotApply, "", rule, remedy));
            }
            let wish = state.change(
                state_key(tenant, name),
                entry.map_or(0, |entry| entry.version),
                reason.by,
                reason.why,
            );
            if store.change(vec![wish]).await? != Registered::Stale {
                return Ok(state);
            }
        }
        Err(busy())
    }

    /// Posts a test event now, and says what came back. It is no event of the feed.
    ///
    /// # Errors
    /// [`Code::UnknownName`], or [`Problem`] of the store.
    pub async fn test_webhook(&self, tenant: &str, name: &str) -> Result<Posted, Problem> {
        let shown = self.webhook(tenant, name).await?;
        let key = key(tenant, name);
        Ok(post::test(&self.inner.engine, &self.inner.ways, &key, &shown.endpoint).await)
    }

    fn secret(&self, tenant: &str, name: &str, generation: u32) -> String {
        let bytes = self.engine().webhook_secret(tenant, name, generation);
        format!("whsec_{}", factum_contract::base64::encode(&bytes))
    }
}

/// The key of an endpoint's entry.
fn key(tenant: &str, name: &str) -> EntryKey {
    EntryKey::new(Kind::Endpoint, tenant, name)
}

/// The key of where it has got to.
fn state_key(tenant: &str, name: &str) -> EntryKey {
    EntryKey::new(Kind::Delivery, tenant, name)
}

fn busy() -> Problem {
    let rule = "others kept changing this webhook";
    Problem::new(Code::StoreUnavailable, "", rule, "try again")
}
