//! TLS for other machines: the server's certificate, the machines that may show one of their own, and both read anew while it runs.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use factum::config::TlsConfig;
use factum::{Code, Problem};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::server::danger::ClientCertVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};
use webpki::EndEntityCert;

/// How often it is looked whether a file was replaced.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// What connections are encrypted with. Cheap to clone; what is read anew counts for all clones.
#[derive(Clone)]
pub struct Tls {
    inner: Arc<Inner>,
}

struct Inner {
    files: TlsConfig,
    current: RwLock<Current>,
    /// The name in a certificate, and the token that it counts as.
    machines: Vec<(ServerName<'static>, Arc<str>)>,
}

struct Current {
    config: Arc<ServerConfig>,
    stamps: Stamps,
}

/// When each file was last changed, and how long it is; none where there is no file.
type Stamps = Vec<Option<(SystemTime, u64)>>;

impl Tls {
    /// Reads the files.
    ///
    /// # Errors
    /// F1040 names the member whose file cannot be read or used, or the machine whose name is no DNS name.
    pub fn open(files: TlsConfig) -> Result<Self, Problem> {
        let machines = machines(&files)?;
        let current = RwLock::new(Current::read(&files)?);
        Ok(Self {
            inner: Arc::new(Inner {
                files,
                current,
                machines,
            }),
        })
    }

    /// Reads the files anew. Connections that there are keep what they have; where the files cannot be used, all others do too.
    ///
    /// # Errors
    /// F1040 names the member.
    pub fn reload(&self) -> Result<(), Problem> {
        let read = Current::read(&self.inner.files)?;
        *self
            .inner
            .current
            .write()
            .unwrap_or_else(PoisonError::into_inner) = read;
        Ok(())
    }

    /// Reads the files anew whenever one of them was replaced. Never ends.
    pub(crate) async fn watch(&self) {
        let mut tried = self.stamps();
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let now = stamps(&self.inner.files);
            if now == tried {
                continue;
            }
            self.reload_and_say();
            tried = now;
        }
    }

    /// Reads the files anew, and says in the log how that went.
    pub fn reload_and_say(&self) {
        match self.reload() {
            Ok(()) => tracing::info!("the certificate was read anew"),
            Err(problem) => {
                tracing::error!(%problem, "the certificate was not read anew; the former one still counts");
            }
        }
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.current(|current| current.config.clone()))
    }

    /// The token that a certificate counts as, whose chain was checked.
    pub(crate) fn machine(&self, certificate: &CertificateDer<'_>) -> Option<Arc<str>> {
        let certificate = EndEntityCert::try_from(certificate).ok()?;
        let mut machines = self.inner.machines.iter();
        let (_, token) = machines.find(|(name, _)| {
            let is_named = certificate.verify_is_valid_for_subject_name(name);
            is_named.is_ok()
        })?;
        Some(token.clone())
    }

    fn stamps(&self) -> Stamps {
        self.current(|current| current.stamps.clone())
    }

    fn current<T>(&self, get: impl FnOnce(&Current) -> T) -> T {
        get(&self
            .inner
            .current
            .read()
            .unwrap_or_else(PoisonError::into_inner))
    }
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls")
            .field("files", &self.inner.files)
            .finish_non_exhaustive()
    }
}

impl Current {
    fn read(files: &TlsConfig) -> Result<Self, Problem> {
        // Before the files: what is replaced meanwhile is then read once more.
        let stamps = stamps(files);
        let chain = certificates("certificate", &files.certificate)?;
        let pem = file("key", &files.key)?;
        let key = PrivateKeyDer::from_pem_slice(&pem).map_err(|_| {
            let rule = format!(
                "there is no key in {} that can be read",
                files.key.display()
            );
            bad("key", rule, "name a PEM file with the certificate's key")
        })?;
        let provider = Arc::new(aws_lc_rs::default_provider());
        let unfit = |error: tokio_rustls::rustls::Error| {
            let rule = format!("certificate and key cannot be used: {error}");
            bad("certificate", rule, "name a certificate and its own key")
        };
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(unfit)?
            .with_client_cert_verifier(verifier(files)?)
            .with_single_cert(chain, key)
            .map_err(unfit)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self {
            config: Arc::new(config),
            stamps,
        })
    }
}

/// Who checks what machines show.
fn verifier(files: &TlsConfig) -> Result<Arc<dyn ClientCertVerifier>, Problem> {
    let Some(path) = &files.client_ca else {
        if files.require_certificate || !files.machines.is_empty() {
            let rule = "certificates of machines are wanted, and no authority of theirs is named";
            let remedy = "name a PEM file with it in client_ca";
            return Err(bad("client_ca", rule.to_owned(), remedy));
        }
        return Ok(WebPkiClientVerifier::no_client_auth());
    };
    let mut authorities = RootCertStore::empty();
    for certificate in certificates("client_ca", path)? {
        authorities.add(certificate).map_err(|error| {
            let rule = format!(
                "a certificate in {} is no authority's: {error}",
                path.display()
            );
            bad("client_ca", rule, "name a PEM file with the authority")
        })?;
    }
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(authorities), provider);
    let builder = if files.require_certificate {
        builder
    } else {
        builder.allow_unauthenticated()
    };
    builder.build().map_err(|error| {
        let rule = format!("the authority cannot be used: {error}");
        bad("client_ca", rule, "name a PEM file with the authority")
    })
}

fn machines(files: &TlsConfig) -> Result<Vec<(ServerName<'static>, Arc<str>)>, Problem> {
    let named = files.machines.iter().map(|(machine, token)| {
        let name = ServerName::try_from(machine.clone())
            .ok()
            .filter(|name| matches!(name, ServerName::DnsName(_)));
        let name = name.ok_or_else(|| {
            let rule = format!("{machine:?} is no DNS name");
            let remedy = "write the DNS name that stands in the machine's certificate";
            bad(&format!("machines/{machine}"), rule, remedy)
        })?;
        Ok((name, Arc::from(token.as_str())))
    });
    named.collect()
}

fn stamps(files: &TlsConfig) -> Stamps {
    let TlsConfig {
        certificate,
        key,
        client_ca,
        ..
    } = files;
    let paths = [Some(certificate), Some(key), client_ca.as_ref()];
    let stamp = |path: &PathBuf| {
        let about = std::fs::metadata(path).ok()?;
        Some((about.modified().ok()?, about.len()))
    };
    paths.into_iter().flatten().map(stamp).collect()
}

fn certificates(member: &str, path: &Path) -> Result<Vec<CertificateDer<'static>>, Problem> {
    let pem = file(member, path)?;
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    all.ok().filter(|all| !all.is_empty()).ok_or_else(|| {
        let rule = format!("{} holds no certificate that can be read", path.display());
        bad(member, rule, "name a PEM file with certificates")
    })
}

fn file(member: &str, path: &Path) -> Result<Vec<u8>, Problem> {
    std::fs::read(path).map_err(|error| {
        let rule = format!("cannot read {}: {error}", path.display());
        bad(member, rule, "name a file that this process may read")
    })
}

fn bad(member: &str, rule: String, remedy: &str) -> Problem {
    Problem::new(
        Code::BadConfig,
        format!("/server/tls/{member}"),
        rule,
        remedy,
    )
}
