//! Everything that is refused: it names member, rule and remedy, and leaves no trace.

use std::time::Duration;

use factum_server::Limits;
use serde_json::{Value, json};

use crate::client::{Answer, exchange, request};
use crate::world::{TOKEN, World, submission};

/// Has a provider of the catalogue beside the carrier, so that operations can be unknown.
const HELPDESK: &str =
    "[destinations.helpdesk]\nprovider = \"testbed\"\nbase = \"http://127.0.0.1:9\"\n";

fn with(member: &str, value: Value) -> String {
    let mut body = submission("1", "done");
    body[member] = value;
    body.to_string()
}

fn without(member: &str) -> String {
    let mut body = submission("1", "done");
    body.as_object_mut().expect("an object").remove(member);
    body.to_string()
}

fn payload(text: &str) -> String {
    format!(r#"{{"destination":"crm","operation":"contact.add","key":"k","payload":{text}}}"#)
}

/// Body, status, code, and the member that is named; `*` where any is right.
type Case = (String, u16, &'static str, &'static str);

fn malformed() -> Vec<Case> {
    let nested = format!("{}{}", "[".repeat(200), "]".repeat(200));
    vec![
        (String::new(), 400, "F1001", ""),
        ("{".to_owned(), 400, "F1001", ""),
        ("not json".to_owned(), 400, "F1001", ""),
        (submission("1", "done").to_string() + "}", 400, "F1001", ""),
        (payload("01"), 400, "F1001", ""),
        ("[]".to_owned(), 400, "F1003", ""),
        ("null".to_owned(), 400, "F1003", ""),
        // What two readers could understand differently.
        (
            payload(r#"{"amount":1e400}"#),
            400,
            "F1010",
            "/payload/amount",
        ),
        (payload(r#"[0,-1e999]"#), 400, "F1010", "/payload/1"),
        (
            payload(r#"{"a":{"b":1,"b":2}}"#),
            400,
            "F1013",
            "/payload/a/b",
        ),
        (
            payload("1").replace("\"key\"", "\"key\":\"j\",\"key\""),
            400,
            "F1013",
            "/key",
        ),
        (payload(&nested), 400, "F1014", "*"),
    ]
}

fn of_wrong_form() -> Vec<Case> {
    vec![
        (with("urgent", json!(true)), 400, "F1002", "/urgent"),
        (
            with("conversation", json!({"id": "c", "turns": 3})),
            400,
            "F1002",
            "/conversation/turns",
        ),
        (with("destination", json!(7)), 400, "F1003", "/destination"),
        (with("destination", json!("")), 400, "F1003", "/destination"),
        (without("destination"), 400, "F1003", "*"),
        (without("operation"), 400, "F1003", "*"),
        (with("params", json!([1])), 400, "F1003", "/params"),
        (
            with("deadline", json!("tomorrow")),
            400,
            "F1003",
            "/deadline",
        ),
        (
            with("conversation", json!({"turn": -1, "id": "c"})),
            400,
            "F1003",
            "/conversation/turn",
        ),
        (with("trace", json!("00-x")), 400, "F1003", "/trace"),
    ]
}

fn without_identity() -> Vec<Case> {
    let event = json!({"source": "shop", "id": "e1"});
    let effectless = json!({"destination": "crm", "operation": "x", "event": event});
    vec![
        (without("key"), 400, "F1004", "/key"),
        (with("key", Value::Null), 400, "F1004", "/key"),
        (effectless.to_string(), 400, "F1004", "/effect"),
        (with("key", json!("")), 400, "F1011", "/key"),
        (with("key", json!("  ")), 400, "F1011", "/key"),
        (with("key", json!("a\nb")), 400, "F1011", "/key"),
        (with("key", json!("k".repeat(256))), 400, "F1011", "/key"),
        (with("event", event), 400, "F1011", "/key"),
    ]
}

fn that_cannot_be() -> Vec<Case> {
    let never = json!({
        "destination": "crm", "operation": "x", "key": "k",
        "deadline": "2090-01-01T00:00:00Z", "not_before": "2090-01-01T00:00:00Z",
    });
    vec![
        (
            with("destination", json!("crn")),
            404,
            "F1005",
            "/destination",
        ),
        (
            with("destination", json!("helpdesk")),
            404,
            "F1006",
            "/operation",
        ),
        (
            with("deadline", json!("2001-01-01T00:00:00Z")),
            422,
            "F1008",
            "/deadline",
        ),
        (never.to_string(), 422, "F1015", "/not_before"),
    ]
}

#[tokio::test]
async fn bad_submissions_name_member_rule_and_remedy_and_record_nothing() {
    let world = World::with(HELPDESK, |limits| limits).await;
    let cases = [
        malformed(),
        of_wrong_form(),
        without_identity(),
        that_cannot_be(),
    ]
    .concat();
    for (body, status, code, member) in cases {
        let headers = [("Content-Type", "application/json")];
        let answer = world.call("POST", "/v1/actions", &headers, &body).await;
        let problem = answer.json();
        let shown = &body[..body.len().min(120)];
        assert_eq!(
            (answer.status, problem["code"].as_str()),
            (status, Some(code)),
            "{shown}: {problem}"
        );
        let named = problem["member"].as_str().unwrap_or_default();
        assert!(
            named == member || member == "*",
            "{shown}: {problem} is not about {member:?}"
        );
        for part in ["rule", "remedy"] {
            assert!(
                problem[part].as_str().is_some_and(|text| text.len() > 5),
                "{shown}: {problem}"
            );
        }
        assert_eq!(
            answer.header("content-type"),
            Some("application/problem+json")
        );
    }
    world.is_untouched().await;
}

fn authorized<'a>(authorization: &'a str, rest: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let mut headers = vec![("Authorization", authorization)];
    headers.extend_from_slice(rest);
    headers
}

async fn raw(world: &World, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    let authorization = format!("Bearer {TOKEN}");
    exchange(
        world.address,
        &request(
            "POST",
            "/v1/actions",
            &authorized(&authorization, headers),
            body,
        ),
    )
    .await
}

#[tokio::test]
async fn only_json_in_utf_8_is_read() {
    let world = World::start().await;
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/json; charset=latin1",
        "json",
    ] {
        let answer = world
            .call(
                "POST",
                "/v1/actions",
                &[("Content-Type", kind)],
                &submission("1", "done").to_string(),
            )
            .await;
        let problem = answer.json();
        assert_eq!(
            (answer.status, &problem["code"], &problem["member"]),
            (415, &json!("F1026"), &json!("Content-Type")),
            "{kind}"
        );
    }
    let mut body = submission("1", "done").to_string().into_bytes();
    let at = body
        .iter()
        .position(|byte| *byte == b'A')
        .expect("of the summary");
    body[at] = 0xff;
    let answer = raw(&world, &[], &body).await;
    assert_eq!(
        (answer.status, &answer.json()["code"]),
        (400, &json!("F1001"))
    );
    world.is_untouched().await;

    for (index, kind) in [
        "application/json",
        "application/vnd.acme.wish+json",
        "Application/JSON; charset=UTF-8",
    ]
    .iter()
    .enumerate()
    {
        let body = submission(&index.to_string(), "done").to_string();
        let answer = world
            .call("POST", "/v1/actions", &[("Content-Type", kind)], &body)
            .await;
        assert_eq!(answer.status, 201, "{kind}");
    }
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused_however_it_comes() {
    let world = World::with("server.body_max_bytes = 2000", |limits| limits).await;
    let large = with("payload", json!("x".repeat(2_000)));
    let chunk = "x".repeat(1_000);
    let chunked = format!("3e8\r\n{chunk}\r\n").repeat(3) + "0\r\n\r\n";
    let head = |more: &str| {
        format!(
            "POST /v1/actions HTTP/1.1\r\nHost: t\r\nConnection: close\r\nAuthorization: Bearer {TOKEN}\r\n{more}\r\n"
        )
    };
    let huge = with("payload", json!("x".repeat(3_000_000)));
    let all = [
        (
            "declared and sent",
            head(&format!("Content-Length: {}\r\n", large.len())) + &large,
        ),
        (
            "declared, sent and much too large",
            head(&format!("Content-Length: {}\r\n", huge.len())) + &huge,
        ),
        (
            "declared and never sent",
            head("Content-Length: 99999999999\r\n"),
        ),
        (
            "asked for leave first",
            head("Content-Length: 5000\r\nExpect: 100-continue\r\n"),
        ),
        (
            "in pieces",
            head("Transfer-Encoding: chunked\r\n") + &chunked,
        ),
    ];
    for (how, bytes) in all {
        let answer = exchange(world.address, bytes.as_bytes()).await;
        let problem = answer.json();
        assert_eq!(
            (answer.status, &problem["code"]),
            (413, &json!("F1009")),
            "{how}"
        );
        assert!(
            problem["rule"]
                .as_str()
                .is_some_and(|rule| rule.contains("2000")),
            "{how}: {problem}"
        );
    }
    world.is_untouched().await;
    assert_eq!(
        world
            .post("/v1/actions", &submission("1", "done"))
            .await
            .status,
        201
    );
}

#[tokio::test]
async fn a_body_that_does_not_arrive_is_given_up() {
    let world = World::with("", |limits| Limits {
        body_wait: Duration::from_millis(50),
        ..limits
    })
    .await;
    let body = submission("1", "done").to_string();
    let authorization = format!("Bearer {TOKEN}");
    let mut bytes = request(
        "POST",
        "/v1/actions",
        &[("Authorization", &authorization)],
        body.as_bytes(),
    );
    bytes.truncate(bytes.len() - 1);
    let answer = exchange(world.address, &bytes).await;
    assert_eq!(
        (answer.status, &answer.json()["type"]),
        (408, &json!("urn:factum:problem:request-timeout"))
    );
    assert!(
        answer.json()["rule"]
            .as_str()
            .is_some_and(|rule| rule.contains("nothing was recorded"))
    );
    world.is_untouched().await;
}

#[tokio::test]
async fn a_head_that_does_not_arrive_is_given_up() {
    let world = World::with("", |limits| Limits {
        head_wait: Duration::from_millis(50),
        ..limits
    })
    .await;
    let mut stream = tokio::net::TcpStream::connect(world.address)
        .await
        .expect("the server listens");
    tokio::io::AsyncWriteExt::write_all(&mut stream, b"POST /v1/actions HTTP/1.1\r\nHos")
        .await
        .expect("written");
    let mut answer = Vec::new();
    // What counts is that the connection ends by itself; hyper may say 408 before.
    let _ = tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut answer).await;
    assert!(
        !String::from_utf8_lossy(&answer).contains(" 20"),
        "nothing is answered as done"
    );
    world.is_untouched().await;
}

#[tokio::test]
async fn query_parameters_are_known_by_name_and_form() {
    let world = World::start().await;
    let cases = [
        ("/v1/actions?stat=pending", "stat"),
        ("/v1/actions?state=done", "state"),
        ("/v1/actions?next=sleep", "next"),
        ("/v1/actions?limit=0", "limit"),
        ("/v1/actions?limit=501", "limit"),
        ("/v1/actions?limit=-1", "limit"),
        ("/v1/actions?before=act_1", "before"),
        ("/v1/actions?key=", "key"),
        ("/v1/actions?key=a&key=b", "key"),
        ("/v1/actions?audience=everyone", "audience"),
        ("/v1/actions/act_00000000000000000000000000?wait=61", "wait"),
        (
            "/v1/actions/act_00000000000000000000000000/evidence?wait=1",
            "wait",
        ),
        ("/v1/review?state=pending", "state"),
        ("/v1/destinations?name=crm", "name"),
        ("/v1/admin/state?x=1", "x"),
        ("/v1/admin/would-send?limit=x", "limit"),
        ("/healthz?x=1", "x"),
        ("/readyz?x=1", "x"),
        ("/openapi.json?x=1", "x"),
    ];
    for (target, member) in cases {
        let answer = world.get(target).await;
        let problem = answer.json();
        assert_eq!(
            (answer.status, &problem["code"], &problem["member"]),
            (400, &json!("F1025"), &json!(member)),
            "{target}"
        );
        assert!(
            problem["remedy"]
                .as_str()
                .is_some_and(|remedy| !remedy.is_empty()),
            "{target}"
        );
    }
    let posted = world
        .call(
            "POST",
            "/v1/actions?key=k",
            &[],
            &submission("1", "done").to_string(),
        )
        .await;
    assert_eq!(
        posted.json()["code"],
        "F1025",
        "an identity in the query is not overlooked"
    );
    world.is_untouched().await;
}
