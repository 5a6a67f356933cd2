//! What every outbox does with its rows: each is submitted like any other submission, and joins if it was before.
//!
//! It knows nothing of files or databases, and writes nothing to them.

use std::sync::Arc;

use factum_core::ActionId;
use factum_engine::{Code, Engine, Problem, Submission};
use tokio::task::JoinSet;

use crate::DEFAULT_TENANT;

/// Submits rows, all at once: the action of each, or the problem; in the order of their ids.
pub(crate) async fn submit_all<Id: Ord + Copy + Send + 'static>(
    engine: &Arc<Engine>,
    waiting: Vec<(Id, String)>,
    principal: &str,
) -> Vec<(Id, Result<ActionId, Problem>)> {
    let mut submitting = JoinSet::new();
    for (id, body) in waiting {
        let (engine, principal) = (engine.clone(), principal.to_owned());
        submitting.spawn(async move {
            let submitted = match Submission::from_json(&body) {
                Ok(submission) => engine.submit(submission, DEFAULT_TENANT, &principal).await,
                Err(problem) => Err(problem),
            };
            (id, submitted.map(|submitted| submitted.record.id()))
        });
    }
    let mut outcomes = submitting.join_all().await;
    outcomes.sort_by_key(|(id, _)| *id);
    outcomes
}

/// The row stays waiting: what stands in the way is on our side and will pass.
pub(crate) fn passing(problem: &Problem) -> bool {
    matches!(
        problem.code,
        Code::QueueFull
            | Code::StoreUnavailable
            | Code::DiskFull
            | Code::ShuttingDown
            | Code::StoreFailed
    )
}
