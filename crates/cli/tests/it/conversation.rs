//! The story of a conversation over plain HTTP, and the same from the terminal: asked, the answer lost, "not known yet" told,
//! found, put right.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::support::{Bed, Folder, Server, business};

/// One request from a program that knows nothing but HTTP.
fn http(server: &Server, method: &str, path: &str, body: &Value) -> Value {
    let address = server.address.trim_start_matches("http://");
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        server.token(),
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 2"), "{answer}");
    serde_json::from_str(body).unwrap()
}

#[test]
fn what_was_told_is_put_right_once_the_effect_is_found() {
    let bed = Bed::with(&["--faults", "close_fin,class=effect"]);
    let folder = Folder::with(&bed);
    let server = folder.serve();
    let asked = json!({
        "destination": "bed", "operation": "neither.sync", "key": "conv-91/order-77/refund", "payload": business("order-77"),
        "summary": "Erstattung für Bestellung 77", "locale": "de",
        "conversation": {"id": "conv-91", "turn": 14, "asked": "bitte erstatten"},
    });
    let recorded = http(&server, "POST", "/v1/actions", &asked);
    let id = recorded["id"].as_str().unwrap();
    folder.status_when(id, |status| status["next"]["do"] == "review");
    assert_eq!(
        bed.effects("order-77"),
        1,
        "it exists, and nobody here knows"
    );

    // The bot reads what may be said, and says it.
    let conversation = http(&server, "GET", "/v1/conversations/conv-91", &Value::Null);
    let one = &conversation["actions"][0];
    assert_eq!(one["asked"], "bitte erstatten");
    let statement = &one["status"]["statement"];
    assert_eq!(statement["key"], "unknown-checked-by-person");
    let version = &one["status"]["version"];
    let told =
        json!({"action": id, "version": version, "statement": statement["key"], "by": "bot"});
    let kept = http(&server, "POST", "/v1/conversations/conv-91/told", &told);
    assert_eq!(
        (&kept["told"]["how"], &kept["correction"]),
        (&json!("told"), &Value::Null)
    );

    // A person finds it. The correction is due, in the words of whoever asked, until it is passed on.
    let why = "it stands in their list";
    folder.json(&[
        "verdict",
        id,
        "happened",
        "--receipt",
        "T-000001",
        "--why",
        why,
    ]);
    let path = "/v1/corrections?conversation=conv-91";
    let due = http(&server, "GET", path, &Value::Null);
    let correction = &due["corrections"][0];
    let say =
        "Es gibt Neues zu „Erstattung für Bestellung 77“. Erledigt. Die Referenz lautet T-000001.";
    assert_eq!(
        (&correction["say"], &correction["conversation"]),
        (&json!(say), &json!("conv-91"))
    );
    server.stop();
    put_right(&folder, id, correction);
    assert_eq!((bed.effects("order-77"), bed.deliveries()), (1, 1));
}

/// The correction is due after a restart, too, and is passed on from the terminal.
fn put_right(folder: &Folder, id: &str, correction: &Value) {
    let due = folder.json(&["conversation", "corrections"]);
    assert_eq!(
        due["corrections"].as_array().map(Vec::len),
        Some(1),
        "{due}"
    );
    let server = folder.serve();
    let version = correction["version"].to_string();
    let words = [
        "conversation",
        "acknowledge",
        "conv-91",
        id,
        "--version",
        &version,
    ];
    let acknowledged = folder.json(&words);
    assert_eq!(acknowledged["due"], false);
    let due = folder.json(&["conversation", "corrections", "--conversation", "conv-91"]);
    assert_eq!(due["corrections"], json!([]));
    let shown = folder.json(&["conversation", "show", "conv-91"]);
    let told = shown["actions"][0]["told"].as_array().unwrap();
    assert_eq!(told.last().unwrap()["say"], correction["say"], "{shown}");
    assert!(
        folder
            .run(&["conversation", "show", "conv-91"])
            .out
            .contains(id)
    );
    let (code, problem) = folder.refused(&words);
    assert_eq!((code, &problem["code"]), (4, &json!("F1021")), "{problem}");
    server.stop();
}

#[test]
fn from_the_terminal_what_was_told_names_its_version() {
    let bed = Bed::with(&["--faults", "close_fin,class=effect"]);
    let folder = Folder::with(&bed);
    let server = folder.serve();
    let payload = business("order-1").to_string();
    let submitted = folder.json(&[
        "submit",
        "bed",
        "neither.sync",
        "--key",
        "k",
        "--conversation",
        "conv-1",
        "--locale",
        "fr",
        "--payload",
        &payload,
    ]);
    let id = submitted["id"].as_str().unwrap();
    let status = folder.status_when(id, |status| status["next"]["do"] == "review");
    let version = status["version"].to_string();
    let told = ["conversation", "told", "conv-1", id, "--version", &version];
    let kept = folder.json(&[&told[..], &["--said", "C'est fait."]].concat());
    assert_eq!(kept["told"]["counts_as"], "done", "{kept}");
    assert_eq!(kept["correction"]["kind"], "contradicted");
    let ran = folder.run(&["conversation", "corrections"]);
    assert!(
        ran.out.contains("Rectification") && ran.out.contains("C'est fait."),
        "{ran:?}"
    );
    server.stop();
    let (_, problem) = folder.refused(&told);
    assert!(
        problem["rule"].as_str().unwrap().contains("running server"),
        "{problem}"
    );
}
