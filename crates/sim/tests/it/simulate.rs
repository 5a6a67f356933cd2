//! Seeds of the simulator: new ones of a fixed range, those that once broke a law, and the mistakes that it has to notice.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use factum_sim::simulate::{Options, Outcome, Simulator, Tally};

/// Seeds that every run explores.
const SEEDS: u64 = 500;
/// Threads that explore them; a run is on one thread, so the seeds decide alone.
const THREADS: usize = 2;

/// Runs these, on some threads, and hands what became of each to `see`.
fn run(seeds: &[Options], see: impl Fn(&Simulator, Outcome) + Sync) {
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let simulator = Simulator::new();
                loop {
                    let n =
                        usize::try_from(next.fetch_add(1, Ordering::Relaxed)).unwrap_or(usize::MAX);
                    let Some(options) = seeds.get(n) else { return };
                    see(&simulator, simulator.run(options));
                }
            });
        }
    });
}

/// A law that breaks is shown with everything that is needed to see it again.
fn held(simulator: &Simulator, outcome: &Outcome) {
    if let Some(broken) = &outcome.broken {
        let small = simulator.shrink(&outcome.options);
        panic!(
            "law {}: {}\nseed {}, as small as it gets: {}\n{}{:?}",
            broken.law, broken.saw, outcome.options, small.options, small.trace, small.broken
        );
    }
}

#[test]
fn no_seed_breaks_a_law() {
    let seeds: Vec<Options> = (0..SEEDS).map(Options::drawn).collect();
    let total = Mutex::new(Tally::default());
    run(&seeds, |simulator, outcome| {
        held(simulator, &outcome);
        if let Ok(mut total) = total.lock() {
            total.add(&outcome.tally);
        }
    });
    let total = total.into_inner().unwrap_or_default();
    // What is interesting does happen, or nothing of it was tried.
    let ends: BTreeSet<&str> = total.ends.keys().map(String::as_str).collect();
    for end in [
        "succeeded",
        "terminal_failure",
        "cancelled",
        "expired",
        "review",
    ] {
        assert!(ends.contains(end), "no run ends in {end}: {ends:?}");
    }
    for point in ["C1", "C2", "C3", "C4", "C5", "C6", "C7"] {
        assert!(total.points.contains_key(point), "nobody died at {point}");
    }
    for right in [
        "first",
        "proven not sent",
        "same key",
        "proven absent",
        "harmless",
    ] {
        let sent = format!("sent: {right}");
        assert!(
            total.seen.keys().any(|seen| *seen == sent),
            "nothing was {sent}"
        );
    }
    for mark in [
        "a worker elsewhere began",
        "a worker elsewhere looked up",
        "a worker elsewhere died",
        "a begin was repeated",
        "a begin found its claim over",
        "nothing was left to begin",
        "a report was repeated",
        "a report came when its lease was over",
    ] {
        assert!(total.seen.contains_key(mark), "never: {mark}");
    }
    let numbers = [
        total.duplicates,
        total.missing,
        total.false_success,
        total.false_failure,
        total.lost,
    ];
    assert_eq!(numbers, [0; 5]);
}

#[test]
fn what_once_broke_a_law_does_not_again() {
    let lines = include_str!("../../seeds.txt").lines();
    let seeds = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let seeds = seeds.map(|line| {
        let (options, sentence) = line.split_once(": ").unwrap_or((line, ""));
        assert!(sentence.ends_with('.'), "a seed has its sentence: {line}");
        Options::parse(options).unwrap_or_else(|error| panic!("{line}: {error}"))
    });
    let seeds: Vec<Options> = seeds.collect();
    assert!(!seeds.is_empty());
    run(&seeds, |simulator, outcome| held(simulator, &outcome));
}

#[test]
fn the_same_seed_is_the_same_run() {
    let simulator = Simulator::new();
    for seed in [3, 8, 71] {
        let (first, second) = (Options::drawn(seed), Options::drawn(seed));
        let (first, second) = (simulator.explain(&first), simulator.explain(&second));
        assert_eq!(first.trace, second.trace);
        assert_eq!(
            first.tally,
            simulator.run(&first.options).tally,
            "a trace changes nothing"
        );
    }
}

/// A run in which a law breaks gets smaller, and still breaks one.
#[test]
fn a_broken_run_is_made_small() {
    use factum_core::mistake::{Mistake, making};
    let simulator = Simulator::new();
    let small: Vec<Outcome> = making(Some(Mistake::KeyPerAttempt), || {
        let seeds = (0..200).map(Options::drawn);
        let broken = seeds.filter(|options| simulator.run(options).broken.is_some());
        broken
            .take(3)
            .map(|options| simulator.shrink(&options))
            .collect()
    });
    assert_eq!(small.len(), 3);
    for Outcome {
        options, broken, ..
    } in &small
    {
        assert!(broken.is_some(), "{options}");
        let drawn = Options::drawn(options.seed);
        assert!(
            options.troubles.len() < drawn.troubles.len(),
            "{options} has every trouble still"
        );
        assert_eq!(Options::parse(&options.to_string()), Ok(options.clone()));
    }
    // What breaks late does not break in a shorter run.
    let shorter =
        |small: &Outcome| small.options.wild_secs < Options::drawn(small.options.seed).wild_secs;
    assert!(small.iter().any(shorter));
}
