//! Several served engines on one database, killed, stopped and started again under load, counted in the destination's ledger.
//!
//! `FACTUM_TEST_POSTGRES` names a server whose user may make databases; each case has one of its own. Nothing here talks to
//! the engines' tables.

pub(crate) mod database;
mod failover;
mod keys;
mod restored;
mod upgrade;
mod work;
pub(crate) mod workers;

use std::collections::BTreeMap;

use rustix::process::Signal;
use serde_json::{Value, json};

use self::database::Database;
use self::workers::{Workers, payload};
use crate::support::Bed;

/// What is asked for, by key: the operation, and the action once somebody answered with 2xx.
type Asked = BTreeMap<String, (&'static str, Option<String>)>;

const OPERATIONS: [&str; 5] = [
    "key.sync",
    "lookup.sync",
    "cancel.sync",
    "neither.sync",
    "key.queued",
];

/// A fixed sequence without a pattern: which worker is hit by what.
struct Draws(u64);

impl Draws {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % below
    }
}

// B149, B152, B155, B157, B163: whatever happens to the workers, an action has at most one effect, and every word about it is true.
#[test]
#[ignore = "needs PostgreSQL; ./test starts one"]
fn workers_that_die_and_stand_still_lose_and_double_nothing() {
    let database = Database::make();
    let bed = Bed::with(&["--loss", "0.25", "--seed", "11"]);
    let mut workers = Workers::start(&database, &bed, 4);
    let (mut draws, mut asked) = (Draws(20), Asked::new());
    for round in 0..6 {
        for n in 0..10 {
            let key = format!("round-{round}-{n}");
            let operation = OPERATIONS[n % OPERATIONS.len()];
            let id = workers.submit(draws.next(4), operation, &key);
            asked.insert(key, (operation, id));
        }
        let hit = draws.next(4);
        match draws.next(3) {
            0 => workers.kill_and_start(hit),
            1 => {
                // Others go on with what a worker that stands still had not begun; it goes on with the rest.
                workers.signal(hit, Signal::STOP);
                let other = (hit + 1) % 4;
                for (n, operation) in OPERATIONS.into_iter().enumerate() {
                    let key = format!("round-{round}-beside-{n}");
                    let id = workers.submit((hit + 1 + n % 3) % 4, operation, &key);
                    if operation == "key.sync" {
                        workers.at_rest(other, id.as_deref().unwrap());
                    }
                    asked.insert(key, (operation, id));
                }
                workers.signal(hit, Signal::CONT);
            }
            _ => workers.stop_and_start(hit),
        }
    }
    // One dies for good: its lanes go to the others.
    workers.kill(3);
    everything_ends_well(&workers, &bed, &asked);
}

/// What was answered is at rest, truly; and a key settles whatever was lost on the way.
fn everything_ends_well(workers: &Workers, bed: &Bed, asked: &Asked) {
    for (key, status) in everything_rests(workers, bed, asked) {
        if status["operation"] == "key.sync" {
            assert_eq!(status["state"], "succeeded", "{key}: {status}");
        }
    }
}

/// What was answered settles or waits for a person, though nobody asks for it again and its worker may be dead. Then every caller
/// repeats, and joins; and it is as the ledger says.
fn everything_rests(workers: &Workers, bed: &Bed, asked: &Asked) -> Vec<(String, Value)> {
    for id in asked.values().filter_map(|(_, id)| id.as_deref()) {
        workers.at_rest(1, id);
    }
    let mut ids = BTreeMap::new();
    for (key, (operation, first)) in asked {
        let again = workers
            .submit(0, operation, key)
            .expect("a worker that lives takes it");
        if let Some(first) = first {
            assert_eq!(*first, again, "{key} was answered with 2xx before");
        }
        ids.insert(key, again);
    }
    let rested: Vec<(String, Value)> = ids
        .iter()
        .map(|(key, id)| ((*key).clone(), workers.at_rest(1, id)))
        .collect();
    let counts = bed.counts();
    for (key, status) in &rested {
        let effects = counts["by_business"][key].as_u64().unwrap_or_default();
        let told = format!("{effects} effects of {key}: {status}");
        match status["state"].as_str().unwrap() {
            "succeeded" => assert_eq!(effects, 1, "missing, or double: {told}"),
            "terminal_failure" | "cancelled" | "expired" => {
                assert_eq!(effects, 0, "a false failure: {told}");
            }
            "outcome_unknown" => {
                assert!(effects <= 1, "double: {told}");
                assert_eq!(status["next"]["do"], "review", "{told}");
            }
            other => panic!("{other} is no rest: {told}"),
        }
    }
    rested
}

// Three workers keep to one bound together: beyond it 429 with a time to come back, and only repeats are taken.
#[test]
#[ignore = "needs PostgreSQL; ./test starts one"]
fn workers_together_record_no_more_than_may_be_unsettled() {
    const MAX: usize = 20;
    let (database, bed) = (Database::make(), Bed::start());
    let store = format!(
        "url = \"{}\"\n[limits]\nunsettled_max = {MAX}\n",
        database.url
    );
    let workers = Workers::with(&store, &bed, 3);
    let (mut taken, mut refused) = (Vec::new(), 0);
    // Whoever is refused comes again, at another worker, until nobody takes anything more.
    while refused < 200 {
        let mut body = payload("key.sync", &format!("order-{}", taken.len()));
        body["not_before"] = json!("2999-01-01T00:00:00Z");
        let no = (taken.len() + refused) % 3;
        let answer = workers.ask(no, "POST", "/v1/actions", &body).unwrap();
        if answer.status == 201 {
            taken.push(body);
            refused = 0;
        } else {
            assert_eq!(
                (answer.status, &answer.body["code"]),
                (429, &json!("F1030"))
            );
            assert!(answer.header("retry-after").is_some(), "{answer:?}");
            refused += 1;
        }
        assert!(taken.len() <= MAX, "{} are unsettled", taken.len());
    }
    assert_eq!(taken.len(), MAX);
    for (no, body) in taken.iter().enumerate() {
        let again = workers.ask(no % 3, "POST", "/v1/actions", body).unwrap();
        assert_eq!(again.status, 200, "{again:?}");
    }
    assert_eq!(bed.deliveries(), 0);
}

// A database that is down: 503 with a time to come back, before anything is recorded; then it goes on by itself.
#[test]
#[ignore = "needs PostgreSQL; ./test starts one"]
fn while_the_database_is_away_submissions_are_refused_and_nothing_is_half_done() {
    let database = Database::make();
    let bed = Bed::start();
    let workers = Workers::start(&database, &bed, 1);
    assert!(workers.submit(0, "key.sync", "before").is_some());
    database.refuse_connections();
    let refused = workers.ask(0, "POST", "/v1/actions", &payload("key.sync", "away"));
    let refused = refused.expect("the engine answers without its database");
    assert_eq!(refused.status, 503, "{refused:?}");
    assert_eq!(refused.body["code"], json!("F1031"), "{refused:?}");
    assert!(refused.header("retry-after").is_some(), "{refused:?}");
    database.accept_connections();
    let listed = workers.until(0, "GET", "/v1/actions", |answer| answer.status == 200);
    assert_eq!(listed.body["actions"].as_array().unwrap().len(), 1);
    let id = workers.submit(0, "key.sync", "away").unwrap();
    assert_eq!(workers.at_rest(0, &id)["state"], "succeeded");
    assert_eq!((bed.effects("before"), bed.effects("away")), (1, 1));
}
