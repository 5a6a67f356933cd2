//! Where a key goes, in every way that the language knows, and what the bodies look like around it.

use factum_contract::{BuildErrorKind, Contract, EffectInput, HttpRequest};
use factum_core::Timestamp;
use factum_core::promise::Retention;
use serde_json::{Value, json};

use crate::support::{contract, effect, params};

const HEAD: &str = "provider = \"p\"\noperation = \"o\"\ntitle = \"t\"\nconsequence = \"costly\"\n";

fn with(effect: &str, key: &str) -> Contract {
    contract(&format!("{HEAD}[effect]\n{effect}\n[key]\n{key}\n"))
}

fn text(request: &HttpRequest) -> &str {
    std::str::from_utf8(&request.body).expect("the body is text")
}

fn header<'a>(request: &'a HttpRequest, name: &str) -> Option<&'a str> {
    let mut headers = request.headers.iter();
    headers.find(|(n, _)| n == name).map(|(_, v)| v.as_str())
}

#[test]
fn a_key_goes_into_the_query() {
    let bare = with("path = \"/messages\"", "place = { query = \"requestId\" }");
    let request = effect(&bare, json!({}), "{}").unwrap();
    assert_eq!(request.path_and_query, "/messages?requestId=K");
    let more = with(
        "path = \"/messages?alt=json\"",
        "place = { query = \"requestId\" }",
    );
    let request = effect(&more, json!({}), "{}").unwrap();
    assert_eq!(request.path_and_query, "/messages?alt=json&requestId=K");
}

#[test]
fn a_key_goes_into_a_form() {
    let form = with(
        "path = \"/v1/charges\"\nbody = \"form\"\nset = [{ at = \"/metadata/factum\", to = \"{reference}\" }]",
        "place = { field = \"/idempotency_key\" }",
    );
    let payload = r#"{"b":{"c":[1.50,"ü&="],"d":true},"a":"x y"}"#;
    let request = effect(&form, json!({}), payload).unwrap();
    assert_eq!(
        text(&request),
        "a=x%20y&b%5Bc%5D%5B0%5D=1.50&b%5Bc%5D%5B1%5D=%C3%BC%26%3D&b%5Bd%5D=true&idempotency_key=K&metadata%5Bfactum%5D=R"
    );
    assert_eq!(
        header(&request, "content-type"),
        Some("application/x-www-form-urlencoded")
    );
    for (payload, member, kind) in [
        ("[]", "/payload/metadata", BuildErrorKind::NoPlace),
        (
            r#"{"a":{"b":null}}"#,
            "/payload/a/b",
            BuildErrorKind::NotScalar,
        ),
    ] {
        let error = effect(&form, json!({}), payload).unwrap_err();
        assert_eq!((error.member.as_str(), error.kind), (member, kind));
    }
}

#[test]
fn forms_name_nested_values_in_the_destinations_way() {
    let payload = r#"{"a":{"b":[1,2]}}"#;
    for (style, expected) in [
        ("{ nested = \"dots\" }", "a.b.0=1&a.b.1=2"),
        (
            "{ lists = \"brackets\" }",
            "a%5Bb%5D%5B%5D=1&a%5Bb%5D%5B%5D=2",
        ),
        ("{ nested = \"dots\", lists = \"repeat\" }", "a.b=1&a.b=2"),
    ] {
        let effect_text = format!("path = \"/\"\nbody = \"form\"\nform_style = {style}");
        let form = with(&effect_text, "place = { header = \"K\" }");
        let request = effect(&form, json!({}), payload).unwrap();
        assert_eq!(text(&request), expected);
    }
}

#[test]
fn a_key_goes_into_a_variable_or_a_directive() {
    let variable = with(
        "path = \"/graphql\"\nbody = \"graphql\"\ndocument = \"mutation($input: I!) { create(input: $input) { id } }\"",
        "place = { variable = \"/input/id\" }\nalphabet = \"uuid\"",
    );
    let request = effect(&variable, json!({}), r#"{"input":{"n":1.0}}"#).unwrap();
    assert_eq!(
        text(&request),
        r#"{"query":"mutation($input: I!) { create(input: $input) { id } }","variables":{"input":{"n":1.0,"id":"K"}}}"#
    );
    let directive = with(
        "path = \"/graphql\"\nbody = \"graphql\"\ndocument = \"mutation { refund(note: \\\"<reference>\\\") @idempotent(key: \\\"<key>\\\") { id } }\"",
        "place = { directive = \"idempotent\" }",
    );
    let request = directive
        .effect_request(&EffectInput {
            params: &params(json!({})),
            payload: b"",
            key: Some("a\"b\\"),
            reference: "R",
        })
        .unwrap();
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    assert_eq!(
        body["query"],
        "mutation { refund(note: \"R\") @idempotent(key: \"a\\\"b\\\\\") { id } }"
    );
    assert_eq!(body["variables"], json!({}));
}

#[test]
fn a_batch_is_sent_with_one_item() {
    let batch = with(
        "path = \"/bulk\"",
        "place = { item = \"/batches/0/objects/0/key\" }",
    );
    // The first list on the way is the batch.
    let request = effect(&batch, json!({}), r#"{"batches":[{"objects":[{}]}]}"#).unwrap();
    assert_eq!(text(&request), r#"{"batches":[{"objects":[{"key":"K"}]}]}"#);
    for payload in [r#"{"batches":[]}"#, r#"{"batches":[{},{}]}"#, "{}"] {
        let error = effect(&batch, json!({}), payload).unwrap_err();
        assert_eq!(error.member, "/payload/batches", "{payload}");
        assert_eq!(error.kind, BuildErrorKind::NotSingle);
    }
}

#[test]
fn members_that_are_given_can_be_the_key() {
    let given = with(
        "path = \"/events\"",
        "place = { given = [\"/user_id\", \"/event/name\"] }",
    );
    assert!(!given.sends_key());
    let payload = r#"{"user_id":7,"event":{"name":"signed-up"}}"#;
    let request = effect(&given, json!({}), payload).unwrap();
    assert_eq!(text(&request), payload);
    let error = effect(&given, json!({}), r#"{"user_id":7,"event":{}}"#).unwrap_err();
    assert_eq!(error.member, "/payload/event/name");
    assert_eq!(error.kind, BuildErrorKind::Missing);
}

#[test]
fn companions_go_with_the_key() {
    let repeatable = with(
        "path = \"/sms\"",
        "place = { header = \"Repeatability-Request-Id\" }\nalphabet = \"uuid\"\n\
         companions = { headers = { Repeatability-First-Sent = \"{first_sent}\" }, set = [{ at = \"/enforce_nonce\", to = true }] }",
    );
    assert!(repeatable.needs_first_sent());
    let given = params(json!({}));
    let input = EffectInput {
        params: &given,
        payload: b"{}",
        key: Some("K"),
        reference: "R",
    };
    let missing = repeatable.effect_request(&input).unwrap_err();
    assert_eq!(missing.member, "/first_sent");
    let at = Timestamp::from_micros(784_111_777_999_999);
    let request = repeatable.effect_request_recorded_at(&input, at).unwrap();
    assert_eq!(
        header(&request, "repeatability-first-sent"),
        Some("Sun, 06 Nov 1994 08:49:37 GMT")
    );
    assert_eq!(text(&request), r#"{"enforce_nonce":true}"#);
    assert_eq!(
        repeatable.effect_request_recorded_at(&input, at),
        Ok(request),
        "equal on every attempt"
    );
}

#[test]
fn parts_have_one_boundary_on_every_attempt() {
    let parts = with(
        "path = \"/upload\"\nbody = \"multipart\"\nset = [{ at = \"/mark\", to = \"{reference}\" }]",
        "place = { header = \"K\" }",
    );
    let payload = r#"{"file":{"filename":"a\"b.txt","content_type":"text/plain","base64":"aGk="},"meta":{"n":1},"tag":["x",2]}"#;
    let request = effect(&parts, json!({}), payload).unwrap();
    let content_type = header(&request, "content-type").unwrap();
    let boundary = content_type
        .strip_prefix("multipart/form-data; boundary=")
        .unwrap();
    let part = |head: &str, body: &str| format!("--{boundary}\r\n{head}\r\n\r\n{body}\r\n");
    let disposition = |name: &str| format!("content-disposition: form-data; name=\"{name}\"");
    let expected = [
        part(
            &format!(
                "{}; filename=\"a%22b.txt\"\r\ncontent-type: text/plain",
                disposition("file")
            ),
            "hi",
        ),
        part(&disposition("mark"), "R"),
        part(
            &format!("{}\r\ncontent-type: application/json", disposition("meta")),
            "{\"n\":1}",
        ),
        part(&disposition("tag"), "x"),
        part(&disposition("tag"), "2"),
        format!("--{boundary}--\r\n"),
    ];
    assert_eq!(text(&request), expected.concat());
    assert_eq!(effect(&parts, json!({}), payload), Ok(request));
    for (payload, member, kind) in [
        (
            r#"{"a":{"filename":"x","base64":"?"}}"#,
            "/payload/a",
            BuildErrorKind::NotFile,
        ),
        (
            r#"{"a":{"filename":"x\r\ny","text":""}}"#,
            "/payload/a",
            BuildErrorKind::NotHeaderText,
        ),
        (
            r#"{"a":{"filename":"x","text":"","content_type":"a\r\nb: c"}}"#,
            "/payload/a",
            BuildErrorKind::NotHeaderText,
        ),
        (r#"{"a":[null]}"#, "/payload/a/0", BuildErrorKind::NotScalar),
    ] {
        let error = effect(&parts, json!({}), payload).unwrap_err();
        assert_eq!((error.member.as_str(), error.kind), (member, kind));
    }
}

const PROMISE: &str = "stored = { success = true, refusals = false, errors = false }\n\
    source = { person = \"us\", date = \"2026-11-29\" }\n";

fn repeat(members: &str) -> Contract {
    with(
        "path = \"/\"",
        &format!("place = {{ header = \"K\" }}\n[key.repeat]\n{members}\n{PROMISE}"),
    )
}

#[test]
fn only_a_floor_that_nothing_takes_away_is_one() {
    let day = factum_core::Span::from_secs(86_400);
    for (members, expected) in [
        ("retention = { floor = \"24 h\" }", Retention::Floor(day)),
        (
            "retention = { floor = \"24 h\" }\nclock = \"completion\"",
            Retention::Floor(day),
        ),
        (
            "retention = { floor = \"24 h\" }\nadjustable = true",
            Retention::Approximate(day),
        ),
        ("retention = { count = 10 }", Retention::Unpublished),
        (
            "retention = { floor = \"24 h\" }\nescapes = { stated = \"a budget of memory\" }",
            Retention::Approximate(day),
        ),
        (
            "retention = \"unbounded\"\nescapes = [{ answer_over = 9000000 }]",
            Retention::Unpublished,
        ),
        (
            "retention = { floor = \"24 h\" }\nescapes = [{ body_over = 10 }]",
            Retention::Floor(day),
        ),
    ] {
        let promises = repeat(members).promises();
        assert_eq!(promises.key.unwrap().retention, expected, "{members}");
    }
}

#[test]
fn an_escape_clause_is_checked_against_the_request() {
    // R4: the window has no floor for this request.
    let contract = repeat(
        "retention = { floor = \"24 h\" }\nescapes = [{ body_over = 10 }, { content_type = \"multipart/\" }]",
    );
    let floor = |payload: &str| {
        let request = effect(&contract, json!({}), payload).unwrap();
        contract
            .promises_for(&request)
            .key
            .unwrap()
            .retention
            .floor()
    };
    assert!(floor("{\"a\":1234}").is_some());
    assert_eq!(floor("{\"a\":12345}"), None);
    let parts = contract_of_parts();
    let request = effect(&parts, json!({}), "{}").unwrap();
    assert_eq!(
        parts.promises_for(&request).key.unwrap().retention.floor(),
        None
    );
    assert!(parts.promises().key.unwrap().retention.floor().is_some());
}

fn contract_of_parts() -> Contract {
    with(
        "path = \"/\"\nbody = \"multipart\"",
        &format!(
            "place = {{ header = \"K\" }}\n[key.repeat]\nretention = {{ floor = \"24 h\" }}\n\
             escapes = {{ content_type = \"multipart/form-data\" }}\n{PROMISE}"
        ),
    )
}

#[test]
fn a_spent_key_keeps_its_error() {
    let poisoned = repeat("retention = { floor = \"24 h\" }\nfailures = \"poison\"");
    assert!(poisoned.promises().key.unwrap().stores_errors);
    let again = repeat("retention = { floor = \"24 h\" }\nfailures = \"executed_again\"");
    assert!(!again.promises().key.unwrap().stores_errors);
}

// R19: behind a key whose replays are marked, a 502 without the mark is somebody's on the way, and the key is as good as before.
#[test]
fn an_error_that_would_be_marked_as_replayed_does_not_spend_the_key() {
    let mark = "replayed = { headers = { name = \"R\", equals = \"true\" } }\n";
    for (mark, spent) in [("", true), (mark, false)] {
        let stored = with(
            "path = \"/\"",
            &format!(
                "place = {{ header = \"K\" }}\n[key.repeat]\nretention = {{ floor = \"24 h\" }}\n{mark}{}",
                PROMISE.replace("errors = false", "errors = true")
            ),
        );
        assert_eq!(stored.promises().key.unwrap().stores_errors, spent);
    }
}

#[test]
fn a_key_per_device_is_a_key_per_credential() {
    for (scope, expected) in [
        ("\"account\"", false),
        ("[\"device\", \"path\"]", true),
        ("[\"user_app\"]", true),
        ("[\"company_account\", \"host\"]", false),
    ] {
        let contract = repeat(&format!(
            "retention = {{ floor = \"24 h\" }}\nscope = {scope}"
        ));
        let key = contract.promises().key.unwrap();
        assert_eq!(key.scope_includes_credential, expected, "{scope}");
    }
}

#[test]
fn a_condition_counts_where_it_is_sent() {
    let source = "source = { person = \"us\", date = \"2026-11-29\" }";
    let with_condition = |condition: &str| {
        contract(&format!(
            "{HEAD}[effect]\nmethod = \"PUT\"\npath = \"/doc\"\n[effect.condition]\n{condition}\n{source}\n"
        ))
    };
    let fixed = with_condition("header = \"If-None-Match\"\nvalue = \"*\"");
    assert!(fixed.promises().condition_checked);
    let request = effect(&fixed, json!({}), "{}").unwrap();
    assert_eq!(header(&request, "if-none-match"), Some("*"));

    let optional =
        with_condition("header = \"If-Match\"\nparam = \"etag\"\nrequired = false\nquoted = true");
    assert!(!optional.promises().condition_checked);
    let without = effect(&optional, json!({}), "{}").unwrap();
    assert!(!optional.promises_for(&without).condition_checked);
    let given = effect(&optional, json!({"etag": "v1"}), "{}").unwrap();
    assert_eq!(header(&given, "if-match"), Some("\"v1\""));
    assert!(optional.promises_for(&given).condition_checked);
    let wrong = effect(&optional, json!({"etag": "a\"b"}), "{}").unwrap_err();
    assert_eq!(wrong.member, "/params/etag");

    let member = with_condition("member = \"/version\"\nparam = \"version\"");
    assert!(member.promises().condition_checked);
    let request = effect(&member, json!({"version": 3}), "{}").unwrap();
    assert_eq!(text(&request), r#"{"version":3}"#);
    let lacking = effect(&member, json!({}), "{}").unwrap_err();
    assert_eq!(lacking.member, "/params/version");
}
