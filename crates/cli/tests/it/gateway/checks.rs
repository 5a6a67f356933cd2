//! The checks of an adapter that are about more than one call, through the gateway and in both eras: repeats without end, replays, kills,
//! unknown outcomes, approvals. And what a server gets of the gateway's own, and how long its results may be.

use serde_json::{Value, json};

use super::{configuration, make, settled, wrapped};
use crate::mcp::host::{ERAS, Era, Host, outcome, text};
use crate::support::{Bed, Folder, PATIENCE};

/// Every call of the tool is approved by a person.
const APPROVED: &str = "approve = [\"ma*\"]";

fn about(result: &Value) -> &Value {
    &result["_meta"]["dev.factum/action"]
}

// 4.7, checks 3 and 4, and B146: a wrapper that calls again whatever it gets, and a node that is run anew from its top.
#[test]
fn calls_that_are_made_again_and_again_are_one() {
    for era in ERAS {
        let bed = Bed::start();
        let folder = Folder::new();
        let mut host = wrapped(&folder, &bed, era, "");
        let calls: Vec<u64> = (0..6)
            .map(|_| {
                host.send(
                    "tools/call",
                    json!({"name": "make", "arguments": make("again", "slow", "k")}),
                )
            })
            .collect();
        let results: Vec<Value> = calls.into_iter().map(|id| host.result(id)).collect();
        let resumed = host.tool("make", make("again", "slow", "k"));
        for result in results.iter().chain([&resumed]) {
            assert_eq!(about(result)["id"], about(&resumed)["id"], "{result}");
            assert_eq!(result["content"], resumed["content"]);
        }
        assert_eq!(bed.effects("again"), 1, "{era:?}");
        host.close();
    }
}

// 4.7, checks 5 and 6: the gateway dies between the call and its answer; a durable workflow plays the call again.
#[test]
fn after_a_kill_a_replay_is_told_that_it_is_unknown() {
    for era in ERAS {
        let bed = Bed::start();
        let folder = Folder::new();
        let mut host = wrapped(&folder, &bed, era, "");
        host.send(
            "tools/call",
            json!({"name": "make", "arguments": make("killed", "slow", "k")}),
        );
        let deadline = std::time::Instant::now() + PATIENCE;
        while bed.deliveries() == 0 {
            assert!(std::time::Instant::now() < deadline, "nothing arrived");
        }
        host.kill();
        let mut host = wrapped(&folder, &bed, era, "");
        let replayed = host.tool("make", make("killed", "slow", "k"));
        let id = replayed["structuredContent"]["id"].clone();
        let rested = settled(&mut host, &id);
        for result in [&replayed, &rested] {
            assert_ne!(result["isError"], true, "{result}");
            assert!(
                text(result).contains(id.as_str().unwrap()) && text(result).contains("Do not"),
                "{result}"
            );
        }
        assert_eq!(bed.effects("killed"), 1, "{era:?}");
        host.close();
    }
}

// 4.7, check 8, and B148: the approval comes twice; what is called is what was shown, and nothing before that.
#[test]
fn an_approval_that_comes_twice_makes_one_call() {
    let bed = Bed::start();
    let folder = Folder::new();
    let mut host = wrapped(&folder, &bed, Era::Modern, APPROVED);
    host.can = json!({"elicitation": {}});
    let arguments = make("approved", "done", "k");
    let asked = host.tool("make", arguments.clone());
    assert_eq!(
        (&asked["resultType"], bed.deliveries()),
        (&json!("input_required"), 0)
    );
    let shown = asked["inputRequests"]["decision"]["params"]["message"].to_string();
    assert!(shown.contains("approved"), "{shown}");
    let said = |arguments: &Value| {
        json!({
            "name": "make", "arguments": arguments, "requestState": asked["requestState"],
            "inputResponses": {"decision": {"action": "accept", "content": {"approve": true}}},
        })
    };
    // The answer belongs to what was shown.
    let other = host.send("tools/call", said(&make("other", "done", "k")));
    assert_eq!(host.answer(other)["error"]["code"], -32_602);
    let calls = [said(&arguments), said(&arguments)].map(|call| host.send("tools/call", call));
    let results = calls.map(|id| host.result(id));
    let again = host.tool("make", arguments);
    for result in &results {
        assert_eq!(about(result)["id"], about(&again)["id"], "{result}");
    }
    assert_eq!((bed.effects("approved"), bed.effects("other")), (1, 0));
    host.close();
}

// 4.7, check 8, in the older era: the host is asked on the pipe while the call waits, and calls again meanwhile.
#[test]
fn a_host_of_the_older_era_asks_its_person_and_what_was_shown_is_called() {
    let bed = Bed::start();
    let folder = Folder::new();
    folder.write("gateway.toml", &configuration(&bed, APPROVED));
    let command = folder.command(&["mcp", "wrap", "--file", "gateway.toml", "--data", "data"]);
    let mut host = Host::that_can(command, Era::Legacy, json!({"elicitation": {}}));
    let call = json!({"name": "make", "arguments": make("approved", "done", "k")});
    let calls = [call.clone(), call].map(|call| host.send("tools/call", call));
    let asked = [host.note(), host.note()];
    for one in &asked {
        assert_eq!(one["method"], "elicitation/create", "{one}");
        assert!(
            one["params"]["message"].to_string().contains("approved"),
            "{one}"
        );
    }
    assert_eq!(bed.deliveries(), 0);
    for one in &asked {
        host.reply(
            one,
            &json!({"action": "accept", "content": {"approve": true}}),
        );
    }
    let results = calls.map(|id| host.result(id));
    let again = host.tool("make", make("approved", "done", "k"));
    for result in &results {
        assert_eq!(about(result)["id"], about(&again)["id"], "{result}");
    }
    // One that is closed, or refused, is not asked again, and nothing is sent.
    for answer in [json!({"action": "cancel"}), json!({"action": "decline"})] {
        let call = json!({"name": "make", "arguments": make("unwanted", "done", "l")});
        let id = host.send("tools/call", call);
        let asked = host.note();
        host.reply(&asked, &answer);
        assert_eq!(outcome(&host.result(id)), "waits_for_approval", "{answer}");
    }
    assert_eq!((bed.effects("approved"), bed.effects("unwanted")), (1, 0));
    host.close();
}

#[test]
fn where_the_host_cannot_ask_an_approval_is_given_elsewhere() {
    for era in ERAS {
        let bed = Bed::start();
        let folder = Folder::new();
        let mut host = wrapped(&folder, &bed, era, APPROVED);
        let waits = host.tool("make", make("waits", "done", "k"));
        assert_eq!(
            (outcome(&waits), &waits["isError"]),
            ("waits_for_approval", &json!(false))
        );
        let listed = host.ask("tools/list", json!({}));
        let tools = listed["tools"].as_array().unwrap();
        assert!(
            tools.iter().all(|tool| tool["name"] != "approve_proposal"),
            "a model approves nothing: {listed}"
        );
        let store = ("FACTUM_STORE__URL", "sqlite:data/factum.db");
        let proposal = &waits["structuredContent"]["proposal"];
        let (id, digest) = (
            proposal["id"].as_str().unwrap(),
            proposal["digest"].as_str().unwrap(),
        );
        let mut command = folder.command(&["approve", id, "--digest", digest, "--json"]);
        assert!(
            command
                .env(store.0, store.1)
                .output()
                .unwrap()
                .status
                .success()
        );
        let done = host.tool("make", make("waits", "done", "k"));
        let id = match about(&done) {
            Value::Null => &done["structuredContent"]["id"],
            about => &about["id"],
        };
        let rested = settled(&mut host, id);
        assert_eq!(about(&rested)["happened"], "yes", "{rested}");
        assert_eq!(bed.effects("waits"), 1, "{era:?}");
        host.close();
    }
}

// What Factum is told by variables is none of a server's business: tokens, most of all.
#[test]
fn a_server_gets_no_variable_of_factums() {
    let bed = Bed::start();
    let folder = Folder::new();
    let far = "[servers.far]\nurl = \"http://127.0.0.1:9/mcp\"\nbearer = \"env:FAR_TOKEN\"\n";
    let own = configuration(&bed, "env = { ITS_OWN = \"x\", FACTUM_MEANT = \"x\" }");
    folder.write("gateway.toml", &format!("{far}{own}"));
    let mut command = folder.command(&["mcp", "wrap", "--file", "gateway.toml", "--data", "data"]);
    command
        .env("FACTUM_TOKEN", "fct_secret")
        .env("FAR_TOKEN", "secret")
        .env("ANY_OTHER", "x");
    let mut host = Host::of(command, Era::Modern);
    let told = host.tool("bed__variables", json!({}));
    let names: Vec<&str> = text(&told).lines().collect();
    assert!(
        ["ITS_OWN", "FACTUM_MEANT", "ANY_OTHER"]
            .iter()
            .all(|name| names.contains(name)),
        "{names:?}"
    );
    assert!(
        !names.contains(&"FACTUM_TOKEN") && !names.contains(&"FAR_TOKEN"),
        "{names:?}"
    );
    host.close();
}

// A result that is too long to keep is no reason to call again.
#[test]
fn a_result_that_is_too_long_is_done_and_not_shown() {
    for era in ERAS {
        let bed = Bed::start();
        let folder = Folder::new();
        let mut host = wrapped(&folder, &bed, era, "");
        for already in [false, true] {
            let done = host.tool("make", make("long", "long", "k"));
            assert!(text(&done).contains("result_max_bytes"), "{done}");
            assert_eq!(
                (&about(&done)["happened"], &about(&done)["already_done"]),
                (&json!("yes"), &json!(already))
            );
        }
        assert_eq!(bed.effects("long"), 1, "{era:?}");
        host.close();
    }
}
