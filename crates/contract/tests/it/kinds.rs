//! The kinds of lookups: by address, by text, by scan; pages of every sort; caps; repeats.

use factum_contract::{Contract, LookupAsk};
use factum_core::evidence::{LookupAnswer, Receipt};
use factum_core::{Span, Timestamp};
use serde_json::{Value, json};

use crate::support::{answer, contract, params, raw_answer, with_header};

const HEAD: &str = "provider = \"p\"\noperation = \"o\"\ntitle = \"t\"\nconsequence = \"costly\"\n[effect]\npath = \"/\"\nset = [{ at = \"/r\", to = \"{reference}\" }]\n";
const SOURCE: &str = "source = { person = \"us\", date = \"2026-11-29\" }\n";

fn lookup(members: &str) -> Contract {
    contract(&format!(
        "{HEAD}[lookup]\nby = \"reference\"\n{members}\n{SOURCE}"
    ))
}

fn ask<'a>(none: &'a serde_json::Map<String, Value>, cursor: Option<&'a str>) -> LookupAsk<'a> {
    LookupAsk {
        params: none,
        mark: "R",
        since: Some(Timestamp::from_micros(784_111_777_999_999)),
        cursor,
    }
}

#[test]
fn an_address_that_holds_our_mark_shows_what_is_ours() {
    let by_id = lookup(
        "path = \"/things/{reference}\"\nours = \"path\"\nabsent = { status = 404 }\nreceipt = { header = \"ETag\" }\n\
         authority = \"authoritative\"\nconsistency = \"strong\"\nvisible_for = \"unbounded\"\nhow = \"id\"\nunique = true",
    );
    let found = with_header(raw_answer(200, b"BEGIN:VCALENDAR"), "etag", "\"e1\"");
    assert_eq!(
        by_id.read_lookup(&found, "R").answer,
        LookupAnswer::Found(vec![Receipt::new("\"e1\"")])
    );
    assert_eq!(
        by_id.read_lookup(&raw_answer(404, b""), "R").answer,
        LookupAnswer::Absent
    );
    assert_eq!(by_id.promises().lookup.unwrap().lag, Span::ZERO);
    assert_eq!(
        (by_id.lookup_how(), by_id.lookup_unique()),
        (Some("id"), Some(true))
    );
    // A page of something else under the same address is no hit where the contract says what a hit looks like.
    let html = lookup(
        "path = \"/things/{reference}\"\nours = \"path\"\nfound = { headers = { name = \"Content-Type\", starts_with = \"text/calendar\" } }\n\
         receipt = \"none\"\nauthority = \"partial\"\nlag = \"0 s\"",
    );
    let page = with_header(raw_answer(200, b"<html>"), "content-type", "text/html");
    assert!(matches!(
        html.read_lookup(&page, "R").answer,
        LookupAnswer::Inconclusive { .. }
    ));
}

#[test]
fn a_body_that_is_not_json_is_searched_for_our_mark() {
    let xml = lookup(
        "path = \"/?Action=Describe&token={reference}\"\nours = \"text\"\nabsent = { status = 200, text = { contains = \"<set/>\" } }\n\
         receipt = { between = [\"<id>\", \"</id>\"] }\nauthority = \"partial\"\nconsistency = \"unknown\"",
    );
    let found = raw_answer(200, b"<set><item><token>R</token><id>i-1</id></item></set>");
    assert_eq!(
        xml.read_lookup(&found, "R").answer,
        LookupAnswer::Found(vec![Receipt::new("i-1")])
    );
    assert_eq!(
        xml.read_lookup(&raw_answer(200, b"<set/>"), "R").answer,
        LookupAnswer::Absent
    );
    let foreign = raw_answer(200, b"<set><item><token>S</token><id>i-1</id></item></set>");
    assert!(matches!(
        xml.read_lookup(&foreign, "R").answer,
        LookupAnswer::Inconclusive { .. }
    ));
    assert_eq!(xml.promises().lookup.unwrap().lag, Span::from_secs(60));
}

const SCAN: &str = "how = \"scan\"\npath = \"/list?from={since_unix}\"\nitems = \"/items\"\nours = \"/r\"\nothers = \"ignored\"\n\
    receipt = { json = \"/id\" }\nauthority = \"partial\"\nlag = \"0 s\"\n";

fn items(marks: &[&str]) -> Value {
    let items: Vec<_> = marks
        .iter()
        .map(|mark| json!({"r": mark, "id": "T"}))
        .collect();
    json!({"items": items, "total": 3, "cursor": "c", "more": false})
}

#[test]
fn a_scan_says_since_when() {
    let scan = lookup(SCAN);
    assert!(scan.lookup_needs_since());
    let none = params(json!({}));
    let request = scan.lookup_question(&ask(&none, None)).unwrap();
    assert_eq!(request.path_and_query, "/list?from=784111777");
    let missing = scan.lookup_request(&none, "R").unwrap_err();
    assert_eq!(missing.member, "/since_unix");
}

#[test]
fn counted_pages_are_followed_to_the_last() {
    // B: absence needs every page, and only the cursor tells which page an answer is.
    let offset = lookup(&format!(
        "{SCAN}pages = {{ offset = 2 }}\nnext_path = \"/list?from={{since}}&skip={{cursor}}\"\ncomplete = {{ total = \"/total\" }}"
    ));
    let none = params(json!({}));
    let first = offset.read_lookup_page(&answer(200, &items(&["A", "B"])), "R", None);
    assert_eq!(first.next_page.as_deref(), Some("2"));
    assert!(matches!(first.answer, LookupAnswer::Inconclusive { .. }));
    let request = offset.lookup_question(&ask(&none, Some("2"))).unwrap();
    assert_eq!(
        request.path_and_query,
        "/list?from=1994-11-06T08%3A49%3A37Z&skip=2"
    );
    let last =
        |marks: &[&str]| offset.read_lookup_page(&answer(200, &items(marks)), "R", Some("2"));
    assert_eq!(
        first.clone().join(last(&["C"])).answer,
        LookupAnswer::Absent
    );
    assert_eq!(
        first.clone().join(last(&["R"])).answer,
        LookupAnswer::Found(vec![Receipt::new("T")])
    );
    // Fewer than were announced: some were passed over.
    assert!(matches!(
        first.join(last(&[])).answer,
        LookupAnswer::Inconclusive { .. }
    ));

    let numbered = lookup(&format!(
        "{SCAN}pages = {{ page = 1, size = 2 }}\nnext_path = \"/list?from={{since}}&page={{cursor}}\"\ncomplete = \"always\""
    ));
    let next = |cursor| {
        let page = answer(200, &items(&["A", "B"]));
        numbered.read_lookup_page(&page, "R", cursor).next_page
    };
    assert_eq!(next(None).as_deref(), Some("2"));
    assert_eq!(next(Some("2")).as_deref(), Some("3"));
}

#[test]
fn a_link_names_the_next_page() {
    let linked = lookup(&format!(
        "{SCAN}pages = {{ link = \"page\" }}\nnext_path = \"/list?from={{since}}&page={{cursor}}\"\ncomplete = \"always\""
    ));
    let page = |link: &str| with_header(answer(200, &items(&[])), "link", link);
    let read = |link: &str| linked.read_lookup(&page(link), "R");
    let both = "<https://a.example/list?page=1>; rel=\"prev\", <https://a.example/list?x=1&page=3>; rel=\"next\"";
    assert_eq!(read(both).next_page.as_deref(), Some("3"));
    assert_eq!(
        read("<https://a.example/list?page=1>; rel=\"prev\"").answer,
        LookupAnswer::Absent
    );
}

#[test]
fn a_cursor_counts_only_where_there_is_more() {
    let cursor = lookup(&format!(
        "{SCAN}next = \"/cursor\"\nmore = {{ at = \"/more\", equals = true }}\nnext_path = \"/list?from={{since}}&c={{cursor}}\"\ncomplete = \"always\""
    ));
    let mut page = items(&[]);
    assert_eq!(
        cursor.read_lookup(&answer(200, &page), "R").answer,
        LookupAnswer::Absent
    );
    page["more"] = json!(true);
    let more = cursor.read_lookup(&answer(200, &page), "R");
    assert_eq!(more.next_page.as_deref(), Some("c"));
    page["cursor"] = Value::Null;
    let lost = cursor.read_lookup(&answer(200, &page), "R");
    assert_eq!(lost.next_page, None);
    assert!(matches!(lost.answer, LookupAnswer::Inconclusive { .. }));
}

#[test]
fn a_cap_takes_absence_away() {
    let capped = lookup(&format!("{SCAN}result_cap = 2\ncomplete = \"always\""));
    let read = |marks: &[&str]| capped.read_lookup(&answer(200, &items(marks)), "R").answer;
    assert_eq!(read(&["A"]), LookupAnswer::Absent);
    assert!(matches!(
        read(&["A", "B"]),
        LookupAnswer::Inconclusive { .. }
    ));
    let several = lookup(&format!("{SCAN}several = {{ status = 300 }}"));
    let why = several.read_lookup(&raw_answer(300, b""), "R").answer;
    assert!(matches!(why, LookupAnswer::Inconclusive { why } if why.contains("several")));
}

#[test]
fn a_repeat_can_be_the_only_lookup() {
    let repeat = contract(&format!(
        "{HEAD}[key]\nplace = {{ member = \"/client_id\" }}\n[key.repeat]\nretention = \"unpublished\"\n\
         stored = {{ success = true, refusals = false, errors = false }}\n{SOURCE}[lookup]\nhow = \"repeat\"\n{SOURCE}"
    ));
    assert_eq!(repeat.lookup_how(), Some("repeat"));
    assert_eq!(repeat.promises().lookup, None);
    assert_eq!(repeat.lookup_by(), None);
}
