//! Servers that nobody here wrote, behind a proxy that loses requests and answers. The truth is what the server itself holds.
//!
//! Run by `./test`, which starts one server after the other and names its folder in `LAB_DIR`. Here is what the tests of all
//! labs share: the server, the proxy, an engine on it, and the comparison of what is said with what is there.

mod matrix;
mod radicale;
mod redmine;
mod stripe_mock;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use factum::view::StatusView;
use factum::{ActionId, Config, Factum};
use serde_json::Value;

/// Longer than anything here takes; nothing waits this long when it passes.
const PATIENCE: Duration = Duration::from_secs(420);

/// A running server.
struct Lab {
    name: &'static str,
    folder: PathBuf,
    env: BTreeMap<String, String>,
    /// Started by the test itself, and ended with it.
    own: Option<tempfile::TempDir>,
}

impl Lab {
    /// The one that `LAB_DIR` names.
    #[expect(
        clippy::disallowed_methods,
        reason = "./test names the running lab in the environment"
    )]
    fn running(name: &'static str) -> Self {
        let folder = std::env::var("LAB_DIR").expect("LAB_DIR names the folder of a running lab");
        let mut lab = Self {
            name,
            folder: folder.into(),
            env: BTreeMap::new(),
            own: None,
        };
        let text = std::fs::read_to_string(lab.folder.join("env")).unwrap();
        lab.env = assignments(&text);
        lab
    }

    /// One more, for a test that stops it.
    fn started(name: &'static str) -> Self {
        let own = tempfile::tempdir().unwrap();
        let mut lab = Self {
            name,
            folder: own.path().to_owned(),
            env: BTreeMap::new(),
            own: Some(own),
        };
        lab.env = assignments(&lab.script("start.sh", &[]));
        lab
    }

    /// The value that `start.sh` printed under this name.
    fn get(&self, name: &str) -> &str {
        &self.env[name]
    }

    fn port(&self) -> &str {
        self.get("URL").rsplit(':').next().unwrap()
    }

    fn run(&self, script: &str, words: &[&str]) -> std::io::Result<Output> {
        let mut command = Command::new(labs().join(self.name).join(script));
        command.args(words).env("LAB_DIR", &self.folder).output()
    }

    /// Runs one of the lab's scripts on this server, and answers what it printed.
    fn script(&self, script: &str, words: &[&str]) -> String {
        let ran = self.run(script, words).unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{script}: {said}");
        String::from_utf8(ran.stdout).unwrap()
    }

    /// What exists on the server, read beside the interface that the engine uses.
    fn effects(&self) -> Vec<Value> {
        let listed = self.script("count.sh", &[]);
        let row = |line: &str| serde_json::from_str(line).unwrap();
        listed.lines().map(row).collect()
    }

    /// How many of them carry this text.
    fn count(&self, text: &str) -> usize {
        self.script("count.sh", &[text]).trim().parse().unwrap()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        if self.own.is_some() {
            let _ = self.run("stop.sh", &["KILL"]);
        }
    }
}

/// `NAME=value` of a shell, with or without single quotes.
fn assignments(text: &str) -> BTreeMap<String, String> {
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    pairs
        .map(|(name, value)| (name.to_owned(), value.trim_matches('\'').to_owned()))
        .collect()
}

fn labs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../labs")
}

/// The proxy in front of a lab; ended with the test.
struct Proxy {
    child: Child,
    port: u16,
    control: u16,
}

impl Proxy {
    fn start(lab: &Lab, rules: &[&str]) -> Self {
        let mut command = Command::new("python3");
        command
            .arg(labs().join("lossy_proxy.py"))
            .args(["--target", lab.port(), "--seed", "11"])
            .args(["--bodies", "--control", "0"]);
        for rule in rules {
            command.args(["--rule", rule]);
        }
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut port = || {
            let line = said.next().unwrap().unwrap();
            line.rsplit(' ').next().unwrap().parse().unwrap()
        };
        let (port, control) = (port(), port());
        Self {
            child,
            port,
            control,
        }
    }

    /// One request to its control port, and the body of the answer.
    fn control(&self, method: &str, path: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.control)).unwrap();
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{answer}");
        body.to_owned()
    }

    /// What went through it, oldest first.
    fn log(&self) -> Vec<Value> {
        let lines = self.control("GET", "/log", "");
        let entry = |line: &str| serde_json::from_str(line).unwrap();
        lines.lines().map(entry).collect()
    }

    /// How often the server got a request of this method in full.
    fn arrived(&self, method: &str) -> u64 {
        let log = self.log();
        let of_method = log.iter().filter(|entry| entry["method"] == method);
        of_method
            .map(|entry| entry["upstream_calls"].as_u64().unwrap())
            .sum()
    }

    /// Every fault of these rules has hit something.
    fn assert_all_hit(&self, rules: &[&str]) {
        let log = self.log();
        let hit: BTreeSet<&str> = log.iter().filter_map(|e| e["fault"].as_str()).collect();
        for rule in rules {
            let fault = rule.split(',').next().unwrap();
            assert!(hit.contains(fault), "{fault} hit nothing: {hit:?}");
        }
    }

    /// Shut, a caller gets a real "connection refused".
    fn door(&self, word: &str) {
        self.control("PUT", "/door", word);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An engine whose destination `lab` is the proxy.
struct Rig {
    lab: Lab,
    proxy: Proxy,
    factum: Factum,
    operation: &'static str,
    /// In every key and every text, so that many tests can share a server.
    run: String,
    /// The file with the credential.
    secret: PathBuf,
    _folder: tempfile::TempDir,
}

/// What a lab's tests have in common.
struct Desk {
    operation: &'static str,
    /// Members of the destination; `{secret}` stands for the reference to the credential.
    destination: String,
    /// The credential.
    secret: String,
    /// Members of the operation's settings.
    settings: &'static str,
}

impl Rig {
    async fn start(lab: Lab, desk: Desk, rules: &[&str]) -> Self {
        let proxy = Proxy::start(&lab, rules);
        let folder = tempfile::tempdir().unwrap();
        let secret = folder.path().join("secret");
        std::fs::write(&secret, &desk.secret).unwrap();
        let text = format!(
            r#"
            [destinations.lab]
            base = "http://127.0.0.1:{port}"
            {destination}

            [destinations.lab.limits]
            send_wait = "2 s"
            write = "2 s"
            answer_wait = "4 s"
            linger = "200 ms"
            skew = "100 ms"
            pause_margin = "2 s"
            backoff = "200 ms"
            backoff_max = "3 s"
            lookups_max = 10

            [destinations.lab.gate]
            in_flight_max = 8
            circuit_failures = 0

            [destinations.lab.operations."{operation}"]
            {settings}
            "#,
            port = proxy.port,
            destination = desk
                .destination
                .replace("{secret}", &format!("file:{}", secret.display())),
            operation = desk.operation,
            settings = desk.settings,
        );
        let config = Config::parse("lab.toml", &text).unwrap();
        let factum = Factum::sqlite(folder.path().join("factum.db"))
            .config(config)
            .start()
            .await
            .unwrap();
        let run = folder.path().file_name().unwrap().to_string_lossy();
        let run = run.trim_start_matches('.').to_owned();
        Self {
            lab,
            proxy,
            factum,
            operation: desk.operation,
            run,
            secret,
            _folder: folder,
        }
    }

    /// The text that effect `n` of this test carries; no other effect holds it.
    fn text(&self, n: usize) -> String {
        format!("<{n}> of {}", self.run)
    }

    /// Submits effect `n`.
    async fn submit(&self, n: usize, params: Value, payload: Value) -> ActionId {
        let action = self
            .factum
            .action("lab", self.operation)
            .key(format!("{}/{n}", self.run));
        let submitted = action.params(params).payload(payload).submit().await;
        submitted.unwrap().status.id.parse().unwrap()
    }

    /// How it stands once nothing more happens by itself, with effect `n` counted on the server.
    async fn rested(&self, n: usize, id: ActionId) -> (StatusView, usize) {
        let status = self.factum.wait_status(id, PATIENCE).await.unwrap();
        let count = self.lab.count(&self.text(n));
        self.assert_true(&status, count).await;
        (status, count)
    }

    /// What is said about an action is true, given how many effects there are.
    async fn assert_true(&self, status: &StatusView, count: usize) {
        let true_word = match (status.state, status.happened) {
            ("succeeded", "yes") => count == 1,
            ("terminal_failure" | "cancelled" | "expired", "no") => count == 0,
            ("outcome_unknown", "unknown") => status.next.step == "review",
            _ => false,
        };
        let id = status.id.parse().unwrap();
        let evidence = self.factum.evidence(id).await;
        assert!(true_word, "{count} effects: {status:?} {evidence:?}");
    }

    /// The kinds of facts recorded about an action, in order.
    async fn facts(&self, id: ActionId) -> Vec<&'static str> {
        let evidence = self.factum.evidence(id).await.unwrap();
        evidence.iter().map(|fact| fact.fact).collect()
    }

    /// What the answers to the effect request meant, in order.
    async fn classes(&self, id: ActionId) -> Vec<String> {
        let evidence = self.factum.evidence(id).await.unwrap();
        let answers = evidence.iter().filter(|fact| fact.fact == "answered");
        let class = |answer: &Value| answer["class"].as_str().unwrap().to_owned();
        answers.map(|answer| class(&answer.detail)).collect()
    }

    /// Waits until a fact of this kind is recorded.
    async fn until(&self, id: ActionId, fact: &str) {
        let mut changes = self.factum.engine().changes();
        while !self.facts(id).await.contains(&fact) {
            // A change from before the question is not told again.
            let _ = tokio::time::timeout(Duration::from_millis(100), changes.recv()).await;
        }
    }

    /// D10: the connection is refused. Nothing was sent, that is said, and it is tried again freely.
    async fn shut_out_and_let_in(&self, method: &str, params: Value, payload: Value) {
        self.proxy.door("shut");
        let id = self.submit(0, params, payload).await;
        self.until(id, "not_sent").await;
        let evidence = self.factum.evidence(id).await.unwrap();
        let unsent = evidence.iter().find(|fact| fact.fact == "not_sent");
        assert_eq!(unsent.unwrap().detail["phase"], "connect", "{evidence:?}");
        let status = self.factum.status(id).await.unwrap();
        // The next attempt may be open just now; nothing has happened either way, and nothing else is said.
        assert!(
            matches!(status.state, "retryable_failure" | "dispatching"),
            "{status:?}"
        );
        assert_eq!(self.lab.count(&self.text(0)), 0);
        self.proxy.door("open");
        let (status, count) = self.rested(0, id).await;
        assert_eq!((status.state, count), ("succeeded", 1));
        assert_eq!(self.proxy.arrived(method), 1);
        let facts = self.facts(id).await;
        assert!(!facts.contains(&"lost"), "{facts:?}");
    }

    async fn stop(self) {
        self.factum.shutdown(Duration::from_secs(10)).await;
    }
}

/// What became of many actions.
#[derive(Debug, Default)]
struct Tally {
    succeeded: usize,
    /// It cannot be told, and a person is asked.
    unknown: Vec<StatusView>,
    /// Sent again after the first time.
    resent: u32,
}

impl Rig {
    /// Submits so many effects at once, waits until none moves by itself any more, and compares each with the server: what is
    /// said is true, and there is no second one. `text_of` is the text that a row of the server carries, `receipt_of` its name.
    async fn carry_out(
        &self,
        actions: usize,
        make: impl Fn(usize, String) -> (Value, Value),
        text_of: impl Fn(&Value) -> Option<String>,
        receipt_of: impl Fn(&Value) -> Option<String>,
    ) -> Tally {
        let mut ids = Vec::new();
        for n in 0..actions {
            let (params, payload) = make(n, self.text(n));
            ids.push(self.submit(n, params, payload).await);
        }
        let mut told = Vec::new();
        for id in ids {
            told.push(self.factum.wait_status(id, PATIENCE).await.unwrap());
        }
        let mut held: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for row in self.lab.effects() {
            held.entry(text_of(&row).unwrap_or_default())
                .or_default()
                .push(row);
        }
        let mut tally = Tally::default();
        for (n, status) in told.into_iter().enumerate() {
            let rows = held.remove(&self.text(n)).unwrap_or_default();
            self.assert_true(&status, rows.len()).await;
            assert!(rows.len() <= 1, "a duplicate: {rows:?} {status:?}");
            let receipt = status.receipt.as_ref().map(|r| r.reference.clone());
            if let (Some(receipt), [row]) = (receipt, rows.as_slice()) {
                assert_eq!(Some(receipt), receipt_of(row), "{row:?}");
            }
            tally.succeeded += usize::from(status.state == "succeeded");
            tally.resent += status.attempts.saturating_sub(1);
            if status.state == "outcome_unknown" {
                tally.unknown.push(status);
            }
        }
        let strangers: Vec<_> = held.keys().filter(|t| t.ends_with(&self.run)).collect();
        assert!(strangers.is_empty(), "nobody asked for {strangers:?}");
        tally
    }
}
