//! A destination that reports what became of its effects, with the signatures of each scheme; what the tests of callbacks run on.

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
pub(crate) const SCHEMES: [(&str, &str); 7] = [
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

/// The longest that a state is waited for.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);

/// The plain secret, and the same as Standard Webhooks writes it.
const SECRET: &str = "correct-horse:battery";
pub(crate) const CODED: &str = "whsec_Y29ycmVjdC1ob3JzZTpiYXR0ZXJ5";
const BASIC: &str = "Basic Y29ycmVjdC1ob3JzZTpiYXR0ZXJ5";

/// What the destination was asked, in the order of arrival, and the gate behind which it keeps slow answers.
#[derive(Clone)]
pub(crate) struct Ledger {
    pub(crate) arrived: Arc<watch::Sender<Vec<Value>>>,
    pub(crate) open: Arc<watch::Sender<bool>>,
    /// How many lookups have arrived. They are answered once the gate is open.
    pub(crate) asked: Arc<watch::Sender<usize>>,
}

impl Ledger {
    /// A destination on a free port: `{"behave": …, "reference": …}` is queued as `job-N`, done as `T-N`, or never answered.
    pub(crate) async fn start() -> (Self, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let ledger = Self {
            arrived: Arc::new(watch::Sender::new(Vec::new())),
            open: Arc::new(watch::Sender::new(false)),
            asked: Arc::new(watch::Sender::new(0)),
        };
        let serving = ledger.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serving.clone().answer(stream));
            }
        });
        (ledger, address)
    }

    pub(crate) async fn answer(self, mut stream: TcpStream) {
        let mut bytes = Vec::new();
        let body = loop {
            let mut piece = [0; 4096];
            let count = stream.read(&mut piece).await.unwrap_or(0);
            if count == 0 {
                return;
            }
            bytes.extend_from_slice(&piece[..count]);
            let text = String::from_utf8_lossy(&bytes).into_owned();
            if text.starts_with("GET /found?ref=") && text.ends_with("\r\n\r\n") {
                let reference = text["GET /found?ref=".len()..].split(' ').next().unwrap();
                return self.found(stream, reference).await;
            }
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
        reply(&mut stream, status, &answer).await;
    }

    /// The lookup shows what the first request made.
    pub(crate) async fn found(self, mut stream: TcpStream, reference: &str) {
        self.asked.send_modify(|asked| *asked += 1);
        let _ = self.open.subscribe().wait_for(|open| *open).await;
        let items = json!({"items": [{"id": "T-1", "ref": reference}]});
        reply(&mut stream, 200, &items).await;
    }

    /// Waits until so many lookups have arrived.
    pub(crate) async fn asked(&self, count: usize) {
        let mut asked = self.asked.subscribe();
        asked.wait_for(|asked| *asked >= count).await.unwrap();
    }

    /// The reference in the n-th request, once it has arrived.
    pub(crate) async fn reference(&self, number: usize) -> String {
        let mut seen = self.arrived.subscribe();
        let arrived = seen.wait_for(|all| all.len() >= number).await.unwrap();
        arrived[number - 1]["reference"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    pub(crate) fn effects(&self) -> usize {
        self.arrived.borrow().len()
    }
}

pub(crate) async fn reply(stream: &mut TcpStream, status: u16, answer: &Value) {
    let text = answer.to_string();
    let head = format!(
        "HTTP/1.1 {status} Fine\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        text.len()
    );
    let _ = stream.write_all((head + &text).as_bytes()).await;
}

/// A server with the destinations `hooks` and `other`, whose operations differ in how their callbacks are signed.
pub(crate) struct Hooks {
    pub(crate) world: World,
    pub(crate) ledger: Ledger,
    pub(crate) path: String,
    pub(crate) files: tempfile::TempDir,
}

pub(crate) fn contract(operation: &str, signature: &str) -> String {
    format!(
        "provider = \"hooks\"\noperation = \"{operation}\"\ntitle = \"An effect that is reported\"\nconsequence = \"costly\"\n\
         [effect]\nmethod = \"POST\"\npath = \"/{operation}\"\nset = [{{ at = \"/reference\", to = \"{{reference}}\" }}]\n\
         direct = true\nsource = {{ person = \"these tests\", date = \"2026-11-29\" }}\n\
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

const FOUND: &str = "[lookup]\nby = \"reference\"\npath = \"/found?ref={reference}\"\nitems = \"/items\"\nours = \"/ref\"\n\
     receipt = { json = \"/id\" }\nauthority = \"partial\"\nlag = \"0 s\"\n\
     source = { person = \"these tests\", date = \"2026-11-29\" }\n";

/// Writes the contracts and secrets, and gives the configuration.
pub(crate) fn written(files: &tempfile::TempDir, base: SocketAddr) -> String {
    let folder = files.path().join("contracts/hooks");
    std::fs::create_dir_all(&folder).unwrap();
    for (operation, signature) in SCHEMES {
        let file = folder.join(format!("{operation}.toml"));
        std::fs::write(file, contract(operation, signature)).unwrap();
    }
    // One that can be looked up as well.
    let found = contract("found", "{ scheme = \"github\" }") + FOUND;
    std::fs::write(folder.join("found.toml"), found).unwrap();
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
    pub(crate) async fn start() -> Self {
        let files = tempfile::tempdir().unwrap();
        Self::on(factum::Factum::memory(), files).await
    }

    pub(crate) async fn on(store: factum::Builder, files: tempfile::TempDir) -> Self {
        let (ledger, base) = Ledger::start().await;
        let world = World::on(store, &written(&files, base), |limits| limits).await;
        let path = path_of(&world, "hooks").await;
        Self {
            world,
            ledger,
            path,
            files,
        }
    }

    /// Submits to an operation; the destination behaves so. Gives the action's id.
    pub(crate) async fn submit(&self, operation: &str, key: &str, behave: &str) -> String {
        let submission = json!({
            "destination": "hooks", "operation": operation, "key": key, "payload": {"behave": behave},
        });
        let answer = self.world.post("/v1/actions", &submission).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        answer.json()["id"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn status(&self, id: &str) -> Value {
        self.world.get(&format!("/v1/actions/{id}")).await.json()
    }

    /// The status once it is this state.
    pub(crate) async fn state(&self, id: &str, wanted: &str) -> Value {
        let reached = async {
            loop {
                let status = self.status(id).await;
                if status["state"] == wanted {
                    return status;
                }
                tokio::task::yield_now().await;
            }
        };
        match tokio::time::timeout(PATIENCE, reached).await {
            Ok(status) => status,
            Err(_) => panic!("never {wanted}: {}", self.status(id).await),
        }
    }

    pub(crate) async fn deliver(&self, operation: &str, body: &Value) -> Answer {
        let body = body.to_string();
        let headers = signed(operation, &body, now());
        self.send(&self.path, &headers, &body).await
    }

    pub(crate) async fn send(
        &self,
        path: &str,
        headers: &[(String, String)],
        body: &str,
    ) -> Answer {
        send(self.world.address, path, headers, body).await
    }

    pub(crate) async fn reports(&self, query: &str) -> Vec<Value> {
        let answer = self.world.get(&format!("/v1/callbacks{query}")).await;
        answer.json()["callbacks"].as_array().unwrap().clone()
    }

    /// How many reports the action's evidence holds.
    pub(crate) async fn reported(&self, id: &str) -> usize {
        let path = format!("/v1/actions/{id}/evidence");
        let evidence = self.world.get(&path).await.json();
        let evidence = evidence["evidence"].as_array().unwrap().clone();
        let reports = evidence.iter().filter(|one| one["fact"] == "called_back");
        reports.count()
    }
}

pub(crate) async fn path_of(world: &World, destination: &str) -> String {
    let shown = world.get(&format!("/v1/destinations/{destination}")).await;
    let path = shown.json()["callback"]["path"].clone();
    path.as_str().unwrap().to_owned()
}

pub(crate) async fn send(
    address: SocketAddr,
    path: &str,
    headers: &[(String, String)],
    body: &str,
) -> Answer {
    let pairs = headers.iter();
    let headers: Vec<(&str, &str)> = pairs.map(|(n, v)| (n.as_str(), v.as_str())).collect();
    exchange(address, &request("POST", path, &headers, body.as_bytes())).await
}

pub(crate) fn now() -> i64 {
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
    i64::try_from(since.as_secs()).unwrap()
}

pub(crate) fn mac(text: &str) -> Vec<u8> {
    let mac = Hmac::<sha2::Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.chain_update(text).finalize().into_bytes().to_vec()
}

pub(crate) fn hex(text: &str) -> String {
    mac(text).iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

pub(crate) fn base64(bytes: &[u8]) -> String {
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
pub(crate) fn signed(operation: &str, body: &str, at: i64) -> Vec<(String, String)> {
    let one = |name: &str, value: String| (name.to_owned(), value);
    match operation {
        "stripe" => {
            let text = format!("{at}.{body}");
            vec![one("Stripe-Signature", format!("t={at},v1={}", hex(&text)))]
        }
        "github" | "found" => vec![one("X-Hub-Signature-256", format!("sha256={}", hex(body)))],
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
