//! What a start has to record about an action that a former process, or an older copy of the store, left. Pure.

use factum_core::evidence::{Ruling, Verdict};
use factum_core::mistake::{Mistake, made};
use factum_core::{Fact, Timestamp, WorkerNonce};
use factum_store::{Record, Restore};

/// What a start of this worker has to record about one action: that the processes which marked its requests are gone, where
/// they are known to be dead since `gone_at`, and that it is older than a restore.
#[must_use]
pub fn left_behind(
    worker: WorkerNonce,
    record: &Record,
    restore: Option<&Restore>,
    gone_at: Option<Timestamp>,
) -> Vec<Fact> {
    let mut facts = Vec::new();
    if let Some(at) = gone_at {
        let open = record.known.open_marks();
        let mut workers: Vec<_> = open.into_iter().map(|(_, worker)| worker).collect();
        workers.sort_unstable();
        workers.dedup();
        // Whoever carries an action out elsewhere lives on when a process here dies.
        let gone = (workers.into_iter()).filter(|gone| *gone != worker && !gone.is_elsewhere());
        facts.extend(gone.map(|worker| Fact::ProcessGone { worker, at }));
    }
    facts.extend(restore.and_then(|restore| restored(record, restore)));
    facts
}

/// That an action which is older than a restore may have been sent after the copy was made (R18): an unsettled one, and a closed
/// unknown too, for which a person may have ordered a send since, or may do so yet.
#[must_use]
pub fn restored(record: &Record, restore: &Restore) -> Option<Fact> {
    older(record, restore)
        .filter(|_| !record.status().state.is_final() && !made(Mistake::RestoreForgotten))
}

/// What has to be recorded before a person's order to send again. A failure that the copy knows may have been sent for in what
/// was lost, under the very version of the key that comes next (R18).
#[must_use]
pub fn with_the_order(
    record: &Record,
    verdict: &Verdict,
    restore: Option<&Restore>,
) -> Option<Fact> {
    older(record, restore?).filter(|_| verdict.ruling == Ruling::SendAgain)
}

fn older(record: &Record, restore: &Restore) -> Option<Fact> {
    let intent = &record.action.intent;
    let recorded = record.known.restored_at();
    if intent.submitted_at >= restore.at || recorded.is_some_and(|at| at >= restore.at) {
        return None;
    }
    let first_arrival = intent
        .intent_at
        .unwrap_or(intent.submitted_at)
        .min(restore.copy_until);
    Some(Fact::StoreRestored {
        copy_until: restore.copy_until,
        at: restore.at,
        first_arrival: Some(first_arrival),
    })
}
