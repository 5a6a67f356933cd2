//! Credentials: what a provider's contract takes, and tokens that end while an action is under way.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use factum::{ActionId, Config, Factum, setup};
use factum_faults::FaultPlan;
use factum_testbed::{Config as TestbedConfig, Filter, Handle, Testbed};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::support::{PATIENCE, config};

const CANARY: &str = "s3cr3t-c4n4ry";

/// Issues a new token at each request, for no time at all; the requests of these numbers, from 0, are refused.
struct Issuer {
    url: String,
    asked: Arc<AtomicUsize>,
}

impl Issuer {
    async fn start(refused: std::ops::Range<usize>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/token", listener.local_addr().unwrap());
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        tokio::spawn(async move {
            while let Ok((mut io, _)) = listener.accept().await {
                let mut seen = Vec::new();
                while !seen.ends_with(b"grant_type=client_credentials") {
                    if io.read_buf(&mut seen).await.unwrap_or(0) == 0 {
                        break;
                    }
                }
                let n = count.fetch_add(1, Ordering::SeqCst);
                let (status, body) = if refused.contains(&n) {
                    (
                        "401 Unauthorized",
                        format!("{{\"error\":\"invalid_client\",\"who\":\"{CANARY}\"}}"),
                    )
                } else {
                    (
                        "200 OK",
                        format!(
                            "{{\"access_token\":\"{CANARY}-{n}\",\"token_type\":\"bearer\",\"expires_in\":0}}"
                        ),
                    )
                };
                let length = body.len();
                let answer = format!(
                    "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
                );
                let _ = io.write_all(answer.as_bytes()).await;
            }
        });
        Self { url, asked }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

/// A destination whose tokens this issuer makes. Its account cannot be confirmed by asking: a changed credential would stay in
/// doubt, and nothing would be sent again by key.
async fn start(issuer: &Issuer, faults: &str) -> (Handle, Factum, PathBuf, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("client-secret");
    std::fs::write(&secret, CANARY).unwrap();
    let faults = FaultPlan::parse(7, faults).unwrap();
    let testbed = Testbed::start(TestbedConfig {
        faults,
        ..TestbedConfig::default()
    })
    .await
    .unwrap();
    let mut written = config(&testbed.base_url(), "");
    let bed = written.destinations.get_mut("bed").unwrap();
    bed.account = Some("somebody-else".to_owned());
    bed.auth = Some(auth(&format!(
        "oauth2 = {{ client_id = \"client-1\", client_secret = \"file:{}\", token_url = \"{}\" }}",
        secret.display(),
        issuer.url
    )));
    let factum = Factum::memory().config(written).start().await.unwrap();
    (testbed, factum, secret, folder)
}

fn auth(text: &str) -> factum::config::AuthConfig {
    toml::from_str(text).unwrap()
}

async fn submit(factum: &Factum) -> ActionId {
    let action = factum
        .action("bed", "key.sync")
        .key("k")
        .payload(json!({ "business": "k" }));
    action.submit().await.unwrap().status.id.parse().unwrap()
}

/// R13: the token ends between the attempt and the resend, and the client's secret is rotated too. The key and the pinned
/// identity are what they were, and there is one effect.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_ends_between_attempt_and_resend_changes_nothing() {
    let issuer = Issuer::start(0..0).await;
    let (testbed, factum, secret, _folder) = start(&issuer, "close_rst,class=effect,n=1").await;
    std::fs::write(&secret, format!("{CANARY}-rotated")).unwrap();
    let id = submit(&factum).await;
    let status = factum.wait_status(id, PATIENCE).await.unwrap();
    let evidence = factum.evidence(id).await.unwrap();
    assert_eq!(status.state, "succeeded", "{evidence:?}");
    let filter = Filter::business("k");
    let (counts, rows) = (
        testbed.ledger().counts(&filter),
        testbed.ledger().rows(&filter),
    );
    assert_eq!((counts.effects_of("k"), counts.deliveries_of("k")), (1, 2));
    let keys: std::collections::BTreeSet<_> =
        rows.iter().filter_map(|row| row.key.clone()).collect();
    assert_eq!(keys.len(), 1, "one key: {rows:?}");
    assert!(issuer.asked() >= 2, "each request had a token of its own");
    assert!(factum.engine().accounts_in_doubt().is_empty());
    assert!(
        !format!("{evidence:?} {status:?}").contains(CANARY),
        "{evidence:?}"
    );
}

/// A refused client is proof that nothing was sent: the action waits, and goes out once when the client is taken again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_client_leaves_the_action_unsent() {
    let issuer = Issuer::start(0..1).await;
    let (testbed, factum, _secret, _folder) = start(&issuer, "").await;
    let id = submit(&factum).await;
    let status = factum.wait_status(id, PATIENCE).await.unwrap();
    let evidence = factum.evidence(id).await.unwrap();
    assert_eq!(status.state, "succeeded", "{evidence:?}");
    let counts = testbed.ledger().counts(&Filter::business("k"));
    assert_eq!((counts.effects_of("k"), counts.deliveries_of("k")), (1, 1));
    let facts = format!("{evidence:?}");
    assert!(
        facts.contains("the token's address answered 401 (invalid_client)"),
        "{facts}"
    );
    assert!(!facts.contains(CANARY), "{facts}");
}

fn refused(provider: &str, auth: &str) -> (String, String) {
    let text = format!(
        "[destinations.d]\nprovider = \"{provider}\"\nbase = \"https://a.example\"\n{auth}\n"
    );
    let config = Config::parse("factum.toml", &text).unwrap();
    let catalogue = setup::catalogue(&config).unwrap();
    match setup::destinations(&config, &catalogue) {
        Ok(_) => panic!("{provider} takes {auth}"),
        Err(problem) => (problem.member.to_string(), problem.to_string()),
    }
}

/// Provider, what is written, the member below `auth` that is named, and what is said.
const REFUSED: [(&str, &str, &str, &str); 15] = [
    (
        "stripe",
        "auth = { sigv4 = { access_key = \"env:A\", secret_key = \"env:B\" } }",
        "",
        "it takes: bearer, basic",
    ),
    (
        "redmine",
        "auth = { bearer = \"env:A\" }",
        "",
        "header = \"x-redmine-api-key\"",
    ),
    (
        "redmine",
        "auth = { header = \"x-key\", value = \"env:A\" }",
        "/header",
        "x-redmine-api-key",
    ),
    (
        "redmine",
        "auth = { query = \"env:A\" }",
        "",
        "it takes: header, basic",
    ),
    (
        "redmine",
        "auth = { oauth2 = { client_id = \"a\", client_secret = \"env:A\", token_url = \"https://a.example/t\" } }",
        "",
        "does not take oauth2_client_credentials",
    ),
    (
        "stripe",
        "auth = { oauth2 = { client_id = \"a\", client_secret = \"env:A\" } }",
        "",
        "does not take oauth2_client_credentials",
    ),
    (
        "stripe",
        "auth = { bearer = \"env:A\", basic = \"env:B\" }",
        "",
        "one form",
    ),
    ("stripe", "auth = { user = \"me\" }", "", "one form"),
    ("stripe", "auth = {}", "", "one form"),
    (
        "stripe",
        "auth = { bearer = \"sk_live_s3cr3t-c4n4ry\" }",
        "/bearer",
        "by reference",
    ),
    (
        "amazon_sqs",
        "auth = { bearer = \"env:A\" }",
        "",
        "it takes: sigv4",
    ),
    (
        "amazon_sqs",
        "auth = { sigv4 = { access_key = \"env:A\", secret_key = \"env:B\" } }",
        "/sigv4/region",
        "does not say for which region",
    ),
    (
        "amazon_sqs",
        "auth = { sigv4 = { access_key = \"env:A\", secret_key = \"s3cr3t-c4n4ry\", region = \"eu-west-1\" } }",
        "/sigv4/secret_key",
        "by reference",
    ),
    (
        "worldline",
        "auth = { hmac = { secret = \"env:A\" } }",
        "",
        "add key_id",
    ),
    (
        "stripe",
        "auth = { oauth2 = { client_id = \"a\", client_secret = \"env:A\", token_url = \"http://a.example/t\" } }",
        "/oauth2/token_url",
        "plain http",
    ),
];

#[test]
fn a_kind_that_the_contract_does_not_take_is_refused_with_those_that_it_takes() {
    for (provider, auth, member, says) in REFUSED {
        let (at, text) = refused(provider, auth);
        assert_eq!(at, format!("/destinations/d/auth{member}"), "{auth}");
        assert!(text.contains(says) && !text.contains(CANARY), "{text}");
    }
    for ca in ["a.pem", "file:/does/not/exist.pem"] {
        let (at, _) = refused("stripe", &format!("ca = \"{ca}\""));
        assert_eq!(at, "/destinations/d/ca");
    }
}

#[test]
fn what_the_contract_takes_is_taken() {
    let rows = [
        ("stripe", "auth = { bearer = \"env:A\" }"),
        ("stripe", "auth = { user = \"me\", password = \"env:A\" }"),
        (
            "stripe",
            "auth = { oauth2 = { client_id = \"a\", client_secret = \"env:A\", token_url = \"https://a.example/t\" } }",
        ),
        (
            "redmine",
            "auth = { header = \"X-Redmine-API-Key\", value = \"env:A\" }",
        ),
        (
            "amazon_sqs",
            "auth = { sigv4 = { access_key = \"env:A\", secret_key = \"env:B\", session_token = \"file:t\", region = \"eu-west-1\" } }",
        ),
        (
            "worldline",
            "auth = { hmac = { secret = \"env:A\", key_id = \"k\" } }",
        ),
        (
            "paypal",
            "auth = { oauth2 = { client_id = \"env:ID\", client_secret = \"env:A\" } }",
        ),
    ];
    for (provider, auth) in rows {
        let text = format!(
            "[destinations.d]\nprovider = \"{provider}\"\nbase = \"https://a.example\"\n{auth}\n"
        );
        let config = Config::parse("factum.toml", &text).unwrap();
        let catalogue = setup::catalogue(&config).unwrap();
        setup::destinations(&config, &catalogue).unwrap_or_else(|problem| panic!("{problem}"));
        assert!(setup::without_auth(&config, &catalogue).is_empty());
    }
    let bare = Config::parse(
        "f",
        "[destinations.d]\nprovider = \"stripe\"\nbase = \"https://a.example\"\n",
    )
    .unwrap();
    let catalogue = setup::catalogue(&bare).unwrap();
    assert!(
        setup::destinations(&bare, &catalogue).is_ok(),
        "a proxy may add it"
    );
    let wanted = ("d".to_owned(), "bearer, basic".to_owned());
    assert_eq!(setup::without_auth(&bare, &catalogue), [wanted]);
}
