//! The log of requests, as a process writes it: one line for each, and its id on whatever else is said while it is answered.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::{Bed, Folder};

/// A served engine whose lines are kept.
struct Logged {
    child: Child,
    err: ChildStderr,
    host: String,
    token: String,
}

impl Logged {
    fn start(folder: &Folder, level: &str) -> Self {
        let mut command = folder.command(&["serve", "--listen", "127.0.0.1:0", "--json"]);
        let mut child = command
            .env("FACTUM_LOG", level)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (out, err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let mut said = String::new();
        BufReader::new(out).read_line(&mut said).unwrap();
        let said: Value = serde_json::from_str(&said).unwrap();
        let token = std::fs::read_to_string(said["token_file"].as_str().unwrap()).unwrap();
        let address = said["address"].as_str().unwrap();
        Self {
            child,
            err,
            host: address.trim_start_matches("http://").to_owned(),
            token: token.trim().to_owned(),
        }
    }

    /// Asks under an id; the status.
    fn ask(&self, id: &str, (method, path): (&str, &str), body: &str) -> u16 {
        let Self { host, token, .. } = self;
        let mut stream = TcpStream::connect(host).unwrap();
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\nx-request-id: {id}\r\n\
             connection: close\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(
            answer.contains(&format!("x-request-id: {id}\r\n")),
            "{answer}"
        );
        answer.split(' ').nth(1).unwrap().parse().unwrap()
    }

    /// Ends it; every line that it wrote.
    fn lines(mut self) -> Vec<String> {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        let mut text = String::new();
        self.err.read_to_string(&mut text).unwrap();
        assert!(self.child.wait().unwrap().success());
        text.lines().map(str::to_owned).collect()
    }
}

#[test]
fn a_request_has_one_line_that_says_who_asked_what_and_how_it_ended() {
    let bed = Bed::start();
    let folder = Folder::with(&bed);
    let server = Logged::start(&folder, "info");
    let canary = "canary-4111111111111111";
    let submission = format!(
        r#"{{"destination": "bed", "operation": "key.sync", "key": "{canary}", "payload": {{"business": "{canary}"}}}}"#
    );
    assert_eq!(server.ask("r-1", ("POST", "/v1/actions"), &submission), 201);
    let missing = format!("/v1/actions/act_{canary}?wait={canary}");
    assert_eq!(server.ask("r-2", ("GET", &missing), ""), 400);
    let token = server.token.clone();
    let lines = server.lines();
    let said = |id: &str| {
        let named = format!(" request_id=\"{id}\" ");
        let mut found = lines.iter().filter(|line| line.contains(&named));
        let line = found.next().unwrap_or_else(|| panic!("{id}: {lines:?}"));
        assert_eq!(found.next(), None, "one line for a request");
        line.split_once(" INFO request method=")
            .unwrap()
            .1
            .to_owned()
    };
    let line = said("r-1");
    assert!(
        line.starts_with("POST path=\"/v1/actions\" status=201 ms="),
        "{line}"
    );
    assert!(line.contains(" peer=127.0.0.1:"), "{line}");
    assert!(
        line.ends_with(" caller=\"default/admin by admin\""),
        "{line}"
    );
    let line = said("r-2");
    assert!(
        line.starts_with("GET path=\"/v1/actions/{id}\" status=400 ms="),
        "{line}"
    );
    for line in &lines {
        assert!(!line.contains(canary) && !line.contains(&token), "{line}");
    }
}

/// The id in a line, wherever it stands there.
fn id_of(line: &Value) -> Option<&str> {
    line["request_id"]
        .as_str()
        .or_else(|| line["span"]["request_id"].as_str())
}

#[test]
fn every_line_of_a_request_has_its_id() {
    let bed = Bed::start();
    let folder = Folder::with(&bed);
    let config = folder.read("factum.toml");
    folder.write("factum.toml", &format!("log.format = \"json\"\n{config}"));
    // All that is said on the way of a request. What the engine does by itself afterwards is no part of one.
    let level = "warn,factum_server=debug,factum_engine::engine=debug";
    let server = Logged::start(&folder, level);
    let submission = r#"{"destination": "bed", "operation": "key.sync", "key": "k", "payload": {"business": "b"}}"#;
    let rows = [
        ("first", ("GET", "/healthz"), "", 200),
        (
            "pause",
            ("POST", "/v1/admin/pause"),
            r#"{"by": "ana"}"#,
            200,
        ),
        ("submit", ("POST", "/v1/actions"), submission, 201),
        (
            "resume",
            ("POST", "/v1/admin/resume"),
            r#"{"by": "ana"}"#,
            200,
        ),
        ("nothing", ("GET", "/nowhere"), "", 404),
        ("last", ("GET", "/healthz"), "", 200),
    ];
    for (id, asked, body, status) in rows {
        assert_eq!(server.ask(id, asked, body), status, "{id}");
    }
    let lines = server.lines();
    let lines: Vec<Value> = lines
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let ends = |id: &str| {
        let is_last = |line: &Value| line["message"] == "request" && line["request_id"] == id;
        lines
            .iter()
            .position(is_last)
            .unwrap_or_else(|| panic!("{id}: {lines:#?}"))
    };
    for pair in rows.windows(2) {
        let (before, id) = (ends(pair[0].0), pair[1].0);
        for line in &lines[before + 1..=ends(id)] {
            assert_eq!(id_of(line), Some(id), "{line}");
        }
    }
    // There was something to see: in the call itself, in a task of its own, and in the engine.
    for (id, message) in [
        ("pause", "sends are held, or go on"),
        ("submit", "submission checked"),
        ("resume", "sends are held, or go on"),
    ] {
        let said = |line: &&Value| line["message"] == message && id_of(line) == Some(id);
        assert_eq!(lines.iter().filter(said).count(), 1, "{id}: {lines:#?}");
    }
}
