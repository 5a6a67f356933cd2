//! Matrix, carried out by Synapse: the same path from the same device is the same event, for as long as the ids are kept.

use factum::Code;
use serde_json::{Value, json};

use super::{Desk, Lab, Rig};

const RULES: [&str; 9] = [
    "drop-response,method=PUT,p=0.12",
    "drop-request,method=PUT,p=0.1",
    "gateway-error,method=PUT,p=0.1,status=504",
    "reject,method=PUT,p=0.1,status=503",
    "cut-response,method=PUT,p=0.1",
    "delay-response,method=PUT,p=0.03,seconds=5",
    "duplicate,method=PUT,p=0.1",
    "duplicate-late,method=PUT,p=0.1,seconds=1",
    "orphan,method=PUT,p=0.05,seconds=1",
];

async fn rig(lab: Lab, rules: &[&str]) -> Rig {
    let desk = Desk {
        operation: "message.send",
        destination: format!(
            r#"
            provider = "matrix"
            account = "{account}"
            auth = {{ bearer = "{{secret}}" }}"#,
            account = lab.get("ACCOUNT")
        ),
        secret: lab.get("TOKEN").to_owned(),
        settings: r#"
            assume.processing_max = { value = "3 s", by = "the laboratory", reason = "one server on loopback, eight requests at a time" }
            assume.key_floor = { value = "23 h", by = "the laboratory", reason = "Synapse keeps transaction ids for a day" }"#,
    };
    Rig::start(lab, desk, rules).await
}

fn message(rig: &Rig, body: &str) -> (Value, Value) {
    let params = json!({ "room_id": rig.lab.get("ROOM") });
    (params, json!({"msgtype": "m.text", "body": body}))
}

/// Two hundred messages: each stands in the room once, and every statement is true.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs LAB_DIR with a running Synapse; ./test --long starts one"]
async fn matrix_lab_holds_each_message_once() {
    let rig = rig(Lab::running("matrix"), &RULES).await;
    let tally = rig
        .carry_out(
            200,
            |_, text| message(&rig, &text),
            |row| row["body"].as_str().map(str::to_owned),
            |row| row["event_id"].as_str().map(str::to_owned),
        )
        .await;
    assert_eq!(tally.succeeded, 200, "{tally:?}");
    assert!(tally.resent > 0, "some answers were lost: {tally:?}");
    rig.proxy.assert_all_hit(&RULES);
    rig.stop().await;
}

/// D9: the answer is lost, the server is killed and started again, and the repeat gets the first event's id.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs LAB_CACHE with Synapse in it; ./test --long installs it"]
async fn matrix_lab_d9_a_killed_server_still_knows_the_repeat() {
    let rig = rig(Lab::started("matrix"), &["drop-response,method=PUT,n=1"]).await;
    let (params, payload) = message(&rig, &rig.text(0));
    let id = rig.submit(0, params, payload).await;
    rig.until(id, "lost").await;
    assert_eq!(rig.lab.count(&rig.text(0)), 1, "it had arrived");
    rig.lab.script("stop.sh", &["KILL"]);
    rig.lab.script("start.sh", &[]);
    let (status, count) = rig.rested(0, id).await;
    assert_eq!((status.state, count), ("succeeded", 1));
    assert!(status.attempts >= 2, "{status:?}");
    let receipt = status.receipt.unwrap().reference;
    assert_eq!(rig.lab.effects()[0]["event_id"], receipt);
    rig.stop().await;
}

/// R31: Synapse answers another body under our id with the first event, without a word. It never gets one from us: the engine
/// compares, and refuses.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs LAB_DIR with a running Synapse; ./test --long starts one"]
async fn matrix_lab_never_gets_another_body_under_the_same_id() {
    let rig = rig(Lab::running("matrix"), &[]).await;
    let (params, payload) = message(&rig, &rig.text(0));
    let id = rig.submit(0, params.clone(), payload).await;
    let (status, count) = rig.rested(0, id).await;
    assert_eq!((status.state, count), ("succeeded", 1));
    let again = rig.factum.action("lab", "message.send").key(&status.key);
    let (_, other) = message(&rig, &rig.text(1));
    let refused = again.params(params).payload(other).submit().await;
    assert_eq!(refused.unwrap_err().code, Code::IdentityConflict);
    assert_eq!(rig.proxy.arrived("PUT"), 1);
    // What the server would have made of it: the first event, and nothing of the new body.
    let path = rig.proxy.log()[0]["path"].as_str().unwrap().to_owned();
    let (_, other) = message(&rig, &rig.text(1));
    let answer = somebody_sends(&rig, &path, &other);
    assert_eq!(answer["event_id"], status.receipt.unwrap().reference);
    assert_eq!(rig.lab.count(&rig.text(1)), 0);
    rig.stop().await;
}

/// D10: the connection is refused. Nothing was sent, that is said, and it is tried again freely.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs LAB_DIR with a running Synapse; ./test --long starts one"]
async fn matrix_lab_d10_behind_a_shut_door_nothing_happened() {
    let rig = rig(Lab::running("matrix"), &[]).await;
    let (params, payload) = message(&rig, &rig.text(0));
    rig.shut_out_and_let_in("PUT", params, payload).await;
    rig.stop().await;
}

/// R13: while the answer is waited for, the secret becomes that of another login of the same user. The account is the right one, and
/// Synapse knows our id only from the device that sent it: a repeat would be a second message, so there is none.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs LAB_DIR with a running Synapse; ./test --long starts one"]
async fn matrix_lab_sends_nothing_by_key_from_another_device() {
    let late = "delay-response,method=PUT,n=1,seconds=8";
    let rig = rig(Lab::running("matrix"), &[late]).await;
    let (params, payload) = message(&rig, &rig.text(0));
    let id = rig.submit(0, params, payload).await;
    while rig.lab.count(&rig.text(0)) == 0 {}
    std::fs::write(&rig.secret, rig.lab.get("TOKEN_ELSEWHERE")).unwrap();
    let (status, count) = rig.rested(0, id).await;
    let facts = rig.facts(id).await;
    assert_eq!((status.state, count), ("outcome_unknown", 1), "{facts:?}");
    assert_eq!(status.next.step, "review", "{facts:?}");
    // A further mark may be made before the change is noticed; what is noticed at the socket is proven not sent.
    assert_eq!(rig.proxy.arrived("PUT"), 1, "{facts:?}");
    rig.stop().await;
}

/// A message of the same device, past the proxy and past the engine.
fn somebody_sends(rig: &Rig, path: &str, content: &Value) -> Value {
    let sent = std::process::Command::new("curl")
        .args(["-s", "-f", "-X", "PUT"])
        .args([
            "-H",
            &format!("Authorization: Bearer {}", rig.lab.get("TOKEN")),
        ])
        .args(["-d", &content.to_string()])
        .arg(format!("{}{path}", rig.lab.get("URL")))
        .output()
        .unwrap();
    assert!(sent.status.success(), "{sent:?}");
    serde_json::from_slice(&sent.stdout).unwrap()
}
