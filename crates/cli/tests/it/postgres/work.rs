//! Remote work over several servers of one store: a claim is good on each of them, and outlives the one that gave it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::database::Database;
use super::workers::Workers;
use crate::support::Bed;

const CRM: &str =
    "[destinations.crm]\nprovider = \"work\"\n[destinations.crm.work.\"contact.create\"]\n";

fn submit(workers: &Workers, no: usize, key: &str) -> String {
    let body =
        json!({"destination": "crm", "operation": "contact.create", "key": key, "payload": {}});
    let made = workers.ask(no, "POST", "/v1/actions", &body).unwrap();
    assert_eq!(made.status, 201, "{made:?}");
    made.body["id"].as_str().unwrap().to_owned()
}

/// What waits, as one server hands it out.
fn claim(workers: &Workers, no: usize) -> Value {
    let claimed = workers.until(no, "POST", "/v1/work/claim?wait=5", |answer| {
        answer.body["items"]
            .as_array()
            .is_some_and(|items| !items.is_empty())
    });
    claimed.body["items"][0].clone()
}

fn step(workers: &Workers, no: usize, item: &Value, step: &str, body: &Value) -> (u16, Value) {
    let path = format!("/v1/work/{}/{step}", item["claim"].as_str().unwrap());
    let answer = workers.ask(no, "POST", &path, body).unwrap();
    (answer.status, answer.body)
}

#[test]
#[ignore = "needs PostgreSQL; ./test starts one"]
fn claims_and_reports_go_through_any_server_and_no_begin_is_handed_out_twice() {
    let (database, bed) = (Database::make(), Bed::start());
    let store = format!("url = \"{}\"\n{CRM}", database.url);
    let mut workers = Workers::with(&store, &bed, 2);
    let done = json!({"outcome": "done", "receipt": "C-1"});

    let ids: BTreeSet<String> = (0..8)
        .map(|n| submit(&workers, n % 2, &format!("a{n}")))
        .collect();
    let mut seen = BTreeSet::new();
    for n in 0..ids.len() {
        let item = claim(&workers, n % 2);
        assert!(
            seen.insert(item["action"].as_str().unwrap().to_owned()),
            "handed out twice"
        );
        let begun = step(&workers, (n + 1) % 2, &item, "begin", &json!({}));
        assert_eq!(begun.0, 200, "{begun:?}");
        for no in 0..2 {
            let (status, problem) = step(&workers, no, &item, "begin", &json!({}));
            assert_eq!((status, &problem["code"]), (409, &json!("F1102")));
        }
        let said = step(&workers, n % 2, &item, "report", &done);
        assert_eq!(
            (said.0, &said.1["repeated"]),
            (200, &json!(false)),
            "{said:?}"
        );
        let said = step(&workers, (n + 1) % 2, &item, "report", &done);
        assert_eq!(said.1["repeated"], true);
    }
    assert_eq!(seen, ids);
    for id in &ids {
        assert_eq!(workers.at_rest(0, id)["state"], "succeeded");
    }

    // The server that gave the claim dies; the claim lives, and so does what was begun under it.
    let id = submit(&workers, 0, "b");
    let item = claim(&workers, 1);
    workers.kill(1);
    assert_eq!(step(&workers, 0, &item, "begin", &json!({})).0, 200);
    workers.kill_and_start(0);
    let (status, problem) = step(&workers, 0, &item, "begin", &json!({}));
    assert_eq!((status, &problem["code"]), (409, &json!("F1102")));
    assert_eq!(step(&workers, 0, &item, "report", &done).0, 200);
    assert_eq!(workers.at_rest(0, &id)["state"], "succeeded");
}
