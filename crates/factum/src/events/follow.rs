//! Follows the feed while somebody listens, and forgets what is old.
//!
//! Whoever reads pulls at their own pace; here stands only which number is the last, and the newest notices, so that many readers
//! cost the store one look. A slow reader holds nothing up, and falls back on the store.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use factum_core::Span;
use factum_engine::{Engine, Problem};
use factum_store::{Kind, Notice, Notices};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::{PAGE, digest};
use crate::teller::Teller;

/// The newest that are held.
const RECENT: usize = 2_048;
/// Changes that come so close together are looked for at once.
const TOGETHER: Duration = Duration::from_millis(20);
/// How often it is looked for what another worker has written, or what was announced to nobody.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How often what is old is forgotten, and how much in one transaction.
const FORGET_EVERY: Duration = Duration::from_secs(30);
const FORGET_AT_ONCE: usize = 1_000;
/// How long it is kept how far webhooks had got.
const PASSED: Span = Span::from_secs(60);
/// Transactions of forgetting in a row, so that the others get their turn.
const FORGET_ROUNDS: usize = 50;

/// What the feed is told to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keep {
    /// How long events are kept.
    pub(crate) keep: Span,
    /// How often reviewers are told at the most what waits for them.
    pub(crate) digest: Span,
}

/// The newest part of the feed. It ends with this.
pub(crate) struct Feed {
    shared: Arc<Shared>,
    tasks: [JoinHandle<()>; 2],
}

struct Shared {
    last: watch::Sender<u64>,
    recent: Mutex<VecDeque<Notice>>,
}

impl Feed {
    /// Begins to follow an engine.
    pub(crate) fn start(engine: Arc<Engine>, teller: Arc<Teller>, keep: Keep) -> Self {
        let shared = Arc::new(Shared {
            last: watch::Sender::new(0),
            recent: Mutex::default(),
        });
        let following = tokio::spawn(follow(engine.clone(), shared.clone()));
        let tidying = tokio::spawn(tidy(engine, teller, keep));
        Self {
            shared,
            tasks: [following, tidying],
        }
    }

    /// The last number that is given, as it rises. Nobody looks while nobody listens.
    pub(crate) fn heard(&self) -> watch::Receiver<u64> {
        self.shared.last.subscribe()
    }

    /// The next notices, if all of them are among the newest.
    pub(crate) fn recent(&self, after: u64) -> Option<Notices> {
        let recent = self.shared.recent();
        let (first, last) = (recent.front()?.no, recent.back()?.no);
        if after + 1 < first || after >= last {
            return None;
        }
        let notices: Vec<Notice> = recent
            .iter()
            .filter(|notice| notice.no > after)
            .take(PAGE)
            .cloned()
            .collect();
        let through = notices.last().map_or(after, |notice| notice.no);
        Some(Notices {
            notices,
            through,
            forgotten: 0,
            last,
        })
    }

    /// Ends.
    pub(crate) fn stop(&self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn recent(&self) -> std::sync::MutexGuard<'_, VecDeque<Notice>> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn rise(&self, to: u64) {
        self.last
            .send_if_modified(|last| std::mem::replace(last, to) != to);
    }

    /// Reads what is new; gives whether there is more at once.
    async fn look(&self, engine: &Engine) -> Result<bool, Problem> {
        let last = *self.last.borrow();
        let page = engine.store().notices(last, PAGE).await?;
        // What nobody followed meanwhile is not read again from here; nor is a gap held, where one row is damaged.
        let behind = page.last.saturating_sub(page.through);
        if last == 0 || behind > u64::try_from(RECENT).unwrap_or(u64::MAX) {
            self.recent().clear();
            self.rise(page.last);
            return Ok(false);
        }
        {
            let mut recent = self.recent();
            for notice in page.notices {
                if recent.back().is_some_and(|held| held.no + 1 != notice.no) {
                    recent.clear();
                }
                recent.push_back(notice);
                if recent.len() > RECENT {
                    recent.pop_front();
                }
            }
        }
        self.rise(page.through);
        Ok(page.through < page.last)
    }
}

async fn follow(engine: Arc<Engine>, shared: Arc<Shared>) {
    let mut changes = engine.changes();
    loop {
        if shared.last.receiver_count() > 0 {
            match shared.look(&engine).await {
                Ok(true) => continue,
                Ok(false) => {}
                Err(problem) => {
                    tracing::warn!(%problem, "the feed of events cannot be read; it is tried again");
                }
            }
        }
        match tokio::time::timeout(LOOK_EVERY, changes.recv()).await {
            Ok(Err(RecvError::Closed)) => return,
            // The change is committed before it is announced.
            Ok(Ok(_) | Err(RecvError::Lagged(_))) => {
                tokio::time::sleep(TOGETHER).await;
                while changes.try_recv().is_ok() {}
            }
            Err(_) => {}
        }
    }
}

async fn tidy(engine: Arc<Engine>, teller: Arc<Teller>, keep: Keep) {
    let mut looking = tokio::time::interval(FORGET_EVERY);
    looking.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        looking.tick().await;
        if let Err(problem) = forget(&engine, keep.keep).await {
            tracing::warn!(%problem, "old events cannot be forgotten; it is tried again");
        }
        if let Err(problem) = digest::announce(&engine, &teller, keep.digest).await {
            tracing::warn!(%problem, "reviewers cannot be told what waits; it is tried again");
        }
    }
}

/// Forgets what is old. A look before gives numbers to what waits for one, also where nobody listens.
pub(super) async fn forget(engine: &Engine, keep: Span) -> Result<(), Problem> {
    let store = engine.store();
    store.notices(0, 0).await?;
    let before = engine.now() - keep;
    // How far webhooks had got is nobody's question.
    let passed = engine.now() - PASSED;
    store.forget_versions(Kind::Delivery, passed).await?;
    store.forget_versions(Kind::Digest, before).await?;
    // Who was signed in when stays; when they were last seen before that is nobody's question.
    store.forget_versions(Kind::Session, passed).await?;
    store
        .forget_entries(Kind::Session, before, FORGET_AT_ONCE)
        .await?;
    for _ in 0..FORGET_ROUNDS {
        let gone = store.forget_notices(before, FORGET_AT_ONCE).await?;
        if gone < u64::try_from(FORGET_AT_ONCE).unwrap_or(u64::MAX) {
            break;
        }
    }
    Ok(())
}
