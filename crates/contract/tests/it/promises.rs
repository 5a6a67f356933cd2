//! What decisions rest on, by kind of testbed operation, and what a weak source takes away.

use factum_core::Span;
use factum_core::evidence::AnswerClass;
use factum_core::promise::{
    Authority, CancelPromise, CompletionPromise, Consequence, KeyPromise, LookupBy, LookupPromise,
    ProcessingMax, Promises, Retention,
};

use crate::support::{builtin, contract, testbed};

fn base(queued: bool) -> Promises {
    Promises {
        processing_max: ProcessingMax::Stated(Span::from_secs(2)),
        path_is_direct: true,
        completion: queued.then_some(CompletionPromise {
            poll: true,
            callback: false,
        }),
        ..Promises::none(Consequence::Costly)
    }
}

fn lookup(authority: Authority, lag: i64) -> Option<LookupPromise> {
    Some(LookupPromise {
        authority,
        lag: Span::from_secs(lag),
        by: LookupBy::Reference,
    })
}

#[test]
fn the_testbed_promises_by_kind() {
    let key = Some(KeyPromise {
        retention: Retention::Floor(Span::from_secs(86_400)),
        concurrent_repeat_stated: true,
        stores_errors: false,
        scope_includes_credential: false,
        scope_includes_place: false,
        sets_again: false,
        wait_min: Span::ZERO,
    });
    let cancel = Some(CancelPromise {
        refuses_later_arrivals: true,
        retention: Retention::Unbounded,
    });
    for queued in [false, true] {
        let mode = if queued { "queued" } else { "sync" };
        for kind in ["key", "key_path", "key_body"] {
            let promises = testbed(&format!("{kind}.{mode}")).promises();
            let expected = Promises {
                key,
                ..base(queued)
            };
            assert_eq!(promises, expected, "{kind}.{mode}");
        }
        let rows = [
            ("cancel", None, cancel),
            ("lookup", lookup(Authority::Authoritative, 0), None),
            ("lagging", lookup(Authority::Partial, 3), None),
            ("neither", None, None),
        ];
        for (kind, lookup, cancel) in rows {
            let promises = testbed(&format!("{kind}.{mode}")).promises();
            let expected = Promises {
                lookup,
                cancel,
                ..base(queued)
            };
            assert_eq!(promises, expected, "{kind}.{mode}");
        }
    }
}

#[test]
fn redmine_promises_a_lookup_and_no_end_of_processing() {
    let expected = Promises {
        lookup: lookup(Authority::Authoritative, 0),
        ..Promises::none(Consequence::Costly)
    };
    assert_eq!(builtin("redmine", "issue.create").promises(), expected);
}

/// A contract that promises everything, with this grade for all of it.
fn graded(grade: &str) -> Promises {
    let source = format!(
        "source = {{ url = \"https://a.example\", read = \"2026-11-29\", grade = \"{grade}\" }}"
    );
    let text = format!(
        r#"
provider = "p"
operation = "o"
title = "t"
consequence = "costly"
[effect]
path = "/{{key}}"
set = [{{ at = "/r", to = "{{reference}}" }}]
direct = true
condition_checked = true
{source}
[key]
place = "path"
[key.repeat]
retention = {{ floor = "24 h" }}
concurrent = "waits"
stored = {{ success = true, refusals = true, errors = true }}
{source}
[processing]
max = "9 s"
{source}
[lookup]
by = "reference"
path = "/?r={{reference}}"
items = "/i"
ours = "/r"
receipt = {{ json = "/id" }}
complete = "always"
authority = "authoritative"
visible_for = "unbounded"
lag = "1 s"
{source}
[cancel]
path = "/c"
json = {{ k = "{{key}}" }}
confirmed = {{ status = 200 }}
retention = "unbounded"
{source}
"#
    );
    contract(&text).promises()
}

#[test]
fn second_hand_claims_are_no_promises() {
    // B61, B86
    let promises = graded("second_hand");
    let expected = Promises {
        lookup: lookup(Authority::Partial, 1),
        ..Promises::none(Consequence::Costly)
    };
    assert_eq!(promises, expected);
}

#[test]
fn assumed_claims_are_marked_as_assumed() {
    let promises = graded("assumed");
    let key = promises.key.unwrap();
    assert_eq!(
        key.retention,
        Retention::AssumedFloor(Span::from_secs(86_400))
    );
    assert_eq!(
        promises.processing_max,
        ProcessingMax::Assumed(Span::from_secs(9))
    );
}

#[test]
fn what_is_not_stated_is_the_careful_value() {
    let promises = graded("stated");
    let key = promises.key.unwrap();
    assert!(key.scope_includes_credential, "no scope is stated");
    assert!(key.stores_errors);
    assert!(promises.path_is_direct && promises.condition_checked);
    assert!(!promises.cancel.unwrap().refuses_later_arrivals);
}

#[test]
fn a_claim_about_one_member_can_be_weaker_than_its_section() {
    let text = r#"
provider = "p"
operation = "o"
title = "t"
consequence = "costly"
[effect]
path = "/"
[key]
place = { header = "K" }
[key.repeat]
retention = { floor = "24 h" }
stored = { success = true, refusals = false, errors = false }
source = { url = "https://a.example", read = "2026-11-29", grade = "stated" }
[[claims]]
about = "/key/repeat/retention"
url = "https://b.example"
read = "2026-11-29"
grade = "second_hand"
quote = "a day or so"
"#;
    let contract = contract(text);
    let key = contract.promises().key.unwrap();
    assert_eq!(
        key.retention,
        Retention::Approximate(Span::from_secs(86_400))
    );
    assert!(!key.concurrent_repeat_stated);
    let sources: Vec<_> = contract.sources().map(|(path, _)| path).collect();
    assert_eq!(sources, ["/key/repeat", "/key/repeat/retention"]);
}

#[test]
fn hearsay_stores_no_refusal() {
    let text = r#"
provider = "p"
operation = "o"
title = "t"
consequence = "costly"
[effect]
path = "/"
[key]
place = { header = "K" }
[key.repeat]
retention = "unbounded"
stored = { success = true, refusals = true, errors = false }
source = { url = "https://a.example", read = "2026-11-29", grade = "GRADE" }
[[answers]]
when = { status = 422, json = { at = "/error", exists = true } }
class = "rejected"
source = { url = "https://a.example", read = "2026-11-29", grade = "stated" }
"#;
    for (grade, expected) in [("stated", true), ("second_hand", false)] {
        let contract = contract(&text.replace("GRADE", grade));
        let answer = crate::support::answer(422, &serde_json::json!({"error": "e"}));
        match contract.read_answer(&answer).class {
            AnswerClass::Rejected { stored, .. } => assert_eq!(stored, expected, "{grade}"),
            other => panic!("{other:?}"),
        }
    }
}
