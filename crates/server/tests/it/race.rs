//! Many callers at once, and what the destination sees of them.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use tokio::task::JoinSet;

use crate::world::{World, submission};

async fn all_at_once(world: &Arc<World>, bodies: Vec<Value>) -> Vec<(u16, Value)> {
    let mut callers = JoinSet::new();
    for body in bodies {
        let world = world.clone();
        callers.spawn(async move {
            let answer = world.post("/v1/actions", &body).await;
            (answer.status, answer.json())
        });
    }
    callers.join_all().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_hundred_identical_submissions_are_one_action_and_one_request() {
    // B82, B167, B191
    let world = Arc::new(World::start().await);
    let answers = all_at_once(&world, vec![submission("77", "done"); 200]).await;
    let ids: BTreeSet<&str> = answers
        .iter()
        .filter_map(|(_, status)| status["id"].as_str())
        .collect();
    assert_eq!(ids.len(), 1);
    assert_eq!(
        answers.iter().filter(|(status, _)| *status == 201).count(),
        1
    );
    assert_eq!(
        answers
            .iter()
            .filter(|(status, answer)| *status == 200 && answer["joined"] == true)
            .count(),
        199
    );
    let id = ids.first().expect("one");
    assert_eq!(
        world.get(&format!("/v1/actions/{id}?wait=30")).await.json()["state"],
        "succeeded"
    );
    assert_eq!(world.ledger.arrived(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn pairs_that_race_on_a_key_join_or_conflict() {
    // B71
    let world = Arc::new(World::start().await);
    let pair = |n: usize, differ: bool| {
        let first = submission(&format!("{n}"), "done");
        let mut second = first.clone();
        if differ {
            second["payload"]["amount"] = 2.into();
        }
        vec![first, second]
    };
    // As many pairs as a destination takes requests at once, so that each round is at rest before the next.
    for round in 0..8 {
        let (differ, numbers) = (round >= 4, round * 25..(round + 1) * 25);
        let pairs = numbers.flat_map(|n| pair(n, differ)).collect();
        let answers = all_at_once(&world, pairs).await;
        let count = |wanted: u16| {
            let statuses = answers.iter().map(|(status, _)| *status);
            statuses.filter(|status| *status == wanted).count()
        };
        let second = if differ { 422 } else { 200 };
        assert_eq!(
            (count(201), count(second)),
            (25, 25),
            "one of each pair was first"
        );
        world
            .ledger
            .until(u32::try_from(round + 1).unwrap() * 25)
            .await;
    }
    let listed = world.get("/v1/actions?limit=500").await.json();
    assert_eq!(listed["actions"].as_array().map(Vec::len), Some(200));
    for n in 0..200 {
        assert_eq!(world.ledger.arrived_as(&n.to_string()), 1);
    }
}
