//! What the demonstration runs in: the folder, the testbed, and the engine's configuration.

use std::path::{Path, PathBuf};

use factum_faults::FaultPlan;
use factum_testbed::{Config, Handle, Testbed};

use crate::trial::load::{combinations, destination};
use crate::trial::section::section;

/// The destination of the Release Desk's announcements: a channel with a search that lags.
pub(super) const ANNOUNCEMENTS: &str = "announcements";
/// The destination of the Support desk's tickets: a help desk with a complete search.
pub(super) const HELPDESK: &str = "helpdesk";

/// The longest pause of the engine's process that is guarded against, in seconds.
const PAUSE_S: u32 = 5;

/// The folder with everything that the engine and the testbed write.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new(root: &Path) -> Self {
        Self(root.to_owned())
    }

    pub(super) fn config(&self) -> PathBuf {
        self.0.join("factum.toml")
    }

    pub(super) fn log(&self) -> PathBuf {
        self.0.join("engine.log")
    }

    /// The Release Desk's own file.
    pub(super) fn releases(&self) -> PathBuf {
        self.0.join("releases.db")
    }

    fn store(&self) -> PathBuf {
        self.0.join("factum-data").join("factum.db")
    }

    fn ledger(&self) -> PathBuf {
        self.0.join("ledger.jsonl")
    }

    /// Starts the testbed, which loses answers with the probability `loss`, as the seed decides.
    pub(super) async fn testbed(&self, seed: u64, loss: f64) -> anyhow::Result<Handle> {
        let faults = FaultPlan::loss(seed, loss);
        Ok(Testbed::start(Config {
            faults,
            ledger: Some(self.ledger()),
            ..Config::default()
        })
        .await?)
    }

    /// Writes the engine's configuration.
    pub(super) fn configure(&self, testbed: &str) -> anyhow::Result<()> {
        let mut text = format!(
            "server.listen = \"127.0.0.1:0\"\nserver.shutdown = \"5 s\"\nstore.url = \"sqlite:{}\"\n\n\
             [contact]\nsay = \"Please call 555-0100.\"\nwithin = \"1 d\"\n\n[[outbox]]\npath = \"{}\"\n",
            self.store().display(),
            self.releases().display()
        );
        let names = combinations().map(|(kind, mode)| destination(kind, mode));
        for name in names.chain([ANNOUNCEMENTS.to_owned(), HELPDESK.to_owned()]) {
            text.push_str(&section(&name, testbed, PAUSE_S));
        }
        std::fs::write(self.config(), text)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_is_one_that_the_engine_takes() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::new(root.path());
        folder.configure("http://127.0.0.1:9").unwrap();
        let config = factum::Config::read(&folder.config()).unwrap();
        assert_eq!(config.destinations.len(), 12);
        let catalogue = factum::setup::catalogue(&config).unwrap();
        factum::setup::destinations(&config, &catalogue).unwrap();
    }
}
