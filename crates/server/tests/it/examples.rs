//! The document's examples, sent to a running server in an order in which each makes sense: every one is answered with success, as is
//! described. A call without an example fails here.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::world::{World, submission};

/// Operations in the order of their execution.
const STORY: &[&str] = &[
    "healthz",
    "readyz",
    "document",
    "list_destinations",
    "destination",
    "submit",
    "status",
    "evidence",
    "receipt",
    "keys",
    "list_actions",
    "propose",
    "list_proposals",
    "proposal",
    "supersede",
    "approve",
    "conversation",
    "told",
    "corrections",
    "acknowledge",
    "cancel",
    "review",
    "check_again",
    "check_many_again",
    "take_review_item",
    "note_review_item",
    "release_review_item",
    "match_export",
    "rule_incident",
    "verdict",
    "verdicts",
    "decline",
    "claim_work",
    "begin_work",
    "heartbeat_work",
    "report_work",
    "return_work",
    "list_callbacks",
    "events",
    "add_webhook",
    "webhook",
    "list_webhooks",
    "rotate_webhook",
    "replay_webhook",
    "set_webhook_state",
    "add_tenant",
    "tenant",
    "list_tenants",
    "set_tenant_state",
    "add_principal",
    "principal",
    "list_principals",
    "add_grant",
    "grant",
    "list_grants",
    "add_token",
    "token",
    "list_tokens",
    "rotate_token",
    "set_token_state",
    "set_grant_state",
    "set_principal_state",
    "pause",
    "admin_state",
    "would_send",
    "resume",
    "hold",
    "holds",
    "erase",
    "purge",
    "after_restore",
    "release",
    "set_destination_state",
];

/// Operations without an example, and why.
const WITHOUT: &[(&str, &str)] = &[
    (
        "deliver_callback",
        "its address is a destination's secret, and its body the destination's own",
    ),
    (
        "test_webhook",
        "it would post to the outside; the tests of webhooks have a receiver of their own",
    ),
];

/// Operations whose example is refused in this world, and why.
const REFUSED: &[(&str, u16, &str)] = &[
    (
        "check_again",
        409,
        "an application's own code offers no lookup",
    ),
    (
        "decline",
        409,
        "the story has approved it before: what is approved is declined no more",
    ),
    ("begin_work", 404, "no worker was handed anything"),
    ("heartbeat_work", 404, "no worker was handed anything"),
    ("report_work", 404, "no worker was handed anything"),
    ("return_work", 404, "no worker was handed anything"),
];

/// Method and path of each operation.
fn operations(document: &Value) -> BTreeMap<String, (String, String, Value)> {
    let paths = document["paths"].as_object().unwrap().iter();
    let calls = paths.flat_map(|(path, methods)| {
        let methods = methods.as_object().unwrap().iter();
        methods.map(move |(method, call)| {
            let name = call["operationId"].as_str().unwrap().to_owned();
            (name, (method.to_uppercase(), path.clone(), call.clone()))
        })
    });
    calls.collect()
}

/// What examples show, and what it is in this world.
type Known = BTreeMap<String, String>;

fn with_known(text: &str, known: &Known) -> String {
    known.iter().fold(text.to_owned(), |text, (shown, real)| {
        text.replace(shown, real)
    })
}

/// Path and body of an operation's example.
fn request(path: &str, call: &Value, known: &Known) -> (String, String) {
    let mut target = path.to_owned();
    for parameter in call["parameters"].as_array().unwrap() {
        if parameter["in"] == "path" {
            let name = parameter["name"].as_str().unwrap();
            let example = parameter["example"].as_str();
            let example = example.unwrap_or_else(|| panic!("{path}: no example of {name}"));
            target = target.replace(&format!("{{{name}}}"), example);
        }
    }
    let example = &call["requestBody"]["content"]["application/json"]["example"];
    assert!(
        call.get("requestBody").is_none() || example.is_object(),
        "{path}: no example of a body"
    );
    let body = if example.is_object() {
        example.to_string()
    } else {
        String::new()
    };
    (with_known(&target, known), with_known(&body, known))
}

#[tokio::test]
async fn every_example_is_answered_as_described() {
    let world = World::start().await;
    let document = factum_server::openapi::document();
    let operations = operations(&document);
    let left_out: Vec<&String> = operations
        .keys()
        .filter(|name| !STORY.contains(&name.as_str()))
        .filter(|name| WITHOUT.iter().all(|(other, _)| other != name))
        .collect();
    assert!(
        left_out.is_empty(),
        "give these an example and a place in the story: {left_out:?}"
    );
    // One that waits for a person, beside the examples.
    let lost = world.settled(&submission("lost", "lose")).await;
    let mut known = Known::new();
    for name in STORY {
        let (method, path, call) = &operations[*name];
        let shown = call["parameters"][0]["example"]
            .as_str()
            .unwrap_or_default();
        let shown = (shown.starts_with("act_")).then(|| shown.to_owned());
        if let Some(shown) = shown.filter(|_| path.starts_with("/v1/review")) {
            known.insert(shown, lost["id"].as_str().unwrap().to_owned());
        }
        let (target, mut body) = request(path, call, &known);
        if *name == "acknowledge" {
            // Which version is due is what the list of corrections said.
            let mut asked: Value = serde_json::from_str(&body).unwrap();
            asked["version"] = json!(known["due"].parse::<u64>().unwrap());
            body = asked.to_string();
        }
        let headers = [("Prefer", "wait=30")];
        let answer = world.call(method, &target, &headers, &body).await;
        let refused = REFUSED.iter().find(|(other, _, _)| other == name);
        let right = match refused {
            Some((_, status, _)) => answer.status == *status,
            None => matches!(answer.status, 200 | 201),
        };
        assert!(right, "{name} {target} {body}: {}", answer.text);
        learn(name, &operations, &answer.json(), &mut known);
    }
    assert_eq!(world.ledger.arrived_as("Ana"), 1);
}

/// What the following examples stand for.
fn learn(
    name: &str,
    operations: &BTreeMap<String, (String, String, Value)>,
    answer: &Value,
    known: &mut Known,
) {
    let shown = |operation: &str| {
        operations[operation].2["parameters"][0]["example"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    match name {
        "submit" => {
            known.insert(shown("status"), answer["id"].as_str().unwrap().to_owned());
        }
        "propose" | "supersede" => {
            let made = &answer["proposal"];
            let real = |member: &str| made[member].as_str().unwrap().to_owned();
            let digest = operations["approve"].2["requestBody"]["content"]["application/json"]
                ["example"]["digest"]
                .as_str()
                .unwrap();
            known.insert(shown("proposal"), real("id"));
            known.insert(digest.to_owned(), real("digest"));
        }
        "add_token" => {
            known.insert(shown("token"), answer["name"].as_str().unwrap().to_owned());
        }
        "corrections" => {
            known.insert(
                "due".to_owned(),
                answer["corrections"][0]["version"].to_string(),
            );
        }
        _ => {}
    }
}
