//! What happens to the canaries: submitted, lost, looked up, refused, reviewed, ruled on, reported, posted, purged; by the terminal,
//! by HTTP and by a model's tools; with a restart in the middle. Everything that comes out is kept, with the place where it did.

use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::{console, contracts, plant, talkative};
use crate::mcp::host::{Era, Host};
use crate::postgres::database::Database;
use crate::support::{Child, Folder, PATIENCE, Ran};

/// Where something came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// What the destination was sent.
    Far,
    /// The log, the traces, the metrics.
    Watched,
    /// The store's files, with their log, and the backup.
    Kept,
    /// What is told about actions, to callers and people.
    Told,
    /// What is told about the installation, to those who run it.
    Managed,
    /// What the receiver of webhooks was sent.
    Webhook,
    /// What whoever sent something wrong was answered.
    Problems,
    /// The whole store in clear, for its owner.
    Export,
}

/// All that came out.
pub(super) struct Story {
    folder: Folder,
    /// The place, what it is more exactly, and what came out: bytes that are no text are replaced, one by one.
    pub(super) output: Vec<(Place, String, String)>,
    /// Where everything is kept, if not in a file.
    database: Option<Database>,
    secrets: Vec<(&'static str, String)>,
}

struct Served {
    child: Child,
    address: String,
    log: &'static str,
}

impl Story {
    /// Plays it to its end, on a database or on a file.
    pub(super) fn play(database: Option<Database>) -> Self {
        let (base, far) = talkative::destination();
        let (collector, traces) = talkative::taker();
        let (receiver, posts) = talkative::taker();
        let mut story = Self {
            folder: Folder::new(),
            output: Vec::new(),
            database,
            secrets: Vec::new(),
        };
        story.configure(&base, &collector, "people");
        let server = story.serve("first.log");
        story.secrets(&receiver);
        let ids = story.submissions();
        story.report(&server);
        story.wrong(&server);
        story.kept();
        story.stop(server);
        story.configure(&base, &collector, "json");
        let server = story.serve("second.log");
        story.people(&ids[3], &ids[1]);
        story.look(&server, &ids);
        story.until("webhooks", || posts.all().contains("review.left"));
        story.until("traces", || traces.all().contains("settle"));
        story.stop(server);
        story.leave();
        for (place, label, heard) in [
            (Place::Far, "destination", far),
            (Place::Watched, "traces", traces),
            (Place::Webhook, "posts", posts),
        ] {
            story.keep(place, label, heard.all());
        }
        story
    }

    /// What a canary is written as: most are planted, secrets are made by the program.
    pub(super) fn text_of(&self, name: &str) -> String {
        let made = self.secrets.iter().find(|(known, _)| *known == name);
        made.map_or_else(|| plant(name), |(_, text)| text.clone())
    }

    fn keep(&mut self, place: Place, label: &str, bytes: impl AsRef<[u8]>) {
        let text = String::from_utf8_lossy(bytes.as_ref());
        self.output
            .push((place, label.to_owned(), text.into_owned()));
    }

    fn configure(&self, base: &str, collector: &str, format: &str) {
        let url = self.database.as_ref().map(|database| database.url.as_str());
        let url = url.unwrap_or("sqlite:factum-data/factum.db");
        let top = format!("store = {{ url = \"{url}\", folder = \"factum-data\" }}\n");
        contracts::write(&self.folder, &top, (base, collector), format);
    }

    fn serve(&mut self, log: &'static str) -> Served {
        let mut command = self
            .folder
            .command(&["serve", "--listen", "127.0.0.1:0", "--json"]);
        command.envs(contracts::variables());
        command.stderr(File::create(self.folder.path(log)).unwrap());
        let child = Child::start(command);
        let said = child.json();
        let address = said["address"].as_str().unwrap().to_owned();
        if self.database.is_some() {
            // Whoever holds a file is found beside it; a worker on a database has to be named.
            let token = self.folder.read("factum-data/admin.token");
            self.folder.asks(Some((&address, token.trim())));
        }
        Served {
            child,
            address,
            log,
        }
    }

    fn stop(&mut self, mut server: Served) {
        server.child.terminate();
        assert!(server.child.ended().success());
        let log = self.folder.read(server.log);
        assert!(log.contains("DEBUG"), "it is as loud as it can be");
        self.keep(Place::Watched, server.log, log);
    }

    /// Runs a command, as loud as it can be; both of its outputs are kept.
    fn ran(&mut self, place: Place, words: &[&str]) -> Ran {
        let mut command = self.folder.command(words);
        command.env("FACTUM_LOG", "trace");
        let ran = crate::support::ended(command);
        let label = words.join(" ");
        self.keep(place, &label, ran.out.clone());
        // Problems are among the lines of the log there.
        self.keep(Place::Watched, &label, ran.err.clone());
        ran
    }

    fn until(&self, what: &str, there: impl Fn() -> bool) {
        let begun = std::time::Instant::now();
        while !there() {
            assert!(begun.elapsed() < PATIENCE, "{what} never came");
            std::thread::park_timeout(Duration::from_millis(50));
        }
    }

    /// The secrets that the program makes by itself, each shown once.
    fn secrets(&mut self, receiver: &str) {
        let admin = self
            .folder
            .read("factum-data/admin.token")
            .trim()
            .to_owned();
        self.folder.json(&["principal", "add", "desk"]);
        let token = self
            .folder
            .json(&["token", "add", "desk", "--scope", "read", "--why", "a test"]);
        let url = format!("{receiver}/hook?token={}", plant("webhook_address"));
        let hook = self.folder.json(&["webhook", "add", "crm", "--url", &url]);
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        self.secrets = vec![
            ("admin_token", admin),
            ("made_token", text(&token["token"])),
            ("webhook_secret", text(&hook["secret"])),
        ];
    }

    /// One action of each kind; their ids. The last one waits for a person.
    fn submissions(&mut self) -> Vec<String> {
        let submit = |destination: &str, operation: &str, behave: &str| {
            let key = format!("{destination}-{behave}-{operation}");
            let payload = json!({
                "behave": behave, "title": plant("title"), "body": [{"text": plant("payload")}], plant("member"): 1,
            });
            let body = json!({
                "destination": destination, "operation": operation, "key": key,
                "params": {"list": plant("param")}, "payload": payload, "summary": plant("summary"), "for": "user:ana",
                "conversation": {"id": "conv-1", "turn": 1, "asked": plant("asked")},
            });
            self.folder.write("action.jsonl", &body.to_string());
            self.folder.json(&["submit", "--file", "action.jsonl"]);
            let listed = self.folder.json(&["list", "--key", &key]);
            listed["actions"][0]["id"].as_str().unwrap().to_owned()
        };
        let ids = vec![
            submit("bearer", "note.add", "lose"),
            submit("keyed", "note.add", "do"),
            submit("signed", "note.add", "refuse"),
            submit("bearer", "note.shout", "break"),
        ];
        for (id, state) in ids.iter().zip([
            "succeeded",
            "succeeded",
            "terminal_failure",
            "outcome_unknown",
        ]) {
            let rests = |status: &Value| {
                ["none", "review"].contains(&status["next"]["do"].as_str().unwrap())
            };
            let status = self.folder.status_when(id, rests);
            assert_eq!(status["state"], state, "{status}");
        }
        self.tool();
        ids
    }

    /// A model's tool, over the pipe.
    fn tool(&mut self) {
        let mut command = self.folder.command(&["mcp", "serve"]);
        command.env("FACTUM_LOG", "trace");
        command.stderr(File::create(self.folder.path("mcp.log")).unwrap());
        let mut host = Host::of(command, Era::Legacy);
        let arguments = json!({
            "destination": "keyed", "operation": "note.add", "params": {"list": "l"}, "wait_s": 20,
            "payload": {"title": "t", "text": plant("tool")},
        });
        let done = host.tool("perform_action", arguments);
        assert_eq!(crate::mcp::host::outcome(&done), "done", "{done}");
        host.close();
        self.keep(Place::Told, "tool", done.to_string());
        let log = self.folder.read("mcp.log");
        self.keep(Place::Watched, "mcp.log", log);
    }

    /// A report that finds its action, and one that finds none.
    fn report(&mut self, server: &Served) {
        let door = self.folder.json(&["destination", "callback", "bearer"]);
        let path = door["path"].as_str().unwrap();
        let body = json!({
            "id": "r-1", "type": "made", "note": "note-9", "reference": "nobody's", "remark": plant("report"),
        });
        for secret in [plant("callback_secret"), "wrong".to_owned()] {
            let head = format!("x-report-secret: {secret}\r\ncontent-type: application/json\r\n");
            let answer = asked(
                &server.address,
                ("POST", path),
                &head,
                &body.to_string(),
                |_| false,
            );
            self.keep(Place::Problems, "callback", answer);
        }
    }

    /// Requests with something wrong, each with a canary where it is wrong.
    fn wrong(&mut self, server: &Served) {
        let admin = format!("authorization: Bearer {}\r\n", self.text_of("admin_token"));
        let json_type = format!("{admin}content-type: application/json\r\n");
        let [member, body] = [plant("bad_member"), plant("bad_body")];
        let [path, query, header] = ["bad_path", "bad_query", "bad_header"].map(plant);
        let odd = format!(
            "{admin}x-request-id: {header} {header}\r\nuser-agent: {header}\r\ncookie: a={header}\r\n"
        );
        let stranger = format!("authorization: Bearer {}\r\n", plant("bad_token"));
        let unknown = json!({"destination": "bearer", member: 1}).to_string();
        let broken = format!("{{\"destination\": \"{body}\", ");
        let wrong_type = json!({"destination": [body]}).to_string();
        let rows = [
            ("POST", "/v1/actions".to_owned(), &json_type, unknown),
            ("POST", "/v1/actions".to_owned(), &json_type, broken),
            ("POST", "/v1/actions".to_owned(), &json_type, wrong_type),
            ("GET", format!("/v1/actions/{path}"), &admin, String::new()),
            ("GET", format!("/{path}"), &admin, String::new()),
            (
                "GET",
                format!("/v1/actions?{query}=1"),
                &admin,
                String::new(),
            ),
            ("GET", "/v1/admin/state".to_owned(), &odd, String::new()),
            ("GET", "/v1/actions".to_owned(), &stranger, String::new()),
        ];
        for (method, path, head, body) in rows {
            let answer = asked(&server.address, (method, &path), head, &body, |_| false);
            self.keep(Place::Problems, &format!("{method} {path}"), answer);
        }
    }

    /// What people do: with what waits for them, with what is to go, and with what must not.
    fn people(&mut self, waits: &str, goes: &str) {
        let [note, verdict, erasure, hold] = ["note", "verdict", "erasure", "hold"].map(plant);
        for (place, words) in [
            (Place::Told, &["review", "take", waits][..]),
            (Place::Told, &["review", "note", waits, &note]),
            (
                Place::Told,
                &["verdict", waits, "did_not_happen", "--why", &verdict],
            ),
            (
                Place::Managed,
                &["admin", "erase", "--action", goes, "--why", &erasure],
            ),
            (
                Place::Managed,
                &["hold", "add", "--conversation", "conv-1", "--why", &hold],
            ),
            (Place::Managed, &["admin", "purge", "--dry-run"]),
        ] {
            let ran = self.ran(place, words);
            assert_eq!(ran.code, 0, "{words:?}: {ran:?}");
        }
    }

    /// Everything that can be looked at while it is served: for programs, and for people.
    fn look(&mut self, server: &Served, ids: &[String]) {
        for id in ids {
            for path in ["", "/evidence", "?audience=operator"] {
                self.got(server, Place::Told, &format!("/v1/actions/{id}{path}"));
            }
        }
        for path in [
            "/v1/actions",
            "/v1/review",
            "/v1/events?from=start",
            "/v1/conversations/conv-1",
            "/v1/corrections",
        ] {
            self.got(server, Place::Told, path);
        }
        for path in [
            "/v1/admin/state",
            "/v1/admin/holds",
            "/v1/admin/would-send",
            "/v1/callbacks",
            "/v1/tokens",
            "/v1/principals",
            "/v1/webhooks",
            "/v1/webhooks/crm",
            "/v1/destinations",
            "/readyz",
        ] {
            self.got(server, Place::Managed, path);
        }
        for words in [
            &["status", ids[0].as_str()][..],
            &["evidence", ids[2].as_str()],
            &["review", "show", ids[3].as_str()],
            &["list"],
            &["conversation", "show", "conv-1"],
        ] {
            self.ran(Place::Told, words);
        }
        for words in [
            &["doctor"][..],
            &["webhook", "log", "crm"],
            &["destination", "test", "bearer"],
        ] {
            self.ran(Place::Managed, words);
        }
        let token = self.text_of("admin_token");
        (self.output).extend(console::pages(&server.address, &token, ids));
        self.streams(server);
    }

    /// A page for whoever administers the installation.
    fn got(&mut self, server: &Served, place: Place, path: &str) {
        let admin = format!("authorization: Bearer {}\r\n", self.text_of("admin_token"));
        let answer = asked(&server.address, ("GET", path), &admin, "", |_| false);
        assert!(answer.starts_with("HTTP/1.1 200 "), "{path}: {answer}");
        self.keep(place, path, answer);
    }

    /// The metrics, and what a stream of events begins with.
    fn streams(&mut self, server: &Served) {
        let page = asked(&server.address, ("GET", "/metrics"), "", "", |_| false);
        assert!(page.contains("factum_submissions_total"), "{page}");
        self.keep(Place::Watched, "metrics", page);
        let token = self.text_of("admin_token");
        let head = format!("authorization: Bearer {token}\r\naccept: text/event-stream\r\n");
        let enough = |text: &str| text.contains("review.left");
        let stream = asked(
            &server.address,
            ("GET", "/v1/events?from=start"),
            &head,
            "",
            enough,
        );
        assert!(enough(&stream), "{stream}");
        self.keep(Place::Told, "stream", stream);
    }

    /// Copies of the whole, and what stays where it is kept.
    fn leave(&mut self) {
        self.folder.asks(None);
        if self.database.is_none() {
            self.folder.write("copies/note", "made by this test");
            self.ran(Place::Managed, &["backup", "copies/backup.db"]);
            self.files("copies");
        }
        for words in [&["export", "export.jsonl"][..], &["doctor"]] {
            self.ran(Place::Managed, words);
        }
        self.kept();
        let export = self.folder.read("export.jsonl");
        self.keep(Place::Export, "export", export);
    }

    /// The store as a thief finds it.
    fn kept(&mut self) {
        if let Some(database) = &self.database {
            let dump = database.dumped();
            self.keep(Place::Kept, "dump", dump);
        }
        self.files("factum-data");
    }

    /// Every file below a folder, but for the keys and the admin's token.
    fn files(&mut self, name: &str) {
        let mut folders = vec![self.folder.path(name)];
        let mut read = 0;
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if !is_secret(&path) {
                    read += 1;
                    let bytes = std::fs::read(&path).unwrap();
                    self.keep(Place::Kept, &path.display().to_string(), bytes);
                }
            }
        }
        assert!(read > 0 || self.database.is_some(), "{name} has files");
    }
}

fn is_secret(path: &Path) -> bool {
    path.ends_with("admin.token") || path.components().any(|part| part.as_os_str() == "keys")
}

/// One request, and what is answered until the connection ends, or that is enough.
pub(super) fn asked(
    address: &str,
    (method, path): (&str, &str),
    head: &str,
    body: &str,
    is_enough: impl Fn(&str) -> bool,
) -> String {
    let host = address.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {host}\r\n{head}connection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let (mut whole, mut piece) = (String::new(), [0; 8_192]);
    while let Ok(read @ 1..) = stream.read(&mut piece) {
        whole.push_str(&String::from_utf8_lossy(&piece[..read]));
        if is_enough(&whole) {
            break;
        }
    }
    whole
}
