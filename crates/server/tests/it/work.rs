//! Remote work: workers in other processes, here tasks with a system of their own whose effects are counted there.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::client::Answer;
use crate::world::{TOKEN, World, at};

/// Three operations: about one nothing is promised, one recognises keys, and in one workers can look.
const CONFIG: &str = r#"
[destinations.desk]
provider = "work"
limits = { linger = "0 s", pause_margin = "0 s", skew = "0 s", backoff = "20 ms" }
[destinations.desk.work."plain.do"]
[destinations.seen]
provider = "work"
limits = { send_wait = "300 ms", linger = "0 s", pause_margin = "0 s", skew = "0 s", backoff = "20 ms" }
[destinations.seen.work."looked.do"]
limit = "100 ms"
look_up = { complete = true }
processing_max = "100 ms"
by = "ops"
reason = "our own system"

[destinations.hasty]
provider = "work"
limits = { send_wait = "1 s", backoff = "20 ms", work_lease = "1 s" }
[destinations.hasty.work."late.do"]
[destinations.hasty.work."keyed.do"]
key = { floor = "24 h", concurrent = true }
processing_max = "1 s"
by = "ops"
reason = "our own system"

[destinations.steady]
provider = "work"
limits = { send_wait = "1 s", work_lease = "8 s" }
[destinations.steady.work."long.do"]

[tenants.acme.destinations.desk]
provider = "work"
work."plain.do" = {}
[tenants.globex.destinations.desk]
provider = "work"
work."plain.do" = {}
"#;

/// The outside system: how often what was made, by what the worker passes on.
#[derive(Clone, Default)]
struct System(Arc<Mutex<BTreeMap<String, u32>>>);

impl System {
    fn make(&self, name: &str) -> String {
        let mut made = self.0.lock().unwrap();
        *made.entry(name.to_owned()).or_default() += 1;
        format!("D-{name}")
    }

    fn count(&self, name: &str) -> u32 {
        self.0.lock().unwrap().get(name).copied().unwrap_or(0)
    }
}

async fn world() -> World {
    World::with(CONFIG, |limits| limits).await
}

async fn submit(world: &World, token: &str, operation: &str, key: &str) -> Value {
    let destination = match operation {
        "late.do" | "keyed.do" => "hasty",
        "long.do" => "steady",
        "looked.do" => "seen",
        _ => "desk",
    };
    // The number as it is written, which no parser gives back.
    let body = format!(
        r#"{{"destination": "{destination}", "operation": "{operation}", "key": "{key}", "payload": {{"n": "{key}", "amount": 1.10}}, "params": {{"a": "b"}}}}"#
    );
    let answer = world
        .call_as(token, "POST", "/v1/actions", &[], &body)
        .await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    answer.json()
}

async fn claim_as(world: &World, token: &str, wish: Value) -> Vec<Value> {
    let answer = world
        .call_as(
            token,
            "POST",
            "/v1/work/claim?wait=10",
            &[],
            &wish.to_string(),
        )
        .await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()["items"].as_array().unwrap().clone()
}

/// The one item that waits, or comes soon.
async fn claim(world: &World, operation: &str) -> Value {
    let items = claim_as(world, TOKEN, json!({"operations": [operation]})).await;
    assert_eq!(items.len(), 1, "{operation}");
    items[0].clone()
}

/// Nothing waits, and nothing is waited for.
async fn nothing_waits(world: &World, token: &str) {
    let answer = world
        .call_as(token, "POST", "/v1/work/claim", &[], "")
        .await;
    assert_eq!(answer.json(), json!({"items": []}));
}

async fn go_on(world: &World, item: &Value, step: &str, body: Value) -> Answer {
    let claim = item["claim"].as_str().unwrap();
    world.post(&format!("/v1/work/{claim}/{step}"), &body).await
}

async fn begin(world: &World, item: &Value) -> Value {
    let answer = go_on(world, item, "begin", json!({})).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()
}

async fn report(world: &World, item: &Value, body: Value) -> Value {
    let answer = go_on(world, item, "report", body).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()
}

/// The action once it is at rest.
async fn rests(world: &World, action: &Value) -> Value {
    world.get(&format!("{}?wait=30", at(action))).await.json()
}

async fn facts(world: &World, action: &Value) -> Vec<String> {
    let log = world.get(&format!("{}/evidence", at(action))).await.json();
    let log = log["evidence"].as_array().unwrap().clone();
    log.iter()
        .map(|fact| fact["fact"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn a_claim_may_be_for_one_action_and_leaves_the_others_alone() {
    let world = world().await;
    let first = submit(&world, TOKEN, "plain.do", "first").await;
    let second = submit(&world, TOKEN, "plain.do", "second").await;
    let wish = json!({"actions": [second["id"]], "max": 10});
    let items = claim_as(&world, TOKEN, wish).await;
    let claimed: Vec<&Value> = items.iter().map(|item| &item["action"]).collect();
    assert_eq!(claimed, [&second["id"]]);
    assert_eq!(
        claim(&world, "plain.do").await["action"],
        first["id"],
        "it was not held meanwhile"
    );
    let unread = world
        .post("/v1/work/claim", &json!({"actions": ["act_x"]}))
        .await;
    assert_eq!(
        (unread.status, &unread.json()["member"]),
        (400, &json!("/actions"))
    );
}

#[tokio::test]
async fn a_worker_claims_begins_and_reports() {
    let (world, system) = (world().await, System::default());
    let action = submit(&world, TOKEN, "plain.do", "one").await;
    let item = claim(&world, "plain.do").await;
    assert_eq!(
        (&item["kind"], &item["action"], &item["destination"]),
        (&json!("send"), &action["id"], &json!("desk"))
    );
    assert_eq!(item["permission"]["kind"], "first");
    assert!(
        item["payload"].to_string().contains("1.10"),
        "numbers stay as they were written"
    );
    nothing_waits(&world, TOKEN).await;
    assert_eq!(facts(&world, &action).await, [""; 0], "a claim is no mark");

    let begun = begin(&world, &item).await;
    assert_eq!(
        (&begun["attempt"], &begun["permission"]),
        (&json!(1), &json!("first"))
    );
    assert_eq!(begun["key"], item["key"]);
    let status = world.get(&at(&action)).await.json();
    assert_eq!(status["state"], "dispatching");

    // R12: the permission is handed out once.
    let again = go_on(&world, &item, "begin", json!({})).await;
    assert_eq!(
        (again.status, &again.json()["code"]),
        (409, &json!("F1102"))
    );
    let back = go_on(&world, &item, "return", json!({})).await;
    assert_eq!(back.json()["code"], "F1102");

    let receipt = system.make("one");
    let done =
        json!({"outcome": "done", "receipt": receipt, "answer": {"status": 201, "body": "{}"}});
    let first = report(&world, &item, done.clone()).await;
    assert_eq!(first["repeated"], false);
    assert_eq!(first["action"]["state"], "succeeded");
    let log = facts(&world, &action).await;
    let second = report(&world, &item, done).await;
    assert_eq!(second["repeated"], true);
    assert_eq!(facts(&world, &action).await, log);
    assert_eq!(
        rests(&world, &action).await["receipt"]["reference"],
        "D-one"
    );
    assert_eq!(system.count("one"), 1);
    nothing_waits(&world, TOKEN).await;
}

#[tokio::test]
async fn what_nobody_reports_is_unknown_and_a_late_report_is_a_fact() {
    let (world, system) = (world().await, System::default());
    let action = submit(&world, TOKEN, "late.do", "late").await;
    let item = claim(&world, "late.do").await;
    begin(&world, &item).await;
    let receipt = system.make("late");
    let unknown = rests(&world, &action).await;
    assert_eq!(
        (&unknown["state"], &unknown["next"]["do"]),
        (&json!("outcome_unknown"), &json!("review"))
    );
    assert_eq!(facts(&world, &action).await[..2], ["marked", "lease_over"]);
    nothing_waits(&world, TOKEN).await;
    let beat = go_on(&world, &item, "heartbeat", json!({})).await;
    assert_eq!(beat.json()["code"], "F1101");
    report(
        &world,
        &item,
        json!({"outcome": "done", "receipt": receipt}),
    )
    .await;
    assert_eq!(rests(&world, &action).await["state"], "succeeded");
    assert_eq!(system.count("late"), 1);
}

#[tokio::test]
async fn a_heartbeat_extends_the_lease_and_not_the_permission() {
    let world = world().await;
    let action = submit(&world, TOKEN, "long.do", "long").await;
    let item = claim(&world, "long.do").await;
    let begun = begin(&world, &item).await;
    let leased = |answer: &Value| answer["leased_until"].as_str().unwrap().to_owned();
    let until = leased(&begun);
    // One beat that counts, after half of the lease; while waiting for that, nothing else waits either.
    let later = loop {
        let beat = go_on(&world, &item, "heartbeat", json!({})).await;
        assert_eq!(beat.status, 200, "{}", beat.text);
        if leased(&beat.json()) > until {
            break leased(&beat.json());
        }
        let target = "/v1/work/claim?wait=1";
        world.call("POST", target, &[], "").await;
    };
    assert!(later > until);
    let status = world.get(&at(&action)).await.json();
    assert_eq!(status["state"], "dispatching");
    let log = world.get(&format!("{}/evidence", at(&action))).await.json();
    let marked = &log["evidence"][0]["detail"];
    assert_eq!(marked["valid_until"], begun["valid_until"]);
    report(
        &world,
        &item,
        json!({"outcome": "rejected", "why": "no such customer"}),
    )
    .await;
    let ended = rests(&world, &action).await;
    assert_eq!(
        (&ended["state"], &ended["happened"]),
        (&json!("terminal_failure"), &json!("no"))
    );
}

#[tokio::test]
async fn a_claim_that_ran_out_is_free_again_and_its_holder_begins_nothing() {
    let world = world().await;
    submit(&world, TOKEN, "plain.do", "slow").await;
    let wish = json!({"operations": ["plain.do"], "lease_s": 1});
    let slow = claim_as(&world, TOKEN, wish).await[0].clone();
    let other = claim(&world, "plain.do").await;
    assert_eq!(slow["action"], other["action"]);
    assert_ne!(slow["claim"], other["claim"]);
    let refused = go_on(&world, &slow, "begin", json!({})).await;
    assert_eq!(refused.json()["code"], "F1101");
    let beat = go_on(&world, &slow, "heartbeat", json!({})).await;
    assert_eq!(beat.json()["code"], "F1101");
    // Nothing was begun under it, so nothing can have been refused under it either.
    let why = json!({"outcome": "rejected", "why": "no"});
    let refused = go_on(&world, &slow, "report", why).await;
    assert_eq!(
        (refused.status, &refused.json()["code"]),
        (409, &json!("F1103"))
    );
    assert_eq!(go_on(&world, &other, "return", json!({})).await.status, 200);
    let third = claim(&world, "plain.do").await;
    begin(&world, &third).await;
    report(&world, &third, json!({"outcome": "done", "receipt": "D-1"})).await;
}

/// The store came back from a copy that may have lost the begin under this claim: its token says nothing any more.
#[tokio::test]
async fn a_claim_from_before_a_restore_begins_nothing() {
    let world = world().await;
    submit(&world, TOKEN, "plain.do", "earlier").await;
    let earlier = claim(&world, "plain.do").await;
    let store = world.factum().engine().store();
    store.declare_restored(None).await.unwrap();
    for step in ["begin", "heartbeat"] {
        let refused = go_on(&world, &earlier, step, json!({})).await;
        assert_eq!(
            (refused.status, &refused.json()["code"]),
            (409, &json!("F1101")),
            "{step}"
        );
    }
}

#[tokio::test]
async fn an_effect_that_was_made_without_a_begin_is_a_fact_all_the_same() {
    let world = world().await;
    let action = submit(&world, TOKEN, "plain.do", "rash").await;
    let item = claim(&world, "plain.do").await;
    report(
        &world,
        &item,
        json!({"outcome": "done", "receipt": "D-rash"}),
    )
    .await;
    let status = rests(&world, &action).await;
    assert_eq!(
        (&status["state"], &status["receipt"]["reference"]),
        (&json!("succeeded"), &json!("D-rash"))
    );
    assert_eq!(facts(&world, &action).await, ["noted", "called_back"]);
    let refused = go_on(&world, &item, "begin", json!({})).await;
    assert_eq!(refused.json()["code"], "F1104");
}

#[tokio::test]
async fn not_sent_is_proof_and_a_key_lets_another_worker_go_on() {
    let (world, system) = (world().await, System::default());
    // Nothing was sent: another attempt is due, with a new permission.
    let action = submit(&world, TOKEN, "plain.do", "kept").await;
    let item = claim(&world, "plain.do").await;
    begin(&world, &item).await;
    report(
        &world,
        &item,
        json!({"outcome": "not_sent", "why": "no route to the host"}),
    )
    .await;
    let item = claim(&world, "plain.do").await;
    assert_eq!(item["permission"]["kind"], "proven_not_sent");
    begin(&world, &item).await;
    report(
        &world,
        &item,
        json!({"outcome": "done", "receipt": system.make("kept")}),
    )
    .await;
    assert_eq!(rests(&world, &action).await["attempts"], 2);

    // A worker died after its call: the next one repeats it under the same key, which the system recognises.
    let action = submit(&world, TOKEN, "keyed.do", "died").await;
    let item = claim(&world, "keyed.do").await;
    let begun = begin(&world, &item).await;
    system.make(begun["key"].as_str().unwrap());
    let item = claim(&world, "keyed.do").await;
    assert_eq!(item["permission"]["kind"], "same_key");
    let again = begin(&world, &item).await;
    assert_eq!(
        (&again["attempt"], &again["key"]),
        (&json!(2), &begun["key"])
    );
    assert_eq!(again["reference"], begun["reference"]);
    report(
        &world,
        &item,
        json!({"outcome": "done", "receipt": "D-died"}),
    )
    .await;
    assert_eq!(rests(&world, &action).await["state"], "succeeded");
}

#[tokio::test]
async fn workers_look_up_where_nothing_here_can_ask() {
    let (world, system) = (world().await, System::default());
    let action = submit(&world, TOKEN, "looked.do", "lost").await;
    let item = claim(&world, "looked.do").await;
    begin(&world, &item).await;
    report(
        &world,
        &item,
        json!({"outcome": "unknown", "why": "connection reset"}),
    )
    .await;

    let look = claim(&world, "looked.do").await;
    assert_eq!(
        (&look["kind"], &look["by"], &look["permission"]),
        (&json!("look_up"), &json!("reference"), &Value::Null)
    );
    let refused = go_on(&world, &look, "begin", json!({})).await;
    assert_eq!(
        refused.json()["code"],
        "F1104",
        "a lookup needs no permission"
    );
    let other_kind = go_on(
        &world,
        &look,
        "report",
        json!({"outcome": "done", "receipt": "D-1"}),
    )
    .await;
    assert_eq!(
        (other_kind.status, &other_kind.json()["member"]),
        (400, &json!("/outcome"))
    );
    assert_eq!(system.count("lost"), 0);
    report(&world, &look, json!({"outcome": "absent"})).await;
    let joined = report(&world, &look, json!({"outcome": "absent"})).await;
    assert_eq!(joined["repeated"], true);

    // A complete lookup that finds nothing counts once nothing can land any more; then the next attempt is safe.
    let item = loop {
        let item = claim(&world, "looked.do").await;
        if item["kind"] == "send" {
            break item;
        }
        report(&world, &item, json!({"outcome": "absent"})).await;
    };
    assert_eq!(
        (&item["kind"], &item["permission"]["kind"]),
        (&json!("send"), &json!("proven_absent"))
    );
    begin(&world, &item).await;
    let receipt = system.make("lost");
    report(
        &world,
        &item,
        json!({"outcome": "unknown", "why": "connection reset"}),
    )
    .await;
    let look = claim(&world, "looked.do").await;
    report(
        &world,
        &look,
        json!({"outcome": "found", "receipt": receipt}),
    )
    .await;
    let status = rests(&world, &action).await;
    assert_eq!(
        (&status["state"], &status["receipt"]["reference"]),
        (&json!("succeeded"), &json!("D-lost"))
    );
    assert_eq!(system.count("lost"), 1);
}

#[tokio::test]
async fn what_was_withdrawn_or_is_held_is_not_begun() {
    let world = world().await;
    let action = submit(&world, TOKEN, "plain.do", "withdrawn").await;
    let item = claim(&world, "plain.do").await;
    let cancelled = world
        .post(&format!("{}/cancel", at(&action)), &json!({}))
        .await;
    assert_eq!(cancelled.json()["cancel"], "stopped");
    let refused = go_on(&world, &item, "begin", json!({})).await;
    assert_eq!(
        (refused.status, &refused.json()["code"]),
        (409, &json!("F1104"))
    );
    assert_eq!(rests(&world, &action).await["state"], "cancelled");

    let held = submit(&world, TOKEN, "plain.do", "held").await;
    let item = claim(&world, "plain.do").await;
    world.post("/v1/admin/pause", &json!({})).await;
    let refused = go_on(&world, &item, "begin", json!({})).await;
    assert_eq!(refused.json()["code"], "F1104");
    nothing_waits(&world, TOKEN).await;
    world.post("/v1/admin/resume", &json!({})).await;
    let item = claim(&world, "plain.do").await;
    assert_eq!(item["action"], held["id"]);

    // Authority that ended between claim and begin.
    let state = json!({"standing": "suspended", "why": "an incident"});
    world.post("/v1/destinations/desk/state", &state).await;
    let refused = go_on(&world, &item, "begin", json!({})).await;
    assert_eq!(refused.json()["code"], "F1104", "{}", refused.text);
    let ended = rests(&world, &held).await;
    assert_eq!(
        (&ended["state"], &ended["attempts"]),
        (&json!("cancelled"), &json!(0))
    );
}

/// An authority that is gone bars sends alone: what may have been sent is asked for all the same (law 8).
#[tokio::test]
async fn what_may_have_been_sent_is_looked_up_without_authority_too() {
    let (world, system) = (world().await, System::default());
    let action = submit(&world, TOKEN, "looked.do", "lost").await;
    let item = claim(&world, "looked.do").await;
    begin(&world, &item).await;
    let receipt = system.make("lost");
    let lost = json!({"outcome": "unknown", "why": "connection reset"});
    report(&world, &item, lost).await;
    let state = json!({"standing": "suspended", "why": "an incident"});
    world.post("/v1/destinations/seen/state", &state).await;
    let look = claim(&world, "looked.do").await;
    assert_eq!(look["kind"], "look_up", "{look}");
    let found = json!({"outcome": "found", "receipt": receipt});
    report(&world, &look, found).await;
    let status = rests(&world, &action).await;
    assert_eq!(status["state"], "succeeded", "{status}");
    assert_eq!(system.count("lost"), 1);
}

/// Law 9.
#[tokio::test]
async fn work_of_a_tenant_is_nobody_elses() {
    let world = world().await;
    let (acme, globex) = (world.tenant("acme").await, world.tenant("globex").await);
    let own = submit(&world, &acme, "plain.do", "same").await;
    let other = submit(&world, &globex, "plain.do", "same").await;
    let items = claim_as(&world, &acme, json!({"max": 100})).await;
    assert_eq!(items.len(), 1);
    assert_eq!(items[0]["action"], own["id"]);
    nothing_waits(&world, TOKEN).await;
    let theirs = claim_as(&world, &globex, json!({})).await[0].clone();
    assert_eq!(theirs["action"], other["id"]);
    assert_ne!(theirs["key"], items[0]["key"]);
    let unknown = format!("wrk_{}", "0".repeat(122));
    for (step, body) in [
        ("begin", json!({})),
        ("heartbeat", json!({})),
        ("return", json!({})),
        ("report", json!({"outcome": "done", "receipt": "D-1"})),
    ] {
        let mut answers = Vec::new();
        for name in [theirs["claim"].as_str().unwrap(), unknown.as_str()] {
            let target = format!("/v1/work/{name}/{step}");
            let answer = world
                .call_as(&acme, "POST", &target, &[], &body.to_string())
                .await;
            answers.push((answer.status, answer.text));
        }
        assert_eq!(answers[0], answers[1], "{step}");
        assert_eq!(answers[0].0, 404, "{step}");
    }
    let wish = json!({"destinations": ["globex/desk"]}).to_string();
    let crossing = world
        .call_as(&acme, "POST", "/v1/work/claim", &[], &wish)
        .await;
    assert_eq!(
        (crossing.status, &crossing.json()["code"]),
        (404, &json!("F1005"))
    );
    let status = world.call_as(&globex, "GET", &at(&other), &[], "").await;
    assert_eq!(status.json()["state"], "pending", "nothing came of it");
}

#[tokio::test]
async fn many_workers_make_each_effect_once() {
    let (world, system) = (Arc::new(world().await), System::default());
    for n in 0..24 {
        submit(&world, TOKEN, "plain.do", &format!("many-{n}")).await;
    }
    let workers = (0..4).map(|_| {
        let (world, system) = (world.clone(), system.clone());
        tokio::spawn(async move {
            let mut made = 0;
            loop {
                let wish = json!({"max": 3}).to_string();
                let items = world
                    .call("POST", "/v1/work/claim?wait=1", &[], &wish)
                    .await;
                let items = items.json()["items"].as_array().unwrap().clone();
                if items.is_empty() {
                    return made;
                }
                for item in items {
                    let begun = go_on(&world, &item, "begin", json!({})).await;
                    if begun.status != 200 {
                        continue;
                    }
                    let receipt = system.make(item["payload"]["n"].as_str().unwrap());
                    report(
                        &world,
                        &item,
                        json!({"outcome": "done", "receipt": receipt}),
                    )
                    .await;
                    made += 1;
                }
            }
        })
    });
    let workers: Vec<_> = workers.collect();
    let mut made = 0;
    for worker in workers {
        made += worker.await.unwrap();
    }
    assert_eq!(made, 24);
    for n in 0..24 {
        assert_eq!(system.count(&format!("many-{n}")), 1);
    }
}
