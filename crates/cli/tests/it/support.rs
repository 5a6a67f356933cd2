//! Folders, commands and children for tests with real processes.
//!
//! A [`Folder`] is a place of its own, with no variable of this program's inherited. A [`Child`] is ended when it is dropped,
//! by its own handle. Nothing here sleeps to be in time: lines and ends are waited for.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The longest that any one thing is waited for: longer than three lost answers with a look after each take on a slow machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(180);

/// A folder in which commands run.
pub(crate) struct Folder {
    dir: TempDir,
    /// The server that commands ask, with a token.
    remote: Option<(String, String)>,
}

/// What a command that ended left behind.
#[derive(Debug)]
pub(crate) struct Ran {
    /// The exit code.
    pub(crate) code: i32,
    /// Standard output.
    pub(crate) out: String,
    /// Standard error.
    pub(crate) err: String,
}

/// A command that runs on.
pub(crate) struct Child {
    child: std::process::Child,
    lines: Receiver<String>,
}

/// A served engine.
pub(crate) struct Server {
    /// The process.
    pub(crate) child: Child,
    /// Where it answers.
    pub(crate) address: String,
    /// Where it answers by TLS, if anywhere.
    pub(crate) tls_address: Option<String>,
    /// The file with its token.
    pub(crate) token_file: PathBuf,
}

/// A testbed in a process of its own.
pub(crate) struct Bed {
    /// The process.
    pub(crate) child: Child,
    /// Where its destinations are.
    pub(crate) base: String,
    /// Where its ledger is.
    pub(crate) admin: String,
}

impl Folder {
    /// An empty one.
    pub(crate) fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            remote: None,
        }
    }

    /// From here on commands ask this server with this token, or whoever holds the store here.
    pub(crate) fn asks(&mut self, remote: Option<(&str, &str)>) {
        self.remote = remote.map(|(url, token)| (url.to_owned(), token.to_owned()));
    }

    /// One whose `factum.toml` has the testbed's destination `bed`, with short times.
    pub(crate) fn with(bed: &Bed) -> Self {
        let folder = Self::new();
        folder.write("factum.toml", &configuration(&bed.base));
        folder
    }

    /// The same, with a wait for an answer that is longer than a slow machine needs for a whole test.
    pub(crate) fn patient(bed: &Bed) -> Self {
        let text = configuration(&bed.base);
        let patient = text.replace("answer_wait = \"5 s\"", "answer_wait = \"60 s\"");
        assert_ne!(text, patient);
        let folder = Self::new();
        folder.write("factum.toml", &patient);
        folder
    }

    /// A path in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Reads a file.
    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// The command with these words, in this folder.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        self.command_of(Path::new(env!("CARGO_BIN_EXE_factum")), words)
    }

    /// The same of another program.
    fn command_of(&self, program: &Path, words: &[&str]) -> Command {
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("FACTUM_") {
                command.env_remove(name);
            }
        }
        command
            .args(words)
            .current_dir(self.dir.path())
            .stdin(Stdio::null())
            .env("USER", "ana");
        if let Some((url, token)) = &self.remote {
            command.env("FACTUM_URL", url).env("FACTUM_TOKEN", token);
        }
        command
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, words: &[&str]) -> Ran {
        ended(self.command(words))
    }

    /// Runs a command that has to succeed, with `--json`; its value.
    pub(crate) fn json(&self, words: &[&str]) -> Value {
        let ran = self.run(&[words, &["--json"]].concat());
        assert_eq!(ran.code, 0, "{words:?}: {ran:?}");
        ran.json()
    }

    /// Runs a command that has to fail, with `--json`; its exit code and the problem.
    pub(crate) fn refused(&self, words: &[&str]) -> (i32, Value) {
        self.refused_by(Path::new(env!("CARGO_BIN_EXE_factum")), words)
    }

    /// The same of another program.
    pub(crate) fn refused_by(&self, program: &Path, words: &[&str]) -> (i32, Value) {
        let ran = ended(self.command_of(program, &[words, &["--json"]].concat()));
        assert_ne!(ran.code, 0, "{words:?}: {ran:?}");
        assert_eq!(ran.out, "", "{words:?} has no result");
        (
            ran.code,
            serde_json::from_str(&ran.err)
                .unwrap_or_else(|error| panic!("{words:?}: {error}: {ran:?}")),
        )
    }

    /// Serves on a free port, until the handle is dropped.
    pub(crate) fn serve(&self) -> Server {
        self.serve_with(&[])
    }

    /// The same, with variables.
    pub(crate) fn serve_with(&self, variables: &[(&str, &str)]) -> Server {
        self.serve_by(Path::new(env!("CARGO_BIN_EXE_factum")), variables)
    }

    /// The same by another program.
    pub(crate) fn serve_by(&self, program: &Path, variables: &[(&str, &str)]) -> Server {
        let words = ["serve", "--listen", "127.0.0.1:0", "--json"];
        let mut command = self.command_of(program, &words);
        command.envs(variables.iter().copied());
        let child = Child::start(command);
        let said = child.json();
        Server {
            address: said["address"].as_str().unwrap().to_owned(),
            tls_address: said["tls_address"].as_str().map(str::to_owned),
            token_file: said["token_file"].as_str().unwrap().into(),
            child,
        }
    }

    /// Submits to the testbed's destination, without waiting; the status.
    pub(crate) fn submit(&self, operation: &str, key: &str, payload: &Value) -> Value {
        self.json(&[
            "submit",
            "bed",
            operation,
            "--key",
            key,
            "--payload",
            &payload.to_string(),
        ])
    }

    /// Asks for a status until `wanted` holds.
    pub(crate) fn status_when(&self, id: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let status = self.json(&["status", id]);
            if wanted(&status) {
                return status;
            }
            assert!(Instant::now() < deadline, "it never came: {status}");
        }
    }
}

/// A configuration with one testbed as `bed`, and short times so that tests end soon.
pub(crate) fn configuration(base: &str) -> String {
    let mut text = format!(
        "[destinations.bed]\nprovider = \"testbed\"\nbase = \"{base}\"\naccount = \"testbed\"\n"
    );
    for (name, value) in [
        ("linger", "200 ms"),
        ("skew", "100 ms"),
        ("write", "2 s"),
        ("send_wait", "2 s"),
        ("answer_wait", "5 s"),
        ("pause_margin", "1 s"),
        ("backoff", "100 ms"),
        ("backoff_max", "1 s"),
    ] {
        writeln!(text, "limits.{name} = \"{value}\"").unwrap();
    }
    // A destination that loses answers on purpose is not one to be left alone for a while.
    text.push_str("gate.circuit_failures = 0\n");
    text
}

/// Runs a command to its end.
pub(crate) fn ended(mut command: Command) -> Ran {
    let output = command.output().unwrap();
    Ran {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Runs a command to its end, with this on its standard input.
pub(crate) fn ended_with_input(mut command: Command, input: &str) -> Ran {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Ran {
    /// Its output, which has to be one JSON value.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl Child {
    /// Starts a command; its standard error is this process's own.
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let out = child.stdout.take().unwrap();
        let (says, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                if says.send(line).is_err() {
                    break;
                }
            }
        });
        Self { child, lines }
    }

    /// Starts a command that is written to.
    pub(crate) fn with_input(mut command: Command) -> (Self, std::process::ChildStdin) {
        command.stdin(Stdio::piped());
        let mut child = Self::start(command);
        let input = child.child.stdin.take().unwrap();
        (child, input)
    }

    /// The next line of its output.
    pub(crate) fn line(&self) -> String {
        self.lines
            .recv_timeout(PATIENCE)
            .expect("the child says something")
    }

    /// The next line, which has to be JSON.
    pub(crate) fn json(&self) -> Value {
        let line = self.line();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Asks it to end.
    pub(crate) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Ends it at once, as a power cut would end it.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for its end.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < deadline, "the child does not end");
            // The lines end with the process, so this waits for an event and not for time to pass.
            let _ = self.lines.recv_timeout(Duration::from_millis(50));
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// Its token.
    pub(crate) fn token(&self) -> String {
        std::fs::read_to_string(&self.token_file)
            .unwrap()
            .trim()
            .to_owned()
    }

    /// Ends it in good order.
    pub(crate) fn stop(mut self) {
        self.child.terminate();
        assert!(self.child.ended().success());
    }
}

/// What an engine answered.
#[derive(Debug)]
pub(crate) struct Answered {
    /// The status code.
    pub(crate) status: u16,
    head: String,
    /// The body, or null.
    pub(crate) body: Value,
}

impl Answered {
    /// A header, by its name in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }
}

impl Server {
    /// One request with the admin's token; none where no whole answer came.
    pub(crate) fn ask(&self, method: &str, path: &str, body: &Value) -> Option<Answered> {
        asked(&self.address, Some(&self.token()), (method, path), body)
    }
}

/// One request; none where no whole answer came.
fn asked(
    address: &str,
    token: Option<&str>,
    (method, path): (&str, &str),
    body: &Value,
) -> Option<Answered> {
    let host = address.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(host).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(8))).ok()?;
    let authorization = token.map_or_else(String::new, |token| {
        format!("authorization: Bearer {token}\r\n")
    });
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {host}\r\n{authorization}connection: close\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).ok()?;
    let mut whole = Vec::new();
    stream.read_to_end(&mut whole).ok()?;
    let text = String::from_utf8(whole).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    Some(Answered {
        status: head.split(' ').nth(1)?.parse().ok()?,
        head: head.to_owned(),
        body: serde_json::from_str(body).unwrap_or_default(),
    })
}

impl Bed {
    /// A testbed without faults.
    pub(crate) fn start() -> Self {
        Self::with(&[])
    }

    /// A testbed with these further words, such as `--faults`.
    pub(crate) fn with(words: &[&str]) -> Self {
        let folder = Folder::new();
        let free = [
            "testbed",
            "--listen",
            "127.0.0.1:0",
            "--admin-listen",
            "127.0.0.1:0",
            "--json",
        ];
        let child = Child::start(folder.command(&[&free, words].concat()));
        let said = child.json();
        Self {
            base: said["address"].as_str().unwrap().to_owned(),
            admin: said["admin"].as_str().unwrap().to_owned(),
            child,
        }
    }

    /// What really happened there.
    pub(crate) fn counts(&self) -> Value {
        Folder::new().json(&["testbed", "ledger", &self.admin])
    }

    /// Its ledger's rows, in their order.
    pub(crate) fn rows(&self) -> Vec<Value> {
        let answer = asked(&self.admin, None, ("GET", "/ledger"), &Value::Null).unwrap();
        answer.body["rows"].as_array().unwrap().clone()
    }

    /// Effects that exist, by business reference.
    pub(crate) fn effects(&self, business: &str) -> u64 {
        self.counts()["by_business"][business]
            .as_u64()
            .unwrap_or_default()
    }

    /// Effect requests that came over the wire.
    pub(crate) fn deliveries(&self) -> u64 {
        self.counts()["deliveries"].as_u64().unwrap()
    }
}

/// A payload that is counted by this business reference.
pub(crate) fn business(name: &str) -> Value {
    json!({"business": name})
}

/// The mode bits of a file.
pub(crate) fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}
