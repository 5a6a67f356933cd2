//! Webhooks from the terminal, and over a crash: every change is posted at least once, to the tenant whose it is.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use serde_json::{Value, json};

use crate::support::{Bed, Folder, PATIENCE, business, configuration};

/// One post as it came.
#[derive(Clone, Debug)]
struct Post {
    path: String,
    id: String,
    timestamp: String,
    signature: String,
    body: String,
}

/// Takes posts; while it is held, it answers none.
struct Receiver {
    address: String,
    posts: Arc<Mutex<Vec<Post>>>,
    held: Arc<AtomicBool>,
}

impl Receiver {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (posts, held) = (
            Arc::new(Mutex::new(Vec::new())),
            Arc::new(AtomicBool::new(false)),
        );
        let (kept, holds) = (posts.clone(), held.clone());
        std::thread::spawn(move || {
            let mut unanswered = Vec::new();
            for socket in listener.incoming() {
                let mut socket = socket.unwrap();
                let Some(post) = read(&mut socket) else {
                    continue;
                };
                kept.lock().unwrap().push(post);
                if holds.load(Ordering::SeqCst) {
                    unanswered.push(socket);
                } else {
                    let answer =
                        b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
                    let _ = socket.write_all(answer);
                }
            }
        });
        Self {
            address,
            posts,
            held,
        }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.address)
    }

    /// What came, once that is enough.
    fn until(&self, is_enough: impl Fn(&[Post]) -> bool) -> Vec<Post> {
        let begun = Instant::now();
        loop {
            let posts = self.posts.lock().unwrap().clone();
            if is_enough(&posts) {
                return posts;
            }
            assert!(begun.elapsed() < PATIENCE, "{posts:?}");
            std::thread::yield_now();
        }
    }
}

fn read(socket: &mut TcpStream) -> Option<Post> {
    let (mut text, mut bytes) = (String::new(), [0; 8_192]);
    loop {
        let read = socket.read(&mut bytes).ok().filter(|read| *read > 0)?;
        text.push_str(std::str::from_utf8(&bytes[..read]).ok()?);
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let header = |name: &str| {
            let mut lines = head.lines().filter_map(|line| line.split_once(": "));
            let found = lines.find(|(known, _)| known.eq_ignore_ascii_case(name));
            found.map(|(_, value)| value.to_owned()).unwrap_or_default()
        };
        if body.len() == header("content-length").parse::<usize>().ok()? {
            return Some(Post {
                path: head.split(' ').nth(1)?.to_owned(),
                id: header("webhook-id"),
                timestamp: header("webhook-timestamp"),
                signature: header("webhook-signature"),
                body: body.to_owned(),
            });
        }
    }
}

/// The ids of actions that succeeded, as the posts tell.
fn told(posts: &[Post]) -> Vec<String> {
    let events = posts
        .iter()
        .map(|post| serde_json::from_str::<Value>(&post.body).unwrap());
    let mut told: Vec<String> = events
        .filter(|event| event["type"] == "action.succeeded")
        .map(|event| event["data"]["action"]["id"].as_str().unwrap().to_owned())
        .collect();
    told.sort();
    told.dedup();
    told
}

// B166: also after the server that posted it died.
#[test]
fn a_server_that_is_killed_between_feed_and_post_loses_no_change() {
    let bed = Bed::start();
    let folder = Folder::new();
    let allowed = "\n[webhooks]\nallow_private = true\n";
    folder.write(
        "factum.toml",
        &format!("{}{allowed}", configuration(&bed.base)),
    );
    let receiver = Receiver::start();
    let server = folder.serve();
    folder.json(&["tenant", "add", "acme"]);
    let (ours, theirs) = (receiver.url("ours"), receiver.url("theirs"));
    let made = folder.json(&[
        "webhook",
        "add",
        "crm",
        "--url",
        &ours,
        "--type",
        "action.succeeded",
    ]);
    let secret = made["secret"].as_str().unwrap().to_owned();
    folder.json(&[
        "webhook", "add", "crm", "--url", &theirs, "--tenant", "acme",
    ]);
    receiver.held.store(true, Ordering::SeqCst);
    let mut ids = Vec::new();
    for name in ["order-1", "order-2", "order-3"] {
        let made = folder.submit("key.sync", name, &business(name));
        ids.push(made["id"].as_str().unwrap().to_owned());
        folder.status_when(&ids[ids.len() - 1], |status| status["state"] == "succeeded");
    }
    ids.sort();
    // The first was posted, and nobody knows whether it was taken: the server dies.
    receiver.until(|posts| !posts.is_empty());
    server.child.kill();
    receiver.held.store(false, Ordering::SeqCst);
    let server = folder.serve();
    let posts = receiver.until(|posts| told(&posts[1..]) == ids);
    assert_eq!(posts[0].id, posts[1].id, "a repeat is known by its id");
    assert!(
        posts.iter().all(|post| post.path == "/ours"),
        "the other tenant's hears nothing"
    );
    for name in ["order-1", "order-2", "order-3"] {
        assert_eq!(bed.effects(name), 1);
    }
    as_the_book_checks(&folder, &posts[1], &secret);
    as_the_terminal_says(&folder, &posts[1].id);
    server.stop();
}

/// What the commands say afterwards; `id` is the first event's.
fn as_the_terminal_says(folder: &Folder, id: &str) {
    let log = folder.run(&["webhook", "log", "crm"]);
    assert!(
        log.out.contains("delivered") && log.out.contains(id),
        "{}",
        log.out
    );
    let events = folder.run(&["events", "--type", "action.succeeded", "--json"]);
    let lines: Vec<Value> = events
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[0]["id"], id);
    let from = lines[1]["cursor"].as_str().unwrap();
    let rest = folder.run(&["events", "--from", from, "--json"]);
    assert_eq!(rest.out.lines().count(), 1);
    let tested = folder.run(&["webhook", "test", "crm"]);
    assert_eq!((tested.code, tested.out.trim()), (0, "taken: status 200"));
    folder.json(&["webhook", "disable", "crm", "--why", "a test"]);
    assert_eq!(
        folder.json(&["webhook", "show", "crm"])["standing"],
        "suspended"
    );
    let listed = folder.json(&["webhook", "list"]);
    assert_eq!(listed["webhooks"].as_array().unwrap().len(), 1);
}

/// The examples of the book, run with what came, where their languages are there.
fn as_the_book_checks(folder: &Folder, post: &Post, secret: &str) {
    let book = include_str!("../../../../docs/events.md");
    let example = |language: &str| {
        let begin = format!("```{language}\n");
        let code = book.split(&begin).nth(1).expect("the example is there");
        code.split("```").next().unwrap_or_default().to_owned()
    };
    let headers = json!({
        "webhook-id": post.id, "webhook-timestamp": post.timestamp, "webhook-signature": post.signature,
    });
    let (secret, body) = (json!(secret).to_string(), json!(post.body).to_string());
    let python = format!(
        "{}\nheaders, body = {headers}, {body}.encode()\nassert is_ours({secret}, headers, body)\nassert not is_ours({secret}, headers, body + b' ')\n",
        example("python"),
    );
    let node = format!(
        "{}\nconst headers = {headers}, body = Buffer.from({body});\nif (!isOurs({secret}, headers, body)) process.exit(1);\nif (isOurs({secret}, headers, Buffer.concat([body, body]))) process.exit(2);\n",
        example("javascript"),
    );
    for (program, name, text) in [("python3", "check.py", python), ("node", "check.js", node)] {
        folder.write(name, &text);
        let ran = Command::new(program)
            .arg(folder.path(name))
            .stdin(Stdio::null())
            .output();
        // Another machine may not have it; what it says where it runs has to be right.
        if let Ok(ran) = ran {
            let said = String::from_utf8_lossy(&ran.stderr);
            assert!(ran.status.success(), "{program}: {said}\n{text}");
        }
    }
}
