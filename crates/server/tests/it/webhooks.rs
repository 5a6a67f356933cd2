//! Webhooks: every change comes at least once, signed, to the tenant whose it is. The receiver here checks signatures by itself.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::world::{World, submission};

const PATIENCE: Duration = Duration::from_secs(60);

/// This machine may be posted to.
const HERE: &str = "webhooks.allow_private = true";

/// One post as it came.
#[derive(Clone, Debug)]
struct Post {
    id: String,
    timestamp: String,
    signatures: Vec<String>,
    body: String,
}

impl Post {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// Whether one of its signatures is made with this secret.
    fn is_signed_with(&self, secret: &str) -> bool {
        let key = decode(secret.strip_prefix("whsec_").unwrap());
        let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
        mac.update(format!("{}.{}.{}", self.id, self.timestamp, self.body).as_bytes());
        let wanted = mac.finalize().into_bytes().to_vec();
        let mut given = self.signatures.iter();
        given.any(|one| one.strip_prefix("v1,").map(decode).as_ref() == Some(&wanted))
    }
}

/// Base64, as the standard has it.
fn decode(text: &str) -> Vec<u8> {
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text.bytes().filter(|byte| *byte != b'=');
    let (mut bytes, mut held, mut bits) = (Vec::new(), 0_u32, 0);
    for digit in digits {
        let digit = letters.iter().position(|letter| *letter == digit).unwrap();
        held = (held << 6) | u32::try_from(digit).unwrap();
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from((held >> bits) & 0xff).unwrap());
        }
    }
    bytes
}

/// Takes posts, and answers as it is told: with these statuses, then with 204. 0 is an answer that never comes.
struct Receiver {
    url: String,
    posts: Arc<Mutex<Vec<Post>>>,
    count: watch::Receiver<usize>,
}

impl Receiver {
    async fn start(answers: &[u16]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook?a=1", listener.local_addr().unwrap());
        let posts = Arc::new(Mutex::new(Vec::new()));
        let answers = Arc::new(Mutex::new(VecDeque::from(answers.to_vec())));
        let (counted, count) = watch::channel(0);
        let (kept, counted) = (posts.clone(), Arc::new(counted));
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (posts, answers) = (kept.clone(), answers.clone());
                let counted = counted.clone();
                tokio::spawn(async move {
                    take(socket, &posts, &answers, &counted).await;
                });
            }
        });
        Self { url, posts, count }
    }

    async fn until(&self, wanted: usize) -> Vec<Post> {
        let mut count = self.count.clone();
        let enough = count.wait_for(|count| *count >= wanted);
        timeout(PATIENCE, enough)
            .await
            .expect("posts come")
            .unwrap();
        self.posts.lock().unwrap().clone()
    }
}

async fn take(
    mut socket: TcpStream,
    posts: &Mutex<Vec<Post>>,
    answers: &Mutex<VecDeque<u16>>,
    counted: &watch::Sender<usize>,
) {
    let (mut text, mut bytes) = (String::new(), [0; 8_192]);
    let post = loop {
        let read = socket.read(&mut bytes).await.unwrap_or(0);
        if read == 0 {
            return;
        }
        text.push_str(std::str::from_utf8(&bytes[..read]).unwrap());
        if let Some(post) = read_post(&text) {
            break post;
        }
    };
    posts.lock().unwrap().push(post);
    let status = answers.lock().unwrap().pop_front().unwrap_or(204);
    counted.send_modify(|count| *count += 1);
    if status == 0 {
        std::future::pending::<()>().await;
    }
    let answer = format!(
        "HTTP/1.1 {status} X\r\nlocation: /elsewhere\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    );
    let _ = socket.write_all(answer.as_bytes()).await;
}

fn read_post(text: &str) -> Option<Post> {
    let (head, body) = text.split_once("\r\n\r\n")?;
    let header = |name: &str| {
        let mut lines = head.lines();
        lines.find_map(|line| {
            let (known, value) = line.split_once(": ")?;
            known.eq_ignore_ascii_case(name).then(|| value.to_owned())
        })
    };
    assert!(head.starts_with("POST /hook?a=1 HTTP/1.1"), "{head}");
    assert_eq!(header("content-type").as_deref(), Some("application/json"));
    let length: usize = header("content-length")?.parse().unwrap();
    (body.len() == length).then(|| Post {
        id: header("webhook-id").unwrap(),
        timestamp: header("webhook-timestamp").unwrap(),
        signatures: header("webhook-signature")
            .unwrap()
            .split(' ')
            .map(str::to_owned)
            .collect(),
        body: body.to_owned(),
    })
}

/// Makes an endpoint of a tenant, and gives its secret.
async fn hook(world: &World, token: &str, name: &str, url: &str, types: &[&str]) -> String {
    let wish = json!({"name": name, "url": url, "types": types}).to_string();
    let made = world
        .call_as(token, "POST", "/v1/webhooks", &[], &wish)
        .await;
    assert_eq!(made.status, 201, "{}", made.text);
    made.json()["secret"].as_str().unwrap().to_owned()
}

async fn settle(world: &World, token: &str, name: &str, behave: &str) -> Value {
    let body = submission(name, behave).to_string();
    let headers = [("Prefer", "wait=30")];
    let made = world
        .call_as(token, "POST", "/v1/actions", &headers, &body)
        .await;
    assert_eq!(made.status, 201, "{}", made.text);
    made.json()
}

/// The endpoint once it is as wanted.
async fn shown(world: &World, token: &str, name: &str, is: impl Fn(&Value) -> bool) -> Value {
    let target = format!("/v1/webhooks/{name}");
    let looked = async {
        loop {
            let shown = world.call_as(token, "GET", &target, &[], "").await.json();
            if is(&shown) {
                return shown;
            }
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, looked).await.expect("it comes to that")
}

#[tokio::test]
async fn each_change_is_posted_in_order_and_signed() {
    let world = World::with(HERE, |limits| limits).await;
    let (acme, globex) = (world.tenant("acme").await, world.tenant("globex").await);
    let receiver = Receiver::start(&[]).await;
    let other = Receiver::start(&[]).await;
    let secret = hook(&world, &acme, "all", &receiver.url, &[]).await;
    let theirs = hook(&world, &globex, "all", &other.url, &[]).await;
    assert_ne!(secret, theirs);
    let (lost, done) = (
        settle(&world, &acme, "a", "lose").await,
        settle(&world, &acme, "b", "done").await,
    );
    settle(&world, &globex, "g", "reject").await;
    let posts = receiver.until(3).await;
    let kinds: Vec<Value> = posts
        .iter()
        .map(|post| post.json()["type"].clone())
        .collect();
    assert_eq!(
        kinds,
        [
            "action.outcome_unknown",
            "review.entered",
            "action.succeeded"
        ]
    );
    for post in &posts {
        assert!(post.is_signed_with(&secret), "{post:?}");
        assert!(!post.is_signed_with(&theirs));
        let event = post.json();
        assert_eq!(event["id"], post.id.as_str());
        assert_eq!(event["tenant"], "acme");
    }
    assert_eq!(posts[0].json()["data"]["action"]["id"], lost["id"]);
    assert_eq!(posts[1].json()["data"]["review"]["waiting"], 1);
    assert_eq!(posts[2].json()["data"]["action"]["id"], done["id"]);
    // They are the events of the feed.
    let page = world
        .call_as(&acme, "GET", "/v1/events", &[], "")
        .await
        .json();
    let ids: Vec<Value> = posts.iter().map(|post| json!(post.id)).collect();
    let of_feed = page["events"].as_array().unwrap().iter();
    assert_eq!(
        of_feed.map(|event| event["id"].clone()).collect::<Vec<_>>(),
        ids
    );
    let posts = other.until(1).await;
    assert_eq!(
        posts[0].json()["data"]["action"]["state"],
        "terminal_failure"
    );
    assert_eq!(posts.len(), 1);
    // The secret is shown once.
    let shown = shown(&world, &acme, "all", |shown| {
        shown["deliveries"].as_array().unwrap().len() == 3
    })
    .await;
    assert!(!shown.to_string().contains("whsec_"));
    let tries: Vec<&Value> = shown["deliveries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| &line["outcome"])
        .collect();
    assert_eq!(tries, ["delivered"; 3]);
}

// B166: each delivery of one change has one name.
#[tokio::test]
async fn what_fails_comes_again_by_the_same_name_and_a_redirect_is_not_followed() {
    let world = World::with(HERE, |limits| limits).await;
    let acme = world.tenant("acme").await;
    let receiver = Receiver::start(&[500, 302]).await;
    let secret = hook(&world, &acme, "crm", &receiver.url, &["action.succeeded"]).await;
    settle(&world, &acme, "a", "done").await;
    // The first pause takes five seconds, the second half a minute: what is replayed needs not wait for it.
    let posts = receiver.until(2).await;
    assert_eq!(posts[0].id, posts[1].id);
    assert_eq!(posts[0].json()["cursor"], posts[1].json()["cursor"]);
    let failed = shown(&world, &acme, "crm", |shown| {
        shown["retrying"] == 1 && shown["failures_in_a_row"] == 2
    })
    .await;
    let line = &failed["deliveries"][0];
    assert_eq!(
        (&line["status"], &line["try"], &line["outcome"]),
        (&json!(302), &json!(2), &json!("retry"))
    );
    assert!(line["error"].as_str().unwrap().contains("not followed"));
    let replay = json!({"cursor": posts[0].json()["cursor"]}).to_string();
    let target = "/v1/webhooks/crm/replay";
    let replayed = world.call_as(&acme, "POST", target, &[], &replay).await;
    assert_eq!(replayed.status, 200, "{}", replayed.text);
    let posts = receiver.until(3).await;
    assert_eq!(posts[2].id, posts[0].id);
    assert!(posts[2].is_signed_with(&secret));
    let done = shown(&world, &acme, "crm", |shown| shown["retrying"] == 0).await;
    assert_eq!(done["deliveries"][0]["outcome"], "delivered");
    // From an instant on, everything comes again.
    let since = json!({"since": "2020-01-01T00:00:00Z"}).to_string();
    world.call_as(&acme, "POST", target, &[], &since).await;
    assert_eq!(receiver.until(4).await[3].id, posts[0].id);
}

#[tokio::test]
async fn gone_switches_off_and_switched_on_it_goes_on_where_it_stopped() {
    let world = World::with(HERE, |limits| limits).await;
    let acme = world.tenant("acme").await;
    let receiver = Receiver::start(&[410]).await;
    hook(&world, &acme, "crm", &receiver.url, &["action.succeeded"]).await;
    let first = settle(&world, &acme, "a", "done").await;
    receiver.until(1).await;
    let off = shown(&world, &acme, "crm", |shown| {
        shown["standing"] == "suspended"
    })
    .await;
    assert_eq!(off["changed"]["why"], "it answered 410 Gone");
    let second = settle(&world, &acme, "b", "done").await;
    let target = "/v1/webhooks/crm/state";
    let on = json!({"standing": "active", "why": "it is back"}).to_string();
    assert_eq!(
        world.call_as(&acme, "POST", target, &[], &on).await.status,
        200
    );
    let posts = receiver.until(3).await;
    let mut told: Vec<String> = posts[1..]
        .iter()
        .map(|post| post.json()["data"]["action"]["id"].to_string())
        .collect();
    told.sort();
    let mut wanted = vec![first["id"].to_string(), second["id"].to_string()];
    wanted.sort();
    assert_eq!(told, wanted, "both, the first again");
    // What is removed is posted nothing to, and its name is not given again.
    let removed = json!({"standing": "revoked", "why": "no longer needed"}).to_string();
    world.call_as(&acme, "POST", target, &[], &removed).await;
    let again = world.call_as(&acme, "POST", target, &[], &on).await;
    assert_eq!(again.status, 409);
    let wish = json!({"name": "crm", "url": receiver.url}).to_string();
    let taken = world
        .call_as(&acme, "POST", "/v1/webhooks", &[], &wish)
        .await;
    assert_eq!(
        (taken.status, &taken.json()["code"]),
        (409, &json!("F1064"))
    );
}

#[tokio::test]
async fn while_a_secret_is_changed_both_sign() {
    let world = World::with(HERE, |limits| limits).await;
    let acme = world.tenant("acme").await;
    let receiver = Receiver::start(&[]).await;
    let old = hook(&world, &acme, "crm", &receiver.url, &[]).await;
    let rotate = async |body: Value| {
        let target = "/v1/webhooks/crm/rotate";
        let made = world
            .call_as(&acme, "POST", target, &[], &body.to_string())
            .await;
        assert_eq!(made.status, 201, "{}", made.text);
        made.json()["secret"].as_str().unwrap().to_owned()
    };
    let second = rotate(json!({"overlap_s": 3_600})).await;
    settle(&world, &acme, "a", "done").await;
    let posts = receiver.until(1).await;
    assert!(posts[0].is_signed_with(&old) && posts[0].is_signed_with(&second));
    let third = rotate(json!({"overlap_s": 0})).await;
    settle(&world, &acme, "b", "done").await;
    let posts = receiver.until(2).await;
    assert!(posts[1].is_signed_with(&third));
    assert!(!posts[1].is_signed_with(&second) && !posts[1].is_signed_with(&old));
    // A test says what came back.
    let target = "/v1/webhooks/crm/test";
    let tested = world.call_as(&acme, "POST", target, &[], "").await.json();
    assert_eq!(tested, json!({"taken": true, "status": 204, "error": null}));
    let posts = receiver.until(3).await;
    assert!(posts[2].is_signed_with(&third));
    assert_eq!(posts[2].json()["type"], "webhook.test");
}

#[tokio::test]
async fn a_slow_endpoint_holds_no_other_up() {
    let world = World::with(HERE, |limits| limits).await;
    let acme = world.tenant("acme").await;
    let (slow, quick) = (Receiver::start(&[0; 20]).await, Receiver::start(&[]).await);
    hook(&world, &acme, "slow", &slow.url, &[]).await;
    hook(&world, &acme, "quick", &quick.url, &[]).await;
    settle(&world, &acme, "a", "done").await;
    slow.until(1).await;
    for name in ["b", "c", "d"] {
        settle(&world, &acme, name, "done").await;
    }
    assert_eq!(quick.until(4).await.len(), 4);
    assert_eq!(
        slow.posts.lock().unwrap().len(),
        1,
        "it still waits for its answer"
    );
}

#[tokio::test]
async fn nothing_of_the_operators_network_is_posted_to() {
    let world = World::start().await;
    let acme = world.tenant("acme").await;
    for url in [
        "http://127.0.0.1:9/hook",
        "http://hooks.example.com/hook",
        "https://127.0.0.1/hook",
        "https://10.1.2.3/hook",
        "https://[::1]/hook",
        "https://[fd00::1]:8443/hook",
        "https://169.254.169.254/latest",
        "https://localhost/hook",
        "https://user:hunter2@hooks.example.com/",
        "hooks.example.com",
        "",
    ] {
        let wish = json!({"name": "crm", "url": url}).to_string();
        let refused = world
            .call_as(&acme, "POST", "/v1/webhooks", &[], &wish)
            .await;
        assert_eq!(
            (refused.status, &refused.json()["code"]),
            (422, &json!("F1122")),
            "{url}"
        );
        assert!(!refused.text.contains("hunter2"), "{}", refused.text);
    }
    let listed = world
        .call_as(&acme, "GET", "/v1/webhooks", &[], "")
        .await
        .json();
    assert_eq!(listed["webhooks"], json!([]), "nothing was kept");
}
