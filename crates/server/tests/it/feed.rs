//! Events: pages and streams. Nothing is missed between two places, and nothing of others is heard.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::client::request;
use crate::world::{TOKEN, World, submission};

/// How long a test waits for what has to come.
const PATIENCE: Duration = Duration::from_secs(30);

/// A stream, as it is read.
struct Stream {
    socket: TcpStream,
    text: String,
}

/// One event of a stream: its place, its type and its data.
type Heard = (String, String, Value);

impl Stream {
    async fn open(world: &World, token: &str, target: &str, headers: &[(&str, &str)]) -> Self {
        let authorization = format!("Bearer {token}");
        let mut all = vec![
            ("Authorization", authorization.as_str()),
            ("Accept", "text/event-stream"),
        ];
        all.extend_from_slice(headers);
        let mut socket = TcpStream::connect(world.address).await.unwrap();
        let bytes = request("GET", target, &all, b"");
        socket.write_all(&bytes).await.unwrap();
        let mut stream = Self {
            socket,
            text: String::new(),
        };
        while !stream.text.contains("retry: ") {
            assert!(stream.more().await, "{}", stream.text);
        }
        assert!(stream.text.starts_with("HTTP/1.1 200"), "{}", stream.text);
        assert!(stream.text.contains("text/event-stream"), "{}", stream.text);
        stream
    }

    /// Reads on; false at the end.
    async fn more(&mut self) -> bool {
        let mut bytes = [0; 8_192];
        let read = timeout(PATIENCE, self.socket.read(&mut bytes)).await;
        let read = read.expect("something comes").unwrap_or(0);
        self.text.push_str(&String::from_utf8_lossy(&bytes[..read]));
        read > 0
    }

    /// What came so far, whole events only.
    fn heard(&self) -> Vec<Heard> {
        let of = |block: &str, name: &str| {
            let line = block.lines().find_map(|line| line.strip_prefix(name));
            line.map(str::to_owned)
        };
        self.text
            .split("\n\n")
            .filter_map(|block| {
                let data = of(block, "data: ")?;
                let data = serde_json::from_str(&data).ok()?;
                Some((of(block, "id: ")?, of(block, "event: ")?, data))
            })
            .collect()
    }

    async fn until(&mut self, count: usize) -> Vec<Heard> {
        while self.heard().len() < count {
            assert!(self.more().await, "it ends: {}", self.text);
        }
        self.heard()
    }

    async fn until_its_end(&mut self) {
        while self.more().await {}
    }
}

fn types(page: &Value) -> Vec<&str> {
    let events = page["events"].as_array().unwrap().iter();
    events
        .map(|event| event["type"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn a_page_holds_what_changed_and_leads_to_the_next() {
    let world = World::start().await;
    let mut done = submission("1", "done");
    done["conversation"] = json!({"id": "conv-1"});
    let done = world.settled(&done).await;
    let refused = world.settled(&submission("2", "reject")).await;
    let page = world.get("/v1/events").await.json();
    // One for each, and nothing of what passed: recorded, being sent.
    assert_eq!(
        types(&page),
        ["action.succeeded", "action.terminal_failure"]
    );
    for (event, status) in page["events"]
        .as_array()
        .unwrap()
        .iter()
        .zip([&done, &refused])
    {
        let told = &event["data"]["action"];
        assert_eq!(told["id"], status["id"]);
        assert_eq!(told["state"], status["state"]);
        assert_eq!(told["receipt"], status["receipt"]);
        assert_eq!(event["tenant"], "default");
    }
    let next = page["next"].as_str().unwrap();
    let behind = world.get(&format!("/v1/events?from={next}")).await.json();
    assert_eq!(
        (types(&behind), behind["next"].as_str()),
        (vec![], Some(next))
    );
    // One by one they are the same, with the same names.
    let first = world.get("/v1/events?limit=1").await.json();
    assert_eq!(first["events"][0], page["events"][0]);
    let target = format!(
        "/v1/events?limit=1&from={}",
        first["next"].as_str().unwrap()
    );
    let second = world.get(&target).await.json();
    assert_eq!(second["events"][0], page["events"][1]);
    for (query, wanted) in [
        ("types=action.succeeded", vec!["action.succeeded"]),
        ("types=action.updated,review.entered", vec![]),
        ("conversation=conv-1", vec!["action.succeeded"]),
        (
            "destination=crm",
            vec!["action.succeeded", "action.terminal_failure"],
        ),
        ("destination=other", vec![]),
        ("from=now", vec![]),
    ] {
        let page = world.get(&format!("/v1/events?{query}")).await.json();
        assert_eq!(types(&page), wanted, "{query}");
    }
}

// An event says how the action stood at it, also once that is over.
#[tokio::test]
async fn an_event_keeps_the_state_that_it_is_of() {
    let world = World::start().await;
    let lost = world.settled(&submission("1", "lose")).await;
    let verdict = json!({"verdict": "happened", "receipt": "T-1", "why": "it is there"});
    let target = format!("/v1/review/{}/verdict", lost["id"].as_str().unwrap());
    let ruled = world.post(&target, &verdict).await;
    assert_eq!(ruled.status, 200, "{}", ruled.text);
    let page = world.get("/v1/events").await.json();
    assert_eq!(
        types(&page),
        [
            "action.outcome_unknown",
            "review.entered",
            "action.succeeded",
            "review.left"
        ]
    );
    let action = |at: usize| page["events"][at]["data"]["action"].clone();
    assert_eq!(action(0)["state"], "outcome_unknown");
    assert_eq!(action(2)["state"], "succeeded");
    assert!(action(0)["version"].as_u64() < action(2)["version"].as_u64());
    assert_eq!(page["events"][1]["data"]["review"]["waiting"], 0, "by now");
}

#[tokio::test]
async fn a_wait_ends_with_the_event() {
    let world = World::start().await;
    let submitted = submission("1", "hang");
    world.post("/v1/actions", &submitted).await;
    world.ledger.until(1).await;
    let now = world.get("/v1/events?from=now").await.json();
    let target = format!("/v1/events?from={}&wait=30", now["next"].as_str().unwrap());
    let (page, ()) = tokio::join!(world.get(&target), async {
        world.ledger.open();
    });
    assert_eq!(types(&page.json()), ["action.succeeded"]);
}

#[tokio::test]
async fn a_stream_goes_on_and_is_resumed_without_a_gap() {
    let world = World::start().await;
    let mut stream = Stream::open(&world, TOKEN, "/v1/events", &[]).await;
    let mut ids = Vec::new();
    for name in ["1", "2", "3"] {
        ids.push(world.settled(&submission(name, "done")).await["id"].clone());
    }
    let heard = stream.until(3).await;
    for ((place, kind, event), id) in heard.iter().zip(&ids) {
        assert_eq!(
            (kind.as_str(), &event["data"]["action"]["id"]),
            ("action.succeeded", id)
        );
        assert_eq!(&event["cursor"], place);
    }
    drop(stream);
    // What happens meanwhile comes once it is back; `from` is older, and does not count.
    ids.push(world.settled(&submission("4", "done")).await["id"].clone());
    let headers = [("Last-Event-ID", heard[1].0.as_str())];
    let mut again = Stream::open(&world, TOKEN, "/v1/events?from=start", &headers).await;
    ids.push(world.settled(&submission("5", "done")).await["id"].clone());
    let resumed = again.until(3).await;
    assert_eq!(resumed[0], heard[2], "the same event, by the same name");
    let told: Vec<&Value> = resumed
        .iter()
        .map(|(_, _, event)| &event["data"]["action"]["id"])
        .collect();
    assert_eq!(told, [&ids[2], &ids[3], &ids[4]]);
    // Of some types alone.
    let mut some = Stream::open(
        &world,
        TOKEN,
        "/v1/events?types=action.terminal_failure",
        &[],
    )
    .await;
    world.settled(&submission("6", "done")).await;
    world.settled(&submission("7", "reject")).await;
    assert_eq!(some.until(1).await[0].1, "action.terminal_failure");
}

#[tokio::test]
async fn a_stream_hears_its_own_tenant_and_what_its_token_may_see() {
    let world = World::start().await;
    let (acme, globex) = (world.tenant("acme").await, world.tenant("globex").await);
    let reader = world.token("acme", "reader", &["read"]).await;
    let mut boss = Stream::open(&world, &acme, "/v1/events", &[]).await;
    let mut narrow = Stream::open(&world, &reader, "/v1/events", &[]).await;
    for (token, name, behave) in [
        (&globex, "g", "lose"),
        (&acme, "a", "lose"),
        (&globex, "h", "done"),
        (&acme, "b", "done"),
    ] {
        let body = submission(name, behave).to_string();
        let headers = [("Prefer", "wait=30")];
        let made = world.call_as(token, "POST", "/v1/actions", &headers, &body);
        assert_eq!(made.await.status, 201);
    }
    let heard = boss.until(3).await;
    let kinds: Vec<&str> = heard.iter().map(|(_, kind, _)| kind.as_str()).collect();
    assert_eq!(
        kinds,
        [
            "action.outcome_unknown",
            "review.entered",
            "action.succeeded"
        ]
    );
    assert!(heard.iter().all(|(_, _, event)| event["tenant"] == "acme"));
    assert!(!boss.text.contains("globex"), "{}", boss.text);
    // Who may not see the review hears nothing of it.
    let kinds: Vec<String> = narrow
        .until(2)
        .await
        .into_iter()
        .map(|(_, kind, _)| kind)
        .collect();
    assert_eq!(kinds, ["action.outcome_unknown", "action.succeeded"]);
    let submits = world.token("acme", "callbacks", &["callback"]).await;
    let refused = world.call_as(&submits, "GET", "/v1/events", &[], "").await;
    assert_eq!(refused.status, 403);
}

#[tokio::test]
async fn a_grant_hears_of_its_holders_actions_alone() {
    let world = World::start().await;
    let acme = world.tenant("acme").await;
    let post = async |target: &str, body: Value| {
        world
            .call_as(&acme, "POST", target, &[], &body.to_string())
            .await
            .json()
    };
    post("/v1/principals", json!({"name": "agent"})).await;
    post("/v1/grants", json!({"name": "night", "principal": "agent"})).await;
    let made = post(
        "/v1/tokens",
        json!({"principal": "agent", "grant": "night", "scopes": ["submit", "read", "review"]}),
    )
    .await;
    let agent = made["token"].as_str().unwrap();
    for (token, name) in [(acme.as_str(), "boss"), (agent, "own")] {
        let body = submission(name, "done").to_string();
        let headers = [("Prefer", "wait=30")];
        world
            .call_as(token, "POST", "/v1/actions", &headers, &body)
            .await;
    }
    let page = world
        .call_as(agent, "GET", "/v1/events", &[], "")
        .await
        .json();
    assert_eq!(types(&page), ["action.succeeded"]);
    assert_eq!(page["events"][0]["data"]["action"]["key"], "order/own");
    let whole = world
        .call_as(&acme, "GET", "/v1/events", &[], "")
        .await
        .json();
    assert_eq!(types(&whole).len(), 2);
}

#[tokio::test]
async fn a_stream_ends_with_its_token() {
    let world = World::start().await;
    let acme = world.tenant("acme").await;
    let wish = json!({"principal": "boss", "scopes": ["read"]}).to_string();
    let made = world
        .call_as(&acme, "POST", "/v1/tokens", &[], &wish)
        .await
        .json();
    let token = made["token"].as_str().unwrap();
    let mut stream = Stream::open(&world, token, "/v1/events", &[]).await;
    let target = format!("/v1/tokens/{}/state", made["name"].as_str().unwrap());
    let revoke = json!({"standing": "revoked", "why": "a test"}).to_string();
    let revoked = world.call_as(&acme, "POST", &target, &[], &revoke).await;
    assert_eq!(revoked.status, 200, "{}", revoked.text);
    let body = submission("1", "done").to_string();
    let headers = [("Prefer", "wait=30")];
    world
        .call_as(&acme, "POST", "/v1/actions", &headers, &body)
        .await;
    stream.until_its_end().await;
    assert_eq!(stream.heard(), []);
}

#[tokio::test]
async fn streams_end_with_the_server_and_have_a_bound() {
    let mut world = World::with("events.streams_max = 1", |limits| limits).await;
    let mut stream = Stream::open(&world, TOKEN, "/v1/events", &[]).await;
    let headers = [("Accept", "text/event-stream")];
    let refused = world.call("GET", "/v1/events", &headers, "").await;
    assert_eq!(
        (refused.status, &refused.json()["code"]),
        (429, &json!("F1121"))
    );
    assert!(refused.header("retry-after").is_some());
    world.stop();
    stream.until_its_end().await;
    assert_eq!(world.ended().await, 0);
}

#[tokio::test]
async fn a_place_that_leads_nowhere_says_how_to_go_on() {
    let world = World::start().await;
    world.settled(&submission("1", "done")).await;
    for place in ["7", "1-5af3107a4000"] {
        let target = format!("/v1/events?from={place}");
        let gone = world.get(&target).await;
        assert_eq!(
            (gone.status, &gone.json()["code"]),
            (410, &json!("F1120")),
            "{place}"
        );
        assert!(
            gone.json()["remedy"]
                .as_str()
                .unwrap()
                .contains("from=start")
        );
        let headers = [("Accept", "text/event-stream"), ("Last-Event-ID", place)];
        let gone = world.call("GET", "/v1/events", &headers, "").await;
        assert_eq!(gone.status, 410);
    }
    for wrong in ["from=yesterday", "types=nothing", "types=", "wait=61"] {
        let refused = world.get(&format!("/v1/events?{wrong}")).await;
        assert_eq!(
            (refused.status, &refused.json()["code"]),
            (400, &json!("F1025")),
            "{wrong}"
        );
    }
    // Once the store was restored, numbers are given anew, and those from before lead nowhere.
    let before = world.get("/v1/events").await.json()["next"].clone();
    let restored = world.post("/v1/admin/after-restore", &json!({})).await;
    assert_eq!(restored.status, 200, "{}", restored.text);
    let gone = world
        .get(&format!("/v1/events?from={}", before.as_str().unwrap()))
        .await;
    assert_eq!(gone.status, 410);
    let page = world.get("/v1/events").await.json();
    let next = page["next"].as_str().unwrap();
    assert_eq!(
        world.get(&format!("/v1/events?from={next}")).await.status,
        200
    );
}
