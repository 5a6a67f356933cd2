//! TLS to the database: a server of this test's own, with certificates that are made here.

use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use factum_core::WorkerNonce;
use factum_store::postgres::{Options, PostgresStore};
use factum_store::{Admitted, Claimed, Store, StoreError, StoreErrorKind};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use tempfile::TempDir;

use super::{KEYS, connect};
use crate::fixtures::{MINUTE, admission};

/// The one name that stands in the server's certificate.
const HOST: &str = "db.factum.test";

/// A PostgreSQL that takes workers by TLS alone, and only with a certificate of theirs.
struct Server {
    folder: TempDir,
    port: String,
    /// The authority that the server and the workers trust.
    ca: CertifiedIssuer<'static, KeyPair>,
}

fn authority(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, name);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// A certificate for this name, and its key.
fn issued(ca: &CertifiedIssuer<'static, KeyPair>, name: &str) -> (String, String) {
    let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, ca).unwrap();
    (certificate.pem(), key.serialize_pem())
}

impl Server {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        script(folder.path(), "start.sh");
        let env = std::fs::read_to_string(folder.path().join("env")).unwrap();
        let said = |name: &str| {
            let line = env.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap().trim_start_matches('=').to_owned()
        };
        let (port, data) = (said("PORT"), PathBuf::from(said("DATA")));
        let server = Self {
            folder,
            port,
            ca: authority("the authority"),
        };
        let plain = connect(&server.plain("postgres")).await;
        plain.batch_execute("CREATE DATABASE served").await.unwrap();
        let (certificate, key) = issued(&server.ca, HOST);
        as_the_servers(&data, "server.pem", &certificate);
        as_the_servers(&data, "server.key", &key);
        as_the_servers(&data, "ca.pem", &server.ca.pem());
        let hba = "hostssl served factum 127.0.0.1/32 trust clientcert=verify-ca\n\
            host postgres factum 127.0.0.1/32 trust\n";
        as_the_servers(&data, "pg_hba.conf", hba);
        for set in [
            "ssl_cert_file = 'server.pem'",
            "ssl_key_file = 'server.key'",
            "ssl_ca_file = 'ca.pem'",
            "ssl = on",
        ] {
            plain
                .batch_execute(&format!("ALTER SYSTEM SET {set}"))
                .await
                .unwrap();
        }
        plain
            .batch_execute("SELECT pg_reload_conf()")
            .await
            .unwrap();
        server.speaks_tls().await;
        server
    }

    /// The configuration is read anew in its own time.
    async fn speaks_tls(&self) {
        for _ in 0..600 {
            let plain = connect(&self.plain("postgres")).await;
            let row = plain.query_one("SHOW ssl", &[]).await.unwrap();
            if row.get::<_, &str>(0) == "on" {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        panic!("it never speaks TLS");
    }

    fn plain(&self, database: &str) -> String {
        format!("postgresql://factum@127.0.0.1:{}/{database}", self.port)
    }

    /// A file of the worker's.
    fn file(&self, name: &str, text: &str) -> String {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// Opens the store at this host, with these further words about TLS.
    async fn open(&self, host: &str, tls: &str) -> Result<PostgresStore, StoreError> {
        let port = &self.port;
        let url = format!("postgresql://factum@{host}:{port}/served?hostaddr=127.0.0.1{tls}");
        let options = Options {
            connections: 3,
            ..Options::new(url, KEYS)
        };
        PostgresStore::open(options).await
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        script(self.folder.path(), "stop.sh");
    }
}

fn script(folder: &Path, name: &str) {
    let labs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../labs/postgres");
    let mut command = Command::new("bash");
    command.arg(format!("{labs}/{name}")).env("LAB_DIR", folder);
    let ran = command.output().unwrap();
    let told = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{name}: {told}");
}

/// A file that belongs to whom the server runs as, and that nobody else can read.
fn as_the_servers(data: &Path, name: &str, text: &str) {
    let (path, owner) = (data.join(name), std::fs::metadata(data).unwrap());
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = options.open(&path).unwrap();
    std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
    std::os::unix::fs::chown(&path, Some(owner.uid()), Some(owner.gid())).unwrap();
}

fn refused(opened: Result<PostgresStore, StoreError>) -> StoreError {
    match opened {
        Ok(_) => panic!("it is let in"),
        Err(error) => error,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL's programs; ./test installs them"]
async fn a_store_is_reached_by_tls_and_by_nothing_less() {
    let server = Server::start().await;
    let (certificate, key) = issued(&server.ca, "factum");
    let own = format!(
        "&sslcert={}&sslkey={}",
        server.file("own.pem", &certificate),
        server.file("own.key", &key)
    );
    let ca = format!(
        "&sslmode=verify-full&sslrootcert={}",
        server.file("ca.pem", &server.ca.pem())
    );
    let other = authority("another authority");
    let other = format!(
        "&sslmode=verify-full&sslrootcert={}",
        server.file("other.pem", &other.pem())
    );

    // Each of these alone keeps it out, and says what it is.
    for (host, tls, part) in [
        (HOST, String::new(), "pg_hba.conf"),
        (
            HOST,
            format!("{other}{own}"),
            "from no authority that is trusted here (sslrootcert)",
        ),
        (
            "127.0.0.1",
            format!("{ca}{own}"),
            "is not for the host 127.0.0.1",
        ),
        (
            "elsewhere.factum.test",
            format!("{ca}{own}"),
            "is not for the host elsewhere.factum.test",
        ),
        (HOST, ca.clone(), "certificate"),
    ] {
        let error = refused(server.open(host, &tls).await);
        assert!(
            matches!(error.kind, StoreErrorKind::Database(_)),
            "{error:?}"
        );
        assert!(error.to_string().contains(part), "{host} {tls}: {error}");
    }

    let store = server.open(HOST, &format!("{ca}{own}")).await.unwrap();
    let Admitted::Created(record, _) = store.admit(admission(1)).await.unwrap() else {
        panic!("it is new");
    };
    let claimed = store
        .claim(record.id(), WorkerNonce(1), MINUTE)
        .await
        .unwrap();
    assert!(matches!(claimed, Claimed::Held(..)));
    // Whoever listens for the outbox comes by TLS too.
    let heard = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&heard);
    let listening = store.outbox_listen(move || told.store(true, Ordering::Relaxed));
    let seen = async {
        while !heard.load(Ordering::Relaxed) {
            tokio::task::yield_now().await;
        }
        connections(&server).await
    };
    let (encrypted, plain) = tokio::select! {
        ended = listening => panic!("it is listened no more: {ended:?}"),
        seen = seen => seen,
    };
    assert!(
        encrypted >= 2,
        "{encrypted} of the store's connections are encrypted"
    );
    assert_eq!(plain, 0);
}

/// How many connections of the store are encrypted, with our certificate, and how many are anything else.
async fn connections(server: &Server) -> (i64, i64) {
    let sql = "SELECT count(*) FILTER (WHERE s.ssl AND s.client_dn = '/CN=factum'), \
        count(*) FILTER (WHERE NOT s.ssl OR s.client_dn IS DISTINCT FROM '/CN=factum') \
        FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid) WHERE a.datname = 'served' AND a.backend_type = 'client backend'";
    let plain = connect(&server.plain("postgres")).await;
    let row = plain.query_one(sql, &[]).await.unwrap();
    (row.get(0), row.get(1))
}
