//! What a former process left: found at start, before anything is carried out.

use factum_core::{ActionId, Lane, State, Timestamp};
use factum_store::{Filter, IMPORTED_AT, Restore, StoreError, StoreErrorKind};

use crate::driver::{Driver, Event};
use crate::left_behind::{left_behind, restored};
use crate::metrics::Notes;
use crate::neighbours;
use crate::problem::Problem;
use crate::shell::Shared;

/// Rows that are read at once.
const BATCH: usize = 512;

/// Fills the driver's queue from the store. Marks of former processes become maybe sent: at once where those processes are
/// known to be dead, else when their leases run out. After a restore, everything unsettled is maybe sent (R18).
pub(crate) async fn recover(
    shared: &Shared,
    driver: &mut Driver,
    restore: Option<&Restore>,
    gone_at: Option<Timestamp>,
) -> Result<(), Problem> {
    if shared.store.is_shared() {
        // Other workers go on with theirs. What nobody looks after is picked up lane by lane; leases tell when a mark is old.
        return Ok(neighbours::arrive(shared, driver).await?);
    }
    let imported_at = imported_at(shared).await?;
    let mut after = None;
    let mut recovered = 0usize;
    loop {
        let due = shared.store.due(after, BATCH).await?;
        let Some(last) = due.last() else { break };
        after = Some((last.at, last.action));
        for row in due {
            let looked = look_after(shared, row.action, restore, gone_at, imported_at).await;
            let at = match looked {
                Ok(Some(recorded_at)) => {
                    recovered += 1;
                    recorded_at
                }
                Ok(None) => row.at,
                Err(error) if is_damage(&error) => {
                    tracing::error!(action = %row.action, %error, "a damaged action is held; the others go on");
                    if restore.is_some() {
                        // Were it mended meanwhile, nobody would have said of it that it may have been sent (R18).
                        continue;
                    }
                    row.at
                }
                Err(error) => return Err(error.into()),
            };
            driver.handle(
                Event::Due {
                    action: row.action,
                    destination: row.destination,
                    at,
                },
                Timestamp::EARLIEST,
            );
        }
    }
    for (action, destination, at) in mark_untimed(shared, restore).await? {
        recovered += 1;
        driver.handle(
            Event::Due {
                action,
                destination,
                at,
            },
            Timestamp::EARLIEST,
        );
    }
    if recovered > 0 {
        tracing::info!(
            actions = recovered,
            "a former process, or a restore, left requests that are maybe sent"
        );
    }
    Ok(())
}

/// Since when the store is where it is, if it was moved here.
async fn imported_at(shared: &Shared) -> Result<Timestamp, StoreError> {
    let since = shared.store.setting(IMPORTED_AT).await?;
    let since = since.and_then(|since| since.parse().ok());
    Ok(since.map_or(Timestamp::EARLIEST, Timestamp::from_micros))
}

/// Records what a start has to record about one action. When that was, if there was anything.
async fn look_after(
    shared: &Shared,
    action: ActionId,
    restore: Option<&Restore>,
    gone_at: Option<Timestamp>,
    imported_at: Timestamp,
) -> Result<Option<Timestamp>, StoreError> {
    let Some(record) = shared.store.load(action).await? else {
        return Ok(None);
    };
    // Of the processes that worked on it elsewhere nobody here knows that they are dead; their leases tell.
    let gone_at = gone_at.filter(|_| record.action.intent.submitted_at > imported_at);
    let facts = left_behind(shared.worker, &record, restore, gone_at);
    if facts.is_empty() {
        return Ok(None);
    }
    let notes = Notes::of(&facts);
    let recorded = shared.store.record(action, facts).await?;
    if let Some(recorded) = &recorded {
        shared.count(action, &notes, recorded).await;
    }
    Ok(recorded.map(|recorded| recorded.at))
}

/// One damaged row must not stop the others.
fn is_damage(error: &StoreError) -> bool {
    matches!(error.kind, StoreErrorKind::Corrupt { .. })
}

/// Records of everything unsettled in these lanes that it may have been sent after the copy was made.
pub(crate) async fn mark_maybe_sent(
    shared: &Shared,
    restore: &Restore,
    ours: impl Fn(Lane) -> bool,
) -> Result<Vec<(ActionId, String)>, StoreError> {
    let mut marked = Vec::new();
    let mut after = None;
    loop {
        let due = shared.store.due(after, BATCH).await?;
        let Some(last) = due.last() else { break };
        after = Some((last.at, last.action));
        for row in due {
            if !ours(row.action.lane()) {
                continue;
            }
            let record = match shared.store.load(row.action).await {
                Err(error) if is_damage(&error) => {
                    tracing::error!(action = %row.action, %error, "a damaged action is held; the others go on");
                    None
                }
                loaded => loaded?,
            };
            if let Some(fact) = record.and_then(|record| restored(&record, restore)) {
                shared.store.record(row.action, vec![fact]).await?;
                marked.push((row.action, row.destination));
            }
        }
    }
    let untimed = mark_untimed(shared, Some(restore)).await?;
    marked.extend(
        untimed
            .into_iter()
            .map(|(action, place, _)| (action, place)),
    );
    Ok(marked)
}

/// Actions in review and closed unknowns have no time at which they are due, and are maybe sent all the same. What was recorded
/// about them has to be decided on again, or they would stand in no queue at all (law 8): which, where they go, and when it
/// was recorded.
async fn mark_untimed(
    shared: &Shared,
    restore: Option<&Restore>,
) -> Result<Vec<(ActionId, String, Timestamp)>, StoreError> {
    let mut marked = Vec::new();
    let Some(restore) = restore else {
        return Ok(marked);
    };
    for mut filter in untimed() {
        loop {
            let found = shared.store.list(filter.clone()).await?;
            let Some(last) = found.last() else { break };
            filter.before = Some(last.id());
            for record in &found {
                let Some(fact) = restored(record, restore) else {
                    continue;
                };
                if let Some(recorded) = shared.store.record(record.id(), vec![fact]).await? {
                    let destination = record.action.scope.destination.clone();
                    marked.push((record.id(), destination, recorded.at));
                }
            }
        }
    }
    Ok(marked)
}

/// What has no time at which it is due, and may be sent once more by a person's order.
fn untimed() -> [Filter; 2] {
    let next = |step: &str, state| Filter {
        next: Some(step.to_owned()),
        state,
        limit: BATCH,
        ..Filter::default()
    };
    [
        next("review", None),
        next("none", Some(State::OutcomeUnknown)),
    ]
}
