//! A host at the other end of the pipe, of one era or the other.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{ChildStdin, Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Child, Folder, PATIENCE};

/// Which rules the host follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    Legacy,
    Modern,
}

pub(crate) const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];

/// A host, and what it has heard that nobody has asked for yet.
pub(crate) struct Host {
    child: Child,
    input: ChildStdin,
    era: Era,
    pub(crate) can: Value,
    next: u64,
    answers: BTreeMap<u64, Value>,
    notes: Vec<Value>,
}

impl Host {
    /// Starts `factum mcp serve` in this folder.
    pub(crate) fn start(folder: &Folder, era: Era) -> Self {
        Self::named(folder, era, &[])
    }

    /// The same, with variables.
    pub(crate) fn named(folder: &Folder, era: Era, variables: &[(&str, &str)]) -> Self {
        let mut command = folder.command(&["mcp", "serve"]);
        command.envs(variables.iter().copied());
        Self::of(command, era)
    }

    /// Starts this command, and begins as its era wants.
    pub(crate) fn of(command: Command, era: Era) -> Self {
        Self::that_can(command, era, json!({}))
    }

    /// The same, for a host that can so much.
    pub(crate) fn that_can(mut command: Command, era: Era, can: Value) -> Self {
        command.stdin(Stdio::piped());
        let (child, input) = Child::with_input(command);
        let mut host = Self {
            child,
            input,
            era,
            can,
            next: 0,
            answers: BTreeMap::new(),
            notes: Vec::new(),
        };
        let begun = match era {
            Era::Legacy => {
                let hello = json!({"protocolVersion": "2025-11-25", "capabilities": host.can, "clientInfo": {"name": "test", "version": "1"}});
                let begun = host.ask("initialize", hello);
                host.notify("notifications/initialized", &json!({}));
                begun["serverInfo"].clone()
            }
            Era::Modern => host.ask("server/discover", json!({}))["_meta"]["io.modelcontextprotocol/serverInfo"].clone(),
        };
        assert!(begun["name"].is_string(), "{begun}");
        host
    }

    /// Writes a request; its id.
    pub(crate) fn send(&mut self, method: &str, mut params: Value) -> u64 {
        self.next += 1;
        if self.era == Era::Modern {
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = self.can.clone();
        }
        let message =
            json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params});
        self.raw(&message.to_string());
        self.next
    }

    /// Writes a notification.
    pub(crate) fn notify(&mut self, method: &str, params: &Value) {
        self.raw(&json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string());
    }

    /// Writes a line.
    pub(crate) fn raw(&mut self, line: &str) {
        writeln!(self.input, "{line}").unwrap();
        self.input.flush().unwrap();
    }

    /// The next line.
    pub(crate) fn line(&self) -> Value {
        self.child.json()
    }

    /// The response to a request.
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        loop {
            if let Some(answer) = self.answers.remove(&id) {
                return answer;
            }
            let line = self.line();
            match line["id"].as_u64() {
                Some(id) if line.get("method").is_none() => {
                    self.answers.insert(id, line);
                }
                Some(_) | None => self.notes.push(line),
            }
        }
    }

    /// The result of a request.
    pub(crate) fn result(&mut self, id: u64) -> Value {
        let mut answer = self.answer(id);
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].take()
    }

    /// The next notification.
    pub(crate) fn note(&mut self) -> Value {
        if self.notes.is_empty() {
            self.line()
        } else {
            self.notes.remove(0)
        }
    }

    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.result(id)
    }

    /// Answers a request of the server's, which came as a note.
    pub(crate) fn reply(&mut self, asked: &Value, result: &Value) {
        self.raw(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}).to_string());
    }

    /// The result of a tool.
    pub(crate) fn tool(&mut self, name: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": name, "arguments": arguments}))
    }

    /// Waits until an action is recorded: what is cancelled before that is no action.
    pub(crate) fn until_recorded(&mut self) {
        let deadline = std::time::Instant::now() + PATIENCE;
        loop {
            let listed = self.tool("list_recent_actions", json!({}));
            if listed["structuredContent"]["actions"] != json!([]) {
                return;
            }
            assert!(std::time::Instant::now() < deadline, "nothing is recorded");
        }
    }

    /// Closes the pipe, and waits for the end.
    pub(crate) fn close(self) {
        let Self {
            mut child, input, ..
        } = self;
        drop(input);
        assert!(child.ended().success());
    }

    /// Tells it to end while its input stays open, and waits for the end.
    pub(crate) fn terminate(self) {
        let Self {
            mut child, input, ..
        } = self;
        child.terminate();
        assert!(child.ended().success());
        drop(input);
    }

    /// Ends it at once, as a power cut would end it.
    pub(crate) fn kill(self) {
        self.child.kill();
    }
}

pub(crate) fn text(result: &Value) -> &str {
    result["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("no text: {result}"))
}

pub(crate) fn outcome(result: &Value) -> &str {
    result["structuredContent"]["outcome"]
        .as_str()
        .unwrap_or_else(|| panic!("no outcome: {result}"))
}
