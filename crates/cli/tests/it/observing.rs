//! Traces and logs of a running server: a collector of our own takes the spans, and the lines on standard error are read.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

use serde_json::{Value, json};

use crate::support::{Bed, Folder, PATIENCE, business};

/// A trace as a caller sends it.
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER: &str = "00f067aa0ba902b7";

/// Takes what is posted to it.
struct Collector {
    address: String,
    bodies: Receiver<Value>,
    spans: Vec<Value>,
}

impl Collector {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (sender, bodies) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let sender = sender.clone();
                std::thread::spawn(move || take(stream, &sender));
            }
        });
        Self {
            address,
            bodies,
            spans: Vec::new(),
        }
    }

    /// The first span that fits, however many come before it.
    fn span(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(span) = self.spans.iter().find(|span| fits(span)) {
                return span.clone();
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let body = self.bodies.recv_timeout(left);
            let body = body.unwrap_or_else(|_| panic!("it never came: {:?}", self.spans));
            let spans = &body["resourceSpans"][0]["scopeSpans"][0]["spans"];
            self.spans.extend(spans.as_array().unwrap().iter().cloned());
        }
    }
}

/// Reads requests on one connection, and answers each.
fn take(stream: TcpStream, sender: &Sender<Value>) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            let line = line.trim().to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.parse().unwrap();
            }
            if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let _ = sender.send(serde_json::from_slice(&body).unwrap());
        let answer =
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
        let _ = reader.get_mut().write_all(answer.as_bytes());
    }
}

fn named<'a>(name: &'a str, trace: &'a str) -> impl Fn(&Value) -> bool + 'a {
    move |span| span["name"] == name && span["traceId"] == trace
}

fn attribute<'a>(span: &'a Value, name: &str) -> &'a str {
    let all = span["attributes"].as_array().unwrap();
    let found = all
        .iter()
        .find(|one| one["key"] == format!("factum.{name}"));
    found.map_or("", |one| one["value"]["stringValue"].as_str().unwrap())
}

#[test]
fn a_trace_goes_from_the_caller_through_a_lost_answer_to_the_settlement() {
    let mut collector = Collector::start();
    let bed = Bed::with(&["--faults", "close_fin,class=effect,n=1"]);
    let folder = Folder::with(&bed);
    let config = folder.read("factum.toml");
    folder.write(
        "factum.toml",
        &format!("traces.endpoint = \"{}\"\n{config}", collector.address),
    );
    let server = folder.serve();
    let canary = "canary-4111111111111111";
    let submission = json!({
        "destination": "bed", "operation": "lookup.sync", "key": "k", "payload": {"business": canary},
        "trace": format!("00-{TRACE}-{CALLER}-01"),
    });
    let made = server.ask("POST", "/v1/actions", &submission).unwrap();
    assert_eq!(made.status, 201, "{:?}", made.body);

    let submit = collector.span(named("submit", TRACE));
    assert_eq!(
        (&submit["parentSpanId"], attribute(&submit, "result")),
        (&json!(CALLER), "created")
    );
    let send = collector.span(named("send", TRACE));
    assert_eq!(send["parentSpanId"], submit["spanId"]);
    assert_eq!(
        (attribute(&send, "result"), attribute(&send, "right")),
        ("lost", "first")
    );
    let asked = collector.span(named("look_up", TRACE));
    assert_eq!(
        (&asked["parentSpanId"], &asked["kind"]),
        (&submit["spanId"], &json!(3))
    );
    let settle = collector.span(named("settle", TRACE));
    assert_eq!(
        (attribute(&settle, "result"), attribute(&settle, "by")),
        ("succeeded", "lookup")
    );

    // A repeat of another caller leads to the first.
    let mut again = submission.clone();
    let other = "0af7651916cd43dd8448eb211c80319c";
    again["trace"] = json!(format!("00-{other}-{CALLER}-01"));
    assert_eq!(
        server.ask("POST", "/v1/actions", &again).unwrap().status,
        200
    );
    let joined = collector.span(named("submit", other));
    let link = json!({"traceId": TRACE, "spanId": submit["spanId"]});
    assert_eq!(joined["links"], json!([link]), "{joined}");
    let all = json!(collector.spans).to_string();
    assert!(
        !all.contains("canary"),
        "no payload leaves by a trace: {all}"
    );
    server.stop();
}

#[test]
fn a_collector_that_is_away_stops_nothing() {
    let bed = Bed::start();
    let folder = Folder::with(&bed);
    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let config = folder.read("factum.toml");
    folder.write(
        "factum.toml",
        &format!("traces.endpoint = \"http://{free}\"\n{config}"),
    );
    let server = folder.serve();
    let id = folder.submit("key.sync", "k", &business("b"))["id"].clone();
    folder.status_when(id.as_str().unwrap(), |status| {
        status["state"] == "succeeded"
    });
    server.stop();
}

#[test]
fn lines_are_json_where_that_is_configured_and_each_decision_has_its_why() {
    let bed = Bed::start();
    let folder = Folder::with(&bed);
    let config = folder.read("factum.toml");
    folder.write(
        "factum.toml",
        &format!("log = {{ format = \"json\", decisions = true }}\n{config}"),
    );
    let mut command = folder.command(&["serve", "--listen", "127.0.0.1:0", "--json"]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (out, err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let mut said = String::new();
    BufReader::new(out).read_line(&mut said).unwrap();
    let id = folder.submit("key.sync", "k", &business("canary-b"))["id"].clone();
    let id = id.as_str().unwrap();
    folder.status_when(id, |status| status["state"] == "succeeded");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let mut text = String::new();
    BufReader::new(err).read_to_string(&mut text).unwrap();
    child.wait().unwrap();

    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect();
    let about = |line: &&Value| line["message"] == "decided" && line["action"] == id;
    let decided: Vec<&Value> = lines.iter().filter(about).collect();
    let last = decided.last().unwrap_or_else(|| panic!("{text}"));
    assert_eq!(
        (&last["state"], &last["next"]),
        (&json!("succeeded"), &json!("none")),
        "{last}"
    );
    assert!(
        decided
            .iter()
            .all(|line| line["why"].as_str().is_some_and(|why| !why.is_empty()))
    );
    assert!(
        lines
            .iter()
            .any(|line| line["message"] == "request" && line["status"] == 201)
    );
    assert!(!text.contains("canary"), "{text}");
}
