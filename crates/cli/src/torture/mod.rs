//! `factum torture`: real engines and a destination that loses answers, killed, stopped, put back, broken and left without room, for
//! as long as asked, and then the engine's word held against the destination's own ledger. Only in builds with the feature `proof`.
//!
//! Everything is drawn from one seed; what the operating system makes of it is not. `plan` says what is done and in which order,
//! `field` and `files` do it, `callers` are the load, `end` judges.

mod callers;
mod disk;
mod end;
mod field;
mod files;
mod ground;
mod plan;
mod report;
mod shared;
mod sight;

use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::Context;
use factum_core::mistake::Mistake;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::Instant;

use self::field::Field;
use self::ground::Ground;
use self::plan::Means;
use crate::exit;
use crate::out::Out;
use crate::trial::judge::Verdict;

pub(crate) const HELP: &str = "\
Everything runs on loopback and in a temporary folder. The crash points C1 to C7 need a build with the feature `failpoints` too. Who \
may mount gets a small file system of its own for the store, which is full for a while; else the size of the engine's files is \
limited. Exit code 10: a law was broken; the folder is kept then, and all that is known of the actions is written to stories.json \
there.\n\n\
Examples:\n  factum torture --minutes 10 --json\n  factum torture --minutes 10 --postgres postgresql://factum@127.0.0.1:5432/empty --workers 4";

/// The longest pause that is guarded against: a stopped process stays below it, since what pauses for longer is beyond any client.
/// Where leases count, the stops have to outlast them.
const PAUSE_FILE: (u32, Duration) = (5, Duration::from_millis(3_500));
const PAUSE_LEASE: (u32, Duration) = (20, Duration::from_secs(16));

/// What `factum torture` is told.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// No new round of blows after so long; the first is always whole
    #[arg(long, value_name = "N", default_value_t = 1)]
    minutes: u64,
    /// What decides everything that is drawn
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// On this empty database, in place of a file
    #[arg(long, value_name = "URL")]
    postgres: Option<String>,
    /// Engines that share the database
    #[arg(long, value_name = "N", default_value_t = 4, requires = "postgres", value_parser = clap::value_parser!(u8).range(1..=16))]
    workers: u8,
    /// Mount nothing: limit the size of the engine's files instead
    #[arg(long)]
    no_mount: bool,
    /// The engines make this deliberate mistake, which has to be noticed; a wrong name lists them
    #[arg(long, value_name = "NAME", value_parser = mistake)]
    mistake: Option<Mistake>,
    /// Keep the folder
    #[arg(long)]
    keep: bool,
}

/// What no engine on a database can do wrong: the database itself keeps the rule, or the one transaction in which it is asked. The
/// memory store and the model can, and `factum sim --self-test` shows that it is noticed there.
const KEPT_BY_THE_DATABASE: &[Mistake] = &[
    Mistake::JoinMissed,
    Mistake::JoinOutsideTransaction,
    Mistake::ReplayIsNew,
    Mistake::AcknowledgedUnwritten,
    Mistake::EvidenceDoesNotFence,
    Mistake::CommitNotFenced,
    Mistake::TwinsAtOnce,
];

fn mistake(name: &str) -> Result<Mistake, String> {
    let Some(mistake) = Mistake::named(name) else {
        let names: Vec<&str> = Mistake::ALL.iter().map(|known| known.name()).collect();
        return Err(format!("it is none of {}", names.join(", ")));
    };
    if KEPT_BY_THE_DATABASE.contains(&mistake) {
        return Err(format!(
            "no engine on a database can make it, since the database keeps {}; `factum sim --self-test` makes it",
            mistake.rule()
        ));
    }
    Ok(mistake)
}

/// Runs it. With `json`, one object is printed last, and nothing else.
///
/// # Errors
/// What could not be started or done. A broken law is no error: it is the exit code 10.
pub(crate) async fn run(args: Args, out: Out) -> anyhow::Result<ExitCode> {
    let told = |kind| signal(kind).context("signals cannot be received");
    let (mut terminate, mut interrupt) = (
        told(SignalKind::terminate())?,
        told(SignalKind::interrupt())?,
    );
    // When the run is dropped, so are the engines, which are killed then, and the folder.
    tokio::select! {
        done = torture(&args, out) => done,
        _ = terminate.recv() => anyhow::bail!("told to end before the end"),
        _ = interrupt.recv() => anyhow::bail!("told to end before the end"),
    }
}

async fn torture(args: &Args, out: Out) -> anyhow::Result<ExitCode> {
    let engines = if args.postgres.is_some() {
        usize::from(args.workers)
    } else {
        1
    };
    let (pause_s, stop_max) = if args.postgres.is_some() {
        PAUSE_LEASE
    } else {
        PAUSE_FILE
    };
    let means = Means {
        crash_points: cfg!(feature = "failpoints"),
        file: args.postgres.is_none(),
        stop_max,
    };
    let mut ground = Ground::make(args.postgres.as_deref(), !args.no_mount, engines, pause_s)?;
    ground.mistake = args.mistake;
    let started = Instant::now();
    let mut field = Field::start(ground, engines, means, args.seed, out).await?;
    let judged = tortured(&mut field, started + Duration::from_secs(args.minutes * 60)).await;
    let verdict = match judged {
        Ok(verdict) => verdict,
        Err(error) => {
            let kept = field.ground.keep()?;
            return Err(error.context(format!(
                "seed {}; the folder is kept: {}",
                args.seed,
                kept.display()
            )));
        }
    };
    let mut object = report::object(&field, &verdict, started.elapsed());
    let broken = !verdict.broken.is_empty();
    if broken || args.keep {
        let stories = report::stories(&field, &verdict).await;
        let kept = field.ground.keep()?;
        std::fs::write(
            kept.join("stories.json"),
            serde_json::to_vec_pretty(&stories)?,
        )?;
        for story in &stories {
            out.note(format_args!("{story:#}"));
        }
        object["folder"] = kept.display().to_string().into();
    }
    if out.json {
        out.value(&object);
    } else {
        for line in report::sentences(&object) {
            out.line(line);
        }
    }
    field.end().await?;
    Ok(exit::code(if broken { exit::LAW_BROKEN } else { exit::OK }))
}

/// The load and the blows, and then the judgement.
async fn tortured(field: &mut Field, until: Instant) -> anyhow::Result<Verdict> {
    let mut people = callers::start(&field.shared);
    let blows = field.rounds(until).await;
    field.shared.over.store(true, Ordering::Relaxed);
    while let Some(ended) = people.join_next().await {
        ended?;
    }
    blows?;
    field.judged().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_process_can_do_wrong_is_refused_and_says_who_makes_it() {
        assert_eq!(mistake("GoneIsNotSent"), Ok(Mistake::GoneIsNotSent));
        assert!(mistake("Nothing").unwrap_err().contains("RestoreNotHeld"));
        for kept in KEPT_BY_THE_DATABASE {
            let refused = mistake(kept.name()).unwrap_err();
            assert!(refused.contains("sim --self-test"), "{refused}");
        }
    }
}
