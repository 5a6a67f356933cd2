//! Reports of effects: signed by the contract's scheme, and hit by the faults of reports.

use std::net::SocketAddr;
use std::time::Duration;

use factum_contract::Contract;
use factum_contract::far_side::Report;
use factum_faults::{Fault, FaultPlan};
use factum_testbed::{CallbackTo, Config, Handle, StandIn, Testbed};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::caller::{Ask, order};
use crate::stand_ins::{all, one, request, send};

const SECRET: &[u8] = b"c2VjcmV0IG9mIHRoZSB0ZXN0cw==";

/// Takes reports, and hands them over in the order in which they came.
async fn receiver() -> (SocketAddr, mpsc::UnboundedReceiver<Report>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, reports) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut bytes = Vec::new();
            let report = loop {
                if let Some(report) = whole(&bytes) {
                    break report;
                }
                if stream.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
                    return;
                }
            };
            let answer = b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n";
            let _ = stream.write_all(answer).await;
            let _ = sender.send(report);
        }
    });
    (address, reports)
}

fn whole(bytes: &[u8]) -> Option<Report> {
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text.split_once("\r\n\r\n")?;
    let lines = head.lines().filter_map(|line| line.split_once(": "));
    let headers: Vec<(String, String)> = lines
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length")?;
    let length: usize = length.1.parse().ok()?;
    let body = body.as_bytes().get(..length)?.to_vec();
    Some(Report { headers, body })
}

async fn bed(to: SocketAddr, rules: &str, stand_ins: Vec<StandIn>) -> Handle {
    let mut config = Config {
        faults: FaultPlan::parse(7, rules).unwrap(),
        callbacks: Some(CallbackTo {
            url: format!("http://{to}/v1/callbacks/abc"),
            secret: SECRET.to_vec(),
        }),
        stand_ins,
        ..Config::default()
    };
    config.settings.queue_delay = Duration::from_millis(5);
    Testbed::start(config).await.unwrap()
}

fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    i64::try_from(since.unwrap().as_micros()).unwrap()
}

/// What a report says, and whether it is the destination's.
fn said(contract: &Contract, report: &Report) -> String {
    let signed = contract.far_side().is_signed(report, SECRET, now());
    let readings = contract.read_callbacks(&report.body);
    let fact = format!("{:?}", readings[0].callback);
    let word = fact.split([' ', '(', '{']).next().unwrap();
    format!("{word}{}", if signed { "" } else { ", forged" })
}

fn reference(report: &Report) -> String {
    let body: Value = serde_json::from_slice(&report.body).unwrap();
    body["reference"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn every_fault_of_reports_happens_to_the_five_kinds() {
    let contract = one("testbed", "neither.reported");
    let rows: &[(&str, &[&str])] = &[
        ("none", &["ref-a Positive", "ref-b Positive"]),
        (
            "callback_twice,n=1",
            &["ref-a Positive", "ref-a Positive", "ref-b Positive"],
        ),
        (
            "callback_reordered,n=1",
            &["ref-b Positive", "ref-a Positive"],
        ),
        (
            "callback_forged,n=1",
            &["ref-a Negative, forged", "ref-a Positive", "ref-b Positive"],
        ),
        (
            "callback_late=20,n=1",
            &["ref-a Positive", "ref-b Positive"],
        ),
        ("callback_lost,n=1", &["ref-b Positive"]),
        (
            "callback_before_answer=20,n=1",
            &["ref-a Positive", "ref-b Positive"],
        ),
        (
            "callback_contradictory,n=1",
            &["ref-a Positive", "ref-a Negative", "ref-b Positive"],
        ),
    ];
    let named = rows
        .iter()
        .map(|(rule, _)| rule.split([',', '=']).next().unwrap());
    let named: Vec<&str> = named.collect();
    let faults = Fault::ALL.iter().filter(|fault| fault.is_of_callback());
    assert!(
        faults
            .map(|fault| fault.name())
            .all(|name| named.contains(&name))
    );
    for (rule, expected) in rows {
        let (to, mut reports) = receiver().await;
        let bed = bed(to, rule, Vec::new()).await;
        let mut came = Vec::new();
        for name in ["a", "b"] {
            let ask = Ask::post("/neither/queued/effects", &order(name));
            assert_eq!(ask.send(bed.addr()).await.status, 202);
            // The first one has landed before the second is asked for.
            let filter = factum_testbed::Filter::business(name);
            bed.ledger()
                .wait_until(&filter, |counts| counts.total_effects == 1)
                .await;
        }
        for _ in *expected {
            let report = reports.recv().await.unwrap();
            came.push(format!(
                "{} {}",
                reference(&report),
                said(&contract, &report)
            ));
        }
        assert_eq!(came, *expected, "{rule}");
        bed.shutdown().await;
        assert!(reports.try_recv().is_err(), "{rule}");
    }
}

#[tokio::test]
async fn a_report_can_come_before_its_answer() {
    let (to, mut reports) = receiver().await;
    let bed = bed(to, "callback_before_answer=600000", Vec::new()).await;
    let ask = Ask::post("/lookup/queued/effects", &order("a"));
    let address = bed.addr();
    let asking = tokio::spawn(async move { ask.send(address).await.status });
    assert_eq!(reference(&reports.recv().await.unwrap()), "ref-a");
    assert!(!asking.is_finished());
    asking.abort();
}

#[tokio::test]
async fn work_that_fails_is_reported_as_failed() {
    let contract = one("testbed", "neither.reported");
    let (to, mut reports) = receiver().await;
    let bed = bed(to, "", Vec::new()).await;
    let mut body = order("a");
    body["behave"] = Value::from("complete_then_fail");
    Ask::post("/neither/queued/effects", &body)
        .send(bed.addr())
        .await;
    assert_eq!(said(&contract, &reports.recv().await.unwrap()), "Negative");
}

#[tokio::test]
async fn stand_ins_report_as_their_contracts_describe_it() {
    let mut reporting = 0;
    for contract in all() {
        let Some(example) = request(contract.far_side(), 9) else {
            continue;
        };
        let probe = factum_contract::far_side::ReportOf {
            id: "evt_1",
            reference: Some("r"),
            key: Some("k"),
            object: Some("o"),
            receipt: Some("1"),
        };
        let positive = factum_contract::far_side::Reported::Positive;
        if contract.far_side().report(positive, &probe).is_none() {
            continue;
        }
        reporting += 1;
        let (to, mut reports) = receiver().await;
        let bed = bed(to, "", vec![StandIn::new(contract.clone())]).await;
        send(&bed, &example, "a").await;
        let report = reports.recv().await.unwrap();
        assert!(
            contract.far_side().is_signed(&report, SECRET, now()),
            "{}",
            contract.operation()
        );
        assert_eq!(said(&contract, &report), "Positive");
        bed.shutdown().await;
    }
    // All whose contract has a section [callback]: eight of the providers, and the testbed's own two.
    assert_eq!(reporting, 10);
}
