//! What a run stands on: the folder, the disk, the configuration, free ports, the testbed.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use anyhow::Context;
use factum_core::mistake::Mistake;
use factum_faults::FaultPlan;
use factum_testbed::{CallbackTo, Config, Handle, Testbed};
use tempfile::TempDir;

use super::disk::Disk;
use crate::trial::load::{combinations, destination};
use crate::trial::section::section;

/// The destination that reports by itself what became of a request.
pub(super) const REPORTED: &str = "reported";
/// What it signs with, in the form that Standard Webhooks gives to a secret.
const SECRET: &str = "whsec_Zm9yLXRlc3RzLW9ubHktbm90LWEtc2VjcmV0";
/// Where the engine finds it.
const SECRET_NAME: &str = "REPORTS";

/// A quarter of the answers is lost, in all the ways that the mix knows; of the reports too.
const FAULTS: &str = "callback_lost,class=callback,p=0.15; callback_twice,class=callback,p=0.1; \
                      callback_late=400,class=callback,p=0.1; callback_forged,class=callback,p=0.05; loss,p=0.25";

/// The folder and what it is made for.
pub(super) struct Ground {
    // Unmounted before the folder is taken away.
    disk: Option<Disk>,
    root: TempDir,
    store: String,
    bed: SocketAddr,
    ports: Vec<u16>,
    pause_s: u32,
    /// What the engines are to do wrong on purpose.
    pub(super) mistake: Option<Mistake>,
}

impl Ground {
    /// A folder for so many engines, on this database or else on a file of its own. A pause of up to `pause_s` seconds is guarded
    /// against.
    pub(super) fn make(
        postgres: Option<&str>,
        may_mount: bool,
        engines: usize,
        pause_s: u32,
    ) -> anyhow::Result<Self> {
        let root = tempfile::Builder::new()
            .prefix("factum-torture-")
            .tempdir()
            .context("no temporary folder can be made")?;
        let data = root.path().join("factum-data");
        let disk = match postgres {
            Some(_) => None,
            None => Some(Disk::on(&data, may_mount)?),
        };
        let store = match postgres {
            Some(url) => format!(
                "[store]\nurl = \"{url}\"\nfolder = \"{}\"\nconnections = 6\n",
                data.display()
            ),
            None => format!(
                "[store]\nurl = \"sqlite:{}\"\n",
                data.join("factum.db").display()
            ),
        };
        let mut ports = free_ports(engines + 1)?;
        let bed = SocketAddr::from((Ipv4Addr::LOCALHOST, ports.pop().context("no port is free")?));
        let ground = Self {
            disk,
            root,
            store,
            bed,
            ports,
            pause_s,
            mistake: None,
        };
        std::fs::write(ground.config(), ground.text())?;
        Ok(ground)
    }

    fn text(&self) -> String {
        let base = format!("http://{}", self.bed);
        let mut text = format!(
            "{}\n[server]\nshutdown = \"3 s\"\n\n[contact]\nsay = \"Please call 555-0100.\"\nwithin = \"1 d\"\n",
            self.store
        );
        for (kind, mode) in combinations() {
            text.push_str(&section(&destination(kind, mode), &base, self.pause_s));
        }
        text.push_str(&section(REPORTED, &base, self.pause_s));
        text.push_str(&format!(
            "callback = {{ secrets = [\"env:{SECRET_NAME}\"] }}\n"
        ));
        text
    }

    pub(super) fn path(&self) -> &Path {
        self.root.path()
    }

    pub(super) fn config(&self) -> PathBuf {
        self.path().join("factum.toml")
    }

    pub(super) fn log(&self, engine: usize) -> PathBuf {
        self.path().join(format!("engine-{engine}.log"))
    }

    /// The store's file.
    pub(super) fn store(&self) -> PathBuf {
        self.path().join("factum-data").join("factum.db")
    }

    pub(super) fn disk(&self) -> Option<&Disk> {
        self.disk.as_ref()
    }

    /// What an engine is started with. Its port stays the same, since reports come to it.
    pub(super) fn variables(&self, engine: usize) -> Vec<(&'static str, String)> {
        let port = self.ports.get(engine).copied().unwrap_or_default();
        let mistake = self
            .mistake
            .map(|mistake| ("FACTUM_MISTAKE", mistake.name().to_owned()));
        let own = [
            ("FACTUM_SERVER__LISTEN", format!("127.0.0.1:{port}")),
            (SECRET_NAME, SECRET.to_owned()),
        ];
        own.into_iter().chain(mistake).collect()
    }

    /// Starts the testbed. Its reports come to this path of the first engine.
    pub(super) async fn testbed(&self, seed: u64, door: &str) -> anyhow::Result<Handle> {
        let port = self.ports.first().copied().unwrap_or_default();
        Ok(Testbed::start(Config {
            listen: self.bed,
            faults: FaultPlan::parse(seed, FAULTS)?,
            ledger: Some(self.path().join("ledger.jsonl")),
            callbacks: Some(CallbackTo {
                url: format!("http://127.0.0.1:{port}{door}"),
                secret: SECRET.as_bytes().to_vec(),
            }),
            ..Config::default()
        })
        .await?)
    }

    /// The folder stays when this is gone; what lies on a file system of its own is copied beside it first.
    pub(super) fn keep(&mut self) -> anyhow::Result<PathBuf> {
        let data = self.path().join("factum-data");
        let beside = self.path().join("factum-data-kept");
        if matches!(self.disk, Some(Disk::Tmpfs(_))) {
            std::fs::create_dir_all(&beside)?;
            for entry in std::fs::read_dir(&data)? {
                let entry = entry?;
                if entry.file_type()?.is_file() {
                    std::fs::copy(entry.path(), beside.join(entry.file_name()))?;
                }
            }
        }
        self.root.disable_cleanup(true);
        Ok(self.path().to_owned())
    }
}

/// Ports that were free a moment ago, all different.
fn free_ports(count: usize) -> anyhow::Result<Vec<u16>> {
    let listeners: Vec<TcpListener> = (0..count)
        .map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))
        .collect::<Result<_, _>>()
        .context("no port is free")?;
    let addresses = listeners
        .iter()
        .map(|listener| Ok(listener.local_addr()?.port()));
    addresses.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_is_one_that_the_engine_takes() {
        let ground =
            Ground::make(Some("postgresql://nobody@127.0.0.1:1/none"), false, 4, 5).unwrap();
        let config = factum::Config::read(&ground.config()).unwrap();
        assert_eq!(config.destinations.len(), 11);
        let catalogue = factum::setup::catalogue(&config).unwrap();
        factum::setup::destinations(&config, &catalogue).unwrap();
    }

    #[test]
    fn the_faults_are_ones_that_the_testbed_takes() {
        FaultPlan::parse(1, FAULTS).unwrap();
    }
}
