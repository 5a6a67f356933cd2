//! What each era wants of a server, and what is refused before anything is recorded.

use serde_json::{Value, json};

use super::{ERAS, Era, Host, MODERN, outcome, wish};
use crate::client::{exchange, request};
use crate::world::{TOKEN, World};

#[tokio::test]
async fn a_client_of_the_older_era_begins_with_initialize() {
    let world = World::start().await;
    let host = Host::new(&world, Era::Legacy);
    for (asked, spoken) in [("2025-03-26", "2025-03-26"), ("1999-01-01", "2025-11-25")] {
        let begun = host.ask("initialize", json!({"protocolVersion": asked, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})).await;
        assert_eq!(
            (&begun["protocolVersion"], &begun["serverInfo"]["name"]),
            (&json!(spoken), &json!("factum"))
        );
        assert!(
            begun["instructions"]
                .as_str()
                .unwrap()
                .contains("request_key")
        );
    }
    assert_eq!(host.ask("ping", json!({})).await, json!({}));
    assert_eq!(
        host.post("resources/subscribe", json!({"uri": "x"}))
            .await
            .json()["error"]["code"],
        -32_601
    );
    let (headers, _) = host.message("x", json!({}));
    let headers: Vec<(&str, &str)> = headers
        .iter()
        .map(|(n, v)| (n.as_str(), v.as_str()))
        .collect();
    let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
    let noted = exchange(
        world.address,
        &request("POST", "/mcp", &headers, note.as_bytes()),
    )
    .await;
    assert_eq!((noted.status, noted.text.as_str()), (202, ""));
    let opened = exchange(world.address, &request("GET", "/mcp", &headers, b"")).await;
    assert_eq!((opened.status, opened.header("Allow")), (405, Some("POST")));
}

#[tokio::test]
async fn a_client_of_the_newer_era_needs_no_beginning() {
    let world = World::start().await;
    let host = Host::new(&world, Era::Modern);
    let found = host.ask("server/discover", json!({})).await;
    assert_eq!(
        (&found["supportedVersions"][0], &found["resultType"]),
        (&json!(MODERN), &json!("complete"))
    );
    assert_eq!(
        found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"],
        "factum"
    );
    assert!(
        found["ttlMs"].is_u64() && found["cacheScope"] == "private",
        "{found}"
    );
    for method in ["initialize", "ping", "logging/setLevel"] {
        let refused = host.post(method, json!({})).await;
        assert_eq!(
            (refused.status, &refused.json()["error"]["code"]),
            (404, &json!(-32_601)),
            "{method}"
        );
    }
    let unsaid = host
        .post(
            "tools/call",
            json!({"name": "no_such_tool", "arguments": {}}),
        )
        .await;
    assert_eq!(unsaid.json()["error"]["code"], -32_602);
}

// Facts 1.1: a client repeats a call that was refused for its headers, so nothing may have come of it.
#[tokio::test]
async fn headers_are_compared_before_anything_is_recorded() {
    let world = World::start().await;
    let host = Host::new(&world, Era::Modern);
    let call = json!({"name": "perform_action", "arguments": wish("x", "done", json!({"request_key": "k"}))});
    let (right, message) = host.message("tools/call", call);
    let wrong = [
        ("MCP-Protocol-Version", Some("2025-11-25")),
        ("MCP-Protocol-Version", None),
        ("Mcp-Method", Some("tools/list")),
        ("Mcp-Method", None),
        ("Mcp-Name", Some("get_action")),
        ("Mcp-Name", None),
        ("Mcp-Name", Some("=?base64?!?=")),
    ];
    for (name, value) in wrong {
        let mut headers: Vec<(&str, &str)> = right
            .iter()
            .map(|(n, v)| (n.as_str(), v.as_str()))
            .collect();
        headers.retain(|(known, _)| *known != name);
        headers.extend(value.map(|value| (name, value)));
        let refused = exchange(
            world.address,
            &request("POST", "/mcp", &headers, message.to_string().as_bytes()),
        )
        .await;
        assert_eq!(
            (refused.status, &refused.json()["error"]["code"]),
            (400, &json!(-32_020)),
            "{name} {value:?}"
        );
    }
    world.is_untouched().await;
    // A name that no header could carry comes in Base64, and is the same name.
    let mut headers: Vec<(&str, &str)> = right
        .iter()
        .map(|(n, v)| (n.as_str(), v.as_str()))
        .collect();
    headers.retain(|(known, _)| *known != "Mcp-Name");
    headers.push(("Mcp-Name", "=?base64?cGVyZm9ybV9hY3Rpb24=?="));
    let done = exchange(
        world.address,
        &request("POST", "/mcp", &headers, message.to_string().as_bytes()),
    )
    .await;
    assert_eq!(outcome(&done.json()["result"]), "done");
}

#[tokio::test]
async fn what_is_no_message_and_who_is_nobody_is_refused() {
    let world = World::start().await;
    let host = Host::new(&world, Era::Modern);
    let (right, mut message) = host.message("tools/list", json!({}));
    let headers: Vec<(&str, &str)> = right
        .iter()
        .map(|(n, v)| (n.as_str(), v.as_str()))
        .collect();
    let sent = |headers: Vec<(&'static str, String)>, body: String| async move {
        let headers: Vec<(&str, &str)> = headers.iter().map(|(n, v)| (*n, v.as_str())).collect();
        exchange(
            world.address,
            &request("POST", "/mcp", &headers, body.as_bytes()),
        )
        .await
    };
    for (body, code) in [
        ("{", -32_700),
        ("[]", -32_600),
        (r#"{"id":1,"method":"ping"}"#, -32_600),
    ] {
        let refused = exchange(
            world.address,
            &request("POST", "/mcp", &headers, body.as_bytes()),
        )
        .await;
        assert_eq!(
            (refused.status, &refused.json()["error"]["code"]),
            (400, &json!(code)),
            "{body}"
        );
    }
    message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = "1900-01-01".into();
    let refused = exchange(
        world.address,
        &request("POST", "/mcp", &headers, message.to_string().as_bytes()),
    )
    .await;
    let error = &refused.json()["error"];
    assert_eq!(
        (
            refused.status,
            &error["code"],
            &error["data"]["supported"][0]
        ),
        (400, &json!(-32_022), &json!(MODERN))
    );
    let nobody = sent(
        vec![("Authorization", "Bearer wrong".to_owned())],
        "{}".to_owned(),
    )
    .await;
    assert_eq!(nobody.status, 401);
}

// Facts 1.1: a page in a browser that was led here by a name of its own.
#[tokio::test]
async fn pages_of_other_sites_are_not_answered() {
    let world = World::start().await;
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    let rows = [
        ("https://evil.example", 403),
        ("http://127.0.0.1.evil.example", 403),
        ("null", 403),
        ("http://127.0.0.1:8080", 200),
        ("http://localhost", 200),
    ];
    for (origin, status) in rows {
        let authorization = format!("Bearer {TOKEN}");
        let headers = [
            ("Authorization", authorization.as_str()),
            ("Origin", origin),
        ];
        let answer = exchange(
            world.address,
            &request("POST", "/mcp", &headers, ping.as_bytes()),
        )
        .await;
        assert_eq!(answer.status, status, "{origin}");
    }
}

#[tokio::test]
async fn every_tool_has_a_schema_and_people_have_their_own() {
    let world = World::start().await;
    for era in ERAS {
        let mut host = Host::new(&world, era);
        let names = |listed: &Value| -> Vec<String> {
            let tools = listed["tools"].as_array().unwrap().iter();
            tools
                .map(|tool| tool["name"].as_str().unwrap().to_owned())
                .collect()
        };
        let all = host.ask("tools/list", json!({})).await;
        assert_eq!(
            names(&all),
            [
                "perform_action",
                "get_action",
                "list_recent_actions",
                "explain_outcome",
                "list_operations",
                "cancel_action"
            ],
            "the token that may do everything was made for no person's decision"
        );
        for tool in all["tools"].as_array().unwrap() {
            assert_eq!(
                (
                    &tool["inputSchema"]["type"],
                    tool["annotations"]["readOnlyHint"].is_boolean()
                ),
                (&json!("object"), true)
            );
        }
        host.token = world
            .token("default", &format!("rev-{era:?}"), &["review"])
            .await;
        let theirs = names(&host.ask("tools/list", json!({})).await);
        assert!(
            theirs.contains(&"give_verdict".to_owned())
                && !theirs.contains(&"perform_action".to_owned()),
            "{theirs:?}"
        );
        let refused = host
            .post(
                "tools/call",
                json!({"name": "perform_action", "arguments": {}}),
            )
            .await;
        assert_eq!(refused.json()["error"]["code"], -32_602);
    }
}

#[tokio::test]
async fn operations_are_tools_of_their_own_where_that_is_turned_on() {
    let config = r#"
        mcp.typed_tools = true
        [destinations.desk]
        provider = "testbed"
        base = "http://127.0.0.1:9"
        operations."key.sync" = { key_template = "sync/{args.business}" }
    "#;
    let world = World::with(config, |limits| limits).await;
    for era in ERAS {
        let host = Host::new(&world, era);
        let listed = host.ask("tools/list", json!({})).await;
        let tool = listed["tools"]
            .as_array()
            .unwrap()
            .iter()
            .find(|tool| tool["name"] == "desk__key_sync")
            .unwrap();
        let takes = &tool["inputSchema"]["properties"];
        assert!(
            takes["payload"].is_object() && takes["request_key"].is_null(),
            "the key is made from the arguments: {takes}"
        );
        assert_eq!(tool["annotations"]["idempotentHint"], true);
        let done = host
            .tool(
                "desk__key_sync",
                json!({"payload": {"business": "b"}, "wait_s": 0}),
            )
            .await;
        assert_eq!(
            (outcome(&done), &done["structuredContent"]["request_key"]),
            ("pending", &json!("sync/b"))
        );
    }
    let listed = world.get("/v1/actions").await.json();
    assert_eq!(
        listed["actions"].as_array().unwrap().len(),
        1,
        "the second era joined the first"
    );
}
