//! The engine as a child process: this same executable, started on the same folder again after every kill.
//!
//! Only this child is ever ended, by its own handle. Whoever talks to it waits for [`Engine::clients`], since the address
//! changes with every start.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use tokio::sync::watch;

use crate::client::Client;

/// How long a start may take: a machine under load opens a store slowly.
const START: Duration = Duration::from_secs(60);
/// How long a graceful end may take before the child is killed.
const END: Duration = Duration::from_secs(15);

/// The child, and how it is reached.
pub(super) struct Engine {
    config: PathBuf,
    log: PathBuf,
    running: Option<Running>,
    clients: watch::Sender<Option<Arc<Client>>>,
    kills: u32,
}

struct Running {
    child: Child,
    /// Kept open, so that the child never writes into a closed pipe.
    _out: BufReader<ChildStdout>,
    address: String,
    token_file: PathBuf,
}

impl Engine {
    /// Starts it on a configuration; what it logs goes to `log`.
    pub(super) async fn start(config: &Path, log: &Path) -> anyhow::Result<Self> {
        let clients = watch::Sender::new(None);
        let mut engine = Self {
            config: config.to_owned(),
            log: log.to_owned(),
            running: None,
            clients,
            kills: 0,
        };
        engine.run().await?;
        Ok(engine)
    }

    /// The way to the engine: none while it is down.
    pub(super) fn clients(&self) -> watch::Receiver<Option<Arc<Client>>> {
        self.clients.subscribe()
    }

    /// How often it was killed.
    pub(super) fn kills(&self) -> u32 {
        self.kills
    }

    /// Where it listens, while it runs.
    pub(super) fn address(&self) -> &str {
        self.running.as_ref().map_or("", |running| &running.address)
    }

    /// The file with its token, while it runs.
    pub(super) fn token_file(&self) -> &Path {
        self.running
            .as_ref()
            .map_or(Path::new(""), |running| &running.token_file)
    }

    /// Kills it with SIGKILL and starts it again on the same folder.
    pub(super) async fn kill(&mut self) -> anyhow::Result<()> {
        self.clients.send_replace(None);
        if let Some(mut running) = self.running.take() {
            running
                .child
                .kill()
                .await
                .context("the engine could not be killed")?;
            self.kills += 1;
        }
        self.run().await
    }

    /// Ends it in good order, or kills it where that takes too long.
    pub(super) async fn end(mut self) -> anyhow::Result<()> {
        self.clients.send_replace(None);
        let Some(mut running) = self.running.take() else {
            return Ok(());
        };
        if let Some(pid) = running
            .child
            .id()
            .and_then(|id| rustix::process::Pid::from_raw(id.cast_signed()))
        {
            rustix::process::kill_process(pid, rustix::process::Signal::TERM)
                .context("the engine could not be told to end")?;
            if let Ok(ended) = tokio::time::timeout(END, running.child.wait()).await {
                ensure!(
                    ended?.success(),
                    "the engine did not end in good order; see {}",
                    self.log.display()
                );
                return Ok(());
            }
        }
        running
            .child
            .kill()
            .await
            .context("the engine could not be killed")
    }

    async fn run(&mut self) -> anyhow::Result<()> {
        let running = match tokio::time::timeout(START, self.spawn()).await {
            Ok(running) => running?,
            Err(_) => bail!(
                "the engine did not start within {} s; see {}",
                START.as_secs(),
                self.log.display()
            ),
        };
        let token = std::fs::read_to_string(&running.token_file)
            .context("the engine's token cannot be read")?;
        let client = Client::new(&running.address, token.trim().to_owned())
            .map_err(|failure| anyhow::anyhow!(failure.text()))?;
        self.running = Some(running);
        self.clients.send_replace(Some(Arc::new(client)));
        Ok(())
    }

    async fn spawn(&self) -> anyhow::Result<Running> {
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.log)?;
        let mut command = Command::new(std::env::current_exe()?);
        command
            .arg("serve")
            .arg("--config")
            .arg(&self.config)
            .arg("--json");
        // What is set for this process would override the demonstration's own configuration.
        for (name, _) in
            std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("FACTUM_"))
        {
            command.env_remove(name);
        }
        command
            .env("FACTUM_LOG", "warn")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .kill_on_drop(true);
        let mut child = command.spawn().context("the engine cannot be started")?;
        let mut out = BufReader::new(child.stdout.take().context("the engine has no output")?);
        let mut line = String::new();
        out.read_line(&mut line).await?;
        let greeting: Value = serde_json::from_str(&line).map_err(|_| {
            let log = std::fs::read_to_string(&self.log).unwrap_or_default();
            anyhow::anyhow!("the engine did not start: {log}")
        })?;
        let member = |name: &str| {
            greeting[name]
                .as_str()
                .map(str::to_owned)
                .with_context(|| format!("the engine did not say its {name}"))
        };
        Ok(Running {
            address: member("address")?,
            token_file: PathBuf::from(member("token_file")?),
            child,
            _out: out,
        })
    }
}
