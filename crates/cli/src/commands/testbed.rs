//! `factum testbed`: a destination that loses answers on purpose, and the ledger of what really happened there.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use factum_faults::FaultPlan;
use factum_testbed::{Config, Settings, Testbed};
use serde_json::json;

use crate::client::{Call, Client};
use crate::failure::Failure;
use crate::out::Out;
use crate::{exit, wait};

pub(crate) const HELP: &str = "\
Its operations are in the catalogue under the provider `testbed`, for each kind of destination: key, cancel, lookup, \
lagging, neither; each .sync and .queued.\n\n\
Fault rules: FAULT[=PARAMETER][,n=3][,every=5][,p=0.3][,times=2][,class=lookup][,path=/key/] and `;` between rules, as in\n  \
status=503,n=1,class=effect; close_fin,p=0.3\n\n\
Examples:\n  factum testbed --loss 0.3 --seed 7\n  factum testbed --ledger ledger.jsonl --faults 'close_rst,every=3,class=effect'\n  \
factum testbed ledger http://127.0.0.1:7431";

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Ledger>,
    /// Where the destinations listen; loopback only, port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7430")]
    listen: SocketAddr,
    /// Where the administration listens, out of reach of faults
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7431")]
    admin_listen: SocketAddr,
    /// The ledger's file; without one it is kept in memory
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
    /// Which requests are hit by what
    #[arg(long, value_name = "RULES", conflicts_with = "loss")]
    faults: Option<String>,
    /// Lose answers with this probability, by the documented mix of faults
    #[arg(long, value_name = "P")]
    loss: Option<f64>,
    /// What chance is drawn from
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Ask for this token
    #[arg(long, value_name = "TOKEN")]
    bearer: Option<String>,
    /// How long `key` remembers a key
    #[arg(long, value_name = "TIME", value_parser = wait::parse)]
    key_retention: Option<Duration>,
    /// How long queued work takes
    #[arg(long, value_name = "TIME", value_parser = wait::parse)]
    queue_delay: Option<Duration>,
    /// How long after landing `lagging` shows an effect
    #[arg(long, value_name = "TIME", value_parser = wait::parse)]
    search_lag: Option<Duration>,
    /// `lagging` cuts its answers to the first page
    #[arg(long)]
    truncate: bool,
    /// `key` stores errors and replays them
    #[arg(long)]
    replay_errors: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Ledger {
    /// Print what really happened at a running testbed
    Ledger {
        /// Its administration's address
        #[arg(value_name = "URL")]
        url: String,
    },
}

pub(crate) async fn run(args: Args, out: Out) -> Result<ExitCode, Failure> {
    if let Some(Ledger::Ledger { url }) = &args.command {
        return ledger(url, out).await;
    }
    let testbed = Testbed::start(config(&args)?).await.map_err(|error| {
        let reason = std::error::Error::source(&error)
            .map(|source| format!(": {source}"))
            .unwrap_or_default();
        Failure::usage(
            format!("{error}{reason}"),
            "choose another address or file; port 0 takes a free one",
        )
    })?;
    let (base, admin) = (testbed.base_url(), testbed.admin_url());
    if out.json {
        out.line(json!({"address": base, "admin": admin, "pid": std::process::id()}));
    } else {
        out.line(format_args!("testbed at {base}"));
        out.line(format_args!(
            "  next    factum destination add testbed --name testbed --base {base}"
        ));
        out.line(format_args!("  ledger  factum testbed ledger {admin}"));
    }
    stopped().await?;
    let table = testbed.ledger().table();
    testbed.shutdown().await;
    out.note(table);
    Ok(exit::code(exit::OK))
}

async fn stopped() -> Result<(), Failure> {
    use tokio::signal::unix::{SignalKind, signal};
    let failed = |error: std::io::Error| {
        Failure::other(format!("signals cannot be received: {error}"), "try again")
    };
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

fn config(args: &Args) -> Result<Config, Failure> {
    let faults = match (&args.faults, args.loss) {
        (Some(rules), _) => FaultPlan::parse(args.seed, rules).map_err(|error| {
            Failure::usage(format!("--faults: {error}"), "see factum testbed --help")
        })?,
        (None, Some(loss)) if (0.0..=1.0).contains(&loss) => FaultPlan::loss(args.seed, loss),
        (None, Some(_)) => {
            return Err(Failure::usage(
                "--loss is a probability",
                "write a number from 0 to 1",
            ));
        }
        (None, None) => FaultPlan::none(),
    };
    let default = Settings::default();
    let settings = Settings {
        key_retention: args.key_retention.unwrap_or(default.key_retention),
        replay_errors: args.replay_errors,
        queue_delay: args.queue_delay.unwrap_or(default.queue_delay),
        search_lag: args.search_lag.unwrap_or(default.search_lag),
        truncate: args.truncate,
        ..default
    };
    Ok(Config {
        listen: args.listen,
        admin_listen: Some(args.admin_listen),
        ledger: args.ledger.clone(),
        faults,
        bearer: args.bearer.clone(),
        settings,
        ..Config::default()
    })
}

async fn ledger(url: &str, out: Out) -> Result<ExitCode, Failure> {
    const REMEDY: &str = "name the administration's address of a running testbed";
    let client = Client::new(url, "none".to_owned()).map_err(|failure| failure.remedied(REMEDY))?;
    if out.json {
        let counts = client.json(Call::get("/ledger/counts")).await;
        out.value(&counts.map_err(|failure| failure.remedied(REMEDY))?);
        return Ok(exit::code(exit::OK));
    }
    let answer = client.call(Call::get("/ledger/table")).await;
    let answer = answer.map_err(|failure| failure.remedied(REMEDY))?;
    if answer.status != 200 {
        let rule = format!("{url} answered {} and no ledger", answer.status);
        return Err(Failure::not_found(rule, REMEDY));
    }
    out.line(String::from_utf8_lossy(&answer.body).trim_end());
    Ok(exit::code(exit::OK))
}
