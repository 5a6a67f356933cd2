//! `factum sim`: runs of the simulator from seeds, and the deliberate mistakes that it and the model have to notice. Only in
//! builds with the feature `proof`.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use factum_core::mistake::Mistake;
use factum_sim::elsewhere;
use factum_sim::model::mistakes::{STATES_MAX, shown};
use factum_sim::simulate::{Options, Outcome, Simulator, Tally, seeds_for};
use serde_json::{Value, json};

use crate::exit;
use crate::failure::Failure;
use crate::out::Out;

pub(crate) const HELP: &str = "\
A seed decides everything about a run. One that breaks a law is printed with its options, made as small as it gets, with what \
happened in it; it goes to seeds.txt of the crate sim with a sentence.\n\n\
Examples:\n  factum sim --seeds 1000 --json\n  factum sim --seed 8434 --explain\n  factum sim --self-test --json";

/// Seeds, unless something else is asked for.
const SEEDS: u64 = 1_000;

/// Runs that break a law and are shown; the others are counted.
const SHOWN_MAX: usize = 3;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How many seeds [default: 1000]; with --self-test, in how many at the most each mistake of the simulator's is tried
    #[arg(long, value_name = "N")]
    seeds: Option<u64>,
    /// No new seed after so long
    #[arg(long, value_name = "M")]
    minutes: Option<u64>,
    /// The first seed
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Say what happens in the first seed, step by step
    #[arg(long)]
    explain: bool,
    /// One run with these options, as a broken run prints them
    #[arg(long, value_name = "OPTIONS", conflicts_with_all = ["seeds", "minutes", "self_test"])]
    replay: Option<String>,
    /// Make every deliberate mistake in turn, and see whether it is noticed
    #[arg(long, conflicts_with_all = ["minutes", "seed", "explain"])]
    self_test: bool,
    /// Threads, each with seeds of its own
    #[arg(long, value_name = "N", default_value_t = 2)]
    threads: usize,
}

pub(crate) fn run(args: &Args, out: Out) -> Result<ExitCode, Failure> {
    if args.self_test {
        return Ok(self_test(args, out));
    }
    if let Some(text) = &args.replay {
        let options = Options::parse(text).map_err(|wrong| {
            Failure::usage(
                format!("--replay: {wrong}"),
                "give the options of a run as it was printed, or only its seed",
            )
        })?;
        return Ok(explain(&options, out));
    }
    if args.explain {
        return Ok(explain(&Options::drawn(args.seed), out));
    }
    Ok(explore(args, out))
}

fn explain(options: &Options, out: Out) -> ExitCode {
    let outcome = Simulator::new().explain(options);
    out.line(format_args!("{}\n{}", outcome.options, outcome.trace));
    exit::code(match outcome.broken {
        None => exit::OK,
        Some(broken) => {
            out.line(format_args!("law {}: {}", broken.law, broken.saw));
            exit::FINDINGS
        }
    })
}

/// What the threads add up.
#[derive(Default)]
struct Sum {
    seeds: u64,
    tally: Tally,
    broken: Vec<Outcome>,
    /// The seed with the most steps, and how many: each run has a bound on them.
    longest: (u64, u64),
    /// Of the notes on how far it is.
    notes: u64,
}

fn explore(args: &Args, out: Out) -> ExitCode {
    let started = Instant::now();
    let bound = args
        .minutes
        .map(|minutes| Duration::from_secs(minutes * 60));
    let (next, sum) = (AtomicU64::new(0), Mutex::new(Sum::default()));
    let seeds = args.seeds.unwrap_or(SEEDS);
    std::thread::scope(|scope| {
        for _ in 0..args.threads.max(1) {
            scope.spawn(|| {
                let simulator = Simulator::new();
                while bound.is_none_or(|bound| started.elapsed() < bound) {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= seeds {
                        return;
                    }
                    let outcome = simulator.run(&Options::drawn(args.seed + n));
                    let Ok(mut sum) = sum.lock() else { return };
                    sum.seeds += 1;
                    if outcome.tally.steps > sum.longest.1 {
                        sum.longest = (outcome.options.seed, outcome.tally.steps);
                    }
                    progress(&mut sum, seeds, started.elapsed(), out);
                    sum.tally.add(&outcome.tally);
                    if outcome.broken.is_some() {
                        sum.broken.push(outcome);
                    }
                }
            });
        }
    });
    let sum = sum.into_inner().unwrap_or_default();
    report(&sum, started.elapsed(), out);
    exit::code(if sum.broken.is_empty() {
        exit::OK
    } else {
        exit::FINDINGS
    })
}

/// Says now and then how far it is: a run of many seeds is silent otherwise.
fn progress(sum: &mut Sum, seeds: u64, elapsed: Duration, out: Out) {
    const EVERY: Duration = Duration::from_secs(30);
    let note = elapsed.as_secs() / EVERY.as_secs();
    if note > sum.notes {
        sum.notes = note;
        let (done, broken) = (sum.seeds, sum.broken.len());
        let a_second = done / elapsed.as_secs().max(1);
        out.progress(format_args!(
            "{done} of {seeds} seeds, {a_second} a second, {broken} broke a law; the longest is {} with {} steps",
            sum.longest.0, sum.longest.1
        ));
    }
}

fn report(sum: &Sum, took: Duration, out: Out) {
    let simulator = Simulator::new();
    for outcome in sum.broken.iter().take(SHOWN_MAX) {
        let small = simulator.shrink(&outcome.options);
        let why = small.broken.as_ref().or(outcome.broken.as_ref());
        let why = why.map_or(String::new(), |broken| {
            format!("law {}: {}", broken.law, broken.saw)
        });
        out.note(format_args!(
            "seed {}\nas small as it gets: {}\n{}{why}",
            outcome.options, small.options, small.trace
        ));
    }
    let Tally {
        steps,
        actions,
        kills,
        effects,
        duplicates,
        missing,
        ..
    } = sum.tally;
    let Tally {
        false_success,
        false_failure,
        lost,
        ..
    } = sum.tally;
    let seconds = took.as_secs().max(1);
    if out.json {
        out.value(&json!({
            "violations": sum.broken.len(), "seeds": sum.seeds, "seconds": seconds, "seeds_per_second": sum.seeds / seconds, "states": steps, "actions": actions,
            "longest_seed": sum.longest.0, "longest_steps": sum.longest.1,
            "kills": kills, "effects": effects, "duplicates": duplicates, "missing": missing,
            "false_success": false_success, "false_failure": false_failure, "lost": lost,
            "broken": sum.broken.iter().filter_map(broken).collect::<Vec<_>>(),
        }));
    } else {
        out.line(format_args!(
            "{} seeds in {seconds} s, {} a second: {actions} actions, {steps} steps, {kills} kills, {effects} effects; {} broke a law",
            sum.seeds,
            sum.seeds / seconds,
            sum.broken.len()
        ));
    }
}

/// What has to be known of a run in which a law broke, to see it again.
fn broken(outcome: &Outcome) -> Option<Value> {
    let broken = outcome.broken.as_ref()?;
    let options = outcome.options.to_string();
    Some(json!({"options": options, "law": broken.law, "saw": broken.saw}))
}

/// Every mistake, by whoever has to notice it: the simulator within so many seeds, the model within so many states, or a
/// test, which is named and not run here.
fn self_test(args: &Args, out: Out) -> ExitCode {
    let next = AtomicUsize::new(0);
    let rows = Mutex::new(BTreeMap::<usize, Value>::new());
    std::thread::scope(|scope| {
        for _ in 0..args.threads.max(1) {
            scope.spawn(|| {
                let simulator = Simulator::new();
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    let Some(mistake) = Mistake::ALL.get(n) else {
                        return;
                    };
                    let row = noticed(&simulator, *mistake, args.seeds);
                    let Ok(mut rows) = rows.lock() else { return };
                    let (done, all) = (rows.len() + 1, Mistake::ALL.len());
                    out.progress(format_args!("{done} of {all}: {}", in_words(&row)));
                    rows.insert(n, row);
                }
            });
        }
    });
    let rows = rows.into_inner().unwrap_or_default();
    let run: Vec<&Value> = rows.values().filter(|row| row["test"].is_null()).collect();
    let found = run.iter().filter(|row| row["found"] == true).count();
    let elsewhere = rows.len() - run.len();
    if out.json {
        let mistakes: Vec<&Value> = rows.values().collect();
        out.value(&json!({
            "deliberate_bugs": run.len(), "found": found, "noticed_by_a_test": elsewhere, "mistakes": mistakes,
        }));
    } else {
        out.line(format_args!(
            "{found} of {} deliberate mistakes are noticed; {elsewhere} more are for a test that is named",
            run.len()
        ));
    }
    exit::code(if found == run.len() {
        exit::OK
    } else {
        exit::FINDINGS
    })
}

/// A row, for who waits for the others.
fn in_words(row: &Value) -> String {
    let name = row["name"].as_str().unwrap_or_default();
    if let Some(test) = row["test"].as_str() {
        return format!("{name} is for a test: {test}");
    }
    let seed = row["seed"].as_u64().map(|seed| format!(" in seed {seed}"));
    let states = row["states"].as_u64();
    let states = states.map(|states| format!(" within {states} worlds"));
    let ways: Vec<String> = seed.into_iter().chain(states).collect();
    let noticed = if row["found"] == true {
        "is noticed"
    } else {
        "IS NOT NOTICED"
    };
    format!("{name} {noticed}{}", ways.join(","))
}

/// What became of one mistake. It is found if everybody who has to notice it does.
fn noticed(simulator: &Simulator, mistake: Mistake, tried: Option<u64>) -> Value {
    let mut row =
        json!({"rule": mistake.rule(), "mistake": mistake.words(), "name": mistake.name()});
    if let Some(test) = elsewhere::test_of(mistake) {
        row["test"] = test.into();
        return row;
    }
    let mut found = true;
    if let Some(within) = seeds_for(mistake) {
        let within = tried.unwrap_or(within);
        let noticed = simulator.notices(mistake, within);
        found &= noticed.by.is_some();
        row["seed"] = noticed.by.as_ref().map(|(seed, _)| *seed).into();
        row["law"] = noticed.by.map(|(_, broken)| broken.law).into();
        row["seeds_within"] = within.into();
    }
    if let Some(shown) = shown(mistake) {
        let (explored, _) = shown.explore_with(mistake);
        found &= explored.broken.is_some();
        row["states"] = explored.states.into();
        row["states_within"] = STATES_MAX.into();
    }
    row["found"] = found.into();
    row
}
