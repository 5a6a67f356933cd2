//! The run itself: submits, kills, and waits until everything rests.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};

use super::moments::Moment;
use super::show::Screen;
use crate::trial::api::{Api, text};
use crate::trial::collect::{AT_ONCE, next};
use crate::trial::engine::Engine;
use crate::trial::load::Wish;
use crate::trial::memory::Memory;

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
