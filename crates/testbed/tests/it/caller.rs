//! A caller that tells how an exchange ended, which ordinary clients do not.

use std::io;
use std::net::SocketAddr;

use factum_contract::{HttpAnswer, HttpRequest};
use factum_faults::FaultPlan;
use factum_testbed::{Config, Handle, Testbed};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// How an exchange ended for the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Whole,
    ClosedEmpty,
    CutHead,
    CutBody,
    Reset,
    Refused,
}

/// What the caller got.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) end: End,
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) text: String,
}

impl Reply {
    fn without_answer(end: End) -> Reply {
        Reply {
            end,
            status: 0,
            head: String::new(),
            text: String::new(),
        }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or(Value::Null)
    }

    pub(crate) fn code(&self) -> String {
        self.json()["error"]["code"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines
            .filter(|(given, _)| given.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
            .next()
    }
}

/// One request on a connection of its own.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    method: &'static str,
    path: String,
    headers: Vec<(&'static str, String)>,
    body: String,
}

impl Ask {
    pub(crate) fn new(method: &'static str, path: impl Into<String>) -> Ask {
        Ask {
            method,
            path: path.into(),
            headers: Vec::new(),
            body: String::new(),
        }
    }

    pub(crate) fn get(path: impl Into<String>) -> Ask {
        Ask::new("GET", path)
    }

    pub(crate) fn post(path: impl Into<String>, body: &Value) -> Ask {
        Ask::new("POST", path).body(body.to_string())
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Ask {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn key(self, key: &str) -> Ask {
        self.header("Idempotency-Key", key)
    }

    pub(crate) fn body(mut self, body: impl Into<String>) -> Ask {
        self.body = body.into();
        self
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let Ask {
            method,
            path,
            headers,
            body,
        } = self;
        let mut text = format!(
            "{method} {path} HTTP/1.1\r\nHost: testbed\r\nContent-Length: {}\r\n",
            body.len()
        );
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        format!("{text}\r\n{body}").into_bytes()
    }

    pub(crate) async fn send(&self, to: SocketAddr) -> Reply {
        let mut stream = match TcpStream::connect(to).await {
            Ok(stream) => stream,
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                return Reply::without_answer(End::Refused);
            }
            // A reset can come before the caller has looked whether it is connected.
            Err(_) => return Reply::without_answer(End::Reset),
        };
        if stream.write_all(&self.bytes()).await.is_err() {
            return Reply::without_answer(End::Reset);
        }
        reply(&mut stream).await
    }
}

/// Reads one answer.
pub(crate) async fn reply(stream: &mut TcpStream) -> Reply {
    let mut bytes = Vec::new();
    loop {
        if let Some(reply) = whole(&bytes) {
            return reply;
        }
        match stream.read_buf(&mut bytes).await {
            Ok(0) => return cut(&bytes),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {
                return Reply::without_answer(End::Reset);
            }
            Err(error) => panic!("reading an answer: {error}"),
        }
    }
}

fn whole(bytes: &[u8]) -> Option<Reply> {
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text.split_once("\r\n\r\n")?;
    let mut reply = Reply {
        end: End::Whole,
        status: head.split(' ').nth(1)?.parse().ok()?,
        head: head.to_owned(),
        text: body.to_owned(),
    };
    let length: usize = reply.header("Content-Length")?.parse().ok()?;
    reply.text.truncate(length);
    (body.len() >= length).then_some(reply)
}

fn cut(bytes: &[u8]) -> Reply {
    let end = match String::from_utf8_lossy(bytes) {
        text if text.is_empty() => End::ClosedEmpty,
        text if text.contains("\r\n\r\n") => End::CutBody,
        _ => End::CutHead,
    };
    Reply::without_answer(end)
}

pub(crate) async fn started(config: Config) -> Handle {
    Testbed::start(config)
        .await
        .expect("a loopback port is free")
}

/// A testbed with these rules; seed 7.
pub(crate) async fn with_faults(rules: &str) -> Handle {
    let faults = FaultPlan::parse(7, rules).expect("the rules of the tests are well formed");
    started(Config {
        faults,
        ..Config::default()
    })
    .await
}

/// A body with reference and business reference.
pub(crate) fn order(name: &str) -> Value {
    json!({"reference": format!("ref-{name}"), "business": name, "text": "hello"})
}

/// Sends a request that a contract has built, and gives back what a contract reads.
pub(crate) async fn exchange(to: SocketAddr, request: &HttpRequest) -> (End, HttpAnswer) {
    let Ok(mut stream) = TcpStream::connect(to).await else {
        return (End::Refused, HttpAnswer::default());
    };
    let mut bytes = format!(
        "{} {} HTTP/1.1\r\nhost: stand-in\r\ncontent-length: {}\r\n",
        request.method,
        request.path_and_query,
        request.body.len()
    );
    for (name, value) in &request.headers {
        bytes.push_str(&format!("{name}: {value}\r\n"));
    }
    let mut bytes = format!("{bytes}\r\n").into_bytes();
    bytes.extend(&request.body);
    if stream.write_all(&bytes).await.is_err() {
        return (End::Reset, HttpAnswer::default());
    }
    let reply = reply(&mut stream).await;
    let lines = reply
        .head
        .lines()
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()));
    let answer = HttpAnswer {
        status: reply.status,
        headers: lines.collect(),
        body: reply.text.into_bytes(),
        truncated: false,
    };
    (reply.end, answer)
}
