//! Polls, cancels by key, and who we are.

use factum_core::evidence::{CancelAnswer, PollAnswer, Receipt};
use serde_json::json;

use crate::support::{answer, params, raw_answer, testbed};

const QUEUED: [&str; 7] = [
    "key.queued",
    "key_path.queued",
    "key_body.queued",
    "cancel.queued",
    "lookup.queued",
    "lagging.queued",
    "neither.queued",
];

#[test]
fn polls_ask_for_the_object_at_its_own_destination() {
    for operation in QUEUED {
        let contract = testbed(operation);
        let request = contract.poll_request(&params(json!({})), "J-17").unwrap();
        let kind = operation.split(['_', '.']).next().unwrap();
        assert_eq!(request.method, "GET");
        assert_eq!(request.path_and_query, format!("/{kind}/queued/jobs/J-17"));
        assert!(contract.poll_request(&params(json!({})), "../x").is_err());
    }
    let sync = testbed("key.sync").poll_request(&params(json!({})), "J-17");
    assert_eq!(sync.unwrap_err().member, "/poll");
}

#[test]
fn a_poll_is_done_working_failed_or_nothing() {
    // B20: accepted, then failed later.
    let rows = [
        (
            json!({"status": "completed", "id": "T-1"}),
            PollAnswer::Completed(Some(Receipt::new("T-1"))),
        ),
        (json!({"status": "queued", "id": null}), PollAnswer::Working),
        (
            json!({"status": "working", "id": null}),
            PollAnswer::Working,
        ),
        (
            json!({"status": "failed", "id": null, "reason": "no room"}),
            PollAnswer::Failed {
                why: "no room".to_owned(),
            },
        ),
    ];
    for operation in QUEUED {
        let contract = testbed(operation);
        for (body, expected) in &rows {
            assert_eq!(
                contract.read_poll(&answer(200, body)),
                *expected,
                "{operation} {body}"
            );
            let later = contract.read_poll(&answer(500, body));
            assert!(
                matches!(later, PollAnswer::Inconclusive { .. }),
                "{operation} {body}"
            );
        }
        for body in [
            "",
            "{}",
            "null",
            "{\"status\":\"done\"}",
            "{\"status\":\"completed\"}",
            "<html>",
        ] {
            let read = contract.read_poll(&raw_answer(200, body.as_bytes()));
            assert!(
                matches!(read, PollAnswer::Inconclusive { .. }),
                "{operation} {body}"
            );
        }
        // A job that is not known is no proof that it failed.
        let missing = contract.read_poll(&answer(404, &json!({"status": "failed"})));
        assert!(
            matches!(missing, PollAnswer::Inconclusive { .. }),
            "{operation}"
        );
        let mut cut = answer(200, &rows[0].0);
        cut.truncated = true;
        assert!(matches!(
            contract.read_poll(&cut),
            PollAnswer::Inconclusive { .. }
        ));
    }
}

#[test]
fn a_cancel_names_its_key_and_is_confirmed_by_the_body() {
    for mode in ["sync", "queued"] {
        let contract = testbed(&format!("cancel.{mode}"));
        let request = contract.cancel_request(&params(json!({})), "K\"1").unwrap();
        assert_eq!(request.method, "POST");
        assert_eq!(request.path_and_query, format!("/cancel/{mode}/cancel"));
        assert_eq!(request.body, b"{\"key\":\"K\\\"1\"}");
        let json = ("content-type".to_owned(), "application/json".to_owned());
        assert!(request.headers.contains(&json));
        let read = |status, body| contract.read_cancel(&answer(status, &body));
        let object = Some("T-1".to_owned());
        assert_eq!(
            read(200, json!({"cancelled": true, "ids": ["T-1"]})),
            CancelAnswer::Confirmed { object }
        );
        assert_eq!(
            read(200, json!({"cancelled": true, "ids": []})),
            CancelAnswer::Confirmed { object: None }
        );
        for (status, body) in [
            (200, json!({"cancelled": false})),
            (200, json!({})),
            (404, json!({"cancelled": true})),
            (500, json!({"cancelled": true})),
        ] {
            let read = read(status, body);
            assert!(matches!(read, CancelAnswer::Unknown { .. }), "{read:?}");
        }
    }
    let none = testbed("key.sync");
    assert_eq!(
        none.cancel_request(&params(json!({})), "K")
            .unwrap_err()
            .member,
        "/cancel"
    );
    let confirmed = answer(200, &json!({"cancelled": true}));
    assert!(matches!(
        none.read_cancel(&confirmed),
        CancelAnswer::Unknown { .. }
    ));
}

#[test]
fn the_account_is_asked_for() {
    let contract = testbed("key.sync");
    let request = contract.whoami_request().unwrap();
    assert_eq!(request.path_and_query, "/whoami");
    let named = answer(200, &json!({"account": "testbed"}));
    assert_eq!(contract.read_whoami(&named).as_deref(), Some("testbed"));
    assert_eq!(
        contract.read_whoami(&answer(401, &json!({"account": "testbed"}))),
        None
    );
    assert_eq!(contract.read_whoami(&raw_answer(200, b"{}")), None);
}
