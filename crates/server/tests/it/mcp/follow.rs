//! Tasks, resources and subscriptions: an action that goes on after its call was answered.

use std::net::SocketAddr;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{ERAS, Era, Host, outcome, wish};
use crate::world::World;

fn tasking(world: &World) -> Host<'_> {
    Host {
        can: json!({"extensions": {"io.modelcontextprotocol/tasks": {}}}),
        ..Host::new(world, Era::Modern)
    }
}

#[tokio::test]
async fn a_task_is_an_action_and_unknown_is_never_failed() {
    let world = World::start().await;
    let host = tasking(&world);
    let arguments = wish("slow", "hang", json!({"request_key": "k", "wait_s": 0}));
    let call = json!({"name": "perform_action", "arguments": arguments});
    let task = host.ask("tools/call", call).await;
    assert_eq!(
        (&task["resultType"], &task["status"]),
        (&json!("task"), &json!("working"))
    );
    let id = &task["taskId"];
    world.ledger.until(1).await;
    assert_eq!(
        host.ask("tasks/cancel", json!({"taskId": id})).await["resultType"],
        "complete"
    );
    let working = host.ask("tasks/get", json!({"taskId": id})).await;
    assert_eq!(
        working["status"], "working",
        "what is on its way is not undone by a cancel"
    );
    world.ledger.open();
    host.tool("get_action", json!({"id": id, "wait_s": 20}))
        .await;
    let done = host.ask("tasks/get", json!({"taskId": id})).await;
    assert_eq!(
        (&done["status"], outcome(&done["result"])),
        (&json!("completed"), "done")
    );
    assert_eq!(world.ledger.arrived_as("slow"), 1);

    let lost = host
        .perform("lost", "lose", json!({"request_key": "l"}))
        .await;
    let lost = json!({"taskId": lost["structuredContent"]["id"]});
    let unknown = host.ask("tasks/get", lost.clone()).await;
    assert_eq!(
        (&unknown["status"], &unknown["result"]["isError"]),
        (&json!("completed"), &json!(false))
    );
    let reviewer = Host {
        token: world.token("default", "ana", &["review", "read"]).await,
        can: json!({"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}}),
        ..Host::new(&world, Era::Modern)
    };
    let asks = reviewer.ask("tasks/get", lost.clone()).await;
    assert_eq!(asks["status"], "input_required");
    let (name, _) = asks["inputRequests"]
        .as_object()
        .unwrap()
        .iter()
        .next()
        .unwrap();
    let said = json!({"action": "accept", "content": {"verdict": "happened", "why": "seen"}});
    let mut update = lost.clone();
    update["inputResponses"] = json!({name: said});
    reviewer.ask("tasks/update", update).await;
    assert_eq!(
        outcome(&reviewer.ask("tasks/get", lost).await["result"]),
        "done"
    );
}

#[tokio::test]
async fn tasks_are_for_who_declares_them() {
    let world = World::start().await;
    let host = Host::new(&world, Era::Modern);
    let refused = host.post("tasks/get", json!({"taskId": "act_x"})).await;
    assert_eq!(
        (refused.status, &refused.json()["error"]["code"]),
        (400, &json!(-32_021))
    );
    let unknown = tasking(&world)
        .post("tasks/get", json!({"taskId": "act_x"}))
        .await;
    assert_eq!(unknown.json()["error"]["code"], -32_602);
}

#[tokio::test]
async fn an_action_is_a_resource() {
    let world = World::start().await;
    for era in ERAS {
        let host = Host::new(&world, era);
        let name = format!("r-{era:?}");
        let done = host.perform(&name, "done", json!({})).await;
        let uri = format!(
            "factum://actions/{}",
            done["structuredContent"]["id"].as_str().unwrap()
        );
        let listed = host.ask("resources/list", json!({})).await;
        assert!(
            listed["resources"]
                .as_array()
                .unwrap()
                .iter()
                .any(|one| one["uri"] == *uri),
            "{listed}"
        );
        let read = host.ask("resources/read", json!({"uri": uri})).await;
        let text = read["contents"][0]["text"].as_str().unwrap();
        let status: Value = serde_json::from_str(text).unwrap();
        assert_eq!(status["state"], "succeeded");
        assert_eq!(read.get("ttlMs").is_some(), era == Era::Modern);
        let none = host
            .post("resources/read", json!({"uri": "file:///etc/passwd"}))
            .await;
        assert_eq!(none.json()["error"]["code"], -32_602);
        let templates = host.ask("resources/templates/list", json!({})).await;
        assert_eq!(
            templates["resourceTemplates"][0]["uriTemplate"],
            "factum://actions/{id}"
        );
    }
}

#[tokio::test]
async fn a_subscription_tells_what_changes() {
    let world = World::start().await;
    let host = tasking(&world);
    let call =
        json!({"name": "perform_action", "arguments": wish("slow", "hang", json!({"wait_s": 0}))});
    let task = host.ask("tools/call", call).await;
    let id = task["taskId"].as_str().unwrap();
    let uri = format!("factum://actions/{id}");
    let wanted = json!({"resourceSubscriptions": [uri, "factum://actions/act_none"], "taskIds": [id], "toolsListChanged": true});
    let mut stream = TcpStream::connect(world.address).await.unwrap();
    stream
        .write_all(&host.bytes("subscriptions/listen", json!({"notifications": wanted})))
        .await
        .unwrap();
    let mut heard = String::new();
    until(&mut stream, &mut heard, "acknowledged").await;
    assert!(
        heard.contains("text/event-stream") && !heard.contains("toolsListChanged"),
        "{heard}"
    );
    assert!(
        !heard.contains("act_none"),
        "what cannot be seen is not followed: {heard}"
    );
    world.ledger.until(1).await;
    world.ledger.open();
    until(&mut stream, &mut heard, "\"status\":\"completed\"").await;
    assert!(heard.contains("notifications/resources/updated"), "{heard}");
    assert!(
        heard.contains("\"io.modelcontextprotocol/subscriptionId\":1"),
        "{heard}"
    );
}

/// Messages as they come out of a stream of a call.
pub(crate) struct Messages {
    stream: TcpStream,
    heard: String,
}

impl Messages {
    /// Makes a call whose answer is a stream.
    pub(crate) async fn open(address: SocketAddr, call: &[u8]) -> Self {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(call).await.unwrap();
        Self {
            stream,
            heard: String::new(),
        }
    }

    /// The next one.
    pub(crate) async fn message(&mut self) -> Value {
        until(&mut self.stream, &mut self.heard, "data: ").await;
        let (_, begun) = self.heard.split_once("data: ").unwrap();
        let mut rest = begun.to_owned();
        until(&mut self.stream, &mut rest, "\n\n").await;
        let (message, rest) = rest.split_once("\n\n").unwrap();
        self.heard = rest.to_owned();
        serde_json::from_str(message).unwrap()
    }
}

async fn until(stream: &mut TcpStream, heard: &mut String, wanted: &str) {
    let mut piece = [0; 4_096];
    while !heard.contains(wanted) {
        let read = stream.read(&mut piece).await.unwrap();
        assert!(read > 0, "the stream ended early: {heard}");
        heard.push_str(std::str::from_utf8(&piece[..read]).unwrap());
    }
}
