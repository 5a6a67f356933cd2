//! The gateway, before a server that acts at the testbed and misbehaves: what really happened is read from the testbed's ledger.

mod checks;

use serde_json::{Value, json};

use crate::mcp::host::{ERAS, Era, Host, outcome, text};
use crate::support::{Bed, Folder, PATIENCE};

/// A gateway in this folder, before the testbed's server, with what is said of its tools.
fn wrapped(folder: &Folder, bed: &Bed, era: Era, tools: &str) -> Host {
    folder.write("gateway.toml", &configuration(bed, tools));
    Host::of(
        folder.command(&["mcp", "wrap", "--file", "gateway.toml", "--data", "data"]),
        era,
    )
}

fn configuration(bed: &Bed, tools: &str) -> String {
    let own = env!("CARGO_BIN_EXE_factum");
    format!(
        "[servers.bed]\ncommand = [{own:?}, \"testbed\", \"mcp\", {:?}]\nread = [\"find\", \"variables\"]\n{tools}\n",
        bed.base
    )
}

/// The tool's effect is found by its mark.
const FOUND: &str = r#"
    [servers.bed.tools.make]
    marker = { argument = "note", style = "line" }
    lookup = { tool = "find", arguments = { reference = "{marker}" }, items = "/items", receipt = "/id", complete = true }
    receipt = "/id"
    processing_max = "1 s"
    by = "the testbed's own code"
    reason = "it acts at once and forgets nothing"
"#;

fn make(name: &str, behave: &str, key: &str) -> Value {
    json!({"business": name, "behave": behave, "request_key": key, "note": "from a test"})
}

/// The answer once it is settled or a person is needed.
fn settled(host: &mut Host, id: &Value) -> Value {
    let deadline = std::time::Instant::now() + PATIENCE;
    loop {
        let looked = host.tool("get_action", json!({"id": id, "wait_s": 20}));
        let resting = !looked["_meta"]["dev.factum/action"].is_null()
            || !matches!(outcome(&looked), "pending" | "unknown");
        if resting {
            return looked;
        }
        assert!(
            std::time::Instant::now() < deadline,
            "it never rests: {looked}"
        );
    }
}

#[test]
fn a_tool_takes_a_key_a_read_is_as_it_was_and_a_result_is_the_tools_own() {
    for era in ERAS {
        let bed = Bed::start();
        let folder = Folder::new();
        let mut host = wrapped(&folder, &bed, era, "");
        let listed = host.ask("tools/list", json!({}));
        let tool = |name: &str| {
            listed["tools"]
                .as_array()
                .unwrap()
                .iter()
                .find(|tool| tool["name"] == *name)
                .cloned()
        };
        let shown = tool("make").unwrap();
        assert!(
            shown["inputSchema"]["properties"]["request_key"].is_object()
                && shown.get("outputSchema").is_none(),
            "{shown}"
        );
        assert!(
            tool("find").unwrap()["inputSchema"]["properties"]
                .get("request_key")
                .is_none()
        );
        assert!(tool("perform_action").is_none() && tool("get_action").is_some());
        // B125: a repeat gets what the first one got.
        let first = host.tool("make", make("a", "done", "k"));
        let again = host.tool("make", make("a", "done", "k"));
        for result in [&first, &again] {
            assert!(result["structuredContent"]["id"].is_string(), "{result}");
            assert_eq!(result["content"], first["content"]);
            assert_ne!(result["isError"], true);
        }
        let about = |result: &Value| result["_meta"]["dev.factum/action"]["already_done"].clone();
        assert_eq!((about(&first), about(&again)), (json!(false), json!(true)));
        assert_eq!(bed.effects("a"), 1, "{era:?}");
        let found = host.tool("find", json!({"reference": "none"}));
        assert!(text(&found).contains("\"reference\":\"none\""), "{found}");
        assert!(
            found["_meta"]["dev.factum/action"].is_null(),
            "a read is no action"
        );
        host.close();
    }
}

// 4.7, checks 1, 2 and 7, through the gateway; B118.
#[test]
fn a_slow_tool_is_answered_early_and_is_called_once() {
    for era in ERAS {
        let bed = Bed::start();
        let folder = Folder::new();
        let mut host = wrapped(&folder, &bed, era, "timeout = \"20 s\"");
        let call = json!({"name": "make", "arguments": make("slow", "slow", "k")});
        let id = host.send("tools/call", call);
        host.until_recorded();
        host.notify(
            "notifications/cancelled",
            &json!({"requestId": id, "reason": "took too long"}),
        );
        let again = host.tool("make", make("slow", "slow", "k"));
        assert_eq!(
            again["_meta"]["dev.factum/action"]["outcome"], "already_done",
            "{again}"
        );
        let unkeyed = json!({"business": "slow", "behave": "slow", "note": "from a test"});
        let twin = host.tool("make", unkeyed.clone());
        assert_eq!(
            (outcome(&twin), &twin["isError"]),
            ("possible_duplicate", &json!(false))
        );
        assert_eq!(bed.effects("slow"), 1, "{era:?}");
        let mut meant = unkeyed;
        meant["another"] = true.into();
        host.tool("make", meant);
        assert_eq!(bed.effects("slow"), 2);
        host.close();
    }
}

// A server that dies, errs, asks or answers nonsense after it has acted: nothing is said that is not so, and nothing is done twice.
#[test]
fn a_server_that_misbehaves_after_acting_leaves_it_unknown() {
    let behaviours = [
        "die_after",
        "error_after",
        "ask",
        "garbage",
        "both",
        "silent",
        "endless",
    ];
    for (at, behave) in behaviours.into_iter().enumerate() {
        let bed = Bed::start();
        let folder = Folder::new();
        let mut host = wrapped(&folder, &bed, ERAS[at % 2], "timeout = \"10 s\"");
        let result = host.tool("make", make("x", behave, "k"));
        assert_ne!(result["isError"], true, "{behave}: {result}");
        let rested = settled(&mut host, &result["structuredContent"]["id"]);
        assert_eq!(outcome(&rested), "needs_person", "{behave}");
        if behave == "error_after" {
            assert!(
                result.to_string().contains("something broke"),
                "what the tool said is passed on: {result}"
            );
        }
        if behave == "endless" {
            let told = host.tool(
                "explain_outcome",
                json!({"id": result["structuredContent"]["id"]}),
            );
            assert!(text(&told).contains("more than 16777216 bytes"), "{told}");
        }
        let again = host.tool("make", make("x", behave, "k"));
        assert_eq!(outcome(&again), "needs_person", "{behave}");
        assert_eq!(bed.effects("x"), 1, "{behave}");
        // The server was started again, for whoever comes next.
        assert!(
            host.tool("make", make("y", "done", "k2"))["structuredContent"]["id"].is_string(),
            "{behave}"
        );
        host.close();
    }
}

// B130: the gateway looks by itself.
#[test]
fn a_lookup_settles_what_was_lost() {
    for behave in ["die_after", "error_after", "garbage"] {
        let bed = Bed::start();
        let folder = Folder::new();
        let mut host = wrapped(&folder, &bed, Era::Modern, FOUND);
        let result = host.tool("make", make("x", behave, "k"));
        let id = result["structuredContent"]["id"].clone();
        let rested = settled(&mut host, &id);
        assert_eq!(outcome(&rested), "done", "{behave}: {rested}");
        assert_eq!(bed.effects("x"), 1, "{behave}");
        host.close();
    }
}

// B119: a server that doubles every call cannot be held; it is seen where a lookup is asked.
#[test]
fn a_server_that_acts_twice_is_seen_by_a_lookup() {
    let bed = Bed::start();
    let folder = Folder::new();
    let mut host = wrapped(&folder, &bed, Era::Legacy, FOUND);
    let done = host.tool("make", make("x", "twice", "k"));
    assert!(done["structuredContent"]["id"].is_string(), "{done}");
    assert_eq!(
        bed.effects("x"),
        2,
        "one call, and what the server made of it"
    );
    host.close();
}

// B169, R29: the gateway is killed while a call is under way; nothing that it has started outlives it, and nothing is done again.
#[test]
fn a_server_dies_with_its_gateway_and_what_was_under_way_is_unknown() {
    let bed = Bed::start();
    let folder = Folder::new();
    let mut host = wrapped(&folder, &bed, Era::Legacy, "");
    host.send(
        "tools/call",
        json!({"name": "make", "arguments": make("x", "slow", "k")}),
    );
    let deadline = std::time::Instant::now() + PATIENCE;
    while bed.deliveries() == 0 {
        assert!(std::time::Instant::now() < deadline, "nothing arrived");
    }
    let servers = running(&bed);
    assert!(!servers.is_empty(), "the server runs");
    host.kill();
    while !running(&bed).is_empty() {
        assert!(
            std::time::Instant::now() < deadline,
            "it outlives its gateway: {:?}",
            running(&bed)
        );
    }
    let mut host = wrapped(&folder, &bed, Era::Legacy, "");
    let again = host.tool("make", make("x", "slow", "k"));
    let rested = settled(&mut host, &again["structuredContent"]["id"]);
    assert_eq!(outcome(&rested), "needs_person");
    assert_eq!(bed.effects("x"), 1);
    host.close();
}

/// Processes that serve tools of this testbed, by what the system knows of them.
fn running(bed: &Bed) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let commands = processes.filter_map(|process| {
        let words = std::fs::read(process.path().join("cmdline")).ok()?;
        let line = String::from_utf8_lossy(&words).replace('\0', " ");
        (line.contains("testbed mcp") && line.contains(&bed.base) && !line.contains("mcp hold"))
            .then_some(line)
    });
    commands.collect()
}

// B122, B124: a server over HTTP. Here it is one of our own, so that what it does is known.
#[test]
fn a_server_over_http_is_called_once_too() {
    for era in ERAS {
        let bed = Bed::with(&["--faults", "late_answer=1500,class=effect,n=1"]);
        let folder = Folder::with(&bed);
        let server = folder.serve();
        let tools = "[servers.far.tools.perform_action]\nmode = \"action\"\n[servers.far.tools.cancel_action]\nmode = \"block\"";
        let far = format!(
            "[servers.far]\nurl = \"{}/mcp\"\nbearer = \"file:factum-data/admin.token\"\nread = [\"get_*\", \"list_*\"]\n{tools}\n",
            server.address
        );
        folder.write("gateway.toml", &format!("{far}{}", configuration(&bed, "")));
        let mut host = Host::of(
            folder.command(&["mcp", "wrap", "--file", "gateway.toml", "--data", "data"]),
            era,
        );
        let listed = host.ask("tools/list", json!({}));
        let names: Vec<&str> = listed["tools"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|tool| tool["name"].as_str())
            .collect();
        assert!(
            names.contains(&"far__perform_action") && names.contains(&"bed__make"),
            "{names:?}"
        );
        assert!(
            !names.contains(&"far__cancel_action"),
            "it is blocked: {names:?}"
        );
        let wish = json!({"destination": "bed", "operation": "key.sync", "payload": {"business": "far"}, "factum_request_key": "k", "wait_s": 20});
        let first = host.tool("far__perform_action", wish.clone());
        let again = host.tool("far__perform_action", wish);
        assert_eq!(
            again["_meta"]["dev.factum/action"]["outcome"], "already_done",
            "{again}"
        );
        assert_eq!(
            again["structuredContent"]["outcome"], "done",
            "the tool's own result, as it was: {first}"
        );
        assert_eq!(bed.effects("far"), 1, "{era:?}");
        let looked = host.tool("far__list_operations", json!({}));
        assert!(
            text(&looked).contains("key.sync"),
            "a read is passed on: {looked}"
        );
        let blocked = host.send(
            "tools/call",
            json!({"name": "far__cancel_action", "arguments": {"id": "x"}}),
        );
        assert_eq!(host.answer(blocked)["error"]["code"], -32_602);
        host.close();
        server.stop();
    }
}

#[test]
fn where_the_operator_wants_a_key_a_call_without_one_is_refused() {
    let bed = Bed::start();
    let folder = Folder::new();
    let mut host = wrapped(
        &folder,
        &bed,
        Era::Modern,
        "[servers.bed.tools.make]\nrequire_key = true",
    );
    let refused = host.tool("make", json!({"business": "n"}));
    assert_eq!(
        (outcome(&refused), &refused["isError"]),
        ("refused", &json!(true))
    );
    assert_eq!(bed.effects("n"), 0);
    host.close();
    let mut host = wrapped(
        &folder,
        &bed,
        Era::Modern,
        "[servers.bed.tools.make]\nkey = \"thing/{args.business}\"",
    );
    host.tool("make", json!({"business": "n"}));
    let again = host.tool("make", json!({"business": "n"}));
    assert_eq!(
        again["_meta"]["dev.factum/action"]["request_key"], "thing/n",
        "{again}"
    );
    assert_eq!(bed.effects("n"), 1);
    host.close();
}

#[test]
fn a_call_that_never_left_is_no_call() {
    let bed = Bed::start();
    let folder = Folder::new();
    let mut host = wrapped(&folder, &bed, Era::Legacy, FOUND);
    let wrong = host.tool(
        "make",
        json!({"business": "n", "note": 7, "request_key": "k"}),
    );
    assert_ne!(wrong["isError"], true, "it is tried again: {wrong}");
    assert_eq!(bed.effects("n"), 0);
    host.close();
}

#[test]
fn a_file_that_promises_without_an_author_is_refused() {
    let bed = Bed::start();
    let folder = Folder::new();
    folder.write(
        "gateway.toml",
        &configuration(
            &bed,
            "[servers.bed.tools.make]\nerrors_prove_nothing_happened = true",
        ),
    );
    let (code, problem) =
        folder.refused(&["mcp", "wrap", "--file", "gateway.toml", "--data", "data"]);
    assert_eq!((code, problem["code"].as_str()), (2, Some("F1040")));
    assert!(
        problem["member"]
            .as_str()
            .unwrap()
            .contains("errors_prove_nothing_happened"),
        "{problem}"
    );
}
