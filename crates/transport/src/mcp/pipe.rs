//! A server that we started, over its standard input and output: one message a line.
//!
//! Every byte of a call that leaves our hands is counted, and the permission is checked at the first one. A line that could not be written
//! whole poisons the pipe, so the server is ended then: nothing else may follow half a message. When it dies, what was under way is lost, and
//! the moment at which it was known to be gone is evidence.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use factum_core::{Permission, Timestamp};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::sync::{Mutex as AsyncMutex, oneshot, watch};
use tokio::time::{Instant, timeout_at};

use super::speech::{answer, notification, outcome, request};
use super::{ANSWER_MAX, CallEnded, Unasked, late};
use crate::clock::{Clock, duration};

/// A server whose input was closed has this long to end by itself.
const POLITE: Duration = Duration::from_secs(2);
/// What Factum is told by variables are its own places and tokens.
const OURS: &str = "FACTUM_";

/// What to start.
#[derive(Clone, Debug)]
pub struct Command {
    /// The program, and its arguments.
    pub words: Vec<String>,
    /// Where it runs; here where nothing is said.
    pub folder: Option<PathBuf>,
    /// Variables beside those that we have ourselves.
    pub variables: Vec<(String, String)>,
    /// Variables of ours that it does not get, by their names: secrets for somebody else. None gets those that Factum is told by.
    pub withheld: Vec<String>,
}

/// A running server. It is ended when this is dropped.
pub(super) struct Pipe(Arc<Running>);

pub(super) struct Running {
    input: AsyncMutex<Option<ChildStdin>>,
    waiting: Mutex<BTreeMap<u64, oneshot::Sender<Result<Value, Value>>>>,
    next: AtomicU64,
    /// Set once the process is known to be gone: since when.
    gone: watch::Sender<Option<Timestamp>>,
    /// Why we ended it, where it was us.
    why: OnceLock<String>,
    /// It shall end.
    end: watch::Sender<bool>,
    clock: Arc<dyn Clock>,
}

/// How writing a line ended.
enum Written {
    Whole(u64),
    /// So many bytes left.
    Broken(u64, String),
}

impl Drop for Pipe {
    fn drop(&mut self) {
        self.0.end.send_replace(true);
    }
}

impl std::ops::Deref for Pipe {
    type Target = Running;

    fn deref(&self) -> &Running {
        &self.0
    }
}

impl Pipe {
    /// Starts the process.
    pub(super) fn start(command: &Command, clock: Arc<dyn Clock>) -> Result<Self, String> {
        let Some((program, arguments)) = command.words.split_first() else {
            return Err("no program is named".to_owned());
        };
        let mut prepared = tokio::process::Command::new(program);
        for (name, _) in std::env::vars_os() {
            if name.as_encoded_bytes().starts_with(OURS.as_bytes()) {
                prepared.env_remove(name);
            }
        }
        for name in &command.withheld {
            prepared.env_remove(name);
        }
        prepared
            .args(arguments)
            .envs(command.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            // What it starts in turn is ended with it.
            .process_group(0)
            .kill_on_drop(true);
        if let Some(folder) = &command.folder {
            prepared.current_dir(folder);
        }
        let mut child = prepared
            .spawn()
            .map_err(|error| format!("{program} cannot be started: {error}"))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(format!("{program} has no standard input and output"));
        };
        let running = Arc::new(Running {
            input: AsyncMutex::new(Some(input)),
            waiting: Mutex::default(),
            next: AtomicU64::new(1),
            gone: watch::Sender::new(None),
            why: OnceLock::new(),
            end: watch::Sender::new(false),
            clock,
        });
        tokio::spawn(running.clone().attend(child, output));
        Ok(Self(running))
    }
}

impl Running {
    pub(super) fn is_open(&self) -> bool {
        self.gone.borrow().is_none() && !*self.end.borrow()
    }

    /// Reads until the process ends, and then says so to everybody who waits.
    async fn attend(self: Arc<Self>, mut child: Child, output: ChildStdout) {
        let mut ending = self.end.subscribe();
        tokio::select! {
            () = self.read(output) => {}
            // The sender lives in `self`.
            _ = ending.wait_for(|end| *end) => {}
        }
        self.end.send_replace(true);
        finish(&mut child, &self.input).await;
        self.gone.send_replace(Some(self.clock.now()));
        // Whoever waits hears that the sender is gone.
        self.waiting().clear();
    }

    async fn read(&self, output: ChildStdout) {
        let mut lines = BufReader::new(output);
        let mut line = Vec::new();
        loop {
            line.clear();
            match read_line(&mut lines, &mut line).await {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => {
                    // The first reason is the one that counts.
                    let _ = self.why.set(error.to_string());
                    return;
                }
            }
            // What is no JSON is chatter, as servers write it on the wrong stream.
            let Ok(mut message) = serde_json::from_slice::<Value>(&line) else {
                continue;
            };
            if message.get("method").is_some() {
                if message.get("id").is_some() {
                    let line = format!("{}\n", answer(&message));
                    self.write(line.as_bytes(), || Ok(())).await;
                }
                continue;
            }
            let waiter = message["id"]
                .as_u64()
                .and_then(|id| self.waiting().remove(&id));
            if let (Some(waiter), Some(outcome)) = (waiter, outcome(&mut message)) {
                // Nobody may be waiting any more.
                let _ = waiter.send(outcome);
            }
        }
    }

    /// Asks for something that has no effect.
    pub(super) async fn ask(
        &self,
        method: &str,
        params: Value,
        until: Instant,
    ) -> Result<Result<Value, Value>, Unasked> {
        let (id, heard) = self.listen();
        let line = format!("{}\n", request(id, method, &params));
        let asked = async {
            if let Written::Broken(_, why) = self.write(line.as_bytes(), || Ok(())).await {
                return Err(Unasked(why));
            }
            heard
                .await
                .map_err(|_| Unasked(self.ended("the server ended")))
        };
        let outcome = timeout_at(until, asked).await;
        self.waiting().remove(&id);
        outcome.map_err(|_| late())?
    }

    /// Tells something that is not answered.
    pub(super) async fn tell(&self, method: &str, until: Instant) -> Result<(), Unasked> {
        let line = format!("{}\n", notification(method));
        match timeout_at(until, self.write(line.as_bytes(), || Ok(()))).await {
            Ok(Written::Whole(_)) => Ok(()),
            Ok(Written::Broken(_, why)) => Err(Unasked(why)),
            Err(_) => Err(late()),
        }
    }

    /// Calls a tool.
    pub(super) async fn call(
        &self,
        permission: Permission,
        clock: &dyn Clock,
        until: Instant,
        params: Value,
    ) -> CallEnded {
        let (id, heard) = self.listen();
        let line = format!("{}\n", request(id, "tools/call", &params));
        let still = || {
            permission
                .check(clock.now())
                .map_err(|expired| expired.to_string())
        };
        let by = until + duration(permission.write_limit());
        let wrote = match self.write_by(line.as_bytes(), still, by).await {
            Written::Whole(wrote) => wrote,
            Written::Broken(0, detail) => {
                self.waiting().remove(&id);
                return CallEnded::NotSent { detail };
            }
            Written::Broken(wrote, detail) => {
                self.waiting().remove(&id);
                return self.lost(wrote, detail).await;
            }
        };
        let heard = tokio::time::timeout(duration(permission.answer_wait()), heard).await;
        self.waiting().remove(&id);
        match heard {
            Ok(Ok(outcome)) => CallEnded::Answered(outcome),
            Ok(Err(_)) => {
                let detail = self.ended("the server ended during the call");
                self.lost(wrote, detail).await
            }
            Err(_) => CallEnded::Lost {
                wrote,
                // It may still be at work.
                closed_at: None,
                detail: "the server did not answer in time".to_owned(),
            },
        }
    }

    /// Why nothing more is heard of the server.
    fn ended(&self, otherwise: &str) -> String {
        self.why.get().map_or(otherwise.to_owned(), Clone::clone)
    }

    /// The server is ending, or has ended: what is said of the call waits for that.
    async fn lost(&self, wrote: u64, detail: String) -> CallEnded {
        let mut gone = self.gone.subscribe();
        let gone = gone.wait_for(Option::is_some).await;
        CallEnded::Lost {
            wrote,
            closed_at: gone.ok().and_then(|at| *at),
            detail,
        }
    }

    fn listen(&self) -> (u64, oneshot::Receiver<Result<Value, Value>>) {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (says, heard) = oneshot::channel();
        self.waiting().insert(id, says);
        (id, heard)
    }

    /// Writes a line within a time; the pipe is of no use any more where that ends in the middle of it.
    async fn write_by(
        &self,
        line: &[u8],
        still: impl Fn() -> Result<(), String>,
        by: Instant,
    ) -> Written {
        let counted = AtomicU64::new(0);
        let written = timeout_at(by, self.write_counted(line, still, &counted)).await;
        written.unwrap_or_else(|_| {
            let wrote = counted.load(Ordering::Relaxed);
            if wrote > 0 {
                self.end.send_replace(true);
            }
            Written::Broken(
                wrote,
                "the server did not take the message in time".to_owned(),
            )
        })
    }

    async fn write(&self, line: &[u8], still: impl Fn() -> Result<(), String>) -> Written {
        self.write_counted(line, still, &AtomicU64::new(0)).await
    }

    async fn write_counted(
        &self,
        line: &[u8],
        still: impl Fn() -> Result<(), String>,
        counted: &AtomicU64,
    ) -> Written {
        let mut input = self.input.lock().await;
        let Some(input) = input.as_mut() else {
            return Written::Broken(0, "the server has ended".to_owned());
        };
        if let Err(why) = still() {
            return Written::Broken(0, why);
        }
        let mut rest = line;
        while !rest.is_empty() {
            let wrote = match input.write(rest).await {
                Ok(0) => Err("the server takes nothing any more".to_owned()),
                Ok(wrote) => Ok(wrote),
                Err(error) => Err(format!("the server's input is closed: {error}")),
            };
            match wrote {
                Ok(wrote) => {
                    counted.fetch_add(wrote as u64, Ordering::Relaxed);
                    rest = &rest[wrote..];
                }
                Err(why) => {
                    self.end.send_replace(true);
                    return Written::Broken(counted.load(Ordering::Relaxed), why);
                }
            }
        }
        Written::Whole(counted.load(Ordering::Relaxed))
    }

    fn waiting(
        &self,
    ) -> std::sync::MutexGuard<'_, BTreeMap<u64, oneshot::Sender<Result<Value, Value>>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the process, and what it has started: by closing its input, and by force where that is not enough.
async fn finish(child: &mut Child, input: &AsyncMutex<Option<ChildStdin>>) {
    let polite = async {
        input.lock().await.take();
        child.wait().await
    };
    let ended = tokio::time::timeout(POLITE, polite).await.is_ok();
    let group = child.id().and_then(|id| i32::try_from(id).ok());
    let group = group.and_then(rustix::process::Pid::from_raw);
    if let Some(group) = group.filter(|_| !ended) {
        // It may have ended by itself in between.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        let _ = child.wait().await;
    }
}

async fn read_line(
    lines: &mut BufReader<ChildStdout>,
    line: &mut Vec<u8>,
) -> std::io::Result<bool> {
    loop {
        let held = lines.fill_buf().await?;
        if held.is_empty() {
            return Ok(!line.is_empty());
        }
        let end = held.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(held.len(), |end| end + 1);
        line.extend_from_slice(&held[..taken]);
        lines.consume(taken);
        if end.is_some() {
            return Ok(true);
        }
        if line.len() > ANSWER_MAX {
            let why =
                format!("the server was ended: it wrote a message of more than {ANSWER_MAX} bytes");
            return Err(std::io::Error::other(why));
        }
    }
}
