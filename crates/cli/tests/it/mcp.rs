//! MCP over a pipe, as a host starts it: the checks that every adapter has to pass, in both eras, with the testbed's ledger as judge.

pub(crate) mod host;

use serde_json::{Value, json};

use crate::support::{Bed, Folder, PATIENCE, business};
use host::{ERAS, Era, Host, outcome, text};

/// An answer that comes long after a caller has lost its patience, and well before the engine does.
const SLOW: &str = "late_answer=2000,class=effect,n=1";

fn sync(name: &str, more: Value) -> Value {
    let mut wish =
        json!({"destination": "bed", "operation": "key.sync", "payload": business(name)});
    for (member, value) in more.as_object().unwrap() {
        wish[member] = value.clone();
    }
    wish
}

// 4.7, check 1; B112, B113.
#[test]
fn a_slow_effect_is_answered_early_and_joined_by_a_repeat_from_another_host() {
    for era in ERAS {
        let bed = Bed::with(&["--faults", SLOW]);
        let folder = Folder::with(&bed);
        let mut first = Host::start(&folder, era);
        // The second host finds the first one's server: a store is served once.
        let mut second = Host::start(&folder, era);
        let pending = first.tool(
            "perform_action",
            sync("slow", json!({"request_key": "k", "wait_s": 0})),
        );
        assert_eq!(
            (outcome(&pending), &pending["isError"]),
            ("pending", &json!(false))
        );
        let again = second.tool(
            "perform_action",
            sync("slow", json!({"request_key": "k", "wait_s": 20})),
        );
        assert_eq!(outcome(&again), "already_done", "{again}");
        assert_eq!(
            again["structuredContent"]["id"],
            pending["structuredContent"]["id"]
        );
        // Whoever held the store goes; the other one carries on.
        first.close();
        let looked = second.tool("get_action", json!({"request_key": "k"}));
        assert_eq!(outcome(&looked), "done");
        assert_eq!(bed.effects("slow"), 1, "{era:?}");
        second.close();
    }
}

#[test]
fn a_server_that_is_told_to_end_does_so_although_its_input_stays_open() {
    let folder = Folder::new();
    let mut host = Host::start(&folder, ERAS[0]);
    let listed = host.tool("list_recent_actions", json!({}));
    assert_eq!(listed["isError"], json!(false), "{listed}");
    host.terminate();
}

// 4.7, check 2.
#[test]
fn the_same_without_a_key_is_sent_once() {
    for era in ERAS {
        let bed = Bed::start();
        let folder = Folder::with(&bed);
        let server = folder.serve();
        let mut host = Host::start(&folder, era);
        assert_eq!(
            outcome(&host.tool("perform_action", sync("t", json!({})))),
            "done"
        );
        assert_eq!(
            outcome(&host.tool("perform_action", sync("t", json!({})))),
            "possible_duplicate"
        );
        assert_eq!(bed.effects("t"), 1);
        assert_eq!(
            outcome(&host.tool("perform_action", sync("t", json!({"another": true})))),
            "done"
        );
        assert_eq!(bed.effects("t"), 2, "{era:?}");
        host.close();
        server.stop();
    }
}

// 4.7, checks 3 and 7: a framework that cancels and calls again, and again.
#[test]
fn calls_that_are_cancelled_and_made_again_make_one_effect() {
    for era in ERAS {
        let bed = Bed::with(&["--faults", SLOW]);
        let folder = Folder::with(&bed);
        let mut host = Host::start(&folder, era);
        for _ in 0..4 {
            let id = host.send("tools/call", json!({"name": "perform_action", "arguments": sync("c", json!({"request_key": "k", "wait_s": 20}))}));
            host.until_recorded();
            host.notify(
                "notifications/cancelled",
                &json!({"requestId": id, "reason": "took too long"}),
            );
        }
        let settled = host.tool(
            "perform_action",
            sync("c", json!({"request_key": "k", "wait_s": 20})),
        );
        assert_eq!(outcome(&settled), "already_done");
        assert_eq!(bed.effects("c"), 1, "{era:?}");
        host.close();
    }
}

// 4.7, checks 4 and 5: the host's process and ours die between the effect and its answer, and the durable workflow plays it again.
#[test]
fn after_a_kill_a_replay_joins() {
    for era in ERAS {
        let bed = Bed::with(&["--faults", SLOW]);
        let folder = Folder::with(&bed);
        let mut host = Host::start(&folder, era);
        host.send("tools/call", json!({"name": "perform_action", "arguments": sync("killed", json!({"request_key": "k", "wait_s": 20}))}));
        let deadline = std::time::Instant::now() + PATIENCE;
        while bed.deliveries() == 0 {
            assert!(std::time::Instant::now() < deadline, "nothing arrived");
        }
        host.kill();
        let mut host = Host::start(&folder, era);
        let replayed = host.tool(
            "perform_action",
            sync("killed", json!({"request_key": "k", "wait_s": 20})),
        );
        assert!(
            matches!(outcome(&replayed), "already_done" | "unknown"),
            "{replayed}"
        );
        let id = replayed["structuredContent"]["id"].clone();
        let mut looked = replayed;
        while !matches!(outcome(&looked), "done" | "already_done") {
            assert!(
                std::time::Instant::now() < deadline,
                "it is never found out: {looked}"
            );
            looked = host.tool("get_action", json!({"id": id, "wait_s": 20}));
        }
        assert_eq!(bed.effects("killed"), 1, "{era:?}");
        host.close();
    }
}

// 4.7, check 6.
#[test]
fn an_unknown_outcome_is_an_ordinary_result() {
    for era in ERAS {
        let bed = Bed::with(&["--faults", "close_fin,class=effect"]);
        let folder = Folder::with(&bed);
        let mut host = Host::start(&folder, era);
        let wish = json!({"destination": "bed", "operation": "neither.sync", "payload": business("u"), "request_key": "k", "wait_s": 20});
        let lost = host.tool("perform_action", wish.clone());
        assert_eq!(
            (outcome(&lost), &lost["isError"]),
            ("needs_person", &json!(false))
        );
        assert!(
            text(&lost).contains("Do not call this tool again"),
            "{lost}"
        );
        assert_eq!(outcome(&host.tool("perform_action", wish)), "needs_person");
        assert_eq!(bed.effects("u"), 1, "{era:?}");
        host.close();
    }
}

// 4.7, check 8.
#[test]
fn an_approval_that_is_delivered_twice_makes_one_effect() {
    let bed = Bed::start();
    let folder = Folder::with(&bed);
    let toml = folder.read("factum.toml");
    folder.write(
        "factum.toml",
        &format!(
            "{toml}operations.\"key.sync\".approval = {{ required = \"always\", self = true }}\n"
        ),
    );
    let server = folder.serve();
    folder.json(&["principal", "add", "ana"]);
    let token = folder.json(&[
        "token", "add", "ana", "--scope", "submit", "--scope", "approve",
    ]);
    let token = token["token"].as_str().unwrap();
    let mut host = Host::named(
        &folder,
        Era::Modern,
        &[("FACTUM_URL", &server.address), ("FACTUM_TOKEN", token)],
    );
    host.can = json!({"elicitation": {}});
    let wish = sync("approved", json!({"request_key": "k"}));
    let asked = host.tool("perform_action", wish.clone());
    assert_eq!(
        (&asked["resultType"], bed.deliveries()),
        (&json!("input_required"), 0)
    );
    let call = json!({
        "name": "perform_action", "arguments": wish, "requestState": asked["requestState"],
        "inputResponses": {"decision": {"action": "accept", "content": {"approve": true}}},
    });
    let (one, two) = (
        host.send("tools/call", call.clone()),
        host.send("tools/call", call),
    );
    for id in [one, two] {
        assert!(matches!(outcome(&host.result(id)), "done" | "already_done"));
    }
    assert_eq!(bed.effects("approved"), 1);
    host.close();
    server.stop();
}

#[test]
fn a_host_hears_of_changes_over_the_pipe() {
    let bed = Bed::with(&["--faults", SLOW]);
    let folder = Folder::with(&bed);
    let mut host = Host::start(&folder, Era::Modern);
    let pending = host.tool("perform_action", sync("heard", json!({"wait_s": 0})));
    let uri = format!(
        "factum://actions/{}",
        pending["structuredContent"]["id"].as_str().unwrap()
    );
    let id = host.send(
        "subscriptions/listen",
        json!({"notifications": {"resourceSubscriptions": [uri]}}),
    );
    assert_eq!(
        host.note()["method"],
        "notifications/subscriptions/acknowledged"
    );
    let updated = host.note();
    assert_eq!(
        (&updated["method"], &updated["params"]["uri"]),
        (&json!("notifications/resources/updated"), &json!(uri))
    );
    host.notify("notifications/cancelled", &json!({"requestId": id}));
    assert_eq!(
        outcome(&host.tool(
            "get_action",
            json!({"id": pending["structuredContent"]["id"], "wait_s": 20})
        )),
        "done"
    );
    host.close();
}

#[test]
fn what_is_no_message_is_answered_as_that() {
    let folder = Folder::new();
    let mut host = Host::start(&folder, Era::Modern);
    host.raw("{");
    assert_eq!(host.line()["error"]["code"], -32_700);
    let wrong = host.send("no/such/method", json!({}));
    assert_eq!(host.answer(wrong)["error"]["code"], -32_601);
    host.close();
}
