//! Lookups: what counts as found, and how little counts as absent.

use factum_contract::{Contract, HttpAnswer};
use factum_core::evidence::{LookupAnswer, Receipt};
use factum_core::promise::LookupBy;
use serde_json::{Value, json};

use crate::support::{answer, contract, params, raw_answer, testbed};

fn found(receipts: &[&str]) -> LookupAnswer {
    LookupAnswer::Found(receipts.iter().map(|text| Receipt::new(*text)).collect())
}

fn item(id: &str, reference: &str, state: &str) -> Value {
    json!({"id": id, "job": "J-1", "reference": reference, "business": "b", "state": state})
}

fn page(items: &[Value], next: Option<&str>) -> HttpAnswer {
    answer(
        200,
        &json!({"items": items, "next": next, "complete": true}),
    )
}

fn looked_up(operation: &str, answer: &HttpAnswer) -> LookupAnswer {
    testbed(operation).read_lookup(answer, "R").answer
}

/// That it says nothing, and why.
fn inconclusive(contract: &Contract, answer: &HttpAnswer) -> String {
    let reading = contract.read_lookup(answer, "R");
    match reading.answer {
        LookupAnswer::Inconclusive { why } => why,
        other => panic!("{other:?} from {answer:?}"),
    }
}

#[test]
fn what_carries_our_reference_is_found() {
    let one = page(&[item("T-1", "R", "done")], None);
    for operation in [
        "lookup.sync",
        "lookup.queued",
        "lagging.sync",
        "lagging.queued",
    ] {
        assert_eq!(looked_up(operation, &one), found(&["T-1"]), "{operation}");
        assert_eq!(looked_up(operation, &page(&[], None)), LookupAnswer::Absent);
    }
}

#[test]
fn two_effects_are_two_receipts() {
    // B97
    let two = page(&[item("T-1", "R", "done"), item("T-2", "R", "done")], None);
    assert_eq!(looked_up("lookup.sync", &two), found(&["T-1", "T-2"]));
    let same = page(&[item("T-1", "R", "done"), item("T-1", "R", "done")], None);
    assert_eq!(looked_up("lookup.sync", &same), found(&["T-1"]));
}

#[test]
fn queued_work_is_not_absent() {
    let queued = page(&[item("J-1", "R", "queued")], None);
    let object = Some("J-1".to_owned());
    assert_eq!(
        looked_up("lookup.queued", &queued),
        LookupAnswer::Queued { object }
    );
    let both = page(
        &[item("J-1", "R", "queued"), item("T-2", "R", "done")],
        None,
    );
    assert_eq!(looked_up("lookup.queued", &both), found(&["T-2"]));
}

#[test]
fn a_failed_lookup_says_nothing() {
    // B04, B91, B95
    let contract = testbed("lookup.sync");
    for status in [204, 301, 304, 400, 401, 403, 404, 429, 500, 502, 503, 504] {
        let empty = answer(
            status,
            &json!({"items": [], "next": null, "complete": true}),
        );
        inconclusive(contract, &empty);
    }
    for body in [
        "",
        "<html>",
        "{\"items\":[",
        "[]",
        "null",
        "{}",
        "{\"items\":{}}",
        "{\"items\":null}",
    ] {
        inconclusive(contract, &raw_answer(200, body.as_bytes()));
    }
    let mut cut = page(&[], None);
    cut.truncated = true;
    inconclusive(contract, &cut);
}

#[test]
fn a_part_of_the_answer_is_not_the_answer() {
    // B92
    let contract = testbed("lookup.sync");
    for complete in [json!(false), json!(null), json!("true")] {
        let body = json!({"items": [], "next": null, "complete": complete});
        inconclusive(contract, &answer(200, &body));
    }
    inconclusive(contract, &answer(200, &json!({"items": []})));
    let odd_cursor = json!({"items": [], "next": {"page": 2}, "complete": true});
    inconclusive(contract, &answer(200, &odd_cursor));
    let hit = json!({"items": [item("T-1", "R", "done")], "complete": false});
    assert_eq!(
        looked_up("lookup.sync", &answer(200, &hit)),
        found(&["T-1"])
    );
}

#[test]
fn items_that_were_not_asked_for_spoil_absence_and_no_hit() {
    // B98: the filter was ignored, or the destination found a look-alike.
    let contract = testbed("lookup.sync");
    for other in ["R2", "r", " R", ""] {
        inconclusive(contract, &page(&[item("T-9", other, "done")], None));
    }
    inconclusive(contract, &page(&[json!(null)], None));
    let mixed = page(&[item("T-9", "X", "done"), item("T-1", "R", "done")], None);
    assert_eq!(looked_up("lookup.sync", &mixed), found(&["T-1"]));
}

#[test]
fn a_hit_without_its_receipt_is_neither_found_nor_absent() {
    let contract = testbed("lookup.sync");
    let nameless = page(&[json!({"reference": "R", "state": "done"})], None);
    inconclusive(contract, &nameless);
}

#[test]
fn an_empty_mark_finds_nothing() {
    let reading = testbed("lookup.sync").read_lookup(&page(&[item("T-1", "", "done")], None), "");
    assert!(matches!(reading.answer, LookupAnswer::Inconclusive { .. }));
}

#[test]
fn pages_are_followed_to_the_last() {
    // B92
    let contract = testbed("lookup.sync");
    assert_eq!(contract.lookup_by(), Some(LookupBy::Reference));
    assert_eq!(contract.lookup_pages_max(), 20);
    let first = contract.lookup_request(&params(json!({})), "R").unwrap();
    assert_eq!(first.method, "GET");
    assert_eq!(
        first.path_and_query,
        "/lookup/sync/effects?reference=R&limit=50"
    );
    let none = params(json!({}));
    let second = contract.lookup_page_request(&none, "R", "s 1&").unwrap();
    assert_eq!(
        second.path_and_query,
        "/lookup/sync/effects?reference=R&limit=50&cursor=s%201%26"
    );
    let read = |answer: &HttpAnswer| contract.read_lookup(answer, "R");
    let open = read(&page(&[], Some("s1")));
    assert_eq!(open.next_page.as_deref(), Some("s1"));
    assert!(matches!(open.answer, LookupAnswer::Inconclusive { .. }));

    let absent = open.clone().join(read(&page(&[], None)));
    assert_eq!(
        (absent.answer, absent.next_page),
        (LookupAnswer::Absent, None)
    );
    let later = open
        .clone()
        .join(read(&page(&[item("T-1", "R", "done")], None)));
    assert_eq!(later.answer, found(&["T-1"]));
    let failed = open.clone().join(read(&raw_answer(500, b"")));
    assert!(matches!(failed.answer, LookupAnswer::Inconclusive { .. }));
    let still_open = open.clone().join(read(&page(&[], Some("s2"))));
    assert!(matches!(
        still_open.answer,
        LookupAnswer::Inconclusive { .. }
    ));
    assert_eq!(still_open.next_page.as_deref(), Some("s2"));
    let closed = still_open.join(read(&page(&[], None)));
    assert_eq!(closed.answer, LookupAnswer::Absent);

    let hit = read(&page(&[item("T-1", "R", "done")], Some("s1")));
    assert_eq!(
        hit.next_page.as_deref(),
        Some("s1"),
        "there may be a second effect"
    );
    let two = hit
        .clone()
        .join(read(&page(&[item("T-2", "R", "done")], None)));
    assert_eq!(two.answer, found(&["T-1", "T-2"]));
    assert_eq!(hit.join(read(&page(&[], None))).answer, found(&["T-1"]));

    // A page that was spoilt stays spoilt, whatever follows.
    let body = json!({"items": [], "next": "s1", "complete": false});
    let spoilt = read(&answer(200, &body)).join(read(&page(&[], None)));
    assert!(matches!(spoilt.answer, LookupAnswer::Inconclusive { .. }));
}

#[test]
fn one_item_by_its_name_is_found_or_said_to_be_absent() {
    let contract = contract(
        r#"
provider = "p"
operation = "o"
title = "t"
consequence = "costly"
[effect]
path = "/items/{key}"
method = "PUT"
[key]
place = "path"
[lookup]
by = "key"
path = "/items/{key}"
ours = "/name"
receipt = { json = "/etag" }
absent = { status = 404, json = { at = "/code", equals = "not_found" } }
authority = "authoritative"
lag = "0 s"
visible_for = "unbounded"
source = { person = "us", date = "2026-11-29" }
"#,
    );
    assert_eq!(contract.lookup_by(), Some(LookupBy::Key));
    let read = |answer: &HttpAnswer| contract.read_lookup(answer, "R").answer;
    assert_eq!(
        read(&answer(200, &json!({"name": "R", "etag": "e"}))),
        found(&["e"])
    );
    assert_eq!(
        read(&answer(404, &json!({"code": "not_found"}))),
        LookupAnswer::Absent
    );
    inconclusive(&contract, &answer(404, &json!({"code": "no_route"})));
    inconclusive(&contract, &raw_answer(404, b"<html>"));
    inconclusive(
        &contract,
        &answer(200, &json!({"name": "other", "etag": "e"})),
    );
}

#[test]
fn a_search_that_finds_similar_ones_ignores_them() {
    let contract = contract(
        r#"
provider = "p"
operation = "o"
title = "t"
consequence = "costly"
[effect]
path = "/"
set = [{ at = "/r", to = "{reference}" }]
[lookup]
by = "reference"
path = "/search?q={reference}"
items = "/hits"
ours = "/fields/*/value"
receipt = "none"
others = "ignored"
complete = "always"
authority = "partial"
lag = "60 s"
"#,
    );
    let hits = |items: Value| {
        contract
            .read_lookup(&answer(200, &json!({"hits": items})), "R")
            .answer
    };
    let like = json!({"fields": [{"value": "RR"}, {"value": null}]});
    let ours = json!({"fields": [{"value": 1}, {"value": "R"}]});
    assert_eq!(hits(json!([like])), LookupAnswer::Absent);
    // A destination without receipts: our own mark names the effect.
    assert_eq!(hits(json!([like, ours])), found(&["R"]));
}

#[test]
fn a_contract_without_a_lookup_says_so() {
    let contract = testbed("neither.sync");
    assert_eq!(contract.lookup_by(), None);
    let error = contract
        .lookup_request(&params(json!({})), "R")
        .unwrap_err();
    assert_eq!(error.member, "/lookup");
    inconclusive(contract, &page(&[], None));
    let single = testbed("lookup.sync").lookup_page_request(&params(json!({})), "R", "");
    assert_eq!(single.unwrap_err().member, "/cursor");
}
