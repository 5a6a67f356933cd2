//! What a person decides, asked through their host: approvals and verdicts.

use serde_json::{Value, json};

use super::follow::Messages;
use super::{Era, Host, outcome, text};
use crate::client::{exchange, request};
use crate::world::World;

/// Nothing listens there: what is approved stays under way, and is one action.
const APPROVED: &str = r#"
    [destinations.desk]
    provider = "testbed"
    base = "http://127.0.0.1:9"
    operations."key.sync".approval = { required = "always", self = true }
"#;

fn sync() -> Value {
    json!({"destination": "desk", "operation": "key.sync", "payload": {"business": "b"}, "request_key": "k", "wait_s": 0})
}

async fn approver(world: &World) -> Host<'_> {
    Host {
        token: world.token("default", "ana", &["submit", "approve"]).await,
        can: json!({"elicitation": {}}),
        ..Host::new(world, Era::Modern)
    }
}

/// The same call, with what a person said.
fn answered(arguments: &Value, asked: &Value, said: Value) -> Value {
    let answers = json!({"decision": said});
    json!({"name": "perform_action", "arguments": arguments, "inputResponses": answers, "requestState": asked["requestState"]})
}

async fn actions(world: &World) -> usize {
    world.get("/v1/actions").await.json()["actions"]
        .as_array()
        .unwrap()
        .len()
}

// 4.7, check 8; B121, B140, B142: the approval comes twice, and is for exactly what was shown.
#[tokio::test]
async fn an_approval_that_comes_twice_makes_one_action_with_what_was_shown() {
    let world = World::with(APPROVED, |limits| limits).await;
    let host = approver(&world).await;
    let asked = host.tool("perform_action", sync()).await;
    assert_eq!(asked["resultType"], "input_required");
    let form = &asked["inputRequests"]["decision"];
    assert_eq!(form["method"], "elicitation/create");
    assert!(
        form["params"]["message"]
            .as_str()
            .unwrap()
            .contains("\"business\":\"b\""),
        "{form}"
    );
    assert_eq!(actions(&world).await, 0);
    let said = || {
        answered(
            &sync(),
            &asked,
            json!({"action": "accept", "content": {"approve": true}}),
        )
    };
    let (one, two) = tokio::join!(
        host.ask("tools/call", said()),
        host.ask("tools/call", said())
    );
    assert_eq!((outcome(&one), outcome(&two)), ("pending", "pending"));
    assert_eq!(
        one["structuredContent"]["id"],
        two["structuredContent"]["id"]
    );
    let third = host.ask("tools/call", said()).await;
    assert_eq!(
        third["structuredContent"]["id"],
        one["structuredContent"]["id"]
    );
    assert_eq!(actions(&world).await, 1);
}

#[tokio::test]
async fn what_a_question_carries_counts_for_its_call_and_its_asker_alone() {
    let world = World::with(APPROVED, |limits| limits).await;
    let host = approver(&world).await;
    let asked = host.tool("perform_action", sync()).await;
    let yes = || json!({"action": "accept", "content": {"approve": true}});
    let mut other = sync();
    other["payload"]["business"] = "c".into();
    let mut forged = asked.clone();
    let state = asked["requestState"].as_str().unwrap();
    let (said, seal) = state.split_once('.').unwrap();
    forged["requestState"] = format!("{}.{seal}", said.replacen('e', "f", 1)).into();
    let somebody = Host {
        token: world.token("default", "ben", &["submit", "approve"]).await,
        can: json!({"elicitation": {}}),
        ..Host::new(&world, Era::Modern)
    };
    let refused = [
        host.post("tools/call", answered(&other, &asked, yes()))
            .await,
        host.post("tools/call", answered(&sync(), &forged, yes()))
            .await,
        somebody
            .post("tools/call", answered(&sync(), &asked, yes()))
            .await,
    ];
    for answer in refused {
        let error = answer.json()["error"].clone();
        assert_eq!(error["code"], -32_602, "{error}");
        assert!(
            error["message"]
                .as_str()
                .unwrap()
                .contains("does not count"),
            "{error}"
        );
    }
    assert_eq!(actions(&world).await, 0);
}

#[tokio::test]
async fn a_person_may_say_no_or_nothing() {
    let world = World::with(APPROVED, |limits| limits).await;
    let host = approver(&world).await;
    let asked = host.tool("perform_action", sync()).await;
    let closed = answered(&sync(), &asked, json!({"action": "cancel"}));
    let again = host.ask("tools/call", closed).await;
    assert_eq!(again["resultType"], "input_required", "it is asked again");
    let declined = host
        .ask(
            "tools/call",
            answered(&sync(), &again, json!({"action": "decline"})),
        )
        .await;
    assert_eq!(
        (outcome(&declined), &declined["isError"]),
        ("waits_for_approval", &json!(true))
    );
    assert!(text(&declined).contains("declined"), "{declined}");
    assert_eq!(actions(&world).await, 0);
}

#[tokio::test]
async fn where_nobody_can_be_asked_the_proposal_waits() {
    let world = World::with(APPROVED, |limits| limits).await;
    for era in super::ERAS {
        let host = Host::new(&world, era);
        let waits = host.tool("perform_action", sync()).await;
        assert_eq!(
            (outcome(&waits), &waits["isError"]),
            ("waits_for_approval", &json!(false))
        );
        assert!(
            text(&waits).contains("a person has to approve it first"),
            "{waits}"
        );
    }
    let waiting = world.get("/v1/proposals").await.json();
    assert_eq!(
        waiting["proposals"].as_array().unwrap().len(),
        1,
        "a repeat joins the proposal"
    );
    let people = Host {
        token: world.token("default", "ana", &["approve"]).await,
        ..Host::new(&world, Era::Legacy)
    };
    let proposal = &waiting["proposals"][0];
    let approved = people
        .tool(
            "approve_proposal",
            json!({"id": proposal["id"], "digest": proposal["digest"]}),
        )
        .await;
    assert_eq!(outcome(&approved), "pending");
    assert_eq!(actions(&world).await, 1);
}

#[tokio::test]
async fn a_verdict_is_the_persons_and_counts_once() {
    let world = World::start().await;
    let lost = Host::new(&world, Era::Modern)
        .perform("lost", "lose", json!({"request_key": "k"}))
        .await;
    let id = &lost["structuredContent"]["id"];
    let host = Host {
        token: world.token("default", "ana", &["review"]).await,
        can: json!({"elicitation": {}}),
        ..Host::new(&world, Era::Modern)
    };
    let listed = host.tool("list_review", json!({})).await;
    assert!(text(&listed).contains(id.as_str().unwrap()), "{listed}");
    // What the model thinks is not asked for.
    let arguments = json!({"id": id, "verdict": "send_again", "why": "I am sure"});
    let asked = host.tool("give_verdict", arguments.clone()).await;
    assert_eq!(asked["resultType"], "input_required");
    let found = json!({"action": "accept", "content": {"verdict": "happened", "why": "I saw it", "receipt": "T-7"}});
    let said = || {
        let mut call = answered(&arguments, &asked, found.clone());
        call["name"] = "give_verdict".into();
        call
    };
    let ruled = host.ask("tools/call", said()).await;
    assert_eq!(outcome(&ruled), "done");
    let again = host.ask("tools/call", said()).await;
    assert_eq!(outcome(&again), "done");
    let log = world
        .get(&format!("/v1/actions/{}/evidence", id.as_str().unwrap()))
        .await
        .json();
    let verdicts = log["evidence"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["fact"] == "verdict")
        .count();
    assert_eq!((verdicts, world.ledger.arrived_as("lost")), (1, 1));
}

/// A client of the older era that can ask a person, in the session that it was given.
struct Session<'a> {
    host: Host<'a>,
    name: String,
}

impl<'a> Session<'a> {
    async fn begun(host: Host<'a>, can: Value) -> Self {
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": can, "clientInfo": {"name": "test", "version": "1"}});
        let begun = host.post("initialize", hello).await;
        let name = begun
            .header("mcp-session-id")
            .unwrap_or_default()
            .to_owned();
        Self { host, name }
    }

    /// The bytes of a message in this session.
    fn bytes(&self, message: &Value) -> Vec<u8> {
        let (mut headers, _) = self.host.message("any", json!({}));
        headers.push(("Mcp-Session-Id".to_owned(), self.name.clone()));
        let headers: Vec<(&str, &str)> = headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        request("POST", "/mcp", &headers, message.to_string().as_bytes())
    }

    /// Calls a tool, answers the question that it asks, and gives the call's result.
    async fn call(&self, name: &str, arguments: &Value, said: &Value) -> Value {
        let (mut stream, asked) = self.asked(name, arguments).await;
        assert_eq!(asked["method"], "elicitation/create", "{asked}");
        self.reply(&asked["id"], said).await;
        stream.message().await["result"].take()
    }

    /// Calls a tool: the stream that answers, and the first message on it.
    async fn asked(&self, name: &str, arguments: &Value) -> (Messages, Value) {
        let call = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": name, "arguments": arguments}});
        let mut stream = Messages::open(self.host.world.address, &self.bytes(&call)).await;
        let asked = stream.message().await;
        (stream, asked)
    }

    async fn reply(&self, id: &Value, said: &Value) {
        let reply = json!({"jsonrpc": "2.0", "id": id, "result": said});
        let taken = exchange(self.host.world.address, &self.bytes(&reply)).await;
        assert_eq!(taken.status, 202);
    }
}

// 4.7, check 8, in the older era over HTTP; B121, B148.
#[tokio::test]
async fn a_client_of_the_older_era_is_asked_on_the_calls_own_stream() {
    let world = World::with(APPROVED, |limits| limits).await;
    let ana = world.token("default", "ana", &["submit", "approve"]).await;
    let host = || Host {
        token: ana.clone(),
        ..Host::new(&world, Era::Legacy)
    };
    let session = Session::begun(host(), json!({"elicitation": {}})).await;
    let (mut stream, asked) = session.asked("perform_action", &sync()).await;
    assert!(
        asked["params"]["message"]
            .as_str()
            .unwrap()
            .contains("\"business\":\"b\""),
        "{asked}"
    );
    assert!(
        asked["params"].get("mode").is_none(),
        "older clients know no modes"
    );
    // What somebody else says to it counts for nothing.
    let ben = Host {
        token: world.token("default", "ben", &["submit", "approve"]).await,
        ..Host::new(&world, Era::Legacy)
    };
    let yes = json!({"action": "accept", "content": {"approve": true}});
    let stranger = Session::begun(ben, json!({"elicitation": {}})).await;
    stranger.reply(&asked["id"], &yes).await;
    assert_eq!(actions(&world).await, 0);
    session.reply(&asked["id"], &yes).await;
    let first = stream.message().await["result"].take();
    // The answer comes again, and so does the call.
    session.reply(&asked["id"], &yes).await;
    assert_eq!(outcome(&first), "pending", "{first}");
    let again = session.host.tool("perform_action", sync()).await;
    assert_eq!(
        again["structuredContent"]["id"],
        first["structuredContent"]["id"]
    );
    assert_eq!(actions(&world).await, 1);
}

#[tokio::test]
async fn a_client_of_the_older_era_that_cannot_ask_or_has_anothers_session_is_told_who_decides() {
    let world = World::with(APPROVED, |limits| limits).await;
    let of = async |name: &str, can: Value| {
        let token = world.token("default", name, &["submit", "approve"]).await;
        let host = Host {
            token,
            ..Host::new(&world, Era::Legacy)
        };
        Session::begun(host, can).await
    };
    let mute = of("ana", json!({})).await;
    assert_eq!(mute.name, "", "what has no session cannot lose it");
    let by_url = of("ben", json!({"elicitation": {"url": {}}})).await;
    assert_eq!(by_url.name, "");
    let asking = of("cleo", json!({"elicitation": {"form": {}}})).await;
    let borrowed = Session {
        name: asking.name.clone(),
        ..of("dan", json!({})).await
    };
    for session in [mute, borrowed] {
        let call = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "perform_action", "arguments": sync()}});
        let told = exchange(world.address, &session.bytes(&call)).await.json();
        assert_eq!(outcome(&told["result"]), "waits_for_approval", "{told}");
    }
    let closed = asking
        .call("perform_action", &sync(), &json!({"action": "cancel"}))
        .await;
    assert_eq!(outcome(&closed), "waits_for_approval", "{closed}");
    assert_eq!(actions(&world).await, 0);
}

#[tokio::test]
async fn a_verdict_of_the_older_era_is_the_persons_too() {
    let world = World::start().await;
    let lost = Host::new(&world, Era::Legacy)
        .perform("lost", "lose", json!({"request_key": "k"}))
        .await;
    let id = &lost["structuredContent"]["id"];
    let host = Host {
        token: world.token("default", "ana", &["review"]).await,
        ..Host::new(&world, Era::Legacy)
    };
    let session = Session::begun(host, json!({"elicitation": {}})).await;
    let arguments = json!({"id": id, "verdict": "send_again", "why": "I am sure"});
    let nothing = session
        .call("give_verdict", &arguments, &json!({"action": "decline"}))
        .await;
    assert!(text(&nothing).contains("gave no verdict"), "{nothing}");
    let found = json!({"action": "accept", "content": {"verdict": "happened", "why": "I saw it", "receipt": "T-7"}});
    let ruled = session.call("give_verdict", &arguments, &found).await;
    assert_eq!(outcome(&ruled), "done", "{ruled}");
    assert_eq!(world.ledger.arrived_as("lost"), 1);
}
