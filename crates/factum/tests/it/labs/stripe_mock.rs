//! The shape of Stripe: a key of ours, real replays of stored answers, and a refusal where the key meets other content.

use factum::Code;
use serde_json::{Value, json};

use super::{Desk, Lab, Rig};

const RULES: [&str; 9] = [
    "drop-response,method=POST,p=0.12",
    "drop-request,method=POST,p=0.1",
    "gateway-error,method=POST,p=0.1,status=504",
    "reject,method=POST,p=0.1,status=503",
    "cut-response,method=POST,p=0.1",
    "delay-response,method=POST,p=0.03,seconds=5",
    "duplicate,method=POST,p=0.1",
    "duplicate-late,method=POST,p=0.1,seconds=1",
    "orphan,method=POST,p=0.05,seconds=1",
];

async fn rig(rules: &[&str]) -> Rig {
    let lab = Lab::running("stripe-mock");
    let desk = Desk {
        operation: "charge.create",
        destination: r#"
            provider = "stripe"
            account = "acct_default"
            auth = { bearer = "{secret}" }"#
            .to_owned(),
        secret: lab.get("TOKEN").to_owned(),
        settings: "",
    };
    Rig::start(lab, desk, rules).await
}

fn charge(description: &str, amount: u32) -> Value {
    json!({"amount": amount, "currency": "eur", "source": "tok_visa", "description": description})
}

/// Two hundred charges: none is taken twice, and what is said about each is true. Stripe keeps a 5xx under the key and plays it
/// again, and its emulator has no search: where a gateway answered, it cannot be told, and a person is asked (R19).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs LAB_DIR with a running stripe-mock; ./test starts one"]
async fn stripe_mock_lab_takes_each_charge_once() {
    let rig = rig(&RULES).await;
    let tally = rig
        .carry_out(
            200,
            |_, text| (json!({}), charge(&text, 500)),
            |row| row["description"].as_str().map(str::to_owned),
            |row| row["id"].as_str().map(str::to_owned),
        )
        .await;
    assert_eq!(tally.succeeded + tally.unknown.len(), 200, "{tally:?}");
    for status in &tally.unknown {
        let classes = rig.classes(status.id.parse().unwrap()).await;
        assert_eq!(classes, ["unknown"], "only a gateway leaves it open");
    }
    assert!(tally.resent > 0, "some answers were lost: {tally:?}");
    rig.proxy.assert_all_hit(&RULES);
    rig.stop().await;
}

/// D5: the answer is lost. The same request under the same key gets the first one's answer, marked as played again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs LAB_DIR with a running stripe-mock; ./test starts one"]
async fn stripe_mock_lab_d5_a_lost_answer_is_played_again() {
    let rig = rig(&["drop-response,method=POST,n=1"]).await;
    let id = rig.submit(0, json!({}), charge(&rig.text(0), 500)).await;
    let (status, count) = rig.rested(0, id).await;
    assert_eq!((status.state, count), ("succeeded", 1));
    assert_eq!((status.attempts, rig.proxy.arrived("POST")), (2, 2));
    let evidence = rig.factum.evidence(id).await.unwrap();
    let answer = evidence.iter().find(|fact| fact.fact == "answered");
    assert_eq!(answer.unwrap().detail["replayed"], true, "{evidence:?}");
    rig.stop().await;
}

/// D6: other content under the caller's key is refused here, and never sent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs LAB_DIR with a running stripe-mock; ./test starts one"]
async fn stripe_mock_lab_d6_other_content_under_a_key_is_refused_by_the_engine() {
    let rig = rig(&[]).await;
    let id = rig.submit(0, json!({}), charge(&rig.text(0), 500)).await;
    let (status, _) = rig.rested(0, id).await;
    let again = rig.factum.action("lab", "charge.create").key(&status.key);
    let refused = again.payload(charge(&rig.text(0), 900)).submit().await;
    assert_eq!(refused.unwrap_err().code, Code::IdentityConflict);
    assert_eq!(rig.proxy.arrived("POST"), 1);
    assert_eq!(rig.lab.count(&rig.text(0)), 1);
    rig.stop().await;
}

/// D6: where the destination itself says that our key has other content, that is no word about the charge.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs LAB_DIR with a running stripe-mock; ./test starts one"]
async fn stripe_mock_lab_d6_the_destination_s_400_is_not_a_failed_charge() {
    let rig = rig(&["drop-request,method=POST,times=3"]).await;
    let id = rig.submit(0, json!({}), charge(&rig.text(0), 500)).await;
    rig.until(id, "lost").await;
    let log = rig.proxy.log();
    let key = log[0]["request_headers"]["idempotency-key"]
        .as_str()
        .unwrap();
    somebody_else_charges(&rig, key, &rig.text(1));
    let (status, count) = rig.rested(0, id).await;
    assert_eq!(
        (status.state, status.next.step),
        ("outcome_unknown", "review")
    );
    assert_eq!((count, rig.lab.count(&rig.text(1))), (0, 1));
    let classes = rig.classes(id).await;
    assert_eq!(classes.last().map(String::as_str), Some("mismatch"));
    rig.stop().await;
}

/// A charge under this key, past the proxy and past the engine.
fn somebody_else_charges(rig: &Rig, key: &str, description: &str) {
    let charged = std::process::Command::new("curl")
        .args(["-s", "-f", "-u", &format!("{}:", rig.lab.get("TOKEN"))])
        .args(["-H", &format!("Idempotency-Key: {key}")])
        .args(["-d", "amount=700", "-d", "currency=eur"])
        .args(["-d", "source=tok_visa"])
        .args(["--data-urlencode", &format!("description={description}")])
        .arg(format!("{}/v1/charges", rig.lab.get("URL")))
        .output()
        .unwrap();
    assert!(charged.status.success(), "{charged:?}");
}

/// D10: the connection is refused. Nothing was sent, that is said, and it is tried again freely.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs LAB_DIR with a running stripe-mock; ./test starts one"]
async fn stripe_mock_lab_d10_behind_a_shut_door_nothing_happened() {
    let rig = rig(&[]).await;
    let payload = charge(&rig.text(0), 500);
    rig.shut_out_and_let_in("POST", json!({}), payload).await;
    rig.stop().await;
}
