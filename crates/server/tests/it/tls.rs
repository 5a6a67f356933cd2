//! The door for other machines: what is encrypted, which machines may show a certificate, and certificates that change meanwhile.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use factum::config::TlsConfig;
use factum::{Config, Factum};
use factum_server::{App, Doors, Limits, Tls};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::client::{Answer, exchange, request};
use crate::world::TOKEN;

/// An authority.
struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate with its key.
struct Shown {
    certificate: rcgen::Certificate,
    key: KeyPair,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        Self(CertifiedIssuer::self_signed(params, key).unwrap())
    }

    fn issues(&self, name: &str) -> Shown {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        Shown { certificate, key }
    }

    fn pem(&self) -> String {
        self.0.pem()
    }
}

/// Two authorities, and the server's files.
struct Pki {
    servers: Authority,
    machines: Authority,
    folder: tempfile::TempDir,
}

impl Pki {
    fn new() -> Self {
        let pki = Self {
            servers: Authority::new(),
            machines: Authority::new(),
            folder: tempfile::tempdir().unwrap(),
        };
        pki.renew();
        std::fs::write(pki.path("machines.pem"), pki.machines.pem()).unwrap();
        pki
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    /// Puts a new certificate in the server's place, as DER for comparison.
    fn renew(&self) -> CertificateDer<'static> {
        let new = self.servers.issues("localhost");
        put(&self.path("key.pem"), &new.key.serialize_pem());
        put(&self.path("server.pem"), &new.certificate.pem());
        new.certificate.der().clone()
    }

    fn files(&self) -> TlsConfig {
        TlsConfig {
            listen: "127.0.0.1:0".to_owned(),
            certificate: self.path("server.pem"),
            key: self.path("key.pem"),
            client_ca: None,
            require_certificate: false,
            machines: [].into(),
        }
    }

    fn client(&self, shows: Option<&Shown>) -> TlsConnector {
        let mut roots = RootCertStore::empty();
        roots.add(self.servers.0.der().clone()).unwrap();
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        let config = match shows {
            None => builder.with_no_client_auth(),
            Some(Shown { certificate, key }) => {
                let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
                builder
                    .with_client_auth_cert(vec![certificate.der().clone()], key)
                    .unwrap()
            }
        };
        TlsConnector::from(Arc::new(config))
    }
}

/// Replaces a file as programs that renew certificates do: whole, under its name.
fn put(path: &Path, text: &str) {
    let beside = path.with_extension("new");
    std::fs::write(&beside, text).unwrap();
    std::fs::rename(beside, path).unwrap();
}

/// A server with both doors.
struct Server {
    plain: SocketAddr,
    encrypted: SocketAddr,
    tls: Tls,
    _stop: oneshot::Sender<()>,
}

async fn engine() -> Factum {
    let builder = Factum::memory().config(Config::default());
    builder.start().await.unwrap()
}

async fn server(factum: Factum, files: TlsConfig) -> Server {
    let limits = Limits {
        head_wait: Duration::from_millis(500),
        ..Limits::of(&factum)
    };
    let app = App::with_limits(factum, [TOKEN.to_owned()], limits);
    let tls = Tls::open(files).unwrap();
    let plain = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let encrypted = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = (plain.local_addr().unwrap(), encrypted.local_addr().unwrap());
    let doors = Doors::from(plain).with_tls(encrypted, tls.clone());
    let (stop, stopped) = oneshot::channel::<()>();
    tokio::spawn(factum_server::serve(doors, app, async move {
        let _ = stopped.await;
    }));
    Server {
        plain: at.0,
        encrypted: at.1,
        tls,
        _stop: stop,
    }
}

/// What the server shows, and its answer; none where it lets nobody in.
async fn asked(
    server: &Server,
    client: &TlsConnector,
    bytes: &[u8],
) -> Option<(CertificateDer<'static>, Answer)> {
    let tcp = TcpStream::connect(server.encrypted).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let mut stream = client.connect(name, tcp).await.ok()?;
    let shown = stream.get_ref().1.peer_certificates()?[0]
        .clone()
        .into_owned();
    stream.write_all(bytes).await.ok()?;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    // With TLS 1.3 a server refuses a certificate after the client thinks that it is in.
    (!answer.is_empty()).then(|| (shown, Answer::parse(&answer)))
}

fn list(token: Option<&str>) -> Vec<u8> {
    let bearer = token.map(|token| format!("Bearer {token}"));
    let headers: Vec<(&str, &str)> = bearer.iter().map(|b| ("Authorization", &**b)).collect();
    request("GET", "/v1/actions", &headers, b"")
}

async fn status(server: &Server, client: &TlsConnector, token: Option<&str>) -> Option<u16> {
    let answered = asked(server, client, &list(token)).await;
    answered.map(|(_, answer)| answer.status)
}

#[tokio::test]
async fn other_machines_come_in_by_tls_and_nothing_else() {
    let pki = Pki::new();
    let server = server(engine().await, pki.files()).await;
    let client = pki.client(None);
    let (_, answer) = asked(&server, &client, &list(Some(TOKEN))).await.unwrap();
    assert_eq!(answer.status, 200);
    let promised = answer.header("strict-transport-security");
    assert_eq!(promised, Some("max-age=31536000"));
    assert_eq!(status(&server, &client, None).await, Some(401));
    // Whoever does not trust the authority is sent to nobody, and whoever speaks plainly is not answered.
    let stranger = Pki::new().client(None);
    assert_eq!(status(&server, &stranger, Some(TOKEN)).await, None);
    let mut plainly = TcpStream::connect(server.encrypted).await.unwrap();
    plainly.write_all(&list(Some(TOKEN))).await.unwrap();
    let mut came = Vec::new();
    let _ = plainly.read_to_end(&mut came).await;
    assert!(!came.starts_with(b"HTTP"), "{}", came.escape_ascii());
    // A handshake that never begins ends.
    let mut silent = TcpStream::connect(server.encrypted).await.unwrap();
    assert_eq!(silent.read_to_end(&mut came).await.unwrap_or(0), 0);
    // This machine's own door is as it was.
    let own = exchange(server.plain, &list(Some(TOKEN))).await;
    assert_eq!(
        (own.status, own.header("strict-transport-security")),
        (200, None)
    );
}

/// A token for a machine, by its name.
async fn token(server: &Server, principal: &str, scopes: &[&str]) -> String {
    let bearer = format!("Bearer {TOKEN}");
    let mut made = None;
    let principals = ("/v1/principals", json!({"name": principal}));
    let tokens = (
        "/v1/tokens",
        json!({"principal": principal, "scopes": scopes}),
    );
    for (target, body) in [principals, tokens] {
        let headers: &[(&str, &str)] = &[("Authorization", &bearer)];
        let bytes = request("POST", target, headers, body.to_string().as_bytes());
        let answer = exchange(server.plain, &bytes).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        made = Some(answer.json());
    }
    made.unwrap()["name"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_machine_is_known_by_its_certificate_and_ends_with_its_token() {
    let pki = Pki::new();
    let factum = engine().await;
    let first = server(factum.clone(), pki.files()).await;
    let name = token(&first, "service:billing", &["read"]).await;
    let mut files = pki.files();
    files.client_ca = Some(pki.path("machines.pem"));
    files.machines = [("billing.internal".to_owned(), name.clone())].into();
    let server = server(factum, files).await;
    let billing = pki.client(Some(&pki.machines.issues("billing.internal")));
    assert_eq!(status(&server, &billing, None).await, Some(200));
    assert_eq!(
        status(&server, &billing, Some("fct_wrong")).await,
        Some(401),
        "a token that is shown has to be right"
    );
    let add = request("POST", "/v1/tenants", &[], b"{\"name\":\"acme\"}");
    let (_, answer) = asked(&server, &billing, &add).await.unwrap();
    assert_eq!(answer.status, 403, "it may do what the token may");
    let other = pki.client(Some(&pki.machines.issues("mail.internal")));
    assert_eq!(
        status(&server, &other, None).await,
        Some(401),
        "nobody's name"
    );
    assert_eq!(status(&server, &other, Some(TOKEN)).await, Some(200));
    let forged = pki.client(Some(&Authority::new().issues("billing.internal")));
    assert_eq!(
        status(&server, &forged, None).await,
        None,
        "another authority's"
    );
    let bare = pki.client(None);
    assert_eq!(status(&server, &bare, Some(TOKEN)).await, Some(200));
    assert_eq!(status(&server, &bare, None).await, Some(401));
    let bearer = format!("Bearer {TOKEN}");
    let headers: &[(&str, &str)] = &[("Authorization", &bearer)];
    let revoke = json!({"standing": "revoked", "why": "the machine is gone"}).to_string();
    let target = format!("/v1/tokens/{name}/state");
    let revoked = exchange(
        first.plain,
        &request("POST", &target, headers, revoke.as_bytes()),
    )
    .await;
    assert_eq!(revoked.status, 200, "{}", revoked.text);
    assert_eq!(status(&server, &billing, None).await, Some(401));
}

#[tokio::test]
async fn where_certificates_are_required_a_token_is_not_enough() {
    let pki = Pki::new();
    let mut files = pki.files();
    files.client_ca = Some(pki.path("machines.pem"));
    files.require_certificate = true;
    let server = server(engine().await, files).await;
    let bare = pki.client(None);
    assert_eq!(status(&server, &bare, Some(TOKEN)).await, None);
    let known = pki.client(Some(&pki.machines.issues("any.internal")));
    assert_eq!(status(&server, &known, Some(TOKEN)).await, Some(200));
    assert_eq!(status(&server, &known, Some("fct_wrong")).await, Some(401));
}

#[tokio::test]
async fn a_certificate_is_replaced_while_the_server_runs() {
    let pki = Pki::new();
    let server = server(engine().await, pki.files()).await;
    let client = pki.client(None);
    let shown = async || asked(&server, &client, &list(Some(TOKEN))).await.unwrap().0;
    let second = pki.renew();
    server.tls.reload().unwrap();
    assert_eq!(shown().await, second);
    // What cannot be used changes nothing, and is named.
    put(&pki.path("key.pem"), "no key");
    let problem = server.tls.reload().unwrap_err();
    assert_eq!(&*problem.member, "/server/tls/key");
    assert_eq!(shown().await, second);
    put(
        &pki.path("key.pem"),
        &pki.servers.issues("localhost").key.serialize_pem(),
    );
    let problem = server.tls.reload().unwrap_err();
    assert_eq!(&*problem.member, "/server/tls/certificate");
    assert!(problem.rule.contains("key"), "{problem}");
    assert_eq!(shown().await, second);
    // Nobody has to say that a file was replaced.
    let third = pki.renew();
    while shown().await != third {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[test]
fn what_cannot_be_used_is_named() {
    let pki = Pki::new();
    let refused = |change: &dyn Fn(&mut TlsConfig)| {
        let mut files = pki.files();
        change(&mut files);
        Tls::open(files).unwrap_err().member.to_string()
    };
    assert_eq!(
        refused(&|f| f.certificate = pki.path("none")),
        "/server/tls/certificate"
    );
    assert_eq!(
        refused(&|f| f.certificate = pki.path("key.pem")),
        "/server/tls/certificate"
    );
    assert_eq!(
        refused(&|f| f.key = pki.path("server.pem")),
        "/server/tls/key"
    );
    assert_eq!(
        refused(&|f| f.require_certificate = true),
        "/server/tls/client_ca"
    );
    assert_eq!(
        refused(&|f| f.client_ca = Some(pki.path("key.pem"))),
        "/server/tls/client_ca"
    );
    let named = |name: &str| {
        refused(&|files: &mut TlsConfig| {
            files.client_ca = Some(pki.path("machines.pem"));
            files.machines = [(name.to_owned(), "t".to_owned())].into();
        })
    };
    assert_eq!(named("10.0.0.1"), "/server/tls/machines/10.0.0.1");
    assert_eq!(named("not a name"), "/server/tls/machines/not a name");
}
