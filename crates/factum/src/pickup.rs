//! What every outbox does with its rows: each is submitted like any other submission, and joins if it was before.
//!
//! It knows nothing of files or databases, and writes nothing to them.

use std::sync::Arc;

use factum_core::ActionId;
use factum_engine::{Code, Engine, Problem, Submission};
use tokio::task::JoinSet;

/// A row as it is submitted.
pub(crate) struct Row<Id> {
    pub(crate) id: Id,
    pub(crate) body: String,
    pub(crate) tenant: String,
    pub(crate) principal: String,
    /// The id that the application was told for its action.
    pub(crate) reserved: Option<ActionId>,
}

/// Submits rows, all at once: the action of each, or the problem; in the order of their ids.
pub(crate) async fn submit_all<Id: Ord + Copy + Send + 'static>(
    engine: &Arc<Engine>,
    waiting: Vec<Row<Id>>,
) -> Vec<(Id, Result<ActionId, Problem>)> {
    let mut submitting = JoinSet::new();
    for row in waiting {
        let engine = engine.clone();
        submitting.spawn(async move {
            let submitted = match Submission::from_json(&row.body) {
                Ok(submission) => {
                    engine
                        .submit_reserved(submission, &row.tenant, &row.principal, row.reserved)
                        .await
                }
                Err(problem) => Err(problem),
            };
            (row.id, submitted.map(|submitted| submitted.record.id()))
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
