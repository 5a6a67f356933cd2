//! Redmine: no idempotency at all, and a search by a field of ours that shows an issue at once.

use serde_json::{Value, json};

use super::{Desk, Lab, Rig, Tally};

const RULES: [&str; 8] = [
    "drop-response,method=POST,p=0.12",
    "drop-request,method=POST,p=0.12",
    "gateway-error,method=POST,p=0.1,status=504",
    "reject,method=POST,p=0.1,status=503",
    "cut-response,method=POST,p=0.1",
    "delay-response,method=POST,p=0.05,seconds=5",
    "orphan,method=POST,p=0.05,seconds=1",
    "drop-response,method=GET,p=0.1",
];

async fn rig(rules: &[&str]) -> Rig {
    let lab = Lab::running("redmine");
    let desk = Desk {
        operation: "issue.create",
        destination: r#"
            provider = "redmine"
            account = "admin"
            auth = { header = "x-redmine-api-key", value = "{secret}" }"#
            .to_owned(),
        secret: lab.get("TOKEN").to_owned(),
        settings: r#"
            direct = true
            by = "the laboratory"
            reason = "the proxy in front of it repeats nothing under these rules"
            assume.processing_max = { value = "20 s", by = "the laboratory", reason = "one server on loopback, eight requests at a time, on a machine that does other things as well" }"#,
    };
    Rig::start(lab, desk, rules).await
}

fn issue(rig: &Rig, subject: &str) -> (Value, Value) {
    let number = |name: &str| rig.lab.get(name).parse::<u64>().unwrap();
    let payload = json!({"issue": {
        "project_id": rig.lab.get("PROJECT"), "tracker_id": number("TRACKER_ID"), "subject": subject,
    }});
    (json!({ "field_id": number("FIELD_ID") }), payload)
}

async fn carry_out(actions: usize) -> Tally {
    let rig = rig(&RULES).await;
    let tally = rig
        .carry_out(
            actions,
            |_, text| issue(&rig, &text),
            |row| row["subject"].as_str().map(str::to_owned),
            |row| Some(row["id"].to_string()),
        )
        .await;
    rig.proxy.assert_all_hit(&RULES);
    rig.stop().await;
    tally
}

/// B89, B91: whatever the proxy lost, each issue stands in Redmine's database once, and every statement is true.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs LAB_DIR with a running Redmine; ./test starts one"]
async fn redmine_lab_holds_each_issue_once() {
    let tally = carry_out(60).await;
    assert_eq!(tally.succeeded, 60, "{tally:?}");
    assert!(tally.resent > 0, "some requests were lost: {tally:?}");
}

/// The same with two hundred.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs LAB_DIR with a running Redmine; ./test --long starts one"]
async fn redmine_long_lab_holds_each_of_two_hundred_issues_once() {
    let tally = carry_out(200).await;
    assert_eq!(tally.succeeded, 200, "{tally:?}");
    assert!(tally.resent > 0, "some requests were lost: {tally:?}");
}

/// Submits one issue whose first request meets this fault.
async fn one(fault: &str) -> (Rig, factum::ActionId, factum::view::StatusView) {
    let rig = rig(&[&format!("{fault},method=POST,n=1")]).await;
    let (params, payload) = issue(&rig, &rig.text(0));
    let id = rig.submit(0, params, payload).await;
    let (status, count) = rig.rested(0, id).await;
    assert_eq!((status.state, count), ("succeeded", 1), "{status:?}");
    rig.proxy.assert_all_hit(&[fault]);
    (rig, id, status)
}

/// D1: the answer is lost. The issue is found by our reference, and no second POST is sent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs LAB_DIR with a running Redmine; ./test starts one"]
async fn redmine_lab_d1_a_lost_answer_is_looked_up() {
    let (rig, id, status) = one("drop-response").await;
    assert_eq!(status.attempts, 1);
    assert_eq!(rig.proxy.arrived("POST"), 1);
    let facts = rig.facts(id).await;
    assert_eq!(facts, ["marked", "lost", "looked_up"], "{facts:?}");
    rig.stop().await;
}

/// D2: the request is lost. It is sent again only after the search has shown that there is no such issue.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs LAB_DIR with a running Redmine; ./test starts one"]
async fn redmine_lab_d2_a_lost_request_is_sent_again_after_the_lookup() {
    let (rig, id, status) = one("drop-request").await;
    assert_eq!(status.attempts, 2);
    assert_eq!(rig.proxy.arrived("POST"), 1);
    let facts = rig.facts(id).await;
    let second = facts.iter().rposition(|fact| *fact == "marked").unwrap();
    assert!(facts[..second].contains(&"looked_up"), "{facts:?}");
    rig.stop().await;
}

/// D3: a gateway's 504 over a request that arrived, and its 503 over one that did not. The status alone decides nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs LAB_DIR with a running Redmine; ./test starts one"]
async fn redmine_lab_d3_a_gateway_s_status_decides_nothing() {
    let (rig, id, status) = one("gateway-error,status=504").await;
    assert_eq!((status.attempts, rig.proxy.arrived("POST")), (1, 1));
    assert_eq!(rig.classes(id).await, ["unknown"]);
    rig.stop().await;
    let (rig, id, status) = one("reject,status=503").await;
    assert_eq!((status.attempts, rig.proxy.arrived("POST")), (2, 1));
    // What came after it is an answer, or, where the server was slow, the search: both say that it is done.
    assert_eq!(rig.classes(id).await[0], "unknown");
    rig.stop().await;
}

/// D10: the connection is refused. Nothing was sent, that is said, and it is tried again freely.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs LAB_DIR with a running Redmine; ./test starts one"]
async fn redmine_lab_d10_behind_a_shut_door_nothing_happened() {
    let rig = rig(&[]).await;
    let (params, payload) = issue(&rig, &rig.text(0));
    rig.shut_out_and_let_in("POST", params, payload).await;
    rig.stop().await;
}
