//! The result, for people and for scripts.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::disk::Disk;
use super::field::Field;
use crate::trial::engine::Engine;
use crate::trial::judge::Verdict;

/// Identities of one broken law that are shown with all that is known of them.
const SHOWN_MAX: usize = 3;

/// The object for scripts.
pub(super) fn object(field: &Field, verdict: &Verdict, took: Duration) -> Value {
    let (done, total, tallies) = (&field.done, &verdict.total, &field.shared.tallies);
    let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
    let kills: u32 = field.engines.iter().map(Engine::kills).sum();
    let broken: Vec<Value> = verdict
        .broken
        .iter()
        .map(|broken| json!({"law": broken.law, "saw": broken.saw, "keys": broken.keys}))
        .collect();
    json!({
        "violations": verdict.broken.len(),
        "minutes": took.as_secs().div_ceil(60),
        "seconds": took.as_secs(),
        "seed": field.shared.seed,
        "engines": field.engines.len(),
        "actions": total.actions,
        "kills": kills,
        "points": done.points,
        "stops": done.stops,
        "restarts": done.restarts,
        "restores": done.restores,
        "disk_full": done.disk_full,
        "disk": field.ground.disk().map(Disk::name),
        "refused_for_room": of(&tallies.refused_for_room),
        "damages": done.damages,
        "damages_harmless": done.harmless,
        "damages_beyond_checks": done.beyond,
        "refused_for_damage": of(&tallies.refused_for_damage),
        "answered": of(&tallies.answered),
        "cancels": of(&tallies.cancels),
        "orders": of(&tallies.orders),
        "closed": of(&tallies.closed),
        "sent": total.sent,
        "answers_lost": total.answers_lost,
        "effects": total.effects,
        "duplicates": total.duplicates,
        "missing": total.missing,
        "false_success": total.false_success,
        "false_failure": total.false_failure,
        "lost": total.lost,
        "settled": total.settled,
        "in_review": total.in_review,
        "unfinished": total.unfinished,
        "waits_for": total.waits_for,
        "broken": broken,
    })
}

/// The same in sentences.
pub(super) fn sentences(object: &Value) -> Vec<String> {
    let damages: u64 = object["damages"]
        .as_object()
        .into_iter()
        .flat_map(serde_json::Map::values)
        .filter_map(Value::as_u64)
        .sum();
    let mut lines = vec![
        format!(
            "seed {}, {} s: {} actions; {} kills, {} stops, {} restarts, {} restores, {} times no room on the disk ({}), {damages} damages noticed.",
            object["seed"],
            object["seconds"],
            object["actions"],
            object["kills"],
            object["stops"],
            object["restarts"],
            object["restores"],
            object["disk_full"],
            object["disk"].as_str().unwrap_or("none of ours"),
        ),
        format!(
            "The ledger holds {} effects of {} requests, {} answers lost: {} duplicates, {} missing, {} false \"done\", {} false \"failed\", {} lost.",
            object["effects"],
            object["sent"],
            object["answers_lost"],
            object["duplicates"],
            object["missing"],
            object["false_success"],
            object["false_failure"],
            object["lost"],
        ),
        format!(
            "{} are settled, {} wait for a person.",
            object["settled"], object["in_review"]
        ),
    ];
    for broken in object["broken"].as_array().into_iter().flatten() {
        lines.push(format!("LAW {} BROKEN: {}", broken["law"], broken["saw"]));
    }
    if object["violations"] == 0 {
        lines.push("No law was broken.".to_owned());
    }
    lines
}

/// All that is known of the actions for which a law did not hold.
pub(super) async fn stories(field: &Field, verdict: &Verdict) -> Vec<Value> {
    let mut stories = Vec::new();
    for broken in &verdict.broken {
        for key in broken.keys.iter().take(SHOWN_MAX) {
            let mut story = field.story(key).await;
            story["law"] = broken.law.into();
            story["saw"] = broken.saw.clone().into();
            stories.push(story);
        }
    }
    stories
}
