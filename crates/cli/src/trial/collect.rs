//! What the engine says about every action in the end.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tokio::task::JoinSet;

use super::api::{Api, text};
use super::judge::{Observed, Standing};
use super::memory::{Memory, Remembered};
use super::settled::SettledBy;

/// Calls at once.
pub(crate) const AT_ONCE: usize = 16;

/// What is left to do, for several at once.
pub(crate) type Queue<T> = Arc<Mutex<VecDeque<T>>>;

/// The next of it.
pub(crate) fn next<T>(queue: &Mutex<VecDeque<T>>) -> Option<T> {
    queue
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .pop_front()
}

/// Everything that the callers remember, with what the engine says about it now.
pub(crate) async fn collect(api: &Api, memory: &Memory) -> anyhow::Result<Vec<Observed>> {
    let statuses = api.list(&[]).await?;
    let mut known: BTreeMap<String, Value> = BTreeMap::new();
    for status in statuses {
        known.insert(text(&status, "/key")?.to_owned(), status);
    }
    let queue: VecDeque<(String, Remembered, Option<Value>)> = memory
        .all()
        .into_iter()
        .map(|(key, remembered)| (key.clone(), remembered, known.remove(&key)))
        .collect();
    let queue: Queue<_> = Arc::new(Mutex::new(queue));
    let mut callers = JoinSet::new();
    for _ in 0..AT_ONCE {
        let (api, queue) = (api.clone(), queue.clone());
        callers.spawn(async move {
            let mut observed = Vec::new();
            while let Some((key, remembered, status)) = next(&queue) {
                observed.push(observe(&api, key, remembered, status).await?);
            }
            anyhow::Ok(observed)
        });
    }
    let mut observed = Vec::new();
    while let Some(ended) = callers.join_next().await {
        observed.extend(ended??);
    }
    observed.sort_by(|a, b| a.key.cmp(&b.key));
    Ok(observed)
}

async fn observe(
    api: &Api,
    key: String,
    remembered: Remembered,
    listed: Option<Value>,
) -> anyhow::Result<Observed> {
    // The ids that were answered are what counts; the listing only saves questions.
    let status = match (remembered.ids.first(), listed) {
        (Some(id), Some(status)) if status["id"] == id.as_str() => Some(status),
        (Some(id), _) => api.status(id, 0).await?,
        (None, listed) => listed,
    };
    let standing = match &status {
        Some(status) => Some(standing(api, status).await?),
        None => None,
    };
    let Remembered {
        kind,
        mode,
        ids,
        said_done,
        said_undone,
        ordered,
        restored,
    } = remembered;
    Ok(Observed {
        key,
        kind,
        mode,
        ids,
        said_done,
        said_undone,
        ordered,
        restored,
        standing,
    })
}

async fn standing(api: &Api, status: &Value) -> anyhow::Result<Standing> {
    let next = text(status, "/next/do")?.to_owned();
    let settled_by = match next.as_str() {
        "none" => Some(SettledBy::of(&api.evidence(text(status, "/id")?).await?)),
        _ => None,
    };
    Ok(Standing {
        state: text(status, "/state")?.to_owned(),
        why: text(status, "/next/why")?.to_owned(),
        timed: status["next"]["at"].is_string(),
        closed: !status["closed"].is_null(),
        attempts: status["attempts"].as_u64().unwrap_or_default(),
        next,
        settled_by,
    })
}
