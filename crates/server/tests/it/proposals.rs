//! Proposals over HTTP: what is shown is what is sent, byte for byte, once, and only by those who may let it be.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::client::Answer;
use crate::world::World;

/// A destination that keeps each request as it came, and does what it says.
#[derive(Clone)]
struct Place {
    base: String,
    arrived: Arc<watch::Sender<Vec<String>>>,
}

impl Place {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let place = Self {
            base: format!("http://{}", listener.local_addr().unwrap()),
            arrived: Arc::new(watch::Sender::new(Vec::new())),
        };
        let serving = place.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serving.clone().answer(stream));
            }
        });
        place
    }

    async fn answer(self, mut stream: TcpStream) {
        let mut text = String::new();
        let mut piece = [0; 4_096];
        while !whole(&text) {
            match stream.read(&mut piece).await {
                Ok(0) | Err(_) => return,
                Ok(n) => text.push_str(std::str::from_utf8(&piece[..n]).unwrap()),
            }
        }
        self.arrived.send_modify(|all| all.push(text));
        let body = "{\"ok\":true,\"id\":\"T-1\"}";
        let head = format!(
            "HTTP/1.1 201 Created\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            body.len()
        );
        let _ = stream.write_all(format!("{head}{body}").as_bytes()).await;
    }

    /// The effect requests; questions about the account are others.
    fn requests(&self) -> Vec<String> {
        let arrived = self.arrived.borrow();
        let posts = arrived.iter().filter(|text| text.starts_with("POST "));
        posts.cloned().collect()
    }
}

/// Whether head and body are there.
fn whole(text: &str) -> bool {
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse().unwrap())
    });
    body.len() >= length.unwrap_or(0)
}

/// A server whose destination asks for approvals, and what everybody there is let in with.
struct Desk {
    world: World,
    place: Place,
    agent: String,
    boss: String,
}

impl Desk {
    /// With this policy for its operation. The payload's `amount` and `currency` are what it moves.
    async fn open(approval: &str) -> Self {
        let place = Place::start().await;
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("testbed");
        std::fs::create_dir(&own).unwrap();
        let contract = include_str!("../../../../contracts/testbed/neither.sync.toml");
        let contract =
            format!("{contract}\namount = {{ at = \"/amount\", currency = \"/currency\" }}\n");
        std::fs::write(own.join("neither.sync.toml"), contract).unwrap();
        let config = format!(
            "contracts = {:?}\n[destinations.bed]\nprovider = \"testbed\"\nbase = {:?}\naccount = \"ours\"\n\
             auth = {{ bearer = \"cmd:echo swordfish\" }}\noperations.\"neither.sync\".approval = {approval}\n",
            folder.path(),
            place.base,
        );
        let world = World::with(&config, |limits| limits).await;
        let agent = world.token("default", "agent", &["submit", "read"]).await;
        let boss = world.token("default", "boss", &["approve", "read"]).await;
        Self {
            world,
            place,
            agent,
            boss,
        }
    }

    async fn as_agent(&self, target: &str, body: &Value) -> Answer {
        let body = body.to_string();
        self.world
            .call_as(&self.agent, "POST", target, &[], &body)
            .await
    }

    async fn as_boss(&self, target: &str, body: &Value) -> Answer {
        let body = body.to_string();
        self.world
            .call_as(&self.boss, "POST", target, &[], &body)
            .await
    }

    /// The ids of the proposals that a search finds.
    async fn listed(&self, search: String) -> Vec<Value> {
        let target = format!("/v1/proposals?{search}");
        let listed = self.world.get(&target).await.json();
        let rows = listed["proposals"].as_array().unwrap().clone();
        rows.iter().map(|row| row["id"].clone()).collect()
    }

    async fn settled(&self, action: &Value) -> Value {
        let target = format!("/v1/actions/{}?wait=30", action["id"].as_str().unwrap());
        self.world.get(&target).await.json()
    }
}

fn wish(key: &str, amount: &str) -> Value {
    json!({
        "destination": "bed", "operation": "neither.sync", "key": key, "summary": "Pays a refund",
        "payload": {"business": key, "amount": amount, "currency": "EUR"},
        "conversation": {"id": "conv-1", "turn": 2, "asked": "please pay it back"},
    })
}

fn code(answer: &Answer) -> String {
    answer.json()["code"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

fn path(proposal: &Value, call: &str) -> String {
    format!("/v1/proposals/{}{call}", proposal["id"].as_str().unwrap())
}

/// R23: the request that was shown is the request that arrives, and it arrives once. The secret is in the one and not in the other.
#[tokio::test]
async fn what_was_shown_is_sent_byte_for_byte() {
    let desk = Desk::open("{ required = \"always\" }").await;
    let refused = desk.as_agent("/v1/actions", &wish("a", "20.00")).await;
    assert_eq!((refused.status, code(&refused).as_str()), (403, "F1080"));
    let made = desk.as_agent("/v1/proposals", &wish("a", "20.00")).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let again = desk.as_agent("/v1/proposals", &wish("a", "20.00")).await;
    assert_eq!(again.status, 200, "{}", again.text);
    let target = path(&made.json()["proposal"], "");
    let shown = desk
        .world
        .call_as(&desk.boss, "GET", &target, &[], "")
        .await;
    assert!(!shown.text.contains("swordfish"), "{}", shown.text);
    let shown = shown.json();
    assert_eq!(
        shown["amount"],
        json!({"number": "20.00", "currency": "EUR"})
    );
    assert_eq!(
        (&shown["kind"], &shown["asked_by"]),
        (&json!("effect"), &json!("agent"))
    );
    assert_eq!(shown["stale"], Value::Null);
    let own = desk
        .world
        .call_as(&desk.agent, "POST", &path(&shown, "/approve"), &[], "{}")
        .await;
    assert_eq!(own.status, 403, "its token has no such scope");
    let wrong = json!({"digest": "0".repeat(64)});
    let wrong = desk.as_boss(&path(&shown, "/approve"), &wrong).await;
    assert_eq!((wrong.status, code(&wrong).as_str()), (409, "F1083"));
    let yes = json!({"digest": shown["digest"], "reason": "the goods came back"});
    let approved = desk.as_boss(&path(&shown, "/approve"), &yes).await;
    assert_eq!(approved.status, 201, "{}", approved.text);
    let approved = approved.json();
    assert_eq!(approved["proposal"]["approvals"][0]["by"], "boss");
    let twice = desk.as_boss(&path(&shown, "/approve"), &yes).await;
    assert_eq!(
        (twice.status, &twice.json()["action"]["id"]),
        (200, &approved["action"]["id"])
    );
    assert_eq!(
        desk.settled(&approved["action"]).await["state"],
        "succeeded"
    );
    let requests = desk.place.requests();
    assert_eq!(requests.len(), 1);
    let (head, body) = requests[0].split_once("\r\n\r\n").unwrap();
    let request = &shown["request"];
    assert_eq!(request["body"], body);
    let line = head.lines().next().unwrap().split(' ').collect::<Vec<_>>();
    assert_eq!(request["method"], line[0]);
    assert_eq!(
        request["address"],
        format!("{}{}", desk.place.base, line[1])
    );
    for header in request["headers"].as_array().unwrap() {
        let (name, value) = (&header["name"], &header["value"]);
        let written = format!("{}: {}", name.as_str().unwrap(), value.as_str().unwrap());
        assert!(
            head.to_lowercase().contains(&written.to_lowercase()),
            "{written} in {head}"
        );
    }
    assert!(head.contains("swordfish"), "{head}");
}

/// Nor does what needs an approval come in as an event.
#[tokio::test]
async fn an_event_gets_round_no_approval() {
    let desk = Desk::open("{ required = \"always\" }").await;
    let as_event = [("Content-Type", "application/cloudevents+json")];
    let mut data = wish("a", "20.00");
    let members = data.as_object_mut().unwrap();
    members.remove("key");
    members.insert("effect".to_owned(), json!("refund"));
    let event = json!({"specversion": "1.0", "id": "e-1", "source": "//shop", "type": "paid", "data": data});
    let event = (desk.world)
        .call_as(
            &desk.agent,
            "POST",
            "/v1/actions",
            &as_event,
            &event.to_string(),
        )
        .await;
    assert_eq!(code(&event), "F1080", "{}", event.text);
    assert_eq!(desk.place.requests().len(), 0);
}

/// An edited one takes the place of the first, which can be approved by nobody any more; the conversation shows what waits.
#[tokio::test]
async fn an_edit_makes_another_proposal_and_closes_the_first() {
    let desk = Desk::open("{ required = \"always\" }").await;
    let first = desk
        .as_agent("/v1/proposals", &wish("a", "20.00"))
        .await
        .json();
    let first = &first["proposal"];
    let open = desk.as_agent("/v1/proposals", &wish("a", "30.00")).await;
    assert_eq!(
        (code(&open).as_str(), &open.json()["proposal"]),
        ("F1084", &first["id"])
    );
    let mut edit = wish("a", "30.00");
    edit.as_object_mut().unwrap().remove("key");
    let second = desk.as_agent(&path(first, "/supersede"), &edit).await;
    assert_eq!(second.status, 201, "{}", second.text);
    let second = second.json();
    let second = &second["proposal"];
    assert_eq!(
        second["differences"],
        json!([{"member": "/payload/amount", "was": "20.00", "is": "30.00"}])
    );
    let late = json!({"digest": first["digest"]});
    let late = desk.as_boss(&path(first, "/approve"), &late).await;
    assert_eq!((late.status, code(&late).as_str()), (409, "F1082"));
    assert_eq!(
        late.json()["proposal"],
        second["id"],
        "it names the newer one"
    );
    let listed = |search: &str| desk.listed(search.to_owned());
    assert_eq!(listed("state=pending").await, [second["id"].clone()]);
    assert_eq!(listed("state=superseded").await, [first["id"].clone()]);
    assert_eq!(
        listed("conversation=conv-1&state=pending").await,
        [second["id"].clone()]
    );
    assert_eq!(listed("destination=crm").await, Vec::<Value>::new());
    let page = desk.world.get("/v1/proposals?limit=1").await.json();
    let next = page["next_after"].as_str().unwrap().to_owned();
    assert_eq!(
        listed(&format!("after={next}")).await,
        [second["id"].clone()]
    );
    let talk = desk
        .world
        .get("/v1/conversations/conv-1?locale=de")
        .await
        .json();
    assert_eq!(
        (&talk["actions"], &talk["proposals"][0]["id"]),
        (&json!([]), &second["id"])
    );
    let said = talk["proposals"][0]["statement"]["say"].as_str().unwrap();
    assert_eq!(
        said,
        "Ihr Auftrag wartet auf Freigabe. Er wurde noch nicht gesendet."
    );
    let no = json!({"reason": "too much"});
    let declined = desk.as_boss(&path(second, "/decline"), &no).await.json();
    assert_eq!(declined["proposal"]["state"], "declined");
    let late = json!({"digest": second["digest"]});
    assert_eq!(
        code(&desk.as_boss(&path(second, "/approve"), &late).await),
        "F1082"
    );
    assert_eq!(desk.place.requests().len(), 0);
}

/// The amount decides who has to be asked; one that cannot be told counts as more.
#[tokio::test]
async fn an_amount_decides_whether_people_are_asked() {
    let policy = "{ required = \"over\", over = { amount = \"50\", currency = \"EUR\" }, people = 2, by = [\"boss\", \"cfo\"], \
                  reason = true, auto = [{ principal = \"agent\", up_to = { amount = \"100\", currency = \"EUR\" } }] }";
    let desk = Desk::open(policy).await;
    let small = desk.as_agent("/v1/actions", &wish("small", "50.00")).await;
    assert_eq!(small.status, 201, "{}", small.text);
    for (key, amount) in [("middle", "50.01"), ("odd", "fifty")] {
        let refused = desk.as_agent("/v1/actions", &wish(key, amount)).await;
        assert_eq!(code(&refused), "F1080", "{amount}");
    }
    let at_once = desk
        .as_agent("/v1/proposals", &wish("middle", "50.01"))
        .await
        .json();
    assert_eq!(at_once["proposal"]["state"], "approved");
    assert_eq!(at_once["proposal"]["approvals"][0]["by"], Value::Null);
    assert_eq!(desk.settled(&at_once["action"]).await["state"], "succeeded");
    let large = desk
        .as_agent("/v1/proposals", &wish("large", "100.01"))
        .await
        .json();
    let large = &large["proposal"];
    assert_eq!(
        (&large["state"], &large["people"]),
        (&json!("pending"), &json!(2))
    );
    let yes = json!({"digest": large["digest"], "reason": "agreed"});
    let silent = json!({"digest": large["digest"]});
    assert_eq!(
        code(&desk.as_boss(&path(large, "/approve"), &silent).await),
        "F1085"
    );
    let one = desk.as_boss(&path(large, "/approve"), &yes).await;
    assert_eq!((one.status, &one.json()["action"]), (200, &Value::Null));
    let stranger = desk.world.token("default", "mallory", &["approve"]).await;
    let body = yes.to_string();
    let target = path(large, "/approve");
    let stranger = desk
        .world
        .call_as(&stranger, "POST", &target, &[], &body)
        .await;
    assert_eq!(code(&stranger), "F1085");
    let cfo = desk.world.token("default", "cfo", &["approve"]).await;
    let two = desk.world.call_as(&cfo, "POST", &target, &[], &body).await;
    assert_eq!(two.status, 201, "{}", two.text);
    assert_eq!(
        desk.settled(&two.json()["action"]).await["state"],
        "succeeded"
    );
    assert_eq!(desk.place.requests().len(), 3);
}

#[tokio::test]
async fn what_is_wrong_with_a_proposal_is_said_by_its_member() {
    let desk = Desk::open("{ required = \"always\" }").await;
    let with = |member: &str, value: Value| {
        let mut body = wish("a", "1");
        body[member] = value;
        body
    };
    for (member, value, wanted) in [
        ("expires_at", json!("2001-01-01T00:00:00Z"), "F1015"),
        ("expires_at", json!("soon"), "F1003"),
        ("expires_at", json!(7), "F1003"),
        ("supersedes", json!("act_0"), "F1003"),
        (
            "supersedes",
            json!("pro_00000000000000000000000000"),
            "F1081",
        ),
        ("propose", json!(true), "F1002"),
    ] {
        let answer = desk
            .as_agent("/v1/proposals", &with(member, value.clone()))
            .await;
        assert_eq!(code(&answer), wanted, "{member} {value}: {}", answer.text);
    }
    let waits = desk.as_agent("/v1/proposals", &wish("a", "1")).await.json();
    let waits = &waits["proposal"];
    let past = json!({"digest": waits["digest"], "until": "2001-01-01T00:00:00Z"});
    let past = desk.as_boss(&path(waits, "/approve"), &past).await;
    assert_eq!((past.status, code(&past).as_str()), (422, "F1015"));
    let twice = "{\"destination\":\"bed\",\"operation\":\"neither.sync\",\"key\":\"a\",\"supersedes\":null,\"supersedes\":null}";
    let twice = desk
        .world
        .call_as(&desk.agent, "POST", "/v1/proposals", &[], twice)
        .await;
    assert_eq!(code(&twice), "F1013");
}
