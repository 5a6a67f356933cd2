//! The end of a run: nothing goes wrong any more, everything has to settle or stand in review, every caller asks once more, and the
//! ledger judges.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use factum_faults::FaultPlan;
use factum_testbed::Filter;
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::callers::submit;
use super::field::Field;
use super::shared::Shared;
use crate::trial::api::{Api, text};
use crate::trial::books;
use crate::trial::collect::{AT_ONCE, Queue, collect, next};
use crate::trial::judge::{Broken, Observed, Verdict, judge};
use crate::trial::load::Wish;

/// Everything has to rest within this, and for each action a little longer.
const QUIET: Duration = Duration::from_secs(120);
const QUIET_PER_ACTION: Duration = Duration::from_millis(20);
/// The next steps of actions that go on by themselves.
const GOING_ON: [&str; 5] = ["send", "look_up", "poll", "cancel_by_key", "wait"];

impl Field {
    /// Lets everything come to rest, and judges.
    pub(super) async fn judged(&mut self) -> anyhow::Result<Verdict> {
        self.testbed.set_faults(FaultPlan::none());
        let way = self
            .engines
            .first()
            .map(crate::trial::engine::Engine::clients);
        let way = way.ok_or_else(|| anyhow::anyhow!("there is no engine"))?;
        let api = Api::new(way);
        let actions = u32::try_from(self.shared.wishes().len()).unwrap_or(u32::MAX);
        let deadline = Instant::now() + QUIET + QUIET_PER_ACTION * actions;
        self.rest(&api, deadline).await?;
        acknowledged(&self.shared, &api).await?;
        everybody_asks_again(&self.shared).await?;
        self.rest(&api, deadline).await?;
        looked_first(&self.shared, &api).await?;
        let ledger = self.testbed.ledger();
        let arrived = books::deliveries(&ledger);
        let observed: Vec<Observed> = collect(&api, &self.shared.memory).await?;
        let mut books = books::books(&ledger).await;
        for (business, held) in &mut books {
            held.deliveries = arrived.get(business).copied().unwrap_or_default();
        }
        let mut verdict = judge(&observed, &books);
        verdict.broken.extend(self.shared.complaints());
        let unfinished: Vec<String> = observed
            .iter()
            .filter(|one| {
                one.standing
                    .as_ref()
                    .is_some_and(|standing| standing.goes_on())
            })
            .map(|one| one.key.clone())
            .collect();
        if !unfinished.is_empty() {
            verdict.broken.push(Broken {
                law: 8,
                saw: format!(
                    "{} did not come to rest while nothing went wrong",
                    unfinished.len()
                ),
                keys: unfinished,
            });
        }
        Ok(verdict)
    }

    /// Waits until every action rests, or the deadline has come.
    async fn rest(&self, api: &Api, deadline: Instant) -> anyhow::Result<()> {
        loop {
            let mut going_on = Vec::new();
            for step in GOING_ON {
                going_on.extend(api.list(&[("next", step)]).await?);
            }
            let Some(first) = going_on.first() else {
                return Ok(());
            };
            if Instant::now() >= deadline {
                return Ok(());
            }
            self.out
                .note(format_args!("  {} have not come to rest", going_on.len()));
            // One of them coming to rest is a good moment to look again.
            let _ = timeout_at(deadline, api.status(text(first, "/id")?, 2)).await;
        }
    }

    /// What can be known of an action: its status, its evidence, and the ledger's lines about it.
    pub(super) async fn story(&self, key: &str) -> Value {
        let way = self.shared.ways.first().cloned();
        let mut statuses = Vec::new();
        if let Some(api) = way.map(Api::new) {
            for id in self.shared.memory.ids(key) {
                let evidence = api.evidence(&id).await.unwrap_or_default();
                let status = api.status(&id, 0).await.ok().flatten();
                statuses.push(serde_json::json!({"status": status, "evidence": evidence}));
            }
        }
        let rows = self.testbed.ledger().rows(&Filter::business(key));
        serde_json::json!({"key": key, "engine": statuses, "ledger": rows})
    }
}

/// Law 10: every id that was answered, and that no restore of ours has lost, is known.
async fn acknowledged(shared: &Shared, api: &Api) -> anyhow::Result<()> {
    let known: Vec<Value> = api.list(&[]).await?;
    let known: BTreeSet<&str> = known
        .iter()
        .filter_map(|status| status["id"].as_str())
        .collect();
    let lost: Vec<String> = shared
        .memory
        .all()
        .into_iter()
        .filter(|(_, one)| one.ids.iter().any(|id| !known.contains(id.as_str())))
        .map(|(key, _)| key)
        .collect();
    if !lost.is_empty() {
        shared.complain(
            10,
            format!("{} were acknowledged, and are unknown", lost.len()),
            lost,
        );
    }
    Ok(())
}

/// Everybody submits everything once more: it joins, or makes what nobody has answered yet.
async fn everybody_asks_again(shared: &Arc<Shared>) -> anyhow::Result<()> {
    let wishes: VecDeque<Wish> = shared.wishes().values().cloned().collect();
    let queue: Queue<Wish> = Arc::new(Mutex::new(wishes));
    let mut callers = JoinSet::new();
    for caller in 0..AT_ONCE {
        let (shared, queue) = (Arc::clone(shared), Arc::clone(&queue));
        callers.spawn(async move {
            const TRIES: u32 = 100;
            while let Some(wish) = next(&queue) {
                for _ in 0..TRIES {
                    if submit(&shared, caller, &wish).await {
                        break;
                    }
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        });
    }
    while let Some(ended) = callers.join_next().await {
        ended?;
    }
    Ok(())
}

/// R18: what an older copy of the store has lost is met again as maybe sent, and what it knows is not sent as if for the first time.
async fn looked_first(shared: &Shared, api: &Api) -> anyhow::Result<()> {
    for (key, one) in shared.memory.all() {
        let Some(id) = one.ids.first().filter(|_| one.restored) else {
            continue;
        };
        let evidence = api.evidence(id).await?;
        let restore = evidence
            .iter()
            .position(|record| record["fact"] == "store_restored");
        let former = shared.former(&key);
        let anew = !former.is_empty() && !former.contains(id);
        if anew && restore.is_none() {
            shared.complain(
                10,
                "lost with a newer file, and met again as new",
                vec![key],
            );
            continue;
        }
        let after = evidence
            .get(restore.unwrap_or(evidence.len())..)
            .unwrap_or_default();
        let first = |record: &Value| {
            record["fact"] == "marked" && record["detail"]["permission"] == "first"
        };
        if after.iter().any(first) {
            shared.complain(
                6,
                "older than a restore, and sent as if for the first time",
                vec![key],
            );
        }
    }
    Ok(())
}
