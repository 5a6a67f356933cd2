//! Radicale: a name of ours in the path, and a condition that the server checks, so that a second request changes nothing.

use serde_json::{Value, json};

use super::{Desk, Lab, Rig};

const RULES: [&str; 10] = [
    "drop-response,method=PUT,p=0.12",
    "drop-request,method=PUT,p=0.1",
    "gateway-error,method=PUT,p=0.1,status=504",
    "reject,method=PUT,p=0.1,status=503",
    "cut-response,method=PUT,p=0.1",
    "delay-response,method=PUT,p=0.03,seconds=5",
    "duplicate,method=PUT,p=0.1",
    "duplicate-late,method=PUT,p=0.1,seconds=1",
    "orphan,method=PUT,p=0.05,seconds=1",
    "drop-response,method=GET,p=0.1",
];

async fn rig(rules: &[&str]) -> Rig {
    let lab = Lab::running("radicale");
    let desk = Desk {
        operation: "event.put",
        destination: format!(
            r#"
            provider = "radicale"
            account = "{login}"
            auth = {{ user = "{login}", password = "{{secret}}" }}"#,
            login = lab.get("LOGIN")
        ),
        secret: lab.get("PASSWORD").to_owned(),
        settings: r#"
            assume.processing_max = { value = "3 s", by = "the laboratory", reason = "one server on loopback, eight requests at a time" }"#,
    };
    Rig::start(lab, desk, rules).await
}

fn event(rig: &Rig, n: usize, summary: &str) -> (Value, Value) {
    let params = json!({"user": rig.lab.get("LOGIN"), "calendar": rig.lab.get("CALENDAR")});
    let lines = [
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        "PRODID:-//Factum//lab//EN",
        "BEGIN:VEVENT",
        &format!("UID:{n}.{}", rig.run),
        "DTSTAMP:20261130T000000Z",
        "DTSTART:20261201T100000Z",
        &format!("SUMMARY:{summary}"),
        "END:VEVENT",
        "END:VCALENDAR",
        "",
    ];
    (params, json!(lines.join("\r\n")))
}

/// Two hundred events: none stands twice, and what is said about each is true.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs LAB_DIR with a running Radicale; ./test starts one"]
async fn radicale_lab_holds_each_event_once() {
    let rig = rig(&RULES).await;
    let tally = rig
        .carry_out(
            200,
            |n, text| event(&rig, n, &text),
            |row| row["summary"].as_str().map(str::to_owned),
            |row| row["name"].as_str().map(str::to_owned),
        )
        .await;
    assert_eq!(tally.succeeded, 200, "{tally:?}");
    assert!(tally.resent > 0, "some answers were lost: {tally:?}");
    rig.proxy.assert_all_hit(&RULES);
    rig.stop().await;
}

/// D7, R31: the answer is lost. The repeat meets 412, which says only that something is there; the read shows our mark in it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs LAB_DIR with a running Radicale; ./test starts one"]
async fn radicale_lab_d7_after_a_412_the_read_shows_our_content() {
    let rig = rig(&["drop-response,method=PUT,n=1"]).await;
    let (params, payload) = event(&rig, 0, &rig.text(0));
    let id = rig.submit(0, params, payload).await;
    let (status, count) = rig.rested(0, id).await;
    assert_eq!((status.state, count), ("succeeded", 1));
    assert_eq!(rig.classes(id).await, ["already_exists"]);
    let facts = rig.facts(id).await;
    assert_eq!(facts.last(), Some(&"looked_up"), "{facts:?}");
    rig.stop().await;
}

/// D7, R31: somebody has put an event of their own under our name. The 412 is not taken for ours.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs LAB_DIR with a running Radicale; ./test starts one"]
async fn radicale_lab_d7_a_412_over_somebody_else_s_event_is_not_ours() {
    let rig = rig(&["drop-request,method=PUT,times=1"]).await;
    let (params, payload) = event(&rig, 0, &rig.text(0));
    let id = rig.submit(0, params, payload).await;
    rig.until(id, "lost").await;
    let path = rig.proxy.log()[0]["path"].as_str().unwrap().to_owned();
    let (_, theirs) = event(&rig, 1, &rig.text(1));
    somebody_else_puts(&rig, &path, theirs.as_str().unwrap());
    let (status, count) = rig.rested(0, id).await;
    assert_eq!(
        (status.state, status.next.step),
        ("outcome_unknown", "review")
    );
    assert_eq!((count, rig.lab.count(&rig.text(1))), (0, 1));
    rig.stop().await;
}

/// An event under this path, past the proxy and past the engine.
fn somebody_else_puts(rig: &Rig, path: &str, calendar: &str) {
    let login = format!("{}:{}", rig.lab.get("LOGIN"), rig.lab.get("PASSWORD"));
    let put = std::process::Command::new("curl")
        .args(["-s", "-f", "-u", &login, "-X", "PUT"])
        .args(["--data-binary", calendar])
        .arg(format!("{}{path}", rig.lab.get("URL")))
        .output()
        .unwrap();
    assert!(put.status.success(), "{put:?}");
}

/// What is no calendar is refused before anything is stored, and that is said.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs LAB_DIR with a running Radicale; ./test starts one"]
async fn radicale_lab_refuses_what_is_no_calendar() {
    let rig = rig(&[]).await;
    let (params, _) = event(&rig, 0, "");
    let broken = format!("BEGIN:VEVENT\r\n{}", rig.text(0));
    let id = rig.submit(0, params, json!(broken)).await;
    let (status, count) = rig.rested(0, id).await;
    assert_eq!((status.state, count), ("terminal_failure", 0), "{status:?}");
    rig.stop().await;
}

/// D10: the connection is refused. Nothing was sent, that is said, and it is tried again freely.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs LAB_DIR with a running Radicale; ./test starts one"]
async fn radicale_lab_d10_behind_a_shut_door_nothing_happened() {
    let rig = rig(&[]).await;
    let (params, payload) = event(&rig, 0, &rig.text(0));
    rig.shut_out_and_let_in("PUT", params, payload).await;
    rig.stop().await;
}
