//! Callbacks in, over HTTP: each signature scheme, and what is forged, repeated, reordered, foreign, early or unmatched. Effects
//! are counted at the destination of these tests, which answers as a payload says.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::client::{exchange, request};
use crate::hooks::{Hooks, SCHEMES, base64, now, path_of, signed};
use crate::world::submission;

#[tokio::test]
async fn each_scheme_settles_what_it_reports_and_refuses_what_is_forged() {
    let hooks = Hooks::start().await;
    for (number, (operation, _)) in (1..).zip(SCHEMES) {
        let id = hooks.submit(operation, operation, "queue").await;
        let reference = hooks.ledger.reference(number).await;
        let accepted = hooks.state(&id, "accepted").await;
        assert_eq!(accepted["next"]["do"], "wait", "{operation}");
        let body = json!({"id": format!("e-{number}"), "type": "done", "ref": reference, "ticket": format!("T-{number}")});
        // B187: whoever does not know the secret is refused, with or without a signature.
        let forged = body.to_string();
        let mut headers = signed(operation, &forged, now());
        let (_, value) = &mut headers[0];
        let last = value.pop().unwrap();
        value.push(if last == '0' { '1' } else { '0' });
        for headers in [headers, Vec::new()] {
            let refused = hooks.send(&hooks.path, &headers, &forged).await;
            assert_eq!(refused.status, 401, "{operation}: {}", refused.text);
            assert_eq!(refused.json()["code"], "F1028");
        }
        assert_eq!(hooks.status(&id).await["state"], "accepted", "{operation}");
        assert_eq!(hooks.reports("").await.len(), number - 1, "{operation}");

        let taken = hooks.deliver(operation, &body).await;
        assert_eq!((taken.status, taken.json()), (200, json!({"taken": true})));
        let settled = hooks.state(&id, "succeeded").await;
        assert_eq!(settled["receipt"]["reference"], format!("T-{number}"));
        assert_eq!(hooks.reports("").await[0]["action"], id.as_str());
    }
    assert_eq!(hooks.ledger.effects(), SCHEMES.len());
}

// B181
#[tokio::test]
async fn one_event_delivered_46_times_is_one_fact() {
    let hooks = Arc::new(Hooks::start().await);
    let id = hooks.submit("github", "k", "queue").await;
    let reference = hooks.ledger.reference(1).await;
    hooks.state(&id, "accepted").await;
    let body = json!({"id": "e-1", "type": "done", "ref": reference, "ticket": "T-1"});
    let mut deliveries = tokio::task::JoinSet::new();
    for _ in 0..23 {
        let (hooks, body) = (hooks.clone(), body.clone());
        deliveries.spawn(async move { hooks.deliver("github", &body).await.status });
    }
    assert!(
        deliveries
            .join_all()
            .await
            .iter()
            .all(|status| *status == 200)
    );
    for _ in 0..23 {
        assert_eq!(hooks.deliver("github", &body).await.status, 200);
    }
    // Nor does a name of its own for each repetition make it more than one.
    let renamed = json!({"id": "e-2", "type": "done", "ref": reference, "ticket": "T-1"});
    hooks.deliver("github", &renamed).await;
    assert_eq!(hooks.state(&id, "succeeded").await["revised"], false);
    assert_eq!(hooks.reported(&id).await, 1);
    assert_eq!(hooks.ledger.effects(), 1);
}

// B184: a store that cannot be written takes no delivery. Two copies at once are answered 503 and nothing is concluded from
// either; sent again, they are one fact.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_store_is_down_no_delivery_is_taken() {
    let files = tempfile::tempdir().unwrap();
    let file = files.path().join("factum.db");
    let hooks = Hooks::on(factum::Factum::sqlite(&file), files).await;
    let id = hooks.submit("github", "k", "queue").await;
    let reference = hooks.ledger.reference(1).await;
    hooks.state(&id, "accepted").await;
    let body = json!({"id": "e-1", "type": "done", "ref": reference, "ticket": "T-1"});
    let holder = rusqlite::Connection::open(&file).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (one, two) = tokio::join!(
        hooks.deliver("github", &body),
        hooks.deliver("github", &body)
    );
    for refused in [one, two] {
        assert_eq!(refused.status, 503, "{}", refused.text);
        assert_eq!(refused.json()["code"], "F1031");
        assert!(refused.header("retry-after").is_some());
    }
    assert_eq!(hooks.status(&id).await["state"], "accepted");
    assert_eq!(hooks.reports("").await, Vec::<Value>::new());
    holder.execute_batch("ROLLBACK").unwrap();
    let (one, two) = tokio::join!(
        hooks.deliver("github", &body),
        hooks.deliver("github", &body)
    );
    assert_eq!((one.status, two.status), (200, 200));
    hooks.state(&id, "succeeded").await;
    assert_eq!((hooks.reported(&id).await, hooks.ledger.effects()), (1, 1));
}

// B185: the answer is lost, and the destination's report and the lookup bring the result at the same time. It is one change, and
// what each handler asks for next is one effect, because both name it by the order. A new cart of the same order is no new one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_report_and_the_lookup_come_to_one_result_and_one_follow_up() {
    let hooks = Hooks::start().await;
    let id = hooks.submit("found", "order-77", "lose").await;
    let reference = hooks.ledger.reference(1).await;
    hooks.ledger.asked(1).await;
    let body = json!({"id": "e-1", "type": "done", "ref": reference, "ticket": "T-1"});
    let order_mail = submission("order-77/mail", "done");
    let mail = || hooks.world.post("/v1/actions", &order_mail);
    let webhook = async {
        hooks.deliver("found", &body).await;
        mail().await.status
    };
    let return_page = async {
        hooks.ledger.open.send_replace(true);
        hooks.state(&id, "succeeded").await;
        mail().await.status
    };
    let mut statuses = [tokio::join!(webhook, return_page)].map(|(a, b)| [a.min(b), a.max(b)])[0];
    assert_eq!(statuses, [200, 201], "one was first, the other joined");
    statuses[0] = mail().await.status;
    assert_eq!(statuses[0], 200, "another cart, the same order");
    let status = hooks.state(&id, "succeeded").await;
    assert_eq!(
        (&status["revised"], &status["duplicate_suspected"]),
        (&json!(false), &json!(false))
    );
    assert_eq!(status["receipt"]["reference"], "T-1");
    hooks.world.ledger.until(1).await;
    assert_eq!(
        (hooks.ledger.effects(), hooks.world.ledger.arrived()),
        (1, 1)
    );
}

// R9, R21: the reversal comes before what it reverses, and a failure of another job changes nothing.
#[tokio::test]
async fn reordered_and_contradictory_reports_come_to_the_same() {
    let hooks = Hooks::start().await;
    let id = hooks.submit("mac", "k", "queue").await;
    let reference = hooks.ledger.reference(1).await;
    hooks.state(&id, "accepted").await;
    let reversal =
        json!({"id": "e-3", "type": "returned", "ref": reference, "reason": "undeliverable"});
    hooks.deliver("mac", &reversal).await;
    let other = json!({"id": "e-2", "type": "failed", "ref": reference, "job": "job-77", "reason": "no stock"});
    hooks.deliver("mac", &other).await;
    assert_eq!(hooks.status(&id).await["state"], "accepted");
    let done = json!({"id": "e-1", "type": "done", "ref": reference, "ticket": "T-1"});
    hooks.deliver("mac", &done).await;
    let status = hooks.state(&id, "succeeded").await;
    assert_eq!(status["duplicate_suspected"], false);
    let failed = json!({"id": "e-4", "type": "failed", "ref": reference, "job": "job-1", "reason": "no stock"});
    hooks.deliver("mac", &failed).await;
    assert_eq!(
        hooks.status(&id).await["state"],
        "succeeded",
        "positive wins"
    );
    assert_eq!(hooks.reported(&id).await, 4);
}

#[tokio::test]
async fn a_failure_after_the_acceptance_is_a_failure() {
    let hooks = Hooks::start().await;
    let id = hooks.submit("mac", "k", "queue").await;
    hooks.state(&id, "accepted").await;
    let failed = json!({"id": "e-1", "type": "failed", "job": "job-1", "reason": "no stock"});
    hooks.deliver("mac", &failed).await;
    hooks.state(&id, "terminal_failure").await;
    assert_eq!(hooks.ledger.effects(), 1);
}

#[tokio::test]
async fn a_report_before_the_answer_that_it_belongs_to_is_matched_with_it() {
    let hooks = Hooks::start().await;
    let id = hooks.submit("slack", "k", "slow").await;
    hooks.ledger.reference(1).await;
    let early = json!({"id": "e-1", "type": "done", "job": "job-1", "ticket": "T-1"});
    assert_eq!(hooks.deliver("slack", &early).await.status, 200);
    let unmatched = hooks.reports("?unmatched=true").await;
    assert_eq!(unmatched.len(), 1);
    assert_eq!(unmatched[0]["action"], Value::Null);
    assert_eq!(unmatched[0]["readings"][0]["names"][0]["name"], "job-1");
    hooks.ledger.open.send_replace(true);
    let settled = hooks.state(&id, "succeeded").await;
    assert_eq!(settled["receipt"]["reference"], "T-1");
    assert_eq!(hooks.reports("?unmatched=true").await, Vec::<Value>::new());
    assert_eq!(hooks.ledger.effects(), 1, "it is not sent again");
}

// A lost answer, and no key and no lookup: the destination's own report settles it, and nobody was asked.
#[tokio::test]
async fn a_lost_answer_is_settled_by_a_report() {
    let hooks = Hooks::start().await;
    let id = hooks.submit("stripe", "k", "lose").await;
    let reference = hooks.ledger.reference(1).await;
    let unknown = hooks.state(&id, "outcome_unknown").await;
    assert_eq!(unknown["next"]["do"], "wait", "{unknown}");
    let done = json!({"id": "e-1", "type": "done", "ref": reference, "ticket": "T-1"});
    hooks.deliver("stripe", &done).await;
    hooks.state(&id, "succeeded").await;
    assert_eq!(hooks.ledger.effects(), 1);
}

#[tokio::test]
async fn what_is_about_nothing_of_ours_is_kept_and_shown() {
    let hooks = Hooks::start().await;
    let foreign = json!({"id": "e-1", "type": "done", "ref": "somebody-elses", "ticket": "T-9"});
    assert_eq!(hooks.deliver("github", &foreign).await.status, 200);
    // Nothing that the contract reads, and not even JSON: signed, so it is kept too.
    let headers = signed("mac", "not JSON", now());
    assert_eq!(
        hooks.send(&hooks.path, &headers, "not JSON").await.status,
        200
    );
    let kept = hooks.reports("?unmatched=true").await;
    assert_eq!(kept.len(), 2);
    assert_eq!(
        (&kept[0]["body"], &kept[0]["readings"]),
        (&json!("not JSON"), &json!([]))
    );
    let page = hooks
        .world
        .get("/v1/callbacks?unmatched=true&limit=1")
        .await
        .json();
    assert_eq!(page["callbacks"], json!([kept[0]]));
    let rest = format!("/v1/callbacks?before={}", page["next_before"]);
    let rest = hooks.world.get(&rest).await.json();
    assert_eq!(rest, json!({"callbacks": [kept[1]], "next_before": null}));
}

// Law 9, B187
#[tokio::test]
async fn another_destinations_address_neither_believes_nor_matches() {
    let hooks = Hooks::start().await;
    let id = hooks.submit("basic", "k", "queue").await;
    let reference = hooks.ledger.reference(1).await;
    hooks.state(&id, "accepted").await;
    let body = json!({"id": "e-1", "type": "done", "ref": reference, "ticket": "T-1"}).to_string();
    let other = path_of(&hooks.world, "other").await;
    assert_ne!(other, hooks.path);
    let ours = signed("basic", &body, now());
    assert_eq!(hooks.send(&other, &ours, &body).await.status, 401);
    let theirs = [(
        "Authorization".to_owned(),
        format!("Basic {}", base64(b"another:one")),
    )];
    assert_eq!(hooks.send(&other, &theirs, &body).await.status, 200);
    assert_eq!(hooks.send(&hooks.path, &theirs, &body).await.status, 401);
    let unmatched = hooks.reports("?unmatched=true").await;
    assert_eq!(unmatched.len(), 1);
    assert_eq!(unmatched[0]["destination"], "other");
    assert_eq!(hooks.status(&id).await["state"], "accepted");
    assert_eq!(hooks.reported(&id).await, 0);
}

#[tokio::test]
async fn what_is_old_is_refused_and_an_unknown_address_says_nothing() {
    let hooks = Hooks::start().await;
    let body = json!({"id": "e-1", "type": "done", "ref": "r", "ticket": "T-1"}).to_string();
    for operation in ["stripe", "slack", "standard"] {
        for at in [now() - 600, now() + 600] {
            let headers = signed(operation, &body, at);
            let refused = hooks.send(&hooks.path, &headers, &body).await;
            assert_eq!(refused.status, 401, "{operation}");
        }
    }
    let headers = signed("mac", &body, now());
    let mut answers = BTreeMap::new();
    let almost = format!("{}0", &hooks.path[..hooks.path.len() - 1]);
    let almost = if almost == hooks.path {
        format!("{}1", &hooks.path[..hooks.path.len() - 1])
    } else {
        almost
    };
    for path in [almost.as_str(), "/v1/callbacks/hooks", "/v1/callbacks/x"] {
        let answer = hooks.send(path, &headers, &body).await;
        assert_eq!(answer.status, 404, "{path}");
        answers.insert(answer.text, path);
    }
    assert_eq!(answers.len(), 1, "they are answered alike");
    assert_eq!(hooks.reports("").await, Vec::<Value>::new());
    // Without a token nobody gets to see what came.
    let listed = exchange(
        hooks.world.address,
        &request("GET", "/v1/callbacks", &[], b""),
    )
    .await;
    assert_eq!(listed.status, 401);
}

#[tokio::test]
async fn without_a_secret_that_can_be_read_nothing_is_recorded() {
    let hooks = Hooks::start().await;
    let body = json!({"id": "e-1", "type": "done", "ref": "r", "ticket": "T-1"}).to_string();
    let headers = signed("mac", &body, now());
    let open = path_of(&hooks.world, "open").await;
    let refused = hooks.send(&open, &headers, &body).await;
    assert_eq!(
        (refused.status, refused.json()["code"].clone()),
        (503, json!("F1029"))
    );
    // The one that signed it cannot be read: it is not for us to say that it is forged.
    std::fs::remove_file(hooks.files.path().join("plain")).unwrap();
    let refused = hooks.send(&hooks.path, &headers, &body).await;
    assert_eq!(
        (refused.status, refused.json()["code"].clone()),
        (503, json!("F1029"))
    );
    assert_eq!(hooks.reports("").await, Vec::<Value>::new());
    let large = format!("{{\"x\":\"{}\"}}", "y".repeat(2_000_000));
    let refused = hooks
        .send(&hooks.path, &signed("mac", &large, now()), &large)
        .await;
    assert_eq!(refused.status, 413);
}
