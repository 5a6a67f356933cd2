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
pub(crate) struct Engine {
    config: PathBuf,
    log: PathBuf,
    variables: Vec<(&'static str, String)>,
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

/// What came of a start.
pub(crate) enum Rose {
    /// It serves.
    Up,
    /// It ended before it served, with these last words.
    Ended(String),
}

impl Engine {
    /// One that is not started yet, on a configuration and with these variables; what it logs goes to `log`.
    pub(crate) fn down(config: &Path, log: &Path, variables: Vec<(&'static str, String)>) -> Self {
        Self {
            config: config.to_owned(),
            log: log.to_owned(),
            variables,
            running: None,
            clients: watch::Sender::new(None),
            kills: 0,
        }
    }

    /// Starts one.
    pub(crate) async fn start(config: &Path, log: &Path) -> anyhow::Result<Self> {
        let mut engine = Self::down(config, log, Vec::new());
        engine.up().await?;
        Ok(engine)
    }

    /// The way to the engine: none while it is down.
    pub(crate) fn clients(&self) -> watch::Receiver<Option<Arc<Client>>> {
        self.clients.subscribe()
    }

    /// How often it was killed.
    pub(crate) fn kills(&self) -> u32 {
        self.kills
    }

    /// Where it listens, while it runs.
    pub(crate) fn address(&self) -> &str {
        self.running.as_ref().map_or("", |running| &running.address)
    }

    /// The file with its token, while it runs.
    pub(crate) fn token_file(&self) -> &Path {
        self.running
            .as_ref()
            .map_or(Path::new(""), |running| &running.token_file)
    }

    /// Kills it with SIGKILL and starts it again on the same folder.
    pub(crate) async fn kill(&mut self) -> anyhow::Result<()> {
        self.fell().await?;
        self.up().await
    }

    /// Kills it with SIGKILL, and leaves it down.
    pub(crate) async fn fell(&mut self) -> anyhow::Result<()> {
        self.clients.send_replace(None);
        if let Some(mut running) = self.running.take() {
            running
                .child
                .kill()
                .await
                .context("the engine could not be killed")?;
            self.kills += 1;
        }
        Ok(())
    }

    /// Asks it to end, and kills it where that takes too long. Says whether it ended in good order.
    pub(crate) async fn stop(&mut self) -> anyhow::Result<bool> {
        self.clients.send_replace(None);
        let Some(mut running) = self.running.take() else {
            return Ok(true);
        };
        if let Some(pid) = pid(&running.child) {
            rustix::process::kill_process(pid, rustix::process::Signal::TERM)
                .context("the engine could not be told to end")?;
            if let Ok(ended) = tokio::time::timeout(END, running.child.wait()).await {
                return Ok(ended?.success());
            }
        }
        running
            .child
            .kill()
            .await
            .context("the engine could not be killed")?;
        Ok(true)
    }

    /// Ends it for good.
    pub(crate) async fn end(mut self) -> anyhow::Result<()> {
        ensure!(
            self.stop().await?,
            "the engine did not end in good order; see {}",
            self.log.display()
        );
        Ok(())
    }

    /// Starts it; it has to serve then.
    pub(crate) async fn up(&mut self) -> anyhow::Result<()> {
        match self.rise(None).await? {
            Rose::Up => Ok(()),
            Rose::Ended(words) => bail!("the engine did not start: {words}"),
        }
    }

    /// Starts it; in builds with crash points, it is killed at this one.
    pub(crate) async fn rise(&mut self, failpoint: Option<&str>) -> anyhow::Result<Rose> {
        let spawned = tokio::time::timeout(START, self.spawn(failpoint)).await;
        let Ok(spawned) = spawned else {
            bail!(
                "the engine did not start within {} s; see {}",
                START.as_secs(),
                self.log.display()
            );
        };
        let running = match spawned? {
            Ok(running) => running,
            Err(words) => return Ok(Rose::Ended(words)),
        };
        let token = std::fs::read_to_string(&running.token_file)
            .context("the engine's token cannot be read")?;
        let client = Client::new(&running.address, token.trim().to_owned())
            .map_err(|failure| anyhow::anyhow!(failure.text()))?;
        self.running = Some(running);
        self.clients.send_replace(Some(Arc::new(client)));
        Ok(Rose::Up)
    }

    /// The running child, or the last words of one that ended before it served.
    async fn spawn(&self, failpoint: Option<&str>) -> anyhow::Result<Result<Running, String>> {
        let logged = std::fs::metadata(&self.log).map_or(0, |log| log.len());
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
        // What is set for this process would override the child's own configuration.
        for (name, _) in
            std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("FACTUM_"))
        {
            command.env_remove(name);
        }
        command
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .envs(failpoint.map(|point| ("FACTUM_FAILPOINT", point)))
            .env("FACTUM_LOG", "warn")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .kill_on_drop(true);
        let mut child = command.spawn().context("the engine cannot be started")?;
        let mut out = BufReader::new(child.stdout.take().context("the engine has no output")?);
        let mut line = String::new();
        out.read_line(&mut line).await?;
        let Ok(greeting) = serde_json::from_str::<Value>(&line) else {
            // It ends by itself; what is left of it is what it wrote.
            child.wait().await?;
            let log = std::fs::read(&self.log).unwrap_or_default();
            let begin = usize::try_from(logged).unwrap_or(0).min(log.len());
            return Ok(Err(String::from_utf8_lossy(&log[begin..])
                .trim()
                .to_owned()));
        };
        let member = |name: &str| {
            greeting[name]
                .as_str()
                .map(str::to_owned)
                .with_context(|| format!("the engine did not say its {name}"))
        };
        Ok(Ok(Running {
            address: member("address")?,
            token_file: PathBuf::from(member("token_file")?),
            child,
            _out: out,
        }))
    }
}

/// What only `factum torture` does to it.
#[cfg(feature = "proof")]
impl Engine {
    /// Its process, while it runs.
    pub(crate) fn pid(&self) -> Option<rustix::process::Pid> {
        pid(&self.running.as_ref()?.child)
    }

    /// Whether it runs.
    pub(crate) fn is_up(&self) -> bool {
        self.running.is_some()
    }

    /// Lets it stand still, or go on.
    pub(crate) fn signal(&self, signal: rustix::process::Signal) -> anyhow::Result<()> {
        match self.pid() {
            Some(pid) => {
                rustix::process::kill_process(pid, signal).context("the engine cannot be signalled")
            }
            None => Ok(()),
        }
    }

    /// Waits for it to be killed by itself, at a crash point. Says whether it was.
    pub(crate) async fn fallen(&mut self, within: Duration) -> anyhow::Result<bool> {
        let Some(running) = &mut self.running else {
            return Ok(true);
        };
        let Ok(ended) = tokio::time::timeout(within, running.child.wait()).await else {
            return Ok(false);
        };
        ended?;
        self.clients.send_replace(None);
        self.running = None;
        self.kills += 1;
        Ok(true)
    }
}

fn pid(child: &Child) -> Option<rustix::process::Pid> {
    child
        .id()
        .and_then(|id| rustix::process::Pid::from_raw(id.cast_signed()))
}
