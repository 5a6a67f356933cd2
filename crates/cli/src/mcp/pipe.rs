//! The pipe: one message a line, each carried by itself, so that a slow one holds up no other. Standard output carries messages alone.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use factum_contract::base64;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tokio::task::{AbortHandle, JoinSet};

use super::way::Way;
use crate::client::{Answer, Call, Unanswered};
use crate::failure::Failure;

/// Answers are waited for within this once the host has closed the pipe.
const LAST_WAIT: Duration = Duration::from_secs(5);
/// A line that is longer is no message.
const LINE_MAX: usize = 16 * 1024 * 1024;

/// The header by which a client of the older era is known for one that can ask a person.
const SESSION: &str = "mcp-session-id";

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// What has to be known of a message to carry it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Message {
    id: Option<Value>,
    method: Option<String>,
    params: Value,
    /// What a response to a question of the server's says; its words are carried as they are.
    result: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
}

impl Message {
    /// It answers a question of the server's.
    fn responds(&self) -> bool {
        self.method.is_none() && (self.result.is_some() || self.error.is_some())
    }
}

/// The way, and what the server calls this host, where it has to know it again.
struct Carrier {
    way: Way,
    session: Mutex<Option<String>>,
}

/// Calls under way, by their ids.
type UnderWay = Arc<Mutex<BTreeMap<String, AbortHandle>>>;

/// Carries messages until the host closes the pipe.
pub(crate) async fn run(way: Way) -> Result<(), Failure> {
    let carrier = Arc::new(Carrier {
        way,
        session: Mutex::default(),
    });
    let (lines, written) = mpsc::channel(64);
    let writer = tokio::spawn(write(written));
    let mut input = BufReader::new(tokio::io::stdin());
    let mut calls = JoinSet::new();
    let under_way = UnderWay::default();
    let mut line = Vec::new();
    loop {
        let read = tokio::select! {
            read = read_line(&mut input, &mut line) => read,
            Some(_) = calls.join_next() => continue,
            () = told_to_end() => break,
        };
        let more = read.map_err(|error| {
            let rule = format!("standard input cannot be read: {error}");
            Failure::other(rule, "start it again")
        })?;
        if !more {
            break;
        }
        let Ok(text) = String::from_utf8(std::mem::take(&mut line)) else {
            continue;
        };
        if let Some(message) = received(&text, &under_way) {
            begin(
                &mut calls,
                &carrier,
                &under_way,
                message,
                text,
                lines.clone(),
            );
        }
    }
    drop(lines);
    // Whoever has closed the pipe may still read what was asked for before.
    let _ = tokio::time::timeout(LAST_WAIT, async {
        while calls.join_next().await.is_some() {}
    })
    .await;
    calls.shutdown().await;
    let _ = writer.await;
    if let Some(carrier) = Arc::into_inner(carrier) {
        carrier.way.close().await;
    }
    Ok(())
}

/// Ready once a signal says so. Where none can be heard, the end of the pipe is what ends it.
async fn told_to_end() {
    let heard =
        signal(SignalKind::terminate()).and_then(|end| Ok((end, signal(SignalKind::interrupt())?)));
    match heard {
        Ok((mut terminate, mut interrupt)) => {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        }
        Err(_) => std::future::pending().await,
    }
}

/// A message that has to be carried. A call that the host does not wait for any more is let go; its action goes on.
fn received(text: &str, under_way: &UnderWay) -> Option<Message> {
    if text.trim().is_empty() {
        return None;
    }
    let Ok(message) = serde_json::from_str::<Message>(text) else {
        // The server says what is wrong with it.
        return Some(Message::default());
    };
    if message.method.as_deref() == Some("notifications/cancelled") {
        let name = message.params["requestId"].to_string();
        if let Some(call) = locked(under_way).remove(&name) {
            call.abort();
        }
        return None;
    }
    // Other notifications ask for nothing.
    (message.id.is_some() && (message.method.is_some() || message.responds())).then_some(message)
}

fn begin(
    calls: &mut JoinSet<()>,
    carrier: &Arc<Carrier>,
    under_way: &UnderWay,
    message: Message,
    text: String,
    lines: mpsc::Sender<String>,
) {
    let (carrier, known) = (carrier.clone(), under_way.clone());
    // A response goes under an id of the server's.
    let own = message.id.as_ref().filter(|_| !message.responds());
    let name = own.map(Value::to_string);
    let named = name.clone();
    // Held until the call is known by its id: one that is done at once takes it out again only then.
    let mut held = locked(under_way);
    let call = calls.spawn(async move {
        if let Some(line) = carrier.carried(&message, text, &lines).await {
            // The writer ends with the host.
            let _ = lines.send(line).await;
        }
        if let Some(name) = named {
            locked(&known).remove(&name);
        }
    });
    if let Some(name) = name {
        held.insert(name, call);
    }
}

/// The line that answers a message. Nobody there: whoever serves now is looked for once; nothing was sent, so nothing is sent twice.
impl Carrier {
    async fn carried(
        &self,
        message: &Message,
        text: String,
        lines: &mpsc::Sender<String>,
    ) -> Option<String> {
        let way = &self.way;
        let mut call = call_of(message, text);
        if let Some(session) = self.session().clone() {
            call = call.header(SESSION, session);
        }
        let mut client = way.client().await;
        let mut outcome = once(&client, &call, lines).await;
        if matches!(outcome, Err(Unanswered::NotSent(_))) {
            match way.again(&client).await {
                Ok(found) => {
                    client = found;
                    outcome = once(&client, &call, lines).await;
                }
                Err(failure) => outcome = Err(Unanswered::NotSent(failure)),
            }
        }
        match outcome {
            Ok(answer) => {
                if message.method.as_deref() == Some("initialize") {
                    let named = answer.headers.get(SESSION).map(|name| name.to_str());
                    *self.session() = named.and_then(Result::ok).map(str::to_owned);
                }
                answered(message, &answer)
            }
            // The question is as good as not answered.
            Err(_) if message.responds() => None,
            Err(unanswered) => Some(not_answered(message, unanswered)),
        }
    }

    fn session(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn once(
    client: &crate::client::Client,
    call: &Call,
    lines: &mpsc::Sender<String>,
) -> Result<Answer, Unanswered> {
    let mut events = Events::default();
    client
        .once(call, |piece| {
            for line in events.read(piece) {
                passed_on(lines, line);
            }
        })
        .await
}

/// Passes on a line of a stream. A host that does not read loses notifications, and no more: it asks for what it missed.
fn passed_on(lines: &mpsc::Sender<String>, line: String) {
    let message: Message = serde_json::from_str(&line).unwrap_or_default();
    if let Err(TrySendError::Full(line)) = lines.try_send(line)
        && message.id.is_some()
    {
        let lines = lines.clone();
        // The writer ends with the host.
        tokio::spawn(async move { lines.send(line).await.ok() });
    }
}

/// The request that carries a message, with the headers that repeat it.
fn call_of(message: &Message, text: String) -> Call {
    let mut call = Call::post("/mcp", text).header("accept", "application/json, text/event-stream");
    if let Some(version) = message.params["_meta"][VERSION].as_str() {
        call = call.header("mcp-protocol-version", version);
    }
    if let Some(method) = &message.method {
        call = call.header("mcp-method", for_header(method));
        let named = match method.as_str() {
            "tools/call" | "prompts/get" => message.params["name"].as_str(),
            "resources/read" => message.params["uri"].as_str(),
            _ => None,
        };
        if let Some(name) = named {
            call = call.header("mcp-name", for_header(name));
        }
    }
    call
}

/// A text as a header can carry it.
fn for_header(text: &str) -> String {
    let plain = text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    if plain && text.trim() == text && !text.starts_with("=?base64?") {
        text.to_owned()
    } else {
        format!("=?base64?{}?=", base64::encode(text.as_bytes()))
    }
}

/// What the server answered, as a line; none where it was a stream, or asked for nothing.
fn answered(message: &Message, answer: &Answer) -> Option<String> {
    if answer.body.is_empty() {
        return None;
    }
    let parsed: Value = serde_json::from_slice(&answer.body).unwrap_or(Value::Null);
    if parsed["jsonrpc"] == "2.0" {
        return Some(parsed.to_string());
    }
    // A problem of the HTTP API: the token, most often. Nothing was recorded.
    let part = |name: &str| parsed[name].as_str().unwrap_or_default().to_owned();
    let said = format!(
        "the server answered {}: {} {}",
        answer.status,
        part("rule"),
        part("remedy")
    );
    Some(error(message, said.trim_end()))
}

fn not_answered(message: &Message, unanswered: Unanswered) -> String {
    match unanswered {
        Unanswered::MaybeTaken(failure) if message.method.as_deref() == Some("tools/call") => {
            let text = format!(
                "Not known whether the request was taken: {}. It may be carried out. If it is repeated, use the same request_key: it cannot \
                 happen twice then. Do not say that it is done, or that it failed.",
                failure.problem["rule"]
                    .as_str()
                    .unwrap_or("the connection broke")
            );
            let mut result = json!({"content": [{"type": "text", "text": text}], "structuredContent": {"outcome": "not_answered"}, "isError": false});
            if message.params["_meta"][VERSION].is_string() {
                result["resultType"] = "complete".into();
            }
            json!({"jsonrpc": "2.0", "id": message.id, "result": result}).to_string()
        }
        Unanswered::NotSent(failure) | Unanswered::MaybeTaken(failure) => {
            error(message, &failure.text())
        }
    }
}

fn error(message: &Message, said: &str) -> String {
    json!({"jsonrpc": "2.0", "id": message.id, "error": {"code": -32_603, "message": said}})
        .to_string()
}

/// Events as they come out of a stream, piece by piece.
#[derive(Default)]
struct Events(Vec<u8>);

impl Events {
    /// The messages that are whole by now.
    fn read(&mut self, piece: &[u8]) -> Vec<String> {
        self.0.extend_from_slice(piece);
        let mut found = Vec::new();
        while let Some(end) = self.0.windows(2).position(|pair| pair == b"\n\n") {
            let event: Vec<u8> = self.0.drain(..end + 2).collect();
            let text = String::from_utf8_lossy(&event);
            let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
            let message: String = data.collect();
            if !message.is_empty() {
                found.push(message);
            }
        }
        found
    }
}

async fn read_line(
    input: &mut BufReader<tokio::io::Stdin>,
    line: &mut Vec<u8>,
) -> std::io::Result<bool> {
    loop {
        let held = input.fill_buf().await?;
        if held.is_empty() {
            return Ok(!line.is_empty());
        }
        let end = held.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(held.len(), |end| end + 1);
        line.extend_from_slice(&held[..taken]);
        input.consume(taken);
        if end.is_some() {
            return Ok(true);
        }
        if line.len() > LINE_MAX {
            let why = format!("a line has more than {LINE_MAX} bytes");
            return Err(std::io::Error::other(why));
        }
    }
}

async fn write(mut lines: mpsc::Receiver<String>) {
    let mut output = tokio::io::stdout();
    while let Some(mut line) = lines.recv().await {
        line.push('\n');
        if output.write_all(line.as_bytes()).await.is_err() || output.flush().await.is_err() {
            return;
        }
    }
}

fn locked(under_way: &UnderWay) -> std::sync::MutexGuard<'_, BTreeMap<String, AbortHandle>> {
    under_way.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_however_they_are_cut() {
        let stream = b"data: {\"a\":1}\n\n: still here\n\ndata: {\"b\":2}\n\n";
        for cut in 1..stream.len() {
            let mut events = Events::default();
            let mut found = Vec::new();
            for piece in stream.chunks(cut) {
                found.extend(events.read(piece));
            }
            assert_eq!(found, ["{\"a\":1}", "{\"b\":2}"], "{cut}");
        }
    }

    #[test]
    fn a_name_that_no_header_can_carry_is_put_into_base64() {
        assert_eq!(for_header("get_action"), "get_action");
        assert_eq!(for_header("züge"), "=?base64?esO8Z2U=?=");
        assert_eq!(for_header(" x"), "=?base64?IHg=?=");
        assert_eq!(
            for_header("=?base64?eA==?="),
            "=?base64?PT9iYXNlNjQ/ZUE9PT89?="
        );
    }

    #[test]
    fn a_lost_answer_of_a_tool_is_no_error() {
        let message = Message {
            id: Some(json!(7)),
            method: Some("tools/call".to_owned()),
            params: json!({}),
            ..Message::default()
        };
        let lost = || Failure::unavailable("the connection broke", "");
        let line = not_answered(&message, Unanswered::MaybeTaken(lost()));
        let value: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(
            (&value["id"], &value["result"]["isError"]),
            (&json!(7), &json!(false))
        );
        let line = not_answered(&message, Unanswered::NotSent(lost()));
        assert!(line.contains("\"error\""), "nothing was sent: {line}");
    }
}
