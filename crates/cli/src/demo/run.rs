//! The run itself: submits, kills, waits until everything rests, and collects what the engine says in the end.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use factum_testbed::{Filter, LedgerView};
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};

use super::api::{Api, text};
use super::engine::Engine;
use super::judge::{Held, Observed, Standing};
use super::load::{Moment, Wish};
use super::memory::{Memory, Remembered};
use super::settled::SettledBy;
use super::show::Screen;

/// Submissions, and questions, at once.
const AT_ONCE: usize = 16;
/// How long the ledger may take until nothing is pending there any more.
const LANDING: Duration = Duration::from_secs(5);
/// The next steps of actions that go on by themselves.
const GOING_ON: [&str; 5] = ["send", "look_up", "poll", "cancel_by_key", "wait"];

/// How far the run is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    /// Submissions that were answered.
    answered: usize,
    /// Actions that rest.
    resting: usize,
    /// All of it is over.
    over: bool,
}

/// The progress, for whoever waits for a part of it.
pub(super) type Course = watch::Sender<Progress>;

/// Submits all of it, some at a time, each again and again until it is answered.
pub(super) async fn submit(
    api: &Api,
    wishes: Vec<Wish>,
    memory: &Memory,
    course: &Course,
) -> anyhow::Result<()> {
    for wish in &wishes {
        memory.expect(&wish.key, wish.kind, wish.mode);
    }
    let queue = Arc::new(Mutex::new(VecDeque::from(wishes)));
    let mut callers = JoinSet::new();
    for _ in 0..AT_ONCE {
        let (api, queue, memory, course) =
            (api.clone(), queue.clone(), memory.clone(), course.clone());
        callers.spawn(async move {
            while let Some(wish) = next(&queue) {
                let status = api.submit(&wish.body).await?;
                memory.saw(&wish.key, &status);
                course.send_modify(|progress| progress.answered += 1);
            }
            anyhow::Ok(())
        });
    }
    while let Some(ended) = callers.join_next().await {
        ended??;
    }
    Ok(())
}

fn next<T>(queue: &Mutex<VecDeque<T>>) -> Option<T> {
    queue
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .pop_front()
}

/// Kills the engine at each of the moments, and starts it again.
pub(super) async fn kill(
    engine: &mut Engine,
    moments: Vec<Moment>,
    course: &Course,
    screen: &Screen,
) -> anyhow::Result<()> {
    let mut progress = course.subscribe();
    for moment in moments {
        // The sender lives as long as the run; without it there is nothing left to kill.
        let over = match moment {
            Moment::Answered(answered) => {
                let come = progress
                    .wait_for(|now| now.answered >= answered || now.over)
                    .await;
                come.map_or(true, |now| now.over)
            }
            Moment::Resting(resting, millis) => {
                let come = timeout(
                    Duration::from_millis(millis),
                    progress.wait_for(|now| now.resting >= resting || now.over),
                );
                let _ = come.await;
                progress.borrow().over
            }
        };
        if over {
            return Ok(());
        }
        engine.kill().await?;
        screen.line(&format!(
            "  the engine was killed (SIGKILL, {} so far) and started again",
            engine.kills()
        ));
    }
    Ok(())
}

/// Waits until every action rests, or the deadline has come. Says whether they all rest.
pub(super) async fn rest(
    api: &Api,
    actions: usize,
    course: &Course,
    screen: &Screen,
    deadline: Instant,
) -> anyhow::Result<bool> {
    loop {
        let mut going_on = Vec::new();
        for step in GOING_ON {
            going_on.extend(api.list(&[("next", step)]).await?);
        }
        let resting = actions.saturating_sub(going_on.len());
        course.send_modify(|progress| progress.resting = resting);
        screen.progress(resting, actions, &words(&going_on));
        let Some(first) = going_on.first() else {
            return Ok(true);
        };
        if Instant::now() >= deadline {
            return Ok(false);
        }
        // One of them coming to rest is a good moment to look again.
        let _ = timeout_at(deadline, api.status(text(first, "/id")?, 1)).await;
    }
}

/// How many of what state, for the line of progress.
fn words(going_on: &[Value]) -> String {
    let mut states: BTreeMap<&str, usize> = BTreeMap::new();
    for status in going_on {
        *states
            .entry(status["state"].as_str().unwrap_or_default())
            .or_default() += 1;
    }
    let words: Vec<String> = states
        .iter()
        .map(|(state, count)| format!("{count} {state}"))
        .collect();
    words.join(", ")
}

/// Says that the run is over, so that nothing is killed any more.
pub(super) fn over(course: &Course) {
    course.send_modify(|progress| progress.over = true);
}

/// Everything that the callers remember, with what the engine says about it now.
pub(super) async fn collect(api: &Api, memory: &Memory) -> anyhow::Result<Vec<Observed>> {
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
    let queue = Arc::new(Mutex::new(queue));
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
    } = remembered;
    Ok(Observed {
        key,
        kind,
        mode,
        ids,
        said_done,
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

/// The destination's own books, by business reference. Effects are counted once nothing is pending there any more.
pub(super) async fn books(ledger: &LedgerView) -> BTreeMap<String, Held> {
    let all = Filter::default();
    // What is pending longer than that is told from the rows all the same: it has no effect yet.
    let _ = timeout(
        LANDING,
        ledger.wait_until(&all, |counts| counts.pending == 0),
    )
    .await;
    let counts = ledger.counts(&all);
    let mut books: BTreeMap<String, Held> = BTreeMap::new();
    for (business, effects) in counts.by_business {
        books.entry(business).or_default().effects = effects;
    }
    for (business, deliveries) in counts.deliveries_by_business {
        books.entry(business).or_default().deliveries = deliveries;
    }
    for row in ledger
        .rows(&all)
        .into_iter()
        .filter(|row| row.wire && row.lost)
    {
        books.entry(row.business).or_default().answers_lost += 1;
    }
    books
}

/// The requests that had arrived before the engine was asked for its marks: later ones may belong to later marks.
pub(super) fn deliveries(ledger: &LedgerView) -> BTreeMap<String, u64> {
    ledger.counts(&Filter::default()).deliveries_by_business
}
