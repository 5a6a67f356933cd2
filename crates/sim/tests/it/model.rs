//! Every world of the small settings keeps the laws, and every interesting case is reached. `factum model --large` has the others.

use factum_sim::model::{Found, Setup, catalogue, explore_all};

/// More than the largest small setting has.
const NO_BOUND: u64 = u64::MAX;

#[expect(
    clippy::print_stdout,
    reason = "the size of each exploration is its report"
)]
fn told(setup: &Setup, found: &Found) {
    let (states, transitions) = (found.states, found.transitions);
    println!(
        "{:<90} {states:>9} states {transitions:>10} transitions",
        setup.name
    );
}

#[test]
fn laws_hold_in_every_world_of_the_small_settings() {
    let report = explore_all(&catalogue::small(), 2, NO_BOUND, told);
    if let Some(trace) = report.violations.first() {
        panic!("{trace}");
    }
    let missing: Vec<_> = report.cases.missing();
    assert!(missing.is_empty(), "never reached: {missing:?}");
}
