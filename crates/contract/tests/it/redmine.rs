//! Redmine: no key, a custom field to be found by.

use factum_contract::AuthKind;
use factum_core::evidence::{AnswerClass, LookupAnswer, Receipt};
use serde_json::{Value, json};

use crate::support::{answer, builtin, effect, params, raw_answer};

fn issue(id: u32, reference: &str) -> Value {
    json!({"id": id, "subject": "s", "custom_fields": [
        {"id": 3, "name": "Other", "value": ["a", "b"]},
        {"id": 1, "name": "Reference", "value": reference},
    ]})
}

fn list(issues: &[Value], total: usize) -> factum_contract::HttpAnswer {
    answer(
        200,
        &json!({"issues": issues, "total_count": total, "offset": 0, "limit": 100}),
    )
}

#[test]
fn the_reference_goes_into_the_custom_field() {
    let contract = builtin("redmine", "issue.create");
    let params: Vec<_> = contract.params().collect();
    assert_eq!(params, ["field_id"]);
    let given = json!({"field_id": 1});
    let payload = r#"{"issue": {"project_id": 1, "subject": "s"}}"#;
    let request = effect(contract, given.clone(), payload).unwrap();
    assert_eq!(
        (request.method.as_str(), request.path_and_query.as_str()),
        ("POST", "/issues.json")
    );
    assert_eq!(
        String::from_utf8(request.body).unwrap(),
        r#"{"issue": {"project_id": 1, "subject": "s","custom_fields":[{"id":1,"value":"R"}]}}"#
    );
    let payload = r#"{"issue": {"custom_fields": [{"id": 3, "value": ["a"]}]}}"#;
    let request = effect(contract, given, payload).unwrap();
    assert_eq!(
        String::from_utf8(request.body).unwrap(),
        r#"{"issue": {"custom_fields": [{"id": 3, "value": ["a"]},{"id":1,"value":"R"}]}}"#
    );
    let rules = contract.provider_rules();
    assert_eq!(rules.auth.kinds, [AuthKind::Header, AuthKind::Basic]);
    assert_eq!(rules.auth.header.as_deref(), Some("x-redmine-api-key"));
    assert_eq!(contract.deep_link("17").as_deref(), Some("/issues/17"));
    assert_eq!(contract.deep_link("../x"), None);
    assert_eq!(contract.product_kind(), Some("issue"));
}

#[test]
fn answers_are_read() {
    let contract = builtin("redmine", "issue.create");
    let created = contract.read_answer(&answer(201, &json!({"issue": {"id": 17}})));
    assert_eq!(
        (created.class, created.receipt),
        (AnswerClass::Done, Some(Receipt::new("17")))
    );
    let class = |status, body: &[u8]| contract.read_answer(&raw_answer(status, body)).class;
    let rejected = |why: &str| AnswerClass::Rejected {
        stored: false,
        why: why.to_owned(),
    };
    assert_eq!(
        class(422, br#"{"errors":["Subject cannot be blank"]}"#),
        rejected("Subject cannot be blank")
    );
    assert_eq!(class(401, b""), rejected("status 401"));
    assert_eq!(class(403, b""), rejected("status 403"));
    for status in [200, 201, 302, 422, 500, 502, 503, 504] {
        assert_eq!(class(status, b""), AnswerClass::Unknown, "{status}");
    }
}

#[test]
fn the_lookup_shows_closed_issues_too() {
    let contract = builtin("redmine", "issue.create");
    let given = params(json!({"field_id": 1}));
    let request = contract.lookup_request(&given, "R").unwrap();
    assert_eq!(
        request.path_and_query,
        "/issues.json?status_id=*&cf_1=R&limit=100"
    );
    let read = |answer| contract.read_lookup(&answer, "R").answer;
    assert_eq!(
        read(list(&[issue(17, "R")], 1)),
        LookupAnswer::Found(vec![Receipt::new("17")])
    );
    assert_eq!(read(list(&[], 0)), LookupAnswer::Absent);
}

#[test]
fn an_ignored_filter_is_noticed() {
    // B92, B98: a filter on a field that does not exist is ignored, and every issue is found.
    let contract = builtin("redmine", "issue.create");
    let read = |answer| contract.read_lookup(&answer, "R").answer;
    let says_nothing = |answer| matches!(read(answer), LookupAnswer::Inconclusive { .. });
    assert!(says_nothing(list(&[issue(1, "X"), issue(2, "")], 2)));
    assert!(says_nothing(list(&[json!({"id": 1})], 1)));
    assert!(says_nothing(list(&[], 3)));
    assert!(says_nothing(answer(200, &json!({"issues": []}))));
    assert!(says_nothing(answer(
        403,
        &json!({"issues": [], "total_count": 0})
    )));
    assert_eq!(
        read(list(&[issue(1, "X"), issue(2, "R")], 250)),
        LookupAnswer::Found(vec![Receipt::new("2")])
    );
}

#[test]
fn an_issue_without_our_mark_cannot_be_looked_up() {
    // A tracker without the custom field: Redmine drops the value and answers 201 all the same.
    let contract = builtin("redmine", "issue.create");
    let ours = factum_contract::Ours {
        reference: Some("R"),
        key: None,
    };
    let created = |fields: Value| {
        let body = json!({"issue": {"id": 31, "custom_fields": fields}});
        contract.read_answer_to(&answer(201, &body), &ours)
    };
    let kept = created(json!([{"id": 3, "value": "x"}, {"id": 7, "value": "R"}]));
    assert_eq!(kept.marker_kept, Some(true));
    assert_eq!(contract.promises_after(&kept), contract.promises());
    let dropped = created(json!([]));
    assert_eq!(dropped.marker_kept, Some(false));
    let lookup = contract.promises_after(&dropped).lookup.unwrap();
    assert_eq!(lookup.authority, factum_core::promise::Authority::Partial);
}
