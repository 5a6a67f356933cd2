//! TLS as operators have it: certificates that are replaced under a running process, machines that show theirs, and the command line
//! over https.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustix::process::Signal;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::support::{Bed, Folder, PATIENCE, Ran, Server, business, ended};

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

    /// Puts a certificate of its own in the server's place.
    fn serves(&self, folder: &Folder) -> CertificateDer<'static> {
        let new = self.issues("localhost");
        put(&folder.path("key.pem"), &new.key.serialize_pem());
        put(&folder.path("server.pem"), &new.certificate.pem());
        new.certificate.der().clone()
    }

    /// Writes its own certificate for others to trust.
    fn told(&self, folder: &Folder, name: &str) -> PathBuf {
        put(&folder.path(name), &self.0.pem());
        folder.path(name)
    }
}

/// Replaces a file so that nobody sees it who only looks at its time and length.
fn put(path: &Path, text: &str) {
    let beside = path.with_extension("new");
    std::fs::write(&beside, format!("{text:\n<4096}")).unwrap();
    let file = std::fs::File::options().append(true).open(&beside).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000))
        .unwrap();
    std::fs::rename(beside, path).unwrap();
}

const TLS: &str =
    "[server.tls]\nlisten = \"127.0.0.1:0\"\ncertificate = \"server.pem\"\nkey = \"key.pem\"\n";
const MACHINES: &str = "client_ca = \"machines.pem\"\nrequire_certificate = true\n";

/// A connection that stays open.
struct Connection {
    stream: BufReader<StreamOwned<ClientConnection, TcpStream>>,
    token: String,
}

impl Connection {
    /// Shakes hands; none where the server lets nobody in.
    fn open(server: &Server, trusts: &Authority, shows: Option<&Shown>) -> Option<Self> {
        let mut roots = RootCertStore::empty();
        roots.add(trusts.0.der().clone()).unwrap();
        let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        let config = match shows {
            None => builder.with_no_client_auth(),
            Some(Shown { certificate, key }) => {
                let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
                let chain = vec![certificate.der().clone()];
                builder.with_client_auth_cert(chain, key).unwrap()
            }
        };
        let name = ServerName::try_from("localhost").unwrap();
        let tls = ClientConnection::new(Arc::new(config), name).unwrap();
        let address = server.tls_address.as_deref().unwrap();
        let tcp = TcpStream::connect(address.trim_start_matches("https://")).unwrap();
        tcp.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut open = Self {
            stream: BufReader::new(StreamOwned::new(tls, tcp)),
            token: server.token(),
        };
        // With TLS 1.3 a server refuses a certificate after the client thinks that it is in.
        open.ask().filter(|status| *status == 200).map(|_| open)
    }

    /// One question; its status, or none where the connection is at its end.
    fn ask(&mut self) -> Option<u16> {
        let request = format!(
            "GET /v1/actions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\r\n",
            self.token
        );
        self.stream.get_mut().write_all(request.as_bytes()).ok()?;
        let (mut status, mut length) = (None, 0);
        loop {
            let mut line = String::new();
            if self.stream.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let line = line.trim().to_ascii_lowercase();
            if let Some(rest) = line.strip_prefix("http/1.1 ") {
                status = rest.split(' ').next()?.parse().ok();
            }
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.parse().ok()?;
            }
            if line.is_empty() {
                break;
            }
        }
        self.stream.read_exact(&mut vec![0; length]).ok()?;
        status
    }

    /// What the server showed.
    fn shown(&self) -> CertificateDer<'static> {
        let certificates = self.stream.get_ref().conn.peer_certificates();
        certificates.unwrap()[0].clone().into_owned()
    }
}

#[test]
fn sighup_changes_certificate_and_machines_and_open_connections_go_on() {
    let (servers, machines) = (Authority::new(), Authority::new());
    let folder = Folder::new();
    folder.write("factum.toml", &format!("{TLS}{MACHINES}"));
    let first = servers.serves(&folder);
    machines.told(&folder, "machines.pem");
    let server = folder.serve();
    let billing = machines.issues("billing.internal");
    let open = |shows: Option<&Shown>| Connection::open(&server, &servers, shows);
    let mut long = open(Some(&billing)).expect("its certificate is right");
    assert_eq!(long.shown(), first);
    let successors = Authority::new();
    let renewed = successors.issues("billing.internal");
    assert!(open(Some(&renewed)).is_none(), "another authority's");
    assert!(open(None).is_none(), "a token alone is not enough");

    // Both are replaced, and nothing but the signal tells.
    let second = servers.serves(&folder);
    successors.told(&folder, "machines.pem");
    assert_eq!(
        open(Some(&billing)).map(|open| open.shown()),
        Some(first.clone())
    );
    server.child.signal(Signal::HUP);
    let deadline = Instant::now() + PATIENCE;
    let new = loop {
        assert!(
            Instant::now() < deadline,
            "the new authority does not count"
        );
        if let Some(new) = open(Some(&renewed)) {
            break new;
        }
    };
    assert_eq!(new.shown(), second);
    assert!(open(Some(&billing)).is_none(), "the former authority's");
    assert_eq!(long.ask(), Some(200), "an open connection goes on");

    // What cannot be used changes nothing, and the next signal finds the files whole again.
    put(&folder.path("key.pem"), "no key");
    server.child.signal(Signal::HUP);
    assert_eq!(open(Some(&renewed)).map(|open| open.shown()), Some(second));
    let third = servers.serves(&folder);
    let shown = || open(Some(&renewed)).map(|open| open.shown());
    while shown().as_ref() != Some(&third) {
        assert!(Instant::now() < deadline, "the third does not count");
        server.child.signal(Signal::HUP);
    }
    assert_eq!(long.ask(), Some(200));
    server.stop();
}

#[test]
fn sighup_ends_no_server_that_has_no_certificate() {
    let folder = Folder::new();
    let server = folder.serve();
    server.child.signal(Signal::HUP);
    let ready = server.ask("GET", "/readyz", &serde_json::Value::Null);
    assert_eq!(ready.unwrap().status, 200);
    server.stop();
}

/// Runs a command elsewhere, with only the server's address and a token.
fn remote(server: &Server, url: &str, more: &[(&str, &Path)], words: &[&str]) -> Ran {
    let elsewhere = Folder::new();
    let mut command = elsewhere.command(&[words, &["--json"]].concat());
    command
        .env("FACTUM_URL", url)
        .env("FACTUM_TOKEN", server.token());
    command.envs(more.iter().copied());
    ended(command)
}

/// The remedy of a command that could not ask.
fn remedy(ran: &Ran) -> String {
    assert_eq!(ran.code, 5, "nobody could be asked: {ran:?}");
    let problem: serde_json::Value = serde_json::from_str(&ran.err).unwrap();
    problem["remedy"].as_str().unwrap().to_owned()
}

#[test]
fn the_command_line_speaks_tls_with_an_authority_that_is_named() {
    let servers = Authority::new();
    let bed = Bed::start();
    let folder = Folder::with(&bed);
    folder.write(
        "factum.toml",
        &format!("{TLS}{}", folder.read("factum.toml")),
    );
    servers.serves(&folder);
    let ca = servers.told(&folder, "servers.pem");
    let server = folder.serve();
    let url = server
        .tls_address
        .clone()
        .unwrap()
        .replace("127.0.0.1", "localhost");
    let payload = business("b").to_string();
    let named = ca.to_str().unwrap();
    let submit = [
        "submit",
        "bed",
        "key.sync",
        "--key",
        "k",
        "--payload",
        &payload,
        "--wait",
        "60s",
    ];
    let done = remote(
        &server,
        &url,
        &[],
        &[&submit[..], &["--ca", named]].concat(),
    );
    assert_eq!(
        (done.code, &done.json()["state"]),
        (0, &"succeeded".into()),
        "{done:?}"
    );
    let listed = remote(&server, &url, &[("FACTUM_CA", &ca)], &["list"]);
    assert_eq!(listed.code, 0, "{listed:?}");

    // A receipt is checked with keys that come the same way.
    let id = done.json()["id"].as_str().unwrap().to_owned();
    let receipt = folder.path("receipt.json");
    let receipt = receipt.to_str().unwrap();
    folder.json(&["receipt", "export", &id, "--output", receipt]);
    let words = ["receipt", "verify", receipt, "--keys", &url];
    let verified = remote(&server, "", &[("FACTUM_CA", &ca)], &words);
    assert_eq!(
        (verified.code, &verified.json()["authentic"]),
        (0, &true.into()),
        "{verified:?}"
    );
    assert_eq!(bed.effects("b"), 1);
}

#[test]
fn what_is_wrong_with_a_connection_has_its_remedy() {
    let (servers, others) = (Authority::new(), Authority::new());
    let folder = Folder::new();
    folder.write("factum.toml", TLS);
    servers.serves(&folder);
    let (ca, other) = (
        servers.told(&folder, "servers.pem"),
        others.told(&folder, "others.pem"),
    );
    let server = folder.serve();
    let by_number = server.tls_address.clone().unwrap();
    let by_name = by_number.replace("127.0.0.1", "localhost");
    let ask = |url: &str, ca: &Path| remote(&server, url, &[("FACTUM_CA", ca)], &["list"]);
    assert_eq!(ask(&by_name, &ca).code, 0);
    for (url, ca, expected) in [
        (&by_name, &other, "--ca FILE"),
        (
            &by_number,
            &ca,
            "the name that stands in the server's certificate",
        ),
        (&by_name.replace("https", "http"), &ca, "write https://"),
        (
            &server.address.replace("http", "https"),
            &ca,
            "write http://",
        ),
    ] {
        let told = remedy(&ask(url, ca));
        assert!(told.contains(expected), "{url}: {told}");
    }
    for (file, expected) in [
        ("none.pem", "cannot read"),
        ("key.pem", "holds no certificate"),
    ] {
        let ran = ask(&by_name, &folder.path(file));
        assert!(ran.code == 2 && ran.err.contains(expected), "{ran:?}");
        assert!(ran.err.contains("--ca, FACTUM_CA"), "{ran:?}");
    }
    let ran = remote(&server, "ftp://localhost", &[], &["list"]);
    assert!(
        ran.code == 2 && ran.err.contains("https://HOST:PORT"),
        "{ran:?}"
    );
}

#[test]
fn a_server_that_wants_a_machine_s_certificate_says_so_to_the_command_line() {
    let servers = Authority::new();
    let folder = Folder::new();
    folder.write("factum.toml", &format!("{TLS}{MACHINES}"));
    servers.serves(&folder);
    Authority::new().told(&folder, "machines.pem");
    let ca = servers.told(&folder, "servers.pem");
    let server = folder.serve();
    let url = server
        .tls_address
        .clone()
        .unwrap()
        .replace("127.0.0.1", "localhost");
    // With TLS 1.3 the refusal comes behind the handshake, and is lost where the connection is reset before it is read.
    let deadline = Instant::now() + PATIENCE;
    loop {
        let told = remedy(&remote(&server, &url, &[("FACTUM_CA", &ca)], &["list"]));
        if told.contains("machine's certificate") {
            return;
        }
        assert!(Instant::now() < deadline, "{told}");
    }
}
