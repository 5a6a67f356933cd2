//! Reading answers by contracts of all kinds: order, headers, recognition, places of receipts.

use factum_contract::{Catalogue, Contract, HttpAnswer, Ours};
use factum_core::evidence::{AnswerClass, Receipt};
use serde_json::json;

use crate::support::{answer, contract, raw_answer, with_header};

fn with(rest: &str) -> Contract {
    contract(&format!(
        "provider = \"p\"\noperation = \"o\"\ntitle = \"t\"\nconsequence = \"costly\"\n[effect]\npath = \"/\"\nset = [{{ at = \"/r\", to = \"{{reference}}\" }}]\n[key]\nplace = {{ header = \"K\" }}\n{rest}"
    ))
}

#[test]
fn the_first_rule_that_holds_decides() {
    let contract = with(
        r#"
[[answers]]
when = { status = 200, json = { at = "/state", equals = "queued" } }
class = "accepted"
object = { json = "/id" }
[[answers]]
when = { status = "2xx" }
class = "done"
receipt = { json = "/id" }
[poll]
path = "/{object}"
completed = { status = 200 }
working = { status = 202 }
receipt = "none"
"#,
    );
    let class = |body| contract.read_answer(&answer(200, &body)).class;
    let object = Some("7".to_owned());
    assert_eq!(
        class(json!({"state": "queued", "id": 7})),
        AnswerClass::Accepted { object }
    );
    assert_eq!(class(json!({"state": "open", "id": 7})), AnswerClass::Done);
    // A rule that holds and lacks its member does not hand over to the next.
    assert_eq!(class(json!({"state": "queued"})), AnswerClass::Unknown);
}

#[test]
fn receipts_stand_in_bodies_and_headers() {
    let contract = with(
        r#"
[[answers]]
when = { status = 201, headers = { name = "X-Whole" } }
class = "done"
receipt = { header = "X-Whole" }
[[answers]]
when = { status = 201 }
class = "done"
receipt = { last_segment = "Location" }
[[answers]]
when = { status = 200 }
class = "done"
receipt = { json = "/items/0/id" }
aliases = ["/items/0/key", "/items/0/none"]
[[answers]]
when = { status = 204 }
class = "done"
receipt = "none"
"#,
    );
    let created = raw_answer(201, b"");
    let rows = [
        (
            with_header(created.clone(), "location", "https://h/a/b/42?x=1/2"),
            Some("42"),
        ),
        (
            with_header(created.clone(), "location", "/a/42/"),
            Some("42"),
        ),
        (
            with_header(created.clone(), "x-whole", " a/b "),
            Some("a/b"),
        ),
        (with_header(created.clone(), "location", "42"), None),
        (with_header(created.clone(), "location", ""), None),
        (created, None),
    ];
    for (answer, expected) in rows {
        let reading = contract.read_answer(&answer);
        let class = if expected.is_some() {
            AnswerClass::Done
        } else {
            AnswerClass::Unknown
        };
        assert_eq!(reading.class, class, "{answer:?}");
        assert_eq!(reading.receipt, expected.map(Receipt::new), "{answer:?}");
    }
    let body = json!({"items": [{"id": 12345678901234567890_u64, "key": "K-1"}]});
    let receipt = contract.read_answer(&answer(200, &body)).receipt.unwrap();
    assert_eq!(receipt.reference, "12345678901234567890");
    assert_eq!(receipt.aliases, ["K-1"]);
    let reading = contract.read_answer(&raw_answer(204, b""));
    assert_eq!((reading.class, reading.receipt), (AnswerClass::Done, None));
}

#[test]
fn somebody_else_s_content_is_not_ours() {
    // R31, B88, B98
    let contract = with(
        r#"
[[answers]]
when = { status = 200 }
class = "done"
receipt = { json = "/id" }
ours = { in = { json = "/r" } }
[[answers]]
when = { status = 409, json = { at = "/code", equals = "exists" } }
class = "already_exists"
receipt = { json = "/id" }
ours = { in = { header = "X-Key" }, with = "key" }
"#,
    );
    let ours = Ours {
        reference: Some("R"),
        key: Some("K"),
    };
    let class = |body| contract.read_answer_to(&answer(200, &body), &ours).class;
    assert_eq!(class(json!({"id": 1, "r": "R"})), AnswerClass::Done);
    assert_eq!(class(json!({"id": 1, "r": "R2"})), AnswerClass::Unknown);
    assert_eq!(class(json!({"id": 1})), AnswerClass::Unknown);
    let mine = answer(200, &json!({"id": 1, "r": "R"}));
    assert_eq!(
        contract.read_answer(&mine).class,
        AnswerClass::Unknown,
        "without our marks"
    );
    let exists = answer(409, &json!({"code": "exists", "id": 9}));
    let reading = contract.read_answer_to(&exists, &ours);
    assert_eq!(reading.class, AnswerClass::AlreadyExists { ours: false });
    let reading = contract.read_answer_to(&with_header(exists, "x-key", "K"), &ours);
    assert_eq!(reading.class, AnswerClass::AlreadyExists { ours: true });
    assert_eq!(reading.receipt, Some(Receipt::new("9")));
}

#[test]
fn headers_are_compared_without_regard_to_case() {
    let contract = with(
        r#"
[[answers]]
when = { status = [200, "500-503"], headers = [{ name = "X-Outcome", equals = "Refused" }, { name = "X-Id" }] }
class = "rejected"
source = { person = "us", date = "2026-11-29" }
why = "/m"
"#,
    );
    let outcome = |value| {
        let answer = with_header(raw_answer(502, b""), "x-outcome", value);
        contract
            .read_answer(&with_header(answer, "x-id", "1"))
            .class
    };
    let why = "status 502".to_owned();
    assert_eq!(
        outcome("REFUSED"),
        AnswerClass::Rejected { stored: false, why }
    );
    assert_eq!(outcome("refused, maybe"), AnswerClass::Unknown);
    let without = with_header(raw_answer(502, b""), "x-outcome", "refused");
    assert_eq!(contract.read_answer(&without).class, AnswerClass::Unknown);
}

#[test]
fn the_destination_s_words_are_bounded() {
    let contract = with(
        "[[answers]]\nwhen = { status = 422, json = { at = \"/m\", exists = true } }\nclass = \"rejected\"\nwhy = \"/m\"\nsource = { person = \"us\", date = \"2026-11-29\" }\n",
    );
    let long = "ü".repeat(2_000);
    let class = contract
        .read_answer(&answer(422, &json!({"m": long})))
        .class;
    let why = "ü".repeat(500);
    assert_eq!(class, AnswerClass::Rejected { stored: false, why });
}

#[test]
fn advice_can_stand_in_the_body() {
    let provider = "provider = \"p\"\ntitle = \"P\"\nretry_after = { json = \"/retry_after\" }\n";
    let text = "provider = \"p\"\noperation = \"o\"\ntitle = \"t\"\nconsequence = \"costly\"\n[effect]\npath = \"/\"\n";
    let contract = Contract::parse("o", Some(("p", provider)), text).unwrap();
    let body: serde_json::Value = serde_json::from_str("{\"retry_after\": 0.25}").unwrap();
    let advice = contract.read_answer(&answer(429, &body)).retry_after;
    assert_eq!(advice, Some(factum_core::Span::from_secs(1)));
}

#[test]
fn of_an_answer_only_what_is_read_or_listed_is_kept() {
    let contract = with(
        r#"
[[answers]]
when = { status = 201, json = { at = "/state", one_of = ["made"] } }
class = "done"
receipt = { json = "/items/1/id" }
aliases = ["/alias"]
[[answers]]
when = { status = 422, json = [{ at = "/errors", type = "array" }, { at = "/errors/*/code", equals = "invalid" }] }
class = "rejected"
why = "/errors/0/why"
source = { person = "us", date = "2026-11-29" }
[support]
marker_kept = { in = { json = "/r" }, with = "reference" }
[product]
captured = ["/shipping"]
"#,
    );
    let kept = |status, body: &serde_json::Value| {
        let kept = contract.captured_of(&answer(status, body));
        serde_json::from_slice(&kept).unwrap_or(serde_json::Value::Null)
    };
    let done = json!({
        "state": "made", "r": "ours", "owner": {"mail": "ana@example.com"}, "link": "https://x/?token=1",
        "items": [{"id": 1, "name": "Ana"}, {"id": 2, "name": "Ben"}], "shipping": {"cost": 3, "by": ["van"]},
    });
    let expected = json!({
        "state": "made", "r": "ours", "items": [null, {"id": 2}], "shipping": {"cost": 3, "by": ["van"]},
    });
    assert_eq!(kept(201, &done), expected);
    let refused = json!({"errors": [{"code": "invalid", "why": "no", "value": "4111"}], "sent": {"card": "4111"}});
    assert_eq!(
        kept(422, &refused),
        json!({"errors": [{"code": "invalid", "why": "no"}]})
    );
    // What was kept is read as the whole was.
    let whole = contract.read_answer(&answer(201, &done));
    assert_eq!(whole, contract.read_answer(&answer(201, &kept(201, &done))));
    assert_eq!(kept(500, &json!({"trace": "ana"})), json!(null));
    assert_eq!(
        contract.captured_of(&raw_answer(200, b"<html>ana</html>")),
        b""
    );
}

#[test]
fn whatever_the_catalogue_keeps_of_an_answer_is_read_as_the_whole_was() {
    let catalogue = Catalogue::builtin();
    let mut read = 0;
    for provider in catalogue.providers() {
        for contract in catalogue.operations(provider) {
            let answers = contract.example_answers();
            for example in answers.iter().filter(|example| example.to == "effect") {
                let answer = &example.answer;
                let kept = HttpAnswer {
                    body: contract.captured_of(answer),
                    ..answer.clone()
                };
                // What is no JSON is not kept.
                if serde_json::from_slice::<serde_json::Value>(&answer.body).is_ok() {
                    let what = format!("{provider} {}: {example:?}", contract.operation());
                    let ours = Ours {
                        reference: Some("{reference}"),
                        key: Some("{key}"),
                    };
                    assert_eq!(
                        contract.read_answer_to(answer, &ours),
                        contract.read_answer_to(&kept, &ours),
                        "{what}"
                    );
                    read += 1;
                }
            }
        }
    }
    assert!(read > 200, "{read}");
}
