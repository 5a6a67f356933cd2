//! What the testbed's contracts make of everything that the testbed can answer.

use factum_contract::{HttpAnswer, Ours};
use factum_core::Span;
use factum_core::evidence::{AnswerClass, Receipt};
use serde_json::json;

use crate::support::{answer, effect, error, raw_answer, testbed, with_header};

const OPERATIONS: [&str; 14] = [
    "key.sync",
    "key.queued",
    "key_path.sync",
    "key_path.queued",
    "key_body.sync",
    "key_body.queued",
    "cancel.sync",
    "cancel.queued",
    "lookup.sync",
    "lookup.queued",
    "lagging.sync",
    "lagging.queued",
    "neither.sync",
    "neither.queued",
];

fn rejected(stored: bool, why: &str) -> AnswerClass {
    let why = why.to_owned();
    AnswerClass::Rejected { stored, why }
}

/// The class of an answer by every operation: what it is for those with a key, and for the others.
fn check(answer: &HttpAnswer, keyed: &AnswerClass, others: &AnswerClass) {
    for operation in OPERATIONS {
        let reading = testbed(operation).read_answer(answer);
        let expected = if operation.starts_with("key") {
            keyed
        } else {
            others
        };
        assert_eq!(reading.class, *expected, "{operation} {answer:?}");
        if *expected != AnswerClass::Done {
            assert_eq!(reading.receipt, None, "{operation} {answer:?}");
        }
    }
}

fn same(answer: &HttpAnswer, class: &AnswerClass) {
    check(answer, class, class);
}

#[test]
fn success_is_done_or_accepted() {
    let created = answer(
        201,
        &json!({"ok": true, "id": "T-000123", "reference": "R"}),
    );
    let taken = answer(202, &json!({"ok": true, "job": "J-17", "status": "queued"}));
    for operation in OPERATIONS {
        let contract = testbed(operation);
        let (done, accepted) = (contract.read_answer(&created), contract.read_answer(&taken));
        if operation.ends_with("sync") {
            assert_eq!(done.class, AnswerClass::Done, "{operation}");
            assert_eq!(done.receipt, Some(Receipt::new("T-000123")));
            assert_eq!(accepted.class, AnswerClass::Unknown, "{operation}");
        } else {
            // B20: taken is not done.
            let object = Some("J-17".to_owned());
            assert_eq!(
                accepted.class,
                AnswerClass::Accepted { object },
                "{operation}"
            );
            assert_eq!(accepted.receipt, None);
            assert_eq!(done.class, AnswerClass::Unknown, "{operation}");
        }
    }
}

#[test]
fn success_without_its_receipt_is_unknown() {
    for body in [
        json!({"ok": true}),
        json!({"ok": true, "id": null, "job": null}),
        json!({"ok": true, "id": "", "job": ""}),
        json!({"ok": true, "id": {}, "job": []}),
        json!({"id": "T-1", "job": "J-1"}),
        json!({"ok": "true", "id": "T-1", "job": "J-1"}),
        json!([]),
    ] {
        same(&answer(201, &body), &AnswerClass::Unknown);
        same(&answer(202, &body), &AnswerClass::Unknown);
    }
}

#[test]
fn a_failure_in_a_200_is_no_success() {
    // B16
    let failed = answer(200, &json!({"ok": false, "error": "nothing was done"}));
    check(
        &failed,
        &rejected(true, "nothing was done"),
        &rejected(false, "nothing was done"),
    );
    same(
        &answer(200, &json!({"ok": true, "id": "T-1"})),
        &AnswerClass::Unknown,
    );
    same(&raw_answer(204, b""), &AnswerClass::Unknown);
}

#[test]
fn what_ran_is_stored_under_a_key_and_what_was_turned_away_is_not() {
    // B25
    check(
        &error(422, "invalid"),
        &rejected(true, "about invalid"),
        &rejected(false, "about invalid"),
    );
    for status in [400, 403, 404, 422] {
        let refused = rejected(false, "about refused");
        same(&error(status, "refused"), &refused);
    }
    same(
        &error(400, "malformed"),
        &rejected(false, "about malformed"),
    );
    same(
        &error(400, "key_missing"),
        &rejected(false, "about key_missing"),
    );
    same(
        &error(401, "unauthorized"),
        &rejected(false, "about unauthorized"),
    );
}

#[test]
fn a_decline_is_a_class_of_its_own() {
    let why = "about declined".to_owned();
    let stored = AnswerClass::Declined {
        stored: true,
        why: why.clone(),
    };
    let not = AnswerClass::Declined { stored: false, why };
    check(&error(402, "declined"), &stored, &not);
}

#[test]
fn only_a_key_can_be_running_or_reused() {
    // B71, B77: two answers about a key that mean different things.
    let running = error(409, "key_in_progress");
    check(&running, &AnswerClass::InProgress, &AnswerClass::Unknown);
    let reuse = error(422, "key_reuse");
    check(&reuse, &AnswerClass::Mismatch, &AnswerClass::Unknown);
}

#[test]
fn after_a_cancel_later_arrivals_are_refused_for_good() {
    let late = error(409, "key_cancelled");
    for operation in OPERATIONS {
        let class = testbed(operation).read_answer(&late).class;
        let expected = if operation.starts_with("cancel") {
            rejected(true, "about key_cancelled")
        } else {
            AnswerClass::Unknown
        };
        assert_eq!(class, expected, "{operation}");
    }
}

#[test]
fn busy_is_believed_by_its_code_alone() {
    // B07: an answer that sounds busy, given after acting.
    for status in [429, 503] {
        same(&error(status, "busy"), &AnswerClass::Busy);
        same(
            &raw_answer(status, b"<html>busy</html>"),
            &AnswerClass::Unknown,
        );
    }
    same(&error(429, "throttled"), &AnswerClass::Unknown);
}

#[test]
fn what_says_nothing_is_unknown() {
    // B01, B19, B22
    for status in [
        100, 200, 201, 202, 301, 302, 303, 307, 308, 404, 409, 410, 500, 502, 503, 504,
    ] {
        same(&raw_answer(status, b""), &AnswerClass::Unknown);
        same(&raw_answer(status, b"{\"ok\":"), &AnswerClass::Unknown);
        same(
            &raw_answer(status, b"\xff\xfe garbage"),
            &AnswerClass::Unknown,
        );
    }
    same(&error(500, "internal"), &AnswerClass::Unknown);
}

#[test]
fn a_cut_body_is_not_read() {
    let mut cut = answer(201, &json!({"ok": true, "id": "T-1", "job": "J-1"}));
    cut.truncated = true;
    same(&cut, &AnswerClass::Unknown);
    cut.status = 202;
    same(&cut, &AnswerClass::Unknown);
}

#[test]
fn a_replay_is_seen_and_advice_is_read() {
    // B85
    let created = answer(201, &json!({"ok": true, "id": "T-1"}));
    let again = with_header(created.clone(), "idempotent-replayed", "true");
    let contract = testbed("key.sync");
    assert!(!contract.read_answer(&created).replayed);
    let reading = contract.read_answer_to(&again, &Ours::default());
    assert!(reading.replayed);
    assert_eq!(reading.class, AnswerClass::Done);
    assert!(!testbed("neither.sync").read_answer(&again).replayed);
    let rows = [
        ("1", Some(Span::from_secs(1))),
        (" 120 ", Some(Span::from_secs(120))),
        ("99999999999999999999", None),
        ("9999999999", Some(Span::from_secs(30 * 86_400))),
        ("1.2", Some(Span::from_secs(2))),
        ("-1", None),
        ("", None),
        ("Wed, 21 Oct 2026 07:28:00 GMT", None),
    ];
    for (advice, expected) in rows {
        let busy = with_header(error(503, "busy"), "retry-after", advice);
        assert_eq!(
            contract.read_answer(&busy).retry_after,
            expected,
            "{advice:?}"
        );
    }
}

#[test]
fn each_operation_asks_on_its_own_path() {
    let key = ("idempotency-key".to_owned(), "K".to_owned());
    for operation in OPERATIONS {
        let (kind, mode) = operation.split_once('.').unwrap();
        let request = effect(testbed(operation), json!({}), "{\"business\":\"b\"}").unwrap();
        let (method, path, body) = match kind {
            "key_path" => ("PUT", format!("/key/{mode}/effects/K"), ""),
            "key_body" => (
                "POST",
                format!("/key/{mode}/effects-body"),
                ",\"idempotency_key\":\"K\"",
            ),
            _ => ("POST", format!("/{kind}/{mode}/effects"), ""),
        };
        assert_eq!(request.method, method, "{operation}");
        assert_eq!(request.path_and_query, path);
        let expected = format!("{{\"business\":\"b\",\"reference\":\"R\"{body}}}");
        assert_eq!(String::from_utf8(request.body).unwrap(), expected);
        let in_header = kind == "key" || kind == "cancel";
        assert_eq!(request.headers.contains(&key), in_header, "{operation}");
        let json = ("content-type".to_owned(), "application/json".to_owned());
        assert!(request.headers.contains(&json), "{operation}");
    }
}
