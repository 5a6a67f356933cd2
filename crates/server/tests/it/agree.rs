//! What the document says of a body and what the server takes are the same: what the schema refuses is refused with 400 and changes
//! nothing, and what it allows is never refused for its form. The rows are kinds of disagreement that were found by generated requests.

use serde_json::{Value, json};

use crate::conforms::valid;
use crate::world::{World, submission};

/// The schema of a call's body.
fn schema_of(document: &Value, path: &str) -> Value {
    document["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"].clone()
}

/// A body with one member replaced, by JSON pointer of one or two parts.
fn with(mut body: Value, pointer: &str, value: Value) -> Value {
    let mut at = &mut body;
    for part in pointer.split('/').skip(1) {
        at = match part.parse::<usize>() {
            Ok(index) => &mut at[index],
            Err(_) => &mut at[part],
        };
    }
    *at = value;
    body
}

fn grant() -> Value {
    json!({
        "name": "night", "principal": "boss", "acts_for": ["ana"], "destinations": ["crm"], "operations": ["contact.add"],
        "limits": {"count": {"max": 1, "per_s": 60}, "amount": {"currency": "EUR", "each": "1.5", "total": "10", "per_s": 60}},
        "until": "2099-01-01T00:00:00Z", "about": "nights", "by": "me", "why": "a trial",
    })
}

/// A call, a right body, one of its members, values that are wrong there, and values that are right.
struct Row(&'static str, Value, &'static str, Value, Value);

/// A text of somebody, of so many characters at the most.
fn spoken(path: &'static str, body: Value, member: &'static str, most: usize) -> Row {
    let long = |length: usize| "ü".repeat(length);
    let wrong = json!(["", " \n ", "a\u{7}b", "a\u{85}", 7, ["a"], long(most + 1)]);
    let right = json!([null, long(most), "a\nb", "\u{3000}a"]);
    Row(path, body, member, wrong, right)
}

fn named(path: &'static str) -> Row {
    let wrong = json!(["a b", "a/b", "a*", ".", "..", "a\u{a0}", "a?", "50%", null]);
    let right = json!(["ä:b@c-1_2.3", "..."]);
    Row(path, json!({"name": "acme"}), "/name", wrong, right)
}

fn of_names_and_texts() -> Vec<Row> {
    let tenant = || json!({"name": "acme"});
    vec![
        named("/v1/tenants"),
        named("/v1/principals"),
        spoken("/v1/tenants", tenant(), "/about", 500),
        spoken("/v1/tenants", tenant(), "/by", 200),
        spoken("/v1/tenants", tenant(), "/why", 2_000),
        spoken("/v1/admin/pause", json!({}), "/by", 200),
    ]
}

fn of_grants() -> Vec<Row> {
    let row = |member, wrong, right| Row("/v1/grants", grant(), member, wrong, right);
    let (period_max, whole_max) = (316_224_000_u64, 9_007_199_254_740_991_u64);
    let periods = json!([0, -1, 1.5, period_max + 1, "60"]);
    let amounts = json!([1, "-1", "1e3", "1.1234567"]);
    vec![
        row(
            "/acts_for",
            json!(["ana", [""], ["a\u{0}"], [1]]),
            json!([null]),
        ),
        row("/limits", json!([[], [null, null], 1]), json!([null, {}])),
        row("/limits/count", json!([[5, 60], {"max": 1}]), json!([null])),
        row("/limits/count/per_s", periods, json!([1, period_max])),
        row("/limits/count/max", json!([whole_max + 1, -1]), json!([0])),
        row(
            "/limits/amount",
            json!([["EUR"], {"each": "1"}]),
            json!([null]),
        ),
        row("/limits/amount/each", amounts, json!([null, "0", "7."])),
        row(
            "/limits/amount/currency",
            json!(["", "\u{1}", "x".repeat(21)]),
            json!([null]),
        ),
        row("/principal", json!(["a\u{0}", ""]), json!([])),
    ]
}

fn of_tokens_and_operating() -> Vec<Row> {
    let token = || json!({"principal": "boss", "scopes": ["read"]});
    let off = || json!({"standing": "active", "why": "a test", "by": "me"});
    let state = "/v1/destinations/{name}/state";
    let (rotate, restore) = ("/v1/tokens/{name}/rotate", "/v1/admin/after-restore");
    vec![
        Row(
            "/v1/tokens",
            token(),
            "/scopes",
            json!([[], ["all"], "read", null]),
            json!([["read", "submit"]]),
        ),
        Row(
            "/v1/tokens",
            token(),
            "/grant",
            json!(["", "a\u{0}"]),
            json!([null]),
        ),
        Row(
            "/v1/tokens",
            token(),
            "/principal",
            json!(["a\u{0}"]),
            json!([]),
        ),
        Row(
            rotate,
            json!({}),
            "/overlap_s",
            json!([31_622_401, -1, "1"]),
            json!([31_622_400]),
        ),
        Row(
            state,
            off(),
            "/why",
            json!(["", "\u{7}", null]),
            json!(["x".repeat(2_000)]),
        ),
        Row(
            state,
            off(),
            "/standing",
            json!(["gone", null]),
            json!(["suspended"]),
        ),
        Row(
            restore,
            json!({}),
            "/copy_until",
            json!(["", 1]),
            json!([null, "2026-01-01T00:00:00Z"]),
        ),
    ]
}

fn of_submissions() -> Vec<Row> {
    let row = |member, wrong, right| {
        let mut body = submission("agree", "done");
        body["conversation"] = json!({"id": "c", "turn": 1, "asked": "please"});
        Row("/v1/actions", body, member, wrong, right)
    };
    let (long, whole_max) = ("x".repeat(256), 9_007_199_254_740_991_u64);
    let turns = json!([-1, 1.5, whole_max + 1]);
    vec![
        row(
            "/for",
            json!(["", " ", "a\u{0}", long]),
            json!([null, "user:ana"]),
        ),
        row(
            "/key",
            json!(["", "a\nb", long, 1]),
            json!(["x".repeat(255)]),
        ),
        row(
            "/subject",
            json!(["\u{3000}", "a\u{9f}"]),
            json!([null, "ticket/7"]),
        ),
        row("/conversation", json!([["c"], {}, "c"]), json!([null])),
        row("/conversation/id", json!(["", "a\u{0}"]), json!(["ü"])),
        row("/conversation/turn", turns, json!([null, 0, whole_max])),
        row(
            "/locale",
            json!(["", "de_AT", "deutschland-x", "de-"]),
            json!([null, "de-AT-1996"]),
        ),
        row("/params", json!([[], "a"]), json!([null, {}])),
        row(
            "/trace",
            json!(["01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"]),
            json!([null]),
        ),
        row(
            "/event",
            json!([{"source": "s", "id": "i"}, ["s", "i"]]),
            json!([null]),
        ),
    ]
}

#[tokio::test]
async fn a_schema_refuses_what_the_server_refuses() {
    let world = World::start().await;
    world.token("default", "boss", &["read"]).await;
    let token = world.get("/v1/tokens").await.json()["tokens"][0]["name"].clone();
    let document = factum_server::openapi::document();
    let mut made = 0;
    let rows = [
        of_names_and_texts(),
        of_grants(),
        of_submissions(),
        of_tokens_and_operating(),
    ];
    for Row(path, body, member, wrong, right) in rows.into_iter().flatten() {
        let schema = schema_of(&document, path);
        let name = if path.contains("tokens") {
            token.as_str().unwrap()
        } else {
            "crm"
        };
        let target = path.replace("{name}", name);
        for value in wrong.as_array().unwrap().clone() {
            let body = with(body.clone(), member, value);
            assert!(
                valid(&document, &schema, &body, "").is_err(),
                "the schema of {path} takes {member} in {body}"
            );
            let answer = world.post(&target, &body).await;
            assert_eq!(
                answer.status, 400,
                "{path} {member} {body}: {}",
                answer.text
            );
        }
        for value in right.as_array().unwrap().clone() {
            let mut body = with(body.clone(), member, value);
            // Each is another one, and no repeat.
            made += 1;
            for own in ["name", "key"] {
                if body.get(own).is_some() && member != format!("/{own}") {
                    body[own] = json!(format!("{own}-{made}"));
                }
            }
            assert_eq!(
                valid(&document, &schema, &body, ""),
                Ok(()),
                "the schema of {path} refuses {member}"
            );
            let answer = world.post(&target, &body).await;
            assert!(
                matches!(answer.status, 200 | 201),
                "{path} {member} {body}: {}",
                answer.text
            );
        }
    }
}

#[tokio::test]
async fn nothing_is_found_by_control_characters() {
    let world = World::start().await;
    for target in [
        "/v1/actions?key=a%00",
        "/v1/actions?conversation=%0A",
        "/v1/corrections?after=%07",
        "/v1/grants?tenant=%00",
    ] {
        let answer = world.get(target).await;
        assert_eq!(
            (answer.status, &answer.json()["code"]),
            (400, &json!("F1025")),
            "{target}"
        );
    }
    for target in [
        "/v1/conversations/a%00",
        "/v1/grants/a%00",
        "/v1/tokens/%0a",
        "/v1/destinations/%7f",
        "/v1/actions/%00",
    ] {
        assert_eq!(world.get(target).await.status, 404, "{target}");
    }
}

#[tokio::test]
async fn a_restore_of_an_empty_store_knows_of_no_instant() {
    let world = World::start().await;
    let state = world
        .post("/v1/admin/after-restore", &json!({}))
        .await
        .json();
    assert_eq!(state["restore"]["copy_until"], Value::Null);
}
