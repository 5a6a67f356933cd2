//! The load: callers who submit, repeat, withdraw and ask, and a colleague who rules without having looked.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use factum_faults::Chance;
use factum_testbed::{Kind, Mode};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::ground::REPORTED;
use super::shared::{Answer, Shared};
use crate::client::{Call, encoded};
use crate::trial::load::{Wish, wish};

/// Callers at once.
const CALLERS: u64 = 8;
/// Between two things that a caller does, at least and at most, in milliseconds.
const PAUSE: (u64, u64) = (250, 1_100);
/// Before a call is made again that did not work.
const AGAIN: Duration = Duration::from_millis(150);
/// Between two looks of the colleague.
const LOOK: Duration = Duration::from_millis(900);
/// Of so many actions one goes to the destination that reports.
const REPORTED_EVERY: u64 = 9;
/// Of so many actions one is answered slowly, so that something is unanswered at every moment.
const SLOW_EVERY: u64 = 7;

/// Starts everybody. They end once it is over.
pub(super) fn start(shared: &Arc<Shared>) -> JoinSet<()> {
    let mut people = JoinSet::new();
    let made = Arc::new(AtomicU64::new(0));
    for caller in 0..CALLERS {
        let (shared, made) = (Arc::clone(shared), Arc::clone(&made));
        people.spawn(async move { Caller::new(&shared, caller).run(&made).await });
    }
    let shared = Arc::clone(shared);
    people.spawn(async move { colleague(&shared).await });
    people
}

/// The n-th wish.
fn nth(n: u64, seed: u64) -> Wish {
    let mut wish = wish(n, seed);
    let mut chance = Chance::new(seed, "wish", n);
    if chance.below(REPORTED_EVERY) == 0 {
        let (operation, kind) = match chance.below(2) {
            0 => ("key.reported", Kind::Key),
            _ => ("neither.reported", Kind::Neither),
        };
        (wish.kind, wish.mode) = (kind, Mode::Queued);
        wish.body["destination"] = REPORTED.into();
        wish.body["operation"] = operation.into();
    } else if chance.below(SLOW_EVERY) == 0 && wish.body["payload"]["behave"].is_null() {
        wish.body["payload"]["behave"] = "slow".into();
        wish.body["payload"]["slow_ms"] = (200 + chance.below(900)).into();
    }
    // By it an action that an older copy of the store has lost is known to be older than the restore.
    wish.body["intent_at"] = jiff::Timestamp::now().to_string().into();
    wish
}

struct Caller<'a> {
    shared: &'a Shared,
    number: u64,
    chance: Chance,
    /// The identities that it asked for.
    own: Vec<String>,
}

impl<'a> Caller<'a> {
    fn new(shared: &'a Shared, number: u64) -> Self {
        Self {
            shared,
            number,
            chance: Chance::new(shared.seed, "caller", number),
            own: Vec::new(),
        }
    }

    async fn run(mut self, made: &AtomicU64) {
        while !self.shared.is_over() {
            let pause = PAUSE.0 + self.chance.below(PAUSE.1 - PAUSE.0);
            tokio::time::sleep(Duration::from_millis(pause)).await;
            match self.chance.below(100) {
                0..75 => self.anew(made.fetch_add(1, Ordering::Relaxed)).await,
                75..85 => self.repeat().await,
                85..93 => self.withdraw().await,
                _ => self.ask().await,
            }
        }
    }

    /// Asks for something new, again and again until somebody takes it.
    async fn anew(&mut self, n: u64) {
        let wish = nth(n, self.shared.seed);
        self.shared.memory.expect(&wish.key, wish.kind, wish.mode);
        self.shared.wishes().insert(wish.key.clone(), wish.clone());
        self.own.push(wish.key.clone());
        while !self.shared.is_over() && !submit(self.shared, self.engine(), &wish).await {
            tokio::time::sleep(AGAIN).await;
        }
    }

    /// Asks for something once more, under the same identity.
    async fn repeat(&mut self) {
        let Some(key) = self.one() else { return };
        let wish = self.shared.wishes().get(&key).cloned();
        if let Some(wish) = wish {
            submit(self.shared, self.engine(), &wish).await;
        }
    }

    async fn withdraw(&mut self) {
        let words = json!({"by": "caller", "why": "not wanted any more"});
        let engine = self.engine();
        if let Some((key, id)) = self.known() {
            self.shared.tallies.cancels.fetch_add(1, Ordering::Relaxed);
            let path = format!("/v1/actions/{}/cancel", encoded(&id));
            self.about(engine, &key, Call::post(path, words.to_string()))
                .await;
        }
    }

    async fn ask(&mut self) {
        let engine = self.engine();
        if let Some((key, id)) = self.known() {
            let call = Call::get(format!("/v1/actions/{}", encoded(&id)));
            self.about(engine, &key, call).await;
        }
    }

    /// A call about an action that was acknowledged.
    async fn about(&self, engine: usize, key: &str, call: Call) {
        let _counted = self.shared.calls.read().await;
        match self.shared.call(engine, call).await {
            Answer::Yes(status) => self.shared.memory.saw(key, &status),
            // Put back meanwhile, or damaged.
            Answer::NotNow => {}
            Answer::No(failure) if failure.exit == crate::exit::CONFLICT => {}
            Answer::No(failure)
                if self.forgotten(key) && failure.exit == crate::exit::NOT_FOUND => {}
            Answer::No(failure) => {
                let saw = format!("refused about an acknowledged action: {}", failure.text());
                self.shared.complain(10, saw, vec![key.to_owned()]);
            }
        }
    }

    /// Whether an older copy lost what this identity was answered.
    fn forgotten(&self, key: &str) -> bool {
        self.shared.memory.ids(key).is_empty()
    }

    fn one(&mut self) -> Option<String> {
        let at = self.chance.below(self.own.len() as u64);
        self.own.get(usize::try_from(at).ok()?).cloned()
    }

    /// One of its own that was acknowledged, with its id.
    fn known(&mut self) -> Option<(String, String)> {
        let key = self.one()?;
        let id = self.shared.memory.ids(&key).first().cloned()?;
        Some((key, id))
    }

    fn engine(&mut self) -> usize {
        usize::try_from(self.chance.next() ^ self.number).unwrap_or(0) % self.shared.ways.len()
    }
}

/// Submits once. Says whether it is answered.
pub(super) async fn submit(shared: &Shared, engine: usize, wish: &Wish) -> bool {
    let _counted = shared.calls.read().await;
    let call = Call::post("/v1/actions", wish.body.to_string()).repeatable();
    match shared.call(engine, call).await {
        Answer::Yes(status) => {
            shared.tallies.answered.fetch_add(1, Ordering::Relaxed);
            let known = shared.memory.ids(&wish.key);
            let id = status["id"].as_str().unwrap_or_default();
            if !known.is_empty() && !known.contains(id) {
                let saw = format!("a repeat made {id}, and {known:?} was answered before");
                shared.complain(10, saw, vec![wish.key.clone()]);
            }
            shared.memory.saw(&wish.key, &status);
            true
        }
        Answer::NotNow => false,
        Answer::No(failure) => {
            let saw = format!("a submission was refused: {}", failure.text());
            shared.complain(10, saw, vec![wish.key.clone()]);
            true
        }
    }
}

/// Rules about what waits for a person, without having looked: so that nothing that it says can be wrong. It ends a search, orders a
/// send at the risk of a duplicate, or has the destination asked once more.
async fn colleague(shared: &Shared) {
    let mut round = 0;
    while !shared.is_over() {
        tokio::time::sleep(LOOK).await;
        round += 1;
        let _counted = shared.calls.read().await;
        let Answer::Yes(mut page) = shared.call(0, Call::get("/v1/review?limit=20")).await else {
            continue;
        };
        let items = page["items"].take();
        for item in items.as_array().into_iter().flatten() {
            rule(shared, item, round).await;
        }
    }
}

async fn rule(shared: &Shared, item: &Value, round: u64) {
    let (Some(id), Some(key)) = (item["id"].as_str(), item["key"].as_str()) else {
        return;
    };
    let verdict = |word: &str| json!({"verdict": word, "by": "colleague", "why": "has not looked"});
    let (call, words) = match Chance::new(shared.seed, key, round).below(40) {
        0 => {
            shared.tallies.closed.fetch_add(1, Ordering::Relaxed);
            ("verdict", verdict("cannot_be_known"))
        }
        1 => {
            shared.tallies.orders.fetch_add(1, Ordering::Relaxed);
            // Counted before it is made: it may arrive although its answer does not.
            shared.memory.order(key);
            ("verdict", verdict("send_again"))
        }
        2 | 3 => ("check-again", json!({"by": "colleague"})),
        _ => return,
    };
    let call = Call::post(
        format!("/v1/review/{}/{call}", encoded(id)),
        words.to_string(),
    );
    match shared.call(0, call).await {
        Answer::Yes(status) => shared.memory.saw(key, &status),
        Answer::NotNow => {}
        // It has left the queue meanwhile.
        Answer::No(failure) if failure.exit == crate::exit::CONFLICT => {}
        Answer::No(failure) => {
            let saw = format!("a verdict was refused: {}", failure.text());
            shared.complain(8, saw, vec![key.to_owned()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_wishes_go_everywhere() {
        let wishes: Vec<Wish> = (0..200).map(|n| nth(n, 3)).collect();
        let to: BTreeSet<&str> = wishes
            .iter()
            .filter_map(|wish| wish.body["destination"].as_str())
            .collect();
        assert_eq!(to.len(), 11, "{to:?}");
        let behaviours: BTreeSet<&str> = wishes
            .iter()
            .filter_map(|wish| wish.body["payload"]["behave"].as_str())
            .collect();
        assert!(behaviours.len() >= 4, "{behaviours:?}");
    }
}
