//! Callbacks in, over HTTP: each signature scheme, and what is forged, repeated, reordered, foreign, early or unmatched. Effects
//! are counted at the destination of these tests, which answers as a payload says.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;

use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::client::{Answer, exchange, request};
use crate::world::World;

/// The schemes, by the names of the operations whose contracts have them.
const SCHEMES: [(&str, &str); 7] = [
    ("stripe", "{ scheme = \"stripe\" }"),
    ("github", "{ scheme = \"github\" }"),
    ("slack", "{ scheme = \"slack\" }"),
    ("standard", "{ scheme = \"standard_webhooks\" }"),
    ("mac", "{ scheme = \"hmac\", header = \"X-Mac\" }"),
    (
        "shared",
        "{ scheme = \"shared_secret\", header = \"X-Token\" }",
    ),
    ("basic", "{ scheme = \"basic\" }"),
];

/// The plain secret, and the same as Standard Webhooks writes it.
const SECRET: &str = "correct-horse:battery";
const CODED: &str = "whsec_Y29ycmVjdC1ob3JzZTpiYXR0ZXJ5";
const BASIC: &str = "Basic Y29ycmVjdC1ob3JzZTpiYXR0ZXJ5";

/// What the destination was asked, in the order of arrival, and the gate behind which it keeps slow answers.
#[derive(Clone)]
struct Ledger {
    arrived: Arc<watch::Sender<Vec<Value>>>,
    open: Arc<watch::Sender<bool>>,
}

impl Ledger {
    /// A destination on a free port: `{"behave": …, "reference": …}` is queued as `job-N`, done as `T-N`, or never answered.
    async fn start() -> (Self, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let ledger = Self {
            arrived: Arc::new(watch::Sender::new(Vec::new())),
            open: Arc::new(watch::Sender::new(false)),
        };
        let serving = ledger.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serving.clone().answer(stream));
            }
        });
        (ledger, address)
    }

    async fn answer(self, mut stream: TcpStream) {
        let mut bytes = Vec::new();
        let body = loop {
            let mut piece = [0; 4096];
            let count = stream.read(&mut piece).await.unwrap_or(0);
            if count == 0 {
                return;
            }
            bytes.extend_from_slice(&piece[..count]);
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let body = text.split_once("\r\n\r\n").map(|(_, body)| body);
            if let Some(Ok(body)) = body.map(serde_json::from_str::<Value>) {
                break body;
            }
        };
        let mut number = 0;
        self.arrived.send_modify(|arrived| {
            arrived.push(body.clone());
            number = arrived.len();
        });
        let (status, answer) = match body["behave"].as_str() {
            Some("done") => (201, json!({"id": format!("T-{number}")})),
            Some("lose") => return,
            Some("slow") => {
                let _ = self.open.subscribe().wait_for(|open| *open).await;
                (202, json!({"job": format!("job-{number}")}))
            }
            _ => (202, json!({"job": format!("job-{number}")})),
        };
        let text = answer.to_string();
        let head = format!(
            "HTTP/1.1 {status} Fine\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            text.len()
        );
        let _ = stream.write_all((head + &text).as_bytes()).await;
    }

    /// The reference in the n-th request, once it has arrived.
    async fn reference(&self, number: usize) -> String {
        let mut seen = self.arrived.subscribe();
        let arrived = seen.wait_for(|all| all.len() >= number).await.unwrap();
        arrived[number - 1]["reference"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    fn effects(&self) -> usize {
        self.arrived.borrow().len()
    }
}

/// A server with the destinations `hooks` and `other`, whose operations differ in how their callbacks are signed.
struct Hooks {
    world: World,
    ledger: Ledger,
    path: String,
    files: tempfile::TempDir,
}

fn contract(operation: &str, signature: &str) -> String {
    format!(
        "provider = \"hooks\"\noperation = \"{operation}\"\ntitle = \"An effect that is reported\"\nconsequence = \"costly\"\n\
         [effect]\nmethod = \"POST\"\npath = \"/{operation}\"\nset = [{{ at = \"/reference\", to = \"{{reference}}\" }}]\n\
         [[answers]]\nwhen = {{ status = 202 }}\nclass = \"accepted\"\nobject = {{ json = \"/job\" }}\n\
         [[answers]]\nwhen = {{ status = 201 }}\nclass = \"done\"\nreceipt = {{ json = \"/id\" }}\n\
         [callback]\nsignature = {signature}\nid = \"/id\"\n\
         matches = [{{ by = \"reference\", at = \"/ref\" }}, {{ by = \"object\", at = \"/job\" }}, {{ by = \"receipt\", at = \"/ticket\" }}]\n\
         positive = {{ at = \"/type\", equals = \"done\" }}\n\
         negative = {{ at = \"/type\", equals = \"failed\" }}\n\
         reversed = {{ at = \"/type\", equals = \"returned\" }}\n\
         receipt = \"/ticket\"\nobject = \"/job\"\nwhy = \"/reason\"\n\
         source = {{ person = \"these tests\", date = \"2026-11-29\" }}\n"
    )
}

/// Writes the contracts and secrets, and gives the configuration.
fn written(files: &tempfile::TempDir, base: SocketAddr) -> String {
    let folder = files.path().join("contracts/hooks");
    std::fs::create_dir_all(&folder).unwrap();
    for (operation, signature) in SCHEMES {
        let file = folder.join(format!("{operation}.toml"));
        std::fs::write(file, contract(operation, signature)).unwrap();
    }
    let secret = |name: &str, text: &str| {
        let file = files.path().join(name);
        std::fs::write(&file, text).unwrap();
        format!("file:{}", file.display())
    };
    let (old, plain) = (secret("old", "an earlier one"), secret("plain", SECRET));
    let (coded, other) = (secret("coded", CODED), secret("other", "another:one"));
    let contracts = files.path().join("contracts");
    format!(
        "contracts = {contracts:?}\n\
         [destinations.hooks]\nprovider = \"hooks\"\nbase = \"http://{base}\"\n\
         callback = {{ secrets = [\"{old}\", \"{plain}\", \"{coded}\"] }}\n\
         [destinations.other]\nprovider = \"hooks\"\nbase = \"http://{base}\"\n\
         callback = {{ secrets = [\"{other}\"] }}\n\
         [destinations.open]\nprovider = \"hooks\"\nbase = \"http://{base}\"\n"
    )
}

impl Hooks {
    async fn start() -> Self {
        let (ledger, base) = Ledger::start().await;
        let files = tempfile::tempdir().unwrap();
        let world = World::with(&written(&files, base), |limits| limits).await;
        let path = path_of(&world, "hooks").await;
        Self {
            world,
            ledger,
            path,
            files,
        }
    }

    /// Submits to an operation; the destination behaves so. Gives the action's id.
    async fn submit(&self, operation: &str, key: &str, behave: &str) -> String {
        let submission = json!({
            "destination": "hooks", "operation": operation, "key": key, "payload": {"behave": behave},
        });
        let answer = self.world.post("/v1/actions", &submission).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        answer.json()["id"].as_str().unwrap().to_owned()
    }

    async fn status(&self, id: &str) -> Value {
        self.world.get(&format!("/v1/actions/{id}")).await.json()
    }

    /// The status once it is this state.
    async fn state(&self, id: &str, wanted: &str) -> Value {
        loop {
            let status = self.status(id).await;
            if status["state"] == wanted {
                return status;
            }
            tokio::task::yield_now().await;
        }
    }

    async fn deliver(&self, operation: &str, body: &Value) -> Answer {
        let body = body.to_string();
        let headers = signed(operation, &body, now());
        self.send(&self.path, &headers, &body).await
    }

    async fn send(&self, path: &str, headers: &[(String, String)], body: &str) -> Answer {
        send(self.world.address, path, headers, body).await
    }

    async fn reports(&self, query: &str) -> Vec<Value> {
        let answer = self.world.get(&format!("/v1/callbacks{query}")).await;
        answer.json()["callbacks"].as_array().unwrap().clone()
    }

    /// How many reports the action's evidence holds.
    async fn reported(&self, id: &str) -> usize {
        let path = format!("/v1/actions/{id}/evidence");
        let evidence = self.world.get(&path).await.json();
        let evidence = evidence["evidence"].as_array().unwrap().clone();
        let reports = evidence.iter().filter(|one| one["fact"] == "called_back");
        reports.count()
    }
}

async fn path_of(world: &World, destination: &str) -> String {
    let shown = world.get(&format!("/v1/destinations/{destination}")).await;
    let path = shown.json()["callback"]["path"].clone();
    path.as_str().unwrap().to_owned()
}

async fn send(address: SocketAddr, path: &str, headers: &[(String, String)], body: &str) -> Answer {
    let pairs = headers.iter();
    let headers: Vec<(&str, &str)> = pairs.map(|(n, v)| (n.as_str(), v.as_str())).collect();
    exchange(address, &request("POST", path, &headers, body.as_bytes())).await
}

fn now() -> i64 {
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
    i64::try_from(since.as_secs()).unwrap()
}

fn mac(text: &str) -> Vec<u8> {
    let mac = Hmac::<sha2::Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.chain_update(text).finalize().into_bytes().to_vec()
}

fn hex(text: &str) -> String {
    mac(text).iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digit = |bits: u32| char::from(DIGITS[(bits & 63) as usize]);
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let at = |index: usize| u32::from(three.get(index).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        text.extend([digit(bits >> 18), digit(bits >> 12)]);
        text.push(if three.len() > 1 {
            digit(bits >> 6)
        } else {
            '='
        });
        text.push(if three.len() > 2 { digit(bits) } else { '=' });
    }
    text
}

/// The headers with which an operation's provider signs this body at this second.
fn signed(operation: &str, body: &str, at: i64) -> Vec<(String, String)> {
    let one = |name: &str, value: String| (name.to_owned(), value);
    match operation {
        "stripe" => {
            let text = format!("{at}.{body}");
            vec![one("Stripe-Signature", format!("t={at},v1={}", hex(&text)))]
        }
        "github" => vec![one("X-Hub-Signature-256", format!("sha256={}", hex(body)))],
        "slack" => vec![
            one(
                "X-Slack-Signature",
                format!("v0={}", hex(&format!("v0:{at}:{body}"))),
            ),
            one("X-Slack-Request-Timestamp", at.to_string()),
        ],
        "standard" => {
            let text = format!("msg-1.{at}.{body}");
            vec![
                one("webhook-signature", format!("v1,{}", base64(&mac(&text)))),
                one("webhook-timestamp", at.to_string()),
                one("webhook-id", "msg-1".to_owned()),
            ]
        }
        "mac" => vec![one("X-Mac", hex(body))],
        "shared" => vec![one("X-Token", SECRET.to_owned())],
        "basic" => vec![one("Authorization", BASIC.to_owned())],
        other => panic!("no scheme is called {other}"),
    }
}

#[tokio::test]
async fn each_scheme_settles_what_it_reports_and_refuses_what_is_forged() {
    let hooks = Hooks::start().await;
    for (number, (operation, _)) in (1..).zip(SCHEMES) {
        let id = hooks.submit(operation, operation, "queue").await;
        let reference = hooks.ledger.reference(number).await;
        let accepted = hooks.state(&id, "accepted").await;
        assert_eq!(accepted["next"]["do"], "wait", "{operation}");
        let body = json!({"id": format!("e-{number}"), "type": "done", "ref": reference, "ticket": format!("T-{number}")});
        // B187: whoever does not know the secret is refused, with or without a signature.
        let forged = body.to_string();
        let mut headers = signed(operation, &forged, now());
        let (_, value) = &mut headers[0];
        let last = value.pop().unwrap();
        value.push(if last == '0' { '1' } else { '0' });
        for headers in [headers, Vec::new()] {
            let refused = hooks.send(&hooks.path, &headers, &forged).await;
            assert_eq!(refused.status, 401, "{operation}: {}", refused.text);
            assert_eq!(refused.json()["code"], "F1028");
        }
        assert_eq!(hooks.status(&id).await["state"], "accepted", "{operation}");
        assert_eq!(hooks.reports("").await.len(), number - 1, "{operation}");

        let taken = hooks.deliver(operation, &body).await;
        assert_eq!((taken.status, taken.json()), (200, json!({"taken": true})));
        let settled = hooks.state(&id, "succeeded").await;
        assert_eq!(settled["receipt"]["reference"], format!("T-{number}"));
        assert_eq!(hooks.reports("").await[0]["action"], id.as_str());
    }
    assert_eq!(hooks.ledger.effects(), SCHEMES.len());
}

// B181
#[tokio::test]
async fn one_event_delivered_46_times_is_one_fact() {
    let hooks = Arc::new(Hooks::start().await);
    let id = hooks.submit("github", "k", "queue").await;
    let reference = hooks.ledger.reference(1).await;
    hooks.state(&id, "accepted").await;
    let body = json!({"id": "e-1", "type": "done", "ref": reference, "ticket": "T-1"});
    let mut deliveries = tokio::task::JoinSet::new();
    for _ in 0..23 {
        let (hooks, body) = (hooks.clone(), body.clone());
        deliveries.spawn(async move { hooks.deliver("github", &body).await.status });
    }
    assert!(
        deliveries
            .join_all()
            .await
            .iter()
            .all(|status| *status == 200)
    );
    for _ in 0..23 {
        assert_eq!(hooks.deliver("github", &body).await.status, 200);
    }
    // Nor does a name of its own for each repetition make it more than one.
    let renamed = json!({"id": "e-2", "type": "done", "ref": reference, "ticket": "T-1"});
    hooks.deliver("github", &renamed).await;
    assert_eq!(hooks.state(&id, "succeeded").await["revised"], false);
    assert_eq!(hooks.reported(&id).await, 1);
    assert_eq!(hooks.ledger.effects(), 1);
}

// R9, R21: the reversal comes before what it reverses, and a failure of another job changes nothing.
#[tokio::test]
async fn reordered_and_contradictory_reports_come_to_the_same() {
    let hooks = Hooks::start().await;
    let id = hooks.submit("mac", "k", "queue").await;
    let reference = hooks.ledger.reference(1).await;
    hooks.state(&id, "accepted").await;
    let reversal =
        json!({"id": "e-3", "type": "returned", "ref": reference, "reason": "undeliverable"});
    hooks.deliver("mac", &reversal).await;
    let other = json!({"id": "e-2", "type": "failed", "ref": reference, "job": "job-77", "reason": "no stock"});
    hooks.deliver("mac", &other).await;
    assert_eq!(hooks.status(&id).await["state"], "accepted");
    let done = json!({"id": "e-1", "type": "done", "ref": reference, "ticket": "T-1"});
    hooks.deliver("mac", &done).await;
    let status = hooks.state(&id, "succeeded").await;
    assert_eq!(status["duplicate_suspected"], false);
    let failed = json!({"id": "e-4", "type": "failed", "ref": reference, "job": "job-1", "reason": "no stock"});
    hooks.deliver("mac", &failed).await;
    assert_eq!(
        hooks.status(&id).await["state"],
        "succeeded",
        "positive wins"
    );
    assert_eq!(hooks.reported(&id).await, 4);
}

#[tokio::test]
async fn a_failure_after_the_acceptance_is_a_failure() {
    let hooks = Hooks::start().await;
    let id = hooks.submit("mac", "k", "queue").await;
    hooks.state(&id, "accepted").await;
    let failed = json!({"id": "e-1", "type": "failed", "job": "job-1", "reason": "no stock"});
    hooks.deliver("mac", &failed).await;
    hooks.state(&id, "terminal_failure").await;
    assert_eq!(hooks.ledger.effects(), 1);
}

#[tokio::test]
async fn a_report_before_the_answer_that_it_belongs_to_is_matched_with_it() {
    let hooks = Hooks::start().await;
    let id = hooks.submit("slack", "k", "slow").await;
    hooks.ledger.reference(1).await;
    let early = json!({"id": "e-1", "type": "done", "job": "job-1", "ticket": "T-1"});
    assert_eq!(hooks.deliver("slack", &early).await.status, 200);
    let unmatched = hooks.reports("?unmatched=true").await;
    assert_eq!(unmatched.len(), 1);
    assert_eq!(unmatched[0]["action"], Value::Null);
    assert_eq!(unmatched[0]["readings"][0]["names"][0]["name"], "job-1");
    hooks.ledger.open.send_replace(true);
    let settled = hooks.state(&id, "succeeded").await;
    assert_eq!(settled["receipt"]["reference"], "T-1");
    assert_eq!(hooks.reports("?unmatched=true").await, Vec::<Value>::new());
    assert_eq!(hooks.ledger.effects(), 1, "it is not sent again");
}

// A lost answer, and no key and no lookup: the destination's own report settles it, and nobody was asked.
#[tokio::test]
async fn a_lost_answer_is_settled_by_a_report() {
    let hooks = Hooks::start().await;
    let id = hooks.submit("stripe", "k", "lose").await;
    let reference = hooks.ledger.reference(1).await;
    let unknown = hooks.state(&id, "outcome_unknown").await;
    assert_eq!(unknown["next"]["do"], "wait", "{unknown}");
    let done = json!({"id": "e-1", "type": "done", "ref": reference, "ticket": "T-1"});
    hooks.deliver("stripe", &done).await;
    hooks.state(&id, "succeeded").await;
    assert_eq!(hooks.ledger.effects(), 1);
}

#[tokio::test]
async fn what_is_about_nothing_of_ours_is_kept_and_shown() {
    let hooks = Hooks::start().await;
    let foreign = json!({"id": "e-1", "type": "done", "ref": "somebody-elses", "ticket": "T-9"});
    assert_eq!(hooks.deliver("github", &foreign).await.status, 200);
    // Nothing that the contract reads, and not even JSON: signed, so it is kept too.
    let headers = signed("mac", "not JSON", now());
    assert_eq!(
        hooks.send(&hooks.path, &headers, "not JSON").await.status,
        200
    );
    let kept = hooks.reports("?unmatched=true").await;
    assert_eq!(kept.len(), 2);
    assert_eq!(
        (&kept[0]["body"], &kept[0]["readings"]),
        (&json!("not JSON"), &json!([]))
    );
    let page = hooks
        .world
        .get("/v1/callbacks?unmatched=true&limit=1")
        .await
        .json();
    assert_eq!(page["callbacks"], json!([kept[0]]));
    let rest = format!("/v1/callbacks?before={}", page["next_before"]);
    let rest = hooks.world.get(&rest).await.json();
    assert_eq!(rest, json!({"callbacks": [kept[1]], "next_before": null}));
}

// Law 9, B187
#[tokio::test]
async fn another_destinations_address_neither_believes_nor_matches() {
    let hooks = Hooks::start().await;
    let id = hooks.submit("basic", "k", "queue").await;
    let reference = hooks.ledger.reference(1).await;
    hooks.state(&id, "accepted").await;
    let body = json!({"id": "e-1", "type": "done", "ref": reference, "ticket": "T-1"}).to_string();
    let other = path_of(&hooks.world, "other").await;
    assert_ne!(other, hooks.path);
    let ours = signed("basic", &body, now());
    assert_eq!(hooks.send(&other, &ours, &body).await.status, 401);
    let theirs = [(
        "Authorization".to_owned(),
        format!("Basic {}", base64(b"another:one")),
    )];
    assert_eq!(hooks.send(&other, &theirs, &body).await.status, 200);
    assert_eq!(hooks.send(&hooks.path, &theirs, &body).await.status, 401);
    let unmatched = hooks.reports("?unmatched=true").await;
    assert_eq!(unmatched.len(), 1);
    assert_eq!(unmatched[0]["destination"], "other");
    assert_eq!(hooks.status(&id).await["state"], "accepted");
    assert_eq!(hooks.reported(&id).await, 0);
}

#[tokio::test]
async fn what_is_old_is_refused_and_an_unknown_address_says_nothing() {
    let hooks = Hooks::start().await;
    let body = json!({"id": "e-1", "type": "done", "ref": "r", "ticket": "T-1"}).to_string();
    for operation in ["stripe", "slack", "standard"] {
        for at in [now() - 600, now() + 600] {
            let headers = signed(operation, &body, at);
            let refused = hooks.send(&hooks.path, &headers, &body).await;
            assert_eq!(refused.status, 401, "{operation}");
        }
    }
    let headers = signed("mac", &body, now());
    let mut answers = BTreeMap::new();
    let almost = format!("{}0", &hooks.path[..hooks.path.len() - 1]);
    let almost = if almost == hooks.path {
        format!("{}1", &hooks.path[..hooks.path.len() - 1])
    } else {
        almost
    };
    for path in [almost.as_str(), "/v1/callbacks/hooks", "/v1/callbacks/x"] {
        let answer = hooks.send(path, &headers, &body).await;
        assert_eq!(answer.status, 404, "{path}");
        answers.insert(answer.text, path);
    }
    assert_eq!(answers.len(), 1, "they are answered alike");
    assert_eq!(hooks.reports("").await, Vec::<Value>::new());
    // Without a token nobody gets to see what came.
    let listed = exchange(
        hooks.world.address,
        &request("GET", "/v1/callbacks", &[], b""),
    )
    .await;
    assert_eq!(listed.status, 401);
}

#[tokio::test]
async fn without_a_secret_that_can_be_read_nothing_is_recorded() {
    let hooks = Hooks::start().await;
    let body = json!({"id": "e-1", "type": "done", "ref": "r", "ticket": "T-1"}).to_string();
    let headers = signed("mac", &body, now());
    let open = path_of(&hooks.world, "open").await;
    let refused = hooks.send(&open, &headers, &body).await;
    assert_eq!(
        (refused.status, refused.json()["code"].clone()),
        (503, json!("F1029"))
    );
    // The one that signed it cannot be read: it is not for us to say that it is forged.
    std::fs::remove_file(hooks.files.path().join("plain")).unwrap();
    let refused = hooks.send(&hooks.path, &headers, &body).await;
    assert_eq!(
        (refused.status, refused.json()["code"].clone()),
        (503, json!("F1029"))
    );
    assert_eq!(hooks.reports("").await, Vec::<Value>::new());
    let large = format!("{{\"x\":\"{}\"}}", "y".repeat(2_000_000));
    let refused = hooks
        .send(&hooks.path, &signed("mac", &large, now()), &large)
        .await;
    assert_eq!(refused.status, 413);
}
