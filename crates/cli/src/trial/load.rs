//! The load: which actions are submitted. Everything follows from the seed.

use factum_faults::Chance;
use factum_testbed::{Kind, Mode};
use serde_json::{Value, json};

/// Of so many actions one is scripted to be rejected, declined, slow or to fail later.
const SCRIPTED_EVERY: u64 = 20;

/// One action of the load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wish {
    /// Its identity, and its business reference in the ledger.
    pub(crate) key: String,
    /// The kind of its destination.
    pub(crate) kind: Kind,
    /// The mode of its destination.
    pub(crate) mode: Mode,
    /// The body of `POST /v1/actions`.
    pub(crate) body: Value,
}

/// Every kind with every mode, in the order of the table.
pub(crate) fn combinations() -> impl Iterator<Item = (Kind, Mode)> {
    Kind::ALL
        .iter()
        .flat_map(|kind| Mode::ALL.iter().map(move |mode| (*kind, *mode)))
}

/// The name of a kind's destination in the engine's configuration.
pub(crate) fn destination(kind: Kind, mode: Mode) -> String {
    format!("{}-{}", kind.name(), mode.name())
}

/// So many actions, spread evenly over all kinds of destination.
pub(crate) fn load(actions: usize, seed: u64) -> Vec<Wish> {
    (0..actions as u64).map(|n| wish(n, seed)).collect()
}

/// The n-th action.
pub(crate) fn wish(n: u64, seed: u64) -> Wish {
    let combinations: Vec<(Kind, Mode)> = combinations().collect();
    let (round, at) = (n / combinations.len() as u64, n % combinations.len() as u64);
    let (kind, mode) = usize::try_from(at).map_or((Kind::Key, Mode::Sync), |at| combinations[at]);
    let key = format!("order-{seed}-{n:05}/effect");
    let mut payload = json!({"business": key, "order": n});
    if let Some((behave, slow_ms)) = scripted(mode, n, seed) {
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
fn place_of_key(kind: Kind, round: u64) -> &'static str {
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
}
