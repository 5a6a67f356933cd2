//! `factum model`: explores small worlds completely, and says what was visited and which law broke. Only in builds with the
//! feature `proof`.

use std::process::ExitCode;
use std::time::Instant;

use factum_sim::model::{catalogue, explore_all};
use serde_json::json;

use crate::exit;
use crate::failure::Failure;
use crate::out::Out;

pub(crate) const HELP: &str = "Examples:\n  factum model\n  factum model --large --json";

/// No setting is explored further than this: it bounds the memory.
const STATES_MAX: u64 = 3_000_000;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The large settings: more time, more tries, and a process that may die; minutes to an hour, and a gigabyte or two
    #[arg(long)]
    large: bool,
    /// Threads, each with a setting of its own
    #[arg(long, value_name = "N", default_value_t = 2)]
    threads: usize,
}

pub(crate) fn run(args: &Args, out: Out) -> Result<ExitCode, Failure> {
    let settings = if args.large {
        catalogue::large()
    } else {
        catalogue::small()
    };
    let started = Instant::now();
    let report = explore_all(&settings, args.threads, STATES_MAX, |setup, found| {
        out.note(format_args!(
            "{:<100} {:>9} states {:>10} transitions",
            setup.name, found.states, found.transitions
        ));
    });
    let seconds = started.elapsed().as_secs().max(1);
    let missing: Vec<&str> = report
        .cases
        .missing()
        .iter()
        .map(|case| case.words())
        .collect();
    if out.json {
        out.value(&json!({
            "settings": report.settings,
            "states": report.states,
            "transitions": report.transitions,
            "seconds": seconds,
            "states_per_second": report.states / seconds,
            "cut": report.cut.len(),
            "never_reached": missing,
            "violations": report.violations,
        }));
    } else {
        let (settings, states) = (report.settings, report.states);
        let broken = report.violations.len();
        out.line(format_args!(
            "{states} states of {settings} settings in {seconds} s; {broken} break a law; {} cut at their bound; never reached: {missing:?}",
            report.cut.len()
        ));
        for trace in &report.violations {
            out.line(trace);
        }
    }
    let holds = report.violations.is_empty() && missing.is_empty();
    Ok(exit::code(if holds { exit::OK } else { exit::FINDINGS }))
}
