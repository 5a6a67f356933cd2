//! What the incidents need: a scrape, the doctor's words, a destination that refuses, a disk without room, and the documents.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, prlimit};

use crate::support::{Folder, PATIENCE, Server, configuration};

/// A destination that refuses everything as unauthorized, and whose clock stands in another year.
pub(super) struct Refusing {
    pub(super) base: String,
}

impl Refusing {
    /// On a free port, until the test ends.
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                std::thread::spawn(move || refuse(stream));
            }
        });
        Self { base }
    }
}

/// Reads a request to its end, as its length says, and refuses it.
fn refuse(mut stream: TcpStream) {
    let mut read = Vec::new();
    let mut piece = [0; 4_096];
    loop {
        let text = String::from_utf8_lossy(&read).to_ascii_lowercase();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.map_or(0, |length| length.trim().parse().unwrap());
            if body.len() >= length {
                break;
            }
        }
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => return,
            Ok(count) => read.extend_from_slice(&piece[..count]),
        }
    }
    let body = r#"{"error":{"code":"unauthorized","message":"the token was revoked"}}"#;
    let head = format!(
        "HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\ndate: Mon, 05 Jan 2026 10:00:00 GMT\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all(format!("{head}{body}").as_bytes());
}

/// The testbed's destination at this address, with these members beside or in place of the usual ones.
pub(super) fn served_config(base: &str, more: &str) -> String {
    let names: Vec<&str> = more
        .lines()
        .filter_map(|line| line.split(" = ").next())
        .collect();
    let usual = configuration(base);
    let kept = usual.lines().filter(|line| {
        !names
            .iter()
            .any(|name| line.starts_with(&format!("{name} = ")))
    });
    kept.map(|line| format!("{line}\n")).collect::<String>() + more
}

/// What the doctor says to people.
pub(super) fn doctor(folder: &Folder) -> String {
    folder.run(&["doctor"]).out
}

/// One scrape.
pub(super) fn scrape(server: &Server) -> String {
    let host = server.address.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    let request = format!("GET /metrics HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 200 "), "{text}");
    text.split_once("\r\n\r\n").unwrap().1.to_owned()
}

/// Scrapes until it shows what is looked for: what stands in the store is read anew every few seconds.
pub(super) fn metrics(server: &Server, wanted: impl Fn(&str) -> bool) -> String {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let page = scrape(server);
        if wanted(&page) {
            return page;
        }
        assert!(Instant::now() < deadline, "it never came:\n{page}");
        std::thread::park_timeout(Duration::from_millis(200));
    }
}

/// The value of a line; not a number where there is none.
pub(super) fn value(page: &str, line: &str) -> f64 {
    let found = page
        .lines()
        .find_map(|own| own.strip_prefix(line)?.strip_prefix(' '));
    found.map_or(f64::NAN, |found| found.parse().unwrap())
}

/// No file of this server grows any more.
pub(super) fn fill(server: &Server) {
    let pid = Pid::from_raw(i32::try_from(server.child.id()).unwrap());
    let limits = Rlimit {
        current: Some(32 << 10),
        maximum: None,
    };
    prlimit(pid, Resource::Fsize, limits).unwrap();
}

fn document(path: &str) -> String {
    let path = format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The contract of one of the testbed's operations.
pub(super) fn contract(operation: &str) -> String {
    document(&format!("contracts/testbed/{operation}.toml"))
}

/// The runbook of this name says these words, so that they lead somebody who has only the documents.
pub(super) fn runbook(name: &str, words: &[&str]) {
    let page = document(&format!("docs/runbooks/{name}.md"));
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    for word in words {
        assert!(
            page.contains(word),
            "docs/runbooks/{name}.md does not say {word:?}"
        );
    }
}

/// The metrics that a page shows, also those without a value yet.
pub(super) fn families(page: &str) -> BTreeSet<String> {
    let types = page.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    types
        .filter_map(|line| Some(line.split_once(' ')?.0.to_owned()))
        .collect()
}

/// The metrics that docs/metrics.md lists.
pub(super) fn documented() -> BTreeSet<String> {
    let page = document("docs/metrics.md");
    let rows = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `factum_"));
    let names = rows.filter_map(|row| row.split_once('`'));
    names.map(|(name, _)| format!("factum_{name}")).collect()
}
