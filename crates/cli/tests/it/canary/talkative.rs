//! The other ends: a destination that repeats what it is told and says more, a receiver of webhooks, a collector of traces. All
//! keep what they were sent.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::plant;

/// A request as it came.
struct Request {
    /// The request line and the headers.
    head: String,
    body: String,
}

/// What one of the other ends was sent, request by request.
#[derive(Clone, Default)]
pub(super) struct Heard(Arc<Mutex<Vec<String>>>);

impl Heard {
    /// All of it.
    pub(super) fn all(&self) -> String {
        self.0.lock().unwrap().join("\n")
    }
}

/// Listens on loopback until the test ends; a request that is answered by nothing loses its connection.
fn listen(answer: impl Fn(&Request) -> Option<String> + Send + Sync + 'static) -> (String, Heard) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (heard, answer) = (Heard::default(), Arc::new(answer));
    let keeps = heard.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let (answer, keeps) = (answer.clone(), keeps.clone());
            std::thread::spawn(move || {
                let mut reader = BufReader::new(stream);
                while let Some(request) = read(&mut reader) {
                    let whole = format!("{}\n{}", request.head, request.body);
                    keeps.0.lock().unwrap().push(whole);
                    let Some(answer) = answer(&request) else {
                        return;
                    };
                    let _ = reader.get_mut().write_all(answer.as_bytes());
                }
            });
        }
    });
    (address, heard)
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Request> {
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body = String::from_utf8(body).ok()?;
    Some(Request { head, body })
}

fn reply(status: u16, body: &Value) -> Option<String> {
    let body = body.to_string();
    Some(format!(
        "HTTP/1.1 {status} It\r\ncontent-type: application/json\r\nx-remark: {}\r\ncontent-length: {}\r\n\r\n{body}",
        plant("answer_header"),
        body.len()
    ))
}

/// The destination: it does as the payload's `behave` says, and repeats the whole request in its answers.
pub(super) fn destination() -> (String, Heard) {
    let made: Mutex<BTreeMap<String, String>> = Mutex::default();
    listen(move |request| {
        let mut line = request.head.split(' ');
        let (method, path) = (line.next()?, line.next()?);
        if path.starts_with("/whoami") {
            return reply(200, &json!({"account": "talk", "remark": plant("answer")}));
        }
        if method == "GET" {
            let reference = path.rsplit_once("reference=").map_or("", |(_, it)| it);
            let found = made.lock().unwrap().get(reference).cloned();
            let items = found.map(|id| {
                json!({"id": id, "reference": reference, "remark": plant("found"), "sent": request.head})
            });
            let items: Vec<Value> = items.into_iter().collect();
            return reply(200, &json!({"items": items, "remark": plant("found")}));
        }
        let body: Value = serde_json::from_str(&request.body).ok()?;
        let id = {
            let mut made = made.lock().unwrap();
            let id = format!("note-{}", made.len());
            made.insert(body["reference"].as_str()?.to_owned(), id.clone());
            id
        };
        let repeated = json!({"remark": plant("answer"), "sent": request.head, "had": body});
        match body["behave"].as_str() {
            Some("lose") => None,
            Some("refuse") => reply(
                422,
                &json!({"error": {"why": plant("refusal"), "at": plant("answer")}, "more": repeated}),
            ),
            Some("break") => reply(500, &json!({"failed": plant("answer"), "more": repeated})),
            _ => {
                let colour = plant("captured");
                reply(201, &json!({"id": id, "colour": colour, "more": repeated}))
            }
        }
    })
}

/// Takes whatever is posted.
pub(super) fn taker() -> (String, Heard) {
    listen(|_| {
        Some(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"
                .to_owned(),
        )
    })
}
