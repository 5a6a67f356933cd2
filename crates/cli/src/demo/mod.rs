//! `factum demo`: the engine and a destination that loses answers, both on loopback, two stories and a load, and then the
//! engine's word held against the destination's own ledger.
//!
//! The engine is a child process, so that it can be killed. The judgement never asks the engine what happened.

mod moments;
mod run;
mod setting;
mod show;
mod stories;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, ensure};
use factum_testbed::Handle;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::Instant;

use self::run::Course;
use self::setting::Folder;
use self::show::Screen;
use self::stories::Stage;
use crate::exit;
use crate::out::Out;
use crate::trial::api::Api;
use crate::trial::engine::Engine;
use crate::trial::judge::{Verdict, judge};
use crate::trial::memory::Memory;
use crate::trial::{books, collect, load};

/// Fewer actions than this, and the stories are left out.
const WITH_STORIES: usize = 20;
/// No run takes longer than this before it is judged, whatever its size.
const BOUND_MAX: Duration = Duration::from_secs(240);

pub(crate) const HELP: &str = "\
It starts the engine on a temporary SQLite file and a destination that loses answers on purpose, both on free loopback ports. \
Every effect is counted in the destination's own ledger. Exit code 10: a law was broken.\n\n\
Examples:\n  factum demo\n  factum demo --actions 2000 --loss 0.3 --kill\n  factum demo --keep\n  factum demo --json";

/// What `factum demo` is told.
#[derive(Debug, clap::Args)]
pub(crate) struct DemoArgs {
    /// Actions in all, the stories' own among them
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    actions: u32,
    /// The share of requests whose answer is lost, from 0 to 0.9
    #[arg(long, value_name = "P", default_value_t = 0.3, value_parser = share)]
    loss: f64,
    /// What decides which answers are lost, and when the engine is killed
    #[arg(long, value_name = "S", default_value_t = 7)]
    seed: u64,
    /// Kill the engine with SIGKILL several times on the way
    #[arg(long)]
    kill: bool,
    /// Leave everything running afterwards, to look around
    #[arg(long)]
    keep: bool,
    /// Judge after so many seconds, whatever is still going on [default: by the size of the run]
    #[arg(long, value_name = "SECONDS")]
    within: Option<u64>,
    /// Write the load as JSON lines too, for `factum submit --file`
    #[arg(long, value_name = "FILE")]
    write_actions: Option<PathBuf>,
}

fn share(text: &str) -> Result<f64, String> {
    let share: f64 = text
        .parse()
        .map_err(|_| "write a number such as 0.3".to_owned())?;
    if (0.0..=0.9).contains(&share) {
        Ok(share)
    } else {
        Err("write a number from 0 to 0.9".to_owned())
    }
}

/// Runs the demonstration. With `json`, one object is printed last, and nothing else.
///
/// # Errors
/// What could not be started or asked. A broken law is no error: it is the exit code 10.
pub(crate) async fn run(args: DemoArgs, json: bool) -> anyhow::Result<ExitCode> {
    let out = Out::new(json);
    let told = |kind| signal(kind).context("signals cannot be received");
    let (mut terminate, mut interrupt) = (
        told(SignalKind::terminate())?,
        told(SignalKind::interrupt())?,
    );
    let mut told_to_end = async || {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    // When the run is dropped, so are the engine, which is killed then, and the folder.
    let (running, verdict) = tokio::select! {
        done = demonstrate(&args, out) => done?,
        () = told_to_end() => anyhow::bail!("told to end before the end"),
    };
    if args.keep {
        let api = Api::new(running.engine.clients());
        let link = api
            .sign_in_link()
            .await
            .context("no way into the console")?;
        running.look_around(&link, out);
        told_to_end().await;
    }
    running.end().await?;
    let code = if verdict.broken.is_empty() {
        exit::OK
    } else {
        exit::LAW_BROKEN
    };
    Ok(exit::code(code))
}

/// Everything that runs.
struct Running {
    engine: Engine,
    testbed: Handle,
    folder: TempDir,
}

async fn demonstrate(args: &DemoArgs, out: Out) -> anyhow::Result<(Running, Verdict)> {
    let root = tempfile::Builder::new()
        .prefix("factum-demo-")
        .tempdir()
        .context("no temporary folder can be made")?;
    let folder = Folder::new(root.path());
    let testbed = folder.testbed(args.seed, args.loss).await?;
    let desk = stories::release_desk(&folder.releases())?;
    folder.configure(&testbed.base_url())?;
    let engine = Engine::start(&folder.config(), &folder.log()).await?;
    let mut running = Running {
        engine,
        testbed,
        folder: root,
    };
    let screen = Screen::new(out, args.actions as usize);
    screen.line(&format!(
        "{} actions, {:.0} % of answers lost, seed {}; the engine at {}, the destination at {}",
        args.actions,
        args.loss * 100.0,
        args.seed,
        running.engine.address(),
        running.testbed.base_url()
    ));
    let verdict = play(args, &mut running.engine, &running.testbed, desk, &screen).await?;
    screen.done();
    let kills = running.engine.kills();
    if out.json {
        let mut object = show::object(&verdict, kills, args.seed);
        if args.keep {
            object["running"] = running.addresses();
        }
        out.line(object);
    } else {
        out.line(show::tables(&verdict));
        for line in show::summary(&verdict, kills) {
            out.line(line);
        }
    }
    running.folder.disable_cleanup(args.keep);
    Ok((running, verdict))
}

impl Running {
    /// Where everything is, for scripts.
    fn addresses(&self) -> Value {
        json!({
            "engine": self.engine.address(),
            "token_file": self.engine.token_file(),
            "destination": self.testbed.base_url(),
            "ledger": self.testbed.admin_url(),
            "folder": self.folder.path(),
        })
    }

    /// Says how to look around.
    fn look_around(&self, link: &str, out: Out) {
        let (engine, admin) = (self.engine.address(), self.testbed.admin_url());
        let token = self.engine.token_file().display();
        for line in [
            format!("console     {engine}{link}"),
            "            signs you in, once, within a quarter of an hour; later with the token"
                .to_owned(),
            format!("engine      {engine}   (token file {token})"),
            format!("destination {}", self.testbed.base_url()),
            format!("ledger      {admin}/ledger/table"),
            format!("folder      {}", self.folder.path().display()),
            String::new(),
            "Look around in another terminal:".to_owned(),
            format!("  export FACTUM_URL={engine} FACTUM_TOKEN=$(cat {token})"),
            "  factum list --state outcome_unknown".to_owned(),
            "  factum review".to_owned(),
            "  factum evidence ID".to_owned(),
            format!("  factum testbed ledger {admin}"),
            "ctrl-c ends both; the folder stays.".to_owned(),
        ] {
            out.note(line);
        }
    }

    /// Ends both in good order, and takes the folder away unless it is to stay.
    async fn end(self) -> anyhow::Result<()> {
        self.engine.end().await?;
        self.testbed.shutdown().await;
        Ok(())
    }
}

/// Submits, kills, waits, and judges.
async fn play(
    args: &DemoArgs,
    engine: &mut Engine,
    testbed: &Handle,
    mut desk: release_desk::ReleaseDesk,
    screen: &Screen,
) -> anyhow::Result<Verdict> {
    let actions = args.actions as usize;
    let with_stories = actions >= WITH_STORIES;
    let wishes = load::load(
        actions - if with_stories { stories::actions() } else { 0 },
        args.seed,
    );
    if let Some(file) = &args.write_actions {
        let lines: String = wishes
            .iter()
            .map(|wish| format!("{}\n", wish.body))
            .collect();
        std::fs::write(file, lines).with_context(|| format!("cannot write {}", file.display()))?;
    }
    let moments = if args.kill {
        moments::moments(wishes.len(), args.seed)
    } else {
        Vec::new()
    };
    let deadline = Instant::now() + bound(args);
    let (api, memory, course) = (
        Api::new(engine.clients()),
        Memory::default(),
        Course::default(),
    );
    let stage = Stage {
        api: &api,
        memory: &memory,
        ledger: testbed.ledger(),
        screen,
        deadline,
    };
    let work = async {
        let stories = async {
            if with_stories {
                tokio::try_join!(stage.releases(&mut desk), stage.tickets())?;
            }
            anyhow::Ok(())
        };
        let load = async {
            run::submit(&api, wishes, &memory, &course).await?;
            run::rest(&api, actions, &course, screen, deadline).await
        };
        let done = tokio::try_join!(stories, load);
        run::over(&course);
        done
    };
    let killed = async { run::kill(engine, moments, &course, screen).await };
    let (done, killed) = tokio::join!(work, killed);
    done.and(killed)?;
    // The stories' last words may have set something going again.
    run::rest(&api, actions, &course, screen, deadline).await?;
    let arrived = books::deliveries(&testbed.ledger());
    let observed = collect::collect(&api, &memory).await?;
    let mut books = books::books(&testbed.ledger()).await;
    for (business, held) in &mut books {
        held.deliveries = arrived.get(business).copied().unwrap_or_default();
    }
    ensure!(
        observed.len() == actions,
        "{} actions were submitted in place of {actions}",
        observed.len()
    );
    Ok(judge(&observed, &books))
}

/// How long a run goes on at the longest.
fn bound(args: &DemoArgs) -> Duration {
    if let Some(seconds) = args.within {
        return Duration::from_secs(seconds);
    }
    let actions = u64::from(args.actions);
    let size = actions.saturating_sub(200) / 20;
    let kills = if args.kill { 15 + actions / 20 } else { 0 };
    Duration::from_secs(45 + size + kills).min(BOUND_MAX)
}
