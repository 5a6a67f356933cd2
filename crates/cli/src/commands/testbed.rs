//! `factum testbed`: a destination that loses answers on purpose, and the ledger of what really happened there.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use factum_faults::FaultPlan;
use factum_testbed::{CallbackTo, Config, Lie, Settings, StandIn, Testbed};
use serde_json::json;

use super::testbed_mcp;
use crate::client::{Call, Client};
use crate::commands::contract;
use crate::failure::Failure;
use crate::out::Out;
use crate::{exit, wait};

pub(crate) const HELP: &str = "\
Its operations are in the catalogue under the provider `testbed`, for each kind of destination: key, cancel, lookup, \
lagging, neither; each .sync and .queued. The end of key.reported and neither.reported is only reported, to --callback-url; \
that of neither.fed stands only in a feed of events. A stand-in is a destination that behaves as the contract of an operation of \
any other provider says, without an account there.\n\n\
Fault rules: FAULT[=PARAMETER][,n=3][,every=5][,p=0.3][,times=2][,class=lookup][,path=/key/] and `;` between rules, as in\n  \
status=503,n=1,class=effect; close_fin,p=0.3\n\n\
Examples:\n  factum testbed --loss 0.3 --seed 7\n  factum testbed --stand-in zendesk.ticket.create --loss 0.3\n  \
factum testbed --stand-in stripe.refund.create --lie short-window\n  \
factum testbed --callback-url http://127.0.0.1:7420/v1/callbacks/PATH --callback-secret whsec_c2VjcmV0 --faults callback_twice\n  factum testbed --ledger ledger.jsonl --faults 'close_rst,every=3,class=effect'\n  \
factum testbed ledger http://127.0.0.1:7431";

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Beside>,
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
    /// Stand in for this operation of the catalogue; can be said several times
    #[arg(long, value_name = "PROVIDER.OPERATION")]
    stand_in: Vec<String>,
    /// Break this promise of the stand-ins' contracts; can be said several times
    #[arg(long, value_name = "NAME", requires = "stand_in", value_parser = lie)]
    lie: Vec<Lie>,
    /// Stand-ins enforce the rates that their providers publish
    #[arg(long, requires = "stand_in")]
    rate_limit: bool,
    /// Report effects to this address, signed as their contracts say
    #[arg(long, value_name = "URL", requires = "callback_secret")]
    callback_url: Option<String>,
    /// The secret that reports are signed with; one of tests, since it stands on the command line
    #[arg(long, value_name = "SECRET", requires = "callback_url")]
    callback_secret: Option<String>,
    /// How long a stand-in works on a request
    #[arg(long, value_name = "TIME", value_parser = wait::parse)]
    work: Option<Duration>,
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
enum Beside {
    /// Print what really happened at a running testbed
    Ledger {
        /// Its administration's address
        #[arg(value_name = "URL")]
        url: String,
    },
    /// Serve a tool over MCP that makes effects at a running testbed, and misbehaves on request
    Mcp(testbed_mcp::Args),
}

pub(crate) async fn run(args: Args, at: Option<&Path>, out: Out) -> Result<ExitCode, Failure> {
    match &args.command {
        Some(Beside::Ledger { url }) => return ledger(url, out).await,
        Some(Beside::Mcp(args)) => return testbed_mcp::run(args).await,
        None => {}
    }
    let testbed = Testbed::start(config(&args, at)?).await.map_err(|error| {
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
        for provider in providers(&args.stand_in) {
            out.line(format_args!(
                "  next    factum destination add {provider} --name {provider} --base {base}"
            ));
        }
        out.line(format_args!("  ledger  factum testbed ledger {admin}"));
    }
    stopped().await?;
    let table = testbed.ledger().table();
    testbed.shutdown().await;
    out.note(table);
    Ok(exit::code(exit::OK))
}

/// The providers to add as destinations: those that are stood in for, or the testbed's own.
fn providers(stand_ins: &[String]) -> BTreeSet<&str> {
    let named = stand_ins.iter().filter_map(|name| name.split('.').next());
    let providers: BTreeSet<&str> = named.collect();
    if providers.is_empty() {
        return BTreeSet::from(["testbed"]);
    }
    providers
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

fn config(args: &Args, at: Option<&Path>) -> Result<Config, Failure> {
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
        work: args.work.unwrap_or(default.work),
        ..default
    };
    Ok(Config {
        listen: args.listen,
        admin_listen: Some(args.admin_listen),
        ledger: args.ledger.clone(),
        faults,
        bearer: args.bearer.clone(),
        stand_ins: stand_ins(args, at)?,
        callbacks: callbacks(args),
        settings,
        ..Config::default()
    })
}

/// Where effects are reported to, if anywhere. The secret is one of tests: it stands on the command line.
fn callbacks(args: &Args) -> Option<CallbackTo> {
    let url = args.callback_url.clone()?;
    let secret = args.callback_secret.clone()?.into_bytes();
    Some(CallbackTo { url, secret })
}

/// The stand-ins that are asked for, each with every lie.
fn stand_ins(args: &Args, at: Option<&Path>) -> Result<Vec<StandIn>, Failure> {
    if args.stand_in.is_empty() {
        return Ok(Vec::new());
    }
    let catalogue = contract::catalogue(at)?;
    let stand_in = |name: &String| {
        let contract = contract::named(&catalogue, name)?;
        if let Some(lie) = args.lie.iter().find(|lie| !lie.contradicts(contract)) {
            let rule = format!("{name} claims nothing that {} would break", lie.name());
            return Err(Failure::usage(
                rule,
                "choose a lie about what its contract claims",
            ));
        }
        let honest = StandIn::new(contract.clone());
        let told = args.lie.iter().fold(honest, |one, lie| one.lying(*lie));
        Ok(if args.rate_limit {
            told.rate_limited()
        } else {
            told
        })
    };
    args.stand_in.iter().map(stand_in).collect()
}

fn lie(name: &str) -> Result<Lie, String> {
    Lie::from_name(name).ok_or_else(|| {
        let names: Vec<_> = Lie::ALL.iter().map(|lie| lie.name()).collect();
        format!("is none; use one of {}", names.join(", "))
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
