//! The engines, and what is done to their processes.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Context, bail};
use factum_faults::{Chance, HANG_MS};
use factum_testbed::{Filter, Handle, Mode};
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use super::ground::Ground;
use super::plan::{self, Blow, Means};
use super::shared::{Answer, Shared};
use crate::client::Call;
use crate::out::Out;
use crate::trial::engine::{Engine, Rose};

/// How long a crash point is waited for.
const REACHED: Duration = Duration::from_secs(4);
/// How long a written request without an answer is waited for.
const UNANSWERED: Duration = Duration::from_secs(5);
/// How long an operator looks before the restore is released.
const LOOKS: Duration = Duration::from_millis(1_500);

/// What was done, and what was seen of it.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) stops: u64,
    pub(super) restarts: u64,
    /// Restores of an older copy, on purpose or after damage, that the engine noticed or was told of.
    pub(super) restores: u64,
    pub(super) disk_full: u64,
    /// Damages that were noticed, by kind.
    pub(super) damages: BTreeMap<&'static str, u64>,
    /// Damages that changed nothing that is written, or that neither checksum nor counter can see.
    pub(super) harmless: u64,
    pub(super) beyond: u64,
    /// Kills by themselves, by crash point.
    pub(super) points: BTreeMap<&'static str, u64>,
}

/// Everything that a run has.
pub(super) struct Field {
    pub(super) ground: Ground,
    pub(super) engines: Vec<Engine>,
    /// Until when each of them stands still.
    still: Vec<Option<Instant>>,
    pub(super) testbed: Handle,
    pub(super) shared: Arc<Shared>,
    pub(super) means: Means,
    pub(super) done: Done,
    pub(super) chance: Chance,
    pub(super) out: Out,
}

impl Field {
    /// Starts so many engines, and the testbed.
    pub(super) async fn start(
        ground: Ground,
        engines: usize,
        means: Means,
        seed: u64,
        out: Out,
    ) -> anyhow::Result<Self> {
        let mut running = Vec::new();
        for number in 0..engines {
            let mut engine = Engine::down(
                &ground.config(),
                &ground.log(number),
                ground.variables(number),
            );
            engine.up().await?;
            running.push(engine);
        }
        let ways = running.iter().map(Engine::clients).collect();
        let shared = Arc::new(Shared::new(seed, ways));
        let path = format!("/v1/destinations/{}", super::ground::REPORTED);
        let Answer::Yes(destination) = shared.call(0, Call::get(path)).await else {
            bail!("the engine does not say where reports come to");
        };
        let door = destination["callback"]["path"]
            .as_str()
            .context("the engine takes no reports")?;
        Ok(Self {
            testbed: ground.testbed(seed, door).await?,
            ground,
            still: running.iter().map(|_| None).collect(),
            engines: running,
            shared,
            means,
            done: Done::default(),
            chance: Chance::new(seed, "field", 0),
            out,
        })
    }

    /// Rounds of blows until the time is over; the first is always whole.
    pub(super) async fn rounds(&mut self, until: Instant) -> anyhow::Result<()> {
        for number in 0.. {
            for blow in plan::round(self.shared.seed, number, self.means) {
                if number > 0 && Instant::now() >= until {
                    return self.all_up().await;
                }
                let pause = plan::between(&mut self.chance);
                sleep(pause).await;
                self.out.note(format_args!("  {blow:?}"));
                self.strike(blow)
                    .await
                    .with_context(|| format!("{blow:?}"))?;
            }
            if Instant::now() >= until {
                break;
            }
        }
        self.all_up().await
    }

    async fn strike(&mut self, blow: Blow) -> anyhow::Result<()> {
        self.go_on(Instant::now())?;
        let count = self.engines.len() as u64;
        let who = usize::try_from(self.chance.below(count)).unwrap_or(0);
        match blow {
            Blow::Kill => {
                self.engines[who].fell().await?;
                self.up(who).await
            }
            Blow::CrashPoint(point, nth) => self.crash_point(who, point, nth).await,
            Blow::Unanswered => self.unanswered(who).await,
            Blow::Stop(long) => self.stand_still(who, long).await,
            Blow::Restart => {
                self.engines[who].signal(Signal::CONT)?;
                self.still[who] = None;
                // What cannot end in time is broken off, and said so; that is no failure.
                self.engines[who].stop().await?;
                self.done.restarts += 1;
                self.up(who).await
            }
            Blow::OldCopy => self.old_copy(false).await,
            Blow::OldFolder => self.old_copy(true).await,
            Blow::FullDisk => self.full_disk().await,
            Blow::CutLog => self.hurt_log(true).await,
            Blow::SpoiltLog => self.hurt_log(false).await,
            Blow::SpoiltRow => self.hurt_file(false).await,
            Blow::SpoiltPage => self.hurt_file(true).await,
            Blow::SpoiltCounter => self.hurt_counter().await,
        }
    }

    /// Starts an engine, which has to serve then.
    pub(super) async fn up(&mut self, who: usize) -> anyhow::Result<()> {
        self.still[who] = None;
        self.engines[who].up().await
    }

    async fn all_up(&mut self) -> anyhow::Result<()> {
        for engine in &self.engines {
            engine.signal(Signal::CONT)?;
        }
        for engine in &mut self.engines {
            if !engine.is_up() {
                engine.up().await?;
            }
        }
        Ok(())
    }

    /// It is started so that it kills itself at this point, and started again.
    async fn crash_point(
        &mut self,
        who: usize,
        point: &'static str,
        nth: u64,
    ) -> anyhow::Result<()> {
        let engine = &mut self.engines[who];
        engine.fell().await?;
        self.still[who] = None;
        let reached = match engine.rise(Some(&format!("{point}:{nth}"))).await? {
            // What a start finds to do may lead there before it serves.
            Rose::Ended(_) => true,
            Rose::Up => engine.fallen(REACHED).await?,
        };
        if reached {
            *self.done.points.entry(point).or_default() += 1;
        } else {
            engine.fell().await?;
        }
        self.up(who).await
    }

    /// It is killed while the destination holds the answer to a request that was written.
    async fn unanswered(&mut self, who: usize) -> anyhow::Result<()> {
        let begun = Filter {
            mode: Some(Mode::Sync),
            ..Filter::default()
        };
        let ledger = self.testbed.ledger();
        let come = timeout(
            UNANSWERED,
            ledger.wait_until(&begun, |counts| counts.pending > 0),
        )
        .await;
        self.engines[who].fell().await?;
        if come.is_ok() {
            *self.done.points.entry("C5").or_default() += 1;
        }
        self.up(who).await
    }

    /// One of several stands still while other things happen; a single one while nothing else does.
    async fn stand_still(&mut self, who: usize, long: Duration) -> anyhow::Result<()> {
        self.engines[who].signal(Signal::STOP)?;
        self.done.stops += 1;
        self.still[who] = Some(Instant::now() + long);
        if self.engines.len() == 1 {
            sleep(long).await;
            self.go_on(Instant::now())?;
        }
        Ok(())
    }

    /// Whoever has stood still for long enough goes on.
    fn go_on(&mut self, now: Instant) -> anyhow::Result<()> {
        for (engine, still) in self.engines.iter().zip(&mut self.still) {
            if still.is_some_and(|until| now >= until) {
                engine.signal(Signal::CONT)?;
                *still = None;
            }
        }
        Ok(())
    }

    /// Effect requests that came over the wire so far.
    pub(super) fn arrived(&self) -> u64 {
        self.testbed.ledger().counts(&Filter::default()).deliveries
    }

    /// The engine is down, and an older copy, or what is left of the file, is in place: it is started, has to notice where it
    /// `must`, looks and sends nothing, and is released by an operator. Whoever holds the callers back lets go of them once the
    /// engine serves.
    pub(super) async fn after_restore(
        &mut self,
        must: Option<&str>,
        held: super::files::Held<'_>,
    ) -> anyhow::Result<()> {
        // What the destination has let hang at its door arrives meanwhile.
        sleep(Duration::from_millis(HANG_MS + 300)).await;
        let before = self.arrived();
        self.up(0).await?;
        let state = self.factum(&["admin", "state"]).await?.1;
        let noticed = state["restore"].is_object() && state["restore"]["released"].is_null();
        drop(held);
        if !noticed {
            if let Some(what) = must {
                self.shared.complain(
                    10,
                    format!("{what}, and nothing noticed it: {state}"),
                    Vec::new(),
                );
            }
            return Ok(());
        }
        self.done.restores += 1;
        sleep(LOOKS).await;
        let (_, listed) = self.factum(&["admin", "would-send"]).await?;
        let sent = self.arrived().saturating_sub(before);
        if sent > 0 {
            let saw = format!("{sent} requests were sent before the restore was released");
            self.shared.complain(6, saw, Vec::new());
        }
        self.out.note(format_args!(
            "    a restore is noticed; {} would be sent; released",
            listed["actions"].as_array().map_or(0, Vec::len)
        ));
        let (good, said) = self
            .factum(&["admin", "release", "--by", "operator"])
            .await?;
        if !good {
            bail!("the restore could not be released: {said}");
        }
        Ok(())
    }

    /// Runs a command of ours as an operator would, with `--json`: whether it went well, and what it said.
    pub(super) async fn factum(&self, words: &[&str]) -> anyhow::Result<(bool, Value)> {
        let mut command = tokio::process::Command::new(std::env::current_exe()?);
        for (name, _) in
            std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("FACTUM_"))
        {
            command.env_remove(name);
        }
        command
            .args(words)
            .arg("--config")
            .arg(self.ground.config())
            .arg("--json");
        command.envs(self.ground.variables(0)).stdin(Stdio::null());
        if let Some(engine) = self.engines.first().filter(|engine| engine.is_up()) {
            let token = std::fs::read_to_string(engine.token_file())?;
            command
                .env("FACTUM_URL", engine.address())
                .env("FACTUM_TOKEN", token.trim());
        }
        let ran = command
            .output()
            .await
            .context("a command cannot be started")?;
        let text = if ran.stdout.is_empty() {
            &ran.stderr
        } else {
            &ran.stdout
        };
        let said = serde_json::from_slice(text)
            .unwrap_or_else(|_| json!(String::from_utf8_lossy(text).into_owned()));
        Ok((ran.status.success(), said))
    }

    /// Ends everything.
    pub(super) async fn end(self) -> anyhow::Result<()> {
        self.shared.over.store(true, Ordering::Relaxed);
        for engine in self.engines {
            engine.end().await?;
        }
        self.testbed.shutdown().await;
        Ok(())
    }
}
