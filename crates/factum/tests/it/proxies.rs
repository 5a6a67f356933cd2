//! What stands between us and a destination and does more than pass on (cases, group E).

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use factum::{ActionId, Factum};
use factum_testbed::{Config as TestbedConfig, Filter, Handle, Testbed};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{PATIENCE, config};

/// What becomes of an effect request. All others pass.
#[derive(Clone, Copy)]
enum Does {
    /// It is delivered, and its answer is replaced by a 502.
    Masks,
    /// It is delivered twice, as by a mesh that tries again, and nobody is answered.
    RepeatsAndLoses,
}

/// Does so with the first effect request, and passes on what comes after.
async fn mesh(upstream: SocketAddr, does: Does) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let effects = Arc::new(AtomicUsize::new(0));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(pass(stream, upstream, does, effects.clone()));
        }
    });
    base
}

async fn pass(
    mut caller: TcpStream,
    upstream: SocketAddr,
    does: Does,
    effects: Arc<AtomicUsize>,
) -> std::io::Result<()> {
    let request = message(&mut caller).await?;
    let first = request.starts_with(b"POST") && effects.fetch_add(1, Ordering::SeqCst) == 0;
    let answer = deliver(upstream, &request).await?;
    match (first, does) {
        (false, _) => caller.write_all(&answer).await,
        (true, Does::Masks) => {
            let masked =
                "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            caller.write_all(masked.as_bytes()).await
        }
        (true, Does::RepeatsAndLoses) => deliver(upstream, &request).await.map(drop),
    }
}

async fn deliver(upstream: SocketAddr, request: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(upstream).await?;
    stream.write_all(request).await?;
    message(&mut stream).await
}

/// One request or answer: its head, and as much as that says.
async fn message(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length:"));
            if body.len() >= length.map_or(0, |length| length.trim().parse().unwrap_or(0)) {
                return Ok(bytes);
            }
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Ok(bytes);
        }
    }
}

/// A testbed behind such a mesh. Nothing is stated about what stands before it.
async fn behind(does: Does) -> (Handle, Factum) {
    let testbed = Testbed::start(TestbedConfig::default()).await.unwrap();
    let upstream = testbed
        .base_url()
        .strip_prefix("http://")
        .unwrap()
        .parse()
        .unwrap();
    let more = "[destinations.bed.operations.\"lookup.sync\"]\ndirect = false\n";
    let written = config(&mesh(upstream, does).await, more);
    let factum = Factum::memory().config(written).start().await.unwrap();
    (testbed, factum)
}

async fn submit(
    factum: &Factum,
    operation: &str,
    business: &str,
    behave: Option<&str>,
) -> ActionId {
    let mut payload = json!({ "business": business });
    if let Some(behave) = behave {
        payload["behave"] = Value::from(behave);
    }
    let action = factum
        .action("bed", operation)
        .key(business)
        .payload(payload);
    action.submit().await.unwrap().status.id.parse().unwrap()
}

/// B47: a mesh that tries again where nobody sees it. Two arrivals are one effect under a key. Without one they are two: the
/// lookup shows both, and it is not said that there is exactly one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_mesh_repeated_is_found_out_and_not_called_one() {
    let (testbed, factum) = behind(Does::RepeatsAndLoses).await;
    let id = submit(&factum, "lookup.sync", "twice", None).await;
    let status = factum.wait_status(id, PATIENCE).await.unwrap();
    let evidence = factum.evidence(id).await.unwrap();
    let counts = testbed.ledger().counts(&Filter::business("twice"));
    assert_eq!(
        (counts.effects_of("twice"), counts.deliveries_of("twice")),
        (2, 2)
    );
    assert_eq!(
        (status.attempts, status.duplicate_suspected),
        (1, true),
        "{evidence:?}"
    );
    assert_eq!(status.next.step, "review", "{evidence:?}");

    let (testbed, factum) = behind(Does::RepeatsAndLoses).await;
    let id = submit(&factum, "key.sync", "keyed", None).await;
    let status = factum.wait_status(id, PATIENCE).await.unwrap();
    assert_eq!(
        (status.state, status.duplicate_suspected),
        ("succeeded", false)
    );
    let counts = testbed.ledger().counts(&Filter::business("keyed"));
    assert_eq!(
        (counts.effects_of("keyed"), counts.deliveries_of("keyed")),
        (1, 3)
    );
}

/// B49: the destination refused, and a proxy shows a 502 instead. That proves nothing; the lookup does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_masked_refusal_is_unknown_until_it_is_looked_up() {
    let (testbed, factum) = behind(Does::Masks).await;
    let id = submit(&factum, "lookup.sync", "refused", Some("reject")).await;
    let status = factum.wait_status(id, PATIENCE).await.unwrap();
    let evidence = factum.evidence(id).await.unwrap();
    assert_eq!(
        (status.state, status.happened),
        ("terminal_failure", "no"),
        "{evidence:?}"
    );
    let answer = evidence.iter().find(|one| one.fact == "answered").unwrap();
    assert_eq!(answer.detail["class"], "unknown", "{evidence:?}");
    assert!(
        evidence.iter().any(|one| one.fact == "looked_up"),
        "{evidence:?}"
    );
    assert_eq!(
        testbed
            .ledger()
            .counts(&Filter::business("refused"))
            .effects_of("refused"),
        0
    );
    // What did happen behind the same mask is found.
    let (testbed, factum) = behind(Does::Masks).await;
    let id = submit(&factum, "lookup.sync", "done", None).await;
    let status = factum.wait_status(id, PATIENCE).await.unwrap();
    assert_eq!((status.state, status.attempts), ("succeeded", 1));
    assert_eq!(
        testbed
            .ledger()
            .counts(&Filter::business("done"))
            .effects_of("done"),
        1
    );
}
