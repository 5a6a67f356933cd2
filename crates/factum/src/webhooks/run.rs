//! Looks which endpoints have something to be posted to them, and lets each be served by a task of its own: a slow one holds no other up.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use factum_engine::directory::Standing;
use factum_engine::{Engine, Problem};
use factum_store::{EntryFilter, EntryKey, Kind};
use tokio::sync::{Notify, watch};
use tokio::task::{JoinHandle, JoinSet};

use super::deliver::{Errand, Left};
use super::endpoint::Endpoint;
use super::state::DeliveryState;
use super::state_key;
use crate::config::AllowPrivate;
use crate::events::follow::Feed;
use crate::teller::Teller;

/// Endpoints that are served at once.
const AT_ONCE: usize = 32;
/// How often it is looked whether somebody has to be served, beside what is heard.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The same while there are no endpoints.
const LOOK_SELDOM: Duration = Duration::from_secs(5);

/// Where webhooks may lead.
#[derive(Clone, Debug)]
pub(crate) struct Ways {
    /// Into these networks of the operator's own, and over plain HTTP.
    pub(crate) allow_private: AllowPrivate,
}

/// What deliveries are made with.
pub(super) struct Context {
    pub(super) engine: Arc<Engine>,
    pub(super) teller: Arc<Teller>,
    pub(super) ways: Ways,
}

/// The task that serves endpoints. It ends with this.
pub(crate) struct Webhooks {
    task: JoinHandle<()>,
    look: Arc<Notify>,
}

impl Webhooks {
    /// Begins to serve an engine's endpoints.
    pub(crate) fn start(
        engine: Arc<Engine>,
        teller: Arc<Teller>,
        feed: Arc<Feed>,
        ways: Ways,
    ) -> Self {
        let look = Arc::new(Notify::new());
        let context = Arc::new(Context {
            engine,
            teller,
            ways,
        });
        let task = tokio::spawn(run(context, feed, look.clone()));
        Self { task, look }
    }

    /// An endpoint was changed.
    pub(crate) fn look(&self) {
        self.look.notify_one();
    }

    /// Ends.
    pub(crate) fn stop(&self) {
        self.task.abort();
    }
}

impl Drop for Webhooks {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Who is served, and how far it was looked for whom.
#[derive(Default)]
struct Served {
    running: JoinSet<(EntryKey, Result<Left, Problem>)>,
    busy: BTreeSet<EntryKey>,
    /// By the version of the state that it was found with.
    seen: BTreeMap<EntryKey, Left>,
}

async fn run(context: Arc<Context>, feed: Arc<Feed>, look: Arc<Notify>) {
    let mut served = Served::default();
    // Nobody follows the feed while there are no endpoints.
    let mut heard: Option<watch::Receiver<u64>> = None;
    loop {
        let pause = match served.round(&context).await {
            Ok(true) => {
                heard.get_or_insert_with(|| feed.heard());
                LOOK_EVERY
            }
            Ok(false) => {
                heard = None;
                LOOK_SELDOM
            }
            Err(problem) => {
                tracing::warn!(%problem, "webhooks cannot be looked at; it is tried again");
                LOOK_EVERY
            }
        };
        tokio::select! {
            () = look.notified() => {}
            () = rises(&mut heard) => {}
            Some(ended) = served.running.join_next() => served.ended(ended.ok()),
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// Ready once there is more in the feed.
async fn rises(heard: &mut Option<watch::Receiver<u64>>) {
    if let Some(heard) = heard
        && heard.changed().await.is_ok()
    {
        return;
    }
    std::future::pending().await
}

impl Served {
    fn ended(&mut self, ended: Option<(EntryKey, Result<Left, Problem>)>) {
        let Some((key, left)) = ended else {
            // A task that panicked took its key with it: everybody is looked at anew.
            self.busy.clear();
            return;
        };
        self.busy.remove(&key);
        match left {
            Ok(left) => {
                self.seen.insert(key, left);
            }
            Err(problem) => {
                tracing::warn!(tenant = key.tenant, webhook = key.id, %problem, "a webhook cannot be served; it is tried again");
                self.seen.remove(&key);
            }
        }
    }

    /// Begins to serve whoever has to be; gives whether there is any endpoint that is switched on.
    async fn round(&mut self, context: &Arc<Context>) -> Result<bool, Problem> {
        while let Some(ended) = self.running.try_join_next() {
            self.ended(ended.ok());
        }
        let store = context.engine.store();
        let endpoints = store.entries(EntryFilter::of(Kind::Endpoint)).await?;
        if endpoints.is_empty() {
            return Ok(false);
        }
        let states = store.entries(EntryFilter::of(Kind::Delivery)).await?;
        let states: BTreeMap<&EntryKey, _> =
            states.iter().map(|entry| (&entry.key, entry)).collect();
        let last = store.notices(0, 0).await?.last;
        let (now, mut any) = (context.engine.now(), false);
        for entry in endpoints {
            let endpoint = Endpoint::of(&entry)?;
            if endpoint.standing != Standing::Active {
                continue;
            }
            any = true;
            let key = entry.key.clone();
            if self.busy.contains(&key) || self.running.len() >= AT_ONCE {
                continue;
            }
            let state = states.get(&state_key(&key.tenant, &key.id)).copied();
            let version = state.map_or(0, |entry| entry.version);
            let state = DeliveryState::of(state)?;
            let seen = self.seen.get(&key).filter(|left| left.version == version);
            let from = seen.map_or(state.cursor, |left| left.seen.max(state.cursor));
            let is_new = from < last || state.cursor > last;
            let has_new = is_new && last > 0 && state.goes_on(now);
            if !has_new && state.due(now).is_none() {
                continue;
            }
            self.busy.insert(key.clone());
            let errand = Errand::new(context.clone(), key.clone(), from);
            self.running
                .spawn(async move { (key, errand.deliver().await) });
        }
        Ok(any)
    }
}
