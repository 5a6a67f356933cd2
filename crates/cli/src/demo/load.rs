//! The load of the demonstration: which actions are submitted, and when the engine is killed. Everything follows from the seed.

use factum_faults::Chance;
use factum_testbed::{Kind, Mode};
use serde_json::{Value, json};

/// Of so many actions one is scripted to be rejected, declined, slow or to fail later.
const SCRIPTED_EVERY: u64 = 20;

/// One action of the load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wish {
    /// Its identity, and its business reference in the ledger.
    pub(super) key: String,
    /// The kind of its destination.
    pub(super) kind: Kind,
    /// The mode of its destination.
    pub(super) mode: Mode,
    /// The body of `POST /v1/actions`.
    pub(super) body: Value,
}

/// Every kind with every mode, in the order of the table.
pub(super) fn combinations() -> impl Iterator<Item = (Kind, Mode)> {
    Kind::ALL
        .iter()
        .flat_map(|kind| Mode::ALL.iter().map(move |mode| (*kind, *mode)))
}

/// The name of a kind's destination in the engine's configuration.
pub(super) fn destination(kind: Kind, mode: Mode) -> String {
    format!("{}-{}", kind.name(), mode.name())
}

/// So many actions, spread evenly over all kinds of destination.
pub(super) fn load(actions: usize, seed: u64) -> Vec<Wish> {
    let combinations: Vec<(Kind, Mode)> = combinations().collect();
    (0..actions)
        .map(|n| {
            wish(
                n,
                combinations[n % combinations.len()],
                n / combinations.len(),
                seed,
            )
        })
        .collect()
}

fn wish(n: usize, (kind, mode): (Kind, Mode), round: usize, seed: u64) -> Wish {
    let key = format!("order-{seed}-{n:05}/effect");
    let mut payload = json!({"business": key, "order": n});
    if let Some((behave, slow_ms)) = scripted(mode, n as u64, seed) {
        payload["behave"] = behave.into();
        if let Some(slow_ms) = slow_ms {
            payload["slow_ms"] = slow_ms.into();
        }
    }
    let operation = format!("{}.{}", place_of_key(kind, round), mode.name());
    let body = json!({
        "destination": destination(kind, mode),
        "operation": operation,
        "key": key,
        "payload": payload,
        "summary": format!("Effect for order {n}"),
    });
    Wish {
        key,
        kind,
        mode,
        body,
    }
}

/// Where the key goes takes turns: header, body, path.
fn place_of_key(kind: Kind, round: usize) -> &'static str {
    match (kind, round % 3) {
        (Kind::Key, 1) => "key_body",
        (Kind::Key, 2) => "key_path",
        (kind, _) => kind.name(),
    }
}

/// How a scripted request wants to be treated, and how long it takes.
fn scripted(mode: Mode, n: u64, seed: u64) -> Option<(&'static str, Option<u64>)> {
    let mut chance = Chance::new(seed, "scripted", n);
    if chance.below(SCRIPTED_EVERY) != 0 {
        return None;
    }
    Some(match (chance.below(4), mode) {
        (0, _) => ("reject", None),
        (1, _) => ("decline", None),
        (2, Mode::Queued) => ("complete_then_fail", None),
        (2, Mode::Sync) => ("ok_false", None),
        _ => ("slow", Some(300 + chance.below(500))),
    })
}

/// When the engine is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// Once so many submissions have been answered.
    Answered(usize),
    /// Once so many actions rest, or so long after the last kill, in milliseconds.
    Resting(usize, u64),
}

/// The moments at which it is killed: at least three, seven for two thousand actions, during submission and afterwards.
pub(super) fn moments(actions: usize, seed: u64) -> Vec<Moment> {
    let kills = (3 + actions / 500).min(10);
    let early = kills.div_ceil(2).max(2);
    let mut chance = Chance::new(seed, "kills", 0);
    let mut answered: Vec<usize> = (0..early)
        .map(|n| {
            // One within each slice of the submissions, so that they lie apart.
            let slice = (actions / early).max(1);
            n * slice + below(&mut chance, slice)
        })
        .collect();
    answered.sort_unstable();
    let late = (0..kills - early)
        .map(|_| Moment::Resting(below(&mut chance, actions.max(1)), 700 + chance.below(900)));
    let late: Vec<Moment> = late.collect();
    answered
        .into_iter()
        .map(Moment::Answered)
        .chain(late)
        .collect()
}

fn below(chance: &mut Chance, bound: usize) -> usize {
    usize::try_from(chance.below(bound as u64)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_load_follows_from_the_seed_and_covers_every_kind() {
        let wishes = load(200, 7);
        assert_eq!(wishes, load(200, 7));
        assert_ne!(wishes, load(200, 8));
        let kinds: BTreeSet<_> = wishes.iter().map(|wish| (wish.kind, wish.mode)).collect();
        assert_eq!(kinds.len(), 10);
        let operations: BTreeSet<&str> = wishes
            .iter()
            .filter_map(|wish| wish.body["operation"].as_str())
            .collect();
        assert_eq!(
            operations.len(),
            14,
            "the key goes to three places: {operations:?}"
        );
        let keys: BTreeSet<&str> = wishes.iter().map(|wish| wish.key.as_str()).collect();
        assert_eq!(keys.len(), 200);
        assert!(
            wishes
                .iter()
                .any(|wish| wish.body["payload"]["behave"].is_string())
        );
    }

    #[test]
    fn kills_hit_the_submission_and_what_follows() {
        for (actions, least) in [(60, 3), (200, 3), (2000, 7)] {
            let moments = moments(actions, 1);
            let early = moments
                .iter()
                .filter(|moment| matches!(moment, Moment::Answered(n) if *n < actions))
                .count();
            assert!(
                moments.len() >= least && early >= 2 && early < moments.len(),
                "{actions}: {moments:?}"
            );
        }
    }
}
