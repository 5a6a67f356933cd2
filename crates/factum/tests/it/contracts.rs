//! What a contract says is acted on, for the very request that it is said of.

use factum_faults::FaultPlan;
use factum_testbed::{Config as TestbedConfig, Filter, Testbed};
use serde_json::json;

use crate::support::{PATIENCE, config};
use factum::Factum;

/// A folder of contracts for the testbed: file, text, what stands there, and what stands in its place.
fn contracts(changed: &[(&str, &str, &str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("testbed");
    std::fs::create_dir(&own).unwrap();
    for (file, text, was, is) in changed {
        let written = text.replace(was, is);
        assert_ne!(*text, written, "{file}");
        std::fs::write(own.join(file), written).unwrap();
    }
    folder
}

/// R4, B79: a destination that keeps no key for large bodies. The small request is sent again by its key, the large one is not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_escape_clause_takes_the_window_from_the_request_that_it_speaks_of() {
    let folder = contracts(&[(
        "key.sync.toml",
        include_str!("../../../../contracts/testbed/key.sync.toml"),
        "retention = { floor = \"24 h\" }",
        "retention = { floor = \"24 h\" }\nescapes = [{ body_over = 400 }]",
    )]);

    let faults = FaultPlan::parse(7, "close_fin,class=effect,n=1,per=reference").unwrap();
    let testbed = Testbed::start(TestbedConfig {
        faults,
        ..TestbedConfig::default()
    })
    .await
    .unwrap();
    let mut written = config(&testbed.base_url(), "");
    written.contracts = Some(folder.path().to_owned());
    let factum = Factum::memory().config(written).start().await.unwrap();
    for (business, filler, state, deliveries) in [
        ("small", 10, "succeeded", 2),
        ("large", 500, "outcome_unknown", 1),
    ] {
        let payload = json!({ "business": business, "filler": "x".repeat(filler) });
        let submitted = factum
            .action("bed", "key.sync")
            .key(business)
            .payload(payload)
            .submit()
            .await
            .unwrap();
        let id: factum::ActionId = submitted.status.id.parse().unwrap();
        let status = factum.wait_status(id, PATIENCE).await.unwrap();
        assert_eq!(
            status.state,
            state,
            "{business}: {:?}",
            factum.evidence(id).await
        );
        let counts = testbed.ledger().counts(&Filter::business(business));
        assert_eq!(
            (counts.effects_of(business), counts.deliveries_of(business)),
            (1, deliveries),
            "{business}"
        );
    }
}

/// R14: what is harmless is repeated after a lost answer, unless a later action on the same subject was recorded meanwhile: then
/// its repeat would undo newer work, and a person decides.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_harmless_effect_is_not_repeated_over_newer_work_on_its_subject() {
    let neither = include_str!("../../../../contracts/testbed/neither.sync.toml").replace(
        "[[claims]]\n",
        "[[claims]]\nabout = \"/consequence\"\nperson = \"the testbed's own code\"\ndate = \"2026-11-29\"\n\n[[claims]]\n",
    );
    let folder = contracts(&[(
        "neither.sync.toml",
        &neither,
        "consequence = \"costly\"",
        "consequence = \"harmless\"",
    )]);
    for (subject, state, deliveries) in [
        ("ticket/77", "outcome_unknown", 1),
        ("ticket/78", "succeeded", 2),
    ] {
        let faults = FaultPlan::parse(7, "close_fin,class=effect,n=1,ref=first").unwrap();
        let testbed = Testbed::start(TestbedConfig {
            faults,
            ..TestbedConfig::default()
        })
        .await
        .unwrap();
        let mut written = config(&testbed.base_url(), "");
        written.contracts = Some(folder.path().to_owned());
        let factum = Factum::memory().config(written).start().await.unwrap();
        // Sends are held until both are recorded: whichever goes first then, the later action is there before any repeat.
        factum.engine().set_paused(true, "test").await.unwrap();
        let first = submit(&factum, "first", "ticket/77").await;
        let second = submit(&factum, "second", subject).await;
        factum.engine().set_paused(false, "test").await.unwrap();
        let status = factum.wait_status(first, PATIENCE).await.unwrap();
        assert_eq!(status.state, state, "{:?}", factum.evidence(first).await);
        assert_eq!(status.subject.as_deref(), Some("ticket/77"));
        let newer = factum.wait_status(second, PATIENCE).await.unwrap();
        assert_eq!(newer.state, "succeeded");
        let counts = testbed.ledger().counts(&Filter::default());
        assert_eq!(
            (
                counts.deliveries_of("first"),
                counts.deliveries_of("second")
            ),
            (deliveries, 1)
        );
    }
}

async fn submit(factum: &Factum, key: &str, subject: &str) -> factum::ActionId {
    let submitted = factum
        .action("bed", "neither.sync")
        .key(key)
        .subject(subject)
        .payload(json!({ "business": key }))
        .submit()
        .await
        .unwrap();
    submitted.status.id.parse().unwrap()
}

const KEY_SYNC: &str = include_str!("../../../../contracts/testbed/key.sync.toml");

/// R27: an answer shows that the destination does not look at the key. Nothing is sent again by it, though the contract says that
/// it is honoured.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_an_answer_shows_to_be_ignored_is_not_relied_on() {
    for (sign, state, deliveries) in [
        ("status = 500", "outcome_unknown", 1),
        ("status = 599", "succeeded", 2),
    ] {
        let support = format!("[support]\nkey_ignored = {{ {sign} }}\n\n[whoami]");
        let folder = contracts(&[("key.sync.toml", KEY_SYNC, "[whoami]", &support)]);
        let testbed = Testbed::start(TestbedConfig {
            faults: FaultPlan::parse(7, "status=500,class=effect,n=1").unwrap(),
            ..TestbedConfig::default()
        })
        .await
        .unwrap();
        let mut written = config(&testbed.base_url(), "");
        written.contracts = Some(folder.path().to_owned());
        let factum = Factum::memory().config(written).start().await.unwrap();
        let action = factum
            .action("bed", "key.sync")
            .key("k")
            .payload(json!({ "business": "k" }));
        let id: factum::ActionId = action.submit().await.unwrap().status.id.parse().unwrap();
        let status = factum.wait_status(id, PATIENCE).await.unwrap();
        let counts = testbed.ledger().counts(&Filter::business("k"));
        assert_eq!(
            (
                status.state,
                counts.deliveries_of("k"),
                counts.effects_of("k")
            ),
            (state, deliveries, 1),
            "{sign}: {:?}",
            factum.evidence(id).await
        );
    }
}

/// R13: the destination moved to another base address while an action was open. Where its keys are known per host, the key means
/// nothing there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_is_not_sent_to_another_host_where_it_is_known_per_host() {
    for (scope, state, sent_again) in [
        ("scope = [\"endpoint\", \"host\"]", "outcome_unknown", false),
        ("scope = [\"endpoint\", \"account\"]", "succeeded", true),
    ] {
        let own = contracts(&[("key.sync.toml", KEY_SYNC, "scope = \"endpoint\"", scope)]);
        let folder = tempfile::tempdir().unwrap();
        let testbed = Testbed::start(TestbedConfig {
            faults: FaultPlan::parse(7, "close_fin,class=effect").unwrap(),
            ..TestbedConfig::default()
        })
        .await
        .unwrap();
        let start = async |base: &str| {
            let mut written = config(base, "");
            written.contracts = Some(own.path().to_owned());
            let file = folder.path().join("factum.db");
            Factum::sqlite(file).config(written).start().await.unwrap()
        };
        let base = testbed.base_url();
        let moved = base.replace("127.0.0.1", "localhost");
        assert_ne!(base, moved);
        let factum = start(&base).await;
        let mut changes = factum.engine().changes();
        let action = factum
            .action("bed", "key.sync")
            .key("k")
            .payload(json!({ "business": "k" }));
        let id: factum::ActionId = action.submit().await.unwrap().status.id.parse().unwrap();
        // Every answer from the first address is lost, however often it is asked there before the process ends.
        while changes.recv().await.unwrap().state != factum::State::OutcomeUnknown {}
        factum.shutdown(PATIENCE).await;
        drop(factum);
        let lost = testbed.ledger().counts(&Filter::business("k"));
        testbed.set_faults(FaultPlan::parse(7, "").unwrap());
        let factum = start(&moved).await;
        let status = factum.wait_status(id, PATIENCE).await.unwrap();
        let counts = testbed.ledger().counts(&Filter::business("k"));
        assert_eq!(
            (
                status.state,
                counts.deliveries_of("k") > lost.deliveries_of("k")
            ),
            (state, sent_again),
            "{scope}: {:?}",
            factum.evidence(id).await
        );
        assert_eq!(counts.effects_of("k"), 1);
    }
}

/// The trace is sent where the contract takes one, byte for byte the same on a repeat, and changes nothing else of the request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_trace_is_passed_on_and_is_the_same_on_repeats() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let folder = contracts(&[(
        "key.sync.toml",
        KEY_SYNC,
        "kind = \"effect\"",
        "kind = \"effect\"\ntrace = \"traceparent\"",
    )]);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let mut written = config(&base, "");
    written.contracts = Some(folder.path().to_owned());
    let factum = Factum::memory().config(written).start().await.unwrap();
    let mut requests = Vec::new();
    for trace in [Some(TRACE), None] {
        let mut action = factum
            .action("bed", "key.sync")
            .key(if trace.is_some() { "traced" } else { "bare" })
            .payload(json!({ "n": 1 }));
        if let Some(trace) = trace {
            action = action.trace(trace);
        }
        let id: factum::ActionId = action.submit().await.unwrap().status.id.parse().unwrap();
        // The first answer is lost.
        for answered in [false, true] {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut read = Vec::new();
            while !read.ends_with(b"}") {
                assert!(stream.read_buf(&mut read).await.unwrap() > 0);
            }
            if answered {
                let body = r#"{"ok":true,"id":"T-1"}"#;
                let answer = format!(
                    "HTTP/1.1 201 Created\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                    body.len()
                );
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
            requests.push(String::from_utf8(read).unwrap().to_lowercase());
        }
        assert_eq!(
            factum.wait_status(id, PATIENCE).await.unwrap().state,
            "succeeded"
        );
    }
    let [first, repeat, bare, _] = &requests[..] else {
        panic!("{requests:?}")
    };
    assert_eq!(first, repeat);
    let header = format!("traceparent: {TRACE}\r\n");
    assert!(first.contains(&header), "{first}");
    assert!(!bare.contains("traceparent"), "{bare}");
}
