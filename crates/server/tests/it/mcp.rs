//! The MCP endpoint, in both eras: the checks that every adapter has to pass, counted in the carrier's ledger.

mod decisions;
mod eras;
mod follow;

use serde_json::{Value, json};

use crate::client::{Answer, exchange, request};
use crate::world::{TOKEN, World};

/// Which rules a request follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    Legacy,
    Modern,
}

pub(crate) const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];
pub(crate) const MODERN: &str = "2026-07-28";

/// A client of one era, with a token and what it declares.
pub(crate) struct Host<'a> {
    pub(crate) world: &'a World,
    pub(crate) era: Era,
    pub(crate) token: String,
    pub(crate) can: Value,
}

impl<'a> Host<'a> {
    pub(crate) fn new(world: &'a World, era: Era) -> Self {
        Self {
            world,
            era,
            token: TOKEN.to_owned(),
            can: json!({}),
        }
    }

    /// A message as this client writes it, with the headers that go with it.
    pub(crate) fn message(
        &self,
        method: &str,
        mut params: Value,
    ) -> (Vec<(String, String)>, Value) {
        let mut headers = vec![
            ("Authorization".to_owned(), format!("Bearer {}", self.token)),
            ("Content-Type".to_owned(), "application/json".to_owned()),
            (
                "Accept".to_owned(),
                "application/json, text/event-stream".to_owned(),
            ),
        ];
        if self.era == Era::Modern {
            let mut meta = params["_meta"].take();
            if meta.is_null() {
                meta = json!({});
            }
            meta["io.modelcontextprotocol/protocolVersion"] = MODERN.into();
            meta["io.modelcontextprotocol/clientCapabilities"] = self.can.clone();
            params["_meta"] = meta;
            headers.push(("MCP-Protocol-Version".to_owned(), MODERN.to_owned()));
            headers.push(("Mcp-Method".to_owned(), method.to_owned()));
            let named = params
                .get("name")
                .or(params.get("uri"))
                .and_then(Value::as_str);
            headers.extend(named.map(|name| ("Mcp-Name".to_owned(), name.to_owned())));
        } else {
            headers.push(("MCP-Protocol-Version".to_owned(), "2025-11-25".to_owned()));
        }
        (
            headers,
            json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}),
        )
    }

    /// The bytes of such a request.
    pub(crate) fn bytes(&self, method: &str, params: Value) -> Vec<u8> {
        let (headers, message) = self.message(method, params);
        let headers: Vec<(&str, &str)> = headers
            .iter()
            .map(|(n, v)| (n.as_str(), v.as_str()))
            .collect();
        request("POST", "/mcp", &headers, message.to_string().as_bytes())
    }

    pub(crate) async fn post(&self, method: &str, params: Value) -> Answer {
        exchange(self.world.address, &self.bytes(method, params)).await
    }

    /// The result of a method.
    pub(crate) async fn ask(&self, method: &str, params: Value) -> Value {
        let answer = self.post(method, params).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        let mut json = answer.json();
        assert!(json["error"].is_null(), "{json}");
        json["result"].take()
    }

    /// The result of a tool.
    pub(crate) async fn tool(&self, name: &str, arguments: Value) -> Value {
        let result = self
            .ask("tools/call", json!({"name": name, "arguments": arguments}))
            .await;
        assert_eq!(
            result.get("resultType").is_some(),
            self.era == Era::Modern,
            "{result}"
        );
        if let Some(structured) = result.get("structuredContent") {
            assert!(structured.is_object(), "both eras take an object: {result}");
        }
        result
    }

    /// `perform_action` at the carrier.
    pub(crate) async fn perform(&self, name: &str, behave: &str, more: Value) -> Value {
        self.tool("perform_action", wish(name, behave, more)).await
    }
}

/// The arguments of `perform_action` at the carrier, which behaves so.
pub(crate) fn wish(name: &str, behave: &str, more: Value) -> Value {
    let mut wish = json!({"destination": "crm", "operation": "contact.add", "payload": {"n": name, "behave": behave}});
    for (member, value) in more.as_object().unwrap() {
        wish[member] = value.clone();
    }
    wish
}

pub(crate) fn text(result: &Value) -> &str {
    result["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("no text: {result}"))
}

pub(crate) fn outcome(result: &Value) -> &str {
    result["structuredContent"]["outcome"]
        .as_str()
        .unwrap_or_else(|| panic!("no outcome: {result}"))
}

// 4.7, check 1; B112, B113, B115, B116: an answer with the id comes before every client's time-out, and the repeat joins.
#[tokio::test]
async fn a_slow_effect_is_answered_early_and_a_repeat_with_the_same_key_joins() {
    for era in ERAS {
        let world = World::start().await;
        let host = Host::new(&world, era);
        let first = host
            .perform("slow", "hang", json!({"request_key": "k1", "wait_s": 0}))
            .await;
        assert_eq!(
            (outcome(&first), &first["isError"]),
            ("pending", &json!(false))
        );
        let id = first["structuredContent"]["id"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(
            text(&first).contains(&id) && text(&first).contains("Do not call this tool again"),
            "{first}"
        );
        assert_eq!(
            first["structuredContent"]["next_call"]["tool"],
            "get_action"
        );
        world.ledger.until(1).await;
        world.ledger.open();
        let again = host
            .perform("slow", "hang", json!({"request_key": "k1"}))
            .await;
        assert_eq!(outcome(&again), "already_done");
        assert!(text(&again).contains("nothing was sent again"), "{again}");
        assert_eq!(again["structuredContent"]["id"], *id);
        let looked = host.tool("get_action", json!({"request_key": "k1"})).await;
        assert_eq!(outcome(&looked), "done");
        assert_eq!(world.ledger.arrived_as("slow"), 1, "{era:?}");
    }
}

// 4.7, check 2; B65: a model that makes a new key, or none, with every try.
#[tokio::test]
async fn the_same_without_a_key_is_not_sent_again_unless_another_is_meant() {
    for era in ERAS {
        let world = World::start().await;
        let host = Host::new(&world, era);
        let first = host.perform("t", "done", json!({})).await;
        assert_eq!(outcome(&first), "done");
        let second = host.perform("t", "done", json!({})).await;
        assert_eq!(
            (outcome(&second), &second["isError"]),
            ("possible_duplicate", &json!(false))
        );
        assert!(text(&second).contains("another=true"), "{second}");
        let earlier = &second["structuredContent"]["earlier"];
        assert_eq!(
            (&earlier["id"], &earlier["happened"]),
            (&first["structuredContent"]["id"], &json!("yes"))
        );
        let keyed = host
            .perform("t", "done", json!({"request_key": "made anew"}))
            .await;
        assert_eq!(outcome(&keyed), "possible_duplicate");
        assert_eq!(world.ledger.arrived_as("t"), 1);
        let meant = host.perform("t", "done", json!({"another": true})).await;
        assert_eq!(outcome(&meant), "done");
        assert_eq!(world.ledger.arrived_as("t"), 2, "{era:?}");
    }
}

// 4.7, checks 3 and 4: however often a framework repeats, at once or one after the other.
#[tokio::test]
async fn a_framework_that_repeats_everything_makes_one_effect() {
    for era in ERAS {
        let world = World::start().await;
        let host = Host::new(&world, era);
        let wanted = || host.perform("storm", "done", json!({"request_key": "one"}));
        let (a, b, c, d) = tokio::join!(wanted(), wanted(), wanted(), wanted());
        let ids: Vec<&Value> = [&a, &b, &c, &d]
            .map(|result| &result["structuredContent"]["id"])
            .into();
        assert!(
            ids.iter().all(|id| *id == ids[0] && id.is_string()),
            "{ids:?}"
        );
        for result in [&a, &b, &c, &d] {
            assert!(
                matches!(outcome(result), "done" | "already_done"),
                "{result}"
            );
        }
        assert_eq!(world.ledger.arrived_as("storm"), 1, "{era:?}");
    }
}

// 4.7, check 6; B128: unknown is an ordinary result that carries its instruction.
#[tokio::test]
async fn an_unknown_outcome_is_no_error_and_says_not_to_repeat_it() {
    for era in ERAS {
        let world = World::start().await;
        let host = Host::new(&world, era);
        let lost = host
            .perform("lost", "lose", json!({"request_key": "k"}))
            .await;
        assert_eq!(
            (outcome(&lost), &lost["isError"]),
            ("needs_person", &json!(false))
        );
        let id = lost["structuredContent"]["id"].as_str().unwrap();
        assert!(
            text(&lost).contains(id) && text(&lost).contains("Do not call this tool again"),
            "{lost}"
        );
        assert_eq!(lost["structuredContent"]["safe_to_call_again"], false);
        let listed = host.tool("list_recent_actions", json!({})).await;
        assert!(text(&listed).contains(id), "found without the id: {listed}");
        let told = host.tool("explain_outcome", json!({"id": id})).await;
        assert!(
            text(&told).contains("may now write") && text(&told).contains("next: review"),
            "{told}"
        );
        assert_eq!(world.ledger.arrived_as("lost"), 1, "{era:?}");
    }
}

#[tokio::test]
async fn certainly_not_done_is_an_error_and_the_only_one() {
    for era in ERAS {
        let world = World::start().await;
        let host = Host::new(&world, era);
        let declined = host
            .perform("no", "reject", json!({"request_key": "k"}))
            .await;
        assert_eq!(
            (outcome(&declined), &declined["isError"]),
            ("not_done", &json!(true))
        );
        assert!(text(&declined).contains("no such customer"), "{declined}");
        let looked = host.tool("get_action", json!({"request_key": "k"})).await;
        assert_eq!(looked["isError"], false, "the question was answered");
        let elsewhere = host
            .tool(
                "perform_action",
                json!({"destination": "nowhere", "operation": "x"}),
            )
            .await;
        assert_eq!(
            (outcome(&elsewhere), &elsewhere["isError"]),
            ("refused", &json!(true))
        );
        host.perform("a", "done", json!({"request_key": "same"}))
            .await;
        let other = host
            .perform("b", "done", json!({"request_key": "same"}))
            .await;
        assert_eq!(other["isError"], true);
        assert!(
            text(&other).contains("/payload/n")
                && text(&other).contains("request_key was used before"),
            "{other}"
        );
        assert_eq!(world.ledger.arrived_as("b"), 0, "{era:?}");
    }
}

// B118: the host's own id tells a repeat on the way; with other arguments it is no repeat.
#[tokio::test]
async fn the_hosts_call_id_joins_a_repeat_and_refuses_other_arguments() {
    for era in ERAS {
        let world = World::start().await;
        let host = Host::new(&world, era);
        let called = |name: &str| {
            let meta = json!({"claudecode/toolUseId": "toolu_1"});
            host.ask("tools/call", json!({"name": "perform_action", "arguments": wish(name, "done", json!({})), "_meta": meta}))
        };
        assert_eq!(outcome(&called("x").await), "done");
        assert_eq!(outcome(&called("x").await), "already_done");
        assert_eq!(outcome(&called("y").await), "refused");
        assert_eq!(
            (world.ledger.arrived_as("x"), world.ledger.arrived_as("y")),
            (1, 0),
            "{era:?}"
        );
        let hidden = |name: &str| {
            let meta = json!({"dev.factum/requestKey": "hidden"});
            host.ask("tools/call", json!({"name": "perform_action", "arguments": wish(name, "done", json!({})), "_meta": meta}))
        };
        assert_eq!(
            hidden("z").await["structuredContent"]["request_key"],
            "hidden"
        );
    }
}

// 4.7, check 7; hazard R1: a client that goes away has stopped listening, and nothing else.
#[tokio::test]
async fn a_client_that_goes_away_cancels_nothing_and_its_repeat_joins() {
    use tokio::io::AsyncWriteExt;
    for era in ERAS {
        let world = World::start().await;
        let host = Host::new(&world, era);
        let arguments = wish("gone", "hang", json!({"request_key": "k", "wait_s": 20}));
        let bytes = host.bytes(
            "tools/call",
            json!({"name": "perform_action", "arguments": arguments}),
        );
        let mut stream = tokio::net::TcpStream::connect(world.address).await.unwrap();
        stream.write_all(&bytes).await.unwrap();
        world.ledger.until(1).await;
        drop(stream);
        world.ledger.open();
        let again = host
            .perform("gone", "hang", json!({"request_key": "k"}))
            .await;
        assert_eq!(outcome(&again), "already_done");
        assert_eq!(world.ledger.arrived_as("gone"), 1, "{era:?}");
    }
}

#[tokio::test]
async fn an_action_that_was_not_sent_can_be_stopped() {
    let world = World::start().await;
    let host = Host::new(&world, Era::Modern);
    world.post("/v1/admin/pause", &json!({"by": "ana"})).await;
    let held = host
        .perform("held", "done", json!({"request_key": "k", "wait_s": 0}))
        .await;
    assert_eq!(outcome(&held), "pending");
    let id = &held["structuredContent"]["id"];
    let stopped = host
        .tool("cancel_action", json!({"id": id, "why": "changed my mind"}))
        .await;
    assert_eq!(
        (&stopped["structuredContent"]["cancel"], &stopped["isError"]),
        (&json!("stopped"), &json!(false))
    );
    world.post("/v1/admin/resume", &json!({"by": "ana"})).await;
    let settled = host
        .tool("get_action", json!({"id": id, "wait_s": 5}))
        .await;
    assert_eq!(settled["structuredContent"]["action"]["state"], "cancelled");
    assert_eq!(world.ledger.arrived(), 0);
}
